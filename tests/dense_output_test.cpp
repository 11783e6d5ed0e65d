#include "run/dense_output.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "scree/kinematics.h"
#include "support/mechanisms.h"

namespace scree {
namespace {

struct KnownMotion {
  const char* name;
  JointType type;
  std::function<void(double t, Eigen::VectorXd& q, Eigen::VectorXd& v)> at;
};

// Turned by a about z, then by b about the new x: q = qz(a) qx(b), w_B = (b', a' sin b, a' cos b).
void turn(double t, double* q, double* v) {
  const double a = 0.4 + std::sin(2 * t), da = 2 * std::cos(2 * t), b = 3 * std::cos(t), db = -3 * std::sin(t);
  q[0] = std::cos(a / 2) * std::cos(b / 2);
  q[1] = std::cos(a / 2) * std::sin(b / 2);
  q[2] = std::sin(a / 2) * std::sin(b / 2);
  q[3] = std::sin(a / 2) * std::cos(b / 2);
  v[0] = db;
  v[1] = da * std::sin(b);
  v[2] = da * std::cos(b);
}

void swing(double t, int count, double* q, double* v) {
  for (int k = 0; k < count; ++k) {
    q[k] = std::sin((2 + k) * t + k);
    v[k] = (2 + k) * std::cos((2 + k) * t + k);
  }
}

const std::vector<KnownMotion>& known_motions() {
  using Eigen::VectorXd;
  static const std::vector<KnownMotion> all = {
      {"prismatic", JointType::prismatic, [](double t, VectorXd& q, VectorXd& v) { swing(t, 1, &q(0), &v(0)); }},
      {"continuous", JointType::continuous, [](double t, VectorXd& q, VectorXd& v) { swing(t, 1, &q(0), &v(0)); }},
      {"planar", JointType::planar, [](double t, VectorXd& q, VectorXd& v) { swing(t, 3, &q(0), &v(0)); }},
      {"ball", JointType::ball, [](double t, VectorXd& q, VectorXd& v) { turn(t, &q(0), &v(0)); }},
      {"floating", JointType::floating,
       [](double t, VectorXd& q, VectorXd& v) {
         swing(t, 3, &q(0), &v(0));
         turn(t, &q(3), &v(3));
       }},
  };
  return all;
}

Model model_of(const KnownMotion& motion) {
  Joint joint;
  joint.name = motion.name;
  joint.type = motion.type;
  return test::single_joint(joint);
}

State state_at(const Model& model, const KnownMotion& motion, double t) {
  State state = make_state(model);
  motion.at(t, state.q, state.v);
  state.time = t;
  return state;
}

TEST(DenseOutput, PassesThroughBothEndsBitForBit) {
  for (const KnownMotion& motion : known_motions()) {
    const Model model = model_of(motion);
    const State start = state_at(model, motion, 0.3), end = state_at(model, motion, 0.7);
    DenseOutput output(model);
    output.set_step(start, end);
    State at = start;
    for (const State* expected : {&end, &start}) {
      output.sample(expected->time, at);
      EXPECT_EQ(at.time, expected->time);
      EXPECT_EQ(at.q, expected->q) << motion.name;
      EXPECT_EQ(at.v, expected->v) << motion.name;
    }
    // And runs into them: a billionth of a second inside it is 1e-9 s times the speed (below 6) or acceleration (18)
    // away, and the length of a quaternion is 1 to rounding.
    for (const double inside : {1e-9, -1e-9}) {
      const State& near = inside > 0 ? start : end;
      output.sample(near.time + inside, at);
      EXPECT_LT(position_difference(model, at.q, near.q).norm(), 6.1e-9) << motion.name;
      EXPECT_LT((at.v - near.v).norm(), 1e-7) << motion.name;  // the curve's acceleration is that of x'' to O(h^2)
      EXPECT_LT((make_state(model, at.q, at.v).q - at.q).norm(), 1e-15) << motion.name;
    }
  }
}

// Positions of fourth order, velocities of third.
TEST(DenseOutput, ErrorFallsWithTheFourthPowerOfTheStep) {
  for (const KnownMotion& motion : known_motions()) {
    const Model model = model_of(motion);
    DenseOutput output(model);
    std::vector<double> position, velocity;
    for (const double h : {0.08, 0.04, 0.02}) {
      double q_error = 0, v_error = 0;
      const State start = state_at(model, motion, 0.3), end = state_at(model, motion, 0.3 + h);
      output.set_step(start, end);
      State at = start;
      for (int k = 1; k < 20; ++k) {
        const double t = 0.3 + h * k / 20;
        const State exact = state_at(model, motion, t);
        output.sample(t, at);
        q_error = std::max(q_error, position_difference(model, exact.q, at.q).norm());
        v_error = std::max(v_error, (exact.v - at.v).norm());
      }
      position.push_back(q_error);
      velocity.push_back(v_error);
    }
    // Between the last two steps the next term of the series changes the order by a few h: 5 %.
    EXPECT_NEAR(std::log2(position[1] / position[2]), 4, 0.2) << motion.name;
    EXPECT_NEAR(std::log2(velocity[1] / velocity[2]), 3, 0.2) << motion.name;
    // sin(2 t + ...): |x''''| <= 2^4
    if (velocity_count(motion.type) == 1) {
      EXPECT_LT(position[0], std::pow(0.08, 4) / 384 * 16) << motion.name;
    }
  }
}

TEST(DenseOutput, VelocitiesAreTheDerivativeOfPositions) {
  for (const KnownMotion& motion : known_motions()) {
    const Model model = model_of(motion);
    DenseOutput output(model);
    const State start = state_at(model, motion, 0), end = state_at(model, motion, 0.9);  // turns by up to 2 rad
    output.set_step(start, end);
    State before = start, at = start, after = start;
    constexpr double e = 1e-5;  // central differences: e^2 |x'''| / 6 < 1e-8, rounding 1e-16 / e
    for (double t = 0.1; t < 0.85; t += 0.1) {
      output.sample(t - e, before);
      output.sample(t, at);
      output.sample(t + e, after);
      const Eigen::VectorXd rate =
          (position_difference(model, at.q, after.q) - position_difference(model, at.q, before.q)) / (2 * e);
      EXPECT_LT((rate - at.v).norm(), 3e-8) << motion.name << " at " << t;
    }
  }
}

}  // namespace
}  // namespace scree
