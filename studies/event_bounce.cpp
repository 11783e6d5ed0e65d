// A ball bounces and a block rocks until infinitely many impacts are over: times against closed forms and against an
// integration of our own.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "event_reference.h"
#include "event_rows.h"

namespace scree {
namespace {

using reference::Real;

constexpr double kRadius = 0.1;  // [m] of models/ball.urdf
constexpr double kFall = 0.5;    // [m]
constexpr double kAfter = 0.5;   // [s] that runs go on after the end of all bounces

// [m/s] rest_speed: bounces slower than this are over. Rounding of the height (1.4e-17 m at 0.1 m) times g is energy
// that keeps bounces of e = 0.99 going at 1e-7 m/s.
double slowest(double e) { return e > 0.95 ? 1e-6 : 1e-7; }

Scene ball_scene(const StudyContext& context, const Vec3& at, const Vec3& velocity, double restitution, double friction,
                 double duration, double dt) {
  Eigen::VectorXd q = Eigen::VectorXd::Zero(7), v = Eigen::VectorXd::Zero(6);
  q.head<3>() = at;
  q(3) = 1;
  v.head<3>() = velocity;
  Scene scene = event_scene(context, "ball", q, v, friction, duration, dt);
  scene.world.impact.law = ImpactLaw::moreau;
  scene.world.surface.restitution = restitution;
  scene.options.event.rest_speed = slowest(restitution);
  return scene;
}

std::vector<const Event*> impacts_of(const EventCourse& course) {
  std::vector<const Event*> out;
  for (const Event& event : course.events)
    if (event.kind == EventKind::impact) out.push_back(&event);
  return out;
}

// Largest difference of the times from closed form, of impacts after which the ball rises by more than `touch`: lower
// ones are nearer to the ground than what counts as closed. And of all.
std::pair<double, double> time_errors(const std::vector<const Event*>& impacts, Real t1, Real v1, Real e) {
  if (impacts.empty()) return {NAN, NAN};
  double high = 0, all = 0;
  const double least = std::sqrt(2 * 9.81 * EventOptions{}.touch);
  for (size_t k = 0; k < impacts.size(); ++k) {
    const double off =
        std::abs(impacts[k]->time - static_cast<double>(reference::bounce_time(static_cast<int>(k) + 1, t1, e)));
    all = std::max(all, off);
    if (v1 * std::pow(e, static_cast<Real>(k + 1)) > least) high = std::max(high, off);
  }
  return {high, all};
}

// Rows about bounces that end, of a ball whose first impact is at t1 with the speed v1.
void add_bounce_rows(const std::string& name, const EventCourse& course, Real t1, Real v1, double e,
                     std::vector<StudyRow>& rows) {
  const Real end = reference::bounces_end(t1, e);
  const int expected = reference::bounce_count(v1, e, slowest(e)) + 1;  // the last one leaves more slowly than that
  const std::vector<const Event*> impacts = impacts_of(course);
  rows.push_back(complete_row(name, course));
  rows.push_back(count_row(fmt::format("{}: impacts until the speed is below {:g} m/s", name, slowest(e)),
                           fmt::format("{}", expected), static_cast<long>(impacts.size()),
                           std::abs(static_cast<int>(impacts.size()) - expected) <= 1));
  rows.back().goal = "within 1";
  const auto [high, all] = time_errors(impacts, t1, v1, e);
  rows.push_back(small_row(name + ": times of the impacts before flights higher than 1 nm (touch), largest difference",
                           "s", high, 1e-9));
  rows.push_back(report_row(name + ": of all impacts", "s", "0", all));
  double ratio = impacts.empty() ? NAN : 0;  // of rounding: the speed along the ground counts
  for (const Event* event : impacts) {
    const EventContact& c = event->contacts.front();
    ratio = std::max(ratio, std::abs(c.velocity_after.dot(c.normal) + e * c.velocity_before.dot(c.normal)) /
                                c.velocity_before.norm());
  }
  rows.push_back(
      small_row(name + ": normal velocity after, plus e that before, over the speed, largest", "", ratio, 1e-12));
  const Event* rest = course.first(EventKind::rest);
  rows.push_back(
      count_row(name + ": events `rest`", "1", course.count(EventKind::rest), course.count(EventKind::rest) == 1));
  const double t_inf = static_cast<double>(end);
  if (e > 0.95)  // what is left out may last 2 rest_speed/(g (1 - e)) = 2e-5 s
    rows.push_back(report_row(name + ": time of `rest`, t1 (1 + e)/(1 - e)", "s", fmt::format("{:.12g}", t_inf),
                              fmt::format("off by {:.2g}", rest ? rest->time - t_inf : NAN)));
  else
    rows.push_back(match_row(name + ": time of `rest`, t1 (1 + e)/(1 - e)", "s", t_inf, rest ? rest->time : NAN, 1e-6));
  rows.push_back(match_row(name + ": bounces_end of `rest`, the same", "s", t_inf,
                           rest && rest->bounces_end ? *rest->bounces_end : NAN, 1e-6));
}

// --- bounces on a height field -------------------------------------------------------------------------------------

using Real3 = std::array<Real, 3>;

// Distance of `c` from the surface by Newton's method for the foot point, from the point below; the normal there.
Real clearance(const HeightField& field, const Real3& c, Real3* normal = nullptr) {
  Real x = c[0], y = c[1];
  Real3 n{};
  Real height = 0;
  for (int k = 0; k < 60; ++k) {
    const HeightField::Height h = field.height(static_cast<double>(x), static_cast<double>(y));
    // Taylor's formula carries heights and slopes on to the digits that double cuts off.
    const Real dx = x - static_cast<Real>(static_cast<double>(x)), dy = y - static_cast<Real>(static_cast<double>(y));
    const Real hx = h.slope(0) + h.bending(0, 0) * dx + h.bending(0, 1) * dy;
    const Real hy = h.slope(1) + h.bending(1, 0) * dx + h.bending(1, 1) * dy;
    height = h.value + h.slope(0) * dx + h.slope(1) * dy;
    const Real up = height - c[2];
    const Real gx = x - c[0] + up * hx, gy = y - c[1] + up * hy;
    const Real xx = 1 + hx * hx + up * h.bending(0, 0), xy = hx * hy + up * h.bending(0, 1),
               yy = 1 + hy * hy + up * h.bending(1, 1), det = xx * yy - xy * xy;
    const Real sx = (yy * gx - xy * gy) / det, sy = (xx * gy - xy * gx) / det;
    x -= sx;
    y -= sy;
    const Real length = std::sqrt(1 + hx * hx + hy * hy);
    n = {-hx / length, -hy / length, 1 / length};
    if (std::hypot(sx, sy) < 1e-18L) break;
  }
  if (normal) *normal = n;
  return (c[0] - x) * n[0] + (c[1] - y) * n[1] + (c[2] - height) * n[2];
}

struct Bounce {
  Real time;
  Real3 at, velocity;  // the centre, after
};

// The first `count` bounces of a ball without friction: parabolas, and v - (1 + e) (v.n) n.
std::vector<Bounce> bounces_on(const HeightField& field, Real3 at, Real3 v, Real e, int count) {
  std::vector<Bounce> out;
  const Real g = reference::kGravity, scan = 1e-3L;
  Real time = 0;
  const auto place = [&](Real t) {
    return Real3{at[0] + v[0] * t, at[1] + v[1] * t, at[2] + v[2] * t - g * t * t / 2};
  };
  while (static_cast<int>(out.size()) < count) {
    Real t = scan;
    while (clearance(field, place(t)) > static_cast<Real>(kRadius)) t += scan;
    Real low = t - scan, high = t;
    for (int k = 0; k < 70; ++k) {
      const Real middle = low + (high - low) / 2;
      (clearance(field, place(middle)) > static_cast<Real>(kRadius) ? low : high) = middle;
    }
    Real3 n;
    const Real3 hit = place(high);
    (void)clearance(field, hit, &n);
    v[2] -= g * high;
    const Real approach = v[0] * n[0] + v[1] * n[1] + v[2] * n[2];
    for (size_t i = 0; i < 3; ++i) v[i] -= (1 + e) * approach * n[i];
    at = hit;
    time += high;
    out.push_back({time, at, v});
  }
  return out;
}

std::shared_ptr<const HeightField> hills() {
  Eigen::MatrixXd heights(41, 41);
  for (int i = 0; i < 41; ++i)
    for (int j = 0; j < 41; ++j) heights(i, j) = 0.15 * std::sin(0.35 * i) * std::cos(0.3 * j) + 0.01 * i;
  return std::make_shared<const HeightField>(heights, Eigen::Vector2d(-4, -4), 0.2);
}

// --- the rocking block ---------------------------------------------------------------------------------------------

Scene rocking_scene(const StudyContext& context, ImpactLaw law, double duration, double dt) {
  // It stands on both lower corners and begins to turn about the rear one: the centre, (0.5, 1) m from it, moves with
  // (-1, 0.5) m/s; the angle about +y falls where the front rises.
  Scene scene =
      event_scene(context, "block-repo", Eigen::Vector3d(0, 1, 0), Eigen::Vector3d(-1, 0.5, -1), 1.0, duration, dt);
  scene.world.impact.law = law;
  return scene;
}

}  // namespace

StudyResult study_event_bounce(const StudyContext& context) {
  StudyResult result;
  result.name = "event-bounce";
  result.title = "A ball bounces and a block rocks to rest: infinitely many impacts in finite time";
  result.summary =
      "A ball of 0.1 m radius falls by 0.5 m on a plane, a slope and hills, and bounces with restitution e. A block of "
      "1 m by 2 m begins to turn about a lower corner with 1 rad/s and rocks; without restitution, every impact leaves "
      "0.7 of its spin. References: closed forms; for the hills parabolas and the surface's own foot points; for the "
      "block its pendulum equation by Runge-Kutta in long double and a geometric series for the end.";
  auto& rows = result.rows;
  const Real g = reference::kGravity, t1 = std::sqrt(2 * static_cast<Real>(kFall) / g), v1 = g * t1;

  // --- a plane: e = 0.9, 0.5, 0.99; at rest and with a horizontal speed ---
  StudyFigure height{"Height of the ball's lowest point", {"time", "s"}, {"height", "m"}, {}, {}};
  for (const double e : context.quick ? std::vector{0.9, 0.5} : std::vector{0.9, 0.5, 0.99}) {
    const std::string name = fmt::format("plane, e = {:g}", e);
    const double end = static_cast<double>(reference::bounces_end(t1, e));
    const EventCourse course =
        run_course(context, ball_scene(context, {0, 0, kRadius + kFall}, Vec3::Zero(), e, 0, end + kAfter, 0.01));
    add_bounce_rows(name, course, t1, v1, e, rows);
    rows.push_back(small_row(name + ": gap at the end", "m", course.last().q(2) - kRadius, 1e-9));
    rows.push_back(small_row(name + ": speed at the end", "m/s", course.last().v.norm(), 1e-12));
    if (e != 0.99) {
      StudySeries series{fmt::format("e = {:g}", e), {}, {}, false};
      for (const State& state : course.states) {
        series.x.push_back(state.time);
        series.y.push_back(state.q(2) - kRadius);
      }
      height.series.push_back(std::move(series));
    }
  }
  {
    const double e = 0.9, u = 1, mu = 0.2, dt = 0.001;
    const double end = static_cast<double>(reference::bounces_end(t1, e));
    const EventCourse course =
        run_course(context, ball_scene(context, {0, 0, kRadius + kFall}, {u, 0, 0}, e, mu, end + kAfter, dt));
    const std::string name = "plane, 1 m/s along x, friction 0.2 once it rests";
    add_bounce_rows(name, course, t1, v1, e, rows);
    const std::vector<const Event*> impacts = impacts_of(course);
    rows.push_back(small_row(name + ": speed along x before the last impact, less 1 m/s (impacts have no friction)",
                             "m/s", impacts.empty() ? NAN : impacts.back()->v_before(0) - u, 1e-12));
    // Then it slides for 2 u/(7 mu g) and rolls with 5/7 u.
    const double slide = 2 * u / (7 * mu * 9.81), v = 5 * u / 7;
    const double x = u * end + 0.5 * (u + v) * slide + v * (kAfter - slide);
    rows.push_back(match_row(name + ": speed at the end, 5/7 of it", "m/s", v, course.last().v(0), 1e-9));
    rows.push_back(
        match_row(name + ": spin at the end, as if rolling", "rad/s", v / kRadius, course.last().v(4), 1e-8));
    rows.push_back(match_row(name + ": place at the end; goal: a step of way", "m", x, course.last().q(0), u * dt));
  }

  // --- a slope ---
  {
    const double angle = 0.3, e = 0.5, cosine = std::cos(angle), sine = std::sin(angle);
    const Vec3 normal(-sine, 0, cosine), down(-cosine, 0, -sine);
    const Real s1 = std::sqrt(2 * static_cast<Real>(kFall) / (g * std::cos(static_cast<Real>(angle))));
    const Real speed = g * std::cos(static_cast<Real>(angle)) * s1;
    const double end = static_cast<double>(reference::bounces_end(s1, e));
    Scene scene = ball_scene(context, (kRadius + kFall) * normal, Vec3::Zero(), e, 0, end + kAfter, 0.01);
    scene.world.colliders = contact_candidates(scene.model, ContactCandidates::named);
    scene.world.add(plane_collider(Vec3::Zero(), normal));
    const EventCourse course = run_course(context, scene);
    add_bounce_rows("slope of 0.3 rad, e = 0.5", course, s1, speed, e, rows);
    double off = 0;
    for (const Event* event : impacts_of(course))
      off = std::max(
          off, std::abs(event->contacts.front().position.dot(down) - 0.5 * 9.81 * sine * event->time * event->time));
    rows.push_back(small_row("slope: places of the impacts along it, largest difference from g sin t^2/2", "m",
                             course.impacts() == 0 ? NAN : off, 1e-8));
    const double t = end + kAfter;
    rows.push_back(match_row("slope: speed along it 0.5 s after the end of bounces, g sin t", "m/s", 9.81 * sine * t,
                             course.last().v.head<3>().dot(down), 1e-9));
  }

  // --- hills ---
  {
    const int count = context.quick ? 6 : 10;
    const double e = 0.8;
    const std::shared_ptr<const HeightField> field = hills();
    const Vec3 at(-1.5, 0.3, 1.2), v(0.8, -0.3, 0);
    const std::vector<Bounce> expected = bounces_on(*field, {at(0), at(1), at(2)}, {v(0), v(1), v(2)}, e, count);
    Scene scene = ball_scene(context, at, v, e, 0, static_cast<double>(expected.back().time) + 1e-3, 0.01);
    scene.world.colliders = contact_candidates(scene.model, ContactCandidates::named);
    scene.world.add(height_field_collider(field));
    const EventCourse course = run_course(context, scene);
    rows.push_back(complete_row("hills, e = 0.8", course));
    const std::vector<const Event*> impacts = impacts_of(course);
    rows.push_back(count_row("hills: impacts", fmt::format("{}", count), static_cast<long>(impacts.size()),
                             static_cast<int>(impacts.size()) == count));
    StudyFigure growth{"Differences from the reference on the hills",
                       {"impact", ""},
                       {"difference", "", true},
                       {{"time [s]", {}, {}, false}, {"velocity after [m/s]", {}, {}, false}},
                       {"Every impact on curved ground multiplies what differs before."}};
    double time = impacts.empty() ? NAN : 0, velocity = time;
    for (size_t k = 0; k < std::min(impacts.size(), expected.size()); ++k) {
      const double dt = std::abs(impacts[k]->time - static_cast<double>(expected[k].time));
      double dv = 0;
      for (size_t i = 0; i < 3; ++i)
        dv = std::max(dv, std::abs(impacts[k]->v_after(static_cast<Eigen::Index>(i)) -
                                   static_cast<double>(expected[k].velocity[i])));
      time = std::max(time, dt);
      velocity = std::max(velocity, dv);
      growth.series[0].x.push_back(static_cast<double>(k + 1));
      growth.series[0].y.push_back(dt);
      growth.series[1].x.push_back(static_cast<double>(k + 1));
      growth.series[1].y.push_back(dv);
    }
    rows.push_back(small_row("hills: times of the impacts, largest difference", "s", time, 1e-8));
    rows.push_back(small_row("hills: velocities after the impacts, largest difference", "m/s", velocity, 1e-7));
    if (!impacts.empty()) result.figures.push_back(std::move(growth));
  }
  result.figures.insert(result.figures.begin(), std::move(height));

  // --- the rocking block ---
  const reference::RockingBlock block{1, 2};
  const reference::RockingBlock::Course exact = block.course(1, 1e-7L);
  const double t_end = static_cast<double>(exact.end);
  const std::vector<double> steps =
      context.quick ? std::vector{0.008, 0.004} : std::vector{0.008, 0.004, 0.002, 0.001, 0.0005};
  StudyFigure convergence{"Rocking block: error against the step",
                          {"step", "s", true},
                          {"error of the time", "s", true},
                          {},
                          {"Where contacts hold, steps are of second order."}};
  for (const ImpactLaw law : {ImpactLaw::anitescu_potra, ImpactLaw::sequential}) {
    std::vector<double> third, last, limit, ratios;
    for (const double dt : steps) {
      const EventCourse course = run_course(context, rocking_scene(context, law, t_end + kAfter, dt));
      const std::string name = fmt::format("rocking, {}, {:g} ms", impact_law_name(law), 1e3 * dt);
      rows.push_back(complete_row(name, course));
      // Impacts at which the block changes its corner.
      std::vector<const Event*> impacts;
      for (const Event& event : course.events)
        if (event.kind == EventKind::impact && std::abs(event.v_before(2)) > 0.01) impacts.push_back(&event);
      size_t fast = 0;
      while (fast < exact.spins.size() && exact.spins[fast] > 0.01) ++fast;
      rows.push_back(count_row(name + ": impacts with a spin above 0.01 rad/s", fmt::format("{}", fast),
                               static_cast<long>(impacts.size()), impacts.size() == fast));
      double ratio = impacts.empty() ? NAN : 0, momentum = ratio;
      for (const Event* event : impacts) {
        ratio = std::max(ratio, std::abs(event->v_after(2) / event->v_before(2) - 0.7));
        // Moment of momentum about the corner that comes down, 1/2 m to the front (the rear) of the centre and 1 m
        // below: it turns about it afterwards. The angle about +y falls where the front rises.
        const Eigen::VectorXd& v = event->v_before;
        const double x = v(2) > 0 ? 0.5 : -0.5, before = -x * v(1) - v(0) - 5.0 / 12 * v(2);
        momentum = std::max(momentum, std::abs(before + 5.0 / 3 * event->v_after(2)));
      }
      ratios.push_back(ratio);
      rows.push_back(small_row(name + ": moment of momentum about the corner that lands, largest change", "kg m^2/s",
                               momentum, 1e-8));
      double off = NAN;
      if (impacts.size() >= 3) off = std::abs(impacts[2]->time - static_cast<double>(exact.times[2]));
      third.push_back(off);
      const Event* rest = nullptr;  // the last one: both corners
      for (const Event& event : course.events)
        if (event.kind == EventKind::rest) rest = &event;
      const double at = rest ? rest->time : NAN, bounces = rest && rest->bounces_end ? *rest->bounces_end : NAN;
      last.push_back(std::abs(at - t_end));
      limit.push_back(std::abs(bounces - t_end));
      rows.push_back(report_row(name + ": third impact off by; end (rest, bounces_end) off by", "s",
                                fmt::format("{:.6f}; {:.6f}", static_cast<double>(exact.times[2]), t_end),
                                fmt::format("{:.2g}; {:.2g}, {:.2g}", off, at - t_end, bounces - t_end)));
      rows.push_back(small_row(name + ": tilt at the end", "rad", course.last().q(2), 1e-8));
      rows.push_back(small_row(name + ": speed at the end", "m/s", course.last().v.norm(), 1e-9));
    }
    const std::string name = fmt::format("rocking, {}", impact_law_name(law));
    rows.push_back(report_row(name + ": spin after over spin before, largest difference from 0.7 as the step falls", "",
                              "0", join_numbers(ratios, "{:.2g}")));
    rows.push_back(
        small_row(fmt::format("{}: the same at {:g} ms", name, 1e3 * steps.back()), "", ratios.back(), 1e-7));
    const auto order = [&](const std::vector<double>& errors) { return log_slope(steps, errors); };
    // Theory says 2. Lift-offs are seen at the end of a step, which alone would be of first order.
    for (const double least : {0.9, 1.9}) {
      rows.push_back(goal_row(name + ": order of the error of the third impact in the step", "", "2", order(third),
                              fmt::format(">= {:g}", least), order(third) >= least));
      rows.push_back(goal_row(name + ": order of the error of the end", "", "2", order(last),
                              fmt::format(">= {:g}", least), order(last) >= least));
    }
    // `rest` comes when the block is slower than rest_speed, some microseconds before the infinite sequence ends.
    rows.push_back(goal_row(name + ": order of the error of the end of infinitely many impacts (bounces_end)", "", "2",
                            order(limit), ">= 1.9", order(limit) >= 1.9));
    rows.push_back(small_row(fmt::format("{}: error of the end at {:g} ms", name, 1e3 * steps.back()), "s", last.back(),
                             2 * steps.back()));
    const auto sorted = [&](const std::vector<double>& errors) {
      std::vector<double> x(steps.rbegin(), steps.rend()), y(errors.rbegin(), errors.rend());
      return std::pair{x, y};
    };
    const auto [x3, y3] = sorted(third);
    const auto [xe, ye] = sorted(last);
    convergence.series.push_back({name + ", third impact", x3, y3, false});
    convergence.series.push_back({name + ", end", xe, ye, false});
  }
  result.figures.push_back(std::move(convergence));
  result.settings = {{"ball", "0.1 m radius, 1 kg, falls by 0.5 m; law moreau; rest_speed 1e-7 m/s (e = 0.99: 1e-6)"},
                     {"block", "1 m x 2 m, 1 kg, friction 1, 1 rad/s about its rear corner"},
                     {"hills", "41 x 41 heights, 0.2 m apart"}};
  return result;
}

}  // namespace scree
