// Simulation: a model, its state, its control and the scratch to step it. The object most users hold.
#pragma once

#include <memory>
#include <string_view>

#include "scree/kinematics.h"
#include "scree/step.h"

namespace scree {

class Simulation {
 public:
  // Throws InputError if the options are out of range.
  explicit Simulation(Model model, StepOptions options = {});
  Simulation(Model model, ContactWorld world, StepOptions options = {});

  const Model& model() const { return *model_; }
  const StepOptions& options() const { return options_; }
  const ContactWorld& world() const { return *world_; }
  const std::vector<Contact>& contacts() const { return workspace_.contacts(); }  // at the end of the last step
  // With pbd_nmdp2, the default, on a law without derivative the integrator is pbd_zonmdp: default_integrator().
  const State& state() const { return state_; }
  Control& control() { return control_; }
  const Control& control() const { return control_; }

  void set_state(const Eigen::VectorXd& q, const Eigen::VectorXd& v, double time = 0);  // checked, see make_state

  [[nodiscard]] StepReport step();           // advances by options().dt
  [[nodiscard]] StepReport step(double dt);  // advances by dt [s] instead, e.g. to end exactly on time

  Pose frame_pose(std::string_view name) const;  // X_WF of a frame or body at the current state

 private:
  std::unique_ptr<const Model> model_;         // at a fixed address: the workspace refers to it
  std::unique_ptr<const ContactWorld> world_;  // likewise
  StepOptions options_;
  State state_;
  Control control_;
  StepWorkspace workspace_;
};

}  // namespace scree
