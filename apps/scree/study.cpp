// The program beside scree that computes the studies: what `scree study` starts.
#include <fmt/format.h>

#include <algorithm>

#include "base/in_parallel.h"
#include "base/names.h"
#include "interrupt.h"
#include "options.h"
#include "scree/error.h"
#include "studies.h"
#include "study.h"
#include "terminal.h"
#include "verbs.h"

namespace scree::cli {
namespace {

namespace fs = std::filesystem;

const Study& find_study(const std::string& name) {
  std::vector<std::string> names;
  for (const Study& study : studies()) {
    if (study.name == name) return study;
    names.push_back(study.name);
  }
  names.push_back("list");
  throw InputError(fmt::format("study: unknown study \"{}\"{}", name, suggestion(name, names)));
}

fs::path find_data(const std::string& wanted) {
  const auto complete = [](const fs::path& folder) {
    return fs::is_directory(folder / "models") && fs::is_directory(folder / "motions");
  };
  if (!wanted.empty()) {
    if (!complete(wanted))
      throw InputError(fmt::format("--data: {}: expected a folder that holds models and motions", wanted));
    return wanted;
  }
  // Beside the program, wherever the installation was moved to.
  std::error_code error;
  const fs::path installed =
      (fs::read_symlink("/proc/self/exe", error).parent_path() / SCREE_DATA_FROM_BIN).lexically_normal();
  for (const fs::path& folder : {fs::path("."), installed})
    if (complete(folder)) return folder;
  throw InputError(
      fmt::format("study: no models and motions in the current folder or {}, expected them there or in --data DIR",
                  installed.string()));
}

// What a study may read.
std::vector<fs::path> data_files(const fs::path& data) {
  std::vector<fs::path> files;
  for (const char* const part : {"models", "motions", "examples"}) {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(data / part, error))
      if (entry.is_regular_file(error)) files.push_back(entry.path());
  }
  return files;
}

std::string text_of(const StudyRow& row) {
  return std::holds_alternative<double>(row.scree) ? fmt::format("{:.4g}", std::get<double>(row.scree))
                                                   : std::get<std::string>(row.scree);
}

void print_rows(const StudyResult& result) {
  std::vector<std::vector<std::string>> table = {{"quantity", "paper", "scree", "goal", "verdict"}};
  for (const StudyRow& row : result.rows)
    table.push_back({row.unit.empty() ? row.quantity : fmt::format("{} [{}]", row.quantity, row.unit), row.paper,
                     text_of(row), row.goal, study_verdict_name(row.verdict)});
  std::vector<size_t> widths(table[0].size(), 0);
  for (const auto& line : table)
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  fmt::print("{}\n\n", result.title);
  for (const auto& line : table) {
    std::string text;
    for (size_t i = 0; i < line.size(); ++i)
      text += i + 1 < line.size() ? fmt::format("{:<{}} | ", line[i], widths[i]) : line[i];
    fmt::print("{}\n", text);
  }
}

int list_studies() {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const Study& study : studies()) pairs.emplace_back(study.name, study.description);
  print_pairs(pairs);
  return 0;
}

}  // namespace

int run_study(const StudyOptions& options) {
  if (options.name == "list") return list_studies();
  const Study& study = find_study(options.name);
  StudyContext context;
  context.data = find_data(options.data);
  context.quick = options.quick;
  context.jobs = thread_count(options.jobs);
  check_outputs({options.html}, data_files(context.data));

  catch_interrupts();
  StudyResult result;
  try {
    Progress progress(!options.json);
    context.progress = [&](double done, double total) {
      progress.update(done, total);
      return !interrupted();
    };
    result = study.run(context);
  } catch (const StudyInterrupted&) {
    print_error("interrupted, nothing written");
    return 1;
  }
  if (!options.html.empty()) write_study_page(options.html, result);
  if (options.json)
    fmt::print("{}\n", study_json(result));
  else
    print_rows(result);
  if (!options.html.empty() && !options.json) print_message("wrote " + options.html);
  return 0;
}

void add_verbs(CLI::App& app, Action& action) { add_study(app, action); }

}  // namespace scree::cli
