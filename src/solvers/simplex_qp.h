// Convex quadratic program over capped simplices, the inner problem of NMDP.                          theory (8.9)
//
//   minimise  1/2 w.Q w + g.w   subject to  w >= 0  and  sum of w over each block <= 1
//
// Accelerated projected gradient with restart (the projection onto a capped simplex is closed form) finds the active
// set; solving the equations of that set finishes. Allocates only when the problem grows beyond all before it.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <vector>

namespace scree {

struct SimplexQpOptions {
  double tolerance = 1e-12;  // of the largest KKT violation, relative to the size of the gradient's terms
  int max_iterations = 2000;
};

struct SimplexQpReport {
  bool converged = false;
  int iterations = 0;    // of the projected gradient method
  int polishes = 0;      // linear systems solved for an active set
  double violation = 0;  // largest KKT violation, recomputed from Q, g and the w returned; same scale as `tolerance`
};

class SimplexQp {
 public:
  // Q: n x n, symmetric positive semidefinite, column-major. n = blocks * block_size. w: warm start (any finite
  // numbers, projected first) on entry, solution on exit, feasible exactly up to rounding.
  SimplexQpReport solve(int blocks, int block_size, const double* Q, const double* g, double* w,
                        const SimplexQpOptions& options = {});

 private:
  void reserve(int n);
  int capacity_ = 0;
  Eigen::VectorXd gradient_, point_, next_, momentum_, step_;
  Eigen::MatrixXd reduced_;
  Eigen::LLT<Eigen::MatrixXd> factor_;
  std::vector<int> free_;
};

// Nearest point of { w >= 0, sum w <= 1 } to w, in place.
void project_capped_simplex(double* w, int size);

}  // namespace scree
