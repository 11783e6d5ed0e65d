// Small value types shared by every public header: vectors, poses, typed indices.
//
// SI units and radians throughout. Frames follow the monogram notation of docs/conventions.md:
// X_WB is the pose of frame B measured in W, and neighbouring letters must meet: X_WA * X_AB = X_WB.
#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <compare>

namespace scree {

using Vec3 = Eigen::Vector3d;
using Mat3 = Eigen::Matrix3d;
using Quat = Eigen::Quaterniond;  // Eigen stores (x, y, z, w); files and q vectors use (w, x, y, z)

// A rigid transform: rotation and translation [m].
struct Pose {
  Mat3 R = Mat3::Identity();
  Vec3 p = Vec3::Zero();

  Pose operator*(const Pose& other) const { return {R * other.R, R * other.p + p}; }
  Vec3 operator*(const Vec3& point) const { return R * point + p; }
  Pose inverse() const { return {R.transpose(), -(R.transpose() * p)}; }
};

// An integer that belongs to one kind of thing: passing a body where a joint is wanted does not compile.
template <class Tag> class TypedIndex {
 public:
  constexpr TypedIndex() = default;
  constexpr explicit TypedIndex(int value) : value_(value) {}
  constexpr int value() const { return value_; }
  constexpr bool valid() const { return value_ >= 0; }
  friend constexpr auto operator<=>(TypedIndex, TypedIndex) = default;

 private:
  int value_ = -2;  // none: neither a thing of the model nor the world
};
using BodyIndex = TypedIndex<struct BodyTag>;
using JointIndex = TypedIndex<struct JointTag>;

// The world is the parent of every root; it is not one of the model's bodies.
inline constexpr BodyIndex kWorld{-1};

}  // namespace scree
