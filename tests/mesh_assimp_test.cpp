// Meshes beside assimp, which most robotics tools read them with: the same triangles, by number, area, volume, box and
// colour. On files made here, and on every mesh of the folders that SCREE_MESH_FOLDERS names (separated by colons).
#include <assimp/postprocess.h>
#include <assimp/scene.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <assimp/Importer.hpp>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/files.h"
#include "scree/error.h"
#include "scree/mesh.h"
#include "support/mesh_samples.h"
#include "support/temp_folder.h"

namespace scree {
namespace {

namespace fs = std::filesystem;

struct Measure {
  size_t triangles = 0, slivers = 0;  // with an area; and about as small as rounding leaves it
  double area = 0, volume = 0;
  Vec3 low = Vec3::Constant(INFINITY), high = Vec3::Constant(-INFINITY);

  double size() const { return (high - low).norm(); }
};

using Triangle = std::array<Vec3, 3>;

Measure measure(const std::vector<Triangle>& triangles) {
  Measure m;
  for (const Triangle& t : triangles)
    for (const Vec3& p : t) {
      m.low = m.low.cwiseMin(p);
      m.high = m.high.cwiseMax(p);
    }
  const Vec3 middle = (m.low + m.high) / 2;
  for (const auto& [a, b, c] : triangles) {
    const double area = (b - a).cross(c - a).norm() / 2;
    m.area += area;
    m.volume += (a - middle).dot((b - middle).cross(c - middle)) / 6;
    const double part = area / (m.size() * m.size());
    m.triangles += part > 1e-9 ? 1 : 0;
    m.slivers += part > 1e-11 && part < 1e-7 ? 1 : 0;
  }
  return m;
}

Measure measure(const TriangleMesh& mesh) {
  std::vector<Triangle> triangles;
  for (const auto& t : mesh.triangles)
    triangles.push_back({mesh.vertices[static_cast<size_t>(t[0])], mesh.vertices[static_cast<size_t>(t[1])],
                         mesh.vertices[static_cast<size_t>(t[2])]});
  return measure(triangles);
}

void collect(const aiScene& scene, const aiNode& node, aiMatrix4x4 above, bool y_up, std::vector<Triangle>& triangles) {
  const aiMatrix4x4 X = above * node.mTransformation;
  for (unsigned k = 0; k < node.mNumMeshes; ++k) {
    const aiMesh& mesh = *scene.mMeshes[node.mMeshes[k]];
    for (unsigned f = 0; f < mesh.mNumFaces; ++f) {
      if (mesh.mFaces[f].mNumIndices != 3) continue;
      Triangle t;
      for (unsigned c = 0; c < 3; ++c) {
        const aiVector3D p = X * mesh.mVertices[mesh.mFaces[f].mIndices[c]];
        t[c] = y_up ? Vec3(p.x, -p.z, p.y) : Vec3(p.x, p.y, p.z);
      }
      if (X.Determinant() < 0) std::swap(t[1], t[2]);
      triangles.push_back(t);
    }
  }
  for (unsigned k = 0; k < node.mNumChildren; ++k) collect(scene, *node.mChildren[k], X, y_up, triangles);
}

std::optional<Measure> by_assimp(const fs::path& file) {
  Assimp::Importer importer;
  importer.SetPropertyBool(AI_CONFIG_IMPORT_COLLADA_IGNORE_UP_DIRECTION, true);
  const aiScene* scene = importer.ReadFile(file.string(), aiProcess_Triangulate);
  if (!scene || !scene->mRootNode) return std::nullopt;
  const std::string extension = lower_extension(file);
  std::vector<Triangle> triangles;
  collect(*scene, *scene->mRootNode, aiMatrix4x4(), extension == ".gltf" || extension == ".glb", triangles);
  if (triangles.empty()) return std::nullopt;
  return measure(triangles);
}

// What differs, empty if nothing does. assimp computes in float: a part in 1e7 of each coordinate, which a sum over n
// triangles of mixed sign, or a product of transformations, carries on.
std::string difference(const Measure& ours, const Measure& theirs) {
  const double size = theirs.size(), length = 1e-5 * (size + theirs.low.cwiseAbs().maxCoeff());
  std::string what;
  const auto [fewer, more] = std::minmax(ours.triangles, theirs.triangles);
  if (more - fewer > std::min(ours.slivers, theirs.slivers))
    what += fmt::format(" triangles {} {};", ours.triangles, theirs.triangles);
  if (const double gap = std::max((ours.low - theirs.low).norm(), (ours.high - theirs.high).norm()); !(gap <= length))
    what += fmt::format(" box off by {:g} of {:g};", gap, size);
  if (!(std::abs(ours.area - theirs.area) <= 1e-4 * theirs.area))
    what += fmt::format(" area {} {};", ours.area, theirs.area);
  if (!(std::abs(ours.volume - theirs.volume) <= length * theirs.area))
    what += fmt::format(" volume {} {};", ours.volume, theirs.volume);
  return what;
}

TEST(MeshAssimp, FilesMadeHere) {
  const TempFolder folder;
  for (const MeshSample& sample : mesh_samples()) {
    if (!sample.assimp_reads_it) continue;
    const fs::path file = folder / sample.name;
    write_sample(sample, file);
    const std::optional<Measure> theirs = by_assimp(file);
    ASSERT_TRUE(theirs) << sample.name;
    EXPECT_EQ(difference(measure(load_mesh(file)), *theirs), "") << sample.name;
  }
}

TEST(MeshAssimp, FoldersOfRealFiles) {
  const char* folders = std::getenv("SCREE_MESH_FOLDERS");
  if (!folders) GTEST_SKIP() << "SCREE_MESH_FOLDERS names no folders";
  const std::set<std::string> formats = {".dae", ".gltf", ".glb", ".obj"};
  size_t same = 0, refused = 0, both_refuse = 0, different = 0;
  std::string list = folders;
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find(':', at), list.size());
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(list.substr(at, end - at)))
      if (entry.is_regular_file() && formats.contains(lower_extension(entry.path()))) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) {
      const std::optional<Measure> theirs = by_assimp(file);
      try {
        const Measure ours = measure(load_mesh(file));
        const std::string what = theirs ? difference(ours, *theirs) : " assimp finds no triangles;";
        (what.empty() ? same : different) += 1;
        if (!what.empty()) fmt::print("{}:{}\n", file.string(), what);
      } catch (const InputError& error) {
        (theirs ? refused : both_refuse) += 1;
        fmt::print("{}{}\n", theirs ? "only we refuse: " : "both refuse: ", error.what());
      }
    }
    at = end + 1;
  }
  fmt::print("{} as assimp reads them, {} otherwise, {} refused by scree alone, {} by both\n", same, different, refused,
             both_refuse);
  EXPECT_EQ(refused, 0u);
}

}  // namespace
}  // namespace scree
