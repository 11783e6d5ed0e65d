// Where the bodies are and how fast they move.
#pragma once

#include <vector>

#include "scree/state.h"

namespace scree {

std::vector<Pose> body_poses(const Model& model, const Eigen::VectorXd& q);         // X_WB of every body
Pose frame_pose(const Model& model, const Eigen::VectorXd& q, const Frame& frame);  // X_WF

// How a frame moves, world axes.
struct FrameVelocity {
  Vec3 angular = Vec3::Zero();  // [rad/s]
  Vec3 linear = Vec3::Zero();   // [m/s] of the frame's origin
};
FrameVelocity frame_velocity(const Model& model, const Eigen::VectorXd& q, const Eigen::VectorXd& v,
                             const Frame& frame);

// q (+) v * h: every joint moved along its velocity, ball and free rotations by the exponential map.
Eigen::VectorXd integrate_position(const Model& model, const Eigen::VectorXd& q, const Eigen::VectorXd& v, double h);
// The v that leads from q0 to q1 in unit time: integrate_position(q0, difference(q0, q1), 1) = q1.
Eigen::VectorXd position_difference(const Model& model, const Eigen::VectorXd& q0, const Eigen::VectorXd& q1);

}  // namespace scree
