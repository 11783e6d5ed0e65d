// Meshes that come with a scene and materials: COLLADA, glTF, and the materials of OBJ.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <cmath>

#include "formats/mesh_builder.h"
#include "formats/texture_colour.h"
#include "scree/error.h"
#include "scree/mesh.h"
#include "scree/urdf.h"
#include "support/mesh_samples.h"
#include "support/temp_folder.h"

namespace scree {
namespace {

namespace fs = std::filesystem;

template <class F> std::string error_of(F&& f) {
  try {
    f();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

double volume(const TriangleMesh& mesh) {
  double sum = 0;
  const auto at = [&](int k) { return mesh.vertices[static_cast<size_t>(k)]; };
  for (const auto& t : mesh.triangles) sum += at(t[0]).dot(at(t[1]).cross(at(t[2]))) / 6;
  return sum;
}
double area(const TriangleMesh& mesh) {
  double sum = 0;
  const auto at = [&](int k) { return mesh.vertices[static_cast<size_t>(k)]; };
  for (const auto& t : mesh.triangles) sum += (at(t[1]) - at(t[0])).cross(at(t[2]) - at(t[0])).norm() / 2;
  return sum;
}
bool has_vertex(const TriangleMesh& mesh, const Vec3& p) {
  return std::ranges::any_of(mesh.vertices, [&](const Vec3& v) { return (v - p).norm() < 1e-6; });
}

const MeshSample& sample(const std::string& name) {
  static const std::vector<MeshSample> all = mesh_samples();
  return *std::ranges::find_if(all, [&](const MeshSample& s) { return s.name == name; });
}

TriangleMesh parse(const MeshSample& s) {
  return s.name.ends_with(".dae") ? parse_dae(s.bytes, s.name) : parse_gltf(s.bytes, s.name);
}

MeshFile load(const MeshSample& s) {
  const TempFolder folder;
  write_sample(s, folder / s.name);
  return load_mesh_file(folder / s.name);
}

// A part of a COLLADA scene: `transforms` over the tetrahedron of volume 1/2.
TriangleMesh dae_under(const std::string& transforms, const std::string& asset = "") {
  return parse_dae(dae_of(asset, dae_tetrahedron(), "<node>" + transforms + "<instance_geometry url=\"#tet\"/></node>"),
                   "x.dae");
}

TEST(Dae, UnitIsAppliedAndUpAxisIsNot) {
  const TriangleMesh mesh = dae_under("", "<unit meter=\"0.01\"/><up_axis>X_UP</up_axis>");
  EXPECT_TRUE(has_vertex(mesh, {0, 0.015, 0}));
  EXPECT_TRUE(has_vertex(mesh, {0, 0, 0.02}));
  EXPECT_EQ(mesh.vertices.size(), 4u);
  EXPECT_TRUE(mesh.colours.empty());
}

TEST(Dae, TransformationsMultiplyInTheirOrder) {
  EXPECT_TRUE(has_vertex(dae_under("<translate>1 2 3</translate><rotate>0 0 2 90</rotate>"), {1, 3, 3}));
  EXPECT_TRUE(has_vertex(dae_under("<rotate>0 0 1 90</rotate><translate>1 2 3</translate>"), {-2, 2, 3}));
  EXPECT_TRUE(has_vertex(dae_under("<matrix>1 0 0 7 0 0 -1 8 0 1 0 9 0 0 0 1</matrix>"), {7, 6, 9}));
  EXPECT_TRUE(has_vertex(dae_under("<rotate>0 0 0 0</rotate><scale>2 1 1</scale>"), {2, 0, 0}));
  // What looks along -x from (5, 0, 0) with z up has its own x along y.
  EXPECT_TRUE(has_vertex(dae_under("<lookat>5 0 0 1 0 0 1 0 3</lookat>"), {5, 1, 0}));
  // y turned by 45 degrees towards x: (0, 1.5, 0) moves by 1.5 along x, what lies along x stays.
  const TriangleMesh skewed = dae_under("<skew>45 0 2 0 3 0 0</skew>");
  EXPECT_TRUE(has_vertex(skewed, {1.5, 1.5, 0}));
  EXPECT_TRUE(has_vertex(skewed, {1, 0, 0}));
  // A direction that is not at right angles: (1, 1, 0)/sqrt(2) turned by atan(2) - 45 degrees is along (1, 2, 0).
  EXPECT_TRUE(has_vertex(dae_under(fmt::format("<skew>{:.12f} 1 1 0 0 1 0</skew>", std::atan(2.0) * 180 / M_PI - 45)),
                         {1, 1, 0}));
}

TEST(Dae, MirrorsKeepTheOutsideOutside) {
  EXPECT_NEAR(volume(dae_under("")), 0.5, 1e-12);
  EXPECT_NEAR(volume(dae_under("<scale>1 -2 1</scale>")), 1, 1e-12);
}

TEST(Dae, PrimitivesOfEveryKind) {
  const TriangleMesh mesh = parse(sample("primitives.dae"));
  // The arrow of area 8, a rectangle of 12, half a rectangle of 2 in the plane y = 0; two unit squares; a strip and a
  // fan, of which one triangle is stitching.
  EXPECT_EQ(mesh.triangles.size(), 3u + 2 + 1 + 4 + 4 + 1 + 3);
  double in_plane = 0;
  const auto at = [&](int k) { return mesh.vertices[static_cast<size_t>(k)]; };
  for (const auto& t : mesh.triangles)
    if (at(t[0]).z() == 0 && at(t[1]).z() == 0 && at(t[2]).z() == 0)
      in_plane += (at(t[1]) - at(t[0])).cross(at(t[2]) - at(t[0])).norm() / 2;
  EXPECT_NEAR(in_plane, 8, 1e-12);  // a fan from the first corner covers 8 as well, one from the second does not
}

TEST(Dae, IdsAreThoseOfTheSameGeometryFirst) {
  std::string two = dae_geometry("tet", 4, "0 0 0 2 0 0 0 3 0 0 0 4",
                                 "<triangles>" + dae_input("tet") + "<p>" + tetrahedron_corners() + "</p></triangles>");
  two.replace(two.find("\"tet\""), 5, "\"big\"");  // its sources are called as those of the other
  const TriangleMesh mesh =
      parse_dae(dae_of("", dae_tetrahedron() + two, "<node><instance_geometry url=\"#big\"/></node>"), "x.dae");
  EXPECT_NEAR(volume(mesh), 4, 1e-12);
}

TEST(Dae, HolesAreFilledSkinsStayAsBound) {
  EXPECT_NEAR(area(parse(sample("holes.dae"))), 9, 1e-9);  // a shear keeps the area of its plane
  EXPECT_TRUE(has_vertex(parse(sample("skin.dae")), {1, 2, 5}));
}

TEST(Dae, MaterialsAreBoundBySymbol) {
  const TriangleMesh mesh = parse(sample("transforms.dae"));
  ASSERT_EQ(mesh.colours.size(), mesh.triangles.size());
  for (const auto& colour : mesh.colours) EXPECT_EQ(colour, (std::array<float, 4>{0.8f, 0.1f, 0.2f, 1}));
}

TEST(Dae, TexturesAreOneColourAndMissingOnesAreSaid) {
  const float tolerance = 1e-6f;  // 8 bits to light and back, in double
  const MeshFile with = load(sample("texture.dae"));
  ASSERT_EQ(with.mesh.colours.size(), 4u);
  EXPECT_NEAR(with.mesh.colours[0][0], 200 / 255.0f, tolerance);
  EXPECT_NEAR(with.mesh.colours[0][2], 40 / 255.0f, tolerance);
  ASSERT_EQ(with.files.size(), 1u);
  EXPECT_EQ(with.files[0].filename(), "red one.png");
  EXPECT_TRUE(with.notes.empty());
  MeshSample alone = sample("texture.dae");
  alone.companions.clear();
  const MeshFile without = load(alone);
  EXPECT_TRUE(without.mesh.colours.empty());
  ASSERT_EQ(without.notes.size(), 1u);
  EXPECT_NE(without.notes[0].find("no such file"), std::string::npos) << without.notes[0];
}

TEST(Texture, TheMeanIsThatOfTheLight) {
  // Half black, half white is brighter than half of the numbers: 0.5 of the light.
  EXPECT_NEAR(coded_of(0.5), 0.735357, 1e-6);
  for (double x = 0; x <= 1; x += 1.0 / 64) EXPECT_NEAR(coded_of(light_of(x)), x, 1e-7);  // the standard's own rounding
  EXPECT_THROW(mean_colour("GIF89a", "x.gif"), InputError);
  EXPECT_THROW(mean_colour(red_png().substr(0, 50), "x.png"), InputError);
}

TEST(Gltf, YUpBecomesZUp) {
  const TriangleMesh mesh = parse(sample("sparse.glb"));
  for (const Vec3& p : {Vec3(0, 0, 0), Vec3(1, 0, 0), Vec3(0, 0, 1.5), Vec3(0, -2, 0)})
    EXPECT_TRUE(has_vertex(mesh, p)) << p.transpose();
  EXPECT_EQ(mesh.vertices.size(), 4u);
  EXPECT_NEAR(volume(mesh), 0.5, 1e-6);
  EXPECT_NEAR(mesh.colours.at(0)[0], 200 / 255.0f, 1e-6f);
}

TEST(Gltf, NodesMaterialsAndContainersAgree) {
  const TriangleMesh text = parse(sample("nodes.gltf")), binary = parse(sample("nodes.glb"));
  const TriangleMesh beside = load(sample("beside.gltf")).mesh;
  for (const TriangleMesh* mesh : {&binary, &beside}) {
    EXPECT_EQ(mesh->vertices, text.vertices);
    EXPECT_EQ(mesh->triangles, text.triangles);
    EXPECT_EQ(mesh->colours, text.colours);
  }
  // The rotation takes x to y to z to x. Vertex (1, 0, 0), scaled by (1, 2, -1), is (0, 1, 0), moved (1, 3, 3); z up it
  // is (1, -3, 3).
  EXPECT_TRUE(has_vertex(text, {1, -3, 3}));
  EXPECT_NEAR(volume(text), 0.5 * 2 + 0.5 * 2 * 2, 1e-5);
  // Factors are amounts of light. Opacity counts where it is asked for.
  EXPECT_NEAR(text.colours.front()[0], coded_of(0.5), 1e-6);
  EXPECT_EQ(text.colours.front()[3], 1);
  EXPECT_EQ(text.colours.back(), (std::array<float, 4>{0, 0, 1, 0.5f}));
}

TEST(Gltf, StripsFansAndQuantisedPositions) {
  EXPECT_EQ(parse(sample("modes.glb")).triangles.size(), 4u + 3 + 2);
  const TriangleMesh mesh = parse(sample("quantised.gltf"));  // parts of 32767, then the scale of the node
  EXPECT_TRUE(has_vertex(mesh, {0, -2, 0}) || has_vertex(mesh, {0, 2, 0}));
  EXPECT_NEAR(std::abs(volume(mesh)), 0.5, 1e-12);
}

TEST(Mesh, ConcavePolygonsAreCutIntoEars) {
  const std::vector<Vec3> comb = {{0, 0, 0}, {5, 0, 0}, {5, 3, 0}, {4, 3, 0}, {4, 1, 0}, {3, 1, 0},
                                  {3, 3, 0}, {2, 3, 0}, {2, 1, 0}, {1, 1, 0}, {1, 3, 0}, {0, 3, 0}};
  std::vector<int> corners(comb.size());
  for (size_t first = 0; first < comb.size(); ++first)
    for (const bool turned : {false, true}) {
      for (size_t k = 0; k < comb.size(); ++k) corners[k] = static_cast<int>((first + k) % comb.size());
      if (turned) std::reverse(corners.begin(), corners.end());
      TriangleMesh mesh{comb, {}};
      add_polygon(comb, corners, mesh.triangles);
      EXPECT_EQ(mesh.triangles.size(), comb.size() - 2);
      EXPECT_NEAR(area(mesh), 5 + 3 * 2, 1e-12) << first;  // triangles that overlap or leave the polygon cover more
    }
  std::vector<std::array<int, 3>> crossed;
  add_polygon({{0, 0, 0}, {1, 1, 0}, {1, 0, 0}, {0, 1, 0}}, {0, 1, 2, 3}, crossed);
  EXPECT_EQ(crossed.size(), 2u);
}

TEST(Obj, MaterialsGiveColours) {
  const TempFolder folder;
  folder.write("skin.png", red_png());
  folder.write("x y.mtl", "newmtl a b\nKd 0.5 1 0\nnewmtl skin\nmap_Kd skin.png\nnewmtl bad\nKd 1 x 1\n");
  const fs::path file =
      folder.write("x.obj",
                   "mtllib x y.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nusemtl a b\nf 1 2 3\nusemtl skin\n"
                   "f 1 2 3\nusemtl bad\nf 1 2 3\nusemtl unknown\nf 1 2 3\n");
  const MeshFile loaded = load_mesh_file(file);
  const auto& colours = loaded.mesh.colours;
  ASSERT_EQ(colours.size(), 5u);
  const std::array<float, 4> grey = {0.7f, 0.7f, 0.7f, 1};
  EXPECT_EQ(colours[0], grey);
  EXPECT_EQ(colours[1], (std::array<float, 4>{0.5f, 1, 0, 1}));
  EXPECT_NEAR(colours[2][0], 200 / 255.0f, 1e-6f);
  EXPECT_EQ(colours[3], grey);
  EXPECT_EQ(colours[4], grey);
  EXPECT_EQ(loaded.files.size(), 2u);
  EXPECT_EQ(loaded.notes.size(), 1u);
  EXPECT_TRUE(load_mesh(folder.write("y.obj", "mtllib no.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl a\nf 1 2 3\n"))
                  .colours.empty());
}

TEST(Mesh, FilesBesideAMeshStayInItsFolder) {
  const TempFolder folder;
  const fs::path inside = folder / "a/b/c/d";
  fs::create_directories(inside);
  folder.write("red.png", red_png());
  folder.write("a/b/red.png", red_png());
  const auto notes = [&](const std::string& texture) {
    std::ofstream(inside / "x.mtl") << "newmtl m\nmap_Kd " + texture + "\n";
    std::ofstream(inside / "x.obj") << "mtllib x.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl m\nf 1 2 3\n";
    const MeshFile loaded = load_mesh_file(inside / "x.obj");
    EXPECT_EQ(loaded.notes.empty(), !loaded.mesh.colours.empty());
    return loaded.notes.empty() ? "" : loaded.notes[0];
  };
  EXPECT_EQ(notes("../../red.png"), "");
  EXPECT_NE(notes("../../../../red.png").find("expected a relative path"), std::string::npos);
  EXPECT_NE(notes("e/../../../../red.png").find("expected a relative path"), std::string::npos);
  EXPECT_NE(notes((folder / "red.png").string()).find("no such file"),
            std::string::npos);  // looked for beside the mesh
  MeshSample outside = sample("beside.gltf");
  outside.bytes.replace(outside.bytes.find("parts/"), 6, "../p/");
  EXPECT_NE(error_of([&] { load(outside); }).find("expected a relative path within the mesh's folder"),
            std::string::npos);
}

// `from` replaced by `to` in the sample.
std::string changed(const std::string& name, const std::string& from, const std::string& to) {
  std::string bytes = sample(name).bytes;
  const size_t at = bytes.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? bytes : bytes.replace(at, from.size(), to);
}

TEST(Dae, MalformedFilesGetOneLineThatNamesThePlace) {
  const std::string in_itself =
      dae_of("", dae_tetrahedron(), "<instance_node url=\"#a\"/><node><instance_node url=\"#a\"/></node>",
             "<library_nodes><node id=\"a\"><instance_node url=\"#b\"/></node><node id=\"b\">"
             "<instance_node url=\"#a\"/></node></library_nodes>");
  std::string deep;
  for (int k = 0; k < 200; ++k) deep += "<node>";
  for (int k = 0; k < 200; ++k) deep += "</node>";
  std::string many;  // 8^8 times the node at the end
  for (int k = 0; k < 8; ++k) {
    many += fmt::format("<node id=\"n{}\">", k);
    for (int i = 0; i < 8; ++i) many += fmt::format("<instance_node url=\"#n{}\"/>", k + 1);
    many += "</node>";
  }
  many += "<node id=\"n8\"><instance_geometry url=\"#tet\"/></node>";
  const std::pair<std::string, const char*> cases[] = {
      {"", "is empty"},
      {"<COLLADA><asset>", "x.dae:1: not well-formed XML"},
      {"<robot/>", "the document is a <robot>, expected <COLLADA>"},
      {"<COLLADA/>", "has no <visual_scene>"},
      {changed("primitives.dae", "url=\"#scene\"", "url=\"#scenes\""),
       "url \"#scenes\", expected \"#\" and the id of a <visual_scene>"},
      {changed("primitives.dae", "url=\"#gon\"", "url=\"gon.dae#gon\""), "expected \"#\" and the id of a <geometry>"},
      {changed("primitives.dae", "meter=\"1\"", "meter=\"0\""), "unit is 0 m"},
      {changed("primitives.dae", "4 3 0", "4 nan 0"), "x.dae:5: <float_array> has \"nan\""},
      {changed("primitives.dae", "4 3 0", "4 1e300 0"), "expected a finite number of at most 1e+12"},
      {changed("primitives.dae", "count=\"9\" stride", "count=\"10\" stride"),
       "10 positions of stride 3 are asked for, but the array has 27"},
      {changed("primitives.dae", "count=\"9\" stride=\"3\"", "count=\"9\" stride=\"0\""),
       "stride 0, expected at least 3"},
      {changed("primitives.dae", "count=\"9\" stride", "count=\"-9\" stride"), "count of <accessor> is \"-9\""},
      {changed("primitives.dae", "<vcount>5 4 3", "<vcount>5 4 4"),
       "a polygon has \"4\" corners, expected at most the 3"},
      {changed("primitives.dae", "<vcount>5 4 3", "<vcount>5 4"), "polygons have 9 corners, but 12 are listed"},
      {changed("primitives.dae", "7 0 7 1", "7 0 7 9"), "corner 2 is vertex \"9\", expected 0 to 8"},
      {changed("primitives.dae", "7 0 7 1", "7 0 7 -1"), "corner 2 is vertex \"-1\""},
      {changed("primitives.dae", "7 0 7 1", "7 0 7 1 7"), "no multiple of 2"},
      {changed("primitives.dae", "#poly-v", "#poly-w"), "expected \"#\" and the id of a <vertices>"},
      {changed("primitives.dae", "semantic=\"VERTEX\"", "semantic=\"COLOR\""),
       "<polylist> has no input of semantic VERTEX"},
      {changed("skin.dae", tetrahedron_corners(), "0 1"), "triangles have 2 corners"},
      {changed("skin.dae", "<translate>1 2 3", "<translate>1 2"), "<translate> has too few numbers"},
      {changed("skin.dae", "<translate>1 2 3", "<translate>1 2 3 4"), "<translate> has \"4\" after 3 numbers"},
      {changed("skin.dae", "source=\"#tet\"", "source=\"#bend\""), "controllers refer to each other"},
      {changed("transforms.dae", "0 0 1 30", "0 0 0 30"), "a direction of length 0"},
      {changed("transforms.dae", "0 0 1 30", "0 0 1 1e9"), "angle is 1e+09 degrees"},
      {changed("holes.dae", "30 0 1 0", "90 0 1 0"), "<skew> turns a direction"},
      {changed("skin.dae", "<translate>1 2 3", "<translate>1e12 2 3</translate><translate>1e12 0 0"),
       "a vertex comes to lie at (2e+12"},
      {dae_of("", dae_tetrahedron(), "<node><instance_camera url=\"#c\"/></node>"), "mesh has no triangles"},
      {in_itself, "node \"a\" contains itself"},
      {dae_of("", dae_tetrahedron(), deep), "nest deeper than 100 levels"},
      {dae_of("", dae_tetrahedron(), "<node><instance_node url=\"#n0\"/></node>",
              "<library_nodes>" + many + "</library_nodes>"),
       "the scene has more than 1000000 elements"},
  };
  for (const auto& [bytes, expected] : cases) {
    const std::string message = error_of([&] { parse_dae(bytes, "x.dae"); });
    EXPECT_TRUE(message.starts_with("x.dae:")) << message;
    EXPECT_NE(message.find(expected), std::string::npos) << expected << " in " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(Gltf, MalformedFilesGetOneLineThatNamesThePlace) {
  const std::string glb = sample("nodes.glb").bytes;
  std::string version = glb, length = glb, chunk = glb;
  version[4] = 1, length[8] = static_cast<char>(length[8] + 1), chunk[14] = 1;
  const auto json = [](const std::string& changes) {  // the text sample with a JSON patch that merges into it
    nlohmann::json document = nlohmann::json::parse(sample("nodes.gltf").bytes);
    document.merge_patch(nlohmann::json::parse(changes));
    return document.dump();
  };
  const auto edited = [](const char* pointer, const nlohmann::json& value) {
    nlohmann::json document = nlohmann::json::parse(sample("nodes.gltf").bytes);
    document[nlohmann::json::json_pointer(pointer)] = value;
    return document.dump();
  };
  const auto sparse = [](const nlohmann::json& value) {
    nlohmann::json document = nlohmann::json::parse(sample("nodes.gltf").bytes);
    document["accessors"][0]["sparse"] = value;
    return document.dump();
  };
  const std::pair<std::string, const char*> cases[] = {
      {"", "is empty"},
      {"solid", "is not JSON"},
      {"[1]", "is not a JSON object"},
      {"{}", "asset.version is \"\", expected 2.0"},
      {version, "binary glTF of version 1"},
      {length, "bytes, but has"},
      {chunk, "has a chunk of"},
      {glb.substr(0, 12) + "        ", "bytes, but has 20"},
      {json(R"({"asset": {"version": "1.0"}})"), "asset.version is \"1.0\""},
      {json(R"({"extensionsRequired": ["KHR_draco_mesh_compression"]})"),
       "extensionsRequired[0] is \"KHR_draco_mesh_compression\", which scree does not read"},
      {json(R"({"extensionsRequired": ["EXT_meshopt_compression"]})"), "EXT_meshopt_compression"},
      {json(R"({"scene": 1})"), "scene is 1, expected a whole number from 0 to 0"},
      {json(R"({"meshes": null})"), "nodes[0].mesh is 0, but the file has no meshes"},
      {json(R"({"nodes": {}})"), "scenes[0].nodes[0] is 0, but the file has no nodes"},
      {edited("/nodes/1/children", {0}), "nodes[0] contains itself"},
      {edited("/nodes/0/children", {2}), "nodes[0].children[0] is 2, expected a whole number from 0 to 1"},
      {edited("/nodes/0/children", {-1}), "is -1, expected"},
      {edited("/nodes/0/children", {"1"}), "is \"1\", expected"},
      {edited("/nodes/0/rotation", {0, 0, 0, 0}), "nodes[0] has a rotation of length 0"},
      {edited("/nodes/0/scale", {1, 2}), "nodes[0].scale is an array, expected 3 numbers"},
      {edited("/nodes/0/scale", {1, 2, 1e300}), "nodes[0].scale has 1e+300"},
      {edited("/accessors/0/count", 5), "accessors[0] needs bytes 0 to 60 of bufferViews[0], which has 48"},
      {edited("/accessors/0/count", 4000000000), "accessors[0].count is 4000000000"},
      {edited("/accessors/0/count", 1.5), "accessors[0].count is 1.5"},
      {edited("/accessors/0/byteOffset", 500000000), "accessors[0] needs bytes 500000000"},
      {edited("/accessors/0/type", "VEC2"), "accessors[0] has type \"VEC2\", expected VEC3"},
      {edited("/accessors/0/componentType", 5124), "accessors[0] has componentType 5124"},
      {edited("/accessors/1/componentType", 5122), "accessors[1] holds indices that may be negative"},
      {edited("/accessors/0/count", 3), "meshes[0].primitives[0] uses vertex 3, expected 0 to 2"},
      {edited("/accessors/1/count", 11), "has triangles of 11 corners"},
      {edited("/bufferViews/0/byteStride", 4), "bufferViews[0] has byteStride 4, expected at least the 12"},
      {edited("/bufferViews/0/byteLength", 5000), "bufferViews[0] is bytes 0 to 5000 of bufferViews[0].buffer"},
      {edited("/bufferViews/0/byteOffset", 500000000), "bufferViews[0] is bytes 500000000"},
      {edited("/buffers/0/byteLength", 5000), "buffers[0] claims 5000 bytes, but has"},
      {edited("/buffers/0/uri", "data:text/plain,x"), "buffers[0] has uri"},
      {edited("/buffers/0/uri", "data:x;base64,????"), "not base64"},
      {edited("/buffers/0/uri", "other.bin"), "buffers[0] cannot be had"},
      {sparse({{"count", 5}}), "accessors[0].sparse.count is 5, expected a whole number from 0 to 4"},
      {sparse({{"count", 2}}), "accessors[0].sparse has no \"indices\""},
      {sparse({{"count", 2}, {"indices", {{"bufferView", 1}, {"componentType", 5121}}}}), "has no \"values\""},
      {sparse({{"count", 2},
               {"indices", {{"bufferView", 1}, {"byteOffset", 20}, {"componentType", 5125}}},
               {"values", {{"bufferView", 0}}}}),
       "accessors[0].sparse.indices needs bytes 20 to 28"},
      {sparse(
           {{"count", 2}, {"indices", {{"bufferView", 1}, {"componentType", 5125}}}, {"values", {{"bufferView", 0}}}}),
       "accessors[0].sparse.indices names element"},
      {edited("/meshes",
              {{{"primitives", {{{"attributes", {{"POSITION", 0}}}, {"mode", 0}}}}}, nlohmann::json::object()}),
       "mesh has no triangles"},
  };
  for (const auto& [bytes, expected] : cases) {
    const std::string message = error_of([&] { parse_gltf(bytes, "x.gltf"); });
    EXPECT_TRUE(message.starts_with("x.gltf: ")) << message;
    EXPECT_NE(message.find(expected), std::string::npos) << expected << " in " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(Mesh, EveryPrefixOfASceneIsAMeshOrAnInputError) {
  for (const MeshSample& s : mesh_samples())
    for (size_t n = 0; n < s.bytes.size(); n += 1 + n / 50) {
      const MeshSample cut{s.name, s.bytes.substr(0, n), {}};
      error_of([&] { parse(cut); });
    }
}

TEST(Mesh, ImportReportSaysWhatColoursAreMissing) {
  const TempFolder folder;
  MeshSample alone = sample("texture.dae");
  alone.companions.clear();
  write_sample(alone, folder / "x.dae");
  const fs::path robot = folder.write("r.urdf",
                                      "<robot name=\"r\"><link name=\"a\"><visual><geometry><mesh filename=\"x.dae\"/>"
                                      "</geometry></visual></link></robot>");
  ImportReport report;
  load_urdf(robot, {}, &report);
  bool said = false;
  for (const auto& entry : report.entries)
    said = said || entry.note.find("no colour from texture") != std::string::npos;
  EXPECT_TRUE(said);
}

}  // namespace
}  // namespace scree
