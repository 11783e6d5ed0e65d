#include "options.h"

#include <fmt/format.h>

#include <charconv>

#include "base/atomic_file.h"
#include "base/files.h"
#include "base/text.h"
#include "scene/base_type.h"
#include "scree/error.h"
#include "terminal.h"

namespace scree::cli {
namespace {

namespace fs = std::filesystem;

// Also under another name: a hard link has the same device and inode.
bool same_file(const fs::path& a, const fs::path& b) {
  std::error_code error;
  return fs::equivalent(a, b, error) || fs::weakly_canonical(fs::absolute(a)) == fs::weakly_canonical(fs::absolute(b));
}

}  // namespace

void add_output(CLI::App& verb, const std::string& flag, std::string& file, const std::string& help,
                const std::string& example) {
  verb.add_option(flag, file, help)->type_name(example);
}

CLI::Validator whole_number(std::int64_t low) {
  const auto check = [low](const std::string& word) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    const bool octal = word.size() > 1 && word[word[0] == '-' ? 1 : 0] == '0';
    if (error == std::errc() && end == word.data() + word.size() && !octal && value >= low) return std::string();
    return fmt::format("{}, expected a whole number{}", one_line(word, 60), low == 0 ? " >= 0" : "");
  };
  return CLI::Validator(check, "");
}

CLI::Validator number_in(double low, double high) {
  const auto check = [low, high](const std::string& word) {
    const std::optional<double> value = parse_number(word);
    return value && *value >= low && *value <= high
               ? std::string()
               : fmt::format("{}, expected a number in [{:g}, {:g}]", one_line(word, 60), low, high);
  };
  return CLI::Validator(check, "");
}

bool write_output(const std::string& file, const std::function<void()>& write) {
  if (file.empty()) return true;
  try {
    write();
    return true;
  } catch (const std::exception& error) {
    print_error(error.what());
    return false;
  }
}

CLI::Option* add_ghost(CLI::App& verb, std::string& file) {
  add_output(verb, "--ghost", file, "Another run, shown translucent and dashed in the replay", "OTHER.h5");
  return verb.get_option("--ghost");
}

std::optional<LoadedRun> read_ghost(const std::string& file) {
  if (file.empty()) return {};
  return read_run(file);
}

void write_replay(const fs::path& file, const Model& model, const Run& run, const std::optional<LoadedRun>& ghost) {
  if (ghost)
    scree::write_replay(file, model, run, {ghost->model, ghost->run});
  else
    scree::write_replay(file, model, run);
}

bool is_scene_file(const fs::path& file) { return lower_extension(file) == ".toml"; }

void ModelFlags::add_search_path(CLI::App& verb) {
  verb.add_option("--search-path", search_path, "Folder to look in for package:// and relative meshes (repeatable)")
      ->type_name("DIR")
      ->check(CLI::Validator(CLI::ExistingDirectory).description(""))
      ->expected(1)
      ->take_all();
}

void ModelFlags::add_base(CLI::App& verb) {
  verb.add_option("--base", base, "How the world carries the root link: fixed, planar or floating")->type_name("TYPE");
}

void ModelFlags::add_strict(CLI::App& verb) {
  verb.add_flag("--strict", strict, "Reject a model in which something would have to be repaired");
}

UrdfOptions ModelFlags::urdf_options() const {
  UrdfOptions options;
  options.search_path = paths();
  options.strict = strict;
  try {
    if (!base.empty()) options.base = base_type_from_name(base);
  } catch (const InputError& error) {
    throw InputError(fmt::format("--base: {}", error.what()));
  }
  return options;
}

void check_outputs(const std::vector<fs::path>& outputs, const std::vector<fs::path>& inputs) {
  std::vector<fs::path> taken = inputs;
  for (const fs::path& output : outputs) {
    if (output.empty()) continue;
    check_writable(output);
    const fs::path target = output_target(output);
    for (const fs::path& other : taken)
      if (!other.empty() && same_file(target, other))
        throw InputError(fmt::format("{}: would overwrite {}, expected another name", output.string(),
                                     &other - taken.data() < std::ssize(inputs)
                                         ? fmt::format("an input, {}", other.string())
                                         : std::string("another output")));
    taken.push_back(target);
  }
}

}  // namespace scree::cli
