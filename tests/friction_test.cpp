// Smooth contact: the stage against central differences, the optimisers against each other, motions against closed
// forms.                                                                                             theory section 11
#include "integrators/friction.h"

#include <gtest/gtest.h>

#include <cmath>

#include "math/eigen.h"
#include "scree/error.h"
#include "scree/kinematics.h"
#include "scree/simulation.h"
#include "scree/urdf.h"
#include "support/mechanisms.h"
#include "support/paths.h"
#include "support/random_tree.h"

namespace scree {
namespace {

constexpr double kSoft = 0.005;  // [m] of grounds soft enough for long steps

using test::Random;
using test::uniform;

// What a stage on its own asks for.
class StageHost final : public ModelLaneHost {
 public:
  StageHost(const Model& model, const World& world) : ModelLaneHost(model, world, 1) {}
  bool next(LaneStart&) override { return false; }
  double step_length(int, double&) override { return 0; }
  void targets(int, double, double*, double*) override {}
  void stepped(int, const LaneReport&, const double*, const double*, const double*) override {}
};

constexpr double kStage = 0.05;  // [s] length of a step

std::shared_ptr<const HeightField> hills() {
  const int count = 65;
  const double spacing = 0.25, first = -8;
  Eigen::MatrixXd heights(count, count);
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < count; ++j)
      heights(i, j) = 0.1 * std::sin(2 * (first + spacing * i)) * std::cos(1.7 * (first + spacing * j));
  return std::make_shared<const HeightField>(heights, Eigen::Vector2d(first, first), spacing);
}

struct Case {
  FrictionLaw law = FrictionLaw::energy;
  bool printed = false, two_stages = false, hilly = false;
  bool whole = true;  // exponents 2, 1, 1; else any
};

// A stage of a random tree at a random trial, up to four points of it in the ground, every joint force at work.
struct Problem {
  Problem(Random& random, const Case& c) : tree(test::random_tree(random)) {
    const Model& model = tree.model;
    const Eigen::VectorXd q = test::random_position(random, model), v = test::random_velocity(random, model, 1.5);
    delta = kStage * v + test::random_velocity(random, model, 0.05);
    if (c.hilly)
      world.add(height_field_collider(hills()));
    else
      world.add(plane_collider(Vec3(0, 0, -0.1), Vec3(uniform(random, -0.5, 0.5), uniform(random, -0.5, 0.5), 1)));
    Eigen::VectorXd q_trial = q;
    StageHost(model, world).displace(delta.data(), q_trial.data());
    for (int k = 0; k < 4; ++k) {
      const BodyIndex body(std::uniform_int_distribution<int>(0, static_cast<int>(model.bodies().size()) - 1)(random));
      const double radius = k % 2 ? uniform(random, 0.05, 0.15) : 0;
      Vec3 place(uniform(random, -1.2, 1.2), uniform(random, -1.2, 1.2), 0);
      const double deep = uniform(random, 0.02, 0.1);  // [m], and up to three in the ground, one above it
      for (int i = 0; i < 30; ++i)
        place.z() -= distance(world.colliders[0], place).value - radius + (k == 3 ? -deep : deep);
      const Vec3 p_B = frame_pose(model, q_trial, Frame{"", body, {}}).inverse() * place;
      world.add(point_collider(body, p_B, radius, ""));
    }
    host = std::make_unique<StageHost>(model, world);  // now that the world is as it stays
    setup = make_lane_setup(model, world);
    setup.law = {c.law, c.printed, 2, 1, 1};
    if (!c.whole)
      setup.law = {c.law, c.printed, uniform(random, 1.5, 3.5), uniform(random, 1.2, 2.5), uniform(random, 0.5, 2.5)};
    setup.two_stages = c.two_stages;
    setup.gravity = to_v3(test::random_vector(random, 10));
    setup.tolerance = 1e-8;
    for (LaneJoint& joint : setup.joints) {
      joint.damping = joint.nv == 1 || joint.ball ? uniform(random, 0, 2) : 0;
      if (joint.nv != 1) continue;
      joint.effort = uniform(random, 0, 1) < 0.5 ? 0.5 : 1e6;  // bound and free
      joint.limited = true;
      joint.lower = -uniform(random, 0, 1.5), joint.upper = uniform(random, 0, 1.5);
      joint.stiffness = uniform(random, 10, 1000), joint.margin = uniform(random, 0.05, 0.5);
    }
    stage = std::make_unique<SmoothStage<double>>(setup);
    stage->want_gauss_newton = true;
    std::copy(q.begin(), q.end(), stage->q.begin());
    std::copy(v.begin(), v.end(), stage->v.begin());
    const Eigen::VectorXd to = test::random_position(random, model);
    std::copy(to.begin(), to.end(), stage->target.begin());
    for (const Joint& joint : model.joints()) {
      if (velocity_count(joint.type) != 1 && joint.type != JointType::ball) continue;
      for (size_t a = static_cast<size_t>(joint.v_index);
           a < static_cast<size_t>(joint.v_index + velocity_count(joint.type)); ++a) {
        stage->kp[a] = uniform(random, 0, 100), stage->kd[a] = uniform(random, 0, 5);
        stage->torque[a] = uniform(random, -2, 2), stage->target_velocity[a] = uniform(random, -1, 1);
      }
    }
    stage->coefficients.stiffness = uniform(random, 1e3, 1e5);
    stage->coefficients.drag = uniform(random, 1e2, 1e4);
    stage->coefficients.mu = 0.7;
    stage->coefficients.creep = uniform(random, 0.05, 0.2);
    stage->coefficients.damping = 0.2;
    stage->substep = kStage;
    stage->start(*host);
    stage->begin(true);
    if (c.two_stages) {
      const Eigen::VectorXd first = kGamma * delta;
      stage->evaluate(first.data(), *host);
      regular = stage->begin_second(true);
    }
    stage->evaluate(delta.data(), *host);
  }
  int n() const { return tree.model.nv(); }
  int touching() const {
    int count = 0;
    for (const auto& t : stage->touches()) count += t.depth > 0;
    return count;
  }

  test::RandomTree tree;
  World world;
  std::unique_ptr<StageHost> host;
  LaneSetup setup;
  std::unique_ptr<SmoothStage<double>> stage;
  Eigen::VectorXd delta;
  bool regular = true;
};

std::string name_of(const Case& c) {
  const char* laws[] = {"energy", "viscous", "coulomb"};
  return std::string(laws[static_cast<int>(c.law)]) + (c.printed ? ", printed" : "") +
         (c.two_stages ? ", second stage" : "") + (c.hilly ? ", hills" : ", plane") +
         (c.whole ? "" : ", any exponents");
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const FrictionLaw law : {FrictionLaw::energy, FrictionLaw::viscous, FrictionLaw::coulomb})
    for (const bool printed : {false, true})
      for (const bool two_stages : {false, true})
        for (const bool hilly : {false, true})
          for (const bool whole : {true, false})
            if (!(law == FrictionLaw::coulomb && printed)) cases.push_back({law, printed, two_stages, hilly, whole});
  return cases;
}

// Central differences over 1e-6: rounding 1e-16 of the largest term over the step, 1e-10; the third derivative times
// step^2/6, where the shortest scale is the creep speed times the stage, 0.05 x 0.015 m: (1e-6/7.5e-4)^2 ~ 2e-6. On
// hills the third derivative of the distance jumps by about 5/m^2 between cells, times the step.
constexpr double kStep = 1e-6, kRelative = 1e-5;

TEST(SmoothStage, ResidualIsTheGradientOfTheEnergy) {
  Random random(11);
  for (const Case& c : all_cases()) {
    if (c.law != FrictionLaw::energy) continue;
    int touched = 0;
    for (int trial = 0; trial < 40; ++trial) {
      Problem problem(random, c);
      if (!problem.regular) continue;
      touched += problem.touching();
      SmoothStage<double>& stage = *problem.stage;
      const std::vector<double> gradient = stage.residual;
      double size = 0;
      for (const double g : gradient) size = std::max(size, std::abs(g));
      const double value = std::abs(stage.value);
      for (int a = 0; a < problem.n(); ++a) {
        Eigen::VectorXd at = problem.delta;
        at(a) += kStep;
        stage.evaluate(at.data(), *problem.host);
        const double plus = stage.value;
        at(a) -= 2 * kStep;
        stage.evaluate(at.data(), *problem.host);
        // and the rounding of the energies, over the step
        EXPECT_NEAR(gradient[static_cast<size_t>(a)], (plus - stage.value) / (2 * kStep),
                    kRelative * (1 + size) + 1e-14 * value / kStep)
            << name_of(c) << ", tree " << trial << ", dof " << a;
      }
    }
    EXPECT_GT(touched, 60) << name_of(c);
  }
}

TEST(SmoothStage, JacobianIsTheDerivativeOfTheResidual) {
  Random random(12);
  for (const Case& c : all_cases()) {
    if (c.law == FrictionLaw::energy && c.hilly) continue;  // would need the third derivative of the distance
    int touched = 0;
    for (int trial = 0; trial < 40; ++trial) {
      Problem problem(random, c);
      if (!problem.regular) continue;
      touched += problem.touching();
      SmoothStage<double>& stage = *problem.stage;
      const int n = problem.n();
      stage.jacobian();
      Eigen::MatrixXd J(n, n), expected(n, n);
      stage.dense_jacobian(0, J.data());
      for (int b = 0; b < n; ++b) {
        Eigen::VectorXd at = problem.delta;
        at(b) += kStep;
        stage.evaluate(at.data(), *problem.host);
        for (int a = 0; a < n; ++a) expected(a, b) = stage.residual[static_cast<size_t>(a)];
        at(b) -= 2 * kStep;
        stage.evaluate(at.data(), *problem.host);
        for (int a = 0; a < n; ++a)
          expected(a, b) = (expected(a, b) - stage.residual[static_cast<size_t>(a)]) / (2 * kStep);
      }
      if (n == 0) continue;
      const double size = 1 + expected.cwiseAbs().maxCoeff();
      EXPECT_LE((J - expected).cwiseAbs().maxCoeff(), kRelative * size) << name_of(c) << ", tree " << trial;
      if (c.law != FrictionLaw::energy) continue;
      EXPECT_LE((J - J.transpose()).cwiseAbs().maxCoeff(), 1e-11 * size) << name_of(c) << ", tree " << trial;
    }
    EXPECT_GT(touched, 60) << name_of(c);
  }
}

// --- steps -----------------------------------------------------------------------------------------------------------

using enum IntegratorType;

Model load(const char* name) { return load_urdf(source_dir() + "/models/" + name + ".urdf"); }

StepOptions options_of(IntegratorType integrator, double dt, Optimizer optimizer = Optimizer::jtj_lm) {
  StepOptions options;
  options.integrator = integrator;
  options.dt = dt;
  options.optimizer = optimizer;
  return options;
}

// A random tree with four points of it in or near a floor, moving.
struct Scatter {
  explicit Scatter(Random& random) : tree(test::random_tree(random, 0, false)), control(tree.model) {
    const Model& model = tree.model;
    q = test::random_position(random, model), v = test::random_velocity(random, model);
    world.add(plane_collider(Vec3::Zero(), Vec3(0.1, -0.2, 1)));
    for (int k = 0; k < 4; ++k) {
      const BodyIndex body(std::uniform_int_distribution<int>(0, static_cast<int>(model.bodies().size()) - 1)(random));
      const double radius = k % 2 ? 0.1 : 0;
      Vec3 place(uniform(random, -1, 1), uniform(random, -1, 1), 0);
      place.z() -= distance(world.colliders[0], place).value - radius + uniform(random, -0.01, 0.01);
      const Vec3 p_B = frame_pose(model, q, Frame{"", body, {}}).inverse() * place;
      world.add(point_collider(body, p_B, radius, ""));
    }
    for (const Joint& joint : model.joints()) {
      if (velocity_count(joint.type) != 1) continue;
      control.kp(joint.v_index) = 50, control.kd(joint.v_index) = 1;
      control.target(joint.q_index) = q(joint.q_index);
    }
  }
  StepReport step(const StepOptions& options, State& state) const {
    StepWorkspace workspace(tree.model, world);
    state = make_state(tree.model, q, v);
    return scree::step(tree.model, control, options, state, workspace);
  }
  test::RandomTree tree;
  World world;
  Control control;
  Eigen::VectorXd q, v;
};

TEST(PbdFriction, TheThreeOptimisersFindTheSameStep) {
  Random random(21);
  int compared = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const Scatter scene(random);
    if (scene.tree.model.nv() == 0) continue;
    for (const IntegratorType integrator : {pbd_friction, pbd_friction2}) {
      State found[3];
      StepReport report[3];
      const Optimizer optimizers[] = {Optimizer::lm, Optimizer::jtj_lm, Optimizer::lbfgs};
      for (size_t k = 0; k < 3; ++k) {
        report[k] = scene.step(options_of(integrator, 0.001, optimizers[k]), found[k]);
        ASSERT_TRUE(report[k].converged()) << "tree " << trial << " " << optimizer_name(optimizers[k]);
        EXPECT_EQ(report[k].stationary, 0);
      }
      // |R| <= 1e-8 M_aa a dof leaves h^2 M^-1 diag(M) 1e-8: 1e-14, times the condition of the scaled mass matrix,
      // at most about 1e4 in these trees. E may have several stationary points at larger steps (5 ms: one tree of
      // sixty); only steps of one substep each are compared.
      if (report[0].substeps + report[1].substeps + report[2].substeps != 3) continue;
      ++compared;
      for (size_t k = 1; k < 3; ++k) {
        EXPECT_LE(position_difference(scene.tree.model, found[0].q, found[k].q).cwiseAbs().maxCoeff(), 3e-9)
            << "tree " << trial << " " << optimizer_name(optimizers[k]);
        EXPECT_LE((found[0].v - found[k].v).cwiseAbs().maxCoeff(), 1e-6) << "tree " << trial;
      }
    }
  }
  EXPECT_GT(compared, 80);
}

TEST(Pbfd, BothOptimisersFindTheSameStep) {
  Random random(22);
  int compared = 0;
  for (int trial = 0; trial < 40; ++trial) {
    const Scatter scene(random);
    if (scene.tree.model.nv() == 0) continue;
    for (const IntegratorType integrator : {pbfd, pbfd_coulomb, pbfd2, pbfd_coulomb2}) {
      State newton, gradients;
      const StepReport a = scene.step(options_of(integrator, 0.002), newton);
      const StepReport b = scene.step(options_of(integrator, 0.002, Optimizer::lbfgs), gradients);
      ASSERT_TRUE(a.converged()) << "tree " << trial << " " << integrator_name(integrator);
      if (!b.converged()) continue;  // counted below: L-BFGS may fail, but it says so
      EXPECT_LE(b.residual, 1e-6);   // 1e-8 and 16 roundings of a pose over h^2, by how much a lever exceeds M_aa
      if (a.substeps + b.substeps != 2) continue;
      ++compared;  // tolerance as above
      EXPECT_LE(position_difference(scene.tree.model, newton.q, gradients.q).cwiseAbs().maxCoeff(), 3e-9)
          << "tree " << trial << " " << integrator_name(integrator);
    }
  }
  EXPECT_GT(compared, 100);
}

TEST(Pbfd, NewtonsMethodOnTheMeritIsRefused) {
  const Model model = load("box-planar");
  for (const IntegratorType integrator : {pbfd, pbfd_coulomb, pbfd2, pbfd_coulomb2}) {
    const StepOptions options = options_of(integrator, 0.01, Optimizer::lm);
    try {
      options.validate();
      FAIL() << integrator_name(integrator);
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("expected jtj-lm or lbfgs"), std::string::npos) << error.what();
    }
    StepWorkspace workspace(model);
    State state = make_state(model);
    EXPECT_THROW((void)step(model, Control(model), options, state, workspace), InputError);
  }
  EXPECT_NO_THROW(options_of(pbd_friction, 0.01, Optimizer::lm).validate());
  EXPECT_NO_THROW(options_of(pbd_nmdp2, 0.01, Optimizer::lm).validate());
}

// Without contact all three laws are `pbd`, and the second-order forms are pbd-nmdp2 without error control.
TEST(SmoothContact, WithoutContactItIsThePositionBasedStep) {
  Random random(23);
  const std::pair<IntegratorType, IntegratorType> pairs[] = {
      {pbfd, pbd}, {pbd_friction, pbd}, {pbfd2, pbd_nmdp2}, {pbd_friction2, pbd_nmdp2}, {pbfd_coulomb2, pbd_nmdp2}};
  for (int trial = 0; trial < 30; ++trial) {
    const test::RandomTree tree = test::random_tree(random, 0, false);
    const Eigen::VectorXd q = test::random_position(random, tree.model), v = test::random_velocity(random, tree.model);
    if (tree.model.nv() == 0) continue;
    for (const auto& [smooth, other] : pairs) {
      State found[2];
      for (size_t k = 0; k < 2; ++k) {
        StepOptions options = options_of(k ? other : smooth, 0.01, Optimizer::jtj_lm);
        if (smooth == pbd_friction || smooth == pbd_friction2) options.optimizer = Optimizer::lm;
        options.accuracy = 0;
        StepWorkspace workspace(tree.model);
        found[k] = make_state(tree.model, q, v);
        for (int s = 0; s < 3; ++s)
          ASSERT_TRUE(step(tree.model, Control(tree.model), options, found[k], workspace).converged());
      }
      // Three steps, each 1e-8 h^2 = 1e-12 times the condition of the scaled mass matrix, up to about 1e4.
      EXPECT_LE(position_difference(tree.model, found[0].q, found[1].q).cwiseAbs().maxCoeff(), 3e-8)
          << "tree " << trial << " " << integrator_name(smooth);
      EXPECT_LE((found[0].v - found[1].v).cwiseAbs().maxCoeff(), 3e-6) << "tree " << trial;
    }
  }
}

// --- motions ---------------------------------------------------------------------------------------------------------

Model ball(double radius) {
  ModelBuilder builder("ball");
  Body body;
  body.name = "ball";
  body.mass = 2;
  body.inertia = 0.4 * body.mass * radius * radius * Mat3::Identity();
  Joint joint;
  joint.name = "base";
  joint.type = JointType::floating;
  builder.add_body(body, "world", joint);
  return builder.build();
}

// A solid sphere thrown without spin slides, then rolls with 5/7 of its speed: angular momentum about the contact
// point.
TEST(SmoothMotion, ASphereComesToRollWithoutSlipping) {
  const double radius = 0.1;
  for (const IntegratorType integrator : {pbfd_coulomb, pbfd_coulomb2}) {
    const Model model = ball(radius);
    World world;
    world.add(plane_collider(Vec3::Zero(), Vec3::UnitZ()));
    world.add(point_collider(BodyIndex(0), Vec3::Zero(), radius, "ball"));
    world.smooth.depth = kSoft;
    world.surface.friction = 0.5;
    Simulation simulation(model, world, options_of(integrator, 0.002));
    Eigen::VectorXd q = model.neutral_position(), v = Eigen::VectorXd::Zero(6);
    q(2) = radius - *world.smooth.depth;
    v(0) = 1.4;
    simulation.set_state(q, v);
    for (int k = 0; k < 500; ++k) ASSERT_TRUE(simulation.step().converged());
    const Vec3 u = simulation.state().v.head<3>(), w = simulation.state().v.tail<3>();
    // Linear velocities of a floating base are along world axes, angular ones along body axes; it turns about y alone.
    // Backward Euler of a turn p a step follows 2 sin p' = sin(p' + p), so p' = p - p^3: it loses (w h)^2 a step. Of a
    // rolling sphere 2/7 of the momentum turns: du/dt = -2/7 h u^3/r^2 from when it rolls, 2 v0/(7 mu g) = 0.08 s on,
    // that is 1/u^2 = 1/u0^2 + 4/7 h t/r^2. What it loses before is less than 8 % of this loss.
    const double loss = integrator == pbfd_coulomb ? 4.0 / 7 * 0.002 * 0.92 / (radius * radius) : 0;
    EXPECT_NEAR(u.x() - radius * w.y(), 0, 0.5 * world.smooth.creep) << integrator_name(integrator);
    EXPECT_NEAR(u.x(), 1 / std::sqrt(1 + loss), 0.004) << integrator_name(integrator);
    EXPECT_NEAR(u.y(), 0, 1e-9);
  }
}

TEST(SmoothMotion, ABoxOnASlopeCreepsSlowlyOrSlides) {
  const Model model = load("box");
  const double slope = 0.3;
  for (const double friction : {0.5, 0.2}) {
    World world;
    world.add(plane_collider(Vec3::Zero(), Vec3(std::sin(slope), 0, std::cos(slope))));
    world.add(contact_candidates(model, ContactCandidates::named));
    ASSERT_GE(world.body_colliders(), 4u);
    world.smooth.depth = kSoft;
    world.surface.friction = friction;
    world.smooth.damping = 5;  // the fall onto the slope is not the question
    Simulation simulation(model, world, options_of(pbfd_coulomb, 0.01));
    Eigen::VectorXd q = model.neutral_position(), v = Eigen::VectorXd::Zero(6);
    const Quat turn(Eigen::AngleAxisd(slope, Vec3::UnitY()));
    double lowest = 0;
    for (const ContactPoint& point : model.contact_points()) lowest = std::min(lowest, point.p_B.z() - point.radius);
    q.head<3>() = turn * Vec3(0, 0, -lowest - *world.smooth.depth);
    q.segment<4>(3) << turn.w(), turn.x(), turn.y(), turn.z();
    simulation.set_state(q, v);
    const Vec3 down(std::cos(slope), 0, -std::sin(slope));
    double at[2];
    for (double& x : at) {
      for (int k = 0; k < 100; ++k) ASSERT_TRUE(simulation.step().converged());
      x = down.dot(simulation.state().q.head<3>());
    }
    const double speed = at[1] - at[0];  // [m/s] mean over the second second
    const double drive = std::tan(slope) / friction;
    if (drive < 1) {
      // mu N u / sqrt(u^2 + creep^2) = m g sin: u = creep r / sqrt(1 - r^2), r = tan/mu
      EXPECT_NEAR(speed, world.smooth.creep * drive / std::sqrt(1 - drive * drive), 0.01 * world.smooth.creep);
      EXPECT_LT(speed, world.smooth.creep);
    } else {
      // a = g (sin - mu cos): the mean speed of the second second is a 1.5 s, first order: within a step, 1 %
      const double a = 9.81 * (std::sin(slope) - friction * std::cos(slope));
      EXPECT_NEAR(speed, 1.5 * a, 0.02 * 1.5 * a);
    }
  }
}

// A cube thrown onto a floor, and the same scene turned and mirrored.
TEST(SmoothMotion, TurnedAndMirroredScenesMoveAlike) {
  const Model model = load("cube");
  const Mat3 turn = Eigen::AngleAxisd(0.7, Vec3(1, 2, -0.5).normalized()).toRotationMatrix();
  for (const IntegratorType integrator : {pbfd, pbfd_coulomb, pbd_friction, pbfd_coulomb2, pbfd2}) {
    std::vector<Vec3> paths[3];
    for (int which = 0; which < 3; ++which) {  // as it is, turned, mirrored in y
      const Mat3 R = which == 1 ? turn : Mat3::Identity();
      World world;
      world.add(plane_collider(Vec3::Zero(), R * Vec3::UnitZ()));
      world.add(contact_candidates(model, ContactCandidates::named));
      world.smooth.depth = kSoft;
      StepOptions options = options_of(integrator, 0.005);
      world.gravity = R * world.gravity;
      Simulation simulation(model, world, options);
      Eigen::VectorXd q = model.neutral_position(), v(6);
      const double side = which == 2 ? -1 : 1;
      const Mat3 tilt =
          (Eigen::AngleAxisd(0.3 * side, Vec3::UnitX()) * Eigen::AngleAxisd(0.2, Vec3::UnitY())).toRotationMatrix();
      const Quat r(R * tilt);
      q.head<3>() = R * Vec3(0, 0, 0.8);
      q.segment<4>(3) << r.w(), r.x(), r.y(), r.z();
      v << R * Vec3(1, 0.5 * side, -0.5), Vec3(1 * side, 2, 0.5 * side);
      simulation.set_state(q, v);
      for (int k = 0; k < 60; ++k) {
        ASSERT_TRUE(simulation.step().converged()) << integrator_name(integrator);
        Vec3 p = R.transpose() * simulation.state().q.head<3>();
        if (which == 2) p.y() = -p.y();
        paths[which].push_back(p);
      }
    }
    // The solver leaves 1e-8 h^2 a step; an impact amplifies it by its exponential rate, sqrt(k/m) over 0.3 s: not
    // beyond 1e5.
    for (int which = 1; which < 3; ++which)
      for (size_t k = 0; k < paths[0].size(); ++k)
        ASSERT_LE((paths[0][k] - paths[which][k]).norm(), 1e-6)
            << integrator_name(integrator) << " scene " << which << " step " << k;
  }
}

// A box that slides with all its corners in the ground: order of the pose at a fixed time, against far finer steps. The
// normal force that pbd-friction adds is proportional to the step: the order of pbd-friction2 is one, too.
TEST(SmoothMotion, ConvergesWithItsOrderWhileContactLasts) {
  const Model model = load("box-planar");
  const auto pose = [&](IntegratorType integrator, double dt) {
    World world;
    world.add(plane_collider(Vec3::Zero(), Vec3::UnitZ()));
    world.add(contact_candidates(model, ContactCandidates::named));
    world.smooth.depth = kSoft;
    world.smooth.speed = 1;
    world.surface.friction = 0.1;  // slides all the time
    Simulation simulation(model, world, options_of(integrator, dt, Optimizer::jtj_lm));
    Eigen::VectorXd q = model.neutral_position(), v = Eigen::VectorXd::Zero(3);
    q(1) = 0.25 - *world.smooth.depth;
    v(0) = 0.5;
    simulation.set_state(q, v);
    for (int k = 0; k < static_cast<int>(std::lround(0.2 / dt)); ++k) EXPECT_TRUE(simulation.step().converged());
    return simulation.state().q;
  };
  for (const auto& [integrator, order] :
       {std::pair{pbfd, 1}, {pbd_friction, 1}, {pbfd2, 2}, {pbd_friction2, 1}, {pbfd_coulomb2, 2}}) {
    const Eigen::VectorXd truth = pose(integrator, 0.000125 / (order == 1 ? 16 : 1));
    const double coarse = (pose(integrator, 0.002) - truth).norm(), fine = (pose(integrator, 0.001) - truth).norm();
    EXPECT_NEAR(std::log2(coarse / fine), order, 0.25) << integrator_name(integrator);
  }
}

}  // namespace
}  // namespace scree
