// Triangle meshes from STL and OBJ.
#include "scree/mesh.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "scree/error.h"

namespace scree {
namespace {

namespace fs = std::filesystem;

// Two triangles of a unit square in the plane z = 0, sharing an edge.
const float kSquare[2][9] = {{0, 0, 0, 1, 0, 0, 1, 1, 0}, {0, 0, 0, 1, 1, 0, 0, 1, 0}};

std::string binary_stl(const std::string& header = "made by hand", uint32_t claimed = 2) {
  std::string bytes = header;
  bytes.resize(80, ' ');
  bytes.append(reinterpret_cast<const char*>(&claimed), 4);  // tests run on little-endian machines
  for (const auto& triangle : kSquare) {
    bytes.append(12, '\0');
    bytes.append(reinterpret_cast<const char*>(triangle), 36);
    bytes.append(2, '\0');
  }
  return bytes;
}

std::string ascii_stl() {
  std::string text = "solid a square\n";
  for (const auto& t : kSquare) {
    text += " facet normal 0 0 nan\n  outer loop\n";
    for (int k = 0; k < 9; k += 3) text += fmt::format("   vertex {} {:e} +{}\r\n", t[k], t[k + 1], t[k + 2]);
    text += "  endloop\n endfacet\n";
  }
  return text + "endsolid a square\n";
}

void expect_square(const TriangleMesh& mesh) {
  ASSERT_EQ(mesh.vertices.size(), 4u);  // shared corners are stored once
  ASSERT_EQ(mesh.triangles.size(), 2u);
  for (size_t t = 0; t < 2; ++t)
    for (size_t k = 0; k < 3; ++k) {
      const Vec3& v = mesh.vertices[static_cast<size_t>(mesh.triangles[t][k])];
      EXPECT_EQ(v, Vec3(kSquare[t][3 * k], kSquare[t][3 * k + 1], kSquare[t][3 * k + 2]));
    }
}

template <class F> std::string error_of(F&& f) {
  try {
    f();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Stl, BinaryAndAsciiGiveTheSameMesh) {
  expect_square(parse_stl(binary_stl(), "square.stl"));
  expect_square(parse_stl(ascii_stl(), "square.stl"));
}

TEST(Stl, SizeDecidesEvenIfABinaryHeaderSaysSolid) {
  expect_square(parse_stl(binary_stl("solid but binary"), "square.stl"));
}

TEST(Stl, SeveralSolidsAndUpperCase) {
  std::string upper = ascii_stl();
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  EXPECT_EQ(parse_stl(upper + ascii_stl(), "two.stl").triangles.size(), 4u);
}

TEST(Obj, PolygonsBecomeFansAndIndicesMayBeNegative) {
  const TriangleMesh mesh = parse_obj(
      "# comment\nmtllib x.mtl\nv 0 0 0\nv 1 0 0 1.0\nv 1 1 0 0.5 0.5 0.5\r\nv 0 1 0\nvt 0 0\nvn 0 0 1\ng part\n"
      "f 1/1/1 2//1 3/1 4 # a square\nf -4 -3 -2\n",
      "square.obj");
  EXPECT_EQ(mesh.vertices.size(), 4u);
  const std::vector<std::array<int, 3>> expected = {{0, 1, 2}, {0, 2, 3}, {0, 1, 2}};
  EXPECT_EQ(mesh.triangles, expected);
}

TEST(Obj, FacesMayComeBeforeTheirVertices) {
  EXPECT_EQ(parse_obj("f 1 2 3\nv 0 0 0\nv 1 0 0\nv 0 1 0", "late.obj").triangles.size(), 1u);
}

TEST(Mesh, ExtensionChoosesTheFormatInAnyCase) {
  const fs::path file = fs::path(testing::TempDir()) / "SCREE_SQUARE.STL";
  std::ofstream(file, std::ios::binary) << binary_stl();
  expect_square(load_mesh(file));
  EXPECT_NE(error_of([] { load_mesh("x.ply"); }).find("expected .stl, .obj, .dae, .gltf or .glb"), std::string::npos);
}

TEST(Mesh, MalformedFilesGetOneLineThatNamesThePlace) {
  std::string nan_vertex = binary_stl(), huge = ascii_stl();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(nan_vertex.data() + 84 + 50 + 12, &nan, 4);
  huge.replace(huge.find("vertex 1"), 8, "vertex 1e308");
  struct Case {
    const char* name;
    std::string bytes, expected;
  };
  const std::string triangle = "v 0 0 0\nv 1 0 0\nv 0 1 0\n";
  const Case cases[] = {
      {"empty.stl", "", "is empty"},
      {"short.stl", "abc", "is 3 bytes"},
      {"truncated.stl", binary_stl().substr(0, 150), "claims 2 triangles, 184 bytes, but has 150 bytes"},
      {"truncated_solid.stl", binary_stl("solid").substr(0, 150), "claims 2 triangles"},
      {"liar.stl", binary_stl("x", 4000000000u), "claims 4000000000 triangles, 200000000084 bytes, but has 184"},
      {"nan.stl", nan_vertex, "triangle 2: coordinate is nan"},
      {"huge.stl", huge, "huge.stl:5: got \"1e308\""},
      {"none.stl", binary_stl("x", 0).substr(0, 84), "no triangles"},
      {"none_ascii.stl", "solid x\nendsolid x\n", "no triangles"},
      {"cut.stl", ascii_stl().substr(0, 60), "cut.stl:4: the file ends, expected a finite number"},
      {"unended.stl", ascii_stl().substr(0, ascii_stl().find("endsolid")), "the file ends, expected \"facet\""},
      {"word.stl", "solid\nfacet normal 0 0 1 inner", "word.stl:2: got \"inner\", expected \"outer\""},
      {"tail.stl", ascii_stl() + "more", "expected \"solid\" or the end"},
      {"empty.obj", "", "is empty"},
      {"none.obj", triangle, "no triangles"},
      {"range.obj", triangle + "f 1 2 4\n", "range.obj:4: face uses vertex 4, but the file has 3 vertices"},
      {"zero.obj", triangle + "f 0 1 2\n", "zero.obj:4: face vertex is \"0\""},
      {"back.obj", triangle + "f -1 -2 -4\n", "only 3 vertices come before"},
      {"big.obj", triangle + "f 1 2 99999999999999999999\n", "expected an index"},
      {"word.obj", triangle + "f 1 2 x\n", "face vertex is \"x\""},
      {"two.obj", triangle + "f 1 2\n", "face has 2 vertices"},
      {"nan.obj", "v 0 nan 0\n", "nan.obj:1: coordinate is \"nan\""},
      {"huge.obj", "v 0 1e308 0\n", "coordinate is \"1e308\""},
      {"flat.obj", "v 0 1\n", "vertex has 2 coordinates"},
  };
  for (const Case& c : cases) {
    const std::string name = c.name;
    const std::string message =
        error_of([&] { name.ends_with("stl") ? parse_stl(c.bytes, name) : parse_obj(c.bytes, name); });
    EXPECT_TRUE(message.starts_with(name)) << message;
    EXPECT_NE(message.find(c.expected), std::string::npos) << name << ": " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(Mesh, EveryPrefixOfAFileIsAMeshOrAnInputError) {
  const std::string obj = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1//1 2/3 3\nf -1 -2 -3 -4\n";
  for (const std::string& whole : {binary_stl(), binary_stl("solid"), ascii_stl()})
    for (size_t n = 0; n < whole.size(); ++n)
      EXPECT_NE(error_of([&] { parse_stl(whole.substr(0, n), "x.stl"); }), "") << n;
  for (size_t n = 0; n < obj.size(); ++n) error_of([&] { parse_obj(obj.substr(0, n), "x.obj"); });
}

}  // namespace
}  // namespace scree
