// The position-based inertia term against independent roads: point masses, complex-step derivatives, RNEA.
#include "dynamics/position_based.h"

#include <gtest/gtest.h>

#include <complex>

#include "math/eigen.h"
#include "scree/dynamics.h"
#include "scree/kinematics.h"
#include "support/random_tree.h"

namespace scree {
namespace {

using Complex = std::complex<double>;
constexpr int kTrees = 200;

// A term at a random pose with random, non-rigid targets, ready in any scalar.
struct Problem {
  const Tree& tree;
  Eigen::VectorXd q, delta;
  V3<double> origin, gravity;
  double weight;
  std::vector<Mat34> target;  // about the origin

  template <class T> struct Evaluation {
    explicit Evaluation(const Tree& tree) : kin(tree), pb(tree), gradient(static_cast<size_t>(tree.nv)) {}
    Kinematics<T> kin;
    PositionBased<T> pb;
    T value{};
    std::vector<T> gradient;
  };
  template <class T> Evaluation<T> evaluate(const std::vector<T>& at) const {
    Evaluation<T> e(tree);
    e.kin.origin = origin;
    forward_kinematics(tree, q.data(), at.data(), e.kin);
    for (size_t i = 0; i < tree.nodes.size(); ++i) {
      const auto lift = [&](int column) {
        const Vec3 c = target[i].col(column);
        return V3<T>{T(c.x()), T(c.y()), T(c.z())};
      };
      e.pb.target_R[i] = {lift(0), lift(1), lift(2)};
      e.pb.target_p[i] = lift(3);
    }
    e.pb.weight = T(weight);
    e.pb.gravity = {T(gravity.x), T(gravity.y), T(gravity.z)};
    e.value = accumulate(tree, e.kin, e.pb);
    gradient(tree, e.kin, e.pb, e.gradient.data());
    return e;
  }
  std::vector<double> at() const { return {delta.data(), delta.data() + delta.size()}; }
  std::vector<Complex> at_step(int a, double step) const {
    std::vector<Complex> x(delta.data(), delta.data() + delta.size());
    x[static_cast<size_t>(a)] += Complex(0, step);
    return x;
  }
};

Problem random_problem(test::Random& random, const Model& model) {
  Problem problem{tree_of(model),
                  test::random_position(random, model),
                  test::random_velocity(random, model, 0.5),
                  {},
                  to_v3(test::random_vector(random, 10)),
                  test::uniform(random, 1, 400),
                  {}};
  problem.origin = root_position(tree_of(model), problem.q.data());
  Kinematics<double> here(tree_of(model));
  here.origin = problem.origin;
  forward_kinematics(tree_of(model), problem.q.data(), problem.delta.data(), here);
  for (size_t i = 0; i < model.bodies().size(); ++i) {
    Mat34 T;
    T << to_eigen(here.R[i]), to_eigen(here.p[i]);
    for (int k = 0; k < 12; ++k) T.data()[k] += test::uniform(random, -0.3, 0.3);
    problem.target.push_back(T);
  }
  return problem;
}
double largest(const Eigen::MatrixXd& m) { return m.size() ? m.cwiseAbs().maxCoeff() : 0; }

TEST(PositionBased, ValueIsTheSumOverPointMasses) {
  test::Random random(1);
  for (int trial = 0; trial < kTrees; ++trial) {
    const test::RandomTree tree = test::random_tree(random);
    const Problem problem = random_problem(random, tree.model);
    const auto e = problem.evaluate(problem.at());
    double expected = 0, scale = 0;
    for (size_t i = 0; i < tree.points.size(); ++i) {
      for (size_t k = 0; k < tree.points[i].mass.size(); ++k) {
        const double m = tree.points[i].mass[k];
        const Vec3& x = tree.points[i].place[k];
        const Vec3 X = to_eigen(e.kin.R[i]) * x + to_eigen(e.kin.p[i]);
        const Vec3 target = problem.target[i].leftCols<3>() * x + problem.target[i].col(3);
        const double inertia = 0.5 * problem.weight * m * (X - target).squaredNorm();
        const double gravity = -m * to_eigen(problem.gravity).dot(X);
        expected += inertia + gravity;
        scale += inertia + std::abs(gravity);
      }
    }
    EXPECT_NEAR(e.value, expected, 1e-12 * scale) << "tree " << trial;  // ~100 points, each rounded at eps
  }
}

TEST(PositionBased, GradientIsTheComplexStepDerivativeOfTheValue) {
  test::Random random(2);
  for (int trial = 0; trial < kTrees; ++trial) {
    const test::RandomTree tree = test::random_tree(random);
    const Problem problem = random_problem(random, tree.model);
    const auto e = problem.evaluate(problem.at());
    const double step = 1e-30;  // no subtraction takes place: the truncation error is step^2
    for (int a = 0; a < tree.model.nv(); ++a) {
      const double expected = problem.evaluate(problem.at_step(a, step)).value.imag() / step;
      // Rounding only, relative to the value's slope over one radian or metre.
      EXPECT_NEAR(e.gradient[static_cast<size_t>(a)], expected, 1e-11 * (1 + std::abs(e.value))) << "tree " << trial;
    }
  }
}

TEST(PositionBased, HessianIsTheComplexStepDerivativeOfTheGradient) {
  test::Random random(3);
  for (int trial = 0; trial < kTrees; ++trial) {
    const test::RandomTree tree = test::random_tree(random);
    const Problem problem = random_problem(random, tree.model);
    const int n = tree.model.nv();
    auto e = problem.evaluate(problem.at());
    Eigen::MatrixXd exact = Eigen::MatrixXd::Zero(n, n), gauss_newton = exact, expected(n, n);
    hessian(tree_of(tree.model), e.kin, e.pb, exact.data(), gauss_newton.data());
    const double step = 1e-30;
    for (int b = 0; b < n; ++b) {
      const auto shifted = problem.evaluate(problem.at_step(b, step));
      for (int a = 0; a < n; ++a) expected(a, b) = shifted.gradient[static_cast<size_t>(a)].imag() / step;
    }
    const Eigen::MatrixXd full = exact.selfadjointView<Eigen::Upper>();
    EXPECT_LE(largest(full - expected), 1e-12 * (1 + largest(expected))) << "tree " << trial;
  }
}

TEST(PositionBased, DerivativesAgreeWithCentralDifferencesFarFromTheOrigin) {
  test::Random random(4);
  for (int trial = 0; trial < kTrees; ++trial) {
    const test::RandomTree tree = test::random_tree(random, 1e4);
    const Problem problem = random_problem(random, tree.model);
    const int n = tree.model.nv();
    auto e = problem.evaluate(problem.at());
    Eigen::MatrixXd exact = Eigen::MatrixXd::Zero(n, n), gauss_newton = exact, hessian_fd(n, n);
    hessian(tree_of(tree.model), e.kin, e.pb, exact.data(), gauss_newton.data());
    Eigen::VectorXd gradient_fd(n);
    const double step = 1e-6;  // truncation step^2 ~ 1e-12, rounding eps/step ~ 2e-10: both far below 1e-6
    for (int b = 0; b < n; ++b) {
      std::vector<double> x = problem.at();
      x[static_cast<size_t>(b)] += step;
      const auto plus = problem.evaluate(x);
      x[static_cast<size_t>(b)] -= 2 * step;
      const auto minus = problem.evaluate(x);
      gradient_fd(b) = (plus.value - minus.value) / (2 * step);
      for (int a = 0; a < n; ++a)
        hessian_fd(a, b) =
            (plus.gradient[static_cast<size_t>(a)] - minus.gradient[static_cast<size_t>(a)]) / (2 * step);
    }
    const Eigen::VectorXd g = Eigen::Map<const Eigen::VectorXd>(e.gradient.data(), n);
    const Eigen::MatrixXd full = exact.selfadjointView<Eigen::Upper>();
    EXPECT_LE(largest(g - gradient_fd), 1e-6 * (1 + largest(g))) << "tree " << trial;
    EXPECT_LE(largest(full - hessian_fd), 1e-6 * (1 + largest(full))) << "tree " << trial;
  }
}

TEST(PositionBased, GaussNewtonPartIsTheMassMatrixFromJacobiansAndIndependentOfTheTarget) {
  test::Random random(5);
  for (int trial = 0; trial < kTrees; ++trial) {
    const test::RandomTree tree = test::random_tree(random);
    const Model& model = tree.model;
    const Problem problem = random_problem(random, model);
    const int n = model.nv();
    auto e = problem.evaluate(problem.at());
    Eigen::MatrixXd exact = Eigen::MatrixXd::Zero(n, n), gauss_newton = exact;
    hessian(tree_of(model), e.kin, e.pb, exact.data(), gauss_newton.data());
    // sum over points of m J^T J, with J = dX/d delta by complex step: no twist and no second moment in sight.
    Eigen::MatrixXd M = Eigen::MatrixXd::Zero(n, n);
    std::vector<Problem::Evaluation<Complex>> shifted;
    const double step = 1e-30;
    for (int a = 0; a < n; ++a) shifted.push_back(problem.evaluate(problem.at_step(a, step)));
    for (size_t i = 0; i < tree.points.size(); ++i) {
      for (size_t k = 0; k < tree.points[i].mass.size(); ++k) {
        const V3<double> x = to_v3(tree.points[i].place[k]);
        Eigen::MatrixXd J(3, n);
        for (int a = 0; a < n; ++a) {
          const auto& kin = shifted[static_cast<size_t>(a)].kin;
          const V3<Complex> X = kin.R[i] * V3<Complex>{x.x, x.y, x.z} + kin.p[i];
          J.col(a) << X.x.imag() / step, X.y.imag() / step, X.z.imag() / step;
        }
        M += tree.points[i].mass[k] * J.transpose() * J;
      }
    }
    const Eigen::MatrixXd full = gauss_newton.selfadjointView<Eigen::Upper>();
    EXPECT_LE(largest(full / problem.weight - M), 1e-12 * (1 + largest(M))) << "tree " << trial;
    // The engine's own mass matrix, at the pose itself, adds only the armature.
    Dynamics dynamics(model);
    const Eigen::VectorXd there = integrate_position(model, problem.q, problem.delta, 1);
    Problem at_pose = problem;
    at_pose.q = there;
    at_pose.delta.setZero();
    auto p = at_pose.evaluate(at_pose.at());
    hessian(tree_of(model), p.kin, p.pb, exact.data(), gauss_newton.data());
    dynamics.set_position(there);
    Eigen::MatrixXd engine = dynamics.mass_matrix().triangularView<Eigen::Upper>();
    for (int a = 0; a < n; ++a) engine(a, a) -= tree_of(model).armature[static_cast<size_t>(a)];
    EXPECT_LE(largest(engine - gauss_newton / problem.weight), 1e-12 * (1 + largest(M))) << "tree " << trial;
  }
}

TEST(PositionBased, RestingOnItsTargetHasNoGradientAndOnlyTheGaussNewtonHessian) {
  test::Random random(6);
  for (int trial = 0; trial < 50; ++trial) {
    const test::RandomTree tree = test::random_tree(random);
    Problem problem = random_problem(random, tree.model);
    problem.gravity = {0, 0, 0};
    const auto here = problem.evaluate(problem.at());
    for (size_t i = 0; i < problem.target.size(); ++i)
      problem.target[i] << to_eigen(here.kin.R[i]), to_eigen(here.kin.p[i]);
    auto e = problem.evaluate(problem.at());
    const int n = tree.model.nv();
    Eigen::MatrixXd exact = Eigen::MatrixXd::Zero(n, n), gauss_newton = exact;
    hessian(tree_of(tree.model), e.kin, e.pb, exact.data(), gauss_newton.data());
    EXPECT_EQ(e.value, 0);
    for (double g : e.gradient) EXPECT_EQ(g, 0);
    EXPECT_EQ(largest(exact - gauss_newton), 0);
  }
}

// On a smooth trajectory grad I tends to M vdot + C with an error of first order.
TEST(PositionBased, GradientConvergesToInverseDynamics) {
  test::Random random(7);
  int judged = 0;
  for (int trial = 0; trial < 50; ++trial) {
    const test::RandomTree tree = test::random_tree(random);
    const Model& model = tree.model;
    Problem problem = random_problem(random, model);
    const Eigen::VectorXd v = test::random_velocity(random, model, 2), a = test::random_velocity(random, model, 5);
    const int n = model.nv();
    Dynamics dynamics(model);
    dynamics.set_position(problem.q);
    Eigen::VectorXd tau(n);
    dynamics.inverse_dynamics(v, a, to_eigen(problem.gravity), tau);
    for (int k = 0; k < n; ++k) tau(k) -= tree_of(model).armature[static_cast<size_t>(k)] * a(k);
    const auto error = [&](double h) {
      problem.delta.setZero();
      problem.weight = 1 / (h * h);
      // The curve q (+) (v t + a t^2 / 2) passes q with velocity v and acceleration a.
      const auto at = [&](double t) {
        const Eigen::VectorXd x = v * t + 0.5 * a * t * t;
        return problem.evaluate(std::vector<double>(x.data(), x.data() + n));
      };
      const auto last = at(-h), before = at(-2 * h);
      for (size_t i = 0; i < problem.target.size(); ++i)
        problem.target[i] << to_eigen(2.0 * last.kin.R[i] - before.kin.R[i]),
            to_eigen(2.0 * last.kin.p[i] - before.kin.p[i]);
      const auto e = problem.evaluate(problem.at());
      return largest(Eigen::Map<const Eigen::VectorXd>(e.gradient.data(), n) - tau);
    };
    const double coarse = error(1e-4), fine = error(5e-5);
    EXPECT_LE(coarse, 1e-2 * (1 + largest(tau))) << "tree " << trial;  // h times third derivatives of size 30
    if (coarse > 1e-5) {  // above the rounding of second differences, eps / h^2 = 1e-7
      EXPECT_NEAR(coarse / fine, 2, 0.1) << "tree " << trial;
      ++judged;
    }
  }
  EXPECT_GE(judged, 25);  // a tree with prismatic joints only has no error to judge
}

}  // namespace
}  // namespace scree
