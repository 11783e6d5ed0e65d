// The robots of models/ as scree reads them. tests/python/test_models.py checks their numbers with another reader.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "scree/kinematics.h"
#include "scree/urdf.h"
#include "support/paths.h"

namespace scree {
namespace {

namespace fs = std::filesystem;

const fs::path kModels = fs::path(source_dir()) / "models";
constexpr double kPi = 3.14159265358979323846;
constexpr double kPrinted = 6e-5;  // half a unit of the last published digit, plus a little

struct Expected {
  int nv;
  double mass;  // [kg]
  size_t contact_points;
};
const std::map<std::string, Expected> kExpected = {
    {"robosimian", {34, 99.888, 4}},
    {"robosimian-planar", {15, 99.888, 4}},
    {"robosimian-planar-literal", {15, 99.888, 4}},
    {"robosimian-spatial", {18, 99.888, 4}},
    {"spider-planar", {15, 100.0, 4}},
    {"spider-spatial", {18, 100.0, 4}},
    {"chain-fixed-2d", {10, 44.506, 10}},
    {"chain-fixed-3d", {20, 44.506, 10}},
    {"chain-floating-2d", {12, 44.506, 11}},
    {"chain-floating-3d", {24, 44.506, 11}},
    {"hopper", {6, 15.820, 2}},
    {"walker2d", {9, 23.677, 4}},
    {"box", {6, 1.0, 8}},
    {"box-planar", {3, 1.0, 2}},
    {"cube", {6, 0.37, 8}},
    {"ball", {6, 1.0, 1}},
    {"rod-planar", {3, 1.0, 2}},
    {"block", {3, 0.19, 4}},
    {"block-repo", {3, 1.0, 4}},
    {"compass-gait", {4, 2.0, 2}},
    {"pendulum", {1, 1.0, 0}},
    {"double-pendulum", {2, 2.0, 0}},
};

Model load(const std::string& name) { return load_urdf(kModels / (name + ".urdf")); }

void set(const Model& model, const std::string& joint, double value, Eigen::VectorXd& q) {
  q(model.joint(model.find_joint(joint)).q_index) = value;
}

Vec3 contact_centre(const Model& model, const Eigen::VectorXd& q, const std::string& name) {
  for (const ContactPoint& point : model.contact_points())
    if (point.name == name) return body_poses(model, q)[static_cast<size_t>(point.body.value())] * point.p_B;
  ADD_FAILURE() << "no contact point " << name;
  return Vec3::Zero();
}

TEST(Models, AreTheExpectedFilesAndNoOthers) {
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(kModels)) {
    if (entry.path().extension() != ".urdf") continue;
    ++files;
    EXPECT_TRUE(kExpected.contains(entry.path().stem().string())) << entry.path();
  }
  EXPECT_EQ(files, kExpected.size());
}

TEST(Models, PassTheImportCheckWithNothingRejectedAndOnlyFallbackShapesIgnored) {
  for (const auto& [name, expected] : kExpected) {
    ImportReport report;
    const std::optional<Model> model = check_urdf(kModels / (name + ".urdf"), {}, report);
    EXPECT_TRUE(model.has_value()) << name;
    EXPECT_EQ(report.count(ImportVerdict::rejected), 0) << name;
    EXPECT_GT(report.count(ImportVerdict::mapped), 20) << name;
    for (const ImportEntry& entry : report.entries) {
      // A capsule stands beside the cylinder that other readers see.
      const bool fallback = entry.place.find("/geometry/cylinder") != std::string::npos;
      EXPECT_TRUE(entry.verdict != ImportVerdict::ignored || fallback)
          << fmt::format("{}:{}: {}: {}", name, entry.line, entry.place, entry.note);
    }
  }
}

TEST(Models, HaveTheStatedDofsMassesAndContactPoints) {
  for (const auto& [name, expected] : kExpected) {
    const Model model = load(name);
    EXPECT_EQ(model.name(), name);
    EXPECT_EQ(model.nv(), expected.nv) << name;
    EXPECT_NEAR(model.total_mass(), expected.mass, 6e-4) << name;  // printed to three digits
    EXPECT_EQ(model.contact_points().size(), expected.contact_points) << name;
  }
}

TEST(Models, BasesAreJointsNamedBase) {
  const auto base_type = [](const std::string& name) {
    const Model model = load(name);
    return model.joint(model.find_joint("base")).type;
  };
  EXPECT_EQ(base_type("robosimian"), JointType::floating);
  EXPECT_EQ(base_type("robosimian-planar"), JointType::planar);
  EXPECT_EQ(base_type("hopper"), JointType::planar);
  EXPECT_EQ(base_type("cube"), JointType::floating);
}

struct Limb {
  int number, sx, sy;
};
constexpr Limb kLimbs[] = {{1, 1, -1}, {2, -1, -1}, {3, -1, 1}, {4, 1, 1}};

TEST(Models, RobosimianStandsOnItsPublishedFootPlaces) {
  for (const std::string name :
       {"robosimian", "robosimian-planar", "robosimian-planar-literal", "robosimian-spatial"}) {
    const Model model = load(name);
    Eigen::VectorXd q = model.neutral_position();
    for (const auto& [limb, sx, sy] : kLimbs) {
      // The full model's pitch axes point along -y on the right limbs, the reduced models' all along +y.
      const double sign = name == "robosimian" ? sx * sy : sx;
      set(model, fmt::format("limb{}_joint2", limb), sign * 0.9 * kPi / 2, q);
      set(model, fmt::format("limb{}_joint4", limb), -sign * kPi / 2, q);
      set(model, fmt::format("limb{}_joint6", limb), sign * 1.1 * kPi / 2, q);
    }
    const Vec3 reference = contact_centre(model, q, "limb4_foot");
    for (const auto& [limb, sx, sy] : kLimbs) {
      const Vec3 foot = contact_centre(model, q, fmt::format("limb{}_foot", limb));
      EXPECT_LT((foot - Vec3(sx * 0.6211, sy * 0.5604, -0.7892)).norm(), 2 * kPrinted) << name;
      const Vec3 mirrored = reference.cwiseProduct(Vec3(sx, sy, 1));
      EXPECT_LT((foot - mirrored).norm(), 1e-12) << name;  // rounding of a chain of a dozen transforms of size 1
      const Vec3 knee = frame_pose(model, q, model.find_frame(fmt::format("limb{}_link4", limb))).p;
      EXPECT_NEAR(knee.x(), sx * 0.3381, kPrinted) << name;
      EXPECT_NEAR(knee.z(), -0.4915, kPrinted) << name;
    }
    Vec3 com = Vec3::Zero();
    const std::vector<Pose> poses = body_poses(model, q);
    for (size_t i = 0; i < poses.size(); ++i) com += model.bodies()[i].mass * (poses[i] * model.bodies()[i].com);
    com /= model.total_mass();
    EXPECT_NEAR(com.y(), -0.0008, kPrinted) << name;
    EXPECT_NEAR(com.z(), -0.2820, kPrinted) << name;
  }
}

TEST(Models, SpiderRestsOnItsPublishedFootPlaces) {
  const int signs[4][2] = {{1, 1}, {-1, 1}, {-1, -1}, {1, -1}};
  for (const std::string name : {"spider-planar", "spider-spatial"}) {
    const Model model = load(name);
    for (int leg = 0; leg < 4; ++leg) {
      const Vec3 foot = contact_centre(model, model.neutral_position(), fmt::format("leg{}_foot", leg));
      EXPECT_LT((foot - Vec3(signs[leg][0] * 0.5395, signs[leg][1] * 0.5395, -0.3592)).norm(), 2 * kPrinted) << name;
    }
  }
}

TEST(Models, HopperStandsFourCentimetresAboveTheFloor) {
  const Model model = load("hopper");
  Eigen::VectorXd q = model.neutral_position();
  q(model.joint(model.find_joint("base")).q_index + 1) = 1.25;  // planar base: x, z, angle about +y
  for (const ContactPoint& point : model.contact_points())
    EXPECT_NEAR(contact_centre(model, q, point.name).z() - point.radius, 0.04, 1e-12) << point.name;
  const Joint& knee = model.joint(model.find_joint("knee"));
  EXPECT_EQ(knee.damping, 1);
  EXPECT_EQ(knee.armature, 1);
  EXPECT_EQ(knee.effort, 200);
  EXPECT_NEAR(knee.limits.lower, -150 * kPi / 180, 1e-11);  // twelve digits in the file
  EXPECT_EQ(knee.limits.upper, 0);
}

TEST(Models, CompassFeetFollowTheAbsoluteLegAngles) {
  const Model model = load("compass-gait");
  Eigen::VectorXd q = model.neutral_position();
  const double x = 0.3, z = 0.7, leading = -1.3, trailing = 0.4;
  set(model, "hip_x", x, q);
  set(model, "hip_z", z, q);
  set(model, "leading", leading, q);
  set(model, "trailing", trailing, q);
  const auto foot = [&](double angle) { return Vec3(x + std::sin(angle), 0, z - std::cos(angle)); };
  EXPECT_LT((contact_centre(model, q, "leading_foot") - foot(leading)).norm(), 1e-14);
  EXPECT_LT((contact_centre(model, q, "trailing_foot") - foot(trailing)).norm(), 1e-14);
}

TEST(Models, CapsulesAreReadAsCapsulesNotAsTheirFallback) {
  const Model model = load("hopper");
  for (const Shape& shape : model.shapes()) EXPECT_STREQ(geometry_name(shape.geometry), "capsule");
  EXPECT_EQ(model.shapes().size(), 8u);  // four links, for collision and for view
}

}  // namespace
}  // namespace scree
