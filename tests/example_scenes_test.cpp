// Robots of the example scenes stay on their feet, on the ground, and get where the scene says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "scree/run.h"
#include "support/paths.h"

namespace scree {
namespace {

struct Expectation {
  const char* scene;
  double travel, slack;  // [m] along x; how far it may be off: the scenes are open loop, a few steps may slip
  double height;         // [m] the base may rise or sink by as much as this
  double tilt;           // [rad] of the base, at most, at any time
  double penetration;    // [m] at most; feet sink deep at 50 ms, docs/contact.md
};

// Names of tests, not addresses.
void PrintTo(const Expectation& e, std::ostream* out) { *out << e.scene; }

class ExampleScene : public testing::TestWithParam<Expectation> {};

TEST_P(ExampleScene, StaysUprightOnTheGround) {
  const Expectation& e = GetParam();
  const Scene scene =
      load_scene(std::filesystem::path(source_dir()) / "examples/scenes" / (std::string(e.scene) + ".toml"));
  const scree::Run run = run_scene(scene);
  ASSERT_EQ(run.status, RunStatus::complete);
  const bool planar = scene.model.joints()[0].type == JointType::planar;
  double highest = -1e9, lowest = 1e9, tilt = 0;
  for (size_t k = 0; k < run.rows(); ++k) {
    const auto q = run.q.row(k);
    const int up = planar ? 1 : 2;
    const double z = q(up) - run.q.row(0)(up);
    highest = std::max(highest, z);
    lowest = std::min(lowest, z);
    // Between the vertical and the body's own: cos = 1 - 2 (x^2 + y^2) for the quaternion (w, x, y, z).
    tilt = std::max(tilt, planar ? std::abs(q(2)) : std::acos(1 - 2 * (q(4) * q(4) + q(5) * q(5))));
  }
  EXPECT_LT(highest, e.height);
  EXPECT_GT(lowest, -e.height);
  EXPECT_LT(tilt, e.tilt);
  EXPECT_LT(*std::max_element(run.penetration.begin(), run.penetration.end()), e.penetration);
  EXPECT_NEAR(run.q(run.rows() - 1, 0) - run.q(0, 0), e.travel, e.slack);
}

// Walks: 0.4 m/s commanded. Crawl: 0.057 m/s. Boxes: Coulomb's law less half a step, and 1 cm.
INSTANTIATE_TEST_SUITE_P(All, ExampleScene,
                         testing::Values(Expectation{"robosimian-walk", 3.6, 0.3, 0.2, 0.2, 0.05},
                                         Expectation{"robosimian-jump", 0, 0.1, 1.05, 0.1, 0.06},
                                         Expectation{"robosimian-crawl", 0.5, 0.2, 0.15, 0.15, 0.1},
                                         Expectation{"robosimian-stairs", 3.9, 0.6, 0.25, 0.25, 0.2},
                                         Expectation{"robosimian-terrain", 0.45, 0.2, 0.2, 0.2, 0.1},
                                         Expectation{"robosimian-granular", 3, 0.6, 0.2, 0.2, 0.25},
                                         Expectation{"spider-jump", 0, 0.01, 0.5, 0.01, 0.05},
                                         Expectation{"box-slide", 0.917 - 0.015, 0.01, 0.01, 0.01, 0.005},
                                         Expectation{"box-on-slope", (0.24 - 0.01) * std::cos(0.4), 0.01, 0.1, 0.41,
                                                     0.005}),
                         [](const auto& test) {
                           std::string name = test.param.scene;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace scree
