// Table and TableStack: recorded numbers that know their shape. Without gaps and the last index fastest, as in files.
#pragma once

#include <algorithm>
#include <cassert>
#include <utility>
#include <vector>

#include "scree/types.h"

namespace scree {

using TableRow = Eigen::Map<Eigen::VectorXd>;
using ConstTableRow = Eigen::Map<const Eigen::VectorXd>;

// rows() x columns(): one row a record. Grows by rows.
class Table {
 public:
  Table() = default;
  Table(size_t rows, size_t columns, double value = 0)
      : rows_(rows), columns_(columns), numbers_(rows * columns, value) {}
  Table(size_t rows, size_t columns, std::vector<double> numbers)  // rows x columns numbers
      : rows_(rows), columns_(columns), numbers_(std::move(numbers)) {
    assert(numbers_.size() == rows * columns);
  }

  size_t rows() const { return rows_; }
  size_t columns() const { return columns_; }
  bool has_shape(size_t rows, size_t columns) const { return rows_ == rows && columns_ == columns; }

  // A row as a vector of columns() numbers. Valid until the table grows.
  ConstTableRow row(size_t i) const { return {at(i), static_cast<Eigen::Index>(columns_)}; }
  TableRow row(size_t i) { return {numbers_.data() + i * columns_, static_cast<Eigen::Index>(columns_)}; }
  double operator()(size_t row, size_t column) const { return numbers_[row * columns_ + column]; }
  double& operator()(size_t row, size_t column) { return numbers_[row * columns_ + column]; }
  const std::vector<double>& numbers() const { return numbers_; }  // row after row
  double* data() { return numbers_.data(); }

  void reserve(size_t rows) { numbers_.reserve(rows * columns_); }
  // columns() numbers; the first row of a table without rows says how many.
  void append(const Eigen::Ref<const Eigen::VectorXd>& row);
  void append(const Table& rows);        // likewise
  Table rows_from(size_t first) const {  // rows [first, rows())
    return {rows_ - first, columns_, std::vector<double>(at(first), at(rows_))};
  }
  void keep(size_t rows) {  // the first ones, of which there are at least so many
    assert(rows <= rows_);
    numbers_.resize(rows * columns_);
    rows_ = rows;
  }

  bool operator==(const Table&) const = default;

 private:
  const double* at(size_t row) const { return numbers_.data() + row * columns_; }

  size_t rows_ = 0, columns_ = 0;
  std::vector<double> numbers_;
};

// tables() x rows() x columns(): tables of one shape, e.g. one for each branch of a fan.
class TableStack {
 public:
  TableStack() = default;
  TableStack(size_t tables, size_t rows, size_t columns, double value = 0)
      : tables_(tables), rows_(rows), all_(tables * rows, columns, value) {}

  size_t tables() const { return tables_; }
  size_t rows() const { return rows_; }
  size_t columns() const { return all_.columns(); }
  bool has_shape(size_t tables, size_t rows, size_t columns) const {
    return tables_ == tables && rows_ == rows && all_.columns() == columns;
  }

  ConstTableRow row(size_t table, size_t row) const { return all_.row(table * rows_ + row); }
  TableRow row(size_t table, size_t row) { return all_.row(table * rows_ + row); }
  double operator()(size_t table, size_t row, size_t column) const { return all_(table * rows_ + row, column); }
  double& operator()(size_t table, size_t row, size_t column) { return all_(table * rows_ + row, column); }
  const std::vector<double>& numbers() const { return all_.numbers(); }  // table after table
  // Where the numbers of a table begin.
  double* data(size_t table) { return all_.data() + table * rows_ * columns(); }
  const double* data(size_t table) const { return all_.numbers().data() + table * rows_ * columns(); }

  void append(const Table& table) {  // of rows() x columns() numbers; the first table says how many
    if (tables_ == 0) rows_ = table.rows();
    assert(table.rows() == rows_);
    all_.append(table);
    ++tables_;
  }
  void copy_rows(size_t rows, size_t from, size_t to) {  // the first `rows` rows of a table to another one
    std::copy_n(data(from), rows * columns(), data(to));
  }
  void keep(size_t tables) {  // the first ones, of which there are at least so many
    all_.keep(tables * rows_);
    tables_ = tables;
  }

  bool operator==(const TableStack&) const = default;

 private:
  size_t tables_ = 0, rows_ = 0;
  Table all_;
};

}  // namespace scree
