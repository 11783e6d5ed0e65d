// The pieces of a URDF file, each read from its element. Mistakes go to the ledger; what is returned then is a default.
// What is wrong or missing and has an obvious meaning is repaired, and the ledger says so.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "formats/mesh_sources.h"
#include "formats/xml_element.h"
#include "scree/model.h"

namespace scree {

// The child <origin xyz rpy/>, identity if there is none.
Pose read_origin(const Element& parent);
// A direction, normalised; nullopt if absent or rejected.
std::optional<Vec3> read_direction(const Element& element, const char* attribute, std::string_view what);

// What an <inertial> leaves open, to be found once the whole file is known.
struct InertialGap {
  enum class Lacks { nothing, inertia, mass };  // mass without a usable inertia; inertia without mass
  Lacks lacks = Lacks::nothing;
  std::optional<Element> element;  // to report on
  std::string problem;
};
// Mass, centre of mass and inertia from the child <inertial>, if any.
InertialGap read_inertial(const Element& link, Body& body);
// Everything of a <joint> except <parent> and <child>.
Joint read_joint(const Element& element);

// Colours by material name: global ones first, then those defined where they are used.
class Materials {
 public:
  void define(const Element& material);
  // The colour of a <visual>.
  std::array<double, 4> colour_of(const Element& visual);

 private:
  struct Colour {
    bool known = false;  // a material may have a texture only
    std::array<double, 4> rgba = Shape{}.rgba;
  };
  Colour read_colour(const Element& material) const;
  std::map<std::string, Colour> by_name_;
};

// A <visual> or <collision>.
struct ShapeReading {
  std::optional<Shape> shape;  // nullopt: rejected, or there is none
  // View: the mesh that could not be read, and why; a box of unit size stands in for it until the caller knows better.
  std::optional<Element> unread_mesh;
  std::string problem;
  bool lost = false;  // a shape was meant but there is none
};
ShapeReading read_shape(const Element& element, ShapeRole role, Materials& materials, MeshSources& meshes);

}  // namespace scree
