// Small vectors, rotations and spatial (twist, wrench) algebra on any scalar: double, std::complex<double> in tests
// that differentiate by complex step, SIMD packs. Plain structs and no Eigen, so that the same recursion compiles for
// each.
//
// A twist is (w, v): angular velocity and the velocity of the body-fixed point at the origin. A wrench is (m, f):
// moment about the origin and force. Their dot product is a power.
#pragma once

#include <cmath>

namespace scree {

template <class T> struct V3 { T x, y, z; };
template <class T> inline V3<T> operator+(const V3<T>& a, const V3<T>& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
template <class T> inline V3<T> operator-(const V3<T>& a, const V3<T>& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
template <class T> inline V3<T> operator-(const V3<T>& a) { return {-a.x, -a.y, -a.z}; }
template <class T> inline V3<T> operator*(const T& s, const V3<T>& a) { return {s * a.x, s * a.y, s * a.z}; }
template <class T> inline V3<T>& operator+=(V3<T>& a, const V3<T>& b) { return a = a + b; }
template <class T> inline V3<T>& operator-=(V3<T>& a, const V3<T>& b) { return a = a - b; }
template <class T> inline T dot(const V3<T>& a, const V3<T>& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
template <class T> inline V3<T> cross(const V3<T>& a, const V3<T>& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

// A 3x3 matrix by columns.
template <class T> struct M3 { V3<T> x, y, z; };
template <class T> inline M3<T> operator+(const M3<T>& a, const M3<T>& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
template <class T> inline M3<T> operator-(const M3<T>& a, const M3<T>& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
template <class T> inline M3<T> operator*(const T& s, const M3<T>& a) { return {s * a.x, s * a.y, s * a.z}; }
template <class T> inline M3<T>& operator+=(M3<T>& a, const M3<T>& b) { return a = a + b; }
template <class T> inline V3<T> operator*(const M3<T>& a, const V3<T>& b) { return b.x * a.x + b.y * a.y + b.z * a.z; }
template <class T> inline M3<T> operator*(const M3<T>& a, const M3<T>& b) { return {a * b.x, a * b.y, a * b.z}; }
template <class T> inline M3<T> transpose(const M3<T>& a) {
  return {{a.x.x, a.y.x, a.z.x}, {a.x.y, a.y.y, a.z.y}, {a.x.z, a.y.z, a.z.z}};
}
template <class T> inline V3<T> transpose_times(const M3<T>& a, const V3<T>& b) {
  return {dot(a.x, b), dot(a.y, b), dot(a.z, b)};
}
template <class T> inline M3<T> outer(const V3<T>& a, const V3<T>& b) { return {b.x * a, b.y * a, b.z * a}; }  // a b^T
template <class T> inline T trace(const M3<T>& a) { return a.x.x + a.y.y + a.z.z; }
template <class T> inline M3<T> identity3() { return {{T(1), T(0), T(0)}, {T(0), T(1), T(0)}, {T(0), T(0), T(1)}}; }
template <class T> inline M3<T> zero3() { return {{T(0), T(0), T(0)}, {T(0), T(0), T(0)}, {T(0), T(0), T(0)}}; }

// A symmetric 3x3 matrix.
template <class T> struct S3 { T xx, yy, zz, xy, xz, yz; };
template <class T> inline S3<T> operator+(const S3<T>& a, const S3<T>& b) {
  return {a.xx + b.xx, a.yy + b.yy, a.zz + b.zz, a.xy + b.xy, a.xz + b.xz, a.yz + b.yz};
}
template <class T> inline S3<T>& operator+=(S3<T>& a, const S3<T>& b) { return a = a + b; }
template <class T> inline V3<T> operator*(const S3<T>& a, const V3<T>& b) {
  return {a.xx * b.x + a.xy * b.y + a.xz * b.z, a.xy * b.x + a.yy * b.y + a.yz * b.z,
          a.xz * b.x + a.yz * b.y + a.zz * b.z};
}
template <class T> inline T trace(const S3<T>& a) { return a.xx + a.yy + a.zz; }

template <class T> struct Twist { V3<T> w, v; };
template <class T> inline Twist<T> operator+(const Twist<T>& a, const Twist<T>& b) { return {a.w + b.w, a.v + b.v}; }
template <class T> inline Twist<T> operator*(const T& s, const Twist<T>& a) { return {s * a.w, s * a.v}; }
template <class T> inline Twist<T>& operator+=(Twist<T>& a, const Twist<T>& b) { return a = a + b; }

template <class T> struct Wrench { V3<T> m, f; };
template <class T> inline Wrench<T> operator+(const Wrench<T>& a, const Wrench<T>& b) { return {a.m + b.m, a.f + b.f}; }
template <class T> inline Wrench<T>& operator+=(Wrench<T>& a, const Wrench<T>& b) { return a = a + b; }
template <class T> inline T dot(const Twist<T>& a, const Wrench<T>& b) { return dot(a.w, b.m) + dot(a.v, b.f); }

// Motion cross product xi x eta = d eta/dt of a twist carried along by xi, and its dual on wrenches.
template <class T> inline Twist<T> cross(const Twist<T>& a, const Twist<T>& b) {
  return {cross(a.w, b.w), cross(a.w, b.v) + cross(a.v, b.w)};
}
template <class T> inline Wrench<T> cross_dual(const Twist<T>& a, const Wrench<T>& b) {
  return {cross(a.w, b.m) + cross(a.v, b.f), cross(a.w, b.f)};
}

// Second moment of a mass distribution about the origin: integral of rho (X,1)(X,1)^T.     theory (2.1)
template <class T> struct SecondMoment {
  S3<T> A;  // integral rho X X^T
  V3<T> b;  // integral rho X = m c
  T m;
};
template <class T> inline SecondMoment<T>& operator+=(SecondMoment<T>& a, const SecondMoment<T>& b) {
  a.A += b.A;
  a.b += b.b;
  a.m = a.m + b.m;
  return a;
}
// Momentum of the same masses moving with twist xi: the spatial inertia applied to xi.      theory (2.3)
template <class T> inline Wrench<T> operator*(const SecondMoment<T>& s, const Twist<T>& xi) {
  return {trace(s.A) * xi.w - s.A * xi.w + cross(s.b, xi.v), s.m * xi.v - cross(s.b, xi.w)};
}

}  // namespace scree
