// Options that several verbs share.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "scree/run.h"
#include "scree/urdf.h"

namespace scree::cli {

// The name of a file to write.
void add_output(CLI::App& verb, const std::string& flag, std::string& file, const std::string& help,
                const std::string& example);

// A whole number in decimal digits. CLI11 alone reads 010 as 8 and turns what is too large into the largest.
CLI::Validator whole_number(std::int64_t low = std::numeric_limits<std::int64_t>::min());
// A number in [low, high]; CLI::Range lets nan through.
CLI::Validator number_in(double low, double high);
// Writes a file after something was computed: one that fails is told and nothing is lost but it. Empty: none is wanted.
// Returns whether all is well.
bool write_output(const std::string& file, const std::function<void()>& write);

// --ghost: a run file to show in the replay of another run. Empty: none.
CLI::Option* add_ghost(CLI::App& verb, std::string& file);
std::optional<LoadedRun> read_ghost(const std::string& file);
void write_replay(const std::filesystem::path& file, const Model& model, const Run& run,
                  const std::optional<LoadedRun>& ghost);

bool is_scene_file(const std::filesystem::path& file);  // .toml; everything else is a model

struct ModelFlags {
  std::vector<std::string> search_path;
  std::string base;  // empty: as the file says
  bool strict = false;

  void add_search_path(CLI::App& verb);
  void add_base(CLI::App& verb);
  void add_strict(CLI::App& verb);
  std::vector<std::filesystem::path> paths() const { return {search_path.begin(), search_path.end()}; }
  UrdfOptions urdf_options() const;
};

// Throws InputError, before any work is done, if an output cannot be written or would replace an input or another
// output. An empty name is a file that is not wanted.
void check_outputs(const std::vector<std::filesystem::path>& outputs, const std::vector<std::filesystem::path>& inputs);

}  // namespace scree::cli
