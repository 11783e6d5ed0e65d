// Two ways to the same motion: impacts at their times on rigid ground, and steps of 0.1 ms on ground that is stiffer
// and stiffer.
#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "rows.h"
#include "scree/error.h"
#include "scree/fan.h"
#include "scree/kinematics.h"
#include "scree/motion.h"
#include "scree/urdf.h"
#include "studies.h"

namespace scree {
namespace {

constexpr double kStep = 1e-4;  // [s] of `event`
constexpr double kRow = 1e-3;   // [s]

struct Case {
  const char *name, *model;
  double duration;  // [s]
  double size;      // [m] what 1 % is taken of
  double friction;
  bool squats;
};
constexpr Case kCases[] = {
    {"planar box, dropped on a corner", "box-planar", 1.2, 0.5, 0.6, false},
    {"box in space, dropped on a corner", "box", 1.2, 0.5, 0.6, false},
    {"planar Robosimian, squat", "robosimian-planar", 4.2, 0.25, 0.7, true},
    {"Robosimian in space, squat", "robosimian-spatial", 4.2, 0.25, 0.7, true},
};
struct Other {
  IntegratorType integrator;
  double step, depth;  // [s]; [m] where a point carries its share of the weight
  bool goal, boxes;    // whether to agree within 1 %; for boxes only
};
constexpr Other kOthers[] = {
    {IntegratorType::pbd_nmdp, 1e-4, 1e-3, false, false}, {IntegratorType::pbd_nmdp, 1e-4, 1e-4, true, false},
    {IntegratorType::pbd_nmdp, 1e-4, 1e-5, false, false}, {IntegratorType::pbd_nmdp, 1e-5, 1e-5, false, true},
    {IntegratorType::ne_lcp, 1e-4, 0, false, false},      {IntegratorType::ne_lcp, 1e-5, 0, true, true},
};
std::string name_of(const Other& other) {
  const std::string ground = other.depth > 0 ? fmt::format(", ground {:g} mm", 1000 * other.depth) : "";
  return fmt::format("{} {:g} ms{}", integrator_name(other.integrator), 1000 * other.step, ground);
}

struct Track {
  std::vector<double> time, x, z, tilt;  // [s] [m] [m] [rad] of the base
  size_t impacts = 0;
  std::string failure;
  Vec3 end = Vec3::Zero();  // [m]
};

double tilt_of(const Pose& X) { return std::acos(std::clamp(X.R(2, 2), -1.0, 1.0)); }

// All start at the same pose.
Scene set_up(const StudyContext& context, const Case& c, const Other& how) {
  Model model = load_urdf(context.data / "models" / (std::string(c.model) + ".urdf"));
  World world;
  world.add(contact_candidates(model, ContactCandidates::automatic));
  world.surface.friction = c.friction;
  CoulombOptions law;
  law.directions = 8;
  if (how.depth > 0) law.depth = how.depth;
  world.law = make_coulomb(law);
  Control control(model);
  Eigen::VectorXd q = model.neutral_position(), v = Eigen::VectorXd::Zero(model.nv());
  if (c.squats) {
    auto motion =
        std::make_shared<const Motion>(load_motion(context.data / "motions" / "robosimian-squat.toml", model));
    Eigen::VectorXd rate = v;
    motion->sample(0, q, rate);
    control.motion = motion;
    control.target = q;
    for (const Joint& joint : model.joints())
      if (velocity_count(joint.type) == 1) {
        control.kp(joint.v_index) = 1000;
        control.kd(joint.v_index) = 1;
      }
  } else if (model.nv() == 3) {
    q(2) = 0.3;
    v << 0.5, 0, 0.5;
  } else {
    const Quat turn(Eigen::AngleAxisd(0.3, Vec3(0.3, 1, 0.1).normalized()));
    q.segment<4>(3) << turn.w(), turn.x(), turn.y(), turn.z();
    v << 0.5, 0.1, 0, 0.2, 0.5, 0;
  }
  world.add(
      plane_collider({0, 0, lowest_point(model, world.colliders, q) - (c.squats ? 0 : 0.25)}, Vec3::UnitZ(), "floor"));
  StepOptions options;
  options.integrator = how.integrator;
  options.dt = how.step;
  options.dissipation = Dissipation::effective;
  Scene scene{.file = {},
              .title = c.name,
              .model = std::move(model),
              .import_report = {},
              .options = options,
              .q0 = q,
              .v0 = v,
              .control = control,
              .world = world,
              .duration = (context.quick ? 0.5 : 1) * c.duration,
              .text = {}};
  return scene;
}

Track run(const StudyContext& context, const Case& c, const Other& how) {
  const Scene scene = set_up(context, c, how);
  const Model& model = scene.model;
  const StepOptions& options = scene.options;
  State state = make_state(model, scene.q0, scene.v0);
  StepWorkspace workspace(model, scene.world);
  Track track;
  const long steps = std::lround(scene.duration / how.step);
  const long every = std::lround(kRow / how.step);
  const BodyIndex base(0);
  const auto keep = [&] {
    const Pose X = frame_pose(model, state.q, Frame{"", base, {}});
    track.time.push_back(state.time);
    track.x.push_back(X.p.x());
    track.z.push_back(X.p.z());
    track.tilt.push_back(tilt_of(X));
    track.end = X.p;
  };
  keep();
  for (long k = 1; k <= steps; ++k) {
    const StepReport report = step(model, scene.control, options, state, workspace);
    if (!report.converged()) {
      track.failure = fmt::format("step failed at {:.4g} s {}", state.time, report.reason);
      break;
    }
    state.time = static_cast<double>(k) * how.step;
    for (const Event& event : workspace.events()) track.impacts += event.kind == EventKind::impact;
    if (k % every == 0) keep();
    if (k % 1000 == 0 && !context.progress(static_cast<double>(k) * how.step, static_cast<double>(steps) * how.step))
      throw StudyInterrupted();
  }
  return track;
}

struct Distance {
  double position = 0, tilt = 0;  // [m] [rad] largest
  StudySeries over_time;
};
Distance compare(const Track& a, const Track& b, std::string name) {
  Distance distance;
  distance.over_time.name = std::move(name);
  for (size_t k = 0; k < std::min(a.time.size(), b.time.size()); ++k) {
    const double off = std::hypot(a.x[k] - b.x[k], a.z[k] - b.z[k]);
    distance.position = std::max(distance.position, off);
    distance.tilt = std::max(distance.tilt, std::abs(a.tilt[k] - b.tilt[k]));
    distance.over_time.x.push_back(a.time[k]);
    distance.over_time.y.push_back(1000 * off);
  }
  return distance;
}

// Where impacts of several corners leave open which of them act first, another scheme may end in another future.
constexpr double kNearly = 1e-3;  // [m] corners so near to the ground take part in an impact of others
void add_futures(const StudyContext& context, const Case& c, const Track& event, const Track& other,
                 const std::string& name, StudyResult& result) {
  Scene scene = set_up(context, c, {IntegratorType::event, 1e-3, 0, false, false});
  scene.options.event.simultaneous = kNearly;
  FanOptions options;
  options.branches = context.quick ? 50 : 300;
  options.threads = context.jobs;
  const Fan fan = run_fan(scene, options, [&](long done, long wanted) {
    return context.progress(static_cast<double>(done), static_cast<double>(wanted));
  });
  if (fan.interrupted) throw StudyInterrupted();
  double nearest = std::numeric_limits<double>::infinity(), nearest_event = nearest;
  const size_t last = fan.rows() - 1;
  for (size_t b = 0; b < fan.branches.size(); ++b) {
    const Vec3 end = fan.q.row(b, last).head<3>();  // a floating base
    if (!end.allFinite()) continue;
    nearest = std::min(nearest, (end - other.end).norm());
    nearest_event = std::min(nearest_event, (end - event.end).norm());
  }
  result.rows.push_back(report_row(
      fmt::format("{}, {} futures: places of the base, 5 to 95 % along x, y", c.name, fan.branches.size()), "mm", "",
      fmt::format("{:.1f} to {:.1f}, {:.1f} to {:.1f}", 1000 * fan.quantile(last, 0, 0.05),
                  1000 * fan.quantile(last, 0, 0.95), 1000 * fan.quantile(last, 1, 0.05),
                  1000 * fan.quantile(last, 1, 0.95))));
  result.rows.push_back(
      report_row(fmt::format("{}: end of {} from that of event; from the nearest future", c.name, name), "mm", "",
                 fmt::format("{:.2f}; {:.2f}", 1000 * (other.end - event.end).norm(), 1000 * nearest)));
  result.rows.push_back(
      report_row(fmt::format("{}: end of event from the nearest future", c.name), "mm", "", 1000 * nearest_event));
}

}  // namespace

StudyResult study_event_agreement(const StudyContext& context) {
  StudyResult result;
  result.name = "event-agreement";
  result.title = "Events on rigid ground and small steps on stiff ground";
  result.summary =
      "A box dropped on a corner and a robot that squats, by event on rigid ground at 0.1 ms, by pbd-nmdp on ground "
      "that "
      "gives way by a millimetre to a hundredth of one, and by ne-lcp, the other scheme on rigid ground. The first two "
      "share neither law nor discretisation, the last two share the law: they have to meet as steps shrink.";
  for (const Case& c : kCases) {
    if (context.quick && std::string(c.model) == "robosimian-spatial") continue;
    const Track event = run(context, c, {IntegratorType::event, kStep, 0, false, false});
    if (!event.failure.empty()) {
      result.rows.push_back(
          goal_row(fmt::format("{}: event", c.name), "", "", event.failure, "runs to its end", false));
      continue;
    }
    result.rows.push_back(report_row(fmt::format("{}: impacts", c.name), "", "", static_cast<double>(event.impacts)));
    StudyFigure figure{
        fmt::format("{}: distance between the two", c.name), {"time", "s"}, {"distance", "mm", true}, {}, {}};
    StudyFigure heights{fmt::format("{}: height of the base", c.name), {"time", "s"}, {"height", "m"}, {}, {}};
    heights.series.push_back({"event", event.time, event.z, false});
    for (const Other& how : kOthers) {
      if (how.boxes && (c.squats || context.quick)) continue;
      const Track other = run(context, c, how);
      const std::string name = fmt::format("{}, {}", c.name, name_of(how));
      if (!other.failure.empty()) {
        result.rows.push_back(report_row(name, "", "", other.failure));
        continue;
      }
      const Distance distance = compare(event, other, name_of(how));
      const std::string quantity = name + ": largest distance", turn = name + ": largest difference in tilt";
      if (how.goal) {
        result.rows.push_back(goal_row(quantity, "mm", "", 1000 * distance.position,
                                       fmt::format("at most {:g} mm, 1 % of {:g} m", 10 * c.size, c.size),
                                       distance.position <= 0.01 * c.size));
        result.rows.push_back(goal_row(turn, "rad", "", distance.tilt, "at most 0.02 rad", distance.tilt <= 0.02));
      } else {
        result.rows.push_back(report_row(quantity, "mm", "", 1000 * distance.position));
        result.rows.push_back(report_row(turn, "rad", "", distance.tilt));
      }
      if (how.goal && how.integrator == IntegratorType::pbd_nmdp && std::string(c.model) == "box")
        add_futures(context, c, event, other, name_of(how), result);
      figure.series.push_back(distance.over_time);
      heights.series.push_back({name_of(how), other.time, other.z, true});
    }
    result.figures.push_back(std::move(heights));
    result.figures.push_back(std::move(figure));
  }
  result.settings = {{"step", "0.1 ms"},
                     {"impact law", "anitescu-potra, restitution 0"},
                     {"contact law", "coulomb, 8 directions, exponent 3"}};
  return result;
}

}  // namespace scree
