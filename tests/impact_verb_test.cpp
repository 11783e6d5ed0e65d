#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "pages/impact_page.h"
#include "pages/impact_report.h"
#include "scree/impact_page.h"
#include "support/paths.h"
#include "support/process.h"

namespace scree {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

std::string example(const std::string& name) {
  return (fs::path(source_dir()) / "examples/impact" / (name + ".toml")).string();
}

Outcome impact(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {cli_program(), "impact"});
  return Process(arguments).wait();
}

// --- Text, JSON and page of results made by hand ---------------------------------------------------------------------

ImpactReport block_report() {
  ImpactReport report;
  report.scene = load_impact_scene(example("block"));
  ImpactResult rest;
  rest.status = ImpactStatus::resolved;
  rest.law = ImpactLaw::anitescu_potra;
  rest.v = Eigen::Vector3d::Zero();
  rest.normal_impulse = Eigen::Vector2d(0.25, 0.5);
  rest.tangential_impulse = Eigen::Vector2d(0, -0.125);
  rest.steps = 1;
  rest.energy_before = 2;
  rest.path = {report.scene.problem.v, rest.v};
  report.outcomes.push_back(rest);
  return report;
}

ImpactResult bounce(const ImpactScene& scene) {
  ImpactResult result;
  result.status = ImpactStatus::budget;
  result.law = ImpactLaw::gauss_seidel_max;
  result.v = -scene.problem.v;
  result.normal_impulse = result.tangential_impulse = Eigen::Vector2d::Zero();
  result.steps = 7;
  result.energy_before = result.energy_after = 2;
  result.note = "made up";
  ImpactCertificate c;
  c.holds = true;
  c.tolerance = 1e-10;
  c.w = 4;
  c.cap = 123;
  c.steps = 7;
  c.bits = 106;
  c.energy_ratio = {1 - 1e-15, 1 + 1e-15};
  c.jammed = {1};
  c.energy_removed = 0.5;
  result.certificate = c;
  return result;
}

TEST(ImpactReport, OneOutcomeIsToldWithContactsAndCertificate) {
  ImpactReport report = block_report();
  std::string text = impact_report_text(report);
  for (const char* word :
       {"Block dropped flat", "anitescu-potra", "block.spin [rad/s]", "ground - block", "0.125", "resolved", "ratio 0"})
    EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
  EXPECT_EQ(text.find("certificate"), std::string::npos);
  report.outcomes = {bounce(report.scene)};
  text = impact_report_text(report);
  for (const char* word : {"gs-max", "budget", "certificate", "holds", "margin of the cone  0.25", "7 of at most 123",
                           "106 bits", "B; energy removed 0.5 J"})
    EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
  EXPECT_FALSE(every_outcome_resolved(report));
}

TEST(ImpactReport, SeveralOutcomesAreATable) {
  ImpactReport report = block_report();
  report.outcomes.push_back(bounce(report.scene));
  report.notes.push_back("a note");
  const std::string text = impact_report_text(report);
  for (const char* word : {"[1]", "[2]", "vn_A", "vt_B", "after [2]", "made up", "note: a note"})
    EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
  const json data = json::parse(impact_report_json(report));
  ASSERT_EQ(data["outcomes"].size(), 2u);
  EXPECT_EQ(data["outcomes"][0]["contacts"][1]["tangential_impulse"][0], -0.125);
  EXPECT_EQ(data["outcomes"][1]["certificate"]["jammed"][0], "B");
  EXPECT_EQ(data["outcomes"][1]["velocity"][1], 0.1401);
  EXPECT_EQ(data["contacts"][0]["vn"], -0.1401);
  EXPECT_TRUE(data["set"].is_null());
}

OutcomeSet made_up_set(const ImpactProblem& p, long samples) {
  OutcomeSet set;
  set.step = 0.3;
  set.samples = samples;
  set.finished = samples;
  set.increments = 2 * samples;
  set.v = Eigen::MatrixXd::Zero(3, samples);
  for (long k = 0; k < samples; ++k) set.v(1, k) = 0.01 * static_cast<double>(k) / static_cast<double>(samples);
  set.modes.push_back({{ContactMode::open, ContactMode::stick}, samples});
  set.paths.push_back({p.v, set.v.col(0)});
  OutcomeExtreme up;
  up.direction = p.Jn.row(0).transpose();
  up.value = 0.01;
  up.v = set.v.col(samples - 1);
  up.bound = 0.02;
  set.extremes.push_back(up);
  return set;
}

TEST(ImpactReport, SetsAreToldWithSharesRangesAndBounds) {
  ImpactReport report = block_report();
  report.outcomes.clear();
  report.set = made_up_set(report.scene.problem, 100);
  const std::string text = impact_report_text(report);
  for (const char* word : {"100.000 %", "A opens, B sticks", "0.0099", "0.02", "2 an impact"})
    EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
  const json data = json::parse(impact_report_json(report));
  EXPECT_EQ(data["set"]["ranges"][0]["velocity"], "vn_A");
  EXPECT_EQ(data["set"]["ranges"][0]["bound"][1], 0.02);
  EXPECT_TRUE(data["set"]["ranges"][0]["bound"][0].is_null());
}

TEST(ImpactPage, SaysWhatItLeavesOut) {
  ImpactReport report = block_report();
  report.set = made_up_set(report.scene.problem, 100000);
  const ordered_json data = impact_page_data(report);
  // All samples lie on one line of the planes: at most one a cell of the grid's diagonal and the extremes.
  EXPECT_GE(data["set"]["shown"], 100);
  EXPECT_LE(data["set"]["shown"], 110);
  EXPECT_EQ(data["set"]["finished"], 100000);
  EXPECT_EQ(data["set"]["extremes"][0]["name"], "largest vn_A");
  EXPECT_EQ(data["bodies"].size(), 2u);
  EXPECT_LT(data.dump().size(), 100000u);
}

// A long course and many scattered samples: the page stays small.
TEST(ImpactPage, StaysWithinFiveMegabytes) {
  ImpactReport report = block_report();
  report.outcomes[0].path.assign(100000, report.scene.problem.v);
  OutcomeSet set = made_up_set(report.scene.problem, 300000);
  std::uint64_t state = 1;
  for (Eigen::Index k = 0; k < set.v.cols(); ++k)
    for (Eigen::Index j = 0; j < 3; ++j) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      set.v(j, k) = static_cast<double>(state >> 40);
    }
  set.paths.assign(100000, {report.scene.problem.v, set.v.col(0), set.v.col(1)});
  report.set = set;
  const std::string text = impact_page_data(report).dump();
  EXPECT_LT(text.size(), 5'000'000u);
  EXPECT_GT(text.size(), 500'000u);
}

TEST(ImpactReport, LawsThatApply) {
  const auto has = [](const ImpactProblem& p, ImpactLaw law) {
    const auto laws = applicable_impact_laws(p);
    return std::find(laws.begin(), laws.end(), law) != laws.end();
  };
  const ImpactProblem block = load_impact_scene(example("block")).problem,
                      cradle = load_impact_scene(example("cradle3")).problem;
  EXPECT_FALSE(has(block, ImpactLaw::reflections));  // it ignores friction
  EXPECT_TRUE(has(block, ImpactLaw::sequential));
  EXPECT_TRUE(has(cradle, ImpactLaw::reflections));
  EXPECT_TRUE(has(cradle, ImpactLaw::anitescu_potra));
  EXPECT_FALSE(has(cradle, ImpactLaw::routh));
}

// --- The command line
// -------------------------------------------------------------------------------------------------

TEST(ImpactVerb, ResolvesByTheLawOfTheSceneOrAnother) {
  const Outcome scene = impact({example("cradle5"), "--json"});
  ASSERT_EQ(scene.exit_code, 0) << scene.err;
  EXPECT_EQ(scene.err, "");
  const json data = json::parse(scene.out);
  EXPECT_EQ(data["outcomes"][0]["law"], "reflections");
  const std::vector<double> v = data["outcomes"][0]["velocity"];
  for (size_t k = 0; k < 5; ++k) EXPECT_NEAR(v[k], k == 4 ? 1 : 0, 1e-12);  // a few roundings of unit masses
  const Outcome other = impact({example("block"), "--law", "sequential", "--order", "B,A"});
  ASSERT_EQ(other.exit_code, 0) << other.err;
  EXPECT_NE(other.out.find("sequential"), std::string::npos);
  EXPECT_NE(other.out.find("0.0272451"), std::string::npos) << other.out;  // simultaneous-impact reference, 12.3
}

TEST(ImpactVerb, ListsAllOutcomes) {
  const Outcome outcome = impact({example("compass"), "--all", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json data = json::parse(outcome.out);
  int solutions = 0;
  for (const json& o : data["outcomes"]) solutions += o["law"] == "anitescu-potra";
  EXPECT_EQ(solutions, 3);  // the foot behind lifts, slides or sticks
}

TEST(ImpactVerb, SaysWhatItsBudgetLeavesOut) {
  const std::vector<std::string> all = {example("compass"), "--all", "--max-nodes", "2"};
  const Outcome text = impact(all);
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("note: anitescu-potra: not complete, there may be more outcomes"), std::string::npos)
      << text.out;
  std::vector<std::string> as_json = all;
  as_json.push_back("--json");
  const json data = json::parse(impact(as_json).out);
  EXPECT_EQ(data["incomplete"], json({"anitescu-potra"}));
  EXPECT_EQ(json::parse(impact({example("compass"), "--all", "--json"}).out)["incomplete"], json::array());
  const Outcome none = impact({example("compass"), "--all", "--max-nodes", "0"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.err.find("max_nodes: 0, expected at least 1"), std::string::npos) << none.err;
}

// A box flat on four corners with the default polygons of friction, 72 unknowns: more faces than the budget of the
// search allows by default. It ends all the same, says so, and lists all orders of `sequential`.
TEST(ImpactVerb, AFlatBoxInSpaceEndsByDefaultAndSaysWhatIsLeftOut) {
  const TempFolder folder;
  const char* const box = R"(
dimension = 3
friction = 0.874
[[body]]
name = "ground"
shape = "wall"
normal = [0, 0, 1]
[[body]]
name = "box"
shape = "box"
size = [0.4, 0.3, 0.2]
mass = 1
position = [0, 0, 0.1]
velocity = [0.3, 0.1, -1]
spin = [0.2, -0.3, 0.5]
)";
  const std::string scene = folder.write("box.toml", box).string();
  const Outcome outcome = impact({scene, "--all", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json data = json::parse(outcome.out);
  EXPECT_EQ(data["incomplete"], json({"anitescu-potra"}));
  EXPECT_EQ(data["notes"], json({"anitescu-potra: not complete, there may be more outcomes: the search ended after "
                                 "100001 nodes"}));
  int solutions = 0, orders = 0;
  for (const json& o : data["outcomes"]) {
    solutions += o["law"] == "anitescu-potra";
    orders += o["law"] == "sequential";
    EXPECT_EQ(o["status"], "resolved") << o["note"];
  }
  EXPECT_GE(solutions, 1);
  EXPECT_EQ(orders, 24);
}

TEST(ImpactVerb, SamplesDoNotDependOnThreadsAndMakeAPage) {
  const TempFolder folder;
  const std::string page = (folder / "page.html").string();
  const std::vector<std::string> common = {example("block"), "--samples", "500", "--seed", "3", "--json"};
  std::vector<std::string> one = common, two = common;
  one.insert(one.end(), {"--threads", "1", "--html", page});
  two.insert(two.end(), {"--threads", "2"});
  const Outcome first = impact(one), second = impact(two);
  two.back() = "0";  // all there are
  EXPECT_EQ(impact(two).out, first.out);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(first.out, second.out);
  const json set = json::parse(first.out)["set"];
  EXPECT_EQ(set["samples"], 500);
  EXPECT_EQ(set["sampler"], "uniform");
  EXPECT_EQ(set["step"], 0.3);
  const std::string html = read_bytes(page);
  EXPECT_NE(html.find("Block dropped flat"), std::string::npos);
  EXPECT_NE(html.find("sequential"), std::string::npos);  // laws to choose from
  EXPECT_LT(html.size(), 5'000'000u);
  EXPECT_EQ(folder.count(), 1);
}

TEST(ImpactVerb, ABudgetThatRunsOutExitsWith1) {
  const Outcome outcome = impact({example("galperin"), "--max-steps", "10"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.out.find("budget"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("not resolved"), std::string::npos) << outcome.err;
}

TEST(ImpactVerb, WrongUsageExitsWith2AndWritesNothing) {
  const TempFolder folder;
  const std::string page = (folder / "page.html").string(), block = example("block");
  const auto refused = [&](std::vector<std::string> arguments, const std::string& expected) {
    const Outcome outcome = impact(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << expected << outcome.out;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
    EXPECT_NE(outcome.err.find(expected), std::string::npos) << outcome.err;
    EXPECT_EQ(folder.count(), 0);
  };
  refused({}, "scene is required");
  refused({"none.toml", "--html", page}, "none.toml");
  refused({block, "--law", "sequental", "--html", page}, "did you mean \"sequential\"?");
  refused({block, "--law", "moreau", "--all", "--html", page}, "more than one of --law, --all, --samples");
  refused({block, "--samples", "0", "--html", page}, "samples: 0, expected 1 to ");
  refused({block, "--step", "1", "--html", page}, "--step: is for samples");
  refused({block, "--max-nodes", "5", "--html", page}, "--max-nodes: is for the search of all outcomes");
  refused({block, "--samples", "9", "--sampler", "unifrom", "--html", page}, "unifrom");
  refused({block, "--samples", "9", "--step", "-1", "--html", page}, "step: -1, expected a number >= 0");
  refused({block, "--law", "sequential", "--order", "A,C", "--html", page}, "no contact \"C\"");
  refused({block, "--law", "sequential", "--order", "A", "--html", page}, "order");
  refused({block, "--tolerance", "2", "--html", page}, "tolerance: 2");
  refused({block, "--directions", "2", "--html", page}, "friction_directions: 2");
  refused({block, "--max-steps", "-5", "--html", page}, "max_steps: -5, expected at least 1");
  // Beyond what a sample counts to; the second is 1 in 32 bits.
  for (const char* steps : {"1000000001", "-4294967295", "0"})
    refused({block, "--samples", "9", "--max-steps", steps, "--html", page},
            std::string("--max-steps: ") + steps + ", expected 1 to 1000000000 increments of a sample");
  refused({block, "--lwa", "moreau", "--html", page}, "did you mean \"--law\"?");
  refused({block, "--html", (folder / "none" / "page.html").string()}, "none");
}

}  // namespace
}  // namespace scree
