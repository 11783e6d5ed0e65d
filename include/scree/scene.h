// Scene: everything a run needs, from one TOML file. docs/scenes.md lists every key with its unit.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "scree/batch.h"
#include "scree/simulation.h"
#include "scree/start.h"
#include "scree/urdf.h"

namespace scree {

// What the command line may say in place of the file. Empty means "as the file says".
struct SceneOverrides {
  std::optional<double> dt = {};        // [s]
  std::optional<double> duration = {};  // [s]
  std::optional<double> accuracy = {};  // [m]; > 0 without `dt`: the engine chooses the step
  std::optional<double> output = {};    // [s]
  std::optional<IntegratorType> integrator = {};
  std::optional<IntegratorType> default_integrator = {};  // if the file names none
  std::vector<std::filesystem::path> search_path = {};    // searched before the scene's own
  bool strict = false;                                    // reject what would be repaired in the model
  std::optional<double> drop = {};                        // [m] place_on_ground, as [initial] drop
  bool clamp = false;                                     // clamp_to_limits, as [initial] clamp
};

struct Scene {
  std::filesystem::path file;
  std::string title;
  Model model;
  ImportReport import_report;
  StepOptions options;
  // > 0 [s]: the engine chooses the step by options.accuracy, up to options.dt, and records at multiples of `output`.
  // 0: steps of options.dt, all recorded.
  double output = 0;
  Eigen::VectorXd q0, v0;  // initial state
  Control control;
  World world;          // no solids: no contact
  double duration = 0;  // [s]
  BatchVariation batch = {};
  std::string text;                               // the TOML as read, for the run file
  std::vector<std::filesystem::path> files = {};  // that were read: scene, model, meshes, motion, height fields, tables
  std::vector<LimitViolation> clamped = {};       // that [initial] clamp moved to their limits
  std::vector<std::string> warnings = {};         // what is likely not meant: one line each
};

// Throws InputError: file:line, key, value, expected; an unknown key names the nearest known one.
Scene load_scene(const std::filesystem::path& file, const SceneOverrides& overrides = {});
// The same from text: files it names are relative to `folder`, errors and the title, if it has none, say `name`.
// Scene::file is folder / name, which need not exist, and Scene::files does not have it.
Scene parse_scene(std::string text, const std::filesystem::path& folder, const SceneOverrides& overrides = {},
                  const std::string& name = "scene");

// What a robot does if nobody says: it stands on the floor z = 0 and holds its pose for 5 s.
struct RobotSceneOptions {
  SceneOverrides overrides = {};      // `drop`: 0 unless given
  BaseType base = BaseType::as_file;  // as_file: as <scree base="..."/> says, else floating; a root link called
                                      // world is the world, as ever
  std::filesystem::path folder = {};  // that Scene::text names its files from; empty: the model's
};
// A robot whose base can move up and down is put onto the floor, or `drop` above it; one whose base is fixed, or that
// has nothing to touch with, has no floor, and a warning says so unless the base is fixed. Joints that are outside
// their limits at the zero pose start at the limit. Motors hold the pose (hold_pose) with implicit control. Scene::text
// is the scene in TOML: load_scene of it, written into `folder`, gives the same bits. Throws InputError as load_urdf
// and load_scene.
Scene robot_scene(const std::filesystem::path& urdf, const RobotSceneOptions& options = {});
// The same of a model that is there already, with its base as it is; `urdf` is where the text says it is from.
Scene robot_scene(Model model, const RobotSceneOptions& options = {}, const std::filesystem::path& urdf = "robot.urdf");

}  // namespace scree
