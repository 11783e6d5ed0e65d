// Whole steps: simulated seconds per wall second, with the Newton iterations and the residual they bought. The state is
// restored every 50 steps, so that every repetition does the same work.
#include <benchmark/benchmark.h>

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

BENCHMARK(PbdRobosimian)->ArgName("dt_ms")->Arg(1)->Arg(10)->Arg(50);
BENCHMARK(NeRobosimian)->ArgName("dt_ms")->Arg(1)->Arg(10)->Arg(50);
BENCHMARK(Rk4Robosimian);
BENCHMARK(PbdChain)->ArgName("links")->Arg(10)->Arg(100);

}  // namespace
}  // namespace scree
