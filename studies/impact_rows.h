// What the studies of impacts with friction share: scenes, samples of the set-valued law, rows that compare them with
// the dissertation of M. Halm (2023, chapter 7 and appendix E) and with figures computed from its examples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rows.h"
#include "scree/impact_scene.h"
#include "scree/outcome_set.h"
#include "studies.h"

namespace scree {

ImpactScene impact_scene(const StudyContext& context, const std::string& name);  // examples/impact/NAME.toml

struct ImpactSamples {
  OutcomeSet set;
  double wall = 0;       // [s] on two threads
  double processor = 0;  // [s] of both
  double done() const { return 100.0 * static_cast<double>(set.finished) / static_cast<double>(set.samples); }  // [%]
  double solves() const { return static_cast<double>(set.increments) / static_cast<double>(set.samples); }
};
// As the dissertation samples: fresh uniform allowances in [0, step], at most `max_steps` increments, the solution that
// Lemke's algorithm finds from (1, ..., 1); `vary`: from random covering vectors.
ImpactSamples uniform_samples(const StudyContext& context, const ImpactProblem& problem, double step, int max_steps,
                              long samples, bool vary = false, std::uint64_t seed = 1);
// Largest c.v of uniform samples for some c, over `known`, with several seeds: extremes of samples have a spread of
// their own.
struct Reach {
  double mean = 0, deviation = 0;
};
Reach uniform_reach(const StudyContext& context, const ImpactProblem& problem, double step, long samples,
                    const Eigen::MatrixXd& directions, double known);
// Ours next to the reference's one run.
void add_reach_spread(std::string quantity, double reference, const Reach& reach, std::vector<StudyRow>& rows);

// The persistent sampler with its own step, covering vectors and search.
ImpactSamples persistent_samples(const StudyContext& context, const ImpactProblem& problem, long samples);

// Rows of ours next to a reference that is printed with `digits` digits after the point.
StudyRow digits_row(std::string quantity, std::string unit, double reference, int digits, double value);
StudyRow near_row(std::string quantity, std::string unit, std::string paper, double reference, double value,
                  double tolerance);
// A largest (or, with a negative reference, smallest) value of samples: at least 97 % of that of the reference.
StudyRow reach_row(std::string quantity, std::string unit, double reference, double value);
// Of the better sampler: at least 99.9 % of an extreme that is known.
StudyRow extreme_row(std::string quantity, std::string unit, double known, double value);
// A share [%] of `samples`, beside that of a reference with its own noise and one digit after the point.
StudyRow share_row(std::string quantity, double reference, long reference_samples, double share, long samples);
StudyRow yes_row(std::string quantity, std::string paper, bool yes);

double share(const OutcomeSet& set, long count);  // [%] of the trajectories that ended
// Outcomes whose contacts are in these modes; -1: any.
long count_modes(const OutcomeSet& set, const std::vector<int>& modes);
// Smallest |v - outcome|_M / |v_0|_M.
double distance_to(const ImpactProblem& problem, const OutcomeSet& set, const Eigen::VectorXd& v);

double extreme(const OutcomeSet& set, const Eigen::VectorXd& c);   // largest c.v of the outcomes
double bound_of(const OutcomeSet& set, const Eigen::VectorXd& c);  // of the extreme in that direction

// Number of increments of theorem 13, with the r of the set: 4 ceil((m + 1) |r|_2 / (h sqrt(sigma))).  (7.29)
double theorem13(const ImpactProblem& problem, const OutcomeSet& set, double step);

// Done, increments, wall time, energy, residuals, total impulse: rows that every sampled example has.
void add_sampling_rows(const std::string& name, const ImpactSamples& samples, double done, double solves,
                       double wall_goal, StudyResult& result);

ImpactOutcomes outcomes_of(const ImpactProblem& problem, ImpactLaw law);
ImpactResult in_order(const ImpactProblem& problem, std::vector<int> order);
double energy_ratio(const ImpactResult& result);
double energy_ratio(const ImpactProblem& problem, const Eigen::VectorXd& v);

}  // namespace scree
