// Linear complementarity problems: find z with
//
//   z >= 0,   w = M z + q >= 0,   z.w = 0.                                                              theory (12.5)
//
// Lemke's algorithm with a lexicographic ratio test (Cottle, Pang and Stone, "The Linear Complementarity Problem",
// chapter 4): it ends, at a solution or on a ray, also where problems are degenerate. For copositive M with q.z >= 0 on
// all solutions z of the problem with q = 0 it ends at a solution.                              theory (12.6), (12.7)
// Problems that look symmetric are tried by active sets first, which is faster.                           theory (12.9)
#pragma once

#include <Eigen/Core>
#include <functional>
#include <limits>
#include <vector>

#include "solvers/lcp_kernels.h"
#include "solvers/lcp_precise.h"

namespace scree {

enum class LcpStatus {
  solved,
  ray,                // Lemke's path goes to infinity: there is no solution if M is copositive-plus or P, unknown else
  iteration_limit,    // too many pivots
  numerical_failure,  // input that is not finite, or an end whose residual is too large
};
const char* lcp_status_name(LcpStatus status);

struct LcpOptions {
  double tolerance = 1e-10;  // > 0, dimensionless; compared with LcpReport::residual
  int max_pivots = 0;        // >= 0, of one try; 0: 100 + 20 n. Some n are usual
  // > 0, n of them, where Lemke's path starts: of several solutions another is found. None: (1, ..., 1).
  const double* covering = nullptr;
  // Without a covering vector, and where all diagonal entries are positive: guess which z_i are positive, compute them,
  // correct the guess, and call Lemke only if that leads to no solution.
  bool active_sets = true;
  bool precise = true;  // a last try with numbers of twice the precision, which takes some thirty times as long
  int restarts = 2;     // >= 0, further tries, from other covering vectors and with more ties, after one that failed
};

struct LcpReport {
  LcpStatus status = LcpStatus::numerical_failure;  // of the last try
  int iterations = 0;                               // pivots of all tries, or active sets
  int tries = 0;                                    // of Lemke
  // max_i |min(m z_i, w_i)| / scale, w = M z + q computed from the problem's data and the z returned, m = max |M_ij|
  // [the unit of w over that of z] or 1, scale = max_i (|q_i| + sum_j |M_ij| z_j): what the terms of w come to, so that
  // rounding of w is of the size of the machine's epsilon. It bounds negative parts of z and w, too.
  double residual = std::numeric_limits<double>::quiet_NaN();
  double scale = 0;  // [unit of w]
  bool solved() const { return status == LcpStatus::solved; }
};

// Scratch of the solver, one per thread. Allocates only when a problem is larger than all before it.
class Lemke {
 public:
  void reserve(int n);
  // M n x n, q and z of n. z: solution on exit, z >= 0 exactly; what the last try ended at if not solved (zero on a
  // ray).
  LcpReport solve(const Eigen::Ref<const Eigen::MatrixXd>& M, const Eigen::Ref<const Eigen::VectorXd>& q,
                  Eigen::Ref<Eigen::VectorXd> z, const LcpOptions& options = {});

 private:
  double* column(int k) { return table_ + static_cast<std::ptrdiff_t>(k) * stride_; }
  bool equilibrate(const LcpMatrix& M, const double* q);
  bool solve_active_sets(const LcpMatrix& M, const double* q, double* z, double tolerance, LcpReport& report);
  void start(const LcpMatrix& M, const double* q, int attempt, const double* covering);
  LcpStatus run(int max_pivots, int& pivots);
  int leaving_row(int entering);
  void pivot(int row, int entering);
  void solve_precisely(const LcpMatrix& M, const double* q, double* z, const LcpOptions& options, int max_pivots,
                       LcpReport& report);
  void read_solution(const LcpMatrix& M, const double* q, double* z, LcpReport& report);

  // The dictionary  x_B = b + C x_N  of w = M z + d z_0 + q: n basic variables as functions of n + 1 others, which are
  // zero. Variables are 0..n-1: w, n..2n-1: z, 2n: z_0. M and q are scaled to largest entries near 1.
  const LcpKernels& kernels_ = lcp_kernels();
  int n_ = 0, stride_ = 0;
  double size_q_ = 1, size_M_ = 1, tie_ = 0;  // scale of q, largest entry of M
  double *table_ = nullptr, *b_ = nullptr;    // C by columns, padded, then b
  std::vector<double> storage_;
  Eigen::VectorXd refined_, w_, row_scale_, column_scale_;
  Eigen::VectorXi basic_, nonbasic_;  // variable of a row, of a column
  Eigen::VectorXi row_, place_;       // of a variable: its row or -1, its column
  std::vector<int> ties_;
  PreciseLemke precise_;
};

// ---- All solutions ----
//
// A union of polyhedra, one for every choice of z_i = 0 or w_i = 0 for all i, which are faces of
// { z >= 0, M z + q >= 0 }: points, and where the problem is degenerate continua.
// theory (12.10)
struct LcpEnumerationOptions {
  double tolerance = 1e-10;  // > 0: solutions are accepted at the residual of LcpReport <= tolerance
  // What the search may take; what it has found when one of them is used up is returned as not complete.
  long max_nodes = 1'000'000;          // >= 1: faces and vertices looked at
  long max_pivots = 100'000'000;       // >= 1: of about n^2 multiplications each, or work like that
  size_t max_bytes = size_t{1} << 28;  // >= 1 [bytes]: faces and vertices waiting and remembered
  // k x n: a face of solutions on which `view` z does not change is not searched for all its vertices, of which it may
  // have millions; one is listed. None: every vertex.
  const Eigen::MatrixXd* view = nullptr;
  std::function<bool(long nodes)> progress = {};  // called now and then; false: the search ends, as without budget
  void validate(Eigen::Index n) const;            // throws InputError
};
struct LcpContinuum {
  std::vector<int> vertices;          // indices into LcpSolutionSet::z
  std::vector<Eigen::VectorXd> rays;  // of largest entry 1: vertices + any multiples >= 0 of these are solutions, too
  int dimension = 0;                  // > 0, of the hull of vertices and rays
  bool bounded() const { return rays.empty(); }
};
struct LcpSolutionSet {
  // Basic solutions: the vertices of all faces, in lexicographic order, no two within 1e-7 of each other relative to
  // the largest entries of each unknown.
  std::vector<Eigen::VectorXd> z;
  // Faces of more than one point that are no part of larger ones. A solution is an element of `z` or of one of these.
  std::vector<LcpContinuum> continua;
  bool complete = false;  // the search went through all choices; else what was found until the budget was used up
  long nodes = 0, pivots = 0;
  size_t bytes = 0;  // at most
  int rejected = 0;  // vertices dropped because their residual was above the tolerance: rounding is not harmless here
};
// Depth first over z_i = 0 or w_i = 0, choices that leave no feasible point are cut off by the simplex method. n <=
// 128. Throws InputError.
LcpSolutionSet enumerate_lcp_solutions(const Eigen::Ref<const Eigen::MatrixXd>& M,
                                       const Eigen::Ref<const Eigen::VectorXd>& q,
                                       const LcpEnumerationOptions& options = {});

// The residual of LcpReport, times its scale, which is returned as well.
double lcp_residual(const Eigen::Ref<const Eigen::MatrixXd>& M, const Eigen::Ref<const Eigen::VectorXd>& q,
                    const Eigen::Ref<const Eigen::VectorXd>& z, double& scale);

}  // namespace scree
