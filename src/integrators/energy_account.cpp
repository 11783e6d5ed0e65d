#include "integrators/energy_account.h"

#include <algorithm>
#include <cmath>

namespace scree {
namespace {

constexpr double kSafety = 0.9;      // of step sizes
constexpr double kRounding = 1e-14;  // of energies: 50 roundings

}  // namespace

double EnergyAccount::shortest() const { return std::ldexp(options_.dt, -options_.max_halvings); }

void EnergyAccount::open(const Energy& start, double weight_energy) {
  start_ = start;
  weight_energy_ = weight_energy;
}

bool EnergyAccount::balance(double h, const Energy& trial, double work, double heat, double& next) {
  trial_ = trial;
  imbalance_ = (trial_.kinetic - start_.kinetic) + (trial_.potential - start_.potential) - work;
  const double rounding =
      kRounding * (trial_.kinetic + start_.kinetic + std::abs(trial_.potential) + std::abs(start_.potential));
  const double there = std::max(trial_.kinetic, start_.kinetic) + weight_energy_;
  const double allowed = event_.energy_accuracy * (std::max(h, shortest()) / options_.dt * there + heat);
  const double excess = std::max(0.0, std::abs(imbalance_) - rounding);
  imbalance_part_ = excess > 0 ? excess / allowed : 0;
  next = h * std::clamp(kSafety / std::sqrt(imbalance_part_), 0.1, kSafety);  // the part is proportional to h^2
  if (!(imbalance_part_ > 1)) return true;
  if (next >= shortest()) return false;
  ++report_.inaccurate;
  return true;
}

// The nearest velocity, in the metric of the mass matrix, that has not gained.
double EnergyAccount::close(double h, bool take_out, double growth) {
  report_.energy_error = std::max(report_.energy_error, imbalance_part_);
  double gain = std::max(0.0, imbalance_), factor = 1;
  if (take_out && gain > 0) {
    const double taken = std::min(gain, trial_.kinetic);
    if (trial_.kinetic > 0) factor = std::sqrt(1 - taken / trial_.kinetic);
    gain -= taken;
  }
  report_.energy_gain += gain;
  // Steps cut short by an event promise nothing.
  if (h >= shortest()) longest_next_ = std::max(shortest(), h * std::min(growth, kSafety / std::sqrt(imbalance_part_)));
  return factor;
}

}  // namespace scree
