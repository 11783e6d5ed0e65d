// Dry friction of joints in explicit steps (rk4 and flight of `event`). Over a step each joint with friction keeps its
// mode: it sticks, its acceleration zero, or slides one way against a constant force. Steps end where a mode does.
// theory (5.11), (5.12)
#pragma once

#include "control/dry_friction.h"
#include "scree/dynamics.h"
#include "solvers/tree_cholesky.h"

namespace scree {

class Stiction {
 public:
  explicit Stiction(const Model& model);
  bool none() const { return joints_.empty(); }

  // Modes at (q, v), `dynamics` at q, where the generalized force `tau` acts besides friction; rates of joints that
  // stick become zero. False: not found.
  [[nodiscard]] bool begin(Dynamics& dynamics, const Vec3& gravity, const Eigen::VectorXd& tau, Eigen::VectorXd& v);
  // The acceleration in these modes; `tau` gets friction in addition. False: the mass matrix is singular.
  [[nodiscard]] bool accelerate(Dynamics& dynamics, const Vec3& gravity, const Eigen::VectorXd& v, Eigen::VectorXd& tau,
                                Eigen::Ref<Eigen::VectorXd> vdot);
  // How far the last accelerate(), at v, is from the end of a mode: below -1 beyond it, at most 1 on it.
  double margin(const Eigen::VectorXd& v) const;
  // What to try in place of a step of h that began with the margin `start` and ended with `end` < -1.
  static double shorten(double h, double start, double end);

 private:
  struct Joint {
    int dof;
    double friction;
    int side;     // slides that way; 0: sticks
    double load;  // [N m] or [N] with which friction holds it
  };
  std::vector<Joint> joints_;
  std::vector<int> resting_;  // of them, at the start of the step
  Eigen::VectorXd force_, vdot_, product_, tau_;
  Eigen::MatrixXd reduced_;  // the mass matrix, unit where joints stick
  TreeCholesky cholesky_;
};

}  // namespace scree
