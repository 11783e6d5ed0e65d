#include "scree/simulation.h"

#include "run/state_blocks.h"

namespace scree {

Simulation::Simulation(Model model, StepOptions options) : Simulation(std::move(model), World{}, options) {}

Simulation::Simulation(Model model, World world, StepOptions options)
    : model_(std::make_unique<const Model>(std::move(model))),
      world_(std::make_unique<const World>(std::move(world))),
      options_(options),
      state_(make_state(*model_)),
      control_(*model_),
      workspace_(*model_, *world_) {
  if (options.integrator == StepOptions{}.integrator) options.integrator = default_integrator(*world_);
  set_options(options);
}

void Simulation::set_options(const StepOptions& options) {
  options.validate();
  if (world_->pair_count() > 0) check_contact(options.integrator, *world_->law);
  options_ = options;
}

void Simulation::set_state(const Eigen::VectorXd& q, const Eigen::VectorXd& v, double time) {
  state_ = make_state(*model_, q, v, time);
}

void Simulation::set_state(State state) {
  check_state(*model_, state);
  state_ = std::move(state);
}

void Simulation::set_impact_resolver(ImpactResolver resolver) { workspace_.set_impact_resolver(std::move(resolver)); }

StepReport Simulation::step() { return step(options_.dt); }

StepReport Simulation::step(double dt) {
  StepOptions options = options_;
  options.dt = dt;
  return scree::step(*model_, control_, options, state_, workspace_);
}

StepReport Simulation::advance(double dt, int max_halvings) {
  StepOptions options = options_;
  options.dt = dt;
  options.max_halvings = max_halvings;
  return scree::advance(*model_, control_, options, state_, workspace_);
}

Pose Simulation::frame_pose(std::string_view name) const {
  return scree::frame_pose(*model_, state_.q, model_->find_frame(name));
}

FrameVelocity Simulation::frame_velocity(std::string_view name) const {
  return scree::frame_velocity(*model_, state_.q, state_.v, model_->find_frame(name));
}

namespace {

// What colliders of `body` bear, moments about `origin`, where `counts` says that the other body counts.
template <class Counts>
ContactLoad sum_loads(const Simulation& simulation, BodyIndex body, const Vec3& origin, const Counts& counts) {
  const auto body_of = [&](int collider) { return simulation.world().colliders[static_cast<size_t>(collider)].body; };
  // 1: it is the first of the two, who takes the force; -1: the second; 0: no part of it.
  const auto side = [&](int a, int b) {
    if (body_of(a) == body && counts(body_of(b))) return 1.0;
    return body_of(b) == body && counts(body_of(a)) ? -1.0 : 0.0;
  };
  ContactLoad load;
  for (const Contact& contact : simulation.contacts()) {
    const double sign = side(contact.a, contact.b);
    if (sign == 0) continue;
    load.force += sign * contact.force;
    load.moment += sign * (contact.moment + (contact.position - origin).cross(contact.force));
    ++load.contacts;
  }
  for (const Event& event : simulation.events())
    for (const EventContact& contact : event.contacts) load.impulse += side(contact.a, contact.b) * contact.impulse;
  return load;
}

}  // namespace

ContactLoad Simulation::contact_force(std::string_view body) const {
  return sum_loads(*this, model_->find_body(body), frame_pose(body).p, [](BodyIndex) { return true; });
}

ContactLoad Simulation::contact_force(std::string_view body, std::string_view other) const {
  const auto index = [&](std::string_view name) { return name == "world" ? kWorld : model_->find_body(name); };
  const BodyIndex partner = index(other);
  return sum_loads(*this, index(body), frame_pose(body).p, [&](BodyIndex found) { return found == partner; });
}

}  // namespace scree
