#include "dynamics/discretisation.h"

namespace scree {
namespace {

// The rates of [R | p] that v stands for.
void body_rate(const Twist<double>& V, const M3<double>& R, const V3<double>& p, M3<double>& R_rate,
               V3<double>& p_rate) {
  R_rate = {cross(V.w, R.x), cross(V.w, R.y), cross(V.w, R.z)};
  p_rate = V.v + cross(V.w, p);
}

}  // namespace

// --- position based --------------------------------------------------------------------------------------------------

PositionBasedStage::PositionBasedStage(const Model& model)
    : Discretisation(model),
      start_(tree_),
      inertia_(tree_),
      motion_(tree_),
      unused_(static_cast<size_t>(tree_.nv * tree_.nv)) {
  delta_.resize(static_cast<size_t>(tree_.nv));
}

// Where the bodies would go by themselves: T^ = T_n + h V_n.                                              theory (4.2)
void PositionBasedStage::begin(const State& state, double h, const Vec3& gravity) {
  q_ = state.q.data();
  h_ = h;
  start_.origin = trial_.origin = root_position(tree_, q_);
  delta_.assign(delta_.size(), 0);
  forward_kinematics(tree_, q_, delta_.data(), start_);
  inertia_.weight = motion_.weight = 1 / (h * h);
  inertia_.gravity = to_v3(gravity);
  for (size_t i = 0; i < tree_.nodes.size(); ++i) {
    M3<double> R_rate;
    V3<double> p_rate;
    if (!state.body_rates.empty()) {
      R_rate = to_m3(state.body_rates[i].leftCols<3>());
      p_rate = to_v3(state.body_rates[i].col(3));
    } else {  // no history yet: the twist that v stands for
      Twist<double> V = {{0, 0, 0}, {0, 0, 0}};
      for (int a = tree_.last_dof[i]; a >= 0; a = tree_.dof_parent[static_cast<size_t>(a)])
        V += state.v(a) * start_.xi[static_cast<size_t>(a)];
      body_rate(V, start_.R[i], start_.p[i], R_rate, p_rate);
    }
    inertia_.target_R[i] = start_.R[i] + h * R_rate;
    inertia_.target_p[i] = start_.p[i] + h * p_rate;
    motion_.target_R[i] = start_.R[i];
    motion_.target_p[i] = start_.p[i];
  }
}

void PositionBasedStage::set_trial(const double* delta) {
  std::copy(delta, delta + tree_.nv, delta_.begin());
  forward_kinematics(tree_, q_, delta, trial_);
  objective_ = accumulate(tree_, trial_, inertia_);
}

void PositionBasedStage::residual(double* out) { gradient(tree_, trial_, inertia_, out); }

void PositionBasedStage::hessian(double* exact, double* gauss_newton) {
  scree::hessian(tree_, trial_, inertia_, exact, gauss_newton);
}

void PositionBasedStage::jacobian(double* out) {
  hessian(out, unused_.data());
  const size_t n = static_cast<size_t>(tree_.nv);
  for (size_t b = 0; b < n; ++b)
    for (int a = tree_.dof_parent[b]; a >= 0; a = tree_.dof_parent[static_cast<size_t>(a)])
      out[static_cast<size_t>(a) * n + b] = out[b * n + static_cast<size_t>(a)];
}

double PositionBasedStage::kinetic_energy() { return accumulate(tree_, trial_, motion_); }

void PositionBasedStage::kinetic_gradient(double* out) {
  accumulate(tree_, trial_, motion_);
  gradient(tree_, trial_, motion_, out);
}

void PositionBasedStage::kinetic_hessian(double* exact, double* gauss_newton) {
  accumulate(tree_, trial_, motion_);
  scree::hessian(tree_, trial_, motion_, exact, gauss_newton);
}

// (x - T_n T^-1 x) / h: where the point came from.
V3<double> PositionBasedStage::point_velocity(int node, const V3<double>& x) {
  const size_t i = static_cast<size_t>(node);
  const V3<double> from = start_.p[i] + start_.R[i] * transpose_times(trial_.R[i], x - trial_.p[i]);
  return (1 / h_) * (x - from);
}

V3<double> PositionBasedStage::point_velocity_change(int dof, int node, const V3<double>& x, const V3<double>& dx) {
  const size_t i = static_cast<size_t>(node);
  const Twist<double>& xi = trial_.xi[static_cast<size_t>(dof)];
  const V3<double> slide = dx - (xi.v + cross(xi.w, x));  // of x along the body
  return (1 / h_) * (dx - start_.R[i] * transpose_times(trial_.R[i], slide));
}

// q_{n+1} = q_n (+) delta, v = delta/h, V_{n+1} = (T_{n+1} - T_n)/h.                                     theory (4.3)
void PositionBasedStage::accept(State& state) {
  state.body_rates.resize(tree_.nodes.size());
  for (size_t i = 0; i < tree_.nodes.size(); ++i) {
    const M3<double> dR = trial_.R[i] - start_.R[i];
    const V3<double> dp = trial_.p[i] - start_.p[i];
    state.body_rates[i] << to_eigen(dR.x) / h_, to_eigen(dR.y) / h_, to_eigen(dR.z) / h_, to_eigen(dp) / h_;
  }
  apply_displacement(tree_, delta_.data(), state.q.data());
  for (int a = 0; a < tree_.nv; ++a) state.v(a) = delta_[static_cast<size_t>(a)] / h_;
}

// --- Newton-Euler ----------------------------------------------------------------------------------------------------

NewtonEulerStage::NewtonEulerStage(const Model& model)
    : Discretisation(model), pass_(tree_), twists_(tree_), v_(static_cast<size_t>(tree_.nv)), vdot_(v_) {
  delta_.resize(v_.size());
}

void NewtonEulerStage::begin(const State& state, double h, const Vec3& gravity) {
  q_ = state.q.data();
  v_n_ = state.v.data();
  h_ = h;
  gravity_ = to_v3(gravity);
  trial_.origin = root_position(tree_, q_);
}

void NewtonEulerStage::set_trial(const double* delta) {
  std::copy(delta, delta + tree_.nv, delta_.begin());
  for (size_t a = 0; a < v_.size(); ++a) {
    v_[a] = delta[a] / h_;
    vdot_[a] = (v_[a] - v_n_[a]) / h_;
  }
  forward_kinematics(tree_, q_, delta, trial_);
  newton_euler_pass<Depth::forces>(tree_, trial_, v_.data(), vdot_.data(), gravity_, pass_);
  has_derivatives_ = false;
}

// Trial poses that a line search rejects need forces only.
void NewtonEulerStage::need_derivatives() {
  if (has_derivatives_) return;
  newton_euler_pass<Depth::derivatives>(tree_, trial_, v_.data(), vdot_.data(), gravity_, pass_);
  stage_twists(pass_, h_, twists_);
  has_derivatives_ = true;
}

void NewtonEulerStage::residual(double* out) { project_forces(tree_, trial_, pass_, out); }

void NewtonEulerStage::jacobian(double* out) {
  need_derivatives();
  stage_jacobian(tree_, trial_, pass_, twists_, out);
}

double NewtonEulerStage::kinetic_energy() {
  double energy = 0;
  for (size_t i = 0; i < tree_.nodes.size(); ++i)
    energy += 0.5 * dot(pass_.V[i], world_second_moment(tree_.nodes[i].S, trial_.R[i], trial_.p[i]) * pass_.V[i]);
  return energy;
}

void NewtonEulerStage::kinetic_gradient(double* out) {
  need_derivatives();
  scree::kinetic_gradient(tree_, pass_, twists_, out);
}

void NewtonEulerStage::kinetic_hessian(double* exact, double* gauss_newton) {
  need_derivatives();
  scree::kinetic_hessian(tree_, trial_, pass_, twists_, exact, gauss_newton);
}

V3<double> NewtonEulerStage::point_velocity(int node, const V3<double>& x) {
  const Twist<double>& V = pass_.V[static_cast<size_t>(node)];
  return V.v + cross(V.w, x);
}

// V changes by xi x V, carried along, plus s.                                                             theory (6.9)
V3<double> NewtonEulerStage::point_velocity_change(int dof, int node, const V3<double>& x, const V3<double>& dx) {
  need_derivatives();
  const Twist<double>& V = pass_.V[static_cast<size_t>(node)];
  const Twist<double> dV = cross(trial_.xi[static_cast<size_t>(dof)], V) + twists_.s[static_cast<size_t>(dof)];
  return dV.v + cross(dV.w, x) + cross(V.w, dx);
}

void NewtonEulerStage::accept(State& state) {
  apply_displacement(tree_, delta_.data(), state.q.data());
  for (size_t a = 0; a < v_.size(); ++a) state.v(static_cast<Eigen::Index>(a)) = v_[a];
  state.body_rates.clear();
}

}  // namespace scree
