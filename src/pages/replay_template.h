// The pages replays, studies, impacts and fans are made from: viewer/ bundled into HTML texts and linked into the
// library.
#pragma once

#include <string_view>

namespace scree {

inline constexpr std::string_view kReplayPlaceholder = "@SCREE_REPLAY_DATA@";  // once in the template
inline constexpr std::string_view kStudyPlaceholder = "@SCREE_STUDY_DATA@";    // likewise
inline constexpr std::string_view kImpactPlaceholder = "@SCREE_IMPACT_DATA@";
inline constexpr std::string_view kFanPlaceholder = "@SCREE_FAN_DATA@";

std::string_view replay_template();
std::string_view study_template();
std::string_view impact_template();
std::string_view fan_template();

}  // namespace scree
