// Triangle meshes from STL (binary, ASCII), OBJ, COLLADA and glTF 2.0 files. docs/urdf.md says what is read of them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "scree/geometry.h"

namespace scree {

// By extension (.stl, .obj, .dae, .gltf, .glb, any case). Throws InputError: file, line or element, what came, what was
// expected.
TriangleMesh load_mesh(const std::filesystem::path& file);

struct MeshFile {
  TriangleMesh mesh;
  std::vector<std::filesystem::path> files;  // others that were read for it: buffers, materials, images
  std::vector<std::string> notes;            // colours that could not be had, and why
};
MeshFile load_mesh_file(const std::filesystem::path& file);

// The same of bytes; files they name are not read: without them a glTF has no buffers, a texture no colour.
TriangleMesh parse_stl(std::string_view bytes, const std::string& name);
TriangleMesh parse_obj(std::string_view text, const std::string& name);
TriangleMesh parse_dae(std::string_view bytes, const std::string& name);
TriangleMesh parse_gltf(std::string_view bytes, const std::string& name);  // JSON or binary (GLB)

}  // namespace scree
