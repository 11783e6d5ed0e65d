// Robosimian with all its 34 dofs stands, and falls by 0.3 m: how large may the step be, how deep do the feet go, what
// does it cost?
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <numbers>

#include "robot_runs.h"
#include "rows.h"
#include "scree/simulation.h"
#include "scree/urdf.h"

namespace scree {
namespace {

constexpr double kFloor = -0.8;              // [m]
constexpr double kDrop = 0.3;                // [m]
constexpr double kKp = 2000, kKd = 100;      // [N m/rad], [N m s/rad]
constexpr double kTail = 0.5;                // [s] at the end of a run, in which the robot should be at rest
constexpr double kStill = 1e-3;              // [m] what counts as rest
constexpr double kDeepest = 5e-3;            // [m] a foot may go into the hard ground
constexpr double kMoreThanConverged = 0.02;  // share of the converged rise, and of the energy of the fall

struct Ground {
  const char* name;
  double depth;    // [m] where a foot carries its share of the weight
  bool on_ground;  // the stance is raised until the feet touch; else the floor is where bench/scenes/ has it
};
constexpr Ground kGrounds[] = {{"hard ground", 0.001, true}, {"soft ground", 0.0157, false}};

struct Scheme {
  IntegratorType integrator;
  bool ours;  // goals are stated for these
};
constexpr Scheme kSchemes[] = {{IntegratorType::pbd_nmdp2, true},
                               {IntegratorType::ne_nmdp2, true},
                               {IntegratorType::pbd_nmdp, false},
                               {IntegratorType::ne_mdp, false}};

struct Setting {
  const Ground* ground;
  bool drop;
  std::string name() const { return fmt::format("{}, {}", drop ? "drop" : "stand", ground->name); }
};

struct Record {
  bool complete = true;
  std::vector<double> time, height;  // [s], [m] torso
  double moved = 0;                  // [m] farthest any body is from its last place, over the last kTail
  std::vector<Vec3> last;            // [m] origins of the bodies at the end
  double deepest = 0;                // [m] of a foot at the end of any step
  double depth = 0;                  // [m] of the deepest foot at the end
  double gained = 0;                 // [J] largest rise of energy, springs included, in one step
  double cpu = 0;                    // [s]
  long stages = 0, restarts = 0, rejected = 0, substeps = 0;
  int most_substeps = 0;  // of one step

  double lowest() const { return *std::min_element(height.begin(), height.end()); }
  double highest_after_lowest() const {
    return *std::max_element(std::min_element(height.begin(), height.end()), height.end());
  }
};

// Joint angles of bench/scenes/robosimian-stand.toml; limbs 1 and 3 mirror 2 and 4.
Eigen::VectorXd stance_of(const Model& model) {
  Eigen::VectorXd q = model.neutral_position();
  for (const Joint& joint : model.joints())
    for (int limb = 1; limb <= 4; ++limb) {
      const double turn = (limb % 2 == 1 ? -1 : 1) * std::numbers::pi;
      if (joint.name == fmt::format("limb{}_joint2", limb)) q(joint.q_index) = 0.45 * turn;
      if (joint.name == fmt::format("limb{}_joint4", limb)) q(joint.q_index) = -0.5 * turn;
      if (joint.name == fmt::format("limb{}_joint6", limb)) q(joint.q_index) = 0.55 * turn;
    }
  return q;
}

double lowest_foot(const Model& model, const Eigen::VectorXd& q) {  // [m] above the floor
  double lowest = std::numeric_limits<double>::infinity();
  const std::vector<Pose> poses = body_poses(model, q);
  for (const ContactPoint& point : model.contact_points())
    lowest = std::min(lowest, (poses[static_cast<size_t>(point.body.value())] * point.p_B).z() - point.radius - kFloor);
  return lowest;
}

double spring_energy(const Model& model, const Control& control, const Eigen::VectorXd& q) {  // [J]
  double sum = 0;
  for (const Joint& joint : model.joints())
    if (velocity_count(joint.type) == 1) {
      const double off = q(joint.q_index) - control.target(joint.q_index);
      sum += 0.5 * control.kp(joint.v_index) * off * off;
    }
  return sum;
}

Record run(const Model& model, const Setting& setting, const StepOptions& options, double duration) {
  World world;
  world.add(plane_collider({0, 0, kFloor}, {0, 0, 1}));
  world.add(contact_candidates(model, ContactCandidates::named));
  world.surface.friction = 0.7;
  CoulombOptions law;
  law.depth = setting.ground->depth;
  world.law = make_coulomb(law);
  Simulation simulation(model, world, options);
  Eigen::VectorXd q = stance_of(model);
  Control& control = simulation.control();
  control.target = q;
  for (const Joint& joint : model.joints())
    if (velocity_count(joint.type) == 1) {
      control.kp(joint.v_index) = kKp;
      control.kd(joint.v_index) = kKd;
    }
  if (setting.ground->on_ground) q(2) -= lowest_foot(model, q);
  if (setting.drop) q(2) += kDrop;
  simulation.set_state(q, Eigen::VectorXd::Zero(model.nv()));

  Record record;
  record.time.push_back(0);
  record.height.push_back(q(2));
  std::vector<std::vector<Vec3>> tail;
  double energy = std::numeric_limits<double>::infinity();
  const int steps = static_cast<int>(std::lround(duration / options.dt));
  for (int k = 0; k < steps; ++k) {
    const std::clock_t start = std::clock();  // one thread: what others do on the machine does not count
    const StepReport report = simulation.step();
    record.cpu += static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    record.stages += report.stages > 0 ? report.stages : report.substeps + report.rejected;
    record.restarts += report.restarts;
    record.rejected += report.rejected - report.inaccurate;
    record.substeps += report.substeps;
    record.most_substeps = std::max(record.most_substeps, report.substeps);
    const State& state = simulation.state();
    record.complete = report.converged() && std::abs(state.q(2)) < kLargestHeight &&
                      state.v.lpNorm<Eigen::Infinity>() < kLargestSpeed;
    if (!record.complete) return record;
    record.time.push_back(state.time);
    record.height.push_back(state.q(2));
    record.deepest = std::max(record.deepest, report.penetration);
    record.depth = report.penetration;
    const double now =
        report.kinetic_energy + report.potential_energy + spring_energy(simulation.model(), control, state.q);
    record.gained = std::max(record.gained, now - energy);
    energy = now;
    if (state.time < duration - kTail - 0.5 * options.dt) continue;
    tail.emplace_back();
    for (const Pose& pose : body_poses(simulation.model(), state.q)) tail.back().push_back(pose.p);
  }
  record.last = tail.back();
  for (const std::vector<Vec3>& places : tail)
    for (size_t i = 0; i < places.size(); ++i)
      record.moved = std::max(record.moved, (places[i] - record.last[i]).norm());
  return record;
}

double distance(const std::vector<Vec3>& a, const std::vector<Vec3>& b) {  // [m] of the body that is farthest off
  double largest_seen = 0;
  for (size_t i = 0; i < a.size(); ++i) largest_seen = std::max(largest_seen, (a[i] - b[i]).norm());
  return largest_seen;
}

std::string scheme_name(IntegratorType integrator) {
  return std::string(integrator_name(integrator)) + (integrator == IntegratorType::ne_mdp ? ", implicit PD" : "");
}

}  // namespace

StudyResult study_nmdp_drop(const StudyContext& context) {
  const std::vector<double> steps =
      context.quick ? std::vector{0.005, 0.05} : std::vector{0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05};
  const double duration = context.quick ? 2 : 3;
  const Model model = load_urdf(context.data / "models" / "robosimian.urdf");
  const double fall = model.total_mass() * 9.81 * kDrop;  // [J]

  StudyResult result;
  result.name = "nmdp-drop";
  result.title = "Robosimian, 34 dofs, stands and falls by 0.3 m at 1 to 50 ms";
  result.summary =
      "PD of 2000 N m/rad and 100 N m s/rad holds the stance. Hard ground: a foot carries its share of the weight 1 mm "
      "deep, and the feet start on it or 0.3 m above. Soft ground: 15.7 mm, scenes of bench/scenes/, whose feet start "
      "14.2 mm deep. A contact at rest stays at any depth that carries it, so where a run comes to rest need not be "
      "where the converged one does. Numbers in a list are for steps of " +
      join_numbers(
          [&] {
            std::vector<double> in_ms;
            for (const double dt : steps) in_ms.push_back(1e3 * dt);
            return in_ms;
          }(),
          "{:.4g}") +
      " ms. One thread; depths are those at the ends of steps.";
  StudyFigure height{
      "Height of the torso after the drop on hard ground, pbd-nmdp2", {"time", "s"}, {"height", "m"}, {}, {}};
  StudyFigure cost{"Stages solved", {"step", "ms", true}, {"stages per simulated second", "1/s", true}, {}, {}};

  const double total = 4 * (duration + static_cast<double>(std::size(kSchemes) * steps.size()) * duration);
  double done = 0;
  // Runs of large steps are short: the fastest of three counts.
  const auto timed = [&](const Setting& setting, const StepOptions& options) {
    Record record = run(model, setting, options, duration);
    for (int again = 0; again < (options.dt < 0.005 ? 0 : 2); ++again)
      record.cpu = std::min(record.cpu, run(model, setting, options, duration).cpu);
    done += duration;
    if (!context.progress(done, total)) throw StudyInterrupted();
    return record;
  };
  for (const Ground& ground : kGrounds)
    for (const bool drop : {false, true}) {
      const Setting setting{&ground, drop};
      StepOptions fine;
      fine.integrator = IntegratorType::pbd_nmdp2;
      fine.dt = context.quick ? 0.002 : 0.0005;
      fine.accuracy = 1e-6;
      const Record converged = timed(setting, fine);
      const double rise = converged.highest_after_lowest() - converged.lowest();
      const std::string where = setting.name();
      result.rows.push_back(report_row(where + ": converged, foot at its deepest and at the end", "mm", "",
                                       join_numbers({1e3 * converged.deepest, 1e3 * converged.depth}, "{:.2f}")));
      for (const Scheme& scheme : kSchemes) {
        std::vector<double> moved, off, deepest, speed, stages, above, gained, final_height, most, in_ms;
        long restarts = 0, rejected = 0;
        size_t stable = 0;
        double largest_stable = 0;
        for (const double dt : steps) {
          StepOptions options;
          options.integrator = scheme.integrator;
          options.dt = dt;
          options.explicit_pd = false;
          const Record record = timed(setting, options);
          in_ms.push_back(1e3 * dt);
          restarts += record.restarts;
          rejected += record.rejected;
          stages.push_back(static_cast<double>(record.stages) / record.time.back());
          most.push_back(record.most_substeps);
          const double none = std::numeric_limits<double>::quiet_NaN();
          stable += record.complete ? 1 : 0;
          if (record.complete) largest_stable = dt;
          moved.push_back(record.complete ? 1e3 * record.moved : none);
          off.push_back(record.complete ? 1e3 * distance(record.last, converged.last) : none);
          deepest.push_back(record.complete ? 1e3 * record.deepest : none);
          speed.push_back(record.complete ? duration / record.cpu : none);
          gained.push_back(record.complete ? record.gained : none);
          above.push_back(record.complete ? (record.highest_after_lowest() - converged.lowest()) / rise - 1 : none);
          final_height.push_back(record.complete ? 1e3 * record.height.back() : none);
          if (drop && ground.on_ground && scheme.integrator == IntegratorType::pbd_nmdp2)
            height.series.push_back([&] {
              RobotRecord shown;
              shown.time = record.time;
              return time_series(shown, record.height, step_name(dt));
            }());
        }
        const std::string who = where + ", " + scheme_name(scheme.integrator) + ": ";
        // Not a number fails every comparison.
        const auto all = [](const std::vector<double>& values, double limit) {
          return std::all_of(values.begin(), values.end(), [&](double value) { return value <= limit; });
        };
        const auto row = [&](const std::string& what, const char* unit, const char* peer, StudyValue value,
                             const std::string& goal, bool met) {
          result.rows.push_back(scheme.ours ? goal_row(who + what, unit, peer, value, goal, met)
                                            : report_row(who + what, unit, peer, value));
        };
        const char* peer_step = drop ? "MuJoCo: 5 ms" : "ODE: 50 ms";
        row("stable steps", "", peer_step,
            fmt::format("{} of {}, up to {}", stable, steps.size(), step_name(largest_stable)), "all",
            stable == steps.size());
        row("moves in the last 0.5 s", "mm", "", join_numbers(moved, "{:.2g}"), "< 1 each", all(moved, 1e3 * kStill));
        if (ground.on_ground)
          row("deepest foot", "mm", drop ? "MuJoCo: 32" : "ODE: 25", join_numbers(deepest, "{:.2f}"), "<= 5 each",
              all(deepest, 1e3 * kDeepest));
        else
          result.rows.push_back(
              report_row(who + "deepest foot", "mm", drop ? "MuJoCo: 32" : "ODE: 25", join_numbers(deepest, "{:.2f}")));
        if (drop) {
          row("torso rises after the impact, beyond the converged rise", "", "", join_numbers(above, "{:.2g}"),
              "<= 2 % each", all(above, kMoreThanConverged));
          row("most energy gained in a step, of that of the fall", "", "",
              join_numbers(
                  [&] {
                    std::vector<double> share;
                    for (const double joule : gained) share.push_back(joule / fall);
                    return share;
                  }(),
                  "{:.2g}"),
              "<= 2 % each", all(gained, kMoreThanConverged * fall));
        }
        const double at_largest = speed.back();
        row("times real time", "", drop ? "MuJoCo: 200" : "ODE: 160", join_numbers(speed, "{:.0f}"),
            drop ? "> 200 at 50 ms" : "> 160 at 50 ms", at_largest > (drop ? 200 : 160));
        result.rows.push_back(report_row(who + "stages per second", "1/s", "", join_numbers(stages, "{:.0f}")));
        result.rows.push_back(report_row(who + "most substeps of a step", "", "", join_numbers(most, "{:.0f}")));
        result.rows.push_back(
            report_row(who + "stages solved again; failed tries", "", "", fmt::format("{}; {}", restarts, rejected)));
        result.rows.push_back(report_row(who + "torso at the end", "mm", "", join_numbers(final_height, "{:.2f}")));
        result.rows.push_back(
            report_row(who + "a body farthest from its converged end", "mm", "", join_numbers(off, "{:.2g}")));
        if (scheme.ours) cost.series.push_back({where + ", " + scheme_name(scheme.integrator), in_ms, stages, false});
      }
      if (drop && ground.on_ground) {
        RobotRecord shown;
        shown.time = converged.time;
        StudySeries series = time_series(shown, converged.height, "converged");
        series.dashed = true;
        height.series.push_back(series);
      }
    }
  result.figures = {height, cost};
  result.settings = {{"duration", fmt::format("{} s", duration)},
                     {"control", fmt::format("kp {} N m/rad, kd {} N m s/rad", kKp, kKd)},
                     {"friction", "0.7"},
                     {"contact law", "exponent 3, depth 1 mm (hard), 15.7 mm (soft)"},
                     {"converged", context.quick ? "pbd-nmdp2, 2 ms" : "pbd-nmdp2, 0.5 ms, accuracy 1e-6 m"}};
  return result;
}

}  // namespace scree
