// What the URDF reader makes of a file, what its report says, and that writing and reading again changes nothing.
#include "scree/urdf.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <regex>
#include <sstream>

#include "formats/rpy.h"
#include "scree/error.h"
#include "support/paths.h"

namespace scree {
namespace {

namespace fs = std::filesystem;

const fs::path kData = fs::path(source_dir()) / "tests" / "data";

std::string read_text(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

const std::string kInertial =
    "<inertial><mass value='1'/><inertia ixx='1' ixy='0' ixz='0' iyy='1' iyz='0' izz='1'/></inertial>";
std::string robot(const std::string& inside) { return "<robot name='r'>" + inside + "</robot>"; }
std::string link(const std::string& name, const std::string& inside = kInertial) {
  return fmt::format("<link name='{}'>{}</link>", name, inside);
}
std::string joint(const std::string& type, const std::string& inside) {
  return fmt::format("<joint name='j' type='{}'><parent link='a'/><child link='b'/>{}</joint>", type, inside);
}
Joint parse_joint(const std::string& type, const std::string& inside, ImportReport* report = nullptr) {
  const Model model = parse_urdf(robot(link("a") + link("b") + joint(type, inside)), "r.urdf", {}, report);
  return model.joint(model.find_joint("j"));
}
const ImportEntry& entry(const ImportReport& report, const std::string& place) {
  for (const ImportEntry& e : report.entries)
    if (e.place == place) return e;
  throw std::runtime_error("no entry " + place);
}

void expect_same(const Pose& a, const Pose& b, const std::string& where) {
  EXPECT_EQ(a.R, b.R) << where;
  EXPECT_EQ(a.p, b.p) << where;
}

void expect_same_joint(const Joint& a, const Joint& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.type, b.type) << a.name;
  expect_same(a.X_PJ, b.X_PJ, a.name);
  EXPECT_EQ(a.axis, b.axis) << a.name;
  EXPECT_EQ(a.limits.lower, b.limits.lower) << a.name;
  EXPECT_EQ(a.limits.upper, b.limits.upper) << a.name;
  EXPECT_EQ(a.limits.stiffness, b.limits.stiffness) << a.name;
  EXPECT_EQ(a.limits.margin, b.limits.margin) << a.name;
  EXPECT_EQ(a.damping, b.damping) << a.name;
  EXPECT_EQ(a.friction, b.friction) << a.name;
  EXPECT_EQ(a.armature, b.armature) << a.name;
  EXPECT_EQ(a.effort, b.effort) << a.name;
  EXPECT_EQ(a.velocity_limit, b.velocity_limit) << a.name;
  EXPECT_EQ(a.q_index, b.q_index) << a.name;
  EXPECT_EQ(a.v_index, b.v_index) << a.name;
}

struct SameGeometry {
  const Geometry& other;
  bool operator()(const Sphere& a) const { return a.radius == std::get<Sphere>(other).radius; }
  bool operator()(const Box& a) const { return a.size == std::get<Box>(other).size; }
  bool operator()(const Capsule& a) const {
    const auto& b = std::get<Capsule>(other);
    return a.radius == b.radius && a.length == b.length;
  }
  bool operator()(const Cylinder& a) const {
    const auto& b = std::get<Cylinder>(other);
    return a.radius == b.radius && a.length == b.length;
  }
  bool operator()(const Plane&) const { return std::holds_alternative<Plane>(other); }
  bool operator()(const std::shared_ptr<const HeightField>&) const { return false; }  // no element of a file
  bool operator()(const Mesh& a) const {
    const auto& b = std::get<Mesh>(other);
    return a.uri == b.uri && a.scale == b.scale && a.data->vertices == b.data->vertices &&
           a.data->triangles == b.data->triangles;
  }
};

void expect_same(const Model& a, const Model& b) {
  EXPECT_EQ(a.name(), b.name());
  EXPECT_EQ(a.nq(), b.nq());
  EXPECT_EQ(a.nv(), b.nv());
  ASSERT_EQ(a.bodies().size(), b.bodies().size());
  for (size_t i = 0; i < a.bodies().size(); ++i) {
    const Body &x = a.bodies()[i], &y = b.bodies()[i];
    EXPECT_EQ(x.name, y.name);
    EXPECT_EQ(x.parent, y.parent) << x.name;
    EXPECT_EQ(x.mass, y.mass) << x.name;
    EXPECT_EQ(x.com, y.com) << x.name;
    EXPECT_EQ(x.inertia, y.inertia) << x.name;
    expect_same_joint(a.joints()[i], b.joints()[i]);
  }
  ASSERT_EQ(a.shapes().size(), b.shapes().size());
  for (size_t i = 0; i < a.shapes().size(); ++i) {
    const Shape &x = a.shapes()[i], &y = b.shapes()[i];
    EXPECT_EQ(x.name, y.name) << i;
    EXPECT_EQ(x.body, y.body) << i;
    EXPECT_EQ(x.role, y.role) << i;
    EXPECT_EQ(x.rgba, y.rgba) << i;
    expect_same(x.X_BS, y.X_BS, fmt::format("shape {}", i));
    ASSERT_EQ(x.geometry.index(), y.geometry.index()) << i;
    EXPECT_TRUE(std::visit(SameGeometry{y.geometry}, x.geometry)) << i;
  }
  ASSERT_EQ(a.frames().size(), b.frames().size());
  for (size_t i = 0; i < a.frames().size(); ++i) {
    EXPECT_EQ(a.frames()[i].name, b.frames()[i].name);
    EXPECT_EQ(a.frames()[i].body, b.frames()[i].body) << a.frames()[i].name;
    expect_same(a.frames()[i].X_BF, b.frames()[i].X_BF, a.frames()[i].name);
  }
  ASSERT_EQ(a.contact_points().size(), b.contact_points().size());
  for (size_t i = 0; i < a.contact_points().size(); ++i) {
    const ContactPoint &x = a.contact_points()[i], &y = b.contact_points()[i];
    EXPECT_EQ(x.name, y.name);
    EXPECT_EQ(x.body, y.body) << x.name;
    EXPECT_EQ(x.p_B, y.p_B) << x.name;
    EXPECT_EQ(x.radius, y.radius) << x.name;
  }
}

// Equal text, but for the last digits of numbers.
void expect_same_text(const std::string& a, const std::string& b) {
  const std::regex number("[-+]?[0-9]+\\.?[0-9]*(e[-+]?[0-9]+)?");
  EXPECT_EQ(std::regex_replace(a, number, "#"), std::regex_replace(b, number, "#"));
  auto y = std::sregex_iterator(b.begin(), b.end(), number);
  for (auto x = std::sregex_iterator(a.begin(), a.end(), number); x != std::sregex_iterator(); ++x, ++y) {
    ASSERT_NE(y, std::sregex_iterator());
    EXPECT_NEAR(std::stod(x->str()), std::stod(y->str()), 1e-14);  // angles, as above
  }
}

// Counted on the text itself, without an XML library: the fixture keeps '=' and '<' out of values.
size_t count_elements_and_attributes(std::string text) {
  text = std::regex_replace(text, std::regex("<\\?[^>]*\\?>|<!--[^]*?-->"), "");
  const std::regex thing("<[A-Za-z_]|=\"");
  return static_cast<size_t>(std::distance(std::sregex_iterator(text.begin(), text.end(), thing), {}));
}

// --- round trip ----------------------------------------------------------------------------------------------------

TEST(UrdfRoundTrip, EveryFeatureSurvivesWritingAndReading) {
  const Model first = load_urdf(kData / "everything.urdf");
  const std::string text = format_urdf(first);
  const Model second = parse_urdf(text, kData / "written.urdf");
  expect_same(first, second);
  expect_same_text(text, format_urdf(second));
}

TEST(UrdfRoundTrip, EveryModelOfOursIsAcceptedAndSurvives) {
  int models = 0;
  for (const fs::directory_entry& file : fs::directory_iterator(fs::path(source_dir()) / "models")) {
    if (file.path().extension() != ".urdf") continue;
    SCOPED_TRACE(file.path().filename());
    ++models;
    ImportReport report;
    const std::optional<Model> model = check_urdf(file.path(), {}, report);
    ASSERT_TRUE(model);
    EXPECT_EQ(report.entries.size(), count_elements_and_attributes(read_text(file.path())));
    expect_same(*model, parse_urdf(format_urdf(*model), file.path()));
  }
  EXPECT_GT(models, 10);
}

TEST(UrdfRoundTrip, SavedFileIsWholeAndLeavesNothingElse) {
  const fs::path directory = fs::path(testing::TempDir()) / "scree_urdf_save";
  fs::remove_all(directory);
  fs::create_directories(directory);
  const Model model = load_urdf(kData / "everything.urdf");
  save_urdf(model, directory / "copy.urdf");
  EXPECT_EQ(read_text(directory / "copy.urdf"), format_urdf(model));
  EXPECT_EQ(std::distance(fs::directory_iterator(directory), fs::directory_iterator()), 1);
  EXPECT_THROW(save_urdf(model, directory / "missing" / "copy.urdf"), InputError);
  fs::create_directory(directory / "taken");
  EXPECT_THROW(save_urdf(model, directory / "taken"), InputError);
  EXPECT_EQ(std::distance(fs::directory_iterator(directory), fs::directory_iterator()), 2);
}

TEST(UrdfRoundTrip, BuiltModelWithAwkwardNamesAndUnlimitedJoints) {
  Body body{"torso <&\"'>", {}, 2, Vec3(0.1, 0.2, 0.3), Mat3(Vec3(1, 2, 2.5).asDiagonal())};
  Body rod = body;
  rod.name = "stange \xC3\xA4";
  Joint root, hinge;
  root.name = "tip_joint";  // the name the writer would give to the frame's joint
  root.type = JointType::ball;
  hinge.name = "hinge";
  hinge.type = JointType::revolute;  // no stops at all
  hinge.axis = Vec3(1, 2, 3).normalized();
  Shape ground;
  ground.role = ShapeRole::collision;
  ground.geometry = Plane{};
  const Model model = ModelBuilder("built")
                          .add_body(body, "world", root)
                          .add_body(rod, body.name, hinge)
                          .add_shape("world", ground)
                          .add_frame(rod.name, {"tip", {}, {rotation_from_rpy({1, 2, 3}), Vec3(0, 0, 1)}})
                          .add_frame("world", {"home", {}, {Mat3::Identity(), Vec3(1, 0, 0)}})
                          .add_contact_point("world", {"peg", {}, Vec3(0, 0, 1), 0.5})
                          .build();
  expect_same(model, parse_urdf(format_urdf(model), "built.urdf"));
}

TEST(UrdfRoundTrip, RotationsSurviveAtAndNearGimbalLock) {
  for (const double off : {0.0, 1e-17, 1e-12, 1e-8, 1e-4, 0.3})
    for (const double sign : {-1.0, 1.0})
      for (const double roll : {0.0, 0.7, -2.9, M_PI})
        for (const double yaw : {0.0, -0.4, 3.0}) {
          const Mat3 R = rotation_from_rpy({roll, sign * (M_PI / 2 - off), yaw});
          EXPECT_LE((rotation_from_rpy(rpy_from_rotation(R)) - R).cwiseAbs().maxCoeff(), 2e-15) << off;
        }
  Mat3 exact;  // 90 degrees about y, without rounding
  exact << 0, 0, 1, 0, 1, 0, -1, 0, 0;
  EXPECT_LE((rotation_from_rpy(rpy_from_rotation(exact)) - exact).cwiseAbs().maxCoeff(), 2e-16);
}

// --- the report ----------------------------------------------------------------------------------------------------

// Every rotation that three angles make, and products of two, which need not be one: the same bits, and the same text
// when written again. Angles small, beyond pi/2, and at gimbal lock.
TEST(UrdfRoundTrip, RotationsAndAxesKeepTheirBits) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> angle(-M_PI, M_PI), exponent(-12, 0);
  const auto draw = [&] {
    Vec3 rpy;
    for (double& x : rpy) x = random() % 3 == 0 ? std::pow(10, exponent(random)) : angle(random);
    if (random() % 5 == 0) rpy(1) = random() % 2 == 0 ? M_PI / 2 : -M_PI / 2;
    return rotation_from_rpy(rpy);
  };
  int matrices = 0;
  for (int k = 0; k < 2000; ++k) {
    Joint joint;
    joint.name = "j";
    joint.type = JointType::continuous;
    joint.axis = Vec3(angle(random), angle(random), angle(random));
    const bool product = k % 4 == 0;
    joint.X_PJ.R = product ? Mat3(draw() * draw()) : draw();
    Body body;
    body.name = "b";
    body.mass = 1;
    body.inertia = Mat3::Identity();
    const Model model = ModelBuilder("m").add_body(body, "world", joint).build();
    const std::string text = format_urdf(model);
    const Model again = parse_urdf(text, "m.urdf");
    expect_same(model, again);
    EXPECT_EQ(format_urdf(again), text);
    if (!product && text.find("rotation=") != std::string::npos) ++matrices;
  }
  EXPECT_EQ(matrices, 0);  // angles were found for every rotation that angles made
}

TEST(UrdfRoundTrip, AMatrixMustAgreeWithTheAngles) {
  const auto origin = [](const char* matrix) {
    return fmt::format("<origin rpy='0 0 1.5707963267948966'><scree rotation='{}'/></origin>", matrix);
  };
  EXPECT_EQ(parse_joint("continuous", origin("0 -1 0 1 0 0 0 0 1")).X_PJ.R,
            (Mat3() << 0, -1, 0, 1, 0, 0, 0, 0, 1).finished());
  for (const char* const bad : {"1 0 0 0 1 0 0 0 1", "0 -1 0 1 0 0 0 0", "nan -1 0 1 0 0 0 0 1"})
    EXPECT_THROW(parse_joint("continuous", origin(bad)), InputError) << bad;
}

// Work that grew with the square of the links: 22 s for 20 000 whose parents are misspelt, 16 s to write 10^5
// shapes. Suggestions are counted here, the rest would just take long.
TEST(UrdfLarge, TwentyThousandLinks) {
  constexpr int kLinks = 20000;
  std::string chain, lost;
  for (int i = 0; i < kLinks; ++i) {
    const std::string inside = kInertial + "<visual><geometry><sphere radius='1'/></geometry></visual>";
    chain += link(fmt::format("link_{}", i), inside) + "\n";
    lost += link(fmt::format("link_{}", i)) + "\n";
    if (i == 0) continue;
    const char* const form =
        "<joint name='j{}' type='continuous'><parent link='{}_{}'/><child link='link_{}'/></joint>\n";
    chain += fmt::format(fmt::runtime(form), i, "link", i - 1, i);
    lost += fmt::format(fmt::runtime(form), i, "lonk", i - 1, i);
  }
  const Model model = parse_urdf(robot(chain), "r.urdf");
  EXPECT_EQ(model.nv(), kLinks - 1);
  const std::string text = format_urdf(model);
  EXPECT_EQ(format_urdf(parse_urdf(text, "r.urdf")), text);
  ImportReport report;
  EXPECT_THROW(parse_urdf(robot(lost), "r.urdf", {}, &report), InputError);
  EXPECT_EQ(report.count(ImportVerdict::rejected), kLinks - 1);
  const auto suggested = std::ranges::count_if(
      report.entries, [](const ImportEntry& e) { return e.note.find("did you mean") != std::string::npos; });
  EXPECT_EQ(suggested, 20);
}

TEST(UrdfReport, ListsEveryElementAndAttributeOnceInFileOrder) {
  ImportReport report;
  ASSERT_TRUE(check_urdf(kData / "everything.urdf", {}, report));
  EXPECT_EQ(report.entries.size(), count_elements_and_attributes(read_text(kData / "everything.urdf")));
  EXPECT_EQ(report.count(ImportVerdict::rejected), 0);
  int line = 1;
  for (const ImportEntry& e : report.entries) {
    EXPECT_GE(e.line, line);
    line = e.line;
    EXPECT_FALSE(e.place.empty());
    EXPECT_FALSE(e.note.empty()) << e.place;
  }
}

TEST(UrdfReport, StaysTotalWhenThingsAreRejected) {
  const std::string text = std::regex_replace(read_text(kData / "everything.urdf"), std::regex("revolute"), "revolut");
  const fs::path file = fs::path(testing::TempDir()) / "scree_report.urdf";
  std::ofstream(file) << std::regex_replace(text, std::regex("mass value=\"1\""), "mass value=\"x\"");
  ImportReport report;
  UrdfOptions options;
  options.search_path = {kData};
  EXPECT_FALSE(check_urdf(file, options, report));
  EXPECT_EQ(report.entries.size(), count_elements_and_attributes(text));
  EXPECT_EQ(report.count(ImportVerdict::rejected), 2);
  EXPECT_EQ(report.count(ImportVerdict::mapped) + report.count(ImportVerdict::ignored) + 2,
            static_cast<int>(report.entries.size()));
}

TEST(UrdfReport, SaysWhatBecameOfThings) {
  ImportReport report;
  load_urdf(kData / "everything.urdf", {}, &report);
  struct Case {
    const char* place;
    ImportVerdict verdict;
    const char* note;
  };
  using enum ImportVerdict;
  const Case cases[] = {
      {"robot", mapped, "model of 8 bodies and 18 degrees of freedom"},
      {"robot@version", ignored, "version"},
      {"robot@xmlns:xacro", ignored, "not an attribute of <robot>"},
      {"robot/scree@axis", mapped, "normalised from length 2"},
      {"robot/material[wood]/texture", ignored, "textures"},
      {"robot/material[wood]/texture@filename", ignored, "part of <texture>"},
      {"robot/link[torso]@type", ignored, "not an attribute of <link>"},
      {"robot/link[torso]/inertial/mass@value", mapped, "mass [kg]"},
      {"robot/link[torso]/collision/geometry/cylinder", ignored, "overridden by <scree>"},
      {"robot/link[torso]/collision/material[red]", ignored, "no colour"},
      {"robot/link[plate]", mapped, "frame"},
      {"robot/joint[torso_to_plate]/axis", ignored, "fixed joint has no axis"},
      {"robot/joint[torso_to_plate]/limit", ignored, "does not move"},
      {"robot/joint[hip]/axis@xyz", mapped, "normalised from length 5"},
      {"robot/joint[hip]/limit@velocity", mapped, "0 is taken as unset"},
      {"robot/joint[hip]/dynamics@friction", mapped, "dry friction"},
      {"robot/joint[hip]/safety_controller", ignored, "controller"},
      {"robot/joint[hip]/calibration", ignored, "encoders"},
      {"robot/joint[slide]/limit@lower", ignored, "unlimited"},
      {"robot/joint[roll]/limit@lower", ignored, "continuous"},
      {"robot/transmission[drive]/joint[hip]", ignored, "part of <transmission>"},
      {"robot/gazebo@reference", ignored, "part of <gazebo>"},
      {"robot/sensor[imu]", ignored, "sensors"},
      {"robot/unheard_of", ignored, "not an element scree knows"},
      {"robot/unheard_of@value", ignored, "part of <unheard_of>"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(entry(report, c.place).verdict, c.verdict) << c.place;
    EXPECT_NE(entry(report, c.place).note.find(c.note), std::string::npos)
        << c.place << ": " << entry(report, c.place).note;
  }
  EXPECT_EQ(entry(report, "robot/link[torso]/visual/geometry/mesh@filename").line, 33);
  EXPECT_EQ(entry(report, "robot/link[torso]/visual/geometry/mesh@scale").line, 34);  // on a line of its own
}

TEST(UrdfReport, CollectsEveryRejectionAndLoadThrowsTheFirst) {
  const std::string text = robot("\n" + link("a", "<inertial>\n<mass value='-1'/></inertial>") + "\n" + link("b") +
                                 "\n" + joint("hinge", "<axis xyz='0 0'/>"));
  const fs::path file = fs::path(testing::TempDir()) / "scree_rejections.urdf";
  std::ofstream(file) << text;
  ImportReport report;
  EXPECT_FALSE(check_urdf(file, {}, report));
  EXPECT_EQ(report.count(ImportVerdict::rejected), 2);
  try {
    load_urdf(file);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()),
              file.string() + ":3: robot/link[a]/inertial/mass@value: mass [kg] is \"-1\", expected >= 0");
  }
}

TEST(UrdfReport, StrayTextIsMentioned) {
  ImportReport report;
  parse_urdf(robot(link("a", "lost words" + kInertial)), "r.urdf", {}, &report);
  EXPECT_NE(entry(report, "robot/link[a]").note.find("text inside is ignored"), std::string::npos);
}

// --- links and bases -----------------------------------------------------------------------------------------------

TEST(UrdfInertia, OriginTurnsTheInertiaIntoBodyAxes) {
  const Model model =
      parse_urdf(robot(link("a",
                            "<inertial><origin xyz='1 2 3' rpy='0 0 1.5707963267948966'/><mass value='2'/>"
                            "<inertia ixx='1' ixy='0.1' ixz='0.2' iyy='2' iyz='0.3' izz='2.5'/></inertial>")),
                 "r.urdf");
  // 90 degrees about z takes x to y and y to -x.
  Mat3 expected;
  expected << 2, -0.1, -0.3, -0.1, 1, 0.2, -0.3, 0.2, 2.5;
  EXPECT_LE((model.bodies()[0].inertia - expected).cwiseAbs().maxCoeff(), 2e-15);  // a few roundings of 2.5
  EXPECT_EQ(model.bodies()[0].com, Vec3(1, 2, 3));
  EXPECT_EQ(model.bodies()[0].inertia, model.bodies()[0].inertia.transpose());
}

TEST(UrdfInertia, RepairIsReportedAndStrictReadingRejects) {
  const std::string text = robot(link("a",
                                      "<inertial><mass value='1'/><inertia ixx='1' ixy='0' ixz='0' iyy='1' iyz='0' "
                                      "izz='5'/></inertial>"));
  UrdfOptions options;
  options.strict = true;
  EXPECT_THROW(parse_urdf(text, "r.urdf", options), InputError);
  ImportReport report;
  const Model model = parse_urdf(text, "r.urdf", {}, &report);
  EXPECT_TRUE(check_inertia(model.bodies()[0].inertia).valid);
  const ImportEntry& e = entry(report, "robot/link[a]/inertial/inertia");
  EXPECT_EQ(e.verdict, ImportVerdict::repaired);
  EXPECT_NE(e.note.find("principal values 1, 1, 5 became 2.5, 2.5, 5"), std::string::npos) << e.note;
  EXPECT_NE(e.note.find("+150 %"), std::string::npos) << e.note;
}

TEST(UrdfBase, IsFixedUnlessFileOrCallerSayOtherwise) {
  const auto base = [](const std::string& inside, BaseType type) {
    UrdfOptions options;
    options.base = type;
    return parse_urdf(robot(inside + link("a")), "r.urdf", options).joints()[0];
  };
  EXPECT_EQ(base("", BaseType::as_file).type, JointType::fixed);
  EXPECT_EQ(base("", BaseType::as_file).name, "base");
  EXPECT_EQ(base("<scree base='floating'/>", BaseType::as_file).type, JointType::floating);
  EXPECT_EQ(base("<scree base='floating' joint='root'/>", BaseType::as_file).name, "root");
  EXPECT_EQ(base("<scree base='planar'/>", BaseType::as_file).axis, Vec3::UnitZ());
  EXPECT_EQ(base("<scree base='planar' axis='0 1 0'/>", BaseType::as_file).axis, Vec3::UnitY());
  EXPECT_EQ(base("<scree base='planar' axis='0 1 0'/>", BaseType::floating).type, JointType::floating);
  EXPECT_EQ(base("<scree base='floating'/>", BaseType::fixed).type, JointType::fixed);
  EXPECT_EQ(base("", BaseType::planar).type, JointType::planar);
}

TEST(UrdfBase, LinkWorldIsTheWorld) {
  const Model model = parse_urdf(
      robot(link("world", "<visual><geometry><sphere radius='1'/></geometry></visual>") + link("mark", "") + link("b") +
            "<joint name='j' type='floating'><parent link='world'/><child link='b'/></joint>"
            "<joint name='k' type='fixed'><parent link='world'/><child link='mark'/></joint>"),
      "r.urdf");
  ASSERT_EQ(model.bodies().size(), 1u);
  EXPECT_EQ(model.joints()[0].name, "j");
  EXPECT_EQ(model.shapes()[0].body, kWorld);
  EXPECT_EQ(model.find_frame("mark").body, kWorld);
}

TEST(UrdfBase, MasslessFixedRootBecomesAFrameOfTheWorld) {
  const Model model =
      parse_urdf(robot(link("a", "") + link("b") +
                       "<joint name='base' type='continuous'><parent link='a'/><child link='b'/></joint>"),
                 "r.urdf");
  EXPECT_EQ(model.find_frame("a").body, kWorld);
  EXPECT_EQ(model.joints()[0].name, "base");
}

// --- joints and extensions -----------------------------------------------------------------------------------------

TEST(UrdfJoint, NumbersArriveInTheirFields) {
  const Joint j =
      parse_joint("revolute",
                  "<origin xyz='1 2 3'/><axis xyz='0 1 0'/><limit lower='-1' upper='2' effort='5' velocity='6'/>"
                  "<dynamics damping='7' friction='0.7'/><scree armature='8' limit_stiffness='9' limit_margin='0.5'/>");
  EXPECT_EQ(j.type, JointType::revolute);
  EXPECT_EQ(j.X_PJ.p, Vec3(1, 2, 3));
  EXPECT_EQ(j.axis, Vec3::UnitY());
  EXPECT_EQ(j.limits.lower, -1);
  EXPECT_EQ(j.limits.upper, 2);
  EXPECT_EQ(j.effort, 5);
  EXPECT_EQ(j.velocity_limit, 6);
  EXPECT_EQ(j.damping, 7);
  EXPECT_EQ(j.friction, 0.7);
  EXPECT_EQ(j.armature, 8);
  EXPECT_EQ(j.limits.stiffness, 9);
  EXPECT_EQ(j.limits.margin, 0.5);
}

TEST(UrdfJoint, RpyTurnsAboutFixedAxesXThenYThenZ) {
  const Joint j = parse_joint("continuous", "<origin rpy='0.1 0.2 0.3'/>");
  const Mat3 expected = (Eigen::AngleAxisd(0.3, Vec3::UnitZ()) * Eigen::AngleAxisd(0.2, Vec3::UnitY()) *
                         Eigen::AngleAxisd(0.1, Vec3::UnitX()))
                            .toRotationMatrix();
  EXPECT_LE((j.X_PJ.R - expected).cwiseAbs().maxCoeff(), 1e-15);
  EXPECT_EQ(j.axis, Vec3::UnitX());  // URDF's default
}

TEST(UrdfJoint, ZeroEffortAndVelocityMeanNoBound) {
  const Joint j = parse_joint("prismatic", "<limit lower='0' upper='1' effort='0' velocity='0'/>");
  EXPECT_TRUE(std::isinf(j.effort));
  EXPECT_TRUE(std::isinf(j.velocity_limit));
}

TEST(UrdfExtension, BallJoint) {
  const Joint j = parse_joint("floating", "<scree type='ball' max_angle='1.5'/><dynamics damping='2'/>");
  EXPECT_EQ(j.type, JointType::ball);
  EXPECT_EQ(j.limits.upper, 1.5);
  EXPECT_EQ(j.damping, 2);
}

TEST(UrdfJoint, FrictionNeedsAnAxis) {
  EXPECT_EQ(parse_joint("continuous", "<dynamics friction='0.25'/>").friction, 0.25);
  EXPECT_EQ(parse_joint("planar", "<dynamics friction='0.25'/>").friction, 0);
  EXPECT_EQ(parse_joint("floating", "<dynamics friction='0.25'/>").friction, 0);
  EXPECT_EQ(parse_joint("floating", "<scree type='ball'/><dynamics friction='0.25'/>").friction, 0);
}

TEST(UrdfExtension, UnlimitedEnds) {
  const Joint both = parse_joint("revolute", "<scree unlimited='both'/>");
  EXPECT_TRUE(std::isinf(both.limits.lower) && std::isinf(both.limits.upper));
  const Joint upper = parse_joint("prismatic", "<limit lower='-1' upper='9'/><scree unlimited='upper'/>");
  EXPECT_EQ(upper.limits.lower, -1);
  EXPECT_TRUE(std::isinf(upper.limits.upper));
}

TEST(UrdfExtension, ShapesAndContactPoints) {
  const Model model = parse_urdf(
      robot(link("a", kInertial +
                          "<collision><geometry><scree><capsule radius='1' length='0'/></scree></geometry></collision>"
                          "<visual><geometry><box size='1 1 1'/><scree><plane/></scree></geometry></visual>"
                          "<scree><contact_point name='p' xyz='1 2 3' radius='0.5'/></scree>")),
      "r.urdf");
  ASSERT_EQ(model.shapes().size(), 2u);
  EXPECT_EQ(std::get<Capsule>(model.shapes()[0].geometry).radius, 1);
  EXPECT_TRUE(std::holds_alternative<Plane>(model.shapes()[1].geometry));
  ASSERT_EQ(model.contact_points().size(), 1u);
  EXPECT_EQ(model.contact_points()[0].p_B, Vec3(1, 2, 3));
  EXPECT_EQ(model.contact_points()[0].radius, 0.5);
}

// --- colours and meshes --------------------------------------------------------------------------------------------

TEST(UrdfMaterial, NamedAndInlineColours) {
  const auto visual = [](const std::string& material) {
    return "<visual><geometry><sphere radius='1'/></geometry>" + material + "</visual>";
  };
  const Model model = parse_urdf(robot(link("a", kInertial + visual("<material name='red'/>") +
                                                     visual("<material name='own'><color rgba='0 1 0 1'/></material>") +
                                                     visual("<material name='own'/>") + visual("")) +
                                       "<material name='red'><color rgba='1 0 0 0.5'/></material>"),
                                 "r.urdf");
  const std::array<double, 4> red = {1, 0, 0, 0.5}, green = {0, 1, 0, 1};
  EXPECT_EQ(model.shapes()[0].rgba, red);
  EXPECT_EQ(model.shapes()[1].rgba, green);
  EXPECT_EQ(model.shapes()[2].rgba, green);
  EXPECT_EQ(model.shapes()[3].rgba, Shape{}.rgba);
}

std::string two_meshes(const std::string& uri) {
  const std::string shape = "<visual><geometry><mesh filename='" + uri + "'/></geometry></visual>";
  return robot(link("a", kInertial + shape + shape));
}

TEST(UrdfMesh, IsFoundBesideTheFileOnTheSearchPathAndInPackages) {
  UrdfOptions data, tests;
  data.search_path = {"/nonexistent", kData};
  tests.search_path = {kData.parent_path()};
  const std::string absolute = (kData / "tetrahedron.obj").string();
  EXPECT_NO_THROW(parse_urdf(two_meshes("tetrahedron.obj"), kData / "r.urdf"));
  EXPECT_NO_THROW(parse_urdf(two_meshes("tetrahedron.obj"), "/elsewhere/r.urdf", data));
  EXPECT_NO_THROW(parse_urdf(two_meshes(absolute), "/elsewhere/r.urdf"));
  EXPECT_NO_THROW(parse_urdf(two_meshes("file://" + absolute), "/elsewhere/r.urdf"));
  EXPECT_NO_THROW(parse_urdf(two_meshes("package://data/tetrahedron.obj"), "/elsewhere/r.urdf", tests));
  EXPECT_NO_THROW(parse_urdf(two_meshes("package://any/tetrahedron.obj"), "/elsewhere/r.urdf", data));
}

TEST(UrdfMesh, EqualNamesShareOneMeshAndALoaderReplacesFiles) {
  int calls = 0;
  UrdfOptions options;
  options.mesh_loader = [&](const std::string& uri) {
    ++calls;
    EXPECT_EQ(uri, "anything.dae");
    return std::make_shared<const TriangleMesh>(TriangleMesh{{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, {{0, 1, 2}}});
  };
  const Model model = parse_urdf(two_meshes("anything.dae"), "r.urdf", options);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(std::get<Mesh>(model.shapes()[0].geometry).data, std::get<Mesh>(model.shapes()[1].geometry).data);
}

TEST(UrdfMesh, MissingOneListsThePlacesTried) {
  UrdfOptions options;
  options.search_path = {"/first", "/second"};
  options.strict = true;
  try {
    parse_urdf(two_meshes("package://pkg/meshes/a.stl"), "r.urdf", options);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what())
                  .find("tried: /first/pkg/meshes/a.stl, /first/meshes/a.stl, "
                        "/second/pkg/meshes/a.stl, /second/meshes/a.stl"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace scree
