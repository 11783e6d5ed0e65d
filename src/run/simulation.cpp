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

ContactLoad Simulation::contact_force(std::string_view body) const {
  const BodyIndex wanted = model_->find_body(body);
  const Vec3 origin = frame_pose(body).p;
  const auto touches = [&](int a) { return world_->colliders[static_cast<size_t>(a)].body == wanted; };
  ContactLoad load;
  for (const Contact& contact : contacts()) {
    if (!touches(contact.a)) continue;
    load.force += contact.force;
    load.moment += contact.moment + (contact.position - origin).cross(contact.force);
    ++load.contacts;
  }
  for (const Event& event : events())
    for (const EventContact& contact : event.contacts)
      if (touches(contact.a)) load.impulse += contact.impulse;
  return load;
}

}  // namespace scree
