// Wavefront OBJ: vertices (v) and faces (f); of materials (mtllib, usemtl) the diffuse colour. Normals and groups are
// not used.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "base/text.h"
#include "formats/mesh_formats.h"
#include "formats/texture_colour.h"
#include "scree/error.h"
#include "scree/mesh.h"

namespace scree {
namespace {

constexpr int kMostLibraries = 16;

// What follows the first word of a line, without the spaces around it: names of files and materials may have spaces.
std::string_view rest_of(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  size_t at = text.find_first_of(kSpace, text.find_first_not_of(kSpace));
  at = text.find_first_not_of(kSpace, at);
  if (at == std::string_view::npos) return {};
  return text.substr(at, text.find_last_not_of(kSpace) + 1 - at);
}

using MtlColours = std::map<std::string, std::optional<Colour>, std::less<>>;

// Diffuse colours (Kd) of an MTL file, times the mean of the texture (map_Kd). What is malformed has no colour. Opacity
// is not read: files do not agree on what it means.
void read_materials(std::string_view text, MeshCompanions& companions, MtlColours& materials) {
  std::optional<Colour>* colour = nullptr;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    const std::vector<std::string_view> words = split(line);
    if (words.empty()) continue;
    if (words[0] == "newmtl") colour = &materials[std::string(rest_of(line))];
    if (!colour) continue;
    if (words[0] == "Kd") {
      Colour read = {0, 0, 0, 1};
      bool good = words.size() >= 4;
      for (size_t k = 0; good && k < 3; ++k) {
        const std::optional<double> value = parse_number(words[k + 1]);
        good = value.has_value();
        if (good) read[k] = static_cast<float>(std::clamp(*value, 0.0, 1.0));
      }
      if (good)
        *colour = read;
      else
        companions.note(fmt::format("no colour from {}, expected Kd and three numbers", in_quotes(line)));
    }
    if (words[0] == "map_Kd") {  // options may come before the file
      std::optional<Colour> mean = companions.texture(words.back() == rest_of(line) ? words.back() : rest_of(line));
      if (!mean) continue;
      for (size_t k = 0; k < 3; ++k)
        if (*colour)
          (*mean)[k] = static_cast<float>(
              coded_of(light_of(static_cast<double>((*mean)[k])) * light_of(static_cast<double>((**colour)[k]))));
      (*mean)[3] = 1;
      *colour = mean;
    }
  }
}

class ObjParser {
 public:
  ObjParser(const std::string& name, MeshCompanions& companions) : name_(name), companions_(companions) {}

  void read_line(std::string_view text) {
    ++line_;
    const std::vector<std::string_view> words = split(text.substr(0, text.find('#')));
    if (words.empty()) return;
    if (words[0] == "v") read_vertex(words);
    if (words[0] == "f") read_face(words);
    if (words[0] == "mtllib") read_library(rest_of(text));
    if (words[0] == "usemtl") {
      const auto found = materials_.find(rest_of(text));
      colour_ = found == materials_.end() ? std::nullopt : found->second;
      painted_ = painted_ || colour_;
    }
  }

  TriangleMesh take() {
    if (largest_index_ >= static_cast<long>(mesh_.vertices.size()))
      fail(largest_line_,
           fmt::format("face uses vertex {}, but the file has {} vertices", largest_index_ + 1, mesh_.vertices.size()));
    if (mesh_.triangles.empty()) throw InputError(one_line(name_ + ": mesh has no triangles"));
    if (!painted_) mesh_.colours = {};
    return std::move(mesh_);
  }

 private:
  [[noreturn]] void fail(int line, const std::string& what) const {
    throw InputError(one_line(fmt::format("{}:{}: {}", name_, line, what)));
  }

  void read_library(std::string_view file) {
    if (++libraries_ > kMostLibraries)
      return companions_.note(fmt::format("no colours from MTL files beyond the first {}", kMostLibraries));
    try {
      read_materials(companions_.read(file, 2), companions_, materials_);
    } catch (const InputError& error) {
      companions_.note(fmt::format("no colours from materials {}: {}", in_quotes(file), error.what()));
    }
  }

  void read_vertex(const std::vector<std::string_view>& words) {
    if (words.size() < 4) fail(line_, fmt::format("vertex has {} coordinates, expected 3", words.size() - 1));
    Vec3 v;
    for (size_t k = 0; k < 3; ++k) {  // a weight or a colour may follow
      const std::optional<double> value = parse_number(words[k + 1]);
      if (!value || std::abs(*value) > kLargestNumber)
        fail(line_, fmt::format("coordinate is {}, expected a finite number of at most {:g}", in_quotes(words[k + 1]),
                                kLargestNumber));
      v(static_cast<Eigen::Index>(k)) = *value;
    }
    mesh_.vertices.push_back(v);
  }

  // The vertex part of v, v/vt, v//vn or v/vt/vn, as a 0-based index; negative numbers count back from the last vertex.
  int read_index(std::string_view word) {
    const std::string_view digits = word.substr(0, word.find('/'));
    long index = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (error != std::errc() || end != digits.data() + digits.size() || index == 0 || std::abs(index) > INT32_MAX)
      fail(line_, fmt::format("face vertex is {}, expected an index from 1, or a negative one", in_quotes(word)));
    index = index > 0 ? index - 1 : index + static_cast<long>(mesh_.vertices.size());
    if (index < 0)
      fail(line_,
           fmt::format("face vertex is {}, but only {} vertices come before", in_quotes(word), mesh_.vertices.size()));
    if (index > largest_index_) {
      largest_index_ = index;
      largest_line_ = line_;
    }
    return static_cast<int>(index);
  }

  void read_face(const std::vector<std::string_view>& words) {
    if (words.size() < 4) fail(line_, fmt::format("face has {} vertices, expected at least 3", words.size() - 1));
    std::vector<int> corners;
    for (size_t k = 1; k < words.size(); ++k) corners.push_back(read_index(words[k]));
    if (corners.size() - 2 > kMostTriangles - mesh_.triangles.size())
      fail(line_, fmt::format("mesh has more than {} triangles", kMostTriangles));
    if (largest_index_ < static_cast<long>(mesh_.vertices.size())) {
      add_polygon(mesh_.vertices, corners, mesh_.triangles);
    } else {  // its vertices come later
      for (size_t k = 1; k + 1 < corners.size(); ++k)
        mesh_.triangles.push_back({corners[0], corners[k], corners[k + 1]});
    }
    mesh_.colours.resize(mesh_.triangles.size(), colour_.value_or(kUnpainted));
  }

  const std::string& name_;
  int line_ = 0;
  long largest_index_ = -1;  // checked at the end: a face may come before its vertices
  int largest_line_ = 0;
  TriangleMesh mesh_;
  MeshCompanions& companions_;
  MtlColours materials_;
  std::optional<Colour> colour_;
  bool painted_ = false;
  int libraries_ = 0;
};

}  // namespace

TriangleMesh read_obj(std::string_view text, const std::string& name, MeshCompanions& companions) {
  if (text.empty()) throw InputError(one_line(name + ": is empty, expected an OBJ mesh"));
  ObjParser parser(name, companions);
  while (!text.empty()) {
    const size_t end = text.find('\n');
    parser.read_line(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return parser.take();
}

TriangleMesh parse_obj(std::string_view text, const std::string& name) {
  MeshCompanions none;
  return read_obj(text, name, none);
}

}  // namespace scree
