// The block of section 7.5.1 of the dissertation of M. Halm, dropped flat, and what becomes of every outcome.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "event_fans.h"
#include "event_reference.h"
#include "impact_rows.h"

namespace scree {
namespace {

struct Case {
  const char *name, *model, *impact;
  double width, height, speed;  // [m], [m], [m/s] of the impact
  double rest, a, b;            // [%] shares of the reference, 2^14 samples
  double reach;                 // [m/s] largest normal velocity after
};

}  // namespace

StudyResult study_event_block_fan(const StudyContext& context) {
  StudyResult result;
  result.name = "event-block-fan";
  result.title = "A block dropped flat, in time: rest or rocking, until rest";
  result.summary =
      "The block of impact-block falls flat on its lower corners; every branch draws the outcome of its impacts from "
      "the set-valued law, as the dissertation samples it (uniform allowances, 0.3 N s, 10 increments). Then it rests, "
      "or rocks from corner to corner to its end. References: shares and extremes of the set (impact-block), the same "
      "samples drawn by the set-valued law alone, and the pendulum equation of the rocking block.";
  auto& rows = result.rows;
  const long branches = context.quick ? 200 : 1000;
  // The dissertation's block, and that of its published code.
  for (const Case& c : {Case{"table", "block", "block", 0.07444, 0.16094, 0.1401, 92.0, 4.0, 3.9, 0.027245147},
                        {"code", "block-repo", "block-repo", 1, 2, 0.442944691807002, 33.4, 33.5, 33.2, 0.093018385}}) {
    const double drop = c.speed * c.speed / (2 * 9.81), t1 = c.speed / 9.81;
    const reference::RockingBlock block{c.width, c.height};
    // The fastest outcome turns with reach/width.
    const double end = t1 + static_cast<double>(block.course(c.reach / c.width, 1e-7L).end);
    const double dt = c.width > 0.5 ? 1e-3 : 2.5e-4;
    Scene scene = event_scene(context, c.model, Eigen::Vector3d(0, c.height / 2 + drop, 0), Eigen::Vector3d::Zero(),
                              1.0, 1.1 * end + 0.02, dt);
    FanOptions options;
    options.branches = branches;
    options.threads = 2;
    options.sampling.sampler = OutcomeSampler::uniform;
    options.sampling.step = 0.3;
    options.sampling.max_steps = 10;
    options.sampling.vary_solutions = false;
    const Fan fan = run_study_fan(context, scene, options);
    const std::string name = c.name;
    add_fan_rows(name, fan, result);
    rows.push_back(threads_row(context, name, scene, options));
    rows.push_back(match_row(name + ": first split, where it lands", "s", t1, fan.first_split, 1e-9));
    rows.push_back(report_row(
        name + ": clusters (sequences of modes), branches of the largest", "", "",
        fmt::format("{}; {}", fan.clusters.size(), fan.clusters.empty() ? 0 : fan.clusters.front().branches.size())));

    // --- the set after the first impact ---
    const ImpactProblem problem = problem_of_impact(context, scene);
    const ImpactProblem alone = impact_scene(context, c.impact).problem;
    if (problem.contacts() != 2) {
      rows.push_back(count_row(name + ": contacts of the first impact", "2", problem.contacts(), false));
      continue;
    }
    rows.push_back(small_row(name + ": mass matrix of the impact, largest difference from the example's", "",
                             (problem.M - alone.M).cwiseAbs().maxCoeff(), 1e-12));
    // F turns the other way.
    Eigen::MatrixXd mirrored = alone.Jn;
    mirrored.col(2) *= -1;
    rows.push_back(
        small_row(name + ": normal Jacobian, the same", "", (problem.Jn - mirrored).cwiseAbs().maxCoeff(), 1e-12));
    rows.push_back(small_row(name + ": velocity before, the same", "m/s",
                             (problem.v.cwiseAbs() - alone.v.cwiseAbs()).cwiseAbs().maxCoeff(), 1e-9));
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
        binomial_row(name + ": comes to rest", c.rest, 1 << 14, share_open(problem, first.v, {false, false}), n));
    rows.push_back(
        binomial_row(name + ": rear corner (A) lifts", c.a, 1 << 14, share_open(problem, first.v, {true, false}), n));
    rows.push_back(
        binomial_row(name + ": front corner (B) lifts", c.b, 1 << 14, share_open(problem, first.v, {false, true}), n));
    const Eigen::MatrixXd vn = problem.Jn * first.v;
    const double most = vn.size() ? vn.maxCoeff() : NAN;
    rows.push_back(goal_row(name + ": largest normal velocity after, over the largest of the set", "", "<= 1",
                            most / c.reach, "<= 1 + 1e-6", most <= c.reach * (1 + 1e-6)));

    // --- rocking, to the end ---
    double ratio = 0, swing = 0;
    long rocking = 0;
    const double expected = static_cast<double>(block.spin_ratio());
    for (const FanBranch& branch : fan.branches) {
      if (branch.impacts.empty()) continue;
      const double spin = std::abs(branch.impacts[0].v_after(2));
      if (spin < 1e-4 * c.speed / c.width) continue;
      ++rocking;
      if (branch.impacts.size() < 2) {
        ratio = swing = NAN;
        continue;
      }
      swing = std::max(swing, std::abs(branch.impacts[1].time - branch.impacts[0].time -
                                       static_cast<double>(block.swing_time(spin))));
      for (size_t k = 1; k < branch.impacts.size(); ++k) {
        const FanImpact& impact = branch.impacts[k];
        if (std::abs(impact.v_before(2)) < 0.01 * spin) break;
        ratio = std::max(ratio, std::abs(impact.v_after(2) / impact.v_before(2) - expected));
      }
    }
    rows.push_back(report_row(name + ": branches that rock", "", "", static_cast<double>(rocking)));
    rows.push_back(small_row(
        fmt::format("{}: spin after over spin before later impacts, largest difference from {:.6f}", name, expected),
        "", ratio, 1e-6));
    rows.push_back(
        small_row(name + ": duration of the first swing, largest difference from the pendulum's; goal: two steps", "s",
                  swing, 2 * dt));
    const size_t last = fan.rows() - 1;
    double tilt = 0, speed = 0, height = 0;
    for (size_t b = 0; b < fan.branches.size(); ++b) {
      tilt = std::max(tilt, std::abs(fan.q(b, last, 2)));
      height = std::max(height, std::abs(fan.q(b, last, 1) - c.height / 2));
      speed = std::max(speed, fan.v.row(b, last).lpNorm<Eigen::Infinity>());
    }
    rows.push_back(small_row(name + ": all at rest at the end: largest tilt", "rad", tilt, 1e-7));
    rows.push_back(small_row(name + ": all at rest at the end: largest speed", "m/s", speed, 1e-9));
    rows.push_back(small_row(name + ": all at rest at the end: largest gap of the centre", "m", height, 1e-8));
    const double left = scene.duration - t1;
    rows.push_back(report_row(
        fmt::format("{}: spread {:.3f} s, {:.3f} s after the impact, and at the end", name, 0.1 * left, 0.4 * left),
        "kg^(1/2) m", "",
        fmt::format("{:.3g}, {:.3g}, {:.3g}", spread_at(fan, t1 + 0.1 * left), spread_at(fan, t1 + 0.4 * left),
                    fan.spread.back())));
    result.figures.push_back(quantile_figure(fan, 2, name + ": tilt of the branches", "rad"));
    result.figures.push_back(spread_figure(fan, name + ": spread of the branches"));
  }
  result.settings = {{"branches", fmt::format("{}, seed 1, two threads", branches)},
                     {"table", "0.07444 m x 0.16094 m, 0.19 kg, lands with 0.1401 m/s; steps of 0.25 ms"},
                     {"code", "1 m x 2 m, 1 kg, lands with 0.44294 m/s; steps of 1 ms"},
                     {"sampling", "uniform, 0.3 N s, at most 10 increments, one solution each"}};
  return result;
}

}  // namespace scree
