#include "scree/scene.h"

#include <fmt/format.h>

#include <cmath>

#include "sim/base_type.h"
#include "sim/scene_contact.h"
#include "sim/toml_reader.h"

namespace scree {
namespace {

namespace fs = std::filesystem;

constexpr double kMostSteps = 1e8;
constexpr size_t kLongestTitle = 200;

Model read_model(const TomlReader& scene, const fs::path& folder, const SceneOverrides& overrides,
                 ImportReport& report) {
  std::error_code error;
  UrdfOptions options;
  options.search_path = overrides.search_path;
  for (const std::string& entry : scene.strings("search_path").value_or(std::vector<std::string>{})) {
    if (!fs::is_directory(folder / entry, error))
      scene.fail("search_path", fmt::format("no such directory \"{}\"", entry));
    options.search_path.push_back(folder / entry);
  }
  if (const auto base = scene.string("base")) scene.blame("base", [&] { options.base = base_type_from_name(*base); });
  options.repair_inertia = scene.boolean("repair_inertia").value_or(false) || overrides.repair_inertia;
  const std::string name = *scene.string("model");
  const fs::path file = folder / name;
  if (name.empty() || !fs::exists(file, error)) scene.fail("model", fmt::format("no such file \"{}\"", file.string()));
  return load_urdf(file, options, &report);
}

StepOptions read_step_options(const TomlReader& scene, bool has_ground) {
  StepOptions options;
  if (has_ground) options.integrator = IntegratorType::ne_nmdp;
  const auto step = scene.table("step");
  if (!step) return options;
  step->check_keys({"integrator", "dt", "gravity", "tolerance", "max_iterations", "max_halvings", "max_turn",
                    "dissipation", "max_outer", "explicit_pd"});
  // Everything not yet read is at its valid default, so a failing check blames the key just read.
  const auto set = [&](const char* key, auto& field, const auto& value) {
    if (!value) return;
    field = *value;
    step->blame(key, [&] { options.validate(); });
  };
  if (const auto name = step->string("integrator"))
    step->blame("integrator", [&] { options.integrator = integrator_from_name(*name); });
  set("dt", options.dt, step->number("dt"));
  if (const auto g = step->numbers("gravity", 3)) set("gravity", options.gravity, std::optional(Vec3(g->data())));
  set("tolerance", options.tolerance, step->number("tolerance"));
  set("max_iterations", options.max_iterations, step->integer("max_iterations"));
  set("max_halvings", options.max_halvings, step->integer("max_halvings"));
  set("max_turn", options.max_turn, step->number("max_turn"));
  if (const auto name = step->string("dissipation"))
    step->blame("dissipation", [&] { options.dissipation = dissipation_from_name(*name); });
  set("max_outer", options.max_outer, step->integer("max_outer"));
  set("explicit_pd", options.explicit_pd, step->boolean("explicit_pd"));
  return options;
}

const Joint& find_joint(const TomlReader& table, const Model& model, const std::string& name) {
  const Joint* joint = nullptr;
  table.blame(name, [&] { joint = &model.joint(model.find_joint(name)); });
  if (joint->type == JointType::fixed) table.fail(name, "a fixed joint has nothing to set");
  return *joint;
}

void read_initial_state(const TomlReader& scene, const Model& model, Eigen::VectorXd& q, Eigen::VectorXd& v) {
  const auto initial = scene.table("initial");
  if (!initial) return;
  initial->check_keys({"position", "velocity"});
  if (const auto position = initial->table("position")) {
    for (const std::string& name : position->keys()) {
      const Joint& joint = find_joint(*position, model, name);
      const std::vector<double> value = *position->numbers(name, position_count(joint.type));
      q.segment(joint.q_index, position_count(joint.type)) = Eigen::VectorXd::Map(value.data(), std::ssize(value));
      position->blame(name, [&] { q = make_state(model, q, v).q; });
    }
  }
  if (const auto velocity = initial->table("velocity")) {
    for (const std::string& name : velocity->keys()) {
      const Joint& joint = find_joint(*velocity, model, name);
      const std::vector<double> value = *velocity->numbers(name, velocity_count(joint.type));
      v.segment(joint.v_index, velocity_count(joint.type)) = Eigen::VectorXd::Map(value.data(), std::ssize(value));
      velocity->blame(name, [&] { make_state(model, q, v); });
    }
  }
}

// The base of a robot has no motor.
bool has_motor(JointType type) {
  return type != JointType::fixed && type != JointType::planar && type != JointType::floating;
}

void read_motion(const TomlReader& table, const Model& model, const fs::path& folder, Control& control) {
  const auto name = table.string("motion");
  if (!name) return;
  std::error_code error;
  const fs::path file = folder / *name;
  if (name->empty() || !fs::exists(file, error))
    table.fail("motion", fmt::format("no such file \"{}\"", file.string()));
  table.blame("motion", [&] { control.motion = std::make_shared<const Motion>(load_motion(file, model)); });
}

void read_joint_control(const TomlReader& joints, const std::string& name, const Model& model, Control& control) {
  const Joint& joint = find_joint(joints, model, name);
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
    table.blame(key, [&] { control.validate(model); });
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

// Without a target a joint holds its initial position.
Control read_control(const TomlReader& scene, const Model& model, const fs::path& folder, const Eigen::VectorXd& q0) {
  Control control(model);
  control.target = q0;
  const auto table = scene.table("control");
  if (!table) return control;
  table->check_keys({"kp", "kd", "motion", "joint"});
  const auto set_all = [&](const char* key, Eigen::VectorXd& field) {
    const double gain = table->number(key).value_or(0);
    for (const Joint& joint : model.joints())
      if (has_motor(joint.type)) field.segment(joint.v_index, velocity_count(joint.type)).setConstant(gain);
    table->blame(key, [&] { control.validate(model); });
  };
  set_all("kp", control.kp);
  set_all("kd", control.kd);
  read_motion(*table, model, folder, control);
  if (const auto joints = table->table("joint"))
    for (const std::string& name : joints->keys()) read_joint_control(*joints, name, model, control);
  return control;
}

void check_horizon(const std::string& file, double dt, double duration) {
  const auto refuse = [&](const std::string& what) { throw InputError(fmt::format("{}: {}", file, what)); };
  if (!(duration > 0 && std::isfinite(duration)))
    refuse(fmt::format("duration is {} s, expected a finite number > 0", duration));
  if (dt > duration) refuse(fmt::format("dt is {} s, expected at most the duration {} s", dt, duration));
  if (duration / dt > kMostSteps)
    refuse(fmt::format("duration {} s at dt {} s takes {:.3g} steps, expected at most {:g}", duration, dt,
                       duration / dt, kMostSteps));
}

}  // namespace

Scene load_scene(const fs::path& file, const SceneOverrides& overrides) {
  std::string text;
  const toml::table root = parse_toml_file(file, text);
  const TomlReader scene(root, file.string());
  scene.check_keys({"title", "model", "search_path", "base", "repair_inertia", "duration", "step", "initial", "control",
                    "contact", "environment"});
  scene.require("model");
  scene.require("duration");

  const std::string title = scene.string("title").value_or(file.stem().string());
  if (title.size() > kLongestTitle)
    scene.fail("title", fmt::format("{} bytes long, expected at most {}", title.size(), kLongestTitle));
  double duration = *scene.number("duration");
  if (!(duration > 0)) scene.fail("duration", fmt::format("{}, expected > 0 s", duration));
  Environment environment = read_environment(scene, file.parent_path());
  const bool has_ground = !environment.solids().empty();
  StepOptions options = read_step_options(scene, has_ground);

  ImportReport report;
  Model model = read_model(scene, file.parent_path(), overrides, report);
  Eigen::VectorXd q0 = model.neutral_position(), v0 = Eigen::VectorXd::Zero(model.nv());
  read_initial_state(scene, model, q0, v0);
  Control control = read_control(scene, model, file.parent_path(), q0);
  ContactWorld world = read_contact(scene, file.parent_path(), model, std::move(environment));

  if (overrides.dt) options.dt = *overrides.dt;
  if (overrides.integrator) options.integrator = *overrides.integrator;
  options.validate();
  if (has_ground) {
    scene.blame(knows_contact(options.integrator) ? "contact" : "environment",
                [&] { check_contact(options.integrator, *world.law); });
  }
  if (overrides.duration) duration = *overrides.duration;
  check_horizon(file.string(), options.dt, duration);
  return {.file = file,
          .title = title,
          .model = std::move(model),
          .import_report = std::move(report),
          .options = options,
          .q0 = std::move(q0),
          .v0 = std::move(v0),
          .control = std::move(control),
          .world = std::move(world),
          .duration = duration,
          .text = std::move(text)};
}

}  // namespace scree
