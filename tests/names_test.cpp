#include "base/names.h"

#include <gtest/gtest.h>

namespace scree {
namespace {

TEST(NearestName, FindsTheOneWithFewestEdits) {
  const std::vector<std::string> known = {"gravity", "duration", "integrator", "dt"};
  EXPECT_EQ(nearest_name("gravty", known), "gravity");
  EXPECT_EQ(nearest_name("td", known), "dt");  // neighbours swapped: one edit
  EXPECT_EQ(nearest_name("integratr", known), "integrator");
  EXPECT_EQ(nearest_name("x", {}), "");
  EXPECT_EQ(suggestion("gravty", known), ", did you mean \"gravity\"?");
}

}  // namespace
}  // namespace scree
