// A discretisation of the equations of motion, as a stage of an implicit integrator sees it.           theory section 7
//
// The unknown is the displacement delta of all dofs from the pose q_n the step starts at. With h the length of the
// stage, `rest` the displacement at which its velocity is zero and `coast` the velocity it would have without forces,
//   velocity = (delta - rest)/h,   acceleration = (velocity - coast)/h.                                   theory (9.1)
// Backward Euler has rest = 0 and coast = v_n. At a trial pose q_n (+) delta a discretisation offers
//   residual   r(delta): inertia and gravity as generalized forces [N m, N]; joint forces and contacts are not its
//              business
//   jacobian   dr/ddelta
//   K          the kinetic energy of the stage's velocity, its gradient, exact Hessian and a positive semidefinite
//   model
// All covectors belong to delta: for rotation charts they are derivatives by the chart's coordinates.
// Integrators are written once for both: NewtonEulerStage and PositionBasedStage.
#pragma once

#include "dynamics/articulated_body.h"
#include "dynamics/position_based.h"
#include "dynamics/two_stages.h"
#include "scree/state.h"

namespace scree {

struct BodyRate {  // of the transform [R | p] of a body
  M3<double> R;
  V3<double> p;
};

class Discretisation {
 public:
  explicit Discretisation(const Model& model)
      : model_(model),
        tree_(tree_of(model)),
        trial_(tree_),
        delta_(Eigen::VectorXd::Zero(model.nv())),
        rest_(delta_),
        joint_rest_(delta_),
        coast_(delta_),
        moved_(delta_),
        mass_(tree_),
        reduction_(tree_) {}
  virtual ~Discretisation() = default;

  // Backward Euler over h [s] from `state`.
  virtual void begin(const State& state, double h, const Vec3& gravity) = 0;
  // The two stages of a step of second order: the first ends at kGamma h, the second starts over at q_n with what the
  // first one found at its trial pose and ends at h. `unwanted` (by delta) is the part of the acceleration of the first
  // that the second leaves out.                                                                           theory (9.2)
  virtual void begin_first(const State& state, double h, const Vec3& gravity) = 0;
  // False: the mass matrix is singular.
  [[nodiscard]] virtual bool begin_second(const double* unwanted) = 0;
  // Moves to q_n (+) delta. Everything below speaks of this pose.
  virtual void set_trial(const double* delta) = 0;
  // Of two stages, at the end of the second: by how much the rates of the stages do not lie on a line,
  //   rate_1 - (1 - kGamma) rate_n - kGamma rate_2,
  // as rates of the body transforms. Each discretisation compares the rates that it integrates.          theory (9.7)
  virtual void rate_defect(std::vector<BodyRate>& out) = 0;
  virtual void residual(double* out) = 0;  // nv
  virtual void jacobian(double* out) = 0;  // nv x nv, column-major; entries of different branches are left alone
  virtual bool symmetric() const = 0;      // the residual is a gradient, its Jacobian a Hessian
  // At least the upper triangle of jacobian(), all there is to know of a symmetric one.
  virtual void upper_jacobian(double* out) { jacobian(out); }
  virtual double kinetic_energy() = 0;             // [J]
  virtual void kinetic_gradient(double* out) = 0;  // nv
  // Upper triangles, column-major; entries of dofs on different branches are left alone. (Newton-Euler, second stage:
  // the exact one leaves out how the velocity of a chart depends on `rest`.)
  virtual void kinetic_hessian(double* exact, double* gauss_newton) = 0;
  // Velocity at the end of the stage of the material point that is at x (about the origin of trial()) on a body, as the
  // motion from q_n to the trial pose has it, and its change when a coordinate moves the body with the twist xi and x
  // moves by dx.                                                                                           theory (8.7)
  virtual V3<double> point_velocity(int node, const V3<double>& x) = 0;
  virtual V3<double> point_velocity_change(int coordinate, const Twist<double>& xi, int node, const V3<double>& x,
                                           const V3<double>& dx) = 0;
  // The state at the end of the stage, time aside. False, and the state as it was: the mass matrix is singular.
  [[nodiscard]] virtual bool accept(State& state) = 0;

  double h() const { return h_; }             // [s] length of the stage
  const double* start() const { return q_; }  // q_n
  // A displacement to start the search at: where the bodies coast to, more or less.
  void coasting(Eigen::VectorXd& delta) const { delta = rest_ + h_ * coast_; }
  // What joints and contacts see of the motion, to the order of the scheme: moved/h is the rate of delta.  theory (9.4)
  const Eigen::VectorXd& moved() const { return moved_; }  // delta - joint_rest
  const Eigen::VectorXd& joint_rest() const { return joint_rest_; }
  const Eigen::VectorXd& joint_coast() const { return coast_; }
  // x <- M^-1 x at the trial pose, rotors included. False: M is singular.
  bool divide_by_mass(double* x);
  const Kinematics<double>& trial() const { return trial_; }
  // Subtree sums of the second moments at the trial pose.
  virtual const std::vector<SecondMoment<double>>& composite() = 0;

 protected:
  const Model& model_;
  const Tree& tree_;
  Kinematics<double> trial_;
  const double* q_ = nullptr;  // q_n: the state handed to begin() outlives the stage
  double h_ = 0;
  Eigen::VectorXd delta_, rest_, joint_rest_, coast_, moved_;
  ArticulatedBodyPass<double> mass_;  // scratch of divisions by the mass matrix
  Reduction<double> reduction_;
};

// r = dI/ddelta of theory (3.1): second differences of body transforms.
// theory (7.1)
class PositionBasedStage final : public Discretisation {
 public:
  explicit PositionBasedStage(const Model& model);
  void begin(const State& state, double h, const Vec3& gravity) override;
  void begin_first(const State& state, double h, const Vec3& gravity) override;
  [[nodiscard]] bool begin_second(const double* unwanted) override;
  void set_trial(const double* delta) override;
  void rate_defect(std::vector<BodyRate>& out) override;
  void residual(double* out) override;
  void jacobian(double* out) override;
  bool symmetric() const override { return true; }
  void upper_jacobian(double* out) override { hessian(out, nullptr); }
  double kinetic_energy() override;
  void kinetic_gradient(double* out) override;
  void kinetic_hessian(double* exact, double* gauss_newton) override;
  V3<double> point_velocity(int node, const V3<double>& x) override;
  V3<double> point_velocity_change(int coordinate, const Twist<double>& xi, int node, const V3<double>& x,
                                   const V3<double>& dx) override;
  [[nodiscard]] bool accept(State& state) override;
  const std::vector<SecondMoment<double>>& composite() override;

  double objective() const { return objective_; }  // I, whose gradient the residual is [J]
  // The exact Hessian of I (the upper triangle of jacobian()) and its Gauss-Newton part k M (null: not wanted).
  void hessian(double* exact, double* gauss_newton);

 private:
  void start_at(const State& state, double h, const Vec3& gravity);
  void set_targets();
  void find_bending(const State& state);
  [[nodiscard]] bool find_rates(Eigen::VectorXd& rates);
  Kinematics<double> start_;
  std::vector<BodyRate> coasting_;          // the field of velocities the bodies coast with
  PositionBased<double> inertia_, motion_;  // motion_: the same term with T^ = the pose at rest and no gravity, so K
  double objective_ = 0;
  bool has_masses_ = false;       // the sums of inertia_ belong to the trial pose
  std::vector<double> no_rates_;  // nv zeros
  // Second order only.
  bool two_stages_ = false;
  NewtonEulerPass<double> pass_;
  std::vector<BodyRate> rate_defect_;  // without the second stage
  Eigen::VectorXd bending_;  // M^-1 C(q_n, v_n): how joint rates differ from those of the straight paths of the bodies
};

// r = xi . F^c of inverse dynamics with v = delta/h, vdot = (v - v_n)/h: backward Euler in body velocities.
// theory (7.2)
class NewtonEulerStage final : public Discretisation {
 public:
  explicit NewtonEulerStage(const Model& model);
  void begin(const State& state, double h, const Vec3& gravity) override;
  void begin_first(const State& state, double h, const Vec3& gravity) override;
  [[nodiscard]] bool begin_second(const double* unwanted) override;
  void set_trial(const double* delta) override;
  void rate_defect(std::vector<BodyRate>& out) override;
  void residual(double* out) override;
  void jacobian(double* out) override;
  bool symmetric() const override { return false; }
  double kinetic_energy() override;
  void kinetic_gradient(double* out) override;
  void kinetic_hessian(double* exact, double* gauss_newton) override;
  V3<double> point_velocity(int node, const V3<double>& x) override;
  V3<double> point_velocity_change(int coordinate, const Twist<double>& xi, int node, const V3<double>& x,
                                   const V3<double>& dx) override;
  [[nodiscard]] bool accept(State& state) override;
  const std::vector<SecondMoment<double>>& composite() override;

 private:
  void need_derivatives();
  NewtonEulerPass<double> pass_;
  StageTwists<double> twists_;
  V3<double> gravity_{};
  std::vector<double> v_, vdot_;  // along the body's own axes for charts
  std::vector<double> v_coast_;
  Eigen::VectorXd rate_defect_;  // without the second stage
  bool has_derivatives_ = false;
};

}  // namespace scree
