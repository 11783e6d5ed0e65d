#include "scree/scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/files.h"
#include "control/joint_control.h"
#include "dynamics/joint_state.h"
#include "model/joint_finder.h"
#include "scene/base_type.h"
#include "scene/batch_scene.h"
#include "scene/scene_contact.h"
#include "scene/scene_reader.h"
#include "scene/toml_reader.h"
#include "scree/start.h"

namespace scree {
namespace {

namespace fs = std::filesystem;

constexpr double kMostSteps = 1e8;
constexpr double kMostGravity = 1e6;  // [m/s^2], as World
constexpr size_t kLongestTitle = 200;
constexpr double kLargestStep = 0.1;  // [s] the engine chooses
constexpr double kOutput = 0.02;      // [s] between the rows of a run whose step the engine chooses

std::string count_joints(const std::vector<LimitViolation>& found) {
  return fmt::format("{} {}", found.size(), found.size() == 1 ? "joint" : "joints");
}

Model read_model(const TomlReader& scene, SceneFiles& files, const SceneOverrides& overrides, ImportReport& report) {
  std::error_code error;
  UrdfOptions options;
  options.search_path = overrides.search_path;
  for (const std::string& entry : scene.strings("search_path").value_or(std::vector<std::string>{})) {
    if (!fs::is_directory(files.folder() / entry, error))
      scene.fail("search_path", fmt::format("no such directory \"{}\"", entry));
    options.search_path.push_back(files.folder() / entry);
  }
  if (const auto base = scene.string("base")) scene.blame("base", [&] { options.base = base_type_from_name(*base); });
  options.strict = scene.boolean("strict").value_or(false) || overrides.strict;
  Model model = load_urdf(files.find(scene, "model"), options, &report);
  files.add(report.files);
  return model;
}

// What the scene says of its steps. Empty: it does not say.
struct StepKeys {
  StepOptions options;
  std::optional<IntegratorType> integrator;
  std::optional<double> dt, accuracy, output;
};

// How the integrator `event` steps.
void read_event_options(const TomlReader& table, EventOptions& options) {
  table.check_keys(
      {"touch", "rest_speed", "simultaneous", "flight_accuracy", "energy_accuracy", "max_events", "max_tries"});
  const auto set = [&](const char* key, auto& field, const auto& value) {
    if (!value) return;
    field = *value;
    table.blame(key, [&] { options.validate(); });
  };
  set("touch", options.touch, table.number("touch"));
  set("rest_speed", options.rest_speed, table.number("rest_speed"));
  set("simultaneous", options.simultaneous, table.number("simultaneous"));
  set("flight_accuracy", options.flight_accuracy, table.number("flight_accuracy"));
  set("energy_accuracy", options.energy_accuracy, table.number("energy_accuracy"));
  set("max_events", options.max_events, table.integer("max_events"));
  set("max_tries", options.max_tries, table.integer("max_tries"));
}

StepKeys read_step_options(const TomlReader& scene) {
  StepKeys keys;
  StepOptions& options = keys.options;
  const auto step = scene.table("step");
  if (!step) return keys;
  if (step->has("gravity")) step->fail("gravity", "does not belong here, expected it at the top of the scene");
  step->check_keys({"integrator", "dt", "event", "tolerance", "max_iterations", "max_halvings", "max_turn", "accuracy",
                    "output", "dissipation", "solver", "optimizer", "max_outer", "explicit_pd"});
  // Everything not yet read is at its valid default, so a failing check blames the key just read.
  const auto set = [&](const char* key, auto& field, const auto& value) {
    if (!value) return;
    field = *value;
    step->blame(key, [&] { options.validate(); });
  };
  if (const auto name = step->string("integrator"))
    step->blame("integrator", [&] { keys.integrator = integrator_from_name(*name); });
  keys.dt = step->number("dt");
  set("dt", options.dt, keys.dt);
  set("tolerance", options.tolerance, step->number("tolerance"));
  set("max_iterations", options.max_iterations, step->integer("max_iterations"));
  set("max_halvings", options.max_halvings, step->integer("max_halvings"));
  set("max_turn", options.max_turn, step->number("max_turn"));
  keys.accuracy = step->number("accuracy");
  set("accuracy", options.accuracy, keys.accuracy);
  keys.output = step->number("output");
  if (keys.output) {
    if (!(*keys.output > 0)) step->fail("output", fmt::format("{}, expected > 0 s", *keys.output));
    if (keys.dt || keys.accuracy.value_or(0) == 0)
      step->fail("output", "is for steps the engine chooses, expected accuracy > 0 and no dt beside it");
  }
  if (keys.integrator && keys.accuracy.value_or(0) > 0)
    step->blame("accuracy", [&] { check_accuracy(*keys.integrator); });
  if (const auto name = step->string("dissipation"))
    step->blame("dissipation", [&] { options.dissipation = dissipation_from_name(*name); });
  if (const auto name = step->string("solver"))
    step->blame("solver", [&] { options.solver = contact_solver_from_name(*name); });
  if (const auto name = step->string("optimizer"))
    step->blame("optimizer", [&] { options.optimizer = optimizer_from_name(*name); });
  set("max_outer", options.max_outer, step->integer("max_outer"));
  set("explicit_pd", options.explicit_pd, step->boolean("explicit_pd"));
  if (const auto event = step->table("event")) read_event_options(*event, options.event);
  return keys;
}

const Joint& find_joint(const TomlReader& table, const JointFinder& joints, const std::string& name) {
  const Joint* joint = nullptr;
  table.blame(name, [&] { joint = &joints.find(name); });
  if (joint->type == JointType::fixed) table.fail(name, "a fixed joint has nothing to set");
  if (joint->mimic) table.fail(name, joints.who_leads(*joint));
  return *joint;
}

void read_initial_state(const TomlReader& scene, const Model& model, Eigen::VectorXd& q, Eigen::VectorXd& v) {
  const auto initial = scene.table("initial");
  if (!initial) return;
  initial->check_keys({"position", "velocity", "drop", "clamp"});
  const JointFinder joints(model);
  if (const auto position = initial->table("position")) {
    for (const std::string& name : position->keys()) {
      const Joint& joint = find_joint(*position, joints, name);
      const std::vector<double> value = *position->numbers(name, position_count(joint.type));
      q.segment(joint.q_index, position_count(joint.type)) = Eigen::VectorXd::Map(value.data(), std::ssize(value));
      position->blame(name, [&] { check_joint_state(joint, q, v); });
      normalise_joint(joint, q);
    }
  }
  if (const auto velocity = initial->table("velocity")) {
    for (const std::string& name : velocity->keys()) {
      const Joint& joint = find_joint(*velocity, joints, name);
      const std::vector<double> value = *velocity->numbers(name, velocity_count(joint.type));
      v.segment(joint.v_index, velocity_count(joint.type)) = Eigen::VectorXd::Map(value.data(), std::ssize(value));
      velocity->blame(name, [&] { check_joint_state(joint, q, v); });
    }
  }
}

// A start beyond a joint limit is moved to it, or told.
std::vector<LimitViolation> read_clamp(const TomlReader& scene, const Model& model, const SceneOverrides& overrides,
                                       Eigen::VectorXd& q, std::vector<std::string>& warnings) {
  const auto initial = scene.table("initial");
  const bool clamp = overrides.clamp || (initial && initial->boolean("clamp").value_or(false));
  std::vector<LimitViolation> clamped;
  if (clamp) clamped = clamp_to_limits(model, q);
  if (!clamped.empty())
    warnings.push_back(
        fmt::format("{} moved to the limit to start from: {}", count_joints(clamped), describe_limits(model, clamped)));
  const std::vector<LimitViolation> outside = outside_limits(model, q);
  if (!outside.empty())
    warnings.push_back(
        fmt::format("{} outside the limits at the start, where the stops push back; --clamp (clamp = "
                    "true) moves them to the limit: {}",
                    count_joints(outside), describe_limits(model, outside)));
  return clamped;
}

// Onto the ground, where the scene or the command line says so.
void read_drop(const TomlReader& scene, const std::string& name, const Model& model, const World& world,
               const SceneOverrides& overrides, Eigen::VectorXd& q) {
  const auto initial = scene.table("initial");
  const auto in_scene = initial ? initial->number("drop") : std::nullopt;
  if (!overrides.drop) {
    if (in_scene) initial->blame("drop", [&] { place_on_ground(model, world, q, *in_scene); });
    return;
  }
  try {
    place_on_ground(model, world, q, *overrides.drop);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", name, error.what()));
  }
}

// The base of a robot has no motor.
bool has_motor(JointType type) {
  return type != JointType::fixed && type != JointType::planar && type != JointType::floating;
}

void read_motion(const TomlReader& table, const Model& model, SceneFiles& files, Control& control) {
  if (!table.has("motion")) return;
  const fs::path file = files.find(table, "motion");
  table.blame("motion", [&] { control.motion = std::make_shared<const Motion>(load_motion(file, model)); });
}

void read_joint_control(const TomlReader& joints, const std::string& name, const JointFinder& finder,
                        Control& control) {
  const Joint& joint = find_joint(joints, finder, name);
  if (!has_motor(joint.type))
    joints.fail(name, fmt::format("a {} joint takes no control, expected revolute, continuous, prismatic or ball",
                                  joint_type_name(joint.type)));
  const int nq = position_count(joint.type), nv = velocity_count(joint.type);
  const TomlReader table = *joints.table(name);
  table.check_keys({"kp", "kd", "target", "target_velocity", "torque"});
  for (const char* key : {"target", "target_velocity"})
    if (control.motion && nv == 1 && table.number(key)) table.fail(key, "given beside motion, expected one of the two");
  const auto set = [&](const char* key, auto field, const std::optional<std::vector<double>>& value) {
    if (!value) return;
    field = Eigen::VectorXd::Map(value->data(), std::ssize(*value));
    table.blame(key, [&] { check_joint_control(control, joint); });
  };
  const auto set_gain = [&](const char* key, auto field) {
    if (const auto gain = table.number(key)) set(key, field, std::vector<double>(static_cast<size_t>(nv), *gain));
  };
  set_gain("kp", control.kp.segment(joint.v_index, nv));
  set_gain("kd", control.kd.segment(joint.v_index, nv));
  set("target", control.target.segment(joint.q_index, nq), table.numbers("target", nq));
  set("target_velocity", control.target_velocity.segment(joint.v_index, nv), table.numbers("target_velocity", nv));
  set("torque", control.torque.segment(joint.v_index, nv), table.numbers("torque", nv));
}

// Gains from mass and inertia.
void read_hold(const TomlReader& table, const Model& model, const Vec3& gravity, const Eigen::VectorXd& q0,
               Control& control) {
  const auto frequency = table.number("frequency"), damping_ratio = table.number("damping_ratio");
  if (!table.boolean("hold").value_or(false)) {
    for (const char* key : {"frequency", "damping_ratio"})
      if (table.has(key)) table.fail(key, "is for hold = true, expected that beside it");
    return;
  }
  for (const char* key : {"kp", "kd"})
    if (table.has(key)) table.fail(key, "given beside hold, expected one of the two");
  HoldOptions options;
  const auto set = [&](const char* key, double& field, const std::optional<double>& value) {
    if (!value) return;
    field = *value;
    table.blame(key, [&] { options.validate(); });
  };
  set("frequency", options.frequency, frequency);
  set("damping_ratio", options.damping_ratio, damping_ratio);
  table.blame("hold", [&] { hold_pose(model, q0, gravity, control, options); });
}

// Without a target a joint holds its initial position.
Control read_control(const TomlReader& scene, const Model& model, SceneFiles& files, const Vec3& gravity,
                     const Eigen::VectorXd& q0) {
  Control control(model);
  control.target = q0;
  const auto table = scene.table("control");
  if (!table) return control;
  table->check_keys({"kp", "kd", "hold", "frequency", "damping_ratio", "motion", "joint"});
  const auto set_all = [&](const char* key, Eigen::VectorXd& field) {
    const double gain = table->number(key).value_or(0);
    for (const Joint& joint : model.joints())
      if (has_motor(joint.type)) field.segment(joint.v_index, velocity_count(joint.type)).setConstant(gain);
    table->blame(key, [&] { control.validate(model); });
  };
  set_all("kp", control.kp);
  set_all("kd", control.kd);
  read_hold(*table, model, gravity, q0, control);
  read_motion(*table, model, files, control);
  const JointFinder finder(model);
  if (const auto joints = table->table("joint"))
    for (const std::string& name : joints->keys()) read_joint_control(*joints, name, finder, control);
  return control;
}

// Rows are `step` apart, which the scene calls `name`.
void check_horizon(const std::string& file, const char* name, double step, double duration) {
  const auto refuse = [&](const std::string& what) { throw InputError(fmt::format("{}: {}", file, what)); };
  if (!(duration > 0 && std::isfinite(duration)))
    refuse(fmt::format("duration is {} s, expected a finite number > 0", duration));
  if (!(step > 0 && step <= duration))
    refuse(fmt::format("{} is {} s, expected > 0 and at most the duration {} s", name, step, duration));
  if (duration / step > kMostSteps)
    refuse(fmt::format("duration {} s at {} {} s takes {:.3g} steps, expected at most {:g}", duration, name, step,
                       duration / step, kMostSteps));
}

// The step is chosen by the engine if accuracy is asked for, on the command line or in the scene, and dt is not given
// there. Otherwise dt is as given.
double choose_output(const std::string& file, const StepKeys& keys, const SceneOverrides& overrides, double duration,
                     StepOptions& options) {
  const auto& accuracy = overrides.accuracy ? overrides.accuracy : keys.accuracy;
  const bool asked = accuracy.value_or(0) > 0;
  const bool dt_given = overrides.dt || (!overrides.accuracy && keys.dt);
  if (asked) {
    options.accuracy = *accuracy;
    try {
      check_accuracy(options.integrator);
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}: {}", file, error.what()));
    }
  } else if (accuracy) {
    options.accuracy = *accuracy;
  }
  if (asked && !dt_given) {
    const double output = overrides.output.value_or(keys.output.value_or(std::min(kOutput, duration)));
    check_horizon(file, "output", output, duration);
    options.dt = std::min(kLargestStep, duration);
    return output;
  }
  if (overrides.output)
    throw InputError(fmt::format(
        "{}: output is {} s, which is for steps the engine chooses, expected accuracy > 0 and no dt beside it", file,
        *overrides.output));
  if (overrides.dt) options.dt = *overrides.dt;
  options.validate();
  check_horizon(file, "dt", options.dt, duration);
  return 0;
}

}  // namespace

Scene read_scene(std::string text, const fs::path& folder, const std::string& name, const std::string& title_of_none,
                 const SceneOverrides& overrides, std::optional<GivenModel> given) {
  const toml::table root = parse_toml(text, name);
  const TomlReader scene(root, name);
  scene.check_keys({"title", "model", "search_path", "base", "strict", "duration", "gravity", "step", "initial",
                    "control", "contact", "environment", "batch"});
  scene.require("model");
  scene.require("duration");

  const std::string title = scene.string("title").value_or(title_of_none);
  if (title.size() > kLongestTitle)
    scene.fail("title", fmt::format("{} bytes long, expected at most {}", title.size(), kLongestTitle));
  double duration = *scene.number("duration");
  if (!(duration > 0)) scene.fail("duration", fmt::format("{}, expected > 0 s", duration));
  SceneFiles files(folder);
  World world;
  if (const auto gravity = scene.numbers("gravity", 3, kMostGravity)) world.gravity = Vec3(gravity->data());
  read_environment(scene, files, world);
  const bool has_ground = !world.colliders.empty();
  const StepKeys keys = read_step_options(scene);
  StepOptions options = keys.options;

  ImportReport report;
  if (given) {
    report = std::move(given->report);
    files.add(report.files);
  }
  Model model = given ? std::move(given->model) : read_model(scene, files, overrides, report);
  Eigen::VectorXd q0 = model.neutral_position(), v0 = Eigen::VectorXd::Zero(model.nv());
  read_initial_state(scene, model, q0, v0);
  const bool initial = scene.table("initial").has_value();
  std::vector<std::string> warnings;
  std::vector<LimitViolation> clamped = read_clamp(scene, model, overrides, q0, warnings);
  read_contact(scene, files, model, world);
  read_drop(scene, name, model, world, overrides, q0);
  Control control = read_control(scene, model, files, world.gravity, q0);
  BatchVariation batch = read_batch_variation(scene, model, control, world);

  options.integrator = default_integrator(world);
  if (overrides.default_integrator) options.integrator = *overrides.default_integrator;
  if (keys.integrator) options.integrator = *keys.integrator;
  if (overrides.integrator) options.integrator = *overrides.integrator;
  if (has_ground) {
    scene.blame(knows_contact(options.integrator) ? "contact" : "environment",
                [&] { check_contact(options.integrator, *world.law); });
  }
  if (has_ground && options.integrator == IntegratorType::event)
    scene.blame(initial ? "initial" : "model", [&] { check_clear(model, world, options.event, q0); });
  if (overrides.duration) duration = *overrides.duration;
  const double output = choose_output(name, keys, overrides, duration, options);
  options.validate();
  return {.file = {},
          .title = title,
          .model = std::move(model),
          .import_report = std::move(report),
          .options = options,
          .output = output,
          .q0 = std::move(q0),
          .v0 = std::move(v0),
          .control = std::move(control),
          .world = std::move(world),
          .duration = duration,
          .batch = std::move(batch),
          .text = std::move(text),
          .files = files.found(),
          .clamped = std::move(clamped),
          .warnings = std::move(warnings)};
}

Scene load_scene(const fs::path& file, const SceneOverrides& overrides) {
  Scene scene = read_scene(read_file(file), file.parent_path(), file.string(), file.stem().string(), overrides);
  scene.file = file;
  scene.files.insert(scene.files.begin(), file);
  return scene;
}

Scene parse_scene(std::string text, const fs::path& folder, const SceneOverrides& overrides, const std::string& name) {
  Scene scene = read_scene(std::move(text), folder, name, name, overrides);
  scene.file = folder / name;
  return scene;
}

}  // namespace scree
