// Smooth contact: the stage against central differences, the optimisers against each other, motions against closed
// forms.                                                                                             theory section 11
#include "integrators/friction.h"

#include <gtest/gtest.h>

#include <cmath>

#include "math/eigen.h"
#include "scree/error.h"
#include "scree/kinematics.h"
#include "scree/simulation.h"
#include "scree/urdf.h"
#include "support/mechanisms.h"
#include "support/random_tree.h"

namespace scree {
namespace {

using test::Random;
using test::uniform;

// What a stage on its own asks for.
class StageHost final : public ModelLaneHost {
 public:
  StageHost(const Model& model, const ContactWorld& world) : ModelLaneHost(model, world, 1) {}
  bool next(LaneStart&) override { return false; }
  double step_length(int, double&) override { return 0; }
  void targets(int, double, double*, double*) override {}
  void stepped(int, const LaneReport&, const double*, const double*, const double*) override {}
};

constexpr double kStage = 0.05;  // [s] length of a step

std::shared_ptr<const HeightField> hills() {
  const int count = 65;
  const double spacing = 0.25, first = -8;
  Eigen::MatrixXd heights(count, count);
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < count; ++j)
      heights(i, j) = 0.1 * std::sin(2 * (first + spacing * i)) * std::cos(1.7 * (first + spacing * j));
  return std::make_shared<const HeightField>(heights, Eigen::Vector2d(first, first), spacing);
}

struct Case {
  FrictionLaw law = FrictionLaw::energy;
  bool printed = false, two_stages = false, hilly = false;
  bool whole = true;  // exponents 2, 1, 1; else any
  bool friction = true;
};

// A stage of a random tree at a random trial, up to four points of it in the ground, every joint force at work.
struct Problem {
  Problem(Random& random, const Case& c) : tree(test::random_tree(random)), host(tree.model, world) {
    const Model& model = tree.model;
    const Eigen::VectorXd q = test::random_position(random, model), v = test::random_velocity(random, model, 1.5);
    delta = kStage * v + test::random_velocity(random, model, 0.05);
    if (c.hilly)
      world.environment.add_height_field(hills());
    else
      world.environment.add_plane(Vec3(0, 0, -0.1), Vec3(uniform(random, -0.5, 0.5), uniform(random, -0.5, 0.5), 1));
    Eigen::VectorXd q_trial = q;
    host.displace(delta.data(), q_trial.data());
    for (int k = 0; k < 4; ++k) {
      ContactPoint point;
      const int body = std::uniform_int_distribution<int>(0, static_cast<int>(model.bodies().size()) - 1)(random);
      point.body = BodyIndex(body);
      point.radius = k % 2 ? uniform(random, 0.05, 0.15) : 0;
      Vec3 place(uniform(random, -1.2, 1.2), uniform(random, -1.2, 1.2), 0);
      const double deep = uniform(random, 0.02, 0.1);  // [m], and up to three in the ground, one above it
      for (int i = 0; i < 30; ++i)
        place.z() -= world.environment.distance(0, place).value - point.radius + (k == 3 ? -deep : deep);
      point.p_B = frame_pose(model, q_trial, Frame{"", point.body, {}}).inverse() * place;
      world.points.push_back(point);
    }
    setup = make_lane_setup(model, world);
    setup.law = {c.law, c.printed, 2, 1, 1};
    if (!c.whole)
      setup.law = {c.law, c.printed, uniform(random, 1.5, 3.5), uniform(random, 1.2, 2.5), uniform(random, 0.5, 2.5)};
    setup.two_stages = c.two_stages;
    setup.gravity = to_v3(test::random_vector(random, 10));
    setup.tolerance = 1e-8;
    for (LaneJoint& joint : setup.joints) {
      joint.damping = joint.nv == 1 || joint.ball ? uniform(random, 0, 2) : 0;
      if (joint.nv != 1) continue;
      joint.effort = uniform(random, 0, 1) < 0.5 ? 0.5 : 1e6;  // bound and free
      joint.limited = true;
      joint.lower = -uniform(random, 0, 1.5), joint.upper = uniform(random, 0, 1.5);
      joint.stiffness = uniform(random, 10, 1000), joint.margin = uniform(random, 0.05, 0.5);
    }
    stage = std::make_unique<FrictionStage<double>>(setup);
    stage->want_gauss_newton = true;
    std::copy(q.begin(), q.end(), stage->q.begin());
    std::copy(v.begin(), v.end(), stage->v.begin());
    const Eigen::VectorXd to = test::random_position(random, model);
    std::copy(to.begin(), to.end(), stage->target.begin());
    for (const Joint& joint : model.joints()) {
      if (velocity_count(joint.type) != 1 && joint.type != JointType::ball) continue;
      for (size_t a = static_cast<size_t>(joint.v_index);
           a < static_cast<size_t>(joint.v_index + velocity_count(joint.type)); ++a) {
        stage->kp[a] = uniform(random, 0, 100), stage->kd[a] = uniform(random, 0, 5);
        stage->torque[a] = uniform(random, -2, 2), stage->target_velocity[a] = uniform(random, -1, 1);
      }
    }
    const double mu = c.friction ? 0.7 : 0, dissipation = c.friction ? 0.2 : 0;
    stage->coefficients = {uniform(random, 1e3, 1e5), c.friction ? uniform(random, 1e2, 1e4) : 0, mu,
                           uniform(random, 0.05, 0.2), dissipation};
    stage->substep = kStage;
    stage->start(host);
    stage->begin(true);
    if (c.two_stages) {
      const Eigen::VectorXd first = kStageGamma * delta;
      stage->evaluate(first.data(), host);
      regular = stage->begin_second(true);
    }
    stage->evaluate(delta.data(), host);
  }
  int n() const { return tree.model.nv(); }
  int touching() const {
    int count = 0;
    for (const auto& t : stage->touches()) count += t.depth > 0;
    return count;
  }

  test::RandomTree tree;
  ContactWorld world;
  StageHost host;
  LaneSetup setup;
  std::unique_ptr<FrictionStage<double>> stage;
  Eigen::VectorXd delta;
  bool regular = true;
};

std::string name_of(const Case& c) {
  const char* laws[] = {"energy", "viscous", "coulomb"};
  return std::string(laws[static_cast<int>(c.law)]) + (c.printed ? ", printed" : "") +
         (c.two_stages ? ", second stage" : "") + (c.hilly ? ", hills" : ", plane") +
         (c.whole ? "" : ", any exponents");
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const FrictionLaw law : {FrictionLaw::energy, FrictionLaw::viscous, FrictionLaw::coulomb})
    for (const bool printed : {false, true})
      for (const bool two_stages : {false, true})
        for (const bool hilly : {false, true})
          for (const bool whole : {true, false})
            if (!(law == FrictionLaw::coulomb && printed))
              cases.push_back({law, printed, two_stages, hilly, whole, true});
  return cases;
}

// Central differences over 1e-6: rounding 1e-16 of the largest term over the step, 1e-10; the third derivative times
// step^2/6, where the shortest scale is the creep speed times the stage, 0.05 x 0.015 m: (1e-6/7.5e-4)^2 ~ 2e-6. On
// hills the third derivative of the distance jumps by about 5/m^2 between cells, times the step.
constexpr double kStep = 1e-6, kRelative = 1e-5;

TEST(FrictionStage, ResidualIsTheGradientOfTheEnergy) {
  Random random(11);
  for (Case c : all_cases()) {
    c.friction = c.law == FrictionLaw::energy;  // of the others the normal force alone has an energy
    int touched = 0;
    for (int trial = 0; trial < 40; ++trial) {
      Problem problem(random, c);
      if (!problem.regular) continue;
      touched += problem.touching();
      FrictionStage<double>& stage = *problem.stage;
      const std::vector<double> gradient = stage.residual;
      double size = 0;
      for (const double g : gradient) size = std::max(size, std::abs(g));
      const double value = std::abs(stage.value);
      for (int a = 0; a < problem.n(); ++a) {
        Eigen::VectorXd at = problem.delta;
        at(a) += kStep;
        stage.evaluate(at.data(), problem.host);
        const double plus = stage.value;
        at(a) -= 2 * kStep;
        stage.evaluate(at.data(), problem.host);
        // and the rounding of the energies, over the step
        EXPECT_NEAR(gradient[static_cast<size_t>(a)], (plus - stage.value) / (2 * kStep),
                    kRelative * (1 + size) + 1e-14 * value / kStep)
            << name_of(c) << ", tree " << trial << ", dof " << a;
      }
    }
    EXPECT_GT(touched, 60) << name_of(c);
  }
}

TEST(FrictionStage, JacobianIsTheDerivativeOfTheResidual) {
  Random random(12);
  for (const Case& c : all_cases()) {
    if (c.law == FrictionLaw::energy && c.hilly) continue;  // would need the third derivative of the distance
    int touched = 0;
    for (int trial = 0; trial < 40; ++trial) {
      Problem problem(random, c);
      if (!problem.regular) continue;
      touched += problem.touching();
      FrictionStage<double>& stage = *problem.stage;
      const int n = problem.n();
      stage.jacobian();
      Eigen::MatrixXd J(n, n), expected(n, n);
      stage.dense_jacobian(0, J.data());
      for (int b = 0; b < n; ++b) {
        Eigen::VectorXd at = problem.delta;
        at(b) += kStep;
        stage.evaluate(at.data(), problem.host);
        for (int a = 0; a < n; ++a) expected(a, b) = stage.residual[static_cast<size_t>(a)];
        at(b) -= 2 * kStep;
        stage.evaluate(at.data(), problem.host);
        for (int a = 0; a < n; ++a)
          expected(a, b) = (expected(a, b) - stage.residual[static_cast<size_t>(a)]) / (2 * kStep);
      }
      if (n == 0) continue;
      const double size = 1 + expected.cwiseAbs().maxCoeff();
      EXPECT_LE((J - expected).cwiseAbs().maxCoeff(), kRelative * size) << name_of(c) << ", tree " << trial;
      if (c.law == FrictionLaw::energy)
        EXPECT_LE((J - J.transpose()).cwiseAbs().maxCoeff(), 1e-11 * size) << name_of(c) << ", tree " << trial;
    }
    EXPECT_GT(touched, 60) << name_of(c);
  }
}

}  // namespace
}  // namespace scree
