// Newton-Euler dynamics: every derivative by complex step on random trees, and two roads to every quantity.
#include "dynamics/newton_euler.h"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <complex>

#include "dynamics/discretisation.h"
#include "math/eigen.h"
#include "scree/dynamics.h"
#include "scree/kinematics.h"
#include "support/random_tree.h"

namespace scree {
namespace {

using Complex = std::complex<double>;
constexpr int kTrees = 200;
constexpr double kStep = 1e-30;  // complex step: truncation error kStep^2, no subtraction

double largest(const Eigen::MatrixXd& m) { return m.size() ? m.cwiseAbs().maxCoeff() : 0; }

// A random tree in a random motion, with wrenches on its bodies.
struct MovingModel {
  test::RandomTree tree;
  Eigen::VectorXd q, v, vdot, delta;
  Vec3 gravity;
  std::vector<Wrench<double>> external;
  const Model& model() const { return tree.model; }
  int n() const { return tree.model.nv(); }
};
MovingModel random_motion(test::Random& random, double far = 0) {
  test::RandomTree tree = test::random_tree(random, far);
  const Model& model = tree.model;
  MovingModel motion{tree,
                     test::random_position(random, model),
                     test::random_velocity(random, model, 2),
                     test::random_velocity(random, model, 5),
                     test::random_velocity(random, model, 0.4),
                     test::random_vector(random, 10),
                     {}};
  for (size_t i = 0; i < model.bodies().size(); ++i)
    motion.external.push_back({to_v3(test::random_vector(random, 3)), to_v3(test::random_vector(random, 3))});
  return motion;
}
Dynamics dynamics_of(const MovingModel& m) {
  Dynamics dynamics(m.model());
  dynamics.set_position(m.q);
  for (size_t i = 0; i < m.external.size(); ++i)
    dynamics.set_external_wrench(BodyIndex(static_cast<int>(i)), to_eigen(m.external[i].m), to_eigen(m.external[i].f));
  return dynamics;
}

template <class T> std::vector<T> lift(const Eigen::VectorXd& x) { return {x.data(), x.data() + x.size()}; }

// A pass in any scalar.
template <class T> struct Evaluation {
  Evaluation(const MovingModel& m, const std::vector<T>& delta, const std::vector<T>& v, const std::vector<T>& vdot)
      : tree(tree_of(m.model())), kin(tree), pass(tree) {
    kin.origin = root_position(tree, m.q.data());
    forward_kinematics(tree, m.q.data(), delta.data(), kin);
    pass.external = m.external;
    newton_euler_pass<Depth::derivatives>(tree, kin, v.data(), vdot.data(),
                                          V3<T>{T(m.gravity.x()), T(m.gravity.y()), T(m.gravity.z())}, pass);
  }
  // Generalized force along body axes: the tangent space of docs/conventions.md.
  T tangent_force(int a) const {
    const size_t ia = static_cast<size_t>(a);
    return dot(pass.xi_v[ia], pass.force[static_cast<size_t>(tree.dof_node[ia])]);
  }
  const Tree& tree;
  Kinematics<T> kin;
  NewtonEulerPass<T> pass;
};

TEST(InverseDynamics, DerivativesAreThoseByComplexStep) {
  test::Random random(61);
  for (int trial = 0; trial < kTrees; ++trial) {
    const MovingModel m = random_motion(random);
    const int n = m.n();
    Dynamics dynamics = dynamics_of(m);
    const Dynamics::Derivatives& d = dynamics.inverse_dynamics_derivatives(m.v, m.vdot, m.gravity);
    Eigen::MatrixXd by_q(n, n), by_v(n, n), by_vdot(n, n);
    const Eigen::VectorXd zero = Eigen::VectorXd::Zero(n);
    for (int a = 0; a < n; ++a) {
      const auto shifted = [&](const Eigen::VectorXd& x, bool shift) {
        std::vector<Complex> y = lift<Complex>(x);
        if (shift) y[static_cast<size_t>(a)] += Complex(0, kStep);
        return y;
      };
      const Evaluation<Complex> q(m, shifted(zero, true), shifted(m.v, false), shifted(m.vdot, false));
      const Evaluation<Complex> v(m, shifted(zero, false), shifted(m.v, true), shifted(m.vdot, false));
      const Evaluation<Complex> w(m, shifted(zero, false), shifted(m.v, false), shifted(m.vdot, true));
      for (int b = 0; b < n; ++b) {
        by_q(b, a) = q.tangent_force(b).imag() / kStep;
        by_v(b, a) = v.tangent_force(b).imag() / kStep;
        by_vdot(b, a) = w.tangent_force(b).imag() / kStep;
      }
      by_vdot(a, a) += tree_of(m.model()).armature[static_cast<size_t>(a)];
    }
    // Rounding only: sums of some dozen terms of the size of the largest entry.
    EXPECT_LE(largest(d.by_q - by_q), 1e-12 * (1 + largest(by_q))) << "tree " << trial;
    EXPECT_LE(largest(d.by_v - by_v), 1e-12 * (1 + largest(by_v))) << "tree " << trial;
    EXPECT_LE(largest(d.by_vdot - by_vdot), 1e-12 * (1 + largest(by_vdot))) << "tree " << trial;
  }
}

// The same through the public interface by central differences, 10 km from the origin.
TEST(InverseDynamics, DerivativesAgreeWithCentralDifferencesFarFromTheOrigin) {
  test::Random random(62);
  for (int trial = 0; trial < 50; ++trial) {
    const MovingModel m = random_motion(random, 1e4);
    const int n = m.n();
    Dynamics dynamics = dynamics_of(m);
    const Dynamics::Derivatives d = dynamics.inverse_dynamics_derivatives(m.v, m.vdot, m.gravity);
    const double step = 1e-6;  // truncation 1e-12 times third derivatives, rounding eps/step = 2e-10
    Eigen::VectorXd plus(n), minus(n);
    for (int a = 0; a < n; ++a) {
      const Eigen::VectorXd e = Eigen::VectorXd::Unit(n, a);
      dynamics.set_position(integrate_position(m.model(), m.q, e, step));
      dynamics.inverse_dynamics(m.v, m.vdot, m.gravity, plus);
      dynamics.set_position(integrate_position(m.model(), m.q, e, -step));
      dynamics.inverse_dynamics(m.v, m.vdot, m.gravity, minus);
      EXPECT_LE(largest(d.by_q.col(a) - (plus - minus) / (2 * step)), 1e-6 * (1 + largest(d.by_q))) << "tree " << trial;
      dynamics.set_position(m.q);
      dynamics.inverse_dynamics(m.v + step * e, m.vdot, m.gravity, plus);
      dynamics.inverse_dynamics(m.v - step * e, m.vdot, m.gravity, minus);
      EXPECT_LE(largest(d.by_v.col(a) - (plus - minus) / (2 * step)), 1e-6 * (1 + largest(d.by_v))) << "tree " << trial;
    }
  }
}

TEST(InverseDynamics, ColumnsAreTheMassMatrixAndTheRestIsTheBias) {
  test::Random random(63);
  for (int trial = 0; trial < kTrees; ++trial) {
    const MovingModel m = random_motion(random);
    const int n = m.n();
    Dynamics dynamics = dynamics_of(m);
    const Eigen::MatrixXd M = dynamics.mass_matrix();
    Eigen::VectorXd bias(n), tau(n), none = Eigen::VectorXd::Zero(n);
    dynamics.bias_force(m.v, m.gravity, bias);
    dynamics.inverse_dynamics(m.v, m.vdot, m.gravity, tau);
    EXPECT_LE(largest(tau - M * m.vdot - bias), 1e-12 * (1 + largest(tau) + largest(M))) << "tree " << trial;
    for (int a = 0; a < n; ++a) {
      dynamics.inverse_dynamics(m.v, Eigen::VectorXd::Unit(n, a), m.gravity, tau);
      EXPECT_LE(largest(tau - bias - M.col(a)), 1e-12 * (1 + largest(M) + largest(bias))) << "tree " << trial;
    }
  }
}

TEST(ForwardDynamics, InvertsInverseDynamics) {
  test::Random random(64);
  for (int trial = 0; trial < kTrees; ++trial) {
    const MovingModel m = random_motion(random);
    Dynamics dynamics = dynamics_of(m);
    Eigen::VectorXd tau(m.n()), vdot(m.n());
    dynamics.inverse_dynamics(m.v, m.vdot, m.gravity, tau);
    ASSERT_TRUE(dynamics.forward_dynamics(m.v, tau, m.gravity, vdot));
    EXPECT_LE(largest(vdot - m.vdot), 1e-10 * (1 + largest(m.vdot))) << "tree " << trial;
  }
}

// An external wrench does work through the Jacobian of where it acts.
TEST(ExternalWrench, EntersAsTheTransposedJacobian) {
  test::Random random(65);
  for (int trial = 0; trial < kTrees; ++trial) {
    const MovingModel m = random_motion(random);
    Dynamics with = dynamics_of(m), without(m.model());
    without.set_position(m.q);
    Eigen::VectorXd tau_with(m.n()), tau_without(m.n());
    with.inverse_dynamics(m.v, m.vdot, m.gravity, tau_with);
    without.inverse_dynamics(m.v, m.vdot, m.gravity, tau_without);
    Eigen::VectorXd work = Eigen::VectorXd::Zero(m.n());
    Eigen::Matrix<double, 6, Eigen::Dynamic> J(6, m.n());
    for (size_t i = 0; i < m.external.size(); ++i) {
      const BodyIndex body(static_cast<int>(i));
      without.frame_jacobian({"", body, Pose{}}, J);
      const Mat3 R = without.body_pose(body).R;
      work += J.topRows<3>().transpose() * R * to_eigen(m.external[i].m);
      work += J.bottomRows<3>().transpose() * R * to_eigen(m.external[i].f);
    }
    EXPECT_LE(largest(tau_without - tau_with - work), 1e-12 * (1 + largest(work) + largest(tau_with)))
        << "tree " << trial;
    with.clear_external_wrenches();
    with.inverse_dynamics(m.v, m.vdot, m.gravity, tau_with);
    EXPECT_EQ(largest(tau_with - tau_without), 0);
  }
}

TEST(Jacobian, IsTheDerivativeOfThePlace) {
  test::Random random(66);
  for (int trial = 0; trial < 100; ++trial) {
    const MovingModel m = random_motion(random);
    Dynamics dynamics = dynamics_of(m);
    const BodyIndex body(static_cast<int>(m.model().bodies().size()) - 1);
    const Frame frame{"", body, {test::random_rotation(random), test::random_vector(random)}};
    Eigen::Matrix3Xd J(3, m.n());
    Eigen::Matrix<double, 6, Eigen::Dynamic> JF(6, m.n());
    dynamics.point_jacobian(body, frame.X_BF.p, J);
    dynamics.frame_jacobian(frame, JF);
    EXPECT_EQ(largest(J - JF.bottomRows<3>()), 0);
    const double h = 1e-6;
    const Pose plus = frame_pose(m.model(), integrate_position(m.model(), m.q, m.v, h), frame),
               minus = frame_pose(m.model(), integrate_position(m.model(), m.q, m.v, -h), frame);
    EXPECT_LE((J * m.v - (plus.p - minus.p) / (2 * h)).norm(), 1e-8 * (1 + (J * m.v).norm()));
    const Eigen::AngleAxisd turn(plus.R * minus.R.transpose());
    EXPECT_LE((JF.topRows<3>() * m.v - turn.angle() * turn.axis() / (2 * h)).norm(), 1e-8 * (1 + m.v.norm()));
  }
}

// d(kinetic + potential)/dt = power of tau; momentum changes by the outer forces alone.
TEST(Energy, ItsRateIsThePower) {
  test::Random random(67);
  for (int trial = 0; trial < kTrees; ++trial) {
    MovingModel m = random_motion(random);
    for (Wrench<double>& w : m.external) w = {{0, 0, 0}, {0, 0, 0}};
    Dynamics dynamics = dynamics_of(m);
    Eigen::VectorXd tau(m.n());
    dynamics.inverse_dynamics(m.v, m.vdot, m.gravity, tau);
    const auto energy = [&](double t) {
      dynamics.set_position(integrate_position(m.model(), m.q, m.v + 0.5 * t * m.vdot, t));
      return dynamics.kinetic_energy(m.v + t * m.vdot) + dynamics.gravity_energy(m.gravity);
    };
    const double h = 1e-5, rate = (energy(h) - energy(-h)) / (2 * h);
    // truncation h^2 times third derivatives (~1e3), rounding eps E / h
    EXPECT_NEAR(rate, tau.dot(m.v), 1e-6 * (1 + std::abs(rate) + std::abs(energy(0)))) << "tree " << trial;
    EXPECT_NEAR(dynamics.kinetic_energy(m.v), 0.5 * m.v.dot(dynamics.mass_matrix() * m.v),
                1e-12 * (1 + dynamics.kinetic_energy(m.v)));
  }
}

TEST(Momentum, IsThatOfThePointMasses) {
  test::Random random(68);
  for (int trial = 0; trial < 100; ++trial) {
    const MovingModel m = random_motion(random, trial % 2 ? 100 : 0);
    Dynamics dynamics = dynamics_of(m);
    Vec3 linear = Vec3::Zero(), angular = Vec3::Zero(), moment = Vec3::Zero();
    double size = 1, mass = 0;
    Eigen::Matrix3Xd J(3, m.n());
    for (size_t i = 0; i < m.tree.points.size(); ++i) {
      for (size_t k = 0; k < m.tree.points[i].mass.size(); ++k) {
        const BodyIndex body(static_cast<int>(i));
        dynamics.point_jacobian(body, m.tree.points[i].place[k], J);
        const Vec3 p = dynamics.body_pose(body) * m.tree.points[i].place[k], P = m.tree.points[i].mass[k] * (J * m.v);
        linear += P;
        angular += p.cross(P);
        moment += m.tree.points[i].mass[k] * p;
        mass += m.tree.points[i].mass[k];
        size += p.norm() * P.norm();
      }
    }
    const Dynamics::Momentum momentum = dynamics.momentum(m.v);
    EXPECT_LE((momentum.linear - linear).norm(), 1e-12 * size);
    EXPECT_LE((momentum.angular - angular).norm(), 1e-12 * size);
    if (mass == 0) continue;
    EXPECT_LE((dynamics.center_of_mass() - moment / mass).norm(), 1e-12 * (1 + (moment / mass).norm()));
  }
}

// --- stages: both discretisations through their common interface
// ------------------------------------------------------

struct StageCase {
  MovingModel motion;
  State state;
  double h;
};
StageCase random_stage(test::Random& random) {
  StageCase c{random_motion(random), {}, test::uniform(random, 0.01, 0.3)};
  c.state = make_state(c.motion.model(), c.motion.q, c.motion.v);
  return c;
}

template <class Stage> class StageTest : public testing::Test {};
using Stages = testing::Types<PositionBasedStage, NewtonEulerStage>;
TYPED_TEST_SUITE(StageTest, Stages);

TYPED_TEST(StageTest, JacobianGradientAndHessianAgreeWithCentralDifferences) {
  test::Random random(71);
  for (int trial = 0; trial < kTrees; ++trial) {
    const StageCase c = random_stage(random);
    const int n = c.motion.n();
    TypeParam stage(c.motion.model());
    stage.begin(c.state, c.h, c.motion.gravity);
    Eigen::MatrixXd J = Eigen::MatrixXd::Zero(n, n), exact = J, gauss_newton = J;
    Eigen::VectorXd g(n), r(n), r_plus(n), r_minus(n), g_plus(n), g_minus(n);
    const Eigen::VectorXd& delta = c.motion.delta;
    stage.set_trial(delta.data());
    stage.jacobian(J.data());
    stage.kinetic_gradient(g.data());
    stage.kinetic_hessian(exact.data(), gauss_newton.data());
    const Eigen::MatrixXd H = exact.template selfadjointView<Eigen::Upper>();
    const Eigen::MatrixXd GN = gauss_newton.template selfadjointView<Eigen::Upper>();
    const double step = 1e-6;
    for (int a = 0; a < n; ++a) {
      const Eigen::VectorXd plus = delta + step * Eigen::VectorXd::Unit(n, a),
                            minus = delta - step * Eigen::VectorXd::Unit(n, a);
      stage.set_trial(plus.data());
      stage.residual(r_plus.data());
      stage.kinetic_gradient(g_plus.data());
      const double K_plus = stage.kinetic_energy();
      stage.set_trial(minus.data());
      stage.residual(r_minus.data());
      stage.kinetic_gradient(g_minus.data());
      const double K_minus = stage.kinetic_energy();
      EXPECT_LE(largest(J.col(a) - (r_plus - r_minus) / (2 * step)), 1e-6 * (1 + largest(J))) << "tree " << trial;
      EXPECT_LE(largest(H.col(a) - (g_plus - g_minus) / (2 * step)), 1e-6 * (1 + largest(H))) << "tree " << trial;
      EXPECT_NEAR(g(a), (K_plus - K_minus) / (2 * step), 1e-6 * (1 + largest(g) + std::abs(K_plus)))
          << "tree " << trial;
    }
    if (n > 0) {
      const Eigen::VectorXd e = GN.selfadjointView<Eigen::Upper>().eigenvalues();
      EXPECT_GE(e.minCoeff(), -1e-12 * e.maxCoeff()) << "tree " << trial;  // positive semidefinite
    }
  }
}

// The stage Jacobian and the Hessians by complex step: exact to rounding, charts included.
TEST(NewtonEulerStage, JacobianAndKineticHessianAreThoseByComplexStep) {
  test::Random random(72);
  for (int trial = 0; trial < kTrees; ++trial) {
    const StageCase c = random_stage(random);
    MovingModel m = c.motion;
    for (Wrench<double>& w : m.external) w = {{0, 0, 0}, {0, 0, 0}};
    const int n = m.n();
    NewtonEulerStage stage(m.model());
    stage.begin(c.state, c.h, m.gravity);
    stage.set_trial(m.delta.data());
    Eigen::MatrixXd J = Eigen::MatrixXd::Zero(n, n), exact = J, gauss_newton = J, J_step(n, n), H_step(n, n);
    stage.jacobian(J.data());
    stage.kinetic_hessian(exact.data(), gauss_newton.data());
    for (int a = 0; a < n; ++a) {
      std::vector<Complex> delta = lift<Complex>(m.delta), v(delta.size()), vdot(delta.size());
      delta[static_cast<size_t>(a)] += Complex(0, kStep);
      for (size_t k = 0; k < delta.size(); ++k) {
        v[k] = delta[k] / c.h;
        vdot[k] = (v[k] - m.v(static_cast<Eigen::Index>(k))) / c.h;
      }
      const Evaluation<Complex> e(m, delta, v, vdot);
      std::vector<Complex> tau(delta.size()), g(delta.size());
      project_forces(e.tree, e.kin, e.pass, tau.data());
      StageTwists<Complex> twists(e.tree);
      stage_twists(e.tree, e.kin, e.pass, delta.data(), c.h, twists);
      kinetic_gradient(e.tree, e.pass, twists, g.data());
      for (int b = 0; b < n; ++b) {
        J_step(b, a) = tau[static_cast<size_t>(b)].imag() / kStep;
        H_step(b, a) = g[static_cast<size_t>(b)].imag() / kStep;
      }
    }
    const Eigen::MatrixXd H = exact.selfadjointView<Eigen::Upper>();
    EXPECT_LE(largest(J - J_step), 1e-12 * (1 + largest(J))) << "tree " << trial;
    EXPECT_LE(largest(H - H_step), 1e-12 * (1 + largest(H))) << "tree " << trial;
  }
}

// Elimination in O(n) against the matrix that composite bodies sum up to, away from delta = 0.
TEST(Stages, DivideByTheMassMatrixOfTheTrialPose) {
  test::Random random(74);
  for (int trial = 0; trial < kTrees; ++trial) {
    const StageCase c = random_stage(random);
    const Tree& tree = tree_of(c.motion.model());
    const int n = c.motion.n();
    PositionBasedStage stage(c.motion.model());
    stage.begin(c.state, c.h, c.motion.gravity);
    stage.set_trial(c.motion.delta.data());
    std::vector<SecondMoment<double>> moments(tree.nodes.size());
    world_second_moments(tree, stage.trial(), moments);
    sum_over_subtrees(tree, moments);
    Eigen::MatrixXd upper = Eigen::MatrixXd::Zero(n, n);
    composite_mass_matrix(tree, stage.trial(), moments, upper.data());
    upper.diagonal() += Eigen::Map<const Eigen::VectorXd>(tree.armature.data(), n);
    Eigen::VectorXd x = upper.selfadjointView<Eigen::Upper>() * c.motion.vdot;
    ASSERT_TRUE(stage.divide_by_mass(x.data())) << "tree " << trial;
    EXPECT_LE(largest(x - c.motion.vdot), 1e-10 * (1 + largest(c.motion.vdot))) << "tree " << trial;
  }
}

// Along a smooth trajectory both stages say the same as h -> 0.
TEST(Stages, AgreeInTheLimitOfSmallSteps) {
  test::Random random(73);
  for (int trial = 0; trial < 50; ++trial) {
    const StageCase c = random_stage(random);
    const Model& model = c.motion.model();
    const int n = c.motion.n();
    PositionBasedStage pbd(model);
    NewtonEulerStage ne(model);
    const auto difference = [&](double h) {
      // q (+) (v t + vdot t^2 / 2) at t = -h, 0, h: the step before leaves a mean velocity and differences of poses.
      const Eigen::VectorXd before = -h * c.motion.v + 0.5 * h * h * c.motion.vdot,
                            delta = h * c.motion.v + 0.5 * h * h * c.motion.vdot;
      State state = c.state;
      state.v = -before / h;
      const std::vector<Pose> last = body_poses(model, integrate_position(model, state.q, before, 1)),
                              here = body_poses(model, state.q);
      for (size_t i = 0; i < here.size(); ++i) {
        state.body_rates.emplace_back();
        state.body_rates.back() << (here[i].R - last[i].R) / h, (here[i].p - last[i].p) / h;
      }
      Eigen::VectorXd r1(n), r2(n);
      pbd.begin(state, h, c.motion.gravity);
      ne.begin(state, h, c.motion.gravity);
      pbd.set_trial(delta.data());
      ne.set_trial(delta.data());
      pbd.residual(r1.data());
      ne.residual(r2.data());
      return largest(r1 - r2) / (1 + largest(r2));
    };
    const double coarse = difference(1e-3), fine = difference(1e-4);
    EXPECT_LE(coarse, 0.2) << "tree " << trial;
    EXPECT_LE(fine, 0.12 * coarse + 1e-6) << "tree " << trial;  // first order, down to the rounding eps/h^2 = 2e-8
  }
}

}  // namespace
}  // namespace scree
