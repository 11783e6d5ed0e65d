#include "solvers/tree_cholesky.h"

#include <algorithm>

namespace scree {
namespace {

// Calls visit(begin, end) for every run of consecutive numbers among k and its ancestors, nearest first.
template <class Visit>
inline void for_each_run(const std::vector<int>& parent, const std::vector<int>& first, int k, Visit visit) {
  for (int a = k; a >= 0;) {
    const int begin = first[static_cast<size_t>(a)];
    visit(static_cast<size_t>(begin), static_cast<size_t>(a) + 1);
    a = parent[static_cast<size_t>(begin)];
  }
}

}  // namespace

TreeCholesky::TreeCholesky(std::vector<int> parent)
    : parent_(std::move(parent)),
      first_(parent_.size()),
      factor_(parent_.size() * parent_.size()),
      inverse_diagonal_(parent_.size()) {
  for (size_t k = 0; k < parent_.size(); ++k)
    first_[k] = k > 0 && parent_[k] == static_cast<int>(k) - 1 ? first_[k - 1] : static_cast<int>(k);
}

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
