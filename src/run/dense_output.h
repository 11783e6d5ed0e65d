// The motion between the ends of one step: the cubic Hermite curve through positions and velocities at both.
//
//   x(s) = x0 + (3 s^2 - 2 s^3) (x1 - x0) + h (s - 2 s^2 + s^3) v0 + h (s^3 - s^2) v1,   s = (t - t0) / h
//
// for every coordinate that is a vector, velocities are its derivative. Its error is at most h^4/384 |x''''|, that of
// the velocity h^3/(72 sqrt 3) |x''''|. Rotations of ball and floating joints are R0 exp([w(s)]x) with such a curve w
// in the exponential chart at the start: w0 = 0, w1 = log(R0^T R1), and their rates from w_B = J(w)^T dw/dt,
// theory section 1.
#pragma once

#include <vector>

#include "model/tree.h"
#include "scree/state.h"

namespace scree {

class DenseOutput {
 public:
  explicit DenseOutput(const Model& model);             // refers to the model
  void set_step(const State& start, const State& end);  // end.time > start.time
  // Time, q and v at a time of the step; at its ends those of its ends, bit for bit.
  void sample(double time, State& out) const;

 private:
  const Tree& tree_;
  double start_time_ = 0, end_time_ = 0;
  Eigen::VectorXd q0_, q1_, v0_, v1_;
  Eigen::VectorXd change_, rate0_, rate1_;  // of the coordinates: x1 - x0 or w1, and their rates at both ends
};

}  // namespace scree
