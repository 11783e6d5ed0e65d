// scree sim --branches as a user meets it.
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "run/hdf5.h"
#include "scree/fan.h"
#include "support/paths.h"
#include "support/process.h"

namespace scree {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::string kScene = source_dir() + "/tests/data/scenes/fan.toml";

Outcome sim(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {cli_program(), "sim"});
  return Process(arguments).wait();
}

TEST(FanVerb, TableTellsWhatADesignerNeeds) {
  const Outcome outcome = sim({kScene, "--branches", "40"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  for (const char* word :
       {"Block dropped flat", "40 branches of 0.5 s, persistent sampler, seed 1", "complete", "first split",
        "0.0782062 s", "rear_bottom opens, front_bottom sticks", "clusters", "no probabilities",
        "ends (medians) at base.", "spread", "at 0.5 s", "widest at the end", "median", "penetration", "wall time"})
    EXPECT_NE(outcome.out.find(word), std::string::npos) << word << "\n" << outcome.out;
  EXPECT_EQ(sim({kScene, "--branches", "3", "--quiet"}).out, "");
}

TEST(FanVerb, TellsWhenNothingSplits) {
  const Outcome outcome = sim({kScene, "--branches", "3", "--duration", "0.05"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("none: all branches are the same"), std::string::npos) << outcome.out;
  const json data = json::parse(sim({kScene, "--branches", "3", "--duration", "0.05", "--json"}).out);
  EXPECT_TRUE(data["first_split"].is_null());
  EXPECT_EQ(data["impacts"], 0);
}

TEST(FanVerb, JsonAndFilesAgreeWithTheLibrary) {
  const TempFolder folder;
  const std::string out = (folder / "fan.h5").string(), html = (folder / "fan.html").string();
  const Outcome outcome = sim({kScene, "--branches", "30", "--seed", "7", "--threads", "2", "--sampler", "uniform",
                               "--out", out, "--html", html, "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const json data = json::parse(outcome.out);
  const Scene scene = load_scene(kScene);
  FanOptions options;
  options.branches = 30;
  options.seed = 7;
  options.sampling.sampler = OutcomeSampler::uniform;
  const Fan fan = run_fan(scene, options);
  EXPECT_EQ(data["status"], "complete");
  EXPECT_EQ(data["branches"], 30);
  EXPECT_EQ(data["complete"], 30);
  EXPECT_EQ(data["seed"], 7);
  EXPECT_EQ(data["sampler"], "uniform");
  EXPECT_EQ(data["first_split"].get<double>(), fan.first_split);
  ASSERT_EQ(data["split"].size(), fan.split.size());
  for (size_t i = 0; i < fan.split.size(); ++i) {
    EXPECT_EQ(data["split"][i]["mode"], fan.split[i].mode);
    EXPECT_EQ(data["split"][i]["branches"], fan.split[i].branches);
  }
  EXPECT_EQ(data["clusters_found"], fan.clusters.size());
  for (size_t i = 0; i < data["clusters"].size(); ++i) EXPECT_EQ(data["clusters"][i]["modes"], fan.clusters[i].modes);
  EXPECT_EQ(data["end"]["base.x [m]"]["q95"].get<double>(), fan.quantile(fan.rows() - 1, 0, 0.95));
  EXPECT_EQ(data["spread"].back()["mass_metric"].get<double>(), fan.spread.back());
  EXPECT_EQ(data["out"], out);
  EXPECT_EQ(folder.count(), 2);
  EXPECT_GT(fs::file_size(html), 0u);
  const hdf5::Reader in(out);
  EXPECT_EQ(in.numbers("/q", {30, fan.rows(), 3}), fan.q.numbers());
  const Outcome view = Process({cli_program(), "view", out, "--html", (folder / "x.html").string()}).wait();
  EXPECT_EQ(view.exit_code, 2);
  EXPECT_NE(view.err.find("is a fan of branches"), std::string::npos) << view.err;
}

TEST(FanVerb, WrongUsageIsOneLineAndWritesNothing) {
  const TempFolder folder;
  const std::string out = (folder / "fan.h5").string(), html = (folder / "fan.html").string();
  const std::vector<std::pair<std::vector<std::string>, std::string>> usages = {
      {{"--branches", "0"}, "--branches: 0, expected an integer >= 1"},
      {{"--branches", "-1"}, "--branches: -1, expected an integer >= 1"},
      {{"--branches", "1.5"}, "--branches: 1.5, expected"},
      {{"--branches", "1e12"}, "--branches: 1e12, expected an integer"},
      {{"--branches", "1000000000000"}, "expected at most 4e+08: at most 1307189 branches"},
      {{"--branches", "99999999999999999999"}, "--branches: 99999999999999999999, expected"},
      {{"--branches", "many"}, "--branches: many, expected"},
      {{"--branches", "5", "--seed", "-1"}, "--seed: -1, expected"},
      {{"--branches", "5", "--threads", "-1"}, "--threads: -1, expected"},
      {{"--branches", "5", "--threads", "5000"}, "--threads: 5000, expected"},
      {{"--branches", "5", "--sampler", "unifrom"}, "unknown sampler \"unifrom\""},
      {{"--branches", "5", "--batch", "5"}, "--batch: its trajectories differ by their start"},
      {{"--branches", "5", "--ghost", kScene}, "--ghost: a replay shows one run"},
      {{"--branches", "5", "--accuracy", "1e-3"}, "--accuracy: rows are a step of the scene apart"},
      {{"--branches", "5", "--output", "0.1"}, "--output: rows are a step of the scene apart"},
      {{"--branches", "5", "--integrator", "ne-lcp"}, "integrator \"ne-lcp\" knows no impacts, expected \"event\""},
      {{"--branches", "5", "--rows-every", "2"}, "--rows-every requires --batch"},
      {{"--sampler", "uniform"}, "--sampler requires --branches"},
      {{"--seed", "5"}, "--seed requires --batch or --branches"},
      {{"--threads", "5"}, "--threads requires --batch or --branches"},
      {{"--branches", "5", "--html", out}, "would overwrite another output"},
  };
  for (auto [arguments, expected] : usages) {
    arguments.insert(arguments.begin(), {kScene, "--out", out});
    if (std::find(arguments.begin(), arguments.end(), "--html") == arguments.end())
      arguments.insert(arguments.end(), {"--html", html});
    const Outcome outcome = sim(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << expected << ": " << outcome.err;
    EXPECT_TRUE(outcome.err.starts_with("scree: error: ")) << outcome.err;
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
    EXPECT_NE(outcome.err.find(expected), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(folder.count(), 0) << expected << ": left a file behind";
  }
  const Outcome outcome = sim({kScene, "--branches", "5", "--out", (folder / "no/fan.h5").string()});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("cannot write"), std::string::npos) << outcome.err;
}

// A hundred thousand branches take a minute. What ended when it was asked to stop is written.
TEST(FanVerb, InterruptedWritesWhatEnded) {
  const TempFolder folder;
  const std::string out = (folder / "fan.h5").string(), chunks = out + ".chunks";
  for (const int signal : {SIGINT, SIGTERM}) {
    Process process(
        {cli_program(), "sim", kScene, "--branches", "100000", "--duration", "0.3", "--threads", "2", "--out", out});
    while (!process.finished() && !process.catches(signal)) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    kill(process.id(), signal);
    const Outcome outcome = process.wait();
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_NE(outcome.err.find("interrupted after "), std::string::npos) << outcome.err;
    if (outcome.err.find("nothing written") != std::string::npos) continue;  // a machine too busy for one branch
    const hdf5::Reader in(out);
    EXPECT_EQ(in.string_attribute("/", "status"), "interrupted");
    EXPECT_EQ(in.integer_attribute("/", "branches_wanted"), 100000);
    const hdf5::Extents extents = in.extents("/q");
    EXPECT_GE(extents[0], 1u);
    EXPECT_LT(extents[0], 100000u);
    // Its chunks stay for --resume, and nothing else.
    EXPECT_EQ(folder.count(), fs::exists(chunks) ? 2 : 1);
    fs::remove_all(chunks);
  }
}

}  // namespace
}  // namespace scree
