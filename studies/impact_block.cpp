// Section 7.5.1 of the dissertation: a narrow block lands flat on two corners and rests or rocks.
#include <fmt/format.h>

#include <cmath>

#include "impact_rows.h"

namespace scree {

StudyResult study_impact_block(const StudyContext& context) {
  const ImpactProblem table = impact_scene(context, "block").problem;
  const ImpactProblem code = impact_scene(context, "block-repo").problem;
  const long samples = context.quick ? 1L << 12 : 1L << 14;

  StudyResult result;
  result.name = "impact-block";
  result.title = "Block dropped flat (dissertation of M. Halm, section 7.5.1)";
  result.summary =
      "A narrow block lands on both lower corners, A left and B right. All contacts at once it rests; one after the "
      "other it rocks to either side; the set-valued law has these three and what lies between them. References: the "
      "dissertation's parameters (Table E.1), and those of its published code (1 m x 2 m, 1 kg).";
  auto& rows = result.rows;

  // --- all at once, and in sequence ---
  for (const auto& [name, problem] : {std::pair{"table", &table}, {"code", &code}}) {
    const ImpactOutcomes all = outcomes_of(*problem, ImpactLaw::anitescu_potra);
    rows.push_back(goal_row(fmt::format("{}: outcomes of Anitescu and Potra", name), "", "1",
                            static_cast<double>(all.outcomes.size()), "1, all searched",
                            all.outcomes.size() == 1 && all.complete && !all.continuum));
    rows.push_back(goal_row(fmt::format("{}: its speed, over that before", name), "", "0, at rest",
                            std::sqrt(energy_ratio(all.outcomes[0])), "<= 1e-12",
                            energy_ratio(all.outcomes[0]) <= 1e-24));
  }
  rows.push_back(near_row("table: its normal impulse of a corner", "N s", "0.0133095 = m v0/2", 0.5 * 0.19 * 0.1401,
                          outcomes_of(table, ImpactLaw::anitescu_potra).outcomes[0].normal_impulse(0), 1e-12));
  rows.push_back(digits_row("code: its normal impulse of a corner", "N s", 0.221472, 6,
                            outcomes_of(code, ImpactLaw::anitescu_potra).outcomes[0].normal_impulse(0)));
  const ImpactResult ab = in_order(table, {0, 1}), ba = in_order(table, {1, 0}), code_ab = in_order(code, {0, 1});
  rows.push_back(digits_row("table: A then B, normal velocity of A", "m/s", 0.027245147, 9, table.Jn.row(0).dot(ab.v)));
  rows.push_back(digits_row("table: A then B, spin", "rad/s", -0.36600144, 8, ab.v(2)));
  rows.push_back(digits_row("table: energy left after A", "", 0.13217522, 8, energy_ratio(table, ab.path[1])));
  rows.push_back(digits_row("table: energy left after A, then B", "", 0.071530623, 9, energy_ratio(ab)));
  rows.push_back(goal_row("table: B then A is the mirror image, largest difference", "m/s", "0",
                          std::max({std::abs(ab.v(0) + ba.v(0)), std::abs(ab.v(1) - ba.v(1))}), "<= 1e-12",
                          std::abs(ab.v(0) + ba.v(0)) <= 1e-12 && std::abs(ab.v(1) - ba.v(1)) <= 1e-12));
  rows.push_back(
      digits_row("code: A then B, normal velocity of A", "m/s", 0.093018385, 9, code.Jn.row(0).dot(code_ab.v)));
  rows.push_back(near_row("code: energy left after A, then B", "", "0.0735", 0.0735, energy_ratio(code_ab), 1e-9));

  // --- the set, sampled as in the dissertation ---
  const double most = table.Jn.row(0).dot(ab.v), code_most = code.Jn.row(0).dot(code_ab.v);
  struct Case {
    const char* name;
    const ImpactProblem& problem;
    double most, solves, energy, rest, a, b, reach;
  };
  for (const Case& c : {Case{"table", table, most, 1.083, 0.0715, 92.0, 4.0, 3.9, 0.0272},
                        {"code", code, code_most, 2.473, 0.0690, 33.4, 33.5, 33.2, 0.0900}}) {
    const ImpactSamples s = uniform_samples(context, c.problem, 0.3, 10, samples);
    add_sampling_rows(fmt::format("{}, h = 0.3 N s", c.name), s, 100, c.solves, 10, result);
    const auto row = [&](StudyRow r) {
      r.quantity = fmt::format("{}: {}", c.name, r.quantity);
      rows.push_back(std::move(r));
    };
    const Eigen::VectorXd a = c.problem.Jn.row(0), b = c.problem.Jn.row(1);
    row(reach_row("largest normal velocity of A", "m/s", c.reach, extreme(s.set, a)));
    row(reach_row("largest normal velocity of B", "m/s", c.reach, extreme(s.set, b)));
    row(goal_row("largest of both, over that of the sequence", "", "<= 1, its limit",
                 std::max(extreme(s.set, a), extreme(s.set, b)) / c.most, "<= 1 + 1e-9",
                 std::max(extreme(s.set, a), extreme(s.set, b)) <= c.most * (1 + 1e-9)));
    row(reach_row("largest share of energy left", "", c.energy, s.set.energy_ratio.upper));
    row(share_row("comes to rest", c.rest, 1 << 14, share(s.set, s.set.at_rest), samples));
    row(share_row("A lifts", c.a, 1 << 14, share(s.set, count_modes(s.set, {2, -1})), samples));
    row(share_row("B lifts", c.b, 1 << 14, share(s.set, count_modes(s.set, {-1, 2})), samples));
    const Eigen::VectorXd vn_a = c.problem.Jn.row(0) * s.set.v, vn_b = c.problem.Jn.row(1) * s.set.v;
    const double slip = (c.problem.Jt * s.set.v).cwiseAbs().maxCoeff(), both = vn_a.cwiseMin(vn_b).maxCoeff();
    const double speed = std::abs(c.problem.v(1));
    row(goal_row("one corner stays on the ground: largest of the smaller normal velocity, over v0", "", "0",
                 both / speed, "<= 1e-9", both <= 1e-9 * speed));
    row(goal_row("largest slip, over v0", "", "0", slip / speed, "<= 1e-9", slip <= 1e-9 * speed));
    // Between rest and the sequences: tenths of the way that some sample ends in.
    int tenths = 0;
    for (const Eigen::VectorXd* vn : {&vn_a, &vn_b})
      for (int k = 0; k < 10; ++k)
        tenths += ((vn->array() > 0.1 * k * c.most) && (vn->array() <= 0.1 * (k + 1) * c.most)).any();
    row(yes_row("outcomes of chapter 7: rest, A lifts, B lifts, and all between (tenths of both ways)", "yes",
                s.set.at_rest > 0 && tenths == 20));
  }

  // --- how the step decides what samples reach ---
  StudyFigure figure{
      "Share of the largest normal velocity that samples reach",
      {"step", "N s", true},
      {"largest of A and B found, over the true one", "", false},
      {},
      {fmt::format("{} samples each, mean of five seeds. Fresh uniform allowances average out at small steps.",
                   samples)}};
  StudySeries uniform{"uniform", {}, {}, false}, reference{"reference", {}, {}, true};
  struct Coverage {
    double step, reference;
  };
  for (const Coverage& c :
       {Coverage{0.00133, 0.442}, {0.003, 0}, {0.0066, 0}, {0.0133, 0.940}, {0.0266, 0.9988}, {0.1, 0}, {0.3, 0}}) {
    const Reach reach = uniform_reach(context, table, c.step, samples, table.Jn, most);
    uniform.x.push_back(c.step);
    uniform.y.push_back(reach.mean);
    if (c.reference == 0) continue;
    reference.x.push_back(c.step);
    reference.y.push_back(c.reference);
    add_reach_spread(
        fmt::format("table: reach of {} uniform samples, step {} N s, over the true extreme", samples, c.step),
        c.reference, reach, rows);
  }
  const ImpactSamples small = uniform_samples(context, table, 0.0266, 40, samples);
  rows.push_back(
      share_row("table, step 0.0266 N s: comes to rest", 40.1, 1 << 14, share(small.set, small.set.at_rest), samples));
  rows.push_back(report_row("table, step 0.0266 N s: increments of an impact, mean, largest", "", "1.96, 6",
                            fmt::format("{:.3f}, {}", small.solves(), small.set.most_increments)));
  for (const auto& [step, c] : {std::pair{0.0266, 3844.0}, {0.3, 344.0}})
    rows.push_back(near_row(fmt::format("table: theorem 13, c for a step of {} N s", step), "", fmt::format("{}", c), c,
                            theorem13(table, small.set, step), 0));
  figure.series = {uniform, reference};

  // --- bounds from outside ---
  const ImpactSamples better = persistent_samples(context, table, samples / 10);
  rows.push_back(digits_row("table: bound of the total normal impulse", "N s", 0.05324, 5, better.set.impulse_bound));
  const double bound = bound_of(better.set, table.Jn.row(0));
  rows.push_back(goal_row("table: bound of the normal velocity of A from outside", "m/s", "0.1732", bound,
                          "above the largest, within 1 % of the reference or below",
                          bound >= most && bound <= 0.1732 * 1.01));

  // --- the better sampler ---
  rows.push_back(extreme_row(fmt::format("table: normal velocity of A, persistent sampler, {} samples", samples / 10),
                             "m/s", most, extreme(better.set, table.Jn.row(0))));
  rows.push_back(extreme_row(fmt::format("table: normal velocity of B, persistent sampler, {} samples", samples / 10),
                             "m/s", most, extreme(better.set, table.Jn.row(1))));
  figure.series.push_back({"persistent, a tenth of the samples",
                           {0.00133, 0.3},
                           std::vector<double>(2, extreme(better.set, table.Jn.row(0)) / most),
                           false});
  result.figures.push_back(std::move(figure));
  result.settings = {{"table", "0.07444 m x 0.16094 m, 0.19 kg, 0.1401 m/s, friction 1"},
                     {"code", "1 m x 2 m, 1 kg, 0.44294 m/s, friction 1"},
                     {"samples", fmt::format("{}, at most 10 increments", samples)}};
  return result;
}

}  // namespace scree
