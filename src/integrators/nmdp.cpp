// Steps with contact by the non-convex maximal dissipation principle: backward Euler as published, theory section 8,
// and two stages of second order, theory section 9.
#include <algorithm>
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

// The largest of the bodies' displacements by `rates` in unit time, each the root mean square over its mass.
// theory (9.7)
double largest_displacement(const Tree& tree, const std::vector<BodyRate>& rates) {
  double largest = 0;
  for (size_t i = 0; i < rates.size(); ++i) {
    const SecondMoment<double>& S = tree.nodes[i].S;
    if (!(S.m > 0)) continue;
    const M3<double>& R = rates[i].R;
    const V3<double>& p = rates[i].p;
    // tr(E S E^T), E = [R | p]
    const V3<double> first = S.b.x * R.x + S.b.y * R.y + S.b.z * R.z;
    const double turned = S.A.xx * dot(R.x, R.x) + S.A.yy * dot(R.y, R.y) + S.A.zz * dot(R.z, R.z) +
                          2 * (S.A.xy * dot(R.x, R.y) + S.A.xz * dot(R.x, R.z) + S.A.yz * dot(R.y, R.z));
    largest = std::max(largest, turned / S.m + 2 * dot(p, first) / S.m + dot(p, p));
  }
  return std::sqrt(largest);
}

}  // namespace

SubstepResult substep_nmdp(Discretisation& dynamics, bool first_order, const Control& control,
                           const StepOptions& options, double h, State& state, Impl& ws) {
  SubstepResult result;
  dynamics.begin(state, h, ws.world.gravity);
  ContactStage stage{dynamics, control, options, first_order, ws};
  if (!solve(stage, state.contact_weights, result)) return result;
  ws.record_stage();
  result.converged = accept(dynamics, state, ws);
  return result;
}

namespace {

SubstepResult two_stages(Discretisation& dynamics, const Control& control, const StepOptions& options, double h,
                         State& state, Impl& ws) {
  constexpr double kErrorScale = 8;  // the estimate below covers nine of ten true local errors           theory (9.8)
  SubstepResult result;

  // First stage, up to t + gamma h.
  dynamics.begin_first(state, h, ws.world.gravity);
  ContactStage first{dynamics, ws.control_at(control, state.time + kGamma * h), options, true, ws};
  if (!solve(first, state.contact_weights, result)) return result;
  ws.record_stage();

  // Second stage, up to t + h: without the accelerations of contacts that carried no such load before,
  // or that would leap.                                                                          theory (9.3), (9.10)
  ContactScratch& c = ws.contact;
  ws.nmdp2.unwanted.setZero();
  c.set.take_out_impacts(dynamics, c.w, state, DynamicsAccess::impl(ws.dynamics).body_twists(state.v.data()),
                         ws.nmdp2.unwanted);
  c.set.store_weights(c.w, ws.nmdp2.weights);
  if (!ws.nmdp2.unwanted.isZero(0) && !dynamics.divide_by_mass(ws.nmdp2.unwanted.data())) return result;
  if (!dynamics.begin_second(ws.nmdp2.unwanted.data())) return result;
  ContactStage second{dynamics, ws.control_at(control, state.time + h), options, true, ws, true};
  if (!solve(second, ws.nmdp2.weights, result)) return result;
  ws.record_stage();

  // Local error: the step's quadrature of the rates against the one of third order.                      theory (9.7)
  constexpr double kShare = 1 / (6 * kGamma * (1 - kGamma)) - (1 - kGamma);
  dynamics.rate_defect(ws.nmdp2.rate_defect);
  result.error = kErrorScale * h * kShare * largest_displacement(tree_of(ws.model), ws.nmdp2.rate_defect);
  if (ws.accuracy > 0 && !(result.error <= ws.accuracy)) {
    result.inaccurate = true;
    return result;
  }
  result.converged = accept(dynamics, state, ws);
  return result;
}

}  // namespace

SubstepResult substep_nmdp2(Discretisation& dynamics, const Control& control, const StepOptions& options, double h,
                            State& state, Impl& ws) {
  SubstepResult result = two_stages(dynamics, control, options, h, state, ws);
  // The shortest substep of a controlled step, and nothing solves it: the least motion of the points that touch is
  // found where the least energy is not, and over so short a time they differ by next to nothing.       theory (9.12)
  const bool shortest = options.accuracy > 0 && ws.accuracy == 0;
  if (result.converged || !shortest || options.dissipation == Dissipation::contact) return result;
  StepOptions by_points = options;
  by_points.dissipation = Dissipation::contact;
  ws.stages.clear();
  const SubstepResult first = result;
  result = two_stages(dynamics, control, by_points, h, state, ws);
  result.iterations += first.iterations;
  result.outer += first.outer;
  result.qp_iterations += first.qp_iterations;
  result.restarts += first.restarts + 1;
  result.stages += first.stages;
  return result;
}

}  // namespace scree
