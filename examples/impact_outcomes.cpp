// A block falls flat on its two lower corners. One law says that it rests; the set of plausible outcomes says that it
// may rock on either corner, and how fast. Then an elastic impact, with what is proved about it.
#include <cstdio>

#include "scree/impact.h"
#include "scree/outcome_set.h"

int main() {
  const double width = 0.07444, height = 0.16094, mass = 0.19;  // [m] [m] [kg]
  scree::ImpactProblem block;                                   // v = (vx, vy, spin)
  block.M = Eigen::Vector3d(mass, mass, mass * (width * width + height * height) / 12).asDiagonal();
  block.Jn.resize(2, 3);
  block.Jn << 0, 1, -width / 2, 0, 1, width / 2;  // normal velocities of the left and the right corner
  block.Jt.resize(2, 3);
  block.Jt << 1, 0, height / 2, 1, 0, height / 2;
  block.mu = Eigen::Vector2d(1, 1);
  block.v = Eigen::Vector3d(0, -0.1401, 0);  // [m/s] [m/s] [rad/s]

  const scree::ImpactResult rest = scree::resolve_impact(block, {.law = scree::ImpactLaw::anitescu_potra});
  std::printf("%s: spin %.3f rad/s\n", scree::impact_law_name(rest.law), rest.v(2));

  const scree::OutcomeSet set = scree::sample_outcomes(block, {.samples = 2000, .threads = 2});
  const scree::Interval spin = set.range(Eigen::Vector3d::UnitZ());
  std::printf("set: spin %.3f to %.3f rad/s, %ld of %ld outcomes at rest\n", spin.lower, spin.upper, set.at_rest,
              set.finished);
  for (const scree::OutcomeMode& mode : set.modes) std::printf("  %5ld  %s\n", mode.count, mode.name().c_str());

  const scree::ImpactResult elastic = scree::resolve_impact(block, {.law = scree::ImpactLaw::reflections});
  const scree::ImpactCertificate& proof = *elastic.certificate;
  std::printf("%s: vy %.4f m/s after %ld of at most %.3g steps, energy ratio in [%.16g, %.16g]\n",
              scree::impact_law_name(elastic.law), elastic.v(1), proof.steps, proof.cap, proof.energy_ratio.lower,
              proof.energy_ratio.upper);
  return proof.holds && set.finished == set.samples ? 0 : 1;
}
