#include "chains.h"

#include <fmt/format.h>

#include <numbers>

namespace scree {

Model floating_chain(int links, int points) {
  constexpr double L = kLinkLength, r = kLinkRadius, kDensity = 1000;  // [kg/m^3]
  constexpr double shaft = kDensity * std::numbers::pi * r * r * L,
                   caps = kDensity * std::numbers::pi * r * r * r * 4 / 3;
  // Cylinder, and two half balls whose centres of mass are 3/8 r beyond its ends.
  constexpr double along = shaft * r * r / 2 + caps * r * r * 2 / 5;
  constexpr double across = shaft * (L * L / 12 + r * r / 4) + caps * (r * r * 2 / 5 + L * L / 4 + L * r * 3 / 8);
  ModelBuilder builder("chain");
  std::string parent = "world";
  for (int i = 0; i < links; ++i) {
    Body body;
    body.name = fmt::format("link{}", i + 1);
    body.mass = shaft + caps;
    body.com = Vec3(L / 2, 0, 0);
    body.inertia = Vec3(along, across, across).asDiagonal();
    Joint joint;
    joint.name = i == 0 ? "base" : fmt::format("joint{}", i);
    joint.type = i == 0 ? JointType::planar : JointType::revolute;
    joint.axis = Vec3::UnitY();
    if (i > 0) {
      joint.X_PJ.p = Vec3(L, 0, 0);
      joint.limits.upper = 2 * std::numbers::pi / 3;
      joint.limits.lower = -joint.limits.upper;
    }
    const std::string name = body.name;
    builder.add_body(std::move(body), parent, std::move(joint));
    for (int k = i == 0 ? 0 : 1; k <= points; ++k)
      builder.add_contact_point(name, {fmt::format("{}:{}", name, k), BodyIndex(0), Vec3(L * k / points, 0, 0), r});
    parent = name;
  }
  return builder.build();
}

}  // namespace scree
