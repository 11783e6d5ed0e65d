// Greyscale PNG as a matrix of numbers.
#pragma once

#include <Eigen/Core>
#include <string>
#include <string_view>

namespace scree {

// values(column, row from below) in [0, 1], 8 or 16 bits. At most `most` pixels along a side. Throws InputError with
// `name` in front.
Eigen::MatrixXd parse_grey_png(std::string_view bytes, const std::string& name, unsigned most);

}  // namespace scree
