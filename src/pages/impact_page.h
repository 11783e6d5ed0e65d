// What the page of an impact is given.
#pragma once

#include <nlohmann/json.hpp>

#include "scree/impact_page.h"

namespace scree {

nlohmann::ordered_json impact_page_data(const ImpactReport& report);

}  // namespace scree
