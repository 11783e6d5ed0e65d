// Derivatives of a step by the implicit function theorem.                                           theory section 10
//
// A stage has found delta, w with   min K(delta)  subject to  G(delta, w) = 0,  w in its polytopes. With the weights
// that may change (`free`) and the contacts that use up their polytope (`full`), and multipliers mu, lambda, that is
//   grad K + J^T mu = 0,   B^T mu + lambda = 0,   G = 0,   sum of w = 1 of full contacts              theory (10.1)
// and the derivative of the solution follows from a linear system, theory (10.3). Its matrix and right sides need
// second derivatives of G. All functions in (10.1) are explicit and smooth at a given active set, so these are central
// differences of them, not of the solver.
//
// Step of the differences: 1e-7 m or rad of displacement. Rounding: poses are off by 1e-16 L, L ~ 1 m the size of the
// robot, so differences by 1e-16/1e-7 = 1e-9 of their size. Truncation: a term that varies over the length l is off by
// (1e-7/l)^2/6: 1e-15 for the robot, 2e-9 for a contact 1 mm deep. Together about 1e-8. Position based, velocities are
// differences of poses, and those of light links suffer: the ratio of masses times the number of substeps, 1e3, more
// rounding. There the step is 1e-6, at 1e-7 of truncation for a contact 1 mm deep and 1e-6 of rounding at the worst.
//
// Everything goes forward in time along columns: one column for each number that the step is differentiated by holds
// the tangent of the state, of the loads and of what the stages found. A later explicit map is differentiated by moving
// all that it depends on along the column at once.                                                     theory (10.5)
#include "scree/derivatives.h"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>

#include "integrators/traits.h"
#include "integrators/workspace.h"
#include "scree/error.h"
#include "scree/kinematics.h"

namespace scree {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kStep = 1e-7, kLongStep = 1e-6;  // [m, rad] of displacement
constexpr double kTorque = 1e-4;      // [1/(N m)]: displacements are differenced by 1e-7, torques by 1e-3 N m
constexpr double kRelative = 1e-6;    // of a load or a parameter of the law
constexpr double kFull = 1 - 1e-9;    // sum of weights of a contact that uses all its polytope offers, as ContactSet
constexpr double kUsed = 1e-10;       // a weight that counts as positive
constexpr double kFlat = 1e-6;        // a multiplier below this part of its scale counts as zero     theory (10.2)
constexpr double kRank = 1e-7;        // curvatures below this part of the largest: forces that nothing determines
constexpr double kDepthScale = 0.01;  // [m] of margins
constexpr double kRateScale = 0.1;    // [rad/s, m/s] likewise, of joints that slide against dry friction

double largest(const MatrixXd& m, Index column) { return m.rows() > 0 ? m.col(column).cwiseAbs().maxCoeff() : 0; }

class Differentiator {
 public:
  Differentiator(const Model& model, const Control& control, const StepOptions& options, const State& state,
                 StepWorkspace::Impl& ws)
      : model_(model),
        control_(control),
        options_(options),
        ws_(ws),
        n_(model.nv()),
        world_(ws.world),
        law_(ws.world.law),
        friction_(ws.world.surface.friction),
        set_(model, world_),
        newton_euler_(model),
        position_based_(model),
        joint_forces_(model),
        start_dynamics_(model),
        start_(state),
        moved_control_(model),
        jacobian_(MatrixXd::Zero(n_, n_)),
        hessian_(jacobian_),
        unwanted_(n_) {
    step_ = on_poses() ? kLongStep : kStep;
    if (two_stages()) loads_ = static_cast<Index>(world_.pair_count());
    control_at_ = 2 * n_ + loads_;
    law_at_ = control_at_ + 3 * n_;
    columns_ = law_at_ + 1 + law_->parameter_count();
    if (start_.contact_loads.size() != world_.pair_count()) start_.contact_loads.assign(world_.pair_count(), 0);
    by_q_ = by_v_ = MatrixXd::Zero(n_, columns_);
    by_q_.leftCols(n_).setIdentity();
    by_v_.middleCols(n_, n_).setIdentity();
    by_loads_ = MatrixXd::Zero(static_cast<Index>(world_.pair_count()), columns_);
    by_loads_.middleCols(2 * n_, loads_).setIdentity();
    find_columns();
  }

  void substep(const State& after, double h) {
    h_ = h;
    stages_ = ws_.stages;
    if (stages_.empty())  // without contact there is none to record
      stages_.push_back({ws_.delta, VectorXd(0), {}, ws_.joint_friction.all_sides()});
    by_delta_.assign(stages_.size(), MatrixXd::Zero(n_, columns_));
    by_w_.clear();
    for (const StageRecord& stage : stages_) by_w_.push_back(MatrixXd::Zero(stage.w.size(), columns_));
    for (size_t s = 0; s < stages_.size(); ++s) differentiate(s);
    advance();
    start_ = after;
    if (start_.contact_loads.size() != world_.pair_count()) start_.contact_loads.assign(world_.pair_count(), 0);
  }

  void finish(StepDerivatives& out) const {
    MatrixXd all(2 * n_ + loads_, columns_);
    all << by_q_, by_v_, by_loads_.topRows(loads_);
    out.by_state = all.leftCols(control_at_);
    out.by_target = all.middleCols(control_at_, n_);
    out.by_target_velocity = all.middleCols(control_at_ + n_, n_);
    out.by_torque = all.middleCols(control_at_ + 2 * n_, n_);
    out.by_friction = all.col(law_at_);
    out.by_law = all.rightCols(columns_ - law_at_ - 1);
    out.valid = valid_ && all.allFinite();
    out.margin = margin_;
  }

 private:
  // What (10.1) is made of at a pose.
  struct Parts {
    VectorXd G, slope, turning;  // slope: grad K
    MatrixXd J, B, metric;
  };

  bool two_stages() const { return traits(options_.integrator).stages == 2; }
  bool on_poses() const { return traits(options_.integrator).inertia == Inertia::poses; }
  Discretisation& dynamics() {
    if (on_poses()) return position_based_;
    return newton_euler_;
  }

  // Columns that have no effect: control of joints without gains, the law without contact, pairs without load.
  void find_columns() {
    matters_.assign(static_cast<size_t>(columns_), false);
    const auto mark = [&](Index column, bool matters) { matters_[static_cast<size_t>(column)] = matters; };
    for (Index k = 0; k < 2 * n_; ++k) mark(k, true);
    for (const Joint& joint : model_.joints()) {
      const int nv = velocity_count(joint.type);
      if (nv != 1 && joint.type != JointType::ball) continue;
      for (Index a = joint.v_index; a < joint.v_index + nv; ++a) {
        mark(control_at_ + a, control_.kp(joint.v_index) > 0);
        mark(control_at_ + n_ + a, control_.kd(a) > 0);
        mark(control_at_ + 2 * n_ + a, true);
      }
    }
    for (Index k = 0; k < loads_; ++k) mark(2 * n_ + k, start_.contact_loads[static_cast<size_t>(k)] > 0);
    for (Index k = law_at_; k < columns_; ++k) mark(k, world_.pair_count() > 0);
  }

  // Displacement [m, rad], or what does as much, per unit of a column as seen by stage s.
  double reach(Index c, size_t s) const {
    double most = std::max(largest(by_q_, c), h_ * largest(by_v_, c));
    for (const MatrixXd& rates : by_rates_) most = std::max(most, h_ * largest(rates, c));
    for (size_t k = 0; k < s; ++k) most = std::max(most, largest(by_delta_[k], c));
    if (c < 2 * n_) return most;
    const auto relative = [&](double value) { return std::max(most, step_ / (kRelative * (value > 0 ? value : 1))); };
    if (c < control_at_) return relative(start_.contact_loads[static_cast<size_t>(c - 2 * n_)]);
    if (c < control_at_ + n_) return std::max(most, 1.0);
    if (c < control_at_ + 2 * n_) return std::max(most, h_);
    if (c < law_at_) return std::max(most, kTorque);
    if (c == law_at_) return relative(friction_);
    return relative(std::abs(law_->parameter(static_cast<int>(c - law_at_ - 1))));
  }

  // Begins stage s of the substep whose data are moved by `step` along a column.
  bool begin(Index c, double step, size_t s) {
    stage_ = s;
    moved_ = start_;
    moved_.q = integrate_position(model_, start_.q, by_q_.col(c), step);
    moved_.v += step * by_v_.col(c);
    for (size_t i = 0; i < moved_.contact_loads.size(); ++i)
      moved_.contact_loads[i] += step * by_loads_(static_cast<Index>(i), c);
    // A first substep may have rates that another integrator left, which depend on nothing here.
    for (size_t i = 0; i < std::min(moved_.body_rates.size(), by_rates_.size()); ++i)
      moved_.body_rates[i] += step * Eigen::Map<const Mat34>(by_rates_[i].col(c).data());
    world_.law = law_;
    world_.surface.friction = friction_ + (c == law_at_ ? step : 0);
    if (const int k = static_cast<int>(c - law_at_ - 1); k >= 0 && step != 0)
      world_.law = law_->with_parameter(k, law_->parameter(k) + step);

    moved_control_ = control_;
    const bool last = s + 1 == stages_.size();
    if (control_.motion)
      control_.motion->sample(start_.time + (last ? 1 : kGamma) * h_, moved_control_.target,
                              moved_control_.target_velocity);
    const Index a = c - control_at_;
    if (a >= 0 && a < n_)
      moved_control_.target = integrate_position(model_, moved_control_.target, VectorXd::Unit(n_, a), step);
    if (a >= n_ && a < 2 * n_) moved_control_.target_velocity(a - n_) += step;
    if (a >= 2 * n_ && a < 3 * n_) moved_control_.torque(a - 2 * n_) += step;

    if (!two_stages()) {
      dynamics().begin(moved_, h_, world_.gravity);
      set_.select(stages_[s].picks, false);
      return true;
    }
    dynamics().begin_first(moved_, h_, world_.gravity);
    set_.select(stages_[0].picks, false);
    if (s == 0) return true;
    // As substep_nmdp2.
    // theory (9.3), (9.5), (9.10)
    const VectorXd delta = stages_[0].delta + step * by_delta_[0].col(c), w = stages_[0].w + step * by_w_[0].col(c);
    dynamics().set_trial(delta.data());
    set_.evaluate(dynamics().trial());
    unwanted_.setZero();
    start_dynamics_.set_position(moved_.q);
    set_.take_out_impacts(dynamics(), w, moved_, DynamicsAccess::impl(start_dynamics_).body_twists(moved_.v.data()),
                          unwanted_);
    if (!unwanted_.isZero(0) && !dynamics().divide_by_mass(unwanted_.data())) return false;
    if (!dynamics().begin_second(unwanted_.data())) return false;
    set_.select(stages_[1].picks, true);
    return true;
  }

  // Inertia and joint forces at the pose `delta`, and their derivative.
  void without_contact(const VectorXd& delta, VectorXd& G, MatrixXd* J) {
    dynamics().set_trial(delta.data());
    dynamics().residual(G.data());
    double potential = 0;
    if (!J) {
      joint_forces_.add_implicit(moved_control_, joint_stage(dynamics(), stages_[stage_].friction_sides.data()),
                                 delta.data(), potential, G.data(), nullptr);
      return;
    }
    J->setZero(n_, n_);
    dynamics().jacobian(J->data());
    hessian_.setZero();
    joint_forces_.add_implicit(moved_control_, joint_stage(dynamics(), stages_[stage_].friction_sides.data()),
                               delta.data(), potential, G.data(), hessian_.data());
    J->triangularView<Eigen::Upper>() += hessian_;
    J->triangularView<Eigen::StrictlyLower>() += hessian_.transpose();
  }

  // The parts of (10.1) in the stage begun; G alone unless `all`.
  void evaluate(const VectorXd& delta, const VectorXd& w, bool all, Parts& out) {
    out.G.resize(n_);
    if (all) {  // the metric of K is that of the pose where the bodies coast to, theory (8.4)
      VectorXd coasting;
      dynamics().coasting(coasting);
      without_contact(coasting, out.G, &jacobian_);
      out.metric = 0.5 * (jacobian_ + jacobian_.transpose());
      out.turning = (out.metric - jacobian_) * dynamics().moved();
    }
    without_contact(delta, out.G, all ? &out.J : nullptr);
    set_.evaluate(dynamics().trial());
    set_.add_forces(dynamics().trial(), w, out.G.data());
    if (!all) return;
    set_.add_jacobian(dynamics().trial(), w, out.J.data());
    out.B.resize(n_, set_.weight_count());
    set_.force_columns(dynamics().trial(), out.B);
    out.slope.resize(n_);
    switch (options_.dissipation) {
      case Dissipation::contact: {
        VectorXd u(3 * set_.size());
        MatrixXd U(3 * set_.size(), n_);
        set_.velocities(dynamics(), u);
        set_.velocity_rows(dynamics(), U);
        out.slope = U.transpose() * u;
        break;
      }
      case Dissipation::total:
        dynamics().kinetic_gradient(out.slope.data());
        break;
      case Dissipation::effective:
        out.slope = out.metric * dynamics().moved() + out.turning;
        break;
    }
  }

  // Twice the energy [J] that multipliers are measured by: of coasting, and of what gravity adds.   theory (10.2)
  double energy_scale(const Parts& parts) {
    const VectorXd coast = dynamics().h() * dynamics().joint_coast();
    const double fall = world_.gravity.norm() * dynamics().h(), mass = model_.total_mass();
    const double energy = std::abs(coast.dot(parts.metric * coast)) + mass * fall * fall;
    return options_.dissipation == Dissipation::contact ? energy / mass : energy;
  }

  // The active set of a stage.
  struct Active {
    std::vector<Index> free;  // weights that may change
    std::vector<Index> full;  // by free weight: which full contact, -1: none
    Index full_count = 0;
  };

  // Which weights may change, and how far the others are from it.                              theory (10.2), (10.6)
  Active find_active(const VectorXd& w, const Parts& parts, const MatrixXd& Z, const VectorXd& g) {
    Active active;
    const double energy = energy_scale(parts);
    const Index V = set_.vertex_count();
    for (int x = 0; x < set_.size(); ++x) {
      note_margin(std::abs(set_.depth(x)) / kDepthScale);
      if (!set_.can_push(x)) continue;
      const Index first = x * V;
      const double sum = w.segment(first, V).sum();
      const bool full = sum >= kFull;
      const double lambda = full ? -g.segment(first, V).dot(w.segment(first, V)) : 0;
      std::vector<Index> free;
      double scale = 0;
      for (Index j = first; j < first + V; ++j) {
        const double scale_j = std::sqrt(std::abs(Z.col(j).dot(parts.metric * Z.col(j))) * energy);
        if (!(scale_j > 0)) continue;
        scale = std::max(scale, scale_j);
        const double multiplier = g(j) + lambda;
        if (w(j) > kUsed || multiplier <= kFlat * scale_j)
          free.push_back(j);
        else
          note_margin(multiplier / scale_j);
      }
      note_margin(full ? lambda / scale : 1 - sum);
      note_margin(inside(w, parts.B, free, sum));
      for (const Index j : free) {
        active.free.push_back(j);
        active.full.push_back(full ? active.full_count : -1);
      }
      active.full_count += full ? 1 : 0;
    }
    return active;
  }

  // Joints that stick are so far from sliding, as a part of their friction; those that slide from sticking, by rate.
  // theory (10.6)
  void note_friction(const StageRecord& stage) {
    for (const JointFriction::Dry& joint : ws_.joint_friction.joints()) {
      const double rate = (stage.delta(joint.dof) - dynamics().joint_rest()(joint.dof)) / dynamics().h();
      const bool sticks = stage.friction_sides[static_cast<size_t>(joint.dof)] == 0;
      note_margin(sticks ? 1 - std::abs(rate) / kJointCreep : (std::abs(rate) - kJointCreep) / kRateScale);
    }
  }

  void note_margin(double margin) { margin_ = std::min(margin_, std::max(0.0, margin)); }

  // How far inside the polytope of its free weights a force is: a lower bound, within a factor of four, of the largest
  // part that every one of them can have while the force stays the same. Alternating projections onto weights of at
  // least t and onto those with the same force.
  static double inside(const VectorXd& w, const MatrixXd& B, const std::vector<Index>& free, double sum) {
    const Index count = static_cast<Index>(free.size());
    if (count == 0) return 1;
    if (!(sum > 0)) return 0;
    MatrixXd forces(B.rows() + 1, count);
    VectorXd found(count);
    for (Index k = 0; k < count; ++k) {
      forces.col(k).head(B.rows()) = B.col(free[static_cast<size_t>(k)]);
      found(k) = w(free[static_cast<size_t>(k)]) / sum;
    }
    forces.topRows(B.rows()) /= std::max(forces.topRows(B.rows()).norm(), 1e-300);
    forces.row(B.rows()).setOnes();
    Eigen::CompleteOrthogonalDecomposition<MatrixXd> decomposition;
    decomposition.setThreshold(kRank);
    decomposition.compute(forces);
    const MatrixXd same = MatrixXd::Identity(count, count) - decomposition.pseudoInverse() * forces;
    for (double part = 1; part > 1e-4; part *= 0.5) {
      const double least = part / static_cast<double>(count);
      VectorXd trial = found;
      for (int k = 0; k < 50; ++k) {
        if (trial.minCoeff() >= 0.5 * least) return 0.5 * part;
        const VectorXd change = trial.cwiseMax(least) - found;
        trial = found + same * change;
      }
    }
    return std::max(0.0, found.minCoeff()) * static_cast<double>(count);
  }

  // d(delta, w) of stage s along all columns.                                             theory (10.3), (10.4)
  void differentiate(size_t s) {
    const StageRecord& stage = stages_[s];
    Parts base, ahead, behind;
    if (!begin(0, 0, s)) return fail();
    evaluate(stage.delta, stage.w, true, base);
    note_friction(stage);
    const Eigen::PartialPivLU<MatrixXd> lu(base.J);
    const VectorXd mu = lu.transpose().solve(-base.slope);
    const bool near = base.B.cols() > 0;  // the ground; Eigen's products want at least one column
    const MatrixXd Z_all = near ? MatrixXd(-lu.solve(base.B)) : base.B;
    const Active active = near ? find_active(stage.w, base, Z_all, base.B.transpose() * mu) : Active();
    const Index count = static_cast<Index>(active.free.size());
    const bool forces = count > 0;
    const auto free_columns = [&](const MatrixXd& all) {
      MatrixXd out(n_, count);
      for (Index k = 0; k < count; ++k) out.col(k) = all.col(active.free[static_cast<size_t>(k)]);
      return out;
    };

    // d(grad K + J^T mu) and d(B^T mu): by delta, and along the columns with delta and w held.
    MatrixXd H(n_, n_), C(n_, count);
    const auto difference = [&](double step, VectorXd& first, VectorXd& second) {
      first = ((ahead.slope - behind.slope) + (ahead.J - behind.J).transpose() * mu) / (2 * step);
      second = (free_columns(ahead.B) - free_columns(behind.B)).transpose() * mu / (2 * step);
    };
    VectorXd first, second;
    for (Index a = 0; forces && a < n_; ++a) {
      evaluate(stage.delta + step_ * VectorXd::Unit(n_, a), stage.w, true, ahead);
      evaluate(stage.delta - step_ * VectorXd::Unit(n_, a), stage.w, true, behind);
      difference(step_, first, second);
      H.col(a) = first;
      C.row(a) = second.transpose();
    }
    MatrixXd by_first = MatrixXd::Zero(n_, columns_), by_second = MatrixXd::Zero(count, columns_), by_G = by_first;
    for (Index c = 0; c < columns_; ++c) {
      if (!matters_[static_cast<size_t>(c)]) continue;
      const double step = step_ / reach(c, s);
      if (!begin(c, step, s)) return fail();
      evaluate(stage.delta, stage.w, forces, ahead);
      if (!begin(c, -step, s)) return fail();
      evaluate(stage.delta, stage.w, forces, behind);
      by_G.col(c) = (ahead.G - behind.G) / (2 * step);
      if (!forces) continue;
      difference(step, first, second);
      by_first.col(c) = first;
      by_second.col(c) = second;
    }

    const MatrixXd at_rest = -lu.solve(by_G);  // with w held
    by_delta_[s] = at_rest;
    if (!forces) return;
    const MatrixXd Z = free_columns(Z_all);
    const MatrixXd right = -(by_second + C.transpose() * at_rest + Z.transpose() * (by_first + H * at_rest));
    const MatrixXd by_free = solve_weights(Z, H, C, base.metric, active, right);
    by_delta_[s] += Z * by_free;
    for (Index k = 0; k < count; ++k) by_w_[s].row(active.free[static_cast<size_t>(k)]) = by_free.row(k);
  }

  // The weights' part of the system: S dw + lambda = right, the sum of dw of full contacts zero. Weights are measured
  // by what they move, and where forces do not determine them the smallest change is taken.              theory (10.4)
  MatrixXd solve_weights(const MatrixXd& Z, const MatrixXd& H, const MatrixXd& C, const MatrixXd& metric,
                         const Active& active, const MatrixXd& right) {
    const Index count = Z.cols(), fixed = active.full_count;
    const MatrixXd half = Z.transpose() * (0.5 * H * Z + C);
    VectorXd unit(count);  // one over the size of a weight
    for (Index k = 0; k < count; ++k) unit(k) = 1 / std::sqrt(std::abs(Z.col(k).dot(metric * Z.col(k))));
    const MatrixXd S = unit.asDiagonal() * (half + half.transpose()) * unit.asDiagonal();
    MatrixXd keep = MatrixXd::Identity(count, count);  // projects onto changes that keep the sums
    for (Index x = 0; x < fixed; ++x) {
      VectorXd sum = VectorXd::Zero(count);
      for (Index k = 0; k < count; ++k)
        if (active.full[static_cast<size_t>(k)] == x) sum(k) = unit(k);
      sum.normalize();
      keep -= sum * sum.transpose();
    }
    const MatrixXd kept = keep * S * keep;
    const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(kept);
    const MatrixXd turned = eigen.eigenvectors().transpose() * (keep * (unit.asDiagonal() * right));
    const VectorXd& values = eigen.eigenvalues();
    const double rank = kRank * std::max(1.0, values.cwiseAbs().maxCoeff());
    MatrixXd solution = MatrixXd::Zero(turned.rows(), turned.cols());
    for (Index k = 0; k < values.size(); ++k) {
      if (values(k) < -rank) valid_ = false;  // no minimum
      if (std::abs(values(k)) > rank) solution.row(k) = turned.row(k) / values(k);
    }
    return unit.asDiagonal() * (eigen.eigenvectors() * solution);
  }

  // The state at the end of the substep along all columns.                                            theory (10.5)
  void advance() {
    const size_t s = stages_.size() - 1;
    MatrixXd by_q = MatrixXd::Zero(n_, columns_), by_v = by_q;
    MatrixXd by_loads = MatrixXd::Zero(by_loads_.rows(), columns_);
    std::vector<MatrixXd> by_rates;
    State end[2];
    for (Index c = 0; c < columns_; ++c) {
      if (!matters_[static_cast<size_t>(c)]) continue;
      const double step = step_ / reach(c, stages_.size());
      for (int side = 0; side < 2; ++side) {
        const double along = side == 0 ? -step : step;
        if (!begin(c, along, s)) return fail();
        const VectorXd delta = stages_[s].delta + along * by_delta_[s].col(c),
                       w = stages_[s].w + along * by_w_[s].col(c);
        dynamics().set_trial(delta.data());
        end[side] = moved_;
        if (!dynamics().accept(end[side])) return fail();
        set_.evaluate(dynamics().trial());
        set_.store(w, end[side]);
      }
      by_q.col(c) = position_difference(model_, end[0].q, end[1].q) / (2 * step);
      by_v.col(c) = (end[1].v - end[0].v) / (2 * step);
      for (size_t i = 0; i < end[0].contact_loads.size(); ++i)
        by_loads(static_cast<Index>(i), c) = (end[1].contact_loads[i] - end[0].contact_loads[i]) / (2 * step);
      by_rates.resize(end[0].body_rates.size(), MatrixXd::Zero(12, columns_));
      for (size_t i = 0; i < by_rates.size(); ++i)
        Eigen::Map<Mat34>(by_rates[i].col(c).data()) = (end[1].body_rates[i] - end[0].body_rates[i]) / (2 * step);
    }
    by_q_ = by_q;
    by_v_ = by_v;
    by_loads_ = by_loads;
    by_rates_ = by_rates;
  }

  void fail() { valid_ = false; }

  const Model& model_;
  const Control& control_;
  const StepOptions& options_;
  StepWorkspace::Impl& ws_;
  const Index n_;
  double step_ = 0;  // [m, rad] of displacement that differences move by
  // Columns: dq, v, loads (of two stages), then target, target velocity, torque, then friction and parameters of the
  // law.
  Index loads_ = 0, control_at_ = 0, law_at_ = 0, columns_ = 0;
  World world_;  // its law moves
  std::shared_ptr<const ContactLaw> law_;
  double friction_;
  ContactSet set_;
  NewtonEulerStage newton_euler_;
  PositionBasedStage position_based_;
  JointForces joint_forces_;
  Dynamics start_dynamics_;

  // The substep at hand.
  State start_;
  double h_ = 0;
  std::vector<StageRecord> stages_;
  size_t stage_ = 0;  // the one that has begun
  std::vector<bool> matters_;
  MatrixXd by_q_, by_v_, by_loads_;        // tangents at its start
  std::vector<MatrixXd> by_rates_;         // likewise, of body_rates
  std::vector<MatrixXd> by_delta_, by_w_;  // by stage

  // Scratch.
  State moved_;
  Control moved_control_;
  MatrixXd jacobian_, hessian_;
  VectorXd unwanted_;

  bool valid_ = true;
  double margin_ = 1;
};

void check(const StepOptions& options, const State& state) {
  switch (traits(options.integrator).derivatives) {
    case HasDerivatives::yes:
      return;
    case HasDerivatives::without_history:
      if (state.body_rates.empty()) return;
      throw InputError(fmt::format(
          "derivatives: integrator \"{}\" and a state with the body_rates of an earlier step, expected a state without "
          "(the step would depend on more than q and v), or one of: {}",
          integrator_name(options.integrator),
          names_of_integrators([](const auto& row) { return row.derivatives == HasDerivatives::yes; })));
    case HasDerivatives::no:
      throw InputError(fmt::format(
          "derivatives: integrator \"{}\" has none, expected one of: {}", integrator_name(options.integrator),
          names_of_integrators([](const auto& row) { return row.derivatives != HasDerivatives::no; })));
  }
}

}  // namespace

StepReport step_with_derivatives(const Model& model, const Control& control, const StepOptions& options, State& state,
                                 StepWorkspace& workspace, StepDerivatives& derivatives) {
  check(options, state);
  StepWorkspace::Impl& ws = WorkspaceAccess::impl(workspace);
  derivatives.valid = false;
  derivatives.margin = 0;
  Differentiator differentiator(model, control, options, state, ws);
  struct Watch {  // until the step is done, whatever happens
    StepWorkspace::Impl& ws;
    ~Watch() { ws.on_substep = nullptr; }
  } watch{ws};
  ws.on_substep = [&](const State& after, double h) { differentiator.substep(after, h); };
  const StepReport report = step(model, control, options, state, workspace);
  if (report.converged()) differentiator.finish(derivatives);
  return report;
}

}  // namespace scree
