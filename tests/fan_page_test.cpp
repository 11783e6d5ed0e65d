#include "pages/fan_page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "pages/replay_data.h"
#include "pages/replay_template.h"
#include "scree/error.h"
#include "support/temp_folder.h"

namespace scree {
namespace {

using Json = nlohmann::json;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// A chain of revolute joints over a floor, with one contact point.
Scene chain_scene(int links) {
  ModelBuilder builder("chain");
  std::string parent = "world";
  for (int k = 0; k < links; ++k) {
    Body body;
    body.name = "link" + std::to_string(k);
    body.mass = 1;
    body.inertia = Mat3::Identity();
    Joint joint;
    joint.name = "joint" + std::to_string(k);
    joint.type = JointType::revolute;
    joint.X_PJ.p = Vec3(0, 0, -0.5);
    joint.axis = Vec3::UnitY();
    builder.add_body(body, parent, joint);
    parent = body.name;
  }
  ContactPoint tip;
  tip.name = "tip";
  tip.p_B = Vec3(0, 0, -0.5);
  if (links > 0) builder.add_contact_point(parent, tip);
  const Model model = builder.build();
  Scene scene{.file = {},
              .title = "",
              .model = model,
              .import_report = {},
              .options = {},
              .q0 = model.neutral_position(),
              .v0 = Eigen::VectorXd::Zero(model.nv()),
              .control = Control(model),
              .world = {},
              .text = {}};
  scene.world.add(plane_collider(Vec3(0, 0, -2), Vec3::UnitZ(), "floor"));
  scene.world.add(contact_candidates(scene.model, ContactCandidates::named));
  return scene;
}

// Random walks from one state; branch 0 and every third one in the first cluster, the others in the second.
Fan random_fan(const Scene& scene, size_t branches, size_t rows, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  const size_t nq = static_cast<size_t>(scene.model.nq()), nv = static_cast<size_t>(scene.model.nv());
  Fan fan;
  fan.title = "walks";
  for (size_t c = 0; c < nq; ++c) fan.coordinates.push_back("joint" + std::to_string(c) + " [rad]");
  for (size_t c = 0; c < nv; ++c) fan.coordinates.push_back("joint" + std::to_string(c) + " [rad/s]");
  for (size_t r = 0; r < rows; ++r) fan.time.push_back(0.01 * static_cast<double>(r));
  fan.spread.assign(rows, 0.5);
  fan.first_split = 0.02;
  fan.clusters.resize(branches > 1 ? 2 : 1);
  fan.clusters[0].modes = {"tip sticks"};
  fan.q = TableStack(branches, rows, nq);
  fan.v = TableStack(branches, rows, nv);
  for (size_t b = 0; b < branches; ++b) {
    Eigen::VectorXd q = Eigen::VectorXd::Zero(scene.model.nq());
    for (size_t r = 0; r < rows; ++r) {
      for (double& x : q) x += 0.1 * normal(random);
      fan.q.row(b, r) = q;
      for (double& x : fan.v.row(b, r)) x = normal(random);
    }
    FanBranch branch;
    branch.index = static_cast<long>(b);
    FanImpact impact;
    impact.time = 0.02;
    impact.contacts = 1;
    impact.mode = b % 3 == 0 ? "tip sticks" : "tip opens";
    impact.energy_before = 2;
    impact.energy_after = b % 3 == 0 ? 1.5 : 1.75 - 0.001 * static_cast<double>(b);
    impact.v_before = Eigen::VectorXd::Constant(scene.model.nv(), 3);
    impact.v_after = Eigen::VectorXd::Constant(scene.model.nv(), static_cast<double>(b));
    branch.impacts = {impact};
    fan.branches.push_back(branch);
    fan.clusters[b % 3 == 0 ? 0 : 1].branches.push_back(static_cast<long>(b));
  }
  if (branches > 1) {
    fan.clusters[1].modes = {"tip opens"};
    std::swap(fan.clusters[0], fan.clusters[1]);
  }
  return fan;
}

// Ends the branch before the row.
void cut(Fan& fan, size_t branch, size_t row) {
  for (size_t r = row; r < fan.rows(); ++r) {
    fan.q.row(branch, r).setConstant(kNan);
    fan.v.row(branch, r).setConstant(kNan);
  }
  fan.branches[branch].status = RunStatus::step_failed;
  fan.branches[branch].failure = "why not";
}

std::string decode64(const std::string& text) {
  const auto digit = [](char c) -> unsigned {
    if (c >= 'A' && c <= 'Z') return static_cast<unsigned>(c - 'A');
    if (c >= 'a' && c <= 'z') return static_cast<unsigned>(c - 'a') + 26;
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0') + 52;
    return c == '+' ? 62 : c == '/' ? 63 : 0;
  };
  std::string bytes;
  for (size_t i = 0; i + 3 < text.size(); i += 4) {
    const unsigned word =
        digit(text[i]) << 18 | digit(text[i + 1]) << 12 | digit(text[i + 2]) << 6 | digit(text[i + 3]);
    bytes += static_cast<char>(word >> 16 & 255);
    if (text[i + 2] != '=') bytes += static_cast<char>(word >> 8 & 255);
    if (text[i + 3] != '=') bytes += static_cast<char>(word & 255);
  }
  return bytes;
}

// The arrays of a page.
class Block {
 public:
  explicit Block(const Json& data) : bytes_(decode64(data["data"])) {}
  template <class T> std::vector<T> get(const Json& ref) const {
    std::vector<T> values(ref["count"].get<size_t>());
    std::memcpy(values.data(), bytes_.data() + ref["offset"].get<size_t>(), sizeof(T) * values.size());
    return values;
  }

 private:
  std::string bytes_;
};

// Numbers, not branches: how many of the sorted values lie at or below, solved for the value at rank p (n - 1).
double slow_quantile(const std::vector<double>& values, double p) {
  const double rank = p * static_cast<double>(values.size() - 1);
  const auto kth = [&](double k) {
    for (const double x : values) {
      const auto below = std::count_if(values.begin(), values.end(), [&](double y) { return y < x; });
      const auto same = std::count(values.begin(), values.end(), x);
      if (static_cast<double>(below) <= k && k < static_cast<double>(below + same)) return x;
    }
    return kNan;
  };
  const double low = std::floor(rank);
  return kth(low) + (rank - low) * (kth(std::min(low + 1, static_cast<double>(values.size() - 1))) - kth(low));
}

TEST(FanPage, CodesAreWithinHalfAStepAndEndWithTheBranch) {
  const Scene scene = chain_scene(2);
  Fan fan = random_fan(scene, 7, 40);
  cut(fan, 4, 17);
  const Json data = fan_page_data(scene, fan);
  const Block block(data);
  ASSERT_EQ(data["stride"], 1);
  EXPECT_EQ(block.get<double>(data["time"]), fan.time);
  EXPECT_EQ(block.get<std::uint32_t>(data["shown"]), (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(block.get<std::uint32_t>(data["reached"]), (std::vector<std::uint32_t>{40, 40, 40, 40, 17, 40, 40}));
  const auto codes = block.get<std::uint16_t>(data["values"]);
  ASSERT_EQ(codes.size(), 4u * 7 * 40);
  for (size_t c = 0; c < 4; ++c) {
    const double low = data["coordinates"][c]["low"], high = data["coordinates"][c]["high"];
    for (size_t b = 0; b < 7; ++b)
      for (size_t r = 0; r < 40; ++r) {
        const std::uint16_t code = codes[(c * 7 + b) * 40 + r];
        const double exact = c < 2 ? fan.q(b, r, c) : fan.v(b, r, c - 2);
        if (b == 4 && r >= 17) {
          EXPECT_EQ(code, kNoSample);
          continue;
        }
        const double step = (high - low) / 65534;
        // Half a step; rounding of the few operations is 1e-15 of numbers below 10.
        EXPECT_LE(std::abs(low + code * step - exact), 0.5 * step + 1e-14);
      }
  }
}

TEST(FanPage, NamesAndUnitsAreToldApart) {
  const Scene scene = chain_scene(1);
  Fan fan = random_fan(scene, 2, 3);
  fan.coordinates = {"hip [rad]", "no unit"};
  const Json data = fan_page_data(scene, fan);
  EXPECT_EQ(data["coordinates"][0]["name"], "hip");
  EXPECT_EQ(data["coordinates"][0]["unit"], "rad");
  EXPECT_EQ(data["coordinates"][0]["velocity"], false);
  EXPECT_EQ(data["coordinates"][1]["name"], "no unit");
  EXPECT_EQ(data["coordinates"][1]["unit"], "");
  EXPECT_EQ(data["coordinates"][1]["velocity"], true);
  EXPECT_EQ(data["contact_points"][0]["name"], "tip");
  EXPECT_EQ(data["environment"][0]["name"], "floor");
}

TEST(FanPage, QuantilesAreOfTheBranchesThatReachedTheRow) {
  const Scene scene = chain_scene(1);
  Fan fan = random_fan(scene, 11, 6);
  cut(fan, 2, 3);
  cut(fan, 9, 5);
  const Json data = fan_page_data(scene, fan);
  const Block block(data);
  const auto bands = block.get<float>(data["quantiles"]);
  const double probabilities[] = {0.05, 0.25, 0.5, 0.75, 0.95};
  for (size_t r = 0; r < 6; ++r) {
    std::vector<double> values;
    for (size_t b = 0; b < 11; ++b)
      if (!std::isnan(fan.q(b, r, 0))) values.push_back(fan.q(b, r, 0));
    EXPECT_EQ(values.size(), 11 - static_cast<size_t>(r >= 3) - static_cast<size_t>(r >= 5));
    // float32 of numbers below 1
    for (size_t p = 0; p < 5; ++p)
      EXPECT_NEAR(bands[p * 6 + r], slow_quantile(values, probabilities[p]), 1e-7) << r << " " << p;
  }
}

TEST(FanPage, TheTypicalBranchIsTheOneNearestToTheMedian) {
  const Scene scene = chain_scene(1);
  Fan fan = random_fan(scene, 5, 4);
  const double levels[] = {9, -4, 1.1, 30, 0};  // median 1.1: branch 2
  for (size_t b = 0; b < 5; ++b)
    for (size_t r = 0; r < 4; ++r) fan.q(b, r, 0) = levels[b] * static_cast<double>(r);
  fan.clusters = {{{"a"}, {0, 1, 3}}, {{"b"}, {2, 4}}};
  EXPECT_EQ(fan_page_data(scene, fan)["typical"], 2);
  EXPECT_EQ(fan_page_data(scene, fan)["clusters"][0]["representative"], 0);  // of 9, -4, 30
  // One that ended early stands for nothing where others went on.
  cut(fan, 2, 3);
  EXPECT_EQ(fan_page_data(scene, fan)["typical"], 4);  // 0 is nearest to the median of 9, -4, 30, 0 and, at first, 1.1
  EXPECT_EQ(fan_page_data(scene, fan)["clusters"][1]["representative"], 4);
}

TEST(FanPage, ClustersHaveCountsAndQuantilesOfTheEnd) {
  const Scene scene = chain_scene(1);
  Fan fan = random_fan(scene, 10, 5);
  fan.clusters[0].modes.assign(30, "tip opens");
  const Json data = fan_page_data(scene, fan);
  const Block block(data);
  ASSERT_EQ(data["clusters"].size(), 2u);
  EXPECT_EQ(data["clusters"][0]["count"], 6);
  EXPECT_EQ(data["clusters"][0]["mode_count"], 30);
  EXPECT_EQ(data["clusters"][0]["modes"].size(), 20u);
  EXPECT_EQ(data["clusters"][1]["count"], 4);
  std::vector<double> last;
  for (const size_t b : {0u, 3u, 6u, 9u}) last.push_back(fan.q(b, 4, 0));
  const auto ends = block.get<float>(data["ends"]);  // cluster, coordinate, probability
  EXPECT_NEAR(ends[6], slow_quantile(last, 0.05), 1e-7);
  EXPECT_NEAR(ends[7], slow_quantile(last, 0.5), 1e-7);
  EXPECT_NEAR(ends[8], slow_quantile(last, 0.95), 1e-7);
}

TEST(FanPage, TheFirstSplitHasModesWithCountsAndVelocities) {
  const Scene scene = chain_scene(1);
  Fan fan = random_fan(scene, 10, 5);
  fan.branches[7].impacts.clear();
  const Json split = fan_page_data(scene, fan)["split"];
  EXPECT_EQ(split["missing"], 1);
  ASSERT_EQ(split["modes"].size(), 2u);
  EXPECT_EQ(split["modes"][0]["mode"], "tip opens");
  EXPECT_EQ(split["modes"][0]["count"], 5);
  EXPECT_NEAR(split["modes"][0]["lost"][0].get<double>(), 0.251, 1e-15);  // branch 1
  EXPECT_NEAR(split["modes"][0]["lost"][1].get<double>(), 0.258, 1e-15);  // branch 8
  EXPECT_EQ(split["modes"][1]["count"], 4);
  EXPECT_EQ(split["velocities"][0]["before"], 3);
  EXPECT_EQ(split["velocities"][0]["after"][1], 4);  // median of 0 ... 6, 8, 9
  fan.first_split = kNan;
  const Json data = fan_page_data(scene, fan);
  EXPECT_TRUE(data["split"].is_null());
  EXPECT_TRUE(data["first_split"].is_null());
}

TEST(FanPage, ImpactsOfEveryBranchAreCutAlike) {
  const Scene scene = chain_scene(1);
  Fan fan = random_fan(scene, 300, 2);
  for (size_t b = 0; b < 300; ++b) fan.branches[b].impacts.resize(b < 100 ? 10 : 500, fan.branches[b].impacts[0]);
  const Json data = fan_page_data(scene, fan);
  const Block block(data);
  EXPECT_EQ(data["impacts"]["limit"], 195);  // 100 x 10 + 200 x 195 = 40000
  const auto first = block.get<std::uint32_t>(data["impacts"]["first"]);
  EXPECT_EQ(first.back(), kMostFanImpacts);
  EXPECT_EQ(first[1], 10u);
  EXPECT_EQ(block.get<std::uint32_t>(data["impacts"]["count"])[299], 500u);
}

TEST(FanPage, ALargeFanGivesWayInRowsThenInBranches) {
  const Scene small = chain_scene(1);
  const Fan many_rows = random_fan(small, 60, 9001);  // 60 x 2 x 2 bytes a row: rows give way to 1000
  Json data = fan_page_data(small, many_rows);
  EXPECT_EQ(data["stride"], 10);
  EXPECT_EQ(data["shown"]["count"], 60);
  EXPECT_LE(replay_json(data).size(), kReplayBytes);

  const Scene large = chain_scene(20);
  Fan fan = random_fan(large, 1000, 150);  // 40 coordinates: 9.6 MB at 120 rows
  data = fan_page_data(large, fan);
  const Block block(data);
  EXPECT_EQ(data["branches"], 1000);
  const auto shown = block.get<std::uint32_t>(data["shown"]);
  // 5 MB of base64 are 3.75 MB: 150 rows of 40 x 2 bytes a branch leave room for 312 without anything else.
  EXPECT_LT(shown.size(), 312u);
  EXPECT_GT(shown.size(), 250u);
  EXPECT_EQ(data["time"]["count"], 150);  // every second row would be 76, fewer than 120
  EXPECT_LE(replay_json(data).size(), kReplayBytes);
  EXPECT_TRUE(std::is_sorted(shown.begin(), shown.end()));
  for (const Json& cluster : data["clusters"])
    EXPECT_TRUE(std::binary_search(shown.begin(), shown.end(), cluster["representative"].get<std::uint32_t>()));
  EXPECT_TRUE(std::binary_search(shown.begin(), shown.end(), data["typical"].get<std::uint32_t>()));
}

TEST(FanPage, ModeNamesBeyondTheirRoomShareOne) {
  const Scene scene = chain_scene(1);
  Fan fan = random_fan(scene, 10, 5);
  for (size_t b = 0; b < 10; ++b)
    for (int k = 0; k < 10; ++k) {
      FanImpact impact = fan.branches[b].impacts[0];
      impact.mode = std::string(10000, 'x') + std::to_string(b) + "." + std::to_string(k);
      fan.branches[b].impacts.push_back(impact);
    }
  const Json data = fan_page_data(scene, fan);
  EXPECT_LT(data["modes"].size(), 40u);
  EXPECT_EQ(data["modes"].back().get<std::string>().substr(0, 12), "another mode");
  const auto modes = Block(data).get<std::uint32_t>(data["impacts"]["mode"]);
  EXPECT_EQ(modes.size(), 110u);
  EXPECT_EQ(modes.back(), data["modes"].size() - 1);
  EXPECT_LE(replay_json(data).size(), kReplayBytes);
}

TEST(FanPage, BranchesOfAnInterruptedFanKeepTheirNumbers) {
  const Scene scene = chain_scene(1);
  Fan fan = random_fan(scene, 4, 5);
  for (size_t b = 0; b < 4; ++b) fan.branches[b].index = 10 + 7 * static_cast<long>(b);
  cut(fan, 3, 2);
  const Json data = fan_page_data(scene, fan);
  EXPECT_EQ(Block(data).get<std::uint32_t>(data["shown"]), (std::vector<std::uint32_t>{10, 17, 24, 31}));
  EXPECT_EQ(data["failures"][0]["branch"], 31);
  EXPECT_EQ(data["clusters"][1]["representative"], 10);  // 10 and 31, which ended
  EXPECT_EQ((data["typical"].get<int>() - 10) % 7, 0);
}

TEST(FanPage, SpreadIsPerSquareRootOfTheMass) {
  const Scene scene = chain_scene(4);  // 4 kg
  const Json data = fan_page_data(scene, random_fan(scene, 2, 3));
  EXPECT_EQ(Block(data).get<float>(data["spread"]), std::vector<float>(3, 0.25f));
}

TEST(FanPage, ImpactsTellWhetherThereWasAChoice) {
  const Scene scene = chain_scene(1);
  Fan fan = random_fan(scene, 2, 3);
  fan.branches[0].impacts[0].ambiguous = true;
  fan.branches[1].impacts[0].kind = EventKind::impact_without_collision;
  const Json data = fan_page_data(scene, fan);
  EXPECT_EQ(Block(data).get<std::uint32_t>(data["impacts"]["flags"]), (std::vector<std::uint32_t>{1, 2}));
}

TEST(FanPage, OneBranchOneRowAndNoClusters) {
  const Scene scene = chain_scene(1);
  Fan fan = random_fan(scene, 1, 1);
  fan.clusters.clear();
  fan.first_split = kNan;
  const Json data = fan_page_data(scene, fan);
  EXPECT_EQ(data["typical"], 0);
  EXPECT_EQ(data["clusters"].size(), 0u);
  EXPECT_EQ(data["time"]["count"], 1);
}

TEST(FanPage, RefusesFansThatDoNotFit) {
  const Scene scene = chain_scene(2);
  const auto with = [&](auto&& change, const std::string& expected) {
    Fan fan = random_fan(scene, 3, 4);
    change(fan);
    try {
      fan_page_data(scene, fan);
      ADD_FAILURE() << expected;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  };
  with([](Fan& f) { f.q.keep(2); }, "q is 2 x 4 x 2, expected 3 x 4 x 2");
  with([](Fan& f) { f.v = TableStack(3, 4, 3); }, "v is 3 x 4 x 3, expected 3 x 4 x 2");
  with([](Fan& f) { f.coordinates.pop_back(); }, "coordinates has 3 entries, expected 4");
  with([](Fan& f) { f.spread.clear(); }, "spread has 0 entries, expected 4");
  with([](Fan& f) { f.time[2] = f.time[1]; }, "time of row 2 is 0.01, expected finite and increasing times");
  with([](Fan& f) { f.q(1, 0, 1) = kNan; }, "branch 1, row 0: joint1 [rad] is nan");
  with([](Fan& f) { f.v(1, 0, 1) = 1 / 0.0; }, "branch 1, row 0: joint1 [rad/s] is inf");
  with([](Fan& f) { cut(f, 1, 0); }, "branch 1 has no rows");
  with([](Fan& f) { f.clusters[0].branches[0] = 3; }, "cluster 0 has branch 3, expected 0 to 2");
  with([](Fan& f) { f.clusters[1].branches.clear(); }, "cluster 1 has no branches");
  with([](Fan& f) { f = Fan(); }, "the fan has no rows");
  with([](Fan& f) { f.branches.clear(); }, "the fan has no branches");
}

TEST(FanPage, RefusesAModelThatCannotMove) {
  const Scene scene = chain_scene(0);
  Fan fan = random_fan(chain_scene(1), 2, 3);
  fan.q = fan.v = TableStack(2, 3, 0);
  fan.coordinates.clear();
  EXPECT_THROW(fan_page_data(scene, fan), InputError);
}

TEST(FanPage, IsTheTemplateWithTheDataInPlace) {
  const TempFolder folder;
  const Scene scene = chain_scene(1);
  Fan fan = random_fan(scene, 3, 4);
  fan.title = "</script><script>alert(1)</script>";
  write_fan_page(folder / "fan.html", scene, fan);
  EXPECT_EQ(folder.count(), 1);
  const std::string page = read_bytes(folder / "fan.html");
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.size(),
            fan_template().size() - kFanPlaceholder.size() + replay_json(fan_page_data(scene, fan)).size());
  write_fan_page(folder / "again.html", scene, fan);
  EXPECT_EQ(page, read_bytes(folder / "again.html"));
  EXPECT_THROW(write_fan_page(folder / "missing" / "fan.html", scene, fan), InputError);
}

TEST(FanTemplate, HasThePlaceholderOnceAndNamesNoOtherFile) {
  const std::string_view page = fan_template();
  const size_t at = page.find(kFanPlaceholder);
  ASSERT_NE(at, std::string_view::npos);
  EXPECT_EQ(page.find(kFanPlaceholder, at + 1), std::string_view::npos);
  for (const char* outside : {"<script src", "rel=\"stylesheet\"", "@import", "url(http"})
    EXPECT_EQ(page.find(outside), std::string_view::npos) << outside;
}

}  // namespace
}  // namespace scree
