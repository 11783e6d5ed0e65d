// A time step: substeps, halved where they fail. Read from the bottom up: step(), take_steps(), substep().
#include "scree/step.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "integrators/subdivision.h"
#include "integrators/substeps.h"
#include "integrators/traits.h"
#include "integrators/workspace.h"

namespace scree {
namespace {

// One try of one substep, with the control of the time it acts at.
SubstepResult substep(const Control& control, const StepOptions& options, double h, State& state,
                      StepWorkspace::Impl& ws) {
  const Control& at_end = ws.control_at(control, state.time + h);
  const IntegratorTraits& row = traits(options.integrator);
  const bool on_poses = row.inertia == Inertia::poses;
  Discretisation& dynamics =
      on_poses ? static_cast<Discretisation&>(ws.position_based) : static_cast<Discretisation&>(ws.newton_euler);
  const auto backward_euler = [&] {
    return on_poses ? substep_pbd(at_end, options, h, state, ws) : substep_ne(at_end, options, h, state, ws);
  };
  switch (row.scheme) {
    case Scheme::backward_euler:
      return backward_euler();
    case Scheme::runge_kutta:
      return substep_rk4(control, h, state, ws);
    case Scheme::mdp:
      return substep_mdp(options.explicit_pd ? ws.control_at(control, state.time) : at_end, options, h, state, ws);
    case Scheme::nmdp:
      return ws.has_contact() ? substep_nmdp(dynamics, row.law_derivative, at_end, options, h, state, ws)
                              : backward_euler();
    case Scheme::nmdp2:
      return substep_nmdp2(dynamics, control, options, h, state, ws);
    case Scheme::lcp:
      return substep_lcp(options.explicit_pd ? ws.control_at(control, state.time) : at_end, options, h, state, ws);
    case Scheme::events:  // has its own loop
      return {};
    case Scheme::friction:
      return substep_friction(control, options, h, state, ws);
  }
  return {};
}

// The fastest any body turns [rad/s]. Leaves `ws.dynamics` at the state.
double largest_turn_rate(const State& state, StepWorkspace::Impl& ws) {
  ws.dynamics.set_position(state.q);
  double largest = 0;
  for (const Twist<double>& V : DynamicsAccess::impl(ws.dynamics).body_twists(state.v.data()))
    largest = std::max(largest, dot(V.w, V.w));
  return std::sqrt(largest);
}

// [rad] Under error control: a body that turns lags by 0.04 % of it.                                     theory (9.11)
constexpr double kAccurateTurn = 0.1;
constexpr double kGrowth = 6;  // what doubling a substep is expected to do to its error

// The longest substep that is not more than twice the last one.
int first_level(const StepOptions& options, double last_step) {
  int level = 0;
  if (last_step > 0)
    while (level < options.max_halvings && std::ldexp(options.dt, -level) > 2.0001 * last_step) ++level;
  return level;
}

// A substep that fails, or that would turn a body too far, is halved. The history in `state` carries the true size of
// the last one. With `once` the first substep ends the step.
StepReport take_steps(const Control& control, const StepOptions& options, bool once, State& state,
                      StepWorkspace::Impl& ws) {
  if (ws.has_contact()) check_contact(options.integrator, *ws.world.law);
  check_optimizer(options);
#ifndef NDEBUG
  ws.poison();
#endif
  ws.before = state;
  ws.contacts.clear();
  StepReport report;
  report.residual = 0;
  report.smallest_step = options.dt;

  const bool controlled = estimates_error(options.integrator) && options.accuracy > 0;
  const bool linear = traits(options.integrator).linear;
  const bool rigid = traits(options.integrator).contact == ContactKind::rigid;  // depths are rounding: forces tell who
                                                                                // touches
  Subdivision<double> cut{options.max_halvings};
  if (controlled) cut.level = first_level(options, state.last_step);
  double turn_rate = largest_turn_rate(state, ws);
  double failed_residual = std::numeric_limits<double>::quiet_NaN();  // of the last try that failed
  const char* failed_reason = "";
  while (!cut.complete()) {
    const double h = cut.substep(options.dt);
    SubstepResult result;
    const bool held = controlled && cut.level < options.max_halvings;  // to the accuracy asked for
    if (turn_rate * h <= (held ? std::min(kAccurateTurn, options.max_turn) : options.max_turn) || linear) {
      ws.accuracy = held ? options.accuracy : 0;
      ws.stages.clear();
      result = substep(control, options, h, state, ws);
      report.iterations += result.iterations;
      report.outer += result.outer;
      report.qp_iterations += result.qp_iterations;
      report.restarts += result.restarts;
      report.stages += result.stages;
      report.damped += result.damped;
      report.stationary += result.stationary;
      report.rejected += result.converged ? 0 : 1;
      report.inaccurate += result.inaccurate ? 1 : 0;
      if (!result.converged) failed_residual = result.residual, failed_reason = result.reason;
    }
    if (!result.converged) {
      ++cut.level;
      if (!cut.exhausted()) continue;
      state = ws.before;
      ws.contacts.clear();  // those of substeps taken back
      report.residual = failed_residual;
      report.reason = failed_reason;
      return report;
    }

    turn_rate = largest_turn_rate(state, ws);
    state.last_step = h;
    report.residual = std::max(report.residual, result.residual);
    report.optimality = std::max(report.optimality, result.optimality);
    report.error = std::max(report.error, result.error);
    report.smallest_step = std::min(report.smallest_step, h);
    report.largest_step = std::max(report.largest_step, h);
    ++report.substeps;
    cut.accept();
    state.time = ws.before.time + cut.elapsed(options.dt);
    if (ws.on_substep) ws.on_substep(state, h);
    if (once) break;
    // A pair of halves is done: the next substep may be twice as long. Under error control it must promise to be
    // accurate, its error being that of the last one times 2^3 with some luck.
    if (!controlled)
      cut.lengthen();
    else if (cut.pair_done() && kGrowth * result.error < options.accuracy)
      --cut.level;
  }

  report.status = StepStatus::converged;
  for (const Contact& contact : ws.contacts) {
    report.contacts += contact.depth > 0 || (rigid && !contact.force.isZero(0)) ? 1 : 0;
    report.penetration = std::max(report.penetration, contact.depth);
  }
  report.kinetic_energy = ws.dynamics.kinetic_energy(state.v);
  report.potential_energy = ws.dynamics.gravity_energy(ws.world.gravity) + ws.joint_forces.stop_energy(state.q.data());
  return report;
}

// Steps in lanes do their own halving (integrators/lockstep.h).
bool runs_in_lanes(const StepOptions& options) {
  return traits(options.integrator).lanes && options.optimizer == Optimizer::jtj_lm;
}

StepReport step_in_lane(const Control& control, const StepOptions& options, State& state, StepWorkspace::Impl& ws) {
  StepReport report = ws.smooth_stepper().step(control, options, state, ws.contacts);
  if (!report.converged()) return report;
  state.time += options.dt;
  ws.dynamics.set_position(state.q);
  report.kinetic_energy = ws.dynamics.kinetic_energy(state.v);
  report.potential_energy = ws.dynamics.gravity_energy(ws.world.gravity) + ws.joint_forces.stop_energy(state.q.data());
  return report;
}

StepReport take([[maybe_unused]] const Model& model, const Control& control, const StepOptions& options, bool once,
                State& state, StepWorkspace& workspace) {
  StepWorkspace::Impl& ws = WorkspaceAccess::impl(workspace);
  assert(&model == &ws.model);
  if (traits(options.integrator).scheme == Scheme::events) return step_event(control, options, state, ws);
  if (runs_in_lanes(options)) return step_in_lane(control, options, state, ws);
  return take_steps(control, options, once, state, ws);
}

}  // namespace

StepReport step(const Model& model, const Control& control, const StepOptions& options, State& state,
                StepWorkspace& workspace) {
  return take(model, control, options, false, state, workspace);
}

StepReport advance(const Model& model, const Control& control, const StepOptions& options, State& state,
                   StepWorkspace& workspace) {
  return take(model, control, options, true, state, workspace);
}

}  // namespace scree
