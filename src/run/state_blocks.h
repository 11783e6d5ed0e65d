// States in HDF5 files: /states/* of run files and state files, /cursor/* of the chunks of a run.
#pragma once

#include <string>
#include <vector>

#include "run/hdf5.h"
#include "scree/state_file.h"

namespace scree {

void write_states(hdf5::Writer& out, const std::string& group, const Model& model,
                  const std::vector<SavedState>& states);
std::vector<SavedState> read_states(const hdf5::Reader& in, const std::string& group, const Model& model);
void check_state(const Model& model, const State& state);  // throws InputError: sizes, numbers that are not finite

}  // namespace scree
