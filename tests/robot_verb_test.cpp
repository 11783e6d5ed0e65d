// scree sim ROBOT.urdf and scree check as a user meets them.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/paths.h"
#include "support/process.h"

namespace scree {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

Outcome scree_cli(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), cli_program());
  return Process(arguments).wait();
}

constexpr const char* kLeg = R"(<robot name="leg">
  <link name="trunk"><inertial><mass value="4"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><box size="0.3 0.2 0.1"/></geometry></collision></link>
  <joint name="knee" type="revolute"><origin xyz="0 0 -0.05"/><parent link="trunk"/><child link="shank"/>
    <axis xyz="0 1 0"/>
    <limit lower="0.2" upper="2" effort="50" velocity="5"/></joint>
  <link name="shank"><inertial><origin xyz="0 0 -0.1"/><mass value="0.5"/>
      <inertia ixx="0.002" iyy="0.002" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><box size="0.02 0.02 0.2"/></geometry></visual></link>
</robot>)";

class RobotVerb : public testing::Test {
 protected:
  RobotVerb() {
    folder.write("leg.urdf", kLeg);
    fs::copy(fs::path(source_dir()) / "models/box.urdf", folder / "box.urdf");
    fs::copy(fs::path(source_dir()) / "models/pendulum.urdf", folder / "pendulum.urdf");
  }
  std::string in(const std::string& name) const { return (folder / name).string(); }
  const TempFolder folder;
};

TEST_F(RobotVerb, RunsARobotAndWritesWhatIsAskedFor) {
  const Outcome table = scree_cli({"sim", in("leg.urdf"), "--duration", "0.5", "--html", in("leg.html")});
  ASSERT_EQ(table.exit_code, 0) << table.err;
  EXPECT_NE(table.out.find("floating, lowest point at 0 m"), std::string::npos) << table.out;
  EXPECT_NE(table.err.find("scree: warning: 1 joint moved to the limit to start from: knee at 0 rad, 0.2 rad below its "
                           "limit of 0.2 rad\n"),
            std::string::npos)
      << table.err;
  EXPECT_TRUE(fs::exists(folder / "leg.html"));
  const Outcome outcome = scree_cli({"sim", in("leg.urdf"), "--dt", "0.05", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const json summary = json::parse(outcome.out);
  EXPECT_EQ(summary["status"], "complete");
  EXPECT_EQ(summary["final_time"], 5);
  EXPECT_EQ(summary["steps"], 100);
  EXPECT_EQ(summary["outside_limits"], json::array());
  ASSERT_EQ(summary["clamped"].size(), 1u);
  EXPECT_EQ(summary["clamped"][0]["joint"], "knee");
  EXPECT_EQ(summary["clamped"][0]["beyond"], 0.2);
  EXPECT_EQ(summary["warnings"].size(), 1u);
  EXPECT_LE(summary["energy_change"].get<double>(), 1e-9);
  EXPECT_EQ(scree_cli({"sim", in("leg.urdf"), "--duration", "0.1", "--quiet"}).err, "");
}

TEST_F(RobotVerb, TheSceneItWritesGivesTheSameBits) {
  fs::create_directory(folder / "scenes");
  for (const std::vector<std::string>& flags :
       std::vector<std::vector<std::string>>{{},
                                             {"--dt", "0.03", "--drop", "0.02"},
                                             {"--accuracy", "1e-4", "--output", "0.1"},
                                             {"--integrator", "pbfd-coulomb", "--dt", "0.02", "--base", "floating"},
                                             {"--base", "fixed", "--integrator", "pbd"}}) {
    std::vector<std::string> first = {"sim",         in("leg.urdf"),         "--json", "--duration", "0.3",
                                      "--scene-out", in("scenes/scene.toml")};
    first.insert(first.end(), flags.begin(), flags.end());
    const Outcome robot = scree_cli(first), scene = scree_cli({"sim", in("scenes/scene.toml"), "--json"});
    ASSERT_EQ(robot.exit_code, 0) << robot.err;
    ASSERT_EQ(scene.exit_code, 0) << scene.err << read_bytes(folder / "scenes/scene.toml");
    const json a = json::parse(robot.out), b = json::parse(scene.out);
    EXPECT_EQ(a["scene_out"], in("scenes/scene.toml"));
    for (const char* key : {"title", "final_state_hash", "steps", "dt", "duration", "integrator", "final_q", "clamped"})
      EXPECT_EQ(a[key], b[key]) << key;
  }
}

TEST_F(RobotVerb, ScenesWarnOfAStartOutsideLimitsUnlessClamped) {
  folder.write("scene.toml", "model = \"leg.urdf\"\nduration = 0.02\n");
  const Outcome warned = scree_cli({"sim", in("scene.toml")}),
                clamped = scree_cli({"sim", in("scene.toml"), "--clamp"});
  EXPECT_EQ(warned.exit_code, 0);
  EXPECT_NE(warned.err.find("scree: warning: 1 joint outside the limits at the start"), std::string::npos)
      << warned.err;
  EXPECT_NE(clamped.err.find("moved to the limit"), std::string::npos) << clamped.err;
  const json summary = json::parse(scree_cli({"sim", in("scene.toml"), "--json"}).out);
  ASSERT_EQ(summary["outside_limits"].size(), 1u);
  EXPECT_EQ(summary["outside_limits"][0]["limit"], 0.2);
  EXPECT_EQ(summary["clamped"].size(), 0u);
}

TEST_F(RobotVerb, MistakesAreOneLineAndExitWith2) {
  folder.write("scene.toml", "model = \"leg.urdf\"\nduration = 1\n");
  struct Usage {
    std::vector<std::string> arguments;
    std::string expected;
  };
  const std::vector<Usage> usages = {
      {{"sim", in("none.urdf")}, "none.urdf: no such file"},
      {{"sim", in("leg.urdf"), "--drop", "nan"}, "--drop: nan, expected a number in [0, 1e+06]"},
      {{"sim", in("leg.urdf"), "--drop", "-0.1"}, "--drop: -0.1, expected a number in [0, 1e+06]"},
      {{"sim", in("pendulum.urdf"), "--drop", "0.1"}, "the base is fixed and cannot move up and down"},
      {{"sim", in("leg.urdf"), "--base", "flying"}, "--base: \"flying\", expected fixed, planar or floating"},
      {{"sim", in("scene.toml"), "--base", "fixed"}, "--base: is for models"},
      {{"sim", in("scene.toml"), "--scene-out", in("x.toml")}, "--scene-out: is for models"},
      {{"sim", in("scene.toml"), "--drop", "0.1"}, "drop: model leg cannot be moved"},
      {{"sim", in("leg.urdf"), "--scene-out", in("leg.urdf")}, "would overwrite an input"},
      {{"sim", in("leg.urdf"), "--scene-out", in("no/x.toml")}, "cannot write"},
      {{"sim", in("leg.urdf"), "--batch", "3", "--out", in("b.h5")}, "--batch: expected a scene (.toml)"},
      {{"sim", in("leg.urdf"), "--branches", "3"}, "--branches: expected a scene (.toml)"},
      {{"sim", in("leg.urdf"), "--integrator", "rk4"}, "rk4"},
      {{"sim", in("leg.urdf"), "--dt", "nan"}, "dt is nan"},
  };
  const long before = folder.count();
  for (const Usage& usage : usages) {
    const Outcome outcome = scree_cli(usage.arguments);
    EXPECT_EQ(outcome.exit_code, 2) << usage.expected << ": " << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(usage.expected), std::string::npos) << usage.expected << ": " << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_EQ(folder.count(), before) << usage.expected;
  }
}

TEST_F(RobotVerb, CheckTellsHowAModelStarts) {
  const Outcome outcome = scree_cli({"check", in("leg.urdf"), "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json report = json::parse(outcome.out);
  EXPECT_EQ(report["model"]["dofs"], 7);
  EXPECT_EQ(report["base"], "floating");
  EXPECT_EQ(report["ground"]["points"], 8);
  EXPECT_EQ(report["ground"]["pairs"], 8);
  EXPECT_GT(report["ground"]["static_depth"].get<double>(), 0);
  EXPECT_NEAR(report["lowest_point"]["z"].get<double>(), 0, 1e-15);
  EXPECT_EQ(report["lowest_point"]["body"], "trunk");
  const json box = report["bounding_box"];
  for (int k = 0; k < 3; ++k)
    EXPECT_NEAR(box["high"][k].get<double>() - box["low"][k].get<double>(), (std::vector{0.3, 0.2, 0.1})[k], 1e-15);
  EXPECT_EQ(report["clamped"].size(), 1u);
  EXPECT_EQ(report["bodies"][0]["points"], 8);
  EXPECT_EQ(report["bodies"][1]["why_not"], "no collision shape, only one to look at");
  EXPECT_TRUE(report["refused"].is_null());
  const Outcome table = scree_cli({"check", in("leg.urdf")});
  EXPECT_NE(table.out.find("shank: no collision shape, only one to look at"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("0.3 x 0.2 x 0.1 m"), std::string::npos) << table.out;
}

// 400 points of 16 directions each are more weights than the law may have.
TEST_F(RobotVerb, CheckReturnsWhatSimWouldRefuse) {
  folder.write("deep.toml",
               "model = \"leg.urdf\"\nbase = \"floating\"\nduration = 1\n[step]\nintegrator = \"event\"\n"
               "[[environment]]\nshape = \"plane\"\n");
  const Outcome deep = scree_cli({"check", in("deep.toml")}), sim = scree_cli({"sim", in("deep.toml"), "--quiet"});
  EXPECT_EQ(sim.exit_code, 2);
  EXPECT_EQ(deep.exit_code, 2);
  EXPECT_EQ(deep.err.substr(deep.err.find("scree: error")), sim.err.substr(sim.err.find("scree: error")));
  EXPECT_NE(deep.err.find("deep in the ground at the start"), std::string::npos) << deep.err;
}

TEST_F(RobotVerb, ARobotThatCannotTouchFallsAndIsToldSo) {
  std::string bare = kLeg;
  const size_t from = bare.find("<collision>"), to = bare.find("</collision>") + 12;
  bare.erase(from, to - from);
  folder.write("bare.urdf", bare);
  for (const char* verb : {"sim", "check"}) {
    const Outcome outcome = scree_cli({verb, in("bare.urdf")});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.err.find("scree: warning: nothing of the robot can touch a floor"), std::string::npos)
        << outcome.err;
  }
}

}  // namespace
}  // namespace scree
