// Fig. 3 and 4 of the NMDP paper: the Robosimian jumps every 2 s; torso tilt and height by integrator and step.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "robot_runs.h"
#include "rows.h"

namespace scree {
namespace {

constexpr double kRounding = 1e-9;               // [s] of steps
constexpr double kFirstCrouch = 1, kPeriod = 2;  // [s] of motions/robosimian-jump.toml

// Highest torso point of every jump that begins before the end of the record.
std::vector<double> apex_heights(const RobotRecord& record) {
  std::vector<double> apexes;
  for (double begin = kFirstCrouch; begin + 0.8 < record.time.back(); begin += kPeriod) {
    double top = record.z.front();
    for (size_t i = 0; i < record.time.size(); ++i)
      if (record.time[i] >= begin && record.time[i] < begin + kPeriod) top = std::max(top, record.z[i]);
    apexes.push_back(top);
  }
  return apexes;
}

using Records = std::vector<RobotRecord>;

Records select(const Records& all, const RobotRun& like) {
  Records out;
  for (const RobotRecord& record : all)
    if (record.run.integrator == like.integrator && record.run.symmetric == like.symmetric &&
        record.run.explicit_pd == like.explicit_pd && record.run.dissipation == like.dissipation)
      out.push_back(record);
  return out;
}

// The largest step up to which every run came to its end; 0 if none.
double largest_stable(Records records) {
  std::sort(records.begin(), records.end(), [](const auto& a, const auto& b) { return a.run.dt < b.run.dt; });
  double stable = 0;
  for (const RobotRecord& record : records) {
    if (!record.complete()) break;
    stable = record.run.dt;
  }
  return stable;
}

double largest_tilt(const Records& records) {
  double tilt = 0;
  for (const RobotRecord& record : records) tilt = std::max(tilt, record.largest_tilt());
  return tilt;
}

// Of the worst run: (highest - lowest apex) / (mean apex - height at the start). Not a number if no run came to its
// end.
double worst_apex_spread(const Records& records) {
  double worst = std::numeric_limits<double>::quiet_NaN();
  for (const RobotRecord& record : records) {
    const std::vector<double> apexes = apex_heights(record);
    if (!record.complete() || apexes.size() < 2) continue;
    worst = std::fmax(worst, (largest(apexes) - smallest(apexes)) / (mean(apexes) - record.z.front()));
  }
  return worst;
}

void add_figures(StudyResult& result, const Records& records, const RobotRun& like) {
  const std::string name = run_name(like) + (like.symmetric ? ", symmetric torso" : "");
  StudyFigure tilt{"Torso tilt: " + name, {"time", "s"}, {"tilt", "rad"}, {}, {}};
  StudyFigure height{"Torso height: " + name, {"time", "s"}, {"height", "m"}, {}, {}};
  for (const RobotRecord& record : records) {
    tilt.series.push_back(time_series(record, record.tilt, step_name(record.run.dt)));
    height.series.push_back(time_series(record, record.z, step_name(record.run.dt)));
  }
  if (!like.symmetric) tilt.notes = {"A curve ends where its run failed, exploded or reached the work limit."};
  result.figures.push_back(std::move(tilt));
  if (!like.symmetric) result.figures.push_back(std::move(height));
}

}  // namespace

StudyResult study_nmdp_jump(const StudyContext& context) {
  const std::vector<double> nmdp_steps = context.quick ? std::vector{0.03, 0.05} : step_range(0.005, 0.05, 0.005);
  std::vector<double> mdp_steps =
      context.quick ? std::vector{0.002, 0.005, 0.01, 0.02} : step_range(0.001, 0.015, 0.001);
  if (!context.quick) mdp_steps.insert(mdp_steps.end(), {0.02, 0.03, 0.05});
  std::vector<RobotRun> families, runs;
  const auto add = [&](RobotRun like, const std::vector<double>& steps) {
    like.motion = "jump";
    like.duration = context.quick ? 5 : 10;
    families.push_back(like);
    for (const double dt : steps) {
      like.dt = dt;
      runs.push_back(like);
    }
  };
  // The paper's baseline: explicit PD, total kinetic energy.
  for (const auto& [explicit_pd, dissipation] :
       {std::pair(true, Dissipation::total), {true, Dissipation::contact}, {false, Dissipation::contact}})
    for (const bool symmetric : {false, true}) {
      RobotRun like;
      like.integrator = IntegratorType::ne_mdp;
      like.dissipation = dissipation;
      like.explicit_pd = explicit_pd;
      like.symmetric = symmetric;
      add(like, mdp_steps);
    }
  for (const IntegratorType integrator :
       {IntegratorType::ne_nmdp, IntegratorType::pbd_nmdp, IntegratorType::ne_zonmdp, IntegratorType::pbd_zonmdp})
    for (const bool symmetric : {false, true}) {
      RobotRun like;
      like.integrator = integrator;
      like.symmetric = symmetric;
      add(like, nmdp_steps);
    }
  const Records all = run_robots(context, runs);

  StudyResult result;
  result.name = "nmdp-jump";
  result.title = "The Robosimian jumps: stability, torso tilt and height (NMDP paper, Fig. 3 and 4)";
  result.summary =
      "A symmetric robot that makes symmetric jumps should not tilt, and every jump should reach the same height. The "
      "paper finds that the linearised baseline NE-MDP is stable up to 7 ms and its own NMDP at all steps up to 50 ms. "
      "The robot's torso has its centre of mass 0.8 mm off its middle, so a small tilt is physical; the symmetric "
      "variant has it in the middle.";
  std::vector<double> tilt_of_first, tilt_of_zeroth;
  for (const RobotRun& like : families) {
    const Records records = select(all, like);
    add_figures(result, records, like);
    const std::string name = run_name(like) + (like.symmetric ? ", symmetric torso" : "");
    if (like.integrator == IntegratorType::ne_mdp) {
      const double stable = largest_stable(records), last = records.back().run.dt;
      const StudyValue value =
          stable < last ? StudyValue(1e3 * stable) : StudyValue(fmt::format("{:.4g}, the largest tried", 1e3 * last));
      const std::string quantity = name + ": largest step up to which no run explodes";
      if (like.explicit_pd && like.dissipation == Dissipation::total)
        result.rows.push_back(goal_row(quantity, "ms", "7", value, "3.5 to 14: half to twice the paper's",
                                       stable > 3.5e-3 - kRounding && stable < 14e-3 + kRounding && stable < last));
      else
        result.rows.push_back(report_row(quantity, "ms", "", value));
      Records stable_ones;
      std::vector<double> fallen;
      for (const RobotRecord& record : records) {
        if (record.run.dt > stable) continue;
        stable_ones.push_back(record);
        if (record.fell()) fallen.push_back(1e3 * record.run.dt);
      }
      result.rows.push_back(
          report_row(name + ": largest tilt of these runs", "rad", "severe oscillations", largest_tilt(stable_ones)));
      result.rows.push_back(report_row(name + ": of these, steps at which the robot falls over", "ms", "",
                                       fallen.empty() ? StudyValue("none") : join_numbers(fallen, "{:.4g}")));
      continue;
    }
    const bool first = like.integrator == IntegratorType::ne_nmdp || like.integrator == IntegratorType::pbd_nmdp;
    long failed = 0, diverged = 0, limited = 0, rejected = 0, subdivided = 0, steps = 0;
    for (const RobotRecord& record : records) {
      failed += record.end == RunEnd::step_failed;
      diverged += record.end == RunEnd::exploded || (record.complete() && record.fell());
      limited += record.end == RunEnd::work_limit;
      rejected += record.rejected;
      subdivided += record.subdivided;
      steps += static_cast<long>(record.outer.size());
    }
    const long bad = failed + diverged + limited;
    std::string text = fmt::format("{} of {}", bad, records.size());
    if (bad > 0)
      text += fmt::format(" ({} failed a step, {} fell or exploded, {} at the work limit)", failed, diverged, limited);
    result.rows.push_back(goal_row(name + ": runs that did not end well", "", "0", text, "0", bad == 0));
    const std::string counts = fmt::format("{} in {} steps", rejected, steps);
    if (first)
      result.rows.push_back(goal_row(name + ": rejected tries", "", "0", counts, "0", rejected == 0));
    else
      result.rows.push_back(report_row(name + ": rejected tries", "", "some", counts));
    result.rows.push_back(report_row(name + ": subdivided steps (also where a body turns fast)", "", "",
                                     fmt::format("{} of {}", subdivided, steps)));
    const double tilt = largest_tilt(records);
    if (like.symmetric)
      result.rows.push_back(goal_row(name + ": largest tilt", "rad", "0 is the truth", tilt,
                                     "< 0.01, all runs to the end", tilt < 0.01 && bad == 0));
    else
      result.rows.push_back(report_row(name + ": largest tilt", "rad", "small", tilt));
    const double spread = worst_apex_spread(records);
    result.rows.push_back(goal_row(name + ": spread of the apex heights of a run, worst step", "", "periodic", spread,
                                   "< 0.1 of the mean apex, all runs to the end", spread < 0.1 && bad == 0));
    if (!like.symmetric) {
      // Of runs that came to their end.
      Records common;
      for (const RobotRecord& record : records)
        if (record.complete()) common.push_back(record);
      (first ? tilt_of_first : tilt_of_zeroth)
          .push_back(common.empty() ? std::numeric_limits<double>::quiet_NaN() : largest_tilt(common));
    }
  }
  result.rows.push_back(goal_row(
      "largest tilt of zeroth over first order, ne and pbd", "", "> 1",
      fmt::format("{:.3g}, {:.3g}", tilt_of_zeroth[0] / tilt_of_first[0], tilt_of_zeroth[1] / tilt_of_first[1]),
      "both > 1", tilt_of_zeroth[0] > tilt_of_first[0] && tilt_of_zeroth[1] > tilt_of_first[1]));
  result.settings = {
      {"robot", "robosimian-planar, kp 1000 N m/rad, kd 1 N m s/rad, floor -0.80 m"},
      {"contact", "exponent 3, 15.7 mm under its share of the weight, friction 0.7, 6 directions"},
      {"duration", context.quick ? "5 s" : "10 s"},
      {"exploded", fmt::format("|z| > {} m, or a joint faster than {} rad/s", kLargestHeight, kLargestSpeed)},
      {"fallen", fmt::format("|tilt| > {} rad", kFallen)}};
  return result;
}

}  // namespace scree
