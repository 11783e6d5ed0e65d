#include "scree/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>

#include "base/in_parallel.h"
#include "contact/rigid_contacts.h"
#include "integrators/lanes.h"
#include "integrators/traits.h"
#include "run/schedule.h"
#include "scree/error.h"
#include "scree/kinematics.h"
#include "scree/state.h"

namespace scree {

const char* trajectory_status_name(TrajectoryStatus status) {
  switch (status) {
    case TrajectoryStatus::complete:
      return "complete";
    case TrajectoryStatus::step_failed:
      return "step_failed";
    case TrajectoryStatus::invalid:
      break;
  }
  return "invalid";
}

void BatchOptions::validate() const {
  step.validate();
  const auto check = [](bool good, const char* field, auto value, const char* expected) {
    if (!good) throw InputError(fmt::format("batch: {} is {}, expected {}", field, value, expected));
  };
  check(duration > 0 && duration <= 1e6, "duration", duration, "a number in (0, 1e6] s");
  check(duration / step.dt <= 1e9, "duration", duration, "at most 1e9 steps");
  check(rows_every >= 0, "rows_every", rows_every, "an integer >= 0");
  check(max_penetration > 0 && max_penetration <= 1e6, "max_penetration", max_penetration, "a number in (0, 1e6] m");
  check(threads >= 0 && threads <= 4096, "threads", threads, "an integer in [0, 4096]");
  check(lanes == 0 || lanes == 1 || lanes == 4 || lanes == 8, "lanes", lanes, "0, 1, 4 or 8");
  if (lanes > 0 && !has_lanes(lanes))
    throw InputError(fmt::format("batch: lanes is {}, which this processor does not have, expected at most {}", lanes,
                                 widest_lanes()));
  if (!traits(step.integrator).lanes)
    throw InputError(fmt::format("batch: integrator \"{}\" has no lanes, expected one of: {}",
                                 integrator_name(step.integrator),
                                 names_of_integrators([](const auto& row) { return row.lanes; })));
  if (step.optimizer != Optimizer::jtj_lm)
    throw InputError(
        fmt::format("batch: optimizer \"{}\" has no lanes, expected jtj-lm", optimizer_name(step.optimizer)));
}

int batch_lanes(const BatchOptions& options) { return options.lanes > 0 ? options.lanes : widest_lanes(); }
int batch_threads(const BatchOptions& options) { return thread_count(options.threads); }

struct BatchSimulation::Impl {
  Impl(Model m, World w, BatchOptions o)
      : model(std::move(m)),
        world(std::move(w)),
        options(std::move(o)),
        setup(make_lane_setup(model, world)),
        schedule(options.step.dt, options.duration) {
    update_setup(options.step, world, setup);
  }
  Model model;
  World world;
  BatchOptions options;
  LaneSetup setup;
  Schedule schedule;
  size_t recorded_rows() const {
    if (options.rows_every == 0) return 1;
    const size_t every = static_cast<size_t>(options.rows_every);
    return 2 + (schedule.steps - 1) / every;
  }
  bool is_row(size_t step) const {
    return step == schedule.steps || (options.rows_every > 0 && step % static_cast<size_t>(options.rows_every) == 0);
  }
  Trajectory rest() const {
    const State state = make_state(model);
    return {state.q, state.v, Control(model), world.surface.friction, world.smooth};
  }
  class Worker;
};

// The trajectories in the lanes of one thread.
class BatchSimulation::Impl::Worker final : public ModelLaneHost {
 public:
  struct Shared {
    const Impl& batch;
    size_t last;
    const Source& source;
    const Sink& sink;
    const Stop& asked;
    std::atomic<size_t> next;
    std::atomic<bool> stop{false};
    std::mutex sinking;
  };
  explicit Worker(Shared& shared)
      : ModelLaneHost(shared.batch.model, shared.batch.world, batch_lanes(shared.batch.options)),
        shared_(shared),
        batch_(shared.batch),
        contacts_(shared.batch.model, shared.batch.world),
        rest_(shared.batch.rest()),
        slots_(static_cast<size_t>(batch_lanes(batch_.options)), Slot(batch_.model)) {
    machine_ = make_lanes(batch_lanes(batch_.options), batch_.setup);
  }
  void run() { machine_->run(*this); }

 private:
  struct Slot {
    explicit Slot(const Model& model) : trajectory{{}, {}, Control(model), 0, {}}, moving(model) {}
    bool used = false;
    size_t index = 0, step = 0;
    Trajectory trajectory;
    State state;
    Control moving;
    TrajectoryResult result;
  };

  bool next(LaneStart& start) override {
    const auto free = std::find_if(slots_.begin(), slots_.end(), [](const Slot& slot) { return !slot.used; });
    Slot& slot = *free;
    while (!shared_.stop) {
      slot.index = shared_.next++;
      if (slot.index >= shared_.last) return false;
      slot.result = {};
      slot.step = 0;
      if (!prepare(slot)) {
        hand_over(slot);
        continue;
      }
      slot.used = true;
      const Control& control = slot.trajectory.control;
      start = {static_cast<int>(free - slots_.begin()),
               slot.state.q.data(),
               slot.state.v.data(),
               nullptr,
               control.kp.data(),
               control.kd.data(),
               control.torque.data(),
               smooth_coefficients(pairs_, slot.trajectory.friction, slot.trajectory.smooth)};
      return true;
    }
    return false;
  }

  // Checks the trajectory and records its start; false: it is impossible, and the result says why.
  bool prepare(Slot& slot) {
    Trajectory& trajectory = slot.trajectory;
    trajectory = rest_;
    shared_.source(slot.index, trajectory);
    TrajectoryResult& result = slot.result;
    try {
      slot.state = make_state(model_, trajectory.q, trajectory.v);
      trajectory.control.validate(model_);
      Surface{.friction = trajectory.friction}.validate();
      trajectory.smooth.validate();
      const SmoothContactOptions& common = world_.smooth;
      if (trajectory.smooth.normal_exponent != common.normal_exponent ||
          trajectory.smooth.slip_exponent != common.slip_exponent ||
          trajectory.smooth.depth_exponent != common.depth_exponent || trajectory.smooth.form != common.form)
        throw InputError("smooth contact: exponents or form differ, expected those of the world");
      contacts_.set_position(slot.state.q);
      if (const int pair = contacts_.deepest(); pair >= 0 && !(-contacts_.gap(pair) <= batch_.options.max_penetration))
        throw InputError(fmt::format("point {} starts {:.6g} m in the ground, expected at most {:.6g} m",
                                     contacts_.pairs().a(pair).name, -contacts_.gap(pair),
                                     batch_.options.max_penetration));
    } catch (const InputError& error) {
      result.failure = error.what();
      return false;
    }
    result.q = Table(0, static_cast<size_t>(model_.nq()));
    result.v = Table(0, static_cast<size_t>(model_.nv()));
    result.q.reserve(batch_.recorded_rows());
    result.v.reserve(batch_.recorded_rows());
    if (batch_.options.rows_every > 0) record(slot);
    return true;
  }

  static void record(Slot& slot) {
    slot.result.q.append(slot.state.q);
    slot.result.v.append(slot.state.v);
  }

  double step_length(int id, double& time) override {
    Slot& slot = slots_[static_cast<size_t>(id)];
    time = batch_.schedule.time(slot.step);
    if (shared_.asked && shared_.asked()) shared_.stop = true;
    if (shared_.stop) {
      slot.used = false;
      return 0;
    }
    if (slot.step < batch_.schedule.steps) return batch_.schedule.step(slot.step + 1);
    slot.result.status = TrajectoryStatus::complete;
    hand_over(slot);
    return 0;
  }

  void targets(int id, double time, double* target, double* target_velocity) override {
    Slot& slot = slots_[static_cast<size_t>(id)];
    const Control* control = &slot.trajectory.control;
    if (control->motion) {
      slot.moving.target = control->target;
      slot.moving.target_velocity = control->target_velocity;
      control->motion->sample(time, slot.moving.target, slot.moving.target_velocity);
      control = &slot.moving;
    }
    std::copy(control->target.begin(), control->target.end(), target);
    std::copy(control->target_velocity.begin(), control->target_velocity.end(), target_velocity);
  }

  void stepped(int id, const LaneReport& report, const double* q, const double* v, const double*) override {
    Slot& slot = slots_[static_cast<size_t>(id)];
    TrajectoryResult& result = slot.result;
    result.substeps += report.substeps;
    result.rejected += report.rejected;
    result.iterations += report.iterations;
    result.damped += report.damped;
    result.stationary += report.stationary;
    if (!report.converged) {
      result.status = TrajectoryStatus::step_failed;
      result.failure = fmt::format("the step from {:.6g} s did not converge: {} tries rejected, residual {:.3g} m/s^2",
                                   result.end_time, report.rejected, report.residual);
      if (batch_.options.rows_every == 0 || !batch_.is_row(slot.step)) record(slot);
      hand_over(slot);
      return;
    }
    ++slot.step;
    ++result.steps;
    result.end_time = batch_.schedule.time(slot.step);
    result.residual = std::max(result.residual, report.residual);
    result.penetration = std::max(result.penetration, report.penetration);
    std::copy(q, q + slot.state.q.size(), slot.state.q.begin());
    std::copy(v, v + slot.state.v.size(), slot.state.v.begin());
    if (batch_.is_row(slot.step)) record(slot);
  }

  void hand_over(Slot& slot) {
    slot.used = false;
    if (slot.result.status != TrajectoryStatus::invalid) {
      slot.state.time = slot.result.end_time;
      slot.result.final_state_hash = state_hash(slot.state);
    }
    const std::lock_guard lock(shared_.sinking);
    if (!shared_.stop && !shared_.sink(slot.index, slot.result)) shared_.stop = true;
  }

  Shared& shared_;
  const Impl& batch_;
  RigidContacts contacts_;  // where a trajectory starts
  const Trajectory rest_;
  std::vector<Slot> slots_;
  std::unique_ptr<LaneMachine> machine_;
};

BatchSimulation::BatchSimulation(Model model, World world, BatchOptions options) {
  options.validate();
  world.validate(model);
  impl_ = std::make_unique<Impl>(std::move(model), std::move(world), std::move(options));
}
BatchSimulation::~BatchSimulation() = default;
BatchSimulation::BatchSimulation(BatchSimulation&&) noexcept = default;
BatchSimulation& BatchSimulation::operator=(BatchSimulation&&) noexcept = default;

const Model& BatchSimulation::model() const { return impl_->model; }
const BatchOptions& BatchSimulation::options() const { return impl_->options; }
size_t BatchSimulation::steps() const { return impl_->schedule.steps; }

std::vector<double> BatchSimulation::times() const {
  std::vector<double> times;
  if (impl_->options.rows_every > 0) times.push_back(0);
  for (size_t step = 1; step <= impl_->schedule.steps; ++step)
    if (impl_->is_row(step)) times.push_back(impl_->schedule.time(step));
  return times;
}

Trajectory BatchSimulation::trajectory() const { return impl_->rest(); }

bool BatchSimulation::run(size_t first, size_t last, const Source& source, const Sink& sink, const Stop& stop) {
  Impl::Worker::Shared shared{*impl_, last, source, sink, stop, {first}, {}, {}};
  std::exception_ptr failure;
  std::mutex failing;
  const auto work = [&] {
    try {
      Impl::Worker worker(shared);
      worker.run();
    } catch (...) {
      const std::lock_guard lock(failing);
      if (!failure) failure = std::current_exception();
      shared.stop = true;
    }
  };
  // As many tasks as threads, each of which takes trajectories until none is left.
  in_parallel(batch_threads(impl_->options), work);
  if (failure) std::rethrow_exception(failure);
  return !shared.stop;
}

}  // namespace scree
