// Fig. 5 of the NMDP paper: how far the Robosimian walks.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "robot_runs.h"
#include "rows.h"

namespace scree {
namespace {

constexpr double kGaitStep = 1;           // [s] one pair of feet, then the other
constexpr double kFirstDrawnStep = 0.03;  // [s] the paper draws 30 to 50 ms

// R^2 of distance over time after the first step of the gait. The torso moves to and fro within a step, which
// `whole_steps` leaves out.
double linearity(const RobotRecord& record, bool whole_steps) {
  std::vector<double> time, x;
  if (whole_steps) {
    for (double t = kGaitStep; t < record.time.back() + 1e-9; t += kGaitStep) {
      time.push_back(t);
      x.push_back(value_at(record, record.x, t));
    }
  } else {
    for (size_t i = 0; i < record.time.size(); ++i) {
      if (record.time[i] < kGaitStep) continue;
      time.push_back(record.time[i]);
      x.push_back(record.x[i]);
    }
  }
  return r_squared(time, x);
}

struct Family {
  RobotRun like;
  std::vector<double> distances;       // at the end [m], of the runs that came to it
  double spread = 0;                   // [m] standard deviation of the distances at the steps the paper draws
  double linearity = 1, stepwise = 1;  // smallest R^2, of all times and at whole steps
  int unfinished = 0;
};

}  // namespace

StudyResult study_nmdp_walk(const StudyContext& context) {
  const double duration = context.quick ? 3 : 10;
  const std::vector<double> nmdp_steps = context.quick ? std::vector{0.03, 0.05} : step_range(0.005, 0.05, 0.005);
  const std::vector<double> mdp_steps = context.quick ? std::vector{0.002, 0.005} : step_range(0.001, 0.005, 0.001);
  std::vector<Family> families;
  std::vector<RobotRun> runs;
  const auto add = [&](IntegratorType integrator, Dissipation dissipation, bool explicit_pd,
                       const std::vector<double>& steps) {
    RobotRun run;
    run.motion = "walk";
    run.duration = duration;
    run.integrator = integrator;
    run.dissipation = dissipation;
    run.explicit_pd = explicit_pd;
    families.push_back({run, {}, 0, 1, 1, 0});
    for (const double dt : steps) {
      run.dt = dt;
      runs.push_back(run);
    }
  };
  add(IntegratorType::ne_mdp, Dissipation::total, true, mdp_steps);  // the paper's baseline
  add(IntegratorType::ne_mdp, Dissipation::contact, true, mdp_steps);
  add(IntegratorType::ne_mdp, Dissipation::contact, false, mdp_steps);
  for (const Dissipation dissipation : {Dissipation::contact, Dissipation::total, Dissipation::effective})
    for (const IntegratorType integrator : {IntegratorType::ne_nmdp, IntegratorType::pbd_nmdp})
      add(integrator, dissipation, true, nmdp_steps);
  for (const IntegratorType integrator : {IntegratorType::ne_zonmdp, IntegratorType::pbd_zonmdp})
    add(integrator, Dissipation::contact, true, nmdp_steps);
  const std::vector<RobotRecord> records = run_robots(context, runs);

  StudyResult result;
  result.name = "nmdp-walk";
  result.title = "The Robosimian walks: distance by integrator, step and dissipation (NMDP paper, Fig. 5)";
  result.summary =
      "The feet move by 0.4 m/s, so distance should be a straight line over time, the same for every step. The paper "
      "finds large variations for NE-MDP, much smaller ones for NE-NMDP and the smallest for PBD-NMDP. Agreement "
      "between large steps is not truth: see nmdp-truth.";
  for (Family& family : families) {
    const std::string name = run_name(family.like);
    StudyFigure figure{"Distance: " + name, {"time", "s"}, {"distance", "m"}, {}, {}};
    std::vector<std::string> parts;
    std::vector<double> drawn;
    for (const RobotRecord& record : records) {
      if (record.run.integrator != family.like.integrator || record.run.dissipation != family.like.dissipation ||
          record.run.explicit_pd != family.like.explicit_pd)
        continue;
      figure.series.push_back(time_series(record, record.x, step_name(record.run.dt)));
      parts.push_back(fmt::format("{:.4g}: {}", 1e3 * record.run.dt,
                                  record.complete() ? fmt::format("{:.2f}", record.x.back()) : "not finished"));
      if (!record.complete()) {
        ++family.unfinished;
        continue;
      }
      family.distances.push_back(record.x.back());
      family.linearity = std::min(family.linearity, linearity(record, false));
      family.stepwise = std::min(family.stepwise, linearity(record, true));
      if (record.run.dt > kFirstDrawnStep - 1e-9 || family.like.integrator == IntegratorType::ne_mdp)
        drawn.push_back(record.x.back());
    }
    family.spread = deviation(drawn);
    result.rows.push_back(report_row(fmt::format("{}: distance after {} s, by step in ms", name, duration), "m", "",
                                     fmt::format("{}", fmt::join(parts, "; "))));
    if (family.like.integrator == IntegratorType::ne_mdp)
      result.rows.push_back(report_row(name + ": smallest R^2 of distance over time", "", "", family.linearity));
    else
      result.rows.push_back(goal_row(name + ": smallest R^2 of distance over time", "", "linear", family.linearity,
                                     ">= 0.98, all runs to the end",
                                     family.linearity >= 0.98 && family.unfinished == 0));
    result.rows.push_back(report_row(name + ": the same at whole steps of the gait", "", "", family.stepwise));
    result.rows.push_back(report_row(
        name + ": spread of the distance over the steps the paper draws (standard deviation)", "m", "", family.spread));
    result.figures.push_back(std::move(figure));
  }
  const auto spread_of = [&](IntegratorType integrator, Dissipation dissipation) {
    for (const Family& family : families)
      if (family.like.integrator == integrator && family.like.dissipation == dissipation) return family.spread;
    return 0.0;
  };
  const double mdp = spread_of(IntegratorType::ne_mdp, Dissipation::total);
  for (const Dissipation dissipation : {Dissipation::contact, Dissipation::total, Dissipation::effective}) {
    const double ne = spread_of(IntegratorType::ne_nmdp, dissipation);
    const double pbd = spread_of(IntegratorType::pbd_nmdp, dissipation);
    const std::string name = dissipation_name(dissipation);
    result.rows.push_back(goal_row("spread of ne-nmdp over that of ne-mdp, explicit PD, total: " + name, "",
                                   "much smaller", ne / mdp, "< 1", ne < mdp));
    result.rows.push_back(goal_row("spread of pbd-nmdp over that of ne-nmdp: " + name, "",
                                   "smaller by the text, 2.5 by Table I", pbd / ne, "< 1", pbd < ne));
  }
  result.settings = {{"robot", "robosimian-planar, kp 1000 N m/rad, kd 1 N m s/rad, floor -0.80 m"},
                     {"contact", "exponent 3, 15.7 mm under its share of the weight, friction 0.7, 6 directions"},
                     {"duration", fmt::format("{} s", duration)}};
  return result;
}

}  // namespace scree
