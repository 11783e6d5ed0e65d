// Loads and impacts in the two-stage scheme, on any scalar: the second stage extrapolates forces of the first, but not
// those that were not there before.                                                               theory (9.3), (9.10)
#pragma once

#include "dynamics/two_stages.h"
#include "math/pack.h"

namespace scree {

constexpr double kMostGrowth = 2;  // a load may double within a step and still be no impact

// theta, the part that may be extrapolated of a normal force `now` > 0 at the end of the first stage; `before`: the
// load at the start of the step [N]. A foot that sinks when the step starts is not to be thrown up again: u_n and u_1
// are its velocities along the normal at the start and at the end of the stage [m/s].
template <class T> T extrapolated_part(const T& before, const T& now, const T& u_n, const T& u_1) {
  const T slow(0.01), one(1);  // slow [m/s] out of the ground: rises by 5 micrometres
  const T theta = smaller(one, T(kMostGrowth) * before / now);
  const T u_c = u_n + T((1 - kGamma) / kGamma) * (u_1 - u_n);
  const T sinks = smaller(one, -u_n / slow - one);
  return select((u_n < -slow) & (u_c > slow), theta * (one - sinks * (u_c - slow) / (u_c - u_n)), theta);
}

// The factor of the forces of the second stage.
template <class T> T second_stage_scale(const T& theta) { return (T(1) - T(1 - kGamma) * theta) / T(kGamma); }

}  // namespace scree
