// Is a step of NMDP what it says it is? Every substep of random steps of both robots is checked against the equations,
// computed anew (support/contact_truth.h): G = 0, weights in their polytopes, and no better weights to be had.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

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
    check(test::contact_truth(robot.model, robot.world, robot.control, one, before, one.dt, state, workspace.impl(),
                              substeps < gaps),
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
  EXPECT_LE(truth.infeasible, 1e-12);  // sums of six weights, each off by one rounding
  // Angles up to 2 and heights up to 1 are rounded to 2e-16, the logarithm of a turn to a few of these.
  EXPECT_LE(truth.displacement, 1e-14);
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
        const Tally tally = run(name, integrator, dissipation, dissipation == Dissipation::total ? 3 : 8, 402);
        print(name, integrator, dissipation, tally);
        failed += tally.failed;
      }
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace scree
