// A proximal step of the inner problem of NMDP where it has many variables but few dimensions: with hundreds of points
// in the ground a robot still has a few dozen dofs.
//
//   minimise  g.d + 1/2 |A d|^2 + 1/2 sum_b s_b |d_b|^2,  d = w - w0,  over  w >= 0, sum of w over each block <= 1
//
// A has as many rows as the model has dofs. The dual problem has so many unknowns, whatever the number of blocks, and
// is solved by a semismooth Newton method: all constraints may change sides in each of its iterations, of which there
// are some 5 to 20. Of forces that move the bodies alike it takes those nearest to w0.                  theory (8.21)
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>

namespace scree {

struct ProximalQpReport {
  int iterations = 0;  // linear systems solved
  bool converged = false;
};

class ProximalQp {
 public:
  // Of the next problem. Allocates only where it is larger than all before, in a dimension.
  void resize(int dimension, int blocks, int block_size);
  using Columns = Eigen::Map<Eigen::MatrixXd>;
  Columns A() { return {A_.data(), dimension_, variables()}; }
  int variables() const { return blocks_ * size_; }

  // s_b = `shift`. w: w0 on entry, feasible; the minimiser on exit, w >= 0 exactly, block sums <= 1 up to rounding. A d
  // is known within `tolerance`.
  ProximalQpReport solve(const double* g, double shift, double tolerance, double* w);
  // Without s: as `solve` from the minimiser again and again, with smaller and smaller s, until a first-order change of
  // w could lower g.d + 1/2 |A d|^2, d from the first w0, by no more than `small` > 0. The minimum has |A d| <= `size`.
  ProximalQpReport minimise(const double* g, double size, double small, double* w);
  // |A w|^2
  double squared_norm(const double* w);

 private:
  double dual(const double* g, const Eigen::VectorXd& z);
  double gap(const double* g, const double* w) const;
  void find_shifts(double part, double change);
  bool search(const double* g, double& value);
  ProximalQpReport solve(const double* g, double tolerance);

  int dimension_ = 0, blocks_ = 0, size_ = 0;
  Eigen::VectorXd A_;
  Eigen::VectorXd w0_, w_, trial_, slope_, g_;  // by variable
  Eigen::VectorXd shift_, sizes_;               // by block
  Eigen::VectorXd z_, z_trial_, gradient_, gradient_trial_, direction_, mean_, moved_;
  Eigen::MatrixXd columns_, H_;
  Eigen::LLT<Eigen::MatrixXd> factors_;
};

}  // namespace scree
