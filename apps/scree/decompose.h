// Convex decomposition of collision meshes, by a Python package in a process of its own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "scree/model.h"

namespace scree::cli {

struct DecomposeOptions {
  double threshold = 0.05;         // in [0.01, 1], CoACD's concavity at which a part is convex enough
  std::string python = "python3";  // the interpreter that has CoACD
};

// A collision mesh and what became of it. Volumes [m^3]; of a mesh that is not closed they mean little.
struct Decomposed {
  std::string shape, link;
  size_t parts = 1;         // 1: it is convex enough, and left alone
  double mesh_volume = 0;   // inside its triangles
  double hull_volume = 0;   // of its convex hull, which it stood for
  double parts_volume = 0;  // of all parts together
};

struct Decomposition {
  Model model;  // with parts in place of concave meshes; their files are named beside `model_file`
  struct Part {
    std::filesystem::path file;
    std::string stl;  // content
  };
  std::vector<Part> parts;
  std::vector<Decomposed> meshes;
};
// Writes nothing. Throws InputError where CoACD is missing or fails.
Decomposition decompose_collision_meshes(const Model& model, const std::filesystem::path& model_file,
                                         const DecomposeOptions& options);

// All parts and the model, or none of them.
void save(const Decomposition& decomposition, const std::filesystem::path& model_file);

}  // namespace scree::cli
