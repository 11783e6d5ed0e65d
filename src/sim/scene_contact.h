// The ground of a scene and how it answers: [[environment]] and [contact].
#pragma once

#include "scree/contact.h"
#include "scree/step.h"
#include "sim/scene_files.h"

namespace scree {

// All throw InputError: file:line, key, value, expected.
Environment read_environment(const TomlReader& scene, SceneFiles& files);
ContactWorld read_contact(const TomlReader& scene, SceneFiles& files, const Model& model, Environment environment);

}  // namespace scree
