// From joint dofs to coordinates: kernels write vectors and matrices by dof, and what belongs to one coordinate adds
// up here. Without followers both are one, and kernels write into the result itself.                      theory (1.11)
#pragma once

#include <vector>

#include "model/tree.h"

namespace scree {

template <class T> class Reduction {
 public:
  explicit Reduction(const Tree& tree) : tree_(tree) {
    if (!tree.has_followers()) return;
    const size_t n = static_cast<size_t>(tree.dofs);
    vector_.assign(n, T(0));
    first_.assign(n * n, T(0));
    second_.assign(n * n, T(0));
  }

  // fill(by_dof) writes a covector; `out` gets it by coordinate.
  template <class Fill> void covector(T* out, Fill&& fill) {
    if (!tree_.has_followers()) return fill(out);
    fill(vector_.data());
    for (int c = 0; c < tree_.nv; ++c) out[c] = T(0);
    for (size_t a = 0; a < vector_.size(); ++a) {
      T& entry = out[tree_.coordinate[a]];
      entry = entry + vector_[a];
    }
  }
  // The same with a full matrix, column-major, with entries of a dof and its ancestors; all others of `out` become 0
  // where there are followers, and are left alone where there are none.
  template <class Fill> void matrix(T* out, Fill&& fill) {
    if (!tree_.has_followers()) return fill(out);
    fill(first_.data());
    add_matrix(first_, out);
  }
  template <class Fill> void matrix(T* out, T* other, Fill&& fill) {
    if (!tree_.has_followers()) return fill(out, other);
    fill(first_.data(), second_.data());
    add_matrix(first_, out);
    add_matrix(second_, other);
  }
  // And with the upper triangle of a symmetric one, or of two (the second may be null).
  template <class Fill> void upper(T* out, Fill&& fill) {
    if (!tree_.has_followers()) return fill(out);
    fill(first_.data());
    add_upper(first_, out);
  }
  template <class Fill> void upper(T* out, T* other, Fill&& fill) {
    if (!tree_.has_followers()) return fill(out, other);
    fill(first_.data(), other ? second_.data() : nullptr);
    add_upper(first_, out);
    if (other) add_upper(second_, other);
  }

 private:
  size_t n() const { return static_cast<size_t>(tree_.dofs); }
  size_t nv() const { return static_cast<size_t>(tree_.nv); }
  static void add(const T& part, T& to) { to = to + part; }
  void clear(T* out) const {
    for (size_t k = 0; k < nv() * nv(); ++k) out[k] = T(0);
  }
  // visit(a, b, coordinate of a, of b) for every dof b and the dofs a on its path, itself first.
  template <class Visit> void for_entries(Visit&& visit) const {
    for (size_t b = 0; b < n(); ++b)
      for (int d = static_cast<int>(b); d >= 0; d = tree_.dof_parent[static_cast<size_t>(d)]) {
        const size_t a = static_cast<size_t>(d);
        visit(a, b, static_cast<size_t>(tree_.coordinate[a]), static_cast<size_t>(tree_.coordinate[b]));
      }
  }
  void add_matrix(const std::vector<T>& by_dof, T* out) const {
    clear(out);
    for_entries([&](size_t a, size_t b, size_t c_a, size_t c_b) {
      add(by_dof[b * n() + a], out[c_b * nv() + c_a]);
      if (a != b) add(by_dof[a * n() + b], out[c_a * nv() + c_b]);
    });
  }
  // Two dofs of one path that share a coordinate add both of their entries, (a, b) and (b, a), to its diagonal.
  void add_upper(const std::vector<T>& by_dof, T* out) const {
    clear(out);
    for_entries([&](size_t a, size_t b, size_t c_a, size_t c_b) {
      const T& part = by_dof[b * n() + a];
      T& to = c_a < c_b ? out[c_b * nv() + c_a] : out[c_a * nv() + c_b];
      add(part, to);
      if (c_a == c_b && a != b) add(part, to);
    });
  }

  const Tree& tree_;
  std::vector<T> vector_, first_, second_;
};

}  // namespace scree
