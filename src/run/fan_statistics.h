// What the branches of a fan come to.                                                                 theory section 17
#pragma once

#include "scree/fan.h"

namespace scree {

// Clusters, splits and spread of a fan whose rows and branches are there. Refers to fan.options.cluster_impacts and
// threads.
void summarise_fan(const Model& model, Fan& fan);

void find_clusters(Fan& fan);                         // also FanImpact::ambiguous, FanBranch::cluster
void find_first_split(const Model& model, Fan& fan);  // also Fan::split
void measure_spread(const Model& model, Fan& fan);    // Fan::spread
size_t rows_reached(const Fan& fan, size_t branch);   // of Fan::rows()

// "front sticks, rear opens"
std::string mode_text(const std::vector<std::string>& names, const std::vector<ContactMode>& modes);

// Linear between order statistics; reorders `values`, NaN if there are none.
double quantile_of(std::vector<double>& values, double p);

}  // namespace scree
