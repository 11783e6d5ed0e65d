// Cost of the position-based term: gradient O(n), Hessians O(n x depth). Reported per dof; `error` is the relative
// difference of the gradient (Hessian) from a central difference along a random direction.
#include <benchmark/benchmark.h>

#include "dynamics/position_based.h"
#include "math/eigen.h"
#include "scree/dynamics.h"
#include "scree/urdf.h"
#include "support/mechanisms.h"
#include "support/paths.h"
#include "support/random_tree.h"

namespace scree {
namespace {

struct Term {
  explicit Term(const Model& m)
      : model(m),
        tree(tree_of(model)),
        kin(tree),
        pb(tree),
        gradient(Eigen::VectorXd::Zero(tree.nv)),
        exact(Eigen::MatrixXd::Zero(tree.nv, tree.nv)),
        gauss_newton(exact) {
    test::Random random(1);
    q = test::random_position(random, model, 0.3);
    delta = test::random_velocity(random, model, 0.01);
    direction = test::random_velocity(random, model);
    kin.origin = root_position(tree, q.data());
    forward_kinematics(tree, q.data(), delta.data(), kin);
    pb.target_R = kin.R;
    pb.target_p = kin.p;
    for (auto& p : pb.target_p) p += to_v3(test::random_vector(random, 1e-3));
    pb.weight = 1e4;
    pb.gravity = {0, 0, -9.81};
  }
  double evaluate(const Eigen::VectorXd& at) {
    forward_kinematics(tree, q.data(), at.data(), kin);
    const double value = accumulate(tree, kin, pb);
    scree::gradient(tree, kin, pb, gradient.data());
    return value;
  }
  double gradient_error() {
    const double step = 1e-6;
    const double difference = (evaluate(delta + step * direction) - evaluate(delta - step * direction)) / (2 * step);
    evaluate(delta);
    return std::abs(gradient.dot(direction) - difference) / std::abs(difference);
  }
  double hessian_error() {
    const double step = 1e-6;
    evaluate(delta + step * direction);
    Eigen::VectorXd difference = gradient;
    evaluate(delta - step * direction);
    difference = (difference - gradient) / (2 * step);
    evaluate(delta);
    hessian(tree, kin, pb, exact.data(), gauss_newton.data());
    return (exact.selfadjointView<Eigen::Upper>() * direction - difference).norm() / difference.norm();
  }
  const Model model;
  const Tree& tree;
  Kinematics<double> kin;
  PositionBased<double> pb;
  Eigen::VectorXd q, delta, direction, gradient;
  Eigen::MatrixXd exact, gauss_newton;
};

void report(benchmark::State& state, int dofs, double error) {
  state.counters["time_per_dof"] =
      benchmark::Counter(dofs, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["error"] = error;
}

void gradient_of(benchmark::State& state, const Model& model) {
  Term term(model);
  const double error = term.gradient_error();
  for (auto _ : state) benchmark::DoNotOptimize(term.evaluate(term.delta));
  report(state, model.nv(), error);
}
void hessian_of(benchmark::State& state, const Model& model) {
  Term term(model);
  const double error = term.hessian_error();
  for (auto _ : state) {
    benchmark::DoNotOptimize(term.evaluate(term.delta));
    hessian(term.tree, term.kin, term.pb, term.exact.data(), term.gauss_newton.data());
    benchmark::ClobberMemory();
  }
  report(state, model.nv(), error);
}
// The other algorithm in the same run: inverse dynamics and mass matrix, what a classical engine evaluates.
void newton_euler_of(benchmark::State& state, const Model& model) {
  Dynamics dynamics(model);
  test::Random random(1);
  const Eigen::VectorXd q = test::random_position(random, model, 0.3), v = test::random_velocity(random, model);
  Eigen::VectorXd tau(model.nv());
  for (auto _ : state) {
    dynamics.set_position(q);
    dynamics.inverse_dynamics(v, v, {0, 0, -9.81}, tau);
    benchmark::DoNotOptimize(dynamics.mass_matrix().data());
    benchmark::ClobberMemory();
  }
  report(state, model.nv(), 0);
}

Model robosimian() { return load_urdf(source_dir() + "/models/robosimian.urdf"); }
void GradientChain(benchmark::State& state) { gradient_of(state, test::chain(static_cast<int>(state.range(0)))); }
void HessianChain(benchmark::State& state) { hessian_of(state, test::chain(static_cast<int>(state.range(0)))); }
void GradientRobosimian(benchmark::State& state) { gradient_of(state, robosimian()); }
void HessianRobosimian(benchmark::State& state) { hessian_of(state, robosimian()); }
void MassMatrixAndRneaRobosimian(benchmark::State& state) { newton_euler_of(state, robosimian()); }

BENCHMARK(GradientChain)->Arg(10)->Arg(30)->Arg(100)->Arg(300)->Arg(1000);
BENCHMARK(HessianChain)->Arg(10)->Arg(30)->Arg(100)->Arg(300)->Arg(1000);
BENCHMARK(GradientRobosimian);
BENCHMARK(HessianRobosimian);
BENCHMARK(MassMatrixAndRneaRobosimian);

}  // namespace
}  // namespace scree
