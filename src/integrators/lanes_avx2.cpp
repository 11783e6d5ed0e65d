// Four lanes, compiled for AVX2 (CMakeLists.txt).
#include "integrators/lockstep.h"

namespace scree {

LaneMachine* new_lanes4(const LaneSetup& setup);
LaneMachine* new_lanes4(const LaneSetup& setup) { return new Lockstep<Pack<4>>(setup); }

}  // namespace scree
