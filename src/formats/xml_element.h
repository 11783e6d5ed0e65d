// A cursor on one XML element that enters everything it reads into the import ledger.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/import_ledger.h"
#include "scree/types.h"

namespace scree {

enum class Range { any, not_negative, positive };  // of a number; magnitudes are bounded by kLargestNumber throughout

class Element {
 public:
  Element(pugi::xml_node node, ImportLedger& ledger) : node_(node), ledger_(&ledger) {}

  std::string tag() const { return node_.name(); }
  bool has(const char* attribute) const { return !node_.attribute(attribute).empty(); }

  void map(std::string_view note) const { ledger_->map(node_, note); }
  void ignore(std::string_view why) const { ledger_->ignore(node_, why); }
  void reject(std::string_view why) const { ledger_->reject(node_, why); }
  // The same for an attribute; nothing happens if it is absent.
  void map(const char* attribute, std::string_view note) const;
  void ignore(const char* attribute, std::string_view why) const;
  void reject(const char* attribute, std::string_view why) const;

  // The child of this name, at most one: further ones are rejected. A child that is handed out counts as mapped.
  std::optional<Element> only(const char* tag, std::string_view note) const;
  std::optional<Element> required(const char* tag, std::string_view note) const;  // rejects this element if absent
  std::vector<Element> all(const char* tag, std::string_view note) const;
  std::vector<Element> all() const;  // every child element, none marked

  // Attributes. `what` is the quantity with its unit, the note of a mapped attribute; a bad value is rejected and
  // absent.
  std::optional<std::string> text(const char* attribute, std::string_view what) const;
  std::optional<std::string> required_text(const char* attribute, std::string_view what) const;
  std::optional<double> number(const char* attribute, std::string_view what, Range range = Range::any) const;
  std::optional<double> required_number(const char* attribute, std::string_view what, Range range = Range::any) const;
  std::optional<Vec3> vector(const char* attribute, std::string_view what, Range range = Range::any) const;
  std::optional<std::vector<double>> list(const char* attribute, size_t count, std::string_view what) const {
    return numbers(attribute, count, what, Range::any);
  }
  std::optional<std::array<double, 4>> four(const char* attribute, std::string_view what) const;
  // Attributes and children outside the lists are rejected, with the nearest known name: for our own vocabulary.
  void allow_only(const std::vector<std::string>& attributes, const std::vector<std::string>& tags) const;

 private:
  std::optional<std::vector<double>> numbers(const char* attribute, size_t count, std::string_view what,
                                             Range range) const;
  bool require(const char* attribute) const;

  pugi::xml_node node_;
  ImportLedger* ledger_;
};

}  // namespace scree
