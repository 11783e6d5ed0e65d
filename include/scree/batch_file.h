// Batches of a scene on disk: run_batch() writes a batch file, chunk by chunk so that a killed run can be resumed;
// BatchFile and read_batch() read it. docs/batch.md.
#pragma once

#include <filesystem>
#include <map>

#include "scree/scene.h"

namespace scree {

// Fills in trajectory `index` of the scene: its initial state, control and contact, changed as Scene::batch says. The
// same for the same seed and index, whatever the machine; 0 is the scene itself.
void make_trajectory(const Scene& scene, std::uint64_t seed, size_t index, Trajectory& trajectory);

struct BatchRunOptions {
  size_t trajectories = 0;                     // in [1, 1e8]; 0: as the scene says
  std::optional<std::uint64_t> seed;           // empty: as the scene says
  int rows_every = 0, lanes = 0, threads = 0;  // as in BatchOptions
  int chunk = 0;        // >= 0 trajectories to a chunk; 0: 256, fewer where they would take more than 64 MiB
  bool resume = false;  // go on with the chunks that an earlier call left
  BatchSimulation::Stop stop;
};

struct BatchFailure {
  size_t index = 0;
  TrajectoryStatus status = TrajectoryStatus::invalid;
  std::string what;
};

struct BatchSummary {
  bool finished = false;  // false: the caller asked to stop; the chunks stay for another call
  size_t trajectories = 0, complete = 0, step_failed = 0, invalid = 0;
  std::vector<BatchFailure> failures;  // the first few of each kind
  std::int64_t steps = 0, substeps = 0, rejected = 0, iterations = 0;
  double penetration = 0;  // [m] deepest of all
  std::uint64_t seed = 0;
  int lanes = 1, threads = 1;
  size_t chunk = 0, chunks = 0;
  size_t resumed = 0;            // chunks found from an earlier call
  size_t damaged = 0;            // chunks found that could not be read and were run again
  double wall_time = 0;          // [s] of this call's stepping
  double simulated = 0;          // [s] in this call, all trajectories together
  std::filesystem::path folder;  // of the chunks, while there are any
};

// Called after every trajectory; false: stop soon.
using BatchProgress = std::function<bool(size_t done, size_t trajectories)>;

// Runs the trajectories of a scene into `file`. While it runs, finished chunks are files of their own in FILE.chunks/,
// each readable by itself; at the end they are joined and the folder is removed. Killed at any time, a call with
// `resume` runs what is missing and gives the file an uninterrupted call gives, bit for bit in every dataset.
// Throws InputError: options; a folder of chunks without `resume`; chunks of another scene, model, seed or options;
// what cannot be written.
BatchSummary run_batch(const Scene& scene, const BatchRunOptions& options, const std::filesystem::path& file,
                       const BatchProgress& progress = {});

// Trajectories [first, first + size()) of a batch.
struct BatchTable {
  size_t first = 0;
  std::vector<TrajectoryStatus> status;
  std::vector<std::string> failure;
  TableStack q, v;                  // a table for each trajectory; nq and nv columns; NaN in rows not reached
  Table initial_q, initial_v;       // one row a trajectory; nq and nv columns
  Table final_q, final_v;           // likewise: the last state that was reached; NaN if invalid
  std::vector<double> end_time;     // [s]
  std::vector<double> residual;     // [m/s^2, rad/s^2]
  std::vector<double> penetration;  // [m]
  std::vector<std::int64_t> steps, substeps, rejected, iterations, damped, stationary;
  std::vector<std::uint64_t> final_state_hash;
  std::map<std::string, std::vector<double>> parameters;  // those that differ between trajectories
  size_t size() const { return status.size(); }
};

class BatchFile {
 public:
  explicit BatchFile(const std::filesystem::path& file);  // throws InputError
  ~BatchFile();
  BatchFile(BatchFile&&) noexcept;
  BatchFile& operator=(BatchFile&&) noexcept;

  size_t trajectories() const;              // in this file; of a chunk, its own
  size_t first() const;                     // index of the first one; 0 but for chunks
  const std::vector<double>& time() const;  // [s] of the rows
  const std::vector<std::string>& q_names() const;
  const std::vector<std::string>& v_names() const;
  const std::vector<std::pair<std::string, std::string>>& settings() const;
  Model model() const;                                // not in chunks
  BatchTable read(size_t first, size_t count) const;  // by index within the batch; throws InputError

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

BatchTable read_batch(const std::filesystem::path& file);  // all of it

}  // namespace scree
