// The events of a Run: whether they fit the rest of it, and /events/* of run files.
#pragma once

#include "run/hdf5.h"
#include "run/run_contacts.h"

namespace scree {

// Laws, statuses, steps, energies, certificates and velocities belong to these.
inline bool is_impact(EventKind kind) {
  return kind == EventKind::impact || kind == EventKind::impact_without_collision;
}

// The first thing in the events that no recording has: lengths, order, indices, numbers that are not finite. `nv`: of
// the model.
std::optional<RunProblem> find_event_problem(const Run& run, int nv);

void write_events(hdf5::Writer& out, const Run& run, int nv);  // nothing if there are none
void read_events(const hdf5::Reader& in, int nv, Run& run);    // after rows, contacts and environment

}  // namespace scree
