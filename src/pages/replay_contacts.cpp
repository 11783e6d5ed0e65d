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
  const Pose& X_WS;
  ArrayBlock& block;
  double most_samples;
  Json& solid;
  std::string& note;

  void operator()(const Plane&) const {
    solid["type"] = "plane";
    solid["point"] = to_json(X_WS.p);
    solid["normal"] = to_json(X_WS.R.col(2));
  }
  void operator()(const Box& box) const {
    const Quat r(X_WS.R);
    solid["type"] = "box";
    solid["position"] = to_json(X_WS.p);
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
  void operator()(const auto&) const {}  // nothing else is fixed to the world
};

bool is_ground(const Collider& collider) { return collider.body == kWorld; }

// The page counts points of bodies and solids of the ground apart.
std::vector<std::uint32_t> numbers_on_page(const std::vector<Collider>& colliders) {
  std::vector<std::uint32_t> numbers;
  std::uint32_t count[2] = {0, 0};
  for (const Collider& collider : colliders) numbers.push_back(count[is_ground(collider)]++);
  return numbers;
}

}  // namespace

Json describe_environment(const std::vector<Collider>& colliders, ArrayBlock& block, size_t most_bytes,
                          std::string& note) {
  double samples = 0;
  for (const Collider& collider : colliders)
    if (const auto* field = std::get_if<std::shared_ptr<const HeightField>>(&collider.shape))
      samples += static_cast<double>((*field)->heights().size());
  Json solids = Json::array();
  for (const Collider& item : colliders) {
    if (!is_ground(item)) continue;
    // Every field gives way in proportion when all together are too large.
    double most = samples;
    if (const auto* field = std::get_if<std::shared_ptr<const HeightField>>(&item.shape))
      most = std::min(1.0, static_cast<double>(most_bytes / sizeof(float)) / samples) *
             static_cast<double>((*field)->heights().size());
    Json solid = {{"name", item.name}};
    std::visit(SolidWriter{item.X_BS, block, most, solid, note}, item.shape);
    solids.push_back(std::move(solid));
  }
  return solids;
}

Json describe_contact_points(const std::vector<Collider>& colliders) {
  Json out = Json::array();
  for (const Collider& collider : colliders)
    if (!is_ground(collider))
      out.push_back({{"name", collider.name}, {"body", collider.body.value()}, {"position", to_json(collider.X_BS.p)}});
  return out;
}

Json add_contact_frames(const Run& run, const std::vector<size_t>& rows, ArrayBlock& block) {
  std::vector<std::uint32_t> first = {0}, point, solid;
  std::vector<float> position, force, depth;
  const std::vector<std::uint32_t> numbers = numbers_on_page(run.colliders);
  for (const size_t row : rows) {
    for (size_t i = run.first_contact[row]; i < run.first_contact[row + 1]; ++i) {
      const Contact& contact = run.contacts[i];
      point.push_back(numbers[static_cast<size_t>(contact.a)]);
      solid.push_back(numbers[static_cast<size_t>(contact.b)]);
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
  double start = 0;
  for (const size_t row : rows) {
    const Eigen::VectorXd q = run.q.row(row);
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
