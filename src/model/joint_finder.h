// Joints by name, for readers that look for many: Model::find_joint goes through all of them.
#pragma once

#include <string>
#include <unordered_map>

#include "scree/model.h"

namespace scree {

class JointFinder {
 public:
  explicit JointFinder(const Model& model) : model_(model) {
    for (const Joint& joint : model.joints()) joints_.emplace(joint.name, &joint);
  }
  const Joint& find(const std::string& name) const {
    const auto found = joints_.find(name);
    return found != joints_.end() ? *found->second : model_.joint(model_.find_joint(name));  // which throws
  }
  // What to tell those who set the position, target or gains of a joint that has none of its own.
  std::string who_leads(const Joint& follower) const {
    const Joint* master = &follower;
    while (master->mimic) master = &find(master->mimic->joint);
    return "follows joint " + master->name + ", expected " + master->name + " in its place";
  }

 private:
  const Model& model_;
  std::unordered_map<std::string, const Joint*> joints_;
};

}  // namespace scree
