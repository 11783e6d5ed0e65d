// Names of the entries of q and v, for run files and plots: "hip", "base.x", "base.qw", "base.wz", ...
#pragma once

#include <string>
#include <vector>

#include "scree/model.h"

namespace scree {

std::vector<std::string> position_names(const Model& model);  // nq
std::vector<std::string> velocity_names(const Model& model);  // nv
std::vector<std::string> position_units(const Model& model);  // nq: "m", "rad", "1" of quaternions
std::vector<std::string> velocity_units(const Model& model);  // nv: "m/s", "rad/s"

}  // namespace scree
