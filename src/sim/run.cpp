#include "scree/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "control/joint_forces.h"
#include "scree/dynamics.h"
#include "sim/build_info.h"
#include "sim/dense_output.h"
#include "sim/run_contacts.h"
#include "sim/run_events.h"
#include "sim/schedule.h"

namespace scree {
namespace {

// The controller of the step, E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, section IV.8.
constexpr double kFirstStep = 0.01;                                         // [s]
constexpr double kSafety = 0.9, kSmallestFactor = 0.2, kLargestFactor = 2;  // of the next step over the last

void reserve(Run& run, size_t rows, const Model& model) {
  for (auto* column : {&run.time, &run.kinetic_energy, &run.potential_energy, &run.residual}) column->reserve(rows);
  for (auto* column : {&run.iterations, &run.substeps, &run.rejected}) column->reserve(rows);
  run.q.reserve(rows * static_cast<size_t>(model.nq()));
  run.v.reserve(rows * static_cast<size_t>(model.nv()));
}

void record(Run& run, const State& state, const StepReport& report) {
  run.time.push_back(state.time);
  run.q.insert(run.q.end(), state.q.begin(), state.q.end());
  run.v.insert(run.v.end(), state.v.begin(), state.v.end());
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
      : gravity_(scene.options.gravity), dynamics_(scene.model), joint_forces_(scene.model) {}
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
  add("gravity",
      fmt::format("{:.6g}, {:.6g}, {:.6g} m/s^2", options.gravity.x(), options.gravity.y(), options.gravity.z()));
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
    add("contact points", fmt::format("{}", run.point_names.size()));
    add("solids", fmt::format("{}", run.environment.solids().size()));
    add("contacts at the end", fmt::format("{}", summary.contacts));
    add("deepest penetration", fmt::format("{:.3g} m", summary.penetration));
    add("median outer iterations", fmt::format("{:.4g} per {}", summary.median_outer, controlled ? "row" : "step"));
  }
  if (options.integrator == IntegratorType::event) {
    const EventOptions& event = scene.world.event;
    const EventSummary summary = summarise_events(run);
    add("impact law", fmt::format("{}, restitution {:g}", impact_law_name(event.impact.law), event.restitution));
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

struct Runner {
  const Scene& scene;
  const RunProgress& progress;
  StepOptions options;
  State state;
  StepWorkspace workspace;
  Run& run;
  std::string failure;
  std::chrono::steady_clock::duration stepping{};

  // One call of step() or advance(), timed and counted. False if it failed.
  template <class Take> bool take(Take&& step_once, StepReport& report) {
    const auto start = std::chrono::steady_clock::now();
    report = step_once(scene.model, scene.control, options, state, workspace);
    stepping += std::chrono::steady_clock::now() - start;
    if (report.converged()) {
      count(run.totals, report, options);
      return true;
    }
    run.status = RunStatus::step_failed;
    failure = describe_failure(state, report);
    return false;
  }

  void keep(const State& at, const StepReport& report) {
    record(run, at, report);
    record_contacts(run, workspace.contacts(), report);
    for (const Event& event : workspace.events()) {
      run.events.push_back(event);
      run.event_row.push_back(run.rows() - 1);
    }
  }

  // Steps of dt, a row each.
  void run_fixed() {
    const Schedule schedule(scene.options.dt, scene.duration);
    for (size_t row = 1; row <= schedule.steps; ++row) {
      options.dt = schedule.step(row);
      StepReport report;
      if (!take(step, report)) return;
      state.time = schedule.time(row);  // k dt, not a sum that drifts
      keep(state, report);
      if (progress && !progress(state.time, scene.duration) && row < schedule.steps) {
        run.status = RunStatus::interrupted;
        return;
      }
    }
  }

  // Steps as long as the accuracy allows, rows at multiples of `output` from the dense output of the step they fall in.
  void run_controlled() {
    const Schedule rows(scene.output, scene.duration);
    const double end = scene.duration, largest = scene.options.dt;
    const double smallest = std::ldexp(largest, -scene.options.max_halvings);  // accurate or not: a run must end
    DenseOutput between(scene.model);
    Energies energies(scene);
    State start = state, at = state;
    StepReport since;  // the last row
    since.residual = 0;
    size_t row = 1;
    double proposal = std::min(kFirstStep, largest);
    while (state.time < end) {
      // No last step that is much shorter than the one before.
      const double left = end - state.time;
      options.dt = left <= 1.01 * proposal ? left : std::min(proposal, 0.5 * left);
      options.max_halvings = std::max(0, static_cast<int>(std::log2(options.dt / smallest) + 1e-9));
      start.time = state.time;
      start.q = state.q;
      start.v = state.v;
      StepReport report;
      if (!take(advance, report)) break;
      if (end - state.time <= 1e-12 * end) state.time = end;  // rounding
      proposal = std::clamp(state.last_step * step_factor(report), smallest, largest);
      add(report, since);
      between.set_step(start, state);
      for (; row <= rows.steps && rows.time(row) <= state.time; ++row) {
        between.sample(rows.time(row), at);
        energies.fill(at, since);
        keep(at, since);
        since.iterations = since.substeps = since.rejected = since.outer = 0;  // told once
      }
      if (progress && !progress(state.time, end) && state.time < end) {
        run.status = RunStatus::interrupted;
        break;
      }
    }
    if (state.time > run.time.back()) {  // where a run that did not complete ended
      energies.fill(state, since);
      keep(state, since);
    }
  }

  // What the next step may be longer than the last one, whose error is proportional to the third power of its length
  // where the motion is smooth, theory (9.6). After a rejection it does not grow.
  double step_factor(const StepReport& report) const {
    if (report.error <= 0) return report.rejected > 0 ? 1 : kLargestFactor;
    const double factor = kSafety * std::cbrt(options.accuracy / report.error);
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

Run run_scene(const Scene& scene, const RunProgress& progress) {
  scene.options.validate();
  scene.control.validate(scene.model);
  const bool controlled = scene.output > 0;
  if (controlled) check_accuracy(scene.options.integrator);

  Run run;
  run.title = scene.title;
  run.scene_text = scene.text;
  run.environment = scene.world.environment;
  if (has_contact(run)) {
    run.first_contact.push_back(0);
    for (const ContactPoint& point : scene.world.points) run.point_names.push_back(point.name);
  }
  Runner runner{scene,
                progress,
                scene.options,
                make_state(scene.model, scene.q0, scene.v0),
                has_contact(run) ? StepWorkspace(scene.model, scene.world) : StepWorkspace(scene.model),
                run,
                {}};
  reserve(run, Schedule(controlled ? scene.output : scene.options.dt, scene.duration).steps + 1, scene.model);
  StepReport initial;  // no step led there: its energies are real, all else is zero
  initial.residual = 0;
  Energies(scene).fill(runner.state, initial);
  runner.keep(runner.state, initial);
  if (controlled)
    runner.run_controlled();
  else
    runner.run_fixed();
  run.wall_time = std::chrono::duration<double>(runner.stepping).count();
  run.final_state_hash = state_hash(runner.state);
  add_settings(run, scene, runner.failure);
  return run;
}

}  // namespace scree
