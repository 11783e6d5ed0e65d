// Eight lanes, compiled for AVX-512 (CMakeLists.txt).
#include "integrators/lockstep.h"

namespace scree {

LaneMachine* new_lanes8(const LaneSetup& setup);
LaneMachine* new_lanes8(const LaneSetup& setup) { return new Lockstep<Pack<8>>(setup); }

}  // namespace scree
