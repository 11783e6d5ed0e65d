// A gap over a step as a cubic: where a pair closes, and where it nearly does.
#pragma once

#include <cmath>
#include <limits>
#include <utility>

namespace scree {

constexpr double kNever = std::numeric_limits<double>::infinity();

// A gap over a step, 0 <= s <= 1, by its values and slopes at both ends.                                theory (15.2)
struct GapCubic {
  GapCubic(double a, double da, double b, double db)
      : c0(a), c1(da), c2(3 * (b - a) - 2 * da - db), c3(2 * (a - b) + da + db), end(b) {
    const double root = c2 * c2 - 3 * c3 * c1;  // of the slope c1 + 2 c2 s + 3 c3 s^2
    if (root >= 0) {
      const double q = -(c2 + std::copysign(std::sqrt(root), c2));
      double s1 = c3 != 0 ? q / (3 * c3) : kNever, s2 = q != 0 ? c1 / q : kNever;
      if (s1 > s2) std::swap(s1, s2);
      for (const double s : {s1, s2})
        if (s > 0 && s < 1) turns[count++] = s;
    }
    turns[count] = 1;
  }
  double value(double s) const { return s == 1 ? end : ((c3 * s + c2) * s + c1) * s + c0; }

  // Where it first falls below zero; kNever: nowhere. A pair that has just opened starts at a gap of rounding and
  // rises.
  double first_fall() const {
    for (int k = 0; k < count; ++k) {
      double high = turns[k], low = turns[k + 1];
      if (value(low) >= 0 || value(high) < value(low)) continue;
      if (value(high) <= 0) {
        if (high == 0 && c1 > 0) continue;  // rounding: it rises first
        return high;
      }
      for (int i = 0; i < 60 && low - high > 1e-16; ++i) {
        const double middle = 0.5 * (high + low);
        (value(middle) > 0 ? high : low) = middle;
      }
      return low;
    }
    return kNever;
  }

  // Its first minimum between the ends if it is below `level`; kNever: none.
  double dip_below(double level) const {
    for (int k = 1; k < count; ++k)
      if (value(turns[k]) < level && value(turns[k]) < value(turns[k - 1]) && value(turns[k]) < value(turns[k + 1]))
        return turns[k];
    return kNever;
  }

  double c0, c1, c2, c3, end;
  double turns[4] = {0, 0, 0, 0};  // 0, zeros of the slope, 1
  int count = 1;                   // pieces
};

}  // namespace scree
