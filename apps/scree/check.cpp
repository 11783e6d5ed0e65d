#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "check_facts.h"
#include "import_report.h"
#include "options.h"
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

struct Checked {
  std::optional<Model> model;  // absent if anything was rejected
  ImportReport report;
  std::optional<Scene> scene;  // of the model on a floor, or the one asked about; absent if sim would refuse to read it
  std::string refusal;         // of sim; empty: none
};

Checked check_file(const CheckOptions& options) {
  UrdfOptions urdf_options = options.model.urdf_options();
  urdf_options.default_base = BaseType::floating;
  Checked checked;
  if (is_scene_file(options.file)) {
    if (!options.model.base.empty()) throw InputError("--base: is for models, a scene says base = \"...\" itself");
    SceneOverrides overrides;
    overrides.search_path = urdf_options.search_path;
    overrides.strict = urdf_options.strict;
    checked.scene = load_scene(options.file, overrides);
    checked.model = checked.scene->model;
    checked.report = checked.scene->import_report;
  } else {
    checked.model = check_urdf(options.file, urdf_options, checked.report);
    try {
      if (checked.model) checked.scene = robot_scene(*checked.model, {.base = urdf_options.base}, options.file);
    } catch (const InputError& error) {
      checked.refusal = error.what();
    }
  }
  if (checked.scene) checked.refusal = find_refusal(*checked.scene);
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
  if (checked.scene) add_facts(*checked.scene, json);
  json["refused"] = checked.refusal.empty() ? Json() : Json(checked.refusal);
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
  if (checked.scene) add_facts(*checked.scene, rows);
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
  if (checked.scene && !options.json)
    for (const std::string& warning : checked.scene->warnings) print_warning(warning);
  if (checked.model && checked.refusal.empty()) return 0;
  if (checked.model) {
    print_error(checked.refusal);
    return 2;
  }
  print_error(fmt::format("{} ({} rejected in all)", checked.report.first_rejection(),
                          checked.report.count(ImportVerdict::rejected)));
  return 2;
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand(
      "check", "Report what becomes of a model or scene file, how it starts, and what sim would refuse");
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
