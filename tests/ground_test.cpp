// How firm the ground is when nothing is said of it.
#include <gtest/gtest.h>

#include <cmath>

#include "scree/simulation.h"
#include "scree/urdf.h"
#include "support/paths.h"
#include "support/random_tree.h"

namespace scree {
namespace {

// A floating ball of 1 kg a metre of radius.
Model ball(double radius) {
  ModelBuilder builder("ball");
  Body body;
  body.name = "ball";
  body.mass = radius;
  body.inertia = 0.4 * radius * radius * radius * Mat3::Identity();
  Joint joint;
  joint.name = "base";
  joint.type = JointType::floating;
  builder.add_body(body, "world", joint);
  ContactPoint centre;
  centre.name = "centre";
  centre.radius = radius;
  builder.add_contact_point("ball", centre);
  return builder.build();
}

// `count` spheres of this radius in a row along x, side by side, hinged about y.
Model spheres(int count, double radius) {
  ModelBuilder builder("spheres");
  std::string parent = "world";
  for (int k = 0; k < count; ++k) {
    Body body;
    body.name = "sphere" + std::to_string(k);
    body.mass = 0.5;
    body.inertia = 0.4 * body.mass * radius * radius * Mat3::Identity();
    Joint joint;
    joint.name = "joint" + std::to_string(k);
    joint.type = k == 0 ? JointType::floating : JointType::revolute;
    joint.axis = Vec3::UnitY();
    if (k > 0) joint.X_PJ.p = Vec3(2 * radius, 0, 0);
    builder.add_body(body, parent, joint);
    ContactPoint centre;
    centre.name = "centre" + std::to_string(k);
    centre.radius = radius;
    builder.add_contact_point(body.name, centre);
    parent = body.name;
  }
  return builder.build();
}

World on_floor(const Model& model) {
  World world;
  world.add(contact_candidates(model, ContactCandidates::automatic));
  world.add(plane_collider(Vec3::Zero(), Vec3::UnitZ()));
  return world;
}

TEST(Ground, IsAsFirmAsAThousandthOfTheModel) {
  for (const double radius : {1e-3, 0.05, 20.0}) {
    const Model model = ball(radius);
    EXPECT_NEAR(firm_depth(model, on_floor(model)), 2e-3 * radius, 1e-15 * radius);
  }
  const Model tiny = ball(1e-6);
  EXPECT_EQ(firm_depth(tiny, on_floor(tiny)), 1e-6);
  const Model row = spheres(10, 0.05);
  EXPECT_NEAR(firm_depth(row, on_floor(row)), 1e-3, 1e-15);  // 10 x 0.1 m
  EXPECT_EQ(firm_depth(row, World{}), 0.9e-3);               // centres of mass alone
  EXPECT_EQ(firm_depth(ball(1), World{}), 1e-3);             // one point: as if it were 1 m
}

// What `static_depth` finds from the ground's answers is what the options say, whichever of them is given.
TEST(Ground, StaticDepthIsThatOfTheOptions) {
  const Model model = load_urdf(source_dir() + "/models/box.urdf");
  const double share = 9.81 * model.total_mass() / 8;
  const auto of = [&](const CoulombOptions& law, IntegratorType type) {
    World world = on_floor(model);
    world.law = make_coulomb(law);
    world.smooth.depth = law.depth;
    return static_depth(model, world, type);
  };
  using enum IntegratorType;
  for (const IntegratorType type : {pbd_nmdp2, ne_mdp, pbfd_coulomb, pbfd}) {
    EXPECT_NEAR(of({}, type), uses_smooth_contact(type) ? 2.5e-3 : 0.5e-3, 1e-12) << integrator_name(type);
    EXPECT_NEAR(of({.depth = 0.02}, type), 0.02, 1e-11) << integrator_name(type);
  }
  EXPECT_NEAR(of({.exponent = 2, .stiffness = 1e4}, pbd_nmdp2), std::sqrt(share / 1e4), 1e-12);
  EXPECT_EQ(of({.air_force = 2 * share}, pbd_nmdp2), 0);
  EXPECT_EQ(of({.stiffness = 1e-9}, pbd_nmdp2), std::numeric_limits<double>::infinity());
  for (const IntegratorType rigid : {event, ne_lcp}) EXPECT_EQ(of({}, rigid), 0);
}

// However many points a model has, few of them carry it: of eight or more a share is an eighth of the weight, and what
// stands on four of them is as deep as a box is.
TEST(Ground, IsNoSofterForRobotsWithManyPoints) {
  for (const int more : {0, 1, 4, 100, 3000}) {
    ModelBuilder builder("table");
    Body body;
    body.name = "table";
    body.mass = 3;
    body.inertia = 0.1 * Mat3::Identity();
    Joint joint;
    joint.name = "base";
    joint.type = JointType::floating;
    builder.add_body(body, "world", joint);
    int count = 0;
    const auto add = [&](const Vec3& p) {
      builder.add_contact_point("table", {.name = "point" + std::to_string(count++), .body = {}, .p_B = p});
    };
    for (const double x : {-0.5, 0.5})
      for (const double y : {-0.4, 0.4}) add(Vec3(x, y, -0.25));
    for (int k = 0; k < more; ++k) add(Vec3(0.4 * std::cos(k), 0.3 * std::sin(k), 0.1 + 0.1 * std::cos(3 * k)));
    const Model model = builder.build();
    const World world = on_floor(model);
    ASSERT_NEAR(firm_depth(model, world), 1e-3, 1e-12);
    const double share = 9.81 * 3 / std::min(4 + more, 8);
    World stiff = world;
    stiff.law = make_coulomb({.stiffness = 1e12});
    EXPECT_NEAR(static_depth(model, stiff, IntegratorType::pbd_nmdp2), std::cbrt(share / 1e12), 1e-9);
    // c d^3 on four legs carries the weight where d^3 = n/4 depth^3.
    const double expected = 1e-3 * std::cbrt(std::min(4 + more, 8) / 4.0);
    Simulation s(model, world, {.dt = 0.01});
    Eigen::VectorXd q = model.neutral_position();
    q(2) = 0.25 - 0.9 * expected;
    s.set_state(q, Eigen::VectorXd::Zero(6));
    for (int k = 0; k < 30; ++k) ASSERT_TRUE(s.step().converged());
    EXPECT_GE(0.25 - s.state().q(2), 0.99 * expected) << more;
    EXPECT_LE(0.25 - s.state().q(2), 1.1 * expected) << more;
  }
}

// A ball of any size comes to rest where its weight is carried: at the static depth D of smooth ground. A law stops it
// no deeper than where its energy is gone and leaves it there: from D/2, d - D/2 = (d^4 - D^4/16)/(4 D^3) at d = 1.372
// D.
TEST(Ground, ABallRestsAtTheStaticDepth) {
  for (const double radius : {0.01, 0.5}) {
    const Model model = ball(radius);
    for (const IntegratorType type : {IntegratorType::pbd_nmdp2, IntegratorType::pbfd_coulomb}) {
      World world = on_floor(model);
      world.smooth.damping = 1 / std::sqrt(9.81 * radius);
      const double expected = static_depth(model, world, type);
      Simulation s(model, world, {.integrator = type, .dt = 0.01 * std::sqrt(radius)});
      Eigen::VectorXd q = model.neutral_position();
      q(2) = radius - 0.5 * expected;
      s.set_state(q, Eigen::VectorXd::Zero(6));
      for (int k = 0; k < 2000; ++k) ASSERT_TRUE(s.step().converged()) << integrator_name(type);
      const double depth = radius - s.state().q(2);
      EXPECT_GE(depth, 0.99 * expected) << integrator_name(type) << " " << radius;
      EXPECT_LE(depth, (uses_smooth_contact(type) ? 1.01 : 1.373) * expected) << integrator_name(type) << " " << radius;
    }
  }
}

// Where the law has taken the energy of the fall, c d^4/4 = share (H + d): implicit steps stop no deeper.
TEST(Ground, ChainsOfSmallSpheresDoNotVanishInIt) {
  constexpr double kRadius = 0.025, kFall = 0.3;  // [m]
  const Model model = spheres(10, kRadius);
  const World world = on_floor(model);
  const double firm = firm_depth(model, world);
  double deepest = firm;
  for (int k = 0; k < 100; ++k) deepest = std::pow(4 * firm * firm * firm * (kFall + deepest), 0.25);
  ASSERT_LT(deepest, 0.2 * kRadius);
  for (const double dt : {0.005, 0.01, 0.05}) {
    Simulation s(model, world, {.dt = dt});
    Eigen::VectorXd q = model.neutral_position();
    q(2) = kRadius + kFall;
    s.set_state(q, Eigen::VectorXd::Zero(model.nv()));
    double sank = 0;
    for (int k = 0; k < 1 / dt; ++k) {
      const StepReport report = s.step();
      ASSERT_TRUE(report.converged()) << dt;
      sank = std::max(sank, report.penetration);
    }
    EXPECT_GT(sank, 0) << dt;
    EXPECT_LE(sank, deepest) << dt;
    EXPECT_LE(s.state().q(2), kRadius) << dt;  // it lies
    EXPECT_GE(s.state().q(2), kRadius - deepest) << dt;
  }
}

}  // namespace
}  // namespace scree
