// The ground of a scene and how it answers: [[environment]] and [contact].
#pragma once

#include "scene/scene_files.h"
#include "scree/step.h"
#include "scree/world.h"

namespace scree {

// All throw InputError: file:line, key, value, expected.
void read_environment(const TomlReader& scene, SceneFiles& files, World& world);
// After the environment: the points of the model that may touch it are added.
void read_contact(const TomlReader& scene, SceneFiles& files, const Model& model, World& world);

}  // namespace scree
