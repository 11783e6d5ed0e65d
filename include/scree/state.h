// State: what changes while a model moves. Small, copyable, and everything a step needs from the past.
#pragma once

#include <cstdint>
#include <vector>

#include "scree/model.h"

namespace scree {

using Mat34 = Eigen::Matrix<double, 3, 4>;  // [rotation part | translation part] of a 4x4 transform or its rate

struct State {
  double time = 0;       // [s]
  Eigen::VectorXd q;     // nq positions [m], [rad], unit quaternions (w, x, y, z); see docs/conventions.md
  Eigen::VectorXd v;     // nv velocities [m/s], [rad/s]
  double last_step = 0;  // [s] the step that led here, after subdivision; 0 at the start

  // (T_n - T_{n-1}) / last_step of every body: the history of the position-based scheme, theory (4.2). It carries the
  // true last step, however the step was subdivided. Empty: taken from q and v. Clear it after editing q or v by hand.
  std::vector<Mat34> body_rates;

  // Weights of the contact polytopes at the end of the last step, by pair and vertex: where the next one starts. Empty:
  // from zero. Were these more than 6000 numbers: of pairs near the ground alone, the number of each and its weights.
  std::vector<double> contact_weights;
  // Normal force [N] that every pair of colliders bore at the end of the last step, impacts aside: what the
  // two-stage integrators may extrapolate, theory (9.3). Empty: none.
  std::vector<double> contact_loads;
};

// A checked state at rest (or moving with v). Quaternions are checked to be unit within 1e-6 and then normalised.
// Throws InputError that names the joint.
State make_state(const Model& model);
State make_state(const Model& model, const Eigen::VectorXd& q, const Eigen::VectorXd& v, double time = 0);

// 64-bit FNV-1a over the bits of time, q and v: equal hashes mean equal motions, bit for bit.
std::uint64_t state_hash(const State& state);

}  // namespace scree
