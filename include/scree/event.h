// Events: how the integrator `event` goes through impacts in time, and what it reports of them.
// theory section 15
//
// Contact is rigid. Between events a model flies, or slides and stands on closed contacts; where a point reaches the
// ground the time is located and a law of impacts gives the velocity after.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "scree/impact.h"
#include "scree/types.h"

namespace scree {

// How `event` steps. The law of its impacts is World::impact, friction and restitution are those of World::surface.
struct EventOptions {
  double touch = 1e-9;       // in [1e-12, 1e-3] [m]: points nearer to the ground take part in impacts. No point is ever
                             // deeper than this
  double rest_speed = 1e-6;  // in [1e-12, 1] [m/s]: closed contacts that part or meet more slowly last. Bounces slower
                             // than this are over
  double simultaneous = 0;   // in [0, 1] [m]: points nearer than this take part in an impact of others, as if closed
  double flight_accuracy = 1e-10;  // in [1e-15, 1e-2] [m, rad; m/s, rad/s]: largest estimated error of a step of flight
  // Largest imbalance of energy of a step of dt, proportionally less of shorter ones, in [1e-12, 1]: of the kinetic
  // energy and weight times size of the robot; theory (15.10)
  double energy_accuracy = 1e-4;
  int max_events = 10000;  // >= 1, at most 10^9: of one step, then it fails and says so
  int max_tries = 100000;  // >= 1, at most 10^9: substeps of one step, rejected ones included, likewise
  void validate() const;   // throws InputError: field, value received, accepted range
};

enum class EventKind {
  impact,                    // points reached the ground, or closed contacts were made to approach
  impact_without_collision,  // Painleve: no finite force keeps closed contacts closed, an impulse does; theory (15.9)
  lift_off,                  // a contact that lasted has opened
  rest,                      // a contact lasts from here on that did not: after an impact, or after bounces without end
};
const char* event_kind_name(EventKind kind);  // "impact", "impact without collision", "lift-off", "rest"

struct EventContact {
  int a = 0, b = 0;              // indices into World::colliders: of a body, and of the ground it touches
  Vec3 position = Vec3::Zero();  // [m] the surface point
  Vec3 normal = Vec3::UnitZ();   // out of the ground
  Vec3 impulse = Vec3::Zero();   // [N s] on the robot, world axes
  Vec3 velocity_before = Vec3::Zero(), velocity_after = Vec3::Zero();  // [m/s] of the point, world axes
};

struct Event {
  double time = 0;  // [s]
  EventKind kind = EventKind::impact;
  std::vector<EventContact> contacts;
  // Of impacts:
  ImpactLaw law = ImpactLaw::anitescu_potra;
  ImpactStatus status = ImpactStatus::resolved;
  long steps = 0;                              // of the law
  double energy_before = 0, energy_after = 0;  // [J] kinetic
  std::optional<ImpactCertificate> certificate;
  Eigen::VectorXd v_before, v_after;  // nv
  // Of rests that end a sequence of bounces: when its last bounce would have been, by theory (15.8) [s].
  std::optional<double> bounces_end;
};

// Decides impacts in place of resolve_impact. Called once for each, in the order of time.
using ImpactResolver = std::function<ImpactResult(const ImpactProblem&)>;

}  // namespace scree
