// With z in place of A d the dual function to be minimised is
//
//   phi(z) = 1/2 |z|^2 - min over feasible w of (g + A^T z).d + 1/2 sum_b s_b |d_b|^2,
//
// convex, once differentiable, with the minimiser w(z), the projection of w0 - (g + A^T z)/s, block by block, and
//
//   phi' = z - A (w(z) - w0),    phi'' = 1 + sum_b A_b D_b A_b^T / s_b,
//
// D_b the projector onto the face that w_b(z) is inside of: identity on the positive ones, less their mean where their
// sum is 1. phi'' >= 1, so that Newton's method with a line search ends.                     theory (8.21), (8.22)
#include "solvers/proximal_qp.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "solvers/simplex_qp.h"

namespace scree {
namespace {

constexpr int kMostIterations = 60;
constexpr int kMostTries = 40;  // along a line
constexpr int kMostRounds = 12;
constexpr double kChange = 0.1;
constexpr double kPart = 0.1;      // of what may be left, that Newton's method may leave
constexpr double kProgress = 0.9;  // of what is left, and
constexpr double kDigits = 1e-9;   // of the motion: where neither of them changes by as much, it is rounding
constexpr double kSmall = 1e-13;   // of z: all that is left of phi' is rounding
constexpr double kFirst = 0.1, kShrink = 0.1,
                 kLeast = 1e-6;   // of |a|^2; at least: weights are that times the digits of g
constexpr double kTight = 1e-12;  // of a sum that is 1

void grow(Eigen::VectorXd& x, Eigen::Index size) {
  if (x.size() < size) x.resize(size);
}

}  // namespace

void ProximalQp::resize(int dimension, int blocks, int block_size) {
  dimension_ = dimension, blocks_ = blocks, size_ = block_size;
  const Eigen::Index n = variables();
  grow(A_, dimension * n);
  for (Eigen::VectorXd* x : {&w0_, &w_, &trial_, &slope_, &g_}) grow(*x, n);
  for (Eigen::VectorXd* x : {&shift_, &sizes_}) grow(*x, blocks);
  if (columns_.rows() == dimension && columns_.cols() >= block_size) return;
  for (Eigen::VectorXd* x : {&z_, &z_trial_, &gradient_, &gradient_trial_, &direction_, &mean_, &moved_})
    x->resize(dimension);
  columns_.resize(dimension, block_size);
  H_.resize(dimension, dimension);
  factors_ = Eigen::LLT<Eigen::MatrixXd>(dimension);
}

double ProximalQp::squared_norm(const double* w) {
  mean_.noalias() = A().lazyProduct(Eigen::Map<const Eigen::VectorXd>(w, variables()));
  return mean_.squaredNorm();
}

// Of a block with columns of the size a: s = a max(part a, change), where `change` is how much A d is to change. While
// z changes as much, the weights of a weak block go from none to all, and those of one that could do much more than is
// needed by what is needed, over `part`. Far less, and Newton's method learns nothing from one side of that about the
// other; far more, and d is held back.
void ProximalQp::find_shifts(double part, double change) {
  double largest = 0;
  for (int b = 0; b < blocks_; ++b) {
    shift_(b) = sizes_(b) * std::max(part * sizes_(b), change);
    largest = std::max(largest, shift_(b));
  }
  // A point that barely touches has next to no force.
  const double least = std::max(1e-12 * largest, std::numeric_limits<double>::min());
  for (int b = 0; b < blocks_; ++b) shift_(b) = std::max(shift_(b), least);
}

// By how much a first-order change of w could lower what has the slope g.
double ProximalQp::gap(const double* g, const double* w) const {
  double sum = 0;
  for (int b = 0; b < blocks_; ++b, g += size_, w += size_) {
    double product = 0, least = 0;
    for (int j = 0; j < size_; ++j) product += g[j] * w[j], least = std::min(least, g[j]);
    sum += product - least;
  }
  return sum;
}

// phi(z); its minimiser into trial_, phi' into gradient_trial_.
double ProximalQp::dual(const double* g, const Eigen::VectorXd& z) {
  const auto a = A();
  gradient_trial_ = z;
  double value = 0.5 * z.squaredNorm();
  for (int b = 0; b < blocks_; ++b) {
    const Eigen::Index first = Eigen::Index{b} * size_;
    double* const w = trial_.data() + first;
    const double inverse = 1 / shift_(b);
    for (int j = 0; j < size_; ++j) {
      slope_(first + j) = g[first + j] + a.col(first + j).dot(z);
      w[j] = w0_(first + j) - slope_(first + j) * inverse;
    }
    project_capped_simplex(w, size_);
    for (int j = 0; j < size_; ++j) {
      const double d = w[j] - w0_(first + j);
      if (d == 0) continue;
      value -= slope_(first + j) * d + 0.5 * shift_(b) * d * d;
      gradient_trial_ -= d * a.col(first + j);
    }
  }
  return value;
}

// Along direction_ from z_: phi lower and into `value`, the rest as `dual` leaves it. The slope of phi grows along the
// line, by orders of magnitude where weights leave their bounds, so that its zero is looked for: regula falsi, with the
// value of a side halved that has stayed twice. False: rounding is all that is left.
bool ProximalQp::search(const double* g, double& value) {
  const double slope = gradient_.dot(direction_);
  double low = 0, high = 1, below = slope, above = 0, t = 1;
  bool last_short = false;
  for (int k = 0; k < kMostTries; ++k) {
    z_trial_ = z_ + t * direction_;
    const double trial = dual(g, z_trial_), here = gradient_trial_.dot(direction_);
    // phi knows sixteen digits, its slope as many of itself.
    const bool lower = trial <= value + 1e-4 * t * slope, flat = std::abs(here) <= -0.3 * slope;
    if ((lower && (flat || t == 1)) || std::abs(here) <= -1e-3 * slope) {
      value = trial;
      return true;
    }
    const bool short_of_it = here < 0;
    if (short_of_it && t == 1) return false;
    if (short_of_it) {
      low = t, below = here;
      if (k > 0 && last_short) above *= 0.5;
    } else {
      high = t, above = here;
      if (k > 0 && !last_short) below *= 0.5;
    }
    last_short = short_of_it;
    const double next = low - below * (high - low) / (above - below);
    t = next > low && next < high ? next : 0.5 * (low + high);
  }
  return false;
}

// From w0_ into w_, until |phi'| is at most `tolerance`.
ProximalQpReport ProximalQp::solve(const double* g, double tolerance) {
  ProximalQpReport report;
  const auto a = A();
  z_.setZero();
  double value = dual(g, z_);
  w_.swap(trial_);
  gradient_.swap(gradient_trial_);
  for (;; ++report.iterations) {
    const double size = gradient_.norm();
    report.converged = size <= std::max(tolerance, kSmall * z_.norm());
    if (report.converged || report.iterations == kMostIterations || !std::isfinite(size)) break;

    H_.setIdentity();
    for (int b = 0; b < blocks_; ++b) {
      const Eigen::Index first = Eigen::Index{b} * size_;
      const auto w = w_.segment(first, size_);
      int free = 0;
      mean_.setZero();
      for (int j = 0; j < size_; ++j) {
        if (!(w(j) > 0)) continue;
        columns_.col(free++) = a.col(first + j);
        mean_ += a.col(first + j);
      }
      if (free == 0) continue;
      if (w.sum() > 1 - kTight) {
        if (free == 1) continue;
        mean_ /= free;
        columns_.leftCols(free).colwise() -= mean_;
      }
      const double inverse = 1 / shift_(b);
      for (int j = 0; j < free; ++j)
        for (Eigen::Index c = 0; c < dimension_; ++c) {
          const double factor = inverse * columns_(c, j);
          if (factor != 0) H_.col(c).tail(dimension_ - c) += factor * columns_.col(j).tail(dimension_ - c);
        }
    }
    factors_.compute(H_);
    if (factors_.info() != Eigen::Success) break;
    direction_ = -gradient_;
    factors_.solveInPlace(direction_);
    if (direction_.norm() <= kSmall * z_.norm()) {  // phi' is what rounding of z is enlarged to by 1/s
      report.converged = true;
      break;
    }
    if (!search(g, value)) break;
    z_.swap(z_trial_);
    w_.swap(trial_);
    gradient_.swap(gradient_trial_);
  }
  return report;
}

ProximalQpReport ProximalQp::solve(const double* g, double shift, double tolerance, double* w) {
  shift_.head(blocks_).setConstant(shift);
  Eigen::Map<Eigen::VectorXd> weights(w, variables());
  w0_.head(variables()) = weights;
  const ProximalQpReport report = solve(g, tolerance);
  weights = w_.head(variables());
  return report;
}

ProximalQpReport ProximalQp::minimise(const double* g, double size, double small, double* w) {
  const auto a = A();
  const Eigen::Index n = variables();
  Eigen::Map<Eigen::VectorXd> weights(w, n);
  for (int b = 0; b < blocks_; ++b)
    sizes_(b) = std::sqrt(a.middleCols(Eigen::Index{b} * size_, size_).colwise().squaredNorm().maxCoeff());
  g_.head(n) = Eigen::Map<const Eigen::VectorXd>(g, n);
  ProximalQpReport report;
  double left = gap(g, w), part = kFirst;
  for (int round = 0;; ++round, part = std::max(kLeast, kShrink * part)) {
    report.converged = left <= small;
    if (report.converged || round == kMostRounds) break;
    find_shifts(part, kChange * std::min(std::sqrt(2 * left), size));
    w0_.head(n) = weights;
    report.iterations += solve(g_.data(), kPart * small / size).iterations;
    moved_.setZero();
    double slope = 0;
    for (Eigen::Index j = 0; j < n; ++j)
      if (const double d = w_(j) - w0_(j); d != 0) moved_ += d * a.col(j), slope += d * g_(j);
    // The best on the way there: all of it, unless the search has failed.
    const double share = slope < 0 ? std::min(1.0, -slope / moved_.squaredNorm()) : 0;
    weights += share * (w_.head(n) - weights);
    g_.head(n).noalias() += share * a.transpose().lazyProduct(moved_);
    const double before = left;
    left = gap(g_.data(), w);
    if (!(left < kProgress * before) && !(share * moved_.norm() > kDigits * size)) {
      report.converged = left <= small;
      break;
    }
  }
  return report;
}

}  // namespace scree
