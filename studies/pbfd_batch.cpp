// Fig. 8 of the PBFD paper: time per step of many trajectories, against degrees of freedom and number of trajectories.
// In place of the graphics processor: the lanes and threads of this one.
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <random>

#include "chains.h"
#include "rows.h"
#include "scree/batch.h"
#include "scree/kinematics.h"
#include "scree/motion.h"
#include "scree/urdf.h"
#include "studies.h"

namespace scree {
namespace {

constexpr double kStep = 0.01;  // [s]

// What all trajectories of a batch share, and where they start before noise.
struct Subject {
  std::string name;
  Model model;
  World world;
  Control control;
  Eigen::VectorXd q;
  double bend, push;  // standard deviation of the noise: of the one-dof joints [rad], of all velocities [m/s, rad/s]
};

World flat_ground(const Model& model, double height) {
  World world;
  world.add(plane_collider({0, 0, height}, {0, 0, 1}));
  world.add(contact_candidates(model, ContactCandidates::named));
  return world;
}

Subject falling_chain(std::string name, Model model) {
  World world = flat_ground(model, 0);
  world.smooth.depth = 0.005;  // [m]
  Control control(model);
  const Eigen::VectorXd q = model.neutral_position();
  return {std::move(name), std::move(model), std::move(world), std::move(control), q, 0.05, 0.1};
}

// bench/scenes/robosimian-squat.toml
Subject squatting_robot(const std::filesystem::path& data) {
  Model model = load_urdf(data / "models" / "robosimian-spatial.urdf");
  World world = flat_ground(model, -0.8);
  world.smooth.depth = 0.0157;
  Control control(model);
  control.motion = std::make_shared<Motion>(load_motion(data / "motions" / "robosimian-squat.toml", model));
  Eigen::VectorXd q = model.neutral_position(), v = Eigen::VectorXd::Zero(model.nv());
  control.motion->sample(0, q, v);
  for (const Joint& joint : model.joints()) {
    if (velocity_count(joint.type) != 1) continue;
    control.kp(joint.v_index) = 1000;
    control.kd(joint.v_index) = 1;
  }
  return {"robosimian-spatial squatting", std::move(model), std::move(world), std::move(control), std::move(q), 0, 0.1};
}

// Moves the planar base up or down until the lowest point is kDrop above the ground.
void lift(const Subject& subject, Eigen::VectorXd& q) {
  constexpr double kDrop = 0.1;  // [m]
  const std::vector<Pose> poses = body_poses(subject.model, q);
  double lowest = std::numeric_limits<double>::infinity();
  for (const ContactPoint& point : subject.model.contact_points())
    lowest = std::min(lowest, (poses[static_cast<size_t>(point.body.value())] * point.p_B).z() - point.radius);
  q(1) += kDrop - lowest;
}

struct Variant {
  int lanes, threads;
};
struct Timing {
  std::vector<double> wall, processor;  // [s] of the repetitions
  std::vector<std::uint64_t> hashes;    // of the final states
  double iterations = 0;                // per step
  size_t unfinished = 0;
};
struct Memory {
  double in_flight = 0, result = 0;  // [bytes] per lane, per trajectory
};

size_t heap_in_use() {
  const struct mallinfo2 heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

class Batches {
 public:
  explicit Batches(const StudyContext& context) : context_(context) {}

  // The same trajectories by every variant, in turns, so that other work on the machine meets all of them alike.
  std::vector<Timing> time(const Subject& subject, IntegratorType integrator, size_t trajectories, size_t steps,
                           const std::vector<Variant>& variants, int repetitions) {
    std::vector<Timing> timings(variants.size());
    for (int k = 0; k < repetitions; ++k)
      for (size_t i = 0; i < variants.size(); ++i)
        run(subject, integrator, trajectories, steps, variants[i], timings[i]);
    return timings;
  }

  // Heap held while `lanes` trajectories are on their way.
  Memory memory(const Subject& subject, IntegratorType integrator, int lanes) {
    Memory memory;
    const size_t before = heap_in_use();
    BatchSimulation batch(subject.model, subject.world, options(integrator, 2, {lanes, 1}));
    const size_t count = static_cast<size_t>(lanes);
    batch.run(0, count, source(subject), [&](size_t, TrajectoryResult& result) {
      if (memory.in_flight == 0)
        memory.in_flight =
            (static_cast<double>(heap_in_use()) - static_cast<double>(before)) / static_cast<double>(lanes);
      memory.result = static_cast<double>(
          sizeof result + sizeof(double) * (result.q.numbers().capacity() + result.v.numbers().capacity()));
      return true;
    });
    return memory;
  }

 private:
  static BatchOptions options(IntegratorType integrator, size_t steps, Variant variant) {
    BatchOptions options;
    options.step.integrator = integrator;
    options.step.dt = kStep;
    options.duration = kStep * static_cast<double>(steps);
    options.lanes = variant.lanes;
    options.threads = variant.threads;
    return options;
  }
  static BatchSimulation::Source source(const Subject& subject) {
    return [&subject](size_t index, Trajectory& trajectory) {
      std::mt19937_64 generator(index + 1);
      std::normal_distribution<double> normal;
      trajectory.q = subject.q;
      for (const Joint& joint : subject.model.joints())
        if (velocity_count(joint.type) == 1) trajectory.q(joint.q_index) += subject.bend * normal(generator);
      if (subject.bend > 0) lift(subject, trajectory.q);
      trajectory.v.resize(subject.model.nv());
      for (double& v : trajectory.v) v = subject.push * normal(generator);
      trajectory.control = subject.control;
      trajectory.smooth = subject.world.smooth;
    };
  }
  void run(const Subject& subject, IntegratorType integrator, size_t trajectories, size_t steps, Variant variant,
           Timing& timing) {
    BatchSimulation batch(subject.model, subject.world, options(integrator, steps, variant));
    timing.hashes.assign(trajectories, 0);
    timing.unfinished = 0;
    double iterations = 0;
    size_t done = 0;
    const auto began = std::chrono::steady_clock::now();
    const std::clock_t processor = std::clock();
    const bool ended = batch.run(0, trajectories, source(subject), [&](size_t index, TrajectoryResult& result) {
      timing.hashes[index] = result.final_state_hash;
      iterations += static_cast<double>(result.iterations);
      timing.unfinished += result.status == TrajectoryStatus::complete ? 0 : 1;
      return ++done % 16 != 0 || context_.progress(0, 1);
    });
    if (!ended) throw StudyInterrupted();
    timing.processor.push_back(static_cast<double>(std::clock() - processor) / CLOCKS_PER_SEC);
    timing.wall.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
    timing.iterations = iterations / static_cast<double>(trajectories * steps);
  }

  const StudyContext& context_;
};

// Median over the repetitions of a over b.
double median_ratio(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> ratios;
  for (size_t k = 0; k < a.size(); ++k) ratios.push_back(a[k] / b[k]);
  return median(ratios);
}

size_t differing(const Timing& a, const Timing& b) {
  size_t count = 0;
  for (size_t i = 0; i < a.hashes.size(); ++i) count += a.hashes[i] != b.hashes[i];
  return count;
}

}  // namespace

StudyResult study_pbfd_batch(const StudyContext& context) {
  const int widest = batch_lanes({});
  const size_t steps = context.quick ? 10 : 50;
  const int repetitions = context.quick ? 3 : 5;
  Batches batches(context);
  StudyResult result;
  result.name = "pbfd-batch";
  result.title = "Many trajectories in the lanes and threads of one processor (PBFD paper, Fig. 8)";
  result.summary =
      "The paper runs 200 trajectories of 1000 steps on a processor with four threads and on a graphics card. Here the "
      "same step runs 1 trajectory at a time, or as many as the processor has lanes. Times of one thread are processor "
      "times, those of two threads wall times; ratios of lanes are medians over rounds in which all variants take "
      "their turn, ratios of threads are of the "
      "best rounds.";

  // Lanes and threads on the two subjects.
  const Subject subjects[] = {
      falling_chain("chain of 10 links", load_urdf(context.data / "models" / "chain-floating-2d.urdf")),
      squatting_robot(context.data)};
  const IntegratorType integrators[] = {IntegratorType::pbfd, IntegratorType::pbfd_coulomb,
                                        IntegratorType::pbfd_coulomb2};
  std::vector<Variant> variants = {{1, 1}, {widest, 1}, {widest, 2}};
  if (widest == 8) variants.push_back({4, 1});
  const size_t trajectories = context.quick ? 128 : 1024;
  size_t unlike = 0, unfinished = 0, compared = 0;
  for (const Subject& subject : subjects) {
    for (const IntegratorType integrator : integrators) {
      const std::string name = fmt::format("{}, {}", subject.name, integrator_name(integrator));
      const std::vector<Timing> timings = batches.time(subject, integrator, trajectories, steps, variants, repetitions);
      for (size_t i = 1; i < timings.size(); ++i) unlike += differing(timings[0], timings[i]);
      compared += timings[0].hashes.size() * (timings.size() - 1);
      for (const Timing& timing : timings) unfinished += timing.unfinished;
      const double per_step = 1e6 / static_cast<double>(trajectories * steps);
      const double lanes = median_ratio(timings[0].processor, timings[1].processor);
      const double threads = smallest(timings[1].wall) / smallest(timings[2].wall);
      result.rows.push_back(goal_row(fmt::format("{}: {} lanes over 1, one thread", name, widest), "", "4 to 15 (GPU)",
                                     lanes, ">= 2.5", lanes >= 2.5));
      if (widest == 8)
        result.rows.push_back(report_row(name + ": 4 lanes over 1, one thread", "", "",
                                         median_ratio(timings[0].processor, timings[3].processor)));
      result.rows.push_back(
          goal_row(name + ": 2 threads over 1, all lanes", "", "", threads, ">= 1.8", threads >= 1.8));
      // What they would give if each had a processor to itself and both ended together.
      result.rows.push_back(report_row(name + ": 2 threads over 1, by processor times", "", "",
                                       2 * median_ratio(timings[1].processor, timings[2].processor)));
      result.rows.push_back(
          report_row(name + ": time per step, 1 lane, all lanes, all lanes and 2 threads", "us", "",
                     fmt::format("{:.3g}, {:.3g}, {:.3g}", per_step * median(timings[0].processor),
                                 per_step * median(timings[1].processor), per_step * median(timings[2].wall))));
      result.rows.push_back(report_row(name + ": iterations per step", "", "", timings[0].iterations));
    }
    const Memory memory = batches.memory(subject, IntegratorType::pbfd_coulomb2, widest);
    result.rows.push_back(
        report_row(subject.name + ": memory per trajectory on its way", "kB", "", memory.in_flight / 1e3));
    result.rows.push_back(
        report_row(subject.name + ": memory per result, the final state alone", "bytes", "", memory.result));
  }
  result.rows.push_back(goal_row("final states whose bits differ between numbers of lanes and threads", "", "",
                                 static_cast<double>(unlike), fmt::format("0 of {}", compared), unlike == 0));

  // Against degrees of freedom, and against trajectories.
  const std::vector<Variant> drawn = {{1, 1}, {widest, 1}, {1, 2}, {widest, 2}};
  const auto series = [&] {
    std::vector<StudySeries> all;
    for (const Variant& variant : drawn)
      all.push_back({fmt::format("{} lane{}, {} thread{}", variant.lanes, variant.lanes > 1 ? "s" : "", variant.threads,
                                 variant.threads > 1 ? "s" : ""),
                     {},
                     {},
                     variant.lanes == 1});
    return all;
  };
  StudyFigure by_size{
      "Time per step against degrees of freedom, pbfd, chains",
      {"degrees of freedom", "", true},
      {"time per step", "us", true},
      series(),
      {fmt::format("{} trajectories; processor time of one thread, wall time of two", context.quick ? 50 : 200)}};
  StudyFigure by_count{"Time per step against the number of trajectories, pbfd, chain of 10 links",
                       {"trajectories", "", true},
                       {"time per step", "us", true},
                       series(),
                       {"Per trajectory and step."}};
  const auto draw = [&](StudyFigure& figure, double x, const Subject& subject, size_t count, size_t of_steps,
                        int rounds) {
    const std::vector<Timing> timings = batches.time(subject, IntegratorType::pbfd, count, of_steps, drawn, rounds);
    for (size_t i = 0; i < drawn.size(); ++i) {
      figure.series[i].x.push_back(x);
      const double time = drawn[i].threads == 1 ? median(timings[i].processor) : smallest(timings[i].wall);
      figure.series[i].y.push_back(1e6 * time / static_cast<double>(count * of_steps));
      unfinished += timings[i].unfinished;
    }
    return median_ratio(timings[0].processor, timings[1].processor);
  };
  const std::vector<int> sizes =
      context.quick ? std::vector{5, 20, 60} : std::vector{5, 10, 15, 20, 30, 40, 60, 80, 100};
  std::vector<double> gains;
  for (const int size : sizes) {
    const Subject subject = falling_chain("chain", floating_chain(size - 2));  // the base has 3 dofs, a hinge 1
    gains.push_back(draw(by_size, size, subject, context.quick ? 50 : 200, context.quick ? 5 : 20, 3));
  }
  const std::vector<StudySeries>& sized = by_size.series;
  result.rows.push_back(report_row(
      fmt::format("chains of {} to {} dofs: {} lanes over 1, smallest, largest", sizes.front(), sizes.back(), widest),
      "", "4 to 15 (GPU)", fmt::format("{:.2f}, {:.2f}", smallest(gains), largest(gains))));
  result.rows.push_back(
      report_row("chains: slope of log time over log dofs from 20 on, all lanes", "", "3 (CPU), 2 (GPU)", [&] {
        std::vector<double> x, y;
        for (size_t i = 0; i < sized[1].x.size(); ++i)
          if (sized[1].x[i] >= 20) x.push_back(sized[1].x[i]), y.push_back(sized[1].y[i]);
        return log_slope(x, y);
      }()));
  const size_t most = context.quick ? 256 : 4096;
  for (size_t count = 1; count <= most; count *= context.quick ? 16 : 4)
    draw(by_count, static_cast<double>(count), subjects[0], count, count > 256 ? 10 : 50, 3);
  const std::vector<double>& wide = by_count.series[1].y;
  result.rows.push_back(
      report_row(fmt::format("chain of 10 links, all lanes: time per step of 1 over that of {} trajectories", most), "",
                 "falls with trajectories", wide.front() / wide.back()));
  result.rows.push_back(
      goal_row("trajectories that do not end", "", "", static_cast<double>(unfinished), "0", unfinished == 0));
  result.figures = {std::move(by_size), std::move(by_count)};
  result.settings = {{"step", fmt::format("{} ms, tolerance 1e-8 m/s^2", 1e3 * kStep)},
                     {"chains", "links 0.5 m, from 0.1 m above flat ground, noise 0.05 rad, 0.1 m/s and rad/s"},
                     {"robot", "robosimian-spatial, motion squat, kp 1000 N m/rad, kd 1 N m s/rad, 15.7 mm deep"},
                     {"lanes", fmt::format("{}", widest)},
                     {"trajectories", fmt::format("{} of {} steps, {} rounds", trajectories, steps, repetitions)}};
  return result;
}

}  // namespace scree
