#include "scree/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scree/error.h"
#include "scree/kinematics.h"

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

double firm_depth(const Model& model, const World& world) {
  constexpr double kPart = 1e-3, kLeast = 1e-6;  // of the size; [m]
  const std::vector<Pose> poses = body_poses(model, model.neutral_position());
  Vec3 low = Vec3::Constant(std::numeric_limits<double>::infinity()), high = -low;
  const auto include = [&](BodyIndex body, const Vec3& p_B, double radius) {
    const Vec3 p = poses[static_cast<size_t>(body.value())] * p_B;
    low = low.cwiseMin((p.array() - radius).matrix());
    high = high.cwiseMax((p.array() + radius).matrix());
  };
  for (int k = 0; const Body& body : model.bodies()) include(BodyIndex(k++), body.com, 0);
  for (const Collider& collider : world.colliders)
    if (collider.body != kWorld) include(collider.body, collider.X_BS.p, std::get<Sphere>(collider.shape).radius);
  const double size = (high - low).maxCoeff();
  return size > 0 ? std::max(kLeast, kPart * size) : kPart;
}

}  // namespace scree
