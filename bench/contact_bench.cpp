// Robots in contact: simulated seconds per wall second on one core, with the error beside it.
//
//   Walk    Robosimian in the plane, 10 s: error of the distance
//   Squat   Robosimian in space, 4 s: largest error of the torso's height over the range of its motion
//
// Both against the motion that pbd-nmdp2 at 1 ms comes to, in per cent. `stages` are the problems solved per simulated
// second, `outer` the quadratic programs per stage. Ratios between rows of one run are what counts: machines are noisy.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "scree/simulation.h"
#include "scree/urdf.h"
#include "support/paths.h"

namespace scree {
namespace {

struct Task {
  const char *name, *model, *motion;
  double duration;  // [s]
  int track;        // the coordinate watched
  bool end_only;    // its value at the end counts, not its course
};
constexpr Task kWalk = {"Walk", "robosimian-planar", "robosimian-walk", 10, 0, true};
constexpr Task kSquat = {"Squat", "robosimian-spatial", "robosimian-squat", 4, 2, false};

struct Setup {
  IntegratorType integrator;
  double dt;        // [s]
  double accuracy;  // [m]
  ContactSolver solver = ContactSolver::newton;
};

class Runner {
 public:
  Runner(const Task& task, const Setup& setup)
      : task_(task), simulation_(simulation_of(task, setup)), q_(simulation_.state().q), v_(simulation_.state().v) {
    const Model& model = simulation_.model();
    Control& control = simulation_.control();
    control.motion =
        std::make_shared<Motion>(load_motion(fmt::format("{}/motions/{}.toml", source_dir(), task.motion), model));
    for (const Joint& joint : model.joints()) {
      if (velocity_count(joint.type) != 1) continue;
      control.kp(joint.v_index) = 1000;
      control.kd(joint.v_index) = 1;
    }
    Eigen::VectorXd rate = v_;
    control.motion->sample(0, q_, rate);
    steps_ = static_cast<int>(std::lround(task.duration / setup.dt));
  }

  // One run; the track at every 50 ms that a step ends at.
  bool run() {
    simulation_.set_state(q_, v_);
    track_.clear();
    for (int k = 1; k <= steps_; ++k) {
      const StepReport report = simulation_.step();
      if (!report.converged()) return false;
      stages_ += report.stages;
      outer_ += report.outer;
      residual_ = std::max(residual_, report.residual);
      const double time = simulation_.state().time;
      if (std::abs(std::remainder(time, 0.05)) < 1e-9)
        track_[static_cast<int>(std::lround(time / 0.05))] = simulation_.state().q(task_.track);
    }
    ++runs_;
    return true;
  }

  const std::map<int, double>& track() const { return track_; }
  double stages() const { return static_cast<double>(stages_) / runs_ / task_.duration; }
  double outer() const { return stages_ > 0 ? static_cast<double>(outer_) / static_cast<double>(stages_) : 1; }
  double residual() const { return residual_; }

 private:
  static Simulation simulation_of(const Task& task, const Setup& setup) {
    const Model model = load_urdf(fmt::format("{}/models/{}.urdf", source_dir(), task.model));
    World world;
    world.add(plane_collider(Vec3(0, 0, -0.8), Vec3::UnitZ()));
    world.add(contact_candidates(model, ContactCandidates::named));
    CoulombOptions law;
    law.depth = 0.0157;
    world.law = make_coulomb(law);
    StepOptions options{.integrator = setup.integrator, .dt = setup.dt};
    options.accuracy = setup.accuracy;
    options.solver = setup.solver;
    options.explicit_pd = false;
    return Simulation(model, world, options);
  }

  const Task& task_;
  Simulation simulation_;
  Eigen::VectorXd q_, v_;
  int steps_ = 0, runs_ = 0;
  long stages_ = 0, outer_ = 0;
  double residual_ = 0;
  std::map<int, double> track_;
};

const std::map<int, double>& truth(const Task& task) {
  static std::map<const char*, std::map<int, double>> known;
  if (!known.contains(task.name)) {
    Runner runner(task, {IntegratorType::pbd_nmdp2, 0.001, 1e-5});
    if (!runner.run()) std::abort();
    known[task.name] = runner.track();
  }
  return known[task.name];
}

double error(const Task& task, const std::map<int, double>& track) {  // [%]
  const std::map<int, double>& exact = truth(task);
  if (task.end_only) return 100 * std::abs(track.rbegin()->second / exact.rbegin()->second - 1);
  double low = exact.begin()->second, high = low, largest = 0;
  for (const auto& [time, value] : exact) {
    low = std::min(low, value);
    high = std::max(high, value);
    if (track.contains(time)) largest = std::max(largest, std::abs(track.at(time) - value));
  }
  return 100 * largest / (high - low);
}

void simulate(benchmark::State& state, const Task& task, const Setup& setup) {
  Runner runner(task, setup);
  for (auto _ : state)
    if (!runner.run()) return state.SkipWithError("step did not converge");
  state.counters["x_real_time"] = benchmark::Counter(task.duration, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["error_percent"] = error(task, runner.track());
  state.counters["stages"] = runner.stages();
  state.counters["outer"] = runner.outer();
  state.counters["residual"] = runner.residual();
}

const bool kRegistered = [] {
  constexpr Setup kSetups[] = {
      {IntegratorType::pbd_nmdp2, 0.05, 1e-4},
      {IntegratorType::pbd_nmdp2, 0.05, 1e-3},
      {IntegratorType::pbd_nmdp2, 0.02, 1e-3},
      {IntegratorType::pbd_nmdp2, 0.02, 0},
      {IntegratorType::pbd_nmdp2, 0.02, 0, ContactSolver::pgm},
      {IntegratorType::ne_nmdp2, 0.02, 1e-3},
      {IntegratorType::pbd_nmdp, 0.05, 0},
      {IntegratorType::pbd_nmdp, 0.05, 0, ContactSolver::pgm},
      {IntegratorType::ne_mdp, 0.05, 0},  // linearised, implicit PD: the baseline
      {IntegratorType::ne_mdp, 0.01, 0},
      {IntegratorType::ne_mdp, 0.002, 0},
  };
  for (const Task* task : {&kWalk, &kSquat})
    for (const Setup& setup : kSetups) {
      const bool pgm = setup.solver == ContactSolver::pgm;
      std::string name = fmt::format("{}/{}{}/{:g}_ms", task->name, integrator_name(setup.integrator),
                                     pgm ? "_pgm" : "", 1e3 * setup.dt);
      if (estimates_error(setup.integrator)) name += fmt::format("/accuracy_{:g}_mm", 1e3 * setup.accuracy);
      benchmark::RegisterBenchmark(name.c_str(), simulate, *task, setup)->Unit(benchmark::kMillisecond);
    }
  return true;
}();

}  // namespace
}  // namespace scree
