#include "scree/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <iterator>

#include "integrators/traits.h"
#include "integrators/workspace.h"
#include "math/polygon.h"
#include "scree/error.h"

namespace scree {
namespace {

constexpr const char* kOptimizerNames[] = {"jtj-lm", "lm", "lbfgs"};  // in the order of Optimizer

constexpr const char* kDissipationNames[] = {"contact", "total", "effective"};  // in the order of Dissipation

constexpr const char* kContactSolverNames[] = {"newton", "pgm"};  // in the order of ContactSolver

// The fastest any body turns [rad/s]. Leaves `ws.dynamics` at the state.
double largest_turn_rate(const State& state, StepWorkspace::Impl& ws) {
  ws.dynamics.set_position(state.q);
  double largest = 0;
  for (const Twist<double>& V : ws.dynamics.impl().body_twists(state.v.data()))
    largest = std::max(largest, dot(V.w, V.w));
  return std::sqrt(largest);
}

const ContactWorld& no_contact() {
  static const ContactWorld none;
  return none;
}

constexpr double kAccurateTurn =
    0.1;                       // [rad] under error control: a body that turns lags by 0.04 % of it  theory (9.11)
constexpr double kGrowth = 6;  // what doubling a substep is expected to do to its error

// The longest substep that is not more than twice the last one.
int first_level(const StepOptions& options, double last_step) {
  int level = 0;
  if (last_step > 0)
    while (level < options.max_halvings && std::ldexp(options.dt, -level) > 2.0001 * last_step) ++level;
  return level;
}

// One try of one substep, with the control of the time it acts at.
SubstepResult substep(const Control& control, const StepOptions& options, double h, State& state,
                      StepWorkspace::Impl& ws) {
  const Control& at_end = ws.control_at(control, state.time + h);
  const IntegratorTraits& row = traits(options.integrator);
  const bool on_poses = row.inertia == Inertia::poses;
  Discretisation& dynamics =
      on_poses ? static_cast<Discretisation&>(ws.position_based) : static_cast<Discretisation&>(ws.newton_euler);
  const auto backward_euler = [&] {
    return on_poses ? substep_pbd(at_end, options, h, state, ws) : substep_ne(at_end, options, h, state, ws);
  };
  switch (row.scheme) {
    case Scheme::backward_euler:
      return backward_euler();
    case Scheme::runge_kutta:
      return substep_rk4(control, options, h, state, ws);
    case Scheme::mdp:
      return substep_mdp(options.explicit_pd ? ws.control_at(control, state.time) : at_end, options, h, state, ws);
    case Scheme::nmdp:
      return ws.has_contact() ? substep_nmdp(dynamics, row.law_derivative, at_end, options, h, state, ws)
                              : backward_euler();
    case Scheme::nmdp2:
      return substep_nmdp2(dynamics, control, options, h, state, ws);
    case Scheme::lcp:
      return substep_lcp(options.explicit_pd ? ws.control_at(control, state.time) : at_end, options, h, state, ws);
    case Scheme::events:  // has its own loop
      return {};
    case Scheme::friction:
      return substep_friction(control, options, h, state, ws);
  }
  return {};
}

}  // namespace

const char* dissipation_name(Dissipation dissipation) { return kDissipationNames[static_cast<int>(dissipation)]; }

Dissipation dissipation_from_name(std::string_view name) {
  for (size_t k = 0; k < std::size(kDissipationNames); ++k)
    if (name == kDissipationNames[k]) return static_cast<Dissipation>(k);
  throw InputError(
      fmt::format("dissipation \"{}\" is unknown, expected one of: {}", name, fmt::join(kDissipationNames, ", ")));
}

const char* contact_solver_name(ContactSolver solver) { return kContactSolverNames[static_cast<int>(solver)]; }

ContactSolver contact_solver_from_name(std::string_view name) {
  for (size_t k = 0; k < std::size(kContactSolverNames); ++k)
    if (name == kContactSolverNames[k]) return static_cast<ContactSolver>(k);
  throw InputError(
      fmt::format("solver \"{}\" is unknown, expected one of: {}", name, fmt::join(kContactSolverNames, ", ")));
}

const char* optimizer_name(Optimizer optimizer) { return kOptimizerNames[static_cast<int>(optimizer)]; }

Optimizer optimizer_from_name(std::string_view name) {
  for (size_t k = 0; k < std::size(kOptimizerNames); ++k)
    if (name == kOptimizerNames[k]) return static_cast<Optimizer>(k);
  throw InputError(
      fmt::format("optimizer \"{}\" is unknown, expected one of: {}", name, fmt::join(kOptimizerNames, ", ")));
}

const char* step_status_name(StepStatus status) {
  return status == StepStatus::converged ? "converged" : "not converged";
}

namespace {

// The exact Hessian of 1/2 |R|^2 holds third derivatives.                                               theory (11.12)
void check_optimizer(const StepOptions& options) {
  const IntegratorTraits& row = traits(options.integrator);
  if (options.optimizer == Optimizer::lm && row.contact == ContactKind::smooth && !row.from_energy())
    throw InputError(fmt::format(
        "step: optimizer is lm, expected jtj-lm or lbfgs with integrator \"{}\", which minimises 1/2 |R|^2", row.name));
}

}  // namespace

void StepOptions::validate() const {
  const auto check = [](bool good, const char* field, auto value, const char* expected) {
    if (!good) throw InputError(fmt::format("step: {} is {}, expected {}", field, value, expected));
  };
  check(dt >= 1e-9 && dt <= 10, "dt", dt, "a number in [1e-9, 10] s");
  for (int k = 0; k < 3; ++k)
    check(std::abs(gravity(k)) <= 1e6, "gravity", gravity(k), "a number of at most 1e6 m/s^2");
  check(tolerance > 0 && tolerance <= 1e6, "tolerance", tolerance, "a number in (0, 1e6] m/s^2");
  check(max_iterations >= 1 && max_iterations <= 100000, "max_iterations", max_iterations, "an integer in [1, 100000]");
  check(max_halvings >= 0 && max_halvings <= 30, "max_halvings", max_halvings, "an integer in [0, 30]");
  check(max_turn > 0 && max_turn <= 1, "max_turn", max_turn, "a number in (0, 1] rad");
  check(accuracy >= 0 && accuracy <= 1, "accuracy", accuracy, "a number in [0, 1] m");
  check(max_outer >= 1 && max_outer <= 100000, "max_outer", max_outer, "an integer in [1, 100000]");
  check_optimizer(*this);
}

StepWorkspace::Impl::Impl(const Model& m, const ContactWorld& w)
    : model(m),
      world(w),
      pairs(m, w),
      dynamics(m),
      joint_forces(m),
      before(make_state(m)),
      position_based(m),
      newton_euler(m),
      delta(m.nv()),
      trial_delta(m.nv()),
      gradient(m.nv()),
      trial_gradient(m.nv()),
      direction(m.nv()),
      mass_diagonal(m.nv()),
      rounding(m.nv()),
      jacobian(Eigen::MatrixXd::Zero(m.nv(), m.nv())),
      gauss_newton(jacobian),
      joint_hessian(jacobian),
      cholesky(tree_of(m).dof_parent),
      lu(m.nv()),
      tree_lu(tree_of(m).dof_parent),
      sides(static_cast<size_t>(m.nv()), 0),
      zero(Eigen::VectorXd::Zero(m.nv())),
      contact(m, w),
      event(m, w),
      moving_control(m),
      unwanted(m.nv()),
      rate_defect(tree_of(m).nodes.size()),
      q_stage(m.nq()),
      v_stage(m.nv()),
      force(m.nv()),
      q_rate(m.nq(), 4),
      v_rate(m.nv(), 4) {
  before.body_rates.resize(m.bodies().size());
  lcp.slot_of.resize(w.pair_count(), -1);
  w.event.impact.validate({});
  const int directions = w.event.impact.friction_directions;
  lcp.polygon.resize(2, directions);
  for (int k = 0; k < directions; ++k) {
    const PolygonCorner d = polygon_corner(k, directions);
    lcp.polygon.col(k) << d.x, d.y;
  }
}

ContactScratch::ContactScratch(const Model& model, const ContactWorld& world)
    : set(model, world),
      delta_trial(model.nv()),
      momentum(delta_trial),
      metric(model.nv(), model.nv()),
      turning(delta_trial),
      Z(model.nv(), 0),
      HZ(Z),
      U(0, model.nv()) {}

void ContactScratch::reserve() {
  if (capacity_ > 0 && set.size() <= capacity_) return;
  capacity_ = std::max({1, set.size(), 2 * capacity_});  // 1: views of no columns need an address, too
  const int weights = capacity_ * set.vertex_count(), rows = 3 * capacity_;
  for (Eigen::VectorXd* x : {&w, &w_trial, &dw, &Qdw, &g, &g_held}) x->conservativeResize(weights);
  u.conservativeResize(rows);
  Z.conservativeResize(Z.rows(), weights);
  HZ.conservativeResize(HZ.rows(), weights);
  U.conservativeResize(rows, U.cols());
  Q_.resize(weights * weights);
  Q_held_.resize(weights * weights);
  UZ_.resize(rows * weights);
  const Eigen::Index columns = capacity_ * set.dimension(), nv = Z.rows();
  Y_.resize(nv * columns);
  KY_.resize(std::max<Eigen::Index>(nv, rows) * columns);
  f.resize(columns);
  y.resize(columns);
  w_active.resize(weights);
  g_active.resize(weights);
}

void ContactScratch::solve_columns(const Eigen::PartialPivLU<Eigen::MatrixXd>& lu) {
  auto columns = Z.leftCols(set.weight_count());
  auto permuted = HZ.leftCols(set.weight_count());  // in place a permutation allocates
  permuted.noalias() = lu.permutationP() * columns;
  columns = -permuted;
  lu.matrixLU().triangularView<Eigen::UnitLower>().solveInPlace(columns);
  lu.matrixLU().triangularView<Eigen::Upper>().solveInPlace(columns);
}

SmoothStepper& StepWorkspace::Impl::smooth_stepper() {
  if (!smooth) smooth = std::make_unique<SmoothStepper>(model, world);
  return *smooth;
}

FrictionSolver& StepWorkspace::Impl::friction_solver() {
  if (!friction) friction = std::make_unique<FrictionSolver>(model, world);
  return *friction;
}

const Control& StepWorkspace::Impl::control_at(const Control& control, double time) {
  if (!control.motion) return control;
  moving_control = control;
  control.motion->sample(time, moving_control.target, moving_control.target_velocity);
  return moving_control;
}

namespace {

template <class Visit> void for_pairs_of_joints(const Model& model, Visit visit) {  // upper triangle
  for (const Joint& joint : model.joints())
    for (int b = joint.v_index; b < joint.v_index + velocity_count(joint.type); ++b)
      for (int a = joint.v_index; a <= b; ++a) visit(a, b);
}

}  // namespace

void StepWorkspace::Impl::find_joint_hessian(const Control& control, const JointStage& stage, const double* at,
                                             double* gradient_at) {
  for_pairs_of_joints(model, [&](int a, int b) { joint_hessian(a, b) = 0; });
  double potential = 0;
  joint_forces.add_implicit(control, stage, at, potential, gradient_at, joint_hessian.data());
}

void StepWorkspace::Impl::add_joint_hessian(bool both) {
  for_pairs_of_joints(model, [&](int a, int b) {
    jacobian(a, b) += joint_hessian(a, b);
    if (both && a < b) jacobian(b, a) += joint_hessian(a, b);
  });
}

void StepWorkspace::Impl::record_stage() {
  if (!on_substep) return;
  StageRecord& stage = stages.emplace_back();
  stage.delta = delta;
  stage.w = contact.w.head(contact.set.weight_count());
  contact.set.picks(stage.picks);
}

void StepWorkspace::Impl::poison() {
  for (Eigen::VectorXd* x : {&delta, &trial_delta, &gradient, &trial_gradient, &direction, &mass_diagonal, &rounding,
                             &q_stage, &v_stage, &force})
    x->setConstant(std::numeric_limits<double>::quiet_NaN());
  q_rate.setConstant(std::numeric_limits<double>::quiet_NaN());
  v_rate.setConstant(std::numeric_limits<double>::quiet_NaN());
}

StepWorkspace::StepWorkspace(const Model& model) : StepWorkspace(model, no_contact()) {}
StepWorkspace::StepWorkspace(const Model& model, const ContactWorld& world)
    : impl_(std::make_unique<Impl>(model, world)) {}
const std::vector<Contact>& StepWorkspace::contacts() const { return impl_->contacts; }
const std::vector<Event>& StepWorkspace::events() const { return impl_->events; }
void StepWorkspace::set_impact_resolver(ImpactResolver resolver) { impl_->resolve = std::move(resolver); }
StepWorkspace::~StepWorkspace() = default;
StepWorkspace::StepWorkspace(StepWorkspace&&) noexcept = default;
StepWorkspace& StepWorkspace::operator=(StepWorkspace&&) noexcept = default;

namespace {

// A step is done in substeps of dt / 2^level. A substep that fails, or that would turn a body too far, is halved; once
// both halves are done the next one is tried at double size again (Algorithm 2 of the NMDP paper, as a loop). The
// history in `state` carries the true size of the last substep. With `once` the first substep ends the step.
StepReport take_steps([[maybe_unused]] const Model& model, const Control& control, const StepOptions& options,
                      bool once, State& state, StepWorkspace& workspace) {
  StepWorkspace::Impl& ws = WorkspaceAccess::impl(workspace);
  assert(&model == &ws.model);
  if (ws.has_contact()) check_contact(options.integrator, *ws.world.law);
  check_optimizer(options);
#ifndef NDEBUG
  ws.poison();
#endif
  ws.before = state;
  ws.contacts.clear();
  StepReport report;
  report.residual = 0;
  report.smallest_step = options.dt;

  const std::int64_t whole = std::int64_t{1} << options.max_halvings;  // the step in units of its smallest substep
  const bool controlled = estimates_error(options.integrator) && options.accuracy > 0;
  const bool linear = traits(options.integrator).linear;
  const bool rigid = traits(options.integrator).contact == ContactKind::rigid;  // depths are rounding: forces tell who
                                                                                // touches
  std::int64_t done = 0;
  int level = controlled ? first_level(options, state.last_step) : 0;
  double turn_rate = largest_turn_rate(state, ws);
  double failed_residual = std::numeric_limits<double>::quiet_NaN();  // of the last try that failed
  const char* failed_reason = "";
  while (done < whole) {
    const double h = std::ldexp(options.dt, -level);
    SubstepResult result;
    const bool held = controlled && level < options.max_halvings;  // to the accuracy asked for
    if (turn_rate * h <= (held ? std::min(kAccurateTurn, options.max_turn) : options.max_turn) || linear) {
      ws.accuracy = held ? options.accuracy : 0;
      ws.stages.clear();
      result = substep(control, options, h, state, ws);
      report.iterations += result.iterations;
      report.outer += result.outer;
      report.qp_iterations += result.qp_iterations;
      report.restarts += result.restarts;
      report.stages += result.stages;
      report.damped += result.damped;
      report.stationary += result.stationary;
      report.rejected += result.converged ? 0 : 1;
      report.inaccurate += result.inaccurate ? 1 : 0;
      if (!result.converged) failed_residual = result.residual, failed_reason = result.reason;
    }
    if (!result.converged && ++level > options.max_halvings) {  // nothing smaller is left to try
      state = ws.before;
      ws.contacts.clear();  // those of substeps taken back
      report.residual = failed_residual;
      report.reason = failed_reason;
      return report;
    }
    if (!result.converged) continue;

    turn_rate = largest_turn_rate(state, ws);
    state.last_step = h;
    report.residual = std::max(report.residual, result.residual);
    report.optimality = std::max(report.optimality, result.optimality);
    report.error = std::max(report.error, result.error);
    report.smallest_step = std::min(report.smallest_step, h);
    report.largest_step = std::max(report.largest_step, h);
    ++report.substeps;
    done += whole >> level;
    state.time = ws.before.time + options.dt * (static_cast<double>(done) / static_cast<double>(whole));
    if (ws.on_substep) ws.on_substep(state, h);
    if (once) break;
    // A pair of halves is done: the next substep may be twice as long. Under error control it must promise to be
    // accurate, its error being that of the last one times 2^3 with some luck.
    const auto pair_done = [&] { return level > 0 && done % (whole >> (level - 1)) == 0; };
    if (!controlled)
      while (pair_done()) --level;
    else if (pair_done() && kGrowth * result.error < options.accuracy)
      --level;
  }

  report.status = StepStatus::converged;
  for (const Contact& contact : ws.contacts) {
    report.contacts += contact.depth > 0 || (rigid && !contact.force.isZero(0)) ? 1 : 0;
    report.penetration = std::max(report.penetration, contact.depth);
  }
  report.kinetic_energy = ws.dynamics.kinetic_energy(state.v);
  report.potential_energy = ws.dynamics.gravity_energy(options.gravity) + ws.joint_forces.stop_energy(state.q.data());
  return report;
}

// Steps in lanes do their own halving (integrators/lockstep.h).
bool runs_in_lanes(const StepOptions& options) {
  return traits(options.integrator).lanes && options.optimizer == Optimizer::jtj_lm;
}

StepReport step_in_lane(const Control& control, const StepOptions& options, State& state, StepWorkspace::Impl& ws) {
  StepReport report = ws.smooth_stepper().step(control, options, state, ws.contacts);
  if (!report.converged()) return report;
  state.time += options.dt;
  ws.dynamics.set_position(state.q);
  report.kinetic_energy = ws.dynamics.kinetic_energy(state.v);
  report.potential_energy = ws.dynamics.gravity_energy(options.gravity) + ws.joint_forces.stop_energy(state.q.data());
  return report;
}

}  // namespace

StepReport step(const Model& model, const Control& control, const StepOptions& options, State& state,
                StepWorkspace& workspace) {
  if (traits(options.integrator).scheme == Scheme::events)
    return step_event(control, options, state, WorkspaceAccess::impl(workspace));
  if (runs_in_lanes(options)) return step_in_lane(control, options, state, WorkspaceAccess::impl(workspace));
  return take_steps(model, control, options, false, state, workspace);
}

StepReport advance(const Model& model, const Control& control, const StepOptions& options, State& state,
                   StepWorkspace& workspace) {
  if (traits(options.integrator).scheme == Scheme::events)
    return step_event(control, options, state, WorkspaceAccess::impl(workspace));
  if (runs_in_lanes(options)) return step_in_lane(control, options, state, WorkspaceAccess::impl(workspace));
  return take_steps(model, control, options, true, state, workspace);
}

}  // namespace scree
