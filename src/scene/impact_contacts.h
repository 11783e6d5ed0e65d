// Where bodies of an impact scene touch: closed-form geometry.
#pragma once

#include "scree/impact_scene.h"

namespace scree {

// In the order of pairs of bodies; of one pair along the first tangent, then the second. Throws InputError for bodies
// deeper in each other than scene.touch, and for normals that are not defined, in words that name the bodies.
std::vector<ImpactContact> find_impact_contacts(const ImpactScene& scene);

}  // namespace scree
