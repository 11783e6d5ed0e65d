#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "decompose.h"
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
  bool decompose = false, json = false;
  DecomposeOptions parts;
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

void tell(const Decomposition& decomposition) {
  for (const Decomposed& mesh : decomposition.meshes)
    print_message(mesh.parts < 2
                      ? fmt::format("collision {} of {}: convex enough, {:.4g} l, its hull {:.4g} l", mesh.shape,
                                    mesh.link, 1e3 * mesh.mesh_volume, 1e3 * mesh.hull_volume)
                      : fmt::format("collision {} of {}: {} parts of {:.4g} l in all; the mesh has {:.4g} l, "
                                    "its hull {:.4g} l",
                                    mesh.shape, mesh.link, mesh.parts, 1e3 * mesh.parts_volume, 1e3 * mesh.mesh_volume,
                                    1e3 * mesh.hull_volume));
  if (decomposition.meshes.empty()) print_message("no collision mesh to decompose");
}

int convert(const ConvertOptions& options) {
  const UrdfOptions urdf_options = options.model.urdf_options();
  ImportReport report;
  const Model model = load_urdf(options.from, urdf_options, &report);
  check_outputs({options.to}, report.files);
  std::optional<Decomposition> decomposition;
  if (options.decompose) {
    decomposition = decompose_collision_meshes(model, options.to, options.parts);
    std::vector<fs::path> outputs = {options.to};
    for (const Decomposition::Part& part : decomposition->parts) outputs.push_back(part.file);
    check_outputs(outputs, report.files);
    save(*decomposition, options.to);
  } else {
    save_urdf(model, options.to);
  }
  const int ignored = report.count(ImportVerdict::ignored);
  if (options.json) {
    nlohmann::ordered_json json;
    json["from"] = options.from;
    json["to"] = options.to;
    json["model"] = model.name();
    json["mapped"] = report.count(ImportVerdict::mapped);
    json["repaired"] = report.count(ImportVerdict::repaired);
    json["ignored"] = ignored;
    if (decomposition) {
      json["meshes"] = nlohmann::ordered_json::array();
      for (const Decomposed& mesh : decomposition->meshes)
        json["meshes"].push_back({{"shape", mesh.shape},
                                  {"link", mesh.link},
                                  {"parts", mesh.parts},
                                  {"mesh_volume", mesh.mesh_volume},
                                  {"hull_volume", mesh.hull_volume},
                                  {"parts_volume", mesh.parts_volume}});
    }
    print_json(json);
  } else {
    print_message("wrote " + options.to);
    if (decomposition) tell(*decomposition);
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
  CLI::Option* decompose = verb->add_flag(
      "--decompose", options->decompose,
      "Split concave collision meshes into convex parts, STL files beside B.urdf (needs Python's package coacd)");
  verb->add_option("--threshold", options->parts.threshold, "Concavity that a part may have (default 0.05)")
      ->type_name("X")
      ->check(number_in(0.01, 1))
      ->needs(decompose);
  verb->add_option("--python", options->parts.python, "The Python that has coacd (default python3)")
      ->type_name("PROGRAM")
      ->needs(decompose);
  verb->add_flag("--json", options->json, "Print one JSON object on stdout");
  verb->callback([options, &action] { action = [options] { return convert(*options); }; });
}

}  // namespace scree::cli
