// A trajectory has the same bits alone, in any number of lanes and threads, and beside trajectories that fail.
#include "scree/batch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "integrators/lanes.h"
#include "run/schedule.h"
#include "scree/error.h"
#include "scree/height_field_file.h"
#include "scree/simulation.h"
#include "support/contact_robots.h"
#include "support/mechanisms.h"
#include "support/paths.h"
#include "support/random_tree.h"

namespace scree {
namespace {

using test::Random;

struct Case {
  Case(std::string name_, Model model_) : name(std::move(name_)), model(std::move(model_)) {}
  std::string name;
  Model model;
  World world;
  std::vector<Trajectory> trajectories;
};

void add_trajectory(Case& on, const State& state, const Control& control, Random& random) {
  Trajectory trajectory{state.q, state.v, control, on.world.surface.friction, on.world.smooth};
  trajectory.friction = test::uniform(random, 0.2, 1.2);
  trajectory.smooth.depth = test::uniform(random, 0.003, 0.01);
  trajectory.smooth.speed = test::uniform(random, 0.05, 0.3);
  on.trajectories.push_back(trajectory);
}

// A free-floating robot that walks against steps; its targets move.
Case spider_on_steps() {
  test::ContactRobot robot("spider-spatial");
  robot.walk();
  Case result("spider on steps", robot.model);
  result.world = robot.world;
  result.world.add(stairs_colliders({Mat3::Identity(), Vec3(0.1, 0, robot.floor)}, {3, 0.04, 0.3, 2}));
  Random random(1);
  for (int i = 0; i < 11; ++i) {
    State state = robot.random_state(random);
    state.q(robot.height_index()) += 0.06;
    add_trajectory(result, state, robot.control, random);
  }
  return result;
}

// Ball, planar, prismatic and revolute joints under control, on a plane.
Case all_joints() {
  const std::filesystem::path file = source_dir() + "/tests/data/scenes/joints.urdf";
  Case result("all joints", load_urdf(file));
  const Model& model = result.model;
  result.world.add(plane_collider({0, 0, -0.6}, Vec3::UnitZ()));
  result.world.add(point_collider(model.find_body("hand"), Vec3(0, 0, -0.05), 0.05, "hand"));
  result.world.add(point_collider(model.find_body("trunk"), Vec3(0.2, 0, 0), 0.01, "trunk"));
  Random random(2);
  for (int i = 0; i < 13; ++i) {
    Control control(model);
    for (const Joint& joint : model.joints())
      if (joint.type != JointType::floating && joint.type != JointType::planar) {
        control.kp.segment(joint.v_index, velocity_count(joint.type)).setConstant(20 + i);
        control.kd.segment(joint.v_index, velocity_count(joint.type)).setConstant(1);
      }
    Eigen::VectorXd q = model.neutral_position(), v(model.nv());
    for (double& value : v) value = test::uniform(random, -1, 1);
    q(2) = test::uniform(random, 0.2, 0.4);  // [m] the hand hangs 0.75 m below the trunk
    add_trajectory(result, make_state(model, q, v), control, random);
  }
  return result;
}

// Joints that stick and slide, and a foot that is held by them.
Case rubbing_spider() {
  Case result = spider_on_steps();
  result.name = "rubbing spider";
  result.model = test::with_friction(result.model, [](const Joint& joint) { return joint.v_index % 2 ? 0.5 : 20.0; });
  return result;
}

Case box_on_hills() {
  Case result("box on hills", load_urdf(source_dir() + "/models/box.urdf"));
  HeightFieldOptions options;
  options.origin = Eigen::Vector2d(-3, -3);
  options.spacing = 0.5;
  result.world.add(height_field_collider(
      std::make_shared<const HeightField>(load_height_field(source_dir() + "/examples/scenes/hills.csv", options))));
  result.world.add(contact_candidates(result.model, ContactCandidates::automatic));
  Random random(3);
  for (int i = 0; i < 13; ++i) {
    Eigen::VectorXd q = result.model.neutral_position(), v(result.model.nv());
    for (double& value : v) value = test::uniform(random, -1, 1);
    q(0) = test::uniform(random, -1, 1);
    q(2) = 0.4 - distance(result.world.colliders[0], Vec3(q(0), 0, 0)).value;
    add_trajectory(result, make_state(result.model, q, v), Control(result.model), random);
  }
  return result;
}

using Results = std::vector<TrajectoryResult>;

Results run_in(const Case& on, const BatchOptions& options) {
  BatchSimulation batch(on.model, on.world, options);
  Results results(on.trajectories.size());
  EXPECT_TRUE(batch.run(
      0, results.size(), [&](size_t i, Trajectory& trajectory) { trajectory = on.trajectories[i]; },
      [&](size_t i, TrajectoryResult& result) {
        results[i] = std::move(result);
        return true;
      }));
  return results;
}

// The same trajectory with step(), alone, as scree sim does it: row k at k dt.
TrajectoryResult run_alone(const Model& model, const World& world, const Trajectory& trajectory,
                           const BatchOptions& options) {
  World own = world;
  own.surface.friction = trajectory.friction;
  own.smooth = trajectory.smooth;
  StepWorkspace workspace(model, own);
  State state = make_state(model, trajectory.q, trajectory.v);
  const Schedule schedule(options.step.dt, options.duration);
  TrajectoryResult result;
  const auto record = [&] {
    result.q.append(state.q);
    result.v.append(state.v);
  };
  if (options.rows_every > 0) record();
  StepOptions step_options = options.step;
  result.status = TrajectoryStatus::complete;
  for (size_t k = 1; k <= schedule.steps; ++k) {
    step_options.dt = schedule.step(k);
    const StepReport report = step(model, trajectory.control, step_options, state, workspace);
    result.iterations += report.iterations;
    if (!report.converged()) {
      result.status = TrajectoryStatus::step_failed;
      break;
    }
    state.time = schedule.time(k);
    result.substeps += report.substeps;
    result.residual = std::max(result.residual, report.residual);
    result.penetration = std::max(result.penetration, report.penetration);
    ++result.steps;
    if (k == schedule.steps || (options.rows_every > 0 && k % static_cast<size_t>(options.rows_every) == 0)) record();
  }
  result.end_time = state.time;
  result.final_state_hash = state_hash(state);
  return result;
}

bool same_bits(const Table& x, const Table& y) {
  const std::vector<double>&a = x.numbers(), &b = y.numbers();
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

void expect_same(const Results& expected, const Results& found, const std::string& where) {
  ASSERT_EQ(expected.size(), found.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(expected[i].status, found[i].status) << where << ", trajectory " << i << ": " << found[i].failure;
    EXPECT_EQ(expected[i].final_state_hash, found[i].final_state_hash) << where << ", trajectory " << i;
    EXPECT_TRUE(same_bits(expected[i].q, found[i].q) && same_bits(expected[i].v, found[i].v))
        << where << ", trajectory " << i;
    EXPECT_EQ(expected[i].steps, found[i].steps) << where << ", trajectory " << i;
    EXPECT_EQ(expected[i].substeps, found[i].substeps) << where << ", trajectory " << i;
    EXPECT_EQ(expected[i].iterations, found[i].iterations) << where << ", trajectory " << i;
    EXPECT_EQ(expected[i].end_time, found[i].end_time) << where << ", trajectory " << i;
    EXPECT_EQ(expected[i].residual, found[i].residual) << where << ", trajectory " << i;
    EXPECT_EQ(expected[i].penetration, found[i].penetration) << where << ", trajectory " << i;
  }
}

std::vector<int> known_lanes() {
  std::vector<int> lanes;
  for (const int n : {1, 4, 8})
    if (has_lanes(n))
      lanes.push_back(n);
    else
      std::printf("this processor has no %d lanes: not tested\n", n);
  return lanes;
}

class BatchOf : public testing::TestWithParam<Case (*)()> {};

TEST_P(BatchOf, TrajectoriesHasTheBitsOfSingleRunsInAnyLanesAndThreads) {
  const Case on = GetParam()();
  for (const IntegratorType integrator :
       {IntegratorType::pbfd, IntegratorType::pbfd_coulomb, IntegratorType::pbfd2, IntegratorType::pbfd_coulomb2}) {
    BatchOptions options;
    options.step.integrator = integrator;
    options.step.dt = 0.02;
    options.duration = 0.25;  // the last step is cut short
    options.rows_every = 4;
    options.max_penetration = 1;
    Results alone;
    double deepest = 0;
    for (const Trajectory& trajectory : on.trajectories) {
      alone.push_back(run_alone(on.model, on.world, trajectory, options));
      deepest = std::max(deepest, alone.back().penetration);
    }
    EXPECT_GT(deepest, 1e-3) << on.name << ": nothing touches the ground";
    for (const int lanes : known_lanes())
      for (const int threads : {1, 2, 3, 0}) {  // 0: all there are
        options.lanes = lanes;
        options.threads = threads;
        expect_same(alone, run_in(on, options),
                    on.name + ", " + integrator_name(integrator) + ", lanes " + std::to_string(lanes) + ", threads " +
                        std::to_string(threads));
      }
  }
}

std::string case_name(const testing::TestParamInfo<Case (*)()>& info) {
  static const char* const names[] = {"spider_on_steps", "all_joints", "box_on_hills", "rubbing_spider"};
  return names[info.index];
}
INSTANTIATE_TEST_SUITE_P(All, BatchOf, testing::Values(spider_on_steps, all_joints, box_on_hills, rubbing_spider),
                         case_name);

// --- impossible trajectories ---------------------------------------------------------------------------------------

struct Impossible {
  const char* name;
  TrajectoryStatus status;
  const char* message;
  void (*spoil)(Trajectory&);
};
const double kNan = std::numeric_limits<double>::quiet_NaN();
const Impossible kImpossible[] = {
    {"NaN position", TrajectoryStatus::invalid, "base", [](Trajectory& t) { t.q(1) = kNan; }},
    {"infinite velocity", TrajectoryStatus::invalid, "base",
     [](Trajectory& t) { t.v(3) = std::numeric_limits<double>::infinity(); }},
    {"quaternion of length 2", TrajectoryStatus::invalid, "base", [](Trajectory& t) { t.q.tail<4>() *= 2; }},
    {"too few positions", TrajectoryStatus::invalid, "7", [](Trajectory& t) { t.q.conservativeResize(6); }},
    {"a metre under ground", TrajectoryStatus::invalid, "m in the ground", [](Trajectory& t) { t.q(2) -= 1; }},
    {"negative friction", TrajectoryStatus::invalid, "friction", [](Trajectory& t) { t.friction = -1; }},
    {"NaN depth", TrajectoryStatus::invalid, "depth", [](Trajectory& t) { t.smooth.depth = kNan; }},
    {"another exponent", TrajectoryStatus::invalid, "exponents", [](Trajectory& t) { t.smooth.normal_exponent = 3; }},
    {"negative gain", TrajectoryStatus::invalid, "kp", [](Trajectory& t) { t.control.kp(0) = -1; }},
    {"1e6 rad/s", TrajectoryStatus::step_failed, "did not converge", [](Trajectory& t) { t.v(4) = 1e6; }},
};

TEST(Batch, ReportsImpossibleTrajectoriesAmongTenThousandAndDisturbsNoOther) {
  const Model model = load_urdf(source_dir() + "/models/box.urdf");
  World world;
  world.add(plane_collider(Vec3::Zero(), Vec3::UnitZ()));
  world.add(contact_candidates(model, ContactCandidates::automatic));
  BatchOptions options;
  options.step.integrator = IntegratorType::pbfd_coulomb;
  options.step.dt = 0.02;
  options.duration = 0.1;
  options.threads = 2;
  const size_t count = 10000;
  const auto impossible = [](size_t i) -> const Impossible* {  // every 37th, alternating
    return i % 37 == 5 ? &kImpossible[i / 37 % std::size(kImpossible)] : nullptr;
  };
  const auto source = [&](size_t i, Trajectory& trajectory) {
    Random random(static_cast<unsigned>(i));
    trajectory.q(2) = test::uniform(random, 0.24, 0.26);
    for (double& value : trajectory.v) value = test::uniform(random, -1, 1);
    trajectory.friction = test::uniform(random, 0.1, 1);
    if (const Impossible* what = impossible(i)) what->spoil(trajectory);
  };
  const auto run = [&](int lanes) {
    options.lanes = lanes;
    BatchSimulation batch(model, world, options);
    Results results(count);
    std::set<size_t> seen;
    EXPECT_TRUE(batch.run(0, count, source, [&](size_t i, TrajectoryResult& result) {
      EXPECT_TRUE(seen.insert(i).second) << i << " came twice";
      results[i] = std::move(result);
      return true;
    }));
    EXPECT_EQ(seen.size(), count);
    return results;
  };
  const Results results = run(0);
  size_t spoilt = 0;
  for (size_t i = 0; i < count; ++i) {
    const Impossible* what = impossible(i);
    if (!what) {
      EXPECT_EQ(results[i].status, TrajectoryStatus::complete) << i << ": " << results[i].failure;
      EXPECT_EQ(results[i].failure, "");
      EXPECT_EQ(results[i].end_time, 0.1);
      EXPECT_EQ(results[i].rows(), 1u);
      continue;
    }
    ++spoilt;
    EXPECT_EQ(results[i].status, what->status) << what->name << ": " << results[i].failure;
    EXPECT_NE(results[i].failure.find(what->message), std::string::npos) << what->name << ": " << results[i].failure;
    EXPECT_EQ(results[i].steps, 0) << what->name;
    EXPECT_EQ(results[i].rows(), what->status == TrajectoryStatus::invalid ? 0u : 1u) << what->name;
  }
  EXPECT_EQ(spoilt, 271u);
  expect_same(results, run(1), "one lane");
  // Those before and after an impossible one, and others, against step() alone.
  const BatchSimulation fresh(model, world, options);
  for (size_t i = 0; i < count; i += i % 37 == 4 ? 2 : i % 37 == 6 ? 170 : 1) {
    if (i % 37 != 4 && i % 37 != 6) continue;
    Trajectory trajectory = fresh.trajectory();
    source(i, trajectory);
    EXPECT_EQ(results[i].final_state_hash, run_alone(model, world, trajectory, options).final_state_hash) << i;
  }
}

// --- what the caller sees ------------------------------------------------------------------------------------------

struct FallingBox : testing::Test {
  FallingBox() : model(load_urdf(source_dir() + "/models/box.urdf")) {
    options.step.integrator = IntegratorType::pbfd;
    options.duration = 0.05;
    options.threads = 2;
  }
  const Model model;
  BatchOptions options;
};

TEST_F(FallingBox, SourceGetsAFreshTrajectoryEveryTime) {
  BatchSimulation batch(model, {}, options);
  std::atomic<int> stale = 0;
  EXPECT_TRUE(batch.run(
      0, 100,
      [&](size_t, Trajectory& trajectory) {
        if (trajectory.q != model.neutral_position() || !trajectory.v.isZero(0) || trajectory.friction != 0.7) ++stale;
        trajectory.q(0) = 5;
        trajectory.v(1) = 1;
        trajectory.friction = 0.1;
      },
      [](size_t, TrajectoryResult&) { return true; }));
  EXPECT_EQ(stale, 0);
}

TEST_F(FallingBox, StopsWhenTheSinkSaysSo) {
  BatchSimulation batch(model, {}, options);
  int taken = 0;
  EXPECT_FALSE(batch.run(
      0, 100000, [](size_t, Trajectory&) {}, [&](size_t, TrajectoryResult&) { return ++taken < 3; }));
  EXPECT_EQ(taken, 3);
}

// In the middle of trajectories that would take hours.
TEST_F(FallingBox, StopsBetweenStepsWhenAsked) {
  options.duration = 1e5;
  BatchSimulation batch(model, {}, options);
  std::atomic<int> steps = 0;
  EXPECT_FALSE(batch.run(
      0, 1000, [](size_t, Trajectory&) {},
      [](size_t, TrajectoryResult&) {
        ADD_FAILURE() << "none ended";
        return true;
      },
      [&] { return ++steps > 100; }));
}

TEST_F(FallingBox, ExceptionsOfSourceAndSinkComeThrough) {
  BatchSimulation batch(model, {}, options);
  const auto nothing = [](size_t, TrajectoryResult&) { return true; };
  EXPECT_THROW(batch.run(
                   0, 1000,
                   [](size_t i, Trajectory&) {
                     if (i == 500) throw std::runtime_error("source");
                   },
                   nothing),
               std::runtime_error);
  EXPECT_THROW(
      batch.run(
          0, 1000, [](size_t, Trajectory&) {}, [](size_t, TrajectoryResult&) -> bool { throw InputError("sink"); }),
      InputError);
  EXPECT_TRUE(batch.run(
      0, 10, [](size_t, Trajectory&) {}, nothing))
      << "usable afterwards";
}

TEST_F(FallingBox, FallsAsBackwardEulerSaysAndRowsAreAtTheirTimes) {
  options.step.dt = 0.01;
  options.duration = 0.045;
  options.rows_every = 2;
  BatchSimulation batch(model, {}, options);
  EXPECT_EQ(batch.steps(), 5u);
  EXPECT_EQ(batch.times(), (std::vector<double>{0, 0.02, 0.04, 0.045}));
  EXPECT_TRUE(batch.run(
      3, 4, [](size_t i, Trajectory& trajectory) { trajectory.q(2) = i == 3 ? 2 : 1; },
      [&](size_t, TrajectoryResult& result) {
        EXPECT_EQ(result.rows(), 4u);
        // v_k = -g t_k and z_k = z_0 + sum h_j v_j, to rounding and the tolerance of a step, 1e-8 m/s^2 times 0.05 s
        EXPECT_NEAR(result.v(3, 2), -9.81 * 0.045, 1e-9);
        EXPECT_NEAR(result.q(2, 2), 2 - 9.81 * 1e-4 * (1 + 2 + 3 + 4), 1e-9);
        return true;
      }));
}

TEST_F(FallingBox, RefusesOptionsOutOfRange) {
  const auto refused = [&](auto change, const std::string& expected) {
    BatchOptions bad = options;
    change(bad);
    try {
      BatchSimulation(model, {}, bad);
      ADD_FAILURE() << expected << ": accepted";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
    }
  };
  refused([](BatchOptions& o) { o.lanes = 3; }, "lanes is 3, expected 0, 1, 4 or 8");
  refused([](BatchOptions& o) { o.threads = -1; }, "threads is -1");
  refused([](BatchOptions& o) { o.duration = 0; }, "duration is 0");
  refused([](BatchOptions& o) { o.rows_every = -1; }, "rows_every is -1");
  refused([](BatchOptions& o) { o.max_penetration = kNan; }, "max_penetration is nan");
  refused([](BatchOptions& o) { o.step.integrator = IntegratorType::pbd_nmdp2; }, "\"pbd-nmdp2\" has no lanes");
  refused([](BatchOptions& o) { o.step.optimizer = Optimizer::lbfgs; }, "\"lbfgs\" has no lanes");
}

}  // namespace
}  // namespace scree
