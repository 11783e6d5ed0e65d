// A stage of an implicit step with smooth contact, position based, on any scalar: for one trajectory (double) or for
// as many as a pack has lanes, each with its own step, control and coefficients.                     theory section 11
//
//   R(delta) = dI/ddelta + joint forces - sum J^T f = 0
//
// The twin of PositionBasedStage (dynamics/discretisation.h), whose equations and names it keeps; matrices hold only
// entries of a coordinate and its ancestors: entry [k][d] belongs to coordinate k and its ancestor of depth d in the
// elimination tree (Tree::parent), which without followers is the tree of the joints.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "contact/load_rule.h"
#include "control/dry_friction.h"
#include "dynamics/newton_euler.h"
#include "dynamics/position_based.h"
#include "dynamics/reduction.h"
#include "integrators/lane_host.h"

namespace scree {

template <class T> class SmoothStage {
 public:
  using If = Condition<T>;
  static constexpr int W = kLanes<T>;

  explicit SmoothStage(const LaneSetup& setup);

  // --- state and control, by lane ---
  std::vector<T> q, v;
  std::vector<M3<T>> rate_R;  // body_rates, where has_rates
  std::vector<V3<T>> rate_p;
  If has_rates{};
  std::vector<T> kp, kd, torque, target, target_velocity;
  SmoothCoefficients<T> coefficients;
  T substep;  // [s]
  int n = 0;  // coordinates

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
  // Sides of joint friction of one lane: those of its displacement, and after a solution on the sides at hand those it
  // leads to. False: it is the solution.                                                             theory (5.10)
  void find_friction_sides(int l, const T* delta);
  bool move_friction_sides(int l, SideSearch& search);
  double friction_stiffness(size_t dof) const;    // of the first lane, on the side at hand
  T step_limit(const T* step, LaneHost& host);    // the part of a step from the trial pose that is to be trusted
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
  mutable long looks = 0;  // at clusters of points and at points, as a measure of work
  void report_contacts(int l, LaneHost* host, int& count, double& deepest) const;
  // Upper triangle of the Hessian of the inertial part without curvature, row k as in `row`: for optimisers of energy.
  const std::vector<T>& gauss_newton() const { return gauss_newton_; }
  bool want_gauss_newton = false;
  int depth(int k) const { return depth_[static_cast<size_t>(k)]; }
  int ancestor(int k, int d) const { return path_[static_cast<size_t>(k * n + d)]; }
  std::vector<T> row, column;
  struct Touch {
    int pair;
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
  void follower_forces(const LaneJoint& joint, bool energy);
  void add_up_masses();
  void add_up_jacobian();
  void add_up_symmetric(const std::vector<T>& by_dof, std::vector<T>& out) const;
  static void find_paths(const std::vector<int>& parents, int n, int* depth, int* path);
  // The lever of residual.cpp, by |x| + |y| <= sqrt(2 (x^2 + y^2)).
  static T lever_of(const Twist<T>& xi, const SecondMoment<T>& sigma) {
    return sqrt(T(2) * sigma.m * (dot(xi.w, xi.w) * trace(sigma.A) + dot(xi.v, xi.v) * sigma.m));
  }
  void ball_forces(int joint, LaneHost& host);
  void touch_all(LaneHost& host);
  bool rolls(const Touch& t) const;
  V3<T> rolling_couple(const Touch& t) const;
  void add_rolling(const Touch& t);
  void add_rolling_change(const Touch& t, WrenchChange<T>& change) const;
  // Which pairs a search has found; a struct, so that no other file has functions of this type.
  struct Bits {
    std::uint64_t word;
  };
  template <class Far> void find_near(std::vector<Bits>& marks, Far&& far);
  template <class Visit> void for_marked(std::vector<Bits>& marks, Visit&& visit);
  T depth_bound(LaneHost& host, const PointCluster& cluster, size_t solid, const V3<T>& c) const;
  bool locate(LaneHost& host, int pair, const V3<T>& c, T& depth, V3<T>& normal, M3<T>& curvature) const;
  T* row_of(int k) { return row.data() + k * n; }
  T* column_of(int k) { return column.data() + k * n; }
  const LanePair& pair_of(const Touch& t) const { return s_.pairs[static_cast<size_t>(t.pair)]; }
  V3<T> centre_of(const Kinematics<T>& kin, const PointCluster& cluster) const {
    const size_t i = static_cast<size_t>(cluster.node);
    return kin.R[i] * V3<T>{T(cluster.centre.x), T(cluster.centre.y), T(cluster.centre.z)} + kin.p[i];
  }
  // The core of a pair's point.
  V3<T> core(const Kinematics<T>& kin, const LanePair& pair) const {
    const size_t i = static_cast<size_t>(pair.node);
    return kin.R[i] * V3<T>{T(pair.p_B.x), T(pair.p_B.y), T(pair.p_B.z)} + kin.p[i];
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
  std::vector<T> offsets_;       // by solid, of its plane from the origin of the lane
  std::vector<T> load_, scale_;  // by pair: normal force at the start, factor of forces in this stage
  std::vector<Touch> touches_;
  struct Near {  // of every pair; a normal of zero: far away
    T depth;
    V3<T> normal;
  };
  std::vector<Near> near_;
  std::vector<Bits> found_, located_;  // bits by pair; at the last trial
  std::vector<V3<T>> centres_;         // by pair, of its point
  std::vector<Twist<T>> step_twists_;  // of the bodies, by a step
  std::vector<WrenchChange<T>> change_;
  std::vector<char> touched_;
  std::vector<int> depth_, path_;
  Reduction<T> reduction_;
  int dof_count_ = 0;
  // Of trees with followers: depths and paths of dofs, matrices by dof, and M_cc and levers of coordinates.
  std::vector<int> dof_depth_, dof_path_;
  std::vector<T> dof_row_, dof_column_, dof_gauss_newton_, masses_, levers_;
  std::vector<BallBlock> ball_blocks_;
  std::vector<int> dry_joints_;    // those with friction
  std::vector<T> friction_side_;   // by dof
  LaneBuffer lane_step_, lane_q_;  // of one lane
};

template <class T>
SmoothStage<T>::SmoothStage(const LaneSetup& setup)
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
      reduction_(tree_),
      dof_count_(tree_.dofs),
      dof_depth_(tree_.has_followers() ? static_cast<size_t>(dof_count_) : 0),
      dof_path_(dof_depth_.size() * dof_depth_.size()),
      lane_step_(tree_.nv),
      lane_q_(tree_.nq) {
  const size_t bodies = tree_.nodes.size(), dofs = static_cast<size_t>(n), matrix = dofs * dofs;
  const size_t pairs = s_.pairs.size();
  const T zero(0);
  for (std::vector<T>* x : {&v,
                            &kp,
                            &kd,
                            &torque,
                            &target_velocity,
                            &residual,
                            &guess,
                            &rest,
                            &joint_rest,
                            &coast,
                            &weights,
                            &rounding,
                            &delta_,
                            &zero_,
                            &masses_,
                            &levers_,
                            &bending_,
                            &rates_,
                            &unwanted_,
                            &mass_inverse_,
                            &joint_curvature_,
                            &inverse_pivot_,
                            &pivot_size_,
                            &friction_side_})
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
  found_.assign(pairs / 64 + 1, Bits{0});
  located_ = found_;
  touches_.reserve(pairs);
  near_.resize(pairs);
  centres_.resize(pairs);
  step_twists_.resize(bodies);
  ball_blocks_.resize(s_.joints.size());
  for (size_t j = 0; j < s_.joints.size(); ++j)
    if (s_.joints[j].friction > 0) dry_joints_.push_back(static_cast<int>(j));
  substep = stage_h = T(1);
  value = zero;
  coefficients = {T(1), T(1), zero, zero, T(1), zero};
  find_paths(tree_.parent, n, depth_.data(), path_.data());
  if (tree_.has_followers()) {
    const size_t all = static_cast<size_t>(dof_count_);
    find_paths(tree_.dof_parent, dof_count_, dof_depth_.data(), dof_path_.data());
    for (std::vector<T>* x : {&dof_row_, &dof_column_, &dof_gauss_newton_}) x->assign(all * all, zero);
  }
  for (const Node& node : tree_.nodes)  // unit quaternions, so that idle lanes compute nothing odd
    if (has_chart(node)) q[static_cast<size_t>(node.q_index + node.nv - 3)] = T(1);
}

// path[k n + d]: the ancestor of k of depth d, k itself the last.
template <class T> void SmoothStage<T>::find_paths(const std::vector<int>& parents, int n, int* depth, int* path) {
  for (int k = 0; k < n; ++k) {
    const int parent = parents[static_cast<size_t>(k)];
    const int d = depth[k] = parent < 0 ? 0 : depth[parent] + 1;
    for (int e = 0; e < d; ++e) path[k * n + e] = path[parent * n + e];
    path[k * n + d] = k;
  }
}

template <class T> Twist<T> SmoothStage<T>::twist_of(const Kinematics<T>& kin, size_t node, const T* rates) const {
  Twist<T> V = {{T(0), T(0), T(0)}, {T(0), T(0), T(0)}};
  for (int a = tree_.last_dof[node]; a >= 0; a = tree_.dof_parent[static_cast<size_t>(a)])
    V += rates[tree_.coordinate[static_cast<size_t>(a)]] * kin.xi[static_cast<size_t>(a)];
  return V;
}

// --- a step ----------------------------------------------------------------------------------------------------------

template <class T> void SmoothStage<T>::start(LaneHost& host) {
  if (tree_.nodes.empty()) return;
  const Node& root = tree_.nodes.front();
  const auto lift = [](const V3<double>& a) { return V3<T>{T(a.x), T(a.y), T(a.z)}; };
  const T* q0 = q.data() + root.q_index;
  V3<T> offset = {T(0), T(0), T(0)};
  if (root.motion == JointMotion::translate)
    offset = (root.follows ? T(root.multiplier) * q0[0] + T(root.offset) : q0[0]) * lift(root.axis);
  if (root.motion == JointMotion::planar) offset = q0[0] * lift(root.u1) + q0[1] * lift(root.u2);
  if (root.motion == JointMotion::floating) offset = {q0[0], q0[1], q0[2]};
  const M3<T> R = {lift(root.R_PJ.x), lift(root.R_PJ.y), lift(root.R_PJ.z)};
  start_.origin = trial_.origin = lift(root.p_PJ) + R * offset;
  forward_kinematics(tree_, q.data(), zero_.data(), start_);
  for (size_t i = 0; i < tree_.nodes.size(); ++i) {  // twists of the bodies, from the root on
    const Node& node = tree_.nodes[i];
    Twist<T> V =
        node.parent >= 0 ? twists_[static_cast<size_t>(node.parent)] : Twist<T>{{T(0), T(0), T(0)}, {T(0), T(0), T(0)}};
    for (int k = 0; k < node.nv; ++k)
      V += v[static_cast<size_t>(node.v_index + k)] * start_.xi[static_cast<size_t>(node.dof + k)];
    twists_[i] = V;
  }
  for (size_t solid = 0; solid < s_.solids.size(); ++solid)
    if (const LanePair& pair = s_.pairs[static_cast<size_t>(s_.solids[solid])]; pair.plane)
      offsets_[solid] = dot(lift(pair.normal), lift(pair.point) - start_.origin);
  if (!s_.two_stages) return;
  for (T& load : load_) load = T(0);  // what the contacts bear
  for (Bits& bits : found_) bits.word = 0;
  find_near(found_, [&](const PointCluster& cluster, size_t solid) {
    return !any(depth_bound(host, cluster, solid, centre_of(start_, cluster)) > T(0));
  });
  for_marked(found_, [&](size_t k) {
    const LanePair& pair = s_.pairs[k];
    const V3<T> c = core(start_, pair);
    T depth;
    V3<T> normal;
    M3<T> curvature;
    if (!locate(host, static_cast<int>(k), c, depth, normal, curvature)) return;
    const Twist<T>& V = twists_[static_cast<size_t>(pair.node)];
    load_[k] =
        smooth_force(s_.law, coefficients, depth, normal, V.v + cross(V.w, c - T(pair.radius) * normal), substep).N;
  });
}

template <class T> T SmoothStage<T>::turn_rate() const {
  T largest(0);
  for (const Twist<T>& V : twists_) largest = larger(largest, dot(V.w, V.w));
  return largest;
}

template <class T> void SmoothStage<T>::begin(const If& chosen) {
  stage_h = select(chosen, s_.two_stages ? T(kGamma) * substep : substep, stage_h);
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
    reduction_.covector(bending_.data(), [&](T* by_dof) { project_forces(tree_, start_, pass_, by_dof); });
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
      reduction_.covector(bending_.data(), [&](T* by_dof) { project_forces(tree_, start_, pass_, by_dof); });
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

template <class T> void SmoothStage<T>::set_targets(const If& chosen) {
  for (size_t i = 0; i < tree_.nodes.size(); ++i) {
    inertia_.target_R[i] = select<T>(chosen, motion_.target_R[i] + stage_h * coast_R_[i], inertia_.target_R[i]);
    inertia_.target_p[i] = select<T>(chosen, motion_.target_p[i] + stage_h * coast_p_[i], inertia_.target_p[i]);
  }
}

// The rates of delta with the momentum of the field (T - T_rest)/h at the trial pose.                     theory (9.5)
template <class T> Condition<T> SmoothStage<T>::find_rates() {
  accumulate(tree_, trial_, motion_);
  reduction_.covector(rates_.data(), [&](T* by_dof) { gradient(tree_, trial_, motion_, by_dof); });
  for (size_t a = 0; a < v.size(); ++a)
    rates_[a] = stage_h * rates_[a] + T(tree_.armature[a]) * (delta_[a] - joint_rest[a]) / stage_h;
  second_moments();
  mass_matrix(trial_, moments_, true);
  const If regular = factor_mass();
  solve_mass(rates_.data());
  return regular;
}

template <class T> Condition<T> SmoothStage<T>::begin_second(const If& chosen) {
  const If regular = find_rates();
  const T by_h = T(1) / stage_h, time = stage_h / T(kGamma) - stage_h;
  // Forces that were not there at the start are impacts, which must not be extrapolated.
  for (T& x : unwanted_) x = T(0);
  for (size_t k = 0; k < scale_.size(); ++k)
    scale_[k] = select(chosen, select(load_[k] > T(0), T(1), T(1 / kGamma)), scale_[k]);
  for (const Touch& t : touches_) {
    const size_t node = static_cast<size_t>(pair_of(t).node), at = static_cast<size_t>(t.pair);
    const T now = t.force.N;
    const If bears = now > T(0);
    const Twist<T>& V = twists_[node];
    const T u_n = dot(t.normal, V.v + cross(V.w, t.x));
    const T theta = select(bears, extrapolated_part<T>(load_[at], select(bears, now, T(1)), u_n, t.force.u_n), T(1));
    scale_[at] = select(chosen & bears, second_stage_scale(theta), scale_[at]);
    const Wrench<T> w = {(T(1) - theta) * cross(t.x, t.force.f), (T(1) - theta) * t.force.f};
    for (int a = tree_.last_dof[node]; a >= 0; a = tree_.dof_parent[static_cast<size_t>(a)])
      unwanted_[static_cast<size_t>(tree_.coordinate[static_cast<size_t>(a)])] +=
          dot(trial_.xi[static_cast<size_t>(a)], w);
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

template <class T> Condition<T> SmoothStage<T>::finish(const If& chosen, LaneHost& host) {
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

template <class T> void SmoothStage<T>::evaluate(const T* delta, LaneHost& host) {
  for (size_t a = 0; a < delta_.size(); ++a) delta_[a] = delta[a];
  forward_kinematics(tree_, q.data(), delta, trial_);
  have_moments_ = false;
  value = accumulate_bodies(tree_, trial_, inertia_);
  touch_all(host);
  for (const Touch& t : touches_) {
    const size_t node = static_cast<size_t>(pair_of(t).node);
    inertia_.moment[node] += outer(t.x, -t.force.f);
    inertia_.force[node] -= t.force.f;
    value += t.force.energy;
    if (rolls(t)) add_rolling(t);
  }
  sum_over_subtrees(tree_, inertia_.moment);
  sum_over_subtrees(tree_, inertia_.force);
  reduction_.covector(residual.data(), [&](T* by_dof) { gradient(tree_, trial_, inertia_, by_dof); });
  joint_forces(host);
}

template <class T> void SmoothStage<T>::second_moments() {
  if (have_moments_) return;
  world_second_moments(tree_, trial_, moments_);
  sum_over_subtrees(tree_, moments_);
  have_moments_ = true;
}

// M_cc without rotors and the levers of every coordinate.
template <class T> void SmoothStage<T>::add_up_masses() {
  for (size_t c = 0; c < v.size(); ++c) masses_[c] = levers_[c] = T(0);
  for (size_t a = 0; a < trial_.xi.size(); ++a) {
    const size_t c = static_cast<size_t>(tree_.coordinate[a]);
    const SecondMoment<T>& sigma = moments_[static_cast<size_t>(tree_.dof_node[a])];
    const Twist<T>& xi = trial_.xi[a];
    const Wrench<T> y = sigma * xi;
    masses_[c] += dot(xi, y);
    for (int b = tree_.twin_above[a]; b >= 0; b = tree_.twin_above[static_cast<size_t>(b)])
      masses_[c] += T(2) * dot(trial_.xi[static_cast<size_t>(b)], y);
    levers_[c] += lever_of(xi, sigma);
  }
}

// As set_residual_scale (residual.cpp).                                                                   theory (4.6)
template <class T> void SmoothStage<T>::scale(const If& chosen) {
  second_moments();
  T reach(0);
  for (const V3<T>& p : trial_.p) reach = larger(reach, dot(p, p));
  const T far = (T(1) + sqrt(reach)) * inertia_.weight;
  const T eps(std::numeric_limits<double>::epsilon());
  const bool shared = tree_.has_followers();
  if (shared) add_up_masses();
  for (size_t a = 0; a < v.size(); ++a) {
    T mass, lever;
    if (shared) {
      mass = masses_[a] + T(tree_.armature[a]), lever = levers_[a];
    } else {
      const SecondMoment<T>& sigma = moments_[static_cast<size_t>(tree_.dof_node[a])];
      const Twist<T>& xi = trial_.xi[a];
      mass = dot(xi, sigma * xi) + T(tree_.armature[a]);
      lever = lever_of(xi, sigma);
    }
    const T weight = T(1) / mass;
    const T loose = eps * weight * (far * lever + joint_curvature_[a]);
    weights[a] = select(chosen, weight, weights[a]);
    rounding[a] = select(chosen, loose, rounding[a]);
  }
}

template <class T> T SmoothStage<T>::merit() const {
  T sum(0);
  for (size_t a = 0; a < residual.size(); ++a) sum += residual[a] * residual[a] * weights[a];
  return sum;
}
template <class T> T SmoothStage<T>::largest_residual() const {
  T most(0);
  for (size_t a = 0; a < residual.size(); ++a) most = larger(most, abs(residual[a]) * weights[a]);
  return most;
}
template <class T> Condition<T> SmoothStage<T>::small(double tolerance) const {
  If all = T(0) <= T(0);
  for (size_t a = 0; a < residual.size(); ++a)
    all = all & (abs(residual[a]) * weights[a] <= T(tolerance) + T(16) * rounding[a]);
  return all;
}
template <class T> Condition<T> SmoothStage<T>::within_chart() const {
  If all = T(0) <= T(0);
  for (size_t i = 0; i < tree_.nodes.size(); ++i)
    if (has_chart(tree_.nodes[i])) all = all & (dot(trial_.chart[i], trial_.chart[i]) <= T(M_PI * M_PI / 9));
  return all;
}

template <class T> Condition<T> SmoothStage<T>::turned_little() const {
  const T least(1 + 2 * std::cos(std::min(2 * s_.max_turn, 3.0)));  // the trace of a rotation by as much
  If all = T(0) <= T(0);
  for (size_t i = 0; i < tree_.nodes.size(); ++i) {
    const M3<T>&R = trial_.R[i], &R0 = start_.R[i];
    all = all & (least <= dot(R.x, R0.x) + dot(R.y, R0.y) + dot(R.z, R0.z));
  }
  return all;
}

}  // namespace scree

#include "integrators/smooth_stage_contact.h"
#include "integrators/smooth_stage_joints.h"
#include "integrators/smooth_stage_matrices.h"
