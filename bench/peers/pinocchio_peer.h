// A scree model in Pinocchio, and the four functions the benchmark times. Its translation unit is the only one that
// sees Pinocchio's headers, which take minutes to compile.
#pragma once

#include <memory>
#include <vector>

#include "scree/model.h"

namespace scree::bench {

enum class Function { inverse_dynamics, mass_matrix, forward_dynamics, derivatives };

struct Motion {
  Eigen::VectorXd q, v, vdot, tau;
  Vec3 gravity;
};

class PinocchioPeer {
 public:
  // Joints about or along coordinate axes become Pinocchio's types for those, as from a URDF: they are faster.
  // `free_flyer`: a floating base is one joint, with linear velocity in body axes, not a translation and a ball.
  PinocchioPeer(const Model& model, bool free_flyer);
  ~PinocchioPeer();

  // [bytes] of the four nv x nv x nv arrays that Pinocchio 4 keeps for every model, in use or not.
  static double memory(int nv) { return 4.0 * sizeof(double) * nv * nv * nv; }

  void set_motion(const Motion& motion);
  // `world_axes`: recursion of mass matrix and forward dynamics in the world's axes, else in those of the joints.
  void run(Function function, bool world_axes);
  std::vector<Eigen::MatrixXd> result(Function function) const;  // derivatives: by q, by v, by vdot
  int first_common_dof() const;  // results agree with scree's from this dof on: 6 for a free flyer, else 0

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace scree::bench
