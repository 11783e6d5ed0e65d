// Convex quadratic program over capped simplices, the inner problem of NMDP.
//
//   minimise  f(w) = 1/2 w.Q w + g.w   subject to  w >= 0  and  sum of w over each block <= 1
//
// A primal active-set method from any w, which may release one constraint of every block at a time. It ends at the
// minimiser up to rounding, after one linear system when the warm start has the right active set. Allocates only when
// the problem grows beyond all before it.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace scree {

struct SimplexQpOptions {
  double tolerance = 1e-12;   // >= 0, dimensionless; compared with SimplexQpReport::violation
  int max_iterations = 2000;  // >= 0; few from a good warm start, some n/2 from zero
};

struct SimplexQpReport {
  bool converged = false;
  int iterations = 0;  // linear systems solved, one for each active set tried
  // Largest KKT violation max_b v_b / scale_b over blocks b, recomputed from Q, g and the w returned. Of the gradient
  // y = Q w + g, v_b is the smallest v >= 0 for which some l >= 0, l = 0 unless sum_b w = 1 up to rounding, satisfies
  //   y_j + l >= -v for all j of b,   y_j + l <= v where w_j > 0.
  // scale_b = max_{j of b} |g_j| + sqrt(Q_jj) sum_k sqrt(Q_kk) w_k bounds the terms of y_j, for |Q_jk|^2 <= Q_jj Q_kk.
  double violation = 0;
};

// A symmetric positive semidefinite matrix, n x n. Only columns of variables that have been above 0 are asked for.
class SimplexMatrix {
 public:
  virtual ~SimplexMatrix() = default;
  virtual const double* column(int j) = 0;  // n numbers, valid as long as the matrix is
  virtual double diagonal(int j) const = 0;
  virtual bool usable() const = 0;  // finite, and so are sums of its entries
};

// Numbers that cost memory only where something has been written: of n x n matrices little is.
class LazyArray {
 public:
  void reserve(std::size_t count) {
    if (count > size_) data_ = std::make_unique_for_overwrite<double[]>(count), size_ = count;
  }
  double* data() { return data_.get(); }

 private:
  std::unique_ptr<double[]> data_;
  std::size_t size_ = 0;
};

// Q = E^T S E + shift: S of `rank` rows a block, symmetric; E block diagonal, with `size` columns of `rank` numbers a
// block, as where block b gives forces, the columns of E_b are the vertices of a polytope and S is what a quadratic
// model knows of forces. A column costs size blocks rank products, found when first asked for, so the price of vertices
// that no force needs is that of their gradient. Allocates only when it grows beyond all before.
class FactoredMatrix final : public SimplexMatrix {
 public:
  // The caller fills S and the E of all blocks, then calls update().
  void resize(int blocks, int size, int rank);
  double* S() { return S_.data(); }                                   // column-major, blocks * rank rows
  double* E(int block) { return E_.data() + block * size_ * rank_; }  // column-major, rank rows
  void update(double shift_of_largest);  // shift: that part of the largest diagonal entry of E^T S E

  const double* column(int j) override;
  double diagonal(int j) const override { return diagonal_[static_cast<std::size_t>(j)]; }
  bool usable() const override;
  void add_product(const double* w, double* out);  // out += Q w

 private:
  int blocks_ = 0, size_ = 0, rank_ = 0, n_ = 0;
  std::vector<double> S_, E_, diagonal_, product_;
  LazyArray columns_;
  std::vector<char> known_;
};

class SimplexQp {
 public:
  // n = blocks * block_size. w: warm start (any finite numbers, projected first) on entry, solution on exit: w >= 0
  // exactly, block sums <= 1 up to rounding. Input that is not finite, or whose magnitudes add up to infinity, leaves w
  // as it is and is reported as not converged.
  SimplexQpReport solve(int blocks, int block_size, SimplexMatrix& Q, const double* g, double* w,
                        const SimplexQpOptions& options = {});
  // Q: column-major.
  SimplexQpReport solve(int blocks, int block_size, const double* Q, const double* g, double* w,
                        const SimplexQpOptions& options = {});

 private:
  struct Problem;
  void reserve(int blocks, int n);
  void start(const Problem& problem, double* w);
  double check(const Problem& problem, const double* w);
  bool release(const Problem& problem, const double* w, double tolerance);
  bool find_direction(const Problem& problem, const double* w);
  bool advance(const Problem& problem, double* w);

  std::vector<double> gradient_, root_, direction_;  // of variable j: y_j, sqrt(Q_jj), d_j
  std::vector<char> free_;                           // of variable j: not held at 0
  std::vector<double> scale_;                        // of block b
  std::vector<char> tight_;                          // of block b: held at sum 1
  std::vector<int> pivot_;                           // of block b: the variable its sum determines, -1 if not tight
  std::vector<int> variable_;                        // of reduced variable i
  std::vector<double> right_, size_;                 // equations of an active set; what their diagonal is made of
  LazyArray reduced_;                                // their matrix
};

// Nearest point of { w >= 0, sum w <= 1 } to w, in place. A point of the set (up to rounding of the sum) stays as it
// is.
void project_capped_simplex(double* w, int size);

}  // namespace scree
