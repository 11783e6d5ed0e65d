#include "scree/motion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scree/error.h"
#include "scree/state.h"

namespace scree {
namespace {

constexpr double kLargestJump = 1e-6;  // [rad] or [m] between the two ends of a loop

}  // namespace

Motion::Motion(const Model& model, std::vector<Keyframe> keyframes, std::optional<double> loop_start)
    : keyframes_(std::move(keyframes)) {
  if (keyframes_.empty()) throw InputError("motion: 0 keyframes, expected at least 1");
  const Eigen::VectorXd at_rest = Eigen::VectorXd::Zero(model.nv());
  for (size_t k = 0; k < keyframes_.size(); ++k) {
    Keyframe& keyframe = keyframes_[k];
    const auto refuse = [&](const std::string& what) {
      throw InputError(fmt::format("motion: keyframe {}: {}", k, what));
    };
    if (!std::isfinite(keyframe.time)) refuse(fmt::format("time is {} s, expected a finite number", keyframe.time));
    if (k > 0 && !(keyframe.time > keyframes_[k - 1].time))
      refuse(fmt::format("time is {} s, expected more than the {} s of the keyframe before", keyframe.time,
                         keyframes_[k - 1].time));
    try {
      keyframe.q = make_state(model, keyframe.q, at_rest).q;  // size, finite, unit quaternions
    } catch (const InputError& error) {
      refuse(error.what());
    }
  }
  for (const Joint& joint : model.joints())
    if (velocity_count(joint.type) == 1 && !joint.mimic) joints_.emplace_back(joint.q_index, joint.v_index);
  if (!loop_start) return;

  const auto first = std::find_if(keyframes_.begin(), std::prev(keyframes_.end()),
                                  [&](const Keyframe& keyframe) { return keyframe.time == *loop_start; });
  if (first == std::prev(keyframes_.end()))
    throw InputError(
        fmt::format("motion: loop starts at {} s, expected the time of a keyframe before the last one", *loop_start));
  for (const Joint& joint : model.joints()) {
    if (velocity_count(joint.type) != 1 || joint.mimic) continue;
    const double from = keyframes_.back().q(joint.q_index), to = first->q(joint.q_index);
    if (!(std::abs(to - from) <= kLargestJump))
      throw InputError(
          fmt::format("motion: the loop makes joint {} jump from {} at {} s to {} at {} s, expected the same "
                      "position within {:g}",
                      joint.name, from, keyframes_.back().time, to, first->time, kLargestJump));
    keyframes_.back().q(joint.q_index) = to;
  }
  loops_ = true;
  loop_start_ = *loop_start;
}

void Motion::sample(double time, Eigen::Ref<Eigen::VectorXd> q, Eigen::Ref<Eigen::VectorXd> v) const {
  if (loops_ && time > end() && std::isfinite(time))
    time = loop_start_ + std::fmod(time - loop_start_, end() - loop_start_);
  const auto next = std::upper_bound(keyframes_.begin(), keyframes_.end(), time,
                                     [](double t, const Keyframe& keyframe) { return t < keyframe.time; });
  if (next == keyframes_.begin() || next == keyframes_.end()) {
    const Eigen::VectorXd& pose = next == keyframes_.begin() ? next->q : keyframes_.back().q;
    for (const auto& [qi, vi] : joints_) {
      q(qi) = pose(qi);
      v(vi) = 0;
    }
    return;
  }
  // Hermite with zero slopes: q0 + s^2 (3 - 2 s) (q1 - q0), s = (t - t0)/T; rate 6 s (1 - s)/T (q1 - q0).
  const Keyframe &a = *std::prev(next), &b = *next;
  const double duration = b.time - a.time, s = (time - a.time) / duration;
  const double blend = s * s * (3 - 2 * s), rate = 6 * s * (1 - s) / duration;
  for (const auto& [qi, vi] : joints_) {
    const double change = b.q(qi) - a.q(qi);
    q(qi) = a.q(qi) + blend * change;
    v(vi) = rate * change;
  }
}

}  // namespace scree
