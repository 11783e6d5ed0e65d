#include "scree/calibration.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "integrators/lanes.h"
#include "integrators/traits.h"
#include "scree/dynamics.h"
#include "scree/error.h"

namespace scree {
namespace {

constexpr const char* kStatusNames[] = {"found", "out_of_reach", "jumps", "run_failed", "interrupted"};

// By how much the distance with a coefficient misses the wanted one; ends the search where a run fails.
class Search {
 public:
  Search(const Scene& scene, const CalibrationOptions& options, bool drag, const std::function<bool()>& go_on,
         CalibrationReport& report)
      : scene_(scene), options_(options), drag_(drag), go_on_(go_on), report_(report) {}

  bool slide(double coefficient, double& excess) {
    if (drag_)
      scene_.world.smooth.drag = coefficient;
    else
      scene_.world.surface.friction = coefficient;
    const Run run = run_scene(scene_, [&](double, double) { return !go_on_ || go_on_(); });
    ++report_.runs;
    report_.value = coefficient;
    report_.distance = sliding_distance(scene_, run);
    excess = report_.distance - options_.distance;
    if (run.status == RunStatus::complete) {
      report_.shortest = report_.runs == 1 ? report_.distance : std::min(report_.shortest, report_.distance);
      return true;
    }
    report_.status =
        run.status == RunStatus::interrupted ? CalibrationStatus::interrupted : CalibrationStatus::run_failed;
    return false;
  }
  bool near(double excess) const { return std::abs(excess) <= options_.accuracy * options_.distance; }

 private:
  Scene scene_;
  const CalibrationOptions& options_;
  bool drag_;
  const std::function<bool()>& go_on_;
  CalibrationReport& report_;
};

}  // namespace

const char* calibration_status_name(CalibrationStatus status) { return kStatusNames[static_cast<int>(status)]; }

void CalibrationOptions::validate() const {
  const auto check = [](bool good, const char* field, double value, const char* expected) {
    if (!good) throw InputError(fmt::format("calibration: {} is {}, expected {}", field, value, expected));
  };
  check(distance > 0 && distance <= 1e6, "distance", distance, "a number in (0, 1e6] m");
  check(accuracy >= 1e-9 && accuracy <= 0.5, "accuracy", accuracy, "a number in [1e-9, 0.5]");
  check(lowest >= 0 && lowest <= 1e30, "lowest", lowest, "a number in (0, 1e30], or 0");
  check(highest >= 0 && highest <= 1e30, "highest", highest, "a number in (0, 1e30], or 0");
}

double sliding_distance(const Scene& scene, const Run& run) {
  Dynamics dynamics(scene.model);
  const auto centre = [&](size_t row) {
    dynamics.set_position(run.q.row(row));
    return dynamics.center_of_mass();
  };
  const Vec3 moved = centre(run.rows() - 1) - centre(0), gravity = scene.world.gravity;
  const Vec3 up = gravity.norm() > 0 ? Vec3(-gravity.normalized()) : Vec3::UnitZ();
  return (moved - up.dot(moved) * up).norm();
}

CalibrationReport calibrate(const Scene& scene, const CalibrationOptions& options, const std::function<bool()>& go_on) {
  options.validate();
  const IntegratorTraits& row = traits(scene.options.integrator);
  const bool drag = row.friction != FrictionLaw::coulomb;
  if (row.contact != ContactKind::smooth)
    throw InputError(
        fmt::format("calibration: integrator \"{}\" has no coefficient to find, expected one of: {}", row.name,
                    names_of_integrators([](const auto& other) { return other.contact == ContactKind::smooth; })));
  if (scene.world.pair_count() == 0)
    throw InputError("calibration: nothing in the scene can touch, expected [[environment]]");

  CalibrationReport report;
  report.parameter = drag ? "drag" : "friction";
  SmoothContactOptions usual = scene.world.smooth;
  usual.drag.reset();
  const double middle = smooth_coefficients(Pairs(scene.model, scene.world), scene.world.surface.friction, usual).drag;
  report.lowest = options.lowest > 0 ? options.lowest : drag ? 1e-6 * middle : 1e-3;
  report.highest = options.highest > 0 ? options.highest : drag ? 1e4 * middle : 100;
  if (!(report.lowest < report.highest))
    throw InputError(
        fmt::format("calibration: lowest is {}, expected less than highest, {}", report.lowest, report.highest));
  if (!drag && report.highest > 100)
    throw InputError(fmt::format("calibration: highest is {}, expected at most 100 for friction", report.highest));

  Search search(scene, options, drag, go_on, report);
  double below = report.lowest, excess = 0;
  if (!search.slide(below, excess)) return report;
  report.at_lowest = report.distance;
  // The distance need not fall all the way (pbd-friction): the first factor of ten that passes the wanted one.
  double above = below;
  while (excess > 0 && !search.near(excess)) {
    below = above;
    if (!(below < report.highest)) return report;  // never so little
    above = std::min(10 * below, report.highest);
    if (!search.slide(above, excess)) return report;
  }
  if (search.near(excess)) {
    report.status = CalibrationStatus::found;
    return report;
  }
  if (above == report.lowest) return report;  // not even with the least friction so far
  while (above / below > 1 + 1e-14) {
    const double between = std::sqrt(below * above);
    if (!search.slide(between, excess)) return report;
    if (search.near(excess)) {
      report.status = CalibrationStatus::found;
      return report;
    }
    (excess > 0 ? below : above) = between;
  }
  report.status = CalibrationStatus::jumps;
  return report;
}

}  // namespace scree
