// Numbers of twice the precision of double: unevaluated sums hi + lo with |lo| <= ulp(hi)/2.
//
// Sums and products are those of Joldes, Muller and Popescu, "Tight and rigorous error bounds for basic building blocks
// of double-word arithmetic", 2017, without fused multiply-add (Dekker's splitting instead): relative errors of + - *
// are at most 7 * 2^-106. Quotients and roots are good to some units more; nobody relies on a bound of theirs.
// Magnitudes beyond 2^900 or below 2^-900 are not meant.
#pragma once

#include <cmath>

namespace scree {

struct DoubleDouble {
  double hi = 0, lo = 0;
  DoubleDouble() = default;
  DoubleDouble(double value) : hi(value) {}  // NOLINT: exact, wanted to be implicit
  DoubleDouble(double high, double low) : hi(high), lo(low) {}
};

// a + b = hi + lo exactly. [Knuth]
inline DoubleDouble two_sum(double a, double b) {
  const double s = a + b, t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}
// The same for |a| >= |b|.
inline DoubleDouble fast_two_sum(double a, double b) {
  const double s = a + b;
  return {s, b - (s - a)};
}
// a b = hi + lo exactly, short of overflow and underflow. [Dekker]
inline DoubleDouble two_product(double a, double b) {
  constexpr double kSplit = 134217729;  // 2^27 + 1
  const double ca = kSplit * a, ah = ca - (ca - a), al = a - ah;
  const double cb = kSplit * b, bh = cb - (cb - b), bl = b - bh;
  const double p = a * b;
  return {p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

inline DoubleDouble operator-(const DoubleDouble& a) { return {-a.hi, -a.lo}; }
inline DoubleDouble operator+(const DoubleDouble& a, const DoubleDouble& b) {
  const DoubleDouble s = two_sum(a.hi, b.hi), t = two_sum(a.lo, b.lo);
  const DoubleDouble v = fast_two_sum(s.hi, s.lo + t.hi);
  return fast_two_sum(v.hi, t.lo + v.lo);
}
inline DoubleDouble operator-(const DoubleDouble& a, const DoubleDouble& b) { return a + -b; }
inline DoubleDouble operator*(const DoubleDouble& a, const DoubleDouble& b) {
  const DoubleDouble p = two_product(a.hi, b.hi);
  return fast_two_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}
inline DoubleDouble operator*(const DoubleDouble& a, double b) {
  const DoubleDouble p = two_product(a.hi, b);
  return fast_two_sum(p.hi, p.lo + a.lo * b);
}
inline DoubleDouble operator*(double a, const DoubleDouble& b) { return b * a; }
inline DoubleDouble operator/(const DoubleDouble& a, const DoubleDouble& b) {
  const double q1 = a.hi / b.hi;
  const DoubleDouble r = a - b * q1;
  const double q2 = r.hi / b.hi;
  const DoubleDouble rest = r - b * q2;
  return DoubleDouble(fast_two_sum(q1, q2)) + rest.hi / b.hi;
}
inline DoubleDouble& operator+=(DoubleDouble& a, const DoubleDouble& b) { return a = a + b; }
inline DoubleDouble& operator-=(DoubleDouble& a, const DoubleDouble& b) { return a = a - b; }
inline DoubleDouble& operator*=(DoubleDouble& a, const DoubleDouble& b) { return a = a * b; }

inline bool operator<(const DoubleDouble& a, const DoubleDouble& b) {
  return a.hi < b.hi || (a.hi == b.hi && a.lo < b.lo);
}
inline bool operator>(const DoubleDouble& a, const DoubleDouble& b) { return b < a; }
inline bool operator<=(const DoubleDouble& a, const DoubleDouble& b) { return !(b < a); }
inline bool operator>=(const DoubleDouble& a, const DoubleDouble& b) { return !(a < b); }
inline bool operator==(const DoubleDouble& a, const DoubleDouble& b) { return a.hi == b.hi && a.lo == b.lo; }

inline DoubleDouble sqrt(const DoubleDouble& a) {
  if (!(a.hi > 0)) return {std::sqrt(a.hi), 0};
  const double root = std::sqrt(a.hi);
  return fast_two_sum(root, ((a - two_product(root, root)).hi) / (2 * root));
}

}  // namespace scree
