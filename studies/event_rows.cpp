#include "event_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace scree {

Scene event_scene(const StudyContext& context, const std::string& model, const Eigen::VectorXd& q,
                  const Eigen::VectorXd& v, double friction, double duration, double dt) {
  Model read = load_urdf(context.data / "models" / (model + ".urdf"));
  const Control control(read);
  Scene scene{.file = {},
              .title = model,
              .model = std::move(read),
              .import_report = {},
              .options = {},
              .output = 0,
              .q0 = q,
              .v0 = v,
              .control = control,
              .world = {},
              .duration = duration,
              .batch = {},
              .text = {}};
  scene.options.integrator = IntegratorType::event;
  scene.options.dt = dt;
  scene.world.add(plane_collider(Vec3::Zero(), Vec3::UnitZ()));
  scene.world.add(contact_candidates(scene.model, ContactCandidates::named));
  scene.world.surface.friction = friction;
  return scene;
}

long EventCourse::count(EventKind kind) const {
  return std::count_if(events.begin(), events.end(), [&](const Event& e) { return e.kind == kind; });
}

const Event* EventCourse::first(EventKind kind) const {
  for (const Event& event : events)
    if (event.kind == kind) return &event;
  return nullptr;
}

EventCourse run_course(const StudyContext& context, const Scene& scene) {
  EventCourse course;
  StepWorkspace workspace(scene.model, scene.world);
  State state = make_state(scene.model, scene.q0, scene.v0);
  course.states.push_back(state);
  course.force.push_back(0);
  StepOptions options = scene.options;
  const long steps = std::max(1L, std::lround(std::ceil(scene.duration / options.dt - 1e-9)));
  for (long k = 0; k < steps; ++k) {
    if (k % 64 == 0 && !context.progress(state.time, scene.duration)) throw StudyInterrupted();
    options.dt = std::min(scene.options.dt, scene.duration - static_cast<double>(k) * scene.options.dt);
    const StepReport report = step(scene.model, scene.control, options, state, workspace);
    if (!report.converged()) {
      course.reason = report.reason;
      return course;
    }
    double normal = 0;
    for (const Contact& contact : workspace.contacts()) normal = std::max(normal, contact.force.dot(contact.normal));
    course.states.push_back(state);
    course.force.push_back(normal);
    course.penetration = std::max(course.penetration, report.penetration);
    course.events.insert(course.events.end(), workspace.events().begin(), workspace.events().end());
  }
  course.complete = true;
  return course;
}

StudyRow match_row(std::string quantity, std::string unit, double reference, double value, double tolerance) {
  return goal_row(std::move(quantity), std::move(unit), fmt::format("{:.12g}", reference),
                  fmt::format("{:.12g}, off by {:.2g}", value, value - reference),
                  fmt::format("within {:.1g}", tolerance), std::abs(value - reference) <= tolerance);
}

StudyRow small_row(std::string quantity, std::string unit, double value, double limit) {
  return goal_row(std::move(quantity), std::move(unit), "0", value, fmt::format("<= {:.1g}", limit),
                  std::abs(value) <= limit);
}

StudyRow count_row(std::string quantity, const std::string& reference, long value, bool met) {
  return goal_row(std::move(quantity), "", reference, static_cast<double>(value), "the same", met);
}

StudyRow complete_row(const std::string& name, const EventCourse& course) {
  return goal_row(name + ": the run ends", "", "yes", course.complete ? "yes" : "no: " + course.reason, "yes",
                  course.complete);
}

}  // namespace scree
