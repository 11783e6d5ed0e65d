// Dry friction of joints in implicit steps: on a side of its bounds it is linear, and the sides are searched for.
// theory (5.8) to (5.10)
//
// Includes no Eigen: lanes do so, too.
#pragma once

#include <limits>

#include "control/joint_potentials.h"

namespace scree {

// A joint that is held by friction moves, at the friction it is good for, with this.
constexpr double kJointCreep = 1e-6;  // [rad/s] or [m/s]

// By the displacement d from rest in h, on a side: 1 and -1, slides that way; 0, sticks.               theory (5.8)
template <class T> Potential<T> dry_friction(const T& d, const T& h, const T& friction, const T& side) {
  const T zero(0), half(0.5), stiff = friction / (T(kJointCreep) * h);
  const Condition<T> sticks = abs(side) < half;
  const T pull = select(sticks, stiff * d, side * friction);
  return {select(sticks, half * pull * d, pull * d), pull, select(sticks, stiff, zero)};
}

// The side that a displacement belongs to.
template <class T> int side_of_slip(double d, double h) {  // for each T its own: see math/pack.h
  return d > kJointCreep * h ? 1 : d < -kJointCreep * h ? -1 : 0;
}

// All joints that are not on their side move at once, by one side at most, as long as there are fewer of them each
// time, or soon again; if not, the first of them alone, which ends where stiffness is symmetric and positive definite
// (Judice and Pires 1994).                                                                              theory (5.10)
struct SideSearch {
  int fewest = std::numeric_limits<int>::max(), patience = 0;
};
// wanted(k), side(k) of `count` joints, set_side(k, side). False: all were on their side.
template <class Wanted, class Side, class SetSide>
bool move_sides(int count, SideSearch& search, Wanted wanted, Side side, SetSide set_side) {
  constexpr int kPatience = 6;
  int wrong = 0;
  for (int k = 0; k < count; ++k) wrong += wanted(k) != side(k) ? 1 : 0;
  if (wrong == 0) return false;
  if (wrong < search.fewest) {
    search.fewest = wrong;
    search.patience = kPatience;
  } else if (search.patience > 0) {
    --search.patience;
  }
  for (int k = 0; k < count; ++k) {
    const int to = wanted(k), at = side(k);
    if (to == at) continue;
    set_side(k, to > at ? at + 1 : at - 1);
    if (search.patience == 0) break;
  }
  return true;
}

}  // namespace scree
