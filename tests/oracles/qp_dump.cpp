// Random quadratic programs over capped simplices and scree's solutions, as JSON on stdout, for an oracle to repeat.
//
//   qp_dump PROBLEMS SEED
//
// One JSON object per line. Numbers round-trip exactly; matrices are symmetric.
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "solvers/simplex_qp.h"
#include "support/simplex_problems.h"

namespace scree::test {
namespace {

int run(int problems, unsigned long seed) {
  std::mt19937_64 random(seed);
  SimplexQp qp;
  for (int k = 0; k < problems; ++k) {
    const int blocks = std::uniform_int_distribution<int>(1, 8)(random);
    const int size = std::uniform_int_distribution<int>(3, 10)(random);
    const SimplexProblem p = random_problem(random, blocks, size);
    Eigen::VectorXd w = Eigen::VectorXd::Zero(blocks * size);
    const SimplexQpReport report = qp.solve(blocks, size, p.Q.data(), p.g.data(), w.data());
    std::cout << nlohmann::json{{"blocks", blocks},
                                {"size", size},
                                {"beta", p.beta},
                                {"Q", p.Q.reshaped()},
                                {"g", p.g},
                                {"w", w},
                                {"scale", p.scale(w)},
                                {"converged", report.converged},
                                {"violation", report.violation}}
              << '\n';
  }
  return 0;
}

}  // namespace
}  // namespace scree::test

int main(int argc, char** argv) {
  try {
    if (argc != 3) throw std::invalid_argument("expected PROBLEMS SEED");
    return scree::test::run(std::stoi(argv[1]), std::stoul(argv[2]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "qp_dump: %s\n", error.what());
    return 2;
  }
}
