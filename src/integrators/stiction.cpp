#include "integrators/stiction.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/tree.h"

namespace scree {
namespace {

constexpr double kStopped = 1e-9;  // [rad/s] or [m/s] where a joint that slides has stopped, a thousandth of the creep
// A joint sticks up to its friction times 1 + kHold; a step ends between (1 + kRelease -+ kLocated).
constexpr double kHold = 1e-9, kRelease = 5e-7, kLocated = 4e-7;
constexpr int kMostMoves = 50;  // of modes, and ten more for each joint at rest

}  // namespace

Stiction::Stiction(const Model& model)
    : force_(model.nv()),
      vdot_(model.nv()),
      product_(model.nv()),
      tau_(model.nv()),
      reduced_(model.nv(), model.nv()),
      cholesky_(tree_of(model).parent) {
  const std::vector<double>& friction = tree_of(model).friction;
  for (size_t a = 0; a < friction.size(); ++a)
    if (friction[a] > 0) joints_.push_back({static_cast<int>(a), friction[a], 0, 0});
  resting_.reserve(joints_.size());
}

bool Stiction::begin(Dynamics& dynamics, const Vec3& gravity, const Eigen::VectorXd& tau, Eigen::VectorXd& v) {
  resting_.clear();
  for (size_t k = 0; k < joints_.size(); ++k) {
    Joint& joint = joints_[k];
    joint.side = v(joint.dof) > kJointCreep ? 1 : v(joint.dof) < -kJointCreep ? -1 : 0;
    if (joint.side == 0) resting_.push_back(static_cast<int>(k));
  }
  const auto at = [&](int k) -> Joint& { return joints_[static_cast<size_t>(resting_[static_cast<size_t>(k)])]; };
  const auto wanted = [&](int k) {
    const Joint& joint = at(k);
    if (joint.side != 0) return joint.side * vdot_(joint.dof) >= 0 ? joint.side : 0;
    if (std::abs(joint.load) <= joint.friction * (1 + kHold)) return 0;
    return joint.load > 0 ? -1 : 1;
  };
  const int count = static_cast<int>(resting_.size());
  SideSearch search;
  for (int moves = 0; moves <= kMostMoves + 10 * count; ++moves) {
    tau_ = tau;
    if (!accelerate(dynamics, gravity, v, tau_, vdot_)) return false;
    if (move_sides(
            count, search, wanted, [&](int k) { return at(k).side; }, [&](int k, int side) { at(k).side = side; }))
      continue;
    for (int k = 0; k < count; ++k)
      if (double& rate = v(at(k).dof); !(at(k).side * rate > 0)) rate = 0;
    return true;
  }
  return false;
}

bool Stiction::accelerate(Dynamics& dynamics, const Vec3& gravity, const Eigen::VectorXd& v, Eigen::VectorXd& tau,
                          Eigen::Ref<Eigen::VectorXd> vdot) {
  dynamics.bias_force(v, gravity, force_);
  force_ = tau - force_;
  const Eigen::MatrixXd& M = dynamics.mass_matrix();
  reduced_ = M;
  for (const Joint& joint : joints_) {
    if (joint.side != 0) {
      force_(joint.dof) -= joint.side * joint.friction;
      tau(joint.dof) -= joint.side * joint.friction;
    } else {
      reduced_.row(joint.dof).setZero();
      reduced_.col(joint.dof).setZero();
      reduced_(joint.dof, joint.dof) = 1;
    }
  }
  vdot = force_;
  for (const Joint& joint : joints_)
    if (joint.side == 0) vdot(joint.dof) = 0;
  if (!cholesky_.factor(reduced_.data())) return false;
  cholesky_.solve(vdot.data());
  product_.noalias() = M * vdot;
  for (Joint& joint : joints_) {
    if (joint.side != 0) continue;
    joint.load = product_(joint.dof) - force_(joint.dof);
    tau(joint.dof) += joint.load;
  }
  return true;
}

double Stiction::margin(const Eigen::VectorXd& v) const {
  double least = std::numeric_limits<double>::infinity();
  for (const Joint& joint : joints_) {
    const double part = joint.side != 0 ? joint.side * v(joint.dof) / kStopped
                                        : ((1 + kRelease) - std::abs(joint.load) / joint.friction) / kLocated;
    least = std::min(least, part);
  }
  return least;
}

double Stiction::shorten(double h, double start, double end) {
  constexpr double kLeast = 0.02, kMost = 0.999999;
  return h * (start > 1 ? std::clamp(start / (start - end), kLeast, kMost) : 0.5);
}

}  // namespace scree
