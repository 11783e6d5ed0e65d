// Dynamics: forces, accelerations, energies, Jacobians and derivatives of a model at a pose.
//
// Velocities and forces are those of docs/conventions.md: linear velocity of a floating body in the axes of its joint
// frame, angular velocity of ball and floating joints in body axes. Derivatives by q are along the same directions: the
// change of a quantity when q becomes integrate_position(q, e, 1), per unit of e.
#pragma once

#include <memory>

#include "scree/model.h"

namespace scree {

using VectorIn = Eigen::Ref<const Eigen::VectorXd>;
using VectorOut = Eigen::Ref<Eigen::VectorXd>;

class Dynamics {
 public:
  explicit Dynamics(const Model& model);  // refers to the model; the only call that allocates
  ~Dynamics();
  Dynamics(Dynamics&&) noexcept;
  Dynamics& operator=(Dynamics&&) noexcept;

  // The pose everything below speaks of.
  void set_position(const VectorIn& q);
  Pose body_pose(BodyIndex body) const;  // X_WB

  // tau = M(q) vdot + C(q, v): gravity, armature and external wrenches included.
  // theory (6.1) to (6.3)
  void inverse_dynamics(const VectorIn& v, const VectorIn& vdot, const Vec3& gravity, VectorOut tau);
  // C(q, v): the force that keeps vdot = 0.
  void bias_force(const VectorIn& v, const Vec3& gravity, VectorOut force);
  // M(q), symmetric, armature included. Valid until the next call.
  // theory (6.4)
  const Eigen::MatrixXd& mass_matrix();
  // vdot from M vdot = tau - C. False if M is not numerically positive definite.
  [[nodiscard]] bool forward_dynamics(const VectorIn& v, const VectorIn& tau, const Vec3& gravity, VectorOut vdot);

  struct Derivatives {     // of tau = inverse_dynamics(q, v, vdot)                                         theory (6.8)
    Eigen::MatrixXd by_q;  // nv x nv
    Eigen::MatrixXd by_v;  // nv x nv
    Eigen::MatrixXd by_vdot;  // M(q)
  };
  const Derivatives& inverse_dynamics_derivatives(const VectorIn& v, const VectorIn& vdot, const Vec3& gravity);

  // A wrench on a body, constant in body axes: moment [N m] about the body origin, and force [N].
  void set_external_wrench(BodyIndex body, const Vec3& moment_B, const Vec3& force_B);
  void clear_external_wrenches();

  // Velocity of a point fixed to a body = J v, world axes (3 x nv), and of a frame: [angular; linear of its origin] (6
  // x nv).
  void point_jacobian(BodyIndex body, const Vec3& p_B, Eigen::Ref<Eigen::Matrix3Xd> J);
  void frame_jacobian(const Frame& frame, Eigen::Ref<Eigen::Matrix<double, 6, Eigen::Dynamic>> J);

  struct Momentum {
    Vec3 linear;   // [kg m/s]
    Vec3 angular;  // [kg m^2/s] about the world origin
  };
  Momentum momentum(const VectorIn& v);
  double kinetic_energy(const VectorIn& v);          // [J] armature included
  double gravity_energy(const Vec3& gravity) const;  // [J] zero at the world origin
  Vec3 center_of_mass() const;                       // [m] world

 private:
  friend struct DynamicsAccess;  // the library's own (src/dynamics/dynamics_impl.h)
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace scree
