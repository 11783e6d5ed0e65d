#include "solvers/lcp.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>

namespace scree {
namespace {

// All numbers of the dictionary are of order one at the start.
constexpr double kPivot = 1e-11;  // entries below that part of their column's largest are rounding
// Basic variables that reach zero within this of each other tie, and z_0 below it is zero: rounding of a hundred pivots
// between matrices of condition 1e8. Every further try takes a hundred times that. Of random friction problems with
// such inertias 2 % fail with 1e-12 and three tries, 0.6 % with 1e-10; so none of 20000 did, 1.3 % needed a second try.
constexpr double kTie = 1e-10;
constexpr double kShare = 1e-12;  // of the inverse of the basis
constexpr int kSweeps = 6;
constexpr double kNearOne = 16;  // entries within this factor of one need no scaling
constexpr int kRefinements = 4;
constexpr double kExact = 1e-15;    // residuals are rounding
constexpr double kLargest = 1e100;  // entries beyond that are no numbers to compute with
constexpr double kPreciseZeros[] = {1e-21, 1e-17, 1e-15, 1e-13};
constexpr int kActiveSets = 12;  // that are tried
constexpr double kActiveTolerance = 1e-14;
constexpr int kPatience = 3;  // of them without getting nearer

double or_one(double size) { return size > 0 ? size : 1; }

// A power of two near 1/sqrt(size): scaling by it rounds nothing.
double inverse_root(double size) {
  int exponent = 0;
  std::frexp(size, &exponent);
  return size > 0 ? std::ldexp(1.0, -exponent / 2) : 1;
}

LcpMatrix view(const Eigen::Ref<const Eigen::MatrixXd>& M) {
  return {M.data(), M.outerStride(), static_cast<int>(M.rows())};
}

}  // namespace

const char* lcp_status_name(LcpStatus status) {
  constexpr const char* kNames[] = {"solved", "ray", "iteration limit", "numerical failure"};
  return kNames[static_cast<int>(status)];
}

double lcp_residual(const Eigen::Ref<const Eigen::MatrixXd>& M, const Eigen::Ref<const Eigen::VectorXd>& q,
                    const Eigen::Ref<const Eigen::VectorXd>& z, double& scale) {
  const LcpKernels& kernels = lcp_kernels();
  const double m = kernels.largest(view(M));
  return kernels.residual(view(M), q.data(), z.data(), m > 0 ? m : m + 1, scale);
}

void Lemke::reserve(int n) {
  if (w_.size() >= n) return;
  storage_.resize(static_cast<size_t>(lcp_padded(n)) * static_cast<size_t>(n + 2) + kLcpLane);
  table_ = storage_.data();
  while (reinterpret_cast<std::uintptr_t>(table_) % (kLcpLane * sizeof(double)) != 0) ++table_;
  for (Eigen::VectorXd* x : {&refined_, &w_, &row_scale_, &column_scale_}) x->resize(lcp_padded(n));
  basic_.resize(n);
  nonbasic_.resize(n + 1);
  row_.resize(2 * n + 1);
  place_.resize(2 * n + 1);
  ties_.reserve(static_cast<size_t>(n));
  precise_.reserve(n);
}

// Rows and columns are scaled until their largest entries are near 1 (Ruiz 2001): w_i and z_j are measured in other
// units, which changes no complementarity. False: numbers that are not finite, or too large.
bool Lemke::equilibrate(const LcpMatrix& M, const double* q) {
  double *r = row_scale_.data(), *c = column_scale_.data(), *by_row = w_.data(), *by_column = refined_.data();
  for (int i = 0; i < n_; ++i) r[i] = c[i] = 1;
  const auto far = [](double size) { return size > 0 && (size > kNearOne || size < 1 / kNearOne); };
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    if (!kernels_.measure(M, r, c, by_row, by_column)) return false;
    if (sweep == 0) {
      size_M_ = 0;
      for (int i = 0; i < n_; ++i) size_M_ = std::max(size_M_, by_row[i]);
      if (size_M_ > kLargest) return false;
      size_M_ = or_one(size_M_);
    }
    bool done = true;
    for (int i = 0; i < n_; ++i) done = done && !far(by_row[i]) && !far(by_column[i]);
    if (done) break;
    for (int i = 0; i < n_; ++i) {
      r[i] *= inverse_root(by_row[i]);
      c[i] *= inverse_root(by_column[i]);
    }
  }
  double size = 0;
  for (int i = 0; i < n_; ++i) {
    if (!(std::abs(q[i]) <= kLargest)) return false;
    size = std::max(size, std::abs(r[i] * q[i]));
  }
  size_q_ = size > 0 ? 1 / (inverse_root(size) * inverse_root(size)) : 1;
  return true;
}

// w = q + M z + d z_0 with all of z, z_0 at zero. The covering vector d is (1, ..., 1) or what was asked for at first,
// then any other.
void Lemke::start(const LcpMatrix& M, const double* q, int attempt, const double* covering) {
  tie_ = attempt == 0 ? kTie : 100 * tie_;
  kernels_.load(M, row_scale_.data(), column_scale_.data(), table_, stride_);
  double* d = column(n_);
  b_ = column(n_ + 1);
  for (int i = n_; i < stride_; ++i) d[i] = b_[i] = 0;
  for (int i = 0; i < n_; ++i) {
    b_[i] = row_scale_(i) * q[i] / size_q_;
    d[i] = covering ? row_scale_(i) * covering[i] : 1;
    if (attempt > 0) d[i] = 0.5 + std::fmod(0.618033988749895 * attempt * (i + 1), 1.0);  // evenly in [0.5, 1.5)
    basic_(i) = row_(i) = i;
    row_(n_ + i) = -1;
    nonbasic_(i) = n_ + i;
    place_(n_ + i) = i;
  }
  row_(2 * n_) = -1;
  nonbasic_(n_) = 2 * n_;
  place_(2 * n_) = n_;
}

// Exchanges the basic variable of a row with that of a column, in place: n^2 multiplications, less where the row is
// sparse.
void Lemke::pivot(int row, int entering) {
  kernels_.pivot(table_, n_ + 2, stride_, row, entering);
  const int leaves = basic_(row), enters = nonbasic_(entering);
  basic_(row) = enters;
  nonbasic_(entering) = leaves;
  row_(enters) = row;
  row_(leaves) = -1;
  place_(leaves) = entering;
}

// The basic variable that reaches zero first while the entering one grows; -1: none does. Ties are broken as if q_j
// were q_j + epsilon^(j+1): by the rows of the inverse of the basis. Its column j = d x_B/d q_j is minus that of w_j in
// the dictionary, or a unit vector while w_j is basic.
int Lemke::leaving_row(int entering) {
  const double* c = column(entering);
  double least = 0;
  const double limit = kernels_.limit(c, b_, stride_, tie_, kPivot, least);
  const int z0 = row_(2 * n_);
  if (b_[z0] <= tie_ && std::abs(c[z0]) > least) return z0;  // a solution
  const auto ties = [&](int i) { return c[i] < -least && std::max(0.0, b_[i]) <= -limit * c[i]; };
  if (ties(z0)) return z0;  // likewise
  ties_.clear();
  for (int i = 0; i < n_; ++i)
    if (ties(i)) ties_.push_back(i);
  for (int j = 0; j < n_ && ties_.size() > 1; ++j) {
    const int at = row_(j);
    const double* w = at < 0 ? column(place_(j)) : nullptr;
    const auto share = [&](int i) { return (w ? -w[i] : i == at ? 1.0 : 0.0) / -c[i]; };
    double smallest = std::numeric_limits<double>::infinity();
    for (const int i : ties_) smallest = std::min(smallest, share(i));
    const double bound = smallest + kShare * std::max(1.0, std::abs(smallest));
    std::erase_if(ties_, [&](int i) { return share(i) > bound; });
  }
  return ties_.empty() ? -1 : ties_.front();
}

LcpStatus Lemke::run(int max_pivots, int& pivots) {
  // z_0 enters until all of w is >= 0; among equals the last one leaves, the smallest of the perturbed ones.
  int row = 0;
  double lowest = std::numeric_limits<double>::infinity();
  const double* d = column(n_);
  for (int i = 0; i < n_; ++i) {
    const double ratio = b_[i] / d[i];
    if (ratio <= lowest) lowest = ratio, row = i;
  }
  if (lowest >= 0) return LcpStatus::solved;  // q >= 0: z = 0
  int entering = n_;
  for (int done = 0;; ++done) {
    if (done == max_pivots) return LcpStatus::iteration_limit;
    const int leaves = basic_(row);
    pivot(row, entering);
    ++pivots;
    if (leaves == 2 * n_) return LcpStatus::solved;
    entering = place_(leaves < n_ ? leaves + n_ : leaves - n_);  // the complement of what left
    row = leaving_row(entering);
    if (row < 0) return b_[row_(2 * n_)] <= tie_ ? LcpStatus::solved : LcpStatus::ray;
  }
}

// z of the dictionary; then rounding of the pivots is taken out again: of the w_j that should be zero, M z + q computed
// anew is the error, and the dictionary says how z depends on them.
void Lemke::read_solution(const LcpMatrix& M, const double* q, double* z, LcpReport& report) {
  const auto is_z = [&](int i) { return basic_(i) >= n_ && basic_(i) < 2 * n_; };
  for (int i = 0; i < n_; ++i)
    if (is_z(i)) z[basic_(i) - n_] = column_scale_(basic_(i) - n_) * size_q_ * std::max(0.0, b_[i]);
  report.residual = kernels_.residual(M, q, z, size_M_, report.scale) / or_one(report.scale);
  double *finer = refined_.data(), *w = w_.data();
  for (int k = 0; k < kRefinements && report.residual > kExact; ++k) {
    for (int i = 0; i < n_; ++i) w[i] = q[i], finer[i] = z[i];
    for (int j = 0; j < n_; ++j) {
      const double* m = M.column(j);
      for (int i = 0; i < n_ && z[j] != 0; ++i) w[i] += m[i] * z[j];
    }
    for (int j = 0; j < n_; ++j) {
      if (row_(j) >= 0) continue;
      const double* c = column(place_(j));
      const double error = row_scale_(j) * w[j];
      for (int i = 0; i < n_; ++i)
        if (is_z(i)) finer[basic_(i) - n_] -= column_scale_(basic_(i) - n_) * c[i] * error;
    }
    for (int i = 0; i < n_; ++i) finer[i] = std::max(0.0, finer[i]);
    double scale = 0;
    const double residual = kernels_.residual(M, q, finer, size_M_, scale) / or_one(scale);
    if (!(residual < report.residual)) break;
    std::copy_n(finer, n_, z);
    report.residual = residual;
    report.scale = scale;
  }
}

// Block principal pivoting, theory (12.9) (Kostreva 1978; Judice and Pires 1994): F, the set of i with z_i > 0, starts
// as that of q_i < 0; solve M_FF z_F = -q_F, then all z_i < 0 leave and all w_i < 0 enter, until none is, or the number
// of them has not fallen for a while. For symmetric positive semidefinite M, of which Cholesky's decomposition uses one
// half; what it makes of others does not pass the check of the residual.
bool Lemke::solve_active_sets(const LcpMatrix& M, const double* q, double* z, double tolerance, LcpReport& report) {
  for (int i = 0; i < n_; ++i) {
    if (!(M.column(i)[i] > 0 && std::abs(q[i]) <= kLargest)) return false;
    const double a = M.column(0)[i], b = M.column(i)[0];
    if (!(std::abs(a - b) <= 1e-12 * (std::abs(a) + std::abs(b)))) return false;
  }
  int *F = basic_.data(), *in = row_.data();
  double *w = w_.data(), *out = row_scale_.data(), *some = refined_.data();
  for (int i = 0; i < n_; ++i) in[i] = q[i] < 0;
  int fewest = n_ + 1, patience = kPatience;
  for (int k = 0; k < kActiveSets; ++k) {
    int size = 0;
    for (int i = 0; i < n_; ++i)
      if (in[i]) F[size++] = i;
    kernels_.solve_active(M, q, F, size, table_, out, some, w);
    ++report.iterations;
    int wrong = 0;
    for (int t = 0; t < size; ++t) {
      if (some[t] < 0) in[F[t]] = 0, ++wrong;
      w[F[t]] = 0;
    }
    for (int i = 0; i < n_; ++i)
      if (w[i] < 0) in[i] = 1, ++wrong;
    if (wrong == 0) {
      for (int t = 0; t < size; ++t) z[F[t]] = some[t];
      size_M_ = kernels_.largest(M);
      report.residual = kernels_.residual(M, q, z, size_M_, report.scale) / or_one(report.scale);
      if (report.residual <= tolerance && size_M_ <= kLargest) return true;
      break;
    }
    if (wrong < fewest)
      fewest = wrong, patience = kPatience;
    else if (--patience == 0)
      break;
  }
  for (int i = 0; i < n_; ++i) z[i] = 0;
  return false;
}

LcpReport Lemke::solve(const Eigen::Ref<const Eigen::MatrixXd>& M, const Eigen::Ref<const Eigen::VectorXd>& q,
                       Eigen::Ref<Eigen::VectorXd> z, const LcpOptions& options) {
  assert(M.rows() == q.size() && M.cols() == q.size() && z.size() == q.size());
  LcpReport report;
  n_ = static_cast<int>(q.size());
  stride_ = lcp_padded(n_);
  z.setZero();
  if (n_ == 0) {
    report.status = LcpStatus::solved;
    report.residual = 0;
    return report;
  }
  reserve(n_);
  const LcpMatrix matrix = view(M);
  if (options.active_sets && !options.covering &&
      solve_active_sets(matrix, q.data(), z.data(), std::min(kActiveTolerance, options.tolerance), report)) {
    report.status = LcpStatus::solved;
    return report;
  }
  if (!equilibrate(matrix, q.data())) return report;
  const int max_pivots = options.max_pivots > 0 ? options.max_pivots : 100 + 20 * n_;
  for (int attempt = 0; attempt <= options.restarts; ++attempt) {
    start(matrix, q.data(), attempt, options.covering);
    report.status = run(max_pivots, report.iterations);
    ++report.tries;
    z.setZero();
    if (report.status == LcpStatus::solved) {
      read_solution(matrix, q.data(), z.data(), report);
      if (report.residual <= options.tolerance) return report;
      report.status = LcpStatus::numerical_failure;
    } else {
      report.residual = kernels_.residual(matrix, q.data(), z.data(), size_M_, report.scale) / or_one(report.scale);
    }
  }
  if (options.precise) solve_precisely(matrix, q.data(), z.data(), options, max_pivots, report);
  return report;
}

// With twice the digits. Data that are singular but for their rounding, of twin contacts for example, may make a
// problem that has no solution unless that rounding is zero, too.
void Lemke::solve_precisely(const LcpMatrix& M, const double* q, double* z, const LcpOptions& options, int max_pivots,
                            LcpReport& report) {
  double* d = w_.data();
  for (int i = 0; i < n_; ++i) d[i] = options.covering ? options.covering[i] : 1;
  for (const double zero : kPreciseZeros) {
    ++report.tries;
    precise_.start(n_);
    for (int j = 0; j < n_; ++j) {
      for (int i = 0; i < n_; ++i) precise_.M(i, j) = M.column(j)[i] * row_scale_(i) * column_scale_(j);
      precise_.q(j) = row_scale_(j) * q[j] / size_q_;
    }
    const PreciseLemke::End end = precise_.run(d, zero, max_pivots, report.iterations);
    for (int i = 0; i < n_; ++i)
      z[i] = end == PreciseLemke::End::solved ? column_scale_(i) * size_q_ * precise_.z(i).hi : 0;
    report.residual = kernels_.residual(M, q, z, size_M_, report.scale) / or_one(report.scale);
    report.status = end == PreciseLemke::End::ray          ? LcpStatus::ray
                    : end == PreciseLemke::End::pivots     ? LcpStatus::iteration_limit
                    : report.residual <= options.tolerance ? LcpStatus::solved
                                                           : LcpStatus::numerical_failure;
    if (report.solved()) return;
  }
}

}  // namespace scree
