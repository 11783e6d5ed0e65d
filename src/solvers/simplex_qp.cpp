// The active set: which w_j are held at 0, which blocks at sum 1 (tight). On the face it describes, one variable p of
// each tight block, the largest, is 1 minus the others, and the rest are free: w = w0 + Z x. The minimiser of the face
// solves, with the gradient y = Q w + g,
//
//   Z'QZ x = -Z'y,    (Z'y)_i = y_i - y_p,    (Z'QZ)_ij = (Q_ij - Q_pj) - (Q_iq - Q_pq),
//
// p and q the pivots of the blocks of i and j; terms of blocks that are not tight are left out. The method:
//
//   1. Stop if w satisfies the KKT conditions.
//   2. If w minimises f on its face, release the constraints with a multiplier of the wrong sign: of each block the sum
//      (multiplier l = -y_p < 0), or else the variable with w_j = 0 and y_j + l < 0 that gains most, (y_j + l)^2 /
//      Q_jj.
//   3. Step towards the minimiser of the face, up to the first constraint in the way, which joins the active set.
//
// Finite: before the step of a release only released variables have w_j = 0 and are free, and y.d < 0, so that one of
// them at least moves inside; those that do not are held again without a step. So f decreases between one release and
// the next, and no face is minimised twice. With rounding, max_iterations is the bound.
//
// Semidefinite Z'QZ: a pivot of its factors L D L' below rounding is raised to a floor. That adds a small positive
// diagonal E: (Z'QZ + E) x = -Z'y still is a descent, no longer than needed along null directions, and repeating the
// step with the new gradient (which is iterative refinement) removes the error E x.
//
// Accelerated projected gradient with restart, measured beside it at 24 and 96 variables (bench/simplex_qp_bench.cpp),
// takes 10 to 60 times longer to a violation of 3e-10, where this one reaches 1e-16; as a start, 3 to 100 iterations of
// it made the solution from zero 2 to 7 times slower.
#include "solvers/simplex_qp.h"

#include <Eigen/Core>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace scree {
namespace {

constexpr double eps = std::numeric_limits<double>::epsilon();
constexpr double infinity = std::numeric_limits<double>::infinity();

// One is common. From a warm start many orders of magnitude larger than the solution each gains some ten digits.
constexpr int max_refinements = 20;

bool is_tight(double sum, int size) { return sum >= 1 - 2 * eps * size; }

// Finite, and small enough for a few sums of its entries to be finite.
bool can_be_added(const double* x, Eigen::Index size) {
  return Eigen::Map<const Eigen::ArrayXd>(x, size).abs().sum() < std::numeric_limits<double>::max() / 16;
}

// Pivot k of a semidefinite matrix, given column k of what is left of it. Where rounding decides it is raised: above
// the rounding of m subtractions; where the matrix vanishes, to a number so small that a constraint ends the step; and
// far enough not to change another diagonal entry by more than its size, as h_j^2 <= h_k h_j would ensure.
double raised_pivot(const double* h, const double* x, const double* size, int k, int m) {
  double pivot = std::max({16 * eps * m * size[k], eps * std::abs(x[k]), std::numeric_limits<double>::min()});
  if (h[k] >= pivot) return h[k];
  for (int j = k + 1; j < m; ++j)
    if (h[j] != 0) pivot = std::max(pivot, std::abs(h[j]) * (std::abs(h[j]) / size[j]));
  return pivot;
}

}  // namespace

// Michelot's algorithm: with t = theta - max w in [-1, 0), w_j <- max(w_j - theta, 0), where theta makes the sum of the
// positive ones 1. Starting from all candidates, theta grows and the candidates become fewer until they are the
// positive ones. Relative to max w, so that nothing is lost when w is large.
void project_capped_simplex(double* w, int size) {
  double sum = 0, largest = 0;
  for (int j = 0; j < size; ++j) {
    if (!(w[j] > 0)) w[j] = 0;
    sum += w[j];
    largest = std::max(largest, w[j]);
  }
  if (sum <= 1 + eps * size) return;
  double t = -1;
  for (int before = size + 2, count = size + 1; count < before;) {
    before = count;
    count = 0;
    sum = 0;
    for (int j = 0; j < size; ++j) {
      if (w[j] - largest <= t) continue;
      sum += w[j] - largest;
      ++count;
    }
    t = (sum - 1) / count;
  }
  for (int j = 0; j < size; ++j) w[j] = std::max(w[j] - largest - t, 0.0);
}

// --- factored matrices

void FactoredMatrix::resize(int blocks, int size, int rank) {
  blocks_ = blocks, size_ = size, rank_ = rank, n_ = blocks * size;
  const auto grow = [](std::vector<double>& x, int count) {
    if (x.size() < static_cast<size_t>(count)) x.resize(static_cast<size_t>(count));
  };
  grow(S_, blocks * rank * blocks * rank);
  grow(E_, n_ * rank);
  grow(diagonal_, n_);
  columns_.reserve(static_cast<size_t>(n_) * static_cast<size_t>(n_));
  grow(product_, blocks * rank);
  known_.resize(std::max(known_.size(), static_cast<size_t>(n_)));
}

void FactoredMatrix::update(double shift_of_largest) {
  const int rows = blocks_ * rank_;
  double largest = 0;
  for (int j = 0; j < n_; ++j) {
    const int first = (j / size_) * rank_;
    const double *const e = E_.data() + j * rank_, *const block = S_.data() + first * rows + first;
    double sum = 0;
    for (int c = 0; c < rank_; ++c)
      for (int r = 0; r < rank_; ++r) sum += e[r] * block[c * rows + r] * e[c];
    diagonal_[static_cast<size_t>(j)] = sum;
    largest = std::max(largest, sum);
  }
  for (int j = 0; j < n_; ++j) diagonal_[static_cast<size_t>(j)] += shift_of_largest * largest;
  std::fill_n(known_.begin(), n_, 0);
}

// E^T (S E e_j) + shift e_j
const double* FactoredMatrix::column(int j) {
  double* const out = columns_.data() + static_cast<std::ptrdiff_t>(j) * n_;
  if (known_[static_cast<size_t>(j)]) return out;
  known_[static_cast<size_t>(j)] = 1;
  const int rows = blocks_ * rank_;
  const double *const e = E_.data() + j * rank_, *const block = S_.data() + (j / size_) * rank_ * rows;
  double* const product = product_.data();
  for (int r = 0; r < rows; ++r) product[r] = block[r] * e[0];
  for (int c = 1; c < rank_; ++c)
    for (int r = 0; r < rows; ++r) product[r] += block[c * rows + r] * e[c];
  const double* vertex = E_.data();
  for (int b = 0, i = 0; b < blocks_; ++b)
    for (int k = 0; k < size_; ++k, ++i, vertex += rank_) {
      double sum = 0;
      for (int r = 0; r < rank_; ++r) sum += vertex[r] * product[b * rank_ + r];
      out[i] = sum;
    }
  out[j] = diagonal_[static_cast<size_t>(j)];
  return out;
}

bool FactoredMatrix::usable() const {
  // |Q_ij|^2 <= Q_ii Q_jj
  return can_be_added(diagonal_.data(), n_) && can_be_added(S_.data(), blocks_ * rank_ * blocks_ * rank_);
}

void FactoredMatrix::add_product(const double* w, double* out) {
  for (int j = 0; j < n_; ++j) {
    if (w[j] == 0) continue;
    const double* const q = column(j);
    for (int i = 0; i < n_; ++i) out[i] += q[i] * w[j];
  }
}

namespace {

class DenseMatrix final : public SimplexMatrix {
 public:
  DenseMatrix(const double* Q, int n) : Q_(Q), n_(n) {}
  const double* column(int j) override { return Q_ + static_cast<std::ptrdiff_t>(j) * n_; }
  double diagonal(int j) const override { return Q_[static_cast<std::ptrdiff_t>(j) * n_ + j]; }
  bool usable() const override { return can_be_added(Q_, static_cast<Eigen::Index>(n_) * n_); }

 private:
  const double* Q_;
  int n_;
};

}  // namespace

// --- the method

struct SimplexQp::Problem {
  int blocks, size, n;
  SimplexMatrix& Q;
  const double* g;
  const double* column(int j) const { return Q.column(j); }
  double diagonal(int j) const { return Q.diagonal(j); }
};

void SimplexQp::reserve(int blocks, int n) {
  const auto size = static_cast<size_t>(n), count = static_cast<size_t>(blocks);
  if (size > gradient_.size()) {
    for (std::vector<double>* v : {&gradient_, &root_, &direction_, &right_, &size_}) v->resize(size);
    reduced_.reserve(size * size);
    free_.resize(size);
    variable_.resize(size);
  }
  if (count > scale_.size()) {
    scale_.resize(count);
    tight_.resize(count);
    pivot_.resize(count);
  }
}

// Projects w and reads its active set.
void SimplexQp::start(const Problem& problem, double* w) {
  double* const root = root_.data();
  char *const free = free_.data(), *const tight = tight_.data();
  for (int b = 0; b < problem.blocks; ++b) {
    const int first = b * problem.size, last = first + problem.size;
    project_capped_simplex(w + first, problem.size);
    double sum = 0;
    for (int j = first; j < last; ++j) {
      root[j] = std::sqrt(std::max(0.0, problem.diagonal(j)));
      free[j] = w[j] > 0;
      sum += w[j];
    }
    tight[b] = is_tight(sum, problem.size);
  }
}

// Gradient, scale of each block and largest violation at w, as SimplexQpReport defines them.
double SimplexQp::check(const Problem& problem, const double* w) {
  double *const y = gradient_.data(), *const scale = scale_.data();
  const double* const root = root_.data();
  std::copy_n(problem.g, problem.n, y);
  double sum_of_roots = 0;
  for (int j = 0; j < problem.n; ++j) {
    const double wj = w[j];
    if (wj == 0) continue;
    sum_of_roots += root[j] * wj;
    const double* const column = problem.column(j);
    for (int i = 0; i < problem.n; ++i) y[i] += column[i] * wj;
  }
  double violation = 0;
  for (int b = 0; b < problem.blocks; ++b) {
    double sum = 0, least = infinity, most = -infinity;  // of y: over all, over w_j > 0
    scale[b] = 0;
    for (int j = b * problem.size; j < (b + 1) * problem.size; ++j) {
      sum += w[j];
      scale[b] = std::max(scale[b], std::abs(problem.g[j]) + root[j] * sum_of_roots);
      least = std::min(least, y[j]);
      if (w[j] > 0) most = std::max(most, y[j]);
    }
    const double l = is_tight(sum, problem.size) ? std::max(0.0, -(most + least) / 2) : 0;
    const double v = std::max(most + l, -(least + l));
    if (v > 0) violation = std::max(violation, v / scale[b]);
  }
  return violation;
}

// Step 2, after check(). False if there is nothing to release.
bool SimplexQp::release(const Problem& problem, const double* w, double tolerance) {
  const double *const y = gradient_.data(), *const root = root_.data();
  char *const free = free_.data(), *const tight = tight_.data();
  bool released = false;
  for (int b = 0; b < problem.blocks; ++b) {
    const int first = b * problem.size, last = first + problem.size;
    const double bound = tolerance * scale_.data()[b];
    double l = 0;
    if (tight[b]) {
      double most = -infinity;
      for (int j = first; j < last; ++j)
        if (w[j] > 0) most = std::max(most, y[j]);
      l = -most;
      if (l < -bound) {
        tight[b] = false;
        released = true;
        continue;
      }
    }
    int best = -1;
    double gain = 0;
    for (int j = first; j < last; ++j) {
      if (free[j] || y[j] + l >= -bound || -(y[j] + l) <= gain * root[j]) continue;
      gain = root[j] > 0 ? -(y[j] + l) / root[j] : infinity;
      best = j;
      if (gain == infinity) break;
    }
    if (best < 0) continue;
    free[best] = true;
    released = true;
  }
  return released;
}

// Step 3: the direction from w to the minimiser of its face. False if it is not finite.
bool SimplexQp::find_direction(const Problem& problem, const double* w) {
  const double* const y = gradient_.data();
  double *const d = direction_.data(), *const H = reduced_.data(), *const x = right_.data(), *const size = size_.data();
  int *const pivot = pivot_.data(), *const variable = variable_.data();
  int m = 0;
  for (int b = 0; b < problem.blocks; ++b) {
    const int first = b * problem.size, last = first + problem.size;
    pivot[b] = tight_.data()[b] ? static_cast<int>(std::max_element(w + first, w + last) - w) : -1;
    for (int j = first; j < last; ++j)
      if (free_.data()[j] && j != pivot[b]) variable[m++] = j;
  }

  // Lower triangle of Z'QZ, right side -Z'y.
  for (int k = 0; k < m; ++k) {
    const int j = variable[k], q = pivot[j / problem.size];
    const double *const column = problem.column(j), *const other = q >= 0 ? problem.column(q) : nullptr;
    const auto entry = [&](int i) { return other ? column[i] - other[i] : column[i]; };
    double* const h = H + static_cast<std::ptrdiff_t>(k) * m;
    for (int a = k; a < m; ++a) {
      const int i = variable[a], p = pivot[i / problem.size];
      h[a] = p >= 0 ? entry(i) - entry(p) : entry(i);
    }
    size[k] = problem.diagonal(j) + (other ? problem.diagonal(q) : 0);
    x[k] = other ? y[q] - y[j] : -y[j];
  }

  // L D L' x = right side; the diagonal keeps 1/D.
  for (int k = 0; k < m; ++k) {
    double* const h = H + static_cast<std::ptrdiff_t>(k) * m;
    const double inverse = h[k] = 1 / raised_pivot(h, x, size, k, m);
    for (int j = k + 1; j < m; ++j) {
      const double l = h[j] * inverse;
      double* const target = H + static_cast<std::ptrdiff_t>(j) * m;
      for (int i = j; i < m; ++i) target[i] -= l * h[i];
    }
    const double xk = x[k];
    for (int i = k + 1; i < m; ++i) {
      h[i] *= inverse;
      x[i] -= h[i] * xk;
    }
  }
  for (int k = m; k-- > 0;) {
    const double* const h = H + static_cast<std::ptrdiff_t>(k) * m;
    double sum = x[k] * h[k];
    for (int i = k + 1; i < m; ++i) sum -= h[i] * x[i];
    x[k] = sum;
  }

  std::fill_n(d, problem.n, 0.0);
  for (int k = 0; k < m; ++k) {
    const int j = variable[k], q = pivot[j / problem.size];
    d[j] = x[k];
    if (q >= 0) d[q] -= x[k];
  }
  return can_be_added(d, problem.n);
}

// Step 3: w + alpha d with the largest feasible alpha <= 1. False if a constraint was in the way; it joins the active
// set.
bool SimplexQp::advance(const Problem& problem, double* w) {
  const double* const d = direction_.data();
  char *const free = free_.data(), *const tight = tight_.data();
  double alpha = 1;
  int blocking = -1;  // variable, or n + block
  for (int b = 0; b < problem.blocks; ++b) {
    double room = 1, growth = 0;
    for (int j = b * problem.size; j < (b + 1) * problem.size; ++j) {
      if (w[j] < -alpha * d[j]) {
        alpha = w[j] / -d[j];
        blocking = j;
      }
      room -= w[j];
      growth += d[j];
    }
    room = std::max(0.0, room);
    if (!tight[b] && room < alpha * growth) {
      alpha = room / growth;
      blocking = problem.n + b;
    }
  }

  for (int b = 0; b < problem.blocks; ++b) {
    const int first = b * problem.size, last = first + problem.size;
    int largest = first;
    for (int j = first; j < last; ++j) {
      if (!free[j]) continue;
      const double next = w[j] + alpha * d[j];
      w[j] = j == blocking || next < 4 * eps * w[j] ? 0 : next;  // what rounding leaves of a weight is none
      if (w[j] == 0 && d[j] <= 0) free[j] = false;
      if (w[j] > w[largest]) largest = j;
    }
    if (blocking == problem.n + b) tight[b] = true;
    double others = 0;
    for (int j = first; j < last; ++j)
      if (j != largest) others += w[j];
    if (tight[b] || others + w[largest] > 1) w[largest] = 1 - others;
  }
  return blocking < 0;
}

SimplexQpReport SimplexQp::solve(int blocks, int block_size, const double* Q, const double* g, double* w,
                                 const SimplexQpOptions& options) {
  DenseMatrix dense(Q, blocks * block_size);
  return solve(blocks, block_size, dense, g, w, options);
}

SimplexQpReport SimplexQp::solve(int blocks, int block_size, SimplexMatrix& Q, const double* g, double* w,
                                 const SimplexQpOptions& options) {
  assert(blocks >= 0 && block_size >= 1);
  const Problem problem{blocks, block_size, blocks * block_size, Q, g};
  const Eigen::Index n = problem.n;
  SimplexQpReport report;
  report.violation = infinity;
  if (!Q.usable() || !can_be_added(g, n) || !can_be_added(w, n)) return report;

  reserve(blocks, problem.n);
  if (std::all_of(g, g + n, [](double x) { return x == 0; })) std::fill_n(w, n, 0.0);  // f >= 0 = f(0)
  start(problem, w);
  bool at_minimum = false;  // of the face
  int refinements = 0;      // steps in a row with nothing to release
  for (;; ++report.iterations) {
    report.violation = check(problem, w);
    report.converged = report.violation <= options.tolerance;
    if (report.converged || report.iterations >= options.max_iterations) break;
    refinements = at_minimum && !release(problem, w, options.tolerance) ? refinements + 1 : 0;
    if (refinements > max_refinements || !find_direction(problem, w)) break;
    at_minimum = advance(problem, w);
  }
  return report;
}

}  // namespace scree
