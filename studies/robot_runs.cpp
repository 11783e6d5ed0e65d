#include "robot_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <limits>
#include <mutex>
#include <numeric>
#include <thread>
#include <tuple>

#include "rows.h"
#include "scree/simulation.h"
#include "scree/urdf.h"

namespace scree {
namespace {

constexpr double kWorkLimit = 40000, kQuickWorkLimit = 8000;  // Newton iterations per simulated second
constexpr size_t kFigurePoints = 400;

Model with_centred_torso(const Model& model) {
  ModelBuilder builder(model.name() + "-symmetric");
  const auto name_of = [&](BodyIndex i) { return i == kWorld ? std::string("world") : model.body(i).name; };
  for (size_t i = 0; i < model.bodies().size(); ++i) {
    Body body = model.bodies()[i];
    if (i == 0) body.com.x() = 0;
    builder.add_body(body, name_of(body.parent), model.joints()[i]);
  }
  for (const ContactPoint& point : model.contact_points()) builder.add_contact_point(name_of(point.body), point);
  for (const Frame& frame : model.frames()) builder.add_frame(name_of(frame.body), frame);
  return builder.build();
}

// Turn about y of a unit quaternion (w, x, y, z): the angle of the turned x axis below the x-y plane  [rad].
double pitch(const Eigen::Vector4d& q) { return std::asin(std::clamp(2 * (q(0) * q(2) - q(1) * q(3)), -1.0, 1.0)); }

struct Robot {
  Model model;
  World world;
};

Robot load_robot(const std::filesystem::path& data, const std::string& name, bool symmetric, bool spatial) {
  Model model = load_urdf(data / "models" / (name + (spatial ? "-spatial.urdf" : "-planar.urdf")));
  if (symmetric) model = with_centred_torso(model);
  const bool spider = name == "spider";
  World world;
  world.add(plane_collider({0, 0, spider ? -0.43 : -0.80}, {0, 0, 1}));
  world.add(contact_candidates(model, ContactCandidates::named));
  world.surface.friction = spider ? 1.5 : 0.7;
  CoulombOptions law;
  law.directions = 6;
  law.exponent = 3;
  law.depth = 0.0157;
  world.law = make_coulomb(law);
  return {std::move(model), std::move(world)};
}

RobotRecord run_robot(const Robot& robot, std::shared_ptr<const Motion> motion, const RobotRun& run, double work_limit,
                      Meter& meter) {
  StepOptions options;
  options.integrator = run.integrator;
  options.dt = run.dt;
  options.dissipation = run.dissipation;
  options.explicit_pd = run.explicit_pd;
  options.accuracy = run.accuracy;
  Simulation simulation(robot.model, robot.world, options);
  const Model& model = simulation.model();
  Eigen::VectorXd q = model.neutral_position(), v = Eigen::VectorXd::Zero(model.nv());
  Eigen::VectorXd unused = v;
  motion->sample(0, q, unused);
  simulation.set_state(q, v);
  Control& control = simulation.control();
  control.target = q;
  control.motion = std::move(motion);
  for (const Joint& joint : model.joints()) {
    if (velocity_count(joint.type) != 1) continue;
    control.kp(joint.v_index) = 1000;
    control.kd(joint.v_index) = 1;
  }

  RobotRecord record;
  record.run = run;
  const auto keep = [&] {
    const Eigen::VectorXd& at = simulation.state().q;  // planar base: x, z, turn about y
    record.time.push_back(simulation.state().time);
    record.x.push_back(at(0));
    record.z.push_back(at(run.spatial ? 2 : 1));  // floating base: x, y, z, quaternion
    record.tilt.push_back(run.spatial ? pitch(at.segment<4>(3)) : at(2));
  };
  keep();
  const int steps = static_cast<int>(std::lround(run.duration / run.dt));
  double told = 0;  // simulated time the meter knows of
  for (int k = 0; k < steps; ++k) {
    const auto start = std::chrono::steady_clock::now();
    const StepReport report = simulation.step();
    record.wall_time.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    record.outer.push_back(report.outer);
    record.smallest_step.push_back(report.smallest_step);
    record.iterations += report.iterations;
    record.rejected += report.rejected;
    record.subdivided += report.substeps > 1 ? 1 : 0;
    record.solves += report.stages > 0 ? report.stages : report.substeps + report.rejected;  // ne-mdp has no stages
    if (!report.converged()) record.end = RunEnd::step_failed;
    if (report.converged()) {
      keep();
      if (!(std::abs(record.z.back()) < kLargestHeight) ||
          !(simulation.state().v.lpNorm<Eigen::Infinity>() < kLargestSpeed))
        record.end = RunEnd::exploded;
      else if (static_cast<double>(record.iterations) > work_limit)
        record.end = RunEnd::work_limit;
    }
    if (!record.complete()) break;
    meter.advance(run.dt);
    told += run.dt;
  }
  meter.advance(run.duration - told);
  return record;
}

std::vector<RobotRecord> run_all(const StudyContext& context, int jobs, const std::vector<RobotRun>& runs) {
  using Key = std::tuple<std::string, bool, bool>;
  const auto key_of = [](const RobotRun& run) { return Key(run.robot, run.symmetric, run.spatial); };
  std::map<Key, Robot> robots;
  std::map<std::pair<Key, std::string>, std::shared_ptr<const Motion>> motions;
  double total = 0;
  for (const RobotRun& run : runs) {
    const Key key = key_of(run);
    if (!robots.contains(key)) robots.emplace(key, load_robot(context.data, run.robot, run.symmetric, run.spatial));
    std::shared_ptr<const Motion>& motion = motions[{key, run.motion}];
    if (!motion) {
      const std::string file = run.robot + "-" + run.motion + ".toml";
      motion = std::make_shared<Motion>(load_motion(context.data / "motions" / file, robots.at(key).model));
    }
    total += run.duration;
  }
  Meter meter(context, total);
  std::vector<RobotRecord> records(runs.size());
  // The longest first, so that no thread is left alone with one at the end.
  std::vector<size_t> order(runs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return runs[a].dt < runs[b].dt; });
  for_each_job(jobs, runs.size(), [&](size_t k) {
    const size_t i = order[k];
    const RobotRun& run = runs[i];
    const double limit = run.duration * std::max(context.quick ? kQuickWorkLimit : kWorkLimit, 50 / run.dt);
    records[i] = run_robot(robots.at(key_of(run)), motions.at({key_of(run), run.motion}), run, limit, meter);
  });
  return records;
}

}  // namespace

double RobotRecord::largest_tilt() const {
  double largest_seen = 0;
  for (const double angle : tilt) largest_seen = std::max(largest_seen, std::abs(angle));
  return largest_seen;
}

double RobotRecord::wall() const { return std::accumulate(wall_time.begin(), wall_time.end(), 0.0); }
double RobotRecord::outer_sum() const { return std::accumulate(outer.begin(), outer.end(), 0.0); }

std::string run_name(const RobotRun& run) {
  std::string name = integrator_name(run.integrator);
  if (run.integrator == IntegratorType::ne_mdp) name += run.explicit_pd ? ", explicit PD" : ", implicit PD";
  if (estimates_error(run.integrator) && run.accuracy != StepOptions{}.accuracy)
    name += fmt::format(", accuracy {:.3g} m", run.accuracy);
  if (run.dissipation != Dissipation::contact) name += std::string(", ") + dissipation_name(run.dissipation);
  return name;
}

void Meter::advance(double work) {
  const std::lock_guard lock(mutex_);
  done_ += work;
  if (!context_.progress(done_, total_)) throw StudyInterrupted();
}

std::string step_name(double dt) { return fmt::format("{:.4g} ms", 1e3 * dt); }

std::vector<RobotRecord> run_robots(const StudyContext& context, const std::vector<RobotRun>& runs) {
  return run_all(context, context.jobs, runs);
}

std::vector<RobotRecord> time_robots(const StudyContext& context, const std::vector<RobotRun>& runs) {
  return run_all(context, 1, runs);
}

void for_each_job(int jobs, size_t count, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next = 0;
  std::atomic<bool> broken = false;
  std::exception_ptr first_error;
  std::mutex mutex;
  const auto worker = [&] {
    for (size_t i = next++; i < count && !broken; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!first_error) first_error = std::current_exception();
        broken = true;
      }
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min(static_cast<size_t>(std::max(jobs, 1)), count); ++i) threads.emplace_back(worker);
  worker();
  for (std::thread& thread : threads) thread.join();
  if (first_error) std::rethrow_exception(first_error);
}

double value_at(const RobotRecord& record, const std::vector<double>& values, double time) {
  const auto after = std::lower_bound(record.time.begin(), record.time.end(), time - 1e-9);
  if (after == record.time.end()) return std::numeric_limits<double>::quiet_NaN();
  const size_t i = static_cast<size_t>(after - record.time.begin());
  if (i == 0) return values[0];
  const double share = std::clamp((time - record.time[i - 1]) / (record.time[i] - record.time[i - 1]), 0.0, 1.0);
  return values[i - 1] + share * (values[i] - values[i - 1]);
}

StudySeries time_series(const RobotRecord& record, const std::vector<double>& values, std::string name) {
  const auto rounded = [](double value) { return std::round(1e5 * value) / 1e5; };
  StudySeries series;
  series.name = std::move(name);
  const size_t count = record.time.size(), every = (count + kFigurePoints - 1) / kFigurePoints;
  for (size_t i = 0; i < count; i += every) {
    series.x.push_back(rounded(record.time[i]));
    series.y.push_back(rounded(values[i]));
  }
  return series;
}

std::vector<double> step_range(double first, double last, double by) {
  std::vector<double> steps;
  for (int k = 0; first + k * by < last + 0.5 * by; ++k) steps.push_back(first + k * by);
  return steps;
}

}  // namespace scree
