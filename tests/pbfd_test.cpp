// Smooth contact against closed forms, and the machine of lanes as step() sees it.                 theory section 11
#include <gtest/gtest.h>

#include <cmath>

#include "integrators/lanes.h"
#include "scree/simulation.h"
#include "scree/urdf.h"
#include "support/contact_robots.h"
#include "support/paths.h"

namespace scree {
namespace {

constexpr IntegratorType kSmooth[] = {IntegratorType::pbfd, IntegratorType::pbfd_coulomb, IntegratorType::pbfd2,
                                      IntegratorType::pbfd_coulomb2};

Model box() { return load_urdf(source_dir() + "/models/box.urdf"); }  // a cube of 0.5 m, free

World ground(const Model& model, double slope = 0) {
  World world;
  world.add(plane_collider(Vec3::Zero(), Vec3(-std::sin(slope), 0, std::cos(slope))));
  world.add(contact_candidates(model, ContactCandidates::automatic));
  world.smooth.depth = 0.005;
  return world;
}

// The box on its ground, four of its eight corners at the depth at which they carry it: N = m g / 4 = 2 share.
double resting_depth(const SmoothContactOptions& smooth) { return *smooth.depth * std::sqrt(2.0); }
Eigen::VectorXd resting(const Model& model, const SmoothContactOptions& smooth, double slope = 0) {
  Eigen::VectorXd q = model.neutral_position();
  const Vec3 normal(-std::sin(slope), 0, std::cos(slope));
  q.head<3>() = (0.25 - resting_depth(smooth) * std::sqrt(std::cos(slope))) * normal;
  q.tail<4>() = Eigen::Vector4d(std::cos(slope / 2), 0, -std::sin(slope / 2), 0);
  return q;
}

TEST(SmoothContact, BoxRestsWhereItsCornersCarryIt) {
  for (const IntegratorType integrator : kSmooth) {
    const Model model = box();
    const World world = ground(model);
    Simulation s(model, world, StepOptions{.integrator = integrator, .dt = 0.05});
    s.set_state(resting(model, world.smooth), Eigen::VectorXd::Zero(model.nv()));
    StepReport report;
    for (int k = 0; k < 40; ++k) {
      report = s.step();
      ASSERT_TRUE(report.converged());
    }
    // The residual of 1e-8 m/s^2 against the stiffness 2 N/(m d) of the contact is 1e-12 m.
    EXPECT_NEAR(s.state().q(2), 0.25 - resting_depth(world.smooth), 1e-9) << integrator_name(integrator);
    EXPECT_EQ(report.contacts, 4);
    EXPECT_NEAR(report.penetration, resting_depth(world.smooth), 1e-9);
    ASSERT_EQ(s.contacts().size(), 4u);
    Vec3 force = Vec3::Zero();
    for (const Contact& contact : s.contacts()) force += contact.force;
    EXPECT_NEAR(force.z(), model.total_mass() * 9.81, 1e-6 * model.total_mass());
    EXPECT_NEAR(force.head<2>().norm(), 0, 1e-6 * model.total_mass());
  }
}

// Viscous friction N u / speed slows a box down at the rate g / speed. The sum of backward Euler's velocities
// v0 / (1 + h g/speed)^k times h is v0 speed / g for every h. A tall box pitches a little, which moves its corners: the
// box here is flat.
TEST(SmoothContact, ViscousBoxSlidesAsFarAsTheoryHasItAtEveryStep) {
  ModelBuilder builder("plate");
  Body body;
  body.name = "plate";
  body.mass = 2;
  body.inertia = Vec3(0.04, 0.04, 0.08).asDiagonal();
  Joint joint;
  joint.name = "base";
  joint.type = JointType::floating;
  builder.add_body(body, "world", joint);
  for (int k = 0; k < 4; ++k)
    builder.add_contact_point("plate", {.name = "corner" + std::to_string(k),
                                        .body = {},
                                        .p_B = Vec3(k & 1 ? 0.25 : -0.25, k & 2 ? 0.25 : -0.25, -0.001)});
  const Model model = builder.build();
  World world = ground(model);
  world.smooth.speed = 0.5;
  Eigen::VectorXd q = model.neutral_position(), v = Eigen::VectorXd::Zero(model.nv());
  q(2) = 0.001 - *world.smooth.depth;  // four of four corners carry their share
  v(0) = 1;
  const double distance = world.smooth.speed / 9.81;
  for (const IntegratorType integrator : {IntegratorType::pbfd, IntegratorType::pbfd2}) {
    for (const double dt : {0.002, 0.01, 0.05}) {
      Simulation s(model, world, StepOptions{.integrator = integrator, .dt = dt});
      s.set_state(q, v);
      for (double t = 0; t < 1.5; t += dt) ASSERT_TRUE(s.step().converged());
      // exp(-1.5 g/speed) = 2e-13 is left. The lever of 1 mm pitches the plate by less than 1 mm / 0.25 m of depth.
      EXPECT_NEAR(s.state().q(0), distance, 5e-3 * distance) << integrator_name(integrator) << " " << dt;
    }
  }
}

// mu u / sqrt(u^2 + creep^2) = tan(slope) at a steady creep.                                            theory (11.5)
TEST(SmoothContact, BoxOnASlopeCreepsAsTheoryHasIt) {
  const double slope = 0.3;
  const Model model = box();
  World world = ground(model, slope);
  world.surface.friction = 0.7;
  world.smooth.creep = 0.01;
  world.smooth.damping = 2;  // or it would rock for long on its springs
  const double t = std::tan(slope), exact = world.smooth.creep * t / std::sqrt(0.7 * 0.7 - t * t);
  for (const IntegratorType integrator : {IntegratorType::pbfd_coulomb, IntegratorType::pbfd_coulomb2}) {
    Simulation s(model, world, StepOptions{.integrator = integrator, .dt = 0.02});
    s.set_state(resting(model, world.smooth, slope), Eigen::VectorXd::Zero(model.nv()));
    for (int k = 0; k < 200; ++k) ASSERT_TRUE(s.step().converged());
    const Vec3 before = s.state().q.head<3>();
    for (int k = 0; k < 100; ++k) ASSERT_TRUE(s.step().converged());
    const Vec3 downhill(-std::cos(slope), 0, -std::sin(slope));
    const double speed = (s.state().q.head<3>() - before).dot(downhill) / 2.0;
    EXPECT_NEAR(speed, exact, 1e-4 * exact) << integrator_name(integrator);  // steady: no error of the scheme is left
  }
}

// What a step leaves behind in its workspace is no part of the state.
TEST(SmoothContact, StepIsAFunctionOfTheState) {
  const test::ContactRobot robot("robosimian-spatial");
  Control control = robot.control;
  control.motion = robot.motion("walk");
  for (const IntegratorType integrator : kSmooth) {
    StepOptions options{.integrator = integrator, .dt = 0.02};
    StepWorkspace used(robot.model, robot.world);
    State state = make_state(robot.model, robot.stance, Eigen::VectorXd::Zero(robot.model.nv()));
    for (int k = 0; k < 30; ++k) ASSERT_TRUE(step(robot.model, control, options, state, used).converged());
    State copy = state;
    StepWorkspace fresh(robot.model, robot.world);
    for (int k = 0; k < 10; ++k) {
      const StepReport a = step(robot.model, control, options, state, used);
      const StepReport b = step(robot.model, control, options, copy, fresh);
      ASSERT_EQ(state_hash(state), state_hash(copy)) << integrator_name(integrator) << " " << k;
      ASSERT_EQ(a.iterations, b.iterations);
      ASSERT_EQ(used.contacts().size(), fresh.contacts().size());
    }
  }
}

TEST(SmoothContact, AFailedStepLeavesTheStateAloneAndSaysSo) {
  const Model model = box();
  for (const IntegratorType integrator : kSmooth) {
    Simulation s(model, ground(model), StepOptions{.integrator = integrator, .dt = 0.05});
    Eigen::VectorXd v = Eigen::VectorXd::Zero(model.nv());
    v(4) = 1e6;  // [rad/s] turns by more than max_turn in the smallest substep
    Eigen::VectorXd q = model.neutral_position();
    q(2) = 1;
    s.set_state(q, v);
    const std::uint64_t before = state_hash(s.state());
    const StepReport report = s.step();
    EXPECT_FALSE(report.converged());
    EXPECT_EQ(state_hash(s.state()), before);
    EXPECT_TRUE(s.contacts().empty());
  }
}

// A second try of half the length is taken from the same start.
TEST(SmoothContact, SubdividedStepsEndOnTime) {
  const Model model = box();
  for (const IntegratorType integrator : kSmooth) {
    Simulation s(model, ground(model), StepOptions{.integrator = integrator, .dt = 0.1});
    Eigen::VectorXd q = model.neutral_position(), v = Eigen::VectorXd::Zero(model.nv());
    q(2) = 1;
    v(3) = 20, v(5) = 3;
    s.set_state(q, v);
    const StepReport report = s.step();
    ASSERT_TRUE(report.converged());
    EXPECT_GE(report.substeps, 4);  // 0.1 s x 20 rad/s over at most 0.5 rad
    EXPECT_DOUBLE_EQ(s.state().time, 0.1);
    // Falls freely: backward Euler's g (h1 + ... ) sums to at least g dt^2 / 2.
    EXPECT_LT(s.state().q(2), 1 - 0.5 * 9.81 * 0.01 * 0.98);
    EXPECT_NEAR(s.state().v(2), -9.81 * 0.1, 1e-6);
  }
}

// Levenberg-Marquardt of a lane against its own definition.                                           theory (11.11)
TEST(ModelLaneHost, DampedStepSolvesTheNormalEquations) {
  const Model model = box();
  const World world = ground(model);
  struct Host final : ModelLaneHost {
    using ModelLaneHost::ModelLaneHost;
    bool next(LaneStart&) override { return false; }
    double step_length(int, double&) override { return 0; }
    void targets(int, double, double*, double*) override {}
    void stepped(int, const LaneReport&, const double*, const double*, const double*) override {}
  } host(model, world, 2);
  std::srand(3);
  const Eigen::Index n = model.nv();
  for (int trial = 0; trial < 50; ++trial) {
    Eigen::MatrixXd J = Eigen::MatrixXd::Random(n, n);
    if (trial % 2) J.col(1) = J.col(0);  // singular
    const Eigen::VectorXd r = Eigen::VectorXd::Random(n), w = Eigen::VectorXd::Random(n).cwiseAbs().array() + 0.1;
    host.damp(trial % 2, J.data(), r.data(), w.data());
    Eigen::VectorXd x(n);
    for (const double damping : {1e-3, 1.0, 1e3}) {
      ASSERT_TRUE(host.damped_step(trial % 2, damping, x.data()));
      const Eigen::MatrixXd A = J.transpose() * w.asDiagonal() * J;
      const Eigen::VectorXd b = J.transpose() * w.asDiagonal() * r;
      const Eigen::VectorXd left = A * x + damping * A.diagonal().cwiseProduct(x) + b;
      // Cholesky's error: n eps cond(A + damping D), at most 1e3 n^2 eps / damping of |b|.
      EXPECT_LT(left.norm(), 1e-9 * (1 + b.norm()));
    }
    EXPECT_GT(host.slope(trial % 2), 0);
    // Where J^T W r = 0 the merit function is stationary, and the slope says so.
    Eigen::MatrixXd rank1 = J;
    rank1.row(0).setZero();
    Eigen::VectorXd only = Eigen::VectorXd::Zero(n);
    only(0) = 1;
    host.damp(0, rank1.data(), only.data(), w.data());
    EXPECT_EQ(host.slope(0), 0);
  }
}

}  // namespace
}  // namespace scree
