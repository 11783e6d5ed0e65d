#include "formats/xml_element.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/names.h"
#include "base/text.h"

namespace scree {
namespace {

std::optional<std::vector<double>> read_numbers(std::string text, bool commas) {
  if (commas) std::ranges::replace(text, ',', ' ');
  std::vector<double> values;
  for (const std::string_view word : split(text)) {
    const std::optional<double> value = parse_number(word);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

// "inf" with a sign or none, or a number beyond kLargestNumber, which may be beyond double as well.
std::optional<double> read_infinity(std::string_view word) {
  const double sign = word.starts_with('-') ? -1 : 1;
  const auto infinity = sign * std::numeric_limits<double>::infinity();
  if (const std::optional<double> value = parse_number(word))
    return std::abs(*value) > kLargestNumber ? std::optional(infinity) : std::nullopt;
  if (word.starts_with('+') || word.starts_with('-')) word.remove_prefix(1);
  std::string lower(word);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (lower == "inf" || lower == "infinity") return infinity;
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  const bool overflows = error == std::errc::result_out_of_range && end == word.data() + word.size() &&
                         lower.find("e-") == std::string::npos;
  return overflows ? std::optional(infinity) : std::nullopt;
}

}  // namespace

void Element::map(const char* attribute, std::string_view note) const {
  if (const pugi::xml_attribute a = node_.attribute(attribute)) ledger_->map(a, note);
}
void Element::ignore(const char* attribute, std::string_view why) const {
  if (const pugi::xml_attribute a = node_.attribute(attribute)) ledger_->ignore(a, why);
}
void Element::reject(const char* attribute, std::string_view why) const {
  if (const pugi::xml_attribute a = node_.attribute(attribute)) ledger_->reject(a, why);
}

void Element::repair(const char* attribute, std::string_view problem, std::string_view cure) const {
  if (const pugi::xml_attribute a = node_.attribute(attribute)) ledger_->repair(a, problem, cure);
}

std::optional<Element> Element::only(const char* tag, std::string_view note) const {
  const pugi::xml_node child = node_.child(tag);
  if (!child) return std::nullopt;
  ledger_->map(child, note);
  for (pugi::xml_node next = child.next_sibling(tag); next; next = next.next_sibling(tag))
    ledger_->drop(next, fmt::format("another <{}>, expected at most one in <{}>", tag, node_.name()),
                  "the first one counts");
  return Element(child, *ledger_);
}

std::optional<Element> Element::required(const char* tag, std::string_view note) const {
  std::optional<Element> child = only(tag, note);
  if (!child) reject(fmt::format("has no <{}>", tag));
  return child;
}

std::vector<Element> Element::all(const char* tag, std::string_view note) const {
  std::vector<Element> elements;
  for (pugi::xml_node child : node_.children(tag)) {
    ledger_->map(child, note);
    elements.emplace_back(child, *ledger_);
  }
  return elements;
}

std::vector<Element> Element::all() const {
  std::vector<Element> elements;
  for (pugi::xml_node child : node_.children())
    if (child.type() == pugi::node_element) elements.emplace_back(child, *ledger_);
  return elements;
}

std::optional<std::string> Element::text(const char* attribute, std::string_view what) const {
  const pugi::xml_attribute a = node_.attribute(attribute);
  if (!a) return std::nullopt;
  const std::string value = a.value();
  // Character references such as &#10; can smuggle in what the file's own bytes may not contain.
  if (find_unclean(value) != std::string::npos || value.find_first_of("\n\r\t") != std::string::npos) {
    ledger_->reject(a, fmt::format("{} is {}, expected text without control characters", what, in_quotes(value)));
    return std::nullopt;
  }
  ledger_->map(a, what);
  return value;
}

std::string Element::lacks(const char* attribute) const {
  std::string found;
  for (pugi::xml_attribute a : node_.attributes()) {
    found += (found.empty() ? ", found: " : ", ") + one_line(a.name(), 40);
    if (found.size() > 200) break;
  }
  return fmt::format("has no attribute \"{}\"{}", attribute, found);
}

bool Element::require(const char* attribute) const {
  if (!has(attribute)) reject(lacks(attribute));
  return has(attribute);
}

std::optional<std::string> Element::required_text(const char* attribute, std::string_view what) const {
  if (!require(attribute)) return std::nullopt;
  std::optional<std::string> value = text(attribute, what);
  if (value && value->empty()) {
    reject(attribute, fmt::format("{} is empty", what));
    return std::nullopt;
  }
  return value;
}

std::optional<std::vector<double>> Element::numbers(const char* attribute, size_t count, std::string_view what,
                                                    Range range, bool fill) const {
  const pugi::xml_attribute a = node_.attribute(attribute);
  if (!a) return std::nullopt;
  const auto bad = [&](std::string_view expected) {
    ledger_->reject(a, fmt::format("{} is {}, expected {}", what, in_quotes(a.value()), expected));
    return std::nullopt;
  };
  const std::string expected =
      count == 1 ? "a finite number" : fmt::format("{} finite numbers separated by spaces", count);
  std::optional<std::vector<double>> values = read_numbers(a.value(), count > 1);
  if (!values) return bad(expected);
  const size_t given = values->size();
  const bool too_few = given < count && !fill, too_many = given > count && count == 1;
  if (too_few || too_many) return bad(expected);
  for (const double value : *values) {
    if (std::abs(value) > kLargestNumber) return bad(fmt::format("at most {:g} in magnitude", kLargestNumber));
    if (range == Range::not_negative && value < 0) return bad(">= 0");
    if (range == Range::positive && !(value > 0)) return bad("> 0");
  }
  ledger_->map(a, what);
  const std::string problem = fmt::format("{} is {}, expected {}", what, in_quotes(a.value()), expected);
  if (given > count) ledger_->repair(a, problem, fmt::format("the first {} count", count));
  if (given < count) ledger_->repair(a, problem, "what is missing is taken as 0");
  if (given == count && has_commas(attribute)) ledger_->repair(a, problem, "commas are taken as spaces");
  values->resize(count);
  return values;
}

std::optional<double> Element::number(const char* attribute, std::string_view what, Range range) const {
  const pugi::xml_attribute a = node_.attribute(attribute);
  if (a && split(a.value()).empty()) {
    ledger_->repair(a, fmt::format("{} is empty, expected a finite number", what), "taken as not given");
    return std::nullopt;
  }
  const std::optional<std::vector<double>> values = numbers(attribute, 1, what, range, false);
  return values ? std::optional((*values)[0]) : std::nullopt;
}

std::optional<double> Element::required_number(const char* attribute, std::string_view what, Range range) const {
  if (!require(attribute)) return std::nullopt;
  const std::optional<std::vector<double>> values = numbers(attribute, 1, what, range, false);
  return values ? std::optional((*values)[0]) : std::nullopt;
}

std::optional<Vec3> Element::vector(const char* attribute, std::string_view what, Range range) const {
  const std::optional<std::vector<double>> values = numbers(attribute, 3, what, range, false);
  return values ? std::optional(Vec3(values->data())) : std::nullopt;
}

std::optional<Vec3> Element::vector_filled(const char* attribute, std::string_view what) const {
  const std::optional<std::vector<double>> values = numbers(attribute, 3, what, Range::any, true);
  return values ? std::optional(Vec3(values->data())) : std::nullopt;
}

std::optional<double> Element::bound(const char* attribute, std::string_view what, std::string_view none) const {
  const pugi::xml_attribute a = node_.attribute(attribute);
  if (!a) return std::nullopt;
  const std::vector<std::string_view> words = split(a.value());
  const std::optional<double> infinite = words.size() == 1 ? read_infinity(words[0]) : std::nullopt;
  if (!infinite) return number(attribute, what);
  ledger_->repair(a, fmt::format("{} is {}, beyond every motion", what, in_quotes(a.value())), none);
  return infinite;
}

std::optional<std::vector<double>> Element::plain_numbers(const char* attribute) const {
  return read_numbers(node_.attribute(attribute).value(), true);
}

bool Element::has_commas(const char* attribute) const {
  return std::string_view(node_.attribute(attribute).value()).find(',') != std::string_view::npos;
}

std::vector<std::pair<std::string, std::string>> Element::attributes() const {
  std::vector<std::pair<std::string, std::string>> all;
  for (pugi::xml_attribute a : node_.attributes()) all.emplace_back(a.name(), a.value());
  return all;
}

void Element::allow_only(const std::vector<std::string>& attributes, const std::vector<std::string>& tags) const {
  for (pugi::xml_attribute a : node_.attributes())
    if (std::ranges::find(attributes, a.name()) == attributes.end())
      ledger_->reject(a, fmt::format("unknown attribute{}", suggestion(a.name(), attributes)));
  for (const Element& child : all())
    if (std::ranges::find(tags, child.tag()) == tags.end())
      child.reject(fmt::format("unknown element{}", suggestion(child.tag(), tags)));
}

}  // namespace scree
