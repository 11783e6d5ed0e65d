// Scene: everything a run needs, from one TOML file. docs/scenes.md lists every key with its unit.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "scree/simulation.h"
#include "scree/urdf.h"

namespace scree {

// What the command line may say in place of the file. Empty means "as the file says".
struct SceneOverrides {
  std::optional<double> dt;        // [s]
  std::optional<double> duration;  // [s]
  std::optional<IntegratorType> integrator;
  std::vector<std::filesystem::path> search_path;  // searched before the scene's own
  bool repair_inertia = false;
};

struct Scene {
  std::filesystem::path file;
  std::string title;
  Model model;
  ImportReport import_report;
  StepOptions options;
  Eigen::VectorXd q0, v0;  // initial state
  Control control;
  ContactWorld world;   // no solids: no contact
  double duration = 0;  // [s]
  std::string text;     // the TOML as read, for the run file
};

// Throws InputError: file:line, key, value, expected; an unknown key names the nearest known one.
Scene load_scene(const std::filesystem::path& file, const SceneOverrides& overrides = {});

}  // namespace scree
