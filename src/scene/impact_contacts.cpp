#include "scene/impact_contacts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scree/error.h"

namespace scree {
namespace {

constexpr double kParallel = 1e-9;  // sine of the angle below which two unit vectors are one direction

// What two bodies may touch with.
struct Round {  // a disk, a ball, the foot of a link; of radius 0: a point
  int body, link;
  Vec3 centre;
  double radius;
};

class Finder {
 public:
  explicit Finder(const ImpactScene& scene) : scene_(scene) {
    for (int i = 0; i < std::ssize(scene.bodies); ++i) {
      rounds_.emplace_back();
      const ImpactBody& body = scene.bodies[static_cast<size_t>(i)];
      if (body.shape == ImpactShape::disk || body.shape == ImpactShape::ball)
        rounds_.back().push_back({i, -1, body.X_WB.p, body.radius});
      for (int k = 0; k < std::ssize(body.links); ++k) {
        const ImpactLink& link = body.links[static_cast<size_t>(k)];
        if (link.foot) rounds_.back().push_back({i, k, impact_link_point(body, k, *link.foot), link.foot_radius});
      }
    }
  }

  std::vector<ImpactContact> run() {
    const int count = static_cast<int>(scene_.bodies.size());
    for (int i = 0; i < count; ++i)
      for (int j = i + 1; j < count; ++j) {
        const ImpactBody &a = body(i), &b = body(j);
        if (a.dofs == 0 && b.dofs == 0) continue;
        pair_.clear();
        if (far_apart(a, b)) continue;
        touch(i, j);
        finish_pair();
        if (std::ssize(found_) > ImpactProblem::kMaxContacts)
          throw InputError(fmt::format("more than {} contacts, expected at most so many", ImpactProblem::kMaxContacts));
      }
    for (size_t k = 0; k < found_.size(); ++k) found_[k].label = impact_contact_label(static_cast<int>(k));
    return std::move(found_);
  }

 private:
  const ImpactBody& body(int i) const { return scene_.bodies[static_cast<size_t>(i)]; }
  int dimension() const { return scene_.dimension; }

  static double reach(const ImpactBody& b) { return b.shape == ImpactShape::box ? b.size.norm() / 2 : b.radius; }
  bool far_apart(const ImpactBody& a, const ImpactBody& b) const {
    const auto bounded = [](const ImpactBody& x) {
      return x.shape != ImpactShape::wall && x.shape != ImpactShape::links;
    };
    return bounded(a) && bounded(b) && (a.X_WB.p - b.X_WB.p).norm() > reach(a) + reach(b) + scene_.touch;
  }

  void touch(int i, int j) {
    const ImpactBody &a = body(i), &b = body(j);
    const auto rounds_of = [&](int k) -> const std::vector<Round>& { return rounds_[static_cast<size_t>(k)]; };
    if (a.shape == ImpactShape::wall || b.shape == ImpactShape::wall) {
      const int wall = a.shape == ImpactShape::wall ? i : j, other = wall == i ? j : i;
      if (body(other).shape == ImpactShape::box) corners_on_wall(wall, other);
      for (const Round& round : rounds_of(other)) round_on_wall(wall, round);
    } else if (a.shape == ImpactShape::box && b.shape == ImpactShape::box) {
      box_on_box(i, j);
    } else if (a.shape == ImpactShape::box || b.shape == ImpactShape::box) {
      const int box = a.shape == ImpactShape::box ? i : j, other = box == i ? j : i;
      for (const Round& round : rounds_of(other)) round_on_box(box, round);
    } else {
      for (const Round& ra : rounds_of(i))
        for (const Round& rb : rounds_of(j)) round_on_round(ra, rb);
    }
  }

  std::string name_of(int i, int link) const {
    return link < 0 ? body(i).name : body(i).name + "." + body(i).links[static_cast<size_t>(link)].name;
  }
  [[noreturn]] void fail_depth(int i, int link_i, int j, int link_j, double depth) const {
    throw InputError(fmt::format("{} and {} overlap by {:.6g} m, expected at most {:g} m, the tolerance \"touch\"",
                                 name_of(i, link_i), name_of(j, link_j), depth, scene_.touch));
  }

  // `normal` points from a to b. Bodies are put in their order.
  void add(int a, int link_a, const Vec3& point_a, int b, int link_b, const Vec3& point_b, const Vec3& normal,
           double gap) {
    if (gap > scene_.touch) return;
    if (gap < -scene_.touch)
      fail_depth(std::min(a, b), a < b ? link_a : link_b, std::max(a, b), a < b ? link_b : link_a, -gap);
    ImpactContact c;
    c.a = a, c.b = b, c.link_a = link_a, c.link_b = link_b;
    c.point_a = point_a, c.point_b = point_b;
    c.normal = normal;
    c.gap = gap;
    if (a > b) {
      std::swap(c.a, c.b);
      std::swap(c.link_a, c.link_b);
      std::swap(c.point_a, c.point_b);
      c.normal = -normal;
    }
    c.tangents = tangents_of(c);
    pair_.push_back(std::move(c));
  }

  // In the plane (n_y, -n_x). In space the x axis (y, where the normal is near x) without its part along the normal,
  // and the vector that makes the triple right-handed. A wall may name the first.
  std::vector<Vec3> tangents_of(const ImpactContact& c) const {
    const Vec3& n = c.normal;
    Vec3 first = Vec3::Zero();
    for (const int k : {c.a, c.b})
      if (body(k).shape == ImpactShape::wall) first = body(k).tangent;
    if (dimension() == 2) return {first.squaredNorm() > 0 ? first : Vec3(n.y(), -n.x(), 0)};
    if (first.squaredNorm() == 0) {
      const Vec3 axis = std::abs(n.x()) > 0.9 ? Vec3::UnitY() : Vec3::UnitX();
      first = (axis - n * n.dot(axis)).normalized();
    }
    return {first, n.cross(first)};
  }

  void finish_pair() {
    const auto place = [](const ImpactContact& c, size_t k) {
      return k < c.tangents.size() ? c.tangents[k].dot(c.point_b) : 0;
    };
    std::stable_sort(pair_.begin(), pair_.end(), [&](const ImpactContact& x, const ImpactContact& y) {
      const double dx = place(x, 0) - place(y, 0);
      return std::abs(dx) > scene_.touch ? dx < 0 : place(x, 1) < place(y, 1) - scene_.touch;
    });
    found_.insert(found_.end(), pair_.begin(), pair_.end());
  }

  std::vector<Vec3> corners_of(const ImpactBody& box) const {
    std::vector<Vec3> corners;
    for (int k = 0; k < (dimension() == 2 ? 4 : 8); ++k)
      corners.push_back(box.X_WB *
                        Vec3(0.5 * Vec3(k & 1 ? 1 : -1, k & 2 ? 1 : -1, k & 4 ? 1 : -1).cwiseProduct(box.size)));
    if (dimension() == 2)
      for (Vec3& c : corners) c.z() = 0;
    return corners;
  }

  void corners_on_wall(int wall, int box) {
    const ImpactBody& w = body(wall);
    double deepest = 0;
    for (const Vec3& corner : corners_of(body(box))) deepest = std::min(deepest, w.normal.dot(corner - w.X_WB.p));
    if (deepest < -scene_.touch) fail_depth(std::min(wall, box), -1, std::max(wall, box), -1, -deepest);
    for (const Vec3& corner : corners_of(body(box))) {
      const double gap = w.normal.dot(corner - w.X_WB.p);
      add(wall, -1, corner - gap * w.normal, box, -1, corner, w.normal, gap);
    }
  }

  void round_on_wall(int wall, const Round& r) {
    const ImpactBody& w = body(wall);
    const double gap = w.normal.dot(r.centre - w.X_WB.p) - r.radius;
    const Vec3 point = r.centre - r.radius * w.normal;
    add(wall, -1, point - gap * w.normal, r.body, r.link, point, w.normal, gap);
  }

  void round_on_round(const Round& a, const Round& b) {
    const Vec3 between = b.centre - a.centre;
    const double distance = between.norm(), gap = distance - a.radius - b.radius;
    if (gap > scene_.touch) return;
    if (distance <= scene_.touch)
      throw InputError(fmt::format("{} and {} are at the same place, ({:g}, {:g}, {:g}), expected bodies side by side",
                                   name_of(a.body, a.link), name_of(b.body, b.link), a.centre.x(), a.centre.y(),
                                   a.centre.z()));
    const Vec3 n = between / distance;
    add(a.body, a.link, a.centre + a.radius * n, b.body, b.link, b.centre - b.radius * n, n, gap);
  }

  void round_on_box(int box, const Round& r) {
    const ImpactBody& b = body(box);
    const Vec3 local = b.X_WB.inverse() * r.centre, half = b.size / 2;
    const Vec3 nearest = local.cwiseMax(-half).cwiseMin(half);
    const double distance = (local - nearest).norm();
    if (distance > 1e-12) {
      const Vec3 n = b.X_WB.R * (local - nearest) / distance;
      add(box, -1, b.X_WB * nearest, r.body, r.link, r.centre - r.radius * n, n, distance - r.radius);
      return;
    }
    // On the surface or inside: out through the nearest face.
    int axis = 0;
    for (int k = 1; k < dimension(); ++k)
      if (half(k) - std::abs(local(k)) < half(axis) - std::abs(local(axis))) axis = k;
    const double depth = half(axis) - std::abs(local(axis));
    const Vec3 n = b.X_WB.R.col(axis) * (local(axis) < 0 ? -1 : 1);
    add(box, -1, r.centre + depth * n, r.body, r.link, r.centre - r.radius * n, n, -depth - r.radius);
  }

  static double half_width(const ImpactBody& box, const Vec3& n, int dimension) {
    double sum = 0;
    for (int k = 0; k < dimension; ++k) sum += 0.5 * box.size(k) * std::abs(n.dot(box.X_WB.R.col(k)));
    return sum;
  }

  // The face of one box that keeps the other outside, and the part of the other's facing face that lies over it: its
  // corners after clipping. Edges across each other touch in one point.
  void box_on_box(int i, int j) {
    const ImpactBody &a = body(i), &b = body(j);
    const Vec3 between = b.X_WB.p - a.X_WB.p;
    const auto separation = [&](const Vec3& n) {
      return std::abs(n.dot(between)) - half_width(a, n, dimension()) - half_width(b, n, dimension());
    };
    struct Face {
      int box, axis;
      double gap;
    };
    std::vector<Face> faces;
    for (const int box : {i, j})
      for (int k = 0; k < dimension(); ++k) faces.push_back({box, k, separation(body(box).X_WB.R.col(k))});
    const Face face = *std::max_element(faces.begin(), faces.end(),
                                        [&](const Face& x, const Face& y) { return x.gap < y.gap - scene_.touch; });
    if (face.gap > scene_.touch) return;
    if (dimension() == 3 && edges_decide(i, j, face.gap, separation)) return;
    if (face.gap < -scene_.touch) fail_depth(i, -1, j, -1, -face.gap);
    const ImpactBody &base = body(face.box), &other = body(face.box == i ? j : i);
    const Vec3 out = face.box == i ? between : Vec3(-between);
    const Vec3 axis = base.X_WB.R.col(face.axis), n = axis.dot(out) < 0 ? Vec3(-axis) : axis;
    for (const Face& second : faces)
      if (second.gap >= -scene_.touch && body(second.box).X_WB.R.col(second.axis).cross(n).norm() > kParallel)
        throw InputError(
            fmt::format("{} and {} touch edge to edge or corner to corner, where there is no normal, "
                        "expected faces that overlap",
                        a.name, b.name));
    for (const Vec3& point : clipped_face(base, face.axis, n, other)) {
      const double gap = n.dot(point - base.X_WB.p) - base.size(face.axis) / 2;
      if (std::abs(gap) > scene_.touch) continue;
      add(face.box, -1, point - gap * n, face.box == i ? j : i, -1, point, n, gap);
    }
  }

  // True if a cross product of edges separates the boxes, or is where they touch.
  bool edges_decide(int i, int j, double face_gap, const auto& separation) {
    const ImpactBody &a = body(i), &b = body(j);
    double best = -1e300;
    Vec3 normal = Vec3::Zero();
    int axis_a = 0, axis_b = 0;
    for (int k = 0; k < 3; ++k)
      for (int l = 0; l < 3; ++l) {
        Vec3 n = a.X_WB.R.col(k).cross(b.X_WB.R.col(l));
        if (n.norm() <= kParallel) continue;
        n.normalize();
        const double gap = separation(n);
        if (gap > best) best = gap, normal = n, axis_a = k, axis_b = l;
      }
    if (best > scene_.touch) return true;
    if (best < -scene_.touch || face_gap >= -scene_.touch) return false;
    if (normal.dot(b.X_WB.p - a.X_WB.p) < 0) normal = -normal;
    // The edge of each that lies farthest towards the other; where the two lines are nearest.
    const auto edge_middle = [&](const ImpactBody& box, int axis, const Vec3& n) {
      Vec3 p = Vec3::Zero();
      for (int k = 0; k < 3; ++k)
        if (k != axis) p(k) = 0.5 * box.size(k) * (n.dot(box.X_WB.R.col(k)) < 0 ? -1 : 1);
      return Vec3(box.X_WB * p);
    };
    const Vec3 pa = edge_middle(a, axis_a, normal), pb = edge_middle(b, axis_b, -normal);
    const Vec3 ua = a.X_WB.R.col(axis_a), ub = b.X_WB.R.col(axis_b), d = pb - pa;
    const double c = ua.dot(ub), denominator = 1 - c * c;
    const double s = (d.dot(ua) - c * d.dot(ub)) / denominator, t = (c * d.dot(ua) - d.dot(ub)) / denominator;
    add(i, -1, pa + s * ua, j, -1, pb + t * ub, normal, best);
    return true;
  }

  // The face of `other` that looks against n, clipped by the sides of the face of `base`.
  std::vector<Vec3> clipped_face(const ImpactBody& base, int axis, const Vec3& n, const ImpactBody& other) const {
    int facing = 0;
    for (int k = 1; k < dimension(); ++k)
      if (std::abs(n.dot(other.X_WB.R.col(k))) > std::abs(n.dot(other.X_WB.R.col(facing))) + kParallel) facing = k;
    const double sign = n.dot(other.X_WB.R.col(facing)) > 0 ? -1 : 1;
    const int u = (facing + 1) % dimension(), w = dimension() == 3 ? (facing + 2) % 3 : -1;
    std::vector<Vec3> polygon;
    for (const auto& [su, sw] : {std::pair{-1, -1}, {1, -1}, {1, 1}, {-1, 1}}) {
      if (w < 0 && sw > 0) break;
      Vec3 p = Vec3::Zero();
      p(facing) = sign * other.size(facing) / 2;
      p(u) = su * other.size(u) / 2;
      if (w >= 0) p(w) = sw * other.size(w) / 2;
      polygon.push_back(other.X_WB * p);
    }
    for (int k = 0; k < dimension(); ++k)
      for (const double side : {-1.0, 1.0}) {
        if (k == axis) continue;
        clip(polygon, side * base.X_WB.R.col(k), side * base.X_WB.R.col(k).dot(base.X_WB.p) + base.size(k) / 2);
      }
    std::vector<Vec3> distinct;
    for (const Vec3& p : polygon)
      if (std::none_of(distinct.begin(), distinct.end(), [&](const Vec3& q) { return (p - q).norm() <= scene_.touch; }))
        distinct.push_back(p);
    return distinct;
  }

  // Keeps what has n.x <= limit: Sutherland and Hodgman's step; two points are an edge, more a closed polygon.
  static void clip(std::vector<Vec3>& polygon, const Vec3& n, double limit) {
    std::vector<Vec3> kept;
    for (size_t k = 0; k < polygon.size(); ++k) {
      const Vec3& p = polygon[k];
      const double hp = n.dot(p) - limit;
      if (hp <= 0) kept.push_back(p);
      if (polygon.size() == 2 && k == 1) continue;
      const Vec3& q = polygon[(k + 1) % polygon.size()];
      const double hq = n.dot(q) - limit;
      if ((hp < 0 && hq > 0) || (hp > 0 && hq < 0)) kept.push_back(p + (q - p) * (hp / (hp - hq)));
    }
    polygon = std::move(kept);
  }

  const ImpactScene& scene_;
  std::vector<std::vector<Round>> rounds_;  // of each body
  std::vector<ImpactContact> pair_, found_;
};

}  // namespace

std::vector<ImpactContact> find_impact_contacts(const ImpactScene& scene) { return Finder(scene).run(); }

}  // namespace scree
