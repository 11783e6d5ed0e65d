// Classical fourth-order Runge-Kutta on the forward dynamics: explicit, the reference for small steps.
#include "integrators/runge_kutta.h"
#include "integrators/substeps.h"
#include "integrators/workspace.h"

namespace scree {
namespace {

// From q, v at `time` over h; leaves the end in ws.rk4.
bool runge_kutta(const Control& control, double time, double h, const Eigen::VectorXd& q0, const Eigen::VectorXd& v0,
                 StepWorkspace::Impl& ws) {
  constexpr double kStageTime[] = {0, 0.5, 0.5, 1};
  constexpr double kStageWeight[] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
  auto& [q, v, q_rate, v_rate, q_start, v_start] = ws.rk4;
  for (int stage = 0; stage < 4; ++stage) {
    q = q0;
    v = v0;
    if (stage > 0) {
      q += h * kStageTime[stage] * q_rate.col(stage - 1);
      v += h * kStageTime[stage] * v_rate.col(stage - 1);
    }
    if (!forward_rates(control, time + h * kStageTime[stage], q, v, ws, q_rate.col(stage), v_rate.col(stage)))
      return false;
  }
  q = q0;
  v = v0;
  for (int stage = 0; stage < 4; ++stage) {
    q += h * kStageWeight[stage] * q_rate.col(stage);
    v += h * kStageWeight[stage] * v_rate.col(stage);
  }
  normalize_quaternions(tree_of(ws.model), q.data());
  return q.allFinite() && v.allFinite();
}

// The same with dry friction in joints: in parts, each of which ends where a joint stops or starts.     theory (5.12)
bool runge_kutta_in_parts(const Control& control, double time, double h, StepWorkspace::Impl& ws) {
  constexpr int kMostTries = 200;
  constexpr double kShortest = 1e-9;  // of h: what cannot be cut any shorter
  Rk4Scratch& c = ws.rk4;
  double done = 0, part = h;
  for (int tries = 0; tries < kMostTries; ++tries) {
    if (!begin_stiction(control, time + done, c.q_start, c.v_start, ws)) return false;
    const double start = ws.stiction.margin(c.v_start);
    if (!runge_kutta(control, time + done, part, c.q_start, c.v_start, ws)) return false;
    if (!forward_rates(control, time + done + part, c.q, c.v, ws, c.q_rate.col(0), c.v_rate.col(0))) return false;
    const double end = ws.stiction.margin(c.v);
    if (end < -1 && part > kShortest * h) {
      part = Stiction::shorten(part, start, end);
      continue;
    }
    done += part;
    if (done >= h) return true;
    c.q_start = c.q;
    c.v_start = c.v;
    part = h - done;
  }
  return false;
}

}  // namespace

SubstepResult substep_rk4(const Control& control, double h, State& state, StepWorkspace::Impl& ws) {
  if (ws.stiction.none()) {
    if (!runge_kutta(control, state.time, h, state.q, state.v, ws)) return {};
  } else {
    ws.rk4.q_start = state.q;
    ws.rk4.v_start = state.v;
    if (!runge_kutta_in_parts(control, state.time, h, ws)) return {};
  }
  state.q = ws.rk4.q;
  state.v = ws.rk4.v;
  state.body_rates.clear();
  SubstepResult result;
  result.converged = true;
  result.residual = 0;
  return result;
}

}  // namespace scree
