// Where the tree and the program under test are. One small file knows it, so that all others compile to the same
// objects wherever the tree stands, and a compiler cache serves every copy of it.
#pragma once

#include <string>

namespace scree {

std::string source_dir();   // the repository
std::string cli_program();  // the command line `scree`

}  // namespace scree
