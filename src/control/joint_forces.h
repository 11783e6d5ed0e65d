// Forces that act in the joints: PD control, feed-forward, viscous damping, dry friction, soft stops, rotor inertia.
// theory section 5
//
// All but rk4 take them implicitly, as potentials of the displacement delta over a step h, so that a step stays a
// minimisation. The same forces in explicit form serve rk4. Dry friction is on the sides that JointFriction has found,
// and in explicit form the business of Stiction (integrators/stiction.h).
#pragma once

#include <vector>

#include "model/tree.h"
#include "scree/control.h"

namespace scree {

// A stage as the joints see it: from q, with velocity (delta - rest)/h, and `coast` where no force acts. theory (9.1)
struct JointStage {
  const double* q;
  const double* rest;
  const double* coast;
  double h;                            // [s]
  const int* side = nullptr;           // of linearised control, by dof: see find_sides; none: where delta is decides
  const int* friction_side = nullptr;  // of dry friction, by dof: JointFriction; none: no friction
};

class JointForces {
 public:
  explicit JointForces(const Model& model) : model_(model), tree_(tree_of(model)) {}

  // Adds the potentials at q (+) delta to `value`, their gradient and the diagonal and chart blocks of their Hessian
  // (upper triangle, column-major, leading dimension nv; null: not wanted).
  void add_implicit(const Control& control, const JointStage& stage, const double* delta, double& value,
                    double* gradient, double* hessian) const;

  // On which side of its effort bound the control of every one-dof joint is at delta: 0 within, 1 where it pulls with
  // -effort, -1 where it pushes with +effort.                                                           theory (5.7)
  void find_sides(const Control& control, const JointStage& stage, const double* delta, int* side) const;
  // The same, by one side at most from those given, 1 to 0 to -1. False: none has changed.
  bool move_sides(const Control& control, const JointStage& stage, const double* delta, int* side) const;

  // The same of one ball joint: its four positions, its three dofs, and what control wants of them.
  struct BallControl {
    const double *q, *rest, *delta, *kp, *kd, *target, *target_velocity, *torque;
    double h;  // [s]
  };
  static void add_ball(const Joint& joint, const BallControl& control, double& value, double* gradient, double* hessian,
                       size_t stride);

  // The generalized force of control, damping and stops at (q, v), without dry friction.
  void explicit_force(const Control& control, const double* q, const double* v, double* force) const;

  double stop_energy(const double* q) const;                  // [J] stored in the joint stops
  double stop_power(const double* q, const double* v) const;  // [W] of their forces: what they store grows less fast

 private:
  const Node& node_of(const Joint& joint) const {
    return tree_.nodes[static_cast<size_t>(&joint - model_.joints().data())];
  }
  void add_follower(const Joint& joint, const JointStage& stage, const double* delta, double& value, double* gradient,
                    double* hessian) const;
  const Model& model_;
  const Tree& tree_;
};

}  // namespace scree
