#include "impact/normalised.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "impact/precision.h"

namespace scree {
namespace {

constexpr double kWide = Arithmetic<DoubleDouble>::unit;
constexpr double kTiny = 1e-280;  // more than underflow can add to sums of terms near 1

double up(double x) { return x + std::abs(x) * 0x1p-51 + kTiny; }
double down(double x) { return x - std::abs(x) * 0x1p-51 - kTiny; }
Interval around(const DoubleDouble& value, double error) {
  return {down(to_double(value) - up(error)), up(to_double(value) + up(error))};
}
int exponent_of(double x) { return x == 0 ? 0 : std::ilogb(x); }

// Least eigenvalue of a symmetric matrix from below: Cholesky's factorisation of A - c I that comes to its end proves
// that A - c I + E is semidefinite for some |E|_2 <= gamma/(1 - gamma) trace, gamma = (d + 1) u / (1 - (d + 1) u).
// [Rump, "Verification of positive definiteness", 2006]
double least_eigenvalue(const Eigen::MatrixXd& A, double guess) {
  const double d = static_cast<double>(A.rows()), slack = 1.1 * (d + 8) * 0x1p-53 * A.trace();
  for (double c = guess; c > 2 * slack; c /= 8) {
    Eigen::MatrixXd shifted = A;
    shifted.diagonal().array() -= c;
    if (shifted.diagonal().minCoeff() > 0 && Eigen::LLT<Eigen::MatrixXd>(shifted).info() == Eigen::Success)
      return c - slack;
  }
  return 0;
}

}  // namespace

NormalisedImpact::NormalisedImpact(const ImpactProblem& problem)
    : exponent_(problem.dofs()),
      normal_(problem.Jn.transpose()),
      normal_exponent_(problem.contacts()),
      normal_size_(problem.contacts()) {
  const int d = problem.dofs(), m = problem.contacts();
  for (int i = 0; i < d; ++i) exponent_(i) = static_cast<int>(std::floor(exponent_of(problem.M(i, i)) / 2.0));
  mass_ = Eigen::MatrixXd::Zero(d, d);
  exact_start_.push_back(0);
  for (int j = 0; j < d; ++j) {
    for (int i = 0; i < d; ++i) {
      if (problem.M(i, j) == 0 && problem.M(j, i) == 0) continue;
      const int e = -exponent_(i) - exponent_(j) - 1;
      const DoubleDouble entry = two_sum(std::ldexp(problem.M(i, j), e), std::ldexp(problem.M(j, i), e));
      mass_(i, j) = entry.hi;
      exact_.push_back(entry);
      exact_row_.push_back(i);
    }
    exact_start_.push_back(exact_.count());
  }
  cholesky_.compute(mass_);
  regular_ = cholesky_.info() == Eigen::Success;
  if (!regular_) return;

  normals_.rows = d;
  Eigen::VectorXd a(d);
  for (int k = 0; k < m; ++k) {
    int lead = std::numeric_limits<int>::min();
    for (int i = 0; i < d; ++i)
      if (normal_(i, k) != 0) lead = std::max(lead, exponent_of(normal_(i, k)) - exponent_(i));
    normal_exponent_(k) = lead;
    for (int i = 0; i < d; ++i) normal_(i, k) = std::ldexp(normal_(i, k), -exponent_(i) - lead);
    a = cholesky_.matrixL().solve(normal_.col(k));
    normal_size_(k) = a.norm();
    for (int i = 0; i < d; ++i) normals_.append(i, a(i) / normal_size_(k));
    normals_.close();
  }
  const Eigen::VectorXd v = scaled(problem.v, velocity_exponent_);
  y_ = cholesky_.matrixU() * v;
  const double norm = y_.norm();
  if (norm > 0) {
    const int e = exponent_of(norm);
    y_ = y_ * std::ldexp(1.0, -e);
    velocity_exponent_ += e;
  }
}

Eigen::VectorXd NormalisedImpact::scaled(const Eigen::VectorXd& v, int& exponent) const {
  exponent = std::numeric_limits<int>::min();
  for (int i = 0; i < dofs(); ++i)
    if (v(i) != 0) exponent = std::max(exponent, exponent_of(v(i)) + exponent_(i));
  if (exponent == std::numeric_limits<int>::min()) exponent = 0;
  Eigen::VectorXd result(dofs());
  for (int i = 0; i < dofs(); ++i) result(i) = std::ldexp(v(i), exponent_(i) - exponent);
  return result;
}

Eigen::VectorXd NormalisedImpact::velocity(const Eigen::VectorXd& y) const {
  Eigen::VectorXd v = cholesky_.matrixU().solve(y);
  for (int i = 0; i < dofs(); ++i) v(i) = std::ldexp(v(i), velocity_exponent_ - exponent_(i));
  return v;
}

Eigen::VectorXd NormalisedImpact::direction(const Eigen::VectorXd& y) const {
  Eigen::VectorXd v = cholesky_.matrixU().solve(y);
  for (int i = 0; i < dofs(); ++i) v(i) = std::ldexp(v(i), -exponent_(i));
  return v;
}

double NormalisedImpact::impulse(int k, double lambda) const {
  return std::ldexp(lambda / normal_size_(k), velocity_exponent_ - normal_exponent_(k));
}

double NormalisedImpact::energy(double square) const { return std::ldexp(0.5 * square, 2 * velocity_exponent_); }

// d sums of d products, then one more: 2 d + 4 roundings on the way of every term.
NormalisedImpact::Square NormalisedImpact::square(const Eigen::VectorXd& v) const {
  Square result;
  double terms = 0;
  for (int j = 0; j < dofs(); ++j) {
    if (v(j) == 0) continue;
    DoubleDouble sum;
    double sizes = 0;
    for (int e = exact_start_[j]; e < exact_start_[j + 1]; ++e) {
      sum += exact_[e] * v(exact_row_[e]);
      sizes += std::abs(exact_[e].hi * v(exact_row_[e]));
    }
    result.value += sum * v(j);
    terms += sizes * std::abs(v(j));
  }
  result.error = 1.01 * (2 * dofs() + 4) * kWide * terms + kTiny;
  return result;
}

Interval NormalisedImpact::energy_ratio(const Eigen::VectorXd& after, const Eigen::VectorXd& before) const {
  int e0 = 0, e1 = 0;
  const Eigen::VectorXd v1 = scaled(after, e1), v0 = scaled(before, e0);
  const Square s1 = square(v1), s0 = square(v0);
  const double least = to_double(s0.value) - up(s0.error);
  if (!(least > 0)) return {0, std::numeric_limits<double>::infinity()};
  const DoubleDouble ratio = s1.value / s0.value;
  // |a/b - a'/b'| <= (|da| + |db| a/b) / (b - db); quotients of double-double are good to 2^-98 for certain
  const double error = (s1.error + s0.error * up(to_double(ratio))) / down(least) + 0x1p-98 * to_double(ratio);
  const Interval r = around(ratio, error);
  const int e = 2 * (e1 - e0);
  return {std::max(0.0, std::ldexp(r.lower, e)), std::ldexp(r.upper, e)};
}

Interval NormalisedImpact::mass_norm(const Eigen::VectorXd& v) const {
  int e = 0;
  const Square s = square(scaled(v, e));
  const Interval i = around(s.value, s.error);
  return {std::ldexp(down(std::sqrt(std::max(0.0, i.lower))), e), std::ldexp(up(std::sqrt(i.upper)), e)};
}

// |n|_{M^-1}^2 = n.M^-1 n. For any x with residual r = n - M x it is n.x + x.r + r.M^-1 r, and the last term is between
// 0 and |r|^2 over the least eigenvalue of M.                                                            theory (13.17)
void NormalisedImpact::bound_normals() {
  if (bounded_) return;
  bounded_ = true;
  const int d = dofs();
  const Eigen::MatrixXd L = cholesky_.matrixL();
  const double eigenvalue = least_eigenvalue(mass_, 0.5 * L.diagonal().array().square().minCoeff());
  normal_bound_.assign(static_cast<size_t>(contacts()), {0, std::numeric_limits<double>::infinity()});
  if (!(eigenvalue > 0)) return;
  Array<DoubleDouble> r(d);
  Eigen::VectorXd terms(d);
  for (int k = 0; k < contacts(); ++k) {
    const auto n = normal_.col(k);
    const Eigen::VectorXd x = cholesky_.solve(n);
    terms = n.cwiseAbs();
    for (int i = 0; i < d; ++i) r[i] = n(i);
    for (int j = 0; j < d; ++j) {
      if (x(j) == 0) continue;
      for (int e = exact_start_[j]; e < exact_start_[j + 1]; ++e) {
        r[exact_row_[e]] -= exact_[e] * x(j);
        terms(exact_row_[e]) += std::abs(exact_[e].hi * x(j));
      }
    }
    DoubleDouble value;
    double error = 0, residual = 0;
    for (int i = 0; i < d; ++i) {
      const double r_error = 1.01 * (2 * d + 4) * kWide * terms(i) + kTiny;
      const double most = std::abs(to_double(r[i])) + r_error;
      value += (r[i] + n(i)) * x(i);
      error += std::abs(x(i)) * (r_error + 1.01 * (d + 4) * kWide * (most + std::abs(n(i))));
      residual += most * most;
    }
    const Interval low = around(value, up(error)), high = around(value, up(error) + up(up(residual) / eigenvalue));
    normal_bound_[static_cast<size_t>(k)] = {down(std::sqrt(std::max(0.0, low.lower))), up(std::sqrt(high.upper))};
  }
}

Interval NormalisedImpact::cosine(int k, const Eigen::VectorXd& v) {
  bound_normals();
  int e = 0;
  const Eigen::VectorXd s = scaled(v, e);
  DoubleDouble sum;
  double terms = 0;
  for (int i = 0; i < dofs(); ++i) {
    if (normal_(i, k) == 0) continue;
    sum += two_product(normal_(i, k), s(i));
    terms += std::abs(normal_(i, k) * s(i));
  }
  const Interval dot = around(sum, 1.01 * (dofs() + 4) * kWide * terms), size = normal_bound_[static_cast<size_t>(k)];
  const double lower = dot.lower / (dot.lower < 0 ? size.lower : size.upper);
  const double upper = dot.upper / (dot.upper > 0 ? size.lower : size.upper);
  return {std::ldexp(down(lower), e), std::ldexp(up(upper), e)};
}

Interval NormalisedImpact::least_velocity(const Eigen::VectorXd& v) {
  if (v.isZero(0)) return {0, 0};
  const Interval norm = mass_norm(v);
  Interval least{1, 1};
  for (int k = 0; k < contacts(); ++k) {
    const Interval c = cosine(k, v);
    const double lower = down(c.lower / (c.lower < 0 ? norm.lower : norm.upper));
    const double upper = up(c.upper / (c.upper > 0 ? norm.lower : norm.upper));
    least.lower = std::min(least.lower, lower >= -1 ? lower : -1.0);  // a cosine; also where a bound is missing
    least.upper = std::min(least.upper, upper <= 1 ? upper : 1.0);
  }
  return least;
}

}  // namespace scree
