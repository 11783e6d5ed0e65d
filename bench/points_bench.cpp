// What candidate points cost that never touch: Robosimian stands at rest, 10 ms a step, as it is (4 points) and with
// a load of points on its back, as a collision mesh gives them. CPU time a step; far points should cost next to
// nothing.
#include <benchmark/benchmark.h>

#include <cmath>
#include <memory>

#include "scree/kinematics.h"
#include "scree/motion.h"
#include "scree/simulation.h"
#include "scree/urdf.h"
#include "support/paths.h"

namespace scree {
namespace {

// With `more` points on a ball of 0.2 m that it carries on its back.
Model with_points(const Model& model, int more) {
  ModelBuilder builder(model);
  const Body& trunk = model.bodies()[0];
  for (int k = 0; k < more; ++k) {
    ContactPoint point;
    point.name = "more" + std::to_string(k);
    point.p_B = trunk.com + Vec3(0.1 * std::sin(1.0 * k), 0.1 * std::sin(2.3 * k), 0.5 + 0.1 * std::sin(3.1 * k));
    builder.add_contact_point(trunk.name, point);
  }
  return builder.build();
}

void Stand(benchmark::State& bench) {
  const IntegratorType integrator = static_cast<IntegratorType>(bench.range(0));
  const Model plain = load_urdf(source_dir() + "/models/robosimian.urdf");
  Eigen::VectorXd q = plain.neutral_position(), v = Eigen::VectorXd::Zero(plain.nv());
  load_motion(source_dir() + "/motions/robosimian-walk.toml", plain).sample(0, q, v);
  v.setZero();
  const double floor = lowest_point(plain, contact_candidates(plain, ContactCandidates::named), q);
  const Model model = with_points(plain, static_cast<int>(bench.range(1)));
  World world;
  world.add(contact_candidates(model, ContactCandidates::named));
  world.add(plane_collider({0, 0, floor}, Vec3::UnitZ()));
  // The same ground whatever the number of points.
  world.law = make_coulomb({.stiffness = 1e12});
  world.smooth.stiffness = 1e8;
  world.smooth.drag = 1e8;
  Simulation s(model, world, {.integrator = integrator, .dt = 0.01});
  s.set_state(q, v);
  s.control().target = q;
  for (const Joint& joint : model.joints())
    if (velocity_count(joint.type) == 1) s.control().kp(joint.v_index) = 1000, s.control().kd(joint.v_index) = 10;
  bool good = true;
  for (int k = 0; k < 50; ++k) good = s.step().converged() && good;
  const State start = s.state();
  long steps = 0;
  for (auto _ : bench) {
    s.set_state(start);
    for (int k = 0; k < 10; ++k) good = s.step().converged() && good;
    steps += 10;
  }
  if (!good) bench.SkipWithError("a step failed");
  bench.SetLabel(integrator_name(integrator));
  bench.counters["contacts"] = static_cast<double>(s.contacts().size());
  bench.counters["points"] = static_cast<double>(world.body_colliders());
  bench.counters["us/step"] =
      benchmark::Counter(1e-6 * static_cast<double>(steps), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void register_all() {
  using enum IntegratorType;
  for (const IntegratorType integrator : {pbd_nmdp2, pbd_nmdp, ne_nmdp, event, pbfd_coulomb})
    for (const int more : {0, 300, 3000})
      benchmark::RegisterBenchmark("Stand", Stand)->Args({static_cast<int>(integrator), more});
}
const bool registered = (register_all(), true);

}  // namespace
}  // namespace scree
