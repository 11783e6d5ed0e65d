// Pairs of colliders that may touch: A, a sphere of a body, and B, fixed to the world. The only file that knows how
// pairs are numbered, which bodies they join, and how dofs move them; everybody else asks by the number.
#pragma once

#include <algorithm>

#include "dynamics/kinematics.h"
#include "geometry/proximity.h"
#include "math/eigen.h"
#include "scree/world.h"

namespace scree {

inline V3<double> velocity_at(const Twist<double>& V, const V3<double>& x) { return V.v + cross(V.w, x); }

// Tangents of a contact frame: x along the world's x axis, or y where the normal is along x.
struct ContactFrame {
  V3<double> t1, t2;
  double spin;  // turn of t1 about n per change of n along t2
};
ContactFrame contact_frame(const V3<double>& n);

class Pairs {
 public:
  Pairs(const Model& model, const World& world);

  int count() const { return static_cast<int>(pairs_.size()); }
  int find(int a, int b) const;  // the pair of two colliders
  const ContactPair& colliders_of(int pair) const { return pairs_[static_cast<size_t>(pair)].colliders; }
  // The body that A belongs to. B does not move.
  int node_of(int pair) const { return pairs_[static_cast<size_t>(pair)].node; }
  const Collider& a(int pair) const { return world_.colliders[static_cast<size_t>(colliders_of(pair).a)]; }
  const Collider& b(int pair) const { return world_.colliders[static_cast<size_t>(colliders_of(pair).b)]; }
  // A as a sphere of its body.
  const Vec3& centre(int pair) const { return a(pair).X_BS.p; }                       // [m] body frame
  double radius(int pair) const { return pairs_[static_cast<size_t>(pair)].radius; }  // [m]
  double friction() const { return world_.surface.friction; }
  double share_of_weight() const { return share_of_weight_; }  // [N] of a collider of a body
  double firm_depth() const { return firm_depth_; }            // [m] scree::firm_depth

  // --- at a pose; positions are relative to kin.origin ---
  V3<double> core(const Kinematics<double>& kin, int pair) const {
    const size_t node = static_cast<size_t>(node_of(pair));
    return kin.R[node] * to_v3(centre(pair)) + kin.p[node];
  }
  // At most the gap, and cheap: to leave far pairs alone.
  double gap_bound(const Kinematics<double>& kin, int pair, const V3<double>& core) const {
    return distance_bound(b(pair), to_eigen(kin.origin + core)) - radius(pair);
  }
  Proximity proximity(const Kinematics<double>& kin, int pair, const V3<double>& core) const;
  Proximity proximity(const Kinematics<double>& kin, int pair) const { return proximity(kin, pair, core(kin, pair)); }

  // --- how it moves ---
  // The coordinates that move A and not B or the other way round, each once, last joint first. visit(coordinate, its
  // twist of A)
  template <class Visit> void for_coordinates(int pair, const Kinematics<double>& kin, Visit&& visit) const {
    scree::for_coordinates(tree_, kin, static_cast<size_t>(node_of(pair)), visit);
  }
  // The joint dofs instead, of which several may share a coordinate. visit(dof)
  template <class Visit> void for_dofs(int pair, Visit&& visit) const {
    for (int a = tree_.last_dof[static_cast<size_t>(node_of(pair))]; a >= 0;
         a = tree_.dof_parent[static_cast<size_t>(a)])
      visit(static_cast<size_t>(a));
  }
  // The bodies above A, itself first. visit(node)
  template <class Visit> void for_bodies(int pair, Visit&& visit) const {
    for (int i = node_of(pair); i >= 0; i = tree_.nodes[static_cast<size_t>(i)].parent) visit(static_cast<size_t>(i));
  }
  // Of a point x of A relative to the same one of B, with the twists of the bodies.
  V3<double> velocity(const std::vector<Twist<double>>& twists, int pair, const V3<double>& x) const {
    return velocity_at(twists[static_cast<size_t>(node_of(pair))], x);
  }
  // Likewise with rates of the coordinates, or by a displacement of them.
  V3<double> velocity(const Kinematics<double>& kin, int pair, const V3<double>& x,
                      const Eigen::VectorXd& rates) const {
    Twist<double> sum = {{0, 0, 0}, {0, 0, 0}};
    for_dofs(pair, [&](size_t a) { sum += rates(tree_.coordinate[a]) * kin.xi[a]; });
    return velocity_at(sum, x);
  }

 private:
  struct Pair {
    ContactPair colliders;
    int node;
    double radius;
  };
  const Tree& tree_;
  const World& world_;
  std::vector<Pair> pairs_;  // as contact_pairs has them
  double share_of_weight_, firm_depth_;
};

constexpr double kStandardGravity = 9.81;                  // [m/s^2] defines weights where there is no gravity
double weight_of(const Model& model, const World& world);  // [N]

// May the points of the model be moved within planes only that hold x and z of every contact frame? Joints turn about
// one axis and slide across it, the ground is made of planes along it.
bool moves_in_plane(const Model& model, const World& world);

}  // namespace scree
