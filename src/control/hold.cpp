// What keeps a pose: joint limits it must be within, gains that hold it.
#include <fmt/format.h>

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "scree/dynamics.h"
#include "scree/error.h"
#include "scree/start.h"

namespace scree {
namespace {

constexpr double kNoticed = 1e-9;  // [rad] or [m] beyond a limit
constexpr double kStill = 1e-6;    // of a body that the base was to keep still, per rate of the joint

double ball_angle(const Joint& joint, const Eigen::VectorXd& q) {
  return 2 * std::atan2(q.segment<3>(joint.q_index + 1).norm(), std::abs(q(joint.q_index)));
}

// About the same axis.
void set_ball_angle(const Joint& joint, double angle, Eigen::VectorXd& q) {
  auto quaternion = q.segment<4>(joint.q_index);
  if (quaternion(0) < 0) quaternion = -quaternion.eval();
  const Vec3 axis = quaternion.tail<3>().normalized();
  quaternion(0) = std::cos(angle / 2);
  quaternion.tail<3>() = std::sin(angle / 2) * axis;
}

bool is_unactuated(JointType type) { return type == JointType::planar || type == JointType::floating; }

// The motion of all dofs in which dof `a` moves at unit rate and the base so that `body`, which it carries, stands
// still. False: the base cannot do that.
bool hold_body_still(Dynamics& dynamics, const Model& model, BodyIndex body, int a, Eigen::VectorXd& motion) {
  BodyIndex root = body;
  while (model.body(root).parent != kWorld) root = model.body(root).parent;
  const Joint& base = model.joint(JointIndex(root.value()));
  if (!is_unactuated(base.type)) return false;
  Eigen::Matrix<double, 6, Eigen::Dynamic> J(6, model.nv());
  dynamics.frame_jacobian(Frame{"", body, Pose{}}, J);
  const int n = velocity_count(base.type);
  const Eigen::Matrix<double, 6, Eigen::Dynamic> J_base = J.middleCols(base.v_index, n);
  const Eigen::VectorXd u = J_base.completeOrthogonalDecomposition().solve(-J.col(a));
  motion.setZero(model.nv());
  motion(a) = 1;
  motion.segment(base.v_index, n) = u;
  return (J_base * u + J.col(a)).norm() <= kStill * (1 + J.col(a).norm());
}

}  // namespace

std::vector<LimitViolation> outside_limits(const Model& model, const Eigen::VectorXd& q) {
  std::vector<LimitViolation> found;
  for (int k = 0; const Joint& joint : model.joints()) {
    const JointIndex index(k++);
    const bool ball = joint.type == JointType::ball;
    if (joint.mimic || !(ball || joint.type == JointType::revolute || joint.type == JointType::prismatic)) continue;
    const double position = ball ? ball_angle(joint, q) : q(joint.q_index);
    if (position - joint.limits.upper > kNoticed)
      found.push_back({index, position, joint.limits.upper, position - joint.limits.upper});
    else if (!ball && joint.limits.lower - position > kNoticed)
      found.push_back({index, position, joint.limits.lower, joint.limits.lower - position});
  }
  return found;
}

std::vector<LimitViolation> clamp_to_limits(const Model& model, Eigen::VectorXd& q) {
  std::vector<LimitViolation> found = outside_limits(model, q);
  for (const LimitViolation& violation : found) {
    const Joint& joint = model.joint(violation.joint);
    if (joint.type == JointType::ball)
      set_ball_angle(joint, violation.limit, q);
    else
      q(joint.q_index) = violation.limit;
  }
  return found;
}

std::string describe_limits(const Model& model, const std::vector<LimitViolation>& violations, size_t most) {
  std::string text;
  for (size_t k = 0; k < std::min(most, violations.size()); ++k) {
    const LimitViolation& violation = violations[k];
    const Joint& joint = model.joint(violation.joint);
    const char* unit = joint.type == JointType::prismatic ? "m" : "rad";
    const bool above = violation.position > violation.limit;
    text +=
        fmt::format("{}{} at {:.4g} {}, {:.3g} {} {} its limit of {:.4g} {}", k ? "; " : "", joint.name,
                    violation.position, unit, violation.beyond, unit, above ? "above" : "below", violation.limit, unit);
  }
  if (violations.size() > most) text += fmt::format("; and {} more", violations.size() - most);
  return text;
}

void HoldOptions::validate() const {
  const auto check = [](const char* field, double value, double low, bool open, double high) {
    if (!((open ? value > low : value >= low) && value <= high))
      throw InputError(
          fmt::format("hold: {} is {}, expected a number in {}{:g}, {:g}]", field, value, open ? "(" : "[", low, high));
  };
  check("frequency", frequency, 0, true, 1000);
  check("damping_ratio", damping_ratio, 0, false, 100);
  check("sag", sag, 0, true, 10);
  check("sag_distance", sag_distance, 0, true, 10);
}

void hold_pose(const Model& model, const Eigen::VectorXd& q, const Vec3& gravity, Control& control,
               const HoldOptions& options) {
  options.validate();
  control.target = q;
  control.target_velocity.setZero(model.nv());
  Dynamics dynamics(model);
  dynamics.set_position(q);
  const Eigen::MatrixXd mass = dynamics.mass_matrix();
  // What gravity of 1 m/s^2 along each axis of the world does to every dof: the norm of a row is the most that it does
  // along any axis.
  const Eigen::VectorXd rest = Eigen::VectorXd::Zero(model.nv());
  Eigen::Matrix<double, Eigen::Dynamic, 3> load(model.nv(), 3);
  for (int k = 0; k < 3; ++k) dynamics.bias_force(rest, Vec3::Unit(k), load.col(k));

  const double omega = 2 * std::numbers::pi * options.frequency;
  Eigen::VectorXd motion;
  for (int k = 0; const Joint& joint : model.joints()) {
    const BodyIndex body(k++);
    if (joint.type == JointType::fixed || is_unactuated(joint.type) || joint.mimic) continue;
    double inertia = 0, weight = 0;  // [kg m^2, kg]; [N m, N]
    for (int a = joint.v_index; a < joint.v_index + velocity_count(joint.type); ++a) {
      inertia = std::max(inertia, mass(a, a));
      weight = std::max(weight, gravity.norm() * load.row(a).norm());
      if (!hold_body_still(dynamics, model, body, a, motion)) continue;
      inertia = std::max(inertia, motion.dot(mass * motion));
      weight = std::max(weight, gravity.norm() * (load.transpose() * motion).norm());
    }
    const double sag = joint.type == JointType::prismatic ? options.sag_distance : options.sag;
    const double kp = std::max(omega * omega * inertia, weight / sag);      // theory (18.1)
    const double kd = 2 * options.damping_ratio * std::sqrt(kp * inertia);  // theory (18.2)
    if (!(kp <= 1e12 && kd <= 1e12))
      throw InputError(fmt::format("hold: joint {} would need kp = {:.3g} and kd = {:.3g}, expected at most 1e12",
                                   joint.name, kp, kd));
    control.kp.segment(joint.v_index, velocity_count(joint.type)).setConstant(kp);
    control.kd.segment(joint.v_index, velocity_count(joint.type)).setConstant(kd);
  }
}

}  // namespace scree
