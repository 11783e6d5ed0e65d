#include "scree/height_field_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/files.h"
#include "base/text.h"
#include "formats/height_field_png.h"
#include "scree/error.h"

namespace scree {
namespace {

namespace fs = std::filesystem;

constexpr size_t kFewest = 4, kMost = 4096;  // values along a side

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

// The text up to the next `separator`, which is removed with it.
std::string_view take(std::string_view& text, char separator) {
  const size_t end = text.find(separator);
  const std::string_view head = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return head;
}

// values(column, row from below)
Eigen::MatrixXd parse_csv(std::string_view text, const std::string& name) {
  size_t line = 0, width = 0;
  const auto fail = [&](const std::string& what) {
    throw InputError(one_line(fmt::format("{}:{}: {}", name, line, what)));
  };
  while (!text.empty() && (trimmed(text.substr(text.size() - 1)).empty() || text.back() == '\n')) text.remove_suffix(1);
  std::vector<double> values;
  while (!text.empty()) {
    ++line;
    if (line > kMost) fail(fmt::format("one line too many, expected at most {}", kMost));
    std::string_view row = trimmed(take(text, '\n'));
    const size_t cells = 1 + static_cast<size_t>(std::ranges::count(row, ','));
    if (line == 1) width = cells;
    if (row.empty()) fail(fmt::format("the line is empty, expected {} heights", width));
    if (cells > kMost) fail(fmt::format("{} cells, expected at most {}", cells, kMost));
    if (cells != width) fail(fmt::format("{} cells, expected {} as in line 1", cells, width));
    for (size_t cell = 1; cell <= cells; ++cell) {
      const std::string_view token = trimmed(take(row, ','));
      const std::optional<double> value = parse_number(token);
      if (!value || !(std::abs(*value) <= kLargestNumber))
        fail(fmt::format("cell {} is {}, expected a height in metres", cell,
                         token.empty() ? "empty" : in_quotes(token)));
      values.push_back(*value);
    }
  }
  Eigen::MatrixXd result(width, line);
  for (size_t row = 0; row < line; ++row)
    for (size_t column = 0; column < width; ++column)
      result(static_cast<Eigen::Index>(column), static_cast<Eigen::Index>(line - 1 - row)) =
          values[row * width + column];
  return result;
}

}  // namespace

HeightField load_height_field(const fs::path& file, const HeightFieldOptions& options) {
  const std::string extension = lower_extension(file), name = shown(file);
  if (extension != ".png" && extension != ".csv")
    throw InputError(
        fmt::format("{}: height field format {} is not supported, expected .png or .csv", name, in_quotes(extension)));
  const std::string bytes = read_file(file);
  Eigen::MatrixXd heights;
  if (extension == ".png") {
    if (!(options.low < options.high && options.low >= -kLargestNumber && options.high <= kLargestNumber))
      throw InputError(fmt::format("{}: low is {} and high {}, expected finite heights with low < high", name,
                                   options.low, options.high));
    heights = parse_grey_png(bytes, name, kMost);
    heights = (options.low + (options.high - options.low) * heights.array()).matrix();
  } else {
    heights = parse_csv(bytes, name);
  }
  if (heights.rows() < static_cast<Eigen::Index>(kFewest) || heights.cols() < static_cast<Eigen::Index>(kFewest))
    throw InputError(fmt::format("{}: {} columns and {} rows, expected at least {} of each", name, heights.rows(),
                                 heights.cols(), kFewest));
  try {
    return HeightField(heights, options.origin, options.spacing);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", name, error.what()));
  }
}

}  // namespace scree
