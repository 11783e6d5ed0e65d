// What the events of a Run come to.
#pragma once

#include "scree/run.h"

namespace scree {

struct EventSummary {
  size_t impacts = 0;            // those without collision included
  size_t without_collision = 0;  // Painleve
  size_t rests = 0, lift_offs = 0;
  size_t certified = 0;    // impacts whose certificate holds
  double energy_lost = 0;  // [J] kinetic, by impacts
};
EventSummary summarise_events(const Run& run);

}  // namespace scree
