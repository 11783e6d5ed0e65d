// Convex quadratic program over capped simplices, the inner problem of NMDP.
//
//   minimise  f(w) = 1/2 w.Q w + g.w   subject to  w >= 0  and  sum of w over each block <= 1
//
// A primal active-set method from any w, which may release one constraint of every block at a time. It ends at the
// minimiser up to rounding, after one linear system when the warm start has the right active set. Allocates only when
// the problem grows beyond all before it.
#pragma once

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

class SimplexQp {
 public:
  // Q: n x n, symmetric positive semidefinite, column-major. n = blocks * block_size. w: warm start (any finite
  // numbers, projected first) on entry, solution on exit: w >= 0 exactly, block sums <= 1 up to rounding. Input that
  // is not finite, or whose magnitudes add up to infinity, leaves w as it is and is reported as not converged.
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
  std::vector<double> reduced_, right_, size_;       // equations of an active set; what their diagonal is made of
  std::vector<double> column_;
};

// Nearest point of { w >= 0, sum w <= 1 } to w, in place. A point of the set (up to rounding of the sum) stays as it
// is.
void project_capped_simplex(double* w, int size);

}  // namespace scree
