#include "math/elimination.h"

#include <algorithm>
#include <set>

namespace scree {

std::vector<int> elimination_parents(int n, const std::vector<std::vector<int>>& sets) {
  // Below each unknown: the smaller ones it is coupled with. Of a set it is enough that the largest member knows the
  // others: what is below an unknown goes to its parent, so that each of them meets the rest in its turn.
  std::vector<std::set<int>> below(static_cast<size_t>(n));
  for (const std::vector<int>& members : sets) {
    if (members.empty()) continue;
    const int largest = *std::max_element(members.begin(), members.end());
    for (const int member : members)
      if (member != largest) below[static_cast<size_t>(largest)].insert(member);
  }
  std::vector<int> parent(static_cast<size_t>(n), -1);
  for (int k = n - 1; k >= 0; --k) {
    std::set<int>& rest = below[static_cast<size_t>(k)];
    if (rest.empty()) continue;
    const int next = parent[static_cast<size_t>(k)] = *rest.rbegin();
    rest.erase(next);
    below[static_cast<size_t>(next)].merge(rest);
    rest.clear();
  }
  return parent;
}

}  // namespace scree
