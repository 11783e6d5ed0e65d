// Parts that several kinds of files share.
#pragma once

#include <filesystem>

#include "run/hdf5.h"
#include "scree/environment.h"
#include "scree/model.h"
#include "scree/run.h"

namespace scree {

inline constexpr int kRunFormat = 2;  // 1: without /states, totals and energy_gain

void write_model(hdf5::Writer& out, const Model& model);
Model read_model(const hdf5::Reader& in, const std::filesystem::path& file);
void write_environment(hdf5::Writer& out, const Environment& environment);
Environment read_environment(const hdf5::Reader& in);
// /time /q /v /report /contacts /events; reading needs run.environment.
void write_rows(hdf5::Writer& out, const Model& model, const Run& run);
void read_rows(const hdf5::Reader& in, int format, const Model& model, Run& run);  // `format`: 1 to kRunFormat
void write_totals(hdf5::Writer& out, const RunTotals& totals);                     // after the rows
RunTotals read_totals(const hdf5::Reader& in);

}  // namespace scree
