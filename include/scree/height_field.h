// Height fields: ground whose height is a smooth function of place.
#pragma once

#include "scree/types.h"

namespace scree {

// Distance of a point to the surface of a solid [m], negative inside. Off the medial axis the gradient has length 1 and
// points out of the solid.
struct SignedDistance {
  double value = 0;
  Vec3 gradient = Vec3::UnitZ();
  Mat3 hessian = Mat3::Zero();  // [1/m]
};

// The solid below a surface z = H(x, y): heights on a regular grid, interpolated by bicubic splines (twice
// continuously differentiable). Beyond its rim the surface goes on with the height of the nearest rim point.
class HeightField {
 public:
  // heights(i, j) [m] at (origin.x + i spacing, origin.y + j spacing); at least 4 x 4, finite. Throws InputError.
  HeightField(const Eigen::MatrixXd& heights, const Eigen::Vector2d& origin, double spacing);

  struct Height {
    double value;             // [m]
    Eigen::Vector2d slope;    // dH/dx, dH/dy
    Eigen::Matrix2d bending;  // second derivatives [1/m]
  };
  Height height(double x, double y) const;
  // To the nearest surface point, by Newton's method from the point below p and, if nearer, the nearest grid point.
  SignedDistance distance(const Vec3& p) const;
  double distance_bound(const Vec3& p) const;  // at most the distance

  const Eigen::MatrixXd& heights() const { return heights_; }
  const Eigen::Vector2d& origin() const { return origin_; }
  double spacing() const { return spacing_; }

 private:
  friend struct FootSearch;
  Height inside(const Eigen::Vector2d& at) const;  // `at` from the origin, moved inside the rim

  Eigen::MatrixXd heights_, coefficients_;  // coefficients of the B-splines: one more on every side
  Eigen::Vector2d origin_;
  double spacing_;
  double top_, steepness_;  // bounds on H [m] and on |dH|
};

}  // namespace scree
