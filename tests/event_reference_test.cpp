// The reference solutions of the studies of event-driven runs, against second ways to the same numbers.
#include "../studies/event_reference.h"

#include <gtest/gtest.h>

#include <cmath>

namespace scree::reference {
namespace {

TEST(EventReference, BounceTimesAreThoseOfTheRecursion) {
  const Real e = 0.9L, t1 = 0.3L;
  Real t = t1, flight = 2 * t1 * e;
  for (int k = 1; k <= 60; ++k) {
    EXPECT_NEAR(double(bounce_time(k, t1, e)), double(t), 1e-15 * k);  // k additions of numbers below 6
    t += flight;
    flight *= e;
  }
  EXPECT_NEAR(double(bounces_end(t1, e)), 5.7, 1e-15);  // 0.3 * 1.9/0.1
  EXPECT_NEAR(double(bounce_time(2000, t1, e)), 5.7, 1e-15);
  // Speeds after bounces of 1 m/s by halves: 0.5, 0.25, 0.125: three of at least 0.125.
  EXPECT_EQ(bounce_count(1, 0.5L, 0.125L * (1 - 1e-15L)), 3);
  EXPECT_EQ(bounce_count(1, 0.5L, 0.126L), 2);
  EXPECT_EQ(bounce_count(1, 0.5L, 0.6L), 0);
}

TEST(EventReference, ABlockTwiceAsHighAsWideKeepsSevenTenthsOfItsSpin) {
  EXPECT_NEAR(double(RockingBlock{1, 2}.spin_ratio()), 0.7, 1e-16);
  // (2 b^2 - a^2)/(2 (a^2 + b^2)) for any uniform block.
  const RockingBlock narrow{0.07444L, 0.16094L};
  const Real a2 = 0.07444L * 0.07444L, b2 = 0.16094L * 0.16094L;
  EXPECT_NEAR(double(narrow.spin_ratio()), double((2 * b2 - a2) / (2 * (a2 + b2))), 1e-16);
}

// Runge-Kutta with 4000 steps a swing leaves (1/4000)^4 = 4e-15 of it, times the derivatives of a cosine; Simpson's
// rule with 2000 points likewise.
TEST(EventReference, SwingsLastAsLongByQuadratureAsByRungeKutta) {
  for (const RockingBlock block : {RockingBlock{1, 2}, RockingBlock{0.07444L, 0.16094L}})
    for (const Real spin : {1.0L, 0.5L, 0.1L, 1e-3L, 1e-6L})
      EXPECT_NEAR(double(block.swing_time(spin) / block.swing_time_by_energy(spin)), 1, 1e-11) << double(spin);
  // Small swings are parabolas: 2 spin/(g l cos(alpha)/k^2); the next term is of the order of top ~ spin^2.
  const RockingBlock block{1, 2};
  EXPECT_NEAR(double(block.swing_time(1e-4L) / (2e-4L * (5.0L / 3) / (9.81L / 2))), 1, 1e-7);
}

TEST(EventReference, TheEndOfRockingDoesNotDependOnWhereTheSeriesTakesOver) {
  const RockingBlock block{1, 2};
  // The series leaves out terms of the order of top ~ spin^2 k^2/(g a), 3e-5 at 0.01 rad/s, of what is left, 0.01 s.
  EXPECT_NEAR(double(block.course(1, 1e-2L).end), double(block.course(1, 1e-5L).end), 1e-6);
  EXPECT_NEAR(double(block.course(1, 1e-4L).end), double(block.course(1, 1e-6L).end), 1e-12);
}

// --- the rod -------------------------------------------------------------------------------------------------------

TEST(EventReference, ParadoxesNeedAFrictionOfFourThirds) {
  const auto least = [](Real mu) {
    PainleveRod rod;
    rod.mu = mu;
    Real smallest = 1;
    for (int k = 0; k <= 100000; ++k)
      smallest = std::min(smallest, rod.p(std::numbers::pi_v<Real> / 2 * k / 100000, -1));
    return smallest;
  };
  EXPECT_GT(least(4.0L / 3 - 1e-6L), 0);
  EXPECT_LT(least(4.0L / 3 + 1e-6L), 0);
  EXPECT_NEAR(double(least(2)), (5 - 3 * std::sqrt(5.0)) / 2, 1e-8);  // a grid of 1.6e-5 rad
}

// Newton-Euler equations of the whole rod, written again: forces at A move centre and angle, and A moves with them.
TEST(EventReference, SlidingKeepsTheEndOnTheGround) {
  PainleveRod rod;
  rod.mu = 0.6L;
  rod.m = 1.7L;
  rod.l = 0.4L;
  for (const Real s : {-1.0L, 1.0L}) {
    const Real theta = 0.8L, omega = 1.3L, u = 0.5L * s, F = -rod.b(theta, omega) / rod.p(theta, s),
               T = -rod.mu * s * F;
    const Real sn = std::sin(theta), cs = std::cos(theta);
    const Real turn = (T * rod.l * sn - F * rod.l * cs) / (rod.m * rod.l * rod.l / 3);
    const Real ax = T / rod.m, az = F / rod.m - rod.gravity;
    // A = centre - l (cos, sin): its acceleration.
    EXPECT_NEAR(double(az - rod.l * (cs * turn - sn * omega * omega)), 0, 1e-15);
    const Values<4> rate = rod.slide_rate({theta, omega, u, 0}, s);
    EXPECT_NEAR(double(rate[1]), double(turn), 1e-15);
    EXPECT_NEAR(double(rate[2]), double(ax + rod.l * (sn * turn + cs * omega * omega)), 1e-15);
  }
}

TEST(EventReference, ImpulsesOfTheRodBalanceItsMomentum) {
  PainleveRod rod;
  rod.mu = 2;
  const PainleveRod::State y{1.0L, 0.4L, -1.0L, 0};
  const PainleveRod::Impact hit = rod.routh(y, 0);  // inconsistent: p < 0
  ASSERT_LT(rod.p(1.0L, -1), 0);
  EXPECT_GT(hit.normal, 0);
  EXPECT_EQ(hit.u, 0);
  EXPECT_EQ(hit.w, 0);
  EXPECT_FALSE(hit.slipped_on);
  // Velocity of A after, from that of the centre and the spin.
  const Real sn = std::sin(y.theta), cs = std::cos(y.theta);
  const Real vx = y.u - rod.l * sn * y.omega + hit.tangential / rod.m, vz = rod.l * cs * y.omega + hit.normal / rod.m;
  EXPECT_NEAR(double(vx + rod.l * sn * hit.omega), 0, 1e-15);
  EXPECT_NEAR(double(vz - rod.l * cs * hit.omega), 0, 1e-15);
  // Friction within its cone; energy falls.
  EXPECT_LE(std::abs(hit.tangential), rod.mu * hit.normal);
  // A regular collision without friction: (1 + 3 cos^2) N = -w m.
  PainleveRod smooth;
  smooth.mu = 0;
  const PainleveRod::Impact bounce = smooth.routh({1.0L, 0, -1.0L, 0}, -1);
  EXPECT_NEAR(double(bounce.normal), double(1 / (1 + 3 * std::cos(1.0L) * std::cos(1.0L))), 1e-15);
  EXPECT_TRUE(bounce.slipped_on);
}

// Energy of the whole rod: what friction takes, mu F |u|, is all that is lost.
TEST(EventReference, SlidesLoseWhatFrictionTakes) {
  PainleveRod rod;
  rod.mu = 0.3L;
  const PainleveRod::State start{0.9L, 0.5L, -1.0L, 0};
  const auto energy = [&](Real theta, Real omega, Real u) {
    const Real vx = u - rod.l * std::sin(theta) * omega, vz = rod.l * std::cos(theta) * omega;
    return rod.m * (vx * vx + vz * vz) / 2 + rod.m * rod.l * rod.l / 6 * omega * omega +
           rod.m * rod.gravity * rod.l * std::sin(theta);
  };
  const auto rate = [&](const Values<5>& y) {
    const Values<4> r = rod.slide_rate({y[0], y[1], y[2], y[3]}, -1);
    return Values<5>{r[0], r[1], r[2], r[3], rod.mu * -rod.b(y[0], y[1]) / rod.p(y[0], -1) * std::abs(y[2])};
  };
  Values<5> y{start.theta, start.omega, start.u, 0, 0};
  for (int k = 0; k < 2000; ++k) y = rk4<5>(rate, y, 1e-4L);
  EXPECT_NEAR(double(energy(y[0], y[1], y[2]) + y[4]), double(energy(start.theta, start.omega, start.u)), 1e-13);
  const PainleveRod::Course course = rod.slide(start, 0.2L);
  ASSERT_EQ(course.ending, PainleveRod::Ending::time);
  EXPECT_NEAR(double(course.state.theta), double(y[0]), 1e-13);
  EXPECT_NEAR(double(course.state.u), double(y[2]), 1e-13);
}

// Below 8/(3 sqrt 3) the rod lifts off before the force gets large; above, some slides end with a force without bound.
TEST(EventReference, ForcesOfSlidesAreBoundedBelowTheFrictionOfJams) {
  const auto singular = [](Real mu) {
    PainleveRod rod;
    rod.mu = mu;
    // p = 0 at mu tan theta = (4 + tan^2 theta)/3.
    const Real theta1 = std::atan((3 * mu - std::sqrt(9 * mu * mu - 16)) / 2);
    int jams = 0;
    for (int k = 1; k <= 40; ++k) {
      const Real theta = theta1 - 0.05L, top = std::sqrt(rod.gravity / (rod.l * std::sin(theta)));
      const PainleveRod::Course course = rod.slide({theta, top * k / 41, -5, 0}, 1, 1e-4L, 1e-5L);
      jams += course.ending == PainleveRod::Ending::singular && course.force_grows;
    }
    return jams;
  };
  EXPECT_EQ(singular(PainleveRod::jam_friction() - 0.02L), 0);
  EXPECT_GT(singular(PainleveRod::jam_friction() + 0.02L), 0);
}

// A rod that falls about its end: energy, and slip where |T| = mu N.
TEST(EventReference, TheRodHoldsWhileFrictionSuffices) {
  PainleveRod rod;
  rod.mu = 0.4L;
  const PainleveRod::Course fall = rod.hold({1.3L, 0, 0, 0}, 2);
  ASSERT_EQ(fall.ending, PainleveRod::Ending::slips);
  const PainleveRod::Force force = rod.holding_force(fall.state.theta, fall.state.omega);
  EXPECT_NEAR(double(std::abs(force.tangential) / force.normal), 0.4, 1e-12);
  // (4/3) m l^2 omega^2/2 = m g l (sin 1.3 - sin theta)
  EXPECT_NEAR(double(2 * rod.l * fall.state.omega * fall.state.omega / 3),
              double(rod.gravity * (std::sin(1.3L) - std::sin(fall.state.theta))), 1e-13);
  // Where it would not hold at all it slides, and slow slides that stop hold again: no time is lost.
  const PainleveRod::State on = rod.go_on({1.3L, 0, 0, 0}, fall.time + 0.01L);
  EXPECT_LT(on.theta, fall.state.theta);
  EXPECT_NE(on.u, 0);
  rod.mu = 2;
  const PainleveRod::Course stop = rod.slide({0.5L, 2, -3, 0}, 1);
  ASSERT_EQ(stop.ending, PainleveRod::Ending::stops);
  const PainleveRod::State held = rod.go_on(stop.state, 0.02L);
  EXPECT_EQ(held.u, 0);
  EXPECT_GT(held.x, stop.state.x);  // it slid back in between
}

TEST(EventReference, TheCompassOnItsFootKeepsItsEnergyAndComesBack) {
  const PinnedCompass compass;
  const Real angle = 78 * std::numbers::pi_v<Real> / 180;
  const Values<4> y{-angle, angle, 0.5L, 0.5L};
  const Values<4> before = compass.after(y, -0.02L);
  EXPECT_NEAR(double(compass.energy(before)), double(compass.energy(y)), 1e-15);
  const Values<4> again = compass.after(before, 0.02L);
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(double(again[i]), double(y[i]), 1e-16);
  PinnedCompass::Force force;
  (void)compass.rate(before, &force);
  EXPECT_GT(force.z, 0);
  EXPECT_LT(std::abs(force.x), 5 * force.z);  // it stands in the friction cone
}

}  // namespace
}  // namespace scree::reference
