// Any Model as a URDF: what URDF cannot say goes into <scree> elements, beside the nearest thing other readers know.
#include <fmt/format.h>

#include <map>
#include <pugixml.hpp>
#include <set>
#include <sstream>

#include "base/atomic_file.h"
#include "formats/rpy.h"
#include "scree/urdf.h"

namespace scree {
namespace {

// Shortest text that reads back as the same number; + 0.0 turns -0.0 into 0.
std::string text_of(double x) { return fmt::format("{}", x + 0.0); }
std::string text_of(const Vec3& v) { return fmt::format("{} {} {}", v.x() + 0.0, v.y() + 0.0, v.z() + 0.0); }

pugi::xml_node element(pugi::xml_node parent, const char* tag) { return parent.append_child(tag); }
void put(pugi::xml_node node, const char* attribute, const std::string& value) {
  node.append_attribute(attribute).set_value(value.c_str());
}
void put(pugi::xml_node node, const char* attribute, double value) { put(node, attribute, text_of(value)); }

void write_origin(pugi::xml_node parent, const Pose& pose) {
  const bool turned = !pose.R.isIdentity(0);
  if (!turned && pose.p.isZero(0)) return;
  pugi::xml_node origin = element(parent, "origin");
  put(origin, "xyz", text_of(pose.p));
  if (!turned) return;
  const std::optional<Vec3> exact = exact_rpy(pose.R);
  put(origin, "rpy", text_of(exact.value_or(rpy_from_rotation(pose.R))));
  // A product of rotations need not be the rotation of any three angles to the last bit.
  if (exact) return;
  const Eigen::Matrix<double, 3, 3, Eigen::RowMajor> rows = pose.R;
  put(element(origin, "scree"), "rotation", fmt::format("{}", fmt::join(rows.data(), rows.data() + 9, " ")));
}

void write_inertial(pugi::xml_node link, const Body& body) {
  if (body.mass == 0) return;
  pugi::xml_node inertial = element(link, "inertial");
  write_origin(inertial, {Mat3::Identity(), body.com});
  put(element(inertial, "mass"), "value", body.mass);
  pugi::xml_node inertia = element(inertial, "inertia");
  const Mat3& I = body.inertia;
  put(inertia, "ixx", I(0, 0));
  put(inertia, "ixy", I(0, 1));
  put(inertia, "ixz", I(0, 2));
  put(inertia, "iyy", I(1, 1));
  put(inertia, "iyz", I(1, 2));
  put(inertia, "izz", I(2, 2));
}

struct GeometryWriter {
  pugi::xml_node geometry;

  void operator()(const Sphere& s) { put(element(geometry, "sphere"), "radius", s.radius); }
  void operator()(const Box& b) { put(element(geometry, "box"), "size", text_of(b.size)); }
  void operator()(const Cylinder& c) { write_round(geometry, "cylinder", c.radius, c.length); }
  void operator()(const Capsule& c) {
    write_round(geometry, "cylinder", c.radius, c.length + 2 * c.radius);  // as long as the capsule with its caps
    write_round(element(geometry, "scree"), "capsule", c.radius, c.length);
  }
  void operator()(const Plane&) {
    put(element(geometry, "box"), "size", "100 100 0.001");
    element(element(geometry, "scree"), "plane");
  }
  void operator()(const std::shared_ptr<const HeightField>&) {}  // no model has one
  void operator()(const Mesh& m) {
    pugi::xml_node mesh = element(geometry, "mesh");
    put(mesh, "filename", m.uri);
    if (m.scale != Vec3::Ones()) put(mesh, "scale", text_of(m.scale));
  }
  static void write_round(pugi::xml_node parent, const char* tag, double radius, double length) {
    pugi::xml_node node = element(parent, tag);
    put(node, "radius", radius);
    put(node, "length", length);
  }
};

class UrdfWriter {
 public:
  explicit UrdfWriter(const Model& model)
      : model_(model), shape_(model.shapes().begin()), point_(model.contact_points().begin()) {
    for (const Joint& joint : model.joints()) joint_names_.insert(joint.name);
  }

  std::string write() {
    pugi::xml_node robot = element(document_, "robot");
    put(robot, "name", model_.name());
    write_link(robot, "world", kWorld, nullptr);
    for (size_t i = 0; i < model_.bodies().size(); ++i) {
      const Body& body = model_.bodies()[i];
      write_link(robot, body.name, BodyIndex(static_cast<int>(i)), &body);
      write_joint(robot, model_.joints()[i], body);
    }
    for (const Frame& frame : model_.frames()) write_frame(robot, frame);
    std::ostringstream text;
    document_.save(text, "  ", pugi::format_default, pugi::encoding_utf8);
    return text.str();
  }

 private:
  std::string name_of(BodyIndex body) const { return body.valid() ? model_.body(body).name : "world"; }

  void write_link(pugi::xml_node robot, const std::string& name, BodyIndex index, const Body* body) {
    pugi::xml_node link = element(robot, "link");
    put(link, "name", name);
    if (body) write_inertial(link, *body);
    // A model lists its parts by body, world first, as links are written here.
    for (; shape_ != model_.shapes().end() && shape_->body == index; ++shape_) write_shape(link, *shape_);
    pugi::xml_node scree;
    for (; point_ != model_.contact_points().end() && point_->body == index; ++point_) {
      const ContactPoint& point = *point_;
      if (!scree) scree = element(link, "scree");
      pugi::xml_node node = element(scree, "contact_point");
      put(node, "name", point.name);
      put(node, "xyz", text_of(point.p_B));
      put(node, "radius", point.radius);
    }
  }

  void write_shape(pugi::xml_node link, const Shape& shape) {
    pugi::xml_node node = element(link, shape.role == ShapeRole::view ? "visual" : "collision");
    if (!shape.name.empty()) put(node, "name", shape.name);
    write_origin(node, shape.X_BS);
    std::visit(GeometryWriter{element(node, "geometry")}, shape.geometry);
    if (shape.role != ShapeRole::view || shape.rgba == Shape{}.rgba) return;
    // One name per colour: other readers take materials of the same name to be the same.
    const size_t number = materials_.try_emplace(shape.rgba, materials_.size() + 1).first->second;
    pugi::xml_node material = element(node, "material");
    put(material, "name", fmt::format("colour_{}", number));
    put(element(material, "color"), "rgba", fmt::format("{}", fmt::join(shape.rgba, " ")));
  }

  void write_joint(pugi::xml_node robot, const Joint& joint, const Body& body) {
    const bool ball = joint.type == JointType::ball;
    pugi::xml_node node = start_joint(robot, joint.name, ball ? "floating" : joint_type_name(joint.type),
                                      name_of(body.parent), body.name, joint.X_PJ);
    if (joint.type == JointType::fixed) return;
    if (!ball && joint.type != JointType::floating) put(element(node, "axis"), "xyz", text_of(joint.axis));
    write_limit(node, joint);
    if (joint.damping > 0 || joint.friction > 0) {
      pugi::xml_node dynamics = element(node, "dynamics");
      if (joint.damping > 0) put(dynamics, "damping", joint.damping);
      if (joint.friction > 0) put(dynamics, "friction", joint.friction);
    }
    if (joint.mimic) {
      pugi::xml_node mimic = element(node, "mimic");
      put(mimic, "joint", joint.mimic->joint);
      put(mimic, "multiplier", joint.mimic->multiplier);
      put(mimic, "offset", joint.mimic->offset);
    }
    write_joint_extension(node, joint);
  }

  pugi::xml_node start_joint(pugi::xml_node robot, const std::string& name, const char* type, const std::string& parent,
                             const std::string& child, const Pose& pose) {
    pugi::xml_node node = element(robot, "joint");
    put(node, "name", name);
    put(node, "type", type);
    put(element(node, "parent"), "link", parent);
    put(element(node, "child"), "link", child);
    write_origin(node, pose);
    return node;
  }

  static bool is_limited(const Joint& joint) {
    return joint.type == JointType::revolute || joint.type == JointType::prismatic;
  }

  // Other readers insist on all four numbers for revolute and prismatic joints; 0 is how files say "no bound".
  static void write_limit(pugi::xml_node node, const Joint& joint) {
    constexpr double kFar = 1e9;  // stands in for infinity, see write_joint_extension
    if (!is_limited(joint) && std::isinf(joint.effort) && std::isinf(joint.velocity_limit)) return;
    pugi::xml_node limit = element(node, "limit");
    if (is_limited(joint)) {
      put(limit, "lower", std::isinf(joint.limits.lower) ? -kFar : joint.limits.lower);
      put(limit, "upper", std::isinf(joint.limits.upper) ? kFar : joint.limits.upper);
    }
    put(limit, "effort", std::isinf(joint.effort) ? 0 : joint.effort);
    put(limit, "velocity", std::isinf(joint.velocity_limit) ? 0 : joint.velocity_limit);
  }

  static void write_joint_extension(pugi::xml_node node, const Joint& joint) {
    pugi::xml_node scree = element(node, "scree");
    const JointLimits standard;
    if (joint.type == JointType::ball) {
      put(scree, "type", "ball");
      if (std::isfinite(joint.limits.upper)) put(scree, "max_angle", joint.limits.upper);
    }
    if (joint.armature > 0) put(scree, "armature", joint.armature);
    if (joint.limits.stiffness != standard.stiffness) put(scree, "limit_stiffness", joint.limits.stiffness);
    if (joint.limits.margin != standard.margin) put(scree, "limit_margin", joint.limits.margin);
    const bool lower = std::isinf(joint.limits.lower), upper = std::isinf(joint.limits.upper);
    if (is_limited(joint) && (lower || upper))
      put(scree, "unlimited", lower && upper ? "both" : lower ? "lower" : "upper");
    if (!scree.first_attribute()) node.remove_child(scree);
  }

  // A massless link on a fixed joint, so that other tools see the frame; reading merges it again.
  void write_frame(pugi::xml_node robot, const Frame& frame) {
    put(element(robot, "link"), "name", frame.name);
    std::string name = frame.name + "_joint";
    while (!joint_names_.insert(name).second) name += "_";
    start_joint(robot, name, "fixed", name_of(frame.body), frame.name, frame.X_BF);
  }

  const Model& model_;
  std::vector<Shape>::const_iterator shape_;         // the first that is not yet written
  std::vector<ContactPoint>::const_iterator point_;  // likewise
  pugi::xml_document document_;
  std::set<std::string> joint_names_;
  std::map<std::array<double, 4>, size_t> materials_;
};

}  // namespace

std::string format_urdf(const Model& model) { return UrdfWriter(model).write(); }

void save_urdf(const Model& model, const std::filesystem::path& file) { write_atomically(file, format_urdf(model)); }

}  // namespace scree
