// Every scheme against the converged motion: what a step buys, and what it costs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "robot_runs.h"
#include "rows.h"

namespace scree {
namespace {

constexpr double kGrid = 0.1;    // [s] every step of the study divides it
constexpr double kLength = 0.5;  // [m] half the torso: a tilt counts by how far it moves the torso's ends

struct Phase {
  const char *motion, *name;
  double duration;  // [s] as long as the motion is predictable
};
constexpr Phase kPhases[] = {
    {"walk", "walk, first 2.5 s", 2.5}, {"squat", "squat, 2 s", 2}, {"single-jump", "one jump up to landing, 2 s", 2}};

// sqrt(mean over the grid of dx^2 + dz^2 + (kLength dtilt)^2)  [m]; infinite if one of the two ended early.
double distance(const RobotRecord& a, const RobotRecord& b) {
  if (!a.complete() || !b.complete()) return std::numeric_limits<double>::infinity();
  double sum = 0;
  const int count = static_cast<int>(std::lround(a.run.duration / kGrid));
  for (int k = 1; k <= count; ++k) {
    const double time = k * kGrid;
    sum += std::pow(value_at(a, a.x, time) - value_at(b, b.x, time), 2);
    sum += std::pow(value_at(a, a.z, time) - value_at(b, b.z, time), 2);
    sum += std::pow(kLength * (value_at(a, a.tilt, time) - value_at(b, b.tilt, time)), 2);
  }
  return std::sqrt(sum / count);
}

// By increasing x, without repeated ones.
StudySeries sorted_series(std::string name, const std::vector<double>& x, const std::vector<double>& y) {
  std::map<double, double> points;
  for (size_t i = 0; i < x.size(); ++i)
    if (x[i] > 0 && std::isfinite(y[i])) points.emplace(x[i], y[i]);
  StudySeries series;
  series.name = std::move(name);
  for (const auto& [at, value] : points) {
    series.x.push_back(at);
    series.y.push_back(value);
  }
  return series;
}

}  // namespace

StudyResult study_nmdp_truth(const StudyContext& context) {
  constexpr Dissipation kDissipations[] = {Dissipation::effective, Dissipation::total, Dissipation::contact};
  const std::vector<double> steps =
      context.quick ? std::vector{0.005, 0.02, 0.05} : std::vector{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1};
  const double fine = context.quick ? 0.001 : 0.000125;  // [s] the reference; its double says how converged it is

  std::vector<RobotRun> schemes;
  const auto add_scheme = [&](IntegratorType integrator, Dissipation dissipation, bool explicit_pd) {
    RobotRun run;
    run.integrator = integrator;
    run.dissipation = dissipation;
    run.explicit_pd = explicit_pd;
    schemes.push_back(run);
  };
  add_scheme(IntegratorType::ne_mdp, Dissipation::total, true);
  add_scheme(IntegratorType::ne_mdp, Dissipation::contact, false);
  for (const IntegratorType integrator : {IntegratorType::ne_nmdp, IntegratorType::pbd_nmdp})
    for (const Dissipation dissipation : kDissipations) add_scheme(integrator, dissipation, true);
  for (const IntegratorType integrator : {IntegratorType::ne_zonmdp, IntegratorType::pbd_zonmdp})
    add_scheme(integrator, Dissipation::contact, true);

  std::vector<RobotRun> runs;
  const auto add_run = [&](RobotRun run, const Phase& phase, double dt) {
    run.motion = phase.motion;
    run.duration = phase.duration;
    run.dt = dt;
    runs.push_back(run);
    return runs.size() - 1;
  };
  struct References {
    size_t fine, coarse;  // runs of step `fine` and of its double
  };
  std::vector<std::vector<References>> references;        // by phase and dissipation
  std::vector<std::vector<std::vector<size_t>>> runs_of;  // by phase, scheme, step
  for (const Phase& phase : kPhases) {
    references.emplace_back();
    for (const Dissipation dissipation : kDissipations) {
      RobotRun run;
      run.dissipation = dissipation;
      const size_t last = add_run(run, phase, fine);
      references.back().push_back({last, add_run(run, phase, 2 * fine)});
    }
    runs_of.emplace_back();
    for (const RobotRun& scheme : schemes) {
      runs_of.back().emplace_back();
      for (const double dt : steps) runs_of.back().back().push_back(add_run(scheme, phase, dt));
    }
  }
  const std::vector<RobotRecord> records = run_robots(context, runs);

  StudyResult result;
  result.name = "nmdp-truth";
  result.title = "Every scheme against the converged motion";
  result.summary =
      "The paper measures how well large steps agree with each other. Here every scheme is held against the motion "
      "that ne-nmdp with the effective dissipation converges to as the step shrinks (it obeys Coulomb's law in "
      "sliding, see nmdp-convergence), over times short enough for that motion to be predictable. Orders are observed "
      "against the limit of each dissipation itself. The "
      "error is the root mean square over time of the torso's displacement, its tilt counted at half its length.";
  for (size_t p = 0; p < std::size(kPhases); ++p) {
    const Phase& phase = kPhases[p];
    const RobotRecord& truth = records[references[p][0].fine];
    // First order: the last halving changes a motion by as much as it still is from its limit.
    std::vector<double> left;
    for (size_t d = 0; d < std::size(kDissipations); ++d) {
      const References& reference = references[p][d];
      const std::string name = fmt::format("{}: limit of {}", phase.name, dissipation_name(kDissipations[d]));
      left.push_back(distance(records[reference.fine], records[reference.coarse]));
      result.rows.push_back(report_row(
          fmt::format("{}, change from {} to {}", name, step_name(2 * fine), step_name(fine)), "m", "", left[d]));
      if (d == 0) continue;
      const double apart = distance(records[reference.fine], truth);
      result.rows.push_back(goal_row(name + " from that of effective", "m", "", apart,
                                     fmt::format("< {:.2g}, what both may still change", left[0] + left[d]),
                                     apart < left[0] + left[d]));
    }
    double smallest_error = std::numeric_limits<double>::infinity();  // at 50 ms
    StudyFigure by_step{
        fmt::format("Error against the step: {}", phase.name), {"step", "ms", true}, {"error", "m", true}, {}, {}};
    StudyFigure by_solves{fmt::format("Error against work: {}", phase.name),
                          {"stage solves per simulated second", "1/s", true},
                          {"error", "m", true},
                          {},
                          {}};
    StudyFigure by_wall{fmt::format("Error against wall time: {}", phase.name),
                        {"wall time per simulated second", "s", true},
                        {"error", "m", true},
                        {},
                        {"Wall times of this machine, with other runs beside."}};
    for (size_t s = 0; s < schemes.size(); ++s) {
      std::vector<double> dt, solves, wall, error, order_dt, order_error;
      const std::string name = run_name(schemes[s]);
      const size_t own = static_cast<size_t>(
          std::find(std::begin(kDissipations), std::end(kDissipations), schemes[s].dissipation) - kDissipations);
      const RobotRecord& own_limit = records[references[p][own].fine];
      for (const size_t i : runs_of[p][s]) {
        const RobotRecord& record = records[i];
        dt.push_back(1e3 * record.run.dt);
        solves.push_back(static_cast<double>(record.solves) / record.run.duration);
        wall.push_back(record.wall() / record.run.duration);
        error.push_back(distance(record, truth));
        if (record.run.dt < 0.0201) {
          order_dt.push_back(record.run.dt);
          order_error.push_back(distance(record, own_limit));
        }
        if (std::abs(record.run.dt - 0.05) > 1e-9) continue;
        smallest_error = std::min(smallest_error, error.back());
        result.rows.push_back(report_row(fmt::format("{}: {}: error at 50 ms", phase.name, name), "m", "",
                                         record.complete() ? StudyValue(error.back()) : StudyValue("did not finish")));
      }
      result.rows.push_back(report_row(fmt::format("{}: {}: observed order up to 20 ms", phase.name, name), "", "",
                                       log_slope(order_dt, order_error)));
      by_step.series.push_back(sorted_series(name, dt, error));
      by_solves.series.push_back(sorted_series(name, solves, error));
      by_wall.series.push_back(sorted_series(name, wall, error));
    }
    result.rows.push_back(
        goal_row(fmt::format("{}: change of the reference over the smallest error at 50 ms", phase.name), "", "",
                 left[0] / smallest_error, "< 0.1", left[0] / smallest_error < 0.1));
    for (StudyFigure* figure : {&by_step, &by_solves, &by_wall}) result.figures.push_back(std::move(*figure));
  }
  result.settings = {{"robot", "robosimian-planar, kp 1000 N m/rad, kd 1 N m s/rad, floor -0.80 m"},
                     {"contact", "exponent 3, 15.7 mm under its share of the weight, friction 0.7, 6 directions"},
                     {"reference", fmt::format("ne-nmdp, dissipation effective, {}", step_name(fine))},
                     {"error", fmt::format("rms over times {} s apart of (x, z, {} m tilt)", kGrid, kLength)}};
  return result;
}

}  // namespace scree
