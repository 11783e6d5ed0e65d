#include "solvers/tree_lu.h"

#include <cmath>

#include "solvers/tree_runs.h"

namespace scree {

TreeLu::TreeLu(std::vector<int> parent)
    : parent_(std::move(parent)),
      first_(first_of_runs(parent_)),
      row_(parent_.size() * parent_.size()),
      column_(row_.size()),
      inverse_pivot_(parent_.size()) {}

bool TreeLu::factor(const double* A, bool symmetric) {
  const size_t n = parent_.size();
  for (size_t k = 0; k < n; ++k) {
    double *const r = row_.data() + k * n, *const c = column_.data() + k * n;
    const double* const upper = A + k * n;
    for_each_run(parent_, first_, static_cast<int>(k), [&](size_t begin, size_t end) {
      for (size_t a = begin; a < end; ++a) c[a] = upper[a];
      for (size_t a = begin; a < end; ++a) r[a] = symmetric ? upper[a] : A[a * n + k];
    });
  }
  for (size_t k = n; k-- > 0;) {
    const double* const r = row_.data() + k * n;
    double* const c = column_.data() + k * n;
    if (!(std::abs(r[k]) > 1e-10 * std::abs(A[k * n + k]))) return false;
    const double inverse = inverse_pivot_[k] = 1 / r[k];
    // A_ij -= A_ik A_kj / A_kk for ancestors i, j of k
    for_each_run(parent_, first_, parent_[k], [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) c[i] = (symmetric ? r[i] : c[i]) * inverse;
    });
    for (int i = parent_[k]; i >= 0; i = parent_[static_cast<size_t>(i)]) {
      double *const r_i = row_.data() + static_cast<size_t>(i) * n, *const c_i =
                                                                        column_.data() + static_cast<size_t>(i) * n;
      const double m = c[i], u = r[i];
      for_each_run(parent_, first_, i, [&](size_t begin, size_t end) {
        for (size_t j = begin; j < end; ++j) r_i[j] -= m * r[j];
        if (!symmetric)
          for (size_t j = begin; j < end; ++j) c_i[j] -= c[j] * u;
        products_ += static_cast<long>((end - begin) * (symmetric ? 1 : 2));
      });
    }
  }
  return true;
}

void TreeLu::solve(double* X, int count) const {
  const int n = static_cast<int>(parent_.size());
  const int* parent = parent_.data();
  for (int k = n - 1; k >= 0; --k) {
    const double* c = column_.data() + k * n;
    const double* x = X + k * count;
    for (int a = parent[k]; a >= 0; a = parent[a]) {
      double* y = X + a * count;
      const double m = c[a];
      for (int s = 0; s < count; ++s) y[s] -= m * x[s];
    }
  }
  for (int k = 0; k < n; ++k) {
    const double* r = row_.data() + k * n;
    double* x = X + k * count;
    for (int a = parent[k]; a >= 0; a = parent[a]) {
      const double* y = X + a * count;
      const double m = r[a];
      for (int s = 0; s < count; ++s) x[s] -= m * y[s];
    }
    const double inverse = inverse_pivot_[static_cast<size_t>(k)];
    for (int s = 0; s < count; ++s) x[s] *= inverse;
  }
}

}  // namespace scree
