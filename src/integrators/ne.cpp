// Newton-Euler backward Euler in body velocities without contact.                                     theory (7.2)
//
//   M(q) (v - v_n)/h + C(q, v) = joint forces(q, v),   q = q_n (+) h v
//
// solved for delta = h v by Newton's method. The Jacobian is not symmetric, so LU, and a line search on the residual.
#include "integrators/backward_euler.h"

namespace scree {
namespace {

struct NewtonEulerEquations {
  static constexpr double kShortest = 1e-3;
  const Control& control;
  StepWorkspace::Impl& ws;

  void evaluate(const Eigen::VectorXd& delta, Eigen::VectorXd& forces) {
    ws.newton_euler.set_trial(delta.data());
    ws.newton_euler.residual(forces.data());
    double potential = 0;  // the joint forces have one, the inertia does not
    ws.joint_forces.add_implicit(control, joint_stage(ws.newton_euler, ws.joint_friction.sides()), delta.data(),
                                 potential, forces.data(), nullptr);
  }

  void differentiate() {
    ws.newton_euler.jacobian(ws.jacobian.data());
    ws.residual_scale.measure(tree_of(ws.model), ws.newton_euler);
    ws.find_joint_hessian(control, joint_stage(ws.newton_euler, ws.joint_friction.sides()), ws.delta.data(),
                          ws.trial_gradient.data());
    ws.residual_scale.add_joints(ws.joint_hessian);
    ws.add_joint_hessian(true);
  }

  // -J^-1 r, unless J is numerically singular.
  bool find_direction() {
    ws.lu.compute(ws.jacobian);
    const auto pivots = ws.lu.matrixLU().diagonal().cwiseAbs();
    if (!(pivots.minCoeff() > 1e-14 * pivots.maxCoeff())) return false;
    ws.direction = ws.lu.solve(ws.gradient);
    ws.direction = -ws.direction;
    return ws.direction.allFinite();
  }

  bool improves(double fraction, const Residual& before, const Residual& trial) const {
    return trial.small || trial.largest < (1 - 1e-4 * fraction) * before.largest;
  }
  void accept() {}
};

}  // namespace

SubstepResult substep_ne(const Control& control, const StepOptions& options, double h, State& state,
                         StepWorkspace::Impl& ws) {
  NewtonEulerEquations equations{control, ws};
  return backward_euler(equations, ws.newton_euler, options, h, state, ws);
}

}  // namespace scree
