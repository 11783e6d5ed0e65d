// Meshes small enough for a replay, by vertex clustering: coarse, but it keeps the outline. What clustering would leave
// nothing of becomes its box.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "pages/replay_data.h"

namespace scree {
namespace {

constexpr double kLeastOutline = 0.7;  // of the diagonal: what is left of a mesh has to reach as far
constexpr size_t kMostColours = 64;    // of a mesh

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
  for (size_t i = 0; i < mesh.triangles.size(); ++i) {
    std::array<int, 3> s;
    for (size_t k = 0; k < 3; ++k) s[k] = moved[static_cast<size_t>(mesh.triangles[i][k])];
    if (s[0] == s[1] || s[1] == s[2] || s[2] == s[0]) continue;
    result.triangles.push_back(s);
    if (!mesh.colours.empty()) result.colours.push_back(mesh.colours[i]);
  }
  return result;
}

struct MeshExtent {
  Vec3 lowest, highest;
  double diagonal() const { return (highest - lowest).norm(); }
};

// Of the corners of triangles; there is at least one.
MeshExtent extent_of(const TriangleMesh& mesh) {
  const auto first = static_cast<size_t>(mesh.triangles.front()[0]);
  MeshExtent e{mesh.vertices[first], mesh.vertices[first]};
  for (const auto& t : mesh.triangles)
    for (const int corner : t) {
      e.lowest = e.lowest.cwiseMin(mesh.vertices[static_cast<size_t>(corner)]);
      e.highest = e.highest.cwiseMax(mesh.vertices[static_cast<size_t>(corner)]);
    }
  return e;
}

// The box around the mesh, in the colour that most of its triangles have.
TriangleMesh box_of(const TriangleMesh& mesh, const MeshExtent& e) {
  TriangleMesh box;
  for (int k = 0; k < 8; ++k) {
    const auto pick = [&](int axis) { return (k >> axis & 1) != 0 ? e.highest(axis) : e.lowest(axis); };
    box.vertices.emplace_back(pick(0), pick(1), pick(2));
  }
  box.triangles = {{0, 2, 1}, {1, 2, 3}, {4, 5, 6}, {5, 7, 6}, {0, 1, 4}, {1, 5, 4},
                   {2, 6, 3}, {3, 6, 7}, {0, 4, 2}, {2, 4, 6}, {1, 3, 5}, {3, 7, 5}};
  if (mesh.colours.empty()) return box;
  std::map<std::array<float, 4>, size_t> count;
  for (const auto& colour : mesh.colours) ++count[colour];
  const auto most = std::ranges::max_element(count, {}, [](const auto& entry) { return entry.second; });
  box.colours.assign(box.triangles.size(), most->first);
  return box;
}

}  // namespace

size_t packed_size(const TriangleMesh& mesh) { return 12 * (mesh.vertices.size() + mesh.triangles.size()); }

size_t fair_share(std::vector<size_t> sizes, size_t most_bytes) {
  std::ranges::sort(sizes);
  size_t left = most_bytes;
  for (size_t k = 0; k < sizes.size(); ++k) {
    const size_t share = left / (sizes.size() - k);
    if (sizes[k] > share) return share;
    left -= sizes[k];
  }
  return most_bytes;
}

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
  const MeshExtent whole = extent_of(mesh);
  if (result.triangles.empty() || extent_of(result).diagonal() < kLeastOutline * whole.diagonal())
    return box_of(mesh, whole);
  return result;
}

std::vector<Paint> sort_by_colour(TriangleMesh& mesh) {
  std::vector<Paint> paints;
  if (mesh.colours.empty()) return paints;
  const size_t n = mesh.triangles.size();
  std::vector<std::array<int, 4>> colour(n);
  // With fewer steps of each channel there are fewer colours; with one, at most sixteen.
  for (int steps = 255; steps >= 1; steps /= 2) {
    std::set<std::array<int, 4>> distinct;
    for (size_t i = 0; i < n; ++i) {
      for (size_t k = 0; k < 4; ++k) {
        const double level = std::round(std::clamp(static_cast<double>(mesh.colours[i][k]), 0.0, 1.0) * steps);
        colour[i][k] = static_cast<int>(std::round(level * 255 / steps));
      }
      if (distinct.size() <= kMostColours) distinct.insert(colour[i]);
    }
    if (distinct.size() <= kMostColours) break;
  }
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  const auto rank = [&](size_t i) { return std::pair(colour[i][3] < 255, colour[i]); };  // opaque ones first
  std::ranges::stable_sort(order, {}, rank);
  TriangleMesh sorted;
  for (const size_t i : order) {
    sorted.triangles.push_back(mesh.triangles[i]);
    sorted.colours.push_back(mesh.colours[i]);
    const auto& [red, green, blue, alpha] = colour[i];
    const Paint paint = {1, red, green, blue, alpha};
    if (!paints.empty() && std::equal(paint.begin() + 1, paint.end(), paints.back().begin() + 1))
      ++paints.back()[0];
    else
      paints.push_back(paint);
  }
  mesh.triangles = std::move(sorted.triangles);
  mesh.colours = std::move(sorted.colours);
  return paints;
}

bool shows_own_colours(const Mesh& mesh, const std::array<double, 4>& rgba) {
  const auto& colours = mesh.data->colours;
  if (colours.empty()) return false;
  const bool several = std::ranges::any_of(colours, [&](const auto& colour) { return colour != colours.front(); });
  return several || rgba == Shape().rgba;
}

}  // namespace scree
