// The contact part of a stage: forces, their derivatives, velocities of contact points, on random trees that touch
// planes and the edges and corners of boxes with spheres and points.
#include "contact/contact_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "scree/kinematics.h"
#include "support/random_tree.h"

namespace scree {
namespace {

constexpr int kTrees = 60;

double largest(const Eigen::MatrixXd& m) { return m.size() ? m.cwiseAbs().maxCoeff() : 0; }

// A made-up law that uses everything a law may look at: six components, depth and the orientation of the body.
class SixDimensionalLaw final : public ContactLaw {
 public:
  int vertex_count() const override { return 4; }
  void vertices(const ContactGeometry& g, Eigen::Ref<Wrenches> out) const override {
    for (int j = 0; j < 4; ++j) out.col(j) = vertex(g, j);
  }
  bool differentiable() const override { return true; }
  Derivative derivative(const ContactGeometry& g, const Eigen::Ref<const Eigen::VectorXd>& w) const override {
    Derivative d;
    for (int j = 0; j < 4; ++j) {
      const Vec3 a = g.R_CB * axis(j);
      d.by_depth.head<3>() += w(j) * 2 * (g.depth + 2) * (Vec3::UnitZ() + 0.3 * a);
      d.by_depth.tail<3>() += w(j) * 0.1 * a;
      for (int k = 0; k < 3; ++k) {
        const Vec3 da = Vec3::Unit(k).cross(a);
        d.by_turn.col(k).head<3>() += w(j) * square(g.depth + 2) * 0.3 * da;
        d.by_turn.col(k).tail<3>() += w(j) * 0.1 * (g.depth + 2) * da;
      }
    }
    return d;
  }
  double reach() const override { return 2; }

 private:
  static double square(double x) { return x * x; }
  static Vec3 axis(int j) { return Vec3(std::cos(j), std::sin(2.0 * j), 0.5); }
  static Eigen::Matrix<double, 6, 1> vertex(const ContactGeometry& g, int j) {
    const Vec3 a = g.R_CB * axis(j);
    Eigen::Matrix<double, 6, 1> v;
    v << square(g.depth + 2) * (Vec3::UnitZ() + 0.3 * a), 0.1 * (g.depth + 2) * a;
    return v;
  }
};

struct Case {
  test::RandomTree tree;
  World world;
  State state;
  Eigen::VectorXd delta, w;
  double h;
  const Model& model() const { return tree.model; }
};

// A tree with three contact points on random bodies. The ground is a tilted plane and a box near each other and near
// the robot; a law with a long reach makes all pairs act.
Case random_case(test::Random& random, std::shared_ptr<const ContactLaw> law) {
  Case c{test::random_tree(random), {}, {}, {}, {}, test::uniform(random, 0.02, 0.2)};
  while (c.model().nv() == 0) c.tree = test::random_tree(random);
  c.world.law = std::move(law);
  c.world.add(plane_collider(test::random_vector(random, 0.3),
                             (Vec3::UnitZ() + test::random_vector(random, 0.4)).normalized()));
  c.world.add(box_collider({test::random_rotation(random), test::random_vector(random, 3)}, Vec3(0.5, 0.7, 0.3)));
  for (int k = 0; k < 3; ++k) {
    const BodyIndex body(
        std::uniform_int_distribution<int>(0, static_cast<int>(c.model().bodies().size()) - 1)(random));
    const Vec3 p_B = test::random_vector(random, 0.4);
    const double radius = k == 0 ? 0 : test::uniform(random, 0.02, 0.3);
    c.world.add(point_collider(body, p_B, radius, "p" + std::to_string(k)));
  }
  c.state = make_state(c.model(), test::random_position(random, c.model()), test::random_velocity(random, c.model()));
  c.delta = c.h * c.state.v + test::random_velocity(random, c.model(), 0.2);
  c.w.resize(static_cast<Eigen::Index>(c.world.pair_count()) * c.world.law->vertex_count());
  for (double& w : c.w) w = test::uniform(random, 0, 0.3);
  return c;
}

std::shared_ptr<const ContactLaw> coulomb_everywhere(int exponent) {
  CoulombOptions options;
  options.exponent = exponent;
  options.stiffness = 30;
  options.air_force = 2;  // acts in the air as well
  return make_coulomb(options);
}

template <class Stage> class ContactStage : public testing::Test {};
using Stages = testing::Types<PositionBasedStage, NewtonEulerStage>;
TYPED_TEST_SUITE(ContactStage, Stages);

// The distance to a box has kinks (its medial axis, the planes where a face ends); a difference across one says
// nothing. Central differences of two sizes that disagree betray them.
TYPED_TEST(ContactStage, ForcesAndVelocitiesHaveTheDerivativesTheyClaim) {
  test::Random random(81);
  int compared = 0, skipped = 0;
  for (int trial = 0; trial < kTrees; ++trial) {
    const std::shared_ptr<const ContactLaw> laws[] = {coulomb_everywhere(2), coulomb_everywhere(3),
                                                      coulomb_everywhere(4), std::make_shared<SixDimensionalLaw>()};
    const Case c = random_case(random, laws[trial % 4]);
    const int n = c.model().nv();
    TypeParam stage(c.model());
    stage.begin(c.state, c.h, Vec3(0, 0, -9.81));
    ContactSet set(c.model(), c.world);
    stage.set_trial(c.delta.data());
    set.select(stage.trial(), 100, true);
    ASSERT_EQ(set.size(), 6);
    const auto at = [&](const Eigen::VectorXd& delta, Eigen::VectorXd& forces, Eigen::VectorXd& u) {
      stage.set_trial(delta.data());
      set.evaluate(stage.trial());
      set.count_touching();
      forces.setZero(n);
      set.add_forces(stage.trial(), c.w, forces.data());
      u.setZero(18);
      set.velocities(stage, u);
    };
    Eigen::VectorXd forces, u, f_plus, f_minus, u_plus, u_minus;
    at(c.delta, forces, u);
    Eigen::MatrixXd J = Eigen::MatrixXd::Zero(n, n), U(18, n), B(n, set.weight_count());
    set.add_jacobian(stage.trial(), c.w, J.data());
    set.velocity_rows(stage, U);
    set.force_columns(stage.trial(), B);
    EXPECT_LE(largest(B * c.w - forces), 1e-12 * (1 + largest(forces)));  // forces are linear in the weights
    for (int a = 0; a < n; ++a) {
      Eigen::VectorXd df[2], du[2];
      for (int k = 0; k < 2; ++k) {
        const double step = k == 0 ? 1e-5 : 2e-5;
        at(c.delta + step * Eigen::VectorXd::Unit(n, a), f_plus, u_plus);
        at(c.delta - step * Eigen::VectorXd::Unit(n, a), f_minus, u_minus);
        df[k] = (f_plus - f_minus) / (2 * step);
        du[k] = (u_plus - u_minus) / (2 * step);
      }
      // Truncation is of the size of the two differences' difference over 3, rounding 1e-16/1e-5 of the forces.
      const double kink = largest(df[0] - df[1]);
      if (kink > 1e-6 * (1 + largest(J))) {
        ++skipped;
        continue;
      }
      ++compared;
      EXPECT_LE(largest(J.col(a) - df[0]), kink + 1e-9 * (1 + largest(J) + largest(forces))) << "tree " << trial;
      EXPECT_LE(largest(U.col(a) - du[0]), largest(du[0] - du[1]) + 1e-9 * (1 + largest(U) + largest(u) / c.h))
          << "tree " << trial;
    }
  }
  EXPECT_GT(compared, 9 * skipped);
}

// Zeroth order learns the slope by depth from two evaluations. A Coulomb law depends on nothing else, so the Jacobian
// tends to that of first order as the two come together: with first order, since a chord's slope is that of its middle.
TYPED_TEST(ContactStage, ZerothOrderLearnsTheDerivative) {
  test::Random random(82);
  int compared = 0;
  for (int trial = 0; trial < kTrees; ++trial) {
    Case c = random_case(random, make_coulomb({.stiffness = 3000}));
    const int n = c.model().nv();
    TypeParam stage(c.model());
    stage.begin(c.state, c.h, Vec3(0, 0, -9.81));
    const Eigen::VectorXd direction = test::random_velocity(random, c.model());
    double least = 1;  // [m] change of depth between the two evaluations
    const auto jacobian = [&](bool first_order, double away) {
      ContactSet set(c.model(), c.world);
      std::vector<Contact> there, here;
      const Eigen::VectorXd delta = c.delta + away * direction;
      stage.set_trial(delta.data());
      set.select(stage.trial(), 100, first_order);
      set.evaluate(stage.trial());
      set.report(stage.trial(), c.w, there);
      stage.set_trial(c.delta.data());
      set.evaluate(stage.trial());
      set.report(stage.trial(), c.w, here);
      if (there.size() != here.size()) least = 0;
      for (size_t k = 0; k < std::min(there.size(), here.size()); ++k)
        least = std::min(least, std::abs(there[k].depth - here[k].depth));
      Eigen::MatrixXd J = Eigen::MatrixXd::Zero(n, n);
      set.add_jacobian(stage.trial(), c.w, J.data());
      return J;
    };
    const Eigen::MatrixXd exact = jacobian(true, 1e-3);
    const double coarse = largest(jacobian(false, 1e-3) - exact), fine = largest(jacobian(false, 1e-4) - exact);
    if (coarse == 0 || least < 2e-6) continue;  // nothing touches, or too little changes to learn from
    ++compared;
    // A tenth, with room for second order and rounding.
    EXPECT_LE(fine, 0.15 * coarse + 1e-6 * largest(exact)) << "tree " << trial;
  }
  EXPECT_GE(compared, kTrees / 3);
}

// The velocity of a contact point is that of its material point: a rolling wheel has none where it touches.
TYPED_TEST(ContactStage, ARollingWheelTouchesAtRest) {
  ModelBuilder builder("wheel");
  Body body;
  body.name = "wheel";
  body.mass = 2;
  body.inertia = 0.05 * Mat3::Identity();
  Joint joint;
  joint.name = "base";
  joint.type = JointType::planar;
  joint.axis = Vec3::UnitY();
  builder.add_body(body, "world", joint);
  const Model model = builder.build();
  World world;
  world.add(plane_collider(Vec3::Zero(), Vec3::UnitZ()));
  world.add(point_collider(BodyIndex(0), Vec3::Zero(), 0.3, ""));
  for (const double h : {1e-2, 1e-3}) {
    const double rate = 2;  // [rad/s] about +y rolls towards +x
    State state = make_state(model, Vec3(0, 0.29, 0), Vec3(0.3 * rate, 0, rate));
    TypeParam stage(model);
    ContactSet set(model, world);
    stage.begin(state, h, Vec3::Zero());
    const Eigen::VectorXd delta = h * state.v;
    stage.set_trial(delta.data());
    set.select(stage.trial(), 1, true);
    set.evaluate(stage.trial());
    ASSERT_TRUE(set.count_touching());
    Eigen::VectorXd u(3);
    set.velocities(stage, u);
    // The position-based velocity is a mean over the step, in which the point rises by r (w h)^2 / 2.
    EXPECT_LE(u.norm(), 0.3 * rate * rate * h);
  }
}

}  // namespace
}  // namespace scree
