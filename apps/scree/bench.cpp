// scree bench dynamics: what the dynamics cost on this machine, beside how exact they are.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>

#include "dynamics/discretisation.h"
#include "import_report.h"
#include "options.h"
#include "run/build_info.h"
#include "scree/dynamics.h"
#include "scree/kinematics.h"
#include "scree/urdf.h"
#include "terminal.h"
#include "verbs.h"

namespace scree::cli {
namespace {

using Json = nlohmann::ordered_json;

struct BenchOptions {
  std::string what;
  std::vector<std::string> models;
  double seconds = 0.05;
  bool json = false;
};

Body rod(const std::string& name) {
  Body body;
  body.name = name;
  body.mass = 0.5;
  body.com = Vec3(0, 0, -0.05);
  body.inertia = Vec3(4e-4, 4e-4, 1e-4).asDiagonal();
  return body;
}

Joint hinge(int i, const Vec3& at) {
  Joint joint;
  joint.name = fmt::format("joint{}", i);
  joint.type = JointType::continuous;
  joint.axis = Vec3::Unit(i % 3);
  joint.X_PJ.p = at;
  return joint;
}

Model chain(int links) {
  ModelBuilder builder(fmt::format("chain of {}", links));
  for (int i = 0; i < links; ++i)
    builder.add_body(rod(fmt::format("link{}", i)), i == 0 ? "world" : fmt::format("link{}", i - 1),
                     hinge(i, Vec3(0, 0, i == 0 ? 0 : -0.1)));
  return builder.build();
}

// As many joints as a humanoid: a free base and 30 hinges on a random tree, the same one every time.
Model random_humanoid() {
  std::mt19937_64 random(7);
  ModelBuilder builder("humanoid-size tree");
  Joint base;
  base.name = "base";
  base.type = JointType::floating;
  builder.add_body(rod("link0"), "world", base);
  for (int i = 1; i <= 30; ++i) {
    // Limbs of six: every sixth link starts a new branch near the root.
    const int parent = i % 6 == 1 ? static_cast<int>(random() % 3) * (i > 3 ? 1 : 0) : i - 1;
    builder.add_body(rod(fmt::format("link{}", i)), fmt::format("link{}", parent), hinge(i, Vec3(0.1, 0.05, -0.1)));
  }
  return builder.build();
}

// Median time of a call [s], over seven rounds of at least `seconds` / 7 each.
double time_of(const std::function<void()>& call, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto run = [&](long count) {
    const Clock::time_point start = Clock::now();
    for (long k = 0; k < count; ++k) call();
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  long count = 1;
  while (run(count) < seconds / 7 && count < (1L << 40)) count *= 2;
  std::vector<double> rounds;
  for (int k = 0; k < 7; ++k) rounds.push_back(run(count) / static_cast<double>(count));
  std::sort(rounds.begin(), rounds.end());
  return rounds[3];
}

struct Row {
  std::string model, function;
  int dofs;
  double time, error;  // [s], relative
};

double relative(const Eigen::VectorXd& a, const Eigen::VectorXd& b) { return (a - b).norm() / (1e-300 + b.norm()); }

std::vector<Row> measure(const Model& model, double seconds) {
  const int n = model.nv();
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> uniform(-1, 1);
  const auto sample = [&](int size) {
    Eigen::VectorXd x(size);
    for (double& entry : x) entry = uniform(random);
    return x;
  };
  const Eigen::VectorXd q = integrate_position(model, model.neutral_position(), sample(n), 0.3);
  const Eigen::VectorXd v = sample(n), vdot = sample(n), e = sample(n);
  const Vec3 gravity(0, 0, -9.81);
  Dynamics dynamics(model);
  Eigen::VectorXd tau(n), bias(n), found(n), plus(n), minus(n);
  std::vector<Row> rows;
  const auto add = [&](const char* function, double error, const std::function<void()>& call) {
    rows.push_back({model.name(), function, n, time_of(call, seconds), error});
  };

  dynamics.set_position(q);
  dynamics.inverse_dynamics(v, vdot, gravity, tau);
  dynamics.bias_force(v, gravity, bias);
  const double decomposition = relative(dynamics.mass_matrix() * vdot + bias, tau);
  add("inverse dynamics", decomposition, [&] {
    dynamics.set_position(q);
    dynamics.inverse_dynamics(v, vdot, gravity, found);
  });
  add("mass matrix", decomposition, [&] {
    dynamics.set_position(q);
    dynamics.mass_matrix();
  });
  const bool solved = dynamics.forward_dynamics(v, tau, gravity, found);
  add("forward dynamics", solved ? relative(found, vdot) : std::numeric_limits<double>::infinity(), [&] {
    dynamics.set_position(q);
    (void)dynamics.forward_dynamics(v, tau, gravity, found);
  });
  const double step = 1e-6;
  const Eigen::VectorXd change = dynamics.inverse_dynamics_derivatives(v, vdot, gravity).by_q * e;
  dynamics.set_position(integrate_position(model, q, e, step));
  dynamics.inverse_dynamics(v, vdot, gravity, plus);
  dynamics.set_position(integrate_position(model, q, e, -step));
  dynamics.inverse_dynamics(v, vdot, gravity, minus);
  add("inverse dynamics derivatives", relative(change, (plus - minus) / (2 * step)), [&] {
    dynamics.set_position(q);
    dynamics.inverse_dynamics_derivatives(v, vdot, gravity);
  });

  PositionBasedStage stage(model);
  const State state = make_state(model, q, v);
  stage.begin(state, 0.01, gravity);
  const Eigen::VectorXd delta = 0.01 * v + 1e-3 * e, ahead = delta + step * e, behind = delta - step * e;
  Eigen::MatrixXd exact = Eigen::MatrixXd::Zero(n, n), gauss_newton = exact;
  stage.set_trial(ahead.data());
  stage.residual(plus.data());
  const double value_ahead = stage.objective();
  stage.set_trial(behind.data());
  stage.residual(minus.data());
  const double slope = (value_ahead - stage.objective()) / (2 * step);
  stage.set_trial(delta.data());
  stage.residual(found.data());
  add("position-based gradient", std::abs(found.dot(e) - slope) / std::abs(slope), [&] {
    stage.set_trial(delta.data());
    stage.residual(found.data());
  });
  stage.hessian(exact.data(), gauss_newton.data());
  add("position-based gradient, Hessians",
      relative(exact.selfadjointView<Eigen::Upper>() * e, (plus - minus) / (2 * step)), [&] {
        stage.set_trial(delta.data());
        stage.residual(found.data());
        stage.hessian(exact.data(), gauss_newton.data());
      });
  return rows;
}

int bench(const BenchOptions& options) {
  std::vector<Model> models;
  for (const std::string& file : options.models) {
    ImportReport report;
    models.push_back(load_urdf(file, {}, &report));
    warn_of_repairs(report);
  }
  models.push_back(random_humanoid());
  for (const int links : {10, 100, 1000}) models.push_back(chain(links));
  Json json = {{"bench", options.what}, {"version", version()}, {"compiler", compiler()}, {"rows", Json::array()}};
  if (!options.json)
    fmt::print("{:<20} {:>5}  {:<34} {:>11} {:>9} {:>9}\n", "model", "dofs", "function", "time", "per dof", "error");
  for (const Model& model : models) {
    for (const Row& row : measure(model, options.seconds)) {
      json["rows"].push_back({{"model", row.model},
                              {"dofs", row.dofs},
                              {"function", row.function},
                              {"time", row.time},
                              {"error", row.error}});
      if (!options.json)
        fmt::print("{:<20} {:>5}  {:<34} {:>8.2f} us {:>6.1f} ns {:>9.1e}\n", row.model, row.dofs, row.function,
                   row.time * 1e6, row.time * 1e9 / row.dofs, row.error);
    }
  }
  if (options.json) print_json(json);
  return 0;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("bench", "Time the library on this machine, accuracy beside speed");
  auto options = std::make_shared<BenchOptions>();
  verb->add_option("what", options->what, "What to time: dynamics")->required()->check(CLI::IsMember({"dynamics"}));
  verb->add_option("models", options->models, "More robots (.urdf), beside a humanoid-size tree and three chains")
      ->type_name("MODEL.urdf");
  verb->add_option("--seconds", options->seconds, "Time to spend on each row [s]")
      ->check(number_in(1e-4, 60.0))
      ->type_name("S");
  verb->add_flag("--json", options->json, "Print one JSON object (SI units) on stdout");
  verb->callback([options, &action] { action = [options] { return bench(*options); }; });
  verb->footer(
      "One core, one call at a time, kinematics included. Times are medians of seven rounds; `error` is relative: "
      "against\n"
      "M vdot + C, against the acceleration put in, or against central differences (whose own error is about 1e-9).");
}

}  // namespace scree::cli
