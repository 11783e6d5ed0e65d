// Options of a step: the names of their values, and which values they may have.
#include <fmt/format.h>

#include <cmath>
#include <span>

#include "integrators/traits.h"
#include "scree/error.h"

namespace scree {
namespace {

// In the order of the enumerators.
constexpr const char* kDissipationNames[] = {"contact", "total", "effective"};
constexpr const char* kContactSolverNames[] = {"newton", "pgm"};
constexpr const char* kOptimizerNames[] = {"jtj-lm", "lm", "lbfgs"};

template <class Enum> Enum from_name(const char* option, std::span<const char* const> names, std::string_view name) {
  for (size_t k = 0; k < names.size(); ++k)
    if (name == names[k]) return static_cast<Enum>(k);
  throw InputError(fmt::format("{} \"{}\" is unknown, expected one of: {}", option, name, fmt::join(names, ", ")));
}

}  // namespace

const char* dissipation_name(Dissipation dissipation) { return kDissipationNames[static_cast<int>(dissipation)]; }
Dissipation dissipation_from_name(std::string_view name) {
  return from_name<Dissipation>("dissipation", kDissipationNames, name);
}

const char* contact_solver_name(ContactSolver solver) { return kContactSolverNames[static_cast<int>(solver)]; }
ContactSolver contact_solver_from_name(std::string_view name) {
  return from_name<ContactSolver>("solver", kContactSolverNames, name);
}

const char* optimizer_name(Optimizer optimizer) { return kOptimizerNames[static_cast<int>(optimizer)]; }
Optimizer optimizer_from_name(std::string_view name) {
  return from_name<Optimizer>("optimizer", kOptimizerNames, name);
}

const char* step_status_name(StepStatus status) {
  return status == StepStatus::converged ? "converged" : "not converged";
}

void check_optimizer(const StepOptions& options) {
  const IntegratorTraits& row = traits(options.integrator);
  if (options.optimizer == Optimizer::lm && row.contact == ContactKind::smooth && !row.from_energy())
    throw InputError(fmt::format(
        "step: optimizer is lm, expected jtj-lm or lbfgs with integrator \"{}\", which minimises 1/2 |R|^2", row.name));
}

void StepOptions::validate() const {
  const auto check = [](bool good, const char* field, auto value, const char* expected) {
    if (!good) throw InputError(fmt::format("step: {} is {}, expected {}", field, value, expected));
  };
  check(dt >= 1e-9 && dt <= 10, "dt", dt, "a number in [1e-9, 10] s");
  check(tolerance > 0 && tolerance <= 1e6, "tolerance", tolerance, "a number in (0, 1e6] m/s^2");
  check(max_iterations >= 1 && max_iterations <= 100000, "max_iterations", max_iterations, "an integer in [1, 100000]");
  check(max_halvings >= 0 && max_halvings <= 30, "max_halvings", max_halvings, "an integer in [0, 30]");
  check(max_turn > 0 && max_turn <= 1, "max_turn", max_turn, "a number in (0, 1] rad");
  check(accuracy >= 0 && accuracy <= 1, "accuracy", accuracy, "a number in [0, 1] m");
  check(max_outer >= 1 && max_outer <= 100000, "max_outer", max_outer, "an integer in [1, 100000]");
  event.validate();
  check_optimizer(*this);
}

}  // namespace scree
