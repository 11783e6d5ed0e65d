// Forces in the joints: potentials against differences, and motions with closed forms.
#include "control/joint_forces.h"

#include <gtest/gtest.h>

#include "scree/dynamics.h"
#include "scree/error.h"
#include "scree/kinematics.h"
#include "scree/simulation.h"
#include "scree/urdf.h"
#include "support/mechanisms.h"
#include "support/paths.h"
#include "support/random_tree.h"

namespace scree {
namespace {

Joint joint_of(JointType type) {
  Joint joint;
  joint.type = type;
  joint.axis = Vec3::UnitZ();
  return joint;
}

StepOptions step_of(double dt, IntegratorType integrator = IntegratorType::pbd) {
  StepOptions options;
  options.integrator = integrator;
  options.dt = dt;
  return options;
}

// A chain with every kind of joint force switched on.
Model loaded_chain() {
  ModelBuilder builder("loaded");
  std::string parent = "world";
  for (const JointType type : {JointType::revolute, JointType::ball, JointType::prismatic, JointType::ball}) {
    Body body;
    body.name = "b" + parent;
    body.mass = 1;
    body.inertia = 0.1 * Mat3::Identity();
    Joint joint = joint_of(type);
    joint.name = "j" + parent;
    joint.damping = 0.7;
    joint.armature = 0.05;
    joint.limits = {-0.3, 0.4, 50, 0.2};
    if (type == JointType::revolute) joint.effort = 8;
    builder.add_body(body, parent, joint);
    parent = body.name;
  }
  return builder.build();
}

TEST(JointForces, GradientAndHessianAreThoseOfThePotential) {
  const Model model = loaded_chain();
  const JointForces forces(model);
  test::Random random(21);
  const int n = model.nv();
  const double h = 0.05;
  int in_stop = 0, saturated = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const Eigen::VectorXd q =
        integrate_position(model, model.neutral_position(), test::random_velocity(random, model), 0.8);
    const Eigen::VectorXd v = test::random_velocity(random, model), delta = test::random_velocity(random, model, 0.5);
    Control control(model);
    control.target = integrate_position(model, model.neutral_position(), test::random_velocity(random, model), 0.8);
    control.kp.setConstant(test::uniform(random, 0, 30));
    control.kd.setConstant(test::uniform(random, 0, 2));
    control.target_velocity = test::random_velocity(random, model);
    control.torque = test::random_velocity(random, model, 3);
    const Eigen::VectorXd rest = test::random_velocity(random, model, 0.2);
    const JointStage stage = {q.data(), rest.data(), v.data(), h};
    const auto evaluate = [&](const Eigen::VectorXd& d, Eigen::VectorXd& g, Eigen::MatrixXd* H) {
      double value = 0;
      g = Eigen::VectorXd::Zero(n);
      if (H) *H = Eigen::MatrixXd::Zero(n, n);
      forces.add_implicit(control, stage, d.data(), value, g.data(), H ? H->data() : nullptr);
      return value;
    };
    Eigen::VectorXd g, unused, plus, minus;
    Eigen::MatrixXd H;
    evaluate(delta, g, &H);
    const Eigen::MatrixXd full = H.selfadjointView<Eigen::Upper>();
    const double step = 1e-6;  // truncation 1e-12 times third derivatives, rounding eps/step = 2e-10 of values ~100
    for (int a = 0; a < n; ++a) {
      const Eigen::VectorXd d = step * Eigen::VectorXd::Unit(n, a);
      const double slope = (evaluate(delta + d, plus, nullptr) - evaluate(delta - d, minus, nullptr)) / (2 * step);
      EXPECT_NEAR(g(a), slope, 1e-6 * (1 + g.norm())) << "trial " << trial << " dof " << a;
      const Eigen::VectorXd column = (plus - minus) / (2 * step);
      EXPECT_LE((full.col(a) - column).norm(), 1e-5 * (1 + full.norm())) << "trial " << trial << " dof " << a;
    }
    in_stop += forces.stop_energy(integrate_position(model, q, delta, 1).data()) > 0;
    saturated += H(0, 0) < 0.1 + model.joints()[0].damping / h + model.joints()[0].armature / (h * h);
  }
  EXPECT_GE(in_stop, 50);   // the random states do visit the stops ...
  EXPECT_GE(saturated, 5);  // ... and the effort bound
}

// The explicit force is the implicit one without the inertia of the rotor, as h -> 0 at delta = h v.
TEST(JointForces, ExplicitForceIsTheLimitOfTheImplicitOne) {
  const Model model = loaded_chain();
  const JointForces forces(model);
  test::Random random(22);
  for (int trial = 0; trial < 100; ++trial) {
    const Eigen::VectorXd q =
        integrate_position(model, model.neutral_position(), test::random_velocity(random, model), 0.8);
    const Eigen::VectorXd v = test::random_velocity(random, model);
    Control control(model);
    control.kp.setConstant(20);
    control.kd.setConstant(2);
    control.torque = test::random_velocity(random, model, 3);
    const double h = 1e-9;
    const Eigen::VectorXd delta = h * v;
    Eigen::VectorXd gradient = Eigen::VectorXd::Zero(model.nv()), force(model.nv());
    double value = 0;
    const Eigen::VectorXd rest = Eigen::VectorXd::Zero(model.nv());
    forces.add_implicit(control, {q.data(), rest.data(), v.data(), h}, delta.data(), value, gradient.data(), nullptr);
    forces.explicit_force(control, q.data(), v.data(), force.data());
    EXPECT_LE((force + gradient).norm(), 1e-6 * (1 + force.norm()));  // h times stiffness, plus eps |delta| / h
  }
}

TEST(JointForces, DampingDecaysAsBackwardEulerSays) {
  Joint joint = joint_of(JointType::prismatic);
  joint.damping = 3;
  const double mass = 2, h = 0.1;
  Simulation s(test::single_joint(joint, mass), test::weightless(), step_of(h));
  s.set_state(Eigen::VectorXd::Zero(1), Eigen::VectorXd::Constant(1, 1.5));
  for (int k = 1; k <= 20; ++k) {
    ASSERT_TRUE(s.step().converged());
    EXPECT_NEAR(s.state().v(0), 1.5 / std::pow(1 + h * joint.damping / mass, k), k * 1e-8 * h);
  }
}

TEST(JointForces, ArmatureIsInertiaOfTheJointAlone) {
  Joint geared = joint_of(JointType::prismatic);
  geared.armature = 1.5;
  Simulation s(test::single_joint(geared, 2), test::weightless(), step_of(0.01)),
      heavy(test::single_joint(joint_of(JointType::prismatic), 3.5), test::weightless(), step_of(0.01));
  s.control().torque(0) = heavy.control().torque(0) = 7;
  for (int k = 0; k < 50; ++k) {
    ASSERT_TRUE(s.step().converged());
    ASSERT_TRUE(heavy.step().converged());
  }
  EXPECT_NEAR(s.state().q(0), heavy.state().q(0), 1e-8);
  EXPECT_NEAR(s.state().v(0), 7 / 3.5 * 0.5, 1e-8);
}

TEST(JointForces, EffortBoundsThePdForce) {
  Joint joint = joint_of(JointType::prismatic);
  joint.effort = 4;
  for (const IntegratorType integrator : {IntegratorType::pbd, IntegratorType::ne, IntegratorType::rk4}) {
    Simulation s(test::single_joint(joint, 2), test::weightless(), step_of(0.01, integrator));
    s.control().kp(0) = 1e4;
    s.control().target(0) = 100;
    for (int k = 0; k < 30; ++k) ASSERT_TRUE(s.step().converged());
    EXPECT_NEAR(s.state().v(0), joint.effort / 2 * 0.3, 1e-7);  // saturated all the way: constant acceleration
  }
}

// The bound is one of the whole force of the actuator: feed-forward counts, whatever its sign.             theory (5.1)
TEST(JointForces, EffortBoundsFeedForwardToo) {
  Joint joint = joint_of(JointType::prismatic);
  joint.effort = 4;
  for (const IntegratorType integrator : integrators())
    for (const bool explicit_pd : {true, false})
      for (const double torque : {3.0, -3.0}) {
        StepOptions options = step_of(0.01, integrator);
        options.explicit_pd = explicit_pd;
        Simulation s(test::single_joint(joint, 2), test::weightless(), options);
        s.control().kp(0) = 1e4;
        s.control().target(0) = 100;
        s.control().torque(0) = torque;
        for (int k = 0; k < 30; ++k) ASSERT_TRUE(s.step().converged());
        EXPECT_NEAR(s.state().v(0), joint.effort / 2 * 0.3, 1e-7) << integrator_name(integrator);
      }
}

// A damper that saturates: dv/dt = -effort/m while |v| > effort/kd, then v decays. The linearised steps take it at the
// end of a step, exactly: m (v' - v)/h = -clamp(kd v'). With kd h/m = 8 deciding by v alone would swing for ever.
TEST(JointForces, ASaturatedDamperBrakesAndDoesNotSwing) {
  Joint joint = joint_of(JointType::prismatic);
  joint.effort = 4;
  const double mass = 2, kd = 1600, h = 0.01;
  for (const IntegratorType integrator : {IntegratorType::ne_mdp, IntegratorType::ne_lcp}) {
    StepOptions options = step_of(h, integrator);
    options.explicit_pd = false;
    Simulation s(test::single_joint(joint, mass), test::weightless(), options);
    s.control().kd(0) = kd;
    double v = 0.127;
    s.set_state(s.state().q, Eigen::VectorXd::Constant(1, v));
    for (int k = 0; k < 30; ++k) {
      ASSERT_TRUE(s.step().converged());
      v = v / (1 + kd * h / mass) * kd > joint.effort ? v - h * joint.effort / mass : v / (1 + kd * h / mass);
      ASSERT_NEAR(s.state().v(0), v, 1e-12) << k;
    }
    EXPECT_LE(v, 1e-6);
  }
}

// The sides of effort bounds are found by Newton's method on a piecewise linear equation, which can go in circles: of
// 4000 random planar chains of five joints 22 do. A step is either the solution, M (v' - v)/h + C = -clamp(u'), or it
// says why not; shorter steps end.                                                                       theory (5.7)
TEST(JointForces, SidesThatDoNotSettleAreReportedAndShorterStepsSettle) {
  test::Random random(7);
  const auto draw = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); };
  const int n = 5;
  const Model alternating = test::chain(n);
  int circles = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    ModelBuilder builder("planar chain");
    const double effort = std::pow(10, draw(-1, 2));
    for (int i = 0; i < n; ++i) {
      Joint joint = alternating.joints()[static_cast<size_t>(i)];
      joint.axis = Vec3::UnitY();
      joint.effort = effort;
      builder.add_body(alternating.bodies()[static_cast<size_t>(i)],
                       i == 0 ? "world" : alternating.bodies()[static_cast<size_t>(i - 1)].name, joint);
    }
    const Model model = builder.build();
    const IntegratorType integrator = trial % 2 ? IntegratorType::ne_mdp : IntegratorType::ne_lcp;
    StepOptions options = step_of(std::pow(10, draw(-3, -1)), integrator);
    options.explicit_pd = false;
    options.max_halvings = 0;
    const double kp = std::pow(10, draw(-1, 4)), kd = std::pow(10, draw(-2, 3)), h = options.dt;
    Eigen::VectorXd q(n), v(n);
    for (int a = 0; a < n; ++a) q(a) = draw(-1.5, 1.5), v(a) = draw(-5, 5);
    const auto run = [&](State& end) {
      Simulation s(model, test::weightless(), options);
      s.control().kp.setConstant(kp);
      s.control().kd.setConstant(kd);
      s.set_state(q, v);
      const StepReport report = s.step();
      end = s.state();
      return report;
    };
    State end;
    const StepReport report = run(end);
    if (!report.converged()) {
      ++circles;
      EXPECT_NE(report.reason.find("sides of their effort bounds"), std::string::npos) << trial;
      EXPECT_EQ(end.v, v) << trial;
      options.max_halvings = 12;
      const StepReport shorter = run(end);
      EXPECT_TRUE(shorter.converged()) << trial;
      EXPECT_GE(shorter.rejected, 1) << trial;
      continue;
    }
    Dynamics dynamics(model);
    dynamics.set_position(q);
    const Eigen::MatrixXd M = dynamics.mass_matrix();
    Eigen::VectorXd left(n);
    dynamics.bias_force(v, Vec3::Zero(), left);
    const double rounding = M.norm() * (end.v.norm() + v.norm()) / h + left.norm() + kp * q.norm() +
                            (kp * h + kd) * end.v.norm();  // the terms, of which n + a few epsilon are lost
    left += M * (end.v - v) / h;
    for (int a = 0; a < n; ++a) left(a) += std::clamp(kp * (q(a) + h * end.v(a)) + kd * end.v(a), -effort, effort);
    EXPECT_LE(left.norm(), 1e-13 * rounding) << trial;
  }
  EXPECT_GE(circles, 3);
}

// Joints whose effort is used up: a hopper folds in the air, and rises from a crouch. Control at the end of a step then
// leads, with the step, where control at its start does: their difference is of first order, a fifth of it with a fifth
// of the step (a motion of its own would keep all of it). Nonlinear steps lead there, too.
TEST(JointForces, SaturatedMotionsConvergeToOneWhereverControlIsTaken) {
  const Model model = load_urdf(source_dir() + "/models/hopper.urdf");
  World world;
  world.add(plane_collider(Vec3::Zero(), Vec3::UnitZ()));
  world.add(contact_candidates(model, ContactCandidates::named));
  const auto end = [&](IntegratorType integrator, bool explicit_pd, bool air, double dt) {
    StepOptions options;
    options.integrator = integrator;
    options.dt = dt;
    options.explicit_pd = explicit_pd;
    Simulation s(model, world, options);
    Eigen::VectorXd q = model.neutral_position();
    if (!air) q.tail<3>() << -0.7, -1.4, 0.7;
    q(1) += air ? 2 : -lowest_point(model, world.colliders, q);
    s.set_state(q, Eigen::VectorXd::Zero(model.nv()));
    s.control().kp.tail<3>().setConstant(400);
    s.control().kd.tail<3>().setConstant(20);
    if (air) s.control().target.tail<3>() << -1.5, -1.5, 0.5;
    for (int k = 0; k < std::lround(0.2 / dt); ++k) EXPECT_TRUE(s.step().converged()) << integrator_name(integrator);
    return Eigen::VectorXd(s.state().q);
  };
  for (const bool air : {true, false})
    for (const IntegratorType integrator : {IntegratorType::ne_mdp, IntegratorType::ne_lcp, IntegratorType::event}) {
      if (air && integrator == IntegratorType::event) continue;  // flight has no steps of control
      const auto apart = [&](double dt) {
        return (end(integrator, true, air, dt) - end(integrator, false, air, dt)).cwiseAbs().maxCoeff();
      };
      const double coarse = apart(0.0025), fine = apart(0.0005);
      EXPECT_GT(coarse, 1e-4) << integrator_name(integrator) << (air ? " in the air" : "");  // it is saturated
      EXPECT_LE(fine, 0.3 * coarse) << integrator_name(integrator) << (air ? " in the air" : "");
    }
  // In the air `event` is exact: 0.5 ms of first order are off by less than a tenth of what the wrong motion was.
  EXPECT_LE((end(IntegratorType::ne_lcp, false, true, 0.0005) - end(IntegratorType::event, true, true, 0.01))
                .cwiseAbs()
                .maxCoeff(),
            0.02);
}

TEST(JointForces, StiffPdHoldsItsTargetAtLargeSteps) {
  Simulation s(test::pendulum(1.0, 1.0), StepOptions{.integrator = IntegratorType::pbd, .dt = 0.05});
  s.control().kp(0) = 1e5;
  s.control().kd(0) = 1e3;
  s.control().target(0) = 1.0;
  for (int k = 0; k < 100; ++k) ASSERT_TRUE(s.step().converged());
  const double sag = 9.81 * 0.5 * std::sin(1.0) / 1e5;  // static torque over stiffness
  EXPECT_NEAR(s.state().q(0), 1.0 - sag, 1e-3 * sag);
  EXPECT_NEAR(s.state().v(0), 0, 1e-9);
}

TEST(JointForces, LoadRestsInTheStopWhereItsStiffnessSays) {
  Joint joint = joint_of(JointType::prismatic);
  joint.limits = {-0.5, 1, 2000, 0.01};
  joint.damping = 40;  // to come to rest
  const double mass = 2;
  for (const IntegratorType integrator : {IntegratorType::pbd, IntegratorType::ne, IntegratorType::rk4}) {
    StepOptions options;
    options.integrator = integrator;
    options.dt = 0.01;
    Simulation s(test::single_joint(joint, mass), options);
    for (int k = 0; k < 1000; ++k) ASSERT_TRUE(s.step().converged());
    const double depth = mass * 9.81 / 2000 + 0.01 / 2;  // beyond the margin: k (e - margin / 2)
    EXPECT_NEAR(s.state().q(0), -0.5 - depth, 1e-9);
    EXPECT_NEAR(s.step().potential_energy,
                -mass * 9.81 * (0.5 + depth) + 2000 * (std::pow(depth - 0.005, 2) / 2 + 1e-4 / 24), 1e-6);
  }
}

TEST(JointForces, BallJointTurnsToItsTargetAndStopsAtItsCone) {
  const Quat target(Eigen::AngleAxisd(2.0, Vec3(1, -2, 0.5).normalized()));
  const auto rest_of = [&](const Joint& joint, IntegratorType integrator) {
    const double dt = integrator == IntegratorType::rk4 ? 0.005 : 0.05;
    Simulation s(test::single_joint(joint), test::weightless(), step_of(dt, integrator));
    s.control().kp.setConstant(5);
    s.control().target << target.w(), target.x(), target.y(), target.z();
    for (int k = 0; k < 20 / dt; ++k) EXPECT_TRUE(s.step().converged());
    return Quat(s.state().q(0), s.state().q(1), s.state().q(2), s.state().q(3));
  };
  for (const IntegratorType integrator : {IntegratorType::pbd, IntegratorType::ne, IntegratorType::rk4}) {
    Joint joint = joint_of(JointType::ball);
    joint.damping = 1;
    EXPECT_LE(rest_of(joint, integrator).angularDistance(target), 1e-7) << integrator_name(integrator);
    joint.limits.upper = 1.0;
    joint.limits.stiffness = 500;
    // Balance along the common axis, 0.0149 beyond the cone and so past the margin: 5 (2 - t) = 500 (t - 1 - margin/2).
    const double t = (5 * 2.0 + 500 * 1.005) / 505;
    EXPECT_NEAR(rest_of(joint, integrator).angularDistance(Quat::Identity()), t, 1e-7) << integrator_name(integrator);
  }
}

TEST(Control, RefusesWhatCannotBe) {
  const Model model = test::free_body(1, Mat3::Identity());
  Control control(model);
  control.validate(model);
  control.kp(0) = 1;
  EXPECT_THROW(control.validate(model), InputError);  // a free base has no motor
  Joint joint = joint_of(JointType::revolute);
  joint.effort = 2;
  const Model arm = test::single_joint(joint);
  Control c(arm);
  c.torque(0) = 3;
  EXPECT_THROW(c.validate(arm), InputError);
  c.torque(0) = 2;
  c.validate(arm);
  c.kd(0) = -1;
  EXPECT_THROW(c.validate(arm), InputError);
  c.kd(0) = NAN;
  EXPECT_THROW(c.validate(arm), InputError);
}

}  // namespace
}  // namespace scree
