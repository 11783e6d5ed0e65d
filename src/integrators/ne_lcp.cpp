// Newton-Euler with rigid contact and dry friction as a linear complementarity problem (Stewart and Trinkle 1996;
// Anitescu and Potra 1997), linearised at the start of the step.
// theory section 12
//
//   A delta = M v_n/h - C(q_n, v_n) - U' + J^T f,   v = delta/h                                          theory (12.1)
//   0 <= f_n   _|_  gap/h + n.u >= 0                u = J v: velocity of the surface point               theory (12.2)
//   0 <= beta  _|_  lambda + d_k.u >= 0             f_t = sum_k beta_k d_k                               theory (12.3)
//   0 <= lambda  _|_  mu f_n - sum_k beta_k >= 0
//
// Contact is rigid: ContactWorld::law plays no part, friction is ContactWorld::smooth.friction. Only pairs of point and
// solid that this step would drive into each other are unknowns: a pair whose gap stays open without a force solves
// its part of the problem with f = 0. So the pairs found in the ground at the end of the step are added until there
// are none, and no margin decides who takes part.
#include <algorithm>
#include <cmath>

#include "integrators/workspace.h"
#include "math/eigen.h"

namespace scree {
namespace {

using Impl = StepWorkspace::Impl;
using Slot = LcpScratch::Slot;

// In the ground a point is let out by this share of its depth a step, but not faster than that.          theory (12.4)
constexpr double kRecovery = 0.2;
constexpr double kRecoverySpeed = 0.1;  // [m/s] throws up by 0.5 mm

struct Problem {
  double h;
  const Kinematics<double>& kin;  // at the start of the step
  Impl& ws;
  LcpScratch& lcp;
  double recovery = kRecovery;
  bool lasting = false;  // closed contacts, given beforehand, that must not approach
};

// The displacement along the normal that a point may not go below: the way to the surface, or out of it.  theory (12.4)
double allowed(const Problem& p, double gap) {
  if (p.lasting) return 0;
  return gap >= 0 ? -gap : std::min(-p.recovery * gap, p.h * kRecoverySpeed);
}

// The pair takes part.
Slot& add_slot(const Problem& p, int pair, const Proximity& at) {
  Slot slot{};
  static_cast<RigidContact&>(slot) = rigid_contact(p.ws.pairs, p.kin, pair, at);
  if (!(p.ws.world.smooth.friction > 0)) slot.tangents = 0;
  slot.directions = slot.tangents == 2 ? static_cast<int>(p.lcp.polygon.cols()) : 2 * slot.tangents;
  slot.column = p.lcp.columns;
  slot.unknown = p.lcp.unknowns;
  p.lcp.columns += 1 + slot.tangents;
  p.lcp.unknowns += 1 + slot.directions + (slot.directions > 0 ? 1 : 0);
  p.lcp.slot_of[static_cast<size_t>(pair)] = static_cast<int>(p.lcp.slots.size());
  return p.lcp.slots.emplace_back(slot);
}

void start_slots(LcpScratch& lcp) {
  lcp.slots.clear();
  std::fill(lcp.slot_of.begin(), lcp.slot_of.end(), -1);
  lcp.columns = lcp.unknowns = 0;
}

// Adds the pairs that the displacement ws.delta takes further down than allowed. How many?
int add_violated(const Problem& p) {
  const Pairs& pairs = p.ws.pairs;
  const size_t before = p.lcp.slots.size();
  for (int pair = 0; pair < pairs.count(); ++pair) {
    if (p.lcp.slot_of[static_cast<size_t>(pair)] >= 0) continue;
    const V3<double> c = pairs.core(p.kin, pair), dx = pairs.velocity(p.kin, pair, c, p.ws.delta);
    // Nothing further away can be touched.
    if (pairs.gap_bound(p.kin, pair, c) > std::sqrt(dot(dx, dx))) continue;
    const Proximity at = pairs.proximity(p.kin, pair, c);
    if (dot(at.n, dx) < allowed(p, at.gap)) add_slot(p, pair, at);
  }
  return static_cast<int>(p.lcp.slots.size() - before);
}

// Direction k of a slot's unknowns, 0: n, 1...: d_k, as a combination of its columns n, t1, t2.
Vec3 direction(const LcpScratch& lcp, const Slot& slot, int k) {
  if (k == 0) return Vec3::UnitX();
  if (slot.tangents == 1) return Vec3(0, k == 1 ? 1 : -1, 0);
  return Vec3(0, lcp.polygon(0, k - 1), lcp.polygon(1, k - 1));
}

// u = u_free + G p, p = h f the impulses, G = J (h^2 A)^-1 J^T.                                        theory (12.5)
void assemble(const Problem& p) {
  LcpScratch& c = p.lcp;
  const int nv = p.ws.model.nv();
  c.reserve(nv);
  auto J = c.J(nv), Y = c.Y(nv);
  J.setZero();
  for (const Slot& slot : c.slots)
    p.ws.pairs.for_dofs(slot.pair, [&](size_t dof) {
      const Eigen::Index a = static_cast<Eigen::Index>(dof);
      const V3<double> v = velocity_at(p.kin.xi[dof], slot.x);
      J(a, slot.column) = dot(slot.n, v);
      for (int k = 0; k < slot.tangents; ++k) J(a, slot.column + 1 + k) = dot(slot.tangent[k], v);
    });
  Y.noalias() = p.ws.lu.permutationP() * J;
  p.ws.lu.matrixLU().triangularView<Eigen::UnitLower>().solveInPlace(Y);
  p.ws.lu.matrixLU().triangularView<Eigen::Upper>().solveInPlace(Y);
  auto G = c.G();
  G.noalias() = (1 / (p.h * p.h)) * J.transpose() * Y;
  c.u.head(c.columns).noalias() = (1 / p.h) * J.transpose() * p.ws.trial_delta;
  for (Slot& slot : c.slots) {
    const double mean = G.diagonal().segment(slot.column, 1 + slot.tangents).mean();
    slot.scale = mean > 0 ? 1 / std::sqrt(mean) : 1;
  }

  auto M = c.M();
  M.setZero();
  auto q = c.q.head(c.unknowns);
  q.setZero();
  for (const Slot& i : c.slots) {
    for (const Slot& j : c.slots) {
      Mat3 block = Mat3::Zero();
      block.topLeftCorner(1 + i.tangents, 1 + j.tangents) =
          i.scale * j.scale * G.block(i.column, j.column, 1 + i.tangents, 1 + j.tangents);
      for (int l = 0; l <= j.directions; ++l) {
        const Vec3 column = block * direction(c, j, l);
        for (int k = 0; k <= i.directions; ++k) M(i.unknown + k, j.unknown + l) = direction(c, i, k).dot(column);
      }
    }
    Vec3 u = Vec3::Zero();
    u.head(1 + i.tangents) = i.scale * (c.u.segment(i.column, 1 + i.tangents) + Vec3::Map(i.turn).head(1 + i.tangents));
    for (int k = 0; k <= i.directions; ++k) q(i.unknown + k) = direction(c, i, k).dot(u);
    q(i.unknown) -= i.scale * allowed(p, i.gap) / p.h;
    if (i.directions == 0) continue;
    const int lambda = i.unknown + 1 + i.directions;
    M(lambda, i.unknown) = p.ws.world.smooth.friction;
    for (int k = 1; k <= i.directions; ++k) {
      M(i.unknown + k, lambda) = 1;
      M(lambda, i.unknown + k) = -1;
    }
  }
}

// Forces of the slots, and the displacement with them.
void apply_forces(const Problem& p) {
  LcpScratch& c = p.lcp;
  for (const Slot& slot : c.slots) {
    Vec3 impulse = Vec3::Zero();
    for (int k = 0; k <= slot.directions; ++k) impulse += c.z(slot.unknown + k) * direction(c, slot, k);
    c.f.segment(slot.column, 1 + slot.tangents) = (slot.scale / p.h) * impulse.head(1 + slot.tangents);
  }
  p.ws.delta = p.ws.trial_delta;
  p.ws.delta.noalias() += c.Y(p.ws.model.nv()) * c.f.head(c.columns);
}

// The largest violation.
double as_acceleration(const Problem& p, const LcpReport& report) {
  double lightest = std::numeric_limits<double>::infinity();
  for (const Slot& slot : p.lcp.slots) lightest = std::min(lightest, slot.scale);
  return report.residual * report.scale / (lightest * p.h);
}

bool solve_contact(Problem& p, SubstepResult& result) {
  LcpScratch& c = p.lcp;
  p.ws.trial_delta = p.ws.delta;  // without contact forces
  start_slots(c);
  result.residual = 0;
  while (add_violated(p) > 0) {
    assemble(p);
    LcpReport report = c.lemke.solve(c.M(), c.q.head(c.unknowns), c.z.head(c.unknowns));
    result.qp_iterations += report.iterations;
    ++result.outer;
    // Points jammed between two solids cannot be let out of both. Without letting out there is always a solution.
    if (!report.solved() && p.recovery > 0 &&
        std::any_of(c.slots.begin(), c.slots.end(), [](const Slot& slot) { return slot.gap < 0; })) {
      p.recovery = 0;
      assemble(p);
      report = c.lemke.solve(c.M(), c.q.head(c.unknowns), c.z.head(c.unknowns));
      result.qp_iterations += report.iterations;
      ++result.outer;
    }
    result.residual = as_acceleration(p, report);
    if (!report.solved()) return false;
    apply_forces(p);
  }
  return true;
}

// Pairs with a force, where it acts; depths, and pairs in the ground without a force, at the end of the step.
void report_contacts(const Problem& p, const Kinematics<double>& end) {
  const Pairs& pairs = p.ws.pairs;
  p.ws.contacts.clear();
  for (int pair = 0; pair < pairs.count(); ++pair) {
    const int index = p.lcp.slot_of[static_cast<size_t>(pair)];
    const Slot* slot = index >= 0 ? &p.lcp.slots[static_cast<size_t>(index)] : nullptr;
    const bool loaded = slot && p.lcp.f(slot->column) > 0;
    const V3<double> c = pairs.core(end, pair);
    if (!loaded && pairs.gap_bound(end, pair, c) >= 0) continue;
    const Proximity at = pairs.proximity(end, pair, c);
    if (!loaded && at.gap >= 0) continue;
    Contact contact;
    contact.point = pairs.point_of(pair);
    contact.solid = pairs.solid_of(pair);
    contact.depth = -at.gap;
    contact.normal = to_eigen(loaded ? slot->n : at.n);
    contact.position = to_eigen(end.origin + (loaded ? slot->x : at.x_a));
    if (loaded) contact.force = to_eigen(force_of(p.lcp, *slot));
    p.ws.contacts.push_back(contact);
  }
}

}  // namespace

namespace {

bool solve_pass(const std::vector<LastingPair>& pairs, const Control& control, const StepOptions& options, double h,
                const State& state, Impl& ws, SubstepResult& result, const LastingPass* first) {
  solve_linearised(control, options, h, state, ws, first ? &first->v_middle : nullptr);
  if (!ws.delta.allFinite()) return false;
  ws.trial_delta = ws.delta;
  const Kinematics<double>& kin = ws.dynamics.impl().kinematics;
  Problem p{.h = h, .kin = kin, .ws = ws, .lcp = ws.lcp, .lasting = true};
  start_slots(ws.lcp);
  const Eigen::VectorXd& v = first ? first->v_end : state.v;
  for (const LastingPair& other : pairs) {
    Slot& slot = add_slot(p, other.pair, ws.pairs.proximity(kin, other.pair));
    const V3<double> u = ws.pairs.velocity(kin, slot.pair, slot.x, v);
    const double sign = first ? -1 : 1;  // from the start to the middle, or from the middle to the end
    slot.turn[0] = sign * (dot(slot.n, u) - other.u[0]);
    for (int t = 0; t < slot.tangents; ++t) {
      const double same = std::copysign(1.0, dot(slot.tangent[t], other.tangent[t]));
      slot.turn[t + 1] = sign * (dot(slot.tangent[t], u) - same * other.u[t + 1]);
    }
  }
  assemble(p);
  LcpScratch& c = ws.lcp;
  const LcpReport report = c.lemke.solve(c.M(), c.q.head(c.unknowns), c.z.head(c.unknowns));
  result.qp_iterations += report.iterations;
  ++result.outer;
  result.residual = as_acceleration(p, report);
  if (!report.solved()) return false;
  apply_forces(p);
  return (ws.delta.array().abs() < 1e6 * h).all();
}

}  // namespace

bool solve_lasting(const std::vector<LastingPair>& pairs, const Control& control, const StepOptions& options, double h,
                   const State& state, Impl& ws, SubstepResult& result, const LastingPass* first) {
  if (first) return solve_pass(pairs, control, options, h, state, ws, result, first);  // on the sides it ended on
  return solve_on_sides(control, options, h, state, ws, result,
                        [&] { return solve_pass(pairs, control, options, h, state, ws, result, nullptr); });
}

// [N] on A, world axes.
V3<double> force_of(const LcpScratch& lcp, const LcpScratch::Slot& slot) {
  V3<double> force = lcp.f(slot.column) * slot.n;
  for (int k = 0; k < slot.tangents; ++k) force += lcp.f(slot.column + 1 + k) * slot.tangent[k];
  return force;
}

void LcpScratch::reserve(int nv) {
  const auto grow = [](Eigen::VectorXd& x, Eigen::Index size) {
    if (x.size() < size) x.resize(2 * size);
  };
  grow(J_, nv * columns);
  grow(Y_, nv * columns);
  grow(G_, columns * columns);
  grow(M_, unknowns * unknowns);
  grow(u, columns);
  grow(f, columns);
  grow(q, unknowns);
  grow(z, unknowns);
  lemke.reserve(unknowns);
}

namespace {

bool solve_lcp(const Control& control, const StepOptions& options, double h, const State& state, Impl& ws,
               SubstepResult& result) {
  solve_linearised(control, options, h, state, ws);
  if (!ws.delta.allFinite()) return false;
  if (!ws.has_contact()) return true;
  ws.newton_euler.begin(state, h, options.gravity);
  ws.direction.setZero();
  ws.newton_euler.set_trial(ws.direction.data());  // the pose at the start
  Problem problem{h, ws.newton_euler.trial(), ws, ws.lcp};
  return solve_contact(problem, result);
}

}  // namespace

SubstepResult substep_lcp(const Control& control, const StepOptions& options, double h, State& state, Impl& ws) {
  SubstepResult result;
  if (!solve_on_sides(control, options, h, state, ws, result,
                      [&] { return solve_lcp(control, options, h, state, ws, result); }))
    return result;
  // An explosion is a failure, not a state.
  if (!(ws.delta.array().abs() < 1e6 * h).all()) return result;
  if (ws.has_contact()) {
    ws.newton_euler.set_trial(ws.delta.data());
    report_contacts({h, ws.newton_euler.trial(), ws, ws.lcp}, ws.newton_euler.trial());
  } else {
    result.residual = 0;
  }
  apply_displacement(tree_of(ws.model), ws.delta.data(), state.q.data());
  state.v = ws.delta / h;
  state.body_rates.clear();
  state.contact_weights.clear();  // of other integrators
  state.contact_loads.clear();
  result.converged = true;
  return result;
}

}  // namespace scree
