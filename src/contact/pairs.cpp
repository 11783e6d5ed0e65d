#include "contact/pairs.h"

#include <cmath>

namespace scree {

ContactFrame contact_frame(const V3<double>& n) {
  const V3<double> e = std::abs(n.x) < 0.9 ? V3<double>{1, 0, 0} : V3<double>{0, 1, 0};
  const double along = dot(e, n);
  const V3<double> t = e - along * n;
  const double length = std::sqrt(dot(t, t));
  const V3<double> t1 = (1 / length) * t;
  return {t1, cross(n, t1), -along / length};
}

Pairs::Pairs(const Model& model, const ContactWorld& world) : tree_(tree_of(model)), world_(world) {
  const int points = static_cast<int>(world.points.size()),
            solids = static_cast<int>(world.environment.solids().size());
  pairs_.reserve(world.pair_count());
  for (int point = 0; point < points; ++point)
    for (int solid = 0; solid < solids; ++solid)
      pairs_.push_back({point, solid, world.points[static_cast<size_t>(point)].body.value()});
}

Proximity Pairs::proximity(const Kinematics<double>& kin, int pair, const V3<double>& core) const {
  const double radius = point(pair).radius;
  const SignedDistance b =
      world_.environment.distance(static_cast<size_t>(solid_of(pair)), to_eigen(kin.origin + core));
  const V3<double> n = to_v3(b.gradient);
  return {b.value - radius, core, core - radius * n, n, to_m3(b.hessian)};
}

double weight_of(const Model& model, double gravity) {
  return model.total_mass() * (gravity > 0 ? gravity : kStandardGravity);
}

double share_of_weight(const Model& model, size_t points, double gravity) {
  return weight_of(model, gravity) / static_cast<double>(std::max<size_t>(1, points));
}

bool moves_in_plane(const Model& model, const Environment& environment) {
  constexpr double kRounding = 1e-12;
  const Tree& tree = tree_of(model);
  Kinematics<double> kin(tree);
  const Eigen::VectorXd q = model.neutral_position(), rest = Eigen::VectorXd::Zero(model.nv());
  forward_kinematics(tree, q.data(), rest.data(), kin);
  V3<double> axis = {0, 0, 0};
  for (const Twist<double>& xi : kin.xi)
    if (dot(xi.w, xi.w) > 0) axis = (1 / std::sqrt(dot(xi.w, xi.w))) * xi.w;
  if (!(dot(axis, axis) > 0)) return false;
  for (const Node& node : tree.nodes)
    if (has_chart(node)) return false;
  for (const Twist<double>& xi : kin.xi) {
    const V3<double> off = cross(axis, xi.w);
    if (dot(off, off) > kRounding * kRounding || std::abs(dot(axis, xi.v)) > kRounding) return false;
  }
  for (const Solid& solid : environment.solids()) {
    const auto* plane = std::get_if<GroundPlane>(&solid.shape);
    if (!plane) return false;
    const V3<double> n = to_v3(plane->normal);
    if (std::abs(dot(axis, contact_frame(n).t1)) > kRounding || std::abs(dot(axis, n)) > kRounding) return false;
  }
  return true;
}

}  // namespace scree
