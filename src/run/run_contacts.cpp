#include "run/run_contacts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace scree {
namespace {

constexpr double kUnitSlack = 1e-6;  // of a normal, as make_state allows quaternions

std::optional<RunProblem> contact_row_problem(const Run& run, size_t i) {
  const Contact& contact = run.contacts[i];
  if (auto problem = find_pair_problem(run, "/contacts", i, contact.a, contact.b)) return problem;
  const auto finite = [&](const char* path, const Vec3& value) -> std::optional<RunProblem> {
    if (value.allFinite()) return std::nullopt;
    return RunProblem{path, fmt::format("row {} is not finite", i)};
  };
  if (auto problem = finite("/contacts/position", contact.position)) return problem;
  if (auto problem = finite("/contacts/force", contact.force)) return problem;
  if (auto problem = finite("/contacts/moment", contact.moment)) return problem;
  if (!(std::abs(contact.normal.norm() - 1) <= kUnitSlack))
    return RunProblem{"/contacts/normal", fmt::format("row {} has length {}, expected 1", i, contact.normal.norm())};
  if (!std::isfinite(contact.depth))
    return RunProblem{"/contacts/depth", fmt::format("row {} holds {}, expected finite numbers", i, contact.depth)};
  return std::nullopt;
}

}  // namespace

std::optional<RunProblem> find_pair_problem(const Run& run, const char* group, size_t row, int a, int b) {
  const auto check = [&](char column, int found, bool ground) -> std::optional<RunProblem> {
    if (found >= 0 && static_cast<size_t>(found) < run.colliders.size() &&
        (run.colliders[static_cast<size_t>(found)].body == kWorld) == ground)
      return std::nullopt;
    return RunProblem{fmt::format("{}/{}", group, column),
                      fmt::format("row {} holds {}, expected one of the {} colliders that belongs to {}", row, found,
                                  run.colliders.size(), ground ? "the ground" : "a body")};
  };
  if (auto problem = check('a', a, false)) return problem;
  return check('b', b, true);
}

std::optional<RunProblem> find_contact_problem(const Run& run) {
  const size_t rows = has_contact(run) ? run.rows() : 0;
  const auto length = [](const char* path, size_t found, size_t expected) -> std::optional<RunProblem> {
    if (found == expected) return std::nullopt;
    return RunProblem{path, fmt::format("has {} entries, expected {}", found, expected)};
  };
  if (auto problem = length("/report/outer", run.outer.size(), rows)) return problem;
  if (auto problem = length("/report/optimality", run.optimality.size(), rows)) return problem;
  if (auto problem = length("/report/penetration", run.penetration.size(), rows)) return problem;
  if (auto problem = length("/report/energy_gain", run.energy_gain.size(), rows)) return problem;
  if (auto problem = length("/contacts/first", run.first_contact.size(), rows == 0 ? 0 : rows + 1)) return problem;
  if (!has_contact(run)) return length("/contacts/a", run.contacts.size(), 0);
  for (size_t row = 0; row < rows; ++row) {
    if (run.outer[row] < 0)
      return RunProblem{"/report/outer", fmt::format("row {} holds {}, expected >= 0", row, run.outer[row])};
    for (const auto& [path, value] :
         {std::pair{"/report/optimality", run.optimality[row]}, std::pair{"/report/penetration", run.penetration[row]},
          std::pair{"/report/energy_gain", run.energy_gain[row]}})
      if (!std::isfinite(value))
        return RunProblem{path, fmt::format("row {} holds {}, expected finite numbers", row, value)};
    if (run.first_contact[row + 1] < run.first_contact[row])
      return RunProblem{"/contacts/first",
                        fmt::format("row {} holds {}, less than the one before", row + 1, run.first_contact[row + 1])};
  }
  if (run.first_contact.front() != 0 || run.first_contact.back() != run.contacts.size())
    return RunProblem{"/contacts/first", fmt::format("goes from {} to {}, expected 0 to {}", run.first_contact.front(),
                                                     run.first_contact.back(), run.contacts.size())};
  for (size_t i = 0; i < run.contacts.size(); ++i)
    if (auto problem = contact_row_problem(run, i)) return problem;
  return std::nullopt;
}

ContactSummary summarise_contacts(const Run& run) {
  ContactSummary summary;
  if (!has_contact(run)) return summary;
  summary.contacts = run.first_contact.back() - run.first_contact[run.rows() - 1];
  summary.penetration = *std::max_element(run.penetration.begin(), run.penetration.end());
  std::vector<int> outer(run.outer.begin() + 1, run.outer.end());  // no step led to row 0
  std::sort(outer.begin(), outer.end());
  if (const size_t n = outer.size(); n > 0) summary.median_outer = 0.5 * (outer[(n - 1) / 2] + outer[n / 2]);
  return summary;
}

double total_normal_force(const Run& run, size_t row) {
  double total = 0;
  for (size_t i = run.first_contact[row]; i < run.first_contact[row + 1]; ++i)
    total += run.contacts[i].normal.dot(run.contacts[i].force);
  return total;
}

}  // namespace scree
