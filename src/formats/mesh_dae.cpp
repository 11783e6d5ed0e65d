// COLLADA 1.4 and 1.5: the geometries of the scene, where its nodes put them, in metres. Triangles, polygons, strips
// and fans; of materials the diffuse colour. Lines, lights, cameras, animations and physics are not used. The up axis
// is not either: robots' files are drawn in the frame of the link, whatever they say is up (docs/urdf.md).
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>
#include <pugixml.hpp>
#include <set>

#include "base/text.h"
#include "formats/mesh_formats.h"
#include "scree/error.h"
#include "scree/mesh.h"

namespace scree {
namespace {

constexpr size_t kMostTags = 10'000'000;  // of elements and attributes: each takes a hundred bytes
constexpr size_t kMostNumbers = 100'000'000;
constexpr size_t kMostVisits = 1'000'000;  // of elements of the scene: one may be placed many times
constexpr size_t kDeepestNode = 100;
constexpr double kLargestAngle = 1e6;  // [deg]

using Points = std::vector<Vec3>;
using Transform = Eigen::Affine3d;

struct Part {
  std::string material;  // a symbol that the instance binds
  const Points* points = nullptr;
  std::vector<std::array<int, 3>> triangles;
};

// The words of an element's text, one after another.
class Words {
 public:
  explicit Words(const char* text) : at_(text) {}
  std::string_view next() {  // empty at the end
    while (is_space(*at_)) ++at_;
    const char* start = at_;
    while (*at_ != '\0' && !is_space(*at_)) ++at_;
    return {start, static_cast<size_t>(at_ - start)};
  }

 private:
  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
  const char* at_;
};

bool is_one_of(const pugi::xml_node& node, std::initializer_list<std::string_view> tags) {
  return std::find(tags.begin(), tags.end(), std::string_view(node.name())) != tags.end();
}

// What other elements refer to, by tag and id; of two with one id the first, or the one in the same geometry.
class Ids : public pugi::xml_tree_walker {
 public:
  bool for_each(pugi::xml_node& node) override {
    if (is_one_of(node, {"geometry"})) geometry_ = node.internal_object();
    const bool local = is_one_of(node, {"source", "vertices", "float_array"});
    if (!local && !is_one_of(node, {"geometry", "controller", "node", "visual_scene", "material", "effect", "image"}))
      return true;
    const pugi::xml_attribute id = node.attribute("id");
    if (!id) return true;
    nodes_.try_emplace({nullptr, key(node.name(), id.value())}, node);
    if (local) nodes_.try_emplace({geometry_, key(node.name(), id.value())}, node);
    return true;
  }
  // As `from` means it.
  pugi::xml_node find(const char* tag, std::string_view id, const pugi::xml_node& from = {}) const {
    pugi::xml_node geometry = from;
    for (int k = 0; k < 6 && geometry && !is_one_of(geometry, {"geometry"}); ++k) geometry = geometry.parent();
    for (const void* const inside :
         {static_cast<const void*>(geometry.internal_object()), static_cast<const void*>(nullptr)})
      if (const auto found = nodes_.find({inside, key(tag, id)}); found != nodes_.end()) return found->second;
    return {};
  }

 private:
  static std::string key(const char* tag, std::string_view id) { return std::string(tag) + '#' + std::string(id); }
  const void* geometry_ = nullptr;
  std::map<std::pair<const void*, std::string>, pugi::xml_node> nodes_;
};

class DaeReader {
 public:
  DaeReader(std::string_view text, const std::string& name, MeshCompanions& companions)
      : text_(text), name_(name), companions_(companions), mesh_(name), budget_(name) {}

  TriangleMesh read() {
    parse();
    const pugi::xml_node root = document_.document_element();
    if (std::string_view(root.name()) != "COLLADA")
      fail(root, fmt::format("the document is a <{}>, expected <COLLADA>", one_line(root.name(), 60)));
    document_.traverse(ids_);
    const Transform X_MW(Eigen::UniformScaling<double>(read_unit(root)));
    const pugi::xml_node scene = find_scene(root);
    for (const pugi::xml_node node : scene.children("node")) visit(node, X_MW);
    return mesh_.take();
  }

 private:
  // --- places and references -----------------------------------------------------------------------------------------

  [[noreturn]] void fail(const pugi::xml_node& node, const std::string& what) const {
    throw InputError(one_line(fmt::format("{}:{}: {}", name_, line_of(node), what)));
  }
  int line_of(const pugi::xml_node& node) const {
    return line_at(text_, static_cast<size_t>(std::max<ptrdiff_t>(node.offset_debug(), 0)));
  }

  void parse() {
    size_t tags = 0;
    for (const char c : text_) tags += c == '<' || c == '=' ? 1 : 0;
    if (tags > kMostTags)
      throw InputError(
          one_line(fmt::format("{}: has {} elements and attributes, expected at most {}", name_, tags, kMostTags)));
    buffer_ = text_;
    const pugi::xml_parse_result result = document_.load_buffer_inplace(buffer_.data(), buffer_.size());
    if (!result)
      throw InputError(one_line(fmt::format("{}:{}: not well-formed XML: {}", name_,
                                            line_at(text_, static_cast<size_t>(std::max<ptrdiff_t>(result.offset, 0))),
                                            result.description())));
  }

  // What `attribute` (url="#id") names.
  pugi::xml_node follow(const pugi::xml_node& node, const char* attribute, const char* tag) const {
    const std::string_view url = node.attribute(attribute).value();
    const pugi::xml_node found = url.starts_with('#') ? ids_.find(tag, url.substr(1), node) : pugi::xml_node();
    if (!found)
      fail(node, fmt::format("<{}> has {} {}, expected \"#\" and the id of a <{}> in this file",
                             one_line(node.name(), 60), attribute, in_quotes(url), tag));
    return found;
  }

  size_t whole(const pugi::xml_node& node, const char* attribute, size_t fallback, size_t most) const {
    const pugi::xml_attribute a = node.attribute(attribute);
    if (!a) return fallback;
    const std::string_view word = a.value();
    size_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || value > most)
      fail(node, fmt::format("{} of <{}> is {}, expected a whole number of at most {}", attribute, node.name(),
                             in_quotes(word), most));
    return value;
  }

  // Exactly `count` numbers, the text of a small element.
  template <size_t count> std::array<double, count> numbers(const pugi::xml_node& node) const {
    std::array<double, count> values;
    Words words(node.text().get());
    for (double& value : values) value = number(node, words.next());
    if (const std::string_view more = words.next(); !more.empty())
      fail(node, fmt::format("<{}> has {} after {} numbers, expected its end", node.name(), in_quotes(more), count));
    return values;
  }
  double number(const pugi::xml_node& node, std::string_view word) const {
    const std::optional<double> value = parse_number(word);
    if (!value || std::abs(*value) > kLargestNumber)
      fail(node, fmt::format("<{}> has {}, expected a finite number of at most {:g}", one_line(node.name(), 60),
                             word.empty() ? "too few numbers" : in_quotes(word), kLargestNumber));
    return *value;
  }

  // --- scene ---------------------------------------------------------------------------------------------------------

  double read_unit(const pugi::xml_node& root) const {  // [m]
    const pugi::xml_node unit = root.child("asset").child("unit");
    const pugi::xml_attribute meter = unit.attribute("meter");
    if (!meter) return 1;
    const double value = number(unit, meter.value());
    if (!(value > 0)) fail(unit, fmt::format("unit is {} m, expected > 0", value));
    return value;
  }

  pugi::xml_node find_scene(const pugi::xml_node& root) const {
    if (const pugi::xml_node instance = root.child("scene").child("instance_visual_scene"))
      return follow(instance, "url", "visual_scene");
    const pugi::xml_node first = root.child("library_visual_scenes").child("visual_scene");
    if (!first) fail(root, "has no <visual_scene>, expected one that places the geometries");
    return first;
  }

  void visit(const pugi::xml_node& node, const Transform& X_MP) {
    if (path_.size() >= kDeepestNode) fail(node, fmt::format("nodes nest deeper than {} levels", kDeepestNode));
    if (!path_.insert(node.internal_object()).second)
      fail(node, fmt::format("node {} contains itself", in_quotes(node.attribute("id").value())));
    Transform X_MN = X_MP;
    for (const pugi::xml_node child : node.children())
      if (is_one_of(child, {"matrix", "translate", "rotate", "scale", "skew", "lookat"}))
        X_MN = X_MN * transform(child);
    for (const pugi::xml_node child : node.children()) {
      count_visit(child);
      const std::string_view tag = child.name();
      if (tag == "node") visit(child, X_MN);
      if (tag == "instance_node") visit(follow(child, "url", "node"), X_MN);
      if (tag == "instance_geometry") place(child, follow(child, "url", "geometry"), X_MN);
      if (tag == "instance_controller") place_controlled(child, X_MN);
    }
    path_.erase(node.internal_object());
  }

  void count_visit(const pugi::xml_node& node) {
    if (++visits_ > kMostVisits) fail(node, fmt::format("the scene has more than {} elements", kMostVisits));
  }

  // What bends or blends a geometry is left as it is bound.
  void place_controlled(const pugi::xml_node& instance, const Transform& X_MN) {
    pugi::xml_node controller = follow(instance, "url", "controller");
    Transform X = X_MN;
    for (int depth = 0; depth < 8; ++depth) {  // a skin may bend a morph
      pugi::xml_node kind = controller.child("skin");
      if (!kind) kind = controller.child("morph");
      if (!kind) fail(controller, "<controller> has neither <skin> nor <morph>");
      if (const pugi::xml_node bind = kind.child("bind_shape_matrix")) X = X * matrix(bind);
      const std::string_view source = kind.attribute("source").value();
      const pugi::xml_node next =
          source.starts_with('#') ? ids_.find("controller", source.substr(1)) : pugi::xml_node();
      if (!next) return place(instance, follow(kind, "source", "geometry"), X);
      controller = next;
    }
    fail(controller, "controllers refer to each other, expected one that has a geometry");
  }

  Transform transform(const pugi::xml_node& node) const {
    const std::string_view tag = node.name();
    Transform X = Transform::Identity();
    if (tag == "matrix") return matrix(node);
    if (tag == "translate") X.translate(Vec3(numbers<3>(node).data()));
    if (tag == "scale") X.scale(Vec3(numbers<3>(node).data()));
    if (tag == "rotate") X.linear() = rotation(node);
    if (tag == "skew") X.linear() = skew(node);
    if (tag == "lookat") return look_at(node);
    return X;
  }

  Transform matrix(const pugi::xml_node& node) const {  // row by row; the last one is 0 0 0 1
    const std::array<double, 16> m = numbers<16>(node);
    Transform X = Transform::Identity();
    for (Eigen::Index row = 0; row < 3; ++row)
      for (Eigen::Index column = 0; column < 4; ++column)
        X.matrix()(row, column) = m[static_cast<size_t>(4 * row + column)];
    return X;
  }

  double angle(const pugi::xml_node& node, double degrees) const {  // [rad]
    if (std::abs(degrees) > kLargestAngle)
      fail(node, fmt::format("angle is {:g} degrees, expected at most {:g}", degrees, kLargestAngle));
    return degrees * M_PI / 180;
  }
  Vec3 direction(const pugi::xml_node& node, const Vec3& v) const {
    const double length = v.norm();
    if (!(length > 1e-12)) fail(node, fmt::format("<{}> has a direction of length {:g}", node.name(), length));
    return v / length;
  }

  Mat3 rotation(const pugi::xml_node& node) const {  // axis, angle
    const std::array<double, 4> n = numbers<4>(node);
    const double turn = angle(node, n[3]);
    if (turn == 0) return Mat3::Identity();  // exporters write a zero axis then
    return Eigen::AngleAxisd(turn, direction(node, Vec3(n.data()))).toRotationMatrix();
  }

  // A shear along b that turns the direction a towards b by the angle. With a = x e + y b, e and b unit and
  // orthogonal, it moves by s along b for each unit along e: (y + s x)/x = tan(atan(y/x) + angle).
  Mat3 skew(const pugi::xml_node& node) const {
    const std::array<double, 7> n = numbers<7>(node);
    const Vec3 a = direction(node, Vec3(&n[1])), b = direction(node, Vec3(&n[4]));
    const double y = a.dot(b);
    const Vec3 across = a - y * b;
    const double x = across.norm(), turned = std::atan2(y, x) + angle(node, n[0]);
    if (!(x > 1e-9) || !(std::abs(turned) < M_PI / 2 - 1e-6))
      fail(node, "<skew> turns a direction to where it skews along or beyond");
    const double s = std::tan(turned) - y / x;
    return Mat3::Identity() + s * b * (across / x).transpose();
  }

  Transform look_at(const pugi::xml_node& node) const {  // from a place to a place, and what is up
    const std::array<double, 9> n = numbers<9>(node);
    const Vec3 eye(n.data()), up(&n[6]);
    const Vec3 back = direction(node, eye - Vec3(&n[3])), right = direction(node, up.cross(back));
    Transform X = Transform::Identity();
    X.linear() << right, back.cross(right), back;
    X.translation() = eye;
    return X;
  }

  void place(const pugi::xml_node& instance, const pugi::xml_node& geometry, const Transform& X_MN) {
    std::map<std::string_view, std::string_view> bound;  // symbol -> url
    for (const pugi::xml_node material :
         instance.child("bind_material").child("technique_common").children("instance_material")) {
      count_visit(material);
      bound.emplace(material.attribute("symbol").value(), material.attribute("target").value());
    }
    for (const Part& part : parts_of(geometry)) {
      const auto url = bound.find(part.material);
      mesh_.paint(material_colour(url == bound.end() ? part.material : url->second));
      mesh_.add_part(*part.points, part.triangles, X_MN);
    }
  }

  // --- geometries ----------------------------------------------------------------------------------------------------

  const std::vector<Part>& parts_of(const pugi::xml_node& geometry) {
    const auto [it, is_new] = parts_.try_emplace(geometry.internal_object());
    if (!is_new) return it->second;
    std::vector<Part>& parts = it->second;
    pugi::xml_node mesh = geometry.child("mesh");
    if (!mesh) mesh = geometry.child("convex_mesh");
    for (const pugi::xml_node element : mesh.children())
      if (is_one_of(element, {"triangles", "polylist", "polygons", "tristrips", "trifans"}))
        if (Part part = read_part(element); !part.triangles.empty()) parts.push_back(std::move(part));
    return parts;
  }

  struct Corners {  // how the corners of polygons are written
    const Points* points = nullptr;
    size_t stride = 1, offset = 0;
  };

  Corners read_inputs(const pugi::xml_node& element) {
    Corners corners;
    for (const pugi::xml_node input : element.children("input")) {
      const size_t offset = whole(input, "offset", 0, 1000);
      corners.stride = std::max(corners.stride, offset + 1);
      const std::string_view semantic = input.attribute("semantic").value();
      pugi::xml_node position = input;
      if (semantic == "VERTEX") {
        const pugi::xml_node vertices = follow(input, "source", "vertices");
        position = vertices.find_child_by_attribute("input", "semantic", "POSITION");
        if (!position) fail(vertices, "<vertices> has no input of semantic POSITION");
      } else if (semantic != "POSITION") {
        continue;
      }
      corners.offset = offset;
      corners.points = &points_of(follow(position, "source", "source"));
    }
    return corners;
  }

  const Points& points_of(const pugi::xml_node& source) {
    const auto [it, is_new] = points_.try_emplace(source.internal_object());
    if (!is_new) return it->second;
    const pugi::xml_node accessor = source.child("technique_common").child("accessor");
    pugi::xml_node array = source.child("float_array");
    if (const std::string_view url = accessor.attribute("source").value(); url.starts_with('#'))
      if (const pugi::xml_node named = ids_.find("float_array", url.substr(1), source)) array = named;
    if (!array) fail(source, "<source> of positions has no <float_array>");
    const std::vector<double> values = read_array(array);
    const size_t stride = whole(accessor, "stride", 3, 1000), offset = whole(accessor, "offset", 0, kMostNumbers);
    if (stride < 3) fail(accessor, fmt::format("positions have stride {}, expected at least 3", stride));
    const size_t room = values.size() < offset + 3 ? 0 : (values.size() - offset - 3) / stride + 1;
    const size_t count = whole(accessor, "count", room, kMostNumbers);
    if (count > room)
      fail(accessor, fmt::format("{} positions of stride {} are asked for, but the array has {} numbers", count, stride,
                                 values.size()));
    std::array<size_t, 3> of_axis = {0, 1, 2};  // which of the stride is x, y, z
    size_t k = 0;
    for (const pugi::xml_node param : accessor.children("param")) {
      const std::string_view axis = param.attribute("name").value();
      if (k < 3 && axis.size() == 1 && k < stride)
        if (const size_t at = std::string_view("XYZ").find(axis); at != std::string_view::npos) of_axis[at] = k;
      ++k;
    }
    budget_.vertices(count);
    it->second.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      const double* v = values.data() + offset + i * stride;
      it->second.emplace_back(v[of_axis[0]], v[of_axis[1]], v[of_axis[2]]);
    }
    return it->second;
  }

  std::vector<double> read_array(const pugi::xml_node& array) {
    std::vector<double> values;
    Words words(array.text().get());
    for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
      if (++numbers_read_ > kMostNumbers) fail(array, fmt::format("arrays have more than {} numbers", kMostNumbers));
      values.push_back(number(array, word));
    }
    return values;
  }

  // The vertices that a <p> lists, others of its columns left out.
  std::vector<int> read_corners(const pugi::xml_node& p, const Corners& corners) {
    std::vector<int> list;
    size_t column = 0;
    Words words(p.text().get());
    for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
      if (column == corners.offset) {
        size_t index = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), index);
        if (error != std::errc() || end != word.data() + word.size() || index >= corners.points->size())
          fail(p, fmt::format("corner {} is vertex {}, expected 0 to {}", list.size() + 1, in_quotes(word),
                              static_cast<long>(corners.points->size()) - 1));
        list.push_back(static_cast<int>(index));
      }
      column = (column + 1) % corners.stride;
    }
    if (column != 0)
      fail(p, fmt::format("the number of indices is no multiple of {}, one for each input", corners.stride));
    return list;
  }

  Part read_part(const pugi::xml_node& element) {
    const std::string_view tag = element.name();
    const Corners corners = read_inputs(element);
    Part part{element.attribute("material").value(), corners.points, {}};
    if (!corners.points) {  // an element without corners needs none
      if (element.child("p") || element.child("ph"))
        fail(element, fmt::format("<{}> has no input of semantic VERTEX", tag));
      static const Points none;
      part.points = &none;
      return part;
    }
    if (tag == "polylist") {
      read_polylist(element, corners, part);
    } else {
      for (const pugi::xml_node child : element.children()) {
        const std::string_view kind = child.name();
        const size_t before = part.triangles.size();
        if (kind == "p") add_run(tag, child, read_corners(child, corners), part);
        if (kind == "ph") add_run(tag, child, read_corners(child.child("p"), corners), part);  // holes are left out
        budget_.triangles(part.triangles.size() - before);
      }
    }
    return part;
  }

  void add_run(std::string_view tag, const pugi::xml_node& p, const std::vector<int>& list, Part& part) const {
    if (tag == "polygons") return add_polygon(*part.points, list, part.triangles);
    if (tag == "triangles" && list.size() % 3 != 0)
      fail(p, fmt::format("triangles have {} corners, expected a multiple of 3", list.size()));
    for (size_t k = 0; k + 2 < list.size(); k += tag == "triangles" ? 3 : 1) {
      const bool odd = tag == "tristrips" && k % 2 == 1;
      const std::array<int, 3> t = {list[tag == "trifans" ? 0 : odd ? k + 1 : k], list[odd ? k : k + 1], list[k + 2]};
      if (t[0] != t[1] && t[1] != t[2] && t[2] != t[0]) part.triangles.push_back(t);
    }
  }

  void read_polylist(const pugi::xml_node& element, const Corners& corners, Part& part) {
    const std::vector<int> list = read_corners(element.child("p"), corners);
    const pugi::xml_node counts = element.child("vcount");
    size_t at = 0;
    std::vector<int> polygon;
    Words words(counts.text().get());
    for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
      size_t count = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), count);
      if (error != std::errc() || end != word.data() + word.size() || count > list.size() - at)
        fail(counts, fmt::format("a polygon has {} corners, expected at most the {} that are left", in_quotes(word),
                                 list.size() - at));
      polygon.assign(list.begin() + static_cast<std::ptrdiff_t>(at),
                     list.begin() + static_cast<std::ptrdiff_t>(at + count));
      budget_.triangles(count > 2 ? count - 2 : 0);
      add_polygon(*part.points, polygon, part.triangles);
      at += count;
    }
    if (at != list.size()) fail(counts, fmt::format("polygons have {} corners, but {} are listed", at, list.size()));
  }

  // --- materials -----------------------------------------------------------------------------------------------------

  // nullopt if there is none, whatever the reason: a mesh without a colour is grey.
  std::optional<Colour> material_colour(std::string_view url) {
    if (url.starts_with('#')) url.remove_prefix(1);
    const auto [it, is_new] = colours_.try_emplace(std::string(url));
    if (is_new) it->second = read_material(ids_.find("material", url));
    return it->second;
  }

  std::optional<Colour> read_material(const pugi::xml_node& material) {
    const std::string_view url = material.child("instance_effect").attribute("url").value();
    if (!url.starts_with('#')) return std::nullopt;
    const pugi::xml_node profile = ids_.find("effect", url.substr(1)).child("profile_COMMON");
    for (const pugi::xml_node model : profile.child("technique").children()) {
      if (!is_one_of(model, {"phong", "lambert", "blinn", "constant"})) continue;
      pugi::xml_node light = model.child("diffuse");
      if (!light) light = model.child("emission");
      if (const pugi::xml_node texture = light.child("texture")) return read_texture(profile, texture);
      if (const pugi::xml_node color = light.child("color")) return read_colour(color);
    }
    return std::nullopt;
  }

  // Opacity is not read: exporters do not agree on what <transparent> and <transparency> mean.
  std::optional<Colour> read_colour(const pugi::xml_node& color) {
    Colour colour = {0, 0, 0, 1};
    Words words(color.text().get());
    for (size_t k = 0; k < 3; ++k) {
      const std::optional<double> value = parse_number(words.next());
      if (!value) {
        companions_.note(
            fmt::format("line {}: <color> is {}, expected numbers", line_of(color), in_quotes(color.text().get())));
        return std::nullopt;
      }
      colour[k] = static_cast<float>(std::clamp(*value, 0.0, 1.0));
    }
    return colour;
  }

  // texture -> sampler2D -> surface -> image, or (1.5) sampler2D -> image; some name the image at once.
  std::optional<Colour> read_texture(const pugi::xml_node& profile, const pugi::xml_node& texture) {
    std::string_view id = texture.attribute("texture").value();
    const auto param = [&] { return profile.find_child_by_attribute("newparam", "sid", std::string(id).c_str()); };
    if (const pugi::xml_node sampler = param().child("sampler2D")) {
      id = sampler.child("source").text().get();
      if (const pugi::xml_node image = sampler.child("instance_image")) id = image.attribute("url").value();
      if (const pugi::xml_node surface = param().child("surface")) id = surface.child("init_from").text().get();
    }
    if (id.starts_with('#')) id.remove_prefix(1);
    const pugi::xml_node from = ids_.find("image", id).child("init_from");
    const std::string_view file = from.child("ref") ? from.child("ref").text().get() : from.text().get();
    if (file.empty()) {
      companions_.note(
          fmt::format("texture {} names no image of this file", in_quotes(texture.attribute("texture").value())));
      return std::nullopt;
    }
    std::optional<Colour> colour = companions_.texture(file);
    if (colour) (*colour)[3] = 1;
    return colour;
  }

  std::string_view text_;
  const std::string& name_;
  MeshCompanions& companions_;
  std::string buffer_;  // what the document points into
  pugi::xml_document document_;
  Ids ids_;
  MeshBuilder mesh_;
  MeshBudget budget_;
  size_t numbers_read_ = 0, visits_ = 0;
  std::set<const void*> path_;  // of nodes that are being placed
  std::map<const void*, Points> points_;
  std::map<const void*, std::vector<Part>> parts_;
  std::map<std::string, std::optional<Colour>> colours_;
};

}  // namespace

TriangleMesh read_dae(std::string_view bytes, const std::string& name, MeshCompanions& companions) {
  if (bytes.empty()) throw InputError(one_line(name + ": is empty, expected a COLLADA mesh"));
  return DaeReader(bytes, name, companions).read();
}

TriangleMesh parse_dae(std::string_view bytes, const std::string& name) {
  MeshCompanions none;
  return read_dae(bytes, name, none);
}

}  // namespace scree
