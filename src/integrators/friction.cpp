#include "integrators/friction.h"

#include <lbfgs.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "integrators/substeps.h"
#include "integrators/workspace.h"
#include "math/eigen.h"

namespace scree {

constexpr int kMostChanges = 20;  // changes of the sides of joint friction

FrictionSolver::FrictionSolver(const Model& model, const World& world)
    : ModelLaneHost(model, world, 1),
      setup_(make_lane_setup(model, world)),
      stage_(setup_),
      n_(static_cast<size_t>(model.nv())),
      cholesky_(tree_of(model).parent) {
  for (std::vector<double>* x :
       {&from_.delta, &from_.gradient, &trial_, &step_, &scale_, &by_depth_, &by_slip_, &by_side_})
    x->assign(n_, 0);
  path_.reserve(n_);
  for (std::vector<double>* x : {&hessian_, &shift_, &shifted_}) x->assign(n_ * n_, 0);
  stage_.want_gauss_newton = true;
}

// --- a substep -------------------------------------------------------------------------------------------------------

void FrictionSolver::load_control(const Control& control) {
  std::copy(control.kp.begin(), control.kp.end(), stage_.kp.begin());
  std::copy(control.kd.begin(), control.kd.end(), stage_.kd.begin());
  std::copy(control.torque.begin(), control.torque.end(), stage_.torque.begin());
  std::copy(control.target.begin(), control.target.end(), stage_.target.begin());
  std::copy(control.target_velocity.begin(), control.target_velocity.end(), stage_.target_velocity.begin());
}

FrictionResult FrictionSolver::substep(ControlSource& control, const StepOptions& options, double h, State& state,
                                       std::vector<Contact>& contacts) {
  update_setup(options, world_, setup_);
  energy_ = setup_.law.friction == FrictionLaw::energy;
  stage_.coefficients = smooth_coefficients(pairs_, world_.surface.friction, world_.smooth);
  std::copy(state.q.begin(), state.q.end(), stage_.q.begin());
  std::copy(state.v.begin(), state.v.end(), stage_.v.begin());
  stage_.has_rates = !state.body_rates.empty();
  for (size_t i = 0; i < state.body_rates.size(); ++i) {
    stage_.rate_R[i] = to_m3(state.body_rates[i].leftCols<3>());
    stage_.rate_p[i] = to_v3(state.body_rates[i].col(3));
  }
  stage_.substep = h;

  FrictionResult result;
  load_control(control.at(setup_.two_stages ? kGamma * h : h));
  stage_.start(*this);
  stage_.begin(true);
  if (!solve_stage(options, result)) return result;
  if (setup_.two_stages) {
    load_control(control.at(h));
    if (!stage_.begin_second(true) || !solve_stage(options, result)) return result;
  }
  if (!stage_.finish(true, *this)) return result;
  result.converged = true;

  std::copy(stage_.q.begin(), stage_.q.end(), state.q.begin());
  std::copy(stage_.v.begin(), stage_.v.end(), state.v.begin());
  state.body_rates.resize(setup_.two_stages ? 0 : model_.bodies().size());
  for (size_t i = 0; i < state.body_rates.size(); ++i)
    state.body_rates[i] << to_eigen(stage_.rate_R[i]), to_eigen(stage_.rate_p[i]);
  contacts.clear();
  contacts_ = &contacts;
  int count = 0;
  double deepest = 0;
  stage_.report_contacts(0, this, count, deepest);
  return result;
}

void FrictionSolver::touches(int pair, const V3<double>& position, const V3<double>& normal, const V3<double>& force,
                             double depth) {
  contacts_->push_back(contact(pair, position, normal, force, depth));
}

// Leaves the stage at its solution. Whatever an optimiser says, |R| decides.
bool FrictionSolver::solve_stage(const StepOptions& options, FrictionResult& result) {
  ++result.stages;
  std::copy(stage_.guess.begin(), stage_.guess.end(), trial_.begin());
  stage_.find_friction_sides(0, trial_.data());
  evaluate(trial_);
  stage_.scale(true);
  keep();
  bool solved = std::isfinite(from_.value) && std::isfinite(stage_.merit()) && stage_.within_chart();
  SideSearch friction;  // of joints
  const int most = kMostChanges + 2 * model_.nv();
  for (int changes = 0; solved; ++changes) {
    if (!stage_.small(options.tolerance))
      solved = options.optimizer == Optimizer::lbfgs ? minimise_by_lbfgs(options, result)
                                                     : minimise_by_newton(options, result);
    if (!solved || !stage_.move_friction_sides(0, friction)) break;
    solved = changes < most;
    evaluate(trial_);
    keep();
  }
  result.residual = stage_.largest_residual();
  return solved && stage_.within_chart() && stage_.turned_little() && stage_.small(options.tolerance);
}

void FrictionSolver::evaluate(const std::vector<double>& delta) { stage_.evaluate(delta.data(), *this); }

void FrictionSolver::keep() {
  from_.delta = trial_;
  from_.gradient = stage_.residual;
  from_.value = stage_.value;
}

// Differences of energies drown in rounding long before the residual is as small as asked for. Near the end they are
// taken from the gradients, by the trapezium rule: its error is of third order in the step.
double FrictionSolver::fall() const {
  constexpr double kSmallChange = 1e-10;
  const double change = stage_.value - from_.value;
  if (std::abs(change) > kSmallChange * (std::abs(stage_.value) + std::abs(from_.value))) return -change;
  double sum = 0;
  for (size_t a = 0; a < n_; ++a) sum += (from_.gradient[a] + stage_.residual[a]) * (trial_[a] - from_.delta[a]);
  return -0.5 * sum;
}

// --- Newton's method on E --------------------------------------------------------------------------------------------

// Upper triangle of the Hessian of E at the last trial, exact or its positive semidefinite part: inertia without
// curvature, springs that pull back, contact less its negative eigenvalue.                              theory (11.12)
// shift_ gets what lambda multiplies, inertia and springs, in place of the unit matrix of the paper's eq. 14: dofs have
// different units.
void FrictionSolver::hessian(bool exact) {
  stage_.jacobian();
  const std::vector<double>& gauss_newton = stage_.gauss_newton();
  for (size_t b = 0; b < n_; ++b) {
    const int k = static_cast<int>(b);
    for (int e = 0; e <= stage_.depth(k); ++e) {
      const size_t from = b * n_ + static_cast<size_t>(e), to = b * n_ + static_cast<size_t>(stage_.ancestor(k, e));
      shift_[to] = gauss_newton[from];
      // Symmetric but where the ground is curved (SmoothStage::add_rolling_change).
      hessian_[to] = exact ? 0.5 * (stage_.row[from] + stage_.column[from]) : gauss_newton[from];
    }
    const double spring = std::max(0.0, stage_.joint_curvature()[b]);
    shift_[b * n_ + b] += spring;
    if (!exact) hessian_[b * n_ + b] += spring;
  }
  if (exact) return;
  for (size_t j = 0; j < setup_.joints.size(); ++j) {
    if (!setup_.joints[j].ball) continue;
    const size_t first = static_cast<size_t>(setup_.joints[j].v_index);
    const Mat3 H = Eigen::Map<const Mat3>(stage_.ball_block(j).H).selfadjointView<Eigen::Upper>();
    const Eigen::SelfAdjointEigenSolver<Mat3> eigen(H);
    const Mat3 positive =
        eigen.eigenvectors() * eigen.eigenvalues().cwiseMax(0).asDiagonal() * eigen.eigenvectors().transpose();
    for (size_t b = 0; b < 3; ++b)
      for (size_t a = 0; a <= b; ++a)
        hessian_[(first + b) * n_ + first + a] += positive(static_cast<int>(a), static_cast<int>(b));
  }
  add_contact_hessian();
}

// By depth d and the displacement y of the point along and across its slip, a contact's energy has the second
// derivatives [N_d, g_d |u|; g_d |u|, (g + 2 g_s |u|^2)/h] and g/h.
void FrictionSolver::add_contact_hessian() {
  const Kinematics<double>& kin = stage_.trial();
  const double h = stage_.stage_h;
  for (const SmoothStage<double>::Touch& t : stage_.touches()) {
    if (!(t.depth > 0)) continue;
    const LanePair& point = setup_.pairs[static_cast<size_t>(t.pair)];
    const size_t node = static_cast<size_t>(point.node);
    if (setup_.tree->last_dof[node] < 0) continue;
    const double speed = std::sqrt(dot(t.force.u_t, t.force.u_t));
    V3<double> along = (1 / speed) * t.force.u_t;
    if (!(speed > 1e-12)) {
      const V3<double> other = std::abs(t.normal.x) < 0.5 ? V3<double>{1, 0, 0} : V3<double>{0, 1, 0};
      const V3<double> side = cross(t.normal, other);
      along = (1 / std::sqrt(dot(side, side))) * side;
    }
    const V3<double> across = cross(t.normal, along);
    Eigen::Matrix2d H;
    H << t.force.N_d, t.force.g_d * speed, t.force.g_d * speed, (t.force.g + 2 * t.force.g_s * speed * speed) / h;
    Eigen::SelfAdjointEigenSolver<Eigen::Matrix2d> eigen;
    eigen.computeDirect(H);
    H = eigen.eigenvectors() * eigen.eigenvalues().cwiseMax(0).asDiagonal() * eigen.eigenvectors().transpose();
    const double side = t.force.g / h;

    const M3<double> Q = stage_.to_rest(node);
    path_.clear();
    for_coordinates(*setup_.tree, kin, node, [&](size_t coordinate, const Twist<double>& xi) {
      const V3<double> dc = xi.v + cross(xi.w, t.c);
      V3<double> dy = dc;
      if (point.radius > 0) {
        V3<double> over = cross(t.normal, xi.w);  // minus what the point moves over the body, by the radius
        if (t.curved) {
          const V3<double> turn = t.curvature * dc;
          dy = dy - point.radius * turn;
          over = over + turn;
        }
        dy = dy + point.radius * (Q * over);
      }
      const size_t at = path_.size();
      path_.push_back(coordinate);
      by_depth_[at] = -dot(t.normal, dc), by_slip_[at] = dot(along, dy), by_side_[at] = dot(across, dy);
    });
    for (size_t b = 0; b < path_.size(); ++b) {
      const double y_depth = H(0, 0) * by_depth_[b] + H(0, 1) * by_slip_[b];
      const double y_slip = H(1, 0) * by_depth_[b] + H(1, 1) * by_slip_[b], y_side = side * by_side_[b];
      for (size_t a = b; a < path_.size(); ++a)
        hessian_[std::max(path_[a], path_[b]) * n_ + std::min(path_[a], path_[b])] +=
            by_depth_[a] * y_depth + by_slip_[a] * y_slip + by_side_[a] * y_side;
    }
  }
}

// Levenberg-Marquardt: steps -(H + lambda S)^-1 R, lambda tenfold where the energy does not fall, a tenth where it
// does.
bool FrictionSolver::minimise_by_newton(const StepOptions& options, FrictionResult& result) {
  constexpr double kFirst = 1e-3, kLeast = 1e-7, kMost = 1e9;  // lambda
  constexpr double kEnough = 1e-4;                             // of the fall that the slope promises (Armijo)
  double lambda = 0;
  for (int k = 0; k < options.max_iterations; ++k) {
    hessian(options.optimizer == Optimizer::lm);
    ++result.iterations;
    bool accepted = false, damped = lambda > 0;
    while (!accepted && lambda <= kMost) {
      const std::vector<double>* matrix = &hessian_;
      if (lambda > 0) {
        for (size_t i = 0; i < hessian_.size(); ++i) shifted_[i] = hessian_[i] + lambda * shift_[i];
        matrix = &shifted_;
      }
      if (cholesky_.factor(matrix->data())) {
        for (size_t a = 0; a < n_; ++a) step_[a] = -from_.gradient[a];
        cholesky_.solve(step_.data());
        double slope = 0;
        for (size_t a = 0; a < n_; ++a) {
          slope += step_[a] * from_.gradient[a];
          trial_[a] = from_.delta[a] + step_[a];
        }
        if (slope < 0) {
          evaluate(trial_);
          accepted = stage_.within_chart() && (stage_.small(options.tolerance) || fall() >= -kEnough * slope);
        }
      }
      if (accepted) break;
      damped = true;
      lambda = lambda > 0 ? 10 * lambda : kFirst;
    }
    result.damped += damped ? 1 : 0;
    if (!accepted) return false;
    if (stage_.small(options.tolerance)) return true;
    keep();
    lambda = lambda > kLeast ? 0.1 * lambda : 0;
  }
  return false;
}

// --- L-BFGS ----------------------------------------------------------------------------------------------------------

// J^T W R at the last trial; the Jacobian is left in the stage.
void FrictionSolver::merit_gradient(double* out) {
  stage_.jacobian();
  std::fill(out, out + n_, 0.0);
  for (size_t b = 0; b < n_; ++b) {
    const int k = static_cast<int>(b);
    const double r_b = stage_.weights[b] * stage_.residual[b];
    for (int e = 0; e <= stage_.depth(k); ++e) {
      const size_t a = static_cast<size_t>(stage_.ancestor(k, e)), at = b * n_ + static_cast<size_t>(e);
      out[b] += stage_.column[at] * stage_.weights[a] * stage_.residual[a];
      if (a != b) out[a] += stage_.row[at] * r_b;
    }
  }
}

// The largest cosine between the weighted residual and a column of the Jacobian, as LaneHost::slope.
double FrictionSolver::merit_slope() {
  merit_gradient(step_.data());
  std::vector<double>& size = scale_;
  std::fill(size.begin(), size.end(), 0.0);
  for (size_t b = 0; b < n_; ++b) {
    const int k = static_cast<int>(b);
    for (int e = 0; e <= stage_.depth(k); ++e) {
      const size_t a = static_cast<size_t>(stage_.ancestor(k, e)), at = b * n_ + static_cast<size_t>(e);
      size[b] += stage_.column[at] * stage_.column[at] * stage_.weights[a];
      if (a != b) size[a] += stage_.row[at] * stage_.row[at] * stage_.weights[b];
    }
  }
  const double merit = stage_.merit();
  double most = 0;
  for (size_t a = 0; a < n_; ++a)
    if (size[a] > 0) most = std::max(most, std::abs(step_[a]) / std::sqrt(size[a] * merit));
  return most;
}

// Of E: from `from_`, so that its rounding does not count. Infinite where a chart would end.
double FrictionSolver::objective(const double* x, double* gradient) {
  for (size_t a = 0; a < n_; ++a) trial_[a] = scale_[a] * x[a];
  evaluate(trial_);
  double value = 0;
  if (energy_) {
    value = -fall();
    for (size_t a = 0; a < n_; ++a) gradient[a] = stage_.residual[a] * scale_[a];
  } else {
    value = 0.5 * stage_.merit();
    merit_gradient(gradient);
    for (size_t a = 0; a < n_; ++a) gradient[a] *= scale_[a];
  }
  const bool usable = stage_.within_chart() && value <= std::numeric_limits<double>::max();
  if (!usable) std::fill(gradient, gradient + n_, 0.0);
  return usable ? value : std::numeric_limits<double>::infinity();
}

// What liblbfgs is told about.
struct FrictionSolver::Search {
  FrictionSolver& solver;
  double tolerance;
  double base = 0;  // [J] the objective at `from_`
  int iterations = 0;

  static double evaluate(void* self, const double* x, double* gradient, int, double) {
    Search& search = *static_cast<Search*>(self);
    const double value = search.solver.objective(x, gradient);
    return search.solver.energy_ ? search.base + value : value;
  }
  // The last point evaluated is the one accepted.
  static int progress(void* self, const double*, const double*, double value, double, double, double, int, int, int) {
    Search& search = *static_cast<Search*>(self);
    ++search.iterations;
    search.solver.keep();
    search.base = value;
    return search.solver.stage_.small(search.tolerance) ? 1 : 0;
  }
};

// Variables are scaled by the inertia alone, delta_a = x_a h sqrt(1/M_aa), of GE x_a h^2 sqrt(1/M_aa): 15 to 20 % fewer
// iterations on chains. A line search that fails forgets what was learnt and starts again.
bool FrictionSolver::minimise_by_lbfgs(const StepOptions& options, FrictionResult& result) {
  constexpr int kPatience = 20;  // iterations for one of Newton's method: each is cheaper and knows less
  constexpr double kStationary = 1e-6;
  lbfgs_parameter_t parameters;
  lbfgs_parameter_init(&parameters);
  parameters.m = 20;
  parameters.epsilon = 0;  // progress() decides
  parameters.linesearch = LBFGS_LINESEARCH_BACKTRACKING_STRONG_WOLFE;
  parameters.max_linesearch = 60;
  const int most = kPatience * options.max_iterations;
  const double h = stage_.stage_h, unit = energy_ ? h : h * h;
  double* const x = lbfgs_malloc(static_cast<int>(n_));
  if (!x) throw std::bad_alloc();
  Search search{*this, options.tolerance};
  bool go_on = true;
  while (go_on) {
    for (size_t a = 0; a < n_; ++a) {
      scale_[a] = unit * std::sqrt(stage_.weights[a]);
      // Joints that dry friction holds are stiffer than their inertia by far.
      const double stiffer = 1 + h * h * stage_.weights[a] * stage_.friction_stiffness(a);
      if (stiffer > 1) scale_[a] /= energy_ ? std::sqrt(stiffer) : stiffer;
      x[a] = from_.delta[a] / scale_[a];
    }
    const int before = search.iterations;
    parameters.max_iterations = most - before;
    const int status =
        lbfgs(static_cast<int>(n_), x, nullptr, &Search::evaluate, &Search::progress, &search, &parameters);
    trial_ = from_.delta;
    go_on = status < 0 && status != LBFGSERR_MAXIMUMITERATION && search.iterations > before && search.iterations < most;
  }
  lbfgs_free(x);
  result.iterations += search.iterations;
  evaluate(trial_);
  if (stage_.small(options.tolerance)) return true;
  if (!energy_ && !(merit_slope() > kStationary)) ++result.stationary;
  return false;
}

SubstepResult substep_friction(const Control& control, const StepOptions& options, double h, State& state,
                               StepWorkspace::Impl& ws) {
  struct Source final : FrictionSolver::ControlSource {
    Source(const Control& c, double t, StepWorkspace::Impl& w) : control(c), start(t), ws(w) {}
    const Control& at(double after) override { return ws.control_at(control, start + after); }
    const Control& control;
    double start;
    StepWorkspace::Impl& ws;
  } source(control, state.time, ws);
  const FrictionResult r = ws.friction_solver().substep(source, options, h, state, ws.contacts);
  SubstepResult result;
  result.converged = r.converged;
  result.iterations = r.iterations;
  result.stages = r.stages;
  result.damped = r.damped;
  result.stationary = r.stationary;
  result.residual = r.residual;
  return result;
}

}  // namespace scree
