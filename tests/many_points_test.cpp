// Many points of a body in the ground at once: more forces than its dofs can tell apart.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "scree/dynamics.h"
#include "scree/simulation.h"

namespace scree {
namespace {

constexpr double kGravity = 9.81;

Body box_of(const std::string& name, double mass, const Vec3& edges) {
  Body body;
  body.name = name;
  body.mass = mass;
  const Vec3 s = edges.cwiseAbs2();
  body.inertia = mass / 12 * Vec3(s.y() + s.z(), s.x() + s.z(), s.x() + s.y()).asDiagonal();
  return body;
}

Joint joint_of(const std::string& name, JointType type, const Vec3& at = Vec3::Zero(),
               const Vec3& axis = Vec3::UnitY()) {
  Joint joint;
  joint.name = name;
  joint.type = type;
  joint.axis = axis;
  joint.X_PJ.p = at;
  return joint;
}

void add_sole(ModelBuilder& builder, const std::string& body, int count, double radius, double height) {
  for (int k = 0; k < count; ++k) {
    const double angle = 2 * M_PI * k / count;
    builder.add_contact_point(body, {.name = fmt::format("{}_{}", body, k),
                                     .body = {},
                                     .p_B = Vec3(radius * std::cos(angle), radius * std::sin(angle), height)});
  }
}

// 2 kg, 0.1 m high, `count` points on a circle below.
Model plate(int count) {
  ModelBuilder builder("plate");
  builder.add_body(box_of("plate", 2, Vec3(0.4, 0.4, 0.1)), "world", joint_of("base", JointType::floating));
  add_sole(builder, "plate", count, 0.2, -0.05);
  return builder.build();
}

// Four legs of three joints on round soles of `count` points.
Model quadruped(int count) {
  ModelBuilder builder("quadruped");
  builder.add_body(box_of("trunk", 10, Vec3(0.6, 0.3, 0.15)), "world", joint_of("base", JointType::floating));
  for (int leg = 0; leg < 4; ++leg) {
    const std::string n = std::to_string(leg);
    builder.add_body(box_of("hip" + n, 0.5, Vec3(0.1, 0.1, 0.1)), "trunk",
                     joint_of("roll" + n, JointType::revolute, Vec3(leg & 1 ? 0.25 : -0.25, leg & 2 ? 0.15 : -0.15, 0),
                              Vec3::UnitX()));
    Body thigh = box_of("thigh" + n, 0.8, Vec3(0.05, 0.05, 0.25)),
         shank = box_of("shank" + n, 0.4, Vec3(0.05, 0.05, 0.25));
    thigh.com = shank.com = Vec3(0, 0, -0.12);
    builder.add_body(thigh, "hip" + n, joint_of("pitch" + n, JointType::revolute));
    builder.add_body(shank, "thigh" + n, joint_of("knee" + n, JointType::revolute, Vec3(0, 0, -0.25)));
    add_sole(builder, "shank" + n, count, 0.03, -0.25);
  }
  return builder.build();
}

World floor_of(const Model& model, double friction, double slope = 0) {
  World world;
  world.surface.friction = friction;
  world.add(contact_candidates(model, ContactCandidates::named));
  world.add(plane_collider(Vec3::Zero(), Vec3(std::sin(slope), 0, std::cos(slope))));
  return world;
}

struct Work {
  int stages = 0, iterations = 0, qp_iterations = 0, most_qp = 0, restarts = 0;
  double penetration = 0;
  State state;
};

Work run(const Model& model, const World& world, const Control& control, const StepOptions& options, State state,
         double duration) {
  StepWorkspace workspace(model, world);
  Work work;
  for (int k = 0; k < std::lround(duration / options.dt); ++k) {
    const StepReport report = step(model, control, options, state, workspace);
    EXPECT_TRUE(report.converged()) << "t = " << state.time << ", residual " << report.residual << " " << report.reason;
    if (!report.converged()) break;
    work.stages += report.stages;
    work.iterations += report.iterations;
    work.qp_iterations += report.qp_iterations;
    work.most_qp = std::max(work.most_qp, report.qp_iterations);
    work.restarts += report.restarts;
    work.penetration = std::max(work.penetration, report.penetration);
  }
  work.state = state;
  return work;
}

// A plate falls, slides and spins. The work of a stage does not grow with the number of points.
TEST(ManyPoints, CostIterationsLikeFew) {
  for (const bool slides : {false, true})
    for (const int count : {4, 14, 56, 200}) {
      const Model model = plate(count);
      Eigen::VectorXd q = model.neutral_position(), v = Eigen::VectorXd::Zero(model.nv());
      q(2) = 0.055;
      if (slides) v(0) = 1, v(5) = 2;
      const StepOptions options;
      const Work work =
          run(model, floor_of(model, 0.6), Control(model), options, make_state(model, q, v), slides ? 0.5 : 1);
      const std::string what =
          fmt::format("{} {}: {:.2f} iterations, {:.1f} of programs a stage, {} restarts", count,
                      slides ? "slide" : "rest", static_cast<double>(work.iterations) / work.stages,
                      static_cast<double>(work.qp_iterations) / work.stages, work.restarts);
      std::printf("%s\n", what.c_str());
      // Measured: 0.2 and 0.5 at rest, 1.1 to 7 and 4 to 16 in a slide that ends.
      EXPECT_LT(work.iterations, (slides ? 20 : 2) * work.stages) << what;
      EXPECT_LT(work.qp_iterations, (slides ? 60 : 4) * work.stages) << what;
      EXPECT_LT(work.penetration, 0.005) << what;
      // It rests at the end, above its points at their depth.
      EXPECT_LT(work.state.v.cwiseAbs().maxCoeff(), 1e-3) << what;
      EXPECT_NEAR(work.state.q(2), 0.05, 0.003) << what;
    }
}

// A sliding body decelerates by mu g, whatever it stands on: friction of a polygon of 16 directions is between
// cos(pi/16) mu and mu.
TEST(ManyPoints, SlideAsCoulombHasIt) {
  for (const int count : {4, 56, 200}) {
    const double friction = 0.4, speed = 1;
    const Model model = plate(count);
    const World world = floor_of(model, friction);
    Eigen::VectorXd q = model.neutral_position(), v = Eigen::VectorXd::Zero(model.nv());
    q(2) = 0.0499;
    v(0) = speed;
    State state = make_state(model, q, v);
    const Work work = run(model, world, Control(model), {.dt = 0.01}, state, 0.6);
    const double path = speed * speed / (2 * friction * kGravity);
    EXPECT_NEAR(work.state.q(0), path, 0.02 * path) << count;
    EXPECT_NEAR(work.state.q(1), 0, 1e-3) << count;
  }
}

// It stands on a slope below the angle of friction, and on the plain, on any number of points, with bounded work.
TEST(ManyPoints, QuadrupedOnSolesStands) {
  for (const int count : {1, 4, 14})
    for (const double dt : {0.01, 0.05}) {
      const Model model = quadruped(count);
      Control control(model);
      control.kp.setConstant(200);
      control.kd.setConstant(5);
      Eigen::VectorXd q = model.neutral_position(), v = Eigen::VectorXd::Zero(model.nv());
      q(2) = 0.52;
      const Work work = run(model, floor_of(model, 0.7), control, {.dt = dt}, make_state(model, q, v), 2);
      const std::string what =
          fmt::format("{} points a sole, {} s: {:.2f} iterations, {:.1f} of programs a stage, {} restarts", count, dt,
                      static_cast<double>(work.iterations) / work.stages,
                      static_cast<double>(work.qp_iterations) / work.stages, work.restarts);
      std::printf("%s\n", what.c_str());
      EXPECT_LT(work.iterations, 8 * work.stages) << what;
      EXPECT_LT(work.qp_iterations, 20 * work.stages) << what;
      EXPECT_LT(work.restarts, 5) << what;
      EXPECT_NEAR(work.state.q(2), 0.5, 0.01) << what;
    }
}

// Boxes and plates with 4 to 100 points anywhere on their soles, thrown onto floors and slopes.
TEST(ManyPoints, RandomScenesAreSolved) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int trial = 0; trial < 40; ++trial) {
    SCOPED_TRACE(trial);
    const int count = 4 + static_cast<int>(97 * uniform(random));
    const double height = trial % 2 ? 0.1 : 0.4, slope = trial % 3 ? 0 : 0.4 * uniform(random);
    ModelBuilder builder("box");
    builder.add_body(box_of("box", 2, Vec3(0.4, 0.4, height)), "world", joint_of("base", JointType::floating));
    for (int k = 0; k < count; ++k)
      builder.add_contact_point("box",
                                {.name = fmt::format("p{}", k),
                                 .body = {},
                                 .p_B = Vec3(0.4 * uniform(random) - 0.2, 0.4 * uniform(random) - 0.2, -height / 2)});
    const Model model = builder.build();
    Eigen::VectorXd q = model.neutral_position(), v(model.nv());
    q(2) = height / 2 + 0.1 + (uniform(random) < 0.5 ? 0 : 0.4 * uniform(random));
    for (double& e : v) e = trial % 4 ? uniform(random) - 0.5 : 0;
    StepOptions options;
    options.dt = trial % 5 == 0 ? 0.05 : 0.01;
    options.integrator = trial % 7 == 0   ? IntegratorType::pbd_nmdp
                         : trial % 7 == 3 ? IntegratorType::ne_nmdp2
                                          : IntegratorType::pbd_nmdp2;
    const World world = floor_of(model, 0.2 + 0.8 * uniform(random), slope);
    const Work work = run(model, world, Control(model), options, make_state(model, q, v), 0.6);
    EXPECT_LT(work.qp_iterations, 60000);  // in all; 23000 at most
  }
}

// The projected gradient method alone ends where Newton's method does.
TEST(ManyPoints, SolversAgree) {
  const Model model = plate(20);
  const World world = floor_of(model, 0.5);
  Eigen::VectorXd q = model.neutral_position(), v = Eigen::VectorXd::Zero(model.nv());
  q(2) = 0.0495;
  v(0) = 0.5, v(5) = 1;
  for (const Dissipation dissipation : {Dissipation::total, Dissipation::effective}) {
    SCOPED_TRACE(dissipation_name(dissipation));
    StepOptions options{.integrator = IntegratorType::pbd_nmdp, .dt = 0.01, .dissipation = dissipation};
    const Work newton = run(model, world, Control(model), options, make_state(model, q, v), 0.05);
    options.solver = ContactSolver::pgm;
    const Work descent = run(model, world, Control(model), options, make_state(model, q, v), 0.05);
    // A gap of 1e-8 K leaves velocities known to 1e-4 of themselves, five steps at worst their sum.
    EXPECT_LT((newton.state.q - descent.state.q).cwiseAbs().maxCoeff(), 5 * 1e-4 * 0.01 * 2);
    EXPECT_LT((newton.state.v - descent.state.v).cwiseAbs().maxCoeff(), 5 * 1e-4 * 2);
  }
}

}  // namespace
}  // namespace scree
