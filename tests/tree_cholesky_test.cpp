#include "solvers/tree_cholesky.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <random>

namespace scree {
namespace {

// A random matrix with the sparsity of a random tree, well conditioned.
struct Sparse {
  std::vector<int> parent;
  Eigen::MatrixXd H;
};
Sparse random_sparse(std::mt19937_64& random, int n) {
  std::normal_distribution<double> normal;
  Sparse s;
  for (int k = 0; k < n; ++k) s.parent.push_back(std::uniform_int_distribution<int>(-1, k - 1)(random));
  // A sum of one vector per dof, nonzero on its path to the root: exactly the pattern of a mass matrix.
  s.H = Eigen::MatrixXd::Zero(n, n);
  for (int k = 0; k < n; ++k) {
    Eigen::VectorXd x = Eigen::VectorXd::Zero(n);
    for (int a = k; a >= 0; a = s.parent[static_cast<size_t>(a)]) x(a) = normal(random);
    s.H += x * x.transpose();
    s.H(k, k) += 0.5;
  }
  return s;
}

TEST(TreeCholesky, SolvesWhatADenseFactorisationSolves) {
  std::mt19937_64 random(81);
  for (int trial = 0; trial < 300; ++trial) {
    const int n = std::uniform_int_distribution<int>(1, 60)(random);
    const Sparse s = random_sparse(random, n);
    Eigen::MatrixXd upper = s.H.triangularView<Eigen::Upper>();
    TreeCholesky cholesky(s.parent);
    ASSERT_TRUE(cholesky.factor(upper.data()));
    const Eigen::VectorXd b = Eigen::VectorXd::LinSpaced(n, -1, 2);
    Eigen::VectorXd x = b;
    cholesky.solve(x.data());
    EXPECT_LE((s.H * x - b).norm(), 1e-13 * n * s.H.norm() * x.norm()) << "n " << n;
    EXPECT_LE((x - s.H.llt().solve(b)).norm(), 1e-10 * x.norm()) << "n " << n;  // condition number up to 1e4 here
  }
}

TEST(TreeCholesky, RefusesIndefiniteAndSingularMatrices) {
  TreeCholesky cholesky({-1, 0, 1});
  Eigen::Matrix3d H;
  H << 2, 1, 0, 1, 2, 1, 0, 1, 2;
  EXPECT_TRUE(cholesky.factor(H.data()));
  H(0, 0) = 0.5;  // det = 0.5*3 - 1*2 < 0
  EXPECT_FALSE(cholesky.factor(H.data()));
  EXPECT_FALSE(cholesky.factor(Eigen::Matrix3d::Ones().eval().data()));
  H.setConstant(NAN);
  EXPECT_FALSE(cholesky.factor(H.data()));
}

}  // namespace
}  // namespace scree
