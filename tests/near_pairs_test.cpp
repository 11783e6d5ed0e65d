// Points far from the ground cost nothing and change nothing.
#include "contact/near_pairs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "integrators/lanes.h"
#include "integrators/smooth_stage.h"
#include "integrators/workspace.h"
#include "scree/simulation.h"
#include "support/random_tree.h"

namespace scree {
namespace {

std::shared_ptr<const HeightField> hills() {
  Eigen::MatrixXd heights(12, 12);
  for (Eigen::Index i = 0; i < 12; ++i)
    for (Eigen::Index j = 0; j < 12; ++j)
      heights(i, j) = 0.3 * std::sin(1.1 * static_cast<double>(i)) * std::cos(0.7 * static_cast<double>(j));
  return std::make_shared<HeightField>(heights, Eigen::Vector2d(-3, -3), 0.5);
}

// All pairs that matter are found, in their order, on any ground, wherever the robot is.
TEST(NearPairs, NoneIsMissed) {
  test::Random random(51);
  size_t found_in_all = 0, pairs_in_all = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const Model model = test::random_tree(random).model;
    World world;
    world.add(plane_collider(test::random_vector(random), test::random_vector(random)));
    if (trial % 2)
      world.add(box_collider({test::random_rotation(random), test::random_vector(random)}, Vec3(1, 2, 0.5)));
    if (trial % 3) world.add(height_field_collider(hills()));
    for (int k = 0; k < 1 + 13 * trial; ++k)  // bodies in any order
      world.add(point_collider(BodyIndex(static_cast<int>(random() % model.bodies().size())),
                               test::random_vector(random, 0.3), k % 3 ? 0 : test::uniform(random, 0, 0.1), ""));
    const Pairs pairs(model, world);
    NearPairs near(pairs);
    const Tree& tree = tree_of(model);
    Kinematics<double> kin(tree);
    for (int pose = 0; pose < 6; ++pose) {
      const Eigen::VectorXd delta =
          Eigen::VectorXd::NullaryExpr(model.nv(), [&] { return test::uniform(random, -3, 3); });
      const Eigen::VectorXd q = model.neutral_position();
      kin.origin = to_v3(test::random_vector(random, pose % 2 ? 1 : 1e3));
      forward_kinematics(tree, q.data(), delta.data(), kin);
      const double reach = pose == 0   ? 0
                           : pose == 1 ? std::numeric_limits<double>::infinity()
                                       : std::pow(10, test::uniform(random, -3, 1));
      const std::vector<int>& found = near.find(pairs, kin, reach);
      EXPECT_TRUE(std::ranges::is_sorted(found));
      EXPECT_TRUE(std::ranges::adjacent_find(found) == found.end());
      for (int pair = 0; pair < pairs.count(); ++pair) {
        if (pairs.gap_bound(kin, pair, pairs.core(kin, pair)) < reach) {
          EXPECT_TRUE(std::ranges::binary_search(found, pair)) << trial << " " << pose << " " << pair;
        }
      }
      if (pose != 1) found_in_all += found.size(), pairs_in_all += static_cast<size_t>(pairs.count());
    }
  }
  EXPECT_LT(found_in_all, pairs_in_all);
}

// A box of 1 kg with a mast: eight corners below, and along the mast, high up, as many more points as asked for.
Model mast(int more) {
  ModelBuilder builder("mast");
  Body body;
  body.name = "box";
  body.mass = 1;
  body.inertia = 0.01 * Mat3::Identity();
  Joint joint;
  joint.name = "base";
  joint.type = JointType::floating;
  builder.add_body(body, "world", joint);
  Body arm = body;
  arm.name = "arm";
  arm.com = Vec3(0, 0, 0.1);
  Joint hinge;
  hinge.name = "hinge";
  hinge.type = JointType::revolute;
  hinge.axis = Vec3::UnitY();
  hinge.X_PJ.p = Vec3(0, 0, 0.5);
  builder.add_body(arm, "box", hinge);
  for (int k = 0; k < 8; ++k)
    builder.add_contact_point("box", {.name = fmt::format("corner{}", k),
                                      .body = {},
                                      .p_B = Vec3(k & 1 ? 0.1 : -0.1, k & 2 ? 0.1 : -0.1, k & 4 ? 0.1 : -0.1)});
  builder.add_contact_point("arm", {.name = "top", .body = {}, .p_B = Vec3(0, 0, 1.0)});
  for (int k = 0; k < more; ++k)  // on a ball inside the box that corners and top span
    builder.add_contact_point(k % 2 ? "arm" : "box", {.name = fmt::format("more{}", k),
                                                      .body = {},
                                                      .p_B = Vec3(0.05 * std::cos(k), 0.05 * std::sin(k),
                                                                  (k % 2 ? 0.3 : 0.7) + 0.1 * std::sin(0.1 * k))});
  return builder.build();
}

World floor_of(const Model& model) {
  World world;
  world.add(contact_candidates(model, ContactCandidates::named));
  world.add(plane_collider(Vec3::Zero(), Vec3::UnitZ()));
  return world;
}

struct Fall {
  std::vector<std::uint64_t> hashes;
  long looks = 0, laws = 0;
  size_t weights = 0, contacts = 0;
};

Fall fall(int more, IntegratorType integrator, int steps) {
  const Model model = mast(more);
  const World world = floor_of(model);
  StepOptions options{.integrator = integrator, .dt = integrator == IntegratorType::ne_mdp ? 0.001 : 0.01};
  StepWorkspace workspace(model, world);
  StepWorkspace::Impl& ws = WorkspaceAccess::impl(workspace);
  Control control(model);
  control.kp.setConstant(20);
  control.kd.setConstant(2);
  Eigen::VectorXd q = model.neutral_position(), v = Eigen::VectorXd::Zero(model.nv());
  q(2) = 0.13;
  v(0) = 0.2;
  State state = make_state(model, q, v);
  Fall result;
  for (int k = 0; k < steps; ++k) {
    const StepReport report = step(model, control, options, state, workspace);
    EXPECT_TRUE(report.converged()) << integrator_name(integrator) << " " << report.reason;
    result.hashes.push_back(state_hash(state));
  }
  result.looks = ws.near.looks() + ws.contact.set.looks();
  result.laws = ws.contact.set.laws();
  result.weights = state.contact_weights.size();
  result.contacts = workspace.contacts().size();
  return result;
}

// The same motion bit for bit, and what is looked at does not grow with the number of points that are far.
TEST(NearPairs, FarPointsChangeNothingAndAreNotLookedAt) {
  using enum IntegratorType;
  for (const IntegratorType integrator : {pbd_nmdp2, ne_nmdp2, pbd_nmdp, ne_zonmdp, ne_mdp, ne_lcp, event, pbfd_coulomb,
                                          pbfd_coulomb2, pbfd, pbd_friction}) {
    SCOPED_TRACE(integrator_name(integrator));
    const int steps = integrator == ne_mdp ? 150 : 60;
    const Fall few = fall(0, integrator, steps), many = fall(3000, integrator, steps);
    EXPECT_EQ(few.hashes, many.hashes);
    EXPECT_EQ(few.contacts, many.contacts);
    EXPECT_EQ(few.laws, many.laws);
    // Steps search several times; all searches of a step together look at a quarter as many clusters and points as
    // there are.
    EXPECT_LE(many.looks, 3009 * steps / 4);
    EXPECT_LE(few.looks, many.looks);
    if (!uses_smooth_contact(integrator)) {
      EXPECT_GT(many.looks, 0);
    }
    // 3009 x 16 of all pairs; a record of 17 of those near.
    if (few.weights > 0) {
      EXPECT_EQ(many.weights % 17, 0u);
      EXPECT_LE(many.weights, 17u * 9);
    }
  }
}

// What a stage with smooth contact asks of its host, and nothing else.
class Host final : public ModelLaneHost {
 public:
  Host(const Model& model, const World& world) : ModelLaneHost(model, world, 1) {}
  bool next(LaneStart&) override { return false; }
  double step_length(int, double&) override { return 0; }
  void targets(int, double, double*, double*) override {}
  void stepped(int, const LaneReport&, const double*, const double*, const double*) override {}
};

TEST(NearPairs, SmoothContactDoesNotLookAtThemEither) {
  for (const bool curved : {false, true}) {
    std::vector<double> residuals[2];
    double limits[2] = {};
    long looks[2] = {};
    for (const int which : {0, 1}) {
      const Model model = mast(3000 * which);
      World world = floor_of(model);
      if (curved) world.colliders.back() = box_collider({Mat3::Identity(), Vec3(0, 0, -1)}, Vec3(4, 4, 2));
      LaneSetup setup = make_lane_setup(model, world);
      update_setup({.integrator = IntegratorType::pbfd_coulomb2, .dt = 0.01}, world, setup);
      Host host(model, world);
      SmoothStage<double> stage(setup);
      stage.coefficients = smooth_coefficients(Pairs(model, world), 0.7, world.smooth);
      stage.q[2] = 0.099;  // the lower corners are 1 mm deep
      stage.v[2] = -0.1;
      stage.substep = 0.01;
      stage.start(host);
      stage.begin(true);
      stage.evaluate(stage.guess.data(), host);
      residuals[which] = stage.residual;
      std::vector<double> down(static_cast<size_t>(model.nv()), 0);
      down[2] = -0.3;  // so far that the upper corners would touch, too
      limits[which] = stage.step_limit(down.data(), host);
      looks[which] = stage.looks;
    }
    EXPECT_EQ(residuals[0], residuals[1]);
    EXPECT_EQ(limits[0], limits[1]);
    EXPECT_LT(limits[0], 1);
    EXPECT_LE(looks[1], looks[0] + 3 * 17);  // clusters on the way, three times
  }
}

// A copy of a state goes on with the same bits, whatever the search of its next step starts from.
TEST(NearPairs, WeightsOfManyPointsAreKept) {
  const Model model = mast(3000);
  const World world = floor_of(model);
  Simulation s(model, world, {.integrator = IntegratorType::pbd_nmdp, .dt = 0.01});
  Eigen::VectorXd q = model.neutral_position();
  q(2) = 0.1;
  s.set_state(q, Eigen::VectorXd::Zero(model.nv()));
  for (int k = 0; k < 30; ++k) ASSERT_TRUE(s.step().converged());
  const State copy = s.state();
  ASSERT_FALSE(copy.contact_weights.empty());
  const StepReport warm = s.step();
  const std::uint64_t hash = state_hash(s.state());
  s.set_state(copy);
  ASSERT_TRUE(s.step().converged());
  EXPECT_EQ(state_hash(s.state()), hash);
  State cold = copy;
  cold.contact_weights.clear();
  s.set_state(cold);
  EXPECT_GT(s.step().iterations, warm.iterations);
  for (const double bad : {-1.0, 1e30, 0.5}) {  // of another world, or made up
    State wrong = copy;
    for (size_t k = 0; k < wrong.contact_weights.size(); k += 17) wrong.contact_weights[k] = bad;
    s.set_state(wrong);
    EXPECT_TRUE(s.step().converged());
  }
}

}  // namespace
}  // namespace scree
