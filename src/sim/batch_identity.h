// What a batch is a function of, for people and to tell whether chunks belong to it.
#pragma once

#include "scree/batch_file.h"

namespace scree {

using BatchSettings = std::vector<std::pair<std::string, std::string>>;
BatchSettings batch_settings(const Scene& scene, const BatchOptions& options, size_t trajectories, std::uint64_t seed,
                             size_t chunk);

}  // namespace scree
