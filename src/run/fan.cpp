// Runs the branches of a fan: one trunk up to the first impact, then every branch by itself.          theory section 17
#include "scree/fan.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>

#include "base/atomic_file.h"
#include "base/in_parallel.h"
#include "base/random.h"
#include "impact/outcome_setup.h"
#include "model/coordinate_names.h"
#include "run/fan_chunks.h"
#include "run/fan_statistics.h"
#include "run/identity.h"
#include "run/scene_simulation.h"
#include "run/schedule.h"
#include "scree/error.h"

namespace scree {
namespace {

bool is_impact(EventKind kind) { return kind == EventKind::impact || kind == EventKind::impact_without_collision; }

std::vector<std::string> coordinate_names(const Model& model) {
  std::vector<std::string> names = position_names(model), units = position_units(model);
  for (const std::string& name : velocity_names(model)) names.push_back(name);
  for (const std::string& unit : velocity_units(model)) units.push_back(unit);
  for (size_t i = 0; i < names.size(); ++i) names[i] += fmt::format(" [{}]", units[i]);
  return names;
}

// Of the contacts of an impact; a point that touches two solids is named with them.
std::vector<std::string> contact_names(const World& world, const Event& event) {
  std::vector<std::string> names;
  for (const EventContact& contact : event.contacts) {
    const auto same = [&](const EventContact& other) { return other.a == contact.a; };
    std::string name = world.colliders[static_cast<size_t>(contact.a)].name;
    if (std::count_if(event.contacts.begin(), event.contacts.end(), same) > 1)
      name += " on " + world.colliders[static_cast<size_t>(contact.b)].name;
    names.push_back(std::move(name));
  }
  return names;
}

// The options of single outcomes.
OutcomeOptions draw_options(const FanOptions& options) {
  OutcomeOptions draw = options.sampling;
  draw.samples = draw.threads = 1;
  draw.paths = 0;
  draw.directions.resize(0, 0);
  return draw;
}

// Steps a state from row to row. One for each thread.
class Stepper {
 public:
  Stepper(const Scene& scene, const FanOptions& options, const State& start)
      : scene_(scene),
        seed_(options.seed),
        sampling_(draw_options(options)),
        schedule_(scene.options.dt, scene.duration),
        simulation_(scene_simulation(scene, start)) {
    simulation_.set_impact_resolver([this](const ImpactProblem& problem) { return resolve(problem); });
  }

  bool met_impact = false;  // before start_branch(): impacts are left to the branches

  void start_branch(long index, const State& state) {
    branch_ = index;
    impacts_ = 0;
    simulation_.set_state(state);
  }
  const State& state() const { return simulation_.state(); }

  // From row - 1 to row. False: the step failed, and the branch says why.
  bool advance(size_t row, FanBranch& branch) {
    modes_.clear();
    note_.clear();
    StepReport report;
    try {
      report = simulation_.step(schedule_.step(row));
    } catch (const InputError& error) {
      if (row == 1) throw;  // the scene starts in the ground
      report.reason = error.what();
    }
    if (!report.converged() || !note_.empty()) {
      branch.status = RunStatus::step_failed;
      branch.failure = fmt::format("the step from {:.6g} s failed: {}", schedule_.time(row - 1),
                                   note_.empty() ? report.reason : note_);
      return false;
    }
    simulation_.set_time(schedule_.time(row));  // k dt, not a sum that drifts
    branch.end_time = schedule_.time(row);
    branch.penetration = std::max(branch.penetration, report.penetration);
    branch.final_energy = report.kinetic_energy + report.potential_energy;
    keep_impacts(branch);
    return true;
  }

 private:
  // The outcome of impact number k of a branch: trajectory `branch` of the seed of k.                   theory (17.1)
  ImpactResult resolve(const ImpactProblem& problem) {
    ImpactResult result;
    std::vector<ContactMode> modes;
    result.v = problem.v;  // until there is an outcome
    result.normal_impulse = Eigen::VectorXd::Zero(problem.contacts());
    result.tangential_impulse = Eigen::VectorXd::Zero(problem.Jt.rows());
    if (branch_ < 0) {
      met_impact = true;
      return result;
    }
    try {
      problem.validate();
      sampling_.validate(problem);
      result = OutcomeDraw(problem, sampling_).sample(fan_impact_seed(seed_, impacts_), branch_, &modes);
      if (result.status != ImpactStatus::resolved) note_ = fmt::format("impact {}: {}", impacts_, result.note);
    } catch (const InputError& error) {
      note_ = fmt::format("impact {}: {}", impacts_, error.what());
    }
    ++impacts_;
    modes_.push_back(std::move(modes));
    return result;
  }

  // Impacts come in the order in which they were resolved.
  void keep_impacts(FanBranch& branch) {
    size_t number = 0;
    for (const Event& event : simulation_.events()) {
      if (!is_impact(event.kind)) continue;
      FanImpact impact;
      impact.time = event.time;
      impact.kind = event.kind;
      impact.contacts = static_cast<int>(event.contacts.size());
      if (number < modes_.size()) impact.mode = mode_text(contact_names(scene_.world, event), modes_[number]);
      impact.energy_before = event.energy_before;
      impact.energy_after = event.energy_after;
      impact.v_before = event.v_before;
      impact.v_after = event.v_after;
      branch.impacts.push_back(std::move(impact));
      ++number;
    }
  }

  const Scene& scene_;
  std::uint64_t seed_;
  OutcomeOptions sampling_;
  Schedule schedule_;
  Simulation simulation_;
  long branch_ = -1, impacts_ = 0;               // impacts of the branch so far
  std::vector<std::vector<ContactMode>> modes_;  // of the impacts of this step
  std::string note_;                             // why an impact of this step has no outcome
};

class FanRun {
 public:
  FanRun(const Scene& scene, const FanOptions& options, const ChunkFolder* folder,
         const std::function<bool(long, long)>& progress)
      : scene_(scene),
        options_(options),
        folder_(folder),
        progress_(progress),
        chunk_(fan_chunk_size(scene, options)),
        schedule_(scene.options.dt, scene.duration),
        state_(make_state(scene.model, scene.q0, scene.v0)) {}

  Fan run() {
    const auto start = std::chrono::steady_clock::now();
    fan_.title = scene_.title;
    fan_.options = options_;
    fan_.coordinates = coordinate_names(scene_.model);
    for (size_t row = 0; row <= schedule_.steps; ++row) fan_.time.push_back(schedule_.time(row));
    const size_t branches = static_cast<size_t>(options_.branches), rows = fan_.rows();
    const double nan = std::numeric_limits<double>::quiet_NaN();
    fan_.q = TableStack(branches, rows, static_cast<size_t>(scene_.model.nq()), nan);
    fan_.v = TableStack(branches, rows, static_cast<size_t>(scene_.model.nv()), nan);
    fan_.branches.resize(branches);
    ended_.assign(branches, 0);
    fan_.identity = fan_settings(scene_, options_, chunk_);
    find_chunks();
    tell(0);
    run_trunk();
    run_branches();
    if (stopped_) keep_ended();
    summarise_fan(scene_.model, fan_);
    fan_.wall_time = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(fan_);
  }

 private:
  void record(size_t branch, size_t row, const State& state) {
    fan_.q.row(branch, row) = state.q;
    fan_.v.row(branch, row) = state.v;
  }

  // What all branches share, as rows of branch 0: up to the step of the first impact, or to a step that fails.
  void run_trunk() {
    Stepper stepper(scene_, options_, state_);
    record(0, 0, state_);
    while (trunk_ < schedule_.steps && !stopped_) {
      FanBranch common = common_;
      const bool done = stepper.advance(trunk_ + 1, common);
      if (stepper.met_impact) return;
      common_ = common;
      if (!done) return;
      state_ = stepper.state();
      record(0, ++trunk_, state_);
      tell(0);
    }
  }

  void run_branches() {
    std::atomic<long> next = 0;
    in_parallel(options_.threads, [&] {
      Stepper stepper(scene_, options_, state_);
      for (long b = next++; b < options_.branches && !stopped_; b = next++)
        if (!ended_[static_cast<size_t>(b)]) run_branch(stepper, b);
    });
  }

  void run_branch(Stepper& stepper, long index) {
    const size_t b = static_cast<size_t>(index);
    FanBranch branch = common_;
    branch.index = index;
    copy_trunk(b);
    stepper.start_branch(index, state_);
    for (size_t row = trunk_ + 1; row <= schedule_.steps && branch.status == RunStatus::complete; ++row) {
      if (!stepper.advance(row, branch)) break;
      record(b, row, stepper.state());
      if (!check()) return;
    }
    branch.final_state_hash = state_hash(stepper.state());
    fan_.branches[b] = std::move(branch);
    ended_[b] = 1;
    keep_chunk(b / chunk_);
    tell(1);
  }

  void find_chunks() {
    missing_.assign((ended_.size() - 1) / chunk_ + 1, static_cast<long>(chunk_));
    missing_.back() = static_cast<long>(ended_.size() - (missing_.size() - 1) * chunk_);
    if (!folder_ || !options_.resume) return;
    read_fan_chunks(*folder_, fan_.identity, scene_, chunk_, fan_, ended_);
    done_ = std::count(ended_.begin(), ended_.end(), 1);
  }

  // Writes chunk k if this was its last branch.
  void keep_chunk(size_t k) {
    if (!folder_) return;
    {
      const std::lock_guard lock(mutex_);
      if (--missing_[k] > 0) return;
    }
    try {
      const size_t first = k * chunk_;
      write_fan_chunk(*folder_, k, fan_.identity, scene_, fan_, first, std::min(chunk_, ended_.size() - first));
    } catch (...) {
      stopped_ = true;  // the other threads, too
      throw;
    }
  }

  void copy_trunk(size_t b) {
    if (b == 0) return;
    fan_.q.copy_rows(trunk_ + 1, 0, b);
    fan_.v.copy_rows(trunk_ + 1, 0, b);
  }

  // Between rows; other threads do not wait for whoever asks.
  bool check() {
    if (progress_ && !stopped_ && mutex_.try_lock()) {
      const std::lock_guard lock(mutex_, std::adopt_lock);
      if (!progress_(done_, options_.branches)) stopped_ = true;
    }
    return !stopped_;
  }
  void tell(long done) {
    const std::lock_guard lock(mutex_);
    done_ += done;
    if (progress_ && !progress_(done_, options_.branches) && done_ < options_.branches) stopped_ = true;
  }

  // Moves the branches that ended to the front.
  void keep_ended() {
    fan_.interrupted = true;
    size_t kept = 0;
    for (size_t b = 0; b < ended_.size(); ++b) {
      if (!ended_[b]) continue;
      if (b > kept) {
        fan_.q.copy_rows(fan_.rows(), b, kept);
        fan_.v.copy_rows(fan_.rows(), b, kept);
        fan_.branches[kept] = std::move(fan_.branches[b]);
      }
      ++kept;
    }
    fan_.branches.resize(kept);
    fan_.q.keep(kept);
    fan_.v.keep(kept);
  }

  const Scene& scene_;
  const FanOptions& options_;
  const ChunkFolder* folder_;  // null: no chunks
  const std::function<bool(long, long)>& progress_;
  size_t chunk_;  // branches
  Schedule schedule_;
  size_t trunk_ = 0;  // last row all branches share
  State state_;       // at that row
  FanBranch common_;  // up to there
  Fan fan_;
  std::vector<char> ended_;
  std::vector<long> missing_;  // branches of every chunk that have not ended
  long done_ = 0;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
};

}  // namespace

std::uint64_t fan_impact_seed(std::uint64_t seed, long k) {
  return k == 0 ? seed : RandomStream(seed, static_cast<std::uint64_t>(k)).bits();
}

void FanOptions::validate(const Scene& scene) const {
  if (scene.options.integrator != IntegratorType::event)
    throw InputError(fmt::format("fan: integrator \"{}\" knows no impacts, expected \"event\" (step.integrator)",
                                 integrator_name(scene.options.integrator)));
  if (scene.world.pair_count() == 0) throw InputError("fan: nothing in the scene can touch, expected [[environment]]");
  if (scene.output > 0) throw InputError("fan: the scene's step follows from its accuracy, expected steps of dt");
  const auto check = [](bool good, const char* field, auto value, const std::string& expected) {
    if (!good) throw InputError(fmt::format("fan: {} is {}, expected {}", field, value, expected));
  };
  check(branches >= 1, "branches", branches, "an integer >= 1");
  check(chunk >= 0, "chunk", chunk, "an integer >= 0");
  check(threads >= 0 && threads <= 1024, "threads", threads, "0 to 1024");
  check(cluster_impacts >= 1 && cluster_impacts <= 1000, "cluster_impacts", cluster_impacts, "1 to 1000");
  const size_t rows = Schedule(scene.options.dt, scene.duration).steps + 1;
  const double columns = std::max(1, scene.model.nq() + scene.model.nv());
  const double most = static_cast<double>(kMaxNumbers) / (static_cast<double>(rows) * columns);
  if (!(static_cast<double>(branches) <= most))
    throw InputError(
        fmt::format("fan: {} branches of {} rows and {} coordinates are {:.3g} numbers, expected at most "
                    "{:.3g}: at most {} branches, a longer dt or a shorter duration",
                    branches, rows, columns, static_cast<double>(branches) * static_cast<double>(rows) * columns,
                    static_cast<double>(kMaxNumbers), static_cast<long>(most)));
  ImpactProblem one;  // for what sampling says of itself
  one.M = one.Jn = Eigen::MatrixXd::Ones(1, 1);
  one.v = Eigen::VectorXd::Zero(1);
  draw_options(*this).validate(one);
}

Fan run_fan(const Scene& scene, const FanOptions& options, const ChunkFolder* folder,
            const std::function<bool(long, long)>& progress) {
  scene.options.validate();
  scene.control.validate(scene.model);
  scene.world.validate(scene.model);
  options.validate(scene);
  FanOptions resolved = options;
  resolved.threads = thread_count(options.threads);
  return FanRun(scene, resolved, folder, progress).run();
}

Fan run_fan(const Scene& scene, const FanOptions& options, const std::function<bool(long, long)>& progress) {
  return run_fan(scene, options, nullptr, progress);
}

Fan record_fan(const Scene& scene, const FanOptions& options, const std::filesystem::path& file,
               const std::function<bool(long, long)>& progress) {
  const std::filesystem::path target = output_target(file);
  check_writable(target);
  ChunkFolder folder(target, "fan", options.resume);
  Fan fan = run_fan(scene, options, &folder, progress);
  if (!fan.branches.empty()) folder.guard([&] { write_fan(target, scene, fan); });
  if (!fan.interrupted) folder.remove();
  return fan;
}

}  // namespace scree
