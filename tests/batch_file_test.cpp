// Batches of scenes: how trajectories are drawn, what their files hold, what is refused.
#include "scree/batch_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "scene/batch_scene.h"
#include "scree/error.h"
#include "scree/kinematics.h"
#include "scree/run.h"
#include "support/paths.h"
#include "support/process.h"

namespace scree {
namespace {

namespace fs = std::filesystem;

const std::string kBox = "model = \"" + source_dir() + "/models/box.urdf\"\nduration = 0.2\n";
const std::string kGround =
    "[step]\ndt = 0.02\nintegrator = \"pbfd-coulomb\"\n[[environment]]\nshape = \"plane\"\n"
    "[initial.position]\nbase = [0, 0, 0.3, 1, 0, 0, 0]\n[initial.velocity]\nbase = [1, 0, -1, 0, 0, 0]\n";
const std::string kBatch =
    "[batch]\nseed = 3\ntrajectories = 20\nfriction = [0.1, 0.9]\n[batch.position]\nbase = [0, 0, 0.02, 0.1, 0.1, "
    "0.1]\n"
    "[batch.velocity]\nbase = 0.3\n";

template <class Numbers> bool same_bits(const Numbers& x, const Numbers& y) {
  const std::vector<double>&a = x.numbers(), &b = y.numbers();
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

void expect_same(const BatchTable& a, const BatchTable& b) {
  EXPECT_EQ(a.status, b.status);
  EXPECT_EQ(a.failure, b.failure);
  EXPECT_TRUE(same_bits(a.q, b.q) && same_bits(a.v, b.v));
  EXPECT_TRUE(same_bits(a.initial_q, b.initial_q) && same_bits(a.initial_v, b.initial_v));
  EXPECT_TRUE(same_bits(a.final_q, b.final_q) && same_bits(a.final_v, b.final_v));
  EXPECT_EQ(a.end_time, b.end_time);
  EXPECT_EQ(a.iterations, b.iterations);
  EXPECT_EQ(a.final_state_hash, b.final_state_hash);
  EXPECT_EQ(a.parameters, b.parameters);
}

class BatchScene : public testing::Test {
 protected:
  Scene scene(const std::string& text) const { return load_scene(folder.write("scene.toml", text)); }
  static Trajectory draw(const Scene& on, std::uint64_t seed, size_t index) {
    Trajectory trajectory{on.q0, on.v0, on.control, on.world.surface.friction, on.world.smooth};
    make_trajectory(on, seed, index, trajectory);
    return trajectory;
  }
  const TempFolder folder;
};

// --- drawing -------------------------------------------------------------------------------------------------------

TEST(Draw, DependsOnAllItIsGivenAndNothingElse) {
  const double reference = Draw(1, 2, 3, 4).uniform();
  EXPECT_EQ(Draw(1, 2, 3, 4).uniform(), reference);
  EXPECT_NE(Draw(0, 2, 3, 4).uniform(), reference);
  EXPECT_NE(Draw(1, 3, 3, 4).uniform(), reference);
  EXPECT_NE(Draw(1, 2, 2, 4).uniform(), reference);
  EXPECT_NE(Draw(1, 2, 3, 5).uniform(), reference);
  EXPECT_NE(Draw(1, 3, 2, 4).uniform(), Draw(1, 2, 3, 4).uniform()) << "order matters";
}

// The polar method with the logarithm of the standard library, which is right to a unit in the last place: the two
// differ by rounding alone, a few units of 2^-53 relative.
TEST(Draw, NormalNumbersAreThoseOfThePolarMethod) {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    Draw draw(5, i, 0, 0), again(5, i, 0, 0);
    double expected = 0;
    for (;;) {
      const double u = 2 * again.uniform() - 1, v = 2 * again.uniform() - 1, s = u * u + v * v;
      if (s <= 0 || s >= 1) continue;
      expected = u * std::sqrt(-2 * std::log(s) / s);
      break;
    }
    EXPECT_NEAR(draw.normal(), expected, 1e-14 * std::abs(expected));
  }
}

// Kolmogorov's test at a level of 1e-4: sup |F_n - F| sqrt(n) < 2.23. Items, trajectories and seeds are independent
// streams, so all three are tried.
TEST(Draw, NormalNumbersAreNormal) {
  for (int which = 0; which < 3; ++which) {
    std::vector<double> x;
    for (std::uint64_t i = 0; i < 20000; ++i)
      x.push_back((which == 0 ? Draw(1, 2, 3, i) : which == 1 ? Draw(1, i, 3, 4) : Draw(i, 2, 3, 4)).normal());
    std::sort(x.begin(), x.end());
    double gap = 0;
    const double n = static_cast<double>(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      const double F = 0.5 * std::erfc(-x[i] / std::sqrt(2.0));
      gap = std::max({gap, std::abs(F - static_cast<double>(i) / n), std::abs(F - static_cast<double>(i + 1) / n)});
    }
    EXPECT_LT(gap * std::sqrt(n), 2.23) << which;
  }
}

// Sameness, not truth: a batch of today can be resumed by another compiler tomorrow.
TEST(Draw, BitsStayTheSame) {
  EXPECT_EQ(Draw(0, 1, 0, 0).uniform(), 0x1.8e73ebd82b453p-1);
  EXPECT_EQ(Draw(7, 1000, 2, 5).normal(), -0x1.965405533da05p-2);
}

TEST_F(BatchScene, TrajectoryZeroIsTheSceneAndTheOthersDifferFromIt) {
  const Scene on = scene(kBox + kGround + kBatch);
  EXPECT_EQ(on.batch.seed, 3u);
  EXPECT_EQ(on.batch.trajectories, 20);
  const Trajectory zero = draw(on, 3, 0), one = draw(on, 3, 1), other = draw(on, 4, 1);
  EXPECT_EQ(zero.q, on.q0);
  EXPECT_EQ(zero.v, on.v0);
  EXPECT_EQ(zero.friction, 0.7);
  EXPECT_NE(one.q(2), 0.3);
  EXPECT_EQ(one.q(0), 0);  // no noise asked for
  EXPECT_NE(one.friction, 0.7);
  EXPECT_NE(one.q(2), other.q(2));
  EXPECT_EQ(one.q, draw(on, 3, 1).q);
}

// A range more does not change what was drawn before.
TEST_F(BatchScene, KeysDoNotDisturbEachOther) {
  const Scene few = scene(kBox + kGround + "[batch]\nfriction = [0.1, 0.9]\n");
  const Scene many =
      scene(kBox + kGround +
            "[contact.smooth]\ndepth = 0.005\n[batch]\ndepth = [0.002, 0.01]\nfriction = [0.1, 0.9]\nspeed = [0.1, 1]\n"
            "[batch.velocity]\nbase = 1\n");
  for (size_t i = 0; i < 10; ++i) EXPECT_EQ(draw(few, 1, i).friction, draw(many, 1, i).friction);
}

TEST_F(BatchScene, EveryKeyIsRead) {
  fs::copy(fs::path(source_dir()) / "tests/data/scenes", folder.path());
  const Scene on = load_scene(folder.write(
      "all.toml",
      "model = \"joints.urdf\"\nduration = 0.1\n[control]\nkp = 10\nkd = 2\n[contact.smooth]\nstiffness = 1e4\ndrag = "
      "1e6\n"
      "[batch]\nseed = 12\ntrajectories = 34\nvelocity = 0.5\nmax_penetration = 0.25\nfriction = [0.1, 0.2]\n"
      "stiffness = [1e3, 2e3]\ndrag = [1e5, 1e6]\ncreep = [0.001, 0.002]\ndamping = [0, 1]\nkp_scale = [2, 3]\n"
      "kd_scale = [4, 5]\n[batch.position]\n\"*\" = 0.125\nslide = 0\ntop = [0.1, 0.2, 0.3]\n[batch.target]\n"
      "shoulder = 0.1\n"));
  EXPECT_EQ(on.batch.seed, 12u);
  EXPECT_EQ(on.batch.trajectories, 34);
  EXPECT_EQ(on.batch.max_penetration, 0.25);
  const auto segment = [&](const Eigen::VectorXd& sigma, const char* name) -> Eigen::VectorXd {
    const Joint& joint = on.model.joint(on.model.find_joint(name));
    return sigma.segment(joint.v_index, velocity_count(joint.type));
  };
  EXPECT_TRUE(segment(on.batch.position, "base").isZero(0));
  EXPECT_EQ(segment(on.batch.position, "shoulder"), Vec3::Constant(0.125));
  EXPECT_EQ(segment(on.batch.position, "slide")(0), 0);
  EXPECT_EQ(segment(on.batch.position, "top"), Vec3(0.1, 0.2, 0.3));
  EXPECT_EQ(segment(on.batch.velocity, "hinge")(0), 0.5);
  EXPECT_TRUE(segment(on.batch.velocity, "base").isZero(0));
  EXPECT_TRUE(segment(on.batch.velocity, "top").isZero(0)) << "planar joints count as bases";
  EXPECT_EQ(segment(on.batch.target, "shoulder"), Vec3::Constant(0.1));
  for (size_t i = 1; i < 50; ++i) {
    const Trajectory t = draw(on, 1, i);
    const double kp = t.control.kp(on.model.joint(on.model.find_joint("hinge")).v_index);
    EXPECT_TRUE(kp >= 20 && kp < 30) << kp;
    EXPECT_TRUE(*t.smooth.stiffness >= 1e3 && *t.smooth.stiffness < 2e3);
    EXPECT_TRUE(*t.smooth.drag >= 1e5 && *t.smooth.drag < 1e6);
    EXPECT_TRUE(t.smooth.creep >= 0.001 && t.smooth.creep < 0.002);
    EXPECT_NO_THROW(t.control.validate(on.model));
    EXPECT_NO_THROW(make_state(on.model, t.q, t.v));
  }
}

// q * exp(w): what leads from the scene's position to the drawn one, position_difference(), has the deviations asked
// for.
TEST_F(BatchScene, RotationsAreTurnedInBodyAxes) {
  fs::copy(fs::path(source_dir()) / "tests/data/scenes", folder.path());
  const Scene on =
      load_scene(folder.write("turn.toml",
                              "model = \"joints.urdf\"\nduration = 0.1\n[initial.position]\n"
                              "base = [1, 2, 3, 0.6, 0.8, 0, 0]\nshoulder = [0.8, 0, 0.6, 0]\n[batch.position]\n"
                              "base = [0.1, 0.2, 0.3, 0.4, 0, 0.6]\nshoulder = [0, 0.05, 0]\n"));
  const int n = 4000;
  Eigen::MatrixXd d(n, on.model.nv());
  for (int i = 0; i < n; ++i) {
    const Trajectory t = draw(on, 9, static_cast<size_t>(i + 1));
    d.row(i) = position_difference(on.model, on.q0, t.q);
    const Joint& base = on.model.joints()[0];
    EXPECT_NEAR(t.q.segment<4>(base.q_index + 3).norm(), 1, 4e-16);
  }
  for (int k = 0; k < on.model.nv(); ++k) {
    const double deviation = std::sqrt(d.col(k).squaredNorm() / n), sigma = on.batch.position(k);
    // Four standard errors sigma/sqrt(2n); without noise rounding alone, from products of numbers below 4.
    EXPECT_NEAR(deviation, sigma, 4 * sigma / std::sqrt(2.0 * n) + 2e-15) << k;
  }
}

TEST_F(BatchScene, MistakesAreNamed) {
  fs::copy(fs::path(source_dir()) / "tests/data/scenes", folder.path());
  const std::string head = "model = \"joints.urdf\"\nduration = 0.1\n[batch]\n";  // 3 lines
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {"sed = 1\n", ":4: batch.sed: unknown key, did you mean \"seed\"?"},
      {"seed = -1\n", ":4: batch.seed: -1, expected an integer >= 0"},
      {"seed = 1.5\n", ":4: batch.seed: "},
      {"trajectories = 0\n", ":4: batch.trajectories: 0, expected an integer in [1, 100000000]"},
      {"position = -0.1\n", ":4: batch.position: -0.1, expected a number in [0, 1e+06]"},
      {"position = [0.1, 0.2]\n", ":4: batch.position: "},
      {"position = \"much\"\n", ":4: batch.position: "},
      {"[batch.position]\nelbow = 1\n", ":5: batch.position.elbow: "},
      {"[batch.position]\nbase = [1, 2]\n", ":5: batch.position.base: "},
      {"[batch.velocity]\nhinge = nan\n", ":5: batch.velocity.hinge: "},
      {"[batch.target]\nbase = 1\n", ":5: batch.target.base: a floating joint has no motor"},
      {"friction = 0.5\n", ":4: batch.friction: 0.5, expected an array of 2 numbers"},
      {"friction = [0.9, 0.1]\n", ":4: batch.friction: [0.9, 0.1], expected [low, high] with low <= high"},
      {"friction = [-1, 0.1]\n", ":4: batch.friction: surface: friction is -1"},
      {"depth = [0, 0.1]\n", ":4: batch.depth: smooth contact: depth is 0"},
      {"kp_scale = [-1, 1]\n", ":4: batch.kp_scale: -1, expected numbers in [0, 1e+06]"},
      {"depth = [0.1, 0.2]\n", ":4: batch.depth: given without contact.smooth.depth"},
      {"stiffness = [1, 2]\n", ":4: batch.stiffness: given without contact.smooth.stiffness"},
      {"drag = [1, 2]\n", ":4: batch.drag: given without contact.smooth.drag"},
      {"speed = [1, 2]\n[contact.smooth]\ndrag = 1\n", ":4: batch.speed: given together with contact.smooth.drag"},
      {"max_penetration = 0\n", ":4: batch.max_penetration: 0, expected a number in (0, 1e6] m"},
  };
  for (const auto& [text, expected] : mistakes) {
    try {
      load_scene(folder.write("bad.toml", head + text));
      ADD_FAILURE() << text << ": accepted";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << text << ": " << error.what();
    }
  }
  EXPECT_THROW(load_scene(folder.write("bad.toml", "batch = 3\nmodel = \"joints.urdf\"\nduration = 0.1\n")),
               InputError);
}

// --- files ---------------------------------------------------------------------------------------------------------

TEST_F(BatchScene, FileHoldsWhatTheTrajectoriesDid) {
  const Scene on = scene(kBox + kGround + kBatch);
  BatchRunOptions options;
  options.rows_every = 3;
  options.chunk = 7;
  std::vector<size_t> told;
  const BatchSummary summary = run_batch(on, options, folder / "batch.h5", [&](size_t done, size_t total) {
    EXPECT_EQ(total, 20u);
    told.push_back(done);
    return true;
  });
  EXPECT_TRUE(summary.finished);
  EXPECT_EQ(summary.trajectories, 20u);
  EXPECT_EQ(summary.complete + summary.step_failed + summary.invalid, 20u);
  EXPECT_EQ(summary.chunks, 3u);
  EXPECT_EQ(told.size(), 21u);
  EXPECT_FALSE(fs::exists(summary.folder));
  EXPECT_EQ(folder.count(), 2);  // scene and batch

  const BatchFile file(folder / "batch.h5");
  EXPECT_EQ(file.trajectories(), 20u);
  EXPECT_EQ(file.time(), (std::vector<double>{0, 3 * 0.02, 6 * 0.02, 9 * 0.02, 0.2}));
  EXPECT_EQ(file.q_names()[3], "base.qw");
  EXPECT_EQ(file.model().total_mass(), on.model.total_mass());
  const BatchTable table = file.read(0, 20), part = file.read(5, 3);
  BatchOptions batch_options;
  batch_options.step = on.options;
  batch_options.duration = on.duration;
  batch_options.rows_every = 3;
  BatchSimulation batch(on.model, on.world, batch_options);
  ASSERT_TRUE(table.q.has_shape(20, 5, 7) && table.v.has_shape(20, 5, 6));
  ASSERT_TRUE(table.initial_q.has_shape(20, 7) && table.final_v.has_shape(20, 6));
  EXPECT_TRUE(batch.run(
      0, 20, [&](size_t i, Trajectory& trajectory) { make_trajectory(on, 3, i, trajectory); },
      [&](size_t i, TrajectoryResult& result) {
        EXPECT_EQ(table.status[i], result.status);
        EXPECT_EQ(table.final_state_hash[i], result.final_state_hash);
        EXPECT_EQ(table.steps[i], result.steps);
        EXPECT_EQ(table.residual[i], result.residual);
        EXPECT_EQ(table.penetration[i], result.penetration);
        EXPECT_TRUE(result.q.has_shape(5, 7));
        for (size_t row = 0; row < 5; ++row) EXPECT_EQ(table.q.row(i, row), result.q.row(row));
        EXPECT_EQ(table.q.row(i, 4), table.final_q.row(i));
        EXPECT_EQ(table.parameters.at("friction")[i], draw(on, 3, i).friction);
        EXPECT_EQ(table.initial_q(i, 2), draw(on, 3, i).q(2));
        return true;
      }));
  EXPECT_EQ(part.first, 5u);
  EXPECT_EQ(part.size(), 3u);
  for (size_t i = 0; i < 3; ++i)
    for (size_t row = 0; row < 5; ++row) EXPECT_EQ(part.q.row(i, row), table.q.row(5 + i, row));
  EXPECT_THROW(file.read(18, 3), InputError);
  EXPECT_THROW(file.read(21, 0), InputError);
}

// A step that may not be halved, with three iterations, ends at the impact.
TEST_F(BatchScene, RowsAfterAFailureAreNan) {
  std::string text = kBox + kGround + kBatch;
  text.replace(text.find("dt = 0.02"), 9, "dt = 0.02\nmax_halvings = 0\nmax_iterations = 2\nmax_turn = 1");
  const Scene on = scene(text);
  BatchRunOptions options;
  options.rows_every = 2;
  const BatchSummary summary = run_batch(on, options, folder / "batch.h5");
  ASSERT_GT(summary.step_failed, 0u);
  const BatchTable table = read_batch(folder / "batch.h5");
  bool between = false;
  for (size_t i = 0; i < table.size(); ++i) {
    if (table.status[i] != TrajectoryStatus::step_failed) continue;
    EXPECT_NE(table.failure[i].find("did not converge"), std::string::npos);
    const size_t reached = static_cast<size_t>(table.steps[i]) / 2 + 1;
    between |= table.steps[i] % 2 == 1;
    for (size_t row = 0; row < 6; ++row)
      EXPECT_EQ(std::isnan(table.q(i, row, 0)), row >= reached) << i << ", row " << row;
    EXPECT_NEAR(table.end_time[i], 0.02 * static_cast<double>(table.steps[i]), 1e-15);
    EXPECT_TRUE(std::isfinite(table.final_q(i, 2)));
    if (table.steps[i] % 2 == 0) {
      EXPECT_EQ(table.final_q(i, 2), table.q(i, reached - 1, 2));
    }
  }
  EXPECT_TRUE(between) << "no failure between two rows: the test shows less than it should";
}

TEST_F(BatchScene, GoesOnWhereItStopped) {
  const Scene on = scene(kBox + kGround + kBatch);
  BatchRunOptions options;
  options.rows_every = 4;
  options.chunk = 3;
  options.threads = 1;
  run_batch(on, options, folder / "whole.h5");
  const fs::path file = folder / "batch.h5";
  const auto stop_after = [](size_t n) { return [n](size_t done, size_t) { return done < n; }; };
  BatchSummary summary = run_batch(on, options, file, stop_after(10));
  EXPECT_FALSE(summary.finished);
  EXPECT_FALSE(fs::exists(file));
  ASSERT_TRUE(fs::exists(summary.folder));
  EXPECT_THROW(run_batch(on, options, file), InputError) << "chunks are there and nobody asked for them";
  options.resume = true;
  summary = run_batch(on, options, file, stop_after(0));
  EXPECT_FALSE(summary.finished);
  EXPECT_GT(summary.resumed, 0u);
  const size_t resumed = summary.resumed;

  // A chunk reads by itself.
  const BatchFile chunk(summary.folder / "000000.h5");
  EXPECT_EQ(chunk.trajectories(), 3u);
  EXPECT_THROW(chunk.model(), InputError);
  folder.write("batch.h5.chunks/notes.txt", "mine");

  summary = run_batch(on, options, file);
  EXPECT_TRUE(summary.finished);
  EXPECT_EQ(summary.resumed, resumed);
  EXPECT_EQ(summary.damaged, 0u);
  expect_same(read_batch(folder / "whole.h5"), read_batch(file));
  EXPECT_TRUE(fs::exists(folder / "batch.h5.chunks/notes.txt")) << "what is not ours stays";
  EXPECT_FALSE(fs::exists(folder / "batch.h5.chunks/000000.h5"));
  fs::remove_all(folder / "batch.h5.chunks");

  // Ended: nothing is run again. Killed while the chunks were removed: nor then.
  fs::create_directory(folder / "batch.h5.chunks");
  summary = run_batch(on, options, file);
  EXPECT_TRUE(summary.finished);
  EXPECT_EQ(summary.resumed, summary.chunks);
  EXPECT_EQ(summary.complete + summary.step_failed + summary.invalid, 20u);
  EXPECT_EQ(summary.simulated, 0);
  EXPECT_FALSE(fs::exists(folder / "batch.h5.chunks"));
}

TEST_F(BatchScene, DamagedChunksAreRunAgain) {
  const Scene on = scene(kBox + kGround + kBatch);
  BatchRunOptions options;
  options.chunk = 2;
  options.threads = 1;
  run_batch(on, options, folder / "whole.h5");
  const BatchSummary stopped =
      run_batch(on, options, folder / "batch.h5", [](size_t done, size_t) { return done < 18; });
  const auto chunk = [&](int k) { return stopped.folder / ("00000" + std::to_string(k) + ".h5"); };
  ASSERT_TRUE(fs::exists(chunk(0)) && fs::exists(chunk(1)) && fs::exists(chunk(2)) && fs::exists(chunk(3)));
  fs::resize_file(chunk(0), fs::file_size(chunk(0)) / 2);
  fs::resize_file(chunk(1), 0);
  folder.write("batch.h5.chunks/000002.h5", std::string(5000, '\x7f'));
  std::string bytes = read_bytes(chunk(3));
  bytes[bytes.size() / 2] = static_cast<char>(~bytes[bytes.size() / 2]);
  folder.write("batch.h5.chunks/000003.h5", bytes);
  options.resume = true;
  const BatchSummary summary = run_batch(on, options, folder / "batch.h5");
  EXPECT_TRUE(summary.finished);
  EXPECT_EQ(summary.damaged, 4u);
  expect_same(read_batch(folder / "whole.h5"), read_batch(folder / "batch.h5"));
}

TEST_F(BatchScene, ChunksOfAnotherBatchAreRefused) {
  const std::string text = kBox + kGround + kBatch;
  const Scene on = scene(text);
  BatchRunOptions options;
  options.chunk = 4;
  options.threads = 1;
  run_batch(on, options, folder / "batch.h5", [](size_t done, size_t) { return done < 12; });
  options.resume = true;
  const auto refused = [&](const Scene& other, const BatchRunOptions& with, const std::string& expected) {
    try {
      run_batch(other, with, folder / "batch.h5");
      ADD_FAILURE() << expected << ": accepted";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
    }
    EXPECT_FALSE(fs::exists(folder / "batch.h5"));
  };
  const auto with = [&](auto change) {
    BatchRunOptions changed = options;
    change(changed);
    return changed;
  };
  refused(on, with([](auto& o) { o.seed = 4; }), "is of another batch: seed is 3, expected 4");
  refused(on, with([](auto& o) { o.trajectories = 21; }), "trajectories is 20, expected 21");
  refused(on, with([](auto& o) { o.chunk = 5; }), "chunk is 4 trajectories, expected 5 trajectories");
  refused(on, with([](auto& o) { o.rows_every = 1; }), "rows every is 0 steps, expected 1 steps");
  refused(scene(text + "# a comment\n"), options, "scene text (FNV-1a) is ");
  Scene changed = on;
  changed.options.dt = 0.01;
  refused(changed, options, "dt is 0.02 s, expected 0.01 s");
  changed = on;
  changed.world.smooth.creep = 0.001;
  refused(changed, options, "world (FNV-1a) is ");
  changed = on;
  changed.control.torque(0) = 1;
  refused(changed, options, "initial state and control (FNV-1a) is ");
  changed = on;
  changed.batch.velocity(0) = 1;
  refused(changed, options, "variation (FNV-1a) is ");
  changed = on;
  changed.model = load_urdf(source_dir() + "/models/cube.urdf");
  if (changed.model.nq() == on.model.nq()) refused(changed, options, "model is ");

  // A chunk in the place of another.
  fs::rename(folder / "batch.h5.chunks/000000.h5", folder / "batch.h5.chunks/000009.h5");
  refused(on, options, "000009.h5: holds trajectories 0 to 3, expected another name");
  fs::rename(folder / "batch.h5.chunks/000009.h5", folder / "batch.h5.chunks/000000.h5");
  // A run file among them.
  write_run(folder / "batch.h5.chunks/000004.h5", on.model, run_scene(on));
  refused(on, options, "000004.h5: is of another batch");
  fs::remove(folder / "batch.h5.chunks/000004.h5");
  // In use.
  const int lock = open((folder / "batch.h5.chunks/lock").c_str(), O_RDWR);
  ASSERT_EQ(flock(lock, LOCK_EX | LOCK_NB), 0);
  refused(on, options, "batch.h5.chunks: is in use by another process");
  close(lock);
  EXPECT_TRUE(run_batch(on, options, folder / "batch.h5").finished);
}

TEST_F(BatchScene, LibraryRefusesWhatItCannotRun) {
  const auto refused = [&](const Scene& on, const BatchRunOptions& options, const fs::path& file,
                           const std::string& expected) {
    const long before = folder.count();
    try {
      run_batch(on, options, file);
      ADD_FAILURE() << expected << ": accepted";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
    }
    EXPECT_EQ(folder.count(), before) << expected;
  };
  const Scene on = scene(kBox + kGround), many = scene(kBox + kGround + kBatch);
  BatchRunOptions none, wide;
  wide.lanes = 3;
  refused(on, none, folder / "b.h5", "no number of trajectories");
  refused(many, wide, folder / "b.h5", "lanes is 3");
  refused(many, none, folder / "no/b.h5", "cannot write");
  refused(many, none, "", "the name is empty");
  folder.write("c.h5.chunks", "");
  refused(many, none, folder / "c.h5", "c.h5.chunks: is in the way");
  folder.write("d.h5", std::string(2000, 'x'));
  EXPECT_THROW(read_batch(folder / "d.h5"), InputError);
  EXPECT_THROW(read_batch(folder / "e.h5"), InputError);
  write_run(folder / "run.h5", on.model, run_scene(on));
  EXPECT_THROW(read_batch(folder / "run.h5"), InputError);
  run_batch(many, none, folder / "batch.h5");
  EXPECT_THROW(read_run(folder / "batch.h5"), InputError);
  std::string bytes = read_bytes(folder / "batch.h5");
  folder.write("cut.h5", bytes.substr(0, bytes.size() / 2));
  EXPECT_THROW(read_batch(folder / "cut.h5"), InputError);
}

TEST_F(BatchScene, LinksAreFollowed) {
  fs::create_directory(folder / "other");
  folder.write("other/real.h5", "");
  fs::create_symlink(folder / "other/real.h5", folder / "link.h5");
  run_batch(scene(kBox + kGround + kBatch), {}, folder / "link.h5");
  EXPECT_TRUE(fs::is_symlink(folder / "link.h5"));
  EXPECT_EQ(read_batch(folder / "other/real.h5").size(), 20u);
}

// --- command line --------------------------------------------------------------------------------------------------

TEST_F(BatchScene, WrongUsageIsOneLineAndWritesNothing) {
  const std::string file = folder.write("scene.toml", kBox + kGround + kBatch).string();
  const std::string out = (folder / "batch.h5").string();
  const std::vector<std::pair<std::vector<std::string>, std::string>> usages = {
      {{"--batch", "0", "--out", out}, "--batch: 0, expected an integer in [1, 1e8]"},
      {{"--batch", "-5", "--out", out}, "--batch: -5, expected"},
      {{"--batch", "many", "--out", out}, "--batch: many, expected"},
      {{"--batch", "1e3", "--out", out}, "--batch: 1e3, expected"},
      {{"--batch", "99999999999999999999", "--out", out}, "--batch: 99999999999999999999, expected"},
      {{"--batch", "5"}, "--out: missing"},
      {{"--batch", "5", "--lanes", "3", "--out", out}, "lanes is 3, expected 0, 1, 4 or 8"},
      {{"--batch", "5", "--threads", "-1", "--out", out}, "threads is -1"},
      {{"--batch", "5", "--chunk", "-1", "--out", out}, "--chunk: -1, expected"},
      {{"--batch", "5", "--seed", "-1", "--out", out}, "--seed"},
      {{"--batch", "5", "--rows-every", "-1", "--out", out}, "rows_every is -1"},
      {{"--batch", "5", "--output", "0.03", "--out", out}, "--output: 0.03 s, expected a multiple of dt"},
      {{"--batch", "5", "--output", "0.04", "--rows-every", "2", "--out", out}, "--output: given together with"},
      {{"--batch", "5", "--integrator", "pbd-nmdp2", "--out", out}, "\"pbd-nmdp2\" has no lanes"},
      {{"--batch", "5", "--html", out}, "--html: a replay shows one run"},
      {{"--batch", "5", "--out", (folder / "no" / "b.h5").string()}, "cannot write"},
      {{"--batch", "5", "--out", folder.path().string()}, "it is a directory"},
      {{"--batch", "5", "--out", file}, "would overwrite an input"},
      {{"--seed", "5", "--out", out}, "--seed requires --batch"},
      {{"--resume"}, "--resume requires --out"},
  };
  for (auto [arguments, expected] : usages) {
    arguments.insert(arguments.begin(), {cli_program(), "sim", file});
    const Outcome outcome = Process(arguments).wait();
    EXPECT_EQ(outcome.exit_code, 2) << expected << ": " << outcome.err;
    EXPECT_TRUE(outcome.err.starts_with("scree: error: ")) << outcome.err;
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
    EXPECT_NE(outcome.err.find(expected), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(folder.count(), 1) << expected << ": left a file behind";
  }
}

TEST_F(BatchScene, CommandLineCountsAndExits) {
  const std::string file = folder.write("scene.toml", kBox + kGround + kBatch).string();
  const std::string out = (folder / "batch.h5").string();
  Outcome outcome = Process({cli_program(), "sim", file, "--batch", "--output", "0.04", "--out", out, "--json"}).wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["trajectories"], 20);
  EXPECT_EQ(json["seed"], 3);
  EXPECT_EQ(json["complete"].get<int>() + json["invalid"].get<int>() + json["step_failed"].get<int>(), 20);
  EXPECT_EQ(BatchFile(out).time().size(), 6u);
  outcome = Process({cli_program(), "view", out, "--html", (folder / "x.html").string()}).wait();
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("is a batch of trajectories"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1);

  // Some start a metre deep: reported, exit 0. All do: exit 1.
  const std::string some = folder.write("some.toml", kBox + kGround + "[batch.position]\nbase = [0, 0, 1, 0, 0, 0]\n");
  outcome = Process({cli_program(), "sim", some, "--batch", "50", "--out", out}).wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("invalid"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("m in the ground, expected at most 0.1 m"), std::string::npos) << outcome.out;
  std::string deep = kBox + kGround;
  deep.replace(deep.find("0.3"), 3, "-1");
  outcome =
      Process({cli_program(), "sim", folder.write("deep.toml", deep), "--batch", "5", "--out", out, "--quiet"}).wait();
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("all 5 trajectories failed"), std::string::npos) << outcome.err;
  EXPECT_EQ(read_batch(out).status, std::vector<TrajectoryStatus>(5, TrajectoryStatus::invalid));
}

// Without a word about the integrator a single run takes pbd-nmdp2 and a batch pbfd-coulomb.
TEST_F(BatchScene, CommandLineTakesPbfdCoulombUnlessToldOtherwise) {
  std::string text = kBox + kGround + kBatch;
  text.erase(text.find("integrator"), std::strlen("integrator = \"pbfd-coulomb\"\n"));
  const std::string file = folder.write("scene.toml", text).string(), out = (folder / "batch.h5").string();
  EXPECT_EQ(load_scene(file).options.integrator, IntegratorType::pbd_nmdp2);
  const Outcome outcome = Process({cli_program(), "sim", "--batch", "2", file, "--out", out, "--json"}).wait();
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["integrator"], "pbfd-coulomb");
}

}  // namespace
}  // namespace scree
