#include "import_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "terminal.h"

namespace scree::cli {
namespace {

constexpr size_t kMostRows = 20;  // of one verdict, unless all are asked for

constexpr ImportVerdict kVerdicts[] = {ImportVerdict::mapped, ImportVerdict::repaired, ImportVerdict::ignored,
                                       ImportVerdict::rejected};

void print_rows(const ImportReport& report, ImportVerdict verdict) {
  const int count = report.count(verdict);
  if (count == 0) return;
  fmt::print("\n{}\n", import_verdict_name(verdict));
  size_t shown = 0;
  for (const ImportEntry& entry : report.entries) {
    if (entry.verdict != verdict) continue;
    if (shown++ == kMostRows) break;
    fmt::print("  line {:<5} {}\n             {}\n", entry.line, entry.place, entry.note);
  }
  if (static_cast<size_t>(count) > kMostRows) fmt::print("  and {} more, --all lists them\n", count - kMostRows);
}

// "robot/link[arm]/visual/material[red]@name" is a "<material> name", "robot/gazebo" a "<gazebo>".
std::string kind_of(const std::string& place) {
  const size_t at = place.rfind('@'), end = std::min(at, place.size());
  // Names in brackets may hold slashes.
  size_t start = end, depth = 0;
  for (; start > 0; --start) {
    const char c = place[start - 1];
    if (c == ']') ++depth;
    if (c == '[' && depth > 0) --depth;
    if (c == '/' && depth == 0) break;
  }
  std::string tag = place.substr(start, end - start);
  tag = tag.substr(0, tag.find('['));
  return "<" + tag + ">" + (at == std::string::npos ? "" : " " + place.substr(at + 1));
}

// What stands inside of something ignored is not counted on its own.
void print_ignored(const ImportReport& report) {
  std::map<std::pair<std::string, std::string>, int> kinds;
  for (const ImportEntry& entry : report.entries)
    if (entry.verdict == ImportVerdict::ignored && !entry.note.starts_with("part of ") &&
        !entry.note.starts_with("not read: "))
      ++kinds[{kind_of(entry.place), entry.note}];
  if (kinds.empty()) return;
  std::vector<std::pair<int, std::pair<std::string, std::string>>> rows;
  for (const auto& [kind, count] : kinds) rows.emplace_back(count, kind);
  std::ranges::stable_sort(rows, std::greater<>(), [](const auto& row) { return row.first; });
  fmt::print("\nignored, with all inside\n");
  size_t width = 0;
  for (const auto& [count, kind] : rows) width = std::max(width, kind.first.size());
  for (const auto& [count, kind] : rows) fmt::print("  {:>5} x {:<{}}  {}\n", count, kind.first, width, kind.second);
}

void print_all(const ImportReport& report) {
  size_t width = 0;
  for (const ImportEntry& entry : report.entries) width = std::max(width, entry.place.size());
  fmt::print("\n{:>6}  {:<8}  {:<{}}  {}\n", "line", "verdict", "place", width, "note");
  for (const ImportEntry& entry : report.entries)
    fmt::print("{:>6}  {:<8}  {:<{}}  {}\n", entry.line, import_verdict_name(entry.verdict), entry.place, width,
               entry.note);
}

}  // namespace

std::string count_verdicts(const ImportReport& report) {
  std::string text;
  for (const ImportVerdict verdict : kVerdicts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", report.count(verdict), import_verdict_name(verdict));
  return text;
}

void print_import_report(const ImportReport& report, bool all) {
  if (!all) {
    print_rows(report, ImportVerdict::rejected);
    print_rows(report, ImportVerdict::repaired);
  }
  if (!report.consequences.empty()) fmt::print("\nconsequences\n");
  for (const std::string& line : report.consequences) fmt::print("  {}\n", line);
  if (all)
    print_all(report);
  else
    print_ignored(report);
}

void add_import_report(const ImportReport& report, nlohmann::ordered_json& json) {
  for (const ImportVerdict verdict : kVerdicts) json[import_verdict_name(verdict)] = report.count(verdict);
  json["consequences"] = report.consequences;
  json["entries"] = nlohmann::ordered_json::array();
  for (const ImportEntry& entry : report.entries)
    json["entries"].push_back({{"place", entry.place},
                               {"line", entry.line},
                               {"verdict", import_verdict_name(entry.verdict)},
                               {"note", entry.note}});
}

void warn_of_repairs(const ImportReport& report) {
  const int count = report.count(ImportVerdict::repaired);
  if (count == 0) return;
  print_message(fmt::format("warning: {}: {} {} repaired, scree check {} says what and what it means", report.file,
                            count, count == 1 ? "thing was" : "things were", report.file));
}

}  // namespace scree::cli
