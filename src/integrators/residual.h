// When is a stage solved? Unbalanced accelerations |r_a| / M_aa against the tolerance and rounding.       theory (4.6)
#pragma once

#include "integrators/workspace.h"

namespace scree {

// Takes M_aa and the size of rounding at the trial pose of `stage`.
void set_residual_scale(Discretisation& stage, double h, StepWorkspace::Impl& ws);

// Adds what rounding of the pose leaves in joint forces as stiff as the diagonal of ws.joint_hessian.
void add_joint_rounding(StepWorkspace::Impl& ws);

struct Residual {
  double largest = 0;  // [m/s^2, rad/s^2]
  bool small = true;   // every dof is within the tolerance, or what rounding allows
};
Residual residual_of(const Eigen::VectorXd& forces, double tolerance, const StepWorkspace::Impl& ws);

// The chart of ball and free rotations holds up to 60 degrees.                                            theory (1.4)
bool within_chart(const Tree& tree, const Kinematics<double>& trial);

}  // namespace scree
