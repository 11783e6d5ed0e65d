#pragma once

#include "scree/step.h"

namespace scree {

// `end` is `state` after h without contact; its time is not set. Returns the estimated error, the largest of any
// coordinate or velocity; infinite: it failed. `work` [J]: of drives and joint damping.
double fly(const Control& control, double h, const State& state, StepWorkspace::Impl& ws, State& end, double& work);

}  // namespace scree
