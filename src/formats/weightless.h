// Links that move and have no mass: fine while what hangs on them resists every motion of their joints, else the
// equations of motion have no answer.
#pragma once

#include <cstddef>
#include <vector>

#include "scree/model.h"

namespace scree {

struct TreeLink {
  int parent;  // among these, parents first; -1: the world
  const Body* body;
  const Joint* joint;
};

enum class Weight { enough, nothing, singular };

struct LinkWeight {
  Weight weight = Weight::enough;  // nothing: no mass moves with it. singular: its mass matrix is, at some pose
  double own = 0;                  // [kg] of the link
  double mass = 0;                 // [kg] of the link and all that hangs on it
  double inertia = 0;              // [kg m^2] of those about the link's origin, mean of the principal values, q = 0
};

// Judged by the articulated inertia along each joint beside what it would be were all other joints locked: at q = 0,
// and for links without mass that hang on each other over their ranges, where a gimbal may lock.
std::vector<LinkWeight> weigh_links(const std::vector<TreeLink>& links);

}  // namespace scree
