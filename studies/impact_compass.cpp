// Section 7.5.2 of the dissertation: a compass gait walker takes a wide step, and three outcomes solve one problem.
#include <fmt/format.h>

#include <cmath>

#include "impact_rows.h"

namespace scree {
namespace {

// The outcome nearest to these velocities of the trailing foot.
const ImpactResult& pick(const ImpactProblem& p, const ImpactOutcomes& all, double normal, double tangential) {
  const ImpactResult* best = &all.outcomes.front();
  const auto off = [&](const ImpactResult& r) {
    return std::hypot(p.Jn.row(1).dot(r.v) - normal, p.Jt.row(1).dot(r.v) - tangential);
  };
  for (const ImpactResult& r : all.outcomes)
    if (off(r) < off(*best)) best = &r;
  return *best;
}

}  // namespace

StudyResult study_impact_compass(const StudyContext& context) {
  const ImpactProblem table = impact_scene(context, "compass").problem;
  const ImpactProblem code = impact_scene(context, "compass-repo").problem;
  const long samples = context.quick ? 1L << 14 : 1L << 20;

  StudyResult result;
  result.name = "impact-compass";
  result.title = "Compass gait, a wide step (dissertation of M. Halm, section 7.5.2)";
  result.summary =
      "Two legs 156 degrees apart, the leading foot A lands while the trailing one B is at rest. With friction 5 the "
      "problem of Anitescu and Potra has three solutions: B lifts, sticks or slides. The set-valued law has what lies "
      "between, and impacts that alternate between the feet lift A. Its complementarity problems have several "
      "solutions, "
      "too: which one a solver returns decides what samples see.";
  auto& rows = result.rows;

  for (const auto& [name, problem, scale] : {std::tuple{"table", &table, 2.0}, {"code", &code, 1.0}}) {
    const ImpactProblem& p = *problem;
    const std::string label = name;  // clang 14 captures no structured bindings
    const ImpactOutcomes all = outcomes_of(p, ImpactLaw::anitescu_potra);
    rows.push_back(goal_row(fmt::format("{}: outcomes of Anitescu and Potra", name), "", "3",
                            static_cast<double>(all.outcomes.size()), "3, all searched",
                            all.outcomes.size() == 3 && all.complete && !all.continuum));
    const ImpactResult &lifts = pick(p, all, scale * 0.0995, scale * 0.198), &rest = pick(p, all, 0, 0),
                       &slides = pick(p, all, 0, scale * 0.1285);
    const auto row = [&](StudyRow r) {
      r.quantity = fmt::format("{}: {}", label, r.quantity);
      rows.push_back(std::move(r));
    };
    const int digits = scale == 1 ? 6 : 5;  // the reference prints the numbers of the code
    row(digits_row("B lifts: its normal velocity", "m/s", scale * 0.0995552, digits, p.Jn.row(1).dot(lifts.v)));
    row(digits_row("B lifts: energy left", "", 0.6017793, 7, energy_ratio(lifts)));
    row(digits_row("B sticks: normal impulse of A", "N s", scale * 0.308433, digits, rest.normal_impulse(0)));
    row(digits_row("B slides: its tangential velocity", "m/s", scale * 0.128490, digits, p.Jt.row(1).dot(slides.v)));
    row(digits_row("B slides: energy left", "", 0.37121253, 8, energy_ratio(slides)));
    const ImpactOutcomes sequences = outcomes_of(p, ImpactLaw::sequential);
    const bool same = sequences.outcomes.size() == 1 && sequences.outcomes[0].steps == 1 &&
                      (sequences.outcomes[0].v - lifts.v).norm() <= 1e-12;
    row(yes_row("both sequences are one impact at A, and B lifts", "yes", same));
  }

  struct Case {
    const char* name;
    const ImpactProblem& problem;
    double step, done, solves, vn_a, vn_b, vt_a, vt_b, rest, a, b;
  };
  for (const Case& c : {Case{"table", table, 1, 99.99, 1.292, 0.0749, 0.1991, -0.1490, 0.3960, 0.9, 0.4, 98.7},
                        {"code", code, 0.25, 99.8, 1.690, 0.0374, 0.0996, -0.0745, 0.1980, 0.8, 1.3, 97.9}}) {
    const ImpactProblem& p = c.problem;
    const auto row = [&](StudyRow r) {
      r.quantity = fmt::format("{}: {}", c.name, r.quantity);
      rows.push_back(std::move(r));
    };
    const ImpactSamples s = uniform_samples(context, p, c.step, 5, samples);
    add_sampling_rows(fmt::format("{}, h = {} N s", c.name, c.step), s, c.done, c.solves, 10, result);
    row(reach_row("largest normal velocity of A", "m/s", c.vn_a, extreme(s.set, p.Jn.row(0))));
    row(reach_row("largest normal velocity of B", "m/s", c.vn_b, extreme(s.set, p.Jn.row(1))));
    row(reach_row("smallest tangential velocity of A", "m/s", c.vt_a, s.set.range(p.Jt.row(0)).lower));
    row(reach_row("largest tangential velocity of B", "m/s", c.vt_b, extreme(s.set, p.Jt.row(1))));
    row(reach_row("largest share of energy left", "", 0.6018, s.set.energy_ratio.upper));
    row(share_row("comes to rest", c.rest, 1 << 20, share(s.set, s.set.at_rest), samples));
    row(share_row("A lifts", c.a, 1 << 20, share(s.set, count_modes(s.set, {2, -1})), samples));
    row(share_row("B lifts", c.b, 1 << 20, share(s.set, count_modes(s.set, {-1, 2})), samples));
    const ImpactSamples v = uniform_samples(context, p, c.step, 5, samples, true);
    row(report_row("shares with random covering vectors: rest, A lifts, B lifts", "%",
                   c.step == 1 ? "" : "3.1, 2.8, 94.1 (of another distribution)",
                   fmt::format("{:.2f}, {:.2f}, {:.2f}", share(v.set, v.set.at_rest),
                               share(v.set, count_modes(v.set, {2, -1})), share(v.set, count_modes(v.set, {-1, 2})))));
    row(report_row("largest normal velocity of A with random covering vectors", "m/s", c.step == 1 ? "0.07486" : "",
                   extreme(v.set, p.Jn.row(0))));
    const ImpactSamples better = persistent_samples(context, p, samples / 10);
    const double scale = c.step == 1 ? 1 : 0.5;
    row(extreme_row("normal velocity of A, persistent sampler, a tenth of the samples", "m/s", scale * 0.07486,
                    extreme(better.set, p.Jn.row(0))));
    row(extreme_row("tangential velocity of A, persistent", "m/s", scale * -0.14890,
                    better.set.range(p.Jt.row(0)).lower));
    row(extreme_row("normal velocity of B, persistent", "m/s", scale * 0.19911035, extreme(better.set, p.Jn.row(1))));
    row(extreme_row("tangential velocity of B, persistent", "m/s", scale * 0.396039, extreme(better.set, p.Jt.row(1))));
    row(report_row("wall time of the persistent sampler", "s", "", better.wall));
    // Chapter 7: all three solutions, what lies between, and A lifts while B stays.
    const ImpactOutcomes all = outcomes_of(p, ImpactLaw::anitescu_potra);
    double uniform_off = 0, vary_off = 0, persistent_off = 0;
    for (const ImpactResult& r : all.outcomes) {
      uniform_off = std::max(uniform_off, distance_to(p, s.set, r.v));
      vary_off = std::max(vary_off, distance_to(p, v.set, r.v));
      persistent_off = std::max(persistent_off, distance_to(p, better.set, r.v));
    }
    row(report_row("farthest of the three solutions from all samples, over |v0|: uniform; random covering vectors", "",
                   "", fmt::format("{:.2g}; {:.2g}", uniform_off, vary_off)));
    row(goal_row("the same, persistent sampler", "", "found", persistent_off, "<= 0.01", persistent_off <= 0.01));
    const Eigen::VectorXd vn_b = p.Jn.row(1) * v.set.v;
    int tenths = 0;
    for (int k = 0; k < 10; ++k)
      tenths += ((vn_b.array() > 0.1 * k * c.vn_b) && (vn_b.array() <= (0.1 * (k + 1) + 0.001) * c.vn_b)).any();
    row(yes_row("outcomes of chapter 7: B lifts, sticks, slides, all between, and A lifts while B stays", "yes",
                persistent_off <= 0.01 && tenths == 10 && count_modes(v.set, {2, 0}) > 0));
  }

  // Reach against the step.
  StudyFigure figure{"Largest normal velocity of A that samples reach",
                     {"step", "N s", true},
                     {"largest found", "m/s", false},
                     {},
                     {}};
  const long few = context.quick ? 1L << 12 : 1L << 16;
  for (const bool vary : {false, true}) {
    StudySeries series{vary ? "uniform, random covering vectors" : "uniform", {}, {}, false};
    for (const double step : {0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0}) {
      series.x.push_back(step);
      series.y.push_back(extreme(uniform_samples(context, table, step, 400, few, vary).set, table.Jn.row(0)));
    }
    figure.series.push_back(std::move(series));
  }
  figure.notes.push_back(fmt::format("Table E.2; {} samples each.", few));
  result.figures.push_back(std::move(figure));
  result.settings = {{"table", "legs 1 m, 1 kg at the middle, +-78 degrees, 0.5 rad/s, friction 5; h = 1 N s, N = 5"},
                     {"code", "0.25 rad/s; h = 0.25 N s"},
                     {"samples", fmt::format("{}", samples)}};
  return result;
}

}  // namespace scree
