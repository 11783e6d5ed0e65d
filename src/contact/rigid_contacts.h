// Pairs as rigid contact has them: gap, normal, tangents, rows of the Jacobian, and the impact they make.
#pragma once

#include <vector>

#include "contact/near_pairs.h"
#include "scree/dynamics.h"
#include "scree/impact.h"

namespace scree {

// A pair at a pose; positions are relative to the origin of the kinematics.
struct RigidContact {
  int pair;
  double gap;             // [m] negative in the ground
  V3<double> x, n;        // where A's surface is nearest, and the normal there, out of B
  V3<double> tangent[2];  // orthogonal to n and to each other
  int tangents;           // along how many of them it can be moved: 0, 1 (a planar model) or 2       theory (12.3)
};
RigidContact rigid_contact(const Pairs& pairs, const Kinematics<double>& kin, int pair, const Proximity& at);
RigidContact rigid_contact(const Pairs& pairs, const Kinematics<double>& kin, int pair);
// The row of its Jacobian along a direction: the generalized force of a unit force on A there.
void contact_row(const Pairs& pairs, const Kinematics<double>& kin, const RigidContact& contact,
                 const V3<double>& direction, Eigen::Ref<Eigen::VectorXd> row);

// Several of them. May allocate, as what follows.
struct ContactRows {
  std::vector<RigidContact> contacts;
  Eigen::MatrixXd Jn, Jt;  // m x nv, (tangents m) x nv; zero along what cannot move
  int tangents = 0;        // of every contact: 0, 1, 2
  Eigen::Index size() const { return std::ssize(contacts); }
  Eigen::VectorXd gaps() const;
};
ContactRows contact_rows(const Pairs& pairs, const Kinematics<double>& kin, std::vector<RigidContact> contacts,
                         bool friction, Eigen::Index nv);
ImpactProblem impact_problem(const ContactRows& rows, const Eigen::MatrixXd& M, double friction,
                             const Eigen::VectorXd& v);

// All pairs at poses of one's own choice.
class RigidContacts {
 public:
  RigidContacts(const Model& model, const World& world)
      : model_(model), world_(world), pairs_(model, world), near_(pairs_), dynamics_(model) {}

  const Pairs& pairs() const { return pairs_; }
  void set_position(const Eigen::VectorXd& q) { dynamics_.set_position(q); }
  Dynamics& dynamics() { return dynamics_; }
  double gap(int pair) const { return pairs_.proximity(kinematics(), pair).gap; }  // [m]
  // The pairs whose gap may be at most `reach` [m], by number; valid until asked again.
  const std::vector<int>& near(double reach) { return near_.find(pairs_, kinematics(), reach); }
  // The deepest pair in the ground, -1: none is.
  int deepest();
  double gap_rate(int pair, const Eigen::VectorXd& v) const;  // [m/s]
  // Can any velocity change the gap? A point on the axis of a fixed hinge is where it is, and takes any force.
  bool movable(int pair) const;
  ContactRows rows(const std::vector<int>& pairs) const;
  // Of the same pairs at another pose, with tangents turned along.
  ContactRows rows_like(const ContactRows& other) const;

 private:
  const Kinematics<double>& kinematics() const;

  const Model& model_;
  const World& world_;
  Pairs pairs_;
  NearPairs near_;
  Dynamics dynamics_;
};

}  // namespace scree
