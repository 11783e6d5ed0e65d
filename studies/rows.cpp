#include "rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace scree {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

struct Line {
  double slope = kNothing, r_squared = kNothing;
};

Line fit_line(const std::vector<double>& x, const std::vector<double>& y) {
  if (x.size() < 2) return {};
  const double mx = mean(x), my = mean(y);
  double xx = 0, xy = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mx) * (x[i] - mx);
    xy += (x[i] - mx) * (y[i] - my);
    yy += (y[i] - my) * (y[i] - my);
  }
  return {xy / xx, xy * xy / (xx * yy)};
}

}  // namespace

StudyRow goal_row(std::string quantity, std::string unit, std::string paper, StudyValue value, std::string goal,
                  bool met) {
  return {std::move(quantity), std::move(unit), std::move(paper),
          std::move(value),    std::move(goal), met ? StudyVerdict::reproduced : StudyVerdict::differs};
}

StudyRow report_row(std::string quantity, std::string unit, std::string paper, StudyValue value) {
  return {std::move(quantity), std::move(unit), std::move(paper), std::move(value), "", StudyVerdict::reported};
}

double mean(const std::vector<double>& values) {
  if (values.empty()) return kNothing;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation(const std::vector<double>& values) {
  const double m = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - m) * (value - m);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return kNothing;
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const size_t below = static_cast<size_t>(place), above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - std::floor(place)) * (values[above] - values[below]);
}

double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

double largest(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), -std::numeric_limits<double>::infinity(),
                         [](double a, double b) { return std::max(a, b); });
}

double smallest(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), std::numeric_limits<double>::infinity(),
                         [](double a, double b) { return std::min(a, b); });
}

double relative_error(const std::vector<double>& a, const std::vector<double>& truth) {
  double apart = 0, size = 0;
  for (size_t k = 0; k < a.size(); ++k) {
    apart += (a[k] - truth[k]) * (a[k] - truth[k]);
    size += truth[k] * truth[k];
  }
  const double error = std::sqrt(apart / size);
  return !a.empty() && std::isfinite(error) ? error : std::numeric_limits<double>::infinity();
}

double log_slope(const std::vector<double>& x, const std::vector<double>& y) {
  std::vector<double> log_x, log_y;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!(x[i] > 0) || !(y[i] > 0) || !std::isfinite(y[i])) continue;
    log_x.push_back(std::log(x[i]));
    log_y.push_back(std::log(y[i]));
  }
  return fit_line(log_x, log_y).slope;
}

double r_squared(const std::vector<double>& x, const std::vector<double>& y) { return fit_line(x, y).r_squared; }

StudySeries log_histogram(const std::vector<double>& values, int per_decade, std::string name) {
  StudySeries series;
  series.name = std::move(name);
  std::map<int, int> counts;
  for (const double value : values) {
    if (value > 0 && std::isfinite(value)) ++counts[static_cast<int>(std::floor(std::log10(value) * per_decade))];
  }
  if (counts.empty()) return series;
  for (int bin = counts.begin()->first - 1; bin <= counts.rbegin()->first + 1; ++bin) {
    series.x.push_back(std::pow(10, (bin + 0.5) / per_decade));
    series.y.push_back((counts.contains(bin) ? counts[bin] : 0) / static_cast<double>(values.size()));
  }
  return series;
}

std::string join_numbers(const std::vector<double>& values, const char* format) {
  std::string out;
  for (const double value : values) out += (out.empty() ? "" : ", ") + fmt::format(fmt::runtime(format), value);
  return out;
}

}  // namespace scree
