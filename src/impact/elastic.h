// Elastic impact laws in mass-normalised coordinates.                                                theory section 13
#pragma once

#include "impact/laws.h"

namespace scree {

// As resolve_elastic(); iterated laws start in an arithmetic of at least `first_bits`: 53, 106 or 256.
ImpactResult resolve_elastic(const ImpactProblem& problem, const ImpactOptions& options, int first_bits);

}  // namespace scree
