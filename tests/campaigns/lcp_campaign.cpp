// Random and degenerate contact problems by the million: every answer is checked by a residual written here, in long
// double. All of them have solutions (theory (12.7)), so what is not solved is counted, too. M holds J J^T rounded to
// double: contacts that are jammed but for a deviation of 1e-8 need impulses which only the bits below tell, and
// whether the problem with the rounded M has a solution is an accident. Unsolved problems that twice the digits of M
// make solvable are counted as lost.
//
//   lcp_campaign COUNT [SEED] [JOBS] [FIRST]        FIRST: number of the first problem. Exit code 1: an answer is
//   wrong, or missing without a reason
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include "solvers/lcp.h"
#include "support/contact_problems.h"

namespace {

using namespace scree;
using test::ContactRecipe;
using test::LcpProblem;
using test::Random;
using test::uniform;

constexpr double kWrong = 1e-9;  // residual relative to the terms; the solver promises 1e-10

struct Class {
  const char* name;
  ContactRecipe (*draw)(Random&);
};

int integer(Random& random, int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }
bool coin(Random& random) { return random() % 2 == 0; }

// Up to 60 unknowns.
ContactRecipe shape(Random& random, bool spatial, int directions, bool capped) {
  ContactRecipe r;
  r.spatial = spatial;
  r.directions = directions;
  r.capped = capped;
  const int each = 1 + (directions > 0 ? directions + 1 : 0) + (capped ? 1 : 0);
  r.contacts = integer(random, 1, 60 / each);
  r.bodies = integer(random, 1, 1 + r.contacts);
  r.mu = uniform(random, 0, 1.5);
  return r;
}
ContactRecipe any_shape(Random& random) {
  const bool spatial = coin(random);
  return shape(random, spatial, spatial ? (coin(random) ? 8 : 4) : 2, coin(random));
}

const Class kClasses[] = {
    {"normals", [](Random& random) { return shape(random, coin(random), 0, coin(random)); }},
    {"friction, plane", [](Random& random) { return shape(random, false, 2, false); }},
    {"friction, space", [](Random& random) { return shape(random, true, coin(random) ? 8 : 4, false); }},
    {"capped, plane", [](Random& random) { return shape(random, false, 2, true); }},
    {"capped, space", [](Random& random) { return shape(random, true, 8, true); }},
    {"twins and jams",
     [](Random& random) {
       ContactRecipe r = any_shape(random);
       r.duplicates = 0.3;
       r.opposed = 0.3;
       return r;
     }},
    {"nearly jammed",
     [](Random& random) {
       ContactRecipe r = any_shape(random);
       r.duplicates = 0.2;
       r.opposed = 0.4;
       r.nearly = std::pow(10.0, uniform(random, -15, -1));
       return r;
     }},
    {"rounded data",
     [](Random& random) {
       ContactRecipe r = any_shape(random);
       r.rounded = true;
       r.duplicates = r.opposed = r.zero_caps = 0.1;
       r.at_rest = 0.3;
       r.mu = 0.5 * integer(random, 0, 3);
       return r;
     }},
    {"at rest",
     [](Random& random) {
       ContactRecipe r = any_shape(random);
       r.at_rest = 0.7;
       r.zero_caps = 0.5;
       return r;
     }},
    {"mu to 1e8",
     [](Random& random) {
       ContactRecipe r = any_shape(random);
       r.mu = std::pow(10.0, uniform(random, 0, 8));
       return r;
     }},
    {"masses 1e6",
     [](Random& random) {
       ContactRecipe r = any_shape(random);
       r.decades = 6;
       return r;
     }},
    {"masses 1e10",
     [](Random& random) {
       ContactRecipe r = any_shape(random);
       r.decades = 10;
       return r;
     }},
    {"all at once",
     [](Random& random) {
       ContactRecipe r = any_shape(random);
       r.rounded = coin(random);
       r.duplicates = r.opposed = r.zero_caps = 0.2;
       r.at_rest = 0.3;
       r.mu = std::pow(10.0, uniform(random, -2, 8));
       r.decades = uniform(random, 0, 10);
       return r;
     }},
};
constexpr int kCount = static_cast<int>(std::size(kClasses));

struct Tally {
  long problems = 0, wrong = 0, restarted = 0, by_status[4] = {};
  long lost = 0;  // unsolved, but solved with an M that is not rounded to double
  int most_pivots = 0;
  double residual = 0;
  void add(const Tally& other) {
    problems += other.problems;
    wrong += other.wrong;
    restarted += other.restarted;
    lost += other.lost;
    for (int s = 0; s < 4; ++s) by_status[s] += other.by_status[s];
    most_pivots = std::max(most_pivots, other.most_pivots);
    residual = std::max(residual, other.residual);
  }
};

// max_i |min(m z_i, w_i)| over the largest sum of the terms of a w_i; m = max |M_ij|. Infinite for z < 0.
double residual(const LcpProblem& p, const Eigen::VectorXd& z) {
  long double m = 0, worst = 0, scale = 0;
  for (const double x : p.M.reshaped()) m = std::max(m, std::abs(static_cast<long double>(x)));
  for (int i = 0; i < p.size(); ++i) {
    long double w = p.q(i), terms = std::abs(w);
    for (int j = 0; j < p.size(); ++j) {
      const long double term = static_cast<long double>(p.M(i, j)) * z(j);
      w += term;
      terms += std::abs(term);
    }
    scale = std::max(scale, terms);
    const long double left = std::abs(std::min((m > 0 ? m : 1) * z(i), w));
    if (!(left <= worst)) worst = left;
    if (!(z(i) >= 0)) return std::numeric_limits<double>::infinity();
  }
  return static_cast<double>(scale > 0 ? worst / scale : worst);
}

// The same contacts with an M that is not rounded to double, J being given: is there a solution?
bool solved_without_rounding(const test::ContactProblem& contacts, const ContactRecipe& recipe, const LcpProblem& p) {
  const int n = p.size();
  // Rows of the velocities that belong to the unknowns, in twice the precision; zero for gamma and beta.
  const int m = contacts.contacts, t = contacts.tangents, k = t == 0 ? 0 : t == 1 ? 2 : recipe.directions;
  const int first = static_cast<int>(contacts.caps.size()), dofs = static_cast<int>(contacts.J.cols());
  std::vector<std::vector<DoubleDouble>> rows(static_cast<size_t>(n),
                                              std::vector<DoubleDouble>(static_cast<size_t>(dofs)));
  for (int i = 0; i < m; ++i)
    for (int d = 0; d < dofs; ++d) {
      rows[static_cast<size_t>(first + i)][static_cast<size_t>(d)] = contacts.J(i, d);
      for (int j = 0; j < k; ++j) {
        DoubleDouble& x = rows[static_cast<size_t>(first + m + k * i + j)][static_cast<size_t>(d)];
        const double angle = 2 * std::numbers::pi * j / k;
        if (t == 1)
          x = (j == 0 ? 1 : -1) * contacts.J(m + i, d);
        else
          x = std::cos(angle) * DoubleDouble(contacts.J(m + t * i, d)) +
              std::sin(angle) * DoubleDouble(contacts.J(m + t * i + 1, d));
      }
    }
  const auto dot = [&](int a, int b) {
    DoubleDouble sum;
    for (size_t d = 0; d < static_cast<size_t>(dofs); ++d)
      sum += rows[static_cast<size_t>(a)][d] * rows[static_cast<size_t>(b)][d];
    return sum;
  };
  const auto is_impulse = [&](int i) { return i >= first && i < first + m + k * m; };
  std::vector<DoubleDouble> M, q;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) M.push_back(is_impulse(i) && is_impulse(j) ? dot(i, j) : DoubleDouble(p.M(i, j)));
    q.emplace_back(is_impulse(i) ? 0 : p.q(i));
    for (int d = 0; d < dofs; ++d) q.back() += rows[static_cast<size_t>(i)][static_cast<size_t>(d)] * contacts.v(d);
  }
  std::vector<double> covering(static_cast<size_t>(n), 1);
  const double size = p.q.cwiseAbs().maxCoeff();
  for (const double zero : {1e-26, 1e-24, 1e-23, 1e-22, 1e-21, 1e-20, 1e-18, 1e-17, 1e-16, 1e-14}) {
    PreciseLemke lemke;
    lemke.start(n);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) lemke.M(i, j) = M[static_cast<size_t>(n * i + j)];
      lemke.q(i) = q[static_cast<size_t>(i)];
    }
    int pivots = 0;
    if (lemke.run(covering.data(), zero, 100 + 20 * n, pivots) != PreciseLemke::End::solved) continue;
    double worst = 0;
    for (int i = 0; i < n; ++i) {
      DoubleDouble w = q[static_cast<size_t>(i)];
      for (int j = 0; j < n; ++j) w += M[static_cast<size_t>(n * i + j)] * lemke.z(j);
      worst = std::max(worst, std::abs(std::min(lemke.z(i).hi, w.hi)));
    }
    if (worst <= 1e-6 * size) return true;  // of q, although impulses are larger by 1e16
  }
  return false;
}

// Problem `index` of a campaign: the same whatever the number of threads.
void solve(unsigned seed, long index, Lemke& lemke, Tally& tally) {
  std::seed_seq seeds{static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(index)};
  Random random(seeds);
  const ContactRecipe recipe = kClasses[index % kCount].draw(random);
  const test::ContactProblem contacts = test::random_contacts(random, recipe);
  const LcpProblem p = test::contact_lcp(contacts, recipe.directions);
  Eigen::VectorXd z(p.size());
  const LcpReport report = lemke.solve(p.M, p.q, z);
  ++tally.problems;
  ++tally.by_status[static_cast<int>(report.status)];
  tally.restarted += report.tries > 1;
  tally.most_pivots = std::max(tally.most_pivots, report.iterations);
  const double left = residual(p, z);
  if (report.solved()) {
    tally.residual = std::max(tally.residual, left);
    if (!(left <= kWrong)) {
      ++tally.wrong;
      fmt::print(stderr, "wrong: {}, seed {}, problem {}, {} unknowns, residual {:.3g}, reported {:.3g}\n",
                 kClasses[index % kCount].name, seed, index, p.size(), left, report.residual);
    }
  } else if (solved_without_rounding(contacts, recipe, p)) {
    ++tally.lost;
  } else {
    fmt::print(stderr, "unsolved: {}, seed {}, problem {}, {} unknowns, {} ({} pivots), residual {:.3g}\n",
               kClasses[index % kCount].name, seed, index, p.size(), lcp_status_name(report.status), report.iterations,
               report.residual);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const long count = argc > 1 ? std::atol(argv[1]) : 20000;
  const auto seed = static_cast<unsigned>(argc > 2 ? std::atol(argv[2]) : 1);
  const int jobs = argc > 3 ? std::max(1, std::atoi(argv[3])) : 2;
  const long first = argc > 4 ? std::atol(argv[4]) : 0;
  if (count < 1) {
    fmt::print(stderr, "lcp_campaign: {} problems, expected at least 1\n", argv[1]);
    return 2;
  }
  constexpr long kBatch = 1000;
  std::atomic<long> next{0}, done{0};
  std::mutex mutex;
  Tally tallies[kCount];
  std::vector<std::thread> threads;
  for (int job = 0; job < jobs; ++job)
    threads.emplace_back([&] {
      Lemke lemke;
      lemke.reserve(64);
      Tally own[kCount];
      for (long from = next.fetch_add(kBatch); from < count; from = next.fetch_add(kBatch)) {
        const long to = std::min(count, from + kBatch);
        for (long k = from; k < to; ++k) solve(seed, first + k, lemke, own[(first + k) % kCount]);
        const long before = done.fetch_add(to - from);
        if (count >= 100000 && before / 100000 != (before + to - from) / 100000) {
          fmt::print(stderr, "lcp_campaign: {} of {}\n", before + to - from, count);
        }
      }
      const std::lock_guard lock(mutex);
      for (int c = 0; c < kCount; ++c) tallies[c].add(own[c]);
    });
  for (std::thread& thread : threads) thread.join();

  fmt::print("{:<16} {:>9} {:>9} {:>6} {:>6} {:>7} {:>6} {:>9} {:>10} {:>9} {:>6}\n", "class", "problems", "solved",
             "ray", "limit", "failure", "lost", "restarted", "most steps", "residual", "wrong");
  Tally all;
  const auto print = [](const char* name, const Tally& t) {
    fmt::print("{:<16} {:>9} {:>9} {:>6} {:>6} {:>7} {:>6} {:>9} {:>10} {:>9.1e} {:>6}\n", name, t.problems,
               t.by_status[0], t.by_status[1], t.by_status[2], t.by_status[3], t.lost, t.restarted, t.most_pivots,
               t.residual, t.wrong);
  };
  for (int c = 0; c < kCount; ++c) {
    print(kClasses[c].name, tallies[c]);
    all.add(tallies[c]);
  }
  print("all", all);
  const long missing = all.problems - all.by_status[0] - all.lost;
  fmt::print(
      "{} problems: {} solved, {} lost to the rounding of their data, {} unsolved without that excuse, {} wrong\n",
      all.problems, all.by_status[0], all.lost, missing, all.wrong);
  return all.wrong > 0 || missing > 0 ? 1 : 0;
}
