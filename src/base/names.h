// "Did you mean": the known name closest to a mistyped one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace scree {

// Smallest edit distance (insert, delete, replace, swap neighbours); the first of equals. Empty if there is no
// candidate.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);
// `, did you mean "x"?` or, with no candidate, an empty string.
std::string suggestion(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace scree
