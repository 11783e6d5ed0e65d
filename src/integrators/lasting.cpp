#include "integrators/lasting.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>

#include "integrators/linearised.h"
#include "integrators/rigid_lcp.h"
#include "math/eigen.h"

namespace scree {
namespace {

using Slot = LcpScratch::Slot;

constexpr double kSuspicious = 10;  // velocities change so much more with contact than without: Painleve?
constexpr double kJump = 1e3;       // times rest_speed: what lasts may approach by rest_speed, and is stopped
constexpr double kInstant = 1e-3;   // of a step: what changes nearly as much in this part of it is an impulse

}  // namespace

void LastingStep::begin() {
  impulsive_ = Impulsive::unknown;
  describe(state_.v);
  std::swap(c_.lasting, c_.lasting_end);
}

// The lasting pairs where ws.dynamics is.
void LastingStep::describe(const Eigen::VectorXd& v) {
  c_.lasting_end.clear();
  if (c_.active.empty()) return;
  const std::vector<Twist<double>>& twists = DynamicsAccess::impl(ws_.dynamics).body_twists(v.data());
  for (const int k : c_.active) {
    const RigidContact at = contact(k);
    const V3<double> u = ws_.pairs.velocity(twists, k, at.x);
    c_.lasting_end.push_back(
        {k, {at.tangent[0], at.tangent[1]}, {dot(at.n, u), dot(at.tangent[0], u), dot(at.tangent[1], u)}});
  }
}

const char* LastingStep::attempt(double h) {
  SubstepResult result;
  const bool solved = solve_step(h, result);
  report_.outer += result.outer;
  report_.qp_iterations += result.qp_iterations;
  ++report_.stages;
  if (!solved) return *result.reason ? result.reason : "lasting contacts: the complementarity problem was not solved";
  report_.residual = std::max(report_.residual, result.residual);
  store_contacts();
  find_work(h);
  set_end(h);
  const bool kept = put_on_surface(c_.trial.q) && stop_approach(c_.trial);
  return kept ? nullptr : "lasting contacts cannot be kept out of the ground";
}

// Moreau's scheme: half of the way with the velocity before, impulses there, the other half with the velocity after.
// The first pass takes forces and turning from the velocity before; the second knows the one after.
bool LastingStep::solve_step(double h, SubstepResult& result) {
  c_.middle.q = state_.q;
  c_.middle.v = state_.v;
  ws_.direction = 0.5 * h * state_.v;
  apply_displacement(tree_of(ws_.model), ws_.direction.data(), c_.middle.q.data());
  const double at = options_.explicit_pd ? state_.time + 0.5 * h : state_.time + h;
  const Control& control = ws_.control_at(control_, at);
  if (!solve_contacts(c_.lasting, control, h, result)) return false;
  if (impulsive_ == Impulsive::unknown && find_impulsive(h, control)) return false;
  first_.v_end = ws_.delta / h;
  first_.v_middle = 0.5 * (state_.v + first_.v_end);
  set_end(h);
  ws_.dynamics.set_position(c_.trial.q);
  describe(first_.v_end);
  first_.v_forces = first_.v_middle;
  return solve_contacts(c_.lasting_end, control, h, result, &first_);
}

bool LastingStep::solve_contacts(const std::vector<LastingPair>& pairs, const Control& control, double h,
                                 SubstepResult& result, const LastingPass* first) {
  if (first) return solve_pass(pairs, control, h, result, first);  // on the sides it ended on
  return solve_on_sides(control, options_, h, c_.middle, ws_, result,
                        [&] { return solve_pass(pairs, control, h, result, nullptr); });
}

bool LastingStep::solve_pass(const std::vector<LastingPair>& pairs, const Control& control, double h,
                             SubstepResult& result, const LastingPass* first) {
  solve_linearised(control, options_, h, c_.middle, ws_, first ? &first->v_middle : nullptr);
  if (!ws_.delta.allFinite()) return false;
  RigidLcp problem(h, kinematics(), true, ws_);
  const Eigen::VectorXd& v = first ? first->v_end : c_.middle.v;
  for (const LastingPair& other : pairs) {
    Slot& slot = problem.add(other.pair, ws_.pairs.proximity(kinematics(), other.pair));
    const V3<double> u = ws_.pairs.velocity(kinematics(), slot.pair, slot.x, v);
    const double sign = first ? -1 : 1;  // from the start to the middle, or from the middle to the end
    slot.turn[0] = sign * (dot(slot.n, u) - other.u[0]);
    for (int t = 0; t < slot.tangents; ++t) {
      const double same = std::copysign(1.0, dot(slot.tangent[t], other.tangent[t]));
      slot.turn[t + 1] = sign * (dot(slot.tangent[t], u) - same * other.u[t + 1]);
    }
  }
  return problem.solve(result) && !exploded(h, ws_);
}

// The work of all but inertia, gravity, joint stops and normal forces, taken at the middle of the way. Friction and
// damping do none that is positive.                                                                  theory (15.10)
void LastingStep::find_work(double h) {
  first_.v_middle = 0.5 * (state_.v + ws_.delta / h);
  const Eigen::VectorXd& v = first_.v_middle;
  const LcpScratch& lcp = ws_.lcp;
  const auto J = ws_.lcp.J(ws_.model.nv());
  double friction = 0, normal = 0;
  for (const Slot& slot : lcp.slots) {
    normal += lcp.f(slot.column) * J.col(slot.column).dot(v);
    for (int k = 1; k <= slot.tangents; ++k) friction += lcp.f(slot.column + k) * J.col(slot.column + k).dot(v);
  }
  double drives;
  const Control& control = ws_.control_at(control_, state_.time + 0.5 * h);
  const bool limp = control.kp.isZero(0) && control.kd.isZero(0) && control.torque.isZero(0);
  if (options_.explicit_pd || limp) {
    ws_.joint_forces.explicit_force(control, c_.middle.q.data(), v.data(), ws_.force.data());
    drives = v.dot(ws_.force);
  } else {  // what was applied, from the equation of motion: forces at the end of the step are their average over it
    ws_.direction = (1 / h) * (ws_.delta / h - state_.v);
    ws_.dynamics.bias_force(first_.v_forces, ws_.world.gravity, ws_.gradient);
    ws_.gradient.noalias() += ws_.dynamics.mass_matrix() * ws_.direction;
    drives = v.dot(ws_.gradient) - friction - normal;
  }
  double dry = 0;  // of joints
  for (const JointFriction::Dry& joint : ws_.joint_friction.joints()) {
    const int a = joint.dof;
    dry -= v(a) * dry_friction<double>(ws_.delta(a), h, joint.friction, ws_.joint_friction.sides()[a]).slope;
  }
  if (!(options_.explicit_pd || limp)) drives -= dry;
  drives -= ws_.joint_forces.stop_power(c_.middle.q.data(), v.data());
  friction_work_ = h * (std::min(0.0, friction) + std::min(0.0, dry));
  work_ = h * drives + friction_work_;
}

void LastingStep::set_end(double h) {
  c_.trial.q = c_.middle.q;
  c_.trial.v = ws_.delta / h;
  ws_.direction = 0.5 * ws_.delta;
  apply_displacement(tree_of(ws_.model), ws_.direction.data(), c_.trial.q.data());
}

// Forces of the step just solved; which contacts bore one.
void LastingStep::store_contacts() {
  ws_.contacts.clear();
  for (size_t i = 0; i < c_.active.size(); ++i) {
    const Slot& slot = ws_.lcp.slots[i];
    const double push = ws_.lcp.f(slot.column);
    c_.pushed[static_cast<size_t>(c_.active[i])] = push > 0;
    c_.sticks[static_cast<size_t>(c_.active[i])] =
        push > 0 && slot.directions > 0 &&
        ws_.lcp.z(slot.unknown + 1 + slot.directions) <= event_.rest_speed * slot.scale;  // lambda: speed of slip
    if (!(push > 0)) continue;
    Contact contact;
    contact.a = ws_.pairs.colliders_of(slot.pair).a;
    contact.b = ws_.pairs.colliders_of(slot.pair).b;
    contact.normal = to_eigen(slot.n);
    contact.position = to_eigen(DynamicsAccess::impl(ws_.dynamics).kinematics.origin + slot.x);
    contact.force = to_eigen(force_of(ws_.lcp, slot));
    ws_.contacts.push_back(contact);
  }
}

// J, M^-1 J and J^T M^-1 J of the pairs c_.rows where ws.dynamics is. False: M is singular.
bool LastingStep::prepare_rows() {
  const Eigen::Index nv = ws_.model.nv(), m = std::ssize(c_.rows);
  c_.reserve(nv, m);
  auto J = c_.J(nv, m), Y = c_.Y(nv, m);
  if (!ws_.cholesky.factor(ws_.dynamics.mass_matrix().data())) return false;
  for (Eigen::Index i = 0; i < m; ++i) {
    const auto [pair, direction] = c_.rows[static_cast<size_t>(i)];
    const RigidContact at = contact(pair);
    contact_row(ws_.pairs, kinematics(), at, direction == 0 ? at.n : at.tangent[direction - 1], J.col(i));
    c_.excess(i) = at.gap;
  }
  Y = J;
  for (Eigen::Index i = 0; i < m; ++i) ws_.cholesky.solve(Y.col(i).data());
  c_.W(m).noalias() = J.transpose() * Y;
  return true;
}

// impulse <- W^-1 x, the smallest one where contacts are redundant, about.
void LastingStep::solve_rows(Eigen::Index m) {
  auto W = c_.W(m);
  W.diagonal().array() += 1e-13 * W.trace();
  Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> factor(W);
  c_.impulse.head(m) = c_.excess.head(m);
  auto x = c_.impulse.head(m);
  factor.solveInPlace(x);
}

// impulse: 0 <= impulse _|_ excess + W impulse >= 0
bool LastingStep::push_rows(Eigen::Index m) {
  return ws_.lcp.lemke.solve(c_.W(m), c_.excess.head(m), c_.impulse.head(m)).solved();
}

// The smallest displacement, in the metric of the mass matrix, that closes the gaps of contacts that bore a force and
// leaves none below zero.                                                                             theory (15.5)
bool LastingStep::put_on_surface(Eigen::VectorXd& q) {
  const double good = 0.5 * c_.on_surface;
  double last = std::numeric_limits<double>::infinity();
  for (int iteration = 0; iteration < 12; ++iteration) {
    ws_.dynamics.set_position(q);
    c_.rows.clear();
    double off = 0, deepest = 0;
    for (const int k : c_.active) {
      const double gap = ws_.pairs.proximity(kinematics(), k).gap;
      deepest = std::max(deepest, -gap);
      if (!c_.pushed[static_cast<size_t>(k)] && gap >= 0) continue;
      c_.rows.push_back({k, 0});
      off = std::max(off, std::abs(gap));
    }
    if (off <= good || !(off < last)) return deepest <= event_.touch || push_out(q);
    last = 0.9 * off;
    if (!prepare_rows()) return false;
    displace(q, -1, false);
  }
  return push_out(q);
}

void LastingStep::take_all_normals() {
  c_.rows.clear();
  for (const int k : c_.active) c_.rows.push_back({k, 0});
}

// Not all contacts can be on the surface: out of it, then.
bool LastingStep::push_out(Eigen::VectorXd& q) {
  for (int iteration = 0; iteration < 12; ++iteration) {
    ws_.dynamics.set_position(q);
    take_all_normals();
    if (!prepare_rows()) return false;
    if (c_.excess.head(std::ssize(c_.rows)).minCoeff() >= -0.5 * c_.on_surface) return true;
    if (!displace(q, 1, true)) return false;
  }
  return false;
}

bool LastingStep::displace(Eigen::VectorXd& q, double sign, bool one_sided) {
  const Eigen::Index nv = ws_.model.nv(), m = std::ssize(c_.rows);
  if (!one_sided)
    solve_rows(m);
  else if (!push_rows(m))
    return false;
  ws_.direction.noalias() = sign * c_.Y(nv, m) * c_.impulse.head(m);
  if (!(ws_.direction.array().abs() < 1).all()) return false;  // [m, rad] not a correction
  apply_displacement(tree_of(ws_.model), ws_.direction.data(), q.data());
  return true;
}

// The nearest velocity, in the metric of the mass matrix, with which contacts that bore a force do not move along
// their normals, those that stuck not at all, and no lasting one approaches. theory (15.6)
bool LastingStep::stop_approach(State& at) {
  const Eigen::Index nv = ws_.model.nv();
  ws_.dynamics.set_position(at.q);
  c_.rows.clear();
  for (const int k : c_.active) {
    if (!c_.pushed[static_cast<size_t>(k)]) continue;
    c_.rows.push_back({k, 0});
    if (!c_.sticks[static_cast<size_t>(k)]) continue;
    const int tangents = ws_.world.surface.friction > 0 ? contact(k).tangents : 0;
    for (int t = 1; t <= tangents; ++t) c_.rows.push_back({k, t});
  }
  Eigen::Index m = std::ssize(c_.rows);
  if (m > 0) {
    if (!prepare_rows()) return false;
    c_.excess.head(m).noalias() = c_.J(nv, m).transpose() * at.v;
    solve_rows(m);
    at.v.noalias() -= c_.Y(nv, m) * c_.impulse.head(m);
  }
  take_all_normals();
  m = std::ssize(c_.rows);
  if (!prepare_rows()) return false;
  c_.excess.head(m).noalias() = c_.J(nv, m).transpose() * at.v;
  if (c_.excess.head(m).minCoeff() >= -0.1 * event_.rest_speed) return true;
  if (!push_rows(m)) return false;
  at.v.noalias() += c_.Y(nv, m) * c_.impulse.head(m);
  return true;
}

// Where no finite force keeps the contacts closed, impulses of a step do not vanish with its length. Then, as in the
// inclusion with time as a state, contact-free flow of no duration makes contacts approach, and an impact follows
// while time stands still.                                                                            theory (15.9)
double LastingStep::distance(const Eigen::VectorXd& v) {  // |v - v_n|_M
  ws_.direction = v - state_.v;
  ws_.gradient.noalias() = ws_.dynamics.mass_matrix() * ws_.direction;
  return std::sqrt(std::max(0.0, ws_.direction.dot(ws_.gradient)));
}

bool LastingStep::is_jump(const Eigen::VectorXd& v) {
  return distance(v) > kJump * event_.rest_speed * std::sqrt(ws_.model.total_mass());
}

bool LastingStep::find_impulsive(double h, const Control& control) {
  impulsive_ = Impulsive::no;
  first_.v_end = ws_.delta / h;
  first_.v_middle = ws_.trial_delta / h;
  const double with = distance(first_.v_end);
  if (!(with > kSuspicious * distance(first_.v_middle) && is_jump(first_.v_end))) return false;
  SubstepResult result;
  const double instant = kInstant * h;
  c_.trial.q = state_.q;
  c_.trial.v = state_.v;
  std::swap(c_.trial.q, c_.middle.q);  // the middle of an instant is its start
  const bool solved = solve_contacts(c_.lasting, control, instant, result);
  first_.v_end = ws_.delta / instant;
  if (solved && distance(first_.v_end) > 0.5 * with) {
    v_approaching_ = ws_.trial_delta / instant;  // after contact-free flow
    if (shorten_flow()) impulsive_ = Impulsive::yes;
  }
  std::swap(c_.trial.q, c_.middle.q);
  if (impulsive_ == Impulsive::yes) return true;
  return !solve_contacts(c_.lasting, control, h, result);  // as before
}

// Contact-free flow only so far that a contact approaches more than a law's tolerance. False: none does.
bool LastingStep::shorten_flow() {
  const Eigen::Index nv = ws_.model.nv(), m = std::ssize(c_.active);
  ws_.dynamics.set_position(state_.q);
  take_all_normals();
  if (!prepare_rows()) return false;
  ws_.gradient.noalias() = ws_.dynamics.mass_matrix() * state_.v;
  const double speed = std::sqrt(std::max(0.0, ws_.gradient.dot(state_.v)));
  ws_.direction = v_approaching_ - state_.v;
  const double seen = 2 * std::max(1e-10, ws_.world.impact.tolerance);  // of |J|_{M^-1} |v|_M: approach, to any law
  double longest = 0;
  for (Eigen::Index i = 0; i < m; ++i) {
    const auto row = c_.J(nv, m).col(i);
    const double approach = -row.dot(ws_.direction);
    if (approach > 0) longest = std::max(longest, approach / (seen * std::sqrt(c_.W(m)(i, i)) * speed));
  }
  if (!(longest > 0)) return false;
  v_approaching_ = state_.v + ws_.direction / std::max(1.0, longest);
  return true;
}

void EventScratch::reserve(Eigen::Index nv, Eigen::Index m) {
  const auto grow = [](Eigen::VectorXd& x, Eigen::Index size) {
    if (x.size() < size) x.resize(2 * size);
  };
  grow(J_, nv * m);
  grow(Y_, nv * m);
  grow(W_, m * m);
  grow(excess, m);
  grow(impulse, m);
}

}  // namespace scree
