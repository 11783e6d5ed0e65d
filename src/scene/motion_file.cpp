#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/names.h"
#include "dynamics/joint_state.h"
#include "model/joint_finder.h"
#include "model/planar.h"
#include "model/tree.h"
#include "scene/toml_reader.h"
#include "scree/kinematics.h"
#include "scree/motion.h"
#include "scree/state.h"

namespace scree {
namespace {

constexpr size_t kMostKeyframes = 10000;

// The poses of a motion file, keyframe by keyframe.
class MotionReader {
 public:
  MotionReader(const TomlReader& root, const Model& model) : root_(root), model_(model), joints_(model) {
    if (const auto base = root.string("base")) {
      if (*base != "free" && *base != "planar" && *base != "frozen")
        root.fail("base", fmt::format("\"{}\", expected \"free\", \"planar\" or \"frozen\"", *base));
      base_ = *base;
    }
    read_axes();
    read_points();
    read_groups();
    read_neutral();
    for (int i = 0; base_ == "frozen" && i < std::ssize(model.bodies()); ++i)
      if (is_base(i)) frozen_.emplace_back(i);
  }

  Motion::Keyframe neutral() const { return {.time = 0, .q = neutral_}; }

  // The pose after a [[keyframe]], given the one before.
  Motion::Keyframe read_keyframe(const TomlReader& table, const Motion::Keyframe& before) {
    table.check_keys({"after", "move", "joints"});
    const auto after = table.number("after");
    if (!after) table.fail("after", "required key is missing");
    if (!(*after > 0)) table.fail("after", fmt::format("{}, expected > 0 s", *after));
    Motion::Keyframe keyframe{.time = before.time + *after, .q = before.q};
    const auto move = table.table("move"), joints = table.table("joints");
    if (move && joints) table.fail("joints", "given beside move, expected one of the two");
    if (joints) {
      set_joints(*joints, keyframe.q);
      place_targets(keyframe.q);
    }
    if (move) {
      move_targets(*move);
      keyframe.q = reach(table);
    }
    return keyframe;
  }

 private:
  void read_axes() {
    const auto axes = root_.string("axes");
    if (!axes) return;
    for (size_t k = 0; k < 3; ++k) counts_[k] = axes->find("xyz"[k]) != std::string::npos;
    std::string expected;
    for (size_t k = 0; k < 3; ++k) expected += counts_[k] ? std::string(1, "xyz"[k]) : "";
    if (axes->empty() || *axes != expected)
      root_.fail("axes", fmt::format("\"{}\", expected some of \"xyz\", in this order", *axes));
  }

  void read_points() {
    for (const ContactPoint& point : model_.contact_points()) names_.push_back(point.name);
    const std::vector<std::string> known = names_;
    if (const auto chosen = root_.strings("points")) names_ = *chosen;
    for (size_t k = 0; k < names_.size(); ++k) {
      const auto at = std::find(known.begin(), known.end(), names_[k]);
      if (at == known.end())
        root_.fail("points",
                   fmt::format("the model has no contact point \"{}\"{}", names_[k], suggestion(names_[k], known)));
      if (std::find(names_.begin(), names_.begin() + static_cast<long>(k), names_[k]) !=
          names_.begin() + static_cast<long>(k))
        root_.fail("points", fmt::format("\"{}\" is named twice, expected once", names_[k]));
      const ContactPoint& point = model_.contact_points()[static_cast<size_t>(at - known.begin())];
      targets_.push_back({.body = point.body, .p_B = point.p_B, .x = counts_[0], .y = counts_[1], .z = counts_[2]});
      groups_[names_[k]] = {k};
    }
  }

  void read_groups() {
    const auto table = root_.table("groups");
    if (!table) return;
    for (const std::string& name : table->keys()) {
      if (groups_.contains(name)) table->fail(name, "a point has this name, expected another one");
      const std::vector<std::string> members = *table->strings(name);
      std::vector<size_t> group;
      for (const std::string& member : members) {
        const auto at = std::find(names_.begin(), names_.end(), member);
        if (at == names_.end()) table->fail(name, fmt::format("no point \"{}\"{}", member, suggestion(member, names_)));
        group.push_back(static_cast<size_t>(at - names_.begin()));
      }
      groups_[name] = group;
    }
  }

  void read_neutral() {
    neutral_ = model_.neutral_position();
    if (const auto table = root_.table("neutral")) {
      for (const std::string& name : table->keys()) {
        const Joint& joint = find_joint(*table, name);
        const int count = position_count(joint.type);
        if (count == 0) table->fail(name, "a fixed joint has no position");
        if (joint.mimic) table->fail(name, joints_.who_leads(joint));
        const std::vector<double> value = *table->numbers(name, count);
        neutral_.segment(joint.q_index, count) = Eigen::VectorXd::Map(value.data(), count);
        table->blame(name, [&] { check_joint_state(joint, neutral_, Eigen::VectorXd::Zero(model_.nv())); });
        normalise_joint(joint, neutral_);
      }
    }
    place_targets(neutral_);
    start_ = targets_;
  }

  const Joint& find_joint(const TomlReader& table, const std::string& name) const {
    const Joint* joint = nullptr;
    table.blame(name, [&] { joint = &joints_.find(name); });
    return *joint;
  }

  void set_joints(const TomlReader& table, Eigen::VectorXd& q) const {
    for (const std::string& name : table.keys()) {
      const Joint& joint = find_joint(table, name);
      if (velocity_count(joint.type) != 1)
        table.fail(name,
                   fmt::format("a {} joint, expected revolute, continuous or prismatic", joint_type_name(joint.type)));
      if (joint.mimic) table.fail(name, joints_.who_leads(joint));
      q(joint.q_index) = *table.number(name);
    }
  }

  // From here on the points should be where they are at this pose.
  void place_targets(const Eigen::VectorXd& q) {
    const std::vector<Pose> X_WB = body_poses(model_, q);
    for (PointTarget& target : targets_) target.target = X_WB[static_cast<size_t>(target.body.value())] * target.p_B;
  }

  void move_targets(const TomlReader& table) {
    std::vector<bool> moved(targets_.size());
    for (const std::string& name : table.keys()) {
      const auto group = groups_.find(name);
      if (group == groups_.end()) {
        std::vector<std::string> known;
        for (const auto& entry : groups_) known.push_back(entry.first);
        table.fail(name, "no such point or group" + suggestion(name, known));
      }
      const std::vector<double> by = *table.numbers(name, 3);
      for (size_t k = 0; k < 3; ++k)
        if (!counts_[k] && by[k] != 0)
          table.fail(name, fmt::format("moves by {} along {}, expected 0: axes leaves it out", by[k], "xyz"[k]));
      for (const size_t k : group->second) {
        if (moved[k]) table.fail(name, fmt::format("moves {} a second time, expected once", names_[k]));
        moved[k] = true;
        targets_[k].target += Vec3(by.data());
      }
    }
  }

  bool is_base(int body) const {
    const JointType type = model_.joints()[static_cast<size_t>(body)].type;
    return model_.bodies()[static_cast<size_t>(body)].parent == kWorld &&
           (type == JointType::planar || type == JointType::floating);
  }

  // The neutral pose carried along with the points: by their mean horizontal displacement. Without it a walk would
  // drag its base ever further behind its feet.
  Eigen::VectorXd reference() const {
    Vec3 travel = Vec3::Zero();
    for (size_t k = 0; k < targets_.size(); ++k)
      travel += (targets_[k].target - start_[k].target) / static_cast<double>(targets_.size());
    travel.z() = 0;
    Eigen::VectorXd v = Eigen::VectorXd::Zero(model_.nv());
    for (int i = 0; i < std::ssize(model_.bodies()); ++i) {
      if (!is_base(i)) continue;
      const Joint& joint = model_.joints()[static_cast<size_t>(i)];
      const Vec3 travel_J = joint.X_PJ.R.transpose() * travel;
      if (joint.type == JointType::floating) {
        v.segment<3>(joint.v_index) = travel_J;
      } else {
        Vec3 u1, u2;
        planar_directions(joint.axis, u1, u2);
        v.segment<2>(joint.v_index) = Eigen::Vector2d(u1.dot(travel_J), u2.dot(travel_J));
      }
    }
    return integrate_position(model_, neutral_, v, 1);
  }

  // A planar base moves in x and z and pitches: of the points at its origin and one metre along x and z from there,
  // none may leave its place in y.
  void hold_plane(const Eigen::VectorXd& q, std::vector<PointTarget>& targets) const {
    const std::vector<Pose> X_WB = body_poses(model_, q);
    for (int i = 0; i < std::ssize(model_.bodies()); ++i) {
      if (!is_base(i)) continue;
      const Pose& X = X_WB[static_cast<size_t>(i)];
      for (const Vec3& at : {Vec3(0, 0, 0), Vec3(1, 0, 0), Vec3(0, 0, 1)})
        targets.push_back(
            {.body = BodyIndex(i), .p_B = X.R.transpose() * at, .target = X.p + at, .x = false, .z = false});
    }
  }

  Eigen::VectorXd reach(const TomlReader& keyframe) const {
    const Eigen::VectorXd near = base_ == "frozen" ? neutral_ : reference();
    std::vector<PointTarget> targets = targets_;
    if (base_ == "planar") hold_plane(near, targets);
    const InverseKinematicsResult found = inverse_kinematics(model_, near, targets, frozen_);
    if (found.converged) return found.q;
    const std::vector<Pose> X_WB = body_poses(model_, found.q);
    size_t worst = 0;
    double miss = -1;
    for (size_t k = 0; k < targets_.size(); ++k) {
      const PointTarget& t = targets_[k];
      const Vec3 error = X_WB[static_cast<size_t>(t.body.value())] * t.p_B - t.target;
      const double size = Vec3(t.x ? error.x() : 0, t.y ? error.y() : 0, t.z ? error.z() : 0).norm();
      if (size > miss) {
        miss = size;
        worst = k;
      }
    }
    const Vec3& p = targets_[worst].target;
    keyframe.fail("move", fmt::format("the nearest pose found misses the target of {} at ({:.4f}, {:.4f}, {:.4f}) by "
                                      "{:.3g} m, expected one within reach",
                                      names_[worst], p.x(), p.y(), p.z(), miss));
  }

  const TomlReader& root_;
  const Model& model_;
  const JointFinder joints_;
  std::string base_ = "free";
  std::array<bool, 3> counts_ = {true, true, true};
  std::vector<std::string> names_;  // of the points, in the order of targets_
  std::vector<PointTarget> targets_, start_;
  std::map<std::string, std::vector<size_t>> groups_;  // each point is a group too
  std::vector<BodyIndex> frozen_;
  Eigen::VectorXd neutral_;
};

}  // namespace

Motion load_motion(const std::filesystem::path& file, const Model& model) {
  std::string text;
  const toml::table root = parse_toml_file(file, text);
  const TomlReader reader(root, file.string());
  reader.check_keys({"title", "base", "axes", "points", "neutral", "groups", "loop_from", "keyframe"});
  reader.require("keyframe");
  (void)reader.string("title");
  MotionReader motion(reader, model);

  const toml::array* entries = root.get("keyframe")->as_array();
  if (!entries || !entries->is_array_of_tables())
    reader.fail("keyframe", "not an array of tables, expected [[keyframe]] once or more");
  if (entries->size() > kMostKeyframes)
    reader.fail("keyframe", fmt::format("{} keyframes, expected at most {}", entries->size(), kMostKeyframes));
  std::vector<Motion::Keyframe> keyframes = {motion.neutral()};
  for (const toml::node& entry : *entries) {
    const TomlReader table(*entry.as_table(), file.string(), fmt::format("keyframe {}", keyframes.size()));
    keyframes.push_back(motion.read_keyframe(table, keyframes.back()));
  }

  const auto loop_from = reader.integer("loop_from");
  if (!loop_from) return Motion(model, std::move(keyframes));
  const int last = static_cast<int>(keyframes.size()) - 1;
  if (*loop_from < 0 || *loop_from >= last)
    reader.fail("loop_from", fmt::format("{}, expected a keyframe in [0, {}]", *loop_from, last - 1));
  const double loop_start = keyframes[static_cast<size_t>(*loop_from)].time;
  std::optional<Motion> result;
  reader.blame("loop_from", [&] { result.emplace(model, std::move(keyframes), loop_start); });
  return *std::move(result);
}

}  // namespace scree
