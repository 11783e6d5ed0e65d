// scree sim --branches: the futures of one scene where impacts have more than one outcome.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "scree/scene.h"

namespace scree::cli {

struct FanFlags {
  CLI::Option* branches = nullptr;
  std::string count, sampler;

  void add(CLI::App& verb);
  bool wanted() const { return branches->count() > 0; }
};

// What else the user said.
struct FanRequest {
  std::string scene, out, html, ghost;
  SceneOverrides overrides;
  bool batch = false, json = false, quiet = false;
  std::optional<std::int64_t> seed;
  std::optional<int> threads;
  int chunk = 0;
  bool resume = false;
  const char* refused = nullptr;  // an option of single runs
};

int simulate_fan(const FanFlags& flags, FanRequest request);

}  // namespace scree::cli
