// Motion: where the joints should be at every time, as a spline through keyframes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "scree/model.h"

namespace scree {

// Positions of all joints at keyframes, joined by cubic Hermite splines with zero slope at every keyframe. Before the
// first keyframe the first pose holds. After the last one the motion starts again at `loop_start`, the time of a
// keyframe with the same one-dof positions (within 1e-6; the last one is then made equal), or the last pose holds.
class Motion {
 public:
  struct Keyframe {
    double time;        // [s], increasing
    Eigen::VectorXd q;  // nq
  };
  // Throws InputError: fewer than 1 keyframe, times not increasing, sizes, a loop that jumps or starts between
  // keyframes.
  Motion(const Model& model, std::vector<Keyframe> keyframes, std::optional<double> loop_start = std::nullopt);

  double end() const { return keyframes_.back().time; }  // [s]
  const std::vector<Keyframe>& keyframes() const { return keyframes_; }
  // Target of every one-dof joint at `time`: q (nq) and its rate (nv). Entries of other joints are left alone.
  void sample(double time, Eigen::Ref<Eigen::VectorXd> q, Eigen::Ref<Eigen::VectorXd> v) const;

 private:
  std::vector<Keyframe> keyframes_;
  std::vector<std::pair<int, int>> joints_;  // (q, v) index of the one-dof joints
  double loop_start_ = 0;
  bool loops_ = false;
};

// Reads a motion file (TOML, docs/motions.md): keyframes given as joint positions or as moves of named points, which
// inverse kinematics turns into joint positions. Throws InputError: file:line, keyframe, and by how much the nearest
// pose misses its target.
Motion load_motion(const std::filesystem::path& file, const Model& model);

// The pose nearest to `reference` (mass-weighted displacement of all material points) at which points of the body
// reach their targets.
struct PointTarget {
  BodyIndex body;
  Vec3 p_B = Vec3::Zero();            // [m]
  Vec3 target = Vec3::Zero();         // [m] world
  bool x = true, y = true, z = true;  // which coordinates count
};
struct InverseKinematicsResult {
  bool converged = false;  // targets hit within 1e-9 m, at a stationary point of the displacement
  Eigen::VectorXd q;
  double miss = 0;  // [m] largest distance of a point to its target, in the coordinates that count
  int iterations = 0;
};
// Starts at the reference pose. Joint limits are not looked at. Where no pose within reach hits all targets,
// `converged` is false and q is the nearest pose found. Throws InputError: sizes, bodies, numbers that are not finite.
// Joints of bodies listed in `frozen` keep their reference position.
InverseKinematicsResult inverse_kinematics(const Model& model, const Eigen::VectorXd& reference,
                                           const std::vector<PointTarget>& targets,
                                           const std::vector<BodyIndex>& frozen = {});

}  // namespace scree
