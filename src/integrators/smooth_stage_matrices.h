// Matrices of a stage with smooth contact (smooth_stage.h): the Jacobian, the mass matrix, and their factors.
#pragma once

#include "integrators/smooth_stage.h"

namespace scree {

// J_ab = xi_a . (k M^c_b + B^c_b - C^c_b) xi_b and J_ba = xi_a . (k M^c_b + B^c_b - C^c_b^T) xi_b for a <= b, with the
// subtree sums of second moments, of P (theory (3.5)) and of how contact wrenches change.               theory (11.9)
template <class T> void SmoothStage<T>::jacobian() {
  second_moments();
  std::fill(touched_.begin(), touched_.end(), 0);
  for (const Touch& t : touches_) {
    const LanePair& point = pair_of(t);
    const size_t i = static_cast<size_t>(point.node);
    M3<T> Q = zero3<T>();
    if (point.radius > 0) Q = motion_.target_R[i] * transpose(trial_.R[i]);
    WrenchChange<T> change =
        wrench_change(t.force, t.normal, t.u, t.c, t.x, point.radius, Q, stage_h, t.curved ? &t.curvature : nullptr);
    if (rolls(t)) add_rolling_change(t, change);
    if (touched_[i])
      change_[i] += change;
    else
      assign(change_[i], change);
    touched_[i] = 1;
  }
  for (size_t i = tree_.nodes.size(); i-- > 0;) {
    const int parent = tree_.nodes[i].parent;
    if (!touched_[i] || parent < 0) continue;
    const size_t to = static_cast<size_t>(parent);
    if (touched_[to])
      change_[to] += change_[i];
    else
      assign(change_[to], change_[i]);
    touched_[to] = 1;
  }
  // By dof: without followers these are the coordinates.
  const bool shared = tree_.has_followers();
  T *const by_row = shared ? dof_row_.data() : row.data(), *const by_column =
                                                               shared ? dof_column_.data() : column.data();
  T* const gauss_newton = shared ? dof_gauss_newton_.data() : gauss_newton_.data();
  const int *const depths = shared ? dof_depth_.data() : depth_.data(), *const paths =
                                                                            shared ? dof_path_.data() : path_.data();
  const int count = dof_count_;
  for (size_t i = 0; i < tree_.nodes.size(); ++i) {
    const Node& node = tree_.nodes[i];
    const M3<T>& A = inertia_.moment[i];
    const T trace_A = trace(A);
    const auto bend = [&](const Twist<T>& xi) { return A * xi.w - trace_A * xi.w - cross(inertia_.force[i], xi.v); };
    for (int b = node.dof; b < node.dof + node.nv; ++b) {
      const Twist<T>& xi = trial_.xi[static_cast<size_t>(b)];
      Wrench<T> y = moments_[i] * xi;
      y = {inertia_.weight * y.m, inertia_.weight * y.f};
      T *to_row = by_row + b * count, *to_column = by_column + b * count;
      const int* path = paths + b * count;
      const int d = depths[b];
      if (want_gauss_newton)
        for (int e = 0; e <= d; ++e) gauss_newton[b * count + e] = dot(trial_.xi[static_cast<size_t>(path[e])], y);
      y.m += bend(xi);
      if (touched_[i]) {
        const Wrench<T> up = change_[i] * xi, low = transpose_times(change_[i], xi);
        const Wrench<T> y_up = {y.m - up.m, y.f - up.f}, y_low = {y.m - low.m, y.f - low.f};
        for (int e = 0; e <= d; ++e) {
          const Twist<T>& above = trial_.xi[static_cast<size_t>(path[e])];
          to_column[e] = dot(above, y_up);
          to_row[e] = dot(above, y_low);
        }
      } else {
        for (int e = 0; e <= d; ++e) to_column[e] = to_row[e] = dot(trial_.xi[static_cast<size_t>(path[e])], y);
      }
      if (!shared) to_row[d] = to_column[d] = to_row[d] + joint_curvature_[static_cast<size_t>(b)];
    }
    if (!has_chart(node)) continue;  // two dofs of one chart                                              theory (3.7)
    const int first = node.dof + node.nv - 3;
    const M3<T> by_chart = chart_bending(trial_, i, wrench_of(A, inertia_.force[i]));
    const V3<T>* const columns[] = {&by_chart.x, &by_chart.y, &by_chart.z};
    for (int ka = 0; ka < 3; ++ka) {
      const Twist<T>& xi_a = trial_.xi[static_cast<size_t>(first + ka)];
      const V3<T> bend_a = bend(xi_a);
      const T chart[] = {columns[ka]->x, columns[ka]->y, columns[ka]->z};
      for (int kb = ka; kb < 3; ++kb) {
        const int d = depths[first + ka];
        T more = chart[kb];
        if (kb > ka) {
          const Twist<T>& xi_b = trial_.xi[static_cast<size_t>(first + kb)];
          more = more + dot(xi_b.w, bend_a) - dot(xi_a.w, bend(xi_b));
        }
        T &to_row = by_row[(first + kb) * count + d], &to_column = by_column[(first + kb) * count + d];
        to_row += more;
        to_column = kb > ka ? to_column + more : to_row;
      }
    }
  }
  if (shared) add_up_jacobian();
  for (size_t j = 0; j < s_.joints.size(); ++j) {
    if (!s_.joints[j].ball) continue;
    const int first = s_.joints[j].v_index;
    for (int b = 0; b < 3; ++b)
      for (int a = 0; a <= b; ++a) {
        const int d = depth_[static_cast<size_t>(first + a)];
        const T& more = ball_blocks_[j].H[3 * b + a];
        row_of(first + b)[d] += more;
        column_of(first + b)[d] = a < b ? column_of(first + b)[d] + more : row_of(first + b)[d];
      }
  }
  for (int k = 0; k < n; ++k) pivot_size_[static_cast<size_t>(k)] = row_of(k)[depth_[static_cast<size_t>(k)]];
}

// From dofs to coordinates, and the curvature of joint forces. Entry [b][d] of rows is J_ba, of columns
// J_ab.                                                                                                   theory (1.11)
template <class T> void SmoothStage<T>::add_up_jacobian() {
  for (size_t k = 0; k < row.size(); ++k) row[k] = column[k] = T(0);
  for (int b = 0; b < dof_count_; ++b) {
    const int c_b = tree_.coordinate[static_cast<size_t>(b)];
    for (int e = 0; e <= dof_depth_[static_cast<size_t>(b)]; ++e) {
      const size_t from = static_cast<size_t>(b * dof_count_ + e);
      const int a = dof_path_[from], c_a = tree_.coordinate[static_cast<size_t>(a)];
      if (c_a == c_b) {
        T& to = row_of(c_b)[depth(c_b)];
        to += dof_row_[from];
        if (a != b) to += dof_column_[from];
      } else if (c_a < c_b) {
        row_of(c_b)[depth(c_a)] += dof_row_[from];
        column_of(c_b)[depth(c_a)] += dof_column_[from];
      } else {
        row_of(c_a)[depth(c_b)] += dof_column_[from];
        column_of(c_a)[depth(c_b)] += dof_row_[from];
      }
    }
  }
  for (int c = 0; c < n; ++c) {
    T& diagonal = row_of(c)[depth(c)];
    diagonal += joint_curvature_[static_cast<size_t>(c)];
    column_of(c)[depth(c)] = diagonal;
  }
  if (want_gauss_newton) add_up_symmetric(dof_gauss_newton_, gauss_newton_);
}

template <class T> void SmoothStage<T>::add_up_symmetric(const std::vector<T>& by_dof, std::vector<T>& out) const {
  for (size_t k = 0; k < out.size(); ++k) out[k] = T(0);
  for (int b = 0; b < dof_count_; ++b) {
    const int c_b = tree_.coordinate[static_cast<size_t>(b)];
    for (int e = 0; e <= dof_depth_[static_cast<size_t>(b)]; ++e) {
      const size_t from = static_cast<size_t>(b * dof_count_ + e);
      const int a = dof_path_[from], c_a = tree_.coordinate[static_cast<size_t>(a)];
      const int high = c_a > c_b ? c_a : c_b, low = c_a > c_b ? c_b : c_a;
      T& to = out[static_cast<size_t>(high * n + depth(low))];
      to += by_dof[from];
      if (a != b && c_a == c_b) to += by_dof[from];
    }
  }
}

template <class T> void SmoothStage<T>::dense_jacobian(int l, double* out) const {
  std::fill(out, out + n * n, 0.0);
  for (int b = 0; b < n; ++b)
    for (int e = 0; e <= depth(b); ++e) {
      const int a = ancestor(b, e);
      out[b * n + a] = lane(column[static_cast<size_t>(b * n + e)], l);
      out[a * n + b] = lane(row[static_cast<size_t>(b * n + e)], l);
    }
}

// As TreeLu: eliminating leaves first fills in nothing.
template <class T> Condition<T> SmoothStage<T>::factor() {
  If regular = T(0) <= T(0);
  for (int k = n - 1; k >= 0; --k) {
    const T* r = row_of(k);
    T* c = column_of(k);
    const int d = depth_[static_cast<size_t>(k)];
    const int* path = path_.data() + k * n;
    regular = regular & (abs(r[d]) > T(1e-10) * abs(pivot_size_[static_cast<size_t>(k)]));
    const T inverse = inverse_pivot_[static_cast<size_t>(k)] = T(1) / r[d];
    for (int e = 0; e < d; ++e) c[e] = c[e] * inverse;
    for (int e = d - 1; e >= 0; --e) {
      T *r_i = row_of(path[e]), *c_i = column_of(path[e]);
      const T m = c[e], u = r[e];
      r_i[e] -= m * u;
      for (int f = 0; f < e; ++f) {
        r_i[f] -= m * r[f];
        c_i[f] -= c[f] * u;
      }
    }
  }
  return regular;
}

template <class T> void SmoothStage<T>::solve(T* x) const {
  for (int k = n - 1; k >= 0; --k) {
    const T* c = column.data() + k * n;
    const int* path = path_.data() + k * n;
    for (int e = depth_[static_cast<size_t>(k)] - 1; e >= 0; --e) x[path[e]] -= c[e] * x[k];
  }
  for (int k = 0; k < n; ++k) {
    const T* r = row.data() + k * n;
    const int* path = path_.data() + k * n;
    T sum = x[k];
    for (int e = depth_[static_cast<size_t>(k)] - 1; e >= 0; --e) sum -= r[e] * x[path[e]];
    x[k] = sum * inverse_pivot_[static_cast<size_t>(k)];
  }
}

// The mass matrix, theory (6.4), and its factors L^T D L.
template <class T>
void SmoothStage<T>::mass_matrix(const Kinematics<T>& kin, const std::vector<SecondMoment<T>>& sigma, bool rotors) {
  if (tree_.has_followers()) {
    for (int b = 0; b < dof_count_; ++b) {
      const size_t ib = static_cast<size_t>(b);
      const Wrench<T> y = sigma[static_cast<size_t>(tree_.dof_node[ib])] * kin.xi[ib];
      const int* path = dof_path_.data() + b * dof_count_;
      for (int e = 0; e <= dof_depth_[ib]; ++e)
        dof_row_[static_cast<size_t>(b * dof_count_ + e)] = dot(kin.xi[static_cast<size_t>(path[e])], y);
    }
    add_up_symmetric(dof_row_, mass_);
    for (int c = 0; c < n; ++c) {
      T& diagonal = mass_[static_cast<size_t>(c * n + depth(c))];
      if (rotors) diagonal += T(tree_.armature[static_cast<size_t>(c)]);
      pivot_size_[static_cast<size_t>(c)] = diagonal;
    }
    return;
  }
  for (int b = 0; b < n; ++b) {
    const size_t ib = static_cast<size_t>(b);
    const Wrench<T> y = sigma[static_cast<size_t>(tree_.dof_node[ib])] * kin.xi[ib];
    T* to = mass_.data() + b * n;
    const int* path = path_.data() + b * n;
    const int d = depth_[ib];
    for (int e = 0; e <= d; ++e) to[e] = dot(kin.xi[static_cast<size_t>(path[e])], y);
    if (rotors) to[d] += T(tree_.armature[ib]);
    pivot_size_[ib] = to[d];
  }
}
template <class T> Condition<T> SmoothStage<T>::factor_mass() {
  If regular = T(0) <= T(0);
  for (int k = n - 1; k >= 0; --k) {
    T* r = mass_.data() + k * n;
    const int d = depth_[static_cast<size_t>(k)];
    const int* path = path_.data() + k * n;
    regular = regular & (r[d] > T(1e-13) * pivot_size_[static_cast<size_t>(k)]);
    const T inverse = mass_inverse_[static_cast<size_t>(k)] = T(1) / r[d];
    for (int e = d - 1; e >= 0; --e) {
      T* r_i = mass_.data() + path[e] * n;
      const T m = r[e] * inverse;
      for (int f = 0; f <= e; ++f) r_i[f] -= m * r[f];
    }
    for (int e = 0; e < d; ++e) r[e] = r[e] * inverse;
  }
  return regular;
}
template <class T> void SmoothStage<T>::solve_mass(T* x) const {
  for (int k = n - 1; k >= 0; --k) {
    const T* r = mass_.data() + k * n;
    const int* path = path_.data() + k * n;
    for (int e = depth_[static_cast<size_t>(k)] - 1; e >= 0; --e) x[path[e]] -= r[e] * x[k];
  }
  for (int k = 0; k < n; ++k) {
    const T* r = mass_.data() + k * n;
    const int* path = path_.data() + k * n;
    T sum = x[k] * mass_inverse_[static_cast<size_t>(k)];
    for (int e = depth_[static_cast<size_t>(k)] - 1; e >= 0; --e) sum -= r[e] * x[path[e]];
    x[k] = sum;
  }
}

}  // namespace scree
