// Parts that several kinds of files share.
#pragma once

#include <filesystem>

#include "run/hdf5.h"
#include "scree/model.h"
#include "scree/run.h"

namespace scree {

inline constexpr int kRunFormat = 3;  // 1: without /states, totals and energy_gain; 2: without /colliders

void write_model(hdf5::Writer& out, const Model& model);
Model read_model(const hdf5::Reader& in, const std::filesystem::path& file);
void write_colliders(hdf5::Writer& out, const std::vector<Collider>& colliders);
std::vector<Collider> read_colliders(const hdf5::Reader& in, const Model& model);
// /time /q /v /report /contacts /events; reading needs run.colliders.
void write_rows(hdf5::Writer& out, const Model& model, const Run& run);
void read_rows(const hdf5::Reader& in, const Model& model, Run& run);
void write_totals(hdf5::Writer& out, const RunTotals& totals);  // after the rows
RunTotals read_totals(const hdf5::Reader& in);

}  // namespace scree
