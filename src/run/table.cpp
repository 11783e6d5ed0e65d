#include "scree/table.h"

namespace scree {

void Table::append(const Eigen::Ref<const Eigen::VectorXd>& row) {
  if (rows_ == 0) columns_ = static_cast<size_t>(row.size());
  assert(static_cast<size_t>(row.size()) == columns_);
  numbers_.insert(numbers_.end(), row.data(), row.data() + row.size());
  ++rows_;
}

void Table::append(const Table& rows) {
  if (rows_ == 0) columns_ = rows.columns_;
  assert(rows.columns_ == columns_);
  numbers_.insert(numbers_.end(), rows.numbers_.begin(), rows.numbers_.end());
  rows_ += rows.rows_;
}

}  // namespace scree
