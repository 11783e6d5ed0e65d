// How deep points stand in the ground.
#include <limits>

#include "contact/pairs.h"
#include "integrators/lanes.h"
#include "integrators/traits.h"
#include "scree/step.h"

namespace scree {

double static_depth(const Model& model, const World& world, IntegratorType type) {
  const ContactKind kind = traits(type).contact;
  if (kind == ContactKind::rigid) return 0;
  const Pairs pairs(model, world);
  const double share = pairs.share_of_weight();
  if (kind == ContactKind::smooth) return smooth_coefficients(pairs, world.surface.friction, world.smooth).depth;

  ContactGeometry geometry;
  geometry.share_of_weight = share;
  geometry.firm_depth = pairs.firm_depth();
  geometry.friction = world.surface.friction;
  Wrenches vertices(6, world.law->vertex_count());
  const auto carries = [&](double depth) {
    geometry.depth = depth;
    world.law->vertices(geometry, vertices);
    return vertices.row(2).maxCoeff() >= share;
  };
  if (carries(0)) return 0;
  constexpr double kDeepest = 10;  // [m]
  double low = 0, high = 1e-9;
  for (; !carries(high); low = high, high *= 2)
    if (high > kDeepest) return std::numeric_limits<double>::infinity();
  while (high - low > 1e-12 * high) {
    const double middle = 0.5 * (low + high);
    (carries(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace scree
