#include <gtest/gtest.h>
#include <hdf5.h>

#include <random>

#include "scree/error.h"
#include "scree/run.h"
#include "sim/coordinate_names.h"
#include "sim/seal.h"
#include "support/temp_folder.h"

namespace scree {
namespace {

const std::filesystem::path kScenes = std::filesystem::path(SCREE_SOURCE_DIR) / "tests/data/scenes";

std::string message_of(const std::filesystem::path& file) {
  try {
    read_run(file);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

class RunFile : public testing::Test {
 protected:
  const TempFolder folder;
  const Scene scene = load_scene(kScenes / "joints.toml");
  const scree::Run run = run_scene(scene);
  const std::filesystem::path file = folder / "run.h5";

  void expect_refused(const std::string& part) {
    const std::string message = message_of(file);
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_NE(message.find(file.string()), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
};

// --- running -------------------------------------------------------------------------------------------------------

TEST(RunScene, RowsAreAtMultiplesOfDtAndTheLastStepIsCutShort) {
  const Scene scene = load_scene(kScenes / "pendulum.toml");  // 0.25 s in steps of 0.02 s: 12 whole ones and a half
  const scree::Run run = run_scene(scene);
  ASSERT_EQ(run.rows(), 14u);
  for (size_t k = 0; k < 13; ++k) EXPECT_EQ(run.time[k], static_cast<double>(k) * 0.02);
  EXPECT_EQ(run.time.back(), 0.25);
  EXPECT_EQ(run.status, RunStatus::complete);
  // Fourth order at 0.02 s: the energy of a 10 J pendulum is kept to (w h)^4 ~ (3.1 * 0.02)^4 = 1.5e-5 relative.
  const auto energy = [&](size_t k) { return run.kinetic_energy[k] + run.potential_energy[k]; };
  EXPECT_NEAR(energy(0), 0.5 * 1.001 * 0.25 - 9.81 * std::cos(1.0), 1e-12);  // (m l^2 + I) w^2 / 2 - m g l cos q
  EXPECT_NEAR(energy(13), energy(0), 1.5e-4);
}

TEST(RunScene, RoundingAddsNoExtraStep) {
  SceneOverrides overrides;
  for (const double duration :
       {1.1, 0.3, 0.7, 2.3}) {  // 1.1 / 0.1 = 11.000000000000002, 0.3 / 0.1 = 2.9999999999999996
    overrides.dt = 0.1;
    overrides.duration = duration;
    const scree::Run run = run_scene(load_scene(kScenes / "pendulum.toml", overrides));
    EXPECT_EQ(run.rows(), static_cast<size_t>(std::lround(duration * 10)) + 1) << duration;
    EXPECT_EQ(run.time.back(), duration);
  }
}

TEST(RunScene, MatchesSteppingByHand) {
  const Scene scene = load_scene(kScenes / "joints.toml");  // 10 whole steps
  const scree::Run run = run_scene(scene);
  Simulation simulation(scene.model, scene.options);
  simulation.set_state(scene.q0, scene.v0);
  simulation.control() = scene.control;
  for (int k = 0; k < 10; ++k) ASSERT_TRUE(simulation.step().converged());
  const Eigen::VectorXd q = simulation.state().q;
  EXPECT_EQ(std::vector<double>(q.begin(), q.end()), std::vector<double>(run.q.end() - q.size(), run.q.end()));
}

TEST(RunScene, StopsWhenAskedAndKeepsWhatItHas) {
  const Scene scene = load_scene(kScenes / "joints.toml");
  const scree::Run run = run_scene(scene, [](double time, double) { return time < 0.045; });
  EXPECT_EQ(run.status, RunStatus::interrupted);
  EXPECT_EQ(run.rows(), 6u);  // 0 to 0.05 s
}

TEST(RunScene, EndsBeforeTheStepThatFails) {
  Scene scene = load_scene(kScenes / "pendulum.toml");
  scene.options.max_halvings = 0;
  scene.v0(0) = 24.9;  // 0.498 rad per step is allowed; at the bottom sqrt(v^2 + 2 g (1 - cos 1)) makes it 0.5016
  const scree::Run run = run_scene(scene);
  EXPECT_EQ(run.status, RunStatus::step_failed);
  EXPECT_LT(run.time.back(), 0.25);
  EXPECT_EQ(run.q.size(), run.rows());
  bool told = false;
  for (const auto& [name, value] : run.settings) told |= name == "failure" && value.find("did not converge") < 200;
  EXPECT_TRUE(told);
}

// --- the file ------------------------------------------------------------------------------------------------------

TEST_F(RunFile, ComesBackBitForBitWithoutTheModelFiles) {
  write_run(file, scene.model, run);
  EXPECT_EQ(folder.count(), 1) << "a temporary file was left behind";
  const LoadedRun loaded = read_run(file);
  EXPECT_EQ(loaded.run.title, run.title);
  EXPECT_EQ(loaded.run.status, run.status);
  EXPECT_EQ(loaded.run.settings, run.settings);
  EXPECT_EQ(loaded.run.scene_text, run.scene_text);
  EXPECT_EQ(loaded.run.time, run.time);
  EXPECT_EQ(loaded.run.q, run.q);
  EXPECT_EQ(loaded.run.v, run.v);
  EXPECT_EQ(loaded.run.kinetic_energy, run.kinetic_energy);
  EXPECT_EQ(loaded.run.potential_energy, run.potential_energy);
  EXPECT_EQ(loaded.run.residual, run.residual);
  EXPECT_EQ(loaded.run.iterations, run.iterations);
  EXPECT_EQ(loaded.run.substeps, run.substeps);
  EXPECT_EQ(loaded.run.rejected, run.rejected);
  EXPECT_EQ(loaded.run.wall_time, run.wall_time);
  EXPECT_EQ(loaded.run.final_state_hash, run.final_state_hash);

  EXPECT_EQ(format_urdf(loaded.model), format_urdf(scene.model));
  const auto& mesh = std::get<Mesh>(loaded.model.shapes()[1].geometry);
  const auto& original = std::get<Mesh>(scene.model.shapes()[1].geometry);
  EXPECT_EQ(mesh.data->vertices, original.data->vertices);
  EXPECT_EQ(mesh.data->triangles, original.data->triangles);
}

TEST_F(RunFile, NamesEveryCoordinate) {
  const std::vector<std::string> q = {"base.x",  "base.y",      "base.z",      "base.qw",     "base.qx",     "base.qy",
                                      "base.qz", "shoulder.qw", "shoulder.qx", "shoulder.qy", "shoulder.qz", "slide",
                                      "top.x",   "top.z",       "top.angle",   "hinge"};
  const std::vector<std::string> v = {"base.vx", "base.vy",     "base.vz",     "base.wx",     "base.wy",
                                      "base.wz", "shoulder.wx", "shoulder.wy", "shoulder.wz", "slide",
                                      "top.vx",  "top.vz",      "top.w",       "hinge"};
  EXPECT_EQ(position_names(scene.model), q);
  EXPECT_EQ(velocity_names(scene.model), v);
}

TEST_F(RunFile, HoldsAModelWithoutDofs) {
  ModelBuilder builder("rock");
  Body body;
  body.name = "rock";
  body.mass = 1;
  body.inertia = Mat3::Identity();
  Joint joint;
  joint.name = "glue";
  const Model model = builder.add_body(body, "world", joint).build();
  scree::Run empty;
  empty.time = {0, 1};
  empty.kinetic_energy = empty.potential_energy = empty.residual = {0, 0};
  empty.iterations = empty.substeps = empty.rejected = {0, 0};
  write_run(file, model, empty);
  EXPECT_EQ(read_run(file).model.nv(), 0);
  EXPECT_EQ(read_run(file).run.time, empty.time);
}

TEST_F(RunFile, RefusesARunThatDoesNotFitItsModel) {
  scree::Run wrong = run;
  wrong.q.pop_back();
  EXPECT_THROW(write_run(file, scene.model, wrong), InputError);
  EXPECT_EQ(folder.count(), 0);
}

TEST_F(RunFile, RefusesWhatIsNoRunFile) {
  EXPECT_NE(message_of(folder / "none.h5").find("no such file"), std::string::npos);
  EXPECT_NE(message_of(folder.path()).find("not a regular file"), std::string::npos);
  for (const std::string& bytes : {std::string(), std::string("# TOML"), std::string(5000, '\0'),
                                   std::string("\x89HDF\r\n\x1a\n"), "\x89HDF\r\n\x1a\n" + std::string(4000, '\xff')}) {
    folder.write("run.h5", bytes);
    expect_refused("run.h5");
  }
}

TEST_F(RunFile, NamesAMissingPart) {
  for (const char* path : {"/time", "/q", "/v", "/report/kinetic_energy", "/report/residual", "/report/iterations",
                           "/model/urdf", "/model/joint_names", "/model/q_names", "/model/v_names", "/model/meshes",
                           "/model/meshes/0/vertices", "/model/meshes/0/triangles", "/scene", "/settings"}) {
    write_run(file, scene.model, run);
    const hid_t handle = H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    ASSERT_GE(H5Ldelete(handle, path, H5P_DEFAULT), 0);
    H5Fclose(handle);
    seal_file(file);
    expect_refused(path);
  }
  for (const char* key : {"title", "status", "wall_time", "final_state_hash", "format_version"}) {
    write_run(file, scene.model, run);
    const hid_t handle = H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    ASSERT_GE(H5Adelete(handle, key), 0);
    H5Fclose(handle);
    seal_file(file);
    expect_refused(key);
  }
}

TEST_F(RunFile, RefusesANewerFormat) {
  write_run(file, scene.model, run);
  const hid_t handle = H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  const hid_t attribute = H5Aopen(handle, "format_version", H5P_DEFAULT);
  const int newer = 2;
  H5Awrite(attribute, H5T_NATIVE_INT, &newer);
  H5Aclose(attribute);
  H5Fclose(handle);
  seal_file(file);
  expect_refused("format_version is 2, this scree reads 1");
}

TEST_F(RunFile, RefusesValuesThatNoRunHas) {
  const auto with = [&](auto&& change, const std::string& expected) {
    scree::Run wrong = run;
    change(wrong);
    write_run(file, scene.model, wrong);
    expect_refused(expected);
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  with([&](scree::Run& r) { r.q[17] = nan; }, "/q: row 1 holds nan");
  with([&](scree::Run& r) { r.v[0] = 1 / 0.0; }, "/v: row 0 holds inf");
  with([&](scree::Run& r) { r.residual[3] = nan; }, "/report/residual: row 3 holds nan");
  with([&](scree::Run& r) { r.time[4] = r.time[3]; }, "/time: row 4 is not later");
  with([&](scree::Run& r) { r.q[3] = 2; }, "/q: row 0: quaternion of joint base");
  with([&](scree::Run& r) { r.iterations[2] = -1; }, "/report/iterations: row 2 holds -1");
  with([&](scree::Run& r) { r.wall_time = -1; }, "wall_time is -1");
}

TEST_F(RunFile, RefusesAWrongShape) {
  write_run(file, scene.model, run);
  const hid_t handle = H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  H5Ldelete(handle, "/v", H5P_DEFAULT);
  ASSERT_GE(H5Lcreate_hard(handle, "/q", handle, "/v", H5P_DEFAULT, H5P_DEFAULT), 0);
  H5Fclose(handle);
  seal_file(file);
  expect_refused("/v: has shape [11, 16], expected [11, 14]");
}

// Truncated files and flipped bits are refused before HDF5 can trip over them.
TEST_F(RunFile, RefusesDamage) {
  write_run(file, scene.model, run);
  const std::string good = read_bytes(file);
  std::mt19937_64 random(20240611);
  for (int trial = 0; trial < 300; ++trial) {
    std::string bad = good;
    if (trial % 3 == 0) bad.resize(random() % bad.size());
    for (int k = 0; trial % 3 != 0 && k <= trial % 5; ++k)
      bad[random() % bad.size()] ^= static_cast<char>(1 + random() % 255);
    folder.write("run.h5", bad);
    const std::string message = message_of(file);
    EXPECT_TRUE(message.ends_with("not a run file of scree") || message.ends_with("changed after scree wrote it"))
        << trial << ": " << message;
  }
}

TEST_F(RunFile, RefusesForeignHdf5Files) {
  H5Fclose(H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
  expect_refused("is not a run file of scree");
}

}  // namespace
}  // namespace scree
