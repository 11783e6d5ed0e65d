// Seeded random impact problems: general, redundant, nearly jammed and jammed cones, masses of many sizes.
#pragma once

#include <Eigen/Core>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "scree/impact.h"

namespace scree::test {

enum class ConeKind { general, redundant, masses, near_jam, jammed };

struct RandomCone {
  ImpactProblem problem;
  ConeKind kind = ConeKind::general;
  std::string name;
};

struct ConeOptions {
  int dofs = 0, contacts = 0;  // 0: 1 to 10 and 1 to 15
  int most_dofs = 10, most_contacts = 15;
  int kind = -1;         // -1: any
  double margin = 1e-6;  // smallest of nearly jammed cones
  double masses = 1e10;  // largest ratio
};

inline RandomCone random_cone(std::mt19937_64& random, const ConeOptions& options = {}) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const auto integer = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  const auto vector = [&](int n) {
    Eigen::VectorXd x(n);
    for (double& e : x) e = normal(random);
    return x;
  };
  static const char* const names[] = {"general", "redundant", "masses", "near jam", "jammed"};
  RandomCone cone;
  cone.kind = static_cast<ConeKind>(options.kind >= 0 ? options.kind : integer(0, 4));
  cone.name = names[static_cast<int>(cone.kind)];
  const int d = options.dofs > 0 ? options.dofs : integer(cone.kind == ConeKind::near_jam ? 2 : 1, options.most_dofs);
  const int m = options.contacts > 0 ? options.contacts : integer(1, options.most_contacts);
  ImpactProblem& p = cone.problem;
  // M = B^T B + ..., or diagonal with masses far apart
  if (cone.kind == ConeKind::masses) {
    p.M = Eigen::MatrixXd::Zero(d, d);
    for (int i = 0; i < d; ++i) p.M(i, i) = std::pow(options.masses, uniform(random));
  } else {
    Eigen::MatrixXd B(d, d);
    for (double& e : B.reshaped()) e = normal(random);
    p.M = B * B.transpose() + 0.1 * d * Eigen::MatrixXd::Identity(d, d);
    p.M = (0.5 * (p.M + p.M.transpose())).eval();
  }
  // Normals with a common inner direction z: n = g + t z with n.z > 0.
  const Eigen::VectorXd z = vector(d).normalized();
  p.Jn.resize(m, d);
  const double margin = cone.kind == ConeKind::near_jam ? std::pow(options.margin, uniform(random)) : 0;
  for (int k = 0; k < m; ++k) {
    Eigen::VectorXd n = vector(d);
    n -= n.dot(z) * z;
    const double along = cone.kind == ConeKind::near_jam ? margin * (1 + uniform(random)) : 0.05 + uniform(random);
    if (n.norm() > 0) n.normalize();
    if (cone.kind == ConeKind::near_jam && k % 2 == 1 && integer(0, 1) == 0) {
      const Eigen::VectorXd before = p.Jn.row(k - 1).transpose();
      n = -(before - before.dot(z) * z);  // nearly opposite: a tight wedge
    }
    n += along * z;
    if (d > 4 && integer(0, 2) == 0)  // sparse
      for (int j = 0; j < d; ++j)
        if (integer(0, 1) == 0 && cone.kind == ConeKind::general) n(j) = 0;
    if (n.isZero(1e-3 * margin)) n(integer(0, d - 1)) = 1;
    p.Jn.row(k) = std::pow(10.0, 2 * uniform(random) - 1) * n.transpose();
  }
  if (cone.kind == ConeKind::redundant || cone.kind == ConeKind::jammed)
    for (int k = 1; k < m; ++k) switch (integer(0, 3)) {
        case 0:
          p.Jn.row(k) = p.Jn.row(integer(0, k - 1)) * std::exp(normal(random));
          break;
        case 1:
          if (k > 1) p.Jn.row(k) = (0.1 + uniform(random)) * p.Jn.row(0) + (0.1 + uniform(random)) * p.Jn.row(k - 1);
          break;
        default:
          break;
      }
  if (cone.kind == ConeKind::jammed) {
    if (m == 1) p.Jn.conservativeResize(2, d);
    const int last = static_cast<int>(p.Jn.rows()) - 1;
    const int parts = integer(1, std::min(3, last));
    p.Jn.row(last).setZero();
    for (int i = 0; i < parts; ++i) p.Jn.row(last) -= (parts == 1 ? 1 : 0.2 + uniform(random)) * p.Jn.row(i);
    if (p.Jn.row(last).isZero(1e-12)) p.Jn.row(last) = -p.Jn.row(0);
  }
  p.v = vector(d) * std::pow(10.0, 6 * uniform(random) - 3);
  return cone;
}

}  // namespace scree::test
