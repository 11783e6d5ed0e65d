// ModelBuilder: order, merging, validation; names and conventions of Model.
#include "scree/model.h"

#include <gtest/gtest.h>

#include "model/planar.h"
#include "model/tree.h"
#include "scree/error.h"
#include "scree/kinematics.h"
#include "scree/urdf.h"
#include "support/mechanisms.h"
#include "support/paths.h"
#include "support/random_tree.h"

namespace scree {
namespace {

Body solid(const std::string& name) {
  Body body;
  body.name = name;
  body.mass = 1;
  body.inertia = 0.1 * Mat3::Identity();
  return body;
}
Body massless(const std::string& name) {
  Body body;
  body.name = name;
  return body;
}
Joint joint(const std::string& name, JointType type = JointType::revolute, const Vec3& at = Vec3::Zero()) {
  Joint j;
  j.name = name;
  j.type = type;
  j.X_PJ.p = at;
  return j;
}
std::string error_of(const ModelBuilder& builder) {
  try {
    builder.build();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(ModelBuilder, PutsParentsBeforeChildrenWhateverTheOrderGiven) {
  const Model model = ModelBuilder("m")
                          .add_body(solid("hand"), "arm", joint("wrist"))
                          .add_body(solid("torso"), "world", joint("base", JointType::floating))
                          .add_body(solid("leg"), "torso", joint("hip"))
                          .add_body(solid("arm"), "torso", joint("shoulder"))
                          .build();
  ASSERT_EQ(model.bodies().size(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_LT(model.bodies()[i].parent.value(), static_cast<int>(i));
  EXPECT_EQ(model.body(model.find_body("hand")).parent, model.find_body("arm"));
  EXPECT_EQ(model.nq(), 7 + 3);
  EXPECT_EQ(model.nv(), 6 + 3);
  EXPECT_EQ(model.total_mass(), 4);
  EXPECT_EQ(model.neutral_position()(3), 1);  // quaternion (1, 0, 0, 0)
}

TEST(ModelBuilder, MergesMasslessFixedLinksIntoTheirParentsAsFrames) {
  Shape shape;
  shape.geometry = Sphere{0.1};
  shape.X_BS.p = Vec3(0, 0, 1);
  const Model model = ModelBuilder("m")
                          .add_body(solid("torso"), "world", joint("base"))
                          .add_body(massless("flange"), "torso", joint("weld", JointType::fixed, Vec3(1, 0, 0)))
                          .add_body(solid("arm"), "flange", joint("shoulder", JointType::revolute, Vec3(0, 2, 0)))
                          .add_body(massless("tip"), "arm", joint("tip_weld", JointType::fixed, Vec3(3, 0, 0)))
                          .add_shape("flange", shape)
                          .build();
  EXPECT_EQ(model.bodies().size(), 2u);
  EXPECT_EQ(model.joint(model.find_joint("shoulder")).X_PJ.p, Vec3(1, 2, 0));
  EXPECT_EQ(model.shapes()[0].body, model.find_body("torso"));
  EXPECT_EQ(model.shapes()[0].X_BS.p, Vec3(1, 0, 1));
  const Frame tip = model.find_frame("tip");
  EXPECT_EQ(tip.body, model.find_body("arm"));
  EXPECT_EQ(frame_pose(model, model.neutral_position(), tip).p, Vec3(4, 2, 0));
  EXPECT_EQ(model.find_frame("world").body, kWorld);
}

void expect_equal(const Pose& a, const Pose& b) {
  EXPECT_EQ(a.R, b.R);
  EXPECT_EQ(a.p, b.p);
}

void expect_equal(const Model& a, const Model& b) {
  EXPECT_EQ(a.name(), b.name());
  EXPECT_EQ(a.nq(), b.nq());
  EXPECT_EQ(a.nv(), b.nv());
  ASSERT_EQ(a.bodies().size(), b.bodies().size());
  for (size_t i = 0; i < a.bodies().size(); ++i) {
    const Body &x = a.bodies()[i], &y = b.bodies()[i];
    EXPECT_EQ(x.name, y.name);
    EXPECT_EQ(x.parent, y.parent);
    EXPECT_EQ(x.mass, y.mass);
    EXPECT_EQ(x.com, y.com);
    EXPECT_EQ(x.inertia, y.inertia);
    const Joint &j = a.joints()[i], &k = b.joints()[i];
    EXPECT_EQ(j.name, k.name);
    EXPECT_EQ(j.type, k.type);
    expect_equal(j.X_PJ, k.X_PJ);
    EXPECT_EQ(j.axis, k.axis);
    EXPECT_EQ(j.limits.lower, k.limits.lower);
    EXPECT_EQ(j.limits.upper, k.limits.upper);
    EXPECT_EQ(j.damping, k.damping);
    EXPECT_EQ(j.armature, k.armature);
    EXPECT_EQ(j.effort, k.effort);
    EXPECT_EQ(j.q_index, k.q_index);
    EXPECT_EQ(j.v_index, k.v_index);
  }
  EXPECT_EQ(a.shapes().size(), b.shapes().size());
  ASSERT_EQ(a.frames().size(), b.frames().size());
  for (size_t i = 0; i < a.frames().size(); ++i) {
    EXPECT_EQ(a.frames()[i].name, b.frames()[i].name);
    EXPECT_EQ(a.frames()[i].body, b.frames()[i].body);
    expect_equal(a.frames()[i].X_BF, b.frames()[i].X_BF);
  }
  ASSERT_EQ(a.contact_points().size(), b.contact_points().size());
  for (size_t i = 0; i < a.contact_points().size(); ++i) {
    EXPECT_EQ(a.contact_points()[i].name, b.contact_points()[i].name);
    EXPECT_EQ(a.contact_points()[i].body, b.contact_points()[i].body);
    EXPECT_EQ(a.contact_points()[i].p_B, b.contact_points()[i].p_B);
    EXPECT_EQ(a.contact_points()[i].radius, b.contact_points()[i].radius);
  }
  EXPECT_EQ(format_urdf(a), format_urdf(b));  // all the rest of it
}

TEST(ModelBuilder, StartsFromAModelAndBuildsItAgain) {
  test::Random random(7);
  std::vector<Model> models;
  for (int k = 0; k < 20; ++k) models.push_back(test::random_tree(random).model);
  for (const char* robot : {"robosimian", "spider-spatial", "box"})
    models.push_back(load_urdf(source_dir() + "/models/" + robot + ".urdf"));
  for (const Model& model : models) expect_equal(model, ModelBuilder(model).build());

  // And goes on from there: on a body, and on a frame that was a link once.
  const Model arm = ModelBuilder("m")
                        .add_body(solid("arm"), "world", joint("shoulder"))
                        .add_body(massless("flange"), "arm", joint("weld", JointType::fixed, Vec3(1, 0, 0)))
                        .build();
  Shape shape;
  shape.geometry = Sphere{0.1};
  const Model more = ModelBuilder(arm)
                         .add_body(solid("hand"), "flange", joint("wrist", JointType::revolute, Vec3(0, 2, 0)))
                         .add_body(solid("leg"), "arm", joint("hip"))
                         .add_shape("flange", shape)
                         .build();
  EXPECT_EQ(more.bodies().size(), 3u);
  EXPECT_EQ(more.total_mass(), 3);
  EXPECT_EQ(more.body(more.find_body("hand")).parent, more.find_body("arm"));
  EXPECT_EQ(more.joint(more.find_joint("wrist")).X_PJ.p, Vec3(1, 2, 0));
  EXPECT_EQ(more.shapes()[0].body, more.find_body("arm"));
  EXPECT_EQ(more.shapes()[0].X_BS.p, Vec3(1, 0, 0));
  EXPECT_NE(error_of(ModelBuilder(arm).add_body(solid("arm"), "world", joint("other"))).find("used twice"),
            std::string::npos);
  EXPECT_NE(error_of(ModelBuilder(arm).add_body(solid("hand"), "flenge", joint("wrist"))).find("\"flenge\""),
            std::string::npos);
}

TEST(ModelBuilder, NamesTheElementAndTheValueOfEveryMistake) {
  struct Case {
    const char* expected;
    ModelBuilder builder;
  };
  Body negative = solid("b"), no_inertia = solid("b"), triangle = solid("b"), huge = solid("b"),
       asymmetric = solid("b"), ghost = massless("b");
  negative.mass = -1;
  no_inertia.inertia.setZero();
  triangle.inertia = Vec3(1, 1, 3).asDiagonal();
  huge.mass = 1e308;
  asymmetric.inertia(0, 1) = 0.01;
  ghost.inertia = Mat3::Identity();
  Joint no_axis = joint("j"), upside_down = joint("j"), damped_base = joint("j", JointType::floating),
        nan_origin = joint("j"), skewed = joint("j"), free_limits = joint("j", JointType::continuous);
  no_axis.axis.setZero();
  upside_down.limits = {1, -1};
  damped_base.damping = 1;
  nan_origin.X_PJ.p(1) = NAN;
  skewed.X_PJ.R(0, 0) = 0.9;
  free_limits.limits.upper = 1;
  Shape point;
  point.geometry = Sphere{0};
  const auto one = [](const Body& body, const Joint& j) { return ModelBuilder("m").add_body(body, "world", j); };
  const Case cases[] = {
      {"link b: mass is -1, expected >= 0", one(negative, joint("j"))},
      {"link b: principal inertias 0, 0, 0", one(no_inertia, joint("j"))},
      {"expected the two smaller to add up", one(triangle, joint("j"))},
      {"link b: mass is 1e+308", one(huge, joint("j"))},
      {"link b: inertia matrix is not symmetric", one(asymmetric, joint("j"))},
      {"link b: mass is 0 but inertia is not", one(ghost, joint("j"))},
      {"link b: mass is 0 and nothing with mass hangs on it", one(massless("b"), joint("j"))},
      {"joint j: axis has no length", one(solid("b"), no_axis)},
      {"joint j: lower limit 1 is above the upper limit -1", one(solid("b"), upside_down)},
      {"joint j: a floating joint takes no damping", one(solid("b"), damped_base)},
      {"joint j: position is nan", one(solid("b"), nan_origin)},
      {"joint j: rotation is not a proper", one(solid("b"), skewed)},
      {"joint j: a continuous joint takes no position limits", one(solid("b"), free_limits)},
      {"link b: the name is used twice", one(solid("b"), joint("j")).add_body(solid("b"), "world", joint("k"))},
      {"joint j: the name is used twice", one(solid("b"), joint("j")).add_body(solid("c"), "world", joint("j"))},
      {"joint k: parent link \"bb\" does not exist, did you mean \"b\"?",
       one(solid("b"), joint("j")).add_body(solid("c"), "bb", joint("k"))},
      {"is its own ancestor, expected a tree",
       ModelBuilder("m").add_body(solid("a"), "b", joint("j")).add_body(solid("b"), "a", joint("k"))},
      {"link world: the name", one(solid("world"), joint("j"))},
      {"link: has no name", one(solid(""), joint("j"))},
      {"contact point p: radius is -1",
       one(solid("b"), joint("j")).add_contact_point("b", {"p", {}, Vec3::Zero(), -1})},
      {"frame f: link \"c\" does not exist", one(solid("b"), joint("j")).add_frame("c", {"f", {}, Pose{}})},
      {"sphere radius is 0", one(solid("b"), joint("j")).add_shape("b", point)},
  };
  for (const Case& c : cases) {
    const std::string message = error_of(c.builder);
    EXPECT_NE(message.find(c.expected), std::string::npos) << "wanted: " << c.expected << "\n   got: " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

// What is divided by: 5e-324 was taken, and 1/5e-324 is infinite.
TEST(ModelBuilder, RefusesWhatHasNoUsableInverse) {
  const auto error_with = [](double mass, double inertia, double armature, double radius) {
    Body body = solid("a");
    body.mass = mass;
    body.inertia = inertia * Mat3::Identity();
    Joint j = joint("j");
    j.armature = armature;
    Shape shape;
    shape.geometry = Sphere{radius};
    return error_of(ModelBuilder("m").add_body(body, "world", j).add_shape("a", shape));
  };
  EXPECT_EQ(error_with(1e-12, 1e-24, 1e-24, 1e-9), "");
  EXPECT_EQ(error_with(5e-324, 1, 0, 1), "link a: mass is 5e-324, expected at least 1e-12");
  EXPECT_EQ(error_with(9e-13, 1, 0, 1), "link a: mass is 9e-13, expected at least 1e-12");
  EXPECT_NE(error_with(1, 1e-25, 0, 1).find("link a: smallest moment of inertia is "), std::string::npos);
  EXPECT_EQ(error_with(1, 1, 1e-30, 1), "joint j: armature is 1e-30, expected at least 1e-24");
  EXPECT_NE(error_with(1, 1, 0, 5e-324).find("sphere radius is 5e-324, expected at least 1e-09"), std::string::npos);
}

TEST(ModelBuilder, ArmatureAloneIsEnoughForADof) {
  Joint geared = joint("j");
  geared.armature = 0.1;
  EXPECT_EQ(error_of(ModelBuilder("m").add_body(massless("b"), "world", geared)), "");
}

TEST(Inertia, RepairGivesTheNearestRealBodyAndLeavesGoodOnesAlone) {
  test::Random random(41);
  for (int trial = 0; trial < 100; ++trial) {
    Body body;
    test::set_inertia(body, test::random_points(random));
    EXPECT_TRUE(check_inertia(body.inertia).valid);
    EXPECT_LE((repair_inertia(body.inertia) - body.inertia).norm(), 1e-14 * body.inertia.norm() * 10);
    const Mat3 R = test::random_rotation(random);
    const Mat3 bad = R * Vec3(0.1, 0.2, 0.5).asDiagonal() * R.transpose();
    EXPECT_FALSE(check_inertia(bad).valid);
    EXPECT_TRUE(check_inertia(repair_inertia(bad)).valid);
  }
}

TEST(Model, UnknownNamesSuggestTheNearest) {
  const Model model = test::pendulum();
  try {
    (void)model.find_joint("rod_hing");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "model pendulum: no joint \"rod_hing\", did you mean \"rod_hinge\"?");
  }
}

// docs/conventions.md: planar coordinates for each normal, and the meaning of floating q and v.
TEST(Conventions, PlanarAxesAreTheOtherTwoInAlphabeticalOrder) {
  Vec3 u1, u2;
  planar_directions(Vec3::UnitY(), u1, u2);
  EXPECT_EQ(u1, Vec3::UnitX());
  EXPECT_EQ(u2, Vec3::UnitZ());
  planar_directions(Vec3::UnitZ(), u1, u2);
  EXPECT_EQ(u1, Vec3::UnitX());
  EXPECT_EQ(u2, Vec3::UnitY());
  planar_directions(-Vec3::UnitX(), u1, u2);
  EXPECT_EQ(u1, Vec3::UnitY());
  EXPECT_EQ(u2, Vec3::UnitZ());
}

TEST(Conventions, FloatingVelocityIsLinearInWorldAxesAndAngularInBodyAxes) {
  const Model model = test::free_body(1, Mat3::Identity());
  const Quat r(Eigen::AngleAxisd(M_PI / 2, Vec3::UnitZ()));  // body x points along world y
  Eigen::VectorXd q(7), v(6);
  q << 1, 2, 3, r.w(), r.x(), r.y(), r.z();
  v << 0.1, 0, 0, 0.2, 0, 0;
  const Pose pose = body_poses(model, integrate_position(model, q, v, 1))[0];
  EXPECT_LE((pose.p - Vec3(1.1, 2, 3)).norm(), 1e-15);
  const Mat3 expected = (Eigen::AngleAxisd(0.2, Vec3::UnitY()) * r).toRotationMatrix();
  EXPECT_LE((pose.R - expected).norm(), 1e-15);
}

TEST(Kinematics, DifferenceUndoesIntegration) {
  test::Random random(42);
  for (int trial = 0; trial < 100; ++trial) {
    const test::RandomTree tree = test::random_tree(random);
    const Eigen::VectorXd q = test::random_position(random, tree.model),
                          v = test::random_velocity(random, tree.model, 1.5);
    const Eigen::VectorXd back = position_difference(tree.model, q, integrate_position(tree.model, q, v, 1));
    EXPECT_LE((back - v).norm(), 1e-14 * 10 * (1 + v.norm()));
  }
}

}  // namespace
}  // namespace scree
