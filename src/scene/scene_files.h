// The files that a scene names, relative to its own folder; each is entered in a list as it is found.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <vector>

#include "scene/toml_reader.h"

namespace scree {

class SceneFiles {
 public:
  explicit SceneFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

  const std::filesystem::path& folder() const { return folder_; }
  const std::vector<std::filesystem::path>& found() const { return found_; }
  void add(const std::vector<std::filesystem::path>& files) { found_.insert(found_.end(), files.begin(), files.end()); }

  // The file that a key names. Throws InputError if the key is missing or there is no such file.
  std::filesystem::path find(const TomlReader& table, const std::string& key) {
    table.require(key);
    const std::string name = *table.string(key);
    const std::filesystem::path file = folder_ / name;
    std::error_code error;
    if (name.empty() || !std::filesystem::exists(file, error))
      table.fail(key, fmt::format("no such file \"{}\"", file.string()));
    found_.push_back(file);
    return file;
  }

 private:
  std::filesystem::path folder_;
  std::vector<std::filesystem::path> found_;
};

}  // namespace scree
