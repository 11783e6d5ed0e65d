// The doors to the URDF reader: files and text in, a Model or the list of what is wrong out.
#include "scree/urdf.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "formats/urdf_reader.h"
#include "scree/error.h"

namespace scree {

const char* import_verdict_name(ImportVerdict verdict) {
  switch (verdict) {
    case ImportVerdict::mapped:
      return "mapped";
    case ImportVerdict::repaired:
      return "repaired";
    case ImportVerdict::ignored:
      return "ignored";
    case ImportVerdict::rejected:
      return "rejected";
  }
  return "?";
}

int ImportReport::count(ImportVerdict verdict) const {
  return static_cast<int>(std::ranges::count(entries, verdict, &ImportEntry::verdict));
}

std::string ImportReport::first_rejection() const {
  const auto first = std::ranges::find(entries, ImportVerdict::rejected, &ImportEntry::verdict);
  if (first == entries.end()) return "";
  const std::string where = first->line > 0 ? fmt::format("{}:{}: {}", file, first->line, first->place) : file;
  return one_line(fmt::format("{}: {}", where, first->note), 2000);
}

namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 100;  // levels of nesting; URDF itself needs 6

// A mistake that leaves no elements to report on.
struct DocumentError {
  int line;  // 0: the file as a whole
  std::string why;
};

pugi::xml_node too_deep(const pugi::xml_document& document) {
  struct Walker : pugi::xml_tree_walker {
    pugi::xml_node found;
    bool for_each(pugi::xml_node& node) override {
      if (depth() >= kDeepest) found = node;
      return !found;
    }
  } walker;
  pugi::xml_node root = document;  // traverse() is not const, though it changes nothing
  root.traverse(walker);
  return walker.found;
}

std::optional<DocumentError> parse_document(std::string_view text, std::string& buffer, pugi::xml_document& document) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return DocumentError{0, "is empty, expected a URDF"};
  if (text.size() > kLargestFile)
    return DocumentError{0, fmt::format("is {} bytes, expected at most {}", text.size(), kLargestFile)};
  if (const size_t bad = find_unclean(text); bad != std::string_view::npos)
    return DocumentError{line_at(text, bad),
                         fmt::format("byte 0x{:02x} does not belong into a text, expected XML in UTF-8",
                                     static_cast<unsigned char>(text[bad]))};
  const pugi::xml_parse_result result = document.load_buffer_inplace(
      buffer.data(), buffer.size(), pugi::parse_default | pugi::parse_doctype, pugi::encoding_utf8);
  const auto line = [&](ptrdiff_t offset) {
    return line_at(text, static_cast<size_t>(std::max<ptrdiff_t>(offset, 0)));
  };
  if (!result) return DocumentError{line(result.offset), fmt::format("not well-formed XML: {}", result.description())};
  for (const pugi::xml_node node : document.children())
    if (node.type() == pugi::node_doctype)
      return DocumentError{line(node.offset_debug()), "a DOCTYPE is not accepted: URDF has no entities"};
  if (const pugi::xml_node deep = too_deep(document))
    return DocumentError{line(deep.offset_debug()), fmt::format("elements nest deeper than {} levels", kDeepest)};
  return std::nullopt;
}

std::optional<Model> read_document(std::string_view text, const fs::path& file, const UrdfOptions& options,
                                   ImportReport& report) {
  report = {shown(file), {}, {file}, {}};
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // byte order mark
  std::string buffer(text);
  pugi::xml_document document;
  if (const auto error = parse_document(text, buffer, document)) {
    report.entries.push_back({"document", error->line, ImportVerdict::rejected, error->why});
    return std::nullopt;
  }
  ImportLedger ledger(document, text, buffer, options.strict);
  const Element robot(document.document_element(), ledger);
  std::optional<Model> model;
  for (pugi::xml_node node = document.document_element().next_sibling(); node; node = node.next_sibling())
    if (node.type() == pugi::node_element) ledger.reject(node, "a second top-level element, expected <robot> alone");
  if (robot.tag() != "robot") {
    robot.reject(fmt::format("the document is a <{}>, expected a URDF <robot>", one_line(robot.tag(), 60)));
  } else {
    UrdfReader reader(robot, ledger, file, options);
    model = reader.read();
    report.consequences = reader.consequences();
    report.files.insert(report.files.end(), reader.mesh_files().begin(), reader.mesh_files().end());
  }
  if (!ledger.clean()) model.reset();
  report.entries = ledger.finish();
  return model;
}

}  // namespace

Model parse_urdf(std::string_view text, const fs::path& file, const UrdfOptions& options, ImportReport* report) {
  ImportReport local;
  ImportReport& filled = report ? *report : local;
  std::optional<Model> model = read_document(text, file, options, filled);
  if (model) return std::move(*model);
  throw InputError(filled.first_rejection());
}

Model load_urdf(const fs::path& file, const UrdfOptions& options, ImportReport* report) {
  return parse_urdf(read_file(file), file, options, report);
}

std::optional<Model> check_urdf(const fs::path& file, const UrdfOptions& options, ImportReport& report) {
  std::string text;
  try {
    text = read_file(file);
  } catch (const InputError& error) {
    const std::string message = error.what(), prefix = shown(file) + ": ";
    report = {shown(file), {}, {}, {}};
    report.entries.push_back({"document", 0, ImportVerdict::rejected,
                              message.starts_with(prefix) ? message.substr(prefix.size()) : message});
    return std::nullopt;
  }
  return read_document(text, file, options, report);
}

}  // namespace scree
