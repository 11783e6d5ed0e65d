// A cursor on one XML element that enters everything it reads into the import ledger.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
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
  std::string lacks(const char* attribute) const;  // says that it is not there, and what is

  void map(std::string_view note) const { ledger_->map(node_, note); }
  void ignore(std::string_view why) const { ledger_->ignore(node_, why); }
  void reject(std::string_view why) const { ledger_->reject(node_, why); }
  // The same for an attribute; nothing happens if it is absent.
  void map(const char* attribute, std::string_view note) const;
  void ignore(const char* attribute, std::string_view why) const;
  void reject(const char* attribute, std::string_view why) const;
  // What is wrong, and what it became and means. Strict reading rejects instead.
  void repair(std::string_view problem, std::string_view cure) const { ledger_->repair(node_, problem, cure); }
  void repair(const char* attribute, std::string_view problem, std::string_view cure) const;
  void drop(std::string_view problem, std::string_view cure) const { ledger_->drop(node_, problem, cure); }
  bool strict() const { return ledger_->strict(); }

  // The child of this name, at most one: further ones are left out. A child that is handed out counts as mapped.
  std::optional<Element> only(const char* tag, std::string_view note) const;
  std::optional<Element> required(const char* tag, std::string_view note) const;  // rejects this element if absent
  std::vector<Element> all(const char* tag, std::string_view note) const;
  std::vector<Element> all() const;  // every child element, none marked

  // Attributes. `what` is the quantity with its unit, the note of a mapped attribute; a bad value is rejected and
  // absent. Of several numbers commas count as spaces and what is too many is left out, which is a repair.
  std::optional<std::string> text(const char* attribute, std::string_view what) const;
  std::optional<std::string> required_text(const char* attribute, std::string_view what) const;
  std::optional<double> number(const char* attribute, std::string_view what, Range range = Range::any) const;
  std::optional<double> required_number(const char* attribute, std::string_view what, Range range = Range::any) const;
  std::optional<Vec3> vector(const char* attribute, std::string_view what, Range range = Range::any) const;
  std::optional<Vec3> vector_filled(const char* attribute, std::string_view what) const;  // missing numbers are 0
  std::optional<std::vector<double>> list(const char* attribute, size_t count, std::string_view what) const {
    return numbers(attribute, count, what, Range::any, false);
  }
  // A number that may be infinite: so are "inf" and everything beyond kLargestNumber, which is a repair: `none`.
  std::optional<double> bound(const char* attribute, std::string_view what, std::string_view none) const;
  // As it stands, without a verdict: numbers between spaces or commas; nullopt if there are other words.
  std::optional<std::vector<double>> plain_numbers(const char* attribute) const;
  bool has_commas(const char* attribute) const;
  // Name and value of each, without a verdict.
  std::vector<std::pair<std::string, std::string>> attributes() const;
  // Attributes and children outside the lists are rejected, with the nearest known name: for our own vocabulary.
  void allow_only(const std::vector<std::string>& attributes, const std::vector<std::string>& tags) const;

 private:
  std::optional<std::vector<double>> numbers(const char* attribute, size_t count, std::string_view what, Range range,
                                             bool fill) const;
  bool require(const char* attribute) const;

  pugi::xml_node node_;
  ImportLedger* ledger_;
};

}  // namespace scree
