// What a run, fan or batch is a function of, for people and to tell whether chunks belong to it.
#pragma once

#include "scree/batch_file.h"
#include "scree/fan.h"
#include "scree/run.h"

namespace scree {

using Identity = std::vector<std::pair<std::string, std::string>>;
Identity batch_settings(const Scene& scene, const BatchOptions& options, size_t trajectories, std::uint64_t seed,
                        size_t chunk);
Identity run_settings(const Scene& scene, const RunOptions& options);
Identity fan_settings(const Scene& scene, const FanOptions& options, size_t chunk);

}  // namespace scree
