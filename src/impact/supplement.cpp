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

// One step from | |v|^2 - W0^2 | <= 2 C. Names follow the order of the computation.             theory (13.21), (13.22)
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

StepData step_data(const ImpactProblem& problem, bool reflections, bool as_given) {
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
  const double norm = std::sqrt(problem.v.dot(M * problem.v)), scale = as_given || norm == 0 ? 1 : 1 / norm;
  data.norm = norm == 0 ? 1 : scale * norm;
  data.length = scale * problem.v.norm();
  data.entry = scale * problem.v.cwiseAbs().maxCoeff();
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

// Section A of the supplement, letter by letter; u its machine epsilon. What is wrong with it: theory section 13.
PrintedBound printed_bound(const StepData& s, double unit, bool repaired) {
  const Real u = unit, d = s.d, m = s.m, n = s.normal, Mi = s.inverse_mass, Mx = s.mass, lmin = s.least, lmax = s.most;
  const Real qM = s.norm, q2 = s.length, qi = s.entry, root2 = std::sqrt(2.0L), rd = std::sqrt(d);
  const Real P0 = qM / std::sqrt(lmin), P1 = std::sqrt(2 / lmin), g = std::exp((d - 1) * std::log1p(u));
  const Real al1 = std::sqrt(lmax / lmin) * q2, be1 = root2;
  Real al8, be8;
  if (!s.reflections) {
    const Real al2 = al1 * (n * (1 + u) + u) + 1, be2 = be1 * (n * (1 + u) + u);
    const Real al3 = (1 + n * al1 + 2 * u * al2) * d * g, be3 = (n * be1 + 2 * u * be2) * d * g;
    const Real al4 = 7 * Mi * n + 4 * Mi + 4 * n + 3, al5 = (1 + Mi * n + 2 * u * al4) * g;
    const Real al6 = 1 + (1 + 2 * al3) * d * Mi * n + 2 * al5 * d * n * al1 + 2 * al3 * al5;
    const Real be6 = 2 * be3 * d * Mi * n + 2 * al5 * d * n * be1 + 2 * al5 * be3;
    const Real al7 = 1 + 4 * al6 + 2 * d * Mi * n * n * al1, be7 = 4 * be6 + 2 * d * Mi * n * n * be1;
    al8 = 1 + al1 + 2 * al7 + 2 * d * Mi * n * n * al1;
    be8 = be1 + 2 * be7 + 2 * d * Mi * n * n * be1;
  } else {
    const Real ka1 = 1, ka = 2 * rd / lmax + u * ka1 / m, ka2 = ka * qM, mu2 = ka * root2;
    const Real ka3 = 3 * n * ka2 + 2 * ka2 + 1, mu3 = 3 * n * mu2 + 2 * mu2;
    const Real ka4 = (2 * ka3 + 1 + m * n * ka2) * d * g, mu4 = (2 * mu3 + m * n * mu2) * d * g;
    const Real ka5 = 1 + (5 * Mi + 2) * ka4 + 2 * (Mi + 1) * n * ka2, mu5 = (5 * Mi + 2) * mu4 + 2 * (Mi + 1) * n * mu2;
    const Real ka6 = d * ka5 + (1 + d * Mi * n * ka2 + ka5) * d * g, mu6 = d * mu5 + (mu5 + d * Mi * n * mu2) * d * g;
    const Real ka7 = 2 * qM * rd * ka2 * ka1, mu7 = 2 * root2 * rd * ka2 * ka1 + 2 * qM * rd * ka1 * mu2;
    const Real nu7 = 2 * root2 * rd * ka1 * mu2;
    const Real ka8 = (mu7 / (2 * std::sqrt(nu7)) + std::sqrt(std::abs(ka7 - mu7 * mu7 / (4 * nu7)))) / lmax;
    const Real mu8 = std::sqrt(nu7) / lmax, ka9 = ka6 + ka8, mu9 = mu6 + mu8;
    al8 = 2 * ka9 + d * d * Mi * n * ka2 + al1 + 1;  // kappa_10
    be8 = 2 * mu9 + d * d * Mi * n * mu2 + be1;
  }
  const Real al9 = 1 + (2 + 3 * Mx) * (al8 + P0), be9 = (2 + 3 * Mx) * (be8 + P1);
  const Real al10 = d * al9 + (1 + d * Mx * P0 + u * al9) * d * g, be10 = d * be9 + (d * Mx * P1 + u * be9) * d * g;
  const Real al11 = 1 + d * Mx * P0 * P0 + 2 * al8 * al10 + 2 * (al10 + al8 * d * Mx) * P0;
  const Real be11 = 2 * d * Mx * P0 * P1 + 2 * al8 * be10 + 2 * al10 * be8 + 2 * (be10 + be8 * d * Mx) * P0 +
                    2 * (al10 + al8 * d * Mx) * P1;
  const Real ga11 = d * Mx * P1 * P1 + 2 * be8 * be10 + 2 * (be10 + be8 * d * Mx) * P1;
  const Real al12 = d * al11 + (1 + d * qM + d * u * al11) * d * g,
             be12 = d * be11 + (d * root2 + d * u * be11) * d * g;
  const Real ga12 = d * ga11 + d * d * u * ga11 * g, lift = (1 + u) / std::sqrt(u);
  const Real al13 =
      1 + qM + lift * (std::sqrt(std::abs(al12 - be12 * be12 / (4 * ga12))) + be12 / (2 * std::sqrt(ga12)));
  const Real be13 = lift * std::sqrt(ga12);
  const Real al14 = 2 * Mx * qi + qi + 1, al15 = d * al14 + (1 + d * Mx * qi + u * al14) * d * g;
  const Real al16 = d * Mx * qi * qi + qi * qi * al15 + 1, al17 = d * al16 + (1 + qM * qM + u * al16) * d * g;
  const Real al18 = 1 + qM + lift * std::sqrt(al17);
  const Real al19 = 1 + qM * P0 + 2 * al18 * P0 + 2 * qM * al8 + 2 * al18 * al8;
  const Real be19 = qM * P1 + 2 * al18 * P1 + 2 * qM * be8 + 2 * al18 * be8;
  const Real al20 = P0 * al13 + 2 * al19 + qM * P0 + qM, be20 = P0 * be13 + 2 * be19 + qM * P1 + root2;
  const Real second = repaired ? u : 1;
  const Real al21 = 4 * lmax * rd * al20 + second * 4 * lmax * d * al20 * al20 / (qM * qM);
  const Real be21 = 4 * lmax * rd * be20 + second * 8 * lmax * d * al20 * be20 / (qM * qM);
  const Real ga21 = second * 4 * lmax * d * be20 * be20 / (qM * qM);

  PrintedBound bound;
  bound.gamma = static_cast<double>(u * ga21);
  bound.tolerance = std::numeric_limits<double>::infinity();
  if (!(u < qM / (2 * al13) && u * ga21 < 2)) return bound;  // lemma A.1
  const Real root = (u * be21 + std::sqrt(u * u * be21 * be21 + 4 * u * al21 * (2 - u * ga21))) / (4 - 2 * u * ga21);
  const Real most = std::pow(qM - 2 * u * al13, 2) / (4 * std::pow(root2 + u * be13, 2));
  const Real C = repaired ? root * root : (most + root) / 2;
  bound.drift_holds = (repaired ? C : root) <= most;
  if (!bound.drift_holds) return bound;
  const Real drift = std::sqrt(2 * C), c = u * lmax * (al20 + be20 * std::sqrt(C)), least = qM - drift;
  Real first;
  if (!s.reflections) {
    first = std::sqrt(c * rd / (qM * (repaired ? least : qM + drift)));  // lemma A.2
  } else {
    // lemma A.4; repaired: |lambda|_1 >= |lambda|_2 without a factor d, and divided by the norm
    const Real a = u * u / 2 * (repaired ? 1 : qM + drift), b = 4 * m * c / qM * (repaired ? rd / least : 1 / rd);
    first = (a + std::sqrt(a * a + b)) / 2;
  }
  const Real tolerance = std::max(first, 4 * c * rd / (qM * least));
  if (tolerance < (s.reflections ? 4 : 1)) bound.tolerance = static_cast<double>(tolerance);  // lemmas A.3, A.5
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
