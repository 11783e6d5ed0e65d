// Inelastic impacts with friction: all contacts at once (Anitescu and Potra 1997), one after the other, or along the
// course of the impact (Routh).                                                              theory (14.1) to (14.9)
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "impact/contact_lcp.h"
#include "impact/laws.h"
#include "impact/routh.h"
#include "scree/error.h"
#include "solvers/lcp.h"

namespace scree {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr int kLargestEnumerated = 128;  // unknowns of which all solutions are sought,
constexpr long kPivots = 100;            // in the mean with so many for a node of the budget
constexpr long kStages = 4096;           // of a sequence between two reports of progress
constexpr double kResidual = 1e-10;      // of a solution, relative
constexpr int kTries = 64;               // covering vectors for larger ones
constexpr int kAllOrders = 5;            // contacts of which all orders are tried
constexpr size_t kLongestPath = 1000;    // velocities kept of an impact with many stages
constexpr double kSame = 1e-8;           // of |v|_M: velocities that count as one outcome

// --- the complementarity problem, scaled ---

// Rows and columns of W scaled to entries near 1, impulses to what changes the velocity by 1: solutions do not change,
// but a residual of 1e-10 means the same for friction of 1 and of 1e5.
struct ScaledLcp {
  MatrixXd W;
  VectorXd q, column;  // z = column . z of the scaled problem

  ScaledLcp(const ContactLcp& lcp, const VectorXd& y, double speed) {
    const int n = lcp.size(false), m = lcp.contacts(), k = lcp.directions(), p = lcp.impulses();
    W = lcp.W().bottomRightCorner(n, n);
    q.resize(n);
    lcp.right_side(y, nullptr, q);
    VectorXd row = VectorXd::Ones(n);
    column = VectorXd::Ones(n);
    for (int i = 0; i < p; ++i) {
      const double size = lcp.J().row(i).norm();
      row(i) = column(i) = size > 0 ? 1 / size : 1;
    }
    for (int i = 0; i < m && k > 0; ++i) {
      column(p + i) = 1 / row.segment(m + k * i, k).maxCoeff();
      row(p + i) = 1 / std::max(W(p + i, i) * column(i), column.segment(m + k * i, k).maxCoeff());
    }
    W = row.asDiagonal() * W * column.asDiagonal();
    q = row.cwiseProduct(q) / speed;
    column *= speed;
  }

  // The change of velocity by z of the scaled problem: J^T lambda, mass-normalised.
  MatrixXd velocity_view(const ContactLcp& lcp) const {
    MatrixXd view = MatrixXd::Zero(lcp.dofs(), q.size());
    view.leftCols(lcp.impulses()) = lcp.J().transpose() * column.head(lcp.impulses()).asDiagonal();
    return view;
  }
};

// Friction along d and -d at once does nothing but fill the cone: without it z is a solution, too, and its residual is
// not measured against impulses of mu lambda_n.
void cancel_opposite(const ContactLcp& lcp, const VectorXd& column, VectorXd& z) {
  const int k = lcp.directions();
  for (int i = 0; i < lcp.contacts() && k % 2 == 0; ++i)
    for (int j = 0; j < k / 2; ++j) {
      const int first = lcp.contacts() + k * i + j, second = first + k / 2;
      const double both = std::min(z(first) * column(first), z(second) * column(second));
      z(first) = std::max(0.0, z(first) - both / column(first));
      z(second) = std::max(0.0, z(second) - both / column(second));
    }
}

double relative_residual(const ScaledLcp& lcp, const VectorXd& z) {
  double scale = 0;
  const double residual = lcp_residual(lcp.W, lcp.q, z, scale);
  return scale > 0 ? residual / scale : 0;
}

// With friction of 1e5 a corner may keep a force that is rounding of such pairs: solved again from the w that vanish,
// without z below 1e-7 of the largest, where that is the better solution.
void polish(const ScaledLcp& lcp, VectorXd& z) {
  const VectorXd w = lcp.W * z + lcp.q;
  std::vector<int> support, closed;
  for (int i = 0; i < z.size(); ++i) {
    if (z(i) > 1e-7 * z.maxCoeff()) support.push_back(i);
    if (w(i) < 1e-7 * (1 + z.maxCoeff())) closed.push_back(i);
  }
  if (support.empty() || closed.empty()) return;
  const MatrixXd basis = lcp.W(closed, support);
  const VectorXd right = -lcp.q(closed);
  VectorXd finer = VectorXd::Zero(z.size());
  finer(support) = basis.completeOrthogonalDecomposition().solve(right).cwiseMax(0);
  if (relative_residual(lcp, finer) < relative_residual(lcp, z)) z = finer;
}

bool nothing_approaches(const MatrixXd& Jn, const VectorXd& y, double tolerance, double speed) {
  for (Eigen::Index i = 0; i < Jn.rows(); ++i)
    if (Jn.row(i).dot(y) < -tolerance * Jn.row(i).norm() * speed) return false;
  return true;
}

// --- restitution ---

// The frictionless elastic impact that restitution is blended with.
ImpactResult elastic_part(const ImpactProblem& problem, const ImpactOptions& options) {
  ImpactProblem smooth = problem;
  smooth.restitution.resize(0);
  ImpactOptions elastic = options;
  elastic.law = ImpactLaw::reflections;
  return resolve_elastic(smooth, elastic);
}

// (1 - e) inelastic + e elastic: cones and the ball of smaller energies are convex.                    theory (14.6)
void blend(double e, const ImpactResult& elastic, ImpactResult& result) {
  result.v = (1 - e) * result.v + e * elastic.v;
  result.normal_impulse = (1 - e) * result.normal_impulse + e * elastic.normal_impulse;
  result.tangential_impulse *= 1 - e;
  result.steps += elastic.steps;
  if (!result.path.empty()) result.path.push_back(result.v);
  if (elastic.status != ImpactStatus::resolved) result.status = elastic.status;
  result.note += fmt::format("; blended with {:g} of the elastic impact", e);
}

// --- all contacts at once ---

// The velocity after the impulses of z.
ImpactResult outcome_of(const ImpactProblem& problem, const ContactLcp& lcp, const VectorXd& y, const VectorXd& z,
                        double residual, std::string note) {
  ImpactResult result = start_result(problem, ImpactLaw::anitescu_potra);
  VectorXd after = y;
  lcp.advance(z, false, after);
  result.v = lcp.to_v(after);
  lcp.add_impulses(z, false, result);
  result.status = ImpactStatus::resolved;
  result.steps = 1;
  result.residual = residual;
  result.note = std::move(note);
  return result;
}

struct SimultaneousImpact {
  const ImpactProblem& problem;
  const ImpactOptions& options;
  ContactLcp lcp;
  VectorXd y;
  double speed;

  SimultaneousImpact(const ImpactProblem& p, const ImpactOptions& o)
      : problem(p), options(o), lcp(p, o.friction_directions), y(lcp.to_y(p.v)), speed(y.norm()) {}

  bool resolved() const { return nothing_approaches(lcp.J().topRows(lcp.contacts()), y, options.tolerance, speed); }
  ImpactResult unchanged() const {
    ImpactResult result = start_result(problem, ImpactLaw::anitescu_potra);
    result.status = ImpactStatus::resolved;
    result.note = "nothing approaches";
    return result;
  }
  ImpactResult lemke(const ScaledLcp& scaled, VectorXd& z, const double* covering = nullptr) const {
    Lemke solver;
    z.resize(scaled.q.size());
    LcpOptions lcp_options;
    lcp_options.covering = covering;
    const LcpReport report = solver.solve(scaled.W, scaled.q, z, lcp_options);
    ImpactResult result = outcome_of(problem, lcp, y, scaled.column.cwiseProduct(z), report.residual,
                                     covering ? "another solution" : "the solution of Lemke's algorithm");
    if (!report.solved()) {
      result.status = ImpactStatus::solver_failed;
      result.note = fmt::format("Lemke's algorithm: {}", lcp_status_name(report.status));
    }
    return result;
  }
};

bool same_velocity(const ImpactProblem& problem, const ImpactResult& a, const ImpactResult& b) {
  const VectorXd difference = a.v - b.v;
  return difference.dot(problem.M * difference) <= kSame * kSame * 2 * a.energy_before;
}

bool add_outcome(const ImpactProblem& problem, ImpactOutcomes& all, ImpactResult&& result) {
  for (const ImpactResult& known : all.outcomes)
    if (same_velocity(problem, known, result)) return false;
  all.outcomes.push_back(std::move(result));
  return true;
}

ImpactResult simultaneous(const ImpactProblem& problem, const ImpactOptions& options) {
  const SimultaneousImpact impact(problem, options);
  if (impact.resolved()) return impact.unchanged();
  VectorXd z;
  return impact.lemke(ScaledLcp(impact.lcp, impact.y, impact.speed), z);
}

ImpactOutcomes all_simultaneous(const ImpactProblem& problem, const ImpactOptions& options,
                                const ImpactSearch& budget) {
  const SimultaneousImpact impact(problem, options);
  ImpactOutcomes all;
  if (impact.resolved()) {
    all.outcomes.push_back(impact.unchanged());
    return all;
  }
  const ScaledLcp scaled(impact.lcp, impact.y, impact.speed);
  VectorXd z;
  ImpactResult first = impact.lemke(scaled, z);
  if (first.status == ImpactStatus::resolved) all.outcomes.push_back(first);

  const Eigen::Index n = scaled.q.size();
  all.complete = false;
  if (n <= kLargestEnumerated) {
    LcpEnumerationOptions search;
    search.tolerance = kResidual;
    search.max_nodes = budget.max_nodes;
    search.max_pivots = std::max(kPivots, kPivots * std::min(budget.max_nodes, 1'000'000'000'000L));
    const MatrixXd view = scaled.velocity_view(impact.lcp);
    search.view = &view;
    if (budget.progress) search.progress = [&](long nodes) { return budget.progress(nodes, budget.max_nodes); };
    const LcpSolutionSet solutions = enumerate_lcp_solutions(scaled.W, scaled.q, search);
    all.complete = solutions.complete;
    all.nodes = solutions.nodes;
    std::vector<ImpactResult> corners;
    for (VectorXd s : solutions.z) {
      cancel_opposite(impact.lcp, scaled.column, s);
      polish(scaled, s);
      const double residual = relative_residual(scaled, s);
      corners.push_back(
          outcome_of(problem, impact.lcp, impact.y, scaled.column.cwiseProduct(s), residual, "another solution"));
      if (residual <= kResidual) add_outcome(problem, all, ImpactResult(corners.back()));
    }
    for (const LcpContinuum& continuum : solutions.continua)
      for (const int i : continuum.vertices) {
        const ImpactResult &a = corners[static_cast<size_t>(continuum.vertices.front())],
                           &b = corners[static_cast<size_t>(i)];
        if (std::max(a.residual, b.residual) <= kResidual && !same_velocity(problem, a, b)) all.continuum = true;
      }
  }
  if (!all.complete) {
    std::mt19937 random(1);  // NOLINT: the same search every time
    VectorXd covering(n);
    for (int k = 0; k < kTries; ++k) {
      for (double& d : covering) d = 0.05 + static_cast<double>(random()) / 4294967296.0;
      ImpactResult other = impact.lemke(scaled, z, covering.data());
      if (other.status == ImpactStatus::resolved) add_outcome(problem, all, std::move(other));
    }
  }
  if (all.outcomes.empty()) {
    all.complete = false;
    all.outcomes.push_back(std::move(first));
  }
  return all;
}

// --- one contact after the other ---

// A contact in mass-normalised coordinates, reduced to the few directions y in which it moves: A^T = Q R.
struct SingleContact {
  int contact;
  MatrixXd Q;       // d x r, r <= 1 + t
  VectorXd normal;  // d, row of the normal
  ContactLcp lcp;   // of the reduced problem
  SingleContact(const ImpactProblem& reduced, int i, MatrixXd q, VectorXd n, int directions)
      : contact(i), Q(std::move(q)), normal(std::move(n)), lcp(reduced, directions) {}
};

std::vector<SingleContact> single_contacts(const ImpactProblem& problem, const ImpactOptions& options,
                                           const Eigen::LLT<MatrixXd>& cholesky) {
  const int m = problem.contacts(), t = problem.mu.size() > 0 ? problem.tangents() : 0;
  const MatrixXd An = cholesky.matrixL().solve(problem.Jn.transpose());
  const MatrixXd At = t > 0 ? MatrixXd(cholesky.matrixL().solve(problem.Jt.transpose())) : MatrixXd();
  std::vector<SingleContact> contacts;
  contacts.reserve(static_cast<size_t>(m));
  for (int i = 0; i < m; ++i) {
    MatrixXd A(problem.dofs(), 1 + t);
    A.col(0) = An.col(i);
    if (t > 0) A.rightCols(t) = At.middleCols(t * i, t);
    const Eigen::HouseholderQR<MatrixXd> qr(A);
    const Eigen::Index r = std::min(A.rows(), A.cols());
    MatrixXd Q = qr.householderQ() * MatrixXd::Identity(A.rows(), r);
    ImpactProblem reduced;
    reduced.M.setIdentity(r, r);
    const MatrixXd R = A.transpose() * Q;  // 1 + t x r
    reduced.Jn = R.topRows(1);
    reduced.Jt = R.bottomRows(t);
    if (t > 0) reduced.mu = problem.mu.segment(i, 1);
    contacts.emplace_back(reduced, i, std::move(Q), An.col(i), options.friction_directions);
  }
  return contacts;
}

// Stages of theory (14.5): the next contact of the order that approaches takes its impact alone.
ImpactResult run_sequence(const ImpactProblem& problem, const ImpactOptions& options,
                          const Eigen::LLT<MatrixXd>& cholesky, const std::vector<SingleContact>& contacts,
                          const std::vector<int>& order, long budget,
                          const std::function<bool(long, long)>& progress = {}) {
  ImpactResult result = start_result(problem, ImpactLaw::sequential);
  const VectorXd y0 = cholesky.matrixU() * problem.v;
  VectorXd y = y0;
  const double speed = y.norm();
  const auto approaches = [&](const SingleContact& c) {
    return c.normal.dot(y) < -options.tolerance * c.normal.norm() * speed;
  };
  result.path.push_back(result.v);
  Lemke solver;
  std::vector<std::string> sequence;
  size_t next = 0, idle = 0;
  result.status = ImpactStatus::resolved;
  while (idle < order.size()) {
    const SingleContact& c = contacts[static_cast<size_t>(order[next])];
    next = (next + 1) % order.size();
    if (!approaches(c)) {
      ++idle;
      continue;
    }
    idle = 0;
    const bool stop = progress && result.steps % kStages == kStages - 1 && !progress(result.steps, budget);
    if (stop || result.steps == budget) {
      result.status = ImpactStatus::budget;
      break;
    }
    const VectorXd reduced = c.Q.transpose() * y;
    const ScaledLcp scaled(c.lcp, reduced, speed);
    VectorXd z(scaled.q.size());
    const LcpReport report = solver.solve(scaled.W, scaled.q, z);
    ++result.steps;
    result.residual = std::max(result.residual, report.residual);
    if (!report.solved()) {
      result.status = ImpactStatus::solver_failed;
      result.note = fmt::format("contact {}, stage {}: Lemke's algorithm: {}", impact_contact_label(c.contact),
                                result.steps, lcp_status_name(report.status));
      break;
    }
    z = scaled.column.cwiseProduct(z);
    VectorXd after = reduced;
    c.lcp.advance(z, false, after);
    y += c.Q * (after - reduced);
    ImpactResult impulse;
    impulse.normal_impulse = VectorXd::Zero(1);
    impulse.tangential_impulse = VectorXd::Zero(problem.contacts() > 0 ? problem.tangents() : 0);
    c.lcp.add_impulses(z, false, impulse);
    result.normal_impulse(c.contact) += impulse.normal_impulse(0);
    const int t = problem.tangents();
    if (t > 0) result.tangential_impulse.segment(t * c.contact, t) += impulse.tangential_impulse;
    if (result.path.size() < kLongestPath) result.path.push_back(cholesky.matrixU().solve(y));
    if (sequence.size() < 10) sequence.push_back(impact_contact_label(c.contact));
  }
  if (result.steps > 0) result.v = cholesky.matrixU().solve(y);
  if (result.steps > static_cast<long>(result.path.size()) - 1) result.path.push_back(result.v);
  if (result.note.empty())
    result.note = result.steps == 0 ? "nothing approaches"
                                    : fmt::format("impacts at contacts {}{}", fmt::join(sequence, ", "),
                                                  result.steps > 10 ? ", ..." : "");
  return result;
}

std::vector<int> plain_order(const ImpactProblem& problem, int first = 0) {
  std::vector<int> order(static_cast<size_t>(problem.contacts()));
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin(), order.begin() + first, order.end());
  return order;
}

ImpactResult sequential(const ImpactProblem& problem, const ImpactOptions& options) {
  const Eigen::LLT<MatrixXd> cholesky(problem.M);
  return run_sequence(problem, options, cholesky, single_contacts(problem, options, cholesky),
                      options.order.empty() ? plain_order(problem) : options.order, options.max_steps);
}

ImpactOutcomes all_sequential(const ImpactProblem& problem, const ImpactOptions& options, const ImpactSearch& search) {
  const Eigen::LLT<MatrixXd> cholesky(problem.M);
  const std::vector<SingleContact> contacts = single_contacts(problem, options, cholesky);
  std::vector<std::vector<int>> orders;
  ImpactOutcomes all;
  if (problem.contacts() <= kAllOrders) {
    std::vector<int> order = plain_order(problem);
    do orders.push_back(order);
    while (std::next_permutation(order.begin(), order.end()));
  } else {
    all.complete = false;
    for (int i = 0; i < problem.contacts(); ++i) orders.push_back(plain_order(problem, i));
  }
  const long budget = std::max(1L, options.max_steps / static_cast<long>(orders.size()));
  long done = 0;
  bool stopped = false;
  const auto report = [&](long steps, long) {
    stopped = stopped || (search.progress && !search.progress(done + steps, options.max_steps));
    return !stopped;
  };
  for (const std::vector<int>& order : orders) {
    if (stopped) break;
    ImpactResult result = run_sequence(problem, options, cholesky, contacts, order, budget, report);
    done += result.steps;
    if (result.status != ImpactStatus::resolved) all.complete = false;
    add_outcome(problem, all, std::move(result));
  }
  return all;
}

// --- along the course of the impact ---

ImpactResult routh(const ImpactProblem& problem, const ImpactOptions& options) {
  if (problem.contacts() != 1)
    throw InputError(fmt::format("routh: {} contacts, expected 1; the set-valued law takes more", problem.contacts()));
  const int t = problem.mu.size() > 0 ? problem.tangents() : 0;
  const Eigen::LLT<MatrixXd> cholesky(problem.M);
  MatrixXd J(1 + t, problem.dofs());
  J.row(0) = problem.Jn;
  if (t > 0) J.bottomRows(t) = problem.Jt;
  const MatrixXd A = cholesky.matrixL().solve(J.transpose());  // d x (1 + t)
  const VectorXd y = cholesky.matrixU() * problem.v;

  ImpactResult result = start_result(problem, ImpactLaw::routh);
  result.status = ImpactStatus::resolved;
  if (nothing_approaches(A.col(0).transpose(), y, options.tolerance, y.norm())) {
    result.note = "nothing approaches";
    return result;
  }
  const double e = problem.restitution.size() > 0 ? problem.restitution(0) : 0;
  const RouthPath path = routh_path(A.transpose() * A, A.transpose() * y, t > 0 ? problem.mu(0) : 0, e,
                                    std::min(options.max_steps, 1'000'000L));
  result.normal_impulse(0) = path.impulse(0);
  if (t > 0) result.tangential_impulse = path.impulse.tail(t);
  result.v = cholesky.matrixU().solve(y + A * path.impulse);
  result.steps = path.pieces;
  result.residual = path.residual;
  for (const VectorXd& impulse : path.course) result.path.push_back(cholesky.matrixU().solve(y + A * impulse));
  if (!path.finished) result.status = ImpactStatus::budget;
  return result;
}

}  // namespace

ImpactResult resolve_frictional(const ImpactProblem& problem, const ImpactOptions& options) {
  ImpactResult result;
  if (options.law == ImpactLaw::routh) {
    result = routh(problem, options);
  } else {
    const double e = common_restitution(problem, 0, impact_law_name(options.law));
    result = options.law == ImpactLaw::sequential ? sequential(problem, options) : simultaneous(problem, options);
    if (e > 0) blend(e, elastic_part(problem, options), result);
  }
  finish_result(problem, result);
  return result;
}

ImpactOutcomes all_frictional_outcomes(const ImpactProblem& problem, const ImpactOptions& options,
                                       const ImpactSearch& search) {
  ImpactOutcomes all;
  if (options.law == ImpactLaw::routh) {
    all.outcomes.push_back(routh(problem, options));
  } else {
    const double e = common_restitution(problem, 0, impact_law_name(options.law));
    all = options.law == ImpactLaw::sequential ? all_sequential(problem, options, search)
                                               : all_simultaneous(problem, options, search);
    if (e > 0) {
      const ImpactResult elastic = elastic_part(problem, options);
      for (ImpactResult& result : all.outcomes) blend(e, elastic, result);
    }
  }
  for (ImpactResult& result : all.outcomes) finish_result(problem, result);
  return all;
}

}  // namespace scree
