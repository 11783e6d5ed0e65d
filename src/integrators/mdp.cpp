// The convex maximal dissipation principle on dynamics linearised at the start of the step: the baseline of the NMDP
// paper (Drumwright and Shell).                                                                         theory (8.11)
//
//   (M/h^2 + U'') delta = M v_n/h - C(q_n, v_n) - U' + sum_x J_x^T v_x(q_n) w_x,     v = delta/h
//   minimise over w  K(v) = 1/2 v.M v, or 1/2 v.(M + h^2 U'') v, or 1/2 sum |J_x v|^2
//
// One quadratic program, no Newton iteration. U collects the joint potentials: of explicit control only rotor inertia,
// of implicit control PD, stops and damping as well, linearised at delta = 0. Bounded PD is linear on either side of
// its bound: a step that ends on another side than it was linearised on is solved again.
// theory (5.7)
#include "integrators/linearised.h"

namespace scree {
namespace {

// The step with contact forces: one quadratic program.
bool solve_mdp(const Control& control, const StepOptions& options, double h, const State& state,
               StepWorkspace::Impl& ws, SubstepResult& result) {
  const Eigen::MatrixXd& M = solve_linearised(control, options, h, state, ws);
  if (!ws.has_contact()) return true;
  ContactScratch& c = ws.contact;
  const Kinematics<double>& start = start_pose(h, state, ws);
  c.set.select(start, 0, true);
  if (!c.dense()) {
    result.reason = "too many points in the ground at once";
    return false;
  }
  c.reserve();
  c.set.evaluate(start);
  c.set.count_touching();
  c.set.load_weights(state.contact_weights, c.w);
  const int W = c.set.weight_count(), rows = 3 * c.set.size();
  auto Z = c.Z.leftCols(W);
  c.set.force_columns(start, Z);
  c.solve_columns(ws.lu);
  if (options.dissipation != Dissipation::contact) {
    // ws.jacobian is the metric of Dissipation::effective, M/h^2 that of Dissipation::total.
    if (options.dissipation == Dissipation::total) ws.jacobian = M / (h * h);
    ws.trial_delta.noalias() = ws.jacobian * ws.delta;
    c.HZ.leftCols(W).noalias() = ws.jacobian * Z;
    c.g.head(W).noalias() = Z.transpose() * ws.trial_delta;
    c.Q().noalias() = Z.transpose() * c.HZ.leftCols(W);
  } else {
    c.set.point_jacobian(start, c.U.topRows(rows));
    c.u.head(rows).noalias() = (1 / h) * c.U.topRows(rows) * ws.delta;
    c.UZ().noalias() = (1 / h) * c.U.topRows(rows) * Z;
    c.g.head(W).noalias() = c.UZ().transpose() * c.u.head(rows);
    c.Q().noalias() = c.UZ().transpose() * c.UZ();
  }
  c.Q_held() = c.Q();
  c.Q_held().diagonal().array() += 1e-12 * (1 + c.Q().trace());
  const SimplexQpReport qp = c.qp.solve(c.set.size(), c.set.vertex_count(), c.Q_held().data(), c.g.data(), c.w.data());
  result.qp_iterations += qp.iterations;
  ++result.outer;
  if (!qp.converged) return false;
  ws.delta.noalias() += Z * c.w.head(W);
  return true;
}

}  // namespace

SubstepResult substep_mdp(const Control& control, const StepOptions& options, double h, State& state,
                          StepWorkspace::Impl& ws) {
  SubstepResult result;
  if (!solve_on_sides(control, options, h, state, ws, result,
                      [&] { return solve_mdp(control, options, h, state, ws, result); }))
    return result;
  if (exploded(h, ws)) return result;
  if (ws.has_contact()) {
    ws.contact.set.report(ws.newton_euler.trial(), ws.contact.w, ws.contacts);
    ws.contact.set.store(ws.contact.w, state);
  }
  accept_linearised(h, ws, state);
  result.converged = true;
  result.residual = 0;
  return result;
}

}  // namespace scree
