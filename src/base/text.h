// What every reader here needs of plain text: strict numbers, clean one-line messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace scree {

inline constexpr double kLargestNumber = 1e12;  // SI; ModelBuilder draws the same line

// The whole token as a finite number, '.' as the decimal point whatever the locale, a leading '+' allowed.
std::optional<double> parse_number(std::string_view token);
// Tokens between spaces, tabs and line ends.
std::vector<std::string_view> split(std::string_view text);
// The value in quotes, shortened, for a message.
std::string in_quotes(std::string_view value);
// One line of valid UTF-8 of reasonable length, whatever the file put into it.
std::string one_line(std::string_view text, size_t longest = 600);
// The first byte that is not UTF-8 or is a control character other than tab and line ends; npos if there is none.
size_t find_unclean(std::string_view text);
// The 1-based line of an offset.
int line_at(std::string_view text, size_t offset);

}  // namespace scree
