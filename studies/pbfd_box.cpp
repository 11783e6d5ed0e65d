// Fig. 5 of the PBFD paper: how far a box slides against the coefficient of its friction, at small and large steps.
#include <fmt/format.h>

#include <cmath>

#include "robot_runs.h"
#include "rows.h"
#include "scree/simulation.h"
#include "scree/urdf.h"

namespace scree {
namespace {

using enum IntegratorType;
using Form = SmoothContactOptions::Form;

constexpr double kGravity = 9.81, kSpeed = 1, kDepth = 0.005;  // [m/s^2] [m/s] [m]
constexpr double kFlat = 0.1, kCube = 0.5;                     // [m] heights

// Of dry friction the coefficient is mu. Of friction proportional to the speed it is the ratio of friction and normal
// force at 1 m/s and the depth of rest: C_par = coefficient share / (2 depth^2).
struct BoxRun {
  IntegratorType integrator = pbfd;
  double coefficient = 0.5, dt = 0.01, duration = 10, height = kFlat;
  Form form = Form::velocity;
};

struct BoxEnd {
  double distance = std::nan(""), tilt = 0;  // [m] [rad]
  int rejected = 0;
};

// Half a metre long, 1 kg, two contact points below. A cube (models/box-planar.urdf) tips over its front edge from
// friction 1 on; a flat box does not.
Model box(const Model& cube, double height) {
  if (height == kCube) return cube;
  ModelBuilder builder("flat box");
  Body body;
  body.name = "box";
  body.mass = 1;
  const double square = 0.25 + height * height;
  body.inertia = Vec3(square, square, 0.5).asDiagonal() * (1.0 / 12);
  Joint joint;
  joint.name = "base";
  joint.type = JointType::planar;
  joint.axis = Vec3::UnitY();
  builder.add_body(body, "world", joint);
  return builder.build();
}

BoxEnd slide(const Model& cube, const BoxRun& run) {
  const Model model = box(cube, run.height);
  World world;
  world.add(plane_collider({0, 0, 0}, {0, 0, 1}));
  for (Collider point : contact_candidates(cube, ContactCandidates::named)) {
    point.X_BS.p.z() = -run.height / 2;
    world.add(point);
  }
  world.smooth.depth = kDepth;
  world.smooth.form = run.form;
  world.surface.friction = run.coefficient;
  world.smooth.speed = 1 / run.coefficient;
  StepOptions options;
  options.integrator = run.integrator;
  options.dt = run.dt;
  Simulation simulation(model, world, options);
  Eigen::VectorXd q = model.neutral_position(), v = Eigen::VectorXd::Zero(model.nv());
  q(1) = run.height / 2 - (run.integrator == ne_lcp ? 0 : kDepth);  // rigid ground, or at the depth of rest
  v(0) = kSpeed;
  simulation.set_state(q, v);
  BoxEnd end;
  const long steps = std::lround(run.duration / run.dt);
  for (long k = 0; k < steps; ++k) {
    const StepReport report = simulation.step();
    end.rejected += report.rejected;
    if (!report.converged()) return end;
  }
  end.distance = simulation.state().q(0);
  end.tilt = simulation.state().q(2);
  return end;
}

bool dry(IntegratorType integrator) {
  return integrator == ne_lcp || integrator == pbfd_coulomb || integrator == pbfd_coulomb2;
}

// [m] by theory, at rest or after `duration`
double exact_distance(const BoxRun& run) {
  if (dry(run.integrator)) return kSpeed * kSpeed / (2 * run.coefficient * kGravity);
  const double rate = run.coefficient * kGravity / kSpeed;
  return kSpeed / rate * -std::expm1(-rate * run.duration);
}

struct Curve {
  std::string name;
  IntegratorType integrator;
  double dt;
  Form form;
  double height;
  std::vector<double> coefficients, distances;
};

// Coefficients at which the distance is more than a tenth of a millimetre longer than at the one before.
int rises(const Curve& curve) {
  int count = 0;
  for (size_t k = 1; k < curve.distances.size(); ++k) count += curve.distances[k] > curve.distances[k - 1] + 1e-4;
  return count;
}
bool complete(const Curve& curve) {
  for (const double distance : curve.distances)
    if (!std::isfinite(distance)) return false;
  return true;
}

}  // namespace

StudyResult study_pbfd_box(const StudyContext& context) {
  const Model cube = load_urdf(context.data / "models" / "box-planar.urdf");
  const double duration = context.quick ? 5 : 10;
  const std::vector<double> steps =
      context.quick ? std::vector{0.01, 0.05, 0.1} : std::vector{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2};
  const std::vector<double> drags = {0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 2, 3, 5, 7, 10, 20, 30, 50};
  const std::vector<double> frictions = {0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.5, 2};

  // --- curves: distance over coefficient, by step ---
  std::vector<Curve> curves;
  std::vector<BoxRun> runs;
  struct Kind {
    IntegratorType integrator;
    Form form = Form::velocity;
    double height = kFlat;
  };
  for (const Kind& kind : {Kind{ne_lcp},
                           {pbfd_coulomb},
                           {pbfd},
                           {pbd_friction},
                           {pbfd, Form::printed},
                           {pbd_friction, Form::printed},
                           {ne_lcp, Form::velocity, kCube},
                           {pbfd_coulomb, Form::velocity, kCube},
                           {pbfd, Form::velocity, kCube}})
    for (const double dt : steps) {
      std::string name = integrator_name(kind.integrator);
      if (kind.form == Form::printed) name += ", printed";
      if (kind.height == kCube) name += ", cube";
      curves.push_back(
          {name, kind.integrator, dt, kind.form, kind.height, dry(kind.integrator) ? frictions : drags, {}});
      for (const double c : curves.back().coefficients)
        runs.push_back({kind.integrator, c, dt, duration, kind.height, kind.form});
    }
  const size_t grid = runs.size();
  // --- Coulomb's law: the grid of the goal ---
  const std::vector<double> mu = {0.1, 0.2, 0.3, 0.5, 0.7, 1}, dts = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05};
  struct Law {
    IntegratorType integrator;
    double height;
  };
  const Law laws[] = {{pbfd_coulomb, kFlat}, {pbfd_coulomb2, kFlat}, {ne_lcp, kFlat},
                      {pbfd_coulomb, kCube}, {pbfd_coulomb2, kCube}, {ne_lcp, kCube}};
  for (const Law& law : laws)
    for (const double m : mu)
      for (const double dt : dts) runs.push_back({law.integrator, m, dt, 1.0 / (m * kGravity) + 0.5, law.height});

  std::vector<BoxEnd> ends(runs.size());
  for_each_job(context.jobs, runs.size(), [&](size_t i) {
    ends[i] = slide(cube, runs[i]);
    if (!context.progress(0, 1)) throw StudyInterrupted();
  });
  size_t next = 0;
  for (Curve& curve : curves)
    for (size_t k = 0; k < curve.coefficients.size(); ++k) curve.distances.push_back(ends[next++].distance);

  StudyResult result;
  result.name = "pbfd-box";
  result.title = "How far a box slides (PBFD paper, Fig. 5)";
  result.summary =
      "A flat box starts at 1 m/s. Distance against the coefficient of friction: mu of dry friction, or the ratio of "
      "friction and normal force at 1 m/s where friction is proportional to the speed. The paper: distances of PBFD "
      "and "
      "of dry friction fall; those of the energy form rise beyond a threshold, sooner at larger steps; at large steps "
      "those of dry friction become erratic, those of PBFD do not.";
  int unfinished = 0;
  for (size_t i = 0; i < runs.size(); ++i) unfinished += std::isfinite(ends[i].distance) ? 0 : 1;
  result.rows.push_back(
      goal_row(fmt::format("runs that fail, of {}", runs.size()), "", "0", double(unfinished), "0", unfinished == 0));

  // (b), (d): do distances fall with the coefficient? The paper: but those of dry friction at large steps.
  const auto falls = [&](IntegratorType integrator, double height, bool small) {
    int count = 0, total = 0;
    bool all = true;
    std::string name;
    for (const Curve& curve : curves) {
      if (curve.integrator != integrator || curve.form != Form::velocity || curve.height != height ||
          (curve.dt < 0.03) != small)
        continue;
      name = curve.name;
      count += rises(curve);
      total += static_cast<int>(curve.distances.size()) - 1;
      all = all && complete(curve);
    }
    const std::string quantity = fmt::format("{}: where the distance rises with the coefficient, {}, of {}", name,
                                             small ? "steps below 30 ms" : "50 ms and more", total);
    const bool erratic = integrator == ne_lcp && !small;
    const char* paper = integrator == pbfd_coulomb ? "" : erratic ? "some" : "0";
    // The cube is held to the same: it tips from friction 1 on, and what tips need not stop sooner with more of it.
    if (!all)
      result.rows.push_back(goal_row(quantity, "", paper, "runs failed", "0", false));
    else
      result.rows.push_back(
          goal_row(quantity, "", paper, double(count), erratic ? "> 0, as in the paper" : "0", erratic == (count > 0)));
  };
  for (const double height : {kFlat, kCube})
    for (const bool small : {true, false})
      for (const IntegratorType integrator : {ne_lcp, pbfd_coulomb, pbfd}) falls(integrator, height, small);

  // (d): how far off at large steps? Half a step of travel is what any scheme of first order may lose.
  for (const double height : {kFlat, kCube})
    for (const IntegratorType integrator : {ne_lcp, pbfd_coulomb, pbfd}) {
      double worst = 0;
      std::string name;
      for (const Curve& curve : curves) {
        if (curve.integrator != integrator || curve.form != Form::velocity || curve.height != height || curve.dt < 0.03)
          continue;
        name = curve.name;
        for (size_t k = 0; k < curve.coefficients.size(); ++k) {
          const BoxRun run{integrator, curve.coefficients[k], curve.dt, duration, height};
          const double off = std::abs(curve.distances[k] - exact_distance(run));
          worst = std::max(worst, std::isfinite(off) ? off / (0.5 * kSpeed * curve.dt) : INFINITY);
        }
      }
      const std::string quantity = fmt::format("{}: worst error of the distance at 50 ms and more, over v0 dt/2", name);
      if (integrator == ne_lcp)
        result.rows.push_back(goal_row(quantity, "", "erratic", worst, "> 2, as in the paper", worst > 2));
      else
        result.rows.push_back(goal_row(quantity, "", "not erratic", worst, "<= 1", worst <= 1));
    }

  // (b), (c): the threshold of the energy form
  for (const Form form : {Form::velocity, Form::printed}) {
    std::vector<double> thresholds;
    for (const Curve& curve : curves) {
      if (curve.integrator != pbd_friction || curve.form != form || !complete(curve)) continue;
      size_t least = 0;
      for (size_t k = 1; k < curve.distances.size(); ++k)
        if (curve.distances[k] < curve.distances[least]) least = k;
      const bool turns = least + 1 < curve.distances.size() && curve.distances.back() > curve.distances[least] + 1e-3;
      const std::string name = fmt::format("{}, {}", curve.name, step_name(curve.dt));
      const std::string text =
          turns ? fmt::format("{:.3g}: {:.4g} m there, {:.4g} m at {:.3g}", curve.coefficients[least],
                              curve.distances[least], curve.distances.back(), curve.coefficients.back())
                : fmt::format("none up to {:.3g}: {:.4g} m", curve.coefficients.back(), curve.distances.back());
      result.rows.push_back(report_row(name + ": coefficient with the shortest distance", "", "a threshold", text));
      if (!turns) continue;
      thresholds.push_back(curve.coefficients[least]);
    }
    bool sooner = thresholds.size() > 1;
    for (size_t k = 1; k < thresholds.size(); ++k) sooner = sooner && thresholds[k] <= thresholds[k - 1];
    if (form == Form::velocity)
      result.rows.push_back(goal_row("pbd-friction: thresholds fall as the step grows", "", "sooner at larger steps",
                                     join_numbers(thresholds, "{:.3g}"), "at least two, falling", sooner));
  }

  // The form as printed: quadratic in the displacement, so that it depends on the step and the box never stops.
  {
    const auto distance = [&](const char* name, double dt) {
      for (const Curve& curve : curves)
        if (curve.name == name && curve.dt == dt)
          for (size_t k = 0; k < curve.coefficients.size(); ++k)
            if (curve.coefficients[k] == 1) return curve.distances[k];
      return std::nan("");
    };
    for (const char* name : {"pbfd", "pbfd, printed"})
      result.rows.push_back(report_row(
          fmt::format("{}: distance with coefficient 1 at {} and at {}", name, step_name(steps.front()),
                      step_name(steps.back())),
          "m", "", fmt::format("{:.4g}, {:.4g}", distance(name, steps.front()), distance(name, steps.back()))));
    const BoxRun once{pbfd, 50, 0.1, duration, kFlat, Form::printed},
        twice{pbfd, 50, 0.1, 2 * duration, kFlat, Form::printed};
    result.rows.push_back(report_row(
        fmt::format("pbfd, printed: distance with coefficient 50, 100 ms, after {} s and {} s", duration, 2 * duration),
        "m", "at rest", fmt::format("{:.4g}, {:.4g}", slide(cube, once).distance, slide(cube, twice).distance)));
  }

  // Coulomb's law
  next = grid;
  for (const Law& law : laws) {
    double worst = 0;
    std::string where;
    for (const double m : mu)
      for (const double dt : dts) {
        const double exact = kSpeed * kSpeed / (2 * m * kGravity), off = std::abs(ends[next++].distance - exact);
        const double part = std::isfinite(off) ? off / (0.02 * exact + 0.5 * kSpeed * dt) : INFINITY;
        if (part > worst) worst = part, where = fmt::format("friction {:.3g}, {}", m, step_name(dt));
      }
    const bool flat = law.height == kFlat;
    const std::string quantity =
        fmt::format("{}, {}: worst error over 2 % of v0^2/(2 mu g) and v0 dt/2, friction 0.1 to 1, 1 to 50 ms; at {}",
                    integrator_name(law.integrator), flat ? "flat box" : "cube, which tips from 1 on", where);
    result.rows.push_back(goal_row(quantity, "", "", worst, "<= 1", worst <= 1));
  }

  for (const double dt : {0.01, 0.05, 0.1}) {
    StudyFigure figure{fmt::format("Sliding distance after {} s, steps of {}", duration, step_name(dt)),
                       {"coefficient: mu, or friction over normal force at 1 m/s", "", true},
                       {"distance", "m", true},
                       {},
                       {}};
    for (const Curve& curve : curves)
      if (curve.dt == dt && curve.height == kFlat)
        figure.series.push_back({curve.name, curve.coefficients, curve.distances, false});
    StudySeries theory{"v0^2/(2 mu g)", frictions, {}, true};
    for (const double m : frictions) theory.y.push_back(kSpeed * kSpeed / (2 * m * kGravity));
    figure.series.push_back(std::move(theory));
    result.figures.push_back(std::move(figure));
  }
  result.settings = {{"box", "0.5 m long, 0.1 m high, 1 kg, two contact points; starts at 1 m/s"},
                     {"smooth contact", "exponents 2, 1, 1; at rest 5 mm deep; creep 2 mm/s"},
                     {"steps", fmt::format("{} to {}", step_name(steps.front()), step_name(steps.back()))}};
  return result;
}

}  // namespace scree
