// Section VI of the NMDP paper, "we have never experienced any divergence": every motion of both robots at every step.
#include <fmt/format.h>

#include "robot_runs.h"
#include "rows.h"

namespace scree {

StudyResult study_nmdp_stability(const StudyContext& context) {
  struct Family {
    IntegratorType integrator;
    Dissipation dissipation;
  };
  const Family families[] = {
      {IntegratorType::ne_nmdp, Dissipation::contact},   {IntegratorType::pbd_nmdp, Dissipation::contact},
      {IntegratorType::ne_nmdp, Dissipation::effective}, {IntegratorType::pbd_nmdp, Dissipation::effective},
      {IntegratorType::ne_zonmdp, Dissipation::contact}, {IntegratorType::pbd_zonmdp, Dissipation::contact}};
  const std::vector<double> steps = context.quick ? std::vector{0.02, 0.05} : step_range(0.005, 0.05, 0.005);
  std::vector<RobotRun> runs;
  for (const Family& family : families)
    for (const char* robot : {"robosimian", "spider"})
      for (const char* motion : {"walk", "walk-fast", "jump", "jump-high"})
        for (const double dt : steps) {
          RobotRun run;
          run.robot = robot;
          run.motion = motion;
          run.integrator = family.integrator;
          run.dissipation = family.dissipation;
          run.dt = dt;
          run.duration = context.quick ? 1.5 : 10;
          runs.push_back(run);
        }
  const std::vector<RobotRecord> records = run_robots(context, runs);

  StudyResult result;
  result.name = "nmdp-stability";
  result.title = "No divergence at 5 to 50 ms: walk, walk-fast, jump and jump-high of both robots";
  result.summary =
      "A try is rejected when the solver gives up on it; the step is then halved. Steps are also subdivided where a "
      "body "
      "turns by more than half a radian. A run has diverged if a step failed at its smallest substep, or if it "
      "exploded.";
  StudyFigure figure{
      "Rejected tries by step", {"step", "ms"}, {"rejected tries, all motions of both robots", ""}, {}, {}};
  const size_t per_family = runs.size() / std::size(families);
  for (size_t f = 0; f < std::size(families); ++f) {
    long rejected = 0, subdivided = 0, taken = 0;
    int diverged = 0, fell = 0;
    StudySeries series;
    series.name = run_name(runs[f * per_family]);
    for (const double dt : steps) {
      double here = 0;
      for (size_t k = f * per_family; k < (f + 1) * per_family; ++k) {
        const RobotRecord& record = records[k];
        if (record.run.dt != dt) continue;
        here += static_cast<double>(record.rejected);
        rejected += record.rejected;
        subdivided += record.subdivided;
        taken += std::ssize(record.outer);
        diverged += record.complete() ? 0 : 1;
        fell += record.fell() ? 1 : 0;
      }
      series.x.push_back(1000 * dt);
      series.y.push_back(here);
    }
    figure.series.push_back(series);
    const bool first_order =
        families[f].integrator == IntegratorType::ne_nmdp || families[f].integrator == IntegratorType::pbd_nmdp;
    result.rows.push_back(goal_row(series.name + ": runs that diverged", "", first_order ? "0" : "some",
                                   fmt::format("{} of {}", diverged, per_family), "0", diverged == 0));
    const std::string tries = fmt::format("{} in {} steps", rejected, taken);
    result.rows.push_back(first_order ? goal_row(series.name + ": rejected tries", "", "0", tries, "0", rejected == 0)
                                      : report_row(series.name + ": rejected tries", "", "some", tries));
    result.rows.push_back(report_row(series.name + ": subdivided steps", "", "", fmt::format("{}", subdivided)));
    result.rows.push_back(report_row(series.name + ": runs in which the robot fell", "", "", fmt::format("{}", fell)));
  }
  result.figures.push_back(figure);
  result.settings = {{"steps", step_name(steps.front()) + " to " + step_name(steps.back())},
                     {"duration", fmt::format("{} s", runs.front().duration)}};
  return result;
}

}  // namespace scree
