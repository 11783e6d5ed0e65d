#include "formats/urdf_parts.h"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>

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
    pose.p = origin->vector("xyz", "position [m]").value_or(Vec3::Zero());
    pose.R = rotation_from_rpy(origin->vector("rpy", "roll, pitch, yaw [rad]").value_or(Vec3::Zero()));
    if (const auto scree = origin->only("scree", "the rotation to the last bit")) read_rotation(*scree, pose.R);
  }
  return pose;
}

std::optional<Vec3> read_direction(const Element& element, const char* attribute, std::string_view what) {
  const std::optional<Vec3> given = element.vector(attribute, what);
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

std::string principal_values(const Mat3& inertia) {
  const Vec3 e = Eigen::SelfAdjointEigenSolver<Mat3>(inertia, Eigen::EigenvaluesOnly).eigenvalues();
  return fmt::format("{:.6g}, {:.6g}, {:.6g}", e(0), e(1), e(2));
}

std::optional<Mat3> read_inertia_matrix(const Element& element) {
  Mat3 I = Mat3::Zero();
  bool complete = true;
  const auto entry = [&](const char* name, int i, int j) {
    const std::optional<double> value = element.required_number(name, "inertia [kg m^2]");
    I(i, j) = I(j, i) = value.value_or(0);
    complete = complete && value;
  };
  entry("ixx", 0, 0);
  entry("ixy", 0, 1);
  entry("ixz", 0, 2);
  entry("iyy", 1, 1);
  entry("iyz", 1, 2);
  entry("izz", 2, 2);
  return complete ? std::optional(I) : std::nullopt;
}

// Judged in the frame it is given in: principal values do not depend on axes.
Mat3 checked_inertia(const Element& element, const Mat3& given, bool repair) {
  const InertiaCheck check = check_inertia(given);
  if (check.valid) return given;
  if (!repair) {
    element.reject(check.problem);
    return given;
  }
  try {
    const Mat3 repaired = repair_inertia(given);
    element.map(fmt::format("inertia, repaired: principal values {} became {} kg m^2", principal_values(given),
                            principal_values(repaired)));
    return repaired;
  } catch (const InputError& error) {
    element.reject(error.what());
    return given;
  }
}

}  // namespace

void read_inertial(const Element& link, bool repair, Body& body) {
  const auto inertial = link.only("inertial", "mass, centre of mass, inertia");
  if (!inertial) return;
  const Pose X_BC = read_origin(*inertial);
  const auto mass = inertial->required("mass", "mass");
  const auto value = mass ? mass->required_number("value", "mass [kg]", Range::not_negative) : std::nullopt;
  const auto inertia = inertial->only("inertia", "inertia about the centre of mass");
  const auto given = inertia ? read_inertia_matrix(*inertia) : Mat3(Mat3::Zero());
  if (!value || !given) return;  // rejected
  body.mass = *value;
  if (body.mass == 0) {
    inertial->map("mass 0: a massless link");
    if (!given->isZero(0)) inertia->reject("inertia is not 0 but mass is 0, expected both or neither");
    return;
  }
  if (!inertia) return inertial->reject("has mass but no <inertia>");
  const Mat3 I = checked_inertia(*inertia, *given, repair);
  body.com = X_BC.p;
  // Into body axes; the lower triangle copies the upper one, so that rounding leaves it symmetric.
  const Mat3 turned = X_BC.R * I * X_BC.R.transpose();
  body.inertia = turned.selfadjointView<Eigen::Upper>();
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
  const bool ball = *given == "ball" || *given == "spherical";
  joint.reject("type", fmt::format("unknown joint type {}{}", in_quotes(*given),
                                   ball ? ", write type=\"floating\" with <scree type=\"ball\"/> inside"
                                        : suggestion(*given, names)));
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
    else if (joint.type != JointType::floating)
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
  const double bound = limit.number(attribute, what, Range::not_negative).value_or(0);
  if (bound > 0) return bound;
  limit.map(attribute, "0 is taken as unset: no bound");
  return std::numeric_limits<double>::infinity();
}

void read_limit(const Element& element, Unlimited unlimited, Joint& joint) {
  const std::string type = joint_type_name(joint.type);
  const bool bounded = has_position_limits(joint.type);
  const auto limit = element.only("limit", "soft stops and bounds");
  if (!limit) {
    if (bounded && !(unlimited.lower && unlimited.upper))
      element.reject(
          fmt::format("a {} joint needs <limit lower=\"\" upper=\"\"/> or <scree unlimited=\"both\"/>", type));
    return;
  }
  if (joint.type == JointType::fixed) return limit->ignore("a fixed joint does not move");
  const auto read_end = [&](const char* end, bool free, double& value) {
    if (!bounded) return limit->ignore(end, fmt::format("a {} joint has no lower and upper limit", type));
    if (free) return limit->ignore(end, "overridden by <scree unlimited>");
    value = limit->required_number(end, std::string(end) + " soft stop [rad] or [m]").value_or(value);
  };
  read_end("lower", unlimited.lower, joint.limits.lower);
  read_end("upper", unlimited.upper, joint.limits.upper);
  joint.effort = read_bound(*limit, "effort", "bound on the control force [N m] or [N]");
  joint.velocity_limit = read_bound(*limit, "velocity", "speed limit [rad/s] or [m/s], kept but not enforced");
}

void read_dynamics(const Element& element, Joint& joint) {
  const auto dynamics = element.only("dynamics", "joint damping");
  if (!dynamics) return;
  if (joint.type == JointType::fixed) return dynamics->ignore("a fixed joint does not move");
  joint.damping =
      dynamics->number("damping", "viscous damping [N m s/rad] or [N s/m]", Range::not_negative).value_or(0);
  if (dynamics->number("friction", "0: no dry friction", Range::not_negative).value_or(0) > 0)
    dynamics->ignore("friction", "scree models viscous joint damping only, not dry joint friction");
}

void read_axis(const Element& element, Joint& joint) {
  const auto axis = element.only("axis", "joint axis");
  if (!axis) return;
  if (joint.type == JointType::fixed || joint.type == JointType::ball || joint.type == JointType::floating)
    return axis->ignore(fmt::format("a {} joint has no axis", joint_type_name(joint.type)));
  if (!axis->has("xyz")) return axis->reject("has no attribute \"xyz\"");
  joint.axis = read_direction(*axis, "xyz", joint.type == JointType::planar ? "normal of the plane" : "joint axis")
                   .value_or(joint.axis);
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
  for (const Element& mimic : element.all("mimic", ""))
    mimic.reject("scree cannot couple joints: make this one fixed, or free with a controller that follows the other");
  for (const Element& other : element.all("safety_controller", "")) other.ignore("a setting of a robot's controller");
  for (const Element& other : element.all("calibration", "")) other.ignore("a setting of a robot's encoders");
  element.map(fmt::format("{} joint", joint_type_name(joint.type)));
  return joint;
}

// --- shapes --------------------------------------------------------------------------------------------------------

Materials::Colour Materials::read_colour(const Element& material) const {
  Colour colour;
  if (const auto color = material.only("color", "colour")) {
    if (!color->has("rgba")) color->reject("has no attribute \"rgba\"");
    if (const auto rgba = color->four("rgba", "red, green, blue, opacity")) {
      for (const double c : *rgba)
        if (!(c >= 0 && c <= 1))
          color->reject("rgba", fmt::format("colour has {}, expected four numbers in [0, 1]", c));
      colour = {true, *rgba};
    }
  }
  if (const auto texture = material.only("texture", "")) texture->ignore("textures are not shown");
  return colour;
}

void Materials::define(const Element& material) {
  material.map("a named colour");
  const auto name = material.required_text("name", "material name");
  const Colour colour = read_colour(material);
  if (name && !by_name_.emplace(*name, colour).second)
    material.reject("name", fmt::format("material {} is defined twice", in_quotes(*name)));
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
    material->reject("name", fmt::format("material {} is not defined before its use", in_quotes(name)));
  else
    material->ignore("it has no colour");
  return unset.rgba;
}

namespace {

const std::vector<std::string> kUrdfShapes = {"box", "sphere", "cylinder", "mesh"};
const std::vector<std::string> kScreeShapes = {"capsule", "plane"};

Mesh read_mesh(const Element& element, MeshSources& meshes) {
  Mesh mesh;
  mesh.scale = element.vector("scale", "scale per axis").value_or(Vec3::Ones());
  if ((mesh.scale.array() == 0).any()) element.reject("scale", "mesh scale has a 0, expected a factor per axis");
  mesh.uri = element.required_text("filename", "mesh").value_or("");
  if (mesh.uri.empty()) return mesh;
  try {
    mesh.data = meshes.get(mesh.uri);
    std::string what = fmt::format("mesh of {} triangles", mesh.data->triangles.size());
    for (const std::string& note : meshes.notes(mesh.uri)) what += "; " + note;
    element.map("filename", what);
  } catch (const InputError& error) {
    element.reject("filename", error.what());
  }
  return mesh;
}

Geometry read_one_shape(const Element& element, MeshSources& meshes) {
  const auto length = [&](const char* attribute, Range range = Range::positive) {
    return element.required_number(attribute, std::string(attribute) + " [m]", range).value_or(1);
  };
  const std::string tag = element.tag();
  element.map(tag);
  if (tag == "sphere") return Sphere{length("radius")};
  if (tag == "cylinder") return Cylinder{length("radius"), length("length")};
  if (tag == "capsule") return Capsule{length("radius"), length("length", Range::not_negative)};
  if (tag == "plane") return Plane{};
  if (tag == "mesh") return read_mesh(element, meshes);
  if (!element.has("size")) element.reject("has no attribute \"size\"");
  return Box{element.vector("size", "edge lengths [m]", Range::positive).value_or(Vec3::Ones())};
}

// The one child among `tags`; further ones are rejected.
std::optional<Element> find_shape(const Element& parent, const std::vector<std::string>& tags) {
  std::optional<Element> found;
  for (const Element& child : parent.all()) {
    if (std::ranges::find(tags, child.tag()) == tags.end()) continue;
    if (found) child.reject(fmt::format("another shape, expected one in <{}>", parent.tag()));
    if (!found) found = child;
  }
  return found;
}

std::optional<Geometry> read_geometry(const Element& owner, MeshSources& meshes) {
  const auto geometry = owner.required("geometry", "shape");
  if (!geometry) return std::nullopt;
  const auto shape = find_shape(*geometry, kUrdfShapes);
  if (const auto scree = geometry->only("scree", "a shape URDF does not have")) {
    scree->allow_only({}, kScreeShapes);
    if (shape) shape->ignore("overridden by <scree>");
    if (const auto better = find_shape(*scree, kScreeShapes)) return read_one_shape(*better, meshes);
    if (scree->all().empty()) scree->reject("has no shape, expected <capsule> or <plane>");
    return std::nullopt;
  }
  if (shape) return read_one_shape(*shape, meshes);
  geometry->reject("has no shape, expected <box>, <sphere>, <cylinder>, <mesh>, or <scree> with <capsule> or <plane>");
  return std::nullopt;
}

}  // namespace

std::optional<Shape> read_shape(const Element& element, ShapeRole role, Materials& materials, MeshSources& meshes) {
  Shape shape;
  shape.role = role;
  shape.name = element.text("name", "shape name").value_or("");
  shape.X_BS = read_origin(element);
  if (role == ShapeRole::view) shape.rgba = materials.colour_of(element);
  if (role == ShapeRole::collision)
    for (const Element& material : element.all("material", "")) material.ignore("collision shapes have no colour");
  const std::optional<Geometry> geometry = read_geometry(element, meshes);
  if (!geometry) return std::nullopt;
  shape.geometry = *geometry;
  element.map(fmt::format("{} shape", role == ShapeRole::view ? "view" : "collision"));
  return shape;
}

}  // namespace scree
