// All scratch of a step. It grows to the largest number of contacts a step has met, then allocates no more.
#pragma once

#include <Eigen/LU>
#include <functional>
#include <limits>

#include "contact/contact_set.h"
#include "contact/rigid_contacts.h"
#include "control/joint_forces.h"
#include "dynamics/discretisation.h"
#include "dynamics/dynamics_impl.h"
#include "integrators/event.h"
#include "integrators/friction.h"
#include "integrators/pbfd.h"
#include "scree/step.h"
#include "solvers/lcp.h"
#include "solvers/simplex_qp.h"
#include "solvers/tree_cholesky.h"
#include "solvers/tree_lu.h"

namespace scree {

// Scratch of the integrators with contact. Grows with the number of contacts and never shrinks.
struct ContactScratch {
  ContactScratch(const Model& model, const ContactWorld& world);
  void reserve();                                                      // for the slots the set has now
  void solve_columns(const Eigen::PartialPivLU<Eigen::MatrixXd>& lu);  // Z <- -lu^-1 Z for the slots of the set

  ContactSet set;
  SimplexQp qp;
  Eigen::VectorXd w, w_trial, dw, Qdw, g, g_held;  // by weight
  Eigen::VectorXd u;                               // 3 rows a slot
  Eigen::VectorXd delta_trial, momentum;           // nv
  Eigen::MatrixXd metric;                          // nv x nv, symmetric: of Dissipation::effective
  bool metric_whole = true;                        // its lower triangle is filled, too
  Eigen::VectorXd turning;                         // nv: what the metric lacks of A^T times the motion
  bool metric_wanted = false;                      // at the next factorisation
  Eigen::MatrixXd Z, HZ;                           // nv x weights
  Eigen::MatrixXd U;                               // 3 rows a slot, nv columns
  // Dense, without gaps, for the size the set has now.
  using Dense = Eigen::Map<Eigen::MatrixXd>;
  // Newton's method, of the m = dimension() columns of the active slots and their weights alone.
  using Rows = Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
  int columns() const { return set.dimension() * static_cast<int>(set.active().size()); }
  int active_weights() const { return set.vertex_count() * static_cast<int>(set.active().size()); }
  Rows Y() { return {Y_.data(), metric.rows(), columns()}; }     // d delta/df = A^-1 J^T
  Rows KY() { return {KY_.data(), metric.rows(), columns()}; }   // the metric of K times Y
  Rows UY() { return {KY_.data(), 3 * set.size(), columns()}; }  // Dissipation::contact: velocities by f
  FactoredMatrix quadratic;                                      // Q = E^T S E by the vertices E, S = Y^T KY
  Eigen::VectorXd f, y, w_active, g_active;
  Dense Q() { return {Q_.data(), set.weight_count(), set.weight_count()}; }
  Dense Q_held() { return {Q_held_.data(), set.weight_count(), set.weight_count()}; }
  Dense UZ() { return {UZ_.data(), 3 * set.size(), set.weight_count()}; }

 private:
  int capacity_ = 0;  // slots
  Eigen::VectorXd Q_, Q_held_, UZ_, Y_, KY_;
};

// Scratch of ne-lcp: the pairs that take part in a step, and their complementarity problem.
// theory section 12
struct LcpScratch {
  struct Slot : RigidContact {  // at the start of the step; without friction it has no tangents
    int directions;             // of friction: 0, 2 or those of the polygon
    int column, unknown;        // its first ones
    double scale;               // [sqrt(kg)] of its impulses
    double turn[3];  // [m/s] of lasting contacts: by what n and tangents turning changes the velocities along them
  };
  void reserve(int nv);  // for the slots there are

  Eigen::Matrix2Xd polygon;  // directions of friction in space
  std::vector<Slot> slots;
  std::vector<int> slot_of;  // by pair, -1: none
  int columns = 0, unknowns = 0;
  using Dense = Eigen::Map<Eigen::MatrixXd>;
  Dense J(int nv) { return {J_.data(), nv, columns}; }  // transposed Jacobian of n and the tangents of every slot
  Dense Y(int nv) { return {Y_.data(), nv, columns}; }  // A^-1 J
  Dense G() { return {G_.data(), columns, columns}; }   // [1/kg]
  Dense M() { return {M_.data(), unknowns, unknowns}; }
  Eigen::VectorXd u, f;  // by column: velocity without contact forces [m/s]; force [N]
  Eigen::VectorXd q, z;  // of the complementarity problem
  Lemke lemke;

 private:
  Eigen::VectorXd J_, Y_, G_, M_;
};

// A stage as it was solved, for those who differentiate it.
struct StageRecord {
  Eigen::VectorXd delta, w;
  std::vector<ContactSet::Pick> picks;
};

struct StepWorkspace::Impl {
  Impl(const Model& model, const ContactWorld& world);
  void poison();  // fills what a step must not read before writing with NaN; debug builds call it before every step

  const Model& model;
  const ContactWorld& world;
  Pairs pairs;
  bool has_contact() const { return world.pair_count() > 0; }
  std::vector<Contact> contacts;  // at the end of the last step
  std::vector<Event> events;      // of the last step
  ImpactResolver resolve;         // empty: resolve_impact
  Dynamics dynamics;
  JointForces joint_forces;
  State before;  // the state to return to when a step fails

  // implicit schemes
  PositionBasedStage position_based;
  NewtonEulerStage newton_euler;
  Eigen::VectorXd delta, trial_delta, gradient, trial_gradient, direction;
  Eigen::VectorXd mass_diagonal, rounding;  // per dof: M_aa, and the part of the residual that is rounding [1/s^2]
  Eigen::MatrixXd jacobian, gauss_newton;
  Eigen::MatrixXd joint_hessian;  // upper triangle; nothing outside the blocks of the dofs of one joint
  // The Hessian of the joint forces at delta, into joint_hessian, their gradient added; and joint_hessian added to
  // jacobian, to both of its triangles or to the upper one alone. O(nv).
  void find_joint_hessian(const Control& control, const JointStage& stage, const double* delta, double* gradient);
  void add_joint_hessian(bool both);
  long entries = 0;  // of nv x nv matrices that stages with contact have written, as a measure of work
  TreeCholesky cholesky;
  Eigen::PartialPivLU<Eigen::MatrixXd> lu;
  TreeLu tree_lu;
  std::vector<int> sides;  // of the effort bounds, by dof, that linearised implicit control is on; theory (5.7)
  Eigen::VectorXd zero;    // nv: where linearised steps are at rest

  ContactScratch contact;
  LcpScratch lcp;
  EventScratch event;

  // The control at a time: `control` itself, or with the targets of its motion.
  const Control& control_at(const Control& control, double time);
  Control moving_control;

  // second order
  Eigen::VectorXd unwanted;           // by delta
  std::vector<BodyRate> rate_defect;  // by body
  std::vector<double> stage_weights;  // by pair, at the end of the first stage
  double accuracy = 0;                // [m] asked for of the substep at hand; 0: any

  // step_with_derivatives: the stages of the substep at hand, and who is told when it is accepted. Off: empty.
  std::function<void(const State& state, double h)> on_substep;
  std::vector<StageRecord> stages;
  void record_stage();

  // smooth contact, made by the first step that wants it
  SmoothStepper& smooth_stepper();
  std::unique_ptr<SmoothStepper> smooth;
  FrictionSolver& friction_solver();  // of the optimisers that do not run in lanes
  std::unique_ptr<FrictionSolver> friction;

  // rk4
  Eigen::VectorXd q_stage, v_stage, force;
  Eigen::MatrixXd q_rate, v_rate;  // one column per stage
};

struct WorkspaceAccess {
  static StepWorkspace::Impl& impl(StepWorkspace& workspace) { return *workspace.impl_; }
};

inline JointStage joint_stage(const Discretisation& stage) {
  return {stage.start(), stage.joint_rest().data(), stage.joint_coast().data(), stage.h()};
}

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

// Of explicit methods (rk4.cpp): the rates of positions, and their quaternions back at length 1.         theory (1.9)
void position_rate(const Tree& tree, const double* q, const double* v, double* rate);
void normalize_quaternions(const Tree& tree, double* q);

// Each advances q, v and the history of `state` by h, or leaves `state` alone and says that it failed.
SubstepResult substep_pbd(const Control& control, const StepOptions& options, double h, State& state,
                          StepWorkspace::Impl& ws);
SubstepResult substep_ne(const Control& control, const StepOptions& options, double h, State& state,
                         StepWorkspace::Impl& ws);
SubstepResult substep_rk4(const Control& control, const StepOptions& options, double h, State& state,
                          StepWorkspace::Impl& ws);

// The step without contact forces, linear in the displacement:                                          theory (8.11)
//   A delta = M v_n/h - C(q_n, v_n) - U',   A = M/h^2 + U''
// Leaves A in ws.jacobian, its factors in ws.lu and the solution in ws.delta. Returns M, valid until ws.dynamics moves.
// Implicit control is that of ws.sides.
// `v_forces`: the velocity that C and explicit control are taken at, in place of v_n; A is that of the last call then.
const Eigen::MatrixXd& solve_linearised(const Control& control, const StepOptions& options, double h,
                                        const State& state, StepWorkspace::Impl& ws,
                                        const Eigen::VectorXd* v_forces = nullptr);
// Implicit control is linear on either side of its effort bounds: starts with ws.sides at delta = h v_n, and calls
// `solve`, which leaves ws.delta, until that ends on the sides it was linearised on. False: not solved, or not after
// kMostSides changes, which `result` says then.
// theory (5.7)
constexpr int kMostSides = 20;
constexpr char kNoSides[] = "implicit control: joints go on changing between the sides of their effort bounds";
void start_sides(const Control& control, const StepOptions& options, double h, const State& state,
                 StepWorkspace::Impl& ws);
bool change_sides(const Control& control, const StepOptions& options, double h, const State& state,
                  StepWorkspace::Impl& ws);
template <class Solve>
bool solve_on_sides(const Control& control, const StepOptions& options, double h, const State& state,
                    StepWorkspace::Impl& ws, SubstepResult& result, Solve&& solve) {
  start_sides(control, options, h, state, ws);
  for (int changes = 0; changes <= kMostSides; ++changes) {
    if (!solve()) return false;
    if (!change_sides(control, options, h, state, ws)) return true;
  }
  result.reason = kNoSides;
  return false;
}
SubstepResult substep_mdp(const Control& control, const StepOptions& options, double h, State& state,
                          StepWorkspace::Impl& ws);
SubstepResult substep_lcp(const Control& control, const StepOptions& options, double h, State& state,
                          StepWorkspace::Impl& ws);
// A step of h in which lasting contacts do not approach and friction opposes their slip, in the middle of it: `state`
// has the pose there, and the velocity at the start. `pairs` are at the start of the step, or, in a second pass, at the
// end of the `first`. Leaves h v in ws.delta, h times the velocity without contact in ws.trial_delta, and slots with
// forces in ws.lcp. False: not solved.
// theory (15.3)
bool solve_lasting(const std::vector<LastingPair>& pairs, const Control& control, const StepOptions& options, double h,
                   const State& state, StepWorkspace::Impl& ws, SubstepResult& result,
                   const LastingPass* first = nullptr);
V3<double> force_of(const LcpScratch& lcp, const LcpScratch::Slot& slot);  // [N] on the robot, world axes
SubstepResult substep_nmdp(Discretisation& dynamics, bool first_order, const Control& control,
                           const StepOptions& options, double h, State& state, StepWorkspace::Impl& ws);
SubstepResult substep_nmdp2(Discretisation& dynamics, const Control& control, const StepOptions& options, double h,
                            State& state, StepWorkspace::Impl& ws);
SubstepResult substep_friction(const Control& control, const StepOptions& options, double h, State& state,
                               StepWorkspace::Impl& ws);

// The whole step of `event`.
StepReport step_event(const Control& control, const StepOptions& options, State& state, StepWorkspace::Impl& ws);

}  // namespace scree
