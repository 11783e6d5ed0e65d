// Parts that run files and batch files share: /model and /environment.
#pragma once

#include <filesystem>

#include "scree/environment.h"
#include "scree/model.h"
#include "sim/hdf5.h"

namespace scree {

void write_model(hdf5::Writer& out, const Model& model);
Model read_model(const hdf5::Reader& in, const std::filesystem::path& file);
void write_environment(hdf5::Writer& out, const Environment& environment);
Environment read_environment(const hdf5::Reader& in);

}  // namespace scree
