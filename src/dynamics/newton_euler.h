// Newton-Euler dynamics in world axes: inverse dynamics O(n) and, in O(n x depth), everything that depends on pairs of
// dofs: mass matrix, derivatives of inverse dynamics, Hessians of the kinetic energy.               theory section 6
//
// The twin of position_based.h. Both run out over the tree once and sum back once, about the same origin; where that
// one sums P = int rho X D^T over the subtree, this one sums wrenches and N = int rho Xdot X^T.
// Templates on the scalar: tests differentiate by complex step, batches run SIMD packs.
#pragma once

#include <vector>

#include "dynamics/composite.h"

namespace scree {

// What one pass of the recursion leaves. Body entries of `momentum`, `force`, `sigma`, `drift` are subtree sums.
template <class T> struct NewtonEulerPass {
  explicit NewtonEulerPass(const Tree& tree)
      : V(tree.nodes.size()),
        A(tree.nodes.size()),
        V_chart(tree.nodes.size()),
        momentum(tree.nodes.size()),
        force(tree.nodes.size()),
        sigma(tree.nodes.size()),
        drift(tree.nodes.size()),
        xi_v(static_cast<size_t>(tree.dofs)),
        eta(static_cast<size_t>(tree.dofs)),
        eta_v(static_cast<size_t>(tree.dofs)),
        zeta(static_cast<size_t>(tree.dofs)),
        external(tree.nodes.size()) {}

  std::vector<Twist<T>> V, A;       // twist and its rate of every body; A starts at -gravity
  std::vector<Twist<T>> V_chart;    // ball, floating: twist before the rotation
  std::vector<Wrench<T>> momentum;  // M V
  std::vector<Wrench<T>> force;     // M A + V x* (M V) - external
  std::vector<SecondMoment<T>> sigma;
  std::vector<M3<T>> drift;              // N = int rho Xdot X^T
  std::vector<Twist<T>> xi_v;            // dV/dv: the twist of the dof's velocity (a chart's axes are the body's)
  std::vector<Twist<T>> eta;             // V_before x xi: what moving the dof changes in V, beyond carrying it along
  std::vector<Twist<T>> eta_v;           // half of what v changes in A, beyond V x xi_v
  std::vector<Twist<T>> zeta;            // A_before x xi + V_before x eta: the same as eta for A
  std::vector<Wrench<double>> external;  // [N m, N] at the body origin, in body axes; zero unless set
};

// The external wrench of body i, moved to the origin of the recursion, leaves `wrench`.
template <class T>
void subtract_external(const Kinematics<T>& kin, const NewtonEulerPass<T>& pass, size_t i, Wrench<T>& wrench) {
  const Wrench<double>& external = pass.external[i];
  const V3<T> f = kin.R[i] * V3<T>{T(external.f.x), T(external.f.y), T(external.f.z)};
  const V3<T> m = kin.R[i] * V3<T>{T(external.m.x), T(external.m.y), T(external.m.z)};
  wrench.m -= m + cross(kin.p[i], f);
  wrench.f -= f;
}

enum class Depth { forces, derivatives };  // how much of a pass is wanted

// Out: V, A and the rates of the axes. Back: subtree sums.                            theory (6.1), (6.2), (6.5), (6.6)
template <Depth depth, class T>
void newton_euler_pass(const Tree& tree, const Kinematics<T>& kin, const T* v, const T* vdot, const V3<T>& gravity,
                       NewtonEulerPass<T>& pass) {
  const Twist<T> at_rest = {{T(0), T(0), T(0)}, {T(0), T(0), T(0)}}, lifted = {at_rest.w, -gravity};
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    const Node& node = tree.nodes[i];
    Twist<T> V = node.parent >= 0 ? pass.V[static_cast<size_t>(node.parent)] : at_rest;
    Twist<T> A = node.parent >= 0 ? pass.A[static_cast<size_t>(node.parent)] : lifted;
    const bool chart = has_chart(node);
    const int end = node.dof + node.nv, chart_begin = chart ? end - 3 : end;
    const int shift = node.v_index - node.dof;  // from dofs to coordinates
    for (int d = node.dof; d < chart_begin; ++d) {
      const size_t a = static_cast<size_t>(d);
      const Twist<T>& xi = kin.xi[a];
      const Twist<T> eta = cross(V, xi);
      if constexpr (depth == Depth::derivatives) {
        pass.xi_v[a] = xi;
        pass.eta[a] = pass.eta_v[a] = eta;
        pass.zeta[a] = cross(A, xi) + cross(V, eta);
      }
      A += vdot[d + shift] * xi + v[d + shift] * eta;
      V += v[d + shift] * xi;
    }
    if (chart) {
      // The velocity of a rotation chart is measured along the body's own axes, which turn with it.
      const M3<T>& R = kin.R[i];
      const V3<T>& p = kin.p[i];
      const Twist<T> axes[] = {{R.x, cross(p, R.x)}, {R.y, cross(p, R.y)}, {R.z, cross(p, R.z)}};
      const size_t c = static_cast<size_t>(chart_begin);
      const T *const w = v + (chart_begin + shift), *const wdot = vdot + (chart_begin + shift);
      const Twist<T> W = w[0] * axes[0] + w[1] * axes[1] + w[2] * axes[2];
      if constexpr (depth == Depth::derivatives) {
        pass.V_chart[i] = V;
        for (size_t k = 0; k < 3; ++k) {
          pass.xi_v[c + k] = axes[k];
          pass.eta[c + k] = cross(V, kin.xi[c + k]);
          pass.eta_v[c + k] = cross(V, axes[k]) + T(0.5) * cross(W, axes[k]);
          pass.zeta[c + k] = cross(A, kin.xi[c + k]) + cross(V, pass.eta[c + k]);
        }
      }
      A += wdot[0] * axes[0] + wdot[1] * axes[1] + wdot[2] * axes[2] + cross(V, W);
      V += W;
    }
    pass.V[i] = V;
    pass.A[i] = A;
    const SecondMoment<T> M = world_second_moment(node.S, kin.R[i], kin.p[i]);
    const Wrench<T> h = M * V;
    pass.force[i] = M * A + cross_dual(V, h);
    if constexpr (depth == Depth::derivatives) {
      pass.sigma[i] = M;
      pass.momentum[i] = h;
      // N = [w]x Sigma_A + v b^T, by columns                                                             theory (6.6)
      const S3<T>& S = M.A;
      pass.drift[i] = {cross(V.w, {S.xx, S.xy, S.xz}) + M.b.x * V.v, cross(V.w, {S.xy, S.yy, S.yz}) + M.b.y * V.v,
                       cross(V.w, {S.xz, S.yz, S.zz}) + M.b.z * V.v};
    }
    subtract_external(kin, pass, i, pass.force[i]);
  }
  sum_over_subtrees(tree, pass.force);
  if constexpr (depth == Depth::derivatives) {
    sum_over_subtrees(tree, pass.sigma);
    sum_over_subtrees(tree, pass.momentum);
    sum_over_subtrees(tree, pass.drift);
  }
}

// tau_a = xi_a . F^c_a, by dof.                                                                           theory (6.3)
template <class T>
void project_forces(const Tree& tree, const Kinematics<T>& kin, const NewtonEulerPass<T>& pass, T* tau) {
  for (size_t a = 0; a < static_cast<size_t>(tree.dofs); ++a)
    tau[a] = dot(kin.xi[a], pass.force[static_cast<size_t>(tree.dof_node[a])]);
}

// The change of tau when dof a changes V by beta_a and A by alpha_a - V x beta_a beyond carrying the subtree along:
//   d tau_b = xi_b . (M^c alpha_a + D^c beta_a),   D u = (2 (tr N - N) u_w, -2 p x u_w)                   theory (6.7)
// M^c, D^c of the deeper of the two. If the dof also moves the pose (`moves`), rows strictly above it gain
// xi_b . (xi_a x* F^c_a): the subtree's wrench is carried along, their axes are not. Full matrix by dof, column-major;
// entries of dofs on different branches are not touched.
template <class T>
void project_changes(const Tree& tree, const Kinematics<T>& kin, const NewtonEulerPass<T>& pass,
                     const std::vector<Twist<T>>& alpha, const std::vector<Twist<T>>& beta, bool moves, T* out) {
  const size_t n = static_cast<size_t>(tree.dofs);
  for (size_t b = 0; b < n; ++b) {
    const size_t i = static_cast<size_t>(tree.dof_node[b]);
    const SecondMoment<T>& M = pass.sigma[i];
    const M3<T>& N = pass.drift[i];
    const V3<T>& p = pass.momentum[i].f;
    const Twist<T>& xi = kin.xi[b];
    const T trace_N = trace(N);
    // Row b, columns a <= b: D^T xi_b has an angular part only.
    const Wrench<T> y = M * xi;
    const V3<T> z = T(2) * (trace_N * xi.w - transpose_times(N, xi.w) + cross(p, xi.v));
    // Column b, rows a < b.
    Wrench<T> column = M * alpha[b];
    column.m += T(2) * (trace_N * beta[b].w - N * beta[b].w);
    column.f -= T(2) * cross(p, beta[b].w);
    if (moves) column += cross_dual(xi, pass.force[i]);
    out[b * n + b] = dot(alpha[b], y) + dot(beta[b].w, z);
    for (int d = tree.dof_parent[b]; d >= 0; d = tree.dof_parent[static_cast<size_t>(d)]) {
      const size_t a = static_cast<size_t>(d);
      out[a * n + b] = dot(alpha[a], y) + dot(beta[a].w, z);
      out[b * n + a] = dot(kin.xi[a], column);
    }
  }
}

// Derivatives of inverse dynamics in the tangent space of docs/conventions.md, at delta = 0.              theory (6.8)
template <class T>
void inverse_dynamics_derivatives(const Tree& tree, const Kinematics<T>& kin, NewtonEulerPass<T>& pass, T* by_q,
                                  T* by_v) {
  project_changes(tree, kin, pass, pass.zeta, pass.eta, true, by_q);
  // The axes of a chart are carried along by each other: its three dofs have no order.
  const size_t n = static_cast<size_t>(tree.dofs);
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    if (!has_chart(tree.nodes[i])) continue;
    const size_t c = static_cast<size_t>(tree.nodes[i].dof + tree.nodes[i].nv - 3);
    for (size_t b = c + 1; b < c + 3; ++b)
      for (size_t a = c; a < b; ++a)
        by_q[b * n + a] = by_q[b * n + a] - dot(kin.xi[a], cross_dual(kin.xi[b], pass.force[i]));
  }
  for (Twist<T>& e : pass.eta_v) e = T(2) * e;
  project_changes(tree, kin, pass, pass.eta_v, pass.xi_v, false, by_v);
}

// --- a stage: q = q_n (+) delta, v = (delta - rest)/h, vdot = (v - coast)/h
// -------------------------------------------

// What a displacement delta_a changes in V and A of the subtree, beyond carrying it along.                theory (6.9)
//   s = eta + xi_v/h,   alpha = zeta + 2 eta_v/h + xi_v/h^2
// By dof. Of a chart v = J^T (delta - rest)/h, and xi_v, eta_v are combined by the columns of
// d(J^T (delta - rest))/d delta, the identity where rest = 0.
// theory (9.1)
template <class T> struct StageTwists {
  explicit StageTwists(const Tree& tree) : s(static_cast<size_t>(tree.dofs)), alpha(static_cast<size_t>(tree.dofs)) {}
  std::vector<Twist<T>> s, alpha;
};
template <class T>
void stage_twists(const Tree& tree, const Kinematics<T>& kin, const NewtonEulerPass<T>& pass, const T* moved, double h,
                  StageTwists<T>& out) {
  const T by_h(1 / h), twice(2 / h), by_h2(1 / (h * h));
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    const Node& node = tree.nodes[i];
    const int end = node.dof + node.nv, chart_begin = has_chart(node) ? end - 3 : end;
    for (size_t a = static_cast<size_t>(node.dof); a < static_cast<size_t>(chart_begin); ++a) {
      out.s[a] = pass.eta[a] + by_h * pass.xi_v[a];
      out.alpha[a] = pass.zeta[a] + twice * pass.eta_v[a] + by_h2 * pass.xi_v[a];
    }
    if (!has_chart(node)) continue;
    const size_t c = static_cast<size_t>(chart_begin);
    const T* const moved_i = moved + (chart_begin - node.dof + node.v_index);
    const V3<T> u = {moved_i[0], moved_i[1], moved_i[2]};
    const M3<T> J = rotation_jacobian(kin.chart[i]);
    const M3<T> turn = rotation_jacobian_derivative(kin.chart[i], u);
    const V3<T> columns[] = {V3<T>{J.x.x, J.y.x, J.z.x} + turn.x, V3<T>{J.x.y, J.y.y, J.z.y} + turn.y,
                             V3<T>{J.x.z, J.y.z, J.z.z} + turn.z};
    for (size_t k = 0; k < 3; ++k) {
      const V3<T>& d = columns[k];
      const Twist<T> xi_v = d.x * pass.xi_v[c] + d.y * pass.xi_v[c + 1] + d.z * pass.xi_v[c + 2];
      const Twist<T> eta_v = d.x * pass.eta_v[c] + d.y * pass.eta_v[c + 1] + d.z * pass.eta_v[c + 2];
      out.s[c + k] = pass.eta[c + k] + by_h * xi_v;
      out.alpha[c + k] = pass.zeta[c + k] + twice * eta_v + by_h2 * xi_v;
    }
  }
}

// d (xi . F^c) / d delta of the stage. Full matrix, column-major.                                          theory (6.9)
template <class T>
void stage_jacobian(const Tree& tree, const Kinematics<T>& kin, const NewtonEulerPass<T>& pass,
                    const StageTwists<T>& twists, T* out) {
  project_changes(tree, kin, pass, twists.alpha, twists.s, true, out);
  const size_t n = static_cast<size_t>(tree.dofs);
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    if (!has_chart(tree.nodes[i])) continue;
    const size_t first = static_cast<size_t>(tree.nodes[i].dof + tree.nodes[i].nv - 3);
    const M3<T> bending = chart_bending(kin, i, pass.force[i]);
    const V3<T> columns[] = {bending.x, bending.y, bending.z};
    for (size_t c = 0; c < 3; ++c) {
      const T by_chart[] = {columns[c].x, columns[c].y, columns[c].z};
      const Wrench<T> carried = cross_dual(kin.xi[first + c], pass.force[i]);
      for (size_t r = 0; r < 3; ++r) {
        T& entry = out[(first + c) * n + first + r];
        entry = entry + by_chart[r];
        if (r > c) entry = entry + dot(kin.xi[first + r], carried);  // r < c: project_changes has it
      }
    }
  }
}

// K = 1/2 sum V . M V of the stage: gradient s_a . h^c_a.                                                 theory (6.10)
template <class T>
void kinetic_gradient(const Tree& tree, const NewtonEulerPass<T>& pass, const StageTwists<T>& twists, T* out) {
  for (size_t a = 0; a < static_cast<size_t>(tree.dofs); ++a)
    out[a] = dot(twists.s[a], pass.momentum[static_cast<size_t>(tree.dof_node[a])]);
}

// Gauss-Newton part s_a . M^c_b s_b, positive semidefinite, and the exact Hessian: upper triangles.       theory (6.11)
template <class T>
void kinetic_hessian(const Tree& tree, const Kinematics<T>& kin, const NewtonEulerPass<T>& pass,
                     const StageTwists<T>& twists, T* exact, T* gauss_newton) {
  const size_t n = static_cast<size_t>(tree.dofs);
  for (size_t b = 0; b < n; ++b) {
    const size_t i = static_cast<size_t>(tree.dof_node[b]);
    const Wrench<T> y = pass.sigma[i] * twists.s[b], bend = cross_dual(kin.xi[b], pass.momentum[i]);
    for (int d = static_cast<int>(b); d >= 0; d = tree.dof_parent[static_cast<size_t>(d)]) {
      const size_t a = static_cast<size_t>(d);
      const T part = dot(twists.s[a], y);
      gauss_newton[b * n + a] = part;
      exact[b * n + a] = part + dot(twists.s[a], bend);
    }
  }
  for (size_t i = 0; i < tree.nodes.size();
       ++i) {  // two dofs of one chart                                theory (6.12)
    if (!has_chart(tree.nodes[i])) continue;
    const size_t first = static_cast<size_t>(tree.nodes[i].dof + tree.nodes[i].nv - 3);
    const Wrench<T>& h = pass.momentum[i];
    const Wrench<T> turned = cross_dual(pass.V_chart[i], h);
    const M3<T> bending = chart_bending(kin, i, Wrench<T>{-turned.m, -turned.f});
    const V3<T> columns[] = {bending.x, bending.y, bending.z};
    for (size_t a = 0; a < 3; ++a) {
      const T by_chart[] = {columns[a].x, columns[a].y, columns[a].z};
      for (size_t b = a; b < 3; ++b) {
        const size_t at = (first + b) * n + first + a;
        exact[at] = gauss_newton[at] + by_chart[b] - dot(cross(kin.xi[first + a], pass.eta[first + b]), h);
      }
    }
  }
}

}  // namespace scree
