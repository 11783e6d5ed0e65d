// Bad URDF input: one line that names the file, the place and what is wrong; never a crash, a hang or another
// exception.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>

#include "scree/error.h"
#include "scree/urdf.h"
#include "support/paths.h"

namespace scree {
namespace {

namespace fs = std::filesystem;

const std::string kInertial =
    "<inertial><mass value='1'/><inertia ixx='1' ixy='0' ixz='0' iyy='1' iyz='0' izz='1'/></inertial>";

std::string robot(const std::string& inside) { return "<robot name='r'>\n" + inside + "\n</robot>"; }
std::string link(const std::string& name, const std::string& inside = kInertial) {
  return fmt::format("<link name='{}'>{}</link>\n", name, inside);
}
std::string inertial(const std::string& mass, const std::string& diagonal) {
  std::istringstream in(diagonal);
  std::string x, y, z;
  in >> x >> y >> z;
  return fmt::format(
      "<inertial><mass value='{}'/><inertia ixx='{}' ixy='0' ixz='0' iyy='{}' iyz='0' izz='{}'/></inertial>", mass, x,
      y, z);
}
std::string joint(const std::string& type, const std::string& inside = "", const std::string& parent = "a",
                  const std::string& child = "b", const std::string& name = "j") {
  return fmt::format("<joint name='{}' type='{}'><parent link='{}'/><child link='{}'/>{}</joint>\n", name, type, parent,
                     child, inside);
}
std::string two_links(const std::string& joints) { return robot(link("a") + link("b") + joints); }
std::string shape(const std::string& geometry, const std::string& more = "") {
  return robot(link("a", kInertial + "<collision><geometry>" + geometry + "</geometry>" + more + "</collision>"));
}
std::string nested(int levels) {
  std::string text = "<robot name='r'>";
  for (int i = 0; i < levels; ++i) text += "<d>";
  for (int i = 0; i < levels; ++i) text += "</d>";
  return text + "</robot>";
}

struct Malformed {
  const char* name;
  std::string text, expected;
  // Not empty: strict reading rejects it; otherwise it is repaired, and this is what the report says it became.
  std::string cure = {};
};

std::vector<Malformed> malformed() {
  const std::string ok_limit = "<limit lower='0' upper='1' effort='1' velocity='1'/>";
  const std::string bomb =
      "<?xml version='1.0'?><!DOCTYPE r [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;&a;'>]>" + robot(link("&b;"));
  return {
      // the document
      {"empty", "", "is empty"},
      {"blank", " \n\t\n", "is empty"},
      {"binary garbage",
       std::string("\x7f"
                   "ELF\x02\x01\x01\0\0\xff\xfe",
                   11),
       "byte 0x7f does not belong"},
      {"zero byte", "<robot>\n\n" + std::string(3, '\0'), ":3: document: byte 0x00"},
      {"latin-1", "<robot name='\xe4'/>", "expected XML in UTF-8"},
      {"utf-16", std::string("\xff\xfe<\0r\0", 6), "expected XML in UTF-8"},
      {"words", "no elements here", "not well-formed XML"},
      {"truncated in a tag", robot(link("a")).substr(0, 40), "not well-formed XML"},
      {"truncated after a tag", "<robot name='r'>\n<link name='a'>", "not well-formed XML"},
      {"crossed tags", "<robot name='r'>\n<link name='a'></robot></link>", ":2: document: not well-formed XML"},
      {"entity bomb", bomb, "DOCTYPE"},
      {"nested 100000 deep", nested(100000), "deeper than 100 levels"},
      {"nested 101 deep", nested(100), "deeper than 100 levels"},
      {"nested 100 deep", nested(99), "has no <link>"},
      {"other format", "<mujoco model='m'/>", "the document is a <mujoco>, expected a URDF <robot>"},
      {"two documents", robot(link("a")) + robot(link("b")), "second top-level element"},
      {"xacro", robot("<xacro:macro name='m'/>" + link("a")),
       "robot: is a xacro file (there is a <xacro:macro>), expand it first: "
       "xacro scree_malformed.urdf > scree_malformed-expanded.urdf"},
      {"attribute twice", "<robot name='r' name='s'>" + link("a") + "</robot>", "robot@name: given twice"},
      // names and tree
      {"no name", "<robot>" + link("a") + "</robot>", "robot: has no attribute \"name\"",
       "named \"scree_malformed\" after the file"},
      {"wrong attribute", robot(link("a", "<inertial><mass vale='1'/></inertial>")),
       "mass: has no attribute \"value\", found: vale", "mass is taken as 0"},
      {"no links", robot(""), "has no <link>"},
      {"empty link name", robot(link("")), "link name is empty"},
      {"line break in a name", robot(link("a&#10;b")), "control characters"},
      {"surrogate in a name", robot(link("a&#xD800;b")), "control characters"},
      {"link twice", robot(link("a") + link("a")), ":3: robot/link[a]@name: link \"a\" is defined twice"},
      {"joint twice", robot(link("a") + link("b") + link("c") + joint("floating") + joint("floating", "", "a", "c")),
       "joint \"j\" is defined twice"},
      {"unknown parent", two_links(joint("floating", "", "aa")),
       "robot/joint[j]/parent@link: parent link \"aa\" does not exist, did you mean \"a\"?"},
      {"unknown child", two_links(joint("floating", "", "a", "bb")), "child link \"bb\" does not exist"},
      {"no child", robot(link("a") + "<joint name='j' type='fixed'><parent link='a'/></joint>"), "has no <child>"},
      {"two roots", robot(link("a") + link("b")), "2 links have no parent, expected one root", "fixed to the world"},
      {"cycle of all", two_links(joint("floating") + joint("floating", "", "b", "a", "k")), "is its own ancestor"},
      {"cycle beside the root",
       robot(link("c") + link("a") + link("b") + joint("floating") + joint("floating", "", "b", "a", "k")),
       "robot/link[a]: is its own ancestor"},
      {"two parents", robot(link("a") + link("b") + link("c") + joint("fixed") + joint("fixed", "", "c", "b", "k")),
       "already hangs on joint \"j\""},
      {"own parent", robot(link("a") + joint("floating", "", "a", "a")), "is its own ancestor"},
      {"world with mass", robot(link("world")), "the world itself has no inertia", "it does not move"},
      {"world as a child", robot(link("a") + link("world", "") + joint("fixed", "", "a", "world")),
       "cannot hang on a joint"},
      {"floating world", robot("<scree base='floating'/>" + link("world", "")), "the root link is \"world\"",
       "all stays as the file says"},
      {"base name taken", robot(link("a") + link("b") + joint("floating", "", "a", "b", "base")),
       "the base joint's name \"base\" is taken", "it is called \"base_\""},
      // mass and inertia
      {"negative mass", robot(link("a", inertial("-1", "1 1 1"))), "mass@value: mass [kg] is \"-1\", expected >= 0"},
      {"zero mass with inertia", robot(link("a", inertial("0", "1 1 1"))), "inertia is not 0 but mass is 0",
       "the inertia stays"},
      {"moving without mass", robot(link("a") + link("b", "") + joint("floating")),
       "robot/link[b]: mass is 0 and nothing with mass hangs on it", "given 1e-05 kg"},
      {"mass without inertia", robot(link("a", "<inertial><mass value='1'/></inertial>")), "has mass but no <inertia>",
       "a solid ball of 0.062 m radius"},
      {"inertia without mass", robot(link("a", "<inertial/>")), "inertial: has no <mass>", "mass is taken as 0"},
      {"nan mass", robot(link("a", inertial("nan", "1 1 1"))), "mass [kg] is \"nan\", expected a finite number"},
      {"infinite mass", robot(link("a", inertial("inf", "1 1 1"))), "mass [kg] is \"inf\""},
      {"mass 1e308", robot(link("a", inertial("1e308", "1 1 1"))), "at most 1e+12"},
      {"mass 1e309", robot(link("a", inertial("1e309", "1 1 1"))), "expected a finite number"},
      {"hexadecimal mass", robot(link("a", inertial("0x10", "1 1 1"))), "expected a finite number"},
      {"mass with a unit", robot(link("a", inertial("1kg", "1 1 1"))), "expected a finite number"},
      {"decimal comma", robot(link("a", inertial("1,5", "1 1 1"))), "expected a finite number"},
      {"inertia not positive", robot(link("a", inertial("1", "1 1 -1"))), "expected all positive", "-1, 1, 1 became"},
      {"inertia zero", robot(link("a", inertial("1", "0 0 0"))), "expected all positive",
       "a solid ball of 0.062 m radius"},
      {"triangle inequality", robot(link("a", inertial("1", "1 1 3"))), "expected the two smaller to add up",
       "1, 1, 3 became 1.5, 1.5, 3 kg m^2 (+50 %, +50 %,"},
      {"inertia 1e308", robot(link("a", inertial("1", "1e308 1 1"))), "inertia@ixx"},
      {"two inertials", robot(link("a", kInertial + kInertial)), "another <inertial>, expected at most one",
       "the first one counts"},
      // joints
      {"unknown joint type", two_links(joint("revolut", ok_limit)),
       "joint[j]@type: unknown joint type \"revolut\", did you mean \"revolute\"?"},
      {"ball joint type", two_links(joint("ball")), "<scree type=\"ball\"/>", "three rotations"},
      {"no joint type", robot(link("a") + link("b") + "<joint name='j'><parent link='a'/><child link='b'/></joint>"),
       "has no attribute \"type\""},
      {"zero axis", two_links(joint("continuous", "<axis xyz='0 0 0'/>")), "expected a direction"},
      {"axis of two numbers", two_links(joint("continuous", "<axis xyz='0 1'/>")),
       "is \"0 1\", expected 3 finite numbers", "what is missing is taken as 0"},
      {"axis of four numbers", two_links(joint("continuous", "<axis xyz='0 1 0 0'/>")), "expected 3 finite numbers",
       "the first 3 count"},
      {"origin of words", two_links(joint("fixed", "<origin xyz='0 left 0'/>")), "is \"0 left 0\""},
      {"origin 1e308", two_links(joint("fixed", "<origin xyz='0 1e308 0'/>")), "at most 1e+12"},
      {"two origins", two_links(joint("fixed", "<origin/><origin/>")), "another <origin>", "the first one counts"},
      {"no limit", two_links(joint("revolute")), "a revolute joint needs <limit", "it has no stops"},
      {"no upper limit", two_links(joint("revolute", "<limit lower='0'/>")), "has no attribute \"upper\"",
       "no upper stop"},
      {"lower above upper", two_links(joint("revolute", "<limit lower='1' upper='0'/>")),
       "lower limit 1 is above the upper limit 0", "the two are exchanged"},
      {"negative effort", two_links(joint("revolute", "<limit lower='0' upper='1' effort='-3'/>")), "limit@effort",
       "no bound"},
      {"negative damping", two_links(joint("continuous", "<dynamics damping='-1'/>")), "dynamics@damping",
       "taken as 0"},
      {"negative friction", two_links(joint("continuous", "<dynamics friction='-1'/>")), "dynamics@friction",
       "taken as 0"},
      {"infinite friction", two_links(joint("continuous", "<dynamics friction='inf'/>")), "dynamics@friction"},
      {"damped floating joint", two_links(joint("floating", "<dynamics damping='1'/>")), "takes no damping",
       "taken as 0"},
      {"mimic", two_links(joint("continuous", "<mimic joint='k'/>")), "follows joint \"k\", which does not exist",
       "it moves by itself"},
      {"mimic by nothing", two_links(joint("continuous", "<mimic joint='j' multiplier='0' offset='0.1'/>")),
       "expected the rate by which it follows", "fixed at the offset"},
      {"mimic of itself", two_links(joint("continuous", "<mimic joint='j'/>")), "follows itself"},
      {"mimic of words", two_links(joint("continuous", "<mimic joint='j' multiplier='two'/>")), "mimic@multiplier"},
      {"mimic without joint", two_links(joint("continuous", "<mimic/>")), "mimic"},
      // shapes
      {"no shape", shape(""), "geometry: has no shape", "this part of the link cannot touch anything"},
      {"unknown shape", shape("<cone radius='1'/>"), "geometry: has no shape",
       "this part of the link cannot touch anything"},
      {"two shapes", shape("<sphere radius='1'/><sphere radius='1'/>"), "another shape", "the first one counts"},
      {"zero radius", shape("<sphere radius='0'/>"), "sphere@radius: radius [m] is \"0\", expected > 0",
       "this part of the link cannot touch anything"},
      {"flat box", shape("<box size='1 0 1'/>"), "box@size", "this part of the link cannot touch anything"},
      {"no size", shape("<box/>"), "has no attribute \"size\"", "this part of the link cannot touch anything"},
      {"missing mesh", shape("<mesh filename='no/such.stl'/>"),
       "mesh \"no/such.stl\" not found, tried: ", "this part of the link cannot touch anything"},
      {"file without a mesh extension", shape("<mesh filename='file:///dev/null'/>"),
       "expected .stl, .obj, .dae, .gltf or .glb", "this part of the link cannot touch anything"},
      {"mesh scheme", shape("<mesh filename='http://x/y.stl'/>"), "unknown scheme",
       "this part of the link cannot touch anything"},
      {"package without a path", shape("<mesh filename='package://p/x.stl'/>"),
       "mesh \"package://p/x.stl\" not found, tried: ", "this part of the link cannot touch anything"},
      {"zero mesh scale", shape("<mesh scale='1 0 1' filename='x.stl'/>"), "mesh scale has a 0",
       "this part of the link cannot touch anything"},
      {"colour out of range", robot("<material name='m'><color rgba='0 0 2 1'/></material>" + link("a")),
       "four numbers in [0, 1]", "shown as 0 0 0.007843 1"},
      {"unknown material",
       robot(link("a", "<visual><geometry><sphere radius='1'/></geometry><material name='m'/></visual>")),
       "material \"m\" is not defined", "shown in grey"},
      // extensions
      {"unknown base", robot("<scree base='hovering'/>" + link("a")), "scree@base: is \"hovering\""},
      {"axis of a fixed base", robot("<scree axis='0 1 0'/>" + link("a")), "a fixed base has no axis"},
      {"misspelt extension", two_links(joint("continuous", "<scree armatur='1'/>")), "did you mean \"armature\"?"},
      {"ball on a hinge", two_links(joint("continuous", "<scree type='ball'/>")), "type=\"floating\""},
      {"wide ball", two_links(joint("floating", "<scree type='ball' max_angle='4'/>")), "expected in (0, pi]"},
      {"angle of a hinge", two_links(joint("continuous", "<scree max_angle='1'/>")), "only ball joints"},
      {"unlimited wheel", two_links(joint("continuous", "<scree unlimited='both'/>")), "no position limits"},
      {"contact point twice",
       robot(link("a", kInertial + "<scree><contact_point name='p' xyz='0 0 0'/><contact_point name='p' xyz='0 0 0'/>"
                                   "</scree>")),
       "contact_point[p]: the name is used twice"},
      {"capsule without radius", shape("<scree><capsule length='1'/></scree>"), "has no attribute \"radius\""},
      {"box in an extension", shape("<scree><box size='1 1 1'/></scree>"), "box: unknown element"},
  };
}

UrdfOptions strict(bool wanted) {
  UrdfOptions options;
  options.strict = wanted;
  return options;
}

void expect_one_line(const std::string& message, const std::string& expected) {
  EXPECT_NE(message.find(expected), std::string::npos) << "got: " << message << "\nexpected: " << expected;
  EXPECT_EQ(message.find_first_of("\r\n"), std::string::npos) << message;
}

TEST(UrdfMalformed, EveryMistakeGetsOneLineThatNamesFileAndPlace) {
  for (const Malformed& c : malformed()) {
    SCOPED_TRACE(c.name);
    const fs::path file = fs::path(testing::TempDir()) / "scree_malformed.urdf";
    std::ofstream(file, std::ios::binary) << c.text;
    const UrdfOptions options = strict(!c.cure.empty());
    try {
      load_urdf(file, options);
      ADD_FAILURE() << "was accepted";
    } catch (const InputError& error) {
      expect_one_line(error.what(), c.expected);
      EXPECT_TRUE(std::string(error.what()).starts_with(file.string() + ":")) << error.what();
    }
    ImportReport report;
    EXPECT_FALSE(check_urdf(file, options, report));
    EXPECT_GE(report.count(ImportVerdict::rejected), 1);
    EXPECT_EQ(report.count(ImportVerdict::repaired), 0);
  }
}

// What has an obvious meaning is accepted, said, and written so that even strict reading takes it.
TEST(UrdfMalformed, WhatHasAMeaningIsRepairedAndReported) {
  for (const Malformed& c : malformed()) {
    if (c.cure.empty()) continue;
    SCOPED_TRACE(c.name);
    const fs::path file = fs::path(testing::TempDir()) / "scree_malformed.urdf";
    std::ofstream(file, std::ios::binary) << c.text;
    ImportReport report, again;
    const std::optional<Model> model = check_urdf(file, {}, report);
    if (!model) {
      ADD_FAILURE() << report.first_rejection();
      continue;
    }
    std::string notes;
    for (const ImportEntry& entry : report.entries)
      if (entry.verdict == ImportVerdict::repaired) notes += entry.note + "\n";
    EXPECT_NE(notes.find(c.cure), std::string::npos) << notes;
    const std::string text = format_urdf(*model);
    EXPECT_EQ(format_urdf(parse_urdf(text, file, strict(true), &again)), text);
    EXPECT_EQ(again.count(ImportVerdict::repaired), 0);
  }
}

TEST(UrdfMalformed, FilesThatCannotBeRead) {
  const fs::path directory = fs::path(testing::TempDir());
  const std::pair<fs::path, std::string> cases[] = {{directory / "scree_no_such.urdf", "no such file"},
                                                    {directory, "is a directory"},
                                                    {"/dev/null", "not a regular file"},
                                                    {std::string(5000, 'x'), "cannot be read"}};
  for (const auto& [file, expected] : cases) {
    try {
      load_urdf(file);
      ADD_FAILURE() << "was accepted";
    } catch (const InputError& error) {
      expect_one_line(error.what(), expected);
    }
    ImportReport report;
    EXPECT_FALSE(check_urdf(file, {}, report));
    ASSERT_EQ(report.entries.size(), 1u);
    EXPECT_EQ(report.entries[0].verdict, ImportVerdict::rejected);
    EXPECT_EQ(report.entries[0].line, 0);
  }
}

TEST(UrdfMalformed, ABadMeshIsRejectedWhereItIsNamed) {
  const fs::path mesh = fs::path(testing::TempDir()) / "scree_bad_mesh.stl";
  std::ofstream(mesh) << "not a mesh";
  try {
    parse_urdf(shape("<mesh filename='" + mesh.string() + "'/>"), "r.urdf", strict(true));
    ADD_FAILURE() << "was accepted";
  } catch (const InputError& error) {
    expect_one_line(error.what(), "r.urdf:2: robot/link[a]/collision/geometry/mesh@filename: " + mesh.string());
  }
}

// --- fuzzing -------------------------------------------------------------------------------------------------------

std::string everything() {
  std::ostringstream text;
  text << std::ifstream(fs::path(source_dir()) / "tests/data/everything.urdf").rdbuf();
  return text.str();
}

// Every outcome is a Model or an InputError of one line; anything else escapes and fails the test.
bool reads(const std::string& text) {
  UrdfOptions options;
  options.search_path = {fs::path(source_dir()) / "tests/data"};
  ImportReport report;
  try {
    parse_urdf(text, "fuzz.urdf", options, &report);
    EXPECT_EQ(report.count(ImportVerdict::rejected), 0);
    return true;
  } catch (const InputError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("fuzz.urdf:")) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    EXPECT_GE(report.count(ImportVerdict::rejected), 1);
    return false;
  }
}

TEST(UrdfFuzz, MutatedFilesAreReadOrRefused) {
  const std::string original = everything();
  ASSERT_TRUE(reads(original));
  std::mt19937 random(20240607);
  const auto below = [&](size_t n) { return random() % n; };
  const std::string digits = "0123456789.-e";
  int read = 0;
  for (int k = 0; k < 2000; ++k) {
    std::string text = original;
    for (size_t edits = 1 + below(4); edits > 0; --edits) {
      const size_t at = below(text.size());
      switch (below(5)) {
        case 0:  // any byte
          text[at] = static_cast<char>(below(256));
          break;
        case 1:  // a byte of the file itself: more likely to stay well-formed
          text[at] = text[below(text.size())];
          break;
        case 2:  // another digit in the next number
          if (const size_t d = text.find_first_of(digits, at); d != std::string::npos)
            text[d] = digits[below(digits.size())];
          break;
        case 3:  // a piece lost
          text.erase(at, below(40));
          break;
        case 4:  // a piece doubled
          text.insert(below(text.size()), text.substr(at, below(80)));
          break;
      }
      if (text.empty()) text = " ";
    }
    read += reads(text);
  }
  EXPECT_GT(read, 20);  // both outcomes must occur, else the mutations are too harsh or too mild
  EXPECT_LT(read, 1980);
}

TEST(UrdfFuzz, TruncatedFilesAreRefused) {
  const std::string whole = everything();
  const size_t end = whole.rfind("</robot>") + 8;
  for (size_t n = 0; n < end; n += 7) EXPECT_FALSE(reads(whole.substr(0, n))) << n;
}

}  // namespace
}  // namespace scree
