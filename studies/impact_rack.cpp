// Bernoulli's problem, a rack of balls and stacks of boxes: reflections and answers of every elastic law.
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

struct Answer {
  ImpactLaw law;
  std::vector<double> v;
  double digits;  // how far the printed digits reach
};
struct Scene {
  std::string name;
  ImpactProblem problem;
  long steps[4];
  std::vector<Answer> answers;
};

std::vector<Scene> scenes() {
  const double r = std::sqrt(3.0);
  using enum StackKind;
  return {
      {"Bernoulli, equal masses",
       bernoulli_impact(),
       {2, 2, 2, 1},
       {{reflections, {-0.2, 0, 0.6, r / 5, 0.6, -r / 5}, 1e-13},
        {gauss_seidel_first, {-0.125, -r / 8, 0.75, r / 4, 0.375, -r / 8}, 1e-13}}},
      {"Bernoulli, masses 1, 12.1, 23.3",
       bernoulli_impact(1, 12.1, 23.3),
       {2, 2, 2, 1},
       {{reflections,
         {-0.920515639657, 0.039134889488, 0.0765591744924, 0.0442014600021, 0.0426673660214, -0.0246340152581},
         1e-12},
        {gauss_seidel_first,
         {-0.4952879088, -0.736528312, 0.1145038168, 0.06610880945, 0.004712091226, -0.002720527138},
         1e-10}}},
      {"rack of 15", rack_impact(), {27, 19, 23, 6}, {}},
      {"two boxes, dropped",
       stack_impact(2, drop),
       {7, 9, 6, 3},
       {{reflections, {0, 1, 0, 0, 1, 0}, 1e-13},
        {gauss_seidel_first, {0, 0.92, 0.96, 0, 0.92, 0.96}, 1e-13},
        {gauss_seidel_cyclic, {0, 0.7695232, 1.2286464, 0, 0.8985472, 1.4467584}, 1e-13}}},
      {"two boxes, the top one falls",
       stack_impact(2, top),
       {9, 9, 6, 3},
       {{reflections, {0, 0, 0, 0, 1, 0}, 1e-13},
        {gauss_seidel_first, {0, 0.38336, 0.00192, 0, 0.84384, 0.91968}, 1e-13}}},
      {"two boxes, the top one tilts",
       stack_impact(2, tilt),
       {8, 6, 6, 3},
       {{reflections, {0, 0, 0, 0, 1, -0.5}, 1e-13}, {gauss_seidel_first, {0, 0.384, 0.192, 0, 0.92, 0.5}, 1e-13}}},
      {"three boxes, dropped",
       stack_impact(3, drop),
       {20, 21, 12, 5},
       {{reflections, {0, 1, 0, 0, 1, 0, 0, 1, 0}, 1e-13},
        {gauss_seidel_first, {0, 0.8493952, 0.9030144, 0, 0.9221504, 0.9643008, 0, 0.9848704, 1.0019328}, 1e-13}}},
  };
}

}  // namespace

StudyResult study_impact_rack(const StudyContext& context) {
  StudyResult result;
  result.name = "impact-rack";
  result.title = "Bernoulli's problem, a rack, stacks of boxes";
  result.summary =
      "Counts and velocities of exact arithmetic (80 digits) beside ours in double. Generalized Reflections answer "
      "symmetric problems symmetrically, pairwise impacts do not, one projection leaves contacts closed.";
  for (const Scene& scene : scenes()) {
    std::string paper, ours;
    bool same = true, holds = true;
    for (int i = 0; i < 4; ++i) {
      long steps = -1;
      for (const double tolerance : context.quick ? std::vector{1e-10} : std::vector{1e-14, 1e-10, 1e-7}) {
        const ImpactResult r = resolve(scene.problem, kIterated[i], tolerance);
        same = same && r.steps == scene.steps[i];
        holds = holds && r.certificate->holds;
        steps = r.steps;
      }
      paper += fmt::format("{}{}", i == 0 ? "" : "/", scene.steps[i]);
      ours += fmt::format("{}{}", i == 0 ? "" : "/", steps);
    }
    result.rows.push_back(goal_row(scene.name + ": steps of gs-first/gs-cyclic/gs-max/reflections", "", paper, ours,
                                   "the same at tolerances 1e-14 to 1e-7, all certified", same && holds));
    for (const Answer& answer : scene.answers) {
      const ImpactResult r = resolve(scene.problem, answer.law);
      const double off = (r.v - Eigen::Map<const Eigen::VectorXd>(answer.v.data(), r.v.size())).cwiseAbs().maxCoeff();
      result.rows.push_back(goal_row(
          fmt::format("{}, {}: largest difference from the exact velocities", scene.name, impact_law_name(answer.law)),
          "m/s", "0", off, fmt::format("<= {:g}, their digits", answer.digits), off <= answer.digits));
    }
  }

  // the rack
  struct Ball {
    int index;
    double x, y;
  };
  const Ball balls[] = {{0, -0.2, 0},
                        {1, -0.0505263157895, 0},
                        {2, -0.0925129725723, 0.0924445204929},
                        {4, -0.0860008112228, 0.0859327052129},
                        {5, -0.00355819125278, 0},
                        {7, -0.0608971005776, 0.090891181223},
                        {8, -0.00342391988475, 0.000116282415714},
                        {11, 0.511775319244, 0.29547361833},
                        {12, 0.238868763724, 0.0118608064029},
                        {13, 0.23846594962, 0}};
  const ImpactResult gr = resolve(rack_impact(), reflections);
  double off = 0;
  for (const Ball& b : balls)
    off = std::max({off, std::abs(gr.v(2 * b.index) - b.x), std::abs(gr.v(2 * b.index + 1) - b.y)});
  result.rows.push_back(goal_row("rack, reflections: largest difference from the exact velocities of the upper half",
                                 "m/s", "0", off, "<= 1e-12, their digits", off <= 1e-12));
  const double mirror = rack_mirror_defect(gr.v);
  result.rows.push_back(
      goal_row("rack, reflections: mirror defect", "m/s", "3.3e-16", mirror, "<= 1e-15", mirror <= 1e-15));
  const double defects[] = {0.5550, 0.5918, 0.3750};
  for (int i = 0; i < 3; ++i) {
    const double defect = rack_mirror_defect(resolve(rack_impact(), kIterated[i]).v);
    result.rows.push_back(goal_row(fmt::format("rack, {}: mirror defect", impact_law_name(kIterated[i])), "m/s",
                                   fmt::format("{:.4f}", defects[i]), defect, "four digits",
                                   std::abs(defect - defects[i]) <= 5e-5));
  }
  double momentum = 0;
  for (int i = 0; i < 16; ++i) momentum += gr.v(2 * i);
  result.rows.push_back(goal_row("rack, reflections: momentum along x less 1", "kg m/s", "1.1e-16", momentum - 1,
                                 "below 1e-15", std::abs(momentum - 1) <= 1e-15));
  const Interval energy = gr.certificate->energy_ratio;
  result.rows.push_back(goal_row("rack, reflections: proved bounds of energy after / before, less 1", "", "",
                                 fmt::format("{:.2g}, {:.2g}", energy.lower - 1, energy.upper - 1), "within 2e-15",
                                 energy.lower >= 1 - 2e-15 && energy.upper <= 1 + 2e-15));
  const ImpactResult one = resolve(rack_impact(), moreau);
  result.rows.push_back(goal_row("rack, moreau, e = 1: velocities of the cue ball and of ball 1 along x", "m/s",
                                 "-0.771429, 0.228571", fmt::format("{:.6f}, {:.6f}", one.v(0), one.v(2)), "six digits",
                                 std::abs(one.v(0) + 0.771429) <= 5e-7 && std::abs(one.v(2) - 0.228571) <= 5e-7));

  StudyFigure speeds{"Rack: speed of every ball", {"ball", "", false}, {"speed", "m/s", false}, {}, {}};
  StudyFigure defect{"Rack: mirror defect along the impact",
                     {"step", "", false},
                     {"largest difference from the mirror image", "m/s", false},
                     {},
                     {}};
  for (const ImpactLaw law : {reflections, gauss_seidel_first, gauss_seidel_max, moreau}) {
    const ImpactResult r = resolve(rack_impact(), law);
    StudySeries series{impact_law_name(law), {}, {}, false}, path = series;
    for (int i = 0; i < 16; ++i) series.x.push_back(i), series.y.push_back(r.v.segment<2>(2 * i).norm());
    speeds.series.push_back(std::move(series));
    for (size_t i = 0; i < r.path.size(); ++i)
      path.x.push_back(static_cast<double>(i)), path.y.push_back(rack_mirror_defect(r.path[i]));
    if (law != moreau) defect.series.push_back(std::move(path));
  }
  result.figures = {std::move(speeds), std::move(defect)};
  result.settings = {{"disks and balls", "diameter 1 m, 1 kg where not named"},
                     {"boxes", "1 m, 1 kg, inertia 1/6 kg m^2, no friction"},
                     {"velocity before", "1 m/s"}};
  return result;
}

}  // namespace scree
