#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "import_report.h"
#include "options.h"
#include "scree/candidates.h"
#include "scree/error.h"
#include "scree/scene.h"
#include "terminal.h"
#include "verbs.h"

namespace scree::cli {
namespace {

using Json = nlohmann::ordered_json;

struct CheckOptions {
  std::string file;
  ModelFlags model;
  bool all = false, json = false;
};

// What the model stands on: the ground of the scene, or of a model by itself a plane with all options left alone.
struct Ground {
  std::string integrator = {};
  size_t points = 0;         // that may touch it
  double depth = 0;          // [m] static_depth
  std::string problem = {};  // why there is none
  std::vector<MeshPoints> meshes = {};
};

struct Checked {
  std::optional<Model> model;  // absent if anything was rejected
  ImportReport report;
  Ground ground;
};

Ground find_ground(const Model& model, const World& world, IntegratorType integrator) {
  Ground ground;
  ground.integrator = integrator_name(integrator);
  ground.points = world.body_colliders();
  ground.meshes = mesh_points(model, world.colliders);
  if (world.has_contact())
    ground.depth = static_depth(model, world, integrator);
  else
    ground.problem = "nothing touches anything";
  return ground;
}

Ground find_default_ground(const Model& model) {
  World world;
  try {
    world.add(contact_candidates(model, ContactCandidates::automatic));
  } catch (const InputError& error) {
    return {.problem = error.what()};
  }
  if (world.colliders.empty()) return {.problem = "no contact points and no collision shapes that could touch it"};
  world.add(plane_collider(Vec3::Zero(), Vec3::UnitZ()));
  return find_ground(model, world, default_integrator(world));
}

std::string describe(const Ground& ground) {
  if (!ground.problem.empty()) return ground.problem;
  if (ground.depth == 0) return fmt::format("{} points, rigid ({})", ground.points, ground.integrator);
  return fmt::format("{} points; one that carries its share of the weight is {:.3g} mm deep ({})", ground.points,
                     1e3 * ground.depth, ground.integrator);
}

// How well points stand for meshes, and which of them worst.
std::string describe(const std::vector<MeshPoints>& meshes) {
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

bool is_scene(const std::filesystem::path& file) {
  std::string extension = file.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return extension == ".toml";
}

Checked check_file(const CheckOptions& options) {
  const UrdfOptions urdf_options = options.model.urdf_options();
  Checked checked;
  if (is_scene(options.file)) {
    if (!options.model.base.empty()) throw InputError("--base: is for models, a scene says base = \"...\" itself");
    SceneOverrides overrides;
    overrides.search_path = urdf_options.search_path;
    overrides.strict = urdf_options.strict;
    Scene scene = load_scene(options.file, overrides);
    checked.ground = find_ground(scene.model, scene.world, scene.options.integrator);
    checked.model = std::move(scene.model);
    checked.report = std::move(scene.import_report);
  } else {
    checked.model = check_urdf(options.file, urdf_options, checked.report);
    if (checked.model) checked.ground = find_default_ground(*checked.model);
  }
  return checked;
}

void print_report(const CheckOptions& options, const Checked& checked) {
  Json json;
  json["file"] = options.file;
  json["model_file"] = checked.report.file;
  json["model"] = nullptr;
  if (const auto& model = checked.model)
    json["model"] = {{"name", model->name()},
                     {"bodies", model->bodies().size()},
                     {"dofs", model->nv()},
                     {"total_mass", model->total_mass()},
                     {"shapes", model->shapes().size()},
                     {"frames", model->frames().size()},
                     {"contact_points", model->contact_points().size()}};
  json["ground"] = nullptr;
  if (const Ground& ground = checked.ground; checked.model && ground.problem.empty()) {
    json["ground"] = {{"integrator", ground.integrator}, {"points", ground.points}, {"static_depth", ground.depth}};
    json["ground"]["meshes"] = Json::array();
    for (const MeshPoints& mesh : ground.meshes)
      json["ground"]["meshes"].push_back({{"name", mesh.name},
                                          {"link", mesh.link},
                                          {"vertices", mesh.vertices},
                                          {"points", mesh.points},
                                          {"dimension", mesh.dimension},
                                          {"size", mesh.size},
                                          {"distance", mesh.distance}});
  }
  add_import_report(checked.report, json);
  print_json(json);
}

void print_table(const CheckOptions& options, const Checked& checked) {
  const ImportReport& report = checked.report;
  std::vector<std::pair<std::string, std::string>> rows = {{"file", options.file}};
  if (report.file != options.file) rows.emplace_back("model file", report.file);
  if (const auto& model = checked.model)
    rows.emplace_back("model",
                      fmt::format("{}: {} bodies, {} dofs, {:.6g} kg, {} shapes, {} frames, {} contact points",
                                  model->name(), model->bodies().size(), model->nv(), model->total_mass(),
                                  model->shapes().size(), model->frames().size(), model->contact_points().size()));
  if (checked.model) rows.emplace_back("ground", describe(checked.ground));
  if (!checked.ground.meshes.empty()) rows.emplace_back("hulls", describe(checked.ground.meshes));
  rows.emplace_back("report", count_verdicts(report));
  print_pairs(rows);
  print_import_report(report, options.all);
}

int check(const CheckOptions& options) {
  const Checked checked = check_file(options);
  if (options.json)
    print_report(options, checked);
  else
    print_table(options, checked);
  if (checked.model) return 0;
  print_error(fmt::format("{} ({} rejected in all)", checked.report.first_rejection(),
                          checked.report.count(ImportVerdict::rejected)));
  return 2;
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("check", "Report what became of every element of a model or scene file");
  auto options = std::make_shared<CheckOptions>();
  verb->add_option("file", options->file, "Model (.urdf) or scene (.toml)")->required()->type_name("FILE");
  options->model.add_search_path(*verb);
  options->model.add_base(*verb);
  options->model.add_strict(*verb);
  verb->add_flag("--all", options->all, "List every element and attribute, in the order of the file");
  verb->add_flag("--json", options->json, "Print one JSON object (SI units) on stdout");
  verb->callback([options, &action] { action = [options] { return check(*options); }; });
}

}  // namespace scree::cli
