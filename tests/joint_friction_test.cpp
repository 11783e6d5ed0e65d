// Dry friction of joints: closed forms in every integrator, the search for its sides, what it does to energy.
#include "control/joint_friction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string_view>

#include "scree/derivatives.h"
#include "scree/dynamics.h"
#include "scree/error.h"
#include "scree/kinematics.h"
#include "scree/research/inclusion.h"
#include "scree/simulation.h"
#include "scree/urdf.h"
#include "support/contact_robots.h"
#include "support/mechanisms.h"
#include "support/paths.h"
#include "support/random_tree.h"

namespace scree {
namespace {

constexpr double kMass = 2;

Joint slider(double friction, const Vec3& axis = Vec3::UnitX()) {
  Joint joint;
  joint.type = JointType::prismatic;
  joint.axis = axis;
  joint.friction = friction;
  return joint;
}

StepOptions step_of(double dt, IntegratorType integrator) {
  StepOptions options;
  options.integrator = integrator;
  options.dt = dt;
  return options;
}

bool second_order(IntegratorType integrator) { return std::string_view(integrator_name(integrator)).ends_with('2'); }
bool exact(IntegratorType integrator) {  // finds the times at which joints stop and start
  return integrator == IntegratorType::rk4 || integrator == IntegratorType::event;
}

// A slider is stopped by friction alone: after v_0/a, a = f/m, at v_0^2/2a, where it stays. Backward Euler, whose step
// covers h times the velocity at its end, is short by h v_0/2 to first order; second order is off by what it does in
// the step of the stop, of the size a h^2; rk4 and event find the stop.
TEST(JointFriction, SliderStopsWhereItShould) {
  const double friction = 3, speed = 1, a = friction / kMass, h = 0.01;
  const Model model = test::single_joint(slider(friction), kMass);
  for (const IntegratorType integrator : integrators()) {
    Simulation s(model, test::weightless(), step_of(h, integrator));
    s.set_state(Eigen::VectorXd::Zero(1), Eigen::VectorXd::Constant(1, speed));
    const double time = speed / a, way = speed * speed / (2 * a);
    double last = speed, at_stop = 0, stopped = -1;
    int iterations = 0;
    for (int k = 0; k < 300; ++k) {
      const StepReport report = s.step();
      ASSERT_TRUE(report.converged()) << integrator_name(integrator) << " " << k << " " << report.reason;
      iterations += report.iterations;
      const double v = s.state().v(0);
      EXPECT_LE(std::abs(v), std::abs(last) + 1e-12) << integrator_name(integrator);
      last = v;
      if (stopped < 0 && std::abs(v) <= kJointCreep) stopped = s.state().time, at_stop = s.state().q(0);
    }
    const double off = exact(integrator) ? 1e-9 : second_order(integrator) ? a * h * h : 0.5 * h * speed + a * h * h;
    EXPECT_NEAR(at_stop, way, off) << integrator_name(integrator);
    EXPECT_NEAR(stopped, time, 2 * h) << integrator_name(integrator);
    EXPECT_NEAR(s.state().q(0), at_stop, 1e-9) << integrator_name(integrator);
    EXPECT_NEAR(s.state().v(0), 0, 1e-9) << integrator_name(integrator);
    EXPECT_LE(iterations, 1000) << integrator_name(integrator);
  }
}

// A slider that another follows m times as fast the other way round, each with friction of its own: of the coordinate
// they slow down with (f_1 + |m| f_2)/(m_1 + m^2 m_2), and stop after v^2/2a.
TEST(JointFriction, JointsThatFollowRubToo) {
  constexpr double m = -2, mass_1 = 2, mass_2 = 0.5, friction_1 = 0.8, friction_2 = 1.1, speed = 1, h = 0.01;
  constexpr double a = (friction_1 - m * friction_2) / (mass_1 + m * m * mass_2);
  for (const bool master_rubs : {true, false}) {
    ModelBuilder builder("sliders");
    const auto add = [&](const std::string& name, double mass, double friction, bool follows) {
      Body body;
      body.name = name;
      body.mass = mass;
      body.inertia = 0.01 * Mat3::Identity();
      Joint joint = slider(friction);
      joint.name = name + "_rail";
      if (follows) joint.mimic = Mimic{"driver_rail", m, 0.1};
      builder.add_body(body, "world", joint);
    };
    // All of it in the master, or shared with the one that follows: the same motion.
    add("driver", mass_1, master_rubs ? friction_1 - m * friction_2 : friction_1, false);
    add("driven", mass_2, master_rubs ? 0 : friction_2, true);
    const Model model = builder.build();
    for (const IntegratorType integrator : integrators()) {
      Simulation s(model, test::weightless(), step_of(h, integrator));
      s.set_state(Eigen::VectorXd::Zero(1), Eigen::VectorXd::Constant(1, speed));
      for (int k = 0; k < 200; ++k)
        ASSERT_TRUE(s.step().converged()) << integrator_name(integrator) << " at " << s.state().time;
      // As SliderStopsWhereItShould.
      const double off = exact(integrator) ? 1e-9 : second_order(integrator) ? a * h * h : 0.5 * h * speed + a * h * h;
      EXPECT_NEAR(s.state().q(0), speed * speed / (2 * a), off) << integrator_name(integrator);
      EXPECT_NEAR(s.state().v(0), 0, 1e-9) << integrator_name(integrator);
    }
  }
}

// Loaded by half of what friction holds, a joint creeps with half of the creep; rk4 and event hold it. Loaded by 1.1 of
// it, it slides with the difference.
TEST(JointFriction, HoldsBelowItsLimitAndSlidesAboveIt) {
  const double load = kMass * 9.81;
  for (const IntegratorType integrator : integrators()) {
    const double h = 0.02;
    Simulation holds(test::single_joint(slider(2 * load, Vec3::UnitZ()), kMass), step_of(h, integrator));
    int iterations = 0;
    for (int k = 0; k < 3000; ++k) {
      const StepReport report = holds.step();
      ASSERT_TRUE(report.converged()) << integrator_name(integrator) << " " << report.reason;
      iterations += report.iterations;
    }
    const double crept = exact(integrator) ? 0 : 0.5 * kJointCreep * 60;
    EXPECT_NEAR(holds.state().q(0), -crept, 0.01 * crept + 1e-12) << integrator_name(integrator);
    EXPECT_LE(iterations, 2.5 * 3000) << integrator_name(integrator);

    Simulation slides(test::single_joint(slider(load / 1.1, Vec3::UnitZ()), kMass), step_of(h, integrator));
    for (int k = 0; k < 50; ++k) ASSERT_TRUE(slides.step().converged()) << integrator_name(integrator);
    const double a = 9.81 * (1 - 1 / 1.1);
    EXPECT_NEAR(slides.state().v(0), -a, 1e-6) << integrator_name(integrator);
    const double off = exact(integrator) ? 1e-9 : second_order(integrator) ? a * h * h : 0.5 * h * a + a * h * h;
    EXPECT_NEAR(slides.state().q(0), -0.5 * a, off) << integrator_name(integrator);
  }
}

// A pendulum released level: friction turns the swing about an angle that is off by what it takes, and holds it away
// from the lowest place in the end. Energy never rises.
TEST(JointFriction, PendulumLosesWhatFrictionTakes) {
  const double m = 1.3, l = 0.8, f = 0.6;
  const Model model = test::with_friction(test::pendulum(m, l), [&](const Joint&) { return f; });
  for (const IntegratorType integrator : integrators()) {
    Simulation s(model, step_of(0.005, integrator));
    s.set_state(Eigen::VectorXd::Constant(1, 1.5), Eigen::VectorXd::Zero(1));
    Dynamics dynamics(model);
    const auto energy = [&] {
      dynamics.set_position(s.state().q);
      return dynamics.kinetic_energy(s.state().v) + dynamics.gravity_energy(Vec3(0, 0, -9.81));
    };
    double before = energy();
    const double start = before;
    double turned = 0;
    for (int k = 0; k < 2400; ++k) {
      const double q = s.state().q(0);
      ASSERT_TRUE(s.step().converged()) << integrator_name(integrator);
      turned += std::abs(s.state().q(0) - q);
      const double now = energy();
      // Second order keeps energy to its third power of the step.
      EXPECT_LE(now, before + (second_order(integrator) ? 2e-6 : 1e-9)) << integrator_name(integrator) << " " << k;
      before = now;
    }
    const double weight = m * 9.81 * l / 2 * std::sin(std::abs(s.state().q(0)));
    EXPECT_LE(weight, f * (1 + 1e-6)) << integrator_name(integrator);
    EXPECT_LE(std::abs(s.state().v(0)), kJointCreep) << integrator_name(integrator);
    // All of it went into friction, but for what a scheme of first order damps, and where a step turns back within.
    if (exact(integrator) || second_order(integrator)) {
      EXPECT_NEAR(f * turned, start - before, second_order(integrator) ? 1e-2 : 2e-3) << integrator_name(integrator);
    }
  }
}

// A slider on a spring k whose other end moves with u. It sticks until the spring pulls with f, at t_0 = f/(k u). Then
// y = x - u (t - t_0) obeys y'' = -w^2 y with y(0) = 0, y'(0) = -u, so
//   x = u s - (u/w) sin w s,   x' = u (1 - cos w s),   s = t - t_0,
// whose speed touches zero once a period, where the spring pulls with f exactly, and goes on.
TEST(JointFriction, StickSlipIsThatOfThePiecewiseSolution) {
  const double f = 4, k = 50, w = std::sqrt(k / kMass), u = 0.1;
  const Model model = test::single_joint(slider(f), kMass);
  const double t0 = f / (k * u);
  const auto truth = [&](double t) { return t <= t0 ? 0 : u * (t - t0) - u / w * std::sin(w * (t - t0)); };
  for (const IntegratorType integrator : integrators()) {
    double errors[2] = {};
    for (int fine = 0; fine < 2; ++fine) {
      StepOptions options = step_of(fine ? 0.001 : 0.002, integrator);
      Simulation s(model, test::weightless(), options);
      s.control().kp.setConstant(k);
      while (s.state().time < 2.5) {
        s.control().target(0) = u * (s.state().time + (exact(integrator) ? 0.5 : 1) * options.dt);
        ASSERT_TRUE(s.step().converged()) << integrator_name(integrator);
        errors[fine] = std::max(errors[fine], std::abs(s.state().q(0) - truth(s.state().time)));
      }
    }
    EXPECT_LE(errors[1], 1e-3) << integrator_name(integrator);
    EXPECT_LE(errors[1], 0.62 * errors[0] + 1e-5) << integrator_name(integrator) << " " << errors[0];
  }
}

// Free decay on a spring: x'' = -w^2 (x + s f/k), half periods of pi/w about centres +-f/k, so turning points at
// x_0, -(x_0 - 2 f/k), ...; rest where |x| <= f/k.
TEST(JointFriction, SpringComesToRestWhereFrictionHoldsIt) {
  const double f = 2, k = 50, x0 = 0.5, c = f / k;
  const Model model = test::single_joint(slider(f), kMass);
  double rest = x0;
  while (std::abs(rest) > c) rest = -(rest - std::copysign(2 * c, rest));
  for (const IntegratorType integrator : integrators()) {
    Simulation s(model, test::weightless(), step_of(0.001, integrator));
    s.control().kp.setConstant(k);
    s.set_state(Eigen::VectorXd::Constant(1, x0), Eigen::VectorXd::Zero(1));
    double v = 0;
    for (int n = 0; n < 5000; ++n) {
      ASSERT_TRUE(s.step().converged()) << integrator_name(integrator);
      v = s.state().v(0);
    }
    EXPECT_LE(std::abs(v), kJointCreep) << integrator_name(integrator);
    const double last = s.state().q(0);
    if (exact(integrator)) {
      EXPECT_NEAR(last, rest, 1e-7) << integrator_name(integrator);
    } else if (second_order(integrator)) {
      EXPECT_NEAR(last, rest, 2e-3) << integrator_name(integrator);
    } else {  // damped by k h/2 besides
      EXPECT_LE(std::abs(last), 1.001 * c) << integrator_name(integrator);
    }
  }
}

// A step linear in its displacement is min 1/2 d.A d - b.d + h sum phi(d), which coordinate descent solves, too.
TEST(JointFriction, SidesAreThoseOfTheMinimum) {
  test::Random random(17);
  int tries = 0, rejected = 0, changed = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const int n = 3 + trial % 10;
    const double size = std::pow(10, test::uniform(random, -3, 0.5));
    const Model model =
        test::with_friction(test::chain(n), [&](const Joint&) { return size * test::uniform(random, 0.2, 5); });
    const double h = std::pow(10, test::uniform(random, -3, -1));
    Eigen::VectorXd q(n), v(n);
    for (int a = 0; a < n; ++a) {
      q(a) = test::uniform(random, -1.5, 1.5);
      v(a) = trial % 3 == 0 ? 0 : test::uniform(random, -3, 3);
    }
    StepOptions options = step_of(h, IntegratorType::ne_mdp);
    options.max_halvings = 0;
    Simulation s(model, options);
    s.set_state(q, v);
    ++tries;
    if (!s.step().converged()) {
      ++rejected;
      continue;
    }
    Dynamics dynamics(model);
    dynamics.set_position(q);
    const Eigen::MatrixXd M = dynamics.mass_matrix();
    Eigen::VectorXd bias(n);
    dynamics.bias_force(v, Vec3(0, 0, -9.81), bias);
    // M (v' - v) + h C = -h clamp(v' f/creep)
    const Eigen::VectorXd b = M * v - h * bias;
    Eigen::VectorXd x = v;
    double change = 1;
    for (int sweep = 0; sweep < 200000 && change > 1e-13; ++sweep) {
      change = 0;
      for (int a = 0; a < n; ++a) {
        const double f = h * model.joint(JointIndex(a)).friction, r = b(a) - M.row(a).dot(x) + M(a, a) * x(a);
        double next = r / (M(a, a) + f / kJointCreep);
        if (std::abs(next) > kJointCreep) next = (r - std::copysign(f, r)) / M(a, a);
        change = std::max(change, std::abs(next - x(a)));
        x(a) = next;
      }
    }
    for (int a = 0; a < n; ++a) changed += side_of_slip<double>(x(a), 1) != side_of_slip<double>(v(a), 1) ? 1 : 0;
    EXPECT_LE((s.state().v - x).norm(), 1e-7 * (1 + x.norm())) << trial;
  }
  EXPECT_EQ(rejected, 0) << "of " << tries;
  EXPECT_GE(changed, 300);
}

// Arms that swing and come to rest: every integrator finds its sides without halving steps, and none shakes at rest.
TEST(JointFriction, ArmsComeToRestAndStay) {
  test::Random random(5);
  for (int trial = 0; trial < 4; ++trial) {
    const int n = 4 + trial;
    const Model model =
        test::with_friction(test::chain(n, 0.2), [&](const Joint&) { return test::uniform(random, 0.3, 1); });
    Eigen::VectorXd q(n);
    for (double& x : q) x = test::uniform(random, -1, 1);
    for (const IntegratorType integrator : integrators()) {
      const double h = integrator == IntegratorType::rk4 ? 0.002 : 0.01;
      Simulation s(model, step_of(h, integrator));
      s.set_state(q, Eigen::VectorXd::Zero(n));
      int iterations = 0, steps = 0, rejected = 0;
      for (; s.state().time < 8; ++steps) {
        const StepReport report = s.step();
        ASSERT_TRUE(report.converged()) << integrator_name(integrator) << " " << trial << " " << report.reason;
        iterations += report.iterations;
        rejected += report.rejected - report.inaccurate;
      }
      EXPECT_LE(s.state().v.cwiseAbs().maxCoeff(), 1.01 * kJointCreep) << integrator_name(integrator) << " " << trial;
      const Eigen::VectorXd before = s.state().q;
      for (int k = 0; k < 100; ++k) ASSERT_TRUE(s.step().converged());
      EXPECT_LE((s.state().q - before).cwiseAbs().maxCoeff(), 1.01 * kJointCreep * 100 * h)
          << integrator_name(integrator) << " " << trial;
      if (std::getenv("SCREE_PRINT"))
        printf("%-14s n %d: %.2f iterations a step, %d rejected of %d\n", integrator_name(integrator), n,
               double(iterations) / steps, rejected, steps);
      if (integrator != IntegratorType::event && integrator != IntegratorType::rk4) {
        EXPECT_LE(iterations, (uses_smooth_contact(integrator) ? 20 : 8) * steps)
            << integrator_name(integrator) << " " << trial;
        EXPECT_LE(rejected, steps / 50) << integrator_name(integrator) << " " << trial;
      }
    }
  }
}

// The optimisers of the energy of pbd-friction end at the same steps.
TEST(JointFriction, OptimisersOfTheEnergyAgree) {
  const Model model = test::with_friction(test::chain(3, 0.2), [](const Joint&) { return 0.3; });
  const auto run = [&](IntegratorType integrator, Optimizer optimizer) {
    StepOptions options = step_of(0.01, integrator);
    options.optimizer = optimizer;
    options.max_halvings = 0;
    Simulation s(model, options);
    s.set_state(Eigen::Vector3d(1.2, -0.8, 0.6), Eigen::Vector3d::Zero());
    for (int k = 0; k < 100; ++k) EXPECT_TRUE(s.step().converged()) << optimizer_name(optimizer) << " " << k;
    return Eigen::VectorXd(s.state().q);
  };
  // 100 steps, each off by the tolerance of 1e-8 m/s^2 times h^2 and what the motion makes of it.
  const Eigen::VectorXd energy = run(IntegratorType::pbd_friction, Optimizer::jtj_lm);
  for (const Optimizer optimizer : {Optimizer::lm, Optimizer::lbfgs})
    EXPECT_LE((run(IntegratorType::pbd_friction, optimizer) - energy).norm(), 1e-7) << optimizer_name(optimizer);
}

// All schemes tend to one motion, of their order as long as nothing turns back. A joint that does so within a step gets
// a velocity that is off by what friction does in a part of it: of first order, if of a small one, in two stages.
TEST(JointFriction, IntegratorsConvergeToOneMotion) {
  const int n = 4;
  const Eigen::VectorXd q = Eigen::Vector4d(0.9, -0.7, 0.5, -1.1);
  struct Case {
    double friction, time, coarse, fine;
    double ratio_one, ratio_two;  // of the errors, by order of the scheme
    double most_two;              // error of two stages
  };
  for (const Case& c :
       {Case{0.05, 0.2, 4e-3, 1e-3, 0.35, 0.08, 2e-5}, Case{0.15, 0.4, 1e-3, 2.5e-4, 0.35, 0.8, 8e-4}}) {
    const Model model = test::with_friction(test::chain(n, 0.2), [&](const Joint&) { return c.friction; });
    const auto end = [&](IntegratorType integrator, double h) {
      StepOptions options = step_of(h, integrator);
      options.accuracy = 0;
      Simulation s(model, options);
      s.set_state(q, Eigen::VectorXd::Zero(n));
      while (s.state().time < c.time - 0.5 * h) EXPECT_TRUE(s.step().converged()) << integrator_name(integrator);
      return Eigen::VectorXd(s.state().q);
    };
    const Eigen::VectorXd truth = end(IntegratorType::event, 1e-3);
    EXPECT_LE((end(IntegratorType::rk4, 1e-3) - truth).norm(), 1e-7);
    for (const IntegratorType integrator : integrators()) {
      if (exact(integrator)) continue;
      const double coarse = (end(integrator, c.coarse) - truth).norm(), fine = (end(integrator, c.fine) - truth).norm();
      EXPECT_LE(fine, (second_order(integrator) ? c.ratio_two : c.ratio_one) * coarse) << integrator_name(integrator);
      if (second_order(integrator)) {
        EXPECT_LE(fine, c.most_two) << integrator_name(integrator);
      }
    }
  }
}

// The derivatives of a step are those of the step, on the sides it ended on; the margin tells how far kinks are.
TEST(JointFriction, DerivativesAreThoseOfTheStep) {
  const int n = 4;
  // The second joint is held, the others slide.
  const Model model =
      test::with_friction(test::chain(n, 0.2), [](const Joint& joint) { return joint.name == "hinge1" ? 50.0 : 0.05; });
  for (const IntegratorType integrator :
       {IntegratorType::ne, IntegratorType::pbd, IntegratorType::ne_nmdp2, IntegratorType::pbd_nmdp2}) {
    StepOptions options = step_of(0.01, integrator);
    options.tolerance = 1e-11;
    options.accuracy = 0;
    StepWorkspace workspace(model);
    const Control control(model);
    Eigen::VectorXd q(n), v(n);
    q << 0.4, -0.6, 0.3, 0.5;
    v << 1, 0, -2, 1.5;
    State state = make_state(model, q, v);
    StepDerivatives derivatives;
    ASSERT_TRUE(step_with_derivatives(model, control, options, state, workspace, derivatives).converged());
    EXPECT_TRUE(derivatives.valid) << integrator_name(integrator);
    EXPECT_GT(derivatives.margin, 0.5) << integrator_name(integrator);
    const double step_size = 1e-6;
    for (int c = 0; c < 2 * n; ++c) {
      if (c == n + 1) continue;  // the rate of the joint that is held: beyond the creep it slides
      Eigen::VectorXd ends[2];
      for (int side = 0; side < 2; ++side) {
        const double along = side ? step_size : -step_size;
        State moved = make_state(model, q + along * Eigen::VectorXd::Unit(2 * n, c).head(n),
                                 v + along * Eigen::VectorXd::Unit(2 * n, c).tail(n));
        ASSERT_TRUE(step(model, control, options, moved, workspace).converged());
        ends[side].resize(2 * n);
        ends[side] << moved.q, moved.v;
      }
      const Eigen::VectorXd difference = (ends[1] - ends[0]) / (2 * step_size);
      EXPECT_LE((difference - derivatives.by_state.col(c).head(2 * n)).norm(), 2e-5 * (1 + difference.norm()))
          << integrator_name(integrator) << " " << c;
    }
    // Close to the limit of what is held the margin says so.
    const Model weak = test::with_friction(test::chain(1, 0.2), [](const Joint&) { return 1.001 * 0.5 * 9.81 * 0.1; });
    StepWorkspace of_weak(weak);
    State level = make_state(weak, Eigen::VectorXd::Constant(1, M_PI / 2), Eigen::VectorXd::Zero(1));
    ASSERT_TRUE(step_with_derivatives(weak, Control(weak), options, level, of_weak, derivatives).converged());
    EXPECT_LT(derivatives.margin, 0.01) << integrator_name(integrator);
  }
}

// Robots whose joints rub walk, and stand limp on what their joints hold.
TEST(JointFriction, RobotsWithContactFindTheirSides) {
  for (const char* name : {"spider-spatial", "robosimian-planar"}) {
    test::ContactRobot robot(name);
    robot.walk();
    const Model model = test::with_friction(robot.model, [](const Joint&) { return 3.0; });
    robot.world.smooth.damping = 0.5;
    for (const IntegratorType integrator :
         {IntegratorType::ne_mdp, IntegratorType::ne_lcp, IntegratorType::ne_nmdp, IntegratorType::pbd_nmdp,
          IntegratorType::ne_nmdp2, IntegratorType::pbd_nmdp2, IntegratorType::pbfd_coulomb,
          IntegratorType::pbfd_coulomb2}) {
      StepOptions options = step_of(0.01, integrator);
      options.explicit_pd = false;
      Simulation s(model, robot.world, options);
      s.control() = robot.control;
      s.set_state(robot.stance, Eigen::VectorXd::Zero(model.nv()));
      int iterations = 0, steps = 0, rejected = 0, stages = 0;
      for (; s.state().time < 1; ++steps) {
        const StepReport report = s.step();
        ASSERT_TRUE(report.converged()) << name << " " << integrator_name(integrator) << " " << report.reason;
        iterations += report.iterations;
        stages += report.stages;
        rejected += report.rejected - report.inaccurate;
      }
      if (std::getenv("SCREE_PRINT"))
        printf("%-18s %-14s: %.2f iterations a stage, %d rejected of %d\n", name, integrator_name(integrator),
               double(iterations) / std::max(stages, 1), rejected, steps);
      EXPECT_LE(iterations, 12 * std::max(stages, steps)) << name << " " << integrator_name(integrator);
      EXPECT_LE(rejected, steps / 5) << name << " " << integrator_name(integrator);
    }
  }
}

// Limp legs of a robot that stands hold it by friction alone; `event` keeps account of what they take.
TEST(JointFriction, EventKeepsItsAccount) {
  test::Random random(3);
  ModelBuilder builder("leg");
  Body body;
  body.name = "trunk";
  body.mass = 1;
  body.inertia = 0.02 * Mat3::Identity();
  Joint base;
  base.name = "base";
  base.type = JointType::floating;
  builder.add_body(body, "world", base);
  for (int i = 0; i < 3; ++i) {
    Body leg = body;
    leg.name = "leg" + std::to_string(i);
    leg.mass = 0.3;
    leg.com = Vec3(0, 0, -0.1);
    leg.inertia = 1e-3 * Mat3::Identity();
    Joint hip = slider(0.8, Vec3(std::sin(2.1 * i), std::cos(2.1 * i), 0));
    hip.type = JointType::revolute;
    hip.limits = {-2, 2};
    hip.name = "hip" + std::to_string(i);
    hip.X_PJ.p = 0.15 * Vec3(std::cos(2.1 * i), -std::sin(2.1 * i), 0);
    builder.add_body(leg, "trunk", hip);
  }
  const Model model = builder.build();
  World world;
  world.surface.friction = 0.6;
  world.impact.law = ImpactLaw::anitescu_potra;
  world.add(plane_collider({0, 0, 0}, Vec3::UnitZ()));
  for (int i = 0; i < 3; ++i)
    world.add(point_collider(model.find_body("leg" + std::to_string(i)), Vec3(0, 0, -0.25), 0.02, "foot"));
  Simulation s(model, world, step_of(0.01, IntegratorType::event));
  Eigen::VectorXd q = model.neutral_position();
  q(2) = 0.4;
  q.tail(3) << 0.3, -0.2, 0.1;
  s.set_state(q, Eigen::VectorXd::Zero(model.nv()));
  double energy = std::numeric_limits<double>::infinity(), gain = 0;
  for (int k = 0; k < 300; ++k) {
    const StepReport report = s.step();
    ASSERT_TRUE(report.converged()) << k << " " << report.reason;
    const double now = report.kinetic_energy + report.potential_energy;
    EXPECT_LE(now, energy + 1e-8) << k;
    energy = now;
    gain += report.energy_gain;
  }
  EXPECT_LE(gain, 1e-8);
  EXPECT_LE(s.state().v.tail(3).cwiseAbs().maxCoeff(), 0.01);
}

// The inclusion carries friction as a damper: it comes to rest, and never gains.
TEST(JointFriction, InclusionDampsWhatItCannotHold) {
  const double friction = 3, a = friction / kMass;
  const Model model = test::single_joint(slider(friction), kMass);
  const World world = test::weightless();
  Inclusion inclusion(model, world);
  State state = make_state(model, Eigen::VectorXd::Zero(1), Eigen::VectorXd::Constant(1, 1));
  double last = 1;
  while (state.time < 1.2) {
    ASSERT_TRUE(inclusion.advance(state, 0.01).status == InclusionStatus::advanced);
    EXPECT_LE(std::abs(state.v(0)), last + 1e-12);
    last = std::abs(state.v(0));
  }
  EXPECT_LE(last, 1e-3);
  EXPECT_NEAR(state.q(0), 0.5 / a, 0.03);
}

TEST(JointFriction, ModelsTakeItWhereThereIsAnAxis) {
  const auto build = [](JointType type, double friction) {
    Joint joint = slider(friction);
    joint.type = type;
    return test::single_joint(joint);
  };
  for (const JointType type : {JointType::revolute, JointType::continuous, JointType::prismatic})
    EXPECT_EQ(build(type, 0.5).joints()[0].friction, 0.5);
  for (const JointType type : {JointType::planar, JointType::ball, JointType::floating}) {
    EXPECT_NO_THROW(build(type, 0));
    EXPECT_THROW(build(type, 0.5), InputError);
  }
  for (const double bad : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_THROW(build(JointType::revolute, bad), InputError);
}

}  // namespace
}  // namespace scree
