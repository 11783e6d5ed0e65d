#include "scree/calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "scree/error.h"
#include "support/paths.h"
#include "support/process.h"

namespace scree {
namespace {

const std::string kScene = source_dir() + "/examples/scenes/box-slide.toml";

Scene scene_of(IntegratorType integrator, double dt = 0.01) {
  SceneOverrides overrides;
  overrides.integrator = integrator;
  overrides.dt = dt;
  overrides.duration = 2;
  Scene scene = load_scene(kScene, overrides);
  scene.world.smooth.depth = 0.005;
  return scene;
}

CalibrationReport find(const Scene& scene, double distance, double accuracy = 1e-4) {
  CalibrationOptions options;
  options.distance = distance;
  options.accuracy = accuracy;
  return calibrate(scene, options);
}

// v0^2 / (2 mu g), v0 = 3 m/s. Backward Euler stops the box v0 dt/2 = 15 mm early, 1 % of 1.5 m; the box rocks a little
// where friction sets in, and creep leaves 2 mm/s: 3 % in all.
TEST(Calibration, FindsCoulombsCoefficient) {
  const CalibrationReport report = find(scene_of(IntegratorType::pbfd_coulomb), 1.5);
  ASSERT_EQ(report.status, CalibrationStatus::found);
  EXPECT_EQ(report.parameter, "friction");
  EXPECT_NEAR(report.distance, 1.5, 1.5e-4);
  EXPECT_NEAR(report.value, 9 / (2 * 9.81 * 1.5), 0.03 * 9 / (2 * 9.81 * 1.5));
}

// What is found slides that far: the run again, from the coefficient alone.
TEST(Calibration, WhatItFindsSlidesThatFar) {
  for (const IntegratorType integrator : {IntegratorType::pbfd, IntegratorType::pbfd2, IntegratorType::pbd_friction}) {
    Scene scene = scene_of(integrator);
    const double wanted = integrator == IntegratorType::pbd_friction ? 4.5 : 2;
    const CalibrationReport report = find(scene, wanted, 1e-5);
    ASSERT_EQ(report.status, CalibrationStatus::found) << integrator_name(integrator);
    EXPECT_EQ(report.parameter, "drag");
    scene.world.smooth.drag = report.value;
    EXPECT_NEAR(sliding_distance(scene, run_scene(scene)), wanted, 1e-5 * wanted) << integrator_name(integrator);
    EXPECT_GT(report.at_lowest, wanted);
    EXPECT_LT(report.runs, 40);
  }
}

// Without friction it slides 6 m in 2 s.
TEST(Calibration, SaysWhatIsOutOfReach) {
  const CalibrationReport far = find(scene_of(IntegratorType::pbfd), 7);
  EXPECT_EQ(far.status, CalibrationStatus::out_of_reach);
  EXPECT_NEAR(far.at_lowest, 6, 1e-3);
  EXPECT_EQ(far.runs, 1);
  // The energy of pbd-friction lifts a body that ought to slip less: with more drag it slides farther again.
  const CalibrationReport lifted = find(scene_of(IntegratorType::pbd_friction), 1);
  EXPECT_EQ(lifted.status, CalibrationStatus::out_of_reach);
  EXPECT_GT(lifted.shortest, 1);
  EXPECT_GT(lifted.distance, lifted.shortest);  // with the largest drag
  CalibrationOptions options;
  options.distance = 0.5;
  options.highest = 0.1;
  options.lowest = 0.01;
  const CalibrationReport near = calibrate(scene_of(IntegratorType::pbfd_coulomb), options);
  EXPECT_EQ(near.status, CalibrationStatus::out_of_reach);
  EXPECT_GT(near.shortest, 0.5);
}

TEST(Calibration, RefusesWhatItCannotDo) {
  const auto refused = [](const Scene& scene, CalibrationOptions options, const char* expected) {
    try {
      calibrate(scene, options);
      FAIL() << expected;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
    }
  };
  const Scene good = scene_of(IntegratorType::pbfd);
  CalibrationOptions options;
  refused(good, options, "distance is 0");
  options.distance = 1;
  refused(scene_of(IntegratorType::pbd_nmdp), options, "integrator \"pbd-nmdp\" has no coefficient");
  Scene empty = good;
  empty.world = {};
  refused(empty, options, "nothing in the scene can touch");
  options.lowest = 2, options.highest = 1;
  refused(good, options, "lowest is 2, expected less than highest, 1");
  options.lowest = std::nan("");
  refused(good, options, "lowest is nan");
}

TEST(CalibrateVerb, PrintsTheCoefficientAsJson) {
  const Outcome outcome = Process({cli_program(), "calibrate", kScene, "--distance", "1.5", "--integrator",
                                   "pbfd-coulomb", "--dt", "0.01", "--json"})
                              .wait();
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json data = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(data["status"], "found");
  EXPECT_EQ(data["parameter"], "friction");
  EXPECT_NEAR(data["distance"].get<double>(), 1.5, 1.5e-4);
}

TEST(CalibrateVerb, AWrongUseIsOneLineAndADistanceOutOfReachIsAFailure) {
  const auto run = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {cli_program(), "calibrate"});
    return Process(arguments).wait();
  };
  EXPECT_EQ(run({kScene}).exit_code, 2);
  EXPECT_EQ(run({kScene, "--distance", "-1", "--integrator", "pbfd"}).exit_code, 2);
  EXPECT_EQ(run({kScene, "--distance", "1"}).exit_code, 2);  // ne-nmdp
  const Outcome outcome = run({kScene, "--distance", "100", "--integrator", "pbfd"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("100 m is out of reach: drag"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1);
}

}  // namespace
}  // namespace scree
