// Motions: the spline, the files it comes from, and the motions we ship.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "scree/control.h"
#include "scree/dynamics.h"
#include "scree/error.h"
#include "scree/kinematics.h"
#include "scree/motion.h"
#include "scree/scene.h"
#include "scree/urdf.h"
#include "support/mechanisms.h"
#include "support/paths.h"
#include "support/random_tree.h"
#include "support/temp_folder.h"

namespace scree {
namespace {

const std::filesystem::path kRoot = source_dir();

Model robot(const std::string& name) { return load_urdf(kRoot / "models" / (name + ".urdf")); }
std::filesystem::path shipped(const std::string& name) { return kRoot / "motions" / (name + ".toml"); }

template <class Action> std::string message_of(Action&& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

// --- the spline ------------------------------------------------------------------------------------------------------

struct Sample {
  Eigen::VectorXd q, v;
};
Sample sample(const Model& model, const Motion& motion, double time) {
  Sample s{model.neutral_position(), Eigen::VectorXd::Zero(model.nv())};
  motion.sample(time, s.q, s.v);
  return s;
}

Motion three_poses(const Model& model, std::optional<double> loop_start = {}) {
  return Motion(model,
                {{.time = 0.5, .q = Eigen::Vector2d(0.1, -0.2)},
                 {.time = 1.5, .q = Eigen::Vector2d(0.7, 0.4)},
                 {.time = 1.9, .q = Eigen::Vector2d(-0.3, 0.5)},
                 {.time = 2.6, .q = Eigen::Vector2d(0.7, 0.4)}},
                loop_start);
}

TEST(Motion, PassesThroughItsKeyframesAtRestAndHoldsTheEnds) {
  const Model model = test::double_pendulum(1, 1, 1, 1);
  const Motion motion = three_poses(model);
  EXPECT_EQ(motion.end(), 2.6);
  for (const Motion::Keyframe& keyframe : motion.keyframes()) {
    EXPECT_EQ(sample(model, motion, keyframe.time).q, keyframe.q);
    EXPECT_EQ(sample(model, motion, keyframe.time).v, Eigen::VectorXd(Eigen::Vector2d(0, 0)));
  }
  const double inf = std::numeric_limits<double>::infinity();
  for (const double early : {-inf, -3.0, 0.0, 0.5}) EXPECT_EQ(sample(model, motion, early).q(0), 0.1);
  for (const double late : {2.6, 2.7, 1e300, inf}) {
    EXPECT_EQ(sample(model, motion, late).q(0), 0.7);
    EXPECT_EQ(sample(model, motion, late).v(0), 0);
  }
  // Half way in time is half way; a quarter: (1/16)(3 - 1/2) = 5/32 of the way, at rate 6 (1/4)(3/4) = 9/8 per
  // interval.
  EXPECT_NEAR(sample(model, motion, 1.0).q(0), 0.4, 1e-15);
  EXPECT_NEAR(sample(model, motion, 0.75).q(0), 0.1 + 0.6 * 5 / 32, 1e-15);
  EXPECT_NEAR(sample(model, motion, 0.75).v(0), 0.6 * 9 / 8, 1e-15);
}

TEST(Motion, RatesAreTheDerivativesOfPositionsAndContinuous) {
  const Model model = test::double_pendulum(1, 1, 1, 1);
  const Motion motion = three_poses(model, 1.5);
  const double h = 1e-5;
  for (double t = 0.4; t < 5; t += 0.0137) {
    const Eigen::VectorXd slope = (sample(model, motion, t + h).q - sample(model, motion, t - h).q) / (2 * h);
    // Truncation h^2/6 |q'''|, q''' = 12 change / duration^3 <= 190, is below 4e-9; where a keyframe lies within h, the
    // jump of q'' = 6 change / duration^2 <= 40 counts: h/2 of it, 2e-4. Rounding: 1e-16 / h = 1e-11.
    bool near_keyframe = false;
    for (double key : {0.5, 1.5, 1.9, 2.6, 3.0, 3.7, 4.1, 4.8}) near_keyframe |= std::abs(t - key) < 2 * h;
    EXPECT_LT((slope - sample(model, motion, t).v).lpNorm<Eigen::Infinity>(), near_keyframe ? 3e-4 : 5e-9) << t;
  }
}

TEST(Motion, LoopsWithoutEnd) {
  const Model model = test::double_pendulum(1, 1, 1, 1);
  const Motion motion = three_poses(model, 1.5);
  for (double t = 1.5; t < 2.6; t += 0.0173)
    for (const int rounds : {1, 2, 1000}) {
      // The time itself is rounded to 1e-13 at 1100 s, at rates below 4 rad/s and accelerations below 40 rad/s^2.
      const Sample first = sample(model, motion, t), later = sample(model, motion, t + rounds * 1.1);
      EXPECT_LT((later.q - first.q).lpNorm<Eigen::Infinity>(), 4e-12) << t << " " << rounds;
      EXPECT_LT((later.v - first.v).lpNorm<Eigen::Infinity>(), 4e-11) << t << " " << rounds;
    }
  EXPECT_TRUE(sample(model, motion, 1e300).q.allFinite());
}

TEST(Motion, SetsOneDofJointsAndLeavesTheOthersAlone) {
  test::Random random(81);
  for (int trial = 0; trial < 30; ++trial) {
    const Model model = test::random_tree(random).model;
    const Eigen::VectorXd a = test::random_position(random, model), b = test::random_position(random, model);
    const Motion motion(model, {{.time = 0, .q = a}, {.time = 2, .q = b}});
    const Eigen::VectorXd q0 = test::random_position(random, model), v0 = test::random_velocity(random, model);
    Eigen::VectorXd q = q0, v = v0;
    motion.sample(1, q, v);
    for (const Joint& joint : model.joints()) {
      const int nq = position_count(joint.type), nv = velocity_count(joint.type);
      if (nv == 1) {
        EXPECT_NEAR(q(joint.q_index), (a(joint.q_index) + b(joint.q_index)) / 2, 1e-15);
        EXPECT_NEAR(v(joint.v_index), 0.75 * (b(joint.q_index) - a(joint.q_index)), 1e-15);
      } else {
        EXPECT_EQ(q.segment(joint.q_index, nq), q0.segment(joint.q_index, nq));
        EXPECT_EQ(v.segment(joint.v_index, nv), v0.segment(joint.v_index, nv));
      }
    }
  }
}

TEST(Motion, RefusesWhatIsNoMotion) {
  const Model model = test::double_pendulum(1, 1, 1, 1);
  const auto refuse = [&](std::vector<Motion::Keyframe> keyframes, std::optional<double> loop, const char* expected) {
    const std::string message = message_of([&] { Motion(model, keyframes, loop); });
    EXPECT_NE(message.find(expected), std::string::npos) << message;
  };
  const Eigen::VectorXd q = Eigen::Vector2d(0.1, 0.2);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  refuse({}, {}, "0 keyframes, expected at least 1");
  refuse({{0, q}, {0, q}}, {}, "keyframe 1: time is 0 s, expected more than the 0 s");
  refuse({{nan, q}}, {}, "keyframe 0: time is nan s");
  refuse({{0, q}, {1, Eigen::Vector3d::Zero()}}, {}, "keyframe 1: state: q has 3 entries, expected 2");
  refuse({{0, q}, {1, Eigen::Vector2d(nan, 0)}}, {}, "keyframe 1: joint upper_hinge: position is nan");
  refuse({{0, q}, {1, q}}, 0.5, "loop starts at 0.5 s, expected the time of a keyframe before the last one");
  refuse({{0, q}, {1, q}}, 1, "loop starts at 1 s");
  refuse({{0, q}, {1, Eigen::Vector2d(0.1, 0.3)}}, 0, "joint lower_hinge jump from 0.3 at 1 s to 0.2 at 0 s");
}

TEST(Motion, BelongsToTheModelItsControlIsFor) {
  const Model model = test::double_pendulum(1, 1, 1, 1), other = test::pendulum();
  Control control(other);
  control.motion = std::make_shared<const Motion>(three_poses(model));
  EXPECT_NE(message_of([&] { control.validate(other); }).find("a keyframe of motion has 2 entries, expected 1"),
            std::string::npos);
  Control right(model);
  right.motion = control.motion;
  right.validate(model);
}

// --- the motions we ship ---------------------------------------------------------------------------------------------

using Moves = std::map<std::string, Vec3>;  // by foot, or "all"
struct Step {
  double after;
  Moves moves;
};
struct Shipped {
  std::string robot, name;
  std::vector<Step> steps;  // the recipe, written down a second time
  bool y_counts;
};

std::vector<Step> walk(const std::string& even1, const std::string& even2, const std::string& odd1,
                       const std::string& odd2, double stride, double interval) {
  std::vector<Step> steps;
  for (int k = 0; k < 6; ++k) {
    const Vec3 move(k < 2 ? stride / 2 : stride, 0, k % 2 ? -0.3 : 0.3);
    const bool even = k / 2 != 1;
    steps.push_back({interval, {{even ? even1 : odd1, move}, {even ? even2 : odd2, move}}});
  }
  return steps;
}

std::vector<Shipped> all_shipped() {
  const auto all = [](double z) { return Moves{{"all", Vec3(0, 0, z)}}; };
  const auto drawn = [](const std::vector<std::string>& feet, double x, double z) {  // first two in front
    Moves moves;
    for (size_t k = 0; k < 4; ++k) moves[feet[k]] = Vec3(k < 2 ? -x : x, 0, z);
    return moves;
  };
  const std::vector<std::string> limbs = {"limb1_foot", "limb4_foot", "limb2_foot", "limb3_foot"};
  const std::vector<std::string> legs = {"leg0_foot", "leg3_foot", "leg1_foot", "leg2_foot"};
  std::vector<Step> crawl;
  const auto crawl_step = [&](const char* foot, double shift, double half) {
    crawl.push_back({0.6, {{"all", Vec3(shift, 0, 0)}}});
    crawl.push_back({0.4, {{foot, Vec3(half, 0, 0.15)}}});
    crawl.push_back({0.4, {{foot, Vec3(half, 0, -0.15)}}});
  };
  crawl_step("limb2_foot", -0.10, 0.04);
  crawl_step("limb1_foot", 0.16, 0.08);
  crawl_step("limb3_foot", -0.20, 0.12);
  crawl_step("limb4_foot", 0.04, 0.16);
  for (const char* foot : {"limb2_foot", "limb1_foot", "limb3_foot", "limb4_foot"})
    crawl_step(foot, foot[4] == '2' || foot[4] == '3' ? -0.20 : 0.04, 0.16);
  return {
      {"robosimian", "walk", walk(limbs[0], limbs[3], limbs[1], limbs[2], 0.4, 0.5), false},
      {"robosimian", "walk-fast", walk(limbs[0], limbs[3], limbs[1], limbs[2], 0.4, 0.25), false},
      {"robosimian", "jump", {{1, all(0.2)}, {0.2, all(-0.4)}, {0.2, all(0.2)}, {1.6, all(0.2)}}, false},
      {"robosimian",
       "jump-high",
       {{1, all(0.3)}, {0.2, drawn(limbs, 0.2, -0.6)}, {0.2, drawn(limbs, -0.2, 0.3)}, {1.6, all(0.3)}},
       false},
      {"robosimian", "single-jump", {{1, all(0.2)}, {0.2, all(-0.4)}, {0.2, all(0.2)}}, false},
      {"robosimian", "squat", {{1.5, all(0.25)}, {0.5, {}}, {1.5, all(-0.25)}, {0.5, {}}}, false},
      {"robosimian", "crawl", crawl, false},
      {"spider", "walk", walk("leg1_foot", "leg3_foot", "leg0_foot", "leg2_foot", 0.4, 1), true},
      {"spider", "walk-fast", walk("leg1_foot", "leg3_foot", "leg0_foot", "leg2_foot", 0.6, 1), true},
      {"spider", "jump", {{1, all(0.2)}, {0.2, all(-0.4)}, {1, all(0.2)}, {1, all(0.2)}}, true},
      {"spider",
       "jump-high",
       {{1, all(0.3)}, {0.2, drawn(legs, 0.2, -0.6)}, {1, drawn(legs, -0.2, 0.3)}, {1, all(0.3)}},
       true},
  };
}

Eigen::VectorXd one_dof(const Model& model, const Eigen::VectorXd& q) {
  std::vector<double> values;
  for (const Joint& joint : model.joints())
    if (velocity_count(joint.type) == 1) values.push_back(q(joint.q_index));
  return Eigen::VectorXd::Map(values.data(), std::ssize(values));
}

TEST(ShippedMotion, PutsTheFeetWhereItsRecipeSays) {
  for (const Shipped& motion : all_shipped()) {
    for (const char* variant : {"planar", "spatial"}) {
      const Model model = robot(motion.robot + "-" + variant);
      const Motion loaded = load_motion(shipped(motion.robot + "-" + motion.name), model);
      const std::string what = motion.robot + "-" + variant + " " + motion.name;
      ASSERT_EQ(loaded.keyframes().size(), motion.steps.size() + 1) << what;
      double time = 0;
      std::vector<Vec3> feet;
      for (size_t k = 0; k < loaded.keyframes().size(); ++k) {
        const std::vector<Pose> X_WB = body_poses(model, loaded.keyframes()[k].q);
        if (k > 0) time += motion.steps[k - 1].after;
        EXPECT_NEAR(loaded.keyframes()[k].time, time, 1e-13) << what;
        for (size_t i = 0; i < 4; ++i) {
          const ContactPoint& point = model.contact_points()[i];
          const Vec3 at = X_WB[static_cast<size_t>(point.body.value())] * point.p_B;
          if (k == 0) {
            feet.push_back(at);
            continue;
          }
          for (const auto& [name, move] : motion.steps[k - 1].moves)
            if (name == "all" || name == point.name) feet[i] += move;
          const Vec3 miss = at - feet[i];
          EXPECT_LT(Vec3(miss.x(), motion.y_counts ? miss.y() : 0, miss.z()).norm(), 1e-9)
              << what << ", keyframe " << k << ", " << point.name;
        }
      }
    }
  }
}

TEST(ShippedMotion, StartsInStanceAndMovesJointsAlikeWithAPlanarAndAFreeBase) {
  for (const Shipped& motion : all_shipped()) {
    const Model planar = robot(motion.robot + "-planar"), spatial = robot(motion.robot + "-spatial");
    const auto file = shipped(motion.robot + "-" + motion.name);
    const Motion a = load_motion(file, planar), b = load_motion(file, spatial);
    const double stance[] = {81, -90, 99};
    for (const Joint& joint : planar.joints()) {
      if (velocity_count(joint.type) != 1) continue;
      double expected = 0;
      if (motion.robot == "robosimian") {
        const bool front = joint.name[4] == '1' || joint.name[4] == '4';
        expected = (front ? 1 : -1) * stance[(joint.name.back() - '2') / 2] * M_PI / 180;
      }
      EXPECT_NEAR(a.keyframes()[0].q(joint.q_index), expected, 1e-15) << motion.name << " " << joint.name;
    }
    // Both solves leave slopes of 1e-10 m at curvatures of about 1 in units of the mass matrix; a light foot of 1 % of
    // the mass at 0.1 m turns this into at most 1e-8 rad.
    for (size_t k = 0; k < a.keyframes().size(); ++k)
      EXPECT_LT((one_dof(planar, a.keyframes()[k].q) - one_dof(spatial, b.keyframes()[k].q)).lpNorm<Eigen::Infinity>(),
                1e-8)
          << motion.robot << " " << motion.name << ", keyframe " << k;
  }
}

TEST(ShippedMotion, GaitRepeatsWhileTheRobotTravels) {
  const TempFolder folder;
  for (const char* name : {"robosimian-walk", "robosimian-walk-fast", "spider-walk", "spider-walk-fast"}) {
    // The same file without its loop and with the cycle, keyframes 3 to 6, written twice more.
    std::string text = read_bytes(shipped(name));
    const size_t loop = text.find("loop_from = 2");
    ASSERT_NE(loop, std::string::npos);
    text.replace(loop, 13, "");
    size_t third = 0;
    for (int k = 0; k < 3; ++k) third = text.find("[[keyframe]]", third + 1);
    const std::string cycle = text.substr(third);
    const Model model = robot(std::string(name).substr(0, std::string(name).find('-')) + "-planar");
    const Motion motion = load_motion(folder.write("twice.toml", text + "\n" + cycle + "\n" + cycle), model);
    ASSERT_EQ(motion.keyframes().size(), 15u);
    const double stride = std::string(name) == "spider-walk-fast" ? 1.2 : 0.8;
    for (size_t k = 2; k + 4 < motion.keyframes().size(); ++k) {
      const Eigen::VectorXd change = motion.keyframes()[k + 4].q - motion.keyframes()[k].q;
      EXPECT_NEAR(change(0), stride, 1e-8) << name << ", keyframe " << k;
      EXPECT_LT(change.tail(model.nq() - 1).lpNorm<Eigen::Infinity>(), 1e-8) << name << ", keyframe " << k;
    }
  }
}

TEST(ShippedMotion, StaysWithinTheJointLimits) {
  for (const Shipped& motion : all_shipped()) {
    const Model model = robot(motion.robot + "-spatial");
    const Motion loaded = load_motion(shipped(motion.robot + "-" + motion.name), model);
    for (const Motion::Keyframe& keyframe : loaded.keyframes())  // the spline does not overshoot
      for (const Joint& joint : model.joints())
        if (velocity_count(joint.type) == 1) {
          EXPECT_GE(keyframe.q(joint.q_index), joint.limits.lower) << motion.name << " " << joint.name;
          EXPECT_LE(keyframe.q(joint.q_index), joint.limits.upper) << motion.name << " " << joint.name;
        }
  }
}

TEST(ShippedMotion, CrawlKeepsTheComOverTheFeetThatStand) {
  const Model model = robot("robosimian-spatial");
  const Motion motion = load_motion(shipped("robosimian-crawl"), model);
  const size_t order[] = {1, 0, 2, 3};  // limbs 2, 1, 3, 4
  Dynamics dynamics(model);
  double least = std::numeric_limits<double>::infinity();
  for (double t = 0; t < 30; t += 0.01) {
    const double phase = std::fmod(t, 1.4);
    if (phase <= 0.6) continue;  // shifting on four feet
    const size_t lifted = order[static_cast<size_t>(t / 1.4) % 4];
    const Sample s = sample(model, motion, t);
    dynamics.set_position(s.q);
    const Vec3 com = dynamics.center_of_mass();
    std::vector<Vec3> corners;
    for (size_t i = 0; i < 4; ++i)
      if (i != lifted) {
        const ContactPoint& point = model.contact_points()[i];
        corners.push_back(dynamics.body_pose(point.body) * point.p_B);
      }
    // Distance to each side of the triangle, positive inside.
    for (size_t i = 0; i < 3; ++i) {
      const Vec3 &a = corners[i], &b = corners[(i + 1) % 3], &c = corners[(i + 2) % 3];
      const Vec3 normal = Vec3(-(b - a).y(), (b - a).x(), 0).normalized();
      const double side = normal.dot(c - a) > 0 ? 1 : -1;
      least = std::min(least, side * normal.dot(com - a));
    }
  }
  // By design the diagonal is 0.1 m away along x: 0.065 m at right angles to it at its flattest; the com strays from
  // the torso by at most 0.011 m as limbs swing.
  EXPECT_GT(least, 0.05);
  EXPECT_LT(least, 0.08);
}

// --- files -----------------------------------------------------------------------------------------------------------

// Two rods with a foot at the end.
Model leg() {
  ModelBuilder builder("leg");
  test::add_rod(builder, "upper", "world", 0, 1, 0.5);
  test::add_rod(builder, "lower", "upper", 0.5, 1, 0.4);
  builder.add_contact_point("lower", {.name = "foot", .body = {}, .p_B = Vec3(0, 0, -0.4)});
  builder.add_contact_point("upper", {.name = "knee", .body = {}, .p_B = Vec3(0, 0, -0.5)});
  return builder.build();
}
const char* const kLeg = "points = [\"foot\"]\n[neutral]\nupper_hinge = 0.4\nlower_hinge = -0.8\n";  // 4 lines

TEST(MotionFile, KeyframesAreMovesJointPositionsOrHolds) {
  const TempFolder folder;
  const Model model = leg();
  const Motion motion = load_motion(folder.write("m.toml", std::string(kLeg) + R"([[keyframe]]
after = 1
joints = { lower_hinge = -1.2 }
[[keyframe]]
after = 0.5
move = { foot = [0.1, 0, 0.05] }
[[keyframe]]
after = 2
)"),
                                    model);
  ASSERT_EQ(motion.keyframes().size(), 4u);
  const auto foot = [&](size_t k) { return body_poses(model, motion.keyframes()[k].q)[1] * Vec3(0, 0, -0.4); };
  EXPECT_EQ(motion.keyframes()[0].q, Eigen::VectorXd(Eigen::Vector2d(0.4, -0.8)));
  EXPECT_EQ(motion.keyframes()[1].q, Eigen::VectorXd(Eigen::Vector2d(0.4, -1.2)));
  EXPECT_LT((foot(2) - foot(1) - Vec3(0.1, 0, 0.05)).norm(), 1e-9) << "moves start from where the points are";
  EXPECT_EQ(motion.keyframes()[3].q, motion.keyframes()[2].q);
  EXPECT_EQ(motion.end(), 3.5);
}

TEST(MotionFile, MistakesNameFileLineAndKeyframeOnOneLine) {
  const std::string head = kLeg, move = "[[keyframe]]\nafter = 1\nmove = ";  // 4 and 2 lines
  const struct {
    std::string text;
    const char* expected;
  } cases[] = {
      {"", ": required key \"keyframe\" is missing"},
      {"[[keyframe]\n", ":1:"},
      {"keyframes = 1\n[[keyframe]]\nafter = 1\n", ":1: keyframes: unknown key, did you mean \"keyframe\"?"},
      {"keyframe = 3\n", ":1: keyframe: not an array of tables, expected [[keyframe]]"},
      {"keyframe = []\n", ":1: keyframe: not an array of tables, expected [[keyframe]]"},
      {"keyframe = [1, { after = 1 }]\n", ":1: keyframe: not an array of tables"},
      {"title = 3\n" + head + move + "{}\n", ":1: title: 3, expected a string"},
      {"base = \"fixed\"\n" + head + move + "{}\n", ":1: base: \"fixed\", expected \"free\", \"planar\" or \"frozen\""},
      {"axes = \"zx\"\n" + head + move + "{}\n", ":1: axes: \"zx\", expected some of \"xyz\", in this order"},
      {"axes = \"\"\n" + head + move + "{}\n", ":1: axes: \"\", expected some"},
      {"points = [\"fot\"]\n" + move + "{}\n",
       ":1: points: the model has no contact point \"fot\", did you mean \"foot\"?"},
      {"points = [\"foot\", \"foot\"]\n" + move + "{}\n", ":1: points: \"foot\" is named twice"},
      {"points = \"foot\"\n" + move + "{}\n", ":1: points: \"foot\", expected an array of strings"},
      {"[groups]\nall = [\"foot\", \"nee\"]\n" + move + "{}\n",
       ":2: groups.all: no point \"nee\", did you mean \"knee\"?"},
      {"[groups]\nfoot = [\"knee\"]\n" + move + "{}\n", ":2: groups.foot: a point has this name"},
      {"[groups]\nall = 3\n" + move + "{}\n", ":2: groups.all: 3, expected an array of strings"},
      {"[neutral]\nuper_hinge = 1\n" + move + "{}\n", "did you mean \"upper_hinge\"?"},
      {"[neutral]\nupper_hinge = [1, 2]\n" + move + "{}\n",
       ":2: neutral.upper_hinge: an array of 2, expected a number"},
      {"[neutral]\nupper_hinge = nan\n" + move + "{}\n", ":2: neutral.upper_hinge: nan, expected a finite number"},
      {head + "[[keyframe]]\nmove = {}\n", ":5: keyframe 1.after: required key is missing"},
      {head + "[[keyframe]]\nafter = 0\n", ":6: keyframe 1.after: 0, expected > 0 s"},
      {head + "[[keyframe]]\nafter = \"1 s\"\n", ":6: keyframe 1.after: \"1 s\", expected a number"},
      {head + "[[keyframe]]\nafter = 1\nmoves = {}\n", ":7: keyframe 1.moves: unknown key, did you mean \"move\"?"},
      {head + "[[keyframe]]\nafter = 1\n[[keyframe]]\nafter = 1\nmove = 3\n",
       ":9: keyframe 2.move: 3, expected a table"},
      {head + move + "{ foor = [0, 0, 0] }\n",
       ":7: keyframe 1.move.foor: no such point or group, did you mean \"foot\"?"},
      {head + move + "{ knee = [0, 0, 0] }\n", ":7: keyframe 1.move.knee: no such point or group"},
      {head + move + "{ foot = [0, 0] }\n", ":7: keyframe 1.move.foot: an array of 2, expected an array of 3 numbers"},
      {head + move + "{ foot = [0, inf, 0] }\n", ":7: keyframe 1.move.foot: inf, expected a finite number"},
      {head + move + "{ foot = [0, 0, 0] }\njoints = { upper_hinge = 1 }\n",
       ":8: keyframe 1.joints: given beside move, expected one of the two"},
      {head + "[[keyframe]]\nafter = 1\njoints = { knee_hinge = 1 }\n",
       ":7: keyframe 1.joints.knee_hinge: model leg: no joint \"knee_hinge\""},
      {head + "[groups]\nall = [\"foot\"]\n" + move + "{ all = [0, 0, 0], foot = [0, 0, 0] }\n",
       ":9: keyframe 1.move.foot: moves foot a second time, expected once"},
      {"axes = \"xz\"\n" + head + move + "{ foot = [0, 0.1, 0] }\n",
       ":8: keyframe 1.move.foot: moves by 0.1 along y, expected 0: axes leaves it out"},
      {head + move + "{ foot = [0, 0.25, 0] }\n", "misses the target of foot at (-0.0389, 0.2500, -0.8290) by 0.25 m"},
      {head + move + "{ foot = [0, 0, -0.3] }\n",
       ":7: keyframe 1.move: the nearest pose found misses the target of foot"},
      {"loop_from = 1\n" + head + move + "{}\n", ":1: loop_from: 1, expected a keyframe in [0, 0]"},
      {"loop_from = -1\n" + head + move + "{}\n", ":1: loop_from: -1, expected a keyframe in [0, 0]"},
      {"loop_from = 0\n" + head + move + "{ foot = [0, 0, 0.1] }\n",
       ":1: loop_from: motion: the loop makes joint upper_hinge jump"},
  };
  const TempFolder folder;
  const Model model = leg();
  for (const auto& [text, expected] : cases) {
    const auto file = folder.write("motion.toml", text);
    const std::string message = message_of([&] { load_motion(file, model); });
    EXPECT_NE(message.find(expected), std::string::npos) << message << "\nexpected " << expected;
    EXPECT_NE(message.find(file.string()), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
  EXPECT_NE(message_of([&] { load_motion(folder / "none.toml", model); }).find("no such file"), std::string::npos);
}

TEST(MotionFile, ASceneNamesItsMotion) {
  const TempFolder folder;
  std::filesystem::create_directory(folder / "motions");
  std::filesystem::copy_file(kRoot / "models/pendulum.urdf", folder / "pendulum.urdf");
  folder.write("motions/swing.toml", "[[keyframe]]\nafter = 2\njoints = { shoulder = 1 }\n");
  folder.write("motions/bad.toml", "[[keyframe]]\nafter = 2\njoints = { elbow = 1 }\n");
  const std::string head = "model = \"pendulum.urdf\"\nduration = 1\n[control]\nkp = 10\n";  // 4 lines
  const Scene scene = load_scene(folder.write("scene.toml", head + "motion = \"motions/swing.toml\"\n"));
  ASSERT_TRUE(scene.control.motion);
  EXPECT_EQ(scene.control.motion->end(), 2);
  EXPECT_EQ(scene.q0(0), 0) << "a scene states its initial position itself";

  const auto message = [&](const std::string& rest) {
    return message_of([&] { load_scene(folder.write("scene.toml", head + rest)); });
  };
  EXPECT_NE(message("motion = \"swing.toml\"\n").find(":5: control.motion: no such file"), std::string::npos);
  EXPECT_NE(message("motion = 3\n").find(":5: control.motion: 3, expected a string"), std::string::npos);
  const std::string nested = message("motion = \"motions/bad.toml\"\n");
  EXPECT_NE(nested.find("scene.toml:5: control.motion: "), std::string::npos) << nested;
  EXPECT_NE(nested.find("bad.toml:3: keyframe 1.joints.elbow: "), std::string::npos) << nested;
  const std::string both = message("motion = \"motions/swing.toml\"\n[control.joint.shoulder]\ntarget = 1\n");
  EXPECT_NE(both.find(":7: control.joint.shoulder.target: given beside motion"), std::string::npos) << both;
}

}  // namespace
}  // namespace scree
