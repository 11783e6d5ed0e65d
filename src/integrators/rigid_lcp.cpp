#include "integrators/rigid_lcp.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "math/eigen.h"

namespace scree {
namespace {

using Slot = LcpScratch::Slot;

// In the ground a point is let out by this share of its depth a step, but not faster than that.          theory (12.4)
constexpr double kRecovery = 0.2;
constexpr double kRecoverySpeed = 0.1;  // [m/s] throws up by 0.5 mm

// Direction k of a slot's unknowns, 0: n, 1...: d_k, as a combination of its columns n, t1, t2.
Vec3 direction(const LcpScratch& lcp, const Slot& slot, int k) {
  if (k == 0) return Vec3::UnitX();
  if (slot.tangents == 1) return Vec3(0, k == 1 ? 1 : -1, 0);
  return Vec3(0, lcp.polygon(0, k - 1), lcp.polygon(1, k - 1));
}

}  // namespace

RigidLcp::RigidLcp(double h, const Kinematics<double>& kin, bool lasting, StepWorkspace::Impl& ws)
    : h_(h), kin_(kin), lasting_(lasting), ws_(ws), lcp_(ws.lcp), recovery_(kRecovery) {
  ws.trial_delta = ws.delta;
  lcp_.start();
}

double RigidLcp::allowed(double gap) const {
  if (lasting_) return 0;
  return gap >= 0 ? -gap : std::min(-recovery_ * gap, h_ * kRecoverySpeed);
}

Slot& RigidLcp::add(int pair, const Proximity& at) {
  Slot slot{};
  static_cast<RigidContact&>(slot) = rigid_contact(ws_.pairs, kin_, pair, at);
  if (!(ws_.world.surface.friction > 0)) slot.tangents = 0;
  slot.directions = slot.tangents == 2 ? static_cast<int>(lcp_.polygon.cols()) : 2 * slot.tangents;
  slot.column = lcp_.columns;
  slot.unknown = lcp_.unknowns;
  lcp_.columns += 1 + slot.tangents;
  lcp_.unknowns += 1 + slot.directions + (slot.directions > 0 ? 1 : 0);
  lcp_.slot_of[static_cast<size_t>(pair)] = static_cast<int>(lcp_.slots.size());
  return lcp_.slots.emplace_back(slot);
}

// u = u_free + G p, p = h f the impulses, G = J (h^2 A)^-1 J^T.                                        theory (12.5)
void RigidLcp::assemble() {
  LcpScratch& c = lcp_;
  const int nv = ws_.model.nv();
  c.reserve(nv);
  auto J = c.J(nv), Y = c.Y(nv);
  J.setZero();
  for (const Slot& slot : c.slots)
    ws_.pairs.for_coordinates(slot.pair, kin_, [&](size_t coordinate, const Twist<double>& xi) {
      const Eigen::Index a = static_cast<Eigen::Index>(coordinate);
      const V3<double> v = velocity_at(xi, slot.x);
      J(a, slot.column) = dot(slot.n, v);
      for (int k = 0; k < slot.tangents; ++k) J(a, slot.column + 1 + k) = dot(slot.tangent[k], v);
    });
  Y.noalias() = ws_.lu.permutationP() * J;
  ws_.lu.matrixLU().triangularView<Eigen::UnitLower>().solveInPlace(Y);
  ws_.lu.matrixLU().triangularView<Eigen::Upper>().solveInPlace(Y);
  auto G = c.G();
  G.noalias() = (1 / (h_ * h_)) * J.transpose() * Y;
  c.u.head(c.columns).noalias() = (1 / h_) * J.transpose() * ws_.trial_delta;
  for (Slot& slot : c.slots) {
    const double mean = G.diagonal().segment(slot.column, 1 + slot.tangents).mean();
    slot.scale = mean > 0 ? 1 / std::sqrt(mean) : 1;
  }

  auto M = c.M();
  M.setZero();
  auto q = c.q.head(c.unknowns);
  q.setZero();
  for (const Slot& i : c.slots) {
    for (const Slot& j : c.slots) {
      Mat3 block = Mat3::Zero();
      block.topLeftCorner(1 + i.tangents, 1 + j.tangents) =
          i.scale * j.scale * G.block(i.column, j.column, 1 + i.tangents, 1 + j.tangents);
      for (int l = 0; l <= j.directions; ++l) {
        const Vec3 column = block * direction(c, j, l);
        for (int k = 0; k <= i.directions; ++k) M(i.unknown + k, j.unknown + l) = direction(c, i, k).dot(column);
      }
    }
    Vec3 u = Vec3::Zero();
    u.head(1 + i.tangents) = i.scale * (c.u.segment(i.column, 1 + i.tangents) + Vec3::Map(i.turn).head(1 + i.tangents));
    for (int k = 0; k <= i.directions; ++k) q(i.unknown + k) = direction(c, i, k).dot(u);
    q(i.unknown) -= i.scale * allowed(i.gap) / h_;
    if (i.directions == 0) continue;
    const int lambda = i.unknown + 1 + i.directions;
    M(lambda, i.unknown) = ws_.world.surface.friction;
    for (int k = 1; k <= i.directions; ++k) {
      M(i.unknown + k, lambda) = 1;
      M(lambda, i.unknown + k) = -1;
    }
  }
}

// Forces of the slots, and the displacement with them.
void RigidLcp::apply_forces() {
  LcpScratch& c = lcp_;
  for (const Slot& slot : c.slots) {
    Vec3 impulse = Vec3::Zero();
    for (int k = 0; k <= slot.directions; ++k) impulse += c.z(slot.unknown + k) * direction(c, slot, k);
    c.f.segment(slot.column, 1 + slot.tangents) = (slot.scale / h_) * impulse.head(1 + slot.tangents);
  }
  ws_.delta = ws_.trial_delta;
  ws_.delta.noalias() += c.Y(ws_.model.nv()) * c.f.head(c.columns);
}

// The largest violation.
double RigidLcp::as_acceleration(const LcpReport& report) const {
  double lightest = std::numeric_limits<double>::infinity();
  for (const Slot& slot : lcp_.slots) lightest = std::min(lightest, slot.scale);
  return report.residual * report.scale / (lightest * h_);
}

bool RigidLcp::solve(SubstepResult& result) {
  assemble();
  const LcpReport report = lcp_.lemke.solve(lcp_.M(), lcp_.q.head(lcp_.unknowns), lcp_.z.head(lcp_.unknowns));
  result.qp_iterations += report.iterations;
  ++result.outer;
  result.residual = as_acceleration(report);
  if (report.solved()) apply_forces();
  return report.solved();
}

bool RigidLcp::stop_letting_out() {
  if (recovery_ == 0 ||
      std::none_of(lcp_.slots.begin(), lcp_.slots.end(), [](const Slot& slot) { return slot.gap < 0; }))
    return false;
  recovery_ = 0;
  return true;
}

}  // namespace scree
