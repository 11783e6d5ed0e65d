// Newton's method with a line search on the equations of backward Euler without contact, from delta = h v_n: what
// pbd.cpp and ne.cpp share.
//
// `Equations` say what is solved:
//   void evaluate(delta, forces)             the unbalanced forces at q_n (+) delta
//   void differentiate()                     their Jacobian at ws.delta, the pose of the last evaluate()
//   bool find_direction()                    into ws.direction; false: there is none
//   bool improves(fraction, before, trial)   is the last evaluate(), that part of the direction on, good enough?
//   void accept()                            the last evaluate() is where the search goes on from
//   kShortest                                fraction of a direction that is still tried
#pragma once

#include "integrators/substeps.h"
#include "integrators/workspace.h"

namespace scree {

template <class Equations>
SubstepResult backward_euler(Equations& equations, Discretisation& stage, const StepOptions& options, double h,
                             State& state, StepWorkspace::Impl& ws) {
  stage.begin(state, h, ws.world.gravity);
  ws.delta = h * state.v;
  ws.joint_friction.find(ws.delta.data(), stage.joint_rest().data(), h);
  equations.evaluate(ws.delta, ws.gradient);
  equations.accept();
  equations.differentiate();
  Residual residual = ws.residual_scale.of(ws.gradient, options.tolerance);

  SubstepResult result;
  while (!residual.small) {
    result.residual = residual.largest;
    if (result.iterations == options.max_iterations || !equations.find_direction()) return result;
    ++result.iterations;
    bool accepted = false;
    for (double fraction = 1; fraction > Equations::kShortest && !accepted; fraction *= 0.5) {
      ws.trial_delta = ws.delta + fraction * ws.direction;
      equations.evaluate(ws.trial_delta, ws.trial_gradient);
      const Residual trial = ws.residual_scale.of(ws.trial_gradient, options.tolerance);
      accepted = equations.improves(fraction, residual, trial);
      if (accepted) {
        equations.accept();
        residual = trial;
        ws.delta.swap(ws.trial_delta);
        ws.gradient.swap(ws.trial_gradient);
      }
    }
    if (!accepted) return result;
    if (ws.joint_friction.move(ws.delta.data(), stage.joint_rest().data(), h)) {
      equations.evaluate(ws.delta, ws.gradient);
      equations.accept();
      residual = ws.residual_scale.of(ws.gradient, options.tolerance);
    }
    if (!residual.small) equations.differentiate();
  }
  if (!within_chart(tree_of(ws.model), stage.trial()) || !stage.accept(state)) return result;
  result.residual = residual.largest;
  result.converged = true;
  return result;
}

}  // namespace scree
