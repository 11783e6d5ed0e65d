// The scene of a robot that nobody wrote one for.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scene/base_type.h"
#include "scene/scene_reader.h"
#include "scree/error.h"

namespace scree {
namespace {

namespace fs = std::filesystem;

constexpr double kDuration = 5;  // [s]
// Three points that carry the robot are as deep as this, or as a five-hundredth of its size where that is less. Dropped
// from 2 cm most robots come to rest less than 2 mm deep; firmer ground makes steps of 50 ms with an impact slow.
// Springs of smooth contact are five times as soft, and damped.
constexpr double kStandingDepth = 7e-4;                // [m]
constexpr double kSmoothPart = 5, kSmoothDamping = 5;  // [s/m]

// As a TOML string. Control characters stay, the reader refuses them.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

// `file` as `folder` names it. The last part stays what it is: beside a link there may be meshes of its own.
std::string relative_to(const fs::path& file, const fs::path& folder) {
  const fs::path full = fs::absolute(file);
  std::error_code error;
  const fs::path parent = fs::relative(full.parent_path(), fs::absolute(folder), error);
  if (error || parent.empty()) return full.string();
  return (parent == "." ? full.filename() : parent / full.filename()).string();
}

const char* base_name_of(JointType type) {
  return type == JointType::floating ? "floating" : type == JointType::planar ? "planar" : "fixed";
}

bool has_points(const Model& model) {
  const auto touches = [](const Shape& shape) {
    return shape.role == ShapeRole::collision && shape.body != kWorld &&
           !std::holds_alternative<Plane>(shape.geometry) &&
           !std::holds_alternative<std::shared_ptr<const HeightField>>(shape.geometry);
  };
  return !model.contact_points().empty() || std::ranges::any_of(model.shapes(), touches);
}

struct Description {
  fs::path urdf;
  std::string base = {};  // empty: the text does not say
  bool floor = false;
  double depth = 0, smooth_depth = 0;  // > 0 [m] of points that carry their share; 0: not said
};

// theory (18.3)
void choose_depths(const Scene& scene, Description& robot) {
  const double points = static_cast<double>(scene.world.body_colliders());
  const double standing = std::min(kStandingDepth, 2 * firm_depth(scene.model, scene.world));
  const double of_three = std::min(3.0, points) / points;  // share over what each of three points carries
  robot.depth = std::max(1e-6, standing * std::pow(of_three, 1.0 / CoulombOptions{}.exponent));
  robot.smooth_depth =
      std::max(1e-6, kSmoothPart * standing * std::pow(of_three, 1 / SmoothContactOptions{}.normal_exponent));
}

std::string format_scene(const Description& robot, const RobotSceneOptions& options) {
  const SceneOverrides& given = options.overrides;
  const fs::path folder =
      options.folder.empty() ? fs::absolute(robot.urdf).parent_path() : fs::absolute(options.folder);
  std::string text =
      fmt::format("# {} and holds its pose.\n", robot.floor ? "The robot stands on a floor" : "The robot has no floor");
  text += fmt::format("title = {}\n", quoted(robot.urdf.stem().string()));
  text += fmt::format("model = {}\n", quoted(relative_to(robot.urdf, folder)));
  if (!given.search_path.empty()) {
    std::string list;
    for (const fs::path& path : given.search_path)
      list += (list.empty() ? "" : ", ") + quoted(relative_to(path / "", folder));
    text += fmt::format("search_path = [{}]\n", list);
  }
  if (!robot.base.empty()) text += fmt::format("base = \"{}\"\n", robot.base);
  if (given.strict) text += "strict = true\n";
  text += fmt::format("duration = {}  # s\n", given.duration.value_or(kDuration));

  text += "\n[step]\n";
  if (given.integrator) text += fmt::format("integrator = \"{}\"\n", integrator_name(*given.integrator));
  if (given.dt) text += fmt::format("dt = {}  # s\n", *given.dt);
  if (given.accuracy) text += fmt::format("accuracy = {}  # m\n", *given.accuracy);
  if (given.output) text += fmt::format("output = {}  # s\n", *given.output);
  text += "explicit_pd = false  # motors this stiff are implicit, whatever the integrator\n";

  text += "\n[initial]\nclamp = true  # joints that zero is outside the limits of start at the limit\n";
  if (robot.floor)
    text += fmt::format("drop = {}  # m from the lowest point that may touch to the floor\n", given.drop.value_or(0));
  text += "\n[control]\nhold = true  # the pose, with gains from mass and inertia\n";
  if (robot.floor) text += "\n[[environment]]\nshape = \"plane\"  # z = 0\n";
  if (robot.depth > 0)
    text += fmt::format(
        "\n[contact]\ndepth = {}  # m where a point carries its share of the weight\nsmooth.depth = {}\nsmooth.damping "
        "= {}  # s/m\n",
        robot.depth, robot.smooth_depth, kSmoothDamping);
  return text;
}

Scene make_scene(GivenModel given, Description robot, const RobotSceneOptions& options) {
  const std::string name = robot.urdf.string() + " (its scene)";  // whose lines are not those of the model
  const bool lifts = can_be_lifted(given.model);
  robot.floor = lifts && has_points(given.model);
  SceneOverrides overrides = options.overrides;
  if (overrides.drop && !(*overrides.drop >= 0))
    throw InputError(fmt::format("drop is {}, expected a number >= 0 m", *overrides.drop));
  if (!lifts && overrides.drop)
    throw InputError(fmt::format("{}: drop: the base is {} and cannot move up and down, expected a floating one", name,
                                 robot.base.empty() ? "fixed" : robot.base));
  std::vector<std::string> warnings;
  if (lifts && !robot.floor) {
    overrides.drop.reset();
    warnings.push_back(
        "nothing of the robot can touch a floor (no collision shapes, no contact points): it falls, for "
        "as long as it is simulated");
  }
  // Read without the numbers that the caller gave, and these as overrides: their errors speak of them, not of a text
  // that nobody wrote.
  RobotSceneOptions plain = options;
  plain.overrides = {};
  Scene scene = read_scene(format_scene(robot, plain), fs::absolute(robot.urdf).parent_path(), name,
                           robot.urdf.stem().string(), overrides, std::move(given));
  if (robot.floor) {
    choose_depths(scene, robot);
    scene.world.law = make_coulomb({.depth = robot.depth});
    scene.world.smooth.depth = robot.smooth_depth;
    scene.world.smooth.damping = kSmoothDamping;
  }
  scene.file = robot.urdf;
  scene.text = format_scene(robot, options);
  scene.warnings.insert(scene.warnings.begin(), warnings.begin(), warnings.end());
  return scene;
}

}  // namespace

Scene robot_scene(const fs::path& urdf, const RobotSceneOptions& options) {
  UrdfOptions reading;
  reading.search_path = options.overrides.search_path;
  reading.strict = options.overrides.strict;
  reading.base = options.base;
  reading.default_base = BaseType::floating;
  ImportReport report;
  Model model = load_urdf(urdf, reading, &report);
  const bool root_is_world =
      std::ranges::any_of(report.entries, [](const ImportEntry& entry) { return entry.place == "robot/link[world]"; });
  Description robot{.urdf = urdf};
  if (!root_is_world || options.base != BaseType::as_file)
    robot.base = base_name_of(model.bodies().empty() ? JointType::fixed : model.joints().front().type);
  return make_scene({std::move(model), std::move(report)}, std::move(robot), options);
}

Scene robot_scene(Model model, const RobotSceneOptions& options, const fs::path& urdf) {
  Description robot{.urdf = urdf};
  robot.base = base_name_of(model.bodies().empty() ? JointType::fixed : model.joints().front().type);
  return make_scene({std::move(model), {.file = urdf.string(), .entries = {}}}, std::move(robot), options);
}

}  // namespace scree
