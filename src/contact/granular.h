// The law `granular` on checked data; load_granular (scree/contact.h) reads it from a file.
#pragma once

#include <memory>
#include <vector>

#include "scree/contact.h"

namespace scree {

// Wrenches on a grid of depth and inclination, in the table's frame (docs/contact.md).
struct GranularTable {
  std::vector<double> depths;        // > 0 [m], increasing; at depth 0 every wrench is zero
  std::vector<double> inclinations;  // [rad], increasing
  int vertex_count = 0;              // per node
  Wrenches vertices;                 // [N], [N m], or per N of the share of the weight; vertex k of node (i, j) in
                                     // column (i inclinations.size() + j) vertex_count + k
  Vec3 lateral = Vec3::UnitY();      // unit, in body axes
  bool share_of_weight = false;      // scale by ContactGeometry::share_of_weight
};

std::shared_ptr<const ContactLaw> make_granular(GranularTable table);

}  // namespace scree
