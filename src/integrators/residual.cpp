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
  for (int a = 0; a < tree.nv; ++a) {
    const size_t ia = static_cast<size_t>(a);
    const SecondMoment<double>& sigma = composite[static_cast<size_t>(tree.dof_node[ia])];
    const Twist<double>& xi = stage.trial().xi[ia];
    mass_diagonal(a) = dot(xi, sigma * xi) + tree.armature[ia];
    // Every pose entry is off by eps * (1 + reach), so a subtree sum by k eps times the masses and lever arms below.
    const double lever = std::sqrt(dot(xi.w, xi.w) * sigma.m * trace(sigma.A)) + std::sqrt(dot(xi.v, xi.v)) * sigma.m;
    rounding(a) = std::numeric_limits<double>::epsilon() * (1 + reach) * lever / (h * h * mass_diagonal(a));
  }
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
