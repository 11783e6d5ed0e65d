// The events of a run for the replay: marks in time and a table.
#pragma once

#include "pages/array_block.h"
#include "scree/run.h"

namespace scree {

inline constexpr size_t kMostEventMarks = 20'000;  // times and kinds of the first events
inline constexpr size_t kMostEventRows = 500;      // of the table: the first ones
inline constexpr size_t kMostEventContacts = 12;   // of one row

nlohmann::json describe_events(const Run& run, ArrayBlock& block);

}  // namespace scree
