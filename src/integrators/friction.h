// The optimisers of Table I of the PBFD paper that do not run in lanes, on one interface.                theory (11.12)
//
//             E, whose gradient is R                GE = 1/2 sum r_a^2 / M_aa
//   lm        Newton's method, exact Hessian        not offered: needs third derivatives
//   jtj-lm    its positive semidefinite part        in lanes (integrators/lockstep.h)
//   lbfgs     gradient R                            gradient J^T W R
//
// E belongs to pbd-friction, GE to pbfd and pbfd-coulomb.
#pragma once

#include "integrators/lanes.h"
#include "integrators/smooth_stage.h"
#include "solvers/tree_cholesky.h"

namespace scree {

struct FrictionResult {
  bool converged = false;
  int iterations = 0, stages = 0, damped = 0, stationary = 0;
  double residual = std::numeric_limits<double>::quiet_NaN();  // [m/s^2, rad/s^2] where the try ended
};

// One try of a substep. Only lbfgs allocates: its library does, by call.
class FrictionSolver final : public ModelLaneHost {
 public:
  FrictionSolver(const Model& model, const World& world);

  // Control at a time after the start of the substep [s]. The next call may reuse the object.
  struct ControlSource {
    virtual ~ControlSource() = default;
    virtual const Control& at(double after) = 0;
  };
  FrictionResult substep(ControlSource& control, const StepOptions& options, double h, State& state,
                         std::vector<Contact>& contacts);

 private:
  bool solve_stage(const StepOptions& options, FrictionResult& result);
  bool minimise_by_newton(const StepOptions& options, FrictionResult& result);
  bool minimise_by_lbfgs(const StepOptions& options, FrictionResult& result);

  void load_control(const Control& control);
  void evaluate(const std::vector<double>& delta);
  double fall() const;  // [J] of the energy from `from_` to the trial
  void keep();          // the trial becomes `from_`
  void hessian(bool exact);
  void add_contact_hessian();
  void merit_gradient(double* out);
  double merit_slope();
  double objective(const double* x, double* gradient);
  struct Search;

  // What lanes ask of a host and one trajectory does not.
  bool next(LaneStart&) override { return false; }
  double step_length(int, double&) override { return 0; }
  void targets(int, double, double*, double*) override {}
  void stepped(int, const LaneReport&, const double*, const double*, const double*) override {}
  bool wants_contacts() const override { return true; }
  void touches(int pair, const V3<double>& position, const V3<double>& normal, const V3<double>& force,
               double depth) override;

  LaneSetup setup_;
  SmoothStage<double> stage_;
  size_t n_;
  std::vector<Contact>* contacts_ = nullptr;
  struct Point {
    std::vector<double> delta, gradient;
    double value = 0;
  } from_;
  std::vector<double> trial_, step_, scale_;
  std::vector<double> hessian_, shift_, shifted_;  // upper triangles, column-major
  std::vector<size_t> path_;  // the coordinates that move a point, and by each of them its depth and where it slips
  std::vector<double> by_depth_, by_slip_, by_side_;
  TreeCholesky cholesky_;
  bool energy_ = false;  // else GE
};

}  // namespace scree
