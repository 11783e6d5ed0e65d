// Figure 7.4 of the dissertation: a ball falls, phi = z. Its inclusion with time as a state, quadrant by quadrant, and
// what follows from it: no penetration, time that goes on.
#include <fmt/format.h>

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "rows.h"
#include "scree/research/inclusion.h"
#include "studies.h"

namespace scree {
namespace {

constexpr double kGravity = 9.81;  // [m/s^2]

ContactPoint touching(const char* name, const Vec3& p_B, double radius) {
  ContactPoint point;
  point.name = name;
  point.p_B = p_B;
  point.radius = radius;
  return point;
}

// A ball of 0.1 m radius that moves along z only; z = 0 where it touches the floor.
Model falling_ball(double mass) {
  Body body;
  body.name = "ball";
  body.mass = mass;
  body.inertia = 0.4 * mass * 0.01 * Mat3::Identity();
  Joint joint;
  joint.name = "rail";
  joint.type = JointType::prismatic;
  joint.axis = Vec3::UnitZ();
  joint.X_PJ.p = Vec3(0, 0, 0.1);
  return ModelBuilder("ball")
      .add_body(body, "world", joint)
      .add_contact_point("ball", touching("surface", Vec3::Zero(), 0.1))
      .build();
}

// A uniform rod of 1 m and 1 kg in the plane x, z; its end at -x touches.
Model rod() {
  Body body;
  body.name = "rod";
  body.mass = 1;
  body.inertia = Vec3(1e-3, 1.0 / 12, 1.0 / 12).asDiagonal();
  Joint joint;
  joint.name = "base";
  joint.type = JointType::planar;
  joint.axis = Vec3::UnitY();
  return ModelBuilder("rod")
      .add_body(body, "world", joint)
      .add_contact_point("rod", touching("tip", Vec3(-0.5, 0, 0), 0))
      .build();
}

// A block of 0.2 m x 0.4 m and 1 kg in the plane x, z; its corners touch.
Model block() {
  Body body;
  body.name = "block";
  body.mass = 1;
  body.inertia = (0.2 / 12) * Mat3::Identity();
  Joint joint;
  joint.name = "base";
  joint.type = JointType::planar;
  joint.axis = Vec3::UnitY();
  ModelBuilder builder("block");
  builder.add_body(body, "world", joint);
  int k = 0;
  for (const double x : {-0.1, 0.1})
    for (const double z : {-0.2, 0.2})
      builder.add_contact_point("block", touching(fmt::format("corner{}", k++).c_str(), Vec3(x, 0, z), 0));
  return builder.build();
}

World floor_for(const Model& model, double friction) {
  World world;
  world.add(plane_collider(Vec3::Zero(), Vec3::UnitZ()));
  world.surface.friction = friction;
  world.add(contact_candidates(model, ContactCandidates::named));
  return world;
}

// d/ds of (z, zdot, t) over one step.
struct Flow {
  double z = 0, v = 0, t = 0;
  bool advanced = false;
};
Flow flow_at(Inclusion& inclusion, const Model& model, double z, double v, double ds) {
  State state = make_state(model);
  state.q(0) = z;
  state.v(0) = v;
  const InclusionStep step = inclusion.advance(state, ds);
  if (!step.advanced()) return {};
  return {(state.q(0) - z) / step.ds, (state.v(0) - v) / step.ds, step.dt / step.ds, true};
}

StudyRow largest_row(std::string quantity, std::string unit, std::string paper, double value, double goal) {
  return goal_row(std::move(quantity), std::move(unit), std::move(paper), value, fmt::format("<= {:g}", goal),
                  value <= goal);
}

// The flow on a grid, as short lines; a series for every height.
void add_phase_plot(Inclusion& inclusion, const Model& model, StudyResult& result) {
  StudyFigure figure{"Phase plot: the flow and a trajectory (Fig. 7.4, axes exchanged)",
                     {"velocity", "m/s", false},
                     {"height = gap", "m", false},
                     {},
                     {"Short lines: where s leads while velocity changes by 0.2 m/s. Below height 0 and left of "
                      "velocity 0 they are level: "
                      "velocity changes, height does not. Lines at height 0 on the right lead up: nothing crosses.",
                      "The trajectory falls, is stopped at height 0 by impulse without time, and rests."}};
  const double gap = std::numeric_limits<double>::quiet_NaN();
  for (const double z : {-0.2, -0.1, 0.0, 0.1, 0.2, 0.3, 0.4}) {
    StudySeries lines{fmt::format("flow at {:.1f} m", z), {}, {}, false};
    for (double v = -2.8; v < 3; v += 0.4) {
      State state = make_state(model);
      state.q(0) = z;
      state.v(0) = std::abs(v) < 1e-9 ? 0.0 : v;
      const double v0 = state.v(0), rate = z <= 0 && v0 < 0 ? 1 : kGravity;
      if (!inclusion.advance(state, 0.2 / rate).advanced() || std::abs(state.v(0) - v0) < 0.05) continue;
      // From left to right, then a gap.
      const bool falls = state.v(0) < v0;
      const double left = falls ? state.v(0) : v0, right = falls ? v0 : state.v(0);
      if (!lines.x.empty() && !(left > lines.x.back())) continue;
      lines.x.insert(lines.x.end(), {left, right, right + 1e-6});
      lines.y.insert(lines.y.end(), {falls ? state.q(0) : z, falls ? z : state.q(0), gap});
    }
    figure.series.push_back(std::move(lines));
  }
  StudySeries fall{"trajectory: falls", {}, {}, false}, stop{"trajectory: is stopped", {}, {}, false};
  State state = make_state(model);
  state.q(0) = 0.3;
  state.v(0) = 0.8;
  while (true) {
    const bool colliding = inclusion.mode(state) == InclusionMode::colliding;
    StudySeries& series = colliding || !stop.x.empty() ? stop : fall;
    series.x.push_back(state.v(0));
    series.y.push_back(state.q(0));
    if (inclusion.mode(state) == InclusionMode::boundary || !inclusion.advance(state, 0.02).advanced()) break;
  }
  // The fall ends where the impact begins.
  fall.x.push_back(stop.x.empty() ? 0 : stop.x.front() - 1e-9);
  fall.y.push_back(0);
  std::reverse(fall.x.begin(), fall.x.end());
  std::reverse(fall.y.begin(), fall.y.end());
  figure.series.push_back(std::move(fall));
  figure.series.push_back(std::move(stop));
  result.figures.push_back(std::move(figure));
}

}  // namespace

StudyResult study_event_inclusion(const StudyContext& context) {
  const double mass = 1, ds = 1e-3;
  const Model ball = falling_ball(mass);
  const World world = floor_for(ball, 0);
  Inclusion inclusion(ball, world);

  StudyResult result;
  result.name = "event-inclusion";
  result.title = "Time as a state (dissertation of M. Halm, section 7.3, Fig. 7.4)";
  result.summary =
      "A ball of 1 kg falls on a floor. Its state is (z, zdot, t), its independent variable s adds up time and normal "
      "impulse. Free of contact s is time, in an impact it is impulse, at rest both flow. The flow computed step by "
      "step, against what the figure says of it and against closed forms; then a rod at Painleve's paradox and a "
      "block with many solutions.";
  auto& rows = result.rows;

  // --- the four quadrants ---
  double free_time = 0, free_fall = 0, level = 0, upward = 0, stopped = 0;
  double leaving = std::numeric_limits<double>::infinity(), axis = leaving;
  bool advanced = true;
  for (int i = 1; i <= 20; ++i)
    for (int k = 1; k <= 20; ++k) {
      const double z = 0.05 * i, v = 0.2 * k;
      for (const double sign : {1.0, -1.0}) {  // quadrants I and IV
        const Flow f = flow_at(inclusion, ball, z, sign * v, ds);
        advanced &= f.advanced;
        free_time = std::max(free_time, std::abs(f.t - 1));
        free_fall = std::max(free_fall, std::abs(f.v + kGravity));
      }
      const Flow deep = flow_at(inclusion, ball, -z, -v, ds);  // III
      advanced &= deep.advanced;
      level = std::max(level, std::abs(deep.z));
      stopped = std::max(stopped, deep.t);
      upward = std::max(upward, std::abs(deep.v - 1 / mass));
      const Flow out = flow_at(inclusion, ball, -z, v, ds);  // II
      advanced &= out.advanced;
      leaving = std::min(leaving, out.z);
      const Flow up = flow_at(inclusion, ball, 0, v, ds);
      advanced &= up.advanced;
      axis = std::min(axis, up.z);
    }
  rows.push_back(
      goal_row("steps of the grid that advance", "", "all (theorem 7)", advanced ? "all" : "not all", "all", advanced));
  rows.push_back(largest_row("z > 0: |dt/ds - 1|, largest of 800 states", "", "0: (7.11)", free_time, 1e-12));
  rows.push_back(largest_row("z > 0: |dzdot/ds + g|", "m/s^2", "0: (7.11)", free_fall, 1e-9));
  rows.push_back(largest_row("quadrant III (z < 0, zdot < 0): |dz/ds|, largest of 400 states", "",
                             "0: purely vertical flow", level, 0));
  rows.push_back(largest_row("quadrant III: dt/ds", "", "0: (7.13)", stopped, 0));
  rows.push_back(largest_row("quadrant III: |dzdot/ds - 1/m|", "1/kg", "0: (7.3)", upward, 1e-9));
  rows.push_back(
      goal_row("quadrant II (z < 0, zdot > 0): smallest dz/ds", "", "> 0: points right", leaving, "> 0", leaving > 0));
  rows.push_back(goal_row("z = 0, zdot > 0: smallest dz/ds", "", "> 0: points right", axis, "> 0", axis > 0));
  const Flow rest = flow_at(inclusion, ball, 0, 0, ds);
  rows.push_back(largest_row("z = 0, zdot = 0: |dz/ds|", "", "0: stays on the floor", std::abs(rest.z), 1e-12));

  // --- trajectories: theorem 8 ---
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> height(0, 1), speed(-5, 5), size(-2.5, 0);
  const int trajectories = context.quick ? 50 : 300;
  double lowest = 0;
  int failed = 0, rested = 0;
  for (int k = 0; k < trajectories; ++k) {
    State state = make_state(ball);
    state.q(0) = height(random);
    state.v(0) = speed(random);
    const double step_size = std::pow(10, size(random));
    double used = 0;
    while (used < 12) {  // at most 1.6 s of flight and 7 N s
      const InclusionStep step = inclusion.advance(state, step_size);
      if (!step.advanced()) {
        ++failed;
        break;
      }
      used += step.ds;
      lowest = std::min(lowest, state.q(0));
    }
    rested += inclusion.mode(state) == InclusionMode::boundary;
    if (!context.progress(k + 1, trajectories)) throw StudyInterrupted();
  }
  rows.push_back(goal_row(fmt::format("lowest z of {} trajectories, ds of 0.003 to 1", trajectories), "m",
                          ">= 0: never crosses (theorem 8)", lowest, fmt::format(">= -{:g} m", EventOptions{}.touch),
                          lowest >= -EventOptions{}.touch && failed == 0));
  rows.push_back(goal_row("of these at rest on the floor at s = 12", "", "all", static_cast<double>(rested),
                          fmt::format("{}", trajectories), rested == trajectories));

  // --- t(s) in closed form ---
  const double z0 = 0.3, fall = std::sqrt(2 * z0 / kGravity), impulse = mass * std::sqrt(2 * kGravity * z0);
  StudyFigure clock{"Time against s: falls, is stopped, rests", {"s", "s, N s", false}, {"t", "s", false}, {}, {}};
  StudySeries computed{"scree", {0}, {0}, false}, exact{"closed form", {0}, {0}, true};
  State state = make_state(ball);
  state.q(0) = z0;
  double s = 0, worst = 0, sum = 0;
  while (s < fall + impulse + 3) {
    const InclusionStep step = inclusion.advance(state, 0.02);
    if (!step.advanced()) break;
    s += step.ds;
    sum += step.normal_impulse;
    const double t = s <= fall ? s : s <= fall + impulse ? fall : fall + (s - fall - impulse) / (1 + mass * kGravity);
    worst = std::max(worst, std::abs(state.time - t));
    computed.x.push_back(s);
    computed.y.push_back(state.time);
    exact.x.push_back(s);
    exact.y.push_back(t);
  }
  clock.series = {computed, exact};
  rows.push_back(largest_row("ball from 0.3 m: largest |t(s) - closed form|", "s", "0", worst, 1e-12));
  rows.push_back(
      largest_row("|s - t - normal impulse|", "s, N s", "0: (7.16) to (7.18)", std::abs(s - state.time - sum), 1e-12));

  // --- time at rest ---
  StudyFigure factor{"How time slows down at rest", {"weight", "N", true}, {"dt/ds", "", true}, {}, {}};
  StudySeries measured{"scree", {}, {}, false}, theory{"1/(1 + m g)", {}, {}, true};
  double error = 0;
  for (const double m : {0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0}) {
    const Model model = falling_ball(m);
    const World floor = floor_for(model, 0);
    Inclusion resting(model, floor);
    const double dt = flow_at(resting, model, 0, 0, ds).t, known = 1 / (1 + m * kGravity);
    error = std::max(error, std::abs(dt / known - 1));
    measured.x.push_back(m * kGravity);
    measured.y.push_back(dt);
    theory.x.push_back(m * kGravity);
    theory.y.push_back(known);
  }
  factor.series = {measured, theory};
  rows.push_back(goal_row("dt/ds at rest, 1 kg", "", fmt::format("{:.6f} = 1/(1 + m g)", 1 / (1 + mass * kGravity)),
                          rest.t, "within 1e-12", std::abs(rest.t * (1 + mass * kGravity) - 1) <= 1e-12));
  rows.push_back(largest_row("dt/ds at rest, 0.01 to 100 kg: largest relative difference from 1/(1 + m g)", "",
                             "0: (7.16)", error, 1e-12));

  // --- Painleve ---
  const Model stick = rod();
  const World rough = floor_for(stick, 2);
  Inclusion sliding(stick, rough);
  const double theta = std::atan(2.0);
  Eigen::VectorXd q(3), v(3);
  q << 0.5 * std::cos(theta), 0.5 * std::sin(theta), -theta;
  v << -1, 0, 0;
  State tip = make_state(stick, q, v);
  const ImpactProblem problem = sliding.impact_problem(tip);
  Eigen::MatrixXd J(2, 3);
  J << problem.Jn, problem.Jt;
  const Eigen::Vector2d stop = (J * problem.M.inverse() * J.transpose()).inverse() * (-J * problem.v);
  double spent = 0;
  for (int k = 0; k < 10000 && (J * tip.v).cwiseAbs().maxCoeff() > 1e-9; ++k) {
    const InclusionStep step = sliding.advance(tip, 1e-3);
    if (!step.advanced()) break;
    spent += step.normal_impulse;
  }
  rows.push_back(largest_row("Painleve's rod, tan = 2, friction 2: time while it is stopped", "s",
                             "0: impact without collision", tip.time, 0));
  rows.push_back(goal_row("its normal impulse", "N s", fmt::format("{:.6f}: closed form", stop(0)), spent,
                          "closed form within 1e-9", std::abs(spent - stop(0)) <= 1e-9));
  rows.push_back(
      largest_row("its largest tip velocity afterwards", "m/s", "0", (J * tip.v).cwiseAbs().maxCoeff(), 1e-9));

  // --- many solutions: theorem 10 ---
  const Model slab = block();
  const World ground = floor_for(slab, 0.7);
  const int solutions = context.quick ? 20 : 200;
  StudyFigure spread{"A block lands flat: its angle against time, by seed",
                     {"t", "s", false},
                     {"angle", "rad", false},
                     {},
                     {"One start, several of its solutions: the shares of the two corners are drawn."}};
  double slowest = 1, deepest = 0, least_angle = 0, largest_angle = 0;
  int lost = 0;
  for (int k = 0; k < solutions; ++k) {
    InclusionOptions options;
    options.selection = InclusionSelection::random;
    options.seed = static_cast<std::uint64_t>(k);
    Inclusion drawn(slab, ground, options);
    Eigen::VectorXd start(3), rate(3);
    start << 0, 0.25, 0;
    rate << 0, -0.5, 0;
    State at = make_state(slab, start, rate);
    StudySeries series{fmt::format("seed {}", k), {0}, {0}, false};
    double used = 0;
    while (used < 8) {
      const InclusionStep step = drawn.advance(at, 0.02);
      if (!step.advanced()) {
        ++lost;
        break;
      }
      used += step.ds;
      deepest = std::min(deepest, drawn.least_gap(at));
      if (at.time > series.x.back()) {
        series.x.push_back(at.time);
        series.y.push_back(at.q(2));
      }
      least_angle = std::min(least_angle, at.q(2));
      largest_angle = std::max(largest_angle, at.q(2));
    }
    slowest = std::min(slowest, at.time / used);
    if (k < 12) spread.series.push_back(std::move(series));
    if (!context.progress(k + 1, solutions)) throw StudyInterrupted();
  }
  // s = t (1 + m g) + m (w - w0) on a level floor; energy bounds the vertical velocity w.
  const double fastest = std::sqrt(0.25 + 2 * kGravity * 0.25), bound = (1 - 2 * fastest / 8) / (1 + kGravity);
  rows.push_back(goal_row(fmt::format("block, {} solutions to s = 8: smallest t/s", solutions), "", "> 0: corollary 2",
                          slowest, fmt::format(">= {:.4f} by energy", bound), slowest >= bound && lost == 0));
  rows.push_back(goal_row("their lowest gap", "m", ">= 0: theorem 8", deepest,
                          fmt::format(">= -{:g} m", EventOptions{}.touch), deepest >= -EventOptions{}.touch));
  rows.push_back(goal_row("they rock both ways: least and largest angle", "rad", "several solutions",
                          fmt::format("{:.4f}, {:.4f}", least_angle, largest_angle), "< -0.01, > 0.01",
                          least_angle < -0.01 && largest_angle > 0.01));

  add_phase_plot(inclusion, ball, result);
  result.figures.push_back(std::move(clock));
  result.figures.push_back(std::move(factor));
  result.figures.push_back(std::move(spread));
  result.settings = {{"ball", "1 kg, gravity 9.81 m/s^2, floor at z = 0"},
                     {"touch", fmt::format("{:g} m", EventOptions{}.touch)},
                     {"rest_speed", fmt::format("{:g} m/s", EventOptions{}.rest_speed)},
                     {"ds", "0.001 on grids, 0.02 along trajectories"}};
  return result;
}

}  // namespace scree
