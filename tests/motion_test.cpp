// Motions with closed forms or independent references: pendulum, double pendulum, free bodies. The order of each
// integrator is fitted, not only its error bounded.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "scree/dynamics.h"
#include "scree/simulation.h"
#include "scree/urdf.h"
#include "support/mechanisms.h"
#include "support/paths.h"
#include "support/random_tree.h"

namespace scree {
namespace {

constexpr double kGravity = 9.81;

// Runs to `end` with n equal steps and returns the simulation.
Simulation run(const Model& model, IntegratorType integrator, const Eigen::VectorXd& q, const Eigen::VectorXd& v,
               double end, int n, const Vec3& gravity = Vec3(0, 0, -kGravity)) {
  StepOptions options;
  options.integrator = integrator;
  options.dt = end / n;
  World world;
  world.gravity = gravity;
  Simulation simulation(model, world, options);
  simulation.set_state(q, v);
  for (int k = 0; k < n; ++k) EXPECT_TRUE(simulation.step().converged());
  return simulation;
}

// Slope of log(error) over log(step) by least squares over n, 2n, 4n, ...
double fitted_order(const std::function<double(int)>& error, int n, int levels) {
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (int k = 0; k < levels; ++k) {
    const double x = -std::log(static_cast<double>(n << k)), y = std::log(error(n << k));
    sx += x, sy += y, sxx += x * x, sxy += x * y;
  }
  return (levels * sxy - sx * sy) / (levels * sxx - sx * sx);
}

// --- pendulum: exact through the elliptic integral -------------------------------------------------------------------

struct PendulumCase {
  double mass = 1.3, length = 0.8, start = 2.0;  // start angle [rad]: far from the linear regime
  // theta'' = -w0^2 sin(theta), w0^2 = m g c / I about the hinge
  double w0() const {
    const double hinge_inertia = mass * length * length / 3 + 1e-4 * mass * length * length;
    return std::sqrt(mass * kGravity * (length / 2) / hinge_inertia);
  }
  double period() const { return 4 * std::comp_ellint_1(std::sin(start / 2)) / w0(); }
};

TEST(Pendulum, Rk4ReturnsAfterAnExactPeriodWithFourthOrder) {
  const PendulumCase c;
  const Model model = test::pendulum(c.mass, c.length);
  const auto error = [&](int n) {
    const Simulation s = run(model, IntegratorType::rk4, Eigen::VectorXd::Constant(1, c.start),
                             Eigen::VectorXd::Zero(1), 1.25 * c.period(), n);
    // A quarter period after the return it swings through the bottom at the speed energy gives it.
    const double exact_speed = c.w0() * std::sqrt(2 * (1 - std::cos(c.start)));
    return std::hypot(s.state().q(0), std::abs(s.state().v(0)) - exact_speed);
  };
  EXPECT_NEAR(fitted_order(error, 400, 4), 4, 0.1);
  EXPECT_LE(error(3200), 1e-9);  // (1.25 T / 3200)^4 = 2e-13 times derivatives of size w0^5 = 1.7e3
}

class ImplicitPendulum : public testing::TestWithParam<IntegratorType> {};
INSTANTIATE_TEST_SUITE_P(Schemes, ImplicitPendulum, testing::Values(IntegratorType::pbd, IntegratorType::ne),
                         [](const auto& type) { return std::string(integrator_name(type.param)); });

TEST_P(ImplicitPendulum, ConvergesWithFirstOrder) {
  const PendulumCase c;
  const Model model = test::pendulum(c.mass, c.length);
  const auto error = [&](int n) {
    const Simulation s =
        run(model, GetParam(), Eigen::VectorXd::Constant(1, c.start), Eigen::VectorXd::Zero(1), 0.25 * c.period(), n);
    return std::abs(s.state().q(0));  // the exact angle is 0
  };
  const double order = fitted_order(error, 400, 5);
  EXPECT_GE(order, 0.95);
  EXPECT_LE(order, 1.05);
}

// --- double pendulum against its Lagrangian equations, integrated here
// ------------------------------------------------

struct DoublePendulum {
  double m1 = 1.0, l1 = 0.7, m2 = 0.6, l2 = 0.9;
  using Vec4 = Eigen::Vector4d;

  // State: absolute angles and rates. Two rods: centres at l/2, textbook Lagrangian.
  Vec4 rate(const Vec4& x) const {
    const double I1 = m1 * l1 * l1 * (1.0 / 12 + 1e-4), I2 = m2 * l2 * l2 * (1.0 / 12 + 1e-4);
    const double c1 = l1 / 2, c2 = l2 / 2, d = x(0) - x(1);
    const double a = I1 + m1 * c1 * c1 + m2 * l1 * l1, b = m2 * l1 * c2 * std::cos(d), e = I2 + m2 * c2 * c2;
    const double f1 = -m2 * l1 * c2 * std::sin(d) * x(3) * x(3) - (m1 * c1 + m2 * l1) * kGravity * std::sin(x(0));
    const double f2 = m2 * l1 * c2 * std::sin(d) * x(2) * x(2) - m2 * c2 * kGravity * std::sin(x(1));
    const double det = a * e - b * b;
    return {x(2), x(3), (e * f1 - b * f2) / det, (a * f2 - b * f1) / det};
  }
  Vec4 solve(Vec4 x, double end) const {
    const int n = 20000;  // (1 s / 20000)^4 = 6e-18 times high derivatives: below 1e-12
    const double h = end / n;
    for (int k = 0; k < n; ++k) {
      const Vec4 k1 = rate(x), k2 = rate(x + h / 2 * k1), k3 = rate(x + h / 2 * k2), k4 = rate(x + h * k3);
      x += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
    }
    return x;
  }
};

TEST(DoublePendulum, BothIntegratorsConvergeToTheLagrangianEquations) {
  const DoublePendulum d;
  const Model model = test::double_pendulum(d.m1, d.l1, d.m2, d.l2);
  // Positive about y swings the rod towards -x: the same sense for both; relative angle in the second joint.
  const Eigen::Vector4d exact = d.solve({1.2, 0.5, 0.3, -1.0}, 1.0);
  const auto error = [&](IntegratorType integrator, int n) {
    const Simulation s =
        run(model, integrator, Eigen::Vector2d(1.2, 0.5 - 1.2), Eigen::Vector2d(0.3, -1.0 - 0.3), 1.0, n);
    Eigen::Vector4d x;
    x << s.state().q(0), s.state().q.sum(), s.state().v(0), s.state().v.sum();
    return (x - exact).norm();
  };
  for (const IntegratorType implicit : {IntegratorType::pbd, IntegratorType::ne}) {
    const double first = fitted_order([&](int n) { return error(implicit, n); }, 1600, 4);
    EXPECT_GE(first, 0.95) << integrator_name(implicit);
    EXPECT_LE(first, 1.05) << integrator_name(implicit);
  }
  EXPECT_NEAR(fitted_order([&](int n) { return error(IntegratorType::rk4, n); }, 200, 4), 4, 0.1);
}

// --- free bodies -----------------------------------------------------------------------------------------------------

Eigen::VectorXd free_position(const Vec3& p, const Quat& r) {
  Eigen::VectorXd q(7);
  q << p, r.w(), r.x(), r.y(), r.z();
  return q;
}
Mat3 rotation_of(const State& state) { return Quat(state.q(3), state.q(4), state.q(5), state.q(6)).toRotationMatrix(); }

// A symmetric top without torque: in the body the spin turns about z at (C - A)/A w_z; in the world the body turns at
// |L|/A about L and at -(C - A)/A w_z about its own axis.
TEST(FreeBody, SymmetricTopPrecessesAsInClosedForm) {
  const double A = 0.4, C = 0.7;
  const Model model = test::free_body(1.5, Vec3(A, A, C).asDiagonal());
  const Vec3 w(0.8, 0, 2.5), p0(0.1, -0.2, 0.3), v0(0.5, 0.2, -0.1);
  const Quat r0(Eigen::AngleAxisd(0.7, Vec3(1, 2, -1).normalized()));
  Eigen::VectorXd v(6);
  v << v0, w;
  const double end = 1.0;
  const Vec3 L = r0 * Vec3(A * w(0), A * w(1), C * w(2));
  const Mat3 exact = (Eigen::AngleAxisd(L.norm() / A * end, L.normalized()) * r0 *
                      Eigen::AngleAxisd(-(C - A) / A * w(2) * end, Vec3::UnitZ()))
                         .toRotationMatrix();
  const auto error = [&](IntegratorType integrator, int n) {
    const Simulation s = run(model, integrator, free_position(p0, r0), v, end, n);
    return (rotation_of(s.state()) - exact).norm();
  };
  for (const IntegratorType implicit : {IntegratorType::pbd, IntegratorType::ne}) {
    const double first = fitted_order([&](int n) { return error(implicit, n); }, 1600, 4);
    EXPECT_GE(first, 0.95) << integrator_name(implicit);
    EXPECT_LE(first, 1.05) << integrator_name(implicit);
  }
  EXPECT_NEAR(fitted_order([&](int n) { return error(IntegratorType::rk4, n); }, 50, 4), 4, 0.1);

  const Simulation fine = run(model, IntegratorType::rk4, free_position(p0, r0), v, end, 1000);
  const Vec3 fall = p0 + v0 * end + 0.5 * Vec3(0, 0, -kGravity) * end * end;
  EXPECT_LE((fine.state().q.head<3>() - fall).norm(), 1e-13 * 1000);  // a parabola is exact up to 1000 roundings
  EXPECT_LE(error(IntegratorType::rk4, 1000), 1e-11);                 // (1/1000)^4 times |w|^5 / 120 ~ 1
}

// Backward Euler falls by g h^2 k(k+1)/2 after k steps: exact for the scheme, whatever the rotation does.
TEST(FreeBody, PbdFallsExactlyAsBackwardEulerSays) {
  const Model model = test::free_body(2.0, Vec3(0.1, 0.2, 0.25).asDiagonal());
  const int n = 40;
  const double h = 0.05;
  const Simulation s = run(model, IntegratorType::pbd, free_position(Vec3::Zero(), Quat::Identity()),
                           Eigen::VectorXd::Zero(6), n * h, n);
  EXPECT_NEAR(s.state().q(2), -kGravity * h * h * n * (n + 1) / 2,
              n * 1e-8 * h * h * n);  // tolerance 1e-8 m/s^2 a step
}

// The rotor recursion tan(d') = sin(d) / (2 - cos(d)): what position-based backward Euler makes of a free spin.
TEST(FreeBody, PbdSpinFollowsTheRotorRecursionToRounding) {
  const Model model = test::free_body(1.0, 0.3 * Mat3::Identity());
  const double h = 0.05;
  Eigen::VectorXd v = Eigen::VectorXd::Zero(6);
  v(4) = 6;  // 0.3 rad a step
  StepOptions options;
  options.integrator = IntegratorType::pbd;
  options.dt = h;
  options.tolerance = 1e-12;
  Simulation s(model, test::weightless(), options);
  s.set_state(free_position(Vec3::Zero(), Quat::Identity()), v);
  // The first step starts from rates w x R, not from a previous pose: tan(d) = wh.
  double turn = std::atan(6 * h), angle = 0;
  for (int k = 0; k < 30; ++k) {
    ASSERT_TRUE(s.step().converged());
    angle += turn;
    EXPECT_NEAR(s.state().v(4) * h, turn, 1e-14) << "step " << k;
    turn = std::atan2(std::sin(turn), 2 - std::cos(turn));
  }
  EXPECT_NEAR(2 * std::atan2(s.state().q(5), s.state().q(3)), angle, 30e-14);
}

TEST(FreeBody, RelabellingItsAxesDoesNotChangeTheMotion) {
  test::Random random(11);
  const Vec3 principal(0.11, 0.23, 0.31), com(0.05, -0.02, 0.1), w(3, -2, 4);
  const Quat r0(test::random_rotation(random));
  for (const IntegratorType integrator : {IntegratorType::pbd, IntegratorType::ne, IntegratorType::rk4}) {
    Eigen::VectorXd v(6);
    v << 0.3, -0.4, 2, w;
    const Mat3 inertia = principal.asDiagonal();
    const Simulation reference =
        run(test::free_body(1.7, inertia, com), integrator, free_position(Vec3(1, 2, 3), r0), v, 1.0, 20);
    for (int trial = 0; trial < 8; ++trial) {
      const Mat3 Q = test::random_rotation(random);  // old axes in terms of the new
      Eigen::VectorXd relabelled = v;
      relabelled.tail<3>() = Q.transpose() * w;
      const Simulation s = run(test::free_body(1.7, Q.transpose() * inertia * Q, Q.transpose() * com), integrator,
                               free_position(Vec3(1, 2, 3), Quat(r0.toRotationMatrix() * Q)), relabelled, 1.0, 20);
      // pbd leaves 1e-8 rad/s^2 a step: 20 steps of 50 ms add up to 20 * 1e-8 * 0.05 * 1 s. rk4 in quaternions is
      // covariant, rounding only.
      EXPECT_LE((rotation_of(s.state()) * Q.transpose() - rotation_of(reference.state())).norm(), 1e-8);
      EXPECT_LE((s.state().q.head<3>() - reference.state().q.head<3>()).norm(), 1e-8);
    }
  }
}

// Newton-Euler in body velocities: a spin about a principal axis is an equilibrium of the scheme, at any step.
TEST(FreeBody, NeKeepsASpinAboutAPrincipalAxisForEver) {
  const Model model = test::free_body(1.0, Vec3(0.2, 0.3, 0.4).asDiagonal());
  Eigen::VectorXd v = Eigen::VectorXd::Zero(6);
  v(5) = 6;
  const Simulation s =
      run(model, IntegratorType::ne, free_position(Vec3::Zero(), Quat::Identity()), v, 10, 200, Vec3::Zero());
  EXPECT_NEAR(s.state().v(5), 6, 200 * 6 * 2.2e-16);  // v h / h rounds once a step
  EXPECT_LE((rotation_of(s.state()) - Eigen::AngleAxisd(60, Vec3::UnitZ()).toRotationMatrix()).norm(), 1e-12);
}

// A tumbling body: linear momentum is kept exactly, angular momentum and energy to first order in the step.
TEST(FreeBody, ConservesWhatItShouldWithinItsOrder) {
  const Model model = test::free_body(1.3, Vec3(0.2, 0.3, 0.4).asDiagonal(), Vec3(0.1, -0.05, 0.02));
  Eigen::VectorXd v(6);
  v << 0.3, -0.2, 0.5, 1, 2, -1.5;
  const Eigen::VectorXd q = free_position(Vec3::Zero(), Quat::Identity());
  Dynamics dynamics(model);
  dynamics.set_position(q);
  const Dynamics::Momentum start = dynamics.momentum(v);
  const double energy = dynamics.kinetic_energy(v);
  struct Drift {
    double linear, angular, energy;
  };
  const auto drift = [&](IntegratorType integrator, int n) {
    const Simulation s = run(model, integrator, q, v, 1, n, Vec3::Zero());
    dynamics.set_position(s.state().q);
    const Dynamics::Momentum end = dynamics.momentum(s.state().v);
    return Drift{(end.linear - start.linear).norm(), (end.angular - start.angular).norm(),
                 std::abs(dynamics.kinetic_energy(s.state().v) - energy)};
  };
  for (const IntegratorType integrator : {IntegratorType::pbd, IntegratorType::ne, IntegratorType::rk4}) {
    const Drift coarse = drift(integrator, 400), fine = drift(integrator, 800);
    const double ratio = integrator == IntegratorType::rk4 ? 16 : 2;
    EXPECT_NEAR(coarse.angular / fine.angular, ratio, 0.1 * ratio) << integrator_name(integrator);
    EXPECT_NEAR(coarse.energy / fine.energy, ratio, 0.15 * ratio) << integrator_name(integrator);
  }
}

// 50 rad/s at 50 ms is 2.5 rad a step, more than the scheme can follow in one go (30 degrees). It must subdivide, and
// what comes out must be what the same scheme gives at the substep it chose.
TEST(FreeBody, FastSpinIsSubdividedAndConverges) {
  const Model model = test::free_body(1.0, 0.3 * Mat3::Identity());
  Eigen::VectorXd v = Eigen::VectorXd::Zero(6);
  v(5) = 50;
  const auto turned = [&](double max_turn, StepReport& report) {
    StepOptions options;
    options.integrator = IntegratorType::pbd;
    options.dt = 0.05;
    options.max_turn = max_turn;
    Simulation s(model, test::weightless(), options);
    s.set_state(free_position(Vec3::Zero(), Quat::Identity()), v);
    report = s.step();
    EXPECT_EQ(s.state().time, 0.05);
    const double angle = 2 * std::atan2(s.state().q(6), s.state().q(3));
    return angle < 0 ? angle + 2 * M_PI : angle;
  };
  StepReport report;
  const double angle = turned(0.5, report);
  EXPECT_TRUE(report.converged());
  EXPECT_EQ(report.rejected, 0);              // known in advance, not found out by failing
  EXPECT_EQ(report.smallest_step, 0.05 / 8);  // 0.3125 rad; dt/4 would be 0.625
  // The same by hand, in eighths: two of dt/8, then dt/4 once the spin allows it. A change of step by r turns the
  // rotor recursion into tan(d') = r sin(d) / (1 + r (1 - cos(d))).
  double turn = std::atan(50 * 0.05 / 8), expected = turn, last = 0.05 / 8;
  int substeps = 1;
  for (int eighths = 1; eighths < 8; ++substeps) {
    const bool pair = eighths % 2 == 0 && turn / last * 0.05 / 4 <= 0.5;
    const double h = pair ? 0.05 / 4 : 0.05 / 8, r = h / last;
    turn = std::atan2(r * std::sin(turn), 1 + r * (1 - std::cos(turn)));
    expected += turn;
    last = h;
    eighths += pair ? 2 : 1;
  }
  EXPECT_EQ(report.substeps, substeps);
  EXPECT_NEAR(angle, expected, 1e-9);
  // Finer substeps: first order towards the exact 2.5 rad.
  const double e1 = std::abs(turned(0.02, report) - 2.5), e2 = std::abs(turned(0.01, report) - 2.5);
  EXPECT_NEAR(e1 / e2, 2, 0.1);
  EXPECT_LE(e2, 0.031);  // dw/dt = -w^3 h loses 2.5 rad * 0.0098 * 2.5 / 2 = 0.0305 rad, and less as it slows
}

// --- a robot: the three integrators are three roads to one motion ----------------------------------------------------

TEST(Robosimian, ImplicitSchemesConvergeToEachOtherAndToRk4) {
  const Model model = load_urdf(source_dir() + "/models/robosimian-spatial.urdf");
  const auto end_of = [&](IntegratorType integrator, int n) {
    StepOptions options;
    options.integrator = integrator;
    options.dt = 0.4 / n;
    Simulation s(model, options);
    Eigen::VectorXd v = Eigen::VectorXd::Zero(model.nv());
    v.head<6>() << 0.5, 0, 2, 0.3, 1, -0.5;
    s.set_state(model.neutral_position(), v);
    for (int a = 6; a < model.nv(); ++a) {  // fold the limbs while it tumbles
      s.control().kp(a) = 200;
      s.control().kd(a) = 20;
      s.control().target(a + 1) = a % 2 ? 0.8 : -0.8;
    }
    for (int k = 0; k < n; ++k) EXPECT_TRUE(s.step().converged());
    return s.state().q;
  };
  const Eigen::VectorXd exact = end_of(IntegratorType::rk4, 1600);
  const auto away = [&](const Eigen::VectorXd& a, const Eigen::VectorXd& b) {
    return position_difference(model, a, b).norm();
  };
  EXPECT_LE(away(end_of(IntegratorType::rk4, 800), exact), 1e-7);  // the reference itself: fourth order
  double error[2][3];
  for (int k = 0; k < 3; ++k) {
    const Eigen::VectorXd pbd = end_of(IntegratorType::pbd, 100 << k), ne = end_of(IntegratorType::ne, 100 << k);
    error[0][k] = away(pbd, exact);
    error[1][k] = away(ne, exact);
    EXPECT_LE(away(pbd, ne), error[0][k] + error[1][k]);
  }
  for (const auto& e : error) {
    EXPECT_NEAR(e[0] / e[1], 2, 0.15);  // first order; the second-order remainder is of the size of one step in 100
    EXPECT_NEAR(e[1] / e[2], 2, 0.1);
  }
}

}  // namespace
}  // namespace scree
