// Robosimian lands on several feet at once. Nobody knows in which order they act: how far apart do its futures get, and
// does its control bring them together again?
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "event_fans.h"
#include "robot_runs.h"
#include "scree/kinematics.h"

namespace scree {
namespace {

constexpr double kKp = 2000, kKd = 100;  // [N m/rad], [N m s/rad]
constexpr double kFriction = 0.7;
constexpr double kDrop = 0.02;     // [m]
constexpr double kDuration = 0.4;  // [s]
constexpr double kDt = 1e-3;       // [s]
constexpr int kTorsoZ = 2;

// Stance of the reduced robot; the pose of examples/scenes/robosimian-walk.toml.
Eigen::VectorXd stance_of(const Model& model) {
  Eigen::VectorXd q = model.neutral_position();
  for (int limb = 1; limb <= 4; ++limb) {
    const double turn = (limb == 1 || limb == 4 ? 1 : -1) * std::numbers::pi;
    const std::pair<const char*, double> angles[] = {{"joint2", 0.45}, {"joint4", -0.5}, {"joint6", 0.55}};
    for (const auto& [joint, share] : angles)
      q(model.joint(model.find_joint(fmt::format("limb{}_{}", limb, joint))).q_index) = share * turn;
  }
  return q;
}

std::vector<double> foot_heights(const Scene& scene, const Eigen::VectorXd& q) {  // [m] of the lowest points
  std::vector<double> heights;
  const std::vector<Pose> poses = body_poses(scene.model, q);
  for (const ContactPoint& point : scene.model.contact_points())
    heights.push_back((poses[static_cast<size_t>(point.body.value())] * point.p_B).z() - point.radius);
  return heights;
}

// Stance under PD, let go where its lowest foot is `drop` above the ground. `lifted`: limbs 2 and 4, a diagonal, are
// drawn up by turning their knees, so that the other two land alone.
Scene landing(const StudyContext& context, double drop, bool lifted, double dt) {
  Scene scene =
      event_scene(context, "robosimian-spatial", Eigen::VectorXd(), Eigen::VectorXd(), kFriction, kDuration, dt);
  Eigen::VectorXd q = stance_of(scene.model);
  if (lifted)
    for (const auto& [limb, sign] : {std::pair{2, -1.0}, {4, 1.0}})
      q(scene.model.joint(scene.model.find_joint(fmt::format("limb{}_joint6", limb))).q_index) += sign * 0.15;
  for (const Joint& joint : scene.model.joints())
    if (velocity_count(joint.type) == 1) {
      scene.control.kp(joint.v_index) = kKp;
      scene.control.kd(joint.v_index) = kKd;
    }
  scene.control.target = q;
  const std::vector<double> heights = foot_heights(scene, q);
  q(kTorsoZ) += drop - *std::min_element(heights.begin(), heights.end());
  scene.q0 = q;
  scene.v0 = Eigen::VectorXd::Zero(scene.model.nv());
  return scene;
}

// The same robot with a rotor of this inertia [kg m^2], felt at the joint, in every joint: drives with large gear
// ratios.
Model with_rotors(const Model& model, double armature) {
  ModelBuilder builder(model.name() + "-geared");
  const auto name_of = [&](BodyIndex i) { return i == kWorld ? std::string("world") : model.body(i).name; };
  for (size_t i = 0; i < model.bodies().size(); ++i) {
    Joint joint = model.joints()[i];
    if (velocity_count(joint.type) == 1) joint.armature = armature;
    builder.add_body(model.bodies()[i], name_of(model.bodies()[i].parent), joint);
  }
  for (const ContactPoint& point : model.contact_points()) builder.add_contact_point(name_of(point.body), point);
  return builder.build();
}

struct Heights {
  std::vector<double> time, z;
};
Heights torso(const EventCourse& course) {
  Heights out;
  for (const State& state : course.states) {
    out.time.push_back(state.time);
    out.z.push_back(state.q(kTorsoZ));
  }
  return out;
}

double largest_difference(const Heights& a, const Heights& b) {  // [m] at the times of `a`, linear in `b`
  if (b.time.back() < a.time.back() - 1e-9) return std::numeric_limits<double>::quiet_NaN();
  double off = 0;
  size_t k = 0;
  for (size_t i = 0; i < a.time.size(); ++i) {
    while (k + 2 < b.time.size() && b.time[k + 1] < a.time[i]) ++k;
    const double share = (a.time[i] - b.time[k]) / (b.time[k + 1] - b.time[k]);
    off = std::max(off, std::abs(a.z[i] - (b.z[k] + share * (b.z[k + 1] - b.z[k]))));
  }
  return off;
}

}  // namespace

StudyResult study_event_robosimian_step(const StudyContext& context) {
  StudyResult result;
  result.name = "event-robosimian-step";
  result.title = "Robosimian lands on several feet at once";
  result.summary =
      "The spatial Robosimian (18 dofs), held in its stance by PD of 2000 N m/rad and 100 N m s/rad, is let go 20 mm "
      "above the ground; its feet are level to rounding and land together, all four or, with the other two drawn up, "
      "a diagonal. The order in which they act is unknown: every branch draws the outcomes of its impacts from the "
      "set-valued law (persistent sampler). Questions without a reference are reported: how far apart are the futures "
      "after 0.1 and 0.3 s, do they meet again? One branch without draws is set beside ne-lcp, which goes through "
      "impacts "
      "by steps, and pbd-nmdp2 on hard ground.";
  auto& rows = result.rows;

  // --- one future: beside time stepping ---
  const Scene single = landing(context, kDrop, false, kDt / 2);
  {
    const std::vector<double> heights = foot_heights(single, single.q0);
    rows.push_back(small_row(
        "feet: unevenness at the start", "m",
        *std::max_element(heights.begin(), heights.end()) - *std::min_element(heights.begin(), heights.end()), 1e-9));
    const EventCourse course = run_course(context, single);
    rows.push_back(complete_row("event, 0.5 ms", course));
    const Event* impact = course.first(EventKind::impact);
    // Under its control the robot falls nearly as one body; the joints give a little where gravity sags them.
    rows.push_back(report_row("event: time of the first impact; free fall of 20 mm", "s",
                              fmt::format("{:.6f}", std::sqrt(2 * kDrop / 9.81)), impact ? impact->time : NAN));
    rows.push_back(report_row("event: feet of the first impact", "", "4",
                              impact ? static_cast<double>(impact->contacts.size()) : NAN));
    rows.push_back(report_row(
        "event: events: impacts, lift-offs, rests", "", "",
        fmt::format("{}, {}, {}", course.impacts(), course.count(EventKind::lift_off), course.count(EventKind::rest))));
    rows.push_back(small_row("event: deepest foot", "m", course.penetration, 1e-9));
    const Heights ours = torso(course);
    StudyFigure height{
        "Height of the torso", {"time", "s"}, {"height", "m"}, {{"event, 0.5 ms", ours.time, ours.z, false}}, {}};
    std::vector<double> lcp, steps;
    for (const double dt : context.quick ? std::vector{2e-3, 1e-3} : std::vector{2e-3, 1e-3, 5e-4, 2.5e-4}) {
      Scene other = landing(context, kDrop, false, dt);
      other.options.integrator = IntegratorType::ne_lcp;
      const EventCourse stepped = run_course(context, other);
      const Heights theirs = torso(stepped);
      lcp.push_back(stepped.complete ? largest_difference(ours, theirs) : NAN);
      steps.push_back(dt);
      if (dt == 1e-3) height.series.push_back({"ne-lcp, 1 ms", theirs.time, theirs.z, true});
    }
    rows.push_back(report_row("ne-lcp: torso, largest difference from event as its step falls", "m", "",
                              join_numbers(lcp, "{:.2g}")));
    rows.push_back(small_row(fmt::format("ne-lcp at {:g} ms: the same", 1e3 * steps.back()), "m", lcp.back(), 1e-3));
    Scene soft = landing(context, kDrop, false, 5e-4);
    soft.options.integrator = IntegratorType::pbd_nmdp2;
    soft.options.accuracy = 1e-6;
    soft.options.dissipation = Dissipation::effective;
    CoulombOptions law;
    law.depth = 1e-3;
    soft.world.law = make_coulomb(law);
    const EventCourse compliant = run_course(context, soft);
    const Heights theirs = torso(compliant);
    rows.push_back(report_row("pbd-nmdp2, 0.5 ms, ground 1 mm soft: torso, largest difference from event", "m", "",
                              compliant.complete ? largest_difference(ours, theirs) : NAN));
    height.series.push_back({"pbd-nmdp2, 0.5 ms", theirs.time, theirs.z, true});
    result.figures.push_back(std::move(height));
  }

  // --- all futures ---
  struct Landing {
    const char* name;
    bool lifted;
    double tilt;          // [rad] about x before the start: how uneven the feet are
    double simultaneous;  // [m]
    double rotors;        // [kg m^2]
    bool trots;
  };
  for (const Landing& c : {Landing{"four feet", false, 0, 0, 0, false}, Landing{"diagonal", true, 0, 0, 0, false},
                           // Feet 0.1 mm apart count as landing together if the scene says so.
                           Landing{"four feet, 0.1 mm uneven, simultaneous = 1 mm", false, 1e-4 / 1.12, 1e-3, 0, false},
                           Landing{"four feet, rotors of 2 kg m^2", false, 0, 0, 2, false},
                           Landing{"trot, simultaneous = 1 mm", false, 0, 1e-3, 0, true}}) {
    const std::string name = c.name;
    Scene scene = landing(context, c.trots ? 0 : kDrop, c.lifted, kDt);
    if (c.tilt != 0) {
      scene.q0(3) = std::cos(c.tilt / 2);
      scene.q0(4) = std::sin(c.tilt / 2);
    }
    if (c.rotors > 0) scene.model = with_rotors(scene.model, c.rotors);
    if (c.trots) {
      scene.control.motion =
          std::make_shared<const Motion>(load_motion(context.data / "motions" / "robosimian-walk.toml", scene.model));
      scene.duration = 1.4;
    }
    scene.options.event.simultaneous = c.simultaneous;
    FanOptions options;
    options.branches = context.quick ? 30 : 200;
    options.threads = 2;
    // Allowances are parts of a bound by the energy of the whole robot; where feet meet the ground at 1e-6 m/s a few
    // trajectories take more than the usual 1000 increments.
    options.sampling.max_steps = 10000;
    const ImpactProblem problem = problem_of_impact(context, scene);
    rows.push_back(report_row(name + ": feet of the first impact", "", "", static_cast<double>(problem.contacts())));
    const Fan fan = run_study_fan(context, scene, options);
    add_fan_rows(name, fan, result);
    rows.push_back(threads_row(context, name, scene, options));
    rows.push_back(report_row(name + ": first split", "s", "", fan.first_split));
    rows.push_back(report_row(
        name + ": clusters (sequences of modes), branches of the largest", "", "",
        fmt::format("{}; {}", fan.clusters.size(), fan.clusters.empty() ? 0 : fan.clusters.front().branches.size())));
    const FirstImpact first = impacts_of(fan, 0);
    if (problem.contacts() > 0 && first.v.cols() > 0) {
      const Eigen::MatrixXd vn = problem.Jn * first.v;
      long lifts = 0;
      for (Eigen::Index k = 0; k < vn.cols(); ++k) lifts += vn.col(k).maxCoeff() > 1e-6;
      rows.push_back(report_row(name + ": outcomes of the first impact in which a foot lifts", "%", "",
                                100.0 * static_cast<double>(lifts) / static_cast<double>(vn.cols())));
      rows.push_back(report_row(name + ": fastest foot upwards after it", "m/s", "", vn.maxCoeff()));
      // W = Jn M^-1 Jn^T: how much of a foot's own answer to an impulse the others feel.
      const Eigen::MatrixXd W = problem.Jn * problem.M.ldlt().solve(problem.Jn.transpose());
      double coupling = 0;
      for (Eigen::Index i = 0; i < W.rows(); ++i)
        for (Eigen::Index k = 0; k < i; ++k)
          coupling = std::max(coupling, std::abs(W(i, k)) / std::sqrt(W(i, i) * W(k, k)));
      rows.push_back(report_row(name + ": coupling of two feet, largest |W_ik|/sqrt(W_ii W_kk)", "", "", coupling));
      // Energy: no outcome has more than before, none less than the projection leaves.
      double least = 1e300, most = 0;
      for (const FanImpact* impact : first.all)
        if (impact) {
          least = std::min(least, impact->energy_after / impact->energy_before);
          most = std::max(most, impact->energy_after / impact->energy_before);
        }
      rows.push_back(goal_row(name + ": energy left after the first impact, of that before", "", "<= 1",
                              fmt::format("{:.4f} to {:.4f}", least, most), "<= 1", most <= 1));
    }
    const double peak = *std::max_element(fan.spread.begin(), fan.spread.end());
    const auto at = std::max_element(fan.spread.begin(), fan.spread.end()) - fan.spread.begin();
    rows.push_back(
        report_row(name + ": spread 0.1 s, 0.3 s after the split; largest, when", "kg^(1/2) m", "",
                   fmt::format("{:.3g}, {:.3g}; {:.3g}, {:.3f} s", spread_at(fan, fan.first_split + 0.1),
                               spread_at(fan, fan.first_split + 0.3), peak, fan.time[static_cast<size_t>(at)])));
    rows.push_back(report_row(name + ": spread at the end, of the largest (below 1: control and friction contract it)",
                              "", "", fan.spread.back() / peak));
    const size_t last = fan.rows() - 1;
    rows.push_back(report_row(
        name + ": torso at the end, 5 to 95 %: height, along x", "mm", "",
        fmt::format("{:.4f}, {:.4f}", 1e3 * (fan.quantile(last, kTorsoZ, 0.95) - fan.quantile(last, kTorsoZ, 0.05)),
                    1e3 * (fan.quantile(last, 0, 0.95) - fan.quantile(last, 0, 0.05)))));
    result.figures.push_back(quantile_figure(fan, kTorsoZ, name + ": height of the torso", "m"));
    result.figures.push_back(spread_figure(fan, name + ": spread of the branches"));
  }
  result.settings = {
      {"robot", "models/robosimian-spatial.urdf in stance, PD 2000 N m/rad, 100 N m s/rad, friction 0.7"},
      {"fans", "persistent sampler, seed 1, steps of 1 ms, 0.4 s (trot: 1.4 s)"}};
  return result;
}

}  // namespace scree
