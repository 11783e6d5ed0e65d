// Reference solutions of the studies of event-driven runs, in long double and without a line of the engine: closed
// forms, and integrations by the classical Runge-Kutta method at steps where its error is rounding. Header only, so
// that tests/event_reference_test.cpp can check them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace scree::reference {

using Real = long double;
constexpr Real kGravity = 9.81L;  // [m/s^2]

template <size_t N> using Values = std::array<Real, N>;

template <size_t N, class Rate> Values<N> rk4(const Rate& rate, const Values<N>& y, Real h) {
  const auto along = [&](const Values<N>& k, Real by) {
    Values<N> out = y;
    for (size_t i = 0; i < N; ++i) out[i] += by * k[i];
    return out;
  };
  const Values<N> k1 = rate(y), k2 = rate(along(k1, h / 2)), k3 = rate(along(k2, h / 2)), k4 = rate(along(k3, h));
  Values<N> out = y;
  for (size_t i = 0; i < N; ++i) out[i] += h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
  return out;
}

// Length in [0, h] of the step from y after which guard() has come down to zero: it is > 0 (or >= 0) at y and < 0 after
// h. By halving, to the last bit.
template <size_t N, class Rate, class Guard>
Real rk4_crossing(const Rate& rate, const Guard& guard, const Values<N>& y, Real h) {
  Real low = 0, high = h;
  for (int k = 0; k < 80 && high > low; ++k) {
    const Real middle = low + (high - low) / 2;
    (guard(rk4<N>(rate, y, middle)) < 0 ? high : low) = middle;
  }
  return high;
}

// --- a ball on a plane ---------------------------------------------------------------------------------------------

// Time of bounce k = 1, 2, ... of a ball let go at rest, whose first one is at t1; restitution e < 1:
//   t_k = t1 + 2 t1 (e + ... + e^(k-1)),   t_inf = t1 (1 + e)/(1 - e)
inline Real bounce_time(int k, Real t1, Real e) { return t1 * (1 + 2 * e * (1 - std::pow(e, Real(k - 1))) / (1 - e)); }
inline Real bounces_end(Real t1, Real e) { return t1 * (1 + e) / (1 - e); }
// Bounces whose speed after is at least `speed`, the first one arriving at v1.
inline int bounce_count(Real v1, Real e, Real speed) {
  return v1 * e < speed ? 0 : static_cast<int>(std::floor(std::log(speed / v1) / std::log(e)));
}

// --- a block that rocks --------------------------------------------------------------------------------------------

// A uniform block on the left or right of its lower corners, which do not slip. theta >= 0 is its tilt:
//   theta'' = -(g l/k^2) cos(alpha + theta),  l half the diagonal, k^2 = (a^2 + b^2)/3, alpha = atan(b/a)
// Back on both corners it goes on about the other one with spin_ratio() of its spin.
struct RockingBlock {
  Real width = 1, height = 2;  // a, b [m]
  Real gravity = kGravity;

  Real half_diagonal() const { return std::hypot(width, height) / 2; }
  Real gyration() const { return (width * width + height * height) / 3; }  // k^2 [m^2] about a corner
  Real alpha() const { return std::atan2(height, width); }
  Real torque() const { return gravity * half_diagonal() / gyration(); }  // g l/k^2 [1/s^2]
  // (I + m l^2 cos(pi - 2 alpha))/(I + m l^2): momentum about the corner that comes down.
  Real spin_ratio() const {
    const Real l2 = half_diagonal() * half_diagonal(), own = gyration() - l2;
    return (own - l2 * std::cos(2 * alpha())) / gyration();
  }
  // [s] from both corners with `spin` [rad/s] > 0 and back. The spin must not topple it.
  Real swing_time(Real spin) const {
    const auto rate = [&](const Values<2>& y) { return Values<2>{y[1], -torque() * std::cos(alpha() + y[0])}; };
    const Real h = 2 * spin / (torque() * std::cos(alpha())) / 4000;
    Values<2> y{0, spin};
    Real t = 0;
    for (;; t += h) {
      const Values<2> next = rk4<2>(rate, y, h);
      if (next[0] < 0)
        return t + rk4_crossing<2>(
                       rate, [](const Values<2>& s) { return s[0]; }, y, h);
      y = next;
    }
  }
  // The same by quadrature: spin^2/2 = torque (sin(alpha + top) - sin(alpha)), theta = top (1 - u^2), Simpson's rule in
  // u.
  Real swing_time_by_energy(Real spin) const {
    // sin(alpha + top) - sin(alpha) as a product, for tiny angles; Newton's method from below.
    Real top = 0;
    for (int k = 0; k < 30; ++k)
      top -= (2 * std::cos(alpha() + top / 2) * std::sin(top / 2) - spin * spin / (2 * torque())) /
             std::cos(alpha() + top);
    const auto integrand = [&](Real u) {  // dt/du
      const Real half = top * u * u / 2, sinc = half == 0 ? 1 : std::sin(half) / half;
      return 2 * top / std::sqrt(2 * torque() * std::cos(alpha() + top - half) * top * sinc);
    };
    const int n = 2000;
    Real sum = integrand(0) + integrand(1);
    for (int i = 1; i < n; ++i) sum += (i % 2 ? 4 : 2) * integrand(Real(i) / n);
    return 2 * sum / (3 * n);
  }
  // Times of the impacts [s] until the spin falls below `least`, and the end of all by a geometric series: swings of
  // small spins last 2 spin/(torque cos(alpha)).
  struct Course {
    std::vector<Real> times, spins;  // spin before each impact
    Real end = 0;
  };
  Course course(Real spin, Real least) const {
    Course out;
    Real t = 0;
    for (; spin >= least; spin *= spin_ratio()) {
      t += swing_time(spin);
      out.times.push_back(t);
      out.spins.push_back(spin);
    }
    out.end = t + 2 * spin / (torque() * std::cos(alpha())) / (1 - spin_ratio());
    return out;
  }
};

// --- Painleve's rod ------------------------------------------------------------------------------------------------

// A uniform rod of length 2 l whose lower end A slides on the ground with the velocity u (the other end is up and to
// the right of it): theta in (0, pi/2) is its angle with the ground, omega its rate. With s = sign(u) and the normal
// force F, friction -mu s F:
//   y_A'' = p F + b,                 p = (1 + 3 cos theta (cos theta + mu s sin theta))/m,   b = l omega^2 sin theta -
//   g theta'' = 3 F/(m l) (-mu s sin theta - cos theta) u'      = -mu s F/m + l (sin theta theta'' + cos theta omega^2)
struct PainleveRod {
  Real mu = 2, l = 0.5L, m = 1, gravity = kGravity;

  struct State {
    Real theta = 0, omega = 0, u = 0, x = 0;  // [rad], [rad/s], [m/s], [m]: A
  };
  enum class Region { slides, lifts, inconsistent, indeterminate };

  static Real sign(Real u) { return u < 0 ? -1 : 1; }
  Real p(Real theta, Real s) const {
    return (1 + 3 * std::cos(theta) * (std::cos(theta) + mu * s * std::sin(theta))) / m;
  }
  Real b(Real theta, Real omega) const { return l * omega * omega * std::sin(theta) - gravity; }
  Region region(const State& y) const {
    const bool up = b(y.theta, y.omega) > 0;
    if (p(y.theta, sign(y.u)) > 0) return up ? Region::lifts : Region::slides;
    return up ? Region::indeterminate : Region::inconsistent;
  }
  // Largest friction without a paradox: min over theta of m p is (5 - 3 sqrt(1 + mu^2))/2.
  static Real paradox_friction() { return Real(4) / 3; }
  // Beyond it slides may end where p = b = 0 with F unbounded. Near that point, in the time dt = p dtau,
  //   p' = p_theta omega p,  b' = -6 omega sin theta (mu sin theta - cos theta) b + O(p):
  // -b/p grows without bound where the first rate is the faster one. Both are equal at tan^2 theta = 4/3.
  static Real jam_friction() { return 8 / (3 * std::sqrt(Real(3))); }

  Values<4> slide_rate(const Values<4>& y, Real s) const {
    const Real F = -b(y[0], y[1]) / p(y[0], s), sn = std::sin(y[0]), cs = std::cos(y[0]);
    const Real turn = 3 * F / (m * l) * (-mu * s * sn - cs);
    return {y[1], turn, -mu * s * F / m + l * (sn * turn + cs * y[1] * y[1]), y[2]};
  }

  // Velocities after an inelastic impact of A at the velocities (u, w) tangential and normal, in impulse [Routh]: with
  // A = 1 + 3 sin^2, B = -3 sin cos, C = 1 + 3 cos^2 (all over m), an impulse (T, N) adds (A T + B N, B T + C N).
  struct Impact {
    Real normal = 0, tangential = 0;  // [N s]
    Real u = 0, w = 0, omega = 0;     // after
    bool slipped_on = false;          // A still slips after
  };
  Impact routh(const State& y, Real w0) const {
    const Real sn = std::sin(y.theta), cs = std::cos(y.theta);
    const Real A = (1 + 3 * sn * sn) / m, B = -3 * sn * cs / m, C = (1 + 3 * cs * cs) / m;
    Impact out;
    Real u = y.u, w = w0;
    // Phases: slip in one direction, stick or slip back; each ends where u or w does.
    for (int phase = 0; phase < 4; ++phase) {
      Real ratio;  // dT/dN
      if (u != 0)
        ratio = -mu * sign(u);
      else if (std::abs(B) <= mu * A)
        ratio = -B / A;
      else
        ratio = B > 0 ? -mu : mu;  // friction cannot hold it: B N pushes, friction resists
      const Real du = A * ratio + B, dw = B * ratio + C;
      const Real to_stop = u != 0 && u * du < 0 ? -u / du : std::numeric_limits<Real>::infinity();
      // The impact is over once w = 0 is reached from below.
      const Real to_end = dw > 0 && w < 0 ? -w / dw : dw > 0 && w >= 0 ? 0 : std::numeric_limits<Real>::infinity();
      const Real dN = std::min(to_stop, to_end);
      out.normal += dN;
      out.tangential += ratio * dN;
      u = to_stop <= to_end ? 0 : u + du * dN;
      w = to_end <= to_stop ? 0 : w + dw * dN;
      if (to_end <= to_stop) break;
    }
    out.u = u;
    out.w = w;
    out.slipped_on = u != 0;
    out.omega = y.omega + 3 / (m * l) * (sn * out.tangential - cs * out.normal);
    return out;
  }

  enum class Ending { lifts, stops, singular, flat, upright, time, slips };
  struct Course {
    Ending ending = Ending::time;
    Real time = 0;
    State state;
    Real largest_force = 0;    // [N] normal
    bool force_grows = false;  // of `singular`: the force is larger than where p was a hundred times as large
  };
  // Slides from `start`, a state in which p > 0 > b, until A lifts off (b = 0), stops (u = 0), p = b = 0 is reached to
  // `near`, the rod is flat or upright, or `duration` is over.
  Course slide(const State& start, Real duration, Real step = 1e-5L, Real near = 1e-7L) const {
    const Real s = sign(start.u);
    const auto rate = [&](const Values<4>& y) { return slide_rate(y, s); };
    Values<4> y{start.theta, start.omega, start.u, start.x};
    Course out;
    Real earlier = std::numeric_limits<Real>::infinity();
    const auto lifts = [&](const Values<4>& v) { return -b(v[0], v[1]); };
    const auto stops = [&](const Values<4>& v) { return s * v[2]; };
    const auto flat = [](const Values<4>& v) { return v[0]; };
    const auto upright = [](const Values<4>& v) { return std::numbers::pi_v<Real> / 2 - v[0]; };
    const auto finish = [&](Ending ending) {
      out.ending = ending;
      out.state = {y[0], y[1], y[2], y[3]};
      return out;
    };
    while (out.time < duration) {
      const Real now = m * p(y[0], s);
      const Real force = -b(y[0], y[1]) / p(y[0], s);
      out.largest_force = std::max(out.largest_force, force);
      if (now >= 100 * near) earlier = force;
      if (now < near) {
        out.force_grows = force > earlier;
        return finish(Ending::singular);
      }
      // Near p = 0 the rates are large: steps of 1 % of the times in which p and omega change by as much as they are.
      const Values<4> r = rate(y);
      const Real slope = std::abs((-6 * std::sin(y[0]) * std::cos(y[0]) + 3 * mu * s * std::cos(2 * y[0])) * y[1]);
      Real h = std::min({step, duration - out.time, Real(0.01) * now / (slope + Real(1e-30)),
                         Real(0.01) * (std::abs(y[1]) + now) / (std::abs(r[1]) + Real(1e-30))});
      const Values<4> next = rk4<4>(rate, y, h);
      Real first = std::numeric_limits<Real>::infinity();
      Ending ending = Ending::time;
      const auto look = [&](const auto& guard, Ending what) {
        if (!(guard(next) < 0)) return;
        const Real at = rk4_crossing<4>(rate, guard, y, h);
        if (at < first) first = at, ending = what;
      };
      look(lifts, Ending::lifts);
      look(stops, Ending::stops);
      look(flat, Ending::flat);
      look(upright, Ending::upright);
      if (ending != Ending::time) {
        y = rk4<4>(rate, y, first);
        out.time += first;
        return finish(ending);
      }
      y = next;
      out.time += h;
    }
    return finish(Ending::time);
  }

  struct Force {
    Real tangential = 0, normal = 0;  // [N]
  };
  Force holding_force(Real theta, Real omega) const {
    const Real sn = std::sin(theta), cs = std::cos(theta), turn = -3 * gravity / (4 * l) * cs;
    return {-m * l * (sn * turn + cs * omega * omega), m * (gravity + l * (cs * turn - sn * omega * omega))};
  }
  // A holds: theta'' = -(3 g/(4 l)) cos theta, until friction or weight do not suffice, or `duration` is over.
  Course hold(const State& start, Real duration, Real step = 1e-5L) const {
    const auto rate = [&](const Values<2>& y) { return Values<2>{y[1], -3 * gravity / (4 * l) * std::cos(y[0])}; };
    const auto holds = [&](const Values<2>& y) {
      const Force force = holding_force(y[0], y[1]);
      return mu * force.normal - std::abs(force.tangential);
    };
    Values<2> y{start.theta, start.omega};
    Course out;
    while (out.time < duration) {
      Real h = std::min(step, duration - out.time);
      const Values<2> next = rk4<2>(rate, y, h);
      const bool slips = holds(next) < 0;
      if (slips) h = rk4_crossing<2>(rate, holds, y, h);
      y = slips ? rk4<2>(rate, y, h) : next;
      out.time += h;
      if (slips) {
        out.ending = Ending::slips;
        break;
      }
    }
    out.state = {y[0], y[1], 0, start.x};
    return out;
  }
  // A rests at `start`: it holds or slides either way, by turns, as long as it stays on the ground.
  State go_on(const State& start, Real duration) const {
    State y = start;
    y.u = 0;
    for (int turn = 0; turn < 100 && duration > 0; ++turn) {
      const Force force = holding_force(y.theta, y.omega);
      Course course;
      if (std::abs(force.tangential) <= mu * force.normal) {
        course = hold(y, duration);
      } else {
        // Against the friction that does not suffice, T < 0: to the right. slide() takes its direction from u.
        State go = y;
        go.u = force.tangential < 0 ? 0 : -std::numeric_limits<Real>::min();
        course = slide(go, duration);
        if (course.ending == Ending::stops) course.state.u = 0;
      }
      y = course.state;
      duration -= course.time;
      if (course.ending != Ending::slips && course.ending != Ending::stops) break;
    }
    return y;
  }
};

// --- the compass gait on its trailing foot -------------------------------------------------------------------------

// Legs of 1 m with 1 kg in their middle; the trailing foot is fixed at the origin, the hip at (-sin t, cos t), the
// leading foot at hip + (sin a, -cos a). State: a, t, a', t'.
struct PinnedCompass {
  Real gravity = kGravity;
  struct Force {
    Real x = 0, z = 0;  // [N] on the trailing foot
  };
  Values<4> rate(const Values<4>& y, Force* force = nullptr) const {
    const auto [a, t, da, dt] = y;
    const Real sa = std::sin(a), ca = std::cos(a), st = std::sin(t), ct = std::cos(t);
    // Places of the masses: (-st + sa/2, ct - ca/2) and (-st/2, ct/2). Jacobians by (a, t), and what is quadratic in
    // the rates.
    const Real J[4][2] = {{ca / 2, -ct}, {sa / 2, -st}, {0, -ct / 2}, {0, -st / 2}};
    const Real c[4] = {st * dt * dt - sa * da * da / 2, -ct * dt * dt + ca * da * da / 2, st * dt * dt / 2,
                       -ct * dt * dt / 2};
    const Real weight[4] = {0, gravity, 0, gravity};
    Real M00 = 0, M01 = 0, M11 = 0, r0 = 0, r1 = 0;
    for (int k = 0; k < 4; ++k) {
      M00 += J[k][0] * J[k][0], M01 += J[k][0] * J[k][1], M11 += J[k][1] * J[k][1];
      r0 -= J[k][0] * (c[k] + weight[k]), r1 -= J[k][1] * (c[k] + weight[k]);
    }
    const Real det = M00 * M11 - M01 * M01, dda = (r0 * M11 - r1 * M01) / det, ddt = (M00 * r1 - M01 * r0) / det;
    if (force) {
      Real f[2] = {0, 0};
      for (int k = 0; k < 4; ++k) f[k % 2] += J[k][0] * dda + J[k][1] * ddt + c[k] + weight[k];
      *force = {f[0], f[1]};
    }
    return {da, dt, dda, ddt};
  }
  Values<4> after(Values<4> y, Real duration, int steps = 4000) const {  // duration < 0: before
    for (int k = 0; k < steps; ++k) y = rk4<4>([&](const Values<4>& s) { return rate(s); }, y, duration / steps);
    return y;
  }
  Real energy(const Values<4>& y) const {  // [J]
    const auto [a, t, da, dt] = y;
    const Real vx = -std::cos(t) * dt + std::cos(a) * da / 2, vz = -std::sin(t) * dt + std::sin(a) * da / 2;
    return (vx * vx + vz * vz + dt * dt / 4) / 2 + gravity * (std::cos(t) - std::cos(a) / 2 + std::cos(t) / 2);
  }
};

}  // namespace scree::reference
