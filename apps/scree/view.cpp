#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "options.h"
#include "scree/run.h"
#include "terminal.h"
#include "verbs.h"

namespace scree::cli {
namespace {

struct ViewOptions {
  std::string run, ghost, html;
  bool json = false;
};

int view(const ViewOptions& options) {
  check_outputs({options.html}, {options.run, options.ghost});
  const LoadedRun loaded = read_run(options.run);
  const std::optional<LoadedRun> ghost = read_ghost(options.ghost);
  write_replay(options.html, loaded.model, loaded.run, ghost);
  if (options.json) {
    nlohmann::ordered_json json;
    json["run"] = options.run;
    json["html"] = options.html;
    json["title"] = loaded.run.title;
    json["status"] = run_status_name(loaded.run.status);
    json["rows"] = loaded.run.rows();
    if (ghost) json["ghost"] = options.ghost;
    print_json(json);
  } else {
    print_message("wrote " + options.html);
  }
  return 0;
}

}  // namespace

void add_view(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("view", "Make an HTML replay from a run file");
  auto options = std::make_shared<ViewOptions>();
  verb->add_option("run", options->run, "Run file (.h5)")->required()->type_name("RUN.h5");
  add_output(*verb, "--html", options->html, "Write a replay that opens offline in a browser", "REPLAY.html");
  verb->get_option("--html")->required();
  add_ghost(*verb, options->ghost);
  verb->add_flag("--json", options->json, "Print one JSON object on stdout");
  verb->callback([options, &action] { action = [options] { return view(*options); }; });
}

}  // namespace scree::cli
