#include "truth_drops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <random>

#include "robot_runs.h"
#include "rows.h"
#include "scree/dynamics.h"
#include "scree/kinematics.h"
#include "scree/simulation.h"
#include "scree/urdf.h"

namespace scree {
namespace {

constexpr double kGravity = 9.81, kDuration = 1.2;  // [m/s^2], [s]: falls of up to 1 m take 0.45 s
constexpr double kAgreed = 0.01, kAllowed = 0.02;   // of the drop height: converged; risen too high

struct Thrown {
  const char *file, *name;
  double clearance, speed, turn, spin;  // largest [m] [m/s] [rad] [rad/s]
  double friction, depth;               // -, [m] where a point carries its share of the weight
  bool held;                            // joints held in stance by PD, kp 1000, kd 1
};
// The planar box has contact points at its lower corners only and must land on them.
constexpr Thrown kBodies[] = {{"box-planar", "planar box", 1, 2, 0.4, 0.5, 0.3, 0.005, false},
                              {"box", "box", 1, 2, 3, 5, 0.3, 0.005, false},
                              {"cube", "cube", 1, 2, 3, 10, 0.3, 0.001, false},
                              {"robosimian-planar", "planar Robosimian", 0.5, 1, 0.15, 0.3, 0.7, 0.0157, true}};

struct Throw {
  const Thrown* body = nullptr;
  size_t model = 0;
  Eigen::VectorXd q, v;
};

struct Scheme {
  IntegratorType integrator;
  double accuracy;  // [m]
};

// How the centre of mass went: where it is at the end of each step, and where it would rise to without the ground.
struct Flight {
  bool finished = false;
  double fall = 0;  // [m] height of the start, speed included: z + v_z^2 / (2 g)
  std::vector<double> height, apex;
  double gained = 0;  // [J] largest rise of the energy above its lowest value before
};

double uniform(std::mt19937_64& random, double low, double high) {  // the same numbers with every standard library
  return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
}

Throw seeded_throw(const Model& model, const Thrown& body, size_t index, std::mt19937_64& random) {
  Throw start{&body, index, model.neutral_position(), Eigen::VectorXd::Zero(model.nv())};
  const auto pick = [&](double range) { return uniform(random, -range, range); };
  if (body.held) {
    const double stance[] = {1.413716694115407, -1.5707963267948966, 1.7278759594743862};  // 81, -90, 99 degrees
    for (size_t i = 1; i < model.joints().size(); ++i) {
      const std::string& name = model.joints()[i].name;  // limbN_joint2, 4, 6; limbs 2 and 3 are mirrored
      const double sign = name[4] == '1' || name[4] == '4' ? 1 : -1;
      start.q(model.joints()[i].q_index) = sign * stance[(name.back() - '2') / 2];
    }
  }
  const bool planar = velocity_count(model.joints()[0].type) == 3;
  const int up = planar ? 1 : 2;
  start.v(0) = pick(body.speed);
  if (!planar) start.v(1) = pick(body.speed);
  start.v(up) = -uniform(random, 0, body.speed);  // never upwards: what rises later has rebounded
  if (planar) {
    start.q(2) = pick(body.turn);
    start.v(2) = pick(body.spin);
  } else {
    const Vec3 turn(pick(body.turn), pick(body.turn), pick(body.turn));
    const Quat R(Eigen::AngleAxisd(turn.norm(), turn.normalized()));
    start.q.segment<4>(3) << R.w(), R.x(), R.y(), R.z();
    for (int k = 3; k < 6; ++k) start.v(k) = pick(body.spin);
  }
  double lowest = std::numeric_limits<double>::infinity();
  const std::vector<Pose> poses = body_poses(model, start.q);
  for (const ContactPoint& point : model.contact_points())
    lowest = std::min(lowest, (poses[static_cast<size_t>(point.body.value())] * point.p_B).z() - point.radius);
  start.q(up) += uniform(random, 0.1 * body.clearance, body.clearance) - lowest;
  return start;
}

Flight fly(const Model& model, const Throw& start, const Scheme& scheme, double dt) {
  World world;
  world.add(plane_collider({0, 0, 0}, {0, 0, 1}));
  world.add(contact_candidates(model, ContactCandidates::named));
  world.surface.friction = start.body->friction;
  CoulombOptions law;
  law.directions = 6;
  law.exponent = 3;
  law.depth = start.body->depth;
  world.law = make_coulomb(law);
  StepOptions options;
  options.integrator = scheme.integrator;
  options.dt = dt;
  options.accuracy = scheme.accuracy;
  Simulation simulation(model, world, options);
  simulation.set_state(start.q, start.v);
  Control& control = simulation.control();
  control.target = start.q;
  for (const Joint& joint : model.joints()) {
    if (velocity_count(joint.type) != 1) continue;
    control.kp(joint.v_index) = 1000;
    control.kd(joint.v_index) = 1;
  }
  Dynamics dynamics(simulation.model());
  const double mass = model.total_mass();
  Flight flight;
  double height = 0, speed = 0;
  const auto look = [&] {
    dynamics.set_position(simulation.state().q);
    height = dynamics.center_of_mass().z();
    speed = dynamics.momentum(simulation.state().v).linear.z() / mass;
  };
  look();
  flight.fall = height + speed * speed / (2 * kGravity);
  double lowest_energy = mass * kGravity * height + dynamics.kinetic_energy(simulation.state().v);
  const int steps = static_cast<int>(std::lround(kDuration / dt));
  for (int k = 0; k < steps; ++k) {
    const StepReport report = simulation.step();
    if (!report.converged()) return flight;
    look();
    flight.height.push_back(height);
    flight.apex.push_back(report.contacts == 0 && speed > 0 ? height + speed * speed / (2 * kGravity) : height);
    const double now = mass * kGravity * height + dynamics.kinetic_energy(simulation.state().v);
    lowest_energy = std::min(lowest_energy, now);
    flight.gained = std::max(flight.gained, now - lowest_energy);
  }
  flight.finished = true;
  return flight;
}

// Largest rise above the lowest point before it; sinking deeper than `lowest` and coming back is no rise.
double rebound(const Flight& flight, double lowest) {
  double rise = 0, low = flight.height.front();
  for (size_t k = 0; k < flight.height.size(); ++k) {
    rise = std::max(rise, flight.apex[k] - std::max(low, lowest));
    low = std::min(low, flight.height[k]);
  }
  return rise;
}

}  // namespace

void add_drops(const StudyContext& context, StudyResult& result) {
  const int count = context.quick ? 2 : 10;  // per body
  const std::vector<double> steps = context.quick
                                        ? std::vector{0.005, 0.02, 0.05}
                                        : std::vector{0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05};
  const double fine = context.quick ? 0.00025 : 0.0000625;  // [s]
  const double standard = StepOptions{}.accuracy;
  const Scheme schemes[] = {{IntegratorType::pbd_nmdp2, standard},
                            {IntegratorType::ne_nmdp2, standard},
                            {IntegratorType::pbd_nmdp2, 0},
                            {IntegratorType::ne_nmdp2, 0}};
  std::vector<Model> models;
  std::vector<Throw> throws;
  std::mt19937_64 random(20260117);
  for (const Thrown& body : kBodies) {
    models.push_back(load_urdf(context.data / "models" / fmt::format("{}.urdf", body.file)));
    for (int k = 0; k < count; ++k) throws.push_back(seeded_throw(models.back(), body, models.size() - 1, random));
  }
  struct Job {
    size_t thrown;
    Scheme scheme;
    double dt;
  };
  std::vector<Job> jobs;  // by throw: the two converged ones, then by scheme and step
  for (size_t i = 0; i < throws.size(); ++i) {
    jobs.push_back({i, schemes[2], fine});
    jobs.push_back({i, schemes[3], fine});
    for (const Scheme& scheme : schemes)
      for (const double dt : steps) jobs.push_back({i, scheme, dt});
  }
  std::vector<Flight> flights(jobs.size());
  size_t done = 0;
  std::mutex mutex;
  for_each_job(context.jobs, jobs.size(), [&](size_t i) {
    flights[i] = fly(models[throws[jobs[i].thrown].model], throws[jobs[i].thrown], jobs[i].scheme, jobs[i].dt);
    const std::lock_guard lock(mutex);
    if (!context.progress(static_cast<double>(++done), static_cast<double>(jobs.size()))) throw StudyInterrupted();
  });

  struct Worst {
    double excess = -std::numeric_limits<double>::infinity(), gained = 0;  // of the drop height, of its energy
    std::string where;
    int failed = 0;
  };
  std::vector<std::vector<Worst>> worst(std::size(schemes), std::vector<Worst>(steps.size()));
  double converged_gain = 0;  // of the energy of the drop
  std::vector<int> agreed(std::size(kBodies), 0);
  std::vector<std::vector<double>> rebounds(std::size(kBodies));
  const size_t per_throw = 2 + std::size(schemes) * steps.size();
  for (size_t i = 0; i < throws.size(); ++i) {
    const Flight* flight = &flights[i * per_throw];
    const size_t body = throws[i].model;
    const double lowest = std::min(smallest(flight[0].height), smallest(flight[1].height));
    const double fall = flight[0].fall - lowest;
    const double truth = rebound(flight[0], lowest), other = rebound(flight[1], lowest);
    if (!flight[0].finished || !flight[1].finished || std::abs(truth - other) > kAgreed * fall) continue;
    ++agreed[body];
    rebounds[body].push_back(truth / fall);
    const double energy = models[body].total_mass() * kGravity * fall;
    if (!throws[i].body->held)
      converged_gain = std::max({converged_gain, flight[0].gained / energy, flight[1].gained / energy});
    for (size_t s = 0; s < std::size(schemes); ++s)
      for (size_t k = 0; k < steps.size(); ++k) {
        const Flight& at = flight[2 + s * steps.size() + k];
        Worst& so_far = worst[s][k];
        if (!at.finished) {
          ++so_far.failed;
          continue;
        }
        const double excess = (rebound(at, lowest) - std::max(truth, other)) / fall;
        if (!throws[i].body->held) so_far.gained = std::max(so_far.gained, at.gained / energy);
        if (excess <= so_far.excess) continue;
        so_far.excess = excess;
        so_far.where = fmt::format("{} {}", throws[i].body->name, i % static_cast<size_t>(count) + 1);
      }
  }

  for (size_t b = 0; b < std::size(kBodies); ++b)
    result.rows.push_back(report_row(
        fmt::format("throws of the {}: pbd-nmdp2 and ne-nmdp2 at {} agree within {:.0f} % of the drop height",
                    kBodies[b].name, step_name(fine), 100 * kAgreed),
        "", "",
        fmt::format("{} of {}, rebounds up to {:.2f} of the drop height", agreed[b], count, largest(rebounds[b]))));
  result.rows.push_back(report_row("throws of boxes, converged: largest energy won back after an impact",
                                   "% of that of the drop", "", 100 * converged_gain));
  StudyFigure figure{"Throws: rise above the converged rebound, worst of all",
                     {"step", "ms", true},
                     {"excess", "% of the drop height", false},
                     {},
                     {}};
  for (size_t s = 0; s < std::size(schemes); ++s) {
    const std::string name =
        fmt::format("{}{}", integrator_name(schemes[s].integrator), schemes[s].accuracy > 0 ? "" : ", accuracy 0");
    StudySeries series{name, {}, {}, schemes[s].accuracy == 0};
    double excess = -std::numeric_limits<double>::infinity(), gained = 0;
    std::string where;
    int failed = 0;
    for (size_t k = 0; k < steps.size(); ++k) {
      const Worst& at = worst[s][k];
      series.x.push_back(1e3 * steps[k]);
      series.y.push_back(100 * at.excess);
      failed += at.failed;
      gained = std::max(gained, at.gained);
      if (at.excess <= excess) continue;
      excess = at.excess;
      where = fmt::format("{} at {}", at.where, step_name(steps[k]));
    }
    result.rows.push_back(goal_row(fmt::format("throws, {}: largest rise above the converged rebound at {} to {} ({})",
                                               name, step_name(steps.front()), step_name(steps.back()), where),
                                   "% of the drop height", "", 100 * excess,
                                   fmt::format("< {:.0f}, all finish", 100 * kAllowed),
                                   excess < kAllowed && failed == 0));
    result.rows.push_back(report_row(fmt::format("throws, {}: by step", name), "% of the drop height", "",
                                     join_numbers(series.y, "{:.2f}")));
    result.rows.push_back(report_row(fmt::format("throws of boxes, {}: largest energy won back after an impact", name),
                                     "% of that of the drop", "", 100 * gained));
    figure.series.push_back(std::move(series));
  }
  result.figures.push_back(std::move(figure));
}

}  // namespace scree
