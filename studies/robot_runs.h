// Runs of a robot that tracks a motion on flat ground, as the experiments of the NMDP paper do.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "scree/motion.h"
#include "scree/step.h"
#include "studies.h"

namespace scree {

struct RobotRun {
  std::string robot = "robosimian";  // or "spider": floor and friction of the authors' drivers
  std::string motion = "jump";       // motions/ROBOT-MOTION.toml
  bool symmetric = false;            // the torso's centre of mass moved to its middle
  bool spatial = false;              // models/ROBOT-spatial.urdf, a floating base, instead of the planar model
  IntegratorType integrator = IntegratorType::ne_nmdp;
  Dissipation dissipation = Dissipation::contact;
  bool explicit_pd = true;                   // ne-mdp only
  double dt = 0.05;                          // [s]
  double duration = 10;                      // [s]
  double accuracy = StepOptions{}.accuracy;  // [m] of integrators that estimate their error
};

constexpr double kLargestHeight = 3, kLargestSpeed = 1000;  // [m] of the torso, [rad/s, m/s] of any joint
constexpr double kFallen = 1.6;                             // [rad] a torso that tilts more has fallen over

enum class RunEnd {
  complete,
  step_failed,
  exploded,    // beyond kLargestHeight or kLargestSpeed, or a step without finite numbers
  work_limit,  // more Newton iterations than a run may take: counted, not timed, so that every machine stops alike
};

// One row per step, the start included in time, x, z, tilt.
struct RobotRecord {
  RobotRun run;
  RunEnd end = RunEnd::complete;
  std::vector<double> time, x, z, tilt;                           // [s] [m] [m] [rad] of the torso
  std::vector<double> outer, wall_time, smallest_step;            // per step: count, [s], [s]
  long iterations = 0, rejected = 0, subdivided = 0, solves = 0;  // solves: stages, failed tries included

  double largest_tilt() const;  // [rad] |tilt|
  double wall() const;          // [s]
  double outer_sum() const;
  bool complete() const { return end == RunEnd::complete; }
  bool fell() const { return largest_tilt() > kFallen; }
};

std::string run_name(const RobotRun& run);  // "ne-nmdp", "ne-mdp, implicit PD", "ne-nmdp, total"
std::string step_name(double dt);           // "50 ms"

// All runs, on context.jobs threads; the records are in the order of the runs and do not depend on the threads.
std::vector<RobotRecord> run_robots(const StudyContext& context, const std::vector<RobotRun>& runs);
// One after the other on one thread, for wall times.
std::vector<RobotRecord> time_robots(const StudyContext& context, const std::vector<RobotRun>& runs);

// Work done by all threads of a study, told to its context. Throws StudyInterrupted.
class Meter {
 public:
  Meter(const StudyContext& context, double total) : context_(context), total_(total) {}
  void advance(double work);

 private:
  const StudyContext& context_;
  std::mutex mutex_;
  double total_, done_ = 0;
};

// Calls work(i) for i < count on `jobs` threads; the first exception is thrown again here.
void for_each_job(int jobs, size_t count, const std::function<void(size_t)>& work);

// Value of a record at `time`, linear between its rows; not a number after its end.
double value_at(const RobotRecord& record, const std::vector<double>& values, double time);

// At most 400 points, rounded to 1e-5: a page of bearable size.
StudySeries time_series(const RobotRecord& record, const std::vector<double>& values, std::string name);

std::vector<double> step_range(double first, double last, double by);  // [s]

}  // namespace scree
