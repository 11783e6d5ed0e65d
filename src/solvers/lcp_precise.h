// Lemke's algorithm with numbers of twice the precision, for problems that rounding defeats: friction of 1e8 beside
// masses of 1e10. Some thirty times slower than with double.
#pragma once

#include <vector>

#include "math/double_double.h"

namespace scree {

class PreciseLemke {
 public:
  enum class End { solved, ray, pivots };
  void reserve(int n);
  // A problem of n unknowns, M and q of order one; then fill M and q, run, and read z. d: covering vector; zero:
  // smaller numbers are rounding, of the arithmetic from 1e-22 on, of data that were doubles from 1e-16 on.
  void start(int n);
  DoubleDouble& M(int row, int column) { return at(row, column); }
  DoubleDouble& q(int row) { return b(row); }
  End run(const double* d, double zero, int max_pivots, int& pivots);
  DoubleDouble z(int i);  // >= 0

 private:
  DoubleDouble& at(int row, int column) { return table_[static_cast<size_t>(column * n_ + row)]; }
  DoubleDouble& b(int row) { return at(row, n_ + 1); }
  void pivot(int row, int entering);
  int leaving_row(int entering);

  int n_ = 0;
  double zero_ = 0;
  std::vector<DoubleDouble> table_;                  // C by columns, d, b
  std::vector<int> basic_, nonbasic_, row_, place_;  // as in Lemke
  std::vector<int> ties_;
};

}  // namespace scree
