// A scene as a batch, for bench/peers/mujoco_batch.py: many trajectories that differ in their initial velocities.
//   scree_batch_peer SCENE.toml KEY=VALUE ...
// Keys: integrator, dt [s], duration [s], tolerance [m/s^2], depth [m], normal_exponent, creep [m/s], damping [s/m]
// (of [contact.smooth]), count, lanes, threads, repeats, noise (a text file: `count` rows of nv numbers added to the
// velocities), tracks (a file to write: trajectory,time,x,y,z of the first body every step).
// Prints JSON: wall and processor times of the repetitions [s], all states kept, and what the steps took.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <ctime>
#include <exception>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include "scree/batch.h"
#include "scree/error.h"
#include "scree/scene.h"

namespace {

using scree::InputError;

class Arguments {
 public:
  Arguments(int argc, char** argv) {
    for (int i = 2; i < argc; ++i) {
      const std::string_view text = argv[i];
      const size_t equals = text.find('=');
      if (equals == std::string_view::npos) throw InputError(fmt::format("'{}', expected KEY=VALUE", text));
      values_[std::string(text.substr(0, equals))] = text.substr(equals + 1);
    }
  }
  std::string text(const std::string& key) {
    const auto found = values_.extract(key);
    return found.empty() ? std::string() : found.mapped();
  }
  template <class Number> bool number(const std::string& key, Number& value) {
    const std::string from = text(key);
    if (from.empty()) return false;
    const auto [end, error] = std::from_chars(from.data(), from.data() + from.size(), value);
    if (error != std::errc() || end != from.data() + from.size())
      throw InputError(fmt::format("{}: '{}', expected a number", key, from));
    return true;
  }
  void check_all_used() const {
    if (!values_.empty()) throw InputError(fmt::format("'{}', expected a known key", values_.begin()->first));
  }

 private:
  std::map<std::string, std::string> values_;
};

std::vector<double> read_numbers(const std::string& file, size_t count) {
  std::ifstream stream(file);
  std::vector<double> numbers(count);
  for (double& number : numbers)
    if (!(stream >> number)) throw InputError(fmt::format("{}: expected {} numbers", file, count));
  return numbers;
}

void run(int argc, char** argv) {
  if (argc < 2) throw InputError("expected: SCENE.toml KEY=VALUE ...");
  Arguments arguments(argc, argv);
  scree::SceneOverrides overrides;
  double number = 0;
  if (arguments.number("dt", number)) overrides.dt = number;
  if (arguments.number("duration", number)) overrides.duration = number;
  if (const std::string name = arguments.text("integrator"); !name.empty())
    overrides.integrator = scree::integrator_from_name(name);
  scree::Scene scene = scree::load_scene(argv[1], overrides);
  scree::SmoothContactOptions& smooth = scene.world.smooth;
  if (double depth = 0; arguments.number("depth", depth)) smooth.depth = depth;
  arguments.number("normal_exponent", smooth.normal_exponent);
  arguments.number("creep", smooth.creep);
  arguments.number("damping", smooth.damping);
  scree::BatchOptions options;
  options.step = scene.options;
  options.duration = scene.duration;
  options.rows_every = 1;  // all states are kept, as those of a rollout are
  arguments.number("tolerance", options.step.tolerance);
  arguments.number("lanes", options.lanes);
  arguments.number("threads", options.threads);
  size_t count = 1;
  int repeats = 1;
  arguments.number("count", count);
  arguments.number("repeats", repeats);
  const size_t nv = static_cast<size_t>(scene.model.nv());
  std::vector<double> noise;
  if (const std::string file = arguments.text("noise"); !file.empty()) noise = read_numbers(file, count * nv);
  const std::string tracks = arguments.text("tracks");
  arguments.check_all_used();

  scree::BatchSimulation batch(scene.model, scene.world, options);
  const std::vector<double> times = batch.times();
  const auto source = [&](size_t index, scree::Trajectory& trajectory) {
    trajectory.q = scene.q0;
    trajectory.v = scene.v0;
    trajectory.control = scene.control;
    trajectory.smooth = smooth;
    if (!noise.empty())
      trajectory.v += Eigen::Map<const Eigen::VectorXd>(noise.data() + index * nv, static_cast<Eigen::Index>(nv));
  };
  std::vector<scree::TrajectoryResult> results(count);
  std::vector<double> wall_times, processor_times;
  for (int k = 0; k < repeats; ++k) {
    const auto began = std::chrono::steady_clock::now();
    const std::clock_t processor = std::clock();
    batch.run(0, count, source, [&](size_t index, scree::TrajectoryResult& result) {
      results[index] = std::move(result);
      return true;
    });
    processor_times.push_back(static_cast<double>(std::clock() - processor) / CLOCKS_PER_SEC);
    wall_times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  }

  std::int64_t steps = 0, substeps = 0, iterations = 0, rejected = 0, damped = 0;
  size_t failed = 0;
  double penetration = 0, residual = 0;
  std::string failure;
  for (const scree::TrajectoryResult& result : results) {
    steps += result.steps;
    substeps += result.substeps;
    iterations += result.iterations;
    rejected += result.rejected;
    damped += result.damped;
    penetration = std::max(penetration, result.penetration);
    residual = std::max(residual, result.residual);
    if (result.status == scree::TrajectoryStatus::complete) continue;
    if (failed++ == 0) failure = result.failure;
  }
  if (!tracks.empty()) {
    std::ofstream file(tracks);
    file << "trajectory,time,x,y,z\n";
    for (size_t i = 0; i < count; ++i)
      for (size_t k = 0; k < results[i].rows(); ++k) {
        const auto q = results[i].q.row(k);
        file << fmt::format("{},{},{},{},{}\n", i, times[std::min(k, times.size() - 1)], q(0), q(1), q(2));
      }
    if (!file.flush()) throw InputError(fmt::format("{}: cannot be written", tracks));
  }
  std::vector<std::string> joints;
  for (const scree::Joint& joint : scene.model.joints())
    if (velocity_count(joint.type) == 1) joints.push_back(fmt::format("\"{}\"", joint.name));
  const double per = static_cast<double>(std::max<std::int64_t>(steps, 1));
  fmt::print(
      "{{\"wall_times\": [{}], \"processor_times\": [{}], \"lanes\": {}, \"threads\": {}, \"count\": {}, \"steps\": "
      "{}, \"nv\": {}, \"failed\": "
      "{}, \"failure\": \"{}\", \"iterations_per_step\": {}, \"substeps_per_step\": {}, \"rejected\": {}, "
      "\"damped_per_step\": {}, \"penetration\": {}, \"residual\": {}, \"joints\": [{}]}}\n",
      fmt::join(wall_times, ", "), fmt::join(processor_times, ", "), batch_lanes(options), batch_threads(options),
      count, batch.steps(), nv, failed, failure, static_cast<double>(iterations) / per,
      static_cast<double>(substeps) / per, rejected, static_cast<double>(damped) / per, penetration, residual,
      fmt::join(joints, ", "));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "scree_batch_peer: error: {}\n", error.what());
    return 2;
  }
  return 0;
}
