// Classical fourth-order Runge-Kutta on the forward dynamics: explicit, the reference for small steps.
#include "integrators/workspace.h"
#include "math/rotation.h"

namespace scree {
// qdot of v: the rates of positions; for quaternions qdot = q (0, w) / 2 with w in body axes.          theory (1.9)
void position_rate(const Tree& tree, const double* q, const double* v, double* rate) {
  for (const Node& node : tree.nodes) {
    const double *qi = q + node.q_index, *vi = v + node.v_index;
    double* ri = rate + node.q_index;
    const bool chart = has_chart(node);
    const int translations = chart ? node.nv - 3 : node.nv;
    for (int k = 0; k < translations; ++k) ri[k] = vi[k];
    if (!chart) continue;
    const UnitQuaternion w = {0, 0.5 * vi[translations], 0.5 * vi[translations + 1], 0.5 * vi[translations + 2]};
    store_quaternion(load_quaternion(qi + translations) * w, ri + translations);
  }
}

// Quaternions leave the unit sphere by O(h^5) a step; putting them back does not change the order.
void normalize_quaternions(const Tree& tree, double* q) {
  for (const Node& node : tree.nodes) {
    if (!has_chart(node)) continue;
    double* at = q + node.q_index + node.nv - 3;
    store_quaternion(normalized(load_quaternion(at)), at);
  }
}

SubstepResult substep_rk4(const Control& control, const StepOptions& options, double h, State& state,
                          StepWorkspace::Impl& ws) {
  constexpr double kStageTime[] = {0, 0.5, 0.5, 1};
  constexpr double kStageWeight[] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
  const Tree& tree = tree_of(ws.model);
  for (int stage = 0; stage < 4; ++stage) {
    ws.q_stage = state.q;
    ws.v_stage = state.v;
    if (stage > 0) {
      ws.q_stage += h * kStageTime[stage] * ws.q_rate.col(stage - 1);
      ws.v_stage += h * kStageTime[stage] * ws.v_rate.col(stage - 1);
    }
    position_rate(tree, ws.q_stage.data(), ws.v_stage.data(), ws.q_rate.col(stage).data());
    const Control& now = ws.control_at(control, state.time + h * kStageTime[stage]);
    ws.joint_forces.explicit_force(now, ws.q_stage.data(), ws.v_stage.data(), ws.force.data());
    ws.dynamics.set_position(ws.q_stage);
    if (!ws.dynamics.forward_dynamics(ws.v_stage, ws.force, options.gravity, ws.v_rate.col(stage))) return {};
  }
  ws.q_stage = state.q;
  ws.v_stage = state.v;
  for (int stage = 0; stage < 4; ++stage) {
    ws.q_stage += h * kStageWeight[stage] * ws.q_rate.col(stage);
    ws.v_stage += h * kStageWeight[stage] * ws.v_rate.col(stage);
  }
  normalize_quaternions(tree, ws.q_stage.data());
  if (!ws.q_stage.allFinite() || !ws.v_stage.allFinite()) return {};
  state.q = ws.q_stage;
  state.v = ws.v_stage;
  state.body_rates.clear();
  SubstepResult result;
  result.converged = true;
  result.residual = 0;
  return result;
}

}  // namespace scree
