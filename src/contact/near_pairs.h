// The pairs near the ground, found without a look at each of them: points of a body are gathered in balls within balls.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "contact/pairs.h"
#include "contact/point_cluster.h"

namespace scree {

class NearPairs {
 public:
  explicit NearPairs(const Pairs& pairs);

  // The pairs, in their order, that may have a gap_bound below `reach` [m]; no other pair has. Allocates only when
  // there are more of them than ever.
  const std::vector<int>& find(const Pairs& pairs, const Kinematics<double>& kin, double reach) {
    return find(pairs, kin, [&](const PointCluster&, const V3<double>&) { return reach; });
  }
  // Likewise where the reach is that of a cluster: reach(cluster, its centre at the pose), at least that of each of its
  // points.
  template <class Reach>
  const std::vector<int>& find(const Pairs& pairs, const Kinematics<double>& kin, Reach&& reach) {
    near_.clear();
    for (size_t solid = 0; solid < solids_.size(); ++solid)
      for (size_t k = 0; k < clusters_.size();) {
        const PointCluster& cluster = clusters_[k];
        const size_t node = static_cast<size_t>(cluster.node);
        const V3<double> centre = kin.R[node] * cluster.centre + kin.p[node];
        if (cluster.count > kFew && is_far(pairs, solid, kin.origin + centre, cluster, reach(cluster, centre))) {
          k = static_cast<size_t>(cluster.next);
          continue;
        }
        if (cluster.leaf)
          for (int p = cluster.first; p < cluster.first + cluster.count; ++p)
            near_.push_back(points_[static_cast<size_t>(p)] * static_cast<int>(solids_.size()) +
                            static_cast<int>(solid));
        ++k;
      }
    std::sort(near_.begin(), near_.end());
    return near_;
  }

  const std::vector<PointCluster>& clusters() const { return clusters_; }
  // Colliders of bodies by their number among these; pair = point * solid_count() + solid.
  const std::vector<int>& points() const { return points_; }
  int solid_count() const { return static_cast<int>(solids_.size()); }
  long looks() const { return looks_; }  // at clusters so far, as a measure of work

 private:
  static constexpr int kFew = 3;  // so many points are looked at one by one sooner than their cluster

  bool is_far(const Pairs& pairs, size_t solid, const V3<double>& centre, const PointCluster& cluster, double reach);
  void split(const Pairs& pairs, std::vector<int>& points, size_t first, size_t last, int node);

  std::vector<int> solids_;  // pairs of the first point
  std::vector<PointCluster> clusters_;
  std::vector<int> points_, near_;
  long looks_ = 0;
};

}  // namespace scree
