// Impacts: velocities jump, positions do not. An impact problem is a mass matrix, the Jacobians of the contacts that
// are closed, and the velocity before; it knows no bodies. A law returns the velocity after, the impulses, and what it
// can prove about them.
// theory sections 13, 14
#pragma once

#include <Eigen/Core>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace scree {

struct ImpactProblem {
  static constexpr int kMaxDofs = 2000, kMaxContacts = 2000;

  Eigen::MatrixXd M;   // d x d, symmetric positive definite; v.M v/2 is the kinetic energy [J]
  Eigen::MatrixXd Jn;  // m x d, Jn v: normal velocities [m/s], > 0 where contacts open
  // (t m) x d, rows t i ... t i + t - 1 are velocities of contact i along t orthogonal unit vectors in its tangent
  // plane: t = 0 without friction, 1 in the plane, 2 in space.
  Eigen::MatrixXd Jt;
  Eigen::VectorXd mu;           // m, >= 0; of size 0: no friction
  Eigen::VectorXd restitution;  // m, each in [0, 1]; of size 0: what is usual for the law (1 for elastic ones, 0 else)
  Eigen::VectorXd v;            // d, before the impact

  int dofs() const { return static_cast<int>(M.rows()); }
  int contacts() const { return static_cast<int>(Jn.rows()); }
  int tangents() const { return contacts() == 0 ? 0 : static_cast<int>(Jt.rows()) / contacts(); }  // t
  // Throws InputError: member, value, what was expected. M may be asymmetric by 1e-12 of its largest entry.
  void validate() const;
};

std::string impact_contact_label(int contact);  // 0: A, 25: Z, 26: AA

enum class ImpactLaw {
  // Elastic, iterated, with a certificate. Pairwise: one contact at a time, each with its own restitution.
  gauss_seidel_first,   // the violated contact of lowest index
  gauss_seidel_cyclic,  // the next violated one after the last
  gauss_seidel_max,     // the most violated one; of those within `tie` the lowest index
  reflections,          // Generalized Reflections: all violated contacts at once
  restitution_blend,    // (1 - e) inelastic projection + e reflections, one e for all contacts
  // Elastic, one complementarity problem.
  moreau,   // v+ = -e v + (1 + e) P(v), one e for all contacts
  poisson,  // compression, then expansion by e times its impulses
  // With friction, inelastic.
  anitescu_potra,  // all contacts at once
  sequential,      // one contact at a time, in a given order, until nothing approaches
  routh,           // one contact: Coulomb's law along the whole course of the impact
};
const char* impact_law_name(ImpactLaw law);               // "gs-first", "gs-cyclic", "gs-max", "reflections", ...
ImpactLaw impact_law_from_name(const std::string& name);  // throws InputError that names the nearest
const std::vector<ImpactLaw>& impact_laws();
bool impact_law_is_elastic(ImpactLaw law);  // knows restitution, ignores friction

struct ImpactOptions {
  ImpactLaw law = ImpactLaw::reflections;
  // Of iterated laws, in [1e-15, 0.5], dimensionless. A contact approaches if Jn_k v < -tolerance |Jn_k|_{M^-1} |v|_M.
  double tolerance = 1e-10;
  double tie = 1e-10;              // >= 0, relative, of gs-max
  long max_steps = 10'000'000;     // >= 1: work budget of an iterated law
  bool supplement_bounds = false;  // also evaluate the repaired bounds of the 2017 supplement, theory (13.22)
  int friction_directions = 16;    // 3 to 64, of the polygon inscribed in the friction cone in space (in the plane: 2)
  std::vector<int> order = {};     // of `sequential`: contacts in the order tried, cyclically; empty: 0, 1, 2, ...
  void validate(const ImpactProblem& problem) const;  // throws InputError
};

struct Interval {
  double lower = 0, upper = 0;
};

// What is proved about a call of an iterated law.                                                    theory section 13
struct ImpactCertificate {
  bool holds = false;  // every check below was passed
  double tolerance = 0;
  Eigen::VectorXd witness;  // d, Jn_k witness >= |Jn_k|_{M^-1} for all contacts that are not jammed, = 0 for the others
  double w = 0;             // |witness|_M; 1/w is the margin of the cone of feasible velocities
  double cap = 0;           // at most so many steps, by theorem P
  long steps = 0;           // taken
  double theta = 0;         // largest w |c_i|_M / |lambda_i|_1, c_i the error of step i; < 1
  double delta = 0;         // largest | |v_i|_M / |v_0|_M - 1 |; with restitution below 1 only where it grew
  double rho = 0;           // largest relative residual of the inner problems of `reflections`
  double step_error = 0;    // largest |c_i|_M / |v_0|_M, measured
  Interval energy_ratio;    // encloses kinetic energy after / before (after jams have been projected)
  Interval least_velocity;  // encloses min_k Jn_k v+ / (|Jn_k|_{M^-1} |v+|_M)
  int bits = 53;            // largest precision of a step: 53 double, 106 double-double, more: MPFR
  long redone = 0;          // steps taken again in higher precision
  std::vector<int> jammed;  // contacts that no feasible velocity opens (a body squeezed between walls)
  double energy_removed = 0;  // [J] by projecting the velocity on what jammed contacts allow
};

// The repaired bounds of the supplement of "All's Well That Ends Well" (2017).                       theory section 13
struct SupplementBounds {
  bool drift_holds = false;  // a bound C of the drift of energy exists for double
  double drift = 0;          // C/W0^2
  double least_tolerance =
      0;         // smallest tolerance that its axiom NORM allows in double; infinite without a drift bound
  int bits = 0;  // smallest precision in which it allows `tolerance`
};

enum class ImpactStatus {
  resolved,
  budget,         // max_steps taken; v is the last velocity
  not_certified,  // no arithmetic up to the largest precision passed its checks
  solver_failed,  // a complementarity problem was not solved
};
const char* impact_status_name(ImpactStatus status);

struct ImpactResult {
  ImpactStatus status = ImpactStatus::solver_failed;
  ImpactLaw law = ImpactLaw::reflections;
  Eigen::VectorXd v;                           // d, after the impact
  Eigen::VectorXd normal_impulse;              // m [N s]
  Eigen::VectorXd tangential_impulse;          // t m [N s]
  long steps = 0;                              // reflections, complementarity problems, or pieces of a path
  double energy_before = 0, energy_after = 0;  // [J]
  double approach = 0;                         // [m/s] largest approaching normal velocity left, >= 0
  double residual = 0;                         // of complementarity problems: the largest, relative (LcpReport)
  std::vector<Eigen::VectorXd> path;           // velocities from before to after, where the law has a course
  std::optional<ImpactCertificate> certificate;
  std::optional<SupplementBounds> supplement;
  std::string note;  // in words: which solution, which order, why it failed
};

// One outcome. Throws InputError: problem, options. Every call ends.
ImpactResult resolve_impact(const ImpactProblem& problem, const ImpactOptions& options = {});

// Every outcome the law has: all solutions of anitescu-potra that differ in velocity, every order of `sequential` (all
// orders of up to 5 contacts, else every starting contact, cyclically); one for other laws.
struct ImpactOutcomes {
  std::vector<ImpactResult> outcomes;
  bool complete = true;    // the search went through all of it; false: budget used up, stopped, or too large for it
  long nodes = 0;          // of the search of anitescu-potra
  bool continuum = false;  // solutions that form a continuum of velocities; `outcomes` has its corners
};
// What the search for them may take. Every call ends.
struct ImpactSearch {
  // >= 1: faces and vertices looked at for all solutions of anitescu-potra, in the mean with 20 pivots each, of which
  // it keeps at most 256 MB. 100 000 take some 10 s with 40 unknowns. (Of `sequential`: ImpactOptions::max_steps, all
  // orders together.)
  long max_nodes = 100'000;
  // Told, now and then, how many nodes or stages are done, and of at most how many; false: the search ends there.
  std::function<bool(long done, long most)> progress = {};
  void validate() const;  // throws InputError
};
ImpactOutcomes all_impact_outcomes(const ImpactProblem& problem, const ImpactOptions& options = {},
                                   const ImpactSearch& search = {});

}  // namespace scree
