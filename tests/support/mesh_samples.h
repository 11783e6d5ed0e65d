// Small COLLADA and glTF files that use every part of their readers.
#pragma once

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace scree {

struct MeshSample {
  std::string name, bytes;
  std::vector<std::pair<std::string, std::string>> companions = {};  // files beside it
  bool assimp_reads_it = true;                                       // as its format says
};

inline void write_sample(const MeshSample& sample, const std::filesystem::path& file) {
  const auto write = [](const std::filesystem::path& to, const std::string& bytes) {
    std::filesystem::create_directories(to.parent_path());
    std::ofstream(to, std::ios::binary) << bytes;
  };
  write(file, sample.bytes);
  for (const auto& [name, bytes] : sample.companions) write(file.parent_path() / name, bytes);
}

inline std::string dae_of(const std::string& asset, const std::string& geometries, const std::string& nodes,
                          const std::string& more = "") {
  return "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<COLLADA xmlns=\"http://www.collada.org/2005/11/COLLADASchema\" "
         "version=\"1.4.1\">\n<asset>" +
         asset + "</asset>\n<library_geometries>" + geometries + "</library_geometries>\n" + more +
         "<library_visual_scenes><visual_scene id=\"scene\">" + nodes +
         "</visual_scene></library_visual_scenes>\n<scene><instance_visual_scene "
         "url=\"#scene\"/></scene>\n</COLLADA>\n";
}

// A geometry of the points [three numbers each] with primitives that use the vertices "ID-v".
inline std::string dae_geometry(const std::string& id, int count, const std::string& points,
                                const std::string& primitives) {
  return "<geometry id=\"" + id + "\"><mesh>\n<source id=\"" + id + "-p\"><float_array id=\"" + id + "-a\" count=\"" +
         std::to_string(3 * count) + "\">" + points + "</float_array><technique_common><accessor source=\"#" + id +
         "-a\" count=\"" + std::to_string(count) +
         "\" stride=\"3\"><param name=\"X\" type=\"float\"/><param name=\"Y\" type=\"float\"/><param name=\"Z\" "
         "type=\"float\"/></accessor></technique_common></source>\n<vertices id=\"" +
         id + "-v\"><input semantic=\"POSITION\" source=\"#" + id + "-p\"/></vertices>\n" + primitives +
         "</mesh></geometry>\n";
}

inline std::string dae_input(const std::string& id, int offset = 0) {
  return "<input semantic=\"VERTEX\" source=\"#" + id + "-v\" offset=\"" + std::to_string(offset) + "\"/>";
}

inline std::string dae_material(const std::string& id, const std::string& diffuse, const std::string& params = "") {
  return "<library_effects><effect id=\"" + id + "-fx\"><profile_COMMON>" + params +
         "<technique sid=\"common\"><phong><emission><color>0 0 0 1</color></emission><diffuse>" + diffuse +
         "</diffuse></phong></technique></profile_COMMON></effect></library_effects><library_materials><material "
         "id=\"" +
         id + "\"><instance_effect url=\"#" + id + "-fx\"/></material></library_materials>\n";
}

inline std::string dae_bind(const std::string& symbol, const std::string& material) {
  return "<bind_material><technique_common><instance_material symbol=\"" + symbol + "\" target=\"#" + material +
         "\"/></technique_common></bind_material>";
}

inline std::string tetrahedron_points() { return "0 0 0  1 0 0  0 1.5 0  0 0 2e0"; }
inline std::string tetrahedron_corners() { return "0 2 1 0 1 3 0 3 2 1 2 3"; }

inline std::string dae_tetrahedron() {
  return dae_geometry(
      "tet", 4, tetrahedron_points(),
      "<triangles count=\"4\" material=\"m\">" + dae_input("tet") + "<p>" + tetrahedron_corners() + "</p></triangles>");
}

inline const std::string& red_png() {  // 2 x 2 pixels, all (200, 40, 40)
  static const std::string bytes(
      "\211\120\116\107\015\012\032\012\000\000\000\015\111\110\104\122\000\000\000\002\000\000\000\002"
      "\010\002\000\000\000\375\324\232\163\000\000\000\020\111\104\101\124\170\332\143\070\241\241\001"
      "\104\014\020\012\000\041\056\004\141\366\341\302\115\000\000\000\000\111\105\116\104\256\102\140"
      "\202",
      73);
  return bytes;
}

inline std::vector<MeshSample> dae_samples() {
  std::vector<MeshSample> samples;
  const std::string instance = "<instance_geometry url=\"#tet\">" + dae_bind("m", "red") + "</instance_geometry>";
  samples.push_back(
      {"transforms.dae",
       dae_of("<unit name=\"centimeter\" meter=\"0.01\"/><up_axis>Y_UP</up_axis>", dae_tetrahedron(),
              "<node id=\"a\"><translate>10 20 30</translate><rotate>0 0 1 30</rotate><rotate>0.6 0.8 0 -50</rotate>"
              "<scale>1 2 -3</scale>" +
                  instance + "<node><matrix>0 -1 0 4  1 0 0 5  0 0 2 6  0 0 0 1</matrix>" + instance +
                  "</node></node><node><lookat>5 1 2  3 -4 1  0.08804509063256238 0.22011272658140596 "
                  "-1.2766538141721546</lookat><instance_node url=\"#shared\"/></node>",
              "<library_nodes><node id=\"shared\"><translate>0 0 -7</translate>" + instance +
                  "</node></library_nodes>" + dae_material("red", "<color sid=\"diffuse\">0.8 0.1 0.2 1</color>"))});
  samples.push_back(
      {"primitives.dae",
       dae_of(
           "<unit meter=\"1\"/>",
           dae_geometry("poly", 9, "0 0 0  4 0 0  4 3 0  2 1 0  0 3 0  0 0 1  4 0 1  4 3 1  0 3 1",
                        "<polylist count=\"3\">" + dae_input("poly", 1) +
                            "<input semantic=\"NORMAL\" source=\"#poly-p\" offset=\"0\"/><vcount>5 4 3</vcount>"
                            "<p>7 0 7 1 7 2 7 3 7 4  8 5 8 6 8 7 8 8  0 0 0 1 0 6</p></polylist>") +
               dae_geometry("gon", 8, "0 0 5 1 0 5 1 1 5 0 1 5 0 0 6 1 0 6 1 1 6 0 1 6",
                            "<polygons count=\"2\">" + dae_input("gon") + "<p>3 2 1 0</p><p>4 5 6 7</p></polygons>") +
               dae_geometry("strip", 6, "0 0 8 0 1 8 1 0 8 1 1 8.5 2 0 8 2 1 8",
                            "<tristrips count=\"2\">" + dae_input("strip") +
                                "<p>0 1 2 3 4 5</p><p>5 4 3</p></tristrips>" + "<trifans count=\"1\">" +
                                dae_input("strip") + "<p>0 1 3 5 4</p></trifans><lines count=\"1\">" +
                                dae_input("strip") + "<p>0 5</p></lines>"),
           "<node><instance_geometry url=\"#poly\"/><instance_geometry url=\"#gon\"/><instance_geometry "
           "url=\"#strip\"/></node>")});
  samples.push_back(
      {"skin.dae",
       dae_of(
           "", dae_tetrahedron(), "<node><translate>1 2 3</translate><instance_controller url=\"#bend\"/></node>",
           "<library_controllers><controller id=\"bend\"><skin source=\"#tet\"><bind_shape_matrix>1 0 0 0 0 1 0 0 0 0 "
           "1 0 0 0 0 1</bind_shape_matrix></skin></controller></library_controllers>"),
       {},
       false});
  samples.push_back(
      {"texture.dae",
       dae_of(
           "", dae_tetrahedron(), "<node>" + instance + "</node>",
           "<library_images><image id=\"img\"><init_from>images/red%20one.png</init_from></image></library_images>" +
               dae_material("red", "<texture texture=\"smp\" texcoord=\"UV\"/>",
                            "<newparam sid=\"srf\"><surface type=\"2D\"><init_from>img</init_from></surface></newparam>"
                            "<newparam sid=\"smp\"><sampler2D><source>srf</source></sampler2D></newparam>")),
       {{"images/red one.png", red_png()}}});
  samples.push_back({"holes.dae",
                     dae_of("<up_axis>Z_UP</up_axis>",
                            dae_geometry("ring", 8, "0 0 0 3 0 0 3 3 0 0 3 0 1 1 0 2 1 0 2 2 0 1 2 0",
                                         "<polygons count=\"1\">" + dae_input("ring") +
                                             "<ph><p>0 1 2 3</p><h>4 5 6 7</h></ph></polygons>"),
                            "<node><skew>30 0 1 0 1 0 0</skew><instance_geometry url=\"#ring\"/></node>"),
                     {},
                     false});
  return samples;
}

inline std::string base64_text(const std::string& bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    unsigned word = 0;
    const size_t have = std::min<size_t>(3, bytes.size() - i);
    for (size_t k = 0; k < 3; ++k) word = word << 8 | (k < have ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k) text += k <= have ? kDigits[word >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

// A glTF in the making: one buffer, a view and an accessor for each array.
class GltfSample {
 public:
  nlohmann::json json = {{"asset", {{"version", "2.0"}}}, {"scene", 0}};

  template <class T> int view(const std::vector<T>& values, int stride = 0) {
    while (buffer_.size() % 4 != 0) buffer_ += '\0';
    nlohmann::json view = {{"buffer", 0}, {"byteOffset", buffer_.size()}, {"byteLength", sizeof(T) * values.size()}};
    if (stride > 0) view["byteStride"] = stride;
    buffer_.append(reinterpret_cast<const char*>(values.data()), sizeof(T) * values.size());
    json["bufferViews"].push_back(view);
    return static_cast<int>(json["bufferViews"].size()) - 1;
  }
  int accessor(int view, int component, size_t count, const char* type, size_t offset = 0) {
    json["accessors"].push_back({{"bufferView", view},
                                 {"byteOffset", offset},
                                 {"componentType", component},
                                 {"count", count},
                                 {"type", type},
                                 {"min", {-9, -9, -9}},
                                 {"max", {9, 9, 9}}});
    if (*type == 'S') json["accessors"].back().erase("min"), json["accessors"].back().erase("max");
    return static_cast<int>(json["accessors"].size()) - 1;
  }
  int points(const std::vector<float>& values) { return accessor(view(values), 5126, values.size() / 3, "VEC3"); }
  int indices(const std::vector<std::uint16_t>& values) {
    return accessor(view(values), 5123, values.size(), "SCALAR");
  }

  std::string embedded() {
    json["buffers"] = {
        {{"byteLength", buffer_.size()}, {"uri", "data:application/octet-stream;base64," + base64_text(buffer_)}}};
    return json.dump();
  }
  std::pair<std::string, std::string> beside(const std::string& name) {  // and the buffer
    json["buffers"] = {{{"byteLength", buffer_.size()}, {"uri", name}}};
    return {json.dump(1), buffer_};
  }
  std::string binary() {
    json["buffers"] = {{{"byteLength", buffer_.size()}}};
    std::string text = json.dump();
    while (text.size() % 4 != 0) text += ' ';
    while (buffer_.size() % 4 != 0) buffer_ += '\0';
    const auto u32 = [](size_t value) {
      std::string bytes;
      for (int k = 0; k < 4; ++k) bytes += static_cast<char>(value >> (8 * k) & 0xFF);
      return bytes;
    };
    return "glTF" + u32(2) + u32(28 + text.size() + buffer_.size()) + u32(text.size()) + "JSON" + text +
           u32(buffer_.size()) + std::string("BIN\0", 4) + buffer_;
  }

 private:
  std::string buffer_;
};

inline std::vector<float> tetrahedron_vertices() { return {0, 0, 0, 1, 0, 0, 0, 1.5f, 0, 0, 0, 2}; }
inline std::vector<std::uint16_t> tetrahedron_indices() { return {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3}; }

inline std::vector<MeshSample> gltf_samples() {
  std::vector<MeshSample> samples;
  {
    GltfSample g;
    const int p = g.points(tetrahedron_vertices()), i = g.indices(tetrahedron_indices());
    g.json["materials"] = {{{"pbrMetallicRoughness", {{"baseColorFactor", {0.5, 0.25, 0, 1}}}}},
                           {{"pbrMetallicRoughness", {{"baseColorFactor", {0, 0, 1, 0.5}}}}, {"alphaMode", "BLEND"}}};
    g.json["meshes"] = {{{"primitives", {{{"attributes", {{"POSITION", p}}}, {"indices", i}, {"material", 0}}}}},
                        {{"primitives", {{{"attributes", {{"POSITION", p}}}, {"indices", i}, {"material", 1}}}}}};
    g.json["nodes"] = {{{"mesh", 0},
                        {"translation", {1, 2, 3}},
                        {"rotation", {0.5, 0.5, 0.5, 0.5}},
                        {"scale", {1, 2, -1}},
                        {"children", {1}}},
                       {{"mesh", 1}, {"matrix", {0, 1, 0, 0, -1, 0, 0, 0, 0, 0, 2, 0, 4, 5, 6, 1}}}};
    g.json["scenes"] = {{{"nodes", {0}}}};
    samples.push_back({"nodes.gltf", g.embedded()});
    const auto [text, buffer] = g.beside("parts/data%201.bin");
    samples.push_back({"beside.gltf", text, {{"parts/data 1.bin", buffer}}, false});
    samples.push_back({"nodes.glb", g.binary()});
  }
  {
    GltfSample g;
    const int strip = g.points({0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1, 0.5f, 2, 0, 0, 2, 1, 0});
    const int bytes = g.accessor(g.view(std::vector<std::uint8_t>{0, 1, 3, 5, 4}), 5121, 5, "SCALAR");
    const int words = g.accessor(g.view(std::vector<std::uint32_t>{0, 1, 2, 2, 1, 3}), 5125, 6, "SCALAR");
    const auto primitive = [&](int mode, int indices) {
      nlohmann::json json = {{"attributes", {{"POSITION", strip}}}, {"mode", mode}};
      if (indices >= 0) json["indices"] = indices;
      return json;
    };
    g.json["meshes"] = {
        {{"primitives", {primitive(5, -1), primitive(6, bytes), primitive(4, words), primitive(1, -1)}}}};
    g.json["nodes"] = {{{"mesh", 0}}};
    g.json["scenes"] = {{{"nodes", {0}}}};
    samples.push_back({"modes.glb", g.binary()});
  }
  {
    GltfSample g;  // positions among others, some replaced, an image inside
    const std::vector<float> points = {9, 9, 9, 0, 0, 0, 9, 9, 9, 9, 9, 9, 0, 1.5f, 0, 9, 9, 9};
    std::vector<float> wide;
    for (size_t k = 0; k < points.size(); k += 3) wide.insert(wide.end(), {points[k], points[k + 1], points[k + 2], 7});
    const int p = g.accessor(g.view(wide, 16), 5126, 5, "VEC3", 16);
    g.json["accessors"][0]["sparse"] = {
        {"count", 2},
        {"indices", {{"bufferView", g.view(std::vector<std::uint8_t>{1, 2})}, {"componentType", 5121}}},
        {"values", {{"bufferView", g.view(std::vector<float>{1, 0, 0, 0, 0, 2})}}}};
    const int i = g.indices({0, 3, 1, 0, 1, 2, 0, 2, 3, 1, 3, 2});
    g.json["images"] = {
        {{"bufferView", g.view(std::vector<char>(red_png().begin(), red_png().end()))}, {"mimeType", "image/png"}}};
    g.json["textures"] = {{{"source", 0}}};
    g.json["materials"] = {{{"pbrMetallicRoughness", {{"baseColorTexture", {{"index", 0}}}}}}};
    g.json["meshes"] = {{{"primitives", {{{"attributes", {{"POSITION", p}}}, {"indices", i}, {"material", 0}}}}}};
    g.json["nodes"] = {{{"mesh", 0}}};
    g.json["scenes"] = {{{"nodes", {0}}}};
    samples.push_back({"sparse.glb", g.binary(), {}, false});  // assimp 5.2 patches as if elements had no stride
  }
  {
    GltfSample g;
    const int p =
        g.accessor(g.view(std::vector<std::int16_t>{0, 0, 0, 0, 32767, 0, 0, 0, 0, 32767, 0, 0, 0, 0, -32767, 0}, 8),
                   5122, 4, "VEC3");
    g.json["accessors"][0]["normalized"] = true;
    const int i = g.indices(tetrahedron_indices());
    g.json["extensionsRequired"] = {"KHR_mesh_quantization"};
    g.json["meshes"] = {{{"primitives", {{{"attributes", {{"POSITION", p}}}, {"indices", i}}}}}};
    g.json["nodes"] = {{{"mesh", 0}, {"scale", {1, 1.5, 2}}}};
    samples.push_back({"quantised.gltf", g.embedded(), {}, false});
  }
  return samples;
}

inline std::vector<MeshSample> mesh_samples() {
  std::vector<MeshSample> samples = dae_samples();
  for (MeshSample& sample : gltf_samples()) samples.push_back(std::move(sample));
  return samples;
}

}  // namespace scree
