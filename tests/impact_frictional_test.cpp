// Inelastic impacts with friction: the figures of the dissertation's examples, and what every solution has to satisfy.
#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <Eigen/QR>
#include <cmath>
#include <random>

#include "scree/error.h"
#include "scree/impact.h"
#include "support/impact_problems.h"

namespace scree {
namespace {

using Eigen::MatrixXd;
using Eigen::Vector2d;
using Eigen::Vector3d;
using Eigen::VectorXd;

ImpactOptions law(ImpactLaw law, std::vector<int> order = {}) {
  ImpactOptions options;
  options.law = law;
  options.order = std::move(order);
  return options;
}
VectorXd normals(const ImpactProblem& p, const ImpactResult& r) { return p.Jn * r.v; }
VectorXd tangents(const ImpactProblem& p, const ImpactResult& r) { return p.Jt * r.v; }
VectorXd vector(std::initializer_list<double> values) {
  VectorXd v(static_cast<long>(values.size()));
  std::copy(values.begin(), values.end(), v.data());
  return v;
}
double ratio(const ImpactResult& r) { return r.energy_after / r.energy_before; }

// The references print six to eight digits after the point.
#define EXPECT_VECTOR(a, b, tolerance) EXPECT_LE(((a) - (b)).lpNorm<Eigen::Infinity>(), tolerance) << (a).transpose()
constexpr double kDigits = 0.6e-6, kMoreDigits = 0.6e-8;

// The outcome whose velocity is nearest to `v`.
const ImpactResult& nearest(const ImpactOutcomes& all, const VectorXd& v) {
  const ImpactResult* best = &all.outcomes.front();
  for (const ImpactResult& r : all.outcomes)
    if ((r.v - v).norm() < (best->v - v).norm()) best = &r;
  return *best;
}
const ImpactResult& with_normals(const ImpactProblem& p, const ImpactOutcomes& all, const VectorXd& vn,
                                 const VectorXd& vt) {
  const ImpactResult* best = nullptr;
  double least = 1e300;
  for (const ImpactResult& r : all.outcomes) {
    const double distance = (normals(p, r) - vn).norm() + (tangents(p, r) - vt).norm();
    if (distance < least) least = distance, best = &r;
  }
  return *best;
}

// What an impact law promises, from the result alone: M (v+ - v) = J^T impulses, no approach, cones, energy.
void expect_impact(const ImpactProblem& p, const ImpactResult& r, const std::string& what) {
  ASSERT_EQ(r.status, ImpactStatus::resolved) << what << ": " << r.note;
  const double speed = std::sqrt(2 * r.energy_before), size = (p.M * p.v).lpNorm<Eigen::Infinity>();
  VectorXd momentum = p.M * (r.v - p.v) - p.Jn.transpose() * r.normal_impulse;
  if (p.Jt.rows() > 0) momentum -= p.Jt.transpose() * r.tangential_impulse;
  const double impulse = r.normal_impulse.norm() + r.tangential_impulse.norm();
  EXPECT_LE(momentum.lpNorm<Eigen::Infinity>(), 1e-12 * (size + impulse * (p.Jn.norm() + p.Jt.norm()))) << what;
  const MatrixXd solved = p.M.llt().solve(p.Jn.transpose());
  for (int i = 0; i < p.contacts(); ++i) {
    const double row = std::sqrt(p.Jn.row(i).dot(solved.col(i)));
    EXPECT_GE(p.Jn.row(i).dot(r.v), -1.1e-10 * row * speed) << what << ", contact " << i;
    EXPECT_GE(r.normal_impulse(i), 0) << what << ", contact " << i;
    const int t = p.mu.size() > 0 ? p.tangents() : 0;
    if (t > 0) {
      EXPECT_LE(r.tangential_impulse.segment(t * i, t).norm(),
                p.mu(i) * r.normal_impulse(i) * (1 + 1e-9) + 1e-12 * impulse)
          << what << ", contact " << i;
    }
  }
  EXPECT_LE(r.energy_after, r.energy_before * (1 + 1e-12)) << what;
}

// Contact by contact: open without impulse, or closed with an impulse; slip only against all of friction.   (14.2)
void expect_complementary(const ImpactProblem& p, const ImpactResult& r, const std::string& what) {
  const VectorXd vn = normals(p, r);
  const double speed = p.v.norm() * std::max(p.Jn.norm(), p.Jt.norm()), impulse = r.normal_impulse.norm();
  for (int i = 0; i < p.contacts(); ++i) {
    EXPECT_LE(std::min(vn(i) / speed, r.normal_impulse(i) / impulse), 1e-9) << what << ", contact " << i;
    if (p.tangents() != 1 || p.mu.size() == 0) continue;
    const double vt = p.Jt.row(i).dot(r.v), lt = r.tangential_impulse(i), most = p.mu(i) * r.normal_impulse(i);
    if (std::abs(vt) > 1e-9 * speed) {
      EXPECT_NEAR(lt, vt > 0 ? -most : most, 1e-9 * (impulse + most)) << what << ", contact " << i;
    }
  }
}

// Second algorithm for all solutions in the plane: every contact opens, sticks, or slides left or right; 4^m linear
// systems. Velocities only.
std::vector<VectorXd> velocities_by_modes(const ImpactProblem& p) {
  const int m = p.contacts(), d = p.dofs();
  const MatrixXd solved_n = p.M.llt().solve(p.Jn.transpose()), solved_t = p.M.llt().solve(p.Jt.transpose());
  const double speed = p.v.norm() * std::max(p.Jn.norm(), p.Jt.norm());
  std::vector<VectorXd> found;
  for (int code = 0; code < 1 << (2 * m); ++code) {
    // Unknown impulses as columns (velocity they cause), conditions as rows.
    std::vector<VectorXd> columns, rows;
    std::vector<int> owner;
    for (int i = 0; i < m; ++i) {
      const int mode = code >> (2 * i) & 3;  // 0 open, 1 stick, 2 slides right, 3 left
      if (mode == 0) continue;
      rows.push_back(p.Jn.row(i));
      owner.push_back(i);
      if (mode == 1) {
        columns.push_back(solved_n.col(i));
        columns.push_back(solved_t.col(i));
        rows.push_back(p.Jt.row(i));
        owner.push_back(i);
      } else {
        columns.push_back(solved_n.col(i) + (mode == 2 ? -1 : 1) * p.mu(i) * solved_t.col(i));
      }
    }
    const long n = static_cast<long>(columns.size());
    MatrixXd A(rows.size(), n);
    VectorXd b(rows.size());
    for (long i = 0; i < A.rows(); ++i) {
      for (long j = 0; j < n; ++j) A(i, j) = rows[size_t(i)].dot(columns[size_t(j)]);
      b(i) = -rows[size_t(i)].dot(p.v);
    }
    VectorXd x = VectorXd::Zero(n);
    if (n > 0) {
      const Eigen::ColPivHouseholderQR<MatrixXd> qr(A);
      if (qr.rank() < n) continue;  // the random problems here have no such modes among their solutions
      x = qr.solve(b);
    }
    VectorXd v = p.v;
    for (long j = 0; j < n; ++j) v += x(j) * columns[size_t(j)];
    bool good = v.size() == d;
    for (int i = 0, j = 0; i < m; ++i) {
      const int mode = code >> (2 * i) & 3;
      const double vn = p.Jn.row(i).dot(v), vt = p.Jt.row(i).dot(v);
      good = good && vn >= -1e-10 * speed;
      if (mode == 0) continue;
      const double impulse = x(j++);
      good = good && impulse >= -1e-12 * x.norm();
      if (mode == 1) good = good && std::abs(x(j++)) <= p.mu(i) * impulse + 1e-12 * x.norm();
      if (mode == 2) good = good && vt >= -1e-10 * speed;
      if (mode == 3) good = good && vt <= 1e-10 * speed;
    }
    if (!good) continue;
    bool known = false;
    for (const VectorXd& other : found) known = known || (other - v).norm() <= 1e-7 * p.v.norm();
    if (!known) found.push_back(v);
  }
  return found;
}

struct Draw {
  std::mt19937_64 random;
  explicit Draw(unsigned seed) : random(seed) {}
  double normal() { return std::normal_distribution<double>()(random); }
  double uniform(double a, double b) { return std::uniform_real_distribution<double>(a, b)(random); }
  MatrixXd matrix(int rows, int columns) {
    MatrixXd A(rows, columns);
    for (double& x : A.reshaped()) x = normal();
    return A;
  }
  ImpactProblem problem(int dofs, int contacts, int t, double largest_mu = 2) {
    ImpactProblem p;
    const MatrixXd A = matrix(dofs, dofs + 2);
    p.M = A * A.transpose();
    p.M = 0.5 * (p.M + p.M.transpose()).eval();
    p.Jn = matrix(contacts, dofs);
    p.Jt = matrix(t * contacts, dofs);
    if (t > 0) {
      p.mu.resize(contacts);
      for (double& mu : p.mu) mu = uniform(0, largest_mu);
    }
    do p.v = matrix(dofs, 1);
    while ((p.Jn * p.v).minCoeff() > -0.1);
    return p;
  }
};

// --- the examples: matrices as printed ---

TEST(ImpactExamples, MatricesAreThoseOfTheReference) {
  const ImpactProblem robot = test::ramone();
  EXPECT_VECTOR(robot.M.row(2).tail(5), vector({0.298863, 0.0861471, 0.0408732, 0.0581319, 0.0304329}).transpose(),
                6e-7);
  EXPECT_VECTOR(robot.M.row(1).tail(5), vector({0.041301, -0.164761, -0.0698629, 0.107494, -0.00951983}).transpose(),
                6e-7);
  EXPECT_NEAR(robot.M(0, 0), 10.5, 1e-12);
  EXPECT_VECTOR(robot.Jn.row(1).tail(5), vector({0.210518, 0, 0, 0.172570, -0.0269429}).transpose(), 6e-7);
  EXPECT_VECTOR(robot.Jt.row(0).tail(5), vector({0.411416, 0.279075, 0.161518, 0, 0}).transpose(), 6e-7);
  EXPECT_VECTOR(robot.v.head(3), vector({-0.4114163, -0.2105182, 1}), 6e-8);
  const ImpactProblem walker = test::compass(1);
  EXPECT_VECTOR(walker.M.row(2), vector({0.103956, -0.489074, 0.25, 0}).transpose(), kDigits);
  EXPECT_VECTOR(walker.v, vector({-0.207912, -0.978148, 1, 1}), kDigits);
}

// --- Anitescu and Potra: all solutions ---

TEST(AnitescuPotra, BlockComesToRest) {
  for (const ImpactProblem& p : {test::block_of_code(), test::block_of_table()}) {
    const ImpactOutcomes all = all_impact_outcomes(p, law(ImpactLaw::anitescu_potra));
    ASSERT_EQ(all.outcomes.size(), 1u);
    EXPECT_TRUE(all.complete);
    EXPECT_FALSE(all.continuum);
    EXPECT_LE(all.outcomes[0].v.norm(), 1e-14);
    const double each = -p.M(1, 1) * p.v(1) / 2;  // 0.221472; 0.0133095 (the reference: 0.013307, from 0.14007 m/s)
    EXPECT_VECTOR(all.outcomes[0].normal_impulse, Vector2d(each, each), 1e-14);
  }
  EXPECT_NEAR(-test::block_of_code().v(1) / 2, 0.221472, kDigits);
}

TEST(AnitescuPotra, CompassHasThreeOutcomes) {
  for (const double rate : {0.25, 0.5}) {
    const double scale = rate / 0.25;
    const ImpactProblem p = test::compass(rate);
    const ImpactOutcomes all = all_impact_outcomes(p, law(ImpactLaw::anitescu_potra));
    ASSERT_EQ(all.outcomes.size(), 3u);
    EXPECT_TRUE(all.complete);
    EXPECT_FALSE(all.continuum);
    const ImpactResult& lifts = with_normals(p, all, scale * Vector2d(0, 0.099555), scale * Vector2d(0, 0.198020));
    EXPECT_VECTOR(normals(p, lifts), scale * Vector2d(0, 0.099555), scale * kDigits);
    EXPECT_VECTOR(tangents(p, lifts), scale * Vector2d(0, 0.198020), scale * kDigits);
    EXPECT_VECTOR(lifts.normal_impulse, scale * Vector2d(0.122824, 0), scale * kDigits);
    EXPECT_VECTOR(lifts.tangential_impulse, scale * Vector2d(0.239417, 0), scale * kDigits);
    EXPECT_VECTOR(lifts.v, scale / 2 * vector({0.1768585, -0.83205382, -0.85064239, 1.054201}), scale * kDigits / 10);
    EXPECT_NEAR(ratio(lifts), 0.6017793, kDigits / 10);
    const ImpactResult& rest = with_normals(p, all, Vector2d(0, 0), Vector2d(0, 0));
    EXPECT_LE(rest.v.norm(), 1e-13);
    EXPECT_VECTOR(rest.normal_impulse, scale * Vector2d(0.308433, 0.180641), scale * kDigits);
    EXPECT_VECTOR(rest.tangential_impulse, scale * Vector2d(0.601217, -0.549239), scale * kDigits);
    const ImpactResult& slides = with_normals(p, all, Vector2d(0, 0), scale * Vector2d(0, 0.128490));
    EXPECT_VECTOR(tangents(p, slides), scale * Vector2d(0, 0.128490), scale * kDigits);
    EXPECT_VECTOR(slides.normal_impulse, scale * Vector2d(0.164136, 0.022688), scale * kDigits);
    EXPECT_VECTOR(slides.tangential_impulse, scale * Vector2d(0.293907, -0.113439), scale * kDigits);
    EXPECT_VECTOR(slides.v, scale / 2 * vector({0.12849043, -0.60449996, -0.61800485, 0.61800485}),
                  scale * kMoreDigits);
    EXPECT_NEAR(ratio(slides), 0.37121253, kMoreDigits);
  }
}

TEST(AnitescuPotra, BoxAtTheWallComesToRest) {
  const ImpactProblem p = test::boxwall();
  const ImpactOutcomes all = all_impact_outcomes(p, law(ImpactLaw::anitescu_potra));
  ASSERT_EQ(all.outcomes.size(), 1u);
  EXPECT_FALSE(all.continuum);
  EXPECT_LE(all.outcomes[0].v.norm(), 1e-13);
  // Impulses that stop it form a line; the reference prints another point of it than Lemke's algorithm finds.
  const Vector2d n(0.714074, 0.714074), t(-0.285926, 0.714074);
  EXPECT_VECTOR(p.M * p.v + p.Jn.transpose() * n + p.Jt.transpose() * t, VectorXd::Zero(3), 2 * kDigits);
}

TEST(AnitescuPotra, RamoneHasThreeOutcomes) {
  const ImpactProblem p = test::ramone();
  const ImpactOutcomes all = all_impact_outcomes(p, law(ImpactLaw::anitescu_potra));
  ASSERT_EQ(all.outcomes.size(), 3u);
  EXPECT_FALSE(all.continuum);
  const ImpactResult& lifts =
      nearest(all, vector({-0.321521, -0.126939, 2.488519, -3.770430, 2.166543, -2.342893, -0.285922}));
  EXPECT_VECTOR(lifts.v, vector({-0.321521, -0.126939, 2.488519, -3.770430, 2.166543, -2.342893, -0.285922}), kDigits);
  EXPECT_VECTOR(normals(p, lifts), Vector2d(0, 0.000331), kDigits);
  EXPECT_VECTOR(tangents(p, lifts), Vector2d(0, -0.027350), kDigits);
  EXPECT_VECTOR(lifts.normal_impulse, Vector2d(1.159796, 0), kDigits);
  EXPECT_VECTOR(lifts.tangential_impulse, Vector2d(1.190337, 0), kDigits);
  EXPECT_NEAR(lifts.energy_before, 1.035049, kDigits);
  EXPECT_NEAR(lifts.energy_after, 0.726486, kDigits);
  const ImpactResult& rest = with_normals(p, all, Vector2d(0, 0), Vector2d(0, 0));
  EXPECT_VECTOR(rest.normal_impulse, Vector2d(1.160202, 0.000470), kDigits);
  EXPECT_VECTOR(rest.tangential_impulse, Vector2d(1.190831, 0.007918), kDigits);
  EXPECT_NEAR(rest.energy_after, 0.726378, kDigits);
  const ImpactResult& slides = with_normals(p, all, Vector2d(0, 0), Vector2d(0, -0.019516));
  EXPECT_NEAR(tangents(p, slides)(1), -0.019516, kDigits);
  EXPECT_NEAR(slides.energy_after, 0.726433, kDigits);
}

TEST(AnitescuPotra, RamoneWithTheOtherShankHasOne) {
  const ImpactProblem p = test::ramone(0.073265);
  const ImpactOutcomes all = all_impact_outcomes(p, law(ImpactLaw::anitescu_potra));
  ASSERT_EQ(all.outcomes.size(), 1u);
  EXPECT_VECTOR(normals(p, all.outcomes[0]), Vector2d(0, 0.003740), kDigits);
  EXPECT_VECTOR(tangents(p, all.outcomes[0]), Vector2d(0, -0.021003), kDigits);
  EXPECT_NEAR(all.outcomes[0].energy_before, 1.027595, kDigits);
  EXPECT_NEAR(all.outcomes[0].energy_after, 0.719909, kDigits);
}

TEST(AnitescuPotra, StackOfDisksComesToRest) {
  const ImpactProblem p = test::disks();
  const ImpactOutcomes all = all_impact_outcomes(p, law(ImpactLaw::anitescu_potra));
  ASSERT_EQ(all.outcomes.size(), 1u);
  EXPECT_TRUE(all.complete);
  EXPECT_LE(all.outcomes[0].v.norm(), 1e-13);
  EXPECT_VECTOR(all.outcomes[0].normal_impulse, vector({0.5, 0.5, 0.5, 0.5, 0}), 1e-12);
  EXPECT_VECTOR(all.outcomes[0].tangential_impulse.cwiseAbs(), vector({0.133975, 0.133975, 0.133975, 0.133975, 0}),
                kDigits);
}

// --- one contact at a time ---

TEST(Sequential, BlockRocks) {
  const ImpactProblem code = test::block_of_code(), table = test::block_of_table();
  const ImpactResult first = resolve_impact(code, law(ImpactLaw::sequential, {0, 1}));
  EXPECT_VECTOR(first.v, vector({0.093018385, 0.046509193, -0.093018385}), 0.6e-9);
  EXPECT_VECTOR(normals(code, first), Vector2d(0.093018, 0), kDigits);
  ASSERT_EQ(first.path.size(), 3u);
  EXPECT_NEAR(0.5 * first.path[1].dot(code.M * first.path[1]), 0.014715, kDigits);
  EXPECT_NEAR(first.energy_before, 0.098100, kDigits);
  EXPECT_NEAR(first.energy_after, 0.007210, kDigits);

  const ImpactResult a = resolve_impact(table, law(ImpactLaw::sequential, {0, 1}));
  ASSERT_EQ(a.steps, 2);
  EXPECT_VECTOR(a.path[1], vector({0.040035552, -0.018517749, -0.49752146}), kMoreDigits);
  EXPECT_NEAR(0.5 * a.path[1].dot(table.M * a.path[1]) / a.energy_before, 0.13217522, kMoreDigits);
  EXPECT_VECTOR(a.v, vector({0.029452136, 0.013622574, -0.36600144}), kMoreDigits);
  EXPECT_VECTOR(normals(table, a), Vector2d(0.027245147, 0), 0.6e-9);
  EXPECT_NEAR(ratio(a), 0.071530623, 0.6e-9);
  const ImpactResult b = resolve_impact(table, law(ImpactLaw::sequential, {1, 0}));
  EXPECT_VECTOR(b.v, vector({-a.v(0), a.v(1), -a.v(2)}), 1e-14);
  EXPECT_EQ(all_impact_outcomes(table, law(ImpactLaw::sequential)).outcomes.size(), 2u);
}

TEST(Sequential, WalkersLiftTheTrailingFoot) {
  for (const ImpactProblem& p : {test::compass(0.25), test::ramone(), test::ramone(0.073265)}) {
    const ImpactOutcomes all = all_impact_outcomes(p, law(ImpactLaw::sequential));
    ASSERT_EQ(all.outcomes.size(), 1u);
    EXPECT_EQ(all.outcomes[0].steps, 1);
    EXPECT_GT(normals(p, all.outcomes[0])(1), 1e-4);
    // It is one of the simultaneous ones.
    const ImpactOutcomes simultaneous = all_impact_outcomes(p, law(ImpactLaw::anitescu_potra));
    EXPECT_LE((nearest(simultaneous, all.outcomes[0].v).v - all.outcomes[0].v).norm(), 1e-12);
  }
}

TEST(Sequential, BoxAtTheWallSlidesOn) {
  const ImpactProblem p = test::boxwall();
  for (const std::vector<int>& order : {std::vector{0, 1}, {1, 0}}) {
    const ImpactResult r = resolve_impact(p, law(ImpactLaw::sequential, order));
    ASSERT_EQ(r.steps, 2);  // the floor does not approach at first
    EXPECT_VECTOR(r.path[1], vector({0.24674245, -0.35238473, 0.60836968}), kMoreDigits);
    EXPECT_VECTOR(p.Jn * r.path[1], Vector2d(-0.105642, 0), kDigits);
    EXPECT_VECTOR(p.Jt * r.path[1], Vector2d(0.599127, 0), kDigits);
    EXPECT_VECTOR(r.v, vector({0.063790174, -0.16943246, 0.41775371}), kMoreDigits);
    EXPECT_VECTOR(normals(p, r), Vector2d(0, 0.10564229), kMoreDigits);
    EXPECT_VECTOR(tangents(p, r), Vector2d(0.30576481, -0.07254217), kMoreDigits);
    EXPECT_NEAR(ratio(r), 0.061862906, 0.6e-9);
  }
}

TEST(Sequential, StackOfDisksTakesMoreThanTenStages) {
  const ImpactProblem p = test::disks();
  ImpactOptions options = law(ImpactLaw::sequential);
  const ImpactResult whole = resolve_impact(p, options);
  expect_impact(p, whole, "disks");
  EXPECT_GT(whole.steps, 10);
  options.max_steps = 10;
  const ImpactResult cut = resolve_impact(p, options);
  EXPECT_EQ(cut.status, ImpactStatus::budget);
  EXPECT_EQ(cut.steps, 10);
  EXPECT_GT(cut.approach, 1e-6);
  // Orders that begin left and right are mirror images.
  const ImpactOutcomes all = all_impact_outcomes(p, law(ImpactLaw::sequential));
  EXPECT_TRUE(all.complete);
  ASSERT_EQ(all.outcomes.size(), 2u);
  EXPECT_NEAR(all.outcomes[0].v(0), -all.outcomes[1].v(0), 1e-9);
  EXPECT_NEAR(all.outcomes[0].v(1), all.outcomes[1].v(1), 1e-9);
}

TEST(Sequential, EveryOrderIsAmongAllOutcomes) {
  Draw draw(21);
  for (int k = 0; k < 30; ++k) {
    const ImpactProblem p = draw.problem(8, 3, 1, 0.8);
    const ImpactOutcomes all = all_impact_outcomes(p, law(ImpactLaw::sequential));
    for (const std::vector<int>& order : {std::vector{0, 1, 2}, {2, 0, 1}, {1, 0, 2}}) {
      const ImpactResult r = resolve_impact(p, law(ImpactLaw::sequential, order));
      EXPECT_LE((nearest(all, r.v).v - r.v).norm(), 1e-7 * p.v.norm()) << k;
    }
  }
}

// --- properties ---

TEST(FrictionalImpacts, RandomProblemsHaveOutcomesThatLoseEnergy) {
  Draw draw(1);
  for (int k = 0; k < 600; ++k) {
    const int m = 1 + k % 4, t = k % 3;
    const ImpactProblem p = draw.problem(3 + k % 6, m, t, k % 10 == 0 ? 1e3 : 2);
    const std::string what = "problem " + std::to_string(k);
    const ImpactResult r = resolve_impact(p, law(ImpactLaw::anitescu_potra));
    expect_impact(p, r, what);
    expect_complementary(p, r, what);
    const ImpactResult s = resolve_impact(p, law(ImpactLaw::sequential));
    // Nothing guarantees that a sequence ends; where bodies are jammed it does not.
    if (s.status == ImpactStatus::resolved) expect_impact(p, s, what + ", sequential");
    EXPECT_LE(s.energy_after, s.energy_before * (1 + 1e-12)) << what;
  }
}

TEST(FrictionalImpacts, AreHomogeneous) {
  Draw draw(2);
  for (int k = 0; k < 60; ++k)
    for (const ImpactLaw l : {ImpactLaw::anitescu_potra, ImpactLaw::sequential}) {
      ImpactProblem p = draw.problem(6, 1 + k % 3, 1 + k % 2, 1);
      ImpactOptions options = law(l);
      options.max_steps = 1000;
      const ImpactResult one = resolve_impact(p, options);
      p.v *= 4;  // exact: so is everything that follows
      const ImpactResult four = resolve_impact(p, options);
      EXPECT_EQ(one.status, four.status);
      EXPECT_LE((four.v - 4 * one.v).norm(), 1e-12 * p.v.norm());
      EXPECT_LE((four.normal_impulse - 4 * one.normal_impulse).norm(), 1e-12 * four.normal_impulse.norm());
    }
}

TEST(AnitescuPotra, FindsAllSolutionsThatModesHave) {
  Draw draw(4);
  int several = 0, total = 0;
  for (int k = 0; k < 400; ++k) {
    const int m = 1 + k % 3;
    const ImpactProblem p = draw.problem(2 * m + 1, m, 1, 4);
    const ImpactOutcomes all = all_impact_outcomes(p, law(ImpactLaw::anitescu_potra));
    const std::vector<VectorXd> expected = velocities_by_modes(p);
    EXPECT_EQ(all.outcomes.size(), expected.size()) << k;
    EXPECT_TRUE(all.complete);
    for (const VectorXd& v : expected) EXPECT_LE((nearest(all, v).v - v).norm(), 1e-8 * p.v.norm()) << k;
    for (const ImpactResult& r : all.outcomes) {
      expect_impact(p, r, std::to_string(k));
      expect_complementary(p, r, std::to_string(k));
    }
    several += all.outcomes.size() > 1;
    ++total;
  }
  EXPECT_GT(several, 10) << "of " << total;
}

// A single planar contact: with the velocity after, friction is Coulomb's. Slip that would reverse sticks.
TEST(AnitescuPotra, SingleContactInClosedForm) {
  Draw draw(14);
  for (int k = 0; k < 200; ++k) {
    const ImpactProblem p = draw.problem(3, 1, 1, 1.5);
    const ImpactResult r = resolve_impact(p, law(ImpactLaw::anitescu_potra));
    const MatrixXd solved = p.M.llt().solve(p.Jn.transpose());
    const VectorXd jt = p.M.llt().solve(p.Jt.transpose());
    const double a = p.Jn.row(0).dot(solved.col(0)), b = p.Jt.row(0).dot(solved.col(0)), c = p.Jt.row(0).dot(jt);
    const double un = p.Jn.row(0).dot(p.v), ut = p.Jt.row(0).dot(p.v), mu = p.mu(0);
    const double det = a * c - b * b;
    Vector2d expected(-(c * un - b * ut) / det, -(a * ut - b * un) / det);  // sticks
    if (!(expected(0) >= 0 && std::abs(expected(1)) <= mu * expected(0)))
      for (const double s : {-mu, mu}) {
        const double n = -un / (a + s * b);
        const double slip = ut + (b + s * c) * n;
        if (n > 0 && slip * s < 0) expected << n, s * n;
      }
    EXPECT_NEAR(r.normal_impulse(0), expected(0), 1e-10 * expected.norm()) << k;
    EXPECT_NEAR(r.tangential_impulse(0), expected(1), 1e-10 * expected.norm()) << k;
  }
}

// In space: with many directions the answers of a polygon approach each other, whatever its first direction.
TEST(AnitescuPotra, PolygonsApproachTheCone) {
  Draw draw(15);
  double coarse = 0, fine = 0;
  for (int k = 0; k < 40; ++k) {
    const ImpactProblem p = draw.problem(6, 1, 2, 0.7);
    ImpactOptions options = law(ImpactLaw::anitescu_potra);
    options.friction_directions = 64;
    const VectorXd exact = resolve_impact(p, options).v;
    options.friction_directions = 8;
    coarse += (resolve_impact(p, options).v - exact).norm() / p.v.norm();
    options.friction_directions = 32;
    fine += (resolve_impact(p, options).v - exact).norm() / p.v.norm();
  }
  EXPECT_GT(coarse, 0);
  EXPECT_LE(fine, coarse / 2);  // first order in the angle between directions would be 4
}

TEST(AnitescuPotra, LargeProblemsAreSearchedInPart) {
  Draw draw(16);
  const ImpactProblem p = draw.problem(60, 40, 1, 1);  // 160 unknowns
  const ImpactOutcomes all = all_impact_outcomes(p, law(ImpactLaw::anitescu_potra));
  EXPECT_FALSE(all.complete);
  ASSERT_GE(all.outcomes.size(), 1u);
  for (const ImpactResult& r : all.outcomes) {
    expect_impact(p, r, "large");
    expect_complementary(p, r, "large");
  }
}

// A box lands flat on four corners: impulses form faces of 40 unknowns with more vertices than memory holds, velocities
// are one. Found, and found complete.
ImpactProblem flat_box(double mass = 1) {
  const Vector3d half(0.2, 0.15, 0.1);
  ImpactProblem p;
  p.M = MatrixXd::Identity(6, 6) * mass;
  p.M.bottomRightCorner<3, 3>() =
      Vector3d(half.y() * half.y() + half.z() * half.z(), half.x() * half.x() + half.z() * half.z(),
               half.x() * half.x() + half.y() * half.y())
          .asDiagonal() *
      (mass / 3);
  p.Jn.resize(4, 6);
  p.Jt.resize(8, 6);
  for (int k = 0; k < 4; ++k) {
    const Vector3d r(k % 2 ? half.x() : -half.x(), k / 2 ? half.y() : -half.y(), -half.z());
    const auto row = [&](const Vector3d& e) -> Eigen::RowVectorXd {
      Eigen::RowVectorXd velocity(6);
      velocity << e.transpose(), r.cross(e).transpose();
      return velocity;
    };
    p.Jn.row(k) = row(Vector3d::UnitZ());
    p.Jt.row(2 * k) = row(Vector3d::UnitX());
    p.Jt.row(2 * k + 1) = row(Vector3d::UnitY());
  }
  p.mu = VectorXd::Constant(4, 0.874);
  p.v.resize(6);
  p.v << 0.3, 0.1, -1, 0.2, -0.3, 0.5;
  return p;
}

TEST(AnitescuPotra, AFlatBoxEndsAndIsSearchedCompletely) {
  for (const double mass : {1.0, 1e-12}) {
    const ImpactProblem p = flat_box(mass);
    ImpactOptions options = law(ImpactLaw::anitescu_potra);
    options.friction_directions = 8;
    const ImpactOutcomes all = all_impact_outcomes(p, options);
    EXPECT_TRUE(all.complete);
    EXPECT_FALSE(all.continuum);
    ASSERT_EQ(all.outcomes.size(), 1u);
    expect_impact(p, all.outcomes[0], "flat box");
    expect_complementary(p, all.outcomes[0], "flat box");
  }
}

// The same with the default polygons, 72 unknowns: the search ends within its default budget and says that it is not
// complete; where contacts differ in friction few faces are left, and it is.
TEST(AnitescuPotra, AFlatBoxEndsWithTheDefaultPolygonsToo) {
  ImpactProblem p = flat_box();
  const ImpactOptions options = law(ImpactLaw::anitescu_potra);
  ASSERT_EQ(options.friction_directions, 16);
  const ImpactOutcomes all = all_impact_outcomes(p, options);
  EXPECT_FALSE(all.complete);
  EXPECT_EQ(all.nodes, ImpactSearch{}.max_nodes + 1);
  ASSERT_GE(all.outcomes.size(), 1u);
  for (const ImpactResult& r : all.outcomes) {
    expect_impact(p, r, "flat box");
    expect_complementary(p, r, "flat box");
  }
  p.mu << 0.2, 0.3, 0.4, 0.5;
  p.v << 3, 1, -1, 0, 0, 0.5;
  const ImpactOutcomes few = all_impact_outcomes(p, options);
  EXPECT_TRUE(few.complete);
  EXPECT_LE(few.nodes, 10'000);  // 565 were needed
  for (const ImpactResult& r : few.outcomes) expect_complementary(p, r, "unequal friction");
}

// Contacts whose friction differs share the load as they like. Searched completely within some 200 nodes, in part with
// 100.
TEST(AnitescuPotra, ASearchEndsWithItsBudget) {
  ImpactProblem p = flat_box();
  p.mu << 0.2, 0.3, 0.4, 0.5;
  p.v << 3, 1, -1, 0, 0, 0.5;
  ImpactOptions options = law(ImpactLaw::anitescu_potra);
  options.friction_directions = 8;  // 40 unknowns
  long calls = 0, last = 0;
  ImpactSearch search{.max_nodes = 100};
  search.progress = [&](long done, long most) {
    ++calls;
    last = done;
    EXPECT_EQ(most, 100);
    return true;
  };
  const ImpactOutcomes all = all_impact_outcomes(p, options, search);
  EXPECT_FALSE(all.complete);
  EXPECT_EQ(all.nodes, 101);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(last, 64);
  EXPECT_TRUE(all_impact_outcomes(p, options).complete);
  ASSERT_GE(all.outcomes.size(), 1u);
  for (const ImpactResult& r : all.outcomes) expect_complementary(p, r, "some of them");
  EXPECT_THROW(all_impact_outcomes(p, options, {.max_nodes = 0}), InputError);
}

// A light disk between the ground and a heavy one takes stage after stage: the budget ends it, or who watches.
TEST(Sequential, ALightDiskEndsWithItsBudgetOrWhenTold) {
  ImpactProblem p;  // x, y, spin of both; the heavy one above, 30 degrees to the side
  const double light = 1e-12, r = 0.1;
  p.M = (VectorXd(6) << light, light, light * r * r / 2, 1, 1, r * r / 2).finished().asDiagonal();
  const double s = 0.5, c = std::sqrt(0.75);
  p.Jn.resize(2, 6);
  p.Jn << 0, 1, 0, 0, 0, 0, -s, -c, 0, s, c, 0;
  p.Jt.resize(2, 6);
  p.Jt << 1, 0, r, 0, 0, 0, -c, s, r, c, -s, r;
  p.mu = VectorXd::Constant(2, 0.5);
  p.v.resize(6);
  p.v << 0, 0, 0, -0.3, -1, 0;
  ImpactOptions options = law(ImpactLaw::sequential);
  options.max_steps = 20'000;
  const ImpactOutcomes all = all_impact_outcomes(p, options);
  EXPECT_FALSE(all.complete);
  for (const ImpactResult& result : all.outcomes) {
    EXPECT_EQ(result.status, ImpactStatus::budget);
    EXPECT_LE(result.steps, 10'000);
  }
  options.max_steps = 1'000'000'000;
  long told = 0;
  ImpactSearch search;
  search.progress = [&](long done, long) {
    told = done;
    return false;
  };
  const ImpactOutcomes stopped = all_impact_outcomes(p, options, search);
  EXPECT_FALSE(stopped.complete);
  EXPECT_EQ(stopped.outcomes.size(), 1u);
  EXPECT_LE(told, 5000);
}

// Two equal contacts of a mass point share the impulse in all ways: one velocity.
TEST(AnitescuPotra, SharedImpulsesAreOneOutcome) {
  ImpactProblem p;
  p.M.setIdentity(2, 2);
  p.Jn.resize(2, 2);
  p.Jn << 0, 1, 0, 1;
  p.Jt.resize(2, 2);
  p.Jt << 1, 0, 1, 0;
  p.mu = Vector2d(0.3, 0.3);
  p.v = Vector2d(1, -1);
  const ImpactOutcomes all = all_impact_outcomes(p, law(ImpactLaw::anitescu_potra));
  ASSERT_EQ(all.outcomes.size(), 1u);
  EXPECT_FALSE(all.continuum);
  EXPECT_VECTOR(all.outcomes[0].v, Vector2d(0.7, 0), 1e-13);
}

// Two equal contacts with different friction share the load as they like: any friction between 0.2 and 0.6 slows it.
TEST(AnitescuPotra, ContinuumOfVelocitiesIsReported) {
  ImpactProblem p;
  p.M.setIdentity(2, 2);
  p.Jn.resize(2, 2);
  p.Jn << 0, 1, 0, 1;
  p.Jt.resize(2, 2);
  p.Jt << 1, 0, 1, 0;
  p.mu = Vector2d(0.2, 0.6);
  p.v = Vector2d(1, -1);
  const ImpactOutcomes all = all_impact_outcomes(p, law(ImpactLaw::anitescu_potra));
  EXPECT_TRUE(all.continuum);
  ASSERT_EQ(all.outcomes.size(), 2u);
  EXPECT_LE((nearest(all, Vector2d(0.8, 0)).v - Vector2d(0.8, 0)).norm(), 1e-12);
  EXPECT_LE((nearest(all, Vector2d(0.4, 0)).v - Vector2d(0.4, 0)).norm(), 1e-12);
}

TEST(FrictionalImpacts, LeaveSeparatingVelocitiesAlone) {
  ImpactProblem p = test::compass(0.25);
  // Separates at both feet, yet the complementarity problem has another solution.
  p.v = vector({0.320229, 0.519742, -0.004127, -0.285555});
  for (const ImpactLaw l : {ImpactLaw::anitescu_potra, ImpactLaw::sequential}) {
    const ImpactOutcomes all = all_impact_outcomes(p, law(l));
    ASSERT_EQ(all.outcomes.size(), 1u);
    EXPECT_EQ((all.outcomes[0].v - p.v).norm(), 0);
    EXPECT_EQ(all.outcomes[0].steps, 0);
  }
}

// --- restitution ---

TEST(FrictionalImpacts, RestitutionBlendsWithTheElasticImpact) {
  Draw draw(30);
  for (int k = 0; k < 60; ++k)
    for (const ImpactLaw l : {ImpactLaw::anitescu_potra, ImpactLaw::sequential}) {
      ImpactProblem p = draw.problem(7, 1 + k % 3, 1 + k % 2, 1);
      ImpactOptions options = law(l);
      options.max_steps = 20000;
      const ImpactResult inelastic = resolve_impact(p, options);
      ImpactOptions elastic_options = law(ImpactLaw::reflections);
      const ImpactResult elastic = resolve_impact(p, elastic_options);
      if (inelastic.status != ImpactStatus::resolved) continue;
      ASSERT_EQ(elastic.status, ImpactStatus::resolved);
      const double e = draw.uniform(0, 1);
      p.restitution = VectorXd::Constant(p.contacts(), e);
      const ImpactResult r = resolve_impact(p, options);
      expect_impact(p, r, std::to_string(k));
      EXPECT_LE((r.v - (1 - e) * inelastic.v - e * elastic.v).norm(), 1e-12 * p.v.norm());
      for (const ImpactResult& outcome : all_impact_outcomes(p, options).outcomes)
        expect_impact(p, outcome, std::to_string(k));
    }
}

TEST(FrictionalImpacts, OneRestitutionForAllContacts) {
  ImpactProblem p = test::boxwall();
  p.restitution = Vector2d(0.5, 0.4);
  for (const ImpactLaw l : {ImpactLaw::anitescu_potra, ImpactLaw::sequential}) {
    std::string message;
    try {
      (void)resolve_impact(p, law(l));
    } catch (const InputError& error) {
      message = error.what();
    }
    EXPECT_NE(message.find("restitution[1]: 0.4, expected 0.5"), std::string::npos) << message;
  }
  p.restitution = Vector2d(0, 0);
  EXPECT_EQ(resolve_impact(p, law(ImpactLaw::sequential)).steps, 2);
}

TEST(FrictionalImpacts, OrdersAreChecked) {
  const ImpactProblem p = test::boxwall();
  EXPECT_THROW((void)resolve_impact(p, law(ImpactLaw::sequential, {0, 2})), InputError);
  EXPECT_THROW((void)resolve_impact(p, law(ImpactLaw::sequential, {1})), InputError);
}

}  // namespace
}  // namespace scree
