#include "solvers/tree_lu.h"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <random>

namespace scree {
namespace {

// A random matrix with the sparsity of a random tree, not symmetric, its symmetric part well conditioned.
struct Sparse {
  std::vector<int> parent;
  Eigen::MatrixXd A;
};
Sparse random_sparse(std::mt19937_64& random, int n) {
  std::normal_distribution<double> normal;
  Sparse s;
  for (int k = 0; k < n; ++k) s.parent.push_back(std::uniform_int_distribution<int>(-1, k - 1)(random));
  s.A = Eigen::MatrixXd::Zero(n, n);
  for (int k = 0; k < n; ++k) {
    Eigen::VectorXd x = Eigen::VectorXd::Zero(n), y = x;
    for (int a = k; a >= 0; a = s.parent[static_cast<size_t>(a)]) {
      x(a) = normal(random);
      y(a) = x(a) + 0.3 * normal(random);
    }
    s.A += x * y.transpose();
    s.A(k, k) += 1;
  }
  return s;
}

TEST(TreeLu, SolvesWhatADenseFactorisationSolves) {
  std::mt19937_64 random(82);
  for (int trial = 0; trial < 300; ++trial) {
    const int n = std::uniform_int_distribution<int>(1, 60)(random);
    const int count = std::uniform_int_distribution<int>(1, 24)(random);
    const Sparse s = random_sparse(random, n);
    TreeLu lu(s.parent);
    ASSERT_TRUE(lu.factor(s.A.data()));
    using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const Rows B = Rows::Random(n, count);
    Rows X = B;
    lu.solve(X.data(), count);
    const Eigen::PartialPivLU<Eigen::MatrixXd> dense(s.A);
    // Backward stable where no pivot grows; the condition number carries the rounding over to the solution.
    const double bound = 1e3 * std::numeric_limits<double>::epsilon() / dense.rcond();
    const Eigen::MatrixXd expected = dense.solve(Eigen::MatrixXd(B));
    EXPECT_LE((X - expected).norm(), bound * expected.norm()) << "trial " << trial;
    Eigen::VectorXd x = Eigen::VectorXd::LinSpaced(n, -1, 2);
    const Eigen::VectorXd b = x;
    lu.solve(x.data());
    EXPECT_LE((s.A * x - b).norm(), bound * b.norm()) << "trial " << trial;
  }
}

// Of a symmetric matrix the upper triangle is enough, at half the products.
TEST(TreeLu, SolvesSymmetricMatricesWithHalfTheProducts) {
  std::mt19937_64 random(83);
  for (int trial = 0; trial < 100; ++trial) {
    const int n = std::uniform_int_distribution<int>(1, 60)(random);
    Sparse s = random_sparse(random, n);
    s.A = (0.5 * (s.A + s.A.transpose())).eval();
    TreeLu full(s.parent), half(s.parent);
    ASSERT_TRUE(full.factor(s.A.data()));
    Eigen::MatrixXd upper = s.A.triangularView<Eigen::Upper>();
    ASSERT_TRUE(half.factor_symmetric(upper.data()));
    EXPECT_EQ(2 * half.products(), full.products());
    Eigen::VectorXd x = Eigen::VectorXd::LinSpaced(n, -1, 2), y = x;
    full.solve(x.data());
    half.solve(y.data());
    const double bound =
        1e3 * std::numeric_limits<double>::epsilon() / Eigen::PartialPivLU<Eigen::MatrixXd>(s.A).rcond();
    EXPECT_LE((x - y).norm(), bound * x.norm()) << "trial " << trial;
  }
}

// A pivot that cancels to nothing is reported, although a factorisation with exchanges would get by.
TEST(TreeLu, ReportsAPivotThatCancels) {
  const Eigen::Matrix2d A = (Eigen::Matrix2d() << 1, 1, 1, 1).finished();
  TreeLu lu({-1, 0});
  EXPECT_FALSE(lu.factor(A.data()));
  const Eigen::Matrix2d zero = (Eigen::Matrix2d() << 1, 1, 1, 0).finished();
  EXPECT_FALSE(lu.factor(zero.data()));
}

}  // namespace
}  // namespace scree
