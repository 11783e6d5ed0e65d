#include "solvers/lcp_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

// Packs of kLcpLane numbers become one vector instruction or several; sums over them keep kLcpLane partial results, so
// their order does not depend on the processor either.
#define SCREE_INLINE [[gnu::always_inline]] inline

namespace scree {
namespace {

constexpr int kLane = kLcpLane;
constexpr double kDependent = 1e-10;  // of a diagonal entry: what is left of it is rounding
constexpr double kAllButOne[2 * kLane - 1] = {1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1};
constexpr double kInfinity = std::numeric_limits<double>::infinity();

SCREE_INLINE double larger(double a, double b) { return a > b ? a : b; }
SCREE_INLINE double smaller(double a, double b) { return a < b ? a : b; }

// kLane numbers, anywhere in memory. Pointers, not references: clang takes those as a promise of the vector's
// alignment.
using Vector [[gnu::vector_size(kLane * sizeof(double))]] = double;
using Pack [[gnu::aligned(sizeof(double)), gnu::may_alias]] = Vector;
SCREE_INLINE const Pack* pack(const double* x) { return reinterpret_cast<const Pack*>(x); }
SCREE_INLINE Pack* pack(double* x) { return reinterpret_cast<Pack*>(x); }

// The rows of n >= kLane numbers in packs; the last one overlaps the one before. What is done twice must not matter.
template <typename Action> SCREE_INLINE void for_packs(int n, const Action& action) {
  int i = 0;
  for (; i + kLane <= n; i += kLane) action(i);
  if (i < n) action(n - kLane);
}

SCREE_INLINE bool measure_body(const LcpMatrix& M, const double* r, const double* c, double* by_row,
                               double* by_column) {
  double zero = 0;  // a - a: no number where a is none, or infinite
  Pack zeros{};
  for (int i = 0; i < M.n; ++i) by_row[i] = 0;
  for (int j = 0; j < M.n; ++j) {
    const double* m = M.column(j);
    const double cj = c[j];
    double largest = 0;
    if (M.n >= kLane) {
      Pack most{};
      for_packs(M.n, [&](int i) {
        const Pack x = *pack(m + i) * *pack(r + i) * cj, a = x < 0 ? -x : x;
        zeros += a - a;
        most = a > most ? a : most;
        *pack(by_row + i) = a > *pack(by_row + i) ? a : *pack(by_row + i);
      });
      for (int k = 0; k < kLane; ++k) largest = larger(most[k], largest);
    } else {
      for (int i = 0; i < M.n; ++i) {
        const double a = std::abs(m[i] * r[i] * cj);
        zero += a - a;
        largest = larger(a, largest);
        by_row[i] = larger(a, by_row[i]);
      }
    }
    by_column[j] = largest;
  }
  for (int k = 0; k < kLane; ++k) zero += zeros[k];
  return zero == 0;
}

SCREE_INLINE void load_body(const LcpMatrix& M, const double* r, const double* c, double* to, int stride) {
  for (int j = 0; j < M.n; ++j) {
    const double* m = M.column(j);
    double* t = to + static_cast<std::ptrdiff_t>(j) * stride;
    const double cj = c[j];
    if (M.n >= kLane)
      for_packs(M.n, [&](int i) { *pack(t + i) = *pack(m + i) * *pack(r + i) * cj; });
    else
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
    for (int i = 0; i < stride; i += kLane) *pack(other + i) += factor * *pack(out + i);
    other[row] = factor;
  }
  for (int i = 0; i < stride; i += kLane) *pack(out + i) *= inverse;
  out[row] = inverse;
}

SCREE_INLINE double limit_body(const double* c, const double* b, int stride, double tie, double part, double& least) {
  Pack most{};
  for (int i = 0; i < stride; i += kLane) {
    const Pack a = *pack(c + i) < 0 ? -*pack(c + i) : *pack(c + i);
    most = a > most ? a : most;
  }
  double largest = 1;
  for (int k = 0; k < kLane; ++k) largest = larger(most[k], largest);
  least = part * largest;
  const Pack nothing{};
  Pack first = nothing + kInfinity;
  for (int i = 0; i < stride; i += kLane) {
    const Pack down = *pack(c + i) < -least ? -*pack(c + i) : nothing;  // 0: the ratio is infinite, tie > 0
    const Pack ratio = ((*pack(b + i) > 0 ? *pack(b + i) : nothing) + tie) / down;
    first = ratio < first ? ratio : first;
  }
  double all = first[0];
  for (int k = 1; k < kLane; ++k) all = smaller(first[k], all);
  return all;
}

SCREE_INLINE void solve_active_body(const LcpMatrix& M, const double* q, const int* F, int size, double* table,
                                    double* out, double* z, double* w) {
  // Gauss's elimination without a chain of square roots: column t clears row t of the columns right of it and of the
  // right side, the last one. In rows from the pack of the diagonal on, so within it as Jordan does.
  const int stride = lcp_padded(size);
  const auto column = [&](int t) { return table + static_cast<std::ptrdiff_t>(t) * stride; };
  double* right = column(size);
  for (int t = 0; t < size; ++t) {
    double* a = column(t);
    const double* m = M.column(F[t]);
    for (int i = 0; i < size; ++i) a[i] = m[F[i]];
    for (int i = size; i < stride; ++i) a[i] = 0;
  }
  for (int i = 0; i < size; ++i) right[i] = -q[F[i]];
  for (int i = size; i < stride; ++i) right[i] = 0;
  for (int t = 0; t < size; ++t) {
    const int first = t / kLane * kLane;
    const double d = column(t)[t];
    z[t] = d > kDependent * M.column(F[t])[F[t]] ? 1 / d : 0;
    if (z[t] == 0) continue;
    for (int i = first; i < stride; i += kLane) *pack(out + i) = *pack(column(t) + i);
    *pack(out + first) *= *pack(kAllButOne + kLane - 1 - t % kLane);
    for (int j = t + 1; j <= size; ++j) {
      double* a = column(j);
      const double factor = a[t] * z[t];
      for (int i = first; i < stride; i += kLane) *pack(a + i) -= factor * *pack(out + i);
    }
  }
  // Back, pack by pack.
  for (int t = size - 1; t >= 0; --t) {
    z[t] *= right[t];
    const double* a = column(t);
    for (int i = 0; i < t / kLane * kLane; i += kLane) *pack(right + i) -= z[t] * *pack(a + i);
  }
  if (M.n >= kLane) {
    for_packs(M.n, [&](int i) {
      Pack sum = *pack(q + i);
      for (int t = 0; t < size; ++t) sum += z[t] * *pack(M.column(F[t]) + i);
      *pack(w + i) = sum;
    });
  } else {
    for (int i = 0; i < M.n; ++i) {
      w[i] = q[i];
      for (int t = 0; t < size; ++t) w[i] += z[t] * M.column(F[t])[i];
    }
  }
}

SCREE_INLINE double residual_body(const LcpMatrix& M, const double* q, const double* z, double m, double& scale) {
  double worst = 0;
  scale = 0;
  const auto take = [&](double w, double terms, double zi) {
    scale = larger(terms, scale);
    const double violation = std::abs(smaller(w, m * zi));
    if (!(violation <= worst)) worst = violation;  // what is no number stays
  };
  if (M.n >= kLane) {
    for_packs(M.n, [&](int i) {
      Pack w = *pack(q + i), terms = w < 0 ? -w : w;
      for (int j = 0; j < M.n; ++j) {
        if (z[j] == 0) continue;
        const Pack term = *pack(M.column(j) + i) * z[j];
        w += term;
        terms += term < 0 ? -term : term;
      }
      for (int k = 0; k < kLane; ++k) take(w[k], terms[k], z[i + k]);
    });
  } else {
    for (int i = 0; i < M.n; ++i) {
      double w = q[i], terms = std::abs(q[i]);
      for (int j = 0; j < M.n; ++j) {
        const double term = M.column(j)[i] * z[j];
        w += term;
        terms += std::abs(term);
      }
      take(w, terms, z[i]);
    }
  }
  return worst;
}

SCREE_INLINE double largest_body(const LcpMatrix& M) {
  double largest = 0, zero = 0;
  Pack most{}, zeros{};
  for (int j = 0; j < M.n; ++j) {
    const double* m = M.column(j);
    if (M.n >= kLane)
      for_packs(M.n, [&](int i) {
        const Pack a = *pack(m + i) < 0 ? -*pack(m + i) : *pack(m + i);
        zeros += a - a;
        most = a > most ? a : most;
      });
    else
      for (int i = 0; i < M.n; ++i) {
        const double a = std::abs(m[i]);
        zero += a - a;
        largest = larger(a, largest);
      }
  }
  for (int k = 0; k < kLane; ++k) zero += zeros[k], largest = larger(most[k], largest);
  return largest + zero;
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
    TARGET static void solve_active(const LcpMatrix& M, const double* q, const int* F, int k, double* table,           \
                                    double* out, double* z, double* w) {                                               \
      solve_active_body(M, q, F, k, table, out, z, w);                                                                 \
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
