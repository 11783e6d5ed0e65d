// Simulation: a model, its state, its control and the scratch to step it. The object most users hold.
#pragma once

#include <memory>
#include <string_view>

#include "scree/kinematics.h"
#include "scree/step.h"

namespace scree {

// What the ground does to a body, world axes, all its contacts together.
struct ContactLoad {
  Vec3 force = Vec3::Zero();    // [N] at the end of the last step
  Vec3 moment = Vec3::Zero();   // [N m] likewise, about the origin of the body
  Vec3 impulse = Vec3::Zero();  // [N s] of `event`: of the impacts during the last step; otherwise zero
  int contacts = 0;             // at the end of the last step
};

class Simulation {
 public:
  // With pbd_nmdp2, the default, on a law without derivative the integrator is pbd_zonmdp: default_integrator().
  // Throws InputError if the options are out of range.
  explicit Simulation(Model model, StepOptions options = {});
  Simulation(Model model, World world, StepOptions options = {});

  const Model& model() const { return *model_; }
  const StepOptions& options() const { return options_; }
  const World& world() const { return *world_; }
  const std::vector<Contact>& contacts() const { return workspace_.contacts(); }  // at the end of the last step
  const std::vector<Event>& events() const { return workspace_.events(); }        // of `event`: during the last step
  const State& state() const { return state_; }
  Control& control() { return control_; }
  const Control& control() const { return control_; }

  void set_state(const Eigen::VectorXd& q, const Eigen::VectorXd& v, double time = 0);  // checked, see make_state
  // With its history, bit for bit: steps from a copy of state() are those from the original. Throws InputError: sizes,
  // numbers that are not finite.
  void set_state(State state);
  void set_time(double time) { state_.time = time; }  // [s] e.g. k dt in place of a sum that drifts
  void set_options(const StepOptions& options);  // as they are. Throws InputError: out of range, or as check_contact
  void set_impact_resolver(ImpactResolver resolver);  // of `event`; empty: resolve_impact with the world's options

  [[nodiscard]] StepReport step();           // advances by options().dt
  [[nodiscard]] StepReport step(double dt);  // advances by dt [s] instead, e.g. to end exactly on time
  // ONE substep of at most dt [s], halved until it is accurate enough but at most `max_halvings` times;
  // state().last_step says how long it is.
  [[nodiscard]] StepReport advance(double dt, int max_halvings);

  // Of a frame, a body or "world" at the current state. Throws InputError that names the nearest known name.
  Pose frame_pose(std::string_view name) const;  // X_WF
  FrameVelocity frame_velocity(std::string_view name) const;
  // What acts on a body: of all that touches it, or of one other body, which may be "world". Throws InputError
  // likewise.
  ContactLoad contact_force(std::string_view body) const;
  ContactLoad contact_force(std::string_view body, std::string_view other) const;

 private:
  std::unique_ptr<const Model> model_;  // at a fixed address: the workspace refers to it
  std::unique_ptr<const World> world_;  // likewise
  StepOptions options_;
  State state_;
  Control control_;
  StepWorkspace workspace_;
};

}  // namespace scree
