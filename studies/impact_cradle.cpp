// Newton's cradles by every elastic law: who moves afterwards, what restitution does, and when pairwise impacts
// collapse.
#include <fmt/format.h>

#include <cmath>

#include "impact_examples.h"
#include "rows.h"
#include "scree/impact.h"
#include "studies.h"

namespace scree {
namespace {

using enum ImpactLaw;
constexpr ImpactLaw kIterated[] = {gauss_seidel_first, gauss_seidel_cyclic, gauss_seidel_max, reflections};

ImpactResult resolve(const ImpactProblem& problem, ImpactLaw law, double tolerance = 1e-10) {
  ImpactOptions options;
  options.law = law;
  options.tolerance = tolerance;
  return resolve_impact(problem, options);
}

double off(const Eigen::VectorXd& v, const std::vector<double>& expected) {
  return (v - Eigen::Map<const Eigen::VectorXd>(expected.data(), v.size())).cwiseAbs().maxCoeff();
}

std::string numbers(const Eigen::VectorXd& v) { return join_numbers({v.begin(), v.end()}, "{:.6g}"); }

// Does a row of three come apart under pairwise impacts? Relative velocities (a, b), scaled after every impact, so that
// a collapse is not taken for an end.
bool comes_apart(double e) {
  double a = -1, b = -1;
  for (long i = 0; i < 4'000'000; ++i) {
    if (a < 0)
      b += 0.5 * (1 + e) * a, a = -e * a;
    else if (b < 0)
      a += 0.5 * (1 + e) * b, b = -e * b;
    else
      return true;
    const double scale = std::max(std::abs(a), std::abs(b));
    if (scale == 0) return true;
    a /= scale, b /= scale;
  }
  return false;
}

}  // namespace

StudyResult study_impact_cradle(const StudyContext& context) {
  StudyResult result;
  result.name = "impact-cradle";
  result.title = "Newton's cradles: elastic laws, restitution, inelastic collapse";
  result.summary =
      "Equal balls in a row, all touching; the first ones arrive with 1 m/s. Iterated laws send out as many as came "
      "in; "
      "one projection (Moreau, Poisson) does not. Pairwise impacts with restitution never end below a threshold; with "
      "the tolerance of the library they end, and the certificate says so beforehand.";

  struct Row {
    int balls, moving;
    long pairwise, gr;
  };
  for (const Row& row : {Row{3, 1, 2, 2}, {5, 1, 4, 4}, {7, 1, 6, 6}, {5, 2, 6, 4}, {5, 3, 6, 4}}) {
    std::vector<double> expected(static_cast<size_t>(row.balls), 0.0);
    for (int i = 0; i < row.moving; ++i) expected[static_cast<size_t>(row.balls - 1 - i)] = 1;
    double worst = 0;
    std::string steps;
    bool counts = true, holds = true;
    for (const ImpactLaw law : kIterated) {
      const ImpactResult r = resolve(cradle_impact(row.balls, row.moving), law);
      worst = std::max(worst, off(r.v, expected));
      steps += fmt::format("{}{}", steps.empty() ? "" : "/", r.steps);
      counts = counts && r.steps == (law == reflections ? row.gr : row.pairwise);
      holds = holds && r.certificate->holds;
    }
    const std::string name = fmt::format("{} balls, {} moving", row.balls, row.moving);
    result.rows.push_back(goal_row(name + ": largest distance from the last ones moving, four iterated laws", "m/s",
                                   "0", worst, "<= 1e-13", worst <= 1e-13));
    result.rows.push_back(goal_row(name + ": reflections, first/cyclic/max/GR", "",
                                   fmt::format("{0}/{0}/{0}/{1}", row.pairwise, row.gr), steps, "the same, certified",
                                   counts && holds));
  }
  struct Answer {
    ImpactLaw law;
    double e;
    std::vector<double> v;
    const char* paper;
  };
  for (const Answer& answer : {Answer{moreau, 1, {-1.0 / 3, 2.0 / 3, 2.0 / 3}, "-1/3, 2/3, 2/3"},
                               {poisson, 1, {-1.0 / 3, 2.0 / 3, 2.0 / 3}, "-1/3, 2/3, 2/3"},
                               {restitution_blend, 0.5, {1.0 / 6, 1.0 / 6, 2.0 / 3}, "1/6, 1/6, 2/3"}}) {
    ImpactProblem p = cradle_impact(3);
    p.restitution = Eigen::VectorXd::Constant(2, answer.e);
    const ImpactResult r = resolve(p, answer.law);
    result.rows.push_back(goal_row(fmt::format("3 balls, {}, e = {:g}", impact_law_name(answer.law), answer.e), "m/s",
                                   answer.paper, numbers(r.v), "to 1e-13", off(r.v, answer.v) <= 1e-13));
  }

  // restitution
  StudyFigure last{
      "Five balls: velocity of the last one", {"restitution e", "", false}, {"velocity", "m/s", false}, {}, {}};
  StudyFigure energy{
      "Five balls: energy left", {"restitution e", "", false}, {"energy after / before", "", false}, {}, {}};
  const int points = context.quick ? 11 : 41;
  bool dissipates = true;
  for (const ImpactLaw law : {gauss_seidel_first, restitution_blend, moreau, poisson}) {
    StudySeries speed{impact_law_name(law), {}, {}, false}, left = speed;
    for (int i = 0; i < points; ++i) {
      const double e = static_cast<double>(i) / (points - 1);
      ImpactProblem p = cradle_impact(5);
      p.restitution = Eigen::VectorXd::Constant(4, e);
      const ImpactResult r = resolve(p, law);
      speed.x.push_back(e), speed.y.push_back(r.v(4));
      left.x.push_back(e), left.y.push_back(r.energy_after / r.energy_before);
      dissipates = dissipates && r.status == ImpactStatus::resolved && left.y.back() <= 1 + 1e-14;
    }
    last.series.push_back(std::move(speed));
    energy.series.push_back(std::move(left));
  }
  result.rows.push_back(goal_row("5 balls, restitution 0 to 1, four laws: energy never grows, all resolved", "", "",
                                 dissipates ? "yes" : "no", "yes", dissipates));

  // collapse
  for (const auto& [violation, expected] : {std::pair{1e-6, 17L}, {1e-12, 32L}}) {
    const ImpactResult r = resolve(collapse_impact(0.05), gauss_seidel_first, violation / 2);
    result.rows.push_back(goal_row(fmt::format("(1, 0, -1), e = 0.05: reflections to a violation of {:g}", violation),
                                   "", std::to_string(expected), static_cast<double>(r.steps), "the same, certified",
                                   r.steps == expected && r.certificate->holds));
  }
  for (const auto& [e, expected] : {std::pair{0.1, 6L}, {0.5, 3L}}) {
    const ImpactResult r = resolve(collapse_impact(e), gauss_seidel_first, 1e-12);
    result.rows.push_back(goal_row(fmt::format("(1, 0, -1), e = {:g}: reflections", e), "", std::to_string(expected),
                                   static_cast<double>(r.steps), "the same", r.steps == expected));
  }
  {
    const ImpactResult r = resolve(collapse_impact(0.5), gauss_seidel_first, 1e-12);
    result.rows.push_back(goal_row("(1, 0, -1), e = 0.5: velocities", "m/s", "-0.359375, 0.046875, 0.3125",
                                   numbers(r.v), "to 1e-13", off(r.v, {-0.359375, 0.046875, 0.3125}) <= 1e-13));
    double low = 0.05, high = 0.1;
    for (int i = 0; i < (context.quick ? 18 : 26); ++i) (comes_apart((low + high) / 2) ? high : low) = (low + high) / 2;
    const double exact = 7 - 4 * std::sqrt(3.0);
    result.rows.push_back(goal_row("restitution below which pairwise impacts never end", "",
                                   "7 - 4 sqrt(3) = 0.0717968", high, "to 1e-6", std::abs(high - exact) <= 1e-6));
  }
  StudyFigure collapse{"Pairwise impacts of (1, 0, -1): reflections until nothing approaches",
                       {"restitution e", "", false},
                       {"reflections", "", true},
                       {},
                       {"dashed: the threshold 7 - 4 sqrt(3), below which exact impacts never end"}};
  bool capped = true;
  for (const double tolerance : {1e-6, 1e-9, 1e-12, 1e-15}) {
    StudySeries series{fmt::format("tolerance {:g}", tolerance), {}, {}, false};
    for (int i = 0; i <= (context.quick ? 40 : 150); ++i) {
      const double e = 0.15 * i / (context.quick ? 40 : 150);
      const ImpactResult r = resolve(collapse_impact(e), gauss_seidel_first, tolerance);
      series.x.push_back(e), series.y.push_back(static_cast<double>(r.steps));
      capped = capped && r.certificate->holds;
    }
    collapse.series.push_back(std::move(series));
  }
  const double exact = 7 - 4 * std::sqrt(3.0);
  collapse.series.push_back({"threshold", {exact, exact * (1 + 1e-9)}, {1, 100}, true});
  result.rows.push_back(goal_row("collapse, e 0 to 0.15, tolerances 1e-6 to 1e-15: every run certified", "",
                                 "never ends", capped ? "yes" : "no", "yes", capped));
  result.figures = {std::move(last), std::move(energy), std::move(collapse)};
  result.settings = {{"balls", "1 kg each, all touching"}, {"tolerance", "1e-10 where not named"}};
  return result;
}

}  // namespace scree
