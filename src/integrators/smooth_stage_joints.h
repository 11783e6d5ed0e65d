// Joint forces in a stage with smooth contact (smooth_stage.h).
#pragma once

#include "control/joint_potentials.h"
#include "integrators/smooth_stage.h"

namespace scree {

// Rotor inertia, damping, PD with effort bound, stops, dry friction: theory (5.1) to (5.8), as
// JointForces::add_implicit.
template <class T> void SmoothStage<T>::joint_forces(LaneHost& host) {
  const T by_h = T(1) / stage_h, zero(0), half(0.5);
  const bool energy = s_.law.friction == FrictionLaw::energy;  // else R is no gradient, and no one asks for `value`
  for (size_t j = 0; j < s_.joints.size(); ++j) {
    const LaneJoint& joint = s_.joints[j];
    if (joint.follows) continue;
    for (int k = joint.v_index; k < joint.v_index + joint.nv; ++k) {
      const size_t a = static_cast<size_t>(k);
      joint_curvature_[a] = zero;
      if (joint.armature == 0 && joint.damping == 0) continue;
      const T inertia = T(joint.armature) * by_h * by_h, viscous = T(joint.damping) * by_h;
      const T moved = delta_[a] - joint_rest[a], ahead = moved - stage_h * coast[a];
      residual[a] += inertia * ahead + viscous * moved;
      joint_curvature_[a] = inertia + viscous;
      if (energy) value += half * inertia * ahead * ahead + half * viscous * moved * moved;
    }
    if (joint.ball) ball_forces(static_cast<int>(j), host);
    if (joint.nv != 1) continue;
    const size_t a = static_cast<size_t>(joint.v_index), k = static_cast<size_t>(joint.q_index);
    const T x = q[k] + delta_[a], stiff = kp[a] + kd[a] * by_h;
    const T u = kp[a] * (x - target[k]) + kd[a] * ((delta_[a] - joint_rest[a]) * by_h - target_velocity[a]) - torque[a];
    const Potential<T> pd = bounded_spring<T>(u, stiff, T(joint.effort));
    Potential<T> limit = {zero, zero, zero};
    if (joint.limited) limit = stops<T>(x, T(joint.lower), T(joint.upper), T(joint.stiffness), T(joint.margin));
    residual[a] += pd.slope + limit.slope;
    joint_curvature_[a] += pd.curvature + limit.curvature;
    if (energy) value += select(stiff > zero, pd.value, u * delta_[a]) + limit.value;
    if (!(joint.friction > 0)) continue;
    const Potential<T> dry = dry_friction<T>(delta_[a] - joint_rest[a], stage_h, T(joint.friction), friction_side_[a]);
    residual[a] += dry.slope;
    joint_curvature_[a] += dry.curvature;
    if (energy) value += dry.value;
  }
  if (!tree_.has_followers()) return;
  for (const LaneJoint& joint : s_.joints)  // after all masters, which set joint_curvature_
    if (joint.follows) follower_forces(joint, energy);
}

// As JointForces::add_follower.                                                                           theory (1.13)
template <class T> void SmoothStage<T>::follower_forces(const LaneJoint& joint, bool energy) {
  const T by_h = T(1) / stage_h, zero(0), half(0.5), m(joint.multiplier);
  const size_t a = static_cast<size_t>(joint.v_index), k = static_cast<size_t>(joint.q_index);
  const T inertia = T(joint.armature) * by_h * by_h, viscous = T(joint.damping) * by_h;
  const T moved = m * (delta_[a] - joint_rest[a]), ahead = moved - stage_h * m * coast[a];
  const T x = m * (q[k] + delta_[a]) + T(joint.offset);
  Potential<T> limit = {zero, zero, zero};
  if (joint.limited) limit = stops<T>(x, T(joint.lower), T(joint.upper), T(joint.stiffness), T(joint.margin));
  residual[a] += m * (inertia * ahead + viscous * moved + limit.slope);
  joint_curvature_[a] += m * m * (inertia + viscous + limit.curvature);
  if (energy) value += half * inertia * ahead * ahead + half * viscous * moved * moved + limit.value;
}

template <class T> void SmoothStage<T>::find_friction_sides(int l, const T* delta) {
  for (const int j : dry_joints_) {
    const size_t a = static_cast<size_t>(s_.joints[static_cast<size_t>(j)].v_index);
    const double moved = lane(delta[a], l) - lane(joint_rest[a], l);
    set_lane(friction_side_[a], l, side_of_slip<T>(moved, lane(stage_h, l)));
  }
}

template <class T> bool SmoothStage<T>::move_friction_sides(int l, SideSearch& search) {
  if (dry_joints_.empty()) return false;
  const auto dof = [&](int k) {
    return static_cast<size_t>(s_.joints[static_cast<size_t>(dry_joints_[static_cast<size_t>(k)])].v_index);
  };
  const auto wanted = [&](int k) {
    return side_of_slip<T>(lane(delta_[dof(k)], l) - lane(joint_rest[dof(k)], l), lane(stage_h, l));
  };
  const auto side = [&](int k) { return static_cast<int>(lane(friction_side_[dof(k)], l)); };
  const auto set_side = [&](int k, int to) { set_lane(friction_side_[dof(k)], l, to); };
  return move_sides(static_cast<int>(dry_joints_.size()), search, wanted, side, set_side);
}

template <class T> double SmoothStage<T>::friction_stiffness(size_t dof) const {
  for (const int j : dry_joints_) {
    const LaneJoint& joint = s_.joints[static_cast<size_t>(j)];
    if (static_cast<size_t>(joint.v_index) == dof && lane(friction_side_[dof], 0) == 0)
      return joint.friction / (kJointCreep * lane(stage_h, 0));
  }
  return 0;
}

// Lane by lane: quaternions and logarithms.
template <class T> void SmoothStage<T>::ball_forces(int j, LaneHost& host) {
  const LaneJoint& joint = s_.joints[static_cast<size_t>(j)];
  const size_t a = static_cast<size_t>(joint.v_index), k = static_cast<size_t>(joint.q_index);
  BallBlock& block = ball_blocks_[static_cast<size_t>(j)];
  for (int l = 0; l < W; ++l) {
    double at[4], to[4], step[3], from[3], p[3], d[3], feed[3], to_v[3], gradient_l[3] = {}, H[9] = {}, value_l = 0;
    for (size_t c = 0; c < 4; ++c) at[c] = lane(q[k + c], l), to[c] = lane(target[k + c], l);
    for (size_t c = 0; c < 3; ++c) {
      step[c] = lane(delta_[a + c], l), from[c] = lane(joint_rest[a + c], l);
      p[c] = lane(kp[a + c], l), d[c] = lane(kd[a + c], l), feed[c] = lane(torque[a + c], l);
      to_v[c] = lane(target_velocity[a + c], l);
    }
    host.ball_joint(j, {at, from, step, p, d, to, to_v, feed, lane(stage_h, l)}, value_l, gradient_l, H);
    set_lane(value, l, lane(value, l) + value_l);
    for (size_t c = 0; c < 3; ++c) set_lane(residual[a + c], l, lane(residual[a + c], l) + gradient_l[c]);
    for (size_t c = 0; c < 9; ++c) set_lane(block.H[c], l, H[c]);
  }
}

}  // namespace scree
