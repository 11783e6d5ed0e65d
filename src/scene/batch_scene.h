// The table [batch] of a scene, and the trajectories it stands for.
#pragma once

#include "scene/toml_reader.h"
#include "scree/batch.h"

namespace scree {

inline constexpr int kMostTrajectories = 100'000'000;  // of one batch

// No table: no variation. Throws InputError as load_scene.
BatchVariation read_batch_variation(const TomlReader& scene, const Model& model, const Control& control,
                                    const World& world);

// A number drawn by (seed, trajectory, stream, item) alone, whatever else is drawn.
class Draw {
 public:
  Draw(std::uint64_t seed, std::uint64_t trajectory, std::uint64_t stream, std::uint64_t item);
  double uniform();  // in [0, 1)
  double normal();   // mean 0, variance 1
 private:
  std::uint64_t next();
  std::uint64_t state_;
};

// Changes the fields that the variation names. `trajectory` > 0; 0 is left as it is.
void vary(const Model& model, const BatchVariation& variation, std::uint64_t seed, std::uint64_t trajectory,
          Trajectory& out);

// The factors and contact parameters that differ between trajectories, as the batch file names them.
struct BatchParameter {
  const char* name;
  const char* units;
  BatchVariation::Range BatchVariation::*range;
};
const std::vector<BatchParameter>& batch_parameters();
// What `trajectory` drew for it; the scene's own value if `trajectory` is 0.
double batch_parameter(const BatchParameter& parameter, const BatchVariation& variation, double friction,
                       const SmoothContactOptions& smooth, std::uint64_t seed, std::uint64_t trajectory);

}  // namespace scree
