// A mesh from triangles that repeat their vertices: equal ones are stored once. Within the limits of every mesh.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "scree/geometry.h"

namespace scree {

inline constexpr size_t kMostTriangles = 10'000'000;  // of one mesh; a small file may place the same ones many times

using Colour = std::array<float, 4>;                            // rgba in [0, 1], sRGB as in URDF
inline constexpr Colour kUnpainted = {0.7f, 0.7f, 0.7f, 1.0f};  // as a shape without a colour

class MeshBuilder {
 public:
  explicit MeshBuilder(const std::string& name) : name_(name) {}
  void paint(const std::optional<Colour>& colour) { colour_ = colour; }  // of the triangles to come
  void add_triangle(const Vec3& a, const Vec3& b, const Vec3& c);        // any finite coordinates
  // Triangles of `points` as they are where X_MP puts the part; their order turns where X_MP mirrors. Throws InputError
  // if a coordinate becomes too large.
  void add_part(const std::vector<Vec3>& points, const std::vector<std::array<int, 3>>& triangles,
                const Eigen::Affine3d& X_MP);
  TriangleMesh take();  // throws InputError if there is no triangle

 private:
  struct Hash {
    size_t operator()(const std::array<double, 3>& v) const;
  };
  int index(const Vec3& v);

  std::string name_;
  TriangleMesh mesh_;
  std::optional<Colour> colour_;
  bool painted_ = false;
  std::unordered_map<std::array<double, 3>, int, Hash> index_of_;
};

// Vertices and triangles that are decoded, of which there may be more than are placed.
class MeshBudget {
 public:
  explicit MeshBudget(const std::string& name) : name_(name) {}
  void vertices(size_t count) { spend(vertices_, count, "vertices"); }
  void triangles(size_t count) { spend(triangles_, count, "triangles"); }

 private:
  void spend(size_t& sum, size_t count, const char* what);
  std::string name_;
  size_t vertices_ = 0, triangles_ = 0;
};

// The polygon `corners` of `points` as triangles: a fan where it is convex, else ears are cut off one after another.
void add_polygon(const std::vector<Vec3>& points, const std::vector<int>& corners,
                 std::vector<std::array<int, 3>>& triangles);

}  // namespace scree
