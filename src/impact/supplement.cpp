#include "impact/supplement.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>

#include "impact/certificate.h"
#include "impact/normalised.h"

namespace scree {
namespace {

using Real = long double;
constexpr Real kSafe = 1 + 1e-12L;  // for the rounding of the recursion itself

struct Trial {
  bool valid = false;
  Real r = 0, extra = 0, least = 0;  // | |v_i| - W0 | <= r; residual of the inner problem; smallest |v_i|
};

// One step from | |v|^2 - W0^2 | <= 2 C. Names follow the order of the computation.                  theory (13.21),
// (13.22)
Trial step(const StepData& s, Real u, Real eta, Real C) {
  const Real d = s.d, m = s.m, n = s.normal, Mi = s.inverse_mass, Mx = s.mass;
  const Real root_least = std::sqrt(Real(s.least)), root_most = std::sqrt(Real(s.most)), ratio = root_most / root_least;
  const Real W0 = s.norm, drift = std::sqrt(2 * C);
  Real W = W0 + drift, V = W / root_least;
  const Real Wm = W0 - drift, T = 1 / root_least, qi = s.entry;
  const auto G = [&](Real k) { return std::expm1((k - 1) * std::log1p(u)); };  // of sums of k terms
  const Real en = n * u + eta, eA = Mi * u + eta, eM = Mx * u + eta;           // of the data
  Real ep, extra = 0;                                                          // of the new velocity
  if (!s.reflections) {
    const Real e1 = V * en + u * V * (n + en) + eta;
    const Real es = d * e1 + G(d) * (d * V * n + d * e1 + eta / u);
    const Real e2 = Mi * en + n * eA + eA * en + u * (Mi + eA) * (n + en) + eta;
    const Real et = d * e2 + G(d) * (d * Mi * n + d * e2 + eta / u);
    const Real e3 = W * et + T * es + es * et + u * (W + es) * (T + et) + eta;
    ep = 2 * e3 + u * (V + 2 * W * T + 2 * e3) + eta;
  } else {
    const Real w = s.w, rho = s.rho, Z = W * (2 + w * rho), L1 = w * Z, Y = root_most * Z;
    const Real e1 = L1 * en + u * L1 * (n + en) + m * eta;
    const Real es = e1 + G(m) * (n * L1 + e1 + eta / u);
    const Real e2 = Mi * es + eA * Y + eA * es + u * (Mi + eA) * (Y + es) + eta;
    const Real et = d * e2 + G(d) * (d * Mi * Y + d * e2 + eta / u);
    ep = et + u * (V + Z / root_least + et) + eta;
    extra = L1 * rho;
    W += extra;
    V += extra / root_least;
  }
  const Real e5 = Mx * ep + eM * (V + ep) + u * (Mx + eM) * (V + ep) + eta;
  const Real e6 = d * e5 + G(d) * (d * Mx * V + d * e5 + eta / u);
  const Real e7 = V * e6 + root_most * W * ep + ep * e6 + u * (V + ep) * (root_most * W + e6) + eta;
  const Real e8 = d * e7 + G(d) * (ratio * W * W + d * e7 + eta / u);
  Trial trial;
  trial.extra = extra;
  trial.least = Wm;
  if (!(Wm - extra > 0)) return trial;
  Real e9 = e8 / (Wm - extra);  // of the norm of the new velocity
  e9 += u * (W + e9) + eta;
  const Real f1 = qi * eM + u * (Mx + eM) * qi + eta, f2 = d * f1 + G(d) * (d * Mx * qi + d * f1 + eta / u);
  const Real f3 = qi * f2 + u * qi * (root_most * W0 + f2) + eta;
  const Real f4 = d * f3 + G(d) * (ratio * W0 * W0 + d * f3 + eta / u);
  Real e10 = f4 / W0;  // of the norm before the impact
  e10 += u * (W0 + e10) + eta;
  const Real e11 = W0 * ep + V * e10 + e10 * ep + u * (W0 + e10) * (V + ep) + eta;
  const Real left = Wm - extra - e9;
  if (!(left > 0)) return trial;
  Real e12 = (e11 + W0 * e9 / root_least) / left;
  e12 += u * (W0 / root_least + e12) + eta;
  trial.r = root_most * std::sqrt(d) * e12 * kSafe;
  trial.valid = std::isfinite(trial.r);
  return trial;
}

}  // namespace

StepData step_data(const ImpactProblem& problem, bool reflections) {
  StepData data;
  data.d = problem.dofs();
  data.m = problem.contacts();
  data.reflections = reflections;
  const Eigen::MatrixXd M = 0.5 * (problem.M + problem.M.transpose());
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(M);
  data.least = eigen.eigenvalues()(0);
  data.most = eigen.eigenvalues()(data.d - 1);
  const Eigen::MatrixXd inverse = M.llt().solve(Eigen::MatrixXd::Identity(data.d, data.d));
  data.mass = M.cwiseAbs().maxCoeff();
  data.inverse_mass = inverse.cwiseAbs().maxCoeff();
  for (int k = 0; k < data.m; ++k) {
    const Eigen::VectorXd n = problem.Jn.row(k).transpose();
    data.normal = std::max(data.normal, n.cwiseAbs().maxCoeff() / std::sqrt(n.dot(inverse * n)));
  }
  // Lengths of velocities are units; the supplement's absolute terms are not: |v|_M = 1.
  data.norm = 1;
  const double norm = std::sqrt(problem.v.dot(M * problem.v));
  data.entry = norm > 0 ? problem.v.cwiseAbs().maxCoeff() / norm : 0;
  data.w = find_witness(NormalisedImpact(problem).normals()).w;
  data.rho = reflections ? 10 * 0x1p-53 : 0;
  return data;
}

StepBound step_bound(const StepData& data, double unit, double eta) {
  StepBound bound;
  const Real W0 = data.norm;
  Real C = 0;
  for (int i = 0; i < 200; ++i) {
    const Trial trial = step(data, unit, eta, C);
    if (!trial.valid) return bound;
    const Real r = trial.r, next = W0 * r + r * r / 2;
    if (!(2 * next < W0 * W0)) return bound;
    if (next <= C) {
      bound.drift_holds = true;
      bound.drift = static_cast<double>(C / (W0 * W0));
      bound.error = static_cast<double>((2 * r + trial.extra) / W0);
      bound.least = static_cast<double>(trial.least / W0);
      return bound;
    }
    C = next * (1 + 1e-9L);
  }
  return bound;
}

double norm_tolerance(const StepBound& bound) {
  if (!bound.drift_holds) return std::numeric_limits<double>::infinity();
  return std::max(std::sqrt(bound.error / (2 * bound.least)), 2 * bound.error / bound.least);
}

double potential_tolerance(const StepData& data, const StepBound& bound) {
  if (!bound.drift_holds) return std::numeric_limits<double>::infinity();
  const double theta = 0.5;
  return data.w * bound.error / (2 * theta * bound.least) + data.rho / 2;
}

SupplementBounds supplement_bounds(const ImpactProblem& problem, const ImpactOptions& options) {
  const bool reflections = options.law == ImpactLaw::reflections || options.law == ImpactLaw::restitution_blend;
  StepData data = step_data(problem, reflections);
  SupplementBounds result;
  const StepBound in_double = step_bound(data, 0x1p-53, 0x1p-53);
  result.drift_holds = in_double.drift_holds;
  result.drift = in_double.drift;
  result.least_tolerance = norm_tolerance(in_double);
  for (int bits = 8; bits <= 1000; ++bits) {
    const double unit = std::ldexp(1.0, -bits);
    data.rho = reflections ? 10 * unit : 0;
    if (norm_tolerance(step_bound(data, unit, unit)) <= options.tolerance) {
      result.bits = bits;
      break;
    }
  }
  return result;
}

}  // namespace scree
