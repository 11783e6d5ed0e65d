// The differential inclusion of section 7.3 of M. Halm's dissertation, step by step.                 theory section 16
//
//   separating   dt = ds, contact-free, by Runge-Kutta, up to where a gap closes                      theory (16.3)
//   colliding    dt = 0, an increment of impulse (14.3) with allowances p_i ds, sum p_i = 1           theory (16.4)
//   boundary     dt + |Lambda_n|_1 = ds, as one complementarity problem with dt an unknown            theory (16.6)
#include "scree/research/inclusion.h"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "base/random.h"
#include "contact/rigid_contacts.h"
#include "control/joint_forces.h"
#include "control/joint_friction.h"
#include "impact/contact_lcp.h"
#include "integrators/runge_kutta.h"
#include "scree/error.h"
#include "scree/kinematics.h"
#include "solvers/lcp.h"

namespace scree {
namespace {

constexpr int kPasses = 40;           // of the fixed point of a boundary step
constexpr int kHalvings = 30;         // of one that does not converge
constexpr double kShort = 0.9;        // what is tried next after a dt > max_dt, over what would give max_dt if linear
constexpr int kTurning = 30;          // bisections for the least gap inside of a step
constexpr double kSoft = 1e-10;       // relative regularisation of problems for displacements
constexpr double kDifference = 1e-6;  // [s] of the difference quotient that tells how normals turn
constexpr double kRank = 1e-8;        // relative, of Jacobians
constexpr double kNear = 100;         // of touch: bystanders
constexpr double kSteeper = 2;        // inside of a step gaps change at most so much faster than at its ends
constexpr double kPart = 0.25;        // of touch and rest_speed: what a boundary step may leave
constexpr double kFloor = 1e-3;       // of touch: how far a closed contact that parts may fall below where it was
constexpr double kAlone = 0.25;       // drawn shares: one contact takes all
constexpr double kNone = 0.35;        // of other draws: contacts without a share
constexpr int kHeld = 128;            // increments that shares are kept for: log-uniform up to this
constexpr int kOctaves = 8;           // drawn covering vectors span that many powers of two

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
  Impl(const Model& model_, const World& world_, const Control& control_, const InclusionOptions& options_)
      : model(model_),
        world(world_),
        control(control_),
        options(options_),
        joint_forces(model_),
        joint_friction(model_),
        contacts(model_, world_),
        random(options_.seed, 0) {}

  const Model& model;
  const World& world;
  const Control control;
  const InclusionOptions options;
  JointForces joint_forces;
  JointFriction joint_friction;
  RigidContacts contacts;
  Lemke lemke;
  RandomStream random;
  std::optional<std::uint64_t> draw;  // of the step at hand; none: Lemke's algorithm from (1, ..., 1)

  // Shares of impulse of the impact at hand.
  std::vector<int> shared_pairs;
  Eigen::VectorXd shares;
  int shares_left = 0;

  double touch() const { return options.event.touch; }
  double rest_speed() const { return options.event.rest_speed; }
  int directions() const { return world.impact.friction_directions; }

  // ---- the modes of (7.19) ----

  struct Closed {
    std::vector<int> pairs;
    InclusionMode mode = InclusionMode::separating;
  };
  Closed closed(const State& state) {
    Closed result;
    contacts.set_position(state.q);
    bool approaching = false, lasting = false;
    for (const int pair : contacts.near(touch())) {
      if (contacts.gap(pair) > touch() || !contacts.movable(pair)) continue;
      const double rate = contacts.gap_rate(pair, state.v);
      result.pairs.push_back(pair);
      approaching |= rate < -rest_speed();
      lasting |= rate <= rest_speed();
    }
    result.mode = approaching ? InclusionMode::colliding
                  : lasting   ? InclusionMode::boundary
                              : InclusionMode::separating;
    return result;
  }

  ImpactProblem problem(const ContactRows& rows, const Eigen::MatrixXd& M, const Eigen::VectorXd& v) const {
    return scree::impact_problem(rows, M, world.surface.friction, v);
  }

  // ---- smooth motion ----

  // Dry friction as a damper that an explicit step of max_dt carries: in the metric of the mass matrix all dampers
  // together are no stiffer than 1/max_dt, and none exceeds its friction at rates beyond kJointCreep.    theory (5.13)
  bool add_joint_friction(const Eigen::VectorXd& v, Eigen::VectorXd& force) {
    const Eigen::LLT<Eigen::MatrixXd> M(contacts.dynamics().mass_matrix());
    if (M.info() != Eigen::Success) return false;
    const double share = options.max_dt * joint_friction.count();
    for (const auto [dof, friction] : joint_friction.joints()) {
      const Eigen::VectorXd unit = Eigen::VectorXd::Unit(model.nv(), dof);
      const double mobility = M.matrixL().solve(unit).squaredNorm();  // (M^-1)_jj
      const double damping = std::min(friction / kJointCreep, 1 / (share * mobility));
      force(dof) -= std::clamp(damping * v(dof), -friction, friction);
    }
    return true;
  }

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
    if (!joint_friction.none() && !add_joint_friction(v, force)) return false;
    return contacts.dynamics().forward_dynamics(v, force, world.gravity, vdot) && vdot.allFinite();
  }

  // One step of the classical Runge-Kutta method without contact.                                   theory (16.3)
  bool runge_kutta(double time, const Moment& start, double h, Moment& end) {
    constexpr double kNode[] = {0, 0.5, 0.5, 1}, kWeight[] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    end = start;
    Eigen::VectorXd qdot = Eigen::VectorXd::Zero(model.nq()), vdot = Eigen::VectorXd::Zero(model.nv());
    for (int stage = 0; stage < 4; ++stage) {
      const Eigen::VectorXd q = start.q + h * kNode[stage] * qdot, v = start.v + h * kNode[stage] * vdot;
      qdot.resize(model.nq());
      position_rate(tree_of(model), q.data(), v.data(), qdot.data());
      if (!acceleration(time + h * kNode[stage], q, v, vdot)) return false;
      end.q += h * kWeight[stage] * qdot;
      end.v += h * kWeight[stage] * vdot;
    }
    normalize_quaternions(tree_of(model), end.q.data());
    return end.q.allFinite() && end.v.allFinite();
  }

  // Two of them.
  bool fly(const State& state, double h, Moment& end) {
    Moment middle;
    return runge_kutta(state.time, {state.q, state.v}, 0.5 * h, middle) &&
           runge_kutta(state.time + 0.5 * h, middle, 0.5 * h, end);
  }

  // Of fly(): by the one step of twice the length, whose error is 16 times as large.
  bool is_accurate(const State& state, double h) {
    Moment two, one;
    if (!fly(state, h, two) || !runge_kutta(state.time, {state.q, state.v}, h, one)) return false;
    const double error = std::max((two.q - one.q).cwiseAbs().maxCoeff(), (two.v - one.v).cwiseAbs().maxCoeff()) / 15;
    return error <= options.event.flight_accuracy;
  }

  // ---- gaps that must not close unnoticed ----

  struct Watch {
    int pair;
    double level;      // [m] the gap may not fall below
    double gap, rate;  // [m, m/s] at the start
  };
  // All pairs but those of `without`, which is sorted.
  std::vector<Watch> watch(const State& state, const std::vector<int>& without) {
    std::vector<Watch> result;
    contacts.set_position(state.q);
    for (int pair = 0; pair < contacts.pairs().count(); ++pair) {
      if (std::binary_search(without.begin(), without.end(), pair)) continue;
      const double gap = contacts.gap(pair);
      if (gap <= touch() && !contacts.movable(pair)) continue;
      const double level = gap > touch() ? 0 : gap >= -touch() ? std::max(gap - kFloor * touch(), -touch()) : gap;
      result.push_back({pair, level, gap, contacts.gap_rate(pair, state.v)});
    }
    return result;
  }

  // At the end of a path that takes `duration` [s], and where a gap that fell at its start turns before its end.
  bool clear(const std::vector<Watch>& watches, double duration, const Path& path) {
    Moment at;
    if (!path(1, at)) return false;
    contacts.set_position(at.q);
    struct Turn {
      Watch start;
      double gap, rate;  // at the end
    };
    std::vector<Turn> turns;
    for (const Watch& w : watches) {
      const double gap = contacts.gap(w.pair);
      if (gap < w.level) return false;
      if (!(w.rate < 0)) continue;
      const double rate = contacts.gap_rate(w.pair, at.v);
      if (rate > 0) turns.push_back({w, gap, rate});
    }
    for (const Turn& turn : turns) {
      double low = 0, high = 1, gap_low = turn.start.gap, gap_high = turn.gap;
      double rate_low = turn.start.rate, rate_high = turn.rate;
      for (int k = 0; k < kTurning; ++k) {
        // A convex gap is above its tangents at both ends; with slopes of kSteeper times those others are, too.
        const double fall = -kSteeper * duration * rate_low, rise = kSteeper * duration * rate_high;
        const double meet = (gap_low - gap_high + rise * (high - low)) / (fall + rise);
        if (gap_low - fall * std::clamp(meet, 0.0, high - low) >= turn.start.level) break;
        const double middle = 0.5 * (low + high);
        if (!path(middle, at)) return false;
        contacts.set_position(at.q);
        const double gap = contacts.gap(turn.start.pair), rate = contacts.gap_rate(turn.start.pair, at.v);
        if (gap < turn.start.level) return false;
        if (rate < 0) {
          low = middle, gap_low = gap, rate_low = rate;
        } else {
          high = middle, gap_high = gap, rate_high = rate;
        }
      }
    }
    return true;
  }

  // ---- complementarity ----

  // All problems of a step have the covering vector of its draw: they are to pick the same of several solutions.
  bool solve(const Eigen::MatrixXd& W, const Eigen::VectorXd& q, Eigen::VectorXd& z, InclusionStep& step) {
    z.resize(q.size());
    LcpReport report;
    if (draw) {
      RandomStream drawn(*draw, 0);
      Eigen::VectorXd covering(q.size());
      for (double& x : covering) x = std::ldexp(1 + drawn.uniform(), drawn.below(kOctaves));
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
    const double start = state.time;
    double h = ds;
    while (step.dt < ds && !step.closed) {
      h = std::min(h, ds - step.dt);
      int halvings = 0;
      while (!is_accurate(state, h) && ++halvings <= kHalvings) h *= 0.5;
      if (halvings > kHalvings) return "contact-free motion is not accurate at the smallest step";
      const std::vector<Watch> watches = watch(state, {});
      const auto is_clear = [&](double part) {
        return clear(watches, part, [&](double share, Moment& at) { return fly(state, share * part, at); });
      };
      step.closed = !is_clear(h);
      if (step.closed) h = last_clear(h, is_clear);
      Moment end;
      if (!(h > 0) || !fly(state, h, end)) return "contact-free motion does not advance";
      state.q = end.q;
      state.v = end.v;
      step.dt += h;
      state.time = start + step.dt;
      if (closed(state).mode != InclusionMode::separating) break;
      h *= 2;
    }
    state.time = start;  // the caller adds dt
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

  // What a boundary step starts from, in mass-normalised coordinates.
  struct Start {
    const State& state;
    double ds;
    Eigen::MatrixXd M;
    // Accelerations: without contact, and the one that has the same effect on the contacts as the turning of normals,
    // tangents and levers at constant v; kappa [m/s^2] what it misses of normal ones.               theory (16.8)
    Eigen::VectorXd smooth, turning, kappa;
    Eigen::MatrixXd bystanders;  // Jn of pairs that are nearly closed
  };
  Start start_boundary(const State& state, const ContactRows& rows, const Eigen::VectorXd& a, const Eigen::MatrixXd& M,
                       double ds) {
    Start start{state, ds, M, {}, {}, {}, {}};
    const ContactLcp lcp(problem(rows, M, state.v), directions());
    start.smooth = lcp.to_y(a);
    const Eigen::LLT<Eigen::MatrixXd> cholesky(M);
    const auto normalised = [&](const Eigen::MatrixXd& J) -> Eigen::MatrixXd {  // J L^-T
      if (J.rows() == 0) return J;
      return cholesky.matrixL().solve(J.transpose()).transpose();
    };
    contacts.set_position(state.q);
    std::vector<int> near;
    for (const int pair : contacts.near(kNear * touch()))
      if (contacts.gap(pair) <= kNear * touch() && contacts.movable(pair) &&
          std::none_of(rows.contacts.begin(), rows.contacts.end(),
                       [&](const RigidContact& contact) { return contact.pair == pair; }))
        near.push_back(pair);
    start.bystanders = normalised(contacts.rows(near).Jn);
    contacts.set_position(integrate_position(model, state.q, state.v, kDifference));
    const ContactRows moved = contacts.rows_like(rows);
    const Eigen::Index m = rows.Jn.rows(), t = rows.Jt.rows();
    Eigen::MatrixXd J(m + t, model.nv());
    J << rows.Jn, rows.Jt;
    Eigen::VectorXd rate(m + t);
    rate << (moved.Jn - rows.Jn) * state.v / kDifference, (moved.Jt - rows.Jt) * state.v / kDifference;
    const Eigen::MatrixXd Jy = normalised(J);
    Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> inverse(Jy.rows(), Jy.cols());
    inverse.setThreshold(kRank);
    inverse.compute(Jy);
    start.turning = inverse.solve(rate);
    start.kappa = rate.head(m) - Jy.topRows(m) * start.turning;
    return start;
  }

  // dt, Lambda of                                                                                   theory (16.6)
  //   0 <= dt       _|_  c (dt + |Lambda_n|_1 - ds) >= 0
  //   0 <= Lambda_n _|_  J_n v' >= 0,  friction at v',  v' = v + dt a + M^-1 J^T Lambda
  // J at what was the end with dt_J, and turned on by dt - dt_J.
  bool solve_boundary(const Start& start, const ContactLcp& lcp, double dt_J, Trial& trial, InclusionStep& step) {
    const int m = lcp.contacts(), n = lcp.size(false), p = lcp.impulses();
    const Eigen::VectorXd seen = start.smooth + start.turning;
    // c > |seen|^2/4, c >= -kappa make the matrix copositive; `lightest` is for neither.                theory (16.7)
    const double lightest = lcp.J().topRows(m).rowwise().squaredNorm().maxCoeff();
    const double c = 0.5 * seen.squaredNorm() + std::max(0.0, -start.kappa.minCoeff()) + lightest;
    // Unknown is dt/unit, its row times unit: of the size of the others.
    const double unit = lightest / c;
    Eigen::MatrixXd W = Eigen::MatrixXd::Zero(n + 1, n + 1);
    W(0, 0) = unit * unit * c;
    W.row(0).segment(1, m).setConstant(unit * c);
    W.col(0).segment(1, p) = unit * lcp.J() * seen;
    W.col(0).segment(1, m) += unit * start.kappa;
    W.bottomRightCorner(n, n) = lcp.W().bottomRightCorner(n, n);
    Eigen::VectorXd q(n + 1), z;
    q(0) = -unit * c * start.ds;
    lcp.right_side(lcp.to_y(start.state.v) - dt_J * start.turning, nullptr, q.tail(n));
    q.segment(1, m) -= dt_J * start.kappa;
    if (!solve(W, q, z, step)) return false;
    trial.dt = unit * z(0);
    trial.z = z.tail(n);
    trial.impact = trial.dt == 0;
    Eigen::VectorXd dy = trial.dt * start.smooth;
    lcp.advance(trial.z, false, dy);
    trial.v = start.state.v + lcp.to_v(dy);
    return true;
  }

  // The displacement, smallest in the metric of M, after which gaps that are now `gap` are not below zero, those of
  // loaded contacts neither above, and bystanders not lower than without it: linearised, a complementarity problem.
  bool correct_gaps(const Start& start, const ContactLcp& lcp, const Eigen::VectorXd& gap,
                    const Eigen::VectorXd& impulse, Eigen::VectorXd& correction, InclusionStep& step) {
    const Eigen::Index m = gap.size(), others = start.bystanders.rows();
    const Eigen::Index n = m + (impulse.head(m).array() > 0).count() + others;
    Eigen::MatrixXd J(n, lcp.dofs());
    Eigen::VectorXd q = Eigen::VectorXd::Zero(n), z(n);
    J.topRows(m) = lcp.J().topRows(m);
    q.head(m) = gap;
    for (Eigen::Index i = 0, row = m; i < m; ++i)
      if (impulse(i) > 0) {
        q(row) = -gap(i);
        J.row(row++) = -lcp.J().row(i);
      }
    J.bottomRows(others) = start.bystanders;
    Eigen::MatrixXd W = J * J.transpose();
    // More contacts than degrees of freedom agree but for rounding.
    W.diagonal().array() += kSoft * W.diagonal().maxCoeff();
    ++step.solves;
    if (!lemke.solve(W, q, z).solved()) return false;
    correction = lcp.to_v(J.transpose() * z);
    return true;
  }

  // J at the end of the step, gaps there closed: a fixed point, whose passes contract by O(dt).       theory (16.8)
  Trial try_boundary(const State& state, const std::vector<int>& pairs, double ds, InclusionStep& step) {
    Trial trial;
    Eigen::VectorXd a;
    if (!acceleration(state.time, state.q, state.v, a)) return trial;
    const Eigen::MatrixXd M = contacts.dynamics().mass_matrix();
    trial.rows = contacts.rows(pairs);
    const Start start = start_boundary(state, trial.rows, a, M, ds);
    // Closed contacts end at zero, what was deeper does not get deeper.
    Eigen::VectorXd target = Eigen::VectorXd::Zero(trial.rows.size());
    for (Eigen::Index i = 0; i < trial.rows.size(); ++i) {
      const double gap = trial.rows.contacts[static_cast<size_t>(i)].gap;
      if (gap < -touch()) target(i) = gap;
    }

    trial.delta.setZero(model.nv());
    for (int pass = 0; pass < kPasses; ++pass) {
      const ContactLcp lcp(problem(trial.rows, start.M, state.v), directions());
      const double dt_before = trial.dt;
      if (!solve_boundary(start, lcp, dt_before, trial, step)) return trial;
      // Impulse only: from where the step starts, not from where it might have ended.
      if (trial.impact) {
        trial.solved = pass == 0;
        return trial;
      }
      if (trial.dt > options.max_dt) return trial;
      Eigen::VectorXd correction;
      const Eigen::VectorXd gap = trial.rows.gaps() + trial.rows.Jn * (trial.dt * trial.v - trial.delta);
      if (!correct_gaps(start, lcp, gap - target, trial.z, correction, step)) return trial;
      trial.delta = trial.dt * trial.v + correction;
      if (!trial.delta.allFinite()) return trial;
      contacts.set_position(integrate_position(model, state.q, trial.delta, 1));
      ContactRows end = contacts.rows_like(trial.rows);
      const Eigen::VectorXd rate = end.Jn * trial.v, off = target - end.gaps();
      // In parts of what may be left: first how far J was turned on.
      double wrong = std::abs(trial.dt - dt_before) * (lcp.J() * start.turning).cwiseAbs().maxCoeff();
      wrong /= kPart * rest_speed();
      for (int i = 0; i < end.size(); ++i) {
        const bool loaded = trial.z(i) > 0;
        wrong = std::max({wrong, (loaded ? std::abs(off(i)) : off(i)) / (kPart * touch()),
                          (loaded ? std::abs(rate(i)) : -rate(i)) / (kPart * rest_speed())});
      }
      if (wrong <= 1) {
        step.projection = correction.cwiseAbs().maxCoeff();
        trial.impulses = impulses_of(trial.rows, lcp, trial.z, false);
        trial.solved = true;
        return trial;
      }
      trial.rows = std::move(end);
    }
    return trial;
  }

  const char* advance_boundary(State& state, double ds, const std::vector<int>& pairs, InclusionStep& step) {
    const std::vector<Watch> watches = watch(state, pairs);
    Trial trial;
    double x = ds;
    for (int k = 0; k <= kHalvings; ++k) {
      trial = try_boundary(state, pairs, x, step);
      if (trial.solved && trial.impact) {
        if (impact_without_collision(state, x, trial, step)) return nullptr;
        // No course of an impact begins like this solution: there are others.
        draw = random.bits();
        trial.solved = false;
        continue;
      }
      if (trial.solved) break;
      x *= std::min(0.5, kShort * options.max_dt / trial.dt);
    }
    if (!trial.solved) return "no boundary step was found";

    const auto is_clear = [&](const Trial& t) {
      return clear(watches, t.dt, [&](double share, Moment& at) {
        at = {integrate_position(model, state.q, t.delta, share), t.delta / t.dt};
        return true;
      });
    };
    step.closed = !is_clear(trial);
    if (step.closed) {
      Trial last;
      last_clear(x, [&](double part) {
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

  // Impulse without time from Jn v = 0, up to ds of it: normal impulses in the proportions of the solution with dt = 0,
  // or of one of its contacts alone; friction at the velocity they lead to. They have to act against approaching
  // velocities, as in the course of an impact.                                                       theory (16.9)
  bool impact_without_collision(State& state, double ds, const Trial& trial, InclusionStep& step) {
    contacts.set_position(state.q);
    const Eigen::MatrixXd M = contacts.dynamics().mass_matrix();
    const ContactLcp lcp(problem(trial.rows, M, state.v), directions());
    const int m = lcp.contacts(), n = lcp.size(false), rest = n - m;
    const Eigen::MatrixXd W = lcp.W().bottomRightCorner(n, n);
    Eigen::VectorXd q(n);
    lcp.right_side(lcp.to_y(state.v), nullptr, q);
    const Eigen::VectorXd whole = trial.z.head(m);
    for (int attempt = -1; attempt < m; ++attempt) {  // all, then one after the other
      Eigen::VectorXd normal = whole;
      if (attempt >= 0) normal = whole(attempt) * Eigen::VectorXd::Unit(m, attempt);
      if (!(normal.sum() > 0)) continue;
      normal *= std::min(1.0, ds / normal.sum());
      Eigen::VectorXd z = Eigen::VectorXd::Zero(n), friction;
      z.head(m) = normal;
      if (rest > 0) {
        if (!solve(W.bottomRightCorner(rest, rest), q.tail(rest) + W.bottomLeftCorner(rest, m) * normal, friction,
                   step))
          continue;
        z.tail(rest) = friction;
      }
      const Eigen::VectorXd normal_velocity = q.head(m) + (W * z).head(m);
      if (((normal.array() > 0) && (normal_velocity.array() > rest_speed())).any()) continue;
      Eigen::VectorXd dy = Eigen::VectorXd::Zero(lcp.dofs());
      lcp.advance(z, false, dy);
      state.v += lcp.to_v(dy);
      step.without_collision = true;
      report_impulses(trial.rows, impulses_of(trial.rows, lcp, z, false), step);
      return true;
    }
    return false;
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
    for (Eigen::Index i = 0; i < rows.size(); ++i) {
      const RigidContact& at = rows.contacts[static_cast<size_t>(i)];
      InclusionContact contact;
      contact.a = contacts.pairs().colliders_of(at.pair).a;
      contact.b = contacts.pairs().colliders_of(at.pair).b;
      contact.normal_impulse = impulses.normal_impulse(i);
      contact.normal = to_eigen(at.n);
      for (int t = 0; t < rows.tangents; ++t)
        contact.friction += impulses.tangential_impulse(rows.tangents * i + t) * to_eigen(at.tangent[t]);
      step.contacts.push_back(contact);
    }
    step.normal_impulse = impulses.normal_impulse.sum();
  }

  // Adds pairs that are closed at the end, and gaps and rates there. `before`: closed at the start.
  void report_end(const State& state, const std::vector<int>& before, InclusionStep& step) {
    contacts.set_position(state.q);
    std::vector<InclusionContact> all;
    std::vector<int> known_or_near = contacts.near(touch());
    known_or_near.insert(known_or_near.end(), before.begin(), before.end());
    std::sort(known_or_near.begin(), known_or_near.end());
    known_or_near.erase(std::unique(known_or_near.begin(), known_or_near.end()), known_or_near.end());
    for (const int pair : known_or_near) {
      const double gap = contacts.gap(pair);
      if (gap > touch() && !std::binary_search(before.begin(), before.end(), pair)) continue;
      InclusionContact contact;
      contact.a = contacts.pairs().colliders_of(pair).a;
      contact.b = contacts.pairs().colliders_of(pair).b;
      contact.normal = to_eigen(contacts.rows({pair}).contacts[0].n);
      for (const InclusionContact& known : step.contacts)
        if (known.a == contact.a && known.b == contact.b) contact = known;
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
  if (!(max_dt > 0 && max_dt <= 1))
    throw InputError(fmt::format("inclusion: max_dt is {}, expected a number in (0, 1] s", max_dt));
  event.validate();
}

Inclusion::Inclusion(const Model& model, const World& world, const Control& control, const InclusionOptions& options) {
  options.validate();
  control.validate(model);
  world.validate(model);
  if (model.nv() == 0) throw InputError("inclusion: model has 0 degrees of freedom, expected at least 1");
  impl_ = std::make_unique<Impl>(model, world, control, options);
}
Inclusion::Inclusion(const Model& model, const World& world, const InclusionOptions& options)
    : Inclusion(model, world, Control(model), options) {}
Inclusion::~Inclusion() = default;
Inclusion::Inclusion(Inclusion&&) noexcept = default;
Inclusion& Inclusion::operator=(Inclusion&&) noexcept = default;

InclusionStep Inclusion::advance(State& state, double ds) {
  impl_->check_state(state);
  if (!(ds > 0 && ds <= kMaxStep))
    throw InputError(fmt::format("inclusion: ds is {}, expected a number in (0, {}]", ds, kMaxStep));

  const Impl::Closed closed = impl_->closed(state);
  impl_->draw.reset();
  if (impl_->options.selection == InclusionSelection::random) impl_->draw = impl_->random.bits();
  InclusionStep step;
  step.mode = closed.mode;
  State next = state;
  const char* failure = nullptr;
  if (closed.mode == InclusionMode::separating) {
    failure = impl_->advance_separating(next, ds, step);
  } else if (closed.mode == InclusionMode::colliding) {
    failure = impl_->advance_colliding(next, ds, closed.pairs, step);
  } else {
    failure = impl_->advance_boundary(next, ds, closed.pairs, step);
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
  for (int pair = 0; pair < impl_->contacts.pairs().count(); ++pair) least = std::min(least, impl_->contacts.gap(pair));
  return least;
}

ImpactProblem Inclusion::impact_problem(const State& state) {
  impl_->check_state(state);
  const Impl::Closed closed = impl_->closed(state);
  const Eigen::MatrixXd M = impl_->contacts.dynamics().mass_matrix();
  return impl_->problem(impl_->contacts.rows(closed.pairs), M, state.v);
}

}  // namespace scree
