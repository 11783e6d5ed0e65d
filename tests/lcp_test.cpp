#include "solvers/lcp.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/SVD>
#include <cmath>
#include <limits>
#include <vector>

#include "support/contact_problems.h"

namespace scree {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using test::Random;
using test::uniform;

MatrixXd random_matrix(Random& random, int rows, int columns) {
  std::normal_distribution<double> normal;
  MatrixXd A(rows, columns);
  for (double& x : A.reshaped()) x = normal(random);
  return A;
}
VectorXd random_vector(Random& random, int n) { return random_matrix(random, n, 1); }

struct Problem {
  MatrixXd M;
  VectorXd q;
  int size() const { return static_cast<int>(q.size()); }
};

struct Answer {
  LcpReport report;
  VectorXd z;
};
Answer solve(const Problem& p, const LcpOptions& options = {}) {
  Lemke lemke;
  Answer answer{{}, VectorXd::Constant(p.size(), 7)};
  answer.report = lemke.solve(p.M, p.q, answer.z, options);
  return answer;
}

// What the header promises, computed here anew.
void expect_solution(const Problem& p, const Answer& answer, double tolerance = 1e-10) {
  ASSERT_EQ(answer.report.status, LcpStatus::solved)
      << lcp_status_name(answer.report.status) << ", n " << p.size() << ", residual " << answer.report.residual;
  const VectorXd w = p.M * answer.z + p.q;
  const double scale = (p.q.cwiseAbs() + p.M.cwiseAbs() * answer.z).maxCoeff();
  EXPECT_GE(answer.z.minCoeff(), 0);
  // w is summed in another order here than there: n terms, each rounded by an epsilon of the scale.
  const double slack = (tolerance + 1e-15 * (p.size() + 1)) * scale;
  EXPECT_GE(w.minCoeff(), -slack);
  const VectorXd both = (p.M.cwiseAbs().maxCoeff() * answer.z).cwiseMin(w);
  EXPECT_LE(both.cwiseAbs().maxCoeff(), slack);
  EXPECT_LE(answer.report.residual, tolerance);
}

// ---- Problems with one solution ----

// x.M x >= c |x|^2 with c = 0.5: one solution, and any z is as near to it as |z - z*| <= (1 + |M|)/c |min(z, w)|
// (Pang 1990). The largest entry of min(m z, w) is residual * scale, so of min(z, w) at most that over min(m, 1).
TEST(Lemke, FindsTheOnlySolutionOfPositiveDefiniteProblems) {
  Random random(1);
  for (int trial = 0; trial < 400; ++trial) {
    const int n = 1 + trial % 10;
    const MatrixXd A = random_matrix(random, n, n), S = random_matrix(random, n, n);
    const Problem p{A * A.transpose() / n + 0.5 * MatrixXd::Identity(n, n) + (S - S.transpose()),
                    random_vector(random, n)};
    const Answer answer = solve(p);
    expect_solution(p, answer, 1e-14);
    const LcpSolutionSet all = enumerate_lcp_solutions(p.M, p.q);
    ASSERT_EQ(all.z.size(), 1u);
    EXPECT_TRUE(all.continua.empty());
    const double m = p.M.cwiseAbs().maxCoeff(), residual = answer.report.residual + 1e-15 * n;
    const double bound = (1 + p.M.norm()) / 0.5 * std::sqrt(n) * 2 * residual * answer.report.scale / std::min(1.0, m);
    EXPECT_LE((answer.z - all.z[0]).norm(), bound);
  }
}

// Triangular with positive diagonal: a P-matrix, but x.M x has either sign. The solution follows by substitution,
//   z_i = max(0, -(q_i + sum_{j<i} M_ij z_j)) / M_ii,
// each of at most 8 rows multiplying earlier errors by at most 1 + 2/0.5 = 5: 5^8 epsilon = 1e-10.
TEST(Lemke, FindsTheOnlySolutionOfTriangularProblems) {
  Random random(2);
  for (int trial = 0; trial < 400; ++trial) {
    const int n = 1 + trial % 8;
    Problem p{MatrixXd::Zero(n, n), random_vector(random, n)};
    VectorXd exact(n);
    for (int i = 0; i < n; ++i) {
      double w = p.q(i);
      for (int j = 0; j < i; ++j) {
        p.M(i, j) = uniform(random, -2, 2);
        w += p.M(i, j) * exact(j);
      }
      p.M(i, i) = uniform(random, 0.5, 2);
      exact(i) = std::max(0.0, -w / p.M(i, i));
    }
    const Answer answer = solve(p);
    expect_solution(p, answer, 1e-13);
    EXPECT_LE((answer.z - exact).cwiseAbs().maxCoeff(), 1e-9 * (1 + exact.maxCoeff())) << "n " << n;
    EXPECT_EQ(enumerate_lcp_solutions(p.M, p.q).z.size(), 1u);
  }
}

// Murty 1978: twos below a diagonal of ones, q = -1. Row by row: z = (1, 0, ..., 0), w = (0, 1, ..., 1).
TEST(Lemke, SolvesMurtysProblem) {
  for (const int n : {1, 2, 5, 8}) {
    Problem p{MatrixXd::Identity(n, n), VectorXd::Constant(n, -1)};
    p.M.triangularView<Eigen::StrictlyLower>().setConstant(2);
    const Answer answer = solve(p, {.max_pivots = 1 << (n + 1)});  // 2^n are known to be possible
    expect_solution(p, answer);
    EXPECT_LE((answer.z - VectorXd::Unit(n, 0)).cwiseAbs().maxCoeff(), 1e-12);  // integers; scaled by square roots
  }
}

// ---- Dry friction ----

// The problem of theory (12.5) from a random inertia, Jacobian and velocity, contacts with gaps >= 0, some of them
// twice. `decades`: dofs are scaled by 10^(-decades...decades), so the inertia has a condition of 10^(4 decades).
Problem friction_problem(Random& random, int dofs, int contacts, int directions, double decades) {
  VectorXd size(dofs);
  for (double& s : size) s = std::pow(10, uniform(random, -decades, decades));
  const MatrixXd A = random_matrix(random, dofs, dofs);
  const MatrixXd mass =
      size.asDiagonal() * (A * A.transpose() / dofs + 0.01 * MatrixXd::Identity(dofs, dofs)) * size.asDiagonal();
  MatrixXd J = random_matrix(random, 3 * contacts, dofs);
  for (int k = 1; k < contacts; ++k)
    if (uniform(random, 0, 1) < 0.2) J.middleRows(3 * k, 3) = J.middleRows(3 * k - 3, 3);
  const VectorXd u = J * random_vector(random, dofs);
  const int block = directions + 2;
  MatrixXd D = MatrixXd::Zero(3 * contacts, block * contacts);  // of the unknowns: n, d_k, nothing
  Problem p{{}, VectorXd::Zero(block * contacts)};
  for (int i = 0; i < contacts; ++i) {
    D(3 * i + 2, i * block) = 1;
    for (int k = 0; k < directions; ++k) {
      D(3 * i, i * block + 1 + k) = std::cos(2 * M_PI * k / directions);
      D(3 * i + 1, i * block + 1 + k) = std::sin(2 * M_PI * k / directions);
    }
    p.q(i * block) = std::max(0.0, uniform(random, -1, 1));  // gap/h
  }
  p.q += D.transpose() * u;
  p.M = D.transpose() * (J * mass.llt().solve(J.transpose())) * D;
  const double mu = uniform(random, 0, 1.5);
  for (int i = 0; i < contacts; ++i) {
    const int lambda = i * block + 1 + directions;
    p.M.block(i * block + 1, lambda, directions, 1).setOnes();
    p.M.block(lambda, i * block + 1, 1, directions).setConstant(-1);
    p.M(lambda, i * block) = mu;
  }
  return p;
}

// Copositive, and q.z >= 0 for all z with z >= 0, M z >= 0, z.M z = 0, as theory (12.7) shows: always solvable. More
// contacts than dofs make M singular.
TEST(Lemke, SolvesAllFrictionProblems) {
  Random random(3);
  int restarts = 0;
  for (int trial = 0; trial < 1500; ++trial) {
    const int dofs = 3 + trial % 10, contacts = 1 + trial % 7, directions = 2 << (trial % 3);
    const Problem p = friction_problem(random, dofs, contacts, directions, uniform(random, 0, 1));
    const Answer answer = solve(p);
    expect_solution(p, answer, 1e-13);
    restarts += answer.report.tries - 1;
  }
  EXPECT_EQ(restarts, 0);
}

// Inertias with a condition of 1e8 leave rounding to decide which rows tie: 1 % need more than one try.
TEST(Lemke, SolvesFrictionProblemsOfBadCondition) {
  Random random(4);
  for (int trial = 0; trial < 1000; ++trial) {
    const Problem p = friction_problem(random, 12, 1 + trial % 7, 8, 2);
    expect_solution(p, solve(p));
  }
}

// ---- Degeneracy ----

// Lemke's algorithm as in a textbook, the first of several rows that tie leaves. False: it came back to a basis.
bool first_index_ends(const Problem& p) {
  const int n = p.size();
  MatrixXd T(n, n + 1);  // x_B = b + T x_N
  T << p.M, VectorXd::Ones(n);
  VectorXd b = p.q;
  std::vector<int> basic(static_cast<size_t>(n)), nonbasic(static_cast<size_t>(n + 1));
  for (int i = 0; i < n; ++i) basic[static_cast<size_t>(i)] = i, nonbasic[static_cast<size_t>(i)] = n + i;
  nonbasic[static_cast<size_t>(n)] = 2 * n;
  int row = 0, entering = n;
  b.minCoeff(&row);
  if (b(row) >= 0) return true;
  for (int k = 0; k < 1 << (n + 4); ++k) {  // more than there are almost complementary bases, n 2^(n-1) + 2^n
    const int leaves = basic[static_cast<size_t>(row)];
    const double pivot = T(row, entering);
    const Eigen::RowVectorXd old = T.row(row);
    const VectorXd column = T.col(entering);
    const double step = -b(row) / pivot;
    for (int i = 0; i < n; ++i) {
      if (i == row) continue;
      T.row(i) -= column(i) / pivot * old;
      T(i, entering) = column(i) / pivot;
      b(i) += column(i) * step;
    }
    T.row(row) = -old / pivot;
    T(row, entering) = 1 / pivot;
    b(row) = step;
    std::swap(basic[static_cast<size_t>(row)], nonbasic[static_cast<size_t>(entering)]);
    if (leaves == 2 * n) return true;
    const int complement = leaves < n ? leaves + n : leaves - n;
    entering = static_cast<int>(std::find(nonbasic.begin(), nonbasic.end(), complement) - nonbasic.begin());
    row = -1;
    double least = 0;
    for (int i = 0; i < n; ++i) {
      if (T(i, entering) > -1e-9) continue;
      const double ratio = b(i) / -T(i, entering);
      if (row < 0 || ratio < least - 1e-9) row = i, least = ratio;
    }
    if (row < 0) return true;
  }
  return false;
}

// q of equal entries, small integers in M: many rows tie. The plain algorithm cycles on some of them.
TEST(Lemke, EndsWhereTiesMakeThePlainAlgorithmCycle) {
  Random random(5);
  int cycles = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    const int n = 3 + trial % 3;
    Problem p{MatrixXd(n, n), VectorXd::Constant(n, -1)};
    for (double& x : p.M.reshaped()) x = std::uniform_int_distribution<int>(0, 2)(random);
    p.M.diagonal().setOnes();  // M >= 0 with a positive diagonal: copositive, and strictly so: always solvable
    if (first_index_ends(p)) continue;
    ++cycles;
    const Answer answer = solve(p, {.active_sets = false});
    expect_solution(p, answer, 1e-14);
    EXPECT_EQ(answer.report.tries, 1);
  }
  EXPECT_GT(cycles, 0);
}

// ---- Ends ----

TEST(Lemke, LeavesZeroWhereNothingIsToDo) {
  Random random(6);
  const Problem p{random_matrix(random, 5, 5), random_vector(random, 5).cwiseAbs()};
  const Answer answer = solve(p);
  expect_solution(p, answer);
  EXPECT_EQ(answer.report.iterations, 0);
  EXPECT_EQ(answer.z, VectorXd(VectorXd::Zero(5)));
  const Answer zero = solve({p.M, VectorXd::Zero(5)});
  EXPECT_TRUE(zero.report.solved());
  EXPECT_EQ(zero.report.residual, 0);
}

TEST(Lemke, SolvesTheEmptyProblem) {
  const Answer answer = solve({MatrixXd(0, 0), VectorXd(0)});
  EXPECT_TRUE(answer.report.solved());
  EXPECT_EQ(answer.report.residual, 0);
  EXPECT_EQ(enumerate_lcp_solutions(MatrixXd(0, 0), VectorXd(0)).z.size(), 1u);
}

// w_1 + w_2 = -2 whatever z is; -z - 1 and -1 are never >= 0.
TEST(Lemke, SaysThatThereIsNoSolution) {
  Problem sum{MatrixXd(2, 2), Eigen::Vector2d(-1, -1)};
  sum.M << 1, -1, -1, 1;
  for (const Problem& p : {sum, Problem{-MatrixXd::Identity(3, 3), VectorXd::Constant(3, -1)},
                           Problem{MatrixXd::Zero(1, 1), VectorXd::Constant(1, -1)}}) {
    const Answer answer = solve(p);
    EXPECT_EQ(answer.report.status, LcpStatus::ray);
    EXPECT_FALSE(answer.report.solved());
    EXPECT_GE(answer.report.residual, 0.5);  // z = 0 leaves w = -1, all terms are 1
    EXPECT_TRUE(enumerate_lcp_solutions(p.M, p.q).z.empty());
  }
}

TEST(Lemke, RefusesNumbersThatAreNotFinite) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e200}) {
    Problem p{MatrixXd::Identity(3, 3), VectorXd::Constant(3, -1)};
    p.M(1, 2) = bad;
    EXPECT_EQ(solve(p).report.status, LcpStatus::numerical_failure);
    EXPECT_EQ(solve(p).z, VectorXd(VectorXd::Zero(3)));
    p.M(1, 2) = 0;
    p.q(0) = -bad;
    EXPECT_EQ(solve(p).report.status, LcpStatus::numerical_failure);
  }
}

TEST(Lemke, SaysThatPivotsRanOut) {
  const Problem p{MatrixXd::Identity(6, 6), VectorXd::Constant(6, -1)};
  const Answer answer = solve(p, {.max_pivots = 3, .active_sets = false, .precise = false, .restarts = 0});
  EXPECT_EQ(answer.report.status, LcpStatus::iteration_limit);
  EXPECT_EQ(answer.report.iterations, 3);
  EXPECT_TRUE(solve(p).report.solved());
}

// Other units of w_i and z_j: the same solution in them. Equal to the rounding of n pivots of a regular problem.
TEST(Lemke, DoesNotDependOnUnits) {
  Random random(7);
  for (int trial = 0; trial < 100; ++trial) {
    const int n = 8;
    const MatrixXd A = random_matrix(random, n, n);
    const Problem p{A * A.transpose() / n + 0.5 * MatrixXd::Identity(n, n), random_vector(random, n)};
    VectorXd rows(n), columns(n);
    for (double& x : rows) x = std::pow(10, uniform(random, -6, 6));
    for (double& x : columns) x = std::pow(10, uniform(random, -6, 6));
    const Problem scaled{rows.asDiagonal() * p.M * columns.asDiagonal(), rows.asDiagonal() * p.q};
    const Answer a = solve(p), b = solve(scaled);
    ASSERT_TRUE(a.report.solved());
    ASSERT_TRUE(b.report.solved()) << b.report.residual;
    const VectorXd back = columns.asDiagonal() * b.z;
    EXPECT_LE((back - a.z).cwiseAbs().maxCoeff(), 1e-11 * (1 + a.z.maxCoeff()));
  }
}

// ---- Another algorithm ----

// Projected Gauss-Seidel: descends on 1/2 z.M z + q.z over z >= 0, which it minimises for symmetric M >= 0.
VectorXd gauss_seidel(const Problem& p, int sweeps) {
  VectorXd z = VectorXd::Zero(p.size());
  for (int k = 0; k < sweeps; ++k)
    for (int i = 0; i < p.size(); ++i)
      if (p.M(i, i) > 0) z(i) = std::max(0.0, z(i) - (p.M.row(i).dot(z) + p.q(i)) / p.M(i, i));
  return z;
}

// M = A A^T of any rank: z may be one of many, A^T z is unique. For two answers with w = M z + q,
//   |A^T (z - y)|^2 = (z - y).(w - v) <= sum_i of what each leaves: |min(z_i, w_i)| times the other's sizes,
// at most 2 (|z|_1 + |y|_1 + |w|_1 + |v|_1) (r_z + r_y), r the largest |min|.
TEST(Lemke, AgreesWithGaussSeidelOnSymmetricProblems) {
  Random random(8);
  for (int trial = 0; trial < 100; ++trial) {
    const int n = 2 + trial % 12, rank = trial % 2 == 0 ? n : (n + 1) / 2;
    const MatrixXd A = random_matrix(random, n, rank);
    Problem p{A * A.transpose(), VectorXd(n)};
    VectorXd z0 = random_vector(random, n).cwiseMax(0), w0 = random_vector(random, n).cwiseMax(0);
    for (int i = 0; i < n; ++i) (uniform(random, 0, 1) < 0.5 ? z0 : w0)(i) = 0;
    p.q = w0 - p.M * z0;  // has the solution z0, up to rounding
    const Answer answer = solve(p);
    expect_solution(p, answer, 1e-13);
    const VectorXd y = gauss_seidel(p, 20000), w = p.M * answer.z + p.q, v = p.M * y + p.q;
    const double left = answer.z.cwiseMin(w).cwiseAbs().maxCoeff() + y.cwiseMin(v).cwiseAbs().maxCoeff();
    const double sizes = answer.z.lpNorm<1>() + y.lpNorm<1>() + w.lpNorm<1>() + v.lpNorm<1>();
    EXPECT_LE((A.transpose() * (answer.z - y)).squaredNorm(), 2 * sizes * left + 1e-13 * sizes * sizes);
    EXPECT_LE(y.cwiseMin(v).cwiseAbs().maxCoeff(), 1e-2);  // Gauss-Seidel came somewhere
  }
}

// ---- Active sets ----

// As above, |A^T (z - y)|^2 is bounded by what both leave; of problems that are singular, have twins, or more contacts
// than dofs. Lemke alone needs no active sets, and those that lead nowhere leave the problem to it.
TEST(Lemke, AgreesWithActiveSets) {
  Random random(11);
  int by_sets = 0;
  const int count = 300;
  for (int trial = 0; trial < count; ++trial) {
    test::ContactRecipe recipe{.contacts = 1 + trial % 40, .directions = 0, .duplicates = 0.2};
    recipe.bodies = 1 + static_cast<int>(random() % 8);
    recipe.spatial = trial % 2 == 0;
    const test::ContactProblem contacts = test::random_contacts(random, recipe);
    const test::LcpProblem lcp = test::contact_lcp(contacts, 0);
    const Problem p{lcp.M, lcp.q};
    const Answer a = solve(p), b = solve(p, {.active_sets = false});
    expect_solution(p, a, 1e-13);
    expect_solution(p, b, 1e-13);
    EXPECT_GE(b.report.tries, 1);
    by_sets += a.report.tries == 0;
    const VectorXd w = p.M * a.z + p.q, v = p.M * b.z + p.q;
    const double left = a.z.cwiseMin(w).cwiseAbs().maxCoeff() + b.z.cwiseMin(v).cwiseAbs().maxCoeff();
    const double sizes = a.z.lpNorm<1>() + b.z.lpNorm<1>() + w.lpNorm<1>() + v.lpNorm<1>();
    EXPECT_LE((contacts.J.transpose() * (a.z - b.z)).squaredNorm(), 2 * sizes * left + 1e-13 * sizes * sizes);
  }
  EXPECT_GT(by_sets, count / 2);
}

// ---- Twice the precision ----

// Friction of 1e8 beside masses that differ by 1e6, twins and jams. All are solvable (theory 12.7).
TEST(Lemke, TakesMoreDigitsWhereDoubleIsNotEnough) {
  Random random(12);
  int without = 0;
  for (int trial = 0; trial < 300; ++trial) {
    test::ContactRecipe recipe{.contacts = 4 + trial % 6, .spatial = false, .directions = 2, .mu = 1e8, .decades = 6};
    recipe.duplicates = recipe.opposed = 0.2;
    const test::LcpProblem lcp = test::contact_lcp(test::random_contacts(random, recipe), 2);
    const Problem p{lcp.M, lcp.q};
    const Answer answer = solve(p, {.precise = false});
    without += !answer.report.solved();
    expect_solution(p, solve(p));
  }
  EXPECT_GT(without, 0);  // else this tests nothing
}

// Both follow the same path where no rounding interferes; random bases of this size have a condition below 1e5.
TEST(PreciseLemke, FindsWhatLemkeFinds) {
  Random random(13);
  for (int trial = 0; trial < 100; ++trial) {
    const int n = 1 + trial % 8;
    const Problem p{random_matrix(random, n, n).cwiseAbs(), random_vector(random, n)};  // always solvable
    PreciseLemke precise;
    precise.start(n);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) precise.M(i, j) = p.M(i, j);
      precise.q(i) = p.q(i);
    }
    const VectorXd ones = VectorXd::Ones(n);
    int pivots = 0;
    ASSERT_EQ(precise.run(ones.data(), 1e-21, 1000, pivots), PreciseLemke::End::solved);
    const Answer answer = solve(p, {.covering = ones.data()});
    for (int i = 0; i < n; ++i) EXPECT_NEAR(precise.z(i).hi, answer.z(i), 1e-10 * (1 + answer.z.maxCoeff()));
    EXPECT_EQ(pivots, answer.report.iterations);
    // The rest of M z + q where z > 0, in twice the precision: 1e5 times 1e-31 of the terms.
    for (int i = 0; i < n; ++i) {
      if (!(precise.z(i) > DoubleDouble(0))) continue;
      DoubleDouble w(p.q(i));
      double terms = std::abs(p.q(i));
      for (int j = 0; j < n; ++j) {
        w += p.M(i, j) * precise.z(j);
        terms += p.M(i, j) * precise.z(j).hi;
      }
      EXPECT_LE(std::abs(w.hi), 1e-25 * terms);
    }
  }
}

// ---- Processors ----

// Sizes below, at and above multiples of the width.
TEST(LcpKernels, GiveTheSameBitsOnEveryProcessor) {
  Random random(14);
  const LcpKernels* plain = lcp_kernels(1);
  int widths = 0;
  for (const int lanes : {4, 8}) {
    const LcpKernels* wide = lcp_kernels(lanes);
    if (!wide) continue;
    ++widths;
    for (int n = 1; n <= 35; ++n) {
      const MatrixXd A = random_matrix(random, n, n), S = A * A.transpose();
      const VectorXd q = random_vector(random, n), r = random_vector(random, n).cwiseAbs(),
                     c = random_vector(random, n).cwiseAbs(), z = random_vector(random, n).cwiseMax(0);
      const LcpMatrix M{A.data(), n, n}, symmetric{S.data(), n, n};
      const int stride = lcp_padded(n);
      std::vector<int> F;
      for (int i = 0; i < n; ++i)
        if (q(i) < 0) F.push_back(i);
      const auto run = [&](const LcpKernels& kernels) {
        std::vector<VectorXd> out;
        VectorXd rows(n), columns(n), table = VectorXd::Zero(stride * (n + 2)), b = VectorXd::Zero(stride);
        EXPECT_TRUE(kernels.measure(M, r.data(), c.data(), rows.data(), columns.data()));
        kernels.load(M, r.data(), c.data(), table.data(), stride);
        table.segment(n * stride, n) = q;
        table.segment((n + 1) * stride, n) = q.cwiseAbs();
        out.insert(out.end(), {rows, columns, table});
        double least = 0, scale = 0;
        Eigen::Index row = 0;
        table.head(n).cwiseAbs().maxCoeff(&row);
        kernels.pivot(table.data(), n + 2, stride, static_cast<int>(row), 0);
        out.push_back(table);
        b.head(n) = q;
        const double limit = kernels.limit(table.data() + (n / 2) * stride, b.data(), stride, 1e-10, 1e-11, least);
        const double left = kernels.residual(M, q.data(), z.data(), 3, scale);
        out.push_back(Eigen::Vector4d(limit, least, left, scale));
        VectorXd some = VectorXd::Zero(stride), w = VectorXd::Zero(stride), scratch(stride);
        kernels.solve_active(symmetric, q.data(), F.data(), static_cast<int>(F.size()), table.data(), scratch.data(),
                             some.data(), w.data());
        out.insert(out.end(), {some, w, VectorXd::Constant(1, kernels.largest(M))});
        return out;
      };
      EXPECT_EQ(run(*plain), run(*wide)) << lanes << " lanes, n " << n;
    }
  }
  if (widths == 0) GTEST_SKIP() << "no AVX2 on this processor";
}

// M_FF z_F = -q_F, w = M z + q, by Eigen; and zero for a row that is another one's twin. Positive definite by 0.5.
TEST(LcpKernels, SolveTheEquationsOfAnActiveSet) {
  Random random(15);
  for (int n = 1; n <= 40; ++n) {
    const MatrixXd A = random_matrix(random, n, n);
    MatrixXd S = A * A.transpose() / n + 0.5 * MatrixXd::Identity(n, n);
    VectorXd q = random_vector(random, n);
    std::vector<int> F;
    for (int i = 0; i < n; ++i)
      if (i % 3 != 1) F.push_back(i);
    const auto size = static_cast<int>(F.size());
    const int stride = lcp_padded(n);
    VectorXd table(stride * (n + 1)), out(stride), z(stride), w(stride);
    lcp_kernels().solve_active({S.data(), n, n}, q.data(), F.data(), size, table.data(), out.data(), z.data(),
                               w.data());
    const VectorXd exact = -S(F, F).llt().solve(VectorXd(q(F)));
    EXPECT_LE((z.head(size) - exact).norm(), 1e-13 * exact.norm());
    const VectorXd rest = S(Eigen::all, F) * exact + q;
    EXPECT_LE((w.head(n) - rest).norm(), 1e-13 * (rest.norm() + S.norm() * exact.norm()));
    if (size < 2) continue;
    const int a = F[static_cast<size_t>(size - 2)], b = F[static_cast<size_t>(size - 1)];
    S.row(b) = S.row(a);
    S.col(b) = S.col(a);
    lcp_kernels().solve_active({S.data(), n, n}, q.data(), F.data(), size, table.data(), out.data(), z.data(),
                               w.data());
    EXPECT_EQ(z(size - 1), 0);
  }
}

// ---- Scratch ----

// What was solved before leaves no trace, larger or smaller.
TEST(Lemke, GivesTheSameBitsWithUsedScratch) {
  Random random(10);
  Lemke used;
  for (int trial = 0; trial < 30; ++trial) {
    const Problem p = friction_problem(random, 6, 1 + (7 * trial) % 5, 8, 0);
    VectorXd z(p.size());
    const LcpReport report = used.solve(p.M, p.q, z);
    const Answer fresh = solve(p);
    EXPECT_EQ(z, fresh.z);
    EXPECT_EQ(report.iterations, fresh.report.iterations);
  }
}

}  // namespace
}  // namespace scree
