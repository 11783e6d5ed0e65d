#include "integrators/rigid_contacts.h"

#include <algorithm>
#include <cmath>

namespace scree {
namespace {

// The second direction of a planar model moves by rounding only.
constexpr double kPlanar = 1e-12;
// [m/rad, 1] Levers below are rounding: robots are metres large.
constexpr double kImmovable = 1e-12;

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

// Zero: along what cannot move.
void set_tangent_rows(const std::vector<Eigen::Matrix3Xd>& J, ContactRows& rows) {
  rows.Jt = Eigen::MatrixXd::Zero(rows.tangents * rows.size(), rows.Jn.cols());
  for (int i = 0; i < rows.size(); ++i) {
    const size_t k = static_cast<size_t>(i);
    for (int t = 0; t < std::min(rows.tangents, rows.movable[k]); ++t)
      rows.Jt.row(rows.tangents * i + t) = rows.tangent[k][static_cast<size_t>(t)].transpose() * J[k];
  }
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

bool RigidContacts::movable(int pair) {
  Vec3 centre;
  const SignedDistance at = ground(pair, centre);
  return (at.gradient.transpose() * jacobian(pair, centre)).cwiseAbs().maxCoeff() > kImmovable;
}

ContactRows RigidContacts::normal_rows(const std::vector<int>& pairs, std::vector<Eigen::Matrix3Xd>& J) {
  ContactRows rows;
  rows.pairs = pairs;
  rows.gap.resize(rows.size());
  rows.Jn.resize(rows.size(), model_.nv());
  rows.tangent.resize(pairs.size());
  for (int i = 0; i < rows.size(); ++i) {
    const int pair = pairs[static_cast<size_t>(i)];
    Vec3 centre;
    const SignedDistance at = ground(pair, centre);
    rows.gap(i) = at.value - sphere(pair).radius;
    rows.normal.push_back(at.gradient);
    J.push_back(jacobian(pair, centre - sphere(pair).radius * at.gradient));
    rows.Jn.row(i) = at.gradient.transpose() * J.back();
  }
  return rows;
}

ContactRows RigidContacts::rows(const std::vector<int>& pairs) {
  std::vector<Eigen::Matrix3Xd> J;
  ContactRows rows = normal_rows(pairs, J);
  for (size_t k = 0; k < pairs.size(); ++k) {
    rows.movable.push_back(choose_tangents(rows.normal[k], J[k], rows.tangent[k]));
    if (world_.smooth.friction > 0) rows.tangents = std::max(rows.tangents, rows.movable[k]);
  }
  set_tangent_rows(J, rows);
  return rows;
}

ContactRows RigidContacts::rows_like(const ContactRows& other) {
  std::vector<Eigen::Matrix3Xd> J;
  ContactRows rows = normal_rows(other.pairs, J);
  rows.movable = other.movable;
  rows.tangents = other.tangents;
  for (size_t k = 0; k < rows.pairs.size(); ++k) {
    const Vec3& n = rows.normal[k];
    const Vec3 t = other.tangent[k][0] - other.tangent[k][0].dot(n) * n;
    // A normal that has turned by a right angle: any tangent is as good.
    rows.tangent[k][0] = t.norm() > 1e-6 ? t.normalized() : other.tangent[k][1].cross(n).normalized();
    rows.tangent[k][1] = n.cross(rows.tangent[k][0]);
  }
  set_tangent_rows(J, rows);
  return rows;
}

}  // namespace scree
