#include "formats/urdf_parts.h"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/names.h"
#include "base/text.h"
#include "formats/rpy.h"
#include "scree/error.h"

namespace scree {

namespace {

// <scree rotation="r11 r12 ... r33"/>, beside rpy for other readers
void read_rotation(const Element& scree, Mat3& R) {
  constexpr double kSame = 1e-9;  // as orthonormal as ModelBuilder wants it
  scree.allow_only({"rotation"}, {});
  const auto rows = scree.list("rotation", 9, "rotation matrix, row by row");
  if (!rows) return scree.reject("has no valid attribute \"rotation\"");
  const Mat3 exact = Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(rows->data());
  if (!((exact - R).cwiseAbs().maxCoeff() <= kSame))
    return scree.reject("rotation", fmt::format("differs by {:.3g} from that of rpy, expected the same",
                                                (exact - R).cwiseAbs().maxCoeff()));
  R = exact;
}

}  // namespace

Pose read_origin(const Element& parent) {
  Pose pose;
  if (const auto origin = parent.only("origin", "pose")) {
    pose.p = origin->vector_filled("xyz", "position [m]").value_or(Vec3::Zero());
    pose.R = rotation_from_rpy(origin->vector_filled("rpy", "roll, pitch, yaw [rad]").value_or(Vec3::Zero()));
    if (const auto scree = origin->only("scree", "the rotation to the last bit")) read_rotation(*scree, pose.R);
  }
  return pose;
}

std::optional<Vec3> read_direction(const Element& element, const char* attribute, std::string_view what) {
  const std::optional<Vec3> given = element.vector_filled(attribute, what);
  if (!given) return std::nullopt;
  const double length = given->norm();
  if (!(length > 1e-6)) {
    element.reject(attribute,
                   fmt::format("{} is {} {} {}, expected a direction", what, given->x(), given->y(), given->z()));
    return std::nullopt;
  }
  if (std::abs(length - 1) <= 1e-12) return given;
  element.map(attribute, fmt::format("{}, normalised from length {:.6g}", what, length));
  return *given / length;
}

// --- inertia -------------------------------------------------------------------------------------------------------

namespace {

constexpr double kLeastMass = 1e-12, kLeastInertia = 1e-24;  // as ModelBuilder wants them, 0 but

Vec3 principal_values(const Mat3& inertia) {
  return Eigen::SelfAdjointEigenSolver<Mat3>(inertia, Eigen::EigenvaluesOnly).eigenvalues();
}

std::string principal_changes(const Mat3& before, const Mat3& after) {
  const Vec3 a = principal_values(before), b = principal_values(after);
  std::string changes;
  for (int k = 0; k < 3; ++k) {
    changes += k == 0 ? "" : ", ";
    changes += a(k) > 0 ? fmt::format("{:+.3g} %", 100 * (b(k) / a(k) - 1)) : "was not positive";
  }
  return fmt::format("principal values {:.6g}, {:.6g}, {:.6g} became {:.6g}, {:.6g}, {:.6g} kg m^2 ({})", a(0), a(1),
                     a(2), b(0), b(1), b(2), changes);
}

// Nullopt if a number was rejected.
std::optional<Mat3> read_inertia_matrix(const Element& element) {
  Mat3 I = Mat3::Zero();
  bool clean = true;
  const auto entry = [&](const char* name, int i, int j) {
    if (!element.has(name)) return element.repair(element.lacks(name), fmt::format("{} is taken as 0", name));
    const std::optional<double> value = element.required_number(name, "inertia [kg m^2]");
    I(i, j) = I(j, i) = value.value_or(0);
    clean = clean && value;
  };
  entry("ixx", 0, 0);
  entry("ixy", 0, 1);
  entry("ixz", 0, 2);
  entry("iyy", 1, 1);
  entry("iyz", 1, 2);
  entry("izz", 2, 2);
  return clean ? std::optional(I) : std::nullopt;
}

// The inertia, or the nearest one that a body can have; nullopt, with what is wrong, if none is near. Judged in the
// frame it is given in: principal values do not depend on axes.
std::optional<Mat3> usable_inertia(const Element& element, const Mat3& given, std::string& problem) {
  const InertiaCheck check = check_inertia(given);
  problem = check.problem;
  Mat3 usable = given;
  if (!check.valid) {
    try {
      usable = repair_inertia(given);
    } catch (const InputError&) {
      return std::nullopt;
    }
  }
  if (principal_values(usable)(0) < kLeastInertia) {
    if (check.valid)
      problem = fmt::format("smallest moment of inertia is {:.3g}, expected at least {:g}", principal_values(usable)(0),
                            kLeastInertia);
    return std::nullopt;
  }
  if (!check.valid) {
    const bool still_wrong = !check_inertia(usable).valid;
    if (still_wrong) return std::nullopt;
    element.repair(check.problem, "no body has this inertia, the nearest that one can have turns the link: " +
                                      principal_changes(given, usable));
  }
  return usable;
}

std::optional<double> read_mass(const Element& inertial) {
  const auto mass = inertial.only("mass", "mass");
  if (!mass || !mass->has("value")) {
    (mass ? *mass : inertial).repair(mass ? mass->lacks("value") : "has no <mass>", "mass is taken as 0");
    return 0;
  }
  const std::optional<double> value = mass->required_number("value", "mass [kg]", Range::not_negative);
  if (!value || *value == 0 || *value >= kLeastMass) return value;
  mass->repair("value", fmt::format("mass is {:g} kg, expected 0 or at least {:g}", *value, kLeastMass),
               "taken as 0, it could not be told from rounding");
  return 0;
}

}  // namespace

InertialGap read_inertial(const Element& link, Body& body) {
  using Lacks = InertialGap::Lacks;
  const auto inertial = link.only("inertial", "mass, centre of mass, inertia");
  if (!inertial) return {};
  const Pose X_BC = read_origin(*inertial);
  const std::optional<double> mass = read_mass(*inertial);
  const auto element = inertial->only("inertia", "inertia about the centre of mass");
  const auto given = element ? read_inertia_matrix(*element) : Mat3(Mat3::Zero());
  if (!mass || !given) return {};  // rejected
  if (*mass == 0) inertial->map("mass 0: a massless link");
  if (*mass == 0 && given->isZero(0)) return {};
  body.mass = *mass;
  body.com = X_BC.p;
  if (!element) return {Lacks::inertia, inertial, "has mass but no <inertia>"};
  std::string problem;
  const std::optional<Mat3> I = usable_inertia(*element, *given, problem);
  if (!I && *mass > 0) return {Lacks::inertia, element, problem};
  if (!I) {
    element->repair(problem + ", and mass is 0", "taken as 0: a massless link");
    body.com.setZero();
    return {};
  }
  // Into body axes; the lower triangle copies the upper one, so that rounding leaves it symmetric.
  const Mat3 turned = X_BC.R * *I * X_BC.R.transpose();
  body.inertia = turned.selfadjointView<Eigen::Upper>();
  if (*mass > 0) return {};
  return {Lacks::mass, element, "inertia is not 0 but mass is 0, expected both or neither"};
}

// --- joint ---------------------------------------------------------------------------------------------------------

namespace {

const std::vector<std::pair<std::string, JointType>>& joint_types() {
  static const std::vector<std::pair<std::string, JointType>> types = {
      {"fixed", JointType::fixed},         {"revolute", JointType::revolute}, {"continuous", JointType::continuous},
      {"prismatic", JointType::prismatic}, {"planar", JointType::planar},     {"floating", JointType::floating}};
  return types;
}

bool has_position_limits(JointType type) { return type == JointType::revolute || type == JointType::prismatic; }

JointType read_joint_type(const Element& joint) {
  const auto given = joint.required_text("type", "joint type");
  if (!given) return JointType::fixed;
  std::vector<std::string> names;
  for (const auto& [name, type] : joint_types()) {
    if (*given == name) return type;
    names.push_back(name);
  }
  if (*given == "ball" || *given == "spherical") {
    joint.repair("type",
                 fmt::format("unknown joint type {}, write type=\"floating\" with <scree type=\"ball\"/> inside",
                             in_quotes(*given)),
                 "read as that: three rotations");
    return JointType::ball;
  }
  joint.reject("type", fmt::format("unknown joint type {}{}", in_quotes(*given), suggestion(*given, names)));
  return JointType::fixed;
}

struct Unlimited {
  bool lower = false, upper = false;
};

// <scree type="ball" max_angle armature limit_stiffness limit_margin unlimited/>
Unlimited read_joint_extension(const Element& element, Joint& joint) {
  const auto scree = element.only("scree", "what URDF cannot say about a joint");
  if (!scree) return {};
  scree->allow_only({"type", "max_angle", "armature", "limit_stiffness", "limit_margin", "unlimited"}, {});
  if (const auto type = scree->text("type", "joint type")) {
    if (*type != "ball")
      scree->reject("type", fmt::format("type is {}, expected \"ball\"", in_quotes(*type)));
    else if (joint.type != JointType::floating && joint.type != JointType::ball)
      scree->reject("type", "a ball joint is written in a joint of type=\"floating\"");
    joint.type = JointType::ball;
  }
  const std::string type = joint_type_name(joint.type);
  if (const auto angle = scree->number("max_angle", "largest rotation angle from zero [rad]", Range::positive)) {
    if (joint.type != JointType::ball) scree->reject("max_angle", "only ball joints have a largest angle, not " + type);
    joint.limits.upper = *angle;
  }
  joint.armature = scree->number("armature", "rotor inertia [kg m^2] or [kg]", Range::not_negative).value_or(0);
  joint.limits.stiffness =
      scree->number("limit_stiffness", "stiffness of the soft stops [N m/rad] or [N/m]", Range::positive)
          .value_or(joint.limits.stiffness);
  joint.limits.margin = scree->number("limit_margin", "travel to full stiffness [rad] or [m]", Range::positive)
                            .value_or(joint.limits.margin);
  Unlimited unlimited;
  if (const auto ends = scree->text("unlimited", "ends without a stop")) {
    if (*ends != "lower" && *ends != "upper" && *ends != "both")
      scree->reject("unlimited", fmt::format("is {}, expected \"lower\", \"upper\" or \"both\"", in_quotes(*ends)));
    if (!has_position_limits(joint.type))
      scree->reject("unlimited", fmt::format("a {} joint has no position limits to take away", type));
    unlimited = {*ends != "upper", *ends != "lower"};
  }
  return unlimited;
}

// Many files carry 0 where nobody knew the number, and a joint without force or speed would be a fixed one.
double read_bound(const Element& limit, const char* attribute, std::string_view what) {
  const double bound = limit.bound(attribute, what, "no bound").value_or(0);
  if (bound > 0) return bound;
  if (bound < 0) limit.repair(attribute, fmt::format("{} is {:g}, expected >= 0", what, bound), "no bound");
  limit.map(attribute, "0 is taken as unset: no bound");
  return std::numeric_limits<double>::infinity();
}

// Missing ends have no stop, as in MuJoCo and Drake; for urdfdom, and so for Pinocchio, they are 0, which would make
// the joint a fixed one.
void read_limit(const Element& element, Unlimited unlimited, Joint& joint) {
  const std::string type = joint_type_name(joint.type);
  const bool bounded = has_position_limits(joint.type);
  const auto limit = element.only("limit", "soft stops and bounds");
  if (!limit) {
    if (bounded && !(unlimited.lower && unlimited.upper))
      element.repair(
          fmt::format("a {} joint needs <limit lower=\"\" upper=\"\"/> or <scree unlimited=\"both\"/>", type),
          "there is no <limit>, so it has no stops");
    return;
  }
  if (joint.type == JointType::fixed) return limit->ignore("a fixed joint does not move");
  const auto read_end = [&](const char* end, bool free, double& value) {
    if (!bounded) return limit->ignore(end, fmt::format("a {} joint has no lower and upper limit", type));
    if (free) return limit->ignore(end, "overridden by <scree unlimited>");
    if (!limit->has(end)) return limit->repair(limit->lacks(end), fmt::format("no {} stop", end));
    value = limit->bound(end, std::string(end) + " soft stop [rad] or [m]", "no stop at this end").value_or(value);
  };
  JointLimits& ends = joint.limits;
  read_end("lower", unlimited.lower, ends.lower);
  read_end("upper", unlimited.upper, ends.upper);
  if (ends.lower > ends.upper) {
    limit->repair(fmt::format("lower limit {} is above the upper limit {}", ends.lower, ends.upper),
                  "the two are exchanged");
    std::swap(ends.lower, ends.upper);
  }
  if (std::isinf(ends.lower) && ends.lower > 0) limit->reject("lower", "expected a lower soft stop, not +infinity");
  if (std::isinf(ends.upper) && ends.upper < 0) limit->reject("upper", "expected an upper soft stop, not -infinity");
  joint.effort = read_bound(*limit, "effort", "bound on the control force [N m] or [N]");
  joint.velocity_limit = read_bound(*limit, "velocity", "speed limit [rad/s] or [m/s], kept but not enforced");
  if (joint.type == JointType::ball && std::isfinite(joint.effort)) {
    limit->repair("effort", "a ball joint takes no effort bound", "no bound: control forces are as large as asked for");
    joint.effort = std::numeric_limits<double>::infinity();
  }
}

// Negative damping would drive the joint; joints with dofs of different units take none.
double read_damping(const Element& dynamics, JointType type) {
  const std::string_view what = "viscous damping [N m s/rad] or [N s/m]";
  const double damping = dynamics.number("damping", what).value_or(0);
  const std::string problem =
      damping < 0 ? fmt::format("{} is {:g}, expected >= 0", what, damping)
                  : fmt::format("a {} joint takes no damping: its dofs have different units", joint_type_name(type));
  const bool mixed = type == JointType::planar || type == JointType::floating;
  if (damping >= 0 && !(mixed && damping > 0)) return damping;
  dynamics.repair("damping", problem, "taken as 0: nothing damps the joint");
  return 0;
}

double read_friction(const Element& dynamics, JointType type) {
  const std::string_view what = "dry friction [N m] or [N]";
  const double friction = dynamics.number("friction", what).value_or(0);
  if (friction < 0) {
    dynamics.repair("friction", fmt::format("{} is {:g}, expected >= 0", what, friction),
                    "taken as 0: it does not rub");
    return 0;
  }
  if (friction == 0 || velocity_count(type) == 1) return friction;
  dynamics.ignore("friction", "dry friction needs an axis: revolute, continuous or prismatic");
  return 0;
}

void read_dynamics(const Element& element, Joint& joint) {
  const auto dynamics = element.only("dynamics", "damping and friction of the joint");
  if (!dynamics) return;
  if (joint.type == JointType::fixed) return dynamics->ignore("a fixed joint does not move");
  joint.damping = read_damping(*dynamics, joint.type);
  joint.friction = read_friction(*dynamics, joint.type);
}

void read_axis(const Element& element, Joint& joint) {
  const auto axis = element.only("axis", "joint axis");
  if (!axis) return;
  if (joint.type == JointType::fixed || joint.type == JointType::ball || joint.type == JointType::floating)
    return axis->ignore(fmt::format("a {} joint has no axis", joint_type_name(joint.type)));
  if (!axis->has("xyz")) return axis->repair(axis->lacks("xyz"), "the axis is 1 0 0, as without <axis>");
  joint.axis = read_direction(*axis, "xyz", joint.type == JointType::planar ? "normal of the plane" : "joint axis")
                   .value_or(joint.axis);
}

void read_mimic(const Element& element, Joint& joint) {
  const auto mimic = element.only("mimic", "the joint that this one follows");
  if (!mimic) return;
  Mimic& to = joint.mimic.emplace();
  to.joint = mimic->required_text("joint", "joint name").value_or("");
  to.multiplier = mimic->number("multiplier", "rate by which it follows").value_or(1);
  to.offset = mimic->number("offset", "position where the other is at 0 [rad] or [m]").value_or(0);
  mimic->map(fmt::format("follows {}: position = {} * q + {}", to.joint, to.multiplier, to.offset));
}

}  // namespace

Joint read_joint(const Element& element) {
  Joint joint;
  joint.name = element.required_text("name", "joint name").value_or("");
  joint.type = read_joint_type(element);
  joint.X_PJ = read_origin(element);
  const Unlimited unlimited = read_joint_extension(element, joint);  // first: it may change the type
  read_axis(element, joint);
  read_limit(element, unlimited, joint);
  read_dynamics(element, joint);
  read_mimic(element, joint);
  for (const Element& other : element.all("safety_controller", "")) other.ignore("a setting of a robot's controller");
  for (const Element& other : element.all("calibration", "")) other.ignore("a setting of a robot's encoders");
  element.map(fmt::format("{} joint", joint_type_name(joint.type)));
  return joint;
}

// --- shapes --------------------------------------------------------------------------------------------------------

namespace {

std::string numbers_text(const std::vector<double>& numbers) { return fmt::format("{:.4g}", fmt::join(numbers, " ")); }

// Numbers in [0, 1]; others are made to, and nothing but what is seen depends on them.
std::optional<std::array<double, 4>> read_rgba(const Element& color) {
  const char* const expected = "expected four numbers in [0, 1]";
  if (!color.has("rgba")) {
    color.repair(color.lacks("rgba"), "shown in grey");
    return std::nullopt;
  }
  const std::optional<std::vector<double>> given = color.plain_numbers("rgba");
  if (!given || given->size() < 3) {
    color.repair("rgba", fmt::format("colour is no colour, {}", expected), "shown in grey");
    return std::nullopt;
  }
  color.map("rgba", "red, green, blue, opacity");
  std::vector<double> rgba = *given;
  rgba.resize(4, 1.0);
  if (given->size() != 4)
    color.repair("rgba", fmt::format("colour has {} numbers, {}", given->size(), expected),
                 given->size() == 3 ? "opaque" : "the first four count");
  if (given->size() == 4 && color.has_commas("rgba"))
    color.repair("rgba", fmt::format("colour has commas, {}", expected), "commas are taken as spaces");
  const double largest = std::max({rgba[0], rgba[1], rgba[2]});
  if (largest > 1 && largest <= 255 && largest == std::floor(largest))  // bytes
    for (size_t k = 0; k < 4; ++k) rgba[k] = k == 3 && rgba[3] <= 1 ? rgba[3] : rgba[k] / 255;
  for (double& c : rgba) c = std::clamp(c, 0.0, 1.0);
  if (!std::equal(rgba.begin(), rgba.begin() + 3, given->begin()) || (given->size() > 3 && rgba[3] != (*given)[3]))
    color.repair("rgba", fmt::format("colour is {}, {}", numbers_text(*given), expected),
                 "shown as " + numbers_text(rgba));
  return std::array{rgba[0], rgba[1], rgba[2], rgba[3]};
}

}  // namespace

Materials::Colour Materials::read_colour(const Element& material) const {
  Colour colour;
  if (const auto color = material.only("color", "colour"))
    if (const auto rgba = read_rgba(*color)) colour = {true, *rgba};
  if (const auto texture = material.only("texture", "")) texture->ignore("textures are not shown");
  return colour;
}

void Materials::define(const Element& material) {
  material.map("a named colour");
  const Colour colour = read_colour(material);
  if (!material.has("name")) return material.repair(material.lacks("name"), "nothing can refer to this colour");
  const auto name = material.text("name", "material name");
  if (name && !by_name_.emplace(*name, colour).second)
    material.repair("name", fmt::format("material {} is defined twice", in_quotes(*name)), "the first colour counts");
}

std::array<double, 4> Materials::colour_of(const Element& visual) {
  const Colour unset;
  const auto material = visual.only("material", "colour");
  if (!material) return unset.rgba;
  const std::string name = material->text("name", "material name").value_or("");
  const bool reference = material->all().empty();
  const Colour inline_colour = read_colour(*material);
  if (inline_colour.known) {
    if (!name.empty()) by_name_.emplace(name, inline_colour);
    return inline_colour.rgba;
  }
  const auto known = by_name_.find(name);
  if (known != by_name_.end() && known->second.known) return known->second.rgba;
  if (reference && !name.empty() && known == by_name_.end())
    material->repair("name", fmt::format("material {} is not defined before its use", in_quotes(name)),
                     "shown in grey");
  else
    material->ignore("it has no colour");
  return unset.rgba;
}

namespace {

const std::vector<std::string> kUrdfShapes = {"box", "sphere", "cylinder", "mesh"};
const std::vector<std::string> kScreeShapes = {"capsule", "plane"};
constexpr double kLeastLength = 1e-9;  // as ModelBuilder wants it

// Reads the geometry of one shape; what is to be told about it depends on its role.
class GeometryReader {
 public:
  GeometryReader(ShapeRole role, MeshSources& meshes, ShapeReading& reading)
      : role_(role), meshes_(meshes), reading_(reading) {}

  std::optional<Geometry> read(const Element& owner) {
    const auto geometry = owner.only("geometry", "shape");
    if (!geometry) return lose(owner, "has no <geometry>");
    const auto shape = find_shape(*geometry, kUrdfShapes);
    if (const auto scree = geometry->only("scree", "a shape URDF does not have")) {
      scree->allow_only({}, kScreeShapes);
      if (shape) shape->ignore("overridden by <scree>");
      if (const auto better = find_shape(*scree, kScreeShapes)) return read_one(*better);
      if (scree->all().empty()) scree->reject("has no shape, expected <capsule> or <plane>");
      return std::nullopt;
    }
    if (shape) return read_one(*shape);
    if (const auto capsule = geometry->only("capsule", "capsule")) {
      capsule->repair("URDF has no <capsule>, write <scree><capsule/></scree>", "read as that");
      return read_one(*capsule);
    }
    return lose(*geometry,
                "has no shape, expected <box>, <sphere>, <cylinder>, <mesh>, or <scree> with <capsule> or <plane>");
  }

 private:
  // There is no shape, and this is what that means.
  std::string_view consequence() const {
    return role_ == ShapeRole::view ? "nothing is shown, the motion is not affected"
                                    : "no shape, this part of the link cannot touch anything";
  }
  std::optional<Geometry> lose(const Element& element, std::string_view problem) {
    element.repair(problem, consequence());
    reading_.lost = true;
    return std::nullopt;
  }
  std::optional<Geometry> lose(const Element& element, const char* attribute, std::string_view problem) {
    element.repair(attribute, problem, consequence());
    reading_.lost = true;
    return std::nullopt;
  }

  // The one child among `tags`; further ones are left out.
  static std::optional<Element> find_shape(const Element& parent, const std::vector<std::string>& tags) {
    std::optional<Element> found;
    for (const Element& child : parent.all()) {
      if (std::ranges::find(tags, child.tag()) == tags.end()) continue;
      if (found) child.drop(fmt::format("another shape, expected one in <{}>", parent.tag()), "the first one counts");
      if (!found) found = child;
    }
    return found;
  }

  std::optional<Geometry> read_one(const Element& element) {
    const std::string tag = element.tag();
    element.map(tag);
    if (tag == "plane") return Plane{};
    if (tag == "mesh") return read_mesh(element);
    if (tag == "box") return read_box(element);
    const bool pointlike = tag == "capsule";  // its centre line may have no length
    const std::optional<double> radius = length(element, "radius", false);
    if (tag == "sphere") return radius ? std::optional<Geometry>(Sphere{*radius}) : std::nullopt;
    const std::optional<double> along = length(element, "length", pointlike);
    if (!radius || !along) return std::nullopt;
    if (tag == "cylinder") return Cylinder{*radius, *along};
    return Capsule{*radius, *along};
  }

  std::optional<double> length(const Element& element, const char* attribute, bool may_be_zero) {
    const std::string what = std::string(attribute) + " [m]";
    if (element.strict() && !may_be_zero) return element.required_number(attribute, what, Range::positive);
    const std::optional<double> value = element.required_number(attribute, what, Range::not_negative);
    if (!value || may_be_zero || *value >= kLeastLength) return value;
    lose(element, attribute, fmt::format("{} is {:g}, expected at least {:g}", what, *value, kLeastLength));
    return std::nullopt;
  }

  std::optional<Geometry> read_box(const Element& element) {
    const char* const what = "edge lengths [m]";
    if (!element.has("size")) return lose(element, element.lacks("size"));
    const std::optional<std::vector<double>> given = element.plain_numbers("size");
    if (given && given->size() < 3)
      return lose(element, "size",
                  fmt::format("{} has {} numbers, expected 3 finite numbers separated by spaces", what, given->size()));
    const Range range = element.strict() ? Range::positive : Range::not_negative;
    const std::optional<Vec3> size = element.vector("size", what, range);
    if (!size) return std::nullopt;
    if (!(size->minCoeff() >= kLeastLength))
      return lose(element, "size",
                  fmt::format("{} is {:g} {:g} {:g}, expected each at least {:g}", what, size->x(), size->y(),
                              size->z(), kLeastLength));
    return Box{*size};
  }

  std::optional<Vec3> read_scale(const Element& element) {
    if (!element.has("scale")) return Vec3(Vec3::Ones());
    const std::optional<std::vector<double>> given = element.plain_numbers("scale");
    if (given && given->size() == 1 && std::abs((*given)[0]) <= kLargestNumber) {
      element.repair("scale",
                     fmt::format("scale per axis is {:g}, expected 3 finite numbers separated by spaces", (*given)[0]),
                     "the same for each axis");
      return Vec3::Constant((*given)[0]);
    }
    return element.vector("scale", "scale per axis");
  }

  std::optional<Geometry> read_mesh(const Element& element) {
    const std::optional<Vec3> scale = read_scale(element);
    if (!element.has("filename")) return lose(element, element.lacks("filename"));
    const std::optional<std::string> uri = element.text("filename", "mesh");
    if (!scale || !uri) return std::nullopt;
    if ((scale->array() == 0).any()) return lose(element, "scale", "mesh scale has a 0, expected a factor per axis");
    Mesh mesh{*uri, *scale, nullptr};
    try {
      mesh.data = meshes_.get(*uri);
      std::string what = fmt::format("mesh of {} triangles", mesh.data->triangles.size());
      for (const std::string& note : meshes_.notes(*uri)) what += "; " + note;
      element.map("filename", what);
      return mesh;
    } catch (const InputError& error) {
      if (role_ == ShapeRole::collision) return lose(element, "filename", error.what());
      reading_.unread_mesh = element;
      reading_.problem = error.what();
      return Box{Vec3::Ones()};
    }
  }

  ShapeRole role_;
  MeshSources& meshes_;
  ShapeReading& reading_;
};

}  // namespace

ShapeReading read_shape(const Element& element, ShapeRole role, Materials& materials, MeshSources& meshes) {
  ShapeReading reading;
  Shape shape;
  shape.role = role;
  shape.name = element.text("name", "shape name").value_or("");
  shape.X_BS = read_origin(element);
  if (role == ShapeRole::view) shape.rgba = materials.colour_of(element);
  if (role == ShapeRole::collision)
    for (const Element& material : element.all("material", "")) material.ignore("collision shapes have no colour");
  const std::optional<Geometry> geometry = GeometryReader(role, meshes, reading).read(element);
  element.map(fmt::format("{} shape", role == ShapeRole::view ? "view" : "collision"));
  if (!geometry) return reading;
  shape.geometry = *geometry;
  reading.shape = std::move(shape);
  return reading;
}

}  // namespace scree
