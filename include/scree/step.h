// One time step: options in, report out.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "scree/control.h"
#include "scree/event.h"
#include "scree/state.h"
#include "scree/world.h"

namespace scree {

// Users choose from six: pbd_nmdp2 (accurate, the default), pbfd_coulomb (fast), pbfd_coulomb2 (fast, second order),
// event (rigid, impacts at their times), ne_lcp (rigid, the baseline), rk4 (reference without contact). The others are
// those of the papers.
enum class IntegratorType {
  pbd,  // position-based backward Euler, first order, stable at large steps; theory (4.1)
  ne,   // Newton-Euler backward Euler in body velocities, first order; theory (7.2)
  rk4,  // classical Runge-Kutta on the forward dynamics, fourth order, explicit; the reference
  // With contact:
  ne_mdp,      // "ne-mdp": linearised dynamics and contact at the start of the step, one QP; the baseline of the paper
  ne_nmdp,     // "ne-nmdp": the nonlinear maximal dissipation principle on `ne`, first order in time
  ne_zonmdp,   // "ne-zonmdp": the same without derivatives of the contact law
  pbd_nmdp,    // "pbd-nmdp": on `pbd`
  pbd_zonmdp,  // "pbd-zonmdp"
  ne_nmdp2,    // "ne-nmdp2": the same principle in two stages of second order, with an error estimate; theory section 9
  pbd_nmdp2,   // "pbd-nmdp2": on body transforms
  ne_lcp,      // "ne-lcp": dry friction by complementarity, linearised at the start of the step; theory section 12
  event,       // "event": impacts at their times by a law of impacts, ne-lcp where contacts last; theory section 15
  // Contact as a smooth force of depth and slip (World::smooth), on `pbd`; theory section 11:
  pbd_friction,   // "pbd-friction": normal force and friction from one energy, eq. 11 of the PBFD paper
  pbfd,           // "pbfd": position-based frictional dynamics, eq. 13
  pbfd_coulomb,   // "pbfd-coulomb": friction bounded by mu times the normal force
  pbd_friction2,  // "pbd-friction2": the same in two stages of second order
  pbfd2,          // "pbfd2"
  pbfd_coulomb2,  // "pbfd-coulomb2"
};
bool knows_contact(IntegratorType type);
bool estimates_error(IntegratorType type);
bool uses_smooth_contact(IntegratorType type);  // World::smooth in place of World::law
// [m] How deep a point is that carries its share of the weight, found from what the ground answers; 0 where contact is
// rigid, infinite if the ground does not carry it.
double static_depth(const Model& model, const World& world, IntegratorType type);
// What scenes and simulations take where none is named: pbd_nmdp2, where the contact law has no derivative pbd_zonmdp.
IntegratorType default_integrator(const World& world);
void check_accuracy(IntegratorType type);  // throws InputError if it does not, names those that do
// Throws InputError if the integrator knows no contact, or needs the derivative of the law and the law offers none.
void check_contact(IntegratorType type, const ContactLaw& law);
// Throws InputError if a point is deeper in the ground than `event` goes: it lets nothing out.
void check_clear(const Model& model, const World& world, const EventOptions& event, const Eigen::VectorXd& q);

// Which kinetic energy the contact forces are chosen to minimise.                                     theory (8.4)
enum class Dissipation {
  contact,    // of unit masses at the surface points in contact: what the authors of the NMDP paper ran
  total,      // of the whole robot: what the paper prints. Feet slip under stiff implicit control
  effective,  // of the whole robot in the metric of the implicit system, springs and dampers included: each contact
              // resists its own slip, as Coulomb has it. Equals `total` where nothing but inertia is implicit
};
const char* dissipation_name(Dissipation dissipation);
Dissipation dissipation_from_name(std::string_view name);  // throws InputError that lists the names
// How a stage with contact is solved. Both end at the same forces.                                     theory section 8
enum class ContactSolver {
  newton,  // pose and forces together, one factorisation an iteration; falls back on `pgm`
  pgm,     // the projected gradient method of the NMDP paper; always used for laws without derivatives
};
const char* contact_solver_name(ContactSolver solver);
ContactSolver contact_solver_from_name(std::string_view name);  // throws InputError that lists the names
// How a step of pbd-friction and pbfd is solved: Table I of the PBFD paper.                            theory (11.12)
enum class Optimizer {
  jtj_lm,  // "jtj-lm": Levenberg-Marquardt with the Hessian of the linearised residual
  lm,      // "lm": with the exact Hessian of the energy; pbd-friction only
  lbfgs,   // "lbfgs": gradients alone
};
const char* optimizer_name(Optimizer optimizer);
Optimizer optimizer_from_name(std::string_view name);  // throws InputError that lists the names
const char* integrator_name(IntegratorType type);
std::vector<IntegratorType> integrators();                   // all of them, those users choose from first
std::string integrator_names();                              // likewise: "pbd-nmdp2, ..."
IntegratorType integrator_from_name(std::string_view name);  // throws InputError that lists the names

struct StepOptions {
  // As in scenes. Simulation takes pbd_zonmdp in place of pbd_nmdp2 where the contact law has no derivative; to have
  // the zeroth order everywhere, name it.
  IntegratorType integrator = IntegratorType::pbd_nmdp2;
  double dt = 0.01;         // > 0 [s], at most 10
  double tolerance = 1e-8;  // > 0 [m/s^2, rad/s^2], largest unbalanced acceleration a step may leave
  int max_iterations = 50;  // >= 1, Newton iterations before the step is halved; of lbfgs 20 times as many
  int max_halvings = 12;    // >= 0, how often one step may be halved: smallest substep dt / 2^n
  double max_turn = 0.5;    // in (0, 1] [rad], a body predicted to turn more in one substep: halve it first
  // Integrators that estimate their error (ne-nmdp2, pbd-nmdp2):
  double accuracy = 3e-5;  // in [0, 1] [m], largest estimated error of a substep, root mean square over the mass of any
                           // body, theory (9.7); a substep that exceeds it is halved. 0: whatever dt leads to
  // Integrators with contact:
  Dissipation dissipation = Dissipation::effective;
  ContactSolver solver = ContactSolver::newton;
  int max_outer = 500;  // >= 1, iterations of the projected gradient method before the step is halved
  // ne-mdp, ne-lcp and event: control from the state at the start of the step; false: at its end
  bool explicit_pd = true;
  Optimizer optimizer = Optimizer::jtj_lm;  // of pbd-friction, pbfd and pbfd-coulomb
  EventOptions event = {};                  // of `event`
  void validate() const;                    // throws InputError: field, value received, accepted range
};

enum class StepStatus {
  converged,
  not_converged,  // the smallest substep still failed; the state is the one before the step
};
const char* step_status_name(StepStatus status);

struct StepReport {
  StepStatus status = StepStatus::not_converged;  // until the step proves otherwise
  int iterations = 0;                             // Newton iterations over all substeps, failed tries included
  int substeps = 0;                               // accepted substeps; 1 when nothing was subdivided
  int rejected = 0;                               // tries that failed or were not accurate enough and were halved
  int inaccurate = 0;                             // of these, not accurate enough
  int stages = 0;                                 // stages solved, failed tries included
  double smallest_step = 0, largest_step = 0;     // [s] of the accepted substeps
  double residual = std::numeric_limits<double>::quiet_NaN();  // [m/s^2, rad/s^2] worst substep; of a failed step,
                                                               // where its last try ended
  double kinetic_energy = 0;                                   // [J] at the end of the step
  double potential_energy = 0;                                 // [J] gravity (zero at the world origin) and joint stops
  int outer = 0;          // quadratic programs for the contact forces over all substeps, failed tries included
  int qp_iterations = 0;  // of the inner quadratic programs; ne-lcp: pivots of its complementarity problems
  double optimality = 0;  // [J] worst substep: by how much a first-order change of the contact forces could still lower
                          // the kinetic energy they minimise; theory (8.10)
  int damped = 0;         // iterations of jtj-lm that needed damping, of integrators with smooth contact
  int stationary = 0;     // of the rejected tries: ended where 1/2 |R|^2 is stationary, but R is not zero
  int restarts = 0;       // stages solved again from zero forces by the projected gradient method
  double error = 0;       // [m] largest estimated error of an accepted substep, of the integrators that estimate it
  int contacts = 0;       // contacts in the ground at the end of the step
  double penetration = 0;   // [m] deepest contact at the end of the step
  int events = 0;           // of `event`: StepWorkspace::events()
  double energy_gain = 0;   // [J] of `event`: what the step gained beyond the work of drives; theory (15.10)
  double energy_error = 0;  // of `event`: largest imbalance of a substep, 1: as much as energy_accuracy allows. Larger
                            // in substeps of the smallest length only, which `inaccurate` counts
  std::string reason;       // of a failed step: why, in words; empty where `residual` says it
  bool converged() const { return status == StepStatus::converged; }
};

// All scratch of a step, one per thread. A step allocates only where it needs more of it than all before: with more
// contacts than ever, with an integrator of another family, or, of `event`, in an impact.
class StepWorkspace {
 public:
  explicit StepWorkspace(const Model& model);
  StepWorkspace(const Model& model, const World& world);  // refers to both
  ~StepWorkspace();
  StepWorkspace(StepWorkspace&&) noexcept;
  StepWorkspace& operator=(StepWorkspace&&) noexcept;
  // The contacts at the end of the last step that are in the ground or carry a force, ordered by pair.
  const std::vector<Contact>& contacts() const;
  // Of `event`: what happened during the last step, in the order of time.
  const std::vector<Event>& events() const;
  void set_impact_resolver(ImpactResolver resolver);  // of `event`; empty: resolve_impact with the world's options
  struct Impl;

 private:
  friend struct WorkspaceAccess;  // the library's own (src/integrators/workspace.h)
  std::unique_ptr<Impl> impl_;
};

// Advances `state` by exactly options.dt, halving the step where the solver asks for it. Never throws for numerical
// reasons; on failure the state is left as it was and the report says so. Throws InputError as
// check_contact.
[[nodiscard]] StepReport step(const Model& model, const Control& control, const StepOptions& options, State& state,
                              StepWorkspace& workspace);

// Advances `state` by ONE substep of at most options.dt, which is halved until it is accurate enough. state.last_step
// says how long it is. Otherwise as step(); with pbfd and its like, which estimate no error, it is step().
[[nodiscard]] StepReport advance(const Model& model, const Control& control, const StepOptions& options, State& state,
                                 StepWorkspace& workspace);

}  // namespace scree
