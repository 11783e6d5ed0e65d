// The laws behind resolve_impact(), one family a file. Problem and options are valid.
#pragma once

#include "scree/impact.h"

namespace scree {

// Velocity and energy before, impulses zero, everything else pessimistic.
ImpactResult start_result(const ImpactProblem& problem, ImpactLaw law);
// Energy after and what still approaches, from `v`.
void finish_result(const ImpactProblem& problem, ImpactResult& result);
// The e of laws that have one for all contacts, `unset` if the problem says nothing. Throws InputError if they differ.
double common_restitution(const ImpactProblem& problem, double unset, const char* law);
double kinetic_energy(const ImpactProblem& problem, const Eigen::VectorXd& v);  // [J]

ImpactResult resolve_elastic(const ImpactProblem& problem, const ImpactOptions& options);     // elastic.cpp
ImpactResult resolve_frictional(const ImpactProblem& problem, const ImpactOptions& options);  // frictional.cpp
ImpactOutcomes all_frictional_outcomes(const ImpactProblem& problem, const ImpactOptions& options,
                                       const ImpactSearch& search);

}  // namespace scree
