#include "integrators/runge_kutta.h"

#include "integrators/workspace.h"
#include "math/rotation.h"

namespace scree {

void position_rate(const Tree& tree, const double* q, const double* v, double* rate) {
  for (const Node& node : tree.nodes) {
    if (node.follows) continue;
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

bool forward_rates(const Control& control, double time, const Eigen::VectorXd& q, const Eigen::VectorXd& v,
                   StepWorkspace::Impl& ws, Eigen::Ref<Eigen::VectorXd> q_rate, Eigen::Ref<Eigen::VectorXd> v_rate) {
  position_rate(tree_of(ws.model), q.data(), v.data(), q_rate.data());
  ws.joint_forces.explicit_force(ws.control_at(control, time), q.data(), v.data(), ws.force.data());
  ws.dynamics.set_position(q);
  if (!ws.stiction.none()) return ws.stiction.accelerate(ws.dynamics, ws.world.gravity, v, ws.force, v_rate);
  return ws.dynamics.forward_dynamics(v, ws.force, ws.world.gravity, v_rate);
}

bool begin_stiction(const Control& control, double time, const Eigen::VectorXd& q, Eigen::VectorXd& v,
                    StepWorkspace::Impl& ws) {
  if (ws.stiction.none()) return true;
  ws.joint_forces.explicit_force(ws.control_at(control, time), q.data(), v.data(), ws.force.data());
  ws.dynamics.set_position(q);
  return ws.stiction.begin(ws.dynamics, ws.world.gravity, ws.force, v);
}

void normalize_quaternions(const Tree& tree, double* q) {
  for (const Node& node : tree.nodes) {
    if (!has_chart(node)) continue;
    double* at = q + node.q_index + node.nv - 3;
    store_quaternion(normalized(load_quaternion(at)), at);
  }
}

}  // namespace scree
