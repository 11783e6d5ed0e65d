// A discretisation of the equations of motion, as a stage of an implicit integrator sees it.           theory section 7
//
// The unknown is the displacement delta of all dofs from the pose q_n the stage starts at. At a trial pose q_n (+)
// delta a discretisation offers
//   residual   r(delta)   inertia and gravity as generalized forces [N m, N]; joint forces and contacts are not its
//   business jacobian   dr/ddelta K, its gradient, its exact Hessian and a positive semidefinite Hessian model, of the
//   motion from q_n to the trial pose.
// All covectors belong to delta: for rotation charts they are derivatives by the chart's coordinates.
// Integrators are written once for both: NewtonEulerStage and PositionBasedStage.
#pragma once

#include "dynamics/newton_euler.h"
#include "dynamics/position_based.h"
#include "scree/state.h"

namespace scree {

class Discretisation {
 public:
  explicit Discretisation(const Model& model) : model_(model), tree_(model.tree()), trial_(tree_) {}
  virtual ~Discretisation() = default;

  // A stage of length h [s] from `state`.
  virtual void begin(const State& state, double h, const Vec3& gravity) = 0;
  // Moves to q_n (+) delta. Everything below speaks of this pose.
  virtual void set_trial(const double* delta) = 0;
  virtual void residual(double* out) = 0;  // nv
  virtual void jacobian(double* out) = 0;  // nv x nv, column-major; entries of different branches are left alone
  virtual double kinetic_energy() = 0;     // [J]
  virtual void kinetic_gradient(double* out) = 0;  // nv
  // Upper triangles, column-major; entries of dofs on different branches are left alone.
  virtual void kinetic_hessian(double* exact, double* gauss_newton) = 0;
  // Velocity at the end of the stage of the material point that is at x (about the origin of trial()) on a body, as the
  // motion from q_n to the trial pose has it, and its change when dof a moves the body and x moves by dx.  theory (8.7)
  virtual V3<double> point_velocity(int node, const V3<double>& x) = 0;
  virtual V3<double> point_velocity_change(int dof, int node, const V3<double>& x, const V3<double>& dx) = 0;
  // The state at the end of the stage, time aside.
  virtual void accept(State& state) = 0;

  Eigen::Map<const Eigen::VectorXd> displacement() const { return {delta_.data(), tree_.nv}; }
  const Kinematics<double>& trial() const { return trial_; }
  // Subtree sums of the second moments at the trial pose; filled by jacobian().
  virtual const std::vector<SecondMoment<double>>& composite() const = 0;

 protected:
  const Model& model_;
  const Tree& tree_;
  Kinematics<double> trial_;
  const double* q_ = nullptr;  // q_n: the state handed to begin() outlives the stage
  double h_ = 0;
  std::vector<double> delta_;
};

// r = dI/ddelta of theory (3.1): second differences of body transforms.                                     theory
// (7.1)
class PositionBasedStage final : public Discretisation {
 public:
  explicit PositionBasedStage(const Model& model);
  void begin(const State& state, double h, const Vec3& gravity) override;
  void set_trial(const double* delta) override;
  void residual(double* out) override;
  void jacobian(double* out) override;
  double kinetic_energy() override;
  void kinetic_gradient(double* out) override;
  void kinetic_hessian(double* exact, double* gauss_newton) override;
  V3<double> point_velocity(int node, const V3<double>& x) override;
  V3<double> point_velocity_change(int dof, int node, const V3<double>& x, const V3<double>& dx) override;
  void accept(State& state) override;
  const std::vector<SecondMoment<double>>& composite() const override { return inertia_.sigma; }

  double objective() const { return objective_; }  // I, whose gradient the residual is [J]
  // The exact Hessian of I (the upper triangle of jacobian()) and its Gauss-Newton part k M.
  void hessian(double* exact, double* gauss_newton);

 private:
  Kinematics<double> start_;
  PositionBased<double> inertia_, motion_;  // motion_: the same term with T^ = T_n and no gravity, which is K
  double objective_ = 0;
  std::vector<double> unused_;
};

// r = xi . F^c of inverse dynamics with v = delta/h, vdot = (v - v_n)/h: backward Euler in body velocities. theory
// (7.2)
class NewtonEulerStage final : public Discretisation {
 public:
  explicit NewtonEulerStage(const Model& model);
  void begin(const State& state, double h, const Vec3& gravity) override;
  void set_trial(const double* delta) override;
  void residual(double* out) override;
  void jacobian(double* out) override;
  double kinetic_energy() override;
  void kinetic_gradient(double* out) override;
  void kinetic_hessian(double* exact, double* gauss_newton) override;
  V3<double> point_velocity(int node, const V3<double>& x) override;
  V3<double> point_velocity_change(int dof, int node, const V3<double>& x, const V3<double>& dx) override;
  void accept(State& state) override;
  const std::vector<SecondMoment<double>>& composite() const override { return pass_.sigma; }

 private:
  void need_derivatives();
  NewtonEulerPass<double> pass_;
  StageTwists<double> twists_;
  const double* v_n_ = nullptr;
  V3<double> gravity_{};
  std::vector<double> v_, vdot_;
  bool has_derivatives_ = false;
};

}  // namespace scree
