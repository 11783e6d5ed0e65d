// Vectors of R^rows by their entries that are not zero: unit normals of contacts in mass-normalised coordinates.
// Numbers are double, exact data; what is computed with them may be of any arithmetic.
#pragma once

#include <Eigen/Core>
#include <vector>

namespace scree {

struct SparseColumns {
  int rows = 0;
  std::vector<int> start = {0};  // of column k: entries start[k] ... start[k + 1] - 1
  std::vector<int> row;
  std::vector<double> value;

  int columns() const { return static_cast<int>(start.size()) - 1; }
  void append(int r, double x) {  // an entry of the column that close() ends
    if (x == 0) return;
    row.push_back(r);
    value.push_back(x);
  }
  void close() { start.push_back(static_cast<int>(row.size())); }

  // From left to right.
  template <class T> T dot(int k, const T* x) const {
    T sum(0.0);
    for (int i = start[k]; i < start[k + 1]; ++i) sum += x[row[i]] * value[i];
    return sum;
  }
  template <class T> void add(int k, const T& factor, T* x) const {  // x += factor column k
    for (int i = start[k]; i < start[k + 1]; ++i) x[row[i]] += factor * value[i];
  }
};

}  // namespace scree
