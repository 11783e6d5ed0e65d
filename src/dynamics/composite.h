// What both discretisations share: masses in world axes, sums over subtrees, and the matrix they make.
#pragma once

#include <vector>

#include "dynamics/kinematics.h"

namespace scree {

// Second moment of a body in world axes: Sigma = T S T^T.                                                theory (2.4)
template <class T> SecondMoment<T> world_second_moment(const SecondMoment<double>& S, const M3<T>& R, const V3<T>& p) {
  const auto column = [&](double x, double y, double z) { return T(x) * R.x + T(y) * R.y + T(z) * R.z; };
  const M3<T> RQ = {column(S.A.xx, S.A.xy, S.A.xz), column(S.A.xy, S.A.yy, S.A.yz), column(S.A.xz, S.A.yz, S.A.zz)};
  const V3<T> r = column(S.b.x, S.b.y, S.b.z);  // first moment about the body origin
  const T m(S.m);
  const V3<T> b = r + m * p;
  // R Q R^T + r p^T + p r^T + m p p^T, the last three as r p^T + p b^T
  return {{RQ.x.x * R.x.x + RQ.y.x * R.y.x + RQ.z.x * R.z.x + r.x * p.x + p.x * b.x,
           RQ.x.y * R.x.y + RQ.y.y * R.y.y + RQ.z.y * R.z.y + r.y * p.y + p.y * b.y,
           RQ.x.z * R.x.z + RQ.y.z * R.y.z + RQ.z.z * R.z.z + r.z * p.z + p.z * b.z,
           RQ.x.x * R.x.y + RQ.y.x * R.y.y + RQ.z.x * R.z.y + r.x * p.y + p.x * b.y,
           RQ.x.x * R.x.z + RQ.y.x * R.y.z + RQ.z.x * R.z.z + r.x * p.z + p.x * b.z,
           RQ.x.y * R.x.z + RQ.y.y * R.y.z + RQ.z.y * R.z.z + r.y * p.z + p.y * b.z},
          b,
          m};
}

// Adds every body's entry to its parent's, leaves first: body values become subtree sums.
template <class T> void sum_over_subtrees(const Tree& tree, std::vector<T>& values) {
  for (size_t i = tree.nodes.size(); i-- > 0;)
    if (const int parent = tree.nodes[i].parent; parent >= 0) values[static_cast<size_t>(parent)] += values[i];
}

template <class T>
void world_second_moments(const Tree& tree, const Kinematics<T>& kin, std::vector<SecondMoment<T>>& sigma) {
  for (size_t i = 0; i < tree.nodes.size(); ++i) sigma[i] = world_second_moment(tree.nodes[i].S, kin.R[i], kin.p[i]);
}

// M_ab = M_ba = xi_a . M(Sigma^c_b) xi_b for dofs a <= b, column-major; entries of different branches are left alone.
// theory (6.4)
template <class T>
void composite_mass_matrix(const Tree& tree, const Kinematics<T>& kin, const std::vector<SecondMoment<T>>& sigma,
                           T* out) {
  const size_t n = static_cast<size_t>(tree.dofs);
  for (size_t b = 0; b < n; ++b) {
    const Wrench<T> y = sigma[static_cast<size_t>(tree.dof_node[b])] * kin.xi[b];
    for (int d = static_cast<int>(b); d >= 0; d = tree.dof_parent[static_cast<size_t>(d)]) {
      const size_t a = static_cast<size_t>(d);
      out[b * n + a] = out[a * n + b] = dot(kin.xi[a], y);
    }
  }
}

// d_c xi_r . w for two dofs r, c of one chart: entry [column c][row r].                                   theory (3.7)
template <class T> M3<T> chart_bending(const Kinematics<T>& kin, size_t node, const Wrench<T>& w) {
  return rotation_jacobian_derivative(kin.chart[node],
                                      transpose_times(kin.R_chart[node], w.m - cross(kin.p[node], w.f)));
}

}  // namespace scree
