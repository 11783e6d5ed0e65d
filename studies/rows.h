// Rows of a study and the small statistics they are made of.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "scree/research/study.h"

namespace scree {

using StudyValue = std::variant<double, std::string>;

// A row with a goal: `met` is the comparison the goal states.
StudyRow goal_row(std::string quantity, std::string unit, std::string paper, StudyValue value, std::string goal,
                  bool met);
StudyRow report_row(std::string quantity, std::string unit, std::string paper, StudyValue value);

double mean(const std::vector<double>& values);
double deviation(const std::vector<double>& values);  // population standard deviation
double median(std::vector<double> values);
double quantile(std::vector<double> values, double share);
double largest(const std::vector<double>& values);  // -inf of none
double smallest(const std::vector<double>& values);

// Root mean square of a - truth over that of truth; infinite of a run that did not finish, whose `a` is empty.
double relative_error(const std::vector<double>& a, const std::vector<double>& truth);

// Slope of log y over log x by least squares: the observed order of an error.
double log_slope(const std::vector<double>& x, const std::vector<double>& y);
double r_squared(const std::vector<double>& x, const std::vector<double>& y);  // of the best straight line

// Share of the values in bins that are even on a logarithmic scale, `per_decade` of them; x is the middle of the bin.
StudySeries log_histogram(const std::vector<double>& values, int per_decade, std::string name);

std::string join_numbers(const std::vector<double>& values, const char* format);  // "1.2, 3.4"

}  // namespace scree
