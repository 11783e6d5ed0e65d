// The law `patch`: its vertices, their derivatives, and bodies that slide, spin, tip and are pushed on it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "contact/contact_set.h"
#include "scree/error.h"
#include "scree/run.h"
#include "scree/scene.h"
#include "scree/simulation.h"
#include "support/paths.h"
#include "support/random_tree.h"
#include "support/temp_folder.h"

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
  flat.friction = 0.6;
  const Wrenches v = vertices(*make_patch(o), flat);
  const double lambda = o.effective_torsion_radius();
  Eigen::Matrix3Xd result(3, v.cols());
  result << v.topRows<2>() / flat.friction, v.row(5) / (flat.friction * (lambda > 0 ? lambda : 1));
  return result;
}

// -------------------------------------------------------------------------------------------------- the vertices

PatchOptions random_options(test::Random& random) {
  PatchOptions o;
  o.exponent = std::uniform_int_distribution<int>(2, 4)(random);
  o.stiffness = test::uniform(random, 50, 200);
  o.directions = std::uniform_int_distribution<int>(3, 8)(random);
  o.rings = std::uniform_int_distribution<int>(0, 2)(random);
  if (test::uniform(random, 0, 1) < 0.5) {
    o.size = {test::uniform(random, 0.1, 0.6), test::uniform(random, 0.1, 0.6)};
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
    ContactGeometry geometry;
    geometry.friction = test::uniform(random, 0.1, 1.5);
    const auto law = make_patch(random_options(random));
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
    World world;
    world.surface.friction = test::uniform(random, 0.1, 1.5);
    world.law = make_patch(random_options(random));
    world.add(plane_collider(test::random_vector(random, 0.1),
                             (Vec3::UnitZ() + test::random_vector(random, 0.3)).normalized()));
    world.add(box_collider({test::random_rotation(random), test::random_vector(random, 0.3)}, Vec3(0.5, 0.7, 0.3)));
    world.add(point_collider(BodyIndex(0), test::random_vector(random, 0.2), trial % 2 ? 0 : 0.05, "p"));
    const State state =
        make_state(model, test::random_position(random, model, 0.1), test::random_velocity(random, model));
    const Eigen::VectorXd delta = 0.05 * state.v;
    NewtonEulerStage newton_euler(model);
    PositionBasedStage position_based(model);
    Discretisation& stage = trial % 4 < 2 ? static_cast<Discretisation&>(newton_euler) : position_based;
    stage.begin(state, 0.05, Vec3(0, 0, -kGravity));
    ContactSet set(model, world);
    stage.set_trial(delta.data());
    set.select(stage.trial(), 10, true);
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
    ContactGeometry geometry;
    geometry.friction = test::uniform(random, 0, 2);
    CoulombOptions coulomb;
    coulomb.directions = std::uniform_int_distribution<int>(3, 12)(random);
    coulomb.exponent = std::uniform_int_distribution<int>(2, 4)(random);
    coulomb.depth = test::uniform(random, 0.001, 0.1);
    if (trial % 2) coulomb.stiffness = test::uniform(random, 10, 1e5);
    PatchOptions patch;
    patch.directions = coulomb.directions;
    patch.exponent = coulomb.exponent;
    patch.depth = coulomb.depth;
    patch.stiffness = coulomb.stiffness;
    patch.rings = trial % 3;  // of no torsion
    const auto a = make_patch(patch), b = make_coulomb(coulomb);
    ASSERT_EQ(a->vertex_count(), b->vertex_count());
    EXPECT_EQ(a->reach(), b->reach());
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
      o.size = {shape.x, shape.y};
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
  o.stiffness = 1e3;
  o.exponent = 2;
  o.size = {0.4, 0.2};
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
  geometry.friction = 0.7;
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

// Pressure N at the corner, friction at its height on the normal through the centre, torsion about the normal; columns
// of one corner after those of the other.                                                             theory (8.15)
TEST(Patch, WrenchesActWhereTheyShould) {
  test::Random random(135);
  for (int trial = 0; trial < 50; ++trial) {
    PatchOptions o;
    o.size = {0.4, 0.2};
    o.stiffness = 100;
    o.exponent = 2;
    ContactGeometry geometry;
    geometry.friction = test::uniform(random, 0.1, 1);
    geometry.depth = 0.3;
    geometry.R_CB = test::random_rotation(random);
    const Wrenches v = vertices(*make_patch(o), geometry);
    const Eigen::Matrix3Xd surface = limit_surface(o);
    const Eigen::Index each = v.cols() / 4;
    Eigen::Vector4i seen = Eigen::Vector4i::Zero();
    for (Eigen::Index k = 0; k < v.cols(); ++k) {
      const Vec3 force = v.col(k).head<3>(), moment = v.col(k).tail<3>();
      // Which corner is it? The one whose depth gives this pressure.
      int matches = 0;
      for (int corner = 0; corner < 4; ++corner) {
        const Vec3 r = geometry.R_CB * Vec3(corner % 2 ? 0.2 : -0.2, corner / 2 ? 0.1 : -0.1, 0);
        const double N = 100 * std::pow(0.3 - r.z(), 2);  // 0.3 is more than the reach
        const Vec3 slip = geometry.friction * N * surface.col(k % each);
        const Vec3 expected = r.cross(Vec3(0, 0, N)) + Vec3(0, 0, r.z()).cross(Vec3(slip.x(), slip.y(), 0)) +
                              Vec3(0, 0, o.effective_torsion_radius() * slip.z());
        const bool same = (force - Vec3(slip.x(), slip.y(), N)).norm() + (moment - expected).norm() < 1e-11 * N;
        matches += same;
        seen(corner) += same;
      }
      EXPECT_EQ(matches, 1);
    }
    EXPECT_EQ(seen.minCoeff(), each);
    EXPECT_EQ(seen.maxCoeff(), each);
  }
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
  EXPECT_EQ(message([](PatchOptions& o) { o.size = {1, 1}; }), "contact: radius is 0.1, expected none beside size");
  EXPECT_EQ(message([](PatchOptions& o) {
              o.radius = 0;
              o.size = {1, 0};
            }),
            "contact: size is [1, 0], expected two numbers in [1e-6, 20] m");
  EXPECT_EQ(message([](PatchOptions& o) { o.axis.setZero(); }),
            "contact: axis is [0, 0, 0], expected a vector longer than 1e-6");
  EXPECT_EQ(message([](PatchOptions& o) { o.torsion_radius = -0.1; }),
            "contact: torsion_radius is -0.1, expected a number in [0, 10] m");
  EXPECT_EQ(message([](PatchOptions& o) { o.rings = 9; }), "contact: rings is 9, expected an integer in [0, 8]");
  EXPECT_EQ(message([](PatchOptions& o) { o.directions = 2; }),
            "contact: directions is 2, expected an integer in [3, 64]");
  EXPECT_EQ(message([](PatchOptions& o) { o.directions = 64; }),
            "contact: a patch of 4 corners, 64 directions and 1 rings has 776 vertices, expected at most 512");
  Surface rough;
  rough.friction = -1;
  try {
    rough.validate();
    ADD_FAILURE() << "accepted";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "surface: friction is -1, expected a number in [0, 100]");
  }
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

Simulation on_floor(Model model, const PatchOptions& law, double friction, IntegratorType integrator, double dt,
                    double slope = 0) {
  World world;
  world.surface.friction = friction;
  world.add(plane_collider(Vec3::Zero(), Vec3(std::sin(slope), 0, std::cos(slope))));
  world.law = make_patch(law);
  world.add(contact_candidates(model, ContactCandidates::named));
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
  law.radius = r;
  law.depth = 1e-3;
  const double rate = mu * m * kGravity * law.effective_torsion_radius() / I;  // [rad/s^2]
  EXPECT_NEAR(law.effective_torsion_radius(), 2.0 / 3 * r, 1e-15);
  for (const IntegratorType integrator : kFirstOrder) {
    SCOPED_TRACE(integrator_name(integrator));
    Simulation s = on_floor(slab(m, Vec3(I / 2, I / 2, I), Vec3::Zero(), Vec3(0, 0, -0.02)), law, mu, integrator, dt);
    s.set_state(vector({0, 0, 0.02 - *law.depth, 1, 0, 0, 0}), vector({0, 0, 0, 0, 0, spin}));
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
  law.depth = 1e-3;
  law.size = {2 * a, 0.3};
  for (const IntegratorType integrator : kFirstOrder)
    for (const double part : {0.9, 1.1}) {
      // After 1 s: settled by a few depths over the size of the patch, or fallen: faster than exp(t sqrt(g/height)).
      const auto check = [&](Simulation& s, double slope) {
        for (int k = 0; k < 100; ++k) ASSERT_TRUE(s.step().converged());
        const Vec3 z = s.frame_pose("slab").R * Vec3::UnitZ();
        const double tilt = std::acos(z.dot(Vec3(std::sin(slope), 0, std::cos(slope))));
        if (part < 1) {
          EXPECT_LE(tilt, 3 * *law.depth / a);
          EXPECT_LE(s.state().v.norm(), 1e-6);
        } else {
          EXPECT_GE(tilt, 0.5);
        }
      };
      SCOPED_TRACE(std::string(integrator_name(integrator)) + " " + std::to_string(part));
      const Vec3 inertia = Vec3(0.03, 0.03, 0.02);
      // A low slab, and little slant: falling onto the far edge it gains m g 2 a 0.01 = 20 mJ at most, of which 40 % go
      // on as a turn about that edge, where m g (hypot(low, 0.1 a) - low) = 16 mJ would take it over.
      constexpr double low = 0.03;
      Simulation flat = on_floor(slab(1, inertia, Vec3(part * a, 0, 0), Vec3(0, 0, -low)), law, 1.5, integrator, 0.01);
      const double slant = -0.01;  // [rad] about y: the far edge is up
      flat.set_state(vector({0, 0, low - *law.depth, std::cos(slant / 2), 0, std::sin(slant / 2), 0}),
                     Eigen::VectorXd::Zero(6));
      check(flat, 0);
      const double slope = part * std::atan(a / height);
      Simulation steep =
          on_floor(slab(1, inertia, Vec3::Zero(), Vec3(0, 0, -height)), law, 1.5, integrator, 0.01, slope);
      steep.set_state(vector({(height - *law.depth) * std::sin(slope), 0, (height - *law.depth) * std::cos(slope),
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
// An implicit step sees the law at its end, so what it minimises is dissipation at the slip u + z, z = h^2 M^-1 K^T u
// with the stiffness K of the contact, p m g/depth: the part h^2 p g/depth (times friction and lever arms below 1) may
// be missing.
TEST(PatchMotion, ASlidingAndSpinningBoxFollowsItsLimitSurface) {
  constexpr double mu = 0.5, m = 1.5, dt = 0.001, height = 0.05, speed = 0.4;
  for (const int rings : {0, 1, 2}) {
    PatchOptions law;
    law.depth = 1e-2;
    law.size = {0.3, 0.2};
    law.rings = rings;
    const double lambda = law.effective_torsion_radius(), I = m * lambda * lambda, gap = M_PI / (4 * (rings + 1));
    const double implicit = dt * dt * law.exponent * kGravity / *law.depth;  // 0.3 %
    const Eigen::Matrix3Xd surface = limit_surface(law);
    for (const IntegratorType integrator : kFirstOrder)
      for (const double direction : {0.25, 0.8, 1.3}) {  // [rad] atan(lambda w / v)
        SCOPED_TRACE(std::string(integrator_name(integrator)) + " rings " + std::to_string(rings) + " direction " +
                     std::to_string(direction));
        Simulation s =
            on_floor(slab(m, Vec3(I / 2, I / 2, I), Vec3::Zero(), Vec3(0, 0, -height)), law, mu, integrator, dt);
        s.set_state(vector({0, 0, height - *law.depth, 1, 0, 0, 0}),
                    vector({speed * std::cos(direction), 0, 0, 0, 0, speed * std::sin(direction) / lambda}));
        int steps = 0;
        for (double slip = speed; slip > 0.1 * speed; ++steps) {
          ASSERT_LT(steps * dt, speed / (mu * kGravity * std::cos(gap)));
          ASSERT_TRUE(s.step().converged());
          ASSERT_EQ(s.contacts().size(), 1u);
          // The slip of the patch's centre.
          const Mat3 R = s.frame_pose("slab").R;
          const Vec3 w = R * s.state().v.tail<3>(), v = s.state().v.head<3>() + w.cross(R * Vec3(0, 0, -height));
          slip = std::hypot(v.x(), v.y(), lambda * w.z());
          if (slip < 0.1 * speed) break;
          const Contact& c = s.contacts()[0];
          const double dissipated = -(c.force.x() * v.x() + c.force.y() * v.y() + c.moment.z() * w.z());
          const double part = dissipated / (mu * c.force.z() * slip);  // of the ellipsoid's largest
          EXPECT_GE(part, support(surface, lambda, v.x(), v.y(), w.z()) / slip - implicit);
          EXPECT_GE(part, std::cos(gap) - implicit);
          EXPECT_LE(part, 1 + 1e-12);
          EXPECT_LE(std::abs(std::atan2(lambda * w.z(), v.x()) - direction), gap);
        }
        // 0.9 of the speed gone, to a step
        EXPECT_GE((steps + 1) * dt, 0.9 * speed / (mu * kGravity));
        EXPECT_LE((steps - 1) * dt, 0.9 * speed / (mu * kGravity * (std::cos(gap) - implicit)));
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
    law.depth = 1e-3;
    law.torsion_radius = lambda;
    law.rings = rings;
    const double gap = M_PI / (4 * (rings + 1));
    for (const IntegratorType integrator : kFirstOrder)
      for (const double latitude : {0.15, 0.65, 1.0, 1.4}) {
        const double middle = gap * (2 * std::floor(latitude / (2 * gap)) + 1), b = lambda * std::tan(latitude);
        const double limit = mu * m * kGravity * std::cos(gap) / std::cos(latitude - middle) * std::cos(latitude);
        for (const double part : {0.98, 1.02}) {
          SCOPED_TRACE(std::string(integrator_name(integrator)) + " rings " + std::to_string(rings) + " latitude " +
                       std::to_string(latitude) + " part " + std::to_string(part));
          Simulation s = on_floor(pushed_box(m, I, Vec3(0, b, 0)), law, mu, integrator, dt);
          s.control().torque(0) = part * limit;
          s.set_state(vector({0, 0, -*law.depth, 0}), Eigen::VectorXd::Zero(4));
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
            // The box turns by up to 2e-4 rad meanwhile, which moves the force as much.
            EXPECT_NEAR(std::atan2(lambda * w, v), middle, 2e-4);
            EXPECT_NEAR(std::hypot(v, lambda * w), a * t, 1e-3 * a * t);
            EXPECT_LE(std::abs(std::atan2(lambda * w, v) - latitude), gap);
          }
        }
      }
  }
}

// Dragged slowly at V along x by a hinge at the distance l from its centre, a box swings in behind the hinge, theta the
// angle of the arm. No moment acts about the hinge: lambda^2 w = l e x v on the ellipsoid, so
//   theta' = -l V sin(theta) / (l^2 + lambda^2),  tan(theta/2) = tan(theta_0/2) exp(-l V t / (l^2 + lambda^2)),
// a tractrix for lambda = 0. On a polytope the rate w is the one that costs the hinge least work, min h(v(w), w), which
// is another algorithm; and with its bound kappa, scaled friction and slip are at most acos(kappa) from opposite, the
// slip is at most V/kappa, and |theta' - that of the ellipsoid| <= V sqrt(1/kappa^2 - 1) / sqrt(l^2 + lambda^2).
TEST(PatchMotion, ADraggedBoxSwingsInBehindItsHinge) {
  constexpr double mu = 0.5, m = 1, I = 0.01, lambda = 0.1, l = 0.15, V = 0.008, dt = 0.01, theta_0 = 2.5;
  for (const auto& [directions, rings] : {std::pair{6, 1}, std::pair{12, 3}}) {
    PatchOptions law;
    law.depth = 0.3;
    law.torsion_radius = lambda;
    law.directions = directions;
    law.rings = rings;
    const Eigen::Matrix3Xd surface = limit_surface(law);
    const double kappa = law.polytope_bound();
    const double bound = V * std::sqrt(1 / (kappa * kappa) - 1) / std::hypot(l, lambda);
    const auto ellipsoid_rate = [&](double theta) { return -l * V * std::sin(theta) / (l * l + lambda * lambda); };
    // h is convex in w: golden section.
    const auto polytope_rate = [&](double theta) {
      const auto h = [&](double w) {
        return support(surface, lambda, V + w * l * std::sin(theta), -w * l * std::cos(theta), w);
      };
      const double golden = 0.5 * (std::sqrt(5.0) - 1);
      double low = -2 * V / l, high = 2 * V / l;
      for (int k = 0; k < 60; ++k) {
        const double a = high - golden * (high - low), b = low + golden * (high - low);
        (h(a) < h(b) ? high : low) = h(a) < h(b) ? b : a;
      }
      return 0.5 * (low + high);
    };
    for (const IntegratorType integrator : kFirstOrder) {
      SCOPED_TRACE(std::string(integrator_name(integrator)) + " directions " + std::to_string(directions));
      Simulation s = on_floor(pushed_box(m, I, Vec3(-l, 0, 0)), law, mu, integrator, dt);
      for (int a = 0; a < 2; ++a) {
        s.control().kd(a) = 1e6;  // N s/m: 5e-6 m/s off
        s.control().target_velocity(a) = a == 0 ? V : 0;
      }
      s.set_state(vector({0, 0, -*law.depth, theta_0}), vector({V, 0, 0, polytope_rate(theta_0)}));
      double theta = theta_0;
      for (int k = 0; k < 3000; ++k) {
        ASSERT_TRUE(s.step().converged());
        EXPECT_LE(std::abs(s.state().v(3) - ellipsoid_rate(s.state().q(3))), bound);
        // Midpoint rule. An implicit step is off by the parts h^2 p g/depth = 1 % and h^2 mu m g l/(I + m l^2) = 0.2 %
        // of 0.9 rad, see above. Where the rate jumps by W = 0.02 rad/s the inertia I + m l^2 follows a moment that
        // grows from zero at mu m g l theta': in 0.2 s, 0.005 rad late.
        theta += dt * polytope_rate(theta + 0.5 * dt * polytope_rate(theta));
        EXPECT_NEAR(s.state().q(3), theta, 0.016);
      }
      const double exact = 2 * std::atan(std::tan(theta_0 / 2) * std::exp(-l * V * 30 / (l * l + lambda * lambda)));
      EXPECT_NEAR(s.state().q(3), exact, bound * 30);  // the rates' difference over the 30 s, were it always the worst
    }
  }
}

// Dropped at a slant a slab comes to rest flat on the floor, whatever the integrator and the step.
TEST(PatchMotion, ADroppedSlabComesToRestFlat) {
  PatchOptions law;
  law.depth = 5e-3;
  law.size = {0.3, 0.2};
  for (const IntegratorType integrator : {IntegratorType::ne_nmdp, IntegratorType::pbd_nmdp, IntegratorType::ne_zonmdp,
                                          IntegratorType::pbd_zonmdp, IntegratorType::ne_mdp})
    for (const double dt : {0.002, 0.02}) {
      const bool implicit = integrator == IntegratorType::ne_nmdp || integrator == IntegratorType::pbd_nmdp;
      if (!implicit && dt > 0.01) continue;  // linear: small steps only; zeroth order: slow, docs/contact.md
      SCOPED_TRACE(std::string(integrator_name(integrator)) + " dt " + std::to_string(dt));
      Simulation s =
          on_floor(slab(1, Vec3(0.005, 0.01, 0.012), Vec3::Zero(), Vec3(0, 0, -0.05)), law, 0.7, integrator, dt);
      const Quat q(turn(Vec3(0.05, 0.1, 0.3)));
      s.set_state(vector({0, 0, 0.15, q.w(), q.x(), q.y(), q.z()}), vector({0.5, 0.2, 0, 0, 0, 1}));
      double energy = 1e9;
      for (int k = 0; k * dt < 1.5; ++k) {
        const StepReport report = s.step();
        ASSERT_TRUE(report.converged());
        const double now = report.kinetic_energy + report.potential_energy;
        // What is left of an equation, 1e-8 m/s^2 of 1 kg at up to 2 m/s, and the gap of 1e-10 J + 1e-8 K.
        if (report.contacts > 0) {
          EXPECT_LE(now, energy + 1e-8);
        }
        energy = now;
      }
      EXPECT_LE(s.state().v.norm(), 1e-6);
      // It may rest wherever the corners in the ground carry it: the highest one not above the surface by more than the
      // lowest is deep, some depths over the shorter half.
      const Vec3 z = s.frame_pose("slab").R * Vec3::UnitZ();
      EXPECT_LE(std::acos(z.z()), *law.depth / 0.1);
      EXPECT_NEAR(s.contacts().at(0).force.z(), kGravity, 1e-6);
    }
}

// ----------------------------------------------------------------------------------------------------- scenes

class PatchScene : public testing::Test {
 protected:
  Scene load(const std::string& contact) const {
    return load_scene(folder_.write("scene.toml", "model = \"" + source_dir() +
                                                      "/models/box.urdf\"\nduration = 1\n[[environment]]\nshape = "
                                                      "\"plane\"\n[contact]\nlaw = \"patch\"\n" +
                                                      contact));
  }
  std::string message(const std::string& contact) const {
    try {
      load(contact);
    } catch (const InputError& error) {
      const std::string what = error.what();
      return what.substr(what.find("scene.toml") + 10);
    }
    return "accepted";
  }

 private:
  TempFolder folder_;
};

TEST_F(PatchScene, ReadsEveryKey) {
  PatchOptions disc;
  disc.directions = 5;
  disc.exponent = 2;
  disc.stiffness = 1e4;
  disc.radius = 0.1;
  disc.corners = 3;
  disc.axis = Vec3(1, 0, 1);
  disc.torsion_radius = 0.05;
  disc.rings = 2;
  PatchOptions rectangle;
  rectangle.depth = 0.003;
  rectangle.size = {0.3, 0.2};
  ContactGeometry geometry;
  geometry.depth = 0.02;
  geometry.R_CB = turn(Vec3(0.1, 0.2, 0.3));
  geometry.share_of_weight = 3;
  const Scene scene = load(
      "friction = 0.4\ndirections = 5\nexponent = 2\nstiffness = 1e4\nradius = 0.1\ncorners = 3\n"
      "axis = [1, 0, 1]\ntorsion_radius = 0.05\nrings = 2\n");
  EXPECT_EQ(scene.world.surface.friction, 0.4);
  geometry.friction = 0.4;
  EXPECT_EQ(vertices(*scene.world.law, geometry), vertices(*make_patch(disc), geometry));
  geometry.friction = 0.7;
  EXPECT_EQ(vertices(*load("depth = 0.003\nsize = [0.3, 0.2]\n").world.law, geometry),
            vertices(*make_patch(rectangle), geometry));
}

TEST_F(PatchScene, NamesTheKeyThatIsWrong) {
  EXPECT_EQ(message(""), ":6: contact.law: a patch without radius, size and torsion_radius, expected one of them");
  EXPECT_EQ(message("radius = -1\n"), ":7: contact.radius: contact: radius is -1, expected a number in [0, 10] m");
  EXPECT_EQ(message("size = [1, 2]\nradius = 0.1\n"),
            ":7: contact.size: given together with radius, expected one of them");
  EXPECT_EQ(message("size = [1, -2]\n"),
            ":7: contact.size: contact: size is [1, -2], expected two numbers in [1e-6, 20] m");
  EXPECT_EQ(message("size = [1, 2]\ncorners = 5\n"),
            ":8: contact.corners: given without radius, expected none: only a disc has them");
  EXPECT_EQ(message("radius = 0.1\ncorners = 2\n"),
            ":8: contact.corners: contact: corners is 2, expected an integer in [3, 32]");
  EXPECT_EQ(message("radius = 0.1\ndirections = 64\n"),
            ":7: contact.radius: contact: a patch of 4 corners, 64 directions and 1 rings has 776 vertices, expected "
            "at most 512");
  EXPECT_EQ(message("torsion_radius = -2\n"),
            ":7: contact.torsion_radius: contact: torsion_radius is -2, expected a number in [0, 10] m");
  EXPECT_EQ(message("radius = 0.1\nrings = 1.5\n").substr(0, 25), ":8: contact.rings: 1.5, e");
  EXPECT_EQ(message("radius = 0.1\naxis = [0, 0, 0]\n"),
            ":8: contact.axis: contact: axis is [0, 0, 0], expected a vector longer than 1e-6");
  EXPECT_EQ(message("radius = 0.1\nair_force = 1\n").substr(0, 36), ":8: contact.air_force: unknown key, ");
  EXPECT_EQ(message("radius = 0.1\ndepth = 0.1\nstiffness = 1\n"),
            ":9: contact.stiffness: given together with depth, expected one of them");
}

// The example: a pushed box turns round its pusher, at the rate of the ellipsoid within the bound of its polytope, as
// the dragged one above.
TEST(PatchExample, APushedBoxTurnsRoundItsPusher) {
  const Scene scene = load_scene(source_dir() + "/examples/scenes/box-push.toml");
  const scree::Run run = run_scene(scene);
  ASSERT_EQ(run.status, RunStatus::complete);
  PatchOptions law;
  law.size = {0.3, 0.2};
  law.directions = 12;
  law.rings = 3;
  constexpr double l = 0.2, V = 0.1;
  const double lambda = law.effective_torsion_radius(), kappa = law.polytope_bound();
  const double bound = V * std::sqrt(1 / (kappa * kappa) - 1) / std::hypot(l, lambda);
  for (size_t k = 10; k < run.rows(); ++k)  // after a start without a turn
    EXPECT_LE(std::abs(run.v(k, 2) + l * V * std::sin(run.q(k, 2)) / (l * l + lambda * lambda)), bound);
  EXPECT_LT(run.q(run.rows() - 1, 2), M_PI / 4);  // it trails behind
}

}  // namespace
}  // namespace scree
