// Fans: single outcomes of a set, statistics of branches, runs whose impacts are drawn, files.
#include "scree/fan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>

#include "base/in_parallel.h"
#include "run/fan_statistics.h"
#include "run/hdf5.h"
#include "scree/dynamics.h"
#include "scree/error.h"
#include "scree/kinematics.h"
#include "support/impact_problems.h"
#include "support/paths.h"
#include "support/temp_folder.h"

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

// --- Statistics of fans made by hand ---------------------------------------------------------------------------------

std::string source(const std::string& name) { return source_dir() + "/" + name; }

FanImpact impact_at(double time, int contacts, const std::string& mode) {
  FanImpact impact;
  impact.time = time;
  impact.contacts = contacts;
  impact.mode = mode;
  impact.v_before = Eigen::Vector3d(0, -1, 0);
  impact.v_after = Eigen::Vector3d::Zero();
  return impact;
}

// Two rows at 0 and 1 s of a planar model.
Fan planar_fan(size_t branches) {
  Fan fan;
  fan.time = {0, 1};
  fan.q = TableStack(branches, 2, 3);
  fan.v = fan.q;
  fan.branches.resize(branches);
  for (FanBranch& branch : fan.branches) branch.end_time = 1;
  return fan;
}

TEST(FanStatistics, ModesAreNamed) {
  EXPECT_EQ(mode_text({"front", "rear", "tail"}, {ContactMode::stick, ContactMode::open, ContactMode::slide}),
            "front sticks, rear opens, tail slides");
}

TEST(FanStatistics, QuantilesAreLinearBetweenOrderStatistics) {
  Fan fan = planar_fan(5);
  const double x[] = {4, 1, 3, 0, 2};
  for (size_t b = 0; b < 5; ++b) {
    fan.q(b, 1, 0) = x[b];
    fan.v(b, 1, 2) = -x[b];
  }
  for (const double p : {0.0, 0.1, 0.25, 0.5, 0.6, 0.95, 1.0}) {
    EXPECT_DOUBLE_EQ(fan.quantile(1, 0, p), 4 * p);
    EXPECT_DOUBLE_EQ(fan.quantile(1, 5, p), 4 * p - 4);
    EXPECT_EQ(fan.quantile(0, 0, p), 0);
  }
  EXPECT_EQ(fan.at(2, 1, 0), 3);
  for (size_t b = 0; b < 5; ++b)
    if (x[b] >= 2) fan.q(b, 1, 0) = std::nan("");
  EXPECT_DOUBLE_EQ(fan.quantile(1, 0, 0.5), 0.5);  // of 0 and 1, which came so far
  for (size_t b = 0; b < 5; ++b) fan.q(b, 1, 0) = std::nan("");
  EXPECT_TRUE(std::isnan(fan.quantile(1, 0, 0.5)));
  EXPECT_EQ(rows_reached(fan, 0), 1u);
}

// Against sorting, for all sizes up to 20.
TEST(FanStatistics, QuantilesAgreeWithSorting) {
  for (size_t n = 1; n <= 20; ++n) {
    std::vector<double> values(n);
    for (size_t i = 0; i < n; ++i) values[i] = std::sin(static_cast<double>(7 * i * i + n));
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    for (int k = 0; k <= 100; ++k) {
      const double place = 0.01 * k * static_cast<double>(n - 1);
      const size_t low = std::min(static_cast<size_t>(place), n - 1), high = std::min(low + 1, n - 1);
      const double expected = std::lerp(sorted[low], sorted[high], place - static_cast<double>(low));
      EXPECT_NEAR(quantile_of(values, 0.01 * k), expected, 1e-15);
    }
  }
}

TEST(FanStatistics, ClustersAreSequencesOfModesWhereBranchesDiffer) {
  Fan fan = planar_fan(7);
  const std::vector<std::vector<std::string>> modes = {{"a", "x", "p"}, {"a", "y", "p"}, {"b", "x"}, {"a", "x", "p"},
                                                       {"b", "x", "q"}, {"a", "x"},      {}};
  for (size_t b = 0; b < modes.size(); ++b)
    for (size_t k = 0; k < modes[b].size(); ++k) {
      fan.branches[b].impacts.push_back(impact_at(0.1, 1, "alone " + std::to_string(b)));  // tells nothing apart
      fan.branches[b].impacts.push_back(impact_at(0.2, 2, modes[b][k]));
    }
  find_clusters(fan);
  // After "b" all that come to another impact do the same: x, then q. After "a, x" likewise.
  ASSERT_EQ(fan.clusters.size(), 4u);
  EXPECT_EQ(fan.clusters[0].modes, (std::vector<std::string>{"a", "x"}));
  EXPECT_EQ(fan.clusters[0].branches, (std::vector<long>{0, 3, 5}));
  EXPECT_EQ(fan.clusters[1].modes, (std::vector<std::string>{"b"}));
  EXPECT_EQ(fan.clusters[1].branches, (std::vector<long>{2, 4}));
  EXPECT_EQ(fan.clusters[2].modes, (std::vector<std::string>{"a", "y"}));
  EXPECT_EQ(fan.clusters[3].modes, (std::vector<std::string>{}));
  EXPECT_EQ(fan.clusters[3].branches, (std::vector<long>{6}));
  for (size_t c = 0; c < fan.clusters.size(); ++c)
    for (const long b : fan.clusters[c].branches) EXPECT_EQ(fan.branches[static_cast<size_t>(b)].cluster, c);
  const auto ambiguous = [&](size_t b) {
    std::string marks;
    for (const FanImpact& impact : fan.branches[b].impacts) marks += impact.ambiguous ? '1' : '0';
    return marks;
  };
  EXPECT_EQ(ambiguous(0), "010100");
  EXPECT_EQ(ambiguous(4), "010000");

  fan.options.cluster_impacts = 1;
  find_clusters(fan);
  ASSERT_EQ(fan.clusters.size(), 3u);
  EXPECT_EQ(fan.clusters[0].branches, (std::vector<long>{0, 1, 3, 5}));
  EXPECT_EQ(ambiguous(0), "010000");
}

TEST(FanStatistics, FirstSplitIsWhereVelocitiesPart) {
  const Model model = load_urdf(source("models/box-planar.urdf"));
  Fan fan = planar_fan(3);
  find_first_split(model, fan);
  EXPECT_TRUE(std::isnan(fan.first_split));
  for (FanBranch& branch : fan.branches) {
    branch.impacts = {impact_at(0.25, 1, "a"), impact_at(0.5, 2, "b")};
    branch.impacts[0].v_after = Eigen::Vector3d(0, 1e-7, 0);  // less than 1e-6 of the speed before
  }
  fan.branches[1].impacts[0].v_after.setZero();
  find_first_split(model, fan);
  EXPECT_TRUE(std::isnan(fan.first_split));
  fan.branches[2].impacts[1].v_after = Eigen::Vector3d(0, 0, 1e-5);  // spin: sqrt(1/24) of it counts
  fan.branches[2].impacts[1].mode = "c";
  find_first_split(model, fan);
  EXPECT_EQ(fan.first_split, 0.5);
  ASSERT_EQ(fan.split.size(), 2u);
  EXPECT_EQ(fan.split[0].mode, "b");
  EXPECT_EQ(fan.split[0].branches, 2);
  EXPECT_EQ(fan.split[1].mode, "c");
  fan.branches[2].impacts[1].v_after = Eigen::Vector3d(0, 0, 4e-6);
  find_first_split(model, fan);
  EXPECT_TRUE(std::isnan(fan.first_split));
  fan.branches[2].impacts.pop_back();  // goes on without the second impact
  find_first_split(model, fan);
  EXPECT_EQ(fan.first_split, 0.5);
  fan.branches[2].end_time = 0.4;  // failed before
  find_first_split(model, fan);
  EXPECT_TRUE(std::isnan(fan.first_split));
}

// Of a box of 1 kg and 1/24 kg m^2: variances of the coordinates, times these. Rounding alone.
TEST(FanStatistics, SpreadIsTheStandardDeviationInTheMetricOfTheMass) {
  const Model model = load_urdf(source("models/box-planar.urdf"));
  const size_t n = 101;
  Fan fan = planar_fan(n);
  double expected = 0;
  for (int c = 0; c < 3; ++c) {
    double mean = 0, variance = 0;
    const auto x = [&](size_t b) { return 1e3 + std::sin(static_cast<double>(b * b) + c); };
    for (size_t b = 0; b < n; ++b) {
      fan.q(b, 1, static_cast<size_t>(c)) = x(b);
      mean += x(b) / n;
    }
    for (size_t b = 0; b < n; ++b) variance += (x(b) - mean) * (x(b) - mean) / n;
    expected += variance * (c < 2 ? 1 : 0.0416666666667);
  }
  measure_spread(model, fan);
  EXPECT_EQ(fan.spread[0], 0);
  EXPECT_NEAR(fan.spread[1], std::sqrt(expected), 1e-11);  // of differences of numbers of 1000
  Fan several = fan;
  several.options.threads = 3;
  measure_spread(model, several);
  EXPECT_EQ(several.spread, fan.spread);
  for (size_t b = 0; b < n; ++b) fan.q(b, 1, 0) = std::nan("");
  measure_spread(model, fan);
  EXPECT_TRUE(std::isnan(fan.spread[1]));
}

// q and -q are one orientation; turns by +-a about the z axis of a box have a standard deviation of a sqrt(I).
TEST(FanStatistics, SpreadKnowsRotations) {
  const Model model = load_urdf(source("models/box.urdf"));
  Fan fan;
  fan.time = {0, 1};
  fan.branches.resize(2);
  const double a = 0.3;
  fan.q = TableStack(2, 2, 7);
  fan.v = TableStack(2, 2, 6);
  for (size_t b = 0; b < 2; ++b)
    for (size_t row = 0; row < 2; ++row) {
      const double turn = row == 0 ? 0 : (b == 0 ? a : -a), sign = b == 0 ? 1 : -1;
      fan.q.row(b, row) << 0.5, 2.0, 1.0, sign * std::cos(turn / 2), 0.0, 0.0, sign * std::sin(turn / 2);
    }
  measure_spread(model, fan);
  EXPECT_NEAR(fan.spread[0], 0, 1e-15);
  Dynamics dynamics(model);
  dynamics.set_position(model.neutral_position());
  EXPECT_NEAR(fan.spread[1], a * std::sqrt(dynamics.mass_matrix()(5, 5)), 1e-14);
}

// --- Runs ------------------------------------------------------------------------------------------------------------

Scene block() { return load_scene(source("tests/data/scenes/fan.toml")); }

Scene sliding_block() {
  Scene scene = block();
  scene.q0(1) = 0.6;
  scene.v0(0) = 3;
  scene.duration = 0.8;
  return scene;
}

FanOptions branches(long n, OutcomeSampler sampler = OutcomeSampler::persistent) {
  FanOptions options;
  options.branches = n;
  options.sampling.sampler = sampler;
  return options;
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) {
           return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
         });
}

// The problem of the scene's first impact.
ImpactProblem first_impact(const Scene& scene) {
  ImpactProblem first;
  StepWorkspace workspace(scene.model, scene.world);
  workspace.set_impact_resolver([&](const ImpactProblem& problem) {
    first = problem;
    ImpactResult none;
    none.v = problem.v;
    return none;
  });
  State state = make_state(scene.model, scene.q0, scene.v0);
  for (int row = 1; step(scene.model, scene.control, scene.options, state, workspace).converged(); ++row)
    state.time = row * scene.options.dt;
  return first;
}

TEST(Fan, FirstImpactsAreThoseOfTheSetOfOutcomes) {
  for (const Scene& scene : {block(), sliding_block()})
    for (const OutcomeSampler sampler : {OutcomeSampler::uniform, OutcomeSampler::persistent}) {
      FanOptions options = branches(60, sampler);
      options.seed = 11;
      const Fan fan = run_fan(scene, options);
      ASSERT_EQ(fan.branches.size(), 60u);
      const ImpactProblem problem = first_impact(scene);
      OutcomeOptions drawn = options.sampling;
      drawn.seed = 11;
      drawn.samples = sampler == OutcomeSampler::uniform ? 60 : 120;  // half of them search
      const OutcomeSet set = sample_outcomes(problem, drawn);
      ASSERT_EQ(set.finished, drawn.samples);
      const char* names[] = {"rear_bottom", "front_bottom"};
      std::map<std::string, long> modes, expected;
      for (size_t b = 0; b < 60; ++b) {
        ASSERT_FALSE(fan.branches[b].impacts.empty());
        const FanImpact& impact = fan.branches[b].impacts[0];
        EXPECT_EQ(impact.v_after, set.v.col(static_cast<Eigen::Index>(b)));
        EXPECT_EQ(impact.v_before, problem.v);
        EXPECT_EQ(impact.contacts, 2);
        EXPECT_EQ(impact.time, fan.first_split);
        ++modes[impact.mode];
      }
      EXPECT_GT(modes.size(), 1u);
      if (sampler == OutcomeSampler::uniform) {
        for (const OutcomeMode& mode : set.modes) expected[mode_text({names[0], names[1]}, mode.contacts)] = mode.count;
        EXPECT_EQ(modes, expected);
      }
      long shares = 0;
      for (const FanShare& share : fan.split) {
        EXPECT_EQ(share.branches, modes[share.mode]);
        shares += share.branches;
      }
      EXPECT_EQ(shares, 60);
    }
}

// sqrt(2 h/g), h = 0.03 m. Flight is located to touch = 1e-9 m at 0.77 m/s.
TEST(Fan, FirstSplitIsTheEndOfTheFall) {
  const Fan fan = run_fan(block(), branches(10));
  EXPECT_NEAR(fan.first_split, std::sqrt(2 * 0.03 / 9.81), 2e-9);
}

// Another road: every branch from the start of the scene, without a trunk, its impacts by the public function.
TEST(Fan, BranchesAreRunsWithDrawnImpacts) {
  const Scene scene = sliding_block();
  FanOptions options = branches(12);
  options.seed = 3;
  const Fan fan = run_fan(scene, options);
  size_t impacts = 0;
  for (long b = 0; b < 12; ++b) {
    StepWorkspace workspace(scene.model, scene.world);
    long k = 0;
    workspace.set_impact_resolver([&](const ImpactProblem& problem) {
      OutcomeOptions draw = options.sampling;
      draw.seed = fan_impact_seed(3, k++);
      return sample_outcome(problem, draw, b);
    });
    State state = make_state(scene.model, scene.q0, scene.v0);
    for (size_t row = 1; row < fan.rows(); ++row) {
      ASSERT_TRUE(step(scene.model, scene.control, scene.options, state, workspace).converged());
      state.time = fan.time[row];
      EXPECT_EQ(state.q, fan.q.row(static_cast<size_t>(b), row)) << b;
    }
    const FanBranch& branch = fan.branches[static_cast<size_t>(b)];
    EXPECT_EQ(state_hash(state), branch.final_state_hash) << b;
    EXPECT_EQ(branch.impacts.size(), static_cast<size_t>(k));
    impacts += branch.impacts.size();
  }
  EXPECT_GT(impacts, 24u);
}

TEST(Fan, ThreadsDoNotMatter) {
  const Scene scene = sliding_block();
  FanOptions options = branches(40);
  EXPECT_EQ(options.threads, 0);
  options.threads = 1;
  const Fan one = run_fan(scene, options);
  EXPECT_EQ(one.options.threads, 1);
  for (const int threads : {2, 5, 0}) {  // 0: all there are
    options.threads = threads;
    const Fan fan = run_fan(scene, options);
    EXPECT_EQ(fan.options.threads, threads > 0 ? threads : thread_count(0));
    EXPECT_TRUE(same_bits(fan.q.numbers(), one.q.numbers()));
    EXPECT_TRUE(same_bits(fan.v.numbers(), one.v.numbers()));
    EXPECT_TRUE(same_bits(fan.spread, one.spread));
    ASSERT_EQ(fan.branches.size(), one.branches.size());
    for (size_t b = 0; b < one.branches.size(); ++b) {
      EXPECT_EQ(fan.branches[b].final_state_hash, one.branches[b].final_state_hash);
      EXPECT_EQ(fan.branches[b].impacts.size(), one.branches[b].impacts.size());
    }
    ASSERT_EQ(fan.clusters.size(), one.clusters.size());
    for (size_t c = 0; c < one.clusters.size(); ++c) EXPECT_EQ(fan.clusters[c].branches, one.clusters[c].branches);
    EXPECT_EQ(fan.first_split, one.first_split);
  }
  options.branches = 7;  // nor do other branches
  const Fan few = run_fan(scene, options);
  for (size_t b = 0; b < 7; ++b) EXPECT_EQ(few.branches[b].final_state_hash, one.branches[b].final_state_hash);
  options.seed = 2;
  EXPECT_NE(run_fan(scene, options).branches[0].final_state_hash, one.branches[0].final_state_hash);
}

TEST(Fan, EveryBranchKeepsThePhysics) {
  const Scene scene = sliding_block();
  const Fan fan = run_fan(scene, branches(60));
  const double start = 9.81 * 0.6 + 0.5 * 9;  // [J]
  for (const FanBranch& branch : fan.branches) {
    EXPECT_EQ(branch.status, RunStatus::complete) << branch.failure;
    EXPECT_EQ(branch.end_time, scene.duration);
    EXPECT_LE(branch.penetration, scene.options.event.touch);
    EXPECT_LT(branch.final_energy, start);
    EXPECT_GT(branch.final_energy, 9.81 * 0.25 - 1e-6);  // on the ground
    double time = 0;
    for (const FanImpact& impact : branch.impacts) {
      EXPECT_GE(impact.time, time);
      time = impact.time;
      EXPECT_LE(impact.energy_after, impact.energy_before * (1 + 1e-12));
      EXPECT_FALSE(impact.mode.empty());
    }
  }
  // The same up to the first impact, then not.
  const size_t last = fan.rows() - 1, split = static_cast<size_t>(fan.first_split / 0.01);
  for (size_t row = 0; row < fan.rows(); ++row)
    for (size_t b = 1; b < fan.branches.size() && row <= split; ++b)
      for (int c = 0; c < 6; ++c) EXPECT_EQ(fan.at(b, row, c), fan.at(0, row, c));
  EXPECT_EQ(fan.spread[split], 0);
  EXPECT_GT(fan.spread[last], 1e-3);
  EXPECT_EQ(fan.coordinates, (std::vector<std::string>{"base.x [m]", "base.z [m]", "base.angle [rad]", "base.vx [m/s]",
                                                       "base.vz [m/s]", "base.w [rad/s]"}));
}

// The block slides flat after x(t_1), stopped by mu g: v1 = v0 - mu |vn|, x = x1 + v1^2/(2 mu g). Midpoint steps are
// exact but for the one in which it stops, from v to 0 in a time v/(mu g) < h: v/2 (h - v/(mu g)) <= mu g h^2/8 too
// far.
TEST(Fan, BranchesThatSlideFlatStopWhereCoulombSays) {
  const Scene scene = sliding_block();
  const Fan fan = run_fan(scene, branches(60));
  const double t1 = std::sqrt(2 * 0.35 / 9.81), v1 = 3 - 0.8 * 9.81 * t1, stop = 3 * t1 + v1 * v1 / (2 * 0.8 * 9.81);
  long flat = 0;
  for (size_t b = 0; b < 60; ++b) {
    const FanBranch& branch = fan.branches[b];
    if (branch.impacts.size() != 1 || branch.impacts[0].mode != "rear_bottom slides, front_bottom slides") continue;
    ++flat;
    EXPECT_NEAR(fan.at(b, fan.rows() - 1, 0), stop, 0.8 * 9.81 * 1e-4 / 8 + 1e-6);
    EXPECT_NEAR(branch.impacts[0].v_after(0), v1, 1e-8);  // t_1 is located within 2e-9 s
  }
  EXPECT_GT(flat, 10);
}

// theory (14.6): the same draws, blended with the reflection, which of a block that falls flat turns vz alone.
// Rounding.
TEST(Fan, RestitutionBlendsEveryOutcome) {
  Scene scene = block();
  const Fan inelastic = run_fan(scene, branches(20));
  scene.world.surface.restitution = 0.4;
  const Fan fan = run_fan(scene, branches(20));
  for (size_t b = 0; b < 20; ++b) {
    const FanImpact& impact = fan.branches[b].impacts[0];
    VectorXd elastic = impact.v_before;
    elastic(1) *= -1;
    const VectorXd expected = 0.6 * inelastic.branches[b].impacts[0].v_after + 0.4 * elastic;
    EXPECT_LE((impact.v_after - expected).norm(), 1e-14);
    EXPECT_EQ(fan.branches[b].status, RunStatus::complete) << fan.branches[b].failure;
  }
}

// A box tilted by 0.3 rad hits with one corner, which has one outcome: branches part later, where two are closed.
TEST(Fan, AnImpactOfOneContactDoesNotSplit) {
  Scene scene = sliding_block();
  scene.q0(2) = 0.3;
  scene.duration = 1.2;
  const Fan fan = run_fan(scene, branches(30));
  double first = 0;
  for (const FanBranch& branch : fan.branches) {
    ASSERT_GE(branch.impacts.size(), 2u);
    EXPECT_EQ(branch.impacts[0].contacts, 1);
    first = std::max(first, branch.impacts[0].time);
  }
  EXPECT_GT(fan.first_split, first + 0.1);
  for (const FanBranch& branch : fan.branches) {
    const auto at = [&](const FanImpact& impact) { return impact.time >= fan.first_split - 1e-9; };
    const auto split = std::find_if(branch.impacts.begin(), branch.impacts.end(), at);
    ASSERT_NE(split, branch.impacts.end());
    EXPECT_EQ(split->contacts, 2);
  }
}

TEST(Fan, WithoutImpactsAllBranchesAreTheScene) {
  Scene scene = block();
  scene.duration = 0.05;
  const Fan fan = run_fan(scene, branches(4));
  const scree::Run run = run_scene(scene);
  ASSERT_EQ(fan.rows(), run.rows());
  for (size_t b = 0; b < 4; ++b) {
    EXPECT_EQ(fan.branches[b].final_state_hash, run.final_state_hash);
    EXPECT_TRUE(fan.branches[b].impacts.empty());
    EXPECT_EQ(fan.branches[b].end_time, 0.05);
  }
  for (size_t row = 0; row < run.rows(); ++row) EXPECT_EQ(fan.q.row(0, row), run.q.row(row));
  EXPECT_TRUE(std::isnan(fan.first_split));
  ASSERT_EQ(fan.clusters.size(), 1u);
  EXPECT_TRUE(fan.clusters[0].modes.empty());
  for (const double spread : fan.spread) EXPECT_EQ(spread, 0);
}

// Two contacts spend 0.77 N s in increments of at most 0.1, 0.05 on average: 10 of them are enough for some.
TEST(Fan, BranchesThatFailSayWhyAndOthersGoOn) {
  FanOptions options = branches(40, OutcomeSampler::uniform);
  options.sampling.step = 0.1;
  options.sampling.max_steps = 10;
  const Scene scene = block();
  const Fan fan = run_fan(scene, options);
  size_t failed = 0;
  for (size_t b = 0; b < 40; ++b) {
    const FanBranch& branch = fan.branches[b];
    if (branch.status == RunStatus::complete) {
      EXPECT_EQ(branch.failure, "");
      EXPECT_EQ(branch.end_time, 0.5);
      continue;
    }
    ++failed;
    EXPECT_EQ(branch.status, RunStatus::step_failed);
    EXPECT_NE(branch.failure.find("contacts still approach after 10 increments"), std::string::npos) << branch.failure;
    const size_t reached = rows_reached(fan, b);
    EXPECT_LT(reached, fan.rows());
    EXPECT_EQ(branch.end_time, fan.time[reached - 1]);
    EXPECT_TRUE(std::isnan(fan.at(b, fan.rows() - 1, 4)));
  }
  EXPECT_GT(failed, 3u);
  EXPECT_LT(failed, 37u);
  EXPECT_EQ(fan.branches.size(), 40u);
}

TEST(Fan, InterruptedKeepsWhatEnded) {
  const Scene scene = sliding_block();
  FanOptions options = branches(50);
  const Fan whole = run_fan(scene, options);
  options.threads = 2;
  const Fan fan = run_fan(scene, options, [](long done, long wanted) {
    EXPECT_EQ(wanted, 50);
    return done < 9;
  });
  EXPECT_TRUE(fan.interrupted);
  ASSERT_GE(fan.branches.size(), 9u);
  ASSERT_LE(fan.branches.size(), 10u);  // another thread may just have ended one
  ASSERT_TRUE(fan.q.has_shape(fan.branches.size(), fan.rows(), 3));
  long last = -1;
  for (size_t b = 0; b < fan.branches.size(); ++b) {
    const size_t index = static_cast<size_t>(fan.branches[b].index);
    EXPECT_GT(fan.branches[b].index, last);
    last = fan.branches[b].index;
    EXPECT_EQ(fan.branches[b].final_state_hash, whole.branches[index].final_state_hash);
    EXPECT_EQ(fan.at(b, fan.rows() - 1, 0), whole.at(index, fan.rows() - 1, 0));
  }
  const Fan none = run_fan(scene, options, [](long, long) { return false; });
  EXPECT_TRUE(none.interrupted);
  EXPECT_TRUE(none.branches.empty());
  EXPECT_TRUE(none.clusters.empty());
}

void refuses(const Scene& scene, const FanOptions& options, const std::string& expected) {
  try {
    run_fan(scene, options);
    ADD_FAILURE() << expected << ": accepted";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
  }
}

TEST(Fan, RefusesWhatItCannotRun) {
  const Scene scene = block();
  Scene other = block();
  other.options.integrator = IntegratorType::ne_lcp;
  refuses(other, {}, "integrator \"ne-lcp\" knows no impacts, expected \"event\"");
  other = block();
  std::erase_if(other.world.colliders, [](const Collider& c) { return c.body == kWorld; });
  refuses(other, {}, "nothing in the scene can touch");
  other = block();
  other.q0(1) = 0.2;
  refuses(other, {}, "deep in the ground");
  for (const long n : {0L, -1L}) refuses(scene, branches(n), "branches is " + std::to_string(n));
  // 51 rows of 6 numbers.
  refuses(scene, branches(1'000'000'000'000), "expected at most 4e+08: at most 1307189 branches");
  FanOptions options;
  options.threads = -1;
  refuses(scene, options, "threads is -1");
  options = {};
  options.cluster_impacts = 0;
  refuses(scene, options, "cluster_impacts is 0");
  options = {};
  options.sampling.max_steps = 0;
  refuses(scene, options, "max_steps: 0, expected");
}

TEST(Fan, SeedsOfImpactsDiffer) {
  EXPECT_EQ(fan_impact_seed(7, 0), 7u);
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t seed = 0; seed < 30; ++seed)
    for (long k = 0; k < 30; ++k) seeds.push_back(fan_impact_seed(seed, k));
  std::sort(seeds.begin(), seeds.end());
  EXPECT_EQ(std::adjacent_find(seeds.begin(), seeds.end()), seeds.end());
}

// --- File ------------------------------------------------------------------------------------------------------------

TEST(FanFile, HoldsWhatTheFanHolds) {
  const TempFolder folder;
  const Scene scene = sliding_block();
  const Fan fan = run_fan(scene, branches(20));
  write_fan(folder / "fan.h5", scene, fan);
  EXPECT_EQ(folder.count(), 1);
  const hdf5::Reader in(folder / "fan.h5");
  const std::uint64_t n = 20, rows = fan.rows();
  EXPECT_EQ(in.integer_attribute("/", "fan_version"), 2);
  EXPECT_EQ(in.string_attribute("/", "status"), "complete");
  EXPECT_EQ(in.string_attribute("/", "sampler"), "persistent");
  EXPECT_EQ(in.number_attribute("/", "first_split"), fan.first_split);
  EXPECT_EQ(in.string_attribute("/q", "units"), "m, rad, unit quaternions (w, x, y, z)");
  EXPECT_TRUE(same_bits(in.numbers("/time", {rows}), fan.time));
  EXPECT_TRUE(same_bits(in.numbers("/q", {n, rows, 3}), fan.q.numbers()));
  EXPECT_TRUE(same_bits(in.numbers("/v", {n, rows, 3}), fan.v.numbers()));
  EXPECT_TRUE(same_bits(in.numbers("/spread", {rows}), fan.spread));
  const std::vector<int> first = in.integers("/branches/first_impact", {n + 1});
  const std::uint64_t impacts = static_cast<std::uint64_t>(first.back());
  const std::vector<int> mode = in.integers("/impacts/mode", {impacts});
  const std::vector<double> time = in.numbers("/impacts/time", {impacts});
  const std::vector<double> v_after = in.numbers("/impacts/v_after", {impacts, 3});
  const std::vector<std::string> modes = in.strings("/modes", in.extents("/modes"));
  const std::vector<int> cluster = in.integers("/branches/cluster", {n});
  for (size_t b = 0; b < n; ++b) {
    const FanBranch& branch = fan.branches[b];
    EXPECT_EQ(cluster[b], branch.cluster);
    ASSERT_EQ(static_cast<size_t>(first[b + 1] - first[b]), branch.impacts.size());
    for (size_t k = 0; k < branch.impacts.size(); ++k) {
      const size_t i = static_cast<size_t>(first[b]) + k;
      EXPECT_EQ(time[i], branch.impacts[k].time);
      EXPECT_EQ(modes[static_cast<size_t>(mode[i])], branch.impacts[k].mode);
      EXPECT_EQ(Eigen::Vector3d(&v_after[3 * i]), branch.impacts[k].v_after);
    }
  }
  const std::vector<int> size = in.integers("/clusters/size", {fan.clusters.size()});
  EXPECT_EQ(std::accumulate(size.begin(), size.end(), 0), 20);
  EXPECT_EQ(in.text("/scene"), scene.text);
  try {
    read_run(folder / "fan.h5");
    ADD_FAILURE();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("is a fan of branches"), std::string::npos) << error.what();
  }
}

TEST(FanFile, EmptyAndFailedFansAreWrittenToo) {
  const TempFolder folder;
  Scene scene = block();
  Fan fan = run_fan(scene, branches(5), [](long, long) { return false; });
  write_fan(folder / "none.h5", scene, fan);
  EXPECT_EQ(hdf5::Reader(folder / "none.h5").string_attribute("/", "status"), "interrupted");
  FanOptions options = branches(5, OutcomeSampler::uniform);
  options.sampling.step = 1e-3;
  options.sampling.max_steps = 1;
  fan = run_fan(scene, options);
  write_fan(folder / "failed.h5", scene, fan);
  const hdf5::Reader in(folder / "failed.h5");
  EXPECT_EQ(in.integers("/branches/status", {5}), std::vector<int>(5, 1));
  EXPECT_NE(in.strings("/branches/failure", {5})[0].find("still approach"), std::string::npos);
  fan.q.keep(4);
  EXPECT_THROW(write_fan(folder / "wrong.h5", scene, fan), InputError);
  EXPECT_THROW(write_fan(folder / "no/fan.h5", scene, fan), InputError);
  EXPECT_EQ(folder.count(), 2);
}

}  // namespace
}  // namespace scree
