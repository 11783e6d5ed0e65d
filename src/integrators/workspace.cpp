#include "integrators/workspace.h"

#include <limits>
#include <utility>

namespace scree {
namespace {

const World& no_contact() {
  static const World none;
  return none;
}

const World& validated(const World& world, const Model& model) {
  world.validate(model);
  return world;
}

template <class Visit> void for_pairs_of_joints(const Model& model, Visit visit) {  // upper triangle
  for (const Joint& joint : model.joints()) {
    if (joint.mimic) continue;
    for (int b = joint.v_index; b < joint.v_index + velocity_count(joint.type); ++b)
      for (int a = joint.v_index; a <= b; ++a) visit(a, b);
  }
}

}  // namespace

StepWorkspace::Impl::Impl(const Model& m, const World& w)
    : model(m),
      world(validated(w, m)),
      pairs(m, w),
      near(pairs),
      dynamics(m),
      joint_forces(m),
      joint_friction(m),
      stiction(m),
      moving_control(m),
      before(make_state(m)),
      position_based(m),
      newton_euler(m),
      delta(m.nv()),
      trial_delta(m.nv()),
      gradient(m.nv()),
      trial_gradient(m.nv()),
      direction(m.nv()),
      force(m.nv()),
      jacobian(Eigen::MatrixXd::Zero(m.nv(), m.nv())),
      gauss_newton(jacobian),
      joint_hessian(jacobian),
      residual_scale{delta, delta},
      cholesky(tree_of(m).parent),
      lu(m.nv()),
      tree_lu(tree_of(m).parent),
      rk4{Eigen::VectorXd(m.nq()),    Eigen::VectorXd(m.nv()), Eigen::MatrixXd(m.nq(), 4),
          Eigen::MatrixXd(m.nv(), 4), Eigen::VectorXd(m.nq()), Eigen::VectorXd(m.nv())},
      linearised{std::vector<int>(static_cast<size_t>(m.nv()), 0), Eigen::VectorXd::Zero(m.nv())},
      nmdp2{Eigen::VectorXd(m.nv()), std::vector<BodyRate>(tree_of(m).nodes.size()), {}},
      contact(m, w),
      lcp(w),
      event(m, w) {
  before.body_rates.resize(m.bodies().size());
}

void StepWorkspace::Impl::poison() {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (Eigen::VectorXd* x : {&delta, &trial_delta, &gradient, &trial_gradient, &direction, &force, &rk4.q, &rk4.v,
                             &rk4.q_start, &rk4.v_start, &residual_scale.mass_diagonal, &residual_scale.rounding})
    x->setConstant(kNan);
  rk4.q_rate.setConstant(kNan);
  rk4.v_rate.setConstant(kNan);
}

const Control& StepWorkspace::Impl::control_at(const Control& control, double time) {
  if (!control.motion) return control;
  moving_control = control;
  control.motion->sample(time, moving_control.target, moving_control.target_velocity);
  return moving_control;
}

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
  stage.friction_sides = joint_friction.all_sides();
  stage.w = contact.w.head(contact.set.weight_count());
  contact.set.picks(stage.picks);
}

SmoothStepper& StepWorkspace::Impl::smooth_stepper() {
  if (!smooth) smooth = std::make_unique<SmoothStepper>(model, world);
  return *smooth;
}

FrictionSolver& StepWorkspace::Impl::friction_solver() {
  if (!friction) friction = std::make_unique<FrictionSolver>(model, world);
  return *friction;
}

StepWorkspace::StepWorkspace(const Model& model) : StepWorkspace(model, no_contact()) {}
StepWorkspace::StepWorkspace(const Model& model, const World& world) : impl_(std::make_unique<Impl>(model, world)) {}
const std::vector<Contact>& StepWorkspace::contacts() const { return impl_->contacts; }
const std::vector<Event>& StepWorkspace::events() const { return impl_->events; }
void StepWorkspace::set_impact_resolver(ImpactResolver resolver) { impl_->resolve = std::move(resolver); }
StepWorkspace::~StepWorkspace() = default;
StepWorkspace::StepWorkspace(StepWorkspace&&) noexcept = default;
StepWorkspace& StepWorkspace::operator=(StepWorkspace&&) noexcept = default;

}  // namespace scree
