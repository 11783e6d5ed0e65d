#include "impact/elastic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "impact/certificate.h"
#include "impact/nnls.h"
#include "impact/normalised.h"
#include "impact/reflect.h"
#include "impact/supplement.h"
#include "scree/error.h"

namespace scree {
namespace {

constexpr int kPath = 1000;          // velocities kept at most
constexpr double kResidual = 1e-10;  // of a projection, relative: larger ones are failures
constexpr double kStands = 1e-13;    // what jams leave of a velocity that is smaller is rounding

// e of laws that have one for all contacts.
double common_restitution(const ImpactProblem& problem, ImpactLaw law) {
  if (problem.restitution.size() == 0) return 1;
  const double e = problem.restitution(0);
  for (Eigen::Index k = 1; k < problem.restitution.size(); ++k)
    if (problem.restitution(k) != e)
      throw InputError(fmt::format("restitution[{}]: {}, expected {} as in restitution[0]: {} has one for all contacts",
                                   k, problem.restitution(k), e, impact_law_name(law)));
  return e;
}

// Projection of y on { a_k.y >= 0 for all k }: y + sum_k lambda_k a_k.                                    theory (13.4)
struct Projection {
  Eigen::VectorXd y, lambda;
  double residual = 0;  // largest violation of 0 <= lambda, complementary to a_k.y >= 0, over |y| before
};

template <class T> Projection project(const SparseColumns& A, const Eigen::VectorXd& y) {
  const int m = A.columns();
  Nnls<T> nnls;
  nnls.reserve(A.rows, m);
  std::vector<int> all(static_cast<size_t>(m));
  std::iota(all.begin(), all.end(), 0);
  std::vector<T> right(static_cast<size_t>(A.rows)), lambda(static_cast<size_t>(m));
  for (int j = 0; j < A.rows; ++j) right[static_cast<size_t>(j)] = T(-y(j));
  nnls.solve(A, all.data(), m, right.data(), lambda.data());
  Projection result{y, Eigen::VectorXd(m)};
  std::vector<T> sum(static_cast<size_t>(A.rows));
  for (int j = 0; j < A.rows; ++j) sum[static_cast<size_t>(j)] = T(y(j));
  for (int k = 0; k < m; ++k) A.add(k, lambda[static_cast<size_t>(k)], sum.data());
  for (int j = 0; j < A.rows; ++j) result.y(j) = to_double(sum[static_cast<size_t>(j)]);
  for (int k = 0; k < m; ++k) {
    const T& l = lambda[static_cast<size_t>(k)];
    const double speed = to_double(A.dot(k, sum.data()));
    result.lambda(k) = to_double(l);
    result.residual = std::max(result.residual, l > T(0.0) ? std::abs(speed) : std::max(0.0, -speed));
  }
  const double norm = y.norm();
  result.residual = norm > 0 ? result.residual / norm : 0;
  return result;
}

Projection project(const SparseColumns& A, const Eigen::VectorXd& y) {
  Projection result = project<double>(A, y);
  if (result.residual > 1e-13) {
    Projection finer = project<DoubleDouble>(A, y);
    if (finer.residual < result.residual) result = std::move(finer);
  }
  return result;
}

// --- laws of one or two projections ---

// v+ = -e v + (1 + e) P(v); Poisson: 0 <= Lambda_e - e Lambda_c, complementary to a_k.y+ >= 0, which is the projection
// of v_c + A e Lambda_c.                                                                            theory (13.18),
// (13.19)
void resolve_projected(const ImpactProblem& problem, const NormalisedImpact& impact, ImpactResult& result) {
  const SparseColumns& A = impact.normals();
  const Eigen::VectorXd& y = impact.y();
  const Projection compression = project(A, y);
  Eigen::VectorXd after, lambda;
  result.steps = 1;
  result.residual = compression.residual;
  if (result.law == ImpactLaw::moreau) {
    const double e = common_restitution(problem, result.law);
    after = compression.y + e * (compression.y - y);
    lambda = (1 + e) * compression.lambda;
  } else {
    Eigen::VectorXd start = compression.y;
    lambda = compression.lambda;
    for (int k = 0; k < A.columns(); ++k) {
      const double part = (problem.restitution.size() == 0 ? 1 : problem.restitution(k)) * compression.lambda(k);
      lambda(k) += part;
      A.add(k, part, start.data());
    }
    const Projection expansion = project(A, start);
    after = expansion.y;
    lambda += expansion.lambda;
    result.steps = 2;
    result.residual = std::max(result.residual, expansion.residual);
  }
  for (int k = 0; k < A.columns(); ++k) result.normal_impulse(k) = impact.impulse(k, lambda(k));
  if (!lambda.isZero(0)) result.v = impact.velocity(after);
  result.status = result.residual <= kResidual ? ImpactStatus::resolved : ImpactStatus::solver_failed;
  if (result.status != ImpactStatus::resolved)
    result.note = fmt::format("projection of residual {:.3g}, expected at most {:g}", result.residual, kResidual);
}

// --- iterated laws ---

// Down the ladder of arithmetics from the one asked for.
LoopEnd iterate(ReflectionRun& run, Eigen::VectorXd& y, int first_bits, int& bits) {
  const auto copy_out = [&](const auto& from) {
    for (size_t j = 0; j < from.size(); ++j) y(static_cast<Eigen::Index>(j)) = to_double(from[j]);
  };
  std::vector<double> coarse(y.data(), y.data() + y.size());
  LoopEnd end = LoopEnd::precision;
  bits = 53;
  if (first_bits <= 53) {
    end = ReflectionLoop<double>(run, coarse).iterate();
    copy_out(coarse);
    if (end != LoopEnd::precision) return end;
    ++run.redone;
  }
  std::vector<DoubleDouble> fine(coarse.begin(), coarse.end());
  bits = 106;
  if (first_bits <= 106) {
    end = ReflectionLoop<DoubleDouble>(run, fine).iterate();
    copy_out(fine);
    if (end != LoopEnd::precision) return end;
    ++run.redone;
  }
  std::vector<Mpfr256> finest(fine.size());
  for (size_t j = 0; j < fine.size(); ++j) assign(finest[j], fine[j]);
  bits = 256;
  end = ReflectionLoop<Mpfr256>(run, finest).iterate();
  copy_out(finest);
  return end;
}

// Phi_0 = z.y_0 from below, in units of |y_0|.
double potential(const Eigen::VectorXd& z, const Eigen::VectorXd& y, double norm) {
  DoubleDouble sum;
  double terms = 0;
  for (Eigen::Index j = 0; j < y.size(); ++j) {
    sum += two_product(z(j), y(j));
    terms += std::abs(z(j) * y(j));
  }
  return (to_double(sum) - terms * 0x1p-50) / norm;
}

struct Iterated {
  Eigen::VectorXd y, lambda;  // after; along normals a_k of all contacts
  LoopEnd end = LoopEnd::resolved;
};

Iterated resolve_iterated(const ImpactProblem& problem, const ImpactOptions& options, ImpactLaw law, int first_bits,
                          NormalisedImpact& impact, ImpactResult& result) {
  ImpactCertificate& certificate = result.certificate.emplace();
  certificate.tolerance = options.tolerance;
  const JamReduction jam = reduce_jams(impact.normals());
  const bool jams = !jam.jammed.empty();
  certificate.jammed = jam.jammed;
  const Eigen::VectorXd& y = impact.y();
  const double norm0 = y.norm();
  Eigen::VectorXd before = jams ? Eigen::VectorXd(jam.basis.transpose() * y) : y;
  if (jams && before.norm() <= kStands * norm0) before.setZero();
  const double norm = before.norm();
  if (jams) certificate.energy_removed = impact.energy(std::max(0.0, y.squaredNorm() - before.squaredNorm()));

  Eigen::VectorXd restitution;  // of open contacts
  const bool dissipates =
      problem.restitution.size() > 0 && problem.restitution.minCoeff() < 1 && law != ImpactLaw::reflections;
  if (dissipates) {
    restitution.resize(static_cast<Eigen::Index>(jam.open.size()));
    for (size_t i = 0; i < jam.open.size(); ++i)
      restitution(static_cast<Eigen::Index>(i)) = problem.restitution(jam.open[i]);
  }
  ReflectionRun run(jam.normals, before, static_cast<int>(std::min<long>(options.max_steps, kPath)));
  run.law = law;
  run.tolerance = options.tolerance;
  run.tie = options.tie;
  run.max_steps = options.max_steps;
  run.restitution = dissipates && restitution.size() > 0 ? restitution.data() : nullptr;
  run.w = jam.witness.w;

  // Theorem P before the first step, with the bounds every step is held to.                              theory (13.11)
  double gain = 2;
  if (law == ImpactLaw::reflections) gain = 1.5;
  if (run.restitution != nullptr) gain = 1 + restitution.minCoeff();
  if (norm > 0) {
    const double room = run.w * (1 + 4 * kDelta) - potential(jam.witness.z, before, norm);
    certificate.cap = 1 + std::floor(std::max(0.0, room) / ((1 - kTheta) * gain * options.tolerance) * (1 + 0x1p-48));
  }

  Iterated iterated;
  Eigen::VectorXd after = before;
  if (norm > 0) iterated.end = iterate(run, after, first_bits, certificate.bits);
  result.steps = certificate.steps = run.steps;
  certificate.w = run.w;
  certificate.theta = run.theta;
  certificate.delta = run.delta;
  certificate.rho = run.rho;
  certificate.step_error = run.step_error;
  certificate.redone = run.redone;

  const auto lift = [&](const Eigen::VectorXd& x) { return jams ? Eigen::VectorXd(jam.basis * x) : x; };
  iterated.y = lift(after);
  iterated.lambda = Eigen::VectorXd::Zero(impact.contacts());
  for (size_t i = 0; i < jam.open.size(); ++i)
    iterated.lambda(jam.open[i]) = run.impulse(static_cast<Eigen::Index>(i)) / jam.size(static_cast<Eigen::Index>(i));
  if (jams) {
    // Jammed contacts take the rest. Normals in their span are non-negative combinations of them.        theory (13.7)
    Eigen::VectorXd rest = y - iterated.y;
    for (const int k : jam.open) impact.normals().add(k, iterated.lambda(k), rest.data());
    SparseColumns jammed;
    jammed.rows = impact.dofs();
    const SparseColumns& A = impact.normals();
    for (const int k : jam.jammed) {
      for (int i = A.start[k]; i < A.start[k + 1]; ++i) jammed.append(A.row[i], A.value[i]);
      jammed.close();
    }
    const Projection reaction = project(jammed, rest);
    for (size_t i = 0; i < jam.jammed.size(); ++i)
      iterated.lambda(jam.jammed[i]) = reaction.lambda(static_cast<Eigen::Index>(i));
  }

  result.path.push_back(problem.v);
  Eigen::VectorXd start = problem.v;  // of the steps
  if (jams) {
    start = impact.velocity(lift(before));
    result.path.push_back(start);
  }
  for (long s = 0; s < std::min<long>(run.steps, run.path.cols()); ++s)
    result.path.push_back(impact.velocity(lift(run.path.col(s))));
  if (run.steps > 0 || jams) result.v = impact.velocity(iterated.y);
  if (run.steps > run.path.cols()) result.path.push_back(result.v);

  // Witness in the data as given, stretched by what the rounding of L may have cost, and where contacts are jammed by
  // the length of projected normals.
  bool witnessed = true;
  certificate.witness = impact.direction(lift(jam.witness.z));
  if (!jam.open.empty()) {
    // Rounding of the stretched witness is up to u w of its cosines: some more, until none is below 1.
    witnessed = false;
    for (int i = 0; i < 6 && !witnessed; ++i) {
      double least = std::numeric_limits<double>::infinity();
      for (const int k : jam.open) least = std::min(least, impact.cosine(k, certificate.witness).lower);
      witnessed = least >= 1;
      if (!(least > 0)) break;
      if (!witnessed) certificate.witness *= (1 + std::ldexp(1.0, 6 * i - 48)) / least;
    }
    certificate.w = std::max(run.w, impact.mass_norm(certificate.witness).upper);
  }
  certificate.energy_ratio = Interval{1, 1};
  if (norm > 0 && run.steps > 0) certificate.energy_ratio = impact.energy_ratio(result.v, start);
  certificate.least_velocity = impact.least_velocity(result.v);
  certificate.holds =
      iterated.end == LoopEnd::resolved && witnessed && static_cast<double>(run.steps) <= certificate.cap;
  if (norm == 0) certificate.holds = witnessed;

  result.status = iterated.end == LoopEnd::resolved ? ImpactStatus::resolved
                  : iterated.end == LoopEnd::budget ? ImpactStatus::budget
                                                    : ImpactStatus::not_certified;
  if (result.status == ImpactStatus::budget)
    result.note = fmt::format("{} steps taken; theorem P allows up to {:.3g} for margin {:.3g}", run.steps,
                              certificate.cap, run.w > 0 ? 1 / run.w : 0);
  else if (result.status == ImpactStatus::not_certified)
    result.note = "a step failed its check in 256 bits";
  else if (jams)
    result.note = fmt::format("{} of {} contacts are jammed: {:.4g} J removed", jam.jammed.size(), problem.contacts(),
                              certificate.energy_removed);
  return iterated;
}

void check_restitution(const ImpactProblem& problem, ImpactLaw law) {
  if (law == ImpactLaw::restitution_blend || law == ImpactLaw::moreau) common_restitution(problem, law);
  if (law != ImpactLaw::reflections) return;
  for (Eigen::Index k = 0; k < problem.restitution.size(); ++k)
    if (problem.restitution(k) != 1)
      throw InputError(fmt::format("restitution[{}]: {}, expected 1 of reflections; restitution-blend knows others", k,
                                   problem.restitution(k)));
}

}  // namespace

ImpactResult resolve_elastic(const ImpactProblem& problem, const ImpactOptions& options) {
  return resolve_elastic(problem, options, 53);
}

ImpactResult resolve_elastic(const ImpactProblem& problem, const ImpactOptions& options, int first_bits) {
  check_restitution(problem, options.law);
  ImpactResult result = start_result(problem, options.law);
  NormalisedImpact impact(problem);
  if (!impact.regular()) {
    result.note = "the mass matrix was not factorised";
    finish_result(problem, result);
    return result;
  }
  switch (options.law) {
    case ImpactLaw::moreau:
    case ImpactLaw::poisson:
      resolve_projected(problem, impact, result);
      break;
    case ImpactLaw::restitution_blend: {
      // (1 - e) P(v) + e GR(v): both are feasible and have no more energy, and both sets are convex.     theory (13.20)
      const double e = common_restitution(problem, options.law);
      const Iterated gr = resolve_iterated(problem, options, ImpactLaw::reflections, first_bits, impact, result);
      const Projection inelastic = project(impact.normals(), impact.y());
      result.residual = inelastic.residual;
      const Eigen::VectorXd lambda = (1 - e) * inelastic.lambda + e * gr.lambda;
      for (int k = 0; k < impact.contacts(); ++k) result.normal_impulse(k) = impact.impulse(k, lambda(k));
      if (!lambda.isZero(0)) {
        result.v = impact.velocity((1 - e) * inelastic.y + e * gr.y);
        const bool jams = !result.certificate->jammed.empty();
        result.certificate->energy_ratio = impact.energy_ratio(result.v, result.path[jams ? 1 : 0]);
        result.certificate->least_velocity = impact.least_velocity(result.v);
        result.path.push_back(result.v);
      }
      if (!(result.residual <= kResidual)) {
        result.status = ImpactStatus::solver_failed;
        result.note = fmt::format("projection of residual {:.3g}, expected at most {:g}", result.residual, kResidual);
      }
      break;
    }
    default: {
      const Iterated iterated = resolve_iterated(problem, options, options.law, first_bits, impact, result);
      for (int k = 0; k < impact.contacts(); ++k) result.normal_impulse(k) = impact.impulse(k, iterated.lambda(k));
    }
  }
  if (options.supplement_bounds) result.supplement = supplement_bounds(problem, options);
  finish_result(problem, result);
  return result;
}

}  // namespace scree
