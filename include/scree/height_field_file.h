// Height fields from files.
#pragma once

#include <filesystem>

#include "scree/collider.h"

namespace scree {

// A file reads as a map: +x to the right, +y up, `origin` at the lower left value.
struct HeightFieldOptions {
  Eigen::Vector2d origin = Eigen::Vector2d::Zero();  // [m]
  double spacing = 0;                                // > 0 [m] between neighbouring values
  double low = 0, high = 0;                          // low < high [m], PNG only: heights of black and white
};

// By extension (any case): .png, greyscale with 8 or 16 bits; .csv, heights [m] with commas, one row per line. Holes
// (empty cells, nan, transparent pixels), ragged rows and sizes beyond 4 x 4 to 4096 x 4096 throw InputError: file,
// line or pixel, what came, what was expected.
HeightField load_height_field(const std::filesystem::path& file, const HeightFieldOptions& options);

}  // namespace scree
