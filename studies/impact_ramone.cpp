// Section 7.5.4 of the dissertation: the five-link biped RAMone takes a step.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "impact_rows.h"

namespace scree {

StudyResult study_impact_ramone(const StudyContext& context) {
  const ImpactProblem p = impact_scene(context, "ramone").problem;
  const ImpactProblem other = impact_scene(context, "ramone-remy").problem;
  const long samples = context.quick ? 1L << 14 : 1L << 20;

  StudyResult result;
  result.name = "impact-ramone";
  result.title = "RAMone takes a step (dissertation of M. Halm, section 7.5.4)";
  result.summary =
      "The robot turns about its trailing foot B as the leading one A lands, friction 1e5. All at once A sticks while "
      "B "
      "sticks, slides or lifts. Two readings of the shank's centre of mass exist: 0.165235 m below the knee as in the "
      "published code, or 0.073265 m; with the second B always lifts.";
  auto& rows = result.rows;

  const ImpactOutcomes all = outcomes_of(p, ImpactLaw::anitescu_potra);
  rows.push_back(goal_row("outcomes of Anitescu and Potra", "", "3", static_cast<double>(all.outcomes.size()),
                          "3, all searched", all.outcomes.size() == 3 && all.complete && !all.continuum));
  const auto pick = [&](double vt) -> const ImpactResult& {
    const ImpactResult* best = &all.outcomes.front();
    for (const ImpactResult& r : all.outcomes)
      if (std::abs(p.Jt.row(1).dot(r.v) - vt) < std::abs(p.Jt.row(1).dot(best->v) - vt)) best = &r;
    return *best;
  };
  const ImpactResult &lifts = pick(-0.02735), &sticks = pick(0), &slides = pick(-0.0195);
  rows.push_back(digits_row("B lifts: its normal velocity", "m/s", 0.000331, 6, p.Jn.row(1).dot(lifts.v)));
  rows.push_back(digits_row("B lifts: its tangential velocity", "m/s", -0.027350, 6, p.Jt.row(1).dot(lifts.v)));
  rows.push_back(digits_row("energy before", "J", 1.035049, 6, lifts.energy_before));
  rows.push_back(digits_row("B lifts: energy after", "J", 0.726486, 6, lifts.energy_after));
  rows.push_back(digits_row("B sticks: energy after", "J", 0.726378, 6, sticks.energy_after));
  rows.push_back(digits_row("B sticks: its tangential impulse", "N s", 0.007918, 6, sticks.tangential_impulse(1)));
  rows.push_back(digits_row("B slides: its tangential velocity", "m/s", -0.019516, 6, p.Jt.row(1).dot(slides.v)));
  rows.push_back(digits_row("B slides: energy after", "J", 0.726433, 6, slides.energy_after));
  const ImpactOutcomes sequences = outcomes_of(p, ImpactLaw::sequential);
  rows.push_back(yes_row("both sequences are one impact at A, and B lifts", "yes",
                         sequences.outcomes.size() == 1 && sequences.outcomes[0].steps == 1 &&
                             (sequences.outcomes[0].v - lifts.v).norm() <= 1e-12));
  const ImpactOutcomes one = outcomes_of(other, ImpactLaw::anitescu_potra);
  rows.push_back(goal_row("shank 0.073265 m: outcomes of Anitescu and Potra", "", "1",
                          static_cast<double>(one.outcomes.size()), "1", one.outcomes.size() == 1 && one.complete));
  rows.push_back(
      digits_row("shank 0.073265 m: normal velocity of B", "m/s", 0.003740, 6, other.Jn.row(1).dot(one.outcomes[0].v)));
  rows.push_back(digits_row("shank 0.073265 m: energy after", "J", 0.719909, 6, one.outcomes[0].energy_after));

  const ImpactSamples s = uniform_samples(context, p, 1, 10, samples);
  add_sampling_rows("h = 1 N s", s, 100, 3.002, 10, result);
  rows.push_back(
      share_row("B lifts, covering vector of ones", 100, 1 << 20, share(s.set, count_modes(s.set, {0, 2})), samples));
  const ImpactSamples v = uniform_samples(context, p, 1, 10, samples, true);
  rows.push_back(
      reach_row("largest normal velocity of B, random covering vectors", "m/s", 0.000331, extreme(v.set, p.Jn.row(1))));
  rows.push_back(reach_row("smallest tangential velocity of B", "m/s", -0.02735, v.set.range(p.Jt.row(1)).lower));
  const double a =
      std::max((p.Jn.row(0) * v.set.v).cwiseAbs().maxCoeff(), (p.Jt.row(0) * v.set.v).cwiseAbs().maxCoeff());
  rows.push_back(goal_row("A sticks: its largest velocity", "m/s", "0", a, "<= 1e-9", a <= 1e-9));
  rows.push_back(digits_row("least energy left", "", 0.70178, 5, v.set.energy_ratio.lower));
  rows.push_back(digits_row("most energy left", "", 0.70189, 5, v.set.energy_ratio.upper));
  rows.push_back(report_row(
      "shares with random covering vectors: B lifts, sticks, slides", "%", "98.8, 1.2 (of another distribution)",
      fmt::format("{:.2f}, {:.2f}, {:.2f}", share(v.set, count_modes(v.set, {0, 2})),
                  share(v.set, count_modes(v.set, {0, 0})), share(v.set, count_modes(v.set, {0, 1})))));
  double off = 0;
  for (const ImpactResult& r : all.outcomes) off = std::max(off, distance_to(p, v.set, r.v));
  const Eigen::VectorXd vt = p.Jt.row(1) * v.set.v;
  int tenths = 0;
  for (int k = 0; k < 10; ++k) tenths += ((vt.array() <= -0.0027350 * k) && (vt.array() >= -0.0027351 * (k + 1))).any();
  rows.push_back(report_row("farthest of the three solutions from all samples, over |v0|", "", "", off));
  rows.push_back(yes_row("outcomes of chapter 7: B lifts, sticks, slides (nearer than 1e-3), all between", "yes",
                         off <= 1e-3 && tenths == 10));

  const ImpactSamples better = persistent_samples(context, p, samples / 10);
  rows.push_back(extreme_row("normal velocity of B, persistent sampler, a tenth of the samples", "m/s",
                             p.Jn.row(1).dot(lifts.v), extreme(better.set, p.Jn.row(1))));
  rows.push_back(extreme_row("tangential velocity of B, persistent", "m/s", p.Jt.row(1).dot(lifts.v),
                             better.set.range(p.Jt.row(1)).lower));
  double better_off = 0;
  for (const ImpactResult& r : all.outcomes) better_off = std::max(better_off, distance_to(p, better.set, r.v));
  rows.push_back(goal_row("farthest of the three solutions from its samples, over |v0|", "", "found", better_off,
                          "<= 1e-3", better_off <= 1e-3));
  rows.push_back(report_row("wall time of the persistent sampler", "s", "", better.wall));

  // Where B slides: distribution of its tangential velocity.
  StudyFigure figure{"Tangential velocity of B, random covering vectors",
                     {"tangential velocity", "m/s", false},
                     {"share of the samples", "", true},
                     {},
                     {"The outermost bins hold the solutions where B sticks and lifts."}};
  for (const auto& [name, set] : {std::pair{"uniform", &v.set}, {"persistent", &better.set}}) {
    StudySeries series{name, {}, {}, false};
    const Eigen::VectorXd x = p.Jt.row(1) * set->v;
    constexpr int kBins = 56;
    std::vector<double> counts(kBins, 0.0);
    for (const double value : x)
      counts[static_cast<size_t>(std::clamp(static_cast<int>((value + 0.028) / 0.0005), 0, kBins - 1))] += 1;
    for (int k = 0; k < kBins; ++k) {
      series.x.push_back(-0.028 + 0.0005 * (k + 0.5));
      series.y.push_back(counts[static_cast<size_t>(k)] / static_cast<double>(x.size()));
    }
    figure.series.push_back(std::move(series));
  }
  result.figures.push_back(std::move(figure));
  result.settings = {{"robot", "trunk, two thighs, two shanks, disc feet; h = 1 N s, N = 10"},
                     {"samples", fmt::format("{}", samples)}};
  return result;
}

}  // namespace scree
