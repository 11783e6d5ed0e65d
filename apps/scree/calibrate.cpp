// scree calibrate: which friction coefficient makes a body slide as far as wanted?
#include "scree/calibration.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "import_report.h"
#include "interrupt.h"
#include "options.h"
#include "scree/error.h"
#include "terminal.h"
#include "verbs.h"

namespace scree::cli {
namespace {

using Json = nlohmann::ordered_json;

struct CalibrateOptions {
  std::string scene, integrator;
  CalibrationOptions search;
  std::optional<double> dt, duration;
  ModelFlags model;
  bool json = false;
};

std::string failure_of(const CalibrationReport& r, double wanted) {
  switch (r.status) {
    case CalibrationStatus::found:
      return "";
    case CalibrationStatus::out_of_reach:
      return fmt::format("{:.6g} m is out of reach: {} {:.6g} to {:.6g} slides from {:.6g} m down to {:.6g} m", wanted,
                         r.parameter, r.lowest, r.highest, r.at_lowest, r.shortest);
    case CalibrationStatus::jumps:
      return fmt::format("the distance jumps over {:.6g} m: {:.6g} m next to {} {:.17g}", wanted, r.distance,
                         r.parameter, r.value);
    case CalibrationStatus::run_failed:
      return fmt::format("the run with {} {:.6g} failed: a step did not converge", r.parameter, r.value);
    case CalibrationStatus::interrupted:
      return "interrupted";
  }
  return "";
}

int run_calibration(const CalibrateOptions& options) {
  SceneOverrides overrides;
  overrides.dt = options.dt;
  overrides.duration = options.duration;
  if (!options.integrator.empty()) overrides.integrator = integrator_from_name(options.integrator);
  overrides.search_path = options.model.paths();
  const Scene scene = load_scene(options.scene, overrides);
  warn_of_repairs(scene.import_report);
  catch_interrupts();
  const CalibrationReport report = calibrate(scene, options.search, [] { return !interrupted(); });
  const std::string failure = failure_of(report, options.search.distance);
  if (options.json) {
    Json json;
    json["scene"] = options.scene;
    json["integrator"] = integrator_name(scene.options.integrator);
    json["dt"] = scene.options.dt;
    json["status"] = calibration_status_name(report.status);
    json["failure"] = failure.empty() ? Json() : Json(failure);
    json["parameter"] = report.parameter;
    json["value"] = report.status == CalibrationStatus::found ? Json(report.value) : Json();
    json["wanted"] = options.search.distance;
    json["distance"] = report.distance;
    json["lowest"] = report.lowest;
    json["highest"] = report.highest;
    json["at_lowest"] = report.at_lowest;
    json["shortest"] = report.shortest;
    json["runs"] = report.runs;
    print_json(json);
  } else if (failure.empty()) {
    print_pairs(
        {{"integrator", fmt::format("{}, {:.6g} s", integrator_name(scene.options.integrator), scene.options.dt)},
         {report.parameter, fmt::format("{:.8g}", report.value)},
         {"distance", fmt::format("{:.6g} m after {:.6g} s", report.distance, scene.duration)},
         {"runs", fmt::format("{}", report.runs)}});
  }
  if (failure.empty()) return 0;
  print_error(failure);
  return 1;
}

}  // namespace

void add_calibrate(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("calibrate", "Find the friction coefficient with which a body slides so far");
  auto options = std::make_shared<CalibrateOptions>();
  verb->add_option("scene", options->scene, "Scene file (.toml)")->required()->type_name("SCENE.toml");
  verb->add_option("--distance", options->search.distance, "Wanted sliding distance [m]")->required()->type_name("M");
  verb->add_option("--accuracy", options->search.accuracy, "Of the distance, relative, else 1e-4")->type_name("X");
  verb->add_option("--lowest", options->search.lowest, "Smallest coefficient to try")->type_name("C");
  verb->add_option("--highest", options->search.highest, "Largest coefficient to try")->type_name("C");
  verb->add_option("--dt", options->dt, "Time step [s], in place of the scene's")->type_name("S");
  verb->add_option("--duration", options->duration, "Simulated time [s], in place of the scene's")->type_name("S");
  verb->add_option("--integrator", options->integrator,
                   "In place of the scene's: pbd-friction, pbfd, pbfd-coulomb, ...")
      ->type_name("NAME");
  options->model.add_search_path(*verb);
  verb->add_flag("--json", options->json, "Print one JSON object (SI units) on stdout");
  verb->callback([options, &action] { action = [options] { return run_calibration(*options); }; });
  verb->footer(
      "Finds `drag` of pbd-friction and pbfd, `friction` of pbfd-coulomb. The distance is the horizontal displacement "
      "of\n"
      "the centre of mass at the end of the run.");
}

}  // namespace scree::cli
