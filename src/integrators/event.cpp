// Event-driven simulation.                                                                            theory section 15
#include <fmt/format.h>

#include "integrators/workspace.h"
#include "scree/error.h"

namespace scree {

const char* event_kind_name(EventKind kind) {
  constexpr const char* kNames[] = {"impact", "impact without collision", "lift-off", "rest"};  // as EventKind
  return kNames[static_cast<int>(kind)];
}

void EventOptions::validate() const {
  const auto check = [](bool good, const char* field, auto value, const char* expected) {
    if (!good) throw InputError(fmt::format("event: {} is {}, expected {}", field, value, expected));
  };
  check(restitution >= 0 && restitution <= 1, "restitution", restitution, "a number in [0, 1]");
  check(restitution == 0 || impact_law_is_elastic(impact.law), "restitution", restitution,
        "0 with a law of friction, or one of the elastic laws");
  check(touch >= 1e-12 && touch <= 1e-3, "touch", touch, "a number in [1e-12, 1e-3] m");
  check(rest_speed >= 1e-12 && rest_speed <= 1, "rest_speed", rest_speed, "a number in [1e-12, 1] m/s");
  check(simultaneous >= 0 && simultaneous <= 1, "simultaneous", simultaneous, "a number in [0, 1] m");
  check(accuracy >= 1e-15 && accuracy <= 1e-2, "accuracy", accuracy, "a number in [1e-15, 1e-2]");
  check(max_events >= 1 && max_events <= 1'000'000'000, "max_events", max_events, "an integer in [1, 1e9]");
}

StepReport step_event(const Control&, const StepOptions&, State&, StepWorkspace::Impl&) { return {}; }

}  // namespace scree
