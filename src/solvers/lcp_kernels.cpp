#include "solvers/lcp_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

// Loops over kLcpLane numbers with a fixed count become vector instructions; reductions keep kLcpLane partial results,
// so their order does not depend on the processor either.
#define SCREE_INLINE [[gnu::always_inline]] inline

namespace scree {
namespace {

constexpr int kLane = kLcpLane;
constexpr double kDependent = 1e-10;  // of a diagonal entry: what is left of it is rounding
constexpr double kInfinity = std::numeric_limits<double>::infinity();

SCREE_INLINE double larger(double a, double b) { return a > b ? a : b; }
SCREE_INLINE double smaller(double a, double b) { return a < b ? a : b; }

SCREE_INLINE double largest_of(const double* lane) {
  double all = lane[0];
  for (int k = 1; k < kLane; ++k) all = larger(all, lane[k]);
  return all;
}

SCREE_INLINE bool measure_body(const LcpMatrix& M, const double* r, const double* c, double* by_row,
                               double* by_column) {
  const int n = M.n, whole = n / kLane * kLane;
  double zero[kLane] = {};  // a - a: no number where a is none, or infinite
  for (int i = 0; i < n; ++i) by_row[i] = 0;
  for (int j = 0; j < n; ++j) {
    const double* m = M.column(j);
    const double cj = c[j];
    double most[kLane] = {};
    for (int i = 0; i < whole; i += kLane)
      for (int k = 0; k < kLane; ++k) {
        const double a = std::abs(m[i + k] * r[i + k] * cj);
        zero[k] += a - a;
        most[k] = larger(a, most[k]);
        by_row[i + k] = larger(a, by_row[i + k]);
      }
    for (int i = whole; i < n; ++i) {
      const double a = std::abs(m[i] * r[i] * cj);
      zero[0] += a - a;
      most[0] = larger(a, most[0]);
      by_row[i] = larger(a, by_row[i]);
    }
    by_column[j] = largest_of(most);
  }
  double sum = 0;
  for (int k = 0; k < kLane; ++k) sum += zero[k];
  return sum == 0;
}

SCREE_INLINE void load_body(const LcpMatrix& M, const double* r, const double* c, double* to, int stride) {
  for (int j = 0; j < M.n; ++j) {
    const double* m = M.column(j);
    double* t = to + static_cast<std::ptrdiff_t>(j) * stride;
    const double cj = c[j];
    for (int i = 0; i < M.n; ++i) t[i] = m[i] * r[i] * cj;
    for (int i = M.n; i < stride; ++i) t[i] = 0;
  }
}

SCREE_INLINE void pivot_body(double* table, int columns, int stride, int row, int entering) {
  double* out = table + static_cast<std::ptrdiff_t>(entering) * stride;
  const double inverse = 1 / out[row];
  out[row] = 0;  // its row is set below
  for (int j = 0; j < columns; ++j) {
    double* other = table + static_cast<std::ptrdiff_t>(j) * stride;
    const double factor = -inverse * other[row];
    if (j == entering || factor == 0) continue;
    for (int i = 0; i < stride; i += kLane)
      for (int k = 0; k < kLane; ++k) other[i + k] += factor * out[i + k];
    other[row] = factor;
  }
  for (int i = 0; i < stride; ++i) out[i] *= inverse;
  out[row] = inverse;
}

SCREE_INLINE double limit_body(const double* c, const double* b, int stride, double tie, double part, double& least) {
  double most[kLane] = {}, first[kLane];
  for (int i = 0; i < stride; i += kLane)
    for (int k = 0; k < kLane; ++k) most[k] = larger(std::abs(c[i + k]), most[k]);
  least = part * larger(1.0, largest_of(most));
  const double bound = -least;
  for (double& x : first) x = kInfinity;
  for (int i = 0; i < stride; i += kLane)
    for (int k = 0; k < kLane; ++k) {
      const double down = c[i + k] < bound ? -c[i + k] : 0;  // 0: the ratio is infinite, tie > 0
      first[k] = smaller((larger(b[i + k], 0.0) + tie) / down, first[k]);
    }
  double all = first[0];
  for (int k = 1; k < kLane; ++k) all = smaller(all, first[k]);
  return all;
}

SCREE_INLINE void solve_active_body(const LcpMatrix& M, const double* q, const int* F, int size, double* L,
                                    double* inverse, double* x, double* z, double* w) {
  const int stride = lcp_padded(size);
  // Columns of L from left to right. Rows above the diagonal, up to a multiple of kLane, are computed as well and
  // cleared.
  for (int t = 0; t < size; ++t) {
    double* column = L + static_cast<std::ptrdiff_t>(t) * stride;
    const double* m = M.column(F[t]);
    const int first = t / kLane * kLane;
    for (int i = first; i < t; ++i) column[i] = 0;
    for (int i = t; i < size; ++i) column[i] = m[F[i]];
    for (int i = size; i < stride; ++i) column[i] = 0;
    for (int u = 0; u < t; ++u) {
      const double* before = L + static_cast<std::ptrdiff_t>(u) * stride;
      const double factor = before[t];
      for (int i = first; i < stride; i += kLane)
        for (int k = 0; k < kLane; ++k) column[i + k] -= factor * before[i + k];
    }
    const double d = column[t];
    inverse[t] = d > kDependent * m[F[t]] ? 1 / std::sqrt(d) : 0;
    for (int i = first; i < t; ++i) column[i] = 0;
    for (int i = t; i < stride; ++i) column[i] *= inverse[t];
  }
  for (int i = 0; i < stride; ++i) x[i] = i < size ? -q[F[i]] : 0, z[i] = 0;
  for (int t = 0; t < size; ++t) {
    const double* column = L + static_cast<std::ptrdiff_t>(t) * stride;
    const double value = x[t] * inverse[t];
    for (int i = t / kLane * kLane; i < stride; i += kLane)
      for (int k = 0; k < kLane; ++k) x[i + k] -= value * column[i + k];
    z[t] = value;
  }
  for (int i = 0; i < stride; ++i) x[i] = 0;
  for (int t = size - 1; t >= 0; --t) {
    const double* column = L + static_cast<std::ptrdiff_t>(t) * stride;
    double part[kLane] = {};
    for (int i = t / kLane * kLane; i < stride; i += kLane)
      for (int k = 0; k < kLane; ++k) part[k] += column[i + k] * x[i + k];  // x_t is still zero
    double sum = 0;
    for (int k = 0; k < kLane; ++k) sum += part[k];
    x[t] = (z[t] - sum) * inverse[t];
  }
  for (int i = 0; i < M.n; ++i) w[i] = q[i];
  for (int t = 0; t < size; ++t) {
    z[t] = x[t];
    const double* m = M.column(F[t]);
    const double value = x[t];
    for (int i = 0; i < M.n; ++i) w[i] += value * m[i];
  }
}

SCREE_INLINE double residual_body(const LcpMatrix& M, const double* q, const double* z, double m, double& scale) {
  constexpr int kBlock = 8 * kLane;
  double worst = 0;
  scale = 0;
  for (int from = 0; from < M.n; from += kBlock) {
    const int rows = M.n - from < kBlock ? M.n - from : kBlock;
    double w[kBlock], terms[kBlock];
    for (int i = 0; i < rows; ++i) w[i] = q[from + i], terms[i] = std::abs(q[from + i]);
    for (int j = 0; j < M.n; ++j) {
      if (z[j] == 0) continue;
      const double* column = M.column(j) + from;
      const double zj = z[j];
      for (int i = 0; i < rows; ++i) {
        const double term = column[i] * zj;
        w[i] += term;
        terms[i] += std::abs(term);
      }
    }
    for (int i = 0; i < rows; ++i) {
      scale = larger(terms[i], scale);
      const double violation = std::abs(smaller(w[i], m * z[from + i]));
      if (!(violation <= worst)) worst = violation;  // what is no number stays
    }
  }
  return worst;
}

SCREE_INLINE double largest_body(const LcpMatrix& M) {
  const int whole = M.n / kLane * kLane;
  double most[kLane] = {}, zero[kLane] = {};
  for (int j = 0; j < M.n; ++j) {
    const double* m = M.column(j);
    for (int i = 0; i < whole; i += kLane)
      for (int k = 0; k < kLane; ++k) {
        const double a = std::abs(m[i + k]);
        zero[k] += a - a;
        most[k] = larger(a, most[k]);
      }
    for (int i = whole; i < M.n; ++i) {
      const double a = std::abs(m[i]);
      zero[0] += a - a;
      most[0] = larger(a, most[0]);
    }
  }
  double sum = 0;
  for (int k = 0; k < kLane; ++k) sum += zero[k];
  return largest_of(most) + sum;
}

#define SCREE_KERNELS(NAME, TARGET)                                                                                    \
  struct NAME {                                                                                                        \
    TARGET static bool measure(const LcpMatrix& M, const double* r, const double* c, double* rows, double* columns) {  \
      return measure_body(M, r, c, rows, columns);                                                                     \
    }                                                                                                                  \
    TARGET static void load(const LcpMatrix& M, const double* r, const double* c, double* to, int stride) {            \
      load_body(M, r, c, to, stride);                                                                                  \
    }                                                                                                                  \
    TARGET static void pivot(double* table, int columns, int stride, int row, int entering) {                          \
      pivot_body(table, columns, stride, row, entering);                                                               \
    }                                                                                                                  \
    TARGET static double limit(const double* c, const double* b, int stride, double tie, double part, double& least) { \
      return limit_body(c, b, stride, tie, part, least);                                                               \
    }                                                                                                                  \
    TARGET static void solve_active(const LcpMatrix& M, const double* q, const int* F, int k, double* L,               \
                                    double* inverse, double* x, double* z, double* w) {                                \
      solve_active_body(M, q, F, k, L, inverse, x, z, w);                                                              \
    }                                                                                                                  \
    TARGET static double residual(const LcpMatrix& M, const double* q, const double* z, double m, double& scale) {     \
      return residual_body(M, q, z, m, scale);                                                                         \
    }                                                                                                                  \
    TARGET static double largest(const LcpMatrix& M) { return largest_body(M); }                                       \
    static constexpr LcpKernels all() { return {measure, load, pivot, limit, solve_active, residual, largest}; }       \
  };

SCREE_KERNELS(Plain, )
constexpr LcpKernels kPlain = Plain::all();
#ifdef __x86_64__
SCREE_KERNELS(Avx2, [[gnu::target("avx2")]])
#ifdef __clang__
SCREE_KERNELS(Avx512, [[gnu::target("avx512f,avx512dq,avx512vl")]])
#else
SCREE_KERNELS(Avx512, [[gnu::target("avx512f,avx512dq,avx512vl,prefer-vector-width=512")]])
#endif
constexpr LcpKernels kAvx2 = Avx2::all();
constexpr LcpKernels kAvx512 = Avx512::all();
#endif

}  // namespace

const LcpKernels* lcp_kernels(int lanes) {
  if (lanes == 1) return &kPlain;
#ifdef __x86_64__
  if (lanes == 4 && __builtin_cpu_supports("avx2")) return &kAvx2;
  if (lanes == 8 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return &kAvx512;
#endif
  return nullptr;
}

const LcpKernels& lcp_kernels() {
  static const LcpKernels& widest = [&]() -> const LcpKernels& {
    for (const int lanes : {8, 4})
      if (const LcpKernels* kernels = lcp_kernels(lanes)) return *kernels;
    return kPlain;
  }();
  return widest;
}

}  // namespace scree
