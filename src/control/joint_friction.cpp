#include "control/joint_friction.h"

#include "model/tree.h"

namespace scree {

JointFriction::JointFriction(const Model& model) : sides_(static_cast<size_t>(model.nv()), 0) {
  const std::vector<double>& friction = tree_of(model).friction;
  for (size_t a = 0; a < friction.size(); ++a)
    if (friction[a] > 0) joints_.push_back({static_cast<int>(a), friction[a]});
}

void JointFriction::find(const double* delta, const double* rest, double h) {
  search_ = {};
  for (const Dry& joint : joints_)
    sides_[static_cast<size_t>(joint.dof)] = side_of_slip<double>(delta[joint.dof] - rest[joint.dof], h);
}

bool JointFriction::move(const double* delta, const double* rest, double h) {
  const auto dof = [&](int k) { return joints_[static_cast<size_t>(k)].dof; };
  return move_sides(
      count(), search_, [&](int k) { return side_of_slip<double>(delta[dof(k)] - rest[dof(k)], h); },
      [&](int k) { return sides_[static_cast<size_t>(dof(k))]; },
      [&](int k, int side) { sides_[static_cast<size_t>(dof(k))] = side; });
}

}  // namespace scree
