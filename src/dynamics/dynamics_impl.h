// The scratch behind scree::Dynamics, for those inside the library who want the kernels' own types.
#pragma once

#include "dynamics/newton_euler.h"
#include "scree/dynamics.h"
#include "solvers/tree_cholesky.h"

namespace scree {

struct Dynamics::Impl {
  explicit Impl(const Model& m);

  const Model& model;
  const Tree& tree;
  Kinematics<double> kinematics;
  NewtonEulerPass<double> pass;
  TreeCholesky cholesky;
  std::vector<double> zero;  // nv zeros
  Eigen::VectorXd bias;
  Eigen::MatrixXd mass;  // symmetric
  Derivatives derivatives;

  void fill_mass_upper();                                          // upper triangle of `mass`, armature included
  const std::vector<Twist<double>>& body_twists(const double* v);  // world twists about kinematics.origin
};

}  // namespace scree
