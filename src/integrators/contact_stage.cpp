// The non-convex maximal dissipation principle on a stage.                                             theory section 8
//
//   minimise over w   K(delta)    subject to   G(delta, w) = r(delta) + dU/ddelta - sum_x J_x^T v_x(delta) w_x = 0,
//                                              w_x >= 0, sum w_x <= 1 for every contact x                 theory (8.8)
//
// Two solvers. `descend` is Algorithm 1 of the NMDP paper with its errata: the weights move by a quadratic program in w
// linearised at the current pose, the pose follows by Newton's method on G = 0, a step that does not lower K is taken
// back and the next one is held shorter. `iterate` moves both at once, one factorisation an iteration; where it does
// not end at a solution as good as descent would find, descent from zero forces takes over. One file for both
// discretisations and both orders: at zeroth order the contact set learns the derivative of the law that it is not
// given.
#include "integrators/contact_stage.h"

#include <algorithm>
#include <cmath>

namespace scree {
namespace {

using Impl = StepWorkspace::Impl;

// beta = 2/gamma [J] holds the weights back: on the diagonal of the QP.                                  theory (8.9)
constexpr double kFirstBeta = 1e-4, kSmallestBeta = 1e-9, kLargestBeta = 1e9;
constexpr double kGap = 1e-10, kRelativeGap = 1e-8;  // [J], and of K: when the weights are optimal       theory (8.10)
constexpr double kUsualTolerance = 1e-8;             // [m/s^2] who asks for less gets weights as much better
constexpr int kPatience = 10;  // directions of a zeroth-order projection that may fail in a row, each teaching more
constexpr int kMostIterations = 30;  // of `iterate`: it takes 2 to 10, or wanders
constexpr int kMostMoves = 8;        // of sides of joint friction in a stage, and one for each joint
constexpr double kHold = 1e-9;       // of the largest diagonal entry: holds weights that the forces do not determine
constexpr int kFew = 8;              // points: with more, the forces of one body are many times what moves it
constexpr double kShareOfGap = 0.1;  // that their inner problem may leave
constexpr double kSameBranch = 4;
constexpr double kShare = 0.01;     // of the accuracy asked for
constexpr double kShortest = 0.01;  // [s] shorter stages are solved as well as one of this length
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kMostActive = 2 * ContactSet::kMostWeights;  // weights of points in the ground at once
constexpr double kNear = 0.05;  // [m] a pair this close at the start takes part from the start

using Stage = ContactStage;

// Sides of joint friction: those of where the bodies coast to, and after an iteration those it has led to.
void find_friction_sides(Stage& s) {
  if (s.ws.joint_friction.none()) return;
  s.dynamics.coasting(s.ws.direction);
  s.ws.joint_friction.find(s.ws.direction.data(), s.dynamics.joint_rest().data(), s.dynamics.h());
}
bool move_friction_sides(Stage& s) {
  JointFriction& friction = s.ws.joint_friction;
  const auto add_to_metric = [&](double sign) {  // of Dissipation::effective: what sticks is as stiff as friction is
    for (const JointFriction::Dry& dry : friction.joints())
      s.ws.contact.metric(dry.dof, dry.dof) +=
          sign * dry_friction<double>(0, s.dynamics.h(), dry.friction, friction.sides()[dry.dof]).curvature;
  };
  add_to_metric(-1);
  const bool moved = friction.move(s.ws.delta.data(), s.dynamics.joint_rest().data(), s.dynamics.h());
  add_to_metric(1);
  return moved;
}

// With contact they go in circles or settle soon; without, (5.10) ends, if late.
int most_moves(const Stage& s) {
  const int joints = s.ws.joint_friction.count();
  return s.ws.contact.set.size() > 0 ? kMostMoves + joints : 5 * kMostMoves + 4 * joints;
}

// G(delta, w) into `forces`, stage and contacts being at delta.
void sum_forces(Stage& s, const Eigen::VectorXd& delta, const Eigen::VectorXd& w, Eigen::VectorXd& forces) {
  s.dynamics.residual(forces.data());
  double potential = 0;
  s.ws.joint_forces.add_implicit(s.control, joint_stage(s.dynamics, s.ws.joint_friction.sides()), delta.data(),
                                 potential, forces.data(), nullptr);
  s.ws.contact.set.add_forces(s.dynamics.trial(), w, forces.data());
}

// G(delta, w) into `forces`; leaves stage and contacts at delta.
void evaluate(Stage& s, const Eigen::VectorXd& delta, const Eigen::VectorXd& w, Eigen::VectorXd& forces) {
  s.dynamics.set_trial(delta.data());
  s.ws.contact.set.evaluate(s.dynamics.trial());
  sum_forces(s, delta, w, forces);
}

// Contacts that have come into reach take part from here on.
void add_contacts(Stage& s) {
  ContactScratch& c = s.ws.contact;
  const int before = c.set.weight_count();
  if (c.set.add_missing(s.dynamics.trial()) > 0) {
    c.reserve();
    c.w.segment(before, c.set.weight_count() - before).setZero();
  }
  c.set.count_touching();
}

// What residuals are measured by at the pose of the last `evaluate`, and ws.joint_hessian. O(n).           theory (4.6)
void scale_residual(Stage& s, const Eigen::VectorXd& delta) {
  s.ws.residual_scale.measure(tree_of(s.ws.model), s.dynamics);
  s.ws.find_joint_hessian(s.control, joint_stage(s.dynamics, s.ws.joint_friction.sides()), delta.data(),
                          s.ws.direction.data());
  s.ws.residual_scale.add_joints(s.ws.joint_hessian);
}

// K of Dissipation::effective is that of the implicit system without contact, which ws.jacobian is: A = A_s + A_t, the
// metric and what turns. Of a symmetric one the upper triangle will do as long as there are no forces to choose.
// theory (8.4)
void find_metric(Stage& s, bool whole) {
  Impl& ws = s.ws;
  ContactScratch& c = ws.contact;
  c.metric_whole = whole;
  if (!whole) {
    c.metric.triangularView<Eigen::Upper>() = ws.jacobian;
    c.turning.setZero();
  } else if (s.dynamics.symmetric()) {
    c.metric = ws.jacobian;
    c.turning.setZero();
  } else {
    c.metric = 0.5 * (ws.jacobian + ws.jacobian.transpose());
    c.turning.noalias() = c.metric * s.dynamics.moved();
    c.turning.noalias() -= ws.jacobian * s.dynamics.moved();
  }
}

// dG/ddelta at the pose of the last `scale_residual`, into ws.jacobian: both triangles (`whole`), or the upper one of a
// symmetric discretisation where no contact is active.                                                    theory (8.6)
void differentiate(Stage& s, const Eigen::VectorXd& w, bool whole) {
  Impl& ws = s.ws;
  const long n = ws.model.nv(), written = whole ? n * n : n * (n + 1) / 2;
  ws.entries += ws.contact.metric_wanted ? 2 * written : written;
  if (whole)
    s.dynamics.jacobian(ws.jacobian.data());
  else
    s.dynamics.upper_jacobian(ws.jacobian.data());
  ws.add_joint_hessian(whole);
  if (ws.contact.metric_wanted) find_metric(s, whole);
  ws.contact.metric_wanted = false;
  if (whole) ws.contact.set.add_jacobian(s.dynamics.trial(), w, ws.jacobian.data());
}

// Its LU factorisation. False: singular.
bool factor(Stage& s, const Eigen::VectorXd& delta, const Eigen::VectorXd& w) {
  Impl& ws = s.ws;
  scale_residual(s, delta);
  differentiate(s, w, true);
  ws.lu.compute(ws.jacobian);
  const auto pivots = ws.lu.matrixLU().diagonal().cwiseAbs();
  return pivots.minCoeff() > 1e-14 * pivots.maxCoeff();
}

// [m/s^2, rad/s^2] and [J]: how well a stage is to be solved. With an accuracy to reach, a hundredth of it is enough:
// an unbalanced acceleration a displaces by a h^2, a gap E leaves a velocity sqrt(2 E/m).              theory (9.9)
double tolerance(const Stage& s) {
  const double h = std::max(s.dynamics.h(), kShortest);
  return std::max(s.options.tolerance, kShare * s.ws.accuracy / (h * h));
}
double largest_gap(const Stage& s, double K) {
  const double mass = s.options.dissipation == Dissipation::contact ? 1 : s.ws.model.total_mass();
  const double speed = kShare * s.ws.accuracy / std::max(s.dynamics.h(), kShortest);
  const double strict = std::min(1.0, s.options.tolerance / kUsualTolerance);
  return std::max(strict * (kGap + kRelativeGap * K), 0.5 * mass * speed * speed);
}

// Newton's method on G(delta, w) = 0 from `delta`, with the factorisation at hand as long as it serves; then with a new
// one, shortening the step where that does not help.
bool project(Stage& s, Eigen::VectorXd& delta, const Eigen::VectorXd& w, SubstepResult& result) {
  Impl& ws = s.ws;
  evaluate(s, delta, w, ws.gradient);
  Residual residual = ws.residual_scale.of(ws.gradient, tolerance(s));
  bool fresh = false;  // the factorisation belongs to this pose
  int vain = 0;        // fresh directions in a row that did not lower the residual
  for (int k = 0; !residual.small; ++k) {
    result.residual = residual.largest;
    if (k == s.options.max_iterations || !std::isfinite(residual.largest)) return false;
    ++result.iterations;
    ws.direction = ws.lu.solve(ws.gradient);
    Residual trial;
    bool lower = false;
    for (double fraction = 1; fraction > 1e-3 && !lower; fraction *= 0.5) {
      ws.trial_delta = delta - fraction * ws.direction;
      evaluate(s, ws.trial_delta, w, ws.trial_gradient);
      trial = ws.residual_scale.of(ws.trial_gradient, tolerance(s));
      lower = trial.small || trial.largest < (1 - 1e-4 * fraction) * residual.largest;
      if (!fresh) break;
    }
    // A fresh Newton direction that does not help is the end, unless the tries have taught something new.
    vain = lower || !fresh ? 0 : vain + 1;
    if (vain > (s.first_order ? 0 : kPatience)) return false;
    const bool quick = lower && trial.largest < 0.2 * residual.largest;
    if (lower) {
      residual = trial;
      delta.swap(ws.trial_delta);
      ws.gradient.swap(ws.trial_gradient);
    }
    fresh = !quick && !residual.small;
    if (fresh) {
      if (!lower) evaluate(s, delta, w, ws.gradient);
      if (!factor(s, delta, w)) return false;
    }
  }
  result.residual = residual.largest;
  return true;
}

// K of Dissipation::effective and its gradient, into c.momentum, where the joints have moved by `moved`.   theory (8.4)
double effective_energy(ContactScratch& c, const Eigen::VectorXd& moved) {
  if (c.metric_whole)
    c.momentum.noalias() = c.metric * moved;
  else
    c.momentum.noalias() = c.metric.selfadjointView<Eigen::Upper>() * moved;
  const double K = 0.5 * c.momentum.dot(moved) + c.turning.dot(moved);
  c.momentum += c.turning;
  return K;
}

// K at the pose of the last `evaluate`.                                                                   theory (8.4)
double kinetic_energy(Stage& s) {
  ContactScratch& c = s.ws.contact;
  auto u = c.u.head(3 * c.set.size());
  switch (s.options.dissipation) {
    case Dissipation::contact:
      c.set.velocities(s.dynamics, u);
      return 0.5 * u.squaredNorm();
    case Dissipation::total:
      return s.dynamics.kinetic_energy();
    case Dissipation::effective:
      return effective_energy(c, s.dynamics.moved());
  }
  return 0;
}

// Many points share few dofs: matrices by weight then have the rank of the dofs, and are known by factors.
// theory (8.21)
bool are_many(int points) { return points > kFew; }

// [J^1/2] of motions whose energy is K.
double size_of_motion(double K) { return std::sqrt(2 * std::max(K, kGap)); }

// Of the Hessian of K by pose, H = L^T L: c.metric_factor has row k of L in its column k. Where H is not definite, that
// of a matrix that is.
void factor_metric(Stage& s) {
  ContactScratch& c = s.ws.contact;
  Eigen::MatrixXd& L = c.metric_factor;
  if (s.options.dissipation == Dissipation::contact) {
    const auto U = c.U.topRows(3 * c.set.size());
    L.noalias() = U.transpose().lazyProduct(U);
  } else {
    L = s.options.dissipation == Dissipation::total ? s.ws.gauss_newton : c.metric;
  }
  L.triangularView<Eigen::StrictlyLower>().setZero();
  c.metric_diagonal = L.diagonal();
  for (Eigen::Index k = L.rows(); k-- > 0;) {  // from the leaves: a tree fills in nothing
    auto row = L.col(k).head(k + 1);
    if (!(L(k, k) > 1e-13 * c.metric_diagonal(k))) {
      row.setZero();
      continue;
    }
    row /= std::sqrt(L(k, k));
    for (Eigen::Index i = 0; i < k; ++i)
      if (const double l = L(i, k); l != 0) L.col(i).head(i + 1) -= l * L.col(k).head(i + 1);
  }
}

// The factor of Q by the columns of Z.
void factor_columns(Stage& s) {
  ContactScratch& c = s.ws.contact;
  factor_metric(s);
  c.proximal.resize(static_cast<int>(c.Z.rows()), c.set.size(), c.set.vertex_count());
  auto A = c.proximal.A();
  for (Eigen::Index j = 0; j < A.cols(); ++j) A.col(j).noalias() = c.metric_factor.transpose() * c.Z.col(j);
}

// Z = d delta/dw, g = dK/dw and the Gauss-Newton model Q of d2K/dw2 at the current pose.            theory (8.9)
void linearise(Stage& s) {
  Impl& ws = s.ws;
  auto& c = ws.contact;
  const int W = c.set.weight_count(), rows = 3 * c.set.size();
  auto Z = c.Z.leftCols(W);
  c.set.force_columns(s.dynamics.trial(), Z);
  c.solve_columns(ws.lu);
  if (s.options.dissipation == Dissipation::contact) {
    auto U = c.U.topRows(rows);
    auto UZ = c.UZ();
    c.set.velocity_rows(s.dynamics, U);
    if (are_many(c.set.size())) {
      ws.direction.noalias() = U.transpose() * c.u.head(rows);
      c.g.head(W).noalias() = Z.transpose() * ws.direction;
      factor_columns(s);
      return;
    }
    UZ.noalias() = U * Z;
    c.g.head(W).noalias() = UZ.transpose() * c.u.head(rows);
    c.Q().noalias() = UZ.transpose() * UZ;
    return;
  }
  auto HZ = c.HZ.leftCols(W);
  if (s.options.dissipation == Dissipation::total) {
    s.dynamics.kinetic_gradient(c.momentum.data());
    ws.gauss_newton.setZero();
    s.dynamics.kinetic_hessian(ws.jacobian.data(), ws.gauss_newton.data());
  }
  if (are_many(c.set.size())) {
    c.g.head(W).noalias() = Z.transpose() * c.momentum;
    factor_columns(s);
    return;
  }
  if (s.options.dissipation == Dissipation::total) {
    HZ.noalias() = ws.gauss_newton.selfadjointView<Eigen::Upper>() * Z;
  } else {
    HZ.noalias() = c.metric * Z;  // c.momentum is that of kinetic_energy()
  }
  c.g.head(W).noalias() = Z.transpose() * c.momentum;
  c.Q().noalias() = Z.transpose() * HZ;
}

// By how much could a first-order change of the weights lower K?  g.w - min over the polytope of g.w'     theory (8.10)
double optimality_gap(const Stage& s, const Eigen::VectorXd& w) {
  const auto& c = s.ws.contact;
  const int V = c.set.vertex_count();
  double gap = 0;
  for (int x = 0; x < c.set.size(); ++x) {
    const auto g = c.g.segment(x * V, V);
    gap += g.dot(w.segment(x * V, V)) - std::min(0.0, g.minCoeff());
  }
  return gap;
}

// The quadratic program: w_trial minimises g.dw + 1/2 dw.(Q + beta) dw, dw = w_trial - w. Returns the decrease of K
// that the model without beta predicts.
// theory (8.9)
double improve_weights(Stage& s, double& beta, double K, SubstepResult& result) {
  ContactScratch& c = s.ws.contact;
  const int W = c.set.weight_count();
  const auto w = c.w.head(W), g = c.g.head(W);
  auto dw = c.dw.head(W);
  if (are_many(c.set.size())) {
    const double accuracy = kShareOfGap * largest_gap(s, K) / size_of_motion(K);
    for (;; beta *= 10) {
      c.w_trial.head(W) = w;
      const ProximalQpReport report = c.proximal.solve(c.g.data(), beta, accuracy, c.w_trial.data());
      result.qp_iterations += report.iterations;
      if (report.converged || beta > kLargestBeta) break;
    }
    dw = c.w_trial.head(W) - w;
    return -g.dot(dw) - 0.5 * c.proximal.squared_norm(dw.data());
  }
  auto held = c.Q_held();
  held = c.Q();
  held.diagonal().array() += beta;
  c.g_held.head(W) = g;
  c.g_held.head(W).noalias() -= held * w;
  c.w_trial.head(W) = w;
  result.qp_iterations +=
      c.qp.solve(c.set.size(), c.set.vertex_count(), held.data(), c.g_held.data(), c.w_trial.data()).iterations;
  dw = c.w_trial.head(W) - w;
  c.Qdw.head(W).noalias() = c.Q() * dw;
  return -g.dot(dw) - 0.5 * dw.dot(c.Qdw.head(W));
}

// How well K is known: the projection leaves velocities off by `tolerance` times h.
double noise(const Stage& s, double K) {
  const double mass = s.options.dissipation == Dissipation::contact ? 1 : s.ws.model.total_mass();
  return std::sqrt(2 * K * mass) * tolerance(s) * s.dynamics.h() + 1e-14 * K;
}

// Algorithm 1 from the weights in c.w: leaves the pose in ws.delta and the weights in c.w.
bool descend(Stage& s, SubstepResult& result) {
  Impl& ws = s.ws;
  ContactScratch& c = ws.contact;
  c.metric_wanted = s.options.dissipation == Dissipation::effective;
  s.dynamics.coasting(ws.delta);
  evaluate(s, ws.delta, c.w, ws.gradient);
  if (!factor(s, ws.delta, c.w) || !project(s, ws.delta, c.w, result)) return false;

  double beta = kFirstBeta, K = 0;
  bool accepted = true;
  for (int k = 0;; ++k) {
    if (accepted) {
      evaluate(s, ws.delta, c.w, ws.gradient);
      add_contacts(s);
      K = kinetic_energy(s);
      if (!factor(s, ws.delta, c.w)) return false;
      linearise(s);
      result.optimality = optimality_gap(s, c.w);
      if (result.optimality <= largest_gap(s, K)) break;
    }
    if (k == s.options.max_outer) return false;
    ++result.outer;

    const double predicted = improve_weights(s, beta, K, result);
    c.delta_trial = ws.delta;
    c.delta_trial.noalias() += c.Z.leftCols(c.set.weight_count()) * c.dw.head(c.set.weight_count());
    const double K_trial = project(s, c.delta_trial, c.w_trial, result) ? kinetic_energy(s) : kInfinity;
    accepted = K_trial < K;
    if (accepted) {
      const double ratio = (K - K_trial) / predicted;
      if (ratio > 0.75) beta = std::max(kSmallestBeta, beta / 10);
      if (ratio < 0.25) beta *= 3;
      ws.delta.swap(c.delta_trial);
      c.w.swap(c.w_trial);
    } else {
      if (predicted <= noise(s, K)) {  // what the model still promises cannot be told from an error of the projection
        if (beta > kFirstBeta) return false;
        break;
      }
      beta *= 10;
      if (beta > kLargestBeta) return false;
      evaluate(s, ws.delta, c.w, ws.gradient);
      if (!factor(s, ws.delta, c.w)) return false;
    }
  }
  evaluate(s, ws.delta, c.w, ws.gradient);  // the last try may have been another pose
  result.residual = ws.residual_scale.of(ws.gradient, tolerance(s)).largest;
  return within_chart(tree_of(ws.model), s.dynamics.trial());
}

// --- Newton's method
// --------------------------------------------------------------------------------------------------

// out = M Y for a symmetric M with the sparsity of the tree and its upper triangle, rows of `count` numbers.
void multiply_by_tree_matrix(const Tree& tree, const Eigen::MatrixXd& M, const double* Y, int count, double* out) {
  std::fill(out, out + tree.nv * count, 0.0);
  for (int b = 0; b < tree.nv; ++b) {
    const double* y_b = Y + b * count;
    double* out_b = out + b * count;
    for (int s = 0; s < count; ++s) out_b[s] += M(b, b) * y_b[s];
    for (int a = tree.parent[static_cast<size_t>(b)]; a >= 0; a = tree.parent[static_cast<size_t>(a)]) {
      const double m = M(a, b);
      const double* y_a = Y + a * count;
      double* out_a = out + a * count;
      for (int s = 0; s < count; ++s) {
        out_a[s] += m * y_b[s];
        out_b[s] += m * y_a[s];
      }
    }
  }
}

// S = A^T B, rows of `count` numbers; S symmetric.
void multiply_transposed(const double* A, const double* B, int rows, int count, double* S) {
  std::fill(S, S + count * count, 0.0);
  for (int r = 0; r < rows; ++r, A += count, B += count)
    for (int i = 0; i < count; ++i) {
      const double a = A[i];
      double* row = S + i * count;
      for (int j = 0; j < count; ++j) row[j] += a * B[j];
    }
}

// The factor of Q by the vertices of the active contacts and Y.
void factor_forces(Stage& s) {
  ContactScratch& c = s.ws.contact;
  factor_metric(s);
  const int D = c.set.dimension(), V = c.set.vertex_count(), count = static_cast<int>(c.set.active().size());
  const Eigen::MatrixXd& L = c.metric_factor;
  const auto Y = c.Y();
  c.proximal.resize(static_cast<int>(L.rows()), count, V);
  auto A = c.proximal.A();
  auto row = c.f.head(c.columns());
  for (Eigen::Index k = 0; k < L.rows(); ++k) {
    row.setZero();
    for (Eigen::Index i = 0; i <= k; ++i)
      if (L(i, k) != 0) row += L(i, k) * Y.row(i).transpose();
    for (int x = 0; x < count; ++x)
      A.row(k).segment(Eigen::Index{x} * V, V).noalias() =
          row.segment(Eigen::Index{x} * D, D)
              .transpose()
              .lazyProduct(c.set.vertices(c.set.active()[static_cast<size_t>(x)]));
  }
}

// Factors dG/ddelta, which `differentiate` has left, and finds the quadratic model of K by the forces of the active
// contacts: Y = d delta/df, and the matrix Q of the model by their weights, held. False: singular.
bool model_of_forces(Stage& s, bool symmetric) {
  Impl& ws = s.ws;
  ContactScratch& c = ws.contact;
  if (!(symmetric ? ws.tree_lu.factor_symmetric(ws.jacobian.data()) : ws.tree_lu.factor(ws.jacobian.data())))
    return false;
  const int columns = c.columns();
  auto Y = c.Y();
  c.set.force_rows(s.dynamics.trial(), Y.data());
  ws.tree_lu.solve(Y.data(), columns);
  const int D = c.set.dimension(), V = c.set.vertex_count(), count = static_cast<int>(c.set.active().size());
  if (are_many(count)) {
    if (s.options.dissipation == Dissipation::contact) {
      auto U = c.U.topRows(3 * c.set.size());
      c.set.velocity_rows(s.dynamics, U);
      c.UY().noalias() = U.lazyProduct(Y);
    } else if (s.options.dissipation == Dissipation::total) {
      s.dynamics.kinetic_hessian(ws.jacobian.data(), ws.gauss_newton.data());
    }
    factor_forces(s);
    return true;
  }
  c.quadratic.resize(count, V, D);
  double* const S = c.quadratic.S();
  if (s.options.dissipation == Dissipation::contact) {
    auto U = c.U.topRows(3 * c.set.size());
    c.set.velocity_rows(s.dynamics, U);
    c.UY().noalias() = U.lazyProduct(Y);
    multiply_transposed(c.UY().data(), c.UY().data(), 3 * c.set.size(), columns, S);
  } else {
    if (s.options.dissipation == Dissipation::total)
      s.dynamics.kinetic_hessian(ws.jacobian.data(), ws.gauss_newton.data());
    const Eigen::MatrixXd& metric = s.options.dissipation == Dissipation::total ? ws.gauss_newton : c.metric;
    multiply_by_tree_matrix(tree_of(ws.model), metric, Y.data(), columns, c.KY().data());
    multiply_transposed(Y.data(), c.KY().data(), ws.model.nv(), columns, S);
  }
  for (int x = 0; x < count; ++x)
    Eigen::Map<Eigen::MatrixXd>(c.quadratic.E(x), D, V) = c.set.vertices(c.set.active()[static_cast<size_t>(x)]);
  c.quadratic.update(kHold);
  return true;
}

// g = dK/dw of the active contacts where the pose is balanced, ws.direction away, and K there.
double slope_of_weights(Stage& s) {
  Impl& ws = s.ws;
  ContactScratch& c = ws.contact;
  double K = 0;
  auto y = c.y.head(c.columns());
  if (s.options.dissipation == Dissipation::contact) {
    auto u = c.u.head(3 * c.set.size());
    c.set.velocities(s.dynamics, u);
    u.noalias() -= c.U.topRows(u.size()) * ws.direction;
    y = c.UY().transpose().lazyProduct(u);
    K = 0.5 * u.squaredNorm();
  } else {
    ws.trial_delta = s.dynamics.moved() - ws.direction;
    if (s.options.dissipation == Dissipation::total) {
      s.dynamics.kinetic_gradient(c.momentum.data());
      c.momentum.noalias() -= ws.gauss_newton.selfadjointView<Eigen::Upper>() * ws.direction;
      K = s.dynamics.kinetic_energy();
    } else {
      K = effective_energy(c, ws.trial_delta);
    }
    y = c.Y().transpose().lazyProduct(c.momentum);
  }
  const int D = c.set.dimension(), V = c.set.vertex_count();
  for (size_t x = 0; x < c.set.active().size(); ++x) {
    const Eigen::Index at = static_cast<Eigen::Index>(x);
    c.g_active.segment(at * V, V) = c.set.vertices(c.set.active()[x]).transpose().lazyProduct(y.segment(at * D, D));
    c.w_active.segment(at * V, V) = c.w.segment(c.set.active()[x] * V, V);
  }
  return K;
}

double active_gap(const ContactScratch& c) {
  const int V = c.set.vertex_count();
  double gap = 0;
  for (int x = 0; x < std::ssize(c.set.active()); ++x) {
    const auto g = c.g_active.segment(x * V, V);
    gap += g.dot(c.w_active.segment(x * V, V)) - std::min(0.0, g.minCoeff());
  }
  return gap;
}

// Pose and weights together: G and K are linearised at the pose, the weights minimise the model of K over the
// polytopes, the pose follows the model. The model is kept as long as it serves.
// theory (8.17), (8.18)
bool iterate(Stage& s, SubstepResult& result, int& moves) {
  Impl& ws = s.ws;
  ContactScratch& c = ws.contact;
  const int V = c.set.vertex_count(), D = c.set.dimension();
  c.metric_wanted = s.options.dissipation == Dissipation::effective;
  c.set.settle(c.w);
  double most = 0;                     // what K may be at the solution
  bool first = true;                   // on the sides at hand of joint friction
  c.set.evaluate(s.dynamics.trial());  // `solve` is at the coasting pose
  sum_forces(s, ws.delta, c.w, ws.gradient);
  for (int k = 0;; ++k) {
    add_contacts(s);
    c.set.hold(c.w);
    c.set.find_active();
    if (c.active_weights() > kMostActive) return false;
    scale_residual(s, ws.delta);
    const Residual residual = ws.residual_scale.of(ws.gradient, tolerance(s));
    result.residual = residual.largest;
    if (!std::isfinite(residual.largest)) return false;
    if (residual.small && c.set.active().empty()) {  // no forces to choose
      result.optimality = 0;
      return (first || kinetic_energy(s) <= most) && within_chart(tree_of(ws.model), s.dynamics.trial());
    }
    const bool symmetric = s.dynamics.symmetric() && c.set.active().empty();
    differentiate(s, c.w, !symmetric);
    if (!symmetric && !c.metric_whole) {  // contacts have come since
      c.metric.triangularView<Eigen::StrictlyLower>() = c.metric.transpose();
      c.metric_whole = true;
    }
    if (!model_of_forces(s, symmetric)) return false;
    ws.direction = ws.gradient;
    ws.tree_lu.solve(ws.direction.data());
    const double K = slope_of_weights(s);
    const double gap = result.optimality = active_gap(c);
    const int W = c.active_weights();
    const auto g = c.g_active.head(W);
    const auto w = c.w_active.head(W);
    auto Qw = c.Qdw.head(W);
    const bool many = are_many(static_cast<int>(c.set.active().size()));
    if (!many) {
      Qw.setZero();
      c.quadratic.add_product(w.data(), Qw.data());
    }
    if (first)  // without contact forces K would be this; another branch of G = 0 has far more
      most = kSameBranch * (K - g.dot(w) + 0.5 * (many ? c.proximal.squared_norm(w.data()) : w.dot(Qw))) + kGap;
    if (residual.small && gap <= largest_gap(s, K))
      return K <= most && within_chart(tree_of(ws.model), s.dynamics.trial());
    first = false;
    if (k == kMostIterations + moves) return false;
    ++result.iterations;
    ++result.outer;

    if (many) {
      c.w_trial.head(W) = w;
      result.qp_iterations +=
          c.proximal.minimise(g.data(), size_of_motion(K), kShareOfGap * largest_gap(s, K), c.w_trial.data())
              .iterations;
    } else if (W > 0) {
      c.g_held.head(W) = g - Qw;
      c.w_trial.head(W) = w;
      result.qp_iterations +=
          c.qp.solve(static_cast<int>(c.set.active().size()), V, c.quadratic, c.g_held.data(), c.w_trial.data())
              .iterations;
    }
    for (int x = 0; x < std::ssize(c.set.active()); ++x) {
      const int slot = c.set.active()[static_cast<size_t>(x)];
      c.w_active.segment(x * V, V) = c.w_trial.segment(x * V, V) - c.w.segment(slot * V, V);
      c.f.segment(x * D, D) = c.set.vertices(slot).lazyProduct(c.w_active.segment(x * V, V));
      c.w.segment(slot * V, V) = c.w_trial.segment(x * V, V);
    }
    ws.direction -= c.Y().lazyProduct(c.f.head(c.columns()));
    ws.delta -= ws.direction;
    s.dynamics.set_trial(ws.delta.data());
    c.set.evaluate(s.dynamics.trial());
    // A model made deep in the ground stops a foot before it gets there, in the air, where it has no force.
    if (const double share = c.set.share_in_ground(c.w); share < 1) {
      ws.delta += (1 - share) * ws.direction;
      s.dynamics.set_trial(ws.delta.data());
      c.set.evaluate(s.dynamics.trial());
    }
    c.set.keep_forces(c.w);
    if (move_friction_sides(s)) {
      first = true;
      if (++moves > most_moves(s)) return false;
    }
    sum_forces(s, ws.delta, c.w, ws.gradient);
  }
}

// Algorithm 1 on sides of joint friction that stay, until it ends on the sides it began with.
bool descend_on_sides(Stage& s, SubstepResult& result, int& moves) {
  find_friction_sides(s);
  for (moves = 0; moves <= most_moves(s); ++moves) {
    if (!descend(s, result)) return false;
    if (!move_friction_sides(s)) return true;
  }
  return false;
}

}  // namespace

bool solve(ContactStage& s, const std::vector<double>& weights, SubstepResult& result) {
  Impl& ws = s.ws;
  ContactScratch& c = ws.contact;
  // Every pair near the pose that the velocity leads to takes part.
  s.dynamics.coasting(ws.delta);
  s.dynamics.set_trial(ws.delta.data());
  c.set.select(s.dynamics.trial(), kNear, s.first_order, s.second);
  c.reserve();
  // From the weights at hand; where these lead astray, without contact force, as the paper starts.
  c.set.load_weights(weights, c.w);
  ++result.stages;
  const bool newton = s.options.solver == ContactSolver::newton && s.first_order;
  find_friction_sides(s);
  int moves = 0;
  if (newton ? iterate(s, result, moves) : descend_on_sides(s, result, moves)) return true;
  // Where sides go in circles they do so from other forces, too: shorter steps help.
  if (moves > most_moves(s) || (!newton && weights.empty())) return false;
  ++result.restarts;
  c.set.settle_none();
  c.w.setZero();
  return descend_on_sides(s, result, moves);
}

}  // namespace scree
