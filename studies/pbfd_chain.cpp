// Fig. 6 of the PBFD paper: a chain slides off a slope. How large a step stays stable, and what does it cost?
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <random>

#include "chains.h"
#include "robot_runs.h"
#include "rows.h"
#include "scree/dynamics.h"
#include "scree/simulation.h"
#include "scree/urdf.h"

namespace scree {
namespace {

constexpr double kSlope = 0.3, kFriction = 0.2;  // [rad], -
constexpr double kWay = 6, kDrop = 2;  // [m] from the upper end of the chain to the lower edge of the slope; below
                                       // that edge is the floor
constexpr double kSpeed = 5;           // [m/s] of pbfd: slides at 1.5 m/s down the slope
constexpr double kLargestGain = 0.01;  // of the initial energy

struct ChainRun {
  IntegratorType integrator = IntegratorType::pbfd;
  double dt = 0.1;       // [s]
  double duration = 10;  // [s]
  int points = 1;        // spheres per link
  double friction = 1;   // in units of kFriction; of pbfd: of the drag that belongs to kSpeed
  unsigned start = 0;    // 0: at rest; else the seed of its velocities, 0.1 m/s and rad/s
};
struct ChainRecord {
  ChainRun run;
  bool complete = false;
  double end = 0;                // [s]
  double fastest = 0, gain = 0;  // [rad/s] of any joint; largest energy over the initial one, minus 1
  double processor = 0;          // [s]
  double contacts = 0, iterations = 0, substeps = 0;  // means over the steps
  double slid = 0;                                    // [m] of the centre of mass along x

  // What "stable" means here.
  bool stable() const { return complete && fastest <= kLargestSpeed && gain <= kLargestGain; }
};

const Vec3 kDown(std::cos(kSlope), 0, -std::sin(kSlope)), kOut(std::sin(kSlope), 0, std::cos(kSlope));
const Vec3 kEdge(0, 0, kDrop);

// The slope is the upper face of a box.
World slope_and_floor(const Model& model, const ChainRun& run) {
  constexpr double kThickness = 1;  // [m]
  World world;
  world.add(plane_collider({0, 0, 0}, {0, 0, 1}));
  Pose middle;
  middle.R << kDown, Vec3::UnitY(), kOut;
  middle.p = kEdge - kWay / 2 * kDown - kThickness / 2 * kOut;
  world.add(box_collider(middle, {kWay, 4, kThickness}));
  world.add(contact_candidates(model, ContactCandidates::named));
  world.surface.friction = run.friction * kFriction;
  world.smooth.depth = 0.005;  // [m]
  world.smooth.speed = kSpeed / run.friction;
  return world;
}

// The chain lies on the slope, all links in one line, at rest.
ChainRecord slide(const StudyContext& context, const Model& model, const ChainRun& run) {
  ChainRecord record;
  record.run = run;
  StepOptions options;
  options.integrator = run.integrator;
  options.dt = run.dt;
  Simulation simulation(model, slope_and_floor(model, run), options);
  Eigen::VectorXd q = model.neutral_position();
  const Vec3 start = kEdge - (kWay - 0.5) * kDown + kLinkRadius * kOut;
  q(0) = start.x();
  q(1) = start.z();
  q(2) = kSlope;  // about y: x turns down
  Eigen::VectorXd v = Eigen::VectorXd::Zero(model.nv());
  std::mt19937_64 generator(run.start);
  std::normal_distribution<double> normal(0, 0.1);
  if (run.start > 0)
    for (double& value : v) value = normal(generator);
  simulation.set_state(q, v);
  Dynamics dynamics(model);
  dynamics.set_position(q);
  const double initial = dynamics.kinetic_energy(v) + dynamics.gravity_energy({0, 0, -9.81});  // the floor is at zero
  const size_t steps = static_cast<size_t>(std::lround(run.duration / run.dt));
  record.gain = -1;
  size_t k = 0;
  const std::clock_t began = std::clock();  // one thread: what others do on the machine does not count
  for (; k < steps; ++k) {
    const StepReport report = simulation.step();
    if (!report.converged() || !simulation.state().v.allFinite()) break;
    record.contacts += report.contacts;
    record.iterations += report.iterations;
    record.substeps += report.substeps;
    record.fastest = std::max(record.fastest, simulation.state().v.tail(model.nv() - 2).cwiseAbs().maxCoeff());
    record.gain = std::max(record.gain, (report.kinetic_energy + report.potential_energy) / initial - 1);
    if (record.fastest > kLargestSpeed) break;
    if (k % 64 == 0 && !context.progress(static_cast<double>(k), static_cast<double>(steps))) throw StudyInterrupted();
  }
  record.processor = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
  record.complete = k == steps;
  record.end = simulation.state().time;
  const double count = static_cast<double>(std::max<size_t>(k, 1));
  record.contacts /= count, record.iterations /= count, record.substeps /= count;
  record.slid = simulation.state().q(0) - q(0);
  return record;
}

// The largest step such that all starts are stable with it and with all smaller ones; the record is that of start 0.
const ChainRecord* largest_stable(const std::vector<ChainRecord>& records, IntegratorType integrator) {
  const ChainRecord* largest = nullptr;
  double unstable = std::numeric_limits<double>::infinity();
  for (const ChainRecord& record : records)
    if (record.run.integrator == integrator && !record.stable()) unstable = std::min(unstable, record.run.dt);
  for (const ChainRecord& record : records)
    if (record.run.integrator == integrator && record.run.start == 0 && record.run.dt < unstable) largest = &record;
  return largest;
}

// Text and verdict of all starts of one integrator with one step.
struct Starts {
  int stable = 0, count = 0;
  double fastest = 0, gain = -1;
};
Starts all_starts(const std::vector<ChainRecord>& records, IntegratorType integrator, double dt) {
  Starts starts;
  for (const ChainRecord& record : records) {
    if (record.run.integrator != integrator || record.run.dt != dt) continue;
    ++starts.count;
    starts.stable += record.stable() ? 1 : 0;
    starts.fastest = std::max(starts.fastest, record.fastest);
    starts.gain = std::max(starts.gain, record.gain);
  }
  return starts;
}

}  // namespace

StudyResult study_pbfd_chain(const StudyContext& context) {
  const Model model = load_urdf(context.data / "models" / "chain-floating-2d.urdf");
  const double duration = context.quick ? 3 : 10;
  const int rounds = context.quick ? 1 : 5;
  const std::vector<double> steps = context.quick
                                        ? std::vector{0.001, 0.0025, 0.01, 0.05, 0.1}
                                        : std::vector{0.0005, 0.001, 0.0015, 0.002, 0.0025, 0.003, 0.004, 0.005,
                                                      0.0075, 0.01,  0.015,  0.02,  0.03,   0.05,  0.07,  0.1};
  const IntegratorType smooth[] = {IntegratorType::pbfd, IntegratorType::pbfd_coulomb, IntegratorType::pbfd_coulomb2};
  std::vector<IntegratorType> integrators(std::begin(smooth), std::end(smooth));
  integrators.push_back(IntegratorType::ne_lcp);

  // All runs; the best round counts, of rounds in turns.
  std::vector<ChainRun> runs;
  for (const IntegratorType integrator : integrators)
    for (const double dt : steps) runs.push_back({integrator, dt, duration, 1, 1, 0});
  const auto timed = [&](const std::vector<ChainRun>& of, const std::vector<const Model*>& models, int times) {
    std::vector<ChainRecord> records;
    for (int round = 0; round < times; ++round)
      for (size_t i = 0; i < of.size(); ++i) {
        if (round > 0 && records[i].processor > 1) continue;  // [s] long enough to be met by all the noise there is
        const ChainRecord record = slide(context, *models[i], of[i]);
        if (round == 0)
          records.push_back(record);
        else
          records[i].processor = std::min(records[i].processor, record.processor);
      }
    return records;
  };
  std::vector<ChainRecord> records = timed(runs, std::vector(runs.size(), &model), rounds);
  for (unsigned start = 1; start <= (context.quick ? 1u : 7u); ++start) {
    std::vector<ChainRun> others = runs;
    for (ChainRun& run : others) run.start = start;
    const std::vector<ChainRecord> more = timed(others, std::vector(runs.size(), &model), 1);
    records.insert(records.end(), more.begin(), more.end());
  }

  StudyResult result;
  result.name = "pbfd-chain";
  result.title = "A chain of ten links slides off a slope onto a floor (PBFD paper, Fig. 6)";
  result.summary =
      "Stable: from all starts all steps converge, no joint turns faster than 1000 rad/s, and the energy, counted from "
      "the floor, "
      "never "
      "exceeds the initial one by more than 1 %. A step that does not converge is halved, so a stable run may have "
      "taken substeps. ne-lcp is the Newton-Euler step with dry friction by complementarity, as the paper's baseline. "
      "Times are processor times of one thread.";
  StudyFigure cost{fmt::format("Processor time of {} s against the step", duration),
                   {"step", "ms", true},
                   {"time", "ms", true},
                   {},
                   {}};
  cost.notes.push_back("Unstable runs are left out.");
  for (const IntegratorType integrator : integrators) {
    StudySeries series{integrator_name(integrator), {}, {}, integrator == IntegratorType::ne_lcp};
    for (const ChainRecord& record : records) {
      if (record.run.integrator != integrator || record.run.start > 0) continue;
      series.x.push_back(1e3 * record.run.dt);
      series.y.push_back(record.stable() ? 1e3 * record.processor : std::nan(""));
    }
    cost.series.push_back(std::move(series));
    const ChainRecord* best = largest_stable(records, integrator);
    const Starts coarse = all_starts(records, integrator, steps.back());
    const std::string name = integrator_name(integrator);
    if (integrator != IntegratorType::ne_lcp)
      result.rows.push_back(goal_row(name + ": stable starts at 100 ms", "", "stable",
                                     fmt::format("{} of {}, joints up to {:.3g} rad/s, energy {:+.2g} %", coarse.stable,
                                                 coarse.count, coarse.fastest, 100 * coarse.gain),
                                     "all", coarse.stable == coarse.count));
    const StudyValue step = best ? StudyValue(1e3 * best->run.dt) : StudyValue("none");
    if (integrator == IntegratorType::ne_lcp)
      result.rows.push_back(report_row(name + ": largest stable step", "ms", "2.5", step));
    else
      result.rows.push_back(
          goal_row(name + ": largest stable step", "ms", "100", step, ">= 100", best && best->run.dt >= steps.back()));
    const ChainRecord* worst = nullptr;
    for (const ChainRecord& record : records)
      if (record.run.integrator == integrator && !record.stable() && (!worst || record.run.dt < worst->run.dt))
        worst = &record;
    if (worst)
      result.rows.push_back(
          report_row(name + ": first unstable step", "ms", "",
                     !worst->complete && worst->fastest <= kLargestSpeed
                         ? fmt::format("{:g}: a step fails at {:.3g} s", 1e3 * worst->run.dt, worst->end)
                         : fmt::format("{:g}: joints up to {:.3g} rad/s, energy {:+.2g} %", 1e3 * worst->run.dt,
                                       worst->fastest, 100 * worst->gain)));
    if (best) {
      result.rows.push_back(
          report_row(name + ": simulated time per processor time there", "", "", best->end / best->processor));
      result.rows.push_back(report_row(name + ": substeps, iterations per step there", "", "",
                                       fmt::format("{:.3g}, {:.3g}", best->substeps, best->iterations)));
      result.rows.push_back(report_row(name + ": way of the base", "m", "", best->slid));
    }
  }
  const ChainRecord* lcp = largest_stable(records, IntegratorType::ne_lcp);
  for (const IntegratorType integrator : smooth) {
    const std::string name =
        fmt::format("{} over ne-lcp, each at its largest stable step: speed", integrator_name(integrator));
    const ChainRecord* best = largest_stable(records, integrator);
    if (lcp && best) {
      const double ratio = (best->end / best->processor) / (lcp->end / lcp->processor);
      result.rows.push_back(goal_row(name, "", "3 to 5", ratio, ">= 10", ratio >= 10));
    } else
      result.rows.push_back(goal_row(name, "", "3 to 5", "no stable step", ">= 10", false));
  }

  // Against contact points and friction: pbfd at 100 ms, ne-lcp at its largest stable step, or at 1 ms if there is
  // none.
  // Short runs: with many contacts ne-lcp takes long.
  const double lcp_step = lcp ? lcp->run.dt : 0.001, short_duration = 3;
  const std::vector<int> refinements = context.quick ? std::vector{1, 2, 4} : std::vector{1, 2, 4, 8, 16};
  const std::vector<double> frictions = {0.25, 0.5, 1, 1.25, 2, 4};
  std::vector<Model> refined;
  for (const int points : refinements) refined.push_back(floating_chain(10, points));
  std::vector<ChainRun> more;
  std::vector<const Model*> models;
  for (const IntegratorType integrator : integrators) {
    const double dt = integrator == IntegratorType::ne_lcp ? lcp_step : 0.1;
    for (size_t i = 0; i < refinements.size(); ++i) {
      more.push_back({integrator, dt, short_duration, refinements[i], 1, 0});
      models.push_back(&refined[i]);
    }
    for (const double friction : frictions) {
      more.push_back({integrator, dt, short_duration, 1, friction, 0});
      models.push_back(&model);
    }
  }
  const std::vector<ChainRecord> swept = timed(more, models, rounds);
  StudyFigure by_contacts{"Processor time against the number of contact points",
                          {"spheres of the chain", "", true},
                          {"time per simulated second", "ms", true},
                          {},
                          {}};
  StudyFigure by_friction{"Processor time against friction",
                          {"friction", "", true},
                          {"time per simulated second", "ms", true},
                          {},
                          {"Of pbfd the drag is multiplied by the same factor."}};
  double growth_of_lcp = 0;
  const std::string spheres = fmt::format(": time with {} spheres over that with 11", 10 * refinements.back() + 1);
  for (const IntegratorType integrator : {IntegratorType::ne_lcp, smooth[0], smooth[1], smooth[2]}) {
    const std::string name = integrator_name(integrator);
    StudySeries contacts{name, {}, {}, integrator == IntegratorType::ne_lcp}, friction = contacts;
    int unstable = 0;
    for (size_t i = 0; i < swept.size(); ++i) {
      const ChainRecord& record = swept[i];
      if (record.run.integrator != integrator) continue;
      const double time = record.stable() ? 1e3 * record.processor / record.end : std::nan("");
      unstable += record.stable() ? 0 : 1;
      const bool refines = i % (refinements.size() + frictions.size()) < refinements.size();
      StudySeries& series = refines ? contacts : friction;
      series.x.push_back(refines ? 10.0 * record.run.points + 1 : kFriction * record.run.friction);
      series.y.push_back(time);
    }
    result.rows.push_back(report_row(name + ": unstable runs over contact points and friction", "", "",
                                     fmt::format("{} of {}", unstable, contacts.x.size() + friction.x.size())));
    const double growth = contacts.y.back() / contacts.y.front();
    const double spread = largest(friction.y) / smallest(friction.y);
    by_contacts.series.push_back(std::move(contacts));
    by_friction.series.push_back(std::move(friction));
    if (integrator == IntegratorType::ne_lcp) {
      growth_of_lcp = growth;
      result.rows.push_back(report_row(name + spheres, "", "grows considerably",
                                       std::isfinite(growth) ? StudyValue(growth) : StudyValue("not stable")));
    } else
      result.rows.push_back(
          goal_row(name + spheres, "", "nearly constant", growth, "less than ne-lcp", growth < growth_of_lcp));
    result.rows.push_back(report_row(name + ": largest over smallest time, friction 0.05 to 0.8", "", "nearly constant",
                                     std::isfinite(spread) ? StudyValue(spread) : StudyValue("not stable")));
  }
  result.figures = {std::move(cost), std::move(by_contacts), std::move(by_friction)};
  result.settings = {
      {"chain",
       "models/chain-floating-2d.urdf, in one line along the slope; at rest, and with noise of 0.1 m/s and rad/s"},
      {"ground", fmt::format("slope {} rad, {} m long, its lower edge {} m above the floor", kSlope, kWay, kDrop)},
      {"friction", fmt::format("{}; pbfd: as large as the normal force at {} m/s", kFriction, kSpeed)},
      {"smooth contact", "5 mm deep under its share of the weight, creep 2 mm/s"},
      {"duration", fmt::format("{} s, best of {} rounds", duration, rounds)}};
  return result;
}

}  // namespace scree
