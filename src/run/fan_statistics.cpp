#include "run/fan_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cmath>
#include <map>
#include <numeric>

#include "base/in_parallel.h"
#include "scree/dynamics.h"
#include "scree/kinematics.h"

namespace scree {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kParts = 1e-6;  // relative, in the metric of the mass matrix: velocities nearer are the same
constexpr const char* kVerbs[] = {"sticks", "slides", "opens"};  // as ContactMode

}  // namespace

std::string mode_text(const std::vector<std::string>& names, const std::vector<ContactMode>& modes) {
  std::string text;
  for (size_t i = 0; i < modes.size(); ++i)
    text += fmt::format("{}{} {}", i > 0 ? ", " : "", i < names.size() ? names[i] : "?",
                        kVerbs[static_cast<size_t>(modes[i])]);
  return text;
}

double quantile_of(std::vector<double>& values, double p) {
  assert(p >= 0 && p <= 1);
  if (values.empty()) return kNaN;
  const double place = p * static_cast<double>(values.size() - 1);
  const size_t below = std::min(static_cast<size_t>(place), values.size() - 1);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(values.begin(), at, values.end());
  const double low = *at, share = place - static_cast<double>(below);
  if (share == 0) return low;
  return low + share * (*std::min_element(at + 1, values.end()) - low);
}

double Fan::at(size_t branch, size_t row, int coordinate) const {
  const size_t nq = q.columns(), c = static_cast<size_t>(coordinate);
  assert(branch < branches.size() && row < rows() && c < nq + v.columns());
  return c < nq ? q(branch, row, c) : v(branch, row, c - nq);
}

double Fan::quantile(size_t row, int coordinate, double p) const {
  std::vector<double> values;
  values.reserve(branches.size());
  for (size_t b = 0; b < branches.size(); ++b)
    if (const double value = at(b, row, coordinate); !std::isnan(value)) values.push_back(value);
  return quantile_of(values, p);
}

size_t rows_reached(const Fan& fan, size_t branch) {
  if (fan.q.columns() == 0) return fan.rows();
  size_t row = 0;
  while (row < fan.rows() && !std::isnan(fan.q(branch, row, 0))) ++row;
  return row;
}

// theory (17.2): branches with the same past are told apart by what they do at their next impact of several contacts,
// wherever they do different things.
void find_clusters(Fan& fan) {
  struct Group {
    std::vector<size_t> branches;
    size_t next;                     // of their impacts of several contacts
    std::vector<std::string> modes;  // at those that were ambiguous
  };
  std::vector<std::vector<FanImpact*>> shared(fan.branches.size());
  for (size_t b = 0; b < fan.branches.size(); ++b)
    for (FanImpact& impact : fan.branches[b].impacts) {
      impact.ambiguous = false;
      if (impact.contacts > 1) shared[b].push_back(&impact);
    }
  std::map<std::vector<std::string>, std::vector<long>> found;
  const auto put = [&](const std::vector<std::string>& modes, size_t b) {
    found[modes].push_back(static_cast<long>(b));
  };
  std::vector<Group> groups(1, Group{std::vector<size_t>(fan.branches.size()), 0, {}});
  std::iota(groups[0].branches.begin(), groups[0].branches.end(), size_t{0});
  while (!groups.empty()) {
    Group group = std::move(groups.back());
    groups.pop_back();
    std::map<std::string, std::vector<size_t>> parts;
    for (const size_t b : group.branches) {
      if (group.next < shared[b].size())
        parts[shared[b][group.next]->mode].push_back(b);
      else
        put(group.modes, b);  // no more such impacts
    }
    const bool ambiguous = parts.size() > 1;
    for (auto& [mode, part] : parts) {
      Group next{std::move(part), group.next + 1, group.modes};
      if (ambiguous) {
        next.modes.push_back(mode);
        for (const size_t b : next.branches) shared[b][group.next]->ambiguous = true;
      }
      if (next.modes.size() < static_cast<size_t>(fan.options.cluster_impacts))
        groups.push_back(std::move(next));
      else
        for (const size_t b : next.branches) put(next.modes, b);
    }
  }
  fan.clusters.clear();
  for (auto& [modes, branches] : found) {
    std::sort(branches.begin(), branches.end());
    fan.clusters.push_back({modes, std::move(branches)});
  }
  std::sort(fan.clusters.begin(), fan.clusters.end(), [](const FanCluster& a, const FanCluster& b) {
    return a.branches.size() != b.branches.size() ? a.branches.size() > b.branches.size() : a.branches < b.branches;
  });
  for (size_t c = 0; c < fan.clusters.size(); ++c)
    for (const long b : fan.clusters[c].branches) fan.branches[static_cast<size_t>(b)].cluster = static_cast<int>(c);
}

void find_first_split(const Model& model, Fan& fan) {
  fan.first_split = kNaN;
  fan.split.clear();
  Dynamics dynamics(model);
  const auto row_before = [&](double time) {
    const auto after = std::upper_bound(fan.time.begin(), fan.time.end(), time);
    return static_cast<size_t>(std::max<std::ptrdiff_t>(0, after - fan.time.begin() - 1));
  };
  for (size_t k = 0;; ++k) {
    const FanImpact* first = nullptr;
    double earliest = std::numeric_limits<double>::infinity();
    std::map<std::string, long> modes;
    Eigen::MatrixXd M;
    bool parts = false;
    for (size_t b = 0; b < fan.branches.size(); ++b) {
      const FanBranch& branch = fan.branches[b];
      if (k >= branch.impacts.size()) continue;
      const FanImpact& impact = branch.impacts[k];
      earliest = std::min(earliest, impact.time);
      ++modes[impact.mode];
      if (!first) {
        first = &impact;
        dynamics.set_position(fan.q.row(b, row_before(impact.time)));
        M = dynamics.mass_matrix();
      } else {
        const Eigen::VectorXd difference = impact.v_after - first->v_after;
        parts = parts || difference.dot(M * difference) > kParts * kParts * first->v_before.dot(M * first->v_before);
      }
    }
    if (!first) return;                           // no branch has more impacts
    for (const FanBranch& branch : fan.branches)  // one that goes on without this impact, not one that failed before
      parts = parts || (k >= branch.impacts.size() && branch.end_time >= first->time);
    if (!parts) continue;
    fan.first_split = earliest;
    for (const auto& [mode, count] : modes) fan.split.push_back({mode, count});
    std::stable_sort(fan.split.begin(), fan.split.end(),
                     [](const FanShare& a, const FanShare& b) { return a.branches > b.branches; });
    return;
  }
}

// theory (17.3), about the branch nearest to the medians of all coordinates.
void measure_spread(const Model& model, Fan& fan) {
  const size_t branches = fan.branches.size(), nq = fan.q.columns();
  fan.spread.assign(fan.rows(), kNaN);
  if (branches == 0 || nq == 0) return;
  std::vector<size_t> reached(branches);
  for (size_t b = 0; b < branches; ++b) reached[b] = rows_reached(fan, b);
  const auto measure = [&](size_t row) {
    Dynamics dynamics(model);
    std::vector<size_t> there;
    for (size_t b = 0; b < branches; ++b)
      if (reached[b] > row) there.push_back(b);
    if (there.empty()) return;
    Eigen::VectorXd middle(static_cast<Eigen::Index>(nq));
    for (size_t c = 0; c < nq; ++c) middle(static_cast<Eigen::Index>(c)) = fan.quantile(row, static_cast<int>(c), 0.5);
    const auto distance = [&](size_t b) { return (fan.q.row(b, row) - middle).squaredNorm(); };
    size_t median = there.front();
    for (const size_t b : there)
      if (distance(b) < distance(median)) median = b;
    const Eigen::VectorXd origin = fan.q.row(median, row);
    dynamics.set_position(origin);
    const Eigen::MatrixXd M = dynamics.mass_matrix();
    const double n = static_cast<double>(there.size());
    // Two passes: mean, then deviations from it, so that a spread of 1e-9 is seen far from the origin, too.
    Eigen::VectorXd mean = Eigen::VectorXd::Zero(model.nv());
    for (const size_t b : there) mean += position_difference(model, origin, fan.q.row(b, row)) / n;
    double variance = 0;
    for (const size_t b : there) {
      const Eigen::VectorXd x = position_difference(model, origin, fan.q.row(b, row)) - mean;
      variance += x.dot(M * x) / n;
    }
    fan.spread[row] = std::sqrt(variance);
  };
  std::atomic<size_t> next = 0;
  in_parallel(fan.options.threads, [&] {
    for (size_t row = next++; row < fan.rows(); row = next++) measure(row);
  });
}

void summarise_fan(const Model& model, Fan& fan) {
  find_clusters(fan);
  find_first_split(model, fan);
  measure_spread(model, fan);
}

}  // namespace scree
