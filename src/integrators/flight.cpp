// A step without contact: Dormand and Prince's method of order 5 with an embedded one of order 4 (J. Comput. Appl.
// Math. 6 (1980) 19-26) on the forward dynamics.
// theory (15.1)
#include "integrators/flight.h"

#include "integrators/runge_kutta.h"
#include "integrators/workspace.h"

namespace scree {
namespace {

constexpr int kStages = 7;  // the last one at the end of the step, for the error alone
constexpr double kNode[kStages] = {0, 1.0 / 5, 3.0 / 10, 4.0 / 5, 8.0 / 9, 1, 1};
constexpr double kWeight[kStages][kStages - 1] = {
    {},
    {1.0 / 5},
    {3.0 / 40, 9.0 / 40},
    {44.0 / 45, -56.0 / 15, 32.0 / 9},
    {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
    {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
    {35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84},
};
// The weights of order 5, which are those of the last stage, less those of order 4.
constexpr double kError[kStages] = {71.0 / 57600,      0,          -71.0 / 16695, 71.0 / 1920,
                                    -17253.0 / 339200, 22.0 / 525, -1.0 / 40};

}  // namespace

double fly(const Control& control, double h, const State& state, StepWorkspace::Impl& ws, State& end, double& work) {
  EventScratch& c = ws.event;
  work = 0;
  c.v_start = state.v;
  if (!begin_stiction(control, state.time, state.q, c.v_start, ws)) return std::numeric_limits<double>::infinity();
  c.mode_start = ws.stiction.margin(c.v_start);
  for (int stage = 0; stage < kStages; ++stage) {
    end.q = state.q;
    end.v = c.v_start;
    for (int k = 0; k < stage; ++k) {
      end.q += h * kWeight[stage][k] * c.q_rate.col(k);
      end.v += h * kWeight[stage][k] * c.v_rate.col(k);
    }
    const double time = state.time + h * kNode[stage];
    if (!forward_rates(control, time, end.q, end.v, ws, c.q_rate.col(stage), c.v_rate.col(stage)))
      return std::numeric_limits<double>::infinity();
    if (stage < kStages - 1)
      work += h * kWeight[kStages - 1][stage] *
              (end.v.dot(ws.force) - ws.joint_forces.stop_power(end.q.data(), end.v.data()));
  }
  c.mode_end = ws.stiction.margin(end.v);
  normalize_quaternions(tree_of(ws.model), end.q.data());
  c.q_error.setZero();
  c.v_error.setZero();
  for (int k = 0; k < kStages; ++k) {
    c.q_error += h * kError[k] * c.q_rate.col(k);
    c.v_error += h * kError[k] * c.v_rate.col(k);
  }
  const double error = std::max(c.q_error.lpNorm<Eigen::Infinity>(), c.v_error.lpNorm<Eigen::Infinity>());
  return end.q.allFinite() && end.v.allFinite() && std::isfinite(error) ? error
                                                                        : std::numeric_limits<double>::infinity();
}

}  // namespace scree
