// The step linear in its displacement that ne-mdp (mdp.cpp), ne-lcp (ne_lcp.cpp) and lasting contacts of event
// (lasting.cpp) start from.                                                                              theory (8.11)
#pragma once

#include "integrators/substeps.h"
#include "integrators/workspace.h"

namespace scree {

// Without contact forces:
//   A delta = M v_n/h - C(q_n, v_n) - U',   A = M/h^2 + U''
// Leaves A in ws.jacobian, its factors in ws.lu and the solution in ws.delta. Returns M, valid until ws.dynamics moves.
// Implicit control is that of ws.linearised.sides, joint friction that of ws.joint_friction.
// `v_forces`: the velocity that C and explicit control are taken at, in place of v_n; A is that of the last call then.
const Eigen::MatrixXd& solve_linearised(const Control& control, const StepOptions& options, double h,
                                        const State& state, StepWorkspace::Impl& ws,
                                        const Eigen::VectorXd* v_forces = nullptr);

// Implicit control and joint friction are linear on either side of their bounds: starts with their sides at
// delta = h v_n, and calls `solve`, which leaves ws.delta, until that ends on the sides it was linearised on. False:
// not solved, or not after kMostSides changes and two more for each joint with friction, which `result` says then.
// theory (5.7)
constexpr int kMostSides = 20;
constexpr char kNoSides[] = "joints go on changing between the sides of their effort bounds or of their friction";
void start_sides(const Control& control, const StepOptions& options, double h, const State& state,
                 StepWorkspace::Impl& ws);
bool change_sides(const Control& control, const StepOptions& options, double h, const State& state,
                  StepWorkspace::Impl& ws);
template <class Solve>
bool solve_on_sides(const Control& control, const StepOptions& options, double h, const State& state,
                    StepWorkspace::Impl& ws, SubstepResult& result, Solve&& solve) {
  start_sides(control, options, h, state, ws);
  const int most = kMostSides + 2 * ws.joint_friction.count();
  for (int changes = 0; changes <= most; ++changes) {
    if (!solve()) return false;
    if (!change_sides(control, options, h, state, ws)) return true;
  }
  result.reason = kNoSides;
  return false;
}

// The pose at the start of the step, as ws.newton_euler has it.
const Kinematics<double>& start_pose(double h, const State& state, StepWorkspace::Impl& ws);

bool exploded(double h, const StepWorkspace::Impl& ws);                         // ws.delta is a failure, not a state
void accept_linearised(double h, const StepWorkspace::Impl& ws, State& state);  // at the end of ws.delta

}  // namespace scree
