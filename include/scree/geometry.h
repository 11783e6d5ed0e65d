// Shapes a body carries, for collision and for view.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "scree/types.h"

namespace scree {

// Every shape lives in its own frame S. Lengths in [m].
struct Sphere {
  double radius = 0;  // > 0, of colliders >= 0; centred at the origin
};
struct Box {
  Vec3 size = Vec3::Zero();  // > 0, full edge lengths, centred at the origin
};
struct Capsule {
  double radius = 0;  // > 0
  double length = 0;  // >= 0, centre line along z, from -length/2 to +length/2 (caps not counted)
};
struct Cylinder {
  double radius = 0;  // > 0
  double length = 0;  // > 0, axis along z, centred at the origin
};
struct Plane {};  // the half space z <= 0 with outward normal +z

struct TriangleMesh {
  std::vector<Vec3> vertices;  // [m] as in the file, before scaling
  std::vector<std::array<int, 3>> triangles;
  std::vector<std::array<float, 4>> colours = {};  // rgba in [0, 1], one for each triangle; empty: the file has none
};
struct Mesh {
  std::string uri;                           // as written in the model file: relative path or package://
  Vec3 scale = Vec3::Ones();                 // per axis, not zero
  std::shared_ptr<const TriangleMesh> data;  // shared between models; never null after loading
};

class HeightField;  // scree/height_field.h: of the world alone

using Geometry = std::variant<Sphere, Box, Capsule, Cylinder, Plane, Mesh, std::shared_ptr<const HeightField>>;

enum class ShapeRole { collision, view };

struct Shape {
  std::string name;  // may be empty
  BodyIndex body;    // kWorld: fixed to the world; set by ModelBuilder
  ShapeRole role = ShapeRole::view;
  Pose X_BS;                                          // shape frame in the body frame
  Geometry geometry;                                  // a collision mesh stands for its convex hull
  std::array<double, 4> rgba = {0.7, 0.7, 0.7, 1.0};  // view only, each in [0, 1]
};

const char* geometry_name(const Geometry& geometry);  // "sphere", "box", ...

}  // namespace scree
