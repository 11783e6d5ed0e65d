// The ground of a scene and how it answers: [[environment]] and [contact].
#pragma once

#include <filesystem>

#include "scree/contact.h"
#include "scree/step.h"
#include "sim/toml_reader.h"

namespace scree {

// Paths in the scene are relative to `folder`. All throw InputError: file:line, key, value, expected.
Environment read_environment(const TomlReader& scene, const std::filesystem::path& folder);
ContactWorld read_contact(const TomlReader& scene, const std::filesystem::path& folder, const Model& model,
                          Environment environment);

}  // namespace scree
