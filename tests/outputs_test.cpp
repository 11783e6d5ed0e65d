// No output replaces a file that the same command reads, whatever name it is given.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scree/scene.h"
#include "support/paths.h"
#include "support/process.h"

namespace scree {
namespace {

namespace fs = std::filesystem;

Outcome scree_cli(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), cli_program());
  return Process(arguments).wait();
}

// A scene that reads a file of every kind.
class Outputs : public testing::Test {
 protected:
  Outputs() {
    folder.write("leg.urdf", R"(<robot name="leg"><scree base="floating"/>
<link name="body"><inertial><mass value="2"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
  <visual><geometry><mesh filename="body.obj"/></geometry></visual></link>
<link name="foot"><inertial><mass value="1"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
  <collision><geometry><mesh filename="meshes/foot.obj"/></geometry></collision></link>
<joint name="knee" type="continuous"><parent link="body"/><child link="foot"/></joint></robot>)");
    const std::string mesh = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n";
    folder.write("body.obj", mesh);
    fs::create_directory(folder / "meshes");
    folder.write("meshes/foot.obj", mesh);
    folder.write("hills.csv", "0,0,0,0\n0,0,0,0\n0,0,0,0\n0,0,0,0\n");
    folder.write("sand.toml", "depths = [0.1]\ninclinations = [0]\nvertices = [[[[0, 0, 9], [1, 0, 9], [0, 1, 9]]]]\n");
    folder.write("bend.toml", "[[keyframe]]\nafter = 1\njoints = { knee = 0.1 }\n");
    folder.write("scene.toml", R"(model = "leg.urdf"
duration = 0.02
step = { dt = 0.01 }
initial.position.base = [0, 0, 3, 1, 0, 0, 0]
contact = { law = "granular", table = "sand.toml" }
control = { kp = 10, kd = 1, motion = "bend.toml" }
[[environment]]
shape = "height-field"
file = "hills.csv"
spacing = 10
origin = [-15, -15]
)");
  }
  std::string in(const std::string& name) const { return (folder / name).string(); }

  void refused(const std::vector<std::string>& arguments, const std::string& input) const {
    const std::string before = read_bytes(folder / input);
    const Outcome outcome = scree_cli(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << input << ": " << outcome.err;
    EXPECT_NE(outcome.err.find("would overwrite an input"), std::string::npos) << input << ": " << outcome.err;
    EXPECT_EQ(read_bytes(folder / input), before) << input;
  }

  const std::vector<std::string> inputs = {"scene.toml", "leg.urdf",  "body.obj", "meshes/foot.obj",
                                           "hills.csv",  "sand.toml", "bend.toml"};
  const TempFolder folder;
};

TEST_F(Outputs, SceneListsEveryFileItRead) {
  std::vector<std::string> found;
  for (const fs::path& file : load_scene(folder / "scene.toml").files)
    found.push_back(fs::relative(file, folder.path()).string());
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  std::vector<std::string> expected = inputs;
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(found, expected);
  EXPECT_EQ(scree_cli({"sim", in("scene.toml"), "--quiet", "--out", in("run.h5")}).exit_code, 0);
}

TEST_F(Outputs, AreNoInputsOfTheRun) {
  for (const std::string& input : inputs)
    for (const char* const flag : {"--out", "--html"}) refused({"sim", in("scene.toml"), flag, in(input)}, input);
  refused({"sim", in("scene.toml"), "--integrator", "event", "--branches", "2", "--html", in("hills.csv")},
          "hills.csv");
  refused({"sim", in("scene.toml"), "--batch", "2", "--out", in("bend.toml")}, "bend.toml");
}

TEST_F(Outputs, AreNoInputsUnderAnotherName) {
  fs::create_symlink("meshes/foot.obj", folder / "symbolic");
  fs::create_hard_link(folder / "meshes/foot.obj", folder / "hard");
  fs::create_symlink("symbolic", folder / "twice");
  for (const char* const name : {"symbolic", "hard", "twice", "meshes/../meshes/./foot.obj"})
    refused({"sim", in("scene.toml"), "--out", in(name)}, "meshes/foot.obj");
  const fs::path here = fs::current_path();
  refused({"sim", in("scene.toml"), "--out", fs::relative(folder / "meshes/foot.obj", here).string()},
          "meshes/foot.obj");
}

TEST_F(Outputs, OfConvertAreNoMeshes) {
  for (const char* const input : {"leg.urdf", "body.obj", "meshes/foot.obj"})
    refused({"convert", in("leg.urdf"), in(input)}, input);
}

TEST_F(Outputs, OfAStudyAreNoDataOfIt) {
  const fs::path data = folder / "data";
  fs::create_directory(data);
  for (const char* const part : {"models", "motions", "examples"})
    fs::copy(fs::path(source_dir()) / part, data / part, fs::copy_options::recursive);
  for (const char* const input : {"data/models/box.urdf", "data/examples/impact/disks.toml"})
    refused({"study", "impact-cradle", "--quick", "--data", data.string(), "--html", in(input)}, input);
}

// Two outputs, one of them a link to the other, which is not there yet.
TEST_F(Outputs, AreNotOneFile) {
  fs::create_symlink("both", folder / "link");
  const Outcome outcome = scree_cli({"sim", in("scene.toml"), "--out", in("both"), "--html", in("link")});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("would overwrite another output"), std::string::npos) << outcome.err;
  EXPECT_FALSE(fs::exists(folder / "both"));
}

TEST_F(Outputs, KeepPermissionsAndGoThroughLinks) {
  folder.write("private.h5", "old");
  fs::permissions(folder / "private.h5", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("later.h5", folder / "link.h5");
  for (const char* const name : {"private.h5", "link.h5"})
    ASSERT_EQ(scree_cli({"sim", in("scene.toml"), "--quiet", "--out", in(name)}).exit_code, 0);
  EXPECT_EQ(fs::status(folder / "private.h5").permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_TRUE(fs::is_symlink(folder / "link.h5"));
  EXPECT_TRUE(fs::is_regular_file(folder / "later.h5"));
}

}  // namespace
}  // namespace scree
