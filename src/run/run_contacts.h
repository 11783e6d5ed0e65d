// The contact part of a Run: whether its columns fit each other, and what it comes to.
#pragma once

#include <optional>
#include <string>

#include "scree/run.h"

namespace scree {

inline bool has_contact(const Run& run) { return !run.colliders.empty(); }

struct RunProblem {
  std::string path;  // as in the run file
  std::string what;
};
// What is wrong with the colliders of a contact, columns group/a and group/b: a is one of a body, b one of the world.
std::optional<RunProblem> find_pair_problem(const Run& run, const char* group, size_t row, int a, int b);
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
