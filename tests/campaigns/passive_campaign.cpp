// Scenes of the integrator `event` in which nothing drives anything: total energy, row by row and over the whole run.
//
//   passive_campaign COUNT [SEED] [JOBS]        Exit code 1: energy was gained, or a gain was not reported
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include "support/event_scenes.h"

namespace {

using namespace scree;

constexpr double kDuration = 1;      // [s]
constexpr double kGain = 1e-3;       // of the largest energy of the run: what is promised
constexpr double kRounding = 1e-10;  // likewise: of energies, summed over the substeps of a run

struct Tally {
  test::PassiveCourse sum;  // gains: the largest ones, as parts of the largest energy
  int scenes = 0, gained_in_a_row = 0, gained = 0, unreported = 0, failed = 0;
};

void run(int number, std::uint64_t seed, Tally& tally, std::mutex& mutex) {
  test::Random random(seed * 1'000'003 + static_cast<std::uint64_t>(number));
  // Every model with every law in turn.
  test::EventScene scene = test::random_passive_scene(random, number, number + number / test::kPassiveModels);
  const test::PassiveCourse course = test::run_passive(scene, kDuration);
  const double row = course.row_gain / course.largest, whole = course.gain / course.largest;
  const std::lock_guard lock(mutex);
  ++tally.scenes;
  tally.sum.rows += course.rows;
  tally.sum.substeps += course.substeps;
  tally.sum.rejected += course.rejected;
  tally.sum.inaccurate += course.inaccurate;
  tally.sum.impacts += course.impacts;
  tally.sum.row_gain = std::max(tally.sum.row_gain, row);
  tally.sum.gain = std::max(tally.sum.gain, whole);
  tally.sum.reported = std::max(tally.sum.reported, course.reported / course.largest);
  const bool gained = !(whole <= kGain);
  const bool unreported = !(course.gain <= course.reported + kRounding * course.largest);
  tally.gained_in_a_row += !(row <= kGain);
  tally.gained += gained;
  tally.unreported += unreported;
  tally.failed += !course.failure.empty();
  if (gained || unreported || !course.failure.empty())
    fmt::print(
        "scene {} ({}, {}, e = {:.3g}, mu = {:.3g}, dt = {:.3g} s): gains {:.3g} of {:.4g} J in a row, {:.3g} in "
        "all, reported {:.3g}{}{}\n",
        number, scene.name, impact_law_name(scene.world.impact.law), scene.world.surface.restitution,
        scene.world.surface.friction, scene.options.dt, row, course.largest, whole, course.reported / course.largest,
        course.failure.empty() ? "" : "; ", course.failure);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    fmt::print(stderr, "usage: passive_campaign COUNT [SEED] [JOBS]\n");
    return 2;
  }
  const int count = std::atoi(argv[1]);
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  const int jobs = argc > 3 ? std::max(1, std::atoi(argv[3])) : 1;
  Tally tally;
  std::mutex mutex;
  std::atomic<int> next = 0;
  std::vector<std::thread> threads;
  for (int k = 0; k < jobs; ++k)
    threads.emplace_back([&] {
      for (int number = next++; number < count; number = next++) run(number, seed, tally, mutex);
    });
  for (std::thread& thread : threads) thread.join();
  const test::PassiveCourse& sum = tally.sum;
  fmt::print(
      "{} scenes of {} s, {} rows, {} impacts; {} substeps, {} tries rejected, {} substeps of the smallest length less "
      "accurate than asked for; gained more than {:g} in a row {}, in all {}, unreported {}; largest gain of a row "
      "{:.3g}, of a run {:.3g}, by their own account {:.3g}; {} runs ended early and say why\n",
      tally.scenes, kDuration, sum.rows, sum.impacts, sum.substeps, sum.rejected, sum.inaccurate, kGain,
      tally.gained_in_a_row, tally.gained, tally.unreported, sum.row_gain, sum.gain, sum.reported, tally.failed);
  return tally.gained_in_a_row + tally.gained + tally.unreported > 0 || tally.scenes == 0 ? 1 : 0;
}
