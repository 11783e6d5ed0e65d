#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "scree/run.h"
#include "support/malformed_scenes.h"
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

std::string suffix(const std::string& text, size_t count) {
  return text.substr(text.size() - std::min(count, text.size()));
}

void expect_one_error_line(const Outcome& outcome, const std::string& expected, const std::string& name) {
  EXPECT_EQ(outcome.exit_code, 2) << name << ": " << outcome.err;
  EXPECT_TRUE(outcome.err.starts_with("scree: error: ")) << name << ": " << outcome.err;
  EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << name << ": " << outcome.err;
  EXPECT_NE(outcome.err.find(expected), std::string::npos) << name << ": " << outcome.err;
  EXPECT_EQ(outcome.out, "") << name;
}

// A copy of the small scenes that a test may write into.
class Cli : public testing::Test {
 protected:
  Cli() { fs::copy(fs::path(source_dir()) / "tests/data/scenes", folder.path(), fs::copy_options::recursive); }
  std::string in(const std::string& name) const { return (folder / name).string(); }
  const TempFolder folder;
};

TEST_F(Cli, HelpAndVersionGoToStdout) {
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"--help"}, {"sim", "--help"}, {"check", "--help"}, {"view", "--help"}, {"convert", "--help"}}) {
    const Outcome outcome = scree_cli(arguments);
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.err, "");
    EXPECT_NE(outcome.out.find("Usage: scree"), std::string::npos) << outcome.out;
  }
  EXPECT_NE(scree_cli({"sim", "--help"}).out.find("Time step [s]"), std::string::npos);
  const Outcome version = scree_cli({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_TRUE(version.out.starts_with("scree ")) << version.out;
}

TEST_F(Cli, MalformedScenesExitWith2AndWriteNothing) {
  const long before = folder.count();
  for (const MalformedScene& scene : malformed_scenes()) {
    folder.write("bad.toml", scene.text);
    expect_one_error_line(scree_cli({"sim", in("bad.toml"), "--out", in("run.h5"), "--html", in("run.html")}),
                          scene.expected, scene.name);
    EXPECT_EQ(folder.count(), before + 1) << scene.name << " left a file behind";
  }
}

TEST_F(Cli, WrongUsageExitsWith2AndWritesNothing) {
  folder.write("garbage.h5", std::string(3000, '\x7f'));
  folder.write("broken.urdf", "<robot name=\"x\"><link name=\"a\"></robot>");
  fs::create_directory(folder / "folder");
  fs::create_symlink(folder / "pendulum.toml", folder / "link.toml");
  const std::string scene = in("pendulum.toml");
  ASSERT_EQ(scree_cli({"sim", scene, "--out", in("run.h5"), "--quiet"}).exit_code, 0);
  const std::string whole = read_bytes(folder / "run.h5");
  folder.write("cut.h5", whole.substr(0, whole.size() / 2));
  struct Usage {
    std::vector<std::string> arguments;
    const char* expected;
  };
  const std::vector<Usage> usages = {
      {{}, "no verb given, expected sim, check, view, convert"},
      {{"smi"}, "unknown verb \"smi\", did you mean \"sim\"?"},
      {{"--vresion"}, "unknown option --vresion, did you mean \"--version\"?"},
      {{"sim"}, "scene is required"},
      {{"sim", scene, "--intgrator", "rk4"}, "unknown option --intgrator, did you mean \"--integrator\"?"},
      {{"sim", scene, "--outt=x.h5"}, "unknown option --outt, did you mean \"--out\"?"},
      {{"sim", scene, "extra"}, "extra"},
      {{"sim", scene, "--dt", "fast"}, "--dt = fast"},
      {{"sim", scene, "--dt"}, "--dt"},
      {{"sim", scene, "--dt", "-0.1"}, "dt is -0.1"},
      {{"sim", scene, "--dt", "nan"}, "dt is nan"},
      {{"sim", scene, "--duration", "0"}, "duration is 0 s, expected a finite number > 0"},
      {{"sim", scene, "--duration", "inf"}, "duration is inf s"},
      {{"sim", scene, "--accuracy", "1e-3"},
       "integrator \"rk4\" does not estimate its error, which accuracy asks for, expected one of: pbd-nmdp2, ne-nmdp2"},
      {{"sim", scene, "--accuracy", "-1", "--integrator", "pbd-nmdp2"}, "accuracy is -1, expected"},
      {{"sim", scene, "--accuracy", "nan", "--integrator", "pbd-nmdp2"}, "accuracy is nan, expected"},
      {{"sim", scene, "--output", "0.1"}, "output is 0.1 s, which is for steps the engine chooses"},
      {{"sim", scene, "--integrator", "pbd-nmdp2", "--accuracy", "1e-3", "--output", "-1"},
       "output is -1 s, expected > 0"},
      {{"sim", scene, "--integrator", "pbd-nmdp2", "--accuracy", "1e-3", "--output", "0.1", "--dt", "0.1"},
       "output is 0.1 s, which is for steps the engine chooses"},
      {{"sim", scene, "--integrator", "euler"}, "integrator \"euler\" is unknown"},
      {{"sim", scene, "--search-path", in("none")}, "--search-path"},
      {{"sim", in("none.toml")}, "none.toml: no such file"},
      {{"sim", in("folder")}, "is a directory"},
      {{"sim", scene, "--out", in("none/run.h5")}, "cannot write"},
      {{"sim", scene, "--out", in("folder")}, "it is a directory"},
      {{"sim", scene, "--out", "/dev/null"}, "not a regular file"},
      {{"sim", scene, "--out", "/proc/scree.h5"}, "cannot write"},
      {{"sim", scene, "--out", in(std::string(300, 'x'))}, "cannot write"},
      {{"sim", scene, "--out", ""}, "--out"},
      {{"sim", scene, "--out", in("same"), "--html", in("folder/../same")}, "would overwrite another output"},
      {{"sim", scene, "--out", scene}, "would overwrite an input"},
      {{"sim", scene, "--html", in("link.toml")}, "would overwrite an input"},
      {{"sim", scene, "--html", in("pendulum.urdf")}, "would overwrite an input"},
      {{"check"}, "file is required"},
      {{"check", in("none.toml")}, "none.toml: no such file"},
      {{"check", in("pendulum.urdf"), "--base", "flying"}, "--base: \"flying\", expected fixed, planar or floating"},
      {{"check", in("pendulum.toml"), "--base", "fixed"}, "--base: is for models"},
      {{"view", in("none.h5"), "--html", in("x.html")}, "none.h5: no such file"},
      {{"view", in("garbage.h5"), "--html", in("x.html")}, "is not a run file"},
      {{"view", in("garbage.h5")}, "--html is required"},
      {{"view", in("garbage.h5"), "--html", in("garbage.h5")}, "would overwrite an input"},
      {{"sim", scene, "--ghost", in("garbage.h5")}, "--ghost requires --html"},
      {{"sim", scene, "--ghost", in("garbage.h5"), "--html", in("x.html"), "--out", in("x.h5")}, "is not a run file"},
      {{"sim", scene, "--ghost", in("none.h5"), "--html", in("x.html"), "--out", in("x.h5")}, "none.h5: no such file"},
      {{"sim", scene, "--ghost", in("garbage.h5"), "--html", in("x.html"), "--out", in("garbage.h5")},
       "would overwrite an input"},
      {{"view", in("run.h5"), "--ghost", in("none.h5"), "--html", in("x.html")}, "none.h5: no such file"},
      {{"view", in("run.h5"), "--ghost", in("garbage.h5"), "--html", in("x.html")}, "is not a run file"},
      {{"view", in("run.h5"), "--ghost", in("cut.h5"), "--html", in("x.html")}, "cut.h5"},
      {{"view", in("run.h5"), "--ghost", in("folder"), "--html", in("x.html")}, "folder"},
      {{"view", in("run.h5"), "--ghost", "", "--html", in("x.html")}, "--ghost"},
      {{"view", in("run.h5"), "--ghost", in("garbage.h5"), "--html", in("garbage.h5")}, "would overwrite an input"},
      {{"convert", in("broken.urdf"), in("x.urdf")}, "broken.urdf"},
      {{"convert", in("pendulum.urdf"), in("pendulum.urdf")}, "would overwrite an input"},
      {{"convert", in("pendulum.urdf"), in("none/x.urdf")}, "cannot write"},
  };
  const long before = folder.count();
  for (const Usage& usage : usages) {
    std::string name;
    for (const std::string& argument : usage.arguments) name += suffix(argument, 40) + " ";
    expect_one_error_line(scree_cli(usage.arguments), usage.expected, name);
    EXPECT_EQ(folder.count(), before) << name << "left a file behind";
  }
}

TEST_F(Cli, CheckListsEveryRejectionAndExitsWith2) {
  folder.write("bad.urdf",
               "<robot name=\"x\"><link name=\"a\"><inertial><mass value=\"-1\"/></inertial></link></robot>");
  const Outcome missing = scree_cli({"check", in("none.urdf")});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_NE(missing.err.find("no such file"), std::string::npos) << missing.err;
  const Outcome table = scree_cli({"check", in("bad.urdf")});
  EXPECT_EQ(table.exit_code, 2);
  EXPECT_NE(table.out.find("rejected"), std::string::npos) << table.out;
  const Outcome outcome = scree_cli({"check", in("bad.urdf"), "--json"});
  EXPECT_EQ(outcome.exit_code, 2);
  const json report = json::parse(outcome.out);
  EXPECT_GE(report["rejected"].get<int>(), 1);
  EXPECT_TRUE(report["model"].is_null());
}

TEST_F(Cli, CheckReportsModelsAndScenes) {
  const Outcome outcome = scree_cli({"check", in("joints.toml"), "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const json report = json::parse(outcome.out);
  EXPECT_EQ(report["model"]["name"], "joints");
  EXPECT_EQ(report["model"]["dofs"], 14);
  EXPECT_EQ(report["rejected"], 0);
  EXPECT_EQ(report["entries"].size(), report["mapped"].get<size_t>() + report["ignored"].get<size_t>());
  const Outcome brief = scree_cli({"check", in("pendulum.urdf")}),
                full = scree_cli({"check", in("pendulum.urdf"), "--all"});
  EXPECT_EQ(brief.out.find("robot/link[rod]/inertial/mass"), std::string::npos) << brief.out;
  EXPECT_NE(full.out.find("robot/link[rod]/inertial/mass"), std::string::npos) << full.out;
}

TEST_F(Cli, RepairsComeFirstAndStrictReadingRejectsThem) {
  folder.write("odd.urdf",
               "<robot name='x'><link name='a'><inertial><mass value='1'/></inertial><collision><geometry>"
               "<mesh filename='no.stl'/></geometry></collision></link>"
               "<gazebo reference='a'><mu1>1</mu1></gazebo><gazebo><plugin name='p'/></gazebo></robot>");
  const Outcome table = scree_cli({"check", in("odd.urdf")});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  size_t at = 0;
  for (const char* const part : {"2 repaired, 6 ignored, 0 rejected", "\nrepaired\n", "robot/link[a]/inertial\n",
                                 "it resists turning like a solid ball", "cannot touch anything", "\nconsequences\n",
                                 "1 link lost all shapes and cannot touch anything: a", "\nignored, with all inside\n",
                                 "    2 x <gazebo>  settings of another simulator"}) {
    at = table.out.find(part, at);
    ASSERT_NE(at, std::string::npos) << part << "\n" << table.out;
  }
  EXPECT_EQ(table.out.find("plugin"), std::string::npos) << table.out;
  EXPECT_NE(scree_cli({"check", in("odd.urdf"), "--all"}).out.find("robot/gazebo/plugin[p]@name"), std::string::npos);
  const json report = json::parse(scree_cli({"check", in("odd.urdf"), "--json"}).out);
  EXPECT_EQ(report["repaired"], 2);
  EXPECT_EQ(report["consequences"].size(), 2u);
  EXPECT_EQ(report["entries"].size(), report["mapped"].get<size_t>() + 8);

  const Outcome strict = scree_cli({"check", in("odd.urdf"), "--strict"});
  EXPECT_EQ(strict.exit_code, 2);
  EXPECT_NE(strict.err.find("has mass but no <inertia> (2 rejected in all)"), std::string::npos) << strict.err;
  EXPECT_EQ(scree_cli({"convert", in("odd.urdf"), in("even.urdf"), "--strict"}).exit_code, 2);
  const Outcome convert = scree_cli({"convert", in("odd.urdf"), in("even.urdf")});
  EXPECT_NE(convert.err.find("2 things were repaired, scree check"), std::string::npos) << convert.err;
  EXPECT_EQ(scree_cli({"check", in("even.urdf"), "--strict"}).exit_code, 0);  // written as repaired

  folder.write("odd.toml", "model = \"odd.urdf\"\nduration = 0.02\nstep.dt = 0.01\n");
  folder.write("strict.toml", "model = \"odd.urdf\"\nduration = 0.02\nstep.dt = 0.01\nstrict = true\n");
  const Outcome sim = scree_cli({"sim", in("odd.toml"), "--out", in("odd.h5")});
  EXPECT_EQ(sim.exit_code, 0) << sim.err;
  EXPECT_NE(sim.err.find("warning: " + in("odd.urdf") + ": 2 things were repaired"), std::string::npos) << sim.err;
  EXPECT_EQ(scree_cli({"view", in("odd.h5"), "--html", in("odd.html")}).exit_code, 0);
  for (const auto& arguments :
       {std::vector<std::string>{"sim", in("odd.toml"), "--strict"}, {"sim", in("strict.toml")}})
    EXPECT_EQ(scree_cli(arguments).exit_code, 2);
  EXPECT_EQ(scree_cli({"sim", in("odd.toml"), "--quiet"}).err, "");
}

TEST_F(Cli, SimPrintsATableOrStableJson) {
  const Outcome table = scree_cli({"sim", in("pendulum.toml")});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  for (const char* row : {"final time  0.25 s", "steps", "13 of 0.02 s (rk4)", "state hash"})
    EXPECT_NE(table.out.find(row), std::string::npos) << row << "\n" << table.out;
  EXPECT_EQ(table.err, "");
  const json summary = json::parse(scree_cli({"sim", in("pendulum.toml"), "--json"}).out);
  const std::vector<std::string> keys = {"title",
                                         "scene",
                                         "model",
                                         "status",
                                         "failure",
                                         "integrator",
                                         "dt",
                                         "duration",
                                         "dofs",
                                         "total_mass",
                                         "final_time",
                                         "final_q",
                                         "final_v",
                                         "kinetic_energy",
                                         "potential_energy",
                                         "energy_change",
                                         "steps",
                                         "subdivided_steps",
                                         "iterations",
                                         "control",
                                         "wall_time",
                                         "speed",
                                         "final_state_hash",
                                         "outside_limits",
                                         "clamped",
                                         "warnings",
                                         "out",
                                         "html"};
  for (const std::string& key : keys) EXPECT_TRUE(summary.contains(key)) << key;
  EXPECT_EQ(summary.size(), keys.size());
  EXPECT_EQ(summary["steps"], 13);
  EXPECT_EQ(summary["status"], "complete");
  EXPECT_EQ(scree_cli({"sim", in("pendulum.toml"), "--quiet"}).out, "");
}

TEST_F(Cli, SimTellsWhatTheMotorsDo) {
  const json control = json::parse(scree_cli({"sim", in("joints.toml"), "--json"}).out)["control"];
  EXPECT_FALSE(control.contains("base"));
  EXPECT_EQ(control["hinge"], (json{{"kp", 10.0}, {"kd", 2.0}, {"torque", -3.0}, {"target", 0.2}}));
  EXPECT_EQ(control["slide"], (json{{"kp", 10.0}, {"kd", 1.0}, {"torque", 0.0}, {"target", 0.05}}));
  EXPECT_EQ(control["shoulder"]["kp"], (json{20.0, 20.0, 20.0}));
  EXPECT_EQ(control["shoulder"]["torque"], (json{0.1, 0.2, 0.3}));
  EXPECT_EQ(control["shoulder"]["target"], (json{1.0, 0.0, 0.0, 0.0}));
  EXPECT_EQ(json::parse(scree_cli({"sim", in("pendulum.toml"), "--json"}).out)["control"], json::object());
}

TEST_F(Cli, SimWritesRunAndReplayAndViewRemakesTheReplay) {
  const Outcome outcome = scree_cli({"sim", in("joints.toml"), "--out", in("run.h5"), "--html", in("a.html")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* name : {"joints.urdf", "joints.toml", "wedge.obj"}) fs::remove(folder / name);  // needed no more
  const Outcome view = scree_cli({"view", in("run.h5"), "--html", in("b.html"), "--json"});
  ASSERT_EQ(view.exit_code, 0) << view.err;
  EXPECT_EQ(json::parse(view.out)["rows"], 11);
  EXPECT_EQ(read_bytes(folder / "a.html"), read_bytes(folder / "b.html"));
}

TEST_F(Cli, AGhostIsAnotherRunFile) {
  ASSERT_EQ(scree_cli({"sim", in("joints.toml"), "--out", in("run.h5")}).exit_code, 0);
  ASSERT_EQ(scree_cli({"sim", in("pendulum.toml"), "--out", in("other.h5")}).exit_code, 0);
  const Outcome sim =
      scree_cli({"sim", in("joints.toml"), "--ghost", in("other.h5"), "--html", in("a.html"), "--json"});
  ASSERT_EQ(sim.exit_code, 0) << sim.err;
  EXPECT_EQ(json::parse(sim.out)["ghost"], in("other.h5"));
  const Outcome view = scree_cli({"view", in("run.h5"), "--ghost", in("other.h5"), "--html", in("b.html"), "--json"});
  ASSERT_EQ(view.exit_code, 0) << view.err;
  EXPECT_EQ(json::parse(view.out)["ghost"], in("other.h5"));
  EXPECT_NE(read_bytes(folder / "b.html").find("\"ghost\":{"), std::string::npos);
  // A run beside itself.
  EXPECT_EQ(scree_cli({"view", in("run.h5"), "--ghost", in("run.h5"), "--html", in("c.html")}).exit_code, 0);
}

TEST_F(Cli, TheSameSceneGivesTheSameBits) {
  const auto hash = [&] {
    return json::parse(scree_cli({"sim", in("joints.toml"), "--json"}).out)["final_state_hash"];
  };
  const json first = hash();
  EXPECT_EQ(first.get<std::string>().size(), 16u);
  EXPECT_EQ(first, hash());
}

TEST_F(Cli, OptionsReplaceTheScene) {
  const json summary =
      json::parse(scree_cli({"sim", in("pendulum.toml"), "--json", "--dt", "0.01", "--duration=0.5", "--integrator",
                             "pbd", "--search-path", in("."), "--search-path", folder.path().string()})
                      .out);
  EXPECT_EQ(summary["steps"], 50);
  EXPECT_EQ(summary["integrator"], "pbd");
}

TEST_F(Cli, TheStepFollowsFromTheAccuracy) {
  const std::vector<std::string> common = {"sim",       in("pendulum.toml"), "--integrator",
                                           "pbd-nmdp2", "--accuracy",        "1e-4"};
  std::vector<std::string> arguments = common;
  arguments.insert(arguments.end(), {"--output", "0.1", "--json", "--out", in("run.h5"), "--html", in("run.html")});
  const Outcome outcome = scree_cli(arguments);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json summary = json::parse(outcome.out);
  EXPECT_TRUE(summary["dt"].is_null());
  EXPECT_EQ(summary["accuracy"], 1e-4);
  EXPECT_EQ(summary["output"], 0.1);
  EXPECT_GT(summary["steps"], 3);
  EXPECT_GE(summary["stages"].get<int>(), 2 * summary["steps"].get<int>());
  EXPECT_GE(summary["rejected"], 0);
  EXPECT_LE(summary["smallest_step"], summary["largest_step"]);
  EXPECT_EQ(summary["final_time"], 0.25);
  EXPECT_EQ(read_run(folder / "run.h5").run.time, (std::vector<double>{0, 0.1, 0.2, 0.25}));
  const Outcome table = scree_cli(common);
  EXPECT_NE(table.out.find("(pbd-nmdp2, accuracy 0.0001 m)"), std::string::npos) << table.out;
  // With --dt it is a bound within the steps.
  arguments = common;
  arguments.insert(arguments.end(), {"--dt", "0.05", "--json"});
  const json fixed = json::parse(scree_cli(arguments).out);
  EXPECT_EQ(fixed["steps"], 5);
  EXPECT_EQ(fixed["accuracy"], 1e-4);
  EXPECT_TRUE(fixed["output"].is_null());
}

TEST_F(Cli, ConvertWritesAModelThatReadsBack) {
  const Outcome outcome = scree_cli({"convert", in("joints.urdf"), in("copy.urdf"), "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(format_urdf(load_urdf(folder / "copy.urdf")), format_urdf(load_urdf(folder / "joints.urdf")));
  const Outcome planar = scree_cli({"convert", in("pendulum.urdf"), in("planar.urdf"), "--base", "planar"});
  ASSERT_EQ(planar.exit_code, 0) << planar.err;
}

TEST_F(Cli, CheckNamesAMissingFileWithoutALine) {
  const Outcome outcome = scree_cli({"check", in("nope.urdf")});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("nope.urdf: no such file"), std::string::npos) << outcome.err;
}

TEST_F(Cli, BenchReportsTimeAndErrorOfEveryFunction) {
  const Outcome outcome = scree_cli({"bench", "dynamics", in("joints.urdf"), "--seconds", "0.0001", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json rows = json::parse(outcome.out)["rows"];
  EXPECT_EQ(rows.size(), 5u * 6u);  // the file's model, a tree, three chains; six functions each
  for (const json& row : rows) {
    EXPECT_GT(row["time"].get<double>(), 0);
    EXPECT_LE(row["error"].get<double>(), 1e-4) << row;  // the chain of 1000 links is badly conditioned
  }
  EXPECT_EQ(scree_cli({"bench", "weather"}).exit_code, 2);
}

TEST_F(Cli, AFailedRunExitsWith1AndKeepsItsRecording) {
  folder.write("fast.toml",
               "model = \"pendulum.urdf\"\nduration = 1\n[step]\nintegrator = \"rk4\"\ndt = 0.02\nmax_halvings = 0\n"
               "[initial.velocity]\nshoulder = 24.9\n[initial.position]\nshoulder = 1\n");
  const Outcome outcome = scree_cli({"sim", in("fast.toml"), "--out", in("run.h5"), "--json"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("did not converge"), std::string::npos) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["status"], "step_failed");
  EXPECT_EQ(read_run(folder / "run.h5").run.status, RunStatus::step_failed);
}

TEST_F(Cli, AnInterruptKeepsWhatWasRecorded) {
  for (const int signal : {SIGINT, SIGTERM}) {
    fs::remove(folder / "run.h5");
    // Two million steps: half a minute, of which the test waits for the first.
    Process process(
        {cli_program(), "sim", in("joints.toml"), "--dt", "1e-5", "--duration", "20", "--out", in("run.h5")});
    while (!process.finished() && !process.catches(signal)) std::this_thread::yield();
    ASSERT_FALSE(process.finished()) << process.wait().err;
    kill(process.id(), signal);
    const Outcome outcome = process.wait();
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    EXPECT_NE(outcome.err.find("interrupted at"), std::string::npos) << outcome.err;
    const LoadedRun loaded = read_run(folder / "run.h5");
    EXPECT_EQ(loaded.run.status, RunStatus::interrupted);
    EXPECT_GT(loaded.run.rows(), 1u);
    EXPECT_LT(loaded.run.time.back(), 20);
  }
}

}  // namespace
}  // namespace scree
