// A study: figures of a paper next to ours, as one HTML page that opens offline and as JSON.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace scree {

enum class StudyVerdict {
  reproduced,  // the goal is met
  differs,     // it is not
  reported,    // there is no goal: our figure, for the record
};
const char* study_verdict_name(StudyVerdict verdict);

struct StudyRow {
  std::string quantity;
  std::string unit;   // may be empty
  std::string paper;  // what the paper prints; may be empty
  std::variant<double, std::string> scree;
  std::string goal;  // what counts as reproduced, in words; may be empty
  StudyVerdict verdict = StudyVerdict::reported;
};

struct StudyAxis {
  std::string label, unit;
  bool log = false;
};

struct StudySeries {
  std::string name;
  std::vector<double> x;  // finite and strictly increasing; > 0 on a logarithmic axis
  std::vector<double> y;  // what is not finite, or not > 0 on a logarithmic axis, is a gap
  bool dashed = false;    // a reference
};

struct StudyFigure {
  std::string title;
  StudyAxis x, y;
  std::vector<StudySeries> series;
  std::vector<std::string> notes;
};

struct StudyResult {
  std::string name;  // short, e.g. of the command that ran it
  std::string title;
  std::string summary;  // a paragraph
  std::vector<StudyRow> rows;
  std::vector<StudyFigure> figures;
  std::vector<std::pair<std::string, std::string>> settings;  // name, value with unit
};

// Temporary file, then rename. Throws InputError: a series that cannot be drawn, a file that cannot be written.
void write_study_page(const std::filesystem::path& file, const StudyResult& study);

// {"study": name, "rows": [{"quantity", "unit", "paper", "scree", "goal", "verdict"}]}; a number that is not finite is
// null.
std::string study_json(const StudyResult& study);

}  // namespace scree
