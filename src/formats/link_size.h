// How large links are, from their shapes: what inertias and stand-ins are made from where a file has none.
#pragma once

#include <optional>

#include "scree/model.h"

namespace scree {

// An axis-aligned box in the frame of a link [m].
struct Extent {
  Vec3 low, high;
  Vec3 size() const { return high - low; }
  Vec3 centre() const { return 0.5 * (low + high); }
  void include(const Extent& other);
};

// The box around a shape in the frame of its link; nullopt for what has no end (planes).
std::optional<Extent> extent_of(const Shape& shape);

// About the centre of mass [kg m^2]: a solid box of the extent's size, no edge thinner than a hundredth of the longest;
// a solid ball; the radius [m] of a ball of water of that mass.
Mat3 box_inertia(double mass, const Extent& extent);
Mat3 ball_inertia(double mass, double radius);
double water_radius(double mass);

}  // namespace scree
