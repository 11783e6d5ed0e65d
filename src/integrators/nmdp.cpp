// Steps with contact by the non-convex maximal dissipation principle: backward Euler as published, theory section 8,
// and two stages of second order, theory section 9.
#include <cmath>

#include "integrators/contact_stage.h"

namespace scree {
namespace {

using Impl = StepWorkspace::Impl;

bool accept(Discretisation& dynamics, State& state, Impl& ws) {
  if (!dynamics.accept(state)) return false;
  ContactScratch& c = ws.contact;
  c.set.report(dynamics.trial(), c.w, ws.contacts);
  c.set.store(c.w, state);
  return true;
}

// Root mean square over the robot's mass of the displacement that `e` stands for.                        theory (9.7)
double mean_displacement(const Tree& tree, const Kinematics<double>& kin, const Eigen::VectorXd& e) {
  double mass = 0, sum = 0;
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    Twist<double> V = {{0, 0, 0}, {0, 0, 0}};
    for (int a = tree.last_dof[i]; a >= 0; a = tree.dof_parent[static_cast<size_t>(a)])
      V += e(a) * kin.xi[static_cast<size_t>(a)];
    sum += dot(V, world_second_moment(tree.nodes[i].S, kin.R[i], kin.p[i]) * V);
    mass += tree.nodes[i].S.m;
  }
  return std::sqrt(sum / mass);
}

}  // namespace

SubstepResult substep_nmdp(Discretisation& dynamics, bool first_order, const Control& control,
                           const StepOptions& options, double h, State& state, Impl& ws) {
  SubstepResult result;
  dynamics.begin(state, h, options.gravity);
  ContactStage stage{dynamics, control, options, first_order, ws};
  if (!solve(stage, state.contact_weights, result)) return result;
  ws.record_stage();
  result.converged = accept(dynamics, state, ws);
  return result;
}

SubstepResult substep_nmdp2(Discretisation& dynamics, const Control& control, const StepOptions& options, double h,
                            State& state, Impl& ws) {
  constexpr double kErrorScale = 8;  // the estimate below covers nine of ten true local errors           theory (9.8)
  SubstepResult result;

  // First stage, up to t + gamma h.
  dynamics.begin_first(state, h, options.gravity);
  ContactStage first{dynamics, ws.control_at(control, state.time + kGamma * h), options, true, ws};
  if (!solve(first, state.contact_weights, result)) return result;
  ws.record_stage();
  ws.rates = (ws.delta - dynamics.joint_rest()) / dynamics.h() - (1 - kGamma) * dynamics.joint_coast();

  // Second stage, up to t + h: without the accelerations of contacts that carried no such load before,
  // or that would leap.                                                                          theory (9.3), (9.10)
  ContactScratch& c = ws.contact;
  ws.unwanted.setZero();
  c.set.take_out_impacts(dynamics, c.w, state, ws.dynamics.impl().body_twists(state.v.data()), ws.unwanted);
  c.set.store_weights(c.w, ws.stage_weights);
  if (!ws.unwanted.isZero(0) && !dynamics.divide_by_mass(ws.unwanted.data())) return result;
  if (!dynamics.begin_second(ws.unwanted.data())) return result;
  ContactStage second{dynamics, ws.control_at(control, state.time + h), options, true, ws, true};
  if (!solve(second, ws.stage_weights, result)) return result;
  ws.record_stage();

  // Local error: the step's quadrature of the rates against the one of third order.                      theory (9.7)
  ws.rates -= (kGamma / dynamics.h()) * (ws.delta - dynamics.joint_rest());
  ws.rates *= h * (1 / (6 * kGamma * (1 - kGamma)) - (1 - kGamma));
  result.error = kErrorScale * mean_displacement(ws.model.tree(), dynamics.trial(), ws.rates);
  if (ws.accuracy > 0 && !(result.error <= ws.accuracy)) {
    result.inaccurate = true;
    return result;
  }
  result.converged = accept(dynamics, state, ws);
  return result;
}

}  // namespace scree
