#include "integrators/contact_scratch.h"

#include <algorithm>

namespace scree {

ContactScratch::ContactScratch(const Model& model, const World& world)
    : set(model, world),
      delta_trial(model.nv()),
      momentum(delta_trial),
      metric(model.nv(), model.nv()),
      metric_factor(metric),
      metric_diagonal(delta_trial),
      turning(delta_trial),
      Z(model.nv(), 0),
      HZ(Z),
      U(0, model.nv()) {}

void ContactScratch::reserve() {
  if (capacity_ > 0 && set.size() <= capacity_) return;
  capacity_ = std::max({1, set.size(), 2 * capacity_});  // 1: views of no columns need an address, too
  const Eigen::Index weights = Eigen::Index{capacity_} * set.vertex_count(), rows = 3 * Eigen::Index{capacity_};
  const Eigen::Index dense = std::min<Eigen::Index>(weights, ContactSet::kMostWeights);
  for (Eigen::VectorXd* x : {&w, &w_trial, &dw, &Qdw, &g, &g_held}) x->conservativeResize(weights);
  u.conservativeResize(rows);
  Z.conservativeResize(Z.rows(), weights);
  HZ.conservativeResize(HZ.rows(), weights);
  U.conservativeResize(rows, U.cols());
  Q_.resize(dense * dense);
  Q_held_.resize(dense * dense);
  UZ_.resize(std::min(rows, 3 * dense) * dense);
  const Eigen::Index columns = Eigen::Index{capacity_} * set.dimension(), nv = Z.rows();
  Y_.resize(nv * columns);
  KY_.resize(std::max<Eigen::Index>(nv, rows) * columns);
  f.resize(columns);
  y.resize(columns);
  w_active.resize(weights);
  g_active.resize(weights);
}

void ContactScratch::solve_columns(const Eigen::PartialPivLU<Eigen::MatrixXd>& lu) {
  auto columns = Z.leftCols(set.weight_count());
  auto permuted = HZ.leftCols(set.weight_count());  // in place a permutation allocates
  permuted.noalias() = lu.permutationP() * columns;
  columns = -permuted;
  lu.matrixLU().triangularView<Eigen::UnitLower>().solveInPlace(columns);
  lu.matrixLU().triangularView<Eigen::Upper>().solveInPlace(columns);
}

}  // namespace scree
