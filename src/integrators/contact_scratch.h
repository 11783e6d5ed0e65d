// Scratch of the integrators that choose contact forces from polytopes: ne-mdp (mdp.cpp) and the stages of NMDP
// (contact_stage.cpp). It grows with the number of contacts and never shrinks.
#pragma once

#include <Eigen/LU>

#include "contact/contact_set.h"
#include "solvers/proximal_qp.h"
#include "solvers/simplex_qp.h"

namespace scree {

struct ContactScratch {
  ContactScratch(const Model& model, const World& world);
  void reserve();                                                      // for the slots the set has now
  void solve_columns(const Eigen::PartialPivLU<Eigen::MatrixXd>& lu);  // Z <- -lu^-1 Z for the slots of the set

  // Dense matrices by weight are kept for so many: ne-mdp has no more.
  bool dense() const { return set.weight_count() <= ContactSet::kMostWeights; }

  ContactSet set;
  SimplexQp qp;
  ProximalQp proximal;                             // of many points
  Eigen::VectorXd w, w_trial, dw, Qdw, g, g_held;  // by weight
  Eigen::VectorXd u;                               // 3 rows a slot
  Eigen::VectorXd delta_trial, momentum;           // nv
  Eigen::MatrixXd metric;                          // nv x nv, symmetric: of Dissipation::effective
  bool metric_whole = true;                        // its lower triangle is filled, too
  Eigen::MatrixXd metric_factor;                   // nv x nv, of many points: row k of L in column k, the rest zero
  Eigen::VectorXd metric_diagonal;                 // nv
  Eigen::VectorXd turning;                         // nv: what the metric lacks of A^T times the motion
  bool metric_wanted = false;                      // at the next factorisation
  Eigen::MatrixXd Z, HZ;                           // nv x weights
  Eigen::MatrixXd U;                               // 3 rows a slot, nv columns
  // Dense, without gaps, for the size the set has now.
  using Dense = Eigen::Map<Eigen::MatrixXd>;
  // Newton's method, of the m = dimension() columns of the active slots and their weights alone.
  using Rows = Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
  int columns() const { return set.dimension() * static_cast<int>(set.active().size()); }
  int active_weights() const { return set.vertex_count() * static_cast<int>(set.active().size()); }
  Rows Y() { return {Y_.data(), metric.rows(), columns()}; }     // d delta/df = A^-1 J^T
  Rows KY() { return {KY_.data(), metric.rows(), columns()}; }   // the metric of K times Y
  Rows UY() { return {KY_.data(), 3 * set.size(), columns()}; }  // Dissipation::contact: velocities by f
  FactoredMatrix quadratic;                                      // Q = E^T S E by the vertices E, S = Y^T KY
  Eigen::VectorXd f, y, w_active, g_active;
  Dense Q() { return {Q_.data(), set.weight_count(), set.weight_count()}; }
  Dense Q_held() { return {Q_held_.data(), set.weight_count(), set.weight_count()}; }
  Dense UZ() { return {UZ_.data(), 3 * set.size(), set.weight_count()}; }

 private:
  int capacity_ = 0;  // slots
  Eigen::VectorXd Q_, Q_held_, UZ_, Y_, KY_;
};

}  // namespace scree
