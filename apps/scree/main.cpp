// scree <verb>: data on stdout, messages on stderr, exit 0 done / 1 the computation failed / 2 wrong usage or input.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <system_error>

#include "base/names.h"
#include "run/build_info.h"
#include "scree/error.h"
#include "terminal.h"
#include "verbs.h"

namespace scree::cli {
namespace {

std::vector<std::string> verb_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands({})) names.push_back(verb->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// CLI11 says what it did not expect; say also what it would have.
std::string usage_error(const CLI::App& app, const std::vector<std::string>& arguments, const CLI::ParseError& error) {
  const std::vector<std::string> verbs = verb_names(app);
  const std::string first = arguments.empty() ? "" : arguments[0];
  if (first.empty()) return fmt::format("no verb given, expected {} (see scree --help)", fmt::join(verbs, ", "));
  const bool verb_known = std::find(verbs.begin(), verbs.end(), first) != verbs.end();
  if (!verb_known && first[0] != '-') return fmt::format("unknown verb \"{}\"{}", first, suggestion(first, verbs));
  const CLI::App& verb = verb_known ? *app.get_subcommand(first) : app;
  const std::vector<std::string> known = option_names(verb);
  for (const std::string& argument : arguments) {
    const std::string name = argument.substr(0, argument.find('='));
    if (name.starts_with("--") && name.size() > 2 && std::find(known.begin(), known.end(), name) == known.end())
      return fmt::format("unknown option {}{}", name, suggestion(name, known));
  }
  return fmt::format("{}{} (see scree {}--help)", verb_known ? first + ": " : "", error.what(),
                     verb_known ? first + " " : "");
}

// Nothing has an empty name. --batch may stand alone, which looks the same.
void refuse_empty_values(CLI::App& app) {
  const auto check = [](const std::string& value) {
    return value.empty() ? std::string("the value is empty, expected one") : std::string();
  };
  for (CLI::App* verb : app.get_subcommands({}))
    for (CLI::Option* option : verb->get_options())
      if (option->get_expected_min() > 0) option->check(CLI::Validator(check, ""));
}

int run(int argc, char** argv) {
  CLI::App app("Articulated rigid bodies: simulate, record, check and convert robot models.", "scree");
  app.set_version_flag("--version", fmt::format("scree {} ({})", version(), compiler()));
  app.set_help_flag("--help", "Print this help and exit");
  app.require_subcommand(1);
  app.footer(
      "Data goes to stdout, messages to stderr. SI units and radians.\n"
      "Exit codes: 0 done, 1 the computation failed, 2 wrong usage or input.");
  Action action;
  add_verbs(app, action);
  refuse_empty_values(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    print_error(usage_error(app, std::vector<std::string>(argv + 1, argv + argc), error));
    return 2;
  }
  return action();
}

// A stream that the caller closed: what is opened next would take its number, and what we print would go into that
// file. Opened the wrong way round instead, so that using it fails.
void keep_standard_streams() {
  for (int stream = 0; stream <= 2; ++stream)
    if (fcntl(stream, F_GETFD) < 0 && errno == EBADF && open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY) < 0)
      return;
}

// Whether all that was printed has left us. Data that nobody got is a failure, whatever was computed.
bool flush_stdout() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return true;
  print_error(fmt::format("stdout: cannot write: {}", errno != 0 ? std::strerror(errno) : "an earlier write failed"));
  return false;
}

int run_and_report(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const InputError& error) {
    print_error(error.what());
    return 2;
  } catch (const std::bad_alloc&) {
    print_error("out of memory");
  } catch (const std::system_error& error) {  // of a stream
    if (std::ferror(stdout) == 0) print_error(error.what());
  } catch (const std::exception& error) {
    print_error(error.what());
  }
  return 1;
}

}  // namespace
}  // namespace scree::cli

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of the write, which is told
  scree::cli::keep_standard_streams();
  const int code = scree::cli::run_and_report(argc, argv);
  return scree::cli::flush_stdout() ? code : 1;
}
