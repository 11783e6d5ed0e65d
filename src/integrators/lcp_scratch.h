// Scratch of ne-lcp, and of event where contacts last: the pairs that take part in a step, and their complementarity
// problem. theory section 12
#pragma once

#include <vector>

#include "contact/rigid_contacts.h"
#include "solvers/lcp.h"

namespace scree {

struct LcpScratch {
  struct Slot : RigidContact {  // at the start of the step; without friction it has no tangents
    int directions;             // of friction: 0, 2 or those of the polygon
    int column, unknown;        // its first ones
    double scale;               // [sqrt(kg)] of its impulses
    double turn[3];  // [m/s] of lasting contacts: by what n and tangents turning changes the velocities along them
  };
  explicit LcpScratch(const World& world);
  void start();          // without slots
  void reserve(int nv);  // for the slots there are

  Eigen::Matrix2Xd polygon;  // directions of friction in space
  std::vector<Slot> slots;
  std::vector<int> slot_of;   // by pair, -1: none
  std::vector<int> touching;  // pairs to report
  int columns = 0, unknowns = 0;
  using Dense = Eigen::Map<Eigen::MatrixXd>;
  Dense J(int nv) { return {J_.data(), nv, columns}; }  // transposed Jacobian of n and the tangents of every slot
  Dense Y(int nv) { return {Y_.data(), nv, columns}; }  // A^-1 J
  Dense G() { return {G_.data(), columns, columns}; }   // [1/kg]
  Dense M() { return {M_.data(), unknowns, unknowns}; }
  Eigen::VectorXd u, f;  // by column: velocity without contact forces [m/s]; force [N]
  Eigen::VectorXd q, z;  // of the complementarity problem
  Lemke lemke;

 private:
  Eigen::VectorXd J_, Y_, G_, M_;
};

V3<double> force_of(const LcpScratch& lcp, const LcpScratch::Slot& slot);  // [N] on the robot, world axes

}  // namespace scree
