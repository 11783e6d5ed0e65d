// The differential inclusion with time as a state: closed forms, and theorems 8, 9, 10 of M. Halm's dissertation on
// random scenes and selections.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "scree/dynamics.h"
#include "scree/error.h"
#include "scree/kinematics.h"
#include "scree/outcome_set.h"
#include "scree/research/inclusion.h"
#include "scree/step.h"
#include "support/random_tree.h"

namespace scree {
namespace {

using test::Random;
using test::uniform;

constexpr double kGravity = 9.81;  // [m/s^2]
// Of sums of some thousand terms of the size of 1 to 10: each adds half a unit in the last place at most, 1e-15.
constexpr double kRounding = 1e-11;

ContactPoint contact_point(std::string name, const Vec3& p_B, double radius = 0) {
  ContactPoint point;
  point.name = std::move(name);
  point.p_B = p_B;
  point.radius = radius;
  return point;
}

// A ball on a vertical rail; z = 0 where it touches the floor of `floor_world`.
Model ball(double mass) {
  Body body;
  body.name = "ball";
  body.mass = mass;
  body.inertia = 0.4 * mass * 0.01 * Mat3::Identity();
  Joint joint;
  joint.name = "rail";
  joint.type = JointType::prismatic;
  joint.axis = Vec3::UnitZ();
  joint.X_PJ.p = Vec3(0, 0, 0.1);
  return ModelBuilder("ball")
      .add_body(body, "world", joint)
      .add_contact_point("ball", contact_point("surface", Vec3::Zero(), 0.1))
      .build();
}

// A box of full size 2 (a, b, c), in the plane x, z or free; its corners may touch.
Model box(double mass, const Vec3& half, bool planar) {
  Body body;
  body.name = "box";
  body.mass = mass;
  body.inertia = mass / 3 *
                 Vec3(half.y() * half.y() + half.z() * half.z(), half.x() * half.x() + half.z() * half.z(),
                      half.x() * half.x() + half.y() * half.y())
                     .asDiagonal();
  Joint joint;
  joint.name = "base";
  joint.type = planar ? JointType::planar : JointType::floating;
  joint.axis = Vec3::UnitY();
  ModelBuilder builder("box");
  builder.add_body(body, "world", joint);
  for (int k = 0; k < 8; ++k) {
    if (planar && (k & 2)) continue;
    const Vec3 corner((k & 1) ? half.x() : -half.x(),
                      planar    ? 0
                      : (k & 2) ? half.y()
                                : -half.y(),
                      (k & 4) ? half.z() : -half.z());
    builder.add_contact_point("box", contact_point("corner" + std::to_string(k), corner));
  }
  return builder.build();
}

// Rods in the plane x, z, one after the other along x, the first free or on a hinge at the origin; tips may touch.
Model rods(int count, bool free, double radius, Random& random) {
  ModelBuilder builder("rods");
  std::string parent = "world";
  double length_before = 0;
  for (int i = 0; i < count; ++i) {
    const double length = uniform(random, 0.2, 0.6), mass = uniform(random, 0.3, 2);
    Body body;
    body.name = "rod" + std::to_string(i);
    body.mass = mass;
    body.com = Vec3(length / 2, 0, 0);
    body.inertia = mass * length * length / 12 * Vec3(0.1, 1, 1).asDiagonal();
    Joint joint;
    joint.name = "joint" + std::to_string(i);
    joint.type = i == 0 && free ? JointType::planar : JointType::continuous;
    joint.axis = Vec3::UnitY();
    joint.X_PJ.p = Vec3(length_before, 0, i == 0 && !free ? 0.8 : 0);
    if (joint.type == JointType::continuous) joint.damping = uniform(random, 0, 0.02);
    builder.add_body(body, parent, joint);
    if (i == 0 && free) builder.add_contact_point(body.name, contact_point("start", Vec3::Zero(), radius));
    builder.add_contact_point(body.name, contact_point("tip" + std::to_string(i), Vec3(length, 0, 0), radius));
    parent = body.name;
    length_before = length;
  }
  return builder.build();
}

// A free body of three spheres.
Model spheres(Random& random) {
  Body body;
  body.name = "body";
  test::set_inertia(body, test::random_points(random));
  Joint joint;
  joint.name = "base";
  joint.type = JointType::floating;
  ModelBuilder builder("spheres");
  builder.add_body(body, "world", joint);
  for (int k = 0; k < 3; ++k)
    builder.add_contact_point("body", contact_point("sphere" + std::to_string(k), test::random_vector(random, 0.3),
                                                    uniform(random, 0.02, 0.2)));
  return builder.build();
}

World floor_world(const Model& model, double friction) {
  World world;
  world.add(plane_collider(Vec3::Zero(), Vec3::UnitZ()));
  world.surface.friction = friction;
  world.add(contact_candidates(model, ContactCandidates::named));
  return world;
}

InclusionOptions random_selection(std::uint64_t seed) {
  InclusionOptions options;
  options.selection = InclusionSelection::random;
  options.seed = seed;
  return options;
}

double kinetic_energy(const Model& model, const Eigen::VectorXd& q, const Eigen::VectorXd& v) {
  Dynamics dynamics(model);
  dynamics.set_position(q);
  return dynamics.kinetic_energy(v);
}

bool same_bits(const Eigen::VectorXd& a, const Eigen::VectorXd& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), sizeof(double) * static_cast<size_t>(a.size())) == 0;
}

// ---- closed forms ----

// Falls for sqrt(2 z0/g), takes up m sqrt(2 g z0) of impulse without time, then time goes by 1/(1 + m g): (7.16).
// Flight is a polynomial of second order, which Runge-Kutta has exactly; increments and rests are linear: rounding for
// every ds. Of the place where the gap closes, time is known to eps ds.
TEST(Inclusion, ABallFallsStopsAndRestsAsTheClosedFormSays) {
  const double z0 = 0.3;
  for (const double mass : {0.1, 1.0, 7.0})
    for (const double ds : {0.5, 0.03, 0.001}) {
      const Model model = ball(mass);
      const World world = floor_world(model, 0.5);
      Inclusion inclusion(model, world);
      State state = make_state(model);
      state.q(0) = z0;
      const double fall = std::sqrt(2 * z0 / kGravity), impulse = mass * std::sqrt(2 * kGravity * z0);
      double s = 0, sum = 0;
      while (s < fall + impulse + 0.2) {
        const InclusionStep step = inclusion.advance(state, ds);
        ASSERT_TRUE(step.advanced()) << step.reason;
        s += step.ds;
        sum += step.normal_impulse;
        const double t = s <= fall             ? s
                         : s <= fall + impulse ? fall
                                               : fall + (s - fall - impulse) / (1 + mass * kGravity);
        const double v = s <= fall ? -kGravity * s : s <= fall + impulse ? (s - fall - impulse) / mass : 0;
        ASSERT_NEAR(state.time, t, kRounding) << "mass " << mass << " ds " << ds << " s " << s;
        ASSERT_NEAR(state.v(0), v, kRounding / mass);
        ASSERT_NEAR(state.q(0), s <= fall ? z0 - kGravity * s * s / 2 : 0, kRounding);
        ASSERT_NEAR(s - state.time, sum, kRounding);
      }
      EXPECT_GT(state.time, fall + 0.9 * 0.2 / (1 + mass * kGravity) - ds);
    }
}

// Time goes by 1/(1 + m g), whatever the number of corners that share the weight; nothing moves.
TEST(Inclusion, ABlockAtRestSlowsTimeByItsWeight) {
  for (const bool planar : {true, false})
    for (const auto selection : {InclusionSelection::equal, InclusionSelection::random})
      for (const double mu : {0.0, 0.6}) {
        const double mass = 2.5;
        const Model model = box(mass, Vec3(0.2, 0.3, 0.1), planar);
        const World world = floor_world(model, mu);
        InclusionOptions options;
        options.selection = selection;
        Inclusion inclusion(model, world, options);
        Eigen::VectorXd q = model.neutral_position();
        q(planar ? 1 : 2) = 0.1;
        State state = make_state(model, q, Eigen::VectorXd::Zero(model.nv()));
        for (int k = 0; k < 50; ++k) {
          const InclusionStep step = inclusion.advance(state, 0.02);
          ASSERT_TRUE(step.advanced()) << step.reason;
          EXPECT_EQ(step.mode, InclusionMode::boundary);
          EXPECT_NEAR(step.dt / step.ds, 1 / (1 + mass * kGravity), 1e-12);
          EXPECT_EQ(step.contacts.size(), planar ? 2u : 4u);
        }
        EXPECT_LE((state.q - q).cwiseAbs().maxCoeff(), kRounding);
        EXPECT_LE(state.v.cwiseAbs().maxCoeff(), kRounding);
      }
}

// Velocity falls by mu g a second of t, exactly, until it is zero; positions are those of the velocity at the end of
// each step, h = ds/(1 + m g): with v0 = (N + r) a h, a = mu g, the box stops a h^2 (N + r^2)/2 short of v0^2/(2 a). So
// the error is of first order in ds.
TEST(Inclusion, ASlidingBlockStopsWhereCoulombSaysSo) {
  const double mass = 1.7, mu = 0.4, v0 = 1.2, a = mu * kGravity;
  std::vector<double> errors;
  for (const double ds : {0.08, 0.04, 0.02}) {
    const Model model = box(mass, Vec3(0.3, 0.2, 0.1), true);
    const World world = floor_world(model, mu);
    Inclusion inclusion(model, world);
    Eigen::VectorXd q(3), v(3);
    q << 0, 0.1, 0;
    v << v0, 0, 0;
    State state = make_state(model, q, v);
    const double h = ds / (1 + mass * kGravity);
    while (state.time < v0 / a + 2 * h) {
      const InclusionStep step = inclusion.advance(state, ds);
      ASSERT_TRUE(step.advanced()) << step.reason;
      ASSERT_EQ(step.mode, InclusionMode::boundary);
      ASSERT_NEAR(step.dt, h, 1e-12 * h);
      ASSERT_NEAR(state.v(0), std::max(0.0, v0 - a * state.time), kRounding);
      double friction = 0;
      for (const InclusionContact& contact : step.contacts) friction += contact.friction.x();
      if (state.v(0) > kRounding) {  // it still slides
        ASSERT_NEAR(friction, -mu * step.normal_impulse, kRounding);
      }
    }
    const double steps = v0 / (a * h), N = std::floor(steps), r = steps - N;
    EXPECT_NEAR(state.q(0), v0 * v0 / (2 * a) - a * h * h * (N + r * r) / 2, kRounding);
    EXPECT_NEAR(state.q(1), 0.1, kRounding);
    errors.push_back(v0 * v0 / (2 * a) - state.q(0));
  }
  // (N + r^2) h = v0/a - (r - r^2) h: the ratios differ from 2 by at most (1/4) h a/v0, 0.4 % of it at the largest h.
  EXPECT_NEAR(errors[0] / errors[1], 2, 0.02);
  EXPECT_NEAR(errors[1] / errors[2], 2, 0.01);
}

// A uniform rod of half length l, its lower tip on the floor, raised by theta.
struct Rod {
  static constexpr double kMass = 1.3, kHalf = 0.5;
  explicit Rod(double mu) : model(make()), world(floor_world(model, mu)) {}
  static Model make() {
    Body body;
    body.name = "rod";
    body.mass = kMass;
    body.inertia = kMass * kHalf * kHalf / 3 * Vec3(0.01, 1, 1).asDiagonal();
    Joint joint;
    joint.name = "base";
    joint.type = JointType::planar;
    joint.axis = Vec3::UnitY();
    return ModelBuilder("rod")
        .add_body(body, "world", joint)
        .add_contact_point("rod", contact_point("tip", Vec3(-kHalf, 0, 0)))
        .build();
  }
  // The angle of the joint is about +y, which lowers +x.
  State state(double theta, double slip, double omega = 0) const {
    Eigen::VectorXd q(3), v(3);
    q << kHalf * std::cos(theta), kHalf * std::sin(theta), -theta;
    // d/dt of the tip (x - l cos, z - l sin): slip along x, none along z.
    v << slip - kHalf * std::sin(theta) * omega, kHalf * std::cos(theta) * omega, -omega;
    return make_state(model, q, v);
  }
  Model model;
  World world;
};

// With enough friction the tip sticks and the rod falls about it: (4/3) m l^2 theta'' = -m g l cos(theta). The tip
// stays where it is: gaps within touch, and it creeps by what friction directions evaluated at the end of steps leave.
TEST(Inclusion, ARodFallsAboutItsTipToFirstOrder) {
  const double theta0 = 1.2;
  std::vector<double> errors;
  for (const double ds : {0.02, 0.01, 0.005}) {
    const Rod rod(2.0);
    Inclusion inclusion(rod.model, rod.world);
    State state = rod.state(theta0, 0);
    double theta = theta0, omega = 0, t = 0, worst = 0;
    while (state.time < 0.25) {
      const InclusionStep step = inclusion.advance(state, ds);
      ASSERT_TRUE(step.advanced()) << step.reason;
      ASSERT_EQ(step.mode, InclusionMode::boundary);
      // The equation by the midpoint rule with steps of 1e-6 s: errors of 1e-12.
      const int n = static_cast<int>(std::ceil((state.time - t) / 1e-6));
      const double h = (state.time - t) / n, c = 0.75 * kGravity / Rod::kHalf;
      for (int k = 0; k < n; ++k) {
        const double middle = theta + h / 2 * omega;
        theta += h * (omega - h / 2 * c * std::cos(theta));
        omega -= h * c * std::cos(middle);
      }
      t = state.time;
      worst = std::max(worst, std::abs(-state.q(2) - theta));
      ASSERT_GE(inclusion.least_gap(state), -EventOptions{}.touch);
      ASSERT_LE(inclusion.least_gap(state), EventOptions{}.touch);
    }
    errors.push_back(worst);
    EXPECT_LE(std::abs(state.q(0) - Rod::kHalf * std::cos(state.q(2))), 0.1 * ds);
  }
  // First order; the next term is smaller by ds times rates of the order of 1 to 10: 5 %.
  EXPECT_NEAR(errors[0] / errors[1], 2, 0.1);
  EXPECT_NEAR(errors[1] / errors[2], 2, 0.1);
}

// A rod that turns about its tip presses on it with its weight less m l w^2, half of it here. Passes that take this
// part with the dt of the pass before contract by a fixed factor: 14 of two problems each. With theory (16.8) the
// factor is the turn of a step, 0.01: touch of 1e-9 m is reached from 1e-2 m in five.
TEST(Inclusion, TurningContactsTakeFewPasses) {
  const Rod rod(2.0);
  Inclusion inclusion(rod.model, rod.world);
  for (const double omega : {-3.0, 3.0}) {
    State state = rod.state(1.2, 0, omega);
    const InclusionStep step = inclusion.advance(state, 0.02);
    ASSERT_TRUE(step.advanced()) << step.reason;
    EXPECT_NEAR(step.ds, 0.02, kRounding);
    EXPECT_LE(step.solves, 12);
  }
}

// Painleve: at tan(theta) = 2, mu = 2 slip presses the tip down more than its impulse lifts it,
//   A = (1 + 3 cos (cos - mu sin))/m = -0.8/m < 0, and gravity presses, too: no force keeps it on the floor.
// Impulse flows without time until the tip sticks and does not approach, J v = 0: two equations for its two components.
TEST(Inclusion, PainlevesRodIsStoppedByAnImpulseWithoutTime) {
  const double theta = std::atan(2.0), slip = -1.5;
  for (const auto selection : {InclusionSelection::equal, InclusionSelection::random})
    for (const double ds : {0.3, 0.01, 0.001}) {
      const Rod rod(2.0);
      InclusionOptions options;
      options.selection = selection;
      Inclusion inclusion(rod.model, rod.world, options);
      for (const double sign : {1.0, -1.0}) {  // the other way it slides on
        State state = rod.state(theta, sign * slip);
        const ImpactProblem p = inclusion.impact_problem(state);
        Eigen::MatrixXd J(2, 3);
        J << p.Jn, p.Jt;
        const Eigen::Matrix2d G = J * p.M.inverse() * J.transpose();
        const Eigen::Vector2d stop = G.inverse() * (-J * p.v);
        const double against = (p.Jt * p.v)(0) > 0 ? -1 : 1, A = G(0, 0) + 2.0 * against * G(0, 1);
        const State before = state;
        if (A > 0) {
          const InclusionStep step = inclusion.advance(state, ds);
          EXPECT_EQ(step.mode, InclusionMode::boundary);
          EXPECT_GT(step.dt, 0);
          EXPECT_FALSE(step.without_collision);
          continue;
        }
        EXPECT_NEAR(A, -0.8 / Rod::kMass, 1e-12);
        ASSERT_EQ(inclusion.mode(state), InclusionMode::boundary);
        double impulse = 0, energy = kinetic_energy(rod.model, state.q, state.v);
        int steps = 0;
        while (true) {
          const State last = state;
          const InclusionStep step = inclusion.advance(state, ds);
          ASSERT_TRUE(step.advanced()) << step.reason;
          if (step.dt > 0) {
            state = last;
            break;
          }
          EXPECT_EQ(step.without_collision, steps == 0);
          ASSERT_TRUE(same_bits(state.q, before.q) && state.time == before.time);
          const double now = kinetic_energy(rod.model, state.q, state.v);
          EXPECT_LT(now, energy);
          energy = now;
          impulse += step.normal_impulse;
          ++steps;
        }
        EXPECT_GE(steps, static_cast<int>(stop(0) / ds));
        EXPECT_NEAR(impulse, stop(0), kRounding);
        EXPECT_LE((J * state.v).cwiseAbs().maxCoeff(), kRounding);
      }
    }
}

// With equal shares a block that lands flat stays flat: half of m v0 each, at most ds a step, then rest.
TEST(Inclusion, EqualSharesKeepABlockFlat) {
  const double mass = 1.4, v0 = 0.8, ds = 0.01;
  const Model model = box(mass, Vec3(0.1, 0.1, 0.3), true);
  const World world = floor_world(model, 0.5);
  Inclusion inclusion(model, world);
  Eigen::VectorXd q(3), v(3);
  q << 0, 0.3, 0;
  v << 0, -v0, 0;
  State state = make_state(model, q, v);
  double impulse = 0;
  while (inclusion.mode(state) == InclusionMode::colliding) {
    const InclusionStep step = inclusion.advance(state, ds);
    ASSERT_TRUE(step.advanced()) << step.reason;
    ASSERT_LE(step.ds, ds * (1 + 1e-12));
    ASSERT_EQ(step.contacts.size(), 2u);
    ASSERT_NEAR(step.contacts[0].normal_impulse, step.contacts[1].normal_impulse, kRounding);
    impulse += step.normal_impulse;
  }
  EXPECT_NEAR(impulse, mass * v0, kRounding);
  EXPECT_LE(state.v.cwiseAbs().maxCoeff(), kRounding);
}

// Another algorithm: a tilted box falls on a corner, slips, and turns on it. Routh's law follows the course of the
// impact exactly, the inclusion by increments of ds; the integrator `event` is of higher order in between. They meet to
// first order in ds.
TEST(Inclusion, AgreesWithEventsAndRouthsLaw) {
  const double mass = 1.2;
  const Model model = box(mass, Vec3(0.2, 0.2, 0.1), true);
  World world = floor_world(model, 0.35);
  world.impact.law = ImpactLaw::routh;
  Eigen::VectorXd q(3), v(3);
  q << 0, 0.35, 0.5;
  v << 0.8, -1, -1.5;
  const State start = make_state(model, q, v);
  std::vector<double> errors;
  for (const double ds : {0.002, 0.001, 0.0005}) {
    Inclusion inclusion(model, world);
    State state = start;
    double impulse = 0;
    int lasting = 0;
    while (state.time < 0.15) {  // the next corner lands at 0.162 s
      const InclusionStep step = inclusion.advance(state, ds);
      ASSERT_TRUE(step.advanced()) << step.reason;
      impulse += step.mode == InclusionMode::colliding ? step.normal_impulse : 0;
      lasting += step.mode == InclusionMode::boundary;
    }
    EXPECT_GT(impulse, 0.5);
    EXPECT_GT(lasting, 10);
    State reference = start;
    StepWorkspace workspace(model, world);
    StepOptions options;
    options.integrator = IntegratorType::event;
    while (reference.time < state.time) {
      options.dt = std::min(1e-4, state.time - reference.time);
      const StepReport report = step(model, Control(model), options, reference, workspace);
      ASSERT_TRUE(report.converged()) << report.reason;
    }
    errors.push_back((state.q - reference.q).cwiseAbs().maxCoeff());
  }
  // Ends differ by up to a step of 2 ms in 150 ms, and the next order: 5 %.
  EXPECT_NEAR(errors[0] / errors[1], 2, 0.1);
  EXPECT_NEAR(errors[1] / errors[2], 2, 0.1);
}

// ---- theorems on random scenes ----

struct Scene {
  Model model;
  World world;
  State state;
};

Scene random_scene(Random& random, int kind) {
  Model model = kind == 0 ? box(uniform(random, 0.2, 3), Vec3(0.1, 0.1, 0.1) + test::random_vector(random, 0.05), true)
                : kind == 1 ? rods(3, true, uniform(random, 0, 0.05), random)
                : kind == 2
                    ? box(uniform(random, 0.2, 3), Vec3(0.1, 0.1, 0.1) + test::random_vector(random, 0.05), false)
                : kind == 3 ? spheres(random)
                            : rods(4, false, uniform(random, 0, 0.05), random);
  World world;
  const bool flat = uniform(random, 0, 1) < 0.5;
  const double slope = flat ? 0 : uniform(random, -0.4, 0.4);
  world.add(plane_collider(Vec3::Zero(), Vec3(std::sin(slope), 0, std::cos(slope))));
  if (uniform(random, 0, 1) < 0.7) world.add(plane_collider(Vec3(1.2, 0, 0), -Vec3::UnitX()));
  if (uniform(random, 0, 1) < 0.7) {
    const double turn = flat ? 0 : uniform(random, -0.3, 0.3);
    const Pose X_WS{Eigen::AngleAxisd(turn, Vec3::UnitY()).toRotationMatrix(), Vec3(-0.8, 0, 0.1)};
    world.add(box_collider(X_WS, Vec3(0.6, 3, 0.3)));
  }
  world.surface.friction = uniform(random, 0, 1) < 0.2 ? 0 : uniform(random, 0, 1.2);
  world.add(contact_candidates(model, ContactCandidates::named));

  // In the air.
  Inclusion inclusion(model, world);
  while (true) {
    Eigen::VectorXd q = model.neutral_position(), v(model.nv());
    const bool upright = uniform(random, 0, 1) < 0.3;
    for (const Joint& joint : model.joints()) {
      if (joint.type == JointType::floating) {
        const Quat r(upright ? Mat3::Identity() : test::random_rotation(random));
        q.segment<7>(joint.q_index) << test::random_vector(random, 0.8), r.w(), r.x(), r.y(), r.z();
        q(joint.q_index + 2) = uniform(random, 0.2, 0.8);
      } else if (joint.type == JointType::planar) {
        q.segment<3>(joint.q_index) << uniform(random, -0.9, 0.9), uniform(random, 0.2, 0.8),
            upright ? 0 : uniform(random, -3, 3);
      } else {
        q(joint.q_index) = uniform(random, -1.5, 1.5);
      }
    }
    for (double& x : v) x = uniform(random, -3, 3);
    State state = make_state(model, q, v);
    const double gap = inclusion.least_gap(state);
    if (!(gap > 1e-3)) continue;
    return {std::move(model), std::move(world), std::move(state)};
  }
}

// Theorem 8: gaps are never below -touch. Theorem 9: while contacts approach, q and t keep their bits, and energy
// falls. Impulses are in their cones; what a contact does to energy in boundary steps is never positive; s adds up.
TEST(Inclusion, NothingPenetratesWhateverIsSelected) {
  Random random(7);
  int colliding = 0, boundary = 0, closings = 0;
  double deepest = 0;
  for (int scene_index = 0; scene_index < 250; ++scene_index) {
    const Scene scene = random_scene(random, scene_index % 5);
    Dynamics dynamics(scene.model);
    InclusionOptions options = random_selection(static_cast<std::uint64_t>(scene_index));
    options.event.flight_accuracy = 1e-8;  // not what is tested
    Inclusion inclusion(scene.model, scene.world, options);
    State state = scene.state;
    const double ds = 1e-3 * std::pow(10, uniform(random, 0, 1.5)) * (1 + scene.model.total_mass() * kGravity);
    double s = 0, impulse = 0;
    for (int k = 0; k < 120; ++k) {
      const State before = state;
      const InclusionStep step = inclusion.advance(state, ds);
      ASSERT_TRUE(step.advanced()) << step.reason << ", scene " << scene_index << " step " << k;
      ASSERT_GE(inclusion.least_gap(state), -options.event.touch) << "scene " << scene_index << " step " << k;
      deepest = std::min(deepest, inclusion.least_gap(state));
      s += step.ds;
      impulse += step.normal_impulse;
      closings += step.closed;
      // The residual of complementarity problems is 1e-10 of their terms.
      ASSERT_LE(step.ds, ds * (1 + 1e-9));
      ASSERT_GE(step.dt, 0);
      for (const InclusionContact& contact : step.contacts) {
        ASSERT_GE(contact.normal_impulse, 0);
        // Residuals of 1e-10 of the terms of the problem, velocities of up to 10 m/s and impulses.
        ASSERT_LE(contact.friction.norm(), scene.world.surface.friction * contact.normal_impulse + 1e-9 * (1 + ds));
        ASSERT_LE(std::abs(contact.friction.dot(contact.normal)), 1e-12 * ds);
      }
      dynamics.set_position(before.q);
      const double K0 = dynamics.kinetic_energy(before.v), K1 = dynamics.kinetic_energy(state.v);
      if (step.dt == 0) {
        ++colliding;
        ASSERT_TRUE(same_bits(state.q, before.q) && state.time == before.time);
        ASSERT_LE(K1, K0 * (1 + 1e-9));
      } else if (step.mode == InclusionMode::boundary) {
        ++boundary;
        // K1 <= K0 + dt f.v': theory (16.10), up to a quarter of rest_speed left along normals and tangents.
        Eigen::VectorXd f(scene.model.nv());
        dynamics.bias_force(before.v, Vec3(0, 0, -kGravity), f);
        for (const Joint& joint : scene.model.joints())
          for (int i = 0; i < velocity_count(joint.type); ++i)
            f(joint.v_index + i) += joint.damping * before.v(joint.v_index + i);
        ASSERT_LE(K1, K0 - step.dt * f.dot(state.v) + 1e-9 * K0 +
                          (1 + scene.world.surface.friction) * options.event.rest_speed * step.normal_impulse)
            << "scene " << scene_index << " step " << k;
      } else {
        ASSERT_EQ(step.normal_impulse, 0);
      }
    }
    ASSERT_NEAR(s - state.time, impulse, kRounding * (1 + s));
  }
  // Enough of everything has happened.
  EXPECT_GT(colliding, 10000);
  EXPECT_GT(boundary, 5000);
  EXPECT_GT(closings, 1000);
  EXPECT_LT(deepest, 0);
}

// Theorem 9: while contacts approach, the velocity follows the inclusion of impacts. A block lands flat on two corners:
// whatever the rates, impulses stay below the bound of theory (14.11) and outcomes below those of (14.12), and some
// selections rest, some rock to the left and some to the right, as far as the sequence "one corner, then the other".
TEST(Inclusion, ImpactsEndWhereTheSetOfOutcomesAllows) {
  const Model model = box(0.19, Vec3(0.03722, 0.03722, 0.08047), true);
  const World world = floor_world(model, 1);
  Eigen::VectorXd q(3), v(3);
  q << 0, 0.08047, 0;
  v << 0, -0.1401, 0;
  const State start = make_state(model, q, v);
  const ImpactProblem problem = Inclusion(model, world).impact_problem(start);
  ASSERT_EQ(problem.contacts(), 2);
  OutcomeOptions sampling;
  sampling.samples = 2000;
  const OutcomeSet set = sample_outcomes(problem, sampling);
  const double speed = std::sqrt(problem.v.dot(problem.M * problem.v));
  double left = 0, right = 0;
  int at_rest = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Inclusion inclusion(model, world, random_selection(seed));
    State state = start;
    double impulse = 0;
    while (inclusion.mode(state) == InclusionMode::colliding) {
      const InclusionStep step = inclusion.advance(state, 1e-3);
      ASSERT_TRUE(step.advanced()) << step.reason;
      ASSERT_EQ(step.dt, 0);
      impulse += step.normal_impulse;
    }
    ASSERT_TRUE(same_bits(state.q, start.q) && state.time == start.time);
    EXPECT_LE(impulse, set.impulse_bound);
    for (const OutcomeExtreme& extreme : set.extremes)
      EXPECT_LE(extreme.direction.dot(state.v), extreme.bound + EventOptions{}.rest_speed);
    const Eigen::VectorXd rates = problem.Jn * state.v;
    left = std::max(left, rates(0));
    right = std::max(right, rates(1));
    at_rest += std::sqrt(state.v.dot(problem.M * state.v)) <= 1e-6 * speed;
  }
  // The extremes of the set, found by a search of its own. Increments of 1e-3 N s, 4 % of the impulse of this impact,
  // take the change from one corner to the other at most one increment late.
  ASSERT_GT(set.range(problem.Jn.row(0)).upper, 0.02);
  EXPECT_LE(left, set.range(problem.Jn.row(0)).upper * (1 + 1e-6));
  EXPECT_LE(right, set.range(problem.Jn.row(1)).upper * (1 + 1e-6));
  EXPECT_GE(left, 0.9 * set.range(problem.Jn.row(0)).upper);
  EXPECT_GE(right, 0.9 * set.range(problem.Jn.row(1)).upper);
  EXPECT_GT(at_rest, 0);
}

// Theorem 10 and corollary 2. On a level floor the normal impulses are vertical: their sum is m g t + m (w - w0), w the
// vertical velocity of the centre of mass, so that s = t (1 + m g) + m (w - w0) whatever is selected. Energy bounds w
// by sqrt(2 E/m), E = K + m g z at the start: t/s >= (1 - 2 m sqrt(2 E/m)/s)/(1 + m g), which is positive for large s.
// No impact takes more impulse than (14.11) allows.
TEST(Inclusion, TimeAdvancesInProportionToS) {
  Random random(3);
  for (int trial = 0; trial < 30; ++trial) {
    const bool planar = trial % 2 == 0;
    const double mass = uniform(random, 0.2, 2), ds = uniform(random, 0.005, 0.05);
    const Model model = box(mass, Vec3(0.1, 0.15, 0.2), planar);
    const World world = floor_world(model, uniform(random, 0, 1));
    Inclusion inclusion(model, world, random_selection(static_cast<std::uint64_t>(trial)));
    Eigen::VectorXd q = model.neutral_position(), v(model.nv());
    const int z = planar ? 1 : 2;
    q(z) = uniform(random, 0.3, 0.5);
    for (double& x : v) x = uniform(random, -2, 2);
    State state = make_state(model, q, v);
    const double energy = kinetic_energy(model, q, v) + mass * kGravity * q(z), fastest = std::sqrt(2 * energy / mass);
    // As far as twice where the bound becomes positive.
    const double end = 4 * mass * fastest;
    double s = 0, used = 0, bound = 0;  // impulse of the impact at hand, and its bound
    for (int k = 0; s < end; ++k) {
      ASSERT_LT(k, 20000);
      if (inclusion.mode(state) != InclusionMode::colliding) {
        used = bound = 0;
      } else if (bound == 0) {
        OutcomeOptions sampling;
        sampling.samples = 1;
        sampling.directions = Eigen::MatrixXd::Zero(1, model.nv());
        sampling.directions(0, 0) = 1;
        bound = sample_outcomes(inclusion.impact_problem(state), sampling).impulse_bound;
        ASSERT_TRUE(std::isfinite(bound));
      }
      const InclusionStep step = inclusion.advance(state, ds);
      ASSERT_TRUE(step.advanced()) << step.reason << ", trial " << trial << " step " << k;
      s += step.ds;
      if (bound > 0) {
        used += step.normal_impulse;
        ASSERT_LE(used, bound);
      }
      // Residuals of 1e-10 of the terms of each step.
      ASSERT_NEAR(s, state.time * (1 + mass * kGravity) + mass * (state.v(z) - v(z)), 1e-9 * (1 + s));
      ASSERT_GE(state.time / s, (1 - 2 * mass * fastest / s) / (1 + mass * kGravity));
    }
    EXPECT_GT(state.time, 0.5 * end / (1 + mass * kGravity));
  }
}

// A point without extent flies at 20 m/s through a plate of 2 mm, in one step of 0.2 s: it stops at the plate.
TEST(Inclusion, FastPointsDoNotTunnel) {
  const Model model = box(1, Vec3(0.1, 0.1, 0.1), true);
  World world;
  world.add(box_collider(Pose{Mat3::Identity(), Vec3(2, 0, 0)}, Vec3(0.002, 1, 8)));
  world.add(point_collider(BodyIndex(0), Vec3::Zero(), 0, "centre"));
  world.gravity.setZero();
  Inclusion inclusion(model, world);
  State state = make_state(model);
  state.v(0) = 20;
  const InclusionStep step = inclusion.advance(state, 0.2);
  ASSERT_TRUE(step.advanced()) << step.reason;
  EXPECT_TRUE(step.closed);
  EXPECT_NEAR(state.q(0), 1.999, EventOptions{}.touch);
  EXPECT_NEAR(state.time, 1.999 / 20, kRounding);
  ASSERT_EQ(step.contacts.size(), 1u);
  EXPECT_NEAR(step.contacts[0].normal_velocity, -20, kRounding);
  EXPECT_EQ(inclusion.mode(state), InclusionMode::colliding);
}

// In the ground q does not move while the ball approaches: quadrant III of Fig. 7.4. What parts, leaves; what rests,
// stays.
TEST(Inclusion, PenetratingStatesFlowVertically) {
  const Model model = ball(1);
  const World world = floor_world(model, 0);
  Inclusion inclusion(model, world);
  for (const double depth : {1e-6, 0.01, 0.5}) {
    State state = make_state(model);
    state.q(0) = -depth;
    state.v(0) = -2;
    while (state.v(0) < -1e-6) {
      const InclusionStep step = inclusion.advance(state, 0.3);
      ASSERT_TRUE(step.advanced()) << step.reason;
      ASSERT_EQ(step.mode, InclusionMode::colliding);
      ASSERT_EQ(state.q(0), -depth);
      ASSERT_EQ(state.time, 0);
      ASSERT_NEAR(step.ds, state.v(0) < -1e-6 ? 0.3 : 0.2, kRounding);  // 2 = 6 x 0.3 + 0.2
    }
    const InclusionStep rest = inclusion.advance(state, 0.3);
    EXPECT_EQ(rest.mode, InclusionMode::boundary);
    EXPECT_NEAR(state.q(0), -depth, EventOptions{}.touch);
    state.v(0) = 0.5;
    const double before = state.q(0);
    const InclusionStep out = inclusion.advance(state, 0.01);
    EXPECT_EQ(out.mode, InclusionMode::separating);
    EXPECT_NEAR(state.q(0), before + 0.01 * 0.5 - 0.5 * kGravity * 1e-4, kRounding);
  }
}

// Point A is 0.9 nm deep, B 1.05 nm above the floor. Lifting A alone turns this body of little inertia: J M^-1 J^T says
// that B sinks by (10 - 1)/(2 + 1) = 3 times as much. Within 1 nm both can be had by lifting the body.
TEST(Inclusion, GapsAreClosedWithoutPushingOthersIn) {
  Body body;
  body.name = "body";
  body.mass = 1;
  body.inertia = 0.005 * Mat3::Identity();
  Joint joint;
  joint.name = "base";
  joint.type = JointType::planar;
  joint.axis = Vec3::UnitY();
  const Model model = ModelBuilder("lever")
                          .add_body(body, "world", joint)
                          .add_contact_point("body", contact_point("A", Vec3(0.1, 0, -0.1)))
                          .add_contact_point("body", contact_point("B", Vec3(-0.5, 0, -0.1)))
                          .build();
  const World world = floor_world(model, 0.5);
  Inclusion inclusion(model, world);
  Eigen::VectorXd q(3);
  q << 0, 0.1 - 0.575e-9, 3.25e-9;
  State state = make_state(model, q, Eigen::VectorXd::Zero(3));
  ASSERT_NEAR(inclusion.least_gap(state), -0.9e-9, 1e-14);
  for (int k = 0; k < 20; ++k) {
    const InclusionStep step = inclusion.advance(state, 0.01);
    ASSERT_TRUE(step.advanced()) << step.reason;
    EXPECT_GE(inclusion.least_gap(state), -0.25 * EventOptions{}.touch);
  }
}

// A point on the axis of a hinge, on the floor: nothing moves it, any force would hold it, and time goes by as if it
// were not there. (Taken for a contact, impulse could flow through it for ever.)
TEST(Inclusion, PointsThatCannotMoveTakeNoImpulse) {
  Random random(2);
  const Model model = rods(2, false, 0, random);  // hinge at 0.8 m
  World world;
  world.add(plane_collider(Vec3(0, 0, 0.8), Vec3::UnitZ()));
  world.add(plane_collider(Vec3(0, 0, 0.9), Vec3::UnitZ()));  // the same below the floor
  world.add(point_collider(BodyIndex(0), Vec3::Zero(), 0, "hinge"));
  World empty;
  Inclusion inclusion(model, world), reference(model, empty);
  State state = make_state(model, Eigen::Vector2d(0.7, -0.4), Eigen::Vector2d(1, 2)), free = state;
  for (int k = 0; k < 20; ++k) {
    const InclusionStep step = inclusion.advance(state, 0.02);
    ASSERT_TRUE(step.advanced()) << step.reason;
    ASSERT_EQ(step.mode, InclusionMode::separating);
    ASSERT_EQ(step.dt, 0.02);
    ASSERT_TRUE(reference.advance(free, 0.02).advanced());
  }
  EXPECT_TRUE(same_bits(state.q, free.q) && same_bits(state.v, free.v));
}

// Contact-free: a hanging chain with control, and a body that tumbles in space, against rk4 at steps of 0.1 ms, whose
// error is 1e-10 or less here.
TEST(Inclusion, FliesAsRungeKuttaDoesWithSmallSteps) {
  Random random(5);
  const Model chain = rods(3, false, 0, random), body = spheres(random);
  const World world;
  Control control(chain);
  control.kp.setConstant(8);
  control.kd.setConstant(0.3);
  control.torque << 0.5, -0.2, 0.1;
  Eigen::VectorXd tumbling(6);
  tumbling << 0.3, -0.2, 1, 4, -3, 5;
  struct Flight {
    const Model& model;
    Control control;
    State start;
  };
  for (const Flight& f :
       {Flight{chain, control, make_state(chain, Eigen::Vector3d(0.3, -0.4, 0.2), Eigen::Vector3d(1, -2, 3))},
        Flight{body, Control(body), make_state(body, body.neutral_position(), tumbling)}}) {
    State state = f.start, reference = f.start;
    Inclusion inclusion(f.model, world, f.control, {});
    const InclusionStep flight = inclusion.advance(state, 0.5);
    ASSERT_TRUE(flight.advanced()) << flight.reason;
    EXPECT_NEAR(flight.dt, 0.5, kRounding);
    StepOptions options;
    options.integrator = IntegratorType::rk4;
    options.dt = 1e-4;
    StepWorkspace workspace(f.model);
    for (int k = 0; k < 5000; ++k) ASSERT_TRUE(step(f.model, f.control, options, reference, workspace).converged());
    // Some hundred substeps of 1e-10 each, which grow by a factor of 10 at most.
    EXPECT_LE((state.q - reference.q).cwiseAbs().maxCoeff(), 1e-7);
    EXPECT_LE((state.v - reference.v).cwiseAbs().maxCoeff(), 1e-7);
  }
}

// Same seed, same bits; another seed, another of the solutions.
TEST(Inclusion, SolutionsAreDrawnFromTheSeedAlone) {
  Random random(11);
  const Model model = box(1, Vec3(0.1, 0.2, 0.3), false);
  const World world = floor_world(model, 0.6);
  const auto end = [&](std::uint64_t seed) {
    Inclusion inclusion(model, world, random_selection(seed));
    Eigen::VectorXd q = model.neutral_position(), v(6);
    q(2) = 0.4;
    v << 0.5, 0.2, -1, 0, 0, 0;
    State state = make_state(model, q, v);
    for (int k = 0; k < 150; ++k) EXPECT_TRUE(inclusion.advance(state, 0.02).advanced());
    return state_hash(state);
  };
  EXPECT_EQ(end(1), end(1));
  EXPECT_NE(end(1), end(2));
}

TEST(Inclusion, RejectsWhatItCannotUse) {
  const Model model = ball(1);
  const World world = floor_world(model, 0.5);
  const auto message = [](const auto& call) {
    try {
      call();
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  Inclusion inclusion(model, world);
  State state = make_state(model);
  EXPECT_EQ(message([&] { (void)inclusion.advance(state, 0); }), "inclusion: ds is 0, expected a number in (0, 10]");
  EXPECT_EQ(message([&] { (void)inclusion.advance(state, std::nan("")); }),
            "inclusion: ds is nan, expected a number in (0, 10]");
  State longer = state;
  longer.v.setZero(2);
  EXPECT_EQ(message([&] { (void)inclusion.advance(longer, 0.1); }),
            "inclusion: state has 1 positions and 2 velocities, expected 1 and 1");
  State broken = state;
  broken.v(0) = std::numeric_limits<double>::infinity();
  EXPECT_EQ(message([&] { (void)inclusion.mode(broken); }),
            "inclusion: state has a number that is not finite, expected finite ones");
  InclusionOptions options;
  options.max_dt = 0;
  EXPECT_EQ(message([&] { Inclusion(model, world, options); }),
            "inclusion: max_dt is 0, expected a number in (0, 1] s");
  World coarse = world;
  coarse.impact.friction_directions = 2;
  EXPECT_EQ(message([&] { Inclusion(model, coarse); }), "friction_directions: 2, expected 3 to 64");
  World elsewhere = world;
  elsewhere.colliders.back().body = BodyIndex(3);
  EXPECT_EQ(message([&] { Inclusion(model, elsewhere); }),
            "collider \"surface\": its body is 3, expected one of the 1 of model ball");
}

}  // namespace
}  // namespace scree
