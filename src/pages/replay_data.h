// What a replay page is given: rows to show, arrays as base64, one JSON text. docs/replay.md describes the limits.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "pages/array_block.h"
#include "scree/run.h"

namespace scree {

inline constexpr size_t kReplayBytes = 5'000'000;  // of JSON, base64 included
inline constexpr double kFramesPerSecond = 60;     // poses per second of simulated time, at most
inline constexpr size_t kMostSeriesRows = 4000;    // a plot has fewer pixels than that

// Rows 0, stride, 2 stride, ... and the last one.
struct RowSelection {
  size_t stride = 1;
  std::vector<size_t> rows;
};
// The smallest stride that keeps at most `most_rows` (>= 2) of the `recorded` (>= 1) rows, whatever their number.
RowSelection select_rows(size_t recorded, size_t most_rows);
// How many of the rows of a run of that duration [s] stay within kFramesPerSecond.
size_t most_frames(size_t recorded, double duration);

// The mesh with all vertices of a grid cell merged into one, so that it has at most `most_bytes` as float32 vertices
// and uint32 triangles; unchanged if it has already. Never nothing: what would lose its outline becomes a box (240
// bytes).
TriangleMesh shrink_mesh(const TriangleMesh& mesh, size_t most_bytes);
size_t packed_size(const TriangleMesh& mesh);  // [byte]
// The size [byte] that the largest of these are cut to, so that all together have at most `most_bytes`.
size_t fair_share(std::vector<size_t> sizes, size_t most_bytes);

// Triangles of one colour: how many, red, green, blue, opacity (0 to 255).
using Paint = std::array<int, 5>;
// Puts the triangles of each colour together, translucent ones last. Empty if the mesh has no colours; 64 at most.
std::vector<Paint> sort_by_colour(TriangleMesh& mesh);
// Whether a shape with that colour of its own is shown in those of its mesh file (docs/urdf.md).
bool shows_own_colours(const Mesh& mesh, const std::array<double, 4>& rgba);

// Bodies, shapes, meshes in at most `mesh_bytes`, and a note of what was coarsened: what every page with a 3-D view
// has.
nlohmann::json describe_model(const Model& model, ArrayBlock& block, size_t mesh_bytes);

std::string base64(std::string_view bytes);

// Throws InputError if a run does not belong to its model or is not finite. The limits hold for both runs together.
nlohmann::json replay_data(const Model& model, const Run& run, const Ghost* ghost = nullptr);
// JSON as text that is safe inside a script element: "<" is escaped, so that nothing in a string ends the script.
std::string script_text(std::string_view json);
// The data as such text.
std::string replay_json(const nlohmann::json& data);

}  // namespace scree
