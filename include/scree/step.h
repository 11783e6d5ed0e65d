// One time step: options in, report out.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "scree/control.h"
#include "scree/state.h"

namespace scree {

enum class IntegratorType {
  pbd,  // position-based backward Euler, first order, stable at large steps; theory (4.1)
  ne,   // Newton-Euler backward Euler in body velocities, first order; theory (7.2)
  rk4,  // classical Runge-Kutta on the forward dynamics, fourth order, explicit; the reference
};
const char* integrator_name(IntegratorType type);
IntegratorType integrator_from_name(std::string_view name);  // throws InputError that lists the names

struct StepOptions {
  IntegratorType integrator = IntegratorType::pbd;
  double dt = 0.01;                  // > 0 [s], at most 10
  Vec3 gravity = Vec3(0, 0, -9.81);  // [m/s^2]
  double tolerance = 1e-8;           // > 0 [m/s^2, rad/s^2], largest unbalanced acceleration a step may leave
  int max_iterations = 50;           // >= 1, Newton iterations before the step is halved
  int max_halvings = 12;             // >= 0, how often one step may be halved: smallest substep dt / 2^n
  double max_turn = 0.5;             // in (0, 1] [rad], a body predicted to turn more in one substep: halve it first
  void validate() const;             // throws InputError: field, value received, accepted range
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
  int rejected = 0;                               // tries that failed or turned too far and were halved
  double smallest_step = 0;                       // [s] of the accepted substeps
  double residual = std::numeric_limits<double>::quiet_NaN();  // [m/s^2, rad/s^2] worst substep; of a failed step,
                                                               // where its last try ended
  double kinetic_energy = 0;                                   // [J] at the end of the step
  double potential_energy = 0;                                 // [J] gravity (zero at the world origin) and joint stops
  bool converged() const { return status == StepStatus::converged; }
};

// All scratch of a step, one per thread. Its constructor is the only place that allocates.
class StepWorkspace {
 public:
  explicit StepWorkspace(const Model& model);
  ~StepWorkspace();
  StepWorkspace(StepWorkspace&&) noexcept;
  StepWorkspace& operator=(StepWorkspace&&) noexcept;
  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// Advances `state` by exactly options.dt, halving the step where the solver asks for it. Never throws for numerical
// reasons; on failure the state is left as it was and the report says so.
[[nodiscard]] StepReport step(const Model& model, const Control& control, const StepOptions& options, State& state,
                              StepWorkspace& workspace);

}  // namespace scree
