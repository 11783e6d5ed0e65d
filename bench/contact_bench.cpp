// Walking: simulated seconds per wall second of the integrators with contact, with the distance the robot gets in ten
// seconds beside it. The converged distance is 3.5 m.
#include <benchmark/benchmark.h>

#include "scree/simulation.h"
#include "scree/urdf.h"

namespace scree {
namespace {

void walk(benchmark::State& state, IntegratorType integrator, Dissipation dissipation) {
  constexpr double kDuration = 10;  // [s]
  const Model model = load_urdf(SCREE_SOURCE_DIR "/models/robosimian-planar.urdf");
  ContactWorld world;
  world.environment.add_plane(Vec3(0, 0, -0.8), Vec3::UnitZ());
  world.points = contact_candidates(model, ContactCandidates::named);
  CoulombOptions law;
  law.depth = 0.0157;
  world.law = make_coulomb(law);
  StepOptions options{.integrator = integrator, .dt = static_cast<double>(state.range(0)) * 1e-3};
  options.dissipation = dissipation;
  Simulation s(model, world, options);
  s.control().motion = std::make_shared<Motion>(load_motion(SCREE_SOURCE_DIR "/motions/robosimian-walk.toml", model));
  s.control().kp.tail(12).setConstant(1000);
  s.control().kd.tail(12).setConstant(1);
  Eigen::VectorXd q = s.state().q, v = s.state().v, rate = v;
  s.control().motion->sample(0, q, rate);

  const int steps = static_cast<int>(kDuration / options.dt + 0.5);
  long outer = 0, taken = 0;
  double residual = 0;
  for (auto _ : state) {
    s.set_state(q, v);
    for (int k = 0; k < steps; ++k) {
      const StepReport report = s.step();
      if (!report.converged()) return state.SkipWithError("step did not converge");
      outer += report.outer;
      residual = std::max(residual, report.residual);
    }
    taken += steps;
  }
  state.counters["x_real_time"] = benchmark::Counter(kDuration, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["outer"] = static_cast<double>(outer) / static_cast<double>(taken);
  state.counters["distance_m"] = s.state().q(0);
  state.counters["residual"] = residual;
}

void NeNmdp(benchmark::State& state) { walk(state, IntegratorType::ne_nmdp, Dissipation::contact); }
void NeNmdpEffective(benchmark::State& state) { walk(state, IntegratorType::ne_nmdp, Dissipation::effective); }
void NeZonmdp(benchmark::State& state) { walk(state, IntegratorType::ne_zonmdp, Dissipation::effective); }
void PbdNmdp(benchmark::State& state) { walk(state, IntegratorType::pbd_nmdp, Dissipation::contact); }
void NeMdp(benchmark::State& state) { walk(state, IntegratorType::ne_mdp, Dissipation::contact); }

BENCHMARK(NeNmdp)->ArgName("dt_ms")->Arg(5)->Arg(50)->Unit(benchmark::kMillisecond);
BENCHMARK(NeNmdpEffective)->ArgName("dt_ms")->Arg(50)->Unit(benchmark::kMillisecond);
BENCHMARK(NeZonmdp)->ArgName("dt_ms")->Arg(50)->Unit(benchmark::kMillisecond);
BENCHMARK(PbdNmdp)->ArgName("dt_ms")->Arg(5)->Arg(50)->Unit(benchmark::kMillisecond);
BENCHMARK(NeMdp)->ArgName("dt_ms")->Arg(5)->Unit(benchmark::kMillisecond);  // the baseline, within its limit

}  // namespace
}  // namespace scree
