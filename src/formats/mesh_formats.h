// The readers of mesh files behind load_mesh, with what they find in other files.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/mesh_builder.h"

namespace scree {

// Files that a mesh file names: buffers, images, materials. Names are relative and stay within the folder of the mesh
// file or, where that is allowed, climb at most two folders above it.
class MeshCompanions {
 public:
  MeshCompanions() = default;  // of bytes that are no file: there are none
  explicit MeshCompanions(const std::filesystem::path& mesh_file) : folder_(mesh_file.parent_path()) {}

  // Throws InputError: what was looked for, and why it is not read.
  std::string read(std::string_view uri, int levels_up = 0);
  // The mean colour of the image of that name. nullopt, and a note, if it cannot be had.
  std::optional<Colour> texture(std::string_view uri);
  void note(const std::string& what);  // said once, however often it happens

  const std::vector<std::filesystem::path>& files() const { return files_; }  // that were read
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::optional<std::filesystem::path> folder_;
  std::vector<std::filesystem::path> files_;
  std::vector<std::string> notes_;
  std::map<std::string, std::optional<Colour>> textures_;
};

TriangleMesh read_obj(std::string_view text, const std::string& name, MeshCompanions& companions);
TriangleMesh read_dae(std::string_view bytes, const std::string& name, MeshCompanions& companions);
TriangleMesh read_gltf(std::string_view bytes, const std::string& name, MeshCompanions& companions);

}  // namespace scree
