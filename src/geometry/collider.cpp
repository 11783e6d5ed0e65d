#include "scree/collider.h"

#include <cassert>

#include "geometry/checks.h"

namespace scree {
namespace {

// Closer to an edge than this a point counts as on the nearest face: the edge's curvature 1/d says nothing there.
constexpr double kOnSurface = 1e-9;  // [m]

constexpr int kMostSteps = 1000;

// Of a point p of the world to a shape at X_WS.
SignedDistance distance_to(const Plane&, const Pose& X_WS, const Vec3& p) {
  const Vec3 normal = X_WS.R.col(2);
  return {normal.dot(p - X_WS.p), normal, Mat3::Zero()};
}

// With e_k = |p_k| - size_k / 2 in the axes of the box and e+ = max(0, e):
//   outside  d = |e+|,  grad = sign(p) e+ / d,  Hessian = (diag(e > 0) - grad grad^T) / d: zero before a face, the
//            curvature of a cylinder about an edge, of a sphere about a corner;
//   inside   d = max_k e_k, the nearest face.
SignedDistance distance_to(const Box& box, const Pose& X_WS, const Vec3& p) {
  const Vec3 p_S = X_WS.R.transpose() * (p - X_WS.p);
  const Vec3 e = p_S.cwiseAbs() - box.size / 2;
  const Vec3 sign = p_S.unaryExpr([](double x) { return x < 0 ? -1.0 : 1.0; });
  const Vec3 beyond = e.cwiseMax(0);
  const double d = beyond.stableNorm();
  if (d > kOnSurface) {
    const Vec3 gradient = beyond.cwiseProduct(sign) / d;
    Mat3 hessian = -gradient * gradient.transpose();
    for (int k = 0; k < 3; ++k) hessian(k, k) += e(k) > 0 ? 1 : 0;
    return {d, X_WS.R * gradient, X_WS.R * (hessian / d) * X_WS.R.transpose()};
  }
  Eigen::Index face = 0;
  const double depth = e.maxCoeff(&face);
  return {depth, sign(face) * X_WS.R.col(face), Mat3::Zero()};
}

SignedDistance distance_to(const std::shared_ptr<const HeightField>& field, const Pose& X_WS, const Vec3& p) {
  const SignedDistance d = field->distance(X_WS.R.transpose() * (p - X_WS.p));
  return {d.value, X_WS.R * d.gradient, X_WS.R * d.hessian * X_WS.R.transpose()};
}

double bound_of(const Plane&, const Pose& X_WS, const Vec3& p) { return X_WS.R.col(2).dot(p - X_WS.p); }

double bound_of(const Box& box, const Pose& X_WS, const Vec3& p) {
  const Vec3 p_S = X_WS.R.transpose() * (p - X_WS.p);
  return (p_S.cwiseAbs() - box.size / 2).maxCoeff();
}

double bound_of(const std::shared_ptr<const HeightField>& field, const Pose& X_WS, const Vec3& p) {
  return field->distance_bound(X_WS.R.transpose() * (p - X_WS.p));
}

// check_collider lets no other shape into the world.
template <class Shape> SignedDistance distance_to(const Shape&, const Pose&, const Vec3&) {
  assert(false);
  return {};
}
template <class Shape> double bound_of(const Shape&, const Pose&, const Vec3&) {
  assert(false);
  return 0;
}

void check_rotation(const Mat3& R, const char* what) {
  if (!R.allFinite() || !(R.transpose() * R).isIdentity(1e-9) || R.determinant() < 0)
    throw InputError(fmt::format("{}: rotation is not a proper orthonormal matrix", what));
}

// Axes of a plane: z is its normal, bit for bit.
Mat3 axes_of(const Vec3& normal) {
  Mat3 R;
  R.col(2) = normal;
  R.col(0) = (std::abs(normal.x()) < 0.9 ? Vec3::UnitX() : Vec3::UnitY()).cross(normal).normalized();
  R.col(1) = normal.cross(R.col(0));
  return R;
}

}  // namespace

std::vector<ContactPair> contact_pairs(const std::vector<Collider>& colliders) {
  std::vector<ContactPair> pairs;
  for (size_t a = 0; a < colliders.size(); ++a) {
    if (colliders[a].body == kWorld) continue;
    for (size_t b = 0; b < colliders.size(); ++b)
      if (colliders[b].body == kWorld) pairs.push_back({static_cast<int>(a), static_cast<int>(b)});
  }
  return pairs;
}

void check_collider(const Collider& collider) {
  const std::string what = fmt::format("collider \"{}\"", collider.name);
  if (collider.body == BodyIndex())
    throw InputError(fmt::format("{}: it has no body, expected one of the model, or kWorld", what));
  check_point(collider.X_BS.p, (what + ": position").c_str());
  check_rotation(collider.X_BS.R, what.c_str());
  const char* shape = geometry_name(collider.shape);
  if (collider.body == kWorld) {
    if (const auto* box = std::get_if<Box>(&collider.shape))
      for (int k = 0; k < 3; ++k) check_length(box->size(k), (what + ": size").c_str());
    else if (const auto* field = std::get_if<std::shared_ptr<const HeightField>>(&collider.shape)) {
      if (!*field) throw InputError(fmt::format("{}: no height field given", what));
    } else if (!std::holds_alternative<Plane>(collider.shape))
      throw InputError(
          fmt::format("{}: a {} is fixed to the world, expected a plane, a box or a height field", what, shape));
    return;
  }
  const auto* sphere = std::get_if<Sphere>(&collider.shape);
  if (!sphere) throw InputError(fmt::format("{}: a {} of a body, expected spheres (of radius 0: points)", what, shape));
  if (!(sphere->radius >= 0 && sphere->radius <= kLargestLength))
    throw InputError(
        fmt::format("{}: radius is {}, expected a number in [0, {:g}] m", what, sphere->radius, kLargestLength));
}

SignedDistance distance(const Collider& fixed, const Vec3& p) {
  return std::visit([&](const auto& shape) { return distance_to(shape, fixed.X_BS, p); }, fixed.shape);
}

double distance_bound(const Collider& fixed, const Vec3& p) {
  return std::visit([&](const auto& shape) { return bound_of(shape, fixed.X_BS, p); }, fixed.shape);
}

Collider plane_collider(const Vec3& point, const Vec3& normal, std::string name) {
  check_point(point, "plane: point");
  const double length = normal.stableNorm();
  if (!(length >= 1e-12 && length <= kLargestLength))
    throw InputError(
        fmt::format("plane: normal is ({}, {}, {}), expected a direction", normal.x(), normal.y(), normal.z()));
  return {std::move(name), kWorld, {axes_of(normal / length), point}, Plane{}};
}

Collider box_collider(const Pose& X_WS, const Vec3& size, std::string name) {
  check_point(X_WS.p, "box: position");
  check_rotation(X_WS.R, "box");
  for (int k = 0; k < 3; ++k) check_length(size(k), "box: size");
  return {std::move(name), kWorld, X_WS, Box{size}};
}

std::vector<Collider> stairs_colliders(const Pose& X_WS, const Stairs& stairs, std::string name) {
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
  std::vector<Collider> steps;
  for (int k = 0; k < stairs.steps; ++k) {
    const double start = k * stairs.tread, top = (k + 1) * stairs.rise;
    const Pose X_SB{Mat3::Identity(), Vec3((start + end) / 2, 0, (bottom + top) / 2)};
    steps.push_back({fmt::format("{}/step{}", name, k + 1), kWorld, X_WS * X_SB,
                     Box{Vec3(end - start, stairs.width, top - bottom)}});
  }
  return steps;
}

Collider height_field_collider(std::shared_ptr<const HeightField> field, std::string name) {
  if (!field) throw InputError("height field: none given");
  return {std::move(name), kWorld, Pose{}, std::move(field)};
}

Collider point_collider(BodyIndex body, const Vec3& p_B, double radius, std::string name) {
  return {std::move(name), body, {Mat3::Identity(), p_B}, Sphere{radius}};
}

}  // namespace scree
