// What became of a model file, as users see it: what matters first.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "scree/urdf.h"

namespace scree::cli {

std::string count_verdicts(const ImportReport& report);  // "12 mapped, 1 repaired, 3 ignored, 0 rejected"
// Rejections, repairs, consequences, then what was ignored, in counts by kind. `all`: every entry instead of counts, in
// the order of the file.
void print_import_report(const ImportReport& report, bool all);
// Keys "mapped", "repaired", "ignored", "rejected", "consequences", "entries".
void add_import_report(const ImportReport& report, nlohmann::ordered_json& json);
// On stderr, if anything was repaired: how much, and where to read about it.
void warn_of_repairs(const ImportReport& report);

}  // namespace scree::cli
