// scree's dynamics beside Pinocchio's in one run, C++ against C++, same compiler and optimisation, one core. Each call
// starts from q: kinematics are part of every time. Repetitions are interleaved at random and their medians compared;
// of Pinocchio's variants (base joint, axes of the recursion) the fastest counts. `difference` is relative to the size
// of the result. Options of google-benchmark apply; --benchmark_out=FILE keeps every repetition.
#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <map>

#include "peers/pinocchio_peer.h"
#include "scree/dynamics.h"
#include "scree/urdf.h"
#include "support/mechanisms.h"
#include "support/paths.h"
#include "support/random_tree.h"

namespace scree::bench {
namespace {

const std::vector<std::pair<Function, std::string>> kFunctions = {{Function::inverse_dynamics, "inverse dynamics"},
                                                                  {Function::mass_matrix, "mass matrix"},
                                                                  {Function::forward_dynamics, "forward dynamics"},
                                                                  {Function::derivatives, "derivatives"}};

// A floating base with five limbs of six hinges about coordinate axes.
Model humanoid() {
  test::Random random(1);
  ModelBuilder builder("humanoid");
  const auto add = [&](const std::string& name, const std::string& parent, JointType type) {
    Body body;
    body.name = name;
    test::set_inertia(body, test::random_points(random));
    Joint joint;
    joint.name = name + "_joint";
    joint.type = type;
    joint.axis = Vec3::Unit(std::uniform_int_distribution<int>(0, 2)(random));
    if (type != JointType::floating) joint.X_PJ = {test::random_rotation(random), test::random_vector(random, 0.3)};
    builder.add_body(body, parent, joint);
  };
  add("base", "world", JointType::floating);
  for (int i = 0; i < 30; ++i)
    add("link" + std::to_string(i), i % 6 ? "link" + std::to_string(i - 1) : "base", JointType::continuous);
  return builder.build();
}

struct Robot {
  Robot(std::string given_name, Model given_model)
      : name(std::move(given_name)), model(std::move(given_model)), dynamics(model) {
    test::Random random(2);
    motion = {test::random_position(random, model), test::random_velocity(random, model),
              test::random_velocity(random, model, 5), test::random_velocity(random, model, 10), Vec3(0, 0, -9.81)};
    force = acceleration = Eigen::VectorXd::Zero(model.nv());
    if (PinocchioPeer::memory(model.nv()) > 1e9) return;
    for (const bool free_flyer : {false, true}) {
      if (free_flyer && model.joints().front().type != JointType::floating) continue;
      peers.push_back(std::make_unique<PinocchioPeer>(model, free_flyer));
      peers.back()->set_motion(motion);
    }
  }
  PinocchioPeer* peer(bool free_flyer) const {  // null if there is none
    return peers.size() > (free_flyer ? 1u : 0u) ? peers[free_flyer].get() : nullptr;
  }
  void run(Function function) {
    dynamics.set_position(motion.q);
    switch (function) {
      case Function::inverse_dynamics:
        dynamics.inverse_dynamics(motion.v, motion.vdot, motion.gravity, force);
        break;
      case Function::mass_matrix:
        dynamics.mass_matrix();
        break;
      case Function::forward_dynamics:
        if (!dynamics.forward_dynamics(motion.v, motion.tau, motion.gravity, acceleration)) acceleration.setZero();
        break;
      case Function::derivatives:
        dynamics.inverse_dynamics_derivatives(motion.v, motion.vdot, motion.gravity);
        break;
    }
  }
  std::vector<Eigen::MatrixXd> result(Function function) {
    run(function);
    switch (function) {
      case Function::inverse_dynamics:
        return {force};
      case Function::mass_matrix:
        return {dynamics.mass_matrix()};
      case Function::forward_dynamics:
        return {acceleration};
      case Function::derivatives:
        break;
    }
    const auto& by = dynamics.inverse_dynamics_derivatives(motion.v, motion.vdot, motion.gravity);
    return {by.by_q, by.by_v, by.by_vdot};
  }

  std::string name;
  Model model;
  Dynamics dynamics;
  Motion motion;
  Eigen::VectorXd force, acceleration;
  std::vector<std::unique_ptr<PinocchioPeer>> peers;  // base as translation and ball; as free flyer
};

double difference(const std::vector<Eigen::MatrixXd>& ours, const std::vector<Eigen::MatrixXd>& theirs, int first) {
  double worst = 0;
  for (size_t k = 0; k < ours.size(); ++k) {
    const Eigen::Index rows = ours[k].rows() - first, cols = ours[k].cols() == 1 ? 1 : ours[k].cols() - first;
    const auto a = ours[k].bottomRightCorner(rows, cols), b = theirs[k].bottomRightCorner(rows, cols);
    worst = std::max(worst, (a - b).cwiseAbs().maxCoeff() / b.cwiseAbs().maxCoeff());
  }
  return worst;
}

// One way to ask Pinocchio for a function.
struct Variant {
  bool free_flyer;
  bool world_axes;
  std::string name;
};
const std::vector<Variant> kVariants = {{false, false, "joint axes"},
                                        {false, true, "world axes"},
                                        {true, false, "free flyer, joint axes"},
                                        {true, true, "free flyer, world axes"}};

std::vector<Variant> variants(const Robot& robot, Function function) {
  const bool has_axes = function == Function::mass_matrix || function == Function::forward_dynamics;
  std::vector<Variant> list;
  for (const Variant& variant : kVariants)
    if (robot.peer(variant.free_flyer) && (has_axes || !variant.world_axes)) list.push_back(variant);
  return list;
}

std::string benchmark_name(const Robot& robot, const std::string& function, const std::string& variant) {
  return robot.name + "/" + function + "/" + variant;
}

void time_scree(benchmark::State& state, Robot& robot, Function function) {
  for (auto _ : state) {
    robot.run(function);
    benchmark::ClobberMemory();
  }
}

void time_pinocchio(benchmark::State& state, Robot& robot, Function function, const Variant& variant) {
  PinocchioPeer& peer = *robot.peer(variant.free_flyer);
  for (auto _ : state) {
    peer.run(function, variant.world_axes);
    benchmark::ClobberMemory();
  }
  state.counters["difference"] = difference(robot.result(function), peer.result(function), peer.first_common_dof());
}

void add_benchmarks(Robot& robot) {
  for (const auto& entry : kFunctions) {
    const Function function = entry.first;
    benchmark::RegisterBenchmark(benchmark_name(robot, entry.second, "scree").c_str(),
                                 [&robot, function](benchmark::State& state) { time_scree(state, robot, function); });
    for (const Variant& variant : variants(robot, function))
      benchmark::RegisterBenchmark(
          benchmark_name(robot, entry.second, variant.name).c_str(),
          [&robot, function, variant](benchmark::State& state) { time_pinocchio(state, robot, function, variant); });
  }
}

// Keeps the medians; print_ratios says the rest.
class Reporter : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.aggregate_name != "median") continue;
      const auto counter = run.counters.find("difference");
      median[run.run_name.function_name] = {run.GetAdjustedCPUTime() / 1e3,
                                            counter == run.counters.end() ? 0 : counter->second.value};
    }
  }
  struct Median {
    double time;  // [us]
    double difference;
  };
  std::map<std::string, Median> median;
};

void print_ratios(const std::vector<std::unique_ptr<Robot>>& robots, const Reporter& reporter) {
  fmt::print("\n| robot | function | scree [us] | Pinocchio [us] | scree/Pinocchio | difference | fastest variant |\n");
  fmt::print("| --- | --- | ---: | ---: | ---: | ---: | --- |\n");
  for (const auto& robot : robots) {
    for (const auto& [function, name] : kFunctions) {
      const auto ours = reporter.median.find(benchmark_name(*robot, name, "scree"));
      if (ours == reporter.median.end()) continue;  // filtered out
      fmt::print("| {} | {} | {:.2f} |", robot->name, name, ours->second.time);
      const Reporter::Median* best = nullptr;
      std::string best_name;
      for (const Variant& variant : variants(*robot, function)) {
        const auto theirs = reporter.median.find(benchmark_name(*robot, name, variant.name));
        if (theirs == reporter.median.end() || (best && best->time <= theirs->second.time)) continue;
        best = &theirs->second;
        best_name = variant.name;
      }
      if (best)
        fmt::print(" {:.2f} | {:.2f} | {:.1e} | {} |\n", best->time, ours->second.time / best->time, best->difference,
                   best_name);
      else
        fmt::print(" - | - | - | needs {:.0f} GB |\n", PinocchioPeer::memory(robot->model.nv()) / 1e9);
    }
  }
}

int run(int argc, char** argv) {
  std::string program = "scree_bench_pinocchio", repetitions = "--benchmark_repetitions=15",
              interleaved = "--benchmark_enable_random_interleaving=true", time = "--benchmark_min_time=0.02";
  std::vector<char*> arguments = {program.data(), repetitions.data(), interleaved.data(), time.data()};
  arguments.insert(arguments.end(), argv + 1, argv + argc);  // the command line wins
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;

  std::vector<std::unique_ptr<Robot>> robots;
  robots.push_back(std::make_unique<Robot>("robosimian", load_urdf(source_dir() + "/models/robosimian.urdf")));
  robots.push_back(std::make_unique<Robot>("humanoid", humanoid()));
  for (const int links : {10, 100, 300, 1000})
    robots.push_back(std::make_unique<Robot>("chain of " + std::to_string(links), test::chain(links)));
  for (const auto& robot : robots) add_benchmarks(*robot);
  fmt::print(stderr, "scree_bench_pinocchio: about a minute\n");
  Reporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  print_ratios(robots, reporter);
  return 0;
}

}  // namespace
}  // namespace scree::bench

int main(int argc, char** argv) {
  try {
    return scree::bench::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "scree_bench_pinocchio: {}\n", error.what());
    return 2;
  }
}
