// The ladder of arithmetics in which an impact may be computed: double, double-double, MPFR with 256 bits. What one
// computes the next checks, so that no bound on its own rounding has to be believed.                  theory section 13
#pragma once

#include <boost/multiprecision/mpfr.hpp>
#include <cmath>

#include "math/double_double.h"

namespace scree {

// Fixed size, on the stack: no heap call and no precision that threads would share.
template <unsigned Digits>
using Mpfr = boost::multiprecision::number<
    boost::multiprecision::mpfr_float_backend<Digits, boost::multiprecision::allocate_stack>,
    boost::multiprecision::et_off>;
using Mpfr256 = Mpfr<77>;    // 257 bits
using Mpfr1024 = Mpfr<308>;  // 1025 bits

// bits; unit: bound of the relative error of one + - *; Wide: arithmetic of the checks.
template <class T> struct Arithmetic;
template <> struct Arithmetic<double> {
  static constexpr int bits = 53;
  static constexpr double unit = 0x1p-53;
  using Wide = DoubleDouble;
};
template <> struct Arithmetic<DoubleDouble> {
  static constexpr int bits = 106;
  static constexpr double unit = 0x1p-103;
  using Wide = Mpfr256;
};
template <> struct Arithmetic<Mpfr256> {
  static constexpr int bits = 256;
  static constexpr double unit = 0x1p-256;
  using Wide = Mpfr1024;
};
template <> struct Arithmetic<Mpfr1024> {
  static constexpr int bits = 1024;
  static constexpr double unit = 0x1p-1000;
};

inline double to_double(double x) { return x; }
inline double to_double(const DoubleDouble& x) { return x.hi + x.lo; }
template <unsigned Digits> double to_double(const Mpfr<Digits>& x) { return x.template convert_to<double>(); }

// Conversion without loss to an arithmetic at least as precise.
inline void assign(double& to, double from) { to = from; }
inline void assign(DoubleDouble& to, double from) { to = from; }
inline void assign(DoubleDouble& to, const DoubleDouble& from) { to = from; }
template <unsigned Digits> void assign(Mpfr<Digits>& to, double from) { to = from; }
template <unsigned Digits> void assign(Mpfr<Digits>& to, const DoubleDouble& from) {
  to = from.hi;
  to += from.lo;
}
template <unsigned Digits, unsigned Fewer> void assign(Mpfr<Digits>& to, const Mpfr<Fewer>& from) {
  to = Mpfr<Digits>(from);
}
template <class To, class From> To widened(const From& from) {
  To to;
  assign(to, from);
  return to;
}

template <class T> T square_root(const T& x) {
  using boost::multiprecision::sqrt;
  using scree::sqrt;
  using std::sqrt;
  return sqrt(x);
}

}  // namespace scree
