// What explicit methods (rk4.cpp, flight.cpp, the flight of inclusion.cpp) share.
#pragma once

#include "model/tree.h"
#include "scree/step.h"

namespace scree {

// qdot and vdot at q, v with the control of `time`, into `q_rate` and `v_rate`; leaves the joint forces in ws.force.
// False: the mass matrix is singular.
[[nodiscard]] bool forward_rates(const Control& control, double time, const Eigen::VectorXd& q,
                                 const Eigen::VectorXd& v, StepWorkspace::Impl& ws, Eigen::Ref<Eigen::VectorXd> q_rate,
                                 Eigen::Ref<Eigen::VectorXd> v_rate);

// Finds the modes of dry friction that forward_rates() keeps from here on, and stops joints that stick.  theory (5.11)
[[nodiscard]] bool begin_stiction(const Control& control, double time, const Eigen::VectorXd& q, Eigen::VectorXd& v,
                                  StepWorkspace::Impl& ws);

// qdot of v: the rates of positions; for quaternions qdot = q (0, w) / 2 with w in body axes.          theory (1.9)
void position_rate(const Tree& tree, const double* q, const double* v, double* rate);
// Quaternions leave the unit sphere by O(h^p) a step, p > the order; putting them back does not change it.
void normalize_quaternions(const Tree& tree, double* q);

}  // namespace scree
