#include "impact_rows.h"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>

namespace scree {
namespace {

ImpactSamples sample(const StudyContext& context, const ImpactProblem& problem, OutcomeOptions options) {
  options.threads = 2;
  options.paths = 0;
  ImpactSamples samples;
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t clock = std::clock();
  samples.set = sample_outcomes(problem, options, [&](long done, long wanted) {
    return context.progress(static_cast<double>(done), static_cast<double>(wanted));
  });
  samples.wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  samples.processor = static_cast<double>(std::clock() - clock) / CLOCKS_PER_SEC;
  if (samples.set.interrupted) throw StudyInterrupted();
  return samples;
}

}  // namespace

ImpactScene impact_scene(const StudyContext& context, const std::string& name) {
  return load_impact_scene(context.data / "examples" / "impact" / (name + ".toml"));
}

ImpactSamples uniform_samples(const StudyContext& context, const ImpactProblem& problem, double step, int max_steps,
                              long samples, bool vary, std::uint64_t seed) {
  OutcomeOptions options;
  options.sampler = OutcomeSampler::uniform;
  options.step = step;
  options.max_steps = max_steps;
  options.samples = samples;
  options.vary_solutions = vary;
  options.seed = seed;
  return sample(context, problem, options);
}

Reach uniform_reach(const StudyContext& context, const ImpactProblem& problem, double step, long samples,
                    const Eigen::MatrixXd& directions, double known) {
  std::vector<double> reached;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const ImpactSamples s = uniform_samples(context, problem, step, 2000, samples, false, seed);
    reached.push_back((directions * s.set.v).maxCoeff() / known);
  }
  // Of five values, so by n - 1.
  return {mean(reached), deviation(reached) * std::sqrt(5.0 / 4)};
}

// Student's t with 4 degrees of freedom, 99 %: where one more run would lie, were extremes normally distributed.
// That lets much scatter pass: the goal set before any run stands beside it.
void add_reach_spread(std::string quantity, double reference, const Reach& reach, std::vector<StudyRow>& rows) {
  const double spread = 4.604 * std::sqrt(1 + 1.0 / 5) * reach.deviation, off = std::abs(reach.mean - reference);
  const std::string value = fmt::format("{:.4f} +- {:.4f}", reach.mean, reach.deviation);
  const std::string paper = fmt::format("{:.4g}", reference);
  rows.push_back(goal_row(quantity, "", paper, value,
                          fmt::format("one more run than our five, 99 %: within {:.2g}", spread), off <= spread));
  rows.push_back(goal_row(std::move(quantity), "", paper, value, "within 0.03", off <= 0.03));
}

ImpactSamples persistent_samples(const StudyContext& context, const ImpactProblem& problem, long samples) {
  OutcomeOptions options;
  options.samples = samples;
  return sample(context, problem, options);
}

StudyRow near_row(std::string quantity, std::string unit, std::string paper, double reference, double value,
                  double tolerance) {
  return goal_row(std::move(quantity), std::move(unit), std::move(paper), value,
                  fmt::format("within {:.1g}", tolerance), std::abs(value - reference) <= tolerance);
}

StudyRow digits_row(std::string quantity, std::string unit, double reference, int digits, double value) {
  const double tolerance = 0.6 * std::pow(10, -digits);
  StudyRow row = near_row(std::move(quantity), std::move(unit), fmt::format("{:.{}f}", reference, digits), reference,
                          value, tolerance);
  row.goal = "its digits";
  return row;
}

StudyRow reach_row(std::string quantity, std::string unit, double reference, double value) {
  return goal_row(std::move(quantity), std::move(unit), fmt::format("{:.6g}", reference), value, ">= 97 % of it",
                  reference > 0 ? value >= 0.97 * reference : value <= 0.97 * reference);
}

StudyRow extreme_row(std::string quantity, std::string unit, double known, double value) {
  return goal_row(std::move(quantity), std::move(unit), fmt::format("{:.7g}", known), value, "within 0.1 % or beyond",
                  known > 0 ? value >= 0.999 * known : value <= 0.999 * known);
}

StudyRow share_row(std::string quantity, double reference, long reference_samples, double share, long samples) {
  const double p = reference / 100;
  const double sigma =
      100 *
      std::sqrt(p * (1 - p) * (1.0 / static_cast<double>(samples) + 1.0 / static_cast<double>(reference_samples)));
  return goal_row(std::move(quantity), "%", fmt::format("{:.4g}", reference), share,
                  fmt::format("within 4 sigma, {:.2g}, and a digit", 4 * sigma),
                  std::abs(share - reference) <= 4 * sigma + 0.05);
}

StudyRow yes_row(std::string quantity, std::string paper, bool yes) {
  return goal_row(std::move(quantity), "", std::move(paper), yes ? "yes" : "no", "yes", yes);
}

double share(const OutcomeSet& set, long count) {
  return 100.0 * static_cast<double>(count) / static_cast<double>(set.finished);
}

long count_modes(const OutcomeSet& set, const std::vector<int>& modes) {
  long count = 0;
  for (const OutcomeMode& mode : set.modes) {
    bool match = true;
    for (size_t i = 0; i < modes.size(); ++i)
      match = match && (modes[i] < 0 || static_cast<int>(mode.contacts[i]) == modes[i]);
    if (match) count += mode.count;
  }
  return count;
}

double distance_to(const ImpactProblem& problem, const OutcomeSet& set, const Eigen::VectorXd& v) {
  double least = std::numeric_limits<double>::infinity();
  for (Eigen::Index i = 0; i < set.v.cols(); ++i) {
    const Eigen::VectorXd off = set.v.col(i) - v;
    least = std::min(least, off.dot(problem.M * off));
  }
  return std::sqrt(least / problem.v.dot(problem.M * problem.v));
}

double extreme(const OutcomeSet& set, const Eigen::VectorXd& c) { return set.range(c).upper; }

double bound_of(const OutcomeSet& set, const Eigen::VectorXd& c) {
  for (const OutcomeExtreme& e : set.extremes)
    if ((e.direction - c).norm() <= 1e-12 * c.norm()) return e.bound;
  return std::numeric_limits<double>::infinity();
}

double theorem13(const ImpactProblem& problem, const OutcomeSet& set, double step) {
  const double sigma = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(problem.M).eigenvalues().minCoeff();
  return 4 * std::ceil((problem.contacts() + 1) * set.r.norm() / (step * std::sqrt(sigma)));
}

void add_sampling_rows(const std::string& name, const ImpactSamples& samples, double done, double solves,
                       double wall_goal, StudyResult& result) {
  const OutcomeSet& set = samples.set;
  const auto row = [&](StudyRow r) {
    r.quantity = name + ": " + r.quantity;
    result.rows.push_back(std::move(r));
  };
  row(near_row(fmt::format("trajectories that end, of {}", set.samples), "%", fmt::format("{:.5g}", done), done,
               samples.done(), 0.2));
  row(goal_row("complementarity problems not solved", "", "0", static_cast<double>(set.failed), "0", set.failed == 0));
  // Sums over independent trajectories of some variance below 1: two such means differ by less.
  row(near_row("increments per impact", "", fmt::format("{:.4g}", solves), solves, samples.solves(),
               4 * std::sqrt(2.0 / static_cast<double>(set.samples)) + 0.5e-3));
  row(goal_row("wall time, two threads", "s", "", samples.wall, fmt::format("<= {:g}", wall_goal),
               samples.wall <= wall_goal));
  row(report_row("processor time", "s", "", samples.processor));
  row(goal_row("largest gain of kinetic energy of an increment, over that before the impact", "", "2e-16 (theorem 12)",
               set.largest_gain, "<= 1e-14", set.largest_gain <= 1e-14));
  row(goal_row("worst residual of the complementarity problems", "", "", set.worst_residual, "<= 1e-10",
               set.worst_residual <= 1e-10));
  row(goal_row("largest total normal impulse, over its bound 2 |r| |v0|", "", "<= 1",
               set.largest_impulse / set.impulse_bound, "<= 1", set.largest_impulse <= set.impulse_bound));
}

ImpactOutcomes outcomes_of(const ImpactProblem& problem, ImpactLaw law) {
  ImpactOptions options;
  options.law = law;
  return all_impact_outcomes(problem, options);
}

ImpactResult in_order(const ImpactProblem& problem, std::vector<int> order) {
  ImpactOptions options;
  options.law = ImpactLaw::sequential;
  options.order = std::move(order);
  return resolve_impact(problem, options);
}

double energy_ratio(const ImpactResult& result) { return result.energy_after / result.energy_before; }
double energy_ratio(const ImpactProblem& problem, const Eigen::VectorXd& v) {
  return v.dot(problem.M * v) / problem.v.dot(problem.M * problem.v);
}

}  // namespace scree
