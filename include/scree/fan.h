// Fan: the futures of one scene where impacts have more than one outcome. Every branch is a run of the integrator
// `event` whose impacts are drawn from the set of outcomes (scree/outcome_set.h).                     theory section 15
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
  int threads = 1;  // >= 1; the result does not depend on it
  // sampler, step, max_steps, vary_solutions, closing, friction_directions, separated. Samples, seed, threads, paths
  // and directions play no part.
  OutcomeOptions sampling = {};
  void validate(const Scene& scene) const;  // throws InputError
};

// An impact of a branch.
struct FanImpact {
  double time = 0;                             // [s]
  int contacts = 0;                            // closed ones
  std::string mode;                            // what they did: "front-left sticks, rear-left opens"
  double energy_before = 0, energy_after = 0;  // [J] kinetic
  Eigen::VectorXd v_before, v_after;           // nv
};

struct FanBranch {
  RunStatus status = RunStatus::complete;
  std::string failure;  // why it ended early; empty if it did not
  std::vector<FanImpact> impacts;
  std::uint64_t final_state_hash = 0;
  double final_energy = 0;  // [J] kinetic and potential
  double penetration = 0;   // [m] deepest ever
};

// Branches with the same sequence of modes at their ambiguous impacts.
struct FanCluster {
  std::vector<std::string> modes;
  std::vector<long> branches;
};

struct Fan {
  std::string title;
  std::vector<double> time;              // [s] rows, the same for all branches
  std::vector<std::string> coordinates;  // names of the nq positions, with units; then of the nv velocities
  // branches x rows x nq (nv), row-major: positions of branch b at row k begin at (b rows + k) nq. Rows that a branch
  // did not reach are NaN.
  std::vector<double> q, v;
  std::vector<FanBranch> branches;
  std::vector<FanCluster> clusters;  // most branches first
  double first_split = 0;            // [s] time of the first impact at which branches part; NaN: they never do
  // Spread over time, by row: standard deviation over the branches [kg^(1/2) m], distances of states in the metric of
  // the mass matrix at the median branch.
  std::vector<double> spread;
  double wall_time = 0;  // [s]
  bool interrupted = false;

  size_t rows() const { return time.size(); }
  // Quantile p in [0, 1] of coordinate c (0 ... nq + nv - 1) over the branches that reached the row, linear between
  // order statistics; NaN if none did.
  double quantile(size_t row, int coordinate, double p) const;
};

// `progress`: branches done and wanted; false asks to stop. Throws InputError: scene, options. The scene's integrator
// has to be `event`.
Fan run_fan(const Scene& scene, const FanOptions& options, const std::function<bool(long, long)>& progress = {});

// HDF5: /time /q /v /branches/* /impacts/* /model. Temporary file, then rename.
void write_fan(const std::filesystem::path& file, const Scene& scene, const Fan& fan);

// One self-contained HTML file that opens offline: the fan of every coordinate with quantile bands, replay of any
// branch, table of outcomes, spread over time. Temporary file, then rename.
void write_fan_page(const std::filesystem::path& file, const Scene& scene, const Fan& fan);

}  // namespace scree
