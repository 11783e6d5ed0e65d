// What all trajectories of one impact share, and what one of them leads to.
#pragma once

#include <cstdint>
#include <vector>

#include "impact/explorer.h"
#include "impact/impulse_bound.h"
#include "impact/routh_set.h"
#include "scree/outcome_set.h"

namespace scree {

// Of a problem and options that are valid.
struct OutcomeSetup {
  // `bound`: the impulse bound is wanted; else it is found only if the step follows from it.
  OutcomeSetup(const ImpactProblem& problem, const OutcomeOptions& options, bool bound);

  int contacts() const { return system.contacts(); }
  // (1 - e) inelastic + e reflections: in the cone and within the energy, as both are convex.          theory (14.6)
  void blend(Eigen::Ref<Eigen::VectorXd> y) const {
    if (restitution > 0) y = (1 - restitution) * y + restitution * elastic_y;
  }
  // What every contact does at velocity y; true: none of them moves. Allocates nothing.
  bool classify(const Eigen::Ref<const Eigen::VectorXd>& y, std::vector<ContactMode>& modes) const;

  RouthSystem system;
  Eigen::MatrixXd generators, tangents;  // of the cone of impulses; J_t L^-T
  ImpulseBound impulse;
  double step = 0, closing = 0;  // h and the last allowance of Algorithm 2 [N s]
  double restitution = 0;
  Eigen::VectorXd elastic_y, elastic_impulse;  // of reflections, if restitution > 0
};

// Seeds of trajectories: those of samples and those of searches share no numbers.
inline std::uint64_t sample_stream(long index) { return 2 * static_cast<std::uint64_t>(index); }
inline std::uint64_t search_stream(long index) { return 2 * static_cast<std::uint64_t>(index) + 1; }

// Single outcomes of one problem. Refers to problem and options.
class OutcomeDraw {
 public:
  OutcomeDraw(const ImpactProblem& problem, const OutcomeOptions& options);
  // Trajectory `index` of `seed`; `modes` (may be null) are of a trajectory that ended, else empty.
  ImpactResult sample(std::uint64_t seed, long index, std::vector<ContactMode>* modes);

 private:
  const ImpactProblem& problem_;
  OutcomeSetup setup_;
  Explorer explorer_;
};

}  // namespace scree
