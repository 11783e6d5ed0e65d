#include "impact/contact_lcp.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "math/polygon.h"
#include "scree/error.h"

namespace scree {

constexpr int kMaxSize = 3000;  // 72 MB, and the work of a pivot is its square

ContactLcp::ContactLcp(const ImpactProblem& problem, int friction_directions, const std::vector<int>& contacts)
    : t_(problem.mu.size() > 0 ? problem.tangents() : 0), contacts_(contacts), cholesky_(problem.M) {
  if (contacts_.empty()) {
    contacts_.resize(static_cast<size_t>(problem.contacts()));
    std::iota(contacts_.begin(), contacts_.end(), 0);
  }
  m_ = static_cast<int>(contacts_.size());
  k_ = t_ == 0 ? 0 : t_ == 1 ? 2 : friction_directions;
  if (size(true) > kMaxSize)
    throw InputError(fmt::format("Jn: {} contacts with {} directions of friction make {} unknowns, expected at most {}",
                                 m_, k_, size(true), kMaxSize));
  D_.resize(t_, k_);
  for (int k = 0; k < k_; ++k) {
    const PolygonCorner d = polygon_corner(k, k_);
    D_(0, k) = d.x;
    if (t_ == 2) D_(1, k) = d.y;
  }

  Eigen::MatrixXd J(impulses(), problem.dofs());
  for (int i = 0; i < m_; ++i) {
    const int contact = contacts_[static_cast<size_t>(i)];
    J.row(i) = problem.Jn.row(contact);
    if (k_ > 0) J.middleRows(m_ + k_ * i, k_) = D_.transpose() * problem.Jt.middleRows(t_ * contact, t_);
  }
  J_ = cholesky_.matrixL().solve(J.transpose()).transpose();

  const int n = size(true), p = impulses();
  W_ = Eigen::MatrixXd::Zero(n, n);
  ones_ = Eigen::VectorXd::Ones(n);
  W_.block(0, m_, m_, m_).diagonal().setConstant(-1);
  W_.block(m_, 0, m_, m_).diagonal().setConstant(1);
  W_.block(m_, m_, p, p).noalias() = J_ * J_.transpose();
  for (int i = 0; i < m_ && k_ > 0; ++i) {
    const int gamma = m_ + p + i, first = 2 * m_ + k_ * i;
    W_.block(first, gamma, k_, 1).setConstant(1);
    // mu lambda_n - sum lambda_D >= 0, divided by mu where it is large: residuals then mean the same for all mu.
    const double mu = problem.mu(contacts_[static_cast<size_t>(i)]), scale = std::max(1.0, mu);
    W_.block(gamma, first, 1, k_).setConstant(-1 / scale);
    W_(gamma, m_ + i) = mu / scale;
    ones_(gamma) = 1 / scale;
  }
}

void ContactLcp::right_side(const Eigen::Ref<const Eigen::VectorXd>& y, const double* caps,
                            Eigen::Ref<Eigen::VectorXd> q) const {
  const int first = caps ? m_ : 0;
  q.setZero();
  if (caps) q.head(m_) = Eigen::Map<const Eigen::VectorXd>(caps, m_);
  q.segment(first, impulses()).noalias() = J_ * y;
}

void ContactLcp::advance(const Eigen::Ref<const Eigen::VectorXd>& z, bool capped, Eigen::Ref<Eigen::VectorXd> y) const {
  y.noalias() += J_.transpose() * z.segment(capped ? m_ : 0, impulses());
}

void ContactLcp::add_impulses(const Eigen::Ref<const Eigen::VectorXd>& z, bool capped, ImpactResult& result) const {
  const int first = capped ? m_ : 0;
  for (int i = 0; i < m_; ++i) {
    const int contact = contacts_[static_cast<size_t>(i)];
    result.normal_impulse(contact) += z(first + i);
    if (k_ > 0) result.tangential_impulse.segment(t_ * contact, t_) += D_ * z.segment(first + m_ + k_ * i, k_);
  }
}

}  // namespace scree
