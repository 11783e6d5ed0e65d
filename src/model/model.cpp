#include "scree/model.h"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/names.h"
#include "model/tree.h"
#include "scree/error.h"

namespace scree {

const char* joint_type_name(JointType type) {
  switch (type) {
    case JointType::fixed:
      return "fixed";
    case JointType::revolute:
      return "revolute";
    case JointType::continuous:
      return "continuous";
    case JointType::prismatic:
      return "prismatic";
    case JointType::planar:
      return "planar";
    case JointType::ball:
      return "ball";
    case JointType::floating:
      return "floating";
  }
  return "?";
}

int position_count(JointType type) {
  switch (type) {
    case JointType::fixed:
      return 0;
    case JointType::planar:
      return 3;
    case JointType::ball:
      return 4;
    case JointType::floating:
      return 7;
    default:
      return 1;
  }
}

int velocity_count(JointType type) {
  switch (type) {
    case JointType::ball:
      return 3;
    case JointType::floating:
      return 6;
    default:
      return position_count(type);
  }
}

const char* geometry_name(const Geometry& geometry) {
  static constexpr const char* kNames[] = {"sphere", "box", "capsule", "cylinder", "plane", "mesh", "height field"};
  return kNames[geometry.index()];
}

struct ModelAccess {
  static const Tree& tree(const Model& model) { return *model.tree_; }
};
const Tree& tree_of(const Model& model) { return ModelAccess::tree(model); }

double Model::total_mass() const {
  double sum = 0;
  for (const Body& body : bodies_) sum += body.mass;
  return sum;
}

namespace {

template <class Items> std::vector<std::string> names_of(const Items& items) {
  std::vector<std::string> names;
  for (const auto& item : items) names.push_back(item.name);
  return names;
}

template <class Items> int index_of(const Items& items, std::string_view name) {
  for (size_t i = 0; i < items.size(); ++i)
    if (items[i].name == name) return static_cast<int>(i);
  return -1;
}

}  // namespace

BodyIndex Model::find_body(std::string_view name) const {
  const int i = index_of(bodies_, name);
  if (i < 0)
    throw InputError(fmt::format("model {}: no body \"{}\"{}", name_, name, suggestion(name, names_of(bodies_))));
  return BodyIndex(i);
}

JointIndex Model::find_joint(std::string_view name) const {
  const int i = index_of(joints_, name);
  if (i < 0)
    throw InputError(fmt::format("model {}: no joint \"{}\"{}", name_, name, suggestion(name, names_of(joints_))));
  return JointIndex(i);
}

Frame Model::find_frame(std::string_view name) const {
  if (const int i = index_of(frames_, name); i >= 0) return frames_[static_cast<size_t>(i)];
  if (const int i = index_of(bodies_, name); i >= 0) return {std::string(name), BodyIndex(i), Pose{}};
  if (name == "world") return {"world", kWorld, Pose{}};
  std::vector<std::string> known = names_of(frames_);
  for (const Body& body : bodies_) known.push_back(body.name);
  throw InputError(fmt::format("model {}: no frame or body \"{}\"{}", name_, name, suggestion(name, known)));
}

Eigen::VectorXd Model::neutral_position() const {
  Eigen::VectorXd q = Eigen::VectorXd::Zero(nq_);
  for (const Joint& joint : joints_) {
    if (joint.type == JointType::ball) q(joint.q_index) = 1;
    if (joint.type == JointType::floating) q(joint.q_index + 3) = 1;
  }
  return q;
}

// --- inertia -------------------------------------------------------------------------------------------------------

InertiaCheck check_inertia(const Mat3& inertia) {
  if (!inertia.allFinite()) return {false, "inertia is not finite"};
  const double size = inertia.cwiseAbs().maxCoeff();
  if (!(inertia - inertia.transpose()).isZero(1e-12 * size)) return {false, "inertia matrix is not symmetric"};
  const Vec3 e = Eigen::SelfAdjointEigenSolver<Mat3>(inertia, Eigen::EigenvaluesOnly).eigenvalues();
  const std::string eigenvalues = fmt::format("principal inertias {:.6g}, {:.6g}, {:.6g} kg m^2", e(0), e(1), e(2));
  if (!(e(0) > 0)) return {false, eigenvalues + ", expected all positive"};
  // A body's principal inertias satisfy a + b >= c. Thin rods and plates sit on the boundary: allow for the six digits
  // that model files usually carry.
  if (e(0) + e(1) < e(2) * (1 - 1e-5))
    return {false, eigenvalues + ", expected the two smaller to add up to the largest"};
  return {true, ""};
}

Mat3 repair_inertia(const Mat3& inertia, double floor) {
  // C = tr(I)/2 - I is the centroidal second moment: I is a real body's inertia exactly if C is positive definite.
  const Mat3 symmetric = 0.5 * (inertia + inertia.transpose());
  const Mat3 C = 0.5 * symmetric.trace() * Mat3::Identity() - symmetric;
  const Eigen::SelfAdjointEigenSolver<Mat3> eigen(C);
  const double largest = eigen.eigenvalues().maxCoeff();
  if (!(largest > 0)) throw InputError("inertia cannot be repaired: no positive second moment");
  const Vec3 raised = eigen.eigenvalues().cwiseMax(floor * largest);
  const Mat3 repaired = eigen.eigenvectors() * raised.asDiagonal() * eigen.eigenvectors().transpose();
  return repaired.trace() * Mat3::Identity() - repaired;
}

// --- builder -------------------------------------------------------------------------------------------------------

namespace {

constexpr double kLargest = 1e12;  // SI; anything beyond is a typing mistake and would overflow later
// What is divided by must not be so small that quotients and their squares overflow: a speck of a picolitre of water
// [kg], the same at a micrometre from its axis [kg m^2]. 5e-324 was taken once, and its inverse is infinite.
constexpr double kLeastMass = 1e-12, kLeastInertia = 1e-24;
constexpr double kLeastLength = 1e-9;  // [m] of a shape; below it hulls and normals are rounding

[[noreturn]] void fail(const std::string& place, const std::string& what) {
  throw InputError(fmt::format("{}: {}", place, what));
}

void check_number(const std::string& place, const char* field, double value) {
  if (!(std::abs(value) <= kLargest))
    fail(place, fmt::format("{} is {}, expected a finite number of at most {:g}", field, value, kLargest));
}

void check_not_negative(const std::string& place, const char* field, double value) {
  check_number(place, field, value);
  if (value < 0) fail(place, fmt::format("{} is {}, expected >= 0", field, value));
}

void check_positive(const std::string& place, const char* field, double value) {
  check_number(place, field, value);
  if (!(value > 0)) fail(place, fmt::format("{} is {}, expected > 0", field, value));
}

void check_at_least(const std::string& place, const char* field, double value, double least) {
  check_number(place, field, value);
  if (!(value >= least)) fail(place, fmt::format("{} is {}, expected at least {:g}", field, value, least));
}

void check_bound(const std::string& place, const char* field, double value) {  // > 0, infinity means "none"
  if (!(value > 0)) fail(place, fmt::format("{} is {}, expected > 0", field, value));
}

void check_pose(const std::string& place, const Pose& pose) {
  for (int k = 0; k < 3; ++k) check_number(place, "position", pose.p(k));
  if (!pose.R.allFinite() || !(pose.R.transpose() * pose.R).isIdentity(1e-9) || pose.R.determinant() < 0)
    fail(place, "rotation is not a proper orthonormal matrix");
}

void check_body(const Body& body) {
  const std::string place = "link " + body.name;
  check_not_negative(place, "mass", body.mass);
  for (int k = 0; k < 3; ++k) check_number(place, "com", body.com(k));
  if (body.mass == 0) {
    if (!body.inertia.isZero(0)) fail(place, "mass is 0 but inertia is not, expected both or neither");
    return;
  }
  check_at_least(place, "mass", body.mass, kLeastMass);
  if (!(body.inertia.cwiseAbs().maxCoeff() <= kLargest)) fail(place, "inertia is not finite");
  if (const InertiaCheck check = check_inertia(body.inertia); !check.valid) fail(place, check.problem);
  check_at_least(place, "smallest moment of inertia",
                 Eigen::SelfAdjointEigenSolver<Mat3>(body.inertia, Eigen::EigenvaluesOnly).eigenvalues()(0),
                 kLeastInertia);
}

void check_limits(const std::string& place, const Joint& joint) {
  const JointLimits& l = joint.limits;
  if (std::isnan(l.lower) || std::isnan(l.upper)) fail(place, "limit is nan, expected a number");
  if (l.lower > l.upper) fail(place, fmt::format("lower limit {} is above the upper limit {}", l.lower, l.upper));
  const bool limited = std::isfinite(l.lower) || std::isfinite(l.upper);
  if (limited && joint.type != JointType::revolute && joint.type != JointType::prismatic &&
      joint.type != JointType::ball)
    fail(place, fmt::format("a {} joint takes no position limits", joint_type_name(joint.type)));
  if (joint.type == JointType::ball && std::isfinite(l.upper) && !(l.upper > 0 && l.upper <= M_PI))
    fail(place, fmt::format("largest angle is {}, expected in (0, pi] rad", l.upper));
  check_positive(place, "limit stiffness", l.stiffness);
  check_positive(place, "limit margin", l.margin);
}

bool can_couple(JointType type) {
  return type == JointType::revolute || type == JointType::continuous || type == JointType::prismatic;
}

void check_joint(Joint& joint) {
  const std::string place = "joint " + joint.name;
  check_pose(place, joint.X_PJ);
  if (joint.type == JointType::revolute || joint.type == JointType::continuous || joint.type == JointType::prismatic ||
      joint.type == JointType::planar) {
    for (int k = 0; k < 3; ++k) check_number(place, "axis", joint.axis(k));
    if (!(joint.axis.norm() > 1e-6)) fail(place, "axis has no length, expected a direction");
    // What a normalisation made is left alone, so that a model which is written and read keeps its bits: two roundings
    // of each component and those of the sum make 7 of at most 1.1e-16.
    if (std::abs(joint.axis.squaredNorm() - 1) > 1e-15) joint.axis.normalize();
  }
  check_limits(place, joint);
  check_not_negative(place, "damping", joint.damping);
  check_not_negative(place, "friction", joint.friction);
  if (joint.friction > 0 && velocity_count(joint.type) != 1)
    fail(place, fmt::format("a {} joint takes no friction, expected a revolute, continuous or prismatic one",
                            joint_type_name(joint.type)));
  check_not_negative(place, "armature", joint.armature);
  if (joint.armature > 0) check_at_least(place, "armature", joint.armature, kLeastInertia);
  check_bound(place, "effort", joint.effort);
  check_bound(place, "velocity limit", joint.velocity_limit);
  if (joint.type == JointType::ball && std::isfinite(joint.effort)) fail(place, "a ball joint takes no effort bound");
  if (joint.mimic) {
    if (!can_couple(joint.type))
      fail(place, fmt::format("a {} joint cannot follow another, expected revolute, continuous or prismatic",
                              joint_type_name(joint.type)));
    check_number(place, "mimic multiplier", joint.mimic->multiplier);
    if (joint.mimic->multiplier == 0) fail(place, "mimic multiplier is 0, expected the rate by which it follows");
    check_number(place, "mimic offset", joint.mimic->offset);
  }
  const bool base = joint.type == JointType::planar || joint.type == JointType::floating;
  if (base && (joint.damping > 0 || joint.armature > 0))
    fail(place, fmt::format("a {} joint takes no damping or armature: its dofs have different units",
                            joint_type_name(joint.type)));
}

void check_shape(const std::string& place, const Shape& shape) {
  check_pose(place, shape.X_BS);
  for (double c : shape.rgba)
    if (!(c >= 0 && c <= 1)) fail(place, fmt::format("colour {} is outside [0, 1]", c));
  if (std::holds_alternative<std::shared_ptr<const HeightField>>(shape.geometry))
    fail(place, "a height field, expected a shape of a body: height fields are colliders of the world");
  if (const auto* s = std::get_if<Sphere>(&shape.geometry))
    check_at_least(place, "sphere radius", s->radius, kLeastLength);
  if (const auto* b = std::get_if<Box>(&shape.geometry))
    for (int k = 0; k < 3; ++k) check_at_least(place, "box size", b->size(k), kLeastLength);
  if (const auto* c = std::get_if<Capsule>(&shape.geometry)) {
    check_at_least(place, "capsule radius", c->radius, kLeastLength);
    check_not_negative(place, "capsule length", c->length);
  }
  if (const auto* c = std::get_if<Cylinder>(&shape.geometry)) {
    check_at_least(place, "cylinder radius", c->radius, kLeastLength);
    check_at_least(place, "cylinder length", c->length, kLeastLength);
  }
  if (const auto* m = std::get_if<Mesh>(&shape.geometry)) {
    for (int k = 0; k < 3; ++k) {
      check_number(place, "mesh scale", m->scale(k));
      if (m->scale(k) == 0) fail(place, "mesh scale is 0, expected a factor per axis");
    }
    if (!m->data || m->data->triangles.empty()) fail(place, "mesh has no triangles");
    for (const Vec3& vertex : m->data->vertices)
      for (int k = 0; k < 3; ++k) check_number(place, "mesh vertex", vertex(k));
    const int count = static_cast<int>(m->data->vertices.size());
    for (const auto& triangle : m->data->triangles)
      for (const int corner : triangle)
        if (corner < 0 || corner >= count)
          fail(place, fmt::format("mesh triangle names vertex {}, expected 0 to {}", corner, count - 1));
    const size_t colours = m->data->colours.size(), triangles = m->data->triangles.size();
    if (colours != 0 && colours != triangles)
      fail(place,
           fmt::format("mesh has {} colours, expected none or one for each of {} triangles", colours, triangles));
  }
}

// What every joint follows in the end. `all`: the type of every joint of the input by its name, of those that merged
// away, too.                                                                                              theory (1.10)
std::vector<Coupling> resolve_couplings(const std::vector<Joint>& joints,
                                        const std::unordered_map<std::string, JointType>& all) {
  std::vector<Coupling> couplings(joints.size());
  std::unordered_map<std::string, size_t> index;
  for (size_t i = 0; i < joints.size(); ++i) index[joints[i].name] = i;
  const auto place = [&](size_t i) { return "joint " + joints[i].name; };
  const auto next = [&](size_t i) {
    const std::string& name = joints[i].mimic->joint;
    const auto type = all.find(name);
    if (type == all.end()) {
      std::vector<std::string> known;
      for (const Joint& joint : joints)
        if (can_couple(joint.type) && joint.name != joints[i].name) known.push_back(joint.name);
      fail(place(i), fmt::format("follows joint \"{}\", which does not exist{}", name, suggestion(name, known)));
    }
    if (!can_couple(type->second))
      fail(place(i), fmt::format("follows {} joint {}, expected a revolute, continuous or prismatic one",
                                 joint_type_name(type->second), name));
    return index.at(name);
  };
  // 0: not seen, 1: on the way at hand, 2: done.
  std::vector<char> seen(joints.size(), 0);
  for (size_t i = 0; i < joints.size(); ++i) {
    std::vector<size_t> way;
    size_t at = i;
    for (; joints[at].mimic && seen[at] == 0; at = next(at)) {
      seen[at] = 1;
      way.push_back(at);
    }
    if (joints[at].mimic && seen[at] == 1)
      fail(place(i), "follows itself: " + joints[way.back()].name + " follows " + joints[at].name);
    for (; !way.empty(); way.pop_back()) {
      const size_t k = way.back();
      const Mimic& mimic = *joints[k].mimic;
      const size_t direct = index.at(mimic.joint);
      const Coupling& above = couplings[direct];
      couplings[k] = {above.master >= 0 ? above.master : static_cast<int>(direct), mimic.multiplier * above.multiplier,
                      mimic.multiplier * above.offset + mimic.offset};
      seen[k] = 2;
      const double size = std::abs(couplings[k].multiplier);
      if (!(size >= 1 / kLargest && size <= kLargest) || !(std::abs(couplings[k].offset) <= kLargest))
        fail(place(k),
             fmt::format("follows joint {} as {} q + {}, expected a multiplier in [{:g}, {:g}] either way and "
                         "an offset of at most that size",
                         joints[static_cast<size_t>(couplings[k].master)].name, couplings[k].multiplier,
                         couplings[k].offset, 1 / kLargest, kLargest));
    }
  }
  return couplings;
}

void check_name(const std::string& kind, const std::string& name, std::unordered_set<std::string>& seen) {
  if (name.empty()) fail(kind, "has no name");
  if (name == "world") fail(kind + " world", "the name \"world\" is taken by the world itself");
  if (!seen.insert(name).second) fail(kind + " " + name, "the name is used twice, expected unique names");
}

}  // namespace

ModelBuilder::ModelBuilder(std::string name) : name_(std::move(name)) {}

ModelBuilder::ModelBuilder(const Model& model) : name_(model.name()) {
  const auto name_of = [&](BodyIndex body) { return body.valid() ? model.body(body).name : std::string("world"); };
  for (size_t i = 0; i < model.bodies().size(); ++i)
    add_body(model.bodies()[i], name_of(model.bodies()[i].parent), model.joints()[i]);
  for (const Shape& shape : model.shapes()) add_shape(name_of(shape.body), shape);
  for (const Frame& frame : model.frames()) add_frame(name_of(frame.body), frame);
  for (const ContactPoint& point : model.contact_points()) add_contact_point(name_of(point.body), point);
}

ModelBuilder& ModelBuilder::add_body(Body body, std::string parent, Joint joint) {
  entries_.push_back({std::move(body), std::move(parent), std::move(joint)});
  return *this;
}
ModelBuilder& ModelBuilder::add_shape(std::string body, Shape shape) {
  shapes_.push_back({std::move(body), std::move(shape)});
  return *this;
}
ModelBuilder& ModelBuilder::add_frame(std::string body, Frame frame) {
  frames_.push_back({std::move(body), std::move(frame)});
  return *this;
}
ModelBuilder& ModelBuilder::add_contact_point(std::string body, ContactPoint point) {
  contact_points_.push_back({std::move(body), std::move(point)});
  return *this;
}

Model ModelBuilder::build() const {
  Model model;
  model.name_ = name_;

  // Names first: everything below finds bodies by name.
  std::unordered_set<std::string> link_names, joint_names, point_names;
  std::unordered_map<std::string, size_t> entry_of;
  std::vector<std::string> known;
  for (size_t i = 0; i < entries_.size(); ++i) {
    check_name("link", entries_[i].body.name, link_names);
    check_name("joint", entries_[i].joint.name, joint_names);
    entry_of[entries_[i].body.name] = i;
    known.push_back(entries_[i].body.name);
  }
  std::unordered_map<std::string, const Placed<Frame>*> frame_of;
  for (const auto& f : frames_) {
    check_name("frame", f.item.name, link_names);
    frame_of[f.item.name] = &f;
  }
  for (const auto& p : contact_points_) check_name("contact point", p.item.name, point_names);

  // Depth-first from the roots, in the order given: subtrees are contiguous and parents come first.
  std::vector<std::vector<size_t>> children(entries_.size());
  std::vector<size_t> stack;
  for (size_t i = entries_.size(); i-- > 0;) {
    const Entry& e = entries_[i];
    const auto frame = frame_of.find(e.parent);
    const std::string& link = frame == frame_of.end() ? e.parent : frame->second->body;
    if (link == "world") {
      stack.push_back(i);
    } else if (const auto it = entry_of.find(link); it != entry_of.end()) {
      children[it->second].push_back(i);
    } else {
      fail("joint " + e.joint.name, fmt::format("parent link \"{}\" does not exist{}", link, suggestion(link, known)));
    }
  }
  // Where each link of the input ended up: on which body, and where on it (massless fixed links merge into parents).
  struct Placement {
    BodyIndex body;
    Pose X_BL;
  };
  std::unordered_map<std::string, Placement> placement{{"world", {kWorld, Pose{}}}};
  while (!stack.empty()) {
    const size_t i = stack.back();
    stack.pop_back();
    for (size_t child : children[i]) stack.push_back(child);
    Body body = entries_[i].body;
    Joint joint = entries_[i].joint;
    check_body(body);
    check_joint(joint);
    const auto frame = frame_of.find(entries_[i].parent);
    Placement parent = placement.at(frame == frame_of.end() ? entries_[i].parent : frame->second->body);
    if (frame != frame_of.end()) {
      check_pose("frame " + frame->first, frame->second->item.X_BF);
      parent.X_BL = parent.X_BL * frame->second->item.X_BF;
    }
    joint.X_PJ = parent.X_BL * joint.X_PJ;
    if (joint.type == JointType::fixed && body.mass == 0) {
      placement[body.name] = {parent.body, joint.X_PJ};
      model.frames_.push_back({body.name, parent.body, joint.X_PJ});
      continue;
    }
    body.parent = parent.body;
    joint.q_index = model.nq_;
    joint.v_index = model.nv_;
    if (!joint.mimic) {
      model.nq_ += position_count(joint.type);
      model.nv_ += velocity_count(joint.type);
    }
    placement[body.name] = {BodyIndex(static_cast<int>(model.bodies_.size())), Pose{}};
    model.bodies_.push_back(std::move(body));
    model.joints_.push_back(std::move(joint));
  }
  if (placement.size() != entries_.size() + 1) {  // some link was never reached from the world
    for (const Entry& e : entries_)
      if (!placement.contains(e.body.name))
        fail("link " + e.body.name, "is its own ancestor, expected a tree (cycle through joint " + e.joint.name + ")");
  }

  // What adds up to coordinates has room for a matrix of all of them.
  constexpr int kMostDofs = 5000;
  int dofs = 0;
  bool follows = false;
  for (const Joint& joint : model.joints_) {
    dofs += velocity_count(joint.type);
    follows |= joint.mimic.has_value();
  }
  if (follows && dofs > kMostDofs)
    fail("model " + name_,
         fmt::format("joints have {} degrees of freedom, expected at most {} where some follow others", dofs,
                     kMostDofs));
  std::unordered_map<std::string, JointType> types;
  for (const Entry& e : entries_) types[e.joint.name] = e.joint.type;
  const std::vector<Coupling> couplings = resolve_couplings(model.joints_, types);
  for (size_t i = 0; i < couplings.size(); ++i) {
    if (couplings[i].master < 0) continue;
    const Joint& master = model.joints_[static_cast<size_t>(couplings[i].master)];
    model.joints_[i].q_index = master.q_index;
    model.joints_[i].v_index = master.v_index;
  }

  const auto place_on = [&](const std::string& link, const std::string& what) -> const Placement& {
    const auto it = placement.find(link);
    if (it == placement.end()) fail(what, fmt::format("link \"{}\" does not exist{}", link, suggestion(link, known)));
    return it->second;
  };
  for (const auto& [link, item] : frames_) {
    check_pose("frame " + item.name, item.X_BF);
    const Placement at = place_on(link, "frame " + item.name);
    model.frames_.push_back({item.name, at.body, at.X_BL * item.X_BF});
  }
  for (const Frame& frame : model.frames_) placement[frame.name] = {frame.body, frame.X_BF};  // after the frames
  for (const auto& [link, item] : shapes_) {
    Shape shape = item;
    const std::string what =
        fmt::format("shape {} of link {}", shape.name.empty() ? geometry_name(shape.geometry) : shape.name, link);
    check_shape(what, shape);
    const Placement& at = place_on(link, what);
    shape.body = at.body;
    shape.X_BS = at.X_BL * shape.X_BS;
    model.shapes_.push_back(std::move(shape));
  }
  for (const auto& [link, item] : contact_points_) {
    const std::string what = "contact point " + item.name;
    check_pose(what, {Mat3::Identity(), item.p_B});
    check_not_negative(what, "radius", item.radius);
    const Placement& at = place_on(link, what);
    model.contact_points_.push_back({item.name, at.body, at.X_BL * item.p_B, item.radius});
  }

  // Listed by body, world first, as a file would list them.
  std::ranges::stable_sort(model.shapes_, {}, &Shape::body);
  std::ranges::stable_sort(model.contact_points_, {}, &ContactPoint::body);

  // A coordinate with nothing to move has no equation of motion.
  std::vector<double> moved(model.bodies_.size());
  std::vector<bool> resists(static_cast<size_t>(model.nv_));
  for (size_t i = model.bodies_.size(); i-- > 0;) {
    moved[i] += model.bodies_[i].mass;
    if (const BodyIndex parent = model.bodies_[i].parent; parent.valid())
      moved[static_cast<size_t>(parent.value())] += moved[i];
    const Joint& joint = model.joints_[i];
    if (joint.type != JointType::fixed && (moved[i] > 0 || joint.armature > 0))
      resists[static_cast<size_t>(joint.v_index)] = true;
  }
  for (size_t i = model.bodies_.size(); i-- > 0;) {
    const Joint& joint = model.joints_[i];
    if (joint.type != JointType::fixed && !resists[static_cast<size_t>(joint.v_index)])
      fail("link " + model.bodies_[i].name,
           fmt::format("mass is 0 and nothing with mass hangs on it, but {} joint {} moves "
                       "it, expected mass > 0 (or armature)",
                       joint_type_name(joint.type), joint.name));
  }
  model.tree_ = std::make_shared<const Tree>(compile_tree(model.bodies_, model.joints_, couplings));
  return model;
}

}  // namespace scree
