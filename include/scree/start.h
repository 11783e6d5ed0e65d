// The pose a simulation starts from: inside its joint limits or not, where on the ground, and what holds it.
#pragma once

#include <vector>

#include "scree/control.h"
#include "scree/world.h"

namespace scree {

// A joint that is beyond one of its limits.
struct LimitViolation {
  JointIndex joint;
  double position = 0;  // [rad] or [m]; of a ball joint its angle of rotation from zero
  double limit = 0;     // the one it is beyond
  double beyond = 0;    // > 0, by how much
};
// Revolute, prismatic and ball joints that are more than 1e-9 rad or m beyond a limit, in the order of the model. Their
// stops push them back at the first step, and what they have stored, theory (5.3), becomes motion.
std::vector<LimitViolation> outside_limits(const Model& model, const Eigen::VectorXd& q);
// Moves these joints to the limit; ball joints about the axis they are turned about. Returns what it moved.
std::vector<LimitViolation> clamp_to_limits(const Model& model, Eigen::VectorXd& q);
// "knee is at 0 rad, 0.2 rad below its lower limit of 0.2 rad; ..." for messages; names at most `most` joints.
std::string describe_limits(const Model& model, const std::vector<LimitViolation>& violations, size_t most = 8);

// Can the robot be moved along z without moving a motor: does the world carry a root on a floating joint, or on a
// planar one whose plane holds z?
bool can_be_lifted(const Model& model);
// Moves such roots, all by the same distance, until what may touch first does, coming down from above, and then up by
// `drop` [m]. Returns the distance [m]. Throws InputError: `drop` out of range, a model that cannot be lifted, no
// ground, ground that is not below it.
double place_on_ground(const Model& model, const World& world, Eigen::VectorXd& q, double drop = 0);

// What holds a pose: stiffness and damping of every motor from the mass it may have to carry. A joint divides the robot
// in two parts; either may stand still and carry the other.                                               theory (18.1)
struct HoldOptions {
  double frequency = 5;         // > 0 and at most 1000 [Hz], natural, of the heavier part on the joint alone
  double damping_ratio = 1;     // >= 0 and at most 100, of the same motion
  double sag = 0.0175;          // > 0 [rad] that the weight of either part bends a joint at most, however it is turned
  double sag_distance = 0.002;  // > 0 [m] likewise of a prismatic joint
  void validate() const;        // throws InputError: field, value received, accepted range
};
// Sets the target to q at rest, and kp and kd of all motors; all else stays. The gains want control that is implicit:
// StepOptions::explicit_pd = false. Throws InputError: options, or gains that a model this heavy would need.
void hold_pose(const Model& model, const Eigen::VectorXd& q, const Vec3& gravity, Control& control,
               const HoldOptions& options = {});

}  // namespace scree
