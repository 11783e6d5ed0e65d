// Steps with contact as a smooth force: one trajectory in one lane.                                  theory section 11
#include "integrators/pbfd.h"

#include <utility>

#include "math/eigen.h"

namespace scree {

SmoothStepper::SmoothStepper(const Model& model, const World& world)
    : ModelLaneHost(model, world, 1), setup_(make_lane_setup(model, world)), machine_(make_lanes(1, setup_)) {}

StepReport SmoothStepper::step(const Control& control, const StepOptions& options, State& state,
                               std::vector<Contact>& contacts) {
  update_setup(options, world_, setup_);
  coefficients_ = smooth_coefficients(pairs_, world_.surface.friction, world_.smooth);
  control_ = &control, state_ = &state, contacts_ = &contacts;
  dt_ = options.dt;
  given_ = false;
  report_ = {};
  machine_->run(*this);
  if (!report_.converged()) contacts.clear();
  return report_;
}

bool SmoothStepper::next(LaneStart& start) {
  if (given_) return false;
  given_ = true;
  static_assert(sizeof(Mat34) == 12 * sizeof(double));
  start = {0,
           state_->q.data(),
           state_->v.data(),
           state_->body_rates.empty() ? nullptr : state_->body_rates.front().data(),
           control_->kp.data(),
           control_->kd.data(),
           control_->torque.data(),
           coefficients_};
  return true;
}

double SmoothStepper::step_length(int, double& time) {
  time = state_->time;
  return std::exchange(dt_, 0);
}

void SmoothStepper::targets(int, double time, double* target, double* target_velocity) {
  const Control* control = control_;
  if (control->motion) {
    moving_ = *control;
    control->motion->sample(time, moving_.target, moving_.target_velocity);
    control = &moving_;
  }
  std::copy(control->target.begin(), control->target.end(), target);
  std::copy(control->target_velocity.begin(), control->target_velocity.end(), target_velocity);
}

void SmoothStepper::stepped(int, const LaneReport& r, const double* q, const double* v, const double* body_rates) {
  report_ = to_step_report(r);
  if (!r.converged) return;
  std::copy(q, q + state_->q.size(), state_->q.begin());
  std::copy(v, v + state_->v.size(), state_->v.begin());
  state_->body_rates.resize(body_rates ? model_.bodies().size() : 0);
  for (size_t i = 0; i < state_->body_rates.size(); ++i)
    std::copy(body_rates + 12 * i, body_rates + 12 * (i + 1), state_->body_rates[i].data());
  state_->last_step = r.last_step;
}

void SmoothStepper::touches(int pair, const V3<double>& position, const V3<double>& normal, const V3<double>& force,
                            double depth) {
  contacts_->push_back(contact(pair, position, normal, force, depth));
}

StepReport to_step_report(const LaneReport& r) {
  StepReport report;
  report.status = r.converged ? StepStatus::converged : StepStatus::not_converged;
  report.iterations = r.iterations;
  report.substeps = r.substeps;
  report.rejected = r.rejected;
  report.stages = r.stages;
  report.damped = r.damped;
  report.stationary = r.stationary;
  report.smallest_step = r.smallest_step;
  report.largest_step = r.largest_step;
  report.residual = r.residual;
  report.contacts = r.contacts;
  report.penetration = r.penetration;
  return report;
}

}  // namespace scree
