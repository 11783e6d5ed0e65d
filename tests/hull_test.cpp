// Convex hulls, and fewer vertices that do nearly as well.
#include "geometry/hull.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "solvers/simplex_qp.h"
#include "support/random_tree.h"

namespace scree {
namespace {

std::vector<Vec3> at(const std::vector<Vec3>& points, const std::vector<int>& which) {
  std::vector<Vec3> chosen;
  for (const int k : which) chosen.push_back(points[static_cast<size_t>(k)]);
  return chosen;
}

// By a quadratic program: min |a_0 + sum_i w_i (a_i - a_0) - p|, w >= 0, sum w <= 1.
double distance_by_qp(const std::vector<Vec3>& corners, const Vec3& p) {
  const Eigen::Index n = std::ssize(corners) - 1;
  if (n == 0) return (corners[0] - p).norm();
  Eigen::MatrixXd A(3, n);
  for (Eigen::Index k = 0; k < n; ++k) A.col(k) = corners[static_cast<size_t>(k + 1)] - corners[0];
  const Eigen::MatrixXd Q = A.transpose() * A;
  const Eigen::VectorXd g = A.transpose() * (corners[0] - p);
  Eigen::VectorXd w = Eigen::VectorXd::Zero(n);
  SimplexQp qp;
  qp.solve(1, static_cast<int>(n), Q.data(), g.data(), w.data());
  return (corners[0] + A * w - p).norm();
}

double size_of(const std::vector<Vec3>& points) {
  Vec3 low = points[0], high = low;
  for (const Vec3& p : points) low = low.cwiseMin(p), high = high.cwiseMax(p);
  return (high - low).maxCoeff();
}

std::vector<Vec3> axes() {
  std::vector<Vec3> all;
  for (int k = 0; k < 3; ++k)
    for (const double sign : {-1.0, 1.0}) all.push_back(sign * Vec3::Unit(k));
  return all;
}

// Balls, drums, rounded boxes, clouds, needles and sheets, anywhere and of any size.
std::vector<Vec3> random_cloud(test::Random& random, int kind, int count) {
  std::vector<Vec3> points;
  for (int k = 0; k < count; ++k) {
    const Vec3 d = test::random_vector(random).normalized();
    switch (kind) {
      case 0:
        points.push_back(d);
        break;
      case 1:
        points.push_back({d.head<2>().normalized().x(), d.head<2>().normalized().y(), k % 2 ? 0.1 : -0.1});
        break;
      case 2:
        points.push_back(d / (0.9 * d.cwiseAbs().maxCoeff() + 0.1));
        break;
      case 3:
        points.push_back(test::random_vector(random));
        break;
      case 4:
        points.push_back(test::random_vector(random).cwiseProduct(Vec3(1, 1e-4, 1e-3)));
        break;
      default:
        points.push_back(test::random_vector(random).cwiseProduct(Vec3(1, 1, 0)));
    }
  }
  const Pose X{test::random_rotation(random), test::random_vector(random)};
  const double scale = std::pow(10, test::uniform(random, -3, 2));
  for (Vec3& p : points) p = scale * (X * p);
  return points;
}

TEST(Hull, DistanceIsThatOfAQuadraticProgram) {
  test::Random random(31);
  for (int trial = 0; trial < 400; ++trial) {
    const std::vector<Vec3> corners = random_cloud(random, trial % 6, 1 + trial % 40);
    const double size = std::max(size_of(corners), 1e-3);
    const Vec3 middle = (corners.front() + corners.back()) / 2;
    for (const Vec3& p : {Vec3(middle + test::random_vector(random, size)), Vec3(middle), corners.back()}) {
      const double expected = distance_by_qp(corners, p);
      // The square of a distance is known to 1e-16 of its terms, so a distance of zero is to 1e-8.
      EXPECT_NEAR(distance_to_hull(corners, p), expected, 3e-8 * size) << trial;
      if (expected > 1e-3 * size) {
        EXPECT_NEAR(distance_to_hull(corners, p), expected, 1e-9 * size) << trial;
      }
    }
  }
}

TEST(Hull, ReductionKeepsItsPromise) {
  test::Random random(32);
  for (int trial = 0; trial < 60; ++trial) {
    const int count = trial < 54 ? 20 + 37 * trial : 5000;
    const std::vector<Vec3> points = random_cloud(random, trial % 6, count);
    const double size = size_of(points), accuracy = size * std::pow(10, test::uniform(random, -3, -1));
    const Hull hull = reduced_hull(points, accuracy, axes());
    SCOPED_TRACE(trial);
    EXPECT_EQ(hull.dimension, trial % 6 == 5 ? 2 : 3);
    EXPECT_TRUE(std::ranges::is_sorted(hull.vertices));
    EXPECT_TRUE(std::ranges::adjacent_find(hull.vertices) == hull.vertices.end());
    EXPECT_EQ(reduced_hull(points, accuracy, axes()).vertices, hull.vertices);
    const std::vector<Vec3> kept = at(points, hull.vertices);
    double furthest = 0;
    for (size_t k = 0; k < points.size(); k += 1 + points.size() / 60)
      furthest = std::max(furthest, distance_by_qp(kept, points[k]));
    EXPECT_LE(furthest, hull.distance + 3e-8 * size);
    EXPECT_LE(hull.distance, accuracy);
    EXPECT_NEAR(furthest_from_hull(kept, points), furthest_from_hull(kept, at(points, convex_hull(points).vertices)),
                1e-9 * size);
    // The same from the planes around it: no direction in which it falls short by more.
    for (int k = 0; k < 300; ++k) {
      const Vec3 d = k < 6 ? axes()[static_cast<size_t>(k)] : Vec3(test::random_vector(random).normalized());
      const auto reach = [&](const std::vector<Vec3>& some) {
        return std::ranges::max(some, {}, [&](const Vec3& p) { return d.dot(p); }).dot(d);
      };
      EXPECT_LE(reach(points) - reach(kept), k < 6 ? 1e-6 * size : accuracy + 1e-9 * size);
      EXPECT_LE(reach(kept), reach(points));
    }
  }
}

TEST(Hull, ReductionLeavesCornersAndThinsRounds) {
  // A box, its faces divided finely, keeps its corners alone; a fine ball of 1 m a few hundred points.
  std::vector<Vec3> box;
  for (int i = 0; i <= 20; ++i)
    for (int j = 0; j <= 20; ++j)
      for (const int side : {0, 20})
        for (int axis = 0; axis < 3; ++axis) {
          Vec3 p(i, j, 0);
          p(2) = side;
          box.push_back(Vec3(p(axis), p((axis + 1) % 3), p((axis + 2) % 3)) / 20);
        }
  const Hull corners = reduced_hull(box, 0.01, axes());
  EXPECT_EQ(corners.vertices.size(), 8u);
  EXPECT_LE(corners.distance, 1e-12);
  test::Random random(33);
  std::vector<Vec3> ball;
  for (int k = 0; k < 30000; ++k) ball.push_back(0.5 * test::random_vector(random).normalized());
  const Hull round = reduced_hull(ball, 0.01, axes());
  // A cap of height 0.01 on a radius of 0.5 has 1/100 of the sphere; its circle cannot be covered by less than a third
  // more.
  EXPECT_GT(round.vertices.size(), 100u);
  EXPECT_LT(round.vertices.size(), 300u);
  EXPECT_LE(furthest_from_hull(at(ball, round.vertices), ball), 0.01);
}

TEST(Hull, FlatOnesHaveVerticesToo) {
  const std::vector<Vec3> sheet = {Vec3(0, 0, 1),   Vec3(1, 0, 1),     Vec3(0, 1, 1), Vec3(1, 1, 1),
                                   Vec3(0.5, 0, 1), Vec3(0.3, 0.2, 1), Vec3(1, 1, 1)};
  EXPECT_EQ(hull_dimension(sheet), 2);
  EXPECT_EQ(convex_hull(sheet).vertices.size(), 4u);
  EXPECT_EQ(reduced_hull(sheet, 0.01, axes()).vertices, (std::vector<int>{0, 1, 2, 3}));
  test::Random random(34);
  const Vec3 from = test::random_vector(random), along = test::random_vector(random);
  std::vector<Vec3> line;
  for (int k = 0; k < 20; ++k) line.push_back(from + (k * 7 % 20) / 19.0 * along);
  for (const Hull& hull : {convex_hull(line), reduced_hull(line, 0.01, axes())}) {
    EXPECT_EQ(hull.dimension, 1);
    ASSERT_EQ(hull.vertices.size(), 2u);
    EXPECT_NEAR((line[static_cast<size_t>(hull.vertices[0])] - line[static_cast<size_t>(hull.vertices[1])]).norm(),
                along.norm(), 1e-15);
  }
  EXPECT_EQ(convex_hull({from, from, from}).vertices, std::vector<int>{0});
  EXPECT_EQ(reduced_hull({from, from, from}, 0.01, axes()).dimension, 0);
}

}  // namespace
}  // namespace scree
