// What a file leaves open and the rest of it allows to choose: inertias, tiny masses, stand-ins for meshes; and what
// all that comes to.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "formats/urdf_reader.h"

namespace scree {
namespace {

// Of the mass that a link without mass is compared with: at most kShare each, kShareOfAll all of them together.
constexpr double kShare = 1e-5, kShareOfAll = 1e-4;
constexpr double kLeastMass = 1e-12, kLeastInertia = 1e-24;  // as ModelBuilder wants them
constexpr double kLeastLength = 1e-9;

std::string name_some(const std::vector<std::string>& names) {
  constexpr size_t kMost = 5;
  std::string text;
  for (size_t k = 0; k < std::min(names.size(), kMost); ++k) text += (k == 0 ? "" : ", ") + one_line(names[k], 60);
  if (names.size() > kMost) text += fmt::format(" and {} more", names.size() - kMost);
  return text;
}

// Each once, in the order given.
std::vector<std::string> distinct(const std::vector<std::string>& names) {
  std::set<std::string> seen;
  std::vector<std::string> once;
  for (const std::string& name : names)
    if (seen.insert(name).second) once.push_back(name);
  return once;
}

std::string counted(size_t n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

}  // namespace

double UrdfReader::size_of_model() const {
  std::vector<Pose> poses;
  std::optional<Extent> all;
  const auto include = [&](const Vec3& point) {
    const Extent place{point, point};
    if (all) all->include(place);
    if (!all) all = place;
  };
  for (const Branch& branch : tree_) {
    const Pose X =
        branch.parent < 0 ? branch.joint->X_PJ : poses[static_cast<size_t>(branch.parent)] * branch.joint->X_PJ;
    poses.push_back(X);
    include(X.p);
    const std::optional<Extent>& extent = links_[branch.link].extent;
    if (!extent) continue;
    for (int corner = 0; corner < 8; ++corner) {
      Vec3 p;
      for (int k = 0; k < 3; ++k) p(k) = (corner >> k & 1) != 0 ? extent->high(k) : extent->low(k);
      include(X * p);
    }
  }
  return all ? all->size().norm() : 0;
}

void UrdfReader::place_stand_ins(double size) {
  const double edge = std::max(size > 0 ? 0.02 * size : 0.02, kLeastLength);
  for (const StandIn& stand_in : stand_ins_) {
    shapes_[stand_in.shape].item.geometry = Box{Vec3::Constant(edge)};
    stand_in.mesh.repair(
        "filename", stand_in.problem,
        fmt::format("a cube of {:.3g} m stands in for it in the view, the motion is not affected", edge));
  }
}

void UrdfReader::complete_inertias(double size) {
  for (Link& link : links_) {
    if (link.gap.lacks != InertialGap::Lacks::inertia) continue;
    Body& body = link.body;
    std::string like;
    if (link.extent) {
      const Vec3 edges = link.extent->size();
      body.inertia = box_inertia(body.mass, *link.extent);
      like = fmt::format("a solid box around its shapes, {:.3g} x {:.3g} x {:.3g} m", edges.x(), edges.y(), edges.z());
    } else {
      const double water = water_radius(body.mass), radius = size > 0 ? std::min(water, size) : water;
      body.inertia = ball_inertia(body.mass, radius);
      like = fmt::format("a solid ball of {:.3g} m radius, it has no shape to go by", radius);
    }
    if (!(body.inertia.diagonal().minCoeff() >= 2 * kLeastInertia))
      body.inertia = body.inertia + 2 * kLeastInertia * Mat3::Identity();
    link.gap.element->repair(link.gap.problem,
                             fmt::format("it resists turning like {}: {:.4g}, {:.4g}, {:.4g} kg m^2", like,
                                         body.inertia(0, 0), body.inertia(1, 1), body.inertia(2, 2)));
  }
}

std::vector<LinkWeight> UrdfReader::weigh() const {
  std::vector<TreeLink> links;
  for (const Branch& branch : tree_) links.push_back({branch.parent, &links_[branch.link].body, branch.joint});
  return weigh_links(links);
}

// Of a ball that turns like the link, as far as anything says how large that is.
double UrdfReader::radius_of(const Branch& branch, double size) const {
  const Link& link = links_[branch.link];
  double radius = link.extent ? 0.5 * link.extent->size().norm() : 0;
  for (const size_t child : link.children)
    if (!link.extent)
      radius = std::max(radius, 0.5 * joints_[static_cast<size_t>(links_[child].joint)].joint.X_PJ.p.norm());
  if (radius == 0) radius = 0.5 * branch.joint->X_PJ.p.norm();
  radius = std::max(radius, 1e-3 * size);
  return radius > 0 ? radius : 0.1;
}

void UrdfReader::give_mass(size_t index, const std::vector<LinkWeight>& weights, double share, double size,
                           double total) {
  const Branch& branch = tree_[index];
  const LinkWeight& weight = weights[index];
  Link& link = links_[branch.link];
  Body& body = link.body;
  // Beside what hangs on it, else the link it hangs on, else all of the model; if that has no mass, none is small.
  const int carrier = nearest_heavy_[index];
  const double reference = weight.mass > 0 ? weight.mass
                           : carrier >= 0  ? weights[static_cast<size_t>(carrier)].own  // others were given some since
                                           : total;
  const std::string beside = weight.mass > 0 ? "what hangs on it"
                             : carrier >= 0  ? fmt::format("link {}, which carries it",
                                                           links_[tree_[static_cast<size_t>(carrier)].link].body.name)
                                             : "the model";
  const bool keeps_inertia = link.gap.lacks == InertialGap::Lacks::mass;
  body.mass = reference > 0 ? std::max(share * reference, kLeastMass) : 1.0;
  if (!keeps_inertia) {
    const double inertia = weight.weight == Weight::singular ? share * weight.inertia
                                                             : ball_inertia(body.mass, radius_of(branch, size))(0, 0);
    body.inertia = std::max(inertia, 2 * kLeastInertia) * Mat3::Identity();
  }
  added_mass_ += body.mass;
  added_to_.push_back(body.name);
  const std::string given =
      reference > 0 ? fmt::format("given {:.3g} kg{}, {:.2g} times {}", body.mass,
                                  keeps_inertia ? "" : fmt::format(" and {:.3g} kg m^2", body.inertia(0, 0)),
                                  body.mass / reference, beside)
                    : fmt::format("no link of the model has mass, so it is given 1 kg{}",
                                  keeps_inertia ? "" : fmt::format(" and {:.3g} kg m^2", body.inertia(0, 0)));
  if (keeps_inertia) return link.gap.element->repair(link.gap.problem, given + "; the inertia stays");
  const std::string joint = fmt::format("{} joint {}", joint_type_name(branch.joint->type), branch.joint->name);
  const std::string problem =
      weight.weight == Weight::nothing
          ? fmt::format("mass is 0 and nothing with mass hangs on it, but {} moves it, expected mass > 0 (or armature)",
                        joint)
          : fmt::format("mass is 0, and what hangs on it cannot resist {} in every pose: its mass matrix is singular",
                        joint);
  link.element.repair(problem, given + (reference > 0 ? "; the others move as they would without" : ""));
}

void UrdfReader::add_missing_mass(double size) {
  if (tree_.empty()) {  // what is wrong with the tree is said already
    for (const Link& link : links_)
      if (link.gap.lacks == InertialGap::Lacks::mass) link.gap.element->repair(link.gap.problem, "given a small mass");
    return;
  }
  double total = 0;
  for (const Link& link : links_) total += link.body.mass;
  const auto give = [&](const auto& lacks) {
    const std::vector<LinkWeight> weights = weigh();
    nearest_heavy_.assign(tree_.size(), -1);
    for (size_t i = 0; i < tree_.size(); ++i)
      if (const int parent = tree_[i].parent; parent >= 0)
        nearest_heavy_[i] =
            weights[static_cast<size_t>(parent)].own > 0 ? parent : nearest_heavy_[static_cast<size_t>(parent)];
    std::vector<size_t> wanting;
    for (size_t i = 0; i < tree_.size(); ++i)
      if (lacks(i, weights[i])) wanting.push_back(i);
    const double share = std::min(kShare, kShareOfAll / static_cast<double>(std::max<size_t>(wanting.size(), 1)));
    for (const size_t i : wanting) give_mass(i, weights, share, size, total);
  };
  const bool halves =
      std::ranges::any_of(links_, [](const Link& link) { return link.gap.lacks == InertialGap::Lacks::mass; });
  if (halves)
    give([&](size_t i, const LinkWeight&) { return links_[tree_[i].link].gap.lacks == InertialGap::Lacks::mass; });
  // Strict reading leaves a mass matrix that may be singular to the file.
  give([&](size_t, const LinkWeight& weight) {
    return weight.weight == Weight::nothing || (weight.weight == Weight::singular && !options_.strict);
  });
}

void UrdfReader::find_consequences(const Model& model) {
  const auto say = [&](std::string line) { consequences_.push_back(std::move(line)); };
  std::set<std::string> touching;
  for (const auto& [link, shape] : shapes_)
    if (shape.role == ShapeRole::collision) touching.insert(link);
  for (const auto& [link, point] : points_) touching.insert(link);
  std::vector<std::string> none, part;
  for (const std::string& link : distinct(lost_collisions_)) (touching.contains(link) ? part : none).push_back(link);
  if (!none.empty())
    say(fmt::format("{} lost all shapes and cannot touch anything: {}", counted(none.size(), "link"), name_some(none)));
  if (!part.empty())
    say(fmt::format("{} lost part of their shapes, which cannot touch anything: {}", counted(part.size(), "link"),
                    name_some(part)));

  std::set<BodyIndex> touching_bodies;
  for (const Shape& shape : model.shapes())
    if (shape.role == ShapeRole::collision) touching_bodies.insert(shape.body);
  for (const ContactPoint& point : model.contact_points()) touching_bodies.insert(point.body);
  std::vector<std::string> bare;
  for (size_t i = 0; i < model.bodies().size(); ++i)
    if (!touching_bodies.contains(BodyIndex(static_cast<int>(i)))) bare.push_back(model.bodies()[i].name);
  if (bare.size() == model.bodies().size() && !bare.empty())
    say("no body has a collision shape or a contact point: nothing touches anything");
  else if (!bare.empty())
    say(fmt::format("{} of {} bodies have no collision shape and cannot touch anything: {}", bare.size(),
                    model.bodies().size(), name_some(bare)));

  if (const auto unseen = distinct(lost_views_); !unseen.empty())
    say(fmt::format("{} not shown as meant: {}", counted(unseen.size(), "link"), name_some(unseen)));
  if (added_mass_ > 0)
    say(fmt::format("{:.3g} kg were added to {} without mass, {:.2g} % of the model: {}", added_mass_,
                    counted(added_to_.size(), "link"), 100 * added_mass_ / model.total_mass(), name_some(added_to_)));
  std::vector<std::string> stuck;
  for (const Joint& joint : model.joints())
    if (joint.type != JointType::ball && joint.limits.lower == joint.limits.upper) stuck.push_back(joint.name);
  if (!stuck.empty())
    say(fmt::format("{} cannot move, the limits are equal: {}", counted(stuck.size(), "joint"), name_some(stuck)));
}

}  // namespace scree
