// Cholesky factorisation of matrices with the sparsity of a kinematic tree: H_ab != 0 only if one dof is an ancestor of
// the other. Eliminating leaves first, H = L^T L fills in nothing: O(n x depth^2) [Featherstone 2008, section 6.5].
// No library offers this; a dense factorisation of a 34-dof quadruped does five times the work.
#pragma once

#include <cmath>
#include <vector>

namespace scree {

class TreeCholesky {
 public:
  // parent[k] < k is the dof before k on the way to the root, -1 for none.
  explicit TreeCholesky(std::vector<int> parent);

  // Factors the matrix whose upper triangle is `upper` (column-major, leading dimension n). False if it is not
  // numerically positive definite: a pivot lost all but 1e-13 of its diagonal entry.
  [[nodiscard]] bool factor(const double* upper);
  void solve(double* x) const;                 // x <- H^-1 x, after a successful factor()
  long products() const { return products_; }  // of all factorisations so far, as a measure of work

 private:
  std::vector<int> parent_;
  std::vector<int> first_;      // the ancestors first_[k] .. k are consecutive numbers
  std::vector<double> factor_;  // column k: row k of L
  std::vector<double> inverse_diagonal_;
  long products_ = 0;
};

}  // namespace scree
