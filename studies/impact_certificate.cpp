// What can be promised about an impact before it is computed: witnesses, theorem P, and the certificate of the 2017
// supplement, as printed, with the fewest repairs, and rewritten.
#include <fmt/format.h>

#include <cmath>
#include <mutex>
#include <random>

#include "impact/certificate.h"
#include "impact/normalised.h"
#include "impact/supplement.h"
#include "impact_examples.h"
#include "robot_runs.h"
#include "rows.h"
#include "scree/impact.h"
#include "studies.h"

namespace scree {
namespace {

using enum ImpactLaw;
constexpr ImpactLaw kIterated[] = {gauss_seidel_first, gauss_seidel_cyclic, gauss_seidel_max, reflections};
constexpr double kUnit = 0x1p-53, kUnderflow = 0x1p-1074;

struct Scene {
  const char* name;
  ImpactProblem problem;
  double w;
  int printed_gs[2], printed_gr[2];             // bits for drift, for a tolerance of 1e-6
  double printed_gs_double, printed_gr_double;  // least tolerance in double; 0: none
  int rewritten[2];
  double rewritten_double;
  double theorem_gs, theorem_gr;  // least tolerance in double, a priori
};

std::vector<Scene> scenes() {
  using enum StackKind;
  return {
      {"cradle 3", cradle_impact(3), 2, {39, 110}, {49, 121}, 0.019, 0.15, {18, 51}, 4.8e-7, 5.0e-13, 6.0e-13},
      {"cradle 5", cradle_impact(5), std::sqrt(20), {44, 115}, {55, 130}, 0.044, 0, {20, 54}, 1.2e-6, 7.4e-12, 1.6e-11},
      {"cradle 7", cradle_impact(7), std::sqrt(56), {47, 118}, {60, 135}, 0.080, 0, {22, 56}, 2.2e-6, 4.7e-11, 1.6e-10},
      {"bernoulli",
       bernoulli_impact(),
       std::sqrt(2),
       {46, 117},
       {57, 131},
       0.061,
       0,
       {21, 55},
       1.6e-6,
       4.8e-12,
       4.9e-12},
      {"bernoulli, masses",
       bernoulli_impact(1, 12.1, 23.3),
       1.46646,
       {68, 140},
       {65, 139},
       0,
       0,
       {29, 63},
       2.7e-5,
       1.8e-9,
       2.1e-9},
      {"rack", rack_impact(), 9.51500, {63, 134}, {81, 161}, 0, 0, {31, 65}, 4.8e-5, 3.9e-8, 2.0e-7},
      {"two boxes, dropped",
       stack_impact(2, drop),
       4.13171,
       {51, 122},
       {62, 136},
       0.17,
       0,
       {26, 59},
       7.7e-6,
       3.7e-10,
       7.7e-10},
      {"two boxes, top falls",
       stack_impact(2, top),
       4.13171,
       {52, 123},
       {62, 137},
       0.21,
       0,
       {26, 59},
       7.7e-6,
       3.7e-10,
       7.7e-10},
      {"three boxes, dropped",
       stack_impact(3, drop),
       7.32893,
       {54, 125},
       {67, 142},
       0,
       0,
       {28, 62},
       1.7e-5,
       3.7e-9,
       1.2e-8}};
}

// Two printed digits, to a unit of the second.
bool two_digits(double value, double printed) {
  if (printed == 0) return !std::isfinite(value);
  return std::abs(value - printed) <= 1.001 * std::pow(10.0, std::floor(std::log10(printed)) - 1);
}
std::string tolerance_text(double x) { return x > 0 && std::isfinite(x) ? fmt::format("{:.2g}", x) : "-"; }

// A random cone with an inner direction, d <= 8, m <= 11; some margins small.
ImpactProblem random_cone(std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const int d = std::uniform_int_distribution<int>(2, 8)(random), m = std::uniform_int_distribution<int>(1, 11)(random);
  const auto vector = [&] {
    Eigen::VectorXd x(d);
    for (double& e : x) e = normal(random);
    return x;
  };
  ImpactProblem p;
  Eigen::MatrixXd B(d, d);
  for (int j = 0; j < d; ++j) B.col(j) = vector();
  p.M = B * B.transpose() + 0.05 * Eigen::MatrixXd::Identity(d, d);
  p.M = (0.5 * (p.M + p.M.transpose())).eval();
  const Eigen::VectorXd inner = vector().normalized();
  const double margin = std::pow(10.0, -4 * uniform(random) * uniform(random));
  p.Jn.resize(m, d);
  for (int k = 0; k < m; ++k) {
    Eigen::VectorXd n = vector();
    n -= n.dot(inner) * inner;
    p.Jn.row(k) = (n.normalized() + margin * (0.5 + uniform(random)) * inner).transpose();
  }
  p.v = vector();
  return p;
}

}  // namespace

StudyResult study_impact_certificate(const StudyContext& context) {
  StudyResult result;
  result.name = "impact-certificate";
  result.title = "Certificates of impacts: witnesses, caps, the 2017 supplement";
  result.summary =
      "w: least norm of a witness. Printed: the lemmas of the supplement, which no precision satisfies; with the "
      "fewest "
      "repairs they ask for some 110 bits for a tolerance of 1e-6. Rewritten: the same argument as one recursion. "
      "Theorem "
      "P: the potential argument, a priori; the library measures the error of every step instead.";

  StudyFigure figure{"Least tolerance against the precision, rack",
                     {"bits", "", false},
                     {"least tolerance", "", true},
                     {},
                     {"a priori bounds; gs-first"}};
  for (const Scene& scene : scenes()) {
    const StepData gs = step_data(scene.problem, false, true), gr = step_data(scene.problem, true, true);
    const std::string name = scene.name;
    result.rows.push_back(goal_row(name + ": w", "", fmt::format("{:.6g}", scene.w), gs.w, "six digits",
                                   std::abs(gs.w - scene.w) <= 5e-6 * scene.w));
    const PrintedBound printed = printed_bound(gs, kUnit, false), fine = printed_bound(gs, 0x1p-1000, false);
    const PrintedBound printed_gr = printed_bound(gr, 0x1p-1000, false);
    result.rows.push_back(
        goal_row(name + ": u gamma_21 as printed, GS, 53 and 1000 bits", "", "2.1e9 to 1.8e16; < 2 needed",
                 fmt::format("{:.2g}, {:.2g}", printed.gamma, fine.gamma), ">= 2 in both, and of GR: void",
                 printed.gamma >= 2 && fine.gamma >= 2 && printed_gr.gamma >= 2));
    const auto bits = [](auto&& tolerance, auto&& drift) {
      std::pair<int, int> least{0, 0};
      for (int p = 220; p > 4; --p) {
        const double unit = std::ldexp(1.0, -p);
        if (drift(unit)) least.first = p;
        if (tolerance(unit) <= 1e-6) least.second = p;
      }
      return least;
    };
    for (const bool reflected : {false, true}) {
      const StepData& data = reflected ? gr : gs;
      const auto [drift, six] = bits([&](double u) { return printed_bound(data, u, true).tolerance; },
                                     [&](double u) { return printed_bound(data, u, true).drift_holds; });
      const int* paper = reflected ? scene.printed_gr : scene.printed_gs;
      const double paper_double = reflected ? scene.printed_gr_double : scene.printed_gs_double;
      const double in_double = printed_bound(data, kUnit, true).tolerance;
      result.rows.push_back(
          goal_row(fmt::format("{}: printed, fewest repairs, {}: bits for drift / for 1e-6; least tolerance in double",
                               name, reflected ? "GR" : "GS"),
                   "", fmt::format("{} / {}; {}", paper[0], paper[1], tolerance_text(paper_double)),
                   fmt::format("{} / {}; {}", drift, six, tolerance_text(in_double)), "the same, two digits",
                   drift == paper[0] && six == paper[1] && two_digits(in_double, paper_double)));
    }
    const auto [drift, six] = bits([&](double u) { return norm_tolerance(step_bound(gs, u, u)); },
                                   [&](double u) { return step_bound(gs, u, u).drift_holds; });
    const double in_double = norm_tolerance(step_bound(gs, kUnit, kUnit));
    result.rows.push_back(goal_row(
        name + ": rewritten, GS: bits for drift / for 1e-6; least tolerance in double", "",
        fmt::format("{} / {}; {}", scene.rewritten[0], scene.rewritten[1], tolerance_text(scene.rewritten_double)),
        fmt::format("{} / {}; {}", drift, six, tolerance_text(in_double)), "the same, two digits",
        drift == scene.rewritten[0] && six == scene.rewritten[1] && two_digits(in_double, scene.rewritten_double)));
    const double p_gs = potential_tolerance(gs, step_bound(gs, kUnit, kUnderflow));
    const double p_gr = potential_tolerance(gr, step_bound(gr, kUnit, kUnderflow));
    result.rows.push_back(goal_row(name + ": theorem P a priori, least tolerance in double, GS / GR", "",
                                   fmt::format("{:.1e} / {:.1e}", scene.theorem_gs, scene.theorem_gr),
                                   fmt::format("{:.2e} / {:.2e}", p_gs, p_gr), "two digits, to a unit",
                                   two_digits(p_gs, scene.theorem_gs) && two_digits(p_gr, scene.theorem_gr)));
    double error = 0, theta = 0;
    bool holds = true;
    for (const ImpactLaw law : kIterated) {
      ImpactOptions options;
      options.law = law;
      options.tolerance = 1e-14;
      const ImpactResult r = resolve_impact(scene.problem, options);
      holds = holds && r.certificate->holds;
      error = std::max(error, r.certificate->step_error);
      theta = std::max(theta, r.certificate->theta);
    }
    result.rows.push_back(goal_row(name + ": measured, tolerance 1e-14, four laws: largest error of a step, theta", "",
                                   "4.6e-17 to 3.7e-16", fmt::format("{:.2g}, {:.2g}", error, theta),
                                   "certified in double, error <= 2e-15", holds && error <= 2e-15));
    if (name != "rack") continue;
    StudySeries printed_series{"printed, fewest repairs", {}, {}, false}, rewritten{"rewritten", {}, {}, false},
        potential{"theorem P", {}, {}, false};
    for (int p = 24; p <= 160; p += 4) {
      const double u = std::ldexp(1.0, -p);
      printed_series.x.push_back(p), printed_series.y.push_back(printed_bound(gs, u, true).tolerance);
      rewritten.x.push_back(p), rewritten.y.push_back(norm_tolerance(step_bound(gs, u, u)));
      potential.x.push_back(p), potential.y.push_back(potential_tolerance(gs, step_bound(gs, u, u)));
    }
    figure.series = {std::move(printed_series), std::move(rewritten), std::move(potential)};
  }

  // Theorem P on random cones
  const size_t cones = context.quick ? 200 : 2642;
  struct Sample {
    double w = 0, share = 0, steps = 0, gain = 1e9;
  };
  std::vector<std::vector<Sample>> samples(cones);
  std::vector<char> broken(cones, 0);
  for_each_job(context.jobs, cones, [&](size_t i) {
    std::mt19937_64 random(1000 + i);
    const ImpactProblem p = random_cone(random);
    for (const ImpactLaw law : kIterated)
      for (const double tolerance : {0.1, 0.01, 1e-4}) {
        ImpactOptions options;
        options.law = law;
        options.tolerance = tolerance;
        const ImpactResult r = resolve_impact(p, options);
        const ImpactCertificate& c = *r.certificate;
        if (r.status != ImpactStatus::resolved || !c.holds || !c.jammed.empty()) broken[i] = 1;
        // theorem P without slack: theta = 0, 2 eps a step
        const double room = c.w - p.v.dot(p.M * c.witness) / std::sqrt(2 * r.energy_before);
        const double K = 1 + std::floor(room / (2 * tolerance));
        samples[i].push_back({c.w, static_cast<double>(r.steps) / (K + 1), static_cast<double>(r.steps), 0});
      }
    if (!context.progress(0, 1)) throw StudyInterrupted();
  });
  double share = 0, steps = 0, w = 0;
  int violated = 0;
  std::vector<double> shares, widths;
  for (size_t i = 0; i < cones; ++i) {
    violated += broken[i];
    for (const Sample& s : samples[i]) {
      share = std::max(share, s.share), steps = std::max(steps, s.steps), w = std::max(w, s.w);
      if (s.steps > 0) shares.push_back(s.share);
    }
    widths.push_back(samples[i].front().w);
  }
  result.rows.push_back(
      goal_row(fmt::format("{} random cones, w up to {:.3g}: calls without a certificate that holds", cones, w), "",
               "0 of 2642", static_cast<double>(violated), "0", violated == 0));
  result.rows.push_back(
      goal_row("random cones: largest steps / (K + 1), K with theta = 0", "", "0.43", share, "<= 1", share <= 1));
  result.rows.push_back(report_row("random cones: most steps", "", "", steps));
  StudyFigure histogram{
      "Random cones: steps / (K + 1)", {"share of the cap", "", true}, {"share of calls", "", false}, {}, {}};
  histogram.series.push_back(log_histogram(shares, 5, "calls"));
  StudyFigure margins{"Random cones: w", {"w", "", true}, {"share of cones", "", false}, {}, {}};
  margins.series.push_back(log_histogram(widths, 5, "cones"));
  result.figures = {std::move(figure), std::move(histogram), std::move(margins)};
  result.settings = {{"random cones", "2 to 8 dofs, 1 to 11 contacts, tolerances 0.1, 0.01, 1e-4, four laws"},
                     {"a priori bounds", "v as given, eta = u for drift and NORM, true underflow for theorem P"}};
  return result;
}

}  // namespace scree
