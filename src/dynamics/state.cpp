#include "scree/state.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "dynamics/joint_state.h"
#include "scree/error.h"

namespace scree {

namespace {

// Where the quaternion of a joint begins in q; -1: it has none.
int quaternion_index(const Joint& joint) {
  if (joint.type == JointType::ball) return joint.q_index;
  return joint.type == JointType::floating ? joint.q_index + 3 : -1;
}

}  // namespace

void check_joint_state(const Joint& joint, const Eigen::VectorXd& q, const Eigen::VectorXd& v) {
  constexpr double kLargest = 1e12;  // as for model files: beyond it is a mistake
  const auto check = [&](const char* what, const Eigen::VectorXd& x, int at) {
    if (!(std::abs(x(at)) <= kLargest))
      throw InputError(fmt::format("joint {}: {} is {}, expected a finite number of at most {:g}", joint.name, what,
                                   x(at), kLargest));
  };
  for (int k = 0; k < position_count(joint.type); ++k) check("position", q, joint.q_index + k);
  for (int k = 0; k < velocity_count(joint.type); ++k) check("velocity", v, joint.v_index + k);
  const int at = quaternion_index(joint);
  if (at < 0) return;
  const double norm = q.segment<4>(at).norm();
  if (!(std::abs(norm - 1) <= 1e-6))
    throw InputError(fmt::format("joint {}: quaternion (w, x, y, z) has length {}, expected 1", joint.name, norm));
}

void normalise_joint(const Joint& joint, Eigen::VectorXd& q) {
  if (const int at = quaternion_index(joint); at >= 0) q.segment<4>(at) /= q.segment<4>(at).norm();
}

State make_state(const Model& model) {
  return make_state(model, model.neutral_position(), Eigen::VectorXd::Zero(model.nv()));
}

State make_state(const Model& model, const Eigen::VectorXd& q, const Eigen::VectorXd& v, double time) {
  if (q.size() != model.nq())
    throw InputError(fmt::format("state: q has {} entries, expected {}", q.size(), model.nq()));
  if (v.size() != model.nv())
    throw InputError(fmt::format("state: v has {} entries, expected {}", v.size(), model.nv()));
  if (!std::isfinite(time)) throw InputError(fmt::format("state: time is {}, expected a finite number", time));
  State state;
  state.time = time;
  state.q = q;
  state.v = v;
  for (const Joint& joint : model.joints()) {
    if (joint.mimic) continue;  // its master has been checked
    check_joint_state(joint, q, v);
    normalise_joint(joint, state.q);
  }
  return state;
}

std::uint64_t state_hash(const State& state) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&](double value) {
    std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
    for (int k = 0; k < 8; ++k, bits >>= 8) hash = (hash ^ (bits & 0xff)) * 0x100000001b3u;
  };
  add(state.time);
  for (double x : state.q) add(x);
  for (double x : state.v) add(x);
  return hash;
}

}  // namespace scree
