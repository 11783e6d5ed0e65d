#include "run/run_events.h"

namespace scree {

EventSummary summarise_events(const Run& run) {
  EventSummary summary;
  for (const Event& event : run.events) {
    switch (event.kind) {
      case EventKind::impact_without_collision:
        ++summary.without_collision;
        [[fallthrough]];
      case EventKind::impact:
        ++summary.impacts;
        summary.certified += event.certificate && event.certificate->holds ? 1 : 0;
        summary.energy_lost += event.energy_before - event.energy_after;
        break;
      case EventKind::lift_off:
        ++summary.lift_offs;
        break;
      case EventKind::rest:
        ++summary.rests;
        break;
    }
  }
  return summary;
}

}  // namespace scree
