#include "formats/link_size.h"

#include <algorithm>
#include <cmath>

namespace scree {
namespace {

struct HalfBox {  // centred at `centre`, in the shape's frame
  Vec3 centre, half;
};

struct Bounds {
  std::optional<HalfBox> operator()(const Sphere& s) const { return HalfBox{Vec3::Zero(), Vec3::Constant(s.radius)}; }
  std::optional<HalfBox> operator()(const Box& b) const { return HalfBox{Vec3::Zero(), 0.5 * b.size}; }
  std::optional<HalfBox> operator()(const Capsule& c) const {
    return HalfBox{Vec3::Zero(), Vec3(c.radius, c.radius, 0.5 * c.length + c.radius)};
  }
  std::optional<HalfBox> operator()(const Cylinder& c) const {
    return HalfBox{Vec3::Zero(), Vec3(c.radius, c.radius, 0.5 * c.length)};
  }
  std::optional<HalfBox> operator()(const Plane&) const { return std::nullopt; }
  std::optional<HalfBox> operator()(const std::shared_ptr<const HeightField>&) const { return std::nullopt; }
  std::optional<HalfBox> operator()(const Mesh& m) const {
    if (!m.data || m.data->vertices.empty()) return std::nullopt;
    Vec3 low = m.data->vertices.front(), high = low;
    for (const Vec3& vertex : m.data->vertices) {
      low = low.cwiseMin(vertex);
      high = high.cwiseMax(vertex);
    }
    const Vec3 scale = m.scale.cwiseAbs();
    return HalfBox{(0.5 * (low + high)).cwiseProduct(m.scale), (0.5 * (high - low)).cwiseProduct(scale)};
  }
};

}  // namespace

void Extent::include(const Extent& other) {
  low = low.cwiseMin(other.low);
  high = high.cwiseMax(other.high);
}

std::optional<Extent> extent_of(const Shape& shape) {
  const std::optional<HalfBox> box = std::visit(Bounds{}, shape.geometry);
  if (!box) return std::nullopt;
  const Vec3 centre = shape.X_BS * box->centre, half = shape.X_BS.R.cwiseAbs() * box->half;
  return Extent{centre - half, centre + half};
}

Mat3 box_inertia(double mass, const Extent& extent) {
  const Vec3 given = extent.size();
  const Vec3 size = given.cwiseMax(0.01 * given.maxCoeff());
  const Vec3 square = size.cwiseAbs2();
  return (mass / 12 * (Vec3::Constant(square.sum()) - square)).asDiagonal();
}

Mat3 ball_inertia(double mass, double radius) { return 0.4 * mass * radius * radius * Mat3::Identity(); }

double water_radius(double mass) { return std::cbrt(mass * 3 / (4 * M_PI * 1000)); }

}  // namespace scree
