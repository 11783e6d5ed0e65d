// How files and the command line spell BaseType.
#pragma once

#include <string>

#include "scree/error.h"
#include "scree/urdf.h"

namespace scree {

inline BaseType base_type_from_name(const std::string& name) {
  if (name == "fixed") return BaseType::fixed;
  if (name == "planar") return BaseType::planar;
  if (name == "floating") return BaseType::floating;
  throw InputError("\"" + name + "\", expected fixed, planar or floating");
}

}  // namespace scree
