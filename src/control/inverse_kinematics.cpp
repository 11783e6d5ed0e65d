// Inverse kinematics in two stages. First the augmented Lagrangian, which is safe far from the solution: minimise
//   phi(q) = I(q) + y . c(q) + mu/2 |c(q)|^2,   then y <- y + mu c and mu <- 10 mu,
// where c holds the counted coordinates of (point - target) and I = 1/2 sum_i tr(D_i S_i D_i^T) / m, D_i = T_i -
// T_i(reference), is half the mean squared displacement of all material points (m: total mass). Then, close by,
// Newton's method on the optimality conditions dI + J^T y = 0, c = 0, which leaves nothing but rounding. A force f = y
// + mu c at a point enters gradient and Hessian as the subtree sums of the position-based term do,
// theory (3.4) and (3.5): P = T [p_B; 1] f^T.
#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "dynamics/position_based.h"
#include "dynamics/reduction.h"
#include "math/eigen.h"
#include "scree/error.h"
#include "scree/motion.h"
#include "scree/state.h"

namespace scree {
namespace {

constexpr double kMiss = 1e-11;   // [m] largest error of a counted coordinate
constexpr double kSlope = 1e-10;  // [m] per metre of 1 m + the rms displacement: largest gradient of the Lagrangian, in
                                  // the norm of the inverse mass matrix
constexpr double kClose = 1e-2;   // [m] error from which Newton's method is tried
constexpr double kStray = 0.1;    // [rad] or [m] largest step of Newton's method
constexpr double kLastPenalty = 1e8;
constexpr int kMostIterations = 100;        // at one penalty
constexpr double kLargestTurn = 0.5;        // [rad] of one joint in one step
constexpr double kSmallestCurvature = 0.1;  // in units of the mass matrix, where the Hessian is indefinite

class Search {
 public:
  Search(const Model& model, const Eigen::VectorXd& reference, const std::vector<PointTarget>& targets,
         const std::vector<BodyIndex>& frozen)
      : tree_(tree_of(model)),
        targets_(targets),
        kin_(tree_),
        inertia_(tree_),
        reduction_(tree_),
        zero_(Eigen::VectorXd::Zero(tree_.nv)) {
    kin_.origin = root_position(tree_, reference.data());
    forward_kinematics(tree_, reference.data(), zero_.data(), kin_);
    inertia_.target_R = kin_.R;
    inertia_.target_p = kin_.p;
    inertia_.weight = model.total_mass() > 0 ? 1 / model.total_mass() : 1;
    std::vector<bool> is_frozen(model.bodies().size());
    for (const BodyIndex body : frozen) is_frozen[static_cast<size_t>(body.value())] = true;
    std::vector<bool> holds(static_cast<size_t>(tree_.nv));  // a frozen joint holds those it is coupled with
    for (size_t d = 0; d < tree_.dof_node.size(); ++d)
      if (is_frozen[static_cast<size_t>(tree_.dof_node[d])]) holds[static_cast<size_t>(tree_.coordinate[d])] = true;
    for (int a = 0; a < tree_.nv; ++a)
      if (!holds[static_cast<size_t>(a)]) free_.push_back(a);
    for (const PointTarget& target : targets) rows_ += target.x + target.y + target.z;
    c_.resize(rows_);
    y_ = Eigen::VectorXd::Zero(rows_);
    q_ = reference;
  }

  InverseKinematicsResult run() {
    InverseKinematicsResult result;
    for (mu_ = 1; mu_ <= kLastPenalty && !result.converged; mu_ *= 10) {
      minimise();
      y_ += mu_ * c_;
      result.converged = error() <= kClose && polish();
    }
    result.q = q_;
    result.iterations = iterations_;
    for (size_t k = 0; k < targets_.size(); ++k) result.miss = std::max(result.miss, miss_of(targets_[k]).norm());
    return result;
  }

 private:
  V3<double> point(const PointTarget& target) const {
    const size_t body = static_cast<size_t>(target.body.value());
    return kin_.R[body] * to_v3(target.p_B) + kin_.p[body];
  }
  Vec3 miss_of(const PointTarget& target) const {
    const Vec3 miss = to_eigen(point(target) - (to_v3(target.target) - kin_.origin));
    return {target.x ? miss.x() : 0, target.y ? miss.y() : 0, target.z ? miss.z() : 0};
  }
  static std::array<bool, 3> counted(const PointTarget& target) { return {target.x, target.y, target.z}; }

  double error() const { return rows_ == 0 ? 0 : c_.lpNorm<Eigen::Infinity>(); }
  double slope() const {
    return free_.empty() ? 0 : std::sqrt(std::max(0.0, gradient_.dot(metric_.llt().solve(gradient_))));
  }
  double slope_limit() const { return kSlope * (1 + std::sqrt(2 * std::max(0.0, objective_))); }

  // phi at a pose; leaves kinematics, subtree sums and c there.
  double value_at(const Eigen::VectorXd& q) {
    forward_kinematics(tree_, q.data(), zero_.data(), kin_);
    objective_ = accumulate(tree_, kin_, inertia_);
    int row = 0;
    for (const PointTarget& target : targets_) {
      const Vec3 miss = miss_of(target);
      for (int axis = 0; axis < 3; ++axis)
        if (counted(target)[static_cast<size_t>(axis)]) c_(row++) = miss(axis);
    }
    return objective_ + y_.dot(c_) + mu_ / 2 * c_.squaredNorm();
  }

  // J, gradient and Hessian of phi and the metric, over the free dofs, at the pose of the last value_at().
  void differentiate() {
    const Eigen::Index n = tree_.nv;
    Eigen::MatrixXd J = Eigen::MatrixXd::Zero(rows_, n);
    int row = 0;
    for (const PointTarget& target : targets_) {
      const V3<double> p = point(target);
      Vec3 f = Vec3::Zero();
      for (int axis = 0; axis < 3; ++axis) {
        if (!counted(target)[static_cast<size_t>(axis)]) continue;
        f(axis) = y_(row) + mu_ * c_(row);
        for_coordinates(tree_, kin_, static_cast<size_t>(target.body.value()), [&](size_t c, const Twist<double>& xi) {
          J(row, static_cast<Eigen::Index>(c)) = to_eigen(cross(xi.w, p) + xi.v)(axis);
        });
        ++row;
      }
      for (int i = target.body.value(); i >= 0; i = tree_.nodes[static_cast<size_t>(i)].parent) {
        inertia_.moment[static_cast<size_t>(i)] += outer(p, to_v3(f));
        inertia_.force[static_cast<size_t>(i)] += to_v3(f);
      }
    }
    Eigen::VectorXd gradient_all(n);
    Eigen::MatrixXd exact = Eigen::MatrixXd::Zero(n, n), mass = Eigen::MatrixXd::Zero(n, n);
    reduction_.covector(gradient_all.data(), [&](double* by_dof) { gradient(tree_, kin_, inertia_, by_dof); });
    reduction_.upper(exact.data(), mass.data(), [&](double* exact_by_dof, double* mass_by_dof) {
      hessian(tree_, kin_, inertia_, exact_by_dof, mass_by_dof);
    });
    exact = exact.selfadjointView<Eigen::Upper>();
    mass = mass.selfadjointView<Eigen::Upper>();
    exact += mu_ * J.transpose() * J;
    J_ = J(Eigen::all, free_);
    gradient_ = gradient_all(free_);
    hessian_ = exact(free_, free_);
    metric_ = mass(free_, free_);
    metric_.diagonal().array() += 1e-9;  // massless ends of chains
  }

  // Newton on phi from q_, until its gradient is small or nothing helps.
  void minimise() {
    double value = value_at(q_);
    for (int k = 0; k < kMostIterations && !free_.empty(); ++k) {
      differentiate();
      const bool level = slope() <= std::max(1.0, mu_) * slope_limit();
      Eigen::VectorXd direction;
      const Eigen::LLT<Eigen::MatrixXd> factor(hessian_);
      if (factor.info() == Eigen::Success) {
        if (level) return;
        direction = -factor.solve(gradient_);
      } else if (!descend_saddle(level, direction)) {
        return;
      }
      ++iterations_;
      if (!line_search(direction, value)) {
        value_at(q_);
        return;
      }
    }
  }

  // Newton on the optimality conditions from (q_, y_), down to rounding:
  //   [ H  J^T ] [ delta ]     [ dI + J^T y ]
  //   [ J   0  ] [ dy    ] = - [     c      ],   H = d2I + sum y d2c,
  // in coordinates in which the mass matrix is 1. Least squares: constraints may repeat each other or be void. True if
  // the conditions hold at its end; otherwise the pose is the one it started from.
  bool polish() {
    if (free_.empty()) return error() <= kMiss;
    const Eigen::VectorXd q_start = q_, y_start = y_;
    const double mu = mu_;
    mu_ = 0;
    const Eigen::Index n = std::ssize(free_), size = n + rows_;
    Eigen::VectorXd q_before = q_, y_before = y_;
    double best = std::numeric_limits<double>::infinity();
    for (int k = 0; k < kMostIterations; ++k) {
      value_at(q_);
      differentiate();
      const double residual = std::max(slope() / slope_limit(), error() / kMiss);
      if (!(residual < best)) break;
      best = residual;
      q_before = q_;
      y_before = y_;
      const Eigen::LLT<Eigen::MatrixXd> metric(metric_);
      const auto L = metric.matrixL();
      Eigen::MatrixXd K = Eigen::MatrixXd::Zero(size, size);
      Eigen::VectorXd right(size);
      const Eigen::MatrixXd half = L.solve(hessian_);
      K.topLeftCorner(n, n) = L.solve(half.transpose());
      K.topRightCorner(n, rows_) = L.solve(J_.transpose());
      K.bottomLeftCorner(rows_, n) = K.topRightCorner(n, rows_).transpose();
      right << -L.solve(gradient_), -c_;
      Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> factor;
      factor.setThreshold(1e-11);
      factor.compute(K);
      const Eigen::VectorXd step = factor.solve(right);
      Eigen::VectorXd delta = Eigen::VectorXd::Zero(tree_.nv);
      delta(free_) = Eigen::VectorXd(metric.matrixU().solve(step.head(n)));
      if (!(delta.lpNorm<Eigen::Infinity>() <= kStray)) break;
      apply_displacement(tree_, delta.data(), q_.data());
      y_ += step.tail(rows_);
      ++iterations_;
    }
    const bool solved = best <= 1;
    q_ = solved ? q_before : q_start;
    y_ = solved ? y_before : y_start;
    mu_ = mu;
    value_at(q_);
    return solved;
  }

  // Where the Hessian is indefinite: Newton with the sizes of its eigenvalues, or down the most negative one from a
  // level saddle, such as a stretched leg that must bend. False if there is no way down.
  bool descend_saddle(bool level, Eigen::VectorXd& direction) const {
    const Eigen::GeneralizedSelfAdjointEigenSolver<Eigen::MatrixXd> modes(hessian_, metric_);
    if (modes.info() != Eigen::Success) return false;
    const Eigen::VectorXd lowest = modes.eigenvectors().col(0);
    if (level) {
      if (modes.eigenvalues()(0) > -1e-6) return false;
      direction = (gradient_.dot(lowest) > 0 ? -0.2 : 0.2) / lowest.lpNorm<Eigen::Infinity>() * lowest;
      return true;
    }
    const Eigen::VectorXd along = modes.eigenvectors().transpose() * gradient_;
    direction =
        -modes.eigenvectors() * (along.array() / modes.eigenvalues().array().abs().max(kSmallestCurvature)).matrix();
    return true;
  }

  // Moves q_ along the direction, halved until phi falls. False if it does not.
  bool line_search(const Eigen::VectorXd& direction, double& value) {
    Eigen::VectorXd delta = Eigen::VectorXd::Zero(tree_.nv);
    delta(free_) = direction;
    if (!delta.allFinite()) return false;
    double turn = 0;
    for (const Node& node : tree_.nodes)
      for (int k = 0; k < node.nv; ++k)
        if (const V3<double>& w = kin_.xi[static_cast<size_t>(node.dof + k)].w; dot(w, w) > 0)
          turn = std::max(turn, std::abs((node.follows ? node.multiplier : 1) * delta(node.v_index + k)));
    if (turn > kLargestTurn) delta *= kLargestTurn / turn;
    const double slope = gradient_.dot(delta(free_)), rounding = 1e-15 * (1 + std::abs(value));
    for (double step = 1; step > 1e-9; step /= 2) {
      Eigen::VectorXd trial = q_;
      const Eigen::VectorXd scaled = step * delta;
      apply_displacement(tree_, scaled.data(), trial.data());
      const double trial_value = value_at(trial);
      if (trial_value <= value + 1e-4 * step * std::min(slope, 0.0) + rounding) {
        q_ = trial;
        value = trial_value;
        return true;
      }
    }
    return false;
  }

  const Tree& tree_;
  const std::vector<PointTarget>& targets_;
  Kinematics<double> kin_;
  PositionBased<double> inertia_;
  Reduction<double> reduction_;
  Eigen::VectorXd zero_, q_, c_, y_, gradient_;
  Eigen::MatrixXd J_, hessian_, metric_;
  std::vector<int> free_;
  int rows_ = 0, iterations_ = 0;
  double mu_ = 1, objective_ = 0;
};

void check_body(const Model& model, const char* what, BodyIndex body) {
  if (body.value() < 0 || body.value() >= std::ssize(model.bodies()))
    throw InputError(fmt::format("inverse kinematics: {} is on body {}, expected an index in [0, {}]", what,
                                 body.value(), std::ssize(model.bodies()) - 1));
}

}  // namespace

InverseKinematicsResult inverse_kinematics(const Model& model, const Eigen::VectorXd& reference,
                                           const std::vector<PointTarget>& targets,
                                           const std::vector<BodyIndex>& frozen) {
  const Eigen::VectorXd q = make_state(model, reference, Eigen::VectorXd::Zero(model.nv())).q;
  for (const BodyIndex body : frozen) check_body(model, "a frozen joint", body);
  for (const PointTarget& target : targets) {
    check_body(model, "a point", target.body);
    const double size = std::max(target.p_B.lpNorm<Eigen::Infinity>(), target.target.lpNorm<Eigen::Infinity>());
    if (!(target.p_B.allFinite() && target.target.allFinite() && size <= 1e12))
      throw InputError(
          fmt::format("inverse kinematics: a point on body {} or its target is not finite, expected "
                      "coordinates of at most 1e12 m",
                      model.body(target.body).name));
  }
  return Search(model, q, targets, frozen).run();
}

}  // namespace scree
