#include "impact/outcome_setup.h"

#include <fmt/format.h>

#include <Eigen/SVD>
#include <cmath>

#include "impact/laws.h"
#include "scree/error.h"

namespace scree {
namespace {

constexpr double kMoves = 1e-6;  // relative: slower contacts are at rest

}  // namespace

OutcomeSetup::OutcomeSetup(const ImpactProblem& problem, const OutcomeOptions& options, bool bound)
    : system(problem, options.friction_directions, options.separated) {
  restitution = common_restitution(problem, 0, "an outcome set");
  if (restitution > 0) {
    ImpactProblem elastic = problem;
    elastic.restitution.resize(0);
    ImpactOptions law;
    law.law = ImpactLaw::reflections;
    const ImpactResult result = resolve_elastic(elastic, law);
    if (result.status != ImpactStatus::resolved)
      throw InputError(fmt::format("restitution: {}, expected 0 where reflections do not end ({})", restitution,
                                   impact_status_name(result.status)));
    elastic_y = system.all.to_y(result.v);
    elastic_impulse = result.normal_impulse;
  }
  if (problem.Jt.rows() > 0) tangents = system.all.normalised(problem.Jt);
  if (bound || options.step == 0) {
    generators = impulse_generators(system.all, problem);
    impulse = bound_impulse(generators);
  }
  step = options.step;
  if (step == 0) {  // half the bound; or what would stop the softest contact alone
    const double softest = system.all.J().topRows(contacts()).rowwise().norm().minCoeff();
    step = impulse.exists ? impulse.r.norm() * system.speed : system.speed / softest;
  }
  if (!(step > 0)) step = 1;  // nothing moves
  if (options.closing > 0) {
    const Eigen::MatrixXd J = system.all.J();  // psi = sigma_max(M^-1 J^T) m (1 + max mu) + 1, Algorithm 2
    const double sigma = Eigen::JacobiSVD<Eigen::MatrixXd>(J).singularValues()(0);
    const double mu = problem.mu.size() > 0 ? problem.mu.maxCoeff() : 0;
    closing = options.closing / (3 * (sigma * contacts() * (1 + mu) + 1));
  }
}

bool OutcomeSetup::classify(const Eigen::Ref<const Eigen::VectorXd>& y, std::vector<ContactMode>& modes) const {
  bool rest = true;
  const Eigen::Index m = contacts(), t = tangents.rows() / m;
  for (Eigen::Index i = 0; i < m; ++i) {
    const auto normal = system.all.J().row(i);
    ContactMode& mode = modes[static_cast<size_t>(i)];
    mode = ContactMode::stick;
    for (Eigen::Index k = t * i; k < t * (i + 1); ++k)
      if (std::abs(tangents.row(k).dot(y)) > kMoves * tangents.row(k).norm() * system.speed) mode = ContactMode::slide;
    if (normal.dot(y) > kMoves * normal.norm() * system.speed) mode = ContactMode::open;
    rest = rest && mode == ContactMode::stick;
  }
  return rest;
}

OutcomeDraw::OutcomeDraw(const ImpactProblem& problem, const OutcomeOptions& options)
    : problem_(problem),
      setup_(problem, options, false),
      explorer_(setup_.system, options, setup_.step, setup_.closing) {}

ImpactResult OutcomeDraw::sample(std::uint64_t seed, long index, std::vector<ContactMode>* modes) {
  if (modes) modes->clear();
  RandomStream random(seed, sample_stream(index));
  explorer_.walker.worst_residual = 0;
  const TrajectoryEnd end = explorer_.sample(random, nullptr);
  const RouthWalker& walker = explorer_.walker;
  ImpactResult result = start_result(problem_, ImpactLaw::anitescu_potra);
  result.steps = walker.increments();
  result.residual = walker.worst_residual;
  setup_.system.all.add_impulses(walker.impulses(), false, result);
  Eigen::VectorXd y = walker.y();
  if (end == TrajectoryEnd::finished) {
    result.status = ImpactStatus::resolved;
    result.note = fmt::format("outcome {} of a set", index);
    if (setup_.restitution > 0) {
      setup_.blend(y);
      result.normal_impulse *= 1 - setup_.restitution;
      result.normal_impulse += setup_.restitution * setup_.elastic_impulse;
      result.tangential_impulse *= 1 - setup_.restitution;
    }
    if (modes) {
      modes->resize(static_cast<size_t>(setup_.contacts()));
      setup_.classify(y, *modes);
    }
  } else if (end == TrajectoryEnd::unfinished) {
    result.status = ImpactStatus::budget;
    result.note = fmt::format("outcome {} of a set: contacts still approach after {} increments", index, result.steps);
  } else {
    result.status = ImpactStatus::solver_failed;
    result.note = fmt::format("outcome {} of a set: the complementarity problem of increment {} was not solved", index,
                              result.steps + 1);
  }
  result.v = setup_.system.all.to_v(y);
  finish_result(problem_, result);
  return result;
}

}  // namespace scree
