#include "integrators/residual.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace scree {

void ResidualScale::measure(const Tree& tree, Discretisation& stage) {
  const double h = stage.h();
  double reach = 0;  // [m] size of the robot about the origin of the recursion
  for (const V3<double>& p : stage.trial().p) reach = std::max(reach, dot(p, p));
  reach = std::sqrt(reach);
  const std::vector<SecondMoment<double>>& composite = stage.composite();
  const std::vector<Twist<double>>& twists = stage.trial().xi;
  const auto sigma_of = [&](size_t dof) -> const SecondMoment<double>& {
    return composite[static_cast<size_t>(tree.dof_node[dof])];
  };
  // Every pose entry is off by eps * (1 + reach), so a subtree sum by k eps times the masses and lever arms below.
  const auto lever = [&](const Twist<double>& xi, const SecondMoment<double>& sigma) {
    return std::sqrt(dot(xi.w, xi.w) * sigma.m * trace(sigma.A)) + std::sqrt(dot(xi.v, xi.v)) * sigma.m;
  };
  const double far = std::numeric_limits<double>::epsilon() * (1 + reach);
  if (!tree.has_followers()) {
    for (int a = 0; a < tree.nv; ++a) {
      const size_t ia = static_cast<size_t>(a);
      const SecondMoment<double>& sigma = sigma_of(ia);
      const Twist<double>& xi = twists[ia];
      mass_diagonal(a) = dot(xi, sigma * xi) + tree.armature[ia];
      rounding(a) = far * lever(xi, sigma) / (h * h * mass_diagonal(a));
    }
    return;
  }
  mass_diagonal = Eigen::Map<const Eigen::VectorXd>(tree.armature.data(), tree.nv);
  rounding.setZero();
  for (size_t a = 0; a < twists.size(); ++a) {
    const Wrench<double> y = sigma_of(a) * twists[a];
    double mass = dot(twists[a], y);
    for (int b = tree.twin_above[a]; b >= 0; b = tree.twin_above[static_cast<size_t>(b)])
      mass += 2 * dot(twists[static_cast<size_t>(b)], y);
    mass_diagonal(tree.coordinate[a]) += mass;
    rounding(tree.coordinate[a]) += lever(twists[a], sigma_of(a));
  }
  rounding = (far / (h * h)) * rounding.cwiseQuotient(mass_diagonal);
}

void ResidualScale::add_joints(const Eigen::MatrixXd& joint_hessian) {
  for (Eigen::Index a = 0; a < rounding.size(); ++a)
    rounding(a) += std::numeric_limits<double>::epsilon() * joint_hessian(a, a) / mass_diagonal(a);
}

Residual ResidualScale::of(const Eigen::VectorXd& forces, double tolerance) const {
  Residual residual;
  for (Eigen::Index a = 0; a < forces.size(); ++a) {
    const double acceleration = std::abs(forces(a)) / mass_diagonal(a);
    // 16: a few dozen roundings of random sign add up in each subtree sum
    if (!(acceleration <= tolerance + 16 * rounding(a))) residual.small = false;
    if (acceleration > residual.largest || std::isnan(acceleration)) residual.largest = acceleration;  // NaN stays
  }
  return residual;
}

bool within_chart(const Tree& tree, const Kinematics<double>& trial) {
  for (size_t i = 0; i < tree.nodes.size(); ++i)
    if (has_chart(tree.nodes[i]) && dot(trial.chart[i], trial.chart[i]) > M_PI * M_PI / 9) return false;
  return true;
}

}  // namespace scree
