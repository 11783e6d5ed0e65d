#include "dynamics/discretisation.h"
#include "math/eigen.h"

namespace scree {
namespace {

// The twist of a body when every coordinate has the rate given.
Twist<double> twist_of(const Tree& tree, const Kinematics<double>& kin, size_t node, const double* rates) {
  Twist<double> V = {{0, 0, 0}, {0, 0, 0}};
  for (int a = tree.last_dof[node]; a >= 0; a = tree.dof_parent[static_cast<size_t>(a)])
    V += rates[tree.coordinate[static_cast<size_t>(a)]] * kin.xi[static_cast<size_t>(a)];
  return V;
}

// The rate of its transform then.
BodyRate body_rate(const Tree& tree, const Kinematics<double>& kin, size_t node, const double* rates) {
  const Twist<double> V = twist_of(tree, kin, node, rates);
  const M3<double>& R = kin.R[node];
  return {{cross(V.w, R.x), cross(V.w, R.y), cross(V.w, R.z)}, V.v + cross(V.w, kin.p[node])};
}

BodyRate operator*(double a, const BodyRate& b) { return {a * b.R, a * b.p}; }
BodyRate operator-(const BodyRate& a, const BodyRate& b) { return {a.R - b.R, a.p - b.p}; }
BodyRate& operator+=(BodyRate& a, const BodyRate& b) {
  a.R += b.R;
  a.p += b.p;
  return a;
}

// Rates of delta as velocities: the same, but those of a chart are measured along the body's axes, J(chart)^T rate.
template <class Rates>
void to_body_axes(const Tree& tree, const Kinematics<double>& kin, const Rates& rates, double* v) {
  for (int a = 0; a < tree.nv; ++a) v[a] = rates[a];
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    if (!has_chart(tree.nodes[i])) continue;
    double* w = v + tree.nodes[i].v_index + tree.nodes[i].nv - 3;
    const V3<double> turned = transpose_times(rotation_jacobian(kin.chart[i]), {w[0], w[1], w[2]});
    w[0] = turned.x, w[1] = turned.y, w[2] = turned.z;
  }
}

}  // namespace

bool Discretisation::divide_by_mass(double* x) { return solve_mass_matrix(tree_, trial_, true, mass_, x); }

// --- position based --------------------------------------------------------------------------------------------------

PositionBasedStage::PositionBasedStage(const Model& model)
    : Discretisation(model),
      start_(tree_),
      coasting_(tree_.nodes.size()),
      inertia_(tree_),
      motion_(tree_),
      no_rates_(static_cast<size_t>(tree_.nv), 0.0),
      pass_(tree_),
      rate_defect_(tree_.nodes.size()),
      bending_(model.nv()) {}

void PositionBasedStage::start_at(const State& state, double h, const Vec3& gravity) {
  q_ = state.q.data();
  h_ = h;
  start_.origin = trial_.origin = root_position(tree_, q_);
  delta_.setZero();
  rest_.setZero();
  joint_rest_.setZero();
  coast_ = state.v;
  forward_kinematics(tree_, q_, delta_.data(), start_);
  motion_.target_R = start_.R;
  motion_.target_p = start_.p;
  inertia_.weight = motion_.weight = 1 / (h * h);
  inertia_.gravity = to_v3(gravity);
}

void PositionBasedStage::begin(const State& state, double h, const Vec3& gravity) {
  start_at(state, h, gravity);
  two_stages_ = false;
  for (size_t i = 0; i < tree_.nodes.size(); ++i) {
    if (!state.body_rates.empty())
      coasting_[i] = {to_m3(state.body_rates[i].leftCols<3>()), to_v3(state.body_rates[i].col(3))};
    else  // no history yet: what v stands for
      coasting_[i] = body_rate(tree_, start_, i, state.v.data());
  }
  set_targets();
}

// The straight path of a body from T_n to T is not along the joints: the rate of delta with the momentum of the field
// (T - T_n)/h is delta/h - h/2 M^-1 C, up to second order.                                                theory (9.4)
void PositionBasedStage::begin_first(const State& state, double h, const Vec3& gravity) {
  start_at(state, kGamma * h, gravity);
  two_stages_ = true;
  for (size_t i = 0; i < tree_.nodes.size(); ++i) {
    coasting_[i] = body_rate(tree_, start_, i, state.v.data());
    rate_defect_[i] = (kGamma - 1) * coasting_[i];
  }
  set_targets();
  find_bending(state);
  joint_rest_ = (0.5 * h_ * h_) * bending_;
}

// M^-1 C(q_n, v_n) at the start, C without gravity.
void PositionBasedStage::find_bending(const State& state) {
  newton_euler_pass<Depth::forces>(tree_, start_, state.v.data(), no_rates_.data(), V3<double>{0, 0, 0}, pass_);
  reduction_.covector(bending_.data(), [&](double* by_dof) { project_forces(tree_, start_, pass_, by_dof); });
  // Links without mass that only a rotor holds need not follow any path. A try that fails leaves x as it was.
  if (!solve_mass_matrix(tree_, start_, false, mass_, bending_.data()) &&
      !solve_mass_matrix(tree_, start_, true, mass_, bending_.data()))
    bending_.setConstant(std::numeric_limits<double>::quiet_NaN());  // the stage fails and says so
}

// The field found is replaced by the one along the joints that has its momentum: a field (T_1 - T_n)/h would carry half
// of the centripetal acceleration only, and the step would be of first order.                             theory (9.5)
bool PositionBasedStage::begin_second(const double* unwanted) {
  const double by_h = 1 / h_, time = h_ / kGamma - h_;
  Eigen::VectorXd& rates = moved_;  // free until the next trial
  if (!find_rates(rates)) return false;
  for (size_t i = 0; i < tree_.nodes.size(); ++i) {
    const BodyRate rate = body_rate(tree_, trial_, i, rates.data());
    rate_defect_[i] += rate;
    coasting_[i] += time * (by_h * (rate - coasting_[i]) - body_rate(tree_, trial_, i, unwanted));
    motion_.target_R[i] += time * rate.R;
    motion_.target_p[i] += time * rate.p;
  }
  for (int a = 0; a < tree_.nv; ++a) coast_(a) += time * (by_h * (rates(a) - coast_(a)) - unwanted[a]);
  rest_ = joint_rest_ = time * rates;
  set_targets();
  return true;
}

// The rates of delta with the momentum of the field (T - T_rest)/h at the trial pose; rotors move with their joints.
bool PositionBasedStage::find_rates(Eigen::VectorXd& rates) {
  accumulate(tree_, trial_, motion_);
  reduction_.covector(rates.data(), [&](double* by_dof) { gradient(tree_, trial_, motion_, by_dof); });
  for (int a = 0; a < tree_.nv; ++a)
    rates(a) = h_ * rates(a) + tree_.armature[static_cast<size_t>(a)] * (delta_(a) - joint_rest_(a)) / h_;
  return divide_by_mass(rates.data());
}

// Where the bodies would go by themselves: T^ = (pose at rest) + h (field they coast with).               theory (4.2)
void PositionBasedStage::set_targets() {
  for (size_t i = 0; i < tree_.nodes.size(); ++i) {
    inertia_.target_R[i] = motion_.target_R[i] + h_ * coasting_[i].R;
    inertia_.target_p[i] = motion_.target_p[i] + h_ * coasting_[i].p;
  }
}

void PositionBasedStage::set_trial(const double* delta) {
  std::copy(delta, delta + tree_.nv, delta_.begin());
  moved_ = delta_ - joint_rest_;
  forward_kinematics(tree_, q_, delta, trial_);
  objective_ = accumulate(tree_, trial_, inertia_);
  has_masses_ = false;
}

const std::vector<SecondMoment<double>>& PositionBasedStage::composite() {
  if (!has_masses_) accumulate_masses(tree_, trial_, inertia_);
  has_masses_ = true;
  return inertia_.sigma;
}

// Bodies go along straight lines of the space of matrices, so their rates are compared there: a body that turns at a
// constant rate has a defect, and does lag behind.
void PositionBasedStage::rate_defect(std::vector<BodyRate>& out) {
  for (size_t i = 0; i < tree_.nodes.size(); ++i)
    out[i] = rate_defect_[i] - (kGamma / h_) * body_rate(tree_, trial_, i, moved_.data());
}

void PositionBasedStage::residual(double* out) {
  reduction_.covector(out, [&](double* by_dof) { gradient(tree_, trial_, inertia_, by_dof); });
}

void PositionBasedStage::hessian(double* exact, double* gauss_newton) {
  composite();
  reduction_.upper(exact, gauss_newton, [&](double* exact_by_dof, double* gauss_newton_by_dof) {
    hessian_of_sums(tree_, trial_, inertia_, exact_by_dof, gauss_newton_by_dof);
  });
}

void PositionBasedStage::jacobian(double* out) {
  upper_jacobian(out);
  const size_t n = static_cast<size_t>(tree_.nv);
  for (size_t b = 0; b < n; ++b)
    for (int a = tree_.parent[b]; a >= 0; a = tree_.parent[static_cast<size_t>(a)])
      out[static_cast<size_t>(a) * n + b] = out[b * n + static_cast<size_t>(a)];
}

double PositionBasedStage::kinetic_energy() { return accumulate(tree_, trial_, motion_); }

void PositionBasedStage::kinetic_gradient(double* out) {
  accumulate(tree_, trial_, motion_);
  reduction_.covector(out, [&](double* by_dof) { gradient(tree_, trial_, motion_, by_dof); });
}

void PositionBasedStage::kinetic_hessian(double* exact, double* gauss_newton) {
  accumulate(tree_, trial_, motion_);
  reduction_.upper(exact, gauss_newton, [&](double* exact_by_dof, double* gauss_newton_by_dof) {
    scree::hessian(tree_, trial_, motion_, exact_by_dof, gauss_newton_by_dof);
  });
}

// (x - T_rest T^-1 x) / h: where the point came from.
V3<double> PositionBasedStage::point_velocity(int node, const V3<double>& x) {
  const size_t i = static_cast<size_t>(node);
  const V3<double> from = motion_.target_p[i] + motion_.target_R[i] * transpose_times(trial_.R[i], x - trial_.p[i]);
  return (1 / h_) * (x - from);
}

V3<double> PositionBasedStage::point_velocity_change(int, const Twist<double>& xi, int node, const V3<double>& x,
                                                     const V3<double>& dx) {
  const size_t i = static_cast<size_t>(node);
  const V3<double> slide = dx - (xi.v + cross(xi.w, x));  // of x along the body
  return (1 / h_) * (dx - motion_.target_R[i] * transpose_times(trial_.R[i], slide));
}

// q_{n+1} = q_n (+) delta. Backward Euler keeps V_{n+1} = (T_{n+1} - T_n)/h, theory (4.3); the two-stage scheme the
// joint velocity with the momentum of the field (T_{n+1} - T_rest)/h, theory (9.5).
bool PositionBasedStage::accept(State& state) {
  if (two_stages_) {
    if (!find_rates(coast_)) return false;
    to_body_axes(tree_, trial_, coast_, state.v.data());
    state.body_rates.clear();
  } else {
    state.body_rates.resize(tree_.nodes.size());
    for (size_t i = 0; i < tree_.nodes.size(); ++i) {
      const M3<double> dR = trial_.R[i] - start_.R[i];
      const V3<double> dp = trial_.p[i] - start_.p[i];
      state.body_rates[i] << to_eigen(dR.x) / h_, to_eigen(dR.y) / h_, to_eigen(dR.z) / h_, to_eigen(dp) / h_;
    }
    state.v = delta_ / h_;
  }
  apply_displacement(tree_, delta_.data(), state.q.data());
  return true;
}

// --- Newton-Euler ----------------------------------------------------------------------------------------------------

NewtonEulerStage::NewtonEulerStage(const Model& model)
    : Discretisation(model),
      pass_(tree_),
      twists_(tree_),
      v_(static_cast<size_t>(tree_.nv)),
      vdot_(v_),
      v_coast_(v_),
      rate_defect_(model.nv()) {}

void NewtonEulerStage::begin(const State& state, double h, const Vec3& gravity) {
  q_ = state.q.data();
  h_ = h;
  gravity_ = to_v3(gravity);
  trial_.origin = root_position(tree_, q_);
  rest_.setZero();
  joint_rest_.setZero();
  coast_ = state.v;
  std::copy(state.v.begin(), state.v.end(), v_coast_.begin());
}

void NewtonEulerStage::begin_first(const State& state, double h, const Vec3& gravity) {
  begin(state, kGamma * h, gravity);
  rate_defect_ = (kGamma - 1) * coast_;
}

bool NewtonEulerStage::begin_second(const double* unwanted) {
  const double time = h_ / kGamma - h_;
  rate_defect_ += moved_ / h_;
  to_body_axes(tree_, trial_, unwanted, v_.data());  // v_ is free until the next trial
  for (size_t a = 0; a < v_.size(); ++a) v_coast_[a] += time * (vdot_[a] - v_[a]);
  for (int a = 0; a < tree_.nv; ++a) coast_(a) += time * ((moved_(a) / h_ - coast_(a)) / h_ - unwanted[a]);
  rest_ = joint_rest_ = (time / h_) * moved_;
  return true;
}

void NewtonEulerStage::set_trial(const double* delta) {
  std::copy(delta, delta + tree_.nv, delta_.begin());
  moved_ = delta_ - rest_;
  forward_kinematics(tree_, q_, delta, trial_);
  to_body_axes(tree_, trial_, moved_, v_.data());
  for (double& v : v_) v /= h_;
  for (size_t a = 0; a < v_.size(); ++a) vdot_[a] = (v_[a] - v_coast_[a]) / h_;
  newton_euler_pass<Depth::forces>(tree_, trial_, v_.data(), vdot_.data(), gravity_, pass_);
  has_derivatives_ = false;
}

// Rates are integrated as they are: what turns at a constant rate has no defect.
void NewtonEulerStage::rate_defect(std::vector<BodyRate>& out) {
  coast_ = rate_defect_ - (kGamma / h_) * moved_;  // free at the end of the step
  for (size_t i = 0; i < tree_.nodes.size(); ++i) out[i] = body_rate(tree_, trial_, i, coast_.data());
}

// Trial poses that a line search rejects need forces only.
void NewtonEulerStage::need_derivatives() {
  if (has_derivatives_) return;
  newton_euler_pass<Depth::derivatives>(tree_, trial_, v_.data(), vdot_.data(), gravity_, pass_);
  stage_twists(tree_, trial_, pass_, moved_.data(), h_, twists_);
  has_derivatives_ = true;
}

const std::vector<SecondMoment<double>>& NewtonEulerStage::composite() {
  need_derivatives();
  return pass_.sigma;
}

void NewtonEulerStage::residual(double* out) {
  reduction_.covector(out, [&](double* by_dof) { project_forces(tree_, trial_, pass_, by_dof); });
}

void NewtonEulerStage::jacobian(double* out) {
  need_derivatives();
  reduction_.matrix(out, [&](double* by_dof) { stage_jacobian(tree_, trial_, pass_, twists_, by_dof); });
}

double NewtonEulerStage::kinetic_energy() {
  double energy = 0;
  for (size_t i = 0; i < tree_.nodes.size(); ++i)
    energy += 0.5 * dot(pass_.V[i], world_second_moment(tree_.nodes[i].S, trial_.R[i], trial_.p[i]) * pass_.V[i]);
  return energy;
}

void NewtonEulerStage::kinetic_gradient(double* out) {
  need_derivatives();
  reduction_.covector(out, [&](double* by_dof) { scree::kinetic_gradient(tree_, pass_, twists_, by_dof); });
}

void NewtonEulerStage::kinetic_hessian(double* exact, double* gauss_newton) {
  need_derivatives();
  reduction_.upper(exact, gauss_newton, [&](double* exact_by_dof, double* gauss_newton_by_dof) {
    scree::kinetic_hessian(tree_, trial_, pass_, twists_, exact_by_dof, gauss_newton_by_dof);
  });
}

V3<double> NewtonEulerStage::point_velocity(int node, const V3<double>& x) {
  const Twist<double>& V = pass_.V[static_cast<size_t>(node)];
  return V.v + cross(V.w, x);
}

// V changes by xi x V, carried along, plus s.                                                             theory (6.9)
V3<double> NewtonEulerStage::point_velocity_change(int coordinate, const Twist<double>& xi, int node,
                                                   const V3<double>& x, const V3<double>& dx) {
  need_derivatives();
  const Twist<double>& V = pass_.V[static_cast<size_t>(node)];
  Twist<double> dV = cross(xi, V);
  if (tree_.has_followers()) {
    for (int a = tree_.last_dof[static_cast<size_t>(node)]; a >= 0; a = tree_.dof_parent[static_cast<size_t>(a)])
      if (tree_.coordinate[static_cast<size_t>(a)] == coordinate) dV += twists_.s[static_cast<size_t>(a)];
  } else {
    dV += twists_.s[static_cast<size_t>(coordinate)];
  }
  return dV.v + cross(dV.w, x) + cross(V.w, dx);
}

bool NewtonEulerStage::accept(State& state) {
  apply_displacement(tree_, delta_.data(), state.q.data());
  for (size_t a = 0; a < v_.size(); ++a) state.v(static_cast<Eigen::Index>(a)) = v_[a];
  state.body_rates.clear();
  return true;
}

}  // namespace scree
