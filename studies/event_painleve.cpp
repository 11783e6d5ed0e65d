// Painleve's rod: what `event` does where it slides, lifts off, comes upon the singular point of Genot and Brogliato,
// or starts where no finite force keeps its end on the ground.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "event_reference.h"
#include "event_rows.h"

namespace scree {
namespace {

using reference::PainleveRod;
using reference::Real;

constexpr double kHalf = 0.5;  // [m] half the length of models/rod-planar.urdf

Scene rod_scene(const StudyContext& context, const PainleveRod& rod, const PainleveRod::State& y, double duration,
                double dt) {
  // The rear end A is at the origin; the angle about +y falls as theta grows.
  const double theta = static_cast<double>(y.theta), omega = static_cast<double>(y.omega);
  const double s = std::sin(theta), c = std::cos(theta);
  return event_scene(context, "rod-planar", Eigen::Vector3d(kHalf * c, kHalf * s, -theta),
                     Eigen::Vector3d(static_cast<double>(y.u) - kHalf * s * omega, kHalf * c * omega, -omega),
                     static_cast<double>(rod.mu), duration, dt);
}

// Of a state of the engine: theta, omega, u and place of A, its height and normal velocity.
struct Read {
  double theta, omega, u, x, height, rise;
};
Read read(const State& state) {
  const double theta = -state.q(2), omega = -state.v(2), s = std::sin(theta), c = std::cos(theta);
  return {theta,
          omega,
          state.v(0) + kHalf * s * omega,
          state.q(0) - kHalf * c,
          state.q(1) - kHalf * s,
          state.v(1) - kHalf * c * omega};
}

double difference(const Read& a, const PainleveRod::State& b) {
  return std::max({std::abs(a.theta - static_cast<double>(b.theta)), std::abs(a.omega - static_cast<double>(b.omega)),
                   std::abs(a.u - static_cast<double>(b.u)), std::abs(a.x - static_cast<double>(b.x))});
}

const char* ending_name(PainleveRod::Ending ending) {
  constexpr const char* kNames[] = {"lifts off", "stops",  "singular", "flat",
                                    "upright",   "slides", "slips"};  // as Ending
  return kNames[static_cast<int>(ending)];
}

PainleveRod rod_of(double mu) {
  PainleveRod rod;
  rod.mu = mu;
  return rod;
}

struct Slide {
  const char* name;
  double mu;
  PainleveRod::State start;
  double duration;  // [s] at which states are compared unless it lifts off before
};

// Kind of the first thing that happens to A in a short time.
enum class Seen { slides, lifts, impact, failed };
Seen seen(const EventCourse& course, double dt) {
  if (!course.complete) return Seen::failed;
  if (course.first(EventKind::impact_without_collision)) return Seen::impact;
  const Read after = read(course.last());
  return after.rise > 1e-9 + 1e-6 * dt && course.force.back() == 0 ? Seen::lifts : Seen::slides;
}

}  // namespace

StudyResult study_event_painleve(const StudyContext& context) {
  StudyResult result;
  result.name = "event-painleve";
  result.title = "Painleve's rod";
  result.summary =
      "A uniform rod of 1 m leans on its end A, which slides on the ground with the velocity u; the rod is up and to "
      "the right of A, at the angle theta. The end stays on the ground if its normal force F solves p F + b = 0, with "
      "p = (1 + 3 cos (cos + mu s sin))/m, s the sign of u, and b = l omega^2 sin - g. Where A slides away from the "
      "rod (s = -1) p can be negative: without a finite force if b < 0 (inconsistent), with several motions if b > 0 "
      "(indeterminate). References: the three equations of the slide by Runge-Kutta in long double, Routh's impact in "
      "closed form, and the regions of the sign of p and b.";
  auto& rows = result.rows;
  const std::vector<double> steps =
      context.quick ? std::vector{2e-3, 1e-3, 5e-4} : std::vector{2e-3, 1e-3, 5e-4, 2.5e-4, 1.25e-4};

  // --- what theory says, by our own integration ---
  {
    const int n = context.quick ? 16 : 40;
    StudySeries jams{"slides that end with a force without bound", {}, {}, false};
    long below = 0, above = 0;
    for (const double mu : {1.2, 1.35, 1.45, 1.5, 1.53, 1.55, 1.6, 1.8, 2.0, 3.0}) {
      const PainleveRod rod = rod_of(mu);
      long jam = 0, all = 0;
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
          const PainleveRod::State y{0.02L + 1.53L * i / (n - 1), -8 + 16.0L * j / (n - 1), -3, 0};
          if (rod.region(y) != PainleveRod::Region::slides) continue;
          const PainleveRod::Course course = rod.slide(y, 2, 1e-4L, 1e-5L);
          jam += course.ending == PainleveRod::Ending::singular && course.force_grows;
          ++all;
        }
      (mu < static_cast<double>(PainleveRod::jam_friction()) ? below : above) += jam;
      jams.x.push_back(mu);
      jams.y.push_back(100.0 * static_cast<double>(jam) / static_cast<double>(all));
      if (!context.progress(mu, 3.0)) throw StudyInterrupted();
    }
    rows.push_back(
        goal_row("reference alone: slides whose force grows without bound, friction below 8/(3 sqrt 3) = 1.5396", "",
                 "0 (Genot and Brogliato)", static_cast<double>(below), "0", below == 0));
    rows.push_back(
        goal_row("reference alone: the same, friction above", "", "> 0", static_cast<double>(above), "> 0", above > 0));
    result.figures.push_back({"Slides that end at p = b = 0 with a force without bound, reference",
                              {"friction", ""},
                              {"share of the slides", "%"},
                              {jams},
                              {"A grid of angles and spins, u = -3 m/s. Theory: none below 1.5396."}});
  }

  // --- regular slides ---
  const std::vector<Slide> slides = {{"towards the rod, friction 0.5", 0.5, {0.8L, 0, 1, 0}, 0.2},
                                     {"away from it, friction 0.5", 0.5, {0.8L, 0, -1, 0}, 0.2},
                                     {"away, friction 1.4, lifts off", 1.4, {0.6L, 3, -3, 0}, 1},
                                     {"away, friction 2, lifts off", 2, {0.3L, 6, -3, 0}, 1},
                                     {"away, friction 2, stops and holds", 2, {1.45L, -1, -1, 0}, 1},
                                     {"away, friction 2, stops, slides back, holds", 2, {0.5L, 2, -3, 0}, 1}};
  StudyFigure convergence{"Slides: largest difference of angle, spin, slip, place from the reference",
                          {"step", "s", true},
                          {"difference", "", true},
                          {},
                          {}};
  for (const Slide& slide : slides) {
    const PainleveRod rod = rod_of(slide.mu);
    PainleveRod::Course exact = rod.slide(slide.start, slide.duration);
    const std::string name = slide.name;
    const bool lifts = exact.ending == PainleveRod::Ending::lifts, stops = exact.ending == PainleveRod::Ending::stops;
    PainleveRod::State end = exact.state;
    double duration = static_cast<double>(exact.time);
    if (stops) {  // A holds from then on, or slides the other way, 20 ms more
      const PainleveRod::Force force = rod.holding_force(end.theta, end.omega);
      const bool holds = std::abs(force.tangential) <= rod.mu * force.normal;
      rows.push_back(report_row(
          name + ": reference stops at; |T|/N that would hold it; then", "", "",
          fmt::format("{:.9f} s; {:.4f}; {}", duration, static_cast<double>(std::abs(force.tangential) / force.normal),
                      holds ? "holds" : "slides back")));
      end.u = 0;
      end = rod.go_on(end, 0.02L);
      duration += 0.02;
    }
    std::vector<double> errors;
    double force = 0;
    for (const double dt : steps) {
      Scene scene = rod_scene(context, rod, slide.start, lifts ? duration + 0.01 : duration, dt);
      const EventCourse course = run_course(context, scene);
      if (!course.complete) rows.push_back(complete_row(fmt::format("{}, {:g} ms", name, 1e3 * dt), course));
      force = course.largest_force();
      if (course.first(EventKind::impact_without_collision) || course.impacts() > 0)
        rows.push_back(goal_row(
            fmt::format("{}, {:g} ms: impacts", name, 1e3 * dt), "", "0",
            static_cast<double>(course.impacts() + course.count(EventKind::impact_without_collision)), "0", false));
      if (lifts) {
        const Event* off = course.first(EventKind::lift_off);
        errors.push_back(off ? std::abs(off->time - duration) : NAN);
      } else
        errors.push_back(course.complete ? difference(read(course.last()), end) : NAN);
    }
    convergence.series.push_back({name + (lifts ? ", time of lift-off [s]" : ""),
                                  {steps.rbegin(), steps.rend()},
                                  {errors.rbegin(), errors.rend()},
                                  false});
    const std::string what = lifts ? "time of lift-off" : stops ? "state 20 ms after A stops" : "state at 0.2 s";
    rows.push_back(report_row(fmt::format("{}: {}, reference {}, differences", name, what,
                                          lifts ? fmt::format("{:.9f} s", duration) : ending_name(exact.ending)),
                              "", "", join_numbers(errors, "{:.2g}")));
    if (lifts) {  // told at the end of the step in which the force is gone
      std::vector<double> in_steps;
      for (size_t k = 0; k < steps.size(); ++k) in_steps.push_back(errors[k] / steps[k]);
      rows.push_back(goal_row(name + ": that difference in steps", "", "", join_numbers(in_steps, "{:.2g}"),
                              "<= 2 each", largest(in_steps) <= 2));
    } else
      rows.push_back(goal_row(name + ": order of that difference in the step", "", "1", log_slope(steps, errors),
                              ">= 0.9", log_slope(steps, errors) >= 0.9));
    rows.push_back(small_row(fmt::format("{}: difference at {:g} ms", name, 1e3 * steps.back()), "", errors.back(),
                             lifts ? 5 * steps.back() : 50 * steps.back()));
    if (!stops)
      rows.push_back(report_row(name + ": largest normal force", "N",
                                fmt::format("{:.4g}", static_cast<double>(exact.largest_force)), force));
  }
  result.figures.push_back(std::move(convergence));

  // --- inconsistent: an impact without collision ---
  for (const double omega : {0.0, -2.0, 4.0}) {
    const PainleveRod rod = rod_of(2);
    const PainleveRod::State start{1, omega, -1, 0};
    const PainleveRod::Impact hit = rod.routh(start, 0);
    const PainleveRod::Force hold = rod.holding_force(1, hit.omega);
    const bool holds = hold.normal > 0 && std::abs(hold.tangential) <= rod.mu * hold.normal;
    const std::string name = fmt::format("inconsistent, friction 2, 1 rad, {:g} rad/s, u = -1 m/s", omega);
    std::vector<double> errors, forces;
    for (const double dt : steps) {
      const EventCourse course = run_course(context, rod_scene(context, rod, start, 0.05, dt));
      const Event* event = course.first(EventKind::impact_without_collision);
      forces.push_back(course.largest_force());
      const PainleveRod::State after{1, hit.omega, 0, 0};
      errors.push_back(course.complete && holds ? difference(read(course.last()), rod.go_on(after, 0.05L)) : NAN);
      if (dt != steps.back()) continue;
      rows.push_back(complete_row(name, course));
      rows.push_back(count_row(name + ": impacts without collision", "1",
                               course.count(EventKind::impact_without_collision),
                               course.count(EventKind::impact_without_collision) == 1));
      rows.push_back(small_row(name + ": its time", "s", event ? event->time : NAN, 1e-12));
      const Vec3 impulse = event && !event->contacts.empty() ? event->contacts.front().impulse : Vec3(NAN, NAN, NAN);
      rows.push_back(
          match_row(name + ": normal impulse, Routh", "N s", static_cast<double>(hit.normal), impulse.z(), 1e-9));
      rows.push_back(match_row(name + ": tangential impulse, Routh", "N s", static_cast<double>(hit.tangential),
                               impulse.x(), 1e-9));
      rows.push_back(match_row(name + ": spin after, Routh", "rad/s", static_cast<double>(hit.omega),
                               event ? -event->v_after(2) : NAN, 1e-9));
      rows.push_back(small_row(name + ": velocity of A after", "m/s",
                               event && !event->contacts.empty() ? event->contacts.front().velocity_after.norm() : NAN,
                               1e-9));
      rows.push_back(goal_row(name + ": then A", "", holds ? "holds" : "lifts off",
                              read(course.last()).height > 1e-8 ? "lifts off" : "holds", "the same",
                              (read(course.last()).height <= 1e-8) == holds));
    }
    rows.push_back(goal_row(name + ": largest force as the step falls", "N", "bounded", join_numbers(forces, "{:.4g}"),
                            "last <= 1.1 x first + 1 N", forces.back() <= 1.1 * forces.front() + 1));
    if (holds) {
      rows.push_back(report_row(name + ": state 50 ms later, differences", "", "", join_numbers(errors, "{:.2g}")));
      rows.push_back(goal_row(name + ": order of that difference in the step", "", "1", log_slope(steps, errors),
                              ">= 0.9", log_slope(steps, errors) >= 0.9));
    }
  }

  // --- indeterminate: A lifts off, slides on with F = -b/p, or jams ---
  {
    const PainleveRod rod = rod_of(2);
    const PainleveRod::State start{1, 6, -1, 0};
    const PainleveRod::Impact hit = rod.routh(start, 0);
    const double b = static_cast<double>(rod.b(1, 6)), dt = steps.back();
    const EventCourse course = run_course(context, rod_scene(context, rod, start, 0.01, dt));
    const Event* event = course.first(EventKind::impact_without_collision);
    const std::string name = "indeterminate, friction 2, 1 rad, 6 rad/s, u = -1 m/s";
    rows.push_back(complete_row(name, course));
    const Read after = read(course.last());
    const char* found = event ? "impact" : after.height > 1e-8 ? "lifts off" : "slides";
    rows.push_back(goal_row(name + ": what happens", "", "lifts off, or impact", found, "one of these",
                            event || after.height > 1e-8));
    if (event)
      rows.push_back(match_row(name + ": normal impulse, Routh", "N s", static_cast<double>(hit.normal),
                               event->contacts.empty() ? NAN : event->contacts.front().impulse.z(), 1e-9));
    else {
      // In the air the centre falls and the rod turns evenly.
      const double t = course.last().time, theta = 1 + 6 * t;
      const double height =
          kHalf * std::sin(1.0) + kHalf * std::cos(1.0) * 6 * t - 0.5 * 9.81 * t * t - kHalf * std::sin(theta);
      rows.push_back(match_row(name + ": height of A at the end, in free flight", "m", height, after.height, 1e-9));
    }
    rows.push_back(report_row(name + ": b, acceleration of A without force", "m/s^2", "", b));
  }

  // --- the singular point ---
  {
    const PainleveRod rod = rod_of(2);
    const PainleveRod::State start{0.6L, 5, -3, 0};
    const PainleveRod::Course exact = rod.slide(start, 1, 1e-5L, 1e-7L);
    PainleveRod::State beyond = exact.state;
    beyond.theta += 1e-6L;  // p < 0 there
    const PainleveRod::Impact hit = rod.routh(beyond, 0);
    const std::string name = "dynamic jam, friction 2, 0.6 rad, 5 rad/s, u = -3 m/s";
    rows.push_back(report_row(
        name + ": reference, p = 1e-7 at; force there", "",
        fmt::format("{:.9f} s, {:.3g} N", static_cast<double>(exact.time), static_cast<double>(exact.largest_force)),
        ending_name(exact.ending)));
    std::vector<double> times, impulses, forces, spins;
    std::string kinds;
    for (const double dt : steps) {
      const EventCourse course = run_course(context, rod_scene(context, rod, start, 0.02, dt));
      const Event* event = course.first(EventKind::impact_without_collision);
      const Event* off = course.first(EventKind::lift_off);
      times.push_back((event ? event->time : off ? off->time : NAN) - static_cast<double>(exact.time));
      impulses.push_back(event && !event->contacts.empty() ? event->contacts.front().impulse.z() : NAN);
      spins.push_back(event ? -event->v_after(2) : NAN);
      forces.push_back(course.largest_force());
      kinds += fmt::format("{}{}", kinds.empty() ? "" : ", ",
                           !course.complete ? "fails"
                           : event          ? "impact"
                           : off            ? "lifts off"
                                            : "slides");
    }
    rows.push_back(report_row(name + ": what happens as the step falls", "",
                              "undecided for rigid bodies (Champneys and Varkonyi)", kinds));
    rows.push_back(report_row(name + ": time of the impact or lift-off, less that of the reference", "s", "0",
                              join_numbers(times, "{:.2g}")));
    rows.push_back(report_row(name + ": its normal impulse; Routh at the singular point", "N s",
                              fmt::format("{:.6f}", static_cast<double>(hit.normal)),
                              join_numbers(impulses, "{:.6f}")));
    rows.push_back(report_row(name + ": spin after; Routh", "rad/s",
                              fmt::format("{:.6f}", static_cast<double>(hit.omega)), join_numbers(spins, "{:.6f}")));
    rows.push_back(
        report_row(name + ": largest force before", "N", "grows without bound", join_numbers(forces, "{:.4g}")));
  }

  // --- maps of the plane of angle and spin ---
  for (const double mu : {1.2, 2.0}) {
    const PainleveRod rod = rod_of(mu);
    const int n = context.quick ? 12 : 24;
    const double dt = 1e-4;
    long right = 0, all = 0, failed = 0, impacts = 0, indeterminate = 0, jammed = 0;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        // Half a cell off the lines where signs change.
        const PainleveRod::State y{0.05L + 1.45L * (i + 0.5L) / n, -8 + 16 * (j + 0.5L) / n, -1, 0};
        const PainleveRod::Region region = rod.region(y);
        const Seen what = seen(run_course(context, rod_scene(context, rod, y, dt, dt)), dt);
        ++all;
        failed += what == Seen::failed;
        impacts += what == Seen::impact;
        using R = PainleveRod::Region;
        indeterminate += region == R::indeterminate;
        jammed += region == R::indeterminate && what == Seen::impact;
        right += (region == R::slides && what == Seen::slides) || (region == R::lifts && what == Seen::lifts) ||
                 (region == R::inconsistent && what == Seen::impact) ||
                 (region == R::indeterminate && (what == Seen::lifts || what == Seen::impact));
      }
    const std::string name = fmt::format("map of {} states, friction {:g}, u = -1 m/s", all, mu);
    rows.push_back(count_row(name + ": steps of 0.1 ms that fail", "0", failed, failed == 0));
    rows.push_back(goal_row(name + ": as p and b say", "", fmt::format("{}", all), static_cast<double>(right), "all",
                            right == all));
    if (mu < 4.0 / 3)
      rows.push_back(goal_row(name + ": impacts without collision", "", "0 below 4/3", static_cast<double>(impacts),
                              "0", impacts == 0));
    else
      rows.push_back(
          report_row(name + ": of the indeterminate ones jam", "", "", fmt::format("{} of {}", jammed, indeterminate)));
  }
  result.settings = {{"rod", "1 m, 1 kg, contact at both ends"},
                     {"law", "anitescu-potra; without collision: as the integrator decides"},
                     {"steps", join_numbers(steps, "{:g}") + " s"}};
  return result;
}

}  // namespace scree
