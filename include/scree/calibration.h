// Calibration: the friction coefficient with which a body slides as far as wanted, the lookup of the PBFD paper (Fig.
// 5).
#pragma once

#include <functional>
#include <string>

#include "scree/run.h"

namespace scree {

struct CalibrationOptions {
  double distance = 0;     // > 0 [m] wanted
  double accuracy = 1e-4;  // in [1e-9, 0.5], of the distance
  // > 0, ends of the search. 0: `drag` 1e-6 and 1e4 times what `speed` of the scene stands for, `friction` 1e-3 and
  // 100.
  double lowest = 0, highest = 0;
  void validate() const;  // throws InputError: field, value received, accepted range
};

enum class CalibrationStatus {
  found,
  out_of_reach,  // no coefficient of the search slides so far, or so little
  jumps,         // the distance jumps over the wanted one; `value` is next to the jump
  run_failed,    // a step did not converge; `value` is the coefficient
  interrupted,
};
const char* calibration_status_name(CalibrationStatus status);

struct CalibrationReport {
  CalibrationStatus status = CalibrationStatus::out_of_reach;
  std::string parameter;  // "drag" [N s^beta / m^(beta+gamma+1)] (pbd-friction, pbfd) or "friction" (pbfd-coulomb)
  double value = 0;       // of it
  double distance = 0;    // [m] slid with `value`
  double lowest = 0, highest = 0;      // ends of the search
  double at_lowest = 0, shortest = 0;  // [m] slid with `lowest`, and the least of all runs
  int runs = 0;
};

// Horizontal displacement, across gravity, of the centre of mass between the start and the end of the run [m]. Scenes
// should last until the body has come to rest.
double sliding_distance(const Scene& scene, const Run& run);

// The smallest coefficient that slides `distance`: a scan by factors of ten, then bisection of its logarithm. Throws
// InputError: options, a scene without contact or of an integrator without such a coefficient.
CalibrationReport calibrate(const Scene& scene, const CalibrationOptions& options,
                            const std::function<bool()>& go_on = {});

}  // namespace scree
