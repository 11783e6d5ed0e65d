#include "scree/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "control/joint_forces.h"
#include "scree/dynamics.h"
#include "sim/build_info.h"
#include "sim/run_contacts.h"

namespace scree {
namespace {

// Row k is at k dt, the last one at the duration. A last step shorter than a trillionth of the duration is rounding
// (1.1 / 0.1 = 11.000000000000002) and is not taken.
struct Schedule {
  double dt, duration;
  size_t steps;

  Schedule(double dt_, double duration_)
      : dt(dt_),
        duration(duration_),
        steps(static_cast<size_t>(std::max(1.0, std::ceil(duration_ / dt_ * (1 - 1e-12))))) {}
  double time(size_t row) const { return row == steps ? duration : static_cast<double>(row) * dt; }
  double step(size_t row) const {  // that leads from row - 1 to row; exactly dt unless the last one is cut short
    const double last = duration - time(steps - 1);
    return row < steps || std::abs(last - dt) <= 1e-12 * duration ? dt : last;
  }
};

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

// No step led to the initial state: its energies are real, all else is zero.
StepReport initial_report(const Scene& scene, const State& state) {
  Dynamics dynamics(scene.model);
  dynamics.set_position(state.q);
  StepReport report;
  report.residual = 0;
  report.kinetic_energy = dynamics.kinetic_energy(state.v);
  report.potential_energy =
      dynamics.gravity_energy(scene.options.gravity) + JointForces(scene.model).stop_energy(state.q.data());
  return report;
}

void add_settings(Run& run, const Scene& scene, const std::string& failure) {
  const auto add = [&](const char* name, std::string value) { run.settings.emplace_back(name, std::move(value)); };
  const StepOptions& options = scene.options;
  const size_t steps = run.rows() - 1;
  const auto subdivided = std::count_if(run.substeps.begin(), run.substeps.end(), [](int n) { return n > 1; });
  add("status", run_status_name(run.status));
  if (!failure.empty()) add("failure", failure);
  add("model", scene.model.name());
  add("degrees of freedom", fmt::format("{}", scene.model.nv()));
  add("total mass", fmt::format("{:.6g} kg", scene.model.total_mass()));
  add("integrator", integrator_name(options.integrator));
  add("dt", fmt::format("{:.6g} s", options.dt));
  add("duration", fmt::format("{:.6g} s", scene.duration));
  add("gravity",
      fmt::format("{:.6g}, {:.6g}, {:.6g} m/s^2", options.gravity.x(), options.gravity.y(), options.gravity.z()));
  add("tolerance", fmt::format("{:.3g} m/s^2, rad/s^2", options.tolerance));
  add("steps", fmt::format("{}", steps));
  add("subdivided steps", fmt::format("{}", subdivided));
  add("iterations", fmt::format("{}", std::accumulate(run.iterations.begin(), run.iterations.end(), 0LL)));
  if (has_contact(run)) {
    const ContactSummary summary = summarise_contacts(run);
    add("contact points", fmt::format("{}", run.point_names.size()));
    add("solids", fmt::format("{}", run.environment.solids().size()));
    add("contacts at the end", fmt::format("{}", summary.contacts));
    add("deepest penetration", fmt::format("{:.3g} m", summary.penetration));
    add("median outer iterations", fmt::format("{:.4g} per step", summary.median_outer));
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

Run run_scene(const Scene& scene, const RunProgress& progress) {
  using Clock = std::chrono::steady_clock;
  const Schedule schedule(scene.options.dt, scene.duration);
  StepOptions options = scene.options;
  options.validate();
  scene.control.validate(scene.model);
  State state = make_state(scene.model, scene.q0, scene.v0);

  Run run;
  run.title = scene.title;
  run.scene_text = scene.text;
  run.environment = scene.world.environment;
  if (has_contact(run)) {
    run.first_contact.push_back(0);
    for (const ContactPoint& point : scene.world.points) run.point_names.push_back(point.name);
  }
  StepWorkspace workspace = has_contact(run) ? StepWorkspace(scene.model, scene.world) : StepWorkspace(scene.model);
  reserve(run, schedule.steps + 1, scene.model);
  const StepReport initial = initial_report(scene, state);
  record(run, state, initial);
  record_contacts(run, {}, initial);
  std::string failure;
  Clock::duration stepping{};
  for (size_t row = 1; row <= schedule.steps; ++row) {
    options.dt = schedule.step(row);
    const Clock::time_point start = Clock::now();
    const StepReport report = step(scene.model, scene.control, options, state, workspace);
    stepping += Clock::now() - start;
    if (!report.converged()) {
      run.status = RunStatus::step_failed;
      failure =
          fmt::format("the step from {:.6g} s did not converge: {} tries rejected, residual {:.3g} m/s^2, rad/s^2",
                      state.time, report.rejected, report.residual);
      break;
    }
    state.time = schedule.time(row);  // k dt, not a sum that drifts
    record(run, state, report);
    record_contacts(run, workspace.contacts(), report);
    if (progress && !progress(state.time, scene.duration) && row < schedule.steps) {
      run.status = RunStatus::interrupted;
      break;
    }
  }
  run.wall_time = std::chrono::duration<double>(stepping).count();
  run.final_state_hash = state_hash(state);
  add_settings(run, scene, failure);
  return run;
}

}  // namespace scree
