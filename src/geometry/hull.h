// Convex hulls of points: their vertices, how far a point is from them, and fewer vertices that do nearly as well.
#pragma once

#include <vector>

#include "scree/types.h"

namespace scree {

struct Hull {
  int dimension = 0;          // 0: all points are one, 1: on a line, 2: in a plane, up to rounding; 3
  std::vector<int> vertices;  // increasing indices of points, none at one place
  double distance = 0;        // [m] no point is further away from the hull of these
};
int hull_dimension(const std::vector<Vec3>& points);
Hull convex_hull(const std::vector<Vec3>& points);  // of at least one, all finite

// Few of the points, whose hull none is further away from than `accuracy` > 0 [m]. Of those furthest along one of
// `directions` the corners stay. Much cheaper than the whole hull.
Hull reduced_hull(const std::vector<Vec3>& points, double accuracy, const std::vector<Vec3>& directions);

double hull_volume(const std::vector<Vec3>& points);  // [m^3], 0 of flat ones

// [m] from p to the convex hull of `corners`, up to 1e-12 of how far away they are.
double distance_to_hull(const std::vector<Vec3>& corners, const Vec3& p);
double furthest_from_hull(const std::vector<Vec3>& corners,
                          const std::vector<Vec3>& points);  // [m] the largest of them

}  // namespace scree
