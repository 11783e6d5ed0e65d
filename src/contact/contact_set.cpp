#include "contact/contact_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "math/eigen.h"
#include "scree/error.h"

namespace scree {
namespace {

constexpr double kAll = 1 - 1e-9;          // sum of weights of a slot that uses all its polytope offers
constexpr double kMore = 2;                // a load may double within a step and still be no impact
constexpr double kSlow = 0.01;             // [m/s] out of the ground: rises by 5 micrometres
constexpr double kStandardGravity = 9.81;  // [m/s^2] defines the share of the weight where there is no gravity

V3<double> velocity_at(const Twist<double>& xi, const V3<double>& x) { return xi.v + cross(xi.w, x); }

// The tangents of a contact frame: x along the world's x axis, or y where the ground faces x.
void tangents(const V3<double>& n, V3<double>& t1, V3<double>& t2, double& spin) {
  const V3<double> e = std::abs(n.x) < 0.9 ? V3<double>{1, 0, 0} : V3<double>{0, 1, 0};
  const double along = dot(e, n);
  const V3<double> t = e - along * n;
  const double length = std::sqrt(dot(t, t));
  t1 = (1 / length) * t;
  t2 = cross(n, t1);
  spin = -along / length;
}

// Do all points move within planes that hold x and z of every contact frame? Joints turn about one axis and slide
// across it, the ground is made of planes along it.
bool moves_in_plane(const Model& model, const Environment& environment) {
  constexpr double kRounding = 1e-12;
  const Tree& tree = tree_of(model);
  Kinematics<double> kin(tree);
  const Eigen::VectorXd q = model.neutral_position(), rest = Eigen::VectorXd::Zero(model.nv());
  forward_kinematics(tree, q.data(), rest.data(), kin);
  V3<double> axis = {0, 0, 0};
  for (const Twist<double>& xi : kin.xi)
    if (dot(xi.w, xi.w) > 0) axis = (1 / std::sqrt(dot(xi.w, xi.w))) * xi.w;
  if (!(dot(axis, axis) > 0)) return false;
  for (const Node& node : tree.nodes)
    if (has_chart(node)) return false;
  for (const Twist<double>& xi : kin.xi) {
    const V3<double> off = cross(axis, xi.w);
    if (dot(off, off) > kRounding * kRounding || std::abs(dot(axis, xi.v)) > kRounding) return false;
  }
  for (const Solid& solid : environment.solids()) {
    const auto* plane = std::get_if<GroundPlane>(&solid.shape);
    if (!plane) return false;
    V3<double> t1, t2;
    double spin = 0;
    tangents(to_v3(plane->normal), t1, t2, spin);
    if (std::abs(dot(axis, t1)) > kRounding || std::abs(dot(axis, to_v3(plane->normal))) > kRounding) return false;
  }
  return true;
}

}  // namespace

ContactSet::ContactSet(const Model& model, const ContactWorld& world)
    : model_(model),
      tree_(tree_of(model)),
      world_(world),
      used_(moves_in_plane(model, world.environment) ? world.law->vertices_in_plane() : std::vector<int>{}),
      vertices_(used_.empty() ? world.law->vertex_count() : static_cast<int>(used_.size())),
      dimension_(world.law->has_moments() ? 6 : 3),
      reach_(world.law->reach()),
      slot_of_(world.pair_count(), -1),
      offered_(6, world.law->vertex_count()),
      weights_(world.law->vertex_count()) {
  // All at once in the ground, the quadratic program would fill a gigabyte.
  constexpr size_t kMostWeights = 6000;
  if (world.points.size() * static_cast<size_t>(vertices_) > kMostWeights)
    throw InputError(
        fmt::format("contact: {} points with {} force directions each, expected at most {} in all: name "
                    "contact points in the model or use simpler shapes",
                    world.points.size(), vertices_, kMostWeights));
}

V3<double> ContactSet::centre(const Kinematics<double>& kin, int point) const {
  const ContactPoint& p = world_.points[static_cast<size_t>(point)];
  const size_t node = static_cast<size_t>(p.body.value());
  return kin.R[node] * to_v3(p.p_B) + kin.p[node];
}

void ContactSet::add_slot(int point, int solid) {
  const ContactPoint& p = world_.points[static_cast<size_t>(point)];
  slot_of_[index(point, solid)] = size();
  Slot slot{};
  slot.point = point;
  slot.solid = solid;
  slot.node = p.body.value();
  slot.scale = scaled_ ? scales_[index(point, solid)] : 1;
  slot.geometry.p_B = p.p_B;
  slot.geometry.share_of_weight = share_of_weight_;
  slots_.push_back(slot);
  wrenches_.resize(static_cast<size_t>(weight_count()));
  if (local_.cols() < weight_count())
    for (Wrenches* m : {&local_, &learnt_, &slope_}) m->conservativeResize(6, 2 * weight_count());
  const Eigen::Index first = static_cast<Eigen::Index>(size() - 1) * vertices_;
  learnt_.middleCols(first, vertices_).setZero();  // no depth, no force
  slope_.middleCols(first, vertices_).setZero();
}

void ContactSet::start_selection(double gravity, bool first_order, bool scaled) {
  first_order_ = first_order;
  scaled_ = scaled;
  const double g = gravity > 0 ? gravity : kStandardGravity;
  weight_ = model_.total_mass() * g;
  share_of_weight_ = weight_ / static_cast<double>(std::max<size_t>(1, world_.points.size()));
  slots_.clear();
  std::fill(slot_of_.begin(), slot_of_.end(), -1);
}

void ContactSet::picks(std::vector<Pick>& out) const {
  out.clear();
  for (const Slot& slot : slots_) out.push_back({slot.point, slot.solid, slot.counted});
}

void ContactSet::select(const std::vector<Pick>& picks, double gravity, bool scaled) {
  start_selection(gravity, true, scaled);
  for (const Pick& pick : picks) {
    add_slot(pick.point, pick.solid);
    slots_.back().counted = pick.counted;
  }
}

void ContactSet::select(const Kinematics<double>& kin, double margin, double gravity, bool first_order, bool scaled) {
  start_selection(gravity, first_order, scaled);
  for (int point = 0; point < std::ssize(world_.points); ++point) {
    const Vec3 c = to_eigen(kin.origin + centre(kin, point));
    const double far = world_.points[static_cast<size_t>(point)].radius + reach_ + margin;
    for (int solid = 0; solid < std::ssize(world_.environment.solids()); ++solid)
      if (world_.environment.distance_bound(static_cast<size_t>(solid), c) < far) add_slot(point, solid);
  }
}

int ContactSet::add_missing(const Kinematics<double>& kin) {
  const int before = size();
  for (int point = 0; point < std::ssize(world_.points); ++point) {
    const Vec3 c = to_eigen(kin.origin + centre(kin, point));
    const double radius = world_.points[static_cast<size_t>(point)].radius;
    for (int solid = 0; solid < std::ssize(world_.environment.solids()); ++solid)
      if (!is_slot(point, solid) &&
          world_.environment.distance_bound(static_cast<size_t>(solid), c) < radius + reach_ &&
          world_.environment.distance(static_cast<size_t>(solid), c).value < radius + reach_)
        add_slot(point, solid);
  }
  for (int s = before; s < size(); ++s) evaluate(kin, static_cast<size_t>(s));
  return size() - before;
}

bool ContactSet::count_touching() {
  bool joined = false;
  for (Slot& slot : slots_)
    if (!slot.counted && slot.depth > -reach_) joined = slot.counted = true;
  return joined;
}

void ContactSet::load_weights(const std::vector<double>& by_pair, Eigen::VectorXd& w) const {
  const bool none = by_pair.size() != all_weights();  // or of another world
  for (size_t s = 0; s < slots_.size(); ++s) {
    const size_t from = index(slots_[s].point, slots_[s].solid) * static_cast<size_t>(vertices_);
    for (size_t j = 0; j < static_cast<size_t>(vertices_); ++j)
      w(static_cast<Eigen::Index>(s * static_cast<size_t>(vertices_) + j)) = none ? 0 : by_pair[from + j];
  }
}

void ContactSet::store(const Eigen::VectorXd& w, State& state) const {
  const bool known = state.contact_loads.size() == world_.pair_count();
  if (!known) state.contact_loads.assign(world_.pair_count(), 0);
  for (double& load : state.contact_loads) load = -load;  // those of before
  store_weights(w, state.contact_weights);
  for (size_t s = 0; s < slots_.size(); ++s) {
    double& load = state.contact_loads[index(slots_[s].point, slots_[s].solid)];
    const double most = kMore * std::max(-load, weight_);
    load = slots_[s].depth > -reach_ ? std::min(dot(slots_[s].n, wrench_of(s, w).f) / slots_[s].scale, most) : 0;
  }
  for (double& load : state.contact_loads) load = std::max(load, 0.0);
}

void ContactSet::store_weights(const Eigen::VectorXd& w, std::vector<double>& by_pair) const {
  by_pair.assign(all_weights(), 0);
  for (size_t s = 0; s < slots_.size(); ++s) {
    const size_t to = index(slots_[s].point, slots_[s].solid) * static_cast<size_t>(vertices_);
    for (size_t j = 0; j < static_cast<size_t>(vertices_); ++j)
      by_pair[to + j] = w(static_cast<Eigen::Index>(s * static_cast<size_t>(vertices_) + j));
  }
}

void ContactSet::evaluate(const Kinematics<double>& kin) {
  for (size_t s = 0; s < slots_.size(); ++s) evaluate(kin, s);
}

// The sphere of radius r about c touches with its point x = c - r n, depth = r - distance(c).             theory (8.3)
void ContactSet::evaluate(const Kinematics<double>& kin, size_t s) {
  Slot& slot = slots_[s];
  const double radius = world_.points[static_cast<size_t>(slot.point)].radius;
  slot.centre = centre(kin, slot.point);
  const SignedDistance ground =
      world_.environment.distance(static_cast<size_t>(slot.solid), to_eigen(kin.origin + slot.centre));
  slot.n = to_v3(ground.gradient);
  slot.curvature = to_m3(ground.hessian);
  slot.depth = radius - ground.value;
  slot.surface = slot.centre - radius * slot.n;
  tangents(slot.n, slot.t1, slot.t2, slot.spin);
  const M3<double> R_WC = {slot.t1, slot.t2, slot.n};
  slot.geometry.depth = slot.depth;
  slot.geometry.R_CB = to_eigen(transpose(R_WC) * kin.R[static_cast<size_t>(slot.node)]);
  const Eigen::Index first = static_cast<Eigen::Index>(s) * vertices_;
  if (used_.empty()) {
    world_.law->vertices(slot.geometry, local_.middleCols(first, vertices_));
  } else {
    world_.law->vertices(slot.geometry, offered_);
    for (int j = 0; j < vertices_; ++j) local_.col(first + j) = offered_.col(used_[static_cast<size_t>(j)]);
  }
  local_.middleCols(first, vertices_) *= slot.scale;
  if (!first_order_) learn(s);
  for (int j = 0; j < vertices_; ++j) {
    const V3<double> f = R_WC * to_v3(local_.col(first + j).head<3>()),
                     m = R_WC * to_v3(local_.col(first + j).tail<3>());
    wrenches_[s * static_cast<size_t>(vertices_) + static_cast<size_t>(j)] = {m + cross(slot.surface, f), f};
  }
}

// Zeroth order: how the law depends on depth, from its last two evaluations; to start with, from zero at depth zero.
// theory (8.12)
void ContactSet::learn(size_t s) {
  constexpr double kStep = 1e-6;  // [m] shorter ones would differentiate rounding
  Slot& slot = slots_[s];
  const double depth = std::max(0.0, slot.depth), step = depth - slot.learnt_depth;
  if (std::abs(step) < kStep) return;
  const Eigen::Index first = static_cast<Eigen::Index>(s) * vertices_;
  slope_.middleCols(first, vertices_) =
      (local_.middleCols(first, vertices_) - learnt_.middleCols(first, vertices_)) / step;
  learnt_.middleCols(first, vertices_) = local_.middleCols(first, vertices_);
  slot.learnt_depth = depth;
}

// Dofs on the way from a node to the world, last first.
template <class Visit> void ContactSet::for_path(int node, Visit&& visit) const {
  for (int a = tree_.last_dof[static_cast<size_t>(node)]; a >= 0; a = tree_.dof_parent[static_cast<size_t>(a)])
    visit(static_cast<size_t>(a));
}

Wrench<double> ContactSet::wrench_of(size_t s, const Eigen::VectorXd& w) const {
  Wrench<double> sum = {{0, 0, 0}, {0, 0, 0}};
  for (size_t k = s * static_cast<size_t>(vertices_); k < (s + 1) * static_cast<size_t>(vertices_); ++k) {
    const double weight = w(static_cast<Eigen::Index>(k));
    sum += {weight * wrenches_[k].m, weight * wrenches_[k].f};
  }
  return sum;
}

void ContactSet::add_forces(const Kinematics<double>& kin, const Eigen::VectorXd& w, double* residual) {
  for (size_t s = 0; s < slots_.size(); ++s) {
    if (slots_[s].depth <= -reach_) continue;
    const Wrench<double> W = wrench_of(s, w);
    for_path(slots_[s].node, [&](size_t a) { residual[a] -= dot(kin.xi[a], W); });
  }
}

// x = c - r n(c): how it moves when the body moves with twist xi.
V3<double> ContactSet::surface_change(const Slot& slot, const Twist<double>& xi) const {
  const V3<double> dc = velocity_at(xi, slot.centre);
  return dc - world_.points[static_cast<size_t>(slot.point)].radius * (slot.curvature * dc);
}

void ContactSet::add_jacobian(const Kinematics<double>& kin, const Eigen::VectorXd& w, double* jacobian) {
  const size_t n = static_cast<size_t>(tree_.nv);
  for (size_t s = 0; s < slots_.size(); ++s) {
    const Slot& slot = slots_[s];
    if (slot.depth <= -reach_) continue;
    const Wrench<double> W = wrench_of(s, w);
    const V3<double> moment = W.m - cross(slot.surface, W.f);  // about the surface point
    const M3<double> R_WC = {slot.t1, slot.t2, slot.n};
    const Eigen::Index first = static_cast<Eigen::Index>(s) * vertices_;
    if (used_.empty()) {
      weights_ = w.segment(first, vertices_);
    } else {
      weights_.setZero();
      for (int j = 0; j < vertices_; ++j) weights_(used_[static_cast<size_t>(j)]) = w(first + j);
    }
    ContactLaw::Derivative change;
    if (first_order_) {
      change = world_.law->derivative(slot.geometry, weights_);
      change.by_depth *= slot.scale;
      change.by_turn *= slot.scale;
    } else {
      change.by_depth.noalias() = slope_.middleCols(first, vertices_) * w.segment(first, vertices_);
    }
    if (slot.held) change.by_depth.setZero();
    // How the wrench changes when dof a moves the body, the body's twist xi_a.                            theory (8.6)
    const auto wrench_change = [&](const Twist<double>& xi) -> Wrench<double> {
      const V3<double> dc = velocity_at(xi, slot.centre);
      const V3<double> dn = slot.curvature * dc;
      const V3<double> turn = cross(slot.n, dn) + (slot.spin * dot(slot.t2, dn)) * slot.n;  // of the contact frame
      const Vec3 relative = to_eigen(transpose_times(R_WC, xi.w - turn));
      const Eigen::Matrix<double, 6, 1> local = -dot(slot.n, dc) * change.by_depth + change.by_turn * relative;
      const V3<double> df = cross(turn, W.f) + R_WC * to_v3(local.head<3>());
      const V3<double> dm = cross(turn, moment) + R_WC * to_v3(local.tail<3>());
      return {dm + cross(surface_change(slot, xi), W.f) + cross(slot.surface, df), df};
    };
    for_path(slot.node, [&](size_t a) {
      const Wrench<double> dW = wrench_change(kin.xi[a]);
      // xi_b of dofs b below a is carried along: -(xi_a x xi_b) . W = xi_b . (xi_a x* W)
      Wrench<double> carried = cross_dual(kin.xi[a], W);
      carried = {carried.m + -dW.m, carried.f + -dW.f};
      double* column = jacobian + a * n;
      for_path(slot.node, [&](size_t b) { column[b] += b > a ? dot(kin.xi[b], carried) : -dot(kin.xi[b], dW); });
    });
    // Two dofs of one chart: d xi_b / d delta_a is not xi_a x xi_b.                                        theory (3.7)
    for (int i = slot.node; i >= 0; i = tree_.nodes[static_cast<size_t>(i)].parent) {
      const Node& node = tree_.nodes[static_cast<size_t>(i)];
      if (!has_chart(node)) continue;
      const size_t chart = static_cast<size_t>(node.v_index + node.nv - 3);
      const M3<double> bending = chart_bending(kin, static_cast<size_t>(i), W);
      const V3<double> columns[] = {bending.x, bending.y, bending.z};
      for (size_t a = 0; a < 3; ++a) {
        const double by_chart[] = {columns[a].x, columns[a].y, columns[a].z};
        const Wrench<double> carried = cross_dual(kin.xi[chart + a], W);
        for (size_t b = 0; b < 3; ++b)
          jacobian[(chart + a) * n + chart + b] -= by_chart[b] + (b > a ? dot(kin.xi[chart + b], carried) : 0);
      }
    }
  }
}

void ContactSet::force_columns(const Kinematics<double>& kin, Eigen::Ref<Eigen::MatrixXd> B) const {
  B.setZero();
  for (size_t s = 0; s < slots_.size(); ++s) {
    if (slots_[s].depth <= -reach_) continue;
    for (size_t k = s * static_cast<size_t>(vertices_); k < (s + 1) * static_cast<size_t>(vertices_); ++k) {
      double* column = B.col(static_cast<Eigen::Index>(k)).data();
      for_path(slots_[s].node, [&](size_t a) { column[a] = -dot(kin.xi[a], wrenches_[k]); });
    }
  }
}

void ContactSet::velocities(Discretisation& stage, Eigen::Ref<Eigen::VectorXd> u) const {
  for (size_t s = 0; s < slots_.size(); ++s) {
    const Slot& slot = slots_[s];
    u.segment<3>(3 * static_cast<Eigen::Index>(s)) =
        slot.counted ? to_eigen(stage.point_velocity(slot.node, slot.surface)) : Vec3(Vec3::Zero());
  }
}

void ContactSet::velocity_rows(Discretisation& stage, Eigen::Ref<Eigen::MatrixXd> U) const {
  U.setZero();
  for (size_t s = 0; s < slots_.size(); ++s) {
    const Slot& slot = slots_[s];
    if (!slot.counted) continue;
    for_path(slot.node, [&](size_t a) {
      const V3<double> dx = surface_change(slot, stage.trial().xi[a]);
      U.block<3, 1>(3 * static_cast<Eigen::Index>(s), static_cast<Eigen::Index>(a)) =
          to_eigen(stage.point_velocity_change(static_cast<int>(a), slot.node, slot.surface, dx));
    });
  }
}

void ContactSet::point_jacobian(const Kinematics<double>& kin, Eigen::Ref<Eigen::MatrixXd> J) const {
  J.setZero();
  for (size_t s = 0; s < slots_.size(); ++s) {
    if (!slots_[s].counted) continue;
    for_path(slots_[s].node, [&](size_t a) {
      J.block<3, 1>(3 * static_cast<Eigen::Index>(s), static_cast<Eigen::Index>(a)) =
          to_eigen(velocity_at(kin.xi[a], slots_[s].surface));
    });
  }
}

void ContactSet::settle(const Eigen::VectorXd& w) {
  for (size_t s = 0; s < slots_.size(); ++s)
    slots_[s].settled = w.segment(static_cast<Eigen::Index>(s) * vertices_, vertices_).sum() > 0;
}

void ContactSet::settle_none() {
  for (Slot& slot : slots_) slot.settled = slot.held = false;
}

void ContactSet::hold(const Eigen::VectorXd& w) {
  sizes_.resize(static_cast<size_t>(weight_count()));
  for (size_t s = 0; s < slots_.size(); ++s) {
    const Eigen::Index first = static_cast<Eigen::Index>(s) * vertices_;
    slots_[s].held = slots_[s].settled && w.segment(first, vertices_).sum() < kAll;
    slots_[s].held_depth = slots_[s].depth;
    if (!slots_[s].held) continue;
    for (Eigen::Index k = first; k < first + vertices_; ++k) sizes_[static_cast<size_t>(k)] = local_.col(k).norm();
  }
}

void ContactSet::find_active() {
  active_.clear();
  for (int s = 0; s < size(); ++s)
    if (slots_[static_cast<size_t>(s)].depth > -reach_) active_.push_back(s);
}

void ContactSet::force_rows(const Kinematics<double>& kin, double* out) const {
  const int columns = dimension_ * static_cast<int>(active_.size());
  std::fill(out, out + tree_.nv * columns, 0.0);
  double* at = out;
  for (const int s : active_) {
    const Slot& slot = slots_[static_cast<size_t>(s)];
    for_path(slot.node, [&](size_t a) {
      const Twist<double>& xi = kin.xi[a];
      const V3<double> u = velocity_at(xi, slot.surface);
      double* row = at + a * static_cast<size_t>(columns);
      row[0] = dot(slot.t1, u), row[1] = dot(slot.t2, u), row[2] = dot(slot.n, u);
      if (dimension_ == 3) return;
      row[3] = dot(slot.t1, xi.w), row[4] = dot(slot.t2, xi.w), row[5] = dot(slot.n, xi.w);
    });
    at += dimension_;
  }
}

void ContactSet::keep_forces(Eigen::VectorXd& w) {
  for (size_t s = 0; s < slots_.size(); ++s) {
    Slot& slot = slots_[s];
    if (!slot.held) continue;
    const Eigen::Index first = static_cast<Eigen::Index>(s) * vertices_;
    auto weights = w.segment(first, vertices_);
    slot.settled = weights.sum() < kAll;
    if (!slot.settled) continue;
    for (int j = 0; j < vertices_; ++j) {
      const double size = local_.col(first + j).norm();
      if (weights(j) > 0) weights(j) *= sizes_[static_cast<size_t>(first + j)] / std::max(size, 1e-300);
    }
    const double sum = weights.sum();
    slot.settled = sum <= 1;
    if (!slot.settled) weights /= sum;
  }
}

double ContactSet::share_in_ground(const Eigen::VectorXd& w) const {
  constexpr double kLeft = 0.1;  // of the depth
  double share = 1;
  for (size_t s = 0; s < slots_.size(); ++s) {
    const double before = slots_[s].held_depth + reach_, now = slots_[s].depth + reach_;
    if (before > 0 && now <= 0 && w.segment(static_cast<Eigen::Index>(s) * vertices_, vertices_).sum() > 0)
      share = std::min(share, (1 - kLeft) * before / (before - now));
  }
  return share;
}

void ContactSet::take_out_impacts(Discretisation& first, const Eigen::VectorXd& w, const State& state,
                                  const std::vector<Twist<double>>& start, Eigen::VectorXd& forces) {
  const bool known = state.contact_loads.size() == world_.pair_count();
  scales_.resize(world_.pair_count());
  for (size_t pair = 0; pair < scales_.size(); ++pair)  // of pairs that are no slots: they bear nothing now
    scales_[pair] = known && state.contact_loads[pair] > 0 ? 1 : 1 / kGamma;
  for (size_t s = 0; s < slots_.size(); ++s) {
    const Slot& slot = slots_[s];
    if (slot.depth <= -reach_) continue;
    const size_t pair = index(slot.point, slot.solid);
    const Wrench<double> W = wrench_of(s, w);
    const double load = dot(slot.n, W.f), before = known ? state.contact_loads[pair] : 0;
    if (!(load > 0)) continue;
    double theta = std::min(1.0, kMore * before / load);
    // A foot that sinks when the step starts is not to be thrown up again.
    const double u_n = dot(slot.n, velocity_at(start[static_cast<size_t>(slot.node)], slot.surface));
    const double u_1 = dot(slot.n, first.point_velocity(slot.node, slot.surface));
    const double u_c = u_n + (1 - kGamma) / kGamma * (u_1 - u_n);
    if (u_n < -kSlow && u_c > kSlow) {
      const double sinks = std::min(1.0, -u_n / kSlow - 1);
      theta *= 1 - sinks * (u_c - kSlow) / (u_c - u_n);
    }
    scales_[pair] = (1 - (1 - kGamma) * theta) / kGamma;
    for_path(slot.node,
             [&](size_t a) { forces(static_cast<Eigen::Index>(a)) += (1 - theta) * dot(first.trial().xi[a], W); });
  }
}

void ContactSet::report(const Kinematics<double>& kin, const Eigen::VectorXd& w, std::vector<Contact>& out) {
  out.clear();
  for (int& slot : slot_of_) {
    if (slot < 0) continue;
    const Slot& s = slots_[static_cast<size_t>(slot)];
    const Wrench<double> W = wrench_of(static_cast<size_t>(slot), w);
    if (s.depth <= -reach_ || (s.depth <= 0 && dot(W.f, W.f) == 0)) continue;
    out.push_back({.point = s.point,
                   .solid = s.solid,
                   .position = to_eigen(kin.origin + s.surface),
                   .normal = to_eigen(s.n),
                   .force = to_eigen(W.f) / s.scale,
                   .moment = to_eigen(W.m - cross(s.surface, W.f)) / s.scale,
                   .depth = s.depth});
  }
}

}  // namespace scree
