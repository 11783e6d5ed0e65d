// Position-based backward Euler without contact.                                                    theory section 4
//
//   minimise over delta   I(q (+) delta) + joint potentials(delta),   T^ = T_n + h V_n,  k = 1/h^2        theory (4.1)
//
// by Newton's method with the exact Hessian, shifted towards its Gauss-Newton part (k times the mass matrix, always
// positive definite) where it is not, and a line search on the objective.
#include <cmath>

#include "integrators/backward_euler.h"

namespace scree {
namespace {

struct PositionBasedEquations {
  static constexpr double kShortest = 1e-6;
  const Control& control;
  StepWorkspace::Impl& ws;
  double value = 0, trial_value = 0;  // of the objective
  double slope = 0;                   // along the direction

  void evaluate(const Eigen::VectorXd& delta, Eigen::VectorXd& gradient) {
    ws.position_based.set_trial(delta.data());
    ws.position_based.residual(gradient.data());
    trial_value = ws.position_based.objective();
    ws.joint_forces.add_implicit(control, joint_stage(ws.position_based, ws.joint_friction.sides()), delta.data(),
                                 trial_value, gradient.data(), nullptr);
  }

  void differentiate() {
    ws.position_based.hessian(ws.jacobian.data(), ws.gauss_newton.data());
    ws.residual_scale.measure(tree_of(ws.model), ws.position_based);
    double unwanted = 0;  // and the gradient: not wanted again
    ws.joint_forces.add_implicit(control, joint_stage(ws.position_based, ws.joint_friction.sides()), ws.delta.data(),
                                 unwanted, ws.trial_gradient.data(), ws.jacobian.data());
  }

  // Newton direction -(H + shift GN)^-1 g with the smallest shift of 0, 0.01, 0.1, ... that makes the matrix positive
  // definite. GN itself is, so large shifts always are, short of a singular mass matrix.
  bool find_direction() {
    for (double shift = 0, added = 0; shift < 1e9; shift = shift == 0 ? 0.01 : 10 * shift) {
      if (shift > 0) ws.jacobian += (shift - added) * ws.gauss_newton;
      added = shift;
      if (!ws.cholesky.factor(ws.jacobian.data())) continue;
      ws.direction = -ws.gradient;
      ws.cholesky.solve(ws.direction.data());
      slope = ws.direction.dot(ws.gradient);
      if (ws.direction.allFinite() && slope < 0) return true;
    }
    return false;
  }

  // The objective must fall enough (Armijo). Its changes drown in rounding near the solution; there the residual must
  // fall instead.
  bool improves(double fraction, const Residual& before, const Residual& trial) const {
    const double noise = 1e-13 * (std::abs(value) + std::abs(slope));
    return trial_value <= value + 1e-4 * fraction * slope ||
           (trial_value <= value + noise && (trial.small || trial.largest < before.largest));
  }
  void accept() { value = trial_value; }
};

}  // namespace

SubstepResult substep_pbd(const Control& control, const StepOptions& options, double h, State& state,
                          StepWorkspace::Impl& ws) {
  PositionBasedEquations equations{control, ws};
  return backward_euler(equations, ws.position_based, options, h, state, ws);
}

}  // namespace scree
