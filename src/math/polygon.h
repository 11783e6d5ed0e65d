// The regular polygons that stand for circles of friction.
#pragma once

#include <cmath>
#include <numbers>

namespace scree {

struct PolygonCorner {
  double x, y;
};

// Corner k of `count` on the unit circle, at the angle 2 pi k / count; those on the axes exactly.
inline PolygonCorner polygon_corner(int k, int count) {
  if (4 * k % count == 0) {
    constexpr PolygonCorner kAxes[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    return kAxes[4 * k / count];
  }
  const double angle = 2 * std::numbers::pi * k / count;
  return {std::cos(angle), std::sin(angle)};
}

}  // namespace scree
