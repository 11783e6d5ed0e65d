// What runs and fans step: the Simulation of a scene, from a state on.
#pragma once

#include "scree/scene.h"

namespace scree {

inline Simulation scene_simulation(const Scene& scene, State state) {
  Simulation simulation(scene.model, scene.world, scene.options);
  simulation.set_options(scene.options);  // the scene has chosen its integrator
  simulation.set_state(std::move(state));
  simulation.control() = scene.control;
  return simulation;
}

}  // namespace scree
