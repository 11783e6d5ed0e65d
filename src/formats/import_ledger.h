// Bookkeeping behind the import report. The ledger lists every element and attribute of the document before anything is
// read; readers then say what became of each. What nobody spoke for is reported as ignored, so the report is total by
// construction.
#pragma once

#include <optional>
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "scree/urdf.h"

namespace scree {

class ImportLedger {
 public:
  // `text` is the file as it was, `buffer` the copy that pugixml parsed in place: their offsets agree. Strict: what
  // would be repaired is rejected.
  ImportLedger(const pugi::xml_document& document, std::string_view text, std::string_view buffer, bool strict);

  // `thing` is a pugi::xml_node or pugi::xml_attribute. A rejection stays, whatever is said later, and so does a repair
  // unless a rejection follows.
  template <class T> void map(const T& thing, std::string_view note) { say(thing, ImportVerdict::mapped, note); }
  template <class T> void ignore(const T& thing, std::string_view why) { say(thing, ImportVerdict::ignored, why); }
  template <class T> void reject(const T& thing, std::string_view why) { say(thing, ImportVerdict::rejected, why); }
  template <class T> void repair(const T& thing, std::string_view problem, std::string_view cure) {
    repair(item_of(thing), problem, cure);
  }
  // A repair that leaves the element and all in it unread.
  void drop(const pugi::xml_node& element, std::string_view problem, std::string_view cure) {
    repair(item_of(element), problem, cure);
    item_of(element).dropped = true;
  }

  bool strict() const { return strict_; }
  bool clean() const { return clean_; }  // nothing rejected so far
  std::vector<ImportEntry> finish();

 private:
  struct Item {
    size_t parent;
    std::string place;
    int line;
    std::string name;  // of the element or attribute
    bool is_attribute;
    bool has_text;  // an element with text of its own, which URDF never uses
    std::optional<ImportVerdict> verdict;
    std::string note;
    bool dropped = false;
  };
  template <class T> Item& item_of(const T& thing) { return items_[index_of_.at(thing.internal_object())]; }
  template <class T> void say(const T& thing, ImportVerdict verdict, std::string_view note) {
    say(item_of(thing), verdict, note);
  }
  void repair(Item& item, std::string_view problem, std::string_view cure);
  void say(Item& item, ImportVerdict verdict, std::string_view note);
  void list_element(pugi::xml_node node, size_t parent, int line);

  std::vector<Item> items_;
  std::unordered_map<const void*, size_t> index_of_;
  bool strict_;
  bool clean_ = true;
};

}  // namespace scree
