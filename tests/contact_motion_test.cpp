// Motions with contact whose outcome is known: boxes that fall, slide and stick, a ball that rolls, robots that stand.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "scree/simulation.h"
#include "support/contact_robots.h"
#include "support/paths.h"

namespace scree {
namespace {

constexpr double kGravity = 9.81;  // [m/s^2]
constexpr IntegratorType kNmdp[] = {IntegratorType::ne_nmdp, IntegratorType::pbd_nmdp, IntegratorType::ne_zonmdp,
                                    IntegratorType::pbd_zonmdp};

bool zeroth_order(IntegratorType type) {
  return type == IntegratorType::ne_zonmdp || type == IntegratorType::pbd_zonmdp;
}

std::string name_of(IntegratorType integrator, Dissipation dissipation, double dt) {
  return std::string(integrator_name(integrator)) + " " + dissipation_name(dissipation) + " dt " + std::to_string(dt);
}

Model load(const std::string& name) { return load_urdf(source_dir() + "/models/" + name + ".urdf"); }

StepOptions options_of(IntegratorType integrator, Dissipation dissipation, double dt) {
  StepOptions options;
  options.integrator = integrator;
  options.dissipation = dissipation;
  options.dt = dt;
  return options;
}

// Ground through the origin that falls by `slope` [rad] along +x, which is a direction of the friction pyramid.
World on_slope(const Model& model, const CoulombOptions& law, double slope = 0, double friction = 0.7) {
  World world;
  world.surface.friction = friction;
  world.add(plane_collider(Vec3::Zero(), Vec3(std::sin(slope), 0, std::cos(slope))));
  world.law = make_coulomb(law);
  world.add(contact_candidates(model, ContactCandidates::named));
  return world;
}

Vec3 total_force(const Simulation& s) {
  Vec3 sum = Vec3::Zero();
  for (const Contact& contact : s.contacts()) sum += contact.force;
  return sum;
}

// A body with one contact sphere at its centre; r = 0: a point mass on two translations and a turn that nothing drives.
Model ball(double mass, double r, bool planar) {
  ModelBuilder builder("ball");
  Body body;
  body.name = "ball";
  body.mass = mass;
  body.inertia = (r > 0 ? 0.4 * mass * r * r : 0.01) * Mat3::Identity();
  Joint joint;
  joint.name = "base";
  joint.type = planar ? JointType::planar : JointType::floating;
  joint.axis = planar ? Vec3::UnitY() : Vec3::UnitX();
  builder.add_body(body, "world", joint);
  ContactPoint point;
  point.name = "centre";
  point.radius = r;
  builder.add_contact_point("ball", point);
  return builder.build();
}

// While a flat box falls in, the ground takes its whole force, and gives none of it back: the box stops where the work
// of the law is the energy of the fall,
//   n c d^(p+1) / (p+1) = m g (H + d),   n points of share m g/N at `depth`: n c = (n/N) m g / depth^p.
// Implicit steps take the force at the end of the step, which is larger, and stop earlier; ne-mdp takes it at the start
// and overshoots by up to a step of the fall, h sqrt(2 g H).
TEST(ContactMotion, ABoxThatFallsStopsWhereTheLawHasTakenItsEnergy) {
  constexpr double H = 0.3;  // [m]
  CoulombOptions law;
  law.depth = test::kSoft;
  for (const char* name : {"box-planar", "box"}) {
    const Model model = load(name);
    const int z = model.nv() == 3 ? 1 : 2;
    const double in_use = model.nv() == 3 ? 1 : 0.5;  // n/N: two of two, or four of eight corners
    double d = 0.05;
    for (int k = 0; k < 100; ++k) d = std::pow(4 * std::pow(*law.depth, 3) * (H + d) / in_use, 0.25);
    for (const IntegratorType integrator : test::kContactIntegrators) {
      for (const Dissipation dissipation : {Dissipation::contact, Dissipation::total, Dissipation::effective}) {
        for (const double dt : {0.05, 0.01, 0.001}) {
          SCOPED_TRACE(std::string(name) + " " + name_of(integrator, dissipation, dt));
          Simulation s(model, on_slope(model, law), options_of(integrator, dissipation, dt));
          Eigen::VectorXd q = model.neutral_position();
          q(z) = 0.25 + H;
          s.set_state(q, Eigen::VectorXd::Zero(model.nv()));
          double energy = kGravity * q(z);
          StepReport report;
          for (int k = 0; k * dt < 0.6; ++k) {
            report = s.step();
            ASSERT_TRUE(report.converged());
            const double now = report.kinetic_energy + report.potential_energy;
            // The contact takes energy or none. What is left of an equation, 1e-8 m/s^2 of 1 kg, lifts the box with up
            // to 1e-8 h and costs m g h of that, and the gap is 1e-10 J.
            if (report.contacts > 0) {
              EXPECT_LE(now, energy + 1e-9);
            }
            energy = now;
          }
          EXPECT_LE(s.state().v.cwiseAbs().maxCoeff(), 1e-8);
          // 1e-8 m/s^2 of 1 kg. Forces across the plane of a planar model meet no resistance and mean nothing.
          EXPECT_NEAR(total_force(s).z(), kGravity, 1e-7);
          EXPECT_NEAR(total_force(s).x(), 0, 1e-7);
          EXPECT_GE(report.penetration, *law.depth * std::pow(1 / in_use, 1.0 / 3) - 1e-9);  // else it would sink
          if (integrator == IntegratorType::ne_mdp) {
            EXPECT_LE(report.penetration, d + dt * std::sqrt(2 * kGravity * (H + d)));
          } else {
            EXPECT_LE(report.penetration, d + 1e-9);
          }
          // A step of the fall is h sqrt(2 g H) = 2.4 mm at 1 ms.
          if (dt <= 0.001) {
            EXPECT_NEAR(report.penetration, d, dt * std::sqrt(2 * kGravity * (H + d)));
          }
        }
      }
    }
  }
}

// m x'' = -mu m (z'' + g) while every corner slides, so x = v0 t - mu g t^2/2 - mu (z - z0): the way to rest is
// v0^2 / (2 mu g) up to a few depths of the law (the box pitches and settles by one depth or two, over its half length
// of 0.25 m). Backward Euler brakes a step early: it loses v0 h/2, up to mu g h^2/8 for the last part of a step.
TEST(ContactMotion, ASlidingBoxStopsAfterTheCoulombDistance) {
  constexpr double mu = 0.5, v0 = 2, exact = v0 * v0 / (2 * mu * kGravity);
  const auto slide = [&](const Model& model, double height, IntegratorType integrator, Dissipation dissipation,
                         double depth, double dt) {
    CoulombOptions law;
    law.depth = depth;
    Simulation s(model, on_slope(model, law, 0, mu), options_of(integrator, dissipation, dt));
    s.set_state(Vec3(0, height - depth, 0), Vec3(v0, 0, 0));
    for (int k = 0; k * dt < 0.6; ++k) EXPECT_TRUE(s.step().converged());
    // At rest up to the gap of 1e-10 J at which the search for the forces ends: unit masses, at most two contacts, and
    // a turn that counts by the half length of 0.25 m.
    EXPECT_LE(s.state().v.cwiseAbs().maxCoeff(), std::sqrt(2 * 1e-10) / 0.25);
    return s.state().q(0);
  };
  const auto check = [&](const Model& model, double height, IntegratorType integrator, Dissipation dissipation,
                         double depth) {
    double previous = 0;
    for (const double dt : {0.02, 0.01, 0.005, 0.0025}) {
      SCOPED_TRACE(model.name() + " " + name_of(integrator, dissipation, dt) + " depth " + std::to_string(depth));
      const double x = slide(model, height, integrator, dissipation, depth, dt);
      const double slack = depth + mu * kGravity * dt * dt / 8;
      EXPECT_LE(x, exact + slack - (zeroth_order(integrator) ? 0 : v0 * dt / 2));  // which may subdivide its steps
      EXPECT_GE(x, exact - slack - v0 * dt / 2);
      if (previous > 0 && depth == 1e-4 && !zeroth_order(integrator)) {
        const double order = std::log2((exact - previous) / (exact - x));
        EXPECT_NEAR(order, 1, 0.1);  // depth 1e-4 and h^2 terms against v0 h/2 = 2.5e-3: 4 %, some 0.06 in log2
      }
      previous = x;
    }
  };
  const Model box = load("box-planar"), point = ball(3, 0, true);
  for (const Dissipation dissipation : {Dissipation::total, Dissipation::effective}) {
    for (const IntegratorType integrator : {IntegratorType::ne_nmdp, IntegratorType::pbd_nmdp})
      for (const double depth : {1e-2, 1e-3, 1e-4}) check(box, 0.25, integrator, dissipation, depth);
    for (const IntegratorType integrator : {IntegratorType::ne_zonmdp, IntegratorType::pbd_zonmdp})
      check(box, 0.25, integrator, dissipation, 1e-3);
  }
  // Dissipation::contact is Coulomb's law for one contact only: with two it lets one sink to slow the other.
  for (const IntegratorType integrator : kNmdp)
    for (const double depth : {1e-2, 1e-4}) check(point, 0, integrator, Dissipation::contact, depth);
  // The linearised baseline bounces on stiff ground: here only what it can do.
  EXPECT_NEAR(slide(box, 0.25, IntegratorType::ne_mdp, Dissipation::total, 1e-2, 0.00125), exact - v0 * 0.00125 / 2,
              1e-2);
}

// The two discretisations of a spinning and sliding box differ by O(h): apart/h stays within bounds while h falls by
// 128. Whenever the slip of a corner passes from one edge of the friction polygon to the next, the force turns at the
// end of a step, so what a pass contributes depends on where in a step it falls: up to its whole size, which is O(h),
// or nothing. With 6 edges passes are few, and apart/h varies by a factor of 1.14; with 4 to 64 edges it varies by up
// to 2.4 (12 edges), without a trend. 3 allows an order of 1 - log2(3)/7 = 0.77 at least.
TEST(ContactMotion, BothDiscretisationsConvergeToEachOther) {
  const Model model = load("box");
  for (const int directions : {6, CoulombOptions{}.directions}) {
    CoulombOptions law;
    law.depth = 1e-2;
    law.directions = directions;
    const auto end = [&](IntegratorType integrator, double dt) {
      Simulation s(model, on_slope(model, law, 0, 0.5), options_of(integrator, Dissipation::effective, dt));
      Eigen::VectorXd q = model.neutral_position(), v = Eigen::VectorXd::Zero(6);
      q(2) = 0.25 - *law.depth;
      v << 1, 0.3, 0, 0, 0, 4;
      s.set_state(q, v);
      for (int k = 0; k * dt < 0.16 - dt / 2; ++k) EXPECT_TRUE(s.step().converged());
      return s.state().q;
    };
    double least = std::numeric_limits<double>::infinity(), most = 0, previous = 0;
    for (double dt = 8e-3; dt > 6e-5; dt /= 2) {
      const double apart = (end(IntegratorType::ne_nmdp, dt) - end(IntegratorType::pbd_nmdp, dt)).norm();
      least = std::min(least, apart / dt);
      most = std::max(most, apart / dt);
      if (directions == 6 && previous > 0) {
        EXPECT_NEAR(std::log2(previous / apart), 1, 0.2) << dt;
      }
      previous = apart;
    }
    EXPECT_GT(least, 0) << directions;
    EXPECT_LE(most, 3 * least) << directions;
  }
}

TEST(ContactMotion, ABoxOnASlopeSticksBelowTheFrictionAngleAndSlidesAbove) {
  constexpr double mu = 0.5;  // 26.57 degrees
  const Model model = load("box-planar");
  CoulombOptions law;
  law.depth = 1e-3;
  for (const IntegratorType integrator : test::kContactIntegrators) {
    for (const Dissipation dissipation : {Dissipation::contact, Dissipation::total, Dissipation::effective}) {
      for (const double degrees : {25.0, 28.0}) {
        const double a = degrees * M_PI / 180, dt = integrator == IntegratorType::ne_mdp ? 0.001 : 0.005;
        const bool slides = std::tan(a) > mu;
        if (slides && dissipation == Dissipation::contact) continue;  // not Coulomb's law for two contacts, see above
        SCOPED_TRACE(name_of(integrator, dissipation, dt) + " slope " + std::to_string(degrees));
        Simulation s(model, on_slope(model, law, a, mu), options_of(integrator, dissipation, dt));
        // Pressed in a little further than it needs: cos(a)^(1/3) depths carry its weight.
        const Vec3 centre = (0.25 - *law.depth) * Vec3(std::sin(a), 0, std::cos(a));
        s.set_state(Vec3(centre.x(), centre.z(), a), Vec3::Zero());
        const auto run = [&](double time) {
          for (int k = 0; k * dt < time - dt / 2; ++k) ASSERT_TRUE(s.step().converged());
        };
        // Along the slope v_a' = g sin - mu N, normal to it v_n' = N - g cos: however N varies while the box settles,
        // v_a + mu v_n grows by g (sin - mu cos), and by steps of h times that.
        const Vec3 along(std::cos(a), 0, -std::sin(a)), normal(std::sin(a), 0, std::cos(a));
        const auto speed = [&](const Vec3& direction) {
          return s.state().v(0) * direction.x() + s.state().v(1) * direction.z();
        };
        run(0.3);
        const double before = speed(along + mu * normal);
        run(0.5);
        if (slides) {
          const double expected = kGravity * (std::sin(a) - mu * std::cos(a));
          EXPECT_NEAR((speed(along + mu * normal) - before) / 0.5, expected, 1e-6);
          if (integrator != IntegratorType::ne_mdp) {  // which bounces on stiff ground
            EXPECT_NEAR(speed(along) / 0.8, expected, 0.01 * expected);
          }
        } else {
          EXPECT_LE(s.state().v.cwiseAbs().maxCoeff(), 1e-6);
          // It stays where it settled: the corners share the load anew, by a depth over the length of the box.
          EXPECT_LE(Vec3(s.state().q(0) - centre.x(), 0, s.state().q(1) - centre.z()).norm(), 2 * *law.depth);
        }
      }
    }
  }
}

// Static friction makes a ball roll: m a = m g sin - f, (2/5) m r^2 a/r = f r, a = 5/7 g sin. The force acts at the
// surface point, r below the centre, whatever the depth; its velocity is zero at the end of every step, so v = w r and
// v_(n+1) - v_n = a h hold exactly: what is left is that the ball settles in the ground over the first steps.
TEST(ContactMotion, ABallRollsDownASlopeWithoutSlipping) {
  constexpr double r = 0.1, slope = 0.35;
  const double a = 5.0 / 7 * kGravity * std::sin(slope);
  CoulombOptions law;
  law.depth = 1e-3;
  for (const bool planar : {true, false})
    for (const IntegratorType integrator : test::kContactIntegrators)
      for (const Dissipation dissipation : {Dissipation::contact, Dissipation::total, Dissipation::effective}) {
        const double dt = 0.002;
        if (zeroth_order(integrator) && dissipation == Dissipation::total) continue;  // slow: subdivides every step
        SCOPED_TRACE(name_of(integrator, dissipation, dt) + (planar ? " planar" : " spatial"));
        const Model model = ball(2, r, planar);
        Simulation s(model, on_slope(model, law, slope), options_of(integrator, dissipation, dt));
        Eigen::VectorXd q = model.neutral_position();
        const Vec3 centre = (r - *law.depth) * Vec3(std::sin(slope), 0, std::cos(slope));
        q(0) = centre.x();
        q(planar ? 1 : 2) = centre.z();
        s.set_state(q, Eigen::VectorXd::Zero(model.nv()));
        for (int k = 0; k < 250; ++k) ASSERT_TRUE(s.step().converged());
        const Eigen::VectorXd& v = s.state().v;
        const double along = v(0) * std::cos(slope) - v(planar ? 1 : 2) * std::sin(slope), turn = v(planar ? 2 : 4);
        // The position-based scheme slows rotation by a part w h/2 (theory section 4), 3.5 and 12 rad/s: 1 %.
        const bool exact = integrator != IntegratorType::pbd_nmdp && integrator != IntegratorType::pbd_zonmdp;
        EXPECT_NEAR(along / 0.5, a, a * (exact ? 1e-6 : 24 * dt / 2));
        EXPECT_NEAR(along, r * turn, exact ? 1e-6 : r * 24 * dt / 2);
      }
}

// Where a tread meets a riser a corner has two contacts: one carries the box, the other one stops it.
TEST(ContactMotion, ACornerInACornerHasTwoContacts) {
  const Model model = load("box-planar");
  CoulombOptions law;
  law.depth = 1e-3;
  World world = on_slope(model, law, 0, 0.2);
  world.gravity = Vec3(3, 0, -kGravity);  // pulls it into the corner: friction holds 2 m/s^2 of it
  Stairs stairs;
  stairs.steps = 1;
  stairs.rise = 0.15;
  stairs.tread = 0.3;
  stairs.width = 2;
  world.add(stairs_colliders({Mat3::Identity(), Vec3(0.3, 0, 0)}, stairs));
  ASSERT_EQ(world.colliders.size(), 4u);  // the floor, two corners, the step
  for (const IntegratorType integrator : kNmdp) {
    for (const Dissipation dissipation : {Dissipation::total, Dissipation::effective}) {
      SCOPED_TRACE(name_of(integrator, dissipation, 0.005));
      Simulation s(model, world, options_of(integrator, dissipation, 0.005));
      s.set_state(Vec3(0.04, 0.25 - *law.depth, 0), Vec3::Zero());
      for (int k = 0; k < 200; ++k) ASSERT_TRUE(s.step().converged());
      EXPECT_LE(s.state().v.cwiseAbs().maxCoeff(), 1e-6);
      bool floor = false, riser = false;
      for (const Contact& contact : s.contacts()) {
        if (contact.a != 2) continue;
        floor |= contact.b == 0 && contact.normal.isApprox(Vec3::UnitZ());
        riser |= contact.b == 3 && contact.normal.isApprox(-Vec3::UnitX()) && contact.force.x() < -1;
      }
      EXPECT_TRUE(floor);
      EXPECT_TRUE(riser);
      EXPECT_NEAR(s.state().q(0), 0.05 + *law.depth, 5 * *law.depth);
      EXPECT_NEAR(total_force(s).x(), -3, 1e-6);
      EXPECT_NEAR(total_force(s).z(), kGravity, 1e-6);
    }
  }
}

// One point carries the weight from `depth` on and not before. Deeper, it takes the part (depth/d)^p of the law.
TEST(ContactMotion, APointStaysFromTheDepthWhereTheLawCarriesItsWeight) {
  const Model model = ball(3, 0, true);
  for (const int exponent : {2, 3, 4}) {
    CoulombOptions law;
    law.exponent = exponent;
    law.depth = test::kSoft;
    for (const IntegratorType integrator : test::kContactIntegrators) {
      for (const double ratio : {1.5, 1.001, 0.999}) {
        SCOPED_TRACE(name_of(integrator, Dissipation::contact, 0.005) + " depth " + std::to_string(ratio));
        Simulation s(model, on_slope(model, law), options_of(integrator, Dissipation::contact, 0.005));
        s.set_state(Vec3(0, -ratio * *law.depth, 0), Vec3::Zero());
        ASSERT_TRUE(s.step().converged());
        const std::vector<double>& w = s.state().contact_weights;
        const double sum = std::accumulate(w.begin(), w.end(), 0.0);
        if (ratio > 1) {
          // a gap of 1e-10 J is a velocity of 1e-10 J / (m g h), for 1 kg, as the ground counts it
          EXPECT_LE(std::abs(s.state().v(1)), 4e-9);
          EXPECT_NEAR(sum, std::pow(ratio, -exponent), 1e-6);
        } else {
          // g (1 - ratio^p) h, less what the force grows on the way: p g h^2 / depth = 5 % of it
          const double fall = -kGravity * (1 - std::pow(ratio, exponent)) * 0.005;
          EXPECT_NEAR(s.state().v(1), fall, 0.1 * std::abs(fall));
          EXPECT_NEAR(sum, 1, 1e-9);
        }
      }
    }
  }
}

TEST(ContactMotion, TheAirForceActsAtAnyHeightAndOnlyIfAskedFor) {
  const Model model = ball(1, 0.1, false);
  for (const double air : {0.0, 3.0}) {
    CoulombOptions law;
    law.air_force = air;
    for (const IntegratorType integrator : test::kContactIntegrators) {
      SCOPED_TRACE(name_of(integrator, Dissipation::contact, 0.01) + " air " + std::to_string(air));
      Simulation s(model, on_slope(model, law), options_of(integrator, Dissipation::contact, 0.01));
      Eigen::VectorXd q = model.neutral_position();
      q(2) = 50;
      s.set_state(q, Eigen::VectorXd::Zero(6));
      for (int k = 0; k < 20; ++k) ASSERT_TRUE(s.step().converged());
      EXPECT_NEAR(s.state().v(2), (air - kGravity) * 0.2, 1e-7);  // 20 steps of h 1e-8, weights to 1e-10 J
      EXPECT_LE((total_force(s) - Vec3(0, 0, air)).norm(), 1e-6);
    }
  }
}

// Standing feet carry the weight, without a moment about the centre of mass.
TEST(ContactMotion, ARobotStandsInBalance) {
  for (const char* name : {"robosimian-planar", "spider-planar", "robosimian-spatial", "spider-spatial"}) {
    for (const IntegratorType integrator : {IntegratorType::ne_nmdp, IntegratorType::pbd_nmdp}) {
      for (const Dissipation dissipation : {Dissipation::contact, Dissipation::effective}) {
        const test::ContactRobot robot(name);
        SCOPED_TRACE(std::string(name) + " " + name_of(integrator, dissipation, 0.02));
        Simulation s(robot.model, robot.world, options_of(integrator, dissipation, 0.02));
        s.control() = robot.control;
        Eigen::VectorXd q = robot.stance;
        q(robot.height_index()) -= robot.lowest_foot(q);
        s.set_state(q, Eigen::VectorXd::Zero(robot.model.nv()));
        for (int k = 0; k < 100; ++k) ASSERT_TRUE(s.step().converged());
        ASSERT_EQ(s.contacts().size(), 4u);
        const double weight = robot.model.total_mass() * kGravity;
        // After 2 s the last 2e-5 m/s die out within a second: 2e-5 m/s^2, 2e-6 g, and less in x.
        EXPECT_LE(s.state().v.cwiseAbs().maxCoeff(), 1e-4);
        EXPECT_NEAR(total_force(s).z(), weight, 1e-4 * weight);
        EXPECT_NEAR(total_force(s).x(), 0, 1e-4 * weight);
        // Moments about the centre of mass balance as well, up to the same remainder with arms of up to 1 m.
        Vec3 com = Vec3::Zero(), moment = Vec3::Zero();
        const std::vector<Pose> poses = body_poses(robot.model, s.state().q);
        for (size_t i = 0; i < poses.size(); ++i)
          com += robot.model.bodies()[i].mass / robot.model.total_mass() * (poses[i] * robot.model.bodies()[i].com);
        for (const Contact& contact : s.contacts()) moment += (contact.position - com).cross(contact.force);
        EXPECT_NEAR(moment.y(), 0, 1e-4 * weight);
        if (!robot.planar()) {
          EXPECT_LE(moment.norm(), 1e-4 * weight);
        }
        if (!std::string(name).starts_with("spider")) continue;
        for (const Contact& contact : s.contacts()) {  // the Spider has two planes of symmetry
          EXPECT_NEAR(contact.force.z(), total_force(s).z() / 4, 1e-9 * weight);
          EXPECT_NEAR(std::abs(contact.force.x()), std::abs(s.contacts()[0].force.x()), 1e-9 * weight);
        }
      }
    }
  }
}

}  // namespace
}  // namespace scree
