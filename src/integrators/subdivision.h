// How a step is cut: into substeps of dt / 2^level. One that fails is halved; once both halves are done the next one is
// tried at double size again (Algorithm 2 of the NMDP paper, as a loop).
#pragma once

#include <cmath>
#include <cstdint>

namespace scree {

// T: the scalar of the step, so that files compiled for one processor share no function with others.
template <class T> struct Subdivision {
  int max_halvings = 0;
  int level = 0;
  std::int64_t done = 0;  // of the step, in units of its smallest substep

  std::int64_t whole() const { return std::int64_t{1} << max_halvings; }
  bool complete() const { return done == whole(); }
  bool exhausted() const { return level > max_halvings; }  // nothing smaller is left to try
  double substep(double dt) const { return std::ldexp(dt, -level); }
  double elapsed(double dt) const { return dt * (static_cast<double>(done) / static_cast<double>(whole())); }
  void accept() { done += whole() >> level; }
  bool pair_done() const { return level > 0 && done % (whole() >> (level - 1)) == 0; }
  void lengthen() {
    while (pair_done()) --level;
  }
};

}  // namespace scree
