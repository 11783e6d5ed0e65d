// glTF 2.0, as JSON or as one binary file (GLB): the meshes of the scene, where its nodes put them. Triangles, strips
// and fans; of materials the base colour. The format has y up, scree and URDF z: (x, y, z) becomes (x, -z, y)
// (docs/urdf.md). Points, lines, cameras, animations, skins and morph targets are not used.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "formats/mesh_formats.h"
#include "formats/texture_colour.h"
#include "scree/error.h"
#include "scree/mesh.h"

namespace scree {
namespace {

using Json = nlohmann::json;
using Points = std::vector<Vec3>;
using Transform = Eigen::Affine3d;

constexpr size_t kMostTokens = 4'000'000;  // of the JSON: each takes a hundred bytes
constexpr size_t kMostVisits = 100'000;    // of nodes: one may be placed many times
constexpr size_t kDeepestNode = 100;
constexpr size_t kMostBytes = size_t{512} << 20;  // of all buffers
constexpr size_t kMostTextures = 256;
constexpr std::uint32_t kMagic = 0x46546C67, kJsonChunk = 0x4E4F534A, kBinaryChunk = 0x004E4942;

std::uint32_t read_u32(std::string_view bytes, size_t at) {
  std::uint32_t value = 0;
  for (size_t k = 4; k-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + k]);
  return value;
}

std::optional<std::string> decode_base64(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  while (text.ends_with('=')) text.remove_suffix(1);
  std::uint32_t word = 0;
  int bits = 0;
  for (const char c : text) {
    unsigned digit = 0;
    if (c >= 'A' && c <= 'Z')
      digit = static_cast<unsigned>(c - 'A');
    else if (c >= 'a' && c <= 'z')
      digit = static_cast<unsigned>(c - 'a') + 26;
    else if (c >= '0' && c <= '9')
      digit = static_cast<unsigned>(c - '0') + 52;
    else if (c == '+')
      digit = 62;
    else if (c == '/')
      digit = 63;
    else
      return std::nullopt;
    word = word << 6 | digit;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>(word >> bits & 0xFF);
    }
  }
  return bytes;
}

// An element of the JSON with the place that messages name, such as accessors[3].sparse.
struct Item {
  const Json* json;
  std::string place;
};

struct Component {
  size_t size;  // [bytes]
  bool floating, is_signed;
};

struct Accessor {
  Item item;
  size_t count = 0, width = 1;  // elements, numbers in each
  Component component;
  bool normalised = false;
  std::string_view bytes;  // from its first element on; empty: all zero
  size_t stride = 0;
};

struct Part {
  const Points* points = nullptr;
  std::vector<std::array<int, 3>> triangles;
  std::optional<Colour> colour;
};

class GltfReader {
 public:
  GltfReader(std::string_view bytes, const std::string& name, MeshCompanions& companions)
      : name_(name), companions_(companions), mesh_(name), budget_(name) {
    split_chunks(bytes);
  }

  TriangleMesh read() {
    parse();
    check_asset();
    Transform X_MW = Transform::Identity();
    X_MW.linear() << 1, 0, 0, 0, 0, -1, 0, 1, 0;
    for (const Item& node : scene_nodes()) visit(node, X_MW);
    return mesh_.take();
  }

 private:
  // --- container and JSON --------------------------------------------------------------------------------------------

  [[noreturn]] void fail(const std::string& place, const std::string& what) const {
    throw InputError(
        one_line(place.empty() ? fmt::format("{}: {}", name_, what) : fmt::format("{}: {} {}", name_, place, what)));
  }

  void split_chunks(std::string_view bytes) {
    if (bytes.size() < 12 || read_u32(bytes, 0) != kMagic) {
      text_ = bytes;
      return;
    }
    if (const std::uint32_t version = read_u32(bytes, 4); version != 2)
      fail("", fmt::format("is binary glTF of version {}, expected 2", version));
    if (const std::uint32_t length = read_u32(bytes, 8); length != bytes.size())
      fail("", fmt::format("claims {} bytes, but has {}", length, bytes.size()));
    for (size_t at = 12; at < bytes.size();) {
      if (bytes.size() - at < 8) fail("", fmt::format("ends in the header of a chunk at byte {}", at));
      const std::uint32_t length = read_u32(bytes, at), kind = read_u32(bytes, at + 4);
      at += 8;
      if (length > bytes.size() - at)
        fail("",
             fmt::format("has a chunk of {} bytes at byte {}, but {} bytes are left", length, at, bytes.size() - at));
      if (kind == kJsonChunk && text_.empty()) text_ = bytes.substr(at, length);
      if (kind == kBinaryChunk && !binary_) binary_ = bytes.substr(at, length);
      at += length;
    }
    if (text_.empty()) fail("", "has no JSON chunk");
  }

  void parse() {
    size_t tokens = 0;
    for (const char c : text_) tokens += c == '[' || c == '{' || c == ',' || c == ':' ? 1 : 0;
    if (tokens > kMostTokens) fail("", fmt::format("has {} JSON values, expected at most {}", tokens, kMostTokens));
    try {
      document_ = Json::parse(text_.starts_with("\xEF\xBB\xBF") ? text_.substr(3) : text_);
    } catch (const Json::exception& error) {
      fail("", fmt::format("is not JSON, expected glTF 2.0 ({})", error.what()));
    }
    if (!document_.is_object()) fail("", "is not a JSON object, expected glTF 2.0");
  }

  static std::string shown(const Json& json) {
    return json.is_structured() ? (json.is_array() ? "an array" : "an object")
                                : one_line(json.dump(-1, ' ', false, Json::error_handler_t::replace), 60);
  }

  // A member, if it is there.
  static std::optional<Item> member(const Item& item, const char* key) {
    const auto found = item.json->find(key);
    if (found == item.json->end()) return std::nullopt;
    return Item{&*found, item.place.empty() ? key : item.place + '.' + key};
  }
  std::optional<Item> object(const Item& item, const char* key) const {
    const auto found = member(item, key);
    if (found && !found->json->is_object())
      fail(found->place, fmt::format("is {}, expected an object", shown(*found->json)));
    return found;
  }
  std::vector<Item> array(const Item& item, const char* key) const {
    const auto found = member(item, key);
    std::vector<Item> items;
    if (!found) return items;
    if (!found->json->is_array()) fail(found->place, fmt::format("is {}, expected an array", shown(*found->json)));
    for (size_t k = 0; k < found->json->size(); ++k)
      items.push_back({&(*found->json)[k], fmt::format("{}[{}]", found->place, k)});
    return items;
  }
  size_t whole(const Item& item, size_t most) const {
    double value = -1;
    if (item.json->is_number()) value = item.json->get<double>();
    if (!(value >= 0 && value <= static_cast<double>(most)) || value != std::floor(value))
      fail(item.place, fmt::format("is {}, expected a whole number from 0 to {}", shown(*item.json), most));
    return static_cast<size_t>(value);
  }
  size_t whole(const Item& item, const char* key, size_t fallback, size_t most) const {
    const auto found = member(item, key);
    return found ? whole(*found, most) : fallback;
  }
  size_t required(const Item& item, const char* key, size_t most) const {
    const auto found = member(item, key);
    if (!found) fail(item.place, fmt::format("has no \"{}\"", key));
    return whole(*found, most);
  }
  std::string text(const Item& item, const char* key) const {
    const auto found = member(item, key);
    if (!found) return "";
    if (!found->json->is_string()) fail(found->place, fmt::format("is {}, expected a string", shown(*found->json)));
    return found->json->get<std::string>();
  }
  template <size_t count>
  std::array<double, count> numbers(const Item& item, const char* key,
                                    const std::array<double, count>& fallback) const {
    const auto found = member(item, key);
    if (!found) return fallback;
    const bool sized = found->json->is_array() && found->json->size() == count;
    std::array<double, count> values = fallback;
    for (size_t k = 0; sized && k < count; ++k) {
      const Json& value = (*found->json)[k];
      values[k] = value.is_number() ? value.get<double>() : NAN;
      if (!(std::abs(values[k]) <= kLargestNumber))
        fail(found->place,
             fmt::format("has {}, expected a finite number of at most {:g}", shown(value), kLargestNumber));
    }
    if (!sized) fail(found->place, fmt::format("is {}, expected {} numbers", shown(*found->json), count));
    return values;
  }
  // Element `index` of the array `key` of the document, an object.
  Item element(const char* key, const Item& index) const {
    const auto list = document_.find(key);
    const size_t size = list != document_.end() && list->is_array() ? list->size() : 0;
    if (size == 0) fail(index.place, fmt::format("is {}, but the file has no {}", shown(*index.json), key));
    const size_t k = whole(index, size - 1);
    const Item found = {&(*list)[k], fmt::format("{}[{}]", key, k)};
    if (!found.json->is_object()) fail(found.place, fmt::format("is {}, expected an object", shown(*found.json)));
    return found;
  }

  void check_asset() const {
    const Item root = {&document_, ""};
    const auto asset = object(root, "asset");
    const std::string version = asset ? text(*asset, "version") : "";
    if (!version.starts_with("2.")) fail("asset.version", fmt::format("is {}, expected 2.0", in_quotes(version)));
    static constexpr std::string_view kHarmless[] = {"KHR_mesh_quantization", "KHR_materials_", "KHR_texture_",
                                                     "EXT_texture_",          "KHR_lights_",    "KHR_xmp"};
    for (const Item& extension : array(root, "extensionsRequired")) {
      const std::string wanted =
          extension.json->is_string() ? extension.json->get<std::string>() : shown(*extension.json);
      if (std::ranges::none_of(kHarmless, [&](std::string_view known) { return wanted.starts_with(known); }))
        fail(extension.place,
             fmt::format("is {}, which scree does not read, expected a file without it", in_quotes(wanted)));
    }
  }

  // --- scene ---------------------------------------------------------------------------------------------------------

  std::vector<Item> scene_nodes() const {
    const Item root = {&document_, ""};
    std::vector<Item> nodes;
    if (document_.contains("scenes")) {
      const auto chosen = member(root, "scene");
      static const Json zero = 0;
      const Item scene = element("scenes", chosen ? *chosen : Item{&zero, "scene"});
      for (const Item& index : array(scene, "nodes")) nodes.push_back(element("nodes", index));
      return nodes;
    }
    std::set<size_t> children;  // without a scene: all nodes that are in no other
    const std::vector<Item> all = array(root, "nodes");
    for (const Item& node : all) {
      if (!node.json->is_object()) fail(node.place, fmt::format("is {}, expected an object", shown(*node.json)));
      for (const Item& index : array(node, "children")) children.insert(whole(index, all.size() - 1));
    }
    for (size_t k = 0; k < all.size(); ++k)
      if (!children.contains(k)) nodes.push_back(all[k]);
    return nodes;
  }

  void visit(const Item& node, const Transform& X_MP) {
    if (++visits_ > kMostVisits)
      fail(node.place, fmt::format("is one too many: the scene places more than {} nodes", kMostVisits));
    if (path_.size() >= kDeepestNode) fail(node.place, fmt::format("nests deeper than {} levels", kDeepestNode));
    if (!path_.insert(node.json).second) fail(node.place, "contains itself");
    const Transform X_MN = X_MP * transform(node);
    if (const auto mesh = member(node, "mesh"))
      for (const Part& part : parts_of(element("meshes", *mesh))) {
        mesh_.paint(part.colour);
        mesh_.add_part(*part.points, part.triangles, X_MN);
      }
    for (const Item& child : array(node, "children")) visit(element("nodes", child), X_MN);
    path_.erase(node.json);
  }

  Transform transform(const Item& node) const {
    Transform X = Transform::Identity();
    if (node.json->contains("matrix")) {  // column by column
      const std::array<double, 16> m = numbers<16>(node, "matrix", {});
      X.matrix().topRows<3>() = Eigen::Matrix4d(m.data()).topRows<3>();
      return X;
    }
    const std::array<double, 3> move = numbers<3>(node, "translation", {0, 0, 0}),
                                scale = numbers<3>(node, "scale", {1, 1, 1});
    const std::array<double, 4> r = numbers<4>(node, "rotation", {0, 0, 0, 1});  // x y z w
    Quat turn(r[3], r[0], r[1], r[2]);
    if (!(turn.norm() > 1e-6)) fail(node.place, "has a rotation of length 0, expected a unit quaternion");
    turn.normalize();
    X.translate(Vec3(move.data())).rotate(turn).scale(Vec3(scale.data()));
    return X;
  }

  // --- meshes --------------------------------------------------------------------------------------------------------

  const std::vector<Part>& parts_of(const Item& mesh) {
    const auto [it, is_new] = parts_.try_emplace(mesh.json);
    if (is_new)
      for (const Item& primitive : array(mesh, "primitives")) {
        if (!primitive.json->is_object()) fail(primitive.place, "is not an object");
        const size_t mode = whole(primitive, "mode", 4, 6);
        if (mode < 4) continue;  // points and lines
        if (Part part = read_part(primitive, mode); !part.triangles.empty()) it->second.push_back(std::move(part));
      }
    return it->second;
  }

  Part read_part(const Item& primitive, size_t mode) {
    const auto attributes = object(primitive, "attributes");
    const auto position = attributes ? member(*attributes, "POSITION") : std::nullopt;
    Part part;
    static const Points none;
    part.points = &none;
    if (!position) return part;  // of another extension: nothing to show
    part.points = &points_of(element("accessors", *position));
    if (const auto material = member(primitive, "material")) part.colour = colour_of(element("materials", *material));
    std::vector<std::uint32_t> corners;
    if (const auto indices = member(primitive, "indices")) {
      corners = read_indices(element("accessors", *indices));
    } else {
      for (size_t k = 0; k < part.points->size(); ++k) corners.push_back(static_cast<std::uint32_t>(k));
    }
    budget_.triangles(corners.size() / (mode == 4 ? 3 : 1));
    for (const std::uint32_t corner : corners)
      if (corner >= part.points->size())
        fail(primitive.place,
             fmt::format("uses vertex {}, expected 0 to {}", corner, static_cast<long>(part.points->size()) - 1));
    if (mode == 4 && corners.size() % 3 != 0)
      fail(primitive.place, fmt::format("has triangles of {} corners, expected a multiple of 3", corners.size()));
    for (size_t k = 0; k + 2 < corners.size(); k += mode == 4 ? 3 : 1) {
      const bool odd = mode == 5 && k % 2 == 1;
      const std::array<int, 3> t = {static_cast<int>(corners[mode == 6 ? 0
                                                             : odd     ? k + 1
                                                                       : k]),
                                    static_cast<int>(corners[odd ? k : k + 1]), static_cast<int>(corners[k + 2])};
      if (t[0] != t[1] && t[1] != t[2] && t[2] != t[0]) part.triangles.push_back(t);
    }
    return part;
  }

  const Points& points_of(const Item& item) {
    const auto [it, is_new] = points_.try_emplace(item.json);
    if (!is_new) return it->second;
    const Accessor accessor = open(item, "VEC3", 3);
    budget_.vertices(accessor.count);
    Points& points = it->second;
    points.assign(accessor.count, Vec3::Zero());
    for (size_t i = 0; i < accessor.count && !accessor.bytes.empty(); ++i) points[i] = read_vec3(accessor, i);
    if (const auto sparse = object(item, "sparse")) {
      const auto [where, what] = open_sparse(*sparse, accessor);
      for (size_t i = 0; i < where.count; ++i) points[sparse_index(where, i, points.size())] = read_vec3(what, i);
    }
    return points;
  }

  std::vector<std::uint32_t> read_indices(const Item& item) {
    const Accessor accessor = open(item, "SCALAR", 1);
    if (accessor.component.floating || accessor.component.is_signed)
      fail(item.place, "holds indices that may be negative or broken, expected unsigned whole numbers");
    std::vector<std::uint32_t> indices(accessor.count, 0);
    for (size_t i = 0; i < accessor.count && !accessor.bytes.empty(); ++i) indices[i] = read_unsigned(accessor, i);
    if (const auto sparse = object(item, "sparse")) {
      const auto [where, what] = open_sparse(*sparse, accessor);
      for (size_t i = 0; i < where.count; ++i) indices[sparse_index(where, i, indices.size())] = read_unsigned(what, i);
    }
    return indices;
  }

  // --- accessors -----------------------------------------------------------------------------------------------------

  Component component(const Item& item) const {
    const size_t type = required(item, "componentType", 100'000);
    switch (type) {
      case 5120:
        return {1, false, true};
      case 5121:
        return {1, false, false};
      case 5122:
        return {2, false, true};
      case 5123:
        return {2, false, false};
      case 5125:
        return {4, false, false};
      case 5126:
        return {4, true, true};
      default:
        fail(item.place, fmt::format("has componentType {}, expected 5120 to 5123, 5125 or 5126", type));
    }
  }

  Accessor open(const Item& item, const char* type, size_t width) {
    Accessor accessor{item, 0, width, component(item), false, {}, 0};
    accessor.count = required(item, "count", 3 * kMostTriangles);
    if (const std::string found = text(item, "type"); found != type)
      fail(item.place, fmt::format("has type {}, expected {}", in_quotes(found), type));
    if (const auto normalised = member(item, "normalized"))
      accessor.normalised = normalised->json->is_boolean() && normalised->json->get<bool>();
    if (const auto view = member(item, "bufferView")) {
      attach(accessor, element("bufferViews", *view), whole(item, "byteOffset", 0, kMostBytes));
    } else if (accessor.count > 1'000'000) {
      fail(item.place,
           fmt::format("has {} elements but no bufferView, expected at most 1000000 zeros", accessor.count));
    }
    return accessor;
  }

  // Where the elements of the accessor lie.
  void attach(Accessor& accessor, const Item& view, size_t offset) {
    const std::string_view bytes = view_bytes(view);
    const size_t size = accessor.width * accessor.component.size;
    accessor.stride = whole(view, "byteStride", size, 252);
    if (accessor.stride < size)
      fail(view.place, fmt::format("has byteStride {}, expected at least the {} of an element", accessor.stride, size));
    const size_t needed = accessor.count == 0 ? 0 : (accessor.count - 1) * accessor.stride + size;
    if (offset > bytes.size() || needed > bytes.size() - offset)
      fail(accessor.item.place,
           fmt::format("needs bytes {} to {} of {}, which has {}", offset, offset + needed, view.place, bytes.size()));
    accessor.bytes = bytes.substr(offset);
  }

  // Values that take the place of others: their indices, and themselves.
  std::pair<Accessor, Accessor> open_sparse(const Item& sparse, const Accessor& of) {
    const size_t count = required(sparse, "count", of.count);
    const auto part = [&](const char* key, size_t width, const Component& component) {
      const auto item = object(sparse, key);
      if (!item) fail(sparse.place, fmt::format("has no \"{}\"", key));
      Accessor accessor{*item, count, width, component, of.normalised, {}, 0};
      const auto view = member(*item, "bufferView");
      if (!view) fail(item->place, "has no \"bufferView\"");
      attach(accessor, element("bufferViews", *view), whole(*item, "byteOffset", 0, kMostBytes));
      return accessor;
    };
    const auto indices = object(sparse, "indices");
    if (!indices) fail(sparse.place, "has no \"indices\"");
    const Component kind = component(*indices);
    if (kind.floating || kind.is_signed) fail(indices->place, "are not unsigned whole numbers");
    return {part("indices", 1, kind), part("values", of.width, of.component)};
  }
  size_t sparse_index(const Accessor& where, size_t i, size_t size) const {
    const size_t index = read_unsigned(where, i);
    if (index >= size)
      fail(where.item.place, fmt::format("names element {}, expected 0 to {}", index, static_cast<long>(size) - 1));
    return index;
  }

  static std::uint32_t read_unsigned(const Accessor& accessor, size_t i) {
    std::uint32_t value = 0;
    for (size_t k = accessor.component.size; k-- > 0;)
      value = value << 8 | static_cast<unsigned char>(accessor.bytes[i * accessor.stride + k]);
    return value;
  }

  // Whole numbers stand for themselves or, normalised, for parts of their largest (KHR_mesh_quantization).
  Vec3 read_vec3(const Accessor& accessor, size_t i) const {
    Vec3 v;
    for (size_t axis = 0; axis < 3; ++axis) {
      const size_t size = accessor.component.size;
      std::uint32_t bits = 0;
      for (size_t k = size; k-- > 0;)
        bits = bits << 8 | static_cast<unsigned char>(accessor.bytes[i * accessor.stride + axis * size + k]);
      double value = bits;
      if (accessor.component.floating) {
        value = static_cast<double>(std::bit_cast<float>(bits));
      } else {
        const double range = std::ldexp(1.0, static_cast<int>(8 * size));
        if (accessor.component.is_signed && value >= range / 2) value -= range;
        if (accessor.normalised)
          value = std::max(value / (accessor.component.is_signed ? range / 2 - 1 : range - 1), -1.0);
      }
      if (!(std::abs(value) <= kLargestNumber))
        fail(accessor.item.place,
             fmt::format("element {} has {}, expected a finite number of at most {:g}", i, value, kLargestNumber));
      v(static_cast<Eigen::Index>(axis)) = value;
    }
    return v;
  }

  std::string_view view_bytes(const Item& view) {
    const auto index = member(view, "buffer");
    if (!index) fail(view.place, "has no \"buffer\"");
    const std::string_view buffer = buffer_bytes(element("buffers", *index));
    const size_t offset = whole(view, "byteOffset", 0, kMostBytes), length = required(view, "byteLength", kMostBytes);
    if (offset > buffer.size() || length > buffer.size() - offset)
      fail(view.place, fmt::format("is bytes {} to {} of {}, expected at most {}", offset, offset + length,
                                   index->place, buffer.size()));
    return buffer.substr(offset, length);
  }

  std::string_view buffer_bytes(const Item& buffer) {
    const auto [it, is_new] = buffers_.try_emplace(buffer.json);
    if (!is_new) return it->second.bytes;
    const size_t length = required(buffer, "byteLength", kMostBytes);
    const std::string uri = text(buffer, "uri");
    if (uri.empty()) {
      if (!binary_ || buffer.json != &document_["buffers"][0])
        fail(buffer.place, "has no \"uri\" and is no part of the file");
      it->second.bytes = *binary_;
    } else {
      it->second.own = uri.starts_with("data:") ? data_of(buffer.place, uri) : companion(buffer.place, uri);
      it->second.bytes = it->second.own;
      bytes_read_ += it->second.own.size();
      if (bytes_read_ > kMostBytes)
        fail(buffer.place, fmt::format("is one too many: all have more than {} bytes", kMostBytes));
    }
    if (it->second.bytes.size() < length)
      fail(buffer.place, fmt::format("claims {} bytes, but has {}", length, it->second.bytes.size()));
    it->second.bytes = it->second.bytes.substr(0, length);
    return it->second.bytes;
  }

  std::string companion(const std::string& place, const std::string& uri) {
    try {
      return companions_.read(uri);
    } catch (const InputError& error) {
      fail(place, fmt::format("cannot be had: {}", error.what()));
    }
  }

  std::string data_of(const std::string& place, std::string_view uri) const {
    const size_t comma = uri.find(',');
    if (comma == std::string_view::npos || !uri.substr(0, comma).ends_with(";base64"))
      fail(place, fmt::format("has uri {}, expected data:...;base64,...", in_quotes(uri)));
    auto bytes = decode_base64(uri.substr(comma + 1));
    if (!bytes) fail(place, "has a data uri that is not base64");
    return std::move(*bytes);
  }

  // --- materials -----------------------------------------------------------------------------------------------------

  std::optional<Colour> colour_of(const Item& material) {
    const auto [it, is_new] = colours_.try_emplace(material.json);
    if (is_new) it->second = read_colour(material);
    return it->second;
  }

  // The factor is an amount of light, as coded numbers are not; where there is a texture both are multiplied.
  Colour read_colour(const Item& material) {
    std::array<double, 4> factor = {1, 1, 1, 1};
    std::optional<Item> texture;
    if (const auto metal = object(material, "pbrMetallicRoughness")) {
      factor = numbers<4>(*metal, "baseColorFactor", factor);
      texture = object(*metal, "baseColorTexture");
    }
    std::optional<Colour> mean;
    if (texture) mean = read_texture(*texture);
    if (texture && !mean) mean = Colour{0.7f, 0.7f, 0.7f, 1};
    Colour colour;
    for (size_t k = 0; k < 4; ++k) {
      double part = std::clamp(factor[k], 0.0, 1.0);
      if (mean) part *= k < 3 ? light_of(static_cast<double>((*mean)[k])) : static_cast<double>((*mean)[k]);
      colour[k] = static_cast<float>(k < 3 ? coded_of(part) : part);
    }
    if (text(material, "alphaMode") != "BLEND") colour[3] = 1;
    return colour;
  }

  std::optional<Colour> read_texture(const Item& info) {
    try {
      const auto index = member(info, "index");
      if (!index) return std::nullopt;
      const Item texture = element("textures", *index);
      const auto source = member(texture, "source");
      if (!source) fail(texture.place, "has no image that scree reads, expected PNG or JPEG");
      return image_colour(element("images", *source));
    } catch (const InputError& error) {
      companions_.note(fmt::format("no colour from a texture: {}", error.what()));
      return std::nullopt;
    }
  }

  std::optional<Colour> image_colour(const Item& image) {
    const auto [it, is_new] = images_.try_emplace(image.json);
    if (!is_new) return it->second;
    if (images_.size() > kMostTextures)
      fail(image.place, fmt::format("is one too many, expected at most {}", kMostTextures));
    const std::string uri = text(image, "uri");
    if (uri.starts_with("data:")) {
      it->second = mean_colour(data_of(image.place, uri), image.place);
    } else if (!uri.empty()) {
      it->second = companions_.texture(uri);
    } else if (const auto view = member(image, "bufferView")) {
      it->second = mean_colour(view_bytes(element("bufferViews", *view)), image.place);
    }
    return it->second;
  }

  struct Buffer {
    std::string own;
    std::string_view bytes;
  };

  const std::string& name_;
  MeshCompanions& companions_;
  std::string_view text_;
  std::optional<std::string_view> binary_;  // of a GLB
  Json document_;
  MeshBuilder mesh_;
  MeshBudget budget_;
  size_t visits_ = 0, bytes_read_ = 0;
  std::set<const Json*> path_;  // of nodes that are being placed
  std::map<const Json*, Buffer> buffers_;
  std::map<const Json*, Points> points_;
  std::map<const Json*, std::vector<Part>> parts_;
  std::map<const Json*, std::optional<Colour>> colours_, images_;
};

}  // namespace

TriangleMesh read_gltf(std::string_view bytes, const std::string& name, MeshCompanions& companions) {
  if (bytes.empty()) throw InputError(one_line(name + ": is empty, expected a glTF mesh"));
  return GltfReader(bytes, name, companions).read();
}

TriangleMesh parse_gltf(std::string_view bytes, const std::string& name) {
  MeshCompanions none;
  return read_gltf(bytes, name, none);
}

}  // namespace scree
