// Which links the world carries, and how: the root, several of them, or what hangs on a link called "world".
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "formats/urdf_reader.h"

namespace scree {

std::pair<double, size_t> UrdfReader::weight_of(size_t link) const {
  double mass = 0;
  size_t count = 0;
  std::vector<size_t> open = {link};
  while (!open.empty()) {
    const Link& at = links_[open.back()];
    open.pop_back();
    mass += at.body.mass;
    ++count;
    open.insert(open.end(), at.children.begin(), at.children.end());
  }
  return {mass, count};
}

// The first of equals.
size_t UrdfReader::heaviest(const std::vector<size_t>& links) const {
  return *std::ranges::max_element(links, {}, [&](size_t link) { return weight_of(link); });
}

UrdfReader::Carrier UrdfReader::fixed_to(const std::string& parent, const Link& root) const {
  Joint joint;
  joint.name = root.body.name + "_to_" + parent;
  while (joint_exists(joint.name) || joint.name == base_.name) joint.name += "_";
  return {parent, std::move(joint)};
}

void UrdfReader::check_base(const Link& root) {
  const Element& source = scree_ ? *scree_ : robot_;
  subjects_.emplace_back(fmt::format("joint {}: ", base_.name), source);
  if (!joint_exists(base_.name)) return;
  const bool disappears = root.body.mass == 0 && base_.type == JointType::fixed;  // with its link
  const std::string taken = base_.name;
  while (joint_exists(base_.name)) base_.name += "_";
  if (!disappears)
    source.repair(
        fmt::format("the base joint's name {} is taken, give another with <scree joint=\"...\"/>", in_quotes(taken)),
        fmt::format("it is called {}", in_quotes(base_.name)));
}

// The world itself cannot float: what is fixed to it does. Nothing that moves on the world already is changed. Returns
// whether one of the `others` took the base joint.
bool UrdfReader::release_from_world(size_t world, const std::vector<size_t>& others) {
  const std::string problem = fmt::format("a {} base was asked for, but the root link is \"world\", the world itself",
                                          joint_type_name(base_.type));
  std::vector<size_t> candidates = others;
  double total = 0;
  for (const Link& link : links_) total += link.body.mass;
  for (const size_t child : links_[world].children)
    if (joints_[static_cast<size_t>(links_[child].joint)].joint.type == JointType::fixed) candidates.push_back(child);
  std::erase_if(candidates, [&](size_t link) { return total > 0 && weight_of(link).first == 0; });
  if (candidates.empty()) {
    (scree_ ? *scree_ : robot_).repair(problem, "nothing with mass is fixed to it, so all stays as the file says");
    return false;
  }
  const size_t chosen = heaviest(candidates);
  if (links_[chosen].joint < 0) {
    links_[chosen].element.repair(
        problem, fmt::format("link {} is another root and takes the {} joint {}", in_quotes(links_[chosen].body.name),
                             joint_type_name(base_.type), in_quotes(base_.name)));
    check_base(links_[chosen]);
    carriers_[chosen] = {kWorldName, base_};
    return true;
  }
  LinkJoint& fixed = joints_[static_cast<size_t>(links_[chosen].joint)];
  fixed.element.repair(problem, fmt::format("this fixed joint becomes a {} one, and link {} moves with all it carries",
                                            joint_type_name(base_.type), in_quotes(fixed.child_name)));
  fixed.joint.type = base_.type;
  fixed.joint.axis = fixed.joint.X_PJ.R.transpose() * base_.axis;
  return false;
}

void UrdfReader::carry_roots(const std::vector<size_t>& roots) {
  std::vector<size_t> others = roots;
  const auto world = std::ranges::find_if(others, [&](size_t i) { return links_[i].body.name == kWorldName; });
  const bool has_world = world != others.end();
  const size_t world_link = has_world ? *world : 0;
  if (has_world) others.erase(world);
  if (has_world && options_.base == BaseType::as_file && !(scree_ && scree_->has("base")))
    base_.type = JointType::fixed;  // nobody asked: the default is for other roots
  const bool fixed = base_.type == JointType::fixed;
  size_t main = links_.size();  // the link that takes the base joint; none yet
  std::string onto = kWorldName;
  if (!has_world) {
    main = heaviest(others);
    check_base(links_[main]);
    carriers_[main] = {kWorldName, base_};
    if (!fixed) onto = links_[main].body.name;
  } else if (!fixed && release_from_world(world_link, others)) {
    main = carriers_.begin()->first;
    onto = links_[main].body.name;
  }
  std::string names;
  for (const size_t root : roots) names += (names.empty() ? "" : ", ") + in_quotes(links_[root].body.name);
  for (const size_t root : others) {
    if (root == main) continue;
    links_[root].element.repair(
        fmt::format("{} links have no parent, expected one root (or a link \"world\" that carries them): {}",
                    roots.size(), one_line(names, 300)),
        onto == kWorldName ? "fixed to the world, at its origin"
                           : fmt::format("fixed to link {}, which takes the {} base, where it would be drawn",
                                         in_quotes(onto), joint_type_name(base_.type)));
    carriers_[root] = fixed_to(onto, links_[root]);
  }
}

void UrdfReader::plant_tree(const std::vector<size_t>& roots) {
  struct Open {
    size_t link;
    int parent;
    const Joint* joint;
  };
  std::map<std::string, std::vector<size_t>> on_links;  // roots that are fixed to other roots
  std::vector<Open> open;
  for (const size_t root : roots) {
    const auto carrier = carriers_.find(root);
    if (carrier == carriers_.end()) {  // the world itself
      for (const size_t child : links_[root].children)
        open.push_back({child, -1, &joints_[static_cast<size_t>(links_[child].joint)].joint});
    } else if (carrier->second.parent == kWorldName) {
      open.push_back({root, -1, &carrier->second.joint});
    } else {
      on_links[carrier->second.parent].push_back(root);
    }
  }
  while (!open.empty()) {
    const Open at = open.back();
    open.pop_back();
    const int index = static_cast<int>(tree_.size());
    tree_.push_back({at.link, at.parent, at.joint});
    for (const size_t child : links_[at.link].children)
      open.push_back({child, index, &joints_[static_cast<size_t>(links_[child].joint)].joint});
    if (const auto more = on_links.find(links_[at.link].body.name); more != on_links.end())
      for (const size_t root : more->second) open.push_back({root, index, &carriers_.at(root).joint});
  }
}

}  // namespace scree
