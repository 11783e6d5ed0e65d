#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "import_report.h"
#include "options.h"
#include "terminal.h"
#include "verbs.h"

namespace scree::cli {
namespace {

namespace fs = std::filesystem;

struct ConvertOptions {
  std::string from, to;
  ModelFlags model;
  bool json = false;
};

// Meshes stay where they are: relative paths break when the model moves to another folder.
bool leaves_meshes_behind(const Model& model, const ConvertOptions& options) {
  const auto folder = [](const std::string& file) { return fs::weakly_canonical(fs::absolute(file).parent_path()); };
  for (const Shape& shape : model.shapes())
    if (const auto* mesh = std::get_if<Mesh>(&shape.geometry))
      if (mesh->uri.find("://") == std::string::npos && fs::path(mesh->uri).is_relative())
        return folder(options.from) != folder(options.to);
  return false;
}

int convert(const ConvertOptions& options) {
  const UrdfOptions urdf_options = options.model.urdf_options();
  ImportReport report;
  const Model model = load_urdf(options.from, urdf_options, &report);
  check_outputs({options.to}, report.files);
  save_urdf(model, options.to);
  const int ignored = report.count(ImportVerdict::ignored);
  if (options.json) {
    nlohmann::ordered_json json;
    json["from"] = options.from;
    json["to"] = options.to;
    json["model"] = model.name();
    json["mapped"] = report.count(ImportVerdict::mapped);
    json["repaired"] = report.count(ImportVerdict::repaired);
    json["ignored"] = ignored;
    print_json(json);
  } else {
    print_message("wrote " + options.to);
    if (ignored > 0)
      print_message(fmt::format("{} elements were ignored, scree check {} lists them", ignored, options.from));
  }
  warn_of_repairs(report);
  if (leaves_meshes_behind(model, options))
    print_message(fmt::format("warning: {} names meshes relative to the folder of {}", options.to, options.from));
  return 0;
}

}  // namespace

void add_convert(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("convert", "Read a model and write it as scree understood it");
  auto options = std::make_shared<ConvertOptions>();
  verb->add_option("from", options->from, "Model to read (.urdf)")->required()->type_name("A.urdf");
  verb->add_option("to", options->to, "Model to write (.urdf)")->required()->type_name("B.urdf");
  options->model.add_search_path(*verb);
  options->model.add_base(*verb);
  options->model.add_strict(*verb);
  verb->add_flag("--json", options->json, "Print one JSON object on stdout");
  verb->callback([options, &action] { action = [options] { return convert(*options); }; });
}

}  // namespace scree::cli
