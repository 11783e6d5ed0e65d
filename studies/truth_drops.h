// Bodies that are dropped and thrown: how high they rebound, beside the converged rebound.
#pragma once

#include <vector>

#include "studies.h"

namespace scree {

// Rows and a figure of nmdp-truth: no rebound at any step rises above the converged one.
void add_drops(const StudyContext& context, StudyResult& result);

}  // namespace scree
