// Scenes of impacts: bodies that touch, read from a file, and the impact problem they make. Contacts come from
// closed-form geometry, mass matrix and Jacobians too.                                                   docs/impact.md
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "scree/impact.h"
#include "scree/outcome_set.h"
#include "scree/types.h"

namespace scree {

enum class ImpactShape { disk, box, wall, ball, links };
const char* impact_shape_name(ImpactShape shape);

// One link of a planar tree. Its frame has its origin in the joint that holds it; at angle 0 its axes are the parent's.
struct ImpactLink {
  std::string name;
  int parent = -1;                                  // -1: the position of the tree, which does not turn
  Eigen::Vector2d joint = Eigen::Vector2d::Zero();  // [m] in the parent's frame
  Eigen::Vector2d com = Eigen::Vector2d::Zero();    // [m] in its own frame
  double mass = 0, inertia = 0;                     // [kg], [kg m^2] about the centre of mass
  double angle = 0, rate = 0;                       // [rad], [rad/s], relative to the parent
  std::optional<Eigen::Vector2d> foot;              // [m] centre of the disc that may touch something
  double foot_radius = 0;                           // [m], 0: a point
};

// In the plane z = 0 everywhere and rotations are about z.
struct ImpactBody {
  std::string name;
  ImpactShape shape = ImpactShape::disk;
  bool fixed = false;
  double mass = 0;              // [kg], 0 for walls and what is fixed
  Mat3 inertia = Mat3::Zero();  // [kg m^2] about the centre, in world axes
  Pose X_WB;                    // centre of a disk, ball, box; a point of a wall; the base point of links
  double radius = 0;            // [m] disk, ball
  Vec3 size = Vec3::Zero();     // [m] box
  Vec3 normal = Vec3::Zero();   // wall, unit vector out of it
  Vec3 tangent = Vec3::Zero();  // wall: first tangent of its contacts; zero: the usual one
  std::vector<ImpactLink> links;
  // Entries of v: translation, then rotation, then the rates of links. Walls and what is fixed have none.
  int first_dof = 0, dofs = 0;
  bool rotates = true;
};

struct ImpactContact {
  std::string label;   // A, B, ..., Z, AA, AB, ...
  int a = -1, b = -1;  // bodies; normals point from a to b, velocities are those of b as a sees them
  int link_a = -1, link_b = -1;
  Vec3 point_a = Vec3::Zero(), point_b = Vec3::Zero();  // [m] where they touch, the same but for the gap
  Vec3 normal = Vec3::Zero();
  std::vector<Vec3> tangents;
  double gap = 0;  // [m]
};

struct ImpactDof {
  std::string name, unit;  // of a velocity
};

struct ImpactScene {
  std::filesystem::path file;
  std::string title;
  int dimension = 0;  // 2 or 3; 0: matrices, there is nothing to draw
  std::vector<ImpactBody> bodies;
  std::vector<ImpactContact> contacts;  // as many as rows of Jn; of matrices only labels
  std::vector<ImpactDof> dofs;
  std::optional<Vec3> along;  // bodies only move along this unit vector
  ImpactProblem problem;
  ImpactLaw law = ImpactLaw::reflections;
  OutcomeOptions sampling;  // of the set-valued law
  double touch = 1e-6;      // [m] gaps up to this are contacts
};

// Throws InputError "file:line: key: value, expected ...".
ImpactScene load_impact_scene(const std::filesystem::path& file);

// Velocity [m/s] of a point of a body (of one of its links) is this (3 x d) times v.
Eigen::Matrix3Xd impact_point_jacobian(const ImpactScene& scene, int body, int link, const Vec3& point);
// Where a point of a link's frame is [m].
Vec3 impact_link_point(const ImpactBody& body, int link, const Eigen::Vector2d& point);

}  // namespace scree
