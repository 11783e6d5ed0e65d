// scree sim --batch: many trajectories of one scene.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "scree/scene.h"

namespace scree::cli {

struct BatchFlags {
  CLI::Option* batch = nullptr;
  std::string count;  // of --batch; may be empty
  std::optional<std::int64_t> seed;
  std::optional<int> threads, lanes, rows_every, chunk;
  bool resume = false;

  void add(CLI::App& verb);
  bool wanted() const { return batch->count() > 0; }
  void check(const std::string& html, const std::string& ghost, const std::string& out) const;  // throws InputError
};

int simulate_batch(const std::string& scene, SceneOverrides overrides, const BatchFlags& flags, const std::string& out,
                   bool json, bool quiet);

}  // namespace scree::cli
