// Chains of the PBFD paper: capsules in the plane y = 0, joined by hinges.
#pragma once

#include "scree/model.h"

namespace scree {

constexpr double kLinkLength = 0.5, kLinkRadius = 0.05;  // [m]

// As models/chain-floating-2d.urdf with any number of links: a planar base, links along x at zero angles, spheres at
// both ends of a link and `points` - 1 between them. nv = links + 2.
Model floating_chain(int links, int points = 1);

}  // namespace scree
