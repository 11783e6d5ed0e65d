// Long impacts: a point in a narrow wedge, and two balls and a wall whose impacts count the digits of pi.
#include <fmt/format.h>

#include <cmath>

#include "impact_examples.h"
#include "rows.h"
#include "scree/impact.h"
#include "studies.h"

namespace scree {
namespace {

using enum ImpactLaw;

ImpactResult resolve(const ImpactProblem& problem, ImpactLaw law, double tolerance) {
  ImpactOptions options;
  options.law = law;
  options.tolerance = tolerance;
  return resolve_impact(problem, options);
}

// |v| of a wedge's point after its reflections without any renormalisation, less 1.
double plain_drift(const ImpactProblem& p, double tolerance) {
  double x = p.v(0), y = p.v(1);
  const double norm = std::sqrt(x * x + y * y);
  for (;;) {
    const double first = p.Jn(0, 0) * x + p.Jn(0, 1) * y, second = p.Jn(1, 0) * x + p.Jn(1, 1) * y;
    const int k = first < -tolerance * norm ? 0 : second < -tolerance * norm ? 1 : -1;
    if (k < 0) return std::sqrt(x * x + y * y) / norm - 1;
    const double s = 2 * (k == 0 ? first : second);
    x -= s * p.Jn(k, 0), y -= s * p.Jn(k, 1);
  }
}

}  // namespace

StudyResult study_impact_galperin(const StudyContext& context) {
  StudyResult result;
  result.name = "impact-galperin";
  result.title = "Wedges and the digits of pi: long impacts";
  result.summary =
      "Galperin's billiard: a ball of 100^k kg pushes one of 1 kg against a wall; the impacts number the first digits "
      "of "
      "pi. A point in a wedge of angle a is reflected at most ceil(pi/a) times. Ratios of masses up to 1e10, 314159 "
      "reflections: drift and counts.";
  const long digits[] = {3, 31, 314, 3141, 31415, 314159};
  const double margins[] = {2.613, 20.07, 200.0, 2000, 2e4, 2e5};
  StudySeries steps{"reflections", {}, {}, false}, margin{"w of the witness", {}, {}, false},
      theory{"pi sqrt(mass ratio)", {}, {}, true};
  for (int k = 0; k <= (context.quick ? 4 : 5); ++k) {
    const ImpactResult r = resolve(galperin_impact(k), gauss_seidel_first, 1e-13);
    const ImpactCertificate& c = *r.certificate;
    const std::string name = fmt::format("100^{} kg", k);
    result.rows.push_back(goal_row(name + ": reflections", "", std::to_string(digits[k]), static_cast<double>(r.steps),
                                   "the same, certified", r.steps == digits[k] && c.holds));
    result.rows.push_back(goal_row(name + ": w", "", fmt::format("{:.4g}", margins[k]), c.w, "four digits",
                                   std::abs(c.w - margins[k]) <= 5e-4 * margins[k]));
    result.rows.push_back(goal_row(name + ": largest relative change of |v|_M on the way", "", "", c.delta, "<= 1e-15",
                                   c.delta <= 1e-15));
    result.rows.push_back(goal_row(name + ": proved bounds of energy after / before, less 1", "", "",
                                   fmt::format("{:.2g}, {:.2g}", c.energy_ratio.lower - 1, c.energy_ratio.upper - 1),
                                   "within 2e-15",
                                   c.energy_ratio.lower >= 1 - 2e-15 && c.energy_ratio.upper <= 1 + 2e-15));
    const double ratio = std::pow(100.0, k);
    steps.x.push_back(ratio), steps.y.push_back(static_cast<double>(r.steps));
    margin.x.push_back(ratio), margin.y.push_back(c.w);
    theory.x.push_back(ratio), theory.y.push_back(M_PI * std::sqrt(ratio));
    if (!context.progress(k, 5)) throw StudyInterrupted();
  }

  struct Wedge {
    double angle;
    const char* name;
    long most;
  };
  for (const Wedge& w : {Wedge{M_PI / 2, "pi/2", 2},
                         {M_PI / 3, "pi/3", 3},
                         {M_PI / 4, "pi/4", 4},
                         {M_PI / 5, "pi/5", 5},
                         {0.5, "0.5", 7},
                         {0.1, "0.1", 32}}) {
    long gs = 0, gr = 0;
    const int directions = context.quick ? 360 : 3600;
    for (int i = 0; i < directions; ++i) {
      const double a = (i + 0.37) * 2 * M_PI / directions;
      const ImpactProblem p = wedge_impact(w.angle, std::cos(a), std::sin(a));
      gs = std::max(gs, resolve(p, gauss_seidel_first, 1e-10).steps);
      gr = std::max(gr, resolve(p, reflections, 1e-10).steps);
    }
    result.rows.push_back(goal_row(fmt::format("wedge of {}: most reflections over {} directions", w.name, directions),
                                   "", std::to_string(w.most), static_cast<double>(gs), "the same", gs == w.most));
    result.rows.push_back(goal_row(fmt::format("wedge of {}: most steps of Generalized Reflections", w.name), "",
                                   fmt::format("at most {}", w.most - 1), static_cast<double>(gr), "at most one less",
                                   gr <= w.most - 1));
  }
  const ImpactProblem narrow = wedge_impact(1e-5, -1, 1e-6);
  const ImpactResult r = resolve(narrow, gauss_seidel_first, 1e-12);
  result.rows.push_back(goal_row("wedge of 1e-5, v = (-1, 1e-6): reflections", "", "314159",
                                 static_cast<double>(r.steps), "the same, certified",
                                 r.steps == 314159 && r.certificate->holds));
  const double drift = std::sqrt(r.energy_after / r.energy_before) - 1;
  result.rows.push_back(goal_row("wedge of 1e-5: relative error of |v|", "", "1.1e-16", std::abs(drift), "<= 4e-16",
                                 std::abs(drift) <= 4e-16));
  const double plain = std::abs(plain_drift(narrow, 1e-12));
  result.rows.push_back(goal_row("wedge of 1e-5: relative error of |v| without renormalisation", "", "1.3e-12", plain,
                                 "1e-13 to 1e-11", plain >= 1e-13 && plain <= 1e-11));

  StudyFigure angles{
      "Wedge: reflections of v = (-1, a/10)", {"angle a", "rad", true}, {"reflections", "", true}, {}, {}};
  StudySeries gs{"gs-first", {}, {}, false}, gr{"reflections", {}, {}, false}, bound{"pi/a", {}, {}, true},
      cap{"cap by theorem P, tolerance min(1e-6, a^2)", {}, {}, true};
  for (double a = 1e-4; a < 1.6; a *= context.quick ? 3 : 1.5) {
    const ImpactProblem p = wedge_impact(a, -1, a / 10);
    const ImpactResult first = resolve(p, gauss_seidel_first, std::min(1e-6, a * a));
    gs.x.push_back(a), gs.y.push_back(static_cast<double>(first.steps));
    gr.x.push_back(a), gr.y.push_back(static_cast<double>(resolve(p, reflections, std::min(1e-6, a * a)).steps));
    bound.x.push_back(a), bound.y.push_back(M_PI / a);
    cap.x.push_back(a), cap.y.push_back(first.certificate->cap);
  }
  angles.series = {std::move(gs), std::move(gr), std::move(bound), std::move(cap)};
  StudyFigure masses{"Two balls and a wall: reflections against the ratio of masses",
                     {"mass ratio", "", true},
                     {"reflections, w", "", true},
                     {std::move(steps), std::move(margin), std::move(theory)},
                     {}};
  result.figures = {std::move(masses), std::move(angles)};
  result.settings = {{"Galperin", "gs-first, tolerance 1e-13"}, {"wedges", "tolerance 1e-10; of 1e-5 rad: 1e-12"}};
  return result;
}

}  // namespace scree
