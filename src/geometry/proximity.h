// How near a rounded point comes to a solid, as a function of where the point is.
#pragma once

#include "math/spatial.h"
#include "scree/collider.h"

namespace scree {

// A: a sphere about its core, a point of no extent. B: a solid. Nothing here knows bodies.
struct Proximity {
  double gap;            // [m] between the surfaces, negative where they overlap
  V3<double> core;       // [m] of A, from the origin of whoever asks
  V3<double> x_a;        // [m] where A's surface is nearest: core - radius n                          theory (8.3)
  V3<double> n;          // out of B
  M3<double> curvature;  // [1/m] dn by a displacement of the core
};

}  // namespace scree
