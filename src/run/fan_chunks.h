// Finished branches of a fan on disk, so that a killed one can be resumed.
#pragma once

#include "run/chunk_folder.h"
#include "scree/fan.h"

namespace scree {

size_t fan_chunk_size(const Scene& scene, const FanOptions& options);  // branches to a chunk

// Branches [first, first + count) of `fan`, all of which have ended.
void write_fan_chunk(const ChunkFolder& folder, size_t k, const ChunkFolder::Settings& settings, const Scene& scene,
                     const Fan& fan, size_t first, size_t count);
// Puts the branches of the chunks found into their places in `fan`, which has room for all; `ended` says which.
void read_fan_chunks(const ChunkFolder& folder, const ChunkFolder::Settings& settings, const Scene& scene, size_t chunk,
                     Fan& fan, std::vector<char>& ended);

// As run_fan and record_fan; `folder`: null: no chunks.
Fan run_fan(const Scene& scene, const FanOptions& options, const ChunkFolder* folder,
            const std::function<bool(long, long)>& progress);

}  // namespace scree
