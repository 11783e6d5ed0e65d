#include "scree/mesh.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "formats/mesh_formats.h"
#include "formats/mesh_sources.h"
#include "scree/error.h"

namespace scree {

namespace fs = std::filesystem;

MeshFile load_mesh_file(const fs::path& file) {
  const std::string extension = lower_extension(file), name = file.string();
  const bool stl = extension == ".stl", obj = extension == ".obj", dae = extension == ".dae";
  if (!stl && !obj && !dae && extension != ".gltf" && extension != ".glb")
    throw InputError(one_line(fmt::format(
        "{}: mesh format {} is not supported, expected .stl, .obj, .dae, .gltf or .glb", name, in_quotes(extension))));
  const std::string bytes = read_file(file);
  MeshCompanions companions(file);
  TriangleMesh mesh = stl   ? parse_stl(bytes, name)
                      : obj ? read_obj(bytes, name, companions)
                      : dae ? read_dae(bytes, name, companions)
                            : read_gltf(bytes, name, companions);
  return {std::move(mesh), companions.files(), companions.notes()};
}

TriangleMesh load_mesh(const fs::path& file) { return load_mesh_file(file).mesh; }

std::vector<fs::path> MeshSources::candidates(const std::string& uri) const {
  std::vector<fs::path> places;
  if (uri.starts_with("package://")) {
    const std::string path = uri.substr(10);  // pkg/meshes/arm.stl
    const size_t slash = path.find('/');
    for (const fs::path& root : search_path_) {
      places.push_back(root / path);
      if (slash != std::string::npos) places.push_back(root / path.substr(slash + 1));
    }
  } else if (uri.starts_with("file://")) {
    places.push_back(directory_ / uri.substr(7));
  } else if (uri.find("://") != std::string::npos) {
    throw InputError(
        fmt::format("mesh {} has an unknown scheme, expected a path, package:// or file://", in_quotes(uri)));
  } else {
    places.push_back(directory_ / uri);  // an absolute uri replaces the directory
    if (fs::path(uri).is_relative())
      for (const fs::path& root : search_path_) places.push_back(root / uri);
  }
  return places;
}

std::shared_ptr<const TriangleMesh> MeshSources::read(const std::string& uri) {
  if (loader_) return loader_(uri);
  std::string tried;
  for (const fs::path& place : candidates(uri)) {
    std::error_code error;
    if (fs::exists(place, error)) {
      files_.push_back(place);
      MeshFile found = load_mesh_file(place);
      files_.insert(files_.end(), found.files.begin(), found.files.end());
      notes_[uri] = std::move(found.notes);
      return std::make_shared<const TriangleMesh>(std::move(found.mesh));
    }
    tried += (tried.empty() ? "" : ", ") + place.lexically_normal().string();
  }
  throw InputError(fmt::format("mesh {} not found, tried: {}", in_quotes(uri),
                               tried.empty() ? "nothing, the search path is empty" : tried));
}

std::shared_ptr<const TriangleMesh> MeshSources::get(const std::string& uri) {
  std::shared_ptr<const TriangleMesh>& mesh = loaded_[uri];
  if (!mesh) mesh = read(uri);
  if (!mesh || mesh->triangles.empty()) throw InputError(fmt::format("mesh {} has no triangles", in_quotes(uri)));
  return mesh;
}

}  // namespace scree
