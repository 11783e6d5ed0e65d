// Triangle meshes from STL (binary, ASCII) and OBJ files.
#pragma once

#include <filesystem>
#include <string_view>

#include "scree/geometry.h"

namespace scree {

// By extension (.stl, .obj, any case). Throws InputError: file, line or triangle, what came, what was expected.
TriangleMesh load_mesh(const std::filesystem::path& file);
TriangleMesh parse_stl(std::string_view bytes, const std::string& name);
TriangleMesh parse_obj(std::string_view text, const std::string& name);

}  // namespace scree
