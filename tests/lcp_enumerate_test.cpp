#include <gtest/gtest.h>

#include <Eigen/LU>
#include <Eigen/QR>
#include <bit>
#include <cmath>
#include <vector>

#include "impact/contact_lcp.h"
#include "scree/error.h"
#include "solvers/lcp.h"
#include "support/contact_problems.h"

namespace scree {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using test::ContactRecipe;
using test::LcpProblem;
using test::Random;
using test::uniform;

using Points = std::vector<VectorXd>;

MatrixXd random_matrix(Random& random, int rows, int columns) {
  std::normal_distribution<double> normal;
  MatrixXd A(rows, columns);
  for (double& x : A.reshaped()) x = normal(random);
  return A;
}

// Residual of LcpReport.
double residual(const LcpProblem& p, const VectorXd& z) {
  double scale = 0;
  const double left = lcp_residual(p.M, p.q, z, scale);
  return scale > 0 ? left / scale : left;
}

// The enumeration calls two points one that differ by 1e-7 of their largest entry; oracles and it round differently.
// Data are of order one, and 1e-13 is nothing.
bool same(const VectorXd& a, const VectorXd& b) {
  const double size = std::max(a.cwiseAbs().maxCoeff(), b.cwiseAbs().maxCoeff());
  return (a - b).cwiseAbs().maxCoeff() <= 1e-6 * size + 1e-13;
}
bool holds(const Points& points, const VectorXd& z) {
  return std::any_of(points.begin(), points.end(), [&](const VectorXd& x) { return same(x, z); });
}

// ---- Oracles ----

constexpr double kSingular = 1e-9;  // a pivot below that part of the largest

// Is there a set F with z_i = 0 outside, w_i = 0 inside and M_FF regular?
bool has_regular_basis(const LcpProblem& p, const VectorXd& z) {
  const VectorXd w = p.M * z + p.q;
  const double zero_z = 1e-7 * z.maxCoeff(), zero_w = 1e-7 * (p.q.cwiseAbs() + p.M.cwiseAbs() * z).maxCoeff();
  std::vector<int> support, open;
  for (int i = 0; i < p.size(); ++i) {
    if (z(i) > zero_z)
      support.push_back(i);
    else if (w(i) <= zero_w)
      open.push_back(i);
  }
  for (unsigned set = 0; set < 1u << open.size(); ++set) {
    std::vector<int> F = support;
    for (size_t k = 0; k < open.size(); ++k)
      if (set >> k & 1) F.push_back(open[k]);
    if (F.empty()) return true;
    Eigen::FullPivLU<MatrixXd> lu(p.M(F, F));
    lu.setThreshold(kSingular);
    if (lu.isInvertible()) return true;
  }
  return false;
}

struct BruteForce {
  Points z;
  int bases = 0;  // that are feasible, several may belong to one z
};

// All complementary solutions with regular bases: 2^n of them are tried.
BruteForce brute_force(const LcpProblem& p) {
  const int n = p.size();
  BruteForce found;
  std::vector<int> F;
  for (unsigned set = 0; set < 1u << n; ++set) {
    F.clear();
    for (int i = 0; i < n; ++i)
      if (set >> i & 1) F.push_back(i);
    VectorXd z = VectorXd::Zero(n);
    if (!F.empty()) {
      const MatrixXd basis = p.M(F, F);
      const Eigen::PartialPivLU<MatrixXd> lu(basis);
      const auto pivots = lu.matrixLU().diagonal().cwiseAbs();
      if (!(pivots.minCoeff() > 1e-10 * basis.cwiseAbs().maxCoeff())) continue;
      VectorXd right = -p.q(F);
      right = lu.solve(right);
      z(F) = right;
    }
    if (!(residual(p, z) <= 1e-10)) continue;
    ++found.bases;
    z = z.cwiseMax(0);
    if (!holds(found.z, z)) found.z.push_back(z);
  }
  return found;
}

// All vertices of { z >= 0, M z + q >= 0 } that are complementary: every n of the 2 n inequalities as equations.
Points all_vertices(const LcpProblem& p) {
  const int n = p.size();
  MatrixXd rows(2 * n, n);
  rows << MatrixXd::Identity(n, n), p.M;
  VectorXd right(2 * n);
  right << VectorXd::Zero(n), -p.q;
  Points found;
  for (unsigned set = 0; set < 1u << (2 * n); ++set) {
    if (std::popcount(set) != n) continue;
    std::vector<int> tight;
    unsigned covered = 0;
    for (int i = 0; i < 2 * n; ++i)
      if (set >> i & 1) tight.push_back(i), covered |= 1u << (i % n);
    Eigen::FullPivLU<MatrixXd> lu(rows(tight, Eigen::all));
    lu.setThreshold(kSingular);
    if (!lu.isInvertible()) continue;
    const VectorXd z = lu.solve(right(tight));
    if (residual(p, z) <= 1e-10 && !holds(found, z.cwiseMax(0))) found.push_back(z.cwiseMax(0));
  }
  return found;
}

LcpSolutionSet enumerate(const LcpProblem& p, const LcpEnumerationOptions& options = {}) {
  return enumerate_lcp_solutions(p.M, p.q, options);
}

// What is listed solves; so does any point of a continuum.
void expect_solutions(Random& random, const LcpProblem& p, const LcpSolutionSet& all) {
  EXPECT_EQ(all.rejected, 0);
  for (const VectorXd& z : all.z) {
    EXPECT_LE(residual(p, z), 1e-10);
    EXPECT_GE(z.minCoeff(), 0);
  }
  for (const LcpContinuum& face : all.continua) {
    ASSERT_FALSE(face.vertices.empty());
    EXPECT_GE(face.dimension, 1);
    EXPECT_LE(face.dimension, static_cast<int>(face.vertices.size() + face.rays.size()) - 1);
    VectorXd z = VectorXd::Zero(p.size());
    double sum = 0;
    for (const int k : face.vertices) {
      const double share = uniform(random, 0.1, 1);
      z += share * all.z[static_cast<size_t>(k)];
      sum += share;
    }
    z /= sum;
    for (const VectorXd& ray : face.rays) z += uniform(random, 0, 1) * std::max(1.0, z.maxCoeff()) * ray;
    EXPECT_LE(residual(p, z), 1e-9) << "inside a continuum of dimension " << face.dimension;
  }
}

void expect_as_brute_force(Random& random, const LcpProblem& p) {
  const LcpSolutionSet all = enumerate(p);
  EXPECT_TRUE(all.complete);
  expect_solutions(random, p, all);
  const BruteForce expected = brute_force(p);
  for (const VectorXd& z : expected.z) EXPECT_TRUE(holds(all.z, z)) << "missing: " << z.transpose();
  for (const VectorXd& z : all.z)
    EXPECT_TRUE(holds(expected.z, z) || !has_regular_basis(p, z)) << "not known: " << z.transpose();
}

// ---- By hand ----

LcpProblem two(double a, double b, double c, double d, double q1, double q2) {
  LcpProblem p{MatrixXd(2, 2), Eigen::Vector2d(q1, q2)};
  p.M << a, b, c, d;
  return p;
}

TEST(LcpEnumeration, FindsThreePoints) {
  const LcpSolutionSet all = enumerate(two(1, 2, 2, 1, -1, -1));
  ASSERT_EQ(all.z.size(), 3u);
  const Eigen::Vector2d expected[] = {{0, 1}, {1.0 / 3, 1.0 / 3}, {1, 0}};
  for (size_t k = 0; k < 3; ++k) EXPECT_LE((all.z[k] - expected[k]).norm(), 1e-15);
  EXPECT_TRUE(all.continua.empty());
  EXPECT_TRUE(all.complete);
}

// A degenerate solution has several bases and is listed once.
TEST(LcpEnumeration, FindsZeroOnce) {
  const LcpSolutionSet all = enumerate({MatrixXd::Identity(3, 3), VectorXd::Zero(3)});
  ASSERT_EQ(all.z.size(), 1u);
  EXPECT_EQ(all.z[0], VectorXd(VectorXd::Zero(3)));
  EXPECT_TRUE(all.continua.empty());
}

// Two contacts that share a load: z_1 + z_2 = 1.
TEST(LcpEnumeration, FindsASegment) {
  const LcpSolutionSet all = enumerate(two(1, 1, 1, 1, -1, -1));
  ASSERT_EQ(all.z.size(), 2u);
  ASSERT_EQ(all.continua.size(), 1u);
  EXPECT_EQ(all.continua[0].dimension, 1);
  EXPECT_TRUE(all.continua[0].bounded());
  EXPECT_EQ(all.continua[0].vertices, (std::vector<int>{0, 1}));
}

// M = 0, q = 0: all z >= 0. M = diag(0, 1), q = (0, -1): z_2 = 1, any z_1; no basis {1} or {1, 2} is regular.
TEST(LcpEnumeration, FindsRays) {
  const LcpSolutionSet quadrant = enumerate(two(0, 0, 0, 0, 0, 0));
  ASSERT_EQ(quadrant.z.size(), 1u);
  ASSERT_EQ(quadrant.continua.size(), 1u);
  EXPECT_EQ(quadrant.continua[0].dimension, 2);
  EXPECT_EQ(quadrant.continua[0].rays.size(), 2u);
  const LcpSolutionSet line = enumerate(two(0, 0, 0, 1, 0, -1));
  ASSERT_EQ(line.z.size(), 1u);
  EXPECT_EQ(line.z[0], VectorXd(Eigen::Vector2d(0, 1)));
  ASSERT_EQ(line.continua.size(), 1u);
  EXPECT_EQ(line.continua[0].dimension, 1);
  ASSERT_EQ(line.continua[0].rays.size(), 1u);
  EXPECT_EQ(line.continua[0].rays[0], VectorXd(Eigen::Vector2d(1, 0)));
}

// M = [[0, 1], [1, 0]], q = 0: z_1 z_2 = 0, the two half axes. They meet in a point, and neither is part of the other.
TEST(LcpEnumeration, FindsTwoFacesThatMeet) {
  const LcpSolutionSet all = enumerate(two(0, 1, 1, 0, 0, 0));
  EXPECT_EQ(all.z.size(), 1u);
  ASSERT_EQ(all.continua.size(), 2u);
  for (const LcpContinuum& face : all.continua) {
    EXPECT_EQ(face.dimension, 1);
    EXPECT_EQ(face.rays.size(), 1u);
  }
}

// The vertex (1, 0) of M = [[0, 0], [1, 0]], q = (0, -1) has no regular complementary basis.
TEST(LcpEnumeration, FindsVerticesWithoutARegularBasis) {
  const LcpProblem p = two(0, 0, 1, 0, 0, -1);
  EXPECT_TRUE(brute_force(p).z.empty());
  const LcpSolutionSet all = enumerate(p);
  ASSERT_EQ(all.z.size(), 1u);
  EXPECT_EQ(all.z[0], VectorXd(Eigen::Vector2d(1, 0)));
  EXPECT_EQ(all_vertices(p).size(), 1u);
  // (z_1, 0) with z_1 >= 1 and (1, z_2) with z_2 >= 0.
  ASSERT_EQ(all.continua.size(), 2u);
  for (const LcpContinuum& face : all.continua) EXPECT_EQ(face.dimension, 1);
}

TEST(LcpEnumeration, FindsThatThereIsNone) {
  for (const LcpProblem& p : {two(1, -1, -1, 1, -1, -1), two(-1, 0, 0, -1, -1, -1), two(0, 0, 0, 0, -1, 0)}) {
    const LcpSolutionSet all = enumerate(p);
    EXPECT_TRUE(all.z.empty());
    EXPECT_TRUE(all.complete);
  }
}

// ---- Against oracles ----

// n = 1 ... 7: C(14, 7) = 3432 systems. Entries of a half, of few values, so much is singular and degenerate.
TEST(LcpEnumeration, FindsAllVertices) {
  Random random(1);
  int continua = 0, irregular = 0;
  for (int trial = 0; trial < 600; ++trial) {
    const int n = 1 + trial % 7;
    LcpProblem p{MatrixXd(n, n), VectorXd(n)};
    const auto entry = [&] { return 0.5 * std::uniform_int_distribution<int>(-2, 2)(random); };
    for (double& x : p.M.reshaped()) x = entry();
    for (double& x : p.q) x = entry();
    const LcpSolutionSet all = enumerate(p);
    EXPECT_TRUE(all.complete);
    expect_solutions(random, p, all);
    const Points expected = all_vertices(p);
    EXPECT_EQ(all.z.size(), expected.size()) << p.M << "\n\n" << p.q.transpose();
    for (const VectorXd& z : expected) {
      EXPECT_TRUE(holds(all.z, z)) << z.transpose();
      irregular += !has_regular_basis(p, z);
    }
    continua += !all.continua.empty();
  }
  EXPECT_GT(continua, 30);
  EXPECT_GT(irregular, 0);
}

TEST(LcpEnumeration, AgreesWithBruteForceOnRandomProblems) {
  Random random(2);
  for (int trial = 0; trial < 300; ++trial) {
    const int n = 1 + trial % 10;
    MatrixXd M = random_matrix(random, n, n);
    if (trial % 3 == 0) M = M.cwiseAbs().eval();         // always solvable, often several times
    if (trial % 3 == 1) M = (M * M.transpose()).eval();  // once
    expect_as_brute_force(random, {M, random_matrix(random, n, 1)});
  }
}

// Recipes of contact problems with n unknowns or a few less.
ContactRecipe contact_recipe(Random& random, int n, int kind) {
  ContactRecipe r;
  r.spatial = kind % 5 == 4;
  r.directions = kind % 5 == 0 ? 0 : r.spatial ? 4 : 2;
  r.capped = kind % 2 == 1;
  const int each = 1 + (r.directions > 0 ? r.directions + 1 : 0) + (r.capped ? 1 : 0);
  r.contacts = std::max(1, n / each);
  r.bodies = std::uniform_int_distribution<int>(1, 2)(random);
  r.mu = uniform(random, 0, 2);
  if (kind % 3 == 1) r.rounded = true, r.mu = 0.5 * static_cast<int>(random() % 4);
  if (kind % 3 == 2) r.duplicates = r.opposed = 0.3;
  r.zero_caps = kind % 4 == 3 ? 0.5 : 0;
  r.at_rest = kind % 7 == 0 ? 0.5 : 0;
  return r;
}
LcpProblem contact_problem(Random& random, int n, int kind) {
  const ContactRecipe recipe = contact_recipe(random, n, kind);
  return test::contact_lcp(test::random_contacts(random, recipe), recipe.directions);
}

TEST(LcpEnumeration, AgreesWithBruteForceOnContactProblems) {
  Random random(3);
  for (int trial = 0; trial < 400; ++trial)
    expect_as_brute_force(random, contact_problem(random, 3 + trial % 9, trial));
}

TEST(LcpEnumeration, AgreesWithBruteForceUpToSixteenUnknowns) {
  Random random(4);
  for (const int kind : {0, 1, 2, 3, 4, 7, 11}) expect_as_brute_force(random, contact_problem(random, 16, kind));
}

// Lemke's answers are basic solutions, so vertices, wherever its path starts: up to 30 unknowns.
TEST(LcpEnumeration, HoldsWhatLemkeFinds) {
  Random random(5);
  size_t most = 0;
  for (int trial = 0; trial < 28; ++trial) {
    const LcpProblem p = contact_problem(random, 16 + trial % 15, trial);
    const LcpSolutionSet all = enumerate(p);
    EXPECT_TRUE(all.complete) << all.z.size();
    most = std::max(most, all.z.size());
    Lemke lemke;
    VectorXd z(p.size()), covering(p.size());
    for (int start = 0; start < 20; ++start) {
      for (double& x : covering) x = uniform(random, 0.1, 1);
      const LcpReport report = lemke.solve(p.M, p.q, z, {.covering = covering.data()});
      ASSERT_TRUE(report.solved());
      EXPECT_TRUE(holds(all.z, z)) << "kind " << trial << ", " << p.size() << " unknowns: " << z.transpose();
    }
  }
  EXPECT_GT(most, 50u);
}

// ---- Impacts with known outcomes ----

// Anitescu and Potra's law: without caps.
struct Impact {
  ContactLcp contacts;
  VectorXd y;
  LcpProblem lcp;
  explicit Impact(const ImpactProblem& p) : contacts(p, 8), y(contacts.to_y(p.v)) {
    const int n = contacts.size(false);
    lcp.M = contacts.W().bottomRightCorner(n, n);
    lcp.q.resize(n);
    contacts.right_side(y, nullptr, lcp.q);
  }
  // Velocities after the impact, each once.
  Points velocities(const LcpSolutionSet& all) const {
    Points found;
    for (const VectorXd& z : all.z) {
      VectorXd after = y;
      contacts.advance(z, false, after);
      const VectorXd v = contacts.to_v(after);
      const bool known =
          std::any_of(found.begin(), found.end(), [&](const VectorXd& x) { return (x - v).norm() < 1e-9; });
      if (!known) found.push_back(v);
    }
    return found;
  }
};

// A block of 0.07444 m x 0.16094 m falls flat on its two lower corners. It comes to rest by one velocity; friction of
// one corner may push against that of the other: 17 bases are feasible, and they have 5 solutions.
TEST(LcpEnumeration, KnowsTheImpactOfTheBlock) {
  const double a = 0.07444, b = 0.16094, m = 0.19;
  ImpactProblem p;
  p.M = Eigen::Vector3d(m, m, m * (a * a + b * b) / 12).asDiagonal();
  p.Jn.resize(2, 3);
  p.Jn << 0, 1, -a / 2, 0, 1, a / 2;
  p.Jt.resize(2, 3);
  p.Jt << 1, 0, b / 2, 1, 0, b / 2;
  p.mu = VectorXd::Ones(2);
  p.v = Eigen::Vector3d(0, -0.1401, 0);
  const Impact impact(p);
  const LcpSolutionSet all = enumerate(impact.lcp);
  EXPECT_TRUE(all.complete);
  EXPECT_EQ(all.z.size(), 5u);
  const BruteForce expected = brute_force(impact.lcp);
  EXPECT_EQ(expected.z.size(), 5u);
  EXPECT_EQ(expected.bases, 17);
  ASSERT_EQ(all.continua.size(), 1u);
  EXPECT_EQ(all.continua[0].vertices.size(), 5u);
  const Points velocities = impact.velocities(all);
  ASSERT_EQ(velocities.size(), 1u);
  EXPECT_LE(velocities[0].norm(), 1e-15);
}

// A box of side 1 slides at 1 m/s into a wall, turned by 10 degrees: one corner at the floor, one at the wall.
TEST(LcpEnumeration, KnowsTheImpactOfTheBoxAtTheWall) {
  const double theta = M_PI / 18, near = (std::cos(theta) - std::sin(theta)) / 2,
               far = (std::cos(theta) + std::sin(theta)) / 2;
  ImpactProblem p;
  p.M = Eigen::Vector3d(1, 1, 1.0 / 6).asDiagonal();
  p.Jn.resize(2, 3);
  p.Jn << 0, 1, near, -1, 0, near;
  p.Jt.resize(2, 3);
  p.Jt << 1, 0, far, 0, 1, far;
  p.mu = VectorXd::Ones(2);
  p.v = Eigen::Vector3d(1, 0, 0);
  const Impact impact(p);
  const LcpSolutionSet all = enumerate(impact.lcp);
  EXPECT_TRUE(all.complete);
  EXPECT_EQ(all.z.size(), 4u);
  const Points velocities = impact.velocities(all);
  ASSERT_EQ(velocities.size(), 1u);
  EXPECT_LE(velocities[0].norm(), 1e-14);
}

// Two legs of 1 m, each with 1 kg in its middle, 78 degrees from the vertical, mu = 5, turning about the trailing foot
// until the leading one lands: it sticks, and the trailing foot lifts, slides or sticks.
TEST(LcpEnumeration, KnowsTheThreeOutcomesOfTheCompass) {
  const double c = std::cos(78 * M_PI / 180), s = std::sin(78 * M_PI / 180), rate = 0.5;
  ImpactProblem p;
  p.M.resize(4, 4);
  p.M << 2, 0, c / 2, c / 2, 0, 2, -s / 2, s / 2, c / 2, -s / 2, 0.25, 0, c / 2, s / 2, 0, 0.25;
  p.Jn.resize(2, 4);
  p.Jn << 0, 1, -s, 0, 0, 1, 0, s;
  p.Jt.resize(2, 4);
  p.Jt << 1, 0, c, 0, 1, 0, 0, c;
  p.mu = VectorXd::Constant(2, 5);
  p.v = rate * Eigen::Vector4d(-c, -s, 1, 1);
  const Impact impact(p);
  const LcpSolutionSet all = enumerate(impact.lcp);
  EXPECT_TRUE(all.complete);
  EXPECT_EQ(all.z.size(), 8u);
  EXPECT_EQ(brute_force(impact.lcp).z.size(), 8u);
  const Points velocities = impact.velocities(all);
  EXPECT_EQ(velocities.size(), 3u);
  // To the digits of an independent computation.
  const Eigen::Vector4d outcomes[] = {{0, 0, 0, 0},
                                      {0.12849043, -0.60449996, -0.61800485, 0.61800485},
                                      {0.1768585, -0.83205382, -0.85064239, 1.054201}};
  for (const Eigen::Vector4d& v : outcomes)
    EXPECT_TRUE(std::any_of(velocities.begin(), velocities.end(), [&](const VectorXd& x) {
      return (x - v).norm() < 1e-7;
    })) << v.transpose();
}

// ---- Ends ----

TEST(LcpEnumeration, SaysThatTheBudgetIsUsedUp) {
  Random random(6);
  const LcpProblem p = contact_problem(random, 20, 6);
  const LcpSolutionSet all = enumerate(p);
  ASSERT_TRUE(all.complete);
  const LcpSolutionSet some = enumerate(p, {.max_nodes = all.nodes / 2});
  EXPECT_FALSE(some.complete);
  EXPECT_LE(some.nodes, all.nodes / 2 + p.size());  // every level of the search ends at its next node
  for (const VectorXd& z : some.z) EXPECT_TRUE(holds(all.z, z));
  EXPECT_TRUE(enumerate(p, {.max_nodes = all.nodes}).complete);
}

TEST(LcpEnumeration, EndsWithinPivotsAndMemory) {
  Random random(6);
  const LcpProblem p = contact_problem(random, 20, 6);
  const LcpSolutionSet all = enumerate(p);
  ASSERT_TRUE(all.complete);
  const LcpSolutionSet few = enumerate(p, {.max_pivots = all.pivots / 2}),
                       small = enumerate(p, {.max_bytes = all.bytes / 2});
  EXPECT_FALSE(few.complete);
  EXPECT_FALSE(small.complete);
  EXPECT_LT(few.nodes, all.nodes);
  EXPECT_LT(small.nodes, all.nodes);
  EXPECT_TRUE(enumerate(p, {.max_pivots = all.pivots, .max_bytes = all.bytes}).complete);
  long told = 0;
  const LcpSolutionSet stopped = enumerate(p, {.progress = [&](long nodes) { return (told = nodes) < 64; }});
  EXPECT_EQ(told, 64);
  EXPECT_EQ(stopped.nodes, 64);
  EXPECT_FALSE(stopped.complete);
}

// n z that share a load, z_1 + ... + z_n = 1: a simplex of n vertices, of which a view of the sum shows one, a view of
// z_1 all.
TEST(LcpEnumeration, AFaceThatLooksTheSameIsOneSolution) {
  const Eigen::Index n = 12;
  const LcpProblem p{MatrixXd::Ones(n, n), VectorXd::Constant(n, -1)};
  EXPECT_EQ(enumerate(p).z.size(), static_cast<size_t>(n));
  const MatrixXd sum = MatrixXd::Ones(1, n), first = VectorXd::Unit(n, 0).transpose();
  const LcpSolutionSet one = enumerate(p, {.view = &sum}), every = enumerate(p, {.view = &first});
  EXPECT_TRUE(one.complete);
  ASSERT_EQ(one.z.size(), 1u);
  EXPECT_NEAR(one.z[0].sum(), 1, 1e-14);
  EXPECT_EQ(every.z.size(), static_cast<size_t>(n));
  EXPECT_THROW(enumerate({MatrixXd::Identity(2, 2), VectorXd::Ones(2)}, {.view = &sum}), InputError);
}

TEST(LcpEnumeration, RefusesWhatItCannotDo) {
  EXPECT_THROW(enumerate({MatrixXd::Identity(129, 129), VectorXd::Ones(129)}), InputError);
  EXPECT_THROW(enumerate({MatrixXd::Identity(2, 2), VectorXd::Ones(3)}), InputError);
  EXPECT_THROW(enumerate({NAN * MatrixXd::Identity(2, 2), VectorXd::Ones(2)}), InputError);
  EXPECT_THROW(enumerate({MatrixXd::Identity(2, 2), VectorXd::Ones(2)}, {.max_nodes = 0}), InputError);
  EXPECT_THROW(enumerate({MatrixXd::Identity(2, 2), VectorXd::Ones(2)}, {.tolerance = NAN}), InputError);
  EXPECT_THROW(enumerate({MatrixXd::Identity(2, 2), VectorXd::Ones(2)}, {.max_pivots = 0}), InputError);
  EXPECT_THROW(enumerate({MatrixXd::Identity(2, 2), VectorXd::Ones(2)}, {.max_bytes = 0}), InputError);
  EXPECT_EQ(enumerate({MatrixXd(0, 0), VectorXd(0)}).z.size(), 1u);
}

// The same search, and the same bits, every time.
TEST(LcpEnumeration, GivesTheSameBitsTwice) {
  Random random(7);
  const LcpProblem p = contact_problem(random, 20, 8);
  const LcpSolutionSet a = enumerate(p), b = enumerate(p);
  EXPECT_EQ(a.z, b.z);
  EXPECT_EQ(a.nodes, b.nodes);
}

// An increment of a walker with friction 1e5 (examples/impact/ramone.toml): a column of entries near 1e5 hid the one
// of the row that was to become zero, and the search pivoted without a row.
TEST(LcpEnumeration, SmallEntryOfALargeColumn) {
  Eigen::Matrix4d G;  // normals of two contacts, tangents
  G << 1.972146157917376, 0.00010564080605521449, -1.4745298177493669, -0.0092797576976860977,   //
      0.00010564080605521449, 1.7585280382891912, 0.00017499354764574648, -0.14626230762459147,  //
      -1.4745298177493669, 0.00017499354764574648, 1.4366964350995599, -0.013935101457918347,    //
      -0.0092797576976860977, -0.14626230762459147, -0.013935101457918347, 3.4639900947696729;
  Eigen::Matrix<double, 4, 6> D = Eigen::Matrix<double, 4, 6>::Zero();  // normals, tangents to and fro
  D(0, 0) = D(1, 1) = D(2, 2) = D(3, 4) = 1;
  D(2, 3) = D(3, 5) = -1;
  Eigen::MatrixXd M = Eigen::MatrixXd::Zero(10, 10);
  M.block(2, 2, 6, 6) = D.transpose() * G * D;
  M(0, 2) = M(1, 3) = -1;
  M(2, 0) = M(3, 1) = 1;
  for (int i = 0; i < 2; ++i) {
    M.block(4 + 2 * i, 8 + i, 2, 1).setOnes();
    M(8 + i, 2 + i) = 1;
    M.block(8 + i, 4 + 2 * i, 1, 2).setConstant(-1.0000000000000001e-05);
  }
  Eigen::VectorXd q(10);
  q << 2.3872011221809166, 0, -0.44735188946465315, 5.2689855455077296e-05, 7.8875708048320448e-17,
      -7.8875708048320448e-17, -0.0043560214135956359, 0.0043560214135956359, 0, 0;
  const LcpSolutionSet all = enumerate_lcp_solutions(M, q);
  EXPECT_TRUE(all.complete);
  ASSERT_FALSE(all.z.empty());
  for (const Eigen::VectorXd& z : all.z) {
    double scale = 0;
    const double residual = lcp_residual(M, q, z, scale);
    EXPECT_LE(residual, 1e-10 * scale);
  }
}

}  // namespace
}  // namespace scree
