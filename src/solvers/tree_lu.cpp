#include "solvers/tree_lu.h"

#include <algorithm>
#include <cmath>

#include "solvers/tree_runs.h"

namespace scree {

TreeLu::TreeLu(std::vector<int> parent)
    : parent_(std::move(parent)),
      first_(first_of_runs(parent_)),
      row_(parent_.size() * parent_.size()),
      column_(row_.size()),
      inverse_pivot_(parent_.size()) {}

namespace {

// x -= a_1 y_1 + a_2 y_2 + ..., one after the other, entries begin to end.
template <int count>
void subtract(double* __restrict x, const double* const (&y)[count], const double (&a)[count], size_t begin,
              size_t end) {
  for (size_t j = begin; j < end; ++j) {
    double sum = x[j];
    for (int s = 0; s < count; ++s) sum -= a[s] * y[s][j];
    x[j] = sum;
  }
}

}  // namespace

// A_ij -= A_ik A_kj / A_kk and A_ji -= A_jk A_ki / A_kk for an ancestor i of k and its ancestors j, of the pivots
// k, k - 1, ... one after the other.
template <int count> void TreeLu::eliminate(size_t k, size_t i, bool symmetric) {
  const size_t n = parent_.size();
  const double *r[count], *c[count];
  double m[count], u[count];
  for (size_t s = 0; s < count; ++s) {
    r[s] = row_.data() + (k - s) * n;
    c[s] = column_.data() + (k - s) * n;
    m[s] = c[s][i];
    u[s] = r[s][i];
  }
  for_each_run(parent_, first_, static_cast<int>(i), [&](size_t begin, size_t end) {
    subtract(row_.data() + i * n, r, m, begin, end);
    if (!symmetric) subtract(column_.data() + i * n, c, u, begin, end);
    products_ += static_cast<long>((end - begin) * count * (symmetric ? 1 : 2));
  });
}

bool TreeLu::factor(const double* A, bool symmetric) {
  const size_t n = parent_.size();
  for (size_t k = 0; k < n; ++k) {
    double *const r = row_.data() + k * n, *const c = column_.data() + k * n;
    const double* const upper = A + k * n;
    for_each_run(parent_, first_, static_cast<int>(k), [&](size_t begin, size_t end) {
      if (symmetric) {
        std::copy(upper + begin, upper + end, r + begin);
        return;
      }
      std::copy(upper + begin, upper + end, c + begin);
      for (size_t a = begin; a < end; ++a) r[a] = A[a * n + k];
    });
  }
  // Four pivots of a chain at a time: the rows above are read and written once for all of them. Every entry sees the
  // same subtractions in the same order as one by one.
  constexpr size_t kTogether = 4;
  for (size_t left = n; left > 0;) {
    const size_t k = left - 1;
    const size_t together = k + 1 - static_cast<size_t>(first_[k]) >= kTogether ? kTogether : 1;
    left -= together;
    for (size_t p = k + 1; p-- > left;) {
      const double* const r = row_.data() + p * n;
      double* const c = column_.data() + p * n;
      if (!(std::abs(r[p]) > 1e-10 * std::abs(A[p * n + p]))) return false;
      const double inverse = inverse_pivot_[p] = 1 / r[p];
      for_each_run(parent_, first_, parent_[p], [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) c[i] = (symmetric ? r[i] : c[i]) * inverse;
      });
      for (size_t i = p; i-- > left;) eliminate<1>(p, i, symmetric);
    }
    for (int i = parent_[left]; i >= 0; i = parent_[static_cast<size_t>(i)])
      together == 1 ? eliminate<1>(k, static_cast<size_t>(i), symmetric)
                    : eliminate<kTogether>(k, static_cast<size_t>(i), symmetric);
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
