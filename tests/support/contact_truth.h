// What a substep of NMDP promises, computed anew from the state before it, the state after it and the weights it left:
// is G = 0, are the weights in their polytopes, and could another choice of them have a smaller K?
#pragma once

#include <Eigen/LU>
#include <algorithm>

#include "integrators/workspace.h"
#include "scree/dynamics.h"
#include "scree/kinematics.h"

namespace scree::test {

struct ContactTruth {
  double residual = 0;      // [m/s^2, rad/s^2] largest unbalanced acceleration
  double rounding = 0;      // [m/s^2, rad/s^2] the part of it that one rounding of every pose can make
  double infeasible = 0;    // by how much a weight or a sum of weights leaves its bounds
  double displacement = 0;  // [m, rad] largest difference of q_n (+) delta and the new q
  double size = 0;          // [m, rad] largest position
  double K = 0;             // [J]
  double gap = 0;           // [J] g.w - min over the polytope of g.w', g = dK/dw by differences
  double missed = 0;        // [J] how much lower K gets on the way from w to that w', with G = 0 kept
  int touching = 0;         // contacts in the ground
};

// `before`: the state the substep of length h started from; `after`: where it ended; `ws`: the workspace it left.
inline ContactTruth contact_truth(const Model& model, const World& world, const Control& control,
                                  const StepOptions& options, const State& before, double h, const State& after,
                                  StepWorkspace::Impl& ws, bool with_gap) {
  const int n = model.nv();
  const bool newton_euler =
      options.integrator == IntegratorType::ne_nmdp || options.integrator == IntegratorType::ne_zonmdp;
  NewtonEulerStage ne(model);
  PositionBasedStage pbd(model);
  Discretisation& stage = newton_euler ? static_cast<Discretisation&>(ne) : pbd;
  JointForces joints(model);
  stage.begin(before, h, world.gravity);
  const Eigen::VectorXd delta = ws.delta;

  ContactTruth truth;
  truth.displacement = (position_difference(model, before.q, after.q) - delta).cwiseAbs().maxCoeff();

  truth.size = after.q.cwiseAbs().maxCoeff();

  // Every pair is a slot here: one that the integrator left out and that touches would show in the residual, for it
  // would take up no weight but be counted, and in the weights.
  ContactSet all(model, world);
  const int V = all.vertex_count();
  stage.set_trial(delta.data());
  all.select(stage.trial(), 1e9, true);
  Eigen::VectorXd w = Eigen::VectorXd::Zero(all.weight_count());
  all.load_weights(after.contact_weights, w);
  for (int x = 0; x < all.size(); ++x) {
    truth.infeasible = std::max({truth.infeasible, -w.segment(x * V, V).minCoeff(), w.segment(x * V, V).sum() - 1});
  }
  const auto G = [&](const Eigen::VectorXd& d, const Eigen::VectorXd& weights) {
    Eigen::VectorXd forces(n);
    double potential = 0;
    stage.set_trial(d.data());
    stage.residual(forces.data());
    joints.add_implicit(control, joint_stage(stage), d.data(), potential, forces.data(), nullptr);
    all.evaluate(stage.trial());
    all.add_forces(stage.trial(), weights, forces.data());
    return forces;
  };
  Dynamics dynamics(model);
  dynamics.set_position(after.q);
  const Eigen::VectorXd inertia = dynamics.mass_matrix().diagonal();
  truth.residual = (G(delta, w).array().abs() / inertia.array()).maxCoeff();
  truth.rounding = ws.residual_scale.rounding.maxCoeff();
  std::vector<Contact> contacts;
  all.report(stage.trial(), w, contacts);
  for (const Contact& contact : contacts) truth.touching += contact.depth > 0;
  if (!with_gap) return truth;

  // The Jacobian without contact at delta, and the whole one.
  const auto jacobian = [&](const Eigen::VectorXd& d, bool contact) {
    Eigen::MatrixXd J = Eigen::MatrixXd::Zero(n, n), H = J;
    const Eigen::VectorXd forces = G(d, w);
    stage.jacobian(J.data());
    double potential = 0;
    Eigen::VectorXd unused = forces;
    joints.add_implicit(control, joint_stage(stage), d.data(), potential, unused.data(), H.data());
    H.triangularView<Eigen::StrictlyLower>() = H.transpose();
    J += H;
    if (contact) all.add_jacobian(stage.trial(), w, J.data());
    return J;
  };
  const Eigen::MatrixXd free = jacobian(h * before.v, false), metric = 0.5 * (free + free.transpose());
  const Eigen::VectorXd turning = (metric - free) * (h * before.v);

  // K counts the contacts that have touched on the way to the solution: which ones is the integrator's choice.
  ContactSet counted = ws.contact.set;
  Eigen::VectorXd u(3 * counted.size());
  const auto K = [&](const Eigen::VectorXd& d) {
    stage.set_trial(d.data());
    switch (options.dissipation) {
      case Dissipation::contact:
        counted.evaluate(stage.trial());
        counted.velocities(stage, u);
        return 0.5 * u.squaredNorm();
      case Dissipation::total:
        return stage.kinetic_energy();
      case Dissipation::effective:
        return 0.5 * d.dot(metric * d) + turning.dot(d);
    }
    return 0.0;
  };
  truth.K = K(delta);

  // G(delta(w), w) = 0 followed by Newton's method with the Jacobian at the solution: the weights change by 1e-5
  // (1e-2 further down), so every iteration gains about five (two) digits.
  const Eigen::PartialPivLU<Eigen::MatrixXd> lu(jacobian(delta, true));
  const auto follow = [&](const Eigen::VectorXd& weights) {
    Eigen::VectorXd d = delta;
    for (int k = 0; k < 6; ++k) d -= lu.solve(G(d, weights));
    return d;
  };
  const double step = 1e-5;
  Eigen::VectorXd target = Eigen::VectorXd::Zero(w.size());
  for (int x = 0; x < all.size(); ++x) {
    Eigen::VectorXd g(V);
    for (int j = 0; j < V; ++j) {
      Eigen::VectorXd plus = w, minus = w;
      plus(x * V + j) += step;
      minus(x * V + j) -= step;
      g(j) = (K(follow(plus)) - K(follow(minus))) / (2 * step);
    }
    int best = 0;
    const double least = g.minCoeff(&best);
    truth.gap += g.dot(w.segment(x * V, V)) - std::min(0.0, least);
    if (least < 0) target(x * V + best) = 1;
  }
  const double start = K(follow(w));  // delta is known to the tolerance of the step, this one to rounding
  for (const double fraction : {1e-4, 1e-3, 1e-2})
    truth.missed = std::max(truth.missed, start - K(follow(w + fraction * (target - w))));
  return truth;
}

}  // namespace scree::test
