// Inclusion: motion through impacts with time as a state (dissertation of M. Halm, section 7.3).      theory section 16
//
// The state is (q, v, t), its independent variable s adds up time [s] and normal impulse [N s] one to one. In flight s
// is time; in an impact s is impulse, and neither q nor t move; where contacts last both flow, so that time goes by
// 1/(1 + |lambda_n|_1) a unit of s. At an impact of several contacts s may flow through them at any rates: a seed picks
// one of the solutions.
//
// Contact is rigid and inelastic, with World::surface.friction in World::impact.friction_directions; all else that the
// world says of contact plays no part.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "scree/control.h"
#include "scree/event.h"
#include "scree/state.h"
#include "scree/world.h"

namespace scree {

enum class InclusionMode {
  separating,  // no contact is closed, or all that are part: contact-free motion
  colliding,   // a closed contact approaches: impulse without time
  boundary,    // closed contacts last: a convex combination of the two
};
const char* inclusion_mode_name(InclusionMode mode);  // "separating", "colliding", "boundary"

// Which of several solutions.
enum class InclusionSelection {
  equal,   // impacts: all closed contacts may have the same share of impulse; what Lemke's algorithm finds
  random,  // impacts: shares drawn from the seed, kept for some increments; Lemke's algorithm from drawn covering
           // vectors
};

struct InclusionOptions {
  double max_dt = 0.01;  // in (0, 1] [s], of a boundary step, which is of first order in it
  InclusionSelection selection = InclusionSelection::equal;
  std::uint64_t seed = 1;
  EventOptions event = {};  // touch, rest_speed and flight_accuracy of it
  void validate() const;    // throws InputError: field, value received, accepted range
};

// A pair that was closed at the start of the step or is at its end.
struct InclusionContact {
  int a = 0, b = 0;              // indices into World::colliders: of a body, and of the ground it touches
  double gap = 0;                // [m] at the end of the step
  double normal_velocity = 0;    // [m/s] likewise, > 0 where it parts
  double normal_impulse = 0;     // >= 0 [N s] during the step
  Vec3 friction = Vec3::Zero();  // [N s] tangential impulse on the robot during the step, world axes
  Vec3 normal = Vec3::UnitZ();   // out of the ground, where the impulse acted
};

enum class InclusionStatus {
  advanced,
  failed,  // the state is the one before
};

struct InclusionStep {
  InclusionStatus status = InclusionStatus::failed;  // until the step proves otherwise
  const char* reason = "";                           // of a failed step, in words
  InclusionMode mode = InclusionMode::separating;    // at its start
  double ds = 0;                                     // > 0 of a step that advanced: dt + normal_impulse
  double dt = 0;                                     // [s]
  double normal_impulse = 0;                         // [N s] |Lambda_n|_1
  bool closed = false;             // ended where a gap closes, before all of the ds asked for was used
  bool without_collision = false;  // boundary, dt = 0: no finite force keeps the contacts closed, an impulse does
  int solves = 0;                  // complementarity problems
  double residual = 0;             // the largest of these, relative (LcpReport)
  double projection = 0;           // [m, rad] boundary: largest entry of the displacement that keeps gaps closed
  std::vector<InclusionContact> contacts;
  bool advanced() const { return status == InclusionStatus::advanced; }
};

class Inclusion {
 public:
  static constexpr double kMaxStep = 10;  // [s; N s]

  // Refers to model and world, copies the control. Throws InputError.
  Inclusion(const Model& model, const World& world, const Control& control, const InclusionOptions& options);
  Inclusion(const Model& model, const World& world, const InclusionOptions& options = {});  // no control
  ~Inclusion();
  Inclusion(Inclusion&&) noexcept;
  Inclusion& operator=(Inclusion&&) noexcept;

  // Advances s by at most ds in (0, kMaxStep]. By less than ds: to where a gap closes; where contacts of an impact take
  // less than their shares of impulse; where dt would be larger than max_dt, or the step does not converge. Throws
  // InputError: ds, sizes, numbers that are not finite, more contacts than a complementarity problem may have.
  [[nodiscard]] InclusionStep advance(State& state, double ds);

  InclusionMode mode(const State& state);
  double least_gap(const State& state);  // [m] of all pairs; infinite if there are none
  // Of the contacts that are closed, ordered by pair; v is that of the state.
  ImpactProblem impact_problem(const State& state);

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace scree
