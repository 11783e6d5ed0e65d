#include "impact/routh.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <cmath>
#include <random>

#include "scree/error.h"
#include "scree/impact.h"
#include "scree/outcome_set.h"

namespace scree {
namespace {

using Eigen::Matrix2d;
using Eigen::MatrixXd;
using Eigen::Vector2d;
using Eigen::Vector3d;
using Eigen::VectorXd;

struct Draw {
  std::mt19937_64 random;
  explicit Draw(unsigned seed) : random(seed) {}
  double normal() { return std::normal_distribution<double>()(random); }
  double uniform(double a, double b) { return std::uniform_real_distribution<double>(a, b)(random); }
  // Delassus matrix of a contact: rows of independent normals, so that normal and tangents are coupled.
  MatrixXd delassus(int n) {
    MatrixXd A(n, n + 1);
    for (double& x : A.reshaped()) x = normal();
    return A * A.transpose();
  }
  VectorXd approaching(int n) {
    VectorXd u(n);
    for (double& x : u) x = normal();
    u(0) = -std::abs(u(0)) - 0.1;
    return u;
  }
};

VectorXd velocity_after(const MatrixXd& G, const VectorXd& u, const RouthPath& path) { return u + G * path.impulse; }
// K+ - K = lambda.(u + u+)/2
double energy_gain(const VectorXd& u, const VectorXd& after, const VectorXd& impulse) {
  return 0.5 * impulse.dot(u + after);
}

// Coulomb's law by explicit steps in the normal impulse; where a step would reverse the slip, it sticks if it can.
VectorXd explicit_steps(const MatrixXd& G, const VectorXd& u0, double mu, double dp) {
  const long t = u0.size() - 1;
  VectorXd u = u0, impulse = VectorXd::Zero(u0.size());
  for (long k = 0; k < 100'000'000 && u(0) < 0; ++k) {
    VectorXd d = VectorXd::Zero(u0.size());
    d(0) = dp;
    // The friction that stops the slip within this step, if the cone has it; else slip with what it has.
    const VectorXd free = u.tail(t) + G.col(0).tail(t) * dp;
    VectorXd stop = -MatrixXd(G.bottomRightCorner(t, t)).ldlt().solve(free);
    if (stop.norm() > mu * dp)
      stop =
          u.tail(t).norm() > 0 ? VectorXd(-mu * dp * u.tail(t).normalized()) : VectorXd(stop * (mu * dp / stop.norm()));
    d.tail(t) = stop;
    VectorXd next = u + G * d;
    if (next(0) > 0) {  // the last part of a step
      d *= -u(0) / (next(0) - u(0));
      next = u + G * d;
      impulse += d;
      break;
    }
    u = next;
    impulse += d;
  }
  return impulse;
}

MatrixXd planar(double a, double b, double c) {
  MatrixXd G(2, 2);
  G << a, b, b, c;
  return G;
}

// --- closed forms ---

TEST(Routh, SlipsToTheEnd) {
  const MatrixXd G = planar(1, 0.2, 3);
  const RouthPath path = routh_path(G, Vector2d(-1, 10), 0.5);
  ASSERT_TRUE(path.finished);
  const double p = 1 / (1 - 0.5 * 0.2);  // u_n = -1 + (a - mu b) p
  EXPECT_NEAR(path.impulse(0), p, 1e-14);
  EXPECT_NEAR(path.impulse(1), -0.5 * p, 1e-14);
  EXPECT_EQ(path.pieces, 1);
}

TEST(Routh, SlipsThenSticks) {
  const MatrixXd G = planar(1, 0.2, 3);
  const RouthPath path = routh_path(G, Vector2d(-1, 0.65), 0.5);
  ASSERT_TRUE(path.finished);
  const double slip = 0.65 / (0.5 * 3 - 0.2);  // until u_t = 0: 0.5
  const double stick = (1 - 0.9 * slip) / (1 - 0.2 * 0.2 / 3);
  EXPECT_NEAR(path.impulse(0), slip + stick, 1e-14);
  EXPECT_NEAR(path.impulse(1), -0.5 * slip - 0.2 / 3 * stick, 1e-14);
  EXPECT_NEAR(velocity_after(G, Vector2d(-1, 0.65), path).norm(), 0, 1e-14);
  EXPECT_EQ(path.pieces, 2);
}

TEST(Routh, ReversesSlipWhereFrictionCannotHold) {
  // b/c = 1.2 > mu: slips left, stops at p = 0.5, slips off to the right.
  const MatrixXd G = planar(1, 0.6, 0.5);
  const Vector2d u(-1, -0.425);
  const RouthPath path = routh_path(G, u, 0.5);
  ASSERT_TRUE(path.finished);
  EXPECT_NEAR(path.impulse(0), 1, 1e-14);
  EXPECT_NEAR(path.impulse(1), 0, 1e-14);
  EXPECT_NEAR(velocity_after(G, u, path)(1), 0.175, 1e-14);
  ASSERT_EQ(path.course.size(), 3u);
  EXPECT_NEAR(path.course[1](0), 0.5, 1e-14);
  EXPECT_NEAR(path.course[1](1), 0.25, 1e-14);
}

TEST(Routh, JammingSlipApproachesFasterUntilItSticks) {
  // a - mu b < 0: friction presses the contact shut while it slips right (the impact of Painleve's problem).
  const MatrixXd G = planar(1, 2, 5);
  const Vector2d u(-1, 4);
  const RouthPath path = routh_path(G, u, 0.75);
  ASSERT_TRUE(path.finished);
  const double slip = 4 / (0.75 * 5 - 2), faster = -1 + (1 - 1.5) * slip;
  EXPECT_NEAR(path.course[1](0), slip, 1e-14);
  EXPECT_LT(faster, -1);
  EXPECT_NEAR(path.impulse(0), slip - faster / (1 - 4. / 5), 1e-13);
  EXPECT_NEAR(velocity_after(G, u, path).norm(), 0, 1e-13);
}

TEST(Routh, PoissonExpandsByItsShareOfCompression) {
  const MatrixXd G = planar(1, 0.2, 3);
  const Vector2d u(-1, 0.65);
  const RouthPath inelastic = routh_path(G, u, 0.5), path = routh_path(G, u, 0.5, 0.6);
  EXPECT_NEAR(path.compression, inelastic.impulse(0), 1e-14);
  EXPECT_NEAR(path.impulse(0), 1.6 * inelastic.impulse(0), 1e-14);
  EXPECT_NEAR(velocity_after(G, u, path)(0), 0.6 * path.compression * (1 - 0.04 / 3), 1e-14);  // sticking by then
  EXPECT_NEAR(velocity_after(G, u, path)(1), 0, 1e-14);
}

// A ball's friction acts against its slip, which never turns: G = diag(1, 7/2, 7/2)/m.
TEST(Routh, BallSlipsOrRolls) {
  const double mass = 0.3, speed = 2, mu = 0.25, slip = 3;
  MatrixXd G = Vector3d(1, 3.5, 3.5).asDiagonal() * (1 / mass);
  for (const double e : {0.0, 0.5, 1.0})
    for (const double angle : {0.0, 0.7, 2.5}) {
      const Vector2d direction(std::cos(angle), std::sin(angle));
      Vector3d u(-speed, slip * direction(0), slip * direction(1));
      RouthPath path = routh_path(G, u, mu, e);
      Vector3d after = velocity_after(G, u, path);
      const double left = slip - 3.5 * mu * (1 + e) * speed;
      EXPECT_NEAR(after(0), e * speed, 1e-12);
      EXPECT_NEAR((after.tail<2>() - std::max(0.0, left) * direction).norm(), 0, 1e-12);
      u.tail<2>() = 1.0 * direction;  // 3.5 mu speed = 1.75: rolls before the end of compression
      path = routh_path(G, u, mu, e);
      EXPECT_NEAR(velocity_after(G, u, path).tail<2>().norm(), 0, 1e-12);
    }
}

// Without coupling of normal and tangents, u_t1'/u_t2' = c1 u_t1/(c2 u_t2): u_t2/|u_t1|^(c2/c1) does not change.
TEST(Routh, TurningSlipFollowsItsPowerLaw) {
  for (const double c2 : {0.3, 0.5, 2.0, 3.3}) {
    MatrixXd G = Vector3d(1, 1, c2).asDiagonal();
    const Vector3d u(-0.5, 2, 1);
    const RouthPath path = routh_path(G, u, 1.5);
    ASSERT_TRUE(path.finished);
    EXPECT_NEAR(path.impulse(0), 0.5, 1e-12);
    double turned = 0;
    for (const VectorXd& impulse : path.course) {
      const Vector3d at = u + G * impulse;
      // Errors of the integrator are near 1e-12 a step, in some 20 steps.
      EXPECT_NEAR(at(2) / std::pow(at(1), c2), 1 / std::pow(2, c2), 1e-10);
      turned = std::abs(std::atan2(at(2), at(1)) - std::atan2(1, 2));
    }
    EXPECT_GT(turned, 0.05);
    EXPECT_LE(path.residual, 1e-11);
  }
}

TEST(Routh, WithoutFrictionOnlyTheNormalActs) {
  Draw draw(3);
  const MatrixXd G = draw.delassus(3);
  const VectorXd u = draw.approaching(3);
  const RouthPath path = routh_path(G, u, 0, 0.3);
  EXPECT_NEAR(path.impulse(0), -1.3 * u(0) / G(0, 0), 1e-14 * std::abs(u(0) / G(0, 0)) * 10);
  EXPECT_EQ(path.impulse.tail(2).norm(), 0);
}

// --- slip from rest ---

TEST(Routh, SlipOffDirectionIsInvariantAndLeadsAway) {
  Draw draw(11);
  int off = 0;
  for (int k = 0; k < 2000; ++k) {
    const MatrixXd G = draw.delassus(3);
    const Matrix2d C = G.bottomRightCorner<2, 2>();
    const Vector2d g = G.block<2, 1>(1, 0);
    const double mu = draw.uniform(0.01, 2), needed = C.ldlt().solve(g).norm();
    Vector2d e;
    const bool slips = slip_off_direction(C, g, mu, e);
    EXPECT_EQ(slips, needed > mu);
    if (!slips) continue;
    ++off;
    const Vector2d f = g - mu * C * e;
    EXPECT_NEAR(e.norm(), 1, 1e-14);
    EXPECT_GT(f.dot(e), 0);
    EXPECT_NEAR(e(0) * f(1) - e(1) * f(0), 0, 1e-12 * (g.norm() + mu * C.norm()));
  }
  EXPECT_GT(off, 200);
}

// --- properties ---

TEST(Routh, KeepsTheConeAndLosesEnergy) {
  Draw draw(5);
  for (int k = 0; k < 3000; ++k) {
    const int n = k % 3 + 1;
    const MatrixXd G = draw.delassus(n);
    const VectorXd u = draw.approaching(n);
    const double mu = draw.uniform(0, 3), e = k % 2 == 0 ? 0 : draw.uniform(0, 1);
    const RouthPath path = routh_path(G, u, mu, e);
    ASSERT_TRUE(path.finished) << k;
    const VectorXd after = velocity_after(G, u, path);
    // Impulses are sums of G^-1 u: rounding grows with the condition of G.
    const double size = u.norm(), rounding = 1e-10 * size;
    if (e == 0)
      EXPECT_NEAR(after(0), 0, rounding) << k;
    else
      EXPECT_GE(after(0), -rounding) << k;
    EXPECT_LE(path.impulse.tail(n - 1).norm(), mu * path.impulse(0) * (1 + 1e-10)) << k;
    EXPECT_LE(energy_gain(u, after, path.impulse), 1e-10 * size * path.impulse.norm()) << k << " e " << e;
    // So at every point of the course.
    double last = 0;
    for (const VectorXd& impulse : path.course) {
      if (e > 0) break;
      const double gain = energy_gain(u, u + G * impulse, impulse);
      EXPECT_LE(gain, last + 1e-10 * size * path.impulse.norm()) << k;
      last = gain;
    }
  }
}

TEST(Routh, ScalesWithVelocityAndMass) {
  Draw draw(6);
  for (int k = 0; k < 50; ++k) {
    const MatrixXd G = draw.delassus(3);
    const VectorXd u = draw.approaching(3);
    const RouthPath one = routh_path(G, u, 0.7), fast = routh_path(G, 1e3 * u, 0.7),
                    heavy = routh_path(1e-4 * G, u, 0.7);
    EXPECT_NEAR((fast.impulse - 1e3 * one.impulse).norm(), 0, 1e-8 * one.impulse.norm());
    EXPECT_NEAR((heavy.impulse - 1e4 * one.impulse).norm(), 0, 1e-7 * one.impulse.norm());
  }
}

TEST(Routh, DoesNotDependOnTheTangents) {
  Draw draw(7);
  for (int k = 0; k < 100; ++k) {
    const MatrixXd G = draw.delassus(3);
    const VectorXd u = draw.approaching(3);
    const double angle = draw.uniform(0, 6);
    MatrixXd R = MatrixXd::Identity(3, 3);
    R.bottomRightCorner(2, 2) << std::cos(angle), -std::sin(angle), std::sin(angle), std::cos(angle);
    const RouthPath one = routh_path(G, u, 0.5), turned = routh_path(R * G * R.transpose(), R * u, 0.5);
    // Two integrations with errors near 1e-12 a step; slip that nearly stops turns fast and enlarges them.
    EXPECT_NEAR((R * one.impulse - turned.impulse).norm(), 0, 1e-8 * one.impulse.norm()) << k;
  }
}

TEST(Routh, PlanarImpactInSpaceIsThePlanarOne) {
  Draw draw(8);
  for (int k = 0; k < 200; ++k) {
    const MatrixXd G = draw.delassus(2);
    const VectorXd u = draw.approaching(2);
    const double mu = draw.uniform(0, 2);
    const RouthPath flat = routh_path(G, u, mu);
    MatrixXd G3 = MatrixXd::Zero(3, 3);
    G3.topLeftCorner(2, 2) = G;
    G3(2, 2) = draw.uniform(0.1, 3);
    const RouthPath space = routh_path(G3, Vector3d(u(0), u(1), 0), mu);
    ASSERT_TRUE(flat.finished && space.finished);
    EXPECT_NEAR((space.impulse.head(2) - flat.impulse).norm(), 0, 1e-12 * flat.impulse.norm()) << k;
    EXPECT_EQ(space.impulse(2), 0);
  }
}

// Two roads: small explicit steps converge to the path, with first order.
TEST(Routh, ExplicitStepsConvergeToIt) {
  Draw draw(9);
  double coarse = 0, fine = 0;
  for (int k = 0; k < 60; ++k) {
    const MatrixXd G = draw.delassus(k % 2 == 0 ? 3 : 2);
    const VectorXd u = draw.approaching(static_cast<int>(G.rows()));
    const double mu = draw.uniform(0.05, 1.5);
    const RouthPath path = routh_path(G, u, mu);
    ASSERT_TRUE(path.finished);
    const double dp = path.impulse(0) / 2000;
    const double e1 = (explicit_steps(G, u, mu, dp) - path.impulse).norm() / path.impulse.norm();
    const double e2 = (explicit_steps(G, u, mu, dp / 8) - path.impulse).norm() / path.impulse.norm();
    EXPECT_LE(e2, 0.02) << k;
    coarse += e1;
    fine += e2;
  }
  EXPECT_LE(fine, coarse / 4);  // first order would be 8; kinks of the path cost some of it
}

// Two roads: the set-valued law with one contact and small increments is Routh's method, to first order in the
// increment.
TEST(Routh, SmallIncrementsOfTheSetValuedLawAreIt) {
  Draw draw(12);
  for (int k = 0; k < 16; ++k) {
    const int t = k < 12 ? 1 : 2;
    ImpactProblem p;
    MatrixXd A(5, 6);
    for (double& x : A.reshaped()) x = draw.normal();
    p.M = A * A.transpose();
    p.M = 0.5 * (p.M + p.M.transpose()).eval();
    p.Jn.resize(1, 5);
    p.Jt.resize(t, 5);
    p.v.resize(5);
    for (double& x : p.Jn.reshaped()) x = draw.normal();
    for (double& x : p.Jt.reshaped()) x = draw.normal();
    do {
      for (double& x : p.v) x = draw.normal();
    } while ((p.Jn * p.v)(0) > -0.3);
    p.mu = VectorXd::Constant(1, draw.uniform(0.05, 1));
    ImpactOptions options;
    options.law = ImpactLaw::routh;
    const ImpactResult routh = resolve_impact(p, options);
    ASSERT_EQ(routh.status, ImpactStatus::resolved);
    const auto off = [&](double parts) {
      OutcomeOptions increments;
      increments.sampler = OutcomeSampler::uniform;
      increments.samples = 1;
      increments.step = routh.normal_impulse(0) / parts;
      increments.max_steps = 100000;
      increments.friction_directions = 32;
      const OutcomeSet set = sample_outcomes(p, increments);
      EXPECT_EQ(set.finished, 1);
      return (set.v.col(0) - routh.v).norm() / (p.v - routh.v).norm();
    };
    const double error = off(t == 1 ? 1600 : 200);
    // Increments of 1/3200 of the impulse on average; in space 1/400, and friction is off by up to pi/32 = 0.1.
    EXPECT_LE(error, t == 1 ? 0.01 : 0.1) << k;
  }
}

TEST(Routh, LargeFrictionAndUnequalInertiasEnd) {
  Draw draw(10);
  for (int k = 0; k < 200; ++k) {
    MatrixXd A(3, 3);
    for (double& x : A.reshaped()) x = draw.normal();
    const Vector3d scale(1, 1, std::pow(10.0, draw.uniform(-3, 3)));
    const MatrixXd G = scale.asDiagonal() * (A * A.transpose()) * scale.asDiagonal();
    const VectorXd u = scale.asDiagonal() * draw.approaching(3);
    const RouthPath path = routh_path(G, u, std::pow(10.0, draw.uniform(-2, 5)));
    ASSERT_TRUE(path.finished) << k;
    EXPECT_NEAR(velocity_after(G, u, path)(0), 0, 1e-9 * u.norm() * (1 + path.impulse(0) * G(0, 0) / u.norm())) << k;
    EXPECT_LE(path.pieces, 20000) << k;
  }
}

// A point on one rod that can only turn: normal and tangent move together, G is singular.
TEST(Routh, SingularDelassusMatrixIsNoDivision) {
  const Vector2d row(1, 0.7);
  const MatrixXd G = row * row.transpose();
  const RouthPath path = routh_path(G, -2 * row, 0.5);
  ASSERT_TRUE(path.finished);
  EXPECT_NEAR(path.impulse(0), 2 / (1 + 0.7 * 0.5), 1e-12);
  EXPECT_NEAR(velocity_after(G, -2 * row, path).norm(), 0, 1e-12);
}

// --- as a law ---

ImpactProblem ball(double slip) {
  ImpactProblem p;
  p.M = (VectorXd(6) << 2, 2, 2, 0.8, 0.8, 0.8).finished().asDiagonal();  // radius 1
  p.Jn = MatrixXd::Zero(1, 6);
  p.Jn(0, 2) = 1;
  p.Jt = MatrixXd::Zero(2, 6);
  p.Jt(0, 0) = p.Jt(1, 1) = 1;
  p.Jt(0, 4) = -1;
  p.Jt(1, 3) = 1;
  p.mu = VectorXd::Constant(1, 0.25);
  p.v = (VectorXd(6) << slip, 0, -1, 0, 0, 0).finished();
  return p;
}

TEST(Routh, LawOfABall) {
  ImpactProblem problem = ball(3);
  ImpactOptions options;
  options.law = ImpactLaw::routh;
  ImpactResult result = resolve_impact(problem, options);
  EXPECT_EQ(result.status, ImpactStatus::resolved);
  EXPECT_NEAR((problem.Jt * result.v)(0), 3 - 3.5 * 0.25, 1e-13);
  EXPECT_NEAR(result.normal_impulse(0), 2, 1e-13);
  EXPECT_NEAR((result.path.front() - problem.v).norm(), 0, 1e-14);
  EXPECT_NEAR((result.path.back() - result.v).norm(), 0, 1e-13);
  EXPECT_LT(result.energy_after, result.energy_before);
  problem.restitution = VectorXd::Constant(1, 0.5);
  result = resolve_impact(problem, options);
  EXPECT_NEAR((problem.Jn * result.v)(0), 0.5, 1e-13);
  EXPECT_NEAR((problem.Jt * result.v)(0), 3 - 1.5 * 3.5 * 0.25, 1e-13);
  EXPECT_EQ(all_impact_outcomes(problem, options).outcomes.size(), 1u);
}

TEST(Routh, LawLeavesSeparatingContactsAlone) {
  ImpactProblem problem = ball(3);
  problem.v(2) = 1e-3;
  ImpactOptions options;
  options.law = ImpactLaw::routh;
  const ImpactResult result = resolve_impact(problem, options);
  EXPECT_EQ(result.status, ImpactStatus::resolved);
  EXPECT_EQ((result.v - problem.v).norm(), 0);
}

TEST(Routh, LawHasOneContact) {
  ImpactProblem problem = ball(3);
  problem.Jn.conservativeResize(2, 6);
  problem.Jn.row(1) = problem.Jn.row(0);
  problem.Jt.resize(0, 6);
  problem.mu.resize(0);
  ImpactOptions options;
  options.law = ImpactLaw::routh;
  EXPECT_THROW(
      {
        try {
          (void)resolve_impact(problem, options);
        } catch (const InputError& error) {
          EXPECT_STREQ(error.what(), "routh: 2 contacts, expected 1; the set-valued law takes more");
          throw;
        }
      },
      InputError);
}

}  // namespace
}  // namespace scree
