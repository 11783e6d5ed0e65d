#include "solvers/proximal_qp.h"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "solvers/simplex_qp.h"

namespace scree {
namespace {

constexpr double eps = std::numeric_limits<double>::epsilon();

// Forces of friction pyramids at points of a plate that moves with the velocity t, in the metric of A.
struct Plate {
  int blocks, size;
  Eigen::MatrixXd A;  // 6 rows
  Eigen::VectorXd g, w;
};

Plate random_plate(std::mt19937_64& random, int blocks, int size, double strength) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  Plate p{blocks, size, Eigen::MatrixXd(6, blocks * size), {}, Eigen::VectorXd::Zero(blocks * size)};
  const double friction = 0.6 + 0.4 * uniform(random);
  for (int b = 0; b < blocks; ++b) {
    const Eigen::Vector3d x(0.2 * uniform(random), 0.2 * uniform(random), -0.05);
    const double most = strength * std::pow(10, 1.5 * uniform(random));  // points at different depths
    for (int j = 0; j < size; ++j) {
      const double angle = 2 * M_PI * j / size;
      const Eigen::Vector3d f(friction * std::cos(angle), friction * std::sin(angle), 1);
      p.A.col(b * size + j) << 10 * x.cross(f), f;
      p.A.col(b * size + j) *= most;
    }
    const double sum = std::max(0.0, uniform(random));
    for (int j = 0; j < size; ++j) p.w(b * size + j) = std::max(0.0, uniform(random));
    const double all = p.w.segment(b * size, size).sum();
    if (all > 0) p.w.segment(b * size, size) *= sum / all;
  }
  Eigen::VectorXd t(6);
  for (double& e : t) e = uniform(random);
  t(5) = -std::abs(t(5));
  p.g = p.A.transpose() * t;
  return p;
}

void expect_feasible(const Eigen::VectorXd& w, int blocks, int size) {
  EXPECT_GE(w.minCoeff(), 0);
  for (int b = 0; b < blocks; ++b) EXPECT_LE(w.segment(b * size, size).sum(), 1 + 2 * eps * size);
}

// 1/2 |A d|^2 + g.d
double value(const Plate& p, const Eigen::VectorXd& w) {
  return 0.5 * (p.A * (w - p.w)).squaredNorm() + p.g.dot(w - p.w);
}
double gap(const Plate& p, const Eigen::VectorXd& w) {
  const Eigen::VectorXd y = p.g + p.A.transpose() * (p.A * (w - p.w));
  double sum = 0;
  for (int b = 0; b < p.blocks; ++b) {
    const auto yb = y.segment(b * p.size, p.size);
    sum += yb.dot(w.segment(b * p.size, p.size)) - std::min(0.0, yb.minCoeff());
  }
  return sum;
}

void load(ProximalQp& qp, const Plate& p) {
  qp.resize(6, p.blocks, p.size);
  qp.A() = p.A;
}

// One step, beside the active-set method.
TEST(ProximalQp, StepsAgreeWithActiveSets) {
  std::mt19937_64 random(7);
  ProximalQp qp;
  SimplexQp other;
  for (int trial = 0; trial < 60; ++trial) {
    const Plate p = random_plate(random, 1 + trial % 12, 4 + trial % 13, 1);
    const double shift = std::pow(10, -1 + trial % 3);
    load(qp, p);
    Eigen::VectorXd w = p.w;
    const ProximalQpReport report = qp.solve(p.g.data(), shift, 1e-11, w.data());
    EXPECT_TRUE(report.converged);
    EXPECT_LT(report.iterations, 60);
    expect_feasible(w, p.blocks, p.size);
    const Eigen::Index n = p.g.size();
    const Eigen::MatrixXd Q = p.A.transpose() * p.A + shift * Eigen::MatrixXd::Identity(n, n);
    const Eigen::VectorXd g = p.g - Q * p.w;
    Eigen::VectorXd expected = p.w;
    EXPECT_TRUE(other.solve(p.blocks, p.size, Q.data(), g.data(), expected.data()).converged);
    const auto energy = [&](const Eigen::VectorXd& x) { return value(p, x) + 0.5 * shift * (x - p.w).squaredNorm(); };
    EXPECT_LE(energy(w), energy(expected) + 1e-9) << trial;
    // 1/2 s |w - expected|^2 is what a strongly convex function loses.
    EXPECT_LT((w - expected).norm(), std::sqrt(2 * 1e-9 / shift)) << trial;
  }
}

// Without the shift: certified by the gap, and of the same value as the active-set method's.
TEST(ProximalQp, MinimaAreCertified) {
  std::mt19937_64 random(8);
  ProximalQp qp;
  SimplexQp other;
  for (int trial = 0; trial < 80; ++trial) {
    const double strength = std::pow(10, -3 + trial % 7);  // from far too weak to a thousand times what is needed
    const Plate p = random_plate(random, 1 + trial % 20, 4 + trial % 13, strength);
    const double size = p.g.norm() / p.A.norm() * std::sqrt(6) + 3, small = 1e-9;
    load(qp, p);
    Eigen::VectorXd w = p.w * std::min(1.0, 1 / strength);
    const Plate from{p.blocks, p.size, p.A, p.g, w};
    const ProximalQpReport report = qp.minimise(p.g.data(), size, small, w.data());
    expect_feasible(w, p.blocks, p.size);
    // Rounding of z is enlarged by 1/s: what could do a thousand times what is needed is known to so much less.
    const double before = gap(from, from.w);
    EXPECT_EQ(report.converged, gap(from, w) <= small * (1 + 1e-3)) << trial;
    EXPECT_LT(gap(from, w), small + 1e-5 * before) << trial;
    const Eigen::MatrixXd Q = p.A.transpose() * p.A;
    const Eigen::VectorXd g = p.g - Q * from.w;
    Eigen::VectorXd expected = from.w;
    other.solve(p.blocks, p.size, Q.data(), g.data(), expected.data());
    EXPECT_LE(value(from, w), value(from, expected) + small + 1e-5 * before) << trial;
  }
}

// The work does not depend on how many blocks share the dimensions: 56 points are known to take as few as 2000.
TEST(ProximalQp, IterationsDoNotGrowWithBlocks) {
  std::mt19937_64 random(9);
  ProximalQp qp;
  for (const int blocks : {10, 56, 200, 2000}) {
    int iterations = 0;
    for (int trial = 0; trial < 10; ++trial) {
      const Plate p = random_plate(random, blocks, 16, 10.0 / blocks);
      load(qp, p);
      Eigen::VectorXd w = Eigen::VectorXd::Zero(p.g.size());
      const ProximalQpReport report = qp.minimise(p.g.data(), 3, 1e-9, w.data());
      const Plate from{p.blocks, p.size, p.A, p.g, Eigen::VectorXd::Zero(p.g.size())};
      EXPECT_LT(gap(from, w), 1e-9 + 1e-5 * gap(from, from.w)) << blocks << " " << trial;
      iterations += report.iterations;
    }
    EXPECT_LT(iterations, 10 * 100) << blocks;
    RecordProperty("iterations" + std::to_string(blocks), iterations / 10);
  }
}

TEST(ProximalQp, NothingToDoAndNothingToDoItWith) {
  ProximalQp qp;
  qp.resize(6, 3, 4);
  qp.A().setZero();
  Eigen::VectorXd w = Eigen::VectorXd::Constant(12, 0.1);
  const Eigen::VectorXd before = w;
  const Eigen::VectorXd g = Eigen::VectorXd::Zero(12);
  EXPECT_TRUE(qp.minimise(g.data(), 1, 1e-9, w.data()).converged);
  EXPECT_EQ(w, before);
}

}  // namespace
}  // namespace scree
