// Newton-Euler backward Euler in body velocities without contact.                                     theory (7.2)
//
//   M(q) (v - v_n)/h + C(q, v) = joint forces(q, v),   q = q_n (+) h v
//
// solved for delta = h v by Newton's method. The Jacobian is not symmetric, so LU, and a line search on the residual.
#include <cmath>

#include "integrators/residual.h"

namespace scree {
namespace {

using Impl = StepWorkspace::Impl;

void evaluate(const Control& control, const Eigen::VectorXd& delta, Eigen::VectorXd& forces, Impl& ws) {
  ws.newton_euler.set_trial(delta.data());
  ws.newton_euler.residual(forces.data());
  double potential = 0;  // the joint forces have one, the inertia does not
  ws.joint_forces.add_implicit(control, joint_stage(ws.newton_euler), delta.data(), potential, forces.data(), nullptr);
}

void evaluate_jacobian(const Control& control, double h, Impl& ws) {
  ws.newton_euler.jacobian(ws.jacobian.data());
  set_residual_scale(ws.newton_euler, h, ws);
  ws.find_joint_hessian(control, joint_stage(ws.newton_euler), ws.delta.data(), ws.trial_gradient.data());
  add_joint_rounding(ws);
  ws.add_joint_hessian(true);
}

// -J^-1 r, unless J is numerically singular.
bool newton_direction(Impl& ws) {
  ws.lu.compute(ws.jacobian);
  const auto pivots = ws.lu.matrixLU().diagonal().cwiseAbs();
  if (!(pivots.minCoeff() > 1e-14 * pivots.maxCoeff())) return false;
  ws.direction = ws.lu.solve(ws.gradient);
  ws.direction = -ws.direction;
  return ws.direction.allFinite();
}

}  // namespace

SubstepResult substep_ne(const Control& control, const StepOptions& options, double h, State& state, Impl& ws) {
  ws.newton_euler.begin(state, h, options.gravity);
  ws.delta = h * state.v;
  evaluate(control, ws.delta, ws.gradient, ws);
  evaluate_jacobian(control, h, ws);
  Residual residual = residual_of(ws.gradient, options.tolerance, ws);

  SubstepResult result;
  while (!residual.small) {
    result.residual = residual.largest;
    if (result.iterations == options.max_iterations || !newton_direction(ws)) return result;
    ++result.iterations;
    bool accepted = false;
    for (double fraction = 1; fraction > 1e-3 && !accepted; fraction *= 0.5) {
      ws.trial_delta = ws.delta + fraction * ws.direction;
      evaluate(control, ws.trial_delta, ws.trial_gradient, ws);
      const Residual trial = residual_of(ws.trial_gradient, options.tolerance, ws);
      accepted = trial.small || trial.largest < (1 - 1e-4 * fraction) * residual.largest;
      if (accepted) {
        residual = trial;
        ws.delta.swap(ws.trial_delta);
        ws.gradient.swap(ws.trial_gradient);
      }
    }
    if (!accepted) return result;
    if (!residual.small) evaluate_jacobian(control, h, ws);
  }
  if (!within_chart(tree_of(ws.model), ws.newton_euler.trial())) return result;

  if (!ws.newton_euler.accept(state)) return result;
  result.residual = residual.largest;
  result.converged = true;
  return result;
}

}  // namespace scree
