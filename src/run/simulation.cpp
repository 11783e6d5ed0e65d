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

}  // namespace scree
