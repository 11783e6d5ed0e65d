#include "dynamics/newton_euler.h"

namespace scree {

NewtonEuler::NewtonEuler(const Tree& tree)
    : tree_(tree),
      kinematics_(tree),
      zero_(static_cast<size_t>(tree.nv)),
      V_(tree.nodes.size()),
      A_(tree.nodes.size()),
      F_(tree.nodes.size()),
      sigma_(tree.nodes.size()),
      M_(Eigen::MatrixXd::Zero(tree.nv, tree.nv)),
      factor_(tree.nv, tree.nv),
      bias_(tree.nv) {}

void NewtonEuler::set_position(const double* q) {
  kinematics_.origin = root_position(tree_, q);
  forward_kinematics(tree_, q, zero_.data(), kinematics_);
}

void NewtonEuler::inverse_dynamics(const double* v, const double* vdot, const V3<double>& gravity, double* tau) {
  // Root to leaves: V = V_P + xi v, A = A_P + xi vdot + (V_before x xi) v, starting from A = -gravity.   theory (6.1)
  for (size_t i = 0; i < tree_.nodes.size(); ++i) {
    const Node& node = tree_.nodes[i];
    Twist<double> V = {{0, 0, 0}, {0, 0, 0}}, A = {{0, 0, 0}, -gravity};
    if (node.parent >= 0) {
      V = V_[static_cast<size_t>(node.parent)];
      A = A_[static_cast<size_t>(node.parent)];
    }
    // The axes of a chart turn with the body: their common rate is V_before x (sum of xi v), so one sum serves.
    const bool chart = node.motion == Motion::ball || node.motion == Motion::floating;
    const int end = node.v_index + node.nv, chart_begin = chart ? end - 3 : end;
    for (int a = node.v_index; a < chart_begin; ++a) {
      const Twist<double>& xi = kinematics_.xi[static_cast<size_t>(a)];
      A += vdot[a] * xi + v[a] * cross(V, xi);
      V += v[a] * xi;
    }
    if (chart) {
      Twist<double> W = {{0, 0, 0}, {0, 0, 0}};
      for (int a = chart_begin; a < end; ++a) {
        A += vdot[a] * kinematics_.xi[static_cast<size_t>(a)];
        W += v[a] * kinematics_.xi[static_cast<size_t>(a)];
      }
      A += cross(V, W);
      V += W;
    }
    V_[i] = V;
    A_[i] = A;
    const SecondMoment<double> M = world_second_moment(node.S, kinematics_.R[i], kinematics_.p[i]);
    F_[i] = M * A + cross_dual(V, M * V);  // theory (6.2)
  }
  // Leaves to root: tau_a = xi_a . F^c                                                                    theory (6.3)
  for (size_t i = tree_.nodes.size(); i-- > 0;) {
    const Node& node = tree_.nodes[i];
    for (int a = node.v_index; a < node.v_index + node.nv; ++a)
      tau[a] = dot(kinematics_.xi[static_cast<size_t>(a)], F_[i]) + tree_.armature[static_cast<size_t>(a)] * vdot[a];
    if (node.parent >= 0) F_[static_cast<size_t>(node.parent)] += F_[i];
  }
}

const Eigen::MatrixXd& NewtonEuler::mass_matrix() {
  accumulate_second_moments(tree_, kinematics_, sigma_);
  for (size_t i = 0; i < tree_.nodes.size(); ++i) {
    const Node& node = tree_.nodes[i];
    for (int b = node.v_index; b < node.v_index + node.nv; ++b) {
      const Wrench<double> y = sigma_[i] * kinematics_.xi[static_cast<size_t>(b)];
      for (int a = b; a >= 0; a = tree_.dof_parent[static_cast<size_t>(a)])
        M_(a, b) = dot(kinematics_.xi[static_cast<size_t>(a)], y);
      M_(b, b) += tree_.armature[static_cast<size_t>(b)];
    }
  }
  return M_;
}

bool NewtonEuler::forward_dynamics(const double* v, const double* tau, const V3<double>& gravity, double* vdot) {
  inverse_dynamics(v, zero_.data(), gravity, bias_.data());
  factor_ = mass_matrix();
  const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>, Eigen::Upper> cholesky(factor_);
  if (cholesky.info() != Eigen::Success) return false;
  Eigen::Map<Eigen::VectorXd> x(vdot, tree_.nv);
  x = Eigen::Map<const Eigen::VectorXd>(tau, tree_.nv) - bias_;
  cholesky.solveInPlace(x);
  return x.allFinite();
}

const std::vector<Twist<double>>& NewtonEuler::body_twists(const double* v) {
  for (size_t i = 0; i < tree_.nodes.size(); ++i) {
    const Node& node = tree_.nodes[i];
    Twist<double> V = {{0, 0, 0}, {0, 0, 0}};
    if (node.parent >= 0) V = V_[static_cast<size_t>(node.parent)];
    for (int a = node.v_index; a < node.v_index + node.nv; ++a) V += v[a] * kinematics_.xi[static_cast<size_t>(a)];
    V_[i] = V;
  }
  return V_;
}

double NewtonEuler::kinetic_energy(const double* v) {
  body_twists(v);
  double energy = 0;
  for (size_t i = 0; i < tree_.nodes.size(); ++i)
    energy += 0.5 * dot(V_[i], world_second_moment(tree_.nodes[i].S, kinematics_.R[i], kinematics_.p[i]) * V_[i]);
  for (int a = 0; a < tree_.nv; ++a) energy += 0.5 * tree_.armature[static_cast<size_t>(a)] * v[a] * v[a];
  return energy;
}

double NewtonEuler::gravity_energy(const V3<double>& gravity) const {
  double energy = 0;
  for (size_t i = 0; i < tree_.nodes.size(); ++i) {
    const SecondMoment<double>& S = tree_.nodes[i].S;
    energy -= dot(gravity, kinematics_.R[i] * S.b + S.m * (kinematics_.p[i] + kinematics_.origin));
  }
  return energy;
}

}  // namespace scree
