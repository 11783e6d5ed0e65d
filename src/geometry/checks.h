// Numbers a user gave for the ground, checked where they enter.
#pragma once

#include <fmt/format.h>

#include <cmath>

#include "scree/error.h"
#include "scree/types.h"

namespace scree {

inline constexpr double kLargestLength = 1e12;  // [m], where ModelBuilder draws its line too

inline void check_number(double value, const char* what) {
  if (!(std::abs(value) <= kLargestLength))
    throw InputError(fmt::format("{} is {}, expected a finite number of at most {:g} m", what, value, kLargestLength));
}

inline void check_point(const Vec3& point, const char* what) {
  for (int k = 0; k < 3; ++k) check_number(point(k), what);
}

inline void check_length(double value, const char* what) {
  if (!(value >= 1e-6 && value <= kLargestLength))
    throw InputError(fmt::format("{} is {}, expected a number in [1e-6, {:g}] m", what, value, kLargestLength));
}

}  // namespace scree
