// What the URDF reader repairs: the numbers it chooses, what they do to the motion, and that every repaired model runs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <regex>
#include <sstream>

#include "scree/dynamics.h"
#include "scree/error.h"
#include "scree/kinematics.h"
#include "scree/simulation.h"
#include "scree/urdf.h"
#include "support/paths.h"
#include "support/temp_folder.h"

namespace scree {
namespace {

namespace fs = std::filesystem;

std::string inertial(double mass, double inertia) {
  return fmt::format(
      "<inertial><mass value='{}'/><inertia ixx='{}' ixy='0' ixz='0' iyy='{}' iyz='0' izz='{}'/>"
      "</inertial>",
      mass, inertia, inertia, inertia);
}
const std::string kInertial = inertial(1, 1);
std::string robot(const std::string& inside) { return "<robot name='r'>\n" + inside + "\n</robot>"; }
std::string link(const std::string& name, const std::string& inside = kInertial) {
  return fmt::format("<link name='{}'>{}</link>\n", name, inside);
}
std::string joint(const std::string& name, const std::string& type, const std::string& parent, const std::string& child,
                  const std::string& inside = "") {
  return fmt::format("<joint name='{}' type='{}'><parent link='{}'/><child link='{}'/>{}</joint>\n", name, type, parent,
                     child, inside);
}
std::string axis(const char* xyz) { return fmt::format("<axis xyz='{}'/>", xyz); }
std::string box(const char* role, const char* size = "0.2 0.1 0.4") {
  return fmt::format("<{}><geometry><box size='{}'/></geometry></{}>", role, size, role);
}

struct Read {
  Model model;
  ImportReport report;
  const ImportEntry& entry(const std::string& place) const {
    for (const ImportEntry& e : report.entries)
      if (e.place == place) return e;
    throw std::runtime_error("no entry " + place);
  }
  bool tells(const std::string& what) const {
    return std::ranges::any_of(report.consequences, [&](const std::string& s) { return s.find(what) != s.npos; });
  }
  const Joint& joint(const char* name) const { return model.joint(model.find_joint(name)); }
  const Body& body(const char* name) const { return model.body(model.find_body(name)); }
};
Read read(const std::string& text, const UrdfOptions& options = {}, const fs::path& file = "r.urdf") {
  ImportReport report;
  Model model = parse_urdf(text, file, options, &report);
  return {std::move(model), std::move(report)};
}
UrdfOptions floating() {
  UrdfOptions options;
  options.base = BaseType::floating;
  return options;
}

// A few steps with integrators of every family, on a floor if the integrator knows contact. What a step cannot do it
// must say; the state stays finite.
void expect_runs(const Model& model, const std::string& what) {
  using enum IntegratorType;
  const auto solved = [&](IntegratorType type, bool floor) {
    World world;
    if (floor) {
      world.add(contact_candidates(model, ContactCandidates::automatic));
      world.add(plane_collider(Vec3::Zero(), Vec3::UnitZ()));
    }
    StepOptions options;
    options.dt = 0.01;
    options.integrator = type;
    Simulation simulation(model, std::move(world), options);
    Eigen::VectorXd v = Eigen::VectorXd::Constant(model.nv(), 0.1);
    simulation.set_state(model.neutral_position(), v);
    for (int k = 0; k < 3; ++k) {
      const bool converged = simulation.step().converged();
      EXPECT_TRUE(simulation.state().q.allFinite() && simulation.state().v.allFinite())
          << what << ", " << integrator_name(type);
      if (!converged) return false;
    }
    return true;
  };
  for (const IntegratorType type : {pbd, ne, pbd_nmdp2, pbfd_coulomb})
    EXPECT_TRUE(solved(type, false)) << what << ", " << integrator_name(type);
  for (const IntegratorType type : {rk4, ne_lcp, event}) solved(type, false);  // explicit: may refuse what is stiff
  if (!model.contact_points().empty() ||
      std::ranges::any_of(model.shapes(), [](const Shape& s) { return s.role == ShapeRole::collision; }))
    for (const IntegratorType type : {pbd_nmdp2, pbfd_coulomb}) solved(type, true);
}

// --- meshes --------------------------------------------------------------------------------------------------------

std::string mesh(const char* role, const std::string& uri) {
  return fmt::format("<{}><geometry><mesh filename='{}'/></geometry></{}>", role, uri, role);
}

TEST(UrdfRepairMesh, AMissingOneIsACubeInTheViewAndNoCollisionShape) {
  const Read r = read(
      robot(link("a", kInertial + mesh("visual", "no.stl") + mesh("collision", "no.stl") + box("collision", "3 4 12")) +
            link("b", kInertial + mesh("collision", "no.dae")) + joint("j", "continuous", "a", "b")));
  ASSERT_EQ(r.model.shapes().size(), 2u);
  const auto view = std::ranges::find(r.model.shapes(), ShapeRole::view, &Shape::role);
  // The model is as large as its box, with a diagonal of 13 m.
  EXPECT_LE((std::get<Box>(view->geometry).size - Vec3::Constant(0.26)).norm(), 1e-12);
  const ImportEntry& seen = r.entry("robot/link[a]/visual/geometry/mesh@filename");
  EXPECT_EQ(seen.verdict, ImportVerdict::repaired);
  EXPECT_NE(seen.note.find("\"no.stl\" not found, tried: "), std::string::npos) << seen.note;
  EXPECT_NE(seen.note.find("a cube of 0.26 m stands in for it in the view, the motion is not affected"),
            std::string::npos);
  EXPECT_NE(r.entry("robot/link[a]/collision/geometry/mesh@filename").note.find("cannot touch anything"),
            std::string::npos);
  EXPECT_TRUE(r.tells("1 link lost part of their shapes, which cannot touch anything: a"));
  EXPECT_TRUE(r.tells("1 link lost all shapes and cannot touch anything: b"));
  EXPECT_TRUE(r.tells("1 of 2 bodies have no collision shape and cannot touch anything: b"));
  EXPECT_TRUE(r.tells("1 link not shown as meant: a"));
  expect_runs(r.model, "missing meshes");
}

// repo/ with robot_description/urdf/r.urdf, its meshes, those of a package beside it, and one above.
class Workspace {
 public:
  Workspace() {
    for (const char* const name : {"robot_description/urdf", "robot_description/meshes", "other/meshes", "shared"})
      fs::create_directories(folder_ / "repo" / name);
    for (const char* const name : {"robot_description/meshes/own.obj", "robot_description/urdf/near.obj",
                                   "other/meshes/other.obj", "shared/top.obj"})
      fs::copy(fs::path(source_dir()) / "tests/data/tetrahedron.obj", folder_ / "repo" / name);
    fs::copy(fs::path(source_dir()) / "tests/data/tetrahedron.obj", folder_ / "outside.obj");
  }
  fs::path root() const { return folder_ / "repo"; }
  // Of the mesh that a link with this name for it reads; empty if none is found.
  std::string found(const std::string& uri) const {
    const Read r =
        read(robot(link("a", kInertial + mesh("visual", uri))), {}, root() / "robot_description/urdf/r.urdf");
    return r.report.files.size() < 2 ? "" : fs::weakly_canonical(r.report.files[1]).lexically_relative(root()).string();
  }

 private:
  TempFolder folder_;
};

TEST(UrdfRepairMesh, PackagesAndPathsAreFoundAroundTheModel) {
  const Workspace place;
  const std::string own = "robot_description/meshes/own.obj", other = "other/meshes/other.obj", top = "shared/top.obj";
  EXPECT_EQ(place.found("package://robot_description/meshes/own.obj"), own);  // an ancestor of that name
  EXPECT_EQ(place.found("package://other/meshes/other.obj"), other);          // beside one
  EXPECT_EQ(place.found("package://renamed/meshes/own.obj"), own);            // of another name here
  EXPECT_EQ(place.found("model://other/meshes/other.obj"), other);
  EXPECT_EQ(place.found("meshes/own.obj"), own);
  EXPECT_EQ(place.found("other/meshes/other.obj"), other);
  EXPECT_EQ(place.found("robot_description/meshes/own.obj"), own);
  EXPECT_EQ(place.found("shared/top.obj"), top);
  EXPECT_EQ(place.found("near.obj"), "robot_description/urdf/near.obj");
  EXPECT_EQ(place.found("../meshes/own.obj"), own);
  EXPECT_EQ(place.found("/home/someone/ws/src/robot_description/meshes/own.obj"), own);  // another machine
  EXPECT_EQ(place.found("file:///home/someone/ws/src/robot_description/meshes/own.obj"), own);
  EXPECT_EQ(place.found("package://other/meshes/missing.obj"), "");
  EXPECT_EQ(place.found("http://somewhere/own.obj"), "");
}

// A path that climbs is followed from the model's folder, as ever, and from nowhere else.
TEST(UrdfRepairMesh, PathsThatClimbAreNotTriedAround) {
  const Workspace place;
  EXPECT_EQ(place.found("../../../outside.obj"), "../outside.obj");
  for (const char* const uri :
       {"../outside.obj", "../../outside.obj", "package://../outside.obj", "package://other/../../outside.obj",
        "package://other/../../../outside.obj", "model://../../../../../outside.obj", "meshes/../../outside.obj",
        "package://", "package:///", "file://", "/", "..", "."})
    EXPECT_EQ(place.found(uri), "") << uri;
}

TEST(UrdfRepairMesh, TheSearchPathComesFirst) {
  const Workspace place;
  UrdfOptions options;
  options.search_path = {place.root() / "shared"};
  fs::create_directories(place.root() / "shared/robot_description/meshes");
  fs::copy(place.root() / "shared/top.obj", place.root() / "shared/robot_description/meshes/own.obj");
  const Read r = read(robot(link("a", kInertial + mesh("visual", "package://robot_description/meshes/own.obj"))),
                      options, place.root() / "robot_description/urdf/r.urdf");
  ASSERT_EQ(r.report.files.size(), 2u);
  EXPECT_EQ(r.report.files[1], place.root() / "shared/robot_description/meshes/own.obj");
}

// --- mass and inertia ----------------------------------------------------------------------------------------------

TEST(UrdfRepairInertia, MassWithoutInertiaTurnsLikeItsShapes) {
  for (const char* const given : {"<inertial><mass value='6'/></inertial>",
                                  "<inertial><mass value='6'/><inertia ixx='0' ixy='0' ixz='0' iyy='0' iyz='0' "
                                  "izz='0'/></inertial>",
                                  "<inertial><mass value='6'/><inertia ixx='-1' ixy='0' ixz='0' iyy='-1' iyz='0' "
                                  "izz='-1'/></inertial>",
                                  "<inertial><mass value='6'/><inertia ixx='1e-30' ixy='0' ixz='0' iyy='1e-30' "
                                  "iyz='0' izz='1e-30'/></inertial>"}) {
    // m (b^2 + c^2) / 12 of a solid box; what is seen counts only where nothing touches.
    const Read r = read(robot(link("a", given + box("collision") + box("visual", "9 9 9"))));
    const Vec3 expected = 6.0 / 12 * Vec3(0.1 * 0.1 + 0.4 * 0.4, 0.2 * 0.2 + 0.4 * 0.4, 0.2 * 0.2 + 0.1 * 0.1);
    EXPECT_LE((r.model.bodies()[0].inertia.diagonal() - expected).norm(), 1e-14) << given;
    EXPECT_EQ(r.report.count(ImportVerdict::repaired), 1);
    expect_runs(read(robot(link("a", given + box("collision"))), floating()).model, given);
  }
  const Read ball = read(robot(link("a", "<inertial><mass value='6'/></inertial>")));
  const double radius = std::cbrt(6.0 / 1000 * 3 / (4 * M_PI));  // of water
  EXPECT_NEAR(ball.model.bodies()[0].inertia(1, 1), 0.4 * 6 * radius * radius, 1e-15);
}

TEST(UrdfRepairInertia, HalvesOfAnInertial) {
  EXPECT_EQ(read(robot(link("a", "<inertial/>"))).model.bodies().size(), 0u);  // a frame of the world
  EXPECT_EQ(read(robot(link("a", inertial(1e-15, 1e-30)))).model.bodies().size(), 0u);
  const Read partly =
      read(robot(link("a", "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>")));
  EXPECT_EQ(partly.model.bodies()[0].inertia, Mat3(Mat3::Identity()));
  EXPECT_EQ(partly.entry("robot/link[a]/inertial/inertia").verdict, ImportVerdict::repaired);
  const Read rotor = read(robot(link("a") + link("b", inertial(0, 0.5)) + joint("j", "continuous", "a", "b")));
  EXPECT_EQ(rotor.body("b").inertia, Mat3(0.5 * Mat3::Identity()));
  EXPECT_NEAR(rotor.body("b").mass, 1e-5, 1e-12);
  expect_runs(rotor.model, "inertia without mass");
}

Eigen::VectorXd after_a_second(const Model& model) {
  StepOptions options;
  options.dt = 1e-3;
  options.integrator = IntegratorType::rk4;
  Simulation simulation(model, options);
  Eigen::VectorXd q = model.neutral_position();
  q(0) = 0.3;
  simulation.set_state(q, Eigen::VectorXd::Zero(model.nv()));
  for (int k = 0; k < 1000; ++k)
    if (!simulation.step().converged()) throw std::runtime_error("did not converge");
  return simulation.state().q;
}

// A pendulum moves with a massless link on it as without: within some of the share of its mass that the link is given.
TEST(UrdfRepairMassless, TheOthersMoveAsWithout) {
  const std::string arm =
      "<inertial><origin xyz='0 0 -0.5'/><mass value='1'/><inertia ixx='0.1' ixy='0' ixz='0' "
      "iyy='0.1' iyz='0' izz='0.1'/></inertial>";
  const std::string pendulum = link("a") + link("b", arm) + joint("j", "continuous", "a", "b");
  const Read bare = read(robot(pendulum));
  for (const char* const kind : {"continuous", "prismatic"}) {
    const Read r = read(
        robot(pendulum + link("c", "") +
              joint("k", kind, "b", "c", "<origin xyz='0 0 -1'/><axis xyz='0 1 0'/><limit lower='-1' upper='1'/>")));
    const Body& c = r.body("c");
    EXPECT_GT(c.mass, 0);
    EXPECT_LE(c.mass, 1e-4);  // of the arm
    EXPECT_EQ(r.entry("robot/link[c]").verdict, ImportVerdict::repaired);
    EXPECT_TRUE(r.tells("1e-05 kg were added to 1 link without mass, 0.0005 % of the model: c"));
    EXPECT_LE(std::abs(after_a_second(r.model)(0) - after_a_second(bare.model)(0)), 2e-5) << kind;
    expect_runs(r.model, kind);
  }
}

// Many of them, and those that carry others, share 1e-4 of what they are compared with.
TEST(UrdfRepairMassless, AllTogetherWeighLittle) {
  std::string text = link("hand");
  for (int i = 0; i < 50; ++i) {
    text += link(fmt::format("finger{}", i), "") + link(fmt::format("tip{}", i), "");
    text += joint(fmt::format("j{}", i), "continuous", "hand", fmt::format("finger{}", i), axis("0 1 0"));
    text += joint(fmt::format("k{}", i), "continuous", fmt::format("finger{}", i), fmt::format("tip{}", i),
                  axis("0 0 1") + "<origin xyz='0.1 0 0'/>");
  }
  const Read r = read(robot(text), floating());
  EXPECT_EQ(r.model.bodies().size(), 101u);
  EXPECT_NEAR(r.model.total_mass() - 1, 1e-4, 1e-9);
  expect_runs(r.model, "fingers");
}

TEST(UrdfRepairMassless, AModelWithoutAnyMassGetsSome) {
  const Read r =
      read(robot(link("a", box("visual")) + link("b", box("visual")) + joint("j", "continuous", "a", "b")), floating());
  EXPECT_EQ(r.body("a").mass, 1);
  EXPECT_EQ(r.body("b").mass, 1);
  expect_runs(r.model, "no mass at all");
}

double least_eigenvalue(const Model& model, const Eigen::VectorXd& q) {
  Dynamics dynamics(model);
  dynamics.set_position(q);
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(dynamics.mass_matrix()).eigenvalues()(0);
}

struct Chain {
  const char* name;
  std::string text;
  BaseType base;
  Eigen::VectorXd q;  // where its mass matrix is singular, or would be
  bool singular;
};

// The judgement agrees with the mass matrix itself, at the pose where it is worst; what is repaired is so everywhere,
// and what need not be keeps its bits.
TEST(UrdfRepairMassless, LinksThatCarryMassAreRepairedOnlyIfTheMassMatrixIsSingular) {
  const std::string heavy =
      "<inertial><origin xyz='0.2 0.1 -0.3'/><mass value='2'/><inertia ixx='0.1' ixy='0' ixz='0' "
      "iyy='0.1' iyz='0' izz='0.1'/></inertial>";
  const auto hinges = [&](const char* x, const char* y, const char* z, const std::string& limit = "") {
    return robot(link("r") + link("a", "") + link("b", "") + link("c", heavy) +
                 joint("j1", "continuous", "r", "a", axis(x)) +
                 joint("j2", limit.empty() ? "continuous" : "revolute", "a", "b", axis(y) + limit) +
                 joint("j3", "continuous", "b", "c", axis(z)));
  };
  const Eigen::VectorXd zero3 = Eigen::VectorXd::Zero(3);
  const Eigen::VectorXd locked = Eigen::Vector3d(0.4, M_PI / 2, 0.2);
  const std::string slides = link("world", "") + link("a", "") + link("b", "") + link("c", heavy) +
                             joint("j1", "prismatic", "world", "a", axis("1 0 0") + "<limit lower='-9' upper='9'/>") +
                             joint("j2", "prismatic", "a", "b", axis("0 0 1") + "<limit lower='-9' upper='9'/>") +
                             joint("j3", "continuous", "b", "c", axis("0 1 0"));
  const std::string parallel = link("r") + link("a", "") + link("c", heavy) +
                               joint("j1", "continuous", "r", "a", axis("0 0 1")) +
                               joint("j2", "continuous", "a", "c", axis("0 0 1"));
  const std::string swivel = link("a", "") + link("c", heavy) + joint("j1", "continuous", "a", "c", axis("0 0 1"));
  const Chain chains[] = {
      {"gimbal", hinges("0 0 1", "0 1 0", "1 0 0"), BaseType::fixed, locked, true},
      {"gimbal kept off its lock", hinges("0 0 1", "0 1 0", "1 0 0", "<limit lower='-1' upper='1'/>"), BaseType::fixed,
       Eigen::Vector3d(0.4, 1, 0.2), false},
      {"slides", robot(slides), BaseType::fixed, zero3, false},
      {"parallel axes", robot(parallel), BaseType::fixed, Eigen::Vector2d(0.7, 0.1), true},
      {"floating swivel", robot(swivel), BaseType::floating, {}, true},
  };
  for (const Chain& chain : chains) {
    UrdfOptions options;
    options.base = chain.base;
    const Read r = read(chain.text, options);
    options.strict = true;  // the file as it is
    const Read plain = read(chain.text, options);
    Eigen::VectorXd q = chain.q.size() > 0 ? chain.q : r.model.neutral_position();
    const double before = least_eigenvalue(plain.model, q), after = least_eigenvalue(r.model, q);
    EXPECT_EQ(r.report.count(ImportVerdict::repaired) > 0, chain.singular) << chain.name;
    if (chain.singular) {
      EXPECT_LE(before, 1e-15) << chain.name;
      EXPECT_GE(after, 1e-7) << chain.name;
      EXPECT_LE(r.model.total_mass() / plain.model.total_mass() - 1, 1e-4) << chain.name;
    } else {
      EXPECT_GE(before, 1e-3) << chain.name;
      EXPECT_EQ(format_urdf(r.model), format_urdf(plain.model)) << chain.name;
    }
    expect_runs(r.model, chain.name);
  }
}

// --- joints --------------------------------------------------------------------------------------------------------

const Joint& hinge(Read& r) { return r.joint("j"); }
Read read_hinge(const std::string& limit, const char* type = "revolute") {
  return read(robot(link("a") + link("b") + joint("j", type, "a", "b", limit)));
}

TEST(UrdfRepairLimit, MissingEndsHaveNoStop) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  struct Case {
    const char* limit;
    double lower, upper;
    int repaired;
  };
  const Case cases[] = {{"", -kInfinity, kInfinity, 1},
                        {"<limit effort='1' velocity='1'/>", -kInfinity, kInfinity, 1},
                        {"<limit lower='-1'/>", -1, kInfinity, 1},
                        {"<limit upper='1'/>", -kInfinity, 1, 1},
                        {"<limit lower='' upper='1'/>", -kInfinity, 1, 1},
                        {"<limit lower='-1e16' upper='1e16'/>", -kInfinity, kInfinity, 2},
                        {"<limit lower='-inf' upper='Infinity'/>", -kInfinity, kInfinity, 2},
                        {"<limit lower='-1.8e308' upper='1e400'/>", -kInfinity, kInfinity, 2},
                        {"<limit lower='1' upper='-2'/>", -2, 1, 1},
                        {"<limit lower='1e16' upper='-1e16'/>", -kInfinity, kInfinity, 3},
                        {"<limit lower='0' upper='0'/>", 0, 0, 0}};
  for (const Case& c : cases) {
    Read r = read_hinge(c.limit);
    EXPECT_EQ(hinge(r).limits.lower, c.lower) << c.limit;
    EXPECT_EQ(hinge(r).limits.upper, c.upper) << c.limit;
    EXPECT_EQ(r.report.count(ImportVerdict::repaired), c.repaired) << c.limit;
    expect_runs(r.model, c.limit);
  }
  EXPECT_TRUE(read_hinge("<limit lower='0' upper='0'/>").tells("1 joint cannot move, the limits are equal: j"));
  for (const char* const bad : {"<limit lower='nan' upper='1'/>", "<limit lower='1e16' upper='1e16'/>",
                                "<limit lower='-1e-400' upper='1'/>", "<limit lower='x' upper='1'/>"})
    EXPECT_THROW(read_hinge(bad), InputError) << bad;
}

TEST(UrdfRepairLimit, BoundsOfForceAndSpeed) {
  for (const char* const bound : {"inf", "1e300", "-1", "", "0"}) {
    Read r = read_hinge(fmt::format("<limit lower='0' upper='1' effort='{}' velocity='{}'/>", bound, bound));
    EXPECT_TRUE(std::isinf(hinge(r).effort)) << bound;
    EXPECT_TRUE(std::isinf(hinge(r).velocity_limit)) << bound;
  }
  EXPECT_THROW(read_hinge("<limit lower='0' upper='1' effort='nan'/>"), InputError);
}

TEST(UrdfRepairJoint, DampingThatCannotBeAndBallJoints) {
  Read negative = read_hinge("<dynamics damping='-1'/>", "continuous");
  EXPECT_EQ(hinge(negative).damping, 0);
  Read ball = read_hinge("<limit effort='1'/>", "spherical");
  EXPECT_EQ(hinge(ball).type, JointType::ball);
  EXPECT_TRUE(std::isinf(hinge(ball).effort));
  expect_runs(ball.model, "ball");
}

// What follows a fixed joint, or with the rate 0, is fixed where that leaves it, and so is what follows that; what
// follows nothing moves by itself.
TEST(UrdfRepairJoint, FollowersOfWhatDoesNotMove) {
  const std::string z = axis("0 0 1");
  const Read r = read(robot(
      link("base") + link("still") + link("a") + link("b") + link("c") + link("d") +
      joint("still_joint", "fixed", "base", "still") +
      joint("b_joint", "prismatic", "base", "b",
            z + "<limit lower='-9' upper='9'/><mimic joint='a_joint' multiplier='-2' offset='0.1'/>") +
      joint("a_joint", "continuous", "base", "a", z + "<mimic joint='still_joint' multiplier='3' offset='0.2'/>") +
      joint("c_joint", "continuous", "base", "c", z + "<mimic joint='d_joint' multiplier='0' offset='0.3'/>") +
      joint("d_joint", "continuous", "base", "d", z + "<mimic joint='nobody'/>")));
  EXPECT_EQ(r.model.nv(), 1);
  EXPECT_FALSE(r.joint("d_joint").mimic);
  const Eigen::VectorXd q = Eigen::VectorXd::Constant(1, 0.7);
  const auto turn = [&](const char* body) {
    const Mat3 R = frame_pose(r.model, q, r.model.find_frame(body)).R;
    return std::atan2(R(1, 0), R(0, 0));
  };
  EXPECT_NEAR(turn("a"), 0.2, 1e-15);
  EXPECT_NEAR(frame_pose(r.model, q, r.model.find_frame("b")).p.z(), -2 * 0.2 + 0.1, 1e-15);
  EXPECT_NEAR(turn("c"), 0.3, 1e-15);
  EXPECT_NEAR(turn("d"), 0.7, 1e-15);
  EXPECT_EQ(r.report.count(ImportVerdict::repaired), 4);
}

TEST(UrdfRepairNumbers, CommasAndCounts) {
  const auto place = [](const char* xyz, const char* rpy) {
    Read r = read_hinge(fmt::format("<origin xyz='{}' rpy='{}'/>", xyz, rpy), "continuous");
    return std::pair(hinge(r).X_PJ, r.report.count(ImportVerdict::repaired));
  };
  const Pose plain = place("1 2 3", "0.1 0.2 0.3").first;
  for (const auto& [xyz, rpy, repaired] :
       {std::tuple("1,2,3", "0.1, 0.2, 0.3", 2), std::tuple("1 2 3 4", "0.1 0.2 0.3 0", 2),
        std::tuple(" 1  2\t3 ", "0.1 0.2 0.3", 0)}) {
    const auto [pose, count] = place(xyz, rpy);
    EXPECT_EQ(pose.p, plain.p) << xyz;
    EXPECT_EQ(pose.R, plain.R) << rpy;
    EXPECT_EQ(count, repaired) << xyz;
  }
  EXPECT_EQ(place("1 2", "").first.p, Vec3(1, 2, 0));
  EXPECT_TRUE(place("1 2", "").first.R.isIdentity(0));
  for (const char* const bad : {"1 2 nan", "inf 0 0", "1 2 1e308", "1 2 x", "1;2;3"})
    EXPECT_THROW(place(bad, "0 0 0"), InputError) << bad;
}

// --- colours and shapes --------------------------------------------------------------------------------------------

TEST(UrdfRepairMaterial, ColoursThatAreNone) {
  const auto colour = [](const std::string& rgba) {
    const Read r = read(robot(link("a", kInertial +
                                            "<visual><geometry><sphere radius='1'/></geometry><material "
                                            "name='m'><color rgba='" +
                                            rgba + "'/></material></visual>")));
    EXPECT_EQ(r.report.count(ImportVerdict::repaired), 1) << rgba;
    return r.model.shapes()[0].rgba;
  };
  using Rgba = std::array<double, 4>;
  EXPECT_EQ(colour("1 0 0"), (Rgba{1, 0, 0, 1}));
  EXPECT_EQ(colour("1,0,0,0.5"), (Rgba{1, 0, 0, 0.5}));
  EXPECT_EQ(colour("255 0 51 1"), (Rgba{1, 0, 0.2, 1}));
  EXPECT_EQ(colour("255 0 51 255"), (Rgba{1, 0, 0.2, 1}));
  EXPECT_EQ(colour("1.5 0 0.5 1"), (Rgba{1, 0, 0.5, 1}));
  EXPECT_EQ(colour("-1 0 0.5 1"), (Rgba{0, 0, 0.5, 1}));
  EXPECT_EQ(colour("red"), Shape{}.rgba);
  EXPECT_EQ(colour("1 nan 0 1"), Shape{}.rgba);
  EXPECT_EQ(colour(""), Shape{}.rgba);
}

TEST(UrdfRepairMaterial, UndefinedAndDefinedTwice) {
  const std::string red = "<material name='m'><color rgba='1 0 0 1'/></material>",
                    blue = "<material name='m'><color rgba='0 0 1 1'/></material>",
                    use = "<visual><geometry><sphere radius='1'/></geometry><material name='m'/></visual>";
  const Read twice = read(robot(red + blue + link("a", kInertial + use)));
  EXPECT_EQ(twice.model.shapes()[0].rgba, (std::array<double, 4>{1, 0, 0, 1}));
  EXPECT_EQ(twice.report.count(ImportVerdict::repaired), 1);
  const Read none = read(robot(link("a", kInertial + use)));
  EXPECT_EQ(none.model.shapes()[0].rgba, Shape{}.rgba);
}

TEST(UrdfRepairShape, WithoutSizeThereIsNone) {
  for (const char* const geometry :
       {"", "<box size='0 0 0'/>", "<box size='1 0 1'/>", "<box/>", "<box size='1'/>", "<sphere radius='0'/>",
        "<cylinder radius='0' length='1'/>", "<cylinder radius='1' length='0'/>", "<cylinder radius='0' length='0'/>",
        "<cone/>", "<mesh/>", "<mesh filename=''/>", "<sphere radius='1e-12'/>",
        "<mesh filename='x' scale='0 0 0'/>"}) {
    const Read r = read(robot(link("a", kInertial + "<collision><geometry>" + geometry + "</geometry></collision>")));
    EXPECT_TRUE(r.model.shapes().empty()) << geometry;
    EXPECT_TRUE(r.tells("1 link lost all shapes and cannot touch anything: a")) << geometry;
    EXPECT_TRUE(r.tells("nothing touches anything")) << geometry;
    expect_runs(r.model, geometry);
  }
  const Read none = read(robot(link("a", kInertial + "<visual/><collision/>")));
  EXPECT_TRUE(none.model.shapes().empty());
  EXPECT_EQ(none.report.count(ImportVerdict::repaired), 2);
  for (const char* const bad : {"<sphere radius='-1'/>", "<sphere radius='nan'/>", "<box size='1 1 inf'/>"})
    EXPECT_THROW(
        read(robot(link("a", kInertial + "<collision><geometry>" + std::string(bad) + "</geometry></collision>"))),
        InputError)
        << bad;
}

TEST(UrdfRepairShape, NamesMayRepeatAndScalesMayBeOneNumber) {
  const std::string one =
      "<visual name='v'><geometry><mesh filename='tetrahedron.obj' scale='0.5'/></geometry></visual>";
  const Read r = read(robot(link("a", kInertial + one + one)), {}, fs::path(source_dir()) / "tests/data/r.urdf");
  ASSERT_EQ(r.model.shapes().size(), 2u);
  EXPECT_EQ(std::get<Mesh>(r.model.shapes()[1].geometry).scale, Vec3(0.5, 0.5, 0.5));
}

// --- roots ---------------------------------------------------------------------------------------------------------

TEST(UrdfRepairRoots, SeveralAreCarriedTogether) {
  const std::string text = robot(link("light", inertial(0.1, 0.1)) + link("mark", "") + link("heavy") + link("arm") +
                                 joint("j", "continuous", "heavy", "arm"));
  const Read fixed = read(text);
  EXPECT_EQ(fixed.model.nv(), 1);
  EXPECT_FALSE(fixed.body("light").parent.valid());
  EXPECT_EQ(fixed.model.find_frame("mark").body, kWorld);
  const Read free = read(text, floating());  // the heaviest tree takes the base, the others stay beside it
  EXPECT_EQ(free.model.nv(), 7);
  EXPECT_EQ(free.joint("base").type, JointType::floating);
  EXPECT_FALSE(free.body("heavy").parent.valid());
  EXPECT_EQ(free.body("light").parent, free.model.find_body("heavy"));
  EXPECT_EQ(free.model.find_frame("mark").body, free.model.find_body("heavy"));
  EXPECT_EQ(free.report.count(ImportVerdict::repaired), 2);
  expect_runs(free.model, "three roots");
}

TEST(UrdfRepairRoots, WhatIsFixedToTheWorldFloatsIfAsked) {
  const std::string text = robot(link("world", "") + link("table", inertial(0.5, 1)) + link("base_link") + link("tip") +
                                 joint("t", "fixed", "world", "table") +
                                 joint("w", "fixed", "world", "base_link", "<origin xyz='0 0 1' rpy='0.1 0 0'/>") +
                                 joint("j", "continuous", "base_link", "tip"));
  EXPECT_EQ(read(text).model.nv(), 1);
  const Read free = read(text, floating());
  EXPECT_EQ(free.model.nv(), 7);
  EXPECT_EQ(free.joint("w").type, JointType::floating);
  EXPECT_EQ(free.joint("w").X_PJ.p, Vec3(0, 0, 1));
  EXPECT_EQ(free.joint("t").type, JointType::fixed);
  EXPECT_EQ(free.entry("robot/joint[w]").verdict, ImportVerdict::repaired);
  expect_runs(free.model, "world");
  // The plane is that of the world, whatever the joint's frame.
  UrdfOptions planar;
  planar.base = BaseType::planar;
  const Read flat = read(text, planar);
  const Joint& w = flat.joint("w");
  EXPECT_LE((w.X_PJ.R * w.axis - Vec3::UnitZ()).norm(), 1e-15);
  // What moves on the world already stays on it.
  const Read hung = read(robot(link("world", "") + link("bob") + joint("h", "continuous", "world", "bob")), floating());
  EXPECT_EQ(hung.model.nv(), 1);
  EXPECT_EQ(hung.entry("robot").verdict, ImportVerdict::repaired);
  // Another root beside a world that carries nothing.
  const Read beside = read(robot(link("world", "") + link("bob")), floating());
  EXPECT_EQ(beside.joint("base").type, JointType::floating);
}

// --- xacro ---------------------------------------------------------------------------------------------------------

TEST(UrdfXacro, IsNamedWithTheCommandThatExpandsIt) {
  const auto refusal = [](const std::string& text, const char* file) {
    try {
      parse_urdf(text, file);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(refusal(robot("<xacro:property name='m' value='1'/>" + link("a")), "arm.urdf.xacro")
                .find("expand it first: xacro arm.urdf.xacro > arm.urdf"),
            std::string::npos);
  EXPECT_NE(
      refusal(robot(link("a", "<inertial><mass value='${m}'/></inertial>")), "arm.urdf")
          .find("is a xacro file (value of <mass> is \"${m}\"), expand it first: xacro arm.urdf > arm-expanded.urdf"),
      std::string::npos);
  EXPECT_NE(refusal(robot(link("a", mesh("visual", "$(find pkg)/a.stl"))), "a.xacro").find("xacro a.xacro > a.urdf"),
            std::string::npos);
  // An expanded file may keep the namespace, and settings of other programs their variables.
  EXPECT_EQ(refusal("<robot name='r' xmlns:xacro='http://ros.org/wiki/xacro'>" + link("a") +
                        "<gazebo><plugin filename='$(arg x)'/></gazebo></robot>",
                    "r.urdf"),
            "");
}

// --- any mistake ---------------------------------------------------------------------------------------------------

// Models of ours with attributes changed, emptied or taken away and elements doubled or lost: each is read and runs
// without a number that is none, or is refused in one line. What was repaired is written so that nothing is left to
// repair.
TEST(UrdfRepairFuzz, MutatedRobotsRunOrAreRefused) {
  const char* const values[] = {"0",    "-1",       "nan",   "1e16",   "",      "1,2,3", "0 0 0 0", "1e-300",
                                "inf",  "1e308",    "0 0",   "x",      "-0",    "1e-13", "7",       "0 0 0",
                                "base", "floating", "1 2 3", "100000", "world", "0.001", "fixed",   "revolute"};
  std::mt19937 random(7);
  const auto below = [&](size_t n) { return random() % n; };
  const std::regex attribute("[a-z]+=\"[^\"]*\""), element("<[a-z_]+( [^<>]*)?/>");
  int accepted = 0, repaired = 0, refused = 0;
  for (const char* const name : {"hopper", "walker2d", "double-pendulum", "box", "compass-gait", "spider-planar"}) {
    const fs::path file = fs::path(source_dir()) / "models" / (std::string(name) + ".urdf");
    const std::string original = read_bytes(file);
    for (int k = 0; k < 60; ++k) {
      std::string text = original;
      for (size_t edits = 1 + below(3); edits > 0; --edits) {
        const bool whole = below(4) == 0;
        std::vector<std::pair<size_t, size_t>> places;
        const std::regex& wanted = whole ? element : attribute;
        for (auto it = std::sregex_iterator(text.begin(), text.end(), wanted); it != std::sregex_iterator(); ++it)
          places.emplace_back(it->position(), it->length());
        const auto [at, length] = places[below(places.size())];
        const std::string found = text.substr(at, length);
        const size_t kind = below(6);
        if (whole)
          text.replace(at, length, kind < 3 ? "" : found + found);
        else
          text.replace(at, length,
                       kind == 0 ? "" : found.substr(0, found.find('"') + 1) + values[below(std::size(values))] + "\"");
      }
      SCOPED_TRACE(fmt::format("{} {}", name, k));
      ImportReport report;
      std::optional<Model> model;
      try {
        model = parse_urdf(text, file, {}, &report);
      } catch (const InputError& error) {
        ++refused;
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
        EXPECT_GE(report.count(ImportVerdict::rejected), 1);
        continue;
      }
      ++accepted;
      repaired += report.count(ImportVerdict::repaired) > 0;
      const std::string written = format_urdf(*model);
      UrdfOptions strict;
      strict.strict = true;
      EXPECT_EQ(format_urdf(parse_urdf(written, file, strict)), written);
      for (const IntegratorType type : {IntegratorType::pbd_nmdp2, IntegratorType::pbfd_coulomb, IntegratorType::ne}) {
        StepOptions options;
        options.dt = 0.01;
        options.integrator = type;
        Simulation simulation(*model, options);
        for (int step = 0; step < 2 && simulation.step().converged(); ++step) {
        }
        EXPECT_TRUE(simulation.state().q.allFinite() && simulation.state().v.allFinite()) << integrator_name(type);
      }
    }
  }
  // All outcomes must occur, else the mutations are too harsh or too mild.
  EXPECT_GT(repaired, 40);
  EXPECT_GT(accepted - repaired, 40);
  EXPECT_GT(refused, 40);
}

}  // namespace
}  // namespace scree
