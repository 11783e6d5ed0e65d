// How robots start: on the ground, within their limits, held; and robots that nobody wrote a scene for.
#include "scree/start.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "scree/dynamics.h"
#include "scree/error.h"
#include "scree/run.h"
#include "support/paths.h"
#include "support/random_tree.h"
#include "support/temp_folder.h"

namespace scree {
namespace {

namespace fs = std::filesystem;
using std::numbers::pi;
using test::Random;
using test::uniform;

Body solid(const std::string& name, double mass, const Vec3& com, const Vec3& size) {
  Body body;
  body.name = name;
  body.mass = mass;
  body.com = com;
  body.inertia = mass / 12 *
                 Vec3(size.y() * size.y() + size.z() * size.z(), size.x() * size.x() + size.z() * size.z(),
                      size.x() * size.x() + size.y() * size.y())
                     .asDiagonal()
                     .toDenseMatrix();
  return body;
}

Joint joint(const std::string& name, JointType type, const Vec3& axis = Vec3::UnitY(), const Vec3& p = Vec3::Zero()) {
  Joint joint;
  joint.name = name;
  joint.type = type;
  joint.axis = axis;
  joint.X_PJ.p = p;
  return joint;
}

Shape box_shape(const std::string& name, const Vec3& size, const Vec3& p = Vec3::Zero()) {
  Shape shape;
  shape.name = name;
  shape.role = ShapeRole::collision;
  shape.X_BS.p = p;
  shape.geometry = Box{size};
  return shape;
}

// A point mass on a massless rod of length l [m], which points along x.
Model pendulum(double mass, double length, JointType type = JointType::revolute) {
  Body bob;
  bob.name = "bob";
  bob.mass = mass;
  bob.com = Vec3(length, 0, 0);
  bob.inertia = 1e-9 * Mat3::Identity();
  return ModelBuilder("pendulum").add_body(bob, "world", joint("hinge", type)).build();
}

World floor_for(const Model& model) {
  World world;
  world.add(plane_collider(Vec3::Zero(), Vec3::UnitZ()));
  world.add(contact_candidates(model, ContactCandidates::automatic));
  return world;
}

// A random robot as one meets them: a box that floats, two to four chains of links on motors, boxes and capsules.
Model random_robot(Random& random) {
  const auto size_of = [&](double scale) {
    return Vec3(scale * uniform(random, 0.5, 1.5), scale * uniform(random, 0.5, 1.5), scale * uniform(random, 0.3, 1));
  };
  const double scale = std::exp(uniform(random, std::log(0.05), std::log(0.6)));  // [m]
  const double density = uniform(random, 200, 2000);                              // [kg/m^3]
  ModelBuilder builder("robot");
  const Vec3 trunk = size_of(scale);
  builder.add_body(solid("trunk", density * trunk.prod(), Vec3::Zero(), trunk), "world",
                   joint("base", JointType::floating));
  builder.add_shape("trunk", box_shape("trunk", trunk));
  const int limbs = std::uniform_int_distribution<int>(2, 4)(random);
  for (int k = 0; k < limbs; ++k) {
    std::string parent = "trunk";
    Vec3 end = 0.5 * trunk.cwiseProduct(Vec3(k & 1 ? 1 : -1, k & 2 ? 1 : -1, uniform(random, -1, 1)));
    const int links = std::uniform_int_distribution<int>(1, 3)(random);
    for (int i = 0; i < links; ++i) {
      const std::string name = fmt::format("link{}_{}", k, i);
      const double length = scale * uniform(random, 0.3, 1.2), radius = scale * uniform(random, 0.05, 0.12);
      const double pick = uniform(random, 0, 1);
      const JointType type = pick < 0.7   ? JointType::revolute
                             : pick < 0.8 ? JointType::prismatic
                             : pick < 0.9 ? JointType::continuous
                                          : JointType::ball;
      Joint motor = joint("j" + name, type, (test::random_vector(random) + Vec3(0, 1.2, 0)).normalized(), end);
      builder.add_body(solid(name, density * 4 * radius * radius * length, Vec3(0, 0, -length / 2),
                             Vec3(2 * radius, 2 * radius, length)),
                       parent, motor);
      Shape shape = box_shape(name, Vec3(2 * radius, 2 * radius, length), Vec3(0, 0, -length / 2));
      if (uniform(random, 0, 1) < 0.5) shape.geometry = Capsule{radius, length};
      builder.add_shape(name, shape);
      parent = name;
      end = Vec3(0, 0, -length);
    }
  }
  return builder.build();
}

// --- placing -------------------------------------------------------------------------------------------------------

TEST(Placing, PutsTheLowestPointExactlyOnTheFloorOrAboveIt) {
  Random random(1);
  for (int trial = 0; trial < 50; ++trial) {
    const Model model = random_robot(random);
    const World world = floor_for(model);
    Eigen::VectorXd q = test::random_position(random, model);
    const Eigen::VectorXd before = q;
    const double drop = trial % 2 ? 0.02 : 0.0;
    const double lift = place_on_ground(model, world, q, drop);
    EXPECT_NEAR(lowest_point(model, world.colliders, q), drop, 1e-14);  // a few roundings of a metre
    EXPECT_NEAR(q(2) - before(2), lift, 1e-14);
    Eigen::VectorXd rest = q - before;
    rest(2) = 0;
    EXPECT_EQ(rest.norm(), 0);
  }
}

TEST(Placing, MovesBasesInTheirOwnAxes) {
  // Floating in a frame that is turned; planar with the normal -y, whose plane directions are x and z.
  for (const JointType type : {JointType::floating, JointType::planar}) {
    Joint base = joint("base", type, -Vec3::UnitY());
    if (type == JointType::floating) base.X_PJ.R = Quat(0.6, 0.48, 0.64, 0).toRotationMatrix();
    const Model model = ModelBuilder("m")
                            .add_body(solid("b", 1, Vec3::Zero(), Vec3(1, 1, 1)), "world", base)
                            .add_shape("b", box_shape("b", Vec3(1, 1, 1)))
                            .build();
    const World world = floor_for(model);
    Eigen::VectorXd q = model.neutral_position();
    const Vec3 before = body_poses(model, q)[0].p;
    const double lift = place_on_ground(model, world, q, 0.25);
    EXPECT_NEAR(lowest_point(model, world.colliders, q), 0.25, 1e-14);
    EXPECT_LT((body_poses(model, q)[0].p - before - Vec3(0, 0, lift)).norm(), 1e-14);
  }
}

// A ball of radius r: over a slope its centre is r / cos(angle) above the surface, on an edge of a box s beside it
// sqrt(r^2 - s^2).
TEST(Placing, FollowsTheGroundItIsAbove) {
  const Model model = load_urdf(fs::path(source_dir()) / "models/ball.urdf");
  const std::vector<Collider> points = contact_candidates(model, ContactCandidates::automatic);
  ASSERT_EQ(points.size(), 1u);
  const double r = std::get<Sphere>(points[0].shape).radius;
  const auto height_over = [&](Collider ground, double x) {
    World world;
    world.add(std::move(ground));
    world.add(points);
    Eigen::VectorXd q = model.neutral_position();
    q(0) = x;
    q(2) = -3;  // it may start in the ground
    place_on_ground(model, world, q);
    return (body_poses(model, q)[0] * points[0].X_BS.p).z();
  };
  const double angle = 0.6, tan = std::tan(angle);
  EXPECT_NEAR(height_over(plane_collider(Vec3::Zero(), Vec3(-std::sin(angle), 0, std::cos(angle))), 2),
              2 * tan + r / std::cos(angle), 1e-12);
  const double s = r / 2;
  EXPECT_NEAR(height_over(box_collider({Mat3::Identity(), Vec3(0, 0, 1)}, Vec3(2, 2, 2)), 1 + s),
              2 + std::sqrt(r * r - s * s), 1e-8);  // stops within 1e-9 m of the edge
  EXPECT_NEAR(height_over(box_collider({Mat3::Identity(), Vec3(0, 0, 1)}, Vec3(2, 2, 2)), 0.3), 2 + r, 1e-9);
  const auto field =
      std::make_shared<const HeightField>(Eigen::MatrixXd::Constant(6, 6, 0.7), Eigen::Vector2d(-1, -1), 0.5);
  EXPECT_NEAR(height_over(height_field_collider(field), 0.3), 0.7 + r, 1e-9);
  EXPECT_THROW(height_over(box_collider(Pose{}, Vec3(1, 1, 1)), 5), InputError);  // past the ground
  EXPECT_THROW(height_over(plane_collider(Vec3::Zero(), -Vec3::UnitZ()), 0), InputError);
}

TEST(Placing, SaysWhatIsWrong) {
  const Model model = load_urdf(fs::path(source_dir()) / "models/box.urdf");
  const World world = floor_for(model);
  Eigen::VectorXd q = model.neutral_position();
  for (const double drop : {-1.0, 1e7, std::nan("")}) EXPECT_THROW(place_on_ground(model, world, q, drop), InputError);
  EXPECT_THROW(place_on_ground(model, World{}, q, 0), InputError);
  EXPECT_EQ(q, model.neutral_position());
  const Model fixed = pendulum(1, 1);
  EXPECT_FALSE(can_be_lifted(fixed));
  Eigen::VectorXd q1 = fixed.neutral_position();
  EXPECT_THROW(place_on_ground(fixed, world, q1, 0), InputError);
  // Planar in the floor itself.
  const Model flat = ModelBuilder("flat")
                         .add_body(solid("b", 1, Vec3::Zero(), Vec3(1, 1, 1)), "world",
                                   joint("base", JointType::planar, Vec3::UnitZ()))
                         .build();
  EXPECT_FALSE(can_be_lifted(flat));
}

// --- limits --------------------------------------------------------------------------------------------------------

TEST(Limits, AreFoundAndClamped) {
  Joint low = joint("low", JointType::revolute), high = joint("high", JointType::prismatic, Vec3::UnitZ()),
        inside = joint("inside", JointType::revolute), ball = joint("ball", JointType::ball),
        free = joint("free", JointType::continuous);
  low.limits.lower = 0.5;
  low.limits.upper = 1;
  high.limits.lower = -1;
  high.limits.upper = -0.25;
  inside.limits.lower = inside.limits.upper = 0;
  ball.limits.upper = 0.4;
  ModelBuilder builder("m");
  std::string parent = "world";
  for (const Joint& j : {low, high, inside, ball, free}) {
    builder.add_body(solid("b" + j.name, 1, Vec3(0.1, 0, 0), Vec3(1, 1, 1)), parent, j);
    parent = "b" + j.name;
  }
  const Model model = builder.build();
  Eigen::VectorXd q = model.neutral_position();
  EXPECT_EQ(outside_limits(model, q).size(), 2u);
  const int b = model.joint(model.find_joint("ball")).q_index;
  const Vec3 axis = Vec3(2, -1, 2) / 3;
  q(b) = -std::cos(0.45);  // the same turn of 0.9 rad as with +: quaternions come in pairs
  q.segment<3>(b + 1) = -std::sin(0.45) * axis;
  const std::vector<LimitViolation> found = clamp_to_limits(model, q);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].beyond, 0.5);
  EXPECT_EQ(found[1].beyond, 0.25);
  EXPECT_NEAR(found[2].beyond, 0.5, 1e-15);
  EXPECT_EQ(q(0), 0.5);
  EXPECT_EQ(q(1), -0.25);
  EXPECT_EQ(q(2), 0);
  EXPECT_NEAR(q(b), std::cos(0.2), 1e-15);
  EXPECT_LT((q.segment<3>(b + 1) - std::sin(0.2) * axis).norm(), 1e-15);
  EXPECT_TRUE(outside_limits(model, q).empty());
  EXPECT_EQ(describe_limits(model, found, 1), "low at 0 rad, 0.5 rad below its limit of 0.5 rad; and 2 more");
}

// --- gains ---------------------------------------------------------------------------------------------------------

Control hold(const Model& model, const Eigen::VectorXd& q, const Vec3& gravity, const HoldOptions& options = {}) {
  Control control(model);
  hold_pose(model, q, gravity, control, options);
  return control;
}

TEST(Hold, APendulumHasTheGainsOfTheory) {
  const double omega = 2 * pi * 5, m = 1.5;
  for (const double l : {0.02, 0.3, 2.0}) {
    const Control control = hold(pendulum(m, l), Eigen::VectorXd::Zero(1), Vec3(0, 0, -9.81));
    const double inertia = m * l * l + 1e-9, kp = std::max(omega * omega * inertia, m * 9.81 * l / 0.0175);
    EXPECT_NEAR(control.kp(0), kp, 1e-12 * kp);
    EXPECT_NEAR(control.kd(0), 2 * std::sqrt(kp * inertia), 1e-12 * control.kd(0));
  }
  const Control slide = hold(pendulum(m, 1, JointType::prismatic), Eigen::VectorXd::Zero(1), Vec3(0, 0, -9.81));
  EXPECT_NEAR(slide.kp(0), m * 9.81 / 0.002, 1e-9);
  EXPECT_NEAR(slide.kd(0), 2 * std::sqrt(m * 9.81 / 0.002 * m), 1e-9);
}

// Ten thousand times lighter on one side: the gains are those of the other, from closed forms for both.
TEST(Hold, AFloatingBaseMayBeWhatIsCarried) {
  const Vec3 size(0.4, 0.2, 0.6);
  const double M = 10, foot_mass = 1e-3, d = 0.5;  // [m] from the ankle to the centre of the body
  const Model model = ModelBuilder("m")
                          .add_body(solid("body", M, Vec3::Zero(), size), "world", joint("base", JointType::floating))
                          .add_body(solid("foot", foot_mass, Vec3(0.05, 0, 0), Vec3(0.1, 0.1, 0.02)), "body",
                                    joint("ankle", JointType::revolute, Vec3::UnitY(), Vec3(0, 0, -d)))
                          .build();
  Random random(3);
  const double omega = 2 * pi * 5;
  const double inertia = M / 12 * (size.x() * size.x() + size.z() * size.z()) + M * d * d;
  const double kp = std::max(omega * omega * inertia, M * 9.81 * d / 0.0175);
  for (int trial = 0; trial < 5; ++trial) {  // wherever it is and however it is turned
    Eigen::VectorXd q = test::random_position(random, model);
    q(7) = 0;
    const Control control = hold(model, q, Vec3(0, 0, -9.81));
    EXPECT_NEAR(control.kp(6), kp, 1e-9 * kp);
    EXPECT_NEAR(control.kd(6), 2 * std::sqrt(kp * inertia), 1e-9 * control.kd(6));
    EXPECT_EQ(control.kp.head<6>().norm(), 0);
  }
  // Bolted down it carries a foot alone.
  const Model fixed = ModelBuilder("f")
                          .add_body(solid("foot", foot_mass, Vec3(0.05, 0, 0), Vec3(0.1, 0.1, 0.02)), "world",
                                    joint("ankle", JointType::revolute))
                          .build();
  EXPECT_LT(hold(fixed, Eigen::VectorXd::Zero(1), Vec3(0, 0, -9.81)).kp(0), 1e-3 * kp);
}

// Let go beside its target a flywheel swings with the period 2 pi / (omega sqrt(1 - zeta^2)), and an extreme is
// exp(-pi zeta / sqrt(1 - zeta^2)) of the one before.
TEST(Hold, FrequencyAndDampingAreThoseAskedFor) {
  const Model model =
      ModelBuilder("m")
          .add_body(solid("wheel", 2, Vec3::Zero(), Vec3(0.3, 0.1, 0.3)), "world", joint("axle", JointType::continuous))
          .build();
  const HoldOptions options{.frequency = 3, .damping_ratio = 0.2};
  Simulation simulation(model, World{}, {.integrator = IntegratorType::rk4, .dt = 1e-4});
  hold_pose(model, Eigen::VectorXd::Zero(1), Vec3(0, 0, -9.81), simulation.control(), options);
  simulation.set_state(Eigen::VectorXd::Constant(1, 0.1), Eigen::VectorXd::Zero(1));
  std::vector<double> times = {0}, extremes = {0.1};
  double v = 0;
  while (times.size() < 5) {
    ASSERT_TRUE(simulation.step().converged());
    const State& state = simulation.state();
    if (v != 0 && v * state.v(0) <= 0) {
      times.push_back(state.time - 1e-4 * state.v(0) / (state.v(0) - v));  // where the velocity is zero
      extremes.push_back(state.q(0));
    }
    v = state.v(0);
  }
  const double root = std::sqrt(1 - 0.2 * 0.2);
  for (size_t k = 1; k < times.size(); ++k) {
    EXPECT_NEAR(times[k] - times[k - 1], 0.5 / (3 * root), 1e-6);
    EXPECT_NEAR(extremes[k] / extremes[k - 1], -std::exp(-pi * 0.2 / root), 1e-4);
  }
}

// A horizontal arm of short and long links on a fixed base: no joint sags by more than it may, with any integrator at
// 10 and 50 ms, and the arm is at rest in the end.
TEST(Hold, AnArmSagsNoMoreThanItMayAndDoesNotShake) {
  ModelBuilder builder("arm");
  std::string parent = "world";
  double at = 0;
  for (int k = 0; k < 6; ++k) {
    const double length = k % 2 ? 0.05 : 0.4;
    const std::string name = fmt::format("link{}", k);
    builder.add_body(
        solid(name, 5.0 / (k + 1), Vec3(length / 2, 0, 0), Vec3(length, 0.05, 0.05)), parent,
        joint("j" + name, k == 3 ? JointType::prismatic : JointType::revolute,
              k == 3 ? Vec3::UnitZ() : (Vec3::UnitY() + 0.3 * k * Vec3::UnitZ()).normalized(), Vec3(at, 0, 0)));
    parent = name;
    at = length;
  }
  const Model model = builder.build();
  for (const IntegratorType integrator : integrators()) {
    if (integrator == IntegratorType::rk4) continue;  // explicit: gains of a step of 10 ms are beyond it
    for (const double dt : {0.01, 0.05}) {
      Simulation simulation(model, World{}, {.integrator = integrator, .dt = dt, .accuracy = 0, .explicit_pd = false});
      hold_pose(model, model.neutral_position(), Vec3(0, 0, -9.81), simulation.control());
      for (double t = 0; t < 3 - dt / 2; t += dt)
        ASSERT_TRUE(simulation.step().converged()) << integrator_name(integrator);
      for (const Joint& j : model.joints())
        EXPECT_LE(std::abs(simulation.state().q(j.q_index)), j.type == JointType::prismatic ? 0.002 : 0.0175)
            << integrator_name(integrator) << " " << dt << " " << j.name;
      EXPECT_LT(simulation.state().v.norm(), 1e-3) << integrator_name(integrator) << " " << dt;
    }
  }
}

TEST(Hold, ChecksItsOptions) {
  const Model model = pendulum(1, 1);
  Control control(model);
  for (const HoldOptions& options :
       {HoldOptions{.frequency = 0}, HoldOptions{.frequency = std::nan("")}, HoldOptions{.damping_ratio = -1},
        HoldOptions{.sag = 0}, HoldOptions{.sag_distance = -1}})
    EXPECT_THROW(hold_pose(model, Eigen::VectorXd::Zero(1), Vec3::Zero(), control, options), InputError);
  EXPECT_THROW(hold_pose(pendulum(1e11, 1), Eigen::VectorXd::Zero(1), Vec3::Zero(), control), InputError);
}

// --- robots without a scene ----------------------------------------------------------------------------------------

struct Rest {
  double gain = 0;  // [J] largest energy above that at the start: motors that hold a pose do no work but what they took
  double depth = 0;  // [m] of the deepest point at the end
  double speed = 0;  // [m/s, rad/s] at the end
};

Rest run_to_rest(const Scene& scene) {
  const Run run = run_scene(scene);
  EXPECT_EQ(run.status, RunStatus::complete) << scene.title << " " << scene.options.dt;
  Rest rest;
  const double start = run.kinetic_energy[0] + run.potential_energy[0];
  for (size_t k = 0; k < run.rows(); ++k)
    rest.gain = std::max(rest.gain, run.kinetic_energy[k] + run.potential_energy[k] - start);
  if (!run.penetration.empty()) rest.depth = run.penetration.back();
  const auto v = run.v.row(run.rows() - 1);
  for (const double x : v) rest.speed = std::max(rest.speed, std::abs(x));
  return rest;
}

TEST(RobotScene, EveryRobotOfOursRestsOnTheFloor) {
  for (const auto& entry : fs::directory_iterator(fs::path(source_dir()) / "models")) {
    if (entry.path().extension() != ".urdf") continue;
    for (const double dt : {0.01, 0.05}) {
      const Scene scene = robot_scene(entry.path(), {.overrides = {.dt = dt, .duration = 3, .drop = std::nullopt}});
      const Rest rest = run_to_rest(scene);
      EXPECT_LT(rest.gain, 1e-6 * scene.model.total_mass() * 9.81) << entry.path() << " " << dt;  // a micrometre up
      EXPECT_LT(rest.depth, 2e-3) << entry.path() << " " << dt;
    }
  }
}

TEST(RobotScene, RandomRobotsRestOnTheFloor) {
  Random random(11);
  for (int trial = 0; trial < 6; ++trial) {
    const Model model = random_robot(random);
    for (const double dt : {0.01, 0.05}) {
      const Scene scene = robot_scene(model, {.overrides = {.dt = dt, .duration = 4, .drop = 0.02}});
      const Rest rest = run_to_rest(scene);
      EXPECT_LT(rest.gain, 1e-6 * scene.model.total_mass() * 9.81) << trial << " " << dt;
      EXPECT_LT(rest.depth, 2e-3) << trial << " " << dt;
    }
  }
}

// Nothing fails, shakes or sags with those that users choose from.
TEST(RobotScene, StandsStillWithAnyIntegratorForUsers) {
  Random random(12);
  for (int trial = 0; trial < 1; ++trial) {
    const Model model = random_robot(random);
    for (const char* name : {"pbd-nmdp2", "pbfd-coulomb", "pbfd-coulomb2", "event", "ne-lcp"})
      for (const double dt : {0.01, 0.05}) {
        const Scene scene =
            robot_scene(model, {.overrides = {.dt = dt, .duration = 4, .integrator = integrator_from_name(name)}});
        const scree::Run run = run_scene(scene);
        ASSERT_EQ(run.status, RunStatus::complete) << name << " " << dt;
        for (size_t a = 6; a < static_cast<size_t>(model.nv()); ++a)  // the base may still be tipping over
          EXPECT_LT(std::abs(run.v(run.rows() - 1, a)), 0.02) << name << " " << dt;
        for (const Joint& j : model.joints())
          if (position_count(j.type) == 1) {
            EXPECT_LT(std::abs(run.q(run.rows() - 1, static_cast<size_t>(j.q_index))),
                      j.type == JointType::prismatic ? 0.002 : 0.0175)
                << name << " " << dt << " " << j.name;
          }
      }
  }
}

TEST(RobotScene, ItsTextGivesTheSameBits) {
  const TempFolder folder;
  const fs::path robot = fs::path(source_dir()) / "models/spider-spatial.urdf";
  fs::create_directory(folder / "sub");
  const SceneOverrides given{.dt = 0.03, .duration = 0.5, .accuracy = 1e-4, .drop = 0.1};
  const Scene scene = robot_scene(robot, {.overrides = given, .folder = folder / "sub"});
  folder.write("sub/scene.toml", scene.text);
  const Scene again = load_scene(folder / "sub/scene.toml");
  EXPECT_EQ(scene.q0, again.q0);
  EXPECT_EQ(scene.control.kp, again.control.kp);
  EXPECT_EQ(scene.control.kd, again.control.kd);
  EXPECT_EQ(scene.title, again.title);
  EXPECT_EQ(scene.options.dt, again.options.dt);
  EXPECT_EQ(scene.options.accuracy, again.options.accuracy);
  EXPECT_EQ(run_scene(scene).final_state_hash, run_scene(again).final_state_hash);
  EXPECT_EQ(run_scene(scene).final_state_hash,
            run_scene(robot_scene(load_urdf(robot), {.overrides = given}, robot)).final_state_hash);
}

const char* const kArm = R"(<robot name="arm">
  <link name="ROOT"/>
  <joint name="shoulder" type="revolute"><parent link="ROOT"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="0.25" upper="1" effort="100" velocity="1"/></joint>
  <link name="arm"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>COLLISION</link>
</robot>)";

std::string arm(const std::string& root, bool collision = true) {
  std::string text = kArm;
  for (size_t at; (at = text.find("ROOT")) != std::string::npos;) text.replace(at, 4, root);
  text.replace(text.find("COLLISION"), 9,
               collision ? "<collision><geometry><sphere radius=\"0.1\"/></geometry></collision>" : "");
  return text;
}

TEST(RobotScene, FloatsUnlessTheFileTheUserOrTheNameOfTheRootSaysOtherwise) {
  const TempFolder folder;
  const auto scene_of = [&](const std::string& text, BaseType base = BaseType::as_file) {
    return robot_scene(folder.write("robot.urdf", text), {.base = base});
  };
  const Scene floating = scene_of(arm("base"));
  EXPECT_EQ(floating.model.nv(), 7);
  EXPECT_TRUE(floating.world.has_contact());
  EXPECT_NEAR(lowest_point(floating.model, floating.world.colliders, floating.q0), 0, 1e-15);
  for (const Scene& fixed : {scene_of(arm("base"), BaseType::fixed), scene_of(arm("world"))}) {
    EXPECT_EQ(fixed.model.nv(), 1);
    EXPECT_FALSE(fixed.world.has_contact());
    EXPECT_EQ(parse_scene(fixed.text, folder.path()).model.nv(), 1);
  }
  std::string said = arm("base");
  said.insert(said.find('>') + 1, "<scree base=\"fixed\"/>");
  EXPECT_EQ(scene_of(said).model.nv(), 1);
  EXPECT_EQ(scene_of(said, BaseType::floating).model.nv(), 7);
}

TEST(RobotScene, ClampsAndWarns) {
  const TempFolder folder;
  const Scene scene = robot_scene(folder.write("robot.urdf", arm("base")));
  ASSERT_EQ(scene.clamped.size(), 1u);
  EXPECT_EQ(scene.q0(7), 0.25);
  EXPECT_EQ(scene.control.target(7), 0.25);
  ASSERT_EQ(scene.warnings.size(), 1u);
  EXPECT_NE(scene.warnings[0].find("shoulder at 0 rad, 0.25 rad below its limit of 0.25 rad"), std::string::npos)
      << scene.warnings[0];
  // A scene that does not ask for it is told.
  const Scene plain = parse_scene("model = \"robot.urdf\"\nduration = 1\n", folder.path());
  EXPECT_TRUE(plain.clamped.empty());
  EXPECT_EQ(plain.q0(0), 0);
  ASSERT_EQ(plain.warnings.size(), 1u);
  EXPECT_NE(plain.warnings[0].find("shoulder"), std::string::npos);
  const Scene clamped = parse_scene("model = \"robot.urdf\"\nduration = 1\n", folder.path(), {.clamp = true});
  EXPECT_EQ(clamped.q0(0), 0.25);
  // Nothing that touches.
  const Scene falling = robot_scene(folder.write("bare.urdf", arm("base", false)));
  EXPECT_FALSE(falling.world.has_contact());
  EXPECT_NE(falling.warnings.at(0).find("it falls"), std::string::npos);
  EXPECT_TRUE(parse_scene(falling.text, folder.path()).world.colliders.empty());
}

TEST(RobotScene, SaysWhatIsWrong) {
  const fs::path box = fs::path(source_dir()) / "models/box.urdf",
                 arm = fs::path(source_dir()) / "models/pendulum.urdf";
  const auto message = [](const fs::path& robot, const SceneOverrides& overrides) -> std::string {
    try {
      robot_scene(robot, {.overrides = overrides});
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message(box, {.drop = std::nan("")}).find("drop is nan"), std::string::npos);
  EXPECT_NE(message(box, {.drop = -1}).find("drop is -1"), std::string::npos);
  EXPECT_NE(message(box, {.drop = 1e9}).find("drop is 1000000000"), std::string::npos);
  EXPECT_NE(message(arm, {.drop = 0.1}).find("cannot move up and down"), std::string::npos);
  EXPECT_NE(message(box, {.dt = std::nan("")}).find("dt is nan"), std::string::npos);
  EXPECT_NE(message(box, {.duration = -1}).find("duration is -1"), std::string::npos);
  EXPECT_NE(message("none.urdf", {}).find("no such file"), std::string::npos);
}

TEST(SceneKeys, DropClampAndHoldAreChecked) {
  const fs::path models = fs::path(source_dir()) / "models";
  const auto message = [&](const std::string& model, const std::string& text) -> std::string {
    try {
      parse_scene("model = \"" + model + ".urdf\"\nduration = 1\n" + text, models);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  const std::string floor = "[[environment]]\nshape = \"plane\"\n";
  EXPECT_EQ(message("box", "[initial]\ndrop = 0.1\n" + floor), "");
  EXPECT_NE(message("box", "[initial]\ndrop = -0.1\n" + floor).find("scene:4: initial.drop"), std::string::npos);
  EXPECT_NE(message("box", "[initial]\ndrop = 0.1\n").find("initial.drop"), std::string::npos);
  EXPECT_NE(message("pendulum", "[initial]\ndrop = 0.1\n").find("initial.drop"), std::string::npos);
  EXPECT_NE(message("box", "[initial]\nclamp = 1\n").find("initial.clamp"), std::string::npos);
  EXPECT_EQ(message("pendulum", "[control]\nhold = true\nfrequency = 2\ndamping_ratio = 0.5\n"), "");
  EXPECT_NE(message("pendulum", "[control]\nhold = true\nkp = 2\n").find("control.kp"), std::string::npos);
  EXPECT_NE(message("pendulum", "[control]\nfrequency = 2\n").find("control.frequency"), std::string::npos);
  EXPECT_NE(message("pendulum", "[control]\nhold = true\nfrequency = 0\n").find("control.frequency"),
            std::string::npos);
}

}  // namespace
}  // namespace scree
