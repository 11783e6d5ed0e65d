// Coulomb friction with a compliant normal force, as a pyramid of `directions` edges.                    theory (8.2)
#include <fmt/format.h>

#include <cmath>

#include "math/polygon.h"
#include "scree/contact.h"
#include "scree/error.h"

namespace scree {
namespace {

constexpr int kMostDirections = 64;

class Coulomb final : public ContactLaw {
 public:
  explicit Coulomb(const CoulombOptions& options) : options_(options), corners_(2, options.directions) {
    for (int j = 0; j < options.directions; ++j) {
      const PolygonCorner t = polygon_corner(j, options.directions);
      corners_.col(j) << t.x, t.y;
    }
  }

  int vertex_count() const override { return options_.directions; }

  void vertices(const ContactGeometry& geometry, Eigen::Ref<Wrenches> out) const override {
    const double d = std::max(0.0, geometry.depth);
    const double magnitude = stiffness(geometry) * power(d, options_.exponent) + options_.air_force;
    out.topRows<3>() = magnitude * edges(geometry.friction);
    out.bottomRows<3>().setZero();
  }

  std::vector<int> vertices_in_plane() const override { return {0, options_.directions / 2}; }  // along x, and back

  bool has_moments() const override { return false; }

  bool differentiable() const override { return true; }

  Derivative derivative(const ContactGeometry& geometry, const Eigen::Ref<const Eigen::VectorXd>& w) const override {
    const double d = std::max(0.0, geometry.depth);
    const double slope = stiffness(geometry) * options_.exponent * power(d, options_.exponent - 1);
    Derivative result;
    result.by_depth.head<3>() = slope * (edges(geometry.friction) * w);
    return result;
  }

  double reach() const override { return options_.air_force > 0 ? std::numeric_limits<double>::infinity() : 0; }

  // What gives the stiffness: itself or a depth, if one of them is given.
  int parameter_count() const override { return options_.stiffness || options_.depth ? 1 : 0; }
  double parameter(int) const override { return options_.stiffness ? *options_.stiffness : *options_.depth; }
  std::shared_ptr<const ContactLaw> with_parameter(int, double value) const override {
    CoulombOptions changed = options_;
    (changed.stiffness ? *changed.stiffness : *changed.depth) = value;
    return std::make_shared<Coulomb>(changed);
  }

 private:
  static double power(double x, int n) {
    double result = x;
    for (int k = 1; k < n; ++k) result *= x;
    return result;
  }
  double stiffness(const ContactGeometry& geometry) const {  // [N/m^p]
    if (options_.stiffness) return *options_.stiffness;
    return geometry.share_of_weight / power(options_.depth.value_or(geometry.firm_depth), options_.exponent);
  }

  // (mu cos, mu sin, 1), without a call of the heap.
  using Edges = Eigen::Matrix<double, 3, Eigen::Dynamic, Eigen::ColMajor, 3, kMostDirections>;
  Edges edges(double mu) const {
    Edges result(3, options_.directions);
    result.topRows<2>() = mu * corners_;
    result.row(2).setOnes();
    return result;
  }

  CoulombOptions options_;
  Eigen::Matrix2Xd corners_;  // (cos, sin)
};

}  // namespace

void CoulombOptions::validate() const {
  const auto check = [](bool good, const char* field, auto value, const char* expected) {
    if (!good) throw InputError(fmt::format("contact: {} is {}, expected {}", field, value, expected));
  };
  check(directions >= 3 && directions <= kMostDirections, "directions", directions, "an integer in [3, 64]");
  check(exponent >= 2 && exponent <= 4, "exponent", exponent, "2, 3 or 4");
  if (depth) check(*depth >= 1e-6 && *depth <= 1, "depth", *depth, "a number in [1e-6, 1] m");
  if (stiffness) check(*stiffness > 0 && *stiffness <= 1e30, "stiffness", *stiffness, "a number in (0, 1e30] N/m^p");
  check(air_force >= 0 && air_force <= 1e12, "air_force", air_force, "a number in [0, 1e12] N");
}

std::shared_ptr<const ContactLaw> make_coulomb(const CoulombOptions& options) {
  options.validate();
  return std::make_shared<Coulomb>(options);
}

}  // namespace scree
