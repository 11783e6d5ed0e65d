#include "impact/impulse_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "solvers/lcp.h"

namespace scree {
namespace {

constexpr int kBisections = 60;

}  // namespace

Eigen::MatrixXd impulse_generators(const ContactLcp& lcp, const ImpactProblem& problem) {
  const int m = lcp.contacts(), k = lcp.directions();
  if (k == 0) return lcp.J();
  Eigen::MatrixXd generators(m * k, lcp.dofs());
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < k; ++j) generators.row(i * k + j) = lcp.J().row(i) + problem.mu(i) * lcp.J().row(m + i * k + j);
  return generators;
}

// min |r|^2/2 with G r >= 1 is, by its multipliers x >= 0 with r = G^T x, the problem of (G G^T, -1). With friction of
// 1e5 rows differ as much: they are scaled to unit length, which scales their ones.
ImpulseBound bound_impulse(const Eigen::MatrixXd& generators) {
  ImpulseBound bound;
  bound.r = Eigen::VectorXd::Zero(generators.cols());
  const Eigen::VectorXd size = generators.rowwise().norm();
  if (!(size.minCoeff() > 0)) return bound;
  const Eigen::MatrixXd unit = size.cwiseInverse().asDiagonal() * generators;
  const Eigen::MatrixXd A = unit * unit.transpose();
  Eigen::VectorXd x(A.rows());
  const LcpReport report = Lemke().solve(A, -size.cwiseInverse(), x);
  if (!report.solved()) return bound;
  const Eigen::VectorXd r = unit.transpose() * x;
  // What holds is what the smallest row says, with what rounding of its terms may hide.
  const double rounding = static_cast<double>(r.size() + 2) * std::numeric_limits<double>::epsilon();
  double least = std::numeric_limits<double>::infinity();
  for (Eigen::Index i = 0; i < generators.rows(); ++i) {
    const double terms = generators.row(i).cwiseAbs().dot(r.cwiseAbs().transpose());
    least = std::min(least, generators.row(i).dot(r) - rounding * terms);
  }
  if (!(least > 0.5)) return bound;  // far from 1: the cone is as good as jammed
  bound.exists = true;
  bound.r = r / least;
  return bound;
}

// Weak duality: for nu >= 0 and any p with G p <= 0,
//   c.y <= c.y + nu.(J_n y + separated) + p.(y_0 + G^T lambda - y)
//       <= radius |c + J_n^T nu - p| + p.y_0 + nu.separated.
// Good nu, p come from max c.y - tau |y|^2/2 over the cone, whose optimality conditions are a problem with a positive
// semidefinite matrix in (lambda, nu), p = c + J_n^T nu - tau y; tau by bisection, until |y| = radius.
double outer_bound(const Eigen::MatrixXd& G, const Eigen::MatrixXd& normals, const Eigen::VectorXd& separated,
                   const Eigen::VectorXd& y0, double radius, const Eigen::VectorXd& c, const ImpulseBound& impulse) {
  const Eigen::Index g = G.rows(), m = normals.rows();
  double best = radius * c.norm() * (1 + 1e-14);  // nu = 0, p = 0
  if (!(best > 0)) return best;
  Eigen::MatrixXd A = Eigen::MatrixXd::Zero(g + m, g + m);
  A.topLeftCorner(g, g) = G * G.transpose();
  A.topRightCorner(g, m) = -G * normals.transpose();
  A.bottomLeftCorner(m, g) = normals * G.transpose();
  Eigen::VectorXd q(g + m), z(g + m);
  Lemke lemke;
  const double rounding = 4 * static_cast<double>(y0.size() + g + m) * std::numeric_limits<double>::epsilon();
  double low = std::log(c.norm() / radius) - 30, high = std::log(c.norm() / radius) + 30;
  for (int k = 0; k < kBisections; ++k) {
    const double tau = std::exp(0.5 * (low + high));
    // nu is measured in units of tau, so that the matrix does not depend on it.
    q.head(g) = G * (y0 - c / tau);
    q.tail(m) = normals * y0;
    if (!lemke.solve(A, q, z).solved()) {
      high = 0.5 * (low + high);
      continue;
    }
    const Eigen::VectorXd y = y0 + G.transpose() * z.head(g), nu = tau * z.tail(m);
    const Eigen::VectorXd p = c + normals.transpose() * nu - tau * y;
    // G p <= 0 holds up to rounding: what is left of it counts by the largest possible impulse.
    const double rest = std::max(0.0, (G * p).maxCoeff());
    const double allowance = rest > 0 ? rest * 2 * impulse.r.norm() * radius : 0;
    const double bound = radius * (tau * y).norm() + p.dot(y0) + nu.dot(separated) + allowance;  // tau y: see p
    const double terms = radius * ((tau * y).norm() + p.norm() + c.norm() + (normals.transpose() * nu).norm());
    if (rest == 0 || impulse.exists) best = std::min(best, bound + rounding * terms);
    (y.norm() > radius ? low : high) = 0.5 * (low + high);
  }
  return best;
}

}  // namespace scree
