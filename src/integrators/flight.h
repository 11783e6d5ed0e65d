#pragma once

#include "scree/step.h"

namespace scree {

// `end` is `state` after h without contact; its time is not set. Returns the estimated error, the largest of any
// coordinate or velocity; infinite: it failed. `work` [J]: of drives, damping and friction of joints. How it ended
// with dry friction of joints: EventScratch::mode_end.
double fly(const Control& control, double h, const State& state, StepWorkspace::Impl& ws, State& end, double& work);

}  // namespace scree
