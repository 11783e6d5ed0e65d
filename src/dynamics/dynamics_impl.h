// The scratch behind scree::Dynamics, for those inside the library who want the kernels' own types.
#pragma once

#include "dynamics/articulated_body.h"
#include "scree/dynamics.h"

namespace scree {

struct Dynamics::Impl {
  explicit Impl(const Model& m);

  const Model& model;
  const Tree& tree;
  Kinematics<double> kinematics;
  NewtonEulerPass<double> pass;
  ArticulatedBodyPass<double> articulated;
  Reduction<double> reduction;
  std::vector<double> zero;  // nv zeros
  Eigen::MatrixXd mass;      // symmetric
  Derivatives derivatives;

  void fill_mass_matrix(Eigen::MatrixXd& out);                     // from the subtree sums in `pass`, armature included
  const std::vector<Twist<double>>& body_twists(const double* v);  // world twists about kinematics.origin
};

struct DynamicsAccess {
  static Dynamics::Impl& impl(Dynamics& dynamics) { return *dynamics.impl_; }
  static const Dynamics::Impl& impl(const Dynamics& dynamics) { return *dynamics.impl_; }
};

}  // namespace scree
