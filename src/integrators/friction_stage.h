// A stage of an implicit step with smooth contact, position based, on any scalar: for one trajectory (double) or for
// as many as a pack has lanes, each with its own step, control and coefficients.                     theory section 11
//
//   R(delta) = dI/ddelta + joint forces - sum J^T f = 0
//
// The twin of PositionBasedStage (dynamics/discretisation.h), whose equations and names it keeps; matrices hold only
// entries of a dof and its ancestors: entry [k][d] belongs to dof k and its ancestor of depth d.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "dynamics/newton_euler.h"
#include "dynamics/position_based.h"
#include "integrators/lane_host.h"

namespace scree {

constexpr double kStageGamma = 1 - 0.70710678118654752440;  // kGamma of dynamics/discretisation.h

template <class T> class FrictionStage {
 public:
  using If = Condition<T>;
  static constexpr int W = kLanes<T>;

  explicit FrictionStage(const LaneSetup& setup);

  // --- state and control, by lane ---
  std::vector<T> q, v;
  std::vector<M3<T>> rate_R;  // body_rates, where has_rates
  std::vector<V3<T>> rate_p;
  If has_rates{};
  std::vector<T> kp, kd, torque, target, target_velocity;
  SmoothCoefficients<T> coefficients;
  T substep;  // [s]
  int n = 0;  // dofs

  // --- a step ---
  // Takes poses, rates and loads at q, v of all lanes. Lanes in the middle of a step find what they had.
  void start(LaneHost& host);
  T turn_rate() const;  // [rad/s] squared: of the body that turns fastest, after start()
  // First (or only) stage of the lanes chosen, and the second one at the pose the first has led to.
  void begin(const If& chosen);
  [[nodiscard]] If begin_second(const If& chosen);  // of these, where the mass matrix is regular
  // q and v at the end of the step, with displacements applied by the host. Returns as begin_second.
  [[nodiscard]] If finish(const If& chosen, LaneHost& host);

  // --- a trial ---
  void evaluate(const T* delta, LaneHost& host);  // residual
  void scale(const If& chosen);                   // merit weights and rounding of the lanes chosen, after evaluate()
  void jacobian();                                // after evaluate(), into row and column
  If factor();                                    // in place; where it is regular
  void solve(T* x) const;                         // x <- J^-1 x
  T step_limit(const T* step);                    // the part of a step from the trial pose that is to be trusted
  void dense_jacobian(int l, double* out) const;  // of one lane, n x n, column-major; before factor()

  T stage_h;  // [s] length of the stage
  std::vector<T> residual, guess, rest, joint_rest, coast;
  T value;                           // [J] the energy whose gradient the residual is (FrictionLaw::energy)
  std::vector<T> weights, rounding;  // by dof: 1/M_aa, and the part of the residual that is rounding
  T merit() const;                   // sum of r_a^2 / M_aa
  T largest_residual() const;        // [m/s^2, rad/s^2]
  If small(double tolerance) const;
  If within_chart() const;
  // Has no body turned by more than twice what a step may be predicted to turn it? R has other roots far away, with
  // links wound round their joints and any energy.
  If turned_little() const;
  const Kinematics<T>& trial() const { return trial_; }
  void report_contacts(int l, LaneHost* host, int& count, double& deepest) const;
  // Upper triangle of the Hessian of the inertial part without curvature, row k as in `row`: for optimisers of energy.
  const std::vector<T>& gauss_newton() const { return gauss_newton_; }
  bool want_gauss_newton = false;
  int depth(int k) const { return depth_[static_cast<size_t>(k)]; }
  int ancestor(int k, int d) const { return path_[static_cast<size_t>(k * n + d)]; }
  std::vector<T> row, column;
  struct Touch {
    int point, solid;
    V3<T> c, x, normal, u;
    T depth, scale;
    SmoothForce<T> force;
    M3<T> curvature;
    bool curved;
  };
  struct BallBlock {
    T H[9];
  };
  // For optimisers of energy: the parts of its Hessian, at the last trial.
  const std::vector<Touch>& touches() const { return touches_; }
  const std::vector<T>& joint_curvature() const { return joint_curvature_; }
  const BallBlock& ball_block(size_t joint) const { return ball_blocks_[joint]; }
  // Takes displacements of a body's own points at the trial pose to those at rest.
  M3<T> to_rest(size_t node) const { return motion_.target_R[node] * transpose(trial_.R[node]); }

 private:
  void set_targets(const If& chosen);
  Twist<T> twist_of(const Kinematics<T>& kin, size_t node, const T* rates) const;
  void second_moments();
  void mass_matrix(const Kinematics<T>& kin, const std::vector<SecondMoment<T>>& sigma, bool rotors);
  If factor_mass();
  void solve_mass(T* x) const;
  If find_rates();
  void joint_forces(LaneHost& host);
  void ball_forces(int joint, LaneHost& host);
  void touch_all(LaneHost& host);
  bool rolls(const Touch& t) const;
  V3<T> rolling_couple(const Touch& t) const;
  void add_rolling(const Touch& t);
  void add_rolling_change(const Touch& t, WrenchChange<T>& change) const;
  bool locate(LaneHost& host, int point, int solid, const V3<T>& c, T& depth, V3<T>& normal, M3<T>& curvature) const;
  T* row_of(int k) { return row.data() + k * n; }
  T* column_of(int k) { return column.data() + k * n; }
  size_t pair(int point, int solid) const {
    return static_cast<size_t>(point) * s_.solids.size() + static_cast<size_t>(solid);
  }

  const LaneSetup& s_;
  const Tree& tree_;
  Kinematics<T> start_, trial_;
  PositionBased<T> inertia_, motion_;
  NewtonEulerPass<T> pass_;
  std::vector<M3<T>> coast_R_;
  std::vector<V3<T>> coast_p_;
  std::vector<Twist<T>> twists_;  // of the bodies at the start
  std::vector<SecondMoment<T>> moments_;
  bool have_moments_ = false;
  std::vector<T> delta_, zero_, bending_, rates_, unwanted_, mass_, mass_inverse_, joint_curvature_, gauss_newton_;
  std::vector<T> inverse_pivot_, pivot_size_;
  std::vector<T> offsets_;       // of the planes from the origin of the lane
  std::vector<T> load_, scale_;  // by pair: normal force at the start, factor of forces in this stage
  std::vector<Touch> touches_;
  struct Near {  // of every pair; a normal of zero: far away
    T depth;
    V3<T> normal;
  };
  std::vector<Near> near_;
  std::vector<V3<T>> centres_;         // of the points
  std::vector<Twist<T>> step_twists_;  // of the bodies, by a step
  std::vector<WrenchChange<T>> change_;
  std::vector<char> touched_;
  std::vector<int> depth_, path_;
  std::vector<BallBlock> ball_blocks_;
  LaneBuffer lane_step_, lane_q_;  // of one lane
};

template <class T>
FrictionStage<T>::FrictionStage(const LaneSetup& setup)
    : n(setup.tree->nv),
      s_(setup),
      tree_(*setup.tree),
      start_(tree_),
      trial_(tree_),
      inertia_(tree_),
      motion_(tree_),
      pass_(tree_),
      touched_(tree_.nodes.size()),
      depth_(static_cast<size_t>(n)),
      path_(static_cast<size_t>(n) * static_cast<size_t>(n)),
      lane_step_(tree_.nv),
      lane_q_(tree_.nq) {
  const size_t bodies = tree_.nodes.size(), dofs = static_cast<size_t>(n), matrix = dofs * dofs;
  const size_t pairs = s_.points.size() * s_.solids.size();
  const T zero(0);
  for (std::vector<T>* x :
       {&v,        &kp,         &kd,        &torque,        &target_velocity,  &residual,       &guess,
        &rest,     &joint_rest, &coast,     &weights,       &rounding,         &delta_,         &zero_,
        &bending_, &rates_,     &unwanted_, &mass_inverse_, &joint_curvature_, &inverse_pivot_, &pivot_size_})
    x->assign(dofs, zero);
  q.assign(static_cast<size_t>(tree_.nq), zero);
  target.assign(static_cast<size_t>(tree_.nq), zero);
  for (std::vector<T>* x : {&row, &column, &mass_, &gauss_newton_}) x->assign(matrix, zero);
  rate_R.assign(bodies, zero3<T>());
  rate_p.assign(bodies, V3<T>{zero, zero, zero});
  coast_R_ = rate_R;
  coast_p_ = rate_p;
  twists_.resize(bodies);
  moments_.resize(bodies);
  change_.resize(bodies);
  load_.assign(pairs, zero);
  scale_.assign(pairs, T(1));
  offsets_.assign(s_.solids.size(), zero);
  touches_.reserve(pairs);
  near_.resize(pairs);
  centres_.resize(s_.points.size());
  step_twists_.resize(bodies);
  ball_blocks_.resize(s_.joints.size());
  substep = stage_h = T(1);
  value = zero;
  coefficients = {T(1), T(1), zero, zero, T(1), zero};
  for (int k = 0; k < n; ++k) {
    const int parent = tree_.dof_parent[static_cast<size_t>(k)];
    const int d = depth_[static_cast<size_t>(k)] = parent < 0 ? 0 : depth_[static_cast<size_t>(parent)] + 1;
    for (int e = 0; e < d; ++e) path_[static_cast<size_t>(k * n + e)] = path_[static_cast<size_t>(parent * n + e)];
    path_[static_cast<size_t>(k * n + d)] = k;
  }
  for (const Node& node : tree_.nodes)  // unit quaternions, so that idle lanes compute nothing odd
    if (has_chart(node)) q[static_cast<size_t>(node.q_index + node.nv - 3)] = T(1);
}

template <class T> Twist<T> FrictionStage<T>::twist_of(const Kinematics<T>& kin, size_t node, const T* by_dof) const {
  Twist<T> V = {{T(0), T(0), T(0)}, {T(0), T(0), T(0)}};
  for (int a = tree_.last_dof[node]; a >= 0; a = tree_.dof_parent[static_cast<size_t>(a)])
    V += by_dof[a] * kin.xi[static_cast<size_t>(a)];
  return V;
}

// --- a step ----------------------------------------------------------------------------------------------------------

template <class T> void FrictionStage<T>::start(LaneHost& host) {
  if (tree_.nodes.empty()) return;
  const Node& root = tree_.nodes.front();
  const auto lift = [](const V3<double>& a) { return V3<T>{T(a.x), T(a.y), T(a.z)}; };
  const T* q0 = q.data() + root.q_index;
  V3<T> offset = {T(0), T(0), T(0)};
  if (root.motion == JointMotion::translate) offset = q0[0] * lift(root.axis);
  if (root.motion == JointMotion::planar) offset = q0[0] * lift(root.u1) + q0[1] * lift(root.u2);
  if (root.motion == JointMotion::floating) offset = {q0[0], q0[1], q0[2]};
  const M3<T> R = {lift(root.R_PJ.x), lift(root.R_PJ.y), lift(root.R_PJ.z)};
  start_.origin = trial_.origin = lift(root.p_PJ) + R * offset;
  forward_kinematics(tree_, q.data(), zero_.data(), start_);
  for (size_t i = 0; i < tree_.nodes.size(); ++i) {  // twists of the bodies, from the root on
    const Node& node = tree_.nodes[i];
    Twist<T> V =
        node.parent >= 0 ? twists_[static_cast<size_t>(node.parent)] : Twist<T>{{T(0), T(0), T(0)}, {T(0), T(0), T(0)}};
    for (size_t a = static_cast<size_t>(node.v_index); a < static_cast<size_t>(node.v_index + node.nv); ++a)
      V += v[a] * start_.xi[a];
    twists_[i] = V;
  }
  for (size_t k = 0; k < s_.solids.size(); ++k)
    if (s_.solids[k].plane) offsets_[k] = dot(lift(s_.solids[k].normal), lift(s_.solids[k].point) - start_.origin);
  if (!s_.two_stages) return;
  for (int point = 0; point < static_cast<int>(s_.points.size()); ++point) {  // what the contacts bear
    const LanePoint& p = s_.points[static_cast<size_t>(point)];
    const size_t i = static_cast<size_t>(p.node);
    const V3<T> c = start_.R[i] * lift(p.p_B) + start_.p[i];
    for (int solid = 0; solid < static_cast<int>(s_.solids.size()); ++solid) {
      T depth, &load = load_[pair(point, solid)];
      V3<T> normal;
      M3<T> curvature;
      load = T(0);
      if (!locate(host, point, solid, c, depth, normal, curvature)) continue;
      const V3<T> u = twists_[i].v + cross(twists_[i].w, c - T(p.radius) * normal);
      load = smooth_force(s_.law, coefficients, depth, normal, u, substep).N;
    }
  }
}

template <class T> T FrictionStage<T>::turn_rate() const {
  T largest(0);
  for (const Twist<T>& V : twists_) largest = larger(largest, dot(V.w, V.w));
  return largest;
}

template <class T> void FrictionStage<T>::begin(const If& chosen) {
  stage_h = select(chosen, s_.two_stages ? T(kStageGamma) * substep : substep, stage_h);
  inertia_.weight = T(1) / (stage_h * stage_h);
  motion_.weight = inertia_.weight;
  inertia_.gravity = {T(s_.gravity.x), T(s_.gravity.y), T(s_.gravity.z)};
  for (size_t i = 0; i < tree_.nodes.size(); ++i) {
    const M3<T>& R = start_.R[i];
    const Twist<T>& V = twists_[i];
    M3<T> R_rate = {cross(V.w, R.x), cross(V.w, R.y), cross(V.w, R.z)};
    V3<T> p_rate = V.v + cross(V.w, start_.p[i]);
    if (!s_.two_stages) {
      R_rate = select<T>(has_rates, rate_R[i], R_rate);
      p_rate = select<T>(has_rates, rate_p[i], p_rate);
    }
    coast_R_[i] = select<T>(chosen, R_rate, coast_R_[i]);
    coast_p_[i] = select<T>(chosen, p_rate, coast_p_[i]);
    motion_.target_R[i] = select<T>(chosen, R, motion_.target_R[i]);
    motion_.target_p[i] = select<T>(chosen, start_.p[i], motion_.target_p[i]);
  }
  if (s_.two_stages) {  // M^-1 C(q_n, v_n)                                                               theory (9.4)
    newton_euler_pass<Depth::forces>(tree_, start_, v.data(), zero_.data(), V3<T>{T(0), T(0), T(0)}, pass_);
    project_forces(tree_, start_, pass_, bending_.data());
    world_second_moments(tree_, start_, moments_);
    sum_over_subtrees(tree_, moments_);
    have_moments_ = false;
    mass_matrix(start_, moments_, false);
    If regular = factor_mass();
    if (any(!regular)) {  // links without mass that only a rotor holds need not follow any path
      mass_matrix(start_, moments_, true);
      const If held = factor_mass();
      solve_mass(bending_.data());
      const T nan(std::numeric_limits<double>::quiet_NaN());
      for (T& x : bending_) x = select(held, x, nan);  // the stage fails and says so
      std::copy(bending_.begin(), bending_.end(), rates_.begin());
      project_forces(tree_, start_, pass_, bending_.data());
      mass_matrix(start_, moments_, false);
      regular = factor_mass();
      solve_mass(bending_.data());
      for (int a = 0; a < n; ++a)
        bending_[static_cast<size_t>(a)] =
            select(regular, bending_[static_cast<size_t>(a)], rates_[static_cast<size_t>(a)]);
    } else {
      solve_mass(bending_.data());
    }
  }
  const T half = T(0.5) * stage_h * stage_h;
  for (size_t a = 0; a < v.size(); ++a) {
    rest[a] = select(chosen, T(0), rest[a]);
    joint_rest[a] = select(chosen, s_.two_stages ? half * bending_[a] : T(0), joint_rest[a]);
    coast[a] = select(chosen, v[a], coast[a]);
    guess[a] = stage_h * coast[a];
  }
  for (T& s : scale_) s = select(chosen, T(1), s);
  set_targets(chosen);
}

template <class T> void FrictionStage<T>::set_targets(const If& chosen) {
  for (size_t i = 0; i < tree_.nodes.size(); ++i) {
    inertia_.target_R[i] = select<T>(chosen, motion_.target_R[i] + stage_h * coast_R_[i], inertia_.target_R[i]);
    inertia_.target_p[i] = select<T>(chosen, motion_.target_p[i] + stage_h * coast_p_[i], inertia_.target_p[i]);
  }
}

// The rates of delta with the momentum of the field (T - T_rest)/h at the trial pose.                     theory (9.5)
template <class T> Condition<T> FrictionStage<T>::find_rates() {
  accumulate(tree_, trial_, motion_);
  gradient(tree_, trial_, motion_, rates_.data());
  for (size_t a = 0; a < v.size(); ++a)
    rates_[a] = stage_h * rates_[a] + T(tree_.armature[a]) * (delta_[a] - joint_rest[a]) / stage_h;
  second_moments();
  mass_matrix(trial_, moments_, true);
  const If regular = factor_mass();
  solve_mass(rates_.data());
  return regular;
}

template <class T> Condition<T> FrictionStage<T>::begin_second(const If& chosen) {
  constexpr double kMore = 2, kSlow = 0.01;  // a load may double within a step; [m/s]           theory (9.3), (9.10)
  const If regular = find_rates();
  const T by_h = T(1) / stage_h, time = stage_h / T(kStageGamma) - stage_h;
  // Forces that were not there at the start are impacts, which must not be extrapolated.
  for (T& x : unwanted_) x = T(0);
  for (size_t k = 0; k < scale_.size(); ++k)
    scale_[k] = select(chosen, select(load_[k] > T(0), T(1), T(1 / kStageGamma)), scale_[k]);
  for (const Touch& t : touches_) {
    const LanePoint& point = s_.points[static_cast<size_t>(t.point)];
    const size_t node = static_cast<size_t>(point.node), at = pair(t.point, t.solid);
    const T now = t.force.N;
    const If bears = now > T(0);
    T theta = smaller(T(1), T(kMore) * load_[at] / select(bears, now, T(1)));
    const Twist<T>& V = twists_[node];
    const T u_n = dot(t.normal, V.v + cross(V.w, t.x)), u_1 = t.force.u_n;
    const T u_c = u_n + T((1 - kStageGamma) / kStageGamma) * (u_1 - u_n);
    const If thrown = (u_n < T(-kSlow)) & (u_c > T(kSlow));
    const T sinks = smaller(T(1), -u_n * T(1 / kSlow) - T(1));
    theta = select(thrown, theta * (T(1) - sinks * (u_c - T(kSlow)) / (u_c - u_n)), theta);
    theta = select(bears, theta, T(1));
    scale_[at] = select(chosen & bears, (T(1) - T(1 - kStageGamma) * theta) * T(1 / kStageGamma), scale_[at]);
    const Wrench<T> w = {(T(1) - theta) * cross(t.x, t.force.f), (T(1) - theta) * t.force.f};
    for (int a = tree_.last_dof[node]; a >= 0; a = tree_.dof_parent[static_cast<size_t>(a)])
      unwanted_[static_cast<size_t>(a)] += dot(trial_.xi[static_cast<size_t>(a)], w);
  }
  if (!touches_.empty()) solve_mass(unwanted_.data());
  for (size_t i = 0; i < tree_.nodes.size(); ++i) {
    const M3<T>& R = trial_.R[i];
    const V3<T>& p = trial_.p[i];
    const Twist<T> V = twist_of(trial_, i, rates_.data()), U = twist_of(trial_, i, unwanted_.data());
    const M3<T> R_rate = {cross(V.w, R.x), cross(V.w, R.y), cross(V.w, R.z)};
    const V3<T> p_rate = V.v + cross(V.w, p);
    const M3<T> R_unwanted = {cross(U.w, R.x), cross(U.w, R.y), cross(U.w, R.z)};
    const V3<T> p_unwanted = U.v + cross(U.w, p);
    coast_R_[i] = select<T>(chosen, coast_R_[i] + time * (by_h * (R_rate - coast_R_[i]) - R_unwanted), coast_R_[i]);
    coast_p_[i] = select<T>(chosen, coast_p_[i] + time * (by_h * (p_rate - coast_p_[i]) - p_unwanted), coast_p_[i]);
    motion_.target_R[i] = select<T>(chosen, motion_.target_R[i] + time * R_rate, motion_.target_R[i]);
    motion_.target_p[i] = select<T>(chosen, motion_.target_p[i] + time * p_rate, motion_.target_p[i]);
  }
  for (size_t a = 0; a < v.size(); ++a) {
    coast[a] = select(chosen, coast[a] + time * (by_h * (rates_[a] - coast[a]) - unwanted_[a]), coast[a]);
    rest[a] = select(chosen, time * rates_[a], rest[a]);
    joint_rest[a] = select(chosen, rest[a], joint_rest[a]);
    guess[a] = rest[a] + stage_h * coast[a];
  }
  set_targets(chosen);
  return regular;
}

template <class T> Condition<T> FrictionStage<T>::finish(const If& chosen, LaneHost& host) {
  If good = chosen;
  const T by_h = T(1) / stage_h;
  if (s_.two_stages) {
    const If regular = find_rates();
    good = good & regular;
    for (size_t i = 0; i < tree_.nodes.size(); ++i) {  // a chart's velocity is measured along the body's axes
      if (!has_chart(tree_.nodes[i])) continue;
      T* w = rates_.data() + tree_.nodes[i].v_index + tree_.nodes[i].nv - 3;
      const V3<T> turned = transpose_times(rotation_jacobian(trial_.chart[i]), V3<T>{w[0], w[1], w[2]});
      w[0] = turned.x, w[1] = turned.y, w[2] = turned.z;
    }
    for (size_t a = 0; a < v.size(); ++a) v[a] = select(good, rates_[a], v[a]);
  } else {
    for (size_t i = 0; i < tree_.nodes.size(); ++i) {
      rate_R[i] = select<T>(good, by_h * (trial_.R[i] - start_.R[i]), rate_R[i]);
      rate_p[i] = select<T>(good, by_h * (trial_.p[i] - start_.p[i]), rate_p[i]);
    }
    has_rates = has_rates | good;
    for (size_t a = 0; a < v.size(); ++a) v[a] = select(good, by_h * delta_[a], v[a]);
  }
  for (int l = 0; l < W; ++l) {
    if (!lane(good, l)) continue;
    double* const step = lane_step_.data();
    double* const position = lane_q_.data();
    for (size_t a = 0; a < delta_.size(); ++a) step[a] = lane(delta_[a], l);
    for (size_t k = 0; k < q.size(); ++k) position[k] = lane(q[k], l);
    host.displace(step, position);
    for (size_t k = 0; k < q.size(); ++k) set_lane(q[k], l, position[k]);
  }
  return good;
}

// --- a trial ---------------------------------------------------------------------------------------------------------

template <class T> void FrictionStage<T>::evaluate(const T* delta, LaneHost& host) {
  for (size_t a = 0; a < delta_.size(); ++a) delta_[a] = delta[a];
  forward_kinematics(tree_, q.data(), delta, trial_);
  have_moments_ = false;
  value = accumulate_bodies(tree_, trial_, inertia_);
  touch_all(host);
  for (const Touch& t : touches_) {
    const size_t node = static_cast<size_t>(s_.points[static_cast<size_t>(t.point)].node);
    inertia_.moment[node] += outer(t.x, -t.force.f);
    inertia_.force[node] -= t.force.f;
    value += t.force.energy;
    if (rolls(t)) add_rolling(t);
  }
  sum_over_subtrees(tree_, inertia_.moment);
  sum_over_subtrees(tree_, inertia_.force);
  gradient(tree_, trial_, inertia_, residual.data());
  joint_forces(host);
}

// Where the point of contact moves over the body, or the normal turns, a force at it is not all of the gradient of the
// energy (11.3): with Q as in to_rest(), H = dn/dc and e = g (Q^T - 1) u_t also
//   -r e x n as a couple   and   H (h g u_n u_t - r e) at the centre c.
template <class T> bool FrictionStage<T>::rolls(const Touch& t) const {
  return s_.law.friction == FrictionLaw::energy && (s_.points[static_cast<size_t>(t.point)].radius > 0 || t.curved);
}
template <class T> V3<T> FrictionStage<T>::rolling_couple(const Touch& t) const {
  const LanePoint& point = s_.points[static_cast<size_t>(t.point)];
  const V3<T> moved = transpose_times(to_rest(static_cast<size_t>(point.node)), t.force.u_t) - t.force.u_t;
  return cross((T(-point.radius) * t.force.g) * moved, t.normal);
}
template <class T> void FrictionStage<T>::add_rolling(const Touch& t) {
  const LanePoint& point = s_.points[static_cast<size_t>(t.point)];
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
template <class T> void FrictionStage<T>::add_rolling_change(const Touch& t, WrenchChange<T>& change) const {
  const LanePoint& point = s_.points[static_cast<size_t>(t.point)];
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
bool FrictionStage<T>::locate(LaneHost& host, int point, int solid, const V3<T>& c, T& depth, V3<T>& normal,
                              M3<T>& curvature) const {
  const double radius = s_.points[static_cast<size_t>(point)].radius;
  const LaneSolid& ground = s_.solids[static_cast<size_t>(solid)];
  if (ground.plane) {
    normal = {T(ground.normal.x), T(ground.normal.y), T(ground.normal.z)};
    depth = T(radius) - (dot(normal, c) - offsets_[static_cast<size_t>(solid)]);
  } else {
    for (int l = 0; l < W; ++l) {
      const V3<double> p = {lane(c.x, l) + lane(trial_.origin.x, l), lane(c.y, l) + lane(trial_.origin.y, l),
                            lane(c.z, l) + lane(trial_.origin.z, l)};
      double distance = 0;
      V3<double> g = {0, 0, 0};
      M3<double> H = zero3<double>();
      host.ground(solid, p, radius, distance, g, H);
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

// The points in the ground: geometry, velocity as the motion since rest has it, force.            theory (8.3), (11.2)
template <class T> void FrictionStage<T>::touch_all(LaneHost& host) {
  touches_.clear();
  const T by_h = T(1) / stage_h;
  for (int point = 0; point < static_cast<int>(s_.points.size()); ++point) {
    const LanePoint& p = s_.points[static_cast<size_t>(point)];
    const size_t i = static_cast<size_t>(p.node);
    const V3<T> c = trial_.R[i] * V3<T>{T(p.p_B.x), T(p.p_B.y), T(p.p_B.z)} + trial_.p[i];
    centres_[static_cast<size_t>(point)] = c;
    for (int solid = 0; solid < static_cast<int>(s_.solids.size()); ++solid) {
      auto& [depth, normal] = near_[pair(point, solid)];
      M3<T> curvature;
      if (!locate(host, point, solid, c, depth, normal, curvature)) continue;
      Touch& t = touches_.emplace_back();
      t.point = point, t.solid = solid;
      t.c = c, t.normal = normal, t.depth = depth;
      t.curved = !s_.solids[static_cast<size_t>(solid)].plane;
      if (t.curved) t.curvature = curvature;
      t.x = c - T(p.radius) * normal;
      t.scale = scale_[pair(point, solid)];
      const V3<T> from = motion_.target_p[i] + motion_.target_R[i] * transpose_times(trial_.R[i], t.x - trial_.p[i]);
      t.u = by_h * (t.x - from);
      t.force = smooth_force(s_.law, coefficients, depth, normal, t.u, stage_h);
      if (s_.two_stages) t.force *= t.scale;
    }
  }
}

// Rotor inertia, damping, PD with effort bound, stops: theory (5.1) to (5.6), as JointForces::add_implicit.
template <class T> void FrictionStage<T>::joint_forces(LaneHost& host) {
  const T by_h = T(1) / stage_h, zero(0), half(0.5);
  const bool energy = s_.law.friction == FrictionLaw::energy;  // else R is no gradient, and no one asks for `value`
  for (size_t j = 0; j < s_.joints.size(); ++j) {
    const LaneJoint& joint = s_.joints[j];
    for (int k = joint.v_index; k < joint.v_index + joint.nv; ++k) {
      const size_t a = static_cast<size_t>(k);
      joint_curvature_[a] = zero;
      if (joint.armature == 0 && joint.damping == 0) continue;
      const T inertia = T(joint.armature) * by_h * by_h, viscous = T(joint.damping) * by_h;
      const T moved = delta_[a] - joint_rest[a], ahead = moved - stage_h * coast[a];
      residual[a] += inertia * ahead + viscous * moved;
      joint_curvature_[a] = inertia + viscous;
      if (energy) value += half * inertia * ahead * ahead + half * viscous * moved * moved;
    }
    if (joint.ball) ball_forces(static_cast<int>(j), host);
    if (joint.nv != 1) continue;
    const size_t a = static_cast<size_t>(joint.v_index), k = static_cast<size_t>(joint.q_index);
    const T x = q[k] + delta_[a], stiff = kp[a] + kd[a] * by_h, effort(joint.effort);
    const T u = kp[a] * (x - target[k]) + kd[a] * ((delta_[a] - joint_rest[a]) * by_h - target_velocity[a]) - torque[a];
    const If controlled = stiff > zero, within = abs(u) <= effort;
    const T bounded = select(u < -effort, -effort, select(u > effort, effort, u));
    residual[a] += select(controlled, bounded, u);
    joint_curvature_[a] += select(controlled & within, stiff, zero);
    if (energy) {
      const T by_stiff = T(1) / select(controlled, stiff, T(1));
      const T spring = select(within, half * u * u * by_stiff, (abs(u) - half * effort) * effort * by_stiff);
      value += select(controlled, spring, u * delta_[a]);
    }
    if (!joint.limited) continue;
    const T stiffness(joint.stiffness), margin(joint.margin), by_margin(1 / joint.margin);
    for (const bool up : {true, false}) {
      const T e = up ? x - T(joint.upper) : T(joint.lower) - x;
      const If in = e > zero, soft = e < margin;
      if (!any(in)) continue;
      const T y = e - half * margin;
      const T slope = select(soft, half * stiffness * e * e * by_margin, stiffness * y);
      residual[a] += select(in, up ? slope : -slope, zero);
      joint_curvature_[a] += select(in, select(soft, stiffness * e * by_margin, stiffness), zero);
      const T hard = stiffness * (half * y * y + margin * margin * T(1.0 / 24));
      if (energy) value += select(in, select(soft, stiffness * e * e * e * by_margin * T(1.0 / 6), hard), zero);
    }
  }
}

// Lane by lane: quaternions and logarithms.
template <class T> void FrictionStage<T>::ball_forces(int j, LaneHost& host) {
  const LaneJoint& joint = s_.joints[static_cast<size_t>(j)];
  const size_t a = static_cast<size_t>(joint.v_index), k = static_cast<size_t>(joint.q_index);
  BallBlock& block = ball_blocks_[static_cast<size_t>(j)];
  for (int l = 0; l < W; ++l) {
    double at[4], to[4], step[3], from[3], p[3], d[3], feed[3], to_v[3], gradient_l[3] = {}, H[9] = {}, value_l = 0;
    for (size_t c = 0; c < 4; ++c) at[c] = lane(q[k + c], l), to[c] = lane(target[k + c], l);
    for (size_t c = 0; c < 3; ++c) {
      step[c] = lane(delta_[a + c], l), from[c] = lane(joint_rest[a + c], l);
      p[c] = lane(kp[a + c], l), d[c] = lane(kd[a + c], l), feed[c] = lane(torque[a + c], l);
      to_v[c] = lane(target_velocity[a + c], l);
    }
    host.ball_joint(j, {at, from, step, p, d, to, to_v, feed, lane(stage_h, l)}, value_l, gradient_l, H);
    set_lane(value, l, lane(value, l) + value_l);
    for (size_t c = 0; c < 3; ++c) set_lane(residual[a + c], l, lane(residual[a + c], l) + gradient_l[c]);
    for (size_t c = 0; c < 9; ++c) set_lane(block.H[c], l, H[c]);
  }
}

template <class T> void FrictionStage<T>::second_moments() {
  if (have_moments_) return;
  world_second_moments(tree_, trial_, moments_);
  sum_over_subtrees(tree_, moments_);
  have_moments_ = true;
}

// As set_residual_scale (residual.cpp).                                                                   theory (4.6)
template <class T> void FrictionStage<T>::scale(const If& chosen) {
  second_moments();
  T reach(0);
  for (const V3<T>& p : trial_.p) reach = larger(reach, dot(p, p));
  const T far = (T(1) + sqrt(reach)) * inertia_.weight;
  const T eps(std::numeric_limits<double>::epsilon());
  for (size_t a = 0; a < v.size(); ++a) {
    const SecondMoment<T>& sigma = moments_[static_cast<size_t>(tree_.dof_node[a])];
    const Twist<T>& xi = trial_.xi[a];
    const T mass = dot(xi, sigma * xi) + T(tree_.armature[a]);
    // The lever of residual.cpp, by |x| + |y| <= sqrt(2 (x^2 + y^2)).
    const T lever = sqrt(T(2) * sigma.m * (dot(xi.w, xi.w) * trace(sigma.A) + dot(xi.v, xi.v) * sigma.m));
    const T weight = T(1) / mass;
    const T loose = eps * weight * (far * lever + joint_curvature_[a]);
    weights[a] = select(chosen, weight, weights[a]);
    rounding[a] = select(chosen, loose, rounding[a]);
  }
}

template <class T> T FrictionStage<T>::merit() const {
  T sum(0);
  for (size_t a = 0; a < residual.size(); ++a) sum += residual[a] * residual[a] * weights[a];
  return sum;
}
template <class T> T FrictionStage<T>::largest_residual() const {
  T most(0);
  for (size_t a = 0; a < residual.size(); ++a) most = larger(most, abs(residual[a]) * weights[a]);
  return most;
}
template <class T> Condition<T> FrictionStage<T>::small(double tolerance) const {
  If all = T(0) <= T(0);
  for (size_t a = 0; a < residual.size(); ++a)
    all = all & (abs(residual[a]) * weights[a] <= T(tolerance) + T(16) * rounding[a]);
  return all;
}
template <class T> Condition<T> FrictionStage<T>::within_chart() const {
  If all = T(0) <= T(0);
  for (size_t i = 0; i < tree_.nodes.size(); ++i)
    if (has_chart(tree_.nodes[i])) all = all & (dot(trial_.chart[i], trial_.chart[i]) <= T(M_PI * M_PI / 9));
  return all;
}

template <class T> Condition<T> FrictionStage<T>::turned_little() const {
  const T least(1 + 2 * std::cos(std::min(2 * s_.max_turn, 3.0)));  // the trace of a rotation by as much
  If all = T(0) <= T(0);
  for (size_t i = 0; i < tree_.nodes.size(); ++i) {
    const M3<T>&R = trial_.R[i], &R0 = start_.R[i];
    all = all & (least <= dot(R.x, R0.x) + dot(R.y, R0.y) + dot(R.z, R0.z));
  }
  return all;
}

// --- matrices --------------------------------------------------------------------------------------------------------

// J_ab = xi_a . (k M^c_b + B^c_b - C^c_b) xi_b and J_ba = xi_a . (k M^c_b + B^c_b - C^c_b^T) xi_b for a <= b, with the
// subtree sums of second moments, of P (theory (3.5)) and of how contact wrenches change.               theory (11.9)
template <class T> void FrictionStage<T>::jacobian() {
  second_moments();
  std::fill(touched_.begin(), touched_.end(), 0);
  for (const Touch& t : touches_) {
    const LanePoint& point = s_.points[static_cast<size_t>(t.point)];
    const size_t i = static_cast<size_t>(point.node);
    M3<T> Q = zero3<T>();
    if (point.radius > 0) Q = motion_.target_R[i] * transpose(trial_.R[i]);
    WrenchChange<T> change =
        wrench_change(t.force, t.normal, t.u, t.c, t.x, point.radius, Q, stage_h, t.curved ? &t.curvature : nullptr);
    if (rolls(t)) add_rolling_change(t, change);
    if (touched_[i])
      change_[i] += change;
    else
      assign(change_[i], change);
    touched_[i] = 1;
  }
  for (size_t i = tree_.nodes.size(); i-- > 0;) {
    const int parent = tree_.nodes[i].parent;
    if (!touched_[i] || parent < 0) continue;
    const size_t to = static_cast<size_t>(parent);
    if (touched_[to])
      change_[to] += change_[i];
    else
      assign(change_[to], change_[i]);
    touched_[to] = 1;
  }
  for (size_t i = 0; i < tree_.nodes.size(); ++i) {
    const Node& node = tree_.nodes[i];
    const M3<T>& A = inertia_.moment[i];
    const T trace_A = trace(A);
    const auto bend = [&](const Twist<T>& xi) { return A * xi.w - trace_A * xi.w - cross(inertia_.force[i], xi.v); };
    for (int b = node.v_index; b < node.v_index + node.nv; ++b) {
      const Twist<T>& xi = trial_.xi[static_cast<size_t>(b)];
      Wrench<T> y = moments_[i] * xi;
      y = {inertia_.weight * y.m, inertia_.weight * y.f};
      T *to_row = row_of(b), *to_column = column_of(b);
      const int* path = path_.data() + b * n;
      const int d = depth_[static_cast<size_t>(b)];
      if (want_gauss_newton)
        for (int e = 0; e <= d; ++e)
          gauss_newton_[static_cast<size_t>(b * n + e)] = dot(trial_.xi[static_cast<size_t>(path[e])], y);
      y.m += bend(xi);
      if (touched_[i]) {
        const Wrench<T> up = change_[i] * xi, low = transpose_times(change_[i], xi);
        const Wrench<T> y_up = {y.m - up.m, y.f - up.f}, y_low = {y.m - low.m, y.f - low.f};
        for (int e = 0; e <= d; ++e) {
          const Twist<T>& above = trial_.xi[static_cast<size_t>(path[e])];
          to_column[e] = dot(above, y_up);
          to_row[e] = dot(above, y_low);
        }
      } else {
        for (int e = 0; e <= d; ++e) to_column[e] = to_row[e] = dot(trial_.xi[static_cast<size_t>(path[e])], y);
      }
      to_row[d] = to_column[d] = to_row[d] + joint_curvature_[static_cast<size_t>(b)];
    }
    if (!has_chart(node)) continue;  // two dofs of one chart                                              theory (3.7)
    const int first = node.v_index + node.nv - 3;
    const M3<T> by_chart = chart_bending(trial_, i, wrench_of(A, inertia_.force[i]));
    const V3<T>* const columns[] = {&by_chart.x, &by_chart.y, &by_chart.z};
    for (int ka = 0; ka < 3; ++ka) {
      const Twist<T>& xi_a = trial_.xi[static_cast<size_t>(first + ka)];
      const V3<T> bend_a = bend(xi_a);
      const T chart[] = {columns[ka]->x, columns[ka]->y, columns[ka]->z};
      for (int kb = ka; kb < 3; ++kb) {
        const int d = depth_[static_cast<size_t>(first + ka)];
        T more = chart[kb];
        if (kb > ka) {
          const Twist<T>& xi_b = trial_.xi[static_cast<size_t>(first + kb)];
          more = more + dot(xi_b.w, bend_a) - dot(xi_a.w, bend(xi_b));
        }
        row_of(first + kb)[d] += more;
        column_of(first + kb)[d] = kb > ka ? column_of(first + kb)[d] + more : row_of(first + kb)[d];
      }
    }
  }
  for (size_t j = 0; j < s_.joints.size(); ++j) {
    if (!s_.joints[j].ball) continue;
    const int first = s_.joints[j].v_index;
    for (int b = 0; b < 3; ++b)
      for (int a = 0; a <= b; ++a) {
        const int d = depth_[static_cast<size_t>(first + a)];
        const T& more = ball_blocks_[j].H[3 * b + a];
        row_of(first + b)[d] += more;
        column_of(first + b)[d] = a < b ? column_of(first + b)[d] + more : row_of(first + b)[d];
      }
  }
  for (int k = 0; k < n; ++k) pivot_size_[static_cast<size_t>(k)] = row_of(k)[depth_[static_cast<size_t>(k)]];
}

template <class T> void FrictionStage<T>::dense_jacobian(int l, double* out) const {
  std::fill(out, out + n * n, 0.0);
  for (int b = 0; b < n; ++b)
    for (int e = 0; e <= depth(b); ++e) {
      const int a = ancestor(b, e);
      out[b * n + a] = lane(column[static_cast<size_t>(b * n + e)], l);
      out[a * n + b] = lane(row[static_cast<size_t>(b * n + e)], l);
    }
}

// As TreeLu: eliminating leaves first fills in nothing.
template <class T> Condition<T> FrictionStage<T>::factor() {
  If regular = T(0) <= T(0);
  for (int k = n - 1; k >= 0; --k) {
    const T* r = row_of(k);
    T* c = column_of(k);
    const int d = depth_[static_cast<size_t>(k)];
    const int* path = path_.data() + k * n;
    regular = regular & (abs(r[d]) > T(1e-10) * abs(pivot_size_[static_cast<size_t>(k)]));
    const T inverse = inverse_pivot_[static_cast<size_t>(k)] = T(1) / r[d];
    for (int e = 0; e < d; ++e) c[e] = c[e] * inverse;
    for (int e = d - 1; e >= 0; --e) {
      T *r_i = row_of(path[e]), *c_i = column_of(path[e]);
      const T m = c[e], u = r[e];
      r_i[e] -= m * u;
      for (int f = 0; f < e; ++f) {
        r_i[f] -= m * r[f];
        c_i[f] -= c[f] * u;
      }
    }
  }
  return regular;
}

template <class T> void FrictionStage<T>::solve(T* x) const {
  for (int k = n - 1; k >= 0; --k) {
    const T* c = column.data() + k * n;
    const int* path = path_.data() + k * n;
    for (int e = depth_[static_cast<size_t>(k)] - 1; e >= 0; --e) x[path[e]] -= c[e] * x[k];
  }
  for (int k = 0; k < n; ++k) {
    const T* r = row.data() + k * n;
    const int* path = path_.data() + k * n;
    T sum = x[k];
    for (int e = depth_[static_cast<size_t>(k)] - 1; e >= 0; --e) sum -= r[e] * x[path[e]];
    x[k] = sum * inverse_pivot_[static_cast<size_t>(k)];
  }
}

// Where Newton's step has to end before its linear model fails for one of the contacts.                  theory (11.10)
//
// A point in the air has no stiffness: a step that drives it into the ground leads far too deep, and the way back is
// long. It ends where the point is twice as deep as under its share of the weight; one in the ground may sink to three
// times its depth. Friction bounded by mu N has a slope of mu N / creep where a point is at rest and next to none where
// it slips: a step from slip overshoots the rest it ought to find. It ends where the slip is slowest.
template <class T> T FrictionStage<T>::step_limit(const T* step) {
  T part(1);
  if (s_.points.empty()) return part;
  const T by_h = T(1) / stage_h, zero(0), soft = T(2) * coefficients.depth;
  for (size_t i = 0; i < tree_.nodes.size(); ++i) {
    const Node& node = tree_.nodes[i];
    Twist<T> V = node.parent >= 0 ? step_twists_[static_cast<size_t>(node.parent)]
                                  : Twist<T>{{zero, zero, zero}, {zero, zero, zero}};
    for (size_t a = static_cast<size_t>(node.v_index); a < static_cast<size_t>(node.v_index + node.nv); ++a)
      V += step[a] * trial_.xi[a];
    step_twists_[i] = V;
  }
  const size_t solids = s_.solids.size();
  for (size_t point = 0; point < s_.points.size(); ++point) {
    const Twist<T>& xi = step_twists_[static_cast<size_t>(s_.points[point].node)];
    const V3<T> dc = xi.v + cross(xi.w, centres_[point]);
    for (size_t solid = 0; solid < solids; ++solid) {
      const Near& near = near_[point * solids + solid];
      const T sinks = -dot(near.normal, dc), most = larger(soft, T(3) * near.depth);
      const If deep = near.depth + sinks > most;
      if (any(deep)) part = select(deep, smaller(part, (most - near.depth) / select(deep, sinks, T(1))), part);
    }
  }
  if (s_.law.friction != FrictionLaw::coulomb) return part;
  for (const Touch& t : touches_) {
    const LanePoint& point = s_.points[static_cast<size_t>(t.point)];
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

// The mass matrix, theory (6.4), and its factors L^T D L.
template <class T>
void FrictionStage<T>::mass_matrix(const Kinematics<T>& kin, const std::vector<SecondMoment<T>>& sigma, bool rotors) {
  for (int b = 0; b < n; ++b) {
    const size_t ib = static_cast<size_t>(b);
    const Wrench<T> y = sigma[static_cast<size_t>(tree_.dof_node[ib])] * kin.xi[ib];
    T* to = mass_.data() + b * n;
    const int* path = path_.data() + b * n;
    const int d = depth_[ib];
    for (int e = 0; e <= d; ++e) to[e] = dot(kin.xi[static_cast<size_t>(path[e])], y);
    if (rotors) to[d] += T(tree_.armature[ib]);
    pivot_size_[ib] = to[d];
  }
}
template <class T> Condition<T> FrictionStage<T>::factor_mass() {
  If regular = T(0) <= T(0);
  for (int k = n - 1; k >= 0; --k) {
    T* r = mass_.data() + k * n;
    const int d = depth_[static_cast<size_t>(k)];
    const int* path = path_.data() + k * n;
    regular = regular & (r[d] > T(1e-13) * pivot_size_[static_cast<size_t>(k)]);
    const T inverse = mass_inverse_[static_cast<size_t>(k)] = T(1) / r[d];
    for (int e = d - 1; e >= 0; --e) {
      T* r_i = mass_.data() + path[e] * n;
      const T m = r[e] * inverse;
      for (int f = 0; f <= e; ++f) r_i[f] -= m * r[f];
    }
    for (int e = 0; e < d; ++e) r[e] = r[e] * inverse;
  }
  return regular;
}
template <class T> void FrictionStage<T>::solve_mass(T* x) const {
  for (int k = n - 1; k >= 0; --k) {
    const T* r = mass_.data() + k * n;
    const int* path = path_.data() + k * n;
    for (int e = depth_[static_cast<size_t>(k)] - 1; e >= 0; --e) x[path[e]] -= r[e] * x[k];
  }
  for (int k = 0; k < n; ++k) {
    const T* r = mass_.data() + k * n;
    const int* path = path_.data() + k * n;
    T sum = x[k] * mass_inverse_[static_cast<size_t>(k)];
    for (int e = depth_[static_cast<size_t>(k)] - 1; e >= 0; --e) sum -= r[e] * x[path[e]];
    x[k] = sum;
  }
}

template <class T> void FrictionStage<T>::report_contacts(int l, LaneHost* host, int& count, double& deepest) const {
  count = 0;
  deepest = 0;
  for (const Touch& t : touches_) {
    const double depth = lane(t.depth, l);
    if (!(depth > 0)) continue;
    ++count;
    deepest = std::max(deepest, depth);
    if (!host) continue;
    const auto one = [&](const V3<T>& a) { return V3<double>{lane(a.x, l), lane(a.y, l), lane(a.z, l)}; };
    host->touches(t.point, t.solid, one(trial_.origin) + one(t.x), one(t.normal),
                  (1 / lane(t.scale, l)) * one(t.force.f), depth);
  }
}

}  // namespace scree
