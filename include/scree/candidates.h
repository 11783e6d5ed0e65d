// Which points of a model may touch, and how well they stand for its meshes.
#pragma once

#include <string>
#include <vector>

#include "scree/contact.h"

namespace scree {

struct CandidateOptions {
  ContactCandidates which = ContactCandidates::automatic;
  // In [0, 0.5]: a mesh gives some of its vertices, and no vertex is further away from the hull of these than this part
  // of the mesh's size, the longest edge of the box around it. 0: all vertices of its convex hull.
  double hull_accuracy = 0.01;
  void validate() const;  // throws InputError: field, value received, accepted range
};
// contact_candidates(model, which) of scree/contact.h is this one with the accuracy left alone.
std::vector<Collider> contact_candidates(const Model& model, const CandidateOptions& options);

// A collision mesh and the colliders that stand for it.
struct MeshPoints {
  std::string name, link;  // of the shape, as its points are named; of its body
  size_t vertices = 0;     // of the mesh
  size_t points = 0;       // colliders
  int dimension = 3;       // 2: the mesh is flat, 1: a line, 0: a point
  double size = 0;         // [m] longest edge of the box around it
  double distance = 0;     // [m] of the vertex that is furthest from the hull of the points; they are in it
};
// Of all meshes that `colliders`, made by contact_candidates, have points of.
std::vector<MeshPoints> mesh_points(const Model& model, const std::vector<Collider>& colliders);

}  // namespace scree
