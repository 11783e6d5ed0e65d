// Routh's method: the course of an impact at one contact. The normal impulse p grows, Coulomb's law holds at every p
// for the velocity reached so far:
//
//   du/dp = G (1, s),   s = -mu u_t/|u_t| while the contact slips,                                      theory (14.7)
//
// u = (u_n, u_t) the velocity of the contact, G = J M^-1 J^T. E. J. Routh, "Dynamics of a System of Rigid Bodies",
// 1891; V. Bhatt and J. Koechling, "Three-dimensional frictional rigid-body impact", 1995. The friction cone is round.
#pragma once

#include <Eigen/Core>
#include <vector>

namespace scree {

struct RouthPath {
  bool finished = false;                // false: `max_pieces` were not enough
  Eigen::VectorXd impulse;              // 1 + t: normal, tangential [N s]
  double compression = 0;               // [N s] normal impulse until the contact stops approaching
  long pieces = 0;                      // straight pieces and steps of the integrator
  std::vector<Eigen::VectorXd> course;  // impulses at the ends of the pieces, from zero on
  double residual = 0;  // |difference of the integrator's slip velocity and that of its impulses| / |u|, largest
};

// G (1 + t) x (1 + t), t <= 2, positive semidefinite with G(0, 0) > 0; u of 1 + t, in the range of G, normal first.
// Expansion by Poisson's hypothesis: e times the impulse of compression follows, by the same law. Straight pieces are
// exact; turning slip (t = 2 only) is integrated with errors near 1e-12 of |u|.
RouthPath routh_path(const Eigen::Ref<const Eigen::MatrixXd>& G, const Eigen::Ref<const Eigen::VectorXd>& u, double mu,
                     double restitution = 0, long max_pieces = 1'000'000);

// The direction in which a contact at u_t = 0 slips off: e with g - mu C e = R e, R > 0; g = G_tn, C = G_tt.
// False if it sticks, |C^+ g| <= mu.                                                                 theory (14.9)
bool slip_off_direction(const Eigen::Matrix2d& C, const Eigen::Vector2d& g, double mu, Eigen::Vector2d& direction);

}  // namespace scree
