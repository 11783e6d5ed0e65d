// Least squares with variables that are not negative:
//
//   minimise |sum_k x_k a_k - b|^2  over  x >= 0, x_k = 0 outside a given set of columns.                 theory (13.6)
//
// The active-set method of Lawson and Hanson ("Solving Least Squares Problems", 1974, chapter 23) on an orthonormal
// basis of the columns in use, orthogonalised twice. Columns may be dependent or equal: sum_k x_k a_k is unique, x is
// not. Works in any arithmetic; no heap calls in solve() up to the size reserved.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <type_traits>
#include <vector>

#include "impact/precision.h"
#include "impact/sparse_columns.h"

namespace scree {

template <class T> class Nnls {
 public:
  void reserve(int rows, int columns) {
    rows_ = rows;
    limit_ = std::min(rows, columns);
    Q_.resize(rows * limit_);
    R_.resize(limit_ * limit_);
    c_.resize(limit_);
    h_.resize(limit_);
    s_.resize(limit_);
    residual_.resize(rows);
    column_.resize(limit_);
    state_.resize(columns);
  }

  // x has an entry for every column of A. False: it stopped early; x is the best so far.
  bool solve(const SparseColumns& A, const int* set, int count, const T* b, T* x);
  const T* residual() const { return residual_.data(); }  // b - A x of the last call

 private:
  enum State : char { kFree, kUsed, kRejected };
  static constexpr double kUnit = Arithmetic<T>::unit;

  T* q(int p) { return Q_.data() + p * rows_; }
  T& r(int i, int p) { return R_[p * limit_ + i]; }
  bool orthogonalise(const SparseColumns& A, int k, int p, const T* b);
  void back_substitute();
  void update_residual(const T* b);

  int rows_ = 0, limit_ = 0, used_ = 0;
  Array<T> Q_, R_, c_, h_, s_, residual_;
  Array<int> column_;  // of A, by place in the basis
  Array<State> state_;
};

// Place p of the basis: column k less its part in the places before. False if nothing but rounding is left.
template <class T> bool Nnls<T>::orthogonalise(const SparseColumns& A, int k, int p, const T* b) {
  T* w = q(p);
  std::fill(w, w + rows_, T(0.0));
  for (int i = A.start[k]; i < A.start[k + 1]; ++i) w[A.row[i]] = T(A.value[i]);
  for (int i = 0; i < p; ++i) r(i, p) = T(0.0);
  T size(0.0);
  for (int j = 0; j < rows_; ++j) size += w[j] * w[j];
  for (int pass = 0; pass < 2; ++pass) {
    if constexpr (std::is_same_v<T, double>) {
      // all at once: twice is enough for this order, too, and it is several times as fast
      Eigen::Map<Eigen::VectorXd> rest(w, rows_), h(h_.data(), p);
      const Eigen::Map<const Eigen::MatrixXd> before(Q_.data(), rows_, p);
      h.noalias() = before.transpose() * rest;
      rest.noalias() -= before * h;
      for (int i = 0; i < p; ++i) r(i, p) += h(i);
    } else {
      for (int i = 0; i < p; ++i) {
        const T* e = q(i);
        T h(0.0);
        for (int j = 0; j < rows_; ++j) h += e[j] * w[j];
        for (int j = 0; j < rows_; ++j) w[j] -= h * e[j];
        r(i, p) += h;
      }
    }
  }
  T left(0.0);
  for (int j = 0; j < rows_; ++j) left += w[j] * w[j];
  const T length = square_root(left);
  // Rounding of two passes leaves some units of the size, sqrt(rows) of them by experience.
  if (!(length > square_root(size) * (64 * kUnit * std::sqrt(static_cast<double>(rows_))))) return false;
  const T factor = T(1.0) / length;
  r(p, p) = length;
  T c(0.0);
  for (int j = 0; j < rows_; ++j) {
    w[j] *= factor;
    c += w[j] * b[j];
  }
  c_[p] = c;
  column_[p] = k;
  return true;
}

template <class T> void Nnls<T>::back_substitute() {
  for (int i = used_; i-- > 0;) {
    T sum = c_[i];
    for (int p = i + 1; p < used_; ++p) sum -= r(i, p) * s_[p];
    s_[i] = sum / r(i, i);
  }
}

template <class T> void Nnls<T>::update_residual(const T* b) {
  std::copy(b, b + rows_, residual_.begin());
  for (int p = 0; p < used_; ++p)
    for (int j = 0; j < rows_; ++j) residual_[j] -= c_[p] * q(p)[j];
}

template <class T> bool Nnls<T>::solve(const SparseColumns& A, const int* set, int count, const T* b, T* x) {
  used_ = 0;
  std::fill(x, x + A.columns(), T(0.0));
  std::copy(b, b + rows_, residual_.begin());
  T square(0.0);
  for (int j = 0; j < rows_; ++j) square += b[j] * b[j];
  const T tolerance = square_root(square) * (8 * kUnit * std::sqrt(static_cast<double>(rows_)));
  for (int i = 0; i < count; ++i) state_[set[i]] = kFree;

  for (int round = 0; round < 20 * count + 50; ++round) {
    // the free column that would lower the residual fastest
    int best = -1;
    T steepest = tolerance;
    for (int i = 0; i < count; ++i) {
      if (state_[set[i]] != kFree) continue;
      const T gradient = A.dot(set[i], residual_.data());
      if (gradient > steepest) steepest = gradient, best = set[i];
    }
    if (best < 0 || used_ == limit_) return best < 0;
    if (!orthogonalise(A, best, used_, b)) {
      state_[best] = kRejected;  // depends on those in use; whatever its gradient says is rounding
      continue;
    }
    ++used_;
    back_substitute();
    if (!(s_[used_ - 1] > T(0.0))) {  // rounding again: in exact arithmetic it is positive
      --used_;
      state_[best] = kRejected;
      continue;
    }
    state_[best] = kUsed;
    // towards the unconstrained minimum until a variable is zero; drop it; again
    bool dropped_some = false;
    for (;;) {
      int blocking = -1;
      T part(1.0);
      for (int p = 0; p < used_; ++p)
        if (!(s_[p] > T(0.0))) {
          const T& old = x[column_[p]];
          const T step = old > T(0.0) ? old / (old - s_[p]) : T(0.0);
          if (blocking < 0 || step < part) part = step, blocking = p;
        }
      if (blocking < 0) break;
      for (int p = 0; p < used_; ++p) x[column_[p]] += part * (s_[p] - x[column_[p]]);
      const int dropped = column_[blocking];
      dropped_some = true;
      x[dropped] = T(0.0);
      state_[dropped] = dropped == best ? kRejected : kFree;
      const int last = used_;
      used_ = blocking;
      for (int p = blocking + 1; p < last; ++p) {
        const int k = column_[p];
        if (orthogonalise(A, k, used_, b))
          ++used_;
        else
          x[k] = T(0.0), state_[k] = kRejected;
      }
      back_substitute();
    }
    for (int p = 0; p < used_; ++p) x[column_[p]] = s_[p];
    if (dropped_some)
      update_residual(b);
    else
      for (int j = 0; j < rows_; ++j) residual_[j] -= c_[used_ - 1] * q(used_ - 1)[j];
    for (int i = 0; i < count; ++i)
      if (state_[set[i]] == kRejected && set[i] != best) state_[set[i]] = kFree;
  }
  return false;
}

}  // namespace scree
