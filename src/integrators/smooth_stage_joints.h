// Joint forces in a stage with smooth contact (smooth_stage.h).
#pragma once

#include "integrators/smooth_stage.h"

namespace scree {

// Rotor inertia, damping, PD with effort bound, stops: theory (5.1) to (5.6), as JointForces::add_implicit.
template <class T> void SmoothStage<T>::joint_forces(LaneHost& host) {
  const T by_h = T(1) / stage_h, zero(0), half(0.5);
  const bool energy = s_.law.friction == FrictionLaw::energy;  // else R is no gradient, and no one asks for `value`
  for (size_t j = 0; j < s_.joints.size(); ++j) {
    const LaneJoint& joint = s_.joints[j];
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
    const T x = q[k] + delta_[a], stiff = kp[a] + kd[a] * by_h, effort(joint.effort);
    const T u = kp[a] * (x - target[k]) + kd[a] * ((delta_[a] - joint_rest[a]) * by_h - target_velocity[a]) - torque[a];
    const If controlled = stiff > zero, within = abs(u) <= effort;
    const T bounded = select(u < -effort, -effort, select(u > effort, effort, u));
    residual[a] += select(controlled, bounded, u);
    joint_curvature_[a] += select(controlled & within, stiff, zero);
    if (energy) {
      const T by_stiff = T(1) / select(controlled, stiff, T(1));
      const T spring = select(within, half * u * u * by_stiff, (abs(u) - half * effort) * effort * by_stiff);
      value += select(controlled, spring, u * delta_[a]);
    }
    if (!joint.limited) continue;
    const T stiffness(joint.stiffness), margin(joint.margin), by_margin(1 / joint.margin);
    for (const bool up : {true, false}) {
      const T e = up ? x - T(joint.upper) : T(joint.lower) - x;
      const If in = e > zero, soft = e < margin;
      if (!any(in)) continue;
      const T y = e - half * margin;
      const T slope = select(soft, half * stiffness * e * e * by_margin, stiffness * y);
      residual[a] += select(in, up ? slope : -slope, zero);
      joint_curvature_[a] += select(in, select(soft, stiffness * e * by_margin, stiffness), zero);
      const T hard = stiffness * (half * y * y + margin * margin * T(1.0 / 24));
      if (energy) value += select(in, select(soft, stiffness * e * e * e * by_margin * T(1.0 / 6), hard), zero);
    }
  }
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
