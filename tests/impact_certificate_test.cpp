// What is proved about impacts: witnesses, enclosures, the ladder of arithmetics, jams, the supplement's bounds, and
// why a tolerance is needed at all.
#include "impact/certificate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "impact/elastic.h"
#include "impact/nnls.h"
#include "impact/normalised.h"
#include "impact/supplement.h"
#include "impact_examples.h"
#include "support/random_cones.h"

namespace scree {
namespace {

using enum ImpactLaw;
using Mp = Mpfr<60>;  // some 200 bits
using MpVector = std::vector<Mp>;

// --- arithmetic ---

TEST(DoubleDouble, AgreesWithMpfr) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  const auto draw = [&] { return DoubleDouble(normal(random)) + normal(random) * 1e-17; };
  for (int i = 0; i < 20000; ++i) {
    const DoubleDouble a = draw(), b = draw();
    const Mpfr256 x = widened<Mpfr256>(a), y = widened<Mpfr256>(b);
    const auto error = [](const DoubleDouble& got, const Mpfr256& exact) {
      return std::abs(to_double(Mpfr256((widened<Mpfr256>(got) - exact) / exact)));
    };
    constexpr double unit = Arithmetic<DoubleDouble>::unit;
    EXPECT_LE(error(a + b, x + y), unit);
    EXPECT_LE(error(a - b, x - y), unit);
    EXPECT_LE(error(a * b, x * y), unit);
    EXPECT_LE(error(a / b, x / y), 8 * unit);
    EXPECT_LE(error(sqrt(a * a), Mpfr256(abs(x))), 8 * unit);
  }
}

// --- least squares ---

SparseColumns columns_of(const Eigen::MatrixXd& A) {
  SparseColumns columns;
  columns.rows = static_cast<int>(A.rows());
  for (Eigen::Index k = 0; k < A.cols(); ++k) {
    for (int i = 0; i < columns.rows; ++i) columns.append(i, A(i, k));
    columns.close();
  }
  return columns;
}

template <class T> void expect_least_squares(int seed) {
  std::mt19937_64 random(static_cast<unsigned>(seed));
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 100; ++trial) {
    const int d = std::uniform_int_distribution<int>(1, 12)(random),
              m = std::uniform_int_distribution<int>(1, 20)(random);
    Eigen::MatrixXd A(d, m);
    for (double& e : A.reshaped()) e = normal(random);
    for (int k = 1; k < m; k += 3) A.col(k) = 2 * A.col(k - 1);  // dependent
    A.colwise().normalize();
    const SparseColumns columns = columns_of(A);
    Nnls<T> nnls;
    nnls.reserve(d, m);
    std::vector<int> all(static_cast<size_t>(m));
    for (int k = 0; k < m; ++k) all[static_cast<size_t>(k)] = k;
    std::vector<T> b(static_cast<size_t>(d)), x(static_cast<size_t>(m));
    for (T& e : b) e = T(normal(random));
    EXPECT_TRUE(nnls.solve(columns, all.data(), m, b.data(), x.data()));
    // KKT: residual r = b - A x; a_k.r <= 0, = 0 where x_k > 0. Rounding: some units of |b| and of the terms x_k a_k.
    std::vector<T> r = b;
    double size = 1;
    for (int k = 0; k < m; ++k) {
      EXPECT_GE(to_double(x[static_cast<size_t>(k)]), 0);
      columns.add(k, T(-x[static_cast<size_t>(k)]), r.data());
      size += to_double(x[static_cast<size_t>(k)]);
    }
    for (const T& e : b) size += std::abs(to_double(e));
    for (int k = 0; k < m; ++k) {
      const double gradient = to_double(columns.dot(k, r.data()));
      EXPECT_LE(gradient, 1000 * Arithmetic<T>::unit * size);
      if (to_double(x[static_cast<size_t>(k)]) > 0) {
        EXPECT_GE(gradient, -1000 * Arithmetic<T>::unit * size);
      }
    }
  }
}

TEST(Nnls, IsOptimalInEveryArithmetic) {
  expect_least_squares<double>(3);
  expect_least_squares<DoubleDouble>(4);
  expect_least_squares<Mpfr256>(5);
}

// --- witnesses ---

TEST(Witness, LeastNormsOfTheScenes) {
  struct Case {
    ImpactProblem problem;
    double w, digits;
  };
  std::vector<Case> cases = {{bernoulli_impact(), std::sqrt(2), 1e-10},
                             {bernoulli_impact(1, 12.1, 23.3), 1.46646, 5e-6},
                             {rack_impact(), 9.51500, 5e-6},
                             {stack_impact(2, StackKind::drop), 4.13171, 5e-6},
                             {stack_impact(3, StackKind::drop), 7.32893, 5e-6},
                             {wedge_impact(1e-3, 1, 0), 1 / std::sin(0.5e-3), 1e-9}};
  for (const int n : {3, 5, 7}) cases.push_back({cradle_impact(n), std::sqrt(n * (n * n - 1) / 6.0), 1e-10});
  for (const Case& c : cases) {
    const Witness witness = find_witness(NormalisedImpact(c.problem).normals());
    EXPECT_TRUE(witness.found);
    EXPECT_NEAR(witness.w, c.w, c.digits * c.w);
  }
}

// 200 bits: a_k.z >= 1 for certain.
TEST(Witness, HoldsInTwoHundredBits) {
  std::mt19937_64 random(8);
  int found = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const test::RandomCone cone = test::random_cone(random);
    const SparseColumns normals = NormalisedImpact(cone.problem).normals();
    const Witness witness = find_witness(normals);
    if (!witness.found) continue;
    ++found;
    MpVector z;
    for (const double e : witness.z) z.push_back(Mp(e));
    for (int k = 0; k < normals.columns(); ++k) EXPECT_TRUE(normals.dot(k, z.data()) >= Mp(1)) << cone.name;
    Mp square(0);
    for (const Mp& e : z) square += e * e;
    EXPECT_TRUE(square <= Mp(witness.w) * Mp(witness.w));
    EXPECT_FALSE(cone.kind == test::ConeKind::jammed) << trial;
  }
  EXPECT_GT(found, 200);
}

TEST(Jams, AreFoundByTheirCombinations) {
  // Three walls at 120 degrees, a fourth contact in another direction, a fifth that the first three jam as well.
  Eigen::MatrixXd A(3, 5);
  const double s = std::sqrt(3) / 2;
  A.transpose() << 1, 0, 0, -0.5, s, 0, -0.5, -s, 0, 0.6, 0, 0.8, s, 0.5, 0;
  const JamReduction jam = reduce_jams(columns_of(A));
  EXPECT_EQ(jam.jammed, (std::vector<int>{0, 1, 2, 4}));
  EXPECT_EQ(jam.open, std::vector<int>{3});
  ASSERT_EQ(jam.basis.cols(), 1);
  EXPECT_NEAR(std::abs(jam.basis(2, 0)), 1, 1e-15);
  EXPECT_NEAR(jam.size(0), 0.8, 1e-15);
}

// A jam that shows only after another is taken out: contacts 0, 1 squeeze x; then 2, 3 squeeze y up to a part along x.
TEST(Jams, AreFoundInTurns) {
  Eigen::MatrixXd A(3, 5);
  A.transpose() << 1, 0, 0, -1, 0, 0, 0.6, 0.8, 0, 0.6, -0.8, 0, 0, 0, 1;
  const JamReduction jam = reduce_jams(columns_of(A));
  EXPECT_EQ(jam.jammed, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(jam.open, std::vector<int>{4});
}

// --- enclosures, against 200 bits ---

MpVector solve_mp(const Eigen::MatrixXd& M, const Eigen::VectorXd& b) {  // Cholesky
  const int d = static_cast<int>(M.rows());
  std::vector<MpVector> L(static_cast<size_t>(d), MpVector(static_cast<size_t>(d)));
  MpVector x(static_cast<size_t>(d));
  const auto at = [](auto& v, int i) -> auto& { return v[static_cast<size_t>(i)]; };
  for (int i = 0; i < d; ++i)
    for (int j = 0; j <= i; ++j) {
      Mp sum = (Mp(M(i, j)) + Mp(M(j, i))) / 2;
      for (int k = 0; k < j; ++k) sum -= at(at(L, i), k) * at(at(L, j), k);
      at(at(L, i), j) = i == j ? Mp(sqrt(sum)) : Mp(sum / at(at(L, j), j));
    }
  for (int i = 0; i < d; ++i) {
    Mp sum(b(i));
    for (int k = 0; k < i; ++k) sum -= at(at(L, i), k) * at(x, k);
    at(x, i) = sum / at(at(L, i), i);
  }
  for (int i = d; i-- > 0;) {
    Mp sum = at(x, i);
    for (int k = i + 1; k < d; ++k) sum -= at(at(L, k), i) * at(x, k);
    at(x, i) = sum / at(at(L, i), i);
  }
  return x;
}

Mp energy_mp(const Eigen::MatrixXd& M, const Eigen::VectorXd& v) {
  Mp sum(0);
  for (Eigen::Index i = 0; i < v.size(); ++i)
    for (Eigen::Index j = 0; j < v.size(); ++j) sum += Mp(M(i, j)) * Mp(v(i)) * Mp(v(j));
  return sum;
}

TEST(ImpactCertificate, EnclosuresContainTheTruth) {
  std::mt19937_64 random(21);
  for (int trial = 0; trial < 150; ++trial) {
    test::RandomCone cone = test::random_cone(random);
    ImpactProblem& p = cone.problem;
    if (trial % 3 == 0 && p.dofs() > 1) p.M(0, 1) *= 1 + 5e-13;  // as asymmetric as is allowed
    for (const ImpactLaw law : {gauss_seidel_first, reflections, restitution_blend}) {
      ImpactOptions options;
      options.law = law;
      options.max_steps = 5000;
      const ImpactResult result = resolve_elastic(p, options);
      const ImpactCertificate& c = *result.certificate;
      const Eigen::VectorXd& before = result.path[c.jammed.empty() ? 0 : 1];
      const std::string what = cone.name + ", trial " + std::to_string(trial);
      if (!before.isZero(0) && result.steps > 0) {
        const Mp ratio = energy_mp(p.M, result.v) / energy_mp(p.M, before);
        EXPECT_TRUE(Mp(c.energy_ratio.lower) <= ratio && ratio <= Mp(c.energy_ratio.upper)) << what;
        EXPECT_LE(c.energy_ratio.upper - c.energy_ratio.lower, 4e-15 * c.energy_ratio.upper) << what;
      }
      if (result.v.isZero(0)) continue;
      Mp least(2);
      for (int k = 0; k < p.contacts(); ++k) {
        const Eigen::VectorXd n = p.Jn.row(k).transpose();
        const MpVector x = solve_mp(p.M, n);
        Mp speed(0), square(0);
        for (int i = 0; i < p.dofs(); ++i) {
          speed += Mp(n(i)) * Mp(result.v(i));
          square += Mp(n(i)) * x[static_cast<size_t>(i)];
        }
        const Mp cosine = speed / sqrt(Mp(square * energy_mp(p.M, result.v)));
        if (cosine < least) least = cosine;
      }
      const Mp slack(1e-50);  // of the 200 bits; cosines of 1 are bounded by 1
      EXPECT_TRUE(Mp(c.least_velocity.lower) <= least + slack && least - slack <= Mp(c.least_velocity.upper)) << what;
      EXPECT_LE(c.least_velocity.upper - c.least_velocity.lower, 1e-14) << what;
      // witness in the data as given
      const Mp norm = energy_mp(p.M, c.witness);
      EXPECT_TRUE(norm <= Mp(c.w) * Mp(c.w)) << what;
      for (int k = 0; k < p.contacts(); ++k) {
        if (std::find(c.jammed.begin(), c.jammed.end(), k) != c.jammed.end()) continue;
        const Eigen::VectorXd n = p.Jn.row(k).transpose();
        const MpVector x = solve_mp(p.M, n);
        Mp speed(0), square(0);
        for (int i = 0; i < p.dofs(); ++i) {
          speed += Mp(n(i)) * Mp(c.witness(i));
          square += Mp(n(i)) * x[static_cast<size_t>(i)];
        }
        EXPECT_TRUE(speed > Mp(0) && speed * speed >= square) << what;
      }
    }
  }
}

// --- steps ---

TEST(ImpactCertificate, FinerArithmeticsGiveTheSameImpact) {
  for (const ImpactProblem& p :
       {cradle_impact(5, 2), rack_impact(), stack_impact(3, StackKind::drop), galperin_impact(1)})
    for (const ImpactLaw law : {gauss_seidel_first, gauss_seidel_max, reflections}) {
      ImpactOptions options;
      options.law = law;
      const ImpactResult a = resolve_elastic(p, options, 53), b = resolve_elastic(p, options, 106),
                         c = resolve_elastic(p, options, 256);
      EXPECT_EQ(b.certificate->bits, 106);
      EXPECT_EQ(c.certificate->bits, 256);
      EXPECT_EQ(a.steps, b.steps);
      EXPECT_EQ(a.steps, c.steps);
      EXPECT_LE((a.v - b.v).cwiseAbs().maxCoeff(), 1e-13);
      EXPECT_LE((b.v - c.v).cwiseAbs().maxCoeff(), 1e-15);
      EXPECT_TRUE(b.certificate->holds && c.certificate->holds);
      EXPECT_LE(b.certificate->step_error, 1e-29);
      EXPECT_LE(c.certificate->step_error, 1e-70);
      EXPECT_LE(b.certificate->rho, 1e-28);
    }
}

// Errors of a step in double are some u; a violation of 1e-14 in a cone of w = 1e4 is too small for them.
TEST(ImpactCertificate, StepsThatDoubleCannotCertifyAreRedone) {
  ImpactOptions options;
  options.law = gauss_seidel_first;
  options.tolerance = 1e-15;
  // turned by a radian, so that components are rounded
  const auto turned = [](double angle, double vx, double vy) {
    ImpactProblem p = wedge_impact(angle, vx, vy);
    Eigen::Matrix2d R;
    R << std::cos(1.0), -std::sin(1.0), std::sin(1.0), std::cos(1.0);
    p.Jn = (p.Jn * R.transpose()).eval();
    p.v = (R * p.v).eval();
    return p;
  };
  const ImpactResult result = resolve_elastic(turned(2e-4, 1, -3e-14), options);
  EXPECT_EQ(result.status, ImpactStatus::resolved);
  EXPECT_TRUE(result.certificate->holds);
  EXPECT_EQ(result.certificate->bits, 106);
  EXPECT_EQ(result.certificate->redone, 1);
  EXPECT_LE(result.certificate->theta, 0.5);
  // margin 5e-13, violations of 1e-14: MPFR
  const ImpactResult fine = resolve_elastic(turned(1e-12, 1, -1e-11), options);
  EXPECT_EQ(fine.status, ImpactStatus::resolved);
  EXPECT_TRUE(fine.certificate->holds);
  EXPECT_GE(fine.certificate->bits, 106);
}

// A large reflection rounds the norm; the next one is too small for double. Finer steps must not undo that rounding.
TEST(ImpactCertificate, SmallStepsAfterLargeOnesAreCertified) {
  ImpactOptions options;
  options.law = gauss_seidel_first;
  options.tolerance = 1e-15;
  int redone = 0;
  for (int i = 0; i < 100; ++i) {
    const double turn = 0.06 * i, angle = 0.01;
    // u is 1e-14 outside of n_2 and well inside of n_1; before the impact it is reflected about n_1
    const auto at = [&](double a) { return Eigen::Vector2d(std::cos(a + turn), std::sin(a + turn)); };
    ImpactProblem p;
    p.M = Eigen::MatrixXd::Identity(2, 2);
    p.Jn.resize(2, 2);
    p.Jn.row(0) = at(M_PI / 2).transpose();
    p.Jn.row(1) = at(angle - M_PI / 2).transpose();
    p.v = at(-angle - 1e-14);
    const ImpactResult result = resolve_elastic(p, options);
    EXPECT_EQ(result.status, ImpactStatus::resolved) << i;
    EXPECT_TRUE(result.certificate->holds) << i;
    redone += result.certificate->redone > 0;
  }
  EXPECT_GT(redone, 10);
}

TEST(ImpactCertificate, MeasuredErrorsAreSomeUnits) {
  for (const ImpactProblem& p : {cradle_impact(7), bernoulli_impact(), rack_impact(), stack_impact(3, StackKind::drop)})
    for (const ImpactLaw law : {gauss_seidel_first, gauss_seidel_cyclic, gauss_seidel_max, reflections}) {
      ImpactOptions options;
      options.law = law;
      const ImpactCertificate c = *resolve_elastic(p, options).certificate;
      // The reference measures 4.6e-17 to 3.7e-16 in other coordinates; ten units of margin.
      EXPECT_LE(c.step_error, 2e-15);
      EXPECT_LE(c.rho, 2e-15);
    }
}

// Theorem P on random cones, large tolerances: the cap is reached to within a factor, never exceeded.
TEST(ImpactCertificate, CapsHoldOnRandomCones) {
  std::mt19937_64 random(99);
  double most = 0;
  int count = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const test::ConeOptions kind{.most_dofs = 8, .most_contacts = 11, .kind = trial % 4, .margin = 1e-3, .masses = 1e4};
    const test::RandomCone cone = test::random_cone(random, kind);
    for (const ImpactLaw law : {gauss_seidel_first, gauss_seidel_cyclic, gauss_seidel_max, reflections})
      for (const double tolerance : {0.1, 0.01, 1e-4}) {
        ImpactOptions options;
        options.law = law;
        options.tolerance = tolerance;
        const ImpactResult result = resolve_elastic(cone.problem, options);
        EXPECT_EQ(result.status, ImpactStatus::resolved);
        EXPECT_TRUE(result.certificate->holds);
        most = std::max(most, static_cast<double>(result.steps) / result.certificate->cap);
        ++count;
      }
  }
  EXPECT_LE(most, 1);
  EXPECT_GT(count, 4000);
}

// One step of reflections: |lambda|_1 >= 2 max violation, up to rounding of the inner problem.        theory (13.14)
TEST(ImpactCertificate, ReflectionsPushAtLeastTwiceTheLargestViolation) {
  std::mt19937_64 random(5);
  int count = 0;
  double least = 10;
  for (int trial = 0; trial < 2000; ++trial) {
    const test::RandomCone cone = test::random_cone(random, {.most_dofs = 8, .most_contacts = 11, .kind = trial % 3});
    ImpactOptions options;
    options.max_steps = 1;
    const ImpactResult result = resolve_elastic(cone.problem, options);
    if (result.steps == 0) continue;
    const NormalisedImpact impact(cone.problem);
    const double norm = impact.y().norm();
    double violation = 0, impulse = 0;
    for (int k = 0; k < cone.problem.contacts(); ++k) {
      violation = std::max(violation, -impact.normals().dot(k, impact.y().data()));
      impulse += result.normal_impulse(k) / impact.impulse(k, 1);
    }
    ASSERT_GT(violation, options.tolerance * norm);
    ++count;
    // 1e-15 of impulses that add to |y| and more; violations as small as the tolerance would see rounding, none is here
    least = std::min(least, impulse / (2 * violation));
  }
  EXPECT_GT(count, 1000);
  EXPECT_GE(least, 1 - 1e-11);
}

// --- tolerance zero ---

// Plain loops as in the reference: sums from left to right, renormalised, no tolerance.
struct PlainLoop {
  ImpactProblem problem;
  Eigen::MatrixXd n, Mn;  // columns: unit normals, M^-1 n
  Eigen::VectorXd v;
  double norm0;
  explicit PlainLoop(const ImpactProblem& p) : problem(p), n(p.Jn.transpose()), Mn(p.Jn.transpose()), v(p.v) {
    for (int k = 0; k < p.contacts(); ++k) {
      double square = 0;
      for (int j = 0; j < p.dofs(); ++j) square += n(j, k) * n(j, k) / p.M(j, j);
      for (int j = 0; j < p.dofs(); ++j) n(j, k) /= std::sqrt(square);
      for (int j = 0; j < p.dofs(); ++j) Mn(j, k) = n(j, k) / p.M(j, j);
    }
    norm0 = norm();
  }
  double norm() const {
    double sum = 0;
    for (int j = 0; j < v.size(); ++j) sum += v(j) * (problem.M(j, j) * v(j));
    return std::sqrt(sum);
  }
  double speed(int k) const {
    double sum = 0;
    for (int j = 0; j < v.size(); ++j) sum += n(j, k) * v(j);
    return sum;
  }
  void reflect(int k) {
    const double s = 2 * speed(k);
    for (int j = 0; j < v.size(); ++j) v(j) -= s * Mn(j, k);
    const double factor = norm0 / norm();
    for (double& e : v) e *= factor;
  }
};

TEST(ToleranceZero, PlainGaussSeidelRepeatsAStateForEver) {
  PlainLoop loop(stack_impact(3, StackKind::drop));
  std::set<std::vector<double>> seen;
  bool repeats = false;
  int steps = 0;
  for (; steps < 1000; ++steps) {
    repeats = !seen.insert({loop.v.begin(), loop.v.end()}).second;  // bit for bit, and the rule has no memory
    if (repeats) break;
    int most = 0;
    for (int k = 1; k < 6; ++k)
      if (loop.speed(k) < loop.speed(most)) most = k;
    ASSERT_LT(loop.speed(most), 0) << "it ended after " << steps << " steps";
    loop.reflect(most);
  }
  EXPECT_TRUE(repeats);
  EXPECT_EQ(steps, 19);
}

TEST(ToleranceZero, PlainGaussSeidelTakesMoreStepsThanTheImpactHas) {
  struct Case {
    ImpactProblem problem;
    ImpactLaw rule;
    int steps;
  };
  for (const Case& c : {Case{cradle_impact(3), gauss_seidel_first, 3},
                        {cradle_impact(5), gauss_seidel_first, 10},
                        {cradle_impact(7), gauss_seidel_first, 21},
                        {rack_impact(), gauss_seidel_first, 31},
                        {rack_impact(), gauss_seidel_cyclic, 31},
                        {rack_impact(), gauss_seidel_max, 26}}) {
    PlainLoop loop(c.problem);
    const int m = c.problem.contacts();
    int steps = 0, last = -1;
    for (; steps < 1000; ++steps) {
      int chosen = -1;
      for (int i = 0; i < m; ++i) {
        const int k = c.rule == gauss_seidel_cyclic ? (last + 1 + i) % m : i;
        if (!(loop.speed(k) < 0)) continue;
        if (chosen < 0 || (c.rule == gauss_seidel_max && loop.speed(k) < loop.speed(chosen))) chosen = k;
      }
      if (chosen < 0) break;
      loop.reflect(chosen);
      last = chosen;
    }
    EXPECT_EQ(steps, c.steps) << m << " contacts, " << impact_law_name(c.rule);
  }
}

// Generalized Reflections of a violation that is rounding: the multiplier is rounding, too, and nothing moves.
TEST(ToleranceZero, PlainReflectionsStall) {
  const ImpactProblem p = cradle_impact(3);
  const SparseColumns normals = NormalisedImpact(p).normals();
  Nnls<double> nnls;
  nnls.reserve(3, 2);
  std::vector<double> y = {1, 0, 0}, b(3), lambda(2);
  bool stalled = false;
  for (int step = 0; step < 100 && !stalled; ++step) {
    std::vector<int> violated;
    for (int k = 0; k < 2; ++k)
      if (normals.dot(k, y.data()) < 0) violated.push_back(k);
    ASSERT_FALSE(violated.empty()) << "it ended after " << step << " steps";
    for (size_t j = 0; j < 3; ++j) b[j] = -2 * y[j];
    nnls.solve(normals, violated.data(), static_cast<int>(violated.size()), b.data(), lambda.data());
    std::vector<double> next = y;
    for (const int k : violated) normals.add(k, lambda[static_cast<size_t>(k)], next.data());
    double square = 0;
    for (const double e : next) square += e * e;
    for (double& e : next) e *= 1 / std::sqrt(square);
    stalled = next == y;
    y = next;
  }
  EXPECT_TRUE(stalled);
}

// --- the supplement, repaired ---

TEST(Supplement, ReproducesTheTable) {
  struct Case {
    const char* name;
    ImpactProblem problem;
    int drift, bits;
    double norm, gs, gr;  // least tolerances in double: axiom NORM; theorem P of both algorithms
  };
  const Case cases[] = {{"cradle 3", cradle_impact(3), 18, 51, 4.8e-7, 5.0e-13, 6.0e-13},
                        {"cradle 5", cradle_impact(5), 20, 54, 1.2e-6, 7.4e-12, 1.6e-11},
                        {"cradle 7", cradle_impact(7), 22, 56, 2.2e-6, 4.7e-11, 1.6e-10},
                        {"bernoulli", bernoulli_impact(), 21, 55, 1.6e-6, 4.8e-12, 4.9e-12},
                        {"masses", bernoulli_impact(1, 12.1, 23.3), 29, 63, 2.7e-5, 1.8e-9, 2.1e-9},
                        {"rack", rack_impact(), 31, 65, 4.8e-5, 3.9e-8, 2.0e-7},
                        {"stack 2 drop", stack_impact(2, StackKind::drop), 26, 59, 7.7e-6, 3.7e-10, 7.7e-10},
                        {"stack 2 top", stack_impact(2, StackKind::top), 26, 59, 7.7e-6, 3.7e-10, 7.7e-10},
                        {"stack 3 drop", stack_impact(3, StackKind::drop), 28, 62, 1.7e-5, 3.7e-9, 1.2e-8}};
  for (const Case& c : cases) {
    const StepData gs = step_data(c.problem, false), gr = step_data(c.problem, true);
    int drift = 0, bits = 0;
    for (int p = 80; p > 4; --p) {
      const double unit = std::ldexp(1.0, -p);
      const StepBound bound = step_bound(gs, unit, unit);
      if (bound.drift_holds) drift = p;
      if (norm_tolerance(bound) <= 1e-6) bits = p;
    }
    EXPECT_EQ(drift, c.drift) << c.name;
    EXPECT_EQ(bits, c.bits) << c.name;
    // Two digits of the reference, to a unit of the second; it leaves v as given, which moves what underflow adds, and
    // takes the true underflow for theorem P.
    const auto rounding = [](double x) { return std::pow(10.0, std::floor(std::log10(x)) - 1); };
    constexpr double unit = 0x1p-53, eta = 0x1p-1074;
    EXPECT_NEAR(norm_tolerance(step_bound(gs, unit, unit)), c.norm, rounding(c.norm)) << c.name;
    EXPECT_NEAR(potential_tolerance(gs, step_bound(gs, unit, eta)), c.gs, rounding(c.gs)) << c.name;
    EXPECT_NEAR(potential_tolerance(gr, step_bound(gr, unit, eta)), c.gr, rounding(c.gr)) << c.name;
  }
}

TEST(Supplement, AsPrintedHoldsInNoPrecision) {
  // u gamma_21 >= 4 d (l_max/l_min) gamma_12 > 4 for every u, and lemma A.1 asks for < 2.
  for (const bool reflected : {false, true})
    for (const ImpactProblem& p : {cradle_impact(3), bernoulli_impact(1, 12.1, 23.3), rack_impact()}) {
      const StepData data = step_data(p, reflected, true);
      for (const int bits : {24, 53, 113, 256, 1000}) {
        const PrintedBound bound = printed_bound(data, std::ldexp(1.0, -bits), false);
        EXPECT_GT(bound.gamma, 4);
        EXPECT_FALSE(bound.drift_holds);
      }
    }
  // two digits of the reference
  EXPECT_NEAR(printed_bound(step_data(cradle_impact(3), false, true), 0x1p-53, false).gamma, 2.1e9, 0.1e9);
  EXPECT_NEAR(printed_bound(step_data(rack_impact(), false, true), 0x1p-53, false).gamma, 1.8e16, 0.1e16);
}

TEST(Supplement, FewestRepairsAskForManyBits) {
  struct Case {
    ImpactProblem problem;
    bool reflected;
    int drift, bits;
  };
  for (const Case& c : {Case{cradle_impact(3), false, 39, 110},
                        {cradle_impact(7), false, 47, 118},
                        {bernoulli_impact(1, 12.1, 23.3), false, 68, 140},
                        {rack_impact(), false, 63, 134},
                        {stack_impact(3, StackKind::drop), false, 54, 125},
                        {cradle_impact(3), true, 49, 121},
                        {rack_impact(), true, 81, 161},
                        {stack_impact(3, StackKind::drop), true, 67, 142}}) {
    const StepData data = step_data(c.problem, c.reflected, true);
    int drift = 0, bits = 0;
    for (int p = 200; p > 4; --p) {
      const PrintedBound bound = printed_bound(data, std::ldexp(1.0, -p), true);
      if (bound.drift_holds) drift = p;
      if (bound.tolerance <= 1e-6) bits = p;
    }
    EXPECT_EQ(drift, c.drift);
    EXPECT_EQ(bits, c.bits);
  }
}

TEST(Supplement, MassNormalisedCoordinatesAreBetter) {
  // Figures in brackets of the reference's table: the same scenes in coordinates y.
  struct Case {
    ImpactProblem problem;
    double tolerance;
  };
  for (const Case& c : {Case{bernoulli_impact(1, 12.1, 23.3), 5.8e-12},
                        {stack_impact(2, StackKind::drop), 1.5e-11},
                        {stack_impact(3, StackKind::drop), 1.4e-10}}) {
    NormalisedImpact impact(c.problem);
    ImpactProblem y;
    y.M = Eigen::MatrixXd::Identity(c.problem.dofs(), c.problem.dofs());
    y.v = impact.y();
    y.Jn = Eigen::MatrixXd::Zero(c.problem.contacts(), c.problem.dofs());
    const SparseColumns& A = impact.normals();
    for (int k = 0; k < A.columns(); ++k)
      for (int i = A.start[k]; i < A.start[k + 1]; ++i) y.Jn(k, A.row[i]) = A.value[i];
    const StepData data = step_data(y, false);
    EXPECT_NEAR(potential_tolerance(data, step_bound(data, 0x1p-53, 0x1p-1074)), c.tolerance, 0.04 * c.tolerance);
  }
}

TEST(Supplement, IsReportedWhereAskedFor) {
  ImpactOptions options;
  options.tolerance = 1e-6;
  options.law = gauss_seidel_first;
  EXPECT_FALSE(resolve_elastic(cradle_impact(3), options).supplement.has_value());
  options.supplement_bounds = true;
  const SupplementBounds bounds = *resolve_elastic(cradle_impact(3), options).supplement;
  EXPECT_TRUE(bounds.drift_holds);
  EXPECT_EQ(bounds.bits, 51);
  EXPECT_NEAR(bounds.least_tolerance, 4.8e-7, 0.05e-7);
  // and what is measured stays below what is bounded
  const ImpactCertificate c = *resolve_elastic(cradle_impact(3), options).certificate;
  EXPECT_LE(c.step_error, step_bound(step_data(cradle_impact(3), false), 0x1p-53, 0x1p-53).error);
}

}  // namespace
}  // namespace scree
