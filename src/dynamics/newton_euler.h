// Newton-Euler dynamics in world axes: inverse dynamics O(n), mass matrix O(n x depth), forward dynamics.
#pragma once

#include <Eigen/Cholesky>
#include <vector>

#include "dynamics/position_based.h"

namespace scree {

class NewtonEuler {
 public:
  explicit NewtonEuler(const Tree& tree);

  // Kinematics at q (+) 0. Everything below speaks of this pose.
  void set_position(const double* q);
  const Kinematics<double>& kinematics() const { return kinematics_; }

  // tau = M(q) vdot + C(q, v), gravity and armature included.                                theory (6.1) to (6.3)
  void inverse_dynamics(const double* v, const double* vdot, const V3<double>& gravity, double* tau);
  // M(q) with armature, upper triangle filled.                                               theory (6.4)
  const Eigen::MatrixXd& mass_matrix();
  // vdot from M vdot = tau - C(q, v). False if M is not numerically positive definite.
  [[nodiscard]] bool forward_dynamics(const double* v, const double* tau, const V3<double>& gravity, double* vdot);

  // World twists of the bodies for velocity v, about Kinematics::origin.
  const std::vector<Twist<double>>& body_twists(const double* v);
  double kinetic_energy(const double* v);                  // [J], armature included
  double gravity_energy(const V3<double>& gravity) const;  // [J], zero at the world origin

 private:
  const Tree& tree_;
  Kinematics<double> kinematics_;
  std::vector<double> zero_;
  std::vector<Twist<double>> V_, A_;
  std::vector<Wrench<double>> F_;
  std::vector<SecondMoment<double>> sigma_;
  Eigen::MatrixXd M_, factor_;
  Eigen::VectorXd bias_;
};

}  // namespace scree
