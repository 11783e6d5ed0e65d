// All outcomes of an impact that are plausible where nobody knows in which order and at which rates its contacts act:
// Routh's method for many contacts, whose normal impulses grow at any relative rates (Halm and Posa; dissertation of M.
// Halm, chapter 7). The set is explored by trajectories that spend random allowances of impulse, and by a search for
// its extremes; what is found lies inside of the set, `bound` of an extreme outside.
// theory (14.3), (14.10)
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "scree/impact.h"

namespace scree {

enum class OutcomeSampler {
  uniform,     // fresh allowances, uniform in [0, step], for all contacts at every increment: as in the dissertation
  persistent,  // mostly one contact at a time, for short or long; part of the samples searches the extremes
};
const char* outcome_sampler_name(OutcomeSampler sampler);
OutcomeSampler outcome_sampler_from_name(const std::string& name);  // throws InputError

struct OutcomeOptions {
  static constexpr long kMaxNumbers = 400'000'000;  // samples times dofs: 3.2 GB

  OutcomeSampler sampler = OutcomeSampler::persistent;
  long samples = 16384;  // >= 1, trajectories, those of the search included
  double step = 0;       // h >= 0 [N s], the largest allowance; 0: half the bound of the total impulse
  int max_steps = 1000;  // N >= 1; trajectories that still approach after so many increments are not outcomes
  // A complementarity problem may have several solutions: a random covering vector at every increment lets Lemke's
  // algorithm find now one, now another. Without, it starts from (1, ..., 1).
  bool vary_solutions = true;
  // >= 0 [sqrt(J)], epsilon of Algorithm 2: a last increment of epsilon/(3 psi) for all contacts ends trajectories that
  // had no more increments. 0: Algorithm 1.
  double closing = 0;
  int friction_directions = 16;  // 3 to 64, in space
  double separated = 1e-10;      // in [1e-14, 1e-3]: Jn_i v >= -separated |Jn_i|_{M^-1} |v_0|_M does not approach
  std::uint64_t seed = 1;
  int threads = 0;   // >= 0; 0: as many as this machine has. The result does not depend on it
  long paths = 200;  // >= 0, velocities of so many trajectories after every increment, the first ones
  // Rows: directions c in which extremes of c.v are looked for. Of size 0: up and down for every row of Jn and Jt.
  Eigen::MatrixXd directions = {};
  void validate(const ImpactProblem& problem) const;  // throws InputError
};

// What a contact does afterwards, by 1e-6 |J|_{M^-1} |v_0|_M.
enum class ContactMode : std::uint8_t { stick, slide, open };

struct OutcomeMode {
  std::vector<ContactMode> contacts;
  long count = 0;
  std::string name() const;  // "A sticks, B opens"
};

struct OutcomeExtreme {
  Eigen::VectorXd direction;                                // c
  double value = -std::numeric_limits<double>::infinity();  // largest c.v found
  Eigen::VectorXd v;                                        // the outcome
  std::vector<Eigen::VectorXd> path;  // how it came to it; if another direction's search came upon it: before, after
  double bound = std::numeric_limits<double>::infinity();  // c.v is not larger for any outcome
};

struct OutcomeSet {
  double step = 0;                  // h used [N s]
  long samples = 0, finished = 0;   // trajectories, and those that ended
  long unfinished = 0, failed = 0;  // had not ended after max_steps; met a problem that Lemke's algorithm did not solve
  long increments = 0;              // complementarity problems solved
  int most_increments = 0;          // of one trajectory that ended
  Eigen::MatrixXd v;                // d x finished, outcomes in the order of the samples
  std::vector<OutcomeMode> modes;   // most frequent first
  long at_rest = 0;                 // outcomes in which no contact moves
  std::vector<std::vector<Eigen::VectorXd>> paths;  // of the first trajectories that ended: before ... after
  std::vector<OutcomeExtreme> extremes;             // as options.directions
  Interval energy_ratio;                            // of the outcomes: after / before
  double largest_gain = 0;                          // largest (K' - K)/K_0 of an increment: rounding, by theorem 12
  double worst_residual = 0;                        // of the complementarity problems (LcpReport)
  double largest_impulse = 0;                       // [N s] largest total normal impulse of a trajectory that ended
  // [N s] that total is not larger for any outcome; infinite where impulses can balance each other (a jam): then `r` is
  // zero.
  double impulse_bound = std::numeric_limits<double>::infinity();
  Eigen::VectorXd r;  // d, r.M^-1 (Jn_i + mu_i D_ik Jt_i)^T >= 1 for all i, k; |r|_{M^-1} smallest
  double r_norm = 0;  // |r|_{M^-1} [s/(m sqrt(kg))]
  bool interrupted = false;

  // Smallest and largest c.v of the outcomes.
  Interval range(const Eigen::VectorXd& c) const;
  // Corners, anticlockwise, of the convex hull of the outcomes (a.v, b.v): 2 x corners.
  Eigen::MatrixXd hull(const Eigen::VectorXd& a, const Eigen::VectorXd& b) const;
};

// `progress`: samples done and wanted; false asks to stop. Throws InputError: problem, options. Restitution: with one e
// for all contacts the outcomes are (1 - e) inelastic + e reflections (ImpactLaw::reflections).
OutcomeSet sample_outcomes(const ImpactProblem& problem, const OutcomeOptions& options = {},
                           const std::function<bool(long, long)>& progress = {});

// The outcome of trajectory `index` >= 0 alone: column `index` of what sample_outcomes() draws, bit for bit, where all
// trajectories before it end (of the persistent sampler: before it searches), with its impulses. Status `budget`: it
// did not end within max_steps; `solver_failed`: it met a problem that Lemke's algorithm did not solve; v is then where
// it stopped. `steps` are increments. Of the options samples, threads, paths and directions play no part.
ImpactResult sample_outcome(const ImpactProblem& problem, const OutcomeOptions& options, long index);

}  // namespace scree
