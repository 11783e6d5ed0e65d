#include "contact/near_pairs.h"

#include <limits>
#include <map>

namespace scree {
namespace {

constexpr size_t kLeaf = 8;  // points looked at one by one

}  // namespace

NearPairs::NearPairs(const Pairs& pairs) {
  for (int pair = 0; pair < pairs.count() && pairs.colliders_of(pair).a == pairs.colliders_of(0).a; ++pair)
    solids_.push_back(pair);
  std::map<int, std::vector<int>> points_of;  // by body
  for (int point = 0; !solids_.empty() && point < pairs.count() / solid_count(); ++point)
    points_of[pairs.node_of(point * solid_count())].push_back(point);
  for (auto& [node, points] : points_of) split(pairs, points, 0, points.size(), node);
  near_.reserve(static_cast<size_t>(pairs.count()));
}

// Halves the points along the longest edge of the box around them.
void NearPairs::split(const Pairs& pairs, std::vector<int>& points, size_t first, size_t last, int node) {
  const auto centre_of = [&](int point) -> const Vec3& { return pairs.centre(point * solid_count()); };
  Vec3 low = centre_of(points[first]), high = low;
  double largest = 0;
  for (size_t k = first; k < last; ++k) {
    low = low.cwiseMin(centre_of(points[k]));
    high = high.cwiseMax(centre_of(points[k]));
    largest = std::max(largest, centre_of(points[k]).cwiseAbs().maxCoeff());
  }
  const Vec3 centre = (low + high) / 2;
  double radius = 0;
  for (size_t k = first; k < last; ++k)
    radius = std::max(radius, (centre_of(points[k]) - centre).norm() + pairs.radius(points[k] * solid_count()));
  const size_t index = clusters_.size();
  const bool leaf = last - first <= kLeaf;
  clusters_.push_back({.node = node,
                       .pair = points[first] * solid_count(),
                       .centre = to_v3(centre),
                       .radius = radius * (1 + 1e-12) + 1e-12 + 1e-14 * largest,
                       .first = static_cast<int>(points_.size()),
                       .count = static_cast<int>(last - first),
                       .next = 0,
                       .leaf = leaf});
  if (leaf) {
    points_.insert(points_.end(), points.begin() + static_cast<std::ptrdiff_t>(first),
                   points.begin() + static_cast<std::ptrdiff_t>(last));
  } else {
    Eigen::Index axis = 0;
    (high - low).maxCoeff(&axis);
    const size_t middle = (first + last) / 2;
    const auto at = [&](size_t k) { return points.begin() + static_cast<std::ptrdiff_t>(k); };
    std::nth_element(at(first), at(middle), at(last), [&](int a, int b) {
      const double x = centre_of(a)(axis), y = centre_of(b)(axis);
      return x < y || (x == y && a < b);
    });
    split(pairs, points, first, middle, node);
    split(pairs, points, middle, last, node);
  }
  clusters_[index].next = static_cast<int>(clusters_.size());
}

// Bounds of distances change no faster than distances do, but for those of points below a height field, which are
// negative: a cluster that holds one reaches across the surface.
bool NearPairs::is_far(const Pairs& pairs, size_t solid, const V3<double>& centre, const PointCluster& cluster,
                       double reach) {
  ++looks_;
  const double rounding = 1e-14 * (std::abs(centre.x) + std::abs(centre.y) + std::abs(centre.z));
  const double bound = distance_bound(pairs.b(solids_[solid]), to_eigen(centre));
  // Not finite: near.
  return bound - cluster.radius - rounding > std::max(reach, 0.0);
}

}  // namespace scree
