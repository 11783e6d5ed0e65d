// What a fan page is given. docs/replay.md describes the limits.
#pragma once

#include <nlohmann/json.hpp>

#include "scree/fan.h"

namespace scree {

inline constexpr size_t kLeastFanRows = 120;       // rows that branches give way to, where the fan has as many
inline constexpr size_t kMostFanRows = 1000;       // a plot has fewer pixels than that
inline constexpr size_t kMostFanClusters = 50;     // of the table: the largest ones
inline constexpr size_t kMostFanImpacts = 40000;   // of all branches shown
inline constexpr size_t kMostFanFailures = 200;    // of the table
inline constexpr std::uint16_t kNoSample = 65535;  // stands for a row that a branch did not reach

// Throws InputError if the fan does not belong to the scene's model or has numbers that are not finite before NaN rows.
nlohmann::json fan_page_data(const Scene& scene, const Fan& fan);

}  // namespace scree
