// Contact: which points may touch which ground, and what force the ground can answer with.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "scree/environment.h"
#include "scree/model.h"

namespace scree {

using Wrenches = Eigen::Matrix<double, 6, Eigen::Dynamic>;  // one column each: force [N], moment [N m]

// What a contact law may look at. The contact frame C sits at the surface point with z along the ground's normal and x
// along the world's x axis, as far as the ground allows.
struct ContactGeometry {
  double depth = 0;              // [m] of the sphere's lowest point below the surface, negative in the air
  Mat3 R_CB = Mat3::Identity();  // orientation of the touching body in the contact frame
  Vec3 p_B = Vec3::Zero();       // [m] the contact point on the body, constant
  double share_of_weight = 0;    // [N] weight of the model over the number of its contact points, constant
};

// A contact law: the convex set of wrenches the ground can exert at one contact, as the polytope
//   { sum_j v_j w_j :  w_j >= 0,  sum_j w_j <= 1 }                                                     theory (8.1)
// whose vertices v_j depend on the pose. Zero is always in it. docs/contact.md shows how to write one.
class ContactLaw {
 public:
  virtual ~ContactLaw() = default;
  virtual int vertex_count() const = 0;  // >= 1, the same everywhere
  // The vertices in the axes of the contact frame, moments about the surface point. 3-D laws leave moments zero.
  virtual void vertices(const ContactGeometry& geometry, Eigen::Ref<Wrenches> out) const = 0;

  // d(sum_j v_j w_j): by depth [N/m, N] and by a turn of the body [per rad, about the axes of the contact frame].
  struct Derivative {
    Eigen::Matrix<double, 6, 1> by_depth = Eigen::Matrix<double, 6, 1>::Zero();
    Eigen::Matrix<double, 6, 3> by_turn = Eigen::Matrix<double, 6, 3>::Zero();
  };
  // False: not offered, and only the zeroth-order integrators (-zonmdp) and ne-mdp can use the law.
  virtual bool differentiable() const { return false; }
  virtual Derivative derivative(const ContactGeometry&, const Eigen::Ref<const Eigen::VectorXd>&) const { return {}; }

  // The law exerts nothing where depth < -reach() [m].
  virtual double reach() const { return 0; }
};

// v_j = (c d^p + zeta) (n + mu t_j), d = max(0, depth), t_j at the angles 2 pi j / directions from the x axis of the
// contact frame.                                                                                        theory (8.2)
struct CoulombOptions {
  double friction = 0.7;            // >= 0, mu; at most 100
  int directions = 6;               // >= 3 and at most 64
  int exponent = 3;                 // 2, 3 or 4: p
  double depth = 0.015;             // > 0 [m] where a point carries its share of the weight: c = share / depth^p
  std::optional<double> stiffness;  // > 0 [N/m^p] c itself, in place of `depth`
  double air_force = 0;             // >= 0 [N] zeta: available at ANY height, also far above the ground
  void validate() const;            // throws InputError: field, value received, accepted range
};
std::shared_ptr<const ContactLaw> make_coulomb(const CoulombOptions& options);

// A granular medium such as sand: the wrenches it can exert against depth and inclination of the leg, from a table file
// (TOML, docs/contact.md), bilinear between its nodes and clamped beyond them. Not differentiable. Throws InputError:
// file:line, entry, value received, expected.
std::shared_ptr<const ContactLaw> load_granular(const std::filesystem::path& table);

// Which points of a model may touch.
enum class ContactCandidates {
  automatic,  // the named contact points if the model has any, else those of its collision shapes
  named,      // Model::contact_points()
  shapes,     // from collision shapes: sphere centres, capsule ends (with radius), box corners, cylinder rims (8 points
              // each), vertices of a mesh's convex hull
  all,        // both
};
std::vector<ContactPoint> contact_candidates(const Model& model, ContactCandidates which);

// The ground, the law and the points that may touch, for one model. Immutable while simulations run on it.
struct ContactWorld {
  Environment environment;
  std::shared_ptr<const ContactLaw> law = make_coulomb({});  // never null
  std::vector<ContactPoint> points;                          // at most 6000 / vertex_count() of the law
  size_t pair_count() const { return points.size() * environment.solids().size(); }
};

// One contact at the end of a step, world axes.
struct Contact {
  int point = 0;                 // index into ContactWorld::points
  int solid = 0;                 // index into Environment::solids()
  Vec3 position = Vec3::Zero();  // [m] the surface point the wrench acts at
  Vec3 normal = Vec3::UnitZ();   // out of the ground
  Vec3 force = Vec3::Zero();     // [N] on the robot
  Vec3 moment = Vec3::Zero();    // [N m] about `position`
  double depth = 0;              // [m]
};

}  // namespace scree
