#include "support/paths.h"

namespace scree {

std::string source_dir() { return SCREE_SOURCE_DIR; }
std::string cli_program() { return SCREE_CLI; }

}  // namespace scree
