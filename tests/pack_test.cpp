#include "math/pack.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "math/sin_cos.h"

namespace scree {
namespace {

// Angles of all sizes, multiples of pi/2 among them, where most digits of the reduced angle cancel.
double random_angle(std::mt19937_64& random) {
  if (random() % 4 == 0) return static_cast<double>(random() % 600000) * (M_PI / 2);
  const double size = std::pow(10.0, std::uniform_real_distribution<double>(-9, 6)(random));
  return random() % 2 ? size : -size;
}

// A reduced angle with an error of one rounding, a series with one or two more: 2 eps in all.
TEST(SinCos, IsWithinTwoRoundingsOfLongDouble) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 300000; ++trial) {
    const double x = random_angle(random);
    const SinCos<double> r = sin_cos(x);
    const long double s = std::sin(static_cast<long double>(x)), c = std::cos(static_cast<long double>(x));
    EXPECT_LE(std::abs(static_cast<double>(r.sin - s)), 2 * std::numeric_limits<double>::epsilon() * std::abs(s)) << x;
    EXPECT_LE(std::abs(static_cast<double>(r.cos - c)), 2 * std::numeric_limits<double>::epsilon() * std::abs(c)) << x;
  }
}

TEST(SinCos, KnowsLargeAnglesAndNoNumbers) {
  EXPECT_EQ(sin_cos(1e9).sin, std::sin(1e9));
  EXPECT_EQ(sin_cos(-3e15).cos, std::cos(-3e15));
  EXPECT_TRUE(std::isnan(sin_cos(std::numeric_limits<double>::quiet_NaN()).sin));
  EXPECT_TRUE(std::isnan(sin_cos(std::numeric_limits<double>::infinity()).cos));
  EXPECT_EQ(sin_cos(0).sin, 0);
  EXPECT_EQ(sin_cos(0).cos, 1);
}

template <class P> class PackOf : public testing::Test {};
using Packs = testing::Types<Pack<4>, Pack<8>>;
TYPED_TEST_SUITE(PackOf, Packs);

// Bit for bit, whatever the other lanes hold.
TYPED_TEST(PackOf, EveryLaneHasTheBitsOfADouble) {
  std::mt19937_64 random(2);
  constexpr int W = kLanes<TypeParam>;
  for (int trial = 0; trial < 20000; ++trial) {
    TypeParam x, y;
    for (int l = 0; l < W; ++l) {
      set_lane(x, l, random_angle(random) * (random() % 64 == 0 ? 1e6 : 1));
      set_lane(y, l, random_angle(random));
    }
    const auto turned = sin_cos(x);
    const auto chart = chart_coefficients(y * y);
    const TypeParam mixed = select(x < y, x / y - y * x, sqrt(abs(x)) + y), most = larger(x, y), least = smaller(x, y);
    for (int l = 0; l < W; ++l) {
      const double a = lane(x, l), b = lane(y, l);
      EXPECT_EQ(lane(turned.sin, l), sin_cos(a).sin);
      EXPECT_EQ(lane(turned.cos, l), sin_cos(a).cos);
      const ChartCoefficients<double> k = chart_coefficients(b * b);
      EXPECT_EQ(lane(chart.a, l), k.a);
      EXPECT_EQ(lane(chart.b, l), k.b);
      EXPECT_EQ(lane(chart.c, l), k.c);
      EXPECT_EQ(lane(chart.db, l), k.db);
      EXPECT_EQ(lane(chart.dc, l), k.dc);
      EXPECT_EQ(lane(mixed, l), a < b ? a / b - b * a : std::sqrt(std::abs(a)) + b);
      EXPECT_EQ(lane(most, l), std::max(a, b));
      EXPECT_EQ(lane(least, l), std::min(a, b));
    }
  }
}

TYPED_TEST(PackOf, ConditionsAreByLane) {
  constexpr int W = kLanes<TypeParam>;
  for (int chosen = 0; chosen < W; ++chosen) {
    TypeParam x(0);
    set_lane(x, chosen, 1);
    const auto up = x > TypeParam(0.5);
    EXPECT_TRUE(any(up));
    EXPECT_FALSE(any(up & !up));
    for (int l = 0; l < W; ++l) EXPECT_EQ(lane(up, l), l == chosen);
    for (int l = 0; l < W; ++l) EXPECT_EQ(lane(!up, l), l != chosen);
  }
  EXPECT_TRUE(std::signbit(lane(TypeParam(-0.0), W - 1)));
}

}  // namespace
}  // namespace scree
