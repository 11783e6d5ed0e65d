// What a step promises: exact time, true history after subdivision, an untouched state on failure, the same bits again.
#include "scree/step.h"

#include <gtest/gtest.h>

#include <cmath>

#include "scree/error.h"
#include "scree/simulation.h"
#include "support/contact_robots.h"
#include "support/mechanisms.h"
#include "support/random_tree.h"

namespace scree {
namespace {

TEST(Step, FailureLeavesTheStateAsItWasAndSaysSo) {
  StepOptions options;
  options.integrator = IntegratorType::pbd;
  options.dt = 0.1;
  options.max_iterations = 1;  // a fall from 2 rad needs more
  options.max_halvings = 0;
  options.tolerance = 1e-12;
  Simulation s(test::double_pendulum(1, 0.5, 1, 0.5), options);
  s.set_state(Eigen::Vector2d(2, 0.3), Eigen::Vector2d(1, -1));
  const std::uint64_t before = state_hash(s.state());
  const StepReport report = s.step();
  EXPECT_EQ(report.status, StepStatus::not_converged);
  EXPECT_EQ(report.substeps, 0);
  EXPECT_EQ(report.rejected, 1);
  EXPECT_EQ(report.iterations, 1);
  EXPECT_GT(report.residual, options.tolerance);  // where the last try ended, not a zero that looks like success
  EXPECT_EQ(state_hash(s.state()), before);
}

TEST(Step, HalvingRescuesAStepThatCannotConverge) {
  // A constant torque on a light free rotor: at tau h^2 > I the position-based step has no stationary point at all
  // (theory 4.5), at half the step it has.
  Joint joint;
  joint.type = JointType::continuous;
  joint.axis = Vec3::UnitZ();
  const double inertia = 0.3, dt = 0.5, tau = 2.5;
  ASSERT_GT(tau * dt * dt, inertia);
  ASSERT_LT(tau * dt * dt / 4, inertia);
  StepOptions options;
  options.integrator = IntegratorType::pbd;
  options.dt = dt;
  options.max_turn = 1;
  Simulation s(test::single_joint(joint, 1, inertia), test::weightless(), options);
  s.control().torque(0) = tau;
  const StepReport report = s.step();
  EXPECT_TRUE(report.converged());
  EXPECT_GE(report.rejected, 1);
  EXPECT_GE(report.substeps, 2);
  EXPECT_LT(report.smallest_step, dt);
  EXPECT_EQ(s.state().time, dt);
  EXPECT_GT(s.state().v(0), 0);
}

// After a subdivided step the next one must know the true last step: the free fall of a spinning body sees no kink.
TEST(Step, CarriesTheTrueLastStepThroughRandomSubdivision) {
  // Pendulum with randomly chosen step sizes; resetting the history to the nominal step would not converge at all.
  const Model model = test::pendulum(1, 1);
  const auto angle = [&](int n, std::uint64_t seed) {
    test::Random random(seed);
    Simulation s(model, StepOptions{.integrator = IntegratorType::pbd, .dt = 0.5 / n});
    s.set_state(Eigen::VectorXd::Constant(1, 1.0), Eigen::VectorXd::Zero(1));
    for (int k = 0; k < n; ++k) {
      if (test::uniform(random, 0, 1) < 0.3) {
        EXPECT_TRUE(s.step(0.25 / n).converged());
        EXPECT_TRUE(s.step(0.25 / n).converged());
        EXPECT_EQ(s.state().last_step, 0.25 / n);
      } else {
        EXPECT_TRUE(s.step(0.5 / n).converged());
      }
    }
    return s.state().q(0);
  };
  Simulation reference(model, StepOptions{.integrator = IntegratorType::rk4, .dt = 1e-3});
  reference.set_state(Eigen::VectorXd::Constant(1, 1.0), Eigen::VectorXd::Zero(1));
  for (int k = 0; k < 500; ++k) ASSERT_TRUE(reference.step().converged());
  const double exact = reference.state().q(0);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const double e1 = std::abs(angle(500, seed) - exact), e2 = std::abs(angle(1000, seed) - exact);
    EXPECT_LE(e1, 0.02);             // h |q'''| t^2 with |q'''| ~ 20: first order, small
    EXPECT_NEAR(e1 / e2, 2.0, 0.4);  // random patterns differ between the two runs
  }
}

TEST(Step, EndsExactlyOnTimeWhateverTheSubdivision) {
  Simulation s(test::free_body(1, 0.1 * Mat3::Identity()), StepOptions{.integrator = IntegratorType::pbd, .dt = 0.1});
  Eigen::VectorXd v = Eigen::VectorXd::Zero(6);
  v(5) = 30;
  s.set_state(s.model().neutral_position(), v, 2.0);
  const StepReport report = s.step();
  EXPECT_GT(report.substeps, 1);
  EXPECT_EQ(s.state().time, 2.0 + 0.1);
}

TEST(Step, SameInputSameBits) {
  test::Random random(31);
  for (int trial = 0; trial < 20; ++trial) {
    const test::RandomTree tree = test::random_tree(random);
    const Eigen::VectorXd q = test::random_position(random, tree.model),
                          v = test::random_velocity(random, tree.model, 3);
    for (const IntegratorType integrator : {IntegratorType::pbd, IntegratorType::ne, IntegratorType::rk4}) {
      const StepOptions options{.integrator = integrator, .dt = 0.01};
      Simulation first(tree.model, options), second(tree.model, options);
      // The second one has a used workspace: nothing of another motion may leak into this one.
      second.set_state(test::random_position(random, tree.model), v);
      for (int k = 0; k < 5; ++k) (void)second.step();
      first.set_state(q, v);
      second.set_state(q, v);
      for (int k = 0; k < 20; ++k) {
        (void)first.step();
        (void)second.step();
        ASSERT_EQ(state_hash(first.state()), state_hash(second.state())) << "tree " << trial << " step " << k;
      }
    }
  }
}

// A robot walks; every step is taken by three: one that goes on, one that started over with a fresh workspace, and one
// that gets a copy of the state at every step and works in a used workspace of another motion.
TEST(Step, SameInputSameBitsWithContact) {
  for (const char* name : {"robosimian-planar", "spider-spatial"}) {
    test::ContactRobot robot(name);
    robot.walk();
    for (const IntegratorType integrator : test::kContactIntegrators) {
      StepOptions options;
      options.integrator = integrator;
      options.dt = integrator == IntegratorType::ne_mdp ? 0.002 : 0.05;
      const auto start = [&] { return make_state(robot.model, robot.stance, Eigen::VectorXd::Zero(robot.model.nv())); };
      StepWorkspace first(robot.model, robot.world), second(robot.model, robot.world), used(robot.model, robot.world);
      test::Random random(33);
      State a = start(), b = start(), other = robot.random_state(random);
      for (int k = 0; k < 3; ++k) (void)step(robot.model, robot.control, options, other, used);
      for (int k = 0; k < 40; ++k) {
        const State copy = a;
        const StepReport report = step(robot.model, robot.control, options, a, first);
        ASSERT_TRUE(report.converged());
        (void)step(robot.model, robot.control, options, b, second);
        ASSERT_EQ(state_hash(a), state_hash(b)) << name << " " << integrator_name(integrator) << " step " << k;
        StepWorkspace fresh(robot.model, robot.world);
        for (StepWorkspace* workspace : {&fresh, &used}) {
          State c = copy;
          const StepReport again = step(robot.model, robot.control, options, c, *workspace);
          ASSERT_EQ(state_hash(a), state_hash(c)) << name << " " << integrator_name(integrator) << " step " << k;
          ASSERT_EQ(a.contact_weights, c.contact_weights);
          ASSERT_EQ(report.outer, again.outer);
          ASSERT_EQ(workspace->contacts().size(), first.contacts().size());
        }
      }
    }
  }
}

// Targets move on within a step: a step that is subdivided goes through the same states as its substeps taken one by
// one. Times are binary fractions, so that they are the same numbers in both.
TEST(Step, MotionTargetsAdvanceInSubsteps) {
  test::ContactRobot robot("robosimian-planar");
  robot.walk();
  for (const IntegratorType integrator :
       {IntegratorType::pbd, IntegratorType::ne, IntegratorType::ne_nmdp, IntegratorType::ne_zonmdp,
        IntegratorType::pbd_nmdp, IntegratorType::pbd_zonmdp}) {
    StepOptions options;
    options.integrator = integrator;
    options.dt = 0.0625;
    options.max_turn = 0.02;
    options.max_halvings = 8;
    State whole = make_state(robot.model, robot.stance, Eigen::VectorXd::Zero(robot.model.nv()), 0.25);
    State parts = whole;
    const World world = knows_contact(integrator) ? robot.world : World{};
    StepWorkspace first(robot.model, world), second(robot.model, world);
    int subdivided = 0;
    for (int k = 0; k < 8; ++k) {
      const StepReport report = step(robot.model, robot.control, options, whole, first);
      ASSERT_TRUE(report.converged());
      subdivided += report.substeps > 1;
      StepOptions part = options;
      part.max_halvings = 0;
      int level = 0, taken = 0;
      while (parts.time < whole.time) {
        part.dt = std::ldexp(options.dt, -level);
        if (!step(robot.model, robot.control, part, parts, second).converged()) {
          ASSERT_LE(++level, options.max_halvings);
          continue;
        }
        ++taken;
        while (level > 0 && std::fmod(parts.time, std::ldexp(options.dt, 1 - level)) == 0) --level;
      }
      ASSERT_EQ(taken, report.substeps) << integrator_name(integrator) << " step " << k;
      ASSERT_EQ(state_hash(parts), state_hash(whole)) << integrator_name(integrator) << " step " << k;
      ASSERT_EQ(parts.contact_weights, whole.contact_weights);
    }
    EXPECT_GE(subdivided, 4) << integrator_name(integrator);
  }
}

TEST(Step, EveryRandomTreeStepsAtEverySize) {
  test::Random random(32);
  for (int trial = 0; trial < 100; ++trial) {
    const test::RandomTree tree = test::random_tree(random, 100);
    const Eigen::VectorXd q = test::random_position(random, tree.model),
                          v = test::random_velocity(random, tree.model, 3);
    for (const IntegratorType integrator : {IntegratorType::pbd, IntegratorType::ne}) {
      for (const double dt : {1e-4, 1e-2, 0.05, 0.1}) {
        Simulation s(tree.model, StepOptions{.integrator = integrator, .dt = dt});
        s.set_state(q, v);
        for (int k = 0; k < 10; ++k) {
          const StepReport report = s.step();
          ASSERT_TRUE(report.converged())
              << integrator_name(integrator) << " tree " << trial << " dt " << dt << " step " << k;
          ASSERT_TRUE(s.state().q.allFinite());
        }
      }
    }
  }
}

TEST(StepOptions, RefusesNonsense) {
  const auto refused = [](auto change) {
    StepOptions options;
    change(options);
    EXPECT_THROW(options.validate(), InputError);
  };
  StepOptions{}.validate();
  refused([](StepOptions& o) { o.dt = 0; });
  refused([](StepOptions& o) { o.dt = -0.01; });
  refused([](StepOptions& o) { o.dt = NAN; });
  refused([](StepOptions& o) { o.dt = 11; });
  refused([](StepOptions& o) { o.tolerance = 0; });
  refused([](StepOptions& o) { o.max_iterations = 0; });
  refused([](StepOptions& o) { o.max_halvings = 63; });
  refused([](StepOptions& o) { o.max_turn = 2; });
  EXPECT_THROW(integrator_from_name("euler"), InputError);
  EXPECT_EQ(integrator_from_name("rk4"), IntegratorType::rk4);
}

}  // namespace
}  // namespace scree
