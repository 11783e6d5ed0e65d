// Sine and cosine together, on any scalar, with the same bits in every lane of every pack. (Vector math libraries
// round differently for different widths and processors.)
//
// x = k pi/2 + r, |r| <= pi/4, then Taylor's series: up to r^17 and r^16 they leave less than 2^-56 of the result.
#pragma once

#include <bit>
#include <complex>
#include <cstdint>

#include "math/pack.h"

namespace scree {

template <class T> struct SinCos { T sin, cos; };

// The quadrant of k, which is in the last bits of k + 1.5 2^52.
struct Quadrant {
  bool odd, sin_negative, cos_negative;
};
inline Quadrant quadrant(double shifted) {
  const auto bits = std::bit_cast<std::uint64_t>(shifted);
  return {(bits & 1) != 0, (bits & 2) != 0, ((bits + 1) & 2) != 0};
}
template <int W> struct Quadrants { Mask<W> odd, sin_negative, cos_negative; };
template <int W> inline Quadrants<W> quadrant(const Pack<W>& shifted) {
  using Bits = typename Mask<W>::Bits;
  const Bits bits = reinterpret_cast<Bits>(shifted.lanes);
  return {{(bits & 1) != 0}, {(bits & 2) != 0}, {((bits + 1) & 2) != 0}};
}

// |x| <= 1e6: then k has 20 bits, and its products with the first two parts of pi/2, of 33 bits each, are exact.
template <class T> SinCos<T> sin_cos_near(const T& x) {
  const T shift(6755399441055744.0);  // 1.5 2^52: adding it rounds to an integer
  const T shifted = x * T(0.63661977236758134308) + shift;
  const T k = shifted - shift;
  const T r =
      ((x - k * T(1.57079632673412561417)) - k * T(6.07710050630396597660e-11)) - k * T(2.02226624879595063154e-21);
  const T z = r * r;
  constexpr double kSin[] = {-1.0 / 6,        1.0 / 120,        -1.0 / 5040,          1.0 / 362880,
                             -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000, 1.0 / 355687428096000};
  constexpr double kCos[] = {1.0 / 24,        -1.0 / 720,         1.0 / 40320,         -1.0 / 3628800,
                             1.0 / 479001600, -1.0 / 87178291200, 1.0 / 20922789888000};
  T s(kSin[7]), c(kCos[6]);
  for (int j = 6; j >= 0; --j) s = s * z + T(kSin[j]);
  for (int j = 5; j >= 0; --j) c = c * z + T(kCos[j]);
  s = r + r * z * s;
  c = (T(1) - T(0.5) * z) + z * z * c;
  const auto at = quadrant(shifted);
  const T sine = select(at.odd, c, s), cosine = select(at.odd, s, c);
  return {select(at.sin_negative, -sine, sine), select(at.cos_negative, -cosine, cosine)};
}

inline SinCos<double> sin_cos(double x) {
  if (std::abs(x) <= 1e6) return sin_cos_near(x);
  return {std::sin(x), std::cos(x)};
}
inline SinCos<std::complex<double>> sin_cos(const std::complex<double>& x) { return {std::sin(x), std::cos(x)}; }
template <int W> SinCos<Pack<W>> sin_cos(const Pack<W>& x) {
  SinCos<Pack<W>> r = sin_cos_near(x);
  const Mask<W> far = !(abs(x) <= Pack<W>(1e6));
  if (any(far))
    for (int l = 0; l < W; ++l)
      if (far[l]) set_lane(r.sin, l, std::sin(lane(x, l))), set_lane(r.cos, l, std::cos(lane(x, l)));
  return r;
}

}  // namespace scree
