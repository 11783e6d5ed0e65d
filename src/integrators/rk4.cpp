// Classical fourth-order Runge-Kutta on the forward dynamics: explicit, the reference for small steps.
#include "integrators/runge_kutta.h"
#include "integrators/substeps.h"
#include "integrators/workspace.h"

namespace scree {

SubstepResult substep_rk4(const Control& control, double h, State& state, StepWorkspace::Impl& ws) {
  constexpr double kStageTime[] = {0, 0.5, 0.5, 1};
  constexpr double kStageWeight[] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
  auto& [q, v, q_rate, v_rate] = ws.rk4;
  for (int stage = 0; stage < 4; ++stage) {
    q = state.q;
    v = state.v;
    if (stage > 0) {
      q += h * kStageTime[stage] * q_rate.col(stage - 1);
      v += h * kStageTime[stage] * v_rate.col(stage - 1);
    }
    const double time = state.time + h * kStageTime[stage];
    if (!forward_rates(control, time, q, v, ws, q_rate.col(stage), v_rate.col(stage))) return {};
  }
  q = state.q;
  v = state.v;
  for (int stage = 0; stage < 4; ++stage) {
    q += h * kStageWeight[stage] * q_rate.col(stage);
    v += h * kStageWeight[stage] * v_rate.col(stage);
  }
  normalize_quaternions(tree_of(ws.model), q.data());
  if (!q.allFinite() || !v.allFinite()) return {};
  state.q = q;
  state.v = v;
  state.body_rates.clear();
  SubstepResult result;
  result.converged = true;
  result.residual = 0;
  return result;
}

}  // namespace scree
