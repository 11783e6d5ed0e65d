#include <fmt/format.h>

#include <cmath>

#include "scree/contact.h"
#include "scree/error.h"

namespace scree {

void SmoothContactOptions::validate() const {
  const auto check = [](bool good, const char* field, double value, const char* expected) {
    if (!good) throw InputError(fmt::format("smooth contact: {} is {}, expected {}", field, value, expected));
  };
  check(normal_exponent > 1 && normal_exponent <= 6, "normal_exponent", normal_exponent, "a number in (1, 6]");
  if (form == Form::velocity)
    check(slip_exponent >= 1 && slip_exponent <= 6, "slip_exponent", slip_exponent, "a number in [1, 6]");
  else
    check(slip_exponent > 0 && slip_exponent <= 6, "slip_exponent", slip_exponent, "a number in (0, 6]");
  check(depth_exponent > 0 && depth_exponent <= 6, "depth_exponent", depth_exponent, "a number in (0, 6]");
  if (depth) check(*depth >= 1e-6 && *depth <= 10, "depth", *depth, "a number in [1e-6, 10] m");
  if (stiffness)
    check(*stiffness > 0 && *stiffness <= 1e30, "stiffness", *stiffness, "a number in (0, 1e30] N/m^normal_exponent");
  check(speed >= 1e-6 && speed <= 1e6, "speed", speed, "a number in [1e-6, 1e6] m/s");
  if (drag) check(*drag >= 0 && *drag <= 1e30, "drag", *drag, "a number in [0, 1e30] N s^b/m^(b+c+1)");
  check(creep >= 1e-6 && creep <= 10, "creep", creep, "a number in [1e-6, 10] m/s");
  check(damping >= 0 && damping <= 1e3, "damping", damping, "a number in [0, 1000] s/m");
}

}  // namespace scree
