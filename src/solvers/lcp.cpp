#include "solvers/lcp.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace scree {
namespace {

// All numbers of the dictionary are of order one at the start.
constexpr double kPivot = 1e-11;  // entries below that part of their column's largest are rounding
// Basic variables that reach zero within this of each other tie, and z_0 below it is zero: rounding of a hundred pivots
// between matrices of condition 1e8. Every further try takes a hundred times that. Of random friction problems with
// such inertias 2 % fail with 1e-12 and three tries, 0.6 % with 1e-10; so none of 20000 did, 1.3 % needed a second try.
constexpr double kTie = 1e-10;
constexpr double kShare = 1e-12;  // of the inverse of the basis
constexpr int kSweeps = 3;
constexpr int kRefinements = 4;
constexpr double kExact = 4e-16;    // residuals are rounding
constexpr double kLargest = 1e100;  // entries beyond that are no numbers to compute with

double or_one(double size) { return size > 0 ? size : 1; }

}  // namespace

const char* lcp_status_name(LcpStatus status) {
  constexpr const char* kNames[] = {"solved", "ray", "iteration limit", "numerical failure"};
  return kNames[static_cast<int>(status)];
}

double lcp_residual(const Eigen::Ref<const Eigen::MatrixXd>& M, const Eigen::Ref<const Eigen::VectorXd>& q,
                    const Eigen::Ref<const Eigen::VectorXd>& z, double& scale) {
  const Eigen::Index n = q.size();
  scale = 0;
  if (n == 0) return 0;
  const double m = or_one(M.cwiseAbs().maxCoeff());
  double worst = 0;
  for (Eigen::Index i = 0; i < n; ++i) {
    double w = q(i), terms = std::abs(q(i));
    for (Eigen::Index j = 0; j < n; ++j) {
      const double term = M(i, j) * z(j);
      w += term;
      terms += std::abs(term);
    }
    scale = std::max(scale, terms);
    const double violation = std::abs(std::min(m * z(i), w));
    if (!(violation <= worst)) worst = violation;  // NaN stays
  }
  return worst;
}

void Lemke::reserve(int n) {
  if (b_.size() >= n) return;
  table_.resize(n * (n + 1));
  for (Eigen::VectorXd* x : {&b_, &refined_, &w_, &row_scale_, &column_scale_}) x->resize(n);
  pivot_row_.resize(n + 1);
  basic_.resize(n);
  nonbasic_.resize(n + 1);
  row_.resize(2 * n + 1);
  place_.resize(2 * n + 1);
  ties_.reserve(static_cast<size_t>(n));
}

// Rows and columns are scaled until their largest entries are near 1 (Ruiz 2001): w_i and z_j are measured in other
// units, which changes no complementarity.
void Lemke::equilibrate(const Eigen::Ref<const Eigen::MatrixXd>& M, const Eigen::Ref<const Eigen::VectorXd>& q) {
  auto r = row_scale_.head(n_), c = column_scale_.head(n_), by_row = w_.head(n_), by_column = refined_.head(n_);
  r.setOnes();
  c.setOnes();
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    by_row.setZero();
    for (int j = 0; j < n_; ++j) {
      const auto entries = (c(j) * r.cwiseProduct(M.col(j))).cwiseAbs();
      by_row = by_row.cwiseMax(entries);
      by_column(j) = entries.maxCoeff();
    }
    for (int j = 0; j < n_; ++j) {
      r(j) /= std::sqrt(or_one(by_row(j)));
      c(j) /= std::sqrt(or_one(by_column(j)));
    }
  }
  size_q_ = or_one(r.cwiseProduct(q).cwiseAbs().maxCoeff());
}

// w = q + M z + d z_0 with all of z, z_0 at zero. The covering vector d is (1, ..., 1) or what was asked for at first,
// then any other.
void Lemke::start(const Eigen::Ref<const Eigen::MatrixXd>& M, const Eigen::Ref<const Eigen::VectorXd>& q, int attempt,
                  const double* covering) {
  tie_ = kTie * std::pow(100, attempt);
  const auto r = row_scale_.head(n_);
  for (int j = 0; j < n_; ++j) column(j) = column_scale_(j) * r.cwiseProduct(M.col(j));
  b_.head(n_) = r.cwiseProduct(q) / size_q_;
  Column d = column(n_);
  for (int i = 0; i < n_; ++i) {
    const double spread = std::fmod(0.618033988749895 * attempt * (i + 1), 1.0);  // in [0, 1), evenly
    d(i) = attempt > 0 ? 0.5 + spread : covering ? row_scale_(i) * covering[i] : 1;
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
  Column out = column(entering);
  const double inverse = 1 / out(row);
  for (int j = 0; j <= n_; ++j) pivot_row_(j) = -inverse * table_(j * n_ + row);
  out(row) = 0;  // its row is set below
  for (int j = 0; j <= n_; ++j) {
    const double factor = pivot_row_(j);
    if (j == entering || factor == 0) continue;
    Column other = column(j);
    other += factor * out;
    other(row) = factor;
  }
  const double step = -inverse * b_(row);
  b_.head(n_) += step * out;
  b_(row) = step;
  out *= inverse;
  out(row) = inverse;

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
  const Column c = column(entering);
  const double least = kPivot * std::max(1.0, c.cwiseAbs().maxCoeff());
  const int z0 = row_(2 * n_);
  if (b_(z0) <= tie_ && std::abs(c(z0)) > least) return z0;  // a solution
  const auto b = [&](int i) { return std::max(0.0, b_(i)); };
  double limit = std::numeric_limits<double>::infinity();
  for (int i = 0; i < n_; ++i)
    if (c(i) < -least) limit = std::min(limit, (b(i) + tie_) / -c(i));
  ties_.clear();
  for (int i = 0; i < n_; ++i)
    if (c(i) < -least && b(i) <= -limit * c(i)) ties_.push_back(i);
  if (c(z0) < -least && b(z0) <= -limit * c(z0)) return z0;  // likewise
  for (int j = 0; j < n_ && ties_.size() > 1; ++j) {
    const int at = row_(j);
    const double* w = at < 0 ? column(place_(j)).data() : nullptr;
    const auto share = [&](int i) { return (w ? -w[i] : i == at ? 1.0 : 0.0) / -c(i); };
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
  const Column d = column(n_);
  for (int i = 1; i < n_; ++i)
    if (b_(i) / d(i) <= b_(row) / d(row)) row = i;
  if (b_(row) >= 0) return LcpStatus::solved;  // q >= 0: z = 0
  int entering = n_;
  for (int done = 0;; ++done) {
    if (done == max_pivots) return LcpStatus::iteration_limit;
    const int leaves = basic_(row);
    pivot(row, entering);
    ++pivots;
    if (leaves == 2 * n_) return LcpStatus::solved;
    entering = place_(leaves < n_ ? leaves + n_ : leaves - n_);  // the complement of what left
    row = leaving_row(entering);
    if (row < 0) return b_(row_(2 * n_)) <= tie_ ? LcpStatus::solved : LcpStatus::ray;
  }
}

// z of the dictionary; then rounding of the pivots is taken out again: of the w_j that should be zero, M z + q computed
// anew is the error, and the dictionary says how z depends on them.
void Lemke::read_solution(const Eigen::Ref<const Eigen::MatrixXd>& M, const Eigen::Ref<const Eigen::VectorXd>& q,
                          Eigen::Ref<Eigen::VectorXd> z, LcpReport& report) {
  const auto is_z = [&](int i) { return basic_(i) >= n_ && basic_(i) < 2 * n_; };
  for (int i = 0; i < n_; ++i)
    if (is_z(i)) z(basic_(i) - n_) = column_scale_(basic_(i) - n_) * size_q_ * std::max(0.0, b_(i));
  report.residual = lcp_residual(M, q, z, report.scale) / or_one(report.scale);
  auto finer = refined_.head(n_), w = w_.head(n_);
  for (int k = 0; k < kRefinements && report.residual > kExact; ++k) {
    w = q;
    w.noalias() += M * z;
    finer = z;
    for (int j = 0; j < n_; ++j) {
      if (row_(j) >= 0) continue;
      const Column c = column(place_(j));
      const double error = row_scale_(j) * w(j);
      for (int i = 0; i < n_; ++i)
        if (is_z(i)) finer(basic_(i) - n_) -= column_scale_(basic_(i) - n_) * c(i) * error;
    }
    finer = finer.cwiseMax(0);
    double scale = 0;
    const double residual = lcp_residual(M, q, finer, scale) / or_one(scale);
    if (!(residual < report.residual)) break;
    z = finer;
    report.residual = residual;
    report.scale = scale;
  }
}

LcpReport Lemke::solve(const Eigen::Ref<const Eigen::MatrixXd>& M, const Eigen::Ref<const Eigen::VectorXd>& q,
                       Eigen::Ref<Eigen::VectorXd> z, const LcpOptions& options) {
  assert(M.rows() == q.size() && M.cols() == q.size() && z.size() == q.size());
  LcpReport report;
  n_ = static_cast<int>(q.size());
  z.setZero();
  if (n_ == 0) {
    report.status = LcpStatus::solved;
    report.residual = 0;
    return report;
  }
  reserve(n_);
  if (!M.allFinite() || !q.allFinite()) return report;
  if (M.cwiseAbs().maxCoeff() > kLargest || q.cwiseAbs().maxCoeff() > kLargest) return report;
  equilibrate(M, q);
  const int max_pivots = options.max_pivots > 0 ? options.max_pivots : 100 + 20 * n_;
  for (int attempt = 0; attempt <= options.restarts; ++attempt) {
    start(M, q, attempt, options.covering);
    report.status = run(max_pivots, report.iterations);
    ++report.tries;
    z.setZero();
    if (report.status == LcpStatus::solved) {
      read_solution(M, q, z, report);
      if (report.residual <= options.tolerance) return report;
      report.status = LcpStatus::numerical_failure;
    } else {
      report.residual = lcp_residual(M, q, z, report.scale) / or_one(report.scale);
    }
  }
  return report;
}

}  // namespace scree
