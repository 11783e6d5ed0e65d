// Run: the recording of a simulation, its HDF5 file, and the HTML replay made from it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "scree/scene.h"
#include "scree/state_file.h"
#include "scree/table.h"

namespace scree {

enum class RunStatus {
  complete,
  step_failed,  // a step did not converge at its smallest substep; the recording ends before it
  interrupted,  // the caller asked to stop
};
const char* run_status_name(RunStatus status);

// Of a whole run.
struct RunTotals {
  long long steps = 0;       // accepted substeps
  long long rejected = 0;    // tries that failed or were not accurate enough
  long long inaccurate = 0;  // steps taken at the smallest length though their error exceeds the accuracy
  long long stages = 0;      // solved, failed tries included
  double smallest_step = 0;  // [s] of the accepted substeps
  double largest_step = 0;   // [s]
  double energy_gain = 0;    // [J] of `event`: sum of StepReport::energy_gain
};

// One row per recorded instant; row 0 is the initial state (energies are its own, other report columns are zero).
struct Run {
  std::string title;
  RunStatus status = RunStatus::complete;
  std::vector<std::pair<std::string, std::string>> settings;  // name, value with unit: what the replay's table shows
  std::string scene_text;
  std::vector<double> time;              // [s]
  Table q, v;                            // one row a record; nq and nv columns
  std::vector<double> kinetic_energy;    // [J]
  std::vector<double> potential_energy;  // [J]
  std::vector<double> residual;          // [m/s^2, rad/s^2]
  std::vector<int> iterations, substeps, rejected;
  // Scenes with contact; all empty otherwise.
  std::vector<int> outer;           // iterations of the projected gradient method
  std::vector<double> optimality;   // [J]
  std::vector<double> penetration;  // [m] deepest contact
  std::vector<double> energy_gain;  // [J] StepReport::energy_gain, measured by `event` alone; 0 otherwise
  std::vector<Collider> colliders;  // World::colliders
  std::vector<Contact> contacts;    // of all rows, one after the other
  std::vector<std::uint64_t>
      first_contact;  // rows + 1 entries: row k has contacts [first_contact[k], first_contact[k + 1])
  std::vector<Event>
      events;  // of the integrator `event`, all rows; `event_row` k: the row that ended the step of event k
  std::vector<std::uint64_t> event_row;
  double wall_time = 0;  // [s], of the stepping alone
  std::uint64_t final_state_hash = 0;
  RunTotals totals;
  std::vector<std::pair<std::string, std::string>> identity;  // what the run is a function of, long things as hashes
  std::vector<SavedState> states;  // in the order of time; the last one is that of the end of the run
  size_t rows() const { return time.size(); }
};

// Called after every step with the simulated time; return false to stop the run (RunStatus::interrupted).
using RunProgress = std::function<bool(double time, double duration)>;

Run run_scene(const Scene& scene, const RunProgress& progress = {});

struct RunOptions {
  double checkpoint = 0;  // >= 0 [s] simulated between states that the run keeps; 0: that of its end alone
  // Where to start, in place of the scene's initial state; the run still ends at the scene's duration. With all else as
  // in the run that saved it, it goes on with the same bits.
  std::optional<SavedState> from;
  int chunk = 0;                            // of record_run: >= 0 rows to a chunk; 0: what takes 10 s
  bool resume = false;                      // of record_run: go on with the chunks that an earlier call left
  void validate(const Scene& scene) const;  // throws InputError
};
Run run_scene(const Scene& scene, const RunOptions& options, const RunProgress& progress = {});

// Runs a scene into `file`, as write_run writes it. While it runs, finished chunks are files of their own in
// FILE.chunks/; at the end the folder is removed. Killed at any time, a call with `resume` goes on after the last chunk
// and gives what an uninterrupted call gives, bit for bit but for wall times; a run that has ended is left as it is. So
// does one that was interrupted: its file has the rows so far, its chunks stay. Throws InputError: options, a folder of
// chunks without `resume`, chunks of another run; WriteError: what cannot be written.
Run record_run(const Scene& scene, const RunOptions& options, const std::filesystem::path& file,
               const RunProgress& progress = {});

// HDF5, readable with h5py: /time /q /v /report/* /model/* /colliders/* /contacts/* /events/*, units in
// attributes. Temporary file, then rename.
void write_run(const std::filesystem::path& file, const Model& model, const Run& run);
struct LoadedRun {
  Model model;
  Run run;
};
LoadedRun read_run(const std::filesystem::path& file);  // throws InputError

// One self-contained HTML file that opens offline: 3-D replay, plots, settings. Temporary file, then rename.
void write_replay(const std::filesystem::path& file, const Model& model, const Run& run);

// A second run shown through the first: translucent in the 3-D view, dashed in the plots. Its model, step and duration
// may differ; both are shown at the same time.
struct Ghost {
  const Model& model;
  const Run& run;
};
void write_replay(const std::filesystem::path& file, const Model& model, const Run& run, const Ghost& ghost);

}  // namespace scree
