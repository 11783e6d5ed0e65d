#include <gtest/gtest.h>

#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "support/paths.h"
#include "support/process.h"

namespace scree {
namespace {

using nlohmann::json;

Outcome study(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {cli_program(), "study"});
  return Process(arguments).wait();
}

TEST(StudyVerb, ListsTheStudies) {
  const Outcome outcome = study({"list"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  for (const char* name : {"nmdp-jump",          "nmdp-walk",         "nmdp-table1",
                           "nmdp-truth",         "nmdp-cost",         "nmdp-convergence",
                           "nmdp-accuracy",      "nmdp-unseen",       "pbfd-box",
                           "pbfd-optimizers",    "pbfd-chain",        "pbfd-batch",
                           "impact-cradle",      "impact-rack",       "impact-galperin",
                           "impact-certificate", "event-bounce",      "event-painleve",
                           "event-block-fan",    "event-compass-fan", "event-robosimian-step",
                           "conservation"})
    EXPECT_NE(outcome.out.find(name), std::string::npos) << name;
}

TEST(StudyVerb, WithoutItsProgramSaysHowToBuildIt) {
  const TempFolder folder;
  const std::string alone = (folder / "scree").string();
  std::filesystem::copy_file(cli_program(), alone);
  const Outcome outcome = Process({alone, "study", "list"}).wait();
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "scree: error: study: no " + (folder / "scree-studies").string() +
                             ", which computes the studies; `make studies` builds it\n");
}

TEST(StudyVerb, WrongUsageExitsWith2AndWritesNothing) {
  const TempFolder folder;
  const std::string page = (folder / "page.html").string();
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& expected) {
    const Outcome outcome = study(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << expected;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
    EXPECT_NE(outcome.err.find(expected), std::string::npos) << outcome.err;
    EXPECT_EQ(folder.count(), 0);
  };
  refused({}, "name is required");
  refused({"nmdp-jmup", "--html", page}, "unknown study \"nmdp-jmup\", did you mean \"nmdp-jump\"?");
  refused({"nmdp-jump", "--data", folder.path().string()}, "expected a folder that holds models and motions");
  refused({"nmdp-jump", "--data", source_dir(), "--html", (folder / "none" / "page.html").string()}, "none");
  refused({"nmdp-jump", "--jobs", "-1"}, "--jobs");
  refused({"nmdp-jump", "--qiuck"}, "did you mean \"--quick\"?");
}

// Nothing acts on what flies: a brick keeps its momentum with every integrator, and `event` keeps all.
TEST(StudyVerb, FreeFlightKeepsWhatItHas) {
  const Outcome outcome = study({"conservation", "--quick", "--data", source_dir(), "--json", "--jobs", "0"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json data = json::parse(outcome.out);
  int flights = 0, goals = 0;
  for (const json& row : data["rows"]) {
    const std::string quantity = row["quantity"];
    flights += quantity.find("moment of momentum off") != std::string::npos;
    if (quantity.find("momentum off, largest") == std::string::npos &&
        quantity.find("event: the worst of") == std::string::npos)
      continue;
    ++goals;
    EXPECT_EQ(row["verdict"], "reproduced") << row;
  }
  EXPECT_EQ(flights, 4 * 18);  // integrators
  EXPECT_EQ(goals, 2 + 4);
}

TEST(StudyVerb, AQuickStudyPrintsRowsAndWritesAPage) {
  const TempFolder folder;
  const std::string page = (folder / "page.html").string();
  const std::vector<std::string> common = {"nmdp-convergence", "--quick", "--data", source_dir()};
  std::vector<std::string> arguments = common;
  arguments.insert(arguments.end(), {"--json", "--html", page, "--jobs", "1"});
  const Outcome outcome = study(arguments);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const json data = json::parse(outcome.out);
  EXPECT_EQ(data["study"], "nmdp-convergence");
  ASSERT_GT(data["rows"].size(), 10u);
  for (const json& row : data["rows"]) {
    const std::string verdict = row["verdict"];
    EXPECT_EQ(verdict == "reported", row["goal"] == "") << row;
    EXPECT_FALSE(row["scree"].is_null()) << row;
  }
  EXPECT_NE(read_bytes(page).find("nmdp-convergence"), std::string::npos);
  EXPECT_EQ(folder.count(), 1);

  // No figure of this study depends on the number of threads.
  arguments = common;
  arguments.insert(arguments.end(), {"--json", "--jobs", "3"});
  EXPECT_EQ(study(arguments).out, outcome.out);

  const Outcome table = study(common);
  EXPECT_EQ(table.exit_code, 0);
  for (const char* word : {"quantity", "paper", "goal", "verdict", "sliding box"})
    EXPECT_NE(table.out.find(word), std::string::npos) << word;
}

// Two motions drawn from the published seed, on any number of threads: their references agree, and the default
// integrator keeps to the goals of all forty.
TEST(StudyVerb, UnseenMotionsAreDrawnComparedAndWithinTheirGoals) {
  const auto run = [](const char* jobs) {
    return study({"nmdp-unseen", "--quick", "--data", source_dir(), "--json", "--jobs", jobs});
  };
  const Outcome outcome = run("1");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(run("2").out, outcome.out);
  const json data = json::parse(outcome.out);
  EXPECT_EQ(data["study"], "nmdp-unseen");
  std::map<std::string, json> rows;
  for (const json& row : data["rows"]) rows[row["quantity"]] = row;
  const json drawn = rows["motions whose references agree within 0.5 %, of those drawn"];
  EXPECT_EQ(drawn["verdict"], "reproduced") << drawn;
  EXPECT_EQ(drawn["scree"].get<std::string>().rfind("2 of ", 0), 0u) << drawn;
  int motions = 0;
  for (const auto& [quantity, row] : rows)
    if (quantity.find("largest error over the steps") != std::string::npos)
      motions += std::stoi(row["scree"].get<std::string>());
  EXPECT_EQ(motions, 2);
  for (const std::string at : {"pbd-nmdp2 at 20 ms: ", "pbd-nmdp2 at 50 ms: "}) {
    const auto value = [&](const char* what) { return rows[at + what]["scree"].get<double>(); };
    const double median = value("error, median"), high = value("error, 95 % quantile"), worst = value("error, largest");
    EXPECT_GT(median, 0) << at;
    EXPECT_LE(median, high) << at;
    EXPECT_LE(high, worst) << at;
    EXPECT_LE(high, 2) << at;  // [%] the goals
    EXPECT_LE(worst, 4) << at;
    EXPECT_EQ(rows[at + "error, 95 % quantile"]["verdict"], "reproduced") << at;
    EXPECT_EQ(rows[at + "error, largest"]["verdict"], "reproduced") << at;
    // Two stages a step, or more where steps are halved for their accuracy.
    EXPECT_GE(value("stage solves per second, median"), at.find("20 ms") != std::string::npos ? 100 : 40) << at;
  }
}

TEST(StudyVerb, TheAccuracyStudyDoesNotDependOnTheThreads) {
  const auto run = [](const char* jobs) {
    return study({"nmdp-accuracy", "--quick", "--data", source_dir(), "--json", "--jobs", jobs});
  };
  const Outcome one = run("1");
  ASSERT_EQ(one.exit_code, 0) << one.err;
  const json data = json::parse(one.out);
  std::map<std::string, json> rows;
  for (const json& row : data["rows"]) rows[row["quantity"]] = row;
  EXPECT_EQ(rows.at("scenes kept, of the seeds drawn")["verdict"], "reproduced");
  EXPECT_EQ(rows.at("runs that fail")["verdict"], "reproduced");
  EXPECT_GT(rows.at("slope of log error over log accuracy: median")["scree"].get<double>(), 0);
  EXPECT_EQ(run("3").out, one.out);
}

// What the PBFD paper says of its Fig. 5, from the quick sweep.
TEST(StudyVerb, TheBoxOfPbfdSlidesAsThePaperSays) {
  const Outcome outcome = study({"pbfd-box", "--quick", "--data", source_dir(), "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::map<std::string, std::string> verdicts;
  const json data = json::parse(outcome.out);
  for (const json& row : data["rows"]) {
    const std::string quantity = row["quantity"];
    verdicts[quantity.substr(0, quantity.find(", of "))] = row["verdict"];
  }
  for (const char* claim : {"runs that fail", "pbfd: where the distance rises with the coefficient, 50 ms and more",
                            "pbfd: where the distance rises with the coefficient, steps below 30 ms",
                            "pbd-friction: thresholds fall as the step grows"})
    EXPECT_EQ(verdicts.at(claim), "reproduced") << claim;
}

TEST(StudyVerb, StepsFromRandomStatesEndOrSayThatTheyFailed) {
  const Outcome outcome = study({"pbfd-optimizers", "--quick", "--data", source_dir(), "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  int rows = 0;
  const json data = json::parse(outcome.out);
  for (const json& row : data["rows"]) {
    const std::string quantity = row["quantity"];
    if (quantity.find("steps that are completed") == std::string::npos &&
        quantity.find("leave another state") == std::string::npos)
      continue;
    ++rows;
    EXPECT_EQ(row["verdict"], "reproduced") << row;
  }
  EXPECT_EQ(rows, 8);
}

// What does not depend on the speed of the machine.
TEST(StudyVerb, TheChainIsStableAtATenthOfASecondAndBatchesHaveTheSameBits) {
  const auto rows_of = [](const char* name) {
    const Outcome outcome = study({name, "--quick", "--data", source_dir(), "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    std::map<std::string, json> rows;
    const json data = json::parse(outcome.out);
    for (const json& row : data["rows"]) rows[row["quantity"]] = row;
    return rows;
  };
  const std::map<std::string, json> chain = rows_of("pbfd-chain");
  for (const char* integrator : {"pbfd", "pbfd-coulomb", "pbfd-coulomb2"})
    EXPECT_EQ(chain.at(integrator + std::string(": stable starts at 100 ms"))["verdict"], "reproduced");
  const std::map<std::string, json> batch = rows_of("pbfd-batch");
  EXPECT_EQ(batch.at("final states whose bits differ between numbers of lanes and threads")["verdict"], "reproduced");
  EXPECT_EQ(batch.at("trajectories that do not end")["verdict"], "reproduced");
}

// Closed forms of bouncing and rocking, and the regions of Painleve's rod.
TEST(StudyVerb, EventsComeWhereClosedFormsSay) {
  for (const auto& [name, claims] : std::map<std::string, std::vector<std::string>>{
           {"event-bounce",
            {"plane, e = 0.9: bounces_end of `rest`, the same", "plane, e = 0.5: time of `rest`, t1 (1 + e)/(1 - e)",
             "hills: times of the impacts, largest difference", "rocking, anitescu-potra: the same at 4 ms"}},
           {"event-painleve",
            {"map of 144 states, friction 2, u = -1 m/s: as p and b say",
             "map of 144 states, friction 1.2, u = -1 m/s: impacts without collision",
             "away, friction 2, stops and holds: order of that difference in the step"}},
           {"event-block-fan",
            {"table: branches whose first outcome has the bits of sample_outcomes' of the same number",
             "code: all at rest at the end: largest speed"}}}) {
    const Outcome outcome = study({name, "--quick", "--data", source_dir(), "--json"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    std::map<std::string, std::string> verdicts;
    const json data = json::parse(outcome.out);
    for (const json& row : data["rows"]) verdicts[row["quantity"]] = row["verdict"];
    for (const std::string& claim : claims) EXPECT_EQ(verdicts.at(claim), "reproduced") << claim;
  }
}

TEST(StudyVerb, ABrokenModelIsNamed) {
  const TempFolder folder;
  std::filesystem::create_directories(folder / "models");
  std::filesystem::create_directories(folder / "motions");
  folder.write("models/box-planar.urdf", "<robot name=\"x\"/>");
  const Outcome outcome = study({"nmdp-convergence", "--quick", "--data", folder.path().string()});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("box-planar.urdf"), std::string::npos) << outcome.err;
}

TEST(StudyVerb, AnInterruptWritesNothing) {
  const TempFolder folder;
  Process process({cli_program(), "study", "nmdp-truth", "--data", source_dir(), "--html",
                   (folder / "page.html").string(), "--jobs", "2"});
  while (!process.finished() && !process.catches(SIGINT)) std::this_thread::yield();
  ASSERT_FALSE(process.finished()) << process.wait().err;
  kill(process.id(), SIGINT);
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_EQ(outcome.err, "scree: error: interrupted, nothing written\n");
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(folder.count(), 0);
}

}  // namespace
}  // namespace scree
