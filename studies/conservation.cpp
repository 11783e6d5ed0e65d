// What every integrator makes of the conserved quantities of free flight: energy, linear and angular momentum after
// 100 s at 10 and 50 ms.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "robot_runs.h"
#include "rows.h"
#include "scree/dynamics.h"
#include "scree/simulation.h"
#include "scree/urdf.h"

namespace scree {
namespace {

constexpr double kSteps[] = {0.01, 0.05};  // [s]

struct Flight {
  const char* name;
  const Model& model;
  Eigen::VectorXd q, v;
};

// Relative to the start: of energy with its sign, of momenta the length of the difference. At the end, or where it
// failed.
struct Drift {
  double energy = NAN, linear = NAN, angular = NAN;
  double time = 0;  // [s] flown
  bool complete = false;
};

struct Conserved {
  double energy;         // [J] kinetic, and of the joint stops; there is no gravity
  Vec3 linear, angular;  // [kg m/s], [kg m^2/s] about the centre of mass
};

Conserved conserved(Dynamics& dynamics, const State& state, double stops) {
  dynamics.set_position(state.q);
  const Dynamics::Momentum momentum = dynamics.momentum(state.v);
  return {dynamics.kinetic_energy(state.v) + stops, momentum.linear,
          momentum.angular - dynamics.center_of_mass().cross(momentum.linear)};
}

Drift fly(const StudyContext& context, const Flight& flight, IntegratorType integrator, double dt, double duration) {
  StepOptions options;
  options.integrator = integrator;
  options.dt = dt;
  World weightless;
  weightless.gravity.setZero();
  Simulation simulation(flight.model, weightless, options);
  simulation.set_state(flight.q, flight.v);
  Dynamics dynamics(flight.model);
  const Conserved start = conserved(dynamics, simulation.state(), 0);
  Drift drift;
  const long steps = std::lround(duration / dt);
  for (long k = 0; k < steps; ++k) {
    const StepReport report = simulation.step();
    if (k % 100 == 0 && !context.progress(0, 1)) throw StudyInterrupted();
    if (!report.converged()) return drift;
    const Conserved now = conserved(dynamics, simulation.state(), report.potential_energy);
    drift = {now.energy / start.energy - 1, (now.linear - start.linear).norm() / start.linear.norm(),
             (now.angular - start.angular).norm() / start.angular.norm(), simulation.state().time, false};
    if (!(std::abs(drift.energy) < 1e6)) return drift;  // as good as infinite
  }
  drift.complete = true;
  return drift;
}

// A brick of 1 kg, 0.3 x 0.2 x 0.1 m, about its middle axis, where rotation is not stable: it tumbles.
Model brick() {
  ModelBuilder builder("brick");
  Body body;
  body.name = "brick";
  body.mass = 1;
  body.inertia = Vec3(0.04 + 0.01, 0.09 + 0.01, 0.09 + 0.04).asDiagonal() * (1.0 / 12);
  Joint joint;
  joint.name = "base";
  joint.type = JointType::floating;
  builder.add_body(body, "world", joint);
  return builder.build();
}

// 0.5 m/s along x and z, tumbling with about 3 rad/s; joints, if any, at up to 1 rad/s, drawn from a seed.
Flight start_flight(const char* name, const Model& model) {
  Flight flight{name, model, model.neutral_position(), Eigen::VectorXd::Zero(model.nv())};
  std::mt19937 random(7);  // NOLINT: the same motion every time
  for (double& rate : flight.v.tail(model.nv() - 6)) rate = 2 * (static_cast<double>(random()) / 4294967296.0) - 1;
  flight.v.head<6>() << 0.5, 0, 0.5, 0.1, 3, 0.1;
  return flight;
}

std::string percent(double share, bool sign) {
  if (!std::isfinite(share)) return "none";
  const double x = 100 * share;
  if (std::abs(x) < 1e-9) return "0";
  if (std::abs(x) >= 1e4) return fmt::format(fmt::runtime(sign ? "{:+.0e}" : "{:.0e}"), x);
  return fmt::format(fmt::runtime(sign ? "{:+.2g}" : "{:.2g}"), x);
}

}  // namespace

StudyResult study_conservation(const StudyContext& context) {
  const double duration = context.quick ? 2 : 100;  // [s]
  const Model body = brick(), robot = load_urdf(context.data / "models" / "spider-spatial.urdf");
  const Flight flights[] = {start_flight("brick", body), start_flight("limp Spider", robot)};
  const std::vector<IntegratorType> types = integrators();
  constexpr size_t kPlaces = 4;  // two flights, two steps
  std::vector<Drift> drifts(types.size() * kPlaces);
  for_each_job(context.jobs, drifts.size(), [&](size_t i) {
    drifts[i] = fly(context, flights[i % kPlaces / 2], types[i / kPlaces], kSteps[i % 2], duration);
  });

  StudyResult result;
  result.name = "conservation";
  result.title = fmt::format("What {} s of free flight leave of energy and momentum", duration);
  result.summary =
      "A brick tumbles about its middle axis, and Spider in space, joints limp, without gravity. Nothing acts on them: "
      "energy, momentum and moment of momentum about the centre of mass stay. How far are they off at the end, at "
      "steps "
      "of 10 and 50 ms? Integrators with contact fly without it. Energy has its sign: schemes of first order lose it, "
      "those that linearise may gain.";
  StudyFigure figure{"Change of energy", {"integrator", ""}, {"share of the energy", "%", false}, {}, {}};
  for (size_t place = 0; place < kPlaces; ++place) {
    const Flight& flight = flights[place / 2];
    double worst_linear = 0;
    std::string unfinished;
    for (size_t k = 0; k < types.size(); ++k) {
      const Drift& drift = drifts[k * kPlaces + place];
      const char* name = integrator_name(types[k]);
      result.rows.push_back(
          report_row(fmt::format("{}, {}, {}: energy; momentum; moment of momentum off", flight.name,
                                 step_name(kSteps[place % 2]), name),
                     "%", "0; 0; 0",
                     fmt::format("{}; {}; {}{}", percent(drift.energy, true), percent(drift.linear, false),
                                 percent(drift.angular, false),
                                 drift.complete ? "" : fmt::format(", ends after {:.3g} s", drift.time))));
      worst_linear = std::max(worst_linear, std::isfinite(drift.linear) ? drift.linear : INFINITY);
      if (!drift.complete) unfinished += fmt::format("{}{}", unfinished.empty() ? "" : ", ", name);
    }
    const std::string where = fmt::format("{}, {}", flight.name, step_name(kSteps[place % 2]));
    result.rows.push_back(goal_row(where + ": integrators that do not get to the end", "", "",
                                   unfinished.empty() ? "none" : unfinished, "none", unfinished.empty()));
    // A free body moves on by itself in every scheme: rounding of 10 000 steps.
    if (flight.model.nv() == 6)
      result.rows.push_back(
          goal_row(where + ": momentum off, largest of all", "", "0", worst_linear, "<= 1e-9", worst_linear <= 1e-9));
    // Of fourth order, or with an error of 1e-10 a step: far below a thousandth. Stiff joint stops may be too much for
    // rk4.
    for (const IntegratorType fine : {IntegratorType::rk4, IntegratorType::event}) {
      const size_t k = static_cast<size_t>(std::ranges::find(types, fine) - types.begin());
      const Drift& drift = drifts[k * kPlaces + place];
      const double worst = std::max({std::abs(drift.energy), drift.linear, drift.angular});
      result.rows.push_back(goal_row(fmt::format("{}: {}: the worst of the three", where, integrator_name(fine)), "",
                                     "0", worst, "<= 1e-3", drift.complete && worst <= 1e-3));
    }
  }
  for (size_t place = 0; place < kPlaces; ++place) {
    StudySeries series{fmt::format("{}, {}", flights[place / 2].name, step_name(kSteps[place % 2])), {}, {}, false};
    for (size_t k = 0; k < types.size(); ++k) {
      const double energy = 100 * drifts[k * kPlaces + place].energy;
      if (!(std::abs(energy) < 200)) continue;
      series.x.push_back(static_cast<double>(k));
      series.y.push_back(energy);
    }
    if (!series.x.empty()) figure.series.push_back(std::move(series));
  }
  figure.notes.push_back(fmt::format("Integrators by their place in the list: {}.", integrator_names()));
  figure.notes.push_back("Gains of more than 200 % are left out.");
  result.figures.push_back(std::move(figure));
  result.settings = {{"brick", "1 kg, 0.3 x 0.2 x 0.1 m, 0.5 m/s, 3 rad/s about its middle axis, 0.1 about the others"},
                     {"Spider", "models/spider-spatial.urdf: no control, no damping; the same, joints up to 1 rad/s"},
                     {"options", "defaults, gravity 0"},
                     {"duration", fmt::format("{} s", duration)}};
  return result;
}

}  // namespace scree
