#include "scree/environment.h"

namespace scree {

SignedDistance Environment::distance(size_t solid, const Vec3& p) const {
  const GroundPlane& plane = std::get<GroundPlane>(solids_[solid].shape);
  return {plane.normal.dot(p - plane.point), plane.normal, Mat3::Zero()};
}

double Environment::distance_bound(size_t solid, const Vec3& p) const { return distance(solid, p).value; }

void Environment::add_plane(const Vec3& point, const Vec3& normal, std::string name) {
  solids_.push_back({std::move(name), GroundPlane{point, normal.normalized()}});
}

}  // namespace scree
