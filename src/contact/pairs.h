// Pairs of things that may touch: today a contact point of the model and a solid of the ground. The only file that
// knows how pairs are numbered, which bodies they join, and how dofs move them; everybody else asks by the number.
#pragma once

#include <algorithm>

#include "dynamics/kinematics.h"
#include "geometry/proximity.h"
#include "math/eigen.h"
#include "scree/contact.h"

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
  Pairs(const Model& model, const ContactWorld& world);

  int count() const { return static_cast<int>(pairs_.size()); }
  int index(int point, int solid) const { return point * static_cast<int>(world_.environment.solids().size()) + solid; }
  int point_of(int pair) const { return pairs_[static_cast<size_t>(pair)].point; }
  int solid_of(int pair) const { return pairs_[static_cast<size_t>(pair)].solid; }
  // The body that A belongs to. B does not move.
  int node_of(int pair) const { return pairs_[static_cast<size_t>(pair)].node; }
  const ContactPoint& point(int pair) const { return world_.points[static_cast<size_t>(point_of(pair))]; }
  const Solid& solid(int pair) const { return world_.environment.solids()[static_cast<size_t>(solid_of(pair))]; }

  // --- at a pose; positions are relative to kin.origin ---
  V3<double> core(const Kinematics<double>& kin, int pair) const {
    const size_t node = static_cast<size_t>(node_of(pair));
    return kin.R[node] * to_v3(point(pair).p_B) + kin.p[node];
  }
  // At most the gap, and cheap: to leave far pairs alone.
  double gap_bound(const Kinematics<double>& kin, int pair, const V3<double>& core) const {
    return world_.environment.distance_bound(static_cast<size_t>(solid_of(pair)), to_eigen(kin.origin + core)) -
           point(pair).radius;
  }
  Proximity proximity(const Kinematics<double>& kin, int pair, const V3<double>& core) const;
  Proximity proximity(const Kinematics<double>& kin, int pair) const { return proximity(kin, pair, core(kin, pair)); }

  // --- how it moves ---
  // The dofs that move A and not B or the other way round, last first. visit(dof)
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
  // Likewise with rates of the dofs, or by a displacement of them.
  V3<double> velocity(const Kinematics<double>& kin, int pair, const V3<double>& x,
                      const Eigen::VectorXd& rates) const {
    Twist<double> sum = {{0, 0, 0}, {0, 0, 0}};
    for_dofs(pair, [&](size_t a) { sum += rates(static_cast<Eigen::Index>(a)) * kin.xi[a]; });
    return velocity_at(sum, x);
  }

 private:
  struct Pair {
    int point, solid, node;
  };
  const Tree& tree_;
  const ContactWorld& world_;
  std::vector<Pair> pairs_;  // points in their order, and of each the solids in theirs
};

constexpr double kStandardGravity = 9.81;              // [m/s^2] defines weights where there is no gravity
double weight_of(const Model& model, double gravity);  // [N]
double share_of_weight(const Model& model, size_t points, double gravity);  // [N] of a contact point

// May the points of the model be moved within planes only that hold x and z of every contact frame? Joints turn about
// one axis and slide across it, the ground is made of planes along it.
bool moves_in_plane(const Model& model, const Environment& environment);

}  // namespace scree
