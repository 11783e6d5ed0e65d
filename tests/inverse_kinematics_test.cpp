// Inverse kinematics: targets are hit, nothing nearer would do, and what cannot be reached is said so.
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <cmath>
#include <numbers>

#include "dynamics/position_based.h"
#include "scree/dynamics.h"
#include "scree/error.h"
#include "scree/kinematics.h"
#include "scree/motion.h"
#include "scree/urdf.h"
#include "support/mechanisms.h"
#include "support/paths.h"
#include "support/random_tree.h"

namespace scree {
namespace {

Model robot(const std::string& name) { return load_urdf(source_dir() + "/models/" + name + ".urdf"); }

double largest_miss(const Model& model, const Eigen::VectorXd& q, const std::vector<PointTarget>& targets) {
  const std::vector<Pose> X_WB = body_poses(model, q);
  double miss = 0;
  for (const PointTarget& t : targets) {
    const Vec3 error = X_WB[static_cast<size_t>(t.body.value())] * t.p_B - t.target;
    miss = std::max(miss, Vec3(t.x ? error.x() : 0, t.y ? error.y() : 0, t.z ? error.z() : 0).norm());
  }
  return miss;
}

// I and its gradient: 1/2 sum m |x - x_reference|^2 over all material points [kg m^2].
double displacement(const Model& model, const Eigen::VectorXd& reference, const Eigen::VectorXd& q,
                    Eigen::VectorXd* slope = nullptr) {
  const Tree& tree = tree_of(model);
  Kinematics<double> kin(tree);
  PositionBased<double> inertia(tree);
  const std::vector<double> zero(static_cast<size_t>(tree.nv));
  forward_kinematics(tree, reference.data(), zero.data(), kin);
  inertia.target_R = kin.R;
  inertia.target_p = kin.p;
  forward_kinematics(tree, q.data(), zero.data(), kin);
  const double value = accumulate(tree, kin, inertia);
  if (slope) {
    slope->resize(tree.nv);
    gradient(tree, kin, inertia, slope->data());
  }
  return value;
}

// The part of the slope of I that no constraint force balances: min over y of |g + J^T y| in the norm of the inverse
// mass matrix, over the square root of the total mass [m]. Columns of frozen bodies are left out.
double unbalanced_slope(const Model& model, const Eigen::VectorXd& reference, const Eigen::VectorXd& q,
                        const std::vector<PointTarget>& targets, const std::vector<BodyIndex>& frozen = {}) {
  Eigen::VectorXd g;
  displacement(model, reference, q, &g);
  Dynamics dynamics(model);
  dynamics.set_position(q);
  Eigen::MatrixXd M = dynamics.mass_matrix();
  for (int a = 0; a < model.nv(); ++a) M(a, a) -= tree_of(model).armature[static_cast<size_t>(a)];
  Eigen::MatrixXd J = Eigen::MatrixXd::Zero(3 * std::ssize(targets), model.nv());
  for (size_t k = 0; k < targets.size(); ++k) {
    Eigen::Matrix3Xd jacobian(3, model.nv());
    dynamics.point_jacobian(targets[k].body, targets[k].p_B, jacobian);
    const bool counts[] = {targets[k].x, targets[k].y, targets[k].z};
    for (int axis = 0; axis < 3; ++axis)
      if (counts[axis]) J.row(3 * static_cast<Eigen::Index>(k) + axis) = jacobian.row(axis);
  }
  std::vector<int> free;
  for (int a = 0; a < model.nv(); ++a)
    if (std::find(frozen.begin(), frozen.end(), BodyIndex(tree_of(model).dof_node[static_cast<size_t>(a)])) ==
        frozen.end())
      free.push_back(a);
  if (free.empty()) return 0;
  const Eigen::LLT<Eigen::MatrixXd> factor(Eigen::MatrixXd(M(free, free)));
  const Eigen::VectorXd slope = factor.matrixL().solve(Eigen::VectorXd(g(free)));
  const Eigen::MatrixXd push = factor.matrixL().solve(Eigen::MatrixXd(J(Eigen::all, free).transpose()));
  const Eigen::VectorXd y = push.completeOrthogonalDecomposition().solve(slope);
  return (slope - push * y).norm() / std::sqrt(model.total_mass());
}

// The search stops at 1e-10 per metre of 1 m + rms displacement, below 1 m here; recomputing it along another road adds
// rounding: 1e-16 of sums of size 1, amplified by the conditioning of the mass matrix, below 1e5 here.
constexpr double kSlope = 2.1e-10;

std::vector<PointTarget> feet_at(const Model& model, const Eigen::VectorXd& q) {
  std::vector<PointTarget> targets;
  const std::vector<Pose> X_WB = body_poses(model, q);
  for (const ContactPoint& point : model.contact_points())
    targets.push_back(
        {.body = point.body, .p_B = point.p_B, .target = X_WB[static_cast<size_t>(point.body.value())] * point.p_B});
  return targets;
}

TEST(InverseKinematics, RobotsReachRandomFootholdsAtAStationaryPoint) {
  test::Random random(71);
  for (const char* name :
       {"robosimian-planar", "robosimian-spatial", "robosimian", "spider-planar", "spider-spatial"}) {
    const Model model = robot(name);
    for (int trial = 0; trial < 40; ++trial) {
      // A bent pose, and the feet of another one not far away, so that a solution exists.
      Eigen::VectorXd reference = model.neutral_position();
      for (const Joint& joint : model.joints())
        if (velocity_count(joint.type) == 1) reference(joint.q_index) = test::uniform(random, 0.3, 0.9);
      const Eigen::VectorXd other = integrate_position(model, reference, test::random_velocity(random, model, 0.4), 1);
      std::vector<PointTarget> targets = feet_at(model, other);
      const int axes = trial % 3;
      for (PointTarget& t : targets) t.y = axes != 1;
      if (axes == 2) targets.resize(2);
      const InverseKinematicsResult result = inverse_kinematics(model, reference, targets);
      EXPECT_TRUE(result.converged) << name << " trial " << trial << ", miss " << result.miss;
      EXPECT_LT(largest_miss(model, result.q, targets), 1e-9) << name << " trial " << trial;
      EXPECT_LT(unbalanced_slope(model, reference, result.q, targets), kSlope) << name << " trial " << trial;
      EXPECT_LE(displacement(model, reference, result.q), displacement(model, reference, other) * (1 + 1e-9))
          << name << " trial " << trial << ": the pose the targets came from is nearer";
    }
  }
}

TEST(InverseKinematics, EveryJointTypeReachesRandomTargetsAtAStationaryPoint) {
  test::Random random(72);
  for (int trial = 0; trial < 200; ++trial) {
    const test::RandomTree tree = test::random_tree(random, trial % 5 == 0 ? 100 : 0, /*massless_bodies=*/false);
    const Model& model = tree.model;
    const Eigen::VectorXd reference = test::random_position(random, model);
    const Eigen::VectorXd other = integrate_position(model, reference, test::random_velocity(random, model, 0.3), 1);
    const std::vector<Pose> X_WB = body_poses(model, other);
    std::vector<PointTarget> targets;
    // Two points only where six coordinates leave dofs to spare: a square problem can have a pose of least miss that is
    // no solution, and the search may end there.
    for (int k = 0; k < (model.nv() > 6 ? 2 : 1); ++k) {
      const int body = static_cast<int>(X_WB.size()) - 1 - k;
      const Vec3 p_B = test::random_vector(random, 0.3);
      targets.push_back({.body = BodyIndex(body), .p_B = p_B, .target = X_WB[static_cast<size_t>(body)] * p_B});
    }
    const InverseKinematicsResult result = inverse_kinematics(model, reference, targets);
    EXPECT_TRUE(result.converged) << "trial " << trial << ", miss " << result.miss;
    EXPECT_LT(largest_miss(model, result.q, targets), 1e-9) << "trial " << trial;
    EXPECT_LT(unbalanced_slope(model, reference, result.q, targets), kSlope) << "trial " << trial;
    EXPECT_EQ(make_state(model, result.q, Eigen::VectorXd::Zero(model.nv())).q.size(), model.nq());
  }
}

// A leg of rods hanging from the world, hinges about y: the end of the last one is the foot.
Model leg(const std::vector<double>& lengths) {
  ModelBuilder builder("leg");
  std::string parent = "world";
  double drop = 0;
  for (size_t k = 0; k < lengths.size(); ++k) {
    const std::string name = "rod" + std::to_string(k);
    test::add_rod(builder, name, parent, drop, 1.5, lengths[k]);
    parent = name;
    drop = lengths[k];
  }
  return builder.build();
}
PointTarget foot_to(const std::vector<double>& lengths, double x, double z) {
  return {.body = BodyIndex(static_cast<int>(lengths.size()) - 1),
          .p_B = Vec3(0, 0, -lengths.back()),
          .target = Vec3(x, 0, z)};
}
// Angles of two hanging rods that end at (x, z): knee = +-acos((d^2 - a^2 - b^2)/2ab), by the law of cosines.
Eigen::Vector2d two_rods(double a, double b, double x, double z, int bend) {
  const double knee = bend * std::acos(std::clamp((x * x + z * z - a * a - b * b) / (2 * a * b), -1.0, 1.0));
  // A rod at angle t points along (-sin t, -cos t).
  const double hip = std::atan2(-x, -z) - std::atan2(b * std::sin(knee), a + b * std::cos(knee));
  return {hip, knee};
}

TEST(InverseKinematics, TwoLinkLegAgreesWithTheLawOfCosines) {
  const std::vector<double> lengths = {0.5, 0.4};
  const Model model = leg(lengths);
  test::Random random(73);
  for (int trial = 0; trial < 100; ++trial) {
    const int bend = trial % 2 ? 1 : -1;
    const Eigen::Vector2d reference(test::uniform(random, -0.5, 0.5), bend * test::uniform(random, 1.0, 1.8));
    const Vec3 foot = body_poses(model, reference)[1] * Vec3(0, 0, -0.4);
    const double d = test::uniform(random, 0.45, 0.85);
    const double angle = std::atan2(-foot.x(), -foot.z()) + test::uniform(random, -0.3, 0.3);
    const double x = -d * std::sin(angle), z = -d * std::cos(angle);
    const InverseKinematicsResult result = inverse_kinematics(model, reference, {foot_to(lengths, x, z)});
    ASSERT_TRUE(result.converged);
    const Eigen::Vector2d nearest = two_rods(0.5, 0.4, x, z, bend), other = two_rods(0.5, 0.4, x, z, -bend);
    ASSERT_LT(displacement(model, reference, nearest), displacement(model, reference, other));
    // 1e-11 m of miss turn a joint by at most 1e-11 over the smallest singular value of the Jacobian, here > 0.05 m.
    EXPECT_LT((result.q - nearest).lpNorm<Eigen::Infinity>(), 1e-9) << "trial " << trial;
  }
}

TEST(InverseKinematics, ThreeLinkLegIsTheNearestOfAllPosesThatReach) {
  const std::vector<double> lengths = {0.29, 0.29, 0.34};
  const Model model = leg(lengths);
  test::Random random(74);
  for (int trial = 0; trial < 20; ++trial) {
    const Eigen::Vector3d reference(0.2 + test::uniform(random, -0.2, 0.2), -1.2 + test::uniform(random, -0.3, 0.3),
                                    1.2 + test::uniform(random, -0.3, 0.3));
    const PointTarget stance = foot_to(lengths, 0, 0);
    const Vec3 foot = body_poses(model, reference)[2] * stance.p_B;
    Vec3 goal = foot + Vec3(test::uniform(random, -0.15, 0.15), 0, test::uniform(random, -0.1, 0.2));
    if (goal.norm() > 0.9) goal *= 0.9 / goal.norm();  // the leg reaches 0.92 m
    const PointTarget target = foot_to(lengths, goal.x(), goal.z());
    const InverseKinematicsResult result = inverse_kinematics(model, reference, {target});
    ASSERT_TRUE(result.converged) << "trial " << trial << ", miss " << result.miss;

    // Every pose that reaches: the direction of the last rod, and the way the knee bends.
    double best = std::numeric_limits<double>::infinity();
    const int grid = 20000;
    for (int k = 0; k < grid; ++k) {
      const double phi = 2 * std::numbers::pi * k / grid;
      const double x = target.target.x() + 0.34 * std::sin(phi), z = target.target.z() + 0.34 * std::cos(phi);
      if (std::hypot(x, z) > 0.58) continue;
      for (const int bend : {-1, 1}) {
        const Eigen::Vector2d upper = two_rods(0.29, 0.29, x, z, bend);
        best = std::min(best, displacement(model, reference, Eigen::Vector3d(upper(0), upper(1), phi - upper.sum())));
      }
    }
    // The grid misses the least value by half its curvature (below 10 kg m^2/rad^2) times half a cell squared.
    const double cell = std::numbers::pi / grid;
    EXPECT_NEAR(displacement(model, reference, result.q), best, 5 * cell * cell) << "trial " << trial;
  }
}

TEST(InverseKinematics, WhatIsOutOfReachIsMissedByTheDistanceLeft) {
  const std::vector<double> lengths = {0.5, 0.2};
  const Model model = leg(lengths);
  const Eigen::Vector2d reference(0.3, 0.8);
  // Beyond the stretched leg and inside the folded one. The objective (slope below 1 m^2) and the forces left from the
  // penalty before, a tenth of the present ones, hold the leg away from its best pose; either influence falls tenfold
  // with each penalty. From below 0.1 m at the first, eight more leave 1e-9 m.
  for (const auto& [distance, miss] : {std::pair(1.0, 0.3), std::pair(7.0, 6.3), std::pair(0.1, 0.2)}) {
    const PointTarget target = foot_to(lengths, distance * std::sin(0.7), -distance * std::cos(0.7));
    const InverseKinematicsResult result = inverse_kinematics(model, reference, {target});
    EXPECT_FALSE(result.converged) << distance;
    EXPECT_NEAR(result.miss, miss, 1e-9) << distance;
    EXPECT_NEAR(largest_miss(model, result.q, {target}), result.miss, 1e-14);
  }
  // Out of the plane of the leg: nothing can be done about y.
  PointTarget aside = foot_to(lengths, -0.3, -0.5);
  aside.target.y() = 0.05;
  const InverseKinematicsResult result = inverse_kinematics(model, reference, {aside});
  EXPECT_FALSE(result.converged);
  EXPECT_NEAR(result.miss, 0.05, 1e-9);
  aside.y = false;
  EXPECT_TRUE(inverse_kinematics(model, reference, {aside}).converged) << "y does not count";
}

TEST(InverseKinematics, ReachesToTheEdgeOfReach) {
  const std::vector<double> lengths = {0.29, 0.29, 0.34};
  const Model model = leg(lengths);
  for (const double left : {1e-2, 1e-3, 1e-4, 1e-5, 1e-6}) {
    const PointTarget target = foot_to(lengths, 0.6 * (0.92 - left), -0.8 * (0.92 - left));
    const InverseKinematicsResult result = inverse_kinematics(model, Eigen::Vector3d(0.2, -1.2, 1.2), {target});
    EXPECT_TRUE(result.converged) << left << " m short of stretched, miss " << result.miss;
  }
}

TEST(InverseKinematics, AStretchedLegBends) {
  const std::vector<double> lengths = {0.5, 0.4};
  const Model model = leg(lengths);
  const InverseKinematicsResult result = inverse_kinematics(model, Eigen::Vector2d(0, 0), {foot_to(lengths, 0, -0.6)});
  EXPECT_TRUE(result.converged) << "at zero the foot cannot move along z to first order, miss " << result.miss;
}

TEST(InverseKinematics, FrozenJointsKeepTheirPositionBitForBit) {
  test::Random random(75);
  for (const char* name : {"robosimian-planar", "robosimian-spatial"}) {
    const Model model = robot(name);
    Eigen::VectorXd reference = model.neutral_position();
    for (const Joint& joint : model.joints())
      if (velocity_count(joint.type) == 1) reference(joint.q_index) = test::uniform(random, 0.4, 0.9);
    std::vector<PointTarget> targets = feet_at(model, reference);
    for (PointTarget& target : targets) target.target += Vec3(0.04, 0, 0.06);
    const std::vector<BodyIndex> base = {BodyIndex(0)};
    const InverseKinematicsResult result = inverse_kinematics(model, reference, targets, base);
    EXPECT_TRUE(result.converged) << name;
    EXPECT_EQ(result.q.head(model.nq() - 12), reference.head(model.nq() - 12)) << name;
    EXPECT_LT(unbalanced_slope(model, reference, result.q, targets, base), kSlope) << name;

    std::vector<BodyIndex> all;
    for (int i = 0; i < std::ssize(model.bodies()); ++i) all.emplace_back(i);
    const InverseKinematicsResult stuck = inverse_kinematics(model, reference, targets, all);
    EXPECT_FALSE(stuck.converged);
    EXPECT_NEAR(stuck.miss, std::hypot(0.04, 0.06), 1e-14);
    EXPECT_EQ(stuck.q, reference);
  }
}

TEST(InverseKinematics, AFreeBodyMovesWithItsPointAndTurnsNoMoreThanItMust) {
  const Model model = test::free_body(2, Vec3(0.2, 0.3, 0.4).asDiagonal());
  const PointTarget centre = {.body = BodyIndex(0), .target = Vec3(3000, -2, 5)};
  const InverseKinematicsResult result = inverse_kinematics(model, model.neutral_position(), {centre});
  EXPECT_TRUE(result.converged);
  Eigen::VectorXd expected = model.neutral_position();
  expected.head<3>() = centre.target;
  EXPECT_LT((result.q - expected).lpNorm<Eigen::Infinity>(), 1e-9);
  const InverseKinematicsResult nothing = inverse_kinematics(model, expected, {});
  EXPECT_TRUE(nothing.converged);
  EXPECT_EQ(nothing.q, expected);
}

TEST(InverseKinematics, AbsurdTargetsEndFiniteAndUnreached) {
  test::Random random(76);
  for (int trial = 0; trial < 50; ++trial) {
    const test::RandomTree tree = test::random_tree(random);
    const Eigen::VectorXd reference = test::random_position(random, tree.model);
    std::vector<PointTarget> targets;
    for (int i = 0; i < std::ssize(tree.model.bodies()); ++i)
      for (int k = 0; k < 3; ++k)
        targets.push_back({.body = BodyIndex(i),
                           .p_B = test::random_vector(random, 0.3),
                           .target = test::random_vector(random, trial % 2 ? 1e12 : 3)});
    const InverseKinematicsResult result = inverse_kinematics(tree.model, reference, targets);
    EXPECT_FALSE(result.converged) << "trial " << trial;
    EXPECT_TRUE(result.q.allFinite()) << "trial " << trial;
    EXPECT_GT(result.miss, 1e-3) << "trial " << trial;
    EXPECT_LE(result.iterations, 1800) << "9 penalties, 100 steps of either method at each";
  }
}

TEST(InverseKinematics, RefusesWhatIsNoPoseOrPoint) {
  const Model model = leg({0.5, 0.4});
  const Eigen::VectorXd q = Eigen::Vector2d(0.1, 0.2);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW((void)inverse_kinematics(model, Eigen::Vector3d::Zero(), {}), InputError);
  EXPECT_THROW((void)inverse_kinematics(model, Eigen::Vector2d(nan, 0), {}), InputError);
  EXPECT_THROW((void)inverse_kinematics(model, q, {{.body = kWorld}}), InputError);
  EXPECT_THROW((void)inverse_kinematics(model, q, {{.body = BodyIndex(2)}}), InputError);
  EXPECT_THROW((void)inverse_kinematics(model, q, {{.body = BodyIndex(0), .target = Vec3(nan, 0, 0)}}), InputError);
  EXPECT_THROW((void)inverse_kinematics(model, q, {{.body = BodyIndex(0), .p_B = Vec3(0, 1e13, 0)}}), InputError);
  EXPECT_THROW((void)inverse_kinematics(model, q, {}, {BodyIndex(7)}), InputError);
}

}  // namespace
}  // namespace scree
