// The potential certificate of iterated impact laws: a witness, jams, and what they say about the number of steps.
//                                                                                              theory (13.8) to (13.15)
#pragma once

#include <Eigen/Core>
#include <vector>

#include "impact/sparse_columns.h"

namespace scree {

// Cones whose margin 1/w is smaller count as jammed: normals are known to some d u only.
constexpr double kJamMargin = 1e-13;

// z with a_k.z >= 1 for all k, of nearly least norm.                                                      theory (13.9)
struct Witness {
  bool found = false;
  Eigen::VectorXd z;
  double w = 0;                 // >= |z|
  int bits = 53;                // of the arithmetic it was computed in; it is always proved in double-double
  Eigen::VectorXd combination;  // not found: x >= 0, sum 1, with sum_k x_k a_k = 0 up to rounding
};
Witness find_witness(const SparseColumns& normals);

// Contacts that no feasible velocity opens, and the subspace they leave.                                  theory (13.7)
struct JamReduction {
  std::vector<int> jammed, open;  // contacts, in order
  Eigen::MatrixXd basis;          // d x r, orthonormal: velocities with a_k.y = 0 for all jammed k; r = d if none
  SparseColumns normals;          // of `open`, in coordinates of the basis, unit vectors
  Eigen::VectorXd size;           // of `open`: length of the projected normal before it was scaled to 1
  Witness witness;                // of `normals`; in coordinates of the basis
};
JamReduction reduce_jams(const SparseColumns& normals);

}  // namespace scree
