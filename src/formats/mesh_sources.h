// Where the meshes a model file names come from. One object per load, so that equal names share one mesh.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "scree/urdf.h"

namespace scree {

class MeshSources {
 public:
  MeshSources(const std::filesystem::path& model_file, const UrdfOptions& options)
      : directory_(model_file.parent_path()), search_path_(options.search_path), loader_(options.mesh_loader) {}

  // Throws InputError: the places tried, or what is wrong with the file. One that failed fails again the same way.
  std::shared_ptr<const TriangleMesh> get(const std::string& uri);
  const std::vector<std::filesystem::path>& files() const { return files_; }  // that were read
  // What is to be said of a mesh that `get` returned: colours that could not be had.
  const std::vector<std::string>& notes(const std::string& uri) { return notes_[uri]; }

 private:
  // In the order docs/urdf.md gives.
  std::vector<std::filesystem::path> candidates(const std::string& uri) const;
  void add_around(const std::filesystem::path& path, std::vector<std::filesystem::path>& places) const;
  std::shared_ptr<const TriangleMesh> read(const std::string& uri);

  std::filesystem::path directory_;
  std::vector<std::filesystem::path> search_path_;
  decltype(UrdfOptions::mesh_loader) loader_;
  std::map<std::string, std::shared_ptr<const TriangleMesh>> loaded_;
  std::map<std::string, std::string> failed_;
  std::vector<std::filesystem::path> files_;
  std::map<std::string, std::vector<std::string>> notes_;
};

}  // namespace scree
