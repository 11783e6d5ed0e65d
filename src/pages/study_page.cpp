#include <fmt/format.h>

#include <cmath>

#include "base/atomic_file.h"
#include "pages/replay_data.h"
#include "pages/replay_template.h"
#include "scree/error.h"
#include "scree/research/study.h"

namespace scree {
namespace {

using Json = nlohmann::ordered_json;

Json describe_rows(const StudyResult& study) {
  Json rows = Json::array();
  for (const StudyRow& row : study.rows) {
    Json item = {{"quantity", row.quantity}, {"unit", row.unit}, {"paper", row.paper}};
    std::visit([&](const auto& value) { item["scree"] = value; }, row.scree);
    item["goal"] = row.goal;
    item["verdict"] = study_verdict_name(row.verdict);
    rows.push_back(std::move(item));
  }
  return rows;
}

void check_series(const StudyResult& study, const StudyFigure& figure, const StudySeries& series) {
  const auto fail = [&](const std::string& what) {
    throw InputError(
        fmt::format("study {}: figure \"{}\": series \"{}\": {}", study.name, figure.title, series.name, what));
  };
  if (series.x.size() != series.y.size())
    fail(fmt::format("{} values of x and {} of y, expected as many", series.x.size(), series.y.size()));
  for (size_t i = 0; i < series.x.size(); ++i) {
    if (!std::isfinite(series.x[i])) fail(fmt::format("x[{}] is {}, expected finite numbers", i, series.x[i]));
    if (figure.x.log && !(series.x[i] > 0))
      fail(fmt::format("x[{}] is {}, expected > 0 on a logarithmic axis", i, series.x[i]));
    if (i > 0 && !(series.x[i] > series.x[i - 1]))
      fail(fmt::format("x[{}] is {}, expected more than {} before it", i, series.x[i], series.x[i - 1]));
  }
}

Json describe_axis(const StudyAxis& axis) { return {{"label", axis.label}, {"unit", axis.unit}, {"log", axis.log}}; }

Json describe_figure(const StudyResult& study, const StudyFigure& figure) {
  Json out = {{"title", figure.title},
              {"x", describe_axis(figure.x)},
              {"y", describe_axis(figure.y)},
              {"series", Json::array()},
              {"notes", figure.notes}};
  for (const StudySeries& series : figure.series) {
    check_series(study, figure, series);
    // What is not finite becomes null: a gap.
    out["series"].push_back({{"name", series.name}, {"x", series.x}, {"y", series.y}, {"dashed", series.dashed}});
  }
  return out;
}

}  // namespace

const char* study_verdict_name(StudyVerdict verdict) {
  switch (verdict) {
    case StudyVerdict::reproduced:
      return "reproduced";
    case StudyVerdict::differs:
      return "differs";
    case StudyVerdict::reported:
      return "reported";
  }
  return "?";
}

std::string study_json(const StudyResult& study) {
  const Json data = {{"study", study.name}, {"rows", describe_rows(study)}};
  return data.dump(2, ' ', false, Json::error_handler_t::replace);
}

void write_study_page(const std::filesystem::path& file, const StudyResult& study) {
  Json data = {{"name", study.name},           {"title", study.title},     {"summary", study.summary},
               {"rows", describe_rows(study)}, {"figures", Json::array()}, {"settings", study.settings}};
  for (const StudyFigure& figure : study.figures) data["figures"].push_back(describe_figure(study, figure));
  std::string page(study_template());
  page.replace(page.find(kStudyPlaceholder), kStudyPlaceholder.size(),
               script_text(data.dump(-1, ' ', false, Json::error_handler_t::replace)));
  write_atomically(file, page);
}

}  // namespace scree
