#include "scree/impact_scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/names.h"
#include "formats/rpy.h"
#include "scene/impact_contacts.h"
#include "scene/toml_reader.h"

namespace scree {
namespace {

namespace fs = std::filesystem;

constexpr double kMostFriction = 1e12;
constexpr int kMostSamples = 1 << 26, kMostSteps = 1'000'000;

Mat3 turn(double angle) { return Eigen::AngleAxisd(angle, Vec3::UnitZ()).toRotationMatrix(); }
Vec3 in_space(const Eigen::Vector2d& p) { return {p.x(), p.y(), 0}; }

// What the bodies of a scene have in common.
struct Setting {
  int dimension = 2;
  bool rotation = true;
  std::optional<Vec3> along;
};

Vec3 vector_or(const TomlReader& table, const char* key, int dimension, const Vec3& fallback) {
  const auto numbers = table.numbers(key, dimension);
  if (!numbers) return fallback;
  return {(*numbers)[0], (*numbers)[1], dimension == 3 ? (*numbers)[2] : 0};
}
Vec3 required_vector(const TomlReader& table, const char* key, int dimension) {
  table.require(key);
  return vector_or(table, key, dimension, Vec3::Zero());
}
Vec3 unit_vector(const TomlReader& table, const char* key, const Vec3& value) {
  if (!(value.norm() > 1e-12)) table.fail(key, "a vector of length 0, expected a direction");
  return value.normalized();
}
double positive(const TomlReader& table, const char* key, const char* unit) {
  table.require(key);
  const double value = *table.number(key);
  if (!(value > 0)) table.fail(key, fmt::format("{}, expected > 0 {}", value, unit));
  return value;
}

void read_wall(const TomlReader& table, const Setting& setting, ImpactBody& body) {
  table.check_keys({"shape", "name", "point", "normal", "tangent"});
  body.fixed = true;
  body.X_WB.p = vector_or(table, "point", setting.dimension, Vec3::Zero());
  body.normal = unit_vector(table, "normal", required_vector(table, "normal", setting.dimension));
  if (!table.has("tangent")) return;
  body.tangent = unit_vector(table, "tangent", required_vector(table, "tangent", setting.dimension));
  if (!(std::abs(body.tangent.dot(body.normal)) <= 1e-9))
    table.fail("tangent",
               fmt::format("has a part {:.3g} along the normal, expected none", body.tangent.dot(body.normal)));
}

// Mass, velocity and rotation of what moves. Returns false if it is fixed.
bool read_motion(const TomlReader& table, const Setting& setting, ImpactBody& body, std::vector<double>& v) {
  body.fixed = table.boolean("fixed").value_or(false);
  body.rotates = !setting.along && table.boolean("rotation").value_or(setting.rotation);
  if (body.fixed) {
    for (const char* key : {"mass", "inertia", "velocity", "spin", "rotation"})
      if (table.has(key)) table.fail(key, "given to a fixed body, expected none");
    return false;
  }
  body.mass = positive(table, "mass", "kg");
  const Vec3 velocity = vector_or(table, "velocity", setting.dimension, Vec3::Zero());
  if (setting.along) {
    const double speed = velocity.dot(*setting.along);
    if (!((velocity - speed * *setting.along).norm() <= 1e-9 * (1 + velocity.norm())))
      table.fail("velocity", "has a part across \"along\", expected none");
    v.push_back(speed);
  } else {
    for (int k = 0; k < setting.dimension; ++k) v.push_back(velocity(k));
  }
  if (!body.rotates) {
    for (const char* key : {"spin", "inertia"})
      if (table.has(key)) table.fail(key, "given to a body that does not turn, expected none");
    return true;
  }
  if (setting.dimension == 2) {
    v.push_back(table.number("spin").value_or(0));
  } else {
    const Vec3 spin = vector_or(table, "spin", 3, Vec3::Zero());
    v.insert(v.end(), spin.data(), spin.data() + 3);
  }
  return true;
}

// Uniform bodies, unless a planar or round one names its own moment.
void set_inertia(const TomlReader& table, ImpactBody& body, const Vec3& uniform) {
  if (!body.rotates || body.fixed) return;
  const Vec3 moments = table.has("inertia") ? Vec3::Constant(positive(table, "inertia", "kg m^2")) : uniform;
  body.inertia = body.X_WB.R * moments.asDiagonal() * body.X_WB.R.transpose();
}

void read_round(const TomlReader& table, const Setting& setting, ImpactBody& body, std::vector<double>& v) {
  table.check_keys({"shape", "name", "radius", "mass", "inertia", "position", "velocity", "spin", "fixed", "rotation"});
  body.radius = positive(table, "radius", "m");
  body.X_WB.p = required_vector(table, "position", setting.dimension);
  read_motion(table, setting, body, v);
  const double share = body.shape == ImpactShape::disk ? 0.5 : 0.4;
  set_inertia(table, body, Vec3::Constant(share * body.mass * body.radius * body.radius));
}

void read_box(const TomlReader& table, const Setting& setting, ImpactBody& body, std::vector<double>& v) {
  std::vector<std::string> keys = {"shape",    "name", "size",  "mass",    "position",
                                   "velocity", "spin", "fixed", "rotation"};
  if (setting.dimension == 2) keys.insert(keys.end(), {"angle", "inertia"});
  if (setting.dimension == 3) keys.push_back("rpy");
  table.check_keys(keys);
  body.size = required_vector(table, "size", setting.dimension);
  for (int k = 0; k < setting.dimension; ++k)
    if (!(body.size(k) > 0)) table.fail("size", fmt::format("{}, expected > 0 m", body.size(k)));
  body.X_WB.p = required_vector(table, "position", setting.dimension);
  if (setting.dimension == 2) body.X_WB.R = turn(table.number("angle").value_or(0));
  if (const auto rpy = table.numbers("rpy", 3)) body.X_WB.R = rotation_from_rpy(Vec3(rpy->data()));
  read_motion(table, setting, body, v);
  const Vec3 s2 = body.size.cwiseAbs2();
  set_inertia(table, body, body.mass / 12 * Vec3(s2.y() + s2.z(), s2.x() + s2.z(), s2.x() + s2.y()));
}

ImpactLink read_link(const TomlReader& table, const std::vector<ImpactLink>& before) {
  table.check_keys({"name", "parent", "joint", "com", "mass", "inertia", "angle", "rate", "foot", "foot_radius"});
  const auto point = [&](const char* key) {
    const auto numbers = table.numbers(key, 2);
    return numbers ? Eigen::Vector2d(numbers->data()) : Eigen::Vector2d(0, 0);
  };
  ImpactLink link;
  table.require("name");
  link.name = *table.string("name");
  std::vector<std::string> names;
  for (const ImpactLink& other : before) names.push_back(other.name);
  const auto find = [&](const std::string& name) {
    return static_cast<int>(std::find(names.begin(), names.end(), name) - names.begin());
  };
  if (link.name.empty()) table.fail("name", "\"\", expected a name");
  if (find(link.name) < std::ssize(names))
    table.fail("name", fmt::format("\"{}\" is taken, expected another", link.name));
  if (const auto parent = table.string("parent")) {
    link.parent = find(*parent);
    if (link.parent == std::ssize(names))
      table.fail("parent", fmt::format("no link \"{}\" before this one{}", *parent, suggestion(*parent, names)));
  }
  link.joint = point("joint");
  link.com = point("com");
  link.mass = positive(table, "mass", "kg");
  link.inertia = table.number("inertia").value_or(0);
  if (!(link.inertia >= 0)) table.fail("inertia", fmt::format("{}, expected >= 0 kg m^2", link.inertia));
  link.angle = table.number("angle").value_or(0);
  link.rate = table.number("rate").value_or(0);
  if (table.has("foot")) link.foot = point("foot");
  link.foot_radius = table.number("foot_radius").value_or(0);
  if (!(link.foot_radius >= 0)) table.fail("foot_radius", fmt::format("{}, expected >= 0 m", link.foot_radius));
  if (table.has("foot_radius") && !link.foot) table.fail("foot_radius", "given without foot, expected both");
  return link;
}

void read_links(const TomlReader& table, const Setting& setting, ImpactBody& body, std::vector<double>& v) {
  table.check_keys({"shape", "name", "position", "velocity", "link"});
  if (setting.dimension != 2) table.fail("shape", "\"links\" in space, expected them in the plane");
  if (setting.along) table.fail("shape", "\"links\" beside \"along\", expected disks, balls, boxes");
  body.X_WB.p = required_vector(table, "position", 2);
  const Vec3 velocity = vector_or(table, "velocity", 2, Vec3::Zero());
  v.insert(v.end(), {velocity.x(), velocity.y()});
  for (const TomlReader& item : table.tables("link")) {
    body.links.push_back(read_link(item, body.links));
    v.push_back(body.links.back().rate);
    body.mass += body.links.back().mass;
  }
  if (body.links.empty()) table.fail("link", "no links, expected at least one [[body.link]]");
}

void add_dofs(const Setting& setting, const std::string& name, const ImpactBody& body, std::vector<ImpactDof>& dofs) {
  if (body.fixed) return;
  const auto add = [&](const char* what, const char* unit) { dofs.push_back({name + "." + what, unit}); };
  constexpr const char *kAxes[] = {"x", "y", "z"}, *kTurns[] = {"wx", "wy", "wz"};
  if (setting.along) {
    const Vec3& u = *setting.along;
    add(u == Vec3::UnitX() ? "x" : u == Vec3::UnitY() ? "y" : u == Vec3::UnitZ() ? "z" : "s", "m/s");
    return;
  }
  for (int k = 0; k < setting.dimension; ++k) add(kAxes[k], "m/s");
  if (body.shape == ImpactShape::links)
    for (const ImpactLink& link : body.links) add(link.name.c_str(), "rad/s");
  else if (body.rotates && setting.dimension == 2)
    add("spin", "rad/s");
  else if (body.rotates)
    for (const char* turn_name : kTurns) add(turn_name, "rad/s");
}

void check_name(const TomlReader& table, const std::string& name, const std::vector<ImpactBody>& bodies) {
  if (name.empty()) table.fail("name", "\"\", expected a name");
  for (const ImpactBody& other : bodies)
    if (other.name == name) table.fail("name", fmt::format("\"{}\" is taken, expected another", name));
}

// Walls on one plane would make every contact twice.
void check_wall(const TomlReader& table, const ImpactBody& wall, const std::vector<ImpactBody>& bodies, double touch) {
  for (const ImpactBody& other : bodies)
    if (other.shape == ImpactShape::wall && (other.normal - wall.normal).norm() <= 1e-9 &&
        std::abs(wall.normal.dot(wall.X_WB.p - other.X_WB.p)) <= touch)
      table.fail("point", fmt::format("the plane of wall {}, expected another plane", other.name));
}

void read_bodies(const TomlReader& file, const Setting& setting, ImpactScene& scene) {
  std::vector<double> v;
  for (const TomlReader& table : file.tables("body")) {
    table.require("shape");
    const std::string shape = *table.string("shape");
    ImpactBody body;
    body.name = table.string("name").value_or(fmt::format("{}{}", shape, scene.bodies.size()));
    check_name(table, body.name, scene.bodies);
    body.first_dof = static_cast<int>(v.size());
    if (shape == "wall") {
      body.shape = ImpactShape::wall;
      read_wall(table, setting, body);
      check_wall(table, body, scene.bodies, scene.touch);
    } else if (shape == "box") {
      body.shape = ImpactShape::box;
      read_box(table, setting, body, v);
    } else if (shape == (setting.dimension == 2 ? "disk" : "ball")) {
      body.shape = setting.dimension == 2 ? ImpactShape::disk : ImpactShape::ball;
      read_round(table, setting, body, v);
    } else if (shape == "links") {
      body.shape = ImpactShape::links;
      read_links(table, setting, body, v);
    } else {
      table.fail("shape", fmt::format("\"{}\", expected {}", shape,
                                      setting.dimension == 2 ? "disk, box, wall or links (dimension = 2)"
                                                             : "ball, box or wall (dimension = 3)"));
    }
    body.dofs = static_cast<int>(v.size()) - body.first_dof;
    if (v.size() > ImpactProblem::kMaxDofs)
      table.fail("shape",
                 fmt::format("more than {} degrees of freedom, expected at most so many", ImpactProblem::kMaxDofs));
    add_dofs(setting, body.name, body, scene.dofs);
    scene.bodies.push_back(std::move(body));
  }
  if (scene.bodies.empty())
    throw InputError(fmt::format("{}: body: none, expected [[body]] tables or [matrices]", scene.file.string()));
  if (v.empty()) file.fail("body", "nothing can move, expected a body that is not fixed");
  scene.problem.v = Eigen::VectorXd::Map(v.data(), std::ssize(v));
}

// Blocks of free bodies; of links sum_l m_l Jc_l^T Jc_l + I_l w_l^T w_l, Jc of the centres of mass and w of the angles.
void fill_mass(ImpactScene& scene) {
  const Eigen::Index d = scene.problem.v.size();
  Eigen::MatrixXd& M = scene.problem.M;
  M = Eigen::MatrixXd::Zero(d, d);
  for (int i = 0; i < std::ssize(scene.bodies); ++i) {
    const ImpactBody& body = scene.bodies[static_cast<size_t>(i)];
    if (body.dofs == 0) continue;
    if (body.shape != ImpactShape::links) {
      const int translations = scene.along ? 1 : scene.dimension;
      for (int k = 0; k < translations; ++k) M(body.first_dof + k, body.first_dof + k) = body.mass;
      const int r = body.first_dof + translations;
      if (body.rotates && scene.dimension == 2) M(r, r) = body.inertia(2, 2);
      if (body.rotates && scene.dimension == 3) M.block<3, 3>(r, r) = 0.5 * (body.inertia + body.inertia.transpose());
      continue;
    }
    for (int l = 0; l < std::ssize(body.links); ++l) {
      const ImpactLink& link = body.links[static_cast<size_t>(l)];
      const Eigen::Matrix3Xd J = impact_point_jacobian(scene, i, l, impact_link_point(body, l, link.com))
                                     .middleCols(body.first_dof, body.dofs);
      Eigen::RowVectorXd w = Eigen::RowVectorXd::Zero(body.dofs);
      for (int k = l; k >= 0; k = body.links[static_cast<size_t>(k)].parent) w(2 + k) = 1;
      M.block(body.first_dof, body.first_dof, body.dofs, body.dofs) +=
          link.mass * J.transpose() * J + link.inertia * w.transpose() * w;
    }
  }
}

void fill_jacobians(ImpactScene& scene, bool friction) {
  ImpactProblem& p = scene.problem;
  const Eigen::Index m = std::ssize(scene.contacts), d = p.v.size();
  const int t = friction && !scene.along ? scene.dimension - 1 : 0;
  p.Jn.resize(m, d);
  p.Jt.resize(t * m, d);
  for (Eigen::Index i = 0; i < m; ++i) {
    const ImpactContact& c = scene.contacts[static_cast<size_t>(i)];
    const Eigen::Matrix3Xd J =
        impact_point_jacobian(scene, c.b, c.link_b, c.point_b) - impact_point_jacobian(scene, c.a, c.link_a, c.point_a);
    p.Jn.row(i) = c.normal.transpose() * J;
    for (const int k : {c.a, c.b}) {  // the normal goes through the centre of what is round: no rounding there
      const ImpactBody& body = scene.bodies[static_cast<size_t>(k)];
      if (body.dofs > scene.dimension && (body.shape == ImpactShape::disk || body.shape == ImpactShape::ball))
        p.Jn.row(i).segment(body.first_dof + scene.dimension, body.dofs - scene.dimension).setZero();
    }
    for (int k = 0; k < t; ++k) p.Jt.row(t * i + k) = c.tangents[static_cast<size_t>(k)].transpose() * J;
  }
}

double friction_value(const TomlReader& table) {
  const double value = *table.number("friction");
  if (!(value >= 0 && value <= kMostFriction)) table.fail("friction", fmt::format("{}, expected >= 0", value));
  return value;
}
double restitution_value(const TomlReader& table) {
  const double value = *table.number("restitution");
  if (!(value >= 0 && value <= 1)) table.fail("restitution", fmt::format("{}, expected a number in [0, 1]", value));
  return value;
}

// Friction and restitution: of the scene, then of [[pair]] tables.
void read_surfaces(const TomlReader& file, ImpactScene& scene) {
  const Eigen::Index m = std::ssize(scene.contacts);
  ImpactProblem& p = scene.problem;
  const std::vector<TomlReader> pairs = file.tables("pair");
  bool friction = file.has("friction"), restitution = file.has("restitution");
  for (const TomlReader& pair : pairs) {
    pair.check_keys({"bodies", "friction", "restitution"});
    friction = friction || pair.has("friction");
    restitution = restitution || pair.has("restitution");
  }
  if (friction && scene.along) file.fail("friction", "given beside \"along\", expected none: nothing moves across");
  for (const TomlReader& pair : pairs)
    if (restitution && !file.has("restitution"))
      pair.fail("restitution", "of a pair without one of the scene, expected restitution also at the top");
  if (friction) p.mu = Eigen::VectorXd::Constant(m, file.has("friction") ? friction_value(file) : 0);
  if (restitution) p.restitution = Eigen::VectorXd::Constant(m, restitution_value(file));
  std::vector<std::string> names;
  for (const ImpactBody& body : scene.bodies) names.push_back(body.name);
  for (const TomlReader& pair : pairs) {
    pair.require("bodies");
    const std::vector<std::string> two = *pair.strings("bodies");
    if (two.size() != 2) pair.fail("bodies", fmt::format("{} names, expected 2", two.size()));
    for (const std::string& name : two)
      if (std::find(names.begin(), names.end(), name) == names.end())
        pair.fail("bodies", fmt::format("no body \"{}\"{}", name, suggestion(name, names)));
    bool any = false;
    for (Eigen::Index i = 0; i < m; ++i) {
      const ImpactContact& c = scene.contacts[static_cast<size_t>(i)];
      const std::string &a = names[static_cast<size_t>(c.a)], &b = names[static_cast<size_t>(c.b)];
      if (!((a == two[0] && b == two[1]) || (a == two[1] && b == two[0]))) continue;
      any = true;
      if (pair.has("friction")) p.mu(i) = friction_value(pair);
      if (pair.has("restitution")) p.restitution(i) = restitution_value(pair);
    }
    if (!any) pair.fail("bodies", fmt::format("{} and {} do not touch, expected a pair in contact", two[0], two[1]));
  }
  fill_jacobians(scene, friction);
}

void read_body_scene(const TomlReader& file, ImpactScene& scene) {
  file.check_keys({"title", "dimension", "law", "friction", "restitution", "rotation", "along", "touch", "sampling",
                   "body", "pair"});
  Setting setting;
  setting.dimension = file.integer("dimension").value_or(2);
  if (setting.dimension != 2 && setting.dimension != 3)
    file.fail("dimension", fmt::format("{}, expected 2 or 3", setting.dimension));
  setting.rotation = file.boolean("rotation").value_or(true);
  if (file.has("along"))
    setting.along = unit_vector(file, "along", vector_or(file, "along", setting.dimension, Vec3::Zero()));
  scene.dimension = setting.dimension;
  scene.along = setting.along;
  scene.touch = file.number("touch").value_or(scene.touch);
  if (!(scene.touch >= 1e-12 && scene.touch <= 0.1))
    file.fail("touch", fmt::format("{}, expected 1e-12 to 0.1 m", scene.touch));
  read_bodies(file, setting, scene);
  file.blame("body", [&] { scene.contacts = find_impact_contacts(scene); });
  // Along a line some contacts cannot open or close.
  if (scene.along)
    std::erase_if(scene.contacts, [&](const ImpactContact& c) { return std::abs(c.normal.dot(*scene.along)) <= 1e-9; });
  for (size_t k = 0; k < scene.contacts.size(); ++k)
    scene.contacts[k].label = impact_contact_label(static_cast<int>(k));
  if (scene.contacts.empty()) file.fail("body", "no contacts, expected at least one");
  fill_mass(scene);
  read_surfaces(file, scene);
  file.blame("body", [&] { scene.problem.validate(); });
}

Eigen::MatrixXd matrix_of(const TomlReader& table, const char* key) {
  const auto rows = *table.rows(key);
  Eigen::MatrixXd out(std::ssize(rows), rows.empty() ? 0 : std::ssize(rows[0]));
  for (Eigen::Index i = 0; i < out.rows(); ++i)
    for (Eigen::Index j = 0; j < out.cols(); ++j) out(i, j) = rows[static_cast<size_t>(i)][static_cast<size_t>(j)];
  return out;
}

// One number for all contacts or one each.
Eigen::VectorXd per_contact(const TomlReader& table, const char* key, Eigen::Index contacts) {
  if (!table.has(key)) return {};
  if (!table.is_array(key)) return Eigen::VectorXd::Constant(contacts, *table.number(key));
  const auto values = *table.list(key);
  return Eigen::VectorXd::Map(values.data(), std::ssize(values));
}

std::vector<std::string> names_of(const TomlReader& table, const char* key, Eigen::Index count) {
  const auto names = *table.strings(key);
  if (std::ssize(names) != count) table.fail(key, fmt::format("{} names, expected {}", names.size(), count));
  if (std::set<std::string>(names.begin(), names.end()).size() != names.size())
    table.fail(key, "a name occurs twice, expected different ones");
  return names;
}

void read_matrix_scene(const TomlReader& file, ImpactScene& scene) {
  for (const auto& [key, instead] : {std::pair{"friction", "mu"}, {"restitution", "restitution"}})
    if (file.has(key))
      file.fail(key, fmt::format("a key of scenes of bodies, expected matrices.{} with one value a contact", instead));
  file.check_keys({"title", "law", "sampling", "matrices"});
  const TomlReader table = *file.table("matrices");
  table.check_keys({"M", "Jn", "Jt", "v", "mu", "restitution", "dofs", "units", "contacts"});
  ImpactProblem& p = scene.problem;
  for (const char* key : {"M", "Jn", "v"}) table.require(key);
  p.M = matrix_of(table, "M");
  p.Jn = matrix_of(table, "Jn");
  if (table.has("Jt")) p.Jt = matrix_of(table, "Jt");
  const auto v = *table.list("v");
  p.v = Eigen::VectorXd::Map(v.data(), std::ssize(v));
  const Eigen::Index m = p.Jn.rows(), d = p.M.rows();
  if (m > ImpactProblem::kMaxContacts)
    table.fail("Jn", fmt::format("{} contacts, expected at most {}", m, ImpactProblem::kMaxContacts));
  p.mu = per_contact(table, "mu", m);
  p.restitution = per_contact(table, "restitution", m);
  try {
    p.validate();
  } catch (const InputError& error) {  // begins with the member: the key
    const std::string what = error.what();
    const std::string key = what.substr(0, what.find_first_of("[: "));
    table.fail(table.has(key) ? key : "M", what);
  }
  std::vector<std::string> names, units(static_cast<size_t>(d));
  if (table.has("dofs")) names = names_of(table, "dofs", d);
  if (table.has("units")) {
    units = *table.strings("units");
    if (std::ssize(units) != d) table.fail("units", fmt::format("{} names, expected {}", units.size(), d));
  }
  for (size_t k = 0; k < static_cast<size_t>(d); ++k)
    scene.dofs.push_back({names.empty() ? fmt::format("v{}", k) : names[k], units[k]});
  scene.contacts.resize(static_cast<size_t>(m));
  std::vector<std::string> labels;
  if (table.has("contacts")) labels = names_of(table, "contacts", m);
  for (size_t k = 0; k < scene.contacts.size(); ++k)
    scene.contacts[k].label = labels.empty() ? impact_contact_label(static_cast<int>(k)) : labels[k];
}

void read_sampling(const TomlReader& file, OutcomeOptions& sampling) {
  const auto table = file.table("sampling");
  if (!table) return;
  table->check_keys({"sampler", "samples", "step", "max_steps", "directions", "seed"});
  const auto whole = [&](const char* key, int least, int most, long fallback) {
    const long value = table->has(key) ? *table->integer(key) : fallback;
    if (value < least || value > most) table->fail(key, fmt::format("{}, expected {} to {}", value, least, most));
    return value;
  };
  if (const auto name = table->string("sampler"))
    table->blame("sampler", [&] { sampling.sampler = outcome_sampler_from_name(*name); });
  sampling.samples = whole("samples", 1, kMostSamples, sampling.samples);
  sampling.max_steps = static_cast<int>(whole("max_steps", 1, kMostSteps, sampling.max_steps));
  sampling.friction_directions = static_cast<int>(whole("directions", 3, 64, sampling.friction_directions));
  sampling.seed = static_cast<std::uint64_t>(whole("seed", 0, 2147483647, static_cast<long>(sampling.seed)));
  if (table->has("step")) sampling.step = positive(*table, "step", "N s");
}

}  // namespace

const char* impact_shape_name(ImpactShape shape) {
  constexpr const char* kNames[] = {"disk", "box", "wall", "ball", "links"};
  return kNames[static_cast<int>(shape)];
}

namespace {

// Origin [m] and angle [rad] of a link's frame.
std::pair<Vec3, double> link_frame(const ImpactBody& body, int link) {
  if (link < 0) return {body.X_WB.p, 0};
  const ImpactLink& l = body.links[static_cast<size_t>(link)];
  const auto [origin, angle] = link_frame(body, l.parent);
  return {origin + turn(angle) * in_space(l.joint), angle + l.angle};
}

}  // namespace

Vec3 impact_link_point(const ImpactBody& body, int link, const Eigen::Vector2d& point) {
  const auto [origin, angle] = link_frame(body, link);
  return origin + turn(angle) * in_space(point);
}

Eigen::Matrix3Xd impact_point_jacobian(const ImpactScene& scene, int body_index, int link, const Vec3& point) {
  const ImpactBody& body = scene.bodies[static_cast<size_t>(body_index)];
  Eigen::Matrix3Xd J = Eigen::Matrix3Xd::Zero(3, scene.problem.v.size());
  if (body.dofs == 0) return J;
  const int first = body.first_dof;
  if (scene.along) {
    J.col(first) = *scene.along;
    return J;
  }
  for (int k = 0; k < scene.dimension; ++k) J(k, first + k) = 1;
  const auto about_z = [&](const Vec3& pivot) { return Vec3::UnitZ().cross(point - pivot); };
  if (body.shape == ImpactShape::links) {
    // The angle of a link turns everything beyond its joint.
    for (int k = link; k >= 0; k = body.links[static_cast<size_t>(k)].parent)
      J.col(first + 2 + k) = about_z(link_frame(body, k).first);
  } else if (body.rotates && scene.dimension == 2) {
    J.col(first + 2) = about_z(body.X_WB.p);
  } else if (body.rotates) {
    for (int k = 0; k < 3; ++k) J.col(first + 3 + k) = Vec3::Unit(k).cross(point - body.X_WB.p);
  }
  return J;
}

ImpactScene load_impact_scene(const fs::path& file) {
  std::string text;
  const toml::table table = parse_toml_file(file, text);
  const TomlReader reader(table, file.string());
  ImpactScene scene;
  scene.file = file;
  if (reader.has("matrices")) {
    for (const char* key : {"body", "pair"})
      if (reader.has(key)) reader.fail(key, "given beside [matrices], expected one of them");
    read_matrix_scene(reader, scene);
  } else {
    read_body_scene(reader, scene);
  }
  scene.title = reader.string("title").value_or(file.stem().string());
  scene.law = scene.problem.mu.size() > 0 ? ImpactLaw::anitescu_potra : ImpactLaw::reflections;
  if (const auto law = reader.string("law")) reader.blame("law", [&] { scene.law = impact_law_from_name(*law); });
  read_sampling(reader, scene.sampling);
  return scene;
}

}  // namespace scree
