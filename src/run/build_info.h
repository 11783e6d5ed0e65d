// What this library was built from, for run files and `scree --version`.
#pragma once

#include <string>

namespace scree {

std::string version();   // "0.1.0"
std::string compiler();  // "GNU 12.2.0, Release, -O3 -DNDEBUG"

}  // namespace scree
