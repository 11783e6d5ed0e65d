// The law `granular`: a table of wrenches over depth and inclination.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "scree/contact.h"
#include "scree/error.h"
#include "scree/scene.h"
#include "support/paths.h"
#include "support/random_tree.h"
#include "support/temp_folder.h"

namespace scree {
namespace {

namespace fs = std::filesystem;
using Wrench6 = Eigen::Matrix<double, 6, 1>;

const std::vector<double> kDepths = {0.01, 0.04, 0.1}, kInclinations = {-0.5, 0.1, 0.6};

// Any numbers, different at every node, as a function that is bilinear in neither.
Wrench6 node_wrench(double depth, double inclination, int k) {
  Wrench6 w;
  w << 3 * std::sin(20 * depth + k), 2 * std::cos(3 * inclination) + k, 5 + 40 * depth * (1 + inclination),
      0.1 * k + depth, 0.3 * inclination, 0.2 * std::exp(inclination) * k;
  return w;
}

std::string table_text(const std::string& extra = "") {
  std::string text = extra + "depths = [0.01, 0.04, 0.1]\ninclinations = [-0.5, 0.1, 0.6]\nvertices = [\n";
  for (const double depth : kDepths) {
    text += "[\n";
    for (const double inclination : kInclinations) {
      text += "  [";
      for (int k = 0; k < 2; ++k) {
        const Wrench6 w = node_wrench(depth, inclination, k);
        char line[300];
        std::snprintf(line, sizeof line, "[%.17g, %.17g, %.17g, %.17g, %.17g, %.17g], ", w(0), w(1), w(2), w(3), w(4),
                      w(5));
        text += line;
      }
      text += "],\n";
    }
    text += "],\n";
  }
  return text + "]\n";
}

class Granular : public testing::Test {
 protected:
  std::shared_ptr<const ContactLaw> load(const std::string& text) {
    file = folder.path() / "sand.toml";
    std::ofstream(file) << text;
    return load_granular(file);
  }
  static Wrenches vertices(const ContactLaw& law, const ContactGeometry& geometry) {
    Wrenches out = Wrenches::Constant(6, law.vertex_count(), std::nan(""));
    law.vertices(geometry, out);
    return out;
  }
  TempFolder folder;
  fs::path file;
};

Mat3 about(const Vec3& axis, double angle) { return Eigen::AngleAxisd(angle, axis).toRotationMatrix(); }

// A leg of 0.3 m below the body's origin, leaning by `inclination` towards x, in a contact frame turned by nothing.
ContactGeometry leg(double depth, double inclination) {
  ContactGeometry g;
  g.depth = depth;
  g.p_B = Vec3(0, 0.1, -0.3);  // the offset along the lateral axis must not count
  g.R_CB = about(Vec3::UnitY(), inclination);
  g.share_of_weight = 250;
  return g;
}

Wrenches rotated(const Mat3& R, const Wrenches& w) {
  Wrenches result = w;
  result.topRows<3>() = R * w.topRows<3>();
  result.bottomRows<3>() = R * w.bottomRows<3>();
  return result;
}

// In what follows 1e-12: numbers of order 10 from a few dozen operations, and an angle that is an arc tangent.
constexpr double kRounding = 1e-12;

TEST_F(Granular, GivesTheNodesOfTheTable) {
  const auto law = load(table_text());
  EXPECT_EQ(law->vertex_count(), 2);
  EXPECT_FALSE(law->differentiable());
  EXPECT_EQ(law->reach(), 0);
  for (const double depth : kDepths)
    for (const double inclination : kInclinations) {
      const Wrenches w = vertices(*law, leg(depth, inclination));
      for (int k = 0; k < 2; ++k)
        EXPECT_LT((w.col(k) - node_wrench(depth, inclination, k)).norm(), kRounding) << depth << " " << inclination;
    }
}

TEST_F(Granular, IsBilinearBetweenNodes) {
  const auto law = load(table_text());
  test::Random random(91);
  for (int trial = 0; trial < 200; ++trial) {
    const size_t i = std::uniform_int_distribution<size_t>(0, 2)(random), j = i % 2;
    const double s = test::uniform(random, 0, 1), t = test::uniform(random, 0, 1);
    const double d0 = i == 0 ? 0 : kDepths[i - 1], d1 = kDepths[i], a0 = kInclinations[j], a1 = kInclinations[j + 1];
    const Wrenches w = vertices(*law, leg(d0 + s * (d1 - d0), a0 + t * (a1 - a0)));
    for (int k = 0; k < 2; ++k) {
      // The first cell starts at zero force.
      const auto at = [&](double depth, double a) {
        return depth > 0 ? node_wrench(depth, a, k) : Wrench6(Wrench6::Zero());
      };
      const Wrench6 expected =
          (1 - s) * ((1 - t) * at(d0, a0) + t * at(d0, a1)) + s * ((1 - t) * at(d1, a0) + t * at(d1, a1));
      EXPECT_LT((w.col(k) - expected).norm(), kRounding);
    }
  }
}

TEST_F(Granular, IsContinuousAcrossCellsAndAtTheSurface) {
  const auto law = load(table_text());
  // Slopes: at most 10 N per 0.01 m and 5 N per 0.5 rad.
  const double e = 1e-9, most = e * 2 * (1e3 + 10) + kRounding;
  for (const double depth : {0.0, 0.01, 0.04, 0.1})
    for (const double a : {-0.5, -0.2, 0.1, 0.6})
      EXPECT_LT(
          (vertices(*law, leg(depth + e, a + e)) - vertices(*law, leg(depth - e, a - e))).colwise().norm().maxCoeff(),
          most);
}

TEST_F(Granular, HasNoForceInTheAirAndHoldsItsEdgesBeyondTheTable) {
  const auto law = load(table_text());
  EXPECT_EQ(vertices(*law, leg(0, 0.2)), Wrenches::Zero(6, 2));
  EXPECT_EQ(vertices(*law, leg(-3, 0.2)), Wrenches::Zero(6, 2));
  EXPECT_LT((vertices(*law, leg(7, 0.2)) - vertices(*law, leg(0.1, 0.2))).norm(), kRounding);
  EXPECT_LT((vertices(*law, leg(0.02, 1.4)) - vertices(*law, leg(0.02, 0.6))).norm(), kRounding);
  EXPECT_LT((vertices(*law, leg(0.02, -3)) - vertices(*law, leg(0.02, -0.5))).norm(), kRounding);
}

TEST_F(Granular, TurnsWithTheRobot) {
  const auto law = load(table_text());
  test::Random random(92);
  for (int trial = 0; trial < 100; ++trial) {
    ContactGeometry g = leg(test::uniform(random, 0.001, 0.12), test::uniform(random, -0.8, 0.8));
    const Wrenches before = vertices(*law, g);
    const Mat3 turn = about(Vec3::UnitZ(), test::uniform(random, -4, 4));
    g.R_CB = turn * g.R_CB;
    EXPECT_LT((vertices(*law, g) - rotated(turn, before)).norm(), kRounding);
  }
}

TEST_F(Granular, TakesTheInclinationInThePlaneNormalToTheLateralAxis) {
  const auto law = load(table_text());
  // A sideways tilt of the leg (about x of the table) does not count: tan of the angle seen along y is x/z.
  const double sideways = 0.4, inclination = 0.3;
  ContactGeometry g = leg(0.03, 0);
  g.p_B = -Vec3(std::sin(inclination), 0.7, std::cos(inclination)) * 0.3;
  EXPECT_LT((vertices(*law, g) - vertices(*law, leg(0.03, inclination))).norm(), kRounding);
  // With a tilted body the lateral axis is projected onto the ground: here y stays y.
  g = leg(0.03, 0);
  g.p_B = Vec3(0, 0, -0.3);
  g.R_CB = about(Vec3::UnitX(), sideways);
  EXPECT_LT((vertices(*law, g) - vertices(*law, leg(0.03, 0))).norm(), kRounding);

  // Another lateral axis: the same robot described in body axes turned by 90 degrees.
  const auto along_x = load(table_text("lateral = [2, 0, 0]\n"));
  const Mat3 R_BA = about(Vec3::UnitZ(), -M_PI / 2);  // takes y of A to x of B
  const ContactGeometry in_A = leg(0.03, inclination);
  ContactGeometry in_B = in_A;
  in_B.R_CB = in_A.R_CB * R_BA.transpose();
  in_B.p_B = R_BA * in_A.p_B;
  EXPECT_LT((vertices(*along_x, in_B) - vertices(*law, in_A)).norm(), kRounding);
}

TEST_F(Granular, IsDefinedWhereItsAnglesAreNot) {
  const auto law = load(table_text());
  ContactGeometry g = leg(0.03, 0);
  g.p_B.setZero();  // no leg: upright
  EXPECT_LT((vertices(*law, g) - vertices(*law, leg(0.03, 0))).norm(), kRounding);
  g.R_CB = about(Vec3::UnitX(), M_PI / 2);  // lateral axis along the normal
  EXPECT_TRUE(vertices(*law, g).allFinite());
}

TEST_F(Granular, ScalesWithTheShareOfTheWeightIfAsked) {
  const auto newtons = load(table_text()), shares = load(table_text("share_of_weight = true\n"));
  const ContactGeometry g = leg(0.03, 0.2);
  EXPECT_LT((vertices(*shares, g) - 250 * vertices(*newtons, g)).norm(), 250 * kRounding);
}

TEST_F(Granular, NamesEveryMistakeInATable) {
  const std::string good = "depths = [0.1, 0.2]\ninclinations = [0]\nvertices = [[[[0, 0, 1]]], [[[0, 0, 2]]]]\n";
  EXPECT_NO_THROW(load(good));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  const std::pair<std::string, std::string> cases[] = {
      {with("depths = [0.1, 0.2]\n", ""), ": required key \"depths\" is missing"},
      {with("depths", "depth"), ":1: depth: unknown key, did you mean \"depths\"?"},
      {with("depths = [0.1, 0.2]", "depths = 0.1"), ":1: depths: not an array, expected increasing numbers"},
      {with("[0.1, 0.2]", "[]"), ":1: depths: an empty array, expected at least one number"},
      {with("0.1, 0.2", "0.2, 0.2"), ":1: depths[1]: 0.2, expected more than the 0.2 before it"},
      {with("0.1, 0.2", "0.2, 0.1"), ":1: depths[1]: 0.1, expected more than the 0.2 before it"},
      {with("0.1, 0.2", "0, 0.1"), ":1: depths[0]: 0, expected a number in [1e-06, 1e+12] m"},
      {with("0.1, 0.2", "0.1, nan"), ":1: depths[1]: nan, expected a finite number of at most 1e+12 m"},
      {with("0.1, 0.2", "0.1, inf"), ":1: depths[1]: inf, expected a finite number"},
      {with("0.1, 0.2", "0.1, \"deep\""), ":1: depths[1]: not a number, expected one [m]"},
      {with("[0]", "[4]"), ":2: inclinations[0]: 4, expected a number in [-3.14159, 3.14159] rad"},
      {with("[0]", "[0.2, 0.1]"), ":2: inclinations[1]: 0.1, expected more than the 0.2 before it"},
      {with("[0]", "[0, 1]"), ":3: vertices[0]: an array of 1, expected 2, as many as inclinations"},
      {with("0.1, 0.2", "0.1"), ":3: vertices: an array of 2, expected 1, as many as depths"},
      {with("[[[[0, 0, 1]]]", "[[[]]"), ":3: vertices[0][0]: 0 wrenches, expected 1 to 64"},
      {with("[0, 0, 2]", "[0, 0, 2], [0, 0, 3]"),
       ":3: vertices[1][0]: an array of 2, expected 1, as many as at the first node"},
      {with("[0, 0, 2]", "[0, 2]"),
       ":3: vertices[1][0][0]: an array of 2, expected 3 (force [N]) or 6 (force [N], moment [N m])"},
      {with("[0, 0, 2]", "2"), ":3: vertices[1][0][0]: not an array, expected 3 or 6 numbers"},
      {with("[0, 0, 2]", "[0, nan, 2]"), ":3: vertices[1][0][0]: nan, expected a finite number of at most 1e+12 N"},
      {with("[0, 0, 2]", "[0, 0, -2]"), ":3: vertices[1][0][0]: normal force -2, expected >= 0"},
      {with("[0, 0, 2]", "[0, 0, true]"), ":3: vertices[1][0][0]: not a number, expected one [N]"},
      {good + "lateral = [0, 0, 0]\n", ":4: lateral: has length 0, expected a direction"},
      {good + "lateral = [1, 0]\n", ":4: lateral: an array of 2, expected an array of 3 numbers"},
      {good + "share_of_weight = 1\n", ":4: share_of_weight: 1, expected true or false"},
      {good + "vertices = 1\n", ":4:"},
      {"depths = [\n", ":"},
  };
  for (const auto& [text, expected] : cases) {
    try {
      load(text);
      ADD_FAILURE() << "accepted:\n" << text;
    } catch (const InputError& error) {
      const std::string what = error.what();
      EXPECT_EQ(what.find(file.string() + expected), 0u) << what << "\nexpected " << expected;
      EXPECT_EQ(what.find('\n'), std::string::npos);
    }
  }
  EXPECT_THROW(load_granular(folder.path() / "missing.toml"), InputError);
}

// A mass of 2 kg on a vertical rail with one foot, its origin 0.5 m above the foot.
Model mass_on_rail() {
  Body mass;
  mass.name = "mass";
  mass.mass = 2;
  mass.inertia = Mat3::Identity();
  Joint rail;
  rail.name = "rail";
  rail.type = JointType::prismatic;
  rail.axis = Vec3::UnitZ();
  ContactPoint foot;
  foot.name = "foot";
  foot.p_B = Vec3(0, 0, -0.5);
  return ModelBuilder("mass").add_body(mass, "world", rail).add_contact_point("mass", foot).build();
}

World sand(const Model& model, std::shared_ptr<const ContactLaw> law) {
  World world;
  world.add(plane_collider(Vec3::Zero(), Vec3::UnitZ()));
  world.law = std::move(law);
  world.add(contact_candidates(model, ContactCandidates::named));
  return world;
}

// Sand that can carry depth / 0.02 m of the weight.
constexpr double kRest = 0.02;  // [m]
const char* const kLinear =
    "share_of_weight = true\ndepths = [0.02, 0.2]\ninclinations = [0]\n"
    "vertices = [[[[0, 0, 1]]], [[[0, 0, 10]]]]\n";

Simulation mass_in_sand(std::shared_ptr<const ContactLaw> law, IntegratorType integrator, double dt, double depth) {
  Model model = mass_on_rail();
  World world = sand(model, std::move(law));
  Simulation simulation(std::move(model), std::move(world), {.integrator = integrator, .dt = dt});
  simulation.set_state(Eigen::VectorXd::Constant(1, 0.5 - depth), Eigen::VectorXd::Zero(1));
  return simulation;
}

TEST_F(Granular, CarriesAWeightFromTheDepthTheTableSays) {
  const auto law = load(kLinear);
  const double weight = 2 * 9.81;
  for (const IntegratorType integrator : {IntegratorType::ne_zonmdp, IntegratorType::pbd_zonmdp}) {
    // Deep enough: at rest, where it is, carrying the weight. The search stops at 1e-10 J of slip: |v| below 1.5e-5
    // m/s.
    Simulation resting = mass_in_sand(law, integrator, 0.01, kRest * 1.01);
    for (int k = 0; k < 100; ++k) ASSERT_TRUE(resting.step().converged());
    EXPECT_NEAR(0.5 - resting.state().q(0), kRest * 1.01, 1.5e-5);
    ASSERT_EQ(resting.contacts().size(), 1u);
    EXPECT_NEAR(resting.contacts()[0].force.z(), weight, 2 * 1.5e-5 / 0.01);
    // Not deep enough: it sinks, at first by the missing force, m a = (1 - 0.9) m g.
    Simulation sinking = mass_in_sand(law, integrator, 1e-4, kRest * 0.9);
    ASSERT_TRUE(sinking.step().converged());
    EXPECT_NEAR(sinking.state().v(0), -0.1 * 9.81 * 1e-4, 1e-6 * 9.81 * 1e-4 + 9.81 * 1e-4 * 1e-4);
  }
}

// Let go at the surface the sand resists with all it has, m z'' = m g (1 - z / rest), until the mass stops. Its energy
// then says how deep: m g z = m g z^2 / (2 rest), z = 2 rest. It does not come up again.
TEST_F(Granular, SinksToTwiceTheRestingDepthWhenLetGoAtTheSurface) {
  const auto law = load(kLinear);
  double error[2];
  for (int level = 0; level < 2; ++level) {
    const double dt = level == 0 ? 1e-3 : 5e-4;
    Simulation simulation = mass_in_sand(law, IntegratorType::ne_zonmdp, dt, 0);
    for (int k = 0; k < static_cast<int>(0.3 / dt); ++k) ASSERT_TRUE(simulation.step().converged());
    EXPECT_LT(std::abs(simulation.state().v(0)), 1.5e-5);
    error[level] = 2 * kRest - (0.5 - simulation.state().q(0));
  }
  // Backward Euler damps the half swing of frequency w = sqrt(g / rest) by exp(-w^2 dt t / 2), t = pi / w: first order.
  const double damping = std::sqrt(9.81 / kRest) * M_PI / 2;  // [1/s]
  EXPECT_NEAR(error[0], kRest * damping * 1e-3, 0.1 * kRest * damping * 1e-3);
  EXPECT_NEAR(error[0] / error[1], 2, 0.1);
}

TEST_F(Granular, TakesTheZerothOrderWhereNobodyNamesAnIntegrator) {
  const auto law = load(kLinear);
  const Model model = mass_on_rail();
  const World world = sand(model, law);
  EXPECT_EQ(default_integrator(world), IntegratorType::pbd_zonmdp);
  EXPECT_EQ(default_integrator({}), IntegratorType::pbd_nmdp2);
  Simulation simulation(model, world);
  EXPECT_EQ(simulation.options().integrator, IntegratorType::pbd_zonmdp);
  EXPECT_TRUE(simulation.step().converged());
  EXPECT_EQ(Simulation(model).options().integrator, IntegratorType::pbd_nmdp2);
  EXPECT_EQ(Simulation(model, sand(model, make_coulomb({}))).options().integrator, IntegratorType::pbd_nmdp2);
}

TEST_F(Granular, IsRefusedByFirstOrderIntegrators) {
  const auto law = load(kLinear);
  const std::string expected =
      "needs the derivative of the contact law, which this law does not offer, expected one of: ne-mdp, ne-zonmdp, "
      "pbd-zonmdp";
  for (const IntegratorType integrator : {IntegratorType::ne_nmdp, IntegratorType::pbd_nmdp}) {
    try {
      mass_in_sand(law, integrator, 0.01, 0);
      ADD_FAILURE();
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
    }
    // Step by step, without a Simulation.
    const Model model = mass_on_rail();
    const World world = sand(model, law);
    StepWorkspace workspace(model, world);
    State state = make_state(model);
    EXPECT_THROW((void)step(model, Control(model), {.integrator = integrator}, state, workspace), InputError);
  }
  // In a scene.
  fs::copy(fs::path(source_dir()) / "tests/data/scenes/block.urdf", folder.path());
  const auto scene = [&](const std::string& integrator) {
    const fs::path path = folder.path() / "scene.toml";
    std::ofstream(path) << "model = \"block.urdf\"\nduration = 1\n[[environment]]\nshape = \"plane\"\n[contact]\n"
                           "law = \"granular\"\ntable = \"sand.toml\"\n[step]\nintegrator = \"" +
                               integrator + "\"\n";
    return path;
  };
  try {
    load_scene(scene("ne-nmdp"));
    ADD_FAILURE();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("scene.toml:5: contact: integrator \"ne-nmdp\" " + expected),
              std::string::npos)
        << error.what();
  }
  EXPECT_FALSE(load_scene(scene("ne-zonmdp")).world.law->differentiable());
  EXPECT_NO_THROW(load_scene(scene("ne-mdp")));
  std::ofstream(file) << "depths = 3\n";
  try {
    load_scene(scene("ne-zonmdp"));
    ADD_FAILURE();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("scene.toml:7: contact.table: "), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("sand.toml: required key"), std::string::npos) << error.what();
  }
}

TEST_F(Granular, ExampleTableCarriesTheWeightAtTwoCentimetres) {
  const auto law = load_granular(fs::path(source_dir()) / "examples/contact/granular-foot.toml");
  const Wrenches w = vertices(*law, leg(0.02, 0));
  EXPECT_NEAR(w.row(2).maxCoeff(), 250, 1e-6 * 250) << "the file has six decimals";
  EXPECT_GE(w.row(2).minCoeff(), 0);
}

}  // namespace
}  // namespace scree
