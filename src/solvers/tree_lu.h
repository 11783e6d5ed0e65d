// LU factorisation of matrices with the sparsity of a kinematic tree that need not be symmetric: A_ab != 0 only if one
// dof is an ancestor of the other. Eliminating leaves first fills in nothing, as in TreeCholesky. Without pivoting:
// meant for matrices whose symmetric part is near positive definite; a pivot that cancels is reported.
#pragma once

#include <cstddef>
#include <vector>

namespace scree {

class TreeLu {
 public:
  // parent[k] < k is the dof before k on the way to the root, -1 for none.
  explicit TreeLu(std::vector<int> parent);

  // A: column-major, n x n; entries of different branches are not looked at. False: a pivot lost all but 1e-10 of its
  // diagonal entry, and the factors are not to be used.
  [[nodiscard]] bool factor(const double* A) { return factor(A, false); }
  // The same with half the products; looks at the upper triangle only.
  [[nodiscard]] bool factor_symmetric(const double* upper) { return factor(upper, true); }
  void solve(double* x) const { solve(x, 1); }  // x <- A^-1 x
  // The same for `count` right-hand sides, row-major: row k of X holds entry k of all of them.
  void solve(double* X, int count) const;

  long products() const { return products_; }  // of all factorisations so far, as a measure of work

 private:
  bool factor(const double* A, bool symmetric);
  template <int count> void eliminate(size_t k, size_t i, bool symmetric);

  std::vector<int> parent_;
  std::vector<int> first_;            // the ancestors first_[k] .. k are consecutive numbers
  std::vector<double> row_, column_;  // [k n + a] for ancestors a of k: A_ka, and A_ak (after factor: over its pivot)
  std::vector<double> inverse_pivot_;
  long products_ = 0;
};

}  // namespace scree
