// Elastic impact laws: known answers and counts, invariants on random cones, inelastic collapse, jams, bad input.
#include "impact/elastic.h"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <cmath>
#include <random>

#include "impact_examples.h"
#include "scree/error.h"
#include "support/random_cones.h"

namespace scree {
namespace {

using enum ImpactLaw;
constexpr ImpactLaw kIterated[] = {gauss_seidel_first, gauss_seidel_cyclic, gauss_seidel_max, reflections};

ImpactResult resolve(const ImpactProblem& problem, ImpactLaw law, double tolerance = 1e-10) {
  ImpactOptions options;
  options.law = law;
  options.tolerance = tolerance;
  return resolve_elastic(problem, options);
}

Eigen::VectorXd values(std::initializer_list<double> list) {
  Eigen::VectorXd v(static_cast<Eigen::Index>(list.size()));
  std::copy(list.begin(), list.end(), v.begin());
  return v;
}

// A reflection of unit vectors in double is off by some d u, and errors add: 30 steps of d = 32 stay far below 1e-13.
constexpr double kRounding = 1e-13;

void expect_velocity(const ImpactResult& result, const Eigen::VectorXd& expected, double tolerance = kRounding) {
  EXPECT_EQ(result.status, ImpactStatus::resolved);
  EXPECT_LE((result.v - expected).cwiseAbs().maxCoeff(), tolerance) << result.v.transpose();
}

struct Counts {
  const char* name;
  ImpactProblem problem;
  long first, cyclic, most, gr;
};
std::vector<Counts> counted() {
  return {{"cradle 3", cradle_impact(3), 2, 2, 2, 2},
          {"cradle 5", cradle_impact(5), 4, 4, 4, 4},
          {"cradle 7", cradle_impact(7), 6, 6, 6, 6},
          {"cradle 5, two moving", cradle_impact(5, 2), 6, 6, 6, 4},
          {"cradle 5, three moving", cradle_impact(5, 3), 6, 6, 6, 4},
          {"bernoulli", bernoulli_impact(), 2, 2, 2, 1},
          {"bernoulli, masses 1, 12.1, 23.3", bernoulli_impact(1, 12.1, 23.3), 2, 2, 2, 1},
          {"rack", rack_impact(), 27, 19, 23, 6},
          {"two boxes dropped", stack_impact(2, StackKind::drop), 7, 9, 6, 3},
          {"two boxes, top one falls", stack_impact(2, StackKind::top), 9, 9, 6, 3},
          {"two boxes, top one tilts", stack_impact(2, StackKind::tilt), 8, 6, 6, 3},
          {"three boxes dropped", stack_impact(3, StackKind::drop), 20, 21, 12, 5}};
}

TEST(ElasticImpact, TakesTheStepsOfExactArithmetic) {
  for (const Counts& c : counted())
    for (const double tolerance : {1e-14, 1e-10, 1e-7}) {
      const long expected[] = {c.first, c.cyclic, c.most, c.gr};
      for (int i = 0; i < 4; ++i) {
        const ImpactResult result = resolve(c.problem, kIterated[i], tolerance);
        EXPECT_EQ(result.steps, expected[i]) << c.name << ", " << impact_law_name(kIterated[i]) << ", " << tolerance;
        EXPECT_TRUE(result.certificate->holds);
        EXPECT_EQ(result.certificate->bits, 53);
        EXPECT_EQ(result.path.size(), static_cast<size_t>(result.steps) + 1);
      }
    }
}

// A plain loop in double comes to no end for three boxes dropped and tolerance 0 (ImpactCertificate tests); the
// smallest tolerance of the library is enough.
TEST(ElasticImpact, EndsAtTheSmallestTolerance) {
  for (const Counts& c : counted())
    for (const ImpactLaw law : kIterated) {
      const ImpactResult result = resolve(c.problem, law, 1e-15);
      EXPECT_EQ(result.status, ImpactStatus::resolved) << c.name << ", " << impact_law_name(law);
      EXPECT_TRUE(result.certificate->holds) << c.name << ", " << impact_law_name(law);
    }
}

TEST(ElasticImpact, CradlesPassOnWhatCameIn) {
  for (const ImpactLaw law : kIterated) {
    for (const int n : {2, 3, 5, 7}) expect_velocity(resolve(cradle_impact(n), law), Eigen::VectorXd::Unit(n, n - 1));
    expect_velocity(resolve(cradle_impact(5, 2), law), values({0, 0, 0, 1, 1}));
    expect_velocity(resolve(cradle_impact(5, 3), law), values({0, 0, 1, 1, 1}));
  }
}

TEST(ElasticImpact, SolvesBernoullisProblem) {
  const double r = std::sqrt(3);
  expect_velocity(resolve(bernoulli_impact(), reflections), values({-0.2, 0, 0.6, r / 5, 0.6, -r / 5}));
  expect_velocity(resolve(bernoulli_impact(), gauss_seidel_first),
                  values({-0.125, -r / 8, 0.75, r / 4, 0.375, -r / 8}));
  // reference values of twelve and ten digits
  expect_velocity(
      resolve(bernoulli_impact(1, 12.1, 23.3), reflections),
      values({-0.920515639657, 0.039134889488, 0.0765591744924, 0.0442014600021, 0.0426673660214, -0.0246340152581}),
      1e-12);
  expect_velocity(resolve(bernoulli_impact(1, 12.1, 23.3), gauss_seidel_first),
                  values({-0.4952879088, -0.736528312, 0.1145038168, 0.06610880945, 0.004712091226, -0.002720527138}),
                  1e-10);
}

TEST(ElasticImpact, RackBreaksSymmetrically) {
  const ImpactResult result = resolve(rack_impact(), reflections);
  struct Ball {
    int index;
    double x, y;
  };
  const Ball balls[] = {{0, -0.2, 0},
                        {1, -0.0505263157895, 0},
                        {2, -0.0925129725723, 0.0924445204929},
                        {4, -0.0860008112228, 0.0859327052129},
                        {5, -0.00355819125278, 0},
                        {7, -0.0608971005776, 0.090891181223},
                        {8, -0.00342391988475, 0.000116282415714},
                        {11, 0.511775319244, 0.29547361833},
                        {12, 0.238868763724, 0.0118608064029},
                        {13, 0.23846594962, 0}};
  for (const Ball& ball : balls) {  // to the twelve digits of the reference
    EXPECT_NEAR(result.v(2 * ball.index), ball.x, 1e-12) << ball.index;
    EXPECT_NEAR(result.v(2 * ball.index + 1), ball.y, 1e-12) << ball.index;
  }
  EXPECT_LE(rack_mirror_defect(result.v), 1e-15);  // some units of rounding of velocities below 1
  const double defects[] = {0.5550, 0.5918, 0.3750};
  for (int i = 0; i < 3; ++i)  // pairwise laws are not symmetric; four digits of the reference
    EXPECT_NEAR(rack_mirror_defect(resolve(rack_impact(), kIterated[i]).v), defects[i], 5e-5);
}

TEST(ElasticImpact, StacksOfBoxes) {
  using enum StackKind;
  expect_velocity(resolve(stack_impact(2, drop), reflections), values({0, 1, 0, 0, 1, 0}));
  expect_velocity(resolve(stack_impact(2, top), reflections), values({0, 0, 0, 0, 1, 0}));
  expect_velocity(resolve(stack_impact(2, tilt), reflections), values({0, 0, 0, 0, 1, -0.5}));
  expect_velocity(resolve(stack_impact(3, drop), reflections), values({0, 1, 0, 0, 1, 0, 0, 1, 0}));
  expect_velocity(resolve(stack_impact(2, drop), gauss_seidel_first), values({0, 0.92, 0.96, 0, 0.92, 0.96}));
  expect_velocity(resolve(stack_impact(2, drop), gauss_seidel_cyclic),
                  values({0, 0.7695232, 1.2286464, 0, 0.8985472, 1.4467584}));
  expect_velocity(resolve(stack_impact(2, top), gauss_seidel_first),
                  values({0, 0.38336, 0.00192, 0, 0.84384, 0.91968}));
  expect_velocity(resolve(stack_impact(2, tilt), gauss_seidel_first), values({0, 0.384, 0.192, 0, 0.92, 0.5}));
  expect_velocity(resolve(stack_impact(3, drop), gauss_seidel_first),
                  values({0, 0.8493952, 0.9030144, 0, 0.9221504, 0.9643008, 0, 0.9848704, 1.0019328}));
}

TEST(ElasticImpact, OneProjectionDoesNotBreakACradleAway) {
  for (const ImpactLaw law : {moreau, poisson}) {
    expect_velocity(resolve(cradle_impact(3), law), values({-1.0 / 3, 2.0 / 3, 2.0 / 3}));
    EXPECT_FALSE(resolve(cradle_impact(3), law).certificate.has_value());
  }
  const ImpactResult rack = resolve(rack_impact(), moreau);  // six digits of the reference
  EXPECT_NEAR(rack.v(0), -0.771429, 5e-7);
  EXPECT_NEAR(rack.v(2), 0.228571, 5e-7);
  ImpactProblem half = cradle_impact(3);
  half.restitution = Eigen::VectorXd::Constant(2, 0.5);
  expect_velocity(resolve(half, restitution_blend), values({1.0 / 6, 1.0 / 6, 2.0 / 3}));
  expect_velocity(resolve(half, moreau), values({0, 0.5, 0.5}));
  expect_velocity(resolve(half, poisson), values({0, 0.5, 0.5}));
}

TEST(ElasticImpact, PoissonKnowsRestitutionOfEachContact) {
  // A ball between two others; the second contact does not expand. Lambda_c = (2/3, 1/3) at v = 1/3 each; expansion
  // gives contact 0 another e0 2/3, which closes contact 1 again: it takes what keeps it closed.
  ImpactProblem p = cradle_impact(3);
  p.restitution = values({0.6, 0});
  const double push = 0.6 * 2 / 3;  // then balls 1 and 2 share it
  expect_velocity(resolve(p, poisson), values({1.0 / 3 - push, 1.0 / 3 + push / 2, 1.0 / 3 + push / 2}));
}

TEST(ElasticImpact, InelasticProjectionIsThatOfTheBlendWithoutRestitution) {
  std::mt19937_64 random(11);
  for (int trial = 0; trial < 60; ++trial) {
    ImpactProblem p = test::random_cone(random, {.dofs = 6, .contacts = 8, .kind = trial % 3, .masses = 1e4}).problem;
    p.restitution = Eigen::VectorXd::Zero(p.contacts());
    const ImpactResult a = resolve(p, restitution_blend), b = resolve(p, moreau), c = resolve(p, poisson);
    // Rounding in the metric of M: some u of |v| and of impulses, whose sum is at most w |v|, w < 1e3 here.
    const auto norm = [&](const Eigen::VectorXd& v) { return std::sqrt(v.dot(p.M * v)); };
    EXPECT_LE(norm(a.v - b.v), 1e-11 * norm(p.v));
    EXPECT_LE(norm(a.v - c.v), 1e-11 * norm(p.v));
    // Projection on a cone: M (v+ - v) = Jn^T p with p >= 0, and no power: v+.M (v+ - v) = 0.
    EXPECT_NEAR(b.v.dot(p.M * (b.v - p.v)) / b.energy_before, 0, 1e-10);
  }
}

// theory (13.13): a wedge of angle a is left after at most ceil(pi/a) reflections, whatever the direction.
TEST(ElasticImpact, WedgesReflectAtMostPiOverAngleTimes) {
  struct Case {
    double angle;
    long most;
  };
  for (const Case& c : {Case{M_PI / 2, 2}, {M_PI / 3, 3}, {M_PI / 4, 4}, {M_PI / 5, 5}, {0.5, 7}, {0.1, 32}}) {
    long most = 0, reflected = 0;
    for (int i = 0; i < 720; ++i) {
      const double direction = (i + 0.37) * M_PI / 360;
      const ImpactProblem p = wedge_impact(c.angle, std::cos(direction), std::sin(direction));
      const ImpactResult result = resolve(p, gauss_seidel_first);
      most = std::max(most, result.steps);
      reflected = std::max(reflected, resolve(p, reflections).steps);
      // least squares of rounding u move w by u w^2, relative
      EXPECT_NEAR(result.certificate->w * std::sin(c.angle / 2), 1, 1e-10);
    }
    EXPECT_EQ(most, c.most) << c.angle;
    EXPECT_LE(reflected, c.most - 1) << c.angle;
  }
}

TEST(ElasticImpact, CountsDigitsOfPi) {
  const long digits[] = {3, 31, 314, 3141, 31415, 314159};
  const double w[] = {2.613, 20.07, 200.0, 2000, 2e4, 2e5};
  for (int k = 0; k <= 5; ++k) {
    const ImpactResult result = resolve(galperin_impact(k), gauss_seidel_first, 1e-13);
    EXPECT_EQ(result.steps, digits[k]);
    EXPECT_TRUE(result.certificate->holds);
    EXPECT_NEAR(result.certificate->w, w[k], 5e-4 * w[k]);  // four digits of the reference
    // Renormalised: a few units after 314159 reflections.
    EXPECT_LE(result.certificate->delta, 1e-15);
    EXPECT_NEAR(result.energy_after, result.energy_before, 1e-14 * result.energy_before);
    EXPECT_LE(result.path.size(), 1002U);
  }
}

TEST(ElasticImpact, LongWedgeEndsWhereGeometrySays) {
  const ImpactResult result = resolve(wedge_impact(1e-5, -1, 1e-6), gauss_seidel_first, 1e-12);
  EXPECT_EQ(result.steps, 314159);
  EXPECT_TRUE(result.certificate->holds);
  EXPECT_LE(result.certificate->delta, 1e-15);
}

TEST(ElasticImpact, InelasticCollapseEndsWithACertificate) {
  // Violations are relative to |v_0|: sqrt(2) here, and normals of unit length see 1/sqrt(2) of relative velocities, so
  // that a relative velocity of -x is a violation of x/2.
  EXPECT_EQ(resolve(collapse_impact(0.05), gauss_seidel_first, 0.5e-6).steps, 17);
  EXPECT_EQ(resolve(collapse_impact(0.05), gauss_seidel_first, 0.5e-12).steps, 32);
  EXPECT_EQ(resolve(collapse_impact(0.1), gauss_seidel_first, 1e-12).steps, 6);
  const ImpactResult half = resolve(collapse_impact(0.5), gauss_seidel_first, 1e-12);
  EXPECT_EQ(half.steps, 3);
  expect_velocity(half, values({-0.359375, 0.046875, 0.3125}));
  for (const double e : {0.0, 0.05, 0.0717, 0.0719, 0.073, 0.1, 0.5, 0.9})
    for (const ImpactLaw law : {gauss_seidel_first, gauss_seidel_cyclic, gauss_seidel_max})
      for (const double tolerance : {1e-6, 1e-15}) {
        const ImpactResult result = resolve(collapse_impact(e), law, tolerance);
        EXPECT_EQ(result.status, ImpactStatus::resolved) << e;
        EXPECT_TRUE(result.certificate->holds) << e;
        EXPECT_LE(static_cast<double>(result.steps), result.certificate->cap);
        EXPECT_LE(result.energy_after, result.energy_before * (1 + 1e-15));
        EXPECT_LE(result.approach, 2 * tolerance * (1 + 1e-9) + 1e-15);
      }
}

// Below e* = 7 - 4 sqrt(3) relative velocities of the two contacts shrink by a fixed factor for ever: the product of
// two reflections on them, T = [[-e, 0], [a, 1]] [[1, a], [0, -e]] with a = (1 + e)/2, has a real eigenvalue between 0
// and 1 as long as (trace/2)^2 >= e^2, and turns without end only then.
TEST(ElasticImpact, CollapseThresholdIsSevenMinusFourRootsOfThree) {
  const auto plain = [](double e, double violation) {
    double v[3] = {1, 0, -1};
    for (long steps = 0;; ++steps) {
      if (steps == 100000) return -1L;
      const double a = v[1] - v[0], b = v[2] - v[1];
      if (a < -violation) {
        const double p = -(1 + e) / 2 * a;
        v[0] -= p, v[1] += p;
      } else if (b < -violation) {
        const double p = -(1 + e) / 2 * b;
        v[1] -= p, v[2] += p;
      } else {
        return steps;
      }
    }
  };
  EXPECT_EQ(plain(0.05, 1e-6), 17);
  EXPECT_EQ(plain(0.05, 1e-12), 32);
  EXPECT_EQ(plain(0.05, 1e-100), 254);
  EXPECT_EQ(plain(0.05, 1e-300), 756);  // it never ends
  EXPECT_EQ(plain(0.0717, 1e-300), 542);
  EXPECT_EQ(plain(0.0719, 1e-300), 89);  // these do
  EXPECT_EQ(plain(0.073, 1e-300), 27);
  EXPECT_EQ(plain(0.1, 1e-300), 6);
  EXPECT_EQ(plain(0.5, 1e-300), 3);
  const double threshold = 7 - 4 * std::sqrt(3.0);
  for (const double e : {threshold - 1e-6, threshold + 1e-6}) {
    const double a = (1 + e) / 2;
    Eigen::Matrix2d first, second;
    first << -e, 0, a, 1;
    second << 1, a, 0, -e;
    const Eigen::Vector2cd eigen = (first * second).eigenvalues();
    EXPECT_EQ(std::abs(eigen(0).imag()) < 1e-12, e < threshold) << e;
  }
}

TEST(ElasticImpact, JammedBodyKeepsWhatItCanKeep) {
  for (const ImpactLaw law : kIterated) {
    const ImpactResult result = resolve(jammed_impact(), law);
    expect_velocity(result, values({0, 0.3}), 1e-15);
    EXPECT_EQ(result.certificate->jammed, (std::vector<int>{0, 1}));
    EXPECT_NEAR(result.certificate->energy_removed, 0.5, 1e-15);
    EXPECT_TRUE(result.certificate->holds);
    const Eigen::VectorXd pushed = jammed_impact().v + jammed_impact().Jn.transpose() * result.normal_impulse;
    EXPECT_LE((pushed - result.v).cwiseAbs().maxCoeff(), 1e-15);
    EXPECT_GE(result.normal_impulse.minCoeff(), 0);
  }
}

// A disk between two walls hits a third one and a free disk: the jam takes x, the rest is elastic.
TEST(ElasticImpact, JamLeavesTheRestElastic) {
  ImpactProblem p;
  p.M = Eigen::MatrixXd::Identity(4, 4);  // x, y of two disks
  p.Jn = Eigen::MatrixXd::Zero(3, 4);
  p.Jn.row(0) << 1, 0, 0, 0;
  p.Jn.row(1) << -1, 0, 0, 0;
  p.Jn.row(2) << 0, -1, 0, 1;  // disk 1 is above disk 0
  p.v = values({2, 1, 0.5, 0});
  for (const ImpactLaw law : kIterated) {
    const ImpactResult result = resolve(p, law);
    expect_velocity(result, values({0, 0, 0.5, 1}));
    EXPECT_EQ(result.certificate->jammed, (std::vector<int>{0, 1}));
    EXPECT_NEAR(result.certificate->energy_removed, 2, 1e-14);
    EXPECT_NEAR(result.energy_after + result.certificate->energy_removed, result.energy_before, 1e-14);
    const Eigen::VectorXd change = p.v + p.Jn.transpose() * result.normal_impulse - result.v;
    EXPECT_LE(change.cwiseAbs().maxCoeff(), 1e-14);
  }
}

TEST(ElasticImpact, EarlyExits) {
  for (const ImpactLaw law : impact_laws()) {
    if (!impact_law_is_elastic(law)) continue;
    ImpactProblem rest = cradle_impact(3);
    rest.v.setZero();
    const ImpactResult still = resolve(rest, law);
    EXPECT_EQ(still.status, ImpactStatus::resolved);
    EXPECT_TRUE(still.v.isZero(0));
    ImpactProblem parting = cradle_impact(3);
    parting.v << -1, 0, 0.1;
    const ImpactResult apart = resolve(parting, law);
    EXPECT_EQ(apart.status, ImpactStatus::resolved);
    EXPECT_EQ(apart.v, parting.v) << impact_law_name(law);  // bit for bit
    EXPECT_TRUE(apart.normal_impulse.isZero(0));
    if (!apart.certificate) continue;
    EXPECT_TRUE(apart.certificate->holds);
    EXPECT_EQ(apart.certificate->steps, 0);
  }
}

TEST(ElasticImpact, RepeatedContactsChangeNoVelocityOfReflections) {
  const ImpactProblem once = rack_impact();
  ImpactProblem twice = once;
  twice.Jn.resize(2 * once.contacts(), once.dofs());
  for (int k = 0; k < once.contacts(); ++k) {
    twice.Jn.row(2 * k) = once.Jn.row(k);
    twice.Jn.row(2 * k + 1) = 3 * once.Jn.row(k);  // another unit of the same contact
  }
  const ImpactResult a = resolve(once, reflections), b = resolve(twice, reflections);
  EXPECT_LE((a.v - b.v).cwiseAbs().maxCoeff(), kRounding);
  EXPECT_EQ(a.steps, b.steps);
  EXPECT_TRUE(b.certificate->holds);
  for (const ImpactLaw law : {gauss_seidel_first, gauss_seidel_cyclic, gauss_seidel_max, moreau, poisson})
    EXPECT_EQ(resolve(twice, law).status, ImpactStatus::resolved);
}

TEST(ElasticImpact, BudgetEndsHopelessMargins) {
  ImpactOptions options;
  options.law = gauss_seidel_first;
  options.max_steps = 1000;
  const ImpactResult result = resolve_elastic(wedge_impact(1e-8, -1, 1e-9), options);
  EXPECT_EQ(result.status, ImpactStatus::budget);
  EXPECT_EQ(result.steps, 1000);
  EXPECT_FALSE(result.certificate->holds);
  EXPECT_FALSE(result.note.empty());
}

// Energy, impulses, momentum along normals, feasibility, homogeneity.
TEST(ElasticImpact, InvariantsOnRandomCones) {
  std::mt19937_64 random(7);
  int resolved = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const test::RandomCone cone = test::random_cone(random);
    const ImpactProblem& p = cone.problem;
    for (const ImpactLaw law :
         {gauss_seidel_first, gauss_seidel_cyclic, gauss_seidel_max, reflections, moreau, poisson}) {
      ImpactOptions options;
      options.law = law;
      options.tolerance = 1e-8;
      options.max_steps = 20000;
      const ImpactResult result = resolve_elastic(p, options);
      const std::string what = cone.name + ", " + impact_law_name(law) + ", trial " + std::to_string(trial);
      if (result.status == ImpactStatus::budget) continue;
      ASSERT_EQ(result.status, ImpactStatus::resolved) << what << ": " << result.note;
      ++resolved;
      // M v+ = M v + Jn^T p up to rounding of the steps, in the metric of the problem. L^-1 turns forces into y.
      const Eigen::LLT<Eigen::MatrixXd> llt(p.M);
      const double norm = std::sqrt(2 * result.energy_before);
      const Eigen::VectorXd force = p.M * (result.v - p.v) - p.Jn.transpose() * result.normal_impulse;
      const double momentum = Eigen::VectorXd(llt.matrixL().solve(force)).norm();
      const double impulses = Eigen::VectorXd(result.normal_impulse).dot([&] {
        Eigen::VectorXd sizes(p.contacts());
        for (int k = 0; k < p.contacts(); ++k)
          sizes(k) = Eigen::VectorXd(llt.matrixL().solve(p.Jn.row(k).transpose())).norm();
        return sizes;
      }());
      // Each step adds rounding below 1e-15 |y| (certificate: step_error), sums of impulses some u of their size.
      EXPECT_LE(momentum, 1e-14 * (static_cast<double>(result.steps) * norm + 10 * norm) + 1e-13 * impulses) << what;
      EXPECT_GE(result.normal_impulse.minCoeff(), 0) << what;
      if (!result.certificate) {
        EXPECT_LE(result.energy_after, result.energy_before * (1 + 1e-12)) << what;
        continue;
      }
      const ImpactCertificate& c = *result.certificate;
      EXPECT_TRUE(c.holds) << what;
      EXPECT_LE(static_cast<double>(c.steps), c.cap) << what;
      EXPECT_LE(c.theta, 0.5) << what;
      EXPECT_NEAR(result.energy_after + c.energy_removed, result.energy_before, 1e-12 * result.energy_before) << what;
      // Below the threshold by rounding of a_k.y and of the way back to v: some d u.
      const bool stands = c.energy_removed > 0.999 * result.energy_before;
      EXPECT_TRUE(stands || c.least_velocity.upper >= -options.tolerance * (1 + 1e-9) - 1e-13) << what;
      // Twice the velocity and another unit of mass: the same impact.
      ImpactProblem scaled = p;
      scaled.v *= 3;
      scaled.M *= 5;
      const ImpactResult other = resolve_elastic(scaled, options);
      // factors are not powers of two, and what is on an edge of the cone may fall either way in pairwise laws
      if (other.steps != result.steps || cone.kind == test::ConeKind::jammed) continue;
      EXPECT_LE((other.v - 3 * result.v).norm(), 1e-6 * 3 * p.v.norm()) << what;
    }
  }
  EXPECT_GT(resolved, 2000);  // of 2400: the budget is for near-jammed ones
}

TEST(ElasticImpact, MomentumOfFreeBodiesIsKept) {
  // Contacts between disks only: total momentum. Renormalising costs some u a step.
  for (const ImpactLaw law : kIterated) {
    const ImpactResult result = resolve(rack_impact(), law);
    double x = 0, y = 0;
    for (int i = 0; i < 16; ++i) x += result.v(2 * i), y += result.v(2 * i + 1);
    EXPECT_NEAR(x, 1, 1e-14);
    EXPECT_NEAR(y, 0, 1e-14);
  }
}

TEST(ElasticImpact, UnitsAndMassRatiosPlayNoPart) {
  const ImpactResult plain = resolve(stack_impact(3, StackKind::drop), reflections);
  for (const double scale : {1e-25, 1e-8, 1e8, 1e25}) {
    ImpactProblem p = stack_impact(3, StackKind::drop);
    p.M *= scale;
    p.v /= std::sqrt(scale);
    p.Jn *= scale;
    const ImpactResult result = resolve(p, reflections);
    EXPECT_EQ(result.status, ImpactStatus::resolved);
    EXPECT_EQ(result.steps, plain.steps);
    EXPECT_LE((result.v * std::sqrt(scale) - plain.v).cwiseAbs().maxCoeff(), kRounding);
  }
  ImpactProblem tiny = cradle_impact(3);
  tiny.M *= 1e-300;
  tiny.v *= 1e-300;
  const ImpactResult result = resolve(tiny, reflections);
  EXPECT_EQ(result.status, ImpactStatus::resolved);
  EXPECT_NEAR(result.v(2) / 1e-300, 1, kRounding);
}

TEST(ElasticImpact, MixedRestitutionIsRefusedWhereALawHasOne) {
  ImpactProblem p = cradle_impact(4);
  p.restitution = values({0.5, 0.5, 0.25});
  const auto message = [&](ImpactLaw law) -> std::string {
    try {
      resolve(p, law);
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(message(moreau),
            "restitution[2]: 0.25, expected 0.5 as in restitution[0]: moreau has one for all contacts");
  EXPECT_EQ(message(restitution_blend),
            "restitution[2]: 0.25, expected 0.5 as in restitution[0]: restitution-blend has one for all contacts");
  EXPECT_EQ(message(reflections), "restitution[0]: 0.5, expected 1 of reflections; restitution-blend knows others");
  EXPECT_EQ(message(poisson), "");
  EXPECT_EQ(message(gauss_seidel_first), "");
}

}  // namespace
}  // namespace scree
