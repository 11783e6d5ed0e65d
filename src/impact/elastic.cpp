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

// Projection of y on { a_k.y >= 0 for all k }: y + sum_k lambda_k a_k.                                    theory (13.4)
struct Projection {
  Eigen::VectorXd y, lambda;
  double residual = 0;  // largest violation of 0 <= lambda, complementary to a_k.y >= 0, over |y| before
};

template <class T> Projection project(const SparseColumns& A, const Eigen::VectorXd& y) {
  const int m = A.columns();
  Nnls<T> nnls;
  nnls.reserve(A.rows, m);
  Array<int> all(m);
  std::iota(all.begin(), all.end(), 0);
  Array<T> right(A.rows), lambda(m);
  for (int j = 0; j < A.rows; ++j) right[j] = T(-y(j));
  nnls.solve(A, all.data(), m, right.data(), lambda.data());
  Projection result{y, Eigen::VectorXd(m)};
  Array<T> sum(A.rows);
  for (int j = 0; j < A.rows; ++j) sum[j] = T(y(j));
  for (int k = 0; k < m; ++k) A.add(k, lambda[k], sum.data());
  for (int j = 0; j < A.rows; ++j) result.y(j) = to_double(sum[j]);
  for (int k = 0; k < m; ++k) {
    const T& l = lambda[k];
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
// of v_c + A e Lambda_c.                                                                        theory (13.18), (13.19)
void resolve_projected(const ImpactProblem& problem, const NormalisedImpact& impact, ImpactResult& result) {
  const SparseColumns& A = impact.normals();
  const Eigen::VectorXd& y = impact.y();
  const Projection compression = project(A, y);
  Eigen::VectorXd after, lambda;
  result.steps = 1;
  result.residual = compression.residual;
  if (result.law == ImpactLaw::moreau) {
    const double e = common_restitution(problem, 1, impact_law_name(result.law));
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

// Up the ladder of arithmetics from the one asked for.
LoopEnd iterate(ReflectionRun& run, Eigen::VectorXd& y, int first_bits, int& bits) {
  const auto copy_out = [&](const auto& from) {
    for (int j = 0; j < from.count(); ++j) y(j) = to_double(from[j]);
  };
  Array<double> coarse(y.data(), y.data() + y.size());
  LoopEnd end = LoopEnd::precision;
  bits = 53;
  if (first_bits <= 53) {
    end = ReflectionLoop<double>(run, coarse).iterate();
    copy_out(coarse);
    if (end != LoopEnd::precision) return end;
    ++run.redone;
  }
  Array<DoubleDouble> fine(coarse.begin(), coarse.end());
  bits = 106;
  if (first_bits <= 106) {
    end = ReflectionLoop<DoubleDouble>(run, fine).iterate();
    copy_out(fine);
    if (end != LoopEnd::precision) return end;
    ++run.redone;
  }
  Array<Mpfr256> finest(fine.count());
  for (int j = 0; j < fine.count(); ++j) assign(finest[j], fine[j]);
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

// From coordinates of the subspace that jams leave.
Eigen::VectorXd lift(const JamReduction& jam, const Eigen::VectorXd& x) {
  return jam.jammed.empty() ? x : Eigen::VectorXd(jam.basis * x);
}

// Impulses along a_k of all contacts. Jammed ones take what the open ones leave of the change from y to `after`:
// vectors of their span are non-negative combinations of their normals. theory (13.7)
Eigen::VectorXd all_impulses(const JamReduction& jam, const SparseColumns& A, const Eigen::VectorXd& open,
                             const Eigen::VectorXd& y, const Eigen::VectorXd& after) {
  Eigen::VectorXd lambda = Eigen::VectorXd::Zero(A.columns()), rest = y - after;
  Eigen::Index i = 0;
  for (const int k : jam.open) {
    lambda(k) = open(i) / jam.size(i);
    A.add(k, lambda(k), rest.data());
    ++i;
  }
  if (jam.jammed.empty()) return lambda;
  SparseColumns jammed;
  jammed.rows = A.rows;
  for (const int k : jam.jammed) {
    for (int e = A.start[k]; e < A.start[k + 1]; ++e) jammed.append(A.row[e], A.value[e]);
    jammed.close();
  }
  const Projection reaction = project(jammed, rest);
  i = 0;
  for (const int k : jam.jammed) lambda(k) = reaction.lambda(i++);
  return lambda;
}

// The witness in the data as given, stretched by what the rounding of L may have cost, and where contacts are jammed by
// the length of projected normals. Rounding of what is stretched is up to u w: some more, until no cosine is below 1.
bool prove_witness(const JamReduction& jam, NormalisedImpact& impact, ImpactCertificate& certificate) {
  Eigen::VectorXd& witness = certificate.witness;
  witness = impact.direction(lift(jam, jam.witness.z));
  certificate.w = jam.witness.w;
  bool proved = jam.open.empty();
  for (int i = 0; i < 6 && !proved; ++i) {
    double least = std::numeric_limits<double>::infinity();
    for (const int k : jam.open) least = std::min(least, impact.cosine(k, witness).lower);
    proved = least >= 1;
    if (!(least > 0)) return false;
    if (!proved) witness *= (1 + std::ldexp(1.0, 6 * i - 48)) / least;
  }
  if (!jam.open.empty()) certificate.w = std::max(certificate.w, impact.mass_norm(witness).upper);
  return proved;
}

struct Iterated {
  Eigen::VectorXd y, lambda;  // after; along normals a_k of all contacts
};

Iterated resolve_iterated(const ImpactProblem& problem, const ImpactOptions& options, ImpactLaw law, int first_bits,
                          NormalisedImpact& impact, ImpactResult& result) {
  ImpactCertificate& certificate = result.certificate.emplace();
  certificate.tolerance = options.tolerance;
  const Eigen::VectorXd& y = impact.y();

  // What jams allow of the velocity
  const JamReduction jam = reduce_jams(impact.normals());
  certificate.jammed = jam.jammed;
  Eigen::VectorXd before = y;
  if (!jam.jammed.empty()) {
    before = jam.basis.transpose() * y;
    if (before.norm() <= kStands * y.norm()) before.setZero();
    certificate.energy_removed = impact.energy(std::max(0.0, y.squaredNorm() - before.squaredNorm()));
  }
  const double norm = before.norm();

  // The run, and theorem P before its first step with the bounds every step is held to                   theory (13.11)
  ReflectionRun run(jam.normals, before, static_cast<int>(std::min<long>(options.max_steps, kPath)));
  run.law = law;
  run.tolerance = options.tolerance;
  run.tie = options.tie;
  run.max_steps = options.max_steps;
  run.w = jam.witness.w;
  double gain = law == ImpactLaw::reflections ? kReflectionsGain : 2;
  Eigen::VectorXd restitution(static_cast<Eigen::Index>(jam.open.size()));  // of open contacts
  if (law != ImpactLaw::reflections && restitution.size() > 0 && problem.restitution.size() > 0) {
    Eigen::Index i = 0;
    for (const int k : jam.open) restitution(i++) = problem.restitution(k);
    gain = 1 + restitution.minCoeff();
    if (gain < 2) run.restitution = restitution.data();
  }
  if (norm > 0) {
    const double room = run.w * (1 + 4 * kDelta) - potential(jam.witness.z, before, norm);
    certificate.cap = 1 + std::floor(std::max(0.0, room) / ((1 - kTheta) * gain * options.tolerance) * (1 + 0x1p-48));
  }

  Eigen::VectorXd after = before;
  const LoopEnd end = norm > 0 ? iterate(run, after, first_bits, certificate.bits) : LoopEnd::resolved;
  Iterated iterated;
  iterated.y = lift(jam, after);
  iterated.lambda = all_impulses(jam, impact.normals(), run.impulse, y, iterated.y);

  // Velocities on the way
  result.path.push_back(problem.v);
  if (!jam.jammed.empty()) result.path.push_back(impact.velocity(lift(jam, before)));
  const Eigen::VectorXd start = result.path.back();
  for (long s = 0; s < std::min<long>(run.steps, run.path.cols()); ++s)
    result.path.push_back(impact.velocity(lift(jam, run.path.col(s))));
  if (run.steps > 0 || !jam.jammed.empty()) result.v = impact.velocity(iterated.y);
  if (run.steps > run.path.cols()) result.path.push_back(result.v);

  // What was measured and what is proved
  result.steps = certificate.steps = run.steps;
  certificate.theta = run.theta;
  certificate.delta = run.delta;
  certificate.rho = run.rho;
  certificate.step_error = run.step_error;
  certificate.redone = run.redone;
  const bool witnessed = prove_witness(jam, impact, certificate);
  certificate.energy_ratio = run.steps > 0 ? impact.energy_ratio(result.v, start) : Interval{1, 1};
  certificate.least_velocity = impact.least_velocity(result.v);
  const bool in_time = norm == 0 || static_cast<double>(run.steps) <= certificate.cap;
  certificate.holds = end == LoopEnd::resolved && witnessed && in_time;
  switch (end) {
    case LoopEnd::resolved:
      result.status = ImpactStatus::resolved;
      if (!jam.jammed.empty())
        result.note = fmt::format("{} of {} contacts are jammed: {:.4g} J removed", jam.jammed.size(),
                                  problem.contacts(), certificate.energy_removed);
      break;
    case LoopEnd::budget:
      result.status = ImpactStatus::budget;
      result.note = fmt::format("{} steps taken; theorem P allows up to {:.3g} for margin {:.3g}", run.steps,
                                certificate.cap, 1 / run.w);
      break;
    case LoopEnd::precision:
      result.status = ImpactStatus::not_certified;
      result.note = "a step failed its check in 256 bits";
      break;
  }
  return iterated;
}

void check_restitution(const ImpactProblem& problem, ImpactLaw law) {
  if (law == ImpactLaw::restitution_blend || law == ImpactLaw::moreau)
    common_restitution(problem, 1, impact_law_name(law));
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
      const double e = common_restitution(problem, 1, impact_law_name(options.law));
      const Iterated gr = resolve_iterated(problem, options, ImpactLaw::reflections, first_bits, impact, result);
      const Projection inelastic = project(impact.normals(), impact.y());
      result.residual = inelastic.residual;
      const Eigen::VectorXd lambda = (1 - e) * inelastic.lambda + e * gr.lambda;
      for (int k = 0; k < impact.contacts(); ++k) result.normal_impulse(k) = impact.impulse(k, lambda(k));
      if (!lambda.isZero(0)) {
        result.v = impact.velocity((1 - e) * inelastic.y + e * gr.y);
        const Eigen::VectorXd& start = result.path[result.certificate->jammed.empty() ? 0 : 1];
        if (!start.isZero(0)) result.certificate->energy_ratio = impact.energy_ratio(result.v, start);
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
