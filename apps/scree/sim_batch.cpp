#include "sim_batch.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "import_report.h"
#include "interrupt.h"
#include "options.h"
#include "scree/batch_file.h"
#include "scree/error.h"
#include "terminal.h"

namespace scree::cli {
namespace {

using Json = nlohmann::ordered_json;

size_t parse_count(const std::string& word) {
  if (word.empty()) return 0;  // as the scene says
  size_t count = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), count);
  if (error != std::errc() || end != word.data() + word.size() || count == 0)
    throw InputError(fmt::format("--batch: {}, expected an integer in [1, 1e8]", word));
  return count;
}

// Steps between rows that are `output` [s] apart.
int steps_per_row(double output, double dt) {
  const double steps = output / dt;
  if (!(steps >= 0.5 && steps < 1e9) || std::abs(steps - std::round(steps)) > 1e-9 * steps)
    throw InputError(fmt::format("--output: {} s, expected a multiple of dt, {} s", output, dt));
  return static_cast<int>(std::round(steps));
}

void print_summary(const Scene& scene, const BatchSummary& summary, const std::string& out) {
  Json json;
  json["title"] = scene.title;
  json["scene"] = scene.file.string();
  json["model"] = scene.model.name();
  json["status"] = summary.finished ? "complete" : "interrupted";
  json["integrator"] = integrator_name(scene.options.integrator);
  json["dt"] = scene.options.dt;
  json["duration"] = scene.duration;
  json["dofs"] = scene.model.nv();
  json["trajectories"] = summary.trajectories;
  json["seed"] = summary.seed;
  json["lanes"] = summary.lanes;
  json["threads"] = summary.threads;
  json["chunk"] = summary.chunk;
  json["chunks"] = summary.chunks;
  json["chunks_resumed"] = summary.resumed;
  json["chunks_damaged"] = summary.damaged;
  if (summary.finished) {
    json["complete"] = summary.complete;
    json["step_failed"] = summary.step_failed;
    json["invalid"] = summary.invalid;
    json["failures"] = Json::array();
    for (const BatchFailure& failure : summary.failures)
      json["failures"].push_back({{"trajectory", failure.index},
                                  {"status", trajectory_status_name(failure.status)},
                                  {"failure", failure.what}});
    json["steps"] = summary.steps;
    json["substeps"] = summary.substeps;
    json["rejected"] = summary.rejected;
    json["iterations"] = summary.iterations;
    json["penetration"] = summary.penetration;
  }
  json["wall_time"] = summary.wall_time;
  json["simulated"] = summary.simulated;
  json["speed"] = summary.wall_time > 0 ? summary.simulated / summary.wall_time : 0;
  json["out"] = out;
  print_json(json);
}

void print_table(const Scene& scene, const BatchSummary& summary) {
  std::vector<std::pair<std::string, std::string>> pairs = {
      {"title", scene.title},
      {"model", fmt::format("{}, {} dofs, {:.6g} kg", scene.model.name(), scene.model.nv(), scene.model.total_mass())},
      {"batch",
       fmt::format("{} trajectories of {:.6g} s, seed {}", summary.trajectories, scene.duration, summary.seed)},
      {"complete", fmt::format("{}", summary.complete)}};
  for (const auto& [status, count] : {std::pair{TrajectoryStatus::step_failed, summary.step_failed},
                                      std::pair{TrajectoryStatus::invalid, summary.invalid}}) {
    if (count == 0) continue;
    pairs.emplace_back(trajectory_status_name(status), fmt::format("{}", count));
    for (const BatchFailure& failure : summary.failures)
      if (failure.status == status)
        pairs.emplace_back("", fmt::format("trajectory {}: {}", failure.index, failure.what));
  }
  const double steps = static_cast<double>(std::max<std::int64_t>(summary.steps, 1));
  pairs.emplace_back("steps", fmt::format("{} of {:.6g} s ({}), {} tries rejected", summary.steps, scene.options.dt,
                                          integrator_name(scene.options.integrator), summary.rejected));
  pairs.emplace_back("iterations", fmt::format("{}, {:.2f} per step", summary.iterations,
                                               static_cast<double>(summary.iterations) / steps));
  pairs.emplace_back("penetration", fmt::format("deepest {:.3g} m", summary.penetration));
  if (summary.resumed > 0)
    pairs.emplace_back("resumed", fmt::format("{} of {} chunks", summary.resumed, summary.chunks));
  pairs.emplace_back("speed", fmt::format("{:.3g} x real time ({:.3g} s in {} lanes, {} threads)",
                                          summary.wall_time > 0 ? summary.simulated / summary.wall_time : 0.0,
                                          summary.wall_time, summary.lanes, summary.threads));
  print_pairs(pairs);
}

}  // namespace

void BatchFlags::add(CLI::App& verb) {
  const char* const group = "Batch";
  batch =
      verb.add_option("--batch", count,
                      "Run N trajectories that differ as the scene's [batch] says, in SIMD lanes and threads; without "
                      "N as many as it says. Integrators pbfd, pbfd-coulomb, pbfd2, pbfd-coulomb2; pbfd-coulomb if "
                      "neither the scene nor --integrator names one")
          ->expected(0, 1)
          ->type_name("N")
          ->group(group);
  const auto add = [&](CLI::Option* option, const char* type) {
    option->check(whole_number())->type_name(type)->group(group)->needs(batch);
  };
  // These two also belong to --branches.
  verb.add_option("--seed", seed, "Of the differences, in place of the scene's; of --branches: of the outcomes, 1")
      ->check(whole_number(0))
      ->type_name("S")
      ->group(group);
  verb.add_option("--threads", threads, "0: as many as this machine has")
      ->check(whole_number())
      ->type_name("T")
      ->group(group);
  add(verb.add_option("--lanes", lanes, "1, 4 (AVX2) or 8 (AVX-512); 0: as many as this processor has"), "L");
  add(verb.add_option("--rows-every", rows_every, "Steps between recorded rows; 0: the end alone"), "K");
  // These two also belong to single runs.
  verb.add_option(
          "--chunk", chunk,
          "What a killed run loses at most: of --batch trajectories of each lane, of --branches branches of each "
          "thread; 0: 256; of a single run rows; 0: what takes 10 s")
      ->type_name("C")
      ->needs("--out");
  verb.add_flag("--resume", resume, "Go on with the chunks that an interrupted or killed run left in OUT.chunks")
      ->needs("--out");
}

void BatchFlags::check(const std::string& html, const std::string& ghost, const std::string& out) const {
  if (chunk && *chunk < 0) throw InputError(fmt::format("--chunk: {}, expected an integer >= 0", *chunk));
  if (!wanted()) {
    if (seed) throw InputError("--seed requires --batch or --branches");
    if (threads) throw InputError("--threads requires --batch or --branches");
    return;
  }
  if (!html.empty()) throw InputError("--html: a replay shows one run, expected none with --batch");
  if (!ghost.empty()) throw InputError("--ghost: a replay shows one run, expected none with --batch");
  if (out.empty()) throw InputError("--out: missing, expected the name of the batch file with --batch");
}

int simulate_batch(const std::string& scene_file, SceneOverrides overrides, const BatchFlags& flags,
                   const std::string& out, bool json, bool quiet) {
  BatchRunOptions options;
  options.trajectories = parse_count(flags.count);
  if (flags.seed) options.seed = static_cast<std::uint64_t>(*flags.seed);
  const std::optional<double> output = std::exchange(overrides.output, {});
  if (output && flags.rows_every) throw InputError("--output: given together with --rows-every, expected one of them");
  overrides.default_integrator = IntegratorType::pbfd_coulomb;
  const Scene scene = load_scene(scene_file, overrides);
  if (!quiet) warn_of_repairs(scene.import_report);
  check_outputs({out}, scene.files);
  if (!quiet && !json)
    for (const std::string& warning : scene.warnings) print_warning(warning);
  options.rows_every = output ? steps_per_row(*output, scene.options.dt) : flags.rows_every.value_or(0);
  options.lanes = flags.lanes.value_or(0);
  options.threads = flags.threads.value_or(0);
  options.chunk = flags.chunk.value_or(0);
  options.resume = flags.resume;
  options.stop = interrupted;

  catch_interrupts();
  BatchSummary summary;
  {
    Progress progress(!quiet && !json);
    summary = run_batch(scene, options, out, [&](size_t done, size_t total) {
      progress.count(done, total);
      return true;
    });
  }
  if (json)
    print_summary(scene, summary, out);
  else if (!quiet && summary.finished)
    print_table(scene, summary);
  if (!summary.finished) {
    print_error(fmt::format("interrupted; finished chunks are in {}, --resume goes on", summary.folder.string()));
    return 1;
  }
  if (!quiet && !json) {
    if (summary.damaged > 0)
      print_message(fmt::format("{} chunks were damaged and have been run again", summary.damaged));
    print_message("wrote " + out);
  }
  if (summary.complete > 0) return 0;
  print_error(fmt::format("all {} trajectories failed: {}", summary.trajectories, summary.failures[0].what));
  return 1;
}

}  // namespace scree::cli
