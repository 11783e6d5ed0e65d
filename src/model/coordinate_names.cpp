#include "model/coordinate_names.h"

namespace scree {
namespace {

using Names = std::vector<std::string>;

// Letters of the two directions a planar joint slides along: the axes its normal is least aligned with.
std::string planar_letters(const Joint& joint) {
  Eigen::Index normal = 0;
  joint.axis.cwiseAbs().maxCoeff(&normal);
  return std::string("xyz").erase(static_cast<size_t>(normal), 1);
}

// Coordinates of one joint beside its name; a joint of one dof is called by its name alone.
Names position_parts(const Joint& joint) {
  const std::string planar = planar_letters(joint);
  if (joint.type == JointType::planar) return {planar.substr(0, 1), planar.substr(1), "angle"};
  if (joint.type == JointType::ball) return {"qw", "qx", "qy", "qz"};
  if (joint.type == JointType::floating) return {"x", "y", "z", "qw", "qx", "qy", "qz"};
  return {};
}
Names velocity_parts(const Joint& joint) {
  const std::string planar = planar_letters(joint);
  if (joint.type == JointType::planar) return {"v" + planar.substr(0, 1), "v" + planar.substr(1), "w"};
  if (joint.type == JointType::ball) return {"wx", "wy", "wz"};
  if (joint.type == JointType::floating) return {"vx", "vy", "vz", "wx", "wy", "wz"};
  return {};
}

Names names_of(const Model& model, Names (*parts_of)(const Joint&)) {
  Names names;
  for (const Joint& joint : model.joints()) {
    if (joint.mimic) continue;
    if (velocity_count(joint.type) == 1) names.push_back(joint.name);
    for (const std::string& part : parts_of(joint)) names.push_back(joint.name + "." + part);
  }
  return names;
}

}  // namespace

std::vector<std::string> position_names(const Model& model) { return names_of(model, position_parts); }
std::vector<std::string> velocity_names(const Model& model) { return names_of(model, velocity_parts); }

std::vector<std::string> position_units(const Model& model) {
  Names units;
  for (const Joint& joint : model.joints()) {
    if (joint.mimic) continue;
    const Names more = joint.type == JointType::planar     ? Names{"m", "m", "rad"}
                       : joint.type == JointType::ball     ? Names(4, "1")
                       : joint.type == JointType::floating ? Names{"m", "m", "m", "1", "1", "1", "1"}
                       : joint.type == JointType::fixed    ? Names{}
                                                           : Names{joint.type == JointType::prismatic ? "m" : "rad"};
    units.insert(units.end(), more.begin(), more.end());
  }
  return units;
}

std::vector<std::string> velocity_units(const Model& model) {
  Names units;
  for (const Joint& joint : model.joints()) {
    if (joint.mimic) continue;
    const Names more = joint.type == JointType::planar     ? Names{"m/s", "m/s", "rad/s"}
                       : joint.type == JointType::ball     ? Names(3, "rad/s")
                       : joint.type == JointType::floating ? Names{"m/s", "m/s", "m/s", "rad/s", "rad/s", "rad/s"}
                       : joint.type == JointType::fixed    ? Names{}
                                                        : Names{joint.type == JointType::prismatic ? "m/s" : "rad/s"};
    units.insert(units.end(), more.begin(), more.end());
  }
  return units;
}

}  // namespace scree
