// The inner loops of the solvers of complementarity problems, compiled for several processors and chosen at run time.
// Every number is computed by the same operations in the same order whatever the width: the bits are the same.
#pragma once

#include <cstddef>

namespace scree {

// Columns of scratch are padded with zeros to a multiple of this.
constexpr int kLcpLane = 8;
constexpr int lcp_padded(int n) { return (n + kLcpLane - 1) / kLcpLane * kLcpLane; }

// A matrix of the caller, by columns.
struct LcpMatrix {
  const double* data;
  std::ptrdiff_t stride;  // from column to column
  int n;
  const double* column(int j) const { return data + j * stride; }
};

struct LcpKernels {
  // Largest |r_i M_ij c_j| of every row and column; false: a number is not finite.
  bool (*measure)(const LcpMatrix& M, const double* r, const double* c, double* by_row, double* by_column);
  // to[j stride + i] = r_i M_ij c_j, padded with zeros.
  void (*load)(const LcpMatrix& M, const double* r, const double* c, double* to, int stride);
  // Exchanges row and column of a dictionary in place; its right side is one of the columns.
  void (*pivot)(double* table, int columns, int stride, int row, int entering);
  // min_i (max(0, b_i) + tie)/-c_i over c_i < -least, infinite if there is none; least = part max(1, max |c_i|).
  double (*limit)(const double* c, const double* b, int stride, double tie, double part, double& least);
  // M_FF z_F = -q_F for a symmetric positive semidefinite M_FF, z_i = 0 where rows depend on those before; then
  // w = q + M z. z: of the k members of F. Scratch: k + 1 padded columns and one more.
  void (*solve_active)(const LcpMatrix& M, const double* q, const int* F, int k, double* table, double* out, double* z,
                       double* w);
  // max_i |min(m z_i, w_i)| with w = q + M z, and scale = max_i (|q_i| + sum_j |M_ij z_j|).
  double (*residual)(const LcpMatrix& M, const double* q, const double* z, double m, double& scale);
  double (*largest)(const LcpMatrix& M);  // max |M_ij|; no number if one is not finite
};

const LcpKernels& lcp_kernels();  // the widest this processor has
// 1, 4 (AVX2) or 8 (AVX-512) numbers at a time, for tests; nullptr: not on this processor.
const LcpKernels* lcp_kernels(int lanes);

}  // namespace scree
