// Forward kinematics in world axes: one pass gives every body's pose and every dof's twist.     theory (1.1) to (1.5)
#pragma once

#include <vector>

#include "math/rotation.h"
#include "math/sin_cos.h"
#include "model/tree.h"

namespace scree {

// Poses and twists at a trial pose q (+) delta, with positions relative to `origin` (a point near the robot: sums of
// moments about a far origin cancel badly).
template <class T> struct Kinematics {
  explicit Kinematics(const Tree& tree)
      : R(tree.nodes.size()),
        p(tree.nodes.size()),
        R_chart(tree.nodes.size()),
        chart(tree.nodes.size()),
        xi(static_cast<size_t>(tree.dofs)) {}
  V3<RealOf<T>> origin = {RealOf<T>(0), RealOf<T>(0), RealOf<T>(0)};
  std::vector<M3<T>> R;        // R_WB
  std::vector<V3<T>> p;        // p_WB - origin
  std::vector<M3<T>> R_chart;  // ball, floating: rotation before the chart, R = R_chart exp([chart]x)
  std::vector<V3<T>> chart;    // ball, floating: the rotation vector of this displacement
  // World twist of each dof about `origin`, per unit of its coordinate: dT_i/d delta is the sum of xi_a^ T_i over the
  // dofs a above i that belong to the coordinate.
  std::vector<Twist<T>> xi;
};

// Where the first body sits: a cheap point near the robot.
V3<double> root_position(const Tree& tree, const double* q);

// Q: the scalar of positions, double or T.
template <class T, class Q> void forward_kinematics(const Tree& tree, const Q* q, const T* delta, Kinematics<T>& out) {
  const V3<T> p_W = {T(-out.origin.x), T(-out.origin.y), T(-out.origin.z)};
  const auto lift = [](const auto& a) { return V3<T>{T(a.x), T(a.y), T(a.z)}; };
  const auto lift3 = [&](const auto& a) { return M3<T>{lift(a.x), lift(a.y), lift(a.z)}; };
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    const Node& node = tree.nodes[i];
    // The joint frame J in the world, then the factors of the joint's motion in turn.
    M3<T> R = lift3(node.R_PJ);
    V3<T> p = lift(node.p_PJ);
    if (node.parent >= 0) {
      const M3<T>& R_WP = out.R[static_cast<size_t>(node.parent)];
      p = R_WP * p + out.p[static_cast<size_t>(node.parent)];
      R = node.turned ? R_WP * R : R_WP;
    } else {
      p += p_W;
    }
    const Q* qi = q + node.q_index;
    const T* di = delta + node.v_index;
    Twist<T>* xi = out.xi.data() + node.dof;
    // Along fixed directions: first all positions, which cancel against `origin`, then the small displacements.
    const auto translate = [&](const V3<T>* directions, int count) {
      for (int k = 0; k < count; ++k) {
        xi[k] = {{T(0), T(0), T(0)}, directions[k]};
        p += T(qi[k]) * directions[k];
      }
      for (int k = 0; k < count; ++k) p += di[k] * directions[k];
    };
    const auto rotate = [&](const T& angle, Twist<T>& twist) {
      const SinCos<T> turned = sin_cos(angle);
      const T &sine = turned.sin, &c = turned.cos;
      // About a coordinate axis, as most joints turn, one column stays and two mix.
      const auto mix = [&](const V3<T>& fixed, V3<T>& from, V3<T>& to) {
        const T s = T(node.axis_sign) * sine;
        const V3<T> axis = T(node.axis_sign) * fixed, old = from;
        twist = {axis, cross(p, axis)};
        from = c * old + s * to;
        to = c * to - s * old;
      };
      switch (node.aligned) {
        case Aligned::x:
          return mix(R.x, R.y, R.z);
        case Aligned::y:
          return mix(R.y, R.z, R.x);
        case Aligned::z:
          return mix(R.z, R.x, R.y);
        case Aligned::none:
          break;
      }
      const V3<T> u = lift(node.axis), axis = R * u;
      twist = {axis, cross(p, axis)};
      const T d = T(1) - c;
      const M3<T> turn = {{c + d * u.x * u.x, d * u.x * u.y + sine * u.z, d * u.x * u.z - sine * u.y},
                          {d * u.x * u.y - sine * u.z, c + d * u.y * u.y, d * u.y * u.z + sine * u.x},
                          {d * u.x * u.z + sine * u.y, d * u.y * u.z - sine * u.x, c + d * u.z * u.z}};
      R = R * turn;
    };
    const auto rotate_chart = [&](const Q* quaternion, const T* w, Twist<T>* twist) {
      out.R_chart[i] = R * lift3(to_rotation(load_quaternion(quaternion)));
      const V3<T> chart = out.chart[i] = {w[0], w[1], w[2]};
      const M3<T> axes = out.R_chart[i] * rotation_jacobian(chart);
      twist[0] = {axes.x, cross(p, axes.x)};
      twist[1] = {axes.y, cross(p, axes.y)};
      twist[2] = {axes.z, cross(p, axes.z)};
      R = out.R_chart[i] * rotation_exp(chart);
    };
    switch (node.motion) {
      case JointMotion::none:
        break;
      case JointMotion::rotate: {
        T angle = T(qi[0]) + di[0];
        if (node.follows) angle = T(node.multiplier) * angle + T(node.offset);
        rotate(angle, xi[0]);
        break;
      }
      case JointMotion::translate: {
        const V3<T> direction = R * lift(node.axis);
        if (node.follows) {
          xi[0] = {{T(0), T(0), T(0)}, direction};
          p += (T(node.multiplier) * T(qi[0]) + T(node.offset)) * direction;
          p += (T(node.multiplier) * di[0]) * direction;
        } else {
          translate(&direction, 1);
        }
        break;
      }
      case JointMotion::planar: {
        const V3<T> directions[] = {R * lift(node.u1), R * lift(node.u2)};
        translate(directions, 2);
        rotate(T(qi[2]) + di[2], xi[2]);
        break;
      }
      case JointMotion::ball:
        rotate_chart(qi, di, xi);
        break;
      case JointMotion::floating: {
        const V3<T> directions[] = {R.x, R.y, R.z};
        translate(directions, 3);
        rotate_chart(qi + 3, di + 3, xi + 3);
        break;
      }
    }
    if (node.follows) xi[0] = T(node.multiplier) * xi[0];
    out.R[i] = R;
    out.p[i] = p;
  }
}

// The coordinates that move a body, the last joint first, each once: visit(coordinate, its twist of the body).
template <class T, class Visit>
void for_coordinates(const Tree& tree, const Kinematics<T>& kin, size_t node, Visit&& visit) {
  const bool shared = tree.has_followers();
  const int last = tree.last_dof[node];
  for (int a = last; a >= 0; a = tree.dof_parent[static_cast<size_t>(a)]) {
    const size_t ia = static_cast<size_t>(a);
    if (!shared) {
      visit(ia, kin.xi[ia]);
      continue;
    }
    const int c = tree.coordinate[ia];
    bool seen = false;
    for (int b = last; b != a && !seen; b = tree.dof_parent[static_cast<size_t>(b)])
      seen = tree.coordinate[static_cast<size_t>(b)] == c;
    if (seen) continue;
    Twist<T> xi = kin.xi[ia];
    for (int b = tree.twin_above[ia]; b >= 0; b = tree.twin_above[static_cast<size_t>(b)])
      xi += kin.xi[static_cast<size_t>(b)];
    visit(static_cast<size_t>(c), xi);
  }
}

// q <- q (+) delta                                                                                theory (1.4)
void apply_displacement(const Tree& tree, const double* delta, double* q);

}  // namespace scree
