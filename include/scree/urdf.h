// URDF in and out, with a report that accounts for every element and attribute. docs/urdf.md lists the extensions.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scree/model.h"

namespace scree {

enum class ImportVerdict { mapped, repaired, ignored, rejected };
const char* import_verdict_name(ImportVerdict verdict);

struct ImportEntry {
  std::string place;  // e.g. robot/link[torso]/inertial/mass@value
  int line = 0;       // 1-based in the file; 0 where no line applies
  ImportVerdict verdict = ImportVerdict::mapped;
  // mapped: what it became; repaired: what was there, what it became, what that means; ignored, rejected: why
  std::string note;
};

struct ImportReport {
  std::string file;
  std::vector<ImportEntry> entries;               // in file order, every element and every attribute once
  std::vector<std::filesystem::path> files = {};  // that were read: the model, its meshes
  // What the verdicts come to, a line each: links that cannot touch anything, joints that cannot move, mass that was
  // added.
  std::vector<std::string> consequences = {};
  int count(ImportVerdict verdict) const;
  std::string first_rejection() const;  // "file:line: place: why" on one line, empty if nothing was rejected
};

enum class BaseType { as_file, fixed, planar, floating };  // how the root link is carried by the world

struct UrdfOptions {
  std::vector<std::filesystem::path> search_path;  // for meshes, before the folders around the model
  BaseType base = BaseType::as_file;               // as_file: <scree base="..."/> in the file, else default_base
  BaseType default_base = BaseType::fixed;         // of a root link that is not the world
  // What has an obvious meaning though it is wrong or missing is repaired, and the report says so. Strict: it is
  // rejected.
  bool strict = false;
  // Where meshes come from, instead of the file system (a run file carries its own meshes). Throws InputError.
  std::function<std::shared_ptr<const TriangleMesh>(const std::string& uri)> mesh_loader;
};

// Reads a model; throws InputError with the first rejected entry: "file:line: place: why".
Model load_urdf(const std::filesystem::path& file, const UrdfOptions& options = {}, ImportReport* report = nullptr);
// The same from memory; `file` names the source in messages and anchors relative mesh paths.
Model parse_urdf(std::string_view text, const std::filesystem::path& file, const UrdfOptions& options = {},
                 ImportReport* report = nullptr);
// Never throws for what is in the file: collects every rejection. The model is absent if any entry was rejected.
std::optional<Model> check_urdf(const std::filesystem::path& file, const UrdfOptions& options, ImportReport& report);

std::string format_urdf(const Model& model);                            // the text of a URDF with <scree> extensions
void save_urdf(const Model& model, const std::filesystem::path& file);  // temporary file, then rename

}  // namespace scree
