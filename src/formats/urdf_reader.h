// From the elements of one URDF document to a Model.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "formats/link_size.h"
#include "formats/urdf_parts.h"
#include "formats/weightless.h"

namespace scree {

inline constexpr const char* kWorldName = "world";

class UrdfReader {
 public:
  UrdfReader(const Element& robot, const ImportLedger& ledger, const std::filesystem::path& file,
             const UrdfOptions& options)
      : robot_(robot), ledger_(ledger), file_(file), options_(options), meshes_(file, options) {}

  // Nullopt if the ledger holds a rejection afterwards.
  std::optional<Model> read();
  const std::vector<std::filesystem::path>& mesh_files() const { return meshes_.files(); }
  // What the verdicts come to, a line each.
  const std::vector<std::string>& consequences() const { return consequences_; }

 private:
  struct Link {
    Element element;
    Body body;
    InertialGap gap;
    std::vector<size_t> children;
    int joint = -1;                // the joint that carries it; -1 for a root
    bool has_parts = false;        // children, shapes or contact points
    std::optional<Extent> extent;  // of its collision shapes, else of those to view
  };
  struct LinkJoint {
    Element element;
    Joint joint;
    std::optional<Element> parent, child;
    std::string parent_name, child_name;  // empty if rejected
  };
  template <class T> struct Placed {
    std::string link;
    T item;
  };
  struct Carrier {
    std::string parent;  // a link, or the world
    Joint joint;
  };
  // A link of the tree, parents first.
  struct Branch {
    size_t link;
    int parent;  // among the branches; -1: the world
    const Joint* joint;
  };
  struct StandIn {  // for a mesh that could not be read
    size_t shape;
    Element mesh;
    std::string problem;
  };

  void read_elements();
  void read_link(const Element& element);
  void read_link_joint(const Element& element);
  void read_contact_points(const Element& link, const std::string& name);
  void read_shapes(const Element& element, Link& link);
  bool reject_xacro();
  void settle_followers();                 // joints that follow what they cannot
  bool connect();                          // joints to links; false if that makes no sense
  std::vector<size_t> find_roots() const;  // the links without a parent; rejects a file without any
  void read_base();                        // how the world carries the root link
  void carry_roots(const std::vector<size_t>& roots);
  bool release_from_world(size_t world, const std::vector<size_t>& others);
  void check_base(const Link& root);
  std::pair<double, size_t> weight_of(size_t link) const;  // mass [kg] and number of all that hangs on it
  size_t heaviest(const std::vector<size_t>& links) const;
  Carrier fixed_to(const std::string& parent, const Link& root) const;
  bool joint_exists(const std::string& name) const { return joint_names_.contains(name); }
  void plant_tree(const std::vector<size_t>& roots);
  double size_of_model() const;  // [m], from link to link and across shapes; 0 if it is a point
  void complete_inertias(double size);
  void add_missing_mass(double size);
  void give_mass(size_t index, const std::vector<LinkWeight>& weights, double share, double size, double total);
  double radius_of(const Branch& branch, double size) const;
  std::vector<LinkWeight> weigh() const;
  void place_stand_ins(double size);
  void find_consequences(const Model& model);
  std::optional<Model> build();
  void place_error(const std::string& message) const;
  std::string suggest_link(const std::string& name);
  std::string suggest_joint(const std::string& name);

  Element robot_;
  const ImportLedger& ledger_;
  const std::filesystem::path& file_;
  const UrdfOptions& options_;
  MeshSources meshes_;
  Materials materials_;
  std::optional<Element> scree_;
  std::string name_;
  Joint base_;
  int suggestions_left_ = 20;
  std::vector<Link> links_;
  std::vector<LinkJoint> joints_;
  std::map<std::string, size_t> link_of_;
  std::set<std::string> joint_names_;
  std::vector<Placed<Shape>> shapes_;
  std::vector<Placed<ContactPoint>> points_;
  std::vector<StandIn> stand_ins_;
  std::vector<std::string> lost_collisions_, lost_views_;  // links
  std::map<size_t, Carrier> carriers_;                     // of the roots
  std::vector<Branch> tree_;
  std::vector<int> nearest_heavy_;  // per branch: the nearest one above with a mass in the file; -1: none
  double added_mass_ = 0;           // [kg]
  std::vector<std::string> added_to_;
  std::vector<std::string> consequences_;
  // How ModelBuilder's messages begin, and the element they are about.
  std::vector<std::pair<std::string, Element>> subjects_;
};

}  // namespace scree
