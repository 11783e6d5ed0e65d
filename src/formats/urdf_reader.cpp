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

bool merges(const Body& body, const Joint& joint) { return body.mass == 0 && joint.type == JointType::fixed; }

}  // namespace

std::optional<Model> UrdfReader::read() {
  robot_.map("model");
  if (reject_xacro()) return std::nullopt;
  name_ = robot_.text("name", "model name").value_or("");
  if (name_.empty()) {
    name_ = one_line(file_.stem().string(), 60);
    if (name_.empty()) name_ = "robot";
    robot_.repair(robot_.has("name") ? "model name is empty" : robot_.lacks("name"),
                  fmt::format("named {} after the file", in_quotes(name_)));
  }
  robot_.ignore("version", "every version of URDF is read alike");
  read_elements();
  if (links_.empty()) robot_.reject("has no <link>");
  settle_followers();
  const std::vector<size_t> roots = connect() ? find_roots() : std::vector<size_t>();
  if (!roots.empty()) {
    carry_roots(roots);
    plant_tree(roots);
  }
  const double size = size_of_model();
  place_stand_ins(size);
  complete_inertias(size);
  add_missing_mass(size);
  return roots.empty() ? std::nullopt : build();
}

// Macros leave elements of their own, or values that are still to be computed.
bool UrdfReader::reject_xacro() {
  std::vector<Element> open = {robot_};
  std::string found;
  while (!open.empty() && found.empty()) {
    const Element element = open.back();
    open.pop_back();
    if (element.tag().starts_with("xacro:")) found = fmt::format("there is a <{}>", one_line(element.tag(), 60));
    for (const auto& [name, value] : element.attributes())
      if (value.find("${") != std::string::npos || value.find("$(") != std::string::npos)
        found = fmt::format("{} of <{}> is {}", one_line(name, 60), one_line(element.tag(), 60), in_quotes(value));
    for (const Element& child : element.all())
      if (!kForeign.contains(child.tag())) open.push_back(child);
  }
  if (found.empty()) return false;
  const std::string name = one_line(file_.filename().string(), 200);
  std::string stem = name.substr(0, name.find('.'));
  if (stem + ".urdf" == name) stem += "-expanded";
  robot_.reject(fmt::format("is a xacro file ({}), expand it first: xacro {} > {}.urdf", found, name, stem));
  return true;
}

void UrdfReader::read_elements() {
  for (const Element& material : robot_.all("material", "")) materials_.define(material);
  read_base();
  for (const Element& element : robot_.all()) {
    const std::string tag = element.tag();
    if (tag == "link") read_link(element);
    if (tag == "joint") read_link_joint(element);
    if (const auto foreign = kForeign.find(tag); foreign != kForeign.end()) element.ignore(foreign->second);
  }
}

void UrdfReader::read_link(const Element& element) {
  element.map("body");
  Link link{element, {}, {}, {}, -1, false, {}};
  Body& body = link.body;
  body.name = element.required_text("name", "link name").value_or("");
  if (body.name == kWorldName) {
    element.map("the world");
    for (const Element& inertial : element.all("inertial", ""))
      inertial.drop("the world itself has no inertia", "it does not move");
  } else {
    link.gap = read_inertial(element, body);
  }
  const size_t parts_before = shapes_.size() + points_.size();
  read_shapes(element, link);
  read_contact_points(element, body.name);
  if (!body.name.empty() && !link_of_.emplace(body.name, links_.size()).second)
    element.reject("name", fmt::format("link {} is defined twice", in_quotes(body.name)));
  subjects_.emplace_back(fmt::format("link {}: ", body.name), element);
  subjects_.emplace_back(fmt::format("frame {}: ", body.name), element);
  link.has_parts = shapes_.size() + points_.size() > parts_before;
  links_.push_back(std::move(link));
}

void UrdfReader::read_shapes(const Element& element, Link& link) {
  const std::string& name = link.body.name;
  std::optional<Extent> of_role[2];
  for (const Element& child : element.all()) {
    const std::string tag = child.tag();
    if (tag != "visual" && tag != "collision") continue;
    const ShapeRole role = tag == "visual" ? ShapeRole::view : ShapeRole::collision;
    ShapeReading reading = read_shape(child, role, materials_, meshes_);
    if (reading.unread_mesh) stand_ins_.push_back({shapes_.size(), *reading.unread_mesh, reading.problem});
    if (reading.lost || reading.unread_mesh) (role == ShapeRole::view ? lost_views_ : lost_collisions_).push_back(name);
    if (!reading.shape) continue;
    const std::optional<Extent> extent = reading.unread_mesh ? std::nullopt : extent_of(*reading.shape);
    std::optional<Extent>& all = of_role[role == ShapeRole::view];
    if (extent && all) all->include(*extent);
    if (extent && !all) all = extent;
    shapes_.push_back({name, std::move(*reading.shape)});
  }
  link.extent = of_role[0] ? of_role[0] : of_role[1];
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

namespace {

bool may_follow(JointType type) {
  return type == JointType::revolute || type == JointType::continuous || type == JointType::prismatic;
}

// A fixed joint where `joint` has the position `at`.
Joint held_at(const Joint& joint, double at) {
  Joint held;
  held.name = joint.name;
  held.X_PJ = joint.X_PJ;
  if (joint.type == JointType::prismatic)
    held.X_PJ.p += joint.X_PJ.R * (at * joint.axis);
  else
    held.X_PJ.R = joint.X_PJ.R * Eigen::AngleAxisd(at, joint.axis).toRotationMatrix();
  return held;
}

}  // namespace

// A joint that follows what does not move does not move either, and one that follows nothing moves by itself.
void UrdfReader::settle_followers() {
  std::map<std::string, const Joint*> known;
  for (const LinkJoint& joint : joints_) known.emplace(joint.joint.name, &joint.joint);
  std::map<const Joint*, double> held;  // where
  for (bool settled = false; !settled;) {
    settled = true;
    for (LinkJoint& follower : joints_) {
      Joint& joint = follower.joint;
      if (!joint.mimic) continue;
      const std::vector<Element> children = follower.element.all();
      const Element& mimic = *std::ranges::find_if(children, [](const Element& e) { return e.tag() == "mimic"; });
      const std::string name = in_quotes(joint.mimic->joint);
      const auto master = known.find(joint.mimic->joint);
      const bool master_is_fixed = master != known.end() && master->second->type == JointType::fixed;
      if (joint.type == JointType::fixed) {
        mimic.ignore("a fixed joint does not move");
      } else if (!may_follow(joint.type)) {
        mimic.repair(fmt::format("a {} joint cannot follow another", joint_type_name(joint.type)),
                     "it moves by itself");
      } else if (master == known.end()) {
        mimic.repair("joint",
                     fmt::format("follows joint {}, which does not exist{}", name, suggest_joint(joint.mimic->joint)),
                     "it moves by itself");
      } else if (master_is_fixed || joint.mimic->multiplier == 0) {
        if (master_is_fixed)
          mimic.repair("joint", fmt::format("follows fixed joint {}", name), "fixed where that leaves it");
        else
          mimic.repair("multiplier", "mimic multiplier is 0, expected the rate by which it follows",
                       "fixed at the offset");
        const double at = joint.mimic->multiplier * held[master->second] + joint.mimic->offset;
        joint = held_at(joint, at);
        held[&joint] = at;
      } else {
        continue;
      }
      joint.mimic.reset();
      settled = false;
    }
  }
}

// --- the tree ------------------------------------------------------------------------------------------------------

namespace {

// Comparing names is slow: a longer list of candidates helps nobody, and nobody reads more suggestions.
constexpr size_t kMostNames = 1000;

}  // namespace

std::string UrdfReader::suggest_link(const std::string& name) {
  if (suggestions_left_ == 0) return "";
  --suggestions_left_;
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(links_.size(), kMostNames); ++i) names.push_back(links_[i].body.name);
  return suggestion(name, names);
}

std::string UrdfReader::suggest_joint(const std::string& name) {
  if (suggestions_left_ == 0) return "";
  --suggestions_left_;
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(joints_.size(), kMostNames); ++i) names.push_back(joints_[i].joint.name);
  return suggestion(name, names);
}

bool UrdfReader::connect() {
  bool connected = link_of_.size() == links_.size();  // else a name is missing or used twice
  for (size_t i = 0; i < joints_.size(); ++i) {
    const LinkJoint& joint = joints_[i];
    if (!joint.joint.name.empty() && !joint_names_.insert(joint.joint.name).second)
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
    else {
      child->joint = static_cast<int>(i);
      if (parent) parent->children.push_back(static_cast<size_t>(child - links_.data()));
    }
  }
  return connected;
}

std::vector<size_t> UrdfReader::find_roots() const {
  std::vector<size_t> roots;
  for (size_t i = 0; i < links_.size(); ++i)
    if (links_[i].joint < 0) roots.push_back(i);
  if (roots.empty() && !links_.empty())
    links_[0].element.reject("is its own ancestor, expected a tree: no link is free of a parent");
  return roots;
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

// --- the model -----------------------------------------------------------------------------------------------------

std::optional<Model> UrdfReader::build() {
  ModelBuilder builder(name_);
  for (size_t i = 0; i < links_.size(); ++i) {
    const Link& link = links_[i];
    if (link.body.name == kWorldName) continue;
    const LinkJoint* carrier = link.joint < 0 ? nullptr : &joints_[static_cast<size_t>(link.joint)];
    const Joint& joint = carrier ? carrier->joint : carriers_.at(i).joint;
    const std::string& parent = carrier ? carrier->parent_name : carriers_.at(i).parent;
    if (merges(link.body, joint)) link.element.map("massless and fixed: a frame on the body that carries it");
    // Links that only mark a place keep the order of the file; ModelBuilder merges the others.
    if (carrier && merges(link.body, joint) && !link.has_parts)
      builder.add_frame(parent, {link.body.name, {}, joint.X_PJ});
    else
      builder.add_body(link.body, parent, joint);
  }
  if (!ledger_.clean()) return std::nullopt;
  try {
    for (const auto& [link, shape] : shapes_) builder.add_shape(link, shape);
    for (const auto& [link, point] : points_) builder.add_contact_point(link, point);
    Model model = builder.build();
    robot_.map(fmt::format("model of {} bodies and {} degrees of freedom", model.bodies().size(), model.nv()));
    find_consequences(model);
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
