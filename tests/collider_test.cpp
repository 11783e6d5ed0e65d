#include "scree/collider.h"

#include <gtest/gtest.h>

#include <functional>

#include "scree/error.h"
#include "scree/world.h"
#include "support/mechanisms.h"
#include "support/random_tree.h"

namespace scree {
namespace {

using Vec2 = Eigen::Vector2d;
using test::Random;
using test::random_rotation;
using test::random_vector;
using test::uniform;

// Gradient against differences of the value, Hessian against differences of the gradient.
void expect_derivatives(const Collider& ground, const Vec3& p, double tolerance) {
  const double h = 1e-5;
  const SignedDistance at = distance(ground, p);
  Vec3 gradient;
  Mat3 hessian;
  for (int k = 0; k < 3; ++k) {
    const SignedDistance plus = distance(ground, p + h * Vec3::Unit(k));
    const SignedDistance minus = distance(ground, p - h * Vec3::Unit(k));
    gradient(k) = (plus.value - minus.value) / (2 * h);
    hessian.col(k) = (plus.gradient - minus.gradient) / (2 * h);
  }
  EXPECT_LT((gradient - at.gradient).norm(), tolerance) << p.transpose();
  EXPECT_LT((hessian - at.hessian).norm(), tolerance) << p.transpose() << "\n" << hessian << "\n\n" << at.hessian;
  EXPECT_LT((at.hessian - at.hessian.transpose()).norm(), 1e-12 * (1 + at.hessian.norm()));
  EXPECT_LT((at.hessian * at.gradient).norm(), 1e-9) << "the gradient of a distance does not vary along itself";
}

// Hills of about 0.1 m, 2 m apart, spacing 0.25 m, from (-2, -1.5) to (2.25, 2).
HeightField hills() {
  const Vec2 origin(-2, -1.5);
  const double spacing = 0.25;
  Eigen::MatrixXd heights(18, 15);
  for (int i = 0; i < heights.rows(); ++i)
    for (int j = 0; j < heights.cols(); ++j) {
      const double x = origin.x() + i * spacing, y = origin.y() + j * spacing;
      heights(i, j) = 0.3 + 0.1 * std::sin(M_PI * x) * std::cos(0.8 * M_PI * y) + 0.05 * x;
    }
  return {heights, origin, spacing};
}

HeightField rough(Random& random, int nx, int ny, double amplitude) {
  Eigen::MatrixXd heights(nx, ny);
  for (int i = 0; i < nx; ++i)
    for (int j = 0; j < ny; ++j) heights(i, j) = uniform(random, -amplitude, amplitude);
  return {heights, Vec2(uniform(random, -5, 5), uniform(random, -5, 5)), uniform(random, 0.05, 0.5)};
}

std::vector<Collider> one_of_each(Random& random) {
  std::vector<Collider> ground = {plane_collider(random_vector(random), random_vector(random)),
                                  box_collider({random_rotation(random), random_vector(random)}, Vec3(0.3, 0.8, 1.1))};
  const Stairs stairs{.steps = 3, .rise = 0.2, .tread = 0.3, .width = 1, .landing = 0.7};
  for (const Collider& step : stairs_colliders({random_rotation(random), random_vector(random)}, stairs))
    ground.push_back(step);
  ground.push_back(height_field_collider(std::make_shared<const HeightField>(hills())));
  return ground;
}

TEST(Collider, DistanceToAPlane) {
  const Collider ground = plane_collider(Vec3(1, 2, 3), Vec3(0, 0, 5));
  EXPECT_EQ(ground.name, "ground");
  const SignedDistance d = distance(ground, Vec3(-7, 8, 2.5));
  EXPECT_EQ(d.value, -0.5);
  EXPECT_EQ(d.gradient, Vec3(Vec3::UnitZ()));
  EXPECT_EQ(d.hessian, Mat3(Mat3::Zero()));
}

TEST(Collider, DistanceToABoxInClosedForm) {
  const Collider box = box_collider({Mat3::Identity(), Vec3(1, 0, 0)}, Vec3(2, 4, 6));
  const auto at = [&](double x, double y, double z) { return distance(box, Vec3(x, y, z)); };
  EXPECT_EQ(at(1, 0, 4).value, 1);  // above the top face
  EXPECT_EQ(at(1, 0, 4).gradient, Vec3(Vec3::UnitZ()));
  EXPECT_EQ(at(1, 0, 4).hessian, Mat3(Mat3::Zero()));
  EXPECT_DOUBLE_EQ(at(5, 0, 7).value, 5);  // edge x = 2, z = 3: offsets 3 and 4
  EXPECT_TRUE(at(5, 0, 7).gradient.isApprox(Vec3(0.6, 0, 0.8), 1e-15));
  // A cylinder of radius 5 about the edge: curvature 1/5 along (-0.8, 0, 0.6).
  const Vec3 around(-0.8, 0, 0.6);
  EXPECT_TRUE(at(5, 0, 7).hessian.isApprox(around * around.transpose() / 5, 1e-14));
  EXPECT_DOUBLE_EQ(at(3, 4, 5).value, 3);  // corner (2, 2, 3): offsets 1, 2, 2; a sphere of radius 3
  EXPECT_NEAR(at(3, 4, 5).hessian.trace(), 2.0 / 3, 1e-15);
  EXPECT_EQ(at(1, 1.75, 0).value, -0.25);  // inside, nearest face y = 2
  EXPECT_EQ(at(1, 1.75, 0).gradient, Vec3(Vec3::UnitY()));
  EXPECT_EQ(at(2, 2, 3).value, 0) << "a corner itself";
  EXPECT_EQ(at(2, 2, 3).gradient.norm(), 1);
  EXPECT_TRUE(at(1, 0, 0).gradient.allFinite()) << "the middle";
}

TEST(Collider, DerivativesMatchDifferences) {
  Random random(81);
  for (int trial = 0; trial < 300; ++trial) {
    for (const Collider& ground : one_of_each(random)) {
      Vec3 p = random_vector(random, 2);
      if (const auto* box = std::get_if<Box>(&ground.shape)) {
        // Away from the planes of the faces and from the planes inside that are equally far from two faces.
        const Vec3 e = (ground.X_BS.R.transpose() * (p - ground.X_BS.p)).cwiseAbs() - box->size / 2;
        if (e.cwiseAbs().minCoeff() < 0.05) continue;
        Vec3 sorted = e;
        std::sort(sorted.data(), sorted.data() + 3);
        if (e.maxCoeff() < 0 && sorted(2) - sorted(1) < 0.05) continue;
      } else if (const auto* field = std::get_if<std::shared_ptr<const HeightField>>(&ground.shape)) {
        // Nearer than 0.3 m (half the smallest radius of curvature, 1 / (0.1 (pi^2 + 0.64 pi^2))), and not near the
        // rim.
        p = Vec3(uniform(random, -1.6, 1.8), uniform(random, -1.1, 1.6), 0);
        p.z() = (*field)->height(p.x(), p.y()).value + uniform(random, -0.3, 0.3);
      }
      // Differences with h = 1e-5: h^2/6 times third and fourth derivatives of at most 1/d^3 = 8000 for a corner at
      // d = 0.05, 1.3e-7. The third derivative of the height field jumps by about 5 between cells, h times that: 5e-5.
      expect_derivatives(ground, p, ground.name == "terrain" ? 5e-5 : 1e-6);
    }
  }
}

TEST(Collider, GradientHasUnitLengthAndTheBoundIsBelowTheDistance) {
  Random random(82);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<Collider> all = one_of_each(random);
    all.push_back(height_field_collider(std::make_shared<const HeightField>(rough(random, 5, 7, 0.3))));
    for (const Collider& ground : all) {
      const Vec3 p = random_vector(random, trial % 3 == 0 ? 20 : 2);
      const SignedDistance d = distance(ground, p);
      EXPECT_NEAR(d.gradient.norm(), 1, 1e-12) << ground.name << " at " << p.transpose();
      EXPECT_TRUE(d.hessian.allFinite());
      EXPECT_LE(distance_bound(ground, p), d.value + 1e-10) << ground.name;
      if (ground.name == "terrain") continue;
      const Vec3 q = p + random_vector(random, 0.5);
      EXPECT_LE(std::abs(distance(ground, q).value - d.value), (p - q).norm() + 1e-12) << "Lipschitz";
    }
  }
}

TEST(Collider, BoxDistanceMatchesSamplesOfItsSurface) {
  Random random(83);
  const int n = 60;
  for (int trial = 0; trial < 40; ++trial) {
    const Pose X{random_rotation(random), random_vector(random)};
    const Vec3 size = Vec3(uniform(random, 0.2, 2), uniform(random, 0.2, 2), uniform(random, 0.2, 2));
    const Vec3 p = random_vector(random, 2);
    const double d = distance(box_collider(X, size), p).value;
    double nearest = 1e9, apart = 0;
    for (int axis = 0; axis < 3; ++axis)
      for (const double side : {-0.5, 0.5})
        for (int i = 0; i <= n; ++i)
          for (int j = 0; j <= n; ++j) {
            Vec3 s;
            s(axis) = side;
            s((axis + 1) % 3) = static_cast<double>(i) / n - 0.5;
            s((axis + 2) % 3) = static_cast<double>(j) / n - 0.5;
            nearest = std::min(nearest, (X * s.cwiseProduct(size) - p).norm());
          }
    apart = size.maxCoeff() / n;  // a sample lies within sqrt(2)/2 of that from any surface point
    EXPECT_GE(nearest, std::abs(d) - 1e-12);
    EXPECT_LE(nearest, std::abs(d) + 0.71 * apart);
    const bool inside = ((X.inverse() * p).cwiseAbs() - size / 2).maxCoeff() < 0;
    EXPECT_EQ(d < 0, inside);
  }
}

TEST(Collider, StairsHaveOneContactOnATreadAndTwoInACorner) {
  World world;
  world.add(plane_collider(Vec3::Zero(), Vec3::UnitZ()));
  const double rise = 0.2, tread = 0.3;
  world.add(stairs_colliders({Mat3::Identity(), Vec3(1, 0, 0)},
                             {.steps = 4, .rise = rise, .tread = tread, .width = 2, .landing = 1}));
  ASSERT_EQ(world.colliders.size(), 5u);
  const auto touched = [&](double x, double z) {
    std::vector<Vec3> normals;
    for (const Collider& ground : world.colliders)
      if (const SignedDistance d = distance(ground, Vec3(x, 0.3, z)); d.value < 0) normals.push_back(d.gradient);
    return normals;
  };
  const double depth = 0.01;
  for (int step = 1; step <= 4; ++step) {
    const double start = 1 + (step - 1) * tread;
    const std::vector<Vec3> on_tread = touched(start + 0.15, step * rise - depth);
    ASSERT_EQ(on_tread.size(), 1u) << "tread " << step;
    EXPECT_EQ(on_tread[0], Vec3(Vec3::UnitZ()));
    const std::vector<Vec3> in_corner = touched(start + 0.004, (step - 1) * rise - depth);
    ASSERT_EQ(in_corner.size(), 2u) << "foot of riser " << step;
    EXPECT_EQ(in_corner[0], Vec3(Vec3::UnitZ()));
    EXPECT_EQ(in_corner[1], Vec3(-Vec3::UnitX()));
    EXPECT_TRUE(touched(start - 0.05, (step - 1) * rise + depth).empty()) << "before riser " << step;
  }
  EXPECT_EQ(touched(1 + 3 * tread + 0.9, 4 * rise - depth).size(), 1u) << "the landing has no seam";
  EXPECT_EQ(touched(1 + 3 * tread + 1.1, 4 * rise - depth).size(), 0u) << "and ends";
}

TEST(Collider, RefusesNumbersThatMakeNoGround) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (const double bad : {nan, inf, -inf, 1e13}) {
    EXPECT_THROW(plane_collider(Vec3(0, bad, 0), Vec3::UnitZ()), InputError);
    EXPECT_THROW(plane_collider(Vec3::Zero(), Vec3(0, bad, 1)), InputError);
    EXPECT_THROW(box_collider({Mat3::Identity(), Vec3(bad, 0, 0)}, Vec3::Ones()), InputError);
    EXPECT_THROW(stairs_colliders({Mat3::Identity(), Vec3(bad, 0, 0)}, {1, 1, 1, 1, 1}), InputError);
    Eigen::MatrixXd heights = Eigen::MatrixXd::Zero(4, 4);
    EXPECT_THROW(HeightField(heights, Vec2(bad, 0), 1), InputError);
    heights(2, 3) = bad;
    EXPECT_THROW(HeightField(heights, Vec2::Zero(), 1), InputError);
  }
  EXPECT_THROW(plane_collider(Vec3::Zero(), Vec3::Zero()), InputError);
  EXPECT_THROW(box_collider({2 * Mat3::Identity(), Vec3::Zero()}, Vec3::Ones()), InputError);
  EXPECT_THROW(box_collider({-Mat3::Identity(), Vec3::Zero()}, Vec3::Ones()), InputError);
  EXPECT_THROW(box_collider({nan * Mat3::Identity(), Vec3::Zero()}, Vec3::Ones()), InputError);
  for (const double bad : {nan, inf, 0.0, -1.0}) {
    EXPECT_THROW(box_collider(Pose{}, Vec3(1, bad, 1)), InputError);
    EXPECT_THROW(stairs_colliders(Pose{}, Stairs{1, bad, 1, 1, 1}), InputError);
    EXPECT_THROW(stairs_colliders(Pose{}, Stairs{1, 1, bad, 1, 1}), InputError);
    EXPECT_THROW(stairs_colliders(Pose{}, Stairs{1, 1, 1, bad, 1}), InputError);
    EXPECT_THROW(stairs_colliders(Pose{}, Stairs{1, 1, 1, 1, bad}), InputError);
    EXPECT_THROW(HeightField(Eigen::MatrixXd::Zero(4, 4), Vec2::Zero(), bad), InputError);
  }
  EXPECT_THROW(stairs_colliders(Pose{}, Stairs{0, 1, 1, 1, 1}), InputError);
  EXPECT_THROW(stairs_colliders(Pose{}, Stairs{1000000, 1, 1, 1, 1}), InputError);
  EXPECT_THROW(height_field_collider(nullptr), InputError);
  EXPECT_THROW(HeightField(Eigen::MatrixXd::Zero(3, 9), Vec2::Zero(), 1), InputError);
  EXPECT_THROW(HeightField(Eigen::MatrixXd::Zero(4, 5000), Vec2::Zero(), 1), InputError);
}

// The same ground as a height field at a pose and, moved by hand, as one where it is.
TEST(Collider, HeightFieldMayHaveAPose) {
  Random random(90);
  const auto field = std::make_shared<const HeightField>(hills());
  Collider ground = height_field_collider(field);
  for (int trial = 0; trial < 300; ++trial) {
    ground.X_BS = {random_rotation(random), random_vector(random, 3)};
    check_collider(ground);
    Vec3 p_S(uniform(random, -1.6, 1.8), uniform(random, -1.1, 1.6), 0);
    p_S.z() = field->height(p_S.x(), p_S.y()).value + uniform(random, -0.3, 0.3);
    const Vec3 p = ground.X_BS * p_S;
    const SignedDistance here = distance(ground, p), there = field->distance(p_S);
    // p comes back through a rotation and 3 m: a few roundings of 1e-15 m, which the Hessian, at most about 10 / m with
    // third derivatives of 100 / m^2, makes larger.
    EXPECT_NEAR(here.value, there.value, 1e-14);
    EXPECT_LT((here.gradient - ground.X_BS.R * there.gradient).norm(), 1e-12);
    EXPECT_LT((here.hessian - ground.X_BS.R * there.hessian * ground.X_BS.R.transpose()).norm(), 1e-10);
    EXPECT_NEAR(distance_bound(ground, p), field->distance_bound(p_S), 1e-12);
    EXPECT_LE(distance_bound(ground, p), here.value + 1e-10);
    expect_derivatives(ground, p, 5e-5);  // as above
  }
  // Turned by a quarter about z and moved, the grid itself can be: x' = 0.5 - y, y' = 1 + x, z' = z + 0.25.
  ground.X_BS = {Eigen::AngleAxisd(M_PI / 2, Vec3::UnitZ()).toRotationMatrix(), Vec3(0.5, 1, 0.25)};
  const Eigen::MatrixXd& heights = field->heights();
  Eigen::MatrixXd moved(heights.cols(), heights.rows());
  for (Eigen::Index i = 0; i < moved.rows(); ++i)
    for (Eigen::Index j = 0; j < moved.cols(); ++j) moved(i, j) = heights(j, heights.cols() - 1 - i) + 0.25;
  const double s = field->spacing();
  const Vec2 origin(0.5 - (field->origin().y() + static_cast<double>(heights.cols() - 1) * s), 1 + field->origin().x());
  const Collider by_hand = height_field_collider(std::make_shared<const HeightField>(moved, origin, s));
  for (int trial = 0; trial < 300; ++trial) {
    Vec3 p_S(uniform(random, -1.6, 1.8), uniform(random, -1.1, 1.6), 0);
    p_S.z() = field->height(p_S.x(), p_S.y()).value + uniform(random, -0.3, 0.3);
    const Vec3 p = ground.X_BS * p_S;
    const SignedDistance posed = distance(ground, p), here = distance(by_hand, p);
    EXPECT_NEAR(posed.value, here.value, 1e-13);
    EXPECT_LT((posed.gradient - here.gradient).norm(), 1e-11);
    EXPECT_LT((posed.hessian - here.hessian).norm(), 1e-9);
  }
}

TEST(Collider, PairsAreThoseOfABodyAndTheGroundInOrder) {
  const Collider floor = plane_collider(Vec3::Zero(), Vec3::UnitZ(), "floor"),
                 block = box_collider(Pose{}, Vec3::Ones(), "block"),
                 heel = point_collider(BodyIndex(1), Vec3::Zero(), 0, "heel"),
                 toe = point_collider(BodyIndex(0), Vec3::UnitX(), 0.1, "toe");
  const std::vector<ContactPair> none, mixed = {{0, 1}, {0, 3}, {2, 1}, {2, 3}},
                                       ground_first = {{2, 0}, {2, 1}, {3, 0}, {3, 1}},
                                       ground_last = {{0, 2}, {0, 3}, {1, 2}, {1, 3}};
  EXPECT_EQ(contact_pairs({heel, floor, toe, block}), mixed);
  EXPECT_EQ(contact_pairs({floor, block, heel, toe}), ground_first);
  EXPECT_EQ(contact_pairs({heel, toe, floor, block}), ground_last);
  EXPECT_EQ(contact_pairs({heel, toe}), none);
  EXPECT_EQ(contact_pairs({floor, block}), none);
  World world;
  EXPECT_FALSE(world.has_contact());
  world.colliders = {heel, floor, toe};
  world.add({block, floor});
  EXPECT_EQ(world.body_colliders(), 2u);
  EXPECT_EQ(world.pair_count(), 6u);
  EXPECT_EQ(world.pairs().size(), 6u);
  EXPECT_TRUE(world.has_contact());
}

void expect_refused(const std::function<void()>& what, const std::string& expected) {
  try {
    what();
    ADD_FAILURE() << "accepted, expected: " << expected;
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
  }
}

TEST(Collider, ChecksSayWhatCannotTakePart) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto refused = [](const Collider& collider, const std::string& expected) {
    expect_refused([&] { check_collider(collider); }, expected);
  };
  const Pose at{Mat3::Identity(), Vec3(1, 2, 3)};
  refused({"heel", {}, at, Sphere{0.1}}, "collider \"heel\": it has no body, expected one of the model, or kWorld");
  refused({"floor", {}, at, Plane{}}, "collider \"floor\": it has no body");
  refused({"ball", kWorld, at, Sphere{0.1}},
          "collider \"ball\": a sphere is fixed to the world, expected a plane, a box");
  refused({"trunk", BodyIndex(0), at, Box{Vec3::Ones()}}, "collider \"trunk\": a box of a body, expected spheres");
  refused({"trunk", BodyIndex(0), at, Plane{}}, "a plane of a body, expected spheres");
  refused({"trunk", BodyIndex(0), at, std::make_shared<const HeightField>(hills())}, "of a body, expected spheres");
  refused({"toe", BodyIndex(0), at, Sphere{-0.1}}, "collider \"toe\": radius is -0.1, expected a number in [0, ");
  refused({"toe", BodyIndex(0), at, Sphere{nan}}, "collider \"toe\": radius is nan, expected");
  refused({"toe", BodyIndex(0), {Mat3::Identity(), Vec3(0, nan, 0)}, Sphere{}}, "collider \"toe\": position");
  refused({"floor", kWorld, {-Mat3::Identity(), Vec3::Zero()}, Plane{}}, "collider \"floor\": rotation is not");
  refused({"block", kWorld, at, Box{Vec3(1, 0, 1)}}, "collider \"block\": size");
  refused({"hills", kWorld, at, std::shared_ptr<const HeightField>()}, "collider \"hills\": no height field given");
  check_collider({"toe", BodyIndex(0), at, Sphere{0}});
  check_collider({"floor", kWorld, at, Plane{}});
}

TEST(World, RefusesWhatNoSimulationCanRunIn) {
  const Model model = test::pendulum();
  const auto refused = [&](const std::function<void(World&)>& spoil, const std::string& expected) {
    World world;
    world.add(plane_collider(Vec3(0, 0, -2), Vec3::UnitZ()));
    world.add(point_collider(BodyIndex(0), Vec3::Zero(), 0, "bob"));
    world.validate(model);
    spoil(world);
    expect_refused([&] { world.validate(model); }, expected);
  };
  refused([](World& w) { w.colliders.pop_back(); },
          "world: nothing of model pendulum can touch the ground, expected colliders of its bodies");
  refused([](World& w) { w.colliders[1].body = BodyIndex(1); },
          "collider \"bob\": its body is 1, expected one of the 1 of model pendulum");
  refused([](World& w) { w.colliders[1].body = {}; }, "collider \"bob\": it has no body");
  refused([](World& w) { w.colliders[0].body = {}; }, "collider \"ground\": it has no body");
  refused([](World& w) { w.impact.law = ImpactLaw::reflections; },
          "surface: restitution is 0, expected 1 with the law of impacts reflections");
  refused([](World& w) { w.surface.friction = -0.1; }, "surface: friction is -0.1, expected a number in [0, 100]");
  refused([](World& w) { w.surface.friction = NAN; }, "surface: friction is nan, expected");
  refused([](World& w) { w.surface.restitution = 1.1; }, "surface: restitution is 1.1, expected a number in [0, 1]");
  refused([](World& w) { w.gravity.y() = INFINITY; }, "world: gravity is inf, expected");
  refused([](World& w) { w.smooth.depth = 0; }, "depth is 0, expected");
  refused([](World& w) { w.law = nullptr; }, "world: no contact law");

  World elastic;
  elastic.impact.law = ImpactLaw::reflections;
  elastic.surface.restitution = 1;
  elastic.validate(model);
  World nothing_to_touch;
  nothing_to_touch.add(point_collider(BodyIndex(0), Vec3::Zero(), 0, "bob"));
  nothing_to_touch.validate(model);
}

TEST(HeightField, PassesThroughItsGridAndIsSmoothBetweenCells) {
  Random random(84);
  for (const auto& [nx, ny] : {std::pair(4, 4), std::pair(5, 9), std::pair(12, 6)}) {
    const HeightField field = rough(random, nx, ny, 1);
    const double s = field.spacing();
    for (int i = 0; i < nx; ++i)
      for (int j = 0; j < ny; ++j) {
        const double x = field.origin().x() + i * s, y = field.origin().y() + j * s;
        // Coefficients grow to about 50 times the heights at the ends; 1e-13 leaves room for a few roundings of them.
        EXPECT_NEAR(field.height(x, y).value, field.heights()(i, j), 1e-13);
        if (i == 0 || j == 0 || i == nx - 1 || j == ny - 1) continue;
        // Third derivatives are below 1000 / s^3 here, so that second ones change by less than 2e-9 * 1000 / s^2.
        const double e = 1e-9 * s;
        const HeightField::Height a = field.height(x - e, y - e), b = field.height(x + e, y + e);
        EXPECT_NEAR(a.value, b.value, 1e-6);
        EXPECT_LT((a.slope - b.slope).norm() * s, 1e-6);
        EXPECT_LT((a.bending - b.bending).norm() * s * s, 4e-6);
      }
  }
}

TEST(HeightField, ReproducesBicubicPolynomials) {
  const auto f = [](double x, double y) { return (1 + x - 2 * x * x + x * x * x) * (2 - y + y * y + 3 * y * y * y); };
  for (const int n : {4, 5, 8}) {
    Eigen::MatrixXd heights(n, n + 1);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j <= n; ++j) heights(i, j) = f(0.2 * i, 0.2 * j);
    const HeightField field(heights, Vec2::Zero(), 0.2);
    Random random(85);
    for (int k = 0; k < 50; ++k) {
      const double x = uniform(random, 0, 0.2 * (n - 1)), y = uniform(random, 0, 0.2 * n);
      EXPECT_NEAR(field.height(x, y).value, f(x, y), 1e-12 * heights.cwiseAbs().maxCoeff());
      const HeightField::Height h = field.height(x, y);
      EXPECT_NEAR(h.slope.x(), (1 - 4 * x + 3 * x * x) * (2 - y + y * y + 3 * y * y * y), 1e-9);
      EXPECT_NEAR(h.bending(0, 1), (1 - 4 * x + 3 * x * x) * (-1 + 2 * y + 9 * y * y), 1e-8);
      EXPECT_NEAR(h.bending(1, 1), (1 + x - 2 * x * x + x * x * x) * (2 + 18 * y), 1e-8);
    }
  }
}

TEST(HeightField, ConvergesWithFourthOrderUpToItsRim) {
  const auto f = [](double x, double y) { return std::sin(2 * x + 0.3) * std::exp(-0.5 * y); };
  const auto error = [&](int n) {
    const double s = 2.0 / (n - 1);
    Eigen::MatrixXd heights(n, n);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) heights(i, j) = f(i * s, j * s);
    const HeightField field(heights, Vec2::Zero(), s);
    double worst = 0;
    for (int i = 0; i <= 200; ++i)
      for (int j = 0; j <= 200; ++j)
        worst = std::max(worst, std::abs(field.height(0.01 * i, 0.01 * j).value - f(0.01 * i, 0.01 * j)));
    return worst;
  };
  const double e1 = error(17), e2 = error(33), e3 = error(65);
  EXPECT_GT(e1 / e2, 13);  // 16 in the limit; the next order and the place of the samples blur it
  EXPECT_GT(e2 / e3, 13);
  EXPECT_LT(e2 / e3, 19);
}

TEST(HeightField, GoesOnFlatBeyondItsRim) {
  Random random(86);
  const HeightField field = rough(random, 6, 5, 1);
  const double x0 = field.origin().x(), y0 = field.origin().y(), s = field.spacing();
  const HeightField::Height rim = field.height(x0, y0 + 1.3 * s), out = field.height(x0 - 7, y0 + 1.3 * s);
  EXPECT_EQ(out.value, rim.value);
  EXPECT_EQ(out.slope.x(), 0);
  EXPECT_EQ(out.slope.y(), rim.slope.y());
  EXPECT_EQ(out.bending(0, 0), 0);
  EXPECT_EQ(out.bending(0, 1), 0);
  // x0 + 5 s is the rim up to a rounding of some 1e-15, which slopes of a few carry over to the height.
  EXPECT_NEAR(field.height(x0 + 100, y0 + 100).value, field.height(x0 + 5 * s, y0 + 4 * s).value, 1e-14);
  EXPECT_EQ(field.height(x0 + 100, y0 + 100).slope, Vec2(0, 0));
}

// The nearest of surface points sampled `apart` from each other within `reach` of p.
double nearest_sample(const HeightField& field, const Vec3& p, double reach, double apart) {
  double nearest = std::numeric_limits<double>::infinity();
  const int n = static_cast<int>(std::ceil(reach / apart));
  for (int i = -n; i <= n; ++i)
    for (int j = -n; j <= n; ++j) {
      const double x = p.x() + i * apart, y = p.y() + j * apart;
      nearest = std::min(nearest, (Vec3(x, y, field.height(x, y).value) - p).norm());
    }
  return nearest;
}

TEST(HeightField, DistanceIsToTheNearestPointOfTheSurface) {
  Random random(87);
  for (int trial = 0; trial < 300; ++trial) {
    // Slopes up to about 1, also near and beyond the rim.
    HeightField field = rough(random, 8, 7, 1);
    field = HeightField(field.heights() * (0.25 * field.spacing()), field.origin(), field.spacing());
    const double s = field.spacing();
    Vec3 p(field.origin().x() + uniform(random, -1.5, 8.5) * s, field.origin().y() + uniform(random, -1.5, 7.5) * s, 0);
    // Farther than about one spacing from ground this rough (independent heights), one point in 1000 finds a foot that
    // is only nearest in its valley.
    const double above = uniform(random, -0.75, 0.75) * s;
    p.z() = field.height(p.x(), p.y()).value + above;
    const SignedDistance d = field.distance(p);
    EXPECT_EQ(d.value > 0, above > 0);
    const double reach = std::abs(above) * 1.0001, apart = reach / 40;
    const double nearest = nearest_sample(field, p, reach, apart);
    // A sample lies within 0.71 apart of the foot point in the plane, at slopes below 2 within 1.6 apart in space.
    EXPECT_LE(std::abs(d.value), nearest + 1e-12) << "trial " << trial;
    EXPECT_GE(std::abs(d.value), nearest - 1.6 * apart) << "trial " << trial;
    const Vec3 foot = p - d.value * d.gradient;
    EXPECT_NEAR(field.height(foot.x(), foot.y()).value, foot.z(), 1e-9 * s) << "the foot point is on the surface";
  }
}

TEST(HeightField, DistanceOfAnInclineIsExact) {
  Eigen::MatrixXd heights(10, 10);
  for (int i = 0; i < 10; ++i)
    for (int j = 0; j < 10; ++j) heights(i, j) = 0.75 * i * 0.1 + 0.2;  // slope 3/4: normal (-0.6, 0, 0.8)
  const HeightField field(heights, Vec2(0, -0.45), 0.1);
  for (const double d : {0.3, 0.01, 0.0, -0.02, -0.25}) {
    const SignedDistance at = field.distance(Vec3(0.45 - 0.6 * d, 0, 0.2 + 0.75 * 0.45 + 0.8 * d));
    EXPECT_NEAR(at.value, d, 1e-14);
    EXPECT_LT((at.gradient - Vec3(-0.6, 0, 0.8)).norm(), 1e-13);
    EXPECT_LT(at.hessian.norm(), 1e-10);
  }
  // Beyond the upper rim at x = 0.9 the ground is level at 0.875; the bend is the nearest point of the wedge between.
  const SignedDistance bend = field.distance(Vec3(0.9 - 0.1, 0.1, 0.875 + 0.4));
  EXPECT_NEAR(bend.value, std::hypot(0.1, 0.4), 1e-14);
  EXPECT_LT((bend.gradient - Vec3(-0.1, 0, 0.4).normalized()).norm(), 1e-14);
  EXPECT_NEAR(bend.hessian.trace(), 1 / bend.value, 1e-12) << "a cylinder about the bend";
  EXPECT_NEAR(field.distance(Vec3(1.0, 0.1, 1)).value, 0.125, 1e-15);
  EXPECT_LT((field.distance(Vec3(50, 0.1, 1)).gradient - Vec3::UnitZ()).norm(), 1e-14);
}

// Gentle ground at z = -0.8 touched from within 3 cm: the squared distance is small against the rounding of
// coordinates.
TEST(HeightField, DerivativesAreThoseOfTheSurfaceWhereFeetTouchIt) {
  Random random(89);
  Eigen::MatrixXd heights(13, 13);
  for (int i = 0; i < 13; ++i)
    for (int j = 0; j < 13; ++j) heights(i, j) = -0.8 + 0.04 * std::sin(0.65 * i) * std::cos(0.55 * j);
  const HeightField field(heights, Vec2(-3, -3), 0.5);
  const Collider ground = height_field_collider(std::make_shared<const HeightField>(field));
  for (int trial = 0; trial < 1000; ++trial) {
    Vec3 p(uniform(random, -2.5, 2.5), uniform(random, -2.5, 2.5), 0);
    p.z() = field.height(p.x(), p.y()).value + uniform(random, -0.03, 0.03);
    // As above, h times the jump of the third derivative between cells, here below 0.1.
    expect_derivatives(ground, p, 1e-6);
  }
}

TEST(HeightField, AnswersFromFarAway) {
  Random random(88);
  for (int trial = 0; trial < 200; ++trial) {
    const HeightField field = rough(random, 9, 9, 1);
    for (const double far : {1e1, 1e3, 1e6, 1e12, 1e100}) {
      const Vec3 p = random_vector(random, far);
      const SignedDistance d = field.distance(p);
      ASSERT_TRUE(std::isfinite(d.value) && d.gradient.allFinite() && d.hessian.allFinite()) << p.transpose();
      EXPECT_NEAR(d.gradient.norm(), 1, 1e-12);
      EXPECT_EQ(d.value > 0, p.z() > field.height(p.x(), p.y()).value);
      EXPECT_LE(std::abs(d.value), std::abs(p.z() - field.height(p.x(), p.y()).value) * (1 + 1e-12));
      EXPECT_LE(field.distance_bound(p), d.value + 1e-9 * std::abs(d.value));
    }
  }
  const HeightField flat(Eigen::MatrixXd::Zero(4, 4), Vec2::Zero(), 1);
  EXPECT_EQ(flat.distance(Vec3(1e9, -1e9, 1e9)).value, 1e9);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(flat.distance(Vec3(0, nan, nan)).value)) << "garbage in is visible, and ends";
}

}  // namespace
}  // namespace scree
