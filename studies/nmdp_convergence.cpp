// A box that slides to rest and a box that is dropped: both discretisations converge to each other with first order,
// and sliding approaches Coulomb's law as the ground gets harder.
#include <fmt/format.h>

#include <cmath>

#include "robot_runs.h"
#include "rows.h"
#include "scree/simulation.h"
#include "scree/urdf.h"

namespace scree {
namespace {

constexpr double kGravity = 9.81, kFriction = 0.3, kSpeed = 2;           // [m/s^2], -, [m/s]
constexpr double kExact = kSpeed * kSpeed / (2 * kFriction * kGravity);  // [m] v0^2 / (2 mu g)
constexpr Dissipation kDissipations[] = {Dissipation::contact, Dissipation::total, Dissipation::effective};
constexpr double kHalf = 0.25;  // [m] half an edge of the box

struct BoxRun {
  IntegratorType integrator = IntegratorType::ne_nmdp;
  bool dropped = false;   // else slides
  double dt = 0.001;      // [s]
  double depth = 0.005;   // [m] where a corner carries its share of the weight
  double duration = 0.4;  // [s]
  Dissipation dissipation = Dissipation::contact;
};

// Slides: from rest height with kSpeed; it stops after 0.68 s. Dropped: turned by 0.3 rad, 0.1 m above the ground, with
// 0.5 m/s forward; within 0.4 s one corner lands, then the other.
Eigen::VectorXd final_pose(const Model& model, const BoxRun& run) {
  World world;
  world.add(plane_collider({0, 0, 0}, {0, 0, 1}));
  world.add(contact_candidates(model, ContactCandidates::named));
  world.surface.friction = kFriction;
  CoulombOptions law;
  law.exponent = 3;
  law.depth = run.depth;
  world.law = make_coulomb(law);
  StepOptions options;
  options.integrator = run.integrator;
  options.dt = run.dt;
  options.dissipation = run.dissipation;
  Simulation simulation(model, world, options);
  Eigen::VectorXd q = model.neutral_position(), v = Eigen::VectorXd::Zero(model.nv());
  const double turn = run.dropped ? 0.3 : 0;
  const double lowest = kHalf * (std::cos(turn) + std::sin(turn));  // [m] from the centre down to the lowest corner
  q(1) = run.dropped ? lowest + 0.1 : kHalf - run.depth;
  q(2) = turn;
  v(0) = run.dropped ? 0.5 : kSpeed;
  simulation.set_state(q, v);
  const int steps = static_cast<int>(std::lround(run.duration / run.dt));
  for (int k = 0; k < steps; ++k)
    if (!simulation.step().converged()) return Eigen::VectorXd::Constant(3, std::nan(""));
  return simulation.state().q;
}

}  // namespace

StudyResult study_nmdp_convergence(const StudyContext& context) {
  const Model model = load_urdf(context.data / "models" / "box-planar.urdf");
  std::vector<double> steps;
  // An impact at 1.4 m/s passes 5 mm in 3.5 ms: from 1 ms on it is resolved.
  for (double dt = 0.001; dt > (context.quick ? 0.0001 : 0.00003); dt /= 2) steps.push_back(dt);
  const std::vector<double> depths = {0.016, 0.008, 0.004, 0.002, 0.001};
  const IntegratorType integrators[] = {IntegratorType::ne_nmdp, IntegratorType::pbd_nmdp};

  std::vector<BoxRun> runs;
  constexpr Dissipation kOrders[] = {Dissipation::effective, Dissipation::contact};
  for (const Dissipation dissipation : kOrders)
    for (const bool dropped : {false, true})
      for (const IntegratorType integrator : integrators)
        for (const double dt : steps) runs.push_back({integrator, dropped, dt, 0.005, 0.4, dissipation});
  for (const Dissipation dissipation : kDissipations)
    for (const IntegratorType integrator : integrators)
      for (const double depth : depths) runs.push_back({integrator, false, 0.0005, depth, 1, dissipation});
  std::vector<Eigen::VectorXd> poses(runs.size());
  for_each_job(context.jobs, runs.size(), [&](size_t i) {
    poses[i] = final_pose(model, runs[i]);
    if (!context.progress(0, 1)) throw StudyInterrupted();
  });
  size_t next = 0;  // poses come in the order of the loops above

  StudyResult result;
  result.name = "nmdp-convergence";
  result.title = "Sliding and dropped box: convergence in the step and in the stiffness of the ground";
  result.summary =
      "Backward Euler is of first order: halving the step should halve the change of the final pose, for both "
      "discretisations, and both should arrive at the same pose. A sliding box should stop after v0^2/(2 mu g) once "
      "the "
      "ground is hard.";
  for (const Dissipation dissipation : kOrders)
    for (const bool dropped : {false, true}) {
      const std::string scene =
          fmt::format("{}, {}", dropped ? "dropped box" : "sliding box", dissipation_name(dissipation));
      StudyFigure figure{"Change of the final pose when the step is halved: " + scene,
                         {"step", "ms", true},
                         {"change", "m, rad", true},
                         {},
                         {}};
      std::vector<std::vector<Eigen::VectorXd>> found;
      for (const IntegratorType integrator : integrators) {
        found.emplace_back();
        for (size_t k = 0; k < steps.size(); ++k) found.back().push_back(poses[next++]);
        std::vector<double> dt, change, halvings;
        for (size_t k = steps.size() - 1; k-- > 0;) {
          dt.push_back(steps[k]);
          change.push_back((found.back()[k] - found.back()[k + 1]).norm());
        }
        for (size_t k = 0; k + 1 < change.size(); ++k) halvings.push_back(std::log2(change[k + 1] / change[k]));
        const double order = log_slope(dt, change);
        result.rows.push_back(goal_row(fmt::format("{}: order of {}", scene, integrator_name(integrator)), "", "1",
                                       order, "0.75 to 1.25", order > 0.75 && order < 1.25));
        result.rows.push_back(
            report_row(fmt::format("{}: order of {} by halving, finest first", scene, integrator_name(integrator)), "",
                       "", join_numbers(halvings, "{:.2f}")));
        StudySeries series{integrator_name(integrator), {}, change, false};
        for (const double step : dt) series.x.push_back(1e3 * step);
        figure.series.push_back(std::move(series));
      }
      std::vector<double> dt, apart;
      for (size_t k = steps.size(); k-- > 0;) {
        dt.push_back(1e3 * steps[k]);
        apart.push_back((found[0][k] - found[1][k]).norm());
      }
      const double change = (found[0].back() - found[0][steps.size() - 2]).norm();
      result.rows.push_back(goal_row(
          fmt::format("{}: the two at {} apart, over what the last halving changed", scene, step_name(steps.back())),
          "", "0 by theory", apart.front() / change, "< 0.5", apart.front() / change < 0.5));
      const double order = log_slope(dt, apart);
      result.rows.push_back(goal_row(scene + ": order in which the two meet", "", "1", order,
                                     ">= 0.75, or never 1e-7 apart", order >= 0.75 || largest(apart) < 1e-7));
      figure.series.push_back({"ne-nmdp from pbd-nmdp", dt, apart, true});
      result.figures.push_back(std::move(figure));
    }
  StudyFigure hard{"Sliding distance and the hardness of the ground",
                   {"depth under its share of the weight", "mm", true},
                   {"|distance - v0^2/(2 mu g)|", "m", true},
                   {},
                   {}};
  for (const Dissipation dissipation : kDissipations)
    for (const IntegratorType integrator : integrators) {
      const std::string name = fmt::format("{}, {}", integrator_name(integrator), dissipation_name(dissipation));
      StudySeries series{name, {}, {}, false};
      std::vector<double> distances;
      for (size_t k = 0; k < depths.size(); ++k) distances.push_back(poses[next++](0));
      for (size_t k = depths.size(); k-- > 0;) {
        series.x.push_back(1e3 * depths[k]);
        series.y.push_back(std::abs(distances[k] - kExact));
      }
      const double off = distances.back() / kExact - 1;
      result.rows.push_back(report_row(fmt::format("{}: sliding distance at {:.4g} to {:.4g} mm; Coulomb {:.4f}", name,
                                                   1e3 * depths.front(), 1e3 * depths.back(), kExact),
                                       "m", "", join_numbers(distances, "{:.4f}")));
      result.rows.push_back(
          goal_row(fmt::format("{}: sliding distance at {:.4g} mm off Coulomb's", name, 1e3 * depths.back()), "%",
                   "0 by theory", 100 * off, "within 1", std::abs(off) < 0.01));
      hard.series.push_back(std::move(series));
    }
  result.figures.push_back(std::move(hard));
  result.settings = {{"robot", "box-planar, 1 kg, 0.5 m"},
                     {"contact", fmt::format("exponent 3, friction {}, 5 mm under its share of the weight", kFriction)},
                     {"steps", fmt::format("{} down to {}", step_name(steps.front()), step_name(steps.back()))}};
  return result;
}

}  // namespace scree
