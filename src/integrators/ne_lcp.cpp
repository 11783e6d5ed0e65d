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

template <class Visit> void for_path(const Tree& tree, int node, Visit&& visit) {
  for (int a = tree.last_dof[static_cast<size_t>(node)]; a >= 0; a = tree.dof_parent[static_cast<size_t>(a)]) visit(a);
}

V3<double> centre(const Kinematics<double>& kin, const ContactPoint& point) {
  const size_t node = static_cast<size_t>(point.body.value());
  return kin.R[node] * to_v3(point.p_B) + kin.p[node];
}

V3<double> point_displacement(const Problem& p, int node, const V3<double>& x) {
  Twist<double> sum = {{0, 0, 0}, {0, 0, 0}};
  for_path(tree_of(p.ws.model), node, [&](int a) { sum += p.ws.delta(a) * p.kin.xi[static_cast<size_t>(a)]; });
  return sum.v + cross(sum.w, x);
}

// The displacement along the normal that a point may not go below: the way to the surface, or out of it.  theory (12.4)
double allowed(const Problem& p, double gap) {
  if (p.lasting) return 0;
  return gap >= 0 ? -gap : std::min(-p.recovery * gap, p.h * kRecoverySpeed);
}

// The tangents along which the point can be moved at all: of a planar model there is but one, and friction across it
// would be as large as one likes.
void choose_tangents(const Impl& ws, const Kinematics<double>& kin, Slot& slot) {
  const V3<double> e = std::abs(slot.n.x) < 0.9 ? V3<double>{1, 0, 0} : V3<double>{0, 1, 0};
  V3<double> t1 = e - dot(e, slot.n) * slot.n;
  t1 = (1 / std::sqrt(dot(t1, t1))) * t1;
  const V3<double> t2 = cross(slot.n, t1);
  double xx = 0, xy = 0, yy = 0;  // of J_t J_t^T
  for_path(tree_of(ws.model), slot.node, [&](int a) {
    const Twist<double>& xi = kin.xi[static_cast<size_t>(a)];
    const V3<double> v = xi.v + cross(xi.w, slot.surface);
    const double x = dot(t1, v), y = dot(t2, v);
    xx += x * x, xy += x * y, yy += y * y;
  });
  const double mean = 0.5 * (xx + yy), spread = std::hypot(0.5 * (xx - yy), xy);
  slot.tangent[0] = t1;
  slot.tangent[1] = t2;
  slot.tangents = ws.world.smooth.friction > 0 && mean > 0 ? 2 : 0;
  if (slot.tangents == 2 && mean - spread <= 1e-12 * mean) {
    const double angle = 0.5 * std::atan2(2 * xy, xx - yy);  // of the larger eigenvalue
    slot.tangent[0] = std::cos(angle) * t1 + std::sin(angle) * t2;
    slot.tangents = 1;
  }
  slot.directions = slot.tangents == 2 ? static_cast<int>(ws.lcp.polygon.cols()) : 2 * slot.tangents;
}

Slot describe(const Impl& ws, const Kinematics<double>& kin, size_t point, size_t solid, const V3<double>& c,
              const SignedDistance& ground) {
  const ContactPoint& sphere = ws.world.points[point];
  Slot slot{};
  slot.point = static_cast<int>(point);
  slot.solid = static_cast<int>(solid);
  slot.node = sphere.body.value();
  slot.gap = ground.value - sphere.radius;
  slot.n = to_v3(ground.gradient);
  slot.surface = c - sphere.radius * slot.n;
  choose_tangents(ws, kin, slot);
  return slot;
}

// The pair takes part, with its centre at c.
void add_slot(const Problem& p, size_t point, size_t solid, const V3<double>& c, const SignedDistance& ground) {
  p.lcp.slot_of[point * p.ws.world.environment.solids().size() + solid] = static_cast<int>(p.lcp.slots.size());
  Slot slot = describe(p.ws, p.kin, point, solid, c, ground);
  slot.column = p.lcp.columns;
  slot.unknown = p.lcp.unknowns;
  p.lcp.columns += 1 + slot.tangents;
  p.lcp.unknowns += 1 + slot.directions + (slot.directions > 0 ? 1 : 0);
  p.lcp.slots.push_back(slot);
}

void start_slots(LcpScratch& lcp) {
  lcp.slots.clear();
  std::fill(lcp.slot_of.begin(), lcp.slot_of.end(), -1);
  lcp.columns = lcp.unknowns = 0;
}

// Adds the pairs that the displacement ws.delta takes further down than allowed. How many?
int add_violated(const Problem& p) {
  const ContactWorld& world = p.ws.world;
  const size_t solids = world.environment.solids().size(), before = p.lcp.slots.size();
  for (size_t point = 0; point < world.points.size(); ++point) {
    const ContactPoint& sphere = world.points[point];
    const int node = sphere.body.value();
    const V3<double> c = centre(p.kin, sphere), dx = point_displacement(p, node, c);
    const Vec3 c_W = to_eigen(p.kin.origin + c);
    const double reach = sphere.radius + std::sqrt(dot(dx, dx));  // nothing further away can be touched
    for (size_t solid = 0; solid < solids; ++solid) {
      if (p.lcp.slot_of[point * solids + solid] >= 0 || world.environment.distance_bound(solid, c_W) > reach) continue;
      const SignedDistance ground = world.environment.distance(solid, c_W);
      if (dot(to_v3(ground.gradient), dx) < allowed(p, ground.value - sphere.radius))
        add_slot(p, point, solid, c, ground);
    }
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
    for_path(tree_of(p.ws.model), slot.node, [&](int a) {
      const Twist<double>& xi = p.kin.xi[static_cast<size_t>(a)];
      const V3<double> v = xi.v + cross(xi.w, slot.surface);
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
  const ContactWorld& world = p.ws.world;
  const size_t solids = world.environment.solids().size();
  p.ws.contacts.clear();
  for (size_t point = 0; point < world.points.size(); ++point) {
    const ContactPoint& sphere = world.points[point];
    const V3<double> c = centre(end, sphere);
    const Vec3 c_W = to_eigen(end.origin + c);
    for (size_t solid = 0; solid < solids; ++solid) {
      const int index = p.lcp.slot_of[point * solids + solid];
      const Slot* slot = index >= 0 ? &p.lcp.slots[static_cast<size_t>(index)] : nullptr;
      const bool loaded = slot && p.lcp.f(slot->column) > 0;
      if (!loaded && world.environment.distance_bound(solid, c_W) >= sphere.radius) continue;
      const SignedDistance ground = world.environment.distance(solid, c_W);
      Contact contact;
      contact.point = static_cast<int>(point);
      contact.solid = static_cast<int>(solid);
      contact.depth = sphere.radius - ground.value;
      if (!loaded && contact.depth <= 0) continue;
      contact.normal = ground.gradient;
      contact.position = c_W - sphere.radius * ground.gradient;
      if (loaded) {
        contact.normal = to_eigen(slot->n);
        contact.position = to_eigen(end.origin + slot->surface);
        V3<double> force = p.lcp.f(slot->column) * slot->n;
        for (int k = 0; k < slot->tangents; ++k) force += p.lcp.f(slot->column + 1 + k) * slot->tangent[k];
        contact.force = to_eigen(force);
      }
      p.ws.contacts.push_back(contact);
    }
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
  const size_t solids = ws.world.environment.solids().size();
  start_slots(ws.lcp);
  const Eigen::VectorXd& v = first ? first->v_end : state.v;
  for (const LastingPair& other : pairs) {
    const size_t point = static_cast<size_t>(other.pair) / solids, solid = static_cast<size_t>(other.pair) % solids;
    const V3<double> c = centre(kin, ws.world.points[point]);
    add_slot(p, point, solid, c, ws.world.environment.distance(solid, to_eigen(kin.origin + c)));
    Slot& slot = ws.lcp.slots.back();
    Twist<double> V = {{0, 0, 0}, {0, 0, 0}};
    for_path(tree_of(ws.model), slot.node, [&](int a) { V += v(a) * kin.xi[static_cast<size_t>(a)]; });
    const V3<double> u = V.v + cross(V.w, slot.surface);
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

LcpScratch::Slot contact_slot(int pair, Impl& ws) {
  const Kinematics<double>& kin = ws.dynamics.impl().kinematics;
  const size_t solids = ws.world.environment.solids().size();
  const size_t point = static_cast<size_t>(pair) / solids, solid = static_cast<size_t>(pair) % solids;
  const V3<double> c = centre(kin, ws.world.points[point]);
  return describe(ws, kin, point, solid, c, ws.world.environment.distance(solid, to_eigen(kin.origin + c)));
}

void contact_row(const LcpScratch::Slot& slot, const V3<double>& direction, Impl& ws, Eigen::Ref<Eigen::VectorXd> row) {
  row.setZero();
  for_path(tree_of(ws.model), slot.node, [&](int a) {
    const Twist<double>& xi = ws.dynamics.impl().kinematics.xi[static_cast<size_t>(a)];
    row(a) = dot(direction, xi.v + cross(xi.w, slot.surface));
  });
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
