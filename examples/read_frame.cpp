// Load a robot, hold a pose with its motors while it falls for a second, and read where a foot is.
#include <cstdio>

#include "scree/simulation.h"
#include "scree/urdf.h"

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: read_frame MODEL.urdf\n"), 2;
  scree::Simulation simulation(scree::load_urdf(argv[1]), {.dt = 0.05});
  for (const scree::Joint& joint : simulation.model().joints()) {
    if (scree::velocity_count(joint.type) != 1) continue;
    simulation.control().kp(joint.v_index) = 500;  // [N m/rad]
    simulation.control().kd(joint.v_index) = 20;   // [N m s/rad]
    simulation.control().target(joint.q_index) = 0.3;
  }
  for (int k = 0; k < 20; ++k)
    if (!simulation.step().converged()) return std::fprintf(stderr, "step %d failed\n", k), 1;
  const scree::Vec3 p = simulation.frame_pose("limb1_link7").p;
  std::printf("t = %.2f s, limb1_link7 at (%.3f, %.3f, %.3f) m\n", simulation.state().time, p.x(), p.y(), p.z());
}
