// Fig. 6 of the NMDP paper: what a step costs.
#include <fmt/format.h>

#include <algorithm>

#include "robot_runs.h"
#include "rows.h"

namespace scree {
namespace {

constexpr const char* kMotions[] = {"walk", "walk-fast", "jump", "jump-high"};
constexpr double kStep = 0.05;  // [s]

// All steps of one integrator over the four motions.
struct Cost {
  std::vector<double> frame_rate, outer;
  double simulated = 0, wall = 0, smallest_step = kStep;
  long rejected = 0;
  int unfinished = 0;

  void add(const RobotRecord& record) {
    for (const double wall_time : record.wall_time) frame_rate.push_back(1 / wall_time);
    outer.insert(outer.end(), record.outer.begin(), record.outer.end());
    // A subdivision for the sake of fast turns says nothing about convergence.
    if (record.rejected > 0) smallest_step = std::min(smallest_step, smallest(record.smallest_step));
    simulated += record.time.back();
    wall += record.wall();
    rejected += record.rejected;
    unfinished += record.complete() ? 0 : 1;
  }
};

}  // namespace

StudyResult study_nmdp_cost(const StudyContext& context) {
  const double duration = context.quick ? 3 : 10;
  const IntegratorType integrators[] = {IntegratorType::ne_mdp, IntegratorType::ne_nmdp, IntegratorType::pbd_nmdp,
                                        IntegratorType::ne_zonmdp, IntegratorType::pbd_zonmdp};
  std::vector<RobotRun> runs;
  for (const IntegratorType integrator : integrators)
    for (const char* motion : kMotions) {
      RobotRun run;
      run.motion = motion;
      run.integrator = integrator;
      run.explicit_pd = false;  // with explicit PD the baseline does not survive 50 ms
      run.dt = kStep;
      run.duration = duration;
      runs.push_back(run);
    }
  const std::vector<RobotRecord> records = time_robots(context, runs);

  // Outer iterations against the step, on walk and jump.
  const std::vector<double> steps = context.quick ? std::vector{0.02, 0.05} : step_range(0.005, 0.05, 0.005);
  std::vector<RobotRun> sweep;
  for (const IntegratorType integrator : integrators)
    for (const double dt : steps)
      for (const char* motion : {"walk", "jump"}) {
        if (integrator == IntegratorType::ne_mdp) continue;
        RobotRun run;
        run.motion = motion;
        run.integrator = integrator;
        run.dt = dt;
        run.duration = context.quick ? 1.5 : 5;
        sweep.push_back(run);
      }
  const std::vector<RobotRecord> swept = run_robots(context, sweep);

  StudyResult result;
  result.name = "nmdp-cost";
  result.title = "What a step costs at 50 ms (NMDP paper, Fig. 6)";
  result.summary =
      "All steps of walk, walk-fast, jump and jump-high of the Robosimian. Wall times are of this machine, one thread. "
      "The zeroth-order integrators of scree learn the slope of the law from evaluations made anyway, the paper leaves "
      "it out.";
  StudyFigure rates{"Frame rate at 50 ms", {"steps per second", "1/s", true}, {"share of the steps", ""}, {}, {}};
  StudyFigure outers{"Outer iterations per step at 50 ms",
                     {"outer iterations", "", true},
                     {"share of the steps", ""},
                     {},
                     {"Steps without any outer iteration (in flight, or started at the optimum) are not drawn."}};
  StudyFigure against{"Mean outer iterations against the step", {"step", "ms"}, {"outer iterations", "", true}, {}, {}};
  StudyFigure substeps{"Smallest substep at a nominal 50 ms: walk", {"time", "s"}, {"substep", "ms", true}, {}, {}};
  std::vector<Cost> costs(std::size(integrators));
  for (size_t i = 0; i < std::size(integrators); ++i) {
    const std::string name = integrator_name(integrators[i]);
    for (const RobotRecord& record : records) {
      if (record.run.integrator != integrators[i]) continue;
      costs[i].add(record);
      if (record.run.motion != "walk" || integrators[i] == IntegratorType::ne_mdp) continue;
      StudySeries series{name, {}, {}, false};
      for (size_t k = 1; k < record.time.size(); ++k) {
        series.x.push_back(record.time[k]);
        series.y.push_back(1e3 * record.smallest_step[k - 1]);
      }
      substeps.series.push_back(std::move(series));
    }
    rates.series.push_back(log_histogram(costs[i].frame_rate, 5, name));
    outers.series.push_back(log_histogram(costs[i].outer, 5, name));
    if (integrators[i] == IntegratorType::ne_mdp) continue;
    StudySeries series{name, {}, {}, false};
    for (const double dt : steps) {
      double outer = 0, count = 0;
      for (const RobotRecord& record : swept) {
        if (record.run.integrator != integrators[i] || record.run.dt != dt) continue;
        outer += record.outer_sum();
        count += static_cast<double>(record.outer.size());
      }
      series.x.push_back(1e3 * dt);
      series.y.push_back(outer / count);
    }
    against.series.push_back(std::move(series));
  }

  double best_rate = 0;  // of the integrators with outer iterations
  for (size_t i = 0; i < std::size(integrators); ++i) {
    const std::string name = integrator_name(integrators[i]);
    const Cost& cost = costs[i];
    const double rate = median(cost.frame_rate);
    if (i > 0) best_rate = std::max(best_rate, rate);
    result.rows.push_back(report_row(name + ": median frame rate", "1/s", "", rate));
    result.rows.push_back(report_row(name + ": simulated time per wall time", "", "", cost.simulated / cost.wall));
    if (integrators[i] == IntegratorType::ne_mdp) continue;
    const bool first = integrators[i] == IntegratorType::ne_nmdp || integrators[i] == IntegratorType::pbd_nmdp;
    result.rows.push_back(
        report_row(name + ": outer iterations per step: median, mean, largest", "", "",
                   fmt::format("{:.3g}, {:.3g}, {:.0f}", median(cost.outer), mean(cost.outer), largest(cost.outer))));
    const std::string text = fmt::format("{} unfinished, {} rejected tries", cost.unfinished, cost.rejected);
    if (first)
      result.rows.push_back(goal_row(name + ": convergence at 50 ms", "", "always", text, "all runs end, none rejected",
                                     cost.unfinished == 0 && cost.rejected == 0));
    else {
      result.rows.push_back(
          goal_row(name + ": convergence at 50 ms", "", "with substeps", text, "all runs end", cost.unfinished == 0));
      result.rows.push_back(goal_row(name + ": smallest substep of runs with rejected tries", "ms", "25",
                                     1e3 * cost.smallest_step, ">= 25", cost.smallest_step >= 0.025));
    }
  }
  const double mdp_rate = median(costs[0].frame_rate);
  result.rows.push_back(goal_row("ne-mdp: median frame rate over that of the fastest other", "", "> 1",
                                 mdp_rate / best_rate, "> 1", mdp_rate > best_rate));
  for (const size_t i : {size_t{1}, size_t{2}}) {
    const double ratio = mean(costs[i + 2].outer) / mean(costs[i].outer);
    result.rows.push_back(goal_row(fmt::format("{} over {}: mean outer iterations", integrator_name(integrators[i + 2]),
                                               integrator_name(integrators[i])),
                                   "", "about 10", ratio, "3 to 30", ratio >= 3 && ratio <= 30));
    result.rows.push_back(report_row(fmt::format("{} over {}: median outer iterations",
                                                 integrator_name(integrators[i + 2]), integrator_name(integrators[i])),
                                     "", "about 10", median(costs[i + 2].outer) / median(costs[i].outer)));
  }
  result.figures = {std::move(rates), std::move(outers), std::move(against), std::move(substeps)};
  result.settings = {{"robot", "robosimian-planar, kp 1000 N m/rad, kd 1 N m s/rad, floor -0.80 m"},
                     {"contact", "exponent 3, 15.7 mm under its share of the weight, friction 0.7, 6 directions"},
                     {"baseline", "ne-mdp with implicit PD"},
                     {"duration", fmt::format("{} s per motion", duration)}};
  return result;
}

}  // namespace scree
