#include "impact/routh_set.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace scree {
namespace {

constexpr int kOctaves = 8;  // entries of a covering vector span that many powers of two

}  // namespace

RouthSystem::RouthSystem(const ImpactProblem& problem, int friction_directions, double separated_)
    : all(problem, friction_directions), y0(all.to_y(problem.v)), speed(y0.norm()) {
  for (int i = 0; i < contacts() && contacts() > 1; ++i)
    single.emplace_back(problem, friction_directions, std::vector{i});
  separated = separated_ * speed * all.J().topRows(contacts()).rowwise().norm();
}

RouthWalker::RouthWalker(const RouthSystem& system) : system_(system) {
  const int n = system.all.size(true);
  lemke_.reserve(n);
  for (Eigen::VectorXd* x : {&q_, &z_, &covering_}) x->resize(n);
  normal_velocity_.resize(system.contacts());
  impulses_.resize(system.all.impulses());
  start();
}

void RouthWalker::start() {
  y_ = system_.y0;
  impulse_ = 0;
  impulses_.setZero();
  increments_ = 0;
  update();
}

void RouthWalker::update() {
  normal_velocity_.noalias() = system_.all.J().topRows(system_.contacts()) * y_;
  energy_ = y_.squaredNorm();
}

bool RouthWalker::approaching() const {
  for (int i = 0; i < system_.contacts(); ++i)
    if (normal_velocity_(i) < -system_.separated(i)) return true;
  return false;
}

// z_ of q_.
bool RouthWalker::solve(const ContactLcp& lcp, const Increment& increment) {
  const int n = lcp.size(true);
  auto q = q_.head(n), z = z_.head(n), covering = covering_.head(n);
  if (increment.pick == Increment::Pick::listed && n <= kListed) {
    const LcpSolutionSet all = enumerate_lcp_solutions(lcp.W(), q);
    if (!all.z.empty()) {
      z = all.z[static_cast<size_t>(increment.seed % all.z.size())];
      double scale = 0;
      const double residual = lcp_residual(lcp.W(), q, z, scale);
      worst_residual = std::max(worst_residual, scale > 0 ? residual / scale : residual);
      return true;
    }
  }
  covering = lcp.ones();
  if (increment.pick != Increment::Pick::ones) {
    RandomStream random(increment.seed, 0);
    for (int i = 0; i < n; ++i)  // 2^(0 ... kOctaves), linear between powers of two
      covering(i) *= std::ldexp(1 + random.uniform(), random.below(kOctaves));
  }
  LcpOptions options;
  options.covering = covering_.data();
  LcpReport report = lemke_.solve(lcp.W(), q, z, options);
  if (!report.solved()) report = lemke_.solve(lcp.W(), q, z);
  if (!report.solved()) return false;
  worst_residual = std::max(worst_residual, report.residual);
  return true;
}

bool RouthWalker::advance(const Increment& increment) {
  const bool one = increment.contact >= 0 && system_.contacts() > 1;
  const ContactLcp& lcp = one ? system_.single[static_cast<size_t>(increment.contact)] : system_.all;
  const int n = lcp.size(true), m = lcp.contacts();
  auto q = q_.head(n);
  lcp.right_side(y_, increment.caps, q);
  // Normal velocities below what counts as approaching are rounding of zero, which the caller takes them for.
  for (int i = 0; i < m; ++i) {
    const double limit = system_.separated(one ? increment.contact : i);
    if (std::abs(q(m + i)) <= limit) q(m + i) = 0;
  }
  if (!solve(lcp, increment)) return false;
  lcp.advance(z_.head(n), true, y_);
  impulse_ += z_.segment(m, m).sum();
  if (one) {
    const int k = lcp.directions();
    impulses_(increment.contact) += z_(1);
    impulses_.segment(system_.contacts() + k * increment.contact, k) += z_.segment(2, k);
  } else {
    impulses_ += z_.segment(m, lcp.impulses());
  }
  ++increments_;
  const double before = energy_;
  update();
  largest_gain = std::max(largest_gain, (energy_ - before) / system_.y0.squaredNorm());
  return true;
}

}  // namespace scree
