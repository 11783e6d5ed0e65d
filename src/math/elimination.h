// In what order symmetric matrices are eliminated whose entries belong to sets of coupled unknowns.
#pragma once

#include <vector>

namespace scree {

// Parents in the elimination tree of an n x n pattern in which any two members of a set are coupled, the highest number
// eliminated first: parent[i] < i is the largest unknown that is still coupled with i when i is eliminated, -1 for
// none. All entries that elimination fills in join an unknown with one of its ancestors. The sets of a kinematic tree,
// each the dofs of one path, have no other parents than the kinematic ones and fill in nothing.
std::vector<int> elimination_parents(int n, const std::vector<std::vector<int>>& sets);

}  // namespace scree
