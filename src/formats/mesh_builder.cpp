#include "formats/mesh_builder.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "base/text.h"
#include "scree/error.h"

namespace scree {
namespace {

constexpr size_t kMostEars = 100;  // corners; cutting off ears may take the cube of them

[[noreturn]] void fail_at(const std::string& name, const std::string& what) {
  throw InputError(one_line(fmt::format("{}: {}", name, what)));
}

// Newell's normal: twice the area vector of the polygon.
Vec3 area_vector(const std::vector<Vec3>& points, const std::vector<int>& corners) {
  Vec3 sum = Vec3::Zero();
  const Vec3& o = points[static_cast<size_t>(corners[0])];
  for (size_t k = 1; k + 1 < corners.size(); ++k)
    sum += (points[static_cast<size_t>(corners[k])] - o).cross(points[static_cast<size_t>(corners[k + 1])] - o);
  return sum;
}

}  // namespace

size_t MeshBuilder::Hash::operator()(const std::array<double, 3>& v) const {
  size_t h = 0;
  for (const double x : v) h = (h ^ std::bit_cast<uint64_t>(x)) * 0x9E3779B97F4A7C15u, h ^= h >> 29;
  return h;
}

int MeshBuilder::index(const Vec3& v) {
  // + 0.0 turns -0.0 into 0.0: equal vertices, equal bits.
  const auto [it, is_new] =
      index_of_.try_emplace({v.x() + 0.0, v.y() + 0.0, v.z() + 0.0}, static_cast<int>(mesh_.vertices.size()));
  if (is_new) mesh_.vertices.emplace_back(v);
  return it->second;
}

void MeshBuilder::add_triangle(const Vec3& a, const Vec3& b, const Vec3& c) {
  if (mesh_.triangles.size() >= kMostTriangles)
    fail_at(name_, fmt::format("mesh has more than {} triangles", kMostTriangles));
  mesh_.triangles.push_back({index(a), index(b), index(c)});
  mesh_.colours.push_back(colour_.value_or(kUnpainted));
  painted_ = painted_ || colour_;
}

void MeshBuilder::add_part(const std::vector<Vec3>& points, const std::vector<std::array<int, 3>>& triangles,
                           const Eigen::Affine3d& X_MP) {
  const bool mirrored = X_MP.linear().determinant() < 0;
  for (const auto& t : triangles) {
    Vec3 p[3];
    for (size_t k = 0; k < 3; ++k) {
      p[k] = X_MP * points[static_cast<size_t>(t[k])];
      if (!(p[k].cwiseAbs().maxCoeff() <= kLargestNumber))
        fail_at(name_, fmt::format("a vertex comes to lie at ({:g}, {:g}, {:g}), expected coordinates of at most {:g}",
                                   p[k].x(), p[k].y(), p[k].z(), kLargestNumber));
    }
    add_triangle(p[0], p[mirrored ? 2 : 1], p[mirrored ? 1 : 2]);
  }
}

TriangleMesh MeshBuilder::take() {
  if (mesh_.triangles.empty()) fail_at(name_, "mesh has no triangles");
  if (!painted_) mesh_.colours = {};
  return std::move(mesh_);
}

void MeshBudget::spend(size_t& sum, size_t count, const char* what) {
  if (count > kMostTriangles - sum) fail_at(name_, fmt::format("mesh has more than {} {}", kMostTriangles, what));
  sum += count;
}

void add_polygon(const std::vector<Vec3>& points, const std::vector<int>& corners,
                 std::vector<std::array<int, 3>>& triangles) {
  if (corners.size() < 3) return;
  const auto at = [&](int corner) -> const Vec3& { return points[static_cast<size_t>(corner)]; };
  const Vec3 normal = corners.size() > 3 ? area_vector(points, corners) : Vec3::Zero();
  // Twice the area of a triangle as the polygon's normal sees it, times that normal's length; > 0: turns to the left.
  const auto turn = [&](int a, int b, int c) { return normal.dot((at(b) - at(a)).cross(at(c) - at(a))); };
  const size_t n = corners.size();
  bool convex = true;
  for (size_t k = 0; k < n && convex && n > 3; ++k)
    convex = turn(corners[k], corners[(k + 1) % n], corners[(k + 2) % n]) >= 0;
  if (convex || n > kMostEars || !(normal.squaredNorm() > 0)) {
    for (size_t k = 1; k + 1 < n; ++k) triangles.push_back({corners[0], corners[k], corners[k + 1]});
    return;
  }
  std::vector<int> left = corners;
  while (left.size() > 3) {
    const size_t m = left.size();
    size_t ear = m;
    for (size_t k = 0; k < m && ear == m; ++k) {
      const int a = left[(k + m - 1) % m], b = left[k], c = left[(k + 1) % m];
      if (!(turn(a, b, c) > 0)) continue;
      bool free = true;  // no other corner lies in the triangle
      for (size_t j = 0; j < m && free; ++j) {
        const int p = left[j];
        if (p == a || p == b || p == c || at(p) == at(a) || at(p) == at(b) || at(p) == at(c)) continue;
        free = !(turn(a, b, p) >= 0 && turn(b, c, p) >= 0 && turn(c, a, p) >= 0);
      }
      if (free) ear = k;
    }
    if (ear == m) ear = 0;  // a polygon that crosses itself has none
    triangles.push_back({left[(ear + m - 1) % m], left[ear], left[(ear + 1) % m]});
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(ear));
  }
  triangles.push_back({left[0], left[1], left[2]});
}

}  // namespace scree
