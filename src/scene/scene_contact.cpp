#include "scene/scene_contact.h"

#include <fmt/format.h>

#include <cmath>

#include "base/files.h"
#include "formats/rpy.h"
#include "scree/candidates.h"
#include "scree/height_field_file.h"

namespace scree {
namespace {

namespace fs = std::filesystem;

constexpr double kSteepest = 1.5;        // [rad] of a slope
constexpr double kStiffest = 1e30;       // [N/m^p], as CoulombOptions
constexpr double kUnitTolerance = 1e-6;  // of a quaternion's length

Vec3 vector_or(const TomlReader& table, const char* key, const Vec3& fallback) {
  const auto numbers = table.numbers(key, 3);
  return numbers ? Vec3(numbers->data()) : fallback;
}

double required_number(const TomlReader& table, const char* key) {
  table.require(key);
  return *table.number(key);
}

double positive(const TomlReader& table, const char* key, double value) {
  if (!(value >= 1e-6)) table.fail(key, fmt::format("{}, expected at least 1e-6 m", value));
  return value;
}
double positive(const TomlReader& table, const char* key) { return positive(table, key, required_number(table, key)); }

Mat3 read_rotation(const TomlReader& table) {
  const auto rpy = table.numbers("rpy", 3), quaternion = table.numbers("quaternion", 4);
  if (rpy && quaternion) table.fail("quaternion", "given together with rpy, expected one of them");
  if (rpy) return rotation_from_rpy(Vec3(rpy->data()));
  if (!quaternion) return Mat3::Identity();
  const Quat q((*quaternion)[0], (*quaternion)[1], (*quaternion)[2], (*quaternion)[3]);
  if (!(std::abs(q.norm() - 1) <= kUnitTolerance))
    table.fail("quaternion", fmt::format("has length {}, expected 1", q.norm()));
  return q.normalized().toRotationMatrix();
}

// +x turned by the heading about z.
Mat3 read_heading(const TomlReader& table) {
  return rotation_from_rpy(Vec3(0, 0, table.number("heading").value_or(0)));
}

void add_plane(const TomlReader& table, World& world, const std::string& name) {
  table.check_keys({"shape", "name", "point", "normal"});
  const Vec3 point = vector_or(table, "point", Vec3::Zero()), normal = vector_or(table, "normal", Vec3::UnitZ());
  table.blame("normal", [&] { world.add(plane_collider(point, normal, name)); });
}

void add_slope(const TomlReader& table, World& world, const std::string& name) {
  table.check_keys({"shape", "name", "point", "angle", "heading"});
  const double angle = required_number(table, "angle");
  if (!(std::abs(angle) <= kSteepest))
    table.fail("angle", fmt::format("{}, expected a number in [{}, {}] rad", angle, -kSteepest, kSteepest));
  const Vec3 normal = read_heading(table) * Vec3(-std::sin(angle), 0, std::cos(angle));
  world.add(plane_collider(vector_or(table, "point", Vec3::Zero()), normal, name));
}

void add_box(const TomlReader& table, World& world, const std::string& name) {
  table.check_keys({"shape", "name", "position", "rpy", "quaternion", "size"});
  table.require("size");
  const Vec3 size = vector_or(table, "size", Vec3::Zero());
  for (int k = 0; k < 3; ++k) positive(table, "size", size(k));
  world.add(box_collider({read_rotation(table), vector_or(table, "position", Vec3::Zero())}, size, name));
}

void add_stairs(const TomlReader& table, World& world, const std::string& name) {
  table.check_keys({"shape", "name", "position", "heading", "steps", "rise", "tread", "width", "landing"});
  table.require("steps");
  Stairs stairs;
  stairs.rise = positive(table, "rise");
  stairs.tread = positive(table, "tread");
  stairs.width = positive(table, "width");
  stairs.landing = positive(table, "landing", table.number("landing").value_or(stairs.landing));
  stairs.steps = *table.integer("steps");
  const Pose X_WS{read_heading(table), vector_or(table, "position", Vec3::Zero())};
  table.blame("steps", [&] { world.add(stairs_colliders(X_WS, stairs, name)); });
}

void add_height_field(const TomlReader& table, SceneFiles& files, World& world, const std::string& name) {
  table.check_keys({"shape", "name", "file", "origin", "spacing", "low", "high"});
  const fs::path file = files.find(table, "file");
  HeightFieldOptions options;
  if (const auto origin = table.numbers("origin", 2)) options.origin = Eigen::Vector2d(origin->data());
  options.spacing = positive(table, "spacing");
  if (lower_extension(file) == ".csv") {
    for (const char* key : {"low", "high"})
      if (table.number(key)) table.fail(key, "a .csv file has its heights in metres, expected no such key");
  } else {
    options.low = required_number(table, "low");
    options.high = required_number(table, "high");
    if (!(options.low < options.high))
      table.fail("high", fmt::format("{}, expected more than low, {}", options.high, options.low));
  }
  table.blame("file", [&] {
    world.add(height_field_collider(std::make_shared<const HeightField>(load_height_field(file, options)), name));
  });
}

// Reads a key into a field of `options`. Everything not yet read is at its valid default, so a failing check blames the
// key just read.
template <class Options> struct OptionReader {
  const TomlReader& table;
  Options& options;
  template <class Field, class Value> void set(const char* key, Field& field, const std::optional<Value>& value) const {
    if (!value) return;
    field = *value;
    table.blame(key, [&] { options.validate(); });
  }
  void set_number(const char* key, auto& field) const { set(key, field, table.number(key)); }
  void set_integer(const char* key, int& field) const { set(key, field, table.integer(key)); }
  // What all laws with a depth share.
  void read_capacity() const {
    set_integer("directions", options.directions);
    set_integer("exponent", options.exponent);
    set_number("depth", options.depth);
    set("stiffness", options.stiffness, table.number("stiffness", kStiffest));
    if (options.stiffness && table.number("depth"))
      table.fail("stiffness", "given together with depth, expected one of them");
  }
};

std::shared_ptr<const ContactLaw> read_coulomb(const TomlReader& table) {
  table.check_keys({"law", "points", "hull_accuracy", "smooth", "impact", "friction", "restitution", "directions",
                    "exponent", "depth", "stiffness", "air_force"});
  CoulombOptions options;
  const OptionReader<CoulombOptions> reader{table, options};
  reader.read_capacity();
  reader.set_number("air_force", options.air_force);
  return make_coulomb(options);
}

std::shared_ptr<const ContactLaw> read_patch(const TomlReader& table) {
  table.check_keys({"law", "points", "hull_accuracy", "smooth", "impact", "friction", "restitution", "directions",
                    "exponent", "depth", "stiffness", "radius", "corners", "size", "axis", "torsion_radius", "rings"});
  const auto size = table.numbers("size", 2), axis = table.numbers("axis", 3);
  const auto radius = table.number("radius");
  if (!radius && !size && !table.number("torsion_radius"))
    table.fail("law", "a patch without radius, size and torsion_radius, expected one of them");
  if (radius && size) table.fail("size", "given together with radius, expected one of them");
  if (table.integer("corners") && !radius)
    table.fail("corners", "given without radius, expected none: only a disc has them");
  PatchOptions options;
  const OptionReader<PatchOptions> reader{table, options};
  reader.read_capacity();
  reader.set_integer("rings", options.rings);
  reader.set_number("torsion_radius", options.torsion_radius);
  reader.set_number("radius", options.radius);
  reader.set_integer("corners", options.corners);
  if (size) reader.set("size", options.size, std::optional(std::array{(*size)[0], (*size)[1]}));
  if (axis) reader.set("axis", options.axis, std::optional(Vec3(axis->data())));
  return make_patch(options);
}

std::shared_ptr<const ContactLaw> read_granular(const TomlReader& table, SceneFiles& files) {
  table.check_keys({"law", "points", "hull_accuracy", "smooth", "impact", "restitution", "table"});
  const fs::path file = files.find(table, "table");
  std::shared_ptr<const ContactLaw> law;
  table.blame("table", [&] { law = load_granular(file); });
  return law;
}

std::shared_ptr<const ContactLaw> read_law(const TomlReader& table, SceneFiles& files) {
  const std::string law = table.string("law").value_or("coulomb");
  if (law == "coulomb") return read_coulomb(table);
  if (law == "granular") return read_granular(table, files);
  if (law == "patch") return read_patch(table);
  table.fail("law", fmt::format("\"{}\", expected coulomb, granular or patch", law));
}

// What all integrators take from the surface. The table of a granular law has friction of its own.
Surface read_surface(const TomlReader& contact) {
  Surface surface;
  const OptionReader<Surface> reader{contact, surface};
  reader.set_number("friction", surface.friction);
  reader.set_number("restitution", surface.restitution);
  return surface;
}

// A key of another table.
void refuse_moved(const TomlReader& table, const char* key, const char* place) {
  if (table.has(key)) table.fail(key, fmt::format("does not belong here, expected it in {}", place));
}

// What the integrators with smooth contact take in place of the law.
SmoothContactOptions read_smooth(const TomlReader& contact) {
  SmoothContactOptions options;
  const auto table = contact.table("smooth");
  if (!table) return options;
  refuse_moved(*table, "friction", "[contact]");
  refuse_moved(*table, "dissipation", "[contact.smooth] as damping");
  table->check_keys({"normal_exponent", "slip_exponent", "depth_exponent", "depth", "stiffness", "speed", "drag",
                     "form", "creep", "damping"});
  const OptionReader<SmoothContactOptions> reader{*table, options};
  if (const auto form = table->string("form")) {
    if (*form != "velocity" && *form != "printed")
      table->fail("form", fmt::format("\"{}\", expected velocity or printed", *form));
    if (*form == "printed") options.form = SmoothContactOptions::Form::printed;
  }
  reader.set_number("normal_exponent", options.normal_exponent);
  reader.set_number("slip_exponent", options.slip_exponent);
  reader.set_number("depth_exponent", options.depth_exponent);
  reader.set_number("depth", options.depth);
  reader.set("stiffness", options.stiffness, table->number("stiffness", kStiffest));
  if (options.stiffness && table->number("depth"))
    table->fail("stiffness", "given together with depth, expected one of them");
  reader.set_number("speed", options.speed);
  reader.set("drag", options.drag, table->number("drag", kStiffest));
  if (options.drag && table->number("speed")) table->fail("drag", "given together with speed, expected one of them");
  reader.set_number("creep", options.creep);
  reader.set_number("damping", options.damping);
  return options;
}

// The law of impacts of the integrator `event`.
void read_impact(const TomlReader& contact, World& world) {
  const auto table = contact.table("impact");
  if (!table) return;
  refuse_moved(*table, "restitution", "[contact]");
  refuse_moved(*table, "accuracy", "[step.event] as flight_accuracy");
  for (const char* key : {"touch", "rest_speed", "simultaneous", "energy_accuracy", "max_events", "max_tries"})
    refuse_moved(*table, key, "[step.event]");
  table->check_keys({"law", "tolerance", "max_steps", "directions"});
  ImpactOptions& options = world.impact;
  if (const auto law = table->string("law")) table->blame("law", [&] { options.law = impact_law_from_name(*law); });
  if (options.law == ImpactLaw::reflections) {  // knows no other restitution
    if (contact.number("restitution").value_or(1) != 1)
      contact.fail("restitution", fmt::format("{}, expected 1 with the law of impacts reflections, which knows no "
                                              "other; restitution-blend does",
                                              world.surface.restitution));
    world.surface.restitution = 1;
  }
  const auto set = [&](const char* key, auto& field, const auto& value) {
    if (!value) return;
    field = *value;
    table->blame(key, [&] { options.validate({}); });
  };
  set("tolerance", options.tolerance, table->number("tolerance"));
  set("max_steps", options.max_steps, table->integer("max_steps"));
  set("directions", options.friction_directions, table->integer("directions"));
}

ContactCandidates read_points(const TomlReader& table) {
  const std::string name = table.string("points").value_or("automatic");
  if (name == "automatic") return ContactCandidates::automatic;
  if (name == "named") return ContactCandidates::named;
  if (name == "shapes") return ContactCandidates::shapes;
  if (name == "all") return ContactCandidates::all;
  table.fail("points", fmt::format("\"{}\", expected automatic, named, shapes or all", name));
}

CandidateOptions read_candidates(const TomlReader& table) {
  CandidateOptions options;
  options.which = read_points(table);
  const OptionReader<CandidateOptions> reader{table, options};
  reader.set_number("hull_accuracy", options.hull_accuracy);
  return options;
}

}  // namespace

void read_environment(const TomlReader& scene, SceneFiles& files, World& world) {
  for (const TomlReader& table : scene.tables("environment")) {
    table.require("shape");
    const std::string shape = *table.string("shape");
    const std::string name = table.string("name").value_or(shape);
    if (shape == "plane") {
      add_plane(table, world, name);
    } else if (shape == "slope") {
      add_slope(table, world, name);
    } else if (shape == "box") {
      add_box(table, world, name);
    } else if (shape == "stairs") {
      add_stairs(table, world, name);
    } else if (shape == "height-field") {
      add_height_field(table, files, world, name);
    } else {
      table.fail("shape", fmt::format("\"{}\", expected plane, slope, box, stairs or height-field", shape));
    }
  }
}

void read_contact(const TomlReader& scene, SceneFiles& files, const Model& model, World& world) {
  CandidateOptions candidates;
  const auto table = scene.table("contact");
  if (table) {
    world.law = read_law(*table, files);
    world.surface = read_surface(*table);
    world.smooth = read_smooth(*table);
    read_impact(*table, world);
    candidates = read_candidates(*table);
  }
  if (world.colliders.empty()) return;
  scene.blame("environment", [&] { world.add(contact_candidates(model, candidates)); });
  if (!world.has_contact())
    scene.fail("environment",
               fmt::format("model {} has no point to touch it with, expected contact points or collision "
                           "shapes (contact.points)",
                           model.name()));
}

}  // namespace scree
