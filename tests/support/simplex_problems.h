// Seeded random problems min 1/2 w.Q w + g.w over capped simplices, of the kinds contact makes: Q = A'A + beta I, each
// block of A a map from `size` directions to three coordinates, coupled to the others.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <random>

namespace scree::test {

struct SimplexProblem {
  int blocks, size;
  double beta;  // smallest eigenvalue of Q, or more than it by rounding
  Eigen::MatrixXd Q;
  Eigen::VectorXd g;

  double value(const Eigen::VectorXd& w) const { return w.dot(Q * w) / 2 + g.dot(w); }
  // The scales of SimplexQpReport::violation, summed over blocks.
  double scale(const Eigen::VectorXd& w) const {
    const Eigen::ArrayXd root = Q.diagonal().array().sqrt();
    const Eigen::ArrayXd terms = g.array().abs() + root * (root * w.array()).sum();
    double sum = 0;
    for (int b = 0; b < blocks; ++b) sum += terms.segment(b * size, size).maxCoeff();
    return sum;
  }
};

struct SimplexProblemKind {
  double beta = 0;        // relative to the largest diagonal entry of A'A
  double force = 1;       // size of g relative to A'
  double scale = 1;       // of everything
  double coupling = 1;    // of different blocks
  bool polygon = false;   // directions of a friction pyramid: one normal, `size` tangents; else random
  double zero = 0;        // probability that a block vanishes (a foot in the air)
  double parallel = 0;    // probability that a column repeats the first of its block, exactly or up to 1e-9
  bool in_range = false;  // g = A' t, as contact has it; else anything
};

inline SimplexProblem random_problem(std::mt19937_64& random, int blocks, int size, const SimplexProblemKind& kind) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const auto matrix = [&](int rows, int cols) {
    Eigen::MatrixXd m(rows, cols);
    for (int j = 0; j < cols; ++j)
      for (int i = 0; i < rows; ++i) m(i, j) = normal(random);
    return m;
  };
  Eigen::MatrixXd M = matrix(3 * blocks, 3 * blocks);
  for (int b = 0; b < blocks; ++b)
    for (int c = 0; c < blocks; ++c)
      if (b != c) M.block<3, 3>(3 * b, 3 * c) *= kind.coupling;
  Eigen::MatrixXd A(3 * blocks, blocks * size);
  for (int b = 0; b < blocks; ++b) {
    Eigen::MatrixXd F = matrix(3, size);
    for (int j = 0; j < size; ++j) {
      const double angle = 2 * M_PI * j / size;
      if (kind.polygon) F.col(j) << 0.7 * std::cos(angle), 0.7 * std::sin(angle), 1;
      if (uniform(random) < kind.parallel)
        F.col(j) = F.col(0) * (uniform(random) < 0.5 ? 1 : 1 + 1e-9 * normal(random));
    }
    if (uniform(random) < kind.zero) F.setZero();
    A.middleCols(b * size, size) = M.middleCols(3 * b, 3) * F;
  }
  SimplexProblem p{blocks, size, 0, kind.scale * (A.transpose() * A), {}};
  const double largest = p.Q.diagonal().maxCoeff();
  p.beta = kind.beta * (largest > 0 ? largest : kind.scale);
  p.Q.diagonal().array() += p.beta;
  p.g = kind.scale * kind.force * (A.transpose() * matrix(3 * blocks, 1));
  if (!kind.in_range) p.g += 0.1 * kind.force * (largest > 0 ? largest : kind.scale) * matrix(blocks * size, 1);
  return p;
}

// Any of them.
inline SimplexProblem random_problem(std::mt19937_64& random, int blocks, int size) {
  std::uniform_real_distribution<double> uniform;
  const auto power = [&](double low, double high) { return std::pow(10, low + (high - low) * uniform(random)); };
  const auto chance = [&](double p) { return uniform(random) < p; };
  SimplexProblemKind kind;
  kind.beta = chance(0.1) ? 0 : power(-12, 6);
  kind.force = chance(0.05) ? 0 : chance(0.05) ? 1e-60 : power(-3, 2);
  kind.scale = power(-20, 20);
  kind.coupling = chance(0.5) ? 1 : 0.1;
  kind.polygon = chance(0.5);
  kind.zero = chance(0.5) ? 0.4 : 0;
  kind.parallel = chance(0.5) ? 0.3 : 0;
  kind.in_range = chance(0.5);
  return random_problem(random, blocks, size, kind);
}

}  // namespace scree::test
