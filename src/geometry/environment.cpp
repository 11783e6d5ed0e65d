#include "scree/environment.h"

#include "geometry/checks.h"

namespace scree {
namespace {

// Closer to an edge than this a point counts as on the nearest face: the edge's curvature 1/d says nothing there.
constexpr double kOnSurface = 1e-9;  // [m]

constexpr int kMostSteps = 1000;

SignedDistance distance_to(const GroundPlane& plane, const Vec3& p) {
  return {plane.normal.dot(p - plane.point), plane.normal, Mat3::Zero()};
}

// With e_k = |p_k| - size_k / 2 in the axes of the box and e+ = max(0, e):
//   outside  d = |e+|,  grad = sign(p) e+ / d,  Hessian = (diag(e > 0) - grad grad^T) / d: zero before a face, the
//            curvature of a cylinder about an edge, of a sphere about a corner;
//   inside   d = max_k e_k, the nearest face.
SignedDistance distance_to(const GroundBox& box, const Vec3& p) {
  const Vec3 p_S = box.X_WS.R.transpose() * (p - box.X_WS.p);
  const Vec3 e = p_S.cwiseAbs() - box.size / 2;
  const Vec3 sign = p_S.unaryExpr([](double x) { return x < 0 ? -1.0 : 1.0; });
  const Vec3 beyond = e.cwiseMax(0);
  const double d = beyond.stableNorm();
  if (d > kOnSurface) {
    const Vec3 gradient = beyond.cwiseProduct(sign) / d;
    Mat3 hessian = -gradient * gradient.transpose();
    for (int k = 0; k < 3; ++k) hessian(k, k) += e(k) > 0 ? 1 : 0;
    return {d, box.X_WS.R * gradient, box.X_WS.R * (hessian / d) * box.X_WS.R.transpose()};
  }
  Eigen::Index face = 0;
  const double depth = e.maxCoeff(&face);
  return {depth, sign(face) * box.X_WS.R.col(face), Mat3::Zero()};
}

SignedDistance distance_to(const std::shared_ptr<const HeightField>& field, const Vec3& p) {
  return field->distance(p);
}

double bound_of(const GroundPlane& plane, const Vec3& p) { return plane.normal.dot(p - plane.point); }

double bound_of(const GroundBox& box, const Vec3& p) {
  const Vec3 p_S = box.X_WS.R.transpose() * (p - box.X_WS.p);
  return (p_S.cwiseAbs() - box.size / 2).maxCoeff();
}

double bound_of(const std::shared_ptr<const HeightField>& field, const Vec3& p) { return field->distance_bound(p); }

void check_rotation(const Mat3& R, const char* what) {
  if (!R.allFinite() || !(R.transpose() * R).isIdentity(1e-9) || R.determinant() < 0)
    throw InputError(fmt::format("{}: rotation is not a proper orthonormal matrix", what));
}

}  // namespace

SignedDistance Environment::distance(size_t solid, const Vec3& p) const {
  return std::visit([&](const auto& shape) { return distance_to(shape, p); }, solids_[solid].shape);
}

double Environment::distance_bound(size_t solid, const Vec3& p) const {
  return std::visit([&](const auto& shape) { return bound_of(shape, p); }, solids_[solid].shape);
}

void Environment::add_plane(const Vec3& point, const Vec3& normal, std::string name) {
  check_point(point, "plane: point");
  const double length = normal.stableNorm();
  if (!(length >= 1e-12 && length <= kLargestLength))
    throw InputError(
        fmt::format("plane: normal is ({}, {}, {}), expected a direction", normal.x(), normal.y(), normal.z()));
  solids_.push_back({std::move(name), GroundPlane{point, normal / length}});
}

void Environment::add_box(const Pose& X_WS, const Vec3& size, std::string name) {
  check_point(X_WS.p, "box: position");
  check_rotation(X_WS.R, "box");
  for (int k = 0; k < 3; ++k) check_length(size(k), "box: size");
  solids_.push_back({std::move(name), GroundBox{X_WS, size}});
}

void Environment::add_stairs(const Pose& X_WS, const Stairs& stairs, std::string name) {
  check_point(X_WS.p, "stairs: position");
  check_rotation(X_WS.R, "stairs");
  if (stairs.steps < 1 || stairs.steps > kMostSteps)
    throw InputError(fmt::format("stairs: steps is {}, expected an integer in [1, {}]", stairs.steps, kMostSteps));
  check_length(stairs.rise, "stairs: rise");
  check_length(stairs.tread, "stairs: tread");
  check_length(stairs.width, "stairs: width");
  check_length(stairs.landing, "stairs: landing");
  const double end = (stairs.steps - 1) * stairs.tread + stairs.landing;
  const double bottom = -stairs.steps * stairs.rise;
  for (int k = 0; k < stairs.steps; ++k) {
    const double start = k * stairs.tread, top = (k + 1) * stairs.rise;
    const Pose X_SB{Mat3::Identity(), Vec3((start + end) / 2, 0, (bottom + top) / 2)};
    solids_.push_back(
        {fmt::format("{}/step{}", name, k + 1), GroundBox{X_WS * X_SB, Vec3(end - start, stairs.width, top - bottom)}});
  }
}

void Environment::add_height_field(std::shared_ptr<const HeightField> field, std::string name) {
  if (!field) throw InputError("height field: none given");
  solids_.push_back({std::move(name), std::move(field)});
}

}  // namespace scree
