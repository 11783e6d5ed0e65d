// A box lands flat at 3 m/s. Its two corners hit together, and nobody knows in which order and at which rates they act.
// The program follows 400 futures and prints what the corners do and where the box stops.
#include <algorithm>
#include <cstdio>

#include "scree/error.h"
#include "scree/fan.h"

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: fan examples/scenes/fan-landing.toml\n"), 2;
  try {
    const scree::Scene scene = scree::load_scene(argv[1]);
    scree::FanOptions options;
    options.branches = 400;
    options.seed = 1;
    const scree::Fan fan = scree::run_fan(scene, options);

    const long failed = std::count_if(fan.branches.begin(), fan.branches.end(), [](const scree::FanBranch& branch) {
      return branch.status != scree::RunStatus::complete;
    });
    std::printf("%zu branches, %ld failed; they part at %.4f s:\n", fan.branches.size(), failed, fan.first_split);
    for (const scree::FanShare& share : fan.split) std::printf("  %3ld  %s\n", share.branches, share.mode.c_str());
    const size_t end = fan.rows() - 1;
    std::printf("they stop at x = %.3f to %.3f m, median %.3f m\n", fan.quantile(end, 0, 0), fan.quantile(end, 0, 1),
                fan.quantile(end, 0, 0.5));
    for (const scree::FanCluster& cluster : fan.clusters) {
      if (cluster.branches.size() < 20) continue;
      std::printf("  %3zu branches, such as %ld, which stops at %.3f m:", cluster.branches.size(), cluster.branches[0],
                  fan.at(static_cast<size_t>(cluster.branches[0]), end, 0));
      for (const std::string& mode : cluster.modes) std::printf(" %s;", mode.c_str());
      std::printf("\n");
    }
    return failed == 0 ? 0 : 1;
  } catch (const scree::InputError& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 2;
  }
}
