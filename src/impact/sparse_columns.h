// Vectors of R^rows by their entries that are not zero: unit normals of contacts in mass-normalised coordinates.
// Numbers are double, exact data; what is computed with them may be of any arithmetic.
#pragma once

#include <Eigen/Core>
#include <vector>

namespace scree {

// A std::vector indexed by int, as everything of Eigen is.
template <class T> class Array : public std::vector<T> {
 public:
  using std::vector<T>::vector;
  Array() = default;
  explicit Array(int count, const T& value = T()) : std::vector<T>(static_cast<size_t>(count), value) {}
  void resize(int count) { std::vector<T>::resize(static_cast<size_t>(count)); }
  int count() const { return static_cast<int>(this->size()); }
  T& operator[](int i) { return this->data()[i]; }
  const T& operator[](int i) const { return this->data()[i]; }
};

struct SparseColumns {
  int rows = 0;
  Array<int> start = {0};  // of column k: entries start[k] ... start[k + 1] - 1
  Array<int> row;
  Array<double> value;

  int columns() const { return start.count() - 1; }
  void append(int r, double x) {  // an entry of the column that close() ends
    if (x == 0) return;
    row.push_back(r);
    value.push_back(x);
  }
  void close() { start.push_back(row.count()); }

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
