// The points of a model that may touch the ground.
#include "scree/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "geometry/hull.h"
#include "scree/error.h"
#include "scree/kinematics.h"

namespace scree {
namespace {

constexpr int kRimPoints = 8;  // of each end of a cylinder

struct Candidates {
  const char* kind;  // the last part of their names
  std::vector<Vec3> places;
  double radius = 0;
};

// How meshes become points.
struct Meshes {
  double accuracy;               // of the size
  std::vector<Vec3> directions;  // of the shape's frame: what is furthest along them stays
};

// In the shape's frame.
Candidates candidates_of(const Sphere& sphere, const Meshes&) { return {"centre", {Vec3::Zero()}, sphere.radius}; }
Candidates candidates_of(const Box& box, const Meshes&) {
  Candidates corners{"corner", {}};
  for (int k = 0; k < 8; ++k)
    corners.places.push_back(Vec3(k & 1 ? 1 : -1, k & 2 ? 1 : -1, k & 4 ? 1 : -1).cwiseProduct(box.size) / 2);
  return corners;
}
Candidates candidates_of(const Capsule& capsule, const Meshes&) {
  Candidates ends{"end", {Vec3(0, 0, -capsule.length / 2)}, capsule.radius};
  if (capsule.length > 0) ends.places.push_back(-ends.places[0]);
  return ends;
}
Candidates candidates_of(const Cylinder& cylinder, const Meshes&) {
  Candidates rims{"rim", {}};
  for (const double z : {-cylinder.length / 2, cylinder.length / 2})
    for (int k = 0; k < kRimPoints; ++k) {
      const double angle = 2 * M_PI * k / kRimPoints;
      rims.places.emplace_back(cylinder.radius * std::cos(angle), cylinder.radius * std::sin(angle), z);
    }
  return rims;
}
Candidates candidates_of(const Plane&, const Meshes&) { return {"plane", {}}; }  // it has no points of its own
Candidates candidates_of(const std::shared_ptr<const HeightField>&, const Meshes&) { return {"field", {}}; }

constexpr const char* kVertex = "vertex";

std::vector<Vec3> scaled_vertices(const Mesh& mesh) {
  std::vector<Vec3> scaled;
  for (const Vec3& vertex : mesh.data->vertices) scaled.push_back(mesh.scale.cwiseProduct(vertex));
  return scaled;
}

double longest_edge(const std::vector<Vec3>& points) {
  Vec3 low = points[0], high = low;
  for (const Vec3& p : points) low = low.cwiseMin(p), high = high.cwiseMax(p);
  return (high - low).maxCoeff();
}

Candidates candidates_of(const Mesh& mesh, const Meshes& meshes) {
  Candidates vertices{kVertex, {}};
  const std::vector<Vec3> points = scaled_vertices(mesh);
  if (points.empty()) return vertices;
  const double accuracy = meshes.accuracy * longest_edge(points);
  const Hull hull = accuracy > 0 ? reduced_hull(points, accuracy, meshes.directions) : convex_hull(points);
  for (const int vertex : hull.vertices) vertices.places.push_back(points[static_cast<size_t>(vertex)]);
  return vertices;
}

// The collision shapes that have points, and what their points are called. visit(shape, name)
template <class Visit> void for_shapes(const Model& model, Visit&& visit) {
  std::map<std::string, int> seen;  // shapes with this name so far
  for (const Shape& shape : model.shapes()) {
    if (shape.role != ShapeRole::collision || shape.body == kWorld) continue;
    std::string name = shape.name.empty() ? model.body(shape.body).name : shape.name;
    if (const int count = ++seen[name]; count > 1) name += fmt::format("#{}", count);
    visit(shape, name);
  }
}

}  // namespace

void CandidateOptions::validate() const {
  if (!(hull_accuracy >= 0 && hull_accuracy <= 0.5))
    throw InputError(fmt::format("contact: hull_accuracy is {}, expected a number in [0, 0.5]", hull_accuracy));
}

std::vector<Collider> contact_candidates(const Model& model, ContactCandidates which) {
  return contact_candidates(model, CandidateOptions{.which = which});
}

std::vector<Collider> contact_candidates(const Model& model, const CandidateOptions& options) {
  using enum ContactCandidates;
  options.validate();
  std::vector<Collider> points;
  if (options.which != shapes)
    for (const ContactPoint& point : model.contact_points())
      points.push_back(point_collider(point.body, point.p_B, point.radius, point.name));
  if (options.which == named || (options.which == automatic && !points.empty())) return points;

  const std::vector<Pose> poses = body_poses(model, model.neutral_position());
  for_shapes(model, [&](const Shape& shape, const std::string& name) {
    // What is lowest along the axes of the shape or of the world, the model being at its neutral position.
    Meshes meshes{options.hull_accuracy, {}};
    const Mat3 R_SW = (poses[static_cast<size_t>(shape.body.value())].R * shape.X_BS.R).transpose();
    for (int k = 0; k < 3; ++k)
      for (const double sign : {-1.0, 1.0})
        for (const Vec3& axis : {Vec3(Vec3::Unit(k)), Vec3(R_SW.col(k))}) meshes.directions.push_back(sign * axis);
    const Candidates found = std::visit([&](const auto& g) { return candidates_of(g, meshes); }, shape.geometry);
    for (size_t k = 0; k < found.places.size(); ++k)
      points.push_back(
          point_collider(shape.body, shape.X_BS * found.places[k], found.radius,
                         fmt::format("{}/{}{}", name, found.kind, found.places.size() > 1 ? std::to_string(k) : "")));
  });
  return points;
}

std::vector<MeshPoints> mesh_points(const Model& model, const std::vector<Collider>& colliders) {
  std::vector<MeshPoints> all;
  for_shapes(model, [&](const Shape& shape, const std::string& name) {
    const auto* mesh = std::get_if<Mesh>(&shape.geometry);
    if (!mesh || mesh->data->vertices.empty()) return;
    const std::string prefix = fmt::format("{}/{}", name, kVertex);
    std::vector<Vec3> corners;
    for (const Collider& collider : colliders)
      if (collider.body == shape.body && collider.name.starts_with(prefix) &&
          collider.name.find_first_not_of("0123456789", prefix.size()) == std::string::npos)
        corners.push_back(collider.X_BS.p);
    if (corners.empty()) return;
    std::vector<Vec3> vertices = scaled_vertices(*mesh);
    MeshPoints points{.name = name,
                      .link = model.body(shape.body).name,
                      .vertices = vertices.size(),
                      .points = corners.size(),
                      .dimension = hull_dimension(vertices),
                      .size = longest_edge(vertices),
                      .distance = 0};
    for (Vec3& vertex : vertices) vertex = shape.X_BS * vertex;
    points.distance = furthest_from_hull(corners, vertices);
    all.push_back(std::move(points));
  });
  return all;
}

double lowest_point(const Model& model, const std::vector<Collider>& colliders, const Eigen::VectorXd& q) {
  const std::vector<Pose> poses = body_poses(model, q);
  double lowest = std::numeric_limits<double>::infinity();
  for (const Collider& collider : colliders)
    if (collider.body != kWorld)
      lowest = std::min(lowest, (poses[static_cast<size_t>(collider.body.value())] * collider.X_BS.p).z() -
                                    std::get<Sphere>(collider.shape).radius);
  return lowest;
}

}  // namespace scree
