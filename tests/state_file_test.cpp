// Saving and resuming: the bits are those of a run that never stopped.
#include "scree/state_file.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "run/seal.h"
#include "scree/error.h"
#include "scree/fan.h"
#include "scree/run.h"
#include "support/paths.h"
#include "support/process.h"
#include "support/temp_folder.h"

namespace scree {
namespace {

namespace fs = std::filesystem;

fs::path example(const char* name) { return fs::path(source_dir()) / "examples/scenes" / name; }

struct Killed {};

void expect_equal(const State& a, const State& b) {
  EXPECT_EQ(a.time, b.time);
  EXPECT_EQ(a.q, b.q);
  EXPECT_EQ(a.v, b.v);
  EXPECT_EQ(a.last_step, b.last_step);
  EXPECT_EQ(a.body_rates, b.body_rates);
  EXPECT_EQ(a.contact_weights, b.contact_weights);
  EXPECT_EQ(a.contact_loads, b.contact_loads);
}

void expect_equal(const Run& a, const Run& b) {
  EXPECT_EQ(a.time, b.time);
  EXPECT_EQ(a.q, b.q);
  EXPECT_EQ(a.v, b.v);
  EXPECT_EQ(a.kinetic_energy, b.kinetic_energy);
  EXPECT_EQ(a.potential_energy, b.potential_energy);
  EXPECT_EQ(a.residual, b.residual);
  EXPECT_EQ(a.iterations, b.iterations);
  EXPECT_EQ(a.substeps, b.substeps);
  EXPECT_EQ(a.rejected, b.rejected);
  EXPECT_EQ(a.outer, b.outer);
  EXPECT_EQ(a.penetration, b.penetration);
  EXPECT_EQ(a.energy_gain, b.energy_gain);
  EXPECT_EQ(a.first_contact, b.first_contact);
  EXPECT_EQ(a.event_row, b.event_row);
  EXPECT_EQ(a.final_state_hash, b.final_state_hash);
  EXPECT_EQ(a.totals.steps, b.totals.steps);
  EXPECT_EQ(a.totals.rejected, b.totals.rejected);
  EXPECT_EQ(a.totals.smallest_step, b.totals.smallest_step);
  EXPECT_EQ(a.totals.energy_gain, b.totals.energy_gain);
  ASSERT_EQ(a.contacts.size(), b.contacts.size());
  for (size_t i = 0; i < a.contacts.size(); ++i) EXPECT_EQ(a.contacts[i].force, b.contacts[i].force);
  ASSERT_EQ(a.events.size(), b.events.size());
  for (size_t i = 0; i < a.events.size(); ++i) EXPECT_EQ(a.events[i].time, b.events[i].time);
  ASSERT_EQ(a.states.size(), b.states.size());
  for (size_t i = 0; i < a.states.size(); ++i) expect_equal(a.states[i].state, b.states[i].state);
}

// Robosimian crouches and pushes off, a block is thrown on the ground for `event`; integrators without contact swing.
Scene scene_for(IntegratorType integrator, double duration) {
  SceneOverrides overrides;
  overrides.integrator = integrator;
  overrides.dt = 0.01;
  overrides.duration = duration;
  return load_scene(example(integrator == IntegratorType::event ? "event-block.toml"
                            : knows_contact(integrator)         ? "robosimian-jump.toml"
                                                                : "double-pendulum.toml"),
                    overrides);
}

class SavedStates : public testing::TestWithParam<int> {};

TEST_P(SavedStates, GoOnWithTheSameBitsInAnotherProcess) {
  const auto integrator = static_cast<IntegratorType>(GetParam());
  const TempFolder folder;
  const Scene whole = scene_for(integrator, 2), half = scene_for(integrator, 1);
  const scree::Run first = run_scene(half), all = run_scene(whole);
  ASSERT_EQ(all.status, RunStatus::complete);
  const fs::path file = folder / "half.h5";
  write_run(file, half.model, first);
  const Outcome outcome =
      Process({cli_program(), "sim", whole.file.string(), "--integrator", integrator_name(integrator), "--dt", "0.01",
               "--duration", "2", "--from", file.string() + "@1", "--json"})
          .wait();
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["final_state_hash"], fmt::format("{:016x}", all.final_state_hash));
}
INSTANTIATE_TEST_SUITE_P(Integrators, SavedStates,
                         testing::Range(0, static_cast<int>(IntegratorType::pbfd_coulomb2) + 1));

TEST(StateFile, KeepsAllOfTheState) {
  const TempFolder folder;
  const Scene scene = scene_for(IntegratorType::pbd_nmdp, 0.3);
  const State state = run_scene(scene).states.back().state;
  ASSERT_FALSE(state.body_rates.empty());
  ASSERT_FALSE(state.contact_weights.empty());
  save_state(folder / "state.h5", scene.model, state);
  expect_equal(load_state(folder / "state.h5", scene.model), state);
  EXPECT_EQ(folder.count(), 1);
}

TEST(StateFile, RefusesOtherModelsTimesVersionsAndDamage) {
  const TempFolder folder;
  const Scene scene = scene_for(IntegratorType::pbd, 0.1), other = scene_for(IntegratorType::pbd_nmdp, 0.1);
  const fs::path file = folder / "state.h5";
  const auto refused = [&](const Model& model, std::optional<double> time, const std::string& expected) {
    try {
      load_state(file, model, time);
      FAIL() << expected;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
    }
  };
  refused(scene.model, {}, "no such file");
  State state = make_state(scene.model);
  state.time = 0.25;
  save_state(file, scene.model, state);
  refused(other.model, {}, "/model/q_names: is of another model");
  refused(scene.model, 0.3, "holds no state of 0.3 s, expected one of 0.25 s");
  std::string bytes = read_bytes(file);
  bytes[bytes.size() / 2] ^= 1;
  folder.write("state.h5", bytes);
  refused(scene.model, {}, "is damaged or was changed");
  state.v(0) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(save_state(file, scene.model, state), InputError);
  state = make_state(scene.model);
  state.body_rates.resize(1);
  EXPECT_THROW(save_state(file, scene.model, state), InputError);
}

TEST(StateFile, CheckpointsAreStatesOfTheRunAlsoWhereTheStepFollowsFromTheAccuracy) {
  for (const bool controlled : {false, true}) {
    SceneOverrides overrides;
    overrides.duration = 0.4;
    if (controlled) {
      overrides.accuracy = 1e-4;
      overrides.output = 0.02;
    } else {
      overrides.dt = 0.02;
    }
    const Scene scene = load_scene(example("robosimian-jump.toml"), overrides);
    RunOptions options;
    options.checkpoint = 0.1;
    const scree::Run whole = run_scene(scene, options);
    ASSERT_EQ(whole.status, RunStatus::complete);
    ASSERT_EQ(whole.states.size(), 4u);
    EXPECT_NEAR(whole.states[1].label, 0.2, 1e-12);
    const TempFolder folder;
    write_run(folder / "run.h5", scene.model, whole);
    options.from = load_saved_state(folder / "run.h5", scene.model, 0.2);
    EXPECT_GE(options.from->state.time, 0.2 * (1 - 1e-12));
    const scree::Run rest = run_scene(scene, options);
    EXPECT_EQ(rest.final_state_hash, whole.final_state_hash) << controlled;
    EXPECT_EQ(rest.time.back(), whole.time.back());
    EXPECT_EQ(rest.time.front(), options.from->state.time);
  }
}

// Stopped dead after so many steps, again and again, and resumed: nothing but wall times differs.
TEST(Resume, ARunHasTheBitsOfOneThatNeverStopped) {
  struct Case {
    const char* scene;
    bool controlled;
  };
  for (const Case& c : {Case{"robosimian-jump.toml", false}, Case{"robosimian-jump.toml", true},
                        Case{"event-block.toml", false}, Case{"double-pendulum.toml", false}}) {
    SCOPED_TRACE(std::string(c.scene) + (c.controlled ? " controlled" : ""));
    SceneOverrides overrides;
    overrides.duration = 0.4;
    if (c.controlled) {
      overrides.accuracy = 1e-4;
      overrides.output = 0.02;
    } else {
      overrides.dt = 0.01;
    }
    const Scene scene = load_scene(example(c.scene), overrides);
    const TempFolder folder;
    RunOptions options;
    options.checkpoint = 0.07;
    const scree::Run whole = run_scene(scene, options);
    options.chunk = 3;
    options.resume = true;
    scree::Run run;
    int calls = 0;
    for (bool ended = false; !ended && calls < 50; ++calls) {
      int steps = 0;
      try {
        run = record_run(scene, options, folder / "run.h5", [&](double, double) {
          if (++steps > 8) throw Killed();
          return true;
        });
        ended = true;
      } catch (const Killed&) {
        EXPECT_FALSE(fs::exists(folder / "run.h5"));
      }
    }
    EXPECT_GT(calls, 2);
    expect_equal(run, whole);
    EXPECT_EQ(folder.count(), 1) << "chunks were left behind";
    expect_equal(read_run(folder / "run.h5").run, whole);
    // A run that has ended is left as it is.
    const auto written = fs::last_write_time(folder / "run.h5");
    fs::create_directory(folder / "run.h5.chunks");  // killed between the file and the removal of its chunks
    record_run(scene, options, folder / "run.h5");
    EXPECT_EQ(folder.count(), 1) << "chunks were left behind";
    EXPECT_EQ(fs::last_write_time(folder / "run.h5"), written);
  }
}

TEST(Resume, RefusesChunksOfAnotherRunAndRunsDamagedOnesAgain) {
  SceneOverrides overrides;
  overrides.duration = 0.3;
  overrides.dt = 0.01;
  const Scene scene = load_scene(example("double-pendulum.toml"), overrides);
  const TempFolder folder;
  RunOptions options;
  options.chunk = 5;
  const auto stop = [&] {
    try {
      record_run(scene, options, folder / "run.h5", [](double time, double) {
        if (time > 0.2) throw Killed();
        return true;
      });
    } catch (const Killed&) {
    }
  };
  stop();
  EXPECT_THROW(record_run(scene, options, folder / "run.h5"), InputError);  // without resume
  options.resume = true;
  overrides.dt = 0.005;
  try {
    record_run(load_scene(example("double-pendulum.toml"), overrides), options, folder / "run.h5");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("is of another run: dt is 0.01"), std::string::npos) << error.what();
  }
  const fs::path chunk = folder / "run.h5.chunks" / "000001.h5";
  std::string bytes = read_bytes(chunk);
  bytes[bytes.size() / 2] ^= 1;
  std::ofstream(chunk, std::ios::binary) << bytes;
  expect_equal(record_run(scene, options, folder / "run.h5"), run_scene(scene));
}

TEST(Resume, AFanHasTheBitsOfOneThatNeverStopped) {
  const Scene scene = load_scene(fs::path(source_dir()) / "tests/data/scenes/fan.toml");
  const TempFolder folder;
  FanOptions options;
  options.branches = 23;
  options.threads = 2;
  const Fan whole = run_fan(scene, options);
  options.chunk = 4;
  options.resume = true;
  Fan fan;
  int calls = 0;
  for (bool ended = false; !ended && calls < 50; ++calls) {
    long before = -1;
    try {
      fan = record_fan(scene, options, folder / "fan.h5", [&](long done, long) {
        if (before < 0) before = done;
        if (done >= before + 9) throw Killed();
        return true;
      });
      ended = true;
    } catch (const Killed&) {
    }
  }
  EXPECT_GT(calls, 2);
  EXPECT_EQ(folder.count(), 1) << "chunks were left behind";
  EXPECT_EQ(fan.spread, whole.spread);
  ASSERT_EQ(fan.branches.size(), whole.branches.size());
  for (size_t b = 0; b < fan.branches.size(); ++b) {
    EXPECT_EQ(fan.branches[b].index, whole.branches[b].index);
    EXPECT_EQ(fan.branches[b].final_state_hash, whole.branches[b].final_state_hash);
    EXPECT_EQ(fan.branches[b].cluster, whole.branches[b].cluster);
    ASSERT_EQ(fan.branches[b].impacts.size(), whole.branches[b].impacts.size());
    for (size_t k = 0; k < fan.branches[b].impacts.size(); ++k) {
      EXPECT_EQ(fan.branches[b].impacts[k].mode, whole.branches[b].impacts[k].mode);
      EXPECT_EQ(fan.branches[b].impacts[k].v_after, whole.branches[b].impacts[k].v_after);
      EXPECT_EQ(fan.branches[b].impacts[k].ambiguous, whole.branches[b].impacts[k].ambiguous);
    }
  }
  const std::vector<double>&a = fan.q.numbers(), &b = whole.q.numbers();
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])));
}

// --- lost output ---------------------------------------------------------------------------------------------------

// The program under a limit of `blocks` half kilobytes to a file: a disk that is full, for as long as it lasts.
Outcome limited(int blocks, const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {"/bin/sh", "-c", fmt::format("ulimit -f {} && exec \"$@\"", blocks), "sh",
                                    cli_program()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return Process(words).wait();
}

TEST(FullDisk, IsAFailureAndKeepsWhatIsThere) {
  const TempFolder folder;
  const std::string out = (folder / "out.h5").string(), html = (folder / "page.html").string();
  const std::string walk = example("robosimian-jump.toml").string(), many = example("robosimian-batch.toml").string(),
                    fan = (fs::path(source_dir()) / "tests/data/scenes/fan.toml").string();
  const auto expect_lost = [&](const Outcome& outcome, const std::string& file) {
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    EXPECT_NE(outcome.err.find("cannot write: File too large"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find(file), std::string::npos) << outcome.err;
    EXPECT_FALSE(fs::exists(file));
  };
  // A single run: nothing half-written; what was computed is told.
  Outcome outcome = limited(16, {"sim", walk, "--duration", "0.1", "--out", out, "--json"});
  expect_lost(outcome, out);
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["status"], "complete");
  EXPECT_TRUE(nlohmann::json::parse(outcome.out)["out"].is_null());
  EXPECT_EQ(folder.count(), 0);
  // The page does not fit, the run file does and stays.
  outcome = limited(1000, {"sim", walk, "--duration", "0.1", "--out", out, "--html", html});
  expect_lost(outcome, html);
  EXPECT_NE(outcome.err.find("wrote " + out), std::string::npos) << outcome.err;
  EXPECT_NO_THROW(read_run(out));
  fs::remove(out);
  // A batch and a fan whose chunks fit: they stay, and --resume ends the work. (They ended in a segmentation fault.)
  for (const std::vector<std::string>& rest :
       {std::vector<std::string>{"sim", many, "--duration", "0.1", "--batch", "24", "--chunk", "1", "--rows-every", "1",
                                 "--out", out},
        std::vector<std::string>{"sim", fan, "--branches", "24", "--chunk", "1", "--out", out}}) {
    outcome = limited(64, rest);
    expect_lost(outcome, out);
    EXPECT_NE(outcome.err.find("out.h5.chunks, --resume goes on"), std::string::npos) << outcome.err;
    EXPECT_TRUE(fs::exists(folder / "out.h5.chunks" / "000007.h5"));
    std::vector<std::string> again = rest;
    again.push_back("--resume");
    again.insert(again.begin(), cli_program());
    EXPECT_EQ(Process(again).wait().exit_code, 0);
    EXPECT_TRUE(fs::exists(out));
    EXPECT_EQ(folder.count(), 1);
    fs::remove(out);
  }
}

TEST(LostStdout, IsAFailureOfEveryVerb) {
  const TempFolder folder;
  const std::string scene = (fs::path(source_dir()) / "tests/data/scenes/pendulum.toml").string(),
                    model = (fs::path(source_dir()) / "models/box.urdf").string(),
                    impact = (fs::path(source_dir()) / "examples/impact/disks.toml").string(),
                    slide = example("box-slide.toml").string(), run = (folder / "run.h5").string(),
                    page = (folder / "page.html").string();
  ASSERT_EQ(Process({cli_program(), "sim", scene, "--out", run, "--quiet"}).wait().exit_code, 0);
  const std::vector<std::vector<std::string>> commands = {
      {"sim", scene},
      {"sim", scene, "--json"},
      {"check", model},
      {"check", "--json", model},
      {"impact", impact, "--json"},
      {"view", run, "--html", page, "--json"},
      {"study", "list"},
      {"convert", model, (folder / "copy.urdf").string(), "--json"},
      {"bench", "dynamics", "--seconds", "0.001"},
      {"calibrate", slide, "--distance", "1.5", "--integrator", "pbfd-coulomb"},
      {"--help"},
      {"sim", "--help"},
      {"--version"}};
  for (const std::vector<std::string>& command : commands)
    for (const char* where : {"> /dev/full", ">&-"}) {
      std::vector<std::string> words = {"/bin/sh", "-c", fmt::format("exec \"$@\" {}", where), "sh", cli_program()};
      words.insert(words.end(), command.begin(), command.end());
      const Outcome outcome = Process(words).wait();
      EXPECT_EQ(outcome.exit_code, 1) << command[0] << where << outcome.err;
      EXPECT_NE(outcome.err.find("stdout: cannot write"), std::string::npos) << command[0] << where << outcome.err;
    }
}

}  // namespace
}  // namespace scree
