// The quadratic program of contact: the active-set solver from zero and from the last solution, and beside it the
// method one would write first, accelerated projected gradient. A series of problems with one Q and a g that drifts by
// 3 % a step, as an iteration sees them. `violation` and `gap` are the largest of the series, recomputed: the KKT
// violation of SimplexQpReport and an upper bound of f(w) - min f, relative to the size of its terms.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "solvers/simplex_qp.h"
#include "support/simplex_problems.h"

namespace scree {
namespace {

constexpr int length = 64;

struct Series {
  // beta relative to |A'A|.
  Series(int blocks, double beta) {
    std::mt19937_64 random(1);
    std::normal_distribution<double> normal;
    problem = test::random_problem(random, blocks, 6, {.beta = beta, .polygon = true, .zero = 0.1});
    Eigen::VectorXd drifting = problem.g;
    for (int k = 0; k < length; ++k) {
      for (double& x : drifting) x *= 1 + 0.03 * normal(random);
      g.push_back(drifting);
    }
  }
  test::SimplexProblem problem;
  std::vector<Eigen::VectorXd> g;
};

// Accelerated projected gradient with restart when the step turns against the momentum [O'Donoghue, Candes 2015]. The
// step of block b is 1 / (largest sum_k |Q_jk| of its rows): diag(that) - Q is diagonally dominant, so semidefinite.
class ProjectedGradient {
 public:
  ProjectedGradient(const test::SimplexProblem& p) : p_(p), curvature_(p.g.size()) {
    for (int b = 0; b < p.blocks; ++b)
      curvature_.segment(b * p.size, p.size)
          .setConstant(p.Q.middleRows(b * p.size, p.size).cwiseAbs().rowwise().sum().maxCoeff());
  }
  int solve(const Eigen::VectorXd& g, Eigen::VectorXd& w, double tolerance, int max_iterations) {
    point_ = w;
    double momentum = 1;
    const double scale = g.cwiseAbs().maxCoeff();
    for (int k = 1; k <= max_iterations; ++k) {
      gradient_.noalias() = p_.Q * point_;
      gradient_ += g;
      next_ = point_ - gradient_.cwiseQuotient(curvature_);
      for (int b = 0; b < p_.blocks; ++b) project_capped_simplex(next_.data() + b * p_.size, p_.size);
      step_ = curvature_.cwiseProduct(point_ - next_);
      const bool done = step_.cwiseAbs().maxCoeff() <= tolerance * scale;
      const double before = momentum;
      momentum = step_.dot(next_ - w) > 0 ? 1 : (1 + std::sqrt(1 + 4 * momentum * momentum)) / 2;
      point_ = next_;
      if (momentum > 1) point_ += (before - 1) / momentum * (next_ - w);
      w = next_;
      if (done) return k;
    }
    return max_iterations;
  }

 private:
  const test::SimplexProblem& p_;
  Eigen::VectorXd curvature_, point_, next_, gradient_, step_;
};

double gap(const test::SimplexProblem& p, const Eigen::VectorXd& w) {
  const Eigen::VectorXd y = p.Q * w + p.g;
  double sum = y.dot(w);
  for (int b = 0; b < p.blocks; ++b) sum -= std::min(0.0, y.segment(b * p.size, p.size).minCoeff());
  return sum / p.scale(w);
}

// Times solve(k, w), which solves problem k of the series and returns its iterations.
template <class Solve> void run(benchmark::State& state, Series& series, bool warm, Solve solve) {
  const Eigen::VectorXd zero = Eigen::VectorXd::Zero(series.problem.g.size());
  Eigen::VectorXd w = zero;
  for (auto _ : state) {
    for (int k = 0; k < length; ++k) {
      if (!warm) w = zero;
      benchmark::DoNotOptimize(solve(k, w));
    }
  }
  double iterations = 0, violation = 0, largest_gap = 0;
  SimplexQp check;
  for (int k = 0; k < length; ++k) {
    if (!warm) w = zero;
    iterations += solve(k, w);
    test::SimplexProblem& p = series.problem;
    p.g = series.g[static_cast<size_t>(k)];
    Eigen::VectorXd copy = w;
    const SimplexQpReport report =
        check.solve(p.blocks, p.size, p.Q.data(), p.g.data(), copy.data(), {.max_iterations = 0});
    violation = std::max(violation, report.violation);
    largest_gap = std::max(largest_gap, gap(p, w));
  }
  state.counters["time_per_solve"] =
      benchmark::Counter(length, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["iterations"] = iterations / length;
  state.counters["violation"] = violation;
  state.counters["gap"] = largest_gap;
}

void active_set(benchmark::State& state, bool warm) {
  Series series(static_cast<int>(state.range(0)) / 6, std::pow(10, static_cast<double>(state.range(1))));
  const test::SimplexProblem& p = series.problem;
  SimplexQp qp;
  run(state, series, warm, [&](int k, Eigen::VectorXd& w) {
    const Eigen::VectorXd& g = series.g[static_cast<size_t>(k)];
    return qp.solve(p.blocks, p.size, p.Q.data(), g.data(), w.data()).iterations;
  });
}
// To a step of 1e-9 of |g|: full accuracy takes it too long to measure.
void projected_gradient(benchmark::State& state, bool warm) {
  Series series(static_cast<int>(state.range(0)) / 6, std::pow(10, static_cast<double>(state.range(1))));
  ProjectedGradient method(series.problem);
  run(state, series, warm,
      [&](int k, Eigen::VectorXd& w) { return method.solve(series.g[static_cast<size_t>(k)], w, 1e-9, 20000); });
}

void SimplexQpCold(benchmark::State& state) { active_set(state, false); }
void SimplexQpWarm(benchmark::State& state) { active_set(state, true); }
void ProjectedGradientCold(benchmark::State& state) { projected_gradient(state, false); }
void ProjectedGradientWarm(benchmark::State& state) { projected_gradient(state, true); }

// Variables, log10 of beta.
#define SIZES ArgsProduct({{24, 96}, {-9, -2}})->Unit(benchmark::kMicrosecond)
BENCHMARK(SimplexQpCold)->SIZES;
BENCHMARK(SimplexQpWarm)->SIZES;
BENCHMARK(ProjectedGradientCold)->SIZES;
BENCHMARK(ProjectedGradientWarm)->SIZES;

}  // namespace
}  // namespace scree
