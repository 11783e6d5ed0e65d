#include "formats/import_ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/text.h"

namespace scree {
namespace {

constexpr size_t kNoParent = static_cast<size_t>(-1);

// Lines of increasing offsets, in one pass over the text.
class LineCounter {
 public:
  explicit LineCounter(std::string_view text) : text_(text) {}
  int at(size_t offset) {
    for (; at_ < std::min(offset, text_.size()); ++at_) line_ += text_[at_] == '\n';
    return line_;
  }

 private:
  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
};

bool has_text(pugi::xml_node node) {
  return std::ranges::any_of(node.children(), [](pugi::xml_node child) {
    return child.type() == pugi::node_pcdata || child.type() == pugi::node_cdata;
  });
}

}  // namespace

ImportLedger::ImportLedger(const pugi::xml_document& document, std::string_view text, std::string_view buffer,
                           bool strict)
    : strict_(strict) {
  LineCounter lines(text);
  // Depth first without recursion: the document's depth is the file's choice.
  pugi::xml_node node = document.first_child();
  while (node) {
    if (node.type() == pugi::node_element) {
      const auto parent = index_of_.find(node.parent().internal_object());
      list_element(node, parent == index_of_.end() ? kNoParent : parent->second,
                   lines.at(static_cast<size_t>(node.offset_debug())));
      const size_t element = items_.size() - 1;
      std::unordered_set<std::string_view> seen;
      for (pugi::xml_attribute attribute : node.attributes()) {
        // The name stands in the buffer that was parsed in place, so its address tells its line.
        const int line = lines.at(static_cast<size_t>(attribute.name() - buffer.data()));
        index_of_[attribute.internal_object()] = items_.size();
        items_.push_back({element,
                          fmt::format("{}@{}", items_[element].place, one_line(attribute.name(), 60)),
                          line,
                          one_line(attribute.name(), 60),
                          true,
                          false,
                          {},
                          {},
                          false});
        if (!seen.insert(attribute.name()).second) reject(attribute, "given twice, expected once");
      }
    }
    if (node.first_child()) {
      node = node.first_child();
      continue;
    }
    while (node && !node.next_sibling()) node = node.parent();
    node = node.next_sibling();
  }
}

void ImportLedger::list_element(pugi::xml_node node, size_t parent, int line) {
  const std::string tag = one_line(node.name(), 60);
  std::string place = parent == kNoParent ? tag : items_[parent].place + "/" + tag;
  if (const pugi::xml_attribute name = node.attribute("name"); name && parent != kNoParent)
    place += fmt::format("[{}]", one_line(name.value(), 60));
  constexpr size_t kLongestPlace = 300;  // deep nesting of long names would cost memory, not help the reader
  if (place.size() > kLongestPlace) place = "..." + one_line(place.substr(place.size() - kLongestPlace / 2));
  index_of_[node.internal_object()] = items_.size();
  items_.push_back({parent, std::move(place), line, tag, false, has_text(node), {}, {}, false});
}

void ImportLedger::say(Item& item, ImportVerdict verdict, std::string_view note) {
  if (verdict == ImportVerdict::rejected) clean_ = false;
  // Whatever is said later: a rejection stays, and so does a repair unless a rejection follows.
  const bool stays = item.verdict == ImportVerdict::rejected ||
                     (item.verdict == ImportVerdict::repaired && verdict != ImportVerdict::rejected);
  if (stays) {
    if (verdict == item.verdict) item.note += "; " + one_line(note);
    return;
  }
  item.verdict = verdict;
  item.note = one_line(note);
}

void ImportLedger::repair(Item& item, std::string_view problem, std::string_view cure) {
  if (strict_)
    say(item, ImportVerdict::rejected, problem);
  else
    say(item, ImportVerdict::repaired, fmt::format("{}: {}", problem, cure));
}

std::vector<ImportEntry> ImportLedger::finish() {
  std::vector<ImportEntry> entries;
  entries.reserve(items_.size());
  for (Item& item : items_) {
    if (!item.verdict) {  // parents come first, so theirs is known
      item.verdict = ImportVerdict::ignored;
      const Item* parent = item.parent == kNoParent ? nullptr : &items_[item.parent];
      if (parent && parent->verdict == ImportVerdict::ignored)
        item.note = fmt::format("part of <{}>, which is ignored", parent->name);
      else if (parent && parent->verdict == ImportVerdict::rejected)
        item.note = fmt::format("not read: <{}> is rejected", parent->name);
      else if (parent && parent->dropped)
        item.note = fmt::format("not read: part of <{}>, which was left out", parent->name);
      else if (item.is_attribute)
        item.note = fmt::format("not an attribute of <{}> that scree knows", parent ? parent->name : "");
      else
        item.note = fmt::format("not an element scree knows{}", parent ? " in <" + parent->name + ">" : "");
    } else if (item.verdict == ImportVerdict::mapped && item.has_text) {
      item.note += "; the text inside is ignored";
    }
    entries.push_back({item.place, item.line, *item.verdict, item.note});
  }
  return entries;
}

}  // namespace scree
