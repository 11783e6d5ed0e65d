// Points of one body within a ball.
#pragma once

#include "math/spatial.h"

namespace scree {

// Those of a body are a tree in depth-first order: a cluster's parts follow it. `first` and `count` are of a list of
// points; a point has as many pairs as there are solids, one after the other.
struct PointCluster {
  int node, pair;     // pair: of its first point and the first solid
  V3<double> centre;  // [m] body frame
  double radius;      // [m] around the points, their radii included; larger by what rounding may do
  int first, count;
  int next;   // the cluster after this one and its parts
  bool leaf;  // it has no parts
};

}  // namespace scree
