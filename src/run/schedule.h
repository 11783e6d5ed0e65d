#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace scree {

// Row k is at k dt, the last one at the duration. A last step shorter than a trillionth of the duration is rounding
// (1.1 / 0.1 = 11.000000000000002) and is not taken.
struct Schedule {
  double dt, duration;
  size_t steps;

  Schedule(double dt_, double duration_)
      : dt(dt_),
        duration(duration_),
        steps(static_cast<size_t>(std::max(1.0, std::ceil(duration_ / dt_ * (1 - 1e-12))))) {}
  double time(size_t row) const { return row == steps ? duration : static_cast<double>(row) * dt; }
  double step(size_t row) const {  // that leads from row - 1 to row; exactly dt unless the last one is cut short
    const double last = duration - time(steps - 1);
    return row < steps || std::abs(last - dt) <= 1e-12 * duration ? dt : last;
  }
};

}  // namespace scree
