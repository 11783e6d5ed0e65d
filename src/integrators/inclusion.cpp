// The differential inclusion of section 7.3 of M. Halm's dissertation, step by step.                 theory section 16
//
//   separating   dt = ds, contact-free, by Runge-Kutta, up to where a gap closes                      theory (16.3)
//   colliding    dt = 0, an increment of impulse (14.3) with allowances p_i ds, sum p_i = 1           theory (16.4)
//   boundary     dt + |Lambda_n|_1 = ds, as one complementarity problem with dt an unknown            theory (16.6)
#include "scree/inclusion.h"

#include <fmt/format.h>

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "control/joint_forces.h"
#include "impact/contact_lcp.h"
#include "impact/random.h"
#include "integrators/rigid_contacts.h"
#include "scree/error.h"
#include "scree/kinematics.h"
#include "solvers/lcp.h"

namespace scree {
namespace {

constexpr int kPasses = 40;      // of the fixed point of a boundary step
constexpr int kHalvings = 30;    // of one that does not converge
constexpr int kTurning = 30;     // bisections for the least gap inside of a step
constexpr double kPart = 0.25;   // of touch and rest_speed: what a boundary step may leave
constexpr double kFloor = 0.5;   // of touch: how deep a closed contact that parts may come back before it counts
constexpr double kAlone = 0.25;  // drawn shares: one contact takes all
constexpr double kNone = 0.35;   // of other draws: contacts without a share
constexpr int kHeld = 128;       // increments that shares are kept for: log-uniform up to this
constexpr int kOctaves = 8;      // drawn covering vectors span that many powers of two

// qdot of v: rates of positions; of quaternions q (0, w)/2 with w in body axes.                        theory (1.9)
Eigen::VectorXd position_rate(const Model& model, const Eigen::VectorXd& q, const Eigen::VectorXd& v) {
  Eigen::VectorXd rate(model.nq());
  for (const Joint& joint : model.joints()) {
    const bool turns = joint.type == JointType::ball || joint.type == JointType::floating;
    const int linear = velocity_count(joint.type) - (turns ? 3 : 0);
    rate.segment(joint.q_index, linear) = v.segment(joint.v_index, linear);
    if (!turns) continue;
    const Eigen::Vector4d r = q.segment<4>(joint.q_index + linear);
    const Vec3 w = v.segment<3>(joint.v_index + linear);
    const Quat turned = Quat(r(0), r(1), r(2), r(3)) * Quat(0, w.x() / 2, w.y() / 2, w.z() / 2);
    rate.segment<4>(joint.q_index + linear) << turned.w(), turned.x(), turned.y(), turned.z();
  }
  return rate;
}

void normalize_quaternions(const Model& model, Eigen::VectorXd& q) {
  for (const Joint& joint : model.joints())
    if (joint.type == JointType::ball || joint.type == JointType::floating)
      q.segment<4>(joint.q_index + position_count(joint.type) - 4).normalize();
}

// The largest x in [0, high] up to which `clear`, by bisection to rounding of `high`, where it is not clear.
double last_clear(double high, const std::function<bool(double)>& clear) {
  const double resolution = std::numeric_limits<double>::epsilon() * high;
  double low = 0;
  while (high - low > resolution) {
    const double middle = 0.5 * (low + high);
    (clear(middle) ? low : high) = middle;
  }
  return low;
}

// Where a body is and how it moves at a share in [0, 1] of a step.
struct Moment {
  Eigen::VectorXd q, v;
};
using Path = std::function<bool(double, Moment&)>;

}  // namespace

struct Inclusion::Impl {
  Impl(const Model& model_, const ContactWorld& world_, const Control& control_, const InclusionOptions& options_)
      : model(model_),
        world(world_),
        control(control_),
        options(options_),
        joint_forces(model_),
        contacts(model_, world_),
        random(options_.seed, 0) {}

  const Model& model;
  const ContactWorld& world;
  const Control control;
  const InclusionOptions options;
  JointForces joint_forces;
  RigidContacts contacts;
  Lemke lemke;
  RandomStream random;

  // Shares of impulse of the impact at hand.
  std::vector<int> shared_pairs;
  Eigen::VectorXd shares;
  int shares_left = 0;

  double touch() const { return world.event.touch; }
  double rest_speed() const { return world.event.rest_speed; }
  int directions() const { return world.event.impact.friction_directions; }

  // ---- the modes of (7.19) ----

  struct Closed {
    std::vector<int> pairs;
    std::vector<double> rates;  // [m/s]
    InclusionMode mode = InclusionMode::separating;
  };
  Closed closed(const State& state) {
    Closed result;
    contacts.set_position(state.q);
    bool approaching = false, lasting = false;
    for (int pair = 0; pair < contacts.pairs(); ++pair) {
      if (contacts.gap(pair) > touch()) continue;
      const double rate = contacts.gap_rate(pair, state.v);
      result.pairs.push_back(pair);
      result.rates.push_back(rate);
      approaching |= rate < -rest_speed();
      lasting |= rate <= rest_speed();
    }
    result.mode = approaching ? InclusionMode::colliding
                  : lasting   ? InclusionMode::boundary
                              : InclusionMode::separating;
    return result;
  }

  ImpactProblem problem(const ContactRows& rows, const Eigen::MatrixXd& M, const Eigen::VectorXd& v) const {
    ImpactProblem p;
    p.M = M;
    p.Jn = rows.Jn;
    p.Jt = rows.Jt;
    if (rows.tangents > 0) p.mu = Eigen::VectorXd::Constant(rows.size(), world.smooth.friction);
    p.v = v;
    return p;
  }

  // ---- smooth motion ----

  bool acceleration(double time, const Eigen::VectorXd& q, const Eigen::VectorXd& v, Eigen::VectorXd& vdot) {
    Eigen::VectorXd force(model.nv());
    if (control.motion) {
      Control now = control;
      control.motion->sample(time, now.target, now.target_velocity);
      joint_forces.explicit_force(now, q.data(), v.data(), force.data());
    } else {
      joint_forces.explicit_force(control, q.data(), v.data(), force.data());
    }
    vdot.resize(model.nv());
    contacts.set_position(q);
    return contacts.dynamics().forward_dynamics(v, force, options.gravity, vdot) && vdot.allFinite();
  }

  // One step of the classical Runge-Kutta method without contact.                                   theory (16.3)
  bool fly(const State& state, double h, Moment& end) {
    constexpr double kNode[] = {0, 0.5, 0.5, 1}, kWeight[] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    end = {state.q, state.v};
    Eigen::VectorXd qdot = Eigen::VectorXd::Zero(model.nq()), vdot = Eigen::VectorXd::Zero(model.nv());
    for (int stage = 0; stage < 4; ++stage) {
      const Eigen::VectorXd q = state.q + h * kNode[stage] * qdot, v = state.v + h * kNode[stage] * vdot;
      qdot = position_rate(model, q, v);
      if (!acceleration(state.time + h * kNode[stage], q, v, vdot)) return false;
      end.q += h * kWeight[stage] * qdot;
      end.v += h * kWeight[stage] * vdot;
    }
    normalize_quaternions(model, end.q);
    return end.q.allFinite() && end.v.allFinite();
  }

  // ---- gaps that must not close unnoticed ----

  struct Watch {
    int pair;
    double level;  // [m] the gap may not fall below
    double rate;   // [m/s] at the start
  };
  // All pairs but those of `without`, which is sorted.
  std::vector<Watch> watch(const State& state, const std::vector<int>& without) {
    std::vector<Watch> result;
    contacts.set_position(state.q);
    for (int pair = 0; pair < contacts.pairs(); ++pair) {
      if (std::binary_search(without.begin(), without.end(), pair)) continue;
      const double gap = contacts.gap(pair);
      const double level = gap > touch() ? 0 : std::min(gap, -kFloor * touch());
      result.push_back({pair, level, contacts.gap_rate(pair, state.v)});
    }
    return result;
  }

  // At the end of the path, and where a gap that fell at its start turns before its end.
  bool clear(const std::vector<Watch>& watches, const Path& path) {
    Moment at;
    if (!path(1, at)) return false;
    contacts.set_position(at.q);
    std::vector<Watch> turning;
    for (const Watch& w : watches) {
      if (contacts.gap(w.pair) < w.level) return false;
      if (w.rate < 0 && contacts.gap_rate(w.pair, at.v) > 0) turning.push_back(w);
    }
    for (const Watch& w : turning) {
      double low = 0, high = 1;
      for (int k = 0; k < kTurning; ++k) {
        const double middle = 0.5 * (low + high);
        if (!path(middle, at)) return false;
        contacts.set_position(at.q);
        if (contacts.gap(w.pair) < w.level) return false;
        (contacts.gap_rate(w.pair, at.v) < 0 ? low : high) = middle;
      }
    }
    return true;
  }

  // ---- complementarity ----

  bool solve(const Eigen::MatrixXd& W, const Eigen::VectorXd& q, Eigen::VectorXd& z, InclusionStep& step) {
    z.resize(q.size());
    LcpReport report;
    if (options.selection == InclusionSelection::random) {
      Eigen::VectorXd covering(q.size());
      for (double& x : covering) x = std::ldexp(1 + random.uniform(), random.below(kOctaves));
      LcpOptions lemke_options;
      lemke_options.covering = covering.data();
      report = lemke.solve(W, q, z, lemke_options);
      ++step.solves;
    }
    if (!report.solved()) {
      report = lemke.solve(W, q, z);
      ++step.solves;
    }
    if (report.solved()) step.residual = std::max(step.residual, report.residual);
    return report.solved();
  }

  // ---- separating ----

  const char* advance_separating(State& state, double ds, InclusionStep& step) {
    const std::vector<Watch> watches = watch(state, {});
    const auto is_clear = [&](double h) {
      return clear(watches, [&](double share, Moment& at) { return fly(state, share * h, at); });
    };
    step.closed = !is_clear(ds);
    step.dt = step.closed ? last_clear(ds, is_clear) : ds;
    Moment end;
    if (!(step.dt > 0) || !fly(state, step.dt, end)) return "contact-free motion does not advance";
    state.q = end.q;
    state.v = end.v;
    return nullptr;
  }

  // ---- colliding ----

  // Shares of impulse, summing up to 1; some of it to a contact that approaches.
  const Eigen::VectorXd& choose_shares(const std::vector<int>& pairs, const Eigen::VectorXd& normal_velocity) {
    const Eigen::Index m = normal_velocity.size();
    if (options.selection == InclusionSelection::equal) {
      shares = Eigen::VectorXd::Constant(m, 1 / static_cast<double>(m));
      return shares;
    }
    const auto approaches = [&](Eigen::Index i) { return normal_velocity(i) < -rest_speed(); };
    double used = 0;
    if (pairs == shared_pairs && shares_left > 0)
      for (Eigen::Index i = 0; i < m; ++i) used += approaches(i) ? shares(i) : 0;
    --shares_left;
    if (used > 0) return shares;

    std::vector<int> candidates;
    for (int i = 0; i < m; ++i)
      if (approaches(i)) candidates.push_back(i);
    const int one = candidates[static_cast<size_t>(random.below(static_cast<int>(candidates.size())))];
    const bool alone = random.chance(kAlone);
    shares.setZero(m);
    for (int i = 0; i < m; ++i)
      if (i == one || (!alone && !random.chance(kNone))) shares(i) = -std::log1p(-random.uniform()) + 1e-9;
    shares /= shares.sum();
    shared_pairs = pairs;
    shares_left = static_cast<int>(std::pow(kHeld, random.uniform()));
    return shares;
  }

  // One increment of impulse.                                                                       theory (16.4)
  const char* advance_colliding(State& state, double ds, const std::vector<int>& pairs, InclusionStep& step) {
    contacts.set_position(state.q);
    const Eigen::MatrixXd M = contacts.dynamics().mass_matrix();
    const ContactRows rows = contacts.rows(pairs);
    const ContactLcp lcp(problem(rows, M, state.v), directions());
    const Eigen::VectorXd caps = ds * choose_shares(pairs, rows.Jn * state.v);
    Eigen::VectorXd q(lcp.size(true)), z, dy = Eigen::VectorXd::Zero(lcp.dofs());
    lcp.right_side(lcp.to_y(state.v), caps.data(), q);
    if (!solve(lcp.W(), q, z, step)) return "the increment of impulse was not solved";
    lcp.advance(z, true, dy);
    state.v += lcp.to_v(dy);
    report_impulses(rows, impulses_of(rows, lcp, z, true), step);
    return nullptr;
  }

  // ---- boundary ----

  struct Trial {
    bool solved = false;
    bool impact = false;  // dt = 0 solves the problem: impulse only
    double dt = 0;
    Eigen::VectorXd delta, v;  // displacement, velocity at the end
    ContactRows rows;          // where impulses act
    Eigen::VectorXd z;         // [lambda_n; lambda_D; gamma]
    ImpactResult impulses;
  };

  // dt, Lambda of                                                                                   theory (16.6)
  //   0 <= dt       _|_  c (dt + |Lambda_n|_1 - ds) >= 0
  //   0 <= Lambda_n _|_  J_n v' >= 0,  friction at v',  v' = v + dt a + M^-1 J^T Lambda
  bool solve_boundary(const ContactLcp& lcp, const Eigen::VectorXd& v, const Eigen::VectorXd& a, double ds,
                      Trial& trial, InclusionStep& step) {
    const int m = lcp.contacts(), n = lcp.size(false), p = lcp.impulses();
    const Eigen::VectorXd g = lcp.to_y(a);
    // c > |a|_M^2/4 makes the matrix copositive; the second term is for a = 0.                        theory (16.7)
    const double c = 0.5 * g.squaredNorm() + lcp.J().topRows(m).rowwise().squaredNorm().maxCoeff();
    Eigen::MatrixXd W = Eigen::MatrixXd::Zero(n + 1, n + 1);
    W.row(0).head(1 + m).setConstant(c);
    W.col(0).segment(1, p) = lcp.J() * g;
    W.bottomRightCorner(n, n) = lcp.W().bottomRightCorner(n, n);
    Eigen::VectorXd q(n + 1), z;
    q(0) = -c * ds;
    lcp.right_side(lcp.to_y(v), nullptr, q.tail(n));
    if (!solve(W, q, z, step)) return false;
    trial.dt = z(0);
    trial.z = z.tail(n);
    trial.impact = trial.dt == 0;
    Eigen::VectorXd dy = trial.dt * g;
    lcp.advance(trial.z, false, dy);
    trial.v = v + lcp.to_v(dy);
    return true;
  }

  // J at the end of the step, gaps there closed: a fixed point, whose passes contract by O(dt).       theory (16.8)
  Trial try_boundary(const State& state, const std::vector<int>& pairs, double ds, InclusionStep& step) {
    Trial trial;
    Eigen::VectorXd a;
    if (!acceleration(state.time, state.q, state.v, a)) return trial;
    const Eigen::MatrixXd M = contacts.dynamics().mass_matrix();
    trial.rows = contacts.rows(pairs);
    // Closed contacts end at zero, what was deeper does not get deeper.
    Eigen::VectorXd target = Eigen::VectorXd::Zero(trial.rows.size());
    for (int i = 0; i < trial.rows.size(); ++i)
      if (trial.rows.gap(i) < -touch()) target(i) = trial.rows.gap(i);

    Eigen::VectorXd correction = Eigen::VectorXd::Zero(model.nv());
    std::vector<int> active_before;
    ContactLcp lcp(problem(trial.rows, M, state.v), directions());
    for (int pass = 0; pass < kPasses; ++pass) {
      if (!solve_boundary(lcp, state.v, a, ds, trial, step)) return trial;
      if (trial.impact) {
        trial.solved = true;
        return trial;
      }
      trial.delta = trial.dt * trial.v + correction;
      if (!trial.delta.allFinite()) return trial;
      contacts.set_position(integrate_position(model, state.q, trial.delta, 1));
      ContactRows end = contacts.rows(pairs);
      const Eigen::VectorXd rate = end.Jn * trial.v;
      std::vector<int> active;
      double wrong = 0;  // in parts of what may be left
      for (int i = 0; i < end.size(); ++i) {
        const bool loaded = trial.z(i) > 0;
        if (loaded || end.gap(i) < target(i)) active.push_back(i);
        const double off = target(i) - end.gap(i);
        wrong = std::max({wrong, (loaded ? std::abs(off) : off) / (kPart * touch()),
                          (loaded ? std::abs(rate(i)) : -rate(i)) / (kPart * rest_speed())});
      }
      if (wrong <= 1) {
        step.projection = correction.cwiseAbs().maxCoeff();
        trial.impulses = impulses_of(trial.rows, lcp, trial.z, false);
        trial.solved = true;
        return trial;
      }
      if (active != active_before) correction.setZero();
      active_before = active;
      const ContactLcp lcp_end(problem(end, M, state.v), directions());
      if (!active.empty()) {
        // The smallest displacement in the metric of M that closes the gaps, linearised.
        Eigen::MatrixXd J(static_cast<Eigen::Index>(active.size()), lcp.dofs());
        Eigen::VectorXd off(J.rows());
        for (Eigen::Index k = 0; k < J.rows(); ++k) {
          const int i = active[static_cast<size_t>(k)];
          J.row(k) = lcp_end.J().row(i);
          off(k) = target(i) - end.gap(i);
        }
        correction += lcp_end.to_v(J.completeOrthogonalDecomposition().solve(off));
      }
      trial.delta = trial.dt * trial.v + correction;
      contacts.set_position(integrate_position(model, state.q, trial.delta, 1));
      trial.rows = contacts.rows(pairs);
      lcp = ContactLcp(problem(trial.rows, M, state.v), directions());
    }
    return trial;
  }

  const char* advance_boundary(State& state, double ds, const std::vector<int>& pairs, InclusionStep& step) {
    const std::vector<Watch> watches = watch(state, pairs);
    Trial trial;
    double x = ds;
    for (int k = 0; k <= kHalvings; ++k, x *= 0.5)
      if (trial = try_boundary(state, pairs, x, step); trial.solved) break;
    if (!trial.solved) return "no boundary step was found";
    if (trial.impact) return impact_without_collision(state, x, trial, step);

    const auto is_clear = [&](const Trial& t) {
      return clear(watches, [&](double share, Moment& at) {
        at = {integrate_position(model, state.q, t.delta, share), t.delta};
        return true;
      });
    };
    step.closed = !is_clear(trial);
    if (step.closed) {
      // The draws of all tries are the same: they are tries of one step.
      const RandomStream before = random;
      Trial last;
      last_clear(x, [&](double part) {
        random = before;
        Trial t = try_boundary(state, pairs, part, step);
        if (!t.solved || t.impact || !is_clear(t)) return false;
        last = std::move(t);
        return true;
      });
      if (!last.solved) return "a boundary step does not advance";
      trial = std::move(last);
    }
    state.q = integrate_position(model, state.q, trial.delta, 1);
    state.v = trial.v;
    step.dt = trial.dt;
    report_impulses(trial.rows, trial.impulses, step);
    return nullptr;
  }

  // Impulse without time from Jn v = 0: normal impulses in the proportions of the solution with dt = 0, up to ds of
  // them, friction at the velocity they lead to. Contacts that would part get none.                   theory (16.9)
  const char* impact_without_collision(State& state, double ds, const Trial& trial, InclusionStep& step) {
    contacts.set_position(state.q);
    const Eigen::MatrixXd M = contacts.dynamics().mass_matrix();
    const ContactLcp lcp(problem(trial.rows, M, state.v), directions());
    const int m = lcp.contacts(), n = lcp.size(false), rest = n - m;
    const Eigen::MatrixXd W = lcp.W().bottomRightCorner(n, n);
    Eigen::VectorXd normal = trial.z.head(m);
    step.without_collision = true;
    while (normal.sum() > 0) {
      normal *= std::min(1.0, ds / normal.sum());
      Eigen::VectorXd z = Eigen::VectorXd::Zero(n), q(n), friction;
      lcp.right_side(lcp.to_y(state.v), nullptr, q);
      z.head(m) = normal;
      if (rest > 0) {
        if (!solve(W.bottomRightCorner(rest, rest), q.tail(rest) + W.bottomLeftCorner(rest, m) * normal, friction,
                   step))
          return "friction of an impact without collision was not solved";
        z.tail(rest) = friction;
      }
      const Eigen::VectorXd normal_velocity = q.head(m) + (W * z).head(m);
      bool parts = false;
      for (int i = 0; i < m; ++i)
        if (normal(i) > 0 && normal_velocity(i) > rest_speed()) {
          normal(i) = 0;
          parts = true;
        }
      if (parts) continue;
      Eigen::VectorXd dy = Eigen::VectorXd::Zero(lcp.dofs());
      lcp.advance(z, false, dy);
      state.v += lcp.to_v(dy);
      report_impulses(trial.rows, impulses_of(trial.rows, lcp, z, false), step);
      return nullptr;
    }
    return "no impulse keeps the contacts closed";
  }

  // ---- report ----

  static ImpactResult impulses_of(const ContactRows& rows, const ContactLcp& lcp, const Eigen::VectorXd& z,
                                  bool capped) {
    ImpactResult impulses;
    impulses.normal_impulse = Eigen::VectorXd::Zero(rows.size());
    impulses.tangential_impulse = Eigen::VectorXd::Zero(rows.tangents * rows.size());
    lcp.add_impulses(z, capped, impulses);
    return impulses;
  }

  void report_impulses(const ContactRows& rows, const ImpactResult& impulses, InclusionStep& step) {
    for (int i = 0; i < rows.size(); ++i) {
      const size_t k = static_cast<size_t>(i);
      InclusionContact contact;
      contact.point = contacts.point_of(rows.pairs[k]);
      contact.solid = contacts.solid_of(rows.pairs[k]);
      contact.normal_impulse = impulses.normal_impulse(i);
      contact.normal = rows.normal[k];
      for (int t = 0; t < rows.tangents; ++t)
        contact.friction += impulses.tangential_impulse(rows.tangents * i + t) * rows.tangent[k][static_cast<size_t>(t)];
      step.contacts.push_back(contact);
    }
    step.normal_impulse = impulses.normal_impulse.sum();
  }

  // Adds pairs that are closed at the end, and gaps and rates there. `before`: closed at the start.
  void report_end(const State& state, const std::vector<int>& before, InclusionStep& step) {
    contacts.set_position(state.q);
    std::vector<InclusionContact> all;
    for (int pair = 0; pair < contacts.pairs(); ++pair) {
      const double gap = contacts.gap(pair);
      if (gap > touch() && !std::binary_search(before.begin(), before.end(), pair)) continue;
      InclusionContact contact;
      contact.point = contacts.point_of(pair);
      contact.solid = contacts.solid_of(pair);
      contact.normal = contacts.rows({pair}).normal[0];
      for (const InclusionContact& known : step.contacts)
        if (known.point == contact.point && known.solid == contact.solid) contact = known;
      contact.gap = gap;
      contact.normal_velocity = contacts.gap_rate(pair, state.v);
      all.push_back(contact);
    }
    step.contacts = std::move(all);
  }

  void check_state(const State& state) const {
    if (state.q.size() != model.nq() || state.v.size() != model.nv())
      throw InputError(fmt::format("inclusion: state has {} positions and {} velocities, expected {} and {}",
                                   state.q.size(), state.v.size(), model.nq(), model.nv()));
    if (!state.q.allFinite() || !state.v.allFinite() || !std::isfinite(state.time))
      throw InputError("inclusion: state has a number that is not finite, expected finite ones");
  }
};

const char* inclusion_mode_name(InclusionMode mode) {
  constexpr const char* kNames[] = {"separating", "colliding", "boundary"};
  return kNames[static_cast<int>(mode)];
}

void InclusionOptions::validate() const {
  if (!gravity.allFinite())
    throw InputError(fmt::format("inclusion: gravity is ({}, {}, {}), expected finite numbers", gravity.x(),
                                 gravity.y(), gravity.z()));
}

Inclusion::Inclusion(const Model& model, const ContactWorld& world, const Control& control,
                     const InclusionOptions& options) {
  options.validate();
  control.validate(model);
  world.event.validate();
  world.smooth.validate();
  const int directions = world.event.impact.friction_directions;
  if (directions < 3 || directions > 64)
    throw InputError(fmt::format("inclusion: friction_directions is {}, expected an integer in [3, 64]", directions));
  for (const ContactPoint& point : world.points)
    if (!point.body.valid() || point.body.value() >= static_cast<int>(model.bodies().size()))
      throw InputError(fmt::format("inclusion: contact point \"{}\" is on body {}, expected one of {} bodies",
                                   point.name, point.body.value(), model.bodies().size()));
  impl_ = std::make_unique<Impl>(model, world, control, options);
}
Inclusion::Inclusion(const Model& model, const ContactWorld& world, const InclusionOptions& options)
    : Inclusion(model, world, Control(model), options) {}
Inclusion::~Inclusion() = default;
Inclusion::Inclusion(Inclusion&&) noexcept = default;
Inclusion& Inclusion::operator=(Inclusion&&) noexcept = default;

InclusionStep Inclusion::advance(State& state, double ds) {
  impl_->check_state(state);
  if (!(ds > 0 && ds <= kMaxStep))
    throw InputError(fmt::format("inclusion: ds is {}, expected a number in (0, {}]", ds, kMaxStep));

  const Impl::Closed closed = impl_->closed(state);
  InclusionStep step;
  step.mode = closed.mode;
  State next = state;
  const char* failure = nullptr;
  if (closed.mode == InclusionMode::separating) {
    failure = impl_->advance_separating(next, ds, step);
  } else if (closed.mode == InclusionMode::colliding) {
    failure = impl_->advance_colliding(next, ds, closed.pairs, step);
  } else {
    std::vector<int> lasting;
    for (size_t i = 0; i < closed.pairs.size(); ++i)
      if (closed.rates[i] <= impl_->rest_speed()) lasting.push_back(closed.pairs[i]);
    failure = impl_->advance_boundary(next, ds, lasting, step);
  }
  step.ds = step.dt + step.normal_impulse;
  if (!failure && !(next.q.allFinite() && next.v.allFinite())) failure = "the state is not finite";
  if (!failure && !(step.ds > 0)) failure = "neither time nor impulse advances";
  if (failure) {
    step.reason = failure;
    return step;
  }
  next.time += step.dt;
  if (step.dt > 0) next.last_step = step.dt;
  next.body_rates.clear();  // of other integrators
  next.contact_weights.clear();
  next.contact_loads.clear();
  state = std::move(next);
  impl_->report_end(state, closed.pairs, step);
  step.status = InclusionStatus::advanced;
  return step;
}

InclusionMode Inclusion::mode(const State& state) {
  impl_->check_state(state);
  return impl_->closed(state).mode;
}

double Inclusion::least_gap(const State& state) {
  impl_->check_state(state);
  impl_->contacts.set_position(state.q);
  double least = std::numeric_limits<double>::infinity();
  for (int pair = 0; pair < impl_->contacts.pairs(); ++pair) least = std::min(least, impl_->contacts.gap(pair));
  return least;
}

ImpactProblem Inclusion::impact_problem(const State& state) {
  impl_->check_state(state);
  const Impl::Closed closed = impl_->closed(state);
  const Eigen::MatrixXd M = impl_->contacts.dynamics().mass_matrix();
  return impl_->problem(impl_->contacts.rows(closed.pairs), M, state.v);
}

}  // namespace scree
