// Sets of outcomes: theorems 11 to 13 and lemmas 4 and 7 of M. Halm's dissertation on random problems, its examples
// against figures computed elsewhere, and that neither threads nor units matter.
#include "scree/outcome_set.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <cmath>
#include <random>

#include "base/random.h"
#include "impact/impulse_bound.h"
#include "impact/routh_set.h"
#include "scree/error.h"
#include "support/impact_problems.h"

namespace scree {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kEpsilon = 2.2e-16;

// d dofs, m contacts, t tangents of each. Masses over two decades, friction up to 2; every tenth has none.
ImpactProblem random_problem(std::mt19937_64& random, int d, int m, int t) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(0, 1);
  const auto fill = [&](int rows, int columns) {
    return MatrixXd::NullaryExpr(rows, columns, [&] { return normal(random); }).eval();
  };
  ImpactProblem p;
  const MatrixXd root = fill(d, d);
  p.M = root * root.transpose() + 0.1 * MatrixXd::Identity(d, d);
  const VectorXd scale = VectorXd::NullaryExpr(d, [&] { return std::pow(10, uniform(random)); });
  p.M = (scale.asDiagonal() * p.M * scale.asDiagonal()).eval();
  p.M = (0.5 * (p.M + p.M.transpose())).eval();
  p.Jn = fill(m, d);
  p.Jt = fill(t * m, d);
  p.mu = VectorXd::NullaryExpr(m, [&] { return uniform(random) < 0.1 ? 0 : 2 * uniform(random); });
  if (t == 0) p.mu.resize(0);
  p.v = fill(d, 1);
  return p;
}

struct Shape {
  int d, m, t;
};
constexpr Shape kShapes[] = {{3, 1, 1}, {3, 2, 1}, {4, 3, 1}, {9, 5, 1}, {6, 1, 2}, {6, 3, 2}, {12, 4, 2}, {5, 3, 0}};

// Theorem 11: every increment has a solution; here also: it is found. Theorem 12: it dissipates; rounding of K =
// |y|^2/2 is some epsilons times the terms of J^T lambda, which for these problems are at most a thousand |y_0|. Lemma
// 7: a contact has spent its allowance, or nothing approaches any more.
TEST(RouthSet, EveryIncrementHasASolutionThatDissipatesAndAdvances) {
  std::mt19937_64 random(71);
  long increments = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const Shape& shape = kShapes[trial % 8];
    const ImpactProblem p = random_problem(random, shape.d, shape.m, shape.t);
    const RouthSystem system(p, 5, 1e-10);
    RouthWalker walker(system);
    RandomStream draws(72, static_cast<std::uint64_t>(trial));
    VectorXd caps(shape.m);
    for (int k = 0; k < 30 && walker.approaching(); ++k) {
      for (int i = 0; i < shape.m; ++i) caps(i) = system.speed * draws.uniform();
      const double before = walker.impulse();
      ASSERT_TRUE(walker.advance({-1, caps.data(), Increment::Pick::drawn, draws.bits()})) << trial;
      const double spent = walker.impulse() - before;
      EXPECT_TRUE(!walker.approaching() || spent >= caps.minCoeff() * (1 - 1e-9)) << trial;
      ++increments;
    }
    EXPECT_LE(walker.largest_gain, 1000 * kEpsilon) << trial;
    EXPECT_LE(walker.worst_residual, 1e-10) << trial;
  }
  EXPECT_GT(increments, 400);
}

// An increment of one contact is the increment of all with allowances of zero for the others.
TEST(RouthSet, OneContactAloneIsAllWithoutAllowances) {
  std::mt19937_64 random(73);
  int compared = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const Shape& shape = kShapes[1 + trial % 4];
    ImpactProblem p = random_problem(random, shape.d, shape.m, shape.t);
    p.mu.setConstant(0.3);  // unique velocities
    const RouthSystem system(p, 4, 1e-10);
    RouthWalker alone(system), together(system);
    for (int i = 0; i < shape.m; ++i) {
      if (alone.normal_velocity()(i) >= 0) continue;
      VectorXd caps = VectorXd::Zero(shape.m);
      caps(i) = 0.3 * system.speed;
      alone.start();
      together.start();
      ASSERT_TRUE(alone.advance({i, &caps(i)}));
      ASSERT_TRUE(together.advance({-1, caps.data()}));
      EXPECT_LE((alone.y() - together.y()).norm(), 1e-9 * system.speed) << trial;
      ++compared;
      alone.start();
    }
  }
  EXPECT_GT(compared, 100);
}

// Without friction an increment is the point of least energy with 0 <= lambda <= lambda_max (simultaneous least squares
// over a box), here by projected gradients; and it brings no two velocities further apart.
TEST(RouthSet, WithoutFrictionAnIncrementMinimisesEnergyOverABox) {
  std::mt19937_64 random(74);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int trial = 0; trial < 100; ++trial) {
    const ImpactProblem p = random_problem(random, 5, 3, 0);
    ImpactProblem q = p;
    q.v = random_problem(random, 5, 3, 0).v;
    const RouthSystem one(p, 4, 1e-14), other(q, 4, 1e-14);
    const VectorXd caps = VectorXd::NullaryExpr(3, [&] { return one.speed * uniform(random); });
    RouthWalker a(one), b(other);
    if (!a.approaching() || !b.approaching()) continue;
    ASSERT_TRUE(a.advance({-1, caps.data()}));
    ASSERT_TRUE(b.advance({-1, caps.data()}));
    EXPECT_LE((a.y() - b.y()).norm(), (one.y0 - other.y0).norm() * (1 + 1e-12));

    const MatrixXd J = one.all.J();
    const double rate = 1 / (J * J.transpose()).trace();
    VectorXd lambda = VectorXd::Zero(3);
    for (int k = 0; k < 200000; ++k) {
      const VectorXd next = (lambda - rate * (J * (one.y0 + J.transpose() * lambda))).cwiseMax(0).cwiseMin(caps);
      const double change = (next - lambda).lpNorm<Eigen::Infinity>();
      lambda = next;
      if (change < 1e-16 * one.speed) break;
    }
    EXPECT_LE((one.y0 + J.transpose() * lambda - a.y()).norm(), 1e-6 * one.speed) << trial;
  }
}

// Problems with several solutions, and the two velocities that were found elsewhere (reference, 6 digits).
TEST(RouthSet, KnownIncrementsWithSeveralSolutions) {
  const auto velocities = [](const ImpactProblem& p, const Eigen::Vector2d& caps) {
    const ContactLcp lcp(p, 2);
    VectorXd q(lcp.size(true));
    lcp.right_side(lcp.to_y(p.v), caps.data(), q);
    std::vector<VectorXd> all;
    for (const VectorXd& z : enumerate_lcp_solutions(lcp.W(), q).z) {
      VectorXd y = lcp.to_y(p.v);
      lcp.advance(z, true, y);
      all.push_back(lcp.to_v(y));
    }
    return all;
  };
  const auto contains = [](const std::vector<VectorXd>& all, const VectorXd& v) {
    return std::any_of(all.begin(), all.end(), [&](const VectorXd& x) { return (x - v).norm() < 2e-5; });
  };
  ImpactProblem box = test::boxwall();
  box.v = Eigen::Vector3d(0.718785, 0.694158, 0.094637);
  const auto of_box = velocities(box, {0.40975, 0.96950});
  EXPECT_TRUE(contains(of_box, Eigen::Vector3d::Zero()));
  EXPECT_TRUE(contains(of_box, Eigen::Vector3d(-0.05766, 0.08235, -0.14217)));

  // Nothing approaches, yet there is a solution with impulses: such states are outcomes, no increment is taken.
  ImpactProblem compass = test::compass(0.5);
  compass.v = Eigen::Vector4d(0.320229, 0.519742, -0.004127, -0.285555);
  EXPECT_GT((compass.Jn * compass.v).minCoeff(), 0);
  const auto of_compass = velocities(compass, {0.42756, 0.93933});
  EXPECT_TRUE(contains(of_compass, compass.v));
  EXPECT_TRUE(contains(of_compass, Eigen::Vector4d(0.19391, 0.91225, 0.81627, -0.93263)));
  const OutcomeSet set = sample_outcomes(compass, {.samples = 50});
  EXPECT_EQ(set.finished, 50);
  EXPECT_EQ(set.increments, 0);
  EXPECT_EQ((set.v.colwise() - set.v.col(0)).norm(), 0);
}

// Lemma 4 and units: a power of two scales velocities exactly. Threads: the same bits.
TEST(OutcomeSet, IsHomogeneousAndTheSameOnAnyNumberOfThreads) {
  for (const OutcomeSampler sampler : {OutcomeSampler::uniform, OutcomeSampler::persistent}) {
    const ImpactProblem p = test::boxwall();
    const OutcomeOptions options{.sampler = sampler, .samples = 3000, .step = 1.5, .threads = 1};
    const OutcomeSet one = sample_outcomes(p, options);
    OutcomeOptions more = options;
    more.threads = 0;  // all there are
    EXPECT_TRUE((one.v.array() == sample_outcomes(p, more).v.array()).all());
    more.threads = 3;
    const OutcomeSet three = sample_outcomes(p, more);
    ASSERT_EQ(one.v.cols(), three.v.cols());
    EXPECT_TRUE((one.v.array() == three.v.array()).all());
    EXPECT_EQ(one.increments, three.increments);
    EXPECT_EQ(one.largest_gain, three.largest_gain);
    ASSERT_EQ(one.extremes.size(), three.extremes.size());
    for (size_t k = 0; k < one.extremes.size(); ++k) {
      EXPECT_EQ(one.extremes[k].value, three.extremes[k].value);
      EXPECT_EQ(one.extremes[k].path.size(), three.extremes[k].path.size());
    }

    ImpactProblem faster = p;
    faster.v *= 8;
    OutcomeOptions larger = options;
    larger.step *= 8;
    const OutcomeSet scaled = sample_outcomes(faster, larger);
    ASSERT_EQ(one.v.cols(), scaled.v.cols());
    EXPECT_TRUE((8 * one.v.array() == scaled.v.array()).all());

    OutcomeOptions other = options;
    other.seed = 2;
    EXPECT_FALSE((sample_outcomes(p, other).v.leftCols(100).array() == one.v.leftCols(100).array()).all());
  }
}

// What counts as separated still approaches a little: bounds from outside leave room for that and for no more. With
// 1e-3 velocities against the normals, at most zero for exact separation, show it.
TEST(OutcomeSet, BoundsLeaveRoomForWhatCountsAsSeparated) {
  std::mt19937_64 random(77);
  int beyond = 0;
  for (int trial = 0; trial < 24; ++trial) {
    const Shape& shape = kShapes[trial % 8];
    const ImpactProblem p = random_problem(random, shape.d, shape.m, shape.t);
    OutcomeOptions options{.samples = 200, .friction_directions = 5, .separated = 1e-3, .seed = 78};
    const OutcomeSet set = sample_outcomes(p, options);
    const double speed = std::sqrt(p.v.dot(p.M * p.v));
    for (const OutcomeExtreme& extreme : set.extremes) EXPECT_LE(extreme.value, extreme.bound) << trial;
    for (int i = 0; i < shape.m && set.finished > 0; ++i) {
      const OutcomeExtreme& down = set.extremes[static_cast<size_t>(2 * i + 1)];  // -Jn_i
      const double size = std::sqrt(p.Jn.row(i).dot(p.M.llt().solve(p.Jn.row(i).transpose())));
      const bool jam = !std::isfinite(set.impulse_bound);  // then bounds are loose
      EXPECT_TRUE(jam || down.bound <= 1.01e-3 * size * speed) << trial;
      beyond += down.value > 1e-6 * size * speed;
    }
  }
  EXPECT_GT(beyond, 0);  // some outcome does approach
}

// Total impulse, energy, feasibility and outer bounds hold for every sample of random problems.
TEST(OutcomeSet, BoundsHoldForEverySample) {
  std::mt19937_64 random(75);
  int pointed = 0, impacts = 0;
  for (int trial = 0; trial < 80; ++trial) {
    const Shape& shape = kShapes[trial % 8];
    const ImpactProblem p = random_problem(random, shape.d, shape.m, shape.t);
    OutcomeOptions options{.samples = 400, .friction_directions = 5, .seed = 76};
    options.sampler = trial % 2 ? OutcomeSampler::uniform : OutcomeSampler::persistent;
    const OutcomeSet set = sample_outcomes(p, options);
    EXPECT_EQ(set.failed, 0) << trial;
    EXPECT_EQ(set.finished + set.unfinished, 400) << trial;
    impacts += set.increments > 0;
    const double speed = std::sqrt(p.v.dot(p.M * p.v));
    const VectorXd sizes = Eigen::LLT<MatrixXd>(p.M).matrixL().solve(p.Jn.transpose()).colwise().norm();
    for (Eigen::Index k = 0; k < set.v.cols(); ++k)
      for (int i = 0; i < shape.m; ++i) EXPECT_GE(p.Jn.row(i).dot(set.v.col(k)), -1.01e-10 * sizes(i) * speed) << trial;
    EXPECT_LE(set.largest_gain, 1000 * kEpsilon) << trial;
    EXPECT_LE(set.energy_ratio.upper, 1 + 1e-12) << trial;
    if (std::isfinite(set.impulse_bound)) {
      ++pointed;
      EXPECT_EQ(set.unfinished, 0) << trial;  // 1000 increments are more than the bound leaves room for
      EXPECT_LE(set.largest_impulse, set.impulse_bound) << trial;
      // r is what it says: r.M^-1 (n + mu d) >= 1 for all directions d of the pentagon.
      const VectorXd x = p.M.llt().solve(set.r);
      for (int i = 0; i < shape.m; ++i)
        for (int k = 0; k < 5 && shape.t == 2; ++k) {
          const double angle = 2 * std::numbers::pi * k / 5;
          const VectorXd g =
              p.Jn.row(i) + p.mu(i) * (std::cos(angle) * p.Jt.row(2 * i) + std::sin(angle) * p.Jt.row(2 * i + 1));
          EXPECT_GE(g.dot(x), 1 - 1e-9) << trial;
        }
    }
    for (const OutcomeExtreme& extreme : set.extremes) {
      const Interval range = set.range(extreme.direction);
      EXPECT_NEAR(extreme.value, range.upper, 1e-12 * (1 + std::abs(range.upper))) << trial;
      EXPECT_LE(extreme.value, extreme.bound) << trial;
    }
  }
  EXPECT_GT(pointed, 20);
  EXPECT_GT(impacts, 40);
}

// Theorem 13: P(Z > c ceil(|v_0|_M) + k) <= exp(-k/(m + 1)^2) for the number Z of increments, with allowances uniform
// in [0, h] and c = 4 ceil((m + 1) |r|_{M^-1} / h). (With |r|_{M^-1} for |r|/sqrt(sigma): smaller, and what the proof
// uses.) Of 4000 runs the share beyond is held against the bound plus 4 standard deviations; small h makes Z large
// enough for that to say something.
TEST(OutcomeSet, NumberOfIncrementsObeysTheorem13) {
  for (const double factor : {1.0, 0.1, 0.01}) {
    const ImpactProblem p = test::boxwall();
    const double h = 2 * factor, speed = std::sqrt(p.v.dot(p.M * p.v));
    const RouthSystem system(p, 2, 1e-10);
    const ImpulseBound impulse = bound_impulse(impulse_generators(system.all, p));
    ASSERT_TRUE(impulse.exists);
    const double c = 4 * std::ceil(3 * impulse.r.norm() / h);
    RouthWalker walker(system);
    std::vector<int> counts;
    for (int run = 0; run < 4000; ++run) {
      RandomStream draws(77, static_cast<std::uint64_t>(run));
      walker.start();
      for (int k = 0; walker.approaching(); ++k) {
        ASSERT_LT(k, 100000);
        const double caps[2] = {h * draws.uniform(), h * draws.uniform()};
        ASSERT_TRUE(walker.advance({-1, caps}));
      }
      counts.push_back(walker.increments());
      // What is deterministic: r.y grows by the impulse and is at most |r| |y_0|.                        theory (14.11)
      EXPECT_LE(walker.impulse(), 2 * impulse.r.norm() * speed);
    }
    for (const int k : {0, 3, 9, 27}) {
      const double bound = std::exp(-k / 9.0);
      const auto beyond =
          std::count_if(counts.begin(), counts.end(), [&](int z) { return z > c * std::ceil(speed) + k; });
      EXPECT_LE(static_cast<double>(beyond) / 4000, bound + 4 * std::sqrt(bound * (1 - bound) / 4000)) << h << " " << k;
    }
    EXPECT_GE(*std::max_element(counts.begin(), counts.end()), 0.5 / h);  // an impulse of 0.5 N s is needed at least
  }
}

// simultaneous-impact notes: impulse bounds 0.05324 and 3.4945 N s, outer bounds of Jn_A, Jn_B, Jt_A to four digits.
TEST(OutcomeSet, BoundsOfTheExamples) {
  const OutcomeSet block = sample_outcomes(test::block_of_table(), {.samples = 100});
  EXPECT_NEAR(block.impulse_bound, 2 * 0.19 * 0.1401, 1e-12);
  EXPECT_NEAR(block.extremes[0].bound, 0.1732, 5e-5);
  const OutcomeSet box = sample_outcomes(test::boxwall(), {.samples = 100});
  EXPECT_NEAR(box.impulse_bound, 3.4945, 5e-5);
  EXPECT_NEAR(box.extremes[0].bound, 1.410, 5e-4);
  EXPECT_NEAR(box.extremes[2].bound, 1.410, 5e-4);
  EXPECT_NEAR(box.extremes[4].bound, 1.736, 5e-4);
}

// Block: one corner ends at rest, no slip; shares within 4 sigma of 0.918 and 0.401 (2^14 samples each, as here).
TEST(OutcomeSet, BlockAsInTheDissertation) {
  const ImpactProblem p = test::block_of_table();
  for (const auto& [step, rest, steps] : {std::tuple{0.3, 0.918, 1.085}, {0.0266, 0.401, 1.96}}) {
    const OutcomeSet set = sample_outcomes(p, {.sampler = OutcomeSampler::uniform,
                                               .samples = 1 << 14,
                                               .step = step,
                                               .max_steps = 40,
                                               .vary_solutions = false});
    EXPECT_EQ(set.finished, 1 << 14);
    const double sigma = std::sqrt(rest * (1 - rest) * 2 / (1 << 14));  // of a difference of two such shares
    EXPECT_NEAR(static_cast<double>(set.at_rest) / (1 << 14), rest, 4 * sigma + 5e-4);
    EXPECT_NEAR(static_cast<double>(set.increments) / (1 << 14), steps, 0.04);
    const MatrixXd vn = p.Jn * set.v, vt = p.Jt * set.v;
    EXPECT_LE(vn.colwise().minCoeff().maxCoeff(), 1e-15);
    EXPECT_LE(vt.cwiseAbs().maxCoeff(), 1e-15);
    EXPECT_LE(vn.maxCoeff(), 0.0272452);
  }
}

// A tenth of the dissertation's samples reaches what is known of the extremes within 0.1 %.
TEST(OutcomeSet, SearchReachesTheExtremes) {
  const auto extreme = [](const OutcomeSet& set, size_t k) { return set.extremes[k].value; };
  const OutcomeSet block = sample_outcomes(test::block_of_table(), {.samples = (1 << 14) / 10});
  EXPECT_GE(extreme(block, 0), 0.999 * 0.0272451);  // Jn_A, Jn_B: what sequential impacts give
  EXPECT_GE(extreme(block, 2), 0.999 * 0.0272451);
  EXPECT_LE(extreme(block, 0), 0.0272452);
  const OutcomeSet box = sample_outcomes(test::boxwall(), {.samples = (1 << 18) / 10});
  EXPECT_GE(extreme(box, 2), 0.999 * 0.1056423);  // Jn_B
  EXPECT_GE(extreme(box, 4), 0.999 * 0.3720978);  // Jt_A
  EXPECT_GE(extreme(box, 7), 0.999 * 0.0725422);  // -Jt_B
  const OutcomeSet compass = sample_outcomes(test::compass(0.5), {.samples = (1 << 20) / 40});
  EXPECT_GE(extreme(compass, 0), 0.999 * 0.07486);  // Jn_A
  EXPECT_GE(extreme(compass, 2), 0.999 * 0.1991104);
  EXPECT_GE(extreme(compass, 5), 0.999 * 0.14890);  // -Jt_A
  EXPECT_GE(extreme(compass, 6), 0.999 * 0.3960392);
  // The path of an extreme leads to it.
  for (const OutcomeSet* set : {&block, &box, &compass})
    for (const OutcomeExtreme& e : set->extremes) {
      ASSERT_FALSE(e.path.empty());
      EXPECT_EQ((e.path.back() - e.v).norm(), 0);
      EXPECT_EQ(e.direction.dot(e.v), e.direction.dot(e.path.back()));
    }
}

// All of what chapter 7 names for the compass: the trailing foot sticks, slides or lifts while the leading one sticks,
// and the leading one slides or lifts while the trailing one keeps contact.
TEST(OutcomeSet, CompassHasEveryOutcomeOfTheDissertation) {
  const OutcomeSet set = sample_outcomes(test::compass(0.5), {.samples = 30000, .threads = 2});
  using enum ContactMode;
  for (const std::vector<ContactMode>& wanted :
       {std::vector{stick, stick}, {stick, slide}, {stick, open}, {open, stick}})
    EXPECT_TRUE(std::any_of(set.modes.begin(), set.modes.end(),
                            [&](const OutcomeMode& mode) { return mode.contacts == wanted; }));
}

// Algorithm 2: trajectories without increments left are ended by a small one, where one is enough.
TEST(OutcomeSet, ALastSmallIncrementEndsTrajectories) {
  OutcomeOptions options{.sampler = OutcomeSampler::uniform, .samples = 4000, .step = 0.0266, .max_steps = 1};
  const ImpactProblem p = test::block_of_table();
  const OutcomeSet cut = sample_outcomes(p, options);
  options.closing = 0.05;
  const OutcomeSet closed = sample_outcomes(p, options);
  EXPECT_GT(cut.unfinished, 0);
  EXPECT_GT(closed.finished, cut.finished);
  EXPECT_GE((p.Jn * closed.v).minCoeff(), -1e-11);
}

// Restitution: e = 1 is the elastic outcome, between them everything is feasible and loses energy.
TEST(OutcomeSet, RestitutionBlendsWithReflections) {
  ImpactProblem p = test::boxwall();
  ImpactProblem elastic = p;
  const VectorXd reflected = resolve_impact(elastic).v;
  for (const double e : {0.3, 1.0}) {
    p.restitution = Eigen::Vector2d::Constant(e);
    const OutcomeSet set = sample_outcomes(p, {.samples = 500});
    EXPECT_GE((p.Jn * set.v).minCoeff(), -1e-9);
    EXPECT_LE(set.energy_ratio.upper, 1 + 1e-9);
    if (e == 1) {
      EXPECT_LE((set.v.colwise() - reflected).cwiseAbs().maxCoeff(), 1e-12);
    }
  }
  p.restitution = Eigen::Vector2d(0.1, 0.2);
  EXPECT_THROW(sample_outcomes(p, {.samples = 10}), InputError);
}

TEST(OutcomeSet, HullOfAProjection) {
  OutcomeSet set;
  set.v.resize(2, 7);
  set.v << 0, 1, 1, 0, 0.5, 0.5, 0.2,  //
      0, 0, 1, 1, 0.5, 0, 0.9;
  const MatrixXd hull = set.hull(Eigen::Vector2d(1, 0), Eigen::Vector2d(0, 1));
  ASSERT_EQ(hull.cols(), 4);
  double area = 0;
  for (Eigen::Index k = 0; k < 4; ++k) {
    const Eigen::Index next = (k + 1) % 4;
    area += 0.5 * (hull(0, k) * hull(1, next) - hull(0, next) * hull(1, k));
  }
  EXPECT_DOUBLE_EQ(area, 1);
  set.v.conservativeResize(2, 2);
  EXPECT_EQ(set.hull(Eigen::Vector2d(1, 0), Eigen::Vector2d(0, 1)).cols(), 2);
}

// A body between two walls: impulses can balance each other, there is no bound, yet every call ends.
TEST(OutcomeSet, ASqueezedBodyEnds) {
  ImpactProblem p;
  p.M = Eigen::Matrix2d::Identity();
  p.Jn.resize(2, 2);
  p.Jn << 1, 0, -1, 0;
  p.v = Eigen::Vector2d(1, 0.3);
  const OutcomeSet set = sample_outcomes(p, {.samples = 200, .max_steps = 50});
  EXPECT_EQ(set.finished + set.unfinished + set.failed, 200);
  EXPECT_TRUE(std::isinf(set.impulse_bound));
  for (Eigen::Index k = 0; k < set.v.cols(); ++k) EXPECT_LE(std::abs(set.v(0, k)), 1e-9);
}

TEST(OutcomeSet, OptionsAreChecked) {
  const ImpactProblem p = test::boxwall();
  const auto rejects = [&](const OutcomeOptions& options) { EXPECT_THROW(sample_outcomes(p, options), InputError); };
  rejects({.samples = 0});
  rejects({.samples = 1'000'000'000});
  rejects({.step = -1});
  rejects({.step = std::nan("")});
  rejects({.max_steps = 0});
  rejects({.closing = -1});
  rejects({.friction_directions = 2});
  rejects({.separated = 0});
  rejects({.threads = -1});
  rejects({.paths = -1});
  rejects({.directions = MatrixXd::Ones(1, 2)});
  EXPECT_THROW(outcome_sampler_from_name("gibbs"), InputError);
  long calls = 0;
  const OutcomeSet stopped = sample_outcomes(p, {.samples = 100000}, [&](long, long) { return ++calls < 3; });
  EXPECT_TRUE(stopped.interrupted);
  EXPECT_LT(stopped.samples, 100000);
}

}  // namespace
}  // namespace scree
