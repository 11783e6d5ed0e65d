#include "contact/rigid_contacts.h"

#include <cmath>

#include "dynamics/dynamics_impl.h"

namespace scree {
namespace {

// The second direction of a planar model moves by rounding only.
constexpr double kPlanar = 1e-12;
// [m/rad, 1] Levers below are rounding: robots are metres large.
constexpr double kImmovable = 1e-12;

// The tangents along which the point can be moved at all: of a planar model there is but one, and friction across it
// would be as large as one likes.                                                                     theory (12.3)
void choose_tangents(const Pairs& pairs, const Kinematics<double>& kin, RigidContact& contact) {
  const ContactFrame frame = contact_frame(contact.n);
  double xx = 0, xy = 0, yy = 0;  // of J_t J_t^T
  pairs.for_coordinates(contact.pair, kin, [&](size_t, const Twist<double>& xi) {
    const V3<double> u = velocity_at(xi, contact.x);
    const double x = dot(frame.t1, u), y = dot(frame.t2, u);
    xx += x * x, xy += x * y, yy += y * y;
  });
  const double mean = 0.5 * (xx + yy), spread = std::hypot(0.5 * (xx - yy), xy);
  contact.tangent[0] = frame.t1;
  contact.tangent[1] = frame.t2;
  contact.tangents = mean > 0 ? 2 : 0;
  if (contact.tangents == 0 || mean - spread > kPlanar * mean) return;
  const double angle = 0.5 * std::atan2(2 * xy, xx - yy);  // of the larger eigenvalue
  contact.tangent[0] = std::cos(angle) * frame.t1 + std::sin(angle) * frame.t2;
  contact.tangent[1] = cross(contact.n, contact.tangent[0]);
  contact.tangents = 1;
}

}  // namespace

RigidContact rigid_contact(const Pairs& pairs, const Kinematics<double>& kin, int pair, const Proximity& at) {
  RigidContact contact{};
  contact.pair = pair;
  contact.gap = at.gap;
  contact.x = at.x_a;
  contact.n = at.n;
  choose_tangents(pairs, kin, contact);
  return contact;
}

RigidContact rigid_contact(const Pairs& pairs, const Kinematics<double>& kin, int pair) {
  return rigid_contact(pairs, kin, pair, pairs.proximity(kin, pair));
}

void contact_row(const Pairs& pairs, const Kinematics<double>& kin, const RigidContact& contact,
                 const V3<double>& direction, Eigen::Ref<Eigen::VectorXd> row) {
  row.setZero();
  pairs.for_coordinates(contact.pair, kin, [&](size_t a, const Twist<double>& xi) {
    row(static_cast<Eigen::Index>(a)) = dot(direction, velocity_at(xi, contact.x));
  });
}

Eigen::VectorXd ContactRows::gaps() const {
  Eigen::VectorXd gaps(size());
  for (Eigen::Index i = 0; i < size(); ++i) gaps(i) = contacts[static_cast<size_t>(i)].gap;
  return gaps;
}

ContactRows contact_rows(const Pairs& pairs, const Kinematics<double>& kin, std::vector<RigidContact> contacts,
                         bool friction, Eigen::Index nv) {
  ContactRows rows;
  rows.contacts = std::move(contacts);
  if (friction)
    for (const RigidContact& contact : rows.contacts) rows.tangents = std::max(rows.tangents, contact.tangents);
  rows.Jn.resize(rows.size(), nv);
  rows.Jt = Eigen::MatrixXd::Zero(rows.tangents * rows.size(), nv);
  Eigen::VectorXd row(nv);
  for (Eigen::Index i = 0; i < rows.size(); ++i) {
    const RigidContact& contact = rows.contacts[static_cast<size_t>(i)];
    contact_row(pairs, kin, contact, contact.n, row);
    rows.Jn.row(i) = row;
    for (int t = 0; t < std::min(rows.tangents, contact.tangents); ++t) {
      contact_row(pairs, kin, contact, contact.tangent[t], row);
      rows.Jt.row(rows.tangents * i + t) = row;
    }
  }
  return rows;
}

ImpactProblem impact_problem(const ContactRows& rows, const Eigen::MatrixXd& M, double friction,
                             const Eigen::VectorXd& v) {
  ImpactProblem problem;
  problem.M = M;
  problem.Jn = rows.Jn;
  problem.Jt = rows.Jt;
  if (rows.tangents > 0) problem.mu = Eigen::VectorXd::Constant(rows.size(), friction);
  problem.v = v;
  return problem;
}

const Kinematics<double>& RigidContacts::kinematics() const { return DynamicsAccess::impl(dynamics_).kinematics; }

int RigidContacts::deepest() {
  int deepest = -1;
  double least = 0;
  for (const int pair : near(0)) {
    const V3<double> core = pairs_.core(kinematics(), pair);
    if (!(pairs_.gap_bound(kinematics(), pair, core) < least)) continue;
    const double gap = pairs_.proximity(kinematics(), pair, core).gap;
    if (gap < least) deepest = pair, least = gap;
  }
  return deepest;
}

double RigidContacts::gap_rate(int pair, const Eigen::VectorXd& v) const {
  const Proximity at = pairs_.proximity(kinematics(), pair);
  return dot(at.n, pairs_.velocity(kinematics(), pair, at.core, v));
}

bool RigidContacts::movable(int pair) const {
  const Proximity at = pairs_.proximity(kinematics(), pair);
  bool moves = false;
  pairs_.for_coordinates(pair, kinematics(), [&](size_t, const Twist<double>& xi) {
    moves |= std::abs(dot(at.n, velocity_at(xi, at.core))) > kImmovable;
  });
  return moves;
}

ContactRows RigidContacts::rows(const std::vector<int>& pairs) const {
  std::vector<RigidContact> contacts;
  for (const int pair : pairs) contacts.push_back(rigid_contact(pairs_, kinematics(), pair));
  return contact_rows(pairs_, kinematics(), std::move(contacts), world_.surface.friction > 0, model_.nv());
}

ContactRows RigidContacts::rows_like(const ContactRows& other) const {
  std::vector<RigidContact> contacts;
  for (const RigidContact& before : other.contacts) {
    RigidContact& contact = contacts.emplace_back(rigid_contact(pairs_, kinematics(), before.pair));
    const V3<double> t = before.tangent[0] - dot(before.tangent[0], contact.n) * contact.n;
    // A normal that has turned by a right angle: any tangent is as good.
    const V3<double> along = dot(t, t) > 1e-12 ? t : cross(before.tangent[1], contact.n);
    contact.tangent[0] = (1 / std::sqrt(dot(along, along))) * along;
    contact.tangent[1] = cross(contact.n, contact.tangent[0]);
    contact.tangents = before.tangents;
  }
  return contact_rows(pairs_, kinematics(), std::move(contacts), world_.surface.friction > 0, model_.nv());
}

}  // namespace scree
