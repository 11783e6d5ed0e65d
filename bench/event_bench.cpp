// Rigid contact through impacts: simulated seconds per wall second on one core, with the error beside it.
//
//   Tumble  a box in space falls on a corner and comes to rest, 1.2 s: error of where it ends
//   Trot    Robosimian in the plane, dropped from 1 mm, walks 2 s: error of the distance
//
// Both against `event` at 0.05 ms, in millimetres; ne-lcp is the other scheme on rigid ground. Impacts are those of one
// run. Ratios between rows of one run are what counts: machines are noisy.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <memory>

#include "scree/kinematics.h"
#include "scree/motion.h"
#include "scree/step.h"
#include "scree/urdf.h"
#include "support/paths.h"

namespace scree {
namespace {

struct Task {
  explicit Task(bool trots)
      : model(load_urdf(fmt::format("{}/models/{}.urdf", source_dir(), trots ? "robosimian-planar" : "box"))),
        control(model),
        q(model.neutral_position()),
        v(Eigen::VectorXd::Zero(model.nv())),
        duration(trots ? 2 : 1.2) {
    world.add(contact_candidates(model, ContactCandidates::automatic));
    world.surface.friction = 0.6;
    if (trots) {
      control.motion = std::make_shared<const Motion>(
          load_motion(fmt::format("{}/motions/robosimian-walk.toml", source_dir()), model));
      Eigen::VectorXd rate = v;
      control.motion->sample(0, q, rate);
      for (const Joint& joint : model.joints())
        if (velocity_count(joint.type) == 1) {
          control.kp(joint.v_index) = 1000;
          control.kd(joint.v_index) = 1;
        }
    } else {
      const Quat turn(Eigen::AngleAxisd(0.3, Vec3(0.3, 1, 0.1).normalized()));
      q.segment<4>(3) << turn.w(), turn.x(), turn.y(), turn.z();
      v << 0.5, 0.1, 0, 0.2, 0.5, 0;
    }
    const double lowest = lowest_point(model, world.colliders, q);
    world.add(plane_collider({0, 0, lowest - (trots ? 1e-3 : 0.25)}, Vec3::UnitZ()));
  }

  // Where the base ends [m]; false: a step failed.
  bool run(IntegratorType integrator, double dt, Vec3& end, long& impacts) const {
    StepOptions options;
    options.integrator = integrator;
    options.dt = dt;
    State state = make_state(model, q, v);
    StepWorkspace workspace(model, world);
    const long steps = std::lround(duration / dt);
    impacts = 0;
    for (long k = 0; k < steps; ++k) {
      if (!step(model, control, options, state, workspace).converged()) return false;
      for (const Event& event : workspace.events()) impacts += event.kind == EventKind::impact;
    }
    end = frame_pose(model, state.q, Frame{"", BodyIndex(0), {}}).p;
    return true;
  }

  Model model;
  World world;
  Control control;
  Eigen::VectorXd q, v;
  double duration;
};

void rigid(benchmark::State& state, bool trots, IntegratorType integrator, double dt) {
  const Task task(trots);
  Vec3 truth = Vec3::Zero(), end = truth;
  long impacts = 0;
  if (!task.run(IntegratorType::event, 5e-5, truth, impacts)) return state.SkipWithError("the reference failed");
  double simulated = 0;
  for (auto _ : state) {
    if (!task.run(integrator, dt, end, impacts)) return state.SkipWithError("a step failed");
    simulated += task.duration;
  }
  state.counters["sim_s_per_s"] = benchmark::Counter(simulated, benchmark::Counter::kIsRate);
  state.counters["error_mm"] = 1000 * (end - truth).norm();
  state.counters["impacts"] = static_cast<double>(impacts);
}

const int kRegistered = [] {
  for (const bool trots : {false, true})
    for (const IntegratorType integrator : {IntegratorType::event, IntegratorType::ne_lcp})
      for (const double dt : {2e-3, 5e-4, 1e-4})
        benchmark::RegisterBenchmark(
            fmt::format("Rigid/{}/{}/{:g}ms", trots ? "Trot" : "Tumble", integrator_name(integrator), 1000 * dt)
                .c_str(),
            rigid, trots, integrator, dt)
            ->Unit(benchmark::kMillisecond);
  return 0;
}();

}  // namespace
}  // namespace scree
