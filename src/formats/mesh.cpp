#include "scree/mesh.h"

#include <fmt/format.h>

#include <algorithm>

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

namespace {

constexpr size_t kMostAncestors = 32;  // folders above the model that are looked at
constexpr size_t kMostNamed = 4;       // of the places tried, in a message

// The folders that hold the model, nearest first, without the root of the file system.
std::vector<fs::path> ancestors(const fs::path& folder) {
  std::error_code error;
  fs::path at = fs::absolute(folder.empty() ? fs::path(".") : folder, error).lexically_normal();
  if (error) return {};
  if (!at.has_filename()) at = at.parent_path();  // "a/b/" and "a/b" are one folder
  std::vector<fs::path> folders;
  for (; at.has_relative_path() && folders.size() < kMostAncestors; at = at.parent_path()) folders.push_back(at);
  return folders;
}

// Without its first component; empty if there is no other.
fs::path without_first(const fs::path& path) {
  fs::path rest;
  for (auto it = path.begin(); it != path.end(); ++it)
    if (it != path.begin()) rest /= *it;
  return rest;
}

}  // namespace

// `path` begins with the name of a package or folder that may be the model's own, one above it, or beside one of these.
void MeshSources::add_around(const fs::path& path, std::vector<fs::path>& places) const {
  const fs::path inside = without_first(path);
  const std::string package = path.empty() ? "" : path.begin()->string();
  if (package == "..") return;
  for (const fs::path& folder : ancestors(directory_)) {
    if (folder.filename() == package && !inside.empty()) places.push_back(folder / inside);
    places.push_back(folder / path);
  }
}

std::vector<fs::path> MeshSources::candidates(const std::string& uri) const {
  std::vector<fs::path> places;
  const size_t colon = uri.find("://");
  const std::string scheme = colon == std::string::npos ? "" : uri.substr(0, colon);
  const std::string path = colon == std::string::npos ? uri : uri.substr(colon + 3);
  if (scheme == "package" || scheme == "model") {  // pkg/meshes/arm.stl
    const size_t slash = path.find('/');
    for (const fs::path& root : search_path_) {
      places.push_back(root / path);
      if (slash != std::string::npos) places.push_back(root / path.substr(slash + 1));
    }
    const fs::path plain = fs::path(path).relative_path().lexically_normal();
    add_around(plain, places);
    const fs::path inside = without_first(plain);  // the folder of the package may have another name here
    if (!inside.empty() && *plain.begin() != "..")
      for (const fs::path& folder : ancestors(directory_)) places.push_back(folder / inside);
  } else if (scheme.empty() || scheme == "file") {
    places.push_back(directory_ / path);  // an absolute path replaces the directory
    const fs::path plain = fs::path(path).lexically_normal();
    if (plain.is_relative()) {
      for (const fs::path& root : search_path_) places.push_back(root / path);
      add_around(plain, places);
    } else {
      // On another machine: below a folder of ours that has the name of one of its folders.
      for (const fs::path& folder : ancestors(directory_)) {
        fs::path below = plain.relative_path();
        while (!below.empty() && *below.begin() != folder.filename()) below = without_first(below);
        below = without_first(below);
        if (!below.empty()) places.push_back(folder / below);
      }
    }
  } else {
    throw InputError(
        fmt::format("mesh {} has an unknown scheme, expected a path, package://, model:// or file://", in_quotes(uri)));
  }
  return places;
}

std::shared_ptr<const TriangleMesh> MeshSources::read(const std::string& uri) {
  if (loader_) return loader_(uri);
  if (uri.empty()) throw InputError("mesh has no name");
  std::string tried;
  std::vector<fs::path> places;
  for (const fs::path& place : candidates(uri))
    if (std::ranges::find(places, place) == places.end()) places.push_back(place);
  for (const fs::path& place : places) {
    std::error_code error;
    if (!fs::exists(place, error) || fs::is_directory(place, error)) continue;
    files_.push_back(place);
    MeshFile found = load_mesh_file(place);
    files_.insert(files_.end(), found.files.begin(), found.files.end());
    notes_[uri] = std::move(found.notes);
    return std::make_shared<const TriangleMesh>(std::move(found.mesh));
  }
  for (size_t k = 0; k < std::min(places.size(), kMostNamed); ++k)
    tried += (tried.empty() ? "" : ", ") + places[k].lexically_normal().string();
  if (places.size() > kMostNamed) tried += fmt::format(" and {} more", places.size() - kMostNamed);
  throw InputError(fmt::format("mesh {} not found, tried: {}", in_quotes(uri), tried));
}

std::shared_ptr<const TriangleMesh> MeshSources::get(const std::string& uri) {
  if (const auto failed = failed_.find(uri); failed != failed_.end()) throw InputError(failed->second);
  std::shared_ptr<const TriangleMesh>& mesh = loaded_[uri];
  try {
    if (!mesh) mesh = read(uri);
    if (!mesh || mesh->triangles.empty()) throw InputError(fmt::format("mesh {} has no triangles", in_quotes(uri)));
  } catch (const InputError& error) {
    failed_[uri] = error.what();
    throw;
  }
  return mesh;
}

}  // namespace scree
