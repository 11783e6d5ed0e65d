// The one colour that stands for an image.
#pragma once

#include <string>
#include <string_view>

#include "formats/mesh_builder.h"

namespace scree {

// Mean of a PNG or JPEG: red, green and blue by their light (linear, not as coded), opacity as it is. Throws InputError
// with `name` in front.
Colour mean_colour(std::string_view bytes, const std::string& name);

// Between numbers as coded (sRGB) and amounts of light, both in [0, 1].
double light_of(double coded);
double coded_of(double light);

}  // namespace scree
