// The certificate of the supplement of Vouga, Smith, Kaufman, Tamstorf and Grinspun, "All's Well That Ends Well", 2017,
// repaired: a priori bounds of the rounding of one step of Algorithms 3 and 4, as one recursion.      theory (13.21) on
#pragma once

#include "scree/impact.h"

namespace scree {

// What the bounds are made of. Coordinates as given, normals scaled to |n_k|_{M^-1} = 1.
struct StepData {
  int d = 0, m = 0;
  double normal = 0, inverse_mass = 0, mass = 0;  // largest entries of N, M^-1, M
  double least = 1, most = 1;                     // eigenvalues of M
  double norm = 0, length = 0, entry = 0;         // |v|_M, |v|_2, largest entry of v
  double w = 0;                                   // of the witness
  bool reflections = false;                       // Algorithm 4, not 3
  double rho = 0;                                 // residual of its inner problem
};
// rho = 10 * 2^-53, w by find_witness(). v is scaled to |v|_M = 1, or as given: the absolute terms of the bounds, which
// stand for underflow, see the difference.
StepData step_data(const ImpactProblem& problem, bool reflections, bool as_given = false);

struct StepBound {
  bool drift_holds = false;
  double drift = 0;  // C/W0^2: | |v_i|_M^2 - W0^2 | <= 2 C for ever
  double error = 0;  // bound of |c_i|_M / W0
  double least = 0;  // of |v_i|_M / W0
};
// unit: of the arithmetic, 2^-bits; eta: its underflow, the supplement takes eta = unit.
StepBound step_bound(const StepData& data, double unit, double eta);

// Least tolerance for the axiom NORM, with the square root of the unit; for theorem P, linear in it (theta = 1/2).
double norm_tolerance(const StepBound& bound);
double potential_tolerance(const StepData& data, const StepBound& bound);

// The lemmas as printed, constants alpha_1 ... gamma_21 and kappa_2 ... kappa_10 (of reflections, with kappa_1 = 1).
struct PrintedBound {
  double gamma = 0;          // unit gamma_21: lemma A.1 asks for < 2
  bool drift_holds = false;  // hypotheses of lemma A.1
  double tolerance = 0;      // least one by lemma A.2 or A.4; infinite without a drift bound or where it is not below 1
};
// repaired: the square of the unit in the energy bound and sqrt(C), not C, above the root; the smallest C and a lower
// bound of |v_i|_M that is one.
PrintedBound printed_bound(const StepData& data, double unit, bool repaired);

SupplementBounds supplement_bounds(const ImpactProblem& problem, const ImpactOptions& options);

}  // namespace scree
