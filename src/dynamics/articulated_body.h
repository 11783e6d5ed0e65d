// Forward dynamics in O(n): the articulated-body algorithm [Featherstone 2008, chapter 7] in world axes, one dof at a
// time, so that joints of any size need nothing special.                                                 theory (6.13)
#pragma once

#include <vector>

#include "dynamics/newton_euler.h"
#include "dynamics/reduction.h"
#include "solvers/tree_cholesky.h"

namespace scree {

// A symmetric 6x6 matrix from twists (w, v) to wrenches (m, f): [[J, H], [H^T, M]].
template <class T> struct ArticulatedInertia {
  S3<T> J;
  M3<T> H;
  S3<T> M;
};
template <class T> inline ArticulatedInertia<T>& operator+=(ArticulatedInertia<T>& a, const ArticulatedInertia<T>& b) {
  a.J += b.J;
  a.H += b.H;
  a.M += b.M;
  return a;
}
template <class T> inline Wrench<T> operator*(const ArticulatedInertia<T>& a, const Twist<T>& xi) {
  return {a.J * xi.w + a.H * xi.v, transpose_times(a.H, xi.w) + a.M * xi.v};
}
template <class T> inline ArticulatedInertia<T> articulated(const SecondMoment<T>& s) {  // theory (2.3)
  const T zero(0);
  return {{s.A.yy + s.A.zz, s.A.xx + s.A.zz, s.A.xx + s.A.yy, -s.A.xy, -s.A.xz, -s.A.yz},
          {{zero, s.b.z, -s.b.y}, {-s.b.z, zero, s.b.x}, {s.b.y, -s.b.x, zero}},
          {s.m, s.m, s.m, zero, zero, zero}};
}
// a - scale u u^T
template <class T> inline void subtract_outer(ArticulatedInertia<T>& a, const Wrench<T>& u, const T& scale) {
  const V3<T> m = scale * u.m, f = scale * u.f;
  a.J = {a.J.xx - m.x * u.m.x, a.J.yy - m.y * u.m.y, a.J.zz - m.z * u.m.z,
         a.J.xy - m.x * u.m.y, a.J.xz - m.x * u.m.z, a.J.yz - m.y * u.m.z};
  a.H = {a.H.x - u.f.x * m, a.H.y - u.f.y * m, a.H.z - u.f.z * m};
  a.M = {a.M.xx - f.x * u.f.x, a.M.yy - f.y * u.f.y, a.M.zz - f.z * u.f.z,
         a.M.xy - f.x * u.f.y, a.M.xz - f.x * u.f.z, a.M.yz - f.y * u.f.z};
}

template <class T> struct ArticulatedBodyPass {
  explicit ArticulatedBodyPass(const Tree& tree)
      : inertia(tree.nodes.size()),
        bias(tree.nodes.size()),
        c(static_cast<size_t>(tree.dofs)),
        U(static_cast<size_t>(tree.dofs)),
        inverse_D(static_cast<size_t>(tree.dofs)),
        u(static_cast<size_t>(tree.dofs)),
        composite(tree.nodes.size()),
        A(tree.nodes.size()),
        reduction(tree),
        cholesky(tree.has_followers() ? tree.parent : std::vector<int>()) {
    if (tree.has_followers()) mass.resize(static_cast<size_t>(tree.nv) * static_cast<size_t>(tree.nv));
  }
  std::vector<ArticulatedInertia<T>> inertia;
  std::vector<Wrench<T>> bias;
  std::vector<Twist<T>> c;  // acceleration of the dof that is not vdot
  std::vector<Wrench<T>> U;
  std::vector<T> inverse_D, u;
  std::vector<SecondMoment<T>> composite;  // of solve_mass_matrix
  std::vector<Twist<T>> A;                 // likewise
  // Of trees with followers.
  Reduction<T> reduction;
  std::vector<T> mass;
  TreeCholesky cholesky;
};

// x <- M^-1 x with the mass matrix itself. One dof at a time, as below, what is eliminated must not come back further
// up or on another branch, as the coordinate of a follower does.
template <class T>
bool solve_reduced_mass_matrix(const Tree& tree, const Kinematics<T>& kin, bool rotors, ArticulatedBodyPass<T>& ab,
                               T* x) {
  world_second_moments(tree, kin, ab.composite);
  sum_over_subtrees(tree, ab.composite);
  ab.reduction.upper(ab.mass.data(), [&](T* by_dof) { composite_mass_matrix(tree, kin, ab.composite, by_dof); });
  const size_t n = static_cast<size_t>(tree.nv);
  for (size_t c = 0; rotors && c < n; ++c) ab.mass[c * n + c] += T(tree.armature[c]);
  if (!ab.cholesky.factor(ab.mass.data())) return false;
  ab.cholesky.solve(x);
  return true;
}

// vdot from M vdot = tau - C. At delta = 0. False if some dof feels no inertia.
template <class T>
bool articulated_body(const Tree& tree, const Kinematics<T>& kin, const T* v, const T* tau, const V3<T>& gravity,
                      NewtonEulerPass<T>& pass, ArticulatedBodyPass<T>& ab, T* vdot) {
  if (tree.has_followers()) {  // M vdot = tau - C
    for (T& rate : ab.u) rate = T(0);
    newton_euler_pass<Depth::forces>(tree, kin, v, ab.u.data(), gravity, pass);
    std::vector<T>& bias = ab.inverse_D;
    ab.reduction.covector(bias.data(), [&](T* by_dof) { project_forces(tree, kin, pass, by_dof); });
    for (size_t c = 0; c < static_cast<size_t>(tree.nv); ++c) vdot[c] = tau[c] - bias[c];
    return solve_reduced_mass_matrix(tree, kin, true, ab, vdot);
  }
  const Twist<T> at_rest = {{T(0), T(0), T(0)}, {T(0), T(0), T(0)}};
  // Out: velocities, and the wrench each body needs without acceleration.
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    const Node& node = tree.nodes[i];
    Twist<T> V = node.parent >= 0 ? pass.V[static_cast<size_t>(node.parent)] : at_rest;
    const int end = node.v_index + node.nv, chart_begin = has_chart(node) ? end - 3 : end;
    for (int d = node.v_index; d < chart_begin; ++d) {
      const size_t a = static_cast<size_t>(d);
      ab.c[a] = v[a] * cross(V, kin.xi[a]);
      V += v[a] * kin.xi[a];
    }
    if (has_chart(node)) {  // the axes turn together: all of V x W goes to the first
      const size_t first = static_cast<size_t>(chart_begin);
      const Twist<T> W = v[first] * kin.xi[first] + v[first + 1] * kin.xi[first + 1] + v[first + 2] * kin.xi[first + 2];
      ab.c[first] = cross(V, W);
      ab.c[first + 1] = ab.c[first + 2] = at_rest;
      V += W;
    }
    pass.V[i] = V;
    const SecondMoment<T> M = world_second_moment(node.S, kin.R[i], kin.p[i]);
    ab.inertia[i] = articulated(M);
    ab.bias[i] = cross_dual(V, M * V);
    subtract_external(kin, pass, i, ab.bias[i]);
  }
  // Back: eliminate one dof after the other.
  //   U = I xi,  D = xi . U + armature,  u = tau - xi . p;   I <- I - U U^T/D,  p <- p + I c + U u/D
  for (size_t i = tree.nodes.size(); i-- > 0;) {
    const Node& node = tree.nodes[i];
    ArticulatedInertia<T>& I = ab.inertia[i];
    Wrench<T>& p = ab.bias[i];
    for (int d = node.v_index + node.nv; d-- > node.v_index;) {
      const size_t a = static_cast<size_t>(d);
      const Twist<T>& xi = kin.xi[a];
      const Wrench<T> U = ab.U[a] = I * xi;
      const T D = dot(xi, U) + T(tree.armature[a]);
      if (!(real_part(D) > 0)) return false;
      const T scale = ab.inverse_D[a] = T(1) / D;
      ab.u[a] = tau[a] - dot(xi, p);
      subtract_outer(I, U, scale);
      const Wrench<T> Ic = I * ab.c[a];
      const T s = scale * ab.u[a];
      p += Wrench<T>{Ic.m + s * U.m, Ic.f + s * U.f};
    }
    if (node.parent >= 0) {
      ab.inertia[static_cast<size_t>(node.parent)] += I;
      ab.bias[static_cast<size_t>(node.parent)] += p;
    }
  }
  // Out again: accelerations.
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    const Node& node = tree.nodes[i];
    Twist<T> A = node.parent >= 0 ? pass.A[static_cast<size_t>(node.parent)] : Twist<T>{at_rest.w, -gravity};
    for (int d = node.v_index; d < node.v_index + node.nv; ++d) {
      const size_t a = static_cast<size_t>(d);
      A += ab.c[a];
      vdot[a] = ab.inverse_D[a] * (ab.u[a] - dot(A, ab.U[a]));
      A += vdot[a] * kin.xi[a];
    }
    pass.A[i] = A;
  }
  return true;
}

// x <- M^-1 x where `kin` is, at any delta: the same elimination without velocities. `rotors`: armature is part of M.
// False if less than 1e-13 of what a dof moves is left to resist it, as TreeCholesky has it.              theory (6.13)
template <class T>
bool solve_mass_matrix(const Tree& tree, const Kinematics<T>& kin, bool rotors, ArticulatedBodyPass<T>& ab, T* x) {
  if (tree.has_followers()) return solve_reduced_mass_matrix(tree, kin, rotors, ab, x);
  const V3<T> zero = {T(0), T(0), T(0)};
  world_second_moments(tree, kin, ab.composite);
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    ab.inertia[i] = articulated(ab.composite[i]);
    ab.bias[i] = {zero, zero};
  }
  sum_over_subtrees(tree, ab.composite);
  for (size_t i = tree.nodes.size(); i-- > 0;) {
    const Node& node = tree.nodes[i];
    for (int d = node.v_index + node.nv; d-- > node.v_index;) {
      const size_t a = static_cast<size_t>(d);
      const Twist<T>& xi = kin.xi[a];
      const T rotor = rotors ? T(tree.armature[a]) : T(0);
      const Wrench<T> U = ab.U[a] = ab.inertia[i] * xi;
      const T D = dot(xi, U) + rotor;
      if (!(real_part(D) > 1e-13 * real_part(dot(xi, ab.composite[i] * xi) + rotor))) return false;
      ab.inverse_D[a] = T(1) / D;
      ab.u[a] = x[a] - dot(xi, ab.bias[i]);
      subtract_outer(ab.inertia[i], U, ab.inverse_D[a]);
      const T s = ab.inverse_D[a] * ab.u[a];
      ab.bias[i] += Wrench<T>{s * U.m, s * U.f};
    }
    if (node.parent >= 0) {
      ab.inertia[static_cast<size_t>(node.parent)] += ab.inertia[i];
      ab.bias[static_cast<size_t>(node.parent)] += ab.bias[i];
    }
  }
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    const Node& node = tree.nodes[i];
    Twist<T> A = node.parent >= 0 ? ab.A[static_cast<size_t>(node.parent)] : Twist<T>{zero, zero};
    for (int d = node.v_index; d < node.v_index + node.nv; ++d) {
      const size_t a = static_cast<size_t>(d);
      x[a] = ab.inverse_D[a] * (ab.u[a] - dot(A, ab.U[a]));
      A += x[a] * kin.xi[a];
    }
    ab.A[i] = A;
  }
  return true;
}

}  // namespace scree
