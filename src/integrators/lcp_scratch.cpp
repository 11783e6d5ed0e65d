#include "integrators/lcp_scratch.h"

#include "math/polygon.h"
#include "scree/world.h"

namespace scree {

LcpScratch::LcpScratch(const World& world) : slot_of(world.pair_count(), -1) {
  touching.reserve(2 * slot_of.size());
  const int directions = world.impact.friction_directions;
  polygon.resize(2, directions);
  for (int k = 0; k < directions; ++k) {
    const PolygonCorner d = polygon_corner(k, directions);
    polygon.col(k) << d.x, d.y;
  }
}

void LcpScratch::start() {
  for (const Slot& slot : slots) slot_of[static_cast<size_t>(slot.pair)] = -1;
  slots.clear();
  columns = unknowns = 0;
}

void LcpScratch::reserve(int nv) {
  const auto grow = [](Eigen::VectorXd& x, Eigen::Index size) {
    if (x.size() < size) x.resize(2 * size);
  };
  grow(J_, nv * columns);
  grow(Y_, nv * columns);
  grow(G_, columns * columns);
  grow(M_, unknowns * unknowns);
  grow(u, columns);
  grow(f, columns);
  grow(q, unknowns);
  grow(z, unknowns);
  lemke.reserve(unknowns);
}

V3<double> force_of(const LcpScratch& lcp, const LcpScratch::Slot& slot) {
  V3<double> force = lcp.f(slot.column) * slot.n;
  for (int k = 0; k < slot.tangents; ++k) force += lcp.f(slot.column + 1 + k) * slot.tangent[k];
  return force;
}

}  // namespace scree
