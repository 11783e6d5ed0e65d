// What the studies of fans share: the impact problem that all branches begin with, shares of its outcomes, quantiles.
#pragma once

#include <string>
#include <vector>

#include "event_rows.h"
#include "scree/outcome_set.h"

namespace scree {

Fan run_study_fan(const StudyContext& context, const Scene& scene, const FanOptions& options);

// The problem that the integrator hands to the law at impact `index` of a run of the scene.
ImpactProblem problem_of_impact(const StudyContext& context, const Scene& scene, int index = 0);

// Outcomes as F samples them, beside those of the branches' impact `index`.
struct FirstImpact {
  Eigen::MatrixXd v;                  // nv x branches that had this impact
  std::vector<const FanImpact*> all;  // in the order of the branches; null: it had none
};
FirstImpact impacts_of(const Fan& fan, size_t index);

// Branches whose impact has exactly the bits of column b of the set.
long equal_bits(const FirstImpact& impacts, const OutcomeSet& set);

// Share [%] of the branches whose contacts are in a mode, by the normal velocities Jn v: which of them open.
double share_open(const ImpactProblem& problem, const Eigen::MatrixXd& v, const std::vector<bool>& open);
// A share [%] of n branches beside one of another number of samples: 3 sigma of both, and the reference's last digit.
StudyRow binomial_row(std::string quantity, double reference, double reference_samples, double share, double samples);

// 5, 25, 50, 75, 95 % of a coordinate over time.
StudyFigure quantile_figure(const Fan& fan, int coordinate, std::string title, std::string unit);
StudyFigure spread_figure(const Fan& fan, std::string title);
double spread_at(const Fan& fan, double time);  // of the row nearest to it

// Failed branches, deepest penetration, wall time, independence of threads.
void add_fan_rows(const std::string& name, const Fan& fan, StudyResult& result);
StudyRow threads_row(const StudyContext& context, const std::string& name, const Scene& scene, FanOptions options);

}  // namespace scree
