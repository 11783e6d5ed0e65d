// The position-based inertia term: value, gradient O(n), exact Hessian and Gauss-Newton part O(n x depth).
//
//   I(theta) = sum_i k/2 tr(D_i S_i D_i^T) - sum_i m_i g . c_i,   D_i = T_i(theta) - T^_i                theory (3.1)
//
// T_i is the 4x4 transform of body i, S_i its constant second moment, T^_i the pose it would reach without forces.
// Everything is in world axes about Kinematics::origin, so that subtree sums are plain sums. Templates on the scalar:
// tests differentiate by complex step, batches run SIMD packs.
#pragma once

#include <vector>

#include "dynamics/composite.h"

namespace scree {

template <class T> struct PositionBased {
  explicit PositionBased(const Tree& tree)
      : target_R(tree.nodes.size()),
        target_p(tree.nodes.size()),
        moment(tree.nodes.size()),
        force(tree.nodes.size()),
        sigma(tree.nodes.size()) {}

  // Input. T^_i = [target_R | target_p - origin], not a rigid transform in general.
  std::vector<M3<T>> target_R;
  std::vector<V3<T>> target_p;
  T weight{1};                         // k [1/s^2]
  V3<T> gravity = {T(0), T(0), T(0)};  // [m/s^2]

  // Subtree sums left by `accumulate`: P^c = [moment; force^T] (4x3), and the world second moment Sigma^c.
  std::vector<M3<T>> moment;
  std::vector<V3<T>> force;
  std::vector<SecondMoment<T>> sigma;
};

// Returns I and leaves P_i = k T_i S_i D_i^T + T_i L_i^T (L_i: gravity) of every body.                    theory (3.2)
template <class T> T accumulate_bodies(const Tree& tree, const Kinematics<T>& kin, PositionBased<T>& pb) {
  T value(0);
  const size_t n = tree.nodes.size();
  for (size_t i = 0; i < n; ++i) {
    const SecondMoment<double>& S = tree.nodes[i].S;
    const M3<T>& R = kin.R[i];
    const V3<T>& p = kin.p[i];
    const M3<T> dR = R - pb.target_R[i];
    const V3<T> dp = p - pb.target_p[i];
    // E = D S, columns: E3 = dR Q + dp b^T, e = dR b + m dp
    const auto column = [&](double x, double y, double z, double w) {
      return T(x) * dR.x + T(y) * dR.y + T(z) * dR.z + T(w) * dp;
    };
    const M3<T> E = {column(S.A.xx, S.A.xy, S.A.xz, S.b.x), column(S.A.xy, S.A.yy, S.A.yz, S.b.y),
                     column(S.A.xz, S.A.yz, S.A.zz, S.b.z)};
    const V3<T> e = column(S.b.x, S.b.y, S.b.z, S.m);
    const V3<T> r = T(S.b.x) * R.x + T(S.b.y) * R.y + T(S.b.z) * R.z;
    const T m(S.m);
    const V3<T>& g = pb.gravity;
    value = value + T(0.5) * pb.weight * (dot(E.x, dR.x) + dot(E.y, dR.y) + dot(E.z, dR.z) + dot(e, dp)) -
            dot(g, r + m * p);
    // P = [A; F^T]: F = k e - m g, A = R (k E3 - g b^T)^T + p F^T
    const V3<T> F = pb.weight * e - m * g;
    const M3<T> L = {pb.weight * E.x - T(S.b.x) * g, pb.weight * E.y - T(S.b.y) * g, pb.weight * E.z - T(S.b.z) * g};
    const M3<T> A = {L.x.x * R.x + L.y.x * R.y + L.z.x * R.z + F.x * p,
                     L.x.y * R.x + L.y.y * R.y + L.z.y * R.z + F.y * p,
                     L.x.z * R.x + L.y.z * R.y + L.z.z * R.z + F.z * p};
    pb.moment[i] = A;
    pb.force[i] = F;
  }
  return value;
}

// The same, summed over subtrees.                                                                        theory (3.3)
template <class T> T accumulate(const Tree& tree, const Kinematics<T>& kin, PositionBased<T>& pb) {
  const T value = accumulate_bodies(tree, kin, pb);
  sum_over_subtrees(tree, pb.moment);
  sum_over_subtrees(tree, pb.force);
  return value;
}

// The wrench W(P) with tr(xi^ P) = xi . W(P): net inertial wrench of the subtree.                       theory (3.4)
template <class T> Wrench<T> wrench_of(const M3<T>& A, const V3<T>& F) {
  return {{A.z.y - A.y.z, A.x.z - A.z.x, A.y.x - A.x.y}, F};
}

// dI/d delta_a = xi_a . W(P^c), by dof.                                                                   theory (3.4)
template <class T> void gradient(const Tree& tree, const Kinematics<T>& kin, const PositionBased<T>& pb, T* out) {
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    const Node& node = tree.nodes[i];
    const Wrench<T> w = wrench_of(pb.moment[i], pb.force[i]);
    for (int a = node.dof; a < node.dof + node.nv; ++a) out[a] = dot(kin.xi[static_cast<size_t>(a)], w);
  }
}

// Subtree sums of the world second moments.
template <class T> void accumulate_masses(const Tree& tree, const Kinematics<T>& kin, PositionBased<T>& pb) {
  world_second_moments(tree, kin, pb.sigma);
  sum_over_subtrees(tree, pb.sigma);
}

// Upper triangles by dof, column-major with leading dimension `dofs`; entries of dofs on different branches are not
// touched, so the caller zeroes them once. `accumulate` and `accumulate_masses` must have run at the same pose. The
// Gauss-Newton part is kept if it has a place (not null).
//   gauss_newton_ab = k xi_a . M(Sigma^c_b) xi_b          = k times the mass matrix without armature      theory (3.6)
//   exact_ab        = gauss_newton_ab + xi_a . B(P^c_b) xi_b, B(P) = [[A - tr(A) 1, -[F]x],[0, 0]]         theory (3.5)
template <class T>
void hessian_of_sums(const Tree& tree, const Kinematics<T>& kin, const PositionBased<T>& pb, T* exact,
                     T* gauss_newton) {
  const size_t n = static_cast<size_t>(tree.dofs);
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    const Node& node = tree.nodes[i];
    const M3<T>& A = pb.moment[i];
    const T trace_A = trace(A);
    const auto momentum = [&](const Twist<T>& xi) -> Wrench<T> {  // k M(Sigma^c) xi
      const Wrench<T> y = pb.sigma[i] * xi;
      return {pb.weight * y.m, pb.weight * y.f};
    };
    for (int b = node.dof; b < node.dof + node.nv; ++b) {
      const Twist<T>& xi = kin.xi[static_cast<size_t>(b)];
      const Wrench<T> y = momentum(xi);
      const V3<T> bend = A * xi.w - trace_A * xi.w - cross(pb.force[i], xi.v);
      T* exact_column = exact + static_cast<size_t>(b) * n;
      T* gauss_newton_column = gauss_newton ? gauss_newton + static_cast<size_t>(b) * n : nullptr;
      for (int a = b; a >= 0; a = tree.dof_parent[static_cast<size_t>(a)]) {
        const T gn = dot(kin.xi[static_cast<size_t>(a)], y);
        if (gauss_newton_column) gauss_newton_column[a] = gn;
        exact_column[a] = gn + dot(kin.xi[static_cast<size_t>(a)].w, bend);
      }
    }
    // Two dofs of one exponential chart: (d_a xi_b)^ + xi_b^ xi_a^ takes the place of xi_a^ xi_b^.       theory (3.7)
    if (has_chart(node)) {
      const int first = node.dof + node.nv - 3;
      const M3<T> bend_chart = chart_bending(kin, i, wrench_of(A, pb.force[i]));
      const V3<T>* const columns[] = {&bend_chart.x, &bend_chart.y, &bend_chart.z};
      for (int ka = 0; ka < 3; ++ka) {
        const Twist<T>& xi_a = kin.xi[static_cast<size_t>(first + ka)];
        const V3<T> bend = A * xi_a.w - trace_A * xi_a.w - cross(pb.force[i], xi_a.v);
        const T by_chart[] = {columns[ka]->x, columns[ka]->y, columns[ka]->z};
        for (int kb = ka; kb < 3; ++kb) {
          const Twist<T>& xi_b = kin.xi[static_cast<size_t>(first + kb)];
          exact[static_cast<size_t>(first + kb) * n + static_cast<size_t>(first + ka)] =
              dot(xi_a, momentum(xi_b)) + by_chart[kb] + dot(xi_b.w, bend);
        }
      }
    }
  }
}

// The same after `accumulate` alone.
template <class T>
void hessian(const Tree& tree, const Kinematics<T>& kin, PositionBased<T>& pb, T* exact, T* gauss_newton) {
  accumulate_masses(tree, kin, pb);
  hessian_of_sums(tree, kin, pb, exact, gauss_newton);
}

}  // namespace scree
