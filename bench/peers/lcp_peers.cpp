// Linear complementarity problems of random contacts: our Lemke beside Siconos and DART, in one run. Every answer is
// checked anew with lcp_residual; what a solver calls solved and is not counts as wrong.
//
//   friction 0: normals only. M is positive semidefinite, and all solve the same problem, DART by Dantzig's algorithm.
//   friction k: k directions a contact, the problem of Stewart and Trinkle. DART solves it by its Lemke. Its Dantzig
//     solves another one of the same contacts, a box of two tangents a contact, a third of the size, in a line of its
//     own: bounds are mu times the normal impulses of a problem without friction. Its answers are checked by Coulomb's
//     law with the normal impulses returned.
#include <fcntl.h>
#include <fmt/format.h>
#include <siconos/numerics/LCP_Solvers.h>
#include <siconos/numerics/LinearComplementarityProblem.h>
#include <siconos/numerics/NonSmoothDrivers.h>
#include <siconos/numerics/NumericsMatrix.h>
#include <siconos/numerics/SolverOptions.h>
#include <siconos/numerics/lcp_cst.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <dart/constraint/DantzigBoxedLcpSolver.hpp>
#include <dart/lcpsolver/Lemke.hpp>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "solvers/lcp.h"
#include "support/contact_problems.h"

namespace {

using namespace scree;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using test::ContactProblem;
using test::LcpProblem;

constexpr double kPatience = 5e6;  // [us] of one solver for one kind of problem
constexpr double kRight = 1e-8;    // residual relative to the terms, more than any caller would mind

struct Instance {
  ContactProblem contacts;
  LcpProblem lcp;
};

// One solver: `solve` is timed, the rest is not.
struct Solver {
  std::string name;
  std::function<void(const Instance&)> prepare;  // before every call
  std::function<bool(const Instance&)> solve;    // says whether it succeeded
  std::function<bool(const Instance&)> right;    // is the answer one?
};

struct Score {
  std::vector<double> us;   // best of five, of every problem
  std::vector<bool> right;  // solved, and the answer is one
  int wrong = 0, failed = 0;
};

// Some solvers write about rays and internal errors to the terminal.
class Silence {
 public:
  Silence() : out_(dup(1)), error_(dup(2)) {
    std::fflush(nullptr);
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, 1);
    dup2(nowhere, 2);
    close(nowhere);
  }
  ~Silence() {
    std::fflush(nullptr);
    dup2(out_, 1);
    dup2(error_, 2);
    close(out_);
    close(error_);
  }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  int out_, error_;
};

Score measure(const Solver& solver, const std::vector<Instance>& instances) {
  using Clock = std::chrono::steady_clock;
  const Silence silence;
  Score score;
  double total = 0;
  for (const Instance& instance : instances) {
    if (total > kPatience) break;
    double best = std::numeric_limits<double>::infinity();
    bool success = false;
    for (int repetition = 0; repetition < 5 && (repetition == 0 || best < 1e4); ++repetition) {
      solver.prepare(instance);
      const auto start = Clock::now();
      success = solver.solve(instance);
      const double us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
      best = std::min(best, us);
      total += us;
    }
    const bool right = success && solver.right(instance);
    score.us.push_back(best);
    score.right.push_back(right);
    score.failed += !success;
    score.wrong += success && !right;
  }
  return score;
}

double median(std::vector<double> x) {
  if (x.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::nth_element(x.begin(), x.begin() + static_cast<long>(x.size() / 2), x.end());
  return x[x.size() / 2];
}

bool solves(const LcpProblem& p, const VectorXd& z) {
  double scale = 0;
  const double left = lcp_residual(p.M, p.q, z, scale);
  return z.minCoeff() >= -kRight * std::max(1.0, z.maxCoeff()) && left <= kRight * std::max(scale, 1e-300);
}

Solver ours() {
  auto lemke = std::make_shared<Lemke>();
  auto z = std::make_shared<VectorXd>();
  return {"scree", [=](const Instance& i) { z->resize(i.lcp.size()); },
          [=](const Instance& i) { return lemke->solve(i.lcp.M, i.lcp.q, *z).solved(); },
          [=](const Instance& i) { return solves(i.lcp, *z); }};
}

// `direct`: the solver itself, without the check that the driver makes of its answer.
Solver siconos(const std::string& name, int id, bool direct = false) {
  struct Data {
    VectorXd z, w;
    MatrixXd M;
    VectorXd q;
    LinearComplementarityProblem problem{};
    SolverOptions* options = nullptr;
  };
  auto data = std::make_shared<Data>();
  data->options = solver_options_create(id);
  data->options->iparam[SICONOS_IPARAM_MAX_ITER] = 100000;
  data->options->dparam[SICONOS_DPARAM_TOL] = 1e-8;
  const auto prepare = [=](const Instance& i) {
    data->z = VectorXd::Zero(i.lcp.size());
    data->w = VectorXd::Zero(i.lcp.size());
    data->M = i.lcp.M;
    data->q = i.lcp.q;
    if (data->problem.size != i.lcp.size()) {
      // Work arrays of the solver have the size of its first problem.
      const int id_again = data->options->solverId;
      solver_options_delete(data->options);
      data->options = solver_options_create(id_again);
      data->options->iparam[SICONOS_IPARAM_MAX_ITER] = 100000;
      data->options->dparam[SICONOS_DPARAM_TOL] = 1e-8;
      data->problem.size = i.lcp.size();
      data->problem.M = NM_create_from_data(NM_DENSE, i.lcp.size(), i.lcp.size(), data->M.data());
    }
    data->problem.M->matrix0 = data->M.data();
    data->problem.q = data->q.data();
  };
  return {name, prepare,
          [=](const Instance&) {
            int info = 1;
            if (direct) {
              lcp_lexicolemke(&data->problem, data->z.data(), data->w.data(), &info, data->options);
              return info == 0;
            }
            return linearComplementarity_driver(&data->problem, data->z.data(), data->w.data(), data->options) == 0;
          },
          [=](const Instance& i) { return solves(i.lcp, data->z); }};
}

Solver dart_lemke() {
  auto z = std::make_shared<VectorXd>();
  return {"DART Lemke", [=](const Instance& i) { *z = VectorXd::Zero(i.lcp.size()); },
          [=](const Instance& i) { return dart::lcpsolver::Lemke(i.lcp.M, i.lcp.q, z.get()) == 0; },
          [=](const Instance& i) { return z->size() == i.lcp.size() && solves(i.lcp, *z); }};
}

// A x = b + w with lo <= x <= hi; rows of A are padded to a multiple of four. A is overwritten by the solver.
struct Box {
  dart::constraint::DantzigBoxedLcpSolver solver;
  std::vector<double> A, x, b, lo, hi;
  std::vector<int> index;
  int n = 0;
  void set(const MatrixXd& M, const VectorXd& q) {
    n = static_cast<int>(q.size());
    const int stride = n > 1 ? (n - 1) / 4 * 4 + 4 : n;
    const auto size = static_cast<size_t>(n);
    A.assign(size * static_cast<size_t>(stride), 0);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) A[static_cast<size_t>(i * stride + j)] = M(i, j);
    x.assign(size, 0);
    b.assign(size, 0);
    for (int i = 0; i < n; ++i) b[static_cast<size_t>(i)] = -q(i);
    lo.assign(size, 0);
    hi.assign(size, std::numeric_limits<double>::infinity());
    index.assign(size, -1);
  }
  bool solve() { return solver.solve(n, A.data(), x.data(), b.data(), 0, lo.data(), hi.data(), index.data(), false); }
};

Solver dart_dantzig() {
  auto box = std::make_shared<Box>();
  return {"DART Dantzig", [=](const Instance& i) { box->set(i.lcp.M, i.lcp.q); },
          [=](const Instance&) { return box->solve(); },
          [=](const Instance& i) { return solves(i.lcp, Eigen::Map<const VectorXd>(box->x.data(), i.lcp.size())); }};
}

Solver dart_box() {
  auto box = std::make_shared<Box>();
  const auto prepare = [=](const Instance& i) {
    const ContactProblem& p = i.contacts;
    box->set(p.J * p.J.transpose(), p.J * p.v);
    for (int k = 0; k < p.contacts * p.tangents; ++k) {
      const auto at = static_cast<size_t>(p.contacts + k);
      const int contact = k / p.tangents;
      box->index[at] = contact;
      box->lo[at] = -p.mu(contact);
      box->hi[at] = p.mu(contact);
    }
  };
  // w = 0 inside the box |x_t| <= mu x_n, opposed to it on its sides; normals as without friction.
  const auto right = [=](const Instance& i) {
    const ContactProblem& p = i.contacts;
    const Eigen::Map<const VectorXd> x(box->x.data(), box->n);
    const MatrixXd A = p.J * p.J.transpose();
    const VectorXd w = A * x + p.J * p.v;
    const double size = (A.cwiseAbs() * x.cwiseAbs() + (p.J * p.v).cwiseAbs()).maxCoeff(), a = A.cwiseAbs().maxCoeff();
    for (int k = 0; k < box->n; ++k) {
      double left = 0;
      if (k < p.contacts) {
        left = std::abs(std::min(a * x(k), w(k)));
      } else {
        const double bound = p.mu((k - p.contacts) / p.tangents) * x((k - p.contacts) / p.tangents);
        const double projected = std::clamp(a * x(k) - w(k), -a * std::max(0.0, bound), a * std::max(0.0, bound));
        left = std::abs(a * x(k) - projected);
      }
      if (!(left <= kRight * size)) return false;
    }
    return true;
  };
  return {"DART box", prepare, [=](const Instance&) { return box->solve(); }, right};
}

// `regular`: more dofs than contacts, no contact twice, M positive definite. Else either, and some matrices are
// singular.
std::vector<Instance> draw(int contacts, bool spatial, int directions, bool regular, int count, unsigned seed) {
  test::Random random(seed);
  std::vector<Instance> instances;
  while (static_cast<int>(instances.size()) < count) {
    const int dofs = spatial ? 6 : 3;
    const double share = regular ? test::uniform(random, 1.2, 2) : test::uniform(random, 0.7, 2);
    const test::ContactRecipe recipe{.bodies = std::max(1, static_cast<int>(std::ceil(contacts * share / dofs))),
                                     .contacts = contacts,
                                     .spatial = spatial,
                                     .directions = directions,
                                     .mu = test::uniform(random, 0, 1),
                                     .decades = 1,
                                     .duplicates = regular ? 0.0 : 0.05};
    const ContactProblem p = test::random_contacts(random, recipe);
    const LcpProblem lcp = test::contact_lcp(p, directions);
    if (lcp.q.minCoeff() < 0) instances.push_back({p, lcp});  // else there is nothing to do
  }
  return instances;
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 200;
  struct Case {
    const char* kind;
    int contacts;
    bool spatial;
    int directions;
    bool regular;
  };
  const Case cases[] = {
      {"normals, regular", 12, true, 0, true},  {"normals", 12, true, 0, false},  {"friction 2", 3, false, 2, false},
      {"normals, regular", 30, true, 0, true},  {"normals", 30, true, 0, false},  {"friction 8", 3, true, 8, false},
      {"normals, regular", 150, true, 0, true}, {"normals", 150, true, 0, false}, {"friction 8", 15, true, 8, false}};
  fmt::print(
      "{} problems of each kind. us: median of the best of five, of right answers. ratio: such a median over that of\n"
      "scree for the same problems, those which both answered right. wrong: called solved, residual above {:.0e}.\n",
      count, kRight);
  fmt::print("{:>4} {:<17} {:<14} {:>10} {:>7} {:>9} {:>6} {:>6}\n", "n", "kind", "solver", "us", "ratio", "problems",
             "wrong", "failed");
  for (const Case& c : cases) {
    const std::vector<Instance> instances = draw(c.contacts, c.spatial, c.directions, c.regular, count, 1);
    std::vector<Solver> solvers{ours(), siconos("Siconos Lemke", SICONOS_LCP_LEMKE),
                                siconos("Siconos direct", SICONOS_LCP_LEMKE, true),
                                siconos("Siconos pivot", SICONOS_LCP_PIVOT)};
    if (c.directions == 0) solvers.push_back(dart_dantzig());
    solvers.push_back(dart_lemke());
    if (c.directions > 0) solvers.push_back(dart_box());
    Score own;
    for (const Solver& solver : solvers) {
      const Score score = measure(solver, instances);
      if (own.us.empty()) own = score;
      std::vector<double> theirs, common, same;
      for (size_t k = 0; k < score.us.size(); ++k) {
        if (!score.right[k]) continue;
        theirs.push_back(score.us[k]);
        if (!own.right[k]) continue;
        common.push_back(score.us[k]);
        same.push_back(own.us[k]);
      }
      fmt::print("{:>4} {:<17} {:<14} {:>10.2f} {:>7.2f} {:>9} {:>6} {:>6}\n", instances[0].lcp.size(), c.kind,
                 solver.name, median(theirs), median(common) / median(same), score.us.size(), score.wrong,
                 score.failed);
      std::fflush(stdout);
    }
  }
}
