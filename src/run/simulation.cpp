#include "scree/simulation.h"

namespace scree {

Simulation::Simulation(Model model, StepOptions options) : Simulation(std::move(model), ContactWorld{}, options) {}

Simulation::Simulation(Model model, ContactWorld world, StepOptions options)
    : model_(std::make_unique<const Model>(std::move(model))),
      world_(std::make_unique<const ContactWorld>(std::move(world))),
      options_(options),
      state_(make_state(*model_)),
      control_(*model_),
      workspace_(*model_, *world_) {
  options_.validate();
  if (options_.integrator == StepOptions{}.integrator) options_.integrator = default_integrator(*world_);
  if (world_->pair_count() > 0) check_contact(options_.integrator, *world_->law);
}

void Simulation::set_state(const Eigen::VectorXd& q, const Eigen::VectorXd& v, double time) {
  state_ = make_state(*model_, q, v, time);
}

StepReport Simulation::step() { return step(options_.dt); }

StepReport Simulation::step(double dt) {
  StepOptions options = options_;
  options.dt = dt;
  return scree::step(*model_, control_, options, state_, workspace_);
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
  const auto touches = [&](int point) { return world_->points[static_cast<size_t>(point)].body == wanted; };
  ContactLoad load;
  for (const Contact& contact : contacts()) {
    if (!touches(contact.point)) continue;
    load.force += contact.force;
    load.moment += contact.moment + (contact.position - origin).cross(contact.force);
    ++load.contacts;
  }
  for (const Event& event : events())
    for (const EventContact& contact : event.contacts)
      if (touches(contact.point)) load.impulse += contact.impulse;
  return load;
}

}  // namespace scree
