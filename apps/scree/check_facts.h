// What is to be known of a scene before it is simulated, and what `scree sim` would refuse.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "scree/scene.h"

namespace scree::cli {

using Rows = std::vector<std::pair<std::string, std::string>>;

// Why the scene cannot be simulated: the message of `scree sim`; empty if it can.
std::string find_refusal(const Scene& scene);

void add_facts(const Scene& scene, Rows& rows);
void add_facts(const Scene& scene, nlohmann::ordered_json& json);

// [{joint, position, limit, beyond}, ...], of `scree sim`, too.
nlohmann::ordered_json limits_json(const Model& model, const std::vector<LimitViolation>& violations);
// "floating, lowest point on the ground", "bolted to the world at its origin, no ground"
std::string describe_start(const Scene& scene);

}  // namespace scree::cli
