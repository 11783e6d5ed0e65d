#include "solvers/simplex_qp.h"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "support/simplex_problems.h"

namespace scree {
namespace {

using test::random_problem;
using test::SimplexProblem;
using test::SimplexProblemKind;

constexpr double eps = std::numeric_limits<double>::epsilon();
constexpr double tolerance = 1e-12;  // of the violation, the default

int integer(std::mt19937_64& random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}
Eigen::VectorXd gaussian(std::mt19937_64& random, int n, double size = 1) {
  std::normal_distribution<double> normal;
  Eigen::VectorXd x(n);
  for (double& e : x) e = size * normal(random);
  return x;
}

SimplexQpReport solve(SimplexQp& qp, const SimplexProblem& p, Eigen::VectorXd& w,
                      const SimplexQpOptions& options = {}) {
  return qp.solve(p.blocks, p.size, p.Q.data(), p.g.data(), w.data(), options);
}
Eigen::VectorXd solution(const SimplexProblem& p) {
  SimplexQp qp;
  Eigen::VectorXd w = Eigen::VectorXd::Zero(p.g.size());
  const SimplexQpReport report = solve(qp, p, w);
  EXPECT_TRUE(report.converged) << report.violation << " after " << report.iterations;
  return w;
}

// >= 0 exactly; a sum of `size` numbers <= 1 is rounded by less than size * eps.
void expect_feasible(const Eigen::VectorXd& w, int blocks, int size) {
  EXPECT_GE(w.minCoeff(), 0);
  for (int b = 0; b < blocks; ++b) EXPECT_LE(w.segment(b * size, size).sum(), 1 + eps * size);
}

// max of y.(w - u) over all feasible u, an upper bound of f(w) - min f that needs no multipliers. By the definition of
// the violation v_b it is at most v_b (sum_b w + sum_b u) <= 2 v_b in block b.
double gap(const SimplexProblem& p, const Eigen::VectorXd& w) {
  const Eigen::VectorXd y = p.Q * w + p.g;
  double sum = 0;
  for (int b = 0; b < p.blocks; ++b) {
    const auto yb = y.segment(b * p.size, p.size);
    sum += yb.dot(w.segment(b * p.size, p.size)) - std::min(0.0, yb.minCoeff());
  }
  return sum;
}
// 2 v_b, and the rounding of y, whose n + 1 terms scale_b bounds.
double allowed_gap(const SimplexProblem& p, const Eigen::VectorXd& w, double violation = tolerance) {
  return (2 * violation + 4 * eps * static_cast<double>(w.size() + 1)) * p.scale(w);
}

// ---- Projection ----

// Closed form by sorting [Held, Wolfe, Crowder 1974]: theta from the largest k with w_(k) > (sum of the k largest -
// 1)/k.
Eigen::VectorXd projected_by_sorting(Eigen::VectorXd w) {
  w = w.cwiseMax(0);
  if (w.sum() <= 1) return w;
  Eigen::VectorXd sorted = w;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  double sum = 0, theta = 0;
  for (int k = 0; k < sorted.size(); ++k) {
    sum += sorted(k);
    if (sorted(k) > (sum - 1) / (k + 1)) theta = (sum - 1) / (k + 1);
  }
  return (w.array() - theta).max(0);
}

TEST(ProjectCappedSimplex, IsTheNearestPoint) {
  std::mt19937_64 random(91);
  for (int trial = 0; trial < 5000; ++trial) {
    const int n = integer(random, 1, 64);
    const double size = std::pow(10, std::uniform_real_distribution<double>(-3, 3)(random));
    const Eigen::VectorXd w = gaussian(random, n, size);
    Eigen::VectorXd p = w;
    project_capped_simplex(p.data(), n);
    expect_feasible(p, 1, n);
    // theta is a mean of up to n entries of this size
    const double rounding = 4 * eps * n * (1 + w.cwiseAbs().maxCoeff());
    EXPECT_LE((p - projected_by_sorting(w)).cwiseAbs().maxCoeff(), rounding);
    // (w - p).(u - p) <= 0 for all points u of the set, that is, for its corners 0 and e_j
    const Eigen::VectorXd normal = w - p;
    EXPECT_LE(std::max(0.0, normal.maxCoeff()) - normal.dot(p), 4 * rounding);
  }
}

TEST(ProjectCappedSimplex, LeavesPointsOfTheSetAlone) {
  std::mt19937_64 random(92);
  for (int trial = 0; trial < 1000; ++trial) {
    const int n = integer(random, 1, 64);
    Eigen::VectorXd p = gaussian(random, n, 2);
    project_capped_simplex(p.data(), n);
    const Eigen::VectorXd before = p;
    project_capped_simplex(p.data(), n);
    EXPECT_EQ(p, before);
  }
}

TEST(ProjectCappedSimplex, StandsLargeNumbers) {
  Eigen::Vector4d w(1e300, 1e300, -1e300, 1e200);
  project_capped_simplex(w.data(), 4);
  EXPECT_EQ(w, Eigen::Vector4d(0.5, 0.5, 0, 0));
  w << 1e17, 0, 1, 2;  // 1e17 - 1 is not a number
  project_capped_simplex(w.data(), 4);
  EXPECT_EQ(w, Eigen::Vector4d(1, 0, 0, 0));
}

// ---- Closed forms ----

TEST(SimplexQp, WithAMultipleOfTheIdentityProjects) {
  std::mt19937_64 random(93);
  for (int trial = 0; trial < 500; ++trial) {
    const int blocks = integer(random, 1, 5), size = integer(random, 1, 8), n = blocks * size;
    const double s = std::pow(10, std::uniform_real_distribution<double>(-6, 6)(random));
    const Eigen::VectorXd z = gaussian(random, n);
    const SimplexProblem p{blocks, size, s, s * Eigen::MatrixXd::Identity(n, n), -s * z};
    Eigen::VectorXd expected = z;
    for (int b = 0; b < blocks; ++b) project_capped_simplex(expected.data() + b * size, size);
    const Eigen::VectorXd w = solution(p);
    // |w - minimiser| <= |v| / s, see below; |v| <= tolerance * (|g| + s) for each variable
    EXPECT_LE((w - expected).norm(), std::sqrt(n) * tolerance * (z.cwiseAbs().maxCoeff() + blocks));
  }
}

TEST(SimplexQp, WithoutQIsALinearProgram) {
  std::mt19937_64 random(94);
  for (int trial = 0; trial < 200; ++trial) {
    const int blocks = integer(random, 1, 6), size = integer(random, 1, 16), n = blocks * size;
    const SimplexProblem p{blocks, size, 0, Eigen::MatrixXd::Zero(n, n), gaussian(random, n, 1e3)};
    SimplexQp qp;
    Eigen::VectorXd w = gaussian(random, n);
    ASSERT_TRUE(solve(qp, p, w).converged);
    for (int b = 0; b < blocks; ++b) {
      Eigen::Index best = 0;
      const double least = p.g.segment(b * size, size).minCoeff(&best);
      Eigen::VectorXd corner = Eigen::VectorXd::Zero(size);
      if (least < 0) corner(best) = 1;
      EXPECT_LE((w.segment(b * size, size) - corner).norm(), eps * size);  // rounding of the sum
    }
  }
}

TEST(SimplexQp, WithoutAForceIsZero) {
  std::mt19937_64 random(95);
  for (int trial = 0; trial < 200; ++trial) {
    SimplexProblem p = random_problem(random, integer(random, 1, 8), integer(random, 3, 10));
    p.g.setZero();
    SimplexQp qp;
    Eigen::VectorXd w = gaussian(random, static_cast<int>(p.g.size()));
    const SimplexQpReport report = solve(qp, p, w);
    EXPECT_TRUE(report.converged);
    EXPECT_EQ(report.violation, 0);
    EXPECT_EQ(w.norm(), 0);
  }
}

// A foot in the air: its columns of A are zero, its force too. beta, however small, decides for w = 0, and the other
// blocks do not notice it.
TEST(SimplexQp, AFootInTheAirHasNoWeights) {
  std::mt19937_64 random(96);
  for (int trial = 0; trial < 200; ++trial) {
    const SimplexProblem ground = random_problem(random, 3, 6, {.beta = 1e-12, .polygon = true, .in_range = true});
    SimplexProblem p{4, 6, ground.beta, Eigen::MatrixXd::Zero(24, 24), Eigen::VectorXd::Zero(24)};
    p.Q.topLeftCorner(18, 18) = ground.Q;
    p.Q.diagonal().tail(6).setConstant(ground.beta);
    p.g.head(18) = ground.g;
    SimplexQp qp;
    Eigen::VectorXd w = gaussian(random, 24);
    ASSERT_TRUE(solve(qp, p, w).converged);
    EXPECT_EQ(w.tail(6).norm(), 0);
    const Eigen::VectorXd alone = solution(ground);
    EXPECT_NEAR(p.value(w), ground.value(alone), allowed_gap(p, w));
  }
}

// Equal columns share a weight in any proportion: the value is that without the copies.
TEST(SimplexQp, CopiesOfAColumnChangeNothing) {
  std::mt19937_64 random(97);
  for (int trial = 0; trial < 300; ++trial) {
    const int blocks = integer(random, 1, 4), size = 4, n = blocks * size;
    const SimplexProblem p = random_problem(random, blocks, size, {.polygon = trial % 2 == 0});
    Eigen::MatrixXd copy = Eigen::MatrixXd::Zero(n, 2 * n);  // each block twice
    for (int b = 0; b < blocks; ++b)
      for (int j = 0; j < 2 * size; ++j) copy(b * size + j % size, 2 * b * size + j) = 1;
    const SimplexProblem twice{blocks, 2 * size, 0, copy.transpose() * p.Q * copy, copy.transpose() * p.g};
    const Eigen::VectorXd w = solution(p), both = solution(twice);
    expect_feasible(both, blocks, 2 * size);
    EXPECT_NEAR(p.value(w), twice.value(both), allowed_gap(p, w) + allowed_gap(twice, both));
  }
}

// ---- A second algorithm ----

// Smallest value over the minimisers of all faces that are feasible. Faces on which Q is singular are left out: the
// minimum is attained on a smaller face as well.
double enumerated_minimum(const SimplexProblem& p) {
  const int n = p.blocks * p.size;
  double best = 0;  // of w = 0
  for (int held = 0; held < 1 << n; ++held) {
    for (int full = 0; full < 1 << p.blocks; ++full) {
      const int m = n + p.blocks;  // w and one multiplier per block
      Eigen::MatrixXd K = Eigen::MatrixXd::Zero(m, m);
      Eigen::VectorXd right = Eigen::VectorXd::Zero(m);
      K.topLeftCorner(n, n) = p.Q;
      right.head(n) = -p.g;
      for (int b = 0; b < p.blocks; ++b) {
        if (full >> b & 1) {
          K.block(n + b, b * p.size, 1, p.size).setOnes();
          K.block(b * p.size, n + b, p.size, 1).setOnes();
          right(n + b) = 1;
        } else {
          K(n + b, n + b) = 1;
        }
      }
      for (int j = 0; j < n; ++j) {
        if (!(held >> j & 1)) continue;
        K.row(j).setZero();
        K.col(j).setZero();
        K(j, j) = 1;
        right(j) = 0;
      }
      const Eigen::FullPivLU<Eigen::MatrixXd> lu(K);
      if (!lu.isInvertible()) continue;
      Eigen::VectorXd w = lu.solve(right).head(n);
      if (w.minCoeff() < -1e-9) continue;
      for (int b = 0; b < p.blocks; ++b) project_capped_simplex(w.data() + b * p.size, p.size);
      best = std::min(best, p.value(w));  // of a feasible point, whatever w was
    }
  }
  return best;
}

TEST(SimplexQp, AgreesWithEnumeration) {
  std::mt19937_64 random(98);
  for (int trial = 0; trial < 150; ++trial) {
    SimplexProblemKind kind;
    kind.beta = trial % 3 == 0 ? 0 : std::pow(10, std::uniform_real_distribution<double>(-6, 2)(random));
    kind.force = std::pow(10, std::uniform_real_distribution<double>(-1, 1)(random));
    kind.zero = trial % 5 == 0 ? 0.5 : 0;
    kind.parallel = trial % 4 == 0 ? 0.5 : 0;
    const SimplexProblem p = random_problem(random, integer(random, 1, 2), integer(random, 1, 3), kind);
    const Eigen::VectorXd w = solution(p);
    // Faces are solved to some 1e-12 on well conditioned ones; the value is second order in that, but for sums kept
    // only up to rounding.
    EXPECT_NEAR(p.value(w), enumerated_minimum(p), allowed_gap(p, w) + 1e-12 * p.scale(w)) << "trial " << trial;
  }
}

// ---- Invariants on all kinds of problems ----

TEST(SimplexQp, SolvesAllKindsOfProblems) {
  std::mt19937_64 random(99);
  SimplexQp qp;
  int most_iterations = 0;
  for (int trial = 0; trial < 6000; ++trial) {
    const SimplexProblem p = random_problem(random, integer(random, 1, 8), integer(random, 3, 16));
    const int n = static_cast<int>(p.g.size());
    Eigen::VectorXd w = trial % 3 == 0 ? gaussian(random, n) : Eigen::VectorXd(Eigen::VectorXd::Zero(n));
    const SimplexQpReport report = solve(qp, p, w);
    ASSERT_TRUE(report.converged) << "trial " << trial << ", violation " << report.violation;
    EXPECT_LE(report.violation, tolerance);
    expect_feasible(w, p.blocks, p.size);
    EXPECT_LE(gap(p, w), allowed_gap(p, w, report.violation)) << "trial " << trial;
    most_iterations = std::max(most_iterations, report.iterations);
  }
  EXPECT_LE(most_iterations, 2 * 128);  // two changes of the active set for each variable
}

TEST(SimplexQp, SolvesLargeProblems) {
  std::mt19937_64 random(100);
  for (const double beta : {1e-9, 1e-3, 1.0}) {
    const SimplexProblem p = random_problem(random, 64, 6, {.beta = beta, .coupling = 0.1, .zero = 0.2});
    const Eigen::VectorXd w = solution(p);
    expect_feasible(w, p.blocks, p.size);
    EXPECT_LE(gap(p, w), allowed_gap(p, w));
  }
}

// Whatever the start, the value is the same, and where Q is definite also w: a violation v_b is a residual r of the
// monotone inclusion -(Q w + g + r) in N(w), |r_j| <= v_b, so beta |w - u|^2 <= |r| |w - u| for the minimiser u.
TEST(SimplexQp, WarmAndColdStartsMeet) {
  std::mt19937_64 random(101);
  for (int trial = 0; trial < 1500; ++trial) {
    const SimplexProblem p = random_problem(random, integer(random, 1, 6), integer(random, 3, 8));
    const int n = static_cast<int>(p.g.size());
    const Eigen::VectorXd cold = solution(p);
    SimplexQp qp;
    Eigen::VectorXd warm = trial % 2 == 0 ? gaussian(random, n) : Eigen::VectorXd(cold + gaussian(random, n, 1e-3));
    ASSERT_TRUE(solve(qp, p, warm).converged);
    EXPECT_LE(std::abs(p.value(warm) - p.value(cold)), allowed_gap(p, cold) + allowed_gap(p, warm)) << trial;
    if (p.beta > 1e-6 * p.Q.diagonal().maxCoeff()) {
      const double residual = std::sqrt(n) * tolerance * (p.scale(cold) + p.scale(warm));
      EXPECT_LE((warm - cold).norm(), residual / p.beta + n * eps) << trial;
    }
  }
}

TEST(SimplexQp, StopsAtOnceAtASolutionAndAfterOneSystemOnItsFace) {
  std::mt19937_64 random(102);
  for (int trial = 0; trial < 300; ++trial) {
    const SimplexProblem p = random_problem(random, 4, 6, {.beta = 1e-2, .polygon = trial % 2 == 0});
    const Eigen::VectorXd w = solution(p);
    SimplexQp qp;
    Eigen::VectorXd again = w;
    SimplexQpReport report = solve(qp, p, again);
    EXPECT_TRUE(report.converged);
    EXPECT_EQ(report.iterations, 0);
    EXPECT_EQ(again, w);
    // Any other point inside the same face.
    for (int b = 0; b < p.blocks; ++b) {
      auto block = again.segment(b * p.size, p.size);
      const double sum = block.sum(), support = static_cast<double>((block.array() > 0).count());
      for (double& x : block)
        if (x > 0) x = (x + sum / support) / 2;
    }
    report = solve(qp, p, again);
    EXPECT_TRUE(report.converged);
    EXPECT_LE(report.iterations, 1);
    EXPECT_LE((again - w).norm(), std::sqrt(24) * 2 * tolerance * p.scale(w) / p.beta);
  }
}

// Q and g times a power of four: the same bits. 2^600 and 2^-600 are far from what a double holds when squared.
TEST(SimplexQp, DoesNotDependOnTheUnit) {
  std::mt19937_64 random(103);
  for (int trial = 0; trial < 300; ++trial) {
    const double beta = std::pow(10, std::uniform_real_distribution<double>(-12, 3)(random));
    SimplexProblem p = random_problem(random, 4, 6, {.beta = beta, .zero = 0.2, .in_range = trial % 2 == 0});
    const Eigen::VectorXd w = solution(p);
    for (const int exponent : {600, -600}) {
      SimplexProblem scaled = p;
      scaled.Q *= std::ldexp(1, exponent);
      scaled.g *= std::ldexp(1, exponent);
      EXPECT_EQ(solution(scaled), w) << "trial " << trial << ", 2^" << exponent;
    }
  }
}

TEST(SimplexQp, DoesNotDependOnWhatWasSolvedBefore) {
  std::mt19937_64 random(104);
  SimplexQp used;
  for (int trial = 0; trial < 300; ++trial) {
    const SimplexProblem p = random_problem(random, integer(random, 1, 8), integer(random, 3, 16));
    Eigen::VectorXd w = Eigen::VectorXd::Zero(p.g.size());
    ASSERT_TRUE(solve(used, p, w).converged);
    EXPECT_EQ(w, solution(p));
  }
}

// Computed as Z'(M Z), Q is symmetric and semidefinite only up to rounding.
TEST(SimplexQp, ToleratesRoundingInQ) {
  std::mt19937_64 random(105);
  for (int trial = 0; trial < 1000; ++trial) {
    SimplexProblem p =
        random_problem(random, integer(random, 1, 6), integer(random, 3, 8), {.in_range = trial % 2 == 0});
    const double largest = p.Q.diagonal().maxCoeff();
    for (double& q : p.Q.reshaped()) q += eps * largest * gaussian(random, 1)(0);
    SimplexQp qp;
    Eigen::VectorXd w = gaussian(random, static_cast<int>(p.g.size()));
    const SimplexQpReport report = solve(qp, p, w);
    EXPECT_TRUE(report.converged) << "trial " << trial << ", violation " << report.violation;
    expect_feasible(w, p.blocks, p.size);
  }
}

// ---- Failures are reported ----

TEST(SimplexQp, ReportsTheIterationLimitAndTheViolationThere) {
  const SimplexProblem p{1, 2, 2, 2 * Eigen::MatrixXd::Identity(2, 2), Eigen::Vector2d(-1, 1)};
  SimplexQp qp;
  Eigen::VectorXd w = Eigen::Vector2d(0.25, 0.25);
  SimplexQpReport report = solve(qp, p, w, {.max_iterations = 0});
  EXPECT_FALSE(report.converged);
  EXPECT_EQ(report.iterations, 0);
  EXPECT_EQ(w, Eigen::Vector2d(0.25, 0.25));
  // y = (-0.5, 1.5), l = 0; scale = 1 + sqrt(2) (sqrt(2)/4 + sqrt(2)/4) = 2
  EXPECT_NEAR(report.violation, 1.5 / 2, 4 * eps);
  w << 0.25, 0.75;  // y = (-0.5, 2.5), sum 1; l >= 0 would only make it worse; scale = 3
  EXPECT_NEAR(solve(qp, p, w, {.max_iterations = 0}).violation, 2.5 / 3, 4 * eps);
  w << 1, 0;  // y = (1, 1), scale 3
  EXPECT_NEAR(solve(qp, p, w, {.max_iterations = 0}).violation, 1.0 / 3, 4 * eps);
  // Both want more than the block has: y = (-10, -6) at (0, 1), l = 8, v = 2.
  const SimplexProblem crowded{1, 2, 2, 2 * Eigen::MatrixXd::Identity(2, 2), Eigen::Vector2d(-10, -8)};
  w << 0, 1;
  EXPECT_NEAR(solve(qp, crowded, w, {.max_iterations = 0}).violation, 2.0 / 12, 4 * eps);
}

TEST(SimplexQp, RefusesWhatIsNotFiniteAndLeavesWAlone) {
  std::mt19937_64 random(106);
  const SimplexProblem good = random_problem(random, 4, 6, {.beta = 1e-3});
  const Eigen::VectorXd start = gaussian(random, 24);
  const auto refuses = [&](const SimplexProblem& p, Eigen::VectorXd w) {
    const Eigen::VectorXd before = w;
    SimplexQp qp;
    const SimplexQpReport report = solve(qp, p, w);
    EXPECT_FALSE(report.converged);
    EXPECT_FALSE(report.violation <= 1);
    for (int j = 0; j < w.size(); ++j) EXPECT_TRUE(w(j) == before(j) || std::isnan(before(j)));
  };
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity(), 0.9 * std::numeric_limits<double>::max()}) {
    SimplexProblem p = good;
    p.Q(3, 17) = p.Q(17, 3) = bad;
    refuses(p, start);
    p = good;
    p.g(5) = bad;
    p.g(6) = bad;
    refuses(p, start);
    Eigen::VectorXd w = start;
    w(11) = w(12) = bad;
    refuses(good, w);
  }
}

// Not promised to be solved, but to end at a feasible point.
TEST(SimplexQp, EndsWhenQIsIndefinite) {
  std::mt19937_64 random(107);
  SimplexQp qp;
  for (int trial = 0; trial < 2000; ++trial) {
    const int blocks = integer(random, 1, 5), size = integer(random, 1, 6), n = blocks * size;
    const Eigen::MatrixXd half = gaussian(random, n * n).reshaped(n, n);
    SimplexProblem p{blocks, size, 0, half + half.transpose(), gaussian(random, n)};
    if (trial % 2 == 0) p.Q.diagonal().setZero();
    Eigen::VectorXd w = gaussian(random, n);
    const SimplexQpReport report = solve(qp, p, w, {.max_iterations = 300});
    EXPECT_LE(report.iterations, 300);
    EXPECT_FALSE(std::isnan(report.violation));
    EXPECT_EQ(report.converged, report.violation <= tolerance);
    expect_feasible(w, blocks, size);
  }
}

TEST(SimplexQp, SolvesTheEmptyProblem) {
  SimplexQp qp;
  const SimplexQpReport report = qp.solve(0, 6, nullptr, nullptr, nullptr);
  EXPECT_TRUE(report.converged);
  EXPECT_EQ(report.violation, 0);
}

}  // namespace
}  // namespace scree
