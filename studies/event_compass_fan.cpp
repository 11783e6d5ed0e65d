// The compass gait of section 7.5.2 of the dissertation of M. Halm: it falls on its leading foot, and every outcome
// goes on in time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "event_fans.h"
#include "event_reference.h"
#include "impact_rows.h"

namespace scree {
namespace {

struct Case {
  const char *name, *impact;
  double rate, step;              // [rad/s] of both legs at the impact, [N s]
  double rest, a, b, shares;      // [%] of the reference, and its samples
  double vn_a, vn_b, vt_a, vt_b;  // [m/s] extremes of the reference
};

constexpr double kBefore = 0.02, kAfter = 0.05;  // [s]

}  // namespace

StudyResult study_event_compass_fan(const StudyContext& context) {
  StudyResult result;
  result.name = "event-compass-fan";
  result.title = "A walker's wide step, in time";
  result.summary =
      "The compass gait stands on its trailing foot B, legs nearly 156 degrees apart, and falls on the leading foot A. "
      "It starts 20 ms before the impact, where integrating the pinned walker backwards from the published state leads "
      "(long double). Every branch draws the outcome of its impacts from the set-valued law as the dissertation "
      "samples "
      "it. References: the published state, and shares and ranges of the set (impact-compass).";
  auto& rows = result.rows;
  const long branches = context.quick ? 200 : 1000;
  const reference::Real angle = 78 * std::numbers::pi_v<reference::Real> / 180;
  for (const Case& c :
       {Case{"table", "compass", 0.5, 1.0, 0.9, 0.4, 98.7, 1 << 20, 0.0749, 0.1991, -0.1490, 0.3960},
        {"code", "compass-repo", 0.25, 0.25, 0.8, 1.3, 97.9, 1 << 20, 0.0374, 0.0996, -0.0745, 0.1980}}) {
    const std::string name = c.name;
    const reference::PinnedCompass pinned;
    const reference::Values<4> at = pinned.after({-angle, angle, c.rate, c.rate}, -kBefore);
    // The trailing foot is at the origin: hip (-sin t, cos t).
    const double t = static_cast<double>(at[1]), da = static_cast<double>(at[2]), dt_ = static_cast<double>(at[3]);
    const Eigen::Vector4d q(-std::sin(t), std::cos(t), static_cast<double>(at[0]), t);
    const Eigen::Vector4d v(-std::cos(t) * dt_, -std::sin(t) * dt_, da, dt_);
    const auto scene_at = [&](double dt) {
      return event_scene(context, "compass-gait", q, v, 5.0, kBefore + kAfter, dt);
    };

    // --- does it arrive in the published state? ---
    const std::vector<double> steps =
        context.quick ? std::vector{4e-4, 2e-4, 1e-4} : std::vector{8e-4, 4e-4, 2e-4, 1e-4};
    std::vector<double> state_errors, time_errors;
    for (const double dt : steps) {
      const EventCourse course = run_course(context, scene_at(dt));
      const Event* impact = course.first(EventKind::impact);
      time_errors.push_back(impact ? std::abs(impact->time - kBefore) : NAN);
      state_errors.push_back(
          impact ? std::max(std::abs(impact->v_before(2) - c.rate), std::abs(impact->v_before(3) - c.rate)) : NAN);
    }
    rows.push_back(
        report_row(name + ": time of the impact, less 20 ms", "s", "0", join_numbers(time_errors, "{:.2g}")));
    rows.push_back(goal_row(name + ": order of that in the step", "", "1", log_slope(steps, time_errors), ">= 0.9",
                            log_slope(steps, time_errors) >= 0.9));
    rows.push_back(report_row(name + ": rates of the legs at the impact, less the published ones", "rad/s", "0",
                              join_numbers(state_errors, "{:.2g}")));
    rows.push_back(goal_row(name + ": order of that in the step", "", "1", log_slope(steps, state_errors), ">= 0.9",
                            log_slope(steps, state_errors) >= 0.9));
    rows.push_back(
        small_row(name + ": rates at 0.1 ms, of the published ones", "", state_errors.back() / c.rate, 1e-2));

    // --- the fan ---
    const Scene scene = scene_at(1e-4);
    FanOptions options;
    options.branches = branches;
    options.threads = 2;
    options.sampling.sampler = OutcomeSampler::uniform;
    options.sampling.step = c.step;
    // Five increments leave 0.01 to 0.2 % of the trajectories unfinished; a branch must go on.
    options.sampling.max_steps = 1000;
    options.sampling.vary_solutions = false;
    const Fan fan = run_study_fan(context, scene, options);
    add_fan_rows(name, fan, result);
    rows.push_back(threads_row(context, name, scene, options));
    rows.push_back(goal_row(name + ": first split, at the impact", "s", "0.02", fan.first_split, "within 0.5 ms",
                            std::abs(fan.first_split - kBefore) <= 5e-4));
    const ImpactProblem problem = problem_of_impact(context, scene), alone = impact_scene(context, c.impact).problem;
    if (problem.contacts() != 2) {
      rows.push_back(count_row(name + ": contacts of the first impact", "2", problem.contacts(), false));
      continue;
    }
    rows.push_back(report_row(name + ": mass matrix of the impact, largest difference from the example's", "", "",
                              (problem.M - alone.M).cwiseAbs().maxCoeff()));
    rows.push_back(
        report_row(name + ": normal Jacobian, the same", "", "", (problem.Jn - alone.Jn).cwiseAbs().maxCoeff()));
    rows.push_back(
        report_row(name + ": velocity before, the same", "m/s", "", (problem.v - alone.v).cwiseAbs().maxCoeff()));
    OutcomeOptions sampling = options.sampling;
    sampling.samples = branches;
    sampling.seed = options.seed;
    sampling.paths = 0;
    const OutcomeSet drawn = sample_outcomes(problem, sampling);
    const FirstImpact first = impacts_of(fan, 0);
    const long same = equal_bits(first, drawn);
    rows.push_back(goal_row(name + ": branches whose first outcome has the bits of sample_outcomes' of the same number",
                            "", fmt::format("{}", branches), static_cast<double>(same), "all", same == branches));
    const double n = static_cast<double>(first.v.cols());
    rows.push_back(
        binomial_row(name + ": neither foot lifts", c.rest, c.shares, share_open(problem, first.v, {false, false}), n));
    rows.push_back(
        binomial_row(name + ": leading foot A lifts", c.a, c.shares, share_open(problem, first.v, {true, false}), n));
    rows.push_back(
        binomial_row(name + ": trailing foot B lifts", c.b, c.shares, share_open(problem, first.v, {false, true}), n));
    // Ranges: within those of sample_outcomes, and B's reached.
    const auto lies = [&](const char* what, const Eigen::VectorXd& row, double low, double high) {
      const double least = first.v.cols() ? (row.transpose() * first.v).minCoeff() : NAN;
      const double most = first.v.cols() ? (row.transpose() * first.v).maxCoeff() : NAN;
      const double slack = 0.02 * (high - low);
      rows.push_back(goal_row(fmt::format("{}: {} after", name, what), "m/s", fmt::format("{:g} to {:g}", low, high),
                              fmt::format("{:.4f} to {:.4f}", least, most), "within, and 2 % of the range",
                              least >= low - slack && most <= high + slack));
    };
    const Eigen::Index tangents = problem.tangents();
    lies("normal velocity of A", problem.Jn.row(0), 0, c.vn_a);
    lies("normal velocity of B", problem.Jn.row(1), 0, c.vn_b);
    // The sign of a tangent is the engine's own.
    const Eigen::VectorXd ta = alone.Jt.row(0), tb = alone.Jt.row(1);
    const double sign = problem.Jt.row(0).dot(ta) < 0 ? -1 : 1;
    lies("slip of A", sign * problem.Jt.row(0).transpose(), c.vt_a, 0);
    lies("slip of B", sign * problem.Jt.row(tangents).transpose(), 0, c.vt_b);
    const double reached = n > 0 ? (problem.Jn.row(1) * first.v).maxCoeff() : NAN;
    rows.push_back(reach_row(name + ": largest normal velocity of B", "m/s", c.vn_b, reached));

    // --- and then ---
    const size_t last = fan.rows() - 1;
    rows.push_back(report_row(name + ": spread 10 ms, 30 ms, 50 ms after the impact", "kg^(1/2) m", "",
                              fmt::format("{:.3g}, {:.3g}, {:.3g}", spread_at(fan, kBefore + 0.01),
                                          spread_at(fan, kBefore + 0.03), fan.spread[last])));
    rows.push_back(report_row(name + ": hip 50 ms after the impact, 5, 50, 95 %", "m", "",
                              fmt::format("{:.4f}, {:.4f}, {:.4f}", fan.quantile(last, 1, 0.05),
                                          fan.quantile(last, 1, 0.5), fan.quantile(last, 1, 0.95))));
    rows.push_back(
        report_row(name + ": clusters (sequences of modes)", "", "", static_cast<double>(fan.clusters.size())));
    result.figures.push_back(quantile_figure(fan, 3, name + ": angle of the trailing leg", "rad"));
    result.figures.push_back(spread_figure(fan, name + ": spread of the branches"));
  }
  result.settings = {
      {"branches", fmt::format("{}, seed 1, two threads", branches)},
      {"walker", "models/compass-gait.urdf, friction 5, starts 20 ms before the impact, ends 50 ms after"},
      {"table, code", "0.5 rad/s and 1 N s; 0.25 rad/s and 0.25 N s; one solution each"}};
  return result;
}

}  // namespace scree
