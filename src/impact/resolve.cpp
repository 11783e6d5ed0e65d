#include "impact/laws.h"

namespace scree {

ImpactResult resolve_impact(const ImpactProblem& problem, const ImpactOptions& options) {
  problem.validate();
  options.validate(problem);
  return impact_law_is_elastic(options.law) ? resolve_elastic(problem, options) : resolve_frictional(problem, options);
}

ImpactOutcomes all_impact_outcomes(const ImpactProblem& problem, const ImpactOptions& options) {
  problem.validate();
  options.validate(problem);
  if (!impact_law_is_elastic(options.law)) return all_frictional_outcomes(problem, options);
  return {.outcomes = {resolve_elastic(problem, options)}};
}

}  // namespace scree
