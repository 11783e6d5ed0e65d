// STL. A binary file is an 80-byte header, a 32-bit triangle count n and n records of 50 bytes (normal, three vertices,
// two spare bytes; little-endian floats). Some binary headers begin with "solid", so the size decides, not the header.
#include <fmt/format.h>

#include <bit>
#include <cctype>
#include <cmath>
#include <cstdint>

#include "base/text.h"
#include "formats/mesh_builder.h"
#include "scree/error.h"
#include "scree/mesh.h"

namespace scree {
namespace {

constexpr size_t kHeader = 84, kRecord = 50;

[[noreturn]] void fail(const std::string& place, const std::string& what) {
  throw InputError(one_line(fmt::format("{}: {}", place, what)));
}

uint32_t read_u32(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t k = 4; k-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + k]);
  return value;
}

TriangleMesh parse_binary(std::string_view bytes, const std::string& name) {
  MeshBuilder mesh(name);
  const size_t count = read_u32(bytes, 80);
  for (size_t t = 0; t < count; ++t) {
    Vec3 v[3];
    for (size_t k = 0; k < 9; ++k) {
      const float x = std::bit_cast<float>(read_u32(bytes, kHeader + t * kRecord + 12 + 4 * k));
      if (!(std::abs(x) <= kLargestNumber))
        fail(name, fmt::format("triangle {}: coordinate is {}, expected a finite number of at most {:g}", t + 1, x,
                               kLargestNumber));
      v[k / 3](static_cast<Eigen::Index>(k % 3)) = x;
    }
    mesh.add_triangle(v[0], v[1], v[2]);
  }
  return mesh.take();
}

// Words and the lines they stand on.
class Words {
 public:
  Words(std::string_view text, const std::string& name) : text_(text), name_(name) {}
  std::string_view next() {  // empty at the end
    while (at_ < text_.size() && is_space(text_[at_])) advance();
    const size_t start = at_;
    while (at_ < text_.size() && !is_space(text_[at_])) advance();
    return text_.substr(start, at_ - start);
  }
  void skip_line() {
    while (at_ < text_.size() && text_[at_] != '\n') advance();
  }
  void expect(std::string_view word) {
    if (const std::string_view got = next(); !same(got, word)) complain(got, fmt::format("\"{}\"", word));
  }
  double number() {
    const std::string_view got = next();
    const std::optional<double> value = parse_number(got);
    if (!value || std::abs(*value) > kLargestNumber)
      complain(got, fmt::format("a finite number of at most {:g}", kLargestNumber));
    return *value;
  }
  [[noreturn]] void complain(std::string_view got, const std::string& expected) const {
    fail(fmt::format("{}:{}", name_, line_),
         fmt::format("{}, expected {}", got.empty() ? "the file ends" : "got " + in_quotes(got), expected));
  }
  static bool same(std::string_view a, std::string_view lower) {
    return std::ranges::equal(a, lower,
                              [](char x, char y) { return std::tolower(static_cast<unsigned char>(x)) == y; });
  }

 private:
  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
  void advance() { line_ += text_[at_++] == '\n'; }
  std::string_view text_;
  const std::string& name_;
  size_t at_ = 0;
  int line_ = 1;
};

TriangleMesh parse_ascii(std::string_view text, const std::string& name) {
  MeshBuilder mesh(name);
  Words words(text, name);
  words.expect("solid");
  words.skip_line();  // the solid's name, any words
  while (true) {
    const std::string_view word = words.next();
    if (Words::same(word, "endsolid")) {
      words.skip_line();
      const std::string_view more = words.next();  // a file may hold several solids
      if (more.empty()) return mesh.take();
      if (!Words::same(more, "solid")) words.complain(more, "\"solid\" or the end of the file");
      words.skip_line();
      continue;
    }
    if (!Words::same(word, "facet")) words.complain(word, "\"facet\" or \"endsolid\"");
    words.expect("normal");
    for (int k = 0; k < 3; ++k) words.next();  // the normal follows from the vertices
    words.expect("outer");
    words.expect("loop");
    Vec3 v[3];
    for (Vec3& vertex : v) {
      words.expect("vertex");
      for (int k = 0; k < 3; ++k) vertex(k) = words.number();
    }
    mesh.add_triangle(v[0], v[1], v[2]);
    words.expect("endloop");
    words.expect("endfacet");
  }
}

}  // namespace

TriangleMesh parse_stl(std::string_view bytes, const std::string& name) {
  if (bytes.empty()) fail(name, "is empty, expected an STL mesh");
  const bool whole_binary = bytes.size() >= kHeader && bytes.size() == kHeader + kRecord * read_u32(bytes, 80);
  const size_t first = bytes.find_first_not_of(" \t\r\n");
  const bool ascii = first != std::string_view::npos && Words::same(bytes.substr(first, 5), "solid") &&
                     bytes.find('\0') == std::string_view::npos;
  if (!whole_binary && !ascii) {
    if (bytes.size() < kHeader)
      fail(name, fmt::format("is {} bytes, expected an ASCII STL (\"solid ...\") or a binary one of at least {} bytes",
                             bytes.size(), kHeader));
    const size_t count = read_u32(bytes, 80);
    fail(name, fmt::format("binary STL claims {} triangles, {} bytes, but has {} bytes", count,
                           kHeader + kRecord * count, bytes.size()));
  }
  return whole_binary ? parse_binary(bytes, name) : parse_ascii(bytes, name);
}

}  // namespace scree
