#include "check_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "run/scene_simulation.h"
#include "scree/candidates.h"
#include "scree/error.h"
#include "scree/run.h"

namespace scree::cli {
namespace {

using Json = nlohmann::ordered_json;

// What may touch, where the scene starts.
struct Extent {
  Vec3 low = Vec3::Constant(std::numeric_limits<double>::infinity()), high = -low;
  const Collider* lowest = nullptr;  // none: nothing may touch
};

Extent find_extent(const Scene& scene) {
  const std::vector<Pose> poses = body_poses(scene.model, scene.q0);
  Extent extent;
  for (const Collider& collider : scene.world.colliders) {
    if (collider.body == kWorld) continue;
    const Vec3 p = poses[static_cast<size_t>(collider.body.value())] * collider.X_BS.p;
    const double radius = std::get<Sphere>(collider.shape).radius;
    if (p.z() - radius < extent.low.z()) extent.lowest = &collider;
    extent.low = extent.low.cwiseMin((p.array() - radius).matrix());
    extent.high = extent.high.cwiseMax((p.array() + radius).matrix());
  }
  return extent;
}

// By body: how many points of it may touch, and if none, why.
struct Touch {
  size_t points = 0;
  const char* why_not = nullptr;
};

std::vector<Touch> find_touches(const Scene& scene) {
  const Model& model = scene.model;
  std::vector<Touch> touches(model.bodies().size());
  if (!scene.world.has_contact()) {
    for (Touch& touch : touches) touch.why_not = "there is no ground";
    return touches;
  }
  for (const Collider& collider : scene.world.colliders)
    if (collider.body != kWorld) ++touches[static_cast<size_t>(collider.body.value())].points;
  for (size_t i = 0; i < touches.size(); ++i) {
    if (touches[i].points > 0) continue;
    bool has_shape = false, has_view = false;
    for (const Shape& shape : model.shapes()) {
      if (shape.body != BodyIndex(static_cast<int>(i))) continue;
      (shape.role == ShapeRole::collision ? has_shape : has_view) = true;
    }
    touches[i].why_not = has_shape  ? "other bodies have named contact points, which count alone (contact.points)"
                         : has_view ? "no collision shape, only one to look at"
                                    : "no collision shape";
  }
  return touches;
}

std::string list(const std::vector<std::string>& names, size_t most = 12) {
  std::string text;
  for (size_t k = 0; k < std::min(most, names.size()); ++k) text += (k ? ", " : "") + names[k];
  if (names.size() > most) text += fmt::format(" and {} more", names.size() - most);
  return text;
}

// Bodies that may touch with their points, and the others by reason.
struct TouchLists {
  std::vector<std::string> touching;
  std::map<std::string, std::vector<std::string>> others;
};

TouchLists list_touches(const Scene& scene) {
  TouchLists lists;
  const std::vector<Touch> touches = find_touches(scene);
  for (size_t i = 0; i < touches.size(); ++i) {
    const std::string& name = scene.model.bodies()[i].name;
    if (touches[i].why_not)
      lists.others[touches[i].why_not].push_back(name);
    else
      lists.touching.push_back(fmt::format("{} ({})", name, touches[i].points));
  }
  return lists;
}

std::string describe_ground(const Scene& scene) {
  const World& world = scene.world;
  if (!world.has_contact()) return "none: nothing touches anything";
  const size_t points = world.body_colliders(), solids = world.colliders.size() - points;
  const double depth = static_depth(scene.model, world, scene.options.integrator);
  std::string text =
      fmt::format("{} points, {} {}, {} pairs", points, solids, solids == 1 ? "solid" : "solids", world.pair_count());
  if (depth == 0) return text + fmt::format("; rigid ({})", integrator_name(scene.options.integrator));
  return text + fmt::format("; a point that carries its share of the weight is {:.3g} mm deep ({})", 1e3 * depth,
                            integrator_name(scene.options.integrator));
}

// How well points stand for meshes, and which of them worst.
std::string describe_meshes(const std::vector<MeshPoints>& meshes) {
  size_t points = 0, vertices = 0, flat = 0;
  const MeshPoints* worst = &meshes[0];
  for (const MeshPoints& mesh : meshes) {
    points += mesh.points, vertices += mesh.vertices, flat += mesh.dimension < 3 ? 1 : 0;
    if (mesh.distance * worst->size > worst->distance * mesh.size) worst = &mesh;
  }
  std::string text = fmt::format(
      "{} points for {} vertices of {} meshes; at most {:.2g} mm inside their hulls, {:.2g} % of {}", points, vertices,
      meshes.size(), 1e3 * worst->distance, worst->size > 0 ? 100 * worst->distance / worst->size : 0, worst->name);
  if (flat > 0) text += fmt::format("; {} flat: the corners of their outline", flat);
  return text;
}

Json vector_json(const Vec3& x) { return {x.x(), x.y(), x.z()}; }

}  // namespace

std::string find_refusal(const Scene& scene) {
  try {
    RunOptions{}.validate(scene);
    scene_simulation(scene, make_state(scene.model, scene.q0, scene.v0));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

Json limits_json(const Model& model, const std::vector<LimitViolation>& violations) {
  Json json = Json::array();
  for (const LimitViolation& violation : violations)
    json.push_back({{"joint", model.joint(violation.joint).name},
                    {"position", violation.position},
                    {"limit", violation.limit},
                    {"beyond", violation.beyond}});
  return json;
}

std::string describe_start(const Scene& scene) {
  const Model& model = scene.model;
  const bool moves = can_be_lifted(model);
  const std::string base = moves ? joint_type_name(model.joints().front().type) : "bolted to the world";
  if (!scene.world.has_contact()) return base + ", no ground";
  const Extent extent = find_extent(scene);
  if (!extent.lowest) return base;
  return fmt::format("{}, lowest point at {:.4g} m: {} of {}", base,
                     std::abs(extent.low.z()) < 1e-9 ? 0 : extent.low.z(), extent.lowest->name,
                     model.body(extent.lowest->body).name);
}

void add_facts(const Scene& scene, Rows& rows) {
  const Model& model = scene.model;
  rows.emplace_back("start", describe_start(scene));
  const Extent extent = find_extent(scene);
  if (extent.lowest) {
    const Vec3 size = extent.high - extent.low;
    rows.emplace_back("box",
                      fmt::format("{:.4g} x {:.4g} x {:.4g} m around what may touch", size.x(), size.y(), size.z()));
  }
  const std::vector<LimitViolation> outside = outside_limits(model, scene.q0);
  if (!scene.clamped.empty()) rows.emplace_back("moved to limits", describe_limits(model, scene.clamped, 4));
  rows.emplace_back("limits", outside.empty() ? "all joints start within them" : describe_limits(model, outside, 4));
  rows.emplace_back("ground", describe_ground(scene));
  if (const auto meshes = mesh_points(model, scene.world.colliders); !meshes.empty())
    rows.emplace_back("hulls", describe_meshes(meshes));
  const TouchLists lists = list_touches(scene);
  if (!lists.touching.empty()) rows.emplace_back("may touch", list(lists.touching));
  if (scene.world.has_contact())
    for (const auto& [why, names] : lists.others) rows.emplace_back("cannot touch", list(names) + ": " + why);
}

void add_facts(const Scene& scene, Json& json) {
  const Model& model = scene.model;
  const World& world = scene.world;
  const bool contact = world.has_contact();
  json["ground"] = nullptr;
  if (contact) {
    json["ground"] = {{"integrator", integrator_name(scene.options.integrator)},
                      {"points", world.body_colliders()},
                      {"solids", world.colliders.size() - world.body_colliders()},
                      {"pairs", world.pair_count()},
                      {"static_depth", static_depth(model, world, scene.options.integrator)}};
    json["ground"]["meshes"] = Json::array();
    for (const MeshPoints& mesh : mesh_points(model, world.colliders))
      json["ground"]["meshes"].push_back({{"name", mesh.name},
                                          {"link", mesh.link},
                                          {"vertices", mesh.vertices},
                                          {"points", mesh.points},
                                          {"dimension", mesh.dimension},
                                          {"size", mesh.size},
                                          {"distance", mesh.distance}});
  }
  json["base"] = can_be_lifted(model) ? joint_type_name(model.joints().front().type) : "fixed";
  const Extent extent = find_extent(scene);
  json["lowest_point"] = nullptr;
  json["bounding_box"] = nullptr;
  if (extent.lowest) {
    json["lowest_point"] = {
        {"name", extent.lowest->name}, {"body", model.body(extent.lowest->body).name}, {"z", extent.low.z()}};
    json["bounding_box"] = {{"low", vector_json(extent.low)}, {"high", vector_json(extent.high)}};
  }
  json["outside_limits"] = limits_json(model, outside_limits(model, scene.q0));
  json["clamped"] = limits_json(model, scene.clamped);
  json["bodies"] = Json::array();
  const std::vector<Touch> touches = find_touches(scene);
  for (size_t i = 0; i < touches.size(); ++i)
    json["bodies"].push_back({{"name", model.bodies()[i].name},
                              {"mass", model.bodies()[i].mass},
                              {"points", touches[i].points},
                              {"why_not", touches[i].why_not ? Json(touches[i].why_not) : Json()}});
  json["warnings"] = scene.warnings;
}

}  // namespace scree::cli
