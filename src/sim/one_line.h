// Messages and table cells must stay on one line and must not steer the terminal.
#pragma once

#include <algorithm>
#include <string>

namespace scree {

// Control characters replaced by blanks.
inline std::string one_line(std::string_view text) {
  std::string line(text);
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  std::replace_if(line.begin(), line.end(), is_control, ' ');
  return line;
}

}  // namespace scree
