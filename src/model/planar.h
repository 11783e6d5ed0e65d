#pragma once

#include "scree/types.h"

namespace scree {

// The in-plane directions of a planar joint: the two coordinate axes the normal is least aligned with, in alphabetical
// order, projected into the plane (normal y: x then z).
void planar_directions(const Vec3& normal, Vec3& u1, Vec3& u2);

}  // namespace scree
