// From the elements of one URDF document to a Model.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "formats/urdf_parts.h"

namespace scree {

class UrdfReader {
 public:
  UrdfReader(const Element& robot, const ImportLedger& ledger, const std::filesystem::path& file,
             const UrdfOptions& options)
      : robot_(robot), ledger_(ledger), options_(options), meshes_(file, options) {}

  // Nullopt if the ledger holds a rejection afterwards.
  std::optional<Model> read();
  const std::vector<std::filesystem::path>& mesh_files() const { return meshes_.files(); }

 private:
  struct Link {
    Element element;
    Body body;
    int joint = -1;          // the joint that carries it; -1 for the root
    bool has_parts = false;  // children, shapes or contact points
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

  void read_elements();
  void read_link(const Element& element);
  void read_link_joint(const Element& element);
  void read_contact_points(const Element& link, const std::string& name);
  bool connect();                           // joints to links; false if that makes no sense
  std::optional<size_t> find_root() const;  // the one link without a parent
  void read_base();                         // how the world carries the root link
  void check_base(const Link& root);
  std::optional<Model> build(const Link& root);
  void place_error(const std::string& message) const;
  std::string suggest_link(const std::string& name);

  Element robot_;
  const ImportLedger& ledger_;
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
  std::vector<Placed<Shape>> shapes_;
  std::vector<Placed<ContactPoint>> points_;
  // How ModelBuilder's messages begin, and the element they are about.
  std::vector<std::pair<std::string, Element>> subjects_;
};

}  // namespace scree
