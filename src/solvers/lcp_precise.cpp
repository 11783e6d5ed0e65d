#include "solvers/lcp_precise.h"

#include <algorithm>
#include <cmath>

namespace scree {
namespace {

double size(const DoubleDouble& x) { return std::abs(x.hi); }

}  // namespace

void PreciseLemke::reserve(int n) {
  if (basic_.size() >= static_cast<size_t>(n)) return;
  const auto count = static_cast<size_t>(n);
  table_.resize(count * (count + 2));
  basic_.resize(count);
  nonbasic_.resize(count + 1);
  row_.resize(2 * count + 1);
  place_.resize(2 * count + 1);
  ties_.reserve(count);
}

void PreciseLemke::pivot(int row, int entering) {
  const DoubleDouble inverse = DoubleDouble(1) / at(row, entering);
  for (int j = 0; j < n_ + 2; ++j) {
    if (j == entering || at(row, j).hi == 0) continue;
    const DoubleDouble factor = -inverse * at(row, j);
    for (int i = 0; i < n_; ++i)
      if (i != row) at(i, j) += factor * at(i, entering);
    at(row, j) = factor;
  }
  for (int i = 0; i < n_; ++i)
    if (i != row) at(i, entering) *= inverse;
  at(row, entering) = inverse;
  int &basic = basic_[static_cast<size_t>(row)], &nonbasic = nonbasic_[static_cast<size_t>(entering)];
  std::swap(basic, nonbasic);
  row_[static_cast<size_t>(basic)] = row;
  row_[static_cast<size_t>(nonbasic)] = -1;
  place_[static_cast<size_t>(nonbasic)] = entering;
}

// theory (12.6)
int PreciseLemke::leaving_row(int entering) {
  double largest = 1;
  for (int i = 0; i < n_; ++i) largest = std::max(largest, size(at(i, entering)));
  const double least = zero_ * largest;
  const int z0 = row_[static_cast<size_t>(2 * n_)];
  if (b(z0).hi <= zero_ && size(at(z0, entering)) > least) return z0;
  const auto falls = [&](int i) { return at(i, entering).hi < -least; };
  const auto positive = [&](int i) { return b(i).hi > 0 ? b(i) : DoubleDouble(0); };
  ties_.clear();
  DoubleDouble limit(std::numeric_limits<double>::infinity());
  for (int i = 0; i < n_; ++i)
    if (falls(i)) limit = std::min(limit, (positive(i) + DoubleDouble(zero_)) / -at(i, entering));
  for (int i = 0; i < n_; ++i)
    if (falls(i) && positive(i) <= -limit * at(i, entering)) ties_.push_back(i);
  if (std::find(ties_.begin(), ties_.end(), z0) != ties_.end()) return z0;
  for (int j = 0; j < n_ && ties_.size() > 1; ++j) {
    const int own = row_[static_cast<size_t>(j)], column = place_[static_cast<size_t>(j)];
    const auto share = [&](int i) {
      return (own < 0 ? -at(i, column) : DoubleDouble(i == own ? 1 : 0)) / -at(i, entering);
    };
    DoubleDouble smallest(std::numeric_limits<double>::infinity());
    for (const int i : ties_) smallest = std::min(smallest, share(i));
    const DoubleDouble bound = smallest + DoubleDouble(zero_ * std::max(1.0, size(smallest)));
    std::erase_if(ties_, [&](int i) { return share(i) > bound; });
  }
  return ties_.empty() ? -1 : ties_.front();
}

void PreciseLemke::start(int n) {
  n_ = n;
  reserve(n);
}

PreciseLemke::End PreciseLemke::run(const double* d, double zero, int max_pivots, int& pivots) {
  zero_ = zero;
  for (int i = 0; i < n_; ++i) {
    at(i, n_) = d[i];
    basic_[static_cast<size_t>(i)] = row_[static_cast<size_t>(i)] = i;
    row_[static_cast<size_t>(n_ + i)] = -1;
    nonbasic_[static_cast<size_t>(i)] = n_ + i;
    place_[static_cast<size_t>(n_ + i)] = i;
  }
  row_[static_cast<size_t>(2 * n_)] = -1;
  nonbasic_[static_cast<size_t>(n_)] = 2 * n_;
  place_[static_cast<size_t>(2 * n_)] = n_;

  int row = 0, entering = n_;
  for (int i = 1; i < n_; ++i)
    if (b(i).hi / d[i] <= b(row).hi / d[row]) row = i;
  if (b(row).hi >= 0) return End::solved;
  for (int done = 0; done < max_pivots; ++done) {
    const int leaves = basic_[static_cast<size_t>(row)];
    pivot(row, entering);
    ++pivots;
    if (leaves == 2 * n_) return End::solved;
    entering = place_[static_cast<size_t>(leaves < n_ ? leaves + n_ : leaves - n_)];
    row = leaving_row(entering);
    if (row < 0) return b(row_[static_cast<size_t>(2 * n_)]).hi <= zero_ ? End::solved : End::ray;
  }
  return End::pivots;
}

DoubleDouble PreciseLemke::z(int i) {
  const int row = row_[static_cast<size_t>(n_ + i)];
  return row >= 0 && b(row).hi > 0 ? b(row) : DoubleDouble(0);
}

}  // namespace scree
