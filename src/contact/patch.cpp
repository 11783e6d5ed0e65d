// A flat patch: pressure anywhere in a polygon fixed to the body, friction and torsion within an ellipsoid, replaced by
// an inscribed polytope.                                                                      theory (8.13) to (8.16)
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "math/polygon.h"
#include "scree/contact.h"
#include "scree/error.h"

namespace scree {
namespace {

constexpr int kMostVertices = 512;

// Vertices of the limit surface. Without torsion it is a circle.
int limit_vertices(const PatchOptions& o) {
  return o.effective_torsion_radius() > 0 ? (2 * o.rings + 1) * o.directions + 2 : o.directions;
}

// Corners of the patch in body axes, from its centre [m].
Eigen::Matrix3Xd patch_corners(const PatchOptions& o) {
  // x and y of the patch as those of a contact frame: x of the body projected, or y where the patch faces x.
  const Vec3 n = o.axis.normalized();
  const Vec3 e = std::abs(n.x()) < 0.9 ? Vec3::UnitX() : Vec3::UnitY();
  const Vec3 t1 = (e - e.dot(n) * n).normalized(), t2 = n.cross(t1);
  if (o.size) {
    Eigen::Matrix3Xd result(3, 4);
    const Vec3 x = 0.5 * (*o.size)[0] * t1, y = 0.5 * (*o.size)[1] * t2;
    result << x + y, y - x, -x - y, x - y;
    return result;
  }
  if (o.radius == 0) return Vec3::Zero();
  Eigen::Matrix3Xd result(3, o.corners);
  for (int k = 0; k < o.corners; ++k) {
    const double angle = 2 * M_PI * k / o.corners;
    result.col(k) = o.radius * (std::cos(angle) * t1 + std::sin(angle) * t2);
  }
  return result;
}

class Patch final : public ContactLaw {
 public:
  explicit Patch(const PatchOptions& o)
      : options_(o),
        corners_(patch_corners(o)),
        torsion_radius_(o.effective_torsion_radius()),
        limit_(4, limit_vertices(o)),
        reach_(0) {
    // Circles of latitude from south to north, then the poles.
    const int rings = torsion_radius_ > 0 ? o.rings : 0;
    Eigen::Index m = 0;
    for (int i = -rings; i <= rings; ++i) {
      const double alpha = i * M_PI / (2 * (rings + 1));
      for (int j = 0; j < o.directions; ++j, ++m) {
        const PolygonCorner t = polygon_corner(j, o.directions);
        limit_.col(m) << std::cos(alpha), t.x, t.y, std::sin(alpha);
      }
    }
    if (torsion_radius_ > 0) limit_.rightCols<2>() << 0, 0, 0, 0, 0, 0, 1, -1;
    for (Eigen::Index k = 0; k < corners_.cols(); ++k) reach_ = std::max(reach_, corners_.col(k).norm());
  }

  int vertex_count() const override { return static_cast<int>(corners_.cols() * limit_.cols()); }

  void vertices(const ContactGeometry& geometry, Eigen::Ref<Wrenches> out) const override {
    const double c = stiffness(geometry);
    const Friction friction = friction_of(geometry.friction);
    for (Eigen::Index k = 0, column = 0; k < corners_.cols(); ++k) {
      const Vec3 r = geometry.R_CB * corners_.col(k);
      const double N = c * power(std::max(0.0, geometry.depth - r.z()), options_.exponent);
      for (Eigen::Index m = 0; m < friction.cols(); ++m, ++column)
        out.col(column) = N * unit_wrench(r, 1, friction.col(m));
    }
  }

  bool differentiable() const override { return true; }

  // Of sum_km w_km N_k g_km, with the weights of a corner summed first: g is linear in them.
  Derivative derivative(const ContactGeometry& geometry, const Eigen::Ref<const Eigen::VectorXd>& w) const override {
    const double c = stiffness(geometry);
    const Friction friction = friction_of(geometry.friction);
    Derivative result;
    for (Eigen::Index k = 0; k < corners_.cols(); ++k) {
      const Vec3 r = geometry.R_CB * corners_.col(k);
      const double d = std::max(0.0, geometry.depth - r.z());
      if (d == 0) continue;
      const auto weights = w.segment(k * friction.cols(), friction.cols());
      const double press = weights.sum();
      const Vec3 slip = friction * weights;
      const double N = c * power(d, options_.exponent), slope = c * options_.exponent * power(d, options_.exponent - 1);
      const Vec6 g = unit_wrench(r, press, slip);
      result.by_depth += slope * g;
      for (int axis = 0; axis < 3; ++axis) {
        const Vec3 dr = Vec3::Unit(axis).cross(r);
        result.by_turn.col(axis) -= slope * dr.z() * g;
        result.by_turn.col(axis).tail<3>() += N * lever(dr, press, slip);
      }
    }
    return result;
  }

  double reach() const override { return reach_; }

 private:
  using Vec6 = Eigen::Matrix<double, 6, 1>;

  // Moment of the pressure `press` at r and of the friction (slip.x, slip.y) at the height of r below or above the
  // centre of the patch: about the centre, without torsion.
  static Vec3 lever(const Vec3& r, double press, const Vec3& slip) {
    return {r.y() * press - r.z() * slip.y(), r.z() * slip.x() - r.x() * press, 0};
  }
  static Vec6 unit_wrench(const Vec3& r, double press, const Vec3& slip) {
    Vec6 g;
    g << slip.x(), slip.y(), press, lever(r, press, slip) + Vec3(0, 0, slip.z());
    return g;
  }
  static double power(double x, int n) {
    double result = x;
    for (int k = 1; k < n; ++k) result *= x;
    return result;
  }
  double stiffness(const ContactGeometry& geometry) const {  // [N/m^p]
    if (options_.stiffness) return *options_.stiffness;
    return geometry.share_of_weight / power(options_.depth.value_or(geometry.firm_depth), options_.exponent);
  }

  // Per N of pressure: force along x and y, torsion [m]: mu (t_j cos alpha, lambda sin alpha).           theory (8.15)
  using Friction = Eigen::Matrix<double, 3, Eigen::Dynamic, Eigen::ColMajor, 3, kMostVertices>;  // never on the heap
  Friction friction_of(double mu) const {
    Friction result(3, limit_.cols());
    for (Eigen::Index m = 0; m < limit_.cols(); ++m) {
      const auto l = limit_.col(m);
      result.col(m) << mu * l(0) * l(1), mu * l(0) * l(2), mu * torsion_radius_ * l(3);
    }
    return result;
  }

  PatchOptions options_;
  Eigen::Matrix3Xd corners_;  // [m] body axes, from the centre
  double torsion_radius_;     // [m] lambda
  Eigen::Matrix4Xd limit_;    // vertices of the limit surface: cos alpha, t_j, sin alpha
  double reach_;              // [m]
};

}  // namespace

double PatchOptions::effective_torsion_radius() const {
  if (torsion_radius) return *torsion_radius;
  if (!size) return 2.0 / 3 * radius;
  // Mean distance from the centre of a rectangle with half edges a and b.                              theory (8.14)
  const double a = 0.5 * (*size)[0], b = 0.5 * (*size)[1], d = std::hypot(a, b);
  return d / 3 + a * a / (6 * b) * std::log((b + d) / a) + b * b / (6 * a) * std::log((a + d) / b);
}

double PatchOptions::polytope_bound() const {
  const double circle = std::cos(M_PI / directions);
  if (!(effective_torsion_radius() > 0)) return circle;
  const double t = circle * std::tan(M_PI / (4 * (rings + 1)));
  return circle / std::sqrt(1 + t * t);  // theory (8.16)
}

void PatchOptions::validate() const {
  const auto check = [](bool good, const char* field, const auto& value, const char* expected) {
    if (!good) throw InputError(fmt::format("contact: {} is {}, expected {}", field, value, expected));
  };
  CoulombOptions coulomb;
  coulomb.directions = directions;
  coulomb.exponent = exponent;
  coulomb.depth = depth;
  coulomb.stiffness = stiffness;
  coulomb.validate();
  check(radius >= 0 && radius <= 10, "radius", radius, "a number in [0, 10] m");
  check(corners >= 3 && corners <= 32, "corners", corners, "an integer in [3, 32]");
  if (size) {
    check(std::min((*size)[0], (*size)[1]) >= 1e-6 && std::max((*size)[0], (*size)[1]) <= 20, "size",
          fmt::format("[{}, {}]", (*size)[0], (*size)[1]), "two numbers in [1e-6, 20] m");
    check(radius == 0, "radius", radius, "none beside size");
  }
  check(axis.allFinite() && axis.norm() > 1e-6 && axis.norm() < 1e6, "axis",
        fmt::format("[{}, {}, {}]", axis.x(), axis.y(), axis.z()), "a vector longer than 1e-6");
  if (torsion_radius)
    check(*torsion_radius >= 0 && *torsion_radius <= 10, "torsion_radius", *torsion_radius, "a number in [0, 10] m");
  check(rings >= 0 && rings <= 8, "rings", rings, "an integer in [0, 8]");
  const int corner_count = size ? 4 : radius > 0 ? corners : 1, count = corner_count * limit_vertices(*this);
  if (count > kMostVertices)
    throw InputError(
        fmt::format("contact: a patch of {} corners, {} directions and {} rings has {} vertices, expected at most {}",
                    corner_count, directions, rings, count, kMostVertices));
}

std::shared_ptr<const ContactLaw> make_patch(const PatchOptions& options) {
  options.validate();
  return std::make_shared<Patch>(options);
}

}  // namespace scree
