// Position-based backward Euler without contact.                                                    theory section 4
//
//   minimise over delta   I(q (+) delta) + joint potentials(delta),   T^ = T_n + h V_n,  k = 1/h^2        theory (4.1)
//
// by Newton's method with the exact Hessian, shifted towards its Gauss-Newton part (k times the mass matrix, always
// positive definite) where it is not, and a line search on the objective.
#include <cmath>

#include "integrators/residual.h"

namespace scree {
namespace {

using Impl = StepWorkspace::Impl;

// The objective and its gradient at q (+) delta.
double evaluate(const Control& control, const Eigen::VectorXd& delta, Eigen::VectorXd& gradient, Impl& ws) {
  ws.position_based.set_trial(delta.data());
  ws.position_based.residual(gradient.data());
  double value = ws.position_based.objective();
  ws.joint_forces.add_implicit(control, joint_stage(ws.position_based), delta.data(), value, gradient.data(), nullptr);
  return value;
}

// The Hessian of the objective at the pose of the last `evaluate`.
void evaluate_hessian(const Control& control, double h, Impl& ws) {
  ws.position_based.hessian(ws.jacobian.data(), ws.gauss_newton.data());
  set_residual_scale(ws.position_based, h, ws);
  double value = 0;  // and the gradient: not wanted again
  ws.joint_forces.add_implicit(control, joint_stage(ws.position_based), ws.delta.data(), value,
                               ws.trial_gradient.data(), ws.jacobian.data());
}

// Newton direction -(H + shift GN)^-1 g with the smallest shift of 0, 0.01, 0.1, ... that makes the matrix positive
// definite. GN itself is, so large shifts always are, short of a singular mass matrix.
bool newton_direction(Impl& ws) {
  for (double shift = 0, added = 0; shift < 1e9; shift = shift == 0 ? 0.01 : 10 * shift) {
    if (shift > 0) ws.jacobian += (shift - added) * ws.gauss_newton;
    added = shift;
    if (!ws.cholesky.factor(ws.jacobian.data())) continue;
    ws.direction = -ws.gradient;
    ws.cholesky.solve(ws.direction.data());
    if (ws.direction.allFinite() && ws.direction.dot(ws.gradient) < 0) return true;
  }
  return false;
}

}  // namespace

SubstepResult substep_pbd(const Control& control, const StepOptions& options, double h, State& state, Impl& ws) {
  ws.position_based.begin(state, h, options.gravity);
  ws.delta = h * state.v;
  double value = evaluate(control, ws.delta, ws.gradient, ws);
  evaluate_hessian(control, h, ws);
  Residual residual = residual_of(ws.gradient, options.tolerance, ws);

  SubstepResult result;
  while (!residual.small) {
    result.residual = residual.largest;
    if (result.iterations == options.max_iterations || !newton_direction(ws)) return result;
    ++result.iterations;

    // Backtrack until the objective falls enough (Armijo). Its changes drown in rounding near the solution; there the
    // residual must fall instead.
    const double slope = ws.direction.dot(ws.gradient);
    const double noise = 1e-13 * (std::abs(value) + std::abs(slope));
    bool accepted = false;
    for (double fraction = 1; fraction > 1e-6 && !accepted; fraction *= 0.5) {
      ws.trial_delta = ws.delta + fraction * ws.direction;
      const double trial_value = evaluate(control, ws.trial_delta, ws.trial_gradient, ws);
      const Residual trial = residual_of(ws.trial_gradient, options.tolerance, ws);
      accepted = trial_value <= value + 1e-4 * fraction * slope ||
                 (trial_value <= value + noise && (trial.small || trial.largest < residual.largest));
      if (accepted) {
        value = trial_value;
        residual = trial;
        ws.delta.swap(ws.trial_delta);
        ws.gradient.swap(ws.trial_gradient);
      }
    }
    if (!accepted) return result;
    if (!residual.small) evaluate_hessian(control, h, ws);
  }
  if (!within_chart(tree_of(ws.model), ws.position_based.trial())) return result;

  if (!ws.position_based.accept(state)) return result;
  result.residual = residual.largest;
  result.converged = true;
  return result;
}

}  // namespace scree
