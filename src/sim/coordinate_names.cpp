#include "sim/coordinate_names.h"

namespace scree {
namespace {

// Letters of the two directions a planar joint slides along: the axes its normal is least aligned with.
std::string planar_letters(const Joint& joint) {
  Eigen::Index normal = 0;
  joint.axis.cwiseAbs().maxCoeff(&normal);
  return std::string("xyz").erase(static_cast<size_t>(normal), 1);
}

void append(std::vector<std::string>& names, const Joint& joint, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) names.push_back(joint.name + "." + part);
}

}  // namespace

std::vector<std::string> position_names(const Model& model) {
  std::vector<std::string> names;
  for (const Joint& joint : model.joints()) {
    const std::string planar = planar_letters(joint);
    switch (joint.type) {
      case JointType::fixed:
        break;
      case JointType::revolute:
      case JointType::continuous:
      case JointType::prismatic:
        names.push_back(joint.name);
        break;
      case JointType::planar:
        append(names, joint, {planar.substr(0, 1), planar.substr(1), "angle"});
        break;
      case JointType::ball:
        append(names, joint, {"qw", "qx", "qy", "qz"});
        break;
      case JointType::floating:
        append(names, joint, {"x", "y", "z", "qw", "qx", "qy", "qz"});
        break;
    }
  }
  return names;
}

std::vector<std::string> velocity_names(const Model& model) {
  std::vector<std::string> names;
  for (const Joint& joint : model.joints()) {
    const std::string planar = planar_letters(joint);
    switch (joint.type) {
      case JointType::fixed:
        break;
      case JointType::revolute:
      case JointType::continuous:
      case JointType::prismatic:
        names.push_back(joint.name);
        break;
      case JointType::planar:
        append(names, joint, {"v" + planar.substr(0, 1), "v" + planar.substr(1), "w"});
        break;
      case JointType::ball:
        append(names, joint, {"wx", "wy", "wz"});
        break;
      case JointType::floating:
        append(names, joint, {"vx", "vy", "vz", "wx", "wy", "wz"});
        break;
    }
  }
  return names;
}

}  // namespace scree
