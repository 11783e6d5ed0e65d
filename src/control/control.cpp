#include "scree/control.h"

#include <fmt/format.h>

#include <cmath>

#include "control/joint_control.h"
#include "dynamics/joint_state.h"
#include "scree/error.h"

namespace scree {

Control::Control(const Model& model)
    : kp(Eigen::VectorXd::Zero(model.nv())),
      kd(Eigen::VectorXd::Zero(model.nv())),
      target(model.neutral_position()),
      target_velocity(Eigen::VectorXd::Zero(model.nv())),
      torque(Eigen::VectorXd::Zero(model.nv())) {}

void Control::validate(const Model& model) const {
  const auto check_size = [](const char* field, Eigen::Index size, int expected) {
    if (size != expected)
      throw InputError(fmt::format("control: {} has {} entries, expected {}", field, size, expected));
  };
  check_size("kp", kp.size(), model.nv());
  check_size("kd", kd.size(), model.nv());
  check_size("target", target.size(), model.nq());
  check_size("target_velocity", target_velocity.size(), model.nv());
  check_size("torque", torque.size(), model.nv());
  if (motion) check_size("a keyframe of motion", motion->keyframes().front().q.size(), model.nq());

  for (const Joint& joint : model.joints())
    if (!joint.mimic) check_joint_control(*this, joint);
}

void check_joint_control(const Control& control, const Joint& joint) {
  check_joint_state(joint, control.target, control.target_velocity);
  const Eigen::VectorXd &kp = control.kp, &kd = control.kd, &torque = control.torque;
  const auto fail = [&](const char* field, double value, const std::string& expected) {
    throw InputError(fmt::format("control of joint {}: {} is {}, expected {}", joint.name, field, value, expected));
  };
  const bool actuated = joint.type != JointType::planar && joint.type != JointType::floating;
  for (int a = joint.v_index; a < joint.v_index + velocity_count(joint.type); ++a) {
    const auto check_gain = [&](const char* field, double value) {
      if (!(value >= 0 && value <= 1e12)) fail(field, value, "a number in [0, 1e12]");
      if (!actuated && value != 0)
        fail(field, value, fmt::format("0: a {} joint is not actuated", joint_type_name(joint.type)));
    };
    check_gain("kp", kp(a));
    check_gain("kd", kd(a));
    if (!(std::abs(torque(a)) <= 1e12)) fail("torque", torque(a), "a finite number");
    if (!actuated && torque(a) != 0)
      fail("torque", torque(a), fmt::format("0: a {} joint is not actuated", joint_type_name(joint.type)));
    if (std::abs(torque(a)) > joint.effort)
      fail("torque", torque(a), fmt::format("at most the joint's effort {}", joint.effort));
    if (joint.type == JointType::ball && (kp(a) != kp(joint.v_index) || kd(a) != kd(joint.v_index)))
      fail("kp or kd", kp(a), "the same gain about all three axes of a ball joint");
  }
}

}  // namespace scree
