// What holds for every outcome of an impact whose increments dissipate, without looking at any.
#pragma once

#include "impact/contact_lcp.h"

namespace scree {

// The cone of impulses, by its generators g_ik = J_n,i + mu_i D_ik J_t,i: rows, in mass-normalised coordinates.
Eigen::MatrixXd impulse_generators(const ContactLcp& lcp, const ImpactProblem& problem);

// The r of smallest norm with G r >= 1: the total of all normal impulses is at most 2 |r| |v_0|_M.       theory (14.11)
struct ImpulseBound {
  bool exists = false;  // else impulses can balance each other
  Eigen::VectorXd r;    // mass-normalised
};
ImpulseBound bound_impulse(const Eigen::MatrixXd& generators);

// Not smaller than c.y for all y = y_0 + G^T lambda, lambda >= 0, |y| <= radius, J_n y >= -separated.    theory (14.12)
double outer_bound(const Eigen::MatrixXd& generators, const Eigen::MatrixXd& normals, const Eigen::VectorXd& separated,
                   const Eigen::VectorXd& y0, double radius, const Eigen::VectorXd& c, const ImpulseBound& impulse);

}  // namespace scree
