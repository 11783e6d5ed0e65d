#include "solvers/tree_lu.h"

#include <cmath>

namespace scree {

TreeLu::TreeLu(std::vector<int> parent)
    : parent_(std::move(parent)),
      row_(parent_.size() * parent_.size()),
      column_(row_.size()),
      inverse_pivot_(parent_.size()) {}

bool TreeLu::factor(const double* A) {
  const int n = static_cast<int>(parent_.size());
  const auto row = [&](int k) { return row_.data() + k * n; };
  const auto column = [&](int k) { return column_.data() + k * n; };
  const int* parent = parent_.data();
  for (int k = 0; k < n; ++k) {
    double *r = row(k), *c = column(k);
    for (int a = k; a >= 0; a = parent[a]) {
      r[a] = A[a * n + k];
      c[a] = A[k * n + a];
    }
  }
  for (int k = n - 1; k >= 0; --k) {
    const double* r = row(k);
    double* c = column(k);
    if (!(std::abs(r[k]) > 1e-10 * std::abs(A[k * n + k]))) return false;
    const double inverse = inverse_pivot_[static_cast<size_t>(k)] = 1 / r[k];
    // A_ij -= A_ik A_kj / A_kk for ancestors i, j of k
    for (int i = parent[k]; i >= 0; i = parent[i]) c[i] *= inverse;
    for (int i = parent[k]; i >= 0; i = parent[i]) {
      double *r_i = row(i), *c_i = column(i);
      const double m = c[i], u = r[i];
      r_i[i] -= m * u;
      for (int j = parent[i]; j >= 0; j = parent[j]) {
        r_i[j] -= m * r[j];
        c_i[j] -= c[j] * u;
      }
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
