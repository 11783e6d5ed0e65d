#include "integrators/linearised.h"

namespace scree {
namespace {

JointStage linearised_stage(const State& state, double h, const StepWorkspace::Impl& ws) {
  return {state.q.data(), ws.linearised.zero.data(), state.v.data(), h, ws.linearised.sides.data()};
}

}  // namespace

void start_sides(const Control& control, const StepOptions& options, double h, const State& state,
                 StepWorkspace::Impl& ws) {
  ws.direction = h * state.v;
  ws.joint_friction.find(ws.direction.data(), ws.linearised.zero.data(), h);
  if (options.explicit_pd) return;
  ws.joint_forces.find_sides(control, linearised_stage(state, h, ws), ws.direction.data(), ws.linearised.sides.data());
}

bool change_sides(const Control& control, const StepOptions& options, double h, const State& state,
                  StepWorkspace::Impl& ws) {
  const bool slides = ws.joint_friction.move(ws.delta.data(), ws.linearised.zero.data(), h);
  const bool pulls = !options.explicit_pd && ws.joint_forces.move_sides(control, linearised_stage(state, h, ws),
                                                                        ws.delta.data(), ws.linearised.sides.data());
  return slides || pulls;
}

const Eigen::MatrixXd& solve_linearised(const Control& control, const StepOptions& options, double h,
                                        const State& state, StepWorkspace::Impl& ws, const Eigen::VectorXd* v_forces) {
  const Model& model = ws.model;
  const Eigen::VectorXd& v = v_forces ? *v_forces : state.v;
  ws.dynamics.set_position(state.q);
  const Eigen::MatrixXd& M = ws.dynamics.mass_matrix();  // with rotor inertia
  ws.dynamics.bias_force(v, ws.world.gravity, ws.gradient);
  ws.jacobian = M / (h * h);
  ws.gradient.noalias() -= (1 / h) * M * state.v;  // a factor behind the product would allocate it
  if (options.explicit_pd) {
    ws.joint_forces.explicit_force(control, state.q.data(), v.data(), ws.force.data());
    ws.gradient -= ws.force;
  } else {
    ws.find_joint_hessian(control, linearised_stage(state, h, ws), ws.linearised.zero.data(), ws.gradient.data());
    for (int a = 0; a < model.nv(); ++a) {  // rotor inertia is in M already
      const double armature = tree_of(model).armature[static_cast<size_t>(a)];
      ws.gradient(a) += armature * state.v(a) / h;
      ws.joint_hessian(a, a) -= armature / (h * h);
    }
    ws.add_joint_hessian(true);
  }
  for (const JointFriction::Dry& joint : ws.joint_friction.joints()) {
    const int a = joint.dof;
    const Potential<double> dry = dry_friction<double>(0, h, joint.friction, ws.joint_friction.sides()[a]);
    ws.gradient(a) += dry.slope;
    ws.jacobian(a, a) += dry.curvature;
  }
  if (!v_forces) ws.lu.compute(ws.jacobian);
  ws.delta = ws.lu.solve(ws.gradient);
  ws.delta = -ws.delta;
  return M;
}

const Kinematics<double>& start_pose(double h, const State& state, StepWorkspace::Impl& ws) {
  ws.newton_euler.begin(state, h, ws.world.gravity);
  ws.direction.setZero();
  ws.newton_euler.set_trial(ws.direction.data());
  return ws.newton_euler.trial();
}

bool exploded(double h, const StepWorkspace::Impl& ws) { return !(ws.delta.array().abs() < 1e6 * h).all(); }

void accept_linearised(double h, const StepWorkspace::Impl& ws, State& state) {
  apply_displacement(tree_of(ws.model), ws.delta.data(), state.q.data());
  state.v = ws.delta / h;
  state.body_rates.clear();
}

}  // namespace scree
