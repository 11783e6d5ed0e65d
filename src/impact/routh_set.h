// Increments of the set-valued impact: each contact spends an allowance of impulse, or stops approaching.
//
//   0 <= beta      _|_  lambda_max - lambda_n >= 0
//   0 <= lambda_n  _|_  J_n v' + beta >= 0          friction at v' by a polygon of directions         theory (14.3)
//
// In mass-normalised coordinates y. An increment of one contact alone is a problem of that contact: allowances of zero
// leave the others no impulse.
#pragma once

#include <cstdint>
#include <vector>

#include "impact/contact_lcp.h"
#include "solvers/lcp.h"

namespace scree {

// What all trajectories share.
struct RouthSystem {
  RouthSystem(const ImpactProblem& problem, int friction_directions, double separated);

  int contacts() const { return all.contacts(); }

  ContactLcp all;
  std::vector<ContactLcp> single;
  Eigen::VectorXd y0;
  double speed;               // |y0| = |v_0|_M
  Eigen::VectorXd separated;  // m, J_n v >= -separated does not approach
};

// `contact` alone, or all if -1, with `caps` [N s]. Where the problem has several solutions: the one on Lemke's path
// from the covering vector (1, ..., 1), from one drawn from `seed`, or number `seed` of all.
struct Increment {
  enum class Pick { ones, drawn, listed };
  int contact = -1;
  const double* caps = nullptr;  // m of them; of one contact: its own
  Pick pick = Pick::ones;
  std::uint64_t seed = 0;
};

// One trajectory after another. Allocates nothing after the first, unless solutions are listed.
class RouthWalker {
 public:
  explicit RouthWalker(const RouthSystem& system);

  void start();
  bool advance(const Increment& increment);  // false: the problem was not solved, y is what it was
  static constexpr int kListed = 16;         // unknowns of the largest problem whose solutions are listed
  bool approaching() const;

  const Eigen::VectorXd& y() const { return y_; }
  const Eigen::VectorXd& normal_velocity() const { return normal_velocity_; }
  double impulse() const { return impulse_; }  // [N s] total of all normals since start()
  // [N s] since start(): lambda_n, lambda_D of all contacts, as ContactLcp orders them.
  const Eigen::VectorXd& impulses() const { return impulses_; }
  int increments() const { return increments_; }
  double worst_residual = 0, largest_gain = 0;  // over all trajectories; gain: (K' - K)/K_0

 private:
  void update();
  bool solve(const ContactLcp& lcp, const Increment& increment);

  const RouthSystem& system_;
  Lemke lemke_;
  Eigen::VectorXd y_, normal_velocity_, q_, z_, covering_, impulses_;
  double impulse_ = 0, energy_ = 0;
  int increments_ = 0;
};

}  // namespace scree
