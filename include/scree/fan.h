// Fan: the futures of one scene where impacts have more than one outcome. Every branch is a run of the integrator
// `event` whose impacts are drawn from the set of outcomes (scree/outcome_set.h).                     theory section 17
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "scree/outcome_set.h"
#include "scree/run.h"

namespace scree {

struct FanOptions {
  static constexpr long kMaxNumbers = 400'000'000;  // branches x rows x (nq + nv): 3.2 GB

  long branches = 1000;  // >= 1
  std::uint64_t seed = 1;
  int threads = 0;  // >= 0; 0: as many as this machine has. The result does not depend on it
  // sampler, step, max_steps, vary_solutions, closing, friction_directions, separated. Samples, seed, threads, paths
  // and directions play no part.
  OutcomeOptions sampling = {.max_steps = 10000};
  int chunk = 0;        // of record_fan: >= 0 branches to a chunk; 0: 256, fewer where they would take more than 64 MiB
  bool resume = false;  // of record_fan: go on with the chunks that an earlier call left
  int cluster_impacts = 3;                  // >= 1, clusters tell branches apart by at most so many ambiguous impacts
  void validate(const Scene& scene) const;  // throws InputError
};

// Branch b takes trajectory b of this seed at its impact number k = 0, 1, ...: sample_outcome() with it draws the same.
// Of k = 0 it is `seed`.                                                                                theory (17.1)
std::uint64_t fan_impact_seed(std::uint64_t seed, long k);

// An impact of a branch.
struct FanImpact {
  double time = 0;                             // [s]
  int contacts = 0;                            // closed ones
  std::string mode;                            // what they did: "front-left sticks, rear-left opens"
  double energy_before = 0, energy_after = 0;  // [J] kinetic
  Eigen::VectorXd v_before, v_after;           // nv
  EventKind kind = EventKind::impact;          // or impact_without_collision
  bool ambiguous = false;                      // branches with the same past did different things here; theory (17.2)
};

struct FanBranch {
  RunStatus status = RunStatus::complete;
  std::string failure;  // why it ended early; empty if it did not
  std::vector<FanImpact> impacts;
  std::uint64_t final_state_hash = 0;
  double final_energy = 0;  // [J] kinetic and potential
  double penetration = 0;   // [m] deepest ever
  long index = 0;           // which trajectory of every impact it took; its place in Fan::branches, unless interrupted
  double end_time = 0;      // [s] of the last row it reached
  int cluster = 0;          // its place in Fan::clusters
};

// Branches with the same sequence of modes at their ambiguous impacts.
struct FanCluster {
  std::vector<std::string> modes;
  std::vector<long> branches;  // places in Fan::branches
};

struct FanShare {
  std::string mode;
  long branches = 0;
};

struct Fan {
  std::string title;
  FanOptions options;                    // threads: as many as there were
  std::vector<double> time;              // [s] rows, the same for all branches
  std::vector<std::string> coordinates;  // names of the nq positions, with units; then of the nv velocities
  // A table for each branch; one row a record; nq and nv columns. Rows that a branch did not reach are NaN.
  TableStack q, v;
  std::vector<FanBranch> branches;
  std::vector<FanCluster> clusters;  // most branches first
  double first_split = 0;            // [s] time of the first impact at which branches part; NaN: they never do
  std::vector<FanShare> split;       // what they do at it, most frequent first
  // Spread over time, by row: standard deviation over the branches [kg^(1/2) m], distances of positions in the metric
  // of the mass matrix at the median branch, theory (17.3). NaN where no branch came.
  std::vector<double> spread;
  std::vector<std::pair<std::string, std::string>> identity;  // what the fan is a function of, long things as hashes
  double wall_time = 0;                                       // [s]
  bool interrupted = false;

  size_t rows() const { return time.size(); }
  // Of coordinate c (0 ... nq + nv - 1) of branch b.
  double at(size_t branch, size_t row, int coordinate) const;
  // Quantile p in [0, 1] of coordinate c (0 ... nq + nv - 1) over the branches that reached the row, linear between
  // order statistics; NaN if none did.
  double quantile(size_t row, int coordinate, double p) const;
};

// `progress`: branches done and wanted, called by one thread at a time, also within branches; false asks to stop, and
// what is left are the branches that ended. Throws InputError: scene, options. The scene's integrator has to be
// `event`; its law of impacts plays no part, its restitution does.
Fan run_fan(const Scene& scene, const FanOptions& options, const std::function<bool(long, long)>& progress = {});

// Runs a fan into `file`, as write_fan writes it. While it runs, finished chunks are files of their own in
// FILE.chunks/; at the end the folder is removed. Killed at any time, a call with `resume` runs the branches that are
// missing and gives what an uninterrupted call gives, bit for bit but for the wall time. Interrupted, the file has the
// branches that ended, and the chunks stay. Throws InputError: as run_fan, a folder of chunks without `resume`, chunks
// of another fan; WriteError: what cannot be written.
Fan record_fan(const Scene& scene, const FanOptions& options, const std::filesystem::path& file,
               const std::function<bool(long, long)>& progress = {});

// HDF5, docs/fans.md: /time /q /v /spread /branches/* /impacts/* /clusters/* /model. Temporary file, then rename.
void write_fan(const std::filesystem::path& file, const Scene& scene, const Fan& fan);

// One self-contained HTML file that opens offline: the fan of every coordinate with quantile bands, replay of any
// branch, table of outcomes, spread over time. Temporary file, then rename.
void write_fan_page(const std::filesystem::path& file, const Scene& scene, const Fan& fan);

}  // namespace scree
