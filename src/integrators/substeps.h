// The substeps: what step.cpp asks of every integrator. Each advances q, v and the history of `state` by h, or leaves
// `state` alone and says that it failed.
#pragma once

#include <limits>

#include "scree/step.h"

namespace scree {

class Discretisation;

// What one try of one substep came to.
struct SubstepResult {
  bool converged = false;
  int iterations = 0;
  bool inaccurate = false;  // solved, but its error is larger than asked for
  int outer = 0, qp_iterations = 0, restarts = 0, stages = 0;
  int damped = 0, stationary = 0;
  double error = 0;                                            // [m] estimate
  double optimality = 0;                                       // [J]
  double residual = std::numeric_limits<double>::quiet_NaN();  // [m/s^2, rad/s^2] where the try ended
  const char* reason = "";                                     // why it failed, where residuals do not say it
};

SubstepResult substep_pbd(const Control& control, const StepOptions& options, double h, State& state,
                          StepWorkspace::Impl& ws);
SubstepResult substep_ne(const Control& control, const StepOptions& options, double h, State& state,
                         StepWorkspace::Impl& ws);
SubstepResult substep_rk4(const Control& control, double h, State& state, StepWorkspace::Impl& ws);
SubstepResult substep_mdp(const Control& control, const StepOptions& options, double h, State& state,
                          StepWorkspace::Impl& ws);
SubstepResult substep_lcp(const Control& control, const StepOptions& options, double h, State& state,
                          StepWorkspace::Impl& ws);
SubstepResult substep_nmdp(Discretisation& dynamics, bool first_order, const Control& control,
                           const StepOptions& options, double h, State& state, StepWorkspace::Impl& ws);
SubstepResult substep_nmdp2(Discretisation& dynamics, const Control& control, const StepOptions& options, double h,
                            State& state, StepWorkspace::Impl& ws);
SubstepResult substep_friction(const Control& control, const StepOptions& options, double h, State& state,
                               StepWorkspace::Impl& ws);

// The whole step of `event`.
StepReport step_event(const Control& control, const StepOptions& options, State& state, StepWorkspace::Impl& ws);

}  // namespace scree
