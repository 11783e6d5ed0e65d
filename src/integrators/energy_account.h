// The account of energy that a step of `event` keeps: what its energy has changed by, less the work done on it.
#pragma once

#include <limits>

#include "scree/step.h"

namespace scree {

class EnergyAccount {
 public:
  struct Energy {
    double kinetic = 0, potential = 0;  // [J]
  };
  EnergyAccount(const StepOptions& options, const EventOptions& event, StepReport& report)
      : options_(options), event_(event), report_(report) {}

  // At the start of a substep; `weight_energy` [J]: weight times size of the robot.
  void open(const Energy& start, double weight_energy);
  // A try of h that ends with `trial`, had `work` [J] done on it and made `heat` [J] by friction: does it add up to
  // energy_accuracy? False: `next` [s] would. The shortest substep is taken as it is, and counted.   theory (15.10)
  bool balance(double h, const Energy& trial, double work, double heat, double& next);
  // The last try is accepted. Where gains are taken out: by what its velocity is to be multiplied.    theory (15.11)
  double close(double h, bool take_out, double growth);
  // The next substep of this step is no longer than what promises to be accurate [s]. A new step knows the state alone.
  double longest_next() const { return longest_next_; }

 private:
  double shortest() const;  // [s]

  const StepOptions& options_;
  const EventOptions& event_;
  StepReport& report_;
  Energy start_, trial_;
  double weight_energy_ = 0;
  double imbalance_ = 0;       // [J] of the try
  double imbalance_part_ = 0;  // of what is allowed
  double longest_next_ = std::numeric_limits<double>::infinity();
};

}  // namespace scree
