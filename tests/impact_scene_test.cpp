#include "scree/impact_scene.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <sstream>

#include "scree/error.h"
#include "support/paths.h"
#include "support/temp_folder.h"

namespace scree {
namespace {

namespace fs = std::filesystem;
using Eigen::MatrixXd;
using Eigen::VectorXd;

const fs::path kScenes = fs::path(source_dir()) / "examples/impact";

ImpactScene load(const std::string& name) { return load_impact_scene(kScenes / (name + ".toml")); }

MatrixXd matrix(std::initializer_list<std::initializer_list<double>> rows) {
  MatrixXd m(std::ssize(rows), std::ssize(*rows.begin()));
  Eigen::Index i = 0;
  for (const auto& row : rows) {
    Eigen::Index j = 0;
    for (const double x : row) m(i, j++) = x;
    ++i;
  }
  return m;
}
MatrixXd identity(int n) { return MatrixXd::Identity(n, n); }

struct Printed {
  const char* scene;
  MatrixXd M, Jn, Jt, v;
};

// Six significant digits are printed: half a unit of the last of them, in size at most 1 but for the total mass.
constexpr double kSixDigits = 5.1e-7;

TEST(ImpactScene, GivesThePrintedMatrices) {
  const MatrixXd M_compass = matrix({{2, 0, 0.103956, 0.103956},
                                     {0, 2, -0.489074, 0.489074},
                                     {0.103956, -0.489074, 0.25, 0},
                                     {0.103956, 0.489074, 0, 0.25}});
  const MatrixXd Jn_compass = matrix({{0, 1, -0.978148, 0}, {0, 1, 0, 0.978148}});
  const MatrixXd Jt_compass = matrix({{1, 0, 0.207912, 0}, {1, 0, 0, 0.207912}});
  const MatrixXd v_compass = matrix({{-0.207912}, {-0.978148}, {1}, {1}});
  MatrixXd M_ramone = matrix({{10.5, 0, 0.551727, 0.116070, 0.0471231, 0.0919128, 0.0837304},
                              {0, 10.5, 0.041301, -0.164761, -0.0698629, 0.107494, -0.00951983},
                              {0, 0, 0.298863, 0.0861471, 0.0408732, 0.0581319, 0.0304329},
                              {0, 0, 0, 0.0770385, 0.0372880, 0, 0},
                              {0, 0, 0, 0, 0.0204443, 0, 0},
                              {0, 0, 0, 0, 0, 0.0418888, 0.0197131},
                              {0, 0, 0, 0, 0, 0, 0.0204443}});
  M_ramone = MatrixXd(M_ramone.selfadjointView<Eigen::Upper>());
  const double v0 = std::sqrt(2 * 9.81 * 0.01);
  const Printed printed[] = {
      {"block-repo", matrix({{1, 0, 0}, {0, 1, 0}, {0, 0, 0.416667}}), matrix({{0, 1, -0.5}, {0, 1, 0.5}}),
       matrix({{1, 0, 1}, {1, 0, 1}}), matrix({{0}, {-v0}, {0}})},
      {"matrices", matrix({{1, 0, 0}, {0, 1, 0}, {0, 0, 0.416667}}), matrix({{0, 1, -0.5}, {0, 1, 0.5}}),
       matrix({{1, 0, 1}, {1, 0, 1}}), matrix({{0}, {-v0}, {0}})},
      {"boxwall", matrix({{1, 0, 0}, {0, 1, 0}, {0, 0, 1.0 / 6}}), matrix({{0, 1, 0.405580}, {-1, 0, 0.405580}}),
       matrix({{1, 0, 0.579228}, {0, -1, -0.579228}}), matrix({{1}, {0}, {0}})},
      {"compass-repo", M_compass, Jn_compass, Jt_compass, 0.25 * v_compass},
      {"compass", M_compass, Jn_compass, Jt_compass, 0.5 * v_compass},
      {"ramone", M_ramone,
       matrix({{0, 1, -0.321580, -0.359529, -0.197725, 0, 0}, {0, 1, 0.210518, 0, 0, 0.172570, -0.0269429}}),
       matrix({{1, 0, 0.411416, 0.279075, 0.161518, 0, 0}, {1, 0, 0.411416, 0, 0, 0.279075, 0.265123}}),
       matrix({{-0.4114163}, {-0.2105182}, {1}, {0}, {0}, {0}, {0}})},
  };
  for (const Printed& p : printed) {
    const ImpactProblem problem = load(p.scene).problem;
    EXPECT_LE((problem.M - p.M).cwiseAbs().maxCoeff(), kSixDigits) << p.scene << "\n" << problem.M;
    EXPECT_LE((problem.Jn - p.Jn).cwiseAbs().maxCoeff(), kSixDigits) << p.scene << "\n" << problem.Jn;
    EXPECT_LE((problem.Jt - p.Jt).cwiseAbs().maxCoeff(), kSixDigits) << p.scene << "\n" << problem.Jt;
    EXPECT_LE((problem.v - p.v).cwiseAbs().maxCoeff(), kSixDigits) << p.scene << "\n" << problem.v;
  }
}

TEST(ImpactScene, TheBlockOfTheDissertationHasItsInertia) {
  const double a = 0.07444, b = 0.16094, m = 0.19;
  const ImpactScene scene = load("block");
  const ImpactProblem& p = scene.problem;
  EXPECT_NEAR(p.M(2, 2), m * (a * a + b * b) / 12, 1e-18);  // a few roundings of 5e-4
  // Positions pass through the file with 17 digits: the lever arms keep all but the last two of theirs.
  EXPECT_LE((p.Jn - matrix({{0, 1, -a / 2}, {0, 1, a / 2}})).cwiseAbs().maxCoeff(), 1e-16);
  EXPECT_LE((p.Jt - matrix({{1, 0, b / 2}, {1, 0, b / 2}})).cwiseAbs().maxCoeff(), 1e-16);
  EXPECT_EQ(p.mu, VectorXd::Ones(2));
  EXPECT_EQ(p.restitution.size(), 0);
  EXPECT_EQ(scene.law, ImpactLaw::anitescu_potra);
  EXPECT_EQ(scene.sampling.step, 0.3);
  EXPECT_EQ(scene.sampling.max_steps, 10);
  EXPECT_EQ(scene.sampling.sampler, OutcomeSampler::uniform);
}

// Only the mass matrix knows where the centre of mass of a shank is. All of its energy is that of a rigid turn about
// contact B, with the moment of inertia of the whole robot there.
TEST(ImpactScene, TheShanksOfRamoneOnlyChangeTheMassMatrix) {
  const ImpactProblem near = load("ramone-remy").problem, far = load("ramone").problem;
  EXPECT_EQ(near.Jn, far.Jn);
  EXPECT_EQ(near.v, far.v);
  EXPECT_NEAR(0.5 * far.v.dot(far.M * far.v), 1.035049, 5.1e-7);                               // printed
  EXPECT_NEAR(0.5 * near.v.dot(near.M * near.v), 1.027595, 5.1e-7);                            // printed
  EXPECT_LE((far.Jn * far.v + VectorXd::Unit(2, 0) * 0.5320987).cwiseAbs().maxCoeff(), 1e-6);  // B at rest
  EXPECT_NEAR((far.Jt * far.v)(1), 0, 1e-15);
}

TEST(ImpactScene, CradlesAndStacksAreThoseOfTheReference) {
  const ImpactProblem cradle = load("cradle5").problem;
  MatrixXd Jn = MatrixXd::Zero(4, 5);
  for (int k = 0; k < 4; ++k) Jn(k, k) = -1, Jn(k, k + 1) = 1;
  EXPECT_EQ(cradle.M, identity(5));
  EXPECT_EQ(cradle.Jn, Jn);
  EXPECT_EQ(cradle.v, VectorXd::Unit(5, 0));
  EXPECT_EQ(cradle.Jt.rows(), 0);
  EXPECT_EQ(load("cradle5-two").problem.v, VectorXd::Unit(5, 0) + VectorXd::Unit(5, 1));
  EXPECT_EQ(load("cradle3").problem.dofs(), 3);

  const ImpactProblem stack = load("stack3-drop").problem;
  ASSERT_EQ(stack.contacts(), 6);
  MatrixXd N = MatrixXd::Zero(6, 9);
  for (int k = 0; k < 3; ++k)
    for (int side = 0; side < 2; ++side) {
      const Eigen::RowVector3d n(0, 1, side == 0 ? -0.5 : 0.5);
      N.block<1, 3>(2 * k + side, 3 * k) = n;
      if (k > 0) N.block<1, 3>(2 * k + side, 3 * k - 3) = -n;
    }
  EXPECT_EQ(stack.Jn, N);
  EXPECT_NEAR(stack.M(2, 2), 1.0 / 6, 1e-16);
  EXPECT_EQ(load("stack2-top").problem.v, VectorXd(-VectorXd::Unit(6, 4)));
}

TEST(ImpactScene, DisksTouchInTheOrderOfTheReference) {
  const ImpactScene disks = load("disks");
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"floor", "left"}, {"floor", "right"}, {"top", "left"}, {"top", "right"}, {"left", "right"}};
  ASSERT_EQ(disks.contacts.size(), pairs.size());
  for (size_t k = 0; k < pairs.size(); ++k) {
    const ImpactContact& c = disks.contacts[k];
    EXPECT_EQ(c.label, std::string(1, static_cast<char>('A' + k)));
    EXPECT_EQ(disks.bodies[static_cast<size_t>(c.a)].name, pairs[k].first);
    EXPECT_EQ(disks.bodies[static_cast<size_t>(c.b)].name, pairs[k].second);
    EXPECT_NEAR(c.normal.dot(c.tangents[0]), 0, 1e-16);  // the published code has 0.866 at C and D
    EXPECT_NEAR(c.normal.norm(), 1, 4e-16);
  }
  // C: from the top disk down to the left one.
  EXPECT_NEAR(disks.contacts[2].normal.x(), -0.5, 1e-15);
  EXPECT_NEAR(disks.contacts[2].normal.y(), -std::sqrt(3) / 2, 1e-15);
  EXPECT_EQ(disks.problem.M(2, 2), 0.5);

  const ImpactScene rack = load("rack");
  EXPECT_EQ(rack.problem.contacts(), 31);
  EXPECT_EQ(rack.problem.dofs(), 32);
  EXPECT_EQ(rack.contacts.back().label, "AE");
  EXPECT_TRUE(std::is_sorted(rack.contacts.begin(), rack.contacts.end(),
                             [](const auto& x, const auto& y) { return std::pair(x.a, x.b) < std::pair(y.a, y.b); }));
  const double s = std::sqrt(3) / 2;
  EXPECT_LE(
      (load("bernoulli").problem.Jn - matrix({{-s, -0.5, s, 0.5, 0, 0}, {-s, 0.5, 0, 0, s, -0.5}, {0, 0, 0, 1, 0, -1}}))
          .cwiseAbs()
          .maxCoeff(),
      2e-16);
  EXPECT_EQ(load("bernoulli-masses").problem.M.diagonal(), matrix({{1, 1, 12.1, 12.1, 23.3, 23.3}}).transpose());
}

TEST(ImpactScene, TheOthersAreWhatTheirNamesSay) {
  const ImpactProblem galperin = load("galperin").problem;
  EXPECT_EQ(galperin.M, matrix({{1, 0}, {0, 1e6}}));
  EXPECT_EQ(galperin.Jn, matrix({{1, 0}, {-1, 1}}));
  const ImpactProblem squeezed = load("squeezed").problem;
  EXPECT_EQ(squeezed.Jn, matrix({{1, 0}, {-1, 0}}));
  EXPECT_EQ(squeezed.v, VectorXd(matrix({{1}, {0.3}})));
  const ImpactScene landing = load("landing");
  EXPECT_EQ(landing.dimension, 3);
  EXPECT_EQ(landing.problem.dofs(), 18);
  EXPECT_EQ(landing.problem.contacts(), 6);
  EXPECT_EQ(landing.problem.tangents(), 2);
  for (const ImpactContact& c : landing.contacts)
    EXPECT_LE((c.tangents[0].cross(c.tangents[1]) - c.normal).norm(), 1e-15) << c.label;  // right-handed
}

// --- Jacobians and mass matrices by a second road -------------------------------------------------------------------

// Moves every body by its part of v for a time t, from the kinematics alone.
ImpactScene moved(const ImpactScene& scene, const VectorXd& v, double t) {
  ImpactScene out = scene;
  for (ImpactBody& body : out.bodies) {
    if (body.dofs == 0) continue;
    const VectorXd u = v.segment(body.first_dof, body.dofs) * t;
    if (scene.along) {
      body.X_WB.p += *scene.along * u(0);
      continue;
    }
    body.X_WB.p.head(scene.dimension) += u.head(scene.dimension);
    if (body.shape == ImpactShape::links) {
      for (size_t k = 0; k < body.links.size(); ++k) body.links[k].angle += u(2 + static_cast<Eigen::Index>(k));
    } else if (body.rotates) {
      const Vec3 w = scene.dimension == 2 ? Vec3(0, 0, u(2)) : Vec3(u.tail<3>());
      if (w.norm() > 0) body.X_WB.R = Eigen::AngleAxisd(w.norm(), w.normalized()) * body.X_WB.R;
    }
  }
  return out;
}

// Where the material point that is at `point` in `scene` has gone.
Vec3 followed(const ImpactScene& scene, const ImpactScene& later, int body, int link, const Vec3& point) {
  const ImpactBody &from = scene.bodies[static_cast<size_t>(body)], &to = later.bodies[static_cast<size_t>(body)];
  if (link < 0) return to.X_WB * (from.X_WB.inverse() * point);
  const Vec3 o = impact_link_point(from, link, {0, 0}), x = impact_link_point(from, link, {1, 0}) - o,
             y = impact_link_point(from, link, {0, 1}) - o;
  return impact_link_point(to, link, {x.dot(point - o), y.dot(point - o)});
}

std::vector<std::string> body_scenes() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kScenes))
    if (entry.path().stem() != "matrices") names.push_back(entry.path().stem().string());
  return names;
}

TEST(ImpactScene, ContactVelocitiesAreDerivativesOfContactPoints) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(-1, 1);
  const double h = 1e-5;
  EXPECT_GE(body_scenes().size(), 20u);
  for (const std::string& name : body_scenes()) {
    const ImpactScene scene = load(name);
    const VectorXd v = VectorXd::NullaryExpr(scene.problem.dofs(), [&] { return uniform(random); });
    const ImpactScene before = moved(scene, v, -h), after = moved(scene, v, h);
    const int t = scene.problem.tangents();
    for (int i = 0; i < scene.problem.contacts(); ++i) {
      const ImpactContact& c = scene.contacts[static_cast<size_t>(i)];
      const auto velocity = [&](int body, int link, const Vec3& point) {
        return Vec3((followed(scene, after, body, link, point) - followed(scene, before, body, link, point)) / (2 * h));
      };
      const Vec3 difference = velocity(c.b, c.link_b, c.point_b) - velocity(c.a, c.link_a, c.point_a);
      // Central differences: h^2/6 times third derivatives, at most (sum of rates)^3 times a lever arm < 3^3 here:
      // 5e-10; rounding of points of size < 5: 4 x 5 x 1.1e-16/h = 2e-10.
      EXPECT_NEAR(c.normal.dot(difference), scene.problem.Jn.row(i).dot(v), 1e-9) << name << " " << c.label;
      for (int k = 0; k < t; ++k)
        EXPECT_NEAR(c.tangents[static_cast<size_t>(k)].dot(difference), scene.problem.Jt.row(t * i + k).dot(v), 1e-9)
            << name << " " << c.label;
    }
  }
}

// Kinetic energy of links from velocities of their centres of mass, differences again, and absolute angular rates.
TEST(ImpactScene, MassMatricesOfLinksGiveTheKineticEnergy) {
  std::mt19937_64 random(8);
  std::uniform_real_distribution<double> uniform(-1, 1);
  const double h = 1e-5;
  for (const char* name : {"compass", "ramone", "ramone-remy"}) {
    const ImpactScene scene = load(name);
    const ImpactBody& tree = scene.bodies[1];
    for (int trial = 0; trial < 5; ++trial) {
      const VectorXd v = VectorXd::NullaryExpr(scene.problem.dofs(), [&] { return uniform(random); });
      const ImpactScene before = moved(scene, v, -h), after = moved(scene, v, h);
      double energy = 0;
      for (int l = 0; l < std::ssize(tree.links); ++l) {
        const ImpactLink& link = tree.links[static_cast<size_t>(l)];
        const Vec3 u =
            (impact_link_point(after.bodies[1], l, link.com) - impact_link_point(before.bodies[1], l, link.com)) /
            (2 * h);
        double rate = 0;
        for (int k = l; k >= 0; k = tree.links[static_cast<size_t>(k)].parent) rate += v(2 + k);
        energy += 0.5 * link.mass * u.squaredNorm() + 0.5 * link.inertia * rate * rate;
      }
      EXPECT_NEAR(0.5 * v.dot(scene.problem.M * v), energy, 2e-8);  // 1e-9 of velocities < 2 times masses of 10 kg
    }
  }
}

// --- Geometry -------------------------------------------------------------------------------------------------------

ImpactScene from_text(const std::string& text) {
  const TempFolder folder;
  return load_impact_scene(folder.write("scene.toml", text));
}

const std::string kGround = "[[body]]\nshape = \"wall\"\nname = \"ground\"\nnormal = [0, 1]\n";
std::string box(const std::string& more) { return "[[body]]\nshape = \"box\"\nmass = 1\n" + more; }
std::string disk(const std::string& more) { return "[[body]]\nshape = \"disk\"\nmass = 1\n" + more; }

TEST(ImpactGeometry, BoxesOfDifferentWidthTouchAtTheEndsOfTheOverlap) {
  const ImpactScene scene = from_text(box("name = \"low\"\nsize = [3, 1]\nposition = [0, 0.5]\n") +
                                      box("name = \"high\"\nsize = [2, 1]\nposition = [1, 1.5]\n"));
  ASSERT_EQ(scene.contacts.size(), 2u);
  EXPECT_EQ(scene.contacts[0].point_b, Vec3(0, 1, 0));
  EXPECT_EQ(scene.contacts[1].point_b, Vec3(1.5, 1, 0));
  EXPECT_EQ(scene.contacts[0].normal, Vec3(0, 1, 0));
}

TEST(ImpactGeometry, ACornerOnAFaceIsOneContact) {
  const double half = std::sqrt(0.5);
  const ImpactScene scene =
      from_text(box("name = \"low\"\nsize = [3, 1]\nposition = [0, 0.5]\n") +
                box("name = \"tip\"\nsize = [1, 1]\nangle = 0.7853981633974483\nposition = [0.3, " +
                    std::to_string(1 + half) + "]\n"));
  ASSERT_EQ(scene.contacts.size(), 1u);
  EXPECT_NEAR(scene.contacts[0].point_b.x(), 0.3, 1e-15);
  EXPECT_NEAR(scene.contacts[0].normal.y(), 1, 1e-15);
}

TEST(ImpactGeometry, ADiskOnABoxAndInACorner) {
  const ImpactScene scene = from_text(kGround + box("name = \"step\"\nsize = [2, 1]\nposition = [-1, 0.5]\n") +
                                      disk("name = \"disk\"\nradius = 0.5\nposition = [0.5, 0.5]\n"));
  ASSERT_EQ(scene.contacts.size(), 4u);  // two corners of the box, the disk on the ground, the disk at the box
  EXPECT_EQ(scene.contacts[2].normal, Vec3(0, 1, 0));
  EXPECT_EQ(scene.contacts[3].normal, Vec3(1, 0, 0));
  EXPECT_EQ(scene.contacts[3].point_a, Vec3(0, 0.5, 0));
}

TEST(ImpactGeometry, BoxesInSpaceTouchAtCornersOfTheirOverlap) {
  const std::string low = "dimension = 3\n" + box("name = \"low\"\nsize = [2, 2, 1]\nposition = [0, 0, 0.5]\n");
  const ImpactScene faces = from_text(low + box("name = \"high\"\nsize = [1, 1, 1]\nposition = [0.8, 0, 1.5]\n"));
  ASSERT_EQ(faces.contacts.size(), 4u);
  EXPECT_TRUE(faces.contacts[0].point_b.isApprox(Vec3(0.3, -0.5, 1), 1e-15));
  EXPECT_TRUE(faces.contacts[3].point_b.isApprox(Vec3(1, 0.5, 1), 1e-15));
  // Turned by 45 degrees about the vertical, a square on a square has eight corners.
  const ImpactScene turned = from_text(
      low + box("name = \"high\"\nsize = [2, 2, 1]\nposition = [0, 0, 1.5]\nrpy = [0, 0, 0.7853981633974483]\n"));
  EXPECT_EQ(turned.contacts.size(), 8u);
  // Two edges across each other: one contact, where they cross.
  const double h = std::sqrt(0.5);
  const ImpactScene crossed =
      from_text("dimension = 3\n" +
                box("name = \"low\"\nsize = [1, 4, 1]\nposition = [0, 0, 0]\nrpy = [0, 0.7853981633974483, 0]\n") +
                box("name = \"high\"\nsize = [4, 1, 1]\nposition = [0.5, 0.25, " + std::to_string(2 * h) +
                    "]\nrpy = [0.7853981633974483, 0, 0]\n"));
  ASSERT_EQ(crossed.contacts.size(), 1u);
  EXPECT_LE((crossed.contacts[0].point_a - Vec3(0, 0.25, h)).norm(), 1e-6);  // six digits of the height above
  EXPECT_LE((crossed.contacts[0].normal - Vec3(0, 0, 1)).norm(), 1e-15);
}

TEST(ImpactGeometry, FixedBodiesHaveNoDegreesOfFreedom) {
  const ImpactScene scene = from_text(
      "rotation = false\n[[body]]\nshape = \"disk\"\nname = \"post\"\nfixed = true\n"
      "radius = 1\nposition = [0, 0]\n" +
      disk("name = \"ball\"\nradius = 1\nposition = [2, 0]\nvelocity = [-1, 0]\n"));
  EXPECT_EQ(scene.problem.dofs(), 2);
  EXPECT_EQ(scene.problem.Jn, matrix({{1, 0}}));
}

TEST(ImpactScene, PairsHaveFrictionAndRestitutionOfTheirOwn) {
  const ImpactScene scene = from_text("friction = 0.5\nrestitution = 0.25\n" + kGround +
                                      disk("name = \"low\"\nradius = 1\nposition = [0, 1]\n") +
                                      disk("name = \"high\"\nradius = 1\nposition = [0, 3]\n") +
                                      "[[pair]]\nbodies = [\"high\", \"low\"]\nfriction = 2\nrestitution = 1\n");
  EXPECT_EQ(scene.problem.mu, VectorXd(matrix({{0.5}, {2}})));
  EXPECT_EQ(scene.problem.restitution, VectorXd(matrix({{0.25}, {1}})));
}

TEST(ImpactScene, LabelsGoOnAfterZ) {
  EXPECT_EQ(impact_contact_label(0), "A");
  EXPECT_EQ(impact_contact_label(25), "Z");
  EXPECT_EQ(impact_contact_label(26), "AA");
  EXPECT_EQ(impact_contact_label(26 + 26 * 26), "AAA");
}

// --- Mistakes -------------------------------------------------------------------------------------------------------

struct Mistake {
  std::string text, expected;
};

std::string line_of_zeros(int rows, int columns) {
  std::string text = "[";
  for (int i = 0; i < rows; ++i) {
    text += "[1";
    for (int j = 1; j < columns; ++j) text += ",0";
    text += "],";
  }
  return text + "]";
}

TEST(ImpactScene, MistakesAreNamedOnOneLine) {
  const std::string head = "[matrices]\n";
  const std::string M = "M = [[1, 0], [0, 1]]\n", Jn = "Jn = [[1, 0]]\n", Jt = "Jt = [[0, 1]]\n", v = "v = [-1, 0]\n";
  const std::string low = disk("name = \"low\"\nradius = 1\nposition = [0, 1]\n");
  std::string many = "rotation = false\n";
  for (int k = 0; k < 1001; ++k) many += disk("radius = 1\nposition = [" + std::to_string(2 * k) + ", 0]\n");
  const std::vector<Mistake> mistakes = {
      {"", ": body: none, expected [[body]] tables or [matrices]"},
      {"x = [", ":1:"},
      {"titel = \"x\"\n" + kGround + low, ":1: titel: unknown key, did you mean \"title\"?"},
      {head + "M = [[1, 0], [0, -1]]\n" + Jn + v, ":2: matrices.M: M[1][1]: -1, expected > 0"},
      {head + "M = [[1, 2], [2, 1]]\n" + Jn + v, ":2: matrices.M: M: smallest pivot"},
      {head + "M = [[1, 0.5], [0, 1]]\n" + Jn + v, ":2: matrices.M: M[1][0]: 0, expected 0.5"},
      {head + "M = [[1, 0], [0]]\n" + Jn + v, ":2: matrices.M: row 1 has 1 numbers, expected 2"},
      {head + "M = [[1, nan], [0, 1]]\n" + Jn + v, ":2: matrices.M: nan, expected a finite number"},
      {head + "M = [[1, \"a\"], [0, 1]]\n" + Jn + v, ":2: matrices.M: \"a\", expected a number"},
      {head + "M = 1\n" + Jn + v, ":2: matrices.M: 1, expected an array of rows"},
      {head + M + "Jn = [[1, 0, 0]]\n" + v, ":3: matrices.Jn: Jn: 3 columns, expected 2"},
      {head + M + "Jn = [[0, 0]]\n" + v, ":3: matrices.Jn: Jn[0]: a row of zeros"},
      {head + M + "Jn = []\n" + v, ":3: matrices.Jn: Jn: no rows, expected at least one contact"},
      {head + M + "Jn = " + line_of_zeros(10000, 2) + "\n" + v, ":3: matrices.Jn: 10000 contacts, expected at most"},
      {head + M + Jn + "Jt = [[0, 1], [0, 1], [0, 1]]\n" + v, ":4: matrices.Jt: Jt: 3 rows, expected 0, 1"},
      {head + M + Jn + "v = [1]\n", ":4: matrices.v: v: 1 values, expected 2"},
      {head + M + Jn + "v = [inf, 0]\n", ":4: matrices.v: inf, expected a finite number"},
      {head + M + Jn, ": matrices.v: required key is missing"},
      {head + M + Jn + Jt + v + "mu = -1\n", ":6: matrices.mu: mu[0]: -1, expected >= 0"},
      {head + M + Jn + Jt + v + "mu = [1, 1]\n", ":6: matrices.mu: mu: 2 values, expected 1"},
      {head + M + Jn + v + "mu = 1\n", ":5: matrices.mu: mu: friction of up to 1, expected none without tangents"},
      {head + M + Jn + v + "restitution = 1.5\n", ":5: matrices.restitution: restitution[0]: 1.5, expected"},
      {head + M + Jn + v + "dofs = [\"x\"]\n", ":5: matrices.dofs: 1 names, expected 2"},
      {head + M + Jn + v + "dofs = [\"x\", \"x\"]\n", ":5: matrices.dofs: a name occurs twice"},
      {head + M + "Jn = [[1, 0], [0, 1]]\n" + v + "contacts = [\"A\", \"A\"]\n",
       ":5: matrices.contacts: a name occurs"},
      {head + M + Jn + v + "masses = 1\n", ":5: matrices.masses: unknown key"},
      {head + M + Jn + v + kGround, ":5: body: given beside [matrices]"},
      {"law = \"morau\"\n" + kGround + low, ":1: law: unknown impact law \"morau\", did you mean \"moreau\"?"},
      {"friction = -0.1\n" + kGround + low, ":1: friction: -0.1, expected >= 0"},
      {"restitution = 2\n" + kGround + low, ":1: restitution: 2, expected a number in [0, 1]"},
      {"dimension = 4\n" + kGround + low, ":1: dimension: 4, expected 2 or 3"},
      {"touch = 0\n" + kGround + low, ":1: touch: 0, expected 1e-12 to 0.1 m"},
      {"along = [0, 0]\n" + kGround + low, ":1: along: a vector of length 0, expected a direction"},
      {"[sampling]\nsamples = 0\n" + kGround + low, ":2: sampling.samples: 0, expected 1 to"},
      {"[sampling]\nstep = -1\n" + kGround + low, ":2: sampling.step: -1, expected > 0 N s"},
      {"[sampling]\nsampler = \"unifrom\"\n" + kGround + low, ":2: sampling.sampler: "},
      {kGround + disk("radius = -1\nposition = [0, 1]\n"), ":8: body[1].radius: -1, expected > 0 m"},
      {kGround + "[[body]]\nshape = \"disk\"\nmass = -2\nradius = 1\nposition = [0, 1]\n",
       ":7: body[1].mass: -2, expected > 0 kg"},
      {kGround + "[[body]]\nshape = \"disk\"\nmass = nan\nradius = 1\nposition = [0, 1]\n",
       ":7: body[1].mass: nan, expected a finite"},
      {kGround + disk("radius = 1\nposition = [0, 1, 2]\n"),
       ":9: body[1].position: an array of 3, expected an array of 2"},
      {kGround + disk("radius = 1\n"), "body[1].position: required key is missing"},
      {kGround + box("size = [1, 0]\nposition = [0, 1]\n"), ":8: body[1].size: 0, expected > 0 m"},
      {kGround + disk("radius = 1\nposition = [0, 1]\nrotation = false\nspin = 1\n"),
       ":11: body[1].spin: given to a body that does"},
      {kGround + "[[body]]\nshape = \"cone\"\n", ":6: body[1].shape: \"cone\", expected disk, box, wall or links"},
      {kGround + "[[body]]\nshape = \"ball\"\n", ":6: body[1].shape: \"ball\", expected disk"},
      {kGround + low + low, ":14: body[2].name: \"low\" is taken"},
      {kGround + kGround + low, ":7: body[1].name: \"ground\" is taken"},
      {kGround + "[[body]]\nshape = \"wall\"\nnormal = [0, 2]\n" + low, "body[1].point: the plane of wall ground"},
      {kGround + "[[body]]\nshape = \"wall\"\nnormal = [0, 0]\n" + low, "body[1].normal: a vector of length 0"},
      {kGround + "[[body]]\nshape = \"wall\"\nnormal = [1, 0]\ntangent = [1, 1]\n" + low,
       "body[1].tangent: has a part"},
      {kGround, ":1: body: nothing can move"},
      {kGround + disk("radius = 1\nposition = [0, 2]\n"), ":1: body: no contacts, expected at least one"},
      {kGround + disk("radius = 1\nposition = [0, 0.9]\n"),
       ":1: body: ground and disk1 overlap by 0.1 m, expected at most 1e-06"},
      {kGround + box("size = [1, 1]\nposition = [0, 0.25]\n"), ":1: body: ground and box1 overlap by 0.25 m"},
      {low + disk("radius = 1\nposition = [0, 1]\n"), ":1: body: low and disk1 are at the same place"},
      {low + disk("radius = 1\nposition = [1, 1]\n"), ":1: body: low and disk1 overlap by 1 m"},
      {box("size = [1, 1]\nposition = [0, 0]\n") + box("size = [1, 1]\nposition = [0, 0]\n"),
       "box0 and box1 overlap by 1 m"},
      {box("size = [1, 1]\nposition = [0, 0]\n") + box("size = [1, 1]\nposition = [1, 1]\n"),
       "box0 and box1 touch edge to edge"},
      {box("size = [1, 1]\nposition = [0, 0]\n") + disk("radius = 0.1\nposition = [0, 0]\n"),
       "box0 and disk1 overlap by 0.6 m"},
      {many, "more than 2000 degrees of freedom"},
      {"[[body]]\nshape = \"links\"\nposition = [0, 0]\n", "body[0].link: no links"},
      {"[[body]]\nshape = \"links\"\nposition = [0, 0]\n[[body.link]]\nname = \"a\"\nparent = \"b\"\nmass = 1\n",
       ":6: body[0].link[0].parent: no link \"b\""},
      {"[[body]]\nshape = \"links\"\nposition = [0, 0]\n[[body.link]]\nname = \"a\"\nmass = 0\n",
       ":6: body[0].link[0].mass: 0, expected > 0"},
      {"[[body]]\nshape = \"links\"\nposition = [0, 1]\n[[body.link]]\nname = \"a\"\nmass = 1\nfoot = [0, -1]\n" +
           kGround,
       "M[2][2]: 0, expected > 0"},
      {kGround + low + "[[pair]]\nbodies = [\"low\", \"grond\"]\n",
       "pair[0].bodies: no body \"grond\", did you mean \"ground\"?"},
      {kGround + low + "[[pair]]\nbodies = [\"low\"]\n", "pair[0].bodies: 1 names, expected 2"},
      {kGround + low + disk("name = \"off\"\nradius = 1\nposition = [9, 1]\n") +
           "[[pair]]\nbodies = [\"low\", \"off\"]\nfriction = 1\n",
       "pair[0].bodies: low and off do not touch"},
  };
  const TempFolder folder;
  for (const Mistake& mistake : mistakes) {
    const fs::path file = folder.write("scene.toml", mistake.text);
    std::string message = "no error";
    try {
      load_impact_scene(file);
    } catch (const InputError& error) {
      message = error.what();
    }
    EXPECT_EQ(message.find(file.string()), 0u) << message << "\n" << mistake.text.substr(0, 400);
    EXPECT_NE(message.find(mistake.expected), std::string::npos) << message << "\nexpected " << mistake.expected;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
  EXPECT_EQ(folder.count(), 1);
}

// Lines lost or doubled, numbers replaced: a problem that is valid, or one line about what is wrong.
TEST(ImpactScene, AlteredFilesGiveAProblemOrAMessage) {
  const char* numbers[] = {"0", "-1", "1e300", "-1e-300", "nan", "inf", "1e12", "3", "[1]", "[[]]", "\"x\"", "true"};
  std::mt19937_64 random(11);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  const TempFolder folder;
  int accepted = 0, refused = 0;
  for (const std::string& name : body_scenes())
    for (int trial = 0; trial < 25; ++trial) {
      std::vector<std::string> lines;
      std::istringstream text(read_bytes(kScenes / (name + ".toml")));
      for (std::string line; std::getline(text, line);) lines.push_back(line);
      for (size_t change = 0; change <= below(2); ++change) {
        const size_t at = below(lines.size()), kind = below(3), equals = lines[at].find('=');
        if (kind == 0) lines[at].clear();
        if (kind == 1) lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(below(lines.size())), lines[at]);
        if (kind == 2 && equals != std::string::npos)
          lines[at] = lines[at].substr(0, equals + 1) + " " + numbers[below(std::size(numbers))];
      }
      std::string altered;
      for (const std::string& line : lines) altered += line + "\n";
      const fs::path file = folder.write("scene.toml", altered);
      try {
        load_impact_scene(file).problem.validate();
        ++accepted;
      } catch (const InputError& error) {
        ++refused;
        EXPECT_EQ(std::string(error.what()).find(file.string()), 0u) << error.what();
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
      }
    }
  EXPECT_GT(accepted, 50);
  EXPECT_GT(refused, 50);
}

TEST(ImpactScene, AMissingFileIsNamed) {
  try {
    load_impact_scene("none.toml");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("none.toml"), std::string::npos);
  }
}

}  // namespace
}  // namespace scree
