// Runs whose steps follow from the accuracy asked for.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "scree/dynamics.h"
#include "scree/error.h"
#include "scree/run.h"
#include "support/paths.h"
#include "support/temp_folder.h"

namespace scree {
namespace {

const std::filesystem::path kScenes = std::filesystem::path(source_dir()) / "tests/data/scenes";
const std::filesystem::path kExamples = std::filesystem::path(source_dir()) / "examples/scenes";

// 0.25 s of a swinging pendulum, by default.
Scene pendulum(double accuracy, std::optional<double> output = {}, std::optional<double> duration = {}) {
  SceneOverrides overrides;
  overrides.integrator = IntegratorType::pbd_nmdp2;
  overrides.accuracy = accuracy;
  overrides.output = output;
  overrides.duration = duration;
  return load_scene(kScenes / "pendulum.toml", overrides);
}

// A box that lands on a corner, then on the next.
Scene box(double accuracy, double duration = 1) {
  SceneOverrides overrides;
  overrides.integrator = IntegratorType::pbd_nmdp2;
  overrides.accuracy = accuracy;
  overrides.duration = duration;
  return load_scene(kExamples / "box-drop.toml", overrides);
}

std::string setting(const scree::Run& run, const std::string& wanted) {
  for (const auto& [name, value] : run.settings)
    if (name == wanted) return value;
  return "none";
}

TEST(AccuracyRun, RowsAreAtExactOutputTimes) {
  const scree::Run run = run_scene(pendulum(1e-4, 0.02));
  ASSERT_EQ(run.status, RunStatus::complete);
  ASSERT_EQ(run.rows(), 14u);  // 0 to 0.24 s and 0.25 s
  for (size_t row = 0; row < 13; ++row) EXPECT_EQ(run.time[row], static_cast<double>(row) * 0.02);
  EXPECT_EQ(run.time.back(), 0.25);
  // Times beyond rounding: a thousandth and a third.
  for (const double output : {0.001, 0.25 / 3}) {
    const scree::Run fine = run_scene(pendulum(1e-3, output));
    for (size_t row = 0; row + 1 < fine.rows(); ++row) EXPECT_EQ(fine.time[row], static_cast<double>(row) * output);
    EXPECT_EQ(fine.time.back(), 0.25);
  }
}

TEST(AccuracyRun, TheMotionDoesNotDependOnTheRows) {
  const scree::Run few = run_scene(pendulum(1e-4, 0.25)), many = run_scene(pendulum(1e-4, 0.001));
  EXPECT_EQ(few.rows(), 2u);
  EXPECT_EQ(few.final_state_hash, many.final_state_hash);
  EXPECT_EQ(few.totals.stages, many.totals.stages);
  EXPECT_EQ(few.q.row(few.rows() - 1), many.q.row(many.rows() - 1));
}

TEST(AccuracyRun, IsTheSameBitForBitEveryTime) {
  const scree::Run first = run_scene(box(1e-4)), second = run_scene(box(1e-4));
  EXPECT_EQ(first.final_state_hash, second.final_state_hash);
  EXPECT_EQ(first.q, second.q);
  EXPECT_EQ(first.v, second.v);
  EXPECT_EQ(first.iterations, second.iterations);
}

TEST(AccuracyRun, IsAsAccurateAsAskedForBetweenTheSteps) {
  SceneOverrides fine;
  fine.dt = 1e-4;
  fine.duration = 2;
  const scree::Run truth = run_scene(load_scene(kScenes / "pendulum.toml", fine));  // rk4
  double before = 1;
  for (const double accuracy : {1e-4, 1e-5, 1e-6, 1e-7}) {  // 1e-3 is met by the largest turn of a substep
    const scree::Run run = run_scene(pendulum(accuracy, 0.01, 2.0));
    double error = 0;
    for (size_t row = 0; row < run.rows(); ++row)
      error = std::max(error, std::abs(run.q(row, 0) - truth.q(100 * row, 0)));
    // Local errors h^3 in steps of h ~ accuracy^(1/3) add up to accuracy^(2/3): a factor of 4.6 a decade. Half of it
    // is left to the steps' discrete choices.
    EXPECT_LT(error, before / 2.3) << accuracy;
    before = error;
  }
  EXPECT_LT(before, 1e-2);
}

TEST(AccuracyRun, EnergiesAreThoseOfTheRow) {
  const Scene scene = box(1e-3);
  const scree::Run run = run_scene(scene);
  Dynamics dynamics(scene.model);
  for (size_t row = 0; row < run.rows(); ++row) {
    dynamics.set_position(run.q.row(row));
    EXPECT_EQ(run.kinetic_energy[row], dynamics.kinetic_energy(run.v.row(row)));
    EXPECT_EQ(run.potential_energy[row], dynamics.gravity_energy(scene.world.gravity));
  }
}

TEST(AccuracyRun, CountsEveryStepOnce) {
  for (const double accuracy : {1e-2, 1e-5}) {  // steps longer than the rows are apart, and shorter ones
    const scree::Run run = run_scene(box(accuracy));
    ASSERT_EQ(run.status, RunStatus::complete);
    EXPECT_EQ(std::accumulate(run.substeps.begin(), run.substeps.end(), 0LL), run.totals.steps);
    EXPECT_EQ(std::accumulate(run.rejected.begin(), run.rejected.end(), 0LL), run.totals.rejected);
    EXPECT_GE(run.totals.stages, 2 * run.totals.steps);
    EXPECT_GT(run.totals.smallest_step, 0);
    EXPECT_LE(run.totals.largest_step, 0.1);
    EXPECT_EQ(run.first_contact.size(), run.rows() + 1);
    EXPECT_EQ(setting(run, "steps"), std::to_string(run.totals.steps));
    EXPECT_EQ(setting(run, "stages"), std::to_string(run.totals.stages));
    EXPECT_EQ(setting(run, "output"), "0.02 s");
    EXPECT_EQ(setting(run, "dt"), "none");
  }
  EXPECT_GT(run_scene(box(1e-5)).totals.steps, run_scene(box(1e-2)).totals.steps);
}

// A fall is a parabola: the error estimate is rounding and the step grows to the largest one, 0.1 s.
TEST(AccuracyRun, StepsGrowToTheLargestOne) {
  Scene scene = pendulum(1e-4, 0.5, 2.0);
  scene.world.gravity.setZero();
  scene.v0(0) = 0;
  const scree::Run run = run_scene(scene);
  EXPECT_EQ(run.totals.largest_step, 0.1);
  EXPECT_LT(run.totals.steps, 26);  // 0.01 + 0.02 + 0.04 + 0.08, then 18.5 of 0.1 s, and one for the end
  EXPECT_EQ(run.totals.rejected, 0);
}

// What no step can reach is counted, and the run ends.
TEST(AccuracyRun, StepsHaveASmallestLength) {
  Scene scene = pendulum(1e-300);
  scene.options.max_halvings = 6;
  const scree::Run run = run_scene(scene);
  ASSERT_EQ(run.status, RunStatus::complete);
  const double smallest = 0.1 / 64;
  EXPECT_GE(run.totals.smallest_step, (0.5 - 1e-12) * smallest);  // the last two share what is left
  EXPECT_LE(run.totals.steps, 0.25 / smallest + 2);
  EXPECT_EQ(run.totals.inaccurate, run.totals.steps);
  EXPECT_EQ(run_scene(pendulum(1e-4)).totals.inaccurate, 0);
}

TEST(AccuracyRun, AFailedStepEndsTheRun) {
  Scene scene = pendulum(1e-3);
  scene.options.max_halvings = 0;
  scene.options.max_turn = 1e-3;
  scene.v0(0) = 5;  // 0.05 rad in the first try of 10 ms
  const scree::Run run = run_scene(scene);
  EXPECT_EQ(run.status, RunStatus::step_failed);
  EXPECT_EQ(run.rows(), 1u);
  EXPECT_NE(setting(run, "failure").find("did not converge"), std::string::npos);
}

TEST(AccuracyRun, AnInterruptedRunEndsWhereItStopped) {
  const scree::Run run = run_scene(pendulum(1e-5, 0.1), [](double time, double) { return time < 0.15; });
  EXPECT_EQ(run.status, RunStatus::interrupted);
  ASSERT_EQ(run.rows(), 3u);
  EXPECT_EQ(run.time[1], 0.1);
  EXPECT_GE(run.time[2], 0.15);
  EXPECT_LT(run.time[2], 0.2);
}

TEST(AccuracyRun, ARunFileKeepsIt) {
  const TempFolder folder;
  const Scene scene = box(1e-3);
  const scree::Run run = run_scene(scene);
  write_run(folder / "run.h5", scene.model, run);
  const LoadedRun loaded = read_run(folder / "run.h5");
  EXPECT_EQ(loaded.run.time, run.time);
  EXPECT_EQ(loaded.run.settings, run.settings);
}

// --- what a scene may say
// ---------------------------------------------------------------------------------------------

class AccuracyScene : public testing::Test {
 protected:
  AccuracyScene() {
    for (const char* name : {"pendulum.urdf", "block.urdf"}) std::filesystem::copy_file(kScenes / name, folder / name);
  }
  Scene load(const std::string& step, const SceneOverrides& overrides = {}) {
    return load_scene(folder.write("scene.toml", "model = \"pendulum.urdf\"\nduration = 1\n[step]\n" + step),
                      overrides);
  }
  std::string message_of(const std::string& step, const SceneOverrides& overrides = {}) {
    try {
      load(step, overrides);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  }
  const TempFolder folder;
};

TEST_F(AccuracyScene, ChoosesTheStepUnlessDtIsGiven) {
  EXPECT_EQ(load("").output, 0);
  EXPECT_EQ(load("").options.accuracy, StepOptions().accuracy);
  EXPECT_EQ(load("accuracy = 1e-3\n").output, 0.02);
  EXPECT_EQ(load("accuracy = 1e-3\n").options.accuracy, 1e-3);
  EXPECT_EQ(load("accuracy = 1e-3\noutput = 0.1\n").output, 0.1);
  EXPECT_EQ(load("accuracy = 1e-3\ndt = 0.05\n").output, 0);
  EXPECT_EQ(load("accuracy = 1e-3\ndt = 0.05\n").options.accuracy, 1e-3);
  EXPECT_EQ(load("accuracy = 0\n").output, 0);
  EXPECT_EQ(load("accuracy = 0\n").options.accuracy, 0);
  EXPECT_EQ(load("accuracy = 1e-3\n").options.integrator, IntegratorType::pbd_nmdp2);
  SceneOverrides overrides;
  overrides.accuracy = 1e-5;
  EXPECT_EQ(load("dt = 0.05\n", overrides).output, 0.02) << "the command line asks for accuracy and gives no dt";
  EXPECT_EQ(load("dt = 0.05\n", overrides).options.accuracy, 1e-5);
  overrides.output = 0.05;
  EXPECT_EQ(load("", overrides).output, 0.05);
  overrides.output.reset();
  overrides.dt = 0.01;
  EXPECT_EQ(load("", overrides).output, 0);
  EXPECT_EQ(load("accuracy = 1e-3\noutput = 0.1\n", overrides).options.dt, 0.01);
  EXPECT_EQ(load("accuracy = 1e-3\noutput = 0.1\n", overrides).options.accuracy, 1e-5);
  EXPECT_EQ(load("solver = \"pgm\"\n").options.solver, ContactSolver::pgm);
  EXPECT_EQ(load("solver = \"newton\"\n").options.solver, ContactSolver::newton);
}

TEST_F(AccuracyScene, MistakesAreNamed) {
  const auto expect = [&](const std::string& step, const std::string& part, const SceneOverrides& overrides = {}) {
    const std::string message = message_of(step, overrides);
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_NE(message.find("scene.toml"), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  };
  const std::string two = "does not estimate its error, which accuracy asks for, expected one of: pbd-nmdp2, ne-nmdp2";
  expect("integrator = \"ne-nmdp\"\naccuracy = 1e-3\n", ":5: step.accuracy: integrator \"ne-nmdp\" " + two);
  SceneOverrides overrides;
  overrides.accuracy = 1e-3;
  expect("integrator = \"rk4\"\n", "integrator \"rk4\" " + two, overrides);
  expect("output = 0.1\n", ":4: step.output: is for steps the engine chooses");
  expect("accuracy = 1e-3\ndt = 0.01\noutput = 0.1\n", ":6: step.output: is for steps the engine chooses");
  expect("accuracy = 1e-3\noutput = 0\n", ":5: step.output: 0, expected > 0 s");
  expect("accuracy = 1e-3\noutput = 2\n", "output is 2 s, expected > 0 and at most the duration 1 s");
  expect("accuracy = 1e-3\noutput = 1e-9\n", "takes 1e+09 steps");
  expect("accuracy = -1\n", ":4: step.accuracy: step: accuracy is -1, expected");
  expect("solver = \"admm\"\n", ":4: step.solver: solver \"admm\" is unknown, expected one of: newton, pgm");
  overrides.output = 0.1;
  overrides.dt = 0.01;
  expect("", "output is 0.1 s, which is for steps the engine chooses", overrides);
  overrides = {};
  overrides.output = std::numeric_limits<double>::quiet_NaN();
  overrides.accuracy = 1e-3;
  expect("", "output is nan s", overrides);
  // By hand, past the scene file.
  Scene scene = load("accuracy = 1e-3\n");
  scene.options.integrator = IntegratorType::pbd_nmdp;
  EXPECT_THROW(run_scene(scene), InputError);
}

TEST_F(AccuracyScene, ALawWithoutDerivativesTakesTheZerothOrder) {
  const std::string text =
      "model = \"block.urdf\"\nduration = 0.1\n[[environment]]\nshape = \"plane\"\n[contact]\nlaw = \"granular\"\n"
      "table = \"" +
      source_dir() + "/examples/contact/granular-foot.toml\"\n";
  EXPECT_EQ(load_scene(folder.write("scene.toml", text)).options.integrator, IntegratorType::pbd_zonmdp);
  try {
    load_scene(folder.write("scene.toml", text + "[step]\naccuracy = 1e-3\n"));
    ADD_FAILURE() << "accuracy was accepted";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("\"pbd-zonmdp\" does not estimate its error"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace scree
