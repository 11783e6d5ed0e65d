// The integrator `event`: motions through impacts whose course is known, and what a step promises, looked at anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "scree/error.h"
#include "scree/simulation.h"
#include "support/contact_robots.h"
#include "support/event_scenes.h"

namespace scree {
namespace {

using test::EventScene;
using test::smallest_gap;
using test::uniform;

constexpr double kGravity = 9.81;  // [m/s^2]

bool is_impact(const Event& event) {
  return event.kind == EventKind::impact || event.kind == EventKind::impact_without_collision;
}

// A body in the x-z plane (q = x, z, angle, which lowers +x), 1 kg, with contact points.
Model planar_body(double inertia, const std::vector<ContactPoint>& points) {
  ModelBuilder builder("planar");
  Body body;
  body.name = "body";
  body.mass = 1;
  body.inertia = Vec3(inertia, inertia, inertia).asDiagonal();
  Joint joint;
  joint.name = "base";
  joint.type = JointType::planar;
  joint.axis = Vec3::UnitY();
  builder.add_body(body, "world", joint);
  for (const ContactPoint& point : points) builder.add_contact_point("body", point);
  return builder.build();
}

ContactPoint point_at(const std::string& name, double x, double z, double radius = 0) {
  ContactPoint point;
  point.name = name;
  point.p_B = Vec3(x, 0, z);
  point.radius = radius;
  return point;
}

// 1 m wide, 2 m high: the block of section 5 of the reference on impacts.
Model block() {
  return planar_body(5.0 / 12, {point_at("left", -0.5, -1), point_at("right", 0.5, -1), point_at("top-left", -0.5, 1),
                                point_at("top-right", 0.5, 1)});
}

struct Course {
  std::vector<Event> events;
  StepReport last;
  double deepest = 0;  // [m]
};

struct Bench {
  Bench(const Model& m, double friction, ImpactLaw law, double restitution, double dt) : model(m), control(m) {
    world.add(plane_collider(Vec3::Zero(), Vec3::UnitZ(), "floor"));
    world.add(contact_candidates(model, ContactCandidates::named));
    world.surface.friction = friction;
    world.impact.law = law;
    world.surface.restitution = restitution;
    options.integrator = IntegratorType::event;
    options.dt = dt;
    state = make_state(model);
  }
  void start(const Eigen::VectorXd& q, const Eigen::VectorXd& v) { state = make_state(model, q, v); }
  Course run(double duration) {
    StepWorkspace workspace(model, world);
    Course course;
    const long steps = std::lround(duration / options.dt);
    for (long k = 0; k < steps; ++k) {
      course.last = step(model, control, options, state, workspace);
      course.events.insert(course.events.end(), workspace.events().begin(), workspace.events().end());
      if (!course.last.converged()) break;
      course.deepest = std::max(course.deepest, -smallest_gap(model, world, state.q));
    }
    return course;
  }
  Model model;
  World world;
  Control control;
  StepOptions options;
  State state{};
};

// Bounces at t_k = t_1 + 2 (v_1/g)(e + ... + e^(k-1)); the sum ends at t_1 (1 + e)/(1 - e).
TEST(Event, ABallBouncesWhenItShouldAndComesToRest) {
  for (const double e : {0.5, 0.9, 0.99}) {
    for (const ImpactLaw law : {ImpactLaw::poisson, ImpactLaw::moreau, ImpactLaw::gauss_seidel_max, ImpactLaw::routh,
                                ImpactLaw::restitution_blend}) {
      Bench bench(planar_body(0.1, {point_at("ball", 0, 0, 0.1)}), 0, law, e, 0.01);
      bench.start(Eigen::Vector3d(0, 1.1, 0), Eigen::Vector3d(0.3, 0, 0));
      const double t1 = std::sqrt(2 / kGravity), v1 = kGravity * t1, end = t1 * (1 + e) / (1 - e);
      const Course course = bench.run(std::ceil(end) + 1);
      ASSERT_TRUE(course.last.converged()) << course.last.reason;
      // A gap off by its rounding r = 1.4e-17 m changes the speed v of a bounce by g r/v, what is left of the sequence
      // by 2 r/(v (1 - e)), and all bounces together by 2 r/(v (1 - e)^2), v = 1e-6 m/s: 1.1e-10, 2.8e-9, 2.8e-7 s.
      // Signs vary.
      const double allowed = e <= 0.9 ? 1e-9 : 2.8e-7;
      double time = t1, v = v1;
      int bounces = 0;
      for (const Event& event : course.events) {
        if (!is_impact(event)) continue;
        EXPECT_NEAR(event.time, time, allowed) << e << " bounce " << bounces;
        EXPECT_NEAR(event.energy_after, e * e * (event.energy_before - 0.045) + 0.045, 1e-9);  // 0.3 m/s along x stay
        v *= e;
        time += 2 * v / kGravity;
        ++bounces;
      }
      EXPECT_EQ(bounces, static_cast<int>(std::ceil(std::log(1e-6 / v1) / std::log(e)))) << e;
      ASSERT_EQ(course.events.back().kind, EventKind::rest);
      // What is left out: bounces slower than rest_speed last 2 rest_speed/(g (1 - e)), 2e-5 s for e = 0.99.
      EXPECT_NEAR(course.events.back().time, end, 2e-6 / (kGravity * (1 - e)) + 1e-9);
      ASSERT_TRUE(course.events.back().bounces_end);
      // Signs as above: the last two intervals, 2e-7 s, are known to r/v = 1.4e-11 s, their ratio to 7e-5, and 1/(1 -
      // e)^2 of 2e-7 s times that are 1.4e-7 s.
      EXPECT_NEAR(*course.events.back().bounces_end, end, 1e-6);
      EXPECT_NEAR(bench.state.q(1), 0.1, 1e-12);
      EXPECT_LE(std::abs(bench.state.v(1)), 1e-12);
      EXPECT_NEAR(bench.state.q(0), 0.3 * bench.state.time, 1e-9);
    }
  }
}

// Where bounces fall within a step plays no part.
TEST(Event, BouncesDoNotDependOnTheStep) {
  std::vector<double> times[2];
  for (int k = 0; k < 2; ++k) {
    Bench bench(planar_body(0.1, {point_at("ball", 0, 0, 0.1)}), 0, ImpactLaw::poisson, 0.8, k == 0 ? 0.5 : 0.0037);
    bench.start(Eigen::Vector3d(0, 0.7, 0), Eigen::Vector3d(0, 1, 0));
    for (const Event& event : bench.run(3.0).events)
      if (is_impact(event)) times[k].push_back(event.time);
  }
  ASSERT_EQ(times[0].size(), times[1].size());
  for (size_t i = 0; i < times[0].size(); ++i) EXPECT_NEAR(times[0][i], times[1][i], 1e-9);
}

// theta'' = -(m g l/I_P) sin(beta - theta) about the corner it turns on, until theta = 0 again. [s]
double half_cycle(double spin) {
  const double l = std::sqrt(1.25), beta = std::atan(0.5), k = kGravity * l / (5.0 / 12 + 1.25);
  double theta = 0, w = spin, t = 0;
  const double h = 1e-5;
  const auto acceleration = [&](double x) { return -k * std::sin(beta - x); };
  while (true) {
    const double k1 = w, a1 = acceleration(theta), k2 = w + h / 2 * a1, a2 = acceleration(theta + h / 2 * k1);
    const double k3 = w + h / 2 * a2, a3 = acceleration(theta + h / 2 * k2), k4 = w + h * a3,
                 a4 = acceleration(theta + h * k3);
    const double next = theta + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
    if (next < 0) return t + h * theta / (theta - next);  // 1e-10 s: the curvature of theta within h
    theta = next;
    w += h / 6 * (a1 + 2 * a2 + 2 * a3 + a4);
    t += h;
  }
}

// Each impact multiplies the spin by 0.7, and the block comes to rest after rocking without end.
TEST(Event, ARockingBlockLosesAThirdOfItsSpinAtEveryImpact) {
  double error[2];
  for (int k = 0; k < 2; ++k) {
    Bench bench(block(), 1.5, ImpactLaw::anitescu_potra, 0, k == 0 ? 2e-3 : 1e-3);
    bench.start(Eigen::Vector3d(0, 1, 0), Eigen::Vector3d(-1, 0.5, -1));  // about the left corner, 1 rad/s
    const Course course = bench.run(3);
    ASSERT_TRUE(course.last.converged()) << course.last.reason;
    int impacts = 0;
    double spin = 1, time = 0;
    error[k] = 0;
    for (const Event& event : course.events) {
      if (!is_impact(event)) continue;
      EXPECT_EQ(event.contacts.size(), 2u);
      // Both corners are within 1e-12 m of the ground, and the one it turned on does not move, but for rounding: of the
      // last spins, 1e-6 rad/s, that is 1e-16/1e-6.
      EXPECT_NEAR(event.v_after(2) / event.v_before(2), 0.7, 1e-10) << impacts;
      if (impacts < 5) {
        time += half_cycle(spin);
        error[k] = std::max(error[k], std::abs(event.time - time));
        spin *= 0.7;  // nothing is lost between impacts
      }
      ++impacts;
    }
    // 0.7^n = rest_speed/1 m of width: n = 39.
    EXPECT_NEAR(impacts, 39, 1);
    EXPECT_LE(bench.state.v.norm(), 1e-12);
    EXPECT_NEAR(bench.state.q(1), 1, 1e-9);
    EXPECT_NEAR(bench.state.q(2), 0, 1e-9);
    EXPECT_LE(course.deepest, bench.options.event.touch);
    ASSERT_TRUE(course.events.back().bounces_end || course.events[course.events.size() - 2].bounces_end);
  }
  EXPECT_LT(error[1], 1e-5);            // [s]
  EXPECT_LT(error[1], error[0] / 3.0);  // of second order
}

// A tip that turns fast and touches the ground in passing: l (1 - cos w t) = depth before its lowest place.
TEST(Event, AFastTipDoesNotSlipThroughTheGround) {
  const double l = 0.5, spin = 20;
  for (const double depth : {1e-3, 1e-6, 1e-8}) {
    const Model rod = planar_body(l * l / 3, {point_at("tip", 0, -l)});
    Bench bench(rod, 0, ImpactLaw::poisson, 1, 1);
    bench.world.gravity.setZero();
    const double start = -1.1;  // [rad] from its lowest place
    bench.start(Eigen::Vector3d(0, l - depth, start), Eigen::Vector3d(0, 0, spin));
    StepWorkspace workspace(bench.model, bench.world);
    ASSERT_TRUE(step(bench.model, bench.control, bench.options, bench.state, workspace).converged());
    ASSERT_FALSE(workspace.events().empty()) << depth;
    // The gap falls at w l sin(angle); near the lowest place rounding of 1e-16 m is 1e-16/(w l angle) in time.
    const double angle = std::acos(1 - depth / l);
    EXPECT_NEAR(workspace.events().front().time, (-start - angle) / spin, 1e-11) << depth;
  }
}

// A point that flies past a thin wall, or into it, however long the step.
TEST(Event, NothingFliesThroughThinWalls) {
  for (const double top : {0.9, 1.1}) {
    Bench bench(planar_body(0.1, {point_at("ball", 0, 0, 0.05)}), 0, ImpactLaw::poisson, 1, 0.5);
    bench.world.gravity.setZero();
    bench.world.add(box_collider({Mat3::Identity(), Vec3(2, 0, top / 2)}, Vec3(0.01, 1, top), "wall"));
    bench.start(Eigen::Vector3d(0, 1, 0), Eigen::Vector3d(30, 0, 0));
    const Course course = bench.run(0.5);
    ASSERT_TRUE(course.last.converged()) << course.last.reason;
    ASSERT_EQ(course.events.size(), top > 1 ? 1u : 0u);
    if (top > 1) {
      EXPECT_NEAR(course.events[0].time, (2 - 0.005 - 0.05) / 30, 1e-12);
    }
    EXPECT_NEAR(bench.state.v(0), top > 1 ? -30 : 30, 1e-12);
  }
}

// A wall of 10 um, one metre away, within one step: the point reaches it first, so steps shrink with the gap and do not
// have to be as short as the wall is thin. What it costs is counted.
TEST(Event, AThinWallIsMetInAFewStepsHoweverFast) {
  for (const double speed : {100.0, 1000.0}) {
    Bench bench(planar_body(0.1, {point_at("ball", 0, 0, 0.05)}), 0, ImpactLaw::poisson, 1, 0.02);
    bench.world.gravity.setZero();
    bench.world.add(box_collider({Mat3::Identity(), Vec3(1, 0, 0.5)}, Vec3(1e-5, 1, 3), "wall"));
    bench.start(Eigen::Vector3d(0, 1, 0), Eigen::Vector3d(speed, 0, 0));
    const Course course = bench.run(0.02);
    ASSERT_TRUE(course.last.converged()) << course.last.reason;
    ASSERT_EQ(course.events.size(), 1u);
    EXPECT_NEAR(course.events[0].time, (1 - 5e-6 - 0.05) / speed, 1e-15);
    EXPECT_NEAR(bench.state.v(0), -speed, 1e-9);
    // The first step goes all the way but for half of the wall, the next ones locate the event.
    EXPECT_LE(course.last.stages, 30) << speed;
  }
}

// From rest there is no speed to tell how far a step goes; where it ends there is.
TEST(Event, NothingFallsThroughAThinPlate) {
  Bench bench(planar_body(0.1, {point_at("ball", 0, 0, 0.05)}), 0, ImpactLaw::poisson, 1, 1);
  bench.world.add(box_collider({Mat3::Identity(), Vec3(0, 0, 2)}, Vec3(1, 1, 1e-5), "plate"));
  bench.start(Eigen::Vector3d(0, 3 + 5e-6 + 0.05, 0), Eigen::Vector3d::Zero());
  const Course course = bench.run(1);
  ASSERT_TRUE(course.last.converged()) << course.last.reason;
  ASSERT_FALSE(course.events.empty());
  EXPECT_NEAR(course.events[0].time, std::sqrt(2 / kGravity), 1e-12);
  EXPECT_LE(course.last.stages, 60);
}

// The rod of Painleve: with p = W_nn - mu |W_nt| < 0 and falling, no force keeps the sliding end on the ground. An
// impulse brings it to rest while time stands still: J v = 0, so the impulse is -W^-1 J v.              theory (15.9)
TEST(Event, ASlidingRodStopsWithoutACollision) {
  const double l = 0.5, inertia = l * l / 3, angle = M_PI / 4, slip = 2;
  const double rx = l * std::cos(angle), rz = l * std::sin(angle);
  const double Wnn = 1 + rx * rx / inertia, Wtt = 1 + rz * rz / inertia, Wnt = -rx * rz / inertia;
  const Model rod = planar_body(inertia, {point_at("rear", -l, 0), point_at("front", l, 0)});
  for (const ImpactLaw law : {ImpactLaw::routh, ImpactLaw::anitescu_potra, ImpactLaw::sequential, ImpactLaw::poisson})
    for (const double mu : {1.0, 1.6, 1.8, 3.0}) {
      const bool paradox = Wnn + mu * Wnt < 0;
      Bench bench(rod, mu, law, 0, 1e-3);
      bench.start(Eigen::Vector3d(0, rz, -angle), Eigen::Vector3d(-slip, 0, 0));
      StepWorkspace workspace(bench.model, bench.world);
      const StepReport report = step(bench.model, bench.control, bench.options, bench.state, workspace);
      ASSERT_TRUE(report.converged()) << report.reason;
      const auto& events = workspace.events();
      const bool jumped = std::any_of(events.begin(), events.end(), [](const Event& event) {
        return event.kind == EventKind::impact_without_collision;
      });
      EXPECT_EQ(jumped, paradox) << mu;
      if (!jumped) {
        // Regular: N = m g/(W_nn - mu |W_nt|), friction mu N slows the end, in first order of the step. [N]
        const double force = kGravity / (Wnn + mu * Wnt);
        ASSERT_EQ(workspace.contacts().size(), 1u);
        EXPECT_NEAR(workspace.contacts()[0].force.z(), force, 0.02 * force);
        continue;
      }
      const Event& event = events.front();
      EXPECT_EQ(event.time, 0);
      ASSERT_EQ(event.contacts.size(), 1u);
      const double det = Wnn * Wtt - Wnt * Wnt;
      // Approaching by 1 us of free fall: 1e-5 m/s of 2 m/s.
      EXPECT_NEAR(event.contacts[0].impulse.z(), -Wnt * slip / det, 1e-5);
      EXPECT_NEAR(event.contacts[0].impulse.x(), Wnn * slip / det, 1e-5);
      EXPECT_LE(event.contacts[0].velocity_after.norm(), 1e-9);
      EXPECT_LT(event.energy_after, event.energy_before);
    }
}

// A box that slides stops after v^2/(2 mu g), one on a slope below the angle of friction stays.
TEST(Event, FrictionIsCoulombs) {
  const Model box = planar_body(1.0 / 6, {point_at("a", -0.5, -0.5), point_at("b", 0.5, -0.5)});
  for (const double dt : {1e-2, 1e-3}) {
    Bench bench(box, 0.4, ImpactLaw::anitescu_potra, 0, dt);
    bench.start(Eigen::Vector3d(0, 0.5, 0), Eigen::Vector3d(2, 0, 0));
    ASSERT_TRUE(bench.run(1).last.converged());
    // Only in the step in which it stops is the force an average: (mu g dt)^2/(8 mu g) at most.
    EXPECT_NEAR(bench.state.q(0), 4 / (2 * 0.4 * kGravity), 0.4 * kGravity * dt * dt / 8 + 1e-12) << dt;
    EXPECT_LE(bench.state.v.norm(), 1e-12);
  }
  Bench still(box, 0.4, ImpactLaw::anitescu_potra, 0, 1e-3);
  still.world.gravity = 9.81 * Vec3(std::sin(0.3), 0, -std::cos(0.3));  // tan 0.3 = 0.31
  still.start(Eigen::Vector3d(0, 0.5, 0), Eigen::Vector3d::Zero());
  ASSERT_TRUE(still.run(1).last.converged());
  EXPECT_LE(std::abs(still.state.q(0)), 1e-12);
}

// theory (15.2), (15.5): no point is deeper than `touch` anywhere, impacts gain no energy, and time goes on.
TEST(Event, RandomScenesKeepTheirPromises) {
  constexpr int kScenes = 150;  // a thousand and more: tests/campaigns/event_campaign.cpp
  long impacts = 0;
  for (int k = 0; k < kScenes; ++k) {
    test::Random random(static_cast<std::uint64_t>(k));
    EventScene scene = test::random_event_scene(random);
    scene.options.dt = std::max(scene.options.dt, 2e-3);
    const std::string what = scene.name + ", scene " + std::to_string(k);
    StepWorkspace workspace(scene.model, scene.world);
    const double duration = 0.3;
    double time = 0;
    while (scene.state.time < duration) {
      const StepReport report = step(scene.model, scene.control, scene.options, scene.state, workspace);
      ASSERT_TRUE(report.converged()) << what << ": " << report.reason;
      ASSERT_GT(scene.state.time, time);
      time = scene.state.time;
      ASSERT_GE(smallest_gap(scene.model, scene.world, scene.state.q), -scene.options.event.touch) << what;
      double last = -1;
      for (const Event& event : workspace.events()) {
        ASSERT_GE(event.time, last);
        last = event.time;
        if (!is_impact(event)) continue;
        ++impacts;
        // The certificate allows elastic laws a relative 1e-10; rounding of v.M v is a thousand times smaller.
        ASSERT_LE(event.energy_after, event.energy_before * (1 + 1e-9)) << what;
      }
    }
  }
  EXPECT_GT(impacts, kScenes);
}

// Nothing drives these scenes: every model, every law, friction from 0 to 10. theory (15.10)
TEST(Event, PassiveScenesGainNoEnergy) {
  long impacts = 0;
  for (int k = 0; k < 3 * test::kPassiveModels; ++k) {  // 500: tests/campaigns/passive_campaign.cpp
    test::Random random(static_cast<std::uint64_t>(2000 + k));
    EventScene scene = test::random_passive_scene(random, k, k + k / test::kPassiveModels);
    const test::PassiveCourse course = test::run_passive(scene, 0.4);
    const std::string what = scene.name + ", scene " + std::to_string(k);
    impacts += course.impacts;
    EXPECT_LE(course.row_gain, 1e-3 * course.largest) << what;
    EXPECT_LE(course.gain, 1e-3 * course.largest) << what;
    // 1e-14 of the energy is rounding, and there are less than 10^4 substeps.
    EXPECT_LE(course.gain, course.reported + 1e-10 * course.largest) << what << ": not reported";
  }
  EXPECT_GT(impacts, 3 * test::kPassiveModels);
}

// A limp robot that lands with turning limbs.
EventScene landing(const char* name, ImpactLaw law, double dt) {
  int model = 0;
  while (std::string(test::kAllModels[model]) != name) ++model;
  test::Random random(7);
  EventScene scene = test::random_passive_scene(random, model, 0);
  std::erase_if(scene.world.colliders, [](const Collider& collider) { return collider.body == kWorld; });
  scene.world.add(plane_collider(Vec3::Zero(), Vec3::UnitZ(), "floor"));
  scene.world.surface.friction = 0;
  scene.world.impact.law = law;
  scene.world.surface.restitution = 0;
  scene.options.dt = dt;
  scene.options.explicit_pd = true;
  Eigen::VectorXd q = scene.state.q, v = scene.state.v;
  for (Eigen::Index a = 0; a < v.size(); ++a) v(a) = a < 3 ? -2 : 8 * std::sin(1.0 + static_cast<double>(a));
  q(2) = 0;
  test::lift_clear(scene.model, scene.world, 0.01, q);
  scene.state = make_state(scene.model, q, v);
  return scene;
}

// What cannot be followed is said: the largest step allowed, and no halving of it.
TEST(Event, ReportsWhatItCannotFollow) {
  EventScene coarse = landing("spider-spatial", ImpactLaw::restitution_blend, 1e-2), fine = coarse;
  coarse.options.max_halvings = 0;
  StepWorkspace workspace(coarse.model, coarse.world);
  int inaccurate = 0;
  double error = 0;
  while (coarse.state.time < 0.3) {
    const StepReport report = step(coarse.model, coarse.control, coarse.options, coarse.state, workspace);
    ASSERT_TRUE(report.converged()) << report.reason;
    EXPECT_EQ(report.energy_error > 1, report.inaccurate > 0);
    inaccurate += report.inaccurate;
    error = std::max(error, report.energy_error);
  }
  EXPECT_GT(inaccurate, 0);
  EXPECT_GT(error, 1);
  const test::PassiveCourse course = test::run_passive(fine, 0.3);
  EXPECT_EQ(course.inaccurate, 0);
  EXPECT_GT(course.rejected, 0);
}

// Flight is as accurate as its energy has to be, even where `flight_accuracy` asks for little.
TEST(Event, FlightKeepsItsEnergy) {
  EventScene scene = landing("chain-floating-3d", ImpactLaw::anitescu_potra, 1e-2);
  scene.options.event.flight_accuracy = 1e-2;
  Eigen::VectorXd q = scene.state.q;
  q(2) += 100;
  scene.state = make_state(scene.model, q, scene.state.v);
  StepWorkspace workspace(scene.model, scene.world);
  double last = std::nan("");
  for (int k = 0; k < 30; ++k) {
    const StepReport report = step(scene.model, scene.control, scene.options, scene.state, workspace);
    ASSERT_TRUE(report.converged()) << report.reason;
    EXPECT_LE(report.energy_error, 1);
    const double energy = report.kinetic_energy + report.potential_energy;
    if (k > 0) {
      EXPECT_LE(energy - last, report.energy_gain + 1e-13 * energy);
      // Of the kinetic energy of the row, which changes by less than a fifth in it; nothing is near.
      EXPECT_LE(report.energy_gain, 1.2 * scene.options.event.energy_accuracy * report.kinetic_energy);
    }
    last = energy;
  }
}

// What happens next follows from q, v and t alone.
TEST(Event, ACopyOfAStateGoesOnTheSameWay) {
  for (int k = 0; k < 20; ++k) {
    test::Random random(static_cast<std::uint64_t>(500 + k));
    EventScene scene = test::random_event_scene(random);
    scene.options.dt = 2e-3;
    StepWorkspace first(scene.model, scene.world);
    for (int i = 0; i < 40; ++i)
      ASSERT_TRUE(step(scene.model, scene.control, scene.options, scene.state, first).converged());
    State copy = make_state(scene.model, scene.state.q, scene.state.v, scene.state.time);
    copy.q = scene.state.q;  // quaternions were normalised once more
    StepWorkspace second(scene.model, scene.world);
    for (int i = 0; i < 40; ++i) {
      ASSERT_TRUE(step(scene.model, scene.control, scene.options, scene.state, first).converged());
      ASSERT_TRUE(step(scene.model, scene.control, scene.options, copy, second).converged());
      ASSERT_EQ(state_hash(scene.state), state_hash(copy)) << scene.name << " after " << i;
    }
  }
}

// Between events, impulses are what changes momentum: M (v+ - v-) = sum J^T p.
TEST(Event, ImpulsesExplainTheJump) {
  int checked = 0;
  for (int k = 0; k < 40; ++k) {
    test::Random random(static_cast<std::uint64_t>(900 + k));
    EventScene scene = test::random_event_scene(random);
    StepWorkspace workspace(scene.model, scene.world);
    while (scene.state.time < 0.3) {
      ASSERT_TRUE(step(scene.model, scene.control, scene.options, scene.state, workspace).converged());
      for (const Event& event : workspace.events()) {
        if (!is_impact(event)) continue;
        Vec3 push = Vec3::Zero();
        for (const EventContact& contact : event.contacts) push += contact.impulse;
        // Along world axes only a floating or planar base as a whole tells: total linear momentum.
        if (scene.model.bodies().size() != 1) continue;
        const double mass = scene.model.total_mass();
        const bool planar = scene.model.nv() == 3;
        const Eigen::VectorXd jump = event.v_after - event.v_before;
        const Vec3 change = planar ? Vec3(jump(0), 0, jump(1)) : Vec3(jump.head<3>());
        EXPECT_LE((mass * change - push).norm(), 1e-9 * mass * (1 + change.norm())) << scene.name;
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 20);
}

TEST(Event, SaysWhyItFails) {
  // Two contacts at once, a law for one.
  Bench two(block(), 0.5, ImpactLaw::routh, 0, 1e-2);
  two.start(Eigen::Vector3d(0, 1.001, 0), Eigen::Vector3d(0, -1, 0));
  const Course course = two.run(0.1);
  EXPECT_FALSE(course.last.converged());
  EXPECT_NE(course.last.reason.find("routh: 2 contacts, expected 1"), std::string::npos) << course.last.reason;
  // Too many events.
  Bench many(planar_body(0.1, {point_at("ball", 0, 0, 0.1)}), 0, ImpactLaw::poisson, 0.9, 2);
  many.options.event.max_events = 5;
  many.start(Eigen::Vector3d(0, 0.2, 0), Eigen::Vector3d::Zero());
  const State before = many.state;
  EXPECT_NE(many.run(2).last.reason.find("more than 5 events"), std::string::npos);
  EXPECT_EQ(state_hash(many.state), state_hash(before));  // nothing half done
  // Too much work.
  Bench slow(planar_body(0.1, {point_at("ball", 0, 0, 0.1)}), 0, ImpactLaw::poisson, 0.9, 2);
  slow.options.event.max_tries = 5;
  slow.start(Eigen::Vector3d(0, 0.2, 0), Eigen::Vector3d::Zero());
  EXPECT_NE(slow.run(2).last.reason.find("more than 5 tries of substeps (max_tries)"), std::string::npos);
  EXPECT_EQ(state_hash(slow.state), state_hash(before));
  // In the ground from the start.
  Bench deep(block(), 0.5, ImpactLaw::anitescu_potra, 0, 1e-2);
  deep.start(Eigen::Vector3d(0, 0.99, 0), Eigen::Vector3d::Zero());
  try {
    deep.run(0.1);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(
        error.what(),
        "event: contact point \"left\" and solid \"floor\": 0.01 m deep in the ground at the start, expected at most "
        "1e-09 m");
  }
}

TEST(Event, OptionsAreChecked) {
  const auto refused = [](auto change) {
    EventOptions options;
    change(options);
    EXPECT_THROW(options.validate(), InputError);
  };
  EXPECT_NO_THROW(EventOptions{}.validate());
  refused([](EventOptions& o) { o.touch = 0; });
  refused([](EventOptions& o) { o.rest_speed = -1; });
  refused([](EventOptions& o) { o.simultaneous = 2; });
  refused([](EventOptions& o) { o.flight_accuracy = 0; });
  refused([](EventOptions& o) { o.energy_accuracy = 0; });
  refused([](EventOptions& o) { o.max_events = 0; });
  refused([](EventOptions& o) { o.max_tries = 0; });
  const Model model = block();
  const auto refused_world = [&](auto change) {
    World world;
    change(world);
    EXPECT_THROW(world.validate(model), InputError);
  };
  EXPECT_NO_THROW(World{}.validate(model));
  refused_world([](World& w) { w.surface.restitution = 1.5; });
  refused_world([](World& w) { w.surface.restitution = std::nan(""); });
  refused_world([](World& w) { w.impact.tolerance = 0; });
  refused_world([](World& w) { w.impact.order = {0}; });
  refused_world([](World& w) { w.impact.law = ImpactLaw::reflections; });
}

// Contacts within `simultaneous` of the ground take part in an impact of others.
TEST(Event, NearlySimultaneousContactsTakePart) {
  for (const bool together : {false, true}) {
    Bench bench(block(), 0.5, ImpactLaw::anitescu_potra, 0, 1e-3);
    bench.options.event.simultaneous = together ? 1e-3 : 0;
    bench.start(Eigen::Vector3d(0, 1.01, 1e-5), Eigen::Vector3d::Zero());
    const Course course = bench.run(0.06);
    ASSERT_FALSE(course.events.empty());
    ASSERT_EQ(course.events.front().kind, EventKind::impact);
    EXPECT_EQ(course.events.front().contacts.size(), together ? 2u : 1u);
  }
}

// The resolver decides impacts.
TEST(Event, AResolverTakesThePlaceOfTheLaw) {
  Bench bench(planar_body(0.1, {point_at("ball", 0, 0, 0.1)}), 0, ImpactLaw::poisson, 0, 1e-2);
  bench.start(Eigen::Vector3d(0, 0.2, 0), Eigen::Vector3d::Zero());
  StepWorkspace workspace(bench.model, bench.world);
  int calls = 0;
  workspace.set_impact_resolver([&](const ImpactProblem& problem) {
    ++calls;
    ImpactProblem elastic = problem;
    elastic.restitution.setConstant(1);
    return resolve_impact(elastic, {.law = ImpactLaw::moreau});
  });
  const double energy = 0.2 * kGravity;
  StepReport report;
  while (bench.state.time < 1) report = step(bench.model, bench.control, bench.options, bench.state, workspace);
  EXPECT_EQ(calls, 4);  // 0.143 s down, then 0.286 s each
  EXPECT_NEAR(report.kinetic_energy + report.potential_energy, energy, 1e-10);
  // One that adds energy is found out.
  workspace.set_impact_resolver([&](const ImpactProblem& problem) {
    ImpactResult faster = resolve_impact(problem, {.law = ImpactLaw::moreau});
    faster.v = -2 * problem.v;
    return faster;
  });
  double gain = 0;
  while (bench.state.time < 1.29) {  // the fifth bounce: 3 times g 0.1 m are gained
    report = step(bench.model, bench.control, bench.options, bench.state, workspace);
    gain += report.energy_gain;
  }
  EXPECT_NEAR(gain, 3 * 0.1 * kGravity, 1e-9);
}

}  // namespace
}  // namespace scree
