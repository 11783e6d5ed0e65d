// Random scenes of the integrator `event` by the thousand: no point deeper than `touch`, no energy gained by an impact,
// and time goes on.
//
//   event_campaign COUNT [SEED] [JOBS]        Exit code 1: a promise was broken, or a run failed
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "support/event_scenes.h"

namespace {

using namespace scree;

constexpr double kDuration = 0.6;  // [s]
constexpr double kGain = 1e-9;     // relative: rounding of v.M v, and what certificates of elastic laws allow

struct Tally {
  long scenes = 0, failed = 0, broken = 0, impacts = 0, without_collision = 0, events = 0;
  double deepest = -1, gain = -1;  // [m] below the ground, relative
  std::map<std::string, long> kinds;
};

bool is_impact(const Event& event) {
  return event.kind == EventKind::impact || event.kind == EventKind::impact_without_collision;
}

void run(long number, std::uint64_t seed, Tally& tally, std::mutex& mutex) {
  test::Random random(seed * 1'000'003 + static_cast<std::uint64_t>(number));
  test::EventScene scene = test::random_event_scene(random);
  StepWorkspace workspace(scene.model, scene.world);
  Tally mine;
  std::string failure, broken;
  while (scene.state.time < kDuration && failure.empty() && broken.empty()) {
    const double before = scene.state.time;
    const StepReport report = step(scene.model, scene.control, scene.options, scene.state, workspace);
    for (const Event& event : workspace.events()) {
      ++mine.events;
      if (!is_impact(event)) continue;
      ++mine.impacts;
      mine.without_collision += event.kind == EventKind::impact_without_collision;
      mine.gain = std::max(mine.gain, (event.energy_after - event.energy_before) / event.energy_before);
    }
    if (!report.converged()) {
      failure = report.reason;
      break;
    }
    mine.deepest = std::max(mine.deepest, -test::smallest_gap(scene.model, scene.world, scene.state.q));
    if (!(scene.state.time > before)) broken = "time does not go on";
    if (!(mine.deepest <= scene.options.event.touch)) broken = fmt::format("{} m deep", mine.deepest);
    if (!(mine.gain <= kGain)) broken = fmt::format("an impact gains {:.3g} of its energy", mine.gain);
    if (!scene.state.q.allFinite() || !scene.state.v.allFinite()) broken = "numbers that are not finite";
  }
  const std::lock_guard lock(mutex);
  ++tally.scenes;
  ++tally.kinds[scene.name];
  tally.failed += !failure.empty();
  tally.broken += !broken.empty();
  tally.events += mine.events;
  tally.impacts += mine.impacts;
  tally.without_collision += mine.without_collision;
  tally.deepest = std::max(tally.deepest, mine.deepest);
  tally.gain = std::max(tally.gain, mine.gain);
  for (const auto& [what, why] : {std::pair{"failed", failure}, std::pair{"BROKEN", broken}})
    if (!why.empty())
      fmt::print("scene {} ({}, {}, e = {:.3g}, mu = {:.3g}, dt = {:.3g} s) {} at {:.6g} s: {}\n", number, scene.name,
                 impact_law_name(scene.world.impact.law), scene.world.surface.restitution, scene.world.surface.friction,
                 scene.options.dt, what, scene.state.time, why);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    fmt::print(stderr, "usage: event_campaign COUNT [SEED] [JOBS]\n");
    return 2;
  }
  const long count = std::atol(argv[1]);
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  const int jobs = argc > 3 ? std::max(1, std::atoi(argv[3])) : 1;
  Tally tally;
  std::mutex mutex;
  std::atomic<long> next = 0;
  std::vector<std::thread> threads;
  for (int k = 0; k < jobs; ++k)
    threads.emplace_back([&] {
      for (long number = next++; number < count; number = next++) run(number, seed, tally, mutex);
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& [name, scenes] : tally.kinds) fmt::print("{:20} {} scenes\n", name, scenes);
  fmt::print(
      "{} scenes of {} s: {} failed, {} broke a promise; {} events, {} impacts, {} of them without collision; "
      "deepest {:.3g} m (touch 1e-09), largest gain of an impact {:.3g}\n",
      tally.scenes, kDuration, tally.failed, tally.broken, tally.events, tally.impacts, tally.without_collision,
      tally.deepest, tally.gain);
  return tally.failed + tally.broken > 0 || tally.scenes == 0 ? 1 : 0;
}
