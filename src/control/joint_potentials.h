// Potentials of the coordinate of a one-dof joint, on any scalar: control with its effort bound, and stops.
#pragma once

#include "math/pack.h"

namespace scree {

template <class T> struct Potential { T value, slope, curvature; };

// PD and feed-forward with the effort bound: slope = clamp(u, -effort, effort), u = s (x - x0). Without gains, s = 0, a
// constant force, checked to be within effort, whose potential is left to the caller.                    theory (5.2)
template <class T> Potential<T> bounded_spring(const T& u, const T& s, const T& effort) {
  const T zero(0), half(0.5);
  const Condition<T> controlled = s > zero, within = abs(u) <= effort, bounded = controlled & !within;
  const T stiff = select(controlled, s, T(1));
  const T energy = select(within, half * u * u / stiff, (abs(u) - half * effort) * effort / stiff);
  return {select(controlled, energy, zero), select(bounded, select(u < zero, -effort, effort), u),
          select(bounded, zero, s)};
}

// A soft stop entered by e > 0: stiffness rises linearly over `margin`, then stays. Twice differentiable. theory (5.3)
template <class T> Potential<T> stop(const T& e, const T& stiffness, const T& margin) {
  const T zero(0);
  const Condition<T> in = e > zero, soft = e < margin;
  if (!any(in)) return {zero, zero, zero};
  const T x = e - T(0.5) * margin;  // the force of a spring that starts half a margin inside
  const T value =
      select(soft, stiffness * e * e * e / (T(6) * margin), stiffness * (T(0.5) * x * x + margin * margin / T(24)));
  const T slope = select(soft, stiffness * e * e / (T(2) * margin), stiffness * x);
  return {select(in, value, zero), select(in, slope, zero),
          select(in, select(soft, stiffness * e / margin, stiffness), zero)};
}

// Both stops of a joint at x.
template <class T> Potential<T> stops(const T& x, const T& lower, const T& upper, const T& stiffness, const T& margin) {
  const Potential<T> up = stop<T>(x - upper, stiffness, margin), down = stop<T>(lower - x, stiffness, margin);
  return {up.value + down.value, up.slope - down.slope, up.curvature + down.curvature};
}

}  // namespace scree
