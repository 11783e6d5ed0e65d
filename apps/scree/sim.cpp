#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/atomic_file.h"
#include "check_facts.h"
#include "import_report.h"
#include "integrators/traits.h"
#include "interrupt.h"
#include "options.h"
#include "run/chunk_folder.h"
#include "run/run_chunks.h"
#include "run/run_contacts.h"
#include "run/run_events.h"
#include "scree/error.h"
#include "scree/run.h"
#include "sim_batch.h"
#include "sim_fan.h"
#include "terminal.h"
#include "verbs.h"

namespace scree::cli {
namespace {

using Json = nlohmann::ordered_json;

struct SimOptions {
  std::string scene, integrator, out, html, ghost, from, scene_out;
  std::optional<double> dt, duration, accuracy, output, checkpoint, drop;
  ModelFlags model;
  BatchFlags batch;
  FanFlags fan;
  bool json = false, quiet = false, clamp = false;
};

// What both the table and the JSON object tell.
struct Summary {
  long long steps;
  long long subdivided, iterations;
  double iterations_per_step, speed, energy, energy_change;

  Summary(const Run& run, bool controlled)
      : steps(controlled ? run.totals.steps : static_cast<long long>(run.rows()) - 1),
        subdivided(std::count_if(run.substeps.begin(), run.substeps.end(), [](int n) { return n > 1; })),
        iterations(std::accumulate(run.iterations.begin(), run.iterations.end(), 0LL)),
        iterations_per_step(steps ? static_cast<double>(iterations) / static_cast<double>(steps) : 0),
        speed(run.wall_time > 0 ? run.time.back() / run.wall_time : 0),
        energy(run.kinetic_energy.back() + run.potential_energy.back()),
        energy_change(energy - run.kinetic_energy.front() - run.potential_energy.front()) {}
};

Eigen::VectorXd initial_position(const Run& run) {
  const auto row = run.q.row(0);
  return Eigen::VectorXd::Map(row.data(), std::ssize(row));
}

std::string failure_of(const Run& run) {
  for (const auto& [name, value] : run.settings)
    if (name == "failure") return value;
  return fmt::format("interrupted at {:.6g} s", run.time.back());
}

// Joints with a motor, in the order of the model: numbers for one dof, lists for more.
Json control_json(const Model& model, const Control& control) {
  const auto numbers = [](const Eigen::VectorXd& part) {
    return part.size() == 1 ? Json(part(0)) : Json(std::vector<double>(part.begin(), part.end()));
  };
  Json json = Json::object();
  for (const Joint& joint : model.joints()) {
    const int nq = position_count(joint.type), nv = velocity_count(joint.type);
    if (joint.mimic || nv == 0) continue;
    const Eigen::VectorXd kp = control.kp.segment(joint.v_index, nv), kd = control.kd.segment(joint.v_index, nv),
                          torque = control.torque.segment(joint.v_index, nv);
    if (kp.isZero(0) && kd.isZero(0) && torque.isZero(0)) continue;
    json[joint.name] = {{"kp", numbers(kp)},
                        {"kd", numbers(kd)},
                        {"torque", numbers(torque)},
                        {"target", numbers(control.target.segment(joint.q_index, nq))}};
  }
  return json;
}

Json event_json(const Event& event, const Run& run) {
  const auto vector = [](const Vec3& x) { return Json{x.x(), x.y(), x.z()}; };
  Json json;
  json["time"] = event.time;
  json["kind"] = event_kind_name(event.kind);
  if (event.kind == EventKind::impact || event.kind == EventKind::impact_without_collision) {
    json["law"] = impact_law_name(event.law);
    json["steps"] = event.steps;
    json["energy_before"] = event.energy_before;
    json["energy_after"] = event.energy_after;
    json["certified"] = event.certificate ? Json(event.certificate->holds) : Json();
    if (event.certificate) json["cap"] = event.certificate->cap;
  }
  if (event.bounces_end) json["bounces_end"] = *event.bounces_end;
  for (const EventContact& contact : event.contacts) {
    Json& entry = json["contacts"].emplace_back();
    entry["point"] = run.colliders[static_cast<size_t>(contact.a)].name;
    entry["solid"] = run.colliders[static_cast<size_t>(contact.b)].name;
    entry["position"] = vector(contact.position);
    entry["normal"] = vector(contact.normal);
    entry["impulse"] = vector(contact.impulse);
    entry["velocity_before"] = vector(contact.velocity_before);
    entry["velocity_after"] = vector(contact.velocity_after);
  }
  return json;
}

// "run.h5@12.5": file and time [s]; without a time the last state.
std::pair<std::string, std::optional<double>> parse_from(const std::string& word) {
  const size_t at = word.rfind('@');
  std::error_code error;
  if (at == std::string::npos || std::filesystem::exists(word, error)) return {word, {}};
  double time = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, problem] = std::from_chars(word.data() + at + 1, end, time);
  if (problem != std::errc() || stop != end || !std::isfinite(time))
    throw InputError(fmt::format("--from: {}, expected FILE or FILE@SECONDS", word));
  return {word.substr(0, at), time};
}

void print_summary(const Scene& scene, const Run& run, const SimOptions& options) {
  const bool controlled = scene.output > 0;
  const Summary summary(run, controlled);
  Json json;
  json["title"] = run.title;
  json["scene"] = scene.file.string();
  json["model"] = scene.model.name();
  json["status"] = run_status_name(run.status);
  json["failure"] = run.status == RunStatus::complete ? Json() : Json(failure_of(run));
  json["integrator"] = integrator_name(scene.options.integrator);
  json["dt"] = controlled ? Json() : Json(scene.options.dt);
  json["duration"] = scene.duration;
  json["dofs"] = scene.model.nv();
  json["total_mass"] = scene.model.total_mass();
  json["final_time"] = run.time.back();
  const auto last_row = [](const Table& table) {
    const auto row = table.row(table.rows() - 1);
    return std::vector<double>(row.begin(), row.end());
  };
  json["final_q"] = last_row(run.q);
  json["final_v"] = last_row(run.v);
  json["kinetic_energy"] = run.kinetic_energy.back();
  json["potential_energy"] = run.potential_energy.back();
  json["energy_change"] = summary.energy_change;
  json["steps"] = summary.steps;
  json["subdivided_steps"] = controlled ? Json() : Json(summary.subdivided);
  if (estimates_error(scene.options.integrator)) {
    json["accuracy"] = scene.options.accuracy;
    json["output"] = controlled ? Json(scene.output) : Json();
    json["rejected"] = run.totals.rejected;
    json["inaccurate"] = run.totals.inaccurate;
    json["stages"] = run.totals.stages;
    json["smallest_step"] = run.totals.smallest_step;
    json["largest_step"] = run.totals.largest_step;
  }
  json["iterations"] = summary.iterations;
  if (has_contact(run)) {
    const ContactSummary contact = summarise_contacts(run);
    json["contacts"] = contact.contacts;
    json["penetration"] = contact.penetration;
    json["median_outer"] = contact.median_outer;
  }
  if (scene.options.integrator == IntegratorType::event) {
    const EventSummary summary_of_events = summarise_events(run);
    json["impacts"] = summary_of_events.impacts;
    json["impacts_without_collision"] = summary_of_events.without_collision;
    json["energy_lost_by_impacts"] = summary_of_events.energy_lost;
    json["energy_gain"] = run.totals.energy_gain;
    json["rejected"] = run.totals.rejected;
    json["inaccurate"] = run.totals.inaccurate;
    json["events"] = Json::array();
    for (const Event& event : run.events) json["events"].push_back(event_json(event, run));
  }
  json["control"] = control_json(scene.model, scene.control);
  json["wall_time"] = run.wall_time;
  json["speed"] = summary.speed;
  json["final_state_hash"] = fmt::format("{:016x}", run.final_state_hash);
  json["outside_limits"] = limits_json(scene.model, outside_limits(scene.model, initial_position(run)));
  json["clamped"] = limits_json(scene.model, scene.clamped);
  json["warnings"] = scene.warnings;
  json["out"] = options.out.empty() ? Json() : Json(options.out);
  json["html"] = options.html.empty() ? Json() : Json(options.html);
  if (!options.ghost.empty()) json["ghost"] = options.ghost;
  if (!is_scene_file(options.scene)) json["scene_out"] = options.scene_out.empty() ? Json() : Json(options.scene_out);
  print_json(json);
}

// "50 of 0.02 s (rk4), 3 subdivided"
std::string describe_steps(const Scene& scene, const Run& run, const Summary& summary) {
  const char* integrator = integrator_name(scene.options.integrator);
  if (scene.output == 0)
    return fmt::format("{} of {:.6g} s ({}), {} subdivided", summary.steps, scene.options.dt, integrator,
                       summary.subdivided);
  return fmt::format("{} of {:.3g} to {:.3g} s ({}, accuracy {:.3g} m), {} tries rejected", summary.steps,
                     run.totals.smallest_step, run.totals.largest_step, integrator, scene.options.accuracy,
                     run.totals.rejected);
}

void print_table(const Scene& scene, const Run& run) {
  const Summary summary(run, scene.output > 0);
  std::vector<std::pair<std::string, std::string>> pairs = {
      {"title", run.title},
      {"model", fmt::format("{}, {} dofs, {:.6g} kg", scene.model.name(), scene.model.nv(), scene.model.total_mass())},
      {"start", describe_start(scene)},
      {"status", run_status_name(run.status)},
      {"final time", fmt::format("{:.6g} s", run.time.back())},
      {"energy", fmt::format("{:.6g} J, changed by {:.3g} J", summary.energy, summary.energy_change)},
      {"steps", describe_steps(scene, run, summary)},
      {"iterations", fmt::format("{}, {:.2f} per step", summary.iterations, summary.iterations_per_step)}};
  if (has_contact(run)) {
    const ContactSummary contact = summarise_contacts(run);
    pairs.emplace_back(
        "contact",
        fmt::format("{} at the end, deepest {:.3g} m, {:.4g} outer iterations per {} (median)", contact.contacts,
                    contact.penetration, contact.median_outer, scene.output > 0 ? "row" : "step"));
  }
  if (scene.options.integrator == IntegratorType::event) {
    const EventSummary events = summarise_events(run);
    pairs.emplace_back("events",
                       fmt::format("{} impacts ({}), {:.4g} J lost, {} without collision; {} rests, {} lift-offs",
                                   events.impacts, impact_law_name(scene.world.impact.law), events.energy_lost,
                                   events.without_collision, events.rests, events.lift_offs));
  }
  pairs.emplace_back("speed", fmt::format("{:.3g} x real time ({:.3g} s)", summary.speed, run.wall_time));
  pairs.emplace_back("state hash", fmt::format("{:016x}", run.final_state_hash));
  print_pairs(pairs);
}

// A model by itself is put onto a floor.
Scene read_scene(const SimOptions& options, const SceneOverrides& overrides) {
  if (is_scene_file(options.scene)) return load_scene(options.scene, overrides);
  RobotSceneOptions robot{.overrides = overrides, .base = options.model.urdf_options().base};
  if (!options.scene_out.empty()) robot.folder = std::filesystem::absolute(options.scene_out).parent_path();
  return robot_scene(options.scene, robot);
}

// What belongs to scenes alone, and to models alone.
void check_input(const SimOptions& options) {
  if (is_scene_file(options.scene)) {
    if (!options.model.base.empty()) throw InputError("--base: is for models, a scene says base = \"...\" itself");
    if (!options.scene_out.empty()) throw InputError("--scene-out: is for models, this is a scene already");
    return;
  }
  for (const auto& [wanted, flag] :
       {std::pair(options.batch.wanted(), "--batch"), {options.fan.wanted(), "--branches"}})
    if (wanted)
      throw InputError(
          fmt::format("{}: expected a scene (.toml) beside it, which --scene-out writes for a model", flag));
}

int simulate(const SimOptions& options) {
  check_input(options);
  SceneOverrides overrides;
  overrides.dt = options.dt;
  overrides.duration = options.duration;
  overrides.accuracy = options.accuracy;
  overrides.output = options.output;
  overrides.drop = options.drop;
  overrides.clamp = options.clamp;
  if (!options.integrator.empty()) overrides.integrator = integrator_from_name(options.integrator);
  overrides.search_path = options.model.paths();
  overrides.strict = options.model.strict;
  // What belongs to single runs alone.
  const char* const several = !options.from.empty() ? "--from" : options.checkpoint ? "--checkpoint" : nullptr;
  if (options.batch.wanted() && several)
    throw InputError(fmt::format("{}: belongs to a single run, expected none with --batch", several));
  if (options.fan.wanted())
    return simulate_fan(options.fan,
                        {options.scene, options.out, options.html, options.ghost, overrides, options.batch.wanted(),
                         options.json, options.quiet, options.batch.seed, options.batch.threads,
                         options.batch.chunk.value_or(0), options.batch.resume, several});
  options.batch.check(options.html, options.ghost, options.out);
  if (options.batch.wanted())
    return simulate_batch(options.scene, overrides, options.batch, options.out, options.json, options.quiet);
  const Scene scene = read_scene(options, overrides);
  if (!options.quiet) warn_of_repairs(scene.import_report);
  const auto [from_file, from_time] = parse_from(options.from);
  std::vector<std::filesystem::path> inputs = scene.files;
  inputs.insert(inputs.end(), {options.ghost, from_file});
  check_outputs({options.out, options.html, options.scene_out}, inputs);
  const std::optional<LoadedRun> ghost = read_ghost(options.ghost);
  RunOptions run_options;
  run_options.checkpoint = options.checkpoint.value_or(0);
  if (!from_file.empty()) run_options.from = load_saved_state(from_file, scene.model, from_time);
  run_options.chunk = options.batch.chunk.value_or(0);
  run_options.resume = options.batch.resume;
  run_options.validate(scene);
  // Of a state that the run goes on from the scene knows nothing.
  std::vector<std::string> warnings = scene.warnings;
  if (run_options.from) {
    const std::vector<LimitViolation> outside = outside_limits(scene.model, run_options.from->state.q);
    warnings.clear();
    if (!outside.empty())
      warnings.push_back("outside the limits at the start: " + describe_limits(scene.model, outside));
  }
  if (!options.quiet && !options.json)
    for (const std::string& warning : warnings) print_warning(warning);

  catch_interrupts();
  const std::filesystem::path target = options.out.empty() ? std::filesystem::path() : output_target(options.out);
  std::optional<Run> finished = finished_run(scene, run_options, target);
  std::optional<ChunkFolder> folder;
  if (!options.out.empty() && !finished) folder.emplace(target, "run", run_options.resume);
  Run run;
  if (finished) {
    run = std::move(*finished);
  } else {
    Progress progress(!options.quiet && !options.json);
    run = run_scene(scene, run_options, folder ? &*folder : nullptr, [&](double time, double duration) {
      progress.update(time, duration);
      return !interrupted();
    });
  }
  SimOptions written = options;  // names of files that are there
  const auto write_run_file = [&] { folder->guard([&] { write_run(target, scene.model, run); }); };
  if (folder && !write_output(options.out, write_run_file)) written.out.clear();
  if (folder && !written.out.empty() && run.status != RunStatus::interrupted) folder->remove();
  if (!write_output(options.html, [&] { write_replay(options.html, scene.model, run, ghost); })) written.html.clear();

  if (!write_output(options.scene_out, [&] { write_atomically(options.scene_out, scene.text); }))
    written.scene_out.clear();

  if (options.json)
    print_summary(scene, run, written);
  else if (!options.quiet)
    print_table(scene, run);
  if (!options.quiet && !options.json)
    for (const std::string& file : {written.out, written.html, written.scene_out})
      if (!file.empty()) print_message((finished ? "is done already: " : "wrote ") + file);
  const bool all_written =
      written.out == options.out && written.html == options.html && written.scene_out == options.scene_out;
  if (run.status == RunStatus::complete) return all_written ? 0 : 1;
  const std::string note = folder && run.status == RunStatus::interrupted ? folder->note() : "";
  print_error(failure_of(run) + (note.empty() ? "" : "; " + note));
  return 1;
}

std::string integrators_help() {
  std::string text = "In place of the scene's, one of:";
  for (const IntegratorTraits& row : all_integrators())
    if (row.for_users()) text += fmt::format("\n  {:14} {}", row.name, row.role);
  return text + "\n  of the papers: " + names_of_integrators([](const auto& row) { return !row.for_users(); });
}

}  // namespace

void add_sim(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("sim", "Run a scene, or a robot on a floor; write a run file or an HTML replay");
  auto options = std::make_shared<SimOptions>();
  verb->add_option("scene", options->scene,
                   "Scene (.toml), or a robot (.urdf), which is put on a floor and holds its pose")
      ->required()
      ->type_name("FILE");
  verb->add_option("--dt", options->dt, "Time step [s], in place of the scene's")->type_name("S");
  verb->add_option("--accuracy", options->accuracy,
                   "Largest local error [m], in place of the scene's; without --dt the step follows from it")
      ->type_name("M");
  verb->add_option("--output", options->output,
                   "Time between rows [s] where the step follows from the accuracy, and with --batch")
      ->type_name("S");
  verb->add_option("--duration", options->duration, "Simulated time [s], in place of the scene's")->type_name("S");
  verb->add_option("--integrator", options->integrator, integrators_help())->type_name("NAME");
  options->model.add_search_path(*verb);
  options->model.add_strict(*verb);
  options->model.add_base(*verb);
  verb->add_option("--drop", options->drop,
                   "Put the robot onto the ground and lift it by this [m]; a robot without a scene: 0")
      ->type_name("M")
      ->check(number_in(0, 1e6));
  verb->add_flag("--clamp", options->clamp, "Joints outside their limits start at the limit; always without a scene");
  add_output(*verb, "--scene-out", options->scene_out, "Write the scene that a robot alone is run in, to go on from",
             "SCENE.toml");
  add_output(*verb, "--out", options->out,
             "Write the recording as HDF5, a row per step or output time; with --batch or --branches all of them",
             "RUN.h5");
  add_output(*verb, "--html", options->html,
             "Write a replay, with --branches a page of all branches, that opens offline in a browser", "REPLAY.html");
  add_ghost(*verb, options->ghost)->needs("--html");
  verb->add_option(
          "--from", options->from,
          "Start from a state that a run file holds at a time [s], or its last one, or from a state file, and go "
          "on to the end of the scene; the same bits as the run that saved it")
      ->type_name("FILE[@S]");
  verb->add_option("--checkpoint", options->checkpoint,
                   "Simulated time [s] between states that --out keeps for --from; without it that of the end alone")
      ->type_name("S")
      ->needs("--out");
  options->batch.add(*verb);
  options->fan.add(*verb);
  verb->add_flag("--json", options->json, "Print one JSON object (SI units) on stdout");
  verb->add_flag("--quiet", options->quiet, "Print errors only");
  verb->callback([options, &action] { action = [options] { return simulate(*options); }; });
}

}  // namespace scree::cli
