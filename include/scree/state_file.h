// States on disk: all that a step needs from the past, so that a run goes on with the same bits. docs/run-files.md.
#pragma once

#include <filesystem>
#include <optional>

#include "scree/state.h"

namespace scree {

// A state in the course of a run.
struct SavedState {
  double label = 0;  // [s] the time it was asked for; the state is that of the first step that ends then or later
  State state;
  double next_step = 0;  // [s] what run_scene tries next where the step follows from the accuracy; 0: none
};

// An HDF5 file, sealed with length and checksum, written under a temporary name and renamed. Throws InputError: the
// state does not fit the model; WriteError.
void save_state(const std::filesystem::path& file, const Model& model, const State& state);

// From such a file, or from a run file: the state saved for `time` [s], or the last one. Throws InputError: no such
// file or time, damaged, of another version, or of a model with other coordinates.
State load_state(const std::filesystem::path& file, const Model& model, std::optional<double> time = {});
SavedState load_saved_state(const std::filesystem::path& file, const Model& model, std::optional<double> time = {});

}  // namespace scree
