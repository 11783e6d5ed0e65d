// An impact problem in coordinates in which kinetic energy is y.y/2 and normals are unit vectors, and enclosures of
// energies and normal velocities in the data as given.
//
//   y = L^T v,  M = L L^T,  a_k = L^-1 n_k / |n_k|_{M^-1}:   a_k.y = n_k.v / |n_k|_{M^-1}            theory (13.2)
//
// Masses, normals and velocities are first scaled by powers of two, which is exact: entries are near 1 then, and units
// and ratios of masses play no part.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "impact/sparse_columns.h"
#include "math/double_double.h"
#include "scree/impact.h"

namespace scree {

class NormalisedImpact {
 public:
  explicit NormalisedImpact(const ImpactProblem& problem);  // valid

  bool regular() const { return regular_; }  // M was factorised
  int dofs() const { return static_cast<int>(mass_.rows()); }
  int contacts() const { return normals_.columns(); }

  const SparseColumns& normals() const { return normals_; }   // a_k
  const Eigen::VectorXd& y() const { return y_; }             // before the impact; norm between 1/2 and 2, or zero
  Eigen::VectorXd velocity(const Eigen::VectorXd& y) const;   // v
  Eigen::VectorXd direction(const Eigen::VectorXd& y) const;  // L^-T y without the scale of velocities
  double impulse(int k, double lambda) const;                 // [N s] along n_k, of lambda along a_k
  double energy(double square) const;                         // [J] of y.y

  // Enclosures in M, Jn as given; v any velocity.                                                        theory (13.16)
  Interval energy_ratio(const Eigen::VectorXd& after, const Eigen::VectorXd& before) const;
  Interval least_velocity(const Eigen::VectorXd& v);
  Interval mass_norm(const Eigen::VectorXd& v) const;  // |v|_M
  Interval cosine(int k, const Eigen::VectorXd& v);    // n_k.v / |n_k|_{M^-1}, not divided by |v|

 private:
  struct Square {  // of a norm: value and bound of its error
    DoubleDouble value;
    double error = 0;
  };
  Eigen::VectorXd scaled(const Eigen::VectorXd& v, int& exponent) const;  // D v 2^-exponent, entries up to 1
  Square square(const Eigen::VectorXd& scaled_v) const;                   // of |.|_M
  void bound_normals();

  bool regular_ = false, bounded_ = false;
  Eigen::VectorXi exponent_;   // D = diag(2^exponent)
  int velocity_exponent_ = 0;  // v = D^-1 2^velocity_exponent L^-T y
  Eigen::MatrixXd mass_;       // symmetric part of D^-1 M D^-1, rounded
  // The same exactly, entries that are not zero: of column j exact_start_[j] ... exact_start_[j + 1] - 1.
  Array<int> exact_start_, exact_row_;
  Array<DoubleDouble> exact_;
  Eigen::MatrixXd normal_;  // columns D^-1 n_k 2^-normal_exponent_k
  Eigen::VectorXi normal_exponent_;
  Eigen::VectorXd normal_size_;         // |column k of normal_|_{M^-1}
  std::vector<Interval> normal_bound_;  // enclosures of normal_size_
  Eigen::LLT<Eigen::MatrixXd> cholesky_;
  SparseColumns normals_;
  Eigen::VectorXd y_;
};

}  // namespace scree
