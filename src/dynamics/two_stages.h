// The two-stage scheme of second order.                                                              theory section 9
#pragma once

namespace scree {

constexpr double kGamma = 1 - 0.70710678118654752440;  // 1 - 1/sqrt(2): the first stage ends at kGamma h

}  // namespace scree
