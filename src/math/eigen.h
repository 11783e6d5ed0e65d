// Between the plain vectors of the recursions and Eigen's.
#pragma once

#include "math/spatial.h"
#include "scree/types.h"

namespace scree {

inline V3<double> to_v3(const Vec3& a) { return {a.x(), a.y(), a.z()}; }
inline M3<double> to_m3(const Mat3& a) { return {to_v3(a.col(0)), to_v3(a.col(1)), to_v3(a.col(2))}; }
inline Vec3 to_eigen(const V3<double>& a) { return {a.x, a.y, a.z}; }
inline Mat3 to_eigen(const M3<double>& a) {
  Mat3 r;
  r << to_eigen(a.x), to_eigen(a.y), to_eigen(a.z);
  return r;
}

}  // namespace scree
