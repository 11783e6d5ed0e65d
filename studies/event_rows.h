// What the studies of event-driven runs share: scenes built in place, courses with their events, rows.
#pragma once

#include <string>
#include <vector>

#include "rows.h"
#include "scree/fan.h"
#include "scree/run.h"
#include "studies.h"

namespace scree {

// models/MODEL.urdf at (q, v) over a horizontal floor through the origin, integrator `event`.
Scene event_scene(const StudyContext& context, const std::string& model, const Eigen::VectorXd& q,
                  const Eigen::VectorXd& v, double friction, double duration, double dt);

// A run step by step.
struct EventCourse {
  bool complete = false;
  std::string reason;  // why it is not
  std::vector<Event> events;
  std::vector<State> states;  // the first one included
  std::vector<double> force;  // [N] largest normal force of a contact at the end of each step; 0 at the start
  double penetration = 0;     // [m]
  long impacts() const { return count(EventKind::impact); }
  long count(EventKind kind) const;
  const Event* first(EventKind kind) const;  // null: none
  const State& last() const { return states.back(); }
  double largest_force() const { return largest(force); }
};
EventCourse run_course(const StudyContext& context, const Scene& scene);

// A number next to a reference, both shown; the goal is on their difference.
StudyRow match_row(std::string quantity, std::string unit, double reference, double value, double tolerance);
// A difference or other number that should be small.
StudyRow small_row(std::string quantity, std::string unit, double value, double limit);
StudyRow count_row(std::string quantity, const std::string& reference, long value, bool met);
StudyRow complete_row(const std::string& name, const EventCourse& course);

}  // namespace scree
