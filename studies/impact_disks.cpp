// Section 7.5.5 of the dissertation: a disk falls on two that touch.
#include <fmt/format.h>

#include <cmath>

#include "impact_rows.h"

namespace scree {

StudyResult study_impact_disks(const StudyContext& context) {
  const ImpactProblem p = impact_scene(context, "disks").problem;
  const long samples = context.quick ? 1L << 13 : 1L << 20;

  StudyResult result;
  result.name = "impact-disks";
  result.title = "Stack of disks (dissertation of M. Halm, section 7.5.5)";
  result.summary =
      "Contacts: A and B left and right disk on the floor, C and D top disk on left and right, E left on right. All at "
      "once the stack rests; the set-valued law lets it fall apart. The dissertation says that the top disk keeps at "
      "least one contact and one lower disk stays on the floor; its code has tangents that are not orthogonal to the "
      "normals of C and D, and disks of 5 kg. Here: orthogonal tangents, 1 kg.";
  auto& rows = result.rows;

  const ImpactOutcomes all = outcomes_of(p, ImpactLaw::anitescu_potra);
  rows.push_back(goal_row("outcomes of Anitescu and Potra", "", "1, at rest", static_cast<double>(all.outcomes.size()),
                          "1, at rest, all searched",
                          all.outcomes.size() == 1 && all.complete && energy_ratio(all.outcomes[0]) <= 1e-24));
  const Eigen::VectorXd half = (Eigen::VectorXd(5) << 0.5, 0.5, 0.5, 0.5, 0).finished();
  const double off = (all.outcomes[0].normal_impulse - half).cwiseAbs().maxCoeff();
  rows.push_back(goal_row("its normal impulses: largest difference from 0.5, 0.5, 0.5, 0.5, 0", "N s", "0", off,
                          "<= 1e-9", off <= 1e-9));
  rows.push_back(digits_row("its tangential impulse at C, size", "N s", 0.133975, 6,
                            std::abs(all.outcomes[0].tangential_impulse(2))));
  const ImpactOutcomes sequences = outcomes_of(p, ImpactLaw::sequential);
  long fewest = sequences.outcomes[0].steps;
  for (const ImpactResult& r : sequences.outcomes) fewest = std::min(fewest, r.steps);
  rows.push_back(goal_row("stages of a sequence until nothing approaches, least of all orders", "", "> 10",
                          static_cast<double>(fewest), "> 10", fewest > 10));
  rows.push_back(report_row("outcomes of all 120 orders", "", "", static_cast<double>(sequences.outcomes.size())));

  const ImpactSamples s = uniform_samples(context, p, 1, 10, samples);
  add_sampling_rows("h = 1 N s", s, 100, 2.364, 30, result);
  const auto normal = [&](const OutcomeSet& set, int i, int j) {
    return std::max(extreme(set, p.Jn.row(i)), extreme(set, p.Jn.row(j)));
  };
  const auto slip = [&](const OutcomeSet& set, int i, int j) {
    double most = 0;
    for (const int k : {i, j}) {
      const Interval range = set.range(p.Jt.row(k));
      most = std::max({most, range.upper, -range.lower});
    }
    return most;
  };
  rows.push_back(reach_row("largest normal velocity of A, B", "m/s", 0.075, normal(s.set, 0, 1)));
  rows.push_back(reach_row("largest normal velocity of C, D", "m/s", 0.223, normal(s.set, 2, 3)));
  rows.push_back(reach_row("largest normal velocity of E", "m/s", 0.106, normal(s.set, 4, 4)));
  rows.push_back(reach_row("largest tangential velocity of A, B, size", "m/s", 0.145, slip(s.set, 0, 1)));
  rows.push_back(reach_row("largest tangential velocity of C, D, size", "m/s", 0.191, slip(s.set, 2, 3)));
  rows.push_back(reach_row("largest tangential velocity of E, size", "m/s", 0.283, slip(s.set, 4, 4)));
  rows.push_back(reach_row("largest share of energy left", "", 0.1143, s.set.energy_ratio.upper));
  long closed = 0;  // nothing opens
  for (const OutcomeMode& mode : s.set.modes) {
    bool opens = false;
    for (const ContactMode contact : mode.contacts) opens = opens || contact == ContactMode::open;
    closed += opens ? 0 : mode.count;
  }
  rows.push_back(share_row("rests or opens nowhere", 26.9, 1 << 20, share(s.set, closed), samples));
  // As counted by the reference: C and E open whatever else does not, A and B closed.
  rows.push_back(share_row("C and E open, no other", 28.5, 1 << 20,
                           share(s.set, count_modes(s.set, {0, 0, 2, 0, 2}) + count_modes(s.set, {1, 0, 2, 0, 2}) +
                                            count_modes(s.set, {0, 1, 2, 0, 2}) + count_modes(s.set, {0, 0, 2, 1, 2}) +
                                            count_modes(s.set, {1, 1, 2, 0, 2})),
                           samples));
  rows.push_back(share_row("D and E open, no other", 28.4, 1 << 20,
                           share(s.set, count_modes(s.set, {0, 0, 0, 2, 2}) + count_modes(s.set, {1, 0, 0, 2, 2}) +
                                            count_modes(s.set, {0, 1, 0, 2, 2}) + count_modes(s.set, {0, 0, 1, 2, 2}) +
                                            count_modes(s.set, {1, 1, 0, 2, 2})),
                           samples));
  const long both = count_modes(s.set, {-1, -1, 2, 2, -1}), air = count_modes(s.set, {2, 2, -1, -1, -1});
  rows.push_back(share_row("C and D open: the top disk leaves both", 0.13, 1 << 20, share(s.set, both), samples));
  rows.push_back(report_row("A and B open: both lower disks leave the floor, samples", "", "about 2 in 10^6",
                            static_cast<double>(air)));
  rows.push_back(yes_row(
      "outcomes of chapter 7: the stack rests, the top disk leaves one of two, that one rolls, that one lifts", "yes",
      s.set.at_rest > 0 && count_modes(s.set, {-1, -1, 2, 0, -1}) > 0 && slip(s.set, 0, 1) > 0.01 &&
          normal(s.set, 0, 1) > 0.01 && count_modes(s.set, {2, 0, 2, -1, -1}) > 0));
  rows.push_back(report_row("the top disk always keeps a contact (dissertation)", "", "yes",
                            both == 0 ? "yes" : fmt::format("no, not in {} of {}", both, s.set.finished)));
  rows.push_back(
      report_row("one lower disk always stays on the floor (dissertation)", "", "yes",
                 air == 0 ? "yes, in all samples" : fmt::format("no, not in {} of {}", air, s.set.finished)));

  // Which solution Lemke's algorithm finds matters here, too.
  const ImpactSamples vary = uniform_samples(context, p, 1, 10, samples / 4, true);
  rows.push_back(report_row("largest normal velocity of E, random covering vectors, a quarter of the samples", "m/s",
                            "", normal(vary.set, 4, 4)));

  const ImpactSamples better = persistent_samples(context, p, samples / 10);
  const auto row = [&](const char* name, double known, double value) {
    rows.push_back(
        extreme_row(fmt::format("{}, persistent sampler, a tenth of the samples", name), "m/s", known, value));
  };
  row("normal velocity of A, B", 0.075, normal(better.set, 0, 1));
  row("normal velocity of C, D", 0.223, normal(better.set, 2, 3));
  row("normal velocity of E", 0.106, normal(better.set, 4, 4));
  row("tangential velocity of A, B, size", 0.145, slip(better.set, 0, 1));
  row("tangential velocity of C, D, size", 0.191, slip(better.set, 2, 3));
  row("tangential velocity of E, size", 0.283, slip(better.set, 4, 4));
  rows.push_back(report_row("wall time of the persistent sampler", "s", "", better.wall));
  rows.push_back(report_row("A and B open in its samples", "", "",
                            static_cast<double>(count_modes(better.set, {2, 2, -1, -1, -1}))));
  rows.push_back(report_row("bound from outside: normal velocity of C", "m/s", "", bound_of(better.set, p.Jn.row(2))));

  StudyFigure figure{
      "Largest normal velocity that samples reach", {"step", "N s", true}, {"largest found", "m/s", false}, {}, {}};
  const long few = context.quick ? 1L << 10 : 1L << 14;
  StudySeries top{"C, D", {}, {}, false}, bottom{"A, B", {}, {}, false}, middle{"E", {}, {}, false};
  for (const double step : {0.05, 0.1, 0.2, 0.5, 1.0, 2.0}) {
    const ImpactSamples c = uniform_samples(context, p, step, 1000, few);
    top.x.push_back(step), top.y.push_back(normal(c.set, 2, 3));
    bottom.x.push_back(step), bottom.y.push_back(normal(c.set, 0, 1));
    middle.x.push_back(step), middle.y.push_back(normal(c.set, 4, 4));
  }
  figure.series = {top, bottom, middle};
  figure.notes.push_back(fmt::format("{} uniform samples each.", few));
  result.figures.push_back(std::move(figure));
  result.settings = {{"disks", "radius 1 m, 1 kg, 1 m/s, friction sqrt(3); h = 1 N s, N = 10"},
                     {"samples", fmt::format("{}", samples)}};
  return result;
}

}  // namespace scree
