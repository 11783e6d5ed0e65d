// The iterated impact laws, in any arithmetic, and the check of every step by the next one.
//
//   y <- y + sum_k lambda_k a_k,  lambda >= 0, of contacts with a_k.y < -eps |y|; scaled to |y_0|    theory (13.5)
//
// Every step is accepted only if, in the arithmetic above, w |c| <= |lambda|_1 / 2 holds of its error c, and the norm
// has not moved. A step that fails is left for a finer arithmetic: iterate() returns `precision` with y before it.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "impact/nnls.h"
#include "impact/precision.h"
#include "impact/sparse_columns.h"
#include "scree/impact.h"

namespace scree {

constexpr double kTheta = 0.5;            // largest w |c_i| / |lambda_i|_1
constexpr double kDelta = 1e-10;          // largest relative change of the norm
constexpr double kReflectionsGain = 1.5;  // smallest |lambda_i|_1 / (eps |y_0|) of reflections; 2 but for residuals

enum class LoopEnd { resolved, budget, precision };

// What a run of a law carries from step to step and from one arithmetic to the next.
struct ReflectionRun {
  ReflectionRun(const SparseColumns& normals, const Eigen::VectorXd& before, int path_capacity)
      : A(normals),
        y0(before),
        norm(before.norm()),
        impulse(Eigen::VectorXd::Zero(normals.columns())),
        path(normals.rows, path_capacity) {}

  const SparseColumns& A;     // unit normals
  const Eigen::VectorXd& y0;  // before the impact, not zero
  double norm;                // |y_0|
  ImpactLaw law = ImpactLaw::reflections;
  double tolerance = 0, tie = 0;
  long max_steps = 0;
  const double* restitution = nullptr;  // of contacts, null: all 1
  double w = 0;                         // of the witness

  bool elastic() const { return restitution == nullptr; }
  // a_k.y below minus this is a violation. A little more than eps |y| whatever y was met, so that theorem P has
  // lambda >= 2 eps |y|.
  double threshold() const { return tolerance * norm * (1 + 4 * kDelta); }

  long steps = 0, redone = 0;
  int last = -1;  // contact of the last step, of gs-cyclic
  double theta = 0, delta = 0, rho = 0, step_error = 0;
  Eigen::VectorXd impulse;  // sums of lambda
  Eigen::MatrixXd path;     // y after steps 1, 2, ...
};

template <class T> class ReflectionLoop {
 public:
  ReflectionLoop(ReflectionRun& run, Array<T>& y) : run_(run), A_(run.A), y_(y) {
    const int d = A_.rows, m = A_.columns();
    next_.resize(d);
    lambda_.resize(m);
    speed_.resize(m);
    wide_.resize(d);
    violated_.reserve(static_cast<size_t>(m));
    if (run.law == ImpactLaw::reflections) {
      right_.resize(d);
      nnls_.reserve(A_.rows, A_.columns());
    }
    for (int j = 0; j < d; ++j) {
      next_[j] = T(run.y0(j));
      square0_ += widened<W>(next_[j]) * widened<W>(next_[j]);
    }
    norm_ = norm_of(y_);
    if constexpr (!std::is_same_v<T, double>) {
      // Normals are unit vectors to double only. A finer arithmetic reflects about them as they are.
      for (int k = 0; k < A_.columns(); ++k) {
        T square(0.0);
        for (int i = A_.start[k]; i < A_.start[k + 1]; ++i) square += T(A_.value[i]) * T(A_.value[i]);
        inverse_square_.push_back(T(1.0) / square);
      }
    }
  }

  LoopEnd iterate() {
    for (;;) {
      find_violated();
      if (violated_.empty()) return LoopEnd::resolved;
      if (run_.steps == run_.max_steps) return LoopEnd::budget;
      reflect();
      if (!check()) return LoopEnd::precision;
      std::swap(y_, next_);
      for (const int k : violated_) run_.impulse(k) += to_double(lambda_[k]);
      if (run_.steps < run_.path.cols())
        for (int j = 0; j < A_.rows; ++j) run_.path(j, run_.steps) = to_double(y_[j]);
      ++run_.steps;
      run_.last = violated_.back();
    }
  }

 private:
  using W = typename Arithmetic<T>::Wide;

  static T norm_of(const Array<T>& x) {
    T sum(0.0);
    for (const T& e : x) sum += e * e;
    return square_root(sum);
  }
  T& speed(int k) { return speed_[k] = A_.dot(k, y_.data()); }

  // Contacts of the step: one by the rule of pairwise laws, all that approach of `reflections`.
  void find_violated() {
    violated_.clear();
    const T limit(-run_.threshold());
    const int m = A_.columns();
    switch (run_.law) {
      case ImpactLaw::gauss_seidel_first:
        for (int k = 0; k < m; ++k)
          if (speed(k) < limit) {
            violated_.push_back(k);
            return;
          }
        return;
      case ImpactLaw::gauss_seidel_cyclic:
        for (int i = 1; i <= m; ++i) {
          const int k = (run_.last + i) % m;
          if (speed(k) < limit) {
            violated_.push_back(k);
            return;
          }
        }
        return;
      case ImpactLaw::gauss_seidel_max: {
        T least = limit;
        bool any = false;
        for (int k = 0; k < m; ++k)
          if (speed(k) < least) least = speed_[k], any = true;
        if (!any) return;
        // of those within the band the lowest index: which one does not hang on rounding
        least *= T(1 - run_.tie);
        for (int k = 0; k < m; ++k)
          if (speed_[k] <= least && speed_[k] < limit) {
            violated_.push_back(k);
            return;
          }
        return;
      }
      default:
        for (int k = 0; k < m; ++k)
          if (speed(k) < limit) violated_.push_back(k);
    }
  }

  void reflect() {
    if (violated_.count() == 1) {
      const int k = violated_[0];
      const double factor = run_.elastic() ? 2 : 1 + run_.restitution[k];
      lambda_[k] = -(speed_[k] * T(factor));
      if constexpr (!std::is_same_v<T, double>) lambda_[k] *= inverse_square_[k];
    } else {
      // minimise |sum lambda_k a_k + 2 y|, lambda >= 0                                                    theory (13.6)
      for (int j = 0; j < A_.rows; ++j) right_[j] = y_[j] * T(-2.0);
      nnls_.solve(A_, violated_.data(), violated_.count(), right_.data(), lambda_.data());
    }
    next_ = y_;
    for (const int k : violated_) A_.add(k, lambda_[k], next_.data());
    if (!run_.elastic()) return;
    const T factor = norm_ / norm_of(next_);
    for (T& e : next_) e *= factor;
  }

  // Errors of the step in the wide arithmetic: c = y_next - y - A lambda, with q = 2 y + A lambda, so that
  // c = y_next + y - q and a_k.q is the residual of the inner problem.                          theory (13.10), (13.14)
  bool check() {
    constexpr double unit = Arithmetic<W>::unit;
    const double d = A_.rows, count = static_cast<double>(violated_.size()), norm = run_.norm;
    for (int j = 0; j < A_.rows; ++j) {
      assign(wide_[j], y_[j]);
      wide_[j] *= W(2.0);
    }
    double impulse = 0;
    for (const int k : violated_) {
      const W lambda = widened<W>(lambda_[k]);
      A_.add(k, lambda, wide_.data());
      impulse += to_double(lambda_[k]);
    }
    impulse *= 1 - (count + 2) * 0x1p-52;
    double rho = 0;
    if (run_.law == ImpactLaw::reflections)
      for (const int k : violated_) {
        const double r = to_double(A_.dot(k, wide_.data()));
        rho = std::max(rho, lambda_[k] > T(0.0) ? std::abs(r) : std::max(0.0, -r));
      }
    W square(0.0);
    double error = 0;
    for (int j = 0; j < A_.rows; ++j) {
      const W next = widened<W>(next_[j]);
      square += next * next;
      const double c = to_double(W(next + widened<W>(y_[j]) - wide_[j]));
      error += c * c;
    }
    // |y|, |y_next| < 1.1 |y_0|, |a_k| < 1.1: every term of c and of a_k.q met at most 2 count + 2 d + 8 roundings
    const double terms = 1.3 * (4 * norm + impulse), rounding = 1.1 * (2 * count + 2 * d + 8) * unit * terms;
    error = std::sqrt(error) * (1 + (d + 8) * 0x1p-52) + rounding + 1e-150;
    rho = (rho * (1 + 0x1p-50) + rounding) / norm;
    const double change = to_double(W((square - square0_) / square0_));
    double delta = 0.5 * std::abs(change) * (1 + std::abs(change)) * (1 + 0x1p-50) + 1.1 * (2 * d + 8) * unit;
    if (!run_.elastic() && change <= 0) delta = 0;  // only growth counts
    const double theta = run_.w * error / impulse * (1 + 0x1p-50);
    const double least =
        run_.law == ImpactLaw::reflections ? kReflectionsGain * run_.tolerance * norm * (1 + kDelta) : 0;
    if (!(theta <= kTheta && delta <= kDelta && impulse >= least && std::isfinite(error))) return false;
    run_.theta = std::max(run_.theta, theta);
    run_.delta = std::max(run_.delta, delta);
    run_.rho = std::max(run_.rho, rho);
    run_.step_error = std::max(run_.step_error, error / norm * (1 + 0x1p-50));
    return true;
  }

  ReflectionRun& run_;
  const SparseColumns& A_;
  Array<T>& y_;
  T norm_{0.0};     // |y| where this arithmetic began: of a finer one, off |y_0| by what coarser ones did
  W square0_{0.0};  // |y_0|^2
  Array<T> next_, lambda_, speed_, right_, inverse_square_;
  Array<W> wide_;
  Array<int> violated_;
  Nnls<T> nnls_;
};

}  // namespace scree
