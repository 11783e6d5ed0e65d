// The parts of a Run that are written while it goes on, so that a killed one can be resumed with the same bits.
#pragma once

#include "run/chunk_folder.h"
#include "scree/run.h"

namespace scree {

// Where a run stands after a step: all that the steps after it depend on.
struct RunCursor {
  SavedState end;
  double wall_time = 0;                                       // [s] of the stepping so far
  int iterations = 0, substeps = 0, rejected = 0, outer = 0;  // since the last row, where rows are not steps
  RunTotals totals;
};

// Rows [first, rows()) of `run` with their contacts and events, and states from number `first_state` on.
Run rows_from(const Run& run, size_t first, size_t first_state);
void append_rows(Run part, Run& run);

// As the public functions; `folder`: null: no chunks. At the end it holds what was not the last chunk.
Run run_scene(const Scene& scene, const RunOptions& options, const ChunkFolder* folder, const RunProgress& progress);
// What `file` holds if it is this very run, and options.resume. Its chunks, if there are any left, are removed.
std::optional<Run> finished_run(const Scene& scene, const RunOptions& options, const std::filesystem::path& file);

void write_run_chunk(const ChunkFolder& folder, size_t k, const ChunkFolder::Settings& settings, const Model& model,
                     const Run& part, const RunCursor& cursor);
// Chunks 0, 1, ... as far as they are whole and follow each other, into `run`, which has no rows and whose environment
// and point names are set. Returns how many.
size_t read_run_chunks(const ChunkFolder& folder, const ChunkFolder::Settings& settings, const Model& model, Run& run,
                       RunCursor& cursor);

}  // namespace scree
