// The complementarity problems of inelastic impacts with friction, in mass-normalised coordinates y = L^T v, M = L L^T.
//
//   z = [beta; lambda_n; lambda_D; gamma],   w = W z + [lambda_max; J_n v; J_D v; 0]                    theory (14.3)
//
// J_D = D^T J_t: velocities along the directions D of a polygon in the tangent plane. Without the block beta it is the
// impact law of Anitescu and Potra.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "scree/impact.h"

namespace scree {

class ContactLcp {
 public:
  // A problem that is valid. `contacts`: which of its contacts take part, all if empty. Throws InputError if they are
  // too many.
  ContactLcp(const ImpactProblem& problem, int friction_directions, const std::vector<int>& contacts = {});

  int dofs() const { return static_cast<int>(J_.cols()); }
  int contacts() const { return m_; }
  int directions() const { return k_; }          // of friction per contact: 0, 2 or `friction_directions`
  int impulses() const { return m_ + k_ * m_; }  // lambda_n, lambda_D
  int size(bool capped) const { return m_ * (capped ? 2 : 1) + k_ * m_ + (k_ > 0 ? m_ : 0); }

  Eigen::VectorXd to_y(const Eigen::VectorXd& v) const { return cholesky_.matrixU() * v; }
  Eigen::VectorXd to_v(const Eigen::VectorXd& y) const { return cholesky_.matrixU().solve(y); }

  Eigen::MatrixXd normalised(const Eigen::MatrixXd& rows) const {  // rows L^-T
    return cholesky_.matrixL().solve(rows.transpose()).transpose();
  }

  const Eigen::MatrixXd& J() const { return J_; }  // [J_n; J_D] L^-T: unknowns x dofs
  const Eigen::MatrixXd& W() const { return W_; }  // with the block beta; without: its lower right corner from row m on

  // Of Lemke's algorithm: (1, ..., 1) for (14.3) as it stands there; here rows of large friction are divided by it.
  const Eigen::VectorXd& ones() const { return ones_; }

  // q of the problem; `caps` m largest normal impulses [N s], or none: the problem without beta. Allocates nothing.
  void right_side(const Eigen::Ref<const Eigen::VectorXd>& y, const double* caps, Eigen::Ref<Eigen::VectorXd> q) const;
  // y + J^T lambda; z with or without beta. Allocates nothing.
  void advance(const Eigen::Ref<const Eigen::VectorXd>& z, bool capped, Eigen::Ref<Eigen::VectorXd> y) const;

  // Adds the impulses of z, in the numbering of the problem [N s].
  void add_impulses(const Eigen::Ref<const Eigen::VectorXd>& z, bool capped, ImpactResult& result) const;

 private:
  int m_, k_, t_;
  std::vector<int> contacts_;
  Eigen::LLT<Eigen::MatrixXd> cholesky_;
  Eigen::MatrixXd D_;  // t x k, directions
  Eigen::MatrixXd J_, W_;
  Eigen::VectorXd ones_;  // with the block beta
};

}  // namespace scree
