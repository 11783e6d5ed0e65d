// The contact part of a Run: whether its columns fit each other, and what it comes to.
#pragma once

#include <optional>
#include <string>

#include "scree/run.h"

namespace scree {

inline bool has_contact(const Run& run) { return !run.environment.solids().empty(); }

struct RunProblem {
  std::string path;  // as in the run file
  std::string what;
};
// The first thing in the contact columns that no recording has: lengths, indices, numbers that are not finite.
std::optional<RunProblem> find_contact_problem(const Run& run);

struct ContactSummary {
  size_t contacts = 0;      // at the end
  double penetration = 0;   // [m] deepest of the run
  double median_outer = 0;  // iterations of the projected gradient method, per step
};
ContactSummary summarise_contacts(const Run& run);

double total_normal_force(const Run& run, size_t row);  // [N]

}  // namespace scree
