// When is a stage solved? Unbalanced accelerations |r_a| / M_aa against the tolerance and rounding.       theory (4.6)
#pragma once

#include "dynamics/discretisation.h"

namespace scree {

struct Residual {
  double largest = 0;  // [m/s^2, rad/s^2]
  bool small = true;   // every dof is within the tolerance, or what rounding allows
};

struct ResidualScale {
  // Takes M_aa and the size of rounding at the trial pose of `stage`.
  void measure(const Tree& tree, Discretisation& stage);
  // Adds what rounding of the pose leaves in joint forces as stiff as the diagonal of their Hessian.
  void add_joints(const Eigen::MatrixXd& joint_hessian);
  Residual of(const Eigen::VectorXd& forces, double tolerance) const;

  Eigen::VectorXd mass_diagonal, rounding;  // by dof: M_aa, and the part of the residual that is rounding [1/s^2]
};

// The chart of ball and free rotations holds up to 60 degrees.                                            theory (1.4)
bool within_chart(const Tree& tree, const Kinematics<double>& trial);

}  // namespace scree
