#include <fmt/format.h>

#include <Eigen/LU>
#include <Eigen/QR>
#include <algorithm>
#include <bitset>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <set>
#include <unordered_set>

#include "scree/error.h"
#include "solvers/lcp.h"

namespace scree {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// Rows and columns are scaled to largest entries near 1.
constexpr double kZero = 1e-9;     // values of variables below are zero
constexpr double kPivot = 1e-9;    // entries of the dictionary below that part of their column's largest are rounding
constexpr double kSame = 1e-7;     // solutions nearer than this are one
constexpr int kGreedyPivots = 50;  // of one linear program, by the steepest column; then by Bland's rule, which ends
constexpr int kMaxPivots = 5000;
constexpr int kLargestProblem = 128;
constexpr long kNodesBetweenReports = 64;

// The dictionary x_B = b + C x_N of w = M z + q. Variables are 0..n-1: w, n..2n-1: z, 2n: the one of phase one. Columns
// whose variables are fixed at zero are dropped.
struct Face {
  MatrixXd C;         // the first `columns` of n (+ 1)
  VectorXd b, shift;  // shift: of b + epsilon shift, which breaks ties
  std::vector<int> basic, nonbasic;
  std::vector<bool> fixed;  // of a variable: zero on the whole face
  int columns = 0, pivots = 0;
  long* work = nullptr;  // pivots of all faces

  int row_of(int variable) const {
    const auto at = std::find(basic.begin(), basic.end(), variable);
    return at == basic.end() ? -1 : static_cast<int>(at - basic.begin());
  }
  int column_of(int variable) const {
    const auto at = std::find(nonbasic.begin(), nonbasic.begin() + columns, variable);
    return at == nonbasic.begin() + columns ? -1 : static_cast<int>(at - nonbasic.begin());
  }
  double value(int variable) const {
    const int row = row_of(variable);
    return row < 0 ? 0 : std::max(0.0, b(row));
  }
  double least_pivot(int column) const { return kPivot * std::max(1.0, C.col(column).cwiseAbs().maxCoeff()); }

  void pivot(int row, int column) {
    const double inverse = 1 / C(row, column);
    VectorXd out = C.col(column);
    out(row) = 0;
    for (int j = 0; j < columns; ++j) {
      if (j == column) continue;
      const double factor = -inverse * C(row, j);
      if (factor == 0) continue;
      C.col(j) += factor * out;
      C(row, j) = factor;
    }
    for (VectorXd* x : {&b, &shift}) {
      const double step = -inverse * (*x)(row);
      *x += step * out;
      (*x)(row) = step;
    }
    C.col(column) = inverse * out;
    C(row, column) = inverse;
    std::swap(basic[static_cast<size_t>(row)], nonbasic[static_cast<size_t>(column)]);
    ++pivots;
    ++*work;
  }
  void drop(int column) {
    --columns;
    fixed[static_cast<size_t>(nonbasic[static_cast<size_t>(column)])] = true;
    C.col(column) = C.col(columns);
    std::swap(nonbasic[static_cast<size_t>(column)], nonbasic[static_cast<size_t>(columns)]);
  }
};

struct Leaf {
  std::vector<int> vertices;
  std::vector<VectorXd> rays;  // scaled
};

class Enumerator {
 public:
  Enumerator(const Eigen::Ref<const MatrixXd>& M, const Eigen::Ref<const VectorXd>& q,
             const LcpEnumerationOptions& options)
      : n_(static_cast<int>(q.size())), M_(M), q_(q), options_(options), rows_(n_), columns_(n_) {
    scale();
  }

  LcpSolutionSet run() {
    found_.complete = true;
    Face face = start();
    if (!failed_) explore(face);
    return finish();
  }

 private:
  // ---- Data ----

  // By powers of two, which round nothing: rows, columns and q to largest entries near 1.
  void scale() {
    const auto half_way = [](double size) { return size > 0 ? std::exp2(-std::round(0.5 * std::log2(size))) : 1.0; };
    rows_.setOnes();
    columns_.setOnes();
    A_ = M_;
    for (int sweep = 0; sweep < 4; ++sweep) {
      for (int i = 0; i < n_; ++i) {
        const double r = half_way(A_.row(i).cwiseAbs().maxCoeff());
        A_.row(i) *= r;
        rows_(i) *= r;
      }
      for (int j = 0; j < n_; ++j) {
        const double c = half_way(A_.col(j).cwiseAbs().maxCoeff());
        A_.col(j) *= c;
        columns_(j) *= c;
      }
    }
    p_ = rows_.cwiseProduct(q_);
    const double size = p_.cwiseAbs().maxCoeff();
    size_ = size > 0 ? std::exp2(std::round(std::log2(size))) : 1;
    p_ /= size_;
  }

  // A feasible dictionary: x_0 is added to all rows, as large as needed, then brought to zero.
  Face start() {
    Face face;
    face.C.resize(n_, n_ + 1);
    face.C << A_, VectorXd::Ones(n_);
    face.b = p_;
    face.shift = VectorXd::Zero(n_);
    face.basic.resize(static_cast<size_t>(n_));
    std::iota(face.basic.begin(), face.basic.end(), 0);
    face.nonbasic.resize(static_cast<size_t>(n_ + 1));
    std::iota(face.nonbasic.begin(), face.nonbasic.end(), n_);
    face.fixed.assign(static_cast<size_t>(2 * n_ + 1), false);
    face.columns = n_ + 1;
    face.work = &found_.pivots;
    int row = 0;
    if (p_.minCoeff(&row) < 0) face.pivot(row, n_);
    failed_ = !fix(face, 2 * n_);
    return face;
  }

  // The dictionary computed anew from the data, so that rounding does not add up.
  void refresh(Face& face) const {
    if (face.pivots < n_) return;
    face.pivots = 0;
    // B x_B = p - N x_N of w - A z = p
    const auto column = [&](int variable) -> VectorXd {
      if (variable < n_) return VectorXd::Unit(n_, variable);
      return variable < 2 * n_ ? VectorXd(-A_.col(variable - n_)) : VectorXd::Constant(n_, -1);
    };
    MatrixXd B(n_, n_), N(n_, face.columns + 1);
    for (int i = 0; i < n_; ++i) B.col(i) = column(face.basic[static_cast<size_t>(i)]);
    for (int j = 0; j < face.columns; ++j) N.col(j) = column(face.nonbasic[static_cast<size_t>(j)]);
    N.col(face.columns) = p_;
    N = B.partialPivLu().solve(N).eval();
    if (!N.allFinite()) return;
    face.C.leftCols(face.columns) = -N.leftCols(face.columns);
    face.b = N.col(face.columns);
  }

  // ---- Linear programs on a face ----

  // The row whose variable reaches zero first while that of the column grows; of several the preferred one, else the
  // largest pivot, or the variable of lowest index (`bland`). -1: none.
  int leaving_row(const Face& face, int column, int preferred, bool bland) const {
    const double least = face.least_pivot(column);
    double limit = std::numeric_limits<double>::infinity();
    for (int i = 0; i < n_; ++i)
      if (face.C(i, column) < -least) limit = std::min(limit, (std::max(0.0, face.b(i)) + kZero) / -face.C(i, column));
    int row = -1;
    for (int i = 0; i < n_; ++i) {
      const double c = face.C(i, column);
      if (!(c < -least && std::max(0.0, face.b(i)) <= -limit * c)) continue;
      if (i == preferred) return i;
      if (row < 0 ||
          (bland ? face.basic[static_cast<size_t>(i)] < face.basic[static_cast<size_t>(row)] : c < face.C(row, column)))
        row = i;
    }
    return row;
  }

  // The column along which the variable of a row falls (sign -1) or grows (+1); -1: none.
  int improving_column(const Face& face, int row, int sign, bool bland) const {
    int best = -1;
    for (int j = 0; j < face.columns; ++j) {
      const double c = sign * face.C(row, j);
      if (!(c > kPivot)) continue;
      if (best < 0 || (bland ? face.nonbasic[static_cast<size_t>(j)] < face.nonbasic[static_cast<size_t>(best)]
                             : c > sign * face.C(row, best)))
        best = j;
    }
    return best;
  }

  // Restricts the face to where a variable is zero. False: it is nowhere.
  bool fix(Face& face, int variable) {
    if (face.fixed[static_cast<size_t>(variable)]) return true;
    for (int k = 0; k < kMaxPivots; ++k) {
      if (const int column = face.column_of(variable); column >= 0) {
        face.drop(column);
        return true;
      }
      const int row = face.row_of(variable);
      const bool bland = k > kGreedyPivots;
      int column = improving_column(face, row, -1, bland), leaves = row;
      if (column >= 0) {
        leaves = leaving_row(face, column, row, bland);
        // Entries of this row may be below what counts in a column of large ones: then it is the one that blocks.
        if (leaves < 0) leaves = row;
      } else {
        if (face.b(row) > kZero) return false;
        // Zero already. It leaves at any column, or is zero everywhere.
        const double largest = face.columns == 0 ? 0 : face.C.row(row).head(face.columns).cwiseAbs().maxCoeff(&column);
        if (!(largest > kPivot)) {
          face.fixed[static_cast<size_t>(variable)] = true;
          return true;
        }
        face.b(row) = 0;
      }
      face.pivot(leaves, column);
    }
    found_.complete = false;
    return false;
  }

  // Is a variable anything but zero on the face? `moves`: variables that were not, of any vertex seen, are marked.
  bool positive(Face face, int variable, std::vector<bool>* moves = nullptr) {
    if (face.fixed[static_cast<size_t>(variable)]) return false;
    ++found_.pivots;  // the copy of a face takes as long
    for (int k = 0; k < kMaxPivots; ++k) {
      if (moves)
        for (int i = 0; i < n_; ++i)
          if (face.b(i) > kZero) (*moves)[static_cast<size_t>(face.basic[static_cast<size_t>(i)])] = true;
      if (face.value(variable) > kZero) return true;
      const bool bland = k > kGreedyPivots;
      int column = face.column_of(variable), row = -1;
      if (column < 0) {
        row = face.row_of(variable);
        column = improving_column(face, row, 1, bland);
        if (column < 0) return false;
      }
      const int leaves = leaving_row(face, column, -1, bland);
      if (leaves < 0) return true;  // without bound
      const double step = std::max(0.0, face.b(leaves)) / -face.C(leaves, column);
      if (step * (row < 0 ? 1 : face.C(row, column)) > kZero) return true;
      face.pivot(leaves, column);
    }
    found_.complete = false;
    return true;
  }

  // Fixes all variables that are zero on the whole face: its dimension is the number of columns left.
  void reduce(Face& face) {
    std::vector<bool> moves(static_cast<size_t>(2 * n_ + 1), false);
    for (int v = 0; v < 2 * n_; ++v)
      if (!face.fixed[static_cast<size_t>(v)] && !moves[static_cast<size_t>(v)] && face.value(v) <= kZero &&
          !positive(face, v, &moves))
        fix(face, v);
  }

  // ---- The search ----

  // One more node. False: the budget is used up, and the search ends.
  bool spend() {
    ++found_.nodes;
    const size_t n = static_cast<size_t>(n_), word = sizeof(double), entry = 64;  // of a node-based container
    const size_t face = (n * (n + 3) + 6 * n) * word;
    found_.bytes = std::max(found_.bytes, open_faces_ * face + seen_bases_ * (n * sizeof(int) + entry) +
                                              vertices_.size() * n * word + seen_.size() * (sizeof(Zeros) + entry));
    const bool stop = options_.progress && found_.nodes % kNodesBetweenReports == 0 && !options_.progress(found_.nodes);
    if (stop || found_.nodes > options_.max_nodes || found_.pivots > options_.max_pivots ||
        found_.bytes > options_.max_bytes)
      found_.complete = false, spent_ = true;
    return !spent_;
  }

  void explore(Face& face) {
    if (spent_ || !spend()) return;
    refresh(face);
    reduce(face);
    // A face is what is zero on it. It may have been here by another order of choices, or be part of solutions known.
    const Zeros zeros = zeros_of(face);
    if (!seen_.insert(zeros).second) return;
    const auto within = [&](const Zeros& solutions) { return (solutions & zeros) == solutions; };
    if (std::any_of(leaf_zeros_.begin(), leaf_zeros_.end(), within)) return;
    // Branch where complementarity is violated most; else at the first choice that is open.
    int open = -1;
    double worst = -1;
    for (int i = 0; i < n_; ++i) {
      if (face.fixed[static_cast<size_t>(i)] || face.fixed[static_cast<size_t>(n_ + i)]) continue;
      const double both = std::min(face.value(i), face.value(n_ + i));
      if (both > worst) worst = both, open = i;
    }
    if (open < 0) {
      leaf_zeros_.push_back(zeros);
      return add_leaf(face);
    }
    for (const int variable : {open, n_ + open}) {
      Face part = face;
      if (fix(part, variable)) explore(part);
    }
  }

  using Zeros = std::bitset<2 * kLargestProblem>;
  Zeros zeros_of(const Face& face) const {
    Zeros zeros;
    for (int v = 0; v < 2 * n_; ++v) zeros[static_cast<size_t>(v)] = face.fixed[static_cast<size_t>(v)];
    return zeros;
  }

  // Does `view` z not change on the face? Its directions are the columns left, and what changes below 1e-9 of the terms
  // that make it up is rounding.
  bool looks_the_same(const Face& face) const {
    if (!options_.view) return false;
    for (int j = 0; j < face.columns; ++j) {
      const VectorXd direction = columns_.cwiseProduct(ray(face, j));
      const VectorXd change = *options_.view * direction, terms = options_.view->cwiseAbs() * direction.cwiseAbs();
      if (change.cwiseAbs().maxCoeff() > kPivot * terms.maxCoeff()) return false;
    }
    return true;
  }

  // All vertices and extreme rays of a face, by pivots between its bases. b is replaced by b + epsilon shift with any
  // positive shift, so that no vertex has two bases.
  void add_leaf(Face face) {
    std::mt19937_64 random(20);
    for (double& x : face.shift) x = 0.5 + 0x1p-53 * static_cast<double>(random() >> 11);
    Leaf leaf;
    if (const int vertex = looks_the_same(face) ? add_vertex(face) : -1; vertex >= 0) {
      leaf.vertices.push_back(vertex);
      leaves_.push_back(std::move(leaf));
      return;
    }
    std::set<std::vector<int>> seen;
    std::vector<Face> open;
    const auto visit = [&](Face&& next) {
      std::vector<int> key(next.nonbasic.begin(), next.nonbasic.begin() + next.columns);
      std::sort(key.begin(), key.end());
      if (seen.insert(std::move(key)).second) open.push_back(std::move(next));
    };
    visit(std::move(face));
    while (!open.empty()) {
      const Face at = std::move(open.back());
      open.pop_back();
      open_faces_ = open.size();
      seen_bases_ = seen.size();
      if (!spend()) break;
      if (const int vertex = add_vertex(at); vertex >= 0) leaf.vertices.push_back(vertex);
      for (int j = 0; j < at.columns; ++j) {
        const int row = shifted_row(at, j);
        if (row < 0) {
          leaf.rays.push_back(ray(at, j));
          continue;
        }
        Face next = at;
        next.pivot(row, j);
        visit(std::move(next));
      }
    }
    leaves_.push_back(std::move(leaf));
    open_faces_ = seen_bases_ = 0;
  }

  int shifted_row(const Face& face, int column) const {
    const double least = face.least_pivot(column);
    double limit = std::numeric_limits<double>::infinity();
    for (int i = 0; i < n_; ++i)
      if (face.C(i, column) < -least) limit = std::min(limit, (std::max(0.0, face.b(i)) + kZero) / -face.C(i, column));
    int row = -1;
    double smallest = std::numeric_limits<double>::infinity();
    for (int i = 0; i < n_; ++i) {
      const double c = face.C(i, column);
      if (!(c < -least && std::max(0.0, face.b(i)) <= -limit * c)) continue;
      const double ratio = face.shift(i) / -c;
      if (ratio < smallest) smallest = ratio, row = i;
    }
    return row;
  }

  VectorXd ray(const Face& face, int column) const {
    VectorXd direction = VectorXd::Zero(n_);
    const auto set = [&](int variable, double x) {
      if (variable >= n_ && variable < 2 * n_) direction(variable - n_) = std::abs(x) > kPivot ? x : 0;
    };
    set(face.nonbasic[static_cast<size_t>(column)], 1);
    for (int i = 0; i < n_; ++i) set(face.basic[static_cast<size_t>(i)], face.C(i, column));
    return direction;
  }

  // The vertex of a dictionary, computed anew from the variables that are zero in it, if it is a solution: its index.
  int add_vertex(const Face& face) {
    std::vector<int> support, tight;
    VectorXd z = VectorXd::Zero(n_);
    for (int i = 0; i < n_; ++i) {
      if (face.value(i) <= kZero) tight.push_back(i);
      const double x = face.value(n_ + i);
      if (x > kZero) support.push_back(i), z(i) = x;
    }
    if (!support.empty()) {
      const MatrixXd basis = A_(tight, support);
      const VectorXd right = -p_(tight);
      const Eigen::ColPivHouseholderQR<MatrixXd> qr(basis);
      if (qr.rank() == static_cast<Eigen::Index>(support.size())) {
        VectorXd finer = VectorXd::Zero(n_);
        VectorXd solution = qr.solve(right);
        solution += qr.solve(right - basis * solution);
        finer(support) = solution.cwiseMax(0);
        if (residual(finer) <= residual(z)) z = finer;
      }
    }
    if (!(residual(z) <= options_.tolerance)) {
      ++found_.rejected;
      return -1;
    }
    found_.pivots += std::ssize(vertices_) / n_;  // so much work is the search below
    for (size_t k = 0; k < vertices_.size(); ++k) {
      const double size = std::max(z.maxCoeff(), vertices_[k].maxCoeff());
      if ((z - vertices_[k]).cwiseAbs().maxCoeff() <= kSame * size + kZero) return static_cast<int>(k);
    }
    vertices_.push_back(z);
    return static_cast<int>(vertices_.size()) - 1;
  }

  VectorXd unscaled(const VectorXd& z) const { return size_ * columns_.cwiseProduct(z); }
  double residual(const VectorXd& z) const {
    double size = 0;
    const double left = lcp_residual(M_, q_, unscaled(z), size);
    return left / (size > 0 ? size : 1);
  }

  // ---- The answer ----

  LcpSolutionSet finish() {
    const int count = static_cast<int>(vertices_.size());
    std::vector<int> order(vertices_.size()), place(vertices_.size());
    std::iota(order.begin(), order.end(), 0);
    const auto before = [&](int a, int b) {
      const VectorXd &x = vertices_[static_cast<size_t>(a)], &y = vertices_[static_cast<size_t>(b)];
      return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end());
    };
    std::sort(order.begin(), order.end(), before);
    for (int k = 0; k < count; ++k) {
      place[static_cast<size_t>(order[static_cast<size_t>(k)])] = k;
      found_.z.push_back(unscaled(vertices_[static_cast<size_t>(order[static_cast<size_t>(k)])]));
    }
    std::vector<std::set<int>> corners;
    for (Leaf& leaf : leaves_) {
      LcpContinuum face;
      std::set<int> vertices;
      for (const int k : leaf.vertices) vertices.insert(place[static_cast<size_t>(k)]);
      face.vertices.assign(vertices.begin(), vertices.end());
      for (const VectorXd& direction : leaf.rays) {
        VectorXd r = columns_.cwiseProduct(direction);
        r /= r.maxCoeff();
        const bool known = std::any_of(face.rays.begin(), face.rays.end(), [&](const VectorXd& other) {
          return (r - other).cwiseAbs().maxCoeff() <= kSame;
        });
        if (!known) face.rays.push_back(r);
      }
      if (face.vertices.empty() || face.vertices.size() + face.rays.size() < 2) continue;
      face.dimension = dimension(face);
      found_.continua.push_back(std::move(face));
    }
    drop_parts();
    return std::move(found_);
  }

  // The rank of vertices minus the first one and rays, in scaled units.
  int dimension(const LcpContinuum& face) const {
    MatrixXd span(n_, static_cast<Eigen::Index>(face.vertices.size() - 1 + face.rays.size()));
    Eigen::Index k = 0;
    const auto add = [&](const VectorXd& d) {
      const VectorXd scaled = d.cwiseQuotient(columns_);
      span.col(k++) = scaled / scaled.cwiseAbs().maxCoeff();
    };
    const VectorXd& first = found_.z[static_cast<size_t>(face.vertices[0])];
    for (size_t i = 1; i < face.vertices.size(); ++i) add(found_.z[static_cast<size_t>(face.vertices[i])] - first);
    for (const VectorXd& r : face.rays) add(r);
    Eigen::ColPivHouseholderQR<MatrixXd> qr(span);
    qr.setThreshold(kSame);
    return static_cast<int>(qr.rank());
  }

  // Of faces found in several branches, and of those that are faces of others, one is left.
  void drop_parts() {
    auto& all = found_.continua;
    const auto part_of = [](const LcpContinuum& a, const LcpContinuum& b) {
      const auto has = [&](const VectorXd& r) {
        return std::any_of(b.rays.begin(), b.rays.end(),
                           [&](const VectorXd& s) { return (r - s).cwiseAbs().maxCoeff() <= 2 * kSame; });
      };
      return std::includes(b.vertices.begin(), b.vertices.end(), a.vertices.begin(), a.vertices.end()) &&
             std::all_of(a.rays.begin(), a.rays.end(), has);
    };
    std::stable_sort(all.begin(), all.end(), [](const LcpContinuum& a, const LcpContinuum& b) {
      return std::pair(b.dimension, a.vertices) < std::pair(a.dimension, b.vertices);
    });
    std::vector<LcpContinuum> kept;
    for (LcpContinuum& face : all)
      if (std::none_of(kept.begin(), kept.end(), [&](const LcpContinuum& other) { return part_of(face, other); }))
        kept.push_back(std::move(face));
    all = std::move(kept);
  }

  int n_;
  Eigen::Ref<const MatrixXd> M_;
  Eigen::Ref<const VectorXd> q_;
  const LcpEnumerationOptions& options_;
  VectorXd rows_, columns_, p_;
  MatrixXd A_;
  double size_ = 1;
  bool failed_ = false, spent_ = false;
  size_t open_faces_ = 0, seen_bases_ = 0;  // of the leaf at hand
  std::vector<VectorXd> vertices_;
  std::vector<Leaf> leaves_;
  std::vector<Zeros> leaf_zeros_;
  std::unordered_set<Zeros> seen_;
  LcpSolutionSet found_;
};

}  // namespace

void LcpEnumerationOptions::validate(Eigen::Index n) const {
  if (!(tolerance > 0)) throw InputError(fmt::format("lcp enumeration: tolerance {}, expected > 0", tolerance));
  if (max_nodes < 1) throw InputError(fmt::format("lcp enumeration: max_nodes {}, expected >= 1", max_nodes));
  if (max_pivots < 1) throw InputError(fmt::format("lcp enumeration: max_pivots {}, expected >= 1", max_pivots));
  if (max_bytes < 1) throw InputError(fmt::format("lcp enumeration: max_bytes {}, expected >= 1", max_bytes));
  if (view && view->cols() != n)
    throw InputError(fmt::format("lcp enumeration: a view of {} columns, expected {}", view->cols(), n));
}

LcpSolutionSet enumerate_lcp_solutions(const Eigen::Ref<const MatrixXd>& M, const Eigen::Ref<const VectorXd>& q,
                                       const LcpEnumerationOptions& options) {
  const Eigen::Index n = q.size();
  options.validate(n);
  if (n > kLargestProblem)
    throw InputError(fmt::format("lcp enumeration: {} unknowns, expected at most {}", n, kLargestProblem));
  if (M.rows() != n || M.cols() != n)
    throw InputError(fmt::format("lcp enumeration: a matrix of {} x {}, expected {} x {}", M.rows(), M.cols(), n, n));
  if (!M.allFinite() || !q.allFinite())
    throw InputError("lcp enumeration: a number is not finite, expected finite numbers");
  if (n == 0) {
    LcpSolutionSet empty;
    empty.z.emplace_back(0);
    empty.complete = true;
    return empty;
  }
  return Enumerator(M, q, options).run();
}

}  // namespace scree
