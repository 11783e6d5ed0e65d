// Derivatives of one step by state, control and contact law.                                        theory section 10
#pragma once

#include "scree/step.h"

namespace scree {

// How the state x at the end of a step changes: dq (nv) in the tangent space of docs/conventions.md, so that q becomes
// integrate_position(q, dq, 1), then v (nv), then, for ne-nmdp2 and pbd-nmdp2 only, State::contact_loads (one a
// pair), on which the next step depends, theory (9.3). The derivatives of many steps are products of these.
struct StepDerivatives {
  Eigen::MatrixXd by_state;            // square: by x at the start
  Eigen::MatrixXd by_target;           // nv columns: Control::target, tangent; the same for all stages of the step
  Eigen::MatrixXd by_target_velocity;  // nv columns
  Eigen::MatrixXd by_torque;           // nv columns
  Eigen::MatrixXd by_friction;         // 1 column: Surface::friction
  Eigen::MatrixXd by_law;              // ContactLaw::parameter_count() columns; coulomb: depth (or stiffness)
  bool valid = false;                  // false: the step failed, or found contact forces that are no strict minimum
  // >= 0, dimensionless: how near the step is to where contacts appear, vanish, stick, slide or use up their polytope,
  // theory (10.6), or joints with dry friction begin or cease to stick. At 0 the derivatives are those of one side. 1:
  // nothing near.
  double margin = 0;
};

// The same step as step(), bit for bit, and its derivatives, chained over substeps. Which substeps are taken is held
// fixed. Integrators: ne, pbd, ne-nmdp, pbd-nmdp, ne-nmdp2, pbd-nmdp2; pbd and pbd-nmdp from a state without
// body_rates. Throws InputError otherwise. Allocates.
[[nodiscard]] StepReport step_with_derivatives(const Model& model, const Control& control, const StepOptions& options,
                                               State& state, StepWorkspace& workspace, StepDerivatives& derivatives);

}  // namespace scree
