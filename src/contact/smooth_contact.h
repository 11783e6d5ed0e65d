// Contact as a smooth force of depth and slip, on any scalar.                                         theory section 11
#pragma once

#include "math/pack.h"

namespace scree {

enum class FrictionLaw {
  energy,   // normal force and friction from one energy, theory (11.3)
  viscous,  // its friction alone, theory (11.4)
  coulomb,  // bounded by mu times the normal force, theory (11.5)
};

// The exponents are those of all trajectories of a batch, the coefficients may differ between them.
struct SmoothLaw {
  FrictionLaw friction;
  bool printed;  // displacement in place of velocity, as eq. 11 and 12 of the paper
  double alpha, beta, gamma;
};
template <class T> struct SmoothCoefficients {
  T stiffness;  // C_perp [N/m^alpha]
  T depth;      // [m] where a point carries its share of the weight
  T drag;       // C_par [N s^beta / m^(beta+gamma+1)]
  T mu, creep;  // 1, [m/s]
  T damping;    // [s/m]
};

// x^e; whole exponents by products, others lane by lane.
template <class T> T power(const T& x, double e) {
  if (e == 0) return T(1);
  if (e == 1) return x;
  if (e == 2) return x * x;
  if (e == 3) return x * x * x;
  T r = x;
  for (int l = 0; l < kLanes<T>; ++l) set_lane(r, l, std::pow(lane(x, l), e));
  return r;
}

// f = N n - g u_t with N(depth, u_n, s), g(depth, u_n, s), u = u_n n + u_t, s = |u_t|^2.                 theory (11.6)
template <class T> struct SmoothForce {
  V3<T> u_t;
  T u_n, N, N_d, N_u, N_s;  // the normal force and its derivatives by depth, u_n and s
  T g, g_d, g_u, g_s;
  V3<T> f;
  T energy;  // [J] of FrictionLaw::energy; of the others that of the normal force without damping
};

template <class T> void operator*=(SmoothForce<T>& a, const T& factor) {
  for (T* x : {&a.N, &a.N_d, &a.N_u, &a.N_s, &a.g, &a.g_d, &a.g_u, &a.g_s, &a.energy}) *x *= factor;
  a.f = factor * a.f;
}

// h: what the displacement behind u was divided by [s].
template <class T>
SmoothForce<T> smooth_force(const SmoothLaw& law, const SmoothCoefficients<T>& k, const T& depth, const V3<T>& n,
                            const V3<T>& u, const T& h) {
  SmoothForce<T> r;
  const T zero(0);
  const T d = larger(depth, zero);
  r.u_n = dot(n, u);
  r.u_t = u - r.u_n * n;
  const T s = dot(r.u_t, r.u_t);
  const T slope = k.stiffness * power(d, law.alpha - 1);
  r.N = slope * d;
  r.N_d = T(law.alpha) * slope;
  r.N_u = r.N_s = r.g_u = zero;
  r.energy = T(1 / (law.alpha + 1)) * r.N * d;
  if (law.friction == FrictionLaw::coulomb) {
    const T damping = T(1) - k.damping * r.u_n;
    const auto pushes = damping > zero;
    r.N_u = select(pushes, -(k.damping * r.N), zero);
    r.N = select(pushes, damping * r.N, zero);
    r.N_d = select(pushes, damping * r.N_d, zero);
    const T by_slip = T(1) / sqrt(s + k.creep * k.creep), mu = k.mu * by_slip;
    r.g = mu * r.N;
    r.g_d = mu * r.N_d;
    r.g_u = mu * r.N_u;
    r.g_s = T(-0.5) * r.g * by_slip * by_slip;
  } else {
    const bool energy = law.friction == FrictionLaw::energy;
    // g = (beta+1) C_par s^a d^(gamma+1), with powers of h where u stands for a displacement
    const double a = law.printed && !energy ? law.beta / 2 : (law.beta - 1) / 2;
    T drag = k.drag;
    if (law.printed) drag = drag * power(h, energy ? law.beta : law.beta + 1);
    const T some = larger(s, T(1e-24));  // slower than 1e-12 m/s is at rest: powers of s may be negative
    const T d_gamma = power(d, law.gamma), deep = d_gamma * d;
    const T by_slip = T(law.beta + 1) * drag * power(some, a);
    r.g = by_slip * deep;
    r.g_d = T(law.gamma + 1) * by_slip * d_gamma;
    r.g_s = T(a) * r.g / some;
    if (energy) {  // h C_par s^((beta+1)/2) d^(gamma+1) pushes out of the ground, too
      const T part = h * drag * power(some, a) * some, some_d = larger(d, T(1e-12));
      r.energy = r.energy + part * deep;
      r.N = r.N + T(law.gamma + 1) * part * d_gamma;
      r.N_s = T((law.gamma + 1) * (a + 1)) * part * d_gamma / some;
      r.N_d = r.N_d + select(d > zero, T((law.gamma + 1) * law.gamma) * part * d_gamma / some_d, zero);
    }
  }
  r.f = r.N * n - r.g * r.u_t;
  return r;
}

// How the wrench of a contact changes with a twist of its body: two 6x6 blocks by rows (force, moment) and columns
// (linear, angular part of the twist).                                                                  theory (11.8)
template <class T> struct WrenchChange { M3<T> force_by_v, force_by_w, moment_by_v, moment_by_w; };
template <class T> WrenchChange<T>& operator+=(WrenchChange<T>& a, const WrenchChange<T>& b) {
  a.force_by_v += b.force_by_v, a.force_by_w += b.force_by_w;
  a.moment_by_v += b.moment_by_v, a.moment_by_w += b.moment_by_w;
  return a;
}
// Entry by entry: the compiler would copy 36 packs byte by byte.
template <class T> void assign(WrenchChange<T>& a, const WrenchChange<T>& b) {
  M3<T>* const to[] = {&a.force_by_v, &a.force_by_w, &a.moment_by_v, &a.moment_by_w};
  const M3<T>* const from[] = {&b.force_by_v, &b.force_by_w, &b.moment_by_v, &b.moment_by_w};
  for (int k = 0; k < 4; ++k) to[k]->x = from[k]->x, to[k]->y = from[k]->y, to[k]->z = from[k]->z;
}
template <class T> Wrench<T> operator*(const WrenchChange<T>& a, const Twist<T>& xi) {
  return {a.moment_by_v * xi.v + a.moment_by_w * xi.w, a.force_by_v * xi.v + a.force_by_w * xi.w};
}
template <class T> Wrench<T> transpose_times(const WrenchChange<T>& a, const Twist<T>& xi) {
  return {transpose_times(a.force_by_w, xi.v) + transpose_times(a.moment_by_w, xi.w),
          transpose_times(a.force_by_v, xi.v) + transpose_times(a.moment_by_v, xi.w)};
}

// [a]x B and B [a]x, by columns
template <class T> M3<T> cross_times(const V3<T>& a, const M3<T>& B) {
  return {cross(a, B.x), cross(a, B.y), cross(a, B.z)};
}
template <class T> M3<T> times_cross(const M3<T>& B, const V3<T>& a) {
  return {a.z * B.y - a.y * B.z, a.x * B.z - a.z * B.x, a.y * B.x - a.x * B.y};
}

// A sphere of radius r about c that touches with x = c - r n. `from` takes displacements of the body's own points at
// the trial pose to those at rest, Q = R_rest R^T; `curvature` is dn/dc, null where it is zero.
template <class T>
WrenchChange<T> wrench_change(const SmoothForce<T>& F, const V3<T>& n, const V3<T>& u, const V3<T>& c, const V3<T>& x,
                              double radius, const M3<T>& Q, const T& h, const M3<T>* curvature) {
  const T by_h = T(1) / h, r(radius), two(2);
  // df/du at constant n, and df/d depth
  const V3<T> normal_row = F.N_u * n + (two * F.N_s) * F.u_t, slip_row = F.g_u * n + (two * F.g_s) * F.u_t;
  M3<T> by_u = outer(n, normal_row) - outer(F.u_t, slip_row) + outer(F.g * n, n);
  by_u.x.x = by_u.x.x - F.g, by_u.y.y = by_u.y.y - F.g, by_u.z.z = by_u.z.z - F.g;
  const V3<T> by_depth = F.N_d * n - F.g_d * F.u_t;
  // df = force_by_c dc + slide xi_w
  M3<T> force_by_c = by_h * by_u - outer(by_depth, n);
  const bool round = radius > 0;
  M3<T> slide = zero3<T>();
  if (round) slide = (r * by_h) * times_cross(by_u * Q, n);
  WrenchChange<T> out;
  M3<T> lever_by_c = zero3<T>();  // the surface point leaves the body's own point: dx - xi(x) = -r (H dc + n x xi_w)
  if (curvature) {
    const M3<T>& H = *curvature;
    // x = c - r n(c): du = (dx - Q (dx - xi(x)))/h
    force_by_c += (r * by_h) * (by_u * (Q * H - H));
    // f at constant u while n turns: dn = H dc
    const T along = F.N_u - two * F.u_n * F.N_s + F.g, across = F.g_u - two * F.u_n * F.g_s;
    M3<T> by_n = outer(along * n, u) - outer(across * F.u_t, u);
    const T straight = F.N + F.g * F.u_n;
    by_n.x.x = by_n.x.x + straight, by_n.y.y = by_n.y.y + straight, by_n.z.z = by_n.z.z + straight;
    force_by_c += by_n * H;
    lever_by_c = r * cross_times(F.f, H);
  }
  // dc = xi_v - c x xi_w
  out.force_by_v = force_by_c;
  out.force_by_w = slide - times_cross(force_by_c, c);
  out.moment_by_v = cross_times(x, out.force_by_v);
  out.moment_by_w = cross_times(x, out.force_by_w);
  if (curvature) {
    out.moment_by_v += lever_by_c;
    out.moment_by_w = out.moment_by_w - times_cross(lever_by_c, c);
  }
  if (round)  // f x (r n x xi_w) = r (n (f.xi_w) - xi_w (f.n))
  {
    out.moment_by_w += outer(r * n, F.f);
    const T fn = r * dot(F.f, n);
    out.moment_by_w.x.x = out.moment_by_w.x.x - fn;
    out.moment_by_w.y.y = out.moment_by_w.y.y - fn;
    out.moment_by_w.z.z = out.moment_by_w.z.z - fn;
  }
  return out;
}

}  // namespace scree
