#include "contact/contact_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "contact/load_rule.h"
#include "math/eigen.h"
#include "scree/error.h"

namespace scree {
namespace {

constexpr double kAll = 1 - 1e-9;    // sum of weights of a slot that uses all its polytope offers
constexpr size_t kMostDense = 6000;  // numbers in State::contact_weights by pair and vertex

}  // namespace

ContactSet::ContactSet(const Model& model, const World& world)
    : model_(model),
      tree_(tree_of(model)),
      world_(world),
      pairs_(model, world),
      near_(pairs_),
      used_(moves_in_plane(model, world) ? world.law->vertices_in_plane() : std::vector<int>{}),
      vertices_(used_.empty() ? world.law->vertex_count() : static_cast<int>(used_.size())),
      dimension_(world.law->has_moments() ? 6 : 3),
      reach_(world.law->reach()),
      slot_of_(world.pair_count(), -1),
      offered_(6, world.law->vertex_count()),
      weights_(world.law->vertex_count()) {}

void ContactSet::add_slot(int pair) {
  slot_of_[static_cast<size_t>(pair)] = size();
  Slot slot{};
  slot.pair = pair;
  slot.scale = scaled_ ? scales_[static_cast<size_t>(pair)] : 1;
  slot.geometry.p_B = pairs_.centre(pair);
  slot.geometry.share_of_weight = pairs_.share_of_weight();
  slot.geometry.firm_depth = pairs_.firm_depth();
  slot.geometry.friction = pairs_.friction();
  slots_.push_back(slot);
  wrenches_.resize(static_cast<size_t>(weight_count()));
  if (local_.cols() < weight_count())
    for (Wrenches* m : {&local_, &learnt_, &slope_}) m->conservativeResize(6, 2 * weight_count());
  const Eigen::Index first = static_cast<Eigen::Index>(size() - 1) * vertices_;
  learnt_.middleCols(first, vertices_).setZero();  // no depth, no force
  slope_.middleCols(first, vertices_).setZero();
}

void ContactSet::start_selection(bool first_order, bool scaled) {
  first_order_ = first_order;
  scaled_ = scaled;
  weight_ = weight_of(model_, world_);
  for (const Slot& slot : slots_) slot_of_[static_cast<size_t>(slot.pair)] = -1;
  slots_.clear();
}

void ContactSet::picks(std::vector<Pick>& out) const {
  out.clear();
  for (const Slot& slot : slots_) out.push_back({slot.pair, slot.counted});
}

void ContactSet::select(const std::vector<Pick>& picks, bool scaled) {
  start_selection(true, scaled);
  for (const Pick& pick : picks) {
    add_slot(pick.pair);
    slots_.back().counted = pick.counted;
  }
}

void ContactSet::select(const Kinematics<double>& kin, double margin, bool first_order, bool scaled) {
  start_selection(first_order, scaled);
  const std::vector<int>& near = near_.find(pairs_, kin, reach_ + margin);
  looks_ += std::ssize(near);
  for (const int pair : near)
    if (pairs_.gap_bound(kin, pair, pairs_.core(kin, pair)) < reach_ + margin) add_slot(pair);
  if (margin > 0 && weight_count() > kMostWeights) select(kin, 0, first_order, scaled);
}

int ContactSet::add_missing(const Kinematics<double>& kin) {
  const int before = size();
  const std::vector<int>& near = near_.find(pairs_, kin, reach_);
  looks_ += std::ssize(near);
  for (const int pair : near) {
    if (slot_of_[static_cast<size_t>(pair)] >= 0) continue;
    const V3<double> core = pairs_.core(kin, pair);
    if (pairs_.gap_bound(kin, pair, core) < reach_ && pairs_.proximity(kin, pair, core).gap < reach_) add_slot(pair);
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

// Numbers of the slots alone are records of a pair's number and its weights, by pair.
void ContactSet::load_weights(const std::vector<double>& from, Eigen::VectorXd& w) const {
  const size_t V = static_cast<size_t>(vertices_);
  if (all_weights() > kMostDense) {
    w.head(weight_count()).setZero();
    if (from.size() % (V + 1) != 0) return;  // of another world
    for (size_t k = 0; k < from.size(); k += V + 1) {
      if (!(from[k] >= 0 && from[k] < pairs_.count())) continue;
      const int slot = slot_of_[static_cast<size_t>(from[k])];
      if (slot < 0) continue;
      for (size_t j = 0; j < V; ++j) w(static_cast<Eigen::Index>(static_cast<size_t>(slot) * V + j)) = from[k + 1 + j];
    }
    return;
  }
  const bool none = from.size() != all_weights();  // or of another world
  for (size_t s = 0; s < slots_.size(); ++s) {
    const size_t first = static_cast<size_t>(slots_[s].pair) * V;
    for (size_t j = 0; j < V; ++j) w(static_cast<Eigen::Index>(s * V + j)) = none ? 0 : from[first + j];
  }
}

const std::vector<int>& ContactSet::slots_by_pair() {
  order_.clear();
  for (int s = 0; s < size(); ++s) order_.push_back(s);
  std::sort(order_.begin(), order_.end(),
            [&](int a, int b) { return slots_[static_cast<size_t>(a)].pair < slots_[static_cast<size_t>(b)].pair; });
  return order_;
}

void ContactSet::store(const Eigen::VectorXd& w, State& state) {
  const bool known = state.contact_loads.size() == world_.pair_count();
  if (!known) state.contact_loads.assign(world_.pair_count(), 0);
  for (double& load : state.contact_loads) load = -load;  // those of before
  store_weights(w, state.contact_weights);
  for (size_t s = 0; s < slots_.size(); ++s) {
    double& load = state.contact_loads[static_cast<size_t>(slots_[s].pair)];
    const double most = kMostGrowth * std::max(-load, weight_);
    load = slots_[s].depth > -reach_ ? std::min(dot(slots_[s].at.n, wrench_of(s, w).f) / slots_[s].scale, most) : 0;
  }
  for (double& load : state.contact_loads) load = std::max(load, 0.0);
}

void ContactSet::store_weights(const Eigen::VectorXd& w, std::vector<double>& to) {
  const size_t V = static_cast<size_t>(vertices_);
  const auto weight = [&](int slot, size_t j) {
    return w(static_cast<Eigen::Index>(static_cast<size_t>(slot) * V + j));
  };
  if (all_weights() > kMostDense) {
    to.clear();
    for (const int slot : slots_by_pair()) {
      to.push_back(slots_[static_cast<size_t>(slot)].pair);
      for (size_t j = 0; j < V; ++j) to.push_back(weight(slot, j));
    }
    return;
  }
  to.assign(all_weights(), 0);
  for (int s = 0; s < size(); ++s) {
    const size_t first = static_cast<size_t>(slots_[static_cast<size_t>(s)].pair) * V;
    for (size_t j = 0; j < V; ++j) to[first + j] = weight(s, j);
  }
}

void ContactSet::evaluate(const Kinematics<double>& kin) {
  looks_ += size();
  for (size_t s = 0; s < slots_.size(); ++s) evaluate(kin, s);
}

void ContactSet::evaluate(const Kinematics<double>& kin, size_t s) {
  Slot& slot = slots_[s];
  slot.at = pairs_.proximity(kin, slot.pair);
  slot.depth = -slot.at.gap;
  const Eigen::Index first = static_cast<Eigen::Index>(s) * vertices_;
  if (slot.depth <= -reach_) {  // nobody looks at its frame
    if (!slot.empty) {
      local_.middleCols(first, vertices_).setZero();
      for (size_t j = 0; j < static_cast<size_t>(vertices_); ++j)
        wrenches_[s * static_cast<size_t>(vertices_) + j] = {{0, 0, 0}, {0, 0, 0}};
    }
    slot.empty = true;
    if (!first_order_) learn(s);
    return;
  }
  slot.empty = false;
  ++laws_;
  slot.frame = contact_frame(slot.at.n);
  const M3<double> R_WC = {slot.frame.t1, slot.frame.t2, slot.at.n};
  slot.geometry.depth = slot.depth;
  slot.geometry.R_CB = to_eigen(transpose(R_WC) * kin.R[static_cast<size_t>(pairs_.node_of(slot.pair))]);
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
    wrenches_[s * static_cast<size_t>(vertices_) + static_cast<size_t>(j)] = {m + cross(slot.at.x_a, f), f};
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
    pairs_.for_coordinates(slots_[s].pair, kin, [&](size_t a, const Twist<double>& xi) { residual[a] -= dot(xi, W); });
  }
}

// x = c - r n(c): how it moves when the body moves with twist xi.
V3<double> ContactSet::surface_change(const Slot& slot, const Twist<double>& xi) const {
  const V3<double> dc = velocity_at(xi, slot.at.core);
  return dc - pairs_.radius(slot.pair) * (slot.at.curvature * dc);
}

void ContactSet::add_jacobian(const Kinematics<double>& kin, const Eigen::VectorXd& w, double* jacobian) {
  const size_t n = static_cast<size_t>(tree_.nv);
  for (size_t s = 0; s < slots_.size(); ++s) {
    const Slot& slot = slots_[s];
    if (slot.depth <= -reach_) continue;
    const Wrench<double> W = wrench_of(s, w);
    const V3<double> moment = W.m - cross(slot.at.x_a, W.f);  // about the surface point
    const M3<double> R_WC = {slot.frame.t1, slot.frame.t2, slot.at.n};
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
      const V3<double> dc = velocity_at(xi, slot.at.core);
      const V3<double> dn = slot.at.curvature * dc;
      // of the contact frame
      const V3<double> turn = cross(slot.at.n, dn) + (slot.frame.spin * dot(slot.frame.t2, dn)) * slot.at.n;
      const Vec3 relative = to_eigen(transpose_times(R_WC, xi.w - turn));
      const Eigen::Matrix<double, 6, 1> local = -dot(slot.at.n, dc) * change.by_depth + change.by_turn * relative;
      const V3<double> df = cross(turn, W.f) + R_WC * to_v3(local.head<3>());
      const V3<double> dm = cross(turn, moment) + R_WC * to_v3(local.tail<3>());
      return {dm + cross(surface_change(slot, xi), W.f) + cross(slot.at.x_a, df), df};
    };
    pairs_.for_dofs(slot.pair, [&](size_t a) {
      const Wrench<double> dW = wrench_change(kin.xi[a]);
      // xi_b of dofs b below a is carried along: -(xi_a x xi_b) . W = xi_b . (xi_a x* W)
      Wrench<double> carried = cross_dual(kin.xi[a], W);
      carried = {carried.m + -dW.m, carried.f + -dW.f};
      double* column = jacobian + static_cast<size_t>(tree_.coordinate[a]) * n;
      pairs_.for_dofs(slot.pair, [&](size_t b) {
        column[tree_.coordinate[b]] += b > a ? dot(kin.xi[b], carried) : -dot(kin.xi[b], dW);
      });
    });
    // Two dofs of one chart: d xi_b / d delta_a is not xi_a x xi_b.                                        theory (3.7)
    pairs_.for_bodies(slot.pair, [&](size_t i) {
      const Node& node = tree_.nodes[i];
      if (!has_chart(node)) return;
      const size_t chart = static_cast<size_t>(node.dof + node.nv - 3);
      const size_t at = static_cast<size_t>(node.v_index + node.nv - 3);
      const M3<double> bending = chart_bending(kin, i, W);
      const V3<double> columns[] = {bending.x, bending.y, bending.z};
      for (size_t a = 0; a < 3; ++a) {
        const double by_chart[] = {columns[a].x, columns[a].y, columns[a].z};
        const Wrench<double> carried = cross_dual(kin.xi[chart + a], W);
        for (size_t b = 0; b < 3; ++b)
          jacobian[(at + a) * n + at + b] -= by_chart[b] + (b > a ? dot(kin.xi[chart + b], carried) : 0);
      }
    });
  }
}

void ContactSet::force_columns(const Kinematics<double>& kin, Eigen::Ref<Eigen::MatrixXd> B) const {
  B.setZero();
  for (size_t s = 0; s < slots_.size(); ++s) {
    if (slots_[s].depth <= -reach_) continue;
    for (size_t k = s * static_cast<size_t>(vertices_); k < (s + 1) * static_cast<size_t>(vertices_); ++k) {
      double* column = B.col(static_cast<Eigen::Index>(k)).data();
      pairs_.for_coordinates(slots_[s].pair, kin,
                             [&](size_t a, const Twist<double>& xi) { column[a] = -dot(xi, wrenches_[k]); });
    }
  }
}

void ContactSet::velocities(Discretisation& stage, Eigen::Ref<Eigen::VectorXd> u) const {
  for (size_t s = 0; s < slots_.size(); ++s) {
    const Slot& slot = slots_[s];
    u.segment<3>(3 * static_cast<Eigen::Index>(s)) =
        slot.counted ? to_eigen(stage.point_velocity(pairs_.node_of(slot.pair), slot.at.x_a)) : Vec3(Vec3::Zero());
  }
}

void ContactSet::velocity_rows(Discretisation& stage, Eigen::Ref<Eigen::MatrixXd> U) const {
  U.setZero();
  for (size_t s = 0; s < slots_.size(); ++s) {
    const Slot& slot = slots_[s];
    if (!slot.counted) continue;
    pairs_.for_coordinates(slot.pair, stage.trial(), [&](size_t a, const Twist<double>& xi) {
      const V3<double> dx = surface_change(slot, xi);
      U.block<3, 1>(3 * static_cast<Eigen::Index>(s), static_cast<Eigen::Index>(a)) =
          to_eigen(stage.point_velocity_change(static_cast<int>(a), xi, pairs_.node_of(slot.pair), slot.at.x_a, dx));
    });
  }
}

void ContactSet::point_jacobian(const Kinematics<double>& kin, Eigen::Ref<Eigen::MatrixXd> J) const {
  J.setZero();
  for (size_t s = 0; s < slots_.size(); ++s) {
    if (!slots_[s].counted) continue;
    pairs_.for_coordinates(slots_[s].pair, kin, [&](size_t a, const Twist<double>& xi) {
      J.block<3, 1>(3 * static_cast<Eigen::Index>(s), static_cast<Eigen::Index>(a)) =
          to_eigen(velocity_at(xi, slots_[s].at.x_a));
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
    pairs_.for_coordinates(slot.pair, kin, [&](size_t a, const Twist<double>& xi) {
      const V3<double> u = velocity_at(xi, slot.at.x_a);
      double* row = at + a * static_cast<size_t>(columns);
      row[0] = dot(slot.frame.t1, u), row[1] = dot(slot.frame.t2, u), row[2] = dot(slot.at.n, u);
      if (dimension_ == 3) return;
      row[3] = dot(slot.frame.t1, xi.w), row[4] = dot(slot.frame.t2, xi.w), row[5] = dot(slot.at.n, xi.w);
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
    const size_t pair = static_cast<size_t>(slot.pair);
    const Wrench<double> W = wrench_of(s, w);
    const double load = dot(slot.at.n, W.f), before = known ? state.contact_loads[pair] : 0;
    if (!(load > 0)) continue;
    const double u_n = dot(slot.at.n, pairs_.velocity(start, slot.pair, slot.at.x_a));
    const double u_1 = dot(slot.at.n, first.point_velocity(pairs_.node_of(slot.pair), slot.at.x_a));
    const double theta = extrapolated_part(before, load, u_n, u_1);
    scales_[pair] = second_stage_scale(theta);
    pairs_.for_coordinates(slot.pair, first.trial(), [&](size_t a, const Twist<double>& xi) {
      forces(static_cast<Eigen::Index>(a)) += (1 - theta) * dot(xi, W);
    });
  }
}

void ContactSet::report(const Kinematics<double>& kin, const Eigen::VectorXd& w, std::vector<Contact>& out) {
  out.clear();
  for (const int slot : slots_by_pair()) {
    const Slot& s = slots_[static_cast<size_t>(slot)];
    const Wrench<double> W = wrench_of(static_cast<size_t>(slot), w);
    if (s.depth <= -reach_ || (s.depth <= 0 && dot(W.f, W.f) == 0)) continue;
    out.push_back({.a = pairs_.colliders_of(s.pair).a,
                   .b = pairs_.colliders_of(s.pair).b,
                   .position = to_eigen(kin.origin + s.at.x_a),
                   .normal = to_eigen(s.at.n),
                   .force = to_eigen(W.f) / s.scale,
                   .moment = to_eigen(W.m - cross(s.at.x_a, W.f)) / s.scale,
                   .depth = s.depth});
  }
}

}  // namespace scree
