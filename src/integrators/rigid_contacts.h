// Gaps and Jacobians of pairs of point and solid at a pose, for rigid contact. May allocate.
#pragma once

#include <array>
#include <vector>

#include "scree/contact.h"
#include "scree/dynamics.h"

namespace scree {

// Pairs at a pose. Rows of Jn, Jt as in ImpactProblem.
struct ContactRows {
  std::vector<int> pairs;
  Eigen::VectorXd gap;                       // [m]
  Eigen::MatrixXd Jn, Jt;                    // m x nv, (tangents m) x nv
  int tangents = 0;                          // of every contact: 0, 1, 2
  std::vector<int> movable;                  // along how many of its tangents a contact can be moved; Jt is 0 else
  std::vector<Vec3> normal;                  // out of the ground
  std::vector<std::array<Vec3, 2>> tangent;  // orthogonal to it and each other
  int size() const { return static_cast<int>(pairs.size()); }
};

class RigidContacts {
 public:
  RigidContacts(const Model& model, const ContactWorld& world) : model_(model), world_(world), dynamics_(model) {}

  int pairs() const { return static_cast<int>(world_.pair_count()); }
  int point_of(int pair) const { return pair / solids(); }
  int solid_of(int pair) const { return pair % solids(); }

  void set_position(const Eigen::VectorXd& q) { dynamics_.set_position(q); }
  Dynamics& dynamics() { return dynamics_; }
  double gap(int pair) const;                           // [m]
  double gap_rate(int pair, const Eigen::VectorXd& v);  // [m/s]
  // Can any velocity change the gap? A point on the axis of a fixed hinge is where it is, and takes any force.
  bool movable(int pair);
  ContactRows rows(const std::vector<int>& pairs);
  // Of the same pairs at another pose, with tangents turned along.
  ContactRows rows_like(const ContactRows& other);

 private:
  int solids() const { return static_cast<int>(world_.environment.solids().size()); }
  const ContactPoint& sphere(int pair) const { return world_.points[static_cast<size_t>(point_of(pair))]; }
  SignedDistance ground(int pair, Vec3& centre) const;
  Eigen::Matrix3Xd jacobian(int pair, const Vec3& surface);
  // Gaps, normals and their rows; Jacobians of the surface points.
  ContactRows normal_rows(const std::vector<int>& pairs, std::vector<Eigen::Matrix3Xd>& J);

  const Model& model_;
  const ContactWorld& world_;
  Dynamics dynamics_;
};

}  // namespace scree
