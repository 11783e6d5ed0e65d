// The state of one joint, for those who set one after the other.
#pragma once

#include "scree/model.h"

namespace scree {

// Throws InputError if an entry of the joint is not finite or too large, or its quaternion is not of unit length.
void check_joint_state(const Joint& joint, const Eigen::VectorXd& q, const Eigen::VectorXd& v);
// To unit length to rounding, for joints that have a quaternion.
void normalise_joint(const Joint& joint, Eigen::VectorXd& q);

}  // namespace scree
