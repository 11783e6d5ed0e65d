#include "pages/replay_contacts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "run/run_contacts.h"
#include "scree/error.h"
#include "scree/kinematics.h"

namespace scree {
namespace {

using Json = nlohmann::json;

Json to_json(const Vec3& a) { return {a.x(), a.y(), a.z()}; }

// Heights on at most `most` grid points, from rim to rim. A field that has fewer keeps its own.
struct SampledField {
  Eigen::Index nx, ny;
  std::vector<float> heights;  // x-major

  SampledField(const HeightField& field, double most) : nx(field.heights().rows()), ny(field.heights().cols()) {
    const double lengths[] = {static_cast<double>(nx - 1), static_cast<double>(ny - 1)};
    const double shrink = std::sqrt(static_cast<double>(nx) * static_cast<double>(ny) / most);
    if (shrink > 1) {
      nx = std::max<Eigen::Index>(2, static_cast<Eigen::Index>(static_cast<double>(nx) / shrink));
      ny = std::max<Eigen::Index>(2, static_cast<Eigen::Index>(static_cast<double>(ny) / shrink));
    }
    const double step_x = lengths[0] * field.spacing() / static_cast<double>(nx - 1);
    const double step_y = lengths[1] * field.spacing() / static_cast<double>(ny - 1);
    for (Eigen::Index i = 0; i < nx; ++i)
      for (Eigen::Index j = 0; j < ny; ++j)
        heights.push_back(static_cast<float>(shrink > 1
                                                 ? field
                                                       .height(field.origin().x() + step_x * static_cast<double>(i),
                                                               field.origin().y() + step_y * static_cast<double>(j))
                                                       .value
                                                 : field.heights()(i, j)));
  }
};

struct SolidWriter {
  ArrayBlock& block;
  double most_samples;
  Json& solid;
  std::string& note;

  void operator()(const GroundPlane& plane) const {
    solid["type"] = "plane";
    solid["point"] = to_json(plane.point);
    solid["normal"] = to_json(plane.normal);
  }
  void operator()(const GroundBox& box) const {
    const Quat r(box.X_WS.R);
    solid["type"] = "box";
    solid["position"] = to_json(box.X_WS.p);
    solid["quaternion"] = {r.x(), r.y(), r.z(), r.w()};
    solid["size"] = to_json(box.size);
  }
  void operator()(const std::shared_ptr<const HeightField>& field) const {
    const SampledField sampled(*field, most_samples);
    const Eigen::Index nx = field->heights().rows(), ny = field->heights().cols();
    solid["type"] = "height_field";
    solid["origin"] = {field->origin().x(), field->origin().y()};
    solid["size"] = {static_cast<double>(nx - 1) * field->spacing(), static_cast<double>(ny - 1) * field->spacing()};
    solid["counts"] = {sampled.nx, sampled.ny};
    solid["heights"] = block.add(sampled.heights);
    if (sampled.nx != nx || sampled.ny != ny)
      note += fmt::format("{}Terrain is drawn on {} x {} of its {} x {} points.", note.empty() ? "" : " ", sampled.nx,
                          sampled.ny, nx, ny);
  }
};

// A run knows its points by name only: the candidates of the model with just these names, else none.
std::vector<ContactPoint> find_points(const Model& model, const std::vector<std::string>& names) {
  for (const auto which : {ContactCandidates::named, ContactCandidates::shapes, ContactCandidates::all}) {
    std::vector<ContactPoint> points;
    try {
      points = contact_candidates(model, which);
    } catch (const InputError&) {  // a mesh without a hull: these were not the candidates of the run
      continue;
    }
    if (std::equal(points.begin(), points.end(), names.begin(), names.end(),
                   [](const ContactPoint& point, const std::string& name) { return point.name == name; }))
      return points;
  }
  return {};
}

}  // namespace

Json describe_environment(const Environment& environment, ArrayBlock& block, size_t most_bytes, std::string& note) {
  double samples = 0;
  for (const Solid& solid : environment.solids())
    if (const auto* field = std::get_if<std::shared_ptr<const HeightField>>(&solid.shape))
      samples += static_cast<double>((*field)->heights().size());
  Json solids = Json::array();
  for (const Solid& item : environment.solids()) {
    // Every field gives way in proportion when all together are too large.
    double most = samples;
    if (const auto* field = std::get_if<std::shared_ptr<const HeightField>>(&item.shape))
      most = std::min(1.0, static_cast<double>(most_bytes / sizeof(float)) / samples) *
             static_cast<double>((*field)->heights().size());
    Json solid = {{"name", item.name}};
    std::visit(SolidWriter{block, most, solid, note}, item.shape);
    solids.push_back(std::move(solid));
  }
  return solids;
}

Json describe_contact_points(const Model& model, const Run& run) {
  const std::vector<ContactPoint> points = find_points(model, run.point_names);
  Json out = Json::array();
  for (size_t k = 0; k < run.point_names.size(); ++k) {
    Json point = {{"name", run.point_names[k]}};
    if (!points.empty()) {
      point["body"] = points[k].body.value();
      point["position"] = to_json(points[k].p_B);
    }
    out.push_back(std::move(point));
  }
  return out;
}

Json add_contact_frames(const Run& run, const std::vector<size_t>& rows, ArrayBlock& block) {
  std::vector<std::uint32_t> first = {0}, point, solid;
  std::vector<float> position, force, depth;
  for (const size_t row : rows) {
    for (size_t i = run.first_contact[row]; i < run.first_contact[row + 1]; ++i) {
      const Contact& contact = run.contacts[i];
      point.push_back(static_cast<std::uint32_t>(contact.point));
      solid.push_back(static_cast<std::uint32_t>(contact.solid));
      for (int k = 0; k < 3; ++k) position.push_back(static_cast<float>(contact.position(k)));
      for (int k = 0; k < 3; ++k) force.push_back(static_cast<float>(contact.force(k)));
      depth.push_back(static_cast<float>(contact.depth));
    }
    first.push_back(static_cast<std::uint32_t>(point.size()));
  }
  return {{"first", block.add(first)},       {"point", block.add(point)}, {"solid", block.add(solid)},
          {"position", block.add(position)}, {"force", block.add(force)}, {"depth", block.add(depth)}};
}

size_t contact_frame_bytes(const Run& run) {
  size_t most = 0;
  for (size_t row = 0; row < run.rows(); ++row)
    most = std::max<size_t>(most, run.first_contact[row + 1] - run.first_contact[row]);
  return 4 + 36 * most;
}

BaseMotion base_motion(const Model& model, const Run& run, const std::vector<size_t>& rows) {
  BaseMotion base;
  if (model.joints().empty()) return base;
  const Joint& joint = model.joints()[0];
  if (joint.type != JointType::floating && joint.type != JointType::planar) return base;
  base.exists = true;
  const auto nq = static_cast<size_t>(model.nq());
  double start = 0;
  for (const size_t row : rows) {
    const Eigen::VectorXd q = Eigen::Map<const Eigen::VectorXd>(run.q.data() + row * nq, model.nq());
    const Pose X_WB = body_poses(model, q)[0];
    if (base.height.empty()) start = X_WB.p.x();
    base.height.push_back(static_cast<float>(X_WB.p.z()));
    base.travel.push_back(static_cast<float>(X_WB.p.x() - start));
    // Between body z and world z, from a sine and a cosine: an arc cosine alone loses small angles.
    base.tilt.push_back(static_cast<float>(joint.type == JointType::planar
                                               ? q(joint.q_index + 2)
                                               : std::atan2(X_WB.R.col(2).head<2>().norm(), X_WB.R(2, 2))));
  }
  return base;
}

}  // namespace scree
