// Meshes small enough for a replay, by vertex clustering: coarse, but it never fails and keeps the outline.
#include <algorithm>
#include <cmath>
#include <map>

#include "pages/replay_data.h"

namespace scree {
namespace {

// One vertex per occupied cell, at the mean of those in it; triangles that lost a corner go.
TriangleMesh cluster(const TriangleMesh& mesh, const Vec3& lowest, double cell) {
  std::map<std::array<int, 3>, int> index_of;
  std::vector<int> moved;
  std::vector<double> count;
  TriangleMesh result;
  for (const Vec3& p : mesh.vertices) {
    const Vec3 k = (p - lowest) / cell;
    const std::array<int, 3> key = {static_cast<int>(k.x()), static_cast<int>(k.y()), static_cast<int>(k.z())};
    const auto [it, fresh] = index_of.try_emplace(key, static_cast<int>(result.vertices.size()));
    if (fresh) {
      result.vertices.push_back(Vec3::Zero());
      count.push_back(0);
    }
    result.vertices[static_cast<size_t>(it->second)] += p;
    count[static_cast<size_t>(it->second)] += 1;
    moved.push_back(it->second);
  }
  for (size_t i = 0; i < count.size(); ++i) result.vertices[i] /= count[i];
  for (const auto& t : mesh.triangles) {
    std::array<int, 3> s;
    for (size_t k = 0; k < 3; ++k) s[k] = moved[static_cast<size_t>(t[k])];
    if (s[0] != s[1] && s[1] != s[2] && s[2] != s[0]) result.triangles.push_back(s);
  }
  return result;
}

}  // namespace

size_t packed_size(const TriangleMesh& mesh) { return 12 * (mesh.vertices.size() + mesh.triangles.size()); }

TriangleMesh shrink_mesh(const TriangleMesh& mesh, size_t most_bytes) {
  if (packed_size(mesh) <= most_bytes) return mesh;
  Vec3 lowest = mesh.vertices.front(), highest = lowest;
  for (const Vec3& p : mesh.vertices) {
    lowest = lowest.cwiseMin(p);
    highest = highest.cwiseMax(p);
  }
  const double extent = std::max((highest - lowest).maxCoeff(), 1e-9);
  TriangleMesh result;
  double cells = 512;  // along the longest side; one cell leaves one vertex and no triangle, so the loop ends
  do {
    result = cluster(mesh, lowest, extent / cells);
    cells *= 0.75;
  } while (packed_size(result) > most_bytes && cells > 0.5);
  return result;
}

}  // namespace scree
