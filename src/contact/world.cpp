#include "scree/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scree/error.h"

namespace scree {

void Surface::validate() const {
  if (!(friction >= 0 && friction <= 100))
    throw InputError(fmt::format("surface: friction is {}, expected a number in [0, 100]", friction));
  if (!(restitution >= 0 && restitution <= 1))
    throw InputError(fmt::format("surface: restitution is {}, expected a number in [0, 1]", restitution));
}

void World::add(std::vector<Collider> more) {
  for (Collider& collider : more) add(std::move(collider));
}

size_t World::body_colliders() const {
  return static_cast<size_t>(
      std::ranges::count_if(colliders, [](const Collider& collider) { return collider.body != kWorld; }));
}

size_t World::pair_count() const { return body_colliders() * (colliders.size() - body_colliders()); }

void World::validate(const Model& model) const {
  for (int k = 0; k < 3; ++k)
    if (!(std::abs(gravity(k)) <= 1e6))
      throw InputError(fmt::format("world: gravity is {}, expected a number of at most 1e6 m/s^2", gravity(k)));
  for (const Collider& collider : colliders) {
    check_collider(collider);
    if (collider.body.value() >= static_cast<int>(model.bodies().size()))
      throw InputError(fmt::format("collider \"{}\": its body is {}, expected one of the {} of model {}", collider.name,
                                   collider.body.value(), model.bodies().size(), model.name()));
  }
  if (!colliders.empty() && body_colliders() == 0)
    throw InputError(
        fmt::format("world: nothing of model {} can touch the ground, expected colliders of its bodies "
                    "(contact_candidates)",
                    model.name()));
  surface.validate();
  if (surface.restitution != 1 && impact.law == ImpactLaw::reflections)
    throw InputError(
        fmt::format("surface: restitution is {}, expected 1 with the law of impacts reflections, which "
                    "knows no other; restitution-blend does",
                    surface.restitution));
  if (!impact.order.empty())
    throw InputError(fmt::format("impact: order is {}, expected none: contacts of events have no fixed numbers",
                                 impact.order.size()));
  impact.validate(ImpactProblem{});
  smooth.validate();
  if (!law) throw InputError("world: no contact law, expected one");
}

}  // namespace scree
