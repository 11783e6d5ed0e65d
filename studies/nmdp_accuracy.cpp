// What the accuracy asked for buys: global error and work of runs whose steps follow from it, on scenes drawn from
// seeds, beside runs of fixed steps.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <numbers>

#include "draw.h"
#include "robot_runs.h"
#include "rows.h"
#include "scree/kinematics.h"
#include "scree/run.h"

namespace scree {
namespace {

constexpr double kDuration = 1;                       // [s]
constexpr double kNudge = 1e-6, kLargestGrowth = 10;  // [m] and [m/s] rms over the mass; final over initial
constexpr double kNudgeStep = 5e-4;                   // [s]
constexpr int kTries = 5;                             // seeds a place in the set may use up
constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

// Root mean square over the mass of the distance between two poses of a model: the norm of theory (9.7).
double distance(const Model& model, const Eigen::VectorXd& a, const Eigen::VectorXd& b) {
  const std::vector<Pose> at_a = body_poses(model, a), at_b = body_poses(model, b);
  double sum = 0;
  for (size_t i = 0; i < model.bodies().size(); ++i) {
    const Body& body = model.bodies()[i];
    // int rho |dR r + dp|^2 = m |dp_com|^2 + tr(dR S dR^T), S = tr(I)/2 - I about the centre of mass
    const Mat3 turn = at_a[i].R - at_b[i].R, S = 0.5 * body.inertia.trace() * Mat3::Identity() - body.inertia;
    sum += body.mass * (at_a[i] * body.com - at_b[i] * body.com).squaredNorm() + (turn * S * turn.transpose()).trace();
  }
  return std::sqrt(sum / model.total_mass());
}

struct Kind {
  const char* name;
  const char* model;  // models/MODEL.urdf
  int count, quick_count;
  void (*draw)(Random&, const StudyContext&, Scene&);
};

Scene empty_scene(const StudyContext& context, const Kind& kind) {
  Scene scene = empty_scene(load_urdf(context.data / "models" / (std::string(kind.model) + ".urdf")));
  scene.title = kind.name;
  scene.duration = kDuration;
  return scene;
}

void draw_slide(Random& random, const StudyContext&, Scene& scene) {
  scene.v0(0) = random.uniform(0.5, 3);
  const double depth = random.uniform(0.002, 0.01);
  add_floor(scene, -depth, random.uniform(0.2, 0.8), depth);
}

void draw_drop(Random& random, const StudyContext&, Scene& scene) {
  scene.q0(2) = random.uniform(-0.4, 0.4);
  scene.v0 << random.uniform(-1, 1), random.uniform(-0.5, 0.5), random.uniform(-1, 1);
  add_floor(scene, random.uniform(0.02, 0.3), random.uniform(0.2, 0.8), random.uniform(0.002, 0.01));
}

void draw_throw(Random& random, const StudyContext&, Scene& scene) {
  const Vec3 turn(random.uniform(-0.3, 0.3), random.uniform(-0.3, 0.3), random.uniform(-3, 3));
  Eigen::VectorXd along = Eigen::VectorXd::Zero(6);
  along.tail<3>() = turn;
  scene.q0 = integrate_position(scene.model, scene.q0, along, 1);
  for (int k = 0; k < 3; ++k) scene.v0(k) = random.uniform(-1, 1);
  for (int k = 3; k < 6; ++k) scene.v0(k) = random.uniform(-2, 2);
  add_floor(scene, random.uniform(0.02, 0.2), random.uniform(0.2, 0.8), random.uniform(0.001, 0.004));
}

void draw_pendulum(Random& random, const StudyContext&, Scene& scene) {
  scene.q0(0) = random.uniform(-2.5, 2.5);
  scene.v0(0) = random.uniform(-2, 2);
}

void draw_double_pendulum(Random& random, const StudyContext&, Scene& scene) {
  for (int k = 0; k < 2; ++k) {
    scene.q0(k) = random.uniform(-0.8, 0.8);
    scene.v0(k) = random.uniform(-2, 2);
  }
}

void push(Random& random, Scene& scene) {  // planar base
  scene.v0(0) = random.uniform(-0.5, 0.5);
  scene.v0(1) = random.uniform(-0.5, 0.2);
  scene.v0(2) = random.uniform(-0.3, 0.3);
}

void draw_hopper(Random& random, const StudyContext&, Scene& scene) {
  const auto joint = [&](const char* name) -> double& {
    return scene.q0(scene.model.joint(scene.model.find_joint(name)).q_index);
  };
  const double bend = random.uniform(0.3, 0.7);  // foot level, below the hip
  joint("hip") = -bend;
  joint("knee") = -2 * bend;
  joint("ankle") = std::min(bend, 0.7);
  push(random, scene);
  hold_pose(scene, 300, 20);
  add_floor(scene, random.uniform(0.02, 0.15), random.uniform(0.5, 1), 0.01);
}

void draw_robot(Random& random, const StudyContext& context, Scene& scene, const char* motion, double friction) {
  const auto path = context.data / "motions" / (std::string(motion) + ".toml");
  const auto targets = std::make_shared<const Motion>(load_motion(path, scene.model));
  Eigen::VectorXd unused = scene.v0;
  targets->sample(0, scene.q0, unused);
  push(random, scene);
  hold_pose(scene, 1000, random.uniform(1, 20));
  add_floor(scene, random.uniform(-0.015, 0.02), friction, 0.0157);
  scene.control.motion = targets;
}

void draw_stand(Random& random, const StudyContext& context, Scene& scene) {
  draw_robot(random, context, scene, "robosimian-squat", 0.7);
  scene.control.motion = nullptr;  // hold the first pose
}

void draw_squat(Random& random, const StudyContext& context, Scene& scene) {
  draw_robot(random, context, scene, "robosimian-squat", 0.7);
}

void draw_spider(Random& random, const StudyContext& context, Scene& scene) {
  draw_robot(random, context, scene, "spider-walk", 1.5);
  scene.control.motion = nullptr;
}

constexpr Kind kKinds[] = {
    {"sliding box", "box-planar", 8, 1, draw_slide},
    {"dropped box", "box-planar", 6, 1, draw_drop},
    {"thrown cube", "cube", 6, 1, draw_throw},
    {"pendulum", "pendulum", 6, 1, draw_pendulum},
    {"double pendulum", "double-pendulum", 6, 1, draw_double_pendulum},
    {"hopper landing", "hopper", 6, 1, draw_hopper},
    {"Robosimian standing, pushed", "robosimian-planar", 6, 1, draw_stand},
    {"Robosimian squatting, pushed", "robosimian-planar", 3, 0, draw_squat},
    {"Spider standing, pushed", "spider-planar", 3, 0, draw_spider},
};

struct Point {
  double error = kNothing;   // [m]
  double stages = kNothing;  // per simulated second
};

struct Sample {
  const Kind* kind = nullptr;
  bool found = false;    // one of its seeds gave a scene that is not chaotic
  int tries = 0;         // seeds used up
  double growth = 0;     // of a nudge
  double reference = 0;  // [m] how far the reference is from a run of ten times its accuracy and twice its step
  std::vector<Point> controlled, fixed;
};

class Runner {
 public:
  Runner(const StudyContext& context, size_t samples) : context_(context), samples_(static_cast<double>(samples)) {}

  // Final pose; empty if the run did not complete.
  Eigen::VectorXd final_pose(Scene& scene, Point* work = nullptr) {
    const Run run = run_scene(scene, [&](double, double) {
      const std::lock_guard lock(mutex_);
      return context_.progress(done_, samples_);
    });
    if (run.status == RunStatus::interrupted) throw StudyInterrupted();
    if (run.status != RunStatus::complete) return {};
    if (work) work->stages = static_cast<double>(run.totals.stages) / kDuration;
    return run.q.row(run.rows() - 1);
  }
  Eigen::VectorXd bounded(Scene& scene, double accuracy, double largest_step, Point* work = nullptr) {
    scene.output = kDuration;
    scene.options.dt = largest_step;
    scene.options.accuracy = accuracy;
    return final_pose(scene, work);
  }
  Eigen::VectorXd controlled(Scene& scene, double accuracy, Point* work = nullptr) {
    return bounded(scene, accuracy, 0.1, work);  // as of a scene file
  }
  Eigen::VectorXd fixed(Scene& scene, double dt, Point* work = nullptr) {
    scene.output = 0;
    scene.options.dt = dt;
    scene.options.accuracy = 0;
    return final_pose(scene, work);
  }
  void sample_done() {
    const std::lock_guard lock(mutex_);
    ++done_;
    if (!context_.progress(done_, samples_)) throw StudyInterrupted();
  }

 private:
  const StudyContext& context_;
  std::mutex mutex_;
  double samples_, done_ = 0;
};

// How much a nudge of the initial state grows within the run. Infinite if a run fails.
double growth_of(Runner& runner, Random& random, Scene scene) {
  const Eigen::VectorXd end = runner.fixed(scene, kNudgeStep), q0 = scene.q0;
  const auto direction = [&](double size) {
    Eigen::VectorXd e(scene.model.nv());
    for (double& x : e) x = random.uniform(-1, 1);
    const double length = distance(scene.model, q0, integrate_position(scene.model, q0, e, 1e-6));
    return Eigen::VectorXd(e * (size * 1e-6 / length));
  };
  scene.q0 = integrate_position(scene.model, q0, direction(kNudge), 1);
  scene.v0 += direction(kNudge);
  const Eigen::VectorXd nudged = runner.fixed(scene, kNudgeStep);
  if (end.size() == 0 || nudged.size() == 0) return std::numeric_limits<double>::infinity();
  return distance(scene.model, end, nudged) / kNudge;
}

struct Sweep {
  std::vector<double> accuracies, steps;  // [m], [s]; descending
  double reference, reference_step;       // [m], [s] accuracy and largest step of the reference
};

Sample measure(Runner& runner, const StudyContext& context, const Kind& kind, std::uint64_t seed, const Sweep& sweep) {
  Sample sample;
  sample.kind = &kind;
  while (!sample.found && sample.tries < kTries) {
    Random random(seed + static_cast<std::uint64_t>(sample.tries++));
    Scene scene = empty_scene(context, kind);
    kind.draw(random, context, scene);
    sample.growth = growth_of(runner, random, scene);
    if (!(sample.growth < kLargestGrowth)) continue;
    const Eigen::VectorXd truth = runner.bounded(scene, sweep.reference, sweep.reference_step),
                          coarser = runner.bounded(scene, 10 * sweep.reference, 2 * sweep.reference_step);
    if (truth.size() == 0 || coarser.size() == 0) continue;
    sample.found = true;
    sample.reference = distance(scene.model, truth, coarser);
    const auto point = [&](auto run, double value) {
      Point at;
      const Eigen::VectorXd end = (runner.*run)(scene, value, &at);
      if (end.size() > 0) at.error = distance(scene.model, truth, end);
      return at;
    };
    for (const double accuracy : sweep.accuracies) sample.controlled.push_back(point(&Runner::controlled, accuracy));
    for (const double dt : sweep.steps) sample.fixed.push_back(point(&Runner::fixed, dt));
  }
  return sample;
}

// Stages per second a fixed step needs to stay below `error`: log-linear between the last step above it and the next
// finer one. Clamped to the ends of the sweep.
double fixed_stages(const std::vector<Point>& fixed, double error) {
  size_t k = fixed.size();
  while (k > 0 && fixed[k - 1].error <= error) --k;  // fixed[k] and all finer ones are below
  if (k == 0) return fixed.front().stages;
  if (k == fixed.size()) return fixed.back().stages;
  if (!(fixed[k - 1].error > 0)) return fixed[k].stages;
  const double share =
      std::log(fixed[k - 1].error / error) / std::log(fixed[k - 1].error / std::max(fixed[k].error, 1e-300));
  return fixed[k - 1].stages * std::pow(fixed[k].stages / fixed[k - 1].stages, share);
}

std::vector<Sample> measure_all(const StudyContext& context, const Sweep& sweep) {
  struct Job {
    const Kind* kind;
    std::uint64_t seed;
  };
  std::vector<Job> jobs;
  for (size_t k = std::size(kKinds); k-- > 0;)  // robots first: they take longest
    for (int i = 0; i < (context.quick ? kKinds[k].quick_count : kKinds[k].count); ++i)
      jobs.push_back({&kKinds[k], 1000 * (k + 1) + 10 * static_cast<std::uint64_t>(i)});
  std::vector<Sample> samples(jobs.size());
  Runner runner(context, jobs.size());
  for_each_job(context.jobs, jobs.size(), [&](size_t i) {
    samples[i] = measure(runner, context, *jobs[i].kind, jobs[i].seed, sweep);
    runner.sample_done();
  });
  std::reverse(samples.begin(), samples.end());
  return samples;
}

std::string quartiles(const std::vector<double>& values, const char* format) {
  return join_numbers({quantile(values, 0.25), median(values), quantile(values, 0.75)}, format);
}

}  // namespace

StudyResult study_nmdp_accuracy(const StudyContext& context) {
  Sweep sweep;
  sweep.accuracies =
      context.quick ? std::vector<double>{1e-2, 1e-3, 1e-4, 1e-5} : std::vector<double>{1e-2, 1e-3, 1e-4, 1e-5, 1e-6};
  sweep.steps = {0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001};
  if (!context.quick) sweep.steps.push_back(0.0005);
  sweep.reference = context.quick ? 1e-7 : 1e-9;
  sweep.reference_step = context.quick ? 1e-3 : 2e-4;
  const std::vector<Sample> all = measure_all(context, sweep);
  std::vector<Sample> samples;
  int tries = 0;
  for (const Sample& sample : all) {
    tries += sample.tries;
    if (sample.found) samples.push_back(sample);
  }

  StudyResult result;
  result.name = "nmdp-accuracy";
  result.title = "Global error and work against the accuracy asked for";
  result.summary =
      "Scenes are drawn from seeds and kept if a nudge of the initial state grows less than tenfold within the second "
      "they last. The local error of every step is held below the accuracy asked for; what follows for the pose at 1 s "
      "depends on the scene. In smooth motion steps of h have a local error of h^3 and 1/h of them add up: the global "
      "error is proportional to accuracy^(2/3).";
  const auto add_goal = [&](std::string quantity, std::string unit, std::string theory, StudyValue value,
                            std::string goal, bool met) {
    result.rows.push_back(
        goal_row(std::move(quantity), std::move(unit), std::move(theory), std::move(value), std::move(goal), met));
  };
  const auto add_report = [&](std::string quantity, std::string unit, StudyValue value) {
    result.rows.push_back(report_row(std::move(quantity), std::move(unit), "", std::move(value)));
  };
  add_goal("scenes kept, of the seeds drawn", "", "", fmt::format("{} of {}", samples.size(), tries),
           fmt::format("{} kept", all.size()), samples.size() == all.size());
  std::vector<double> growth;
  for (const Sample& sample : samples) growth.push_back(sample.growth);
  add_report("growth of a nudge: quartiles", "", quartiles(growth, "{:.2f}"));

  // Slopes.
  std::vector<double> slopes, fine_slopes;
  std::vector<double> worst;  // per scene: error over the one at ten times the accuracy
  int rises = 0, real_rises = 0, failures = 0;
  for (const Sample& sample : samples) {
    std::vector<double> errors;
    double rise = 0, real_rise = 0;
    for (const Point& point : sample.controlled) {
      if (!std::isfinite(point.error)) ++failures;
      if (!errors.empty()) {
        const double before = sweep.accuracies[errors.size() - 1];  // luck: it was better than asked for
        rise = std::max(rise, point.error / errors.back());
        real_rise = std::max(real_rise, point.error / std::max(before, errors.back()));
      }
      errors.push_back(std::max(point.error, 1e-300));
    }
    slopes.push_back(log_slope(sweep.accuracies, errors));
    fine_slopes.push_back(
        log_slope({sweep.accuracies.begin() + 2, sweep.accuracies.end()}, {errors.begin() + 2, errors.end()}));
    worst.push_back(rise);
    rises += rise > 2 ? 1 : 0;
    real_rises += real_rise > 2 ? 1 : 0;
  }
  add_goal("runs that fail", "", "", static_cast<double>(failures), "0", failures == 0);
  add_goal("slope of log error over log accuracy: median", "", "2/3 where smooth", median(slopes), "> 0.5",
           median(slopes) > 0.5);
  add_report("slope: quartiles", "", quartiles(slopes, "{:.2f}"));
  add_report("slope from 1e-4 m down, where no step reaches the largest of 0.1 s: quartiles", "",
             quartiles(fine_slopes, "{:.2f}"));
  add_goal("slope: smallest", "", "2/3 where smooth", smallest(slopes), "> 0", smallest(slopes) > 0);
  for (const Kind& kind : kKinds) {
    std::vector<double> of_kind;
    for (size_t i = 0; i < samples.size(); ++i)
      if (samples[i].kind == &kind) of_kind.push_back(slopes[i]);
    if (!of_kind.empty())
      add_report(fmt::format("slope: {}, smallest, median, largest of {}", kind.name, of_kind.size()), "",
                 join_numbers({smallest(of_kind), median(of_kind), largest(of_kind)}, "{:.2f}"));
  }
  add_goal("error at a tenth of the accuracy over the error before: largest", "", "0.22 where smooth", largest(worst),
           "<= 2", largest(worst) <= 2);
  add_report("scenes in which it exceeds 2", "", static_cast<double>(rises));
  add_report("scenes in which it exceeds 2, errors below the accuracy asked for left out", "",
             static_cast<double>(real_rises));

  // Errors and work by accuracy.
  StudyFigure by_accuracy{"Error at 1 s against the accuracy asked for",
                          {"accuracy", "m", true},
                          {"error", "m", true},
                          {},
                          {"dashed: error = accuracy"}};
  StudyFigure by_work{"Error at 1 s against work, medians over the scenes",
                      {"stages per simulated second", "", true},
                      {"error", "m", true},
                      {},
                      {}};
  for (size_t i = 0; i < samples.size(); ++i) {
    if (i > 0 && samples[i].kind == samples[i - 1].kind) continue;  // one of each kind, and the medians
    StudySeries series{samples[i].kind->name, {}, {}, false};
    for (size_t k = sweep.accuracies.size(); k-- > 0;) {
      std::vector<double> errors;
      for (const Sample& sample : samples)
        if (sample.kind == samples[i].kind) errors.push_back(sample.controlled[k].error);
      series.x.push_back(sweep.accuracies[k]);
      series.y.push_back(median(errors));
    }
    by_accuracy.series.push_back(std::move(series));
  }
  by_accuracy.series.push_back({"accuracy",
                                {sweep.accuracies.back(), sweep.accuracies.front()},
                                {sweep.accuracies.back(), sweep.accuracies.front()},
                                true});
  const auto medians = [&](const std::vector<Point> Sample::*points, size_t k) {
    std::vector<double> errors, stages;
    for (const Sample& sample : samples) {
      const Point& point = (sample.*points)[k];
      errors.push_back(std::isfinite(point.error) ? point.error : std::numeric_limits<double>::infinity());
      stages.push_back(std::isfinite(point.stages) ? point.stages : std::numeric_limits<double>::infinity());
    }
    return Point{median(errors), median(stages)};
  };
  const auto curve = [&](const char* name, const std::vector<Point> Sample::*points, size_t count, bool dashed) {
    StudySeries series{name, {}, {}, dashed};
    for (size_t k = 0; k < count; ++k) {
      const Point at = medians(points, k);
      if (!series.x.empty() && at.stages <= series.x.back()) continue;
      series.x.push_back(at.stages);
      series.y.push_back(at.error);
    }
    return series;
  };
  by_work.series.push_back(curve("accuracy 1e-2 ...", &Sample::controlled, sweep.accuracies.size(), false));
  by_work.series.push_back(curve("fixed steps, 100 ms ...", &Sample::fixed, sweep.steps.size(), true));
  for (size_t k = 0; k < sweep.accuracies.size(); ++k) {
    const double accuracy = sweep.accuracies[k];
    std::vector<double> errors, ratios, stages, gains;
    for (const Sample& sample : samples) {
      const Point& point = sample.controlled[k];
      errors.push_back(point.error);
      ratios.push_back(point.error / accuracy);
      stages.push_back(point.stages);
      gains.push_back(fixed_stages(sample.fixed, point.error) / point.stages);
    }
    const std::string name = fmt::format("accuracy {:.0e} m: ", accuracy);
    add_report(name + "error at 1 s, quartiles", "m", quartiles(errors, "{:.2e}"));
    add_report(name + "error over accuracy: quartiles", "", quartiles(ratios, "{:.2g}"));
    add_report(name + "error over accuracy: largest", "", largest(ratios));
    add_report(name + "stages per simulated second, quartiles", "", quartiles(stages, "{:.0f}"));
    add_goal(name + "stages of fixed steps of equal error over ours: median", "", "", median(gains), "> 1",
             median(gains) > 1);
    add_report(name + "stages of fixed steps of equal error over ours: quartiles", "", quartiles(gains, "{:.2f}"));
  }
  for (const Kind& kind : kKinds) {
    std::vector<std::string> gains;
    for (size_t k = 0; k < sweep.accuracies.size(); ++k) {
      std::vector<double> of_kind;
      for (const Sample& sample : samples)
        if (sample.kind == &kind)
          of_kind.push_back(fixed_stages(sample.fixed, sample.controlled[k].error) / sample.controlled[k].stages);
      if (!of_kind.empty()) gains.push_back(fmt::format("{:.2f}", median(of_kind)));
    }
    if (!gains.empty())
      add_report(fmt::format("stages of fixed steps of equal error over ours: {}, 1e-2 m down, medians", kind.name), "",
                 fmt::format("{}", fmt::join(gains, ", ")));
  }
  std::vector<double> doubt;
  for (const Sample& sample : samples) doubt.push_back(sample.reference / sample.controlled.back().error);
  add_goal(
      fmt::format(
          "change of the reference at ten times its accuracy and twice its step, over the error at {:.0e} m: median",
          sweep.accuracies.back()),
      "", "", median(doubt), "< 0.1", median(doubt) < 0.1);
  add_report("the same: 90th percentile", "", quantile(doubt, 0.9));
  result.figures = {std::move(by_accuracy), std::move(by_work)};
  result.settings = {
      {"integrator", "pbd-nmdp2, dissipation effective"},
      {"error", "rms over the mass of the displacement from the reference at 1 s"},
      {"reference",
       fmt::format("accuracy {:.0e} m, steps of at most {}", sweep.reference, step_name(sweep.reference_step))},
      {"scenes", fmt::format("kept if a nudge of {:.0e} m and m/s grows less than {:g}-fold in 1 s at {}", kNudge,
                             kLargestGrowth, step_name(kNudgeStep))},
      {"fixed steps",
       fmt::format("{} to {}, error control off", step_name(sweep.steps.front()), step_name(sweep.steps.back()))}};
  return result;
}

}  // namespace scree
