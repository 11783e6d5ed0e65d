// The ground of a scene and how it answers: [[environment]] and [contact].
#pragma once

#include "scene/scene_files.h"
#include "scree/contact.h"
#include "scree/step.h"

namespace scree {

// All throw InputError: file:line, key, value, expected.
Environment read_environment(const TomlReader& scene, SceneFiles& files);
ContactWorld read_contact(const TomlReader& scene, SceneFiles& files, const Model& model, Environment environment);

}  // namespace scree
