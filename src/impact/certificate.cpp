#include "impact/certificate.h"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "impact/nnls.h"

namespace scree {
namespace {

constexpr double kWide = Arithmetic<DoubleDouble>::unit;
constexpr double kRank = 1e-11;      // of unit normals: smaller parts of a jammed normal are rounding
constexpr double kVanishes = 1e-10;  // a projected normal this short lies in the span of the jammed ones
constexpr double kShare = 1e-6;      // of a combination: what is smaller may be rounding

// z scaled so that a_k.z >= 1 holds for certain, if it can be.
bool prove(const SparseColumns& A, Eigen::VectorXd& z, double& w) {
  double least = std::numeric_limits<double>::infinity();
  for (int k = 0; k < A.columns(); ++k) {
    DoubleDouble sum;
    double terms = 0;
    for (int i = A.start[k]; i < A.start[k + 1]; ++i) {
      sum += two_product(A.value[i], z(A.row[i]));
      terms += std::abs(A.value[i] * z(A.row[i]));
    }
    least = std::min(least, to_double(sum) * (1 - 0x1p-50) - 1.01 * (2.0 * A.rows + 4) * kWide * terms);
  }
  if (!(least > 0)) return false;
  const double factor = (1 + 0x1p-49) / least;  // and a little, for the rounding of the scaled z itself
  z *= factor;
  // a_k.z of the rounded product: off by at most 2^-53 |a_k| |z| sqrt(d), which the little must cover
  const double norm = z.norm();
  if (norm * std::sqrt(static_cast<double>(A.rows)) * 0x1p-52 > 0x1p-50) {
    z *= 1 + 4 * norm * std::sqrt(static_cast<double>(A.rows)) * 0x1p-52;
    for (int k = 0; k < A.columns(); ++k) {
      DoubleDouble sum;
      for (int i = A.start[k]; i < A.start[k + 1]; ++i) sum += two_product(A.value[i], z(A.row[i]));
      if (!(to_double(sum) >= 1 + 1.01 * (2.0 * A.rows + 4) * kWide * norm * 2 + 0x1p-50)) return false;
    }
  }
  w = z.norm() * (1 + (A.rows + 8.0) * 0x1p-52);
  return std::isfinite(w);
}

// Least distance as least squares: E = [A; 1], f = (0, 1); u >= 0 minimises |E u - f|; with r = E u - f the nearest z
// is -r_head / r_last. r = 0 means A u = 0, sum u = 1.                    [Lawson and Hanson, 1974, chapter 23, section
// 4]
template <class T> bool least_distance(const SparseColumns& E, Witness& witness, double& margin) {
  const int d = E.rows - 1, m = E.columns();
  Nnls<T> nnls;
  nnls.reserve(E.rows, m);
  Array<int> all(m);
  std::iota(all.begin(), all.end(), 0);
  Array<T> f(E.rows, T(0.0)), u(m, T(0.0));
  f.back() = T(1.0);
  nnls.solve(E, all.data(), m, f.data(), u.data());
  Array<T> r(E.rows, T(0.0));  // from u, not from the solver's own residual
  for (int k = 0; k < m; ++k) E.add(k, u[k], r.data());
  r.back() -= T(1.0);
  const T last = r.back();
  witness.bits = Arithmetic<T>::bits;
  witness.combination.resize(m);
  for (int k = 0; k < m; ++k) witness.combination(k) = to_double(u[k]);
  margin = std::sqrt(std::max(0.0, -to_double(last)));  // |r|, since |r|^2 = -r_last; 1/sqrt(1 + w^2)
  if (!(last < T(0.0))) return false;
  witness.z.resize(d);
  const T factor = T(1.0) / last;
  for (int j = 0; j < d; ++j) witness.z(j) = -to_double(T(r[j] * factor));
  return witness.z.allFinite();
}

}  // namespace

Witness find_witness(const SparseColumns& normals) {
  Witness best;
  const int m = normals.columns();
  if (m == 0) {
    best.found = true;
    best.z = Eigen::VectorXd::Zero(normals.rows);
    return best;
  }
  SparseColumns E;
  E.rows = normals.rows + 1;
  for (int k = 0; k < m; ++k) {
    for (int i = normals.start[k]; i < normals.start[k + 1]; ++i) E.append(normals.row[i], normals.value[i]);
    E.append(normals.rows, 1);
    E.close();
  }
  // Rounding u of the solver shifts a_k.z by u w^2: double-double where that is more than 1e-6, MPFR beyond its reach.
  const auto attempt = [&](auto scalar, double reach) {
    Witness witness;
    double margin = 0;
    witness.found = least_distance<decltype(scalar)>(E, witness, margin) && prove(normals, witness.z, witness.w);
    // double knows |r|^2 to 1e-15 only, double-double to 1e-30: enough to tell a jam
    const bool jammed = witness.bits > 53 && margin < kJamMargin;
    const bool good = jammed || (witness.found && witness.w <= reach);
    if (!best.found || (witness.found && witness.w < best.w)) best = std::move(witness);
    return good;
  };
  if (!attempt(double(), 1e5) && !attempt(DoubleDouble(), 1e12)) attempt(Mpfr256(), 1 / kJamMargin);
  if (best.found && best.w > 1 / kJamMargin) best.found = false;
  return best;
}

JamReduction reduce_jams(const SparseColumns& normals) {
  const int d = normals.rows, m = normals.columns();
  JamReduction jam;
  Array<char> is_jammed(m, 0);
  jam.open.resize(static_cast<size_t>(m));
  std::iota(jam.open.begin(), jam.open.end(), 0);
  jam.normals = normals;
  jam.size = Eigen::VectorXd::Ones(m);
  for (;;) {
    jam.witness = find_witness(jam.normals);
    if (jam.witness.found) return jam;
    // Contacts of the combination are jammed, and so is whatever lies in their span.
    const Eigen::VectorXd& x = jam.witness.combination;
    for (size_t i = 0; i < jam.open.size(); ++i)
      if (x(static_cast<Eigen::Index>(i)) > kShare * x.maxCoeff()) is_jammed[jam.open[i]] = 1;
    if (!(x.size() > 0 && x.maxCoeff() > 0)) std::fill(is_jammed.begin(), is_jammed.end(), char(1));
    const auto dense = [&](int k) {
      Eigen::VectorXd a = Eigen::VectorXd::Zero(d);
      for (int i = normals.start[k]; i < normals.start[k + 1]; ++i) a(normals.row[i]) = normals.value[i];
      return a;
    };
    Eigen::MatrixXd span(d, std::count(is_jammed.begin(), is_jammed.end(), 1));
    for (int k = 0, c = 0; k < m; ++k)
      if (is_jammed[k]) span.col(c++) = dense(k);
    Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(span);
    qr.setThreshold(kRank);
    const Eigen::Index rank = qr.rank();
    const Eigen::MatrixXd Q = qr.householderQ();
    jam.basis = Q.rightCols(d - rank);
    jam.normals = {};
    jam.normals.rows = static_cast<int>(d - rank);
    jam.jammed.clear();
    jam.open.clear();
    std::vector<double> sizes;
    for (int k = 0; k < m; ++k) {
      const Eigen::VectorXd a = jam.basis.transpose() * dense(k);
      const double size = a.norm();
      if (is_jammed[k] || !(size > kVanishes)) {
        is_jammed[k] = 1;
        jam.jammed.push_back(k);
        continue;
      }
      for (int i = 0; i < jam.normals.rows; ++i) jam.normals.append(i, a(i) / size);
      jam.normals.close();
      jam.open.push_back(k);
      sizes.push_back(size);
    }
    jam.size = Eigen::Map<const Eigen::VectorXd>(sizes.data(), static_cast<Eigen::Index>(sizes.size()));
  }
}

}  // namespace scree
