// A thousand boxes slide at 2 m/s on ground of different friction. The program prints quantiles of how far they get and
// of that over v^2 / (2 mu g), which is 1 by Coulomb's law.
#include <algorithm>
#include <cstdio>

#include "scree/batch.h"
#include "scree/urdf.h"

namespace {

constexpr size_t kBoxes = 1000;
constexpr double kSpeed = 2, kGravity = 9.81;  // [m/s], [m/s^2]

// From 0.2 to 0.6, the same for the same box.
double friction_of(size_t box) { return 0.2 + 0.4 * static_cast<double>(box) / (kBoxes - 1); }

void print_quantiles(const char* name, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](size_t percent) { return values[percent * (values.size() - 1) / 100]; };
  std::printf("%s: 5 %% %.2f, median %.2f, 95 %% %.2f\n", name, at(5), at(50), at(95));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: batch models/box.urdf\n"), 2;
  const scree::Model model = scree::load_urdf(argv[1]);
  scree::World world;
  world.add(scree::plane_collider(scree::Vec3::Zero(), scree::Vec3::UnitZ()));
  world.add(scree::contact_candidates(model, scree::ContactCandidates::automatic));
  world.smooth.depth = 0.001;  // [m] where a corner carries its share of the weight

  scree::BatchOptions options;
  options.step.integrator = scree::IntegratorType::pbfd_coulomb;
  options.step.dt = 0.01;
  options.duration = 1.2;  // [s]; the last one stops after 1.02 s
  scree::BatchSimulation batch(model, world, options);

  std::vector<double> distance(kBoxes), ratio(kBoxes);
  size_t failed = 0;
  batch.run(
      0, kBoxes,
      [&](size_t box, scree::Trajectory& trajectory) {  // called by several threads
        trajectory.q(2) = 0.2486;                       // [m] 1.4 mm deep, where four corners carry the weight
        trajectory.v(0) = kSpeed;
        trajectory.friction = friction_of(box);
      },
      [&](size_t box, scree::TrajectoryResult& result) {  // called by one at a time
        if (result.status != scree::TrajectoryStatus::complete) {
          std::fprintf(stderr, "box %zu: %s\n", box, result.failure.c_str());
          ++failed;
          return true;
        }
        distance[box] = result.q(0, 0);  // of the only row, the end
        ratio[box] = distance[box] / (kSpeed * kSpeed / (2 * friction_of(box) * kGravity));
        return true;
      });
  std::printf("%zu boxes, %zu failed, %d lanes, %d threads\n", kBoxes, failed, scree::batch_lanes(options),
              scree::batch_threads(options));
  print_quantiles("distance [m]", distance);
  print_quantiles("over Coulomb's", ratio);
  return failed == 0 ? 0 : 1;
}
