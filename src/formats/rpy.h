// Rotations as URDF writes them: R = Rz(yaw) Ry(pitch) Rx(roll), angles (roll, pitch, yaw) in [rad].
#pragma once

#include <cmath>
#include <optional>

#include "scree/types.h"

namespace scree {

inline Mat3 rotation_from_rpy(const Vec3& rpy) {
  const double cr = std::cos(rpy(0)), sr = std::sin(rpy(0));
  const double cp = std::cos(rpy(1)), sp = std::sin(rpy(1));
  const double cy = std::cos(rpy(2)), sy = std::sin(rpy(2));
  Mat3 R;
  R << cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr,  //
      sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr,   //
      -sp, cp * sr, cp * cr;
  return R;
}

// Exact to rounding everywhere, gimbal lock (pitch = +-pi/2) included: yaw may be badly determined there, but roll and
// pitch are then read off Rz(-yaw) R = Ry(pitch) Rx(roll), which makes up for whatever yaw was chosen.
inline Vec3 rpy_from_rotation(const Mat3& R) {
  const double yaw = std::atan2(R(1, 0), R(0, 0));
  const double c = std::cos(yaw), s = std::sin(yaw);
  const double pitch = std::atan2(-R(2, 0), c * R(0, 0) + s * R(1, 0));
  const double roll = std::atan2(s * R(0, 2) - c * R(1, 2), c * R(1, 1) - s * R(0, 1));
  return {roll, pitch, yaw};
}

// Angles of which rotation_from_rpy makes R bit for bit, if there are any: found for nearly every R that it made.
std::optional<Vec3> exact_rpy(const Mat3& R);

}  // namespace scree
