// Whole steps: simulated seconds per wall second, with the Newton iterations and the residual they bought. The state is
// restored every 50 steps, so that every repetition does the same work.
#include <benchmark/benchmark.h>

#include <ctime>

#include "scree/simulation.h"
#include "scree/urdf.h"
#include "support/mechanisms.h"
#include "support/paths.h"

namespace scree {
namespace {

void step_of(benchmark::State& state, const Model& model, const StepOptions& options, double kp, double kd) {
  Simulation s(model, options);
  for (const Joint& joint : model.joints()) {
    if (velocity_count(joint.type) != 1) continue;
    s.control().kp(joint.v_index) = kp;
    s.control().kd(joint.v_index) = kd;
    s.control().target(joint.q_index) = 0.4;
  }
  const Eigen::VectorXd q = s.state().q, v = s.state().v;
  long steps = 0, iterations = 0;
  double residual = 0;
  for (auto _ : state) {
    if (steps++ % 50 == 0) s.set_state(q, v);
    const StepReport report = s.step();
    if (!report.converged()) return state.SkipWithError("step did not converge");
    iterations += report.iterations;
    residual = std::max(residual, report.residual);
  }
  state.counters["x_real_time"] = benchmark::Counter(options.dt, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["iterations"] = static_cast<double>(iterations) / static_cast<double>(steps);
  state.counters["residual"] = residual;
}

void PbdRobosimian(benchmark::State& state) {
  step_of(state, load_urdf(source_dir() + "/models/robosimian.urdf"),
          StepOptions{.dt = static_cast<double>(state.range(0)) * 1e-3}, 500, 20);
}
void Rk4Robosimian(benchmark::State& state) {
  step_of(state, load_urdf(source_dir() + "/models/robosimian.urdf"),
          StepOptions{.integrator = IntegratorType::rk4, .dt = 2e-4}, 500, 20);  // 0.3 ms is unstable
}
void NeRobosimian(benchmark::State& state) {
  step_of(state, load_urdf(source_dir() + "/models/robosimian.urdf"),
          StepOptions{.integrator = IntegratorType::ne, .dt = static_cast<double>(state.range(0)) * 1e-3}, 500, 20);
}
void PbdChain(benchmark::State& state) {
  step_of(state, test::chain(static_cast<int>(state.range(0))), StepOptions{.dt = 0.01}, 1, 0.1);
}

// The default integrator on a long chain in the air, and `of_pbd`: its processor time over that of pbd, by turns in the
// same run. Two steps from the same state, as what is new in a first step counts for both.
void DefaultChain(benchmark::State& state) {
  const Model model = test::chain(static_cast<int>(state.range(0)), 0.2);
  const Control control(model);
  StepWorkspace workspace(model);
  StepOptions options{.dt = 0.01};
  Eigen::VectorXd q = model.neutral_position();
  q(0) = 0.3;
  int iterations = 0;
  const auto seconds = [&](IntegratorType integrator) {
    options.integrator = integrator;
    State at = make_state(model);
    at.q = q;
    iterations = 0;
    const std::clock_t start = std::clock();
    for (int k = 0; k < 2; ++k) {
      const StepReport report = step(model, control, options, at, workspace);
      if (!report.converged()) state.SkipWithError("step did not converge");
      iterations += report.iterations;
    }
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  seconds(IntegratorType::pbd), seconds(IntegratorType::pbd_nmdp2);  // memory is touched for the first time
  double pbd = 0, own = 0;
  for (auto _ : state) {
    pbd += seconds(IntegratorType::pbd);
    const double time = seconds(IntegratorType::pbd_nmdp2);
    own += time;
    state.SetIterationTime(time);
  }
  state.counters["of_pbd"] = own / pbd;
  state.counters["iterations"] = iterations;
}

BENCHMARK(PbdRobosimian)->ArgName("dt_ms")->Arg(1)->Arg(10)->Arg(50);
BENCHMARK(NeRobosimian)->ArgName("dt_ms")->Arg(1)->Arg(10)->Arg(50);
BENCHMARK(Rk4Robosimian);
BENCHMARK(PbdChain)->ArgName("links")->Arg(10)->Arg(100);
BENCHMARK(DefaultChain)->ArgName("links")->Arg(200)->Arg(400)->Arg(800)->UseManualTime();

}  // namespace
}  // namespace scree
