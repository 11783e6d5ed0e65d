#include "scree/scene.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "scree/error.h"
#include "scree/run.h"
#include "support/malformed_scenes.h"
#include "support/paths.h"
#include "support/temp_folder.h"

namespace scree {
namespace {

const std::filesystem::path kScenes = std::filesystem::path(source_dir()) / "tests/data/scenes";

void copy_models(const TempFolder& folder) {
  for (const char* name : {"pendulum.urdf", "joints.urdf", "wedge.obj", "block.urdf", "terrain.csv", "holes.csv"})
    std::filesystem::copy_file(kScenes / name, folder / name);
}

std::string message_of(const std::filesystem::path& file, const SceneOverrides& overrides = {}) {
  try {
    load_scene(file, overrides);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

Eigen::VectorXd vector(std::initializer_list<double> values) {
  return Eigen::VectorXd::Map(values.begin(), std::ssize(values));
}

TEST(Scene, ReadsEveryKey) {
  const Scene scene = load_scene(kScenes / "joints.toml");
  EXPECT_EQ(scene.title, "Joints");
  EXPECT_EQ(scene.duration, 0.1);
  EXPECT_EQ(scene.options.integrator, IntegratorType::pbd);
  EXPECT_EQ(scene.options.dt, 0.01);
  EXPECT_EQ(scene.world.gravity, Vec3(0, 0, -1.62));
  EXPECT_EQ(scene.options.tolerance, 1e-9);
  EXPECT_EQ(scene.options.max_iterations, 40);
  EXPECT_EQ(scene.options.max_halvings, 10);
  EXPECT_EQ(scene.options.max_turn, 0.4);

  const auto joint = [&](const char* name) { return scene.model.joint(scene.model.find_joint(name)); };
  const auto q = [&](const char* name, int count) {
    return Eigen::VectorXd(scene.q0.segment(joint(name).q_index, count));
  };
  const auto v = [&](const Eigen::VectorXd& x, const char* name, int count) {
    return Eigen::VectorXd(x.segment(joint(name).v_index, count));
  };
  EXPECT_TRUE(q("base", 7).isApprox(vector({0, 0, 2, 0.6, 0.8, 0, 0}), 1e-15));  // normalised: one rounding
  EXPECT_TRUE(q("shoulder", 4).isApprox(vector({0.8, 0, 0.6, 0}), 1e-15));
  EXPECT_EQ(q("slide", 1), vector({0.05}));
  EXPECT_EQ(q("top", 3), vector({0.1, 0.2, 0.3}));
  EXPECT_EQ(q("hinge", 1), vector({0.4}));
  EXPECT_EQ(v(scene.v0, "base", 6), vector({1, 0, 0, 0, 2, 0}));
  EXPECT_EQ(v(scene.v0, "shoulder", 3), vector({0.1, 0.2, 0.3}));
  EXPECT_EQ(v(scene.v0, "hinge", 1), vector({-0.5}));

  const Control& control = scene.control;
  EXPECT_EQ(v(control.kp, "slide", 1), vector({10}));
  EXPECT_EQ(v(control.kp, "shoulder", 3), vector({20, 20, 20}));
  EXPECT_EQ(v(control.kd, "shoulder", 3), vector({1, 1, 1}));
  EXPECT_EQ(v(control.kd, "hinge", 1), vector({2}));
  EXPECT_EQ(v(control.kp, "base", 6), Eigen::VectorXd(Eigen::VectorXd::Zero(6))) << "a base has no motor";
  EXPECT_EQ(v(control.kp, "top", 3), Eigen::VectorXd(Eigen::VectorXd::Zero(3)));
  EXPECT_EQ(v(control.target_velocity, "shoulder", 3), vector({0, 0, 0.1}));
  EXPECT_EQ(v(control.torque, "shoulder", 3), vector({0.1, 0.2, 0.3}));
  EXPECT_EQ(v(control.torque, "hinge", 1), vector({-3}));
  EXPECT_EQ(control.target(joint("hinge").q_index), 0.2);
  EXPECT_EQ(control.target(joint("slide").q_index), 0.05) << "without a target a joint holds its initial position";
}

std::vector<Collider> ground_of(const Scene& scene) {
  std::vector<Collider> ground = scene.world.colliders;
  std::erase_if(ground, [](const Collider& collider) { return collider.body != kWorld; });
  return ground;
}

TEST(Scene, ReadsEveryKeyOfTheGround) {
  const Scene scene = load_scene(kScenes / "ground.toml");
  EXPECT_EQ(scene.options.integrator, IntegratorType::pbd_nmdp);
  EXPECT_EQ(scene.options.dissipation, Dissipation::total);
  EXPECT_EQ(scene.options.max_outer, 123);
  EXPECT_FALSE(scene.options.explicit_pd);
  EXPECT_EQ(scene.world.body_colliders(), 8u);

  // law: v_0 = (c d^p + zeta) (mu, 0, 1)
  ASSERT_EQ(scene.world.law->vertex_count(), 8);
  Wrenches vertices(6, 8);
  ContactGeometry geometry;
  geometry.depth = 0.1;
  geometry.R_CB.setIdentity();
  geometry.friction = scene.world.surface.friction;
  scene.world.law->vertices(geometry, vertices);
  EXPECT_NEAR(vertices(2, 0), 2e14 * 0.01 + 0.5, 1);  // 2e12 N in doubles
  EXPECT_NEAR(vertices(0, 0) / vertices(2, 0), 0.4, 1e-15);

  const std::vector<Collider> ground = ground_of(scene);
  ASSERT_EQ(ground.size(), 7u);
  const auto distance = [&](size_t k, double x, double y, double z) {
    return scree::distance(ground[k], Vec3(x, y, z)).value;
  };
  EXPECT_EQ(ground[0].name, "floor");
  EXPECT_EQ(distance(0, 5, 6, 0.75), 0.25);
  // The slope climbs along +y here: at (1, 2 + t, 3 + t tan 0.1) it is at its surface.
  EXPECT_EQ(ground[1].name, "slope");
  EXPECT_NEAR(distance(1, -4, 2.5, 3 + 0.5 * std::tan(0.1)), 0, 1e-15);
  EXPECT_NEAR(distance(1, 1, 2, 4), std::cos(0.1), 1e-15);
  // Boxes turned by a quarter about z, in two ways.
  for (const size_t k : {2u, 3u}) EXPECT_NEAR(distance(k, 1, 4, 0.25), 2, 1e-14) << "half of 4 m along y";
  // Two steps climbing along -x from (10, 0, 0).
  EXPECT_EQ(ground[5].name, "stairs/step2");
  EXPECT_NEAR(distance(4, 9.9, 0, 0.5), 0.3, 1e-14);
  EXPECT_NEAR(distance(5, 9.6, 0, 0.5), 0.1, 1e-14);
  EXPECT_NEAR(distance(5, 7.9, 0, 0.3), 0.3, 1e-14) << "beyond 0.3 m of tread and 1.5 m of landing";
  // The file reads as a map: its last row lies at the origin's y.
  const auto& field = std::get<std::shared_ptr<const HeightField>>(ground[6].shape);
  EXPECT_EQ(field->spacing(), 0.5);
  EXPECT_NEAR(field->height(-1, -2).value, 0.4, 1e-15);
  EXPECT_NEAR(field->height(1, -2).value, 0.8, 1e-15);
  EXPECT_NEAR(field->height(-1, -0.5).value, 0.1, 1e-15);
}

TEST(Scene, TheIntegratorIsOfSecondOrderUnlessTheSceneChooses) {
  const TempFolder folder;
  copy_models(folder);
  const std::string block = "model = \"block.urdf\"\nduration = 0.1\n", plane = "[[environment]]\nshape = \"plane\"\n";
  const auto load = [&](const std::string& text, const SceneOverrides& overrides = {}) {
    return load_scene(folder.write("scene.toml", text), overrides);
  };
  EXPECT_EQ(load(block).options.integrator, IntegratorType::pbd_nmdp2);
  EXPECT_TRUE(ground_of(load(block)).empty());
  EXPECT_EQ(load(block + plane).options.integrator, IntegratorType::pbd_nmdp2);
  EXPECT_EQ(ground_of(load(block + "environment = [{shape = \"plane\"}]\n")).size(), 1u);
  EXPECT_EQ(load(block + plane + "[step]\nintegrator = \"ne-mdp\"\n").options.integrator, IntegratorType::ne_mdp);
  EXPECT_EQ(load(block + "[step]\nintegrator = \"ne-mdp\"\n").options.integrator, IntegratorType::ne_mdp)
      << "nothing to touch is fine";
  SceneOverrides overrides;
  overrides.integrator = IntegratorType::pbd_nmdp;
  EXPECT_EQ(load(block + plane, overrides).options.integrator, IntegratorType::pbd_nmdp);
  overrides.integrator = IntegratorType::rk4;
  EXPECT_NE(message_of(folder.write("scene.toml", block + plane), overrides).find("\"rk4\" knows no contact"),
            std::string::npos);
}

TEST(Scene, HasDefaultsForWhatIsNotRequired) {
  const TempFolder folder;
  copy_models(folder);
  const Scene scene = load_scene(folder.write("swing.toml", "model = \"pendulum.urdf\"\nduration = 2\n"));
  EXPECT_EQ(scene.title, "swing");
  EXPECT_EQ(scene.duration, 2);
  EXPECT_EQ(scene.options.dt, StepOptions().dt);
  EXPECT_EQ(scene.world.gravity, World().gravity);
  EXPECT_EQ(scene.q0, scene.model.neutral_position());
  EXPECT_EQ(scene.control.kp, Eigen::VectorXd(Eigen::VectorXd::Zero(1)));
}

TEST(Scene, FromTextIsTheSameAsFromAFile) {
  const std::string text = read_bytes(kScenes / "joints.toml");
  const Scene file = load_scene(kScenes / "joints.toml"), parsed = parse_scene(text, kScenes);
  EXPECT_EQ(parsed.text, file.text);
  EXPECT_EQ(parsed.q0, file.q0);
  EXPECT_EQ(parsed.v0, file.v0);
  EXPECT_EQ(parsed.control.kp, file.control.kp);
  EXPECT_EQ(parsed.options.integrator, file.options.integrator);
  EXPECT_EQ(parsed.options.dt, file.options.dt);
  EXPECT_EQ(parsed.duration, file.duration);
  ASSERT_EQ(parsed.files.size() + 1, file.files.size()) << "it has no file of its own";
  EXPECT_TRUE(std::equal(parsed.files.begin(), parsed.files.end(), file.files.begin() + 1));
  EXPECT_EQ(run_scene(parsed).final_state_hash, run_scene(file).final_state_hash);

  const std::string bare = "model = \"pendulum.urdf\"\nduration = 2\n";
  EXPECT_EQ(parse_scene(bare, kScenes, {}, "swing").title, "swing");
  SceneOverrides overrides;
  overrides.duration = 3;
  EXPECT_EQ(parse_scene(bare, kScenes, overrides).duration, 3);

  const auto message = [](const std::string& broken, const std::string& name) -> std::string {
    try {
      parse_scene(broken, kScenes, {}, name);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message(bare + "[step]\ndt = -1\n", "swing"),
            "swing:4: step.dt: step: dt is -1, expected a number in [1e-9, 10] s");
  EXPECT_EQ(message(bare + "[step]\nintegrator = \"euler\"\n", "swing").find("swing:4: step.integrator: "), 0u);
  EXPECT_EQ(message(bare + "x = [0, }\n", "a text").find("a text:3: "), 0u);
  EXPECT_EQ(message("duration = 1\n", "swing").find("swing: "), 0u);
}

// A program that names nothing gets what a scene that names nothing gets.
TEST(Scene, DefaultsAreThoseOfCpp) {
  const Scene scene = parse_scene("model = \"pendulum.urdf\"\nduration = 2\n", kScenes);
  const StepOptions options;
  EXPECT_EQ(scene.options.integrator, options.integrator);
  EXPECT_EQ(options.integrator, IntegratorType::pbd_nmdp2);
  EXPECT_EQ(scene.options.explicit_pd, options.explicit_pd);
  EXPECT_EQ(scene.options.dissipation, options.dissipation);
  EXPECT_EQ(scene.options.solver, options.solver);
  EXPECT_EQ(scene.options.optimizer, options.optimizer);
  EXPECT_EQ(scene.options.tolerance, options.tolerance);
  EXPECT_EQ(scene.options.accuracy, options.accuracy);
  EXPECT_EQ(scene.options.max_iterations, options.max_iterations);
  EXPECT_EQ(scene.options.max_halvings, options.max_halvings);
  EXPECT_EQ(scene.options.max_turn, options.max_turn);
  EXPECT_EQ(scene.options.max_outer, options.max_outer);
}

TEST(Scene, OverridesWinAndAreChecked) {
  SceneOverrides overrides;
  overrides.dt = 0.005;
  overrides.duration = 3;
  overrides.integrator = IntegratorType::pbd;
  const Scene scene = load_scene(kScenes / "pendulum.toml", overrides);
  EXPECT_EQ(scene.options.dt, 0.005);
  EXPECT_EQ(scene.duration, 3);
  EXPECT_EQ(scene.options.integrator, IntegratorType::pbd);

  overrides.dt = -1;
  EXPECT_NE(message_of(kScenes / "pendulum.toml", overrides).find("dt is -1"), std::string::npos);
  overrides.dt = 0.005;
  overrides.duration = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(message_of(kScenes / "pendulum.toml", overrides).find("duration is nan"), std::string::npos);
}

TEST(Scene, MistakesNameFileLineAndKeyOnOneLine) {
  const TempFolder folder;
  copy_models(folder);
  for (const MalformedScene& scene : malformed_scenes()) {
    const std::filesystem::path file = folder.write("scene.toml", scene.text);
    const std::string message = message_of(file);
    EXPECT_NE(message.find(scene.expected), std::string::npos) << scene.name << ": " << message;
    EXPECT_NE(message.find(folder.path().string()), std::string::npos) << scene.name << ": " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << scene.name << ": " << message;
    EXPECT_LT(message.size(), 1000u) << scene.name;
  }
}

TEST(Scene, LongStringsWithDotsAreNotMistakenForKeys) {
  const TempFolder folder;
  copy_models(folder);
  const std::string dots(100, '.');
  const Scene scene =
      load_scene(folder.write("scene.toml", "# " + dots + "\ntitle = \"" + dots + "\\\"" + dots.substr(10) +
                                                "\"\nmodel = 'pendulum.urdf'\nduration = 2\n"));
  EXPECT_EQ(scene.title.size(), 191u);
}

// Each key was checked with the whole model: 11 s for as many joints.
TEST(Scene, ReadsTwentyThousandJoints) {
  constexpr int kLinks = 20000;
  const TempFolder folder;
  std::string model = "<robot name='chain'>", position, control;
  for (int i = 0; i < kLinks; ++i) {
    model += fmt::format(
        "<link name='l{}'><inertial><mass value='1'/><inertia ixx='1' ixy='0' ixz='0' iyy='1' iyz='0' izz='1'/>"
        "</inertial></link>",
        i);
    if (i == 0) continue;
    model +=
        fmt::format("<joint name='j{}' type='continuous'><parent link='l{}'/><child link='l{}'/></joint>", i, i - 1, i);
    position += fmt::format("j{} = 0.5\n", i);
    control += fmt::format("j{} = {{ kp = 1, target = 0.25 }}\n", i);
  }
  folder.write("chain.urdf", model + "</robot>");
  folder.write("chain.toml", "model = \"chain.urdf\"\nduration = 1\n[initial.position]\n" + position +
                                 "[control.joint]\n" + control + "[batch.position]\n" + position);
  const Scene scene = load_scene(folder / "chain.toml");
  EXPECT_EQ(scene.q0, Eigen::VectorXd::Constant(kLinks - 1, 0.5));
  EXPECT_EQ(scene.control.target, Eigen::VectorXd::Constant(kLinks - 1, 0.25));
  EXPECT_EQ(scene.batch.position, scene.q0);
}

TEST(Scene, RefusesMissingAndOversizedFiles) {
  const TempFolder folder;
  EXPECT_NE(message_of(folder / "none.toml").find("no such file"), std::string::npos);
  EXPECT_NE(message_of(folder.path()).find("is a directory"), std::string::npos);
  folder.write("large.toml", std::string((16u << 20) + 1, '#'));
  EXPECT_NE(message_of(folder / "large.toml").find("expected at most 16777216"), std::string::npos);
}

}  // namespace
}  // namespace scree
