// Wavefront OBJ: vertices (v) and faces (f, triangulated as fans). Normals, textures, groups and materials are not
// used.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/text.h"
#include "scree/error.h"
#include "scree/mesh.h"

namespace scree {
namespace {

class ObjParser {
 public:
  explicit ObjParser(const std::string& name) : name_(name) {}

  void read_line(std::string_view text) {
    ++line_;
    const std::vector<std::string_view> words = split(text.substr(0, text.find('#')));
    if (words.empty()) return;
    if (words[0] == "v") read_vertex(words);
    if (words[0] == "f") read_face(words);
  }

  TriangleMesh take() {
    if (largest_index_ >= static_cast<long>(mesh_.vertices.size()))
      fail(largest_line_,
           fmt::format("face uses vertex {}, but the file has {} vertices", largest_index_ + 1, mesh_.vertices.size()));
    if (mesh_.triangles.empty()) throw InputError(one_line(name_ + ": mesh has no triangles"));
    return std::move(mesh_);
  }

 private:
  [[noreturn]] void fail(int line, const std::string& what) const {
    throw InputError(one_line(fmt::format("{}:{}: {}", name_, line, what)));
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
    const int first = read_index(words[1]);
    int previous = read_index(words[2]);
    for (size_t k = 3; k < words.size(); ++k) {
      const int next = read_index(words[k]);
      mesh_.triangles.push_back({first, previous, next});
      previous = next;
    }
  }

  const std::string& name_;
  int line_ = 0;
  long largest_index_ = -1;  // checked at the end: a face may come before its vertices
  int largest_line_ = 0;
  TriangleMesh mesh_;
};

}  // namespace

TriangleMesh parse_obj(std::string_view text, const std::string& name) {
  if (text.empty()) throw InputError(one_line(name + ": is empty, expected an OBJ mesh"));
  ObjParser parser(name);
  while (!text.empty()) {
    const size_t end = text.find('\n');
    parser.read_line(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return parser.take();
}

}  // namespace scree
