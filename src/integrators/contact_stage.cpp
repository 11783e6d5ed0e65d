// The non-convex maximal dissipation principle on a stage.                                             theory section 8
//
//   minimise over w   K(delta)    subject to   G(delta, w) = r(delta) + dU/ddelta - sum_x J_x^T v_x(delta) w_x = 0,
//                                              w_x >= 0, sum w_x <= 1 for every contact x                 theory (8.8)
//
// Two solvers. `descend` is Algorithm 1 of the NMDP paper with its errata: the weights move by a quadratic program in w
// linearised at the current pose, the pose follows by Newton's method on G = 0, a step that does not lower K is taken
// back and the next one is held shorter. `iterate` moves both at once, one factorisation an iteration; where it does
// not end at a solution as good as descent would find, descent from zero forces takes over. One file for both
// discretisations and both orders: at zeroth order the contact set learns the derivative of the law that it is not
// given.
#include "integrators/contact_stage.h"

#include <algorithm>
#include <cmath>

#include "integrators/residual.h"

namespace scree {
namespace {

using Impl = StepWorkspace::Impl;

// beta = 2/gamma [J] holds the weights back: on the diagonal of the QP.                                  theory (8.9)
constexpr double kFirstBeta = 1e-4, kSmallestBeta = 1e-9, kLargestBeta = 1e9;
constexpr double kGap = 1e-10, kRelativeGap = 1e-8;  // [J], and of K: when the weights are optimal       theory (8.10)
constexpr int kPatience = 10;  // directions of a zeroth-order projection that may fail in a row, each teaching more
constexpr int kMostIterations = 30;  // of `iterate`: it takes 2 to 10, or wanders
constexpr double kHold = 1e-9;       // of the largest diagonal entry: holds weights that the forces do not determine
constexpr double kSameBranch = 4;
constexpr double kShare = 0.01;  // of the accuracy asked for
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNear = 0.05;  // [m] a pair this close at the start takes part from the start

using Stage = ContactStage;

// Moves stage and contacts to delta; G without contact forces into `forces`.
void move_to(Stage& s, const Eigen::VectorXd& delta, Eigen::VectorXd& forces) {
  s.dynamics.set_trial(delta.data());
  s.dynamics.residual(forces.data());
  double potential = 0;
  s.ws.joint_forces.add_implicit(s.control, joint_stage(s.dynamics), delta.data(), potential, forces.data(), nullptr);
  s.ws.contact.set.evaluate(s.dynamics.trial());
}

// G(delta, w) into `forces`; leaves stage and contacts at delta.
void evaluate(Stage& s, const Eigen::VectorXd& delta, const Eigen::VectorXd& w, Eigen::VectorXd& forces) {
  move_to(s, delta, forces);
  s.ws.contact.set.add_forces(s.dynamics.trial(), w, forces.data());
}

// Contacts that have come into reach take part from here on.
void add_contacts(Stage& s) {
  ContactScratch& c = s.ws.contact;
  const int before = c.set.weight_count();
  if (c.set.add_missing(s.dynamics.trial()) > 0) {
    c.reserve();
    c.w.segment(before, c.set.weight_count() - before).setZero();
  }
  c.set.count_touching();
}

// LU of dG/ddelta at the pose of the last `evaluate`. False: singular.                                    theory (8.6)
bool factor(Stage& s, const Eigen::VectorXd& delta, const Eigen::VectorXd& w) {
  Impl& ws = s.ws;
  ws.jacobian.setZero();
  s.dynamics.jacobian(ws.jacobian.data());
  set_residual_scale(s.dynamics, s.dynamics.h(), ws);
  double potential = 0;
  ws.joint_hessian.setZero();
  ws.joint_forces.add_implicit(s.control, joint_stage(s.dynamics), delta.data(), potential, ws.direction.data(),
                               ws.joint_hessian.data());
  add_joint_rounding(ws);
  ws.jacobian.triangularView<Eigen::Upper>() += ws.joint_hessian;
  ws.jacobian.triangularView<Eigen::StrictlyLower>() += ws.joint_hessian.transpose();
  if (ws.contact.metric_wanted) {  // K of Dissipation::effective: the implicit system without contact   theory (8.4)
    ws.contact.metric = 0.5 * (ws.jacobian + ws.jacobian.transpose());
    ws.contact.metric_wanted = false;
  }
  ws.contact.set.add_jacobian(s.dynamics.trial(), w, ws.jacobian.data());
  ws.lu.compute(ws.jacobian);
  const auto pivots = ws.lu.matrixLU().diagonal().cwiseAbs();
  return pivots.minCoeff() > 1e-14 * pivots.maxCoeff();
}

// [m/s^2, rad/s^2] and [J]: how well a stage is to be solved. With an accuracy to reach, a hundredth of it is enough:
// an unbalanced acceleration a displaces by a h^2, a gap E leaves a velocity sqrt(2 E/m).              theory (9.9)
double tolerance(const Stage& s) {
  const double slack = kShare * s.ws.accuracy / (s.dynamics.h() * s.dynamics.h());
  return std::max(s.options.tolerance, slack);
}
double largest_gap(const Stage& s, double K) {
  const double mass = s.options.dissipation == Dissipation::contact ? 1 : s.ws.model.total_mass();
  const double speed = kShare * s.ws.accuracy / s.dynamics.h();
  return std::max(kGap + kRelativeGap * K, 0.5 * mass * speed * speed);
}

// Newton's method on G(delta, w) = 0 from `delta`, with the factorisation at hand as long as it serves; then with a new
// one, shortening the step where that does not help.
bool project(Stage& s, Eigen::VectorXd& delta, const Eigen::VectorXd& w, SubstepResult& result) {
  Impl& ws = s.ws;
  evaluate(s, delta, w, ws.gradient);
  Residual residual = residual_of(ws.gradient, tolerance(s), ws);
  bool fresh = false;  // the factorisation belongs to this pose
  int vain = 0;        // fresh directions in a row that did not lower the residual
  for (int k = 0; !residual.small; ++k) {
    result.residual = residual.largest;
    if (k == s.options.max_iterations || !std::isfinite(residual.largest)) return false;
    ++result.iterations;
    ws.direction = ws.lu.solve(ws.gradient);
    Residual trial;
    bool lower = false;
    for (double fraction = 1; fraction > 1e-3 && !lower; fraction *= 0.5) {
      ws.trial_delta = delta - fraction * ws.direction;
      evaluate(s, ws.trial_delta, w, ws.trial_gradient);
      trial = residual_of(ws.trial_gradient, tolerance(s), ws);
      lower = trial.small || trial.largest < (1 - 1e-4 * fraction) * residual.largest;
      if (!fresh) break;
    }
    // A fresh Newton direction that does not help is the end, unless the tries have taught something new.
    vain = lower || !fresh ? 0 : vain + 1;
    if (vain > (s.first_order ? 0 : kPatience)) return false;
    const bool quick = lower && trial.largest < 0.2 * residual.largest;
    if (lower) {
      residual = trial;
      delta.swap(ws.trial_delta);
      ws.gradient.swap(ws.trial_gradient);
    }
    fresh = !quick && !residual.small;
    if (fresh) {
      if (!lower) evaluate(s, delta, w, ws.gradient);
      if (!factor(s, delta, w)) return false;
    }
  }
  result.residual = residual.largest;
  return true;
}

// K at the pose of the last `evaluate`.                                                                   theory (8.4)
double kinetic_energy(Stage& s) {
  ContactScratch& c = s.ws.contact;
  auto u = c.u.head(3 * c.set.size());
  switch (s.options.dissipation) {
    case Dissipation::contact:
      c.set.velocities(s.dynamics, u);
      return 0.5 * u.squaredNorm();
    case Dissipation::total:
      return s.dynamics.kinetic_energy();
    case Dissipation::effective:
      c.momentum.noalias() = c.metric * s.dynamics.moved();
      return 0.5 * c.momentum.dot(s.dynamics.moved());
  }
  return 0;
}

// Z = d delta/dw, g = dK/dw and the Gauss-Newton model Q of d2K/dw2 at the current pose.            theory (8.9)
void linearise(Stage& s) {
  Impl& ws = s.ws;
  auto& c = ws.contact;
  const int W = c.set.weight_count(), rows = 3 * c.set.size();
  auto Z = c.Z.leftCols(W);
  c.set.force_columns(s.dynamics.trial(), Z);
  c.solve_columns(ws.lu);
  if (s.options.dissipation == Dissipation::contact) {
    auto U = c.U.topRows(rows);
    auto UZ = c.UZ();
    c.set.velocity_rows(s.dynamics, U);
    UZ.noalias() = U * Z;
    c.g.head(W).noalias() = UZ.transpose() * c.u.head(rows);
    c.Q().noalias() = UZ.transpose() * UZ;
    return;
  }
  auto HZ = c.HZ.leftCols(W);
  if (s.options.dissipation == Dissipation::total) {
    s.dynamics.kinetic_gradient(c.momentum.data());
    ws.gauss_newton.setZero();
    s.dynamics.kinetic_hessian(ws.jacobian.data(), ws.gauss_newton.data());
    HZ.noalias() = ws.gauss_newton.selfadjointView<Eigen::Upper>() * Z;
  } else {
    HZ.noalias() = c.metric * Z;  // c.momentum is that of kinetic_energy()
  }
  c.g.head(W).noalias() = Z.transpose() * c.momentum;
  c.Q().noalias() = Z.transpose() * HZ;
}

// Moves the model of `linearise` to where the pose would be balanced, ws.direction away. Returns K there.
double balance(Stage& s) {
  Impl& ws = s.ws;
  ContactScratch& c = ws.contact;
  const int W = c.set.weight_count(), rows = 3 * c.set.size();
  if (s.options.dissipation == Dissipation::contact) {
    c.u.head(rows).noalias() -= c.U.topRows(rows) * ws.direction;
    c.g.head(W).noalias() = c.UZ().transpose() * c.u.head(rows);
    return 0.5 * c.u.head(rows).squaredNorm();
  }
  if (s.options.dissipation == Dissipation::total)
    c.momentum.noalias() -= ws.gauss_newton.selfadjointView<Eigen::Upper>() * ws.direction;
  else
    c.momentum.noalias() -= c.metric * ws.direction;
  c.g.head(W).noalias() = c.Z.leftCols(W).transpose() * c.momentum;
  ws.trial_delta = s.dynamics.moved() - ws.direction;
  return 0.5 * c.momentum.dot(ws.trial_delta);
}

// By how much could a first-order change of the weights lower K?  g.w - min over the polytope of g.w'     theory (8.10)
double optimality_gap(const Stage& s, const Eigen::VectorXd& w) {
  const auto& c = s.ws.contact;
  const int V = c.set.vertex_count();
  double gap = 0;
  for (int x = 0; x < c.set.size(); ++x) {
    const auto g = c.g.segment(x * V, V);
    gap += g.dot(w.segment(x * V, V)) - std::min(0.0, g.minCoeff());
  }
  return gap;
}

// The quadratic program: w_trial minimises g.dw + 1/2 dw.(Q + beta) dw, dw = w_trial - w. Returns the decrease of K
// that the model without beta predicts.                                                                        theory
// (8.9)
double improve_weights(Stage& s, double beta, SubstepResult& result) {
  ContactScratch& c = s.ws.contact;
  const int W = c.set.weight_count();
  const auto w = c.w.head(W), g = c.g.head(W);
  auto dw = c.dw.head(W);
  auto held = c.Q_held();
  held = c.Q();
  held.diagonal().array() += beta;
  c.g_held.head(W) = g;
  c.g_held.head(W).noalias() -= held * w;
  c.w_trial.head(W) = w;
  result.qp_iterations +=
      c.qp.solve(c.set.size(), c.set.vertex_count(), held.data(), c.g_held.data(), c.w_trial.data()).iterations;
  dw = c.w_trial.head(W) - w;
  c.Qdw.head(W).noalias() = c.Q() * dw;
  return -g.dot(dw) - 0.5 * dw.dot(c.Qdw.head(W));
}

// How well K is known: the projection leaves velocities off by `tolerance` times h.
double noise(const Stage& s, double K) {
  const double mass = s.options.dissipation == Dissipation::contact ? 1 : s.ws.model.total_mass();
  return std::sqrt(2 * K * mass) * tolerance(s) * s.dynamics.h() + 1e-14 * K;
}

// Algorithm 1 from the weights in c.w: leaves the pose in ws.delta and the weights in c.w.
bool descend(Stage& s, SubstepResult& result) {
  Impl& ws = s.ws;
  ContactScratch& c = ws.contact;
  c.metric_wanted = s.options.dissipation == Dissipation::effective;
  s.dynamics.coasting(ws.delta);
  evaluate(s, ws.delta, c.w, ws.gradient);
  if (!factor(s, ws.delta, c.w) || !project(s, ws.delta, c.w, result)) return false;

  double beta = kFirstBeta, K = 0;
  bool accepted = true;
  for (int k = 0;; ++k) {
    if (accepted) {
      evaluate(s, ws.delta, c.w, ws.gradient);
      add_contacts(s);
      K = kinetic_energy(s);
      if (!factor(s, ws.delta, c.w)) return false;
      linearise(s);
      result.optimality = optimality_gap(s, c.w);
      if (result.optimality <= largest_gap(s, K)) break;
    }
    if (k == s.options.max_outer) return false;
    ++result.outer;

    const double predicted = improve_weights(s, beta, result);
    c.delta_trial = ws.delta;
    c.delta_trial.noalias() += c.Z.leftCols(c.set.weight_count()) * c.dw.head(c.set.weight_count());
    const double K_trial = project(s, c.delta_trial, c.w_trial, result) ? kinetic_energy(s) : kInfinity;
    accepted = K_trial < K;
    if (accepted) {
      const double ratio = (K - K_trial) / predicted;
      if (ratio > 0.75) beta = std::max(kSmallestBeta, beta / 10);
      if (ratio < 0.25) beta *= 3;
      ws.delta.swap(c.delta_trial);
      c.w.swap(c.w_trial);
    } else {
      if (predicted <= noise(s, K)) {  // what the model still promises cannot be told from an error of the projection
        if (beta > kFirstBeta) return false;
        break;
      }
      beta *= 10;
      if (beta > kLargestBeta) return false;
      evaluate(s, ws.delta, c.w, ws.gradient);
      if (!factor(s, ws.delta, c.w)) return false;
    }
  }
  evaluate(s, ws.delta, c.w, ws.gradient);  // the last try may have been another pose
  result.residual = residual_of(ws.gradient, tolerance(s), ws).largest;
  return within_chart(ws.model.tree(), s.dynamics.trial());
}

// Newton's method on pose and weights together: G and K are linearised at the pose, the weights minimise the model of K
// over the polytopes, the pose follows the model.                                              theory (8.17), (8.18)
bool iterate(Stage& s, SubstepResult& result) {
  Impl& ws = s.ws;
  ContactScratch& c = ws.contact;
  c.metric_wanted = s.options.dissipation == Dissipation::effective;
  c.set.settle(c.w);
  s.dynamics.coasting(ws.delta);
  evaluate(s, ws.delta, c.w, ws.gradient);
  double most = 0;  // what K may be at the solution
  for (int k = 0;; ++k) {
    add_contacts(s);
    c.set.hold(c.w);
    if (!factor(s, ws.delta, c.w)) return false;
    const Residual residual = residual_of(ws.gradient, tolerance(s), ws);
    result.residual = residual.largest;
    if (!std::isfinite(residual.largest)) return false;
    const double K = kinetic_energy(s);
    linearise(s);
    if (residual.small) {
      result.optimality = optimality_gap(s, c.w);
      if (result.optimality <= largest_gap(s, K)) return K <= most && within_chart(ws.model.tree(), s.dynamics.trial());
    }
    if (k == kMostIterations) return false;
    ++result.iterations;
    ++result.outer;

    ws.direction = ws.lu.solve(ws.gradient);
    const double K_balanced = balance(s);
    const int W = c.set.weight_count();
    const auto w = c.w.head(W);
    if (k == 0) {  // without contact forces K would be this; another branch of G = 0 has far more
      c.Qdw.head(W).noalias() = c.Q() * w;
      most = kSameBranch * (K_balanced - c.g.head(W).dot(w) + 0.5 * w.dot(c.Qdw.head(W))) + kGap;
    }
    const double largest = W > 0 ? c.Q().diagonal().maxCoeff() : 0;
    improve_weights(s, kHold * largest, result);
    ws.delta.noalias() += c.Z.leftCols(W) * c.dw.head(W);
    ws.delta -= ws.direction;
    c.w.head(W) = c.w_trial.head(W);
    move_to(s, ws.delta, ws.gradient);
    c.set.keep_forces(c.w);
    c.set.add_forces(s.dynamics.trial(), c.w, ws.gradient.data());
  }
}

}  // namespace

bool solve(ContactStage& s, const std::vector<double>& weights, SubstepResult& result) {
  Impl& ws = s.ws;
  ContactScratch& c = ws.contact;
  // Every pair near the pose that the velocity leads to takes part.
  s.dynamics.coasting(ws.delta);
  s.dynamics.set_trial(ws.delta.data());
  c.set.select(s.dynamics.trial(), kNear, s.options.gravity.norm(), s.first_order, s.second);
  c.reserve();
  // From the weights at hand; where these lead astray, without contact force, as the paper starts.
  c.set.load_weights(weights, c.w);
  ++result.stages;
  const bool newton = s.options.solver == ContactSolver::newton && s.first_order;
  if (newton ? iterate(s, result) : descend(s, result)) return true;
  if (!newton && weights.empty()) return false;
  ++result.restarts;
  c.set.settle_none();
  c.w.setZero();
  return descend(s, result);
}

}  // namespace scree
