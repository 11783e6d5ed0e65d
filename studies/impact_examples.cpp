#include "impact_examples.h"

#include <algorithm>
#include <cmath>

namespace scree {
namespace {

ImpactProblem empty(int d, int m) {
  ImpactProblem p;
  p.M = Eigen::MatrixXd::Identity(d, d);
  p.Jn = Eigen::MatrixXd::Zero(m, d);
  p.v = Eigen::VectorXd::Zero(d);
  return p;
}

// Disks in the plane; contacts between those whose centres are 1 m apart, in lexicographic order.
ImpactProblem disks(const std::vector<Eigen::Vector2d>& centres) {
  const int n = static_cast<int>(centres.size());
  std::vector<std::pair<int, int>> pairs;
  for (int i = 0; i < n; ++i)
    for (int j = i + 1; j < n; ++j)
      if (std::abs((centres[size_t(j)] - centres[size_t(i)]).norm() - 1) < 1e-9) pairs.push_back({i, j});
  ImpactProblem p = empty(2 * n, static_cast<int>(pairs.size()));
  for (size_t k = 0; k < pairs.size(); ++k) {
    const auto [i, j] = pairs[k];
    const Eigen::Vector2d normal = (centres[size_t(j)] - centres[size_t(i)]).normalized();
    p.Jn.row(static_cast<int>(k)).segment<2>(2 * j) = normal.transpose();
    p.Jn.row(static_cast<int>(k)).segment<2>(2 * i) = -normal.transpose();
  }
  return p;
}

int rack_ball(int row, int column) { return 1 + row * (row + 1) / 2 + column; }

}  // namespace

ImpactProblem cradle_impact(int balls, int moving) {
  ImpactProblem p = empty(balls, balls - 1);
  for (int k = 0; k + 1 < balls; ++k) {
    p.Jn(k, k) = -1;
    p.Jn(k, k + 1) = 1;
  }
  p.v.head(moving).setOnes();
  return p;
}

ImpactProblem bernoulli_impact(double mass0, double mass1, double mass2) {
  ImpactProblem p = disks({{-std::sqrt(3) / 2, 0}, {0, 0.5}, {0, -0.5}});
  p.M.diagonal() << mass0, mass0, mass1, mass1, mass2, mass2;
  p.v(0) = 1;
  return p;
}

ImpactProblem rack_impact() {
  std::vector<Eigen::Vector2d> centres = {{-1, 0}};
  for (int row = 0; row < 5; ++row)
    for (int column = 0; column <= row; ++column) centres.push_back({row * std::sqrt(3) / 2, 0.5 * row - column});
  ImpactProblem p = disks(centres);
  p.v(0) = 1;
  return p;
}

double rack_mirror_defect(const Eigen::VectorXd& v) {
  double defect = std::abs(v(1));
  for (int row = 0; row < 5; ++row)
    for (int column = 0; column <= row; ++column) {
      const int a = 2 * rack_ball(row, column), b = 2 * rack_ball(row, row - column);
      defect = std::max({defect, std::abs(v(a) - v(b)), std::abs(v(a + 1) + v(b + 1))});
    }
  return defect;
}

ImpactProblem stack_impact(int boxes, StackKind kind) {
  ImpactProblem p = empty(3 * boxes, 2 * boxes);
  for (int b = 0; b < boxes; ++b) {
    p.M(3 * b + 2, 3 * b + 2) = 1.0 / 6;
    for (int side = 0; side < 2; ++side) {
      const int k = 2 * b + side;
      const double x = side == 0 ? -0.5 : 0.5;
      p.Jn(k, 3 * b + 1) = 1;
      p.Jn(k, 3 * b + 2) = x;
      if (b == 0) continue;
      p.Jn(k, 3 * b - 2) = -1;
      p.Jn(k, 3 * b - 1) = -x;
    }
    if (kind == StackKind::drop || b == boxes - 1) p.v(3 * b + 1) = -1;
  }
  if (kind == StackKind::tilt) p.v(3 * boxes - 1) = 0.5;
  return p;
}

ImpactProblem wedge_impact(double angle, double vx, double vy) {
  ImpactProblem p = empty(2, 2);
  p.Jn << 0, 1, std::sin(angle), -std::cos(angle);
  p.v << vx, vy;
  return p;
}

ImpactProblem galperin_impact(int k) {
  ImpactProblem p = empty(2, 2);
  p.M(1, 1) = std::pow(100.0, k);
  p.Jn << 1, 0, -1, 1;
  p.v << 0, -1;
  return p;
}

ImpactProblem jammed_impact() {
  ImpactProblem p = empty(2, 2);
  p.Jn << 1, 0, -1, 0;
  p.v << 1, 0.3;
  return p;
}

ImpactProblem collapse_impact(double e) {
  ImpactProblem p = cradle_impact(3);
  p.v << 1, 0, -1;
  p.restitution = Eigen::VectorXd::Constant(2, e);
  return p;
}

}  // namespace scree
