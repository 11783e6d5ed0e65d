// The non-convex maximal dissipation principle on a backward-Euler stage.                              theory section 8
//
//   minimise over w   K(delta)    subject to   G(delta, w) = r(delta) + dU/ddelta - sum_x J_x^T v_x(delta) w_x = 0,
//                                              w_x >= 0, sum w_x <= 1 for every contact x                 theory (8.8)
//
// by Algorithm 1 of the NMDP paper with its errata: the weights move by a quadratic program in w linearised at the
// current pose, the pose follows by Newton's method on G = 0, a step that does not lower K is taken back and the next
// one is held shorter. One file for both discretisations; zeroth order leaves out the derivative of the contact law.
#include <algorithm>
#include <cmath>

#include "integrators/residual.h"

namespace scree {
namespace {

using Impl = StepWorkspace::Impl;

// beta = 2/gamma [J] holds the weights back: on the diagonal of the QP.                                  theory (8.9)
constexpr double kFirstBeta = 1e-4, kSmallestBeta = 1e-9, kLargestBeta = 1e9;
constexpr double kNear = 0.05;  // [m] a pair this close at the start takes part from the start

struct Stage {
  Discretisation& dynamics;
  const Control& control;
  const StepOptions& options;
  const State& state;
  double h;
  bool first_order;
  Impl& ws;
};

// G(delta, w) into `forces`; leaves stage and contacts at delta.
void evaluate(Stage& s, const Eigen::VectorXd& delta, const Eigen::VectorXd& w, Eigen::VectorXd& forces) {
  s.dynamics.set_trial(delta.data());
  s.dynamics.residual(forces.data());
  double potential = 0;
  s.ws.joint_forces.add_implicit(s.control, s.state.q.data(), s.state.v.data(), delta.data(), s.h, potential,
                                 forces.data(), nullptr);
  s.ws.contact->set.evaluate(s.dynamics.trial());
  s.ws.contact->set.add_forces(s.dynamics.trial(), w, forces.data());
}

// LU of dG/ddelta at the pose of the last `evaluate`. False: singular.
bool factor(Stage& s, const Eigen::VectorXd& delta, const Eigen::VectorXd& w) {
  Impl& ws = s.ws;
  ws.jacobian.setZero();
  s.dynamics.jacobian(ws.jacobian.data());
  set_residual_scale(s.dynamics, s.h, ws);
  double potential = 0;
  ws.joint_hessian.setZero();
  ws.joint_forces.add_implicit(s.control, s.state.q.data(), s.state.v.data(), delta.data(), s.h, potential,
                               ws.direction.data(), ws.joint_hessian.data());
  ws.jacobian.triangularView<Eigen::Upper>() += ws.joint_hessian;
  ws.jacobian.triangularView<Eigen::StrictlyLower>() += ws.joint_hessian.transpose();
  ws.contact->set.add_jacobian(s.dynamics.trial(), w, s.first_order, ws.jacobian.data());
  ws.lu.compute(ws.jacobian);
  const auto pivots = ws.lu.matrixLU().diagonal().cwiseAbs();
  return pivots.minCoeff() > 1e-14 * pivots.maxCoeff();
}

// Newton's method on G(delta, w) = 0 from `delta`. The factorisation at hand serves as long as the residual falls
// quickly; then a new one is made; then the step is shortened.
bool project(Stage& s, Eigen::VectorXd& delta, const Eigen::VectorXd& w, bool have_factor, SubstepResult& result) {
  Impl& ws = s.ws;
  evaluate(s, delta, w, ws.gradient);
  if (!have_factor && !factor(s, delta, w)) return false;
  bool fresh = !have_factor;
  Residual residual = residual_of(ws.gradient, s.options.tolerance, ws);
  for (int k = 0; !residual.small; ++k) {
    result.residual = residual.largest;
    if (k == s.options.max_iterations || !std::isfinite(residual.largest)) return false;
    ++result.iterations;
    ws.direction = ws.lu.solve(ws.gradient);
    bool accepted = false;
    for (double fraction = 1; fraction > 1e-3 && !accepted; fraction *= 0.5) {
      ws.trial_delta = delta - fraction * ws.direction;
      evaluate(s, ws.trial_delta, w, ws.trial_gradient);
      const Residual trial = residual_of(ws.trial_gradient, s.options.tolerance, ws);
      const double needed = fresh ? 1 - 1e-4 * fraction : 0.2;
      accepted = trial.small || trial.largest < needed * residual.largest;
      if (accepted) {
        residual = trial;
        delta.swap(ws.trial_delta);
        ws.gradient.swap(ws.trial_gradient);
      } else if (!fresh) {
        break;
      }
    }
    if (!accepted && fresh) return false;
    fresh = false;
    if (!accepted) {  // the old factorisation is spent: a new one at the pose we have
      evaluate(s, delta, w, ws.gradient);
      if (!factor(s, delta, w)) return false;
      fresh = true;
    } else if (!s.first_order && !residual.small) {
      fresh = true;  // without the law's derivative a new factorisation is hardly better: shorten the step instead
    }
  }
  result.residual = residual.largest;
  return true;
}

// K at the pose of the last `evaluate`.                                                                   theory (8.4)
double kinetic_energy(Stage& s) {
  if (s.options.dissipation == Dissipation::total) return s.dynamics.kinetic_energy();
  auto& c = *s.ws.contact;
  auto u = c.u.head(3 * c.set.size());
  c.set.velocities(s.dynamics, u);
  return 0.5 * u.squaredNorm();
}

// Z = d delta/dw, g = dK/dw and the Gauss-Newton model Q of d2K/dw2 at the current pose.            theory (8.9)
void linearise(Stage& s) {
  Impl& ws = s.ws;
  auto& c = *ws.contact;
  const int W = c.set.weight_count(), rows = 3 * c.set.size();
  auto Z = c.Z.leftCols(W);
  c.set.force_columns(s.dynamics.trial(), Z);
  c.solve_columns(ws.lu);
  auto Q = c.Q();
  if (s.options.dissipation == Dissipation::total) {
    s.dynamics.kinetic_gradient(ws.direction.data());
    ws.gauss_newton.setZero();
    s.dynamics.kinetic_hessian(ws.jacobian.data(), ws.gauss_newton.data());
    c.g.head(W).noalias() = Z.transpose() * ws.direction;
    auto HZ = c.HZ.leftCols(W);
    HZ.noalias() = ws.gauss_newton.selfadjointView<Eigen::Upper>() * Z;
    Q.noalias() = Z.transpose() * HZ;
  } else {
    auto U = c.U.topRows(rows);
    c.set.velocity_rows(s.dynamics, U);
    auto UZ = c.UZ();
    UZ.noalias() = U * Z;
    c.g.head(W).noalias() = UZ.transpose() * c.u.head(rows);
    Q.noalias() = UZ.transpose() * UZ;
  }
}

// By how much could a first-order change of the weights lower K?  g.w - min over the polytope of g.w'     theory (8.10)
double optimality_gap(const Stage& s, const Eigen::VectorXd& w) {
  const auto& c = *s.ws.contact;
  const int V = c.set.vertex_count();
  double gap = 0;
  for (int x = 0; x < c.set.size(); ++x) {
    const auto g = c.g.segment(x * V, V);
    gap += g.dot(w.segment(x * V, V)) - std::min(0.0, g.minCoeff());
  }
  return gap;
}

}  // namespace

SubstepResult substep_nmdp(Discretisation& dynamics, bool first_order, const Control& control,
                           const StepOptions& options, double h, State& state, Impl& ws) {
  Stage s{dynamics, control, options, state, h, first_order, ws};
  auto& c = *ws.contact;
  SubstepResult result;

  // Start: the pose that the velocity leads to, the weights of the last step, every pair that may get there.
  dynamics.begin(state, h, options.gravity);
  ws.delta = h * state.v;
  dynamics.set_trial(ws.delta.data());
  c.set.select(dynamics.trial(), kNear, options.gravity.norm());
  c.reserve();
  c.set.load_weights(state.contact_weights, c.w);
  if (!project(s, ws.delta, c.w, false, result)) {
    c.w.head(c.set.weight_count()).setZero();  // perhaps the old forces were in the way
    ws.delta = h * state.v;
    if (!project(s, ws.delta, c.w, false, result)) return result;
  }

  double beta = kFirstBeta, K = 0;
  bool linearised = false;
  while (true) {
    if (!linearised) {
      // At an accepted pose: contacts that have come into reach take part from here on.
      evaluate(s, ws.delta, c.w, ws.gradient);
      const int before = c.set.weight_count();
      if (c.set.add_missing(dynamics.trial()) > 0) {
        c.reserve();
        c.w.segment(before, c.set.weight_count() - before).setZero();
      }
      c.set.count_touching();
      K = kinetic_energy(s);
      if (!factor(s, ws.delta, c.w)) return result;
      linearise(s);
      linearised = true;
      result.optimality = optimality_gap(s, c.w);
      if (result.optimality <= 1e-10 + 1e-8 * K) break;
    }
    if (result.outer == options.max_outer) return result;
    ++result.outer;

    // min over w'  g.(w' - w) + 1/2 (w' - w).(Q + beta)(w' - w)
    const int W = c.set.weight_count();
    auto Q = c.Q();
    auto held = c.Q_held();
    held = Q;
    held.diagonal().array() += beta;
    auto w = c.w.head(W);
    c.g_held.head(W) = c.g.head(W);
    c.g_held.head(W).noalias() -= held * w;
    c.w_trial.head(W) = w;
    const SimplexQpReport qp =
        c.qp.solve(c.set.size(), c.set.vertex_count(), held.data(), c.g_held.data(), c.w_trial.data());
    result.qp_iterations += qp.iterations;
    c.dw.head(W) = c.w_trial.head(W) - w;
    c.Qdw.head(W).noalias() = Q * c.dw.head(W);
    const double predicted = -c.g.head(W).dot(c.dw.head(W)) - 0.5 * c.dw.head(W).dot(c.Qdw.head(W));

    c.delta_trial = ws.delta;
    c.delta_trial.noalias() += c.Z.leftCols(W) * c.dw.head(W);
    const bool projected = project(s, c.delta_trial, c.w_trial, true, result);
    const double K_trial = projected ? kinetic_energy(s) : std::numeric_limits<double>::infinity();
    if (K_trial < K) {
      ws.delta.swap(c.delta_trial);
      c.w.swap(c.w_trial);
      const double ratio = (K - K_trial) / predicted;
      if (ratio > 0.75)
        beta = std::max(kSmallestBeta, beta / 10);
      else if (ratio < 0.25)
        beta *= 3;
      linearised = false;
    } else {
      if (predicted < 1e-13 * K) break;
      beta = std::max(beta, 1e-6) * 10;
      if (beta > kLargestBeta) return result;
      // project() may have left another factorisation; Z, g and Q are still those of the accepted pose
      evaluate(s, ws.delta, c.w, ws.gradient);
      if (!factor(s, ws.delta, c.w)) return result;
    }
  }
  evaluate(s, ws.delta, c.w, ws.gradient);
  if (!within_chart(ws.model.tree(), dynamics.trial())) return result;
  c.set.report(dynamics.trial(), c.w, ws.contacts);
  c.set.store_weights(c.w, state.contact_weights);
  dynamics.accept(state);
  result.converged = true;
  return result;
}

}  // namespace scree
