#include "formats/urdf_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.h"
#include "base/text.h"
#include "scree/error.h"

namespace scree {
namespace {

// What other programs keep in URDF files.
const std::map<std::string, std::string> kForeign = {
    {"transmission", "drives are not modelled; effort bounds come from <limit>"},
    {"gazebo", "settings of another simulator"},
    {"ros2_control", "settings of a robot's controller"},
    {"sensor", "sensors are not modelled"},
    {"drake", "settings of another simulator"},
    {"mujoco", "settings of another simulator"},
};

constexpr const char* kWorldName = "world";

bool merges(const Body& body, const Joint& joint) { return body.mass == 0 && joint.type == JointType::fixed; }

}  // namespace

std::optional<Model> UrdfReader::read() {
  robot_.map("model");
  name_ = robot_.required_text("name", "model name").value_or("");
  robot_.ignore("version", "every version of URDF is read alike");
  read_elements();
  if (links_.empty()) robot_.reject("has no <link>");
  if (!connect()) return std::nullopt;
  const std::optional<size_t> root = find_root();
  return root ? build(links_[*root]) : std::nullopt;
}

void UrdfReader::read_elements() {
  for (const Element& material : robot_.all("material", "")) materials_.define(material);
  read_base();
  for (const Element& element : robot_.all()) {
    const std::string tag = element.tag();
    if (tag == "link") read_link(element);
    if (tag == "joint") read_link_joint(element);
    if (const auto foreign = kForeign.find(tag); foreign != kForeign.end()) element.ignore(foreign->second);
    if (tag.starts_with("xacro:")) element.reject("is an unexpanded xacro macro: run xacro on the file first");
  }
}

void UrdfReader::read_link(const Element& element) {
  element.map("body");
  Body body;
  body.name = element.required_text("name", "link name").value_or("");
  if (body.name == kWorldName) {
    element.map("the world");
    for (const Element& inertial : element.all("inertial", "")) inertial.reject("the world itself has no inertia");
  }
  read_inertial(element, options_.repair_inertia, body);
  const size_t parts_before = shapes_.size() + points_.size();
  for (const Element& child : element.all()) {
    const std::string tag = child.tag();
    if (tag != "visual" && tag != "collision") continue;
    const ShapeRole role = tag == "visual" ? ShapeRole::view : ShapeRole::collision;
    if (std::optional<Shape> shape = read_shape(child, role, materials_, meshes_))
      shapes_.push_back({body.name, std::move(*shape)});
  }
  read_contact_points(element, body.name);
  if (!body.name.empty() && !link_of_.emplace(body.name, links_.size()).second)
    element.reject("name", fmt::format("link {} is defined twice", in_quotes(body.name)));
  subjects_.emplace_back(fmt::format("link {}: ", body.name), element);
  subjects_.emplace_back(fmt::format("frame {}: ", body.name), element);
  const bool has_parts = shapes_.size() + points_.size() > parts_before;
  links_.push_back({element, std::move(body), -1, has_parts});
}

// <scree><contact_point name xyz radius/>...</scree>
void UrdfReader::read_contact_points(const Element& link, const std::string& name) {
  const auto scree = link.only("scree", "what URDF cannot say about a link");
  if (!scree) return;
  scree->allow_only({}, {"contact_point"});
  for (const Element& element : scree->all("contact_point", "contact point")) {
    element.allow_only({"name", "xyz", "radius"}, {});
    ContactPoint point;
    point.name = element.required_text("name", "contact point name").value_or("");
    if (!element.has("xyz")) element.reject("has no attribute \"xyz\"");
    point.p_B = element.vector("xyz", "centre [m]").value_or(Vec3::Zero());
    point.radius = element.number("radius", "radius [m]", Range::not_negative).value_or(0);
    subjects_.emplace_back(fmt::format("contact point {}: ", point.name), element);
    points_.push_back({name, std::move(point)});
  }
}

void UrdfReader::read_link_joint(const Element& element) {
  LinkJoint joint{element,
                  read_joint(element),
                  element.required("parent", "parent link"),
                  element.required("child", "child link"),
                  "",
                  ""};
  if (joint.parent) joint.parent_name = joint.parent->required_text("link", "link name").value_or("");
  if (joint.child) joint.child_name = joint.child->required_text("link", "link name").value_or("");
  subjects_.emplace_back(fmt::format("joint {}: ", joint.joint.name), element);
  joints_.push_back(std::move(joint));
}

// --- the tree ------------------------------------------------------------------------------------------------------

std::string UrdfReader::suggest_link(const std::string& name) {
  // Comparing names is slow: a longer list of candidates helps nobody, and nobody reads more suggestions.
  constexpr size_t kMostNames = 1000;
  if (suggestions_left_ == 0) return "";
  --suggestions_left_;
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(links_.size(), kMostNames); ++i) names.push_back(links_[i].body.name);
  return suggestion(name, names);
}

bool UrdfReader::connect() {
  bool connected = link_of_.size() == links_.size();  // else a name is missing or used twice
  std::map<std::string, size_t> joint_of;
  for (size_t i = 0; i < joints_.size(); ++i) {
    const LinkJoint& joint = joints_[i];
    if (!joint.joint.name.empty() && !joint_of.emplace(joint.joint.name, i).second)
      joint.element.reject("name", fmt::format("joint {} is defined twice", in_quotes(joint.joint.name)));
    const auto find = [&](const std::optional<Element>& end, const std::string& name) -> Link* {
      if (const auto it = link_of_.find(name); it != link_of_.end()) return &links_[it->second];
      if (!name.empty())
        end->reject("link",
                    fmt::format("{} link {} does not exist{}", end->tag(), in_quotes(name), suggest_link(name)));
      connected = false;
      return nullptr;
    };
    Link* parent = find(joint.parent, joint.parent_name);
    Link* child = find(joint.child, joint.child_name);
    if (parent) parent->has_parts = true;
    if (!child) continue;
    const auto reject_child = [&](const std::string& why) {
      joint.child->reject("link", why);
      connected = false;
    };
    if (joint.child_name == kWorldName)
      reject_child("link \"world\" is the world itself and cannot hang on a joint");
    else if (child->joint >= 0)
      reject_child(fmt::format("link {} already hangs on joint {}, expected a tree", in_quotes(joint.child_name),
                               in_quotes(joints_[static_cast<size_t>(child->joint)].joint.name)));
    else
      child->joint = static_cast<int>(i);
  }
  return connected;
}

std::optional<size_t> UrdfReader::find_root() const {
  std::vector<size_t> roots;
  std::string names;
  for (size_t i = 0; i < links_.size(); ++i) {
    if (links_[i].joint >= 0) continue;
    roots.push_back(i);
    names += (names.empty() ? "" : ", ") + in_quotes(links_[i].body.name);
  }
  if (roots.size() == 1) return roots[0];
  if (roots.empty() && !links_.empty())
    links_[0].element.reject("is its own ancestor, expected a tree: no link is free of a parent");
  if (roots.size() > 1)
    links_[roots[1]].element.reject(fmt::format(
        "{} links have no parent, expected one root (or a link \"world\" that carries them): {}", roots.size(), names));
  return std::nullopt;
}

namespace {

JointType base_joint_type(BaseType type) {
  return type == BaseType::planar     ? JointType::planar
         : type == BaseType::floating ? JointType::floating
                                      : JointType::fixed;
}

}  // namespace

// <scree base="fixed|planar|floating" axis="0 0 1" joint="base"/> under <robot>
void UrdfReader::read_base() {
  static const std::map<std::string, JointType> kTypes = {
      {"fixed", JointType::fixed}, {"planar", JointType::planar}, {"floating", JointType::floating}};
  base_.name = "base";
  base_.type = base_joint_type(options_.default_base);
  Vec3 normal = Vec3::UnitZ();
  scree_ = robot_.only("scree", "how the root link is carried");
  if (scree_) {
    scree_->allow_only({"base", "axis", "joint"}, {});
    if (scree_->has("joint")) base_.name = scree_->required_text("joint", "name of the base joint").value_or("");
    if (const auto type = scree_->text("base", "joint between world and root link")) {
      const auto known = kTypes.find(*type);
      if (known == kTypes.end())
        scree_->reject("base", fmt::format("is {}, expected \"fixed\", \"planar\" or \"floating\"", in_quotes(*type)));
      else
        base_.type = known->second;
    }
    normal = read_direction(*scree_, "axis", "normal of the base's plane").value_or(normal);
    if (options_.base == BaseType::as_file && base_.type != JointType::planar)
      scree_->reject("axis", fmt::format("a {} base has no axis", joint_type_name(base_.type)));
  }
  if (options_.base != BaseType::as_file) {
    base_.type = base_joint_type(options_.base);
    if (scree_) scree_->ignore("base", fmt::format("overridden: a {} base was asked for", joint_type_name(base_.type)));
    if (scree_ && base_.type != JointType::planar) scree_->ignore("axis", "only a planar base has an axis");
  }
  if (base_.type == JointType::planar) base_.axis = normal;
}

void UrdfReader::check_base(const Link& root) {
  const Element& source = scree_ ? *scree_ : robot_;
  subjects_.emplace_back(fmt::format("joint {}: ", base_.name), source);
  if (root.body.name == kWorldName && options_.base == BaseType::as_file && !(scree_ && scree_->has("base")))
    base_.type = JointType::fixed;  // nobody asked: the default is for other roots
  if (root.body.name == kWorldName && base_.type != JointType::fixed)
    source.reject(fmt::format("a {} base was asked for, but the root link is \"world\", the world itself",
                              joint_type_name(base_.type)));
  const auto taken = [&] {
    return std::ranges::any_of(joints_, [&](const LinkJoint& j) { return j.joint.name == base_.name; });
  };
  if (merges(root.body, base_)) {
    while (taken()) base_.name += "_";  // the joint disappears with its link, so its name does not matter
  } else if (root.body.name != kWorldName && taken()) {
    source.reject(fmt::format("the base joint's name {} is taken, give another with <scree joint=\"...\"/>",
                              in_quotes(base_.name)));
  }
}

// --- the model -----------------------------------------------------------------------------------------------------

std::optional<Model> UrdfReader::build(const Link& root) {
  check_base(root);
  ModelBuilder builder(name_);
  for (const Link& link : links_) {
    if (link.body.name == kWorldName) {
      continue;
    }
    const LinkJoint* carrier = link.joint < 0 ? nullptr : &joints_[static_cast<size_t>(link.joint)];
    const Joint& joint = carrier ? carrier->joint : base_;
    if (merges(link.body, joint)) link.element.map("massless and fixed: a frame on the body that carries it");
    // Links that only mark a place keep the order of the file; ModelBuilder merges the others.
    if (carrier && merges(link.body, joint) && !link.has_parts)
      builder.add_frame(carrier->parent_name, {link.body.name, {}, joint.X_PJ});
    else
      builder.add_body(link.body, carrier ? carrier->parent_name : kWorldName, joint);
  }
  if (!ledger_.clean()) return std::nullopt;
  try {
    for (const auto& [link, shape] : shapes_) builder.add_shape(link, shape);
    for (const auto& [link, point] : points_) builder.add_contact_point(link, point);
    Model model = builder.build();
    robot_.map(fmt::format("model of {} bodies and {} degrees of freedom", model.bodies().size(), model.nv()));
    return model;
  } catch (const InputError& error) {
    place_error(error.what());
    return std::nullopt;
  }
}

void UrdfReader::place_error(const std::string& message) const {
  // The longest prefix: names may contain one another.
  const std::pair<std::string, Element>* subject = nullptr;
  for (const auto& candidate : subjects_)
    if (message.starts_with(candidate.first) && (!subject || candidate.first.size() >= subject->first.size()))
      subject = &candidate;
  if (subject)
    subject->second.reject(message.substr(subject->first.size()));
  else
    robot_.reject(message);
}

}  // namespace scree
