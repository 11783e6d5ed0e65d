#include <memory>

#include "options.h"
#include "study.h"
#include "verbs.h"

namespace scree::cli {

void add_study(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("study", "Compute the figures of a paper next to ours");
  auto options = std::make_shared<StudyOptions>();
  verb->add_option("name", options->name, "A study, or \"list\" for their names")->required()->type_name("NAME");
  verb->add_flag("--quick", options->quick, "Fewer step sizes and shorter runs");
  verb->add_option(
          "--data", options->data,
          "Folder that holds models and motions (else: the current folder, then share/scree beside the program)")
      ->type_name("DIR");
  verb->add_option("--jobs", options->jobs, "Threads over independent runs, 0: as many as this machine has")
      ->check(whole_number())
      ->check(CLI::Range(0, 1024))
      ->type_name("N");
  add_output(*verb, "--html", options->html, "Write a page with figures that opens offline in a browser", "STUDY.html");
  verb->add_flag("--json", options->json, "Print one JSON object on stdout");
  verb->callback([options, &action] { action = [options] { return run_study(*options); }; });
  verb->footer("Exits with 0 when the study ran, whatever its verdicts.");
}

}  // namespace scree::cli
