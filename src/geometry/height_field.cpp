// A height field as a bicubic B-spline surface, and the distance to it.
#include <Eigen/Geometry>
#include <algorithm>
#include <optional>

#include "geometry/checks.h"
#include "scree/collider.h"

namespace scree {
namespace {

using Vec2 = Eigen::Vector2d;
using Mat2 = Eigen::Matrix2d;

constexpr Eigen::Index kMostNodes = 4096;  // along one side
constexpr int kNewtonLimit = 40;
constexpr int kBacktrackLimit = 40;
constexpr int kStarts = 9;                // along one side of the window searched for a start
constexpr double kLeastCurvature = 1e-3;  // of the squared distance along the surface; flat ground has 1
constexpr double kOnSurface = 1e-9;       // [m] closer to a bend of the rim its curvature 1/d says nothing

// Uniform cubic B-splines: c_{i-1}, c_i, c_{i+1}, c_{i+2} weigh in at t in [0, 1] of the cell from node i to i+1.
struct Weights {
  Eigen::Index cell;
  Eigen::Vector4d value, first, second;  // derivatives by t
};

Weights weights(double u, Eigen::Index nodes) {  // u: place in units of the spacing; the grid ends at 0 and nodes - 1
  const double last = static_cast<double>(nodes - 1);
  const double inside = u > 0 ? std::min(u, last) : 0.0;  // also for NaN
  const Eigen::Index cell = std::min(static_cast<Eigen::Index>(inside), nodes - 2);
  const double t = inside - static_cast<double>(cell), s = 1 - t;
  Weights w;
  w.cell = cell;
  w.value << s * s * s / 6, (3 * t * t * t - 6 * t * t + 4) / 6, (3 * s * s * s - 6 * s * s + 4) / 6, t * t * t / 6;
  w.first << -s * s / 2, (3 * t - 4) * t / 2, -(3 * s - 4) * s / 2, t * t / 2;
  w.second << s, 3 * t - 2, 3 * s - 2, t;
  return w;
}

// Coefficients c_{-1} .. c_n of the spline through f_0 .. f_{n-1}, n >= 4:
//   (c_{i-1} + 4 c_i + c_{i+1}) / 6 = f_i,
// with not-a-knot ends: the third derivative does not jump at nodes 1 and n-2, so that the fourth difference of c
// vanishes there. With c_{i-1} - 2 c_i + c_{i+1} = 6 (f_i - c_i) this reads c_1 = f_1 - (f_0 - 2 f_1 + f_2) / 6, and a
// tridiagonal system is left between nodes 1 and n-2. `in` has n entries, `out` n + 2; `scratch` at least n.
template <class In, class Out> void spline_coefficients(const In& in, Out&& out, Eigen::VectorXd& scratch) {
  const Eigen::Index n = in.size();
  const auto c = [&](Eigen::Index i) -> double& { return out(i + 1); };
  c(1) = in(1) - (in(0) - 2 * in(1) + in(2)) / 6;
  c(n - 2) = in(n - 2) - (in(n - 1) - 2 * in(n - 2) + in(n - 3)) / 6;
  // c_{i-1} + 4 c_i + c_{i+1} = 6 f_i, i = 2 .. n-3: eliminate upwards, then substitute downwards.
  double pivot = 0;  // 1 / pivot of the row before
  for (Eigen::Index i = 2; i <= n - 3; ++i) {
    const double above = i == 2 ? 0 : pivot;
    pivot = 1 / (4 - above);
    scratch(i) = pivot;
    c(i) = (6 * in(i)-c(i - 1)) * pivot;
  }
  for (Eigen::Index i = n - 3; i >= 2; --i) c(i) -= scratch(i) * c(i + 1);
  c(0) = 6 * in(1) - 4 * c(1) - c(2);
  c(n - 1) = 6 * in(n - 2) - 4 * c(n - 2) - c(n - 3);
  c(-1) = 6 * in(0) - 4 * c(0) - c(1);
  c(n) = 6 * in(n - 1) - 4 * c(n - 1) - c(n - 2);
}

double least_eigenvalue(const Mat2& A) {
  return (A(0, 0) + A(1, 1)) / 2 - std::hypot((A(0, 0) - A(1, 1)) / 2, A(0, 1));
}

// A^-1 of a symmetric matrix, shifted to have no eigenvalue below `least`.
Mat2 safe_inverse(Mat2 A, double least) {
  const double shift = least - least_eigenvalue(A);
  if (shift > 0) A.diagonal().array() += shift;
  return A.inverse();
}

void flatten(HeightField::Height& surface, int axis) {
  surface.slope(axis) = 0;
  surface.bending.row(axis).setZero();
  surface.bending.col(axis).setZero();
}

}  // namespace

// The squared distance of the surface point over `at` to p, as a function of `at`, and how the search may move.
//   F = |X - p|^2 / 2,  grad F = at - p_xy + (H - p_z) dH,  Hessian F = 1 + dH dH^T + (H - p_z) d2H
// The rim lines bend the surface: beyond them H does not vary across. On a rim line each coordinate either moves to the
// side where F falls, or is pinned there.
struct FootSearch {
  const HeightField& field;
  Vec2 size;  // [m] of the field
  Vec3 p;     // [m] from the field's origin

  struct Foot {
    Vec2 at;  // [m] from the field's origin
    HeightField::Height surface;
    bool pinned[2] = {false, false};
    int side[2] = {0, 0};  // on a rim line: the direction this coordinate may move in, 0 anywhere
    Vec2 gradient;
    Mat2 hessian;
    double squared_distance;  // F
    bool converged = false;   // the gradient vanishes here
  };

  std::optional<Vec2> nearest_node(double above) const;
  Vec2 mirrored(double reach) const;
  Foot descend(const Vec2& start) const;
  Foot look(const Vec2& at) const;
  Vec2 step_to_rim(const Vec2& at, const Vec2& step) const;
};

FootSearch::Foot FootSearch::look(const Vec2& at) const {
  Foot foot;
  foot.at = at;
  foot.surface = field.inside(at);
  HeightField::Height& s = foot.surface;
  const double up = s.value - p.z();
  for (int k = 0; k < 2; ++k) {
    const double across = at(k) - p(k);
    bool flat = at(k) < 0 || at(k) > size(k);
    if (at(k) == 0 || at(k) == size(k)) {
      const int inward = at(k) == 0 ? 1 : -1;
      const double fall_in = -inward * (across + up * s.slope(k)), fall_out = inward * across;
      flat = fall_out > fall_in;
      foot.pinned[k] = std::max(fall_in, fall_out) < 0;
      foot.side[k] = flat ? -inward : inward;
    }
    if (flat && !foot.pinned[k]) flatten(s, k);
  }
  foot.squared_distance = ((at - p.head<2>()).squaredNorm() + up * up) / 2;
  foot.gradient = at - p.head<2>() + up * s.slope;
  foot.hessian = Mat2::Identity() + s.slope * s.slope.transpose() + up * s.bending;
  for (int k = 0; k < 2; ++k) {
    if (!foot.pinned[k]) continue;
    foot.gradient(k) = 0;
    foot.hessian.row(k).setZero();
    foot.hessian.col(k).setZero();
    foot.hessian(k, k) = 1;
  }
  return foot;
}

// Shortens a step to end at the first rim line it would cross.
Vec2 FootSearch::step_to_rim(const Vec2& at, const Vec2& step) const {
  double reach = 1;
  int hit = -1;
  double place = 0;
  for (int k = 0; k < 2; ++k) {
    for (const double rim : {0.0, size(k)}) {
      const double before = at(k) - rim, after = at(k) + step(k) - rim;
      if (before * after < 0 && std::abs(before) < reach * std::abs(step(k))) {
        reach = std::abs(before) / std::abs(step(k));
        hit = k;
        place = rim;
      }
    }
  }
  Vec2 to = at + reach * step;
  if (hit >= 0) to(hit) = place;
  return to;
}

// The grid point nearest to p, if one is nearer than the surface point `above` below p; of a window that holds all such
// points, at most about kStarts x kStarts are looked at.
std::optional<Vec2> FootSearch::nearest_node(double above) const {
  std::optional<Vec2> result;
  double nearest = above * above;
  const double s = field.spacing();
  Eigen::Index first[2], last[2], stride[2];
  for (int k = 0; k < 2; ++k) {
    const double end = std::round(size(k) / s), reach = std::abs(above);
    first[k] = static_cast<Eigen::Index>(std::clamp(std::ceil((p(k) - reach) / s), 0.0, end + 1));
    last[k] = static_cast<Eigen::Index>(std::clamp(std::floor((p(k) + reach) / s), -1.0, end));
    stride[k] = (last[k] - first[k]) / kStarts + 1;
  }
  for (Eigen::Index j = first[1]; j <= last[1]; j += stride[1]) {
    for (Eigen::Index i = first[0]; i <= last[0]; i += stride[0]) {
      const Vec2 node = s * Vec2(static_cast<double>(i), static_cast<double>(j));
      const double up = field.heights()(i, j) - p.z();
      const double squared = (node - p.head<2>()).squaredNorm() + up * up;
      if (squared >= nearest) continue;
      nearest = squared;
      result = node;
    }
  }
  return result;
}

// The point below p with each coordinate that is within `reach` of a rim line moved to the line's other side.
Vec2 FootSearch::mirrored(double reach) const {
  Vec2 result = p.head<2>();
  for (int k = 0; k < 2; ++k) {
    const double rim = p(k) < size(k) / 2 ? 0 : size(k);
    if (std::abs(p(k) - rim) < reach) result(k) = 2 * rim - p(k);
  }
  return result;
}

// Newton's method with line search.
FootSearch::Foot FootSearch::descend(const Vec2& start) const {
  Foot foot = look(start);
  const double accuracy = 1e-10 * field.spacing() + 1e-14 * p.stableNorm();  // [m] the next step has its square
  for (int iteration = 0; iteration < kNewtonLimit; ++iteration) {
    Vec2 step = -safe_inverse(foot.hessian, kLeastCurvature) * foot.gradient;
    if (foot.side[0] * step(0) < 0 || foot.side[1] * step(1) < 0)
      step = -foot.gradient / (1 + foot.surface.slope.squaredNorm());  // the Newton step leaves on the wrong side
    const bool last = step.norm() <= accuracy;
    // Rounding of F, and of the coordinates whose differences it is made of.
    const double F = foot.squared_distance, slack = 1e-15 * F + 4e-15 * std::sqrt(F) * p.stableNorm();
    bool lower = false;
    for (int k = 0; k < kBacktrackLimit && !lower; ++k, step /= 2) {
      const Foot trial = look(step_to_rim(foot.at, step));
      lower = trial.squared_distance <= F + 1e-4 * foot.gradient.dot(trial.at - foot.at) + slack;
      if (lower) foot = trial;
    }
    foot.converged = last;
    if (last || !lower) break;
  }
  return foot;
}

HeightField::HeightField(const Eigen::MatrixXd& heights, const Vec2& origin, double spacing)
    : heights_(heights), origin_(origin), spacing_(spacing) {
  const Eigen::Index nx = heights.rows(), ny = heights.cols();
  if (nx < 4 || ny < 4 || nx > kMostNodes || ny > kMostNodes)
    throw InputError(
        fmt::format("height field: {} x {} heights, expected 4 x 4 to {} x {}", nx, ny, kMostNodes, kMostNodes));
  for (int k = 0; k < 2; ++k) check_number(origin(k), "height field: origin");
  check_length(spacing, "height field: spacing");
  for (Eigen::Index j = 0; j < ny; ++j)
    for (Eigen::Index i = 0; i < nx; ++i)
      if (!(std::abs(heights(i, j)) <= kLargestLength))
        throw InputError(fmt::format("height field: height({}, {}) is {}, expected a finite number of at most {:g} m",
                                     i, j, heights(i, j), kLargestLength));

  Eigen::MatrixXd along_x(nx + 2, ny);
  Eigen::VectorXd scratch(std::max(nx, ny));
  for (Eigen::Index j = 0; j < ny; ++j) spline_coefficients(heights.col(j), along_x.col(j), scratch);
  coefficients_.resize(nx + 2, ny + 2);
  for (Eigen::Index i = 0; i < nx + 2; ++i) spline_coefficients(along_x.row(i), coefficients_.row(i), scratch);

  // A spline lies in the convex hull of its coefficients, its derivative in that of their differences.
  top_ = coefficients_.maxCoeff();
  const double slope_x = (coefficients_.bottomRows(nx + 1) - coefficients_.topRows(nx + 1)).cwiseAbs().maxCoeff();
  const double slope_y = (coefficients_.rightCols(ny + 1) - coefficients_.leftCols(ny + 1)).cwiseAbs().maxCoeff();
  steepness_ = std::hypot(slope_x, slope_y) / spacing;
}

HeightField::Height HeightField::inside(const Vec2& at) const {
  const Weights a = weights(at.x() / spacing_, heights_.rows()), b = weights(at.y() / spacing_, heights_.cols());
  const Eigen::Matrix4d c = coefficients_.block<4, 4>(a.cell, b.cell);
  const Eigen::Vector4d value = c * b.value, first = c * b.first;
  Height h;
  h.value = a.value.dot(value);
  h.slope << a.first.dot(value) / spacing_, a.value.dot(first) / spacing_;
  const double mixed = a.first.dot(first);
  h.bending << a.second.dot(value), mixed, mixed, a.value.dot(c * b.second);
  h.bending /= spacing_ * spacing_;
  return h;
}

HeightField::Height HeightField::height(double x, double y) const {
  const Vec2 at(x - origin_.x(), y - origin_.y());
  Height h = inside(at);
  if (at.x() < 0 || at.x() > spacing_ * static_cast<double>(heights_.rows() - 1)) flatten(h, 0);
  if (at.y() < 0 || at.y() > spacing_ * static_cast<double>(heights_.cols() - 1)) flatten(h, 1);
  return h;
}

// The foot X of p minimises |X - p|. A search from the point below p finds the nearest foot where p is close to the
// surface; searches from the nearest grid point and from beyond the rim find it in other valleys. With signed distance
// d, unit normal n = (-dH, 1) / W, W^2 = 1 + |dH|^2, tangents T = dX/d(x, y), metric G = T^T T = 1 + dH dH^T and A = G
// - (d/W) d2H, the Hessian of |X - p|^2 / 2:
//   grad d = n,   Hessian d = (1 - n n^T - T A^-1 T^T) / d = -(1/W) T G^-1 d2H A^-1 T^T,
// the second form without the cancellation at small d (1 - n n^T = T G^-1 T^T).
SignedDistance HeightField::distance(const Vec3& point) const {
  const Vec3 p(point.x() - origin_.x(), point.y() - origin_.y(), point.z());
  const Vec2 size(spacing_ * static_cast<double>(heights_.rows() - 1),
                  spacing_ * static_cast<double>(heights_.cols() - 1));
  const double above = p.z() - height(point.x(), point.y()).value;
  const double sign = above >= 0 ? 1 : -1;
  if (!point.allFinite()) return {above, Vec3::UnitZ(), Mat3::Zero()};

  const FootSearch search{*this, size, p};
  FootSearch::Foot foot = search.descend(p.head<2>());
  const auto try_from = [&](const Vec2& start) {
    const FootSearch::Foot other = search.descend(start);
    if (other.squared_distance < foot.squared_distance) foot = other;
  };
  if (const std::optional<Vec2> node = search.nearest_node(above)) try_from(*node);
  const Vec2 mirror = search.mirrored(std::abs(above));
  if (mirror.x() != p.x()) try_from({mirror.x(), p.y()});
  if (mirror.y() != p.y()) try_from({p.x(), mirror.y()});
  if (mirror.x() != p.x() && mirror.y() != p.y()) try_from(mirror);
  const HeightField::Height& s = foot.surface;
  const Vec3 to_p(p.x() - foot.at.x(), p.y() - foot.at.y(), p.z() - s.value);
  const Vec3 normal = Vec3(-s.slope.x(), -s.slope.y(), 1).normalized();
  const double d = to_p.stableNorm();
  const bool bend = foot.pinned[0] || foot.pinned[1];
  if (foot.converged && !bend) {
    const double W = std::sqrt(1 + s.slope.squaredNorm());
    const Mat2 G = Mat2::Identity() + s.slope * s.slope.transpose();
    const Mat2 K = G.inverse() * s.bending * safe_inverse(foot.hessian, kLeastCurvature) / -W;
    Eigen::Matrix<double, 3, 2> T;
    T << Mat2::Identity(), s.slope.transpose();
    return {normal.dot(to_p), normal, T * ((K + K.transpose()) / 2) * T.transpose()};
  }
  if (!(d > kOnSurface)) return {sign * d, normal, Mat3::Zero()};
  SignedDistance result{sign * d, to_p * (sign / d), Mat3::Zero()};
  if (!foot.converged) return result;
  result.hessian = Mat3::Identity() - result.gradient * result.gradient.transpose();
  for (int k = 0; k < 2; ++k) {
    if (foot.pinned[k]) continue;
    Vec3 tangent = Vec3::Unit(k);
    tangent.z() = s.slope(k);
    result.hessian -= tangent * tangent.transpose() / std::max(foot.hessian(k, k), kLeastCurvature);
  }
  result.hessian /= result.value;
  return result;
}

// A surface nowhere steeper than L keeps v / sqrt(1 + L^2) from a point v above it. Below, the point straight up is a
// surface point.
double HeightField::distance_bound(const Vec3& p) const {
  const double above = p.z() - height(p.x(), p.y()).value;
  return above > 0 ? std::max(p.z() - top_, above / std::sqrt(1 + steepness_ * steepness_)) : above;
}

}  // namespace scree
