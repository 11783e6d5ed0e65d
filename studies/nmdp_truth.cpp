// Every scheme against the converged motion: what a step buys, and what it costs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "robot_runs.h"
#include "rows.h"
#include "truth_drops.h"

namespace scree {
namespace {

constexpr double kGrid = 0.1;                                 // [s] of a track
constexpr double kAgreed = 0.01, kGate = 0.05, kGoal = 0.02;  // relative
constexpr double kInfinite = std::numeric_limits<double>::infinity();

enum class Kind { distance, apex, track, pose };

struct Quantity {
  const char *robot, *motion;
  bool spatial;
  Kind kind;
  double time;  // [s] when the distance is read, or how long the run is
  const char* name;
};
// Times are multiples of the motions' periods or plain numbers, chosen before looking: where the converged motion is
// not predictable the agreement below says so.
constexpr Quantity kQuantities[] = {
    {"robosimian", "walk", false, Kind::distance, 5, "planar Robosimian, walk, distance at 5 s"},
    {"robosimian", "walk", false, Kind::distance, 10, "planar Robosimian, walk, distance at 10 s"},
    {"spider", "walk", false, Kind::distance, 5, "planar Spider, walk, distance at 5 s"},
    {"spider", "walk", false, Kind::distance, 10, "planar Spider, walk, distance at 10 s"},
    {"robosimian", "single-jump", false, Kind::apex, 2.4, "planar Robosimian, jump, apex"},
    {"spider", "single-jump", false, Kind::apex, 2.4, "planar Spider, jump, apex"},
    {"robosimian", "crawl", true, Kind::distance, 11.2, "Robosimian in space, crawl, distance at 11.2 s"},
    {"robosimian", "squat", true, Kind::track, 4.2, "Robosimian in space, squat, height over 4.2 s"},
    {"robosimian", "single-jump", true, Kind::apex, 2.4, "Robosimian in space, jump, apex"},
    // The strict ones: where the torso is and how it tilts, all the time.
    {"robosimian", "walk", false, Kind::pose, 5, "planar Robosimian, walk, pose over 5 s"},
    {"spider", "walk", false, Kind::pose, 5, "planar Spider, walk, pose over 5 s"},
    {"robosimian", "single-jump", false, Kind::pose, 2.4, "planar Robosimian, jump, pose over 2.4 s"},
    {"spider", "single-jump", false, Kind::pose, 2.4, "planar Spider, jump, pose over 2.4 s"},
    {"robosimian", "crawl", true, Kind::pose, 11.2, "Robosimian in space, crawl, pose over 11.2 s"},
    {"robosimian", "squat", true, Kind::pose, 4.2, "Robosimian in space, squat, pose over 4.2 s"},
    {"robosimian", "single-jump", true, Kind::pose, 2.4, "Robosimian in space, jump, pose over 2.4 s"},
};

bool same_motion(const Quantity& a, const Quantity& b) {
  return std::string(a.robot) == b.robot && std::string(a.motion) == b.motion && a.spatial == b.spatial;
}

// Highest point above the start: the largest of the recorded heights, or the top of the parabola through it and its
// neighbours, which is exact in flight and spares large steps what they do not record.
double apex_of(const RobotRecord& record) {
  const auto top = std::max_element(record.z.begin(), record.z.end());
  double height = *top;
  if (top != record.z.begin() && top + 1 != record.z.end()) {
    const double slope = (top[1] - top[-1]) / 2, bend = top[-1] - 2 * top[0] + top[1];
    if (bend < 0) height -= slope * slope / (2 * bend);
  }
  return height - record.z.front();
}

// What is compared: one number, or heights above the start kGrid apart, or way, height and tilt (a radian counts as a
// metre). Empty if the run ended early.
std::vector<double> values_of(const Quantity& quantity, const RobotRecord& record) {
  if (!record.complete()) return {};
  if (quantity.kind == Kind::apex) return {apex_of(record)};
  if (quantity.kind == Kind::distance) return {value_at(record, record.x, quantity.time) - record.x.front()};
  std::vector<double> track;
  for (int k = 1; k <= std::lround(quantity.time / kGrid); ++k)
    for (const std::vector<double>* values : {&record.z, &record.x, &record.tilt})
      if (quantity.kind == Kind::pose || values == &record.z)
        track.push_back(value_at(record, *values, k * kGrid) - values->front());
  return track;
}

std::string scheme_name(const RobotRun& run) {
  std::string name = integrator_name(run.integrator);
  if (run.integrator == IntegratorType::ne_mdp) name += run.explicit_pd ? ", explicit PD" : ", implicit PD";
  if (estimates_error(run.integrator) && run.accuracy == 0) name += ", accuracy 0";
  return name;
}

std::string percent(double error) { return std::isfinite(error) ? fmt::format("{:.2f}", 100 * error) : "no"; }

// By increasing x, without repeated ones.
StudySeries sorted_series(std::string name, const std::vector<double>& x, const std::vector<double>& y, bool dashed) {
  std::map<double, double> points;
  for (size_t i = 0; i < x.size(); ++i)
    if (x[i] > 0 && std::isfinite(y[i])) points.emplace(x[i], y[i]);
  StudySeries series;
  series.name = std::move(name);
  series.dashed = dashed;
  for (const auto& [at, value] : points) {
    series.x.push_back(at);
    series.y.push_back(value);
  }
  return series;
}

}  // namespace

StudyResult study_nmdp_truth(const StudyContext& context) {
  const std::vector<double> steps =
      context.quick ? std::vector{0.005, 0.02, 0.05} : std::vector{0.005, 0.01, 0.02, 0.03, 0.04, 0.05};
  const double fine = context.quick ? 0.0005 : 0.000125;       // [s] of second order
  const double finest = context.quick ? 0.00025 : 0.00003125;  // [s] of first order
  const double longest = context.quick ? 6 : kInfinite;

  const auto scheme_of = [](IntegratorType integrator, double accuracy, bool explicit_pd) {
    RobotRun run;
    run.integrator = integrator;
    run.dissipation = Dissipation::effective;
    run.explicit_pd = explicit_pd;
    run.accuracy = accuracy;
    return run;
  };
  const double standard = StepOptions{}.accuracy;
  const std::vector<RobotRun> schemes = {
      scheme_of(IntegratorType::pbd_nmdp2, standard, true),  // the one held to a goal
      scheme_of(IntegratorType::ne_nmdp2, standard, true),   scheme_of(IntegratorType::pbd_nmdp2, 0, true),
      scheme_of(IntegratorType::ne_nmdp2, 0, true),          scheme_of(IntegratorType::ne_nmdp, standard, true),
      scheme_of(IntegratorType::pbd_nmdp, standard, true),   scheme_of(IntegratorType::ne_zonmdp, standard, true),
      scheme_of(IntegratorType::pbd_zonmdp, standard, true), scheme_of(IntegratorType::ne_mdp, standard, false),
      scheme_of(IntegratorType::ne_mdp, standard, true)};

  struct Planned {
    Quantity quantity;                           // the longest of its motion
    size_t pbd, ne, first_order;                 // converged runs
    size_t contact, total;                       // limits of the other dissipations
    std::vector<std::vector<size_t>> by_scheme;  // and step
  };
  std::vector<Quantity> quantities;
  for (const Quantity& quantity : kQuantities)
    if (quantity.time < longest) quantities.push_back(quantity);
  std::vector<Planned> planned;
  std::vector<RobotRun> runs;
  for (const Quantity& quantity : quantities) {
    const auto before = std::find_if(planned.begin(), planned.end(),
                                     [&](const Planned& other) { return same_motion(other.quantity, quantity); });
    if (before == planned.end())
      planned.push_back({quantity, 0, 0, 0, 0, 0, {}});
    else if (before->quantity.time < quantity.time)
      before->quantity = quantity;
  }
  for (Planned& plan : planned) {
    const auto add_run = [&](RobotRun run, double dt) {
      run.robot = plan.quantity.robot;
      run.motion = plan.quantity.motion;
      run.spatial = plan.quantity.spatial;
      run.duration = dt * std::ceil(plan.quantity.time / dt - 1e-9);  // 30 ms divides few times: one step more
      run.dt = dt;
      runs.push_back(run);
      return runs.size() - 1;
    };
    plan.pbd = add_run(schemes[2], fine);
    plan.ne = add_run(schemes[3], fine);
    plan.first_order = add_run(schemes[4], finest);
    RobotRun other = schemes[3];
    other.dissipation = Dissipation::contact;
    plan.contact = add_run(other, 2 * fine);
    other.dissipation = Dissipation::total;
    plan.total = add_run(other, 2 * fine);
    for (const RobotRun& scheme : schemes) {
      plan.by_scheme.emplace_back();
      for (const double dt : steps) plan.by_scheme.back().push_back(add_run(scheme, dt));
    }
  }
  const std::vector<RobotRecord> records = run_robots(context, runs);

  StudyResult result;
  result.name = "nmdp-truth";
  result.title = "Every scheme against the converged motion";
  result.summary =
      "The paper measures how well large steps agree with each other. Here distances walked, heights jumped and a "
      "squat "
      "are held against the converged motion: the mean of pbd-nmdp2 and ne-nmdp2 at a small step. A quantity has a "
      "goal "
      "only where these two and backward Euler (ne-nmdp) at a smaller step still agree within 1 %; elsewhere the "
      "motion "
      "is not predictable and the scatter is reported. Bodies are dropped and thrown, too: at no step may they rebound "
      "higher than the converged ones.";
  std::vector<double> milliseconds;
  for (const double dt : steps) milliseconds.push_back(1e3 * dt);
  const std::string at_steps = fmt::format("at {} ms", join_numbers(milliseconds, "{:.0f}"));
  int gated = 0, gated_poses = 0, poses = 0, best_places = 0, places = 0;
  double worst_of_all = 0, worst_pose = 0;
  for (const Quantity& quantity : quantities) {
    const Planned& plan = *std::find_if(planned.begin(), planned.end(),
                                        [&](const Planned& other) { return same_motion(other.quantity, quantity); });
    const bool pose = quantity.kind == Kind::pose;
    poses += pose ? 1 : 0;
    const std::vector<double> pbd = values_of(quantity, records[plan.pbd]), ne = values_of(quantity, records[plan.ne]);
    if (pbd.empty() || ne.empty()) {
      result.rows.push_back(report_row(fmt::format("{}: converged", quantity.name), "", "", "did not finish"));
      continue;
    }
    std::vector<double> truth;
    for (size_t k = 0; k < pbd.size(); ++k) truth.push_back((pbd[k] + ne[k]) / 2);
    const std::vector<double> first_order = values_of(quantity, records[plan.first_order]);
    const double scatter =
        std::max(relative_error(pbd, ne), std::max(relative_error(first_order, pbd), relative_error(first_order, ne)));
    const bool agreed = scatter < kAgreed;
    // Truth lies between the three, or so the agreement says: no claim is made about what is closer than that.
    const double uncertain = std::max(relative_error(pbd, truth), relative_error(first_order, truth));
    if (pbd.size() == 1)
      result.rows.push_back(
          report_row(fmt::format("{}: pbd-nmdp2, ne-nmdp2 at {}, ne-nmdp at {}", quantity.name, step_name(fine),
                                 step_name(finest)),
                     "m", "",
                     fmt::format("{:.4f}, {:.4f}, {}", pbd[0], ne[0],
                                 first_order.empty() ? std::string("no") : fmt::format("{:.4f}", first_order[0]))));
    result.rows.push_back(
        report_row(fmt::format("{}: these three apart ({})", quantity.name,
                               agreed ? "within 1 %: has a goal" : "not within 1 %: no goal"),
                   "%", "", std::isfinite(scatter) ? StudyValue(100 * scatter) : StudyValue("did not finish")));
    for (const size_t i : {plan.contact, plan.total}) {
      const double off = relative_error(values_of(quantity, records[i]), truth);
      result.rows.push_back(report_row(fmt::format("{}: dissipation {} (ne-nmdp2, {}) off", quantity.name,
                                                   dissipation_name(records[i].run.dissipation), step_name(2 * fine)),
                                       "%", "",
                                       std::isfinite(off) ? StudyValue(100 * off) : StudyValue("did not finish")));
    }
    std::vector<std::vector<double>> errors;  // by scheme and step
    StudyFigure by_step{
        fmt::format("Error against the step: {}", quantity.name), {"step", "ms", true}, {"error", "%", true}, {}, {}};
    StudyFigure by_solves{fmt::format("Error against work: {}", quantity.name),
                          {"stage solves per simulated second", "1/s", true},
                          {"error", "%", true},
                          {},
                          {}};
    for (size_t s = 0; s < schemes.size(); ++s) {
      errors.emplace_back();
      std::vector<double> solves, percents;
      std::string text;
      for (const size_t i : plan.by_scheme[s]) {
        const RobotRecord& record = records[i];
        errors.back().push_back(relative_error(values_of(quantity, record), truth));
        percents.push_back(100 * errors.back().back());
        solves.push_back(static_cast<double>(record.solves) / std::max(record.time.back(), record.run.dt));
        text += fmt::format("{}{} ({:.0f})", text.empty() ? "" : ", ", percent(errors.back().back()), solves.back());
      }
      result.rows.push_back(report_row(
          fmt::format("{}: {}: error {} (stage solves per second)", quantity.name, scheme_name(schemes[s]), at_steps),
          "%", "", text));
      const bool dashed = s > 3;
      by_step.series.push_back(sorted_series(scheme_name(schemes[s]), milliseconds, percents, dashed));
      by_solves.series.push_back(sorted_series(scheme_name(schemes[s]), solves, percents, dashed));
    }
    const std::string note = fmt::format("The converged runs are {} % apart.", percent(scatter));
    for (StudyFigure* figure : {&by_step, &by_solves}) {
      figure->notes.push_back(note);
      result.figures.push_back(std::move(*figure));
    }
    if (!agreed) continue;
    ++(pose ? gated_poses : gated);
    const double worst = largest(errors[0]);
    (pose ? worst_pose : worst_of_all) = std::max(pose ? worst_pose : worst_of_all, worst);
    const StudyValue shown = std::isfinite(worst) ? StudyValue(100 * worst) : StudyValue("did not finish");
    for (const double goal : {kGate, kGoal})
      result.rows.push_back(goal_row(fmt::format("{}: pbd-nmdp2: largest error {}", quantity.name, at_steps), "%", "",
                                     shown, fmt::format("< {:.0f}", 100 * goal), worst < goal));
    if (pose) continue;
    std::string lost;  // step, who was better, its error and ours
    for (size_t k = 0; k < steps.size(); ++k) {
      size_t best = 0;
      for (size_t s = 1; s < schemes.size(); ++s)
        if (schemes[s].integrator != schemes[0].integrator && errors[s][k] < errors[best][k]) best = s;
      ++places;
      if (errors[0][k] <= std::max(errors[best][k], uncertain)) {
        ++best_places;
        continue;
      }
      lost += fmt::format("{}{}: {} {} against {}", lost.empty() ? "" : "; ", step_name(steps[k]),
                          scheme_name(schemes[best]), percent(errors[best][k]), percent(errors[0][k]));
    }
    result.rows.push_back(goal_row(fmt::format("{}: pbd-nmdp2 nearer to truth than any other integrator, or within "
                                               "{} %, what truth is known to",
                                               quantity.name, percent(uncertain)),
                                   "%", "", lost.empty() ? "at every step" : lost, "at every step", lost.empty()));
  }
  result.rows.push_back(report_row(
      "quantities with a goal", "", "",
      fmt::format("{} of {}, poses {} of {}", gated, static_cast<int>(quantities.size()) - poses, gated_poses, poses)));
  for (const double goal : {kGate, kGoal})
    result.rows.push_back(
        goal_row(fmt::format("pbd-nmdp2: largest error of all of these, {}", at_steps), "%", "",
                 std::isfinite(worst_of_all) ? StudyValue(100 * worst_of_all) : StudyValue("did not finish"),
                 fmt::format("< {:.0f}", 100 * goal), gated > 0 && worst_of_all < goal));
  for (const double goal : {kGate, kGoal})
    result.rows.push_back(
        goal_row(fmt::format("pbd-nmdp2: largest error of the poses, {}", at_steps), "%", "",
                 std::isfinite(worst_pose) ? StudyValue(100 * worst_pose) : StudyValue("did not finish"),
                 fmt::format("< {:.0f}", 100 * goal), gated_poses > 0 && worst_pose < goal));
  result.rows.push_back(goal_row("pbd-nmdp2 nearest to truth: quantities times steps", "", "",
                                 fmt::format("{} of {}", best_places, places), "all of them", best_places == places));
  add_drops(context, result);
  result.settings = {
      {"robots", "kp 1000 N m/rad, kd 1 N m s/rad; Robosimian: floor -0.80 m, friction 0.7; Spider: -0.43 m, 1.5"},
      {"contact", "exponent 3, 15.7 mm under its share of the weight, 6 directions, dissipation effective"},
      {"accuracy", fmt::format("{} m unless named", standard)},
      {"truth", fmt::format("mean of pbd-nmdp2 and ne-nmdp2, accuracy 0, {}", step_name(fine))},
      {"throws",
       "box, planar box: friction 0.3, 5 mm; cube: 0.3, 1 mm; Robosimian held in stance: 0.7, 15.7 mm; 1.2 s"},
      {"error",
       fmt::format("relative to the converged value; of a track or a pose: root mean square, {} s apart", kGrid)}};
  return result;
}

}  // namespace scree
