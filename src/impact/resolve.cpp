#include <fmt/format.h>

#include "impact/laws.h"
#include "scree/error.h"

namespace scree {

ImpactResult resolve_impact(const ImpactProblem& problem, const ImpactOptions& options) {
  problem.validate();
  options.validate(problem);
  return impact_law_is_elastic(options.law) ? resolve_elastic(problem, options) : resolve_frictional(problem, options);
}

void ImpactSearch::validate() const {
  if (max_nodes < 1) throw InputError(fmt::format("max_nodes: {}, expected at least 1", max_nodes));
}

ImpactOutcomes all_impact_outcomes(const ImpactProblem& problem, const ImpactOptions& options,
                                   const ImpactSearch& search) {
  problem.validate();
  options.validate(problem);
  search.validate();
  if (!impact_law_is_elastic(options.law)) return all_frictional_outcomes(problem, options, search);
  return {.outcomes = {resolve_elastic(problem, options)}};
}

}  // namespace scree
