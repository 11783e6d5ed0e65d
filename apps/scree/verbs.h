// The verbs of the command line. Each adds its subcommand and options; when the user chose it, `action` runs it.
// Exit codes: 0 done, 1 the computation failed, 2 wrong usage or input.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace scree::cli {

using Action = std::function<int()>;

// All verbs of the program: verbs.cpp for scree, study.cpp for scree-studies.
void add_verbs(CLI::App& app, Action& action);

void add_sim(CLI::App& app, Action& action);
void add_check(CLI::App& app, Action& action);
void add_view(CLI::App& app, Action& action);
void add_convert(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_study(CLI::App& app, Action& action);
void add_calibrate(CLI::App& app, Action& action);
void add_impact(CLI::App& app, Action& action);

}  // namespace scree::cli
