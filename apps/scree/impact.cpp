#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "interrupt.h"
#include "options.h"
#include "scree/error.h"
#include "scree/impact_page.h"
#include "terminal.h"
#include "verbs.h"

namespace scree::cli {
namespace {

struct ImpactFlags {
  std::string scene, law, html, sampler, order;
  bool all = false, json = false, supplement = false;
  long samples = 0, max_steps = 0, max_nodes = 0;
  double step = 0, tolerance = 0;
  int threads = 0, directions = 0;
  std::uint64_t seed = 0;
  // Whether the user gave them.
  CLI::Option *samples_given = nullptr, *max_steps_given = nullptr, *step_given = nullptr, *tolerance_given = nullptr,
              *directions_given = nullptr, *seed_given = nullptr, *max_nodes_given = nullptr;
};

std::vector<int> read_order(const std::string& text, const ImpactScene& scene) {
  std::vector<int> order;
  std::vector<std::string> labels;
  for (const ImpactContact& c : scene.contacts) labels.push_back(c.label);
  for (size_t from = 0; from <= text.size();) {
    const size_t comma = std::min(text.find(',', from), text.size());
    const std::string label = text.substr(from, comma - from);
    const auto found = std::find(labels.begin(), labels.end(), label);
    if (found == labels.end())
      throw InputError(fmt::format("--order: no contact \"{}\", expected labels from {} to {}, as in A,B", label,
                                   labels.front(), labels.back()));
    order.push_back(static_cast<int>(found - labels.begin()));
    from = comma + 1;
  }
  return order;
}

ImpactOptions law_options(const ImpactFlags& flags, const ImpactScene& scene) {
  ImpactOptions options;
  options.law = flags.law.empty() ? scene.law : impact_law_from_name(flags.law);
  if (*flags.tolerance_given) options.tolerance = flags.tolerance;
  if (*flags.max_steps_given && !*flags.samples_given) options.max_steps = flags.max_steps;
  options.friction_directions = *flags.directions_given ? flags.directions : scene.sampling.friction_directions;
  options.supplement_bounds = flags.supplement;
  if (!flags.order.empty()) options.order = read_order(flags.order, scene);
  options.validate(scene.problem);
  return options;
}

constexpr long kMostIncrements = 1'000'000'000;  // of a sample

// The scene's step and max_steps belong to its sampler: another one has defaults of its own.
OutcomeOptions set_options(const ImpactFlags& flags, const ImpactScene& scene) {
  OutcomeOptions options = scene.sampling;
  if (!flags.sampler.empty()) {
    options.sampler = outcome_sampler_from_name(flags.sampler);
    if (options.sampler != scene.sampling.sampler) {
      options.step = OutcomeOptions().step;
      options.max_steps = OutcomeOptions().max_steps;
    }
  }
  options.samples = flags.samples;
  if (*flags.step_given) options.step = flags.step;
  if (*flags.max_steps_given) {
    if (flags.max_steps < 1 || flags.max_steps > kMostIncrements)
      throw InputError(
          fmt::format("--max-steps: {}, expected 1 to {} increments of a sample", flags.max_steps, kMostIncrements));
    options.max_steps = static_cast<int>(flags.max_steps);
  }
  if (*flags.directions_given) options.friction_directions = flags.directions;
  if (*flags.seed_given) options.seed = flags.seed;
  options.threads = flags.threads;
  options.validate(scene.problem);
  return options;
}

// A law may refuse a problem others accept (one restitution for all contacts): said, not fatal.
void add_every_law(ImpactReport& report, const ImpactOptions& options, const ImpactFlags& flags) {
  catch_interrupts();
  for (const ImpactLaw law : applicable_impact_laws(report.scene.problem)) {
    if (interrupted()) return;
    const std::string what =
        fmt::format("{} of {}", law == ImpactLaw::sequential ? "stages" : "nodes", impact_law_name(law));
    Progress progress(!flags.json);
    ImpactSearch search;
    if (*flags.max_nodes_given) search.max_nodes = flags.max_nodes;
    search.validate();
    search.progress = [&](long done, long most) {
      progress.count(static_cast<size_t>(done), static_cast<size_t>(most), what.c_str());
      return !interrupted();
    };
    try {
      add_all_outcomes(report, law, options, search);
    } catch (const InputError& error) {
      report.notes.push_back(fmt::format("{}: left out: {}", impact_law_name(law), error.what()));
    }
  }
}

int report_interrupt() {
  print_error("interrupted, nothing written");
  return 1;
}

int run_impact(const ImpactFlags& flags) {
  if ((flags.all ? 1 : 0) + (flags.law.empty() ? 0 : 1) + (*flags.samples_given ? 1 : 0) > 1)
    throw InputError("impact: more than one of --law, --all, --samples, expected one of them");
  for (const auto& [given, name] : {std::pair{!flags.sampler.empty(), "--sampler"},
                                    {bool(*flags.step_given), "--step"},
                                    {bool(*flags.seed_given), "--seed"}})
    if (given && !*flags.samples_given)
      throw InputError(fmt::format("{}: is for samples, expected --samples N too", name));
  if (*flags.max_nodes_given && !flags.all)
    throw InputError("--max-nodes: is for the search of all outcomes, expected --all too");
  ImpactReport report;
  report.scene = load_impact_scene(flags.scene);
  const ImpactOptions options = law_options(flags, report.scene);
  if (*flags.samples_given) report.set_options = set_options(flags, report.scene);
  check_outputs({flags.html}, {flags.scene});

  bool resolved = true;
  if (*flags.samples_given) {
    catch_interrupts();
    Progress progress(!flags.json);
    report.set = sample_outcomes(report.scene.problem, report.set_options, [&](long done, long total) {
      progress.count(static_cast<size_t>(done), static_cast<size_t>(total));
      return !interrupted();
    });
    if (report.set->interrupted) return report_interrupt();
    resolved = report.set->finished > 0;
  } else if (flags.all) {
    add_every_law(report, options, flags);
    resolved = every_outcome_resolved(report);
  } else {
    report.outcomes.push_back(resolve_impact(report.scene.problem, options));
    resolved = every_outcome_resolved(report);
  }

  if (interrupted()) return report_interrupt();
  if (flags.json)
    fmt::print("{}\n", impact_report_json(report));
  else
    fmt::print("{}", impact_report_text(report));
  if (!flags.html.empty()) {
    ImpactReport page = report;
    if (!flags.all) {  // the page lets the user choose among all laws
      ImpactReport every;
      every.scene = report.scene;
      add_every_law(every, options, flags);
      for (ImpactResult& r : every.outcomes)
        if (std::none_of(page.outcomes.begin(), page.outcomes.end(), [&](const ImpactResult& shown) {
              return shown.law == r.law && shown.status == r.status && (shown.v - r.v).norm() <= 1e-9 * shown.v.norm();
            }))
          page.outcomes.push_back(std::move(r));
      page.notes.insert(page.notes.end(), every.notes.begin(), every.notes.end());
    }
    if (interrupted()) return report_interrupt();
    write_impact_page(flags.html, page);
    if (!flags.json) print_message("wrote " + flags.html);
  }
  if (!resolved)
    print_error(*flags.samples_given ? "no sample finished" : "an impact was not resolved, see its status");
  return resolved ? 0 : 1;
}

}  // namespace

void add_impact(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("impact", "Resolve an impact of bodies that touch in several places");
  auto flags = std::make_shared<ImpactFlags>();
  std::vector<std::string> laws;
  for (const ImpactLaw law : impact_laws()) laws.emplace_back(impact_law_name(law));
  verb->add_option("scene", flags->scene, "Scene of bodies or matrices (.toml, docs/impact.md)")
      ->required()
      ->type_name("SCENE.toml");
  verb->add_option("--law", flags->law,
                   fmt::format("One outcome of a law: {} (else: the law of the scene)", fmt::join(laws, ", ")))
      ->type_name("NAME");
  verb->add_flag("--all", flags->all, "Every outcome of every law that applies");
  flags->samples_given =
      verb->add_option("--samples", flags->samples, "The set of plausible outcomes, from N trajectories")
          ->check(whole_number())
          ->type_name("N");
  verb->add_option("--sampler", flags->sampler,
                   "uniform (as the dissertation) or persistent (one contact at a time, searches extremes)")
      ->type_name("NAME");
  flags->step_given = verb->add_option("--step", flags->step, "Largest normal impulse of an increment [N s]; 0: chosen")
                          ->type_name("H");
  flags->max_steps_given = verb->add_option("--max-steps", flags->max_steps,
                                            "Steps of an iterated law, or increments of a sample (1 to 1e9), at most")
                               ->check(whole_number())
                               ->type_name("N");
  flags->max_nodes_given =
      verb->add_option("--max-nodes", flags->max_nodes,
                       "Of --all: faces and vertices the search for all solutions of anitescu-potra looks at (100000); "
                       "it keeps at most 256 MB of them")
          ->check(whole_number())
          ->type_name("N");
  flags->seed_given = verb->add_option("--seed", flags->seed, "Of the samples")->check(whole_number(0))->type_name("S");
  verb->add_option("--threads", flags->threads,
                   "For samples, 0: as many as this machine has; results do not depend on it")
      ->check(whole_number())
      ->check(CLI::Range(0, 1024))
      ->type_name("T");
  flags->directions_given =
      verb->add_option("--directions", flags->directions, "Edges of the friction cone in space, 3 to 64 (16)")
          ->check(whole_number())
          ->type_name("K");
  flags->tolerance_given = verb->add_option("--tolerance", flags->tolerance,
                                            "Of iterated laws, relative to the speed before: 1e-15 to 0.5 (1e-10)")
                               ->type_name("E");
  verb->add_option("--order", flags->order, "Of the sequential law: contacts in the order tried")->type_name("A,B,...");
  verb->add_flag("--supplement", flags->supplement, "Evaluate the bounds of the 2017 supplement, repaired, too");
  add_output(*verb, "--html", flags->html,
             "Write a page with picture, animation and velocity planes that opens offline in a browser", "IMPACT.html");
  verb->add_flag("--json", flags->json, "Print one JSON object on stdout");
  verb->callback([flags, &action] { action = [flags] { return run_impact(*flags); }; });
  verb->footer(
      "Velocities in m/s and rad/s, impulses in N s, energies in J.\n"
      "What --all could not search to its end is told: note, and \"incomplete\" of --json.\n"
      "Exits with 1 when a law ran out of steps, was not certified or failed, or no sample finished.");
}

}  // namespace scree::cli
