#include "base/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace scree {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Length of the UTF-8 sequence at the start of `text`, 0 if there is none (overlong forms and surrogates included).
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  unsigned code = lead & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0u) != 0x80u) return 0;
    code = code << 6 | (byte(i) & 0x3Fu);
  }
  constexpr unsigned kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code >= kSmallest[length] && code <= 0x10FFFF && !surrogate ? length : 0;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

}  // namespace

std::optional<double> parse_number(std::string_view token) {
  if (token.size() > 1 && token[0] == '+' && token[1] != '-') token.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (error != std::errc() || end != token.data() + token.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> tokens;
  for (size_t i = 0; i < text.size();) {
    if (is_space(text[i])) {
      ++i;
      continue;
    }
    const size_t start = i;
    while (i < text.size() && !is_space(text[i])) ++i;
    tokens.push_back(text.substr(start, i - start));
  }
  return tokens;
}

std::string in_quotes(std::string_view value) { return '"' + one_line(value, 60) + '"'; }

std::string one_line(std::string_view text, size_t longest) {
  std::string line;
  size_t i = 0;
  while (i < text.size() && line.size() < longest) {
    const size_t length = utf8_length(text.substr(i));
    if (length == 0 || is_control(text[i])) {
      line += text[i] == '\n' || text[i] == '\t' ? ' ' : '?';
      ++i;
    } else {
      line += text.substr(i, length);
      i += length;
    }
  }
  if (i < text.size()) line += "...";
  return line;
}

size_t find_unclean(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8_length(text.substr(i));
    if (length == 0 || (is_control(text[i]) && !is_space(text[i]))) return i;
    i += length;
  }
  return std::string_view::npos;
}

int line_at(std::string_view text, size_t offset) {
  return 1 + static_cast<int>(std::ranges::count(text.substr(0, std::min(offset, text.size())), '\n'));
}

}  // namespace scree
