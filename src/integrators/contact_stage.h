// One implicit stage with contact: the problem every NMDP scheme solves, once or twice a step.
// theory section 8
#pragma once

#include "integrators/substeps.h"
#include "integrators/workspace.h"

namespace scree {

struct ContactStage {
  Discretisation& dynamics;  // begun
  const Control& control;    // of the time the stage ends at
  const StepOptions& options;
  bool first_order;  // the law offers its derivative
  StepWorkspace::Impl& ws;
  bool second = false;  // contact forces count as ContactSet::take_out_impacts has it
};

// Finds pose and contact forces; the search starts at weights by pair (empty: zero). Leaves `dynamics` at the
// pose, ws.delta and ws.contact.w. False: no solution found; `result` says how far it came.
bool solve(ContactStage& stage, const std::vector<double>& weights, SubstepResult& result);

}  // namespace scree
