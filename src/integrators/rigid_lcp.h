// Rigid contacts of a linearised step as a linear complementarity problem: what ne-lcp (ne_lcp.cpp) and lasting
// contacts of event (lasting.cpp) solve.
// theory section 12
//
//   A delta = M v_n/h - C(q_n, v_n) - U' + J^T f,   v = delta/h                                          theory (12.1)
//   0 <= f_n   _|_  gap/h + n.u >= 0                u = J v: velocity of the surface point               theory (12.2)
//   0 <= beta  _|_  lambda + d_k.u >= 0             f_t = sum_k beta_k d_k                               theory (12.3)
//   0 <= lambda  _|_  mu f_n - sum_k beta_k >= 0
//
// Contact is rigid: World::law plays no part, friction is Surface::friction.
#pragma once

#include "integrators/substeps.h"
#include "integrators/workspace.h"

namespace scree {

class RigidLcp {
 public:
  // Of a step of h without pairs so far, linearised at the pose `kin`: ws.lu and ws.delta are those of
  // solve_linearised(). `lasting`: the pairs are closed and must not approach; else they may not end below the ground.
  RigidLcp(double h, const Kinematics<double>& kin, bool lasting, StepWorkspace::Impl& ws);

  LcpScratch::Slot& add(int pair, const Proximity& at);  // the pair takes part
  // The displacement along the normal that a point may not go below: the way to the surface, or out of it.
  // theory (12.4)
  double allowed(double gap) const;
  // Leaves forces in ws.lcp, the displacement with them in ws.delta, the one without in ws.trial_delta. False: not
  // solved.
  bool solve(SubstepResult& result);
  // Points in the ground stay where they are from here on. False: they did so before, or there are none.
  bool stop_letting_out();

 private:
  void assemble();
  void apply_forces();
  double as_acceleration(const LcpReport& report) const;

  double h_;
  const Kinematics<double>& kin_;
  bool lasting_;
  StepWorkspace::Impl& ws_;
  LcpScratch& lcp_;
  double recovery_;  // of a depth, a step
};

}  // namespace scree
