// All scratch of a step. It grows to the largest number of contacts a step has met, then allocates no more. What one
// integrator alone writes has a struct of its own; what is left is shared, and no integrator reads what another left.
#pragma once

#include <Eigen/LU>
#include <functional>

#include "control/joint_forces.h"
#include "control/joint_friction.h"
#include "dynamics/discretisation.h"
#include "dynamics/dynamics_impl.h"
#include "integrators/contact_scratch.h"
#include "integrators/event.h"
#include "integrators/friction.h"
#include "integrators/lcp_scratch.h"
#include "integrators/pbfd.h"
#include "integrators/residual.h"
#include "integrators/stiction.h"
#include "scree/step.h"
#include "solvers/tree_cholesky.h"
#include "solvers/tree_lu.h"

namespace scree {

// Of rk4: the stage at hand, the rates of all, one column each, and where a part of a step starts.
struct Rk4Scratch {
  Eigen::VectorXd q, v;
  Eigen::MatrixXd q_rate, v_rate;
  Eigen::VectorXd q_start, v_start;
};

// Of linearised.cpp.
struct LinearisedScratch {
  std::vector<int> sides;  // of the effort bounds, by dof, that implicit control is on; theory (5.7)
  Eigen::VectorXd zero;    // nv: where these steps are at rest
};

// Of the second stage of nmdp2.                                                                    theory (9.3), (9.7)
struct Nmdp2Scratch {
  Eigen::VectorXd unwanted;           // nv: accelerations that are not extrapolated
  std::vector<BodyRate> rate_defect;  // by body
  std::vector<double> weights;        // by pair, at the end of the first stage
};

// A stage as it was solved, for those who differentiate it.
struct StageRecord {
  Eigen::VectorXd delta, w;
  std::vector<ContactSet::Pick> picks;
  std::vector<int> friction_sides;
};

struct StepWorkspace::Impl {
  Impl(const Model& model, const World& world);
  void poison();  // fills what a step must not read before writing with NaN; debug builds call it before every step

  const Model& model;
  const World& world;
  Pairs pairs;
  NearPairs near;
  bool has_contact() const { return pairs.count() > 0; }
  Dynamics dynamics;
  JointForces joint_forces;
  JointFriction joint_friction;  // of the stage at hand
  Stiction stiction;             // of the explicit step at hand
  ImpactResolver resolve;        // empty: resolve_impact
  // The control at a time: `control` itself, or with the targets of its motion.
  const Control& control_at(const Control& control, double time);
  Control moving_control;

  // --- the step at hand ---
  State before;                   // to return to when it fails
  double accuracy = 0;            // [m] asked for of the substep at hand; 0: any
  std::vector<Contact> contacts;  // at its end
  std::vector<Event> events;      // during it
  // step_with_derivatives: the stages of the substep at hand, and who is told when it is accepted. Off: empty.
  std::function<void(const State& state, double h)> on_substep;
  std::vector<StageRecord> stages;
  void record_stage();

  // --- implicit equations of motion ---
  PositionBasedStage position_based;
  NewtonEulerStage newton_euler;
  Eigen::VectorXd delta, trial_delta;        // displacement of the step: where it is, and what is tried
  Eigen::VectorXd gradient, trial_gradient;  // unbalanced forces there
  Eigen::VectorXd direction;                 // any other displacement
  Eigen::VectorXd force;                     // of joints, explicit
  Eigen::MatrixXd jacobian, gauss_newton;    // nv x nv
  Eigen::MatrixXd joint_hessian;             // upper triangle; nothing outside the blocks of the dofs of one joint
  // The Hessian of the joint forces at delta, into joint_hessian, their gradient added; and joint_hessian added to
  // jacobian, to both of its triangles or to the upper one alone. O(nv).
  void find_joint_hessian(const Control& control, const JointStage& stage, const double* delta, double* gradient);
  void add_joint_hessian(bool both);
  ResidualScale residual_scale;
  TreeCholesky cholesky;
  Eigen::PartialPivLU<Eigen::MatrixXd> lu;
  TreeLu tree_lu;
  long entries = 0;  // of nv x nv matrices that stages with contact have written, as a measure of work

  // --- of single integrators ---
  Rk4Scratch rk4;
  LinearisedScratch linearised;
  Nmdp2Scratch nmdp2;
  ContactScratch contact;
  LcpScratch lcp;
  EventScratch event;
  // Smooth contact, made by the first step that wants it: in a lane, or by an optimiser that does not run in lanes.
  SmoothStepper& smooth_stepper();
  FrictionSolver& friction_solver();
  std::unique_ptr<SmoothStepper> smooth;
  std::unique_ptr<FrictionSolver> friction;
};

struct WorkspaceAccess {
  static StepWorkspace::Impl& impl(StepWorkspace& workspace) { return *workspace.impl_; }
};

inline JointStage joint_stage(const Discretisation& stage, const int* friction_sides = nullptr) {
  return {stage.start(), stage.joint_rest().data(), stage.joint_coast().data(), stage.h(), nullptr, friction_sides};
}

}  // namespace scree
