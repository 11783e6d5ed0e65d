// The law `patch`: its vertices, their derivatives, and bodies that slide, spin, tip and are pushed on it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "contact/contact_set.h"
#include "math/rotation.h"
#include "scree/error.h"
#include "scree/scene.h"
#include "scree/simulation.h"
#include "support/random_tree.h"

namespace scree {
namespace {

constexpr double kGravity = 9.81;  // [m/s^2]
constexpr IntegratorType kFirstOrder[] = {IntegratorType::ne_nmdp, IntegratorType::pbd_nmdp};

double largest(const Eigen::MatrixXd& m) { return m.size() ? m.cwiseAbs().maxCoeff() : 0; }

Wrenches vertices(const ContactLaw& law, const ContactGeometry& geometry) {
  Wrenches out = Wrenches::Constant(6, law.vertex_count(), std::nan(""));
  law.vertices(geometry, out);
  return out;
}

Mat3 turn(const Vec3& a) {
  const double angle = a.norm();
  return angle > 0 ? Mat3(Eigen::AngleAxisd(angle, a / angle)) : Mat3(Mat3::Identity());
}

// Friction and torsion of 1 N of pressure, scaled so that the ellipsoid is the unit ball: one column a vertex.
Eigen::Matrix3Xd limit_surface(PatchOptions o) {
  o.stiffness = 1;
  ContactGeometry flat;
  flat.depth = 1;
  const Wrenches v = vertices(*make_patch(o), flat);
  const double lambda = o.effective_torsion_radius();
  Eigen::Matrix3Xd result(3, v.cols());
  result << v.topRows<2>() / o.friction, v.row(5) / (o.friction * (lambda > 0 ? lambda : 1));
  return result;
}

// -------------------------------------------------------------------------------------------------- the vertices

PatchOptions random_options(test::Random& random) {
  PatchOptions o;
  o.friction = test::uniform(random, 0.1, 1.5);
  o.exponent = std::uniform_int_distribution<int>(2, 4)(random);
  o.stiffness = test::uniform(random, 50, 200);
  o.directions = std::uniform_int_distribution<int>(3, 8)(random);
  o.rings = std::uniform_int_distribution<int>(0, 2)(random);
  if (test::uniform(random, 0, 1) < 0.5) {
    o.size = Eigen::Vector2d(test::uniform(random, 0.1, 0.6), test::uniform(random, 0.1, 0.6));
  } else {
    o.radius = test::uniform(random, 0.1, 0.4);
    o.corners = std::uniform_int_distribution<int>(3, 6)(random);
  }
  o.axis = test::random_vector(random) + Vec3(0, 0, 1.2);
  return o;
}

TEST(Patch, DerivativesAreThoseOfTheVertices) {
  test::Random random(131);
  int pressed = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const auto law = make_patch(random_options(random));
    ContactGeometry geometry;
    geometry.depth = test::uniform(random, -0.2, 0.4);
    geometry.R_CB = trial % 2 ? test::random_rotation(random) : turn(test::random_vector(random, 0.2));
    Eigen::VectorXd w(law->vertex_count());
    for (double& x : w) x = test::uniform(random, 0, 1) / law->vertex_count();
    const auto wrench = [&](double depth, const Vec3& a) {
      ContactGeometry g = geometry;
      g.depth += depth;
      g.R_CB = turn(a) * g.R_CB;
      return Eigen::VectorXd(vertices(*law, g) * w);
    };
    const ContactLaw::Derivative claimed = law->derivative(geometry, w);
    Eigen::MatrixXd exact(6, 4), differences[2] = {exact, exact};
    exact << claimed.by_depth, claimed.by_turn;
    for (int k = 0; k < 2; ++k) {
      const double e = k == 0 ? 1e-5 : 2e-5;
      differences[k].col(0) = (wrench(e, Vec3::Zero()) - wrench(-e, Vec3::Zero())) / (2 * e);
      for (int a = 0; a < 3; ++a)
        differences[k].col(1 + a) = (wrench(0, e * Vec3::Unit(a)) - wrench(0, -e * Vec3::Unit(a))) / (2 * e);
    }
    // Truncation is a third of what the two differences differ by, rounding 1e-16/1e-5 of the forces, up to 200 N/m^p.
    EXPECT_LE(largest(exact - differences[0]), largest(differences[0] - differences[1]) + 1e-8) << "trial " << trial;
    pressed += largest(exact) > 0.1;
  }
  EXPECT_GT(pressed, 100);  // most poses have a corner in the ground
}

// With everything a contact adds: on a floating body that touches a tilted plane and the edges of a box, by both
// discretisations.                                                                                     theory (8.6)
TEST(Patch, DerivativesHoldOnCurvedGround) {
  test::Random random(132);
  int compared = 0;
  for (int trial = 0; trial < 60; ++trial) {
    ModelBuilder builder("body");
    Body body;
    body.name = "body";
    body.mass = 1;
    body.inertia = 0.1 * Mat3::Identity();
    Joint joint;
    joint.name = "base";
    joint.type = JointType::floating;
    builder.add_body(body, "world", joint);
    const Model model = builder.build();
    ContactWorld world;
    world.law = make_patch(random_options(random));
    world.environment.add_plane(test::random_vector(random, 0.1),
                                (Vec3::UnitZ() + test::random_vector(random, 0.3)).normalized());
    world.environment.add_box({test::random_rotation(random), test::random_vector(random, 0.3)}, Vec3(0.5, 0.7, 0.3));
    ContactPoint point;
    point.name = "p";
    point.body = BodyIndex(0);
    point.p_B = test::random_vector(random, 0.2);
    point.radius = trial % 2 ? 0 : 0.05;
    world.points = {point};
    const State state =
        make_state(model, test::random_position(random, model, 0.1), test::random_velocity(random, model));
    const Eigen::VectorXd delta = 0.05 * state.v;
    NewtonEulerStage newton_euler(model);
    PositionBasedStage position_based(model);
    Discretisation& stage = trial % 4 < 2 ? static_cast<Discretisation&>(newton_euler) : position_based;
    stage.begin(state, 0.05, Vec3(0, 0, -kGravity));
    ContactSet set(model, world);
    stage.set_trial(delta.data());
    set.select(stage.trial(), 10, kGravity, true);
    Eigen::VectorXd w(set.weight_count());
    for (double& x : w) x = test::uniform(random, 0, 1) / set.vertex_count();
    const auto forces = [&](const Eigen::VectorXd& d) {
      Eigen::VectorXd f = Eigen::VectorXd::Zero(6);
      stage.set_trial(d.data());
      set.evaluate(stage.trial());
      set.add_forces(stage.trial(), w, f.data());
      return f;
    };
    forces(delta);
    Eigen::MatrixXd J = Eigen::MatrixXd::Zero(6, 6);
    set.add_jacobian(stage.trial(), w, J.data());
    for (int a = 0; a < 6; ++a) {
      const Eigen::VectorXd e = 1e-5 * Eigen::VectorXd::Unit(6, a);
      const Eigen::VectorXd fine = (forces(delta + e) - forces(delta - e)) / 2e-5,
                            coarse = (forces(delta + 2 * e) - forces(delta - 2 * e)) / 4e-5;
      const double kink = largest(fine - coarse);  // of the distance to a box, see contact_set_test.cpp
      if (kink > 1e-5 * (1 + largest(J)) || largest(J) == 0) continue;
      ++compared;
      EXPECT_LE(largest(J.col(a) - fine), kink + 1e-8 * (1 + largest(J))) << "trial " << trial << " dof " << a;
    }
  }
  EXPECT_GT(compared, 200);
}

// Without extent and torsion every vertex is the one of the Coulomb pyramid.
TEST(Patch, APointIsCoulomb) {
  test::Random random(133);
  for (int trial = 0; trial < 50; ++trial) {
    CoulombOptions coulomb;
    coulomb.friction = test::uniform(random, 0, 2);
    coulomb.directions = std::uniform_int_distribution<int>(3, 12)(random);
    coulomb.exponent = std::uniform_int_distribution<int>(2, 4)(random);
    coulomb.depth = test::uniform(random, 0.001, 0.1);
    if (trial % 2) coulomb.stiffness = test::uniform(random, 10, 1e5);
    PatchOptions patch;
    patch.friction = coulomb.friction;
    patch.directions = coulomb.directions;
    patch.exponent = coulomb.exponent;
    patch.depth = coulomb.depth;
    patch.stiffness = coulomb.stiffness;
    patch.rings = trial % 3;  // of no torsion
    const auto a = make_patch(patch), b = make_coulomb(coulomb);
    ASSERT_EQ(a->vertex_count(), b->vertex_count());
    EXPECT_EQ(a->reach(), b->reach());
    ContactGeometry geometry;
    geometry.depth = test::uniform(random, -0.01, 0.1);
    geometry.R_CB = test::random_rotation(random);
    geometry.share_of_weight = 7;
    const Wrenches expected = vertices(*b, geometry);
    EXPECT_LE(largest(vertices(*a, geometry) - expected), 1e-14 * largest(expected));  // a few roundings
    const Eigen::VectorXd w = Eigen::VectorXd::LinSpaced(a->vertex_count(), 0, 0.2);
    const ContactLaw::Derivative da = a->derivative(geometry, w), db = b->derivative(geometry, w);
    EXPECT_LE(largest(da.by_depth - db.by_depth), 1e-14 * largest(db.by_depth));
    EXPECT_EQ(da.by_turn, db.by_turn);
  }
}

// The bound is the support in the worst direction.                                                   theory (8.16)
TEST(Patch, TheLimitSurfaceLiesBetweenTheEllipsoidAndItsBound) {
  test::Random random(134);
  for (const int directions : {3, 4, 6, 8, 16})
    for (int rings = 0; rings <= 3; ++rings) {
      PatchOptions o;
      o.friction = 0.6;
      o.radius = 0;
      o.torsion_radius = 0.07;
      o.directions = directions;
      o.rings = rings;
      const Eigen::Matrix3Xd v = limit_surface(o);
      ASSERT_EQ(v.cols(), (2 * rings + 1) * directions + 2);
      for (const double length : v.colwise().norm()) EXPECT_NEAR(length, 1, 1e-14);  // on the ellipsoid
      double least = 1;
      for (int k = 0; k < 20000; ++k) {
        const double s = test::uniform(random, -1, 1), a = test::uniform(random, 0, 2 * M_PI), c = std::sqrt(1 - s * s);
        least = std::min(least, (v.transpose() * Vec3(c * std::cos(a), c * std::sin(a), s)).maxCoeff());
      }
      // 20000 points leave gaps of 0.03 rad; the support changes by at most its slope, tan acos, times half of that.
      EXPECT_GE(least, o.polytope_bound() - 1e-14);
      EXPECT_LE(least, o.polytope_bound() + 0.015);
      // Straight slip along a direction and pure spin have all of it.
      EXPECT_NEAR((v.transpose() * Vec3::UnitX()).maxCoeff(), 1, 1e-14);
      EXPECT_NEAR((v.transpose() * Vec3::UnitZ()).maxCoeff(), 1, 1e-14);
    }
}

// Uniform pressure 1/area: mean distance from the centre, by the midpoint rule; and how far the ellipsoid is from the
// friction of Coulomb points under that pressure, mean |v + w x r| against sqrt(v^2 + lambda^2 w^2).   theory (8.14)
TEST(Patch, TorsionRadiusAndEllipsoidAreThoseOfUniformPressure) {
  struct Shape {
    double x, y;       // [m] 0: a disc
    double low, high;  // the support of the true limit surface over that of the ellipsoid, as docs/contact.md states it
  };
  constexpr int n = 200;
  for (const Shape shape :
       {Shape{0, 0, 0.934, 1}, Shape{0.3, 0.3, 0.934, 1}, Shape{0.2, 0.4, 0.901, 1}, Shape{0.4, 0.1, 0.879, 1.023}}) {
    PatchOptions o;
    if (shape.x > 0) {
      o.size = Eigen::Vector2d(shape.x, shape.y);
    } else {
      o.radius = 0.2;
    }
    const double lambda = o.effective_torsion_radius();
    // mean over the area of |(v, 0) + w x r|, v along `heading`
    const auto mean_speed = [&](double v, double w, double heading) {
      double sum = 0, area = 0;
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
          double x = shape.x * ((i + 0.5) / n - 0.5), y = shape.y * ((j + 0.5) / n - 0.5), weight = 1;
          if (shape.x == 0) {
            const double r = 0.2 * (i + 0.5) / n, a = 2 * M_PI * (j + 0.5) / n;
            x = r * std::cos(a);
            y = r * std::sin(a);
            weight = r;
          }
          sum += weight * std::hypot(v * std::cos(heading) - w * y, v * std::sin(heading) + w * x);
          area += weight;
        }
      return sum / area;
    };
    EXPECT_NEAR(mean_speed(0, 1, 0), lambda, 1e-5 * lambda);  // midpoint rule: 1/n^2
    double low = 1, high = 1;
    for (int k = 0; k <= 18; ++k)
      for (const double heading : {0.0, 0.8, M_PI / 2}) {
        const double latitude = M_PI / 2 * k / 18;
        const double ratio = mean_speed(std::cos(latitude), std::sin(latitude) / lambda, heading);
        low = std::min(low, ratio);
        high = std::max(high, ratio);
      }
    EXPECT_NEAR(low, shape.low, 1e-3);
    EXPECT_NEAR(high, shape.high, 1e-3);
  }
}

TEST(Patch, CornersAreWhereTheOptionsSay) {
  ContactGeometry geometry;
  geometry.depth = 0.1;
  PatchOptions o;
  o.friction = 0;
  o.stiffness = 1e3;
  o.exponent = 2;
  o.size = Eigen::Vector2d(0.4, 0.2);
  // Flat: N = c d^2 = 10 N at every corner, moments (y N, -x N, 0).
  Wrenches v = vertices(*make_patch(o), geometry);
  EXPECT_NEAR(v.row(2).minCoeff(), 10, 1e-12);
  EXPECT_NEAR(v.row(2).maxCoeff(), 10, 1e-12);
  EXPECT_NEAR(v.row(3).maxCoeff(), 10 * 0.1, 1e-12);
  EXPECT_NEAR(v.row(4).maxCoeff(), 10 * 0.2, 1e-12);
  EXPECT_EQ(v.row(5).cwiseAbs().maxCoeff(), 0);
  EXPECT_NEAR(make_patch(o)->reach(), std::hypot(0.2, 0.1), 1e-15);
  // Turned by 0.3 rad about y the front goes 0.2 sin 0.3 deeper.
  geometry.R_CB = turn(Vec3(0, 0.3, 0));
  v = vertices(*make_patch(o), geometry);
  EXPECT_NEAR(v.row(2).maxCoeff(), 1e3 * std::pow(0.1 + 0.2 * std::sin(0.3), 2), 1e-9);
  EXPECT_NEAR(v.row(2).minCoeff(), 1e3 * std::pow(0.1 - 0.2 * std::sin(0.3), 2), 1e-9);
  // On a face that looks along x the patch has its edges along y and z of the body: no corner off the plane x = 0.
  o.axis = Vec3::UnitX();
  geometry.R_CB = turn(Vec3(0, M_PI / 2, 0));  // x of the body down
  v = vertices(*make_patch(o), geometry);
  EXPECT_NEAR(v.row(2).minCoeff(), 10, 1e-12);
  EXPECT_NEAR(v.row(3).maxCoeff(), 10 * 0.2, 1e-12);  // 0.4 m along y
  EXPECT_NEAR(v.row(4).maxCoeff(), 10 * 0.1, 1e-12);
  // A disc: its corners are `radius` away, the first along x. In the air the law is zero from reach() on.
  o = {};
  o.radius = 0.3;
  o.corners = 5;
  o.stiffness = 1e3;
  geometry = {};
  geometry.depth = -0.3;
  geometry.R_CB = turn(Vec3(0, M_PI / 2, 0));
  EXPECT_NEAR(make_patch(o)->reach(), 0.3, 1e-15);
  EXPECT_LE(largest(vertices(*make_patch(o), geometry)), 1e-40);  // (rounding)^3
  geometry.depth = -0.29;
  EXPECT_NEAR(vertices(*make_patch(o), geometry).row(2).maxCoeff(), 1e3 * std::pow(0.01, 3), 1e-12);
}

TEST(Patch, RefusesBadOptions) {
  const auto message = [](auto&& change) -> std::string {
    PatchOptions o;
    o.radius = 0.1;
    change(o);
    try {
      make_patch(o);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(message([](PatchOptions&) {}), "accepted");
  EXPECT_EQ(message([](PatchOptions& o) { o.radius = -1; }), "contact: radius is -1, expected a number in [0, 10] m");
  EXPECT_EQ(message([](PatchOptions& o) { o.radius = std::nan(""); }),
            "contact: radius is nan, expected a number in [0, 10] m");
  EXPECT_EQ(message([](PatchOptions& o) { o.corners = 2; }), "contact: corners is 2, expected an integer in [3, 32]");
  EXPECT_EQ(message([](PatchOptions& o) { o.size = Eigen::Vector2d(1, 1); }),
            "contact: radius is 0.1, expected none beside size");
  EXPECT_EQ(message([](PatchOptions& o) {
              o.radius = 0;
              o.size = Eigen::Vector2d(1, 0);
            }),
            "contact: size is [1, 0], expected two numbers in [1e-6, 20] m");
  EXPECT_EQ(message([](PatchOptions& o) { o.axis.setZero(); }),
            "contact: axis is [0, 0, 0], expected a vector longer than 1e-6");
  EXPECT_EQ(message([](PatchOptions& o) { o.torsion_radius = -0.1; }),
            "contact: torsion_radius is -0.1, expected a number in [0, 10] m");
  EXPECT_EQ(message([](PatchOptions& o) { o.rings = 9; }), "contact: rings is 9, expected an integer in [0, 8]");
  EXPECT_EQ(message([](PatchOptions& o) { o.friction = -1; }),
            "contact: friction is -1, expected a number in [0, 100]");
  EXPECT_EQ(message([](PatchOptions& o) { o.directions = 2; }),
            "contact: directions is 2, expected an integer in [3, 64]");
  EXPECT_EQ(message([](PatchOptions& o) { o.directions = 64; }),
            "contact: a patch of 4 corners, 64 directions and 1 rings has 776 vertices, expected at most 512");
}

// ----------------------------------------------------------------------------------------------------- motions

// A body on a floating joint with one contact point, both in body axes.
Model slab(double mass, const Vec3& inertia, const Vec3& com, const Vec3& point) {
  ModelBuilder builder("slab");
  Body body;
  body.name = "slab";
  body.mass = mass;
  body.com = com;
  body.inertia = inertia.asDiagonal();
  Joint joint;
  joint.name = "base";
  joint.type = JointType::floating;
  builder.add_body(body, "world", joint);
  ContactPoint contact;
  contact.name = "patch";
  contact.p_B = point;
  builder.add_contact_point("slab", contact);
  return builder.build();
}

Simulation on_floor(Model model, const PatchOptions& law, IntegratorType integrator, double dt, double slope = 0) {
  ContactWorld world;
  world.environment.add_plane(Vec3::Zero(), Vec3(std::sin(slope), 0, std::cos(slope)));
  world.law = make_patch(law);
  world.points = model.contact_points();
  StepOptions options;
  options.integrator = integrator;
  options.dt = dt;
  return Simulation(std::move(model), std::move(world), options);
}

Eigen::VectorXd vector(std::initializer_list<double> values) {
  return Eigen::Map<const Eigen::VectorXd>(values.begin(), static_cast<Eigen::Index>(values.size()));
}

// The largest dissipation the polytope offers for a slip of the patch at (vx, vy) [m/s] and w [rad/s], per mu N.
double support(const Eigen::Matrix3Xd& surface, double lambda, double vx, double vy, double w) {
  return (surface.transpose() * Vec3(vx, vy, lambda * w)).maxCoeff();
}

// I w' = -mu m g lambda: every step takes the same off, the last one what is left.                     theory (8.14)
TEST(PatchMotion, ASpinningDiscStopsWhenItsTorsionSaysSo) {
  constexpr double m = 2, r = 0.15, I = 0.5 * m * r * r, mu = 0.5, spin = 8, dt = 0.002;
  PatchOptions law;
  law.friction = mu;
  law.radius = r;
  law.depth = 1e-3;
  const double rate = mu * m * kGravity * law.effective_torsion_radius() / I;  // [rad/s^2]
  EXPECT_NEAR(law.effective_torsion_radius(), 2.0 / 3 * r, 1e-15);
  for (const IntegratorType integrator : kFirstOrder) {
    SCOPED_TRACE(integrator_name(integrator));
    Simulation s = on_floor(slab(m, Vec3(I / 2, I / 2, I), Vec3::Zero(), Vec3(0, 0, -0.02)), law, integrator, dt);
    s.set_state(vector({0, 0, 0.02 - law.depth, 1, 0, 0, 0}), vector({0, 0, 0, 0, 0, spin}));
    // The weights are optimal to 1e-10 J + 1e-8 K, which is I w dw: 4e-8 rad/s a step. The position-based scheme loses
    // w (w h)^2 a step, h spin^4 / (4 rate) in all, and its inertia is off by the part (w h)^2.           theory (4.4)
    double slack = 1e-5;
    if (integrator == IntegratorType::pbd_nmdp)
      slack += dt * std::pow(spin, 4) / (4 * rate) + std::pow(spin * dt, 2) * spin;
    for (int k = 1; k * dt < 1.1 * spin / rate; ++k) {
      ASSERT_TRUE(s.step().converged());
      EXPECT_NEAR(s.state().v(5), std::max(0.0, spin - k * rate * dt), slack);
    }
    EXPECT_LE(s.state().v.norm(), 1e-6);
    EXPECT_LE(s.state().q.head<2>().norm(), 1e-9);  // it spins on the spot
  }
}

// A patch carries what stands above it, and nothing else: on a floor with the centre of mass off the centre of the
// patch, dropped at a slant, and on a slope, where the centre of mass is beyond the edge a above tan = a / height.
TEST(PatchMotion, ASlabTipsWhenItsCentreOfMassIsBeyondThePatch) {
  constexpr double a = 0.1, height = 0.25;  // [m] half the patch along x; of the centre of mass
  PatchOptions law;
  law.friction = 1.5;
  law.depth = 1e-3;
  law.size = Eigen::Vector2d(2 * a, 0.3);
  for (const IntegratorType integrator : kFirstOrder)
    for (const double part : {0.9, 1.1}) {
      // After 1 s: settled by a few depths over the size of the patch, or fallen: faster than exp(t sqrt(g/height)).
      const auto check = [&](Simulation& s, double slope) {
        for (int k = 0; k < 100; ++k) ASSERT_TRUE(s.step().converged());
        const Vec3 z = s.frame_pose("slab").R * Vec3::UnitZ();
        const double tilt = std::acos(z.dot(Vec3(std::sin(slope), 0, std::cos(slope))));
        std::printf("%s %g: tilt %g v %g\n", integrator_name(integrator), part, tilt, s.state().v.norm());
        if (part < 1) {
          EXPECT_LE(tilt, 3 * law.depth / a);
          EXPECT_LE(s.state().v.norm(), 1e-6);
        } else {
          EXPECT_GE(tilt, 0.5);
        }
      };
      SCOPED_TRACE(std::string(integrator_name(integrator)) + " " + std::to_string(part));
      const Vec3 inertia = Vec3(0.03, 0.03, 0.02);
      Simulation flat = on_floor(slab(1, inertia, Vec3(part * a, 0, 0), Vec3(0, 0, -height)), law, integrator, 0.01);
      const double slant = -0.03;  // [rad] about y: the far edge is up
      flat.set_state(vector({0, 0, height - law.depth, std::cos(slant / 2), 0, std::sin(slant / 2), 0}),
                     Eigen::VectorXd::Zero(6));
      check(flat, 0);
      const double slope = part * std::atan(a / height);
      Simulation steep = on_floor(slab(1, inertia, Vec3::Zero(), Vec3(0, 0, -height)), law, integrator, 0.01, slope);
      steep.set_state(vector({(height - law.depth) * std::sin(slope), 0, (height - law.depth) * std::cos(slope),
                              std::cos(slope / 2), 0, std::sin(slope / 2), 0}),
                      Eigen::VectorXd::Zero(6));
      check(steep, slope);
    }
}

// A box that slides at v along x and spins at w. The friction is the one of its limit surface that dissipates most for
// that slip, so with m lambda^2 = I the slip (v, lambda w) has the friction straight against it on the ellipsoid, keeps
// its direction and slows at mu g. On the polytope it turns away from the nearest vertex, at most to the middle between
// two, and slows by mu g cos(angle to that vertex): with neighbours pi/(2 (rings + 1)) apart,
//   |direction - start| <= pi/(4 (rings + 1)) = gap,    mu g cos(gap) <= deceleration <= mu g.
TEST(PatchMotion, ASlidingAndSpinningBoxFollowsItsLimitSurface) {
  constexpr double mu = 0.5, m = 1.5, dt = 0.002, height = 0.05;
  for (const int rings : {0, 1, 3}) {
    PatchOptions law;
    law.friction = mu;
    law.depth = 1e-3;
    law.size = Eigen::Vector2d(0.3, 0.2);
    law.rings = rings;
    const double lambda = law.effective_torsion_radius(), I = m * lambda * lambda, gap = M_PI / (4 * (rings + 1));
    const Eigen::Matrix3Xd surface = limit_surface(law);
    for (const IntegratorType integrator : kFirstOrder)
      for (const double direction : {0.25, 0.8, 1.3}) {  // [rad] atan(lambda w / v)
        SCOPED_TRACE(std::string(integrator_name(integrator)) + " rings " + std::to_string(rings) + " direction " +
                     std::to_string(direction));
        const double speed = 0.4;  // [m/s]
        Simulation s = on_floor(slab(m, Vec3(I / 2, I / 2, I), Vec3::Zero(), Vec3(0, 0, -height)), law, integrator, dt);
        s.set_state(vector({0, 0, height - law.depth, 1, 0, 0, 0}),
                    vector({speed * std::cos(direction), 0, 0, 0, 0, speed * std::sin(direction) / lambda}));
        double slip = speed, worst = 0, off = 0, least = 1, most = 0;
        int k = 0;
        for (; slip > 0.02 * speed; ++k) {
          ASSERT_LT(k * dt, 1.1 * speed / (mu * kGravity * std::cos(gap)));
          ASSERT_TRUE(s.step().converged());
          ASSERT_EQ(s.contacts().size(), 1u);
          const Contact& c = s.contacts()[0];
          const Eigen::VectorXd& v = s.state().v;
          const double before = slip;
          slip = std::hypot(v(0), v(1), lambda * v(5));
          // dissipated, over the most that is possible at this normal force
          const double D = -(c.force.x() * v(0) + c.force.y() * v(1) + c.moment.z() * v(5)) / (mu * c.force.z());
          if (slip > 0.02 * speed) {
            worst = std::max(worst, 1 - D / support(surface, lambda, v(0), v(1), v(5)));
            least = std::min(least, D / slip);
            most = std::max(most, D / slip);
            off = std::max(off, std::abs(std::atan2(lambda * v(5), v(0)) - direction));
          }
          (void)before;
        }
        std::printf(
            "%s rings %d dir %g: worst %g off %g (gap %g) D/slip %g..%g (cos gap %g) time %g vs %g..%g tilt %g\n",
            integrator_name(integrator), rings, direction, worst, off, gap, least, most, std::cos(gap), k * dt,
            speed * .98 / mu / kGravity, speed * .98 / mu / kGravity / std::cos(gap), s.state().q.segment<2>(4).norm());
      }
  }
}

// A box pushed by a force at a hinge: x and y free, z free, turning about z.
Model pushed_box(double m, double I, const Vec3& centre) {
  ModelBuilder builder("pushed");
  std::string parent = "world";
  const auto add = [&](const char* name, JointType type, const Vec3& axis, const Body& body) {
    Joint joint;
    joint.name = name;
    joint.type = type;
    joint.axis = axis;
    builder.add_body(body, parent, joint);
    parent = body.name;
  };
  Body none;
  none.name = "sled_x";
  add("x", JointType::prismatic, Vec3::UnitX(), none);
  none.name = "sled_y";
  add("y", JointType::prismatic, Vec3::UnitY(), none);
  none.name = "sled_z";
  add("z", JointType::prismatic, Vec3::UnitZ(), none);
  Body box;
  box.name = "box";
  box.mass = m;
  box.com = centre;
  box.inertia = Vec3(I, I, I).asDiagonal();
  add("turn", JointType::continuous, Vec3::UnitZ(), box);
  ContactPoint contact;
  contact.name = "patch";
  contact.p_B = centre;
  builder.add_contact_point("box", contact);
  return builder.build();
}

// A force F at the distance b beside the centre of the patch is the wrench (F, b F): it points at the latitude atan(b /
// lambda) of the limit surface. The ellipsoid lets go at F sqrt(1 + (b/lambda)^2) = mu N and slips along its normal
// there, lambda w / v = b / lambda. On the polytope the wrench meets an edge between two vertices 2 gap apart: it lets
// go at cos(gap)/cos(latitude - middle) of that and slips along the edge's normal, at most gap off. Force and slip
// follow in closed form: s = t a, a (n.M n) = F.n - h(n).
TEST(PatchMotion, APushedBoxTurnsAsItsLimitSurfaceSays) {
  constexpr double mu = 0.4, m = 2, I = 0.03, lambda = 0.08, dt = 0.002;
  for (const int rings : {1, 3, 7}) {
    PatchOptions law;
    law.friction = mu;
    law.depth = 1e-3;
    law.torsion_radius = lambda;
    law.rings = rings;
    const double gap = M_PI / (4 * (rings + 1));
    for (const IntegratorType integrator : kFirstOrder)
      for (const double latitude : {0.15, 0.6, 1.0, 1.4}) {
        const double middle = gap * (2 * std::floor(latitude / (2 * gap)) + 1), b = lambda * std::tan(latitude);
        const double limit = mu * m * kGravity * std::cos(gap) / std::cos(latitude - middle) * std::cos(latitude);
        for (const double part : {0.98, 1.02}) {
          SCOPED_TRACE(std::string(integrator_name(integrator)) + " rings " + std::to_string(rings) + " latitude " +
                       std::to_string(latitude) + " part " + std::to_string(part));
          Simulation s = on_floor(pushed_box(m, I, Vec3(0, b, 0)), law, integrator, dt);
          s.control().torque(0) = part * limit;
          s.set_state(vector({0, 0, -law.depth, 0}), Eigen::VectorXd::Zero(4));
          constexpr int steps = 10;
          for (int k = 0; k < steps; ++k) ASSERT_TRUE(s.step().converged());
          // Of the centre of the patch, at (0, b) from the hinge but for the angle turned.
          const double w = s.state().v(3), v = s.state().v(0) - b * w, t = steps * dt;
          if (part < 1) {
            EXPECT_LE(std::hypot(v, lambda * w), 1e-6);
          } else {
            const double nv = std::cos(middle), nw = std::sin(middle) / lambda;
            const double a =
                (part * limit * (nv + b * nw) - mu * m * kGravity * std::cos(gap)) / (m * nv * nv + I * nw * nw);
            std::printf("rings %d lat %g: %g vs %g (ellipsoid %g), s %g vs %g\n", rings, latitude,
                        std::atan2(lambda * w, v), middle, latitude, std::hypot(v, lambda * w), a * t);
            EXPECT_LE(std::abs(std::atan2(lambda * w, v) - latitude), gap);
          }
        }
      }
  }
}

}  // namespace
}  // namespace scree
