// All scratch of a step. Sized once; nothing below allocates afterwards.
#pragma once

#include <Eigen/LU>
#include <limits>

#include "control/joint_forces.h"
#include "dynamics/discretisation.h"
#include "dynamics/dynamics_impl.h"
#include "scree/step.h"
#include "solvers/tree_cholesky.h"

namespace scree {

struct StepWorkspace::Impl {
  Impl(const Model& model, const ContactWorld* world);
  void poison();  // fills what a step must not read before writing with NaN; debug builds call it before every step

  const Model& model;
  const ContactWorld* world;      // null: no contact
  std::vector<Contact> contacts;  // at the end of the last step
  Dynamics dynamics;
  JointForces joint_forces;
  State before;  // the state to return to when a step fails

  // implicit schemes
  PositionBasedStage position_based;
  NewtonEulerStage newton_euler;
  Eigen::VectorXd delta, trial_delta, gradient, trial_gradient, direction;
  Eigen::VectorXd mass_diagonal, rounding;  // per dof: M_aa, and the part of the residual that is rounding [1/s^2]
  Eigen::MatrixXd jacobian, gauss_newton, joint_hessian;
  TreeCholesky cholesky;
  Eigen::PartialPivLU<Eigen::MatrixXd> lu;

  // rk4
  Eigen::VectorXd q_stage, v_stage, force;
  Eigen::MatrixXd q_rate, v_rate;  // one column per stage
};

// What one try of one substep came to.
struct SubstepResult {
  bool converged = false;
  int iterations = 0;
  double residual = std::numeric_limits<double>::quiet_NaN();  // [m/s^2, rad/s^2] where the try ended
};

// Each advances q, v and the history of `state` by h, or leaves `state` alone and says that it failed.
SubstepResult substep_pbd(const Control& control, const StepOptions& options, double h, State& state,
                          StepWorkspace::Impl& ws);
SubstepResult substep_ne(const Control& control, const StepOptions& options, double h, State& state,
                         StepWorkspace::Impl& ws);
SubstepResult substep_rk4(const Control& control, const StepOptions& options, double h, State& state,
                          StepWorkspace::Impl& ws);

}  // namespace scree
