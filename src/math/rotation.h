// The exponential chart of rotations, on any scalar. R(w) = exp([w]x); theory (1.4) to (1.8).
#pragma once

#include <complex>

#include "math/spatial.h"

namespace scree {

// The scalar of numbers that are not differentiated.
template <class T> struct RealOfScalar { using Type = T; };
template <> struct RealOfScalar<std::complex<double>> { using Type = double; };
template <class T> using RealOf = typename RealOfScalar<T>::Type;

inline double real_part(double a) { return a; }
inline double real_part(const std::complex<double>& a) { return a.real(); }

// The even functions of the rotation angle that the chart is made of, and their derivatives by s = |w|^2:
//   a = sin t / t,  b = (1 - cos t) / t^2,  c = (t - sin t) / t^3,  t = sqrt(s).
template <class T> struct ChartCoefficients { T a, b, c, db, dc; };

constexpr double kLargestSeries = 1.2;  // [rad^2] 63 degrees, which covers every solver step

// Ten terms leave less than 1.2^10/21! < 2e-19.
template <class T> ChartCoefficients<T> chart_series(const T& s) {
  static constexpr double kInverseFactorial[] = {1.0,
                                                 1.0 / 6,
                                                 1.0 / 120,
                                                 1.0 / 5040,
                                                 1.0 / 362880,
                                                 1.0 / 39916800,
                                                 1.0 / 6227020800,
                                                 1.0 / 1307674368000,
                                                 1.0 / 355687428096000,
                                                 1.0 / 121645100408832000};  // 1 / (2k+1)!
  T a(0), b(0), c(0), db(0), dc(0);
  for (int k = 9; k >= 0; --k) {
    const double odd = kInverseFactorial[k] * (k % 2 ? -1 : 1);
    const double even = odd / (2 * k + 2), next = even / (2 * k + 3);  // 1/(2k+2)!, 1/(2k+3)!
    a = a * s + T(odd);
    b = b * s + T(even);
    c = c * s + T(next);
    if (k > 0) {
      db = db * s + T(even * k);
      dc = dc * s + T(next * k);
    }
  }
  return {a, b, c, db, dc};
}

template <class T> ChartCoefficients<T> chart_closed_form(const T& s) {
  using std::cos, std::sin, std::sqrt;
  const T t = sqrt(s);
  const T a = sin(t) / t, b = (T(1) - cos(t)) / s, c = (T(1) - a) / s;
  return {a, b, c, (a - T(2) * b) / (T(2) * s), (b - T(3) * c) / (T(2) * s)};
}

template <class T> ChartCoefficients<T> chart_coefficients(const T& s) {
  return real_part(s) < kLargestSeries ? chart_series(s) : chart_closed_form(s);
}

// 1 + first [w]x + second [w]x^2, s = |w|^2
template <class T> M3<T> skew_polynomial(const V3<T>& w, const T& s, const T& first, const T& second) {
  const V3<T> u = second * w;
  const T d = T(1) - second * s;
  return {{d + u.x * w.x, u.x * w.y + first * w.z, u.x * w.z - first * w.y},
          {u.y * w.x - first * w.z, d + u.y * w.y, u.y * w.z + first * w.x},
          {u.z * w.x + first * w.y, u.z * w.y - first * w.x, d + u.z * w.z}};
}

// exp([w]x) = 1 + a [w]x + b [w]x^2
template <class T> M3<T> rotation_exp(const V3<T>& w) {
  const T s = dot(w, w);
  const auto k = chart_coefficients(s);
  return skew_polynomial(w, s, k.a, k.b);
}

// J(w): d exp([w]x) = [J dw]x exp([w]x), with J = 1 + b [w]x + c [w]x^2. The right Jacobian is J(-w) = J(w)^T.
template <class T> M3<T> rotation_jacobian(const V3<T>& w) {
  const T s = dot(w, w);
  const auto k = chart_coefficients(s);
  return skew_polynomial(w, s, k.b, k.c);
}

// d (J(w)^T m) / dw for a fixed m: column a is the derivative by w_a.
//   J^T m = m - b w x m + c w x (w x m)
template <class T> M3<T> rotation_jacobian_derivative(const V3<T>& w, const V3<T>& m) {
  const auto k = chart_coefficients(dot(w, w));
  const V3<T> wm = cross(w, m), wwm = cross(w, wm);
  // b and c change with s, ds = 2 w . dw
  M3<T> d = outer((T(2) * k.dc) * wwm - (T(2) * k.db) * wm, w);
  // - b (dw x m) = b [m]x dw
  const V3<T> bm = k.b * m;
  d += M3<T>{{T(0), bm.z, -bm.y}, {-bm.z, T(0), bm.x}, {bm.y, -bm.x, T(0)}};
  // c d(w (w.m) - m (w.w)) = c ((w.m) dw + w (m.dw) - 2 m (w.dw))
  const T cwm = k.c * dot(w, m);
  d += outer(k.c * w, m);
  d += outer((T(-2) * k.c) * m, w);
  d.x.x = d.x.x + cwm;
  d.y.y = d.y.y + cwm;
  d.z.z = d.z.z + cwm;
  return d;
}

// --- quaternions (w, x, y, z): states are stored so -----------------------------------------------------------------

template <class T> struct Quaternion { T w, x, y, z; };
using UnitQuaternion = Quaternion<double>;
inline UnitQuaternion operator*(const UnitQuaternion& a, const UnitQuaternion& b) {
  return {a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z, a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
          a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x, a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}
inline UnitQuaternion conjugate(const UnitQuaternion& a) { return {a.w, -a.x, -a.y, -a.z}; }
inline UnitQuaternion normalized(const UnitQuaternion& a) {
  const double n = 1 / std::sqrt(a.w * a.w + a.x * a.x + a.y * a.y + a.z * a.z);
  return {a.w * n, a.x * n, a.y * n, a.z * n};
}
template <class T> Quaternion<T> load_quaternion(const T* q) { return {q[0], q[1], q[2], q[3]}; }
inline void store_quaternion(const UnitQuaternion& a, double* q) { q[0] = a.w, q[1] = a.x, q[2] = a.y, q[3] = a.z; }

// The rotation of a quaternion of any length: Runge-Kutta stages leave the unit sphere for a moment.
template <class T> M3<T> to_rotation(const Quaternion<T>& q) {
  const T s = T(2) / (q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z), one(1);
  const T xx = s * q.x * q.x, yy = s * q.y * q.y, zz = s * q.z * q.z, xy = s * q.x * q.y, xz = s * q.x * q.z,
          yz = s * q.y * q.z, wx = s * q.w * q.x, wy = s * q.w * q.y, wz = s * q.w * q.z;
  return {{one - yy - zz, xy + wz, xz - wy}, {xy - wz, one - xx - zz, yz + wx}, {xz + wy, yz - wx, one - xx - yy}};
}
inline UnitQuaternion quaternion_exp(const V3<double>& w) {
  const double t = 0.5 * std::sqrt(dot(w, w));
  const double s = t < 1e-4 ? 0.5 - t * t / 12 : 0.5 * std::sin(t) / t;  // next term t^4/240 < 1e-18
  return {std::cos(t), s * w.x, s * w.y, s * w.z};
}
// The rotation vector of at most pi.
inline V3<double> quaternion_log(const UnitQuaternion& q) {
  const double sign = q.w < 0 ? -1 : 1;
  const double n = std::sqrt(q.x * q.x + q.y * q.y + q.z * q.z);
  const double scale = sign * (n < 1e-9 ? 2.0 : 2 * std::atan2(n, sign * q.w) / n);  // next term n^2/3 < 1e-18
  return {scale * q.x, scale * q.y, scale * q.z};
}

}  // namespace scree
