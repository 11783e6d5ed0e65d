// Newton-Euler with rigid contact and dry friction as a linear complementarity problem (Stewart and Trinkle 1996;
// Anitescu and Potra 1997), linearised at the start of the step. The problem itself: rigid_lcp.h.
// theory section 12
//
// Only pairs of point and solid that this step would drive into each other are unknowns: a pair whose gap stays open
// without a force solves its part of the problem with f = 0. So the pairs found in the ground at the end of the step
// are added until there are none, and no margin decides who takes part.
#include <algorithm>
#include <cmath>

#include "integrators/linearised.h"
#include "integrators/rigid_lcp.h"
#include "math/eigen.h"

namespace scree {
namespace {

using Impl = StepWorkspace::Impl;

// Adds the pairs that the displacement ws.delta takes further down than allowed. How many?
int add_violated(const Kinematics<double>& start, RigidLcp& problem, Impl& ws) {
  int added = 0;
  // Nothing further away than it moves can be touched; no point of a cluster moves further than this.
  const auto reach = [&](const PointCluster& cluster, const V3<double>& centre) {
    Twist<double> turn = {{0, 0, 0}, {0, 0, 0}};
    ws.pairs.for_dofs(cluster.pair, [&](size_t a) { turn += ws.delta(static_cast<Eigen::Index>(a)) * start.xi[a]; });
    const V3<double> dx = velocity_at(turn, centre);
    return (1 + 1e-10) * (std::sqrt(dot(dx, dx)) + std::sqrt(dot(turn.w, turn.w)) * cluster.radius);
  };
  for (const int pair : ws.near.find(ws.pairs, start, reach)) {
    if (ws.lcp.slot_of[static_cast<size_t>(pair)] >= 0) continue;
    const V3<double> c = ws.pairs.core(start, pair), dx = ws.pairs.velocity(start, pair, c, ws.delta);
    if (ws.pairs.gap_bound(start, pair, c) > std::sqrt(dot(dx, dx))) continue;
    const Proximity at = ws.pairs.proximity(start, pair, c);
    if (!(dot(at.n, dx) < problem.allowed(at.gap))) continue;
    problem.add(pair, at);
    ++added;
  }
  return added;
}

bool solve_step(const Control& control, const StepOptions& options, double h, const State& state, Impl& ws,
                SubstepResult& result) {
  solve_linearised(control, options, h, state, ws);
  if (!ws.delta.allFinite()) return false;
  if (!ws.has_contact()) return true;
  result.residual = 0;
  const Kinematics<double>& start = start_pose(h, state, ws);
  RigidLcp problem(h, start, false, ws);
  while (add_violated(start, problem, ws) > 0)
    // Points jammed between two solids cannot be let out of both. Without letting out there is always a solution.
    if (!problem.solve(result) && !(problem.stop_letting_out() && problem.solve(result))) return false;
  return true;
}

// Pairs with a force, where it acts; depths, and pairs in the ground without a force, at the end of the step.
void report_contacts(const Kinematics<double>& end, Impl& ws) {
  const Pairs& pairs = ws.pairs;
  ws.contacts.clear();
  std::vector<int>& touching = ws.lcp.touching;
  touching = ws.near.find(pairs, end, 0.0);
  for (const LcpScratch::Slot& slot : ws.lcp.slots) touching.push_back(slot.pair);
  std::sort(touching.begin(), touching.end());
  touching.erase(std::unique(touching.begin(), touching.end()), touching.end());
  for (const int pair : touching) {
    const int index = ws.lcp.slot_of[static_cast<size_t>(pair)];
    const LcpScratch::Slot* slot = index >= 0 ? &ws.lcp.slots[static_cast<size_t>(index)] : nullptr;
    const bool loaded = slot && ws.lcp.f(slot->column) > 0;
    const V3<double> c = pairs.core(end, pair);
    if (!loaded && pairs.gap_bound(end, pair, c) >= 0) continue;
    const Proximity at = pairs.proximity(end, pair, c);
    if (!loaded && at.gap >= 0) continue;
    Contact contact;
    contact.a = pairs.colliders_of(pair).a;
    contact.b = pairs.colliders_of(pair).b;
    contact.depth = -at.gap;
    contact.normal = to_eigen(loaded ? slot->n : at.n);
    contact.position = to_eigen(end.origin + (loaded ? slot->x : at.x_a));
    if (loaded) contact.force = to_eigen(force_of(ws.lcp, *slot));
    ws.contacts.push_back(contact);
  }
}

}  // namespace

SubstepResult substep_lcp(const Control& control, const StepOptions& options, double h, State& state, Impl& ws) {
  SubstepResult result;
  if (!solve_on_sides(control, options, h, state, ws, result,
                      [&] { return solve_step(control, options, h, state, ws, result); }))
    return result;
  if (exploded(h, ws)) return result;
  if (ws.has_contact()) {
    ws.newton_euler.set_trial(ws.delta.data());
    report_contacts(ws.newton_euler.trial(), ws);
  } else {
    result.residual = 0;
  }
  accept_linearised(h, ws, state);
  state.contact_weights.clear();  // of other integrators
  state.contact_loads.clear();
  result.converged = true;
  return result;
}

}  // namespace scree
