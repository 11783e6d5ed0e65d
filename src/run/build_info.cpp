#include "run/build_info.h"

namespace scree {

std::string version() { return SCREE_VERSION; }
std::string compiler() { return SCREE_COMPILER; }

}  // namespace scree
