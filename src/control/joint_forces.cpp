#include "control/joint_forces.h"

#include <algorithm>
#include <cmath>

#include "control/joint_friction.h"
#include "math/eigen.h"
#include "math/rotation.h"

namespace scree {
namespace {

// Control of a one-dof joint before it is bounded, minus the force: u and its slope by delta.
// theory (5.2)
struct Unbounded {
  double u, s;
};
Unbounded unbounded(const Control& control, const Joint& joint, const JointStage& stage, const double* delta) {
  const int a = joint.v_index;
  return {control.kp(a) * (stage.q[joint.q_index] + delta[a] - control.target(joint.q_index)) +
              control.kd(a) * ((delta[a] - stage.rest[a]) / stage.h - control.target_velocity(a)) - control.torque(a),
          control.kp(a) + control.kd(a) / stage.h};
}

int side_of(const Control& control, const Joint& joint, const JointStage& stage, const double* delta) {
  const double u = unbounded(control, joint, stage, delta).u;
  return u > joint.effort ? 1 : u < -joint.effort ? -1 : 0;
}

// Where a follower is.
double follow(const Node& node, const double* q) { return node.multiplier * q[node.q_index] + node.offset; }

Potential<double> stops_of(const JointLimits& l, double x) { return stops(x, l.lower, l.upper, l.stiffness, l.margin); }

// A potential phi(|u|) of a rotation R = exp([u]x). By a turn e on the right, R exp([e]x), its gradient is
// (phi'/|u|) u, because J(u)^T u = u.                                                                     theory (5.4)
struct Radial {
  double psi;   // phi' / t
  double dpsi;  // psi' / t
};

Radial ball_stop(const JointLimits& l, double angle) {
  const Potential<double> p = stop(angle - l.upper, l.stiffness, l.margin);
  if (p.slope == 0 && p.curvature == 0) return {0, 0};
  return {p.slope / angle, (p.curvature - p.slope / angle) / (angle * angle)};
}

// Adds the gradient J(delta) psi u and its derivative for R = R_0 exp([delta]x), u = log(R).              theory (5.5)
void add_radial(const Radial& radial, const V3<double>& u, const V3<double>& delta, double* g, double* hessian,
                size_t stride) {
  const V3<double> torque = radial.psi * u;
  // d exp([delta]) on the right: e = J(delta)^T d delta, so g = J(delta) torque, and J(delta) = J(-delta)^T
  const M3<double> J = rotation_jacobian(delta);
  const V3<double> gradient = J * torque;
  g[0] += gradient.x, g[1] += gradient.y, g[2] += gradient.z;
  if (!hessian) return;
  // d torque = (psi 1 + dpsi u u^T) du,   du = J(u)^-T e,   e = J(delta)^T d delta
  const Mat3 J_delta = to_eigen(J), J_u = to_eigen(rotation_jacobian(u));
  const Mat3 stretch = radial.psi * Mat3::Identity() + radial.dpsi * to_eigen(u) * to_eigen(u).transpose();
  const Mat3 du = J_u.transpose().inverse() * J_delta.transpose();
  const Mat3 H = J_delta * stretch * du - to_eigen(rotation_jacobian_derivative(-delta, torque));
  for (size_t b = 0; b < 3; ++b)
    for (size_t a = 0; a <= b; ++a)
      hessian[b * stride + a] += 0.5 * (H(static_cast<Eigen::Index>(a), static_cast<Eigen::Index>(b)) +
                                        H(static_cast<Eigen::Index>(b), static_cast<Eigen::Index>(a)));
}

V3<double> log_from(const double* target, const double* q) {
  return quaternion_log(conjugate(load_quaternion(target)) * load_quaternion(q));
}

double length(const V3<double>& a) { return std::sqrt(dot(a, a)); }

}  // namespace

void JointForces::add_implicit(const Control& control, const JointStage& stage, const double* delta, double& value,
                               double* gradient, double* hessian) const {
  const auto [q, rest, coast, h, side, friction_side] = stage;
  const size_t n = static_cast<size_t>(model_.nv());
  for (const Joint& joint : model_.joints()) {
    if (joint.mimic) {
      add_follower(joint, stage, delta, value, gradient, hessian);
      continue;
    }
    const int nv = velocity_count(joint.type);
    // Armature and viscous damping: quadratic in the displacement of each dof.                          theory (5.6)
    for (int a = joint.v_index; a < joint.v_index + nv; ++a) {
      const size_t ia = static_cast<size_t>(a);
      const double d = delta[a] - rest[a], ahead = d - h * coast[a];
      const double inertia = joint.armature / (h * h), viscous = joint.damping / h;
      value += 0.5 * inertia * ahead * ahead + 0.5 * viscous * d * d;
      gradient[a] += inertia * ahead + viscous * d;
      if (hessian) hessian[ia * n + ia] += inertia + viscous;
    }
    if (nv == 1) {
      const int a = joint.v_index;
      const size_t ia = static_cast<size_t>(a);
      const double x = q[joint.q_index] + delta[a];
      const auto [u, s] = unbounded(control, joint, stage, delta);
      Potential<double> pd = bounded_spring(u, s, joint.effort);
      if (side) pd = side[a] == 0 ? Potential<double>{0, u, s} : Potential<double>{0, side[a] * joint.effort, 0};
      const Potential<double> limit = stops_of(joint.limits, x);
      // Without gains the potential is linear: -torque delta.
      value += (s > 0 ? pd.value : pd.slope * delta[a]) + limit.value;
      gradient[a] += pd.slope + limit.slope;
      if (hessian) hessian[ia * n + ia] += pd.curvature + limit.curvature;
      const double friction = tree_.friction[ia];  // those that follow rub, too
      if (friction_side && friction > 0) {
        const Potential<double> dry = dry_friction<double>(delta[a] - rest[a], h, friction, friction_side[a]);
        value += dry.value;
        gradient[a] += dry.slope;
        if (hessian) hessian[ia * n + ia] += dry.curvature;
      }
    } else if (joint.type == JointType::ball) {
      const int a = joint.v_index;
      add_ball(
          joint,
          {q + joint.q_index, rest + a, delta + a, control.kp.data() + a, control.kd.data() + a,
           control.target.data() + joint.q_index, control.target_velocity.data() + a, control.torque.data() + a, h},
          value, gradient + a, hessian ? hessian + static_cast<size_t>(a) * (n + 1) : nullptr, n);
    }
  }
}

// Rotor, damping and stops of a joint that follows, at its own position x = m (q + delta) + b: by delta, slopes have
// the factor m and curvatures m^2. Control is its master's.                                               theory (1.13)
void JointForces::add_follower(const Joint& joint, const JointStage& stage, const double* delta, double& value,
                               double* gradient, double* hessian) const {
  const Node& node = node_of(joint);
  const int a = node.v_index;
  const size_t ia = static_cast<size_t>(a), n = static_cast<size_t>(model_.nv());
  const double m = node.multiplier, h = stage.h;
  const double d = m * (delta[a] - stage.rest[a]), ahead = d - h * m * stage.coast[a];
  const double inertia = joint.armature / (h * h), viscous = joint.damping / h;
  const Potential<double> limit = stops_of(joint.limits, m * (stage.q[node.q_index] + delta[a]) + node.offset);
  value += 0.5 * inertia * ahead * ahead + 0.5 * viscous * d * d + limit.value;
  gradient[a] += m * (inertia * ahead + viscous * d + limit.slope);
  if (hessian) hessian[ia * n + ia] += m * m * (inertia + viscous + limit.curvature);
}

void JointForces::find_sides(const Control& control, const JointStage& stage, const double* delta, int* side) const {
  for (const Joint& joint : model_.joints())
    if (velocity_count(joint.type) == 1 && !joint.mimic) side[joint.v_index] = side_of(control, joint, stage, delta);
}

bool JointForces::move_sides(const Control& control, const JointStage& stage, const double* delta, int* side) const {
  bool moved = false;
  for (const Joint& joint : model_.joints()) {
    if (velocity_count(joint.type) != 1 || joint.mimic) continue;
    int& at = side[joint.v_index];
    const int to = side_of(control, joint, stage, delta);
    if (to == at) continue;
    at += to > at ? 1 : -1;
    moved = true;
  }
  return moved;
}

void JointForces::add_ball(const Joint& joint, const BallControl& c, double& value, double* g, double* H,
                           size_t stride) {
  const V3<double> d = {c.delta[0], c.delta[1], c.delta[2]};
  double trial[4];
  store_quaternion(load_quaternion(c.q) * quaternion_exp(d), trial);
  if (c.kp[0] > 0) {
    const V3<double> u = log_from(c.target, trial);
    value += 0.5 * c.kp[0] * dot(u, u);
    add_radial({c.kp[0], 0}, u, d, g, H, stride);
  }
  if (std::isfinite(joint.limits.upper)) {
    const V3<double> u = quaternion_log(load_quaternion(trial));
    value += stop(length(u) - joint.limits.upper, joint.limits.stiffness, joint.limits.margin).value;
    if (const Radial radial = ball_stop(joint.limits, length(u)); radial.psi != 0)
      add_radial(radial, u, d, g, H, stride);
  }
  // Damping towards the target velocity and feed-forward, in the chart.
  for (size_t k = 0; k < 3; ++k) {
    const double slip = (c.delta[k] - c.rest[k]) / c.h - c.target_velocity[k];
    value += 0.5 * c.h * c.kd[k] * slip * slip - c.torque[k] * c.delta[k];
    g[k] += c.kd[k] * slip - c.torque[k];
    if (H) H[k * stride + k] += c.kd[k] / c.h;
  }
}

void JointForces::explicit_force(const Control& control, const double* q, const double* v, double* force) const {
  for (const Joint& joint : model_.joints()) {
    if (joint.mimic) continue;
    const int a = joint.v_index, nv = velocity_count(joint.type);
    for (int k = a; k < a + nv; ++k) force[k] = -joint.damping * v[k];
    if (nv == 1) {
      const double x = q[joint.q_index];
      const double u = control.kp(a) * (control.target(joint.q_index) - x) +
                       control.kd(a) * (control.target_velocity(a) - v[a]) + control.torque(a);
      force[a] += std::clamp(u, -joint.effort, joint.effort) - stops_of(joint.limits, x).slope;
    } else if (joint.type == JointType::ball) {
      const V3<double> away = log_from(control.target.data() + joint.q_index, q + joint.q_index);
      const V3<double> u = quaternion_log(load_quaternion(q + joint.q_index));
      const double psi = std::isfinite(joint.limits.upper) ? ball_stop(joint.limits, length(u)).psi : 0;
      const double away_k[] = {away.x, away.y, away.z}, u_k[] = {u.x, u.y, u.z};
      for (int k = 0; k < 3; ++k)
        force[a + k] += control.torque(a + k) + control.kd(a + k) * (control.target_velocity(a + k) - v[a + k]) -
                        control.kp(a) * away_k[k] - psi * u_k[k];
    }
  }
  if (!tree_.has_followers()) return;
  for (const Joint& joint : model_.joints()) {  // after all masters, which do not add
    if (!joint.mimic) continue;
    const Node& node = node_of(joint);
    const double m = node.multiplier;
    force[node.v_index] -= m * (joint.damping * m * v[node.v_index] + stops_of(joint.limits, follow(node, q)).slope);
  }
}

double JointForces::stop_power(const double* q, const double* v) const {
  double power = 0;
  for (const Joint& joint : model_.joints()) {
    const double* rate = v + joint.v_index;
    if (joint.mimic) {
      const Node& node = node_of(joint);
      power -= stops_of(joint.limits, follow(node, q)).slope * node.multiplier * rate[0];
      continue;
    }
    if (velocity_count(joint.type) == 1) power -= stops_of(joint.limits, q[joint.q_index]).slope * rate[0];
    if (joint.type == JointType::ball && std::isfinite(joint.limits.upper)) {
      const V3<double> u = quaternion_log(load_quaternion(q + joint.q_index));
      power -= ball_stop(joint.limits, length(u)).psi * (u.x * rate[0] + u.y * rate[1] + u.z * rate[2]);
    }
  }
  return power;
}

double JointForces::stop_energy(const double* q) const {
  double energy = 0;
  for (const Joint& joint : model_.joints()) {
    if (velocity_count(joint.type) == 1)
      energy += stops_of(joint.limits, joint.mimic ? follow(node_of(joint), q) : q[joint.q_index]).value;
    if (joint.type == JointType::ball && std::isfinite(joint.limits.upper))
      energy += stop(length(quaternion_log(load_quaternion(q + joint.q_index))) - joint.limits.upper,
                     joint.limits.stiffness, joint.limits.margin)
                    .value;
  }
  return energy;
}

}  // namespace scree
