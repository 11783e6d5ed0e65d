// Ancestors of a dof by runs of consecutive numbers, which inner loops can be vectorised over.
#pragma once

#include <cstddef>
#include <vector>

namespace scree {

// first[k]: the ancestors first[k] .. k of k are consecutive numbers.
inline std::vector<int> first_of_runs(const std::vector<int>& parent) {
  std::vector<int> first(parent.size());
  for (size_t k = 0; k < parent.size(); ++k)
    first[k] = k > 0 && parent[k] == static_cast<int>(k) - 1 ? first[k - 1] : static_cast<int>(k);
  return first;
}

// Calls visit(begin, end) for every run among k and its ancestors, nearest first.
template <class Visit>
inline void for_each_run(const std::vector<int>& parent, const std::vector<int>& first, int k, Visit visit) {
  for (int a = k; a >= 0;) {
    const int begin = first[static_cast<size_t>(a)];
    visit(static_cast<size_t>(begin), static_cast<size_t>(a) + 1);
    a = parent[static_cast<size_t>(begin)];
  }
}

}  // namespace scree
