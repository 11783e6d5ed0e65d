// Table and TableStack: shapes, and where numbers are.
#include "scree/table.h"

#include <gtest/gtest.h>

namespace scree {
namespace {

TEST(Table, GrowsByRowsAndKnowsItsShape) {
  Table table;
  EXPECT_TRUE(table.has_shape(0, 0));
  table.append(Vec3(1, 2, 3));
  table.append(Vec3(4, 5, 6));
  EXPECT_TRUE(table.has_shape(2, 3));
  EXPECT_EQ(table.row(1), Vec3(4, 5, 6));
  EXPECT_EQ(table(0, 2), 3);
  table(0, 2) = 7;
  table.row(1) *= 10;
  EXPECT_EQ(table.numbers(), (std::vector<double>{1, 2, 7, 40, 50, 60}));
  const Table last = table.rows_from(1);
  EXPECT_EQ(last, Table(1, 3, {40, 50, 60}));
  EXPECT_TRUE(table.rows_from(2).has_shape(0, 3));
  table.append(last);
  EXPECT_TRUE(table.has_shape(3, 3));
  EXPECT_EQ(table.row(2), table.row(1));
  table.keep(1);
  EXPECT_EQ(table, Table(1, 3, {1, 2, 7}));
}

TEST(Table, WithoutColumnsHasRows) {
  Table table(0, 0);
  table.append(Eigen::VectorXd());
  table.append(Eigen::VectorXd());
  EXPECT_TRUE(table.has_shape(2, 0));
  EXPECT_EQ(table.row(1).size(), 0);
}

TEST(TableStack, IsTableAfterTable) {
  TableStack stack(3, 2, 2, 1.5);
  EXPECT_TRUE(stack.has_shape(3, 2, 2));
  EXPECT_FALSE(stack.has_shape(2, 3, 2));
  EXPECT_EQ(stack(2, 1, 1), 1.5);
  for (size_t i = 0; i < 3; ++i)
    for (size_t row = 0; row < 2; ++row) stack.row(i, row) << static_cast<double>(10 * i + row), -1;
  EXPECT_EQ(stack.numbers(), (std::vector<double>{0, -1, 1, -1, 10, -1, 11, -1, 20, -1, 21, -1}));
  EXPECT_EQ(stack.data(2), stack.numbers().data() + 8);
  stack.copy_rows(1, 2, 0);
  EXPECT_EQ(stack(0, 0, 0), 20);
  EXPECT_EQ(stack(0, 1, 0), 1);
  stack.keep(1);
  EXPECT_TRUE(stack.has_shape(1, 2, 2));
  TableStack grown;
  grown.append(Table(2, 2, {20, -1, 1, -1}));
  EXPECT_EQ(grown, stack);
}

}  // namespace
}  // namespace scree
