#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "scree/error.h"
#include "scree/research/study.h"
#include "support/temp_folder.h"

namespace scree {
namespace {

using Json = nlohmann::json;

StudyResult small_study() {
  StudyResult study;
  study.name = "steps";
  study.title = "</script><script>alert(1)</script>";
  study.rows = {{"order", "", "1", 1.02, "0.95 to 1.05", StudyVerdict::reproduced},
                {"time", "ms", "14", "8 to 9", "", StudyVerdict::reported},
                {"error", "m", "", std::numeric_limits<double>::quiet_NaN(), "< 1", StudyVerdict::differs}};
  study.figures = {
      {"error", {"step", "s", true}, {"error", "m", true}, {{"ours", {0.1, 0.2}, {1, 2}, false}}, {"note"}}};
  study.settings = {{"seed", "1"}};
  return study;
}

Json data_of_page(const std::string& page) {
  const std::string open = "<script id=\"scree-data\" type=\"application/json\">";
  const size_t begin = page.find(open) + open.size();
  return Json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

TEST(StudyJson, HasOneObjectPerRow) {
  const Json json = Json::parse(study_json(small_study()));
  EXPECT_EQ(json["study"], "steps");
  ASSERT_EQ(json["rows"].size(), 3u);
  EXPECT_EQ(json["rows"][0], Json({{"quantity", "order"},
                                   {"unit", ""},
                                   {"paper", "1"},
                                   {"scree", 1.02},
                                   {"goal", "0.95 to 1.05"},
                                   {"verdict", "reproduced"}}));
  EXPECT_EQ(json["rows"][1]["scree"], "8 to 9");
  EXPECT_TRUE(json["rows"][2]["scree"].is_null());
  EXPECT_EQ(json["rows"][2]["verdict"], "differs");
}

TEST(StudyPage, HoldsTheStudyAndLeavesNothingElse) {
  const TempFolder folder;
  const StudyResult study = small_study();
  write_study_page(folder / "study.html", study);
  EXPECT_EQ(folder.count(), 1);
  const Json data = data_of_page(read_bytes(folder / "study.html"));
  EXPECT_EQ(data["title"], study.title);
  EXPECT_EQ(data["rows"], Json::parse(study_json(study))["rows"]);
  EXPECT_EQ(data["figures"][0]["series"][0]["y"], Json({1, 2}));
  EXPECT_EQ(data["figures"][0]["x"], Json({{"label", "step"}, {"unit", "s"}, {"log", true}}));
  EXPECT_EQ(data["settings"][0], Json({"seed", "1"}));
  EXPECT_THROW(write_study_page(folder / "missing" / "study.html", study), InputError);
}

TEST(StudyPage, NamesASeriesThatCannotBeDrawn) {
  const TempFolder folder;
  const auto refused = [&](std::vector<double> x, std::vector<double> y, const std::string& expected) {
    StudyResult study = small_study();
    study.figures[0].series[0].x = std::move(x);
    study.figures[0].series[0].y = std::move(y);
    try {
      write_study_page(folder / "study.html", study);
      FAIL() << expected;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("study steps: figure \"error\": series \"ours\": " + expected),
                std::string::npos)
          << error.what();
    }
    EXPECT_EQ(folder.count(), 0);
  };
  refused({1, 2}, {1}, "2 values of x and 1 of y");
  refused({1, 1}, {1, 2}, "x[1] is 1, expected more than 1");
  refused({0, 1}, {1, 2}, "x[0] is 0, expected > 0 on a logarithmic axis");
  refused({1, std::numeric_limits<double>::infinity()}, {1, 2}, "x[1] is inf");
}

}  // namespace
}  // namespace scree
