// Which side of its dry friction every joint of a model is on, in the stage of a single trajectory.
#pragma once

#include <vector>

#include "control/dry_friction.h"
#include "scree/model.h"

namespace scree {

class JointFriction {
 public:
  explicit JointFriction(const Model& model);
  struct Dry {
    int dof;          // a coordinate: one-dof joints and those that follow them rub together
    double friction;  // > 0 [N m] or [N]
  };
  const std::vector<Dry>& joints() const { return joints_; }
  bool none() const { return joints_.empty(); }
  int count() const { return static_cast<int>(joints_.size()); }
  const int* sides() const { return sides_.data(); }  // by dof, 0 without friction
  const std::vector<int>& all_sides() const { return sides_; }

  // A search begins on the sides of the displacement delta from rest in h [s]; after a solution on the sides at hand
  // they move. False: it is the solution.
  void find(const double* delta, const double* rest, double h);
  bool move(const double* delta, const double* rest, double h);

 private:
  std::vector<Dry> joints_;
  std::vector<int> sides_;
  SideSearch search_;
};

}  // namespace scree
