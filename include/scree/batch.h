// BatchSimulation: many trajectories of one model, with different initial states, controls and contact, in the SIMD
// lanes and threads of one machine. docs/batch.md.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scree/step.h"
#include "scree/table.h"

namespace scree {

struct BatchOptions {
  // integrator: pbfd, pbfd-coulomb, pbfd2 or pbfd-coulomb2
  StepOptions step = {.integrator = IntegratorType::pbfd_coulomb};
  double duration = 1;           // > 0 [s]
  int rows_every = 0;            // >= 0 steps between recorded rows; 0: the end alone
  double max_penetration = 0.1;  // > 0 [m] a trajectory that starts deeper in the ground is not run
  int lanes = 0;                 // 1, 4 (AVX2) or 8 (AVX-512); 0: as many as this processor has
  int threads = 0;               // >= 0; 0: as many as this machine has
  void validate() const;         // throws InputError: field, value received, accepted range
};
int batch_lanes(const BatchOptions& options);    // 1, 4 or 8
int batch_threads(const BatchOptions& options);  // >= 1

// What one trajectory has of its own.
struct Trajectory {
  Eigen::VectorXd q, v;  // at time 0
  Control control;
  double friction = 0.7;        // Surface::friction
  SmoothContactOptions smooth;  // exponents and form as those of the world
};

enum class TrajectoryStatus : std::uint8_t {
  complete,
  step_failed,  // a step did not converge at its smallest substep; the recording ends before it
  invalid,      // its initial state, control or contact is impossible; it was not run
};
const char* trajectory_status_name(TrajectoryStatus status);

struct TrajectoryResult {
  TrajectoryStatus status = TrajectoryStatus::invalid;
  std::string failure;  // empty when complete
  double end_time = 0;  // [s] of the last state that was reached
  // One row a record, nq and nv columns: every rows_every steps and the last state reached; row 0 is the start if
  // rows_every > 0.
  Table q, v;
  std::int64_t steps = 0, substeps = 0, rejected = 0, iterations = 0, damped = 0, stationary = 0;
  double residual = 0;     // [m/s^2, rad/s^2] worst step
  double penetration = 0;  // [m] deepest contact at the end of any step
  std::uint64_t final_state_hash = 0;
  size_t rows() const { return q.rows(); }
};

// How the trajectories of a scene differ: its table [batch], docs/batch.md. Trajectory 0 is the scene itself.
struct BatchVariation {
  using Range = std::optional<std::array<double, 2>>;  // low, high: uniform in between; empty: as in the scene
  std::uint64_t seed = 0;
  int trajectories = 0;  // >= 0, how many if nobody says; 0: none said
  // Standard deviations of normal noise, by degree of freedom (nv), >= 0; empty: none.
  Eigen::VectorXd position;  // [m, rad] of the initial position; rotations q * exp(w), w in body axes
  Eigen::VectorXd velocity;  // [m/s, rad/s] of the initial velocity
  Eigen::VectorXd target;    // [m, rad] of Control::target, of joints with a motor
  Range friction;            // as in Surface
  Range depth, stiffness, speed, drag, creep, damping;  // as in SmoothContactOptions
  Range kp_scale, kd_scale;                             // >= 0, one factor for the gains of all joints
  double max_penetration = 0.1;                         // [m] as in BatchOptions
};

class BatchSimulation {
 public:
  // Throws InputError: options, or an integrator without lanes.
  BatchSimulation(Model model, World world, BatchOptions options);
  ~BatchSimulation();
  BatchSimulation(BatchSimulation&&) noexcept;
  BatchSimulation& operator=(BatchSimulation&&) noexcept;

  const Model& model() const;
  const BatchOptions& options() const;
  size_t steps() const;               // of a complete trajectory
  std::vector<double> times() const;  // [s] of the rows of a complete trajectory
  Trajectory trajectory() const;      // a fresh one at rest: to be changed and handed back

  // Fills in trajectory `index`, which comes as trajectory() gives it. Called by several threads; the same index must
  // give the same trajectory.
  using Source = std::function<void(size_t index, Trajectory& trajectory)>;
  // Takes a result, one thread at a time, in the order in which trajectories end. False: stop soon, without the rest.
  using Sink = std::function<bool(size_t index, TrajectoryResult& result)>;
  // Asked before every step, by several threads. True: stop now, without the trajectories under way.
  using Stop = std::function<bool()>;
  // Runs trajectories [first, last). Every result has the bits that the same trajectory has when it runs alone, in
  // any number of lanes and threads. Exceptions of all three come through. False: it was asked to stop.
  bool run(size_t first, size_t last, const Source& source, const Sink& sink, const Stop& stop = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace scree
