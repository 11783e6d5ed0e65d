#include "solvers/tree_cholesky.h"

#include <algorithm>

#include "solvers/tree_runs.h"

namespace scree {

TreeCholesky::TreeCholesky(std::vector<int> parent)
    : parent_(std::move(parent)),
      first_(first_of_runs(parent_)),
      factor_(parent_.size() * parent_.size()),
      inverse_diagonal_(parent_.size()) {}

bool TreeCholesky::factor(const double* upper) {
  const size_t n = parent_.size();
  double* const L = factor_.data();
  for (size_t k = 0; k < n; ++k)
    for_each_run(parent_, first_, static_cast<int>(k), [&](size_t begin, size_t end) {
      std::copy(upper + k * n + begin, upper + k * n + end, L + k * n + begin);
    });
  for (size_t k = n; k-- > 0;) {
    double* const row = L + k * n;
    if (!(row[k] > 1e-13 * upper[k * n + k])) return false;
    const double scale = inverse_diagonal_[k] = 1 / std::sqrt(row[k]);
    for_each_run(parent_, first_, parent_[k], [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) row[i] *= scale;
    });
    // H_ij -= L_ki L_kj for ancestors j <= i < k
    for (int i = parent_[k]; i >= 0; i = parent_[static_cast<size_t>(i)]) {
      const double factor = row[i];
      double* const target = L + static_cast<size_t>(i) * n;
      for_each_run(parent_, first_, i, [&](size_t begin, size_t end) {
        for (size_t j = begin; j < end; ++j) target[j] -= factor * row[j];
        products_ += static_cast<long>(end - begin);
      });
    }
  }
  return true;
}

void TreeCholesky::solve(double* x) const {
  const size_t n = parent_.size();
  const double* const L = factor_.data();
  for (size_t k = n; k-- > 0;) {  // L^T y = x
    const double y = x[k] *= inverse_diagonal_[k];
    for_each_run(parent_, first_, parent_[k], [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) x[i] -= L[k * n + i] * y;
    });
  }
  for (size_t k = 0; k < n; ++k) {  // L x = y
    double sum = x[k];
    for_each_run(parent_, first_, parent_[k], [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) sum -= L[k * n + i] * x[i];
    });
    x[k] = sum * inverse_diagonal_[k];
  }
}

}  // namespace scree
