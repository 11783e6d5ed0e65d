// Contact: what force the ground can answer with where something touches it.
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "scree/collider.h"
#include "scree/model.h"

namespace scree {

using Wrenches = Eigen::Matrix<double, 6, Eigen::Dynamic>;  // one column each: force [N], moment [N m]

// What a contact law may look at. The contact frame C sits at the surface point with z along the ground's normal and x
// along the world's x axis, as far as the ground allows.
struct ContactGeometry {
  double depth = 0;              // [m] of the sphere's lowest point below the surface, negative in the air
  Mat3 R_CB = Mat3::Identity();  // orientation of the touching body in the contact frame
  Vec3 p_B = Vec3::Zero();       // [m] the contact point on the body, constant
  double share_of_weight = 0;    // [N] weight of the model over the number of its colliders, at most 8; constant
  double firm_depth = 1e-3;      // [m] what laws without a depth of their own take, constant: firm_depth()
  double friction = 0;           // mu: World::surface
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

  // Where a point can be moved along x and z of the contact frame alone, as in a planar model, these vertices do all
  // that the others could. Empty: all of them.
  virtual std::vector<int> vertices_in_plane() const { return {}; }

  // False: the moments are zero everywhere, which makes steps cheaper.
  virtual bool has_moments() const { return true; }

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

  // Numbers of the law that a step can be differentiated by (scree/derivatives.h) beside friction, and the same law
  // with another value of one of them. docs/derivatives.md lists those of `coulomb`.
  virtual int parameter_count() const { return 0; }
  virtual double parameter(int) const { return 0; }
  virtual std::shared_ptr<const ContactLaw> with_parameter(int, double) const { return nullptr; }
};

// v_j = (c d^p + zeta) (n + mu t_j), d = max(0, depth), t_j at the angles 2 pi j / directions from the x axis of the
// contact frame.                                                                                        theory (8.2)
struct CoulombOptions {
  int directions = 16;               // >= 3 and at most 64; between two of them friction is cos(pi/directions) of mu
  int exponent = 3;                  // 2, 3 or 4: p
  std::optional<double> depth = {};  // > 0 [m] where a point carries its share of the weight: c = share / depth^p;
                                     // firm_depth() otherwise
  std::optional<double> stiffness = {};  // > 0 [N/m^p] c itself, in place of `depth`
  double air_force = 0;                  // >= 0 [N] zeta: available at ANY height, also far above the ground
  void validate() const;                 // throws InputError: field, value received, accepted range
};
std::shared_ptr<const ContactLaw> make_coulomb(const CoulombOptions& options);

// A flat patch fixed to the body, centred at the contact point: it presses anywhere in its polygon, with c d^p where a
// corner is d deep; friction mu N and torsion mu N lambda stay within an ellipsoid, replaced by an inscribed polytope.
// corners x ((2 rings + 1) directions + 2) vertices, at most 512.                             theory (8.13) to (8.16)
struct PatchOptions {
  int directions = 16;                   // as CoulombOptions
  int exponent = 3;                      // likewise
  std::optional<double> depth = {};      // likewise: c = share / depth^p
  std::optional<double> stiffness = {};  // likewise
  double radius = 0;  // >= 0 [m] of a disc; at most 10. 0: a point, with torsion if torsion_radius > 0
  int corners = 4;    // >= 3 and at most 32: of the polygon inscribed in the disc
  std::optional<std::array<double, 2>> size = {};  // > 0 [m] edges of a rectangle, in place of `radius`
  Vec3 axis = -Vec3::UnitZ();  // normal of the patch, body axes, either sign; x of the patch is the body's x axis
                               // projected onto it, y where it faces x
  std::optional<double> torsion_radius = {};  // >= 0 [m] lambda; otherwise that of uniform pressure
  int rings = 1;                              // >= 0 and at most 8: circles of latitude on each side of the equator
  double effective_torsion_radius() const;  // [m] lambda: 2/3 of the radius, the rectangle's mean distance, or as given
  double polytope_bound() const;  // friction in any direction of slip is at least this part of the ellipsoid's
  void validate() const;          // throws InputError: field, value received, accepted range
};
std::shared_ptr<const ContactLaw> make_patch(const PatchOptions& options);

// A granular medium such as sand: the wrenches it can exert against depth and inclination of the leg, from a table file
// (TOML, docs/contact.md), bilinear between its nodes and clamped beyond them. Not differentiable. Throws InputError:
// file:line, entry, value received, expected.
std::shared_ptr<const ContactLaw> load_granular(const std::filesystem::path& table);

// Which points of a model may touch, as colliders: spheres of its bodies.
enum class ContactCandidates {
  automatic,  // the named contact points if the model has any, else those of its collision shapes
  named,      // Model::contact_points()
  shapes,     // from collision shapes: sphere centres, capsule ends (with radius), box corners, cylinder rims (8 points
              // each), some vertices of a mesh's convex hull (scree/candidates.h)
  all,        // both
};
std::vector<Collider> contact_candidates(const Model& model, ContactCandidates which);
// [m] z of the lowest point of the colliders of bodies; infinite if there are none.
double lowest_point(const Model& model, const std::vector<Collider>& colliders, const Eigen::VectorXd& q);

// What touches is made of. One surface for all that touches.
struct Surface {
  double friction = 0.7;   // >= 0, Coulomb's mu; at most 100. pbd-friction and pbfd have a drag of their own instead
  double restitution = 0;  // in [0, 1], of `event`: as its law of impacts takes it, docs/impact.md
  void validate() const;   // throws InputError: field, value received, accepted range
};

// Contact as a smooth force, for pbd-friction, pbfd and pbfd-coulomb. A point at depth d > 0 that slips with the
// velocity u feels along the normal n and against u                                                     theory (11.1)
// to (11.5)
//   C_perp d^alpha n                  all three; the names of the PBFD paper in brackets below
//   -(beta+1) C_par |u|^(beta-1) u d^(gamma+1)                     pbd-friction and pbfd
//   -friction C_perp d^alpha u / sqrt(|u|^2 + creep^2)             pbfd-coulomb
struct SmoothContactOptions {
  double normal_exponent = 2;            // alpha, > 1 and at most 6
  double slip_exponent = 1;              // beta, >= 1 (printed form: > 0) and at most 6
  double depth_exponent = 1;             // gamma, > 0 and at most 6
  std::optional<double> depth = {};      // > 0 [m] where a point carries its share of the weight: C_perp = share /
                                         // depth^alpha; 5 firm_depth() otherwise: an undamped spring is better soft
  std::optional<double> stiffness = {};  // > 0 [N/m^alpha] C_perp itself, in place of `depth`
  double speed = 0.2;               // > 0 [m/s] of the slip at which friction equals the normal force of a point that
                                    // carries its share: C_par = share / ((beta+1) speed^beta depth^(gamma+1))
  std::optional<double> drag = {};  // >= 0 [N s^beta / m^(beta+gamma+1)] C_par itself, in place of `speed`
  // velocity: u is the displacement over the step, divided by it. printed: eq. 11 and 12 as the paper prints them, with
  // the displacement itself and, of pbfd, |u|^beta in place of |u|^(beta-1): friction then depends on the step.
  enum class Form { velocity, printed } form = Form::velocity;
  double creep = 0.002;   // > 0 [m/s] at this speed friction is mu/sqrt(2): a body on a slope creeps slower than that
  double damping = 0;     // >= 0 [s/m] of pbfd-coulomb: the normal force times max(0, 1 - damping u.n)
  void validate() const;  // throws InputError: field, value received, accepted range
};

// One contact at the end of a step, world axes.
struct Contact {
  int a = 0, b = 0;              // indices into World::colliders: of a body, and of the ground it touches
  Vec3 position = Vec3::Zero();  // [m] the surface point the wrench acts at
  Vec3 normal = Vec3::UnitZ();   // out of b
  Vec3 force = Vec3::Zero();     // [N] on a
  Vec3 moment = Vec3::Zero();    // [N m] about `position`
  double depth = 0;              // [m]
};

}  // namespace scree
