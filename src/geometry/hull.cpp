#include "geometry/hull.h"

#include <libqhull_r/qhull_ra.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <queue>
#include <tuple>

namespace scree {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kFlat = 1e-9;       // of the size: thinner is no thickness
constexpr double kRounding = 1e-12;  // of distances
constexpr int kMostTurns = 200;      // of the search for the nearest point: it takes about ten
constexpr size_t kBatch = 2000;      // points that a round of the reduction looks at closely
constexpr double kLevel = 1e-6;      // of the size: a face is as flat as single precision makes it
constexpr int kSides = 8;            // directions within a face

// --- the nearest point of a hull
// --------------------------------------------------------------------------------------

// The hull of up to four points, seen from the origin.
struct Simplex {
  int count = 0;
  std::array<Vec3, 4> corners = {Vec3::Zero(), Vec3::Zero(), Vec3::Zero(), Vec3::Zero()};
};

// Moves to the face whose inside is nearest to the origin. Returns the nearest point. Each face is tried: it is nearest
// where the foot of the perpendicular lies inside it.
Vec3 shrink(Simplex& simplex) {
  Simplex best;
  Vec3 nearest = Vec3::Zero();
  double least = kInfinity;
  for (int face = 1; face < 1 << simplex.count; ++face) {
    Simplex part;
    for (int k = 0; k < simplex.count; ++k)
      if (face >> k & 1) part.corners[static_cast<size_t>(part.count++)] = simplex.corners[static_cast<size_t>(k)];
    const Vec3& base = part.corners[0];
    Vec3 foot = base;
    if (part.count == 2) {
      const Vec3 edge = part.corners[1] - base;
      const double t = -edge.dot(base) / edge.squaredNorm();
      if (!(t > 0 && t < 1)) continue;
      foot += t * edge;
    } else if (part.count == 3) {
      const Vec3 a = part.corners[1] - base, b = part.corners[2] - base;
      const Vec3 n = a.cross(b);
      const double nn = n.squaredNorm();
      if (!(nn > 1e-28 * a.squaredNorm() * b.squaredNorm())) continue;  // its edges have the nearest point, too
      const double s = b.cross(base).dot(n) / nn, t = base.cross(a).dot(n) / nn;
      if (!(s > 0 && t > 0 && s + t < 1)) continue;
      foot += s * a + t * b;
    } else if (part.count == 4) {
      const Vec3 a = part.corners[1] - base, b = part.corners[2] - base, c = part.corners[3] - base;
      const Vec3 bc = b.cross(c);
      const double volume = a.dot(bc);
      if (!(std::abs(volume) > 1e-14 * a.norm() * bc.norm())) continue;
      const double s = -base.dot(bc) / volume, t = -a.dot(base.cross(c)) / volume, u = -a.dot(b.cross(base)) / volume;
      if (!(s > 0 && t > 0 && u > 0 && s + t + u < 1)) continue;
      foot.setZero();
    }
    const double squared = foot.squaredNorm();
    if (squared >= least) continue;
    least = squared;
    nearest = foot;
    best = part;
  }
  simplex = best;
  return nearest;
}

// Coordinates of the points whose hull is meant, each in an array of its own: the search runs along them.
class Corners {
 public:
  void add(const Vec3& p) { x_.push_back(p.x()), y_.push_back(p.y()), z_.push_back(p.z()); }
  size_t size() const { return x_.size(); }
  Vec3 at(size_t k) const { return {x_[k], y_[k], z_[k]}; }
  size_t furthest(const Vec3& along) const {
    size_t best = 0;
    double most = -kInfinity;
    for (size_t k = 0; k < x_.size(); ++k) {
      const double reach = along.x() * x_[k] + along.y() * y_[k] + along.z() * z_[k];
      if (reach > most) most = reach, best = k;
    }
    return best;
  }

  // Gilbert, Johnson and Keerthi: a simplex of corners walks towards p. What it says is never too small, and it stops
  // where a plane across the way proves it.
  double distance(const Vec3& p, double enough) const {
    Simplex simplex;
    const auto step_to = [&](size_t corner) { simplex.corners[static_cast<size_t>(simplex.count++)] = at(corner) - p; };
    step_to(furthest(p - at(0)));
    Vec3 v = simplex.corners[0];
    double distance = v.norm();
    const double far = distance;
    for (int turn = 0; turn < kMostTurns && distance > enough; ++turn) {
      const size_t next = furthest(-v);
      const Vec3 w = at(next) - p;
      if (v.dot(w) >= distance * (distance - kRounding * far)) break;  // all corners are behind the plane through v
      step_to(next);
      v = shrink(simplex);
      const double nearer = v.norm();
      if (simplex.count == 4) return 0;  // p is inside
      if (!(nearer < distance)) break;
      distance = nearer;
    }
    return distance;
  }

 private:
  std::vector<double> x_, y_, z_;
};

// --- vertices
// ---------------------------------------------------------------------------------------------------------

// The first of the points that is furthest, by a measure.
template <class Measure> int furthest_point(const std::vector<Vec3>& points, Measure&& measure) {
  int best = 0;
  double most = -kInfinity;
  for (size_t k = 0; k < points.size(); ++k)
    if (const double m = measure(points[k]); m > most) most = m, best = static_cast<int>(k);
  return best;
}

struct QhullAnswer {
  std::vector<int> vertices;  // none: the points are too flat for it
  double volume = 0;
};
QhullAnswer ask_qhull(std::vector<Vec3> points) {
  static_assert(sizeof(Vec3) == 3 * sizeof(double) && sizeof(coordT) == sizeof(double));
  char* text = nullptr;  // where Qhull complains, on many lines
  size_t length = 0;
  FILE* stream = open_memstream(&text, &length);
  char command[] = "qhull FA";  // with the volume
  qhT qhull{};
  qh_zero(&qhull, stream);
  const int failure = qh_new_qhull(&qhull, 3, static_cast<int>(points.size()), points.front().data(),
                                   /*ismalloc=*/0, command, nullptr, stream);
  QhullAnswer answer;
  if (failure == 0) {
    for (const vertexT* vertex = qhull.vertex_list; vertex && vertex->next; vertex = vertex->next)
      answer.vertices.push_back(qh_pointid(&qhull, vertex->point));
    answer.volume = qhull.totvol;
  }
  qh_freeqhull(&qhull, !qh_ALL);
  int chunks = 0, bytes = 0;
  qh_memfreeshort(&qhull, &chunks, &bytes);
  if (stream) std::fclose(stream);
  std::free(text);
  std::sort(answer.vertices.begin(), answer.vertices.end());
  return answer;
}

// Two points far apart, the one furthest from their line, and the one furthest from the plane of these.
struct Extent {
  int first = 0, second = 0;
  Vec3 e1 = Vec3::Zero(), e2 = Vec3::Zero();  // along them, and towards the third
  double length = 0, width = 0, height = 0;   // [m]
};
Extent extent_of(const std::vector<Vec3>& points) {
  Extent x;
  const Vec3 from = points[static_cast<size_t>(furthest_point(points, [](const Vec3& p) { return p.x(); }))];
  x.first = furthest_point(points, [&](const Vec3& p) { return (p - from).squaredNorm(); });
  const Vec3 a = points[static_cast<size_t>(x.first)];
  x.second = furthest_point(points, [&](const Vec3& p) { return (p - a).squaredNorm(); });
  const Vec3 along = points[static_cast<size_t>(x.second)] - a;
  x.length = along.norm();
  if (!(x.length > 0)) return x;
  x.e1 = along / x.length;
  const auto off_line = [&](const Vec3& p) -> Vec3 { return p - a - x.e1.dot(p - a) * x.e1; };
  const Vec3 across = off_line(
      points[static_cast<size_t>(furthest_point(points, [&](const Vec3& p) { return off_line(p).squaredNorm(); }))]);
  x.width = across.norm();
  if (!(x.width > 0)) return x;
  x.e2 = (across / x.width - x.e1.dot(across / x.width) * x.e1).normalized();
  const Vec3 n = x.e1.cross(x.e2);
  for (const Vec3& p : points) x.height = std::max(x.height, std::abs(n.dot(p - a)));
  return x;
}

// The dimension; the vertices, too, where they are no more than two.
Hull shape_of(const std::vector<Vec3>& points) {
  Hull hull;
  double largest = 0;
  for (const Vec3& p : points) largest = std::max(largest, p.cwiseAbs().maxCoeff());
  const Extent x = extent_of(points);
  const double thin = std::max(kFlat * x.length, 8 * std::numeric_limits<double>::epsilon() * largest);
  hull.dimension = (x.length > thin) + (x.width > thin) + (x.height > thin);
  if (hull.dimension == 0) hull.vertices = {0};
  if (hull.dimension == 1) hull.vertices = {std::min(x.first, x.second), std::max(x.first, x.second)};
  return hull;
}

// Of points in a plane, or nearly so, by Andrew's chain.
std::vector<int> vertices_in_plane(const std::vector<Vec3>& points) {
  const Extent x = extent_of(points);
  struct Place {
    double x, y;
    int index;
  };
  std::vector<Place> places;
  for (size_t k = 0; k < points.size(); ++k)
    places.push_back({x.e1.dot(points[k] - points[0]), x.e2.dot(points[k] - points[0]), static_cast<int>(k)});
  std::sort(places.begin(), places.end(),
            [](const Place& a, const Place& b) { return std::tie(a.x, a.y, a.index) < std::tie(b.x, b.y, b.index); });
  std::vector<Place> chain;
  const auto append = [&](const Place& c, size_t fixed) {
    const auto turns_left = [&] {
      const Place &a = chain[chain.size() - 2], &b = chain.back();
      const double ux = b.x - a.x, uy = b.y - a.y, wx = c.x - a.x, wy = c.y - a.y;
      return ux * wy - uy * wx > kFlat * std::hypot(ux, uy) * std::hypot(wx, wy);
    };
    while (chain.size() > fixed && !turns_left()) chain.pop_back();
    chain.push_back(c);
  };
  for (const Place& place : places) append(place, 1);
  const size_t lower = chain.size();
  for (size_t k = places.size() - 1; k-- > 0;) append(places[k], lower);
  chain.pop_back();  // the first one again
  std::vector<int> vertices;
  for (const Place& place : chain) vertices.push_back(place.index);
  std::sort(vertices.begin(), vertices.end());
  return vertices;
}

}  // namespace

Hull convex_hull(const std::vector<Vec3>& points) {
  Hull hull = shape_of(points);
  if (hull.dimension == 3) hull.vertices = ask_qhull(points).vertices;
  if (hull.vertices.empty()) {
    hull.dimension = 2;
    hull.vertices = vertices_in_plane(points);
  }
  return hull;
}

double hull_volume(const std::vector<Vec3>& points) {
  return shape_of(points).dimension == 3 ? ask_qhull(points).volume : 0;
}

int hull_dimension(const std::vector<Vec3>& points) { return shape_of(points).dimension; }

double distance_to_hull(const std::vector<Vec3>& corners, const Vec3& p) { return furthest_from_hull(corners, {p}); }

double furthest_from_hull(const std::vector<Vec3>& corners, const std::vector<Vec3>& points) {
  Corners hull;
  for (const Vec3& corner : corners) hull.add(corner);
  double furthest = 0;
  for (const Vec3& p : points) furthest = std::max(furthest, hull.distance(p, furthest));
  return furthest;
}

// Starts from the points furthest along the directions and adds the one furthest from the hull of those at hand until
// none is further than asked. A distance found before is a bound, for hulls grow: a queue of bounds finds the furthest
// point without looking at many. Of huge meshes it is fed with some thousand points at a time, spread over those that
// are too far away.
Hull reduced_hull(const std::vector<Vec3>& points, double accuracy, const std::vector<Vec3>& directions) {
  Hull whole = shape_of(points);
  if (whole.dimension < 2) return whole;
  Corners corners;
  std::vector<int> kept;
  std::vector<char> is_kept(points.size(), 0);
  const auto keep = [&](int k) {
    if (is_kept[static_cast<size_t>(k)]) return;
    is_kept[static_cast<size_t>(k)] = 1;
    kept.push_back(k);
    corners.add(points[static_cast<size_t>(k)]);
  };

  // Of the points on the furthest face along a direction, those furthest along eight directions within it.
  const double level = kLevel * extent_of(points).length;
  std::vector<int> face;
  for (const Vec3& direction : directions) {
    const Vec3 d = direction.normalized(), e1 = d.unitOrthogonal(), e2 = d.cross(e1);
    const double most =
        d.dot(points[static_cast<size_t>(furthest_point(points, [&](const Vec3& p) { return d.dot(p); }))]);
    face.clear();
    for (size_t k = 0; k < points.size(); ++k)
      if (d.dot(points[k]) >= most - level) face.push_back(static_cast<int>(k));
    for (int side = 0; side < kSides; ++side) {
      const double angle = 2 * M_PI * (side + 0.25) / kSides;  // of an axis-aligned edge one end is further
      const Vec3 within = std::cos(angle) * e1 + std::sin(angle) * e2;
      keep(*std::max_element(face.begin(), face.end(), [&](int a, int b) {
        return within.dot(points[static_cast<size_t>(a)]) < within.dot(points[static_cast<size_t>(b)]);
      }));
    }
  }
  if (kept.empty()) keep(0);

  using Bound = std::pair<double, int>;  // [m], and minus the index: of equals the first one
  std::vector<Bound> far;
  for (;;) {
    far.clear();
    whole.distance = 0;
    for (size_t k = 0; k < points.size(); ++k) {
      if (is_kept[k]) continue;
      const double distance = corners.distance(points[k], accuracy);
      if (distance > accuracy)
        far.emplace_back(distance, -static_cast<int>(k));
      else
        whole.distance = std::max(whole.distance, distance);
    }
    if (far.empty()) break;
    const size_t stride = (far.size() + kBatch - 1) / kBatch;
    std::priority_queue<Bound> bounds;
    for (size_t k = 0; k < far.size(); k += stride) bounds.push(far[k]);
    while (!bounds.empty()) {
      const int k = -bounds.top().second;
      bounds.pop();
      const double distance = corners.distance(points[static_cast<size_t>(k)], accuracy);
      if (distance <= accuracy) continue;
      if (bounds.empty() || distance >= bounds.top().first)
        keep(k);
      else
        bounds.emplace(distance, -k);
    }
  }

  // Some of those kept first may have ended inside.
  std::sort(kept.begin(), kept.end());
  std::vector<Vec3> left;
  for (const int k : kept) left.push_back(points[static_cast<size_t>(k)]);
  for (const int vertex : convex_hull(left).vertices) whole.vertices.push_back(kept[static_cast<size_t>(vertex)]);
  return whole;
}

}  // namespace scree
