#include "formats/xml_element.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/names.h"
#include "base/text.h"

namespace scree {

void Element::map(const char* attribute, std::string_view note) const {
  if (const pugi::xml_attribute a = node_.attribute(attribute)) ledger_->map(a, note);
}
void Element::ignore(const char* attribute, std::string_view why) const {
  if (const pugi::xml_attribute a = node_.attribute(attribute)) ledger_->ignore(a, why);
}
void Element::reject(const char* attribute, std::string_view why) const {
  if (const pugi::xml_attribute a = node_.attribute(attribute)) ledger_->reject(a, why);
}

std::optional<Element> Element::only(const char* tag, std::string_view note) const {
  const pugi::xml_node child = node_.child(tag);
  if (!child) return std::nullopt;
  ledger_->map(child, note);
  for (pugi::xml_node next = child.next_sibling(tag); next; next = next.next_sibling(tag))
    ledger_->reject(next, fmt::format("another <{}>, expected at most one in <{}>", tag, node_.name()));
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

bool Element::require(const char* attribute) const {
  if (has(attribute)) return true;
  std::string found;
  for (pugi::xml_attribute a : node_.attributes()) {
    found += (found.empty() ? ", found: " : ", ") + one_line(a.name(), 40);
    if (found.size() > 200) break;
  }
  reject(fmt::format("has no attribute \"{}\"{}", attribute, found));
  return false;
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
                                                    Range range) const {
  const pugi::xml_attribute a = node_.attribute(attribute);
  if (!a) return std::nullopt;
  const auto bad = [&](std::string_view expected) {
    ledger_->reject(a, fmt::format("{} is {}, expected {}", what, in_quotes(a.value()), expected));
    return std::nullopt;
  };
  const std::vector<std::string_view> tokens = split(a.value());
  std::vector<double> values;
  for (const std::string_view token : tokens)
    if (const std::optional<double> value = parse_number(token)) values.push_back(*value);
  if (tokens.size() != count || values.size() != count)
    return bad(count == 1 ? "a finite number" : fmt::format("{} finite numbers separated by spaces", count));
  for (const double value : values) {
    if (std::abs(value) > kLargestNumber) return bad(fmt::format("at most {:g} in magnitude", kLargestNumber));
    if (range == Range::not_negative && value < 0) return bad(">= 0");
    if (range == Range::positive && !(value > 0)) return bad("> 0");
  }
  ledger_->map(a, what);
  return values;
}

std::optional<double> Element::number(const char* attribute, std::string_view what, Range range) const {
  const std::optional<std::vector<double>> values = numbers(attribute, 1, what, range);
  return values ? std::optional((*values)[0]) : std::nullopt;
}

std::optional<double> Element::required_number(const char* attribute, std::string_view what, Range range) const {
  return require(attribute) ? number(attribute, what, range) : std::nullopt;
}

std::optional<Vec3> Element::vector(const char* attribute, std::string_view what, Range range) const {
  const std::optional<std::vector<double>> values = numbers(attribute, 3, what, range);
  return values ? std::optional(Vec3(values->data())) : std::nullopt;
}

std::optional<std::array<double, 4>> Element::four(const char* attribute, std::string_view what) const {
  const std::optional<std::vector<double>> values = numbers(attribute, 4, what, Range::any);
  if (!values) return std::nullopt;
  return std::array{(*values)[0], (*values)[1], (*values)[2], (*values)[3]};
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
