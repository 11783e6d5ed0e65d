// Event-driven simulation of rigid contact: q, v and t alone say what happens next.                   theory section 15
//
//   a closed contact approaches     an impact: time stands still, a law gives the velocity after        theory (15.4)
//   closed contacts, none of them
//   approaching, some of them last  a step of ne-lcp in which these do not approach                     theory (15.3)
//   no contact lasts                flight                                                              theory (15.1)
//
// Steps end where another pair of point and solid closes. Read from step_event() upwards.
#include "integrators/event.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "integrators/energy_account.h"
#include "integrators/flight.h"
#include "integrators/gap_cubic.h"
#include "integrators/lasting.h"
#include "integrators/substeps.h"
#include "integrators/workspace.h"
#include "math/eigen.h"
#include "scree/error.h"

namespace scree {
namespace {

using Impl = StepWorkspace::Impl;
using Pair = EventScratch::Pair;

constexpr double kSafety = 0.9;      // of step sizes of flight, whose error is proportional to h^5, and by energy
constexpr double kShortest = 1e-12;  // of dt: steps that would have to be shorter fail
constexpr double kAccurateTurn =
    0.05;  // [rad] of a body in a substep with lasting contacts                    theory (15.13)
constexpr double kShortestMode = 1e-9;  // of dt: flight shorter than that is not cut where a joint stops or starts
constexpr double kSlowing = 0.999;      // of intervals between impacts, from one to the next: bounces that end
constexpr int kAtOnce = 1000;           // impacts at one time
constexpr int kShrinks = 12, kPolish = 8, kTries = 200;  // iterations to locate an event

// [s] in which a point with the velocity u can pass nothing without (15.2) seeing it. The gap of a box is a distance: a
// point reaches it first, then half of its thickness along the axis it flies. That of a height field is not, and half
// a cell is all.
double passing_time(const Collider& ground, double gap, const V3<double>& u) {
  double time = kNever;
  if (const auto* box = std::get_if<Box>(&ground.shape)) {
    const Vec3 along = (ground.X_BS.R.transpose() * to_eigen(u)).cwiseAbs();
    for (Eigen::Index k = 0; k < 3; ++k)
      if (along(k) > 0) time = std::min(time, (std::max(0.0, gap) + 0.5 * box->size(k)) / along(k));
  } else if (const auto* field = std::get_if<std::shared_ptr<const HeightField>>(&ground.shape)) {
    const double speed = std::sqrt(dot(u, u));
    if (speed > 0) time = 0.5 * (*field)->spacing() / speed;
  }
  return time;
}

class EventStepper {
 public:
  EventStepper(const Control& control, const StepOptions& options, State& state, Impl& ws)
      : control_(control), options_(options), event_(options.event), state_(state), ws_(ws), c_(ws.event) {}

  StepReport run() {
    ws_.before = state_;
    ws_.events.clear();
    ws_.contacts.clear();
    report_.residual = 0;
    report_.smallest_step = options_.dt;
    if (state_.time != c_.seen) forget();
    const double end = state_.time + options_.dt;
    look(state_, options_.dt, c_.now);
    if (penetrates()) check_clear(ws_.model, ws_.world, event_, state_.q);
    find_lasting();
    while (report_.reason.empty()) {
      if (approaching()) {
        impact(EventKind::impact, state_.v);
      } else if (state_.time < end) {
        advance(end);
      } else {
        return finish();
      }
      if (static_cast<int>(ws_.events.size()) > event_.max_events)
        fail(fmt::format("more than {} events (max_events), the last one at {:.9g} s", event_.max_events, state_.time));
    }
    report_.reason += fmt::format(" ({:.9g} s)", state_.time);
    state_ = ws_.before;
    ws_.contacts.clear();
    forget();
    return std::move(report_);
  }

 private:
  void fail(std::string why) {
    if (report_.reason.empty()) report_.reason = std::move(why);
  }

  bool failed(std::string why) {
    fail(std::move(why));
    return true;
  }

  void forget() {
    std::fill(c_.hit.begin(), c_.hit.end(), std::array{std::nan(""), std::nan(""), std::nan("")});
    c_.seen = state_.time;
  }

  // --- pairs ---

  int pairs() const { return ws_.pairs.count(); }
  const Kinematics<double>& kinematics() const { return DynamicsAccess::impl(ws_.dynamics).kinematics; }
  // Gaps and their rates of all pairs that something within `horizon` [s] may depend on. Leaves ws.dynamics there.
  void look(const State& state, double horizon, std::vector<Pair>& out) {
    ws_.dynamics.set_position(state.q);
    const Kinematics<double>& kin = DynamicsAccess::impl(ws_.dynamics).kinematics;
    const std::vector<Twist<double>>& twists = DynamicsAccess::impl(ws_.dynamics).body_twists(state.v.data());
    const double far = std::sqrt(dot(kin.origin, kin.origin));
    c_.rounding = 1e-7 * event_.touch + 2e-16 * far;
    c_.on_surface = 1e-3 * event_.touch + 4e-16 * far;
    const double fall = ws_.world.gravity.norm() * horizon * horizon;
    const double margin = 2 * std::max(event_.touch, event_.simultaneous) + fall;
    std::vector<int>& near = &out == &c_.now ? c_.now_near : c_.then_near;
    for (const int k : near) out[static_cast<size_t>(k)].near = false;
    near.clear();
    const auto reach = [&](const PointCluster& cluster, const V3<double>& centre) {
      const Twist<double>& V = twists[static_cast<size_t>(cluster.node)];
      const V3<double> u = velocity_at(V, centre);
      const double fastest = std::sqrt(dot(u, u)) + std::sqrt(dot(V.w, V.w)) * cluster.radius;
      return (1 + 1e-10) * (margin + 2 * horizon * fastest);
    };
    for (const int k : ws_.near.find(ws_.pairs, kin, reach)) {
      Pair& pair = out[static_cast<size_t>(k)];
      const V3<double> x = ws_.pairs.core(kin, k);
      pair.u = ws_.pairs.velocity(twists, k, x);
      const double speed = std::sqrt(dot(pair.u, pair.u));
      pair.near = !(ws_.pairs.gap_bound(kin, k, x) > margin + 2 * horizon * speed);
      if (!pair.near) continue;
      near.push_back(k);
      const Proximity at = ws_.pairs.proximity(kin, k, x);
      pair.gap = at.gap;
      pair.rate = dot(at.n, pair.u);
      pair.lever = std::sqrt(dot(x, x)) + ws_.pairs.radius(k);
    }
    if (&out == &c_.now) return;
    for (const int k : c_.now_near)  // longest_to_follow() asks how fast those were that have left since
      if (Pair& pair = out[static_cast<size_t>(k)]; !pair.near)
        pair.u = ws_.pairs.velocity(twists, k, ws_.pairs.core(kin, k));
  }

  // Steps leave nothing so deep: a state of someone else's.
  bool penetrates() const {
    return std::any_of(c_.now.begin(), c_.now.end(),
                       [&](const Pair& pair) { return pair.near && pair.gap < -event_.touch; });
  }

  bool closed(const Pair& pair) const { return pair.near && pair.gap <= c_.on_surface; }
  bool approaches(const Pair& pair) const { return closed(pair) && pair.rate < -event_.rest_speed; }
  bool lasts(const Pair& pair) const { return closed(pair) && std::abs(pair.rate) <= event_.rest_speed; }
  bool approaching() const {
    return std::any_of(c_.now.begin(), c_.now.end(), [&](const Pair& pair) { return approaches(pair); });
  }

  // From the state alone, so that a copy of it goes on the same way.
  void find_lasting() {
    c_.active.clear();
    for (int k = 0; k < pairs(); ++k) {
      const Pair& pair = c_.now[static_cast<size_t>(k)];
      c_.lasts[static_cast<size_t>(k)] = lasts(pair);
      if (c_.lasts[static_cast<size_t>(k)]) c_.active.push_back(k);
    }
  }

  EventContact describe(const RigidContact& at) {
    EventContact contact;
    contact.a = ws_.pairs.colliders_of(at.pair).a;
    contact.b = ws_.pairs.colliders_of(at.pair).b;
    contact.position = to_eigen(kinematics().origin + at.x);
    contact.normal = to_eigen(at.n);
    return contact;
  }
  V3<double> velocity(const RigidContact& at, const Eigen::VectorXd& v) {
    return ws_.pairs.velocity(DynamicsAccess::impl(ws_.dynamics).body_twists(v.data()), at.pair, at.x);
  }

  // What lasts now and did not, and the other way round.
  void tell_changes() {
    std::vector<int>& changed = c_.changed;
    changed.clear();
    for (int k = 0; k < pairs(); ++k) {
      const Pair& pair = c_.now[static_cast<size_t>(k)];
      if (lasts(pair) != (c_.lasts[static_cast<size_t>(k)] != 0) && !approaches(pair)) changed.push_back(k);
    }
    for (const int k : changed) {
      const bool rests = c_.lasts[static_cast<size_t>(k)] == 0;
      Event& event = ws_.events.emplace_back();
      event.time = state_.time;
      event.kind = rests ? EventKind::rest : EventKind::lift_off;
      const RigidContact at = rigid_contact(ws_.pairs, kinematics(), k);
      EventContact contact = describe(at);
      contact.velocity_before = contact.velocity_after = to_eigen(velocity(at, state_.v));
      event.contacts.push_back(contact);
      if (rests) event.bounces_end = end_of_bounces(k);
    }
    find_lasting();
  }

  // Intervals between the last impacts that shrink by r each time add up to r/(1 - r) of the last one.  theory (15.8)
  std::optional<double> end_of_bounces(int pair) const {
    const auto& [t2, t1, t0] = c_.hit[static_cast<size_t>(pair)];
    const double last = t2 - t1, before = t1 - t0;
    if (!(last > 0 && last < kSlowing * before)) return std::nullopt;
    const double r = last / before;
    return t2 + last * r / (1 - r);
  }

  // --- impacts ---

  // The law's answer to `v` at the pose of the state. v differs from the state's velocity only where there is no
  // collision. False: nothing to speak of happened there.
  bool impact(EventKind kind, const Eigen::VectorXd& v) {
    const double reach = std::max(event_.touch, event_.simultaneous);
    ws_.dynamics.set_position(state_.q);
    std::vector<RigidContact> contacts;
    for (int k = 0; k < pairs(); ++k) {
      const Pair& pair = c_.now[static_cast<size_t>(k)];
      if (pair.near && pair.gap <= reach) contacts.push_back(rigid_contact(ws_.pairs, kinematics(), k));
    }
    const double friction = ws_.world.surface.friction;
    const ContactRows rows = contact_rows(ws_.pairs, kinematics(), std::move(contacts), friction > 0, ws_.model.nv());
    ImpactProblem problem = impact_problem(rows, ws_.dynamics.mass_matrix(), friction, v);
    problem.restitution = Eigen::VectorXd::Constant(rows.size(), ws_.world.surface.restitution);
    ImpactResult result;
    try {
      if (ws_.resolve) {
        result = ws_.resolve(problem);
      } else {
        // Without friction there would be none.
        ImpactOptions law = ws_.world.impact;
        if (kind == EventKind::impact_without_collision && impact_law_is_elastic(law.law))
          law.law = ImpactLaw::anitescu_potra;
        result = resolve_impact(problem, law);
      }
    } catch (const InputError& error) {  // a law for one contact, a mass matrix that is nearly singular
      return failed(fmt::format("impact law {}: {}", impact_law_name(ws_.world.impact.law), error.what()));
    }
    if (result.v.size() != problem.v.size())
      return failed(fmt::format("impact: {} velocities after it, expected {}", result.v.size(), problem.v.size()));
    if (kind == EventKind::impact_without_collision && !lasting_.is_jump(result.v)) return false;
    record(kind, rows, result);
    if (result.status != ImpactStatus::resolved || !result.v.allFinite())
      return failed(fmt::format("impact law {}: {}{}{}", impact_law_name(result.law), impact_status_name(result.status),
                                result.note.empty() ? "" : ", ", result.note));
    report_.energy_gain += std::max(0.0, ws_.dynamics.kinetic_energy(result.v) - ws_.dynamics.kinetic_energy(state_.v));
    state_.v = result.v;
    clear_history();
    look(state_, options_.dt, c_.now);
    for (const RigidContact& contact : rows.contacts) note_hit(contact.pair);
    tell_changes();
    // Laws that turn opening contacts round (moreau) leave some approaching: another impact follows.
    at_once_ = impact_time_ == state_.time ? at_once_ + 1 : 1;
    impact_time_ = state_.time;
    if (at_once_ > kAtOnce && approaching())
      fail(fmt::format("impact law {} leaves contacts approaching after {} impacts at one time",
                       impact_law_name(result.law), kAtOnce));
    return true;
  }

  void note_hit(int pair) {
    auto& times = c_.hit[static_cast<size_t>(pair)];
    if (ws_.events.back().v_before.size() > 0 && times[0] != state_.time) times = {state_.time, times[0], times[1]};
  }

  void record(EventKind kind, const ContactRows& rows, const ImpactResult& result) {
    Event& event = ws_.events.emplace_back();
    event.time = state_.time;
    event.kind = kind;
    event.law = result.law;
    event.status = result.status;
    event.steps = result.steps;
    event.energy_before = result.energy_before;
    event.energy_after = result.energy_after;
    event.certificate = result.certificate;
    event.v_before = state_.v;
    event.v_after = result.v;
    for (Eigen::Index i = 0; i < rows.size(); ++i) {
      const RigidContact& at = rows.contacts[static_cast<size_t>(i)];
      EventContact contact = describe(at);
      V3<double> impulse = result.normal_impulse.size() > 0 ? result.normal_impulse(i) * at.n : V3<double>{0, 0, 0};
      for (int t = 0; t < rows.tangents && result.tangential_impulse.size() > 0; ++t)
        impulse += result.tangential_impulse(rows.tangents * i + t) * at.tangent[t];
      contact.impulse = to_eigen(impulse);
      contact.velocity_before = to_eigen(velocity(at, event.v_before));
      contact.velocity_after = to_eigen(velocity(at, event.v_after));
      event.contacts.push_back(contact);
    }
  }

  // --- time goes on ---

  void clear_history() {  // of other integrators
    state_.body_rates.clear();
    state_.contact_weights.clear();
    state_.contact_loads.clear();
  }

  // One step, to `end` or to where the next pair closes.
  void advance(double end) {
    double h = end - state_.time;
    const double shortest = std::max(kShortest * options_.dt, 4e-16 * std::abs(end));
    look(state_, h, c_.now);
    h = std::min({h, longest_step(), account_.longest_next()});
    account_.open(energy_of(state_), weight_energy());
    lasting_.begin();
    bool located = false;
    int polish = 0, shrinks = 0;
    for (int tries = 0; tries < kTries; ++tries) {
      if (++tries_ > event_.max_tries)
        return fail(
            fmt::format("more than {} tries of substeps (max_tries), the last one of {:.3g} s", event_.max_tries, h));
      double next = h;  // what to try instead
      if (!attempt(h, next)) {
        if (!c_.active.empty() && lasting_.impulsive()) {
          if (impact(EventKind::impact_without_collision, lasting_.approaching_velocity())) return;
          lasting_.dismiss();  // the law finds a course without a jump, too
          continue;
        }
        ++report_.rejected;
        if (next < shortest) return fail(step_failure_);
        h = next;
        continue;
      }
      look(c_.trial, h, c_.then);
      if (const double longest = longest_to_follow(c_.then); h > longest || !balance(h, next)) {
        ++report_.rejected;
        h = h > longest ? std::max(0.5 * h, longest) : next;
        continue;
      }
      const auto [fraction, pair] = first_closing(h);
      if (fraction < 1 && fraction * h < shortest) {
        c_.lasts[static_cast<size_t>(pair)] = 1;  // it closes again before time has moved
        c_.active.insert(std::lower_bound(c_.active.begin(), c_.active.end(), pair), pair);
        look(state_, h, c_.now);
        lasting_.begin();
        located = false;
        continue;
      }
      const bool at_end = (1 - fraction) * h <= 1e-16 * std::abs(end) || (fraction > 0.999 && none_below());
      if (fraction < 1 && !at_end) {
        located = ++shrinks <= kShrinks;
        h *= located ? fraction : 0.7;  // the cubic misleads: a step that ends before, and from there again
        continue;
      }
      if (const double dip = first_dip(h); dip < 1 && !located) {  // look closer
        h *= dip;
        continue;
      }
      if (located && polish < kPolish) {
        const double change = newton_change();
        if (std::abs(change) > 1e-16 * std::max(std::abs(end), h) && std::abs(change) < 0.1 * h) {
          ++polish;
          h = std::min(h + change, end - state_.time);
          continue;
        }
      }
      return accept(h, end);
    }
    fail("an event could not be located");
  }

  // Newton's step in h towards the first closing of the pairs that are about to close.
  double newton_change() const {
    double change = kNever;
    for (size_t k = 0; k < c_.then.size(); ++k) {
      const Pair& pair = c_.then[k];
      if (c_.lasts[k] || !pair.near || !(pair.rate < 0) || std::abs(pair.gap) > 1e3 * event_.touch) continue;
      change = std::min(change, -pair.gap / pair.rate);
    }
    return std::isfinite(change) ? change : 0;
  }

  // Where, as a part of h, the first pair that does not last falls below the ground, and which.
  std::pair<double, int> first_closing(double h) const {
    std::pair<double, int> first = {kNever, -1};
    for (int k = 0; k < pairs(); ++k) {
      const Pair &a = c_.now[static_cast<size_t>(k)], &b = c_.then[static_cast<size_t>(k)];
      if (c_.lasts[static_cast<size_t>(k)] || (!a.near && !b.near)) continue;
      double at;
      if (!a.near || !b.near)
        at = b.near && b.gap < 0 ? 0.5 : kNever;  // faster than it looked at the start
      else
        at = GapCubic(a.gap, h * a.rate, b.gap, h * b.rate).first_fall();
      if (at < first.first) first = {at, k};
    }
    return first;
  }

  // No pair is below the ground, but for rounding, where the try ends.
  bool none_below() const {
    for (size_t k = 0; k < c_.then.size(); ++k)
      if (!c_.lasts[k] && c_.then[k].near && c_.then[k].gap < -c_.rounding) return false;
    return true;
  }

  // [s] within which gaps are what (15.2) can follow: bodies turn by max_turn, points pass nothing. Where nothing is
  // near any step will do. Steps with lasting contacts have no estimate of their error and turn bodies by less.
  double longest_step() {
    double longest = longest_to_follow(c_.now);
    const bool near = std::any_of(c_.now.begin(), c_.now.end(), [](const Pair& pair) { return pair.near; });
    turn_rate_ = largest_turn_rate();
    const double most = c_.active.empty() ? options_.max_turn : std::min(kAccurateTurn, options_.max_turn);
    if ((near || !c_.active.empty()) && turn_rate_ > 0) longest = std::min(longest, most / turn_rate_);
    return longest;
  }

  // [s] until a point may pass something, from where they are with the velocities of `pairs_there`.
  double longest_to_follow(const std::vector<Pair>& pairs_there) const {
    double longest = kNever;
    for (size_t k = 0; k < c_.now.size(); ++k)
      if (c_.now[k].near)
        longest = std::min(longest, passing_time(ws_.pairs.b(static_cast<int>(k)), c_.now[k].gap, pairs_there[k].u));
    return longest;
  }

  // (15.2) is off by up to h^4/384 of the fourth derivative, about L w^4 of a point at the distance L that turns with
  // w. Where a gap has a minimum within that of zero, as a part of h; kNever: nowhere.
  double first_dip(double h) const {
    const double turn = turn_rate_ * h, turned = turn * turn * turn * turn / 384;
    double first = kNever;
    for (size_t k = 0; k < c_.now.size(); ++k) {
      const Pair &a = c_.now[k], &b = c_.then[k];
      if (c_.lasts[k] || !a.near || !b.near || a.lever * turned <= 0.1 * event_.touch) continue;
      first = std::min(first, GapCubic(a.gap, h * a.rate, b.gap, h * b.rate).dip_below(a.lever * turned));
    }
    return first;
  }

  void accept(double h, double end) {
    const double time = h == end - state_.time ? end : state_.time + h;
    settle(h);
    std::swap(state_.q, c_.trial.q);
    std::swap(state_.v, c_.trial.v);
    state_.time = time;
    state_.last_step = h;
    clear_history();
    std::swap(c_.now, c_.then);
    std::swap(c_.now_near, c_.then_near);
    ++report_.substeps;
    report_.smallest_step = std::min(report_.smallest_step, h);
    report_.largest_step = std::max(report_.largest_step, h);
    if (c_.active.empty()) ws_.contacts.clear();
    for (Contact& contact : ws_.contacts)
      contact.depth = -c_.now[static_cast<size_t>(ws_.pairs.find(contact.a, contact.b))].gap;
    ws_.dynamics.set_position(state_.q);
    tell_changes();
  }

  // --- energy ---                                                                                    theory (15.10)

  // Where ws.dynamics is.
  EnergyAccount::Energy energy_of(const State& at) {
    return {ws_.dynamics.kinetic_energy(at.v),
            ws_.dynamics.gravity_energy(ws_.world.gravity) + ws_.joint_forces.stop_energy(at.q.data())};
  }
  double weight_energy() const {
    double size = 0;  // [m] of the robot
    for (const Pair& pair : c_.now)
      if (pair.near) size = std::max(size, pair.lever);
    return ws_.model.total_mass() * ws_.world.gravity.norm() * size;
  }

  // The energy of the try is what it was and the work done on it. False: `next` would be nearer to it.
  bool balance(double h, double& next) {
    const double heat = c_.active.empty() ? 0 : -lasting_.friction_work();
    return account_.balance(h, energy_of(c_.trial), work_, heat, next);
  }

  // What a step with lasting contacts gained is taken from its velocity. Rates of contacts keep their signs. Flight is
  // left as it is.                                                                                   theory (15.11)
  void settle(double h) {
    const double factor = account_.close(h, !c_.active.empty(), flight_growth_);
    if (factor == 1) return;
    c_.trial.v *= factor;
    for (const int k : c_.then_near) c_.then[static_cast<size_t>(k)].rate *= factor;
  }

  // The state after h in c_.trial. False: try `next` instead.
  bool attempt(double h, double& next) {
    if (c_.active.empty()) return attempt_flight(h, next);
    next = 0.5 * h;
    step_failure_ = lasting_.attempt(h);
    work_ = lasting_.work();
    flight_growth_ = kNever;
    return step_failure_ == nullptr;
  }

  bool attempt_flight(double h, double& next) {
    const double error = fly(control_, h, state_, ws_, c_.trial, work_);
    ++report_.stages;
    flight_growth_ = kSafety * std::pow(event_.flight_accuracy / error, 0.2);
    if (error <= event_.flight_accuracy && c_.mode_end < -1 && h > kShortestMode * options_.dt) {  // theory (5.12)
      next = Stiction::shorten(h, c_.mode_start, c_.mode_end);
      step_failure_ = "flight: dry friction of joints changes too often";
      return false;
    }
    if (error <= event_.flight_accuracy) {
      report_.error = std::max(report_.error, error);
      return true;
    }
    next = h * std::clamp(flight_growth_, 0.1, 0.9);
    step_failure_ = "flight: steps that are accurate enough are too short";
    return false;
  }

  double largest_turn_rate() {
    double largest = 0;
    for (const Twist<double>& V : DynamicsAccess::impl(ws_.dynamics).body_twists(state_.v.data()))
      largest = std::max(largest, dot(V.w, V.w));
    return std::sqrt(largest);
  }

  StepReport finish() {
    c_.seen = state_.time;
    report_.status = StepStatus::converged;
    report_.events = static_cast<int>(ws_.events.size());
    for (const Contact& contact : ws_.contacts) report_.contacts += contact.force.isZero(0) ? 0 : 1;
    for (const Pair& pair : c_.now)
      if (pair.near) report_.penetration = std::max(report_.penetration, -pair.gap);
    ws_.dynamics.set_position(state_.q);
    report_.kinetic_energy = ws_.dynamics.kinetic_energy(state_.v);
    report_.potential_energy =
        ws_.dynamics.gravity_energy(ws_.world.gravity) + ws_.joint_forces.stop_energy(state_.q.data());
    return std::move(report_);
  }

  const Control& control_;
  const StepOptions& options_;
  const EventOptions& event_;
  State& state_;
  Impl& ws_;
  EventScratch& c_;
  StepReport report_;
  LastingStep lasting_{control_, options_, state_, ws_, report_};
  const char* step_failure_ = "";  // of the last try
  double turn_rate_ = 0;           // [rad/s] of the fastest body, at the state
  EnergyAccount account_{options_, event_, report_};
  double work_ = 0;                // [J] of the try
  double flight_growth_ = kNever;  // by what a step of flight could be longer
  int tries_ = 0;
  int at_once_ = 0;  // impacts at impact_time_
  double impact_time_ = kNever;
};

}  // namespace

const char* event_kind_name(EventKind kind) {
  constexpr const char* kNames[] = {"impact", "impact without collision", "lift-off", "rest"};  // as EventKind
  return kNames[static_cast<int>(kind)];
}

void EventOptions::validate() const {
  const auto check = [](bool good, const char* field, auto value, const char* expected) {
    if (!good) throw InputError(fmt::format("event: {} is {}, expected {}", field, value, expected));
  };
  check(touch >= 1e-12 && touch <= 1e-3, "touch", touch, "a number in [1e-12, 1e-3] m");
  check(rest_speed >= 1e-12 && rest_speed <= 1, "rest_speed", rest_speed, "a number in [1e-12, 1] m/s");
  check(simultaneous >= 0 && simultaneous <= 1, "simultaneous", simultaneous, "a number in [0, 1] m");
  check(flight_accuracy >= 1e-15 && flight_accuracy <= 1e-2, "flight_accuracy", flight_accuracy,
        "a number in [1e-15, 1e-2]");
  check(energy_accuracy >= 1e-12 && energy_accuracy <= 1, "energy_accuracy", energy_accuracy, "a number in [1e-12, 1]");
  check(max_tries >= 1 && max_tries <= 1'000'000'000, "max_tries", max_tries, "an integer in [1, 1e9]");
  check(max_events >= 1 && max_events <= 1'000'000'000, "max_events", max_events, "an integer in [1, 1e9]");
}

EventScratch::EventScratch(const Model& model, const World& world)
    : now(world.pair_count()),
      then(now),
      lasts(now.size()),
      pushed(now.size()),
      sticks(now.size()),
      hit(now.size(), {std::nan(""), std::nan(""), std::nan("")}),
      trial(make_state(model)),
      middle(trial),
      q_rate(model.nq(), 7),
      v_rate(model.nv(), 7),
      q_error(model.nq()),
      v_error(model.nv()),
      v_start(model.nv()) {
  active.reserve(now.size());
  now_near.reserve(now.size());
  then_near.reserve(now.size());
  lasting.reserve(now.size());
  lasting_end.reserve(now.size());
  rows.reserve(3 * now.size());
  changed.reserve(now.size());
}

void check_clear(const Model& model, const World& world, const EventOptions& event, const Eigen::VectorXd& q) {
  RigidContacts contacts(model, world);
  contacts.set_position(q);
  for (int pair = 0; pair < contacts.pairs().count(); ++pair) {
    const double gap = contacts.gap(pair);
    if (gap < -event.touch)
      throw InputError(
          fmt::format("event: contact point \"{}\" and solid \"{}\": {:.3g} m deep in the ground at the "
                      "start, expected at most {:g} m",
                      contacts.pairs().a(pair).name, contacts.pairs().b(pair).name, -gap, event.touch));
  }
}

StepReport step_event(const Control& control, const StepOptions& options, State& state, StepWorkspace::Impl& ws) {
  return EventStepper(control, options, state, ws).run();
}

}  // namespace scree
