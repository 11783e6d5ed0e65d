#include "event_fans.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace scree {

Fan run_study_fan(const StudyContext& context, const Scene& scene, const FanOptions& options) {
  Fan fan = run_fan(scene, options, [&](long done, long wanted) {
    return context.progress(static_cast<double>(done), static_cast<double>(wanted));
  });
  if (fan.interrupted) throw StudyInterrupted();
  return fan;
}

ImpactProblem problem_of_impact(const StudyContext& context, const Scene& scene, int index) {
  ImpactProblem found;
  int seen = 0;
  StepWorkspace workspace(scene.model, scene.world);
  workspace.set_impact_resolver([&](const ImpactProblem& problem) {
    if (seen++ == index) found = problem;
    return resolve_impact(problem, scene.world.impact);
  });
  State state = make_state(scene.model, scene.q0, scene.v0);
  const long steps = std::lround(std::ceil(scene.duration / scene.options.dt - 1e-9));
  for (long k = 0; k < steps && seen <= index; ++k) {
    if (!context.progress(state.time, scene.duration)) throw StudyInterrupted();
    if (!step(scene.model, scene.control, scene.options, state, workspace).converged()) break;
    state.time = static_cast<double>(k + 1) * scene.options.dt;  // as run_fan has it, for the same bits
  }
  return found;
}

FirstImpact impacts_of(const Fan& fan, size_t index) {
  FirstImpact out;
  Eigen::Index count = 0;
  for (const FanBranch& branch : fan.branches) {
    out.all.push_back(index < branch.impacts.size() ? &branch.impacts[index] : nullptr);
    count += out.all.back() != nullptr;
  }
  if (count == 0) return out;
  const auto first = std::find_if(out.all.begin(), out.all.end(), [](const FanImpact* i) { return i != nullptr; });
  out.v.resize((*first)->v_after.size(), count);
  count = 0;
  for (const FanImpact* impact : out.all)
    if (impact) out.v.col(count++) = impact->v_after;
  return out;
}

long equal_bits(const FirstImpact& impacts, const OutcomeSet& set) {
  long count = 0;
  for (size_t b = 0; b < impacts.all.size() && static_cast<Eigen::Index>(b) < set.v.cols(); ++b) {
    const FanImpact* impact = impacts.all[b];
    if (!impact || impact->v_after.size() != set.v.rows()) continue;
    const Eigen::VectorXd column = set.v.col(static_cast<Eigen::Index>(b));
    count +=
        std::memcmp(column.data(), impact->v_after.data(), sizeof(double) * static_cast<size_t>(column.size())) == 0;
  }
  return count;
}

double share_open(const ImpactProblem& problem, const Eigen::MatrixXd& v, const std::vector<bool>& open) {
  if (v.cols() == 0) return std::numeric_limits<double>::quiet_NaN();
  const Eigen::MatrixXd vn = problem.Jn * v;
  // As ContactMode: 1e-6 of what the velocity before could be along the row.
  const double speed = std::sqrt(problem.v.dot(problem.M * problem.v));
  long count = 0;
  for (Eigen::Index k = 0; k < v.cols(); ++k) {
    bool match = true;
    for (Eigen::Index i = 0; i < problem.Jn.rows(); ++i) {
      const Eigen::VectorXd row = problem.Jn.row(i);
      const double scale = std::sqrt(row.dot(problem.M.ldlt().solve(row)));
      match = match && (vn(i, k) > 1e-6 * scale * speed) == open[static_cast<size_t>(i)];
    }
    count += match;
  }
  return 100.0 * static_cast<double>(count) / static_cast<double>(v.cols());
}

StudyRow binomial_row(std::string quantity, double reference, double reference_samples, double share, double samples) {
  const double p = reference / 100;
  const double sigma = 100 * std::sqrt(p * (1 - p) * (1 / samples + 1 / reference_samples));
  return goal_row(std::move(quantity), "%", fmt::format("{:.4g}", reference), share,
                  fmt::format("within 3 sigma, {:.2g}, and a digit", 3 * sigma),
                  std::abs(share - reference) <= 3 * sigma + 0.05);
}

StudyFigure quantile_figure(const Fan& fan, int coordinate, std::string title, std::string unit) {
  StudyFigure figure{
      std::move(title), {"time", "s"}, {fan.coordinates[static_cast<size_t>(coordinate)], std::move(unit)}, {}, {}};
  const size_t every = std::max<size_t>(1, fan.rows() / 400);
  for (const double p : {0.05, 0.25, 0.5, 0.75, 0.95}) {
    StudySeries series{fmt::format("{:g} %", 100 * p), {}, {}, p != 0.5};
    for (size_t k = 0; k < fan.rows(); k += every) {
      series.x.push_back(fan.time[k]);
      series.y.push_back(fan.quantile(k, coordinate, p));
    }
    figure.series.push_back(std::move(series));
  }
  return figure;
}

StudyFigure spread_figure(const Fan& fan, std::string title) {
  StudySeries series{"spread", {}, {}, false};
  const size_t every = std::max<size_t>(1, fan.rows() / 400);
  for (size_t k = 0; k < fan.rows(); k += every) {
    series.x.push_back(fan.time[k]);
    series.y.push_back(fan.spread[k]);
  }
  return {std::move(title), {"time", "s"}, {"standard deviation", "kg^(1/2) m", true}, {series}, {}};
}

double spread_at(const Fan& fan, double time) {
  const auto at = std::lower_bound(fan.time.begin(), fan.time.end(), time - 1e-9);
  return at == fan.time.end() ? std::numeric_limits<double>::quiet_NaN()
                              : fan.spread[static_cast<size_t>(at - fan.time.begin())];
}

void add_fan_rows(const std::string& name, const Fan& fan, StudyResult& result) {
  long failed = 0, impacts = 0;
  double deepest = 0;
  std::string why;
  for (const FanBranch& branch : fan.branches) {
    if (branch.status != RunStatus::complete && failed++ == 0) why = branch.failure;
    impacts += static_cast<long>(branch.impacts.size());
    deepest = std::max(deepest, branch.penetration);
  }
  result.rows.push_back(
      count_row(fmt::format("{}: branches that fail, of {}", name, fan.branches.size()), "0", failed, failed == 0));
  if (failed > 0) result.rows.push_back(report_row(name + ": why the first one failed", "", "", why));
  result.rows.push_back(small_row(name + ": deepest point of any branch at any time", "m", deepest, 1e-9));
  result.rows.push_back(report_row(name + ": impacts of a branch, mean", "", "",
                                   static_cast<double>(impacts) / static_cast<double>(fan.branches.size())));
  result.rows.push_back(report_row(name + ": wall time, two threads", "s", "", fan.wall_time));
}

StudyRow threads_row(const StudyContext& context, const std::string& name, const Scene& scene, FanOptions options) {
  options.branches = std::min(options.branches, 20L);
  options.threads = 1;
  const Fan one = run_study_fan(context, scene, options);
  options.threads = 2;
  const Fan two = run_study_fan(context, scene, options);
  long differ = 0;
  for (size_t b = 0; b < one.branches.size(); ++b)
    differ += one.branches[b].final_state_hash != two.branches[b].final_state_hash;
  return count_row(
      fmt::format("{}: of {} branches, final states whose bits depend on the threads", name, options.branches), "0",
      differ, differ == 0);
}

}  // namespace scree
