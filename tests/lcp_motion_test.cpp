// ne-lcp: motions with dry friction whose outcome is known, and what a step promises, computed anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "control/joint_forces.h"
#include "scree/dynamics.h"
#include "scree/simulation.h"
#include "support/contact_robots.h"
#include "support/paths.h"

namespace scree {
namespace {

constexpr double kGravity = 9.81;                        // [m/s^2]
constexpr double kRounding = 1e-12;                      // [m, m/s, m/s^2] of some thousand steps near the origin
constexpr double kRecovery = 0.2, kRecoverySpeed = 0.1;  // theory (12.4)

Model load(const std::string& name) { return load_urdf(source_dir() + "/models/" + name + ".urdf"); }

// Ground through the origin that falls by `slope` [rad] along +x.
World on_slope(const Model& model, double friction, double slope = 0) {
  World world;
  world.add(plane_collider(Vec3::Zero(), Vec3(std::sin(slope), 0, std::cos(slope))));
  world.surface.friction = friction;
  world.add(contact_candidates(model, ContactCandidates::named));
  return world;
}

Simulation make(const Model& model, const World& world, double dt) {
  StepOptions options;
  options.integrator = IntegratorType::ne_lcp;
  options.dt = dt;
  return Simulation(model, world, options);
}

int height_index(const Model& model) { return model.nv() == 3 ? 1 : 2; }  // of a box, in q and v

// A box of 0.5 m flat on a slope, moving with v along x.
void set_on_slope(Simulation& s, double slope, double v = 0, double above = 0) {
  Eigen::VectorXd q = s.model().neutral_position(), rate = Eigen::VectorXd::Zero(s.model().nv());
  const int z = height_index(s.model());
  q(0) = (0.25 + above) * std::sin(slope);
  q(z) = (0.25 + above) * std::cos(slope);
  if (s.model().nv() == 3)
    q(2) = slope;
  else
    q.segment<4>(3) << std::cos(slope / 2), 0, std::sin(slope / 2), 0;
  rate(0) = v * std::cos(slope);
  rate(z) = -v * std::sin(slope);
  s.set_state(q, rate);
}

// Speeds fall by a = mu g h a step until the last part, so that of v0 = (N + r) a h, 0 <= r < 1, the box slides
//   h sum_k (v0 - k a h) = v0^2/(2 a) - a h^2 (N + r^2)/2:   too short by at most half a step of travel, v0 h/2.
TEST(LcpMotion, ASlidingBoxStopsWhereCoulombSaysSo) {
  for (const char* name : {"box-planar", "box"})
    for (const double mu : {0.1, 0.25, 0.5, 0.8})
      for (const double h : {0.01, 0.001}) {
        const Model model = load(name);
        Simulation s = make(model, on_slope(model, mu), h);
        const double v0 = 2, a = mu * kGravity, exact = v0 * v0 / (2 * a);
        set_on_slope(s, 0, v0);
        for (int k = 0; k * h < v0 / a + 0.1; ++k) ASSERT_EQ(s.step().rejected, 0);
        const double x = s.state().q(0), steps = v0 / (a * h), N = std::floor(steps), r = steps - N;
        EXPECT_LE(std::abs(x - exact), v0 * h / 2 + kRounding) << name << " mu " << mu << " h " << h;
        EXPECT_NEAR(x, exact - a * h * h * (N + r * r) / 2, kRounding) << name << " mu " << mu << " h " << h;
        EXPECT_LE(s.state().v.cwiseAbs().maxCoeff(), kRounding);
      }
}

// In any direction: friction of 16 directions is at most 11.25 degrees off the slip, so it takes speed at a rate
// between mu g cos(pi/16) and mu g. The path is that long; the straight line from start to end is no longer.
TEST(LcpMotion, ABoxSlidesInAnyDirectionAsFarAsItsDirectionsAllow) {
  const Model model = load("box");
  const double mu = 0.4, h = 0.002, v0 = 1.5, exact = v0 * v0 / (2 * mu * kGravity);
  test::Random random(1);
  for (int trial = 0; trial < 12; ++trial) {
    const double angle = test::uniform(random, -M_PI, M_PI);
    Simulation s = make(model, on_slope(model, mu), h);
    Eigen::VectorXd q = model.neutral_position(), v = Eigen::VectorXd::Zero(6);
    q(2) = 0.25;
    v.head<2>() << v0 * std::cos(angle), v0 * std::sin(angle);
    s.set_state(q, v);
    double path = 0;
    Vec3 last = q.head<3>();
    for (int k = 0; k < 400; ++k) {
      ASSERT_EQ(s.step().rejected, 0);
      path += (s.state().q.head<3>() - last).norm();
      last = s.state().q.head<3>();
    }
    EXPECT_GE(path, exact - v0 * h / 2 - kRounding) << angle;
    EXPECT_LE(path, exact / std::cos(M_PI / 16) + kRounding) << angle;
    EXPECT_LE(s.state().v.cwiseAbs().maxCoeff(), kRounding) << angle;
  }
}

// tan(slope) < mu: nothing moves, not even slowly. Above it the box slides with a = g (sin - mu cos), v_k = k a h:
//   h sum_{k <= n} k a h = a h^2 n (n + 1)/2.
TEST(LcpMotion, ABoxSticksBelowTheFrictionAngleAndSlidesAboveIt) {
  const double h = 0.001, slope = 0.3;
  const int n = 1000;
  for (const char* name : {"box-planar", "box"})
    for (const double mu : {0.0, 0.1, 0.3, 0.32, 0.5, 0.9}) {  // tan(0.3) = 0.309
      const Model model = load(name);
      Simulation s = make(model, on_slope(model, mu, slope), h);
      set_on_slope(s, slope);
      const Eigen::VectorXd start = s.state().q;
      for (int k = 0; k < n; ++k) ASSERT_EQ(s.step().rejected, 0);
      const double a = std::max(0.0, kGravity * (std::sin(slope) - mu * std::cos(slope)));
      const double far = a * h * h * n * (n + 1) / 2;
      Eigen::VectorXd expected = start;
      expected(0) += far * std::cos(slope);
      expected(height_index(model)) -= far * std::sin(slope);
      EXPECT_LE((s.state().q - expected).cwiseAbs().maxCoeff(), kRounding) << name << " mu " << mu;
    }
}

// A solid ball rolls if mu > 2/7 tan(slope), with 5/7 of g sin; its contact point stands still.
TEST(LcpMotion, ABallRollsDownASlope) {
  ModelBuilder builder("ball");
  Body body;
  body.name = "ball";
  body.mass = 2;
  body.inertia = 0.4 * 2 * 0.01 * Mat3::Identity();
  Joint joint;
  joint.name = "base";
  joint.type = JointType::floating;
  builder.add_body(body, "world", joint);
  ContactPoint point;
  point.name = "centre";
  point.radius = 0.1;
  builder.add_contact_point("ball", point);
  const Model model = builder.build();
  const double h = 0.001, slope = 0.3;
  const int n = 500;
  Simulation s = make(model, on_slope(model, 0.2, slope), h);
  Eigen::VectorXd q = model.neutral_position();
  q.head<3>() = 0.1 * Vec3(std::sin(slope), 0, std::cos(slope));
  const Vec3 start = q.head<3>();
  s.set_state(q, Eigen::VectorXd::Zero(6));
  for (int k = 0; k < n; ++k) ASSERT_EQ(s.step().rejected, 0);
  const double far = 5.0 / 7 * kGravity * std::sin(slope) * h * h * n * (n + 1) / 2;
  const Vec3 expected = start + far * Vec3(std::cos(slope), 0, -std::sin(slope));
  EXPECT_LE((s.state().q.head<3>() - expected).norm(), kRounding);
  EXPECT_NEAR(s.state().v(4), 5.0 / 7 * kGravity * std::sin(slope) * h * n / 0.1, 10 * kRounding);
}

// The step that would go through the ground ends on it, the next one at rest: no rebound.
TEST(LcpMotion, ADroppedBoxStaysWhereItFalls) {
  for (const char* name : {"box-planar", "box"})
    for (const double h : {0.05, 0.01, 0.001}) {
      const Model model = load(name);
      const int z = height_index(model);
      Simulation s = make(model, on_slope(model, 0.5), h);
      set_on_slope(s, 0, 0, 0.3);
      double highest_after = -1;
      bool landed = false;
      StepReport report;
      for (int k = 0; k * h < 1; ++k) {
        report = s.step();
        ASSERT_EQ(report.rejected, 0);
        if (landed) highest_after = std::max(highest_after, s.state().v(z));
        landed = landed || report.contacts > 0;
        EXPECT_GE(s.state().q(z), 0.25 - kRounding);
      }
      EXPECT_TRUE(landed);
      EXPECT_LE(highest_after, kRounding);
      EXPECT_NEAR(s.state().q(z), 0.25, kRounding);
      Vec3 force = Vec3::Zero();
      for (const Contact& contact : s.contacts()) force += contact.force;
      EXPECT_LE((force - Vec3(0, 0, kGravity)).norm(), 1e-9);  // rounding of 1 m/h^2 = 1e6 m/s^2 at 1 kg
      EXPECT_EQ(report.contacts, static_cast<int>(s.contacts().size()));
      EXPECT_GE(report.contacts, 2);
    }
}

// Velocity of the material point of the sphere's body that is at `at`, all in world axes.
Eigen::Matrix3Xd jacobian_at(Dynamics& dynamics, const Model& model, const Collider& point, const Vec3& at) {
  const Pose X = dynamics.body_pose(point.body);
  Eigen::Matrix3Xd J(3, model.nv());
  dynamics.point_jacobian(point.body, X.R.transpose() * (at - X.p), J);
  return J;
}

double recovery(double gap, double h) { return gap < 0 ? std::min(-kRecovery * gap / h, kRecoverySpeed) : 0; }

// A cube has the same inertia in all directions, M is constant and gyroscopic forces are none. Then
//   K_1 - K_0 = h v_1.(m g + J^T f) - |v_1 - v_0|_M^2 / 2,
// friction takes energy, and the normal force gives f_n h u_n: at most what letting points out of the ground takes.
TEST(LcpMotion, ImpactsMakeNoEnergy) {
  const Model model = load("box");
  const double h = 0.002;
  const World world = on_slope(model, 0.6);
  test::Random random(2);
  int impacts = 0;
  for (int trial = 0; trial < 20; ++trial) {
    Simulation s = make(model, world, h);
    Eigen::VectorXd q = model.neutral_position(), v(6);
    q(2) = 0.6;
    const Quat r(test::random_rotation(random));
    q.segment<4>(3) << r.w(), r.x(), r.y(), r.z();
    v << test::random_vector(random, 2), test::random_vector(random, 5);
    s.set_state(q, v);
    Dynamics dynamics(model);
    dynamics.set_position(q);
    double energy = dynamics.kinetic_energy(v) + dynamics.gravity_energy(s.world().gravity);
    for (int k = 0; k < 500; ++k) {
      const Eigen::VectorXd before = s.state().q;
      const StepReport report = s.step();
      ASSERT_EQ(report.rejected, 0);
      impacts += report.contacts;
      double given = 0;
      for (const Contact& contact : s.contacts()) {
        const Collider& point = world.colliders[static_cast<size_t>(contact.a)];
        const Vec3 c = frame_pose(model, before, Frame{"", point.body, {}}) * point.X_BS.p;
        given += h * contact.force.dot(contact.normal) * recovery(c.z() - std::get<Sphere>(point.shape).radius, h);
      }
      const double now = report.kinetic_energy + report.potential_energy;
      EXPECT_LE(now, energy + given + 1e-12 * (1 + energy));
      energy = now;
    }
  }
  EXPECT_GT(impacts, 1000);
}

// All conditions of theory (12.1) to (12.4) for one step from `before`, from the pose, the velocities and the contacts
// reported. Returns how many pairs carry a force.
int expect_truth(const Model& model, const World& world, const Control& control, const StepOptions& options,
                 const State& before, const State& after, const std::vector<Contact>& contacts) {
  const double h = options.dt, mu = world.surface.friction;
  Dynamics dynamics(model);
  dynamics.set_position(before.q);
  const Eigen::MatrixXd M = dynamics.mass_matrix();
  Eigen::VectorXd unbalanced(model.nv()), joints(model.nv());
  dynamics.bias_force(before.v, world.gravity, unbalanced);
  JointForces(model).explicit_force(control, before.q.data(), before.v.data(), joints.data());
  unbalanced += M * (after.v - before.v) / h - joints;
  double size = (M * after.v).cwiseAbs().maxCoeff() / h + joints.cwiseAbs().maxCoeff();
  const double speed = 1 + after.v.cwiseAbs().maxCoeff();
  const double small = 1e-9 * speed;  // [m/s] the tolerance of the solver is 1e-10 of the largest term
  int loaded = 0;
  for (const ContactPair& pair : world.pairs()) {
    const Collider& point = world.colliders[static_cast<size_t>(pair.a)];
    const double radius = std::get<Sphere>(point.shape).radius;
    const Vec3 c = dynamics.body_pose(point.body) * point.X_BS.p;
    const SignedDistance ground = distance(world.colliders[static_cast<size_t>(pair.b)], c);
    const double gap = ground.value - radius;
    const Vec3 surface = c - radius * ground.gradient;
    const Eigen::Matrix3Xd J = jacobian_at(dynamics, model, point, surface);
    const Vec3 u = J * after.v;
    const double u_n = u.dot(ground.gradient);
    const Vec3 u_t = u - u_n * ground.gradient;
    // (12.2), (12.4): the gap stays open, or the point is let out.
    const double slack = u_n + (gap >= 0 ? gap / h : -recovery(gap, h));
    EXPECT_GE(slack, -small);
    const auto contact = std::find_if(contacts.begin(), contacts.end(),
                                      [&](const Contact& x) { return x.a == pair.a && x.b == pair.b; });
    if (contact == contacts.end() || contact->force.isZero(0)) continue;
    ++loaded;
    EXPECT_LE((contact->position - surface).norm(), 1e-12);
    EXPECT_LE((contact->normal - ground.gradient).norm(), 1e-12);
    const double f_n = contact->force.dot(ground.gradient);
    const Vec3 f_t = contact->force - f_n * ground.gradient;
    EXPECT_GT(f_n, 0);
    EXPECT_LE(slack, small);
    // (12.3): within the cone, and where it slips against the slip, within 22.5 degrees.
    EXPECT_LE(f_t.norm(), mu * f_n * (1 + 1e-9) + 1e-9);
    if (u_t.norm() > 10 * small) {
      const bool planar = J.row(1).isZero(0);  // moves in the x-z plane alone
      EXPECT_LE(f_t.dot(u_t),
                -(planar ? 1 : std::cos(M_PI / 8)) * mu * f_n * u_t.norm() * (1 - 1e-9) + 10 * small * mu * f_n);
    }
    unbalanced -= J.transpose() * contact->force;
    size = std::max(size, contact->force.norm());
  }
  EXPECT_LE(unbalanced.cwiseAbs().maxCoeff(), 1e-10 * size);  // rounding of M^-1, condition up to 1e5
  return loaded;
}

TEST(LcpMotion, AStepSatisfiesAllConditions) {
  test::Random random(3);
  int loaded = 0, most = 0;
  for (const char* name : {"robosimian-planar", "spider-planar", "spider-spatial", "robosimian-spatial"}) {
    test::ContactRobot robot(name);
    robot.world.surface.friction = 0.7;
    const Mat3 tilt = Eigen::AngleAxisd(0.4, Vec3::UnitY()).toRotationMatrix();
    robot.world.add(box_collider({tilt, Vec3(0.6, 0, robot.floor) - tilt * Vec3(0, 0, 0.5)}, {0.6, 3, 1}));
    for (const double h : {0.01, 0.001})
      for (int trial = 0; trial < 50; ++trial) {
        StepOptions options;
        options.integrator = IntegratorType::ne_lcp;
        options.dt = h;
        options.max_halvings = 0;
        const State before = robot.random_state(random);
        State after = before;
        StepWorkspace workspace(robot.model, robot.world);
        const StepReport report = step(robot.model, robot.control, options, after, workspace);
        ASSERT_TRUE(report.converged()) << name << " " << trial;
        // The residual bounds the violations as accelerations; the tolerance of the solver is 1e-10 of the largest
        // velocities, which are some 10 m/s, over h; how heavy the points are differs by a factor of 10.
        EXPECT_LE(report.residual, 1e-10 * 100 / h);
        const int now =
            expect_truth(robot.model, robot.world, robot.control, options, before, after, workspace.contacts());
        loaded += now;
        most = std::max(most, now);
      }
  }
  EXPECT_GT(loaded, 200);
  EXPECT_GE(most, 3);
}

// Ten links fall onto a slope of 0.3 rad, bent, and slide: for 2 s at 1 ms no substep fails, no energy appears.
TEST(LcpMotion, AChainSlidesDownASlope) {
  const Model model = load("chain-floating-2d");
  const double slope = 0.3;
  Simulation s = make(model, on_slope(model, 0.3, slope), 0.001);
  Eigen::VectorXd q = model.neutral_position();
  q.head<3>() << 1.1 * std::sin(slope), 1.1 * std::cos(slope), slope;
  for (int k = 3; k < 12; ++k) q(k) = k % 2 == 0 ? 0.3 : -0.3;
  s.set_state(q, Eigen::VectorXd::Zero(12));
  Dynamics dynamics(model);
  dynamics.set_position(q);
  const double energy = dynamics.gravity_energy(s.world().gravity), weight = model.total_mass() * kGravity;
  int contacts = 0;
  for (int k = 0; k < 2000; ++k) {
    const StepReport report = s.step();
    ASSERT_TRUE(report.converged());
    ASSERT_EQ(report.rejected, 0);
    EXPECT_LE(report.kinetic_energy + report.potential_energy, energy + 0.01 * weight);  // 1 cm of height
    EXPECT_LE(report.penetration, 1e-3);
    EXPECT_LE(s.state().v.tail<9>().cwiseAbs().maxCoeff(), 1e3);
    contacts = report.contacts;
  }
  EXPECT_GE(contacts, 8);
}

// A ball that sticks in two parallel walls can be let out of neither: it is held, and the step does not fail.
TEST(LcpMotion, APointJammedBetweenTwoWallsIsHeld) {
  ModelBuilder builder("ball");
  Body body;
  body.name = "ball";
  body.mass = 1;
  body.inertia = 0.01 * Mat3::Identity();
  Joint joint;
  joint.name = "base";
  joint.type = JointType::floating;
  builder.add_body(body, "world", joint);
  ContactPoint point;
  point.name = "centre";
  point.radius = 0.1;
  builder.add_contact_point("ball", point);
  const Model model = builder.build();
  World world;
  world.add(plane_collider(Vec3(-0.099, 0, 0), Vec3::UnitX()));
  world.add(plane_collider(Vec3(0.099, 0, 0), -Vec3::UnitX()));
  world.add(contact_candidates(model, ContactCandidates::named));
  Simulation s = make(model, world, 0.01);
  s.set_state(model.neutral_position(), Eigen::VectorXd::Zero(6));
  for (int k = 0; k < 10; ++k) ASSERT_EQ(s.step().rejected, 0);
  EXPECT_LE(std::abs(s.state().q(0)), kRounding);
}

// A corner 1 cm in the ground comes out at 0.1 m/s, then by a fifth of what is left a step, and stays.
TEST(LcpMotion, ABoxInTheGroundIsLetOutSlowly) {
  const Model model = load("box");
  const double h = 0.01;
  Simulation s = make(model, on_slope(model, 0.5), h);
  set_on_slope(s, 0, 0, -0.01);
  double depth = 0.01;
  for (int k = 0; k < 100; ++k) {
    ASSERT_EQ(s.step().rejected, 0);
    depth -= std::min(h * kRecoverySpeed, kRecovery * depth);
    EXPECT_NEAR(s.state().q(2), 0.25 - depth, kRounding);
  }
}

// Without contact it is the linear step of ne-mdp, to the bit.
TEST(LcpMotion, EqualsTheLinearStepInTheAir) {
  test::Random random(4);
  test::ContactRobot robot("robosimian-planar");
  for (const bool explicit_pd : {true, false}) {
    State a = robot.random_state(random), b;
    a.q(robot.height_index()) += 5;
    b = a;
    StepOptions options;
    options.dt = 0.002;
    options.explicit_pd = explicit_pd;
    for (int k = 0; k < 20; ++k) {
      StepWorkspace one(robot.model, robot.world), other(robot.model, robot.world);
      options.integrator = IntegratorType::ne_mdp;
      ASSERT_TRUE(step(robot.model, robot.control, options, a, one).converged());
      options.integrator = IntegratorType::ne_lcp;
      ASSERT_TRUE(step(robot.model, robot.control, options, b, other).converged());
      EXPECT_EQ(state_hash(a), state_hash(b));
    }
  }
}

// A robot on stiff implicit control stands: the ground carries its weight.
TEST(LcpMotion, ARobotStands) {
  for (const char* name : {"robosimian-planar", "spider-spatial"}) {
    test::ContactRobot robot(name);
    robot.world.surface.friction = 0.7;
    StepOptions options;
    options.integrator = IntegratorType::ne_lcp;
    options.dt = 0.005;
    options.explicit_pd = false;
    robot.control.kd *= 50;
    State state = make_state(robot.model, robot.stance, Eigen::VectorXd::Zero(robot.model.nv()));
    state.q(robot.height_index()) -= robot.lowest_foot(state.q);
    StepWorkspace workspace(robot.model, robot.world);
    for (int k = 0; k < 600; ++k) ASSERT_EQ(step(robot.model, robot.control, options, state, workspace).rejected, 0);
    Vec3 force = Vec3::Zero();
    for (const Contact& contact : workspace.contacts()) force += contact.force;
    const double weight = robot.model.total_mass() * kGravity;
    EXPECT_NEAR(force.z() / weight, 1, 1e-3) << name;  // it still settles a little after 3 s
    EXPECT_LE(state.v.cwiseAbs().maxCoeff(), 1e-2) << name;
  }
}

// What explodes is reported and taken back.
TEST(LcpMotion, AnExplosionIsAFailureNotAState) {
  const Model model = load("box");
  Simulation s = make(model, on_slope(model, 0.5), 0.01);
  Eigen::VectorXd v = Eigen::VectorXd::Zero(6);
  v(0) = 1e7;
  s.set_state(model.neutral_position(), v);
  const std::uint64_t before = state_hash(s.state());
  EXPECT_FALSE(s.step().converged());
  EXPECT_EQ(state_hash(s.state()), before);
}

// Contact is rigid: laws without derivatives do not matter.
TEST(LcpMotion, TakesAnyLaw) {
  const std::filesystem::path root = source_dir();
  EXPECT_NO_THROW(check_contact(IntegratorType::ne_lcp, *load_granular(root / "examples/contact/granular-foot.toml")));
}

}  // namespace
}  // namespace scree
