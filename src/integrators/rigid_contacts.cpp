#include "integrators/rigid_contacts.h"

#include <cmath>

namespace scree {
namespace {

// The second direction of a planar model moves by rounding only.
constexpr double kPlanar = 1e-12;

// Two tangents of which the first is the one along which the point moves most easily, and how many can move at all.
// J: of the surface point. As ne-lcp chooses them.                                             theory (12.3)
int choose_tangents(const Vec3& n, const Eigen::Matrix3Xd& J, std::array<Vec3, 2>& tangent) {
  const Vec3 e = std::abs(n.x()) < 0.9 ? Vec3::UnitX() : Vec3::UnitY();
  tangent[0] = (e - e.dot(n) * n).normalized();
  tangent[1] = n.cross(tangent[0]);
  const Eigen::RowVectorXd a = tangent[0].transpose() * J, b = tangent[1].transpose() * J;
  const double xx = a.squaredNorm(), xy = a.dot(b), yy = b.squaredNorm();
  const double mean = 0.5 * (xx + yy), spread = std::hypot(0.5 * (xx - yy), xy);
  if (!(mean > 0)) return 0;
  if (mean - spread > kPlanar * mean) return 2;
  const double angle = 0.5 * std::atan2(2 * xy, xx - yy);
  tangent[0] = std::cos(angle) * tangent[0] + std::sin(angle) * tangent[1];
  tangent[1] = n.cross(tangent[0]);
  return 1;
}

}  // namespace

SignedDistance RigidContacts::ground(int pair, Vec3& centre) const {
  centre = dynamics_.body_pose(sphere(pair).body) * sphere(pair).p_B;
  return world_.environment.distance(static_cast<size_t>(solid_of(pair)), centre);
}

double RigidContacts::gap(int pair) const {
  Vec3 centre;
  return ground(pair, centre).value - sphere(pair).radius;
}

Eigen::Matrix3Xd RigidContacts::jacobian(int pair, const Vec3& surface) {
  const BodyIndex body = sphere(pair).body;
  Eigen::Matrix3Xd J(3, model_.nv());
  dynamics_.point_jacobian(body, dynamics_.body_pose(body).inverse() * surface, J);
  return J;
}

double RigidContacts::gap_rate(int pair, const Eigen::VectorXd& v) {
  Vec3 centre;
  const SignedDistance at = ground(pair, centre);
  return at.gradient.dot(jacobian(pair, centre) * v);
}

ContactRows RigidContacts::rows(const std::vector<int>& pairs) {
  ContactRows rows;
  rows.pairs = pairs;
  const int m = rows.size(), nv = model_.nv();
  rows.gap.resize(m);
  rows.Jn.resize(m, nv);
  rows.normal.resize(pairs.size());
  rows.tangent.resize(pairs.size());
  std::vector<Eigen::Matrix3Xd> J;
  std::vector<int> movable;
  for (int i = 0; i < m; ++i) {
    const size_t k = static_cast<size_t>(i);
    Vec3 centre;
    const SignedDistance at = ground(pairs[k], centre);
    rows.gap(i) = at.value - sphere(pairs[k]).radius;
    rows.normal[k] = at.gradient;
    J.push_back(jacobian(pairs[k], centre - sphere(pairs[k]).radius * at.gradient));
    rows.Jn.row(i) = at.gradient.transpose() * J[k];
    movable.push_back(choose_tangents(at.gradient, J[k], rows.tangent[k]));
    if (world_.smooth.friction > 0) rows.tangents = std::max(rows.tangents, movable[k]);
  }
  rows.Jt = Eigen::MatrixXd::Zero(rows.tangents * m, nv);  // zero: along what cannot move
  for (int i = 0; i < m; ++i) {
    const size_t k = static_cast<size_t>(i);
    for (int t = 0; t < std::min(rows.tangents, movable[k]); ++t)
      rows.Jt.row(rows.tangents * i + t) = rows.tangent[k][static_cast<size_t>(t)].transpose() * J[k];
  }
  return rows;
}

}  // namespace scree
