// Fans: single outcomes of a set, statistics of branches, runs whose impacts are drawn, files.
#include "scree/fan.h"

#include <gtest/gtest.h>

#include <cmath>

#include "scree/error.h"
#include "support/impact_problems.h"

namespace scree {
namespace {

using Eigen::VectorXd;

// --- Single outcomes -----------------------------------------------------------------------------------------------

ImpactProblem elastic_block() {
  ImpactProblem p = test::block_of_code();
  p.restitution = Eigen::Vector2d::Constant(0.3);
  return p;
}

const ImpactProblem kImpacts[] = {test::block_of_code(), test::boxwall(), test::compass(1),
                                  test::ramone(),        test::disks(),   elastic_block()};

TEST(SampleOutcome, IsAColumnOfTheSetBitForBit) {
  for (const ImpactProblem& p : kImpacts)
    for (const OutcomeSampler sampler : {OutcomeSampler::uniform, OutcomeSampler::persistent}) {
      OutcomeOptions options;
      options.sampler = sampler;
      options.samples = 400;
      options.seed = 5;
      const OutcomeSet set = sample_outcomes(p, options);
      ASSERT_EQ(set.finished, set.samples);
      const long drawn = sampler == OutcomeSampler::uniform ? 400 : 200;  // the other half searches
      for (long index = 0; index < drawn; ++index) {
        const ImpactResult one = sample_outcome(p, options, index);
        ASSERT_EQ(one.status, ImpactStatus::resolved);
        ASSERT_EQ(one.v, set.v.col(index)) << index;
      }
    }
}

// v+ - v = M^-1 (Jn^T lambda_n + Jt^T lambda_t), every lambda in its cone. v is carried along in mass-normalised
// coordinates: each of at most 1000 increments rounds it by some epsilons times the terms of J^T lambda, which are some
// thousand |v| where mu is 1e5; without such friction the same bound is generous.
TEST(SampleOutcome, ImpulsesMakeTheVelocity) {
  for (const ImpactProblem& p : kImpacts)
    for (const OutcomeSampler sampler : {OutcomeSampler::uniform, OutcomeSampler::persistent}) {
      OutcomeOptions options;
      options.sampler = sampler;
      for (long index = 0; index < 100; ++index) {
        const ImpactResult r = sample_outcome(p, options, index);
        const VectorXd force = p.Jn.transpose() * r.normal_impulse + p.Jt.transpose() * r.tangential_impulse;
        const VectorXd error = p.M * (r.v - p.v) - force;
        const double terms = (p.Jn.cwiseAbs().transpose() * r.normal_impulse.cwiseAbs() +
                              p.Jt.cwiseAbs().transpose() * r.tangential_impulse.cwiseAbs())
                                 .maxCoeff();
        EXPECT_LE(error.cwiseAbs().maxCoeff(), 1000 * 2.2e-16 * (terms + (p.M * p.v).norm()));
        for (int i = 0; i < p.contacts(); ++i) {
          EXPECT_GE(r.normal_impulse(i), 0);
          EXPECT_LE(std::abs(r.tangential_impulse(i)), p.mu(i) * r.normal_impulse(i) * (1 + 1e-9) + 1e-9 * terms);
        }
        EXPECT_GT(r.steps, 0);
        EXPECT_NEAR(r.energy_before, 0.5 * p.v.dot(p.M * p.v), 1e-12 * r.energy_before);
        EXPECT_NEAR(r.energy_after, 0.5 * r.v.dot(p.M * r.v), 1e-12 * r.energy_before);
        EXPECT_LE(r.energy_after, r.energy_before * (1 + 1e-9));
      }
    }
}

// In space, with a polygon of eight directions, whose friction is at most mu in any direction.
TEST(SampleOutcome, ImpulsesInSpaceAreInTheirCone) {
  ImpactProblem p;  // a cube of unit edges falls on its four lower corners, sliding
  p.M = Eigen::VectorXd::Ones(6).asDiagonal();
  p.M.bottomRightCorner(3, 3) /= 6;
  p.Jn.resize(4, 6);
  p.Jt.resize(8, 6);
  for (int i = 0; i < 4; ++i) {
    const Eigen::Vector3d r(i % 2 ? 0.5 : -0.5, i / 2 ? 0.5 : -0.5, -0.5);
    for (int axis = 0; axis < 3; ++axis) {
      Eigen::RowVectorXd row(6);
      row << Eigen::RowVector3d::Unit(axis), r.cross(Eigen::Vector3d::Unit(axis)).transpose();
      (axis == 2 ? p.Jn.row(i) : p.Jt.row(2 * i + axis)) = row;
    }
  }
  p.mu = Eigen::Vector4d::Constant(0.4);
  p.v = Eigen::VectorXd::Zero(6);
  p.v.head<3>() << 0.5, 0.2, -1;
  for (long index = 0; index < 200; ++index) {
    const ImpactResult r = sample_outcome(p, {}, index);
    ASSERT_EQ(r.status, ImpactStatus::resolved);
    const VectorXd v =
        p.v + p.M.inverse() * (p.Jn.transpose() * r.normal_impulse + p.Jt.transpose() * r.tangential_impulse);
    EXPECT_LE((v - r.v).norm(), 1e-12);  // some hundred epsilons times impulses of at most 2 N s
    for (int i = 0; i < 4; ++i)
      EXPECT_LE(r.tangential_impulse.segment<2>(2 * i).norm(), 0.4 * r.normal_impulse(i) * (1 + 1e-9) + 1e-12);
  }
}

TEST(SampleOutcome, SaysWhenATrajectoryDidNotEnd) {
  OutcomeOptions options;
  options.sampler = OutcomeSampler::uniform;
  options.step = 1e-3;  // of 0.44 N s
  options.max_steps = 7;
  const ImpactProblem p = test::block_of_code();
  const ImpactResult r = sample_outcome(p, options, 3);
  EXPECT_EQ(r.status, ImpactStatus::budget);
  EXPECT_EQ(r.steps, 7);
  EXPECT_GT(r.approach, 0);
  EXPECT_THROW(sample_outcome(p, options, -1), InputError);
}

}  // namespace
}  // namespace scree
