// The page every replay is made from: viewer/ bundled into one HTML text and linked into the library.
#pragma once

#include <string_view>

namespace scree {

inline constexpr std::string_view kReplayPlaceholder = "@SCREE_REPLAY_DATA@";  // once in the template

std::string_view replay_template();

}  // namespace scree
