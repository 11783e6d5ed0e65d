// Table I of the NMDP paper: do runs of different steps agree?
#include <fmt/format.h>

#include <cmath>

#include "robot_runs.h"
#include "rows.h"

namespace scree {
namespace {

// The paper: "average standard deviation of trajectories between different steps". Read as: at every time the standard
// deviation over the steps, then its mean over time. Times at which fewer than two runs are left do not count.
double average_deviation(const std::vector<const RobotRecord*>& records, bool height, double duration) {
  std::vector<double> deviations;
  for (double time = 0; time < duration + 1e-9; time += 0.05) {
    std::vector<double> values;
    for (const RobotRecord* record : records) {
      const double value = value_at(*record, height ? record->z : record->x, time);
      if (std::isfinite(value)) values.push_back(value);
    }
    if (values.size() > 1) deviations.push_back(deviation(values));
  }
  return mean(deviations);
}

struct Line {
  const char *robot, *motion, *quantity;
  const char* paper[3];  // NE-MDP, PBD-NMDP, NE-NMDP
};
constexpr Line kTable[] = {{"robosimian", "walk", "distance", {"0.72", "0.25", "0.10"}},
                           {"robosimian", "jump", "height", {"0.26", "0.01", "0.02"}},
                           {"spider", "walk", "distance", {"0.09", "0.09", "0.10"}},
                           {"spider", "jump", "height", {"0.13", "0.04", "0.05"}}};
constexpr IntegratorType kIntegrators[] = {IntegratorType::ne_mdp, IntegratorType::pbd_nmdp, IntegratorType::ne_nmdp};

double duration_of(const Line& line, const StudyContext& context) {
  return context.quick ? 3 : std::string(line.robot) == "spider" ? 20 : 10;
}

}  // namespace

StudyResult study_nmdp_table1(const StudyContext& context) {
  const std::vector<double> large = context.quick ? std::vector{0.03, 0.05} : step_range(0.03, 0.05, 0.005);
  const std::vector<double> small = context.quick ? std::vector{0.003, 0.005} : step_range(0.001, 0.005, 0.001);
  std::vector<RobotRun> runs;
  for (const Line& line : kTable)
    for (const IntegratorType integrator : kIntegrators)
      for (const Dissipation dissipation : {Dissipation::contact, Dissipation::total, Dissipation::effective}) {
        const bool baseline = integrator == IntegratorType::ne_mdp;
        if (baseline && dissipation == Dissipation::effective) continue;  // the same as total there
        for (const double dt : baseline ? small : large) {
          RobotRun run;
          run.robot = line.robot;
          run.motion = line.motion;
          run.integrator = integrator;
          run.dissipation = dissipation;
          run.dt = dt;
          run.duration = duration_of(line, context);
          runs.push_back(run);
        }
      }
  const std::vector<RobotRecord> records = run_robots(context, runs);

  StudyResult result;
  result.name = "nmdp-table1";
  result.title = "Agreement between runs of different steps (NMDP paper, Table I)";
  result.summary =
      "Mean over time of the standard deviation over the steps: 1 to 5 ms for NE-MDP, 30 to 50 ms for NMDP, as in the "
      "paper's figures. Reported without a goal: the paper's motions are not published, and numerical damping makes "
      "large steps agree whether or not they are right (nmdp-truth).";
  for (const Line& line : kTable)
    for (size_t i = 0; i < std::size(kIntegrators); ++i)
      for (const Dissipation dissipation : {Dissipation::contact, Dissipation::total, Dissipation::effective}) {
        std::vector<const RobotRecord*> chosen;
        int unfinished = 0;
        for (const RobotRecord& record : records) {
          if (record.run.robot != line.robot || record.run.motion != line.motion ||
              record.run.integrator != kIntegrators[i] || record.run.dissipation != dissipation)
            continue;
          chosen.push_back(&record);
          unfinished += record.complete() ? 0 : 1;
        }
        if (chosen.empty()) continue;
        const double value = average_deviation(chosen, std::string(line.motion) == "jump", duration_of(line, context));
        std::string name =
            fmt::format("{} {}, {}: {}", line.robot, line.motion, line.quantity, run_name(chosen[0]->run));
        if (unfinished > 0) name += fmt::format(" ({} of {} runs ended early)", unfinished, chosen.size());
        result.rows.push_back(report_row(std::move(name), "m", line.paper[i], value));
      }
  result.settings = {{"duration", fmt::format("{} s (Robosimian), {} s (Spider)", duration_of(kTable[0], context),
                                              duration_of(kTable[2], context))},
                     {"contact", "exponent 3, 15.7 mm under its share of the weight, 6 directions"},
                     {"friction", "0.7 (Robosimian), 1.5 (Spider)"},
                     {"baseline", "ne-mdp with explicit PD"}};
  return result;
}

}  // namespace scree
