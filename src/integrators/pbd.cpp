// Position-based backward Euler without contact.                                                    theory section 4
//
//   minimise over delta   I(q (+) delta) + joint potentials(delta),   T^ = T_n + h V_n,  k = 1/h^2        theory (4.1)
//
// by Newton's method with the exact Hessian, shifted towards its Gauss-Newton part (k times the mass matrix, always
// positive definite) where it is not, and a line search on the objective.
#include <algorithm>
#include <cmath>
#include <limits>

#include "integrators/workspace.h"

namespace scree {
namespace {

using Impl = StepWorkspace::Impl;

// The poses a step starts from, and where the bodies would go by themselves: T^ = T_n + h V_n.         theory (4.2)
void set_targets(const Model& model, double h, State& state, Impl& ws) {
  const Tree& tree = model.tree();
  ws.start.origin = ws.trial.origin = root_position(tree, state.q.data());
  ws.delta.setZero();
  forward_kinematics(tree, state.q.data(), ws.delta.data(), ws.start);
  if (state.body_rates.empty()) {  // no history yet: the rates of [R | p] that v stands for
    state.body_rates.resize(tree.nodes.size());
    ws.newton_euler.set_position(state.q.data());
    const std::vector<Twist<double>>& V = ws.newton_euler.body_twists(state.v.data());
    for (size_t i = 0; i < tree.nodes.size(); ++i) {
      const M3<double>& R = ws.start.R[i];
      state.body_rates[i] << to_eigen(cross(V[i].w, R.x)), to_eigen(cross(V[i].w, R.y)), to_eigen(cross(V[i].w, R.z)),
          to_eigen(V[i].v + cross(V[i].w, ws.start.p[i]));
    }
  }
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    const Mat34& V = state.body_rates[i];
    ws.inertia.target_R[i] = ws.start.R[i] + h * to_m3(V.leftCols<3>());
    ws.inertia.target_p[i] = ws.start.p[i] + h * to_v3(V.col(3));
  }
}

// The objective and its gradient at q (+) delta; leaves the kinematics and subtree sums of that pose behind.
double evaluate(const Model& model, const Control& control, double h, const State& state, const Eigen::VectorXd& delta,
                Eigen::VectorXd& gradient_out, Impl& ws) {
  forward_kinematics(model.tree(), state.q.data(), delta.data(), ws.trial);
  double value = accumulate(model.tree(), ws.trial, ws.inertia);
  gradient(model.tree(), ws.trial, ws.inertia, gradient_out.data());
  ws.joint_forces.add_implicit(control, state.q.data(), state.v.data(), delta.data(), h, value, gradient_out.data(),
                               nullptr);
  return value;
}

// Hessians at the pose of the last `evaluate`, and what they tell about scales.
void evaluate_hessian(const Model& model, const Control& control, double h, const State& state, Impl& ws) {
  const Tree& tree = model.tree();
  hessian(tree, ws.trial, ws.inertia, ws.exact.data(), ws.gauss_newton.data());
  double reach = 0;  // [m] size of the robot about the origin of the recursion
  for (const V3<double>& p : ws.trial.p) reach = std::max(reach, dot(p, p));
  reach = std::sqrt(reach);
  for (int a = 0; a < tree.nv; ++a) {
    const size_t ia = static_cast<size_t>(a);
    const SecondMoment<double>& sigma = ws.inertia.sigma[static_cast<size_t>(tree.dof_node[ia])];
    const Twist<double>& xi = ws.trial.xi[ia];
    ws.mass_diagonal(a) = ws.gauss_newton(a, a) * h * h + tree.armature[ia];
    // Every pose entry is off by eps * (1 + reach), so P^c by k eps times the masses and lever arms below the dof.
    const double lever = std::sqrt(dot(xi.w, xi.w) * sigma.m * trace(sigma.A)) + std::sqrt(dot(xi.v, xi.v)) * sigma.m;
    ws.rounding(a) = std::numeric_limits<double>::epsilon() * (1 + reach) * lever / (h * h * ws.mass_diagonal(a));
  }
  double value = 0;  // and the gradient: not wanted again
  ws.joint_forces.add_implicit(control, state.q.data(), state.v.data(), ws.delta.data(), h, value,
                               ws.trial_gradient.data(), ws.exact.data());
}

// Largest unbalanced acceleration |g_a| / M_aa, and whether every dof is within tolerance or rounding.
struct Residual {
  double largest = 0;
  bool small = true;
};
Residual residual_of(const Eigen::VectorXd& gradient_in, double tolerance, const Impl& ws) {
  Residual residual;
  for (Eigen::Index a = 0; a < gradient_in.size(); ++a) {
    const double acceleration = std::abs(gradient_in(a)) / ws.mass_diagonal(a);
    // 16: a few dozen roundings of random sign add up in each subtree sum
    if (!(acceleration <= tolerance + 16 * ws.rounding(a))) residual.small = false;
    residual.largest = std::max(residual.largest, acceleration);
  }
  return residual;
}

// Newton direction -(H + shift GN)^-1 g with the smallest shift of 0, 0.01, 0.1, ... that makes the matrix positive
// definite. GN itself is, so large shifts always are, short of a singular mass matrix.
bool newton_direction(Impl& ws) {
  for (double shift = 0; shift < 1e9; shift = shift == 0 ? 0.01 : 10 * shift) {
    ws.factor = ws.exact;
    if (shift > 0) ws.factor += shift * ws.gauss_newton;
    const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>, Eigen::Upper> cholesky(ws.factor);
    if (cholesky.info() != Eigen::Success) continue;
    ws.direction = -ws.gradient;
    cholesky.solveInPlace(ws.direction);
    if (ws.direction.allFinite() && ws.direction.dot(ws.gradient) < 0) return true;
  }
  return false;
}

}  // namespace

SubstepResult substep_pbd(const Control& control, const StepOptions& options, double h, State& state, Impl& ws) {
  const Model& model = ws.model;
  set_targets(model, h, state, ws);
  ws.inertia.weight = 1 / (h * h);
  ws.inertia.gravity = to_v3(options.gravity);
  ws.delta = h * state.v;
  double value = evaluate(model, control, h, state, ws.delta, ws.gradient, ws);
  evaluate_hessian(model, control, h, state, ws);
  Residual residual = residual_of(ws.gradient, options.tolerance, ws);

  SubstepResult result;
  while (!residual.small) {
    if (++result.iterations > options.max_iterations || !newton_direction(ws)) return result;

    // Backtrack until the objective falls enough (Armijo). Its changes drown in rounding near the solution; there the
    // residual must fall instead.
    const double slope = ws.direction.dot(ws.gradient);
    const double noise = 1e-13 * (std::abs(value) + std::abs(slope));
    bool accepted = false;
    for (double fraction = 1; fraction > 1e-6 && !accepted; fraction *= 0.5) {
      ws.trial_delta = ws.delta + fraction * ws.direction;
      const double trial_value = evaluate(model, control, h, state, ws.trial_delta, ws.trial_gradient, ws);
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
    if (!residual.small) evaluate_hessian(model, control, h, state, ws);
  }

  // The chart of ball and free rotations holds up to 60 degrees.                                       theory (1.4)
  for (size_t i = 0; i < ws.trial.chart.size(); ++i) {
    const Motion motion = model.tree().nodes[i].motion;
    const V3<double>& turn = ws.trial.chart[i];
    if ((motion == Motion::ball || motion == Motion::floating) && dot(turn, turn) > M_PI * M_PI / 9) return result;
  }

  // Accept: q_{n+1} = q_n (+) delta, v = delta / h, V_{n+1} = (T_{n+1} - T_n) / h.                     theory (4.3)
  for (size_t i = 0; i < ws.trial.R.size(); ++i) {
    const M3<double> dR = ws.trial.R[i] - ws.start.R[i];
    const V3<double> dp = ws.trial.p[i] - ws.start.p[i];
    state.body_rates[i] << to_eigen(dR.x) / h, to_eigen(dR.y) / h, to_eigen(dR.z) / h, to_eigen(dp) / h;
  }
  apply_displacement(model.tree(), ws.delta.data(), state.q.data());
  state.v = ws.delta / h;
  result.residual = residual.largest;
  result.converged = state.q.allFinite() && state.v.allFinite();
  return result;
}

}  // namespace scree
