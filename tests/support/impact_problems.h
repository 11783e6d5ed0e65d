// The impacts of M. Halm's dissertation, chapter 7: mass matrix, Jacobians and velocity in closed form. Planar, y up;
// contacts A, B, ... in this order; tangents point right (of the wall: down).
#pragma once

#include <array>
#include <cmath>
#include <numbers>

#include "scree/impact.h"

namespace scree::test {

inline double degrees(double angle) { return angle * std::numbers::pi / 180; }

// A rectangle a wide and b high falls flat on the ground: A its left, B its right corner. v = (vx, vy, spin).
inline ImpactProblem block(double a, double b, double mass, double speed, double mu = 1) {
  ImpactProblem p;
  p.M = Eigen::Vector3d(mass, mass, mass * (a * a + b * b) / 12).asDiagonal();
  p.Jn.resize(2, 3);
  p.Jn << 0, 1, -a / 2, 0, 1, a / 2;
  p.Jt.resize(2, 3);
  p.Jt << 1, 0, b / 2, 1, 0, b / 2;
  p.mu = Eigen::Vector2d::Constant(mu);
  p.v = Eigen::Vector3d(0, -speed, 0);
  return p;
}
inline ImpactProblem block_of_code() { return block(1, 2, 1, std::sqrt(2 * 9.81 * 0.01)); }
inline ImpactProblem block_of_table() { return block(0.07444, 0.16094, 0.19, 0.1401); }

// A box of side 1, tilted by 10 degrees, slides on the floor (A) into a wall (B).
inline ImpactProblem boxwall() {
  const double c = std::cos(degrees(80)), s = std::sin(degrees(80));
  const double far = 0.5 * (s + c), near = 0.5 * (s - c);
  ImpactProblem p;
  p.M = Eigen::Vector3d(1, 1, 1. / 6).asDiagonal();
  p.Jn.resize(2, 3);
  p.Jn << 0, 1, near, -1, 0, near;
  p.Jt.resize(2, 3);
  p.Jt << 1, 0, far, 0, -1, -far;
  p.mu = Eigen::Vector2d::Ones();
  p.v = Eigen::Vector3d(1, 0, 0);
  return p;
}

// Compass gait: legs of 1 m at -78 (A) and 78 degrees (B), 1 kg at half their length; turns about B.
// v = (hip x, hip y, leading, trailing angle), foot = hip + (sin, -cos).
inline ImpactProblem compass(double rate) {
  const double angle[] = {degrees(-78), degrees(78)};
  ImpactProblem p;
  p.M = Eigen::MatrixXd::Zero(4, 4);
  p.Jn = p.Jt = Eigen::MatrixXd::Zero(2, 4);
  for (int leg = 0; leg < 2; ++leg) {
    const double c = std::cos(angle[leg]), s = std::sin(angle[leg]);
    Eigen::MatrixXd J = Eigen::MatrixXd::Zero(2, 4);  // of the mass
    J(0, 0) = J(1, 1) = 1;
    J(0, 2 + leg) = 0.5 * c;
    J(1, 2 + leg) = 0.5 * s;
    p.M += J.transpose() * J;
    p.Jn(leg, 1) = p.Jt(leg, 0) = 1;
    p.Jn(leg, 2 + leg) = s;
    p.Jt(leg, 2 + leg) = c;
  }
  p.mu = Eigen::Vector2d::Constant(5);
  p.v = rate * Eigen::Vector4d(-std::cos(angle[1]), -std::sin(angle[1]), 1, 1);
  return p;
}

// RAMone: trunk, two thighs, two shanks; v = (x, y of the trunk, pitch, leading hip, knee, trailing hip, knee).
// Links hang down at angle zero, feet are discs. The robot turns rigidly about its trailing foot (B).
inline ImpactProblem ramone(double shank_com = 0.165235) {
  constexpr double hip = 0.137675, thigh = 0.2, thigh_com = 0.019399, shank = 0.2385, radius = 0.02815;
  const double pitch = degrees(16), lead_hip = degrees(-70), lead_knee = degrees(-2), trail_hip = degrees(70);
  const double lead_thigh = pitch + lead_hip, lead_shank = lead_thigh + lead_knee, trail_thigh = pitch + trail_hip;
  // Both feet at the same height.
  const double trail_shank =
      -std::acos((thigh * (std::cos(lead_thigh) - std::cos(trail_thigh)) + shank * std::cos(lead_shank)) / shank);
  using Row = Eigen::Matrix<double, 2, 7>;
  // Velocity of a point at `length` along a link at `angle`, which the coordinates in `turned` turn.
  const auto along = [](double length, double angle, std::initializer_list<int> turned) {
    Row J = Row::Zero();
    for (const int k : turned) J.col(k) = length * Eigen::Vector2d(std::cos(angle), std::sin(angle));
    return J;
  };
  Row base = Row::Zero();
  base(0, 0) = base(1, 1) = 1;

  ImpactProblem p;
  p.M = Eigen::MatrixXd::Zero(7, 7);
  p.Jn = p.Jt = Eigen::MatrixXd::Zero(2, 7);
  const auto add_body = [&](double mass, double inertia, const Row& J, std::initializer_list<int> turned) {
    p.M += mass * J.transpose() * J;
    for (const int i : turned)
      for (const int j : turned) p.M(i, j) += inertia;
  };
  add_body(7.9026, 0.08, base, {2});
  const Row at_hip = base + along(hip, pitch, {2});
  double height = 0, reach = 0;  // of the trunk above the ground; of the trailing foot before it
  for (int leg = 0; leg < 2; ++leg) {
    const int h = 3 + 2 * leg, k = 4 + 2 * leg;
    const double upper = leg == 0 ? lead_thigh : trail_thigh, lower = leg == 0 ? lead_shank : trail_shank;
    const Row at_knee = at_hip + along(thigh, upper, {2, h});
    add_body(0.7887, 0.00221, at_hip + along(thigh_com, upper, {2, h}), {2, h});
    add_body(0.510, 0.00652, at_knee + along(shank_com, lower, {2, h, k}), {2, h, k});
    Row foot = at_knee + along(shank, lower, {2, h, k});
    for (const int i : {2, h, k}) foot(0, i) += radius;
    p.Jt.row(leg) = foot.row(0);
    p.Jn.row(leg) = foot.row(1);
    height = hip * std::cos(pitch) + thigh * std::cos(upper) + shank * std::cos(lower) + radius;
    reach = hip * std::sin(pitch) + thigh * std::sin(upper) + shank * std::sin(lower);
  }
  p.mu = Eigen::Vector2d::Constant(1e5);
  p.v = Eigen::VectorXd::Zero(7);
  p.v(0) = -height;
  p.v(1) = -reach;
  p.v(2) = 1;
  return p;
}

// A disc falls on two that touch: A, B left and right disc on the floor, C, D top on left and right, E left and right.
// v = (x, y, spin) of top, left, right.
inline ImpactProblem disks(double mass = 1) {
  ImpactProblem p;
  Eigen::VectorXd inertia(9);
  for (int i = 0; i < 3; ++i) inertia.segment<3>(3 * i) << mass, mass, mass / 2;
  p.M = inertia.asDiagonal();
  p.Jn = p.Jt = Eigen::MatrixXd::Zero(5, 9);
  const std::array<Eigen::Vector2d, 3> centre = {Eigen::Vector2d(1, 1 + std::sqrt(3.0)), Eigen::Vector2d(0, 1),
                                                 Eigen::Vector2d(2, 1)};
  struct Pair {
    int from, to;  // -1: floor
  };
  const Pair pairs[] = {{-1, 1}, {-1, 2}, {1, 0}, {2, 0}, {1, 2}};
  for (int i = 0; i < 5; ++i) {
    const auto [from, to] = pairs[i];
    Eigen::Vector2d n(0, 1);
    if (from >= 0) n = (centre[size_t(to)] - centre[size_t(from)]).normalized();
    const Eigen::Vector2d t(n(1), -n(0));
    p.Jn.block<1, 2>(i, 3 * to) = n.transpose();
    p.Jt.block<1, 2>(i, 3 * to) = t.transpose();
    p.Jt(i, 3 * to + 2) = 1;
    if (from < 0) continue;
    p.Jn.block<1, 2>(i, 3 * from) = -n.transpose();
    p.Jt.block<1, 2>(i, 3 * from) = -t.transpose();
    p.Jt(i, 3 * from + 2) = 1;
  }
  p.mu = Eigen::VectorXd::Constant(5, std::sqrt(3.0));
  p.v = Eigen::VectorXd::Zero(9);
  p.v(1) = -1;
  return p;
}

}  // namespace scree::test
