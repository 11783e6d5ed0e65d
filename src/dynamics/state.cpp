#include "scree/state.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "scree/error.h"

namespace scree {

State make_state(const Model& model) {
  return make_state(model, model.neutral_position(), Eigen::VectorXd::Zero(model.nv()));
}

State make_state(const Model& model, const Eigen::VectorXd& q, const Eigen::VectorXd& v, double time) {
  constexpr double kLargest = 1e12;  // as for model files: beyond it is a mistake
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
    const auto check = [&](const char* what, const Eigen::VectorXd& x, int at) {
      if (!(std::abs(x(at)) <= kLargest))
        throw InputError(fmt::format("joint {}: {} is {}, expected a finite number of at most {:g}", joint.name, what,
                                     x(at), kLargest));
    };
    for (int k = 0; k < position_count(joint.type); ++k) check("position", q, joint.q_index + k);
    for (int k = 0; k < velocity_count(joint.type); ++k) check("velocity", v, joint.v_index + k);
    if (joint.type == JointType::ball || joint.type == JointType::floating) {
      auto quaternion = state.q.segment<4>(joint.q_index + (joint.type == JointType::floating ? 3 : 0));
      const double norm = quaternion.norm();
      if (!(std::abs(norm - 1) <= 1e-6))
        throw InputError(fmt::format("joint {}: quaternion (w, x, y, z) has length {}, expected 1", joint.name, norm));
      quaternion /= norm;
    }
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
