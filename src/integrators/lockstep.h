// Lanes in lockstep: every trajectory has its own step, stage and iteration; all share the arithmetic of one trial a
// round. A lane whose stage is solved goes on to its next stage, step or trajectory, after at most three rounds of
// waiting for others to do the same.                                                                    theory (11.13)
//
// A stage is solved by Levenberg-Marquardt on 1/2 sum r_a^2 / M_aa with the Jacobian J of R. Without damping its step
// is -J^-1 R, found with the sparsity of the tree; shortened until the sum falls enough, which it does short of a
// singular J. Where that fails a lane is damped by (J^T W J + lambda D) and goes its own way for some iterations.
// theory (11.10)
#pragma once

#include <algorithm>
#include <cmath>

#include "integrators/smooth_stage.h"
#include "integrators/subdivision.h"

namespace scree {

template <class T> class Lockstep final : public LaneMachine {
 public:
  using If = Condition<T>;
  static constexpr int W = kLanes<T>;

  explicit Lockstep(const LaneSetup& setup)
      : setup_(setup),
        stage_(setup),
        n_(setup.tree->nv),
        current_(static_cast<size_t>(n_), T(0)),
        trial_(current_),
        direction_(current_),
        jacobian_(n_ * n_),
        numbers_(n_),
        weights_(n_),
        q_(setup.tree->nq),
        rates_(12 * static_cast<int>(setup.tree->nodes.size())) {}

  void run(LaneHost& host) override {
    for (int l = 0; l < W; ++l) take_next(l, host);
    while (begin_lanes(host)) {
      stage_.evaluate(trial_.data(), host);
      scale_fresh();
      judge(host);
      find_directions(host);
      end_stages(host);
    }
  }

 private:
  static constexpr int kRemembered = 4;
  // What a lane is to do in this round.
  enum class Next { idle, start, begin, trial, newton, damp, done, fail };
  struct Lane {
    int id = -1;
    Next next = Next::idle;
    // the step
    double dt = 0, start_time = 0, h = 0, turn_rate = 0, failed_residual = 0;
    Subdivision<T> cut;
    double time() const { return start_time + cut.elapsed(dt); }  // [s] at the start of the substep
    LaneReport report;
    // the stage
    bool second = false, fresh = false, recalled = false;
    int iterations = 0, shortened = 0;
    double merit = 0, fraction = 1, damping = 0, residual = 0;
    SideSearch friction;              // of joints
    double recent[kRemembered] = {};  // merits before, the next to be forgotten at iterations % kRemembered
    // A contact that comes or goes makes Newton's method leap before it converges: undamped steps must be better than
    // the worst of the last few, not than the last one (Grippo, Lampariello and Lucidi 1986).
    double to_beat() const { return damping > 0 ? merit : *std::max_element(recent, recent + kRemembered); }
  };
  template <class Want> If where(Want want) const {
    If r{};
    for (int l = 0; l < W; ++l) set_lane(r, l, want(lanes_[l]));
    return r;
  }
  bool some(Next next) const {
    for (const Lane& lane : lanes_)
      if (lane.next == next) return true;
    return false;
  }

  // --- steps ---
  void take_next(int l, LaneHost& host);
  void start_step(int l, LaneHost& host);
  bool begin_lanes(LaneHost& host);
  void load_targets(int l, double time, LaneHost& host);
  void start_stage(const If& chosen);
  void end_stages(LaneHost& host);
  void end_substep(int l, LaneHost& host);
  void fail_try(int l, LaneHost& host);
  void end_step(int l, bool converged, LaneHost& host);
  // --- iterations ---
  void scale_fresh();
  void judge(LaneHost& host);
  void find_directions(LaneHost& host);
  void damp(int l, LaneHost& host);
  void try_damped(int l, LaneHost& host);

  const LaneSetup& setup_;
  SmoothStage<T> stage_;
  int n_;
  std::vector<T> current_, trial_, direction_;
  Lane lanes_[W];
  static constexpr int kPatience = 3;  // rounds; measured 0 to 4: up to 1.8 times the speed of 0, at worst 0.97
  int waited_ = 0;                     // rounds since a lane was solved
  LaneBuffer jacobian_, numbers_, weights_, q_, rates_;  // of one lane
};

// --- steps -----------------------------------------------------------------------------------------------------------

template <class T> void Lockstep<T>::take_next(int l, LaneHost& host) {
  LaneStart start;
  Lane& lane = lanes_[l];
  lane = {};
  if (!host.next(start)) return;
  lane.id = start.id;
  const size_t nq = stage_.q.size(), nv = stage_.v.size(), bodies = stage_.rate_R.size();
  for (size_t k = 0; k < nq; ++k) set_lane(stage_.q[k], l, start.q[k]);
  for (size_t a = 0; a < nv; ++a) {
    set_lane(stage_.v[a], l, start.v[a]);
    set_lane(stage_.kp[a], l, start.kp[a]), set_lane(stage_.kd[a], l, start.kd[a]);
    set_lane(stage_.torque[a], l, start.torque[a]);
  }
  set_lane(stage_.has_rates, l, start.body_rates != nullptr);
  for (size_t i = 0; i < bodies; ++i) {
    const double* r = start.body_rates ? start.body_rates + 12 * i : nullptr;
    V3<T>* const to[] = {&stage_.rate_R[i].x, &stage_.rate_R[i].y, &stage_.rate_R[i].z, &stage_.rate_p[i]};
    for (int c = 0; c < 4; ++c) {
      set_lane(to[c]->x, l, r ? r[3 * c] : 0.0);
      set_lane(to[c]->y, l, r ? r[3 * c + 1] : 0.0);
      set_lane(to[c]->z, l, r ? r[3 * c + 2] : 0.0);
    }
  }
  SmoothCoefficients<T>& to = stage_.coefficients;
  const SmoothCoefficients<double>& from = start.coefficients;
  set_lane(to.stiffness, l, from.stiffness), set_lane(to.depth, l, from.depth);
  set_lane(to.drag, l, from.drag), set_lane(to.mu, l, from.mu);
  set_lane(to.creep, l, from.creep), set_lane(to.damping, l, from.damping);
  start_step(l, host);
}

template <class T> void Lockstep<T>::start_step(int l, LaneHost& host) {
  Lane& lane = lanes_[l];
  lane.dt = host.step_length(lane.id, lane.start_time);
  if (!(lane.dt > 0)) {
    take_next(l, host);
    return;
  }
  lane.cut = {setup_.max_halvings};
  lane.report = {};
  lane.report.smallest_step = lane.dt;
  lane.failed_residual = std::numeric_limits<double>::quiet_NaN();
  lane.next = Next::start;
}

// Starts the substeps of lanes that have none. False: no lane has anything to do.
template <class T> bool Lockstep<T>::begin_lanes(LaneHost& host) {
  while (some(Next::start) || some(Next::begin)) {
    if (some(Next::start)) {
      stage_.start(host);
      const T turn = stage_.turn_rate();
      for (int l = 0; l < W; ++l)
        if (lanes_[l].next == Next::start) {
          lanes_[l].turn_rate = std::sqrt(lane(turn, l));
          lanes_[l].next = Next::begin;
        }
    }
    for (int l = 0; l < W; ++l) {
      Lane& it = lanes_[l];
      if (it.next != Next::begin) continue;
      // A body must not turn too far in one substep.
      while (!it.cut.exhausted() && !(it.turn_rate * it.cut.substep(it.dt) <= setup_.max_turn)) ++it.cut.level;
      if (it.cut.exhausted()) {
        end_step(l, false, host);
        continue;
      }
      it.h = it.cut.substep(it.dt);
      it.second = false;
      set_lane(stage_.substep, l, it.h);
      load_targets(l, it.time() + (setup_.two_stages ? kGamma * it.h : it.h), host);
    }
    if (some(Next::start)) continue;  // another trajectory took the place of one that failed
    const If chosen = where([](const Lane& it) { return it.next == Next::begin; });
    if (!any(chosen)) continue;
    stage_.begin(chosen);
    start_stage(chosen);
  }
  for (const Lane& it : lanes_)
    if (it.next != Next::idle) return true;
  return false;
}

template <class T> void Lockstep<T>::load_targets(int l, double time, LaneHost& host) {
  host.targets(lanes_[l].id, time, q_.data(), numbers_.data());
  for (size_t k = 0; k < stage_.target.size(); ++k) set_lane(stage_.target[k], l, q_.data()[k]);
  for (size_t a = 0; a < stage_.target_velocity.size(); ++a) set_lane(stage_.target_velocity[a], l, numbers_.data()[a]);
}

template <class T> void Lockstep<T>::start_stage(const If& chosen) {
  for (size_t a = 0; a < trial_.size(); ++a) trial_[a] = select(chosen, stage_.guess[a], trial_[a]);
  for (int l = 0; l < W; ++l) {
    if (!lane(chosen, l)) continue;
    Lane& it = lanes_[l];
    it.next = Next::trial;
    it.fresh = true, it.recalled = false;
    it.iterations = it.shortened = 0;
    it.fraction = 1, it.damping = 0;
    it.friction = {};
    stage_.find_friction_sides(l, trial_.data());
    ++it.report.stages;
  }
}

template <class T> void Lockstep<T>::end_stages(LaneHost& host) {
  // Ending a stage and starting the next costs as much for one lane as for all: those that are solved wait a little.
  int solved = 0, busy = 0;
  for (const Lane& it : lanes_) {
    solved += it.next == Next::done || it.next == Next::fail ? 1 : 0;
    busy += it.next == Next::trial ? 1 : 0;
  }
  if (solved == 0 || (busy > 0 && waited_++ < kPatience)) return;
  waited_ = 0;
  if (some(Next::fail))
    for (int l = 0; l < W; ++l)
      if (lanes_[l].next == Next::fail) fail_try(l, host);
  if (!some(Next::done)) return;
  if (setup_.two_stages) {
    const If first = where([](const Lane& it) { return it.next == Next::done && !it.second; });
    if (any(first)) {
      const If regular = stage_.begin_second(first);
      If go = first;
      for (int l = 0; l < W; ++l) {
        if (!lane(first, l)) continue;
        if (!lane(regular, l)) {
          set_lane(go, l, false);
          fail_try(l, host);
          continue;
        }
        lanes_[l].second = true;
        load_targets(l, lanes_[l].time() + lanes_[l].h, host);
      }
      start_stage(go);
    }
  }
  const If last = where([](const Lane& it) { return it.next == Next::done; });
  if (!any(last)) return;
  const If good = stage_.finish(last, host);
  for (int l = 0; l < W; ++l) {
    if (!lane(last, l)) continue;
    if (lane(good, l))
      end_substep(l, host);
    else
      fail_try(l, host);
  }
}

template <class T> void Lockstep<T>::end_substep(int l, LaneHost& host) {
  Lane& it = lanes_[l];
  LaneReport& r = it.report;
  r.residual = std::max(r.residual, it.residual);
  r.smallest_step = std::min(r.smallest_step, it.h);
  r.largest_step = std::max(r.largest_step, it.h);
  r.last_step = it.h;
  ++r.substeps;
  if (host.wants_contacts()) host.clear_contacts();
  stage_.report_contacts(l, host.wants_contacts() ? &host : nullptr, r.contacts, r.penetration);
  it.cut.accept();
  if (it.cut.complete()) {
    end_step(l, true, host);
    return;
  }
  it.cut.lengthen();
  it.next = Next::start;
}

template <class T> void Lockstep<T>::fail_try(int l, LaneHost& host) {
  Lane& it = lanes_[l];
  ++it.report.rejected;
  it.failed_residual = it.residual;
  ++it.cut.level;
  if (it.cut.exhausted())
    end_step(l, false, host);
  else
    it.next = Next::begin;
}

template <class T> void Lockstep<T>::end_step(int l, bool converged, LaneHost& host) {
  Lane& it = lanes_[l];
  it.report.converged = converged;
  if (!converged) {
    it.report.residual = it.failed_residual;
    host.stepped(it.id, it.report, nullptr, nullptr, nullptr);
    take_next(l, host);
    return;
  }
  double *q = q_.data(), *v = numbers_.data(), *rates = rates_.data();
  for (size_t k = 0; k < stage_.q.size(); ++k) q[k] = lane(stage_.q[k], l);
  for (size_t a = 0; a < stage_.v.size(); ++a) v[a] = lane(stage_.v[a], l);
  for (size_t i = 0; i < stage_.rate_R.size() && !setup_.two_stages; ++i) {
    const V3<T>* const from[] = {&stage_.rate_R[i].x, &stage_.rate_R[i].y, &stage_.rate_R[i].z, &stage_.rate_p[i]};
    for (size_t c = 0; c < 4; ++c) {
      rates[12 * i + 3 * c] = lane(from[c]->x, l);
      rates[12 * i + 3 * c + 1] = lane(from[c]->y, l);
      rates[12 * i + 3 * c + 2] = lane(from[c]->z, l);
    }
  }
  host.stepped(it.id, it.report, q, v, setup_.two_stages ? nullptr : rates);
  start_step(l, host);
}

// --- iterations ------------------------------------------------------------------------------------------------------

template <class T> void Lockstep<T>::scale_fresh() {
  const If fresh = where([](const Lane& it) { return it.next == Next::trial && it.fresh; });
  if (any(fresh)) stage_.scale(fresh);
}

// Is the trial better than the best so far, and what next?
template <class T> void Lockstep<T>::judge(LaneHost& host) {
  constexpr double kEnough = 2e-4;  // of the fall that the slope promises                        (Armijo)
  constexpr int kMostShortened = 4;
  constexpr double kFirstDamping = 1e-3, kLargestDamping = 1e9, kLeastDamping = 1e-6;
  const T merit = stage_.merit(), largest = stage_.largest_residual();
  const If small = stage_.small(setup_.tolerance), inside = stage_.within_chart();
  const If little = any(small) ? stage_.turned_little() : small;
  If accepted{}, shorter{};
  T fraction(0);
  for (int l = 0; l < W; ++l) {
    Lane& it = lanes_[l];
    if (it.next != Next::trial) continue;
    const double m = lane(merit, l);
    const bool usable = m <= std::numeric_limits<double>::max() && lane(inside, l);
    const bool solved = usable && lane(small, l);
    if (it.fresh || it.recalled) {
      if (!usable) {
        it.residual = lane(largest, l);
        it.next = Next::fail;
        continue;
      }
    } else if (!(solved || (usable && m <= it.to_beat() - kEnough * it.fraction * it.merit))) {
      if (it.damping > 0) {
        it.damping *= 10;
        if (it.damping <= kLargestDamping) {
          ++it.report.damped;
          try_damped(l, host);
        } else {
          ++it.report.stationary;
          it.next = Next::fail;
        }
      } else if (++it.shortened <= kMostShortened) {
        // The minimum of the parabola through both values and the slope -2 merit.
        const double f = it.fraction, fit = it.merit * f * f / (m - it.merit + 2 * it.merit * f);
        it.fraction = usable && fit > 0.1 * f ? std::min(fit, 0.5 * f) : 0.1 * f;
        set_lane(shorter, l, true);
        set_lane(fraction, l, it.fraction);
      } else {
        it.damping = kFirstDamping;
        it.recalled = true;  // the Jacobian is needed once more
        set_lane(shorter, l, true);
        set_lane(fraction, l, 0.0);
      }
      continue;
    }
    set_lane(accepted, l, true);
    if (it.damping > 0 && !it.recalled && !it.fresh) it.damping = it.damping > kLeastDamping ? 0.01 * it.damping : 0;
    const bool stepped = !it.fresh && !it.recalled;
    if (it.fresh) std::fill(it.recent, it.recent + kRemembered, m);
    it.recent[it.iterations % kRemembered] = m;
    it.fresh = it.recalled = false;
    it.merit = m;
    it.residual = lane(largest, l);
    it.shortened = 0;
    it.fraction = 1;
    if (stepped && stage_.move_friction_sides(l, it.friction)) {
      if (it.iterations == setup_.max_iterations) it.next = Next::fail;
      it.fresh = true;  // the same pose once more, on other sides
      it.damping = 0;
      set_lane(shorter, l, true);
      set_lane(fraction, l, 0.0);
    } else if (solved) {
      it.next = lane(little, l) ? Next::done : Next::fail;
    } else if (it.iterations == setup_.max_iterations) {
      it.next = Next::fail;
    } else {
      ++it.iterations;
      ++it.report.iterations;
      it.next = it.damping > 0 ? Next::damp : Next::newton;
    }
  }
  for (size_t a = 0; a < trial_.size(); ++a) {
    current_[a] = select(accepted, trial_[a], current_[a]);
    trial_[a] = select(shorter, current_[a] + fraction * direction_[a], trial_[a]);
  }
}

template <class T> void Lockstep<T>::find_directions(LaneHost& host) {
  if (!some(Next::newton) && !some(Next::damp)) return;
  stage_.jacobian();
  for (int l = 0; l < W; ++l)
    if (lanes_[l].next == Next::damp) damp(l, host);
  if (!some(Next::newton)) return;
  const If regular = stage_.factor();
  // In place of the residual, which is not needed again.
  T* const step = stage_.residual.data();
  stage_.solve(step);
  T size(0);
  for (int a = 0; a < n_; ++a) size += abs(step[a]);
  const If newton = where([](const Lane& it) { return it.next == Next::newton; });
  const If good = newton & regular & (size <= T(std::numeric_limits<double>::max()));
  for (size_t a = 0; a < trial_.size(); ++a) direction_[a] = select(good, -step[a], direction_[a]);
  const T part = stage_.step_limit(direction_.data(), host);
  for (size_t a = 0; a < trial_.size(); ++a)
    trial_[a] = select(good, current_[a] + part * direction_[a], select(newton, current_[a], trial_[a]));
  for (int l = 0; l < W; ++l) {
    Lane& it = lanes_[l];
    if (it.next != Next::newton) continue;
    it.next = Next::trial;
    it.fraction = lane(part, l);
    if (lane(good, l)) continue;
    it.damping = 1e-3;
    it.recalled = true;
  }
}

template <class T> void Lockstep<T>::damp(int l, LaneHost& host) {
  constexpr double kStationary = 1e-6;
  Lane& it = lanes_[l];
  stage_.dense_jacobian(l, jacobian_.data());
  for (size_t a = 0; a < current_.size(); ++a) {
    numbers_.data()[a] = lane(stage_.residual[a], l);
    weights_.data()[a] = lane(stage_.weights[a], l);
  }
  host.damp(l, jacobian_.data(), numbers_.data(), weights_.data());
  if (!(host.slope(l) > kStationary)) {
    ++it.report.stationary;
    it.next = Next::fail;
    return;
  }
  ++it.report.damped;
  try_damped(l, host);
}

template <class T> void Lockstep<T>::try_damped(int l, LaneHost& host) {
  Lane& it = lanes_[l];
  if (!host.damped_step(l, it.damping, numbers_.data())) {
    it.next = Next::fail;
    return;
  }
  for (size_t a = 0; a < trial_.size(); ++a) set_lane(trial_[a], l, lane(current_[a], l) + numbers_.data()[a]);
  it.next = Next::trial;
}

}  // namespace scree
