// Colliders: the shapes that may touch, of bodies and of the world, and which pairs of them do.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "scree/geometry.h"
#include "scree/height_field.h"

namespace scree {

// A shape that takes part in contact. Today those of bodies are spheres, of radius 0: points; those of the world are
// half spaces (Plane), boxes and height fields.
struct Collider {
  std::string name;  // for messages and the replay; may be empty
  BodyIndex body;    // whose it is; kWorld: fixed to the world. Must be said, one left out is an error
  Pose X_BS;         // the shape in the body frame
  Geometry shape;
};

// Two colliders that may touch, as indices into a list of them. The force acts on `a` and its opposite on `b`.
struct ContactPair {
  int a = 0, b = 0;
  friend bool operator==(const ContactPair&, const ContactPair&) = default;
};
// Every collider of a body with every one of the world: those of bodies in their order, and for each of them those of
// the world in theirs.
std::vector<ContactPair> contact_pairs(const std::vector<Collider>& colliders);

// Throws InputError that names the collider: no body, a shape that cannot take part, numbers out of range.
void check_collider(const Collider& collider);

// Colliders fixed to the world. Each throws InputError for numbers that are not finite or out of range.
Collider plane_collider(const Vec3& point, const Vec3& normal, std::string name = "ground");
Collider box_collider(const Pose& X_WS, const Vec3& size, std::string name = "box");
Collider height_field_collider(std::shared_ptr<const HeightField> field, std::string name = "terrain");
// A flight of steps climbing along +x of `X_WS`, whose origin lies on the lower floor at the middle of the first riser.
// Steps are boxes nested into each other, all ending with the landing, so no tread has a seam; they reach as deep below
// the floor as the flight climbs above it.
struct Stairs {
  int steps = 1;       // in [1, 1000]
  double rise = 0;     // > 0 [m] height of one step
  double tread = 0;    // > 0 [m] depth of one step
  double width = 0;    // > 0 [m] along y
  double landing = 1;  // > 0 [m] depth of the last step
};
std::vector<Collider> stairs_colliders(const Pose& X_WS, const Stairs& stairs, std::string name = "stairs");
// A sphere of a body, or a point: radius 0.
Collider point_collider(BodyIndex body, const Vec3& p_B, double radius, std::string name);

// Of a point of the world to a collider that is fixed to it: a Plane, a Box or a height field.
SignedDistance distance(const Collider& fixed, const Vec3& p);
// At most the true distance, and cheap: to leave far solids alone.
double distance_bound(const Collider& fixed, const Vec3& p);

}  // namespace scree
