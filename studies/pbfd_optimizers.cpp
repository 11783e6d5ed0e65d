// Fig. 4 of the PBFD paper: what the optimisers of its Table I cost. And steps from random states: does Levenberg-
// Marquardt end at a solution?
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <random>

#include "robot_runs.h"
#include "rows.h"
#include "scree/simulation.h"
#include "scree/urdf.h"

namespace scree {
namespace {

using enum IntegratorType;

// --- Fig. 4 ----------------------------------------------------------------------------------------------------------

struct Choice {
  const char* name;
  IntegratorType integrator;
  Optimizer optimizer;
};
// In the order of the paper's Table I, without LM on GE, which needs third derivatives.
constexpr Choice kChoices[] = {{"LM on E", pbd_friction, Optimizer::lm},
                               {"JTJ-LM on E", pbd_friction, Optimizer::jtj_lm},
                               {"L-BFGS on E", pbd_friction, Optimizer::lbfgs},
                               {"JTJ-LM on GE", pbfd, Optimizer::jtj_lm},
                               {"L-BFGS on GE", pbfd, Optimizer::lbfgs}};

struct Record {
  std::vector<double> iterations, times;  // by step; [s]
  int rejected = 0, stationary = 0;
  bool complete = false;
};

// The fixed chain starts at rest, horizontally, and swings. The floating one starts at 0.3 m with its far end 1.5 m
// higher and falls on the ground.
Record run_chain(const Model& model, bool floating, const Choice& choice, double dt, double duration) {
  World world;
  if (floating) {
    world.add(plane_collider({0, 0, 0}, {0, 0, 1}));
    world.add(contact_candidates(model, ContactCandidates::named));
    world.smooth.depth = 0.005;  // [m]
  }
  StepOptions options;
  options.integrator = choice.integrator;
  options.optimizer = choice.optimizer;
  options.dt = dt;
  Simulation simulation(model, world, options);
  Eigen::VectorXd q = model.neutral_position();
  if (floating) q(1) = 0.3, q(2) = -0.3;
  simulation.set_state(q, Eigen::VectorXd::Zero(model.nv()));
  Record record;
  const long steps = std::lround(duration / dt);
  for (long k = 0; k < steps; ++k) {
    const auto start = std::chrono::steady_clock::now();
    const StepReport report = simulation.step();
    record.times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    record.iterations.push_back(report.iterations);
    record.rejected += report.rejected;
    record.stationary += report.stationary;
    if (!report.converged()) return record;
  }
  record.complete = true;
  return record;
}

void compare_optimizers(const StudyContext& context, StudyResult& result) {
  const double duration = context.quick ? 0.5 : 1;
  for (const bool floating : {false, true}) {
    const Model model =
        load_urdf(context.data / "models" / (floating ? "chain-floating-2d.urdf" : "chain-fixed-2d.urdf"));
    for (const double dt : {0.01, 0.05}) {
      const std::string scene = fmt::format("{} chain, {}", floating ? "falling" : "fixed", step_name(dt));
      StudyFigure figure{"Iterations by step: " + scene, {"time", "s"}, {"iterations", "", true}, {}, {}};
      std::vector<double> iterations, times;
      bool complete = true;
      for (const Choice& choice : kChoices) {
        const Record record = run_chain(model, floating, choice, dt, duration);
        if (!context.progress(0, 1)) throw StudyInterrupted();
        complete = complete && record.complete;
        iterations.push_back(median(record.iterations));
        times.push_back(median(record.times));
        result.rows.push_back(
            report_row(fmt::format("{}, {}: iterations a step: median, 95 %, largest; tries rejected, stationary",
                                   scene, choice.name),
                       "", "",
                       fmt::format("{:.3g}, {:.3g}, {:.3g}; {}, {}{}", iterations.back(),
                                   quantile(record.iterations, 0.95), largest(record.iterations), record.rejected,
                                   record.stationary, record.complete ? "" : "; stopped early")));
        result.rows.push_back(report_row(fmt::format("{}, {}: time of a step, median", scene, choice.name), "us", "",
                                         1e6 * times.back()));
        StudySeries series{choice.name, {}, record.iterations, false};
        for (size_t k = 0; k < record.iterations.size(); ++k) series.x.push_back(dt * static_cast<double>(k + 1));
        figure.series.push_back(std::move(series));
      }
      result.figures.push_back(std::move(figure));
      result.rows.push_back(
          goal_row(scene + ": all five reach the end", "", "yes", complete ? "yes" : "no", "yes", complete));
      const double many = std::min(iterations[2] / iterations[0], iterations[4] / iterations[3]);
      result.rows.push_back(goal_row(scene + ": iterations of L-BFGS over those of LM and JTJ-LM, the smaller ratio",
                                     "", "off the chart", many, "> 5", many > 5));
      const double slow = std::min(times[2] / times[0], times[4] / times[3]);
      result.rows.push_back(goal_row(scene + ": time of L-BFGS over that of LM and JTJ-LM, the smaller ratio", "",
                                     "> 1", slow, "> 1", slow > 1));
      const double jtj = times[1] / times[0];
      result.rows.push_back(
          goal_row(scene + ": time of JTJ-LM on E over that of LM on E", "", "< 1, generally", jtj, "< 1", jtj < 1));
      const double cost = (times[3] / iterations[3]) / (times[1] / iterations[1]);
      result.rows.push_back(goal_row(scene + ": time of an iteration, JTJ-LM on GE over on E", "",
                                     "> 1, the difference is marginal", cost, "< 2", cost < 2));
    }
  }
}

// --- random states ---------------------------------------------------------------------------------------------------

struct Throw {
  bool converged = false, whole = false, first_try = false, kept = false;
  int stationary = 0;
  double residual = 0;
};

// Angles within 0.6 rad of zero, any heading and up to 0.5 rad of tilt, the lowest contact point 50 mm in to 100 mm
// above the ground; up to 3 m/s, 5 rad/s of the base, 3 rad/s of joints; steps of 1 to 100 ms, evenly by logarithm.
Throw throw_once(const Model& model, IntegratorType integrator, std::uint64_t seed, StepWorkspace& workspace) {
  std::mt19937_64 random(seed);
  const auto uniform = [&](double size) {  // the same numbers with every standard library
    return size * (2 * static_cast<double>(random() >> 11) * 0x1p-53 - 1);
  };
  Eigen::VectorXd q = model.neutral_position(), v(model.nv());
  Control control(model);
  for (const Joint& joint : model.joints())
    if (velocity_count(joint.type) == 1) {
      q(joint.q_index) = std::clamp(uniform(0.6), joint.limits.lower, joint.limits.upper);
      v(joint.v_index) = uniform(3);
      control.kp(joint.v_index) = 1000, control.kd(joint.v_index) = 1;
    }
  const bool planar = model.joints()[0].type == JointType::planar;
  if (planar) {
    q(2) = uniform(0.5);
    v.head<3>() << uniform(3), uniform(3), uniform(5);
  } else {
    const Quat r = Eigen::AngleAxisd(uniform(M_PI), Vec3::UnitZ()) * Eigen::AngleAxisd(uniform(0.5), Vec3::UnitX()) *
                   Eigen::AngleAxisd(uniform(0.5), Vec3::UnitY());
    q.segment<4>(3) << r.w(), r.x(), r.y(), r.z();
    v.head<6>() << uniform(3), uniform(3), uniform(3), uniform(5), uniform(5), uniform(5);
  }
  control.target = q;
  q(planar ? 1 : 2) +=
      0.025 + uniform(0.075) - lowest_point(model, contact_candidates(model, ContactCandidates::named), q);
  control.target = q;
  StepOptions options;
  options.integrator = integrator;
  options.dt = 0.01 * std::pow(10, uniform(1));
  State state = make_state(model, q, v);
  const StepReport report = step(model, control, options, state, workspace);
  Throw out;
  out.converged = report.converged();
  out.whole = report.converged() && report.substeps == 1;
  out.first_try = report.converged() && report.rejected == 0;
  out.stationary = report.stationary;
  out.residual = report.residual;
  out.kept = state.q == q && state.v == v;
  return out;
}

void throw_states(const StudyContext& context, StudyResult& result) {
  const size_t count = context.quick ? 100 : 1000, chunks = 20;
  for (const char* name : {"chain-floating-2d", "robosimian-spatial"}) {
    const Model model = load_urdf(context.data / "models" / (std::string(name) + ".urdf"));
    World world;
    world.add(plane_collider({0, 0, 0}, {0, 0, 1}));
    world.add(contact_candidates(model, ContactCandidates::named));
    world.smooth.depth = 0.005;  // [m]
    for (const IntegratorType integrator : {pbfd, pbfd_coulomb}) {
      std::vector<Throw> throws(count);
      for_each_job(context.jobs, chunks, [&](size_t chunk) {
        StepWorkspace workspace(model, world);
        for (size_t i = chunk; i < count; i += chunks) throws[i] = throw_once(model, integrator, 1000 + i, workspace);
        if (!context.progress(0, 1)) throw StudyInterrupted();
      });
      int converged = 0, whole = 0, first_try = 0, stationary = 0, changed = 0;
      std::vector<double> residuals;
      for (const Throw& t : throws) {
        converged += t.converged, whole += t.whole, first_try += t.first_try, stationary += t.stationary;
        changed += !t.converged && !t.kept;
        if (t.converged) residuals.push_back(t.residual);
      }
      const double all = static_cast<double>(count);
      const std::string of = fmt::format("{}, {}, {} random states", name, integrator_name(integrator), count);
      result.rows.push_back(goal_row(of + ": steps that are completed, with subdivision", "%", "100 by Lemma 4.2",
                                     100 * converged / all, "100", converged == static_cast<int>(count)));
      result.rows.push_back(report_row(of + ": in one piece", "%", "", 100 * whole / all));
      result.rows.push_back(report_row(of + ": no try fails", "%", "100 by Lemma 4.2", 100 * first_try / all));
      result.rows.push_back(report_row(of + ": tries that end where 1/2 |R|^2 is stationary but R is not zero", "", "0",
                                       double(stationary)));
      result.rows.push_back(
          goal_row(of + ": steps that fail and leave another state", "", "", double(changed), "0", changed == 0));
      result.rows.push_back(
          report_row(of + ": largest |R| of completed steps", "m/s^2", "", residuals.empty() ? 0 : largest(residuals)));
    }
  }
}

}  // namespace

StudyResult study_pbfd_optimizers(const StudyContext& context) {
  StudyResult result;
  result.name = "pbfd-optimizers";
  result.title = "The optimisers of PBFD (PBFD paper, Table I and Fig. 4)";
  result.summary =
      "Iterations and time of a step with the five choices of the paper, down to the same residual: E is the energy of "
      "pbd-friction, GE = 1/2 |R|^2 that of pbfd, weighted by 1/M_aa. Then single steps from random states near the "
      "ground: Levenberg-Marquardt on GE may end at a stationary point that is no solution (Lemma 4.2 asks for a "
      "regular Jacobian); the step is then halved.";
  compare_optimizers(context, result);
  throw_states(context, result);
  result.settings = {{"chains", "ten links of 0.5 m, 4.45 kg each; 10 and 12 dofs"},
                     {"smooth contact", "exponents 2, 1, 1; 5 mm under its share of the weight; default coefficients"},
                     {"tolerance", fmt::format("{} m/s^2, rad/s^2", StepOptions{}.tolerance)},
                     {"L-BFGS", "liblbfgs, 20 corrections, at most 20 times the iterations of the others"},
                     {"times", "one thread, this machine"}};
  return result;
}

}  // namespace scree
