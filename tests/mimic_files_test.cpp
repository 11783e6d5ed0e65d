// Joints that follow others in scenes, motions, runs and their files.
#include <gtest/gtest.h>

#include "model/coordinate_names.h"
#include "run/dense_output.h"
#include "scene/batch_scene.h"
#include "scree/batch.h"
#include "scree/error.h"
#include "scree/fan.h"
#include "scree/kinematics.h"
#include "scree/motion.h"
#include "scree/run.h"
#include "scree/scene.h"
#include "scree/urdf.h"
#include "support/temp_folder.h"

namespace scree {
namespace {

// A gripper on a slide: the right finger follows the left one, its tip the finger.
constexpr char kGripper[] = R"(<robot name='gripper'><link name='world'/>
<link name='palm'><inertial><mass value='1'/>
  <inertia ixx='0.01' iyy='0.01' izz='0.01' ixy='0' ixz='0' iyz='0'/></inertial></link>
<link name='left'><inertial><origin xyz='0 0 -0.05'/><mass value='0.1'/>
  <inertia ixx='1e-4' iyy='1e-4' izz='1e-5' ixy='0' ixz='0' iyz='0'/></inertial></link>
<link name='right'><inertial><origin xyz='0 0 -0.05'/><mass value='0.1'/>
  <inertia ixx='1e-4' iyy='1e-4' izz='1e-5' ixy='0' ixz='0' iyz='0'/></inertial></link>
<link name='tip'><inertial><origin xyz='0 0 -0.02'/><mass value='0.05'/>
  <inertia ixx='1e-5' iyy='1e-5' izz='1e-6' ixy='0' ixz='0' iyz='0'/></inertial>
  <scree><contact_point name='tip' xyz='0 0 -0.04' radius='0.005'/></scree></link>
<joint name='slide' type='prismatic'><parent link='world'/><child link='palm'/>
  <axis xyz='0 0 1'/>
  <limit lower='-1' upper='1' effort='50' velocity='1'/></joint>
<joint name='right_finger' type='revolute'><parent link='palm'/><child link='right'/>
  <origin xyz='0 -0.03 0'/><axis xyz='1 0 0'/>
  <limit lower='-1' upper='1' effort='5' velocity='1'/>
  <mimic joint='left_finger' multiplier='-1'/></joint>
<joint name='right_tip' type='revolute'><parent link='right'/><child link='tip'/>
  <origin xyz='0 0 -0.1'/><axis xyz='1 0 0'/>
  <limit lower='-1' upper='1' effort='5' velocity='1'/>
  <mimic joint='right_finger' multiplier='0.5' offset='0.1'/></joint>
<joint name='left_finger' type='revolute'><parent link='palm'/><child link='left'/>
  <origin xyz='0 0.03 0'/><axis xyz='1 0 0'/>
  <limit lower='-1' upper='1' effort='5' velocity='1'/></joint>
</robot>)";

constexpr char kScene[] = R"(model = "gripper.urdf"
duration = 0.3
[step]
dt = 0.01
[initial.position]
slide = 0.25
left_finger = 0.2
[control]
kp = 20
kd = 1
[control.joint.left_finger]
target = 0.5
[[environment]]
shape = "plane"
)";

class MimicFiles : public testing::Test {
 protected:
  const TempFolder folder;
  void SetUp() override { folder.write("gripper.urdf", kGripper); }
  Scene scene(const std::string& more = "") const {
    return parse_scene(kScene + more, folder.path(), {}, "scene.toml");
  }
  std::string message(const std::string& text) const {
    try {
      (void)parse_scene(text, folder.path(), {}, "scene.toml");
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  }
};

TEST_F(MimicFiles, RunsAndTheirFilesHaveTheCoordinatesAlone) {
  const Scene s = scene();
  ASSERT_EQ(s.model.nq(), 2);
  EXPECT_EQ(position_names(s.model), (std::vector<std::string>{"slide", "left_finger"}));
  const scree::Run run = run_scene(s);
  ASSERT_EQ(run.rows(), 31u);
  EXPECT_EQ(run.q.columns(), 2u);
  EXPECT_FALSE(run.contacts.empty());
  const auto file = folder / "run.h5";
  write_run(file, s.model, run);
  const LoadedRun loaded = read_run(file);
  EXPECT_EQ(loaded.model.nv(), 2);
  EXPECT_EQ(loaded.run.q.numbers(), run.q.numbers());
  EXPECT_EQ(loaded.run.v.numbers(), run.v.numbers());
  for (const size_t row : {size_t{0}, run.rows() - 1}) {
    const std::vector<Pose> here = body_poses(s.model, run.q.row(row)),
                            there = body_poses(loaded.model, loaded.run.q.row(row));
    for (size_t i = 0; i < here.size(); ++i) EXPECT_EQ(here[i].p, there[i].p);
  }
  write_replay(folder / "run.html", loaded.model, loaded.run);
  EXPECT_GT(std::filesystem::file_size(folder / "run.html"), 100000u);
}

TEST_F(MimicFiles, RowsBetweenStepsLieOnTheMotion) {
  const Scene s = scene();
  State a = make_state(s.model, s.q0, Eigen::Vector2d(0.3, -1)), b = a;
  b.time = 0.1;
  b.q = integrate_position(s.model, a.q, a.v, 0.1);
  DenseOutput dense(s.model);
  dense.set_step(a, b);
  State middle = a;
  dense.sample(0.05, middle);
  EXPECT_LE((middle.q - (a.q + 0.05 * a.v)).norm(), 1e-15);
  EXPECT_LE((middle.v - a.v).norm(), 1e-14);
}

TEST_F(MimicFiles, SettingAFollowerNamesItsMaster) {
  const std::string plain = "model = \"gripper.urdf\"\nduration = 0.1\n[step]\ndt = 0.01\n";
  const std::string expected = "follows joint left_finger, expected left_finger in its place";
  for (const std::string& more :
       {std::string("[initial.position]\nright_finger = 0.1\n"), std::string("[initial.velocity]\nright_tip = 0.1\n"),
        std::string("[control.joint.right_finger]\nkp = 3\n"), std::string("[control.joint.right_tip]\ntarget = 3\n"),
        std::string("[batch.position]\nright_tip = 0.1\n"), std::string("[batch.target]\nright_finger = 0.1\n")}) {
    const std::string said = message(plain + more);
    EXPECT_NE(said.find(expected), std::string::npos) << more << said;
    EXPECT_NE(said.find("right_"), std::string::npos) << said;
  }
  for (const char* motion : {"[neutral]\nright_finger = 0.1\n[[keyframe]]\nafter = 1\n",
                             "[[keyframe]]\nafter = 1\n[keyframe.joints]\nright_tip = 0.1\n"}) {
    folder.write("motion.toml", motion);
    try {
      (void)load_motion(folder / "motion.toml", scene().model);
      ADD_FAILURE() << motion;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
    }
  }
}

TEST_F(MimicFiles, BatchesVaryTheCoordinates) {
  const Scene s = scene("[batch]\nseed = 3\nposition = 0.01\n");
  ASSERT_EQ(s.batch.position.size(), 2);
  Trajectory trajectory{s.q0, s.v0, s.control, s.world.surface.friction, s.world.smooth};
  vary(s.model, s.batch, 3, 1, trajectory);
  // Once, not once more for every joint that follows: within five deviations.
  EXPECT_NE(trajectory.q, s.q0);
  EXPECT_LE((trajectory.q - s.q0).cwiseAbs().maxCoeff(), 0.05);
}

TEST_F(MimicFiles, PlotsOfReplaysHaveTheCoordinates) {
  const Scene s = scene();
  const scree::Run run = run_scene(s);
  write_replay(folder / "run.html", s.model, run);
  const std::string page = read_bytes(folder / "run.html");
  EXPECT_NE(page.find("left_finger"), std::string::npos);
  EXPECT_EQ(page.find("\"name\":\"right_finger\",\"unit\""), std::string::npos);
}

// The page places the bodies itself: it is told what follows, chains resolved.
TEST_F(MimicFiles, FansShowWhatFollows) {
  SceneOverrides overrides;
  overrides.integrator = IntegratorType::event;
  const Scene s = parse_scene(kScene, folder.path(), overrides, "scene.toml");
  FanOptions options;
  options.branches = 3;
  const Fan fan = run_fan(s, options);
  ASSERT_EQ(fan.q.columns(), 2u);
  write_fan_page(folder / "fan.html", s, fan);
  const std::string page = read_bytes(folder / "fan.html");
  EXPECT_NE(page.find("\"multiplier\":-1.0"), std::string::npos);
  EXPECT_NE(page.find("\"multiplier\":-0.5,\"offset\":0.1"), std::string::npos);
}

TEST_F(MimicFiles, ImportReportSaysWhatFollows) {
  ImportReport report;
  ASSERT_TRUE(check_urdf(folder / "gripper.urdf", {}, report));
  bool said = false;
  for (const ImportEntry& entry : report.entries)
    said |= entry.note.find("follows right_finger: position = 0.5 * q + 0.1") != std::string::npos;
  EXPECT_TRUE(said);
}

}  // namespace
}  // namespace scree
