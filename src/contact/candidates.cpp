// The points of a model that may touch the ground.
#include <fmt/format.h>
#include <libqhull_r/qhull_ra.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>

#include "scree/contact.h"
#include "scree/error.h"
#include "scree/kinematics.h"

namespace scree {
namespace {

constexpr int kRimPoints = 8;  // of each end of a cylinder

// The vertices of the convex hull, in the order of `points`.
std::vector<Vec3> hull_vertices(std::vector<Vec3> points, const std::string& place) {
  static_assert(sizeof(Vec3) == 3 * sizeof(double) && sizeof(coordT) == sizeof(double));
  char* text = nullptr;  // where Qhull complains, on many lines; its exit code says enough
  size_t length = 0;
  FILE* stream = open_memstream(&text, &length);
  char command[] = "qhull";
  qhT qhull{};
  qh_zero(&qhull, stream);
  const int failure = points.empty() ? qh_ERRsingular
                                     : qh_new_qhull(&qhull, 3, static_cast<int>(points.size()), points.front().data(),
                                                    /*ismalloc=*/0, command, nullptr, stream);
  std::vector<bool> kept(points.size(), false);
  if (failure == 0)
    for (const vertexT* vertex = qhull.vertex_list; vertex && vertex->next; vertex = vertex->next)
      kept[static_cast<size_t>(qh_pointid(&qhull, vertex->point))] = true;
  if (!points.empty()) {
    qh_freeqhull(&qhull, !qh_ALL);
    int chunks = 0, bytes = 0;
    qh_memfreeshort(&qhull, &chunks, &bytes);
  }
  if (stream) std::fclose(stream);
  std::free(text);
  if (failure != 0)
    throw InputError(fmt::format("{}: its {} vertices have no convex hull ({}), expected a solid mesh", place,
                                 points.size(), failure == qh_ERRsingular ? "they lie in a plane" : "too imprecise"));
  std::vector<Vec3> vertices;
  for (size_t i = 0; i < points.size(); ++i)
    if (kept[i]) vertices.push_back(points[i]);
  return vertices;
}

struct Candidates {
  const char* kind;  // the last part of their names
  std::vector<Vec3> places;
  double radius = 0;
};

// In the shape's frame.
Candidates candidates_of(const Sphere& sphere, const std::string&) { return {"centre", {Vec3::Zero()}, sphere.radius}; }
Candidates candidates_of(const Box& box, const std::string&) {
  Candidates corners{"corner", {}};
  for (int k = 0; k < 8; ++k)
    corners.places.push_back(Vec3(k & 1 ? 1 : -1, k & 2 ? 1 : -1, k & 4 ? 1 : -1).cwiseProduct(box.size) / 2);
  return corners;
}
Candidates candidates_of(const Capsule& capsule, const std::string&) {
  Candidates ends{"end", {Vec3(0, 0, -capsule.length / 2)}, capsule.radius};
  if (capsule.length > 0) ends.places.push_back(-ends.places[0]);
  return ends;
}
Candidates candidates_of(const Cylinder& cylinder, const std::string&) {
  Candidates rims{"rim", {}};
  for (const double z : {-cylinder.length / 2, cylinder.length / 2})
    for (int k = 0; k < kRimPoints; ++k) {
      const double angle = 2 * M_PI * k / kRimPoints;
      rims.places.emplace_back(cylinder.radius * std::cos(angle), cylinder.radius * std::sin(angle), z);
    }
  return rims;
}
Candidates candidates_of(const Plane&, const std::string&) { return {"plane", {}}; }  // it has no points of its own
Candidates candidates_of(const std::shared_ptr<const HeightField>&, const std::string&) { return {"field", {}}; }
Candidates candidates_of(const Mesh& mesh, const std::string& place) {
  std::vector<Vec3> scaled;
  for (const Vec3& vertex : mesh.data->vertices) scaled.push_back(mesh.scale.cwiseProduct(vertex));
  return {"vertex", hull_vertices(std::move(scaled), place)};
}

}  // namespace

std::vector<Collider> contact_candidates(const Model& model, ContactCandidates which) {
  using enum ContactCandidates;
  std::vector<Collider> points;
  if (which != shapes)
    for (const ContactPoint& point : model.contact_points())
      points.push_back(point_collider(point.body, point.p_B, point.radius, point.name));
  if (which == named || (which == automatic && !points.empty())) return points;

  std::map<std::string, int> seen;  // shapes with this name so far
  for (const Shape& shape : model.shapes()) {
    if (shape.role != ShapeRole::collision || shape.body == kWorld) continue;
    std::string name = shape.name.empty() ? model.body(shape.body).name : shape.name;
    if (const int count = ++seen[name]; count > 1) name += fmt::format("#{}", count);
    const std::string place =
        fmt::format("collision {} \"{}\" of link {}", geometry_name(shape.geometry), name, model.body(shape.body).name);
    const Candidates found = std::visit([&](const auto& g) { return candidates_of(g, place); }, shape.geometry);
    for (size_t k = 0; k < found.places.size(); ++k)
      points.push_back(
          point_collider(shape.body, shape.X_BS * found.places[k], found.radius,
                         fmt::format("{}/{}{}", name, found.kind, found.places.size() > 1 ? std::to_string(k) : "")));
  }
  return points;
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
