// Contact in a stage with smooth contact (smooth_stage.h): which pairs touch, their forces, and how far a step may go.
#pragma once

#include "integrators/smooth_stage.h"

namespace scree {

// Where the point of contact moves over the body, or the normal turns, a force at it is not all of the gradient of the
// energy (11.3): with Q as in to_rest(), H = dn/dc and e = g (Q^T - 1) u_t also
//   -r e x n as a couple   and   H (h g u_n u_t - r e) at the centre c.
template <class T> bool SmoothStage<T>::rolls(const Touch& t) const {
  return s_.law.friction == FrictionLaw::energy && (pair_of(t).radius > 0 || t.curved);
}
template <class T> V3<T> SmoothStage<T>::rolling_couple(const Touch& t) const {
  const LanePair& point = pair_of(t);
  const V3<T> moved = transpose_times(to_rest(static_cast<size_t>(point.node)), t.force.u_t) - t.force.u_t;
  return cross((T(-point.radius) * t.force.g) * moved, t.normal);
}
template <class T> void SmoothStage<T>::add_rolling(const Touch& t) {
  const LanePair& point = pair_of(t);
  const size_t i = static_cast<size_t>(point.node);
  const V3<T> couple = T(0.5) * rolling_couple(t);
  inertia_.moment[i] += cross_times(couple, identity3<T>());  // a matrix whose wrench is the couple
  if (!t.curved) return;
  const V3<T> moved = transpose_times(to_rest(i), t.force.u_t) - t.force.u_t;
  const V3<T> f =
      t.curvature * ((t.force.g * stage_h * t.force.u_n) * t.force.u_t - (t.force.g * T(point.radius)) * moved);
  inertia_.moment[i] += outer(t.c, -f);
  inertia_.force[i] -= f;
}
// How the couple changes while the normal does not; how the force changes is left out.
template <class T> void SmoothStage<T>::add_rolling_change(const Touch& t, WrenchChange<T>& change) const {
  const LanePair& point = pair_of(t);
  if (!(point.radius > 0)) return;
  const SmoothForce<T>& F = t.force;
  const V3<T>& normal = t.normal;
  const M3<T> Q = to_rest(static_cast<size_t>(point.node)), one = identity3<T>(), Qt = transpose(Q);
  const T by_h = T(1) / stage_h, r(point.radius);
  const V3<T> moved = Qt * F.u_t - F.u_t;
  const M3<T> by_u = F.g * ((Qt - one) * (one - outer(normal, normal))) + outer(moved, (T(2) * F.g_s) * F.u_t);
  const M3<T> by_c = by_h * by_u - outer(F.g_d * moved, normal);
  const M3<T> by_w = (r * by_h) * times_cross(by_u * Q, normal) - times_cross(F.g * one, Qt * F.u_t);
  change.moment_by_v += r * cross_times(normal, by_c);
  change.moment_by_w += r * cross_times(normal, by_w - times_cross(by_c, t.c));
  change.moment_by_w += cross_times(T(0.5) * rolling_couple(t), one);
}

// Depth of a point about c, the normal there and, of grounds that are not flat, dn/dc. False: in the air in all lanes.
template <class T>
bool SmoothStage<T>::locate(LaneHost& host, int pair, const V3<T>& c, T& depth, V3<T>& normal, M3<T>& curvature) const {
  const LanePair& ground = s_.pairs[static_cast<size_t>(pair)];
  const double radius = ground.radius;
  ++looks;
  if (ground.plane) {
    normal = {T(ground.normal.x), T(ground.normal.y), T(ground.normal.z)};
    depth = T(radius) - (dot(normal, c) - offsets_[static_cast<size_t>(ground.solid)]);
  } else {
    for (int l = 0; l < W; ++l) {
      const V3<double> p = {lane(c.x, l) + lane(trial_.origin.x, l), lane(c.y, l) + lane(trial_.origin.y, l),
                            lane(c.z, l) + lane(trial_.origin.z, l)};
      double distance = 0;
      V3<double> g = {0, 0, 0};
      M3<double> H = zero3<double>();
      host.ground(pair, p, distance, g, H);
      set_lane(depth, l, radius - distance);
      set_lane(normal.x, l, g.x), set_lane(normal.y, l, g.y), set_lane(normal.z, l, g.z);
      V3<T>* const to[] = {&curvature.x, &curvature.y, &curvature.z};
      const V3<double>* const from[] = {&H.x, &H.y, &H.z};
      for (int k = 0; k < 3; ++k)
        set_lane(to[k]->x, l, from[k]->x), set_lane(to[k]->y, l, from[k]->y), set_lane(to[k]->z, l, from[k]->z);
    }
  }
  return any(depth > T(0));
}

// At least the depth of every point of the cluster, whose centre is at c.
template <class T>
T SmoothStage<T>::depth_bound(LaneHost& host, const PointCluster& cluster, size_t solid, const V3<T>& c) const {
  ++looks;
  const int pair = s_.solids[solid];
  const LanePair& ground = s_.pairs[static_cast<size_t>(pair)];
  T distance;
  if (ground.plane) {
    distance = dot(V3<T>{T(ground.normal.x), T(ground.normal.y), T(ground.normal.z)}, c) - offsets_[solid];
  } else {
    for (int l = 0; l < W; ++l)
      set_lane(
          distance, l,
          host.ground_bound(pair, {lane(c.x, l) + lane(trial_.origin.x, l), lane(c.y, l) + lane(trial_.origin.y, l),
                                   lane(c.z, l) + lane(trial_.origin.z, l)}));
  }
  return T(cluster.radius) - distance;
}

// Marks the pairs of clusters of which no part is far, or too small to ask. far(cluster, solid)
template <class T> template <class Far> void SmoothStage<T>::find_near(std::vector<Bits>& marks, Far&& far) {
  constexpr int kFew = 3;
  const size_t solids = s_.solids.size();
  for (size_t solid = 0; solid < solids; ++solid)
    for (size_t k = 0; k < s_.clusters.size();) {
      const PointCluster& cluster = s_.clusters[k];
      if (cluster.count > kFew && far(cluster, solid)) {
        k = static_cast<size_t>(cluster.next);
        continue;
      }
      if (cluster.leaf)
        for (int p = cluster.first; p < cluster.first + cluster.count; ++p) {
          const size_t pair = static_cast<size_t>(s_.points[static_cast<size_t>(p)]) * solids + solid;
          marks[pair / 64].word |= std::uint64_t{1} << (pair % 64);
        }
      ++k;
    }
}

// In the order of the pairs, which is that of all sums. visit(pair)
template <class T> template <class Visit> void SmoothStage<T>::for_marked(std::vector<Bits>& marks, Visit&& visit) {
  for (size_t w = 0; w < marks.size(); ++w)
    for (std::uint64_t word = marks[w].word; word != 0; word &= word - 1)
      visit(64 * w + static_cast<size_t>(__builtin_ctzll(word)));
}

// The points in the ground: geometry, velocity as the motion since rest has it, force.            theory (8.3), (11.2)
template <class T> void SmoothStage<T>::touch_all(LaneHost& host) {
  touches_.clear();
  const T by_h = T(1) / stage_h;
  for (Bits& bits : located_) bits.word = 0;
  find_near(located_, [&](const PointCluster& cluster, size_t solid) {
    return !any(depth_bound(host, cluster, solid, centre_of(trial_, cluster)) > T(0));
  });
  for_marked(located_, [&](size_t k) {
    const LanePair& pair = s_.pairs[k];
    const size_t i = static_cast<size_t>(pair.node);
    const V3<T> c = centres_[k] = core(trial_, pair);
    auto& [depth, normal] = near_[k];
    M3<T> curvature;
    if (!locate(host, static_cast<int>(k), c, depth, normal, curvature)) return;
    Touch& t = touches_.emplace_back();
    t.pair = static_cast<int>(k);
    t.c = c, t.normal = normal, t.depth = depth;
    t.curved = !pair.plane;
    if (t.curved) t.curvature = curvature;
    t.x = c - T(pair.radius) * normal;
    t.scale = scale_[k];
    const V3<T> from = motion_.target_p[i] + motion_.target_R[i] * transpose_times(trial_.R[i], t.x - trial_.p[i]);
    t.u = by_h * (t.x - from);
    t.force = smooth_force(s_.law, coefficients, depth, normal, t.u, stage_h);
    if (s_.two_stages) t.force *= t.scale;
  });
}

// Where Newton's step has to end before its linear model fails for one of the contacts.                  theory (11.10)
//
// A point in the air has no stiffness: a step that drives it into the ground leads far too deep, and the way back is
// long. It ends where the point is twice as deep as under its share of the weight; one in the ground may sink to three
// times its depth. Friction bounded by mu N has a slope of mu N / creep where a point is at rest and next to none where
// it slips: a step from slip overshoots the rest it ought to find. It ends where the slip is slowest.
template <class T> T SmoothStage<T>::step_limit(const T* step, LaneHost& host) {
  T part(1);
  if (s_.pairs.empty()) return part;
  const T by_h = T(1) / stage_h, zero(0), soft = T(2) * coefficients.depth;
  for (size_t i = 0; i < tree_.nodes.size(); ++i) {
    const Node& node = tree_.nodes[i];
    Twist<T> V = node.parent >= 0 ? step_twists_[static_cast<size_t>(node.parent)]
                                  : Twist<T>{{zero, zero, zero}, {zero, zero, zero}};
    for (int k = 0; k < node.nv; ++k) V += step[node.v_index + k] * trial_.xi[static_cast<size_t>(node.dof + k)];
    step_twists_[i] = V;
  }
  // No point of a cluster sinks by more than its centre moves and it turns.
  for (Bits& bits : found_) bits.word = 0;
  find_near(found_, [&](const PointCluster& cluster, size_t solid) {
    const Twist<T>& xi = step_twists_[static_cast<size_t>(cluster.node)];
    const V3<T> c = centre_of(trial_, cluster), dc = xi.v + cross(xi.w, c);
    const T moves = T(1 + 1e-10) * (sqrt(dot(dc, dc)) + T(cluster.radius) * sqrt(dot(xi.w, xi.w)));
    return !any(depth_bound(host, cluster, solid, c) + moves > soft);
  });
  for_marked(found_, [&](size_t k) {
    const Twist<T>& xi = step_twists_[static_cast<size_t>(s_.pairs[k].node)];
    Near& near = near_[k];
    if (!(located_[k / 64].word >> (k % 64) & 1)) {
      M3<T> curvature;
      centres_[k] = core(trial_, s_.pairs[k]);
      locate(host, static_cast<int>(k), centres_[k], near.depth, near.normal, curvature);
    }
    const V3<T> dc = xi.v + cross(xi.w, centres_[k]);
    const T sinks = -dot(near.normal, dc), most = larger(soft, T(3) * near.depth);
    const If deep = near.depth + sinks > most;
    if (any(deep)) part = select(deep, smaller(part, (most - near.depth) / select(deep, sinks, T(1))), part);
  });
  if (s_.law.friction != FrictionLaw::coulomb) return part;
  for (const Touch& t : touches_) {
    const LanePair& point = pair_of(t);
    const size_t i = static_cast<size_t>(point.node);
    const T s = dot(t.force.u_t, t.force.u_t);
    const If slips = (t.depth > zero) & (s > coefficients.creep * coefficients.creep);
    if (!any(slips)) continue;
    const Twist<T>& xi = step_twists_[i];
    V3<T> du = xi.v + cross(xi.w, t.c);
    if (point.radius > 0) {  // a rolling point: only what moves the body's own point is slip
      const V3<T> slide = cross(xi.w, T(point.radius) * t.normal);
      du = du - motion_.target_R[i] * transpose_times(trial_.R[i], slide);
    }
    du = by_h * (du - dot(t.normal, du) * t.normal);
    const T across = -dot(t.force.u_t, du), size = dot(du, du);
    const If turns = slips & (across > zero) & (across < size);
    part = select(turns, smaller(part, across / size), part);
  }
  return part;
}

template <class T> void SmoothStage<T>::report_contacts(int l, LaneHost* host, int& count, double& deepest) const {
  count = 0;
  deepest = 0;
  for (const Touch& t : touches_) {
    const double depth = lane(t.depth, l);
    if (!(depth > 0)) continue;
    ++count;
    deepest = std::max(deepest, depth);
    if (!host) continue;
    const auto one = [&](const V3<T>& a) { return V3<double>{lane(a.x, l), lane(a.y, l), lane(a.z, l)}; };
    host->touches(t.pair, one(trial_.origin) + one(t.x), one(t.normal), (1 / lane(t.scale, l)) * one(t.force.f), depth);
  }
}

}  // namespace scree
