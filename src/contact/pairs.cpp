#include "contact/pairs.h"

#include <cmath>

namespace scree {
namespace {

// As many points as a box has corners may carry the weight at once, however many there are beside them.   theory (8.20)
constexpr size_t kMostCarry = 8;

}  // namespace

ContactFrame contact_frame(const V3<double>& n) {
  const V3<double> e = std::abs(n.x) < 0.9 ? V3<double>{1, 0, 0} : V3<double>{0, 1, 0};
  const double along = dot(e, n);
  const V3<double> t = e - along * n;
  const double length = std::sqrt(dot(t, t));
  const V3<double> t1 = (1 / length) * t;
  return {t1, cross(n, t1), -along / length};
}

Pairs::Pairs(const Model& model, const World& world)
    : tree_(tree_of(model)),
      world_(world),
      share_of_weight_(weight_of(model, world) /
                       static_cast<double>(std::clamp<size_t>(world.body_colliders(), 1, kMostCarry))),
      firm_depth_(scree::firm_depth(model, world)) {
  for (const ContactPair& pair : world.pairs()) {
    const Collider& a = world.colliders[static_cast<size_t>(pair.a)];
    pairs_.push_back({pair, a.body.value(), std::get<Sphere>(a.shape).radius});
  }
}

int Pairs::find(int a, int b) const {
  // Ordered by a, then by b.
  const auto less = [](const Pair& pair, const ContactPair& wanted) {
    return std::pair(pair.colliders.a, pair.colliders.b) < std::pair(wanted.a, wanted.b);
  };
  return static_cast<int>(std::lower_bound(pairs_.begin(), pairs_.end(), ContactPair{a, b}, less) - pairs_.begin());
}

Proximity Pairs::proximity(const Kinematics<double>& kin, int pair, const V3<double>& core) const {
  const SignedDistance at = distance(b(pair), to_eigen(kin.origin + core));
  const V3<double> n = to_v3(at.gradient);
  return {at.value - radius(pair), core, core - radius(pair) * n, n, to_m3(at.hessian)};
}

double weight_of(const Model& model, const World& world) {
  const double gravity = world.gravity.norm();
  return model.total_mass() * (gravity > 0 ? gravity : kStandardGravity);
}

bool moves_in_plane(const Model& model, const World& world) {
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
  for (const Collider& collider : world.colliders) {
    if (collider.body != kWorld) continue;
    if (!std::holds_alternative<Plane>(collider.shape)) return false;
    const V3<double> n = to_v3(collider.X_BS.R.col(2));
    if (std::abs(dot(axis, contact_frame(n).t1)) > kRounding || std::abs(dot(axis, n)) > kRounding) return false;
  }
  return true;
}

}  // namespace scree
