#include "impact/routh.h"

#include <Eigen/Eigenvalues>
#include <cassert>
#include <cmath>
#include <limits>

namespace scree {
namespace {

using Eigen::Matrix2d;
using Eigen::Matrix3d;
using Eigen::Vector2d;
using Eigen::Vector3d;
using State = Eigen::Matrix<double, 5, 1>;  // angle of slip, log of its speed, normal impulse, tangential impulse

// In units of |u| for velocities and |u|/max G_ii for impulses.
constexpr double kZero = 1e-14;       // speeds that are rounding
constexpr double kTolerance = 1e-12;  // of a step of the integrator
constexpr double kTurn = 0.2;         // [rad] largest turn of a step: normal velocities have one sign change in it
constexpr double kSettled = 1e-13;    // turning that is over, of the largest rate
constexpr double kExact = 4e-16;      // no turning but rounding: a plane of symmetry
constexpr double kForever = std::numeric_limits<double>::infinity();

Vector2d unit(double angle) { return {std::cos(angle), std::sin(angle)}; }

// C^+ g for positive semidefinite C, with g in its range.
Vector2d pseudo_solve(const Matrix2d& C, const Vector2d& g) {
  const Eigen::SelfAdjointEigenSolver<Matrix2d> eigen(C);
  const double least = 1e-14 * eigen.eigenvalues().cwiseAbs().maxCoeff();
  Vector2d x = eigen.eigenvectors().transpose() * g;
  for (int i = 0; i < 2; ++i) x(i) = eigen.eigenvalues()(i) > least ? x(i) / eigen.eigenvalues()(i) : 0;
  return eigen.eigenvectors() * x;
}

class Course {
 public:
  Course(const Matrix3d& G, const Vector3d& u, double mu, long max_pieces)
      : a_(G(0, 0)), g_(G.block<2, 1>(1, 0)), C_(G.bottomRightCorner<2, 2>()), u0_(u), mu_(mu), budget_(max_pieces) {
    rate_ = g_.norm() + 2 * mu_ * C_.norm();
    slip_ = u.tail<2>();
    course_.push_back(impulse());
  }

  // Until the normal impulse is `end`, or the contact no longer approaches. False: out of budget.
  bool run(double end, bool compress) {
    while (compress ? normal_velocity() < -kZero : p_ < end) {
      if (pieces_ >= budget_) return false;
      if (mu_ == 0)
        straight(Vector2d::Zero(), end, compress);
      else if (slip_.norm() <= kZero)
        start_from_stick(end, compress);
      else
        slide(end, compress);
    }
    return true;
  }

  double normal_velocity() const { return u0_(0) + a_ * p_ + g_.dot(lambda_); }
  double p() const { return p_; }
  Vector3d impulse() const { return {p_, lambda_(0), lambda_(1)}; }
  long pieces() const { return pieces_; }
  double residual() const { return residual_; }
  const std::vector<Vector3d>& course() const { return course_; }

 private:
  // --- pieces on which friction is constant: exact ---

  void straight(const Vector2d& s, double end, bool compress) {
    const Vector2d slope = g_ + C_ * s;
    double length = kForever;
    const double speed = slip_.norm();
    bool stops = false;
    if (mu_ > 0 && speed > kZero) {
      const double rate = slope.dot(slip_) / speed;
      if (rate < 0) length = speed / -rate, stops = true;
    }
    const double rise = a_ + g_.dot(s);
    const double ends = !compress ? end - p_ : rise > 0 ? -normal_velocity() / rise : kForever;
    const bool last = ends <= length;
    if (last) length = ends, stops = false;
    ++pieces_;
    if (!std::isfinite(length)) {  // only where rounding hides that G is singular
      pieces_ = budget_;
      return;
    }
    p_ = last && !compress ? end : p_ + length;
    lambda_ += length * s;
    slip_ = stops ? Vector2d(0, 0) : Vector2d(slip_ + length * slope);
    course_.push_back(impulse());
  }

  // At u_t = 0: sticks for good, or slips off along the one direction that leads away.               theory (14.9)
  void start_from_stick(double end, bool compress) {
    Vector2d direction;
    slip_.setZero();
    if (slip_off_direction(C_, g_, mu_, direction)) return straight(-mu_ * direction, end, compress);
    const Vector2d s = -pseudo_solve(C_, g_);
    // Where u_n and u_t are proportional nothing is left to compress.
    if (compress && a_ + g_.dot(s) <= kZero * a_) {
      p_ -= normal_velocity() / a_;
      course_.push_back(impulse());
      return;
    }
    straight(s, end, compress);
    slip_.setZero();
  }

  // --- slip that turns: theory (14.8), x = (angle, log |u_t|, p, lambda_t) over tau, dp = |u_t| dtau ---

  Vector2d force(double angle) const { return g_ - mu_ * (C_ * unit(angle)); }
  double turning(double angle) const { return force(angle).dot(Vector2d(-std::sin(angle), std::cos(angle))); }

  State rates(const State& x) const {
    const Vector2d e = unit(x(0)), f = g_ - mu_ * (C_ * e);
    const double speed = std::exp(x(1));
    State dx;
    dx << f.dot(Vector2d(-e(1), e(0))), f.dot(e), speed, -mu_ * speed * e(0), -mu_ * speed * e(1);
    return dx;
  }

  // Dormand and Prince, orders 5 and 4.
  State step(const State& x, double h, double& error) const {
    const State k1 = rates(x);
    const State k2 = rates(x + h * (k1 / 5));
    const State k3 = rates(x + h * (3. / 40 * k1 + 9. / 40 * k2));
    const State k4 = rates(x + h * (44. / 45 * k1 - 56. / 15 * k2 + 32. / 9 * k3));
    const State k5 = rates(x + h * (19372. / 6561 * k1 - 25360. / 2187 * k2 + 64448. / 6561 * k3 - 212. / 729 * k4));
    const State k6 =
        rates(x + h * (9017. / 3168 * k1 - 355. / 33 * k2 + 46732. / 5247 * k3 + 49. / 176 * k4 - 5103. / 18656 * k5));
    const State next =
        x + h * (35. / 384 * k1 + 500. / 1113 * k3 + 125. / 192 * k4 - 2187. / 6784 * k5 + 11. / 84 * k6);
    const State k7 = rates(next);
    const State e = h * (71. / 57600 * k1 - 71. / 16695 * k3 + 71. / 1920 * k4 - 17253. / 339200 * k5 + 22. / 525 * k6 -
                         1. / 40 * k7);
    error = 0;
    for (int i = 0; i < 5; ++i) error = std::max(error, std::abs(e(i)) / (i < 2 ? 1 : 1 + std::abs(next(i))));
    return next;
  }

  void slide(double end, bool compress) {
    const double angle = std::atan2(slip_(1), slip_(0));
    double now = turning(angle);
    // A direction that attracts, once reached, is kept; so is one of symmetry.
    const Vector2d e = unit(angle), across(-e(1), e(0));
    const double slope = -mu_ * across.dot(C_ * across) - force(angle).dot(e);  // d turning / d angle
    if (std::abs(now) <= (slope < 0 ? kSettled : kExact) * rate_)
      return straight(-mu_ * slip_.normalized(), end, compress);

    State x;
    x << angle, std::log(slip_.norm()), p_, lambda_;
    const auto reached = [&](const State& y) {
      return compress ? u0_(0) + a_ * y(2) + g_.dot(y.tail<2>()) : y(2) - end;
    };
    double h = std::min(h_, 1 / rate_), error = 0;
    State next;
    for (;;) {
      next = step(x, h, error);
      if (error <= kTolerance && std::abs(next(0) - x(0)) <= kTurn) break;
      h *= error > kTolerance ? std::max(0.2, 0.9 * std::pow(kTolerance / error, 0.2)) : 0.5;
    }
    h_ = h * std::min(4.0, 0.9 * std::pow(kTolerance / std::max(error, 1e-20), 0.2));
    ++pieces_;
    if (reached(next) >= 0) {  // the root within the step, by halving and secants in turn
      double low = 0, high = h, f_low = reached(x), f_high = reached(next);
      for (int k = 0; k < 100 && high - low > 1e-16 * h && f_high != 0; ++k) {
        double middle = k % 3 == 2 ? 0.5 * (low + high) : low - f_low * (high - low) / (f_high - f_low);
        if (!(middle > low && middle < high)) middle = 0.5 * (low + high);
        if (!(middle > low && middle < high)) break;
        const State y = step(x, middle, error);
        const double f = reached(y);
        if (f >= 0)
          high = middle, f_high = f, next = y;
        else
          low = middle, f_low = f;
        if (f_high <= kZero) break;
      }
    }
    p_ = next(2);
    lambda_ = next.tail<2>();
    slip_ = std::exp(next(1)) * unit(next(0));
    residual_ = std::max(residual_, (slip_ - slip_velocity()).norm());
    course_.push_back(impulse());
  }

  Vector2d slip_velocity() const { return u0_.tail<2>() + g_ * p_ + C_ * lambda_; }

  double a_;
  Vector2d g_;
  Matrix2d C_;
  Vector3d u0_;
  double mu_, rate_ = 0;
  long budget_, pieces_ = 0;
  double p_ = 0, residual_ = 0, h_ = kForever;
  Vector2d lambda_ = Vector2d::Zero(), slip_;
  std::vector<Vector3d> course_;
};

}  // namespace

// e = (mu C + R)^-1 g with |e| = 1: the left side falls as R grows, from |C^+ g|/mu at R = 0. In the basis of C's
// eigenvectors Newton on 1/|e| - 1, which is concave, converges from the left without safeguards (as in trust regions).
bool slip_off_direction(const Matrix2d& C, const Vector2d& g, double mu, Vector2d& direction) {
  if (pseudo_solve(C, g).norm() <= mu || g.norm() == 0) return false;
  const Eigen::SelfAdjointEigenSolver<Matrix2d> eigen(C);
  const Vector2d c = mu * eigen.eigenvalues().cwiseMax(0), b = eigen.eigenvectors().transpose() * g;
  double low = 0, high = g.norm();  // |e| <= |g|/R
  double R = 0.5 * high;
  Vector2d e;
  for (int k = 0; k < 200; ++k) {
    for (int i = 0; i < 2; ++i) e(i) = b(i) == 0 ? 0 : b(i) / (c(i) + R);
    const double size = e.norm();
    (size > 1 ? low : high) = R;
    double slope = 0;  // -d|e|/dR
    for (int i = 0; i < 2; ++i) slope += b(i) == 0 ? 0 : e(i) * e(i) / (c(i) + R);
    slope /= size;
    double next = R + (size - 1) / slope * size;
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    if (std::abs(next - R) <= 1e-16 * high) break;
    R = next;
  }
  direction = (eigen.eigenvectors() * e).normalized();
  return true;
}

RouthPath routh_path(const Eigen::Ref<const Eigen::MatrixXd>& G, const Eigen::Ref<const Eigen::VectorXd>& u, double mu,
                     double restitution, long max_pieces) {
  const Eigen::Index n = u.size();
  assert(n >= 1 && n <= 3 && G.rows() == n && G.cols() == n);
  RouthPath path;
  path.impulse = Eigen::VectorXd::Zero(n);
  path.course.push_back(path.impulse);
  const double speed = u.norm(), size = G.diagonal().maxCoeff();
  if (!(speed > 0)) {
    path.finished = true;
    return path;
  }
  Matrix3d scaled = Matrix3d::Zero();
  scaled.topLeftCorner(n, n) = G / size;
  Vector3d start = Vector3d::Zero();
  start.head(n) = u / speed;

  Course course(scaled, start, n == 1 ? 0 : mu, max_pieces);
  path.finished = course.run(0, true);
  path.compression = course.p() * speed / size;
  if (path.finished && restitution > 0) path.finished = course.run((1 + restitution) * course.p(), false);
  // Friction that turns could press the contact shut again in expansion.
  if (path.finished) path.finished = course.run(0, true);
  path.impulse = course.impulse().head(n) * (speed / size);
  path.pieces = course.pieces();
  path.residual = course.residual();
  path.course.clear();
  for (const Vector3d& impulse : course.course()) path.course.push_back(impulse.head(n) * (speed / size));
  return path;
}

}  // namespace scree
