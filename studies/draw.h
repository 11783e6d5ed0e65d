// Scenes drawn from seeds.
#pragma once

#include <cstdint>
#include <random>

#include "scree/scene.h"

namespace scree {

class Random {
 public:
  explicit Random(std::uint64_t seed) : bits_(seed) {}
  double uniform(double low, double high) {  // the same on every platform, unlike std::uniform_real_distribution
    return low + (high - low) * (static_cast<double>(bits_() >> 11) * 0x1p-53);
  }
  int below(int count) { return static_cast<int>(uniform(0, count)); }

 private:
  std::mt19937_64 bits_;
};

// A model in the air, by pbd-nmdp2.
Scene empty_scene(const Model& model);
// A floor of Coulomb's law whose nearest point is `clearance` [m] away from the nearest contact point at q0.
void add_floor(Scene& scene, double clearance, double friction, double depth, const Vec3& normal = Vec3::UnitZ());
// PD towards q0 on every one-dof joint.
void hold_pose(Scene& scene, double kp, double kd);

}  // namespace scree
