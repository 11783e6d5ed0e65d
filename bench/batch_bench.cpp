// Steps of many trajectories in lanes, one thread: time per step of one trajectory, with the iterations and the
// residual they bought. Every repetition runs the same trajectories.
#include <benchmark/benchmark.h>

#include <random>

#include "scree/batch.h"
#include "scree/scene.h"
#include "support/paths.h"

namespace scree {
namespace {

constexpr size_t kTrajectories = 64, kSteps = 40;

void batch_of(benchmark::State& state, const Scene& scene) {
  BatchOptions options;
  options.step = scene.options;
  options.duration = scene.options.dt * static_cast<double>(kSteps);
  options.lanes = static_cast<int>(state.range(0));
  options.threads = 1;
  if (options.lanes > batch_lanes({})) return state.SkipWithError("this processor has fewer lanes");
  BatchSimulation batch(scene.model, scene.world, options);
  const auto source = [&](size_t index, Trajectory& trajectory) {
    std::mt19937_64 generator(index);
    std::normal_distribution<double> normal(0, 0.1);  // [m/s, rad/s]
    trajectory.q = scene.q0;
    trajectory.v = scene.v0;
    for (double& v : trajectory.v) v += normal(generator);
    trajectory.control = scene.control;
    trajectory.smooth = scene.world.smooth;
  };
  double iterations = 0, rejected = 0, residual = 0;
  bool complete = true;
  for (auto _ : state) {
    iterations = rejected = 0;
    batch.run(0, kTrajectories, source, [&](size_t, TrajectoryResult& result) {
      iterations += static_cast<double>(result.iterations);
      rejected += static_cast<double>(result.rejected);
      residual = std::max(residual, result.residual);
      complete = complete && result.status == TrajectoryStatus::complete;
      return true;
    });
  }
  if (!complete) return state.SkipWithError("a trajectory did not end");
  constexpr double kAll = static_cast<double>(kTrajectories * kSteps);
  state.counters["time_per_step"] =
      benchmark::Counter(kAll, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["x_real_time"] =
      benchmark::Counter(kAll * scene.options.dt, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["iterations"] = iterations / kAll;
  state.counters["rejected"] = rejected / kAll;
  state.counters["residual"] = residual;
}

SceneOverrides at(IntegratorType integrator, double dt) {
  SceneOverrides overrides;
  overrides.integrator = integrator;
  overrides.dt = dt;
  return overrides;
}

// Falls by 0.1 m on flat ground.
void BatchChain(benchmark::State& state, IntegratorType integrator) {
  Scene scene = load_scene(source_dir() + "/bench/scenes/robosimian-squat.toml", at(integrator, 0.01));
  scene.model = load_urdf(source_dir() + "/models/chain-floating-2d.urdf");
  scene.world = {};
  scene.world.add(plane_collider({0, 0, 0}, {0, 0, 1}));
  scene.world.add(contact_candidates(scene.model, ContactCandidates::named));
  scene.control = Control(scene.model);
  scene.q0 = scene.model.neutral_position();
  scene.q0(1) = 0.15;  // [m]
  scene.v0 = Eigen::VectorXd::Zero(scene.model.nv());
  batch_of(state, scene);
}

void BatchRobosimianSquat(benchmark::State& state, IntegratorType integrator) {
  Scene scene = load_scene(source_dir() + "/bench/scenes/robosimian-squat.toml", at(integrator, 0.02));
  scene.world.smooth.depth = 0.0157;  // [m]
  batch_of(state, scene);
}

#define SCREE_LANES(function, name, integrator) \
  BENCHMARK_CAPTURE(function, name, IntegratorType::integrator)->ArgName("lanes")->Arg(1)->Arg(4)->Arg(8)
SCREE_LANES(BatchChain, pbfd, pbfd);
SCREE_LANES(BatchChain, pbfd_coulomb, pbfd_coulomb);
SCREE_LANES(BatchChain, pbfd_coulomb2, pbfd_coulomb2);
SCREE_LANES(BatchRobosimianSquat, pbfd, pbfd);
SCREE_LANES(BatchRobosimianSquat, pbfd_coulomb, pbfd_coulomb);
SCREE_LANES(BatchRobosimianSquat, pbfd_coulomb2, pbfd_coulomb2);

}  // namespace
}  // namespace scree
