// Section 7.5.3 of the dissertation: a box that slides on the floor hits a wall.
#include <fmt/format.h>

#include <cmath>

#include "impact_rows.h"

namespace scree {

StudyResult study_impact_boxwall(const StudyContext& context) {
  const ImpactProblem p = impact_scene(context, "boxwall").problem;
  const long samples = context.quick ? 1L << 14 : 1L << 18;
  constexpr double kSlide = 0.3720978, kLift = 0.1056423, kWallSlide = 0.0725422;  // largest known

  StudyResult result;
  result.name = "impact-boxwall";
  result.title = "Box and wall (dissertation of M. Halm, section 7.5.3)";
  result.summary =
      "A tilted box slides on the floor (A) into a wall (B). All at once it rests; B and then A it slides on and "
      "leaves "
      "the wall; the set-valued law has both, what lies between, and faster slides than any sequence. Two sets of "
      "reference samples differ: J_tA up to 0.3657 and 85.2 % at rest, or 0.37048 and 84.9 %.";
  auto& rows = result.rows;

  const ImpactOutcomes all = outcomes_of(p, ImpactLaw::anitescu_potra);
  rows.push_back(goal_row(
      "outcomes of Anitescu and Potra", "", "1, at rest", static_cast<double>(all.outcomes.size()), "1, at rest",
      all.outcomes.size() == 1 && all.complete && !all.continuum && energy_ratio(all.outcomes[0]) <= 1e-24));
  const ImpactResult sequence = in_order(p, {1, 0});
  rows.push_back(digits_row("B then A: normal velocity of B", "m/s", 0.10564229, 8, p.Jn.row(1).dot(sequence.v)));
  rows.push_back(digits_row("B then A: tangential velocity of A", "m/s", 0.30576481, 8, p.Jt.row(0).dot(sequence.v)));
  rows.push_back(
      digits_row("B then A: tangential velocity of B, down", "m/s", -0.07254217, 8, p.Jt.row(1).dot(sequence.v)));
  rows.push_back(digits_row("B then A: spin", "rad/s", 0.41775371, 8, sequence.v(2)));
  rows.push_back(digits_row("energy left after B", "", 0.24674245, 8, energy_ratio(p, sequence.path[1])));
  rows.push_back(digits_row("energy left after B, then A", "", 0.061862906, 9, energy_ratio(sequence)));
  rows.push_back(yes_row("starting with A is the same: the floor does not approach", "yes",
                         (in_order(p, {0, 1}).v - sequence.v).norm() <= 1e-12));

  const ImpactSamples s = uniform_samples(context, p, 2, 5, samples);
  add_sampling_rows("h = 2 N s", s, 99.995, 1.537, 10, result);
  const double slide = extreme(s.set, p.Jt.row(0)), lift = extreme(s.set, p.Jn.row(1));
  const double wall_slide = s.set.range(p.Jt.row(1)).lower, floor = extreme(s.set, p.Jn.row(0));
  rows.push_back(reach_row("largest tangential velocity of A", "m/s", 0.3657, slide));
  rows.push_back(report_row("the same beside the other reference", "m/s", "0.37048", slide));
  rows.push_back(yes_row("faster than in the sequence (0.3058)", "yes", slide > p.Jt.row(0).dot(sequence.v)));
  rows.push_back(reach_row("largest normal velocity of B", "m/s", 0.1056, lift));
  rows.push_back(reach_row("smallest tangential velocity of B", "m/s", -0.0725, wall_slide));
  rows.push_back(goal_row("largest normal velocity of A", "m/s", "0", floor, "<= 1e-9", floor <= 1e-9));
  rows.push_back(reach_row("largest share of energy left", "", 0.0687, s.set.energy_ratio.upper));
  const double rest = share(s.set, s.set.at_rest);
  rows.push_back(share_row("comes to rest", 85.2, 1 << 18, rest, samples));
  rows.push_back(share_row("comes to rest, the other reference", 84.9, 1 << 18, rest, samples));
  const long slides = count_modes(s.set, {1, 1}) + count_modes(s.set, {1, 0}) + count_modes(s.set, {0, 1});
  rows.push_back(share_row("B lifts", 14.2, 1 << 18, share(s.set, count_modes(s.set, {-1, 2})), samples));
  rows.push_back(share_row("slides in contact", 0.5, 1 << 18, share(s.set, slides), samples));
  const Eigen::VectorXd vn_b = p.Jn.row(1) * s.set.v;
  int tenths = 0;
  for (int k = 0; k < 10; ++k)
    tenths += ((vn_b.array() > 0.1 * k * kLift) && (vn_b.array() <= 0.1 * (k + 1) * kLift)).any();
  rows.push_back(yes_row("outcomes of chapter 7: rest, A slides and B lifts, all between, A faster, B slides", "yes",
                         s.set.at_rest > 0 && distance_to(p, s.set, sequence.v) <= 0.01 && tenths == 10 &&
                             slide > p.Jt.row(0).dot(sequence.v) && count_modes(s.set, {-1, 1}) > 0));

  rows.push_back(report_row("increments of an impact, mean, largest", "", "1.54, 6",
                            fmt::format("{:.3f}, {}", s.solves(), s.set.most_increments)));
  rows.push_back(near_row("theorem 13, c for a step of 2 N s", "", "24", 24, theorem13(p, s.set, 2), 0));
  rows.push_back(digits_row("bound of the total normal impulse", "N s", 3.4945, 4, s.set.impulse_bound));

  // Which of the two references? Eight more runs of the same size.
  {
    std::vector<double> at_rest, fastest;
    for (std::uint64_t seed = 2; seed <= 9; ++seed) {
      const ImpactSamples more = uniform_samples(context, p, 2, 5, samples, false, seed);
      at_rest.push_back(share(more.set, more.set.at_rest));
      fastest.push_back(extreme(more.set, p.Jt.row(0)));
    }
    rows.push_back(report_row("comes to rest, mean and deviation of eight more runs", "%", "85.2 or 84.9",
                              fmt::format("{:.3f} +- {:.3f}", mean(at_rest), deviation(at_rest))));
    rows.push_back(report_row("largest tangential velocity of A, least and most of eight more runs", "m/s",
                              "0.3657 or 0.37048",
                              fmt::format("{:.4f} to {:.4f}", smallest(fastest), largest(fastest))));
  }

  // --- how the step decides what samples reach ---
  StudyFigure figure{"Share of the largest tangential velocity of A that samples reach",
                     {"step", "N s", true},
                     {"largest found, over the largest known", "", false},
                     {},
                     {}};
  const long few = context.quick ? 1L << 12 : 1L << 14;
  StudySeries uniform{"uniform", {}, {}, false}, reference{"reference", {}, {}, true};
  struct Coverage {
    double step, reference;
  };
  for (const Coverage& c : {Coverage{0.02, 0.076}, {0.05, 0}, {0.1, 0.403}, {0.2, 0}, {0.5, 0.916}, {1, 0}}) {
    const Reach reach = uniform_reach(context, p, c.step, few, p.Jt.row(0), kSlide);
    uniform.x.push_back(c.step);
    uniform.y.push_back(reach.mean);
    if (c.reference == 0) continue;
    reference.x.push_back(c.step);
    reference.y.push_back(c.reference);
    add_reach_spread(fmt::format("reach of {} uniform samples, step {} N s, over the largest known", few, c.step),
                     c.reference, reach, rows);
  }
  uniform.x.push_back(2);
  uniform.y.push_back(slide / kSlide);
  reference.x.push_back(2);
  reference.y.push_back(0.9956);
  rows.push_back(report_row("reach of the samples above, step 2 N s", "", "0.9956", slide / kSlide));

  // --- the better sampler, and bounds from outside ---
  const ImpactSamples better = persistent_samples(context, p, samples / 10);
  rows.push_back(extreme_row("tangential velocity of A, persistent sampler, a tenth of the samples", "m/s", kSlide,
                             extreme(better.set, p.Jt.row(0))));
  rows.push_back(extreme_row("normal velocity of B, persistent", "m/s", kLift, extreme(better.set, p.Jn.row(1))));
  rows.push_back(
      extreme_row("tangential velocity of B, persistent", "m/s", -kWallSlide, better.set.range(p.Jt.row(1)).lower));
  rows.push_back(report_row("wall time of the persistent sampler", "s", "", better.wall));
  struct Bound {
    const char* name;
    Eigen::VectorXd c;
    double reference, known;
  };
  for (const Bound& b : {Bound{"tangential velocity of A", p.Jt.row(0), 1.736, kSlide},
                         {"normal velocity of B", p.Jn.row(1), 1.410, kLift},
                         {"normal velocity of A", p.Jn.row(0), 1.410, 0}}) {
    const double bound = bound_of(better.set, b.c);
    rows.push_back(goal_row(fmt::format("bound from outside: {}", b.name), "m/s", fmt::format("{:.4g}", b.reference),
                            bound, "above the largest known, within 1 % of the reference or below",
                            bound >= b.known && bound <= 1.01 * b.reference));
  }
  figure.series = {uniform,
                   reference,
                   {"persistent, 2^18/10 samples",
                    {0.02, 2},
                    std::vector<double>(2, extreme(better.set, p.Jt.row(0)) / kSlide),
                    false}};
  figure.notes.push_back(fmt::format("{} samples each, mean of five seeds; {} at 2 N s.", few, samples));
  result.figures.push_back(std::move(figure));
  result.settings = {{"box", "side 1 m, 1 kg, tilted by 10 degrees, 1 m/s, friction 1; h = 2 N s, N = 5"},
                     {"samples", fmt::format("{}", samples)}};
  return result;
}

}  // namespace scree
