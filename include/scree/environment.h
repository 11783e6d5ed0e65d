// Environment: the solid ground a robot may touch. Every solid is a signed distance with gradient and Hessian.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "scree/types.h"

namespace scree {

// Distance of a point to the surface of a solid [m], negative inside. Off the medial axis the gradient has length 1 and
// points out of the solid.
struct SignedDistance {
  double value = 0;
  Vec3 gradient = Vec3::UnitZ();
  Mat3 hessian = Mat3::Zero();  // [1/m]
};

// The half space below a plane.
struct GroundPlane {
  Vec3 point = Vec3::Zero();    // [m] any point of the surface
  Vec3 normal = Vec3::UnitZ();  // unit, out of the ground
};

struct GroundBox {
  Pose X_WS;                 // centre and orientation
  Vec3 size = Vec3::Zero();  // > 0 [m], full edge lengths
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

using GroundShape = std::variant<GroundPlane, GroundBox, std::shared_ptr<const HeightField>>;

struct Solid {
  std::string name;  // for messages and the replay; may be empty
  GroundShape shape;
};

// A set of solids that may overlap. A point touches each of them by itself: where a tread meets a riser a foot has two
// contacts.
class Environment {
 public:
  // Each throws InputError for numbers that are not finite or out of range.
  void add_plane(const Vec3& point, const Vec3& normal, std::string name = "ground");
  void add_box(const Pose& X_WS, const Vec3& size, std::string name = "box");
  // A flight of steps climbing along +x of `X_WS`, whose origin lies on the lower floor at the middle of the first
  // riser. Steps are boxes nested into each other, all ending with the landing, so no tread has a seam; they reach as
  // deep below the floor as the flight climbs above it.
  struct Stairs {
    int steps = 1;       // in [1, 1000]
    double rise = 0;     // > 0 [m] height of one step
    double tread = 0;    // > 0 [m] depth of one step
    double width = 0;    // > 0 [m] along y
    double landing = 1;  // > 0 [m] depth of the last step
  };
  void add_stairs(const Pose& X_WS, const Stairs& stairs, std::string name = "stairs");
  void add_height_field(std::shared_ptr<const HeightField> field, std::string name = "terrain");

  const std::vector<Solid>& solids() const { return solids_; }
  SignedDistance distance(size_t solid, const Vec3& p) const;
  // At most the true distance, and cheap: to leave far solids alone.
  double distance_bound(size_t solid, const Vec3& p) const;

 private:
  std::vector<Solid> solids_;
};

}  // namespace scree
