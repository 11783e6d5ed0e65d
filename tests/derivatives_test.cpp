// Derivatives of a step against finite differences of step() itself, against invariants and closed forms.
#include "scree/derivatives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "scree/dynamics.h"
#include "scree/error.h"
#include "support/contact_robots.h"
#include "support/paths.h"

namespace scree {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr IntegratorType kIntegrators[] = {IntegratorType::ne_nmdp, IntegratorType::pbd_nmdp, IntegratorType::ne_nmdp2,
                                           IntegratorType::pbd_nmdp2};
constexpr double kMu = 0.7, kDepth = 0.01;

enum class Kind { flight, standing, sinking, sliding };
constexpr Kind kKinds[] = {Kind::flight, Kind::standing, Kind::sinking, Kind::sliding};
constexpr const char* kKindNames[] = {"flight", "standing", "sinking", "sliding"};

std::shared_ptr<const ContactLaw> law(double depth) {
  CoulombOptions options;
  options.depth = depth;
  return make_coulomb(options);
}

// Two links on ball joints, the second with a contact point at its end; or a robot of models/.
Model model_of(const std::string& name) {
  if (name != "ball-chain") return load_urdf(source_dir() + "/models/" + name + ".urdf");
  ModelBuilder builder(name);
  std::string parent = "world";
  for (const char* link : {"upper", "lower"}) {
    Body body;
    body.name = link;
    body.mass = 2;
    body.com = {0, 0, -0.2};
    body.inertia = Vec3(0.03, 0.03, 0.01).asDiagonal();
    Joint joint;
    joint.name = body.name + "_joint";
    joint.type = JointType::ball;
    joint.damping = 0.1;
    joint.armature = 0.02;
    if (parent != "world") joint.X_PJ.p = Vec3(0, 0, -0.4);
    builder.add_body(body, parent, joint);
    parent = link;
  }
  ContactPoint end;
  end.name = "end";
  end.p_B = {0, 0, -0.4};
  end.radius = 0.02;
  builder.add_contact_point("lower", end);
  return builder.build();
}

// A robot, the ground below it, and a state.
struct Case {
  Case(const std::string& name, Kind kind, test::Random& random) : model(model_of(name)), control(model) {
    VectorXd q = model.neutral_position(), v = VectorXd::Zero(model.nv());
    if (name.starts_with("robosimian")) q = test::ContactRobot(name).stance;
    VectorXd turn(model.nv());
    for (double& x : turn) x = test::uniform(random, -0.1, 0.1);
    q = integrate_position(model, q, turn, 1);
    control.target = q;
    for (const Joint& joint : model.joints())
      for (Index a = joint.v_index; a < joint.v_index + velocity_count(joint.type); ++a) {
        v(a) = test::uniform(random, -1, 1);
        if (velocity_count(joint.type) != 1 && joint.type != JointType::ball) continue;
        if (joint.type == JointType::prismatic || &joint == &model.joints()[0])
          continue;  // a root made of one-dof joints
        control.kp(a) = 300;
        control.kd(a) = 2;
        control.target_velocity(a) = test::uniform(random, -0.1, 0.1);
        control.torque(a) = test::uniform(random, -0.1, 0.1);
      }
    if (kind == Kind::sinking) move(v, {0, 0, -1});
    if (kind == Kind::sliding) move(v, {1.5, 0.4, -0.1});
    if (kind == Kind::standing) v.setZero();
    world.add(contact_candidates(model, ContactCandidates::automatic));
    const double lowest = lowest_point(model, world.colliders, q);
    const double depth = kind == Kind::flight ? -1 : test::uniform(random, 0.005, 0.02);
    if (std::isfinite(lowest)) world.add(plane_collider({0, 0, lowest + depth}, Vec3::UnitZ()));
    world.surface.friction = kMu;
    world.law = law(kDepth);
    state = make_state(model, q, v);
  }

  // Gives the whole robot a velocity through the dofs of its root.
  void move(VectorXd& v, const Vec3& velocity) const {
    Dynamics dynamics(model);
    dynamics.set_position(model.neutral_position());
    MatrixXd J(3, model.nv());
    dynamics.point_jacobian(BodyIndex(0), Vec3::Zero(), J);
    v += J.completeOrthogonalDecomposition().solve(velocity);
  }

  VectorXd end(const Control& with, const StepOptions& options, State x, StepWorkspace& ws, const State& reference) {
    EXPECT_TRUE(step(model, with, options, x, ws).converged());
    VectorXd out(2 * model.nv());
    out << position_difference(model, reference.q, x.q), x.v - reference.v;
    return out;
  }

  Model model;
  World world;
  Control control;
  State state;
};

StepOptions exact(IntegratorType integrator, double dt) {
  StepOptions options;
  options.integrator = integrator;
  options.dt = dt;
  options.tolerance = 1e-12;
  options.accuracy = 0;
  options.max_turn = 1;
  return options;
}

// All derivatives side by side, velocities times h and columns per displacement, so that entries are near one.
MatrixXd scaled(const MatrixXd& m, const VectorXd& columns, double h) {
  MatrixXd out = m * columns.asDiagonal();
  out.bottomRows(m.rows() / 2) *= h;
  return out;
}

MatrixXd all(const StepDerivatives& d) {
  const Index n = d.by_target.cols();
  MatrixXd out(d.by_state.rows(), 5 * n + 1 + d.by_law.cols());
  out << d.by_state.leftCols(2 * n), d.by_target, d.by_target_velocity, d.by_torque, d.by_friction, d.by_law;
  return out.topRows(2 * n);
}

// Central differences of step() along all columns, `sizes` long per 1e-7 m.
MatrixXd differences(Case& c, const StepOptions& options, const VectorXd& sizes, const State& after) {
  const Index n = c.model.nv();
  MatrixXd out(2 * n, sizes.size());
  StepWorkspace ws(c.model, c.world);
  for (Index k = 0; k < sizes.size(); ++k) {
    const double e = 1e-7 * sizes(k);
    VectorXd ends[2];
    for (int side = 0; side < 2; ++side) {
      const double along = side == 0 ? -e : e;
      State x = c.state;
      Control with = c.control;
      const Index a = k % n;
      const VectorXd unit = VectorXd::Unit(n, a);
      if (k < n) x.q = integrate_position(c.model, x.q, unit, along);
      if (k >= n && k < 2 * n) x.v(a) += along;
      if (k >= 2 * n && k < 3 * n) with.target = integrate_position(c.model, with.target, unit, along);
      if (k >= 3 * n && k < 4 * n) with.target_velocity(a) += along;
      if (k >= 4 * n && k < 5 * n) with.torque(a) += along;
      if (k < 5 * n) {
        ends[side] = c.end(with, options, x, ws, after);
        continue;
      }
      World other = c.world;
      if (k == 5 * n) other.surface.friction += along;
      if (k > 5 * n) other.law = law(kDepth + along);
      StepWorkspace ws_other(c.model, other);
      ends[side] = c.end(with, options, x, ws_other, after);
    }
    out.col(k) = (ends[1] - ends[0]) / (2 * e);
  }
  return out;
}

struct Tally {
  int states = 0, skipped = 0, touching = 0, subdivided = 0;
  double error = 0;
};

// Differences by 1e-7 m. Poses are solved for until the residual is 16 roundings of the robot's pose, so to 16 x 2e-16
// m times the ratio of masses along a leg, about 20: 6e-14 m, and 6e-7 of a difference. The differences inside are good
// to 1e-8, theory section 10. Position based, velocities are differences of poses over gamma times a substep: 1/gamma
// times as many roundings for each of up to 9 substeps, 30 in all. Entries reach 10 where contacts are stiff: relative.
// Dissipation::contact knows weights through the squares of velocities of points and stops short of the last roundings
// by ten times (the deviation falls as one over the step of the differences).
double bound(const StepOptions& options) {
  const bool on_poses =
      options.integrator == IntegratorType::pbd_nmdp || options.integrator == IntegratorType::pbd_nmdp2;
  return on_poses ? 2e-5 : options.dissipation == Dissipation::contact ? 1e-5 : 1e-6;
}

// A step with `halved` set is cut into two substeps or more.
void compare(Case& c, const StepOptions& asked, bool halved, Tally& tally) {
  StepOptions options = asked;
  const double h = options.dt;
  const Index n = c.model.nv();
  StepWorkspace ws(c.model, c.world);
  if (halved)
    for (State x = c.state; options.max_turn > 1e-6; x = c.state, options.max_turn *= 0.8) {
      const StepReport report = step(c.model, c.control, options, x, ws);
      if (report.substeps > 1) break;
    }
  State after = c.state, plain = c.state;
  StepDerivatives d;
  ++tally.states;
  const StepReport report = step_with_derivatives(c.model, c.control, options, after, ws, d);
  ASSERT_TRUE(report.converged());
  // The same step, bit for bit.
  StepWorkspace other(c.model, c.world);
  ASSERT_TRUE(step(c.model, c.control, options, plain, other).converged());
  EXPECT_EQ(state_hash(plain), state_hash(after));
  EXPECT_EQ(plain.contact_loads, after.contact_loads);
  EXPECT_EQ(plain.contact_weights, after.contact_weights);

  tally.touching += report.contacts > 0;
  tally.subdivided += report.substeps > 1;
  // At a switch a difference is that of neither side. It moves a foot by about 1e-7 m, which is 1e-5 of the centimetre
  // that depths are measured by, and changes its velocity by 1e-7 m / h, 1e-5 of the speeds around: ten times that is
  // safe. And a stage that Newton's method did not solve is not solved well enough to be differenced.
  if (d.margin < 1e-4 || report.restarts > 0) {
    ++tally.skipped;
    return;
  }
  ASSERT_TRUE(d.valid);
  VectorXd sizes = VectorXd::Ones(5 * n + 2);
  sizes.segment(n, n).setConstant(1 / h);
  sizes.segment(3 * n, n).setConstant(1 / h);
  sizes.segment(4 * n, n).setConstant(1e4);  // 1e-3 N m
  sizes(5 * n) = 10;                         // 1e-6
  const MatrixXd truth = scaled(differences(c, options, sizes, after), sizes, h);
  const MatrixXd ours = scaled(all(d), sizes, h);
  const double size = std::max(1.0, truth.leftCols(4 * n).cwiseAbs().maxCoeff());
  // Torques and friction move the robot by less than their columns' length stands for; the rounding is the same.
  const double error = (ours - truth).cwiseAbs().maxCoeff() / size;
  EXPECT_LE(error, bound(options));
  tally.error = std::max(tally.error, error);
}

Tally run(const std::string& name, IntegratorType integrator, std::uint64_t seed, int rounds) {
  test::Random random(seed);
  Tally tally;
  for (int k = 0; k < rounds; ++k)
    for (const Kind kind : kKinds) {
      SCOPED_TRACE(name + " " + integrator_name(integrator) + " " + kKindNames[static_cast<int>(kind)] + " " +
                   std::to_string(k));
      Case c(name, kind, random);
      const StepOptions options = exact(integrator, test::uniform(random, 0.005, 0.02));
      if (kind == Kind::standing || k % 2 == 1) {  // with loads; standing takes a while
        StepWorkspace ws(c.model, c.world);
        StepOptions before = options;
        before.tolerance = 1e-8;
        for (int i = 0; i < (kind == Kind::standing ? 20 : 1); ++i)
          EXPECT_TRUE(step(c.model, c.control, before, c.state, ws).converged());
        c.state.body_rates.clear();
      }
      compare(c, options, false, tally);
      if (kind != Kind::standing && k == 0) compare(c, options, true, tally);
    }
  return tally;
}

TEST(Derivatives, AreThoseOfTheStep) {
  int states = 0, skipped = 0;
  for (const char* name :
       {"pendulum", "hopper", "walker2d", "robosimian-planar", "robosimian-spatial", "box", "ball-chain"})
    for (const IntegratorType integrator : kIntegrators) {
      const Tally tally = run(name, integrator, 11, 2);
      std::printf("%-18s %-9s %2d steps, %2d in contact, %d in substeps, %d skipped, largest error %.1e\n", name,
                  integrator_name(integrator), tally.states, tally.touching, tally.subdivided, tally.skipped,
                  tally.error);
      states += tally.states;
      skipped += tally.skipped;
    }
  std::printf("%d of %d steps skipped\n", skipped, states);
  EXPECT_LT(skipped, 0.2 * states);
}

// Every dissipation has its own gradient.
TEST(Derivatives, HoldForAllDissipations) {
  for (const Dissipation dissipation : {Dissipation::contact, Dissipation::total}) {
    Tally tally;
    test::Random random(3);
    for (int k = 0; k < 8; ++k) {
      Case c("robosimian-planar", k % 2 == 0 ? Kind::sinking : Kind::sliding, random);
      StepOptions options = exact(IntegratorType::ne_nmdp2, 0.01);
      options.dissipation = dissipation;
      compare(c, options, false, tally);
    }
    EXPECT_EQ(tally.touching, 8);
    EXPECT_LE(tally.skipped, 4);
  }
}

// Moving the robot along the ground moves the result, and changes nothing else. Translations enter the differences
// inside by q, of size 1 m and differenced by 1e-7 m (ne) and 1e-6 m (pbd): off by 2e-16/1e-7 = 2e-9, ten of them.
TEST(Derivatives, KnowNoPlaceOnTheGround) {
  test::Random random(5);
  for (const IntegratorType integrator : kIntegrators)
    for (const Kind kind : {Kind::flight, Kind::sinking, Kind::sliding}) {
      Case c("robosimian-spatial", kind, random);
      const StepOptions options = exact(integrator, 0.01);
      StepWorkspace ws(c.model, c.world);
      StepDerivatives d;
      ASSERT_TRUE(step_with_derivatives(c.model, c.control, options, c.state, ws, d).converged());
      const Index n = c.model.nv();
      for (Index a = 0; a < (kind == Kind::flight ? 3 : 2); ++a) {
        VectorXd column = d.by_state.col(a).head(2 * n) - VectorXd::Unit(2 * n, a);
        column.tail(n) *= options.dt;
        EXPECT_LE(column.cwiseAbs().maxCoeff(), 2e-8) << integrator_name(integrator);
      }
    }
}

// The chain over substeps of backward Euler is the product of theirs: both are differences good to about 1e-8, of
// entries up to 1/h in a scale where they are near one.
TEST(Derivatives, OfSubstepsMultiply) {
  test::Random random(8);
  Case c("robosimian-planar", Kind::sliding, random);
  c.state.v.tail(c.model.nv() - 3) *= 0.1;  // the torso turns fastest, and evenly
  c.state.v(2) = 2;
  StepOptions options = exact(IntegratorType::ne_nmdp, 0.02);
  options.max_turn = 0.03;
  StepWorkspace ws(c.model, c.world);
  StepDerivatives first, second, both;
  State x = c.state;
  ASSERT_EQ(step_with_derivatives(c.model, c.control, options, x, ws, both).substeps, 2);
  StepOptions half = options;
  half.dt = 0.01;
  State y = c.state;
  ASSERT_EQ(step_with_derivatives(c.model, c.control, half, y, ws, first).substeps, 1);
  ASSERT_EQ(step_with_derivatives(c.model, c.control, half, y, ws, second).substeps, 1);
  ASSERT_EQ(x.q, y.q);
  const Index n = c.model.nv();
  VectorXd sizes = VectorXd::Ones(2 * n);
  sizes.tail(n).setConstant(1 / options.dt);
  EXPECT_LE(scaled(both.by_state - second.by_state * first.by_state, sizes, options.dt).cwiseAbs().maxCoeff(), 2e-7);
  sizes = VectorXd::Ones(n);
  EXPECT_LE(scaled(both.by_target - second.by_target - second.by_state * first.by_target, sizes, options.dt)
                .cwiseAbs()
                .maxCoeff(),
            2e-7);
}

// Two steps of second order: the loads at the end of the first decide what the second extrapolates. Differences by 1e-7
// m of two steps, each as in `bound`. Without the loads the product would be wrong: that is checked, too.
TEST(Derivatives, OfStepsMultiplyWithTheirLoads) {
  test::Random random(21);
  int compared = 0;
  double without = 0;
  for (int k = 0; k < 12; ++k) {
    SCOPED_TRACE(k);
    Case c("robosimian-planar", k % 2 == 0 ? Kind::sinking : Kind::sliding, random);
    const StepOptions options = exact(IntegratorType::ne_nmdp2, 0.01);
    const Index n = c.model.nv();
    StepWorkspace ws(c.model, c.world);
    StepDerivatives first, second;
    State end = c.state;
    const StepReport one = step_with_derivatives(c.model, c.control, options, end, ws, first);
    const StepReport two = step_with_derivatives(c.model, c.control, options, end, ws, second);
    ASSERT_TRUE(one.converged() && two.converged());
    if (std::min(first.margin, second.margin) < 1e-4 || one.restarts + two.restarts > 0) continue;
    ++compared;
    VectorXd sizes = VectorXd::Ones(2 * n);
    sizes.tail(n).setConstant(1 / options.dt);
    MatrixXd truth(2 * n, 2 * n);
    for (Index a = 0; a < 2 * n; ++a) {
      VectorXd ends[2];
      for (int side = 0; side < 2; ++side) {
        const double along = (side == 0 ? -1e-7 : 1e-7) * sizes(a);
        State x = c.state;
        if (a < n) x.q = integrate_position(c.model, x.q, VectorXd::Unit(n, a), along);
        if (a >= n) x.v(a - n) += along;
        ASSERT_TRUE(step(c.model, c.control, options, x, ws).converged());
        ends[side] = c.end(c.control, options, x, ws, end);
      }
      truth.col(a) = (ends[1] - ends[0]) / (2e-7 * sizes(a));
    }
    const MatrixXd product = (second.by_state * first.by_state).topLeftCorner(2 * n, 2 * n);
    const MatrixXd without_loads =
        second.by_state.topLeftCorner(2 * n, 2 * n) * first.by_state.topLeftCorner(2 * n, 2 * n);
    const double size = std::max(1.0, scaled(truth, sizes, options.dt).cwiseAbs().maxCoeff());
    EXPECT_LE(scaled(product - truth, sizes, options.dt).cwiseAbs().maxCoeff(), 2 * size * bound(options));
    without = std::max(without, scaled(without_loads - truth, sizes, options.dt).cwiseAbs().maxCoeff());
  }
  EXPECT_GE(compared, 8);
  EXPECT_GT(without, 1e-3);
}

// A box that slides along x: momentum says m (v_x' - v_x) = -mu N h and m (v_z' - v_z) = N h - m g h, so
//   dv_x'/dmu + mu dv_z'/dmu = -(g h + v_z' - v_z),
// -g h for a box that friction does not make rock. A box that stands does not care about friction or how stiff the
// ground is.
TEST(Derivatives, ByFrictionOfABox) {
  for (const IntegratorType integrator : {IntegratorType::ne_nmdp, IntegratorType::pbd_nmdp}) {
    for (const bool slides : {true, false}) {
      test::Random random(1);
      Case c("box", Kind::flight, random);
      std::erase_if(c.world.colliders, [](const Collider& collider) { return collider.body == kWorld; });
      c.world.add(plane_collider(Vec3::Zero(), Vec3::UnitZ()));
      VectorXd q = c.model.neutral_position(), v = VectorXd::Zero(c.model.nv());
      q(2) = 0.25 - 0.009;
      v(0) = slides ? 3 : 0;
      c.state = make_state(c.model, q, v);
      const StepOptions options = exact(integrator, 0.005);
      StepWorkspace ws(c.model, c.world);
      for (int k = 0; k < 20; ++k) ASSERT_TRUE(step(c.model, c.control, options, c.state, ws).converged());
      c.state.body_rates.clear();
      const State before = c.state;
      StepDerivatives d;
      ASSERT_TRUE(step_with_derivatives(c.model, c.control, options, c.state, ws, d).converged());
      ASSERT_TRUE(d.valid);
      const Index n = c.model.nv();
      if (slides) {
        const double gh = 9.81 * options.dt, lift = c.state.v(2) - before.v(2);
        // 1e-8 of differences of forces, 4 contacts; pbd: 1e-6 at the worst.
        EXPECT_NEAR(d.by_friction(n, 0) + kMu * d.by_friction(n + 2, 0), -(gh + lift), 1e-6 * gh);
      } else {
        EXPECT_LE(d.by_friction.cwiseAbs().maxCoeff(), 1e-6 * 9.81 * options.dt);
        EXPECT_LE(d.by_law.cwiseAbs().maxCoeff(), 1e-6 * 9.81 * options.dt);
      }
    }
  }
}

TEST(Derivatives, RefuseWhatTheyDoNotKnow) {
  test::Random random(1);
  Case c("box", Kind::flight, random);
  StepWorkspace ws(c.model, c.world);
  StepDerivatives d;
  const auto message = [&](IntegratorType integrator) -> std::string {
    try {
      static_cast<void>(step_with_derivatives(c.model, c.control, exact(integrator, 0.01), c.state, ws, d));
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  for (const IntegratorType integrator : {IntegratorType::rk4, IntegratorType::ne_mdp, IntegratorType::ne_zonmdp})
    EXPECT_NE(message(integrator).find(integrator_name(integrator)), std::string::npos);
  EXPECT_EQ(message(IntegratorType::pbd_nmdp), "");  // and now the state has a history
  EXPECT_NE(message(IntegratorType::pbd_nmdp).find("body_rates"), std::string::npos);
}

}  // namespace
}  // namespace scree
