#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "base/names.h"
#include "impact/laws.h"
#include "scree/error.h"

namespace scree {
namespace {

constexpr double kLargest = 1e30;     // numbers whose products with each other are still finite
constexpr double kAsymmetry = 1e-12;  // of the largest entry
constexpr double kSingular = 1e-13;   // smallest pivot of M scaled to a diagonal of ones

struct LawName {
  ImpactLaw law;
  const char* name;
  bool elastic;
};
constexpr LawName kLaws[] = {
    {ImpactLaw::gauss_seidel_first, "gs-first", true},
    {ImpactLaw::gauss_seidel_cyclic, "gs-cyclic", true},
    {ImpactLaw::gauss_seidel_max, "gs-max", true},
    {ImpactLaw::reflections, "reflections", true},
    {ImpactLaw::restitution_blend, "restitution-blend", true},
    {ImpactLaw::moreau, "moreau", true},
    {ImpactLaw::poisson, "poisson", true},
    {ImpactLaw::anitescu_potra, "anitescu-potra", false},
    {ImpactLaw::sequential, "sequential", false},
    {ImpactLaw::routh, "routh", false},
};
const LawName& entry(ImpactLaw law) {
  return *std::find_if(std::begin(kLaws), std::end(kLaws), [&](const LawName& e) { return e.law == law; });
}

template <class Matrix> void check_entries(const char* name, const Matrix& matrix) {
  for (Eigen::Index i = 0; i < matrix.rows(); ++i)
    for (Eigen::Index j = 0; j < matrix.cols(); ++j)
      if (!(std::abs(matrix(i, j)) <= kLargest)) {
        const std::string place =
            matrix.cols() == 1 ? fmt::format("{}[{}]", name, i) : fmt::format("{}[{}][{}]", name, i, j);
        throw InputError(
            fmt::format("{}: {}, expected a finite number, at most {:g} in size", place, matrix(i, j), kLargest));
      }
}

void check_range(const char* name, const Eigen::VectorXd& values, int contacts, double most, const char* expected) {
  if (values.size() != 0 && values.size() != contacts)
    throw InputError(fmt::format("{}: {} values, expected {}, one a contact", name, values.size(), contacts));
  for (Eigen::Index i = 0; i < values.size(); ++i)
    if (!(values(i) >= 0 && values(i) <= most))
      throw InputError(fmt::format("{}[{}]: {}, expected {}", name, i, values(i), expected));
}

void check_mass(const Eigen::MatrixXd& M) {
  const double size = M.cwiseAbs().maxCoeff();
  for (Eigen::Index i = 0; i < M.rows(); ++i)
    for (Eigen::Index j = 0; j < i; ++j)
      if (!(std::abs(M(i, j) - M(j, i)) <= kAsymmetry * size))
        throw InputError(fmt::format("M[{}][{}]: {}, expected {} as in M[{}][{}], a symmetric matrix", i, j, M(i, j),
                                     M(j, i), j, i));
  for (Eigen::Index i = 0; i < M.rows(); ++i)
    if (!(M(i, i) > 0))
      throw InputError(fmt::format("M[{}][{}]: {}, expected > 0, a positive definite matrix", i, i, M(i, i)));
  const Eigen::VectorXd scale = M.diagonal().cwiseSqrt().cwiseInverse();
  const Eigen::MatrixXd scaled = scale.asDiagonal() * M * scale.asDiagonal();
  const double pivot = Eigen::LDLT<Eigen::MatrixXd>(scaled).vectorD().minCoeff();
  if (!(pivot > kSingular))
    throw InputError(fmt::format(
        "M: smallest pivot {:.3g} after scaling to a diagonal of ones, expected > {:g}, a positive definite matrix",
        pivot, kSingular));
}

}  // namespace

void ImpactProblem::validate() const {
  const Eigen::Index d = M.rows(), m = Jn.rows();
  if (d == 0) throw InputError("M: no rows, expected a mass matrix");
  if (d > kMaxDofs) throw InputError(fmt::format("M: {} rows, expected at most {}", d, kMaxDofs));
  if (M.cols() != d) throw InputError(fmt::format("M: {} x {}, expected a square matrix", d, M.cols()));
  if (m == 0) throw InputError("Jn: no rows, expected at least one contact");
  if (m > kMaxContacts) throw InputError(fmt::format("Jn: {} contacts, expected at most {}", m, kMaxContacts));
  if (Jn.cols() != d) throw InputError(fmt::format("Jn: {} columns, expected {} as M has", Jn.cols(), d));
  if (Jt.rows() != 0 && Jt.cols() != d)
    throw InputError(fmt::format("Jt: {} columns, expected {} as M has", Jt.cols(), d));
  if (Jt.rows() != 0 && Jt.rows() != m && Jt.rows() != 2 * m)
    throw InputError(fmt::format("Jt: {} rows, expected 0, {} (in the plane) or {} (in space) for {} contacts",
                                 Jt.rows(), m, 2 * m, m));
  if (v.size() != d) throw InputError(fmt::format("v: {} values, expected {} as M has rows", v.size(), d));
  check_entries("M", M);
  check_entries("Jn", Jn);
  check_entries("Jt", Jt);
  check_entries("v", v);
  check_range("mu", mu, contacts(), kLargest, ">= 0");
  check_range("restitution", restitution, contacts(), 1, "a number in [0, 1]");
  if (mu.size() > 0 && mu.maxCoeff() > 0 && Jt.rows() == 0)
    throw InputError(fmt::format("mu: friction of up to {}, expected none without tangents Jt", mu.maxCoeff()));
  for (Eigen::Index i = 0; i < m; ++i)
    if (!(Jn.row(i).cwiseAbs().maxCoeff() > 0))
      throw InputError(fmt::format("Jn[{}]: a row of zeros, expected a contact that can move", i));
  check_mass(M);
}

std::string impact_contact_label(int contact) {
  std::string label;
  for (int k = contact + 1; k > 0; k = (k - 1) / 26) label.insert(label.begin(), static_cast<char>('A' + (k - 1) % 26));
  return label;
}

const char* impact_law_name(ImpactLaw law) { return entry(law).name; }

ImpactLaw impact_law_from_name(const std::string& name) {
  std::vector<std::string> names;
  for (const LawName& e : kLaws) {
    if (name == e.name) return e.law;
    names.push_back(e.name);
  }
  throw InputError(fmt::format("unknown impact law \"{}\"{}", name, suggestion(name, names)));
}

const std::vector<ImpactLaw>& impact_laws() {
  static const std::vector<ImpactLaw> laws = [] {
    std::vector<ImpactLaw> all;
    for (const LawName& e : kLaws) all.push_back(e.law);
    return all;
  }();
  return laws;
}

bool impact_law_is_elastic(ImpactLaw law) { return entry(law).elastic; }

const char* impact_status_name(ImpactStatus status) {
  constexpr const char* kNames[] = {"resolved", "budget", "not certified", "solver failed"};
  return kNames[static_cast<int>(status)];
}

void ImpactOptions::validate(const ImpactProblem& problem) const {
  if (!(tolerance >= 1e-15 && tolerance <= 0.5))
    throw InputError(fmt::format("tolerance: {}, expected a number in [1e-15, 0.5]", tolerance));
  if (!(tie >= 0 && tie <= 1)) throw InputError(fmt::format("tie: {}, expected a number in [0, 1]", tie));
  if (max_steps < 1) throw InputError(fmt::format("max_steps: {}, expected at least 1", max_steps));
  if (friction_directions < 3 || friction_directions > 64)
    throw InputError(fmt::format("friction_directions: {}, expected 3 to 64", friction_directions));
  for (const int contact : order)
    if (contact < 0 || contact >= problem.contacts())
      throw InputError(fmt::format("order: contact {}, expected 0 to {}", contact, problem.contacts() - 1));
  for (int i = 0; i < problem.contacts() && !order.empty(); ++i)
    if (std::find(order.begin(), order.end(), i) == order.end())
      throw InputError(fmt::format("order: contact {} is missing, expected each of {}", i, problem.contacts()));
}

double common_restitution(const ImpactProblem& problem, double unset, const char* law) {
  for (Eigen::Index i = 1; i < problem.restitution.size(); ++i)
    if (problem.restitution(i) != problem.restitution(0))
      throw InputError(fmt::format("restitution[{}]: {}, expected {} as in restitution[0]: {} has one for all contacts",
                                   i, problem.restitution(i), problem.restitution(0), law));
  return problem.restitution.size() == 0 ? unset : problem.restitution(0);
}

double kinetic_energy(const ImpactProblem& problem, const Eigen::VectorXd& v) { return 0.5 * v.dot(problem.M * v); }

ImpactResult start_result(const ImpactProblem& problem, ImpactLaw law) {
  ImpactResult result;
  result.law = law;
  result.v = problem.v;
  result.normal_impulse = Eigen::VectorXd::Zero(problem.contacts());
  result.tangential_impulse = Eigen::VectorXd::Zero(problem.Jt.rows());
  result.energy_before = kinetic_energy(problem, problem.v);
  return result;
}

void finish_result(const ImpactProblem& problem, ImpactResult& result) {
  result.energy_after = kinetic_energy(problem, result.v);
  result.approach = std::max(0.0, -(problem.Jn * result.v).minCoeff());
}

}  // namespace scree
