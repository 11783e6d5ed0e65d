// Impacts of random cones, general, redundant, of masses far apart, nearly jammed and jammed, by every iterated law.
//
//   scree_impact_campaign COUNT [SEED [JOBS]]
//
// Every call has to end within its cap or its budget, with a certificate that holds, no energy gained or lost, no
// impulse that pulls, and enclosures that contain what 200 bits say. Exit 1 if any does not; problem i has the seed
// SEED + i.
#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <atomic>
#include <boost/multiprecision/mpfr.hpp>
#include <cmath>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

#include "scree/impact.h"
#include "support/random_cones.h"

namespace scree {
namespace {

using Mp =
    boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<60, boost::multiprecision::allocate_stack>,
                                  boost::multiprecision::et_off>;

Mp square(const Eigen::MatrixXd& M, const Eigen::VectorXd& v) {  // v.M v
  Mp sum(0);
  for (Eigen::Index i = 0; i < v.size(); ++i) {
    Mp row(0);
    for (Eigen::Index j = 0; j < v.size(); ++j)
      if (M(i, j) != 0) row += Mp(M(i, j)) * v(j);
    sum += row * v(i);
  }
  return sum;
}

// n.M^-1 n of the rows of Jn, by elimination in 200 bits.
std::vector<Mp> inverse_squares(const ImpactProblem& p) {
  const size_t d = static_cast<size_t>(p.dofs());
  std::vector<std::vector<Mp>> L(d, std::vector<Mp>(d));
  for (size_t i = 0; i < d; ++i)
    for (size_t j = 0; j <= i; ++j) {
      const auto r = static_cast<Eigen::Index>(i), c = static_cast<Eigen::Index>(j);
      Mp sum = (Mp(p.M(r, c)) + p.M(c, r)) / 2;
      for (size_t k = 0; k < j; ++k) sum -= L[i][k] * L[j][k];
      L[i][j] = i == j ? Mp(sqrt(sum)) : Mp(sum / L[j][j]);
    }
  std::vector<Mp> squares, x(d);
  for (int k = 0; k < p.contacts(); ++k) {
    Mp total(0);
    for (size_t i = 0; i < d; ++i) {
      Mp sum(p.Jn(k, static_cast<Eigen::Index>(i)));
      for (size_t j = 0; j < i; ++j) sum -= L[i][j] * x[j];
      x[i] = sum / L[i][i];
      total += x[i] * x[i];
    }
    squares.push_back(total);
  }
  return squares;
}

struct Tally {
  long calls = 0, resolved = 0, budget = 0, finer = 0, mpfr = 0, jams = 0, redone = 0, enclosures = 0, failures = 0;
  long most_steps = 0;
  double of_cap = 0, theta = 0, energy = 0, least = 0, w = 0, step_error = 0;
  void add(const Tally& t) {
    calls += t.calls, resolved += t.resolved, budget += t.budget, finer += t.finer, mpfr += t.mpfr, jams += t.jams;
    redone += t.redone, enclosures += t.enclosures, failures += t.failures;
    most_steps = std::max(most_steps, t.most_steps);
    of_cap = std::max(of_cap, t.of_cap), theta = std::max(theta, t.theta), energy = std::max(energy, t.energy);
    least = std::min(least, t.least), w = std::max(w, t.w), step_error = std::max(step_error, t.step_error);
  }
};

constexpr ImpactLaw kLaws[] = {ImpactLaw::gauss_seidel_first, ImpactLaw::gauss_seidel_cyclic,
                               ImpactLaw::gauss_seidel_max, ImpactLaw::reflections};
constexpr long kBudget = 5000;

class Campaign {
 public:
  void run(long count, unsigned long seed, int jobs) {
    std::atomic<long> next = 0;
    std::vector<std::thread> threads;
    for (int j = 0; j < jobs; ++j)
      threads.emplace_back([&] {
        for (long i = next++; i < count; i = next++) one(seed + static_cast<unsigned long>(i));
      });
    for (std::thread& thread : threads) thread.join();
  }

  int report() const {
    Tally all;
    fmt::print("{:34} {:>8} {:>8} {:>7} {:>6} {:>5} {:>7} {:>7} {:>9} {:>9} {:>9} {:>9}\n", "cones, law", "calls",
               "resolved", "budget", "> 53 b", "MPFR", "jams", "steps", "steps/cap", "theta", "|E - 1|", "w");
    for (const auto& [name, t] : tallies_) {
      print(name, t);
      all.add(t);
    }
    print("all", all);
    fmt::print("enclosures checked in 200 bits: {}; largest error of a step {:.2g}; failures: {}\n", all.enclosures,
               all.step_error, all.failures);
    return all.failures == 0 ? 0 : 1;
  }

 private:
  static void print(const std::string& name, const Tally& t) {
    fmt::print("{:34} {:8} {:8} {:7} {:6} {:5} {:7} {:7} {:9.2g} {:9.2g} {:9.2g} {:9.2g}\n", name, t.calls, t.resolved,
               t.budget, t.finer, t.mpfr, t.jams, t.most_steps, t.of_cap, t.theta, t.energy, t.w);
  }

  void one(unsigned long seed) {
    std::mt19937_64 random(seed);
    test::RandomCone cone;
    // most of them small: large ones cost a hundred times as much
    const bool large = seed % 10 == 0;
    cone = test::random_cone(random, {.most_dofs = large ? 40 : 12, .most_contacts = large ? 60 : 18});
    const double tolerances[] = {1e-3, 1e-6, 1e-8, 1e-10, 1e-12, 1e-15};
    const double tolerance = tolerances[std::uniform_int_distribution<int>(0, 5)(random)];
    if (seed % 4 == 0) graze(cone.problem, tolerance, random);
    for (const ImpactLaw law : kLaws) {
      call(cone, law, tolerance, false, seed);
      if (law == ImpactLaw::reflections) continue;
      test::RandomCone inelastic = cone;
      inelastic.problem.restitution.resize(cone.problem.contacts());
      for (double& e : inelastic.problem.restitution) e = std::uniform_real_distribution<double>()(random);
      call(inelastic, law, tolerance, true, seed);
    }
  }

  // A velocity just outside the cone: small impulses, which ask most of the arithmetic.
  static void graze(ImpactProblem& p, double tolerance, std::mt19937_64& random) {
    ImpactOptions options;
    options.law = ImpactLaw::moreau;
    p.restitution = Eigen::VectorXd::Zero(p.contacts());
    const Eigen::VectorXd edge = resolve_impact(p, options).v;
    p.restitution.resize(0);
    if (edge.isZero(0)) return;
    std::normal_distribution<double> normal;
    Eigen::VectorXd off(p.dofs());
    for (double& e : off) e = normal(random);
    const double size = std::sqrt(edge.dot(p.M * edge) / off.dot(p.M * off));
    p.v = edge + 30 * tolerance * size * off;
  }

  void call(const test::RandomCone& cone, ImpactLaw law, double tolerance, bool inelastic, unsigned long seed) {
    const ImpactProblem& p = cone.problem;
    ImpactOptions options;
    options.law = law;
    options.tolerance = tolerance;
    options.max_steps = kBudget;
    Tally t;
    std::string wrong;
    const auto check = [&](bool good, const std::string& what) {
      if (!good && wrong.empty()) wrong = what;
    };
    t.calls = 1;
    try {
      const ImpactResult result = resolve_impact(p, options);
      const ImpactCertificate& c = *result.certificate;
      t.resolved = result.status == ImpactStatus::resolved;
      t.budget = result.status == ImpactStatus::budget;
      t.finer = c.bits > 53;
      t.mpfr = c.bits > 106;
      t.jams = !c.jammed.empty();
      t.redone = c.redone;
      t.most_steps = result.steps;
      t.theta = c.theta;
      t.w = c.w;
      t.step_error = c.step_error;
      if (t.resolved) t.of_cap = static_cast<double>(result.steps) / std::max(1.0, c.cap);
      check(t.resolved || t.budget, fmt::format("{}: {}", impact_status_name(result.status), result.note));
      check(!t.budget || (result.steps == kBudget && c.cap >= kBudget), "stopped before its budget or beyond its cap");
      check(!t.resolved || c.holds, "the certificate does not hold");
      check(static_cast<double>(result.steps) <= std::max(c.cap, 0.0) || result.steps == 0, "more steps than its cap");
      check(c.theta <= 0.5 && c.delta <= 1e-10, fmt::format("theta {}, delta {}", c.theta, c.delta));
      check(result.v.allFinite() && result.normal_impulse.allFinite(), "not finite");
      check(result.normal_impulse.minCoeff() >= 0, "an impulse that pulls");
      using enum test::ConeKind;
      if (cone.kind == jammed) check(t.jams, "the jam was not seen");
      if (cone.kind == redundant || cone.kind == masses || cone.kind == near_jam) check(!t.jams, "a jam that is none");
      // energy
      const Eigen::VectorXd& before = result.path[c.jammed.empty() ? 0 : 1];
      const Interval ratio = c.energy_ratio;
      if (!inelastic) {
        t.energy = std::max(std::abs(ratio.lower - 1), std::abs(ratio.upper - 1));
        check(t.energy <= 1e-11, fmt::format("energy ratio {} to {}", ratio.lower, ratio.upper));
      } else {
        check(ratio.upper <= 1 + 1e-11, fmt::format("energy ratio up to {}", ratio.upper));
      }
      if (t.resolved && !inelastic && !result.v.isZero(0) && !(result.energy_after < 1e-20 * result.energy_before)) {
        t.least = c.least_velocity.lower;
        check(c.least_velocity.upper >= -tolerance * (1 + 1e-8) - 1e-11,
              fmt::format("least velocity {}", c.least_velocity.upper));
      }
      // momentum: M (v+ - v) - Jn^T p in the metric of M^-1
      const Eigen::LLT<Eigen::MatrixXd> llt(p.M);
      const Eigen::VectorXd off =
          llt.matrixL().solve(Eigen::VectorXd(p.M * (result.v - p.v) - p.Jn.transpose() * result.normal_impulse));
      double impulses = 0;
      for (int k = 0; k < p.contacts(); ++k)
        impulses += result.normal_impulse(k) *
                    Eigen::VectorXd(llt.matrixL().solve(Eigen::VectorXd(p.Jn.row(k).transpose()))).norm();
      const double norm = std::sqrt(2 * result.energy_before);
      check(off.norm() <= 1e-14 * static_cast<double>(result.steps + 10) * norm + 1e-12 * impulses + 1e-11 * norm,
            fmt::format("momentum off by {} of {}", off.norm(), norm));
      if (wrong.empty() && seed % 8 == 0) check_enclosures(p, result, before, check, t);
    } catch (const std::exception& e) {
      wrong = e.what();
    }
    t.failures = !wrong.empty();
    const std::lock_guard lock(mutex_);
    tallies_[fmt::format("{}, {}{}", cone.name, impact_law_name(law), inelastic ? ", e < 1" : "")].add(t);
    if (!wrong.empty())
      fmt::print("seed {}, {}, {}{}, tolerance {:g}: {}\n", seed, cone.name, impact_law_name(law),
                 inelastic ? ", e < 1" : "", tolerance, wrong);
  }

  template <class Check>
  static void check_enclosures(const ImpactProblem& p, const ImpactResult& result, const Eigen::VectorXd& before,
                               const Check& check, Tally& t) {
    const ImpactCertificate& c = *result.certificate;
    t.enclosures = 1;
    const Mp after = square(p.M, result.v);
    if (result.steps > 0) {
      const Mp ratio = after / square(p.M, before);
      check(Mp(c.energy_ratio.lower) <= ratio && ratio <= Mp(c.energy_ratio.upper),
            fmt::format("energy ratio 1 {:+.3g} outside its enclosure", Mp(ratio - 1).convert_to<double>()));
    }
    if (result.v.isZero(0)) return;
    const std::vector<Mp> squares = inverse_squares(p);
    Mp least(2);
    for (int k = 0; k < p.contacts(); ++k) {
      Mp speed(0);
      for (int i = 0; i < p.dofs(); ++i) speed += Mp(p.Jn(k, i)) * result.v(i);
      const Mp cosine = speed / sqrt(Mp(squares[static_cast<size_t>(k)] * after));
      if (cosine < least) least = cosine;
    }
    const Mp slack(1e-50);  // of the 200 bits; cosines of 1 are bounded by 1
    check(Mp(c.least_velocity.lower) <= least + slack && least - slack <= Mp(c.least_velocity.upper),
          "least velocity outside its enclosure");
  }

  std::mutex mutex_;
  std::map<std::string, Tally> tallies_;
};

}  // namespace
}  // namespace scree

int main(int argc, char** argv) {
  const long count = argc > 1 ? std::atol(argv[1]) : 0, seed = argc > 2 ? std::atol(argv[2]) : 1;
  const int jobs = argc > 3 ? std::atoi(argv[3]) : 1;
  if (argc > 4 || count < 1 || seed < 0 || jobs < 1 || jobs > 256) {
    fmt::print(stderr, "usage: scree_impact_campaign COUNT [SEED [JOBS]]; COUNT >= 1, SEED >= 0, JOBS 1 to 256\n");
    return 2;
  }
  scree::Campaign campaign;
  campaign.run(count, static_cast<unsigned long>(seed), jobs);
  return campaign.report();
}
