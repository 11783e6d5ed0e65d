#include "scree/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "base/atomic_file.h"
#include "control/joint_forces.h"
#include "run/build_info.h"
#include "run/dense_output.h"
#include "run/identity.h"
#include "run/run_chunks.h"
#include "run/run_contacts.h"
#include "run/run_events.h"
#include "run/scene_simulation.h"
#include "run/schedule.h"
#include "run/state_blocks.h"
#include "scree/dynamics.h"
#include "scree/error.h"

namespace scree {
namespace {

// The controller of the step, E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, section IV.8.
constexpr double kMostCheckpoints = 1e6;
constexpr double kFirstStep = 0.01;                                         // [s]
constexpr double kSafety = 0.9, kSmallestFactor = 0.2, kLargestFactor = 2;  // of the next step over the last

void reserve(Run& run, size_t rows, const Model& model) {
  for (auto* column : {&run.time, &run.kinetic_energy, &run.potential_energy, &run.residual}) column->reserve(rows);
  for (auto* column : {&run.iterations, &run.substeps, &run.rejected}) column->reserve(rows);
  run.q = Table(0, static_cast<size_t>(model.nq()));
  run.v = Table(0, static_cast<size_t>(model.nv()));
  run.q.reserve(rows);
  run.v.reserve(rows);
}

void record(Run& run, const State& state, const StepReport& report) {
  run.time.push_back(state.time);
  run.q.append(state.q);
  run.v.append(state.v);
  run.kinetic_energy.push_back(report.kinetic_energy);
  run.potential_energy.push_back(report.potential_energy);
  run.residual.push_back(report.residual);
  run.iterations.push_back(report.iterations);
  run.substeps.push_back(report.substeps);
  run.rejected.push_back(report.rejected);
}

// Row 0 has no contacts: no step has found their forces yet.
void record_contacts(Run& run, const std::vector<Contact>& contacts, const StepReport& report) {
  if (!has_contact(run)) return;
  run.outer.push_back(report.outer);
  run.optimality.push_back(report.optimality);
  run.penetration.push_back(report.penetration);
  run.energy_gain.push_back(report.energy_gain);
  run.contacts.insert(run.contacts.end(), contacts.begin(), contacts.end());
  run.first_contact.push_back(run.contacts.size());
}

void count(RunTotals& totals, const StepReport& report, const StepOptions& options) {
  totals.smallest_step =
      totals.steps == 0 ? report.smallest_step : std::min(totals.smallest_step, report.smallest_step);
  totals.largest_step = std::max(totals.largest_step, report.largest_step);
  totals.steps += report.substeps;
  totals.rejected += report.rejected;
  totals.stages += report.stages;
  const bool coarse = options.integrator == IntegratorType::event
                          ? report.energy_error > 1
                          : options.accuracy > 0 && report.error > options.accuracy;
  totals.inaccurate += coarse ? 1 : 0;
  totals.energy_gain += report.energy_gain;
}

std::string describe_failure(const State& state, const StepReport& report) {
  if (!report.reason.empty()) return fmt::format("the step from {:.6g} s failed: {}", state.time, report.reason);
  return fmt::format("the step from {:.6g} s did not converge: {} tries rejected, residual {:.3g} m/s^2, rad/s^2",
                     state.time, report.rejected, report.residual);
}

// Energies of states that no step ends at.
class Energies {
 public:
  explicit Energies(const Scene& scene)
      : gravity_(scene.world.gravity), dynamics_(scene.model), joint_forces_(scene.model) {}
  void fill(const State& state, StepReport& report) {
    dynamics_.set_position(state.q);
    report.kinetic_energy = dynamics_.kinetic_energy(state.v);
    report.potential_energy = dynamics_.gravity_energy(gravity_) + joint_forces_.stop_energy(state.q.data());
  }

 private:
  Vec3 gravity_;
  Dynamics dynamics_;
  JointForces joint_forces_;
};

void add_settings(Run& run, const Scene& scene, const std::string& failure) {
  const auto add = [&](const char* name, std::string value) { run.settings.emplace_back(name, std::move(value)); };
  const StepOptions& options = scene.options;
  const RunTotals& totals = run.totals;
  const bool controlled = scene.output > 0;
  const auto subdivided = std::count_if(run.substeps.begin(), run.substeps.end(), [](int n) { return n > 1; });
  add("status", run_status_name(run.status));
  if (!failure.empty()) add("failure", failure);
  add("model", scene.model.name());
  add("degrees of freedom", fmt::format("{}", scene.model.nv()));
  add("total mass", fmt::format("{:.6g} kg", scene.model.total_mass()));
  add("integrator", integrator_name(options.integrator));
  if (!controlled) add("dt", fmt::format("{:.6g} s", options.dt));
  if (estimates_error(options.integrator))
    add("accuracy", options.accuracy > 0 ? fmt::format("{:.6g} m", options.accuracy) : "off");
  if (controlled) add("output", fmt::format("{:.6g} s", scene.output));
  add("duration", fmt::format("{:.6g} s", scene.duration));
  const Vec3& gravity = scene.world.gravity;
  add("gravity", fmt::format("{:.6g}, {:.6g}, {:.6g} m/s^2", gravity.x(), gravity.y(), gravity.z()));
  add("tolerance", fmt::format("{:.3g} m/s^2, rad/s^2", options.tolerance));
  add("steps", fmt::format("{}", controlled ? totals.steps : static_cast<long long>(run.rows()) - 1));
  if (!controlled) add("subdivided steps", fmt::format("{}", subdivided));
  if (estimates_error(options.integrator)) {
    add("rejected tries", fmt::format("{}", totals.rejected));
    if (options.accuracy > 0) add("steps less accurate than asked for", fmt::format("{}", totals.inaccurate));
    add("stages", fmt::format("{}", totals.stages));
    add("smallest and largest step", fmt::format("{:.4g}, {:.4g} s", totals.smallest_step, totals.largest_step));
  }
  add("iterations", fmt::format("{}", std::accumulate(run.iterations.begin(), run.iterations.end(), 0LL)));
  if (has_contact(run)) {
    const ContactSummary summary = summarise_contacts(run);
    const size_t points = scene.world.body_colliders();
    add("contact points", fmt::format("{}", points));
    add("solids", fmt::format("{}", run.colliders.size() - points));
    add("contacts at the end", fmt::format("{}", summary.contacts));
    add("deepest penetration", fmt::format("{:.3g} m", summary.penetration));
    add("median outer iterations", fmt::format("{:.4g} per {}", summary.median_outer, controlled ? "row" : "step"));
  }
  if (options.integrator == IntegratorType::event) {
    const EventOptions& event = options.event;
    const EventSummary summary = summarise_events(run);
    add("impact law",
        fmt::format("{}, restitution {:g}", impact_law_name(scene.world.impact.law), scene.world.surface.restitution));
    add("closed contacts", fmt::format("nearer than {:g} m, at rest below {:g} m/s", event.touch, event.rest_speed));
    add("impacts", fmt::format("{}, {:.4g} J lost", summary.impacts, summary.energy_lost));
    if (summary.without_collision > 0) add("impacts without collision", fmt::format("{}", summary.without_collision));
    add("other events", fmt::format("{} rests, {} lift-offs", summary.rests, summary.lift_offs));
    add("rejected tries", fmt::format("{}", totals.rejected));
    add("steps less accurate than asked for", fmt::format("{}", totals.inaccurate));
    add("energy gained without work", fmt::format("{:.3g} J", totals.energy_gain));
  }
  add("wall time", fmt::format("{:.3g} s", run.wall_time));
  add("speed", fmt::format("{:.3g} simulated s per s", run.wall_time > 0 ? run.time.back() / run.wall_time : 0.0));
  add("scree version", version());
  add("compiler", compiler());
  add("final state hash", fmt::format("{:016x}", run.final_state_hash));
}

}  // namespace

const char* run_status_name(RunStatus status) {
  switch (status) {
    case RunStatus::complete:
      return "complete";
    case RunStatus::step_failed:
      return "step_failed";
    case RunStatus::interrupted:
      return "interrupted";
  }
  return "?";
}

namespace {

constexpr double kChunkTime = 10;  // [s] of wall time between chunks, if the user does not say how many rows

// Rows a step of dt apart, from where a run starts on: at k dt where it starts at such a time, as though it had never
// stopped; else at the start and dt after it, 2 dt, ...
class RowTimes {
 public:
  RowTimes(double dt, double duration, double start)
      : whole_(dt, duration), rest_(dt, duration - start), start_(start), first_(std::round(start / dt)) {
    on_grid_ = first_ < static_cast<double>(whole_.steps) &&
               std::abs(whole_.time(static_cast<size_t>(first_)) - start) <= 1e-12 * duration;
    if (!on_grid_) first_ = 0;
  }
  size_t first() const { return static_cast<size_t>(first_); }
  size_t last() const { return on_grid_ ? whole_.steps : rest_.steps; }
  double time(size_t row) const {
    if (on_grid_) return whole_.time(row);
    return row == rest_.steps ? whole_.duration : start_ + rest_.time(row);
  }
  double step(size_t row) const { return on_grid_ ? whole_.step(row) : rest_.step(row); }

 private:
  Schedule whole_, rest_;
  double start_, first_;
  bool on_grid_ = false;
};

struct Runner {
  using Clock = std::chrono::steady_clock;

  const Scene& scene;
  const RunOptions& wanted;
  const RunProgress& progress;
  const ChunkFolder* folder;  // null: no chunks
  Simulation simulation;
  Run& run;
  std::string failure = {};
  Clock::duration stepping = {};
  double wall_before = 0;  // [s] of the calls before this one
  double proposal = 0;     // [s] the next step, where it follows from the accuracy
  StepReport since = {};   // the last row
  size_t chunks = 0, rows_kept = 0, states_kept = 0;
  long saved = 0;  // multiples of the checkpoint that are behind us
  Clock::time_point last_chunk = Clock::now();

  double wall_time() const { return wall_before + std::chrono::duration<double>(stepping).count(); }

  const State& state() const { return simulation.state(); }

  // One call of step() or advance(), timed and counted. False if it failed.
  template <class Take> bool take(Take&& step_once, StepReport& report) {
    const auto start = Clock::now();
    report = step_once();
    stepping += Clock::now() - start;
    if (report.converged()) {
      count(run.totals, report, scene.options);
      return true;
    }
    run.status = RunStatus::step_failed;
    failure = describe_failure(state(), report);
    return false;
  }

  void keep(const State& at, const StepReport& report) {
    record(run, at, report);
    record_contacts(run, simulation.contacts(), report);
    for (const Event& event : simulation.events()) {
      run.events.push_back(event);
      run.event_row.push_back(run.rows() - 1);
    }
  }

  // After a step whose rows are recorded: states that are wanted, chunks that are due, and whether to go on.
  bool go_on(bool ended) {
    save_states();
    const size_t rows = run.rows() - rows_kept;
    const bool due = wanted.chunk > 0 ? rows >= static_cast<size_t>(wanted.chunk)
                                      : Clock::now() - last_chunk >= std::chrono::duration<double>(kChunkTime);
    if (folder && due && rows > 0 && !ended) write_chunk();
    if (!progress || progress(state().time, scene.duration) || ended) return true;
    run.status = RunStatus::interrupted;
    return false;
  }

  void save_states() {
    if (wanted.checkpoint <= 0) return;
    const long passed = checkpoints_until(state().time);
    if (passed > saved) run.states.push_back({static_cast<double>(passed) * wanted.checkpoint, state(), proposal});
    saved = passed;
  }
  long checkpoints_until(double time) const {
    return wanted.checkpoint > 0 ? static_cast<long>(std::floor(time / wanted.checkpoint * (1 + 1e-12))) : 0;
  }

  void write_chunk() {
    RunCursor cursor{{state().time, state(), proposal},
                     wall_time(),
                     since.iterations,
                     since.substeps,
                     since.rejected,
                     since.outer,
                     run.totals};
    write_run_chunk(*folder, chunks++, run.identity, scene.model, rows_from(run, rows_kept, states_kept), cursor);
    rows_kept = run.rows();
    states_kept = run.states.size();
    last_chunk = Clock::now();
  }

  // What chunks of an earlier call hold. False: nothing.
  bool resume() {
    RunCursor cursor;
    if (!folder || !wanted.resume) return false;
    chunks = read_run_chunks(*folder, run.identity, scene.model, run, cursor);
    if (chunks == 0) return false;
    simulation.set_state(cursor.end.state);
    proposal = cursor.end.next_step;
    since.iterations = cursor.iterations;
    since.substeps = cursor.substeps;
    since.rejected = cursor.rejected;
    since.outer = cursor.outer;
    run.totals = cursor.totals;
    wall_before = cursor.wall_time;
    rows_kept = run.rows();
    states_kept = run.states.size();
    saved = checkpoints_until(state().time);
    return true;
  }

  // Steps of dt, a row each.
  void run_fixed(const RowTimes& rows) {
    for (size_t row = rows.first() + run.rows(); row <= rows.last(); ++row) {
      StepReport report;
      if (!take([&] { return simulation.step(rows.step(row)); }, report)) return;
      simulation.set_time(rows.time(row));  // k dt, not a sum that drifts
      keep(state(), report);
      if (!go_on(row == rows.last())) return;
    }
  }

  // Steps as long as the accuracy allows, rows at multiples of `output` from the dense output of the step they fall in.
  void run_controlled() {
    const Schedule rows(scene.output, scene.duration);
    const double end = scene.duration, largest = scene.options.dt;
    const double smallest = std::ldexp(largest, -scene.options.max_halvings);  // accurate or not: a run must end
    DenseOutput between(scene.model);
    Energies energies(scene);
    State start = state(), at = state();
    size_t row = 1;
    while (row <= rows.steps && rows.time(row) <= state().time) ++row;
    if (proposal <= 0) proposal = std::min(kFirstStep, largest);
    while (state().time < end) {
      // No last step that is much shorter than the one before.
      const double left = end - state().time;
      const double dt = left <= 1.01 * proposal ? left : std::min(proposal, 0.5 * left);
      const int halvings = std::max(0, static_cast<int>(std::log2(dt / smallest) + 1e-9));
      start.time = state().time;
      start.q = state().q;
      start.v = state().v;
      StepReport report;
      if (!take([&] { return simulation.advance(dt, halvings); }, report)) break;
      if (end - state().time <= 1e-12 * end) simulation.set_time(end);  // rounding
      proposal = std::clamp(state().last_step * step_factor(report), smallest, largest);
      add(report, since);
      between.set_step(start, state());
      for (; row <= rows.steps && rows.time(row) <= state().time; ++row) {
        between.sample(rows.time(row), at);
        energies.fill(at, since);
        keep(at, since);
        since.iterations = since.substeps = since.rejected = since.outer = 0;  // told once
      }
      if (!go_on(state().time >= end)) break;
    }
    if (state().time > run.time.back()) {  // where a run that did not complete ended
      energies.fill(state(), since);
      keep(state(), since);
    }
  }

  // What the next step may be longer than the last one, whose error is proportional to the third power of its length
  // where the motion is smooth, theory (9.6). After a rejection it does not grow.
  double step_factor(const StepReport& report) const {
    if (report.error <= 0) return report.rejected > 0 ? 1 : kLargestFactor;
    const double factor = kSafety * std::cbrt(scene.options.accuracy / report.error);
    return std::clamp(factor, kSmallestFactor, report.rejected > 0 ? 1 : kLargestFactor);
  }

  // Counts add up until a row tells them, all else is of the last step.
  static void add(const StepReport& report, StepReport& since) {
    const StepReport before = since;
    since = report;
    since.iterations += before.iterations;
    since.substeps += before.substeps;
    since.rejected += before.rejected;
    since.outer += before.outer;
  }
};

}  // namespace

Run run_scene(const Scene& scene, const RunOptions& wanted, const ChunkFolder* folder, const RunProgress& progress) {
  wanted.validate(scene);
  const bool controlled = scene.output > 0;
  Run run;
  run.title = scene.title;
  run.scene_text = scene.text;
  run.identity = run_settings(scene, wanted);
  if (scene.world.has_contact()) run.colliders = scene.world.colliders;
  if (has_contact(run)) run.first_contact.push_back(0);
  const State start = wanted.from ? wanted.from->state : make_state(scene.model, scene.q0, scene.v0);
  Runner runner{scene, wanted, progress, folder, scene_simulation(scene, start), run};
  const RowTimes rows(controlled ? scene.output : scene.options.dt, scene.duration, start.time);
  if (!controlled) runner.simulation.set_time(rows.time(rows.first()));  // k dt to the last bit
  reserve(run, rows.last() - rows.first() + 1, scene.model);
  runner.since.residual = 0;
  if (wanted.from) runner.proposal = wanted.from->next_step;
  if (!runner.resume()) {
    runner.saved = runner.checkpoints_until(runner.state().time);
    StepReport initial;  // no step led there: its energies are real, all else is zero
    initial.residual = 0;
    Energies(scene).fill(runner.state(), initial);
    runner.keep(runner.state(), initial);
  }
  if (controlled)
    runner.run_controlled();
  else
    runner.run_fixed(rows);
  if (run.status == RunStatus::interrupted && runner.chunks > 0 && run.rows() > runner.rows_kept && !controlled)
    runner.write_chunk();
  if (run.states.empty() || run.states.back().state.time != runner.state().time)
    run.states.push_back({runner.state().time, runner.state(), runner.proposal});
  run.wall_time = runner.wall_time();
  run.final_state_hash = state_hash(runner.state());
  add_settings(run, scene, runner.failure);
  return run;
}

void RunOptions::validate(const Scene& scene) const {
  scene.options.validate();
  scene.control.validate(scene.model);
  if (scene.output > 0) check_accuracy(scene.options.integrator);
  if (!(checkpoint >= 0 && std::isfinite(checkpoint)))
    throw InputError(fmt::format("run: checkpoint is {}, expected s >= 0", checkpoint));
  if (checkpoint > 0 && scene.duration / checkpoint > kMostCheckpoints)
    throw InputError(fmt::format("run: checkpoint is {} s, expected at most {:g} in {} s", checkpoint, kMostCheckpoints,
                                 scene.duration));
  if (chunk < 0) throw InputError(fmt::format("run: chunk is {}, expected an integer >= 0", chunk));
  if (!from) return;
  check_state(scene.model, from->state);
  if (!(from->state.time >= 0 && from->state.time < scene.duration))
    throw InputError(fmt::format("run: the state to start from is at {:.10g} s, expected before the end, {:.10g} s",
                                 from->state.time, scene.duration));
}

Run run_scene(const Scene& scene, const RunProgress& progress) { return run_scene(scene, {}, nullptr, progress); }

Run run_scene(const Scene& scene, const RunOptions& options, const RunProgress& progress) {
  return run_scene(scene, options, nullptr, progress);
}

std::optional<Run> finished_run(const Scene& scene, const RunOptions& options, const std::filesystem::path& file) {
  std::error_code error;
  if (!options.resume || !std::filesystem::exists(file, error)) return {};
  try {
    Run run = read_run(file).run;
    if (run.identity != run_settings(scene, options) || run.status == RunStatus::interrupted) return {};
    ChunkFolder(file, "run", true).remove();  // of a call that was killed just before it did
    return run;
  } catch (const InputError&) {  // something else, or damaged: it is written anew
  }
  return {};
}

Run record_run(const Scene& scene, const RunOptions& options, const std::filesystem::path& file,
               const RunProgress& progress) {
  options.validate(scene);
  const std::filesystem::path target = output_target(file);
  check_writable(target);
  if (std::optional<Run> run = finished_run(scene, options, target)) return std::move(*run);
  ChunkFolder folder(target, "run", options.resume);
  Run run = run_scene(scene, options, &folder, progress);
  folder.guard([&] { write_run(target, scene.model, run); });
  if (run.status != RunStatus::interrupted) folder.remove();
  return run;
}

}  // namespace scree
