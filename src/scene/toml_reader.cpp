#include "scene/toml_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

#include "base/files.h"
#include "base/names.h"

namespace scree {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLargestScene = 16u << 20;  // [bytes]
constexpr int kLongestKey = 32;              // parts of a dotted key; scenes need 4

// What toml++ 3.3 must not be given, found before it parses:
// - control characters and bytes that are not UTF-8; anything but ASCII outside strings and comments, where TOML has
//   none: what the parser does with a value that begins with such a letter is undefined;
// - a header whose first character cannot begin a key, `[;`: the parser assumes that it can;
// - a brace that closes a bracket, `[0, }`: the parser takes it for a value;
// - keys of very many parts: the parser bounds nested values but not keys, and frees its tables recursively, so that a
//   key of 100000 parts would overflow the stack.
class TomlGuard {
 public:
  explicit TomlGuard(std::string_view text) : text_(text) {}

  struct Problem {
    int line;
    std::string what;
  };
  std::optional<Problem> find() {
    if (const size_t bad = find_unclean(text_); bad != std::string_view::npos)
      return Problem{line_at(text_, bad),
                     fmt::format("byte 0x{:02x} does not belong into a text, expected TOML in UTF-8",
                                 static_cast<unsigned char>(text_[bad]))};
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;  // byte order mark
    for (; at_ < text_.size(); ++at_)
      if (const std::string what = step(text_[at_]); !what.empty()) return Problem{line_, what};
    return std::nullopt;
  }

 private:
  // Takes the character at `at_`, with the rest of a string or comment it begins. Empty: nothing is wrong.
  std::string step(char c) {
    if (static_cast<unsigned char>(c) >= 0x80)
      return fmt::format("{} outside a string, expected ASCII", in_quotes(text_.substr(at_, 4)));
    if (c == '.' && ++parts_ > kLongestKey) return fmt::format("a key has more than {} parts", kLongestKey);
    if (c == '[' && fresh_ && open_.empty()) {
      if (const std::string what = take_header_start(); !what.empty()) return what;
    } else if (c == '[' || c == '{') {
      open_ += c;
    }
    if ((c == ']' || c == '}') && !open_.empty()) {  // none open: the end of a header, or the parser's to refuse
      if ((c == ']') != (open_.back() == '['))
        return fmt::format("\"{}\" closes \"{}\", expected \"{}\"", c, open_.back(), open_.back() == '[' ? ']' : '}');
      open_.pop_back();
    }
    if (c == '\n') ++line_;
    if (c == '\n' || c == '=' || c == ',' || c == '[' || c == '{') parts_ = 1;
    fresh_ = c == '\n' || (fresh_ && (c == ' ' || c == '\t'));
    if (c == '#') at_ = std::min(text_.find('\n', at_), text_.size()) - 1;
    if (c == '"' || c == '\'') skip_string(c);
    return "";
  }

  // To the last bracket of [ or [[ at the beginning of a line; it does not count as open.
  std::string take_header_start() {
    if (text_.substr(at_ + 1).starts_with('[')) ++at_;
    const size_t key = text_.find_first_not_of(" \t", at_ + 1);
    if (key == std::string_view::npos) return "";
    const unsigned char c = static_cast<unsigned char>(text_[key]);
    if (std::isalnum(c) || std::string_view("_-\"'").find(text_[key]) != std::string_view::npos) return "";
    return fmt::format("a header begins with {}, expected a key", in_quotes(text_.substr(key, 1)));
  }

  void skip_string(char quote_mark) {
    const bool multiline = text_.substr(at_, 3) == std::string(3, quote_mark);
    const std::string quote(multiline ? 3u : 1u, quote_mark);
    for (at_ += quote.size(); at_ < text_.size() && text_.substr(at_, quote.size()) != quote; ++at_) {
      if (text_[at_] == '\n') ++line_;
      if (text_[at_] == '\\' && quote_mark == '"') ++at_;
    }
    at_ += quote.size() - 1;
    for (int k = 0; k < 2 && multiline && at_ + 1 < text_.size() && text_[at_ + 1] == quote_mark; ++k) ++at_;  // """""
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1, parts_ = 1;
  std::string open_;   // brackets and braces
  bool fresh_ = true;  // nothing but blanks since the line began
};

std::string shown(const toml::node& node) {
  if (const auto* s = node.as_string()) return in_quotes(s->get());
  if (const auto* i = node.as_integer()) return fmt::format("{}", i->get());
  if (const auto* f = node.as_floating_point()) return fmt::format("{}", f->get());
  if (const auto* b = node.as_boolean()) return b->get() ? "true" : "false";
  if (const auto* a = node.as_array()) return fmt::format("an array of {}", a->size());
  return node.is_table() ? "a table" : "a date or time";
}

}  // namespace

toml::table parse_toml_file(const fs::path& file, std::string& text) {
  text = read_file(file);
  return parse_toml(text, file.string());
}

toml::table parse_toml(const std::string& text, const std::string& name) {
  if (text.size() > kLargestScene)
    throw InputError(fmt::format("{}: is {} bytes, expected at most {}", name, text.size(), kLargestScene));
  if (const auto problem = TomlGuard(text).find())
    throw InputError(one_line(fmt::format("{}:{}: {}", name, problem->line, problem->what)));
  try {
    return toml::parse(std::string_view(text), std::string_view(name));
  } catch (const toml::parse_error& error) {
    throw InputError(fmt::format("{}:{}:{}: {}", name, error.source().begin.line, error.source().begin.column,
                                 one_line(error.description())));
  }
}

TomlReader::TomlReader(const toml::table& table, std::string file, std::string name)
    : table_(&table), file_(std::move(file)), name_(std::move(name)) {}

std::optional<double> TomlReader::number(const std::string& key, double largest) const {
  const toml::node* node = table_->get(key);
  return node ? std::optional(to_number(key, *node, largest)) : std::nullopt;
}

std::optional<int> TomlReader::integer(const std::string& key) const {
  const toml::node* node = table_->get(key);
  if (!node) return {};
  const auto* value = node->as_integer();
  if (!value || std::abs(static_cast<double>(value->get())) > std::numeric_limits<int>::max())
    fail_type(key, *node, "a whole number");
  return static_cast<int>(value->get());
}

std::optional<bool> TomlReader::boolean(const std::string& key) const {
  const toml::node* node = table_->get(key);
  if (!node) return {};
  if (!node->is_boolean()) fail_type(key, *node, "true or false");
  return node->as_boolean()->get();
}

std::optional<std::string> TomlReader::string(const std::string& key) const {
  const toml::node* node = table_->get(key);
  if (!node) return {};
  if (!node->is_string()) fail_type(key, *node, "a string");
  const std::string& value = node->as_string()->get();
  if (find_unclean(value) != std::string::npos || value.find_first_of("\t\r\n") != std::string::npos)
    fail_type(key, *node, "no control characters");
  return value;
}

std::optional<std::vector<std::string>> TomlReader::strings(const std::string& key) const {
  const toml::node* node = table_->get(key);
  if (!node) return {};
  if (!node->is_array()) fail_type(key, *node, "an array of strings");
  std::vector<std::string> values;
  for (const toml::node& item : *node->as_array()) {
    if (!item.is_string()) fail_type(key, item, "an array of strings");
    values.push_back(item.as_string()->get());
  }
  return values;
}

std::optional<TomlReader> TomlReader::table(const std::string& key) const {
  const toml::node* node = table_->get(key);
  if (!node) return {};
  if (!node->is_table()) fail_type(key, *node, "a table");
  return TomlReader(*node->as_table(), file_, name_.empty() ? key : name_ + "." + key);
}

std::vector<TomlReader> TomlReader::tables(const std::string& key) const {
  const toml::node* node = table_->get(key);
  if (!node) return {};
  const toml::array* array = node->as_array();
  if (!array) fail_type(key, *node, fmt::format("tables headed [[{}]]", key));
  std::vector<TomlReader> result;
  for (const toml::node& item : *array) {
    if (!item.is_table()) fail_type(key, item, "a table");
    result.emplace_back(*item.as_table(), file_,
                        fmt::format("{}{}[{}]", name_.empty() ? "" : name_ + ".", key, result.size()));
  }
  return result;
}

std::optional<std::vector<double>> TomlReader::numbers(const std::string& key, int count, double largest) const {
  const toml::node* node = table_->get(key);
  if (!node) return {};
  if (count == 1) return std::vector<double>{to_number(key, *node, largest)};
  const toml::array* array = node->as_array();
  if (!array || array->size() != static_cast<size_t>(count))
    fail_type(key, *node, fmt::format("an array of {} numbers", count));
  std::vector<double> values;
  for (const toml::node& item : *array) values.push_back(to_number(key, item, largest));
  return values;
}

std::optional<std::vector<double>> TomlReader::list(const std::string& key) const {
  const toml::node* node = table_->get(key);
  if (!node) return {};
  if (!node->is_array()) fail_type(key, *node, "an array of numbers");
  std::vector<double> values;
  for (const toml::node& item : *node->as_array()) values.push_back(to_number(key, item));
  return values;
}

std::optional<std::vector<std::vector<double>>> TomlReader::rows(const std::string& key) const {
  const toml::node* node = table_->get(key);
  if (!node) return {};
  if (!node->is_array()) fail_type(key, *node, "an array of rows");
  std::vector<std::vector<double>> result;
  for (const toml::node& row : *node->as_array()) {
    if (!row.is_array()) fail_type(key, row, fmt::format("row {} to be an array of numbers", result.size()));
    std::vector<double>& values = result.emplace_back();
    for (const toml::node& item : *row.as_array()) values.push_back(to_number(key, item));
    if (values.size() != result[0].size())
      fail(key, fmt::format("row {} has {} numbers, expected {} as row 0", result.size() - 1, values.size(),
                            result[0].size()));
  }
  return result;
}

std::vector<std::string> TomlReader::keys() const {
  std::vector<std::pair<toml::source_position, std::string>> found;  // the table itself sorts by name
  for (const auto& [key, node] : *table_) found.emplace_back(key.source().begin, std::string(key.str()));
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (auto& [position, key] : found) names.push_back(std::move(key));
  return names;
}

void TomlReader::check_keys(const std::vector<std::string>& known) const {
  for (const std::string& key : keys())
    if (std::find(known.begin(), known.end(), key) == known.end()) fail(key, "unknown key" + suggestion(key, known));
}

void TomlReader::require(const std::string& key) const {
  if (table_->contains(key)) return;
  if (!name_.empty()) fail(key, "required key is missing");
  throw InputError(fmt::format("{}: required key \"{}\" is missing", file_, key));
}

void TomlReader::fail(const std::string& key, const std::string& what) const {
  const auto entry = table_->find(key);
  const auto line = entry == table_->end() ? table_->source().begin.line : entry->first.source().begin.line;
  const std::string full_key = name_.empty() ? key : name_ + "." + key;
  throw InputError(one_line(fmt::format("{}:{}: {}: {}", file_, line, full_key, what)));
}

double TomlReader::to_number(const std::string& key, const toml::node& node, double largest) const {
  if (!node.is_number()) fail_type(key, node, "a number");
  const double value =
      node.is_integer() ? static_cast<double>(node.as_integer()->get()) : node.as_floating_point()->get();
  if (!(std::abs(value) <= largest)) fail_type(key, node, fmt::format("a finite number of at most {:g}", largest));
  return value;
}

void TomlReader::fail_type(const std::string& key, const toml::node& node, const std::string& expected) const {
  fail(key, fmt::format("{}, expected {}", shown(node), expected));
}

}  // namespace scree
