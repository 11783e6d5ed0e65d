// World: gravity, what may touch, and how it answers.
#pragma once

#include <memory>
#include <vector>

#include "scree/contact.h"
#include "scree/impact.h"

namespace scree {

// Where a model lives. Immutable while simulations run in it.
struct World {
  Vec3 gravity = Vec3(0, 0, -9.81);  // [m/s^2], each at most 1e6
  // Of bodies (contact_candidates) and of the world, in any order, as many as you like: what counts is how many are in
  // the ground at once.
  std::vector<Collider> colliders;
  Surface surface;  // of all of them
  // How the ground answers; which one, the integrator decides (docs/choosing.md).
  std::shared_ptr<const ContactLaw> law = make_coulomb({});   // of ne-mdp and all -nmdp; never null
  SmoothContactOptions smooth;                                // of pbd-friction, pbfd and their like
  ImpactOptions impact = {.law = ImpactLaw::anitescu_potra};  // of `event`; friction_directions of ne-lcp, too

  void add(Collider collider) { colliders.push_back(std::move(collider)); }
  void add(std::vector<Collider> more);
  std::vector<ContactPair> pairs() const { return contact_pairs(colliders); }
  size_t body_colliders() const;  // how many are those of bodies
  size_t pair_count() const;      // of pairs()
  bool has_contact() const { return pair_count() > 0; }

  // Throws InputError that names what is wrong: numbers out of range, a collider without a body or of a body the model
  // does not have, ground that nothing can touch.
  void validate(const Model& model) const;
};

// [m] Where a point carries its share of the weight if nothing else is said: a thousandth of the model's size, at least
// 1 um. The size is the longest edge of the box around the colliders of its bodies and their centres of mass at the
// neutral position, 1 m if that is a point.                                                             theory (8.19)
double firm_depth(const Model& model, const World& world);

}  // namespace scree
