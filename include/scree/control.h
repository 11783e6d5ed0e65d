// Joint control applied during a step: implicit (stable) PD towards a target plus a feed-forward force.
#pragma once

#include <memory>

#include "scree/model.h"
#include "scree/motion.h"

namespace scree {

// force_a = clamp(kp (target - q) + kd (target_velocity - v) + torque, -effort, effort): effort bounds all that the
// actuator does. Taken at the END of the step by implicit schemes, theory (5.1). For ball joints target - q reads
// -log(R_target^T R) in body axes, and there is no bound.
struct Control {
  explicit Control(const Model& model);  // all gains and torques zero, target = neutral position
  Eigen::VectorXd kp;                    // nv, >= 0 [N m/rad] or [N/m]
  Eigen::VectorXd kd;                    // nv, >= 0 [N m s/rad] or [N s/m]
  Eigen::VectorXd target;                // nq positions
  Eigen::VectorXd target_velocity;       // nv [rad/s] or [m/s]
  Eigen::VectorXd torque;                // nv [N m] or [N], within the joint's effort

  // If set, it replaces target and target_velocity of all one-dof joints, at the time the control acts: the end of each
  // substep for implicit schemes.
  std::shared_ptr<const Motion> motion;

  void validate(const Model& model) const;  // throws InputError: joint, value received, accepted range
};

}  // namespace scree
