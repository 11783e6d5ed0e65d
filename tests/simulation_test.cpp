// Simulation: velocities of frames, what contacts do to a body; scree.h has all headers.
#include "scree/simulation.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "scree/error.h"
#include "scree/urdf.h"
#include "support/mechanisms.h"
#include "support/paths.h"
#include "support/random_tree.h"
#include "support/temp_folder.h"

namespace scree {
namespace {

// Central differences of frame_pose along v: the error is h^2/6 of the third derivative, some 1e2 at speeds of some
// rad/s and lengths of some m, and rounding of 1e-15/h: both 1e-8 at most at h = 1e-5.
TEST(Simulation, FrameVelocityIsTheRateOfThePose) {
  test::Random random(3);
  for (int k = 0; k < 50; ++k) {
    const test::RandomTree tree = test::random_tree(random);
    ModelBuilder builder(tree.model);
    Frame tool;
    tool.name = "tool";
    tool.X_BF.p = Vec3(0.3, -0.2, 0.5);
    tool.X_BF.R = Eigen::AngleAxisd(0.7, Vec3(1, 2, 3).normalized()).toRotationMatrix();
    builder.add_frame(tree.model.bodies().back().name, tool);
    Simulation simulation(builder.build());
    const Model& model = simulation.model();
    const Eigen::VectorXd none = Eigen::VectorXd::Zero(model.nv());
    Eigen::VectorXd v = none;
    for (double& x : v) x = test::uniform(random, -1, 1);
    const Eigen::VectorXd q = integrate_position(model, model.neutral_position(), v, 0.8);
    for (const std::string& name : {std::string("tool"), model.bodies().front().name, model.bodies().back().name}) {
      simulation.set_state(q, v);
      const FrameVelocity velocity = simulation.frame_velocity(name);
      const double h = 1e-5;
      simulation.set_state(integrate_position(model, q, v, h), none);
      const Pose after = simulation.frame_pose(name);
      simulation.set_state(integrate_position(model, q, v, -h), none);
      const Pose before = simulation.frame_pose(name);
      EXPECT_LE((velocity.linear - (after.p - before.p) / (2 * h)).norm(), 1e-6) << name;
      const Mat3 turn = (after.R - before.R) / (2 * h) * (0.5 * (after.R + before.R)).transpose();  // [w]
      const Vec3 w(turn(2, 1) - turn(1, 2), turn(0, 2) - turn(2, 0), turn(1, 0) - turn(0, 1));
      EXPECT_LE((velocity.angular - 0.5 * w).norm(), 1e-6) << name;
    }
    EXPECT_EQ(simulation.frame_velocity("world").linear, Vec3(Vec3::Zero()));
    EXPECT_THROW((void)simulation.frame_velocity("toll"), InputError);
  }
}

Simulation box_on_floor(StepOptions options, double height) {
  Model model = load_urdf(source_dir() + "/models/box.urdf");
  World world;
  world.add(plane_collider(Vec3::Zero(), Vec3::UnitZ()));
  world.add(contact_candidates(model, ContactCandidates::automatic));
  Simulation simulation(std::move(model), std::move(world), options);
  Eigen::VectorXd q = simulation.model().neutral_position();
  q(2) = height;
  simulation.set_state(q, Eigen::VectorXd::Zero(6));
  return simulation;
}

// At rest the ground bears the weight, whatever the integrator, and its moment about the centre is zero. Rigid contacts
// may share it out as they like, among two of the four corners too. pbfd-coulomb2 damps so little that the box still
// shakes.
TEST(Simulation, ContactForceOfABoxAtRestIsItsWeight) {
  for (const IntegratorType integrator :
       {IntegratorType::pbd_nmdp2, IntegratorType::pbfd_coulomb, IntegratorType::ne_lcp, IntegratorType::event}) {
    Simulation simulation = box_on_floor({.integrator = integrator}, 0.25);
    const std::string name = simulation.model().bodies()[0].name;
    const double weight = 9.81 * simulation.model().total_mass();
    EXPECT_EQ(simulation.contact_force(name).contacts, 0) << "before the first step";
    for (int k = 0; k < 200; ++k) ASSERT_TRUE(simulation.step().converged());
    const ContactLoad load = simulation.contact_force(name);
    const bool rigid = integrator == IntegratorType::ne_lcp || integrator == IntegratorType::event;
    EXPECT_GE(load.contacts, rigid ? 2 : 4) << integrator_name(integrator);
    EXPECT_LE((load.force - Vec3(0, 0, weight)).norm(), 1e-3 * weight) << integrator_name(integrator);
    EXPECT_LE(load.moment.norm(), 1e-3 * weight * 0.25) << integrator_name(integrator);
    EXPECT_EQ(load.impulse, Vec3(Vec3::Zero())) << integrator_name(integrator);
    EXPECT_THROW((void)simulation.contact_force("bax"), InputError);
    EXPECT_THROW((void)simulation.contact_force(name, "bax"), InputError);
    EXPECT_EQ(simulation.contact_force(name, "world").force, load.force);
    EXPECT_EQ(simulation.contact_force(name, name).contacts, 0);
    // Actio and reactio, about the origin of the world.
    const ContactLoad back = simulation.contact_force("world", name);
    EXPECT_EQ(back.force, -load.force);
    EXPECT_LE((back.moment + load.moment + simulation.frame_pose(name).p.cross(load.force)).norm(),
              1e-12 * (1 + load.force.norm()));
  }
}

// A drop: the impulse of the impact takes all of the momentum, less what gravity adds within the step.
TEST(Simulation, ContactForceOfAnEventHasTheImpulse) {
  Simulation simulation = box_on_floor({.integrator = IntegratorType::event}, 0.25 + 0.1);
  const std::string name = simulation.model().bodies()[0].name;
  const double mass = simulation.model().total_mass();
  Vec3 impulse = Vec3::Zero();
  size_t events = 0;
  for (int k = 0; k < 20; ++k) {
    ASSERT_TRUE(simulation.step().converged());
    impulse += simulation.contact_force(name).impulse;
    events += simulation.events().size();
  }
  EXPECT_GE(events, 1u);
  EXPECT_LE((impulse - Vec3(0, 0, mass * std::sqrt(2 * 9.81 * 0.1))).norm(), 1e-6 * mass);
}

// Forces on one body are not those on another, and moments are about its own origin.
TEST(Simulation, ContactForceIsThatOfOneBody) {
  Body plate;
  plate.name = "plate";
  plate.mass = 3;
  plate.inertia = 0.1 * Mat3::Identity();
  Joint rail;
  rail.name = "rail";
  rail.type = JointType::prismatic;
  rail.axis = Vec3::UnitZ();
  ModelBuilder builder("two plates");
  for (const double x : {0.0, 5.0}) {
    plate.name = x == 0 ? "left" : "right";
    plate.mass = x == 0 ? 3 : 7;
    rail.name = plate.name + " rail";
    rail.X_PJ.p.x() = x;
    builder.add_body(plate, "world", rail);
    ContactPoint point;
    point.name = plate.name + " foot";
    point.p_B = Vec3(0.5, 0, 0);
    builder.add_contact_point(plate.name, point);
  }
  Model model = builder.build();
  World world;
  world.add(plane_collider(Vec3::Zero(), Vec3::UnitZ()));
  world.add(contact_candidates(model, ContactCandidates::named));
  Simulation simulation(std::move(model), std::move(world));
  for (int k = 0; k < 300; ++k) ASSERT_TRUE(simulation.step().converged());
  for (const auto& [name, mass] : {std::pair("left", 3.0), std::pair("right", 7.0)}) {
    const ContactLoad load = simulation.contact_force(name);
    EXPECT_NEAR(load.force.z(), 9.81 * mass, 1e-3 * mass) << name;
    EXPECT_NEAR(load.moment.y(), -0.5 * load.force.z(), 1e-9 * load.force.z()) << name;
  }
}

// Steps from a copy of a state, history and time included, have the bits of those from the original.
TEST(Simulation, ACopyOfAStateGoesOnWithTheSameBits) {
  Simulation one = box_on_floor({}, 0.3), two = box_on_floor({}, 5);
  for (int k = 0; k < 30; ++k) ASSERT_TRUE(one.step().converged());
  one.set_time(0.5);
  two.set_state(one.state());
  for (int k = 0; k < 10; ++k) {
    ASSERT_TRUE(one.advance(0.02, 5).converged());
    ASSERT_TRUE(two.advance(0.02, 5).converged());
  }
  EXPECT_GT(one.state().time, 0.5);
  EXPECT_EQ(state_hash(one.state()), state_hash(two.state()));
  EXPECT_EQ(one.state().contact_weights, two.state().contact_weights);
  State wrong = one.state();
  wrong.body_rates.resize(7);
  EXPECT_THROW(two.set_state(wrong), InputError);
  EXPECT_THROW(two.set_options({.integrator = IntegratorType::rk4}), InputError);  // knows no contact
}

TEST(Headers, SummaryHeaderHasThemAll) {
  const std::filesystem::path folder = std::filesystem::path(source_dir()) / "include/scree";
  const std::string all = read_bytes(folder / "scree.h");
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory() || name == "scree.h") continue;
    EXPECT_NE(all.find("#include \"scree/" + name + "\"\n"), std::string::npos) << name;
    ++count;
  }
  EXPECT_GT(count, 20);
  EXPECT_EQ(all.find("research/"), all.rfind("research/")) << "named in the comment, not included";
}

}  // namespace
}  // namespace scree
