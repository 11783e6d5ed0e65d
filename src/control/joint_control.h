// The control of one joint, for those who set one after the other.
#pragma once

#include "scree/control.h"

namespace scree {

// What Control::validate asks of the entries of the joint. Throws InputError.
void check_joint_control(const Control& control, const Joint& joint);

}  // namespace scree
