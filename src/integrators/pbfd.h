#pragma once

#include "integrators/lanes.h"

namespace scree {

StepReport to_step_report(const LaneReport& report);

// The step of pbfd and pbfd-coulomb: the state goes through a machine of one lane, the same that runs batches.
class SmoothStepper final : public ModelLaneHost {
 public:
  SmoothStepper(const Model& model, const World& world);
  // Advances all of `state` but its time by options.dt. Energies are left to the caller.
  StepReport step(const Control& control, const StepOptions& options, State& state, std::vector<Contact>& contacts);

 private:
  bool next(LaneStart& start) override;
  double step_length(int id, double& time) override;
  void targets(int id, double time, double* target, double* target_velocity) override;
  void stepped(int id, const LaneReport& report, const double* q, const double* v, const double* body_rates) override;
  bool wants_contacts() const override { return true; }
  void clear_contacts() override { contacts_->clear(); }
  void touches(int pair, const V3<double>& position, const V3<double>& normal, const V3<double>& force,
               double depth) override;

  LaneSetup setup_;
  std::unique_ptr<LaneMachine> machine_;
  SmoothCoefficients<double> coefficients_{};
  const Control* control_ = nullptr;
  Control moving_{model_};
  State* state_ = nullptr;
  std::vector<Contact>* contacts_ = nullptr;
  double dt_ = 0;
  bool given_ = false;
  StepReport report_;
};

}  // namespace scree
