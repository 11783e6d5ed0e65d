// Options that several verbs share.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "scree/urdf.h"

namespace scree::cli {

// The name of a file to write; not empty.
void add_output(CLI::App& verb, const std::string& flag, std::string& file, const std::string& help,
                const std::string& example);

struct ModelFlags {
  std::vector<std::string> search_path;
  std::string base;  // empty: as the file says
  bool repair_inertia = false;

  void add_search_path(CLI::App& verb);
  void add_base(CLI::App& verb);
  void add_repair_inertia(CLI::App& verb);
  std::vector<std::filesystem::path> paths() const { return {search_path.begin(), search_path.end()}; }
  UrdfOptions urdf_options() const;
};

// Throws InputError, before any work is done, if an output (empty: not wanted) cannot be written or would replace an
// input or another output.
void check_outputs(const std::vector<std::filesystem::path>& outputs, const std::vector<std::filesystem::path>& inputs);

}  // namespace scree::cli
