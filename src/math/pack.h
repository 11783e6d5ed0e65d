// Pack<W>: W doubles that go through the same arithmetic, each the state of another trajectory. Scalars of the
// recursions like double: a function on T written with the operations below gives every lane the bits that the same
// function on double gives, since + - * / and sqrt are exactly rounded and nothing else is used.
//
// The vector extension of g++ and clang, for any width; which instructions it becomes is the file's business
// (-mavx2, -mavx512f). So a width belongs to one such file: two files compiled for different processors that share a
// type would share its functions, too.
#pragma once

#include <cmath>
#include <cstdint>

#include "math/rotation.h"

namespace scree {

template <int W> struct VectorTypes;
template <> struct VectorTypes<4> {
  using Bits [[gnu::vector_size(32)]] = std::int64_t;
  using Doubles [[gnu::vector_size(32)]] = double;
};
template <> struct VectorTypes<8> {
  using Bits [[gnu::vector_size(64)]] = std::int64_t;
  using Doubles [[gnu::vector_size(64)]] = double;
};

template <int W> struct Mask {
  using Bits = typename VectorTypes<W>::Bits;
  Bits bits;  // of each lane: all or none
  bool operator[](int lane) const { return bits[lane] != 0; }
  void set(int lane, bool on) { bits[lane] = on ? -1 : 0; }
};

template <int W> struct Pack {
  using Lanes = typename VectorTypes<W>::Doubles;
  Lanes lanes;
  Pack() = default;
  explicit Pack(double all) : lanes(all - Lanes{}) {}  // minus zero: keeps the sign of zero
  explicit Pack(Lanes l) : lanes(l) {}
};

template <int W> inline Pack<W> operator+(const Pack<W>& a, const Pack<W>& b) { return Pack<W>(a.lanes + b.lanes); }
template <int W> inline Pack<W> operator-(const Pack<W>& a, const Pack<W>& b) { return Pack<W>(a.lanes - b.lanes); }
template <int W> inline Pack<W> operator*(const Pack<W>& a, const Pack<W>& b) { return Pack<W>(a.lanes * b.lanes); }
template <int W> inline Pack<W> operator/(const Pack<W>& a, const Pack<W>& b) { return Pack<W>(a.lanes / b.lanes); }
template <int W> inline Pack<W> operator-(const Pack<W>& a) { return Pack<W>(-a.lanes); }
template <int W> inline Pack<W>& operator+=(Pack<W>& a, const Pack<W>& b) { return a = a + b; }
template <int W> inline Pack<W>& operator-=(Pack<W>& a, const Pack<W>& b) { return a = a - b; }
template <int W> inline Pack<W>& operator*=(Pack<W>& a, const Pack<W>& b) { return a = a * b; }

template <int W> inline Mask<W> operator<(const Pack<W>& a, const Pack<W>& b) { return {a.lanes < b.lanes}; }
template <int W> inline Mask<W> operator<=(const Pack<W>& a, const Pack<W>& b) { return {a.lanes <= b.lanes}; }
template <int W> inline Mask<W> operator>(const Pack<W>& a, const Pack<W>& b) { return {a.lanes > b.lanes}; }
template <int W> inline Mask<W> operator!(const Mask<W>& a) { return {~a.bits}; }
template <int W> inline Mask<W> operator&(const Mask<W>& a, const Mask<W>& b) { return {a.bits & b.bits}; }
template <int W> inline Mask<W> operator|(const Mask<W>& a, const Mask<W>& b) { return {a.bits | b.bits}; }
template <int W> inline bool any(const Mask<W>& a) {
  std::int64_t bits = 0;
  for (int l = 0; l < W; ++l) bits |= a.bits[l];
  return bits != 0;
}

template <int W> inline Pack<W> select(const Mask<W>& condition, const Pack<W>& yes, const Pack<W>& no) {
  return Pack<W>(condition.bits ? yes.lanes : no.lanes);
}
template <int W> inline Pack<W> sqrt(const Pack<W>& a) {
  Pack<W> r;
  for (int l = 0; l < W; ++l) r.lanes[l] = __builtin_sqrt(a.lanes[l]);
  return r;
}
template <int W> inline Pack<W> abs(const Pack<W>& a) {
  Pack<W> r;
  for (int l = 0; l < W; ++l) r.lanes[l] = __builtin_fabs(a.lanes[l]);
  return r;
}

// The same words for one lane, which is a double.
inline bool any(bool a) { return a; }
inline double sqrt(double a) { return __builtin_sqrt(a); }
inline double abs(double a) { return __builtin_fabs(a); }
inline double select(bool condition, double yes, double no) { return condition ? yes : no; }

template <class T> struct LanesOf;
template <> struct LanesOf<double> {
  static constexpr int count = 1;
  using Condition = bool;
};
template <int W> struct LanesOf<Pack<W>> {
  static constexpr int count = W;
  using Condition = Mask<W>;
};
template <class T> constexpr int kLanes = LanesOf<T>::count;
template <class T> using Condition = typename LanesOf<T>::Condition;

inline double lane(double a, int) { return a; }
template <int W> inline double lane(const Pack<W>& a, int l) { return a.lanes[l]; }
inline void set_lane(double& a, int, double value) { a = value; }
template <int W> inline void set_lane(Pack<W>& a, int l, double value) { a.lanes[l] = value; }
inline bool lane(bool a, int) { return a; }
template <int W> inline bool lane(const Mask<W>& a, int l) { return a[l]; }
inline void set_lane(bool& a, int, bool on) { a = on; }
template <int W> inline void set_lane(Mask<W>& a, int l, bool on) { a.set(l, on); }

template <class T> inline T larger(const T& a, const T& b) { return select(a < b, b, a); }
template <class T> inline T smaller(const T& a, const T& b) { return select(b < a, b, a); }
template <class T> inline V3<T> select(const Condition<T>& c, const V3<T>& a, const V3<T>& b) {
  return {select(c, a.x, b.x), select(c, a.y, b.y), select(c, a.z, b.z)};
}
template <class T> inline M3<T> select(const Condition<T>& c, const M3<T>& a, const M3<T>& b) {
  return {select<T>(c, a.x, b.x), select<T>(c, a.y, b.y), select<T>(c, a.z, b.z)};
}

// Beyond the series of the chart a lane is on its own: no solver step goes there, trial poses may.
template <int W> ChartCoefficients<Pack<W>> chart_coefficients(const Pack<W>& s) {
  ChartCoefficients<Pack<W>> k = chart_series(s);
  const Mask<W> beyond = !(s < Pack<W>(kLargestSeries));
  if (any(beyond))
    for (int l = 0; l < W; ++l) {
      if (!beyond[l]) continue;
      const ChartCoefficients<double> one = chart_closed_form(lane(s, l));
      set_lane(k.a, l, one.a), set_lane(k.b, l, one.b), set_lane(k.c, l, one.c);
      set_lane(k.db, l, one.db), set_lane(k.dc, l, one.dc);
    }
  return k;
}

}  // namespace scree
