// Is a step of NMDP what it says it is? Every substep of random steps of both robots is checked against the equations,
// computed anew (support/contact_truth.h): G = 0, weights in their polytopes, and no better weights to be had.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <functional>

#include "support/contact_robots.h"
#include "support/contact_truth.h"

namespace scree {
namespace {

constexpr const char* kRobots[] = {"robosimian-planar", "spider-planar", "robosimian-spatial", "spider-spatial"};
constexpr Dissipation kDissipations[] = {Dissipation::contact, Dissipation::total, Dissipation::effective};

struct Tally {
  int steps = 0, subdivided = 0, failed = 0, substeps = 0, touching = 0;
  double residual = 0, gap = 0, relative_gap = 0, missed = 0;
};

// One step done by hand: the subdivision of step() spelt out with steps that may not be halved, each of them checked.
// `check` gets the truth of every substep.
template <class Check>
bool step_by_hand(const test::ContactRobot& robot, const StepOptions& options, int gaps, State& state,
                  StepWorkspace& workspace, int& substeps, Check&& check) {
  StepOptions one = options;
  one.max_halvings = 0;
  const std::int64_t whole = std::int64_t{1} << options.max_halvings;
  std::int64_t done = 0;
  int level = 0;
  substeps = 0;
  while (done < whole) {
    one.dt = std::ldexp(options.dt, -level);
    const State before = state;
    const StepReport report = step(robot.model, robot.control, one, state, workspace);
    if (!report.converged()) {
      if (++level > options.max_halvings) return false;
      continue;
    }
    check(test::contact_truth(robot.model, robot.world, robot.control, one, before, one.dt, state,
                              WorkspaceAccess::impl(workspace), substeps < gaps),
          report, substeps < gaps);
    ++substeps;
    done += whole >> level;
    while (level > 0 && done % (whole >> (level - 1)) == 0) --level;
  }
  return true;
}

// What a substep must satisfy whatever its order. The residual is measured at another point than the one the solver
// tests (M_aa of the new pose) and with other roundings: 10 % and 32 roundings of a pose instead of its 16.
void expect_balanced(const test::ContactTruth& truth, const StepOptions& options) {
  EXPECT_LE(truth.residual, 1.1 * options.tolerance + 32 * truth.rounding);
  EXPECT_LE(truth.infeasible, 1e-12);                 // sums of six weights, each off by one rounding
  EXPECT_LE(truth.displacement, 1e-14 * truth.size);  // a few roundings of the positions
}

Tally run(const char* name, IntegratorType integrator, Dissipation dissipation, int states, std::uint64_t seed) {
  const bool first_order = integrator == IntegratorType::ne_nmdp || integrator == IntegratorType::pbd_nmdp;
  const test::ContactRobot robot(name);
  test::Random random(seed);
  Tally tally;
  for (int k = 0; k < states; ++k) {
    SCOPED_TRACE(std::string(name) + " " + integrator_name(integrator) + " " + dissipation_name(dissipation) +
                 " state " + std::to_string(k));
    const State start = robot.random_state(random);
    StepOptions options;
    options.integrator = integrator;
    options.dissipation = dissipation;
    options.dt = test::uniform(random, 0.005, 0.05);
    State by_hand = start;
    StepWorkspace hand(robot.model, robot.world);
    int substeps = 0;
    ++tally.steps;
    const bool done = step_by_hand(robot, options, 3, by_hand, hand, substeps,
                                   [&](const test::ContactTruth& truth, const StepReport& report, bool with_gap) {
                                     expect_balanced(truth, options);
                                     ++tally.substeps;
                                     tally.touching += truth.touching > 0;
                                     tally.residual = std::max(tally.residual, truth.residual);
                                     EXPECT_EQ(report.contacts, truth.touching);
                                     if (!with_gap) return;
                                     tally.gap = std::max(tally.gap, truth.gap);
                                     tally.relative_gap = std::max(tally.relative_gap, truth.gap / (truth.K + 0.02));
                                     tally.missed = std::max(tally.missed, truth.missed / (truth.K + 0.02));
                                     if (!first_order) return;
                                     // The solver stops at a gap of 1e-10 J + 1e-8 K, or where K cannot be told from
                                     // the errors that the residual leaves in it, e = sqrt(2 K m) tolerance h < 1e-8 J
                                     // for K up to 500 J. Along a direction of curvature C a gap f promises f^2 / 2 C,
                                     // so then f < sqrt(2 e C), some 1e-3 J for C = 100 J; and the differences cannot
                                     // see less than 1e-7 J where K = 0, for there (1e-5)^2 C remains. Wrong weights
                                     // cost a good part of K.
                                     EXPECT_LE(truth.gap, 1e-5 * (truth.K + 0.02));
                                     EXPECT_LE(truth.missed, 1e-9 * (truth.K + 1));
                                   });
    tally.failed += !done;
    tally.subdivided += substeps > 1;

    // The step itself goes through the same substeps to the same bits, and ends on time.
    State whole = start;
    StepWorkspace workspace(robot.model, robot.world);
    const StepReport report = step(robot.model, robot.control, options, whole, workspace);
    EXPECT_EQ(report.converged(), done);
    if (!done) {
      EXPECT_EQ(state_hash(whole), state_hash(start));
      continue;
    }
    EXPECT_EQ(report.substeps, substeps);
    EXPECT_EQ(whole.time, options.dt);
    EXPECT_EQ(whole.q, by_hand.q);
    EXPECT_EQ(whole.v, by_hand.v);
    EXPECT_EQ(whole.contact_weights, by_hand.contact_weights);
    EXPECT_NEAR(by_hand.time, whole.time, 1e-15);
  }
  return tally;
}

void print(const char* name, IntegratorType integrator, Dissipation dissipation, const Tally& tally) {
  std::printf(
      "%-18s %-10s %-9s %3d steps, %d subdivided, %d failed, %d substeps (%d touch): |G| %.1e, gap %.1e J, %.1e K, "
      "missed %.1e K\n",
      name, integrator_name(integrator), dissipation_name(dissipation), tally.steps, tally.subdivided, tally.failed,
      tally.substeps, tally.touching, tally.residual, tally.gap, tally.relative_gap, tally.missed);
}

TEST(Nmdp, FirstOrderSolvesItsProblem) {
  int steps = 0, failed = 0, touching = 0;
  for (const char* name : kRobots)
    for (const IntegratorType integrator : {IntegratorType::ne_nmdp, IntegratorType::pbd_nmdp})
      for (const Dissipation dissipation : kDissipations) {
        const Tally tally = run(name, integrator, dissipation, 30, 401);
        print(name, integrator, dissipation, tally);
        steps += tally.steps;
        failed += tally.failed;
        touching += tally.touching;
      }
  EXPECT_EQ(steps, 720);
  EXPECT_EQ(failed, 0);
  EXPECT_GT(touching, steps / 3);  // the states are worth something
}

// Zeroth order keeps G = 0 and the polytopes. Its weights are optimal for the law it sees, whose forces do not change
// with the pose; by how much they miss the optimum of the true law is printed.
TEST(Nmdp, ZerothOrderIsBalancedAndFeasible) {
  int failed = 0;
  for (const char* name : {"robosimian-planar", "spider-planar"})
    for (const IntegratorType integrator : {IntegratorType::ne_zonmdp, IntegratorType::pbd_zonmdp})
      for (const Dissipation dissipation : kDissipations) {
        const Tally tally = run(name, integrator, dissipation, 10, 402);
        print(name, integrator, dissipation, tally);
        failed += tally.failed;
      }
  EXPECT_EQ(failed, 0);
}

// What must hold of any step, however absurd its input: numbers, an honest status, an untouched state after failure.
// Returns whether the step converged.
bool expect_sane_step(const test::ContactRobot& robot, const StepOptions& options, State& state,
                      StepWorkspace& workspace) {
  const State before = state;
  const StepReport report = step(robot.model, robot.control, options, state, workspace);
  EXPECT_TRUE(state.q.allFinite());
  EXPECT_TRUE(state.v.allFinite());
  for (const double w : state.contact_weights) EXPECT_TRUE(w >= 0 && w <= 1 + 1e-12);
  if (!report.converged()) {
    EXPECT_EQ(state_hash(state), state_hash(before));
    EXPECT_EQ(state.contact_weights, before.contact_weights);
    EXPECT_EQ(state.last_step, before.last_step);
    EXPECT_TRUE(workspace.contacts().empty());
    return false;
  }
  EXPECT_EQ(state.time, before.time + options.dt);
  EXPECT_TRUE(std::isfinite(report.residual) && std::isfinite(report.optimality));
  EXPECT_TRUE(std::isfinite(report.kinetic_energy) && std::isfinite(report.potential_energy));
  // Every try ends by itself: two starts (warm and cold) of max_outer projections of max_iterations each.
  const double tries = report.substeps + report.rejected;
  EXPECT_LE(report.outer, 2.0 * tries * options.max_outer);
  EXPECT_LE(report.iterations, 2 * tries * (options.max_outer + 1) * options.max_iterations);
  if (report.substeps == 1 && options.integrator != IntegratorType::ne_mdp) {
    expect_balanced(test::contact_truth(robot.model, robot.world, robot.control, options, before, options.dt, state,
                                        WorkspaceAccess::impl(workspace), false),
                    options);
  }
  return true;
}

struct Absurdity {
  const char* name;
  std::function<void(test::ContactRobot&, StepOptions&, CoulombOptions&, State&)> apply;
  bool solvable;  // NMDP gets through
};

TEST(Nmdp, AbsurdInputFailsHonestlyOrNotAtAll) {
  using Robot = test::ContactRobot;
  const auto gains = [](double kp, double kd) {
    return [=](Robot& r, StepOptions&, CoulombOptions&, State&) {
      for (int a = 0; a < r.model.nv(); ++a)
        if (r.control.kp(a) > 0) {
          r.control.kp(a) = kp;
          r.control.kd(a) = kd;
        }
    };
  };
  const Absurdity absurdities[] = {
      {"nothing", [](Robot&, StepOptions&, CoulombOptions&, State&) {}, true},
      {"a metre underground", [](Robot& r, StepOptions&, CoulombOptions&, State& s) { s.q(r.height_index()) -= 1; },
       true},
      {"kp = 1e12", gains(1e12, 1), false},
      {"kd = 1e12", gains(1e3, 1e12), false},
      {"dt = 10 s", [](Robot&, StepOptions& o, CoulombOptions&, State&) { o.dt = 10; }, false},
      {"dt = 1e-9 s", [](Robot&, StepOptions& o, CoulombOptions&, State&) { o.dt = 1e-9; }, true},
      {"no gravity", [](Robot& r, StepOptions&, CoulombOptions&, State&) { r.world.gravity.setZero(); }, true},
      {"gravity of 1e4 m/s^2",
       [](Robot& r, StepOptions&, CoulombOptions&, State&) { r.world.gravity = Vec3(0, 0, -1e4); }, false},
      {"no friction", [](Robot& r, StepOptions&, CoulombOptions&, State&) { r.world.surface.friction = 0; }, true},
      {"friction 100", [](Robot& r, StepOptions&, CoulombOptions&, State&) { r.world.surface.friction = 100; }, true},
      {"stiffness 1e30", [](Robot&, StepOptions&, CoulombOptions& law, State&) { law.stiffness = 1e30; }, false},
      {"stiffness 1e-6", [](Robot&, StepOptions&, CoulombOptions& law, State&) { law.stiffness = 1e-6; }, true},
      {"air force 1e12 N", [](Robot&, StepOptions&, CoulombOptions& law, State&) { law.air_force = 1e12; }, true},
      {"a foot 1 km away",
       [](Robot& r, StepOptions&, CoulombOptions&, State&) {
         r.world.add(r.world.colliders[1]);  // the first foot, after the floor
         r.world.colliders.back().X_BS.p = Vec3(1000, 0, 0);
       },
       false},
      {"1000 km from the origin", [](Robot&, StepOptions&, CoulombOptions&, State& s) { s.q(0) = 1e6; }, true},
      {"a hundred times as fast", [](Robot&, StepOptions&, CoulombOptions&, State& s) { s.v *= 100; }, false},
  };
  const Robot robots[] = {Robot("robosimian-planar"), Robot("spider-spatial")};
  for (const Absurdity& absurdity : absurdities)
    for (const IntegratorType integrator : test::kContactIntegrators)
      for (const Robot& sane : robots)
        for (const Dissipation dissipation : {Dissipation::contact, Dissipation::effective}) {
          SCOPED_TRACE(std::string(absurdity.name) + ", " + sane.model.name() + " " + integrator_name(integrator) +
                       " " + dissipation_name(dissipation));
          Robot robot = sane;
          robot.world.surface.friction = 0.7;
          test::Random random(5);
          State state = robot.random_state(random);
          StepOptions options;
          options.integrator = integrator;
          options.dissipation = dissipation;
          options.dt = 0.05;
          options.max_halvings = 5;
          CoulombOptions law;
          law.depth = test::kSoft;
          absurdity.apply(robot, options, law, state);
          robot.world.law = make_coulomb(law);
          StepWorkspace workspace(robot.model, robot.world);
          bool converged = true;
          for (int k = 0; k < 4 && converged; ++k) converged = expect_sane_step(robot, options, state, workspace);
          if (absurdity.solvable && integrator != IntegratorType::ne_mdp) {
            EXPECT_TRUE(converged);
          }
        }
}

// Where nothing but inertia is implicit the effective energy is the total one; under implicit control it is not.
TEST(Nmdp, TheBaselineTellsTheEnergiesApart) {
  const test::ContactRobot robot("robosimian-planar");
  test::Random random(404);
  int apart = 0;
  for (int k = 0; k < 20; ++k) {
    const State start = robot.random_state(random);
    for (const bool explicit_pd : {true, false}) {
      const auto end = [&](Dissipation dissipation) {
        StepOptions options;
        options.integrator = IntegratorType::ne_mdp;
        options.dissipation = dissipation;
        options.explicit_pd = explicit_pd;
        options.dt = 0.03;
        State state = start;
        StepWorkspace workspace(robot.model, robot.world);
        EXPECT_TRUE(step(robot.model, robot.control, options, state, workspace).converged());
        return state.v;
      };
      const double difference = (end(Dissipation::total) - end(Dissipation::effective)).cwiseAbs().maxCoeff();
      if (explicit_pd) {
        // One QP with the same Q and g up to rounding: 1e-12 of Q holds its weights, which moves them by as much.
        EXPECT_LE(difference, 1e-8);
      } else {
        apart += difference > 1e-6;
      }
    }
  }
  EXPECT_GE(apart, 3);  // half of the states touch the ground, some of them with all the force there is
}

// A state may come from another world, with weights that mean nothing here: the search starts from zero.
TEST(Nmdp, WeightsOfAnotherWorldAreForgotten) {
  const test::ContactRobot robot("spider-planar");
  test::Random random(403);
  for (const IntegratorType integrator : test::kContactIntegrators) {
    State state = robot.random_state(random), other = state;
    other.contact_weights.assign(3, 0.5);
    StepOptions options;
    options.integrator = integrator;
    StepWorkspace workspace(robot.model, robot.world);
    EXPECT_TRUE(step(robot.model, robot.control, options, state, workspace).converged());
    EXPECT_TRUE(step(robot.model, robot.control, options, other, workspace).converged());
    EXPECT_EQ(state_hash(other), state_hash(state));
  }
}

// Robots in any pose, some of them in the ground, thrown with up to 5 m/s and 5 rad/s in every joint.
TEST(Nmdp, ThrownRobotsLandOrFailHonestly) {
  const test::ContactRobot robots[] = {test::ContactRobot("robosimian-planar"), test::ContactRobot("spider-spatial")};
  int converged[5] = {}, steps[5] = {};
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const size_t type = seed % 5;
    const test::ContactRobot& robot = robots[seed / 5 % 2];
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + integrator_name(test::kContactIntegrators[type]));
    test::Random random(seed);
    Eigen::VectorXd q = test::random_position(random, robot.model, 1.5);
    q(robot.height_index()) += test::uniform(random, -0.3, 0.3) - robot.lowest_foot(q);
    State state = make_state(robot.model, q, test::random_velocity(random, robot.model, 5));
    StepOptions options;
    options.integrator = test::kContactIntegrators[type];
    options.dissipation = seed / 10 % 2 ? Dissipation::effective : Dissipation::contact;
    options.dt = 0.05;
    options.max_halvings = 8;
    StepWorkspace workspace(robot.model, robot.world);
    for (int k = 0; k < 6; ++k) {
      const bool done = expect_sane_step(robot, options, state, workspace);
      ++steps[type];
      converged[type] += done;
      if (!done) break;
    }
  }
  for (size_t type = 1; type < 5; ++type) EXPECT_EQ(converged[type], steps[type]);  // the baseline explodes
  for (size_t type = 0; type < 5; ++type)
    std::printf("%-10s %d of %d steps of thrown robots\n", integrator_name(test::kContactIntegrators[type]),
                converged[type], steps[type]);
}

}  // namespace
}  // namespace scree
