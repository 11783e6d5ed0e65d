// Scenes from text, of a file or made for a model.
#pragma once

#include "scree/scene.h"

namespace scree {

// A model that was read already, in place of the one that the text names.
struct GivenModel {
  Model model;
  ImportReport report;
};

// `name` is what errors call the scene, `title` what it is called if it does not say. Scene::file is left empty.
Scene read_scene(std::string text, const std::filesystem::path& folder, const std::string& name,
                 const std::string& title, const SceneOverrides& overrides, std::optional<GivenModel> given = {});

}  // namespace scree
